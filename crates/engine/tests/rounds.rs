//! Groups that go rounds: their kernels are right on the interpreter, the simulator and OpenCL, and are taken where that is predicted to gain.

mod common;

use common::Case;
use fastrand::Rng;
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Meeting, Pass, Passes, ScheduleFamily};
use warpsight_ir::profile::Text;
use warpsight_ir::{Config, Family, KnobValue, Profile};
use warpsight_predict::KernelModel;
use warpsight_run::Options;

fn family(text: &str, passes: Passes) -> ScheduleFamily {
    ScheduleFamily::by(parse_operator(text).expect("an operator").steps.remove(0), passes)
}

fn goes(family: &ScheduleFamily, config: &Config) -> bool {
    family.space().describe(config).get("rounds").is_some_and(|own| *own != KnobValue::Label("none".into()))
}

#[test]
fn kernels_that_go_rounds_are_right() {
    let mut rng = Rng::with_seed(47);
    let mut devices = vec![warpsight_run::open("sim:adreno640", &Options::default()).expect("is there")];
    match warpsight_run::open("opencl:0", &Options { in_process: true, ..Options::default() }) {
        Ok(device) => devices.push(device),
        Err(error) => common::skip(&error.to_string()),
    }
    let texts = [
        "dwconv2d n=1 c=13 h=17 w=11 r=3 s=3 pad=1",
        "dwconv2d n=2 c=8 h=16 w=9 r=5 s=5 stride=2 pad=2 dtype=f16s",
        "conv2d n=1 c=3 h=16 w=20 k=10 r=3 s=3 stride=2 pad=1",
        "conv2d n=1 c=4 h=1 w=40 k=12 r=1 s=5 pad=2 padh=0",
        "deconv2d n=1 c=3 h=12 w=10 k=6 r=3 s=3 stride=2 pad=1",
    ];
    for (n, text) in texts.into_iter().enumerate() {
        let passes = Passes::default().set(Pass::Rounds, true);
        let own = family(text, passes);
        let mut configs = own.sample(n as u64, 1500, Meeting::ANY);
        configs.retain(|config| goes(&own, config));
        rng.shuffle(&mut configs);
        assert!(configs.len() > 100, "{text}: {}", configs.len());
        for device in &mut devices {
            for config in configs.iter().take(6) {
                Case::new(format!("{text} #{n}"), family(text, passes), config.clone(), rng.u64(..)).is_right_on(&mut **device);
            }
        }
    }
}

/// Without a switch rounds are no part of a space, and those of its best schedules are taken where they gain.
#[test]
fn rounds_are_taken_where_they_gain() {
    let text = Text { name: "sim-adreno740".into(), text: include_str!("../../../profiles/sim-adreno740.toml").into() };
    let profile = Profile::read(text, &mut |_, _| Err("it inherits from nothing".into())).expect("a profile");
    let judge =
        Judge { profile: &profile, model: &KernelModel, allowance: Allowance::of(&profile), passes: Passes::default(), top: 1, runs: 1 };
    let mut taken = vec![];
    for text in ["dwconv2d n=1 c=144 h=56 w=56 r=3 s=3 pad=1", "dwconv2d n=1 c=960 h=7 w=7 r=3 s=3 pad=1"] {
        let family = family(text, judge.passes);
        assert!(family.sample(3, 200, Meeting::ANY).iter().all(|config| !goes(&family, config)), "{text}");
        let (_, ranked) = tune::rank_all(&family, &judge).expect("an estimate");
        let usual = ranked.iter().find(|own| !goes(&family, &own.config)).expect("one of the space");
        if goes(&family, &ranked[0].config) {
            taken.push((text, ranked[0].estimate.time.0 / usual.estimate.time.0));
        }
    }
    println!("{taken:?}");
    assert!(taken.len() == 1 && taken[0].0.contains("c=144") && taken[0].1 < 0.95, "{taken:?}");
}
