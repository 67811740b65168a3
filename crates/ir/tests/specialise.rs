//! Sizes become constants, everywhere and nowhere else.

use std::collections::BTreeMap;
use warpsight_ir::text::parse;
use warpsight_ir::*;

const TOUR: &str = include_str!("common/tour.txt");

fn values(of: &[(&str, i64)]) -> BTreeMap<Name, i64> {
    of.iter().map(|(name, value)| ((*name).into(), *value)).collect()
}

#[test]
fn the_tour_with_a_size_is_the_text_with_a_number() {
    let general = parse(TOUR).unwrap();
    let special = specialise(&general, &values(&[("n", 5)])).unwrap();
    let expected = TOUR
        .replace("  size n in 1..=64\n", "")
        .replace("n + 2, 56]", "7, 56]")
        .replace("f32[1, n, 56, 56]", "f32[1, 5, 56, 56]")
        .replace("n * 4", "20")
        .replace("rgba32f[n", "rgba32f[5")
        .replace("(n + 3) / 4", "2")
        .replace("gk = n", "gk = 5")
        .replace("3..n step", "3..5 step");
    assert_eq!(special.to_string(), expected);
    Checked::new(special).unwrap();
}

#[test]
fn every_statement_is_reached() {
    let text = "program p { size n in 1..=9 read write buffer x: i32[n] read image a: rgba32f[n, n] write image b: rgba32f[n, n]
        tile t: f32[4, 4] groups g = n lanes l = 4 subgroup 4 {
        let v = n
        var w: i32 = n
        w = n
        for i in n..n { let j = n }
        if n < 3 { let j = n } else { let j = n }
        { let j = n }
        x[n if 0 <= n < n] = n
        b@[n, n if 0 <= n < n] = a@[n, n if 0 <= n < n]
        atomic compare_exchange x[n] with n if was n relaxed device
        tile load t = x[n, n]
        tile store x[n, n] = t
        tile fill t = f32(n)
        let u = -n + fma(n, n, select(n < n, n, n)) + lane(concat(n, splat2(n)).[0..2], n) + x[n : 2 if 0 <= n < n]
    } }";
    let printed = specialise(&parse(text).unwrap(), &values(&[("n", 7)])).unwrap().to_string();
    let words = printed.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    assert_eq!(words.filter(|w| *w == "n").count(), 0, "{printed}");
}

#[test]
fn only_what_is_known_is_folded() {
    let fold = |text: &str| {
        let program = parse(&format!("program p {{ size n in 0..=100 size m in 0..=100 {{ let v = {text} }} }}")).unwrap();
        let special = specialise(&program, &values(&[("n", 3)])).unwrap();
        assert_eq!(special.sizes.len(), 1);
        match &special.body[0] {
            Stmt::Let { value, .. } => value.to_string(),
            other => panic!("{other:?}"),
        }
    };
    for (text, folded) in [
        ("n * 4 + 1", "13"),
        ("n - 5", "-2"),
        ("-7 / n", "-2"),
        ("-7 % n", "-1"),
        ("min(n, 2) + max(n, 9)", "11"),
        ("n + m", "3 + m"),
        ("(n + 1) * m", "4 * m"),
        ("n / 0", "3 / 0"),
        ("n % (n - 3)", "3 % 0"),
        ("2147483647 + n", "-2147483646"),
        ("(0 - 2147483647 - 1) / (n - 4)", "-2147483648"),
        ("n < 4", "3 < 4"),
        ("1u + 2u", "1u + 2u"),
        ("1.0 + 2.0", "1.0 + 2.0"),
    ] {
        assert_eq!(fold(text), folded, "{text}");
    }
}

#[test]
fn values_must_fit() {
    let program = parse("program p { size n in 1..=9 size m in 0..=5000000000 {} }").unwrap();
    let error = specialise(&program, &values(&[("k", 1)])).unwrap_err();
    assert_eq!(error, SpecialiseError::NoSize { program: "p".into(), size: "k".into() });
    for value in [0, 10] {
        let error = specialise(&program, &values(&[("n", value)])).unwrap_err();
        assert_eq!(error.to_string(), format!("`n` is {value}, outside 1..=9"));
    }
    assert!(specialise(&program, &values(&[("m", 1 << 31)])).is_err());
    assert_eq!(specialise(&program, &values(&[("n", 9)])).unwrap().sizes, program.sizes[1..]);
}
