//! One expression in many shapes: each is chosen for anew, and then as few kernels are kept as lose little by it.
//!
//! A configuration serves several sizes of one open dimension by one Program with a size ([`generic::Generic`]), and, where several dimensions
//! are open, by a Program for each shape. Which are kept is a cover of the shapes, made greedily: always the kernel that serves most of what is
//! left, until each shape has one that loses at most [`SLACK`] by the model.

pub mod generic;
mod tried;

pub use tried::Tried;

use crate::EngineError;
use crate::parallel::each;
use crate::tune::{self, Attempt, Judge};
use fastrand::Rng;
use generic::Generic;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use warpsight_generate::{ScheduleFamily, TensorExpr};
use warpsight_ir::{Config, Family, KnobValue, Name, Ranked, Seconds, SizeParam};
use warpsight_run::Device;

/// What a kernel that serves several shapes may lose at one of them to the one chosen for it, by the model.
pub const SLACK: f64 = 0.05;
/// Shapes, evenly spread, whose choices are held against all others.
const SPREAD: usize = 32;
/// Configurations of each of these: the best ones.
const NEAR: usize = 4;

/// Sees every attempt on a shape's own choice.
pub type Observer<'a> = dyn FnMut(&ScheduleFamily, &Attempt) -> Result<(), EngineError> + 'a;

/// A configuration in words.
pub type Words = BTreeMap<Name, KnobValue>;

/// A shape with its own choice.
pub struct Shape {
    /// The sizes that are open.
    pub sizes: Vec<i64>,
    /// Its space.
    pub family: ScheduleFamily,
    /// Its best configurations, the best first.
    pub ranked: Vec<Ranked>,
    /// Legal configurations.
    pub candidates: usize,
    /// What choosing took.
    pub took: Duration,
}

/// A configuration, legal at one shape; at others it is the one that means the same there ([`ScheduleFamily::alike`]).
#[derive(Clone)]
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
    /// Where it ran, and was right.
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

    /// What a configuration is expected to take; `None` where the device cannot run it.
    fn time(&self, config: Config, judge: &Judge) -> Option<(Config, Seconds)> {
        let (_, ranked) = tune::rank(&self.family, std::iter::once(config), judge).ok()?;
        ranked.into_iter().next().map(|own| (own.config, own.estimate.time))
    }
}

/// Chooses for each of several shapes.
///
/// # Errors
/// As [`Shape::choose`].
pub fn choose(shapes: Vec<(Vec<i64>, TensorExpr)>, judge: &Judge) -> Result<Vec<Shape>, EngineError> {
    each(&shapes, |(sizes, expr)| Shape::choose(sizes.clone(), expr.clone(), judge)).into_iter().collect()
}

/// A configuration that may serve, and the shapes within the slack.
struct Candidate {
    meant: Meant,
    /// Of each shape, where it is legal, and what it takes there by a Program of its own.
    times: Vec<Option<(Config, Seconds)>>,
    /// Shapes that are left, of which it serves so many at most.
    most: usize,
    /// What it was found to serve.
    made: Option<(Option<Generic>, BTreeMap<usize, Seconds>)>,
}

/// Chooses kernels for shapes of one expression. Those that are kept run at the ends of what they serve, at a prime size, and wherever the text of the Program does not show
/// that it is right; one that is wrong there gives way.
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
) -> Result<Table, EngineError> {
    let size = name.map(|name| {
        let sizes = || shapes.iter().map(|shape| shape.sizes[0]);
        SizeParam { name: format!("size_{name}").into(), lo: sizes().min().unwrap_or(0), hi: sizes().max().unwrap_or(0) }
    });
    let mut cover = Cover { size, shapes: &shapes, judge, candidates: vec![], wrong: vec![], most: vec![] };
    let spread = shapes.len().min(SPREAD);
    for at in (0..spread).map(|n| n * (shapes.len() - 1) / (spread - 1).max(1)) {
        for own in shapes[at].ranked.iter().take(NEAR) {
            cover.add(Meant { shape: at, config: own.config.clone() });
        }
    }
    loop {
        let mut kept = cover.cover(device, rng)?;
        let kernel = dispatched(&mut kept, shapes.len());
        let mut wrong = false;
        for own in &mut kept {
            match tried::ends(own, &shapes, judge, device, rng, observe)? {
                Ok(tried) => own.tried = tried,
                Err(reason) => {
                    wrong = true;
                    cover.wrong.push((own.meant.clone(), reason));
                }
            }
        }
        if !wrong {
            let rejected = cover.wrong.iter().map(|(meant, reason)| (meant.words(&shapes), reason.clone())).collect();
            return Ok(Table { kernel, kept, rejected, shapes });
        }
    }
}

struct Cover<'a> {
    size: Option<SizeParam>,
    shapes: &'a [Shape],
    judge: &'a Judge<'a>,
    candidates: Vec<Candidate>,
    wrong: Vec<(Meant, String)>,
    /// What a kernel may take of each shape.
    most: Vec<Seconds>,
}

impl Cover<'_> {
    /// Adds a configuration that may serve many shapes, unless it is known.
    fn add(&mut self, meant: Meant) -> bool {
        let known = |own: &Candidate| own.times[meant.shape].as_ref().is_some_and(|time| time.0 == meant.config);
        let new = !self.candidates.iter().any(known);
        if new {
            let times = each(self.shapes, |shape| shape.time(meant.at(shape, self.shapes)?, self.judge));
            self.candidates.push(Candidate { meant, times, most: 0, made: None });
        }
        new
    }

    fn is_wrong(&self, shape: &Shape, config: &Config) -> bool {
        self.wrong.iter().any(|own| own.0.at(shape, self.shapes).as_ref() == Some(config))
    }

    /// Whether a time is within the slack of a shape's own choice.
    fn serves(&self, shape: usize, time: Seconds) -> bool {
        time.0 <= self.most[shape].0
    }

    /// Kernels until every shape has one.
    fn cover(&mut self, device: &mut dyn Device, rng: &mut Rng) -> Result<Vec<Kept>, EngineError> {
        let mut left: Vec<usize> = (0..self.shapes.len()).collect();
        let mut kept: Vec<Kept> = vec![];
        let wrong: Vec<bool> = self.candidates.iter().map(|own| self.is_wrong(&self.shapes[own.meant.shape], &own.meant.config)).collect();
        let mut wrong = wrong.into_iter();
        self.candidates.retain(|_| wrong.next() == Some(false));
        self.most = self
            .shapes
            .iter()
            .map(|shape| Seconds(self.right(shape).map_or(shape.best(), |own| own.estimate.time).0 * (1.0 + SLACK)))
            .collect();
        for at in 0..self.candidates.len() {
            self.candidates[at].most = self.within(at, &left).len();
        }
        while let Some(&first) = left.first() {
            let Some(at) = (0..self.candidates.len())
                .filter(|&at| self.candidates[at].most > 0)
                .max_by_key(|&at| (self.candidates[at].most, std::cmp::Reverse(at)))
            else {
                // Of what is left, a shape brings its own choice.
                self.bring(first, &left)?;
                continue;
            };
            if self.candidates[at].made.is_none() {
                let made = self.make(at, device, rng)?;
                self.candidates[at].made = Some(made);
            }
            let Some((generic, able)) = &self.candidates[at].made else { continue };
            let number = left.iter().filter(|shape| able.contains_key(shape)).count();
            // The others serve no more than they were last found to.
            if number < self.candidates[at].most {
                self.candidates[at].most = number;
                continue;
            }
            left.retain(|shape| !able.contains_key(shape));
            kept.push(Kept {
                meant: self.candidates[at].meant.clone(),
                generic: generic.clone(),
                able: able.clone(),
                serves: vec![],
                tried: vec![],
            });
            for other in 0..self.candidates.len() {
                self.candidates[other].most = self.candidates[other].most.min(self.within(other, &left).len());
            }
        }
        Ok(kept)
    }

    /// Those of some shapes at which a candidate is within the slack, by what is known of it.
    fn within(&self, at: usize, of: &[usize]) -> Vec<usize> {
        let own = &self.candidates[at];
        let direct = |shape: usize| own.times[shape].as_ref().is_some_and(|time| self.serves(shape, time.1));
        of.iter().copied().filter(|shape| own.made.as_ref().map_or_else(|| direct(*shape), |made| made.1.contains_key(shape))).collect()
    }

    /// The best configuration of a shape that is not wrong.
    fn right<'s>(&self, shape: &'s Shape) -> Option<&'s Ranked> {
        shape.ranked.iter().find(|own| !self.is_wrong(shape, &own.config))
    }

    /// Adds it, where it is known already for that shape alone.
    fn bring(&mut self, at: usize, left: &[usize]) -> Result<(), EngineError> {
        let shape = &self.shapes[at];
        let Some(Ranked { config, estimate }) = self.right(shape) else {
            return Err(EngineError::NothingVerified {
                name: format!("{} {:?}", shape.family.name(), shape.sizes),
                tried: shape.ranked.len(),
                first: self.wrong.first().map_or(String::new(), |wrong| wrong.1.clone()),
            });
        };
        let (meant, time) = (Meant { shape: at, config: config.clone() }, estimate.time);
        if self.add(meant.clone()) {
            let last = self.candidates.len() - 1;
            self.candidates[last].most = self.within(last, left).len();
            if self.candidates[last].most > 0 {
                return Ok(());
            }
        }
        let times = vec![None; self.shapes.len()];
        self.candidates.push(Candidate { meant, times, most: 1, made: Some((None, [(at, time)].into())) });
        Ok(())
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

/// Of each shape the kernel: the one before it as long as that may serve, then the one that may serve the most of those that follow. What serves none is
/// no longer kept.
fn dispatched(kept: &mut Vec<Kept>, shapes: usize) -> Vec<usize> {
    let reach = |own: &Kept, from: usize| (from..shapes).take_while(|shape| own.able.contains_key(shape)).count();
    let mut kernel: Vec<usize> = vec![];
    for shape in 0..shapes {
        let before = kernel.last().copied().filter(|&own| kept[own].able.contains_key(&shape));
        let longest = || (0..kept.len()).max_by_key(|&own| (reach(&kept[own], shape), std::cmp::Reverse(own))).unwrap_or(0);
        kernel.push(before.unwrap_or_else(longest));
    }
    let used: Vec<usize> = (0..kept.len()).filter(|own| kernel.contains(own)).collect();
    for (own, number) in kept.iter_mut().zip(0..) {
        own.serves = (0..shapes).filter(|&shape| kernel[shape] == number).collect();
    }
    kept.retain(|own| !own.serves.is_empty());
    kernel.into_iter().map(|own| used.iter().position(|&number| number == own).unwrap_or(0)).collect()
}
