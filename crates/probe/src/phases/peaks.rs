//! Peak rates of arithmetic by type, against occupancy and instruction-level parallelism.
//!
//! Every thread runs independent chains `x ← a·x + b` (or a function's recurrence) whose constants come from memory, so that nothing
//! can be computed in advance; what leaves the loop is stored, so that nothing can be left out. The loop's body holds 16 steps of every
//! chain beside three instructions of its own. The functions are those that an emitter calls, range reduction included, not the bare
//! instruction of the special function unit. 112 Programs, and 46 with tiles.
//!
//! Rates of `f32`, `f64` and integers are measured, not yet those of `half`. What is measured of `f16` and `bf16` is the
//! way through a variable of that type: rounding, and widening again. Matrix tiles are in a phase of their own; Programs have them with
//! `f16` and `bf16` operands and `f32` sums, not in `f64`.

mod tiles;

use crate::kernels::{ONE_WAVE, WARP, program};
use crate::{Amounts, Context, Measurement, Needs, Parameter, Parameters, Phase, Plan, Scale};
use half::{bf16, f16};
use std::fmt::Write;
use warpsight_ir::Scalar;
use warpsight_run::init::random;
use warpsight_run::{Init, Job, JobResult, LaunchSpec, MemoryKind, MemorySpec, Peek, TimingSpec};

/// Threads of a block: four warps, one for each partition of a multiprocessor.
const BLOCK: u32 = 128;
/// Steps of a chain that the body of the loop holds.
const WRITTEN: u32 = 16;
/// 32-bit registers of a multiprocessor (NVIDIA since Kepler).
const REGISTERS: u32 = 65_536;
/// Threads, or tiles, whose results are compared.
const SAMPLES: usize = 16;

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![
        Phase {
            name: "peaks",
            purpose: "rates of scalar arithmetic by type, not of packed halves, against warps per multiprocessor and chains per thread",
            needs: Needs::Programs,
            share: 1.0,
            plan,
        },
        Phase {
            name: "peaks_tiles",
            purpose: "rates of f16 and bf16 tiles by way of wmma, less than wgmma has on Hopper, against warps and accumulators",
            needs: Needs::Tiles,
            share: 0.5,
            plan: tiles::plan,
        },
    ]
}

/// A recurrence and how its results are known.
#[derive(Clone, Copy)]
struct Op {
    /// Its name: `fma_f32`.
    name: &'static str,
    /// The type in memory and of the chain's variable.
    element: Scalar,
    /// One step in the text form: `x` the chain's variable, `a`, `b` constants, `c` the chain's start.
    step: &'static str,
    /// Operations of a step.
    operations: f64,
    /// Steps at full scale.
    steps: u32,
    /// The same on the host.
    host: Host,
}

/// A step on the host, of x, a, b, to the last bit; of a function, of x and c, up to its error.
#[derive(Clone, Copy)]
enum Host {
    F32(fn(f32, [f32; 2]) -> f32),
    F64(fn(f64, [f64; 2]) -> f64),
    I32(fn(i32, [i32; 2]) -> i32),
    I64(fn(i64, [i64; 2]) -> i64),
    Function(fn(f64, f64) -> f64),
}

/// 1 − 2⁻¹⁶ and 2⁻¹⁷: values stay in [−1, 1] on their way to ½, and after 16384 steps still tell where they began.
const FLOATS: [f64; 2] = [1.0 - 1.0 / 65_536.0, 1.0 / 131_072.0];
/// Linear congruences (Knuth).
const INTEGERS: [i64; 2] = [6_364_136_223_846_793_005, 1_442_695_040_888_963_407];

/// All recurrences, the most telling first.
const OPS: [Op; 10] = [
    Op {
        name: "fma_f32",
        element: Scalar::F32,
        step: "fma(x, a, b)",
        operations: 2.0,
        steps: 16_384,
        host: Host::F32(|x, [a, b]| x.mul_add(a, b)),
    },
    Op {
        name: "fma_f64",
        element: Scalar::F64,
        step: "fma(x, a, b)",
        operations: 2.0,
        steps: 8192,
        host: Host::F64(|x, [a, b]| x.mul_add(a, b)),
    },
    Op {
        name: "mad_i32",
        element: Scalar::I32,
        step: "x * a + b",
        operations: 2.0,
        steps: 8192,
        host: Host::I32(|x, [a, b]| x.wrapping_mul(a).wrapping_add(b)),
    },
    Op {
        name: "rsqrt_f32",
        element: Scalar::F32,
        step: "rsqrt(x + c)",
        operations: 1.0,
        steps: 2048,
        host: Host::Function(|x, c| 1.0 / (x + c).sqrt()),
    },
    Op {
        name: "exp_f32",
        element: Scalar::F32,
        step: "exp(-x - c)",
        operations: 1.0,
        steps: 2048,
        host: Host::Function(|x, c| (-x - c).exp()),
    },
    Op {
        name: "sin_f32",
        element: Scalar::F32,
        step: "sin(x + c)",
        operations: 1.0,
        steps: 2048,
        host: Host::Function(|x, c| (x + c).sin()),
    },
    Op { name: "add_f32", element: Scalar::F32, step: "x + b", operations: 1.0, steps: 16_384, host: Host::F32(|x, [_, b]| x + b) },
    Op {
        name: "round_f16",
        element: Scalar::F16,
        step: "fma(x, a, b)",
        operations: 2.0,
        steps: 4096,
        host: Host::F32(|x, [a, b]| f16::from_f32(x.mul_add(a, b)).to_f32()),
    },
    Op {
        name: "round_bf16",
        element: Scalar::Bf16,
        step: "fma(x, a, b)",
        operations: 2.0,
        steps: 4096,
        host: Host::F32(|x, [a, b]| bf16::from_f32(x.mul_add(a, b)).to_f32()),
    },
    Op {
        name: "mad_i64",
        element: Scalar::I64,
        step: "x * a + b",
        operations: 2.0,
        steps: 2048,
        host: Host::I64(|x, [a, b]| x.wrapping_mul(a).wrapping_add(b)),
    },
];

/// How a device is filled.
#[derive(Clone, Copy, PartialEq)]
struct Load {
    /// Warps on each multiprocessor.
    warps: u32,
    /// Independent chains of a thread, or accumulators of a warp.
    chains: u32,
}

impl Load {
    /// Threads of a block, and blocks on a multiprocessor.
    fn block(self) -> (u32, u32) {
        let threads = BLOCK.min(self.warps * WARP);
        (threads, self.warps * WARP / threads)
    }

    /// Whether all its warps fit on a multiprocessor together, each thread with so many registers.
    fn fits(self, registers: u32) -> bool {
        self.warps * WARP * registers <= REGISTERS
    }
}

/// First the load that comes closest to the peak, then the sweeps.
fn loads(scale: Scale) -> Vec<Load> {
    if scale == Scale::Tiny {
        return [(1, 1), (2, 8), (8, 2)].map(|(warps, chains)| Load { warps, chains }).into();
    }
    let best = Load { warps: 32, chains: 4 };
    let mut loads = vec![best];
    for warps in [64, 16, 8, 4, 2, 1, 32] {
        loads.extend([4, 1, 8, 2].map(|chains| Load { warps, chains }).into_iter().filter(|load| *load != best));
    }
    loads
}

/// Where the whole sweep is not worth its time: occupancy with four chains, parallelism with 16 warps.
fn is_essential(load: Load) -> bool {
    (load.chains == 4 && [4, 16, 32, 64].contains(&load.warps)) || load.warps == 16
}

fn plan(context: &Context) -> Plan {
    let (scale, seed, units) = (context.scale, context.seed, context.units());
    let sweep = move |op: Op| op.name.starts_with("fma") || scale == Scale::Tiny;
    let all = loads(scale).into_iter().flat_map(move |load| OPS.into_iter().map(move |op| (op, load)));
    let chosen = all.filter(move |&(op, load)| load.fits(op.registers(load.chains)) && (sweep(op) || is_essential(load)));
    Plan::list(chosen.map(move |(op, load)| op.measurement(load, units, scale, seed)))
}

impl Op {
    /// Constants a and b of a floating-point type. Where so few bits would round [`FLOATS`] away, a step takes one unit of the last
    /// place off: 1024 steps of `f16`, or 128 of `bf16`, halve a value, far from the smallest after all of them.
    fn floats(&self) -> [f64; 2] {
        match self.element {
            Scalar::F16 => [1.0 - 1.0 / 2048.0, 0.0],
            Scalar::Bf16 => [1.0 - 1.0 / 256.0, 0.0],
            _ => FLOATS,
        }
    }

    /// Constants a and b as they lie in memory.
    fn constants(&self) -> Vec<u8> {
        let floats = self.floats();
        match self.element {
            Scalar::F64 => floats.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Scalar::I32 => INTEGERS.iter().flat_map(|v| (*v as i32).to_le_bytes()).collect(),
            Scalar::I64 => INTEGERS.iter().flat_map(|v| v.to_le_bytes()).collect(),
            _ => floats.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
        }
    }

    fn is_function(&self) -> bool {
        matches!(self.host, Host::Function(_))
    }

    /// Registers of a thread, about: those of the chains, and a dozen more (a function's own included).
    fn registers(&self, chains: u32) -> u32 {
        let words = self.element.bytes().div_ceil(4) * if self.is_function() { 2 } else { 1 };
        chains * words + if self.is_function() { 16 } else { 12 }
    }

    /// The text of its Program. Chain j of thread t starts and ends at element j·threads + t.
    fn program(&self, load: Load, blocks: u32, steps: u32) -> String {
        let (threads, _) = load.block();
        let Load { chains, .. } = load;
        let all = threads * blocks;
        let (element, constant) = (self.element.name(), self.element.widened().name());
        let mut text = format!(
            "program {} {{\n  read buffer k: {constant}[2]\n  read buffer start: {element}[{chains}, {all}]\n  \
             write buffer end: {element}[{chains}, {all}]\n  groups g = {blocks}\n  lanes l = {threads}\n  {{\n    \
             let t = g * {threads} + l\n    let a = k[0]\n    let b = k[1]\n",
            self.name
        );
        for j in 0..chains {
            // A function's argument stays between ½ and 1 beside its chain's value.
            let start = format!("start[{j}, t]");
            let start = if self.is_function() { format!("fma({start}, 0.25, 0.75)") } else { start };
            let _ = writeln!(text, "    let c{j} = {start}\n    var x{j}: {element} = c{j}");
        }
        let _ = writeln!(text, "    for i in 0..{} unroll none {{", steps / WRITTEN);
        for _ in 0..WRITTEN {
            for j in 0..chains {
                let _ = writeln!(text, "      x{j} = {}", self.of_chain(j));
            }
        }
        text.push_str("    }\n");
        for j in 0..chains {
            let _ = writeln!(text, "    end[{j}, t] = x{j}");
        }
        text + "  }\n}\n"
    }

    /// A step with the names of a chain.
    fn of_chain(&self, j: u32) -> String {
        let words = self.step.split_inclusive(|c: char| !c.is_alphanumeric());
        let named = |word: &str| match word.as_bytes() {
            [b'x' | b'c', rest @ ..] if rest.len() <= 1 && !rest.iter().any(u8::is_ascii_alphanumeric) => {
                format!("{}{j}{}", &word[..1], &word[1..])
            }
            _ => word.to_owned(),
        };
        words.map(named).collect()
    }

    fn measurement(self, load: Load, units: u32, scale: Scale, seed: u64) -> Measurement {
        let (threads, per_unit) = load.block();
        let blocks = per_unit * units;
        let steps = if scale != Scale::Tiny { self.steps } else { 2 * WRITTEN };
        let all = u64::from(threads) * u64::from(blocks);
        let size = u64::from(self.element.bytes());
        let bytes = all * u64::from(load.chains) * size;
        let constants = self.constants();
        let memory = vec![
            memory(constants.len() as u64, Init::Data(constants)),
            memory(bytes, Init::Random { element: self.element, seed }),
            memory(bytes, Init::Poison),
        ];
        let chosen = sample(all, seed);
        let elements: Vec<u64> = (0..u64::from(load.chains)).flat_map(|j| chosen.iter().map(move |t| j * all + t)).collect();
        let peek = vec![Peek { memory: 2, offsets: elements.iter().map(|e| e * size).collect(), bytes: self.element.bytes() }];
        let each = (all * u64::from(load.chains)) as f64 * f64::from(steps);
        Measurement {
            name: format!("{} {} warps {} chains", self.name, load.warps, load.chains),
            params: parameters(self.name, load, units),
            job: job(&self.program(load, blocks, steps), memory, peek, scale),
            launch: 0,
            amounts: Amounts { operations: each * self.operations, steps: steps.into(), ..Amounts::default() },
            check: Box::new(move |result| {
                let found = &peeked(result, elements.len() * size as usize)?.0;
                for (&element, found) in elements.iter().zip(found.chunks_exact(size as usize)) {
                    self.compare(random(seed, element), steps, found).map_err(|what| format!("end[{element}]: {what}"))?;
                }
                Ok(())
            }),
        }
    }

    /// Compares one chain's end with the host's, given the random number that it started from.
    fn compare(&self, start: f64, steps: u32, found: &[u8]) -> Result<(), String> {
        let integer = start * f64::from(1 << 20);
        let exact: Vec<u8> = match self.host {
            Host::F32(step) => {
                let constants = self.floats().map(|v| v as f32);
                let start = match self.element {
                    Scalar::F16 => f16::from_f64(start).to_f32(),
                    Scalar::Bf16 => bf16::from_f64(start).to_f32(),
                    _ => start as f32,
                };
                let end = (0..steps).fold(start, |x, _| step(x, constants));
                match self.element {
                    Scalar::F16 => f16::from_f32(end).to_le_bytes().into(),
                    Scalar::Bf16 => bf16::from_f32(end).to_le_bytes().into(),
                    _ => end.to_le_bytes().into(),
                }
            }
            Host::F64(step) => (0..steps).fold(start, |x, _| step(x, FLOATS)).to_le_bytes().into(),
            Host::I32(step) => (0..steps).fold(integer as i32, |x, _| step(x, INTEGERS.map(|v| v as i32))).to_le_bytes().into(),
            Host::I64(step) => (0..steps).fold(integer as i64, |x, _| step(x, INTEGERS)).to_le_bytes().into(),
            Host::Function(step) => {
                let c = start.mul_add(0.25, 0.75);
                let end = (0..steps).fold(c, |x, _| step(x, c));
                let found = found.try_into().map(f32::from_le_bytes).map_or(f64::NAN, f64::from);
                // A function is off by at most 4 units in the last place (OpenCL's sin; CUDA's are better), each step keeps less
                // than 3/4 of what was there before: 16 in all. Values are at most 1; twice that.
                let tolerance = 32.0 * f64::from(f32::EPSILON) / 2.0;
                return if (found - end).abs() <= tolerance {
                    Ok(())
                } else {
                    Err(format!("{found}, not {end} (tolerance {tolerance:e})"))
                };
            }
        };
        if exact == found { Ok(()) } else { Err(format!("bytes {found:x?}, not {exact:x?}")) }
    }
}

/// A buffer with guards around it.
fn memory(bytes: u64, init: Init) -> MemorySpec {
    MemorySpec { kind: MemoryKind::Buffer { bytes }, init, canaries: true }
}

/// A job of one launch, timed with caches as they are: the loop works on registers.
fn job(text: &str, memory: Vec<MemorySpec>, peek: Vec<Peek>, scale: Scale) -> Job {
    Job {
        programs: vec![program(text, &[]).into()],
        launches: vec![LaunchSpec { program: 0, args: (0..memory.len()).collect(), sizes: vec![] }],
        memory,
        read: vec![],
        peek,
        timing: Some(TimingSpec::runs(if scale != Scale::Tiny { 5 } else { 1 })),
    }
}

/// What was peeked, where all of it came back and nothing else was touched.
fn peeked(result: &JobResult, bytes: usize) -> Result<&warpsight_run::Contents, String> {
    if let Some(memory) = result.damaged.first() {
        return Err(format!("memory beside buffer {memory} was overwritten"));
    }
    match &result.peeked[..] {
        [data] if data.0.len() == bytes => Ok(data),
        _ => Err("not all results came back".into()),
    }
}

/// The first and the last of so many, and some between.
fn sample(count: u64, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let between = (2..SAMPLES).map(|_| rng.u64(0..count));
    let mut chosen: Vec<u64> = [0, count - 1].into_iter().chain(between).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn parameters(op: &str, load: Load, units: u32) -> Parameters {
    let (threads, per_unit) = load.block();
    let numbers = [("warps_per_unit", load.warps), ("chains", load.chains), ("threads", threads), (ONE_WAVE, per_unit), ("units", units)];
    let words = [("op".to_owned(), Parameter::Word(op.to_owned()))];
    words.into_iter().chain(numbers.map(|(name, n)| (name.to_owned(), Parameter::Int(n.into())))).collect()
}
