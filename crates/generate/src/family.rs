//! The Family of a tensor expression, and its lowering step by step.

use crate::expr::{Index, TensorExpr};
use crate::kernel::{Shared, outline};
use crate::knobs::{GROUP, Knobs, Meeting};
use crate::layout::{Layout, Place, is_free};
use crate::nest::Nest;
use crate::passes::Passes;
use crate::program::program;
use crate::schedule::{Schedule, axis};
use smallvec::SmallVec;
use std::ops::Range;
use warpsight_ir::{Checked, Config, ConfigSpace, Family, Kernel, Knob, KnobValue, LowerError, Name};

/// Changes whenever a configuration lowers to another Program than before: stored times of older Programs are then not taken for today's.
pub const VERSION: u32 = 5;

/// Of configurations that make a change legal by a second one, so many are neighbours.
const MENDED: usize = 4;
/// Combinations tried for each schedule that is drawn.
const DRAWS: usize = 200;
/// Elements, and steps, of which a thousand times as many have 32 bits.
const SMALL: i64 = 1 << 21;

/// All schedules of one tensor expression.
pub struct ScheduleFamily {
    expr: TensorExpr,
    knobs: Knobs,
    /// Whether no arrangement of work-items brings coordinates near the end of 32 bits.
    small: bool,
    /// Whether every value is a number and every place affine.
    plain: bool,
    /// What happens to lowered Programs.
    passes: Passes,
}

/// What a work-item does, all arrangements of work-items in groups, and all places of its tensors: each pair of these is a configuration.
pub struct Work {
    values: Vec<i32>,
    /// Values of the knobs of arrangement.
    pub arrangements: Vec<Vec<i32>>,
    /// Values of the knobs of places.
    pub places: Vec<Vec<i32>>,
}

impl Work {
    /// The configuration with an arrangement and with places.
    pub fn config(&self, arrangement: &[i32], places: &[i32]) -> Config {
        Config([&self.values, arrangement, places].concat())
    }
}

/// See [`ScheduleFamily::legal`].
type Legal = SmallVec<[SmallVec<[bool; 8]>; 5]>;

/// The named steps of lowering, in order; each can be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// The expression as loops over its axes.
    Expression,
    /// Axes split among groups, lanes, points and vector lanes.
    Tile,
    /// Every tensor's place: buffer or image, with explicit packing.
    Place,
    /// What each straight-line step loads, with the bounds that edges need.
    Loads,
    /// The Program with coordinate vectors.
    Program,
    /// What [`Passes`] make of it: common parts of addresses computed once per loop (paper 001, Algorithm 1).
    Addresses,
}

impl Lowering {
    /// All of them in order.
    pub const ALL: [Self; 6] = [Self::Expression, Self::Tile, Self::Place, Self::Loads, Self::Program, Self::Addresses];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expression => "expression",
            Self::Tile => "tile",
            Self::Place => "place",
            Self::Loads => "loads",
            Self::Program => "program",
            Self::Addresses => "addresses",
        }
    }
}

impl ScheduleFamily {
    /// Opens the family of an expression.
    pub fn new(expr: TensorExpr) -> Self {
        Self::by(expr, Passes::default())
    }

    /// The same by other passes than by default.
    pub fn by(expr: TensorExpr, passes: Passes) -> Self {
        let knobs = Knobs::of(&expr, passes);
        let (small, plain) = (is_small(&expr), expr.is_plain());
        Self { expr, knobs, small, plain, passes }
    }

    /// By which passes its Programs are made.
    pub fn passes(&self) -> Passes {
        self.passes
    }

    /// The expression.
    pub fn expr(&self) -> &TensorExpr {
        &self.expr
    }

    /// Where each input, then the output, lies under a configuration.
    pub fn layouts(&self, config: &Config) -> Result<Vec<Layout>, LowerError> {
        self.with_nest(config, |nest| nest.layouts.clone()).ok_or_else(|| self.not_legal(config))
    }

    /// What the layout of each input, then of the output, is under a configuration.
    pub fn places(&self, config: &Config) -> Option<Vec<Place>> {
        self.schedule(config).map(|own| own.places.to_vec())
    }

    /// Where the tensors lie that may lie in several ways, under a configuration of this space, legal or not.
    pub fn chosen_places(&self, config: &Config) -> impl Iterator<Item = Place> {
        self.knobs.chosen_places(config)
    }

    /// The schedule of a configuration; `None` where it is not legal.
    pub(crate) fn schedule(&self, config: &Config) -> Option<Schedule> {
        self.knobs.schedule(&self.expr, config)
    }

    /// Configurations of so many schedules, drawn, each in all places that are legal then: the same of equal spaces for one seed. Fewer where
    /// few of a space's combinations are legal. Work-items of a group meet for what they may only.
    pub fn sample(&self, seed: u64, schedules: usize, meeting: Meeting) -> Vec<Config> {
        self.drawn(seed, schedules, meeting, |_| true, &[]).collect()
    }

    /// The same in some places alone, each schedule drawn when it is asked for. A tensor that is said to lie somewhere (inputs, then output) may
    /// lie there, too.
    pub fn drawn(
        &self,
        seed: u64,
        schedules: usize,
        meeting: Meeting,
        lies: impl Fn(Place) -> bool,
        at: &[Option<Place>],
    ) -> impl Iterator<Item = Config> + '_ {
        let mut rng = fastrand::Rng::with_seed(seed);
        let knobs = &self.knobs.space.knobs[..self.knobs.arranging().end];
        let places = self.knobs.places_where(lies, at);
        let known = places.iter().flat_map(|own| &own.values).max().map_or(1, |&most| most as usize + 1);
        let draws = (0..schedules * DRAWS).filter_map(move |_| {
            let values: Vec<i32> = knobs.iter().map(|knob| knob.values[rng.usize(..knob.values.len())]).collect();
            let schedule = self.knobs.loops(&self.expr, &values)?;
            let (meets, copies) = (schedule.meets(), schedule.copied().next().is_some());
            if meets && !(meeting.allows(self.knobs.meets(&values)) && Nest::can_meet(&self.expr, schedule.clone())) {
                return None;
            }
            let legal = self.legal(schedule, known);
            let legal = ConfigSpace::combine(&places).filter(|places| self.allows(&legal, &values, places));
            let configs: Vec<Config> = legal.map(|places| Config([&values[..], &places].concat())).collect();
            // Nothing is drawn where what is copied lies nowhere.
            (!copies || !configs.is_empty()).then_some(configs)
        });
        draws.take(schedules).flatten()
    }

    /// Legal configurations.
    pub fn count(&self) -> usize {
        self.works(Meeting::ANY).map(|work| work.arrangements.len() * work.places.len()).sum()
    }

    /// So many configurations at most: all, or one in so many by chance, the same ones of equal spaces.
    pub fn some(&self, most: usize) -> Vec<Config> {
        let one_in = self.count().div_ceil(most.max(1)).max(1) as u64;
        self.configs().filter(|config| chance(config).is_multiple_of(one_in)).collect()
    }

    /// The legal configurations that differ from one in the value of a knob; where a value is legal only with another of a second knob, some of
    /// those with both. Work-items of a group meet for what they may only. Knobs at positions that are `fixed` keep their values.
    pub fn neighbours(&self, config: &Config, meeting: Meeting, fixed: &[usize]) -> Vec<Config> {
        let knobs = &self.knobs.space.knobs;
        let legal = |own: &Config| meeting.allows(self.meets(own)) && self.with_nest(own, |_| ()).is_some();
        let changes = |of: &Config| -> Vec<(usize, Config)> {
            let each = knobs.iter().enumerate().flat_map(|(at, knob)| knob.values.iter().map(move |value| (at, *value)));
            let others = each.filter(|&(at, value)| !fixed.contains(&at) && of.0.get(at).is_some_and(|own| *own != value));
            let changed = others.map(|(at, value)| {
                let mut other = of.clone();
                other.0[at] = value;
                (at, other)
            });
            changed.collect()
        };
        let mut found = vec![];
        for (at, other) in changes(config) {
            if legal(&other) {
                found.push(other);
                continue;
            }
            let mended: Vec<Config> = changes(&other).into_iter().filter(|own| own.0 != at && legal(&own.1)).map(|own| own.1).collect();
            found.extend((0..mended.len().min(MENDED)).map(|n| mended[n * mended.len() / MENDED.min(mended.len())].clone()));
        }
        found
    }

    /// The legal configurations that differ from one in that a tensor lies, or all that others see do, in a place that is no part of the space, of which
    /// `lies` says which; or in that a group goes round, and keeps what is the same in all rounds, where that is no part of it.
    pub fn elsewhere(&self, config: &Config, lies: impl Fn(Place) -> bool) -> Vec<Config> {
        let Knobs { placeable, usual, .. } = &self.knobs;
        let first = self.placing().start;
        let further = |n: usize| placeable[n].1[usual[n]..].iter().copied().filter(|place| lies(*place));
        let put = |into: &mut Config, n: usize, place: Place| {
            let at = placeable[n].1.iter().position(|own| *own == place);
            at.iter().for_each(|&at| into.0[first + n] = at as i32);
        };
        let seen: Vec<usize> = (0..placeable.len()).filter(|&n| !is_free(self.expr.tensor(placeable[n].0))).collect();
        let mut found = vec![];
        for n in 0..placeable.len() {
            for place in further(n) {
                let mut one = config.clone();
                put(&mut one, n, place);
                let mut all = one.clone();
                seen.iter().filter(|_| seen.contains(&n)).for_each(|&other| put(&mut all, other, place));
                found.extend([one, all]);
            }
        }
        if let Some([rounds, keep]) = self.knobs.going() {
            let further = |at: usize| {
                let knob = &self.knobs.space.knobs[at];
                knob.values.len() as i32..(knob.values.len() + knob.further.len()) as i32
            };
            found.extend(further(rounds).flat_map(|own| further(keep).map(move |kept| (own, kept))).map(|(own, kept)| {
                let mut round = config.clone();
                (round.0[rounds], round.0[keep]) = (own, kept);
                round
            }));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|own| own != config && self.with_nest(own, |_| ()).is_some());
        found
    }

    /// The configuration that means here what one of another family means there, of the same expression in another shape; `None` where none does.
    /// Groups are shapes over axes by their names: which axis is the longest may differ. What one of both has no knob for is at its first value there.
    pub fn alike(&self, other: &Self, config: &Config) -> Option<Config> {
        let there = other.space().describe(config);
        let knobs = &self.knobs.space.knobs;
        let unknown = |knob: &Knob| knobs.iter().all(|own| own.name != knob.name);
        if other.space().knobs.iter().zip(&config.0).any(|(knob, value)| unknown(knob) && knob.values.first() != Some(value)) {
            return None;
        }
        let value = |knob: &Knob| match there.get(&knob.name) {
            None => knob.values.first().copied(),
            Some(_) if &*knob.name == GROUP => self.knobs.group(&self.expr, &other.knobs.lanes(&other.expr, config)),
            Some(KnobValue::Number(n)) => knob.values.contains(n).then_some(*n),
            Some(KnobValue::Label(l)) => knob.names().position(|own| own == l).map(|at| at as i32),
        };
        let config = Config(knobs.iter().map(value).collect::<Option<_>>()?);
        self.with_nest(&config, |_| ())?;
        Some(config)
    }

    /// Positions of the knobs that say where tensors lie.
    pub fn placing(&self) -> Range<usize> {
        self.knobs.arranging().end..self.knobs.space.knobs.len()
    }

    /// Vector lanes of a configuration.
    pub fn vector(&self, config: &Config) -> Option<u32> {
        self.knobs.vector(config)
    }

    /// What the work-items of a group meet for under a configuration.
    pub fn meets(&self, config: &Config) -> Meeting {
        self.knobs.meets(&config.0)
    }

    /// What work-items may do, and how they may be arranged in groups each time, with the places that are legal then. Work-items of
    /// a group meet for what they may only.
    pub fn works(&self, meeting: Meeting) -> impl Iterator<Item = Work> + '_ {
        let most = self.knobs.usual.iter().copied().max().unwrap_or(1);
        self.knobs.works(&self.expr, meeting).flat_map(move |(values, arrangements)| {
            let mut works: Vec<Work> = vec![];
            // Which of them has the places of which arrangements.
            let mut known: Vec<(Option<Legal>, usize)> = vec![];
            for (arrangement, schedule) in arrangements {
                if schedule.meets() && !Nest::can_meet(&self.expr, schedule.clone()) {
                    continue;
                }
                // Arrangements decide on places only of what is copied, and where coordinates come near the end of 32 bits.
                if let Some(first) = works.first_mut().filter(|_| self.small && schedule.copied().next().is_none()) {
                    first.arrangements.push(arrangement);
                    continue;
                }
                let legal = self.legal(schedule, most);
                let at = known.iter().find(|own| own.0 == legal).map(|own| own.1).unwrap_or_else(|| {
                    let places = ConfigSpace::combine(self.knobs.places()).filter(|places| self.allows(&legal, &values, places)).collect();
                    let at = works.iter().position(|work| work.places == places).unwrap_or(works.len());
                    if at == works.len() {
                        works.push(Work { values: values.clone(), arrangements: vec![], places });
                    }
                    known.push((legal, at));
                    at
                });
                works[at].arrangements.push(arrangement);
            }
            works
        })
    }

    /// The Program that devices run: lowered, and what the passes make of it.
    pub fn finish(&self, config: &Config) -> Result<Checked, LowerError> {
        let program = self.lower(config)?;
        Checked::new(self.passes.apply(program.into_inner()))
            .map_err(|source| LowerError::Invalid { step: Lowering::Addresses.name(), source })
    }

    /// A lowering step's result as text.
    pub fn dump(&self, config: &Config, stage: Lowering) -> Result<String, LowerError> {
        let schedule = self.knobs.schedule(&self.expr, config).ok_or_else(|| self.not_legal(config))?;
        let nest = Nest::new(&self.expr, &schedule, self.passes).ok_or_else(|| self.not_legal(config))?;
        Ok(match stage {
            Lowering::Expression => crate::show::expression(&self.expr),
            Lowering::Tile => schedule.show(&self.expr),
            Lowering::Place => crate::show::places(&nest),
            Lowering::Loads => crate::show::loads(&nest),
            Lowering::Program => self.lower(config)?.to_string(),
            Lowering::Addresses => self.finish(config)?.to_string(),
        })
    }

    /// Where tensors may lie under a schedule, by the number of the place, of so many, then of the tensor, which has its last place where it has
    /// fewer. `None` where one that is in one place alone cannot be there.
    fn legal(&self, schedule: Schedule, most: usize) -> Option<Legal> {
        let placeable = &self.knobs.placeable;
        let mut nest = Nest::placed(&self.expr, schedule);
        let legal: Legal = (0..most)
            .map(|place| {
                placeable.iter().for_each(|(t, places)| nest.put(*t, places[place.min(places.len() - 1)]));
                let mut legal = nest.legal();
                legal[self.expr.inputs.len()] &= self.knobs.whole_blocks(&self.expr, &nest.schedule);
                legal
            })
            .collect();
        (0..=self.expr.inputs.len()).all(|t| placeable.iter().any(|own| own.0 == t) || legal[0][t]).then_some(legal)
    }

    /// Whether a setting of the knobs of places is legal beside values of the others, or of the first of these.
    fn allows(&self, legal: &Option<Legal>, values: &[i32], places: &[i32]) -> bool {
        let lie = |legal: &Legal| self.knobs.placeable.iter().zip(places).all(|((t, _), &place)| legal[place as usize][*t]);
        legal.as_ref().is_some_and(lie) && self.knobs.agree(values, places)
    }

    fn not_legal(&self, config: &Config) -> LowerError {
        LowerError::NotLegal(config.clone(), self.expr.name.clone())
    }

    fn with_nest<T>(&self, config: &Config, f: impl FnOnce(&Nest) -> T) -> Option<T> {
        let schedule = self.schedule(config)?;
        Nest::new(&self.expr, &schedule, self.passes).map(|nest| f(&nest))
    }
}

/// Outlines of configurations one after another: those of one schedule that follow each other share all that does not depend on where tensors
/// lie.
pub(crate) struct Outlines<'a> {
    family: &'a ScheduleFamily,
    /// Of the last configuration, values of the knobs before those of places, and the schedule that these make, if it is legal.
    known: Option<(Vec<i32>, Option<Schedule>)>,
    /// Nests of that with what their outlines have in common, by where tensors lie that are copied.
    nests: Vec<(SmallVec<[Place; 8]>, Option<Nest<'a>>, Shared)>,
}

impl<'a> Outlines<'a> {
    pub(crate) fn of(family: &'a ScheduleFamily) -> Self {
        Self { family, known: None, nests: vec![] }
    }

    /// The schedule of a configuration; `None` where it is not legal.
    pub(crate) fn schedule(&mut self, config: &Config) -> Option<&Schedule> {
        let ScheduleFamily { knobs, expr, .. } = self.family;
        let values = knobs.values(config)?;
        if self.known.as_ref().is_none_or(|known| known.0 != values) {
            self.known = Some((values.to_vec(), knobs.loops(expr, values)));
            self.nests.clear();
        }
        let schedule = self.known.as_mut()?.1.as_mut()?;
        knobs.place(expr, config, schedule).then_some(&*schedule)
    }

    /// [`Family::outline`] of the configuration whose schedule was asked for last.
    pub(crate) fn outline(&mut self, config: &Config) -> Kernel {
        let ScheduleFamily { expr, plain, passes, .. } = self.family;
        // What is found through data is described by the Program alone.
        let schedule = self.known.as_ref().and_then(|known| known.1.as_ref()).filter(|_| *plain);
        let found = schedule.and_then(|schedule| {
            let copied = |(t, &place)| if schedule.copies(t) { place } else { Place::Buffer };
            let places: SmallVec<[Place; 8]> = schedule.places.iter().enumerate().map(copied).collect();
            let at = self.nests.iter().position(|own| own.0 == places).unwrap_or_else(|| {
                let nest = Nest::open(expr, Schedule { places: places.clone(), ..schedule.clone() }, *passes);
                self.nests.push((places, nest, Shared::default()));
                self.nests.len() - 1
            });
            let (_, nest, shared) = &mut self.nests[at];
            let nest = nest.as_mut()?;
            schedule.places.iter().enumerate().for_each(|(tensor, &place)| nest.put(tensor, place));
            outline(nest, shared)
        });
        found.unwrap_or_else(|| self.family.kernel(config))
    }
}

/// A number that depends on every knob of a configuration, as if drawn (the steps of SplitMix64).
fn chance(config: &Config) -> u64 {
    config.0.iter().fold(0, |state: u64, &value| {
        let mixed = (state ^ value as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// Whether all tensors, and all steps of axes, are far from 32 bits, by more than the lanes of a group and a tile beyond the end are.
fn is_small(expr: &TensorExpr) -> bool {
    let reach =
        |form: &Index| form.terms().iter().map(|&(a, c)| i64::from(c.unsigned_abs()).saturating_mul(axis(expr, a).extent)).sum::<i64>();
    let mut all = expr.store.iter().all(|form| reach(form) <= SMALL);
    expr.scalars().for_each(|own| own.forms(&mut |form| all &= reach(form) <= SMALL));
    all && expr.inputs.iter().chain([&expr.output]).all(|tensor| tensor.len() as i64 <= SMALL)
}

impl Family for ScheduleFamily {
    fn name(&self) -> &Name {
        &self.expr.name
    }

    fn space(&self) -> &ConfigSpace {
        &self.knobs.space
    }

    fn configs(&self) -> Box<dyn Iterator<Item = Config> + '_> {
        Box::new(self.works(Meeting::ANY).flat_map(|work| {
            let each = |arrangement: &Vec<i32>| work.places.iter().map(|places| work.config(arrangement, places)).collect::<Vec<_>>();
            let mut all: Vec<Config> = work.arrangements.iter().flat_map(each).collect();
            all.sort_unstable();
            all
        }))
    }

    fn known(&self) -> Vec<u16> {
        self.expr.known_inputs()
    }

    fn outline(&self, config: &Config) -> Kernel {
        let mut own = Outlines::of(self);
        match own.schedule(config) {
            Some(_) => own.outline(config),
            None => self.kernel(config),
        }
    }

    fn lower(&self, config: &Config) -> Result<Checked, LowerError> {
        let program = self.with_nest(config, program).flatten().ok_or_else(|| self.not_legal(config))?;
        Checked::new(program).map_err(|source| LowerError::Invalid { step: Lowering::Program.name(), source })
    }
}
