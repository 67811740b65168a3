//! Programs emitted as CUDA C++ and run on the stand-in device give the interpreter's bits; transcendental functions, all but the last.
#![expect(unsafe_code, reason = "calls the stand-in through its C interface")]

#[path = "../../emit/tests/common/cuda_programs.rs"]
#[allow(dead_code)]
mod cuda_programs;
#[path = "fake_cuda/driver.rs"]
mod driver;
#[path = "fake_cuda/mod.rs"]
mod fake_cuda;
#[path = "../../emit/tests/common/fuzz.rs"]
mod fuzz;
#[path = "../../emit/tests/common/programs.rs"]
#[allow(dead_code)]
mod programs;

use driver::{Driver, Handle, alone};
use programs::checked;
use std::any::Any;
use std::collections::BTreeMap;
use warpsight_emit::{CudaSource, cuda};
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_ir::interpret::interpret;
use warpsight_ir::*;

enum Memory {
    Buffer(u64),
    Image(Handle, [usize; 2]),
}

/// The bytes of every parameter after a launch of the Program's kernel.
fn run(d: &Driver, kernel: Handle, program: &Checked, source: &CudaSource, bindings: &Bindings) -> Vec<Vec<u8>> {
    let mut args: Vec<Box<dyn Any>> = vec![];
    let mut memory = vec![];
    for (param, data) in program.params.iter().zip(&bindings.data) {
        match &param.kind {
            ParamKind::Image { width, height, access, border, format, .. } => {
                assert_eq!(*format, ImageFormat::Rgba32F);
                let [width, height] = [width, height].map(|e| e.as_int().unwrap() as usize);
                let array = d.array(&bytes_f32(data), width, height);
                let mode = if *border == Border::Zero { 3 } else { 1 };
                args.push(Box::new(if *access == Access::Read { d.texture(array, mode) } else { d.surface(array) }));
                memory.push(Memory::Image(array, [width, height]));
            }
            _ => {
                let buffer = d.upload(data);
                args.push(Box::new(buffer));
                memory.push(Memory::Buffer(buffer));
            }
        }
    }
    program.sizes.iter().for_each(|size| args.push(Box::new(bindings.sizes[&size.name] as i32)));
    let (global, local) = source.ndrange(&bindings.sizes).unwrap();
    let blocks = [0, 1, 2].map(|i| (global[i] / local[i]) as u32);
    assert_eq!(d.launch(kernel, blocks, local.map(|n| n as u32), 0, &args), 0, "{}", program.name);
    assert_eq!(d.synchronize(), 0, "{}", source.text());
    let read = |(memory, data): (Memory, &Vec<u8>)| match memory {
        Memory::Buffer(at) => d.download(at, data.len()),
        Memory::Image(array, [width, height]) => f32_bytes(&d.download_array(array, width, height)),
    };
    memory.into_iter().zip(&bindings.data).map(read).collect()
}

/// The data after a run on the device, and after interpretation.
fn both(d: &Driver, program: Program, bindings: Bindings) -> [Vec<Vec<u8>>; 2] {
    let program = checked(program);
    let source = cuda(&program).expect("a supported Program");
    let device = run(d, d.kernel(&source.text(), &source.entry), &program, &source, &bindings);
    let mut oracle = bindings;
    interpret(&program, &mut oracle).expect("a run without fault");
    [device, oracle.data]
}

/// Data for every parameter: floats from -1 to 1, finite halves, small integers.
fn data(program: &Program, rng: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let extent = |e: &Expr| e.as_int().unwrap() as usize;
    let floats = |count: usize, rng: &mut fastrand::Rng| f32_bytes(&(0..count).map(|_| rng.f32() * 2.0 - 1.0).collect::<Vec<_>>());
    let fill = |param: &Param, rng: &mut fastrand::Rng| match &param.kind {
        ParamKind::Image { width, height, .. } => floats(4 * extent(width) * extent(height), rng),
        ParamKind::Buffer { element, dims, .. } => {
            let count: usize = dims.iter().map(extent).product();
            match element {
                Scalar::F32 => floats(count, rng),
                Scalar::F16 | Scalar::Bf16 | Scalar::Half => (0..count).flat_map(|_| (rng.u16(..) & 0xbbff).to_le_bytes()).collect(),
                Scalar::F64 => (0..count).flat_map(|_| rng.f64().to_le_bytes()).collect(),
                Scalar::I32 | Scalar::U32 => (0..count).flat_map(|_| rng.i32(0..20).to_le_bytes()).collect(),
                Scalar::I64 | Scalar::U64 => (0..count).flat_map(|_| rng.i64(0..20).to_le_bytes()).collect(),
                Scalar::Bool => (0..count).map(|_| rng.u8(0..2)).collect(),
            }
        }
        other => panic!("no data for {other:?}"),
    };
    program.params.iter().map(|param| fill(param, rng)).collect()
}

const ORDERS: [&[(&str, &str)]; 2] = [&[], &[("WS_FAKE_ORDER", "reverse")]];

#[test]
fn programs_equal_the_interpreter() {
    alone("programs_equal_the_interpreter", ORDERS, |d| {
        let mut rng = fastrand::Rng::with_seed(21);
        let programs = [
            programs::convolution(),
            programs::image_blur(),
            programs::tiled_matmul(),
            programs::half_storage(),
            programs::half_arithmetic(),
            programs::many_axes(),
            cuda_programs::tile_product("halves", Scalar::F16, [16, 16]),
            cuda_programs::tile_product("brains", Scalar::Bf16, [32, 8]),
            cuda_programs::store_policies(),
            cuda_programs::wide_vectors(),
        ];
        for program in programs {
            let name = program.name.clone();
            let bindings = Bindings { sizes: BTreeMap::new(), data: data(&program, &mut rng) };
            let [device, oracle] = both(&d, program, bindings);
            assert!(device == oracle, "{name}");
        }
    });
}

#[test]
fn sizes_borders_and_loops_equal_the_interpreter() {
    alone("sizes_borders_and_loops_equal_the_interpreter", ORDERS, |d| {
        let mut rng = fastrand::Rng::with_seed(22);
        for (rows, columns) in [(1, 1), (3, 37), (5, 3), (4, 64)] {
            let sizes = BTreeMap::from([("rows".into(), rows as i64), ("columns".into(), columns as i64)]);
            let x: Vec<f32> = (0..rows * columns).map(|_| rng.f32()).collect();
            let data = vec![f32_bytes(&x), f32_bytes(&vec![f32::NAN; rows * columns])];
            let [device, oracle] = both(&d, programs::symbolic_shift(), Bindings { sizes, data });
            assert_eq!(device, oracle, "{rows} x {columns}");
        }
        let ints = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let x: Vec<i32> = (0..16).map(|_| rng.i32(0..20)).collect();
        let flags: Vec<i32> = (0..8).map(|i| x[i + rng.usize(0..2)]).collect();
        let data = vec![ints(&x), ints(&flags), vec![0; 32]];
        let [device, oracle] = both(&d, programs::control_flow(), Bindings { sizes: BTreeMap::new(), data });
        assert_eq!(device, oracle);
    });
}

#[test]
fn atomics_count_everything_once() {
    alone("atomics_count_everything_once", ORDERS, |d| {
        let mut rng = fastrand::Rng::with_seed(14);
        let keys: Vec<i32> = (0..96).map(|_| rng.i32(0..1000)).collect();
        let ints = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let data = vec![ints(&keys), vec![0; 32], vec![0; 4], ints(&[-1, 0]), vec![0; 96 * 4]];
        let [mut device, mut oracle] = both(&d, programs::atomics(), Bindings { sizes: BTreeMap::new(), data });
        // Who gets which ticket depends on the order; that each is given once does not.
        for tickets in [&mut device[4], &mut oracle[4]] {
            let mut sorted: Vec<[u8; 4]> = tickets.as_chunks::<4>().0.to_vec();
            sorted.sort_unstable_by_key(|t| i32::from_le_bytes(*t));
            *tickets = sorted.concat();
        }
        assert_eq!(device, oracle);
    });
}

/// Functions may differ by this, relative to the value: two units in the last place. The C library's are within one, and so is the
/// interpreter's reference.
const TOLERANCE: [f64; 2] = [2.0 * f32::EPSILON as f64, 2.0 * f64::EPSILON];

#[track_caller]
fn near(device: f64, oracle: f64, tolerance: f64) {
    let same = device == oracle || device.is_nan() && oracle.is_nan();
    assert!(same || (device - oracle).abs() <= tolerance * oracle.abs(), "{device} is not {oracle}");
}

fn wide(bytes: &[u8]) -> Vec<f64> {
    bytes_f32(bytes).into_iter().map(f64::from).collect()
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

#[test]
fn special_values_are_those_of_the_interpreter() {
    alone("special_values_are_those_of_the_interpreter", ORDERS, |d| {
        let special =
            [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e9, -3e9, 2e19, -0.7, 1.5, -7.25, 0.5, 1e-3, 40.0, -1e10, 2.5, 1.0, 3.0];
        let data = vec![f32_bytes(&special), vec![0; 64], vec![0; 64], vec![0; 32], vec![0; 32]];
        let [device, oracle] = both(&d, cuda_programs::arithmetic(), Bindings { sizes: BTreeMap::new(), data });
        // Sums of functions; no term cancels another.
        wide(&device[1]).into_iter().zip(wide(&oracle[1])).for_each(|(device, oracle)| near(device, oracle, 4.0 * TOLERANCE[0]));
        assert_eq!(device[2..4], oracle[2..4]);
        doubles(&device[4]).into_iter().zip(doubles(&oracle[4])).for_each(|(device, oracle)| near(device, oracle, 0.0));
    });
}

#[test]
fn minimum_and_maximum_keep_what_is_not_a_number() {
    alone("minimum_and_maximum_keep_what_is_not_a_number", ORDERS, |d| {
        let (count, data) = programs::extrema_data();
        let [device, oracle] = both(&d, programs::extrema(count), Bindings { sizes: BTreeMap::new(), data });
        for (n, (device, oracle)) in device.iter().zip(&oracle).enumerate() {
            let scalar = if n < 8 { Scalar::F32 } else { Scalar::F64 };
            assert_eq!(fuzz::canonical(scalar, device), fuzz::canonical(scalar, oracle), "parameter {n}");
        }
    });
}

/// Every function of every element.
fn functions(name: &str, element: Scalar, functions: &[UnaryOp], count: i64) -> Program {
    let results = (0..).zip(functions);
    let results = results.map(|(i, &f)| programs::store("y", &[Expr::int(i), Expr::var("l")], Expr::unary(f, Expr::var("v"))));
    let body = [programs::bind("v", programs::load("x", &[Expr::var("l")], 1))].into_iter().chain(results).collect();
    let params = vec![programs::input("x", element, &[count]), programs::output("y", element, &[functions.len() as i64, count])];
    programs::program(name, params, programs::launch(&[], &[("l", count as u32)]), body)
}

#[test]
fn functions_are_those_of_the_interpreter() {
    alone("functions_are_those_of_the_interpreter", [&[]], |d| {
        let (count, mut rng) = (256, fastrand::Rng::with_seed(23));
        // Those of all numbers, and those of positive ones.
        let all = [UnaryOp::Exp, UnaryOp::Tanh, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Erf];
        let positive = [UnaryOp::Log, UnaryOp::Sqrt, UnaryOp::Rsqrt];
        for (name, of, low) in [("all", &all[..], -8.0), ("positive", &positive[..], 0.0)] {
            let x: Vec<f64> = (0..count).map(|_| low + (8.0 - low) * (1.0 - rng.f64())).collect();
            let zeros = |bytes: usize| vec![0; bytes * of.len() * count];
            let data = vec![f32_bytes(&x.iter().map(|x| *x as f32).collect::<Vec<_>>()), zeros(4)];
            let program = functions(&format!("{name}_f32"), Scalar::F32, of, count as i64);
            let [single, single_oracle] = both(&d, program, Bindings { sizes: BTreeMap::new(), data });
            let data = vec![x.iter().flat_map(|x| x.to_le_bytes()).collect(), zeros(8)];
            let program = functions(&format!("{name}_f64"), Scalar::F64, of, count as i64);
            let [double, double_oracle] = both(&d, program, Bindings { sizes: BTreeMap::new(), data });
            let compared = [(wide(&single[1]), wide(&single_oracle[1])), (doubles(&double[1]), doubles(&double_oracle[1]))];
            for ((device, oracle), tolerance) in compared.into_iter().zip(TOLERANCE) {
                assert!(oracle.iter().all(|y| y.is_finite() && *y != 0.0));
                device.into_iter().zip(oracle).for_each(|(device, oracle)| near(device, oracle, tolerance));
            }
        }
    });
}

/// Accesses of several elements at once, at a place that is no multiple of their bytes, would fault on a GPU.
#[test]
fn wide_accesses_are_checked_for_alignment() {
    alone("wide_accesses_are_checked_for_alignment", [&[]], |d| {
        let program = checked(cuda_programs::wide_vectors());
        let source = cuda(&program).expect("a supported Program");
        let kernel = d.kernel(&source.text(), &source.entry);
        for (off, code) in [(0, 0), (4, 716)] {
            let buffer = || Box::new(d.upload(&[0u8; 16384]) + off) as Box<dyn Any>;
            let args: Vec<_> = program.params.iter().map(|_| buffer()).collect();
            assert_eq!((d.launch(kernel, [1; 3], [32, 1, 1], 0, &args), d.synchronize()), (0, code), "off by {off}");
        }
    });
}

#[test]
fn random_expressions_equal_the_interpreter() {
    alone("random_expressions_equal_the_interpreter", [&[]], |d| {
        // SEEDS=1000 looks further. Kernels share one prelude and one call of the compiler by tens.
        let seeds: u64 = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
        let seeds: Vec<u64> = (0..seeds).collect();
        for batch in seeds.chunks(10) {
            let cases: Vec<_> = batch.iter().map(|seed| fuzz::expressions(&format!("fuzz{seed}"), *seed, true)).collect();
            let sources: Vec<CudaSource> = cases.iter().map(|case| cuda(&case.0).unwrap()).collect();
            let mut text = warpsight_emit::cuda::prelude::text(warpsight_emit::cuda::prelude::Part::ALL);
            sources.iter().for_each(|source| text += &source.kernel);
            let kernels = d.kernels(&text, &sources.iter().map(|source| &*source.entry).collect::<Vec<_>>());
            for ((program, data, outputs), (source, kernel)) in cases.into_iter().zip(sources.iter().zip(kernels)) {
                let inputs = data.len() - outputs.len();
                let mut oracle = Bindings { sizes: BTreeMap::new(), data };
                let device = run(&d, kernel, &program, source, &oracle);
                interpret(&program, &mut oracle).expect("a run without fault");
                for (n, scalar) in outputs.into_iter().enumerate() {
                    let at = inputs + n;
                    let (device, oracle) = (fuzz::canonical(scalar, &device[at]), fuzz::canonical(scalar, &oracle.data[at]));
                    assert_eq!(device, oracle, "{}, out{n}: {}\n{}", program.name, scalar.name(), source.text());
                }
            }
        }
    });
}
