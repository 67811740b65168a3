//! Traced volumes of kernels so small that what caches do can be followed by hand.
//!
//! Most run on one core of one group of four lanes; sectors have 16 bytes, lines 64.

use warpsight_ir::Bytes;
use warpsight_ir::accesses::text::parse;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::occupancy::{CannotRun, Residency};
use warpsight_sim::trace::{Level, Levels, Options, TraceFault, Traced, trace};

fn tiny(l1_lines: u64, l2_lines: u64) -> Levels {
    let level = |lines| Level { bytes: lines * 64, line: 64, sector: 16, ways: None, hashed: false };
    Levels {
        name: "tiny".to_owned(),
        cores: 1,
        residency: Residency { warp: Some(4), max_groups: Some(1), max_group_size: Some(64), ..Residency::default() },
        l1: level(l1_lines),
        carve: Vec::new(),
        l2: level(l2_lines),
        fetch: 16,
        joined: 0,
        image: ImageLayout::Linear { pitch_align: 64 },
        assumed: Vec::new(),
    }
}

fn run_with(levels: &Levels, text: &str, options: Options) -> Result<Traced, TraceFault> {
    let written = parse(&format!("name = 'k'\nregisters = 16\n{text}"), &[]).unwrap_or_else(|error| panic!("{}", error.what));
    trace(&written.kernel, levels, &options)
}

fn run(levels: &Levels, text: &str) -> Traced {
    run_with(levels, text, Options::default()).expect("a trace")
}

/// A block walks through so many lines twice, one sector of each.
fn ring(lines: u64) -> String {
    format!(
        "block = [4]\ngrid = [1]\n[[loop]]\nname = 'round'\ntrips = 2\n[[loop]]\nname = 'i'\ntrips = {lines}\n\
         [[field]]\nname = 'a'\nelement = 'f32'\ndims = [16, {lines}]\nload = [['lx', 'i']]\n"
    )
}

#[test]
fn a_ring_is_kept_up_to_the_capacity_and_in_sets_by_its_ways() {
    let loaded = |levels: &Levels, lines| {
        let v = run(levels, &ring(lines)).volumes;
        assert_eq!(v.l1_requested, 2.0 * 16.0 * lines as f64);
        assert_eq!(v.l1_hits + v.l2_load, v.l1_requested);
        (v.l2_load, v.dram_load)
    };
    assert_eq!(loaded(&tiny(8, 64), 8), (8.0 * 16.0, 8.0 * 16.0));
    // One line too many: the least recently used is always the next.
    assert_eq!(loaded(&tiny(8, 64), 9), (18.0 * 16.0, 9.0 * 16.0));
    // Of four sets of two ways only the one of lines 0, 4 and 8 thrashes.
    let mut sets = tiny(8, 64);
    sets.l1.ways = Some(2);
    assert_eq!(loaded(&sets, 9), (12.0 * 16.0, 9.0 * 16.0));
    // The same in the second level: 2 of 18 requests that come through find their line.
    let mut sets = tiny(1, 8);
    sets.l2.ways = Some(2);
    assert_eq!(loaded(&sets, 9), (18.0 * 16.0, 12.0 * 16.0));
    // What comes from memory comes with its neighbours.
    let mut wide = tiny(8, 64);
    wide.fetch = 32;
    assert_eq!(loaded(&wide, 8), (8.0 * 16.0, 8.0 * 32.0));
}

#[test]
fn the_order_of_loops_decides_what_lines_are_worth() {
    let walk = |outer: &str, inner: &str| {
        let trips = |name: &str| if name == "i" { 16 } else { 9 };
        let text = format!(
            "block = [4]\ngrid = [1]\n[[loop]]\nname = '{outer}'\ntrips = {}\n[[loop]]\nname = '{inner}'\ntrips = {}\n\
             [[field]]\nname = 'a'\nelement = 'f32'\ndims = [16, 9]\nload = [['i', 'j']]\n",
            trips(outer),
            trips(inner)
        );
        let v = run(&tiny(8, 64), &text).volumes;
        (v.l1_requested, v.l2_load, v.dram_load)
    };
    let requested = 16.0 * 9.0 * 16.0;
    // Along rows each sector is loaded once and found three times; down columns nine lines pass through eight places.
    assert_eq!(walk("j", "i"), (requested, 9.0 * 64.0, 9.0 * 64.0));
    assert_eq!(walk("i", "j"), (requested, requested, 9.0 * 64.0));
}

#[test]
fn lanes_touch_the_sectors_they_lie_in() {
    let requested = |access: &str, align: u32| {
        let text =
            format!("block = [8]\ngrid = [1]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [64]\nalign = {align}\nload = [{access}]\n");
        let traced = run(&tiny(8, 64), &text);
        (traced.volumes.l1_requested / 16.0, traced.volumes.l2_load / 16.0)
    };
    assert_eq!(requested("['lx']", 0), (2.0, 2.0));
    // Two warps of four lanes share a sector when they begin beside a boundary.
    assert_eq!(requested("['lx']", 1), (4.0, 3.0));
    assert_eq!(requested("['2*lx']", 0), (4.0, 4.0));
    assert_eq!(requested("['4*lx']", 0), (8.0, 8.0));
    assert_eq!(requested("['7 - lx']", 0), (2.0, 2.0));
    assert_eq!(requested("[5]", 0), (2.0, 1.0));
    // Two elements of a lane at once.
    assert_eq!(requested("{ at = ['2*lx'], width = 2 }", 0), (4.0, 4.0));
}

/// Three rows of one line each, the row below first.
fn stencil(rows: u32) -> String {
    format!(
        "block = [4, 1]\ndomain = [16, {rows}]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [16, {}]\n\
         load = [['tx', 'ty'], ['tx', 'ty+1'], ['tx', 'ty+2']]\n",
        rows + 2
    )
}

#[test]
fn the_layer_condition_holds_with_three_rows_and_not_with_two() {
    let loaded =
        |l2_lines| run_with(&tiny(1, l2_lines), &stencil(20), Options { turn: 1, ..Options::default() }).map(|own| own.volumes.dram_load);
    assert_eq!(loaded(3), Ok(22.0 * 64.0));
    assert_eq!(loaded(2), Ok(3.0 * 20.0 * 64.0));
}

#[test]
fn lanes_beyond_the_domain_and_outside_of_conditions_touch_nothing() {
    // Six of eight lanes; then lanes 3 to 5 of both blocks, which is one lane of the first warp.
    let text = |guard: &str| {
        format!(
            "block = [4]\ndomain = [6]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [8]\nload = [{{ at = ['tx']{guard} }}]\nstore = [{{ at = ['tx']{guard} }}]\n"
        )
    };
    let all = run(&tiny(8, 64), &text(""));
    assert_eq!((all.part.lanes, all.volumes.l1_requested, all.volumes.dram_store), (12, 32.0, 32.0));
    let some = run(&tiny(8, 64), &text(", guard = ['3 <= tx < 6']"));
    assert_eq!((some.part.lanes, some.volumes.l1_requested), (6, 32.0));
    // A warp of which no lane takes part asks for nothing, and is among the accesses all the same.
    let one = run(&tiny(8, 64), &text(", guard = ['tx < 2']"));
    assert_eq!((one.part.lanes, one.volumes.l1_requested, one.part.executed), (4, 16.0, 4));
    // Each element of a vector by itself.
    let vector = "block = [4]\ngrid = [1]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [7]\n\
                  load = [{ at = ['2*lx'], width = 2, guard = ['0 <= 2*lx < 7 per element'] }]\nstore = [{ at = ['2*lx'], width = 2, guard = ['0 <= 2*lx < 7 per element'] }]\n";
    let vector = run(&tiny(8, 64), vector);
    // 28 bytes: the second sector has 12 of 16, which were loaded before.
    assert_eq!((vector.volumes.l1_requested, vector.volumes.dram_store, vector.volumes.read_back), (32.0, 32.0, 0.0));
}

/// Stores at these addresses of one line, and between them at another line.
fn stores(of: &str, policy: &str) -> String {
    format!("block = [4]\ngrid = [1]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [64]\nstore = {of}\npolicy = '{policy}'\n")
}

#[test]
fn sectors_written_in_part_are_read_back_unless_another_store_fills_them() {
    let found = |l2_lines, of: &str| {
        let v = run(&tiny(8, l2_lines), &stores(of, "write_back")).volumes;
        (v.l2_store, v.dram_store, v.dram_load)
    };
    assert_eq!(found(4, "[['lx']]"), (16.0, 16.0, 0.0));
    // Every second element: two sectors, half of each.
    assert_eq!(found(4, "[['2*lx']]"), (32.0, 32.0, 32.0));
    // The other halves come in time, or after the line is gone.
    assert_eq!(found(4, "[['2*lx'], ['lx+32'], ['2*lx+1']]"), (80.0, 48.0, 0.0));
    assert_eq!(found(1, "[['2*lx'], ['lx+32'], ['2*lx+1']]"), (80.0, 80.0, 64.0));
    let thrice = |policy| {
        let text = stores("[{ at = ['lx'], in = 'round' }]", policy);
        let v = run(&tiny(8, 4), &text.replace("[[field]]", "[[loop]]\nname = 'round'\ntrips = 3\n[[field]]")).volumes;
        (v.l2_store, v.dram_store)
    };
    assert_eq!(thrice("write_back"), (48.0, 16.0));
    assert_eq!(thrice("write_through"), (48.0, 48.0));
    assert_eq!(thrice("non_temporal"), (48.0, 16.0));
}

#[test]
fn what_is_stored_to_be_used_no_more_makes_room_for_itself() {
    // A line is loaded, four others are stored, and the first is asked for again past the first level, whose one line is another by then.
    let text = |policy: &str| {
        format!(
            "block = [4]\ngrid = [1]\n[[loop]]\nname = 'round'\ntrips = 2\n[[loop]]\nname = 'i'\ntrips = 4\n\
             [[field]]\nname = 'a'\nelement = 'f32'\ndims = [64]\nload = [{{ at = ['lx'], in = 'round' }}, {{ at = ['lx+16'], in = 'round' }}]\n\
             [[field]]\nname = 'b'\nelement = 'f32'\ndims = [16, 8]\nstore = [['lx', 'i + 4*round']]\npolicy = '{policy}'\n"
        )
    };
    let loaded = |policy: &str| run(&tiny(1, 4), &text(policy)).volumes.dram_load;
    assert_eq!(loaded("write_back"), 64.0);
    assert_eq!(loaded("non_temporal"), 32.0);
}

#[test]
fn cores_have_first_levels_of_their_own_and_take_groups_in_turn() {
    let text = "block = [4]\ngrid = [4]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [4]\nload = [['lx']]\n";
    let found = |cores| {
        let traced = run(&Levels { cores, ..tiny(8, 64) }, text);
        (traced.volumes.l2_load, traced.volumes.dram_load, traced.part.waves)
    };
    assert_eq!(found(1), (16.0, 16.0, 4.0));
    assert_eq!(found(2), (32.0, 16.0, 2.0));
    assert_eq!(found(4), (64.0, 16.0, 1.0));
    // Blocks 0 and 2 share a line, 1 and 3 another: with two cores each meets its own again.
    let pairs = "block = [4]\ngrid = [2, 2]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [16, 2]\nload = [['lx', 'bx']]\n";
    assert_eq!(run(&Levels { cores: 2, ..tiny(1, 64) }, pairs).volumes.l2_load, 32.0);
    let other = pairs.replace("'bx'", "'by'");
    assert_eq!(run(&Levels { cores: 2, ..tiny(1, 64) }, &other).volumes.l2_load, 64.0);
}

#[test]
fn resident_groups_take_turns_and_share_the_first_level() {
    // Each of two groups reads its own two lines in turn, twice: alone they fit two lines, beside each other they do not.
    let text = "block = [4]\ngrid = [2]\n[[loop]]\nname = 'round'\ntrips = 2\n[[loop]]\nname = 'i'\ntrips = 2\n\
                [[field]]\nname = 'a'\nelement = 'f32'\ndims = [16, 4]\nload = [['lx', 'i + 2*bx']]\n";
    let loaded = |groups| {
        let mut levels = tiny(2, 64);
        levels.residency.max_groups = Some(groups);
        run(&levels, text).volumes.l2_load / 16.0
    };
    assert_eq!((loaded(1), loaded(2)), (4.0, 8.0));
    // A warp that goes on until it waits keeps its line to itself.
    let straight =
        "block = [4]\ngrid = [2]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [16, 2]\nload = [['lx', 'bx'], ['lx+1', 'bx']]\n";
    let loaded = |turn| {
        let mut levels = tiny(1, 64);
        levels.residency.max_groups = Some(2);
        run_with(&levels, straight, Options { turn, ..Options::default() }).map(|own| own.volumes.l2_load / 16.0)
    };
    assert_eq!((loaded(1), loaded(8)), (Ok(6.0), Ok(4.0)));
}

#[test]
fn local_memory_is_cut_from_the_first_level_where_it_is_one() {
    let text = |local: &str| format!("{local}\n{}", ring(8));
    let mut levels = tiny(8, 64);
    levels.carve = vec![0, 128, 256];
    let loaded = |levels: &Levels, local: &str| run(levels, &text(local)).volumes.l2_load / 16.0;
    assert_eq!(loaded(&levels, ""), 8.0);
    // Six lines are left of eight, and none of them is ever found.
    assert_eq!(loaded(&levels, "local = 100"), 16.0);
    assert_eq!(loaded(&tiny(8, 64), "local = 100"), 8.0);
}

#[test]
fn atomics_pass_the_first_level_and_what_they_change_is_gone_from_it() {
    let text = "block = [4]\ngrid = [1]\n[[field]]\nname = 'a'\nelement = 'i32'\ndims = [4]\nload = [['lx']]\natomic = [['lx']]\n";
    let v = run(&tiny(8, 64), &format!("{text}[[barrier]]\n[[field]]\nname = 'a'\nload = [['lx']]\n")).volumes;
    assert_eq!((v.l1_requested, v.l1_hits, v.l2_load, v.l2_store), (48.0, 0.0, 48.0, 16.0));
    assert_eq!((v.dram_load, v.dram_store), (16.0, 16.0));
}

#[test]
fn neighbours_are_one_access_where_compilers_make_them_one() {
    let text = "block = [4]\ngrid = [1]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [64]\nload = [['8*lx+2'], ['8*lx'], ['8*lx+1'], ['8*lx+3'], ['8*lx+5']]\n";
    let requested = |joined| {
        let traced = run(&Levels { joined, ..tiny(8, 64) }, text);
        (traced.part.executed, traced.volumes.l1_requested / 16.0, traced.volumes.l2_load / 16.0)
    };
    assert_eq!(requested(0), (5, 20.0, 8.0));
    assert_eq!(requested(8), (3, 12.0, 8.0));
    assert_eq!(requested(16), (2, 8.0, 8.0));
}

#[test]
fn texels_lie_as_the_layout_says_and_end_at_the_edge() {
    let text = "block = [4, 1]\ndomain = [8, 4]\n[[field]]\nname = 'a'\nkind = 'image2d'\nelement = 'rgba8'\ndims = [8, 4]\nload = [['tx+1', 'ty']]\n";
    // Rows of 32 bytes in 64: of eight texels from the second on, the last is asked for twice.
    let rows = run(&tiny(8, 64), text).volumes;
    assert_eq!((rows.l1_requested, rows.l2_load), (4.0 * 48.0, 4.0 * 32.0));
    let blocks = Levels { image: ImageLayout::MaliInterleaved, ..tiny(8, 64) };
    // Sectors are 2 × 2 texels: rows 0 and 1 share theirs.
    assert_eq!(run(&blocks, text).volumes.l2_load, 2.0 * 4.0 * 16.0);
}

#[test]
fn drawn_addresses_stay_within_their_range_and_fall_alike_for_a_seed() {
    let text = |pattern: &str| {
        format!(
            "block = [4]\ngrid = [64]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [4096]\n\
             load = [[{{ proxy = 'tx', spread = 64, pattern = '{pattern}' }}]]\n"
        )
    };
    let options = |seed| Options { seed, ..Options::default() };
    let traced = |pattern, seed| run_with(&tiny(1, 64), &text(pattern), options(seed)).map(|own| own.volumes).expect("a trace");
    // 256 draws of 64 elements, which are 16 sectors.
    assert_eq!(traced("random", 1).dram_load, 16.0 * 16.0);
    assert_eq!(traced("random", 1), traced("random", 1));
    assert_ne!(traced("random", 1).l1_hits, traced("random", 2).l1_hits);
    // Threads in order draw in order: a line is never asked for again after the next one.
    let sorted = run_with(&tiny(1, 1), &text("sorted"), options(1)).map(|own| own.volumes).expect("a trace");
    assert_eq!(sorted.dram_load, 16.0 * 16.0);
    let random = run_with(&tiny(1, 1), &text("random"), options(1)).map(|own| own.volumes).expect("a trace");
    assert!(random.dram_load > 10.0 * sorted.dram_load, "{} against {}", random.dram_load, sorted.dram_load);
}

#[test]
fn a_part_of_a_launch_stands_for_it() {
    let text = "block = [4]\ndomain = [400000]\n[[field]]\nname = 'a'\nelement = 'f32'\ndims = [400000]\nload = [['tx']]\n\
                [[field]]\nname = 'b'\nelement = 'f32'\ndims = [400000]\nstore = [['tx']]\n";
    let levels = Levels { cores: 8, ..tiny(8, 64) };
    let whole = run(&levels, text);
    assert_eq!((whole.part.executed, whole.part.of, whole.part.stands), (200_000, 200_000, None));
    assert_eq!((whole.volumes.dram_load, whole.volumes.dram_store), (1.6e6, 1.6e6));
    let part = run_with(&levels, text, Options { limit: 10_000, ..Options::default() }).expect("a trace");
    let (from, until) = part.part.stands.expect("a part");
    assert!(part.part.executed < 10_100 && from >= 5000 && until - from >= 2500, "{:?}", part.part);
    // Whole waves: a load and a store of each of eight cores.
    assert_eq!(((until - from) % 16, part.part.short()), (0, false));
    assert_eq!((part.volumes.dram_load, part.volumes.dram_store, part.volumes.l2_load), (1.6e6, 1.6e6, 1.6e6));
    assert_eq!(part.per_tensor.iter().map(|own| own.1.dram_store).collect::<Vec<_>>(), [0.0, 1.6e6]);
    // A limit that is met by the end of the launch, and one that the first round is beyond of.
    assert_eq!(run_with(&levels, text, Options { limit: 200_000, ..Options::default() }), Ok(whole));
    let least = run_with(&levels, text, Options { limit: 3, ..Options::default() }).expect("a trace");
    assert_eq!((least.part.executed, least.volumes.dram_load), (8, 3.2e6));

    // Long walks of one block each: what was loaded in the first round counts once.
    let walk = ring(8).replace("trips = 2\n", "trips = 1000\n");
    let part = run_with(&tiny(8, 64), &walk, Options { limit: 500, ..Options::default() }).expect("a trace");
    assert_eq!((part.volumes.l1_requested, part.volumes.l2_load), (8000.0 * 16.0, 8.0 * 16.0));
    assert!(part.part.short());
}

#[test]
fn what_cannot_be_is_refused() {
    let fault = |levels: &Levels, text: &str| run_with(levels, text, Options::default()).map(|own| own.volumes);
    let said = |levels: Levels| fault(&levels, &ring(2)).expect_err("a fault").to_string();
    let with = |change: fn(&mut Levels)| {
        let mut levels = tiny(8, 64);
        change(&mut levels);
        levels
    };
    for (levels, part) in [
        (with(|own| own.l1.line = 48), "lines of the first level have 48 bytes"),
        (with(|own| own.l2.sector = 4), "sectors of the second level have 4 bytes"),
        (with(|own| own.l2.ways = Some(0)), "the second level has 4096 bytes"),
        (with(|own| own.l1.bytes = 32), "the first level has 32 bytes"),
        (with(|own| own.l1.sector = 32), "sectors of both levels have to be the same"),
        (with(|own| own.fetch = 8), "device memory delivers 8 bytes"),
        (with(|own| own.cores = 0), "there are no cores"),
    ] {
        let said = said(levels);
        assert!(said.starts_with("the caches contradict themselves: ") && said.contains(part), "{said}");
    }
    let large = ring(2).replace("block = [4]", "block = [128]").replace("dims = [16", "dims = [128");
    assert_eq!(fault(&tiny(8, 64), &large), Err(TraceFault::CannotRun(CannotRun::GroupSize { size: 128, max: 64 })));
}

#[test]
fn the_silicon_that_is_there_holds_together() {
    for name in ["a100-40", "h200", "mi250x"] {
        let levels = Levels::named(name).expect("one of them");
        assert_eq!(levels.name, name);
        let traced =
            run(&levels, "block = [256]\ndomain = [1000]\n[[field]]\nname = 'a'\nelement = 'f64'\ndims = [1000]\nload = [['tx']]\n");
        // A line of the domain's end is loaded as far as it is asked for, in sectors, and from memory in pieces of 64 bytes.
        assert_eq!((traced.volumes.l1_requested, traced.volumes.dram_load), (8000.0, 8000.0), "{name}");
        assert!(levels.residency.local.is_some_and(|local| local > Bytes(0.0)));
    }
    let known = Levels::named("v100").expect_err("no such silicon");
    assert!(known.ends_with(&["mi250x", "a100-40", "h200"]) && !known.contains(&"adreno640"), "{known:?}");
}
