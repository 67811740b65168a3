//! What a kernel asks of the memory system, from its accesses alone.
//!
//! Accesses that differ in constants only ask for the same: each `Kind` is enumerated over the lanes of one warp once.

use smallvec::SmallVec;
use warpsight_ir::{AccessKind, AccessRef, Accesses, Kernel, Nest, TensorPlace, VarId, VarKind};

/// Requests of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Memory instructions one work-item executes (a texel or a vector each counts one).
    pub instructions: f64,
    /// Conditions one work-item judges for guards.
    pub conditions: f64,
    /// Texels one work-item reads or writes.
    pub texels: f64,
    /// Bytes one work-item reads from or writes to buffers.
    pub buffer_bytes: f64,
    /// Distinct lines per warp instruction, summed over the instructions of one warp: images.
    pub texture_lines: f64,
    /// The same for buffers in device memory.
    pub buffer_lines: f64,
    /// Scalar elements of local memory one work-item touches.
    pub local_words: f64,
    /// Loads that depend on no earlier load of the same straight-line block wait together: how many such waits a work-item has.
    pub waits: f64,
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
    /// Whether it is an image.
    pub image: bool,
    /// Whether it is touched at all, and written.
    pub touched: bool,
    /// Whether it is written.
    pub written: bool,
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
}

/// Smallest and largest coordinate along each dimension.
type Extent = SmallVec<[(i64, i64); 5]>;

/// Accesses whose coordinates differ in constants only.
struct Kind {
    width: u8,
    terms: SmallVec<[(VarId, i32); 12]>,
    /// Distinct lines of one warp.
    lines: f64,
    /// Range of the variable part of each coordinate within a group.
    ranges: Extent,
}

struct Walker<'a> {
    accesses: &'a Accesses,
    lines: Lines,
    lane_vars: SmallVec<[(usize, i64); 4]>,
    /// Per tensor.
    kinds: Vec<Vec<Kind>>,
    boxes: Vec<Option<Extent>>,
    group_vars: Vec<u64>,
    traffic: Traffic,
}

/// Requests of one launch of a kernel.
pub fn traffic(kernel: &Kernel, lines: Lines) -> Traffic {
    let accesses = &kernel.accesses;
    let lane_vars = accesses.vars.iter().enumerate().filter(|(_, v)| v.kind == VarKind::Lane);
    let mut walker = Walker {
        accesses,
        lines,
        lane_vars: lane_vars.map(|(i, v)| (i, i64::from(v.trips.unwrap_or(1)))).collect(),
        kinds: accesses.tensors.iter().map(|_| vec![]).collect(),
        boxes: vec![None; accesses.tensors.len()],
        group_vars: vec![0; accesses.tensors.len()],
        traffic: Traffic::default(),
    };
    let mut written = vec![false; accesses.tensors.len()];
    walker.nodes(&accesses.nest, 1.0, &mut written);
    let tensors = (0..accesses.tensors.len()).map(|t| walker.tensor(t, written[t])).collect();
    Traffic { tensors, ..walker.traffic }
}

impl Walker<'_> {
    fn nodes(&mut self, nodes: &[Nest], times: f64, written: &mut [bool]) {
        let mut loads = 0;
        let mut block_lines = 0.0;
        for node in nodes {
            match node {
                Nest::Loop { var, body } => {
                    let trips = self.accesses.vars[usize::from(var.0)].trips.unwrap_or(1);
                    self.nodes(body, times * f64::from(trips), written);
                }
                Nest::Access(access) => {
                    let lines = self.access(access, times);
                    if access.kind == AccessKind::Load {
                        loads += 1;
                        if matches!(self.accesses.tensors[usize::from(access.tensor)].place, TensorPlace::Image { .. }) {
                            block_lines += lines;
                        }
                    } else {
                        written[usize::from(access.tensor)] = true;
                    }
                }
                Nest::Barrier => {}
            }
        }
        // Compilers batch a block's loads; about sixteen are in flight before the first is needed.
        self.traffic.waits += times * (f64::from(loads) / 16.0).ceil();
        self.traffic.texture_block_lines = self.traffic.texture_block_lines.max(block_lines);
    }

    fn access(&mut self, access: &AccessRef, times: f64) -> f64 {
        let t = usize::from(access.tensor);
        let place = &self.accesses.tensors[t].place;
        let kind = self.kind(t, access, place);
        let lines = self.kinds[t][kind].lines;
        self.extend_box(t, kind, access);
        self.traffic.instructions += times;
        self.traffic.conditions += times * access.guard.iter().map(|g| if g.per_lane { f64::from(access.width) } else { 1.0 }).sum::<f64>();
        match place {
            TensorPlace::Image { .. } => {
                self.traffic.texels += times;
                self.traffic.texture_lines += times * lines;
            }
            TensorPlace::Buffer { space: warpsight_ir::Space::Local, .. } => self.traffic.local_words += times * f64::from(access.width),
            TensorPlace::Buffer { element, .. } => {
                self.traffic.buffer_bytes += times * f64::from(u32::from(access.width) * element.bytes());
                self.traffic.buffer_lines += times * lines;
            }
        }
        lines
    }

    /// The kind of an access; a new one is enumerated.
    fn kind(&mut self, t: usize, access: &AccessRef, place: &TensorPlace) -> usize {
        let terms = || access.coords.iter().flat_map(|c| c.terms().iter().copied().chain([(VarId(u16::MAX), 0)]));
        if let Some(known) = self.kinds[t].iter().position(|k| k.width == access.width && k.terms.iter().copied().eq(terms())) {
            return known;
        }
        let mut coefficients: SmallVec<[i32; 12]> = SmallVec::new();
        for coord in &access.coords {
            coefficients.extend(self.lane_vars.iter().map(|(v, _)| coord.coefficient(VarId(*v as u16))));
        }
        let lines = self.enumerate(&coefficients, access.width, place);
        let vars = &self.accesses.vars;
        let ranges = access.coords.iter().map(|coord| {
            let (lo, hi) = coord.range(|v| {
                let var = &vars[usize::from(v.0)];
                if var.kind == VarKind::Group { (0, 0) } else { (0, i64::from(var.trips.unwrap_or(1)) - 1) }
            });
            (lo - coord.constant, hi - coord.constant)
        });
        for (v, _) in access.coords.iter().flat_map(|c| c.terms()) {
            if vars[usize::from(v.0)].kind == VarKind::Group {
                self.group_vars[t] |= 1 << v.0;
            }
        }
        self.kinds[t].push(Kind { width: access.width, terms: terms().collect(), lines, ranges: ranges.collect() });
        self.kinds[t].len() - 1
    }

    /// Distinct lines that the first warp of a group touches; the constant part of coordinates is taken as aligned.
    fn enumerate(&self, coefficients: &[i32], width: u8, place: &TensorPlace) -> f64 {
        let axes = self.lane_vars.len();
        let mut touched: SmallVec<[(i64, i64); 64]> = SmallVec::new();
        let group: i64 = self.lane_vars.iter().map(|v| v.1).product();
        for lane in 0..group.min(i64::from(self.lines.warp)) {
            let mut rest = lane;
            let mut coords: SmallVec<[i64; 5]> = SmallVec::from_elem(0, coefficients.len() / axes.max(1));
            for (axis, &(_, extent)) in self.lane_vars.iter().enumerate() {
                let at = rest % extent;
                rest /= extent;
                for (d, c) in coords.iter_mut().enumerate() {
                    *c += i64::from(coefficients[d * axes + axis]) * at;
                }
            }
            match place {
                TensorPlace::Image { format, .. } => {
                    let per_line = (self.lines.texture / f64::from(format.bytes())).max(1.0) as i64;
                    touched.push((coords.first().copied().unwrap_or(0).div_euclid(per_line), coords.get(1).copied().unwrap_or(0)));
                }
                TensorPlace::Buffer { element, dims, .. } => {
                    let flat = coords.iter().zip(dims).fold(0, |at, (c, extent)| at * extent + c);
                    let start = flat * i64::from(element.bytes());
                    let end = start + i64::from(u32::from(width) * element.bytes()) - 1;
                    let line = self.lines.buffer as i64;
                    touched.extend((start.div_euclid(line)..=end.div_euclid(line)).map(|l| (l, 0)));
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched.len().max(1) as f64
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
            TensorPlace::Image { format, width, height } => (f64::from(format.bytes()), SmallVec::from_slice(&[*width, *height])),
            TensorPlace::Buffer { element, dims, .. } => (f64::from(element.bytes()), dims.iter().copied().collect()),
        };
        let group_bytes = self.boxes[t]
            .as_ref()
            .map_or(0.0, |b| b.iter().zip(&extents).map(|((lo, hi), extent)| (hi - lo + 1).min(*extent) as f64).product::<f64>() * unit);
        let axes = self.accesses.vars.iter().enumerate().filter(|(i, v)| v.kind == VarKind::Group && self.group_vars[t] >> i & 1 == 1);
        TensorTraffic {
            group_bytes: group_bytes.min(bytes),
            bytes,
            distinct_groups: axes.map(|(_, v)| f64::from(v.trips.unwrap_or(1))).product(),
            image: matches!(place, TensorPlace::Image { .. }),
            touched: self.boxes[t].is_some(),
            written,
        }
    }
}
