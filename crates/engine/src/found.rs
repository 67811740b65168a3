//! What expressions take by where their tensors lie: of each that searches came by, found once.

use crate::EngineError;
use crate::elsewhere::GAIN;
use crate::tune::{self, Candidates, Judge};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use warpsight_generate::expr::{Role, TensorExpr};
use warpsight_generate::{ExprKey, Place, ScheduleFamily};
use warpsight_ir::{Config, Ranked, Seconds};

/// Where the activations of an expression (inputs, then output; constants left out) lie.
pub type Pattern = Vec<Place>;

/// What a family takes for each pattern.
pub type ByPattern = BTreeMap<Pattern, Seconds>;

/// The pattern of a configuration.
pub fn pattern_of(family: &ScheduleFamily, config: &Config) -> Option<Pattern> {
    Some(seen(family.expr(), family.places(config)?).collect())
}

/// Of something for each tensor of an expression, inputs first, what belongs to those that a pattern is of.
pub(crate) fn seen<T>(expr: &TensorExpr, of: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let roles = expr.inputs.iter().map(|own| own.role).chain([Role::Output]);
    roles.zip(of).filter(|(role, _)| *role != Role::Weight).map(|(_, own)| own)
}

/// Where the tensors of an expression, inputs first, lie by a pattern, or by as much of one as is known; of constants it says nothing.
pub fn places_of<P: Copy + Into<Option<Place>>>(expr: &TensorExpr, pattern: &[P]) -> Vec<Option<Place>> {
    let mut own = pattern.iter().copied();
    let roles = expr.inputs.iter().map(|own| own.role).chain([Role::Output]);
    roles.map(|role| if role == Role::Weight { None } else { own.next().and_then(Into::into) }).collect()
}

/// Patterns of which the best configuration is looked at elsewhere, too, the best ones.
const PATTERNS: usize = 4;

/// What patterns take, and those beside them that lie in places that are no part of the space, which count for as much more as they have to gain.
fn elsewhere(family: &ScheduleFamily, judge: &Judge, found: BTreeMap<Pattern, Ranked>) -> ByPattern {
    let mut best: Vec<&Ranked> = found.values().collect();
    best.sort_by(|a, b| a.estimate.time.0.total_cmp(&b.estimate.time.0));
    let mut all: ByPattern = found.iter().map(|(pattern, own)| (pattern.clone(), own.estimate.time)).collect();
    for moved in best.into_iter().take(PATTERNS).flat_map(|own| judge.elsewhere(family, &|_| true).moved(own)) {
        let Some(pattern) = pattern_of(family, &moved.config) else { continue };
        // A search there begins with what is drawn, and must find some.
        let there = |own: &Config| pattern_of(family, own).as_ref() == Some(&pattern);
        if !all.contains_key(&pattern) && !tune::draws_some(family, judge, &places_of(family.expr(), &pattern), there) {
            continue;
        }
        let time = Seconds(moved.estimate.time.0 / GAIN);
        let least = all.entry(pattern).or_insert(time);
        *least = least.min(time);
    }
    all
}

/// What searches found of expressions, by key: operators that differ in what follows them share most of theirs, and so do the sequences that are
/// compared and the network that is made of them. Of one device and one set of passes; what others touch between two launches is what the first who
/// asked has, a network of operators as they are: places are decided by it, and by the network that runs which kernel is taken there.
#[derive(Default)]
pub struct Found {
    least: Mutex<HashMap<ExprKey, Option<Seconds>>>,
    by_pattern: Mutex<HashMap<ExprKey, Arc<(Candidates, ByPattern)>>>,
}

impl Found {
    /// What an expression takes with its tensors wherever it likes; `None` where a device cannot run it.
    ///
    /// # Errors
    /// What the profile lacks.
    pub fn least(&self, expr: &TensorExpr, judge: &Judge) -> Result<Option<Seconds>, EngineError> {
        once(&self.least, expr, || {
            let family = ScheduleFamily::by(expr.clone(), judge.passes);
            Ok(tune::search_each(&family, judge, |_| Some(()))?.1.get(&()).map(|own| own.estimate.time))
        })
    }

    /// What it takes for each pattern, and how many configurations were looked at.
    ///
    /// # Errors
    /// What the profile lacks.
    pub fn by_pattern(&self, expr: &TensorExpr, judge: &Judge) -> Result<Arc<(Candidates, ByPattern)>, EngineError> {
        once(&self.by_pattern, expr, || {
            let family = ScheduleFamily::by(expr.clone(), judge.passes);
            let (looked, found) = tune::search_each(&family, judge, |config| pattern_of(&family, config))?;
            Ok(Arc::new((looked, elsewhere(&family, judge, found))))
        })
    }
}

/// What `find` finds of an expression, at most once unless two ask at a time.
fn once<T: Clone>(
    known: &Mutex<HashMap<ExprKey, T>>,
    expr: &TensorExpr,
    find: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let key = ExprKey::of(expr);
    // Nobody panics while holding it.
    let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(own) = known().get(&key) {
        return Ok(own.clone());
    }
    let own = find()?;
    known().insert(key, own.clone());
    Ok(own)
}
