//! CUDA C++ to machine code with NVRTC and `ptxas`, on machines without a GPU too.

// They hold more helpers than are needed here.
#[allow(dead_code)]
#[path = "../../emit/tests/common/cuda_programs.rs"]
mod cuda_programs;
#[allow(dead_code)]
#[path = "../../emit/tests/common/programs.rs"]
mod programs;

#[path = "common/toolkit.rs"]
mod compilers;

use compilers::toolkit;
use std::path::Path;
use warpsight_ir::{Checked, Scalar, text};
use warpsight_run::cuda::{Arch, Compiled, Toolkit, ToolkitError};

const ARCHS: [&str; 2] = ["sm_80", "sm_90a"];

fn arch(name: &str) -> Arch {
    name.parse().expect("an architecture")
}

fn compile(toolkit: &Toolkit, text: &str, kernel: &str, arch_name: &str) -> Compiled {
    toolkit.compile(text, kernel, arch(arch_name)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

const SHARED: &str = r#"
extern "C" __global__ void __launch_bounds__(128) rotate(const float* x, float* y, int n) {
    __shared__ float s[128];
    s[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 128 + threadIdx.x] = s[(threadIdx.x + n) & 127];
}
"#;

/// 64 values live through a loop, in two blocks of 1024 threads per multiprocessor: 65536 registers leave 32 for each thread.
const SPILLS: &str = r#"
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* x, float* y, int n) {
    float a[64];
    #pragma unroll
    for (int i = 0; i < 64; i++) a[i] = x[i * n + threadIdx.x];
    for (int j = 0; j < n; j++) {
        #pragma unroll
        for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 17) % 64] + x[j];
    }
    float sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < 64; i++) sum += a[i];
    y[blockIdx.x * 1024 + threadIdx.x] = sum;
}
"#;

#[test]
fn resources_are_told() {
    let Some(toolkit) = toolkit() else { return };
    for name in ARCHS {
        let compiled = compile(&toolkit, SHARED, "rotate", name);
        let r = compiled.resources.expect("ptxas speaks of the kernel");
        assert_eq!((r.shared_bytes, r.stack_bytes, r.spill_store_bytes, r.spill_load_bytes, r.barriers), (512, 0, 0, 0, 1), "{name}");
        assert!((4..=32).contains(&r.registers), "{name}: {r:?}");
        assert!(compiled.ptx.contains(&format!(".target {name}")), "{}", compiled.ptx);
        assert!(compiled.cubin.starts_with(b"\x7fELF"));
        let feedback = compiled.feedback();
        assert_eq!((feedback.registers, feedback.local_bytes), (Some(r.registers), Some(512)));
        assert_eq!((feedback.private_bytes, feedback.spill_bytes), (Some(0), Some(0)));
    }
}

/// What other tests assert to be 0 can be something else.
#[test]
fn spills_are_told() {
    let Some(toolkit) = toolkit() else { return };
    for name in ARCHS {
        let compiled = compile(&toolkit, SPILLS, "spills", name);
        let r = compiled.resources.expect("ptxas speaks of the kernel");
        assert!(r.registers <= 32 && r.spill_store_bytes > 0 && r.spill_load_bytes > 0 && r.stack_bytes > 0, "{name}: {r:?}");
        assert_eq!(compiled.feedback().spill_bytes, Some(u64::from(r.spill_store_bytes + r.spill_load_bytes)));
    }
}

/// NVRTC by itself makes machine code too, and passes on what the `ptxas` inside it says.
#[test]
fn nvrtc_alone_does_both() {
    let Some(toolkit) = toolkit() else { return };
    let alone = Toolkit { ptxas: None, ..toolkit.clone() };
    for (text, kernel) in [(SHARED, "rotate"), (SPILLS, "spills")] {
        let (with, without) = (compile(&toolkit, text, kernel, "sm_90a"), compile(&alone, text, kernel, "sm_90a"));
        assert!(without.cubin.starts_with(b"\x7fELF") && without.ptx.contains(".target sm_90a"));
        assert_eq!(without.resources, with.resources, "{kernel}");
    }
}

#[test]
fn wrong_texts_are_refused_with_their_line() {
    let Some(toolkit) = toolkit() else { return };
    let wrong = SHARED.replace("__syncthreads()", "__syncthreats()");
    let error = toolkit.compile(&wrong, "rotate", arch("sm_80")).expect_err("no such function");
    assert_eq!(error.line(), Some(5), "{error}");
    let said = error.to_string();
    assert!(said.starts_with("NVRTC refused kernel `rotate` for sm_80: kernel.cu(5): error: ") && said.contains("__syncthreats"), "{said}");
    // What stands in `asm` is for ptxas to judge.
    let wrong = SHARED.replace("__syncthreads();", "asm volatile(\"no.such.instruction;\");");
    let error = toolkit.compile(&wrong, "rotate", arch("sm_80")).expect_err("no such instruction");
    assert!(matches!(&error, ToolkitError::Refused { tool: "ptxas", log, .. } if log.contains("known instruction: 'no'")), "{error}");
    assert!(!error.to_string().contains(&*std::env::temp_dir().to_string_lossy()), "{error}");
    let zero = toolkit.compile("a\0b", "k", arch("sm_80")).expect_err("no C text");
    assert_eq!(zero.to_string(), "NVRTC failed: the text has a zero byte");
}

#[test]
fn unknown_architectures_are_refused_with_those_there_are() {
    let Some(toolkit) = toolkit() else { return };
    for name in ["sm_35", "sm_80a", "sm_999"] {
        let error = toolkit.compile(SHARED, "rotate", arch(name)).expect_err("no such architecture");
        assert!(matches!(&error, ToolkitError::Architecture { .. }), "{error}");
        let said = error.to_string();
        assert!(
            said.contains(&format!("makes no code for {name}; it does for ")) && said.contains("sm_80, ") && said.contains("sm_90[a]"),
            "{said}"
        );
    }
}

#[test]
fn versions_are_told() {
    let Some(toolkit) = toolkit() else { return };
    let version = toolkit.version().expect("loads");
    assert!(version.starts_with("NVRTC 1") && version.contains(", ptxas 1"), "{version}");
    assert_eq!(toolkit.simulated(), Ok(false));
}

#[test]
fn a_library_that_is_none_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("libnvrtc.so.13");
    std::fs::write(&library, "this is a letter").expect("writes");
    let toolkit = Toolkit::under(folder.path()).expect("looks like one");
    assert_eq!((toolkit.nvrtc.as_path(), &toolkit.ptxas), (library.as_path(), &None));
    let error = toolkit.compile(SHARED, "rotate", arch("sm_80")).expect_err("no library");
    assert!(error.to_string().starts_with(&format!("loading `{}` failed: ", library.display())), "{error}");
}

#[cfg(unix)]
#[test]
fn a_broken_assembler_is_said() {
    let Some(toolkit) = toolkit() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let broken = folder.path().join("ptxas");
    std::fs::write(&broken, "#!/bin/sh\nkill -SEGV $$\n").expect("writes");
    std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("may");
    let with = |ptxas: &Path| Toolkit { ptxas: Some(ptxas.to_owned()), ..toolkit.clone() }.compile(SHARED, "rotate", arch("sm_80"));
    assert!(matches!(with(&broken), Err(ToolkitError::Refused { tool: "ptxas", .. })));
    let error = with(&folder.path().join("none")).expect_err("no such program");
    assert!(error.to_string().starts_with("ptxas (starting it) failed: "), "{error}");
}

/// The kernels that devices use themselves, made ahead for machines without a compiler.
#[test]
fn kernels_are_prepared_once() {
    let Some(toolkit) = toolkit() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, kept) in ARCHS.into_iter().zip([5, 10]) {
        warpsight_run::cuda::prepare_own(&toolkit, arch(name), folder.path()).unwrap_or_else(|e| panic!("{e}"));
        let prepare =
            || warpsight_run::cuda::prepare(&toolkit, SHARED, "rotate", arch(name), folder.path()).unwrap_or_else(|e| panic!("{e}"));
        let (first, second) = (prepare(), prepare());
        assert!(!first.cached && second.cached, "{name}");
        assert_eq!((first.registers, first.spill_bytes), (second.registers, second.spill_bytes), "{name}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), kept, "empty, two that fill, one that flushes, and this one");
    }
}

/// Every Program that the emitter has a golden for, and the chosen kernel of every operator of the engine's golden folders.
fn golden_programs() -> Vec<(String, Checked)> {
    use cuda_programs::{arithmetic, ordered_atomics, store_policies, tile_product, wide_vectors};
    use programs::{
        atomics, control_flow, convolution, half_arithmetic, half_image, half_storage, image_blur, image_kinds, many_axes, symbolic_shift,
        tiled_matmul,
    };
    let by_hand = [
        convolution(),
        image_blur(),
        image_kinds(),
        tiled_matmul(),
        atomics(),
        half_storage(),
        half_arithmetic(),
        half_image(),
        symbolic_shift(),
        many_axes(),
        control_flow(),
        arithmetic(),
        ordered_atomics(),
        store_policies(),
        wide_vectors(),
        tile_product("tile_product_f16", Scalar::F16, [16, 16]),
        tile_product("tile_product_bf16", Scalar::Bf16, [16, 16]),
        tile_product("tile_product_tall", Scalar::F16, [32, 8]),
    ];
    let mut found: Vec<(String, Checked)> = by_hand.into_iter().map(|p| (p.name.to_string(), Checked::new(p).expect("valid"))).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/golden");
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").map(|e| e.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.file_name().is_some_and(|name| name == "program.txt") {
                let program = text::parse(&std::fs::read_to_string(&entry).expect("readable")).unwrap_or_else(|e| panic!("{e}"));
                let name = folder.strip_prefix(&root).expect("below").display().to_string();
                found.push((name, Checked::new(program).expect("valid")));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The versions whose numbers the snapshot holds: another compiler allocates registers differently.
const SNAPSHOT_OF: &str = "NVRTC 13.5, ptxas 13.5.37";

/// No golden spills; shared memory is what the Program declares; registers and the rest are pinned for one version of the compiler.
#[test]
fn goldens_do_not_spill() {
    let Some(toolkit) = toolkit() else { return };
    let goldens = golden_programs();
    assert!(goldens.len() >= 15 + 8, "{}", goldens.len());
    let mut table = format!(
        "{SNAPSHOT_OF}\n{:24} {:7} {:>9} {:>7} {:>7} {:>7} {:>8}\n",
        "kernel", "arch", "registers", "spill B", "stack B", "shared B", "barriers"
    );
    for (name, program) in &goldens {
        let source = warpsight_emit::cuda(program).unwrap_or_else(|e| panic!("{name}: {e}"));
        for arch in ARCHS {
            let r = compile(&toolkit, &source.text(), &source.entry, arch).resources.expect("ptxas speaks of the kernel");
            let spills = r.spill_store_bytes + r.spill_load_bytes;
            assert_eq!(spills, 0, "{name} for {arch}: {r:?}");
            let threads: u32 = source.grid.local.iter().product();
            assert!(r.occupancy(arch.parse().expect("one"), threads).is_some_and(|o| o.is_ok()), "{name} fits no {arch}: {r:?}");
            table += &format!(
                "{name:24} {arch:7} {:>9} {spills:>7} {:>7} {:>7} {:>8}\n",
                r.registers, r.stack_bytes, r.shared_bytes, r.barriers
            );
        }
    }
    match toolkit.version().expect("loads").as_str() {
        SNAPSHOT_OF => insta::assert_snapshot!("golden_resources", table),
        other => eprintln!("not compared with the snapshot of {SNAPSHOT_OF}: this is {other}\n{table}"),
    }
}

/// What a Program says of order and scope is in the instructions.
#[test]
fn ordered_atomics_are_in_the_machine_text() {
    let Some(toolkit) = toolkit() else { return };
    let source = warpsight_emit::cuda(&Checked::new(cuda_programs::ordered_atomics()).expect("valid")).expect("supported");
    for arch in ARCHS {
        let ptx = compile(&toolkit, &source.text(), &source.entry, arch).ptx;
        for instruction in
            ["ld.acquire.gpu.", "st.release.gpu.", "atom.acq_rel.gpu.", "atom.acquire.gpu.", "atom.release.gpu.", "atom.release.cta."]
        {
            assert!(ptx.contains(instruction), "{arch}: no `{instruction}` in\n{ptx}");
        }
    }
    let relaxed = warpsight_emit::cuda(&Checked::new(programs::atomics()).expect("valid")).expect("supported");
    let ptx = compile(&toolkit, &relaxed.text(), &relaxed.entry, "sm_90a").ptx;
    assert!(!ptx.contains(".acquire") && !ptx.contains(".release"), "nothing is ordered here:\n{ptx}");
}
