//! Spaces of configurations and their ranking: sizes against closed forms, each configuration against `parse` and `report`, ties, refusals.

use std::collections::{BTreeMap, BTreeSet};
use warpsight_ir::Profile;
use warpsight_ir::accesses::text::{Document, parse};
use warpsight_ir::profile::builtin;
use warpsight_predict::explore::{Blocks, Explorer, Extents, Fold, Outcome, Ranking, Refusal, Space, SpaceError, Sweep, Winners, sample};
use warpsight_predict::volumes::report::{Settings, Work, report};

const STAR: &str = include_str!("../../../examples/accesses/star3d-r1-f64.toml");
const FLAT: &str = include_str!("../../../examples/accesses/star2d5-f64.toml");
const TRANSPOSE: &str = include_str!("../../../examples/accesses/transpose-naive.toml");
const TILED: &str = include_str!("../../../examples/accesses/transpose-tiled.toml");
const LBM: &str = include_str!("../../../examples/accesses/lbm-d3q15-interface.toml");

fn device(name: &str) -> Profile {
    builtin(name).expect("built in").expect("parses")
}

fn space(text: &str, devices: &[&str], blocks: &[&str], folds: &[&str], sweeps: &[&str]) -> Result<Space, SpaceError> {
    let devices: Vec<Profile> = devices.iter().map(|name| device(name)).collect();
    let blocks: Vec<Blocks> = blocks.iter().map(|own| own.parse().expect("blocks")).collect();
    let folds: Vec<Fold> = folds.iter().map(|own| own.parse().expect("a folding")).collect();
    let sweeps: Vec<Sweep> = sweeps.iter().map(|own| own.parse().expect("a sweep")).collect();
    Space::new(&Document::read(text).expect("TOML"), &[], &devices, &blocks, &folds, &sweeps)
}

/// Ways to write a number as an ordered product of so many factors: each prime's exponent is dealt out on its own.
fn products(number: u32, factors: u64) -> u64 {
    let (mut rest, mut ways, mut prime) = (number, 1, 2);
    while rest > 1 {
        let mut exponent = 0;
        while rest.is_multiple_of(prime) {
            rest /= prime;
            exponent += 1;
        }
        // Of `exponent` equal things into `factors` boxes.
        ways *= (1..factors).fold(1, |n, k| n * (exponent + k)) / (1..factors).product::<u64>();
        prime += 1;
    }
    ways
}

#[test]
fn spaces_are_as_large_as_closed_forms_say() {
    let size = |text, on: &str, blocks: &str| space(text, &[on], &[blocks], &[], &[]).expect("a space").len();
    let whole = |warp: u32, axes| (1..=1024 / warp).map(|warps| products(warp * warps, axes)).sum::<u64>();
    assert_eq!(size(STAR, "a100-40", "all"), whole(32, 3));
    assert_eq!(size(STAR, "mi210", "all"), whole(64, 3));
    assert_eq!(size(FLAT, "a100-40", "all"), whole(32, 2));
    // Exponents of powers of two: 5 to 10, dealt to three axes.
    assert_eq!(size(STAR, "a100-40", "pow2"), (5..=10).map(|e| (e + 1) * (e + 2) / 2).sum::<u64>());
    assert_eq!(size(STAR, "mi210", "pow2"), (6..=10).map(|e| (e + 1) * (e + 2) / 2).sum::<u64>());
    assert_eq!((size(STAR, "a100-40", "1024"), size(FLAT, "a100-40", "96"), size(STAR, "a100-40", "file")), (66, products(96, 2), 1));
    // One shape is one configuration, however often it is asked for.
    let asked = space(STAR, &["v100", "a100-40"], &["1024", "pow2", "16x4x16", "16x4x16"], &["1", "2y", "1"], &["n=64..128:32"]);
    assert_eq!(asked.expect("a space").len(), 2 * 251 * 2 * 3);
}

#[test]
fn each_number_is_another_configuration() {
    let space = space(STAR, &["a100-40", "mi210"], &["128", "7x3x2"], &["1", "2z", "4x2y"], &["n=64..192:64"]).expect("a space");
    let mut seen = BTreeSet::new();
    for index in 0..space.len() {
        let own = space.get(index);
        let threads: u32 = own.block.iter().product();
        assert!(threads == 128 || own.block[..] == [7, 3, 2]);
        assert!(seen.insert((own.device, own.block.clone(), own.fold.clone(), own.values[0])), "{own:?} comes twice");
        // Along the sweep only its value changes.
        let along = space.along(index);
        let other = space.get(along.first + (along.position + 1) % 3 * along.stride);
        assert_eq!((other.device, &other.block, &other.fold), (own.device, &own.block, &own.fold));
        assert_eq!(own.values[0], 64 + 64 * along.position as i64);
        assert_ne!(other.values, own.values);
    }
    assert_eq!(seen.len() as u64, 2 * 37 * 3 * 3);
}

/// Every configuration the long way: text, settings, report.
fn by_hand(text: &str, on: &Profile, settings: &[(String, String)]) -> Result<Outcome, Refusal> {
    let written = parse(text, settings).map_err(|error| Refusal(error.what))?;
    Outcome::of(&report(&Work { kernel: &written.kernel, points: written.points }, on, &Settings::default())?)
}

#[test]
fn configurations_are_what_predict_says_of_them() {
    // File, blocks, foldings, sweeps, what holds for all; words separated by blanks.
    let cases = [
        (STAR, "64 5x3x2", "1 2y", "n=40..41", ""),
        (LBM, "32x2x1", "1 2z", "nx=66..98:32", "ny=50 nz=34"),
        (TRANSPOSE, "64", "1 2x", "", ""),
        (FLAT, "96", "2x2y", "", "registers=40"),
    ];
    for (text, blocks, folds, sweeps, fixed) in cases {
        let document = Document::read(text).expect("TOML");
        let devices = [device("a100-40"), device("mi210")];
        let fixed = fixed.split_whitespace().filter_map(|own| own.split_once('='));
        let fixed: Vec<(String, String)> = fixed.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let blocks: Vec<Blocks> = blocks.split_whitespace().map(|own| own.parse().expect("blocks")).collect();
        let folds: Vec<Fold> = folds.split_whitespace().map(|own| own.parse().expect("a folding")).collect();
        let sweeps: Vec<Sweep> = sweeps.split_whitespace().map(|own| own.parse().expect("a sweep")).collect();
        let space = Space::new(&document, &fixed, &devices, &blocks, &folds, &sweeps).expect("a space");
        let explorer = Explorer { document: &document, fixed: &fixed, devices: &devices, space: &space };
        let mut times = BTreeSet::new();
        for index in (0..space.len()).step_by(3) {
            let own = space.get(index);
            let list = |extents: &Extents| extents.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let mut settings = fixed.clone();
            settings.extend([("block".to_owned(), list(&own.block)), ("fold".to_owned(), list(&own.fold))]);
            for (sweep, value) in sweeps.iter().zip(&own.values) {
                settings.extend(sweep.names.iter().map(|name| (name.clone(), value.to_string())));
            }
            let outcome = explorer.outcome(index);
            assert_eq!(outcome, by_hand(text, &devices[own.device], &settings), "{own:?}");
            times.extend(outcome.map(|outcome| outcome.seconds.0.to_bits()));
        }
        assert!(times.len() > 1, "configurations differ");
    }
}

/// Of every example some configurations, drawn by a seed: one explorer, asked one after another, says of each what a single prediction of the
/// text says, to the last bit.
#[test]
fn every_example_costs_alone_what_it_costs_among_others() {
    let devices = ["a100-40", "mi210", "rx6900xt", "adreno640"].map(device);
    let folder = format!("{}/../../examples/accesses", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut predicted = 0;
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "toml")) {
        let text = std::fs::read_to_string(file).expect("readable");
        let document = Document::read(&text).expect("TOML");
        let sweeps: Vec<Sweep> = document
            .params()
            .filter(|(_, value)| *value > 64)
            .take(1)
            .map(|(name, value)| format!("{name}={}..{}:5", value - 12, value + 13).parse().expect("a sweep"))
            .collect();
        let of = |blocks: &[Blocks], sweeps: &[Sweep]| Space::new(&document, &[], &devices, blocks, &[], sweeps);
        let spaces = [of(&[Blocks::PowersOfTwo], &sweeps), of(&[Blocks::File], &sweeps), of(&[Blocks::File], &[])];
        let space = spaces.into_iter().find_map(Result::ok).expect("a space");
        let explorer = Explorer { document: &document, fixed: &[], devices: &devices, space: &space };
        for index in sample(space.len(), 8, 15) {
            let own = space.get(index);
            let found = explorer.outcome(index);
            // Debug text of a number is that of its bits.
            let alone = by_hand(&text, &devices[own.device], &explorer.settings(&own));
            assert_eq!(format!("{found:?}"), format!("{alone:?}"), "{}: {own:?}", file.display());
            predicted += usize::from(found.is_ok());
        }
    }
    assert!(predicted > 60, "{predicted}");
}

/// A kernel of two or three axes with loads around each point, drawn: conditions and loops, alignments, pads, strides and vectors of all kinds.
fn any_kernel(rng: &mut fastrand::Rng) -> String {
    let axes = rng.usize(2..4);
    let names = ["tx", "ty", "tz"];
    let list = |all: &[String]| all.join(", ");
    let pad =
        |rng: &mut fastrand::Rng, name: &str| if rng.bool() { format!("\"{name}\"") } else { format!("\"{name} + {}\"", rng.u8(1..9)) };
    let extents = ["nx", "ny", "nz"];
    let domain: Vec<String> = extents[..axes].iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = format!(
        "name = \"any\"\nblock = [{}]\ndomain = [{}]\nregisters = 24\nflops = {{ f32 = 9 }}\n",
        list(&vec!["4".to_owned(); axes]),
        list(&domain)
    );
    if rng.u8(0..4) == 0 {
        text += "guard = [\"tx >= 1\", \"tx + ty < nx + 7\"]\n";
    }
    text += "[params]\nnx = 64\nny = 64\nnz = 9\nm = 3\n";
    let looped = rng.u8(0..4) == 0;
    for field in 0..rng.usize(1..4) {
        let element = *rng.choice(&["f16", "f32", "f64"]).expect("some");
        let dims: Vec<String> = extents[..axes].iter().map(|name| pad(rng, name)).collect();
        text += &format!("[[field]]\nname = \"F{field}\"\nelement = \"{element}\"\ndims = [{}]\nalign = {}\n", list(&dims), rng.u8(0..9));
        let point = |rng: &mut fastrand::Rng, far: i8| {
            let at = |i: usize, rng: &mut fastrand::Rng| match rng.i8(-far..far + 1) {
                0 => format!("\"{}\"", names[i]),
                by => format!("\"{}{by:+}\"", names[i]),
            };
            let mut all: Vec<String> = (0..axes).map(|i| at(i, rng)).collect();
            if looped && far > 0 {
                all[axes - 1] = "\"k\"".to_owned();
            }
            format!("[{}]", list(&all))
        };
        let loads: Vec<String> = (0..rng.usize(1..9)).map(|_| point(rng, 3)).collect();
        text += &if field == 0 { format!("store = [{}]\n", point(rng, 0)) } else { format!("load = [{}]\n", list(&loads)) };
    }
    if looped {
        text += "[[loop]]\nname = \"k\"\ntrips = \"m\"\n";
    }
    text
}

/// Kernels that differ in sizes share what was found of each other, and cost to the last bit what they cost alone: sizes of all residues, blocks
/// that reach beyond the domain and such that do not, foldings, conditions, loops.
#[test]
fn what_is_known_of_others_changes_no_bit() {
    let devices = ["a100-40", "mi210", "rx6900xt", "adreno640"].map(device);
    let mut rng = fastrand::Rng::with_seed(16);
    let mut predicted = 0;
    for case in 0..if cfg!(debug_assertions) { 60 } else { 600 } {
        let text = any_kernel(&mut rng);
        let document = Document::read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let written = document.written::<&str, &str>(&[]).unwrap_or_else(|error| panic!("{error}: {text}"));
        let axes = written.domain.len();
        let some = |rng: &mut fastrand::Rng, most: u32| Extents::from_iter((0..axes).map(|_| rng.u32(1..most)));
        let blocks: Vec<Blocks> = (0..3).map(|_| Blocks::Exactly(some(&mut rng, 20))).chain([Blocks::Threads(64)]).collect();
        let folds: Vec<Fold> = ["1", "2y", "2x"].iter().map(|own| own.parse().expect("a folding")).collect();
        let values = |rng: &mut fastrand::Rng| (0..4).map(|_| rng.u32(20..300).to_string()).collect::<Vec<_>>().join(",");
        let swept = *rng.choice(&["nx", "ny", "nx,ny", "m"]).expect("some");
        let sweeps: [Sweep; 1] = [format!("{swept}={}", values(&mut rng)).parse().expect("a sweep")];
        let space = Space::new(&document, &[], &devices, &blocks, &folds, &sweeps).unwrap_or_else(|error| panic!("{error}: {text}"));
        let explorer = Explorer { document: &document, fixed: &[], devices: &devices, space: &space };
        let groups: Vec<Vec<u64>> = space.alike(0..space.len()).map(Iterator::collect).collect();
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>() as u64, space.len());
        for _ in 0..8 {
            let alike = &groups[rng.usize(0..groups.len())];
            let known = std::rc::Rc::default();
            for &index in alike {
                let own = space.get(index);
                let found = explorer.outcome_knowing(index, &known);
                let alone = by_hand(&text, &devices[own.device], &explorer.settings(&own));
                assert_eq!(format!("{found:?}"), format!("{alone:?}"), "case {case}: {own:?}\n{text}");
                predicted += usize::from(found.is_ok());
            }
        }
    }
    assert!(predicted > 1000, "{predicted}");
}

/// Rows that are read along y want blocks that are long along y: no axis is taken for another.
#[test]
fn permuted_axes_are_told_apart() {
    let plain = "name = \"copy\"\nblock = [32, 8]\ndomain = [4096, 4096]\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"f32\"\n\
        dims = [4096, 4096]\nload = [[\"tx\", \"ty\"]]\n[[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096, 4096]\nstore = [[\"tx\", \"ty\"]]\n";
    let turned = plain.replace("[\"tx\", \"ty\"]", "[\"ty\", \"tx\"]");
    let outcomes = |text: &str| {
        let (document, devices) = (Document::read(text).expect("TOML"), [device("a100-40")]);
        let space = space(text, &["a100-40"], &["256x1", "1x256"], &[], &[]).expect("a space");
        let explorer = Explorer { document: &document, fixed: &[], devices: &devices, space: &space };
        [explorer.outcome(0).expect("wide"), explorer.outcome(1).expect("tall")]
    };
    let ([wide, tall], [turned_wide, turned_tall]) = (outcomes(plain), outcomes(&turned));
    let requested = |own: &Outcome| own.volume("l1_requested");
    // A warp along the rows reads 4 sectors for 32 points, across them 32.
    assert_eq!([&wide, &tall, &turned_wide, &turned_tall].map(requested), [4.0, 32.0, 32.0, 4.0].map(Some));
    assert!(wide.seconds.0 < tall.seconds.0 && turned_tall.seconds.0 < turned_wide.seconds.0);
}

#[test]
fn what_cannot_be_explored_is_said() {
    let message = |result: Result<Space, SpaceError>| result.expect_err("an error").to_string();
    let plain = |text, blocks: &[&str], folds: &[&str], sweeps: &[&str]| message(space(text, &["a100-40"], blocks, folds, sweeps));
    assert_eq!(plain(STAR, &["64"], &[], &["q=1..2"]), "there is no parameter `q` to sweep; parameters are n");
    assert_eq!(plain(STAR, &["64"], &[], &["n=1..2", "n=3..4"]), "`n` is given twice: a parameter is set or swept, once");
    assert_eq!(plain(FLAT, &["64"], &["2z"], &[]), "the kernel's block has 2 axes: the folding 2z does not fit");
    assert_eq!(plain(FLAT, &["16x4x1"], &[], &[]), "the kernel's block has 2 axes: the block 16x4x1 does not fit");
    assert!(plain(TILED, &["256"], &[], &[]).contains("mention lanes or blocks"));
    assert!(plain(TILED, &["file"], &["2x"], &[]).contains("mention lanes or blocks"));
    assert_eq!(space(TILED, &["a100-40", "mi210"], &["file"], &[], &[]).expect("its own block").len(), 2);
    assert!(plain(STAR, &["64"], &[], &["n=0..4"]).contains("an extent is"));
    assert_eq!(plain(STAR, &["all"], &[], &["n=9..9223372036854775807"]), "these are more than 2^64 configurations");
    let in_blocks: String =
        STAR.lines().map(|line| if line.starts_with("domain") { "grid = [8, 128, 128]" } else { line }.to_owned() + "\n").collect();
    assert!(in_blocks.contains("grid") && plain(&in_blocks, &["64"], &[], &[]).contains("given as a grid of blocks"));
    let set = [("n".to_owned(), "9".to_owned())];
    let both = Space::new(
        &Document::read(STAR).expect("TOML"),
        &set,
        &[device("v100")],
        &[Blocks::File],
        &[],
        &["n=1..2".parse().expect("a sweep")],
    );
    assert_eq!(message(both), "`n` is given twice: a parameter is set or swept, once");
    for wrong in ["", "2", "y", "0y", "2w", "2y2y", "2y,2z", "-2y", "2é", "99999999999y", "1y1y2", "12"] {
        assert!(wrong.parse::<Fold>().is_err(), "{wrong}");
    }
    for wrong in ["", "n", "n=", "n=5..4", "n=1..4:0", "n=1..4:-1", "=1..2", "n,=1..2", "n=a..b", "n=1..99999999999999999999"] {
        assert!(wrong.parse::<Sweep>().is_err(), "{wrong}");
    }
    for wrong in ["", "0", "any", "16x", "x", "16x4x4x4", "0x4", "-32", "1e3"] {
        assert!(wrong.parse::<Blocks>().is_err(), "{wrong}");
    }
}

#[test]
fn texts_of_axes_are_read_and_written() {
    for (text, fold) in [("1", [1, 1, 1]), ("2y", [1, 2, 1]), ("4x", [4, 1, 1]), ("2y2z", [1, 2, 2]), ("10x3z", [10, 1, 3])] {
        let read: Fold = text.parse().expect("a folding");
        assert_eq!((read, read.to_string().as_str()), (Fold(fold), text));
    }
    let values = |text: &str| {
        let sweep: Sweep = text.parse().expect("a sweep");
        (sweep.names.join("+"), (0..sweep.count).map(|i| sweep.value(i)).collect::<Vec<_>>())
    };
    assert_eq!(values("n=64..160:32"), ("n".to_owned(), vec![64, 96, 128, 160]));
    assert_eq!(values("nx, ny=-1..2"), ("nx+ny".to_owned(), vec![-1, 0, 1, 2]));
    assert_eq!(values("n=5"), ("n".to_owned(), vec![5]));
    assert_eq!(values("n=1..6:4"), ("n".to_owned(), vec![1, 5]));
}

#[test]
fn the_ranking_depends_on_nothing_but_outcomes() {
    let outcome = by_hand(STAR, &device("a100-40"), &[]).expect("a prediction");
    let of = |speed: f64| Ok(Outcome { points_per_second: speed, ..outcome.clone() });
    let speeds = [3.0, 7.0, 5.0, 7.0, 1.0, 7.0, 5.0];
    let best = |order: &[usize]| {
        let mut ranking = Ranking::new(4);
        order.iter().for_each(|&i| ranking.take(i as u64, &of(speeds[i])));
        ranking.best().iter().map(|ranked| ranked.index).collect::<Vec<_>>()
    };
    // Of equals, the first.
    assert_eq!(best(&[0, 1, 2, 3, 4, 5, 6]), [1, 3, 5, 2]);
    assert_eq!(best(&[6, 5, 4, 3, 2, 1, 0]), [1, 3, 5, 2]);
    assert_eq!(best(&[2, 6, 0, 5, 1, 4, 3]), [1, 3, 5, 2]);

    let mut winners = Winners::default();
    for (position, index, speed) in [(0, 9, 1.0), (0, 4, 2.0), (0, 3, 2.0), (2, 8, 1.0)] {
        winners.take(position, index, &of(speed).expect("an outcome"));
    }
    assert_eq!(winners.best().collect::<Vec<_>>(), [(0, 3), (2, 8)]);
}

#[test]
fn refusals_are_counted_by_reason() {
    // 2048 threads run on none of these; 255 registers leave no block of 1024 threads on either.
    let (document, devices) = (Document::read(STAR).expect("TOML"), [device("a100-40")]);
    let fixed = [("registers".to_owned(), "255".to_owned())];
    let blocks = [Blocks::Threads(2048), Blocks::Threads(1024), Blocks::Threads(32)];
    let space = Space::new(&document, &fixed, &devices, &blocks, &[], &[]).expect("a space");
    let explorer = Explorer { document: &document, fixed: &fixed, devices: &devices, space: &space };
    let mut ranking = Ranking::new(3);
    (0..space.len()).for_each(|index| ranking.take(index, &explorer.outcome(index)));
    assert_eq!((space.len(), ranking.predicted, ranking.refusals.count), (78 + 66 + 21, 21, 78 + 66));
    let reasons: BTreeMap<u64, (String, u64)> =
        ranking.refusals.reasons().into_iter().map(|(reason, count, first)| (count, (reason.to_owned(), first))).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons[&78].0.contains("2048") && reasons[&78].1 == 0, "{reasons:?}");
    assert!(reasons[&66].0.contains("registers") && reasons[&66].1 == 78, "{reasons:?}");
    assert_eq!(ranking.best().len(), 3);
}

/// NVIDIA's blocks are at most 64 deep, AMD's as deep as they have threads.
#[test]
fn blocks_that_a_vendor_does_not_launch_are_refused() {
    let (document, devices) = (Document::read(STAR).expect("TOML"), [device("a100-40"), device("mi210")]);
    let blocks = ["2x1x64".parse().expect("a block"), "1x1x128".parse().expect("a block")];
    let space = Space::new(&document, &[], &devices, &blocks, &[], &[]).expect("a space");
    let explorer = Explorer { document: &document, fixed: &[], devices: &devices, space: &space };
    let found: Vec<Result<Outcome, Refusal>> = (0..4).map(|index| explorer.outcome(index)).collect();
    assert!(found[0].is_ok() && found[2].is_ok() && found[3].is_ok());
    assert_eq!(found[1].as_ref().expect_err("too deep").0, "the device cannot run it: a block of 128 work-items along z, of at most 64");
}

#[test]
fn samples_are_drawn_by_the_seed() {
    let drawn = sample(1_000_000, 20, 7);
    assert_eq!((drawn.len(), &drawn), (20, &sample(1_000_000, 20, 7)));
    assert_ne!(drawn, sample(1_000_000, 20, 8));
    assert!(drawn.iter().all(|&index| index < 1_000_000));
    // From all over the space: of 20, none of five fifths stays empty but once in 17.
    assert!((0..5).all(|fifth| drawn.iter().any(|index| index / 200_000 == fifth)), "{drawn:?}");
    assert_eq!(sample(5, 20, 1), (0..5).collect());
}
