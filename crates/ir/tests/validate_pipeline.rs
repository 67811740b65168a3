//! Each rule of a Pipeline, broken once: the example is valid, and one replacement in its text makes it break one rule.

use warpsight_ir::text::{parse, parse_pipeline};
use warpsight_ir::validate::{CheckedPipeline, InvalidPipeline, PipelineError};
use warpsight_ir::*;

/// Three stages in a row, the first also feeding the last.
const EXAMPLE: &str = include_str!("common/pipeline.txt");

/// Three stages that have no Program yet.
const PLANNED: &str = include_str!("common/planned.txt");

fn judged(find: &str, replace: &str) -> Result<CheckedPipeline, InvalidPipeline> {
    let example = [EXAMPLE, PLANNED].into_iter().find(|example| example.contains(find));
    let example = example.unwrap_or_else(|| panic!("no example has {find:?}"));
    CheckedPipeline::new(parse_pipeline(&example.replacen(find, replace, 1)).unwrap_or_else(|e| panic!("{e}")))
}

/// What is replaced, by what, where the error is, and how its text begins.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("pipeline mlp", "pipeline int", "pipeline", "`int` is a reserved word"),
    ("stage load:", "stage double:", "stage double", "`double` is a reserved word"),
    ("channel skip:", "channel double:", "channel double", "`double` is a reserved word"),
    ("stage store:", "stage load:", "stage load", "`load` is declared twice"),
    ("channel skip:", "channel q:", "channel q", "`q` is declared twice"),
    ("simt, 2 ctas", "simt, 0 ctas", "stage load", "a stage has at least 1 work-group"),
    ("let i = g", "let i = h", "stage load", "invalid program at body[0]: `h` is not declared here"),
    ("send channel skip: f32[8] depth 4", "send channel skipped: f32[8] depth 4", "stage load", "invalid program"),
    ("channel q: f32[8] depth 2 from [load] to [scale]\n  ", "", "stage load", "its channel `q` matches no channel"),
    ("from [load] to [scale]", "from [store] to [scale]", "stage load", "it is one of the producers of `q`"),
    ("from [scale] to [store]", "from [scale] to [load]", "stage store", "it is one of the consumers of `r`"),
    ("channel skip:", "channel spare: f32[8] depth 1 from [] to [store]\n  channel skip:", "channel spare", "a channel needs producers"),
    ("to [store]\n", "to []\n", "stage store", "it is one of the consumers of `r`"),
    ("from [load] to [scale]", "from [load, load] to [scale]", "channel q", "`load` is listed twice among the producers"),
    ("from [load] to [scale]", "from [load] to [scale, scale]", "channel q", "`scale` is listed twice among the consumers"),
    ("from [load] to [scale]", "from [load, other] to [scale]", "channel q", "no stage is named `other`"),
    ("from [load] to [scale]", "from [load] to [scale, other]", "channel q", "no stage is named `other`"),
    ("from [load] to [scale]", "from [load, store] to [scale]", "channel q", "`store` has no channel of this name to send to"),
    ("from [load] to [scale]", "from [load, scale] to [scale]", "channel q", "`scale` has no channel of this name to send to"),
    ("from [scale] to [store]", "from [scale] to [store, scale]", "channel r", "`scale` has no channel of this name to receive from"),
    ("channel q: f32", "channel q: f16", "channel q", "the program of `load` declares another element"),
    ("channel q: f32[8]", "channel q: f32[4]", "channel q", "the program of `load` declares another token extents"),
    ("channel q: f32[8] depth 2", "channel q: f32[8] depth 3", "channel q", "the program of `load` declares another depth"),
    ("output load.saved", "output other.saved", "side output other.saved", "no stage is named `other`"),
    ("output load.saved", "output load.x", "side output load.x", "`x` is not a buffer that the stage writes"),
    ("output load.saved", "output load.q", "side output load.q", "`q` is not a buffer that the stage writes"),
    ("output load.saved", "output load.none", "side output load.none", "`none` is not a buffer that the stage writes"),
    ("side output", "side output load.saved side output", "side output load.saved", "`saved` is listed twice"),
    ("order [load, scale, store]", "order [load, scale]", "certificate", "the order does not name each stage once"),
    ("order [load, scale, store]", "order [load, scale, scale]", "certificate", "the order does not name each stage once"),
    ("order [load, scale, store]", "order [load, scale, store, load]", "certificate", "the order does not name each stage once"),
    ("order [load, scale, store]", "order [scale, load, store]", "certificate", "channel `q` leads back from `load` to `scale`"),
    ("order [load, scale, store]", "order [load, store, scale]", "certificate", "channel `r` leads back from `scale` to `store`"),
    ("tokens [q = 16, r = 16", "tokens [r = 16", "certificate", "tokens are not counted once for each channel"),
    ("tokens [q = 16, r = 16", "tokens [r = 16, r = 16", "certificate", "tokens are not counted once for each channel"),
    ("resident 4 of 80", "resident 4 of 3", "certificate", "4 of 3 resident work-groups, where the stages have 4"),
    ("fires 32", "fires 0", "stage load", "its firings have no count"),
    ("lanes 256", "lanes 0", "stage scale", "its firings have no lanes"),
    ("put 1 to y", "put 0 to y", "stage sum", "its firings have no tokens in a step"),
    ("take 1 from y", "take 1 from z", "stage scale", "its channel `z` matches no channel of the pipeline"),
    ("put 1 to y", "put 1 to x", "stage sum", "it is one of the producers of `x`, but the channel does not list it"),
    ("    put 1 to x\n", "", "channel x", "`load` has no channel of this name to send to"),
    ("take 1 from y", "take 1 from x", "channel y", "`scale` has no channel of this name to receive from"),
    ("depth 3 from [sum]", "depth 3 from [sum, load]", "channel y", "`load` has no channel of this name to send to"),
    (
        "    put 1 to x\n  }\n  stage sum",
        "    put 1 to x\n    put 1 to y\n  }\n  stage sum",
        "stage load",
        "it is one of the producers of `y`, but the channel does not list it",
    ),
    ("depth 3 from [sum]", "depth 0 from [sum]", "channel y", "a channel without room for a token"),
    ("x: f16[128, 64]", "x: f16[128, 0]", "channel x", "the extent is 0"),
    ("x: f16[128, 64]", "x: f16[4294967295, 4294967295]", "channel x", "more than 2^31 of them"),
    ("resident 9 of 108", "resident 9 of 8", "certificate", "9 of 8 resident work-groups, where the stages have 9"),
    ("resident 4 of 80", "resident 5 of 80", "certificate", "5 of 80 resident work-groups, where the stages have 4"),
];

#[test]
fn the_example_is_valid_and_comes_back() {
    let pipeline = parse_pipeline(EXAMPLE).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(pipeline.to_string(), EXAMPLE);
    let checked = CheckedPipeline::new(pipeline.clone()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(checked.stages[2].name, "store".into());
    assert_eq!(checked.into_inner(), pipeline);
}

#[test]
fn each_rule_is_judged() {
    for (find, replace, at, message) in CASES {
        let error = judged(find, replace).expect_err(replace);
        assert!(error.kind.to_string().starts_with(message), "{replace}\n{error}");
        assert_eq!(error.at, *at, "{replace}\n{error}");
    }
}

#[test]
fn every_error_has_a_case() {
    // Exhaustive, so that a new violation must be thought of here.
    let number = |kind: &PipelineError| match kind {
        PipelineError::Name(_) => 0,
        PipelineError::Program(_) => 1,
        PipelineError::NoCtas => 2,
        PipelineError::NoStage(_) => 3,
        PipelineError::Unmatched(_) => 4,
        PipelineError::NotListed { .. } => 5,
        PipelineError::NoEnd(_) => 6,
        PipelineError::ListedTwice { .. } => 7,
        PipelineError::NoParameter { .. } => 8,
        PipelineError::Differs { .. } => 9,
        PipelineError::NotWritten(_) => 10,
        PipelineError::OutputTwice(_) => 11,
        PipelineError::Order => 12,
        PipelineError::Backward { .. } => 13,
        PipelineError::Tokens => 14,
        PipelineError::Resident { .. } => 15,
        PipelineError::Cycle(_) => 16,
        PipelineError::Empty(_) => 17,
        PipelineError::NotAlone(_) => 18,
        PipelineError::Channel(_) => 19,
    };
    let seen: std::collections::BTreeSet<_> = CASES.iter().map(|(f, r, ..)| number(&judged(f, r).unwrap_err().kind)).collect();
    // Cycles and fillers that are not alone have tests of their own.
    assert_eq!(seen, (0..16).chain([17, 19]).collect());
}

/// A stage that takes from some channels and gives to others.
fn relay(name: &str, from: &[&str], to: &[&str]) -> PipelineStage {
    let mut text = format!("program {name}_k {{\n");
    for channel in from {
        text += &format!("receive channel {channel}: f32[1] depth 1\n");
    }
    for channel in to {
        text += &format!("send channel {channel}: f32[1] depth 1\n");
    }
    text += "local token: f32[1]\n{\n";
    from.iter().for_each(|c| text += &format!("receive {c} into token\n"));
    to.iter().for_each(|c| text += &format!("send {c} from token\n"));
    PipelineStage { name: name.into(), class: StageClass::Simt, ctas: 1, body: StageBody::Program(parse(&(text + "}\n}")).unwrap()) }
}

fn channel(name: &str, from: &str, to: &str) -> Channel {
    Channel { name: name.into(), element: Scalar::F32, dims: vec![1], depth: 1, producers: vec![from.into()], consumers: vec![to.into()] }
}

#[test]
fn cycles_are_reported() {
    // a → b → c → d, and c → b.
    let mut pipeline = Pipeline {
        name: "p".into(),
        stages: vec![
            relay("a", &[], &["ab"]),
            relay("b", &["ab", "cb"], &["bc"]),
            relay("c", &["bc"], &["cb", "cd"]),
            relay("d", &["cd"], &[]),
        ],
        channels: vec![channel("ab", "a", "b"), channel("bc", "b", "c"), channel("cb", "c", "b"), channel("cd", "c", "d")],
        side_outputs: vec![],
        certificate: None,
    };
    let error = CheckedPipeline::new(pipeline.clone()).unwrap_err();
    assert_eq!(error.to_string(), "invalid pipeline at channels: the stages form a cycle: b → c → b");
    // The diamond that is left without the way back is fine.
    pipeline.stages[1] = relay("b", &["ab"], &["bc", "bd"]);
    pipeline.stages[2] = relay("c", &["bc"], &["cd"]);
    pipeline.stages[3] = relay("d", &["cd", "bd"], &[]);
    pipeline.channels[2] = channel("bd", "b", "d");
    CheckedPipeline::new(pipeline).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn without_a_program_a_channel_is_filled_alone() {
    let mut pipeline = parse_pipeline(PLANNED).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(pipeline.to_string(), PLANNED);
    CheckedPipeline::new(pipeline.clone()).unwrap_or_else(|e| panic!("{e}"));
    let StageBody::Firings(load) = &mut pipeline.stages[0].body else { panic!("{pipeline}") };
    load.steps.push(Step::Put { channel: "y".into(), count: 1 });
    pipeline.channels[1].producers.push("load".into());
    let error = CheckedPipeline::new(pipeline).unwrap_err();
    assert_eq!(error.to_string(), "invalid pipeline at channel y: `sum` has no program: it fills a channel alone");
}

#[test]
fn a_channel_has_both_ends() {
    let mut sent = channel("ab", "a", "b");
    sent.consumers.clear();
    let pipeline = Pipeline {
        name: "p".into(),
        stages: vec![relay("a", &[], &["ab"])],
        channels: vec![sent],
        side_outputs: vec![],
        certificate: None,
    };
    let error = CheckedPipeline::new(pipeline).unwrap_err();
    assert_eq!(error.to_string(), "invalid pipeline at channel ab: a channel needs consumers");
}

#[test]
fn errors_in_pipelines_show_the_place() {
    for (text, message) in [
        (
            "pipeline p {\n  stage s: gpu, 1 ctas program k { {} }\n}",
            "error: expected a stage's class (tensor, simt), found `gpu`\n  ┌─ 2:12",
        ),
        ("pipeline p {\n  stages\n}", "error: expected channel, stage, side output, certificate or `}`, found `stages`\n  ┌─ 2:3"),
        ("pipeline p {\n  certificate { order [] tokens [] resident 1 of 2 }\n certificate", "error: `certificate` occurs twice\n  ┌─ 3:2"),
    ] {
        let error = parse_pipeline(text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
