//! The command `warpsight`: wiring and reports. It picks the models and holds no algorithm.
//!
//! What limits a kernel on a GPU that is not at hand, which shader costs more, and a kernel that is verified and timed:
//!
//! ```console
//! $ warpsight predict examples/accesses/stream-triad.toml --device a100-40
//! $ warpsight shader predict data/shaders/looping/mandelbulb.frag
//! $ warpsight optimize --op "matmul m=32 n=32 k=32"
//! ```

mod accesses;
mod battery;
mod compile;
mod devices;
mod explore;
mod export;
mod failure;
mod help;
mod import;
mod names;
mod network;
mod npy;
mod operators;
mod optimize;
mod page;
mod pipeline;
mod plot;
mod predict;
mod probe;
mod progress;
mod record;
mod report;
mod run;
mod shader;
mod target;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Tells how fast a GPU will run a piece of work, says why, and writes the program that runs it fastest.
#[derive(Parser)]
#[command(name = "warpsight", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = EXIT_CODES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Results (and errors) as JSON; no progress where stderr is no terminal.
    #[arg(long, global = true)]
    json: bool,
    /// Every column of tables, in one line a row. Else tables fit the terminal, or $COLUMNS: long texts go below their rows, then columns
    /// are left out, and the last line says which. In a pipe or file, without $COLUMNS, tables are wide.
    #[arg(long, global = true)]
    wide: bool,
}

const EXAMPLES: &str = "Examples:
  How fast a kernel will be on GPUs that are not there, from the addresses it touches:
    warpsight predict examples/accesses/star3d-r4-f64.toml --device h200 mi300x
  The fastest verified kernels for a network, on the simulated GPU that is built in:
    warpsight optimize models/text-orientation.onnx
  What a fragment shader costs, line by line:
    warpsight shader predict data/shaders/looping/mandelbulb.frag";

const EXIT_CODES: &str = "Exit codes: 0 done, 1 slower than allowed (shader diff) or different (probe diff, probe fit --check), 2 bad input or usage, 3 device or driver, \
    4 nothing verified, 5 input/output, 130 interrupted.\n\
    Times are tagged measured, simulated or predicted.";

#[derive(Subcommand)]
enum Verb {
    /// Choose, verify and time the best kernels for a network or one operator, and write them out.
    Optimize(optimize::Args),
    /// Run a network on a device: one `.npy` per output.
    Run(run::Args),
    /// Predict a kernel's time and data volumes from the accesses it makes, on one device or several.
    Predict(predict::Args),
    /// Rank every configuration of a kernel by its predicted speed: blocks, foldings, problem sizes, devices.
    Explore(explore::Args),
    /// Plan a graph of operators as pipelines: groups, stages, proof, times and traffic.
    Pipeline(pipeline::Args),
    /// Collect, measure, trace and predict fragment shaders.
    Shader(shader::Args),
    /// Measure all there is to measure of a GPU, within minutes, into a folder.
    Battery(battery::Args),
    /// Measure what a GPU is: caches, registers, warps, rates; say with intervals what was found, and what cannot be known and why.
    Probe(probe::Args),
    /// Compile a Program or one operator to CUDA machine code and show what it uses; needs no GPU.
    Compile(compile::Args),
    /// Take what a battery measured into the store.
    Import(import::Args),
    /// List the devices that are found, and why others were passed over.
    Devices(devices::Args),
    /// Print completions for bash, zsh, fish, elvish or PowerShell.
    Completions(help::completions::Args),
    /// Print the manual page, or write a page for every verb into a folder.
    Man(help::man::Args),
    /// List the ONNX operators that are read, with what of each is read.
    Operators(operators::Args),
}

fn main() -> ExitCode {
    warpsight_files::keep_from_being_killed();
    // Driver work runs in a child process: this very program, called differently.
    if let Some(code) = warpsight_run::isolated::child_main() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            // Help and version are no errors; clap knows.
            if usage.use_stderr() && std::env::args().any(|a| a == "--json") {
                let failure = failure::Failure::input(usage.to_string().trim().to_owned());
                failure.print(true);
                return ExitCode::from(failure.exit_code());
            }
            let code = if usage.use_stderr() { 2 } else { 0 };
            let _ = usage.print();
            return ExitCode::from(code);
        }
    };
    report::set_wide(cli.wide);
    progress::set_json(cli.json);
    let json = cli.json;
    match progress::obeying(move || dispatch(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(json);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn dispatch(cli: &Cli) -> Result<(), failure::Failure> {
    match &cli.verb {
        Verb::Optimize(args) => optimize::run(args, cli.json),
        Verb::Run(args) => run::run(args, cli.json),
        Verb::Predict(args) => predict::run(args, cli.json),
        Verb::Explore(args) => explore::run(args, cli.json),
        Verb::Pipeline(args) => pipeline::run(args, cli.json),
        Verb::Shader(args) => shader::run(args, cli.json),
        Verb::Battery(args) => battery::run(args, cli.json),
        Verb::Probe(args) => probe::run(args, cli.json),
        Verb::Compile(args) => compile::run(args, cli.json),
        Verb::Import(args) => import::run(args, cli.json),
        Verb::Devices(args) => devices::run(args, cli.json),
        Verb::Completions(args) => help::completions::run(args, Cli::command()),
        Verb::Man(args) => help::man::run(args, Cli::command()),
        Verb::Operators(args) => operators::run(args, cli.json),
    }
}
