//! Emitted kernels, run by a driver, give what the interpreter and native loops give.

mod common;

use common::fuzz;
use common::pocl::Pocl;
use common::programs::{self, *};
use std::collections::BTreeMap;
use warpsight_emit::opencl;
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_ir::interpret::interpret;
use warpsight_ir::*;

/// The data after a run on the device, and after interpretation.
fn both(program: &Checked, bindings: Bindings) -> Option<[Vec<Vec<u8>>; 2]> {
    let pocl = Pocl::find()?;
    let source = opencl(program).expect("a supported Program");
    let device = pocl.run(program, &source, &bindings);
    let mut oracle = bindings;
    interpret(program, &mut oracle).expect("a run without fault");
    Some([device, oracle.data])
}

fn bind_data(data: Vec<Vec<u8>>) -> Bindings {
    Bindings { sizes: BTreeMap::new(), data }
}

fn floats(rng: &mut fastrand::Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

fn i32s(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect()
}

fn i32_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn convolution_equals_native_loops() {
    let mut rng = fastrand::Rng::with_seed(11);
    let (input, weights, bias) = (floats(&mut rng, 3 * 10 * 12), floats(&mut rng, 4 * 27), floats(&mut rng, 4));
    let program = checked(programs::convolution());
    let data = vec![f32_bytes(&input), f32_bytes(&weights), f32_bytes(&bias), f32_bytes(&[f32::NAN; 480])];
    let Some([device, oracle]) = both(&program, bind_data(data)) else { return };
    assert_eq!(device, oracle);
    let output = bytes_f32(&device[3]);
    for k in 0..4 {
        for y in 0..10i32 {
            for x in 0..12i32 {
                let mut sum = f64::from(bias[k]);
                for (c, r, s) in (0..27).map(|i| (i / 9, i / 3 % 3, i % 3)) {
                    let (iy, ix) = (y + r - 1, x + s - 1);
                    if (0..10).contains(&iy) && (0..12).contains(&ix) {
                        let pixel = input[((c * 10 + iy) * 12 + ix) as usize];
                        sum += f64::from(pixel) * f64::from(weights[k * 27 + (c * 9 + r * 3 + s) as usize]);
                    }
                }
                let found = f64::from(output[(k * 10 + y as usize) * 12 + x as usize]);
                // 27 products of at most 1 in f32.
                assert!((found - sum.max(0.0)).abs() < 1e-5, "{k} {y} {x}: {found} is not {sum}");
            }
        }
    }
}

#[test]
fn matmul_equals_native_loops() {
    let mut rng = fastrand::Rng::with_seed(12);
    let (a, b) = (floats(&mut rng, 48 * 32), floats(&mut rng, 32 * 32));
    let data = vec![f32_bytes(&a), f32_bytes(&b), f32_bytes(&[f32::NAN; 48 * 32])];
    let Some([device, oracle]) = both(&checked(programs::tiled_matmul()), bind_data(data)) else { return };
    assert_eq!(device, oracle);
    for (i, found) in bytes_f32(&device[2]).into_iter().enumerate() {
        let expected = (0..32).fold(0.0f32, |sum, k| a[i / 32 * 32 + k].mul_add(b[k * 32 + i % 32], sum));
        assert_eq!(found, expected, "element {i}");
    }
}

#[test]
fn images_follow_their_borders() {
    let mut rng = fastrand::Rng::with_seed(13);
    let source = floats(&mut rng, 13 * 9 * 4);
    let data = vec![f32_bytes(&source), f32_bytes(&floats(&mut rng, 13 * 9 * 4)), f32_bytes(&[f32::NAN; 13 * 9 * 4])];
    let Some([device, oracle]) = both(&checked(programs::image_blur()), bind_data(data)) else { return };
    assert_eq!(device[2], oracle[2]);
    for (i, found) in bytes_f32(&device[2]).into_iter().enumerate() {
        let (y, x, c) = ((i / 52) as i32, i / 4 % 13, i % 4);
        let at = |row: i32| source[(row.clamp(0, 8) as usize * 13 + x) * 4 + c];
        // The other image is read outside only, where it is zero.
        assert_eq!(found, at(y - 1).mul_add(0.25, at(y + 1).mul_add(0.25, at(y) * 0.5)), "texel {x}, {y}");
    }
}

#[test]
fn atomics_count_everything_once() {
    let mut rng = fastrand::Rng::with_seed(14);
    let keys: Vec<i32> = (0..96).map(|_| rng.i32(0..1000)).collect();
    let data = vec![i32_bytes(&keys), vec![0; 32], vec![0; 4], i32_bytes(&[-1, 0]), vec![0; 96 * 4]];
    let Some([device, _]) = both(&checked(programs::atomics()), bind_data(data)) else { return };
    let mut histogram = vec![0; 8];
    keys.iter().for_each(|k| histogram[(k & 7) as usize] += 1);
    assert_eq!(i32s(&device[1]), histogram);
    // Sums of integers below 2²⁴ are exact in any order.
    assert_eq!(bytes_f32(&device[2]), [keys.iter().sum::<i32>() as f32]);
    assert_eq!(i32s(&device[3]), [*keys.iter().max().unwrap(), 96]);
    let mut tickets = i32s(&device[4]);
    tickets.sort_unstable();
    assert_eq!(tickets, (0..96).collect::<Vec<_>>());
}

#[test]
fn sixteen_bit_floats_round_to_even() {
    let mut rng = fastrand::Rng::with_seed(15);
    // Any finite half, and a scale with a long fraction, so that nothing is exact.
    let halves: Vec<u8> = (0..64).flat_map(|_| (rng.u16(..) & 0xbbff).to_le_bytes()).collect();
    let scale: Vec<u8> = [0x3f9du16, 0x4049].iter().flat_map(|v| v.to_le_bytes()).collect();
    let data = vec![halves, scale, vec![0; 128], vec![0; 128], vec![0; 64]];
    let Some([device, oracle]) = both(&checked(programs::half_storage()), bind_data(data)) else { return };
    assert_eq!(device, oracle);
    assert!(device[2].iter().any(|b| *b != 0) && device[3].iter().any(|b| *b != 0));
}

#[test]
fn lanes_outside_are_zero_and_not_written() {
    let program = checked(programs::symbolic_shift());
    let mut rng = fastrand::Rng::with_seed(16);
    for (rows, columns) in [(1, 1), (3, 37), (2, 32), (5, 3), (4, 64)] {
        let x = floats(&mut rng, rows * columns);
        let sizes = BTreeMap::from([("rows".into(), rows as i64), ("columns".into(), columns as i64)]);
        let bindings = Bindings { sizes, data: vec![f32_bytes(&x), f32_bytes(&vec![f32::NAN; rows * columns])] };
        let Some([device, oracle]) = both(&program, bindings) else { return };
        assert_eq!(device, oracle, "{rows} x {columns}");
        let expected = |i: usize| if i % columns < 3 { 0.0 } else { 2.0 * x[i - 3] };
        assert_eq!(bytes_f32(&device[1]), (0..rows * columns).map(expected).collect::<Vec<_>>());
    }
}

#[test]
fn folded_axes_cover_everything_once() {
    let count = 2 * 3 * 2 * 3 * 2 * 2 * 3 * 2;
    let Some([device, oracle]) = both(&checked(programs::many_axes()), bind_data(vec![vec![0xff; count * 4]])) else { return };
    assert_eq!(device, oracle);
    assert!(i32s(&device[0]).iter().all(|v| *v >= 0));
}

#[test]
fn control_flow_equals_the_interpreter() {
    let mut rng = fastrand::Rng::with_seed(17);
    for _ in 0..4 {
        let x: Vec<i32> = (0..16).map(|_| rng.i32(0..20)).collect();
        let flags: Vec<i32> = (0..8).map(|i| x[i + rng.usize(0..2)]).collect();
        let data = vec![i32_bytes(&x), i32_bytes(&flags), vec![0; 32]];
        let Some([device, oracle]) = both(&checked(programs::control_flow()), bind_data(data)) else { return };
        assert_eq!(device, oracle);
    }
}

#[test]
fn minimum_and_maximum_keep_what_is_not_a_number() {
    let (count, data) = programs::extrema_data();
    let Some([device, oracle]) = both(&checked(programs::extrema(count)), bind_data(data)) else { return };
    for (n, (device, oracle)) in device.iter().zip(&oracle).enumerate() {
        let scalar = if n < 8 { Scalar::F32 } else { Scalar::F64 };
        assert_eq!(fuzz::canonical(scalar, device), fuzz::canonical(scalar, oracle), "parameter {n}");
    }
    // A pair of which one is NaN: the first six, and every sixth.
    let nans = bytes_f32(&device[2]).iter().enumerate().filter(|(_, v)| v.is_nan()).map(|(i, _)| i).collect::<Vec<_>>();
    assert_eq!(nans, [0, 1, 2, 3, 4, 5, 6, 12, 18, 24, 30]);
}

#[test]
fn random_expressions_equal_the_interpreter() {
    // SEEDS=200 looks further.
    let seeds = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(12);
    for seed in 0..seeds {
        let (program, data, outputs) = fuzz::expressions("fuzz", seed, false);
        let inputs = data.len() - outputs.len();
        let Some([device, oracle]) = both(&program, bind_data(data)) else { return };
        for (n, scalar) in outputs.into_iter().enumerate() {
            let (device, oracle) = (fuzz::canonical(scalar, &device[inputs + n]), fuzz::canonical(scalar, &oracle[inputs + n]));
            assert_eq!(device, oracle, "seed {seed}, out{n}: {}\n{}", scalar.name(), opencl(&program).unwrap().text);
        }
    }
}

/// Sums over `taps` rows and a window, 16 columns a work-item from one outside on, of vectors that reach over both ends of a row.
fn window(rows: i64, columns: i64, first: i64) -> Program {
    let groups = (columns + 15) / 16;
    text::parse(&format!(
        "program window {{ read buffer x: f32[5, {rows}, {columns}] write buffer y: f32[{rows}, {columns}] groups g = {groups}, h = {rows} {{
            let at = g * 16
            var sum: f32x16 = splat16(0.0)
            for c in 0..5 {{
                for r in 0..3 {{
                    let left = x[c, h + r - 1, at - {first} : 16 if 0 <= h + r - 1 < {rows}, 0 <= at - {first} < {columns} per lane]
                    let right = x[c, h, at + 2 : 16 if 0 <= at + 2 < {columns} per lane]
                    sum = fma(left, splat16(2.0), sum + right)
                }}
            }}
            y[h, at if 0 <= at < {columns} per lane] = sum
        }} }}"
    ))
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Loops whose loads are all inside are written once more without conditions: inside, at either end, and where nothing is inside.
#[test]
fn loops_in_two_versions_equal_the_interpreter() {
    let mut rng = fastrand::Rng::with_seed(21);
    for (rows, columns, first) in [(1, 1, 1), (3, 16, 1), (4, 18, 0), (2, 40, 3), (5, 66, 16), (3, 100, 20), (2, 64, 70)] {
        let program = checked(window(rows, columns, first));
        let x = floats(&mut rng, (5 * rows * columns) as usize);
        let data = vec![f32_bytes(&x), f32_bytes(&vec![f32::NAN; (rows * columns) as usize])];
        let Some([device, oracle]) = both(&program, bind_data(data)) else { return };
        assert_eq!(device, oracle, "{rows} x {columns}, {first}");
    }
}

/// What is decided before a loop is asked there, once; what depends on the loop stays in it.
#[test]
fn conditions_stand_before_loops_that_do_not_change_them() {
    let emitted = opencl(&checked(window(64, 100, 1))).expect("a supported Program").text;
    let (before, fast) = emitted.split_once("if (at - 1 >= 0 && at + 2 <= 84) {").unwrap_or_else(|| panic!("{emitted}"));
    assert!(!before.contains("for ("), "{emitted}");
    let (fast, slow) = fast.split_once("} else {").expect("two versions");
    assert_eq!((fast.matches("vload16").count(), fast.matches(".s0 =").count()), (2, 0), "{emitted}");
    assert!(fast.contains("h + r - 1") && fast.contains("64u"), "rows depend on the loop: {emitted}");
    assert_eq!((slow.matches("left.sF =").count(), slow.matches("right.sF =").count()), (1, 1), "{emitted}");
}

/// Work-items that take different versions of a loop would wait at different barriers.
#[test]
fn loops_with_barriers_are_written_once() {
    let program = text::parse(
        "program staged { read buffer x: f32[8, 40] write buffer y: f32[8, 40] local t: f32[64] groups g = 3 lanes l = 16 {
            let at = g * 16 + l
            var sum: f32 = 0.0
            for c in 0..8 {
                t[l] = x[c, at - 1 if 0 <= at - 1 < 40]
                barrier group local
                sum = sum + t[15 - l]
                barrier group local
            }
            y[0, at if 0 <= at < 40] = sum
        } }",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let emitted = opencl(&checked(program)).expect("a supported Program").text;
    assert_eq!((emitted.matches("for (").count(), emitted.matches("barrier(").count()), (1, 2), "{emitted}");
}
