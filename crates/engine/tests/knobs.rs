//! No knob is decoration: each changes the text that is compiled and, somewhere, the simulated time.

use std::collections::BTreeMap;
use warpsight_engine::verify::Trial;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::operators::parse_operator;
use warpsight_ir::{Config, Family, Seconds};
use warpsight_run::{Device, TimingSpec};

fn family(op: &str) -> ScheduleFamily {
    ScheduleFamily::new(parse_operator(op).expect("an operator").steps.remove(0))
}

fn simulate(family: &ScheduleFamily, config: &Config, device: &mut dyn Device, rng: &mut fastrand::Rng) -> Seconds {
    let program = family.finish(config).expect("lowers");
    let layouts = family.layouts(config).expect("legal");
    let trial = Trial::new(family.expr(), &layouts, rng);
    let result = device.run(&trial.job(&program, Some(TimingSpec::runs(1)))).expect("runs");
    trial.judge(&result).unwrap_or_else(|wrong| panic!("{wrong}: {:?}", family.space().describe(config)));
    result.timed.times[0].first().expect("a time")
}

/// Pairs of configurations that differ in one knob only.
fn pairs(family: &ScheduleFamily, knob: usize, rng: &mut fastrand::Rng, count: usize) -> Vec<(Config, Config)> {
    let mut by_rest: BTreeMap<Vec<i32>, Vec<Config>> = BTreeMap::new();
    for config in family.configs() {
        let mut rest = config.0.clone();
        rest.remove(knob);
        by_rest.entry(rest).or_default().push(config);
    }
    let mut groups: Vec<Vec<Config>> = by_rest.into_values().filter(|g| g.len() > 1).collect();
    rng.shuffle(&mut groups);
    groups.truncate(count);
    groups.into_iter().map(|g| (g[0].clone(), g[1].clone())).collect()
}

#[test]
fn every_knob_changes_text_and_time() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut device = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("the simulator is always there");
    let families =
        [family("conv2d n=1 c=8 h=12 w=16 k=8 r=3 s=3 stride=1 pad=1"), family("dwconv2d n=1 c=8 h=9 w=20 r=3 s=3 stride=1 pad=1")];
    let mut seen: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for family in &families {
        for (n, knob) in family.space().knobs.iter().enumerate() {
            let pairs = pairs(family, n, &mut rng, 3);
            for (a, b) in pairs {
                let text = |c: &Config| warpsight_emit::opencl(&family.finish(c).expect("lowers")).expect("emits").text;
                assert_ne!(text(&a), text(&b), "{}: {:?}", knob.name, family.space().describe(&a));
                let differ = simulate(family, &a, &mut *device, &mut rng) != simulate(family, &b, &mut *device, &mut rng);
                let entry = seen.entry(knob.name.to_string()).or_default();
                entry.0 = true;
                entry.1 |= differ;
            }
        }
    }
    for knob in [
        "tile_k",
        "tile_y",
        "tile_x",
        "vector",
        "vector_axis",
        "group",
        "lanes_first",
        "unroll",
        "window",
        "order",
        "place_input",
        "place_weight",
        "place_output",
    ] {
        assert_eq!(seen.get(knob), Some(&(true, true)), "knob {knob}: (has pairs, changes the simulated time)");
    }
}
