//! Figures of papers 000 and 001, drawn of simulated silicon.
//!
//! `cargo run --release -p warpsight-sim --example figures -- [--html FILE] [--json]`
//!
//! The Adreno 740's silicon is tuned to the figures of paper 000: that they come out is not a validation.

mod convolution;
mod occupancy;
mod page;
mod patterns;
#[path = "../shared/mod.rs"]
mod shared;

use convolution::Ran;
use occupancy::Point;
use std::process::ExitCode;
use warpsight_sim::{Silicon, Simulator};

/// What every report says of the figures of paper 000.
pub const NOT_A_VALIDATION: &str = "The Adreno 740's silicon is tuned to these figures: not a validation.";

/// Work-items of the figure.
const LANES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// How an order's throughput grows with work-items.
struct Scaling {
    /// The order.
    name: &'static str,
    /// What the paper states of one work-item.
    stated: f64,
    /// Work-items and their throughput, of that of one work-item in columns.
    gains: Vec<(u32, f64)>,
}

/// All figures.
pub struct Figures {
    /// Figure 4 of paper 000.
    patterns: Vec<Scaling>,
    /// Throughput of images of rows and columns, of that of images of one row.
    kinds: f64,
    /// Figure 5 of paper 000: each unroll's points.
    groups: Vec<(u32, Vec<Point>)>,
    /// Paper 001 on the Adreno 640: through the texture cache, and through local memory.
    convolutions: [Ran; 2],
}

/// Simulates all figures.
fn figures() -> Result<Figures, String> {
    let tuned = silicon("adreno740");
    let kinds = patterns::kinds(&tuned)?;
    let simulator = Simulator::new(tuned);
    let one = patterns::throughput(&simulator, patterns::Pattern::Column, 1)?;
    let gain = |pattern, lanes| Ok::<_, String>((lanes, patterns::throughput(&simulator, pattern, lanes)? / one));
    let scaling = |pattern| LANES.iter().map(|&lanes| gain(pattern, lanes)).collect::<Result<_, String>>();
    let patterns = patterns::PATTERNS.iter().map(|&(name, pattern, stated)| Ok(Scaling { name, stated, gains: scaling(pattern)? }));
    let patterns = patterns.collect::<Result<_, String>>()?;
    let points = |unroll| (1..=16).map(|warps| occupancy::logarithms(&simulator, unroll, warps)).collect::<Result<_, String>>();
    let groups = occupancy::UNROLLS.iter().map(|&unroll| Ok((unroll, points(unroll)?))).collect::<Result<_, String>>()?;
    let recorded = Simulator::new(silicon("adreno640"));
    let convolutions = [convolution::best(&recorded, false)?, convolution::best(&recorded, true)?];
    Ok(Figures { patterns, kinds: kinds[0] / kinds[1], groups, convolutions })
}

fn silicon(name: &str) -> Silicon {
    match Silicon::named(name) {
        Some(silicon) => silicon,
        None => panic!("{name} is embedded"),
    }
}

fn json(figures: &Figures) -> serde_json::Value {
    let ran = |ran: &Ran| serde_json::json!({"flops": ran.flops, "alu_busy": ran.alu, "dram_busy": ran.dram, "limiter": ran.limiter});
    let point = |p: &Point| serde_json::json!({"warps": p.warps, "occupancy": p.occupancy, "miss_rate": p.miss_rate, "cycles": p.cycles});
    let patterns: Vec<_> =
        figures.patterns.iter().map(|own| serde_json::json!({"pattern": own.name, "stated": own.stated, "gain": own.gains})).collect();
    let groups = figures.groups.iter();
    let groups: Vec<_> = groups
        .map(|(unroll, points)| serde_json::json!({"unroll": unroll, "points": points.iter().map(point).collect::<Vec<_>>()}))
        .collect();
    let [image, local] = &figures.convolutions;
    serde_json::json!({
        "paper_000": {"device": "adreno740", "note": NOT_A_VALIDATION, "figure_4": patterns, "image2d_of_image1d": figures.kinds, "figure_5": groups},
        "paper_001": {"device": "adreno640", "texture": ran(image), "local": ran(local), "local_of_texture": local.flops / image.flops},
    })
}

fn print(figures: &Figures) {
    println!("paper 000 on adreno740, simulated. {NOT_A_VALIDATION}");
    println!("  figure 4, throughput by work-items, of one work-item in columns (in brackets: what the paper states)");
    for Scaling { name, stated, gains } in &figures.patterns {
        let points: Vec<String> = gains.iter().map(|(lanes, gain)| format!("{lanes}: {gain:.2}")).collect();
        println!("    {name:8} ({stated:.2})  {}", points.join("  "));
    }
    println!("  images of rows and columns: {:.2} times the throughput of images of one row (2)", figures.kinds);
    for (unroll, points) in &figures.groups {
        println!("  figure 5, unroll {unroll}: occupancy {}; by warps the miss rate and the time of one warp's", points[0].occupancy);
        let points: Vec<String> =
            points.iter().map(|p| format!("{}: {:.3} {:.2}", p.warps, p.miss_rate, p.cycles / points[0].cycles)).collect();
        println!("    {}", points.join("  "));
    }
    let [image, local] = &figures.convolutions;
    println!("paper 001 on adreno640, simulated: a 3x3 convolution");
    for (what, ran) in [("texture cache", image), ("local memory", local)] {
        println!(
            "  through the {what}: {:.1} GFLOP/s, arithmetic units {:.0} %, bus to device memory {:.0} % busy, limited by {}; {} x {} rows",
            ran.flops / 1e9,
            100.0 * ran.alu,
            100.0 * ran.dram,
            ran.limiter.name(),
            ran.tile[0],
            ran.tile[1]
        );
    }
    println!("  local memory reaches {:.2} of the texture cache (about half)", local.flops / image.flops);
}

const USAGE: &str = "figures [--html FILE] [--json]";

fn run() -> Result<(), String> {
    let (mut html, mut told) = (None, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => told = true,
            "--html" => html = Some(words.next().ok_or(format!("--html wants a file: {USAGE}"))?),
            other => return Err(format!("there is no option {other}: {USAGE}")),
        }
    }
    let figures = figures()?;
    if let Some(path) = html {
        std::fs::write(&path, page::page(&figures)?).map_err(|error| format!("{path}: {error}"))?;
    }
    if told {
        println!("{}", json(&figures))
    } else {
        print(&figures)
    }
    Ok(())
}

fn main() -> ExitCode {
    shared::ended(run())
}
