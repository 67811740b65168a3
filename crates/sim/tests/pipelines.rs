//! The pipeline simulator against figures of paper 003 and against times worked out by hand.

use warpsight_ir::{Bytes, Channel, Firings, Pipeline, PipelineStage, Scalar, Seconds, StageBody, StageClass, Step};
use warpsight_sim::Silicon;
use warpsight_sim::pipeline::{PipelineFault, Scheduler, simulate};

fn a100() -> Silicon {
    Silicon::named("a100-40").expect("built in")
}

fn stage(name: &str, class: StageClass, ctas: u32, count: u64, steps: Vec<Step>) -> PipelineStage {
    let body = StageBody::Firings(Firings { count, dealt: false, lanes: 256, registers: 64, local: 0, steps });
    PipelineStage { name: name.into(), class, ctas, body }
}

fn work(flops: u64, read: u64, written: u64) -> Step {
    Step::Work { flops, read, written }
}

fn put(channel: &str) -> Step {
    Step::Put { channel: channel.into(), count: 1 }
}

fn take(channel: &str) -> Step {
    Step::Take { channel: channel.into(), count: 1 }
}

fn channel(name: &str, bytes: u32, depth: u32, from: &str, to: &str) -> Channel {
    let (producers, consumers) = (vec![from.into()], vec![to.into()]);
    Channel { name: name.into(), element: Scalar::F16, dims: vec![bytes / 2], depth, producers, consumers }
}

fn pipeline(stages: Vec<PipelineStage>, channels: Vec<Channel>) -> Pipeline {
    Pipeline { name: "p".into(), stages, channels, side_outputs: vec![], certificate: None }
}

/// 54 queues of two slots, 108 work-groups that do nothing else; GB/s of all queues.
fn queues(silicon: &Silicon, payload: u32) -> f64 {
    let tokens = 200;
    let each = |i: u32| {
        let (from, to, queue) = (format!("from{i}"), format!("to{i}"), format!("q{i}"));
        let stages =
            [stage(&from, StageClass::Simt, 1, tokens, vec![put(&queue)]), stage(&to, StageClass::Simt, 1, tokens, vec![take(&queue)])];
        (stages, channel(&queue, payload, 2, &from, &to))
    };
    let all: Vec<_> = (0..54).map(each).collect();
    let plan = pipeline(all.iter().flat_map(|own| own.0.clone()).collect(), all.into_iter().map(|own| own.1).collect());
    let run = simulate(&plan, silicon, Scheduler::Greedy).expect("a run");
    let moved = 2.0 * 54.0 * tokens as f64 * f64::from(payload);
    assert!((run.queues.0 / moved - 1.0).abs() < 1e-9, "{:?} {moved}", run.queues);
    54.0 * tokens as f64 * f64::from(payload) / run.time.0 / 1e9
}

/// Paper 003, section 4.1 and figure 5: the three figures that the queue's two numbers were taken from, and one they were not.
#[test]
fn queues_are_as_fast_as_figure_5_says() {
    let silicon = a100();
    let alone = 56.3 * 54.0;
    let [small, middle, large, beyond] = [1024, 65_536, 196_608, 524_288].map(|payload| queues(&silicon, payload));
    assert!((alone / small / 12.0 - 1.0).abs() < 0.05, "twelve times slower at 1 KB: {small}");
    assert!(alone / middle < 1.68, "63 % slower at 64 KB: {middle}");
    assert!((large / 2000.0 - 1.0).abs() < 0.05, "2 TB/s between 128 and 256 KB: {large}");
    // 54 queues of two slots of 512 KB are more than 40 MB; written and read, 1.5 TB/s pass.
    assert!(beyond < 0.8 * large, "slower beyond the cache: {beyond}");
}

#[test]
fn a_kernel_alone_takes_what_its_roofline_says() {
    let silicon = a100();
    // 1080 tiles of 2 GFLOP, two at once on each of 108 multiprocessors: five rounds.
    let tiles =
        |count: u32| pipeline(vec![stage("gemm", StageClass::Tensor, count, u64::from(count), vec![work(2_000_000_000, 0, 0)])], vec![]);
    let run = simulate(&tiles(1080), &silicon, Scheduler::Greedy).expect("a run");
    let peak = 108.0 * 1.41e9 * 2048.0;
    // Four work-groups of 256 × 64 registers fit, and together reach the peak.
    let ideal = 1080.0 * 2e9 / peak;
    assert!(run.time.0 >= ideal * 0.999 && run.time.0 < ideal * 1.25, "{} {ideal}", run.time.0);
    // One tile more than fit at once takes a round more; alone it reaches 0.8.
    let [full, more] = [432, 433].map(|count| simulate(&tiles(count), &silicon, Scheduler::Greedy).expect("a run").time.0);
    assert!((full - 432.0 * 2e9 / peak).abs() < 1e-9, "{full}");
    assert!((more - full - 2e9 / (1.41e9 * 2048.0 * 0.8)).abs() < 1e-7, "{more}");
    // Memory: bytes over bandwidth, and the latency of the first.
    let copy = pipeline(vec![stage("copy", StageClass::Simt, 216, 216 * 20, vec![work(0, 1 << 20, 1 << 20)])], vec![]);
    let run = simulate(&copy, &silicon, Scheduler::Greedy).expect("a run");
    let bytes = 216.0 * 20.0 * f64::from(1 << 21);
    assert_eq!(run.dram, Bytes(bytes));
    assert!((run.time.0 - bytes / 1.4e12 - 4.09e-7).abs() < 1e-9, "{}", run.time.0);
}

/// The slowest stage sets the pace, and what comes before waits for room.
#[test]
fn the_slowest_stage_sets_the_pace() {
    let silicon = a100();
    let stages = vec![
        stage("fast", StageClass::Tensor, 4, 400, vec![work(10_000_000, 0, 0), put("q")]),
        stage("slow", StageClass::Simt, 2, 400, vec![take("q"), work(10_000_000, 0, 0), put("r")]),
        stage("last", StageClass::Simt, 2, 400, vec![take("r"), work(1_000_000, 0, 0)]),
    ];
    let plan = pipeline(stages, vec![channel("q", 65_536, 4, "fast", "slow"), channel("r", 65_536, 4, "slow", "last")]);
    let run = simulate(&plan, &silicon, Scheduler::TwoArbiters).expect("a run");
    let alone = 1e7 / (1.41e9 * 64.0 * 0.5);
    // 200 firings for each of two work-groups.
    assert!(run.time.0 > 200.0 * alone && run.time.0 < 205.0 * alone, "{} {alone}", run.time.0);
    let [fast, slow, last] = [0, 1, 2].map(|i| &run.stages[i]);
    assert!(fast.blocked > fast.busy * 10.0 && last.starved > last.busy * 5.0 && slow.busy.0 > 0.9 * 2.0 * run.time.0, "{:?}", run.stages);
}

/// A token's bytes arrive while they are worked on, so that the longer of the two counts; the handshake comes before both.
#[test]
fn tokens_stream_in_while_they_are_worked_on() {
    let silicon = a100();
    let time = |flops: u64| {
        let stages = vec![
            stage("from", StageClass::Simt, 8, 400, vec![put("q")]),
            stage("to", StageClass::Tensor, 1, 400, vec![take("q"), work(flops, 0, 0)]),
        ];
        simulate(&pipeline(stages, vec![channel("q", 65_536, 32, "from", "to")]), &silicon, Scheduler::TwoArbiters).expect("a run").time.0
    };
    let (handshake, moved): (f64, f64) = (1.92e-7, 65_536.0 / 3.84e10);
    let computed = |flops: u64| flops as f64 / (1.41e9 * 2048.0 * 0.8);
    for flops in [1_000_000, 10_000_000] {
        let each = handshake + moved.max(computed(flops));
        assert!((time(flops) / (400.0 * each) - 1.0).abs() < 0.02, "{} {}", time(flops), 400.0 * each);
    }
}

/// What comes from several producers costs what it costs from one: their counters are polled at once, their bytes stream one after another.
#[test]
fn tokens_of_several_producers_are_one_payload() {
    let silicon = a100();
    let time = |producers: u32| {
        let name = |i: u32| (format!("from{i}"), format!("q{i}"));
        let mut stages: Vec<_> = (0..producers).map(|i| stage(&name(i).0, StageClass::Simt, 4, 400, vec![put(&name(i).1)])).collect();
        let takes = (0..producers).map(|i| take(&name(i).1)).chain([work(1000, 0, 0)]).collect();
        stages.push(stage("to", StageClass::Simt, 1, 400, takes));
        let channels = (0..producers).map(|i| channel(&name(i).1, 65_536 / producers, 32, &name(i).0, "to")).collect();
        simulate(&pipeline(stages, channels), &silicon, Scheduler::TwoArbiters).expect("a run").time.0
    };
    assert!((time(1) / (400.0 * (1.92e-7 + 65_536.0 / 3.84e10)) - 1.0).abs() < 0.02, "{}", time(1));
    for producers in [2, 8, 16] {
        assert!((time(producers) / time(1) - 1.0).abs() < 0.02, "{producers}: {} {}", time(producers), time(1));
    }
}

/// Two classes on the same multiprocessors do not slow each other down; two of one class do.
#[test]
fn classes_overlap() {
    let silicon = a100();
    let kernel = |name: &str, class, flops| stage(name, class, 432, 432, vec![work(flops, 0, 0)]);
    let tensor = 2_000_000_000;
    // As long on vector units.
    let simt = tensor / 32;
    let time = |stages| simulate(&pipeline(stages, vec![]), &silicon, Scheduler::TwoArbiters).expect("a run").time;
    let alone = time(vec![kernel("a", StageClass::Tensor, tensor)]);
    let half = |name: &str, class, flops| stage(name, class, 216, 216, vec![work(flops, 0, 0)]);
    let both = time(vec![half("a", StageClass::Tensor, 2 * tensor), half("b", StageClass::Simt, 2 * simt)]);
    assert!((both / alone - 1.0).abs() < 0.3, "{both:?} {alone:?}");
    let same = time(vec![half("a", StageClass::Tensor, 2 * tensor), half("b", StageClass::Tensor, 2 * tensor)]);
    assert!((same / alone - 2.0).abs() < 0.1, "{same:?} {alone:?}");
}

/// As grid schedulers are, a consumer whose producer fills all multiprocessors never begins.
#[test]
fn work_groups_that_are_not_resident_are_waited_for_in_vain() {
    let silicon = a100();
    let plan = |producers: u32| {
        let stages = vec![
            stage("from", StageClass::Simt, producers, 4 * u64::from(producers), vec![work(1000, 0, 0), put("q")]),
            stage("to", StageClass::Simt, 1, 4 * u64::from(producers), vec![take("q")]),
        ];
        pipeline(stages, vec![channel("q", 1024, 8, "from", "to")])
    };
    simulate(&plan(431), &silicon, Scheduler::Greedy).expect("one has room");
    let fault = simulate(&plan(432), &silicon, Scheduler::Greedy).expect_err("none has");
    assert!(matches!(&fault, PipelineFault::Stuck { waiting, .. } if waiting[0].contains("waits for room in `q`")), "{fault}");
    let fault = simulate(&plan(432), &silicon, Scheduler::Cooperative).expect_err("refused");
    assert_eq!(fault.to_string(), "the launch is refused: a cooperative kernel of 433 work-groups, where 432 are resident");
}

#[test]
fn what_cannot_be_timed() {
    let silicon = a100();
    let text = "pipeline p {\n  stage s: simt, 1 ctas program k {\n    groups g = 1\n    lanes l = 1\n    {\n    }\n  }\n}\n";
    let plan = warpsight_ir::text::parse_pipeline(text).expect("a pipeline");
    let fault = simulate(&plan, &silicon, Scheduler::Greedy).expect_err("a program");
    assert_eq!(fault.to_string(), "stage `s` has a program, and no firings to be timed by");
    let long = pipeline(vec![stage("s", StageClass::Simt, 1, 1 << 40, vec![])], vec![]);
    assert!(matches!(simulate(&long, &silicon, Scheduler::Greedy), Err(PipelineFault::TooLong(_))));
    let phone = simulate(&long, &Silicon::adreno640(), Scheduler::Greedy).expect_err("no queues on a phone");
    assert_eq!(phone.to_string(), "silicon `adreno640` has no section for pipelines");
    assert!(Silicon::with_pipelines("adreno640").expect_err("none").ends_with(" only of a100-40, h200"));
    let empty = pipeline(vec![stage("s", StageClass::Simt, 3, 5, vec![])], vec![]);
    assert_eq!(simulate(&empty, &silicon, Scheduler::Greedy).expect("a run").time, Seconds::ZERO);
}
