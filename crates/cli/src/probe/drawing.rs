//! The memory hierarchy as it was found, drawn as paper 001's figure 9 is: a core, the ways from it to memory, and what lies on them.

use super::keys::{Unit, digits};
use crate::plot::{Arrow, Block, Diagram, PlotError, diagram};
use warpsight_ir::profile::Fact;
use warpsight_probe::{Finding, Findings};

/// A way from a core: its name, and its levels by their keys, the nearest first.
struct Way {
    name: &'static str,
    levels: &'static [&'static str],
    /// What is known of it as a whole, where its levels were not told apart.
    whole: Option<&'static str>,
    /// Whether it ends in memory.
    to_memory: bool,
}

const WAYS: [Way; 6] = [
    Way { name: "images", levels: &["texture.l1", "texture.l2", "texture.l3"], whole: None, to_memory: true },
    Way { name: "buffers", levels: &["buffer.l1", "buffer.l2", "buffer.l3"], whole: None, to_memory: true },
    Way { name: "constants", levels: &["constant.l1", "constant.l15"], whole: Some("constant"), to_memory: true },
    Way { name: "read-only", levels: &["readonly"], whole: None, to_memory: true },
    Way { name: "scalars", levels: &["scalar.l1"], whole: None, to_memory: true },
    Way { name: "local", levels: &[], whole: Some("local"), to_memory: false },
];

/// Pixels.
const BOX: (i32, i32) = (210, 106);
const GAP: (i32, i32) = (56, 22);
const EDGE: i32 = 20;

/// Draws it.
pub fn svg(findings: &Findings) -> Result<String, PlotError> {
    diagram(&of(findings))
}

/// Boxes for what was found to be there; what was found to be absent, and what nobody looked for, is none.
fn of(findings: &Findings) -> Diagram {
    let found = |way: &Way| -> Vec<&'static str> {
        let levels: Vec<_> = way.levels.iter().copied().filter(|level| is_there(findings, level)).collect();
        if levels.is_empty() { way.whole.into_iter().filter(|whole| is_there(findings, whole)).collect() } else { levels }
    };
    let ways: Vec<(&Way, Vec<&str>)> = WAYS.iter().map(|way| (way, found(way))).filter(|(_, levels)| !levels.is_empty()).collect();
    let rows = ways.len().max(1) as i32;
    let columns = ways.iter().map(|way| way.1.len()).max().unwrap_or(0) as i32;
    let left = |column: i32| EDGE + column * (BOX.0 + GAP.0);
    let top = |row: i32| EDGE + row * (BOX.1 + GAP.1);
    let height = rows * (BOX.1 + GAP.1) - GAP.1;
    let memory = left(columns + 1);
    let mut blocks = vec![
        Block { at: (left(0), EDGE), size: (BOX.0, height), lines: core(findings), colour: 0 },
        Block { at: (memory, EDGE), size: (BOX.0, height), lines: dram(findings), colour: 4 },
    ];
    let mut arrows = vec![];
    for (row, (way, levels)) in (0..).zip(&ways) {
        let middle = top(row) + BOX.1 / 2;
        let mut from = left(0) + BOX.0;
        for (column, level) in (1..).zip(levels) {
            arrows.push(Arrow { way: vec![(from, middle), (left(column), middle)], label: None });
            blocks.push(Block { at: (left(column), top(row)), size: BOX, lines: lines(findings, way, level), colour: 1 + column as usize });
            from = left(column) + BOX.0;
        }
        if way.to_memory {
            arrows.push(Arrow { way: vec![(from, middle), (memory, middle)], label: None });
        }
    }
    Diagram { size: ((memory + BOX.0 + EDGE) as u32, (height + 2 * EDGE) as u32), blocks, arrows }
}

/// Whether a number of a level is known.
fn is_there(findings: &Findings, level: &str) -> bool {
    let of_it = |key: &str| key.rsplit_once('.').is_some_and(|(of, _)| of == level);
    findings.facts.iter().any(|(key, fact)| of_it(key) && matches!(fact, Finding::Number(Fact::Known { .. })))
}

/// A number with its unit, where it is known.
fn number(findings: &Findings, key: &str) -> Option<String> {
    findings.get(key).map(|value| Unit::of(key).words(value))
}

fn core(findings: &Findings) -> Vec<String> {
    let cores = findings.get("cores").map_or("cores: ?".into(), |cores| format!("{} cores, each:", digits(cores)));
    let counted = |key: &str, what: &str| Some(format!("{} {what}", number(findings, key)?));
    let warps = match findings.facts.get("warp.sizes") {
        Some(Finding::Numbers(fact)) => {
            fact.get().map(|sizes| format!("warps of {}", sizes.iter().map(|size| digits(*size)).collect::<Vec<_>>().join(", ")))
        }
        _ => None,
    };
    let file = match findings.facts.get("registers.pooled") {
        Some(Finding::Word(fact)) => fact.get().map(|word| format!("registers {word}")),
        _ => None,
    };
    let all = [
        counted("alu.per_core", "ALUs"),
        warps,
        counted("registers.per_core", "registers"),
        counted("registers.per_thread_max", "of a work-item"),
        file,
        number(findings, "peak.fp32").map(|peak| format!("all cores f32: {peak}")),
        number(findings, "peak.fp16").map(|peak| format!("all cores f16: {peak}")),
    ];
    std::iter::once(cores).chain(all.into_iter().flatten()).collect()
}

fn dram(findings: &Findings) -> Vec<String> {
    // What reads say of where walks ended has the last word, known or not; replayed recordings have other keys.
    let keys = ["dram.latency_s", "dram.latency_cycles", "buffer.memory.latency_s", "buffer.beyond.latency_s", "texture.memory.latency_s"];
    let told = if findings.facts.contains_key(keys[0]) { &keys[..1] } else { &keys[1..] };
    let latency = told.iter().find_map(|key| number(findings, key));
    let bandwidth = number(findings, "dram.bandwidth").map(|bandwidth| format!("bandwidth {bandwidth}"));
    let written = number(findings, "write.bandwidth").map(|bandwidth| format!("written {bandwidth}"));
    let latency = latency.map(|latency| format!("latency {latency}"));
    std::iter::once("memory".to_owned()).chain([bandwidth, written, latency].into_iter().flatten()).collect()
}

/// What stands in a level's box.
fn lines(findings: &Findings, way: &Way, level: &str) -> Vec<String> {
    let own = |of: &str| number(findings, &format!("{level}.{of}"));
    let nth = level.rsplit_once(".l").map_or(String::new(), |(_, n)| format!(" L{}", if n == "15" { "1.5" } else { n }));
    let title = if way.name == "local" { "local memory".to_owned() } else { format!("{}{nth}", way.name) };
    let size = match (own("capacity_bytes"), own("line_bytes")) {
        (Some(size), Some(line)) => Some(format!("{size}, lines of {line}")),
        (size, line) => size.or(line.map(|line| format!("lines of {line}"))),
    };
    let shape = own("sets").zip(own("ways")).map(|(sets, ways)| format!("{sets} sets × {ways} ways"));
    let banks = own("banks").map(|banks| format!("{banks} banks"));
    let latency = own("latency_s").or(own("latency_cycles")).map(|latency| format!("latency {latency}"));
    let bandwidth = own("bandwidth").map(|bandwidth| format!("bandwidth {bandwidth}"));
    std::iter::once(title).chain([size, shape, banks, latency, bandwidth].into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::profile::Source;

    #[test]
    fn what_was_found_is_drawn_and_nothing_else() {
        let mut findings = Findings::default();
        let known = |value: f64| Fact::known(value, Source::Measured, "a test");
        findings.number("cores", known(2.0));
        findings.number("texture.l1.capacity_bytes", known(1024.0));
        findings.number("texture.l1.line_bytes", known(32.0));
        findings.number("texture.l1.sets", known(2.0));
        findings.number("texture.l1.ways", known(16.0));
        findings.number("buffer.l1.capacity_bytes", Fact::absent("shared by all groups"));
        findings.number("buffer.l2.latency_s", known(1.5e-7));
        findings.number("buffer.l3.latency_s", Fact::unknown("not reached"));
        let drawn = of(&findings);
        let titles: Vec<&str> = drawn.blocks.iter().map(|block| &*block.lines[0]).collect();
        assert_eq!(titles, ["2 cores, each:", "memory", "images L1", "buffers L2"]);
        assert_eq!(drawn.blocks[2].lines[1..], ["1 KiB, lines of 32 B", "2 sets × 16 ways"]);
        assert_eq!(drawn.blocks[3].lines[1..], ["latency 150 ns"]);
        assert_eq!(drawn.arrows.len(), 4, "from the core, and to memory");
        assert!(svg(&findings).expect("a drawing").contains("images L1"));
        assert!(svg(&Findings::default()).is_ok_and(|drawn| drawn.contains("cores: ?")), "nothing is known: a core and memory");
    }
}
