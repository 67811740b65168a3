//! `warpsight shader trace`: how often each basic block runs.

use super::SceneArgs;
use crate::failure::Failure;
use crate::optimize::write_atomically;
use crate::report::{out, table};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use warpsight_learn::shader::interpret::Program;
use warpsight_learn::shader::trace::rewrite::{Options, Width, rewrite};
use warpsight_learn::shader::trace::{QUADS, sample};

/// Count how often each basic block runs in a frame, by interpretation or by a module that counts.
#[derive(clap::Args)]
pub struct Args {
    /// A fragment shader: SPIR-V.
    file: PathBuf,
    #[command(flatten)]
    scene: SceneArgs,
    /// How many 2×2 quads are executed, spread over the frame; `all` for every one.
    #[arg(long, value_name = "N", default_value = "64", value_parser = parse_quads)]
    quads: usize,
    /// Which quads: equal seeds give equal quads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Instead, write the module with counters to this file: one 64-bit counter a block in a storage buffer.
    #[arg(long, value_name = "OUT.spv")]
    rewrite: Option<PathBuf>,
    /// The descriptor set and binding of that buffer.
    #[arg(long, value_name = "SET,BINDING", default_value = "1,0", value_parser = parse_at, requires = "rewrite")]
    counters: (u32, u32),
    /// Two words of 32 bits a counter, for devices without 64-bit atomics.
    #[arg(long, requires = "rewrite")]
    split: bool,
    /// Invocations of a subgroup add up before they count.
    #[arg(long, requires = "rewrite")]
    subgroup: bool,
}

/// A number of quads, or `all`.
pub fn parse_quads(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        _ => text.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("a number of quads, for instance {QUADS}, or `all`")),
    }
}

fn parse_at(text: &str) -> Result<(u32, u32), String> {
    let both = text.split_once(',').and_then(|(set, binding)| Some((set.trim().parse().ok()?, binding.trim().parse().ok()?)));
    both.ok_or_else(|| "a descriptor set and a binding, for instance 1,0".to_owned())
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let bytes = std::fs::read(&args.file).map_err(|e| Failure::io(&args.file, &e))?;
    let (module, cfg) = super::read(&args.file, &bytes)?;
    if let Some(to) = &args.rewrite {
        let (set, binding) = args.counters;
        let width = if args.split { Width::Split } else { Width::Whole };
        let words = rewrite(&module, &cfg, Options { set, binding, width, subgroup: args.subgroup })?;
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        write_atomically(to, &bytes)?;
        let blocks = cfg.blocks.len();
        if json {
            return out(json!({"file": to, "blocks": blocks, "bytes": 8 * blocks, "set": set, "binding": binding}));
        }
        return out(format!(
            "{}: {blocks} counters, {} bytes of storage buffer at set {set}, binding {binding}; zeros before the draw",
            to.display(),
            8 * blocks
        ));
    }
    args.scene.check(&module)?;
    let (inputs, assumed) = args.scene.scene(&BTreeMap::new()).inputs(&module)?;
    let program = Program::new(&module, &cfg)?;
    let trace = sample(&program, &inputs, args.quads, args.seed)?;
    let executed = trace.total(|block| cfg.blocks[block].insts.len() as f64);
    let lines = |block: usize| {
        let lines = cfg.blocks[block].insts.clone().map(|at| module.insts()[at].line).filter(|l| *l > 0);
        lines.fold(None, |seen: Option<(u32, u32)>, l| Some(seen.map_or((l, l), |(low, high)| (low.min(l), high.max(l)))))
    };
    if json {
        let blocks: Vec<_> = (0..cfg.blocks.len())
            .map(|b| {
                json!({"block": b, "label": cfg.blocks[b].label, "lines": lines(b).map(|(l, h)| [l, h]), "instructions": cfg.blocks[b].insts.len(),
                    "count": trace.counts[b], "error": trace.error(b), "rough": trace.rough[b]})
            })
            .collect();
        return out(json!({
            "file": args.file, "source": "simulated", "frame": inputs.frame, "pixels": trace.pixels, "sampled": trace.sampled, "complete": trace.complete,
            "instructions": executed.value, "error": executed.error, "rough": trace.is_rough(), "assumptions": assumed, "blocks": blocks,
        }));
    }
    let mut rows = table(&["block", "lines", "instructions", "count", "± error", "a pixel", ""]);
    for b in 0..cfg.blocks.len() {
        let lines = lines(b).map_or("-".to_owned(), |(l, h)| if l == h { l.to_string() } else { format!("{l}–{h}") });
        let per_pixel = trace.counts[b] / trace.pixels as f64;
        let rough = if trace.rough[b] { "branches on a rounded value" } else { "" };
        rows.add_row([
            b.to_string(),
            lines,
            cfg.blocks[b].insts.len().to_string(),
            format!("{:.0}", trace.counts[b]),
            format!("{:.0}", trace.error(b)),
            format!("{per_pixel:.2}"),
            rough.to_owned(),
        ]);
    }
    let said: Vec<String> = assumed.iter().map(|a| format!("  {a}\n")).collect();
    let share = if executed.value > 0.0 { 100.0 * executed.error / executed.value } else { 0.0 };
    out(format!(
        "{rows}\n\n{:.4e} instructions a frame of {}×{} (simulated), ±{share:.1} % as {} of {} pixels were executed\nassumed:\n{}",
        executed.value,
        inputs.frame[0],
        inputs.frame[1],
        trace.sampled,
        trace.pixels,
        said.concat().trim_end()
    ))
}
