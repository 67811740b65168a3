//! How training went, epoch by epoch.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// One pass over the shaders that are learned from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Its number, from 1.
    pub epoch: usize,
    /// Its steps.
    pub steps: usize,
    /// The learning rate of its last step.
    pub rate: f64,
    /// The mean squared error of standardised logarithms, with dropout, while it learned.
    pub loss: f64,
    /// The mean relative error of the same predictions.
    pub training: f64,
    /// The mean relative error on the shaders that epochs are chosen by, after it.
    pub selection: f64,
    /// Seconds that its steps took on the wall, measured.
    pub seconds: f64,
}

/// All epochs so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The epochs in order.
    pub epochs: Vec<Epoch>,
}

impl Curve {
    /// The epoch whose weights are kept: the first with the least error on the shaders that epochs are chosen by.
    #[must_use]
    pub fn best(&self) -> Option<&Epoch> {
        self.epochs.iter().min_by(|a, b| a.selection.total_cmp(&b.selection))
    }

    /// As a table.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = String::from("epoch,steps,rate,loss,training_mape_percent,selection_mape_percent,seconds_per_step\n");
        for e in &self.epochs {
            let (training, selection) = (100.0 * e.training, 100.0 * e.selection);
            let step = e.seconds / e.steps.max(1) as f64;
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{},{},{:.3e},{:.5},{training:.2},{selection:.2},{step:.3}", e.epoch, e.steps, e.rate, e.loss);
        }
        out
    }
}
