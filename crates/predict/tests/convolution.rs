//! The 15 × 15 convolution of Kernel Tuner's data set on A100 and one die of an MI250X, measured by others, against the model. The tables
//! of all rows: `cargo test --release -p warpsight-predict --test convolution -- --include-ignored --nocapture --test-threads 1`

use std::path::{Path, PathBuf};
use warpsight_ir::Profile;
use warpsight_ir::profile::builtin;
use warpsight_predict::explore::score::tau;

#[path = "../examples/truth/convolution.rs"]
mod judged;

use judged::{CONVOLUTION, Judged, Row, SIZE, Score};

/// The folder of the recordings, which may have been left out.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes/measured");
    if !folder.exists() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", folder.display());
        eprintln!("skipped: no recordings");
    }
    folder
}

/// Where volumes decide, on A100: blocks that divide the image, ordinary loads.
#[test]
fn the_model_ranks_the_rows_of_a100() {
    let on = builtin("a100-40").unwrap().unwrap();
    let Some(judged) = Judged::of(&folder(), "A100", &on, Row::judged) else { return };
    judged.print("A100");
    let (score, below) = judged.score(|_| true);
    println!("A100: {score:?}, bounds kept by {:.1} %", 100.0 * below);
    assert_eq!(score.rows, 193);
    assert!(below >= 0.97 && score.tau >= 0.70, "{below} {score:?}");
    assert!(score.best_of_ten <= 1.10 && score.pick <= 1.30, "{score:?}");
}

/// The same on MI250X, where the compiler decides for most rows.
#[test]
fn the_model_picks_a_row_of_mi250x() {
    let on = builtin("mi250x").unwrap().unwrap();
    let Some(judged) = Judged::of(&folder(), "MI250X", &on, Row::judged) else { return };
    judged.print("MI250X");
    let (score, below) = judged.score(|_| true);
    println!("MI250X: {score:?}, bounds kept by {:.1} %", 100.0 * below);
    assert_eq!(score.rows, 198);
    assert!(below >= 0.97, "{below}");
    assert!(score.best_of_ten <= 1.10 && score.pick <= 1.30, "{score:?}");
}

/// What the compiler made of a row, from `data/codegen/convolution-mi250x.json` (`scripts/convolution-codegen.py`).
struct Code {
    block_y: u32,
    tile: [u32; 2],
    registers: f64,
    /// Loads of several words that begin anywhere.
    wide: bool,
    /// Loops that were too long to be written out, so that no output shares loads.
    looped: bool,
    /// Words that go from registers to memory and back, an output.
    spilled: f64,
}

const FEATURES: usize = 5;

/// Whether code is of a kind.
type Has = fn(&Code) -> bool;

impl Code {
    fn all() -> Vec<Self> {
        let rows: serde_json::Value = serde_json::from_str(include_str!("../../../data/codegen/convolution-mi250x.json")).unwrap();
        let code = |row: &serde_json::Value| {
            let number = |key: &str| row[key].as_f64().unwrap();
            let tile = [0, 1].map(|i| row["tile"][i].as_u64().unwrap() as u32);
            let outputs = f64::from(tile[0] * tile[1]);
            let (wide, looped) = (number("wide_loads") > 0.0, row["looped"].as_bool().unwrap());
            // A loop that is left does the same work several times.
            let trips = if looped { 225.0 * outputs / number("loads") } else { 1.0 };
            let spilled = (number("spill_stores") + number("spill_loads")) * trips / outputs;
            Self { block_y: number("block_y") as u32, tile, registers: number("registers"), wide, looped, spilled }
        };
        rows.as_array().unwrap().iter().map(code).collect()
    }
}

impl Code {
    /// What the factor depends on. Rows of less than a wave add lines to each load; where loads are many or wide, that shows.
    fn features(&self, width: u32) -> [f64; FEATURES] {
        let flag = |is: bool| f64::from(u8::from(is));
        let narrow = (64.0 / f64::from(width.min(64))).ln();
        [1.0, flag(self.wide), flag(self.looped), (self.registers / 32.0).ln(), flag(self.wide || self.looped) * narrow]
    }

    /// Seconds that spilled words take through memory, of which the caches hold nearly nothing: all lanes of all waves have their own.
    fn spill(&self, on: &Profile) -> f64 {
        self.spilled * 4.0 * f64::from(SIZE).powi(2) / on.memory.dram_bandwidth.get().unwrap().0
    }
}

/// Weights with the least squares of differences between `features · weights` and the value.
fn least_squares(samples: &[([f64; FEATURES], f64)]) -> [f64; FEATURES] {
    let mut rows = [[0.0; FEATURES + 1]; FEATURES];
    for (features, value) in samples {
        for i in 0..FEATURES {
            (0..FEATURES).for_each(|j| rows[i][j] += features[i] * features[j]);
            rows[i][FEATURES] += features[i] * value;
        }
    }
    for i in 0..FEATURES {
        let pivot = rows[i];
        assert!(pivot[i].abs() > 1e-9, "features depend on each other");
        for row in rows.iter_mut().enumerate().filter(|(j, _)| *j != i).map(|(_, row)| row) {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(pivot).for_each(|(value, by)| *value -= factor * by);
        }
    }
    std::array::from_fn(|i| rows[i][FEATURES] / rows[i][i])
}

/// MI250X once more, predicted seconds and those of spilled words times a factor for generated code: its logarithm is linear in what the compiler made of the
/// kernel, fitted on every other row and scored on the rest. No part of the model.
#[test]
fn generated_code_explains_the_rows_of_mi250x() {
    let on = builtin("mi250x").unwrap().unwrap();
    let Some(judged) = Judged::of(&folder(), "MI250X", &on, Row::judged) else { return };
    let codes = Code::all();
    let rows: Vec<(&Code, u32, f64, f64)> = judged
        .rows
        .iter()
        .map(|(row, found, _)| {
            let code = codes.iter().find(|code| code.block_y == row.block[1] && code.tile == row.tile).unwrap();
            (code, row.block[0], found.seconds.0, row.measured)
        })
        .collect();
    // By cause; a row may have several.
    let causes: [(&str, Has); 4] = [
        ("wide loads", |code| code.wide),
        ("spills", |code| code.spilled > 0.0),
        ("loops left", |code| code.looped),
        ("none of these", |code| !code.wide && !code.looped && code.spilled == 0.0),
    ];
    for (cause, has) in causes {
        let pairs: Vec<(f64, f64)> = rows.iter().filter(|row| has(row.0)).map(|row| (row.2, row.3)).collect();
        let mut ratios: Vec<f64> = pairs.iter().map(|(own, measured)| measured / own).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let (tau, median) = (tau(&pairs), ratios[ratios.len() / 2]);
        println!("MI250X, {cause}: {} rows, measured {median:.2} times as long as predicted (median), τ {tau:.2}", pairs.len());
        // Where the compiler made what the text says, the model ranks.
        assert!(cause != "none of these" || tau >= 0.6, "{tau}");
    }
    // The loop over rows of taps stays one.
    let looped = CONVOLUTION.replacen("order = \"unrolled\"\n", "", 1);
    let samples: Vec<([f64; FEATURES], f64, f64)> = std::iter::zip(&rows, &judged.rows)
        .map(|((code, width, own, measured), (row, ..))| {
            let own = if code.looped { row.report_of(&looped, &on).unwrap().seconds.0 } else { *own };
            (code.features(*width), own + code.spill(&on), *measured)
        })
        .collect();
    for fitted in [0, 1] {
        let half = |part: usize| samples.iter().enumerate().filter(move |(i, _)| i % 2 == part).map(|(_, sample)| sample);
        let weights = least_squares(&half(fitted).map(|(features, own, measured)| (*features, (measured / own).ln())).collect::<Vec<_>>());
        let factor = |features: &[f64; FEATURES]| features.iter().zip(weights).map(|(x, weight)| x * weight).sum::<f64>().exp();
        let score = |part| Score::of(&half(part).map(|(features, own, measured)| (own * factor(features), *measured)).collect::<Vec<_>>());
        let (own, other) = (score(fitted), score(1 - fitted));
        println!("MI250X with generated code: weights {weights:.2?}; fitted half {own:?}; held-out half {other:?}");
        assert!(other.tau >= 0.6 && other.best_of_ten <= 1.1 && other.pick <= 1.3, "{other:?}");
    }
}

/// Every row, guards and the read-only path included.
#[test]
#[ignore = "a table of 3,700 rows"]
fn all_rows() {
    for (device, profile) in [("A100", "a100-40"), ("MI250X", "mi250x")] {
        let on = builtin(profile).unwrap().unwrap();
        let Some(all) = Judged::of(&folder(), device, &on, |_| true) else { return };
        all.print(device);
        for divides in [true, false] {
            for read_only in [false, true] {
                let (score, below) = all.score(|row| row.divides() == divides && row.read_only == read_only);
                println!("{device}, guarded {}, read_only {read_only}: {score:?}, bounds kept by {:.1} %", !divides, 100.0 * below);
            }
        }
        let (score, below) = all.score(|_| true);
        println!("{device}, all: {score:?}, bounds kept by {:.1} %", 100.0 * below);
        assert!(below >= 0.97, "{device}: {below}");
    }
}
