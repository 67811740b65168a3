//! Emitted CUDA kernels, compiled for the host and run one thread after the other, give what the interpreter gives.

mod common;

use common::cuda_programs::{arithmetic, store_policies, wide_vectors};
use common::programs::{self, *};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use warpsight_emit::{CUDA_HOST_OPTIONS, cuda};
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_ir::interpret::interpret;
use warpsight_ir::*;

/// A C++ program that runs the kernel on the files in its arguments.
fn harness(program: &Checked, bindings: &Bindings) -> String {
    let source = cuda(program).expect("a supported Program");
    let (global, local) = source.ndrange(&bindings.sizes).expect("sizes");
    let mut text = format!("#include \"serial.h\"\n{}\nint main(int, char** paths)\n{{\n", source.text());
    let mut args = Vec::new();
    let mut after = String::new();
    for (i, (param, data)) in program.params.iter().zip(&bindings.data).enumerate() {
        let _ = writeln!(text, "    char* m{i} = memory(paths[{}], {});", i + 1, data.len());
        let _ = writeln!(after, "    keep(paths[{}], m{i}, {});", i + 1, data.len());
        match &param.kind {
            ParamKind::Image { width, height, border, .. } => {
                let [width, height] = [width, height].map(|e| e.as_int().expect("a constant extent"));
                let clamp = i32::from(*border == Border::ClampToEdge);
                let _ = writeln!(text, "    Image i{i} = {{{width}, {height}, {clamp}, (float*)m{i}}};");
                args.push(format!("(unsigned long long)&i{i}"));
            }
            _ => args.push(format!("Pointer{{m{i}}}")),
        }
    }
    args.extend(program.sizes.iter().map(|size| bindings.sizes[&size.name].to_string()));
    for (id, count) in [("blockIdx", [0, 1, 2].map(|i| global[i] / local[i])), ("threadIdx", local)] {
        for (axis, count) in ["z", "y", "x"].into_iter().zip(count.into_iter().rev()) {
            let _ = writeln!(text, "    for ({id}.{axis} = 0; {id}.{axis} < {count}; ++{id}.{axis})");
        }
    }
    let _ = write!(text, "    {}({});\n{after}}}\n", source.entry, args.join(", "));
    text
}

/// The data after a run on the host, and after interpretation.
fn both(program: Program, data: Vec<Vec<u8>>, sizes: &[(&str, i64)]) -> Option<[Vec<Vec<u8>>; 2]> {
    let program = checked(program);
    let mut bindings = Bindings { sizes: sizes.iter().map(|(name, value)| ((*name).into(), *value)).collect::<BTreeMap<_, _>>(), data };
    if Command::new("g++").arg("--version").output().is_err() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no g++, and CI=true");
        eprintln!("skipped: no g++");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&*program.name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let (text, executable) = (folder.join("kernel.cpp"), folder.join("kernel"));
    std::fs::write(&text, harness(&program, &bindings)).expect("a file");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common");
    let mut compiler = Command::new("g++");
    compiler.args(CUDA_HOST_OPTIONS).args(["-O1", "-w", "-I"]).arg(include).arg(&text).arg("-o").arg(&executable);
    let output = compiler.output().expect("g++ runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let paths: Vec<_> = (0..bindings.data.len()).map(|i| folder.join(format!("m{i}"))).collect();
    paths.iter().zip(&bindings.data).for_each(|(path, data)| std::fs::write(path, data).expect("a file"));
    let output = Command::new(&executable).args(&paths).output().expect("the kernel runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let host = paths.iter().map(|path| std::fs::read(path).expect("a file")).collect();
    interpret(&program, &mut bindings).expect("a run without fault");
    Some([host, bindings.data])
}

fn floats(seed: u64, count: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    f32_bytes(&(0..count).map(|_| rng.f32() * 2.0 - 1.0).collect::<Vec<_>>())
}

/// 16-bit floats of moderate size: the high halves of `f32`s, which are bfloat16, or their like in half precision.
fn shorts(seed: u64, count: usize) -> Vec<u8> {
    floats(seed, count).as_chunks::<4>().0.iter().flat_map(|b| [b[2], b[3]]).collect()
}

#[track_caller]
fn equal(run: Option<[Vec<Vec<u8>>; 2]>) {
    if let Some([host, oracle]) = run {
        for (i, (host, oracle)) in host.iter().zip(&oracle).enumerate() {
            assert!(host == oracle, "parameter {i}:\n{host:?}\n{oracle:?}");
        }
    }
}

#[test]
fn buffers_and_guards() {
    equal(both(programs::convolution(), vec![floats(1, 360), floats(2, 108), floats(3, 4), floats(4, 480)], &[]));
    for (rows, columns) in [(3, 37), (1, 1), (2, 32)] {
        let count = (rows * columns) as usize;
        equal(both(programs::symbolic_shift(), vec![floats(5, count), floats(6, count)], &[("rows", rows), ("columns", columns)]));
    }
}

#[test]
fn axes_and_control_flow() {
    equal(both(programs::many_axes(), vec![vec![0; 4 * 864]], &[]));
    let mut rng = fastrand::Rng::with_seed(7);
    let ints = |rng: &mut fastrand::Rng, n: usize| (0..n).flat_map(|_| rng.i32(-20..20).to_le_bytes()).collect::<Vec<u8>>();
    for _ in 0..4 {
        let x = ints(&mut rng, 16);
        // Half of the exchanges find what they ask for.
        let mut flags = x[4..36].to_vec();
        flags[..16].copy_from_slice(&ints(&mut rng, 4));
        equal(both(programs::control_flow(), vec![x, flags, vec![0; 32]], &[]));
    }
}

#[test]
fn images() {
    equal(both(programs::image_blur(), vec![floats(8, 468), floats(9, 468), floats(10, 468)], &[]));
}

#[test]
fn storage_types_and_wide_accesses() {
    equal(both(programs::half_storage(), vec![shorts(11, 64), shorts(12, 2), vec![0; 128], vec![0; 128], vec![0; 64]], &[]));
    let doubles = (0..128).flat_map(|i| f64::from(i).sqrt().to_le_bytes()).collect();
    let data = vec![floats(13, 1024), vec![0; 8192], doubles, vec![0; 1024], vec![0; 256], shorts(14, 512), vec![0; 512]];
    equal(both(wide_vectors(), data, &[]));
    equal(both(store_policies(), vec![floats(15, 512), vec![0; 2048], vec![0; 2048], vec![0; 2048], vec![0; 1024]], &[]));
}

#[test]
fn numbers() {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e9, -3e9, 2e19, -0.7, 1.5, -7.25, 0.5, 1e-3, 40.0, -1e10, 2.5, 1.0, 3.0];
    let data = vec![f32_bytes(&special), vec![0; 64], vec![0; 64], vec![0; 32], vec![0; 32]];
    let Some([host, oracle]) = both(arithmetic(), data, &[]) else { return };
    // Functions may differ in the last bits; all else may not.
    for (host, oracle) in bytes_f32(&host[1]).into_iter().zip(bytes_f32(&oracle[1])) {
        let same = host == oracle || host.is_nan() && oracle.is_nan();
        assert!(same || (host - oracle).abs() <= 1e-6 * oracle.abs(), "{host} is not {oracle}");
    }
    assert_eq!(host[2..4], oracle[2..4]);
    let doubles = |bytes: &[u8]| bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect::<Vec<_>>();
    for (host, oracle) in doubles(&host[4]).into_iter().zip(doubles(&oracle[4])) {
        assert!(host == oracle || host.is_nan() && oracle.is_nan(), "{host} is not {oracle}");
    }
}
