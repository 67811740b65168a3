//! Constants become a size: the way back from specialisation.

use warpsight_ir::generalise::{generalise, is};
use warpsight_ir::text::parse;
use warpsight_ir::{Checked, Program, SizeParam, specialise};

const GENERAL: &str = "program p { size n in 1..=100 read buffer a: f32[n, 24] read image b: rgba32f[6, n] write buffer c: f32[n, 24]
    groups g = (n + 15) / 16 lanes l = 8 {
    let row = g * 8 + l
    if row < (n + 1) / 2 {
        for i in 0..n / 4 step 1 { let x = a[row, i if 0 <= row < n] }
        c[row, 3 if 0 <= row < n] = a[n * 24 - 24 - (n - 1) * 24, 5]
    }
} }";

fn size() -> SizeParam {
    SizeParam { name: "n".into(), lo: 1, hi: 100 }
}

fn at(value: i64) -> Program {
    specialise(&parse(GENERAL).expect("reads"), &[("n".into(), value)].into()).expect("in range")
}

/// Five sizes tell what all others are; one that is told wrong would differ.
#[test]
fn sizes_are_found_again() {
    let some: Vec<(i64, Program)> = [9, 30, 47, 64, 98].map(|value| (value, at(value))).into();
    let some: Vec<(i64, &Program)> = some.iter().map(|own| (own.0, &own.1)).collect();
    let general = generalise(&size(), &some, &[]).expect("one form");
    assert_eq!(general.sizes, [size()]);
    for value in [1, 2, 15, 16, 17, 33, 99, 100] {
        assert!(is(&general, &size(), value, &at(value)), "{value}: {general}");
    }
    assert!(!is(&general, &size(), 17, &at(33)));
    let text = Checked::new(general).expect("valid").to_string();
    assert!(text.contains("groups g = (n + 15) / 16") && text.contains("row < (n + 1) / 2") && text.contains("0..n / 4"), "{text}");
}

/// Of odd sizes alone 20 n + 20 is as good as 40 ⌈n/2⌉; an even one of another form tells them apart.
#[test]
fn arguments_at_other_sizes_tell_forms_apart() {
    let with =
        |n: i64, body: &str| parse(&format!("program p {{ write buffer c: f32[{}] {{ {body} }} }}", 40 * ((n + 1) / 2))).expect("reads");
    let odd: Vec<(i64, Program)> = [5, 9, 15].map(|n| (n, with(n, "let v = 1"))).into();
    let odd: Vec<(i64, &Program)> = odd.iter().map(|own| (own.0, &own.1)).collect();
    let even = with(8, "let v = 1.0");
    let text = |others: &[(i64, &Program)]| generalise(&size(), &odd, others).expect("a form").to_string();
    assert!(text(&[]).contains("n * 20 + 20"), "{}", text(&[]));
    assert!(text(&[(8, &even)]).contains("(n + 1) / 2 * 40"), "{}", text(&[(8, &even)]));
}

#[test]
fn what_is_no_form_is_refused() {
    let all = |texts: &[(i64, &str)]| {
        let programs: Vec<(i64, Program)> =
            texts.iter().map(|own| (own.0, parse(&format!("program p {{ {{ {} }} }}", own.1)).expect("reads"))).collect();
        generalise(&size(), &programs.iter().map(|own| (own.0, &own.1)).collect::<Vec<_>>(), &[])
    };
    assert!(all(&[]).is_none());
    assert!(all(&[(1, "let v = 3"), (2, "let v = 3.0")]).is_none(), "another literal");
    assert!(all(&[(1, "let v = 3"), (2, "let w = 3")]).is_none(), "another name");
    assert!(all(&[(1, "let v = 1"), (2, "let v = 4"), (3, "let v = 9")]).is_none(), "squares");
    assert!(all(&[(1, "let v = 7"), (2, "let v = 7")]).is_some_and(|own| !own.to_string().contains("n *")));
    assert!(all(&[(1, "let v = 2000000000"), (2, "let v = 2010000000")]).is_none(), "beyond 32 bits at the end of the range");
    assert!(all(&[(7, "let v = 3"), (7, "let v = 4")]).is_none(), "one size, two programs");
}
