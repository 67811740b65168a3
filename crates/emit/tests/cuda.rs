//! Goldens of emitted CUDA C++. The kernels alone: what stands before them is the prelude's own text.

mod common;

use common::cuda_programs::{arithmetic, ordered_atomics, store_policies, tile_product, wide_vectors};
use common::programs::{self, *};
use warpsight_emit::{CudaSource, cuda};
use warpsight_ir::*;

fn emitted(program: Program) -> CudaSource {
    cuda(&checked(program)).expect("a supported Program")
}

fn golden(program: Program) -> CudaSource {
    let name = program.name.to_string();
    let source = emitted(program);
    insta::assert_snapshot!(name.as_str(), source.kernel);
    // Every helper that the kernel names stands before it.
    let words = source.kernel.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    for word in words.filter(|word| word.starts_with("ws_")) {
        assert!(source.prelude.contains(word), "{word} is not in the prelude of {name}");
    }
    source
}

macro_rules! goldens {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            golden(programs::$name());
        }
    )*};
}

goldens! { convolution image_blur image_kinds tiled_matmul atomics half_storage half_arithmetic half_image symbolic_shift many_axes control_flow }

/// Whether the kernel says it.
#[track_caller]
fn says(source: &CudaSource, texts: &[&str]) {
    for text in texts {
        assert!(source.kernel.contains(text), "no `{text}` in\n{}", source.kernel);
    }
}

/// What is written without a surface finds its rows itself, for any width.
#[test]
fn rows_of_linear_images_are_padded() {
    let text = "program rows { size n in 1..=99 write image2d_from_buffer to: rgba8unorm[n * 3, 4]
        groups g = 4 lanes l = 1 { to@[l, g] = splat4(0.5) } }";
    let source = emitted(warpsight_ir::text::parse(text).unwrap());
    says(&source, &["ws_write_texel_rows<ws_rgba8>(to, l, g, (n*3 + 31)/32*32, ws_splat<4>(0.5f));"]);
    assert!(source.prelude.contains("void ws_store_words("));
}

#[test]
fn atomics_have_order_and_scope() {
    let source = golden(ordered_atomics());
    says(
        &source,
        &[
            "const int ticket = ws_atomic_add<ws_acq_rel, ws_device, ws_global>(tickets, 1);",
            "const int found = ws_atomic_load<ws_acquire, ws_device, ws_global>(flag);",
            "ws_atomic_compare_exchange<ws_acquire, ws_device, ws_global>(flag, 0, 1);",
            "ws_atomic_sub<ws_release, ws_device, ws_global>(votes, 1ull);",
            "ws_atomic_and<ws_release, ws_block, ws_shared>(shared, 3u);",
            "ws_atomic_store<ws_release, ws_device, ws_global>(flag, 1);",
        ],
    );
}

#[test]
fn stores_have_policies() {
    let source = golden(store_policies());
    says(
        &source,
        &[
            "ws_store<ws_stream>(single + ",
            "ws_store<ws_through, 16>(through",
            "ws_store<ws_stream, 16>(stream",
            "ws_store<ws_stream, 8>(halves",
        ],
    );
}

#[test]
fn accesses_are_as_wide_as_proved() {
    let source = golden(wide_vectors());
    says(
        &source,
        &[
            "ws_store<ws_back, 16>(y + l*16, ws_load<16, 16>(x + l*16));",
            "ws_load<8, 16>(x + (l*16 + 4))",
            "ws_load<2, 8>(x + (l*2 + 6))",
            "ws_load<4, 8>(x + (l*4 + 2))",
            "ws_load<4, 4>(x + (l*4 + 1))",
            "ws_store<ws_back, 4>(y + (l*3 + 1536), ws_load<3, 4>(x + (l*3 + 3)));",
            "ws_store<ws_back, 8>(b + l*8, ws_load<8, 16>(x + l*8) < 0.5f);",
        ],
    );
}

#[test]
fn numbers() {
    let source = golden(arithmetic());
    says(&source, &["ws_cast<int>(v * 1.5f)", "ws_shl(i, ws_splat<4>(33))", "ws_bits<ws_vec<int, 4>>("]);
}

#[test]
fn tiles_are_what_products_make_of_them() {
    for (name, element, shape) in [
        ("tile_product_f16", Scalar::F16, [16, 16]),
        ("tile_product_bf16", Scalar::Bf16, [16, 16]),
        ("tile_product_tall", Scalar::F16, [32, 8]),
    ] {
        let source = golden(tile_product(name, element, shape));
        assert!(source.needs_mma && source.prelude.contains("#include <mma.h>"));
    }
    assert!(!emitted(programs::convolution()).needs_mma);
}

#[test]
fn positions_beyond_an_int_are_long() {
    let p = program(
        "large",
        vec![output("y", Scalar::F32, &[70_000, 70_000])],
        launch(&[("g", int(70_000))], &[("l", 1)]),
        vec![store("y", &[var("g"), int(4)], splat(Expr::f32(1.0), 4))],
    );
    says(&emitted(p), &["ws_store<ws_back, 16>(y + ((long long)g*70000ll + 4ll), ws_splat<4>(1.0f));"]);
}

/// The message that refuses a Program.
fn refusal(program: Program) -> String {
    cuda(&checked(program)).expect_err("an unsupported Program").to_string()
}

#[test]
fn what_cuda_lacks_is_refused() {
    let channel = ParamKind::Channel { element: Scalar::F32, dims: vec![4], depth: 2, direction: Direction::Receive };
    let p = program("k", vec![Param { name: "c".into(), kind: channel }], launch(&[], &[("l", 4)]), vec![]);
    assert_eq!(refusal(p), "CUDA C++ has no form for channel `c`");

    let mut p = program("k", vec![], launch(&[], &[("l", 4)]), vec![Stmt::Barrier { scope: Scope::Subgroup, local: true, global: false }]);
    p.launch.subgroup = Some(4);
    assert_eq!(refusal(p), "CUDA C++ has no form for a barrier of a sub-group that is no warp of 32 lanes");

    let with = |change: &dyn Fn(&mut Program)| {
        let mut p = tile_product("k", Scalar::F16, [16, 16]);
        change(&mut p);
        refusal(p)
    };
    assert_eq!(with(&|p| p.launch.subgroup = Some(16)), "CUDA C++ has no form for tiles of sub-groups that are no warps of 32 lanes");
    assert_eq!(
        with(&|p| {
            p.arrays.iter_mut().for_each(|array| array.element = Scalar::F32);
            p.params[..2].iter_mut().for_each(|param| {
                if let ParamKind::Buffer { element, .. } = &mut param.kind {
                    *element = Scalar::F32;
                }
            });
        }),
        "CUDA C++ has no form for products of f32 tiles: matrix units round such operands"
    );
    assert_eq!(
        with(&|p| p.params[2] = output("c", Scalar::F32, &[32, 34])),
        "CUDA C++ has no form for tiles of `c`, whose rows are not known to lie a multiple of 16 bytes apart"
    );
    assert_eq!(
        with(&|p| p.body.retain(|stmt| !matches!(stmt, Stmt::For { .. }))),
        "CUDA C++ has no form for tile `left` of f16, which no product uses"
    );
    let small =
        with(&|p| p.arrays.iter_mut().for_each(|array| array.dims = if array.space == Space::Local { vec![16, 16] } else { vec![8, 8] }));
    assert_eq!(small, "CUDA C++ has no form for a product of tiles 8 × 8 × 8");
}
