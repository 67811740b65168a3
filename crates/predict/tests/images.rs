//! Images: closed forms against every texel of every lane.

use std::collections::HashSet;
use warpsight_ir::accesses::text;
use warpsight_ir::layout::{ImageLayout, Mapper};
use warpsight_ir::profile::builtin;
use warpsight_ir::program::{ImageFormat, ImageKind};
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, AffineBound, Bytes, CostModel, Kernel, LaunchShape, Limiter, LoadPath, Nest, NestVar,
    NoEstimate, OpCounts, Reused, StorePolicy, TensorPlace, TensorUse, VarId, VarKind,
};
use warpsight_predict::KernelModel;
use warpsight_predict::volumes::behind::wave::{boxes, distinct};
use warpsight_predict::volumes::first_level::block::{block_uses, instructions};
use warpsight_predict::volumes::first_level::costs::Sizes;
use warpsight_predict::volumes::kernel::subject::{Side, Subject};
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

const LAYOUTS: [ImageLayout; 6] = [
    ImageLayout::Linear { pitch_align: 1 },
    ImageLayout::Linear { pitch_align: 64 },
    ImageLayout::AdrenoTiled { channels: 4, highest_bank_bit: 15 },
    ImageLayout::AdrenoTiled { channels: 8, highest_bank_bit: 16 },
    ImageLayout::MaliInterleaved,
    ImageLayout::NvidiaBlockLinear { gobs_log2: 4 },
];

/// A kernel that reads and writes texels of one image, all of them inside.
fn any_kernel(rng: &mut fastrand::Rng) -> Kernel {
    let lanes: Vec<u32> = (0..2).map(|_| *rng.choice(&[1, 2, 3, 5, 8, 16, 32]).unwrap()).collect();
    let groups: Vec<u32> = (0..2).map(|_| rng.u32(1..6)).collect();
    let trips = rng.u32(1..5);
    let looped = rng.bool();
    let axis = |name: &str, kind, trips| NestVar { name: name.into(), kind, trips: Some(trips) };
    let vars = vec![
        axis("gx", VarKind::Group, groups[0]),
        axis("gy", VarKind::Group, groups[1]),
        axis("lx", VarKind::Lane, lanes[0]),
        axis("ly", VarKind::Lane, lanes[1]),
        axis("k", VarKind::Loop, trips),
    ];
    let (mut nest, mut most) = (Vec::new(), [0; 2]);
    for _ in 0..rng.usize(1..6) {
        let swapped = rng.u8(0..5) == 0;
        let coords: Vec<Affine> = (0..2)
            .map(|i| {
                let along = if swapped { 1 - i } else { i };
                let factor = if rng.u8(0..4) == 0 { rng.i32(1..4) } else { 1 };
                let mut form = Affine::constant(rng.i64(0..9));
                form.add_term(VarId(along as u16), lanes[along] as i32 * factor).expect("small");
                form.add_term(VarId(2 + along as u16), factor).expect("small");
                if looped && rng.bool() {
                    form.add_term(VarId(4), rng.i32(1..6)).expect("small");
                }
                if rng.u8(0..10) == 0 {
                    // A lane that moves both coordinates.
                    form.add_term(VarId(2), 1).expect("small");
                }
                form
            })
            .collect();
        for (form, most) in coords.iter().zip(&mut most) {
            *most = form.range(|var| (0, i64::from(vars[usize::from(var.0)].trips.unwrap()) - 1)).ends().1.max(*most);
        }
        let guard = if rng.u8(0..3) == 0 {
            let at = rng.usize(0..2);
            let mut value = Affine::constant(rng.i64(-2..2));
            value.add_term(VarId(at as u16), lanes[at] as i32).expect("small");
            value.add_term(VarId(2 + at as u16), 1).expect("small");
            vec![AffineBound { value, extent: i64::from(lanes[at] * groups[at]) - rng.i64(0..6), per_lane: false }]
        } else {
            vec![]
        };
        let kind = if rng.u8(0..4) == 0 { AccessKind::Store(StorePolicy::WriteBack) } else { AccessKind::Load };
        nest.push(Nest::Access(AccessRef {
            tensor: 0,
            kind,
            coords: coords.into(),
            width: 1,
            guard,
            path: LoadPath::Default,
            indirect: None,
            branch: None,
            ahead: false,
            times: 1,
        }));
    }
    if looped {
        nest = vec![Nest::Loop { var: VarId(4), body: nest }];
    }
    let format = *rng.choice(&[ImageFormat::Rgba8Unorm, ImageFormat::Rgba16F, ImageFormat::Rgba32F]).unwrap();
    let [width, height] = most.map(|most| most + 1 + rng.i64(0..20));
    let kind = if rng.u8(0..6) == 0 { ImageKind::Image2dFromBuffer } else { ImageKind::Image2d };
    let place = TensorPlace::Image { kind, format, width, height };
    Kernel {
        name: "random".into(),
        accesses: Accesses { vars, tensors: vec![TensorUse { name: "image".into(), place }], nest },
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
    counts.iter().rev().fold(vec![vec![]], |all, &count| {
        all.iter().flat_map(|rest: &Vec<i64>| (0..i64::from(count)).map(move |n| [&[n][..], rest.as_slice()].concat())).collect()
    })
}

/// The lines of a texel.
fn lines(mapper: &Mapper, x: i64, y: i64, texel: u64, line: u64) -> std::ops::RangeInclusive<u64> {
    let first = mapper.address(x as u32, y as u32);
    first / line..=(first + texel - 1) / line
}

#[test]
fn closed_forms_equal_every_texel() {
    let mut rng = fastrand::Rng::with_seed(21);
    let (mut tiled, mut rows) = (0, 0);
    for case in 0..600 {
        let kernel = any_kernel(&mut rng);
        let layout = *rng.choice(&LAYOUTS).unwrap();
        let sector = *rng.choice(&[16, 32, 64]).unwrap();
        let sizes = Sizes {
            warp: *rng.choice(&[16, 32, 64]).unwrap(),
            sector,
            line: sector * rng.choice(&[1, 2, 4]).unwrap(),
            banks: 32,
            texture: None,
        };
        let TensorPlace::Image { kind, format, width, height } = kernel.accesses.tensors[0].place else { panic!("an image") };
        let texel = u64::from(format.bytes());
        let mapper = layout.of(kind).mapper(width as u32, height as u32, texel as u32);
        let linear = |layout| matches!(layout, ImageLayout::Linear { .. });
        tiled += u32::from(!linear(layout.of(kind)));
        rows += u32::from(!linear(layout) && linear(layout.of(kind)));

        let (body, trips) = match kernel.accesses.nest.as_slice() {
            [Nest::Loop { body, .. }] => (body.as_slice(), kernel.accesses.vars[4].trips.unwrap()),
            flat => (flat, 1),
        };
        let accesses: Vec<&AccessRef> =
            body.iter().map(|node| if let Nest::Access(access) = node { access } else { panic!("flat") }).collect();
        let mut expected = vec![[0_u64; 3]; accesses.len()];
        let mut uses = [0_u64; 3];
        let (all, run): (_, u64) = (kernel.launch.group_count(), rng.u64(1..kernel.launch.group_count() + 1));
        let first = rng.u64(0..all);
        let mut in_run: [HashSet<u64>; 2] = Default::default();
        for (number, block) in odometer(&kernel.launch.groups).iter().enumerate() {
            let mut of_block: [HashSet<u64>; 3] = Default::default();
            for (access, costs) in accesses.iter().zip(&mut expected) {
                let store = access.kind != AccessKind::Load;
                for k in 0..i64::from(trips) {
                    for warp in odometer(&kernel.launch.lanes).chunks(sizes.warp as usize) {
                        let mut found: [HashSet<u64>; 2] = Default::default();
                        for lane in warp {
                            let value = |var: VarId| [block[0], block[1], lane[0], lane[1], k][usize::from(var.0)];
                            let [x, y] = [0, 1].map(|i| access.coords[i].eval(value).expect("small"));
                            // Runs of blocks count lanes beyond a guard as active.
                            if (first..first + run).contains(&(number as u64)) {
                                in_run[usize::from(store)].extend(lines(&mapper, x, y, texel, sizes.line.into()));
                            }
                            if !access.guard.iter().all(|bound| (0..bound.extent).contains(&bound.value.eval(value).expect("small"))) {
                                continue;
                            }
                            found[0].extend(lines(&mapper, x, y, texel, sizes.sector.into()));
                            found[1].extend(lines(&mapper, x, y, texel, sizes.line.into()));
                            of_block[if store { 2 } else { 0 }].extend(lines(&mapper, x, y, texel, sizes.sector.into()));
                            if !store {
                                of_block[1].extend(lines(&mapper, x, y, texel, sizes.line.into()));
                            }
                        }
                        if !found[0].is_empty() {
                            costs[0] += 1;
                            costs[1] += found[0].len() as u64;
                            costs[2] += found[1].len() as u64;
                        }
                    }
                }
            }
            uses.iter_mut().zip(&of_block).for_each(|(sum, own)| *sum += own.len() as u64);
        }
        let subject = Subject::with_images(&kernel, layout).unwrap();
        let found: Vec<[u64; 3]> = instructions(&subject, sizes).iter().map(|i| [i.executions, i.sectors, i.lines]).collect();
        assert_eq!(found, expected, "case {case}, {layout:?}, {sizes:?}, {kernel:?}");
        let of_blocks = block_uses(&subject, sizes)[0];
        let of_blocks = [of_blocks.loaded_sectors, of_blocks.loaded_lines, of_blocks.stored_sectors];
        assert_eq!(of_blocks, uses, "case {case}, {layout:?}, {sizes:?}, {kernel:?}");
        let boxes = boxes(&kernel.launch.groups, first, run);
        for (side, expected) in [Side::Loads, Side::Stores].into_iter().zip(&in_run) {
            let found = distinct(&subject, &subject.fields[0], side, &boxes, sizes.line.into());
            assert_eq!(found, expected.len() as u64, "case {case}, {layout:?}, {side:?}, {boxes:?}, {kernel:?}");
        }
    }
    assert!(tiled > 300 && rows > 50, "{tiled} tiled, {rows} rows where others are tiled");
}

const FILTER: &str = include_str!("../../../examples/accesses/filter-image.toml");

fn of(text: &str, device: &str) -> Result<Report, NoEstimate> {
    let written = text::parse(text, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    report(&Work { kernel: &written.kernel, points: written.points }, &builtin(device).unwrap().unwrap(), &Settings::default())
}

/// Blocks of 16 × 8 read 20 × 12 texels of 8 bytes. On Adreno the texture caches' 32 bytes are 2 × 2 texels, or 4 × 1: 60 of them where the
/// block begins with one, as all do.
#[test]
fn a_filter_on_adreno() {
    let found = of(FILTER, "adreno640").unwrap();
    let blocks = 120.0 * 135.0;
    let compulsory = 32.0 * 60.0 * blocks / (1920.0 * 1080.0);
    assert_eq!(found.volumes.l2_load_compulsory, Some(compulsory));
    // A cache of 1 KiB keeps little of what the loads of all its warps have under way.
    let (load, requested) = (found.volumes.l2_load.unwrap(), found.volumes.l1_requested.unwrap());
    assert!(load > compulsory && load < requested && load > 0.8 * requested, "{compulsory} {load} {requested}");
    // All texels of the image once; the last rows and columns of blocks touch half of a line.
    let lines = 481.0 * 542.0;
    let dram = found.volumes.dram_load.unwrap();
    assert!((1.0..1.05).contains(&(dram / (lines * 64.0 / (1920.0 * 1080.0)))), "{dram}");
    let texture = found.limits.iter().find(|limit| limit.0 == Limiter::Texture).unwrap().1.clone().unwrap();
    let rate = builtin("adreno640").unwrap().unwrap().memory.texture_l1.bandwidth.get().unwrap().0;
    assert!((texture.0 / (26.0 * 1920.0 * 1080.0 * 8.0 / rate) - 1.0).abs() < 1e-9);
}

/// Texels beside an image come from no memory; of what a loop moves warps are counted as if they did, which is said.
#[test]
fn texels_beside_an_image_are_not_fetched() {
    let at = |x: &str| of(&FILTER.replace("\"tx+i\", \"ty+j\"", &format!("\"{x}\", \"ty\"")), "adreno640").unwrap();
    let (all, beside) = (at("tx"), at("tx-480"));
    let part = |of: fn(&Report) -> Option<f64>| of(&beside).unwrap() / of(&all).unwrap();
    let requested = part(|own| own.volumes.l1_requested);
    assert!((requested - 0.75).abs() < 0.01, "30 of 120 blocks of a row are beside it: {requested}");
    let loaded = part(|own| own.volumes.dram_load);
    assert!((loaded - 0.75).abs() < 0.01, "{loaded}");
    assert_eq!(beside.provenance, all.provenance);
    let looped = of(&FILTER.replace("\"tx+i\"", "\"tx+i-480\""), "adreno640").unwrap();
    let loaded = looped.volumes.dram_load.unwrap() / of(FILTER, "adreno640").unwrap().volumes.dram_load.unwrap();
    assert!((loaded - 0.75).abs() < 0.01, "{loaded}");
    assert!(looped.provenance.iter().any(|note| note.starts_with("`input`, access 0: a condition on a loop is taken to hold")));
}

#[test]
fn what_is_assumed_of_images_is_said() {
    let notes = |device: &str| of(FILTER, device).unwrap().provenance;
    let said = |device: &str, what: &str| notes(device).iter().any(|note| note.contains(what));
    assert!(said(
        "a100-40",
        "lines are taken for square blocks of texels (a line of `input` for 4 × 4), because image.layout is not known: block-linear"
    ));
    assert!(!said("adreno640", "taken for square blocks"));
    assert!(said("adreno640", "of repeated requests of images 17 % are answered by texture caches of 1024 B"), "{:?}", notes("adreno640"));
    assert!(matches!(of(FILTER, "mi300x"), Err(NoEstimate::CannotRun(why)) if why.contains("no image instructions")));
    let far = FILTER.replace("\"tx+i\"", "\"1000000*tx+i\"");
    assert!(matches!(of(&far, "a100-40"), Err(NoEstimate::NotCovered(why)) if why.contains("far from every image")));
}

/// Seconds of texture units for 64 trips of 64 lanes through texels of this format, beyond what they take for lines that come.
fn fetched(format: &str, device: &str) -> f64 {
    let text = format!(
        "program sums {{\n  read image i: {format}[2, 1]\n  write image o: {format}[64, 4096]\n  groups g = 4096\n  lanes l = 64\n  {{\n    \
         var s: f32x4 = splat4(0.0)\n    for n in 0..64 unroll none {{\n      let t = i@[0, 0]\n      s = s + t\n    }}\n    \
         o@[l, g] = s\n  }}\n}}\n"
    );
    let program = warpsight_ir::Checked::new(warpsight_ir::text::parse(&text).expect("parses")).expect("valid");
    let on = builtin(device).expect("is there").expect("parses");
    let estimate = KernelModel.estimate(&Kernel::of(&program).expect("affine"), &on).expect("is estimated");
    estimate.limits.0.iter().find(|own| own.0 == Limiter::Texture).expect("fetches").1.0
}

/// The probe measured texels of halves at half the bytes on the Adreno, whose units count texels, and at nearly all on the Mali, whose wide ones cost
/// double. Nothing was measured of the profile by hand: bytes are what counts.
#[test]
fn texels_of_halves_come_as_fast_as_was_measured() {
    let part = |device| fetched("rgba16f", device) / fetched("rgba32f", device);
    assert!((part("sim-adreno640") - 1.0).abs() < 0.02, "{}", part("sim-adreno640"));
    assert!((part("sim-mali-g76") - 0.53).abs() < 0.02, "{}", part("sim-mali-g76"));
    assert!((part("adreno640") - 0.5).abs() < 0.02, "{}", part("adreno640"));
}

#[test]
fn images_have_the_cache_beside_that_of_buffers() {
    // 24 KiB of an image, twice: more than the cache of buffers holds, less than that of textures.
    let text = "program again {\n  read image i: rgba32f[64, 24]\n  write image o: rgba32f[16, 1]\n  lanes l = 16\n  {\n    var s: f32x4 = splat4(0.0)\n    \
                for r in 0..2 unroll none {\n      for b in 0..24 unroll none {\n        for a in 0..4 unroll none {\n          \
                let t = i@[a * 16 + l, b]\n          s = s + t\n        }\n      }\n    }\n    o@[l, 0] = s\n  }\n}\n";
    let program = warpsight_ir::Checked::new(warpsight_ir::text::parse(text).expect("parses")).expect("valid");
    let kernel = Kernel::of(&program).expect("affine");
    let mut on = builtin("sim-mali-g77").expect("built in").expect("valid");
    assert_eq!(
        (on.memory.buffer_l1.bytes.get().map(|own| own.0), on.memory.texture_l1.bytes.get().map(|own| own.0)),
        (Some(16384.0), Some(32768.0))
    );
    let l2 = |on: &warpsight_ir::Profile| KernelModel.estimate(&kernel, on).expect("is estimated").volumes.l2.0;
    // A row of 16 texels has a part of eight lines of 2 × 2.
    let stored = 8.0 * 64.0;
    assert_eq!(l2(&on), 24576.0 + stored);
    // By one cache, of 16 KiB, lines go before they come back.
    on.probed.read_paths = warpsight_ir::profile::Fact::known("shared".to_owned(), warpsight_ir::profile::Source::Assumed, "a test");
    assert!(l2(&on) > 1.4 * 24576.0, "{}", l2(&on));
}
