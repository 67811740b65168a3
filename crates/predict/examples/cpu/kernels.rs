//! Streams, stencils, transposes and gathers as Programs.

use std::fmt::Write;
use warpsight_ir::Scalar;

/// A kernel with its launch.
pub struct Case {
    pub name: &'static str,
    /// Work-items of a group along x, y, z.
    block: [u32; 3],
    /// Its Program.
    pub text: String,
    /// Bytes and elements of its buffers.
    pub memory: Vec<(u64, Scalar)>,
    /// Points it computes.
    pub points: u64,
}

impl Case {
    pub fn shape(&self) -> String {
        let [x, y, z] = self.block;
        format!("{x}×{y}×{z}")
    }
}

/// A kernel over a grid of points `n`, whose buffers are listed as (name, written, extents, slowest first).
fn case(name: &'static str, element: Scalar, n: [u32; 3], block: [u32; 3], buffers: &[(&str, bool, Vec<u32>)], body: &str) -> Case {
    let mut text = format!("program {} {{\n", name.replace([' ', '-'], "_"));
    for (buffer, written, dims) in buffers {
        let dims: Vec<String> = dims.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "  {} buffer {buffer}: {}[{}]", if *written { "write" } else { "read" }, element.name(), dims.join(", "));
    }
    let axes: Vec<usize> = (0..3).filter(|&i| n[i] > 1).collect();
    let list = |f: &dyn Fn(usize) -> String| axes.iter().map(|&i| f(i)).collect::<Vec<_>>().join(", ");
    let letter = |i: usize| ["x", "y", "z"][i];
    let _ = writeln!(text, "  groups {}", list(&|i| format!("g{} = {}", letter(i), n[i] / block[i])));
    let _ = writeln!(text, "  lanes {}\n  {{", list(&|i| format!("l{} = {}", letter(i), block[i])));
    for &i in &axes {
        let _ = writeln!(text, "    let {0} = g{0} * {1} + l{0}", letter(i), block[i]);
    }
    let _ = write!(text, "{body}\n  }}\n}}\n");
    let bytes = |dims: &[u32]| dims.iter().map(|&d| u64::from(d)).product::<u64>() * u64::from(element.bytes());
    let memory = buffers.iter().map(|(_, _, dims)| (bytes(dims), element)).collect();
    Case { name, block, text, memory, points: n.iter().map(|&n| u64::from(n)).product() }
}

/// What the machine's own numbers are taken from.
pub fn copies() -> [Case; 3] {
    [2048, 256, 16].map(|block| {
        let n = 1 << 24;
        case("copy", Scalar::F32, [n, 1, 1], [block, 1, 1], &[("a", false, vec![n]), ("b", true, vec![n])], "    b[x] = a[x]")
    })
}

/// Kernels that were run after the rules of the model were made.
pub fn held_out() -> Vec<Case> {
    let mut all = Vec::new();
    for block in [[200, 1, 1], [40, 5, 1], [8, 5, 5], [100, 2, 2]] {
        all.push(star("star3d-13", 3, 2, [200, 200, 200], block));
    }
    for block in [[512, 1, 1], [64, 8, 1], [16, 32, 1], [8, 8, 1]] {
        all.push(star("star2d-9", 2, 2, [2560, 2048, 1], block));
    }
    for block in [[186, 1, 1], [31, 8, 1], [62, 4, 1], [6, 16, 1]] {
        let (n, m) = (2976, 3008);
        let buffers = [("a", false, vec![m, n]), ("b", true, vec![n, m])];
        all.push(case("transpose-odd", Scalar::F32, [n, m, 1], block, &buffers, "    b[x, y] = a[y, x]"));
    }
    for block in [[32, 1, 1], [512, 1, 1]] {
        let n = 1 << 23;
        let buffers = [("a", false, vec![n]), ("b", false, vec![n]), ("c", false, vec![n]), ("d", true, vec![n])];
        let body = "    d[x] = fma(a[x], b[x], c[x])";
        all.push(case("stream-four", Scalar::F64, [n, 1, 1], block, &buffers, body));
    }
    for block in [50, 500] {
        let (n, k) = (10_000, 1500);
        let buffers = [("a", false, vec![k, n]), ("v", false, vec![k]), ("b", true, vec![n])];
        let body = format!("    var s: f64 = 0.0d\n    for k in 0..{k} {{\n      s = fma(a[k, x], v[k], s)\n    }}\n    b[x] = s");
        all.push(case("matvec-f64", Scalar::F64, [n, 1, 1], [block, 1, 1], &buffers, &body));
    }
    for block in [[250, 1, 1], [50, 4, 1], [10, 10, 1]] {
        all.push(filter("filter-9", 3000, 3, block));
    }
    for block in [64, 640] {
        let n = 640_000;
        let sums: String = (1..8).map(|i| format!("    let s{i} = fma(a[x, {i}], a[x, {i}], s{})\n", i - 1)).collect();
        let body = format!("    let s0 = a[x, 0] * a[x, 0]\n{sums}    b[x] = s7");
        all.push(case("aos-eight", Scalar::F32, [n, 1, 1], [block, 1, 1], &[("a", false, vec![n, 8]), ("b", true, vec![n])], &body));
    }
    all
}

/// More kernels, looked at before the last corrections.
fn more() -> Vec<Case> {
    let mut all = Vec::new();
    for block in [[192, 1, 1], [64, 2, 2], [32, 4, 4], [8, 8, 4]] {
        all.push(cube(block));
    }
    for block in [[4096, 1, 1], [64, 4, 1], [16, 16, 1], [4, 16, 1]] {
        let n = 4096;
        let buffers = [("a", false, vec![n, n]), ("b", true, vec![n, n])];
        all.push(case("copy2d", Scalar::F32, [n, n, 1], block, &buffers, "    b[y, x] = a[y, x]"));
    }
    for block in [[288, 1, 1], [32, 8, 1], [16, 16, 1], [8, 32, 1]] {
        let n = 2016;
        let buffers = [("a", false, vec![n, n]), ("b", true, vec![n, n])];
        all.push(case("transpose-f64", Scalar::F64, [n, n, 1], block, &buffers, "    b[y, x] = a[x, y]"));
    }
    for block in [[64, 4, 1], [16, 16, 1], [512, 1, 1]] {
        let n = 512;
        let buffers = [("a", false, vec![n, n]), ("b", false, vec![n, n]), ("c", true, vec![n, n])];
        let body = format!("    var s: f32 = 0.0\n    for k in 0..{n} {{\n      s = fma(a[y, k], b[k, x], s)\n    }}\n    c[y, x] = s");
        all.push(case("matmul", Scalar::F32, [n, n, 1], block, &buffers, &body));
    }
    for block in [[128, 1, 1], [1024, 1, 1]] {
        let n = 1 << 22;
        let buffers = [("a", false, vec![n, 4]), ("b", true, vec![n])];
        let body = "    b[x] = (a[x, 0] + a[x, 1]) + (a[x, 2] + a[x, 3])";
        all.push(case("aos-sum", Scalar::F32, [n, 1, 1], block, &buffers, body));
    }
    for block in [[256, 1, 1], [32, 8, 1], [8, 8, 1]] {
        all.push(filter("filter-25", 4096, 5, block));
    }
    all
}

/// All 27 neighbours with one weight.
fn cube(block: [u32; 3]) -> Case {
    let n = 192;
    let mut body = String::from("    let s0 = a[z, y, x]\n");
    for tap in 1..27 {
        let (i, j, k) = (tap % 3, tap / 3 % 3, tap / 9);
        let _ = writeln!(body, "    let s{tap} = fma(0.04, a[z + {k}, y + {j}, x + {i}], s{})", tap - 1);
    }
    body.push_str("    b[z, y, x] = s26");
    let buffers = [("a", false, vec![n + 2; 3]), ("b", true, vec![n; 3])];
    case("cube-27", Scalar::F32, [n; 3], block, &buffers, &body)
}

/// Kernels that the rules of the model were made by looking at.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for block in [64, 1024] {
        let n = 1 << 24;
        let buffers = [("a", false, vec![n]), ("b", false, vec![n]), ("c", true, vec![n])];
        all.push(case("triad", Scalar::F32, [n, 1, 1], [block, 1, 1], &buffers, "    c[x] = fma(2.5, b[x], a[x])"));
    }
    for block in [[256, 1, 1], [64, 4, 1], [16, 16, 1], [4, 64, 1]] {
        all.push(star("star2d-5", 2, 1, [3072, 3072, 1], block));
    }
    for block in [[256, 1, 1], [64, 4, 4], [16, 16, 1], [8, 8, 8], [4, 4, 16], [2, 16, 8]] {
        all.push(star("star3d-7", 3, 1, [256, 256, 256], block));
    }
    for block in [[128, 1, 1], [32, 8, 1], [16, 4, 4], [4, 4, 16]] {
        all.push(star("star3d-25", 3, 4, [256, 128, 128], block));
    }
    for block in [[256, 1, 1], [32, 8, 1], [16, 16, 1], [4, 64, 1]] {
        let n = 4096;
        let buffers = [("a", false, vec![n, n]), ("b", true, vec![n, n])];
        all.push(case("transpose", Scalar::F32, [n, n, 1], block, &buffers, "    b[x, y] = a[y, x]"));
    }
    for block in [[256, 1, 1], [16, 16, 1]] {
        all.push(filter("filter-49", 2048, 7, block));
    }
    for block in [64, 512] {
        let n = 1 << 22;
        let buffers = [("a", false, vec![n, 3]), ("b", true, vec![n])];
        let body = "    b[x] = fma(a[x, 0], a[x, 0], fma(a[x, 1], a[x, 1], a[x, 2] * a[x, 2]))";
        all.push(case("aos-norm", Scalar::F32, [n, 1, 1], [block, 1, 1], &buffers, body));
    }
    for block in [16, 256] {
        let (n, k) = (1 << 14, 1024);
        let row = [("a", false, vec![n, k]), ("v", false, vec![k]), ("b", true, vec![n])];
        let column = [("a", false, vec![k, n]), ("v", false, vec![k]), ("b", true, vec![n])];
        let body =
            |at: &str| format!("    var s: f32 = 0.0\n    for k in 0..{k} {{\n      s = fma(a[{at}], v[k], s)\n    }}\n    b[x] = s");
        all.push(case("matvec-row", Scalar::F32, [n, 1, 1], [block, 1, 1], &row, &body("x, k")));
        all.push(case("matvec-column", Scalar::F32, [n, 1, 1], [block, 1, 1], &column, &body("k, x")));
    }
    all.extend(more());
    all.sort_by_key(|case| case.name);
    all
}

/// A star of this range, in double precision; fields are padded by the range on every side.
fn star(name: &'static str, rank: usize, range: u32, n: [u32; 3], block: [u32; 3]) -> Case {
    let dims: Vec<u32> = n[..rank].iter().rev().map(|n| n + 2 * range).collect();
    let at = |axis: usize, by: u32| {
        let index = |i: usize| format!("{} + {}", ["x", "y", "z"][i], if i == axis { by } else { range });
        (0..rank).rev().map(index).collect::<Vec<_>>().join(", ")
    };
    let mut body = format!("    let s0 = a[{}]\n", at(0, range));
    let mut sums = 0;
    for axis in 0..rank {
        for by in (1..=range).flat_map(|d| [range - d, range + d]) {
            let _ = writeln!(body, "    let s{} = fma(0.25, a[{}], s{sums})", sums + 1, at(axis, by));
            sums += 1;
        }
    }
    let _ = write!(body, "    b[{}] = s{sums}", at(0, range));
    let buffers = [("a", false, dims.clone()), ("b", true, dims)];
    let body = body.replace("0.25", "0.25d");
    case(name, Scalar::F64, n, block, &buffers, &body)
}

/// A filter of `size` × `size` equal weights, written out.
fn filter(name: &'static str, n: u32, size: u32, block: [u32; 3]) -> Case {
    let mut body = "    let s0 = a[y, x]\n".to_owned();
    for tap in 1..size * size {
        let _ = writeln!(body, "    let s{tap} = fma(0.02, a[y + {}, x + {}], s{})", tap / size, tap % size, tap - 1);
    }
    let _ = write!(body, "    b[y, x] = s{}", size * size - 1);
    let side = n + size - 1;
    let buffers = [("a", false, vec![side, side]), ("b", true, vec![n, n])];
    case(name, Scalar::F32, [n, n, 1], block, &buffers, &body)
}
