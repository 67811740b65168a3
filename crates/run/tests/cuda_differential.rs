//! Programs emitted as CUDA C++ and run on the stand-in device give the interpreter's bits.
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
            ParamKind::Image { width, height, access, border, format } => {
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
                Scalar::F16 | Scalar::Bf16 => (0..count).flat_map(|_| (rng.u16(..) & 0xbbff).to_le_bytes()).collect(),
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

#[test]
fn random_expressions_equal_the_interpreter() {
    alone("random_expressions_equal_the_interpreter", [&[]], |d| {
        // SEEDS=1000 looks further. Kernels share one prelude and one call of the compiler by tens.
        let seeds: u64 = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
        let seeds: Vec<u64> = (0..seeds).collect();
        for batch in seeds.chunks(10) {
            let cases: Vec<_> = batch.iter().map(|seed| fuzz::expressions(&format!("fuzz{seed}"), *seed)).collect();
            let sources: Vec<CudaSource> = cases.iter().map(|case| cuda(&case.0).unwrap()).collect();
            let mut text = warpsight_emit::cuda::prelude::text(warpsight_emit::cuda::prelude::Part::ALL);
            sources.iter().for_each(|source| text += &source.kernel);
            let kernels = d.kernels(&text, &sources.iter().map(|source| &*source.entry).collect::<Vec<_>>());
            for ((program, data, outputs), (source, kernel)) in cases.into_iter().zip(sources.iter().zip(kernels)) {
                let mut oracle = Bindings { sizes: BTreeMap::new(), data };
                let device = run(&d, kernel, &program, source, &oracle);
                interpret(&program, &mut oracle).expect("a run without fault");
                for (n, scalar) in outputs.into_iter().enumerate() {
                    let at = fuzz::TYPES.len() + n;
                    let (device, oracle) = (fuzz::canonical(scalar, &device[at]), fuzz::canonical(scalar, &oracle.data[at]));
                    assert_eq!(device, oracle, "{}, out{n}: {}\n{}", program.name, scalar.name(), source.text());
                }
            }
        }
    });
}
