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
    if let Some(pocl) = Pocl::find() {
        pocl.build(&source).unwrap_or_else(|log| panic!("{log}\n{}", source.text));
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
fn symbolic_shift() {
    golden(programs::symbolic_shift());
}

#[test]
fn many_axes() {
    golden(programs::many_axes());
}
