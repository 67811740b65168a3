//! Listings of papers 000 and 001 that are not right as printed, executed; and what is done instead.

use warpsight_generate::Passes;
use warpsight_ir::interpret::{Fault, interpret};
use warpsight_ir::{Bindings, Checked, Program, text};

fn program(text: &str) -> Program {
    text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(program: Program, data: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
    let program = Checked::new(program).unwrap_or_else(|error| panic!("{error}"));
    let mut bindings = Bindings { data, ..Bindings::default() };
    interpret(&program, &mut bindings).map(|()| bindings.data)
}

/// Each work-item stores four texels that follow each other in an image of this width and of six rows: `at` says where the i-th is.
fn stores(width: i64, at: &str) -> Program {
    let items = 6 * width / 4;
    program(&format!(
        "program listing {{ write image b: rgba32f[{width}, 6] groups g = {items} lanes l = 1
           {{ let first = g * 4 let row = first / {width} let column = first % {width}
              for i in 0..4 {{ let linear = first + i b@[{at}] = splat4(f32(linear)) }} }} }}"
    ))
}

/// Paper 001, Listing 5: quotient and remainder are taken once for all texels of a tile, which is sound only where no tile crosses a row.
#[test]
fn tiles_that_cross_rows_keep_their_quotients() {
    let apart = |width: i64| format!("linear % {width}, linear / {width}");
    let written = |width: i64, at: &str| run(stores(width, at), vec![vec![0xff; 6 * width as usize * 16]]);
    let expected = |width: i64| -> Vec<u8> { (0..6 * width).flat_map(|n| [n as f32; 4]).flat_map(f32::to_le_bytes).collect() };
    // Rows of whole tiles: as printed.
    assert_eq!(written(8, "column + i, row"), written(8, &apart(8)));
    assert_eq!(written(8, "column + i, row").map(|data| data[0].clone()), Ok(expected(8)));
    // The second tile of rows of six texels ends in the next row: its last two would be stored beyond the end of its own.
    let fault = written(6, "column + i, row").expect_err("a texel beyond the row");
    assert!(matches!(fault, Fault::WriteOutsideImage { texel: [6, 0], size: [6, 6], .. }), "{fault}");
    assert_eq!(written(6, &apart(6)).map(|data| data[0].clone()), Ok(expected(6)));
    // What is not affine is left where it stands.
    for width in [6, 8] {
        let own = stores(width, &apart(width));
        let done = run(Passes::default().apply(own), vec![vec![0xff; 6 * width as usize * 16]]);
        assert_eq!(done.map(|data| data[0].clone()), Ok(expected(width)));
    }
}

/// Paper 000, Listing 1: one texel of the second matrix is multiplied by all four components of one of the first, which is the product of
/// another matrix.
#[test]
fn four_components_have_four_texels() {
    const M: usize = 3;
    const N: usize = 8;
    const K: usize = 12;
    // `row` is the row of B that the i-th component of a texel of A is multiplied by.
    let product = |row: fn(usize) -> String| {
        let parts: String = (0..4).map(|i| format!("c = fma(splat4(a.[{i}..{}]), b@[w, {}], c)\n", i + 1, row(i))).collect();
        program(&format!(
            "program listing {{ read image x: rgba32f[{}, {M}] read image b: rgba32f[{}, {K}] write image y: rgba32f[{}, {M}]
               groups w = {}, h = {M} lanes l = 1
               {{ var c: f32x4 = splat4(0.0)\n for r in 0..{} {{ let a = x@[r, h]\n {parts} }}\n y@[w, h] = c }} }}",
            K / 4,
            N / 4,
            N / 4,
            N / 4,
            K / 4
        ))
    };
    let numbers = |count: usize, step: usize| (0..count).map(|n| ((n * step) % 11) as f32 - 5.0).collect::<Vec<_>>();
    let (x, b) = (numbers(M * K, 7), numbers(K * N, 3));
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let written = |program| run(program, vec![bytes(&x), bytes(&b), vec![0xff; M * N * 4]]).map(|data| data[2].clone());
    let right: Vec<f32> = (0..M * N).map(|at| (0..K).map(|k| x[at / N * K + k] * b[k * N + at % N]).sum()).collect();
    assert_eq!(written(product(|i| format!("r * 4 + {i}"))), Ok(bytes(&right)));
    let printed = written(product(|_| "r".to_owned())).expect("it stays within its images");
    assert_ne!(printed, bytes(&right));
    let summed: Vec<f32> = (0..M * N).map(|at| (0..K).map(|k| x[at / N * K + k] * b[k / 4 * N + at % N]).sum()).collect();
    assert_eq!(printed, bytes(&summed), "each row of B stands for four");
}
