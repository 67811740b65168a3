//! How keys of findings are shown: under which heading, in which unit, and the figure of a paper that shows the same.

use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::texture::TexelFit;
use warpsight_probe::{Finding, Geometry};

/// Parts of a device, each with the first words of its keys. What stands nowhere is shown last.
const PARTS: [(&str, &[&str]); 10] = [
    ("Clock and launches", &["timer", "launch", "clock"]),
    ("Cores and arithmetic", &["cores", "alu", "peak", "fma", "special", "int", "branch", "barrier", "group", "groups", "loop"]),
    ("Warps and lanes", &["warp", "lane"]),
    ("Registers", &["registers", "concurrency"]),
    ("Images", &["texture", "image"]),
    ("Buffers", &["buffer", "read"]),
    ("Caches in common", &["cache"]),
    ("Constant and read-only memory", &["constant", "readonly", "scalar"]),
    ("Local memory", &["local"]),
    ("Memory", &["dram", "write"]),
];
const OTHERS: &str = "Others";
/// Alternatives that a table shows.
const MOST_LISTED: usize = 4;

/// Figures of papers by parts of keys; the first that fits holds.
const FIGURES: [(&[&str], &str); 14] = [
    (&["local.split"], "001, table 1"),
    (&["registers.", "concurrency.", "warp.granule", "group.max_size"], "001, figure 5"),
    (&["texture.line_"], "000, figure 2"),
    (&["texture.warp_shape"], "000, figure 3"),
    (&["warp.by_latency", "int.divide"], "001, figure 7"),
    (&["warp.", "lane.", "alu.per_core", "alu.by_order"], "001, figure 8"),
    (&["peak.", "special."], "001, figure 11"),
    (&["fma."], NO_FIGURE),
    (&["bandwidth", "cores", "local.", "alu.", "cache."], "001, figure 9"),
    (&["texture.scaling"], "000, figure 4"),
    (&["texture.locality"], "000, figure 5"),
    (&["texture.fit", "texture.paper000"], "000, figure 2"),
    (
        &["capacity_bytes", "line_bytes", "latency", ".sets", ".ways", "geometries", "instances", "end_bytes", "fetch_bytes", "per_core"],
        "001, figure 6",
    ),
    (&["read.", "image.max", "reach_bytes", "miss_s", "texture.image2d.layout"], "001, figure 9"),
];
/// Parts of a device of which neither paper has a figure, by the first words of keys.
const BEYOND: [&str; 9] = ["timer", "launch", "clock", "int", "branch", "barrier", "loop", "image", "groups"];
const NO_FIGURE: &str = "in neither";

/// Shapes of a cache that are shown.
const SHAPES: usize = 3;

/// The heading of a key.
pub fn part(key: &str) -> &'static str {
    let first = key.split('.').next().unwrap_or(key);
    PARTS.iter().find(|(_, words)| words.contains(&first)).map_or(OTHERS, |part| part.0)
}

/// All headings, in order.
pub fn parts() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.0).chain([OTHERS])
}

/// The figure that shows what a key says, or that there is none; a dash for keys that are not known here.
pub fn figure(key: &str) -> &'static str {
    let beyond = || if BEYOND.contains(&key.split('.').next().unwrap_or(key)) { NO_FIGURE } else { "-" };
    FIGURES.iter().find(|(words, _)| words.iter().any(|word| key.contains(word))).map_or_else(beyond, |figure| figure.1)
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    BytesPerSecond,
    Operations,
    Hertz,
    Cycles,
    /// Things.
    Count,
}

impl Unit {
    /// That of a key, whose last word names it.
    pub fn of(key: &str) -> Self {
        let last = key.rsplit('.').next().unwrap_or(key);
        match last {
            _ if last.ends_with("_bytes") => Self::Bytes,
            _ if last.ends_with("_cycles") => Self::Cycles,
            _ if last.ends_with("_s") => Self::Seconds,
            _ if last.contains("bandwidth") => Self::BytesPerSecond,
            _ if last == "hz" => Self::Hertz,
            _ if key.starts_with("peak.") || last == "rate" => Self::Operations,
            _ => Self::Count,
        }
    }

    /// A unit that shows a number with few digits, and what it is of this one's.
    pub fn scale(self, value: f64) -> (&'static str, f64) {
        let size = value.abs();
        let first = |all: &[(&'static str, f64)]| all.iter().find(|(_, scale)| size >= *scale).or(all.last()).copied().unwrap_or(("", 1.0));
        match self {
            Self::Seconds => first(&[("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)]),
            // 1536 is one and a half of a KiB, and 1000 is none.
            Self::Bytes if size % 512.0 == 0.0 => first(&[("GiB", 1024f64.powi(3)), ("MiB", 1024f64.powi(2)), ("KiB", 1024.0), ("B", 1.0)]),
            Self::Bytes => ("B", 1.0),
            Self::BytesPerSecond => first(&[("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("B/s", 1.0)]),
            Self::Operations => first(&[("TOP/s", 1e12), ("GOP/s", 1e9), ("MOP/s", 1e6), ("OP/s", 1.0)]),
            Self::Hertz => first(&[("GHz", 1e9), ("MHz", 1e6), ("Hz", 1.0)]),
            Self::Cycles => ("cycles", 1.0),
            Self::Count => ("", 1.0),
        }
    }

    /// A number as people read it.
    pub fn words(self, value: f64) -> String {
        let (unit, scale) = self.scale(value);
        let space = if unit.is_empty() { "" } else { " " };
        format!("{}{space}{unit}", digits(value / scale))
    }
}

/// Digits that say something.
pub fn digits(value: f64) -> String {
    match value.abs() {
        // Scaled to its unit a whole number may be a bit less or more.
        size if (value - value.round()).abs() <= 1e-9 * size && size < 1e15 => format!("{value:.0}"),
        size if !(1e-3..1e7).contains(&size) => format!("{value:.2e}"),
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// A fact as cells of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// `1`, `pooled`, `absent`, `unknown`.
    pub value: String,
    /// `KiB`; empty where there is none.
    pub unit: &'static str,
    /// `1 to 2`, in the same unit.
    pub interval: String,
    /// `measured`.
    pub source: &'static str,
    /// Where it comes from, its evidence, or the reason why it is not known.
    pub why: String,
}

impl Cells {
    /// Of a fact under a key.
    pub fn of(key: &str, finding: &Finding) -> Self {
        let unit = Unit::of(key);
        match finding {
            Finding::Number(fact) => {
                let (name, scale) = fact.get().map_or(("", 1.0), |value| unit.scale(*value));
                Self { unit: name, ..Self::said(fact, |value| digits(value / scale)) }
            }
            Finding::Numbers(fact) => Self::said(fact, |values| list(values, |value| unit.words(*value))),
            Finding::Word(fact) => Self::said(fact, String::clone),
            Finding::Geometries(fact) => Self::said(fact, |shapes| first(shapes)),
            Finding::Texture(fact) => Self::said(fact, |fit| list(&fit.texels, texels)),
            Finding::Paper000(fact) => Self::said(fact, |paper| format!("C {}, D {}", digits(paper.lines), digits(paper.divergence))),
        }
    }

    fn said<T>(fact: &Fact<T>, show: impl Fn(&T) -> String) -> Self {
        match fact {
            Fact::Known { value, source, cite, lo, hi, .. } => {
                let interval = match (lo, hi) {
                    (Some(lo), Some(hi)) => format!("{} to {}", show(lo), show(hi)),
                    (Some(lo), None) => format!("at least {}", show(lo)),
                    (None, Some(hi)) => format!("at most {}", show(hi)),
                    (None, None) => String::new(),
                };
                Self { value: show(value), unit: "", interval, source: source_name(*source), why: cite.clone() }
            }
            Fact::Absent { absent } => Self { value: "absent".into(), why: absent.clone(), ..Self::default() },
            Fact::Unknown { unknown } => Self { value: "unknown".into(), why: unknown.clone(), ..Self::default() },
        }
    }
}

fn list<T>(all: &[T], show: impl Fn(&T) -> String) -> String {
    let mut words: Vec<String> = vec![];
    for word in all.iter().map(show) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // Some of what is consistent: the rest stands in the JSON.
    let more = words.len().saturating_sub(MOST_LISTED);
    words.truncate(MOST_LISTED);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

/// The best of several; the JSON has them all.
fn first(shapes: &[Geometry]) -> String {
    let (shown, others) = shapes.split_at(shapes.len().min(SHAPES));
    let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
    list(shown, shape) + &more
}

fn shape(shape: &Geometry) -> String {
    let hash = if shape.hash.is_some() { " hashed" } else { "" };
    let layout = shape.layout.as_ref().and_then(|layout| serde_json::to_string(layout).ok());
    let layout = layout.map(|layout| format!(" {}", layout.replace('"', ""))).unwrap_or_default();
    format!("{} sets × {} ways{hash}{layout}", shape.sets, shape.ways)
}

/// What fetches of texels of one size take: a hit, and what each block costs beyond it.
fn texels(fit: &TexelFit) -> String {
    let blocks = fit.blocks.iter().map(|cost| format!(" + {} by {} × {}", Unit::Seconds.words(cost.first.0), cost.width, cost.height));
    format!("{} B: {}{}", fit.texel_bytes, Unit::Seconds.words(fit.hit.0), blocks.collect::<String>())
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Measured => "measured",
        Source::Simulated => "simulated",
        Source::Vendor => "vendor",
        Source::Paper => "paper",
        Source::Assumed => "assumed",
        Source::Given => "given",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_probe::{Context, Scale, aspects, battery};

    #[test]
    fn numbers_are_shown_in_units_that_people_read() {
        let shown = |key: &str, value: f64| Unit::of(key).words(value);
        assert_eq!(shown("texture.l1.capacity_bytes", 1024.0), "1 KiB");
        assert_eq!(shown("texture.l1.capacity_bytes", 1000.0), "1000 B");
        assert_eq!(shown("buffer.l2.capacity_bytes", 1.5 * 1024.0 * 1024.0), "1.500 MiB");
        assert_eq!(shown("buffer.l2.latency_s", 1.234e-7), "123.4 ns");
        assert_eq!(shown("buffer.l1.latency_cycles", 37.0), "37 cycles");
        assert_eq!(shown("dram.bandwidth", 3e10), "30 GB/s");
        assert_eq!(shown("read.bandwidth_x4", 3e10), "30 GB/s");
        assert_eq!(shown("peak.fp32", 8.9e11), "890 GOP/s");
        assert_eq!(shown("cores", 2.0), "2");
        assert_eq!(shown("buffer.l1.latency_s", 0.0), "0 ns");
    }

    #[test]
    fn keys_have_their_heading_and_figure() {
        assert_eq!((part("texture.l1.ways"), figure("texture.l1.ways")), ("Images", "001, figure 6"));
        assert_eq!((part("registers.per_thread_max"), figure("registers.per_thread_max")), ("Registers", "001, figure 5"));
        assert_eq!((part("local.split"), figure("local.split")), ("Local memory", "001, table 1"));
        assert_eq!((part("cache.texture_and_buffer"), figure("warp.by_latency")), ("Caches in common", "001, figure 7"));
        assert_eq!((part("tomorrow.key"), figure("tomorrow.key")), ("Others", "-"));
        let known =
            ["barrier.cost_s", "image.address_s", "special.rate", "fma.latency_s", "texture.line_16b.x_texels", "buffer.l1.end_bytes"];
        assert_eq!(known.map(figure), ["in neither", "in neither", "001, figure 11", "in neither", "000, figure 2", "001, figure 6"]);
        let figures = ["texture.fit_error.warp", "texture.scaling.row.gain", "texture.locality.group"].map(figure);
        assert_eq!(figures, ["000, figure 2", "000, figure 4", "000, figure 5"]);
        assert!(parts().any(|own| own == part("tomorrow.key")));
    }

    /// Keys of a rehearsal of every aspect: what was found of a simulated GPU, and what nobody knows.
    fn keys_of_a_rehearsal() -> Vec<String> {
        let options = warpsight_run::Options { in_process: true, cache: None, ..warpsight_run::Options::default() };
        let mut device = warpsight_run::open("sim:adreno640", &options).expect("a device");
        let info = device.info().clone();
        let mut records = vec![];
        for aspect in aspects::all() {
            let mut plan = (aspect.phase.plan)(&Context { device: &info, scale: Scale::Tiny, seed: 1 });
            let mut own = vec![];
            while let Some(measurement) = plan.ask(&own) {
                own.push(battery::take(aspect.phase.name, measurement, &mut *device).0);
            }
            records.extend(own);
        }
        aspects::analyse(&info, &records).facts.into_keys().collect()
    }

    /// A pattern that no key has would say nothing.
    #[test]
    fn every_pattern_of_a_figure_is_of_a_key() {
        let keys = keys_of_a_rehearsal();
        for (words, figure) in FIGURES {
            for word in words {
                assert!(keys.iter().any(|key| key.contains(word)), "{figure}: no key has `{word}`: {keys:?}");
            }
        }
    }

    #[test]
    fn an_interval_is_in_the_unit_of_its_value() {
        let fact = Fact::between(1000.0, 1024.0, 2048.0, Source::Measured, "a test");
        let cells = Cells::of("texture.l1.capacity_bytes", &Finding::Number(fact));
        assert_eq!((&*cells.value, cells.unit, &*cells.interval), ("1", "KiB", "0.977 to 2"));
        let cells = Cells::of("texture.l1.ways", &Finding::Number(Fact::unknown("too noisy")));
        assert_eq!((&*cells.value, cells.unit, &*cells.why), ("unknown", "", "too noisy"));
    }
}
