//! The other micro-benchmarks: many work-items, registers, streams.

use crate::shared::checked;
use std::collections::BTreeMap;
use std::fmt::Write;
use warpsight_ir::{Bindings, Checked};
use warpsight_sim::{Report, SimFault, Simulator};

/// Runs a Program whose size `steps` is the trips of its loop.
fn run(simulator: &Simulator, program: &Checked, data: &[usize], steps: u64) -> Result<Report, SimFault> {
    let sizes = BTreeMap::from([("steps".into(), steps as i64)]);
    let mut bindings = Bindings { sizes, data: data.iter().map(|&bytes| vec![0; bytes]).collect() };
    simulator.simulate(program, &mut bindings)
}

/// Seconds of a trip once everything is warm.
fn trip(simulator: &Simulator, program: &Checked, data: &[usize]) -> Result<f64, SimFault> {
    let time = |steps| run(simulator, program, data, steps).map(|report| report.time.0);
    Ok((time(192)? - time(64)?) / 128.0)
}

/// Seconds of a trip in which each of `lanes` work-items of a group fetches the same texel again: along x or along y.
///
/// # Errors
/// What the simulator refuses.
pub fn fetches(simulator: &Simulator, lanes: u32, along_y: bool) -> Result<f64, SimFault> {
    let (extent, at) = if along_y { (format!("1, {lanes}"), "0, l + at") } else { (format!("{lanes}, 1"), "l + at, 0") };
    let program = checked(&format!(
        "program fetches {{
          size steps in 1..=1048576
          read image a: rgba32i[{extent}]
          write buffer end: i32[{lanes}]
          lanes l = {lanes}
          {{
            var at: i32 = 0
            for n in 0..steps unroll none {{
              let texel = a@[{at}]
              at = texel.[0..1]
            }}
            end[l] = at
          }}
        }}"
    ));
    trip(simulator, &program, &[16 * lanes as usize, 4 * lanes as usize])
}

/// Work-items along x or y that one cache serves: those before the steepest rise of time, if it rises by more than a tenth.
///
/// # Errors
/// What the simulator refuses.
pub fn capacity(simulator: &Simulator, along_y: bool) -> Result<Option<u32>, SimFault> {
    let most = simulator.silicon().group_size().min(256);
    let times: Vec<f64> = (1..=most).map(|lanes| fetches(simulator, lanes, along_y)).collect::<Result<_, _>>()?;
    let rises = (1..).zip(times.windows(2)).map(|(lanes, pair)| (lanes, pair[1] / pair[0]));
    let steepest = rises.fold((0, 1.1), |best, rise| if rise.1 > best.1 { rise } else { best });
    Ok((steepest.0 > 0).then_some(steepest.0))
}

/// Seconds of a trip of `groups` groups of one work-item, each of which multiplies so many values in a chain.
///
/// # Errors
/// What the simulator refuses.
pub fn registers(simulator: &Simulator, values: u32, groups: u32) -> Result<f64, SimFault> {
    let mut body = String::new();
    // Writing to a text does not fail.
    for value in 0..values {
        _ = writeln!(body, "var r{value}: f32 = a[{value}]");
    }
    _ = writeln!(body, "for n in 0..steps unroll none {{");
    for value in 0..values {
        _ = writeln!(body, "r{value} = r{value} * r{}", (value + values - 1) % values);
    }
    _ = writeln!(body, "}}");
    for value in 0..values {
        _ = writeln!(body, "end[g * {values} + {value}] = r{value}");
    }
    let program = checked(&format!(
        "program registers {{
          size steps in 1..=1048576
          read buffer a: f32[{values}]
          write buffer end: f32[{groups} * {values}]
          groups g = {groups}
          lanes l = 1
          {{ {body} }}
        }}"
    ));
    trip(simulator, &program, &[4 * values as usize, 4 * (groups * values) as usize])
}

/// What a stream reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Texels of an image of one row.
    Texels,
    /// Vectors of four words of a buffer.
    Vectors,
    /// Vectors of four words of local memory.
    Local,
}

/// Bytes a second that many work-items read of `range` bytes, again and again; a power of two of at least 16.
///
/// # Errors
/// What the simulator refuses.
pub fn bandwidth(simulator: &Simulator, stream: Stream, range: u64) -> Result<f64, SimFault> {
    let silicon = simulator.silicon();
    let slots = range / 16;
    let lanes = silicon.group_size().min(256);
    // Small ranges are read often enough to hide how long a launch lasts, large ones wholly.
    let groups = (16 * silicon.core.count).max((slots / u64::from(lanes) / 16) as u32);
    let at = format!("(l + n * {lanes} + g * 16 * {lanes}) & {}", slots - 1);
    let (declared, before, load) = match stream {
        Stream::Texels => (format!("read image1d a: rgba32f[{slots}]"), String::new(), format!("a@[{at}]")),
        Stream::Vectors => (format!("read buffer a: f32[{}]", slots * 4), String::new(), format!("a[({at}) * 4 : 4]")),
        Stream::Local => (
            format!("read buffer a: f32[{}]\nlocal kept: f32[{}]", slots * 4, slots * 4),
            format!(
                "for i in 0..{} {{ kept[min(i * {lanes} + l, {}) * 4] = 0.0 }}\nbarrier group local",
                slots.div_ceil(lanes.into()),
                slots - 1
            ),
            format!("kept[({at}) * 4 : 4]"),
        ),
    };
    let program = checked(&format!(
        "program stream {{
          size steps in 1..=1048576
          {declared}
          write buffer end: f32[{groups}, {}]
          groups g = {groups}
          lanes l = {lanes}
          {{
            {before}
            var sum: f32x4 = splat4(0.0)
            for n in 0..steps unroll 8 {{ sum = sum + {load} }}
            end[g, l * 4] = sum
          }}
        }}",
        4 * lanes
    ));
    let read = |steps: u64| 16.0 * f64::from(lanes) * f64::from(groups) * steps as f64;
    let data = [range as usize, 16 * (lanes * groups) as usize];
    let steps = 16;
    let report = run(simulator, &program, &data, steps)?;
    Ok(read(steps) / (report.time.0 - silicon.launch.overhead))
}

/// Every lane of a wave walks through an image of 64 texels from its own place on, so many steps.
///
/// # Errors
/// What the simulator refuses.
pub fn walk(simulator: &Simulator, steps: u64) -> Result<Report, SimFault> {
    const WIDTH: u32 = 64;
    let lanes = simulator.silicon().core.wave;
    let program = checked(&format!(
        "program walk {{
          size steps in 1..=1048576
          read image1d ring: rgba32i[{WIDTH}]
          write buffer end: i32[{lanes}]
          lanes l = {lanes}
          {{
            var at: i32 = l % 64
            for n in 0..steps unroll none {{
              let texel = ring@[at]
              at = texel.[0..1]
            }}
            end[l] = at
          }}
        }}"
    ));
    let data = (0..WIDTH).flat_map(|slot| [(slot + 7) % WIDTH, 0, 0, 0]).flat_map(u32::to_le_bytes).collect();
    let sizes = BTreeMap::from([("steps".into(), steps as i64)]);
    simulator.simulate(&program, &mut Bindings { sizes, data: vec![data, vec![0; 4 * lanes as usize]] })
}

/// Seconds of a trip of dependent arithmetic by so many work-items of one group.
///
/// # Errors
/// What the simulator refuses.
pub fn arithmetic(simulator: &Simulator, lanes: u32) -> Result<f64, SimFault> {
    let links = "s = s * s + 0.5\n".repeat(16);
    let program = checked(&format!(
        "program arithmetic {{
          size steps in 1..=1048576
          write buffer end: f32[{lanes}]
          lanes l = {lanes}
          {{
            var s: f32 = 0.25
            for n in 0..steps unroll none {{ {links} }}
            end[l] = s
          }}
        }}"
    ));
    trip(simulator, &program, &[4 * lanes as usize])
}

/// Floating-point operations a second of independent multiply-adds on vectors of so many components, on every core.
///
/// # Errors
/// What the simulator refuses.
pub fn flops(simulator: &Simulator, components: u32) -> Result<f64, SimFault> {
    const CHAINS: u32 = 32;
    let (wave, cores) = (simulator.silicon().core.wave, simulator.silicon().core.count);
    let groups = cores * 240;
    let (ty, splat) = match components {
        1 => ("f32".to_owned(), "1.0".to_owned()),
        n => (format!("f32x{n}"), format!("splat{n}(1.0)")),
    };
    let vectors = (CHAINS / components).max(2);
    let names = || (0..vectors).map(|n| format!("s{n}"));
    let declared: String = names().map(|s| format!("var {s}: {ty} = x\n")).collect();
    let links: String = (0..4).flat_map(|_| names()).map(|s| format!("{s} = fma({s}, x, {s})\n")).collect();
    let first = if components > 1 { ".[0..1]" } else { "" };
    let sum = names().map(|s| format!("{s}{first}")).collect::<Vec<_>>().join(" + ");
    let program = checked(&format!(
        "program flops {{
          size steps in 1..=1048576
          write buffer end: f32[{groups}, {wave}]
          groups g = {groups}
          lanes l = {wave}
          {{
            let x = {splat}
            {declared}
            for n in 0..steps unroll none {{ {links} }}
            end[g, l] = {sum}
          }}
        }}"
    ));
    let report = run(simulator, &program, &[4 * (groups * wave) as usize], 32)?;
    let work = 2.0 * f64::from(4 * vectors * components) * 32.0 * f64::from(groups * wave);
    Ok(work / (report.time.0 - simulator.silicon().launch.overhead))
}

/// Seconds of a trip in which each of `lanes` work-items of a group reads a word, `stride` bytes from the one before, of other rows each trip.
///
/// # Errors
/// What the simulator refuses.
pub fn strided(simulator: &Simulator, lanes: u32, stride: u32) -> Result<f64, SimFault> {
    // A tenth of the second level: all is found there.
    let words = (lanes * stride / 4).next_power_of_two().max(1024);
    let program = checked(&format!(
        "program strided {{
          size steps in 1..=1048576
          read buffer a: i32[{words}]
          write buffer end: i32[{lanes}]
          lanes l = {lanes}
          {{
            var at: i32 = 0
            for n in 0..steps unroll none {{ at = a[(l * {} + at) & {}] }}
            end[l] = at
          }}
        }}",
        stride / 4,
        words - 1
    ));
    trip(simulator, &program, &[4 * words as usize, 4 * lanes as usize])
}

/// Seconds of a trip in which a full group reads vectors of so many bytes.
///
/// # Errors
/// What the simulator refuses.
pub fn vectors(simulator: &Simulator, bytes: u32) -> Result<f64, SimFault> {
    let width = bytes / 4;
    let lanes = simulator.silicon().group_size().min(1024);
    let (load, zero, first) = match width {
        1 => ("a[l + n]".to_owned(), "0.0".to_owned(), ""),
        w => (format!("a[l * {w} + n : {w}]"), format!("splat{w}(0.0)"), ".[0..1]"),
    };
    let ty = if width == 1 { "f32".to_owned() } else { format!("f32x{width}") };
    let words = lanes * width + 256;
    let program = checked(&format!(
        "program vectors {{
          size steps in 1..=256
          read buffer a: f32[{words}]
          write buffer end: f32[{lanes}]
          lanes l = {lanes}
          {{
            var sum: {ty} = {zero}
            for n in 0..steps unroll none {{ sum = sum + {load} }}
            end[l] = sum{first}
          }}
        }}"
    ));
    trip(simulator, &program, &[4 * words as usize, 4 * lanes as usize])
}

/// How many work-items of a group count up one after another when each takes a number.
///
/// # Errors
/// What the simulator refuses.
pub fn ascending(simulator: &Simulator, lanes: u32) -> Result<u32, SimFault> {
    let program = checked(&format!(
        "program ascending {{
          read write buffer next: i32[1]
          write buffer taken: i32[{lanes}]
          lanes l = {lanes}
          {{
            let own = atomic add next[0] with 1 relaxed device
            taken[l] = own
          }}
        }}"
    ));
    let mut bindings = Bindings { sizes: BTreeMap::new(), data: vec![vec![0; 4], vec![0; 4 * lanes as usize]] };
    simulator.simulate(&program, &mut bindings)?;
    let taken: Vec<u32> = bindings.data[1].as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    Ok(1 + taken.windows(2).take_while(|pair| pair[0] < pair[1]).count() as u32)
}
