//! Pipelines as no check lets them pass: the proof must object by itself, not take what it does not know for something else.

use super::*;
use warpsight_ir::text::parse_pipeline;

const TEXT: &str = "\
pipeline p {
  channel q: f32[4] depth 2 from [first] to [second]
  stage first: simt, 1 ctas fires 4 lanes 32 registers 16 local 0 {
    put 1 to q
  }
  stage second: simt, 1 ctas fires 4 lanes 32 registers 16 local 0 {
    take 1 from q
  }
}
";

fn pipeline() -> Pipeline {
    parse_pipeline(TEXT).expect("parses")
}

fn stages(pipeline: &Pipeline) -> Vec<(&Name, u32, &Firings)> {
    let mut stages = Vec::new();
    for stage in &pipeline.stages {
        let StageBody::Firings(firings) = &stage.body else { panic!("a program") };
        stages.push((&stage.name, stage.ctas, firings));
    }
    stages
}

fn followed(pipeline: &Pipeline, stages: &[(&Name, u32, &Firings)]) -> Result<(), Objection> {
    Iteration::of(pipeline, stages, 1)?.run()
}

/// The steps of a stage.
fn steps(pipeline: &mut Pipeline, stage: usize) -> &mut Vec<Step> {
    let StageBody::Firings(firings) = &mut pipeline.stages[stage].body else { panic!("a program") };
    &mut firings.steps
}

#[test]
fn an_unknown_stage_is_not_the_first_one() {
    let pipeline = pipeline();
    let stages = stages(&pipeline);
    assert_eq!(balanced(&pipeline, &stages), Ok(vec![("q".into(), 4)]));
    assert_eq!(followed(&pipeline, &stages), Ok(()));
    for (known, unknown) in [(&stages[..1], "second"), (&stages[1..], "first")] {
        let expected = Objection::Unknown { channel: "q".into(), stage: unknown.into() };
        assert_eq!(expected.to_string(), format!("channel `q`: there is no stage `{unknown}`"));
        assert_eq!(balanced(&pipeline, known), Err(expected.clone()));
        assert_eq!(followed(&pipeline, known), Err(expected));
    }
}

#[test]
fn a_channel_that_nobody_fills_is_not_filled_by_the_first_stage() {
    let expected = Objection::NoProducer("q".into());
    assert_eq!(expected.to_string(), "nobody puts tokens into channel `q`");
    let mut without = pipeline();
    without.channels[0].producers.clear();
    assert_eq!(balanced(&without, &stages(&without)), Err(expected.clone()));
    assert_eq!(followed(&without, &stages(&without)), Err(expected.clone()));
    let mut idle = pipeline();
    steps(&mut idle, 0).clear();
    assert_eq!(followed(&idle, &stages(&idle)), Err(expected));
}

#[test]
fn tokens_are_moved_by_the_ends_of_their_channel_alone() {
    let elsewhere = Step::Take { channel: "r".into(), count: 1 };
    let wrong_end = Step::Put { channel: "q".into(), count: 1 };
    for (stage, step, channel) in [(1, elsewhere, "r"), (1, wrong_end, "q"), (0, Step::Take { channel: "q".into(), count: 1 }, "q")] {
        let mut spoilt = pipeline();
        steps(&mut spoilt, stage).push(step);
        let stage = ["first", "second"][stage];
        let expected = Objection::Stranger { stage: stage.into(), channel: channel.into() };
        assert_eq!(expected.to_string(), format!("stage `{stage}` moves tokens of `{channel}`, which is no channel of its own"));
        assert_eq!(followed(&spoilt, &stages(&spoilt)), Err(expected));
    }
}

#[test]
fn stages_in_a_circle_have_no_order() {
    assert_eq!(order(&pipeline()), Ok(vec!["first".into(), "second".into()]));
    let mut circle = pipeline();
    circle.channels.push(warpsight_ir::Channel {
        name: "back".into(),
        producers: vec!["second".into()],
        consumers: vec!["first".into()],
        ..circle.channels[0].clone()
    });
    let expected = Objection::NoFirst(vec!["first".into(), "second".into()]);
    assert_eq!(expected.to_string(), "each of the stages `first`, `second` waits for another of them");
    assert_eq!(order(&circle), Err(expected));
}

#[test]
fn each_core_says_what_it_holds_of_every_stage() {
    let profile = warpsight_ir::profile::builtin("a100-40").expect("a profile").expect("it parses");
    let core = warpsight_ir::occupancy::Residency::of(&profile);
    let placed = |rows: &[Vec<u32>]| prove(&pipeline(), &Resources { core: &core, cores: 2, launch: Launch::Placed(rows) });
    assert_eq!(placed(&[vec![1, 0], vec![0, 1]]).map(|proof| proof.resident), Ok((2, 2)));
    for (rows, has) in [([vec![1], vec![0, 1]], 1), ([vec![1, 1, 1], vec![0, 0, 0]], 3)] {
        let why = format!("core 0 has places for {has} stages, there are 2");
        assert_eq!(placed(&rows), Err(Objection::NotResident(why)));
    }
}
