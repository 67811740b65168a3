//! Work in place: what is taken gives what two pieces of memory give, and what could give something else is refused.

use fastrand::Rng;
use std::collections::BTreeMap;
use warpsight_ir::interpret::interpret;
use warpsight_ir::{Bindings, Checked, Hazard, Name, Program, in_place, text};

const ELEMENTS: usize = 64;

/// A Program of 4 groups of 4 work-items over `x` and `y` of 64 elements.
fn program(body: &str) -> Program {
    with("read buffer x: i32[64]\n write buffer y: i32[64]", body)
}

fn with(params: &str, body: &str) -> Program {
    let text = format!("program p {{ {params}\n groups g = 4\n lanes l = 4\n {{ let i = g * 4 + l\n{body}\n}} }}");
    text::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn merged(program: &Program) -> Result<Checked, Hazard> {
    in_place(program, &BTreeMap::new(), &["x".into(), "y".into()])
}

/// What a Program leaves in its arguments.
fn run(program: &Checked, data: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    let mut bindings = Bindings { data, ..Bindings::default() };
    interpret(program, &mut bindings).ok().map(|()| bindings.data)
}

/// What it leaves in `y`, which held the same as `x`; and what the other leaves in the one.
fn both(program: &Program, other: &Checked) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let x: Vec<u8> = (0..4 * ELEMENTS).map(|n| (n * 37 % 251) as u8).collect();
    let apart = run(&Checked::new(program.clone()).ok()?, vec![x.clone(), x.clone()])?.pop()?;
    Some((apart, run(other, vec![x]).and_then(|mut data| data.pop())))
}

#[test]
fn each_by_the_one_that_writes_it() {
    for body in [
        "y[i] = x[i] + 1",
        "let four = i * 4\n y[four] = x[four : 4] + splat4(7)",
        "for k in 0..4 { y[i * 4 + k] = x[i * 4 + k] * 2 }",
        "for k in 0..4 { y[k * 16 + i if 0 <= i < 13] = x[k * 16 + i if 0 <= i < 13] * 2 }",
        "if i < 9 { y[i] = x[i] + 1 }",
        // Loaded in one loop, stored in another.
        "var sum: i32 = 0\n for k in 0..4 { sum = sum + x[i * 4 + k] }\n for m in 0..4 { y[i * 4 + m] = sum }",
    ] {
        let program = program(body);
        let merged = merged(&program).unwrap_or_else(|hazard| panic!("{hazard}\n{body}"));
        assert_eq!(merged.params.len(), 1, "{body}");
        let (apart, together) = both(&program, &merged).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(Some(apart), together, "{body}");
    }
}

#[test]
fn what_may_give_something_else_is_refused() {
    let elsewhere = Hazard::Elsewhere("y".into());
    for (body, hazard) in [
        ("y[i] = x[63 - i]", elsewhere.clone()),
        ("y[i] = x[i + 1]", elsewhere.clone()),
        ("y[i] = x[0]", elsewhere.clone()),
        ("y[l] = x[l]", elsewhere.clone()),
        ("y[i if 0 <= i < 13] = x[i]", elsewhere.clone()),
        ("y[i] = x[i]\n y[63 - i] = 1", elsewhere.clone()),
        ("y[i] = x[x[i]]", elsewhere.clone()),
        ("y[i] = x[i]\n let k = x[i]\n y[i] = x[k if 0 <= k < 64]", elsewhere),
        ("y[i] = 1\n y[i] = x[i]", Hazard::Late("y".into())),
        ("for k in 0..2 { y[i] = x[i] + k }", Hazard::Late("y".into())),
        ("y[i] = x[i]\n barrier group global", Hazard::Collective),
    ] {
        assert_eq!(merged(&program(body)).err(), Some(hazard), "{body}");
    }
    assert!(matches!(merged(&program("y[x[i]] = 1")), Err(Hazard::Undescribed(_))));
    let other = |params: &str| merged(&with(params, "y[i] = x[i]")).err();
    let (x, y): (Name, Name) = ("x".into(), "y".into());
    assert_eq!(other("read buffer x: i32[32]\n write buffer y: i32[64]"), Some(Hazard::Layout(x.clone(), y.clone())));
    assert_eq!(other("read write buffer x: i32[64]\n write buffer y: i32[64]"), Some(Hazard::TwoWriters(x, y)));
    let image = with("read image x: rgba32f[8, 8]\n write image y: rgba32f[8, 8]", "y@[l, g] = x@[l, g]");
    assert_eq!(merged(&image).err(), Some(Hazard::Image));
}

/// Whatever is taken is right: random Programs of a few loads and stores.
#[test]
fn random_programs_are_right_or_refused() {
    let mut rng = Rng::with_seed(1);
    let mut taken = 0;
    for _ in 0..4000 {
        let index = |rng: &mut Rng| {
            let forms = ["i", "i", "i + 16", "l * 4 + g", "i * 4 + k", "k * 16 + i", "i * 2 + k", "60 - i", "i + k"];
            forms[rng.usize(0..forms.len())].to_owned()
        };
        let (mut body, same) = (String::new(), index(&mut rng));
        for n in 0..rng.usize(1..4) {
            let mut at = || if rng.u8(0..4) == 0 { index(&mut rng) } else { same.clone() };
            let (load, store) = (at(), at());
            let guard = |rng: &mut Rng| if rng.u8(0..5) == 0 { " if 0 <= i < 11" } else { "" };
            let (first, second) = (guard(&mut rng), guard(&mut rng));
            match rng.u8(0..3) {
                0 => body += &format!("y[{store}{second}] = x[{load}{first}] + {n}\n"),
                1 => body += &format!("let v{n} = x[{load}{first}]\n y[{store}{second}] = v{n} * 3\n"),
                _ => body += &format!("y[{store}{second}] = {n}\n"),
            }
        }
        let program = program(&format!("for k in 0..{} {{ {body} }}", rng.u8(1..4)));
        let Ok(merged) = merged(&program) else { continue };
        // One that breaks the rules by itself promises nothing.
        let Some((apart, together)) = both(&program, &merged) else { continue };
        assert_eq!(Some(apart), together, "{program}");
        taken += 1;
    }
    assert!(taken > 100, "{taken}");
}
