//! Passes switched off make other Programs that compute the same.

use std::collections::BTreeMap;
use warpsight_generate::layout::encode;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Along, Meeting, Pass, Passes, Place, ScheduleFamily};
use warpsight_ir::interpret::interpret;
use warpsight_ir::{Bindings, Checked, Config, Expr, ParamKind, Program, Scalar, Stmt};

const OPERATORS: [&str; 7] = [
    "conv2d n=1 c=5 h=7 w=9 k=6 r=3 s=3 stride=1 pad=1",
    "matmul m=7 n=12 k=10",
    "conv2d n=1 c=8 h=6 w=6 k=8 r=1 s=1 stride=1 pad=0",
    "softmax n=3 c=21",
    "matmul m=6 n=16 k=12 dtype=f16",
    "maxpool n=1 c=6 h=9 w=9 r=3 s=3 stride=2 pad=1",
    "dwconv2d n=1 c=4 h=8 w=8 r=3 s=3 pad=1",
];

/// Memory of a Program's parameters, filled alike for all of one configuration.
fn memory(program: &Program) -> Vec<Vec<u8>> {
    let mut rng = fastrand::Rng::with_seed(11);
    let elements = |kind: &ParamKind| match kind {
        ParamKind::Buffer { dims, element, .. } => (dims.iter().filter_map(Expr::as_int).product::<i64>(), *element),
        ParamKind::Image { width, height, format, .. } => {
            (4 * width.as_int().unwrap_or(0) * height.as_int().unwrap_or(0), if format.bytes() == 8 { Scalar::F16 } else { Scalar::F32 })
        }
        ParamKind::Channel { .. } => (0, Scalar::F32),
    };
    let filled = |(n, element)| encode(element, &(0..n).map(|_| rng.i32(-8..9) as f32 / 4.0).collect::<Vec<_>>());
    program.params.iter().map(|own| elements(&own.kind)).map(filled).collect()
}

fn run(program: &Checked) -> Vec<Vec<u8>> {
    let mut bindings = Bindings { data: memory(program), ..Bindings::default() };
    interpret(program, &mut bindings).unwrap_or_else(|fault| panic!("{fault}\n{}", **program));
    bindings.data
}

/// A few configurations of an operator, by everything that passes may change.
fn drawn(text: &str, passes: Passes, seed: u64) -> (ScheduleFamily, Vec<Config>) {
    let expr = parse_operator(text).expect("an operator").steps.remove(0);
    let family = ScheduleFamily::by(expr, passes);
    let mut configs = family.sample(seed, 40, Meeting::ANY);
    fastrand::Rng::with_seed(seed).shuffle(&mut configs);
    configs.truncate(12);
    (family, configs)
}

#[test]
fn without_any_pass_results_are_the_same() {
    // Knobs of places are others with and without images, patterns and strips, and spaces with and without rounds.
    let passes = Pass::ALL.into_iter().filter(|pass| !matches!(pass, Pass::SetImage | Pass::Patterns | Pass::Strips | Pass::Rounds));
    let one_off: Vec<_> = passes.clone().map(|pass| Passes::default().set(pass, !Passes::default().has(pass))).collect();
    let none = passes.fold(Passes::default(), |passes, pass| passes.set(pass, false));
    let mut changed = BTreeMap::new();
    for text in OPERATORS {
        for seed in 0..3 {
            let (plain, configs) = drawn(text, Passes::default(), seed);
            for passes in one_off.iter().copied().chain([none, Passes::default()]) {
                let other = ScheduleFamily::by(plain.expr().clone(), passes);
                for config in &configs {
                    let (one, two) = (plain.finish(config).expect("lowers"), other.finish(config).expect("lowers"));
                    *changed.entry(passes.to_string()).or_insert(0) += usize::from(*one != *two);
                    assert_eq!(run(&one), run(&two), "{text}{passes}\n{}\n{}", *one, *two);
                }
            }
        }
    }
    // Each changes something.
    assert_eq!(changed.len(), 8, "{changed:?}");
    assert!(changed.iter().all(|(passes, &n)| (n > 5) != passes.is_empty()), "{changed:?}");
}

#[test]
fn without_images_there_are_none() {
    let count = |passes| {
        let (family, _) = drawn(OPERATORS[0], passes, 1);
        let configs = family.some(2000);
        let images = configs.iter().filter(|own| family.places(own).is_some_and(|places| places.iter().any(|place| place.is_image())));
        (images.count(), configs.len())
    };
    let (images, all) = count(Passes::default());
    assert!(images > all / 4, "{images} of {all}");
    let (images, all) = count(Passes::default().set(Pass::SetImage, false));
    assert!(images == 0 && all > 100, "{images} of {all}");
}

#[test]
fn strips_are_there_where_they_are_asked_for() {
    let count = |text: &str, passes| {
        let family = ScheduleFamily::by(parse_operator(text).expect("an operator").steps.remove(0), passes);
        let further = |own| matches!(own, Place::Strips(Along::Columns, _) | Place::Strips(_, None));
        let configs = family.sample(1, 200, Meeting::default());
        (configs.iter().filter(|own| family.chosen_places(own).any(further)).count(), configs.len())
    };
    for text in ["matmul m=24 n=20 k=61", "conv2d n=1 c=6 h=7 w=9 k=5 r=3 s=3 pad=1"] {
        assert_eq!(count(text, Passes::default()).0, 0, "{text}");
        let (strips, all) = count(text, Passes::default().set(Pass::Strips, true));
        assert!(strips > all / 8, "{text}: {strips} of {all}");
    }
}

/// What each switch is for, in the text of one kernel.
#[test]
fn what_is_left_out_is_in_the_text() {
    let (family, configs) = drawn(OPERATORS[2], Passes::default(), 4);
    let all_images = |own: &&Config| family.places(own).is_some_and(|places| places.iter().all(|place| place.is_image()));
    let sampled = family.sample(4, 400, Meeting::default());
    let config = sampled.iter().chain(&configs).find(all_images).expect("a configuration in images");
    let text = |passes: Passes| {
        let other = ScheduleFamily::by(family.expr().clone(), passes);
        other.finish(config).expect("lowers").to_string()
    };
    let without = |pass| text(Passes::default().set(pass, false));
    assert!(!text(Passes::default()).contains('%'), "logical coordinates need no quotients");
    assert!(without(Pass::Addresses).contains('%') && without(Pass::Addresses).contains('/'));
    assert!(!text(Passes::default()).contains("vec4_0") && without(Pass::Autobroadcast).contains("vec4_0"));
    let strong = ScheduleFamily::by(family.expr().clone(), Passes::default().set(Pass::Strength, true));
    let loops = sampled.iter().filter_map(|own| strong.finish(own).ok()).filter(|own| {
        fn counts(stmts: &[Stmt]) -> bool {
            stmts.iter().any(|own| match own {
                Stmt::For { body, .. } => matches!(body.last(), Some(Stmt::Assign { name, .. }) if name.starts_with("at")) || counts(body),
                other => other.blocks().into_iter().any(|block| counts(block)),
            })
        }
        counts(&own.body)
    });
    assert!(loops.count() > 0, "no loop sums up");
}
