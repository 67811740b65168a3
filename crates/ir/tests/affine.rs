//! Affine forms on random draws: what evaluation, substitution, ranges, division and text say of each other.

use fastrand::Rng;
use warpsight_ir::Affine;
use warpsight_ir::affine::text::{Names, parse};
use warpsight_ir::range::Interval;

const VARIABLES: u8 = 5;
const DRAWS: usize = 3000;

type Form = Affine<u8>;

/// Small enough for its values and those of what is substituted in it to have 64 bits, and of few coefficients, so that terms cancel.
fn draw(rng: &mut Rng) -> Form {
    let terms: Vec<_> =
        (0..rng.usize(..6)).map(|_| (rng.u8(..VARIABLES), *rng.choice(&[-1000, -4, -1, 0, 1, 2, 4, 56]).expect("some"))).collect();
    Form::of(terms, rng.i64(-100..100)).expect("small")
}

fn values(rng: &mut Rng) -> Vec<i64> {
    (0..VARIABLES).map(|_| rng.i64(-9..=9)).collect()
}

fn at(form: &Form, values: &[i64]) -> i64 {
    form.eval(|v| values[usize::from(v)]).expect("small")
}

#[test]
fn sums_are_sums_of_values() {
    let mut rng = Rng::with_seed(1);
    let mut cancelled = 0;
    for _ in 0..DRAWS {
        let (a, b, factor, point) = (draw(&mut rng), draw(&mut rng), rng.i64(-3..=3), values(&mut rng));
        let sum = a.plus(&b, factor).expect("small");
        assert_eq!(at(&sum, &point), at(&a, &point) + factor * at(&b, &point), "{a:?} + {factor} * {b:?}");
        assert!(sum.terms().iter().all(|t| t.1 != 0) && sum.terms().is_sorted_by(|a, b| a.0 < b.0), "{sum:?}");
        assert!((0..VARIABLES).all(|v| sum.coefficient(v) == a.coefficient(v) + factor as i32 * b.coefficient(v)));
        assert_eq!(a.plus(&b, 1), b.plus(&a, 1), "equal forms compare equal");
        assert_eq!(a.times(factor).and_then(|f| f.plus(&a, -factor)), Some(Form::default()));
        cancelled += usize::from((0..VARIABLES).any(|v| a.coefficient(v) != 0 && sum.coefficient(v) == 0));
    }
    assert!(cancelled > 30, "{cancelled}");
}

#[test]
fn evaluation_after_substitution_is_evaluation_at_the_values_of_what_was_put_in() {
    let mut rng = Rng::with_seed(2);
    for _ in 0..DRAWS {
        let (form, inner, point) = (draw(&mut rng), [(); VARIABLES as usize].map(|()| draw(&mut rng)), values(&mut rng));
        let inside: Vec<i64> = inner.iter().map(|f| at(f, &point)).collect();
        let substituted = form.substitute(|v| inner.get(usize::from(v))).expect("small");
        assert_eq!(at(&substituted, &point), at(&form, &inside), "{form:?} of {inner:?}");
        assert_eq!(form.substitute(|v| Some(Form::var(v))).as_ref(), Some(&form));
        let missing = form.substitute(|_| None::<Form>);
        assert_eq!(missing.is_some(), form.is_constant());
    }
}

#[test]
fn ranges_hold_every_value_and_both_ends_occur() {
    let mut rng = Rng::with_seed(3);
    for _ in 0..DRAWS / 10 {
        let form = draw(&mut rng);
        let sides: Vec<(i64, i64)> = (0..VARIABLES).map(|_| (rng.i64(-3..3), rng.i64(0..3))).map(|(lo, more)| (lo, lo + more)).collect();
        let mut points = vec![vec![]];
        for &(lo, hi) in &sides {
            points = points.iter().flat_map(|p: &Vec<i64>| (lo..=hi).map(move |v| [&p[..], &[v]].concat())).collect();
        }
        let found: Vec<i64> = points.iter().map(|p| at(&form, p)).collect();
        let range = form.range(|v| sides[usize::from(v)]);
        assert_eq!(range.ends(), (*found.iter().min().expect("some"), *found.iter().max().expect("some")), "{form:?} on {sides:?}");

        // Terms in any order, from nothing on.
        let sums = form.partial_sums(|v| Some(sides[usize::from(v)].into())).expect("known");
        let corner: Vec<i64> = sides.iter().map(|&(lo, hi)| if rng.bool() { lo } else { hi }).collect();
        let mut parts: Vec<i64> = form.terms().iter().map(|&(v, c)| i64::from(c) * corner[usize::from(v)]).chain([form.constant]).collect();
        rng.shuffle(&mut parts);
        let mut sum = 0;
        for part in parts {
            sum += part;
            assert!(Interval::exactly(sum).within(sums), "{form:?}: {sum} outside {sums:?}");
        }
        assert!(range.within(sums));
        assert_eq!(form.partial_sums(|_| None).is_some(), form.is_constant());
    }
}

#[test]
fn quotient_and_rest_make_the_form() {
    let mut rng = Rng::with_seed(4);
    let mut floors = 0;
    for _ in 0..DRAWS {
        let (form, divisor, point) = (draw(&mut rng), rng.i64(1..9), values(&mut rng));
        let (quotient, rest) = form.divide(divisor);
        assert_eq!(rest.plus(&quotient, divisor).as_ref(), Some(&form), "{form:?} / {divisor}");
        assert!((0..divisor).contains(&rest.constant) && rest.terms().iter().all(|t| i64::from(t.1) % divisor != 0));
        if rest.range(|v| (point[usize::from(v)], point[usize::from(v)])).within(Interval::below(divisor)) {
            assert_eq!(at(&quotient, &point), at(&form, &point).div_euclid(divisor));
            floors += 1;
        }
    }
    assert!(floors > 300, "{floors}");
}

#[test]
fn text_reads_back() {
    let mut rng = Rng::with_seed(5);
    let name = |v: u8| format!("v{v}");
    let form = |text: &str| text.strip_prefix('v').and_then(|n| n.parse().ok()).map(Form::var);
    for _ in 0..DRAWS {
        let drawn = draw(&mut rng);
        let text = drawn.show(name).to_string();
        assert_eq!(parse(&text, &Names { form: &form, known: "", bent: &|_| 0 }).as_ref(), Ok(&drawn), "{text}");
    }
    let shown = |terms: &[(u8, i64)], constant| Form::of(terms.iter().copied(), constant).expect("small").show(name).to_string();
    assert_eq!(shown(&[], 0), "0");
    assert_eq!(shown(&[], -3), "-3");
    assert_eq!(shown(&[(1, 1), (0, -1)], 0), "-v0 + v1");
    assert_eq!(shown(&[(0, 2), (3, -7)], -4), "2*v0 - 7*v3 - 4");
}

/// Whatever leaves 32 bits of a coefficient or 64 of a constant or value is refused.
#[test]
fn overflow_is_refused() {
    let (most, least) = (i64::from(i32::MAX), i64::from(i32::MIN));
    let of = |coefficient: i64, constant: i64| Form::of([(0, coefficient)], constant);
    assert!(of(most, i64::MAX).is_some() && of(least, i64::MIN).is_some());
    assert_eq!((of(most + 1, 0), of(least - 1, 0)), (None, None));
    // What cancels before it is stored never was too large; what does not, is.
    assert_eq!(Form::of([(0, most), (0, 1)], 0), None);
    assert_eq!(Form::of([(0, most), (0, -most)], 0), Some(Form::default()));
    let one = Form::var(0);
    let large = of(most, i64::MAX).expect("fits");
    for refused in [
        large.plus(&one, 1),
        large.times(2),
        one.times(i64::MIN),
        one.times(most + 1),
        Form::constant(i64::MIN).times(-1),
        Form::constant(1).plus(&Form::constant(i64::MAX), 1),
        large.clone().offset(1),
        large.substitute(|_| Form::of([(0, 2)], 0)),
        large.substitute(|_| Some(Form::constant(1))),
        one.clone().with_constant(i64::MIN).substitute(|_| Some(Form::constant(-1))),
    ] {
        assert_eq!(refused, None);
    }
    assert_eq!(one.times(least).map(|f| f.coefficient(0)), Some(i32::MIN));
    assert_eq!((large.eval(|_| 0), large.eval(|_| 1)), (Some(i64::MAX), None));
    assert_eq!(of(2, 0).expect("fits").eval(|_| i64::MAX), None);
    // Ranges have more bits.
    let range = large.range(|_| (i64::MIN, i64::MAX));
    assert!(range.lo < i64::MIN.into() && range.hi > i64::MAX.into());
    assert_eq!(range.ends(), (i64::MIN, i64::MAX));
}
