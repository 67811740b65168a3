//! The page, and a line for each case.

use crate::Case;
use crate::judged::PICKERS;
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

impl Case {
    /// What a picker's choices take over the best, of all kernels together; `None` where it has none.
    fn over(&self, picker: usize, few: bool) -> Option<f64> {
        let own = |kernel: &crate::Judged| if few { kernel.picked[picker].few } else { kernel.picked[picker].first };
        let taken: Option<f64> = self.kernels.iter().map(own).sum();
        Some(taken? / self.kernels.iter().map(|kernel| kernel.best).sum::<f64>())
    }
    fn tau(&self) -> f64 {
        let all: Vec<f64> = self.kernels.iter().filter_map(|kernel| kernel.picked[0].tau).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }
    fn timed(&self) -> usize {
        self.kernels.iter().map(|kernel| kernel.timed).sum()
    }
}

/// A case in a line.
pub fn line(case: &Case) -> String {
    let over = |picker| case.over(picker, false).map_or("-".to_owned(), |over| format!("{:.1}", 100.0 * (over - 1.0)));
    let all: Vec<String> = (0..PICKERS.len()).map(over).collect();
    format!(
        "{:>12} {:>10} {:>6} timed, tau {:.2}, loss % {}: {}",
        case.device,
        case.operator,
        case.timed(),
        case.tau(),
        all.join(" / "),
        case.text
    )
}

/// Of each case, what the first choice of each picker and the best of its first few take over the best.
pub fn json(all: &[Case]) -> serde_json::Value {
    let picks = |case: &Case| -> serde_json::Map<String, serde_json::Value> {
        let own = |(n, name): (usize, &&str)| ((*name).to_owned(), json!({"over": case.over(n, false), "of_few": case.over(n, true)}));
        PICKERS.iter().enumerate().map(own).collect()
    };
    let one = |case: &Case| json!({"device": case.device, "operator": case.operator, "text": case.text, "timed": case.timed(), "tau": case.tau(), "picks": picks(case)});
    all.iter().map(one).collect()
}

/// Losses of a picker over cases.
struct Losses(Vec<f64>);

impl Losses {
    fn of<'c>(cases: impl Iterator<Item = &'c Case>, picker: usize, few: bool) -> Self {
        Self(cases.filter_map(|case| case.over(picker, few)).collect())
    }
    fn mean(&self) -> f64 {
        100.0 * (self.0.iter().sum::<f64>() / self.0.len().max(1) as f64 - 1.0)
    }
    fn worst(&self) -> f64 {
        100.0 * (self.0.iter().copied().fold(1.0, f64::max) - 1.0)
    }
    /// What part of the best's speed picks reach that are not right, percent: in the mean, and the least.
    fn missed(&self) -> String {
        let reached: Vec<f64> = self.0.iter().filter(|over| **over > 1.0 + 1e-3).map(|over| 100.0 / over).collect();
        let mean = reached.iter().sum::<f64>() / reached.len().max(1) as f64;
        if reached.is_empty() { "–".to_owned() } else { format!("{mean:.1} ({:.1})", reached.iter().copied().fold(100.0, f64::min)) }
    }
    fn within(&self, part: f64) -> f64 {
        100.0 * self.0.iter().filter(|over| **over <= 1.0 + part).count() as f64 / self.0.len().max(1) as f64
    }
}

/// How many times as fast as the best without tiles and patterns a picker's choices are (figure 9), in the geometric mean.
fn gained<'c>(cases: impl Iterator<Item = &'c Case>, picker: usize) -> f64 {
    let vanilla = PICKERS.iter().position(|name| *name == "vanilla").unwrap_or(0);
    let all: Vec<f64> = cases.filter_map(|case| Some((case.over(vanilla, false)? / case.over(picker, false)?).ln())).collect();
    (all.iter().sum::<f64>() / all.len().max(1) as f64).exp()
}

/// The page.
pub fn page(all: &[Case], seed: u64, took: Duration) -> String {
    let mut devices: Vec<&str> = all.iter().map(|case| case.device.as_str()).collect();
    devices.dedup();
    let mut page = format!(
        "# Choices without measuring, beside everything timed\n\n\
         Made by the example `choose` (seed {seed}, {} s). Every time is simulated, so accuracy is against our simulator. Each kernel's space is a part of all its\n\
         configurations, drawn; a loss is what the pick takes over the fastest of these. Shapes: the grid of paper 000's Table 3 and odd or prime ones near to it. Paper 000\n\
         has about 1 % loss in the mean, on its phone. What takes four times the best is given up, and counts as that. `random` is the mean of the space, `vanilla` the best group without tiles or patterns, `tile only` our pick of what\n\
         lies in images, `pattern only` of what has no tiles; `paper000, threads` and `, warps` are its model up to these levels (figure 10).\n\nOptions: `{}`\n",
        took.as_secs(),
        asked_for()
    );
    for device in &devices {
        let cases = || all.iter().filter(|case| case.device == *device);
        let _ =
            writeln!(page, "\n## sim:{device}: {} cases, {} configurations\n", cases().count(), cases().map(Case::timed).sum::<usize>());
        page += "| picks | cases | mean loss % | worst % | within 1 % | within 10 % | right (0.1 %) | mispicks reach % (least) | over vanilla | best of 5: mean loss % |\n|---|---|---|---|---|---|---|---|---|---|\n";
        for (picker, name) in PICKERS.iter().enumerate() {
            let (own, few) = (Losses::of(cases(), picker, false), Losses::of(cases(), picker, true));
            let best = if few.0.is_empty() { "–".to_owned() } else { format!("{:.2}", few.mean()) };
            let near = |at: usize, part: f64| match *name {
                "random" => {
                    100.0 * cases().flat_map(|case| &case.kernels).map(|own| own.near[at]).sum::<f64>()
                        / cases().map(|case| case.kernels.len()).sum::<usize>() as f64
                }
                _ => own.within(part),
            };
            let _ = writeln!(
                page,
                "| {name} | {} | {:.2} | {:.1} | {:.1} | {:.1} | {:.1} | {} | ×{:.2} | {best} |",
                own.0.len(),
                own.mean(),
                own.worst(),
                near(0, 0.01),
                near(1, 0.1),
                own.within(1e-3),
                own.missed(),
                gained(cases(), picker)
            );
        }
        page += "\n| operator | cases | mean loss % | worst % | within 1 % | τ |\n|---|---|---|---|---|---|\n";
        for operator in crate::OPERATORS {
            let cases = || cases().filter(|case| case.operator == operator);
            if cases().count() == 0 {
                continue;
            }
            let own = Losses::of(cases(), 0, false);
            let tau = cases().map(Case::tau).sum::<f64>() / cases().count() as f64;
            let _ = writeln!(
                page,
                "| {operator} | {} | {:.2} | {:.1} | {:.1} | {tau:.2} |",
                own.0.len(),
                own.mean(),
                own.worst(),
                own.within(0.01)
            );
        }
    }
    page += "\n## Picks that lose more than 5 %\n\n";
    for case in all.iter().filter(|case| case.over(0, false).is_some_and(|over| over > 1.05)) {
        let _ = writeln!(page, "{}, {}: {:.1} %", case.device, case.text, 100.0 * (case.over(0, false).unwrap_or(1.0) - 1.0));
        for kernel in &case.kernels {
            let (own, ties) = (&kernel.picked[0], kernel.ties);
            let _ = writeln!(page, "- {}: {:.1} µs, {}", kernel.name, 1e6 * own.first.unwrap_or(f64::NAN), own.config);
            let _ = writeln!(page, "  - best {:.1} µs ({ties} more within 0.1 %), {}", 1e6 * kernel.best, kernel.best_config);
        }
    }
    page
}

/// The options that decide what is drawn and timed, as they were given: where results and times go decides nothing.
pub fn asked_for() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let deciding = |pair: &&[String]| !matches!(pair[0].as_str(), "--kept" | "--out" | "--fit" | "--all" | "--json" | "--profiles");
    words.chunks(2).filter(deciding).map(|pair| pair.join(" ")).collect::<Vec<_>>().join(" ")
}
