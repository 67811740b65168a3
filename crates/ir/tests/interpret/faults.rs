//! Rules that only a run can see broken.

use crate::{bindings, ints, one, program, run};
use warpsight_ir::data::f32_bytes;
use warpsight_ir::interpret::{BindingProblem, Budget, Fault, Items, RaceKind, interpret_within};

#[test]
fn an_index_outside_names_coordinates_and_extents() {
    let text = "
program outside {
  read buffer x: f32[3, 4]
  write buffer y: f32[3]
  groups g = 3
  lanes l = 1
  { y[g] = x[g, g + 2] }
}";
    let fault = run(text, &[], vec![f32_bytes(&[0.0; 12]), f32_bytes(&[0.0; 3])]).unwrap_err();
    let Fault::OutOfBounds { tensor, coordinates, extents, at } = &fault else { panic!("{fault}") };
    assert_eq!((&**tensor, &coordinates[..], &extents[..], one(&at.who)), ("x", &[2, 4][..], &[3, 4][..], (vec![2], vec![0])));
    assert_eq!(
        fault.to_string(),
        "outside at body[0], work-item (l=0) of group (g=2): `x` is accessed at [2, 4], outside its extents [3, 4]"
    );
}

#[test]
fn the_lanes_of_a_vector_must_all_be_inside() {
    let text = "
program vector {
  write buffer y: i32[2, 6]
  groups g = 1
  lanes l = 1
  { y[0, 3] = splat4(1) }
}";
    let Fault::OutOfBounds { coordinates, .. } = run(text, &[], vec![ints(&[0; 12])]).unwrap_err() else { panic!() };
    assert_eq!(coordinates, [0, 6]);
}

#[test]
fn groups_that_write_one_element_race_whatever_lies_between() {
    let text = "
program transposed {
  write buffer y: i32[4, 4]
  groups g = 2
  lanes l = 4
  { y[l, g / 2] = g barrier group global }
}";
    let Fault::Race { tensor, element, first, second, kind, .. } = run(text, &[], vec![ints(&[0; 16])]).unwrap_err() else { panic!() };
    assert_eq!((&*tensor, &element[..], kind), ("y", &[0, 0][..], RaceKind::WriteWrite));
    assert_eq!((one(&first), one(&second)), ((vec![0], vec![0]), (vec![1], vec![0])));
}

#[test]
fn a_read_of_what_another_group_writes_races() {
    let text = "
program shifted {
  read write buffer y: i32[5]
  groups g = 4
  lanes l = 1
  { y[g] = y[g + 1] }
}";
    let Fault::Race { element, kind, .. } = run(text, &[], vec![ints(&[0; 5])]).unwrap_err() else { panic!() };
    assert_eq!((element, kind), (vec![1], RaceKind::ReadWrite));
}

#[test]
fn an_atomic_and_a_plain_access_race() {
    let text = "
program mixed {
  read write buffer y: i32[1]
  groups g = 1
  lanes l = 2
  { if l == 0 { atomic add y[0] with 1 relaxed device } else { let seen = y[0] } }
}";
    let Fault::Race { kind, .. } = run(text, &[], vec![ints(&[0])]).unwrap_err() else { panic!() };
    assert_eq!(kind, RaceKind::WriteRead);
}

/// Lanes hand values to their neighbour; a barrier of the given kind lies between.
fn handed(barrier: &str, distance: u32) -> Result<Vec<Vec<u8>>, Fault> {
    let text = format!(
        "
program handed {{
  write buffer y: i32[8]
  local t: i32[8]
  groups g = 1
  lanes l = 8
  subgroup 4
  {{
    t[l] = l
    barrier group local
    t[l] = t[l] + 1
    {barrier}
    y[l] = t[(l + {distance}) % 8]
  }}
}}"
    );
    run(&text, &[], vec![ints(&[0; 8])])
}

#[test]
fn a_barrier_orders_its_scope_and_its_memory_only() {
    assert!(handed("barrier group local", 1).is_ok());
    assert!(handed("barrier group local global", 5).is_ok());
    assert!(matches!(handed("barrier group global", 1), Err(Fault::Race { .. })));
    assert!(matches!(handed("", 1), Err(Fault::Race { .. })));
    // Own values need no barrier.
    assert!(handed("", 0).is_ok());
    // A sub-group's barrier orders lanes 0..4, not 3 and 4.
    let Err(Fault::Race { first, second, kind, .. }) = handed("barrier subgroup local", 1) else { panic!() };
    assert_eq!((one(&first).1, one(&second).1, kind), (vec![4], vec![3], RaceKind::WriteRead));
}

#[test]
fn what_a_tile_touches_all_its_lanes_touch() {
    let text = |barrier: &str| {
        format!(
            "
program tile {{
  local t: f32[1, 4]
  tile a: f32[1, 4]
  groups g = 1
  lanes l = 4
  subgroup 4
  {{ t[0, l] = 1.0 {barrier} tile load a = t[0, 0] }}
}}"
        )
    };
    assert!(run(&text("barrier subgroup local"), &[], vec![]).is_ok());
    let Fault::Race { first, second, .. } = run(&text(""), &[], vec![]).unwrap_err() else { panic!() };
    assert_eq!((one(&first).1, second.items), (vec![0], Items::Subgroup(0)));
}

#[test]
fn undefined_contents_are_not_read() {
    for (space, index) in [("local", "[l]"), ("private", "[0]")] {
        let text = format!(
            "
program undefined {{
  write buffer y: i32[2]
  {space} t: i32[2]
  groups g = 1
  lanes l = 2
  {{ if l == 0 {{ t{index} = 1 }} y[l] = t{index} }}
}}"
        );
        let Fault::Uninitialised { array, at, .. } = run(&text, &[], vec![ints(&[0; 2])]).unwrap_err() else { panic!() };
        assert_eq!((&*array, one(&at.who).1), ("t", vec![1]));
    }
    let text = "
program undefined {
  write buffer y: f32[2, 2]
  tile t: f32[2, 2]
  groups g = 1
  lanes l = 2
  subgroup 2
  { tile store y[0, 0] = t }
}";
    assert!(matches!(run(text, &[], vec![vec![0; 16]]), Err(Fault::Uninitialised { .. })));
}

#[test]
fn division_by_zero_lanes_and_texels_that_do_not_exist() {
    let faulty = |statement: &str| {
        let text = format!(
            "
program faulty {{
  read buffer x: i32[4]
  write buffer y: i32[1]
  write image d: rgba32i[2, 3]
  groups g = 1
  lanes l = 1
  {{ {statement} }}
}}"
        );
        run(&text, &[], vec![ints(&[0, 4, -1, 3]), ints(&[0]), vec![0; 96]]).unwrap_err()
    };
    assert!(matches!(faulty("y[0] = x[1] / x[0]"), Fault::DivisionByZero { .. }));
    assert!(matches!(faulty("y[0] = x[1] % x[0]"), Fault::DivisionByZero { .. }));
    for lane in [4, -1] {
        let fault = faulty(&format!("y[0] = lane(x[0 : 4], x[{}])", if lane == 4 { 1 } else { 2 }));
        assert!(matches!(fault, Fault::LaneOutOfRange { lane: l, of: 4, .. } if l == lane), "{fault}");
    }
    let Fault::WriteOutsideImage { image, texel, size, .. } = faulty("d@[x[3], x[0]] = splat4(1)") else { panic!() };
    assert_eq!((&*image, texel, size), ("d", [3, 0], [2, 3]));
}

/// Of an image without a border as of a buffer; a guard keeps from memory, an `image` answers.
#[test]
fn a_read_outside_an_image_without_border_is_a_fault() {
    let read = |param: &str, x: &str| {
        let text = format!("program line {{ read {param} write buffer y: i32[4] groups g = 4 lanes l = 1 {{ y[g] = lane(s@[{x}], 0) }} }}");
        run(&text, &[], vec![vec![1; 48], vec![0; 16]])
    };
    let fault = read("image1d_buffer s: rgba32i[3]", "g").unwrap_err();
    assert_eq!(
        fault.to_string(),
        "line at body[0], work-item (l=0) of group (g=3): `s`, which has no border, is read at (3, 0), outside 3 x 1"
    );
    let Fault::ReadOutsideImage { texel: [-1, 0], size: [3, 1], .. } = read("image1d_buffer s: rgba32i[3]", "g - 1").unwrap_err() else {
        panic!()
    };
    assert!(read("image1d_buffer s: rgba32i[3]", "g if 0 <= g < 3").is_ok());
    assert!(read("image1d s: rgba32i[3]", "g").is_ok());
    assert!(matches!(read("image s: rgba32i[3, 1] border none", "0, g").unwrap_err(), Fault::ReadOutsideImage { texel: [0, 1], .. }));
}

#[test]
fn texels_written_twice_race() {
    let text = "
program twice {
  write image d: rgba32i[2, 3]
  groups g = 2
  lanes l = 2
  { d@[0, l] = splat4(g) }
}";
    let Fault::Race { element, first, second, .. } = run(text, &[], vec![vec![0; 96]]).unwrap_err() else { panic!() };
    assert_eq!((element, one(&first).0, one(&second).0), (vec![0, 0], vec![0], vec![1]));
}

#[test]
fn bindings_must_fit() {
    let text = "
program sized {
  size n in 0..=8
  read buffer x: i32[n]
  groups g = n
  lanes l = 1
  { }
}";
    let problem = |sizes: &[(&str, i64)], data| match run(text, sizes, data) {
        Err(Fault::BadBinding { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem(&[], vec![vec![]]), BindingProblem::MissingSize("n".into()));
    assert_eq!(problem(&[("n", 9)], vec![vec![]]), BindingProblem::SizeOutOfRange { name: "n".into(), value: 9, lo: 0, hi: 8 });
    assert_eq!(problem(&[("n", 2)], vec![]), BindingProblem::Count { expected: 1, found: 0 });
    assert_eq!(problem(&[("n", 2)], vec![vec![0; 7]]), BindingProblem::TooSmall { name: "x".into(), needed: 8, found: 7 });
    let fault = run(text, &[("n", 0)], vec![vec![]]).unwrap_err();
    assert_eq!(fault.to_string(), "sized: the extent of x is 0");
    assert_eq!(run(text, &[("n", 2)], vec![vec![1; 8]]), Ok(vec![vec![1; 8]]));
}

#[test]
fn a_run_ends_with_its_budget_and_returns_the_data() {
    let text = "
program endless {
  write buffer y: i32[1]
  groups g = 1
  lanes l = 1
  { y[0] = 5 for i in 0 .. 2000000000 { } }
}";
    let mut bindings = bindings(&[], vec![ints(&[0])]);
    let fault = interpret_within(&program(text), &mut bindings, Budget { steps: Some(1000) }).unwrap_err();
    assert!(matches!(fault, Fault::OutOfSteps { budget: 1000, .. }));
    assert_eq!(bindings.data, [ints(&[5])]);
}
