//! The transformer: it learns, its predictions depend on their shader alone, and it comes back from a file as it was.
#![cfg(feature = "nn")]

#[allow(dead_code)]
#[path = "shader/common.rs"]
mod common;

use std::path::Path;
use std::sync::OnceLock;
use warpsight_learn::shader::cfg::Cfg;
use warpsight_learn::shader::features;
use warpsight_learn::shader::models::transformer::{
    Checkpoint, Example, FileError, NetworkError, Options, Processor, Readout, Role, Shape, Start, Trained, fit, mape, split,
};
use warpsight_learn::shader::module::Module;
use warpsight_learn::shader::tokens::{Dialect, Tokens, Word, compact, published};

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
    trained.predict(examples.iter().map(|e| &e.tokens)).unwrap()
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
    let wrong = trained.predict([&all[0].tokens, &other]).unwrap_err();
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
    let stop = fit(all, all, &options, Start::default(), &mut |_| Err("the disk is full".into())).unwrap_err();
    assert_eq!(stop.to_string(), "training was stopped: the disk is full");
}

#[test]
fn a_network_comes_back_from_its_file() {
    let all = &examples()[..examples().len().min(4)];
    if all.is_empty() {
        return;
    }
    let trained = train(all, &tiny(Readout::First, 1));
    let bytes = trained.to_bytes().unwrap();
    let back = Trained::from_bytes(&bytes).unwrap();
    assert_eq!((back.options(), back.curve()), (trained.options(), trained.curve()));
    assert_eq!(predict(&back, all), predict(&trained, all));

    assert_eq!(Trained::from_bytes(b"no network").unwrap_err(), FileError::Magic);
    for at in [9, 20, bytes.len() / 2, bytes.len() - 1] {
        assert!(Trained::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        assert!(Trained::from_bytes(&changed).is_err(), "changed at {at}");
    }
    assert!(matches!(Checkpoint::from_bytes(&bytes), Err(FileError::Kind { .. })));
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
    let roles: Vec<Role> = (0..10_000).map(|i| split(&format!("{i:016x}"), 0)).collect();
    for (role, share) in [(Role::Training, 0.80), (Role::Selection, 0.05), (Role::Unseen, 0.15)] {
        let found = roles.iter().filter(|r| **r == role).count() as f64 / 1e4;
        assert!((found - share).abs() < 0.01, "{role:?}: {found}");
    }
    assert_eq!(split("a", 0), split("a", 0));
}
