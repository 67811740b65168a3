//! Closed-form volumes against counting every lane of every block.

use std::collections::HashSet;
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, AffineBound, BufferLayout, Bytes, Kernel, LaunchShape, LoadPath, Nest, NestVar, OpCounts,
    Reused, Scalar, Space, StorePolicy, TensorPlace, TensorUse, VarId, VarKind,
};
use warpsight_predict::volumes::behind::wave::{boxes, distinct as distinct_in};
use warpsight_predict::volumes::first_level::block::{block_uses, instructions};
use warpsight_predict::volumes::first_level::costs::{BlockUse, Sizes};
use warpsight_predict::volumes::first_level::warps::{distinct, wavefronts};
use warpsight_predict::volumes::kernel::subject::{Side, Subject};

const NVIDIA: Sizes = Sizes { warp: 32, sector: 32, line: 128, banks: 32, texture: None };

/// A random kernel over fields of one to three dimensions.
fn any_kernel(rng: &mut fastrand::Rng) -> Kernel {
    let rank = rng.usize(1..4);
    let lanes: Vec<u32> = (0..rank).map(|_| *rng.choice(&[1, 2, 3, 4, 6, 8, 16, 32]).unwrap()).collect();
    let groups: Vec<u32> = (0..rank).map(|_| rng.u32(1..5)).collect();
    let mut vars = Vec::new();
    let mut add = |name: String, kind, trips| {
        vars.push(NestVar { name: name.into(), kind, trips: Some(trips) });
        VarId(vars.len() as u16 - 1)
    };
    let g: Vec<VarId> = (0..rank).map(|i| add(format!("g{i}"), VarKind::Group, groups[i])).collect();
    let l: Vec<VarId> = (0..rank).map(|i| add(format!("l{i}"), VarKind::Lane, lanes[i])).collect();
    let loops: Vec<(VarId, u32)> = (0..rng.usize(0..3))
        .map(|i| {
            let trips = rng.u32(1..5);
            (add(format!("r{i}"), VarKind::Loop, trips), trips)
        })
        .collect();
    let mut tensors = Vec::new();
    let mut nest = Vec::new();
    for tensor in 0..rng.usize(1..3) {
        let element = *rng.choice(&[Scalar::F32, Scalar::F64, Scalar::F16]).unwrap();
        let dims: Vec<i64> = (0..rank).rev().map(|i| i64::from(lanes[i] * groups[i]) + rng.i64(0..9)).collect();
        let strides = if rng.bool() {
            vec![]
        } else {
            // Rows with padding.
            let row = dims[rank - 1] + rng.i64(0..5);
            [row * dims.get(rank.wrapping_sub(2)).copied().unwrap_or(1), row, 1][3 - rank..].to_vec()
        };
        let layout = BufferLayout { strides, align: rng.i64(0..5) };
        tensors.push(TensorUse {
            name: format!("t{tensor}").into(),
            place: TensorPlace::Buffer { space: Space::Global, element, dims: dims.clone(), layout },
        });
        let permuted = rank > 1 && rng.u8(0..4) == 0;
        for _ in 0..rng.usize(1..7) {
            let coords = (0..rank).map(|d| {
                // Slowest dimension first: the last coordinate follows the fastest axis, unless permuted.
                let axis = if permuted { d } else { rank - 1 - d };
                let factor = if rng.u8(0..5) == 0 { rng.i32(1..4) } else { 1 };
                let mut form = Affine::constant(rng.i64(-3..4));
                form.add_term(g[axis], lanes[axis] as i32 * factor).expect("small");
                form.add_term(l[axis], factor).expect("small");
                if let Some((var, _)) = loops.get(d)
                    && rng.bool()
                {
                    form.add_term(*var, rng.i32(1..4)).expect("small");
                }
                if rng.u8(0..12) == 0 {
                    // A variable that moves two coordinates.
                    form.add_term(l[0], 1).expect("small");
                }
                form
            });
            let coords: Vec<Affine> = coords.collect();
            let guard = if rng.u8(0..3) == 0 {
                let axis = rng.usize(0..rank);
                let mut value = Affine::constant(rng.i64(-2..2));
                value.add_term(g[axis], lanes[axis] as i32).expect("small");
                value.add_term(l[axis], 1).expect("small");
                vec![AffineBound { value, extent: i64::from(lanes[axis] * groups[axis]) - rng.i64(0..6), per_lane: false }]
            } else {
                vec![]
            };
            let kind = if rng.u8(0..4) == 0 { AccessKind::Store(StorePolicy::WriteBack) } else { AccessKind::Load };
            let width = if rng.u8(0..6) == 0 { 2 } else { 1 };
            let coords = coords.into();
            let access = AccessRef {
                tensor: tensor as u16,
                kind,
                coords,
                width,
                guard,
                path: LoadPath::Default,
                indirect: None,
                branch: None,
                ahead: false,
                times: 1,
            };
            nest.push(Nest::Access(access));
        }
    }
    for &(var, _) in loops.iter().rev() {
        nest = vec![Nest::Loop { var, body: nest }];
    }
    Kernel {
        name: "random".into(),
        accesses: Accesses { vars, tensors, nest },
        launch: LaunchShape { groups, lanes },
        registers: 32,
        kept: 0,
        reused: Reused::default(),
        chain: None,
        known: vec![],
        local: Bytes(0.0),
        ops: OpCounts::default(),
    }
}

/// Every combination of values below these counts, the first fastest.
fn odometer(counts: &[u32]) -> Vec<Vec<i64>> {
    let total: u64 = counts.iter().map(|&c| u64::from(c)).product();
    (0..total)
        .map(|mut n| {
            counts
                .iter()
                .map(|&c| {
                    let value = (n % u64::from(c)) as i64;
                    n /= u64::from(c);
                    value
                })
                .collect()
        })
        .collect()
}

/// (executions, sectors, lines, wavefronts) of each access in program order, and the uses of blocks.
fn brute(kernel: &Kernel, sizes: Sizes) -> (Vec<[u64; 4]>, Vec<BlockUse>) {
    let accesses = &kernel.accesses;
    let mut flat = Vec::new();
    let mut loops = Vec::new();
    let mut nest = accesses.nest.as_slice();
    while let [Nest::Loop { var, body }] = nest {
        loops.push(accesses.vars[usize::from(var.0)].trips.unwrap());
        nest = body;
    }
    flat.extend(nest.iter().filter_map(|node| match node {
        Nest::Access(access) => Some(access),
        _ => None,
    }));
    let rank = kernel.launch.groups.len();
    let (blocks, lanes, trips) = (odometer(&kernel.launch.groups), odometer(&kernel.launch.lanes), odometer(&loops));
    let address = |access: &AccessRef, values: &[i64]| {
        let TensorPlace::Buffer { element, dims, layout, .. } = &accesses.tensors[usize::from(access.tensor)].place else { panic!() };
        let mut strides = layout.strides.clone();
        if strides.is_empty() {
            strides = (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect();
        }
        let at = |form: &Affine| form.eval(|var| values[usize::from(var.0)]).expect("small");
        let linear: i64 = access.coords.iter().zip(&strides).map(|(form, stride)| at(form) * stride).sum();
        (layout.align + linear) * i64::from(element.bytes())
    };
    let mut costs = vec![[0; 4]; flat.len()];
    let mut uses = vec![BlockUse::default(); accesses.tensors.len()];
    for block in &blocks {
        let mut sets = vec![[HashSet::new(), HashSet::new(), HashSet::new()]; accesses.tensors.len()];
        for (access, cost) in flat.iter().zip(&mut costs) {
            let TensorPlace::Buffer { element, .. } = &accesses.tensors[usize::from(access.tensor)].place else { panic!() };
            let bytes = i64::from(access.width) * i64::from(element.bytes());
            for trip in &trips {
                for warp in lanes.chunks(sizes.warp as usize) {
                    let mut offsets = Vec::new();
                    for lane in warp {
                        // The loops are listed outermost first, their variables in order of making.
                        let values: Vec<i64> = block.iter().chain(lane).chain(trip).copied().collect();
                        let inside =
                            |b: &AffineBound| (0..b.extent).contains(&b.value.eval(|var| values[usize::from(var.0)]).expect("small"));
                        if access.guard.iter().all(inside) {
                            offsets.push(address(access, &values));
                        }
                    }
                    let Some(&first) = offsets.first() else { continue };
                    let begin = first.rem_euclid(128);
                    offsets.iter_mut().for_each(|offset| *offset -= first);
                    cost[0] += 1;
                    cost[1] += distinct(&offsets, bytes, begin, sizes.sector.into());
                    cost[2] += distinct(&offsets, bytes, begin, sizes.line.into());
                    cost[3] += wavefronts(&offsets, bytes, begin, sizes.banks as usize);
                    for offset in offsets {
                        let pieces =
                            |size: u32| (first + offset).div_euclid(size.into())..=(first + offset + bytes - 1).div_euclid(size.into());
                        let set = &mut sets[usize::from(access.tensor)];
                        if access.kind == AccessKind::Load {
                            set[0].extend(pieces(sizes.sector));
                            set[1].extend(pieces(sizes.line));
                        } else {
                            set[2].extend(pieces(sizes.sector));
                        }
                    }
                }
            }
        }
        for (total, set) in uses.iter_mut().zip(&sets) {
            total.loaded_sectors += set[0].len() as u64;
            total.loaded_lines += set[1].len() as u64;
            total.stored_sectors += set[2].len() as u64;
        }
    }
    assert_eq!(rank, kernel.launch.lanes.len());
    (costs, uses)
}

#[test]
fn requested_and_compulsory_volumes_equal_enumeration() {
    let mut rng = fastrand::Rng::with_seed(2026);
    for case in 0..1500 {
        let kernel = any_kernel(&mut rng);
        if kernel.launch.group_count() * u64::from(kernel.launch.group_size()) > 4000 {
            continue;
        }
        let subject = Subject::of(&kernel).expect("affine and known");
        let (costs, uses) = brute(&kernel, NVIDIA);
        let mut found = instructions(&subject, NVIDIA);
        found.sort_by_key(|instruction| instruction.position);
        let found: Vec<[u64; 4]> = found.iter().map(|i| [i.executions, i.sectors, i.lines, i.wavefronts]).collect();
        assert_eq!(found, costs, "case {case}: {kernel:?}");
        assert_eq!(block_uses(&subject, NVIDIA), uses, "case {case}: {kernel:?}");
    }
}

/// Lines that the blocks of a run touch, lane by lane.
fn brute_run(kernel: &Kernel, run: std::ops::Range<usize>, tensor: usize, side: Side, line: i64) -> u64 {
    let accesses = &kernel.accesses;
    let (mut loops, mut nest) = (Vec::new(), accesses.nest.as_slice());
    while let [Nest::Loop { var, body }] = nest {
        loops.push(accesses.vars[usize::from(var.0)].trips.unwrap());
        nest = body;
    }
    let TensorPlace::Buffer { element, dims, layout, .. } = &accesses.tensors[tensor].place else { panic!() };
    let packed: Vec<i64> = (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect();
    let strides = if layout.strides.is_empty() { &packed } else { &layout.strides };
    let mut lines = HashSet::new();
    let (lanes, trips) = (odometer(&kernel.launch.lanes), odometer(&loops));
    for block in &odometer(&kernel.launch.groups)[run] {
        for node in nest {
            let Nest::Access(access) = node else { continue };
            if usize::from(access.tensor) != tensor || !side.has(access.kind) {
                continue;
            }
            for lane in &lanes {
                for trip in &trips {
                    let values: Vec<i64> = block.iter().chain(lane).chain(trip).copied().collect();
                    let at = |form: &Affine| form.eval(|var| values[usize::from(var.0)]).expect("small");
                    let linear: i64 = access.coords.iter().zip(strides).map(|(form, stride)| at(form) * stride).sum();
                    let first = (layout.align + linear) * i64::from(element.bytes());
                    let last = first + i64::from(access.width) * i64::from(element.bytes()) - 1;
                    lines.extend(first.div_euclid(line)..=last.div_euclid(line));
                }
            }
        }
    }
    lines.len() as u64
}

#[test]
fn what_runs_of_blocks_touch_equals_enumeration() {
    let mut rng = fastrand::Rng::with_seed(77);
    for case in 0..800 {
        let mut kernel = any_kernel(&mut rng);
        if kernel.launch.group_count() * u64::from(kernel.launch.group_size()) > 3000 {
            continue;
        }
        unguard(&mut kernel.accesses.nest);
        let subject = Subject::of(&kernel).expect("affine and known");
        let total = kernel.launch.group_count();
        let first = rng.u64(0..total);
        let count = rng.u64(1..=total - first);
        let boxes = boxes(&kernel.launch.groups, first, count);
        for (tensor, field) in subject.fields.iter().enumerate() {
            for (side, line) in [(Side::Loads, 32), (Side::Loads, 128), (Side::Stores, 64)] {
                let found = distinct_in(&subject, field, side, &boxes, line);
                let expected = brute_run(&kernel, first as usize..(first + count) as usize, tensor, side, line);
                assert_eq!(found, expected, "case {case}, blocks {first} + {count}, {side:?} in lines of {line}: {kernel:?}");
            }
        }
    }
}

fn unguard(nest: &mut [Nest]) {
    for node in nest {
        match node {
            Nest::Access(access) => access.guard.clear(),
            Nest::Loop { body, .. } => unguard(body),
            Nest::Barrier => {}
        }
    }
}

/// Small launches with several points to a thread, next to each other or a block apart.
fn folded() -> Vec<(String, Kernel)> {
    let mut cases = Vec::new();
    for mode in ["consecutive", "strided"] {
        for (block, fold) in [
            ([8, 4, 2], [1, 1, 2]),
            ([8, 4, 2], [1, 2, 1]),
            ([8, 4, 2], [2, 1, 1]),
            ([16, 2, 1], [4, 1, 2]),
            ([32, 1, 1], [1, 4, 1]),
            ([4, 4, 4], [2, 2, 2]),
            ([16, 4, 1], [1, 3, 1]),
        ] {
            for element in ["f32", "f64"] {
                for align in [0, 3] {
                    let extent: Vec<u32> = (0..3).map(|i| block[i] * fold[i] * 2).collect();
                    let text = format!(
                        "name = \"folded\"\nblock = {block:?}\ndomain = {extent:?}\nfold = {fold:?}\nfold_mode = \"{mode}\"\nregisters = 32\n\
                         [[field]]\nname = \"A\"\nelement = \"{element}\"\ndims = {extent:?}\nalign = {align}\n\
                         load = [[\"tx\", \"ty\", \"tz\"], [\"tx+1\", \"ty\", \"tz\"], [\"tx\", \"ty-1\", \"tz\"], [\"tx\", \"ty\", \"tz+1\"]]\n\
                         [[field]]\nname = \"B\"\nelement = \"{element}\"\ndims = {extent:?}\nstore = [[\"tx\", \"ty\", \"tz\"]]\n"
                    );
                    let written = warpsight_ir::accesses::text::parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
                    cases.push((format!("{block:?} {fold:?} {mode} {element} align {align}"), written.kernel));
                }
            }
        }
    }
    cases
}

/// Requested and compulsory sectors, wavefronts, and lines of half the launch, as numbers of a case.
fn numbers(costs: &[[u64; 4]], uses: &[BlockUse], lines: [u64; 2]) -> [u64; 6] {
    let sum = |i: usize| costs.iter().map(|cost| cost[i]).sum();
    let both = uses.iter().map(|use_| use_.loaded_sectors + use_.stored_sectors).sum();
    [costs.len() as u64, sum(1), sum(3), both, lines[0], lines[1]]
}

/// 56 launches against numbers that lane-by-lane counting wrote: `WRITE_GOLDENS=1 cargo test -p warpsight-predict --test volumes`.
#[test]
fn folded_and_strided_launches_equal_committed_counts() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/folded.json");
    let cases = folded();
    assert!(cases.len() >= 40, "{}", cases.len());
    if std::env::var_os("WRITE_GOLDENS").is_some() {
        let counted = cases.iter().map(|(name, kernel)| {
            let (costs, uses) = brute(kernel, NVIDIA);
            let half = kernel.launch.group_count() as usize / 2;
            let lines = [(0, Side::Loads), (1, Side::Stores)].map(|(tensor, side)| brute_run(kernel, 0..half, tensor, side, 64));
            format!("  {name:?}: {:?}", numbers(&costs, &uses, lines))
        });
        let text = format!("{{\n{}\n}}\n", counted.collect::<Vec<_>>().join(",\n"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
    }
    let goldens: std::collections::BTreeMap<String, [u64; 6]> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(goldens.len(), cases.len());
    for (name, kernel) in cases {
        let subject = Subject::of(&kernel).unwrap();
        let costs: Vec<[u64; 4]> =
            instructions(&subject, NVIDIA).iter().map(|i| [i.executions, i.sectors, i.lines, i.wavefronts]).collect();
        let run = boxes(&kernel.launch.groups, 0, kernel.launch.group_count() / 2);
        let lines =
            [(0, Side::Loads), (1, Side::Stores)].map(|(field, side)| distinct_in(&subject, &subject.fields[field], side, &run, 64));
        assert_eq!(numbers(&costs, &block_uses(&subject, NVIDIA), lines), goldens[&name], "{name}");
    }
}
