//! Programs joined by channels.

use crate::{as_ints, bindings, ints, program};
use warpsight_ir::interpret::{Budget, ChannelProblem, Fault, Member, interpret, interpret_pipeline, run_together};
use warpsight_ir::{Bindings, Channel, Direction, Firings, Pipeline, PipelineStage, Scalar, StageBody, StageClass};

fn producer(depth: u32, tokens: u32, groups: u32) -> String {
    format!(
        "
program producer {{
  send channel c: i32[4] depth {depth}
  local t: i32[4]
  groups g = {groups}
  lanes l = 4
  {{
    for n in 0 .. {tokens} {{
      t[l] = (n * {groups} + g) * 10 + l
      barrier group local
      send c from t
      barrier group local
    }}
  }}
}}"
    )
}

fn consumer(depth: u32, tokens: u32, factor: i32) -> String {
    format!(
        "
program consumer {{
  receive channel c: i32[4] depth {depth}
  write buffer y: i32[{tokens}, 4]
  local t: i32[4]
  groups g = 1
  lanes l = 4
  {{
    for n in 0 .. {tokens} {{
      receive c into t
      barrier group local
      y[n, l] = t[3 - l] * {factor}
      barrier group local
    }}
  }}
}}"
    )
}

/// Runs texts together, all groups resident, on these data.
fn together(texts: &[String], data: &mut [Bindings]) -> Result<(), Fault> {
    let programs: Vec<_> = texts.iter().map(|t| program(t)).collect();
    let members = programs.iter().zip(data);
    let members = members.map(|(program, bindings)| Member { program, bindings, resident: 8 });
    run_together(&mut members.collect::<Vec<_>>(), Budget { steps: Some(100_000) })
}

/// What consumers of `tokens` tokens hold after a producer of 1 group.
fn received(tokens: i32, factor: i32) -> Vec<i32> {
    (0..tokens).flat_map(|n| (0..4).rev().map(move |l| (n * 10 + l) * factor)).collect()
}

#[test]
fn tokens_arrive_in_order_at_every_consumer() {
    for depth in 1..4 {
        let texts = [producer(depth, 6, 1), consumer(depth, 6, 1), consumer(depth, 6, -3)];
        let mut data = [bindings(&[], vec![vec![]]), bindings(&[], vec![vec![], vec![0; 96]]), bindings(&[], vec![vec![], vec![0; 96]])];
        together(&texts, &mut data).unwrap();
        assert_eq!(as_ints(&data[1].data[1]), received(6, 1));
        assert_eq!(as_ints(&data[2].data[1]), received(6, -3));
    }
}

#[test]
fn groups_of_a_stage_share_its_end() {
    // Three groups send two tokens each; the consumer gets all six, those of each group in order.
    let mut data = [bindings(&[], vec![vec![]]), bindings(&[], vec![vec![], vec![0; 96]])];
    together(&[producer(1, 2, 3), consumer(1, 6, 1)], &mut data).unwrap();
    let mut tokens: Vec<i32> = as_ints(&data[1].data[1]).into_iter().step_by(4).map(|v| v / 10).collect();
    for group in 0..3 {
        let own: Vec<i32> = tokens.iter().copied().filter(|t| t % 3 == group).collect();
        assert_eq!(own, [group, group + 3]);
    }
    tokens.sort_unstable();
    assert_eq!(tokens, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_groups_of_a_consumer_take_turns() {
    let text = "
program workers {
  receive channel c: i32[4] depth 2
  write buffer y: i32[3, 2]
  local t: i32[4]
  groups g = 3
  lanes l = 1
  { for n in 0 .. 2 { receive c into t barrier group local y[g, n] = t[0] / 10 barrier group local } }
}";
    let mut data = [bindings(&[], vec![vec![]]), bindings(&[], vec![vec![], ints(&[-1; 6])])];
    together(&[producer(2, 6, 1), text.to_owned()], &mut data).unwrap();
    let mut tokens = as_ints(&data[1].data[1]);
    assert!(tokens.chunks(2).all(|own| own[0] < own[1]), "{tokens:?}");
    tokens.sort_unstable();
    assert_eq!(tokens, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_cycle_without_a_first_token_is_a_deadlock() {
    let stage = |name: &str, from: &str, to: &str| {
        format!(
            "
program {name} {{
  receive channel {from}: i32[1] depth 1
  send channel {to}: i32[1] depth 1
  local t: i32[1]
  groups g = 1
  lanes l = 1
  {{ receive {from} into t barrier group local send {to} from t }}
}}"
        )
    };
    let mut data = [bindings(&[], vec![vec![]; 2]), bindings(&[], vec![vec![]; 2])];
    let fault = together(&[stage("ping", "a", "b"), stage("pong", "b", "a")], &mut data).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "deadlock: ping at body[0], work-item (l=0) of group (g=0) waits for `a`, which is empty; \
         pong at body[0], work-item (l=0) of group (g=0) waits for `b`, which is empty"
    );
}

#[test]
fn a_consumer_that_wants_more_and_one_that_wants_less() {
    let mut data = [bindings(&[], vec![vec![]]), bindings(&[], vec![vec![], vec![0; 64]])];
    let Fault::Deadlock { waiting } = together(&[producer(2, 3, 1), consumer(2, 4, 1)], &mut data).unwrap_err() else { panic!() };
    assert_eq!((waiting.len(), &*waiting[0].channel, waiting[0].direction), (1, "c", Direction::Receive));
    let Fault::Deadlock { waiting } = together(&[producer(1, 6, 1), consumer(1, 4, 1)], &mut data).unwrap_err() else { panic!() };
    assert_eq!((waiting.len(), waiting[0].direction), (1, Direction::Send));
}

#[test]
fn a_token_is_read_only_after_a_barrier() {
    let mut data = [bindings(&[], vec![vec![]]), bindings(&[], vec![vec![], vec![0; 64]])];
    let careless = consumer(1, 4, 1).replacen("barrier group local", "", 1);
    let fault = together(&[producer(1, 4, 1), careless], &mut data).unwrap_err();
    assert!(matches!(&fault, Fault::Race { tensor, .. } if &**tensor == "t"), "{fault}");
}

#[test]
fn ends_must_fit() {
    let problem = |fault| match fault {
        Err(Fault::BadChannel { channel, problem }) if &*channel == "c" => problem,
        other => panic!("{other:?}"),
    };
    let mut data = [bindings(&[], vec![vec![]]), bindings(&[], vec![vec![], vec![0; 64]])];
    assert_eq!(problem(together(&[producer(1, 4, 1), consumer(2, 4, 1)], &mut data)), ChannelProblem::Mismatch("consumer".into()));
    assert_eq!(problem(interpret(&program(&producer(1, 4, 1)), &mut data[0])), ChannelProblem::Unconnected(Direction::Receive));
    assert_eq!(problem(interpret(&program(&consumer(1, 4, 1)), &mut data[1])), ChannelProblem::Unconnected(Direction::Send));
}

#[test]
fn a_pipeline_runs_its_stages() {
    let stage = |name: &str, text: String, ctas| PipelineStage {
        name: name.into(),
        class: StageClass::Simt,
        ctas,
        body: StageBody::Program(program(&text).into_inner()),
    };
    let channel = Channel {
        name: "c".into(),
        element: Scalar::I32,
        dims: vec![4],
        depth: 1,
        producers: vec!["first".into()],
        consumers: vec!["second".into()],
    };
    let mut pipeline = Pipeline {
        name: "two".into(),
        // Two groups, one resident: the second begins when the first is through.
        stages: vec![stage("first", producer(1, 2, 2), 1), stage("second", consumer(1, 4, 1), 1)],
        channels: vec![channel],
        side_outputs: vec![],
        certificate: None,
    };
    let mut data = [bindings(&[], vec![vec![]]), bindings(&[], vec![vec![], vec![0; 64]])];
    interpret_pipeline(&pipeline, &mut data, Budget::default()).unwrap();
    let tokens: Vec<i32> = as_ints(&data[1].data[1]).into_iter().step_by(4).map(|v| v / 10).collect();
    assert_eq!(tokens, [0, 2, 1, 3]);
    pipeline.channels[0].producers.push("second".into());
    let fault = interpret_pipeline(&pipeline, &mut data, Budget::default());
    assert_eq!(fault, Err(Fault::BadChannel { channel: "c".into(), problem: ChannelProblem::Ends(Direction::Send) }));

    pipeline.channels.clear();
    let firings = Firings { count: 1, dealt: false, lanes: 1, registers: 1, local: 0, steps: vec![] };
    pipeline.stages = vec![PipelineStage { name: "plan".into(), class: StageClass::Simt, ctas: 1, body: StageBody::Firings(firings) }];
    let fault = interpret_pipeline(&pipeline, &mut [bindings(&[], vec![])], Budget::default());
    assert_eq!(fault, Err(Fault::Malformed { kernel: "plan".into(), problem: "it has no program yet".to_owned() }));
}
