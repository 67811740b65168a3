//! Registers that are counted of drawn kernels beside those that compilers take: that of a simulated GPU, or ptxas.
//!
//! `cargo run --release -p warpsight-engine --example registers -- (NAME|sm_NN) CONFIGURATIONS OPERATOR…`: a line of JSON for each kernel, then how far
//! counts are off in the mean (geometric) and by how much they vary about it: as counted, and with what is loaded in a row, without a loop or a store in
//! between, in registers at once, so many words at most. ptxas is that of CUDA, or of the Python environment `.venv`.

#[path = "../../run/tests/common/toolkit.rs"]
mod compilers;

use serde_json::json;
use std::collections::HashSet;
use std::error::Error;
use warpsight_engine::verify::blank;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Meeting, ScheduleFamily};
use warpsight_ir::{Checked, Config, Expr, Family, Name, Program, Seconds, Stmt};
use warpsight_run::cuda::{Arch, Toolkit, ToolkitError};
use warpsight_run::sim::Sim;

/// Words that a compiler may have under way.
const AHEAD: [u32; 4] = [0, 32, 64, 96];

enum Compiler {
    Simulated(Box<Sim>),
    Ptxas(Toolkit, Arch),
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (device, count) = args.next().zip(args.next()).ok_or("a compiler, how many, then operators")?;
    let count: usize = count.parse()?;
    let compiler = match device.starts_with("sm_") {
        true => Compiler::Ptxas(compilers::toolkit().ok_or("no CUDA compilers")?, device.parse()?),
        false => Compiler::Simulated(Box::new(Sim::open(&device)?)),
    };
    let mut all = vec![];
    for text in args {
        let family = ScheduleFamily::new(parse_operator(&text)?.steps.into_iter().next().ok_or("no expression")?);
        let mut drawn = family.sample(1, 4000, Meeting { copies: true, shares: true });
        fastrand::Rng::with_seed(1).shuffle(&mut drawn);
        for config in drawn.iter().take(count) {
            let program = family.lower(config)?;
            let Some(reported) = compiler.registers(&family, config, &program)? else { continue };
            let (counted, loads) = (family.outline(config).registers, Loads::of(&program));
            let knobs = family.space().describe(config);
            let Loads { alone, varying, same, .. } = loads;
            println!(
                "{}",
                json!({"op": text, "counted": counted, "reported": reported, "in_a_row": varying, "same_in_all_lanes": same, "of_a_step": alone, "config": knobs})
            );
            all.push((counted, reported, loads));
        }
    }
    for most in AHEAD {
        let ahead = |own: &Loads, row: u32| row.min(most).saturating_sub(own.alone);
        let told = |name: &str, counts: &dyn Fn(u32, &Loads) -> u32| {
            let errors: Vec<f64> = all.iter().map(|own| (f64::from(counts(own.0, &own.2)) / f64::from(own.1.max(1))).ln()).collect();
            let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
            let spread = (errors.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / errors.len().max(1) as f64).sqrt();
            println!(
                "{} kernels, {most:2} words ahead, {name}: ×{:.2} of those reported, spread ×{:.2}",
                errors.len(),
                mean.exp(),
                spread.exp()
            );
        };
        told("all loads", &|counted, own| counted + ahead(own, own.varying + own.same));
        // What is the same in all lanes lies in registers that these share.
        told("those that vary among lanes", &|counted, own| (counted + ahead(own, own.varying)).saturating_sub(own.same.min(own.alone)));
    }
    Ok(())
}

impl Compiler {
    /// What it takes for a kernel; `None` where it does not take the kernel.
    fn registers(&self, family: &ScheduleFamily, config: &Config, program: &Checked) -> Result<Option<u32>, Box<dyn Error>> {
        match self {
            Self::Simulated(sim) => {
                let job = blank(family.expr(), &family.layouts(config)?, program);
                Ok(sim.time_within(&job, Seconds(f64::INFINITY)).ok().flatten().and_then(|ran| ran.1.registers))
            }
            Self::Ptxas(toolkit, arch) => {
                let Ok(source) = warpsight_emit::cuda(program) else { return Ok(None) };
                match toolkit.compile(&source.text(), &source.entry, *arch) {
                    Ok(compiled) => Ok(compiled.resources.map(|own| own.registers)),
                    // More local memory than there is.
                    Err(ToolkitError::Refused { .. }) => Ok(None),
                    Err(other) => Err(other.into()),
                }
            }
        }
    }
}

/// Words that a Program loads.
#[derive(Default)]
struct Loads {
    /// Of one scope, at most: these are counted.
    alone: u32,
    /// In a row, of values that vary among lanes, and of those that are the same in all.
    varying: u32,
    same: u32,
}

impl Loads {
    fn of(program: &Program) -> Self {
        let lanes = program.launch.lanes.iter().map(|axis| axis.name.clone()).collect();
        let mut walk = Walk { varying: lanes, row: [0; 2], found: Self::default() };
        walk.block(&program.body);
        walk.end();
        walk.found
    }
}

struct Walk {
    /// Names of what varies among lanes.
    varying: HashSet<Name>,
    /// Words loaded so far, of what varies and of what does not.
    row: [u32; 2],
    found: Loads,
}

impl Walk {
    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Let { name, value } => {
                    let varies = self.varies(value);
                    self.row[usize::from(!varies)] += words(value);
                    if varies {
                        self.varying.insert(name.clone());
                    }
                }
                Stmt::Var { name, init: value, .. } | Stmt::Assign { name, value } => {
                    self.row[0] += words(value);
                    self.varying.insert(name.clone());
                }
                Stmt::Scope(body) => {
                    let before = self.row;
                    self.block(body);
                    let own = self.row.iter().zip(before).map(|(row, before)| row.saturating_sub(before)).sum();
                    self.found.alone = self.found.alone.max(own);
                }
                _ => {
                    self.end();
                    for body in stmt.blocks() {
                        self.block(body);
                        self.end();
                    }
                }
            }
        }
    }

    fn end(&mut self) {
        let [varying, same] = std::mem::take(&mut self.row);
        if varying + same > self.found.varying + self.found.same {
            (self.found.varying, self.found.same) = (varying, same);
        }
    }

    fn varies(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Var(name) if self.varying.contains(name)) || expr.children().into_iter().any(|own| self.varies(own))
    }
}

/// Words that an expression loads.
fn words(expr: &Expr) -> u32 {
    let own = match expr {
        Expr::Load { width, .. } => u32::from(*width),
        Expr::Texel { .. } => 4,
        _ => 0,
    };
    own + expr.children().into_iter().map(words).sum::<u32>()
}
