//! What one launch requests, counted coarsely: per work-item, per warp, per tensor.
//!
//! Accesses that differ in constants only ask for the same: each `Kind` is enumerated over the lanes of one warp once.

use crate::volumes::first_level::costs::{Request, Sizes};
use crate::volumes::first_level::l1::Rule;
use crate::volumes::first_level::local::fullest;
use crate::volumes::first_level::warps::wavefronts;
use crate::volumes::kernel::image;
use crate::volumes::sets::intervals::covered;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::{AccessKind, AccessRef, Accesses, Indirect, Kernel, Nest, Space, TensorPlace, VarId, VarKind};

/// Requests of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// Memory instructions one work-item executes (a texel or a vector each counts one).
    pub instructions: f64,
    /// Conditions one work-item judges for guards.
    pub conditions: f64,
    /// Texels one work-item reads or writes, and their bytes.
    pub texels: f64,
    /// Bytes of these texels.
    pub texel_bytes: f64,
    /// Texels that one work-item reads.
    pub fetches: f64,
    /// Bytes one work-item reads from or writes to buffers.
    pub buffer_bytes: f64,
    /// Distinct lines per warp instruction, summed over the instructions of one warp: images.
    pub texture_lines: f64,
    /// The same for loads from buffers in device memory, in sectors.
    pub load_lines: f64,
    /// The same for stores.
    pub store_lines: f64,
    /// Cycles of the first-level cache one warp takes, where its rule is known.
    pub cycles: f64,
    /// Wavefronts of local memory one warp takes.
    pub local: f64,
    /// Lines of images that the instructions of the busiest straight-line block touch together, per warp.
    pub texture_block_lines: f64,
    /// Per tensor.
    pub tensors: Vec<TensorTraffic>,
}

/// What a launch touches of one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorTraffic {
    /// Bytes one group touches (its bounding box, clipped to the tensor).
    pub group_bytes: f64,
    /// Bytes of the whole tensor.
    pub bytes: f64,
    /// Groups that touch different parts: the extents of the group axes its coordinates depend on.
    pub distinct_groups: f64,
    /// The same of the work-items of a group.
    pub distinct_items: f64,
    /// Loops one after another that touch it, as those of a row's reductions do.
    pub sweeps: f64,
    /// Whether it is an image.
    pub image: bool,
    /// Whether it is touched at all, and written.
    pub touched: bool,
    /// Whether it is written.
    pub written: bool,
    /// Whether it is known before any kernel runs.
    pub known: bool,
}

/// Line sizes that requests are counted in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lines {
    /// Lanes of a warp.
    pub warp: u32,
    /// Bytes of a line of the texture cache.
    pub texture: f64,
    /// Bytes of a line of the first cache that buffers meet.
    pub buffer: f64,
    /// Bytes that it fetches at once.
    pub sector: f64,
    /// How the texels of images lie in lines.
    pub layout: ImageLayout,
    /// Banks of local memory.
    pub banks: u32,
}

/// The number of the piece of so many bytes, or texels, that something lies in.
fn floor(at: i64, size: i64) -> i64 {
    // Most sizes are powers of two, by which a shift divides.
    if size.count_ones() == 1 { at >> size.trailing_zeros() } else { at.div_euclid(size) }
}

/// Elements between what lanes find at places that depend on data: more than a line.
const FAR: i32 = 64;

/// Smallest and largest coordinate along each dimension.
type Extent = SmallVec<[(i64, i64); 5]>;

/// Accesses whose coordinates differ in constants only.
struct Kind {
    width: u8,
    /// Coordinates that depend on data, a bit each.
    drawn: u16,
    terms: SmallVec<[(VarId, i32); 12]>,
    /// What one warp asks for.
    warp: Warp,
    /// Range of the variable part of each coordinate within a group.
    ranges: Extent,
}

/// What one execution by a warp asks for.
#[derive(Clone, Copy, Debug, Default)]
struct Warp {
    /// Distinct lines of a texture cache, or sectors.
    lines: f64,
    cycles: f64,
    wavefronts: f64,
}

/// What the first warp of a group does, from its first lane on; its lanes ask for the same, whatever else a kernel does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asked {
    /// Lanes along each axis.
    lanes: SmallVec<[i64; 4]>,
    /// How far each step along it leads: columns and rows of texels, or bytes.
    steps: SmallVec<[(i64, i64); 4]>,
    of: Of,
}

/// What it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    /// Texels, of lines that have so many columns and rows, and how many lines these are.
    Texels(i64, i64, u64),
    /// So many bytes a lane.
    Memory(i64),
    /// The same of local memory.
    Local(i64),
}

/// What warps were found to ask for, on a device.
#[derive(Clone, Debug, Default)]
pub struct Warps(FxHashMap<Asked, Warp>);

struct Walker<'a> {
    accesses: &'a Accesses,
    warps: &'a mut Warps,
    /// [`Kernel::known`].
    known: &'a [u16],
    lines: Lines,
    rule: Option<Rule>,
    lane_vars: SmallVec<[(usize, i64); 4]>,
    /// Per tensor.
    kinds: Vec<Vec<Kind>>,
    boxes: Vec<Option<Extent>>,
    launch_vars: Vec<u64>,
    /// How many loops one after another touch it, and the last of them.
    sweeps: Vec<(u32, u32)>,
    /// The outermost loop that is walked over, and how deep.
    sweep: u32,
    depth: u32,
    found: Requests,
}

/// Requests of one launch of a kernel, on a device with such lines and such a first-level cache, of which `warps` are.
pub fn requests(kernel: &Kernel, lines: Lines, rule: Option<Rule>, warps: &mut Warps) -> Requests {
    let accesses = &kernel.accesses;
    let lane_vars = accesses.vars.iter().enumerate().filter(|(_, v)| v.kind == VarKind::Lane);
    let mut walker = Walker {
        accesses,
        warps,
        known: &kernel.known,
        lines,
        rule,
        lane_vars: lane_vars.map(|(i, v)| (i, i64::from(v.trips.unwrap_or(1)))).collect(),
        kinds: accesses.tensors.iter().map(|_| vec![]).collect(),
        boxes: vec![None; accesses.tensors.len()],
        launch_vars: vec![0; accesses.tensors.len()],
        sweeps: vec![(0, 0); accesses.tensors.len()],
        sweep: 0,
        depth: 0,
        found: Requests::default(),
    };
    let mut written = vec![false; accesses.tensors.len()];
    walker.nodes(&accesses.nest, 1.0, &mut written);
    let tensors = (0..accesses.tensors.len()).map(|t| walker.tensor(t, written[t])).collect();
    Requests { tensors, ..walker.found }
}

impl Walker<'_> {
    fn nodes(&mut self, nodes: &[Nest], times: f64, written: &mut [bool]) {
        let mut block_lines = 0.0;
        for node in nodes {
            match node {
                Nest::Loop { var, body } => {
                    let trips = f64::from(self.accesses.vars[usize::from(var.0)].trips.unwrap_or(1));
                    self.sweep += u32::from(self.depth == 0);
                    self.depth += 1;
                    self.nodes(body, times * trips, written);
                    self.depth -= 1;
                }
                Nest::Access(access) => {
                    let lines = f64::from(access.times) * self.access(access, times * f64::from(access.times));
                    let place = &self.accesses.tensors[usize::from(access.tensor)].place;
                    if matches!(access.kind, AccessKind::Store(_)) {
                        written[usize::from(access.tensor)] = true;
                    } else if let TensorPlace::Image { .. } = place {
                        block_lines += lines;
                    }
                }
                Nest::Barrier => {}
            }
        }
        self.found.texture_block_lines = self.found.texture_block_lines.max(block_lines);
    }

    fn access(&mut self, access: &AccessRef, times: f64) -> f64 {
        let t = usize::from(access.tensor);
        let place = &self.accesses.tensors[t].place;
        let kind = self.kind(t, access, place);
        let warp = self.kinds[t][kind].warp;
        self.extend_box(t, kind, access);
        if self.depth > 0 && self.sweeps[t].1 < self.sweep {
            self.sweeps[t] = (self.sweeps[t].0 + 1, self.sweep);
        }
        let found = &mut self.found;
        found.conditions += times * access.guard.iter().map(|g| if g.per_lane { f64::from(access.width) } else { 1.0 }).sum::<f64>();
        match place {
            TensorPlace::Image { format, .. } => {
                found.instructions += times;
                found.texels += times;
                found.fetches += if access.kind == AccessKind::Load { times } else { 0.0 };
                found.texel_bytes += times * f64::from(format.bytes());
                found.texture_lines += times * warp.lines;
            }
            // Tiles are registers; constants are operands of arithmetic where all lanes want the same.
            TensorPlace::Buffer { space: Space::Tile | Space::Constant, .. } => {}
            TensorPlace::Buffer { space: Space::Local, .. } => {
                found.instructions += times;
                found.local += times * warp.wavefronts;
            }
            TensorPlace::Buffer { element, .. } => {
                found.instructions += times;
                found.buffer_bytes += times * f64::from(u32::from(access.width) * element.bytes());
                found.cycles += times * warp.cycles;
                match access.kind {
                    AccessKind::Store(_) => found.store_lines += times * warp.lines,
                    _ => found.load_lines += times * warp.lines,
                }
            }
        }
        warp.lines
    }

    /// The kind of an access; a new one is enumerated.
    fn kind(&mut self, t: usize, access: &AccessRef, place: &TensorPlace) -> usize {
        let terms = || access.coords.iter().flat_map(|c| c.terms().iter().copied().chain([(VarId(u16::MAX), 0)]));
        let drawn = access.indirect.filter(Indirect::unknown).map_or(0, |own| own.drawn);
        let known = |k: &Kind| k.width == access.width && k.drawn == drawn && k.terms.iter().copied().eq(terms());
        if let Some(known) = self.kinds[t].iter().position(known) {
            return known;
        }
        let mut coefficients: SmallVec<[i32; 12]> = SmallVec::new();
        for (d, coord) in access.coords.iter().enumerate() {
            let apart = if drawn.checked_shr(d as u32).unwrap_or(0) & 1 == 1 { FAR } else { 1 };
            coefficients.extend(self.lane_vars.iter().map(|(v, _)| coord.coefficient(VarId(*v as u16)).saturating_mul(apart)));
        }
        let asked = self.asked(&coefficients, access.width, place);
        let warp = match self.warps.0.get(&asked) {
            Some(known) => *known,
            None => {
                let found = self.enumerate(&asked);
                self.warps.0.insert(asked, found);
                found
            }
        };
        let vars = &self.accesses.vars;
        let ranges = access.coords.iter().map(|coord| {
            let range = coord.with_constant(0).range(|v| {
                let var = &vars[usize::from(v.0)];
                if var.kind == VarKind::Group { (0, 0) } else { (0, i64::from(var.trips.unwrap_or(1)) - 1) }
            });
            range.ends()
        });
        for (v, _) in access.coords.iter().flat_map(|c| c.terms()) {
            if vars[usize::from(v.0)].kind != VarKind::Loop {
                self.launch_vars[t] |= 1 << v.0;
            }
        }
        self.kinds[t].push(Kind { width: access.width, drawn, terms: terms().collect(), warp, ranges: ranges.collect() });
        self.kinds[t].len() - 1
    }

    /// What the first warp of a group does whose coordinates move so along each axis of lanes.
    fn asked(&self, coefficients: &[i32], width: u8, place: &TensorPlace) -> Asked {
        let axes = self.lane_vars.len();
        let along = |axis: usize| coefficients.iter().skip(axis).step_by(axes).map(|&c| i64::from(c));
        let lanes = self.lane_vars.iter().map(|own| own.1).collect();
        match place {
            TensorPlace::Image { kind, format, .. } => {
                let (width, height, each) = image::block(self.lines.layout.of(*kind), self.lines.texture as i64, i64::from(format.bytes()));
                let at = |axis: usize, d: usize| along(axis).nth(d).unwrap_or(0);
                let steps = (0..axes).map(|axis| (at(axis, 0), at(axis, 1))).collect();
                Asked { lanes, steps, of: Of::Texels(width, height, each) }
            }
            TensorPlace::Buffer { space, element, dims, .. } => {
                let bytes = i64::from(u32::from(width) * element.bytes());
                let step = |axis: usize| {
                    let elements = along(axis).zip(dims).fold(0, |at: i64, (c, extent)| at.saturating_mul(*extent).saturating_add(c));
                    (elements.saturating_mul(i64::from(element.bytes())), 0)
                };
                let of = if *space == Space::Local { Of::Local(bytes) } else { Of::Memory(bytes) };
                Asked { lanes, steps: (0..axes).map(step).collect(), of }
            }
        }
    }

    /// What that warp asks for; the constant part of coordinates is taken as aligned.
    fn enumerate(&self, Asked { lanes, steps, of }: &Asked) -> Warp {
        let offsets = |step: fn(&(i64, i64)) -> i64| self.lanes(lanes, |axis| step(&steps[axis]));
        let bytes = match *of {
            Of::Texels(width, height, each) => {
                let at = offsets(|step| step.0).into_iter().zip(offsets(|step| step.1));
                let mut touched: SmallVec<[(i64, i64); 64]> = at.map(|(x, y)| (floor(x, width), floor(y, height))).collect();
                touched.sort_unstable();
                touched.dedup();
                return Warp { lines: (touched.len().max(1) as u64 * each) as f64, ..Warp::default() };
            }
            Of::Memory(bytes) | Of::Local(bytes) => bytes,
        };
        let offsets = offsets(|step| step.0);
        let waves = |rule: Rule| wavefronts(&offsets, bytes, 0, rule.banks() as usize);
        if let Of::Local(_) = of {
            let wavefronts = self.rule.map_or_else(|| fullest(&offsets, bytes, 0, self.lines.banks).into(), waves) as f64;
            return Warp { wavefronts, ..Warp::default() };
        }
        let distinct = |size: i64| {
            let lines = |start: &i64| (floor(*start, size), floor(start + bytes - 1, size));
            let mut touched: SmallVec<[(i64, i64); 64]> = offsets.iter().map(lines).collect();
            touched.sort_unstable();
            covered(&touched)
        };
        let cycles = self.rule.map_or(0.0, |rule| {
            let line = self.lines.buffer as u32;
            let sizes = Sizes { warp: self.lines.warp, sector: self.lines.sector as u32, line, banks: rule.banks(), texture: None };
            let lines = distinct(i64::from(line));
            rule.cycles(&Request { offsets: &offsets, bytes, begin: 0, lines, wavefronts: waves(rule) }, sizes)
        });
        Warp { lines: distinct(self.lines.sector as i64) as f64, cycles, wavefronts: 0.0 }
    }

    /// What each lane of the first warp adds up to, the first lane at 0, by the step along each axis of so many lanes.
    fn lanes(&self, extents: &[i64], step: impl Fn(usize) -> i64) -> SmallVec<[i64; 64]> {
        let mut lanes: SmallVec<[i64; 64]> = SmallVec::from_elem(0, 1);
        for (axis, &extent) in extents.iter().enumerate() {
            let (slower, step) = (lanes.len(), step(axis));
            let group = extent.saturating_mul(slower as i64).min(i64::from(self.lines.warp)) as usize;
            for lane in slower..group {
                lanes.push(lanes[lane % slower].saturating_add(step.saturating_mul((lane / slower) as i64)));
            }
        }
        lanes
    }

    fn extend_box(&mut self, t: usize, kind: usize, access: &AccessRef) {
        let last = access.coords.len().saturating_sub(1);
        let ranges = access.coords.iter().zip(&self.kinds[t][kind].ranges).enumerate().map(|(d, (coord, (lo, hi)))| {
            (lo + coord.constant, hi + coord.constant + if d == last { i64::from(access.width) - 1 } else { 0 })
        });
        match &mut self.boxes[t] {
            Some(known) => known.iter_mut().zip(ranges).for_each(|(k, r)| *k = (k.0.min(r.0), k.1.max(r.1))),
            empty => *empty = Some(ranges.collect()),
        }
    }

    fn tensor(&self, t: usize, written: bool) -> TensorTraffic {
        let place = &self.accesses.tensors[t].place;
        let bytes = place.bytes() as f64;
        let (unit, extents): (f64, SmallVec<[i64; 5]>) = match place {
            TensorPlace::Image { format, width, height, .. } => (f64::from(format.bytes()), SmallVec::from_slice(&[*width, *height])),
            TensorPlace::Buffer { element, dims, .. } => (f64::from(element.bytes()), dims.iter().copied().collect()),
        };
        let group_bytes = self.boxes[t]
            .as_ref()
            .map_or(0.0, |b| b.iter().zip(&extents).map(|((lo, hi), extent)| (hi - lo + 1).min(*extent) as f64).product::<f64>() * unit);
        let axes = |kind| {
            let own = self.accesses.vars.iter().enumerate().filter(move |(i, v)| v.kind == kind && self.launch_vars[t] >> i & 1 == 1);
            own.map(|(_, v)| f64::from(v.trips.unwrap_or(1))).product()
        };
        TensorTraffic {
            group_bytes: group_bytes.min(bytes),
            bytes,
            distinct_groups: axes(VarKind::Group),
            distinct_items: axes(VarKind::Lane),
            sweeps: f64::from(self.sweeps[t].0.max(1)),
            image: matches!(place, TensorPlace::Image { .. }),
            touched: self.boxes[t].is_some(),
            written,
            known: self.known.contains(&(t as u16)),
        }
    }
}
