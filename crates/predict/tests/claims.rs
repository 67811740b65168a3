//! What paper 002 claims of the shapes of blocks, by this model on several GPUs. The tables:
//! `cargo test --release -p warpsight-predict --test claims -- --nocapture --test-threads 1`

use warpsight_ir::Limiter;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

const STAR: &str = include_str!("../../../examples/accesses/star3d-r4-f64.toml");
const LBM: &str = include_str!("../../../examples/accesses/lbm-d3q15-interface.toml");
const DEVICES: [&str; 4] = ["a100-40", "v100", "h100", "mi210"];
const NO_FOLD: [u32; 3] = [1, 1, 1];
const FOLD_Y: [u32; 3] = [1, 2, 1];
const FOLD_Z: [u32; 3] = [1, 1, 2];

/// A shape and what becomes of it.
struct Answer {
    block: [u32; 3],
    fold: [u32; 3],
    report: Report,
}

impl Answer {
    fn dram_load(&self) -> f64 {
        self.report.volumes.dram_load.unwrap()
    }

    fn dram(&self) -> f64 {
        self.dram_load() + self.report.volumes.dram_store.unwrap()
    }
}

/// Blocks of so many threads whose extents along x and y are powers of this, each folding, the fastest first.
fn answers(device: &str, text: &str, (threads, base): (u32, u32), folds: &[[u32; 3]]) -> Vec<Answer> {
    let on = builtin(device).unwrap().unwrap();
    let powers = || (0..).map(|k| base.pow(k)).take_while(|&extent| extent <= threads);
    let pairs = powers().flat_map(|x| powers().map(move |y| (x, y))).filter(|(x, y)| x * y <= threads);
    // No GPU has blocks of more than 64 threads along z.
    let blocks: Vec<[u32; 3]> = pairs.map(|(x, y)| [x, y, threads / x / y]).filter(|block| block[2] <= 64).collect();
    let mut found = Vec::new();
    for &fold in folds {
        for &block in &blocks {
            let list = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
            let written = text::parse(text, &[("block".to_owned(), list(block)), ("fold".to_owned(), list(fold))]).unwrap();
            let report = report(&Work { kernel: &written.kernel, points: written.points }, &on, &Settings::default()).unwrap();
            found.push(Answer { block, fold, report });
        }
    }
    found.sort_by(|a, b| a.report.seconds.0.total_cmp(&b.report.seconds.0));
    println!("{device}, all predicted: block, folding, ms, bytes a point loaded from memory, and stored besides, limiter");
    for a in &found {
        let limiter = a.report.limiter.unwrap().name();
        println!(
            "  {:10} {:6} {:8.3} {:8.2} {:8.2} {limiter}",
            text_of(a.block),
            text_of(a.fold),
            a.report.seconds.0 * 1e3,
            a.dram_load(),
            a.dram()
        );
    }
    found
}

fn text_of([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

fn find(answers: &[Answer], block: [u32; 3], fold: [u32; 3]) -> &Answer {
    answers.iter().find(|a| a.block == block && a.fold == fold).unwrap()
}

/// Section 5.8: the shape of the pick is that of the best measured ones, deep and not narrow; flat blocks and narrow ones are far behind.
/// Section 5.6: the deeper a block of the same width, the less it loads from memory.
/// Section 5.6: folding in z deepens shallow waves, and pays; folding in y does not.
#[test]
fn the_star() {
    for device in DEVICES {
        let found = answers(device, STAR, (1024, 4), &[NO_FOLD, FOLD_Y, FOLD_Z]);
        let (pick, last) = (&found[0], &found[found.len() - 1]);
        let deep = |a: &Answer| a.block[2] * a.fold[2];
        assert!(
            pick.block[0] >= 16 && deep(pick) >= if device == "mi210" { 8 } else { 16 },
            "{device}: {} {}",
            text_of(pick.block),
            text_of(pick.fold)
        );
        assert!(last.block[0] == 1, "{device}: {}", text_of(last.block));
        let flat = found.iter().filter(|a| deep(a) == 1).map(|a| a.report.seconds.0).fold(f64::INFINITY, f64::min);
        let ratio = flat / pick.report.seconds.0;
        println!("{device}: the best flat block takes {ratio:.2} times as long as the pick, predicted");
        // Nine planes of the grid, which some second levels hold well enough for flat blocks (section 5.7): A100 in part, H100 all but.
        let planes = 9.0 * 640.0 * 512.0 * 8.0;
        let kept = builtin(device).unwrap().unwrap().memory.l2_effective.get().unwrap().0 / planes;
        let held = kept > 1.0;
        let (behind, less) = if held { (1.15, 0.85) } else { (1.4, 0.75) };
        assert!(ratio > behind, "{device}: {ratio}");
        if kept > 1.5 {
            // Every block loads little, whatever its shape.
            assert!(found.iter().filter(|a| a.block[0] >= 16).all(|a| a.dram_load() < 20.0), "{device}");
            continue;
        }

        let volumes = [[64, 16, 1], [64, 4, 4], [64, 1, 16]].map(|block| find(&found, block, NO_FOLD).dram_load());
        assert!(volumes.windows(2).skip(usize::from(held)).all(|pair| pair[1] < 0.8 * pair[0]), "{device}: {volumes:?}");
        let least = found.iter().min_by(|a, b| a.dram_load().total_cmp(&b.dram_load())).unwrap();
        assert!(deep(least) >= 32 && (8.0..11.0).contains(&least.dram_load()), "{device}: {}", text_of(least.block));

        for block in [[64, 4, 4], [16, 16, 4]] {
            let [none, y, z] = [NO_FOLD, FOLD_Y, FOLD_Z].map(|fold| find(&found, block, fold));
            assert!(z.dram_load() < less * none.dram_load(), "{device}: {}", text_of(block));
            assert!(y.dram_load() > 0.97 * none.dram_load(), "{device}: {}", text_of(block));
            assert!(
                z.report.seconds < y.report.seconds && z.report.seconds.0 < 0.9 * none.report.seconds.0,
                "{device}: {}",
                text_of(block)
            );
        }
    }
}

/// Section 5.8: of the lattice-Boltzmann kernel the worst shapes are the narrow ones, the others lie close together, bound by memory.
#[test]
fn the_lattice_boltzmann_kernel() {
    for device in DEVICES {
        let found = answers(device, LBM, (256, 4), &[NO_FOLD]);
        let (narrow, wide): (Vec<&Answer>, Vec<&Answer>) = found.iter().partition(|a| a.block[0] < 4);
        let seconds = |a: &&Answer| a.report.seconds.0;
        let (best, slowest) = (wide.iter().map(seconds).fold(f64::INFINITY, f64::min), wide.iter().map(seconds).fold(0.0, f64::max));
        let narrow = narrow.iter().map(seconds).fold(f64::INFINITY, f64::min);
        println!("{device}: narrow blocks from {:.2}, wide ones up to {:.2} times the best, predicted", narrow / best, slowest / best);
        assert!(narrow > slowest, "{device}");
        let of_rows = || found.iter().filter(|a| a.block[0] >= 16);
        assert!(of_rows().all(|a| a.report.seconds.0 < 1.15 * best && a.report.limiter == Some(Limiter::Dram)), "{device}");
    }
}

/// Sections 5.6 and 5.8, in blocks of 512 threads, the most that its registers leave: it streams, so that how wide a block is decides, and
/// little else; the narrow ones move most, as they store lines in part, and are the slowest. What moves least is as fast as any.
#[test]
fn the_lattice_boltzmann_kernel_by_volumes() {
    for device in DEVICES {
        let found = answers(device, LBM, (512, 2), &[NO_FOLD]);
        let of_width = |width: u32| found.iter().filter(move |a| a.block[0] == width).map(Answer::dram);
        let mean = |width: u32| of_width(width).sum::<f64>() / of_width(width).count() as f64;
        let means = [1, 2, 4, 8, 16, 32].map(mean);
        println!("{device}: B/point to and from memory by width 1, 2, … 32, predicted: {means:.1?}");
        assert!(means.windows(2).all(|pair| pair[1] < pair[0]), "{device}: {means:?}");
        assert!(means[0] > 1.15 * means[5], "{device}: {means:?}");
        let most = found.iter().filter(|a| a.block[0] >= 8).map(Answer::dram).fold(0.0, f64::max);
        assert!(found.iter().filter(|a| a.block[0] <= 2).all(|a| a.dram() > most), "{device}: {most}");

        // By seconds.
        let best = found[0].report.seconds.0;
        let narrowest = found.iter().filter(|a| a.block[0] == 1).count();
        assert!(found[found.len() - narrowest..].iter().all(|a| a.block[0] == 1), "{device}");
        let wide = || found.iter().filter(|a| a.block[0] >= 16);
        assert!(wide().all(|a| a.report.limiter == Some(Limiter::Dram) && a.report.seconds.0 < 1.15 * best), "{device}");
        // What waits for caches instead is narrow.
        let waits = |a: &&Answer| a.report.limiter != Some(Limiter::Dram);
        assert!(found.iter().filter(waits).all(|a| a.block[0] == 1) && found.iter().any(|a| waits(&a)), "{device}");
        let least = found.iter().min_by(|a, b| a.dram().total_cmp(&b.dram())).unwrap();
        let picks = [&found[0], least].map(|a| text_of(a.block));
        println!("{device}: the pick {}, the least volume {}, predicted", picks[0], picks[1]);
        assert!(least.block[0] >= 32 && least.report.seconds.0 < 1.02 * best, "{device}: {picks:?}");
    }
}
