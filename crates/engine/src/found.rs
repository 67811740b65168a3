//! What expressions take by where their tensors lie: of each that searches came by, found once.

use crate::EngineError;
use crate::tune::{self, Candidates, Judge};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use warpsight_generate::expr::{Role, TensorExpr};
use warpsight_generate::{ExprKey, Place, ScheduleFamily};
use warpsight_ir::{Config, Seconds};

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
            Ok(tune::search_each(&family, judge, |_| Some(()))?.1.get(&()).copied())
        })
    }

    /// What it takes for each pattern, and how many configurations were looked at.
    ///
    /// # Errors
    /// What the profile lacks.
    pub fn by_pattern(&self, expr: &TensorExpr, judge: &Judge) -> Result<Arc<(Candidates, ByPattern)>, EngineError> {
        once(&self.by_pattern, expr, || {
            let family = ScheduleFamily::by(expr.clone(), judge.passes);
            Ok(Arc::new(tune::search_each(&family, judge, |config| pattern_of(&family, config))?))
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
