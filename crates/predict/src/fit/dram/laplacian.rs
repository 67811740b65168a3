//! Recordings of a 7-point stencil on one die of an MI250X (AMD lab notes, finite difference), and its kernels as accesses.

use crate::fit::{FitError, LAPLACIAN, Recordings};
use serde_json::Value;

use crate::volumes::behind::dram::{Between, Curve, Memory, Runs, Wave};
use crate::volumes::kernel::subject::Subject;
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, BufferLayout, Bytes, Kernel, LaunchShape, LoadPath, Nest, NestVar, OpClass, OpCounts, Reused,
    Scalar, Space, StorePolicy, TensorPlace, TensorUse, VarId, VarKind,
};

/// Order of a thread's loads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Point by point: the point, its neighbours in x, y and z.
    Points,
    /// The plane below first, the plane above last, each for all points.
    Ascending,
}

/// A row of the tables: the launch, and what was measured.
pub struct Row {
    /// `kernel5 512x512x512`, ….
    pub name: String,
    /// Points along x, y and z.
    pub size: [i64; 3],
    /// Points of a thread, along y.
    pub tile: i64,
    /// Threads of a block along x and z.
    pub block: [i64; 2],
    /// Axes along which blocks are launched, the fastest first.
    pub launched: [usize; 3],
    /// Launches that the domain is cut into, along y.
    pub launches: i64,
    /// Of loads.
    pub order: Order,
    /// Whether stores pass caches by.
    pub streaming_store: bool,
    /// Blocks of 256 a core holds: waves per SIMD unit as the compiler reported them.
    pub per_core: u64,
    /// Bytes loaded per interior point.
    pub measured: f64,
}

/// Points that are no edge.
pub fn interior(size: [i64; 3]) -> f64 {
    size.iter().map(|n| (n - 2) as f64).product()
}

/// Points along an axis that launches are made of: few enough for every count.
const SIDES: std::ops::RangeInclusive<i64> = 3..=1 << 14;

fn number(value: &Value) -> Result<f64, FitError> {
    value.as_f64().ok_or(FitError::Short("number where one belongs"))
}

/// The recording.
pub fn recorded(recordings: &Recordings) -> Result<Value, FitError> {
    recordings.json(LAPLACIAN)
}

/// The rows that the fit is made of.
pub fn rows(recordings: &Recordings) -> Result<Vec<Row>, FitError> {
    let data = recorded(recordings)?;
    let mut rows = Vec::new();
    for (size, row) in data["mi250x_gcd_kernel5_m8_size_scan"].as_object().ok_or(FitError::Short("scan over sizes"))? {
        let numbers: Vec<i64> = size.split('x').filter_map(|n| n.parse().ok()).filter(|n| SIDES.contains(n)).collect();
        rows.push(Row {
            name: format!("kernel5 {size}"),
            size: numbers.try_into().map_err(|_| FitError::Short("size of three numbers"))?,
            tile: 8,
            block: [256, 1],
            launched: [0, 1, 2],
            launches: 1,
            order: Order::Ascending,
            streaming_store: true,
            per_core: 5,
            measured: number(&row["fetch_B_per_lup"])?,
        });
    }
    let cube = &data["mi250x_gcd_512^3"];
    let mut add = |name: &str, tile: i64, order, streaming_store, gigabytes: &Value| -> Result<(), FitError> {
        // Registers of kernels 1 and 3 are published with their recordings: 8 waves up to a tile of 4, 5 at 8, 2 at 16.
        let per_core = if tile >= 16 {
            2
        } else if tile >= 8 {
            5
        } else {
            8
        };
        let size = [512; 3];
        let measured = number(gigabytes)? * 1e9 / interior(size);
        let (block, launched, launches) = ([256, 1], [0, 1, 2], 1);
        rows.push(Row { name: name.into(), size, tile, block, launched, launches, order, streaming_store, per_core, measured });
        Ok(())
    };
    add("kernel1", 1, Order::Points, false, &cube["kernel1_256x1x1"]["FETCH_GB"])?;
    add("kernel1 non-temporal", 1, Order::Points, true, &cube["kernel1_nontemporal_store"]["FETCH_GB"])?;
    for tile in [2, 4, 8] {
        add(&format!("kernel2 m{tile}"), tile, Order::Points, false, &cube["kernel2_ytile"][format!("m{tile}")][0])?;
    }
    for (kernel, tiles) in [("kernel3_ytile_reordered", &[1, 2, 4, 8][..]), ("kernel4_launch_bounds", &[1, 2, 4, 8, 16])] {
        for &tile in tiles {
            add(&format!("{} m{tile}", &kernel[..7]), tile, Order::Ascending, false, &cube[kernel][format!("m{tile}")][0])?;
        }
    }
    Ok(rows)
}

impl Row {
    /// The launch as the model sees it.
    pub fn subject(&self) -> Subject {
        // Sizes are within `SIDES`.
        Subject::of(&self.kernel()).expect("a launch with its sizes")
    }

    /// One launch.
    pub fn kernel(&self) -> Kernel {
        let steps = [self.block[0], self.tile, self.block[1]];
        let extents = [self.size[0], self.size[1] / self.launches, self.size[2]];
        let groups: Vec<u32> = self.launched.iter().map(|&axis| (extents[axis] / steps[axis]) as u32).collect();
        let lanes = vec![self.block[0] as u32, 1, self.block[1] as u32];
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
                let group = self.launched.iter().position(|&own| own == usize::from(axis)).expect("all axes are launched");
                form.add_term(VarId(group as u16), block).expect("small");
                form.add_term(VarId(3 + axis), if axis == 1 { self.tile as i32 } else { 1 }).expect("small");
                form
            };
            let coords = [axis(2, self.block[1] as i32, dz), axis(1, self.tile as i32, dy), axis(0, self.block[0] as i32, dx)];
            let coords = coords.into_iter().collect();
            Nest::Access(AccessRef {
                tensor,
                kind,
                coords,
                width: 1,
                guard: vec![],
                path: LoadPath::Default,
                indirect: None,
                branch: None,
                ahead: false,
                times: 1,
            })
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
        let mut ops = OpCounts::default();
        // Seven neighbours with a factor each.
        ops.add(OpClass::Fma, Scalar::F64, 1, 7 * m.unsigned_abs());
        // As many as leave room for the waves that were reported.
        let waves = self.per_core * (self.block[0] * self.block[1]).unsigned_abs() / 256;
        let registers = (512 / waves / 8 * 8) as u32;
        Kernel {
            name: "laplacian".into(),
            accesses,
            launch: LaunchShape { groups, lanes },
            registers,
            kept: 0,
            reused: Reused::default(),
            local: Bytes(0.0),
            ops,
            chain: None,
            known: vec![],
        }
    }

    /// What stays for later blocks, where loads are spread over this part of a block's life.
    pub fn runs(&self, spread: f64) -> Runs {
        Runs::of(&self.subject(), &MEMORY, &Wave { blocks: 110 * self.per_core }, spread)
    }

    /// Predicted over measured.
    pub fn ratio(&self, runs: &Runs, curve: &Curve) -> f64 {
        runs.volumes(&MEMORY, curve).load * self.launches as f64 / interior(self.size) / self.measured
    }
}

/// 8 MiB and 64 B: the die's second-level cache and what its memory delivers at once.
pub const MEMORY: Memory =
    Memory { fetch: 64, write: 64, l2_effective: 8.0 * 1024.0 * 1024.0, last_level: None, between: Between::NOTHING };

/// Launches of 1024³: that of the size scan, and three that the fit has nothing of: a deep block, blocks launched along y and z before x,
/// and four launches of 256 rows. With them their recorded effective bandwidth and hits of the second level.
pub fn large_rows(data: &Value) -> Result<Vec<(Row, f64, f64)>, FitError> {
    let cube = &data["mi250x_gcd_1024^3"];
    let size = [1024; 3];
    let row = |name: &str, block, launched, launches, per_core| -> Result<_, FitError> {
        let recorded = &cube[name];
        // The grid without its edges, once.
        let least = (1024_f64.powi(3) - 8.0 - 12.0 * 1022.0) * 8.0;
        let measured = least / (number(&recorded["fetch_eff_pct"])? / 100.0) / interior(size);
        let (order, streaming_store, name) = (Order::Ascending, true, name.to_owned());
        let row = Row { name, size, tile: 8, block, launched, launches, order, streaming_store, per_core, measured };
        Ok((row, number(&recorded["FOM_GBs"])?, number(&recorded["L2hit_pct"])?))
    };
    let rows = [
        row("kernel5_256x1x1_m8", [256, 1], [0, 1, 2], 1, 5),
        // Blocks of 1024 threads: one where five of 256 fit.
        row("kernel5_128x1x8", [128, 8], [0, 1, 2], 1, 1),
        row("kernel6_grid_reindex", [256, 1], [1, 2, 0], 1, 5),
        row("kernel7_subdomain_split", [256, 1], [0, 1, 2], 4, 5),
    ];
    rows.into_iter().collect()
}
