//! One expression in many shapes: each is chosen for anew, and then few kernels are kept, which lose little by it.
//!
//! A configuration serves several sizes of one open dimension by one Program with a size ([`generic::Generic`]), and, where several dimensions
//! are open, by a Program for each shape. Which are kept is a cover of the shapes, made greedily: always the kernel that serves most of what is
//! left, until each shape has one that loses at most [`SLACK`] by the model.

pub mod generic;
mod tried;

pub use tried::{Tried, simpler};

use crate::EngineError;
use crate::tune::{self, Attempt, Judge};
use fastrand::Rng;
use generic::Generic;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use warpsight_generate::parallel::each;
use warpsight_generate::{ScheduleFamily, TensorExpr};
use warpsight_ir::{Config, Family, KnobValue, Name, Ranked, Seconds, SizeParam};
use warpsight_run::Device;

/// What a kernel that serves several shapes may lose at one of them to the one chosen for it, by the model.
pub const SLACK: f64 = 0.05;
/// Shapes, evenly spread, whose choices are held against all others.
const SPREAD: usize = 32;
/// Configurations of each of these: the best ones.
const NEAR: usize = 4;
/// Estimates that these, and what is added to them, may take at all shapes together. Beyond them a shape's own choice serves that shape alone.
const COUNTED: usize = 1 << 16;

/// Sees every attempt on a shape's own choice.
pub type Observer<'a> = dyn FnMut(&ScheduleFamily, &Attempt) -> Result<(), EngineError> + 'a;

/// Hears what is being done, and how much of that is: a share from 0 to 1.
pub type Progress<'a> = dyn Fn(&'static str, f64) + Sync + 'a;

/// A configuration in words.
pub type Words = BTreeMap<Name, KnobValue>;

/// A shape with its own choice.
pub struct Shape {
    /// The sizes that are open.
    pub sizes: Vec<i64>,
    /// Its space.
    pub family: ScheduleFamily,
    /// Its best configurations, the best first, among those of its space and those that other shapes chose. Of a [`Table`]: but what was wrong.
    pub ranked: Vec<Ranked>,
    /// Legal configurations.
    pub candidates: usize,
    /// What choosing took.
    pub took: Duration,
}

/// A configuration, legal at one shape; at others it is the one that means the same there ([`ScheduleFamily::alike`]).
#[derive(Clone, PartialEq)]
pub struct Meant {
    /// The position of the shape.
    shape: usize,
    config: Config,
}

impl Meant {
    /// What it is at another shape, where it is legal there.
    pub fn at(&self, shape: &Shape, shapes: &[Shape]) -> Option<Config> {
        shape.family.alike(&shapes[self.shape].family, &self.config)
    }

    /// In words.
    pub fn words(&self, shapes: &[Shape]) -> Words {
        shapes[self.shape].family.space().describe(&self.config)
    }
}

/// A kernel that is kept.
pub struct Kept {
    /// Its configuration.
    pub meant: Meant,
    /// The Program for all shapes that it serves; `None` where each has its own.
    pub generic: Option<Generic>,
    /// What it is expected to take at each shape that it may serve, by position.
    pub able: BTreeMap<usize, Seconds>,
    /// The shapes that are its own, by position.
    pub serves: Vec<usize>,
    /// Where it ran, and was right: at its first and last shape and a prime one, and wherever it has a Program of that shape alone.
    pub tried: Vec<Tried>,
}

/// Shapes and the kernels that serve them.
pub struct Table {
    /// The shapes.
    pub shapes: Vec<Shape>,
    /// The kernels.
    pub kept: Vec<Kept>,
    /// Of each shape the kernel.
    pub kernel: Vec<usize>,
    /// What each shape is expected to lose by its kernel, unmeasured, to the fastest of its best configurations: the kernel's own loss by the model
    /// and what the model may be wrong by ([`RankFamily::expected_loss`](warpsight_ir::RankFamily::expected_loss)).
    pub expected: Vec<Option<f64>>,
    /// Kernels that were wrong or refused somewhere, with the reason.
    pub rejected: Vec<(Words, String)>,
}

impl Table {
    /// What the model expects a shape to lose by its kernel: 0.05 where that takes 5 % longer than the kernel chosen for the shape alone.
    pub fn loss(&self, shape: usize) -> f64 {
        let own = self.kept[self.kernel[shape]].able.get(&shape);
        own.map_or(0.0, |time| time.0 / self.shapes[shape].best().0 - 1.0)
    }

    /// The worst of these.
    pub fn worst(&self) -> f64 {
        (0..self.shapes.len()).map(|shape| self.loss(shape)).fold(0.0, f64::max)
    }
}

impl Shape {
    /// Chooses for a shape.
    ///
    /// # Errors
    /// Where no configuration has an estimate, why.
    pub fn choose(sizes: Vec<i64>, expr: TensorExpr, judge: &Judge) -> Result<Self, EngineError> {
        let start = Instant::now();
        let family = ScheduleFamily::by(expr, judge.passes);
        let (candidates, ranked) = tune::rank_all(&family, judge)?;
        if ranked.is_empty() {
            return Err(EngineError::NothingVerified {
                name: format!("{} {sizes:?}", family.name()),
                tried: 0,
                first: "no configuration fits the device".to_owned(),
            });
        }
        Ok(Self { sizes, family, ranked, candidates: candidates.total, took: start.elapsed() })
    }

    /// What its own choice is expected to take.
    pub fn best(&self) -> Seconds {
        self.ranked[0].estimate.time
    }

    /// What is expected of a configuration; `None` where the device cannot run it.
    fn rank(&self, config: Config, judge: &Judge) -> Option<Ranked> {
        tune::rank(&self.family, std::iter::once(config), judge).ok()?.1.into_iter().next()
    }
}

/// Chooses for each of several shapes.
///
/// # Errors
/// As [`Shape::choose`].
pub fn choose(shapes: Vec<(Vec<i64>, TensorExpr)>, judge: &Judge, progress: &Progress) -> Result<Vec<Shape>, EngineError> {
    let done = AtomicUsize::new(0);
    let chosen = each(&shapes, |(sizes, expr)| {
        let own = Shape::choose(sizes.clone(), expr.clone(), judge);
        progress("choosing", (done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / shapes.len() as f64);
        own
    });
    chosen.into_iter().collect()
}

/// A configuration that may serve, and the shapes within the slack.
struct Candidate {
    meant: Meant,
    /// Of each shape, where it is legal and not known to be wrong, and what it takes there by a Program of its own.
    times: Vec<Option<(Config, Seconds)>>,
    /// Shapes that are left, of which it serves so many at most.
    most: usize,
    /// What it was found to serve, and in what time, by how slow kernels might be then.
    made: Option<(Option<Generic>, BTreeMap<usize, Seconds>)>,
}

/// What was found to be wrong or refused.
struct Wrong {
    meant: Meant,
    /// Of the Program for all sizes. That says nothing of the configuration's Programs for one.
    generic: bool,
    reason: String,
}

/// Chooses kernels for shapes of one expression. Those that are kept run at the ends of what they serve, at a prime size, and wherever they have a Program
/// of their own, or one of which the text does not show that it is right; one that is wrong there gives way.
///
/// # Errors
/// What the profile lacks; a device that is lost; a shape for which nothing could be verified.
pub fn table(
    name: Option<&str>,
    shapes: Vec<Shape>,
    judge: &Judge,
    device: &mut dyn Device,
    rng: &mut Rng,
    observe: &mut Observer,
    progress: &Progress,
) -> Result<Table, EngineError> {
    let size = name.map(|name| {
        let sizes = || shapes.iter().map(|shape| shape.sizes[0]);
        SizeParam { name: format!("size_{name}").into(), lo: sizes().min().unwrap_or(0), hi: sizes().max().unwrap_or(0) }
    });
    let mut cover = Cover { size, shapes, judge, progress, candidates: vec![], wrong: vec![] };
    cover.begin();
    loop {
        let mut kept = cover.cover(device, rng)?;
        let kernel = dispatched(&mut kept, &cover.shapes);
        let (number, known) = (kept.len(), cover.wrong.len());
        for (at, own) in kept.iter_mut().enumerate() {
            progress("running", at as f64 / number as f64);
            match tried::verify(own, &cover.shapes, judge, device, rng, observe)? {
                Ok(tried) => own.tried = tried,
                Err(reason) => cover.wrong.push(Wrong { meant: own.meant.clone(), generic: own.generic.is_some(), reason }),
            }
        }
        if cover.wrong.len() == known {
            let rejected = cover.wrong.iter().map(|own| (own.meant.words(&cover.shapes), own.reason.clone())).collect();
            let expected = (0..cover.shapes.len()).map(|at| cover.expected(&kept[kernel[at]], at)).collect();
            return Ok(Table { kernel, kept, expected, rejected, shapes: cover.shapes });
        }
    }
}

struct Cover<'a> {
    size: Option<SizeParam>,
    shapes: Vec<Shape>,
    judge: &'a Judge<'a>,
    progress: &'a Progress<'a>,
    candidates: Vec<Candidate>,
    wrong: Vec<Wrong>,
}

impl Cover<'_> {
    /// Candidates that are counted at all shapes.
    fn counted(&self) -> usize {
        (COUNTED / self.shapes.len().max(1)).max(2)
    }

    /// Counts the best configurations of shapes that are spread evenly at all shapes; as many may follow.
    fn begin(&mut self) {
        let most = self.counted() / 2;
        let spread = self.shapes.len().min(SPREAD).min(most);
        let near = NEAR.min(most / spread.max(1));
        for n in 0..spread {
            let at = n * (self.shapes.len() - 1) / (spread - 1).max(1);
            let best: Vec<Config> = self.shapes[at].ranked.iter().take(near).map(|own| own.config.clone()).collect();
            for config in best {
                self.add(Meant { shape: at, config });
            }
            (self.progress)("comparing", (n + 1) as f64 / spread as f64);
        }
    }

    /// Adds a configuration that may serve many shapes, unless it is known, or enough are.
    fn add(&mut self, meant: Meant) -> bool {
        let known = |own: &Candidate| own.times[meant.shape].as_ref().is_some_and(|time| time.0 == meant.config);
        let new = self.candidates.len() < self.counted() && !self.candidates.iter().any(known);
        if new {
            let time = |shape: &Shape| shape.rank(meant.at(shape, &self.shapes)?, self.judge).map(|own| (own.config, own.estimate.time));
            let times = each(&self.shapes, time);
            self.candidates.push(Candidate { meant, times, most: 0, made: None });
        }
        new
    }

    /// Makes the best of all that was counted at a shape, and is not known to be wrong there, its own choice.
    fn settle(&mut self) -> Result<(), EngineError> {
        for at in 0..self.shapes.len() {
            let shape = &self.shapes[at];
            let wrong: Vec<Config> =
                self.wrong.iter().filter(|own| !own.generic).filter_map(|own| own.meant.at(shape, &self.shapes)).collect();
            let shape = &mut self.shapes[at];
            shape.ranked.retain(|own| !wrong.contains(&own.config));
            for own in &mut self.candidates {
                if own.times[at].as_ref().is_some_and(|time| wrong.contains(&time.0)) {
                    (own.times[at], own.made) = (None, None);
                }
            }
            let least = self.candidates.iter().filter_map(|own| own.times[at].as_ref()).min_by(|a, b| a.1.0.total_cmp(&b.1.0));
            let better = least.filter(|least| shape.ranked.first().is_none_or(|own| least.1.0 < own.estimate.time.0));
            if let Some(own) = better.and_then(|own| shape.rank(own.0.clone(), self.judge)) {
                shape.ranked.insert(0, own);
            }
            if shape.ranked.is_empty() {
                return Err(EngineError::NothingVerified {
                    name: format!("{} {:?}", shape.family.name(), shape.sizes),
                    tried: wrong.len(),
                    first: self.wrong.first().map_or(String::new(), |wrong| wrong.reason.clone()),
                });
            }
        }
        Ok(())
    }

    /// What a shape is expected to lose by a kernel.
    fn expected(&self, kept: &Kept, at: usize) -> Option<f64> {
        let (shape, judge) = (&self.shapes[at], self.judge);
        let config = kept.meant.at(shape, &self.shapes)?;
        let own = match &kept.generic {
            Some(generic) => {
                let estimate = judge.model.estimate(&generic.kernel(shape.sizes[0])?, judge.profile).ok()?;
                Ranked { config, estimate }
            }
            None => shape.rank(config, judge)?,
        };
        let others = shape.ranked.iter().filter(|other| other.config != own.config).cloned();
        let list: Vec<Ranked> = std::iter::once(own.clone()).chain(others).collect();
        judge.model.expected_loss(&list)
    }

    /// Whether a time is within the slack of a shape's own choice.
    fn serves(&self, shape: usize, time: Seconds) -> bool {
        time.0 <= self.shapes[shape].best().0 * (1.0 + SLACK)
    }

    /// Kernels until every shape has one.
    fn cover(&mut self, device: &mut dyn Device, rng: &mut Rng) -> Result<Vec<Kept>, EngineError> {
        loop {
            self.settle()?;
            if let Some(kept) = self.greedily(device, rng)? {
                return Ok(kept);
            }
        }
    }

    /// `None` where a candidate was added that is better than some shape's own choice.
    fn greedily(&mut self, device: &mut dyn Device, rng: &mut Rng) -> Result<Option<Vec<Kept>>, EngineError> {
        let mut left: Vec<usize> = (0..self.shapes.len()).collect();
        let mut kept: Vec<Kept> = vec![];
        for at in 0..self.candidates.len() {
            self.candidates[at].most = self.within(at, &left).len();
        }
        while let Some(&first) = left.first() {
            (self.progress)("covering", 1.0 - left.len() as f64 / self.shapes.len() as f64);
            let Some(at) = (0..self.candidates.len())
                .filter(|&at| self.candidates[at].most > 0)
                .max_by_key(|&at| (self.candidates[at].most, std::cmp::Reverse(at)))
            else {
                // Of what is left, a shape brings its own choice, which serves that shape alone where it is known already.
                let Ranked { config, estimate } = &self.shapes[first].ranked[0];
                let (meant, time) = (Meant { shape: first, config: config.clone() }, estimate.time);
                if self.add(meant.clone()) {
                    let last = self.candidates.len() - 1;
                    let times = self.candidates[last].times.iter().zip(&self.shapes);
                    if times.filter_map(|own| Some((own.0.as_ref()?.1, own.1.best()))).any(|(time, best)| time.0 < best.0) {
                        return Ok(None);
                    }
                    self.candidates[last].most = self.within(last, &left).len();
                } else {
                    left.remove(0);
                    kept.push(Kept::new(meant, None, [(first, time)].into()));
                }
                continue;
            };
            if self.candidates[at].made.is_none() {
                let made = self.make(at, device, rng)?;
                self.candidates[at].made = Some(made);
            }
            let able: Vec<usize> = self.within(at, &left);
            // The others serve no more than they were last found to.
            if able.len() < self.candidates[at].most {
                self.candidates[at].most = able.len();
                continue;
            }
            let Candidate { meant, made: Some((generic, times)), .. } = &self.candidates[at] else { continue };
            let times = times.iter().map(|own| (*own.0, *own.1)).filter(|own| self.serves(own.0, own.1)).collect();
            kept.push(Kept::new(meant.clone(), generic.clone(), times));
            left.retain(|shape| !able.contains(shape));
            for other in 0..self.candidates.len() {
                self.candidates[other].most = self.candidates[other].most.min(self.within(other, &left).len());
            }
        }
        Ok(Some(kept))
    }

    /// Those of some shapes at which a candidate is within the slack, by what is known of it.
    fn within(&self, at: usize, of: &[usize]) -> Vec<usize> {
        let own = &self.candidates[at];
        let time = |shape: &usize| match &own.made {
            Some((_, times)) => times.get(shape).copied(),
            None => own.times[*shape].as_ref().map(|time| time.1),
        };
        of.iter().copied().filter(|shape| time(shape).is_some_and(|time| self.serves(*shape, time))).collect()
    }

    /// What a candidate serves by one Program where one dimension is open, else by one each.
    fn make(&self, at: usize, device: &mut dyn Device, rng: &mut Rng) -> Result<(Option<Generic>, BTreeMap<usize, Seconds>), EngineError> {
        let own = &self.candidates[at];
        let within = || {
            own.times.iter().enumerate().filter_map(|(shape, time)| Some((shape, time.as_ref()?))).filter(|own| self.serves(own.0, own.1.1))
        };
        let Some(size) = &self.size else {
            return Ok((None, within().map(|(shape, time)| (shape, time.1)).collect()));
        };
        let shapes: Vec<(usize, i64, &ScheduleFamily, Config)> =
            within().map(|(shape, time)| (shape, self.shapes[shape].sizes[0], &self.shapes[shape].family, time.0.clone())).collect();
        let mut best: (Option<Generic>, BTreeMap<usize, Seconds>) = (None, BTreeMap::new());
        // What was wrong as one Program may still be a shape's own choice.
        if self.wrong.iter().any(|wrong| wrong.generic && wrong.meant == own.meant) {
            return Ok(best);
        }
        for mut generic in Generic::of(size, &shapes) {
            if generic.positions().len() <= best.1.len() {
                continue;
            }
            tried::simpler(&mut generic, &shapes, device, rng)?;
            let times = each(&generic.positions(), |&shape| {
                let kernel = generic.kernel(self.shapes[shape].sizes[0])?;
                Some((shape, self.judge.model.estimate(&kernel, self.judge.profile).ok()?.time))
            });
            let able: BTreeMap<usize, Seconds> = times.into_iter().flatten().filter(|own| self.serves(own.0, own.1)).collect();
            if able.len() > best.1.len() {
                best = (Some(generic), able);
            }
        }
        Ok(best)
    }
}

impl Kept {
    fn new(meant: Meant, generic: Option<Generic>, able: BTreeMap<usize, Seconds>) -> Self {
        Self { meant, generic, able, serves: vec![], tried: vec![] }
    }
}

/// Of each shape the kernel: the one before it as long as that may serve, then the one that may serve the most of those that follow. What serves none is
/// no longer kept, and the size of a Program reaches as far as what it serves.
fn dispatched(kept: &mut Vec<Kept>, shapes: &[Shape]) -> Vec<usize> {
    let reach = |own: &Kept, from: usize| (from..shapes.len()).take_while(|shape| own.able.contains_key(shape)).count();
    let mut kernel: Vec<usize> = vec![];
    for shape in 0..shapes.len() {
        let before = kernel.last().copied().filter(|&own| kept[own].able.contains_key(&shape));
        let longest = || (0..kept.len()).max_by_key(|&own| (reach(&kept[own], shape), std::cmp::Reverse(own))).unwrap_or(0);
        kernel.push(before.unwrap_or_else(longest));
    }
    let used: Vec<usize> = (0..kept.len()).filter(|own| kernel.contains(own)).collect();
    for (own, number) in kept.iter_mut().zip(0..) {
        own.serves = (0..shapes.len()).filter(|&shape| kernel[shape] == number).collect();
        if let (Some(generic), Some(&first), Some(&last)) = (&mut own.generic, own.serves.first(), own.serves.last()) {
            generic.narrow(shapes[first].sizes[0], shapes[last].sizes[0]);
        }
    }
    kept.retain(|own| !own.serves.is_empty());
    kernel.into_iter().map(|own| used.iter().position(|&number| number == own).unwrap_or(0)).collect()
}
