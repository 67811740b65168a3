//! What blocks find in the first level that earlier blocks of their core have left, against caches that are played through.

use std::collections::HashSet;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

/// Of 256 threads each.
const BLOCKS: u32 = 10_800;
const CORES: u32 = 108;
const LINE: f64 = 128.0;

/// Blocks on a plane that load some KiB of a table each, and `own` KiB of their own: `at` is where in the table a block begins, in KiB.
fn found(grid: [u32; 2], table: u32, own: u32, at: &str) -> Report {
    let extent = 256 * (table + 1) * grid[0].max(grid[1]);
    let text = format!(
        "name = \"c\"\nblock = [256, 1]\ngrid = [{}, {}]\nregisters = 32\n\
         [[loop]]\nname = \"k\"\ntrips = {table}\n[[loop]]\nname = \"m\"\ntrips = {own}\n\
         [[field]]\nname = \"table\"\nelement = \"f32\"\ndims = [{extent}]\nload = [[\"lx + 256*k{at}\"]]\n\
         [[field]]\nname = \"own\"\nelement = \"f32\"\ndims = [{}, {own}, {}]\nload = [[\"tx\", \"m\", \"ty\"]]\n\
         [[field]]\nname = \"out\"\nelement = \"f32\"\ndims = [{}, {}]\nstore = [[\"tx\", \"ty\"]]\n",
        grid[0],
        grid[1],
        256 * grid[0],
        grid[1],
        256 * grid[0],
        grid[1]
    );
    let written = text::parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    let on = builtin("a100-40").unwrap().unwrap();
    report(&Work { kernel: &written.kernel, points: 256 * u64::from(grid[0] * grid[1]) }, &on, &Settings::default()).unwrap()
}

/// KiB a block from the second level to the first.
fn kib(report: &Report) -> f64 {
    report.volumes.l2_load.unwrap() * 256.0 / 1024.0
}

/// KiB a block that miss caches which throw out any line, blocks being dealt to cores by chance; `begin`: where in the table a block begins.
fn played(grid: [u32; 2], table: u32, own: u32, begin: impl Fn(u32, u32) -> u32) -> f64 {
    // data/fits/caches.toml
    let slots = (1.164 * 196_608.0 / LINE) as usize;
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut blocks, mut missed) = (0, 0);
    for _ in 0..4 {
        let (mut cache, mut held, mut fresh) = (Vec::new(), HashSet::new(), 1_u64 << 40);
        for block in 0..grid[0] * grid[1] {
            if rng.u32(0..CORES) > 0 {
                continue;
            }
            blocks += 1;
            let first = u64::from(8 * begin(block % grid[0], block / grid[0]));
            let of_table = (first..).take(8 * table as usize);
            for line in of_table.chain((fresh..).take(8 * own as usize)) {
                if held.insert(line) {
                    missed += 1;
                    if cache.len() < slots {
                        cache.push(line);
                    } else {
                        held.remove(&std::mem::replace(&mut cache[rng.usize(0..slots)], line));
                    }
                }
            }
            fresh += u64::from(8 * own);
        }
    }
    f64::from(missed) * LINE / f64::from(blocks) / 1024.0
}

/// By hand: of a table of 8 KiB each core loads one copy, all other blocks find theirs but for what a KiB of their own throws out.
#[test]
fn a_core_loads_a_table_once() {
    let report = found([BLOCKS, 1], 8, 1, "");
    let own = 1.0 + 8.0 * f64::from(CORES) / f64::from(BLOCKS);
    assert!((own..own + 0.06).contains(&kib(&report)), "{} {own}", kib(&report));
    assert!((report.volumes.l2_load_compulsory.unwrap() * 256.0 / 1024.0 - 9.0).abs() < 1e-9);
    assert!(report.provenance.iter().any(|note| note.contains("by earlier blocks of their core")), "{:?}", report.provenance);
    // As many blocks as cores: none has one before it.
    let alone = found([CORES, 1], 8, 1, "");
    assert!((kib(&alone) - 9.0).abs() < 1e-9, "{}", kib(&alone));
}

#[test]
fn tables_are_kept_as_in_caches_that_are_played_through() {
    println!("grid, KiB of the table and of a block's own: KiB a block from the second level, predicted, played");
    let check = |grid: [u32; 2], table: u32, own: u32, at: &str, begin: &dyn Fn(u32, u32) -> u32| {
        let (predicted, played) = (kib(&found(grid, table, own, at)), played(grid, table, own, begin));
        println!("{grid:?} {table:4} {own:4} {at:24} {predicted:8.2} {played:8.2}");
        assert!((predicted / played - 1.0).abs() < 0.08, "{grid:?} {table} {own}: {predicted} for {played}");
    };
    for (table, own) in [(8, 1), (8, 64), (64, 1), (64, 64), (128, 16), (220, 16), (512, 16)] {
        check([BLOCKS, 1], table, own, "", &|_, _| 0);
        check([10, 1080], table, own, "", &|_, _| 0);
        // Blocks above each other load the same.
        check([10, 1080], table, own, &format!(" + {table}*tx - {table}*lx"), &|x, _| table * x);
    }
}

/// Blocks that follow each other are on different cores, as long as these suffice.
#[test]
fn neighbours_are_not_on_one_core() {
    let report = found([100, 108], 8, 1, " + 2048*ty");
    assert!((kib(&report) - 9.0).abs() < 1e-9, "{}", kib(&report));
}

/// Bytes that memory gives a thread of a kernel in which a block walks through a row of its own, and then once more, the blocks of a wave
/// side by side.
fn walked_twice(row: u32) -> f64 {
    let text = format!(
        "name = \"c\"\nblock = [256]\ngrid = [432]\nregisters = 32\n\
         [[loop]]\nname = \"i\"\ntrips = {row}\n[[loop]]\nname = \"j\"\ntrips = {row}\nbeside = \"i\"\n\
         [[field]]\nname = \"x\"\nelement = \"f32\"\ndims = [{}, 432]\nload = [[\"256*i + lx\", \"bx\"], [\"256*j + lx\", \"bx\"]]\n",
        256 * row
    );
    let written = text::parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    let on = builtin("a100-40").unwrap().unwrap();
    let found = report(&Work { kernel: &written.kernel, points: 256 * 432 }, &on, &Settings::default()).unwrap();
    found.volumes.dram_load.unwrap() / f64::from(4 * row)
}

#[test]
fn a_row_is_loaded_again_where_rows_of_a_wave_find_no_room_together() {
    // 432 rows of 1 MiB, and of 16 KiB, behind 40 MB.
    let (long, short) = (walked_twice(1024), walked_twice(16));
    assert!((long - 2.0).abs() < 0.02, "{long}");
    assert!((short - 1.0).abs() < 0.05, "{short}");
}
