//! What a corpus consists of: the funnel (table 1 of paper 004), kinds of instructions and sizes (figure 5), as text, JSON and a page.

use super::drawn::{Bin, Drawn};
use super::folder::Folder;
use super::funnel::{Failed, Reason, Row};
use crate::failure::Failure;
use crate::page::Page;
use crate::plot::{Figure, Panel, svg};
use crate::report;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::corpus::Entry;
use warpsight_shader::module::Module;

/// The groups that the specification of SPIR-V puts instructions in, by the last opcode of each; what a shader executes.
const CLASSES: &[(u32, &str)] = &[
    (8, "miscellaneous"),
    (12, "GLSL.std.450"),
    (57, "function"),
    (76, "memory"),
    (85, "composite"),
    (108, "image"),
    (125, "conversion"),
    (153, "arithmetic"),
    (193, "relational and logical"),
    (206, "bit"),
    (217, "derivative"),
    (244, "atomic and barrier"),
    (260, "control flow"),
];

/// What a corpus consists of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shape {
    /// Its shaders.
    pub shaders: usize,
    /// Those that are mutants of others.
    pub mutants: usize,
    /// Groups of near-duplicates.
    pub groups: usize,
    /// Those that loop, and groups of near-duplicates that do.
    pub looping: usize,
    /// Groups with a shader that loops.
    pub looping_groups: usize,
    /// Half of the shaders have no more instructions than this, 95 % no more than the second, all no more than the third.
    pub instructions: [u32; 3],
    /// The same of reachable basic blocks.
    pub blocks: [u32; 3],
    /// Instructions of reachable blocks of all shaders, by class.
    pub classes: Vec<Bin>,
    /// Shaders by instructions.
    pub by_instructions: Vec<Bin>,
    /// Shaders by blocks.
    pub by_blocks: Vec<Bin>,
}

/// All of it.
pub struct Report<'a> {
    rows: &'a [Row],
    reasons: &'a [Reason],
    shape: Shape,
    drawn: Vec<Drawn>,
}

impl<'a> Report<'a> {
    /// Reads the modules of a corpus for what they consist of.
    pub fn new(folder: &Folder, entries: &[Entry], rows: &'a [Row], reasons: &'a [Reason], drawn: Vec<Drawn>) -> Result<Self, Failure> {
        let mut classes: BTreeMap<usize, u64> = BTreeMap::new();
        for entry in entries {
            let file = folder.spv(&entry.id);
            let bytes = warpsight_files::read(&file, warpsight_files::TEXT)?;
            let at = |e: warpsight_shader::module::ModuleError| Failure::from(e).at(file.display().to_string());
            let module = Module::from_bytes(&bytes).map_err(at)?;
            for block in &Cfg::new(&module).map_err(at)?.blocks {
                for inst in &module.insts()[block.insts.clone()] {
                    let class = CLASSES.iter().position(|(last, _)| inst.op as u32 <= *last).unwrap_or(0);
                    *classes.entry(class).or_default() += 1;
                }
            }
        }
        let mut instructions: Vec<u32> = entries.iter().map(|e| e.instructions).collect();
        let mut blocks: Vec<u32> = entries.iter().map(|e| e.blocks).collect();
        instructions.sort_unstable();
        blocks.sort_unstable();
        let groups = |all: &mut dyn Iterator<Item = &Entry>| all.map(|e| &e.group).collect::<std::collections::BTreeSet<_>>().len();
        let shape = Shape {
            shaders: entries.len(),
            mutants: entries.iter().filter(|e| e.parent.is_some()).count(),
            groups: groups(&mut entries.iter()),
            looping: entries.iter().filter(|e| e.loops).count(),
            looping_groups: groups(&mut entries.iter().filter(|e| e.loops)),
            by_instructions: doubling(&instructions),
            by_blocks: doubling(&blocks),
            instructions: ranks(&instructions),
            blocks: ranks(&blocks),
            classes: classes.into_iter().map(|(class, count)| Bin { of: CLASSES[class].1.to_owned(), count }).collect(),
        };
        Ok(Self { rows, reasons, shape, drawn })
    }

    /// As JSON, with every shader that was left.
    pub fn json(&self, validated: bool, failures: &[&Failed]) -> Value {
        json!({"funnel": self.rows, "validated": validated, "reasons": self.reasons, "corpus": self.shape, "measured": self.drawn, "failures": failures})
    }

    /// As text.
    pub fn text(&self) -> String {
        let mut steps = report::table(&report::from_left(HEADINGS));
        steps.add_rows(self.rows.iter().map(cells));
        let s = &self.shape;
        let mut out = steps.to_string();
        let _ = write!(
            out,
            "\n\nThe corpus: {} shaders ({} mutants) in {} groups of near-duplicates; {} loop, in {} groups.\n\
             Instructions: half have up to {}, 95 % up to {}, all up to {}; basic blocks: {}, {}, {}.",
            s.shaders,
            s.mutants,
            s.groups,
            s.looping,
            s.looping_groups,
            s.instructions[0],
            s.instructions[1],
            s.instructions[2],
            s.blocks[0],
            s.blocks[1],
            s.blocks[2]
        );
        for d in &self.drawn {
            let _ = write!(
                out,
                "\nMeasured on {}: {} tried, {} done, {} neither black nor white, {} steady, {} of them with a variation up to 3 % (median {:.2} %).",
                d.device,
                d.tried,
                d.done,
                d.coloured,
                d.steady,
                d.calm,
                100.0 * d.median_cv
            );
        }
        out
    }

    /// As one page with everything inside.
    pub fn page(&self, file: &Path) -> Result<(), Failure> {
        let mut page = Page::new("A corpus of fragment shaders", "");
        page.section(
            "funnel",
            "What was left after each step",
            "As table 1 of paper 004: shaders of what was collected now, by package. “unique” are modules that no package before has; a group \
             holds shaders whose texts are nearly the same.",
        );
        page.words(HEADINGS, self.rows.iter().map(cells));
        page.section("reasons", "Why shaders were left", "");
        let reasons = self.reasons.iter().map(|r| vec![step(r), r.message.clone(), r.shaders.to_string()]);
        page.words(&["step that it did not make", "message", "shaders"], reasons);
        page.section("figure5", "What the corpus consists of", &format!("As figure 5 of paper 004. {}", self.summary()));
        for figure in self.figures() {
            page.drawing(Some(&drawn(&figure)?));
        }
        if !self.drawn.is_empty() {
            page.section("figure6", "What was measured", "As the last rows of table 1 and figure 6 of paper 004.");
            let headings = ["device", "tried", "done", "neither black nor white", "steady", "variation up to 3 %", "median variation"];
            let cells = |d: &Drawn| {
                let counts = [d.tried, d.done, d.coloured, d.steady, d.calm].map(|n| n.to_string());
                std::iter::once(d.device.clone()).chain(counts).chain([format!("{:.2} %", 100.0 * d.median_cv)]).collect()
            };
            page.words(&headings, self.drawn.iter().map(cells));
        }
        for own in &self.drawn {
            for (title, bins) in [("Measured times of a draw", &own.times), ("Coefficients of variation", &own.cvs)] {
                if !bins.is_empty() {
                    page.drawing(Some(&drawn(&bars(&format!("{title}: {}", own.device), "Measured.", "shaders", bins))?));
                }
            }
        }
        Ok(warpsight_files::write(file, page.finish().as_bytes())?)
    }

    fn summary(&self) -> String {
        let s = &self.shape;
        format!(
            "{} shaders ({} mutants) in {} groups of near-duplicates; {} loop, in {} groups. Instructions of reachable blocks: median {}, 95th percentile {}, at most {}.",
            s.shaders, s.mutants, s.groups, s.looping, s.looping_groups, s.instructions[0], s.instructions[1], s.instructions[2]
        )
    }

    /// Figure 5: kinds of instructions, instructions and blocks.
    fn figures(&self) -> Vec<Figure> {
        [
            ("Kinds of instructions", "instructions", &self.shape.classes),
            ("Shaders by instructions", "shaders", &self.shape.by_instructions),
            ("Shaders by reachable basic blocks", "shaders", &self.shape.by_blocks),
        ]
        .into_iter()
        .filter(|(.., bins)| !bins.is_empty())
        .map(|(title, x, bins)| bars(title, "Counted in the modules as compiled, without optimisation.", x, bins))
        .collect()
    }
}

fn drawn(figure: &Figure) -> Result<String, Failure> {
    svg(figure).map_err(|e| Failure::input(e.to_string()))
}

/// A histogram.
fn bars(title: &str, note: &str, x: &str, bins: &[Bin]) -> Figure {
    Figure {
        title: title.to_owned(),
        note: note.to_owned(),
        panels: vec![Panel::Bars {
            x: x.to_owned(),
            rows: bins.iter().map(|b| b.of.clone()).collect(),
            stacked: false,
            parts: vec![(x.to_owned(), bins.iter().map(|b| b.count as f64).collect())],
        }],
    }
}

const HEADINGS: &[&str] =
    &["source", "found", "text", "wrapped", "compiled", "read", "valid", "traced", "unique", "looping", "groups", "licences"];

fn cells(row: &Row) -> Vec<String> {
    let numbers = [row.found, row.text, row.wrapped, row.compiled, row.read, row.valid, row.traced, row.unique, row.looping, row.groups];
    let licences: Vec<&str> = row.licences.iter().map(String::as_str).collect();
    // The sum's licences stand in the rows above it.
    let licences = if row.source == "all" { String::new() } else { licences.join(", ") };
    std::iter::once(row.source.clone()).chain(numbers.iter().map(usize::to_string)).chain([licences]).collect()
}

fn step(reason: &Reason) -> String {
    serde_json::to_value(reason.step).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The median, the 95th percentile and the maximum of sorted numbers.
fn ranks(sorted: &[u32]) -> [u32; 3] {
    let at = |part: f64| sorted.get((part * sorted.len().saturating_sub(1) as f64).round() as usize).copied().unwrap_or(0);
    [at(0.5), at(0.95), at(1.0)]
}

/// How many of sorted numbers lie in 1, 2–3, 4–7, …
fn doubling(sorted: &[u32]) -> Vec<Bin> {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let power = |n: u32| n.max(1).ilog2();
    let bin = |p: u32| {
        let low = 1u64 << p;
        let of = if p == 0 { "1".to_owned() } else { format!("{low}–{}", 2 * low - 1) };
        Bin { of, count: sorted.iter().filter(|n| power(**n) == p).count() as u64 }
    };
    (power(*first)..=power(*last)).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::{Bin, doubling, ranks};

    #[test]
    fn numbers_are_counted_by_doubling() {
        let bins = doubling(&[1, 2, 3, 3, 9]);
        let expected = [("1", 1), ("2–3", 3), ("4–7", 0), ("8–15", 1)].map(|(of, count)| Bin { of: of.to_owned(), count });
        assert_eq!(bins, expected);
        assert_eq!(ranks(&[1, 2, 3, 4, 100]), [3, 100, 100]);
        assert_eq!(ranks(&[]), [0, 0, 0]);
    }
}
