//! The transformer: it learns, its predictions depend on their shader alone, and it comes back from a file as it was.
#![cfg(feature = "nn")]

#[allow(dead_code)]
#[path = "../../shader/tests/shader/common.rs"]
mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use warpsight_ir::Seconds;
use warpsight_learn::models::transformer::{
    Checkpoint, Example, FileError, Keep, NetworkError, Nothing, Options, Processor, Readout, Report, Role, Shape, Start, Study, Trained,
    fit, mape, roles,
};
use warpsight_learn::models::{Calibrated, FitError, Fitted, Method, Model, Row};
use warpsight_shader::cfg::Cfg;
use warpsight_shader::features;
use warpsight_shader::module::Module;
use warpsight_shader::tokens::{Dialect, Tokens, Word, compact, published};

/// The shaders of the tests' folder and of `data/shaders/looping`, the shorter ones first.
fn modules() -> Vec<Module> {
    let mut modules: Vec<Module> = common::names().iter().map(|name| common::module(name)).collect();
    let head = "#version 450\nlayout(set = 0, binding = 0, std140) uniform Block { vec3 iResolution; float iTime; vec4 iMouse; int iFrame; };\n\
                layout(location = 0) out vec4 warpsight_colour;\n";
    let tail = "\nvoid main() { mainImage(warpsight_colour, gl_FragCoord.xy); }\n";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/shaders/looping");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "frag"));
    let mut sources: Vec<String> = files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    // Those of the Shadertoy dialect that need no textures.
    sources.retain(|s| s.contains("void mainImage") && !["iChannel", "uniform", "#"].iter().any(|not| s.contains(not)));
    sources.sort_by_key(String::len);
    modules.extend(
        sources.iter().take(32 - modules.len()).map(|s| Module::from_bytes(&common::compile(&format!("{head}{s}{tail}"))).unwrap()),
    );
    modules
}

/// 32 shaders as if every loop ran eight times, and a time that they could have: operations differ in cost, one costs ten times as
/// much on a constant.
fn examples() -> &'static [Example] {
    static EXAMPLES: OnceLock<Vec<Example>> = OnceLock::new();
    EXAMPLES.get_or_init(|| {
        if !common::has("glslangValidator") {
            return Vec::new();
        }
        let of = |module: &Module| {
            let cfg = Cfg::new(module).unwrap();
            let counts: Vec<f64> = cfg.blocks.iter().map(|b| 196_608.0 * 8f64.powi(b.loops as i32)).collect();
            let tokens = compact(module, &cfg, &counts).unwrap();
            let cost = |w: &Word| {
                let dear = if w.operands.contains(&2) { 10.0 } else { 1.0 };
                w.count as f64 * f64::from(w.scalars) * f64::from(1 + w.id % 5) * dear * 1e-10
            };
            Example { seconds: 2e-4 + tokens.words.iter().map(cost).sum::<f64>(), tokens }
        };
        let all: Vec<Example> = modules().iter().map(of).collect();
        assert_eq!(all.len(), 32);
        all
    })
}

fn tiny(readout: Readout, epochs: usize) -> Options {
    let shape = Shape { layers: 1, width: 64, heads: 2, inner: 64, dropout: 0.0, readout, ..Options::small().shape };
    Options { shape, epochs, batch: 8, rate: 4e-3, ..Options::small() }
}

fn train(training: &[Example], options: &Options) -> Trained {
    fit(training, training, options, Start::default(), &mut |_| Ok(())).unwrap()
}

fn predict(trained: &Trained, examples: &[Example]) -> Vec<f64> {
    trained.predict_all(examples.iter().map(|e| &e.tokens)).unwrap()
}

fn close(a: &[f64], b: &[f64], least: f64) {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() <= least * b.abs() && a.is_finite(), "{a} and {b}"));
}

#[test]
fn thirty_two_shaders_are_learned_by_heart() {
    for (readout, epochs) in [(Readout::Sum, 100), (Readout::First, 150)] {
        let all = examples();
        if all.is_empty() {
            return;
        }
        let trained = train(all, &tiny(readout, epochs));
        let measured: Vec<f64> = all.iter().map(|e| e.seconds).collect();
        let error = mape(&predict(&trained, all), &measured);
        assert!(error < 0.03, "{readout:?}: {:.2} %\n{}", 100.0 * error, trained.curve().csv());
        let best = trained.curve().best().unwrap();
        assert!((best.selection - error).abs() < 1e-6, "the weights of the best epoch are kept");
    }
}

#[test]
fn a_prediction_depends_on_its_shader_alone() {
    let all = &examples()[..examples().len().min(12)];
    if all.is_empty() {
        return;
    }
    for readout in [Readout::Sum, Readout::First] {
        let trained = train(all, &tiny(readout, 2));
        let alone: Vec<f64> = all.iter().flat_map(|e| predict(&trained, std::slice::from_ref(e))).collect();
        close(&predict(&trained, all), &alone, 1e-5);
        let reversed: Vec<Example> = all.iter().rev().cloned().collect();
        let mut there = predict(&trained, &reversed);
        there.reverse();
        close(&there, &alone, 1e-5);
        // Beside the longest, so that most of the sequence is padding.
        let longest = all.iter().max_by_key(|e| e.tokens.words.len()).unwrap();
        let pair = [all[0].clone(), longest.clone()];
        close(&predict(&trained, &pair)[..1], &alone[..1], 1e-5);
    }
}

#[test]
fn the_published_network_trains_on_published_tokens() {
    let all: Vec<Example> = ["kill", "meet", "wide"]
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let module = common::module(name);
            let cfg = Cfg::new(&module).unwrap();
            let counts: Vec<f64> = (0..cfg.blocks.len()).map(|b| (b * 1000) as f64).collect();
            Example { tokens: published(&module, &cfg, &counts).unwrap(), seconds: 1e-3 * (i + 1) as f64 }
        })
        .collect();
    let paper = Options::paper();
    assert_eq!(paper.shape.weights(), Ok(98_248_705));
    let shape = Shape { layers: 1, width: 64, heads: 2, inner: 64, ..paper.shape.clone() };
    let options = Options { shape, epochs: 2, ..paper };
    let trained = train(&all, &options);
    assert_eq!(trained.weights() as u64, options.shape.weights().unwrap());
    let predicted = predict(&trained, &all);
    assert!(predicted.iter().all(|s| (1e-4..1e-1).contains(s)), "{predicted:?}");
    let other = Tokens { dialect: Dialect::Compact, words: all[0].tokens.words.clone() };
    let wrong = trained.predict_all([&all[0].tokens, &other]).unwrap_err();
    assert_eq!(wrong.to_string(), "shader 1 of those given was written in the words of another network");
}

#[test]
fn equal_seeds_give_equal_networks_interrupted_or_not() {
    let all = &examples()[..examples().len().min(8)];
    if all.is_empty() {
        return;
    }
    let mut options = tiny(Readout::Sum, 4);
    options.shape.dropout = 0.1;
    let mut kept = Vec::new();
    let whole = fit(all, all, &options, Start::default(), &mut |report| {
        if report.epoch.epoch == 2 {
            kept = report.checkpoint.to_bytes();
        }
        Ok(())
    })
    .unwrap();
    let checkpoint = Checkpoint::from_bytes(&kept).unwrap();
    assert_eq!(checkpoint.curve().epochs.len(), 2);
    let start = |checkpoint| Start { processor: Processor::Cpu, checkpoint: Some(checkpoint) };
    let mut epochs = 0;
    let resumed = fit(all, all, &options, start(checkpoint.clone()), &mut |_| {
        epochs += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(epochs, 2);
    assert_eq!(predict(&resumed, all), predict(&whole, all));
    let again = train(all, &options);
    assert_eq!(predict(&again, all), predict(&whole, all));
    let losses = |t: &Trained| t.curve().epochs.iter().map(|e| e.loss).collect::<Vec<_>>();
    assert_eq!((losses(&resumed), losses(&again)), (losses(&whole), losses(&whole)));
    assert_ne!(losses(&train(all, &Options { seed: 1, ..options.clone() })), losses(&whole));

    let no = |options: &Options, examples: &[Example]| fit(examples, all, options, start(checkpoint.clone()), &mut |_| Ok(())).unwrap_err();
    assert_eq!(no(&Options { seed: 1, ..options.clone() }, all), NetworkError::Checkpoint("its options"));
    assert_eq!(no(&options, &all[1..]), NetworkError::Checkpoint("the shaders that it learned from"));
    for at in [9, 20, kept.len() / 2, kept.len() - 1] {
        assert!(Checkpoint::from_bytes(&kept[..at]).is_err(), "cut at {at}");
        let mut changed = kept.clone();
        changed[at] ^= 0x40;
        assert!(Checkpoint::from_bytes(&changed).is_err(), "changed at {at}");
    }
    assert_eq!(Checkpoint::from_bytes(b"no training").unwrap_err(), FileError::Magic);
    let full = |_: Report| Err(NetworkError::Stopped("the disk is full".into()));
    let stop = fit(all, all, &options, Start::default(), &mut { full }).unwrap_err();
    assert_eq!(stop.to_string(), "training was stopped: the disk is full");
}

#[test]
fn a_network_comes_back_from_its_file() {
    let all = &examples()[..examples().len().min(4)];
    if all.is_empty() {
        return;
    }
    for readout in [Readout::Sum, Readout::First] {
        let trained = train(all, &tiny(readout, 1));
        let text = serde_json::to_string(&trained).unwrap();
        let back: Trained = serde_json::from_str(&text).unwrap();
        assert_eq!(back, trained);
        assert_eq!(predict(&back, all), predict(&trained, all));
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        // Files of equal trainings are equal.
        assert_eq!(serde_json::to_string(&train(all, &tiny(readout, 1))).unwrap(), text);

        let refused = |from: &str, to: &str| serde_json::from_str::<Trained>(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(refused("\"layers\":1", "\"layers\":2").starts_with("its weights are not as many as its network has"));
        assert!(refused("\"weights\":\"", "\"weights\":\"!").starts_with("its weights are no base64"));
        // The first weight becomes infinite.
        let start = text.find("\"weights\":\"").unwrap() + 11;
        assert!(refused(&text[start - 1..start + 8], "\"AACAfwAA").starts_with("not all of its weights are numbers"));
        assert!(refused("\"heads\":2", "\"heads\":3").starts_with("3 heads do not divide"));
    }
}

/// Rows of the examples' words and times; groups of two.
fn rows() -> Vec<Row> {
    let row = |(at, e): (usize, &Example)| Row {
        id: format!("{at:04}"),
        source: "test".to_owned(),
        group: format!("{:04}", at / 2),
        mutant: at % 8 == 7,
        loops: false,
        pixels: 196_608.0,
        seconds: Some(Seconds(e.seconds)),
        operations: [].into(),
        lean: [].into(),
        opcodes: [].into(),
        sizes: [].into(),
        words: [(Dialect::Compact, e.tokens.clone())].into(),
    };
    examples().iter().enumerate().map(row).collect()
}

/// Keeps trainings in memory, and stops after an epoch.
struct Memory {
    kept: Mutex<Vec<(String, Vec<u8>)>>,
    stop: Mutex<Option<usize>>,
}

impl Keep for Memory {
    fn kept(&self, name: &str) -> Result<Option<Checkpoint>, NetworkError> {
        let kept = self.kept.lock().unwrap();
        Ok(kept.iter().rfind(|(own, _)| own == name).map(|(_, bytes)| Checkpoint::from_bytes(bytes).unwrap()))
    }
    fn told(&self, name: &str, report: &Report) -> Result<(), NetworkError> {
        self.kept.lock().unwrap().push((name.to_owned(), report.checkpoint.to_bytes()));
        match *self.stop.lock().unwrap() == Some(report.epoch.epoch) {
            true => Err(NetworkError::Stopped("enough".to_owned())),
            false => Ok(()),
        }
    }
}

#[test]
fn rows_are_learned_from_but_for_those_that_are_held_out() {
    let rows = rows();
    let all: Vec<&Row> = rows.iter().collect();
    if all.is_empty() {
        return;
    }
    let options = Options { selection: 0.2, unseen: 0.2, ..tiny(Readout::Sum, 3) };
    let memory = Memory { kept: Mutex::default(), stop: Mutex::new(Some(2)) };
    let study = Study { options: &options, processor: Processor::Cpu, keep: &memory };
    let stopped = study.train(&all).unwrap_err();
    assert_eq!(stopped, FitError::Stopped("enough".to_owned()));
    *memory.stop.lock().unwrap() = None;
    let trained = study.train(&all).unwrap();
    assert_eq!(memory.kept.lock().unwrap().len(), 3, "two epochs, then the third");
    let again = Study { keep: &Nothing, ..study }.train(&all.iter().rev().copied().collect::<Vec<_>>()).unwrap();
    assert_eq!(again, trained, "whatever the order of the rows, interrupted or not");

    // What it held out makes its interval.
    let held = trained.held_out(&all).unwrap();
    let learned: BTreeSet<&str> =
        roles(&all, &options).iter().filter(|(_, role)| *role == Role::Training).map(|(row, _)| row.group.as_str()).collect();
    assert!((8..=14).contains(&held.len()) && held.iter().all(|row| !row.mutant && !learned.contains(row.group.as_str())));
    let calibrated = Calibrated::fit(&study, &all).unwrap();
    assert_eq!(calibrated.model(), &Fitted::Transformer(trained.clone()));
    assert_eq!(memory.kept.lock().unwrap().len(), 3, "a finished training is not repeated");
    let (seconds, [low, high]) = calibrated.predict(all[0]);
    assert!(low < seconds && seconds < high);

    // Long shaders are shortened, numbers alone say nothing.
    let mut long = rows[0].clone();
    let words = &mut long.words.get_mut(&Dialect::Compact).unwrap().words;
    words.extend(vec![Word { id: 9, count: 1, scalars: 1, ..Word::default() }; 2000]);
    assert!(trained.predict(&long).0.is_finite());
    let bare = Row { words: [].into(), ..rows[0].clone() };
    assert!(trained.predict(&bare).0.is_nan());
    assert_eq!(Method::Transformer.fit(&[&bare; 3]).unwrap_err(), FitError::Words { id: "0000".to_owned() });
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let word = |count| Word { id: 6 + features::BLOCK as u32, count, scalars: 1, ..Word::default() };
    let with = |words: Vec<Word>, seconds| Example { tokens: Tokens { dialect: Dialect::Compact, words }, seconds };
    // Nothing but the draw is executed, and counts are as large as they get.
    let odd = [with(vec![word(0), word(0)], 1e-3), with(vec![word(u64::MAX)], 1.0), with(vec![word(1)], 1e-6)];
    let trained = train(&odd, &tiny(Readout::Sum, 2));
    assert!(predict(&trained, &odd).iter().all(|s| s.is_finite()));

    let options = tiny(Readout::Sum, 1);
    let no = |examples: &[Example], options: &Options| {
        fit(examples, examples, options, Start::default(), &mut |_| Ok(())).unwrap_err().to_string()
    };
    assert_eq!(no(&odd[..1], &options), "1 shaders are too few to learn from; at least 2 are needed");
    let bad = |example| [odd[0].clone(), example];
    assert_eq!(no(&bad(with(vec![word(1)], 0.0)), &options), "shader 1 of those given is said to take 0 s");
    assert_eq!(no(&bad(with(vec![], 1.0)), &options), "shader 1 of those given has no words");
    let unknown = Word { id: 1 << 20, ..word(1) };
    assert_eq!(no(&bad(with(vec![unknown], 1.0)), &options), "shader 1 of those given has words that this network does not know");
    let long = with(vec![word(1); 1025], 1.0);
    assert_eq!(no(&bad(long), &options), "shader 1 of those given is longer than any sequence of this network");
    let shape = Shape { heads: 3, ..options.shape.clone() };
    let three = Options { shape, ..options };
    assert_eq!(no(&odd, &three), "no network can be trained so: 3 heads do not divide a width of 64");
}

#[test]
fn the_rate_rises_and_falls_in_straight_lines() {
    let options = Options { rate: 1.0, warm_up: 0.1, ..Options::paper() };
    let rates: Vec<f64> = (0..99).map(|step| options.rate_at(step, 99)).collect();
    assert!((rates[0] - 0.1).abs() < 1e-12 && (rates[9] - 1.0).abs() < 1e-12);
    assert!((rates[54] - 0.5).abs() < 1e-12 && rates[98] > 0.0 && rates[98] < 0.02);
}

#[test]
fn groups_are_split_as_published() {
    let row = |id: usize| Row {
        id: format!("{id:016x}"),
        source: "test".to_owned(),
        group: format!("{:x}", id / 2),
        mutant: id.is_multiple_of(9),
        loops: false,
        pixels: 1.0,
        seconds: Some(Seconds(1.0)),
        operations: [].into(),
        lean: [].into(),
        opcodes: [].into(),
        sizes: [].into(),
        words: [].into(),
    };
    let rows: Vec<Row> = (0..1000).map(row).collect();
    let all: Vec<&Row> = rows.iter().collect();
    let options = Options::small();
    let split = roles(&all, &options);
    let scored = rows.iter().filter(|row| !row.mutant).count() as f64;
    let mut groups: Vec<BTreeSet<&str>> = Vec::new();
    for (role, share) in [(Role::Training, 0.80), (Role::Selection, 0.05), (Role::Unseen, 0.15)] {
        let own: Vec<&Row> = split.iter().filter(|(_, own)| *own == role).map(|(row, _)| *row).collect();
        let found = own.iter().filter(|row| !row.mutant).count() as f64 / scored;
        assert!((found - share).abs() < 0.004, "{role:?}: {found}");
        assert!(role == Role::Training || own.iter().all(|row| !row.mutant));
        groups.push(own.iter().map(|row| row.group.as_str()).collect());
    }
    assert!((0..3).all(|a| (0..a).all(|b| groups[a].is_disjoint(&groups[b]))), "no group is divided");
    let other = roles(&all, &Options { seed: 1, ..options.clone() });
    assert!(other != split && roles(&all, &options) == split);
    // Few rows leave some for every role.
    let few: BTreeSet<u8> = roles(&all[1..7], &options).iter().map(|(_, role)| *role as u8).collect();
    assert_eq!(few.len(), 3);
    let judged = roles(&all, &options.judged_by_others());
    assert!(judged.iter().all(|(_, role)| *role != Role::Unseen));
}

/// The published network at its full size: what a step takes and how much memory, of the two longest of the tests' shaders with at most
/// 600 words. `cargo test -p warpsight-learn -p warpsight --features nn --test transformer -- --ignored --nocapture`
#[test]
#[ignore = "minutes on one core and some gigabytes"]
fn the_published_network_trains_at_full_size() {
    let words = |name: &String| {
        let module = common::module(name);
        let cfg = Cfg::new(&module).unwrap();
        published(&module, &cfg, &vec![196_608.0; cfg.blocks.len()]).unwrap()
    };
    let mut all: Vec<Tokens> = common::names().iter().map(words).collect();
    // Memory grows with the square of the length.
    all.retain(|tokens| tokens.words.len() <= 600);
    all.sort_by_key(|tokens| std::cmp::Reverse(tokens.words.len()));
    all.truncate(2);
    let lengths: Vec<usize> = all.iter().map(|tokens| tokens.words.len()).collect();
    let of = |(at, tokens): (usize, Tokens)| Example { tokens, seconds: 1e-3 * (at + 1) as f64 };
    let examples: Vec<Example> = all.into_iter().enumerate().map(of).collect();
    // Without the warm-up, whose first steps are too small to show in three.
    let options = Options { epochs: 3, warm_up: 0.0, ..Options::paper() };
    let trained = train(&examples, &options);
    assert_eq!(trained.weights(), 98_248_705);
    let epochs = &trained.curve().epochs;
    assert!(epochs.iter().all(|e| e.loss.is_finite()) && epochs[2].selection < epochs[0].selection, "{}", trained.curve().csv());
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = memory.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!("sequences of {lengths:?} words; {peak} (measured)\n{}", trained.curve().csv());
}
