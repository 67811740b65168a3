//! The checker against work-groups that run in a random order, on random plans with planted faults.

use warpsight_dataflow::foreign;
use warpsight_dataflow::proof::{Launch, Objection, Resources, prove};
use warpsight_ir::occupancy::Residency;
use warpsight_ir::{Channel, Firings, Name, Pipeline, PipelineStage, Scalar, StageBody, StageClass, Step, profile};
use warpsight_sim::Silicon;
use warpsight_sim::pipeline::{PipelineFault, Scheduler, simulate};

fn a100() -> Residency {
    Residency::of(&profile::builtin("a100-40").expect("built in").expect("valid"))
}

fn firings(stage: &PipelineStage) -> &Firings {
    match &stage.body {
        StageBody::Firings(firings) => firings,
        StageBody::Program(_) => panic!("{}", stage.name),
    }
}

/// Channel, which of its consumers (`None` puts), token.
type Passing = (usize, Option<usize>, usize);

/// What each work-group does, in order, from the definition of firings.
fn scripts(pipeline: &Pipeline) -> Vec<Vec<Passing>> {
    let mut scripts = Vec::new();
    for stage in &pipeline.stages {
        let f = firings(stage);
        for cta in 0..u64::from(stage.ctas) {
            let mut script = Vec::new();
            for firing in (cta..f.count).step_by(stage.ctas as usize) {
                let mut moved: Vec<(Name, bool, u64)> = Vec::new();
                for step in &f.steps {
                    let (name, count, takes) = match step {
                        Step::Take { channel, count } => (channel, *count, true),
                        Step::Put { channel, count } => (channel, *count, false),
                        Step::Work { .. } => continue,
                    };
                    let at = pipeline.channels.iter().position(|c| c.name == *name).expect("a channel");
                    let before: u64 = moved.iter().filter(|m| m.0 == *name && m.1 == takes).map(|m| m.2).sum();
                    let per_firing = if takes { f.takes(name) } else { f.puts(name) };
                    let consumer =
                        takes.then(|| pipeline.channels[at].consumers.iter().position(|c| *c == stage.name).expect("a consumer"));
                    // Dealt as cards are, one after another to all that play this round.
                    let ctas = u64::from(stage.ctas);
                    let hand = |token: u64| {
                        let round = token / (ctas * per_firing);
                        let players = ctas.min(f.count - round * ctas);
                        round * ctas + (token - round * ctas * per_firing) % players
                    };
                    let tokens: Vec<usize> = match takes && f.dealt {
                        true => (0..f.count * per_firing).filter(|&token| hand(token) == firing).map(|token| token as usize).collect(),
                        false => (firing * per_firing..(firing + 1) * per_firing).map(|token| token as usize).collect(),
                    };
                    script.extend((before..before + count).map(|i| (at, consumer, tokens[i as usize])));
                    moved.push((name.clone(), takes, count));
                }
            }
            script.reverse();
            scripts.push(script);
        }
    }
    scripts
}

/// What the timed simulation says, on one cooperative kernel.
fn simulated(pipeline: &Pipeline, on: &Silicon) -> Result<(), PipelineFault> {
    simulate(pipeline, on, Scheduler::Cooperative).map(drop)
}

/// Runs all firings, whoever can move next being drawn by lot. Whether all come to their end.
fn finishes(pipeline: &Pipeline, rng: &mut fastrand::Rng) -> bool {
    let total = |c: &Channel| {
        let producer = firings(pipeline.stages.iter().find(|s| s.name == c.producers[0]).expect("a stage"));
        (producer.count * producer.puts(&c.name)) as usize
    };
    let mut put: Vec<Vec<bool>> = pipeline.channels.iter().map(|c| vec![false; total(c)]).collect();
    let mut taken: Vec<Vec<Vec<bool>>> = pipeline.channels.iter().map(|c| vec![vec![false; total(c)]; c.consumers.len()]).collect();
    let mut scripts = scripts(pipeline);
    loop {
        let can = |script: &Vec<Passing>| match script.last() {
            None => false,
            Some(&(channel, Some(_), token)) => put[channel].get(token) == Some(&true),
            Some(&(channel, None, token)) => {
                let depth = pipeline.channels[channel].depth as usize;
                token < depth || taken[channel].iter().all(|own| own[token - depth])
            }
        };
        let able: Vec<usize> = (0..scripts.len()).filter(|&i| can(&scripts[i])).collect();
        if able.is_empty() {
            return scripts.iter().all(Vec::is_empty);
        }
        let (channel, consumer, token) = scripts[able[rng.usize(..able.len())]].pop().expect("able");
        match consumer {
            Some(consumer) => taken[channel][consumer][token] = true,
            None => put[channel][token] = true,
        }
    }
}

/// A plan whose numbers fit each other: stages in a row with shortcuts, some gathering several tokens in a firing, some tokens for two.
fn sound(rng: &mut fastrand::Rng) -> Pipeline {
    let stages = rng.usize(2..7);
    let iterations = rng.u64(1..4);
    let counts: Vec<u64> = (0..stages).map(|_| rng.choice([1, 1, 2, 4, 6]).expect("some")).collect();
    let mut plan = Pipeline { name: "p".into(), stages: vec![], channels: vec![], side_outputs: vec![], certificate: None };
    let name = |i: usize| Name::from(format!("s{i}"));
    let mut takes: Vec<Vec<Step>> = vec![vec![]; stages];
    let mut puts: Vec<Vec<Step>> = vec![vec![]; stages];
    for from in 0..stages - 1 {
        let mut targets: Vec<usize> = (from + 2..stages).filter(|_| rng.u8(..3) == 0).collect();
        targets.insert(0, from + 1);
        // One channel for all, or one for each.
        let shared = rng.bool();
        let groups: Vec<Vec<usize>> = if shared { vec![targets] } else { targets.into_iter().map(|to| vec![to]).collect() };
        for to in groups {
            let channel = Name::from(format!("c{from}_{}", to[0]));
            let fits = |n: &u64| to.iter().all(|&to| n.is_multiple_of(counts[to]));
            let tokens = (1..).map(|k| k * counts[from]).find(fits).expect("a multiple") * rng.u64(1..3);
            puts[from].push(Step::Put { channel: channel.clone(), count: tokens / counts[from] });
            to.iter().for_each(|&to| takes[to].push(Step::Take { channel: channel.clone(), count: tokens / counts[to] }));
            let depth = rng.u32(1..4) + if rng.bool() { tokens as u32 * 2 } else { 0 };
            let consumers = to.iter().map(|&to| name(to)).collect();
            plan.channels.push(Channel {
                name: channel,
                element: Scalar::F16,
                dims: vec![64],
                depth,
                producers: vec![name(from)],
                consumers,
            });
        }
    }
    for i in 0..stages {
        let mut inputs = takes[i].clone();
        rng.shuffle(&mut inputs);
        let steps = inputs.into_iter().chain([Step::Work { flops: 10, read: 0, written: 0 }]).chain(puts[i].iter().cloned()).collect();
        let body =
            StageBody::Firings(Firings { count: counts[i] * iterations, dealt: rng.bool(), lanes: 128, registers: 64, local: 0, steps });
        plan.stages.push(PipelineStage { name: name(i), class: StageClass::Simt, ctas: rng.u32(1..5), body });
    }
    plan
}

#[test]
fn plans_with_and_without_faults_are_told_apart() {
    let mut rng = fastrand::Rng::with_seed(1);
    let core = a100();
    let on = Resources { core: &core, cores: 108, launch: Launch::Cooperative };
    let silicon = Silicon::named("a100-40").expect("built in");
    let mut seen = [0_u32; 4];
    for case in 0..1000 {
        let mut plan = sound(&mut rng);
        match case % 4 {
            // Depths are drawn, so that many of these deadlock by themselves.
            0 => {}
            1 => plan.channels.iter_mut().for_each(|channel| channel.depth = 1),
            2 => {
                let at = rng.usize(..plan.stages.len());
                let StageBody::Firings(f) = &mut plan.stages[at].body else { panic!("a plan") };
                f.count += 1;
            }
            _ => plan.stages[0].ctas = 108 * 16,
        }
        let simulated = simulated(&plan, &silicon);
        let kind = match prove(&plan, &on) {
            Ok(certificate) => {
                assert_eq!(certificate.order.len(), plan.stages.len());
                assert!(finishes(&plan, &mut rng), "case {case}: proved, but stuck\n{plan}");
                assert_eq!(simulated, Ok(()), "case {case}\n{plan}");
                0
            }
            Err(Objection::Waits(circle)) => {
                assert!(!finishes(&plan, &mut rng), "case {case}: finishes\n{plan}\n{circle:?}");
                assert!(matches!(simulated, Err(PipelineFault::Stuck { .. })), "case {case}: {simulated:?}\n{plan}");
                assert!(circle.len() > 1 && circle.first() == circle.last(), "case {case}: {circle:?}\n{plan}");
                1
            }
            Err(Objection::Unequal { .. }) => {
                assert_eq!(case % 4, 2);
                assert!(
                    matches!(simulated, Err(PipelineFault::Stuck { .. } | PipelineFault::Left { .. })),
                    "case {case}: {simulated:?}\n{plan}"
                );
                2
            }
            Err(Objection::NotResident(why)) => {
                assert!(case % 4 == 3 && why.contains("registers"), "{why}");
                assert!(matches!(simulated, Err(PipelineFault::Refused(_))), "case {case}: {simulated:?}\n{plan}");
                3
            }
            Err(other) => panic!("case {case}: {other}\n{plan}"),
        };
        seen[kind] += 1;
    }
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}

const NORM: &str = r#"{
  "format": "persistent-plan/1", "name": "norm",
  "channels": [
    {"name": "x", "element": "f16", "token": [128, 64], "depth": 4},
    {"name": "y", "element": "f32", "token": [128], "depth": 2}
  ],
  "stages": [
    {"name": "load", "class": "simt", "ctas": 2, "firings": 64, "lanes": 128, "registers": 40, "local": 0, "steps": [{"put": {"channel": "x", "count": 1}}]},
    {"name": "sum", "class": "simt", "ctas": 1, "firings": 8, "lanes": 128, "registers": 40, "local": 0,
     "steps": [{"take": {"channel": "x", "count": 8}}, {"put": {"channel": "y", "count": 1}}]},
    {"name": "scale", "class": "simt", "ctas": 1, "firings": 8, "lanes": 128, "registers": 40, "local": 0,
     "steps": [{"take": {"channel": "y", "count": 1}}, {"take": {"channel": "x", "count": 8}}]}
  ]
}"#;

/// A row is summed before it is scaled: the queue must hold a row.
#[test]
fn a_short_queue_beside_a_reduction_deadlocks() {
    let core = a100();
    let on = Resources { core: &core, cores: 108, launch: Launch::Cooperative };
    let judged = |json: &str| prove(&foreign::read(json).expect("a plan"), &on);
    let message = judged(NORM).unwrap_err().to_string();
    assert_eq!(
        message,
        "work-groups wait for each other: `load` (work-group 0, firing 4) waits for room to put token 4 of `x`; \
         `scale` (work-group 0, firing 0) waits to take token 0 of `y`; `sum` (work-group 0, firing 0) waits to take token 4 of `x`; \
         `load` (work-group 0, firing 4) waits for room to put token 4 of `x`"
    );
    let certificate = judged(&NORM.replace("\"depth\": 4", "\"depth\": 8")).expect("a proof");
    assert_eq!((certificate.tokens, certificate.resident), (vec![("x".into(), 64), ("y".into(), 8)], (4, 108 * 12)));
    assert!(judged(&NORM.replace("\"depth\": 4", "\"depth\": 7")).is_err());
}

#[test]
fn what_else_stands_against_a_plan() {
    let core = a100();
    let judged = |json: &str, launch| match foreign::read(json) {
        Ok(plan) => {
            prove(&plan, &Resources { core: &core, cores: 2, launch }).map_or_else(|e| e.to_string(), |c| format!("{:?}", c.resident))
        }
        Err(error) => error.to_string(),
    };
    let deep = NORM.replace("\"depth\": 4", "\"depth\": 8");
    let rows = [vec![1, 1, 0], vec![1, 0, 1]];
    assert_eq!(judged(&deep, Launch::Placed(&rows)), "(4, 4)");
    assert_eq!(
        judged(&deep, Launch::Placed(&rows[..1])),
        "not all work-groups are resident at once: 1 of the 2 work-groups of `load` are placed"
    );
    let large = deep.replace("\"local\": 0", "\"local\": 100000");
    assert_eq!(
        judged(&large, Launch::Placed(&rows)),
        "not all work-groups are resident at once: core 0 has too few bytes of local memory for what is placed on it"
    );
    assert_eq!(
        judged(&large, Launch::Cooperative),
        "not all work-groups are resident at once: 4 are needed, 2 cores hold 2 of 128 work-items, 40 registers and 100000 B of local memory, \
         limited by bytes of local memory"
    );
    assert_eq!(
        judged(&deep.replacen("\"registers\": 40", "\"registers\": 256", 1), Launch::Cooperative),
        "not all work-groups are resident at once: a work-item of `load` needs 256 registers, and has 255 at most"
    );
    assert_eq!(
        judged(&deep.replace("\"depth\": 8", "\"depth\": 0"), Launch::Cooperative),
        "invalid pipeline at channel x: a channel without room for a token"
    );
    let more = deep.replace("\"firings\": 64", "\"firings\": 65");
    assert_eq!(judged(&more, Launch::Cooperative), "channel `x`: `load` puts 65 tokens, `sum` takes 64");
    let misspelt = judged(&deep.replace("\"firings\": 64", "\"fires\": 64"), Launch::Cooperative);
    assert!(misspelt.starts_with("unknown field `fires`, expected one of `name`") && misspelt.contains("line 8"), "{misspelt}");
    let back = r#"[{"take": {"channel": "z", "count": 1}}, {"put": {"channel": "x""#;
    let circle = deep.replace(r#"[{"put": {"channel": "x""#, back);
    let forth = r#"[{"put": {"channel": "z", "count": 8}}, {"take": {"channel": "y""#;
    let circle = circle.replace(r#"[{"take": {"channel": "y""#, forth);
    let circle = circle.replace(r#""channels": ["#, r#""channels": [{"name": "z", "element": "f32", "token": [1], "depth": 64},"#);
    let message = judged(&circle, Launch::Cooperative);
    assert_eq!(message, "invalid pipeline at channels: the stages form a cycle: load → sum → scale → load");
}

/// However many tokens, a plan is judged by one iteration of it.
#[test]
fn long_executions_are_judged_as_fast_as_short_ones() {
    let core = a100();
    let on = Resources { core: &core, cores: 108, launch: Launch::Cooperative };
    let long = NORM.replace("\"firings\": 64", "\"firings\": 8000000000000").replace("\"firings\": 8,", "\"firings\": 1000000000000,");
    assert!(matches!(prove(&foreign::read(&long).expect("a plan"), &on), Err(Objection::Waits(_))));
    let deep = long.replace("\"depth\": 4", "\"depth\": 4000000000");
    assert_eq!(prove(&foreign::read(&deep).expect("a plan"), &on).expect("a proof").tokens[0].1, 8_000_000_000_000);
    let huge = NORM.replace("\"count\": 8", "\"count\": 18446744073709551615");
    assert!(prove(&foreign::read(&huge).expect("a plan"), &on).is_err());
}
