//! The first model on kernels whose requests are known by hand.

use warpsight_ir::text::parse;
use warpsight_ir::{Checked, CostModel, Kernel, Limiter, NoEstimate, Profile, profile};
use warpsight_predict::{Lines, Roofline, traffic};

fn kernel(text: &str) -> Kernel {
    let program = parse(text).unwrap_or_else(|e| panic!("{e}"));
    Kernel::of(&Checked::new(program).expect("valid")).expect("affine")
}

fn adreno() -> Profile {
    profile::builtin("adreno640").expect("is there").expect("parses")
}

/// y[i] = x[i] over 65,536 floats, `stride` elements between lanes' columns.
fn copy(load: &str, store: &str) -> Kernel {
    kernel(&format!(
        "program copy {{
  read buffer x: f32[1024, 64]
  write buffer y: f32[1024, 64]
  groups g = 1024
  lanes l = 64
  {{
    let v = x[{load}]
    y[{store}] = v
  }}
}}"
    ))
}

const LINES: Lines = Lines { warp: 64, texture: 32.0, buffer: 64.0 };

#[test]
fn lines_of_rows_and_columns() {
    // 64 lanes of 4 B in a row: 4 lines of 64 B for the load and 4 for the store.
    let row = traffic(&copy("g, l", "g, l"), LINES);
    assert_eq!((row.buffer_lines, row.buffer_bytes, row.instructions), (8.0, 8.0, 2.0));
    assert_eq!(row.tensors[0].group_bytes, 256.0);
    assert_eq!(row.tensors[0].distinct_groups, 1024.0);
    // Down a column of 256-byte rows every lane has a line to itself: 64 for the load, 4 for the store.
    let kernel = kernel(
        "program column {
  read buffer x: f32[64, 1024]
  write buffer y: f32[1024, 64]
  groups g = 1024
  lanes l = 64
  {
    let v = x[l, g]
    y[g, l] = v
  }
}",
    );
    let column = traffic(&kernel, LINES);
    assert_eq!(column.buffer_lines, 68.0);
    let model = |k: &Kernel| Roofline.estimate(k, &adreno()).expect("known");
    assert!(model(&kernel).limits.of(Limiter::L2).0 > 8.0 * model(&copy("g, l", "g, l")).limits.of(Limiter::L2).0);
}

#[test]
fn texels_are_counted_in_lines_of_two() {
    let k = kernel(
        "program fetch {
  read image a: rgba32f[64, 64] border zero
  write buffer y: f32[64, 64]
  groups g = 64
  lanes l = 64
  {
    let v = a@[l, g]
    y[g, l] = v.[0..1]
  }
}",
    );
    let t = traffic(&k, LINES);
    // 64 texels of 16 B in lines of 32 B.
    assert_eq!((t.texels, t.texture_lines), (1.0, 32.0));
    let estimate = Roofline.estimate(&k, &adreno()).expect("known");
    assert_eq!(estimate.volumes.texture.0, 64.0 * 64.0 * 16.0);
    assert_eq!(estimate.volumes.dram.0, 64.0 * 64.0 * 16.0 + 64.0 * 64.0 * 4.0);
}

#[test]
fn compute_bound_work_is_limited_by_floating_point() {
    let chains: Vec<String> = (0..16).map(|i| format!("      a{i} = fma(a{i}, 1.5, 0.5)")).collect();
    let vars: Vec<String> = (0..16).map(|i| format!("    var a{i}: f32x4 = splat4(0.0)")).collect();
    let chains: Vec<String> = chains.iter().map(|c| c.replace("1.5, 0.5", "splat4(1.5), splat4(0.5)")).collect();
    let text = format!(
        "program burn {{
  write buffer y: f32[512, 256]
  groups g = 512
  lanes l = 64
  {{
{}
    for i in 0..256 step 1 unroll 1 {{
{}
    }}
    y[g, l * 4] = a0
  }}
}}",
        vars.join("\n"),
        chains.join("\n")
    );
    let text = text.replace(" step 1 unroll 1", "");
    let estimate = Roofline.estimate(&kernel(&text), &adreno()).expect("known");
    assert_eq!(estimate.limiter(), Limiter::Fp, "{:?}", estimate.limits);
    // 512·64 work-items · 256 · 16 · 4 multiply-adds at 2 cores · 384 lanes · 585 MHz.
    let seconds = 512.0 * 64.0 * 256.0 * 64.0 / (2.0 * 384.0 * 585e6);
    assert!((estimate.limits.of(Limiter::Fp).0 / seconds - 1.0).abs() < 1e-9);
    assert!(estimate.explain().starts_with("Limited by fp"), "{}", estimate.explain());
}

#[test]
fn a_missing_number_is_named() {
    let g77 = profile::builtin("mali-g77").expect("is there").expect("parses");
    match Roofline.estimate(&copy("g, l", "g, l"), &g77) {
        Err(NoEstimate::Missing { profile, field, .. }) => assert_eq!((profile.as_str(), field), ("mali-g77", "execution.clock")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn same_input_same_bits() {
    let k = copy("g, l", "g, l");
    assert_eq!(Roofline.estimate(&k, &adreno()), Roofline.estimate(&k, &adreno()));
}
