//! Networks and rows: who learns from which, and who keeps what.

use super::shape::{Options, Processor};
use super::training::{self, Report, Start, digest};
use super::{Checkpoint, Example, NetworkError, Trained};
use crate::models::{Fit, FitError, Fitted, Method, Model, Row, sorted};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use warpsight_ir::Seconds;
use warpsight_shader::tokens::Dialect;

/// How networks are trained on rows.
#[derive(Clone, Copy)]
pub struct Study<'a> {
    /// The network and its training.
    pub options: &'a Options,
    /// What computes.
    pub processor: Processor,
    /// What keeps trainings that are under way.
    pub keep: &'a dyn Keep,
}

/// What hears of trainings while they go on, and keeps them, by names that tell each from others.
pub trait Keep: Sync {
    /// Where the training of this name stood.
    ///
    /// # Errors
    /// What was kept cannot be read.
    fn kept(&self, name: &str) -> Result<Option<Checkpoint>, NetworkError>;

    /// After each epoch.
    ///
    /// # Errors
    /// Any error ends the training.
    fn told(&self, name: &str, report: &Report) -> Result<(), NetworkError>;
}

/// Keeps nothing.
pub struct Nothing;

impl Keep for Nothing {
    fn kept(&self, _: &str) -> Result<Option<Checkpoint>, NetworkError> {
        Ok(None)
    }

    fn told(&self, _: &str, _: &Report) -> Result<(), NetworkError> {
        Ok(())
    }
}

/// What a shader is for in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Learned from.
    Training,
    /// The best epoch is chosen by these.
    Selection,
    /// Not seen.
    Unseen,
}

/// What each row is for: groups, in an order that the seed decides, are put aside until they have the share of scored rows that is to be
/// unseen, then those that epochs are chosen by. Mutants are learned from and nothing else: those of the other groups are left out.
#[must_use]
pub fn roles<'r>(rows: &[&'r Row], options: &Options) -> Vec<(&'r Row, Role)> {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *groups.entry(&row.group).or_default() += usize::from(!row.mutant));
    let scored = groups.values().sum::<usize>() as f64;
    let place = |group: &str| Sha256::new().chain_update(options.seed.to_le_bytes()).chain_update(group).finalize();
    let mut order: Vec<(&str, usize)> = groups.into_iter().filter(|(_, size)| *size > 0).collect();
    order.sort_by_key(|(group, _)| place(group));
    let mut order = order.into_iter();
    let mut roles: BTreeMap<&str, Role> = BTreeMap::new();
    for (role, share) in [(Role::Unseen, options.unseen), (Role::Selection, options.selection)] {
        let mut left = share * scored;
        while left > 0.0
            && let Some((group, size)) = order.next()
        {
            roles.insert(group, role);
            left -= size as f64;
        }
    }
    let of = |row: &&'r Row| (*row, roles.get(row.group.as_str()).copied().unwrap_or(Role::Training));
    rows.iter().map(of).filter(|(row, role)| *role == Role::Training || !row.mutant).collect()
}

impl Study<'_> {
    /// Trains a network on rows.
    ///
    /// # Errors
    /// See [`FitError`].
    pub fn train(&self, rows: &[&Row]) -> Result<Trained, FitError> {
        let (mut training, mut selection) = (Vec::new(), Vec::new());
        super::super::times(rows)?;
        for (row, role) in roles(&sorted(rows), self.options) {
            let to = match role {
                Role::Training => &mut training,
                Role::Selection => &mut selection,
                Role::Unseen => continue,
            };
            let words = row.words.get(&self.options.shape.dialect).ok_or_else(|| FitError::Words { id: row.id.clone() })?;
            let tokens = words.at_most(self.options.shape.positions).into_owned();
            to.push(Example { tokens, seconds: row.seconds.map_or(f64::NAN, |Seconds(s)| s) });
        }
        // Options are plain numbers.
        let options = serde_json::to_vec(self.options).unwrap_or_default();
        let name = Sha256::new().chain_update(options).chain_update(digest(&training, &selection)).finalize();
        let name: String = name.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let start = Start { processor: self.processor, checkpoint: self.keep.kept(&name)? };
        Ok(training::fit(&training, &selection, self.options, start, &mut |report| self.keep.told(&name, &report))?)
    }
}

impl Fit for Study<'_> {
    fn method(&self) -> Method {
        Method::Transformer
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(self.options.shape.dialect)
    }

    fn fit(&self, rows: &[&Row]) -> Result<Fitted, FitError> {
        self.train(rows).map(Fitted::Transformer)
    }
}

impl Model for Trained {
    fn fit(rows: &[&Row]) -> Result<Self, FitError> {
        Study { options: &Options::small().judged_by_others(), processor: Processor::Cpu, keep: &Nothing }.train(rows)
    }

    fn predict(&self, row: &Row) -> Seconds {
        Seconds(row.words.get(&self.options.shape.dialect).and_then(|words| self.say(words)).unwrap_or(f64::NAN))
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(self.options.shape.dialect)
    }

    fn held_out<'r>(&self, rows: &[&'r Row]) -> Option<Vec<&'r Row>> {
        let held = roles(&sorted(rows), &self.options).into_iter().filter(|(_, role)| *role != Role::Training);
        Some(held.map(|(row, _)| row).collect())
    }
}

impl From<NetworkError> for FitError {
    fn from(error: NetworkError) -> Self {
        match error {
            NetworkError::Device(why) => Self::Device(why),
            NetworkError::Stopped(why) => Self::Stopped(why),
            other => Self::Network(other.to_string()),
        }
    }
}
