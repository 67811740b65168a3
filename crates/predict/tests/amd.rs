//! Loads from device memory of a 7-point stencil on one die of an MI250X, measured by others, against the model; and the fit of the
//! cache's curve. To make `data/fits/dram.toml` anew: `WRITE_FITS=1 cargo test -p warpsight-predict --test amd`.

use std::path::Path;
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, BufferLayout, Bytes, Kernel, LaunchShape, LoadPath, Nest, NestVar, OpCounts, Scalar, Space,
    StorePolicy, TensorPlace, TensorUse, VarId, VarKind,
};
use warpsight_predict::volumes::dram::{Curve, Memory, Runs, Wave};
use warpsight_predict::volumes::subject::Subject;

/// Order of a thread's loads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Point by point: the point, its neighbours in x, y and z.
    Points,
    /// The plane below first, the plane above last, each for all points.
    Ascending,
}

/// A row of the tables: the launch, and what was measured.
struct Row {
    name: String,
    size: [i64; 3],
    /// Points of a thread, along y.
    tile: i64,
    order: Order,
    streaming_store: bool,
    /// Blocks of 256 a core holds: waves per SIMD unit as the compiler reported them.
    per_core: u64,
    /// Bytes loaded per interior point.
    measured: f64,
}

fn rows() -> Option<Vec<Row>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes/measured/amd_laplacian.json");
    if !file.exists() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", file.display());
        eprintln!("skipped: no recordings");
        return None;
    }
    let data: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let interior = |size: [i64; 3]| size.iter().map(|n| (n - 2) as f64).product::<f64>();
    let mut rows = Vec::new();
    for (size, row) in data["mi250x_gcd_kernel5_m8_size_scan"].as_object().unwrap() {
        let numbers: Vec<i64> = size.split('x').map(|n| n.parse().unwrap()).collect();
        rows.push(Row {
            name: format!("kernel5 {size}"),
            size: [numbers[0], numbers[1], numbers[2]],
            tile: 8,
            order: Order::Ascending,
            streaming_store: true,
            per_core: 5,
            measured: row["fetch_B_per_lup"].as_f64().unwrap(),
        });
    }
    let cube = &data["mi250x_gcd_512^3"];
    let mut add = |name: &str, tile: i64, order, streaming_store, gigabytes: &serde_json::Value| {
        // Registers of kernels 1 and 3 are published with their recordings: 8 waves up to a tile of 4, 5 at 8, 2 at 16.
        let per_core = if tile >= 16 {
            2
        } else if tile >= 8 {
            5
        } else {
            8
        };
        let size = [512; 3];
        let measured = gigabytes.as_f64().unwrap() * 1e9 / interior(size);
        rows.push(Row { name: name.into(), size, tile, order, streaming_store, per_core, measured });
    };
    add("kernel1", 1, Order::Points, false, &cube["kernel1_256x1x1"]["FETCH_GB"]);
    add("kernel1 non-temporal", 1, Order::Points, true, &cube["kernel1_nontemporal_store"]["FETCH_GB"]);
    for tile in [2, 4, 8] {
        add(&format!("kernel2 m{tile}"), tile, Order::Points, false, &cube["kernel2_ytile"][format!("m{tile}")][0]);
    }
    for (kernel, tiles) in [("kernel3_ytile_reordered", &[1, 2, 4, 8][..]), ("kernel4_launch_bounds", &[1, 2, 4, 8, 16])] {
        for &tile in tiles {
            add(&format!("{} m{tile}", &kernel[..7]), tile, Order::Ascending, false, &cube[kernel][format!("m{tile}")][0]);
        }
    }
    Some(rows)
}

impl Row {
    fn subject(&self) -> Subject {
        let groups = vec![self.size[0] as u32 / 256, (self.size[1] / self.tile) as u32, self.size[2] as u32];
        let lanes = vec![256, 1, 1];
        let kinds = [VarKind::Group, VarKind::Lane];
        let vars = kinds.iter().flat_map(|&kind| {
            let counts = if kind == VarKind::Group { &groups } else { &lanes };
            counts.iter().enumerate().map(move |(i, &n)| NestVar { name: format!("{kind:?}{i}").into(), kind, trips: Some(n) })
        });
        let tensor = |name: &str| TensorUse {
            name: name.into(),
            place: TensorPlace::Buffer {
                space: Space::Global,
                element: Scalar::F64,
                dims: self.size.iter().rev().copied().collect(),
                layout: BufferLayout::default(),
            },
        };
        let access = |tensor, kind, [dx, dy, dz]: [i64; 3]| {
            let axis = |axis: u16, block: i32, offset: i64| {
                let mut form = Affine::constant(offset);
                form.add_term(VarId(axis), block);
                form.add_term(VarId(3 + axis), if axis == 1 { self.tile as i32 } else { 1 });
                form
            };
            let coords = [axis(2, 1, dz), axis(1, self.tile as i32, dy), axis(0, 256, dx)].into_iter().collect();
            Nest::Access(AccessRef { tensor, kind, coords, width: 1, guard: vec![], path: LoadPath::Default, spread: None })
        };
        let load = |at| access(0, AccessKind::Load, at);
        let mut nest = Vec::new();
        let m = self.tile;
        match self.order {
            Order::Points => {
                for n in 0..m {
                    nest.extend([[0, n, 0], [-1, n, 0], [1, n, 0]].map(load));
                    // Neighbours in y within the tile are kept in registers.
                    if n == 0 {
                        nest.push(load([0, -1, 0]));
                    }
                    if n == m - 1 {
                        nest.push(load([0, m, 0]));
                    }
                    nest.extend([[0, n, -1], [0, n, 1]].map(load));
                }
            }
            Order::Ascending => {
                nest.extend((0..m).map(|n| load([0, n, -1])));
                nest.push(load([0, -1, 0]));
                nest.extend((0..m).flat_map(|n| [[-1, n, 0], [0, n, 0], [1, n, 0]]).map(load));
                nest.push(load([0, m, 0]));
                nest.extend((0..m).map(|n| load([0, n, 1])));
            }
        }
        let policy = if self.streaming_store { StorePolicy::NonTemporal } else { StorePolicy::WriteBack };
        nest.extend((0..m).map(|n| access(1, AccessKind::Store(policy), [0, n, 0])));
        let accesses = Accesses { vars: vars.collect(), tensors: vec![tensor("u"), tensor("f")], nest };
        Subject::of(&Kernel {
            name: "laplacian".into(),
            accesses,
            launch: LaunchShape { groups, lanes },
            registers: 32,
            local: Bytes(0.0),
            ops: OpCounts::default(),
        })
        .unwrap()
    }

    fn runs(&self, spread: f64) -> Runs {
        Runs::of(&self.subject(), &MEMORY, &Wave { blocks: 110 * self.per_core }, spread)
    }

    /// Predicted over measured.
    fn ratio(&self, runs: &Runs, curve: &Curve) -> f64 {
        runs.volumes(&MEMORY, curve).load / self.size.iter().map(|n| (n - 2) as f64).product::<f64>() / self.measured
    }
}

/// 8 MiB and 64 B: the die's second-level cache and what its memory delivers at once.
const MEMORY: Memory = Memory { fetch: 64, write: 64, l2_effective: 8.0 * 1024.0 * 1024.0, last_level: None };

#[test]
fn explore() {
    let Some(rows) = rows() else { return };
    for (on, name) in [(10, "scan"), (rows.len(), "all")] {
        let mut best: Vec<(f64, Curve)> = vec![];
        for spread in [0.0, 0.25, 0.5, 0.625, 0.75, 1.0] {
            let start = std::time::Instant::now();
            let runs: Vec<Runs> = rows.iter().map(|row| row.runs(spread)).collect();
            println!("{spread} {:?}", start.elapsed());
            for steepness in [4.0, 6.0, 8.0, 11.0, 15.0] {
                for k in 0..18 {
                    let curve = Curve { capacity: 0.5 * 1.1_f64.powi(k), steepness, spread };
                    let loss: f64 = (0..on).map(|i| rows[i].ratio(&runs[i], &curve).ln().powi(2)).sum();
                    best.push((loss, curve));
                }
            }
        }
        best.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (loss, curve) in &best[..5] {
            println!("{name} {loss:.4} {curve:?}");
        }
        let curve = best[0].1;
        for row in &rows {
            println!(
                "  {:30} measured {:6.2} predicted {:6.2}",
                row.name,
                row.measured,
                row.measured * row.ratio(&row.runs(curve.spread), &curve)
            );
        }
    }
}
