//! Independent chains of dependent multiply-adds: latency with one, the peak with several, registers with very many.

use super::{COUNTS, Kernel, constants, expect};
use crate::Amounts;
use crate::kernels::{lines, output};
use std::fmt::Write;
use std::sync::Arc;

/// Every work-item computes `x ← x · 1 + 1` in each of its chains, from numbers that are not known before: whole numbers, so that the end is
/// known exactly whatever the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chains {
    /// Groups.
    pub(crate) groups: u32,
    /// Work-items of each.
    pub(crate) lanes: u32,
    /// Chains of a work-item, all alive at once.
    pub(crate) chains: u32,
    /// Steps of every chain in a trip.
    pub(crate) steps: u32,
    /// Instead of steps in every trip, one before and one after all trips, which wait at barriers: that takes nothing from others.
    pub(crate) waits: bool,
}

/// Barriers of a trip that waits.
pub(crate) const BARRIERS: u32 = 32;

impl Chains {
    /// The text of its Program.
    pub(crate) fn text(&self) -> String {
        let Self { lanes, chains, steps, waits, .. } = *self;
        let step = lines(chains, |j| format!("x{j} = fma(x{j}, a, b)")).repeat(steps as usize);
        let body = if waits {
            let barriers = lines(BARRIERS, |_| "barrier group local".into());
            format!("for n in 0..2 unroll none {{\n{step}for i in 0..trips unroll none {{\n{barriers}}}\n}}")
        } else {
            format!("for i in 0..trips unroll none {{\n{step}}}")
        };
        let mut ends = "let top0 = x0\nlet low0 = x0\n".to_owned();
        for j in 1..chains {
            let before = j - 1;
            // Writing to a text does not fail.
            _ = writeln!(ends, "let top{j} = max(top{before}, x{j})\nlet low{j} = min(low{before}, x{j})");
        }
        let last = chains - 1;
        format!(
            "program chains_{chains}x{steps} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read buffer k: f32[2]
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 let a = k[0]
                 let b = k[1]
                 {}
                 {body}
                 {ends}
                 end[g, l] = top{last} + (top{last} - low{last})
               }}
             }}",
            lines(chains, |j| format!("var x{j}: f32 = fma(f32(l), a, {j}.0)")),
        )
    }

    /// 32-bit registers that its values take at least: those of its variables, its place and its loop ([`warpsight_ir::derive::registers`]).
    pub(crate) fn registers(&self) -> u32 {
        // Two axes, two constants, the counter.
        self.chains + 5
    }

    pub(crate) fn kernel(&self) -> Kernel {
        let Self { groups, lanes, chains, steps, waits } = *self;
        let threads = u64::from(groups) * u64::from(lanes);
        let operations = if waits { 0.0 } else { 2.0 * threads as f64 * f64::from(chains) * f64::from(steps) };
        Kernel {
            name: format!("{chains} {} {steps} steps {groups} x {lanes}", if waits { "waiting" } else { "chains" }),
            text: self.text(),
            sizes: vec![groups.into()],
            memory: vec![constants(&[1.0, 1.0]), output(4 * threads)],
            shape: [groups, lanes],
            most: COUNTS / u64::from(steps),
            amounts: Amounts { operations, ..Amounts::default() },
            judge: Arc::new(move |trips, found| {
                let end = (if waits { 2 } else { trips } * u64::from(steps)) as f64 + 2.0 * f64::from(chains - 1);
                expect(found, [end, end + f64::from(lanes - 1)])
            }),
        }
    }
}
