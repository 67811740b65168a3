//! The prediction of a configuration, by its number.

use super::outcome::{Outcome, Refusal};
use super::space::{Configuration, Space};
use crate::volumes::known::{Known, Question};
use crate::volumes::report::unknowns::report_text;
use crate::volumes::report::{Report, Settings, Work, report_knowing};
use std::cell::RefCell;
use std::rc::Rc;
use warpsight_ir::Profile;
use warpsight_ir::accesses::text::{Document, Made, Written};

/// Kernels that were made of the explorer's text.
#[derive(PartialEq, Eq, Hash)]
struct MadeOf;

impl Question for MadeOf {
    type Answer = RefCell<Made>;
}

/// A kernel, devices, and the configurations that are asked for.
#[derive(Clone, Copy)]
pub struct Explorer<'a> {
    /// The kernel.
    pub document: &'a Document,
    /// What holds for all configurations.
    pub fixed: &'a [(String, String)],
    /// The devices that the space was made for.
    pub devices: &'a [Profile],
    /// The configurations.
    pub space: &'a Space,
}

impl Explorer<'_> {
    /// Predicts a configuration.
    ///
    /// # Errors
    /// What keeps it from being a kernel or from running.
    pub fn report(&self, index: u64) -> Result<(Written, Report), Refusal> {
        let configuration = self.space.get(index);
        let settings = self.settings(&configuration);
        let written = self.document.written(&settings).map_err(|error| Refusal(error.what))?;
        let on = &self.devices[configuration.device];
        let found = report_text((self.document, &settings), &written, on, &Settings::default())?;
        Ok((written, found))
    }

    /// Predicts a configuration, in short.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn outcome(&self, index: u64) -> Result<Outcome, Refusal> {
        self.outcome_knowing(index, &Rc::new(Known::alone()))
    }

    /// The same, to the last bit, with what was found of other configurations on its device: of those that differ in sizes alone
    /// ([`Space::alike`]) this is much of the work.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn outcome_knowing(&self, index: u64, known: &Rc<Known>) -> Result<Outcome, Refusal> {
        let configuration = self.space.get(index);
        let made = known.get(MadeOf, |_| RefCell::default());
        let mut made = made.borrow_mut();
        let written = self.document.written_like(&self.settings(&configuration), &mut made).map_err(|error| Refusal(error.what))?;
        let work = Work { kernel: &written.kernel, points: written.points };
        let settings = Settings { brief: true, ..Settings::default() };
        Outcome::of(&report_knowing(&work, &self.devices[configuration.device], &settings, known)?)
    }

    /// What makes the kernel of a configuration: what holds for all, then its own.
    pub fn settings(&self, configuration: &Configuration) -> Vec<(String, String)> {
        self.fixed.iter().cloned().chain(self.space.settings(configuration)).collect()
    }
}
