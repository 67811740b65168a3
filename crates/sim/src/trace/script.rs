//! A kernel as the steps of a warp: loops, barriers, and accesses whose lanes' addresses are linear forms in bytes.

use super::draw::Draw;
use super::fault::TraceFault;
use super::form::{Form, Forms, Shape};
use super::joined::joined;
use super::laid::{Laid, layout};
use super::levels::Levels;
use super::touch::{Apart, Condition, Place, Touch};
use warpsight_ir::{AccessRef, Accesses, AffineBound, Kernel, Name, Nest, VarKind};

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
            joined: levels.joined as i64,
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
    /// See [`Levels::joined`].
    joined: i64,
}

impl Writer<'_> {
    /// Writes these nodes; accesses of a warp in them.
    fn nest(&mut self, nest: &[Nest]) -> Result<u64, TraceFault> {
        let (mut accesses, mut run) = (0_u64, Vec::new());
        for node in nest {
            match node {
                Nest::Barrier => {
                    accesses += self.end_run(&mut run);
                    self.steps.push(Step::Barrier);
                }
                Nest::Access(access) => run.extend(self.touch(access, self.touches.len() + run.len())),
                Nest::Loop { var, body } => {
                    accesses += self.end_run(&mut run);
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
        Ok(accesses + self.end_run(&mut run))
    }

    /// Writes accesses between which there is no loop nor barrier, and says how many there are.
    fn end_run(&mut self, run: &mut Vec<Touch>) -> u64 {
        let joined = joined(std::mem::take(run), self.joined);
        let number = joined.len();
        for touch in joined {
            self.steps.push(Step::Access(self.touches.len() as u32));
            self.touches.push(touch);
        }
        number as u64
    }

    /// An access; `None` where it does not go to device memory.
    fn touch(&mut self, access: &AccessRef, number: usize) -> Option<Touch> {
        let tensor = self.tensors.get(usize::from(access.tensor))?.as_ref()?;
        let open = access.guard.iter().filter(|bound| !holds(bound, access.width, self.accesses));
        let conditions =
            open.map(|bound| Condition { form: self.forms.affine(&bound.value), extent: bound.extent, per_element: bound.per_lane });
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
            let draw =
                unknown.map(|own| Draw::of(own, access, number as u64 ^ self.seed << 32, &self.around, (self.kernel, &mut self.forms)));
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
            branch: access.branch,
        })
    }
}

/// Whether a condition is met by everybody, so that compilers leave it out.
fn holds(bound: &AffineBound, width: u8, accesses: &Accesses) -> bool {
    let last = |var: u16| i64::from(accesses.vars[usize::from(var)].trips.unwrap_or(u32::MAX).max(1)) - 1;
    let ends = bound.value.terms().iter().fold((bound.value.constant, bound.value.constant), |(least, most), &(var, c)| {
        let far = i64::from(c).saturating_mul(last(var.0));
        (least.saturating_add(far.min(0)), most.saturating_add(far.max(0)))
    });
    let elements = if bound.per_lane { i64::from(width.max(1)) - 1 } else { 0 };
    ends.0 >= 0 && ends.1.saturating_add(elements) < bound.extent
}
