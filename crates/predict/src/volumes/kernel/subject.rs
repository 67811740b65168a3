//! A kernel as the counting sees it: fields in device memory, and what lanes, blocks and loops make of their coordinates.

use super::image::{self, Image};
use crate::volumes::known::Known;
use crate::volumes::sets::intervals::Intervals;
use crate::volumes::sets::lines::Geometry;
use crate::volumes::sets::regions::Region;
use smallvec::SmallVec;
use std::rc::Rc;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, AffineBound, ImageKind, Indirect, Kernel, LoadPath, Name, Nest, NoEstimate, Space,
    TensorPlace, VarId, VarKind,
};

/// A kernel whose launch is known, every buffer of it a field of rows and planes.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Blocks along each group axis, fastest first.
    pub groups: Vec<Var>,
    /// Lanes along each lane axis of a block, fastest first.
    pub lanes: Vec<Var>,
    /// Buffers and images in device memory, in order of the kernel's tensors.
    pub fields: Vec<Field>,
    /// Arrays in local memory, likewise.
    pub local: Vec<Field>,
    /// Buffers in constant memory, likewise.
    pub constant: Vec<Field>,
    /// What was found of kernels like it.
    pub known: Rc<Known>,
    /// Which of those that differ in sizes alone it is one of; `None` where nobody looked.
    pub structure: Option<usize>,
    /// Variables that coordinates may hold.
    vars: usize,
}

/// A variable and how many values it takes from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var {
    /// Which.
    pub id: VarId,
    /// Values.
    pub count: u32,
}

/// A buffer and what the kernel does with it.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// How it lies in memory.
    pub geometry: Geometry,
    /// Loads, stores and atomics whose addresses are known, in program order.
    pub touches: Vec<Touch>,
    /// The same of those that depend on data.
    pub gathers: Vec<Touch>,
    /// Whether it is an image, whose elements are texels.
    pub image: Option<Image>,
}

/// One access of every lane.
#[derive(Clone, Debug)]
pub struct Touch {
    /// What it does.
    pub kind: AccessKind,
    /// Position among all accesses of the kernel, in program order.
    pub position: usize,
    /// Barriers of the program before it.
    pub met: usize,
    /// The number it goes by: its position where the kernel was written.
    pub number: usize,
    /// x (in a row), y (rows of a plane), z (planes).
    pub coords: [Affine; 3],
    /// Consecutive elements along x.
    pub width: i64,
    /// Loops around it.
    pub loops: SmallVec<[Var; 4]>,
    /// Lanes take part where every bound holds: those that are judged, then those that the sampler of an image keeps.
    pub guard: Vec<AffineBound>,
    /// How many bounds are judged.
    pub judged: usize,
    /// See [`AccessRef::indirect`]; which coordinates are drawn as bits of x, y and z.
    pub indirect: Option<Indirect>,
    /// Which way a load takes.
    pub path: LoadPath,
    /// See [`AccessRef::branch`].
    pub branch: Option<u32>,
}

/// Loads or stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Everything that is read.
    Loads,
    /// Everything that is written.
    Stores,
}

impl Field {
    /// All that is done with it, addresses that depend on data last.
    pub fn all(&self) -> impl Iterator<Item = &Touch> {
        self.touches.iter().chain(&self.gathers)
    }
}

impl Side {
    /// Whether an access is on this side; atomics are on both.
    pub fn has(self, kind: AccessKind) -> bool {
        match self {
            Self::Loads => !matches!(kind, AccessKind::Store(_)),
            Self::Stores => !matches!(kind, AccessKind::Load),
        }
    }
}

/// Which of a subject's lists a tensor is in, and where.
#[derive(Clone, Copy)]
enum Place {
    Global(usize),
    Local(usize),
    Constant(usize),
}

/// First value and number of values of every variable.
#[derive(Clone, Debug)]
pub struct Ranges(Vec<(i64, u32)>);

impl Subject {
    /// Of a kernel, its images in the order that is taken where none is known.
    ///
    /// # Errors
    /// See [`Self::with_images`].
    pub fn of(kernel: &Kernel) -> Result<Self, NoEstimate> {
        Self::with_images(kernel, image::ASSUMED)
    }

    /// Of a kernel whose images lie like this.
    ///
    /// # Errors
    /// [`NoEstimate::NotCovered`] for loops whose trips depend on data, and for strides that are no multiple of each other.
    pub fn with_images(kernel: &Kernel, layout: ImageLayout) -> Result<Self, NoEstimate> {
        let accesses = &kernel.accesses;
        let vars = |kind| {
            let ids = accesses.vars.iter().enumerate().filter(move |(_, var)| var.kind == kind);
            ids.map(|(i, var)| Ok(Var { id: VarId(i as u16), count: trips(var.trips, &var.name)? })).collect::<Result<Vec<_>, NoEstimate>>()
        };
        let (mut fields, mut local, mut constant) = (Vec::new(), Vec::new(), Vec::new());
        let mut positions = vec![None; accesses.tensors.len()];
        for (i, tensor) in accesses.tensors.iter().enumerate() {
            match &tensor.place {
                // Tiles are registers.
                TensorPlace::Buffer { space: Space::Tile, .. } => {}
                TensorPlace::Buffer { space, element, dims, layout } => {
                    let (list, place): (&mut Vec<Field>, fn(usize) -> Place) = match space {
                        Space::Local => (&mut local, Place::Local),
                        Space::Constant => (&mut constant, Place::Constant),
                        _ => (&mut fields, Place::Global),
                    };
                    positions[i] = Some(place(list.len()));
                    let strides = if layout.strides.is_empty() { packed(dims) } else { layout.strides.clone() };
                    let geometry = geometry(&strides, dims, i64::from(element.bytes()), layout.align)
                        .ok_or_else(|| NoEstimate::NotCovered(format!("the strides of `{}`", tensor.name)))?;
                    list.push(Field { name: tensor.name.clone(), geometry, touches: vec![], gathers: vec![], image: None });
                }
                &TensorPlace::Image { kind, format, width, height } => {
                    positions[i] = Some(Place::Global(fields.len()));
                    let layout = layout.of(kind);
                    let image = Some(Image { layout, extent: [width, height] });
                    let element = i64::from(format.bytes());
                    let row = image::row(layout, width, element)
                        .ok_or_else(|| NoEstimate::NotCovered(format!("the rows of `{}`, which end within a texel", tensor.name)))?;
                    let geometry = Geometry { element, origin: 0, row, plane: None };
                    fields.push(Field { name: tensor.name.clone(), geometry, touches: vec![], gathers: vec![], image });
                }
            }
        }
        let (groups, lanes) = (vars(VarKind::Group)?, vars(VarKind::Lane)?);
        let (known, vars) = (Rc::default(), accesses.vars.len());
        let mut subject = Self { groups, lanes, fields, local, constant, known, structure: None, vars };
        subject.collect(accesses, &accesses.nest, &positions, &mut SmallVec::new(), &mut (0, 0))?;
        subject.fits()?;
        Ok(subject)
    }

    /// Whether every address, and every count of pieces that lanes touch, stays far below 64 bits.
    fn fits(&self) -> Result<(), NoEstimate> {
        // What lanes of a warp touch together is less than this many pieces each.
        const PIECES: f64 = 256.0;
        let most = i64::MAX as f64 / 8.0;
        let threads: f64 = self.groups.iter().chain(&self.lanes).map(|var| f64::from(var.count)).product();
        for field in self.fields.iter().chain(&self.local).chain(&self.constant) {
            let row = field.geometry.row as f64;
            let sizes = [1.0, row, row * field.geometry.plane.unwrap_or(0) as f64];
            // Most differ in constants only.
            let mut like: Option<(&Touch, [f64; 3], f64)> = None;
            for touch in field.all() {
                let (_, moved, trips) = like.filter(|like| like.0.moves_like(touch)).unwrap_or_else(|| {
                    let vars = self.groups.iter().chain(&self.lanes).chain(&touch.loops);
                    let moved = [0, 1, 2].map(|i| {
                        let moved = vars.clone().map(|var| f64::from(touch.coords[i].coefficient(var.id)).abs() * f64::from(var.count));
                        moved.sum::<f64>()
                    });
                    (touch, moved, touch.loops.iter().map(|var| f64::from(var.count)).product())
                });
                like = Some((touch, moved, trips));
                let reach = |i: usize| moved[i] + (touch.coords[i].constant as f64).abs() + touch.width as f64;
                if field.image.is_some() && reach(0).max(reach(1)) > image::FARTHEST {
                    return Err(NoEstimate::NotCovered(format!("`{}`, access {}: it is far from every image", field.name, touch.number)));
                }
                let bytes = (0..3).map(|i| reach(i) * sizes[i]).sum::<f64>() * field.geometry.element as f64;
                let bounds = touch.guard.iter().map(|bound| (bound.value.constant as f64).abs().max((bound.extent as f64).abs()));
                if bytes + field.geometry.origin as f64 > most || threads * trips * PIECES > most || bounds.fold(0.0, f64::max) > most * 4.0
                {
                    return Err(NoEstimate::NotCovered(format!("`{}`, access {}: it exceeds 64 bits", field.name, touch.number)));
                }
            }
        }
        Ok(())
    }

    fn collect(
        &mut self,
        accesses: &Accesses,
        nest: &[Nest],
        positions: &[Option<Place>],
        around: &mut SmallVec<[Var; 4]>,
        // Accesses and barriers before.
        passed: &mut (usize, usize),
    ) -> Result<(), NoEstimate> {
        for node in nest {
            match node {
                Nest::Barrier => passed.1 += 1,
                Nest::Loop { var, body } => {
                    let info = &accesses.vars[usize::from(var.0)];
                    around.push(Var { id: *var, count: trips(info.trips, &info.name)? });
                    self.collect(accesses, body, positions, around, passed)?;
                    around.pop();
                }
                Nest::Access(access) => {
                    if let Some(place) = positions[usize::from(access.tensor)] {
                        let tensor = &accesses.tensors[usize::from(access.tensor)];
                        let coords = rows(access, &tensor.place)
                            .ok_or_else(|| NoEstimate::NotCovered(format!("the strides of `{}`, which exceed 32 bits", tensor.name)))?;
                        let field = match place {
                            Place::Global(at) => &mut self.fields[at],
                            Place::Local(at) => &mut self.local[at],
                            Place::Constant(at) => &mut self.constant[at],
                        };
                        let indirect = access.indirect.map(|own| Indirect { drawn: drawn(own.drawn, access.coords.len()), ..own });
                        let unknown = field.image.is_none() && indirect.is_some_and(|own| own.unknown());
                        let beside = field.image.map_or_else(SmallVec::new, |image| beside(access, accesses, &tensor.place, image));
                        let list = if unknown { &mut field.gathers } else { &mut field.touches };
                        list.push(Touch {
                            kind: access.kind,
                            position: passed.0,
                            met: passed.1,
                            number: passed.0,
                            coords,
                            width: i64::from(access.width),
                            loops: around.clone(),
                            guard: access.guard.iter().cloned().chain(beside).collect(),
                            judged: access.guard.len(),
                            indirect,
                            path: access.path,
                            branch: access.branch,
                        });
                    }
                    passed.0 += 1;
                }
            }
        }
        Ok(())
    }

    /// Of a kernel that differs from this one's in sizes alone, and in what the one condition of all its accesses says. `None` where it has images, or
    /// numbers that do not fit.
    pub fn resized(&self, kernel: &Kernel) -> Option<Self> {
        fn first(nest: &[Nest]) -> Option<&AccessRef> {
            nest.iter().find_map(|node| match node {
                Nest::Access(access) => Some(access),
                Nest::Loop { body, .. } => first(body),
                Nest::Barrier => None,
            })
        }
        let accesses = &kernel.accesses;
        let guard = &first(&accesses.nest)?.guard;
        let mut subject = self.clone();
        for group in &mut subject.groups {
            group.count = accesses.vars[usize::from(group.id.0)].trips?;
        }
        let (mut fields, mut local, mut constant) = (subject.fields.iter_mut(), subject.local.iter_mut(), subject.constant.iter_mut());
        for tensor in &accesses.tensors {
            let TensorPlace::Buffer { space, element, dims, layout } = &tensor.place else { return None };
            let field = match space {
                // Tiles are registers.
                Space::Tile => continue,
                Space::Local => local.next()?,
                Space::Constant => constant.next()?,
                _ => fields.next()?,
            };
            // Of more dimensions, coordinates depend on how large these are.
            let strides = if layout.strides.is_empty() { packed(dims) } else { layout.strides.clone() };
            field.geometry = geometry(&strides, dims, i64::from(element.bytes()), layout.align).filter(|_| dims.len() <= 3)?;
            field.touches.iter_mut().chain(&mut field.gathers).for_each(|touch| {
                touch.guard.clone_from(guard);
                touch.judged = guard.len();
            });
        }
        subject.fits().is_ok().then_some(subject)
    }

    /// Accesses by the numbers that these positions had where the kernel was written.
    pub fn number(&mut self, numbers: &[usize]) {
        let fields = self.fields.iter_mut().chain(&mut self.local).chain(&mut self.constant);
        fields
            .flat_map(|field| field.touches.iter_mut().chain(&mut field.gathers))
            .for_each(|touch| touch.number = numbers.get(touch.position).copied().unwrap_or(touch.position));
    }

    /// Every variable over all its values; blocks at `block`.
    pub fn block(&self, block: &[i64]) -> Ranges {
        let mut ranges = self.launch();
        for (group, &at) in self.groups.iter().zip(block) {
            ranges.0[usize::from(group.id.0)] = (at, 1);
        }
        ranges
    }

    /// Every variable over all its values.
    pub fn launch(&self) -> Ranges {
        let mut ranges = Ranges(vec![(0, 1); self.vars]);
        let fields = self.fields.iter().chain(&self.local).chain(&self.constant);
        let loops = fields.flat_map(|field| &field.touches).flat_map(|touch| &touch.loops);
        for var in self.groups.iter().chain(&self.lanes).chain(loops) {
            ranges.0[usize::from(var.id.0)] = (0, var.count);
        }
        ranges
    }
}

impl Ranges {
    /// With another range for one variable.
    pub fn with(mut self, var: VarId, first: i64, count: u32) -> Self {
        self.0[usize::from(var.0)] = (first, count);
        self
    }

    fn of(&self, var: VarId) -> (i64, u32) {
        self.0[usize::from(var.0)]
    }
}

impl Touch {
    /// All elements it touches while variables run over these ranges, guards left out. A variable that moves several coordinates is
    /// taken value by value.
    pub fn regions(&self, ranges: &Ranges, to: &mut Vec<Region>) {
        let [x, y, z] = [0, 1, 2].map(|i| Intervals::point(self.coords[i].constant));
        self.regions_of(&[Region { x, y, z }], ranges, to);
    }

    /// The same for many accesses that differ in constants only: these, in place of its own. What they fill together is filled before
    /// variables with larger steps multiply the pieces.
    pub fn regions_of(&self, constants: &[Region], ranges: &Ranges, to: &mut Vec<Region>) {
        let shared = self.coords[0]
            .terms()
            .iter()
            .chain(self.coords[1].terms())
            .map(|term| term.0)
            .find(|&var| ranges.of(var).1 > 1 && self.coords.iter().filter(|form| form.coefficient(var) != 0).count() > 1);
        if let Some(var) = shared {
            let (first, count) = ranges.of(var);
            (0..i64::from(count)).for_each(|k| self.regions_of(constants, &ranges.clone().with(var, first + k, 1), to));
            return;
        }
        let steps = [0, 1, 2].map(|i| {
            let form = &self.coords[i];
            let start = form.terms().iter().map(|&(var, c)| i64::from(c) * ranges.of(var).0).sum();
            // Small steps first: they make runs that larger ones join.
            let mut steps: SmallVec<[(i64, i64); 6]> =
                form.terms().iter().map(|&(var, c)| (i64::from(c), i64::from(ranges.of(var).1))).filter(|term| term.1 > 1).collect();
            steps.sort_unstable_by_key(|term| term.0.abs());
            (Intervals::range(start, start + if i == 0 { self.width } else { 1 }), steps)
        });
        let axis = |set: &Intervals, i: usize| {
            let (start, steps) = &steps[i];
            steps.iter().fold(set.sum(start), |set, &(step, count)| set.plus_progression(step, count))
        };
        to.extend(constants.iter().map(|own| Region { x: axis(&own.x, 0), y: axis(&own.y, 1), z: axis(&own.z, 2) }));
    }

    /// Whether another access differs in constants, kind and path only.
    pub fn alike(&self, other: &Self) -> bool {
        self.moves_like(other) && self.guard == other.guard
    }

    /// Whether another access differs in constants, guards, kind and path only.
    pub fn moves_like(&self, other: &Self) -> bool {
        (0..3).all(|i| self.coords[i].terms() == other.coords[i].terms()) && self.width == other.width && self.loops == other.loops
    }

    /// Bytes its address moves by when a variable grows by one.
    pub fn stride(&self, geometry: &Geometry, var: VarId) -> i64 {
        let [x, y, z] = [0, 1, 2].map(|i| i64::from(self.coords[i].coefficient(var)));
        (x + (y + z * geometry.plane.unwrap_or(0)) * geometry.row) * geometry.element
    }

    /// Byte at which lane 0 of block 0 begins, all loops at their first trip.
    pub fn origin(&self, geometry: &Geometry) -> i64 {
        let [x, y, z] = [0, 1, 2].map(|i| self.coords[i].constant);
        geometry.origin + (x + (y + z * geometry.plane.unwrap_or(0)) * geometry.row) * geometry.element
    }
}

/// Where a load from an image with a sampler may be beside it: from there nothing comes from memory. A condition on a part of a coordinate is
/// taken to keep all of it.
fn beside(access: &AccessRef, accesses: &Accesses, place: &TensorPlace, image: Image) -> SmallVec<[AffineBound; 2]> {
    let sampled = !matches!(place, TensorPlace::Image { kind: ImageKind::Image1dBuffer, .. }) && access.kind == AccessKind::Load;
    let last = |id: VarId| i64::from(accesses.vars[usize::from(id.0)].trips.unwrap_or(1)) - 1;
    let kept = |form: &Affine| {
        let part = |bound: &AffineBound| bound.value.terms().iter().all(|term| form.coefficient(term.0) != 0);
        access.guard.iter().any(|bound| !bound.value.is_constant() && part(bound))
    };
    let bound = |(form, extent): (&Affine, i64)| {
        let (least, most) = form.range(|id| (0, last(id))).ends();
        let leaves = (least < 0 || most >= extent) && !kept(form);
        leaves.then(|| AffineBound { value: form.clone(), extent, per_lane: false })
    };
    let coords = access.coords.iter().zip(image.extent);
    if sampled { coords.filter_map(bound).collect() } else { SmallVec::new() }
}

fn trips(trips: Option<u32>, name: &Name) -> Result<u32, NoEstimate> {
    trips.ok_or_else(|| NoEstimate::NotCovered(format!("loop `{name}`, whose trips depend on data")))
}

/// Which of x, y and z are drawn: slower dimensions than three are planes.
fn drawn(bits: u16, rank: usize) -> u16 {
    let back = |from_last: usize| rank.checked_sub(from_last).map_or(0, |i| bits >> i & 1);
    let slower = (0..rank.saturating_sub(2)).any(|i| bits >> i & 1 == 1);
    back(1) | back(2) << 1 | u16::from(slower) << 2
}

fn packed(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i];
    }
    strides
}

/// Rows and planes of a buffer with these strides; dimensions slower than three are planes of planes.
fn geometry(strides: &[i64], dims: &[i64], element: i64, align: i64) -> Option<Geometry> {
    let rank = strides.len();
    if rank == 0 || strides[rank - 1] != 1 {
        return None;
    }
    let row = if rank > 1 { strides[rank - 2] } else { dims[rank - 1].max(1) };
    let plane = match rank {
        0..3 => None,
        _ if row > 0 && strides[rank - 3] % row == 0 => Some(strides[rank - 3] / row),
        _ => return None,
    };
    let whole = strides[..rank.saturating_sub(3)].iter().all(|stride| stride % (row * plane.unwrap_or(1)) == 0);
    (row > 0 && whole).then_some(Geometry { element, origin: align * element, row, plane })
}

/// Coordinates as x, y, z: slower dimensions than three become planes. `None` where their number exceeds 32 bits.
fn rows(access: &AccessRef, place: &TensorPlace) -> Option<[Affine; 3]> {
    let TensorPlace::Buffer { dims, layout, .. } = place else {
        // Images are listed x first.
        return Some([0, 1, 2].map(|i| access.coords.get(i).cloned().unwrap_or_default()));
    };
    let strides = if layout.strides.is_empty() { packed(dims) } else { layout.strides.clone() };
    let rank = access.coords.len();
    let at = |back: usize| rank.checked_sub(back).map_or_else(Affine::default, |i| access.coords[i].clone());
    let mut z = at(3);
    for i in 0..rank.saturating_sub(3) {
        // Whole planes by construction of the geometry.
        z.add(&access.coords[i], strides[i] / strides[rank - 3])?;
    }
    Some([at(1), at(2), z])
}
