//! Goldens of emitted OpenCL C, each built by a real compiler.

mod common;

use common::pocl::Pocl;
use common::programs::{self, *};
use warpsight_emit::{Contraction, Options, opencl, opencl_with};
use warpsight_ir::*;

/// Compares with the golden text and builds it.
fn golden(program: Program) {
    let name = program.name.to_string();
    let source = opencl(&checked(program)).expect("a supported Program");
    insta::assert_snapshot!(name, source.text);
    // PoCL computes no halves.
    if let Some(pocl) = Pocl::find().filter(|_| !source.extensions.contains(&"cl_khr_fp16")) {
        pocl.build(&source, "-cl-std=CL1.2 -Werror").unwrap_or_else(|log| panic!("{log}\n{}", source.text));
    }
}

#[test]
fn convolution() {
    golden(programs::convolution());
}

#[test]
fn image_blur() {
    golden(programs::image_blur());
}

#[test]
fn image_kinds() {
    golden(programs::image_kinds());
}

#[test]
fn tiled_matmul() {
    golden(programs::tiled_matmul());
}

#[test]
fn atomics() {
    golden(programs::atomics());
}

#[test]
fn half_storage() {
    golden(programs::half_storage());
}

#[test]
fn half_arithmetic() {
    golden(programs::half_arithmetic());
    golden(programs::half_image());
}

#[test]
fn symbolic_shift() {
    golden(programs::symbolic_shift());
}

#[test]
fn many_axes() {
    golden(programs::many_axes());
}

#[test]
fn control_flow() {
    golden(programs::control_flow());
}

fn out_f32(value: Expr) -> Program {
    program(
        "single",
        vec![input("x", Scalar::F32, &[4]), output("y", Scalar::F32, &[4])],
        launch(&[], &[("l", 4)]),
        vec![store("y", &[var("l")], value)],
    )
}

#[test]
fn contraction_is_a_choice() {
    let x = || load("x", &[var("l")], 1);
    let p = checked(out_f32(fma(x(), x(), mul(x(), x()))));
    let exact = opencl(&p).unwrap().text;
    assert!(exact.contains("fma(x[l], x[l], x[l] * x[l])") && exact.contains("FP_CONTRACT OFF"), "{exact}");
    let fast = opencl_with(&p, Options { contraction: Contraction::Mad }).unwrap().text;
    assert!(fast.contains("mad(x[l], x[l], x[l] * x[l])") && !fast.contains("FP_CONTRACT"), "{fast}");
}

/// PoCL moves halves side by side as a vector that is aligned to its length, wherever they lie.
#[test]
fn halves_at_any_place_are_moved_as_bits() {
    let copy = |at: i64| {
        let from = load("x", &[add(mul(var("l"), int(8)), int(at))], 8);
        let position = add(mul(var("l"), int(8)), int(at));
        let p = program(
            "k",
            vec![input("x", Scalar::F16, &[64]), output("y", Scalar::F16, &[64])],
            launch(&[], &[("l", 4)]),
            vec![Stmt::Let { name: "v".into(), value: from }, store("y", &[position], var("v"))],
        );
        opencl(&checked(p)).unwrap().text
    };
    let aligned = copy(16);
    assert!(aligned.contains("= vload_half8(0, x + ") && aligned.contains("vstore_half8_rte(v, 0, y + "), "{aligned}");
    let apart = copy(3);
    assert!(apart.contains("= ws_load_half8(x + ") && apart.contains("ws_store_half8(v, y + "), "{apart}");
    assert!(apart.contains("#ifdef POCL_DEVICE_ADDRESS_BITS"), "{apart}");
}

#[test]
fn extensions_are_named() {
    let p = program(
        "wide",
        vec![output("y", Scalar::F64, &[1])],
        launch(&[], &[("l", 1)]),
        vec![store("y", &[int(0)], Expr::Const(Const::F64(0.1)))],
    );
    let source = opencl(&checked(p)).unwrap();
    assert_eq!(source.extensions, ["cl_khr_fp64"]);
    assert!(source.text.starts_with("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"), "{}", source.text);
}

#[test]
fn positions_beyond_an_int_are_long() {
    let p = program(
        "large",
        vec![output("y", Scalar::F32, &[70_000, 70_000])],
        launch(&[("g", int(70_000))], &[("l", 1)]),
        vec![store("y", &[var("g"), int(5)], Expr::f32(1.0))],
    );
    let text = opencl(&checked(p)).unwrap().text;
    assert!(text.contains("y[(long)g*70000L + 5L] = 1.0f;"), "{text}");
}

#[test]
fn what_opencl_lacks_is_refused() {
    let subgroup = vec![Stmt::Barrier { scope: Scope::Subgroup, local: true, global: false }];
    let mut p = program("single", vec![], launch(&[], &[("l", 4)]), subgroup);
    p.launch.subgroup = Some(4);
    let error = opencl(&checked(p)).unwrap_err();
    assert_eq!(error.to_string(), "OpenCL C 1.2 has no form for a barrier of a sub-group");
    let mut p = out_f32(Expr::f32(0.0));
    p.arrays.push(Array { name: "tile".into(), space: Space::Tile, element: Scalar::F32, dims: vec![8, 8] });
    p.launch.subgroup = Some(4);
    let error = opencl(&checked(p)).unwrap_err();
    assert_eq!(error.to_string(), "OpenCL C 1.2 has no form for array `tile` in Tile memory");
}
