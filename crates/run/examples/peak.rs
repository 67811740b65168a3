//! The peak of a device's multiply-adds in f32, what rates of kernels are held against: chains of vectors that wait for nothing but
//! themselves, in the best of a few shapes.
//!
//! `cargo run --release -p warpsight-run --example peak [DEVICE] [RUNS]`, by default opencl:0 and 9 timed passes: JSON with `flops` (per
//! second, by the fastest pass) and `cpu_flops` (per second of processor time, of devices that are CPUs), each of the shape that has most.

use std::fmt::Write;
use warpsight_ir::{Program, Scalar, text};
use warpsight_run::{Device, Init, Job, LaunchSpec, MemoryKind, MemorySpec, Options, TimingSpec, open};

/// Work-groups of one work-item each: enough for every core to be busy to the end.
const GROUPS: u64 = 64;
/// Steps of each chain.
const STEPS: u64 = 20_000;
/// Elements of a vector and chains of a work-item: results come four cycles late, and registers are 16 or 32.
const SHAPES: [(u64, u64); 4] = [(16, 12), (16, 8), (16, 24), (8, 12)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().unwrap_or_else(|| "opencl:0".to_owned());
    let runs = arguments.next().map_or(Ok(9), |n| n.parse())?;
    let mut device = open(&id, &Options { in_process: true, ..Options::default() })?;
    let (mut flops, mut cpu_flops) = (0.0_f64, None::<f64>);
    for (width, chains) in SHAPES {
        let (wall, cpu) = measure(&mut *device, (width, chains), runs)?;
        flops = flops.max(wall);
        cpu_flops = cpu.map(|cpu| cpu.max(cpu_flops.unwrap_or(0.0)));
    }
    let info = device.info();
    let cpu_flops = cpu_flops.filter(|_| info.is_cpu);
    println!("{}", serde_json::json!({"device": info.name, "flops": flops, "cpu_flops": cpu_flops, "source": info.clock}));
    Ok(())
}

/// Operations per second, and per second of processor time.
fn measure(device: &mut dyn Device, shape: (u64, u64), runs: u32) -> Result<(f64, Option<f64>), Box<dyn std::error::Error>> {
    let (width, chains) = shape;
    let memory = |elements: u64| MemorySpec {
        kind: MemoryKind::Buffer { bytes: 4 * elements },
        init: Init::Random { element: Scalar::F32, seed: 7 },
        canaries: false,
    };
    let job = Job {
        programs: vec![program(width, chains)?.into()],
        memory: vec![memory(width), memory(GROUPS * width)],
        launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: vec![] }],
        read: vec![],
        peek: vec![],
        timing: Some(TimingSpec::runs(runs)),
    };
    let result = device.run(&job)?;
    let operations = (2 * GROUPS * STEPS * chains * width) as f64;
    let fastest = result.timed.times[0].iter().map(|time| time.0).fold(f64::INFINITY, f64::min);
    Ok((operations / fastest, result.timed.cpu_time.map(|time| operations / time.0)))
}

fn program(width: u64, chains: u64) -> Result<Program, Box<dyn std::error::Error>> {
    let mut body = format!("let m = x[0 : {width}]\n");
    for chain in 0..chains {
        writeln!(body, "var a{chain}: f32x{width} = m * splat{width}({}.0)", chain + 1)?;
    }
    writeln!(body, "for i in 0..{STEPS} {{")?;
    for chain in 0..chains {
        writeln!(body, "a{chain} = fma(a{chain}, m, m)")?;
    }
    let sum: Vec<String> = (0..chains).map(|chain| format!("a{chain}")).collect();
    writeln!(body, "}}\ny[g, 0] = {}", sum.join(" + "))?;
    let text =
        format!("program peak {{ read buffer x: f32[{width}] write buffer y: f32[{GROUPS}, {width}] groups g = {GROUPS} {{ {body} }} }}");
    text::parse(&text).map_err(|error| format!("{error}\n{text}").into())
}
