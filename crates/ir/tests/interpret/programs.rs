//! Whole Programs against direct loops.

use crate::{as_ints, halves, ints, matmul, random_f32, run};
use warpsight_ir::data::{bytes_f32, f32_bytes};

const NAIVE: &str = "
program naive {
  size m in 1..=64 size n in 1..=64 size k in 1..=64
  read buffer a: f32[m, k]
  read buffer b: f32[k, n]
  write buffer c: f32[m, n]
  groups gx = (n + 3) / 4, gy = (m + 1) / 2
  lanes x = 4, y = 2
  {
    let i = gy * 2 + y
    let j = gx * 4 + x
    var sum: f32 = 0.0
    for l in 0 .. k { sum = sum + a[i, l if 0 <= i < m] * b[l, j if 0 <= j < n] }
    c[i, j if 0 <= i < m, 0 <= j < n] = sum
  }
}";

/// A tile of 4 × 4 through local memory; `BARRIERS` stand where a phase ends.
const TILED: &str = "
program tiled {
  size m in 1..=64 size n in 1..=64 size k in 1..=64
  read buffer a: f32[m, k]
  read buffer b: f32[k, n]
  write buffer c: f32[m, n]
  local ta: f32[4, 4]
  local tb: f32[4, 4]
  groups gx = (n + 3) / 4, gy = (m + 3) / 4
  lanes x = 4, y = 4
  {
    let i = gy * 4 + y
    let j = gx * 4 + x
    var sum: f32 = 0.0
    for l in 0 .. k step 4 {
      ta[y, x] = a[i, l + x if 0 <= i < m, 0 <= l + x < k]
      tb[y, x] = b[l + y, j if 0 <= j < n, 0 <= l + y < k]
      barrier group local
      for t in 0 .. 4 { sum = sum + ta[y, t] * tb[t, x] }
      barrier group local
    }
    c[i, j if 0 <= i < m, 0 <= j < n] = sum
  }
}";

#[test]
fn matmuls_equal_direct_loops() {
    let mut rng = fastrand::Rng::with_seed(1);
    for (text, rounds) in [(NAIVE, 6), (TILED, 6)] {
        for _ in 0..rounds {
            let [m, n, k] = [(); 3].map(|()| rng.usize(1..12));
            let (a, b) = (random_f32(&mut rng, m * k), random_f32(&mut rng, k * n));
            let sizes = [("m", m as i64), ("n", n as i64), ("k", k as i64)];
            let data = run(text, &sizes, vec![f32_bytes(&a), f32_bytes(&b), f32_bytes(&vec![f32::NAN; m * n])]).unwrap();
            assert_eq!(bytes_f32(&data[2]), matmul(&a, &b, [m, n, k]), "{m} {n} {k}");
            assert_eq!(bytes_f32(&data[0]), a);
        }
    }
}

#[test]
fn a_missing_barrier_is_a_race_between_two_named_work_items() {
    let text = TILED.replacen("barrier group local", "", 1);
    let zeros = || f32_bytes(&[0.5; 64]);
    let fault = run(&text, &[("m", 8), ("n", 8), ("k", 8)], vec![zeros(), zeros(), zeros()]).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "tiled at body[3].for l.body[2].for t.body[0], work-item (x=0, y=0) of group (gx=0, gy=0): \
         write-read race on `ta`[0, 1] between work-item (x=1, y=0) of group (gx=0, gy=0) and work-item (x=0, y=0) of group (gx=0, gy=0)"
    );
}

#[test]
fn guards_give_zero_and_touch_nothing() {
    let text = "
program guarded {
  read buffer x: i32[6]
  write buffer whole: i32[8]
  write buffer lanes: i32[8]
  groups g = 1
  lanes l = 2
  {
    let at = l * 4
    whole[at : 4] = x[at : 4 if 0 <= at + 3 < 6]
    lanes[at if 0 <= at < 7 per lane] = x[at : 4 if 0 <= at < 6 per lane] + splat4(1)
  }
}"
    .replace("whole[at : 4] =", "whole[at] =");
    let data = run(&text, &[], vec![ints(&[1, 2, 3, 4, 5, 6]), ints(&[9; 8]), ints(&[9; 8])]).unwrap();
    assert_eq!(as_ints(&data[1]), [1, 2, 3, 4, 0, 0, 0, 0]);
    assert_eq!(as_ints(&data[2]), [2, 3, 4, 5, 6, 7, 1, 9]);
}

#[test]
fn a_guard_left_without_lanes_computes_no_coordinate() {
    let text = "
program lazy {
  read buffer x: i32[2]
  write buffer y: i32[4]
  groups g = 1
  lanes l = 4
  { y[x[l] if 0 <= l < 2] = x[x[l] if 0 <= l < 2] }
}";
    let data = run(text, &[], vec![ints(&[1, 0]), ints(&[7; 4])]).unwrap();
    assert_eq!(as_ints(&data[1]), [1, 0, 7, 7]);
}

#[test]
fn sixteen_bit_floats_are_rounded_where_stored_and_assigned() {
    let text = "
program rounding {
  read buffer x: f32[3]
  write buffer h: f16[3]
  write buffer b: bf16[3]
  write buffer v: f32[3]
  groups g = 1
  lanes l = 3
  {
    h[l] = x[l]
    b[l] = x[l]
    var kept: f16 = x[l]
    kept = kept + 0.0001
    v[l] = kept
  }
}";
    // Half-way cases: 1 + 2⁻¹¹ goes to the even 1, 1 + 3·2⁻¹¹ to 1 + 2⁻⁹; bfloat16 keeps 8 bits.
    let x = [1.0 + 2.0_f32.powi(-11), 1.0 + 3.0 * 2.0_f32.powi(-11), 3.140_625 + 2.0_f32.powi(-7)];
    let data = run(text, &[], vec![f32_bytes(&x), vec![0; 6], vec![0; 6], vec![0; 12]]).unwrap();
    assert_eq!(data[1], halves(&[1.0, 1.0 + 2.0_f32.powi(-9), 3.148_437_5]));
    assert_eq!(data[2], [1.0_f32, 1.0, 3.156_25].map(half::bf16::from_f32).map(half::bf16::to_le_bytes).concat());
    // 0.0001 is less than half a unit of f16 at 1: it is lost again at the assignment.
    assert_eq!(bytes_f32(&data[3]), [1.0, 1.0 + 2.0_f32.powi(-9), 3.148_437_5]);
}

#[test]
fn images_follow_their_border_rule_and_format() {
    for (border, outside) in [("zero", [0.0; 4]), ("clamp", [0.0, 1.0, 128.0 / 255.0, 1.0])] {
        let text = format!(
            "
program images {{
  read image s: rgba8unorm[2, 2] border {border}
  write image d: rgba16f[4, 1]
  write image q: rgba8unorm[4, 1]
  groups g = 1
  lanes l = 4
  {{
    let t = s@[l - 1, 2 if 0 <= l < 3]
    d@[l, 0] = t
    q@[l, 0] = t * splat4(2.0)
  }}
}}"
        );
        let source: Vec<u8> = vec![9, 9, 9, 9, 9, 9, 9, 9, 0, 255, 128, 255, 0, 255, 128, 255];
        let data = run(&text, &[], vec![source, vec![1; 32], vec![1; 16]]).unwrap();
        assert_eq!(data[1], [halves(&outside), halves(&outside), halves(&outside), halves(&[0.0; 4])].concat());
        let doubled = if border == "zero" { [0; 4] } else { [0, 255, 255, 255] };
        assert_eq!(data[2], [doubled, doubled, doubled, [0; 4]].concat());
    }
}

#[test]
fn integer_images_are_read_and_written() {
    let text = "
program integers {
  read image s: rgba32i[2, 1]
  write image d: rgba32i[2, 1]
  groups g = 2
  lanes l = 1
  { d@[1 - g, 0] = s@[g, 0] * splat4(-2) }
}";
    let data = run(text, &[], vec![ints(&[1, 2, 3, 4, 5, 6, 7, 8]), vec![0; 32]]).unwrap();
    assert_eq!(as_ints(&data[1]), [-10, -12, -14, -16, -2, -4, -6, -8]);
}

/// One row is a row: kinds change no result but outside, where each border has its own rule.
#[test]
fn every_kind_of_image_holds_the_same_texels() {
    for (from, to) in [("image1d", "image1d"), ("image1d_buffer", "image1d_buffer"), ("image", "image2d_from_buffer"), ("image1d", "image")]
    {
        let text = format!(
            "
program kinds {{
  read {from} s: rgba32i[4]
  write {to} d: rgba32i[4]
  groups g = 4
  lanes l = 1
  {{ d@[3 - g] = s@[g - 1 if 0 <= g - 1 < 4] * splat4(2) }}
}}"
        );
        let source: Vec<i32> = (1..=16).collect();
        let data = run(&text, &[], vec![ints(&source), vec![0; 64]]).unwrap();
        assert_eq!(as_ints(&data[1]), [18, 20, 22, 24, 10, 12, 14, 16, 2, 4, 6, 8, 0, 0, 0, 0], "{from} to {to}");
    }
}

#[test]
fn atomics_of_many_groups_do_not_race() {
    let text = "
program histogram {
  read buffer x: i32[64]
  read write buffer bins: i32[5]
  read write buffer extreme: i32[3]
  read write buffer total: f32[1]
  local near: u32[5]
  groups g = 8
  lanes l = 8
  {
    let v = x[g * 8 + l]
    let before = atomic add bins[v] with 1 relaxed device
    atomic max extreme[0] with v relaxed device
    atomic min extreme[1] with v relaxed device
    atomic compare_exchange extreme[2] with v if was 7 relaxed device
    atomic add total[0] with 0.5 relaxed device
    if l < 5 { near[l] = 0u }
    barrier group local
    atomic or near[v] with 1u relaxed group
  }
}";
    let mut rng = fastrand::Rng::with_seed(3);
    let x: Vec<i32> = (0..64).map(|_| rng.i32(0..5)).collect();
    let mut bins = vec![0; 5];
    x.iter().for_each(|&v| bins[v as usize] += 1);
    let data = run(text, &[], vec![ints(&x), ints(&[0; 5]), ints(&[-9, 99, 7]), f32_bytes(&[1.0])]).unwrap();
    assert_eq!(as_ints(&data[1]), bins);
    assert_eq!(as_ints(&data[2]), [*x.iter().max().unwrap(), *x.iter().min().unwrap(), x[0]]);
    assert_eq!(bytes_f32(&data[3]), [33.0]);
}

#[test]
fn trips_and_indices_may_depend_on_data() {
    // Rows of a sparse matrix, and a chain of pointers.
    let text = "
program sparse {
  read buffer starts: i32[4]
  read buffer columns: i32[5]
  read buffer values: f32[5]
  read buffer x: f32[3]
  write buffer y: f32[3]
  write buffer hops: i32[3]
  groups g = 3
  lanes l = 1
  {
    var sum: f32 = 0.0
    for e in starts[g] .. starts[g + 1] { sum = fma(values[e], x[columns[e]], sum) }
    y[g] = sum
    var at: i32 = g
    for hop in 0 .. 4 { if at != 0 { at = columns[at] } else { at = 0 } }
    hops[g] = at
  }
}";
    let data = vec![ints(&[0, 2, 2, 5]), ints(&[0, 2, 1, 0, 1]), f32_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0]), f32_bytes(&[10.0, 20.0, 30.0])];
    let data = run(text, &[], [data, vec![vec![0; 12], vec![0; 12]]].concat()).unwrap();
    assert_eq!(bytes_f32(&data[4]), [70.0, 0.0, 60.0 + 40.0 + 100.0]);
    // From 1: 2, 1, 2, 1. From 2: 1, 2, 1, 2.
    assert_eq!(as_ints(&data[5]), [0, 1, 2]);
}

#[test]
fn tiles_multiply_in_each_subgroup() {
    // Two sub-groups of four lanes, each with its own tiles; the right operand passes through local memory.
    let text = "
program tiles {
  read buffer a: f16[4, 4]
  read buffer b: f16[4, 2]
  write buffer c: f32[4, 2]
  local lb: f16[4, 2]
  tile ta: f16[2, 4]
  tile tb: f16[4, 2]
  tile acc: f32[2, 2]
  groups g = 1
  lanes x = 4, part = 2
  subgroup 4
  {
    let i = part * 4 + x
    lb[i / 2, i % 2] = b[i / 2, i % 2]
    barrier group local
    tile fill acc = 0.25
    tile load ta = a[part * 2, 0]
    tile load tb = lb[0, 0]
    for again in 0 .. 2 { tile mma acc += ta * tb }
    tile store c[part * 2, 0] = acc
  }
}";
    let mut rng = fastrand::Rng::with_seed(5);
    let rounded = |v: Vec<f32>| v.iter().map(|&v| half::f16::from_f32(v).to_f32()).collect::<Vec<_>>();
    let (a, b) = (rounded(random_f32(&mut rng, 16)), rounded(random_f32(&mut rng, 8)));
    let mut expected = vec![0.25_f32; 8];
    for _ in 0..2 {
        for (at, sum) in expected.iter_mut().enumerate() {
            *sum = (0..4).fold(*sum, |sum, k| sum + a[at / 2 * 4 + k] * b[k * 2 + at % 2]);
        }
    }
    let data = run(text, &[], vec![halves(&a), halves(&b), f32_bytes(&[f32::NAN; 8])]).unwrap();
    assert_eq!(bytes_f32(&data[2]), expected);
}

#[test]
fn variables_of_work_items_and_private_arrays_are_their_own() {
    let text = "
program own {
  write buffer y: i32[6]
  private p: i32[2]
  groups g = 2
  lanes l = 3
  {
    p[0] = g * 10 + l
    barrier group local global
    { let twice = p[0] * 2 p[1] = twice }
    { let thrice = p[0] * 3 y[g * 3 + l] = thrice + p[1] }
  }
}";
    let data = run(text, &[], vec![vec![0; 24]]).unwrap();
    assert_eq!(as_ints(&data[0]), [0, 5, 10, 50, 55, 60]);
}
