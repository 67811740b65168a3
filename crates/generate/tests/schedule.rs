//! A schedule is a list of loops: which lists there are, and what is none.

use warpsight_generate::expr::AxisId;
use warpsight_generate::knobs::Knobs;
use warpsight_generate::nest::Nest;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::schedule::{Bind, Loop, Near, Schedule, Stage};
use warpsight_generate::{Lowering, Meeting, Pass, Passes, Place, ScheduleFamily, TensorExpr};
use warpsight_ir::interpret::interpret;
use warpsight_ir::{AccessKind, Bindings, Checked, Config, Family, Program, Stmt};

fn expression(text: &str) -> TensorExpr {
    parse_operator(text).expect("an operator").steps.remove(0)
}

/// Schedules of configurations that are drawn.
fn schedules(expr: &TensorExpr) -> Vec<Schedule> {
    let (knobs, family) = (Knobs::of(expr, Passes::default()), ScheduleFamily::new(expr.clone()));
    let configs = family.sample(5, 400, Meeting::ANY);
    configs.iter().map(|config| knobs.schedule(expr, config).expect("legal")).collect()
}

#[test]
fn what_knobs_make_covers_every_axis_once() {
    let (mut copied, mut shared, mut folded) = (0, 0, 0);
    for text in ["matmul m=13 n=20 k=37", "matmul m=3 n=5 k=700", "conv2d n=1 c=40 h=9 w=13 k=12 r=3 s=3 pad=1", "softmax n=6 c=45"] {
        let expr = expression(text);
        for schedule in schedules(&expr) {
            assert!(schedule.is_valid(&expr), "{text}\n{}", schedule.show(&expr));
            copied += usize::from(!schedule.stages.is_empty());
            shared += usize::from(schedule.reduction_lanes() > 1);
            folded += usize::from(schedule.reduces_vectors(&expr));
        }
    }
    assert!(copied > 20 && shared > 20 && folded > 20, "{copied} {shared} {folded}");
}

/// Each change of a list makes one that does not cover the axes, or cannot be lowered: no nest is made of it.
#[test]
fn what_does_not_cover_an_axis_or_has_no_order_is_refused() {
    let expr = expression("matmul m=64 n=64 k=64");
    let all = schedules(&expr);
    let own = |schedule: &&Schedule| !schedule.stages.is_empty() && schedule.width() > 1 && schedule.sequential().1.len() == 1;
    let own = all.iter().find(own).expect("one copies and has vectors");
    assert!(Nest::new(&expr, own, Passes::default()).is_some());
    let refused = |change: &dyn Fn(&mut Schedule), why: &str| {
        let mut other = own.clone();
        change(&mut other);
        assert!(!other.is_valid(&expr) && Nest::new(&expr, &other, Passes::default()).is_none(), "{why}\n{}", other.show(&expr));
    };
    for at in 0..own.loops.len() {
        refused(&|own| own.loops[at].trips += 1, "a trip too many");
        refused(&|own| own.loops[at].step += 1, "not what loops inside walk over");
        refused(&|own| own.loops[at].axis = AxisId(3), "an axis that there is not");
        refused(&|own| own.loops[at].trips = 0, "no trip");
    }
    let at = own.sequential().0;
    refused(&|own| own.loops.swap(at - 1, at), "lanes in a sequential loop");
    refused(&|own| own.loops[at].bind = Bind::ReductionLane, "lanes that share no loop");
    refused(&|own| own.loops[at].bind = Bind::Group, "groups that share a reduction");
    refused(&|own| own.loops.reverse(), "inside out");
    let lanes = own.loops.iter().position(|own| own.bind == Bind::Lane).expect("lanes");
    refused(&|own| own.loops.swap(lanes, lanes + 1), "lanes in another order than groups");
    let twice = own.loops[at];
    let (first, second) = (Loop { trips: 2, step: 32, ..twice }, Loop { trips: 2, step: 16, ..twice });
    let thrice = |own: &mut Schedule| {
        own.loops[at].trips = 16 / own.loops[at].step;
        own.loops.insert_many(at, [first, second]);
    };
    refused(&thrice, "three sequential loops of an axis");
    refused(&|own| own.loops.insert(at + 1, Loop { trips: 1, ..twice }), "a loop inside of one trip");
    let ahead = |own: &mut Schedule| {
        // One trip is all there is, and none comes before it.
        own.loops[at].trips = 1;
        let inside = own.loops.iter().position(|other| other.axis == own.loops[at].axis && other.bind == Bind::Unrolled);
        own.loops[inside.expect("steps are written out")].trips = 64;
        (own.loops[at].step, own.ahead) = (64, true);
    };
    refused(&ahead, "loaded in a trip that there is not");
    refused(&|own| (own.stages[0].at, own.ahead) = (99, true), "copied in a loop that there is not");
    refused(&|own| own.stages[0].at = 0, "copied for all groups");
    refused(&|own| own.stages[0].tensor = 2, "the output");
    refused(&|own| _ = own.places.pop(), "a tensor that is nowhere");
    refused(&|own| own.accumulators = 0, "a result that is combined nowhere");
}

#[test]
fn a_list_is_read_as_loops() {
    let expr = expression("matmul m=13 n=20 k=37");
    let family = ScheduleFamily::new(expr.clone());
    let knobs = Knobs::of(&expr, Passes::default());
    let config = family.configs().find(|config| {
        let own = knobs.schedule(&expr, config).expect("legal");
        own.reduction_lanes() == 1
            && own.accumulators == 1
            && own.bound(Bind::Lane).count() == 2
            && own.width() == 4
            && own.bound(Bind::Unrolled).count() == 2
    });
    let text = family.dump(&config.expect("a configuration"), Lowering::Tile).expect("legal");
    let lines = [
        "group m in 0..13 step 16",
        "group n in 0..20 step 32",
        "lane m in 0..16 step 2",
        "lane n in 0..32 step 4",
        "sequential k in 0..36 step 2, then 1 more",
        "unrolled k in 0..2 step 1",
        "unrolled m in 0..2 step 1",
        "vector n in 0..4 step 1",
    ];
    assert_eq!(text.lines().map(str::trim_start).collect::<Vec<_>>(), lines);
    assert!(text.lines().enumerate().all(|(depth, line)| line.len() - line.trim_start().len() == 2 * depth), "{text}");
}

/// A configuration whose copies serve several trips, with a rest of several trips and less than one.
fn nested(ahead: bool) -> (TensorExpr, ScheduleFamily, Config) {
    nested_from(Place::Buffer, "matmul m=24 n=20 k=61", ahead)
}

/// The same whose operands are copied from such a place.
fn nested_from(place: Place, text: &str, ahead: bool) -> (TensorExpr, ScheduleFamily, Config) {
    let expr = expression(text);
    let (knobs, family) = (Knobs::of(&expr, Passes::default()), ScheduleFamily::new(expr.clone()));
    let config = family.configs().find(|config| {
        let own = knobs.schedule(&expr, config).expect("legal");
        let there = own.places[..2] == [place, place];
        there && own.ahead == ahead && own.stages.len() == 2 && own.width() == 4 && own.nested().is_some_and(|outer| outer.step == 16)
    });
    (expr, family, config.expect("there is one"))
}

#[test]
fn a_copy_serves_several_trips() {
    let (_, family, config) = nested(false);
    let text = family.dump(&config, Lowering::Tile).expect("legal");
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let at = lines.iter().position(|line| line.starts_with("sequential")).expect("a loop");
    let expected = [
        "sequential k in 0..48 step 16, then 13 more",
        "copy left to local memory",
        "copy right to local memory",
        "sequential k in 0..16 step 4",
        "unrolled k in 0..4 step 1",
    ];
    assert_eq!(lines[at..at + 5], expected, "{text}");
    // Two copies, of 16 and of the 13 that are left: both wait before and behind, and three trips of four and one more read the second.
    let loads = family.dump(&config, Lowering::Loads).expect("legal");
    assert_eq!(loads.lines().filter(|line| line.contains("copy left")).count(), 2, "{loads}");
    let loops: Vec<&str> = loads.lines().map(str::trim).filter(|line| line.starts_with("for")).collect();
    assert_eq!(loops, ["for k in 0..48 step 16", "for k in 0..16 step 4", "for k in 0..12 step 4"]);
}

/// Barriers of a list of statements, in their order; the one of a number is left out.
fn without(stmts: Vec<Stmt>, left_out: usize, met: &mut usize) -> Vec<Stmt> {
    let mut kept = vec![];
    for stmt in stmts {
        kept.push(match stmt {
            Stmt::Barrier { .. } => {
                *met += 1;
                if *met - 1 == left_out {
                    continue;
                }
                stmt
            }
            Stmt::For { var, from, to, step, unroll, body } => {
                Stmt::For { var, from, to, step, unroll, body: without(body, left_out, met) }
            }
            Stmt::Scope(body) => Stmt::Scope(without(body, left_out, met)),
            other => other,
        });
    }
    kept
}

/// Each barrier is needed: work-items that do not wait read what is not there yet, or write what others read.
#[test]
fn a_barrier_left_out_is_a_race() {
    for ahead in [false, true] {
        barriers_are_needed(nested(ahead));
        barriers_are_needed(nested_from(Place::Image, "matmul m=24 n=20 k=61 weights=none", ahead));
    }
}

fn barriers_are_needed((expr, family, config): (TensorExpr, ScheduleFamily, Config)) {
    let layouts = family.layouts(&config).expect("legal");
    let run = |left_out: usize| {
        let (mut met, program) = (0, family.lower(&config).expect("lowers").into_inner());
        let body = without(program.body.clone(), left_out, &mut met);
        let program = Checked::new(Program { body, ..program }).expect("valid");
        let tensors = expr.inputs.iter().chain([&expr.output]).zip(&layouts);
        let data = tensors.map(|(tensor, layout)| vec![0; layout.bytes(tensor.element) as usize]).collect();
        (met, interpret(&program, &mut Bindings { sizes: Default::default(), data }))
    };
    let (barriers, whole) = run(usize::MAX);
    assert!(whole.is_ok() && barriers == 4, "{whole:?} {barriers}");
    for barrier in 0..barriers {
        let fault = run(barrier).1.expect_err("a race").to_string();
        assert!(fault.contains("race"), "{barrier}: {fault}");
    }
}

/// Of an image each load of a copy is a texel, put beside what other work-items bring; no work-item fetches what it computes with.
#[test]
fn texels_are_copied() {
    for text in ["matmul m=24 n=20 k=61 weights=none", "matmul m=24 n=20 k=61 transpose_left=1 transpose_right=1 weights=none"] {
        let (_, family, config) = nested_from(Place::Image, text, false);
        let kernel = family.kernel(&config);
        let (mut texels, mut put, mut read) = (0, 0, 0);
        kernel.accesses.each(&mut |access| match (usize::from(access.tensor), access.kind) {
            (0 | 1, _) => texels += access.times,
            (2, _) => {}
            (_, AccessKind::Load) => read += access.times,
            (_, _) => put += access.times * u32::from(access.width),
        });
        assert!(texels > 0 && put == 4 * texels && read > texels, "{text}: {texels} {put} {read}");
        let loads = family.dump(&config, Lowering::Loads).expect("legal");
        assert_eq!(loads.lines().filter(|line| line.contains("copy") && line.contains("4 wide")).count(), 4, "{loads}");
    }
}

#[test]
fn what_is_copied_is_loaded_a_trip_ahead() {
    let (_, family, config) = nested(true);
    let lines = |step| family.dump(&config, step).expect("legal").lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    assert!(lines(Lowering::Tile).contains(&"copy left to local memory, loaded a trip ahead".to_owned()));
    // Two copies, as without: of three trips, each of which loads the next one's, and of what is left, which waits for its own.
    let copies: Vec<String> = lines(Lowering::Loads).into_iter().filter(|line| line.contains("copy left")).collect();
    assert_eq!(copies.iter().map(|line| line.ends_with(", of the next trip")).collect::<Vec<_>>(), [true, false], "{copies:?}");
    let kernel = family.kernel(&config);
    let (mut ahead, mut others) = (0, 0);
    kernel.accesses.each(&mut |access| {
        let global = usize::from(access.tensor) < 2;
        ahead += usize::from(access.ahead);
        others += usize::from(global && !access.ahead && access.kind == AccessKind::Load);
        assert!(
            !access.ahead || global && access.guard.iter().any(|own| own.extent == 3),
            "the last of three trips has no next one: {access:?}"
        );
    });
    // Before the loop and behind it as many loads are waited for as each trip has under way.
    assert_eq!((ahead > 0, others), (true, 2 * ahead), "{ahead} {others}");
}

/// Terms that follow each other take turns at four accumulators, which are combined in pairs at the end: a chain of a quarter of the updates.
#[test]
fn accumulators_take_turns() {
    let expr = expression("matmul m=3 n=40 k=70 weights=none");
    let (knobs, family) = (Knobs::of(&expr, Passes::default()), ScheduleFamily::new(expr.clone()));
    let with = |accumulators: u32| {
        let found = family.configs().find(|config| {
            let own = knobs.schedule(&expr, config).expect("legal");
            let written = own.bound(Bind::Unrolled).map(|own| own.trips).collect::<Vec<_>>();
            own.accumulators == accumulators && own.reduction_lanes() == 1 && own.width() == 4 && written == [8]
        });
        found.expect("there is one")
    };
    let (one, four) = (with(1), with(4));
    let program = family.lower(&four).expect("legal").to_string();
    let updates = |turn: u32| program.matches(&format!("acc0_{turn} = ")).count();
    // Eight in a trip, of six behind the last one the first two have a turn more.
    assert_eq!([0, 1, 2, 3].map(updates), [4, 4, 3, 3], "{program}");
    assert!(program.contains("let joined = acc0_0 + acc0_2 + (acc0_1 + acc0_3)"), "{program}");
    assert_eq!([&one, &four].map(|own| family.kernel(own).chain), [Some(70), Some(18)]);
    assert!(family.dump(&four, Lowering::Tile).expect("legal").ends_with("each result in 4 accumulators\n"));
    // Each of them has a turn in each trip, of windows and of few whole vectors, too.
    for text in ["matmul m=1 n=1 k=40 weights=none", "conv2d n=1 c=64 h=4 w=4 k=16 r=2 s=2 stride=2"] {
        let expr = expression(text);
        let (knobs, family) = (Knobs::of(&expr, Passes::default()), ScheduleFamily::new(expr.clone()));
        let several = |config: &Config| knobs.schedule(&expr, config).expect("legal").accumulators == 4;
        let some: Vec<Config> = family.configs().filter(several).take(200).collect();
        assert!(some.len() > 20, "{text}: {}", some.len());
        for config in some {
            let program = family.lower(&config).expect("legal").to_string();
            assert!((0..4).all(|turn| program.contains(&format!("acc0_{turn} = "))), "{program}");
        }
    }
    // Neither where results are chains enough, nor where a trip has fewer terms than accumulators.
    for config in family.configs() {
        let own = knobs.schedule(&expr, &config).expect("legal");
        let points: i64 = own.bound(Bind::Unrolled).filter(|own| own.axis.0 < 2).map(|own| own.trips).product();
        let terms: i64 = own.bound(Bind::Unrolled).filter(|own| own.axis.0 == 2).map(|own| own.trips).product();
        assert!(own.accumulators == 1 || points <= 2 && terms >= 4 && own.stages.is_empty(), "{}", own.show(&expr));
    }
}

/// Rounds of a group that knobs do not make: around copies to local memory, reductions that lanes share and loops of all kinds, along any axis, with
/// rounds beyond its end. What is computed is the same to the bit, and a group that does not meet at the end of a round races.
#[test]
fn a_group_goes_round() {
    let (mut copied, mut shared, mut races) = (0, 0, 0);
    for text in ["matmul m=13 n=20 k=37", "matmul m=24 n=40 k=32", "matmul m=3 n=5 k=700", "conv2d n=1 c=9 h=7 w=9 k=12 r=3 s=3 pad=1"] {
        let expr = expression(text);
        let all = schedules(&expr);
        let meet = all.iter().filter(|own| own.meets()).take(12).chain(all.iter().filter(|own| !own.meets()).take(8));
        for (n, own) in meet.enumerate() {
            let axis = AxisId(n % expr.axes.len());
            let group = own.loops.iter().position(|own| own.bind == Bind::Group && own.axis == axis).expect("groups");
            let Loop { trips, step, .. } = own.loops[group];
            let rounds = 2 + n as i64 % 3;
            let mut round = own.clone();
            (round.loops[group].trips, round.loops[group].step) = ((trips + rounds - 1) / rounds, step * rounds);
            let at = own.loops.iter().take_while(|own| own.bind <= Bind::Lane).count();
            round.loops.insert(at, Loop { axis, trips: rounds, step, bind: Bind::Round });
            round.stages.iter_mut().for_each(|own| own.at += 1);
            if step * rounds >= expr.axes[axis.0].extent + step * rounds || !round.is_valid(&expr) {
                panic!("{text}\n{}", round.show(&expr));
            }
            let made = |schedule: &Schedule| {
                let nest = Nest::new(&expr, schedule, Passes::default())?;
                warpsight_generate::program::program(&nest).map(|own| (own, nest.layouts.clone()))
            };
            let (Some(one), Some(other)) = (made(own), made(&round)) else { panic!("{text}\n{}", round.show(&expr)) };
            let run = |(program, layouts): &(Program, Vec<warpsight_generate::Layout>)| {
                let tensors = expr.inputs.iter().chain([&expr.output]).zip(layouts);
                let values = |len: i64| (0..len).map(|n| (n * 37 % 101 - 50) as f32 / 64.0).collect::<Vec<_>>();
                let data = tensors.map(|(tensor, layout)| layout.pack(tensor, &values(tensor.len() as i64), 0.0)).collect();
                let mut bindings = Bindings { sizes: Default::default(), data };
                let program = Checked::new(program.clone()).expect("valid");
                interpret(&program, &mut bindings).map(|()| bindings.data.pop().expect("the output"))
            };
            let result = run(&one).expect("runs");
            assert!(run(&other).expect("runs") == result, "{text}\n{}", round.show(&expr));
            copied += usize::from(own.copied().next().is_some());
            shared += usize::from(own.reduction_lanes() > 1);
            // The last barrier is that of the round.
            let mut met = 0;
            without(other.0.body.clone(), usize::MAX, &mut met);
            if met > 0 && own.reduction_lanes() > 1 && trips > 1 {
                let body = without(other.0.body.clone(), met - 1, &mut 0);
                races += usize::from(run(&(Program { body, ..other.0.clone() }, other.1.clone())).is_err());
            }
        }
    }
    println!("{copied} copy, {shared} share, {races} races");
    assert!(copied >= 10 && shared >= 10 && races >= 3, "{copied} {shared} {races}");
}

/// What is kept through rounds is the same in all of them, read by steps that are written out, in front of the rounds.
#[test]
fn what_cannot_be_kept_is_refused() {
    let expr = expression("dwconv2d n=1 c=12 h=16 w=24 r=3 s=3 pad=1");
    let passes = Passes::default().set(Pass::Rounds, true);
    let (knobs, family) = (Knobs::of(&expr, passes), ScheduleFamily::by(expr.clone(), passes));
    let all = family.sample(5, 400, Meeting::ANY).iter().map(|config| knobs.schedule(&expr, config).expect("legal")).collect::<Vec<_>>();
    let own = all.iter().find(|own| own.keeps(1) && own.rounds().is_some()).expect("one keeps the taps");
    assert!(own.is_valid(&expr) && own.stages[..] == [Stage { tensor: 1, at: own.stages[0].at, to: Near::Private }]);
    let refused = |change: &dyn Fn(&mut Schedule), why: &str| {
        let mut other = own.clone();
        change(&mut other);
        assert!(!other.is_valid(&expr) && Nest::new(&expr, &other, Passes::default()).is_none(), "{why}\n{}", other.show(&expr));
    };
    let at = own.stages[0].at;
    refused(&|own| own.stages[0].tensor = 0, "the picture, of which each round has another part");
    refused(&|own| own.stages[0].at = at - 1, "somewhere else than in front of the rounds");
    refused(&|own| own.stages[0].to = Near::Local, "a copy in a loop of no reduction");
    refused(&|own| own.loops[at + 1].trips = 1, "one round");
    refused(&|own| own.loops[at + 1].step += 1, "not what lanes walk over together");
    let both = |own: &mut Schedule| own.loops.insert(at + 1, own.loops[at + 1]);
    refused(&both, "rounds of rounds");
    // Windows that are walked over by loops are read in each of their trips.
    let rolled = all.iter().find(|own| own.rounds().is_some() && own.bound(Bind::Sequential).any(|own| own.trips > 1)).expect("some do");
    let mut other = rolled.clone();
    let round = other.loops.iter().position(|own| own.bind == Bind::Round).expect("rounds");
    other.stages = vec![Stage { tensor: 1, at: round - 1, to: Near::Private }].into();
    assert!(rolled.is_valid(&expr) && !other.is_valid(&expr), "{}", other.show(&expr));
}
