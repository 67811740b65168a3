//! `warpsight shader trace`: how often each basic block runs.

mod corpus;

use super::SceneArgs;
use super::glsl;
use super::shaders::LIST;
use super::subject::{Subject, parse_quads};
use super::targets::SOFTWARE;
use crate::failure::Failure;
use crate::report::Column::{Keep, Spare};
use crate::report::{out, table};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use warpsight_run::DeviceInfo;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::interpret::{Inputs, Program};
use warpsight_shader::module::Module;
use warpsight_shader::trace::rewrite::{Options, Width, rewrite};
use warpsight_shader::trace::sample;
use warpsight_shader::wrap::Dialect;

/// Count how often each basic block runs in a frame, by interpretation or by a module that counts.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A fragment shader: SPIR-V, or GLSL in any dialect; `-` for standard input. Or a folder that `shader collect` wrote: with --device,
    /// the device's counts of every shader are compared with the interpreter's, at every pixel of a frame of 64x48 or the --resolution.
    file: PathBuf,
    /// How GLSL is written, where that is not to be guessed.
    #[arg(long, value_name = "NAME", value_parser = glsl::dialects())]
    dialect: Option<Dialect>,
    #[command(flatten)]
    scene: SceneArgs,
    /// How many 2×2 quads are executed, spread over the frame; `all` for every one.
    #[arg(long, value_name = "N", default_value = "64", value_parser = parse_quads, allow_negative_numbers = true)]
    quads: usize,
    /// Which quads, or which shaders: equal seeds choose equally.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
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
    /// Also count on a Vulkan device, every pixel: vulkan:N.
    #[arg(long, value_name = "DEVICE", conflicts_with = "rewrite")]
    device: Option<String>,
    /// Seconds after which the device counts as hanging.
    #[arg(long, value_name = "S", default_value_t = 120, requires = "device", value_parser = crate::target::seconds(1))]
    timeout: u64,
    /// Of a corpus only shaders whose id begins so, or whose name or source contains it; may be repeated.
    #[arg(long, value_name = "TEXT", requires = "device")]
    only: Vec<String>,
    /// Of a corpus only so many shaders, about as many of each source.
    #[arg(long, value_name = "N", requires = "device", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
}

const EXAMPLES: &str = "Examples:
  How often each basic block runs in a frame:
    warpsight shader trace data/shaders/looping/mandelbulb.frag
  The same, counted by a Vulkan device:
    warpsight shader trace data/shaders/looping/mandelbulb.frag --device vulkan:0
  A module that counts by itself:
    warpsight shader trace data/shaders/looping/mandelbulb.frag --rewrite counting.spv";

fn parse_at(text: &str) -> Result<(u32, u32), String> {
    let both = text.split_once(',').and_then(|(set, binding)| Some((set.trim().parse().ok()?, binding.trim().parse().ok()?)));
    both.ok_or_else(|| "a descriptor set and a binding, for instance 1,0".to_owned())
}

/// What a device counted.
struct Counted {
    info: DeviceInfo,
    counts: Vec<u64>,
}

impl Counted {
    fn new(args: &Args, id: &str, module: &Module, cfg: &Cfg, inputs: &Inputs) -> Result<Self, Failure> {
        let options = warpsight_run::Options { timeout: Duration::from_secs(args.timeout), ..warpsight_run::Options::default() };
        let mut device = warpsight_run::open_renderer(id, &options, None)?;
        let counts = super::count::counts(&mut *device, module, cfg, inputs)?;
        Ok(Self { info: device.info().clone(), counts })
    }

    /// The sum of differences to other counts, as a share of all.
    fn differ(&self, others: &[f64]) -> f64 {
        let total: u64 = self.counts.iter().sum();
        self.counts.iter().zip(others).map(|(a, b)| (*a as f64 - b).abs()).sum::<f64>() / (total.max(1)) as f64
    }

    fn software(&self) -> Option<&'static str> {
        self.info.is_cpu.then_some(SOFTWARE)
    }
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    if args.file.join(LIST).is_file() {
        let device = args.device.as_ref().ok_or_else(|| Failure::input("a corpus is compared with a device: --device vulkan:N"))?;
        return corpus::run(args, device, json);
    }
    let subject = Subject::read(&args.file, args.dialect)?;
    let (module, cfg) = (&subject.shader.module, &subject.shader.cfg);
    if let Some(to) = &args.rewrite {
        let (set, binding) = args.counters;
        let width = if args.split { Width::Split } else { Width::Whole };
        let words = rewrite(module, cfg, Options { set, binding, width, subgroup: args.subgroup })?;
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        warpsight_files::write(to, &bytes)?;
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
    subject.check(&args.scene)?;
    let refused = |failure: Failure| failure.at(&subject.name);
    let (inputs, assumed) = subject.scene(&args.scene).inputs(module).map_err(|e| refused(e.into()))?;
    let program = Program::new(module, cfg).map_err(|e| refused(e.into()))?;
    let trace = sample(&program, &inputs, args.quads, args.seed).map_err(|e| refused(e.into()))?;
    let counted = args.device.as_ref().map(|id| Counted::new(args, id, module, cfg, &inputs)).transpose()?;
    let executed = trace.total(|block| cfg.blocks[block].insts.len() as f64);
    let lines = |block: usize| {
        let lines = cfg.blocks[block].insts.clone().map(|at| module.insts()[at].line).filter(|l| *l > 0);
        lines.fold(None, |seen: Option<(u32, u32)>, l| Some(seen.map_or((l, l), |(low, high)| (low.min(l), high.max(l)))))
    };
    if json {
        let blocks: Vec<_> = (0..cfg.blocks.len())
            .map(|b| {
                json!({"block": b, "label": cfg.blocks[b].label, "lines": lines(b).map(|(l, h)| [l, h]), "instructions": cfg.blocks[b].insts.len(),
                    "count": trace.counts[b], "error": trace.error(b), "rough": trace.rough[b],
                    "counted": counted.as_ref().map(|c| c.counts[b])})
            })
            .collect();
        return out(json!({
            "file": args.file, "source": "simulated", "frame": inputs.frame, "pixels": trace.pixels, "sampled": trace.sampled, "complete": trace.complete,
            "instructions": executed.value, "error": executed.error, "rough": trace.is_rough(), "assumptions": assumed, "blocks": blocks,
            "device": counted.as_ref().map(|c| json!({"id": c.info.id, "name": c.info.name, "driver": c.info.driver, "software": c.software(),
                "source": "measured", "differing_share": c.differ(&trace.counts)})),
        }));
    }
    let mut heads = vec![
        Keep("block"),
        Spare(5, "lines"),
        Spare(2, "instructions"),
        Keep("count"),
        Spare(3, "± error"),
        Spare(4, "a pixel"),
        Spare(1, ""),
    ];
    if counted.is_some() {
        heads.insert(5, Keep("counted"));
    }
    let mut rows = table(&heads);
    for b in 0..cfg.blocks.len() {
        let lines = lines(b).map_or("-".to_owned(), |(l, h)| if l == h { l.to_string() } else { format!("{l}–{h}") });
        let per_pixel = trace.counts[b] / trace.pixels as f64;
        let rough = if trace.rough[b] { "branches on a rounded value" } else { "" };
        let mut row = vec![
            b.to_string(),
            lines,
            cfg.blocks[b].insts.len().to_string(),
            format!("{:.0}", trace.counts[b]),
            format!("{:.0}", trace.error(b)),
            format!("{per_pixel:.2}"),
            rough.to_owned(),
        ];
        if let Some(counted) = &counted {
            row.insert(5, counted.counts[b].to_string());
        }
        rows.add_row(row);
    }
    let said: Vec<String> = assumed.iter().map(|a| format!("  {a}\n")).collect();
    let share = if executed.value > 0.0 { 100.0 * executed.error / executed.value } else { 0.0 };
    let device = counted.map_or(String::new(), |c| {
        let (name, driver, percent) = (&c.info.name, &c.info.driver, 100.0 * c.differ(&trace.counts));
        let software = c.software().map_or(String::new(), |s| format!(", {s}"));
        format!("counted (measured) by {name} ({driver}){software}: {percent:.4} % of counts differ from the simulated ones\n")
    });
    out(format!(
        "{rows}\n\n{device}{:.4e} instructions a frame of {}×{} (simulated), ±{share:.1} % as {} of {} pixels were executed\nassumed:\n{}",
        executed.value,
        inputs.frame[0],
        inputs.frame[1],
        trace.sampled,
        trace.pixels,
        said.concat().trim_end()
    ))
}
