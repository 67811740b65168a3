//! The text form: print and parse are inverse, errors are readable, hostile text does no harm.

mod common;

use common::arbitrary::Arbitrary;
use common::coverage::Coverage;
use warpsight_ir::text::{ParseErrorKind, parse, parse_pipeline};
use warpsight_ir::*;

/// Every kind of declaration and statement, as people would write them; also what the printer gives back.
const TOUR: &str = include_str!("common/tour.txt");

#[test]
fn the_tour_comes_back_and_is_valid() {
    let program = parse(TOUR).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(program.to_string(), TOUR);
    Checked::new(program).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn random_programs_come_back_and_cover_the_grammar() {
    let mut coverage = Coverage::default();
    for seed in 0..3000 {
        let program = Arbitrary::seeded(seed).program();
        coverage.program(&program);
        let text = program.to_string();
        let back = parse(&text).unwrap_or_else(|e| panic!("seed {seed}\n{text}\n{e}"));
        assert_eq!(back, program, "seed {seed}\n{text}");
    }
    assert_eq!(coverage.missing(), Vec::<String>::new());
}

#[test]
fn random_pipelines_come_back() {
    for seed in 0..200 {
        let pipeline = Arbitrary::seeded(seed).pipeline();
        let text = pipeline.to_string();
        assert_eq!(parse_pipeline(&text).unwrap_or_else(|e| panic!("seed {seed}\n{text}\n{e}")), pipeline, "seed {seed}\n{text}");
    }
}

#[test]
fn random_expressions_come_back() {
    for seed in 0..3000 {
        let value = Arbitrary::seeded(seed).expr(6);
        assert_eq!(expression(&value.to_string()), value, "seed {seed}: {value}");
    }
}

/// The value of `let v = …` in an otherwise empty program with the sizes of the generator.
fn expression(text: &str) -> Expr {
    let program = format!("program p {{ size n in 1..=2 size m_1 in 1..=2 size K in 1..=2 {{ let v = {text} }} }}");
    match parse(&program).unwrap_or_else(|e| panic!("{e}")).body.as_slice() {
        [Stmt::Let { value, .. }] => value.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn literals_keep_type_and_bits() {
    let cases = [
        ("1", Const::I32(1)),
        ("-2147483648", Const::I32(i32::MIN)),
        ("1u", Const::U32(1)),
        ("-1l", Const::I64(-1)),
        ("18446744073709551615ul", Const::U64(u64::MAX)),
        ("0.1", Const::F32(0.1)),
        ("-0.0", Const::F32(-0.0)),
        ("1e-45", Const::F32(1e-45)),
        ("0.1d", Const::F64(0.1)),
        ("0.099975586h", Const::Half(half::f16::from_f32(0.1))),
        ("-infh", Const::Half(half::f16::NEG_INFINITY)),
        ("5.9604645e-8h", Const::Half(half::f16::from_bits(1))),
        ("-inf", Const::F32(f32::NEG_INFINITY)),
        ("infd", Const::F64(f64::INFINITY)),
        ("true", Const::Bool(true)),
    ];
    for (text, literal) in cases {
        assert_eq!(Expr::Const(literal).to_string(), text);
        assert_eq!(expression(text), Expr::Const(literal));
    }
    for bits in [0x7fc0_0000_u32, 0xffc0_0000, 0x7f80_0001, 0x7fc0_0001] {
        let text = Expr::f32(f32::from_bits(bits)).to_string();
        assert!(matches!(expression(&text), Expr::Const(Const::F32(v)) if v.to_bits() == bits), "{text}");
    }
    for bits in [0x7ff8_0000_0000_0000_u64, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001] {
        let text = Expr::Const(Const::F64(f64::from_bits(bits))).to_string();
        assert!(matches!(expression(&text), Expr::Const(Const::F64(v)) if v.to_bits() == bits), "{text}");
    }
    for bits in [0x7e00_u16, 0xfe00, 0x7c01] {
        let text = Expr::Const(Const::Half(half::f16::from_bits(bits))).to_string();
        assert!(matches!(expression(&text), Expr::Const(Const::Half(v)) if v.to_bits() == bits), "{text}");
    }
    // -0.0 == 0.0, so look at the sign.
    assert!(matches!(expression("-0.0"), Expr::Const(Const::F32(v)) if v.is_sign_negative()));
}

#[test]
fn parentheses_are_printed_where_needed_only() {
    for text in [
        "a + b * c",
        "(a + b) * c",
        "a - b - c",
        "a - (b - c)",
        "a / b * c",
        "a / (b * c)",
        "(a < b) == (c < d)",
        "(a < b) & (c < d) | e",
        "a & (b | c)",
        "a << b + c",
        "(a << b) + c",
        "-a * b",
        "-(a * b)",
        "--a",
        "-(5)",
        "- -5",
        "(-5).[0..1]",
        "-(5.[0..1])",
        "(a + b).[0..2].[1..2]",
        "!a[i : 4 if 0 <= (i < 3) < n | m per lane]",
    ] {
        let printed = expression(text).to_string();
        assert_eq!(printed, text.replace("- -5", "--5"));
    }
}

#[test]
fn errors_show_the_place() {
    let text = "program p {\n  read buffer x: f32[4]\n  {\n    let v = x[1, + 2]\n  }\n}\n";
    let error = parse(text).unwrap_err();
    assert_eq!(error.to_string(), "error: expected an expression, found `+`\n  ┌─ 4:18\n4 │     let v = x[1, + 2]\n  │                  ^");
    let error = parse("program p {\n  { let v = 3000000000 }\n}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: `3000000000` is not an i32\n  ┌─ 2:13\n2 │   { let v = 3000000000 }\n  │             ^^^^^^^^^^\n  \
         = help: 1 is an i32, 1u a u32, 1l an i64, 1ul a u64, 1.0 an f32, 1.0d an f64"
    );
}

#[test]
fn each_kind_of_error() {
    let cases = [
        ("program p { { let é = 1 } }", "unexpected character 'é'", 1, 19),
        ("program p {", "expected a declaration, or `{` before the body, found the end", 1, 12),
        ("program p { groups g = 1\nsize n in 1..=2 {} }", "sizes are declared before everything else", 2, 1),
        ("program p { subgroup 1 subgroup 2 {} }", "`subgroup` occurs twice", 1, 24),
        ("program p { {} } x", "expected the end, found `x`", 1, 18),
        ("program p { { let v = a < b < c } }", "comparisons do not chain", 1, 29),
        ("program p { { let v = a > b } }", "expected a statement, found `>`", 1, 25),
        ("program p { { let v = 1e39 } }", "`1e39` is not an f32", 1, 23),
        ("program p { { let v = 1.0u } }", "`1.0u` is not a number", 1, 23),
        ("program p { { let v = sinh(x) } }", "expected a function, found `sinh`", 1, 23),
        ("program p { { let v = sin(x, y) } }", "expected 1 argument of `sin`, found 2", 1, 31),
        ("program p { { let v = a.[2..1] } }", "`1` is not the end of such lanes", 1, 29),
        ("program p { { var v: f33 = a } }", "expected a type such as f32 or f32x4, found `f33`", 1, 22),
        ("program p { { barrier world } }", "expected a scope (subgroup, group, device), found `world`", 1, 23),
        ("program p { read image a: rgb[1, 1] {} }", "expected an image format", 1, 27),
        ("program p { read image3d a: rgba32f[1, 1] {} }", "expected an address space", 1, 18),
        ("program p { read image1d a: rgba32f[1] border none_at_all {} }", "expected a border (zero, clamp, none)", 1, 47),
        ("program p { { x[0 if 1 <= i < 2] = 1 } }", "expected `0 <=`, found `1`", 1, 22),
        ("program p { { tile mix a = b } }", "expected load, store, fill or mma, found `mix`", 1, 20),
        ("program p { { let v = nan(0xfffffffff) } }", "`0xfffffffff` is not bits as in 0x7fc00001", 1, 27),
        ("program p { { for i in 0..4 step x {} } }", "expected a whole number below 2^32, found `x`", 1, 34),
        ("program p { size n in x..=4 {} }", "expected a whole number, found `x`", 1, 23),
        ("program p { { 3 = 4 } }", "expected a statement, found `3`", 1, 15),
        ("program p { { for i in 0..4 step 0.5 {} } }", "`0.5` is not a whole number below 2^32", 1, 34),
    ];
    for (text, message, line, column) in cases {
        let error = parse(text).unwrap_err();
        assert!(error.kind.to_string().starts_with(message), "{text}\n{error}");
        assert_eq!((error.line, error.column), (line, column), "{error}");
    }
}

/// What may be left out, and what is printed for it.
#[test]
fn kinds_of_images_have_a_short_form() {
    let short = "program p {\n read image a: rgba32f[4]\n read image2d b: rgba32f[4, 2]\n read image1d c: rgba32f[4, 1]\n\
                 write image1d_buffer d: rgba32f[4]\n write image2d_from_buffer e: rgba32f[4, 2]\n{ d@[3] = c@[2 if 0 <= 1 < 2] } }";
    let program = parse(short).unwrap();
    let printed = program.to_string();
    for line in [
        "read image a: rgba32f[4, 1] border zero",
        "read image b: rgba32f[4, 2] border zero",
        "read image1d c: rgba32f[4] border zero",
        "write image1d_buffer d: rgba32f[4] border none",
        "write image2d_from_buffer e: rgba32f[4, 2] border zero",
        "d@[3, 0] = c@[2, 0 if 0 <= 1 < 2]",
    ] {
        assert!(printed.lines().any(|own| own.trim() == line), "{line}\n{printed}");
    }
    assert_eq!(parse(&printed), Ok(program.clone()));
    // Programs that were kept before there were kinds have images of two dimensions.
    let kept = serde_json::to_string(&program.params[1]).unwrap();
    assert!(kept.contains(r#""kind":"image2d","#), "{kept}");
    assert_eq!(serde_json::from_str::<Param>(&kept.replace(r#""kind":"image2d","#, "")).unwrap(), program.params[1]);
}

#[test]
fn trailing_words_stand_on_their_line() {
    let program = parse("program p { {\n y[0] = v\n non_temporal = 3\n let x = atomic\n barrier group\n local = 1\n } }").unwrap();
    assert_eq!(program.body.len(), 5);
    assert!(matches!(&program.body[0], Stmt::Store { policy: StorePolicy::WriteBack, .. }));
    assert!(matches!(&program.body[3], Stmt::Barrier { local: false, .. }));
}

#[test]
fn depth_is_limited() {
    let body = |inner: String| format!("program p {{ {{ {inner} }} }}");
    let n = 100_000;
    for text in [
        body(format!("let v = {}", "(".repeat(n))),
        body(format!("let v = {}a", "-".repeat(n))),
        body(format!("let v = {}a", "!".repeat(n))),
        body(format!("let v = a{}", " + a".repeat(n))),
        body(format!("let v = a{}", ".[0..1]".repeat(n))),
        body(format!("let v = {}", "x[".repeat(n))),
        body(format!("let v = {}", "max(a, ".repeat(n))),
        body(format!("let v = {}a{}", "(a + ".repeat(150), ")".repeat(150).replace(')', &format!("{})", " + a".repeat(900))))),
        body("{".repeat(n)),
        body("if a { ".repeat(n)),
        body("if a { } else ".repeat(n)),
    ] {
        assert_eq!(parse(&text).unwrap_err().kind, ParseErrorKind::TooDeep, "{}", &text[..40]);
    }
    // What people and generators write is far below the limits.
    let sum = body(format!("let v = a{}", " + a".repeat(900)));
    assert!(parse(&sum).is_ok());
    let maxima = body(format!("let v = {}a{}", "max(a, ".repeat(90), ")".repeat(90)));
    assert!(parse(&maxima).is_ok());
}

#[test]
fn mutated_text_does_no_harm() {
    let pieces = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "if",
        "..",
        ".[",
        "-",
        "0",
        "1e",
        "0x",
        "nan(",
        "\"",
        "é",
        "\t",
        "\n",
        "let",
        "//",
        "x@[",
        "9".repeat(30).leak(),
    ];
    let mut parsed = 0;
    for seed in 0..6000 {
        let mut a = Arbitrary::seeded(seed);
        let mut text = if seed % 4 == 0 { TOUR.to_owned() } else { a.program().to_string() };
        for _ in 0..a.rng.usize(1..3) {
            let mut cut = || {
                let mut at = a.rng.usize(..=text.len());
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let (i, j) = (cut(), cut());
            let (from, to) = (i.min(j), i.max(j).min(i.min(j) + 20));
            let to = (to..=text.len()).find(|&k| text.is_char_boundary(k)).unwrap_or(text.len());
            match a.rng.u8(..6) {
                0 => text.replace_range(from..to, ""),
                1 => text.insert_str(from, a.pick(&pieces)),
                2 => text = [&text[..to], &text[from..]].concat(),
                3 => text.truncate(from),
                // Another digit, where there is one: such mutants are often read.
                _ => {
                    if let Some(digit) = text[from..].find(|c: char| c.is_ascii_digit()) {
                        text.replace_range(from + digit..=from + digit, a.pick(&["0", "1", "7", "9"]));
                    }
                }
            }
        }
        match parse(&text) {
            Ok(program) => {
                parsed += 1;
                let printed = program.to_string();
                let again = parse(&printed).unwrap_or_else(|e| panic!("seed {seed}\n{printed}\n{e}"));
                assert_eq!(again.to_string(), printed, "seed {seed}");
                // Validation must not panic either, whatever was parsed.
                let _ = Checked::new(program);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(parsed > 300, "only {parsed} mutants were read; the rest tests nothing but errors");
}
