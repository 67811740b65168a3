//! A kernel as the steps of a warp: loops, barriers, and accesses whose lanes' addresses are linear forms in bytes.

use super::draw::Draw;
use super::fault::TraceFault;
use super::form::{Form, Forms, Shape};
use super::levels::Levels;
use smallvec::SmallVec;
use warpsight_ir::layout::Mapper;
use warpsight_ir::{AccessKind, AccessRef, Accesses, Kernel, Name, Nest, Space, TensorPlace, VarKind};

/// What a warp does next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An access: its position among the touches.
    Access(u32),
    /// Begins a loop that runs at least once.
    Begin(u16),
    /// Ends a trip of the loop of this variable and so many trips, whose first step is there.
    Again(u16, u32, u32),
    /// Waits for the warps of the group.
    Barrier,
}

/// A condition: `0 ≤ form < extent`.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The form.
    pub form: Form,
    /// Its limit.
    pub extent: i64,
    /// Of each element of a vector for itself: that of element e is `form + e`.
    pub per_element: bool,
}

/// Where lanes find what they touch.
#[derive(Clone, Debug)]
pub enum Place {
    /// At addresses in bytes.
    Linear(Form),
    /// At coordinates that are drawn, or those of texels.
    Apart(Box<Apart>),
}

/// Coordinates that are no linear address.
#[derive(Clone, Debug)]
pub struct Apart {
    /// First byte of element (0, …, 0).
    pub base: i64,
    /// Of each coordinate its form, its extent and bytes from one to the next.
    pub coords: SmallVec<[(Form, i64, i64); 4]>,
    /// How texels lie.
    pub image: Option<Mapper>,
    /// How coordinates are drawn.
    pub draw: Option<Draw>,
}

/// An access to device memory.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Position among [`Script::names`].
    pub tensor: u16,
    /// What it does.
    pub kind: AccessKind,
    /// Elements of a lane.
    pub width: u32,
    /// Bytes of an element, and from one to the next.
    pub element: (i64, i64),
    /// Where.
    pub place: Place,
    /// When.
    pub conditions: Vec<Condition>,
}

/// What every warp of a launch does.
pub struct Script {
    /// In order.
    pub steps: Vec<Step>,
    /// Accesses to device memory.
    pub touches: Vec<Touch>,
    /// What forms add for each lane.
    pub shapes: Vec<Shape>,
    /// Lanes of a warp.
    pub warp: u32,
    /// Tensors in device memory.
    pub names: Vec<Name>,
    /// Variables of groups, the fastest first, with how many values they take.
    pub groups: Vec<(u16, u64)>,
    /// Number of variables.
    pub vars: usize,
    /// Groups of the launch.
    pub group_count: u64,
    /// Work-items of a group.
    pub lanes: u32,
    /// Accesses of a warp from begin to end.
    pub accesses: u64,
}

impl Script {
    /// Of a kernel on a GPU; draws are of this seed.
    ///
    /// # Errors
    /// Loops without known trips, variables that are not the launch's, addresses beyond all numbers.
    pub fn of(kernel: &Kernel, levels: &Levels, seed: u64) -> Result<Self, TraceFault> {
        let accesses = &kernel.accesses;
        let trips =
            |kind| accesses.vars.iter().enumerate().filter(move |(_, var)| var.kind == kind).map(|(at, var)| (at as u16, var.trips));
        let known = |own: (u16, Option<u32>)| own.1.map(|trips| (own.0, u64::from(trips)));
        let groups: Vec<(u16, u64)> = trips(VarKind::Group).filter_map(known).collect();
        let launch = &kernel.launch;
        let product = |kind| trips(kind).filter_map(known).map(|own| own.1).product::<u64>();
        for (what, kind, launch) in [
            ("work-groups", VarKind::Group, launch.group_count()),
            ("work-items of a group", VarKind::Lane, u64::from(launch.group_size())),
        ] {
            let vars = product(kind);
            if vars != launch {
                return Err(TraceFault::Launch { what, vars, launch });
            }
        }
        let tensors = layout(accesses, levels)?;
        let warp = levels.residency.warp.unwrap_or(1).max(1);
        let mut writer = Writer {
            accesses,
            tensors,
            forms: Forms::of(accesses, launch.group_size() as usize, warp as usize),
            steps: Vec::new(),
            touches: Vec::new(),
            around: groups.iter().map(|group| group.0).chain(trips(VarKind::Lane).map(|lane| lane.0)).collect(),
            seed,
            kernel,
        };
        let accesses_of_a_warp = writer.nest(&accesses.nest)?;
        Ok(Self {
            steps: writer.steps,
            touches: writer.touches,
            shapes: writer.forms.shapes,
            names: writer.tensors.iter().flatten().map(|tensor| tensor.name.clone()).collect(),
            groups,
            vars: accesses.vars.len(),
            group_count: launch.group_count(),
            lanes: launch.group_size(),
            warp,
            accesses: accesses_of_a_warp,
        })
    }
}

impl Script {
    /// What a form adds for each lane of a warp.
    pub fn lanes_of(&self, form: &Form, warp: usize) -> &[i64] {
        let from = warp * self.warp as usize;
        let until = (from + self.warp as usize).min(self.lanes as usize);
        &self.shapes[form.shape as usize].lanes[from..until]
    }

    /// Warps of a group.
    pub fn warps(&self) -> u32 {
        self.lanes.div_ceil(self.warp)
    }
}

/// A tensor in device memory.
struct Laid {
    name: Name,
    /// Position among those in device memory.
    number: u16,
    /// First byte of element (0, …, 0).
    base: i64,
    /// Extents and bytes from one index to the next, slowest first.
    axes: SmallVec<[(i64, i64); 4]>,
    element: i64,
    image: Option<Mapper>,
}

/// Tensors begin at multiples of this, as allocators have it.
const ALIGNED: i64 = 4096;

/// And images at multiples of this.
const OF_IMAGES: i64 = 1 << 16;

/// The first boundary that is not before an address of at least 0.
fn boundary(at: i64, of: i64) -> Option<i64> {
    Some(at.checked_add(of - 1)? / of * of)
}

/// The tensors in device memory one after the other, with room for what accesses touch beside them.
fn layout(accesses: &Accesses, levels: &Levels) -> Result<Vec<Option<Laid>>, TraceFault> {
    let (mut laid, mut end, mut number) = (Vec::new(), 0_i64, 0);
    for (at, tensor) in accesses.tensors.iter().enumerate() {
        let too_far = || TraceFault::TooFar(tensor.name.clone());
        let own = match &tensor.place {
            TensorPlace::Buffer { space: Space::Global, element, dims, layout } => {
                let size = i64::from(element.bytes());
                let mut axes: SmallVec<[(i64, i64); 4]> = SmallVec::new();
                let mut stride = size;
                for (i, &dim) in dims.iter().enumerate().rev() {
                    stride = layout.strides.get(i).map_or(Some(stride), |own| own.checked_mul(size)).ok_or_else(too_far)?;
                    axes.insert(0, (dim, stride));
                    stride = stride.checked_mul(dim.max(1)).ok_or_else(too_far)?;
                }
                let (lo, hi) = reach(accesses, at as u16, &axes).ok_or_else(too_far)?;
                let first = layout.align.checked_mul(size).ok_or_else(too_far)?;
                // Elements begin `first` bytes after a boundary, and the least of what is touched after everything before.
                let base = end.checked_sub(lo.min(0)).and_then(|at| boundary(at, ALIGNED)?.checked_add(first)).ok_or_else(too_far)?;
                let hi = axes.iter().fold(hi, |hi, &(dim, stride)| hi.max(dim.saturating_mul(stride.saturating_abs())));
                end = base.checked_add(hi).and_then(|end| end.checked_add(ALIGNED)).filter(|&end| end < 1 << 62).ok_or_else(too_far)?;
                Laid { name: tensor.name.clone(), number, base, axes, element: size, image: None }
            }
            TensorPlace::Image { format, width, height } => {
                let texel = format.bytes();
                let extents = u32::try_from((*width).max(1)).ok().zip(u32::try_from((*height).max(1)).ok());
                let (width, height) = extents.ok_or_else(too_far)?;
                let image = levels.image.mapper(width, height, texel);
                let base = boundary(end, OF_IMAGES).ok_or_else(too_far)?;
                end = i64::try_from(image.bytes()).ok().and_then(|bytes| base.checked_add(bytes)).ok_or_else(too_far)?;
                let axes = SmallVec::from_slice(&[(i64::from(width), 0), (i64::from(height), 0)]);
                Laid { name: tensor.name.clone(), number, base, axes, element: texel.into(), image: Some(image) }
            }
            // Served by others than these caches.
            TensorPlace::Buffer { .. } => {
                laid.push(None);
                continue;
            }
        };
        number += 1;
        laid.push(Some(own));
    }
    Ok(laid)
}

/// The bytes from a tensor's begin on that accesses may touch, whatever conditions say: from the least to past the last.
fn reach(accesses: &Accesses, tensor: u16, axes: &[(i64, i64)]) -> Option<(i64, i64)> {
    let mut bounds = Some((0_i64, 0_i64));
    accesses.each(&mut |access| {
        if access.tensor != tensor {
            return;
        }
        let last = |var: u16| i64::from(accesses.vars[usize::from(var)].trips.unwrap_or(1).max(1)) - 1;
        bounds = bounds.and_then(|(mut lo, mut hi)| {
            let (mut least, mut most) = (0_i64, 0_i64);
            for (form, &(_, stride)) in access.coords.iter().zip(axes) {
                let constant = form.constant.checked_mul(stride)?;
                (least, most) = (least.checked_add(constant)?, most.checked_add(constant)?);
                for &(var, c) in form.terms() {
                    let far = i64::from(c).checked_mul(stride)?.checked_mul(last(var.0))?;
                    (least, most) = (least.checked_add(far.min(0))?, most.checked_add(far.max(0))?);
                }
            }
            let wide = axes.last()?.1.checked_abs()?.checked_mul(i64::from(access.width) + 1)?;
            (lo, hi) = (lo.min(least), hi.max(most.checked_add(wide)?));
            Some((lo, hi))
        });
    });
    bounds
}

/// Writes the steps.
struct Writer<'a> {
    accesses: &'a Accesses,
    kernel: &'a Kernel,
    tensors: Vec<Option<Laid>>,
    forms: Forms,
    steps: Vec<Step>,
    touches: Vec<Touch>,
    /// Variables of groups and lanes, and of loops around.
    around: Vec<u16>,
    seed: u64,
}

impl Writer<'_> {
    /// Writes these nodes; accesses of a warp in them.
    fn nest(&mut self, nest: &[Nest]) -> Result<u64, TraceFault> {
        let mut accesses = 0_u64;
        for node in nest {
            match node {
                Nest::Barrier => self.steps.push(Step::Barrier),
                Nest::Access(access) => {
                    if let Some(touch) = self.touch(access) {
                        self.steps.push(Step::Access(self.touches.len() as u32));
                        self.touches.push(touch);
                        accesses += 1;
                    }
                }
                Nest::Loop { var, body } => {
                    let own = &self.accesses.vars[usize::from(var.0)];
                    let trips = own.trips.ok_or_else(|| TraceFault::Trips(own.name.clone()))?;
                    if trips == 0 {
                        continue;
                    }
                    let begin = self.steps.len();
                    self.steps.push(Step::Begin(var.0));
                    self.around.push(var.0);
                    let inside = self.nest(body)?;
                    self.around.pop();
                    if self.steps.len() == begin + 1 {
                        // Nothing in it goes to device memory or waits.
                        self.steps.pop();
                        continue;
                    }
                    self.steps.push(Step::Again(var.0, trips, begin as u32 + 1));
                    accesses = accesses.saturating_add(inside.saturating_mul(trips.into()));
                }
            }
        }
        Ok(accesses)
    }

    /// An access; `None` where it does not go to device memory.
    fn touch(&mut self, access: &AccessRef) -> Option<Touch> {
        let tensor = self.tensors.get(usize::from(access.tensor))?.as_ref()?;
        let conditions = access.guard.iter().map(|bound| Condition {
            form: self.forms.affine(&bound.value),
            extent: bound.extent,
            per_element: bound.per_lane,
        });
        let conditions = conditions.collect();
        let unknown = access.indirect.filter(|own| own.unknown());
        let place = if unknown.is_none() && tensor.image.is_none() {
            let mut terms: Vec<(u16, i64)> = Vec::new();
            let mut constant = tensor.base;
            for (form, &(_, stride)) in access.coords.iter().zip(&tensor.axes) {
                constant += form.constant * stride;
                for &(var, c) in form.terms() {
                    let c = i64::from(c) * stride;
                    match terms.iter_mut().find(|term| term.0 == var.0) {
                        Some(term) => term.1 += c,
                        None => terms.push((var.0, c)),
                    }
                }
            }
            terms.sort_unstable();
            terms.retain(|term| term.1 != 0);
            Place::Linear(self.forms.form(constant, terms))
        } else {
            let draw = unknown.map(|own| {
                Draw::of(own, access, self.touches.len() as u64 ^ self.seed << 32, &self.around, (self.kernel, &mut self.forms))
            });
            let axes = access.coords.iter().zip(&tensor.axes);
            let coords = axes.map(|(form, &(dim, stride))| (self.forms.affine(form), dim, stride)).collect();
            Place::Apart(Box::new(Apart { base: tensor.base, coords, image: tensor.image.clone(), draw }))
        };
        let step = if tensor.image.is_some() { tensor.element } else { tensor.axes.last().map_or(tensor.element, |axis| axis.1) };
        Some(Touch {
            tensor: tensor.number,
            kind: access.kind,
            width: access.width.max(1).into(),
            element: (tensor.element, step),
            place,
            conditions,
        })
    }
}
