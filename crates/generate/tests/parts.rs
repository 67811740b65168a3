//! Expressions that write one tensor together: what is disjoint and covering passes, planted overlaps and holes do not, nor what reads in place
//! what was written.

use fastrand::Rng;
use std::collections::BTreeSet;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::candidates::candidates;
use warpsight_generate::expr::{Axis, AxisId, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_generate::indices::for_each_index;
use warpsight_generate::operators::{concat, copy, parse_operator, tensor, update};
use warpsight_generate::parts::{Part, PartsError, check, onto};
use warpsight_ir::{Family, Scalar};

/// Rows 3 and 4 of seven are new.
fn updated() -> Operator {
    update(&[7, 5], &[2, 5], 0, 3, Scalar::F32).expect("an operator")
}

/// An expression with this store, of axes of these extents.
fn storing(name: &str, extents: &[i64], store: Vec<Index>, shape: &[i64], clipped: bool) -> TensorExpr {
    let plain = copy(&[4], Scalar::F32).expect("an operator").steps.remove(0);
    let axes = extents.iter().enumerate().map(|(n, &extent)| Axis { name: format!("a{n}").into(), extent }).collect();
    let output = tensor("output", shape, Scalar::F32, Role::Output);
    TensorExpr { name: name.into(), inputs: vec![], body: ScalarExpr::Const(1.0), axes, output, store, clipped, ..plain }
}

/// A constant and terms of axes.
fn form(constant: i64, terms: &[(usize, i64)]) -> Index {
    let add = |sum: Index, &(axis, by): &(usize, i64)| sum.plus(&Index::var(AxisId(axis)), by).expect("small numbers");
    terms.iter().fold(Index::constant(constant), add)
}

fn sequence(steps: Vec<TensorExpr>) -> Operator {
    Operator { kind: "sequence".into(), steps }
}

#[test]
fn an_update_is_three_parts() {
    let operator = updated();
    let sizes: Vec<u64> = operator.steps.iter().map(|step| Part::of(step).expect("a part").len()).collect();
    assert_eq!((sizes, check(&operator)), (vec![15, 10, 10], Ok(())));
    for (start, steps) in [(0, 2), (5, 2), (2, 3)] {
        assert_eq!(update(&[7, 5], &[2, 5], 0, start, Scalar::F32).expect("an operator").steps.len(), steps);
    }
    assert_eq!(update(&[7, 5], &[7, 5], 0, 0, Scalar::F32).expect("an operator").steps.len(), 1);
    for (part, axis, start) in [([2, 5], 0, 6), ([2, 5], 0, -1), ([2, 4], 0, 0), ([2, 5], 2, 0), ([2, 5], 0, i64::MAX)] {
        assert!(update(&[7, 5], &part, axis, start, Scalar::F32).is_err(), "{part:?} {axis} {start}");
    }
}

#[test]
fn a_planted_overlap_is_refused() {
    let mut operator = updated();
    let part = operator.steps.last_mut().expect("a step");
    // One row further up: row 2 is written twice, row 4 by none.
    part.store[0] = part.store[0].clone().offset(-1).expect("a form");
    let (tensor, first, second) = ("output".into(), "update_before".into(), "update".into());
    assert_eq!(check(&operator), Err(PartsError::Overlap { tensor, first, second }));
    // The same row again and again.
    let twice = sequence(vec![
        storing("all", &[3, 4], vec![form(0, &[(1, 1)])], &[8], false),
        storing("rest", &[4], vec![form(4, &[(0, 1)])], &[8], false),
    ]);
    assert_eq!(check(&twice), Err(PartsError::Unknown { tensor: "output".into(), step: "all".into() }));
}

#[test]
fn a_planted_hole_is_refused() {
    for gone in 0..3 {
        let mut operator = updated();
        let removed = Part::of(&operator.steps.remove(gone)).expect("a part").len();
        assert_eq!(check(&operator), Err(PartsError::Hole { tensor: "output".into(), written: 35 - removed, elements: 35 }));
    }
    // A row shorter than its gap.
    let mut operator = updated();
    operator.steps[0].axes[0].extent -= 1;
    assert_eq!(check(&operator), Err(PartsError::Hole { tensor: "output".into(), written: 30, elements: 35 }));
    let mut outside = updated();
    let part = outside.steps.last_mut().expect("a step");
    part.store[1] = part.store[1].clone().offset(1).expect("a form");
    assert_eq!(check(&outside), Err(PartsError::Unknown { tensor: "output".into(), step: "update".into() }));
}

/// What a strided deconvolution may be made of: each phase an expression, the last ones cut off.
#[test]
fn phases_are_disjoint_and_cover() {
    let phase = |name: &str, first: i64, count: i64| storing(name, &[count], vec![form(first, &[(0, 2)])], &[9], true);
    let [even, odd] = [phase("even", 0, 5), phase("odd", 1, 5)];
    assert_eq!(check(&sequence(vec![even.clone(), odd.clone()])), Ok(()));
    assert_eq!(Part::of(&odd).expect("a part").len(), 4, "the fifth is beyond the end");
    let wrong = phase("wrong", 2, 4);
    assert!(matches!(check(&sequence(vec![even.clone(), wrong])), Err(PartsError::Overlap { .. })));
    let thirds = storing("thirds", &[3], vec![form(1, &[(0, 3)])], &[9], false);
    assert!(matches!(check(&sequence(vec![even.clone(), thirds])), Err(PartsError::Overlap { .. })), "4 is even");
    let one = |at: i64| storing("one", &[1], vec![form(at, &[])], &[9], true);
    let rest = storing("rest", &[3], vec![form(3, &[(0, 2)])], &[9], true);
    assert_eq!(check(&sequence(vec![even.clone(), one(1), rest.clone()])), Ok(()));
    assert!(matches!(check(&sequence(vec![even.clone(), one(5), rest])), Err(PartsError::Overlap { .. })), "5 is of the rest");
    let half = Tensor { element: Scalar::F16, ..odd.output.clone() };
    let mixed = sequence(vec![phase("even", 0, 5), TensorExpr { output: half, ..odd }]);
    assert!(matches!(check(&mixed), Err(PartsError::Layout { .. })));
}

#[test]
fn in_place_only_what_is_new_is_left() {
    let operator = onto(&updated(), &"input".into()).expect("in place");
    let names: Vec<&str> = operator.steps.iter().map(|step| &*step.name).collect();
    assert_eq!(names, ["update"]);
    assert!(operator.steps[0].inputs.iter().all(|tensor| &*tensor.name == "part"));
}

#[test]
fn reading_in_place_what_was_written_is_refused() {
    let late = |step: &str| Err(PartsError::Late { tensor: "input".into(), step: step.into() });
    // What the last two rows become lies so many rows before them.
    let shifted = |by: i64| {
        let mut operator = updated();
        let ScalarExpr::Load { index, .. } = &mut operator.steps[1].body else { panic!("a copy") };
        index[0] = index[0].clone().offset(-by).expect("a form");
        operator
    };
    assert_eq!(onto(&shifted(1), &"input".into()).map(|_| ()), late("update_after"), "row 5 is read and written by one expression");
    // Rows 3 and 4 are read before they are new, or after.
    let mut operator = shifted(2);
    assert_eq!(onto(&operator, &"input".into()).expect("in place").steps.len(), 2);
    operator.steps.swap(1, 2);
    assert_eq!(onto(&operator, &"input".into()).map(|_| ()), late("update_after"));
    // What comes before the write, and reads nothing of what it writes, is in order: rows 0 and 1 go to rows 5 and 6.
    let early = onto(&shifted(5), &"input".into()).expect("in place");
    assert_eq!(early.steps.len(), 2);
    // A reader of all rows, into a tensor of its own, before the update and after it.
    let mut reader = copy(&[7, 5], Scalar::F32).expect("an operator").steps.remove(0);
    (reader.name, reader.output.name) = ("reader".into(), "seen".into());
    let mut steps = updated().steps;
    steps.insert(0, reader.clone());
    assert_eq!(onto(&sequence(steps.clone()), &"input".into()).expect("in place").steps.len(), 2);
    let first = steps.remove(0);
    steps.insert(2, first);
    assert_eq!(onto(&sequence(steps.clone()), &"input".into()).expect("before the new rows").steps.len(), 2);
    let reader = steps.remove(2);
    // After it: the last expression writes another part.
    let last = steps.remove(1);
    steps.extend([reader, last]);
    assert_eq!(onto(&sequence(steps), &"input".into()).map(|_| ()), late("reader"));
    // Other places.
    let mut turned = updated();
    turned.steps.iter_mut().flat_map(|step| &mut step.inputs).filter(|own| &*own.name == "input").for_each(|own| own.shape = vec![5, 7]);
    assert!(matches!(onto(&turned, &"input".into()), Err(PartsError::Layout { .. })));
}

/// Parts by their runs are the elements that are written, one by one.
#[test]
fn runs_are_what_is_written() {
    let mut rng = Rng::with_seed(11);
    let mut known = 0;
    for _ in 0..3000 {
        let axes: Vec<i64> = (0..rng.usize(1..4)).map(|_| rng.i64(1..5)).collect();
        let shape = [rng.i64(1..13), rng.i64(1..13)];
        let mut forms = [vec![], vec![]];
        for axis in 0..axes.len() {
            if rng.u8(..8) > 0 {
                forms[rng.usize(..2)].push((axis, rng.choice([1, 1, 2, 3, 4, -1, -2]).expect("one")));
            }
        }
        let store = forms.iter().map(|terms| form(rng.i64(-3..8), terms)).collect();
        let expr = storing("drawn", &axes, store, &shape, rng.bool());
        let (mut written, mut twice, mut outside) = (BTreeSet::new(), false, false);
        for_each_index(&axes, |_, point| {
            let at: Vec<i64> = expr.store.iter().map(|form| form.eval(|a| point[a.0]).expect("small numbers")).collect();
            if at.iter().zip(&shape).all(|(at, extent)| (0..*extent).contains(at)) {
                twice |= !written.insert(at);
            } else {
                outside = true;
            }
        });
        let Some(part) = Part::of(&expr) else { continue };
        known += 1;
        assert!(!twice && (expr.clipped || !outside), "{:?}", expr.store);
        assert_eq!(part.len(), written.len() as u64, "{:?} in {shape:?}", expr.store);
        for_each_index(&shape, |_, at| assert_eq!(part.contains(at), written.contains(at), "{:?} at {at:?}", expr.store));
    }
    assert!(known > 400, "{known}");
}

/// Of a strided transposed convolution each remainder has a kernel with its own taps alone; results lie in blocks of channels, too, which no part cuts.
#[test]
fn phases_have_the_taps_that_reach_them() {
    let terms = |step: &TensorExpr| step.all_axes().map(|axis| axis.extent).product::<i64>();
    let direct = parse_operator("deconv2d n=1 c=8 h=12 w=12 k=16 r=3 s=3 stride=2 pad=1 weights=constant").expect("an operator");
    let named = |operator: &Operator| candidates(operator).into_iter().find(|own| own.name == "phases");
    let phases = named(&direct).expect("phases").operator;
    check(&phases).expect("disjoint and covering");
    let windows: Vec<i64> = phases.steps.iter().map(|step| step.reduce.iter().skip(1).map(|axis| axis.extent).product()).collect();
    assert_eq!(windows, [4, 2, 2, 1]);
    for step in &phases.steps {
        let mut none = false;
        step.body.loads(&mut |tensor, _, padded| none |= padded && step.inputs[tensor].role == Role::Weight);
        assert!(!none && !step.clipped, "{}: every tap is one", step.name);
    }
    assert!(terms(&direct.steps[0]) * 9 / 16 >= phases.steps.iter().map(terms).sum());
    for step in &phases.steps {
        let knobs = ScheduleFamily::new(step.clone());
        let place = knobs.space().knobs.iter().find(|knob| &*knob.name == "place_output").expect("a knob").labels.clone();
        assert!(place.iter().any(|label| &**label == "blocks8") && place.iter().any(|label| &**label == "buffer"), "{place:?}");
    }
    // As many taps for each remainder; a window that does not move; an update of rows.
    for text in [
        "deconv2d n=1 c=8 h=5 w=5 k=4 r=4 s=4 stride=2 pad=1",
        "deconv2d n=1 c=8 h=5 w=5 k=4 r=3 s=3",
        "conv2d n=1 c=4 h=5 w=5 k=4 r=3 s=3 stride=2 pad=1",
    ] {
        assert!(named(&parse_operator(text).expect("an operator")).is_none(), "{text}");
    }
    assert!(named(&updated()).is_none());
}

/// What is joined is copied into its part by a kernel of its own, which asks for nothing else and no bounds; in blocks of channels where no part cuts one.
#[test]
fn what_is_joined_is_copied_into_parts() {
    let named = |operator: &Operator| candidates(operator).into_iter().find(|own| own.name == "parts").map(|own| own.operator);
    let fire = |channels: &[i64], axis: usize| {
        let input = |(n, extent): (usize, &i64)| {
            let mut shape = [1, 12, 5, 6];
            shape[axis] = *extent;
            tensor(&format!("input{n}"), &shape, Scalar::F32, Role::Activation)
        };
        concat(&channels.iter().enumerate().map(input).collect::<Vec<_>>(), axis).expect("an operator")
    };
    let places = |step: &TensorExpr| {
        let knobs = ScheduleFamily::new(step.clone());
        let own = knobs.space().knobs.iter().find(|knob| &*knob.name == "place_output").map(|knob| knob.labels.clone());
        own.unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for (channels, axis, first, second) in [
        (&[8, 16][..], 1, &["buffer", "image", "blocks4", "blocks8"][..], &["buffer", "image", "blocks4", "blocks8"][..]),
        (&[12, 6], 1, &["buffer", "image", "blocks4"], &["buffer", "image", "blocks4"]),
        (&[5, 7], 1, &[], &[]),
        (&[3, 2], 2, &["buffer", "image", "blocks4", "blocks8", "blocks16"], &["buffer", "image", "blocks4", "blocks8", "blocks16"]),
    ] {
        let parts = named(&fire(channels, axis)).expect("parts");
        check(&parts).expect("disjoint and covering");
        assert_eq!(parts.steps.len(), 2);
        for step in &parts.steps {
            let ScalarExpr::Load { padded: false, .. } = step.body else { panic!("{}: {:?}", step.name, step.body) };
            assert_eq!(step.inputs.len(), 1);
        }
        assert_eq!(places(&parts.steps[0]), first, "{channels:?}");
        assert_eq!(places(&parts.steps[1]), second, "{channels:?}");
    }
    // A sum of two that overlap, and one of a sum that lies everywhere.
    let mut overlap = fire(&[8, 16], 1);
    let moved = overlap.steps[0].body.with_leaves(&mut |leaf| match leaf {
        ScalarExpr::Load { tensor: 1, index, padded } => {
            let mut index = index.clone();
            index[1] = index[1].clone().offset(1).expect("a form");
            ScalarExpr::Load { tensor: 1, index, padded: *padded }
        }
        other => other.clone(),
    });
    overlap.steps[0].body = moved;
    assert!(named(&overlap).is_none());
    let mut more = fire(&[8, 16], 1);
    more.steps[0].body = ScalarExpr::binary(warpsight_ir::BinaryOp::Add, more.steps[0].body.clone(), ScalarExpr::Const(1.0));
    assert!(named(&more).is_none());
    assert!(named(&parse_operator("add n=4 c=5").expect("an operator")).is_none());
}

/// Of strides and dilations with no divisor in common each remainder has its taps; with one some results have none.
#[test]
fn phases_of_dilated_windows() {
    let windows = |text: &str| -> Option<Vec<i64>> {
        let operator = parse_operator(text).expect("an operator");
        let phases = candidates(&operator).into_iter().find(|own| own.name == "phases")?.operator;
        check(&phases).expect("disjoint and covering");
        Some(phases.steps.iter().map(|step| step.reduce.iter().skip(1).map(|axis| axis.extent).product()).collect())
    };
    assert_eq!(windows("deconv2d n=1 c=8 h=6 w=6 k=4 r=3 s=3 stride=2 dilation=3"), Some(vec![4, 2, 2, 1]));
    assert_eq!(windows("deconv2d n=1 c=8 h=6 w=6 k=4 r=3 s=3 stride=2 dilation=2"), Some(vec![9, 3, 3, 1]));
    assert_eq!(windows("deconv2d n=1 c=8 h=6 w=6 k=4 r=4 s=4 stride=2 dilation=3"), None, "as many taps for each");
}
