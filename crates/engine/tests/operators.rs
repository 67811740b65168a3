//! Every operator computes the same wherever it runs: one suite of random operators over interpreter, simulator and OpenCL on a CPU.
//!
//! Each operator is drawn with random shapes of `f32`, of `f16` (stored) and of `half` (computed with, too), each with a random legal configuration. Every back end's
//! results are compared with the `f64` reference and with the interpreter's. A driver compiles for 0.1 to 0.3 s per kernel: it gets
//! eight shapes of each in `f32` (twenty where `WARPSIGHT_WHOLE` is set), three in `f16`; none in `half`, which it does not compute in.

mod common;

use common::draw::{KINDS, Kind};
use common::{Case, any_config, execute, interpret, judge, skip};
use fastrand::Rng;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};
use warpsight_engine::verify::{TOLERANCE_F16, TOLERANCE_F32};
use warpsight_generate::{Pass, ScheduleFamily};
use warpsight_ir::{Expr, Family, ParamKind, Scalar, Stmt};
use warpsight_run::{Device, Options};

/// Shapes of each operator and element type.
const SHAPES: usize = 60;
/// Multiply-adds of a case, at most: it is interpreted.
const WORK: usize = 3_000;
/// Those that a driver compiles, in `f32`: a kernel takes it a tenth of a second. Where `WARPSIGHT_WHOLE` is set, more (bench/README.md).
const COMPILED: usize = 8;
const COMPILED_WHOLE: usize = 20;
/// Those that it compiles in `f16`, which differs in loads and stores only.
const COMPILED_OF_HALVES: usize = 3;

/// A case and what the interpreter made of it.
struct Drawn {
    case: Case,
    /// Whether a driver gets it.
    compiled: bool,
    interpreted: Result<Vec<u8>, String>,
}

static CASES: LazyLock<Vec<Drawn>> = LazyLock::new(|| {
    let drawn = KINDS.iter().enumerate().flat_map(|(n, kind)| {
        let seed = 2 * n as u64;
        let of = [(Scalar::F32, seed), (Scalar::F16, seed + 1), (Scalar::Half, 1000 + seed)];
        of.into_iter().flat_map(|(element, seed)| draw(kind, element, Rng::with_seed(seed)))
    });
    drawn.collect()
});

fn draw(kind: &'static Kind, element: Scalar, mut rng: Rng) -> Vec<Drawn> {
    let compiled = match element {
        Scalar::Half => 0,
        Scalar::F16 => COMPILED_OF_HALVES,
        _ if std::env::var_os("WARPSIGHT_WHOLE").is_some() => COMPILED_WHOLE,
        _ => COMPILED,
    };
    let mut drawn = vec![];
    for shape in 0..SHAPES {
        for expr in kind.draw(&mut rng, element, WORK).steps {
            let name = format!("{} {} #{shape} {}", kind.name, element.name(), expr.name);
            let family = ScheduleFamily::new(expr);
            let config = any_config(&family, &mut rng);
            let case = Case::new(name, family, config, rng.u64(..));
            let interpreted = interpret(&case.program, &case.trial().job(&case.program, None));
            drawn.push(Drawn { compiled: shape < compiled, case, interpreted });
        }
    }
    drawn
}

/// Runs the suite on a back end. `known` lists cases that fail, with a reason; one that passes must leave the list.
fn suite<'a>(known: &[(&str, &str)], cases: impl Iterator<Item = &'a Drawn>, mut check: impl FnMut(&Drawn) -> Result<(), String>) {
    let mut wrong = vec![];
    let mut unseen: BTreeSet<&str> = known.iter().map(|k| k.0).collect();
    let mut count = 0;
    for drawn in cases {
        count += 1;
        let expected = known.iter().find(|k| k.0 == drawn.case.name);
        unseen.remove(drawn.case.name.as_str());
        match (check(drawn), expected) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some((name, reason))) => wrong.push(format!("{name} passes now and must leave the list of known failures ({reason})")),
            (Err(error), None) => wrong.push(format!("{}\n    {error}", drawn.case.describe())),
        }
    }
    assert!(unseen.is_empty(), "known failures that are no cases: {unseen:?}");
    assert!(count > 0, "no cases");
    let shown = wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} cases:\n{shown}", wrong.len());
}

/// Means of numbers of both signs in half precision, of one row: what is left is a hundredth of what was added up, and rounded as often.
const CANCELLED: &str = "one result, of which additions of both signs leave little";
const HALVES: &[(&str, &str)] = &[("layernorm_gradient half #46 layernorm_level", CANCELLED)];

#[test]
fn interpreter() {
    the_cases_meet_images_vectors_tails_and_tiles();
    suite(HALVES, CASES.iter(), |drawn| judge(&drawn.case.trial(), drawn.interpreted.as_ref()?));
}

#[test]
fn simulator() {
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("the simulator is always there");
    suite(HALVES, CASES.iter(), |drawn| {
        let trial = drawn.case.trial();
        let output = execute(&mut *device, &trial.job(&drawn.case.program, None))?;
        judge(&trial, &output)?;
        if drawn.interpreted.as_ref().is_ok_and(|i| *i != output) {
            return Err("not the interpreter's bits".into());
        }
        Ok(())
    });
}

/// Where samplers answer beside images, results are those of bounds, to the bit: on the simulator, and for a few kernels on a driver.
#[test]
fn samplers_answer_as_bounds_do() {
    let mut simulator = warpsight_run::open("sim:adreno640", &Options::default()).expect("the simulator is always there");
    let mut driver = cpu();
    let (mut count, mut compiled) = (0, 0);
    for drawn in CASES.iter() {
        let case = &drawn.case;
        let passes = case.family.passes().set(Pass::Sampler, true);
        let sampled = ScheduleFamily::by(case.family.expr().clone(), passes).finish(&case.config).expect("lowers, too");
        if *sampled == *case.program {
            continue;
        }
        let trial = case.trial();
        let both = |device: &mut dyn Device| {
            let [own, other] = [&case.program, &sampled].map(|program| execute(device, &trial.job(program, None)).expect("runs"));
            assert!(own == other, "{}", case.describe());
        };
        both(&mut *simulator);
        count += 1;
        if let Some(driver) = driver.as_mut().filter(|_| drawn.compiled && compiled < COMPILED) {
            both(&mut **driver);
            compiled += 1;
        }
    }
    assert!(count > 30, "{count} cases");
    assert!(driver.is_none() || compiled == COMPILED, "{compiled} for a driver");
}

// Two tests, because a driver compiles on one core.
#[test]
fn opencl_on_a_cpu() {
    opencl(0);
}

#[test]
fn opencl_on_a_cpu_the_other_half() {
    opencl(1);
}

fn opencl(half: usize) {
    const KNOWN: &[(&str, &str)] = &[];
    let Some(mut device) = cpu() else { return };
    suite(KNOWN, CASES.iter().filter(|d| d.compiled).skip(half).step_by(2), |drawn| {
        let trial = drawn.case.trial();
        let output = execute(&mut *device, &trial.job(&drawn.case.program, None))?;
        judge(&trial, &output)?;
        drawn.interpreted.as_ref().map_or(Ok(()), |interpreted| near(&drawn.case, interpreted, &output))
    });
}

/// The first OpenCL device that is a CPU.
fn cpu() -> Option<Box<dyn Device>> {
    // Not every driver starts well from several threads at once.
    static START: Mutex<()> = Mutex::new(());
    let _alone = START.lock();
    let options = Options { in_process: true, cache: None, ..Options::default() };
    let found = warpsight_run::devices(&options).devices.into_iter().find(|d| d.backend == "opencl" && d.is_cpu);
    let Some(info) = found else {
        skip("no OpenCL device that is a CPU");
        return None;
    };
    Some(warpsight_run::open(&info.id, &options).expect("a device that is listed opens"))
}

/// Whether two outputs are equal up to rounding.
fn near(case: &Case, a: &[u8], b: &[u8]) -> Result<(), String> {
    let (a, b) = (case.unpack(a), case.unpack(b));
    let square = |v: f32| f64::from(v).powi(2);
    // What a part of a tensor leaves as it was, and the maximum of windows that lie wholly in the padding.
    let same = |x: f32, y: f32| x.is_nan() && y.is_nan() || x.is_infinite() && x == y;
    let pairs: Vec<(f32, f32)> = a.into_iter().zip(b).filter(|&(x, y)| !same(x, y)).collect();
    let difference: f64 = pairs.iter().map(|(x, y)| square(x - y)).sum();
    let norm: f64 = pairs.iter().map(|own| square(own.0)).sum();
    let expr = case.family.expr();
    let halves = expr.inputs.iter().chain([&expr.output]).any(|t| t.element == Scalar::F16);
    let tolerance = if halves { TOLERANCE_F16 } else { TOLERANCE_F32 };
    let error = (difference / norm.max(1e-12)).sqrt();
    if error <= tolerance { Ok(()) } else { Err(format!("differs from the interpreter by {error:.1e}")) }
}

#[test]
fn lists_of_known_failures_stay_true() {
    let cases = draw(&KINDS[0], Scalar::F32, Rng::with_seed(0));
    let name = cases[1].case.name.as_str();
    let passes = |known: &[(&str, &str)], outcome: Result<(), String>| {
        let check = |drawn: &Drawn| if drawn.case.name == name { outcome.clone() } else { Ok(()) };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| suite(known, cases.iter().take(3), check))).is_ok()
    };
    let failure = || Err("no".to_owned());
    assert!(passes(&[], Ok(())) && passes(&[(name, "why")], failure()));
    assert!(!passes(&[], failure()), "a failure that is not listed");
    assert!(!passes(&[(name, "why")], Ok(())), "a listed case that passes");
    assert!(!passes(&[("no such case", "why")], Ok(())), "a listed case that is none");
}

/// The suite means little where random configurations leave out what is difficult.
fn the_cases_meet_images_vectors_tails_and_tiles() {
    let count = |has: &dyn Fn(&Drawn) -> bool| CASES.iter().filter(|d| has(d)).count() * 100 / CASES.len();
    let images = count(&|d| d.case.program.params.iter().any(|p| matches!(p.kind, ParamKind::Image { .. })));
    let knob = |d: &Drawn, name: &str| {
        let position = d.case.family.space().knobs.iter().position(|k| &*k.name == name);
        position.map_or(1, |p| d.case.config.0[p])
    };
    let vectors = count(&|d| knob(d, "vector") > 1);
    let tiles = count(&|d| d.case.family.space().knobs.iter().any(|k| k.name.starts_with("tile_") && knob(d, &k.name) > 1));
    let tails = count(&|d| guarded(&d.case.program.body));
    let odd = count(&|d| d.case.family.expr().axes.iter().any(|a| a.extent > 2 && a.extent % 2 == 1));
    eprintln!("{} cases, of 100: {images} images, {vectors} vectors, {tiles} tiles, {tails} guarded, {odd} odd extents", CASES.len());
    for (what, share) in [("images", images), ("vectors", vectors), ("tiles", tiles), ("guards", tails), ("odd extents", odd)] {
        assert!(share >= 20, "{what} in {share} % of the cases");
    }
    // On interpreter and simulator, and for a driver where there is one: kernels, of operators, shapes, types and configurations drawn independently.
    let compiled = CASES.iter().filter(|d| d.compiled).count();
    eprintln!("{compiled} of them are for a driver, too");
    assert!(compiled >= 500, "{compiled} compiled");
    for kind in KINDS {
        let of = |e: Scalar| CASES.iter().filter(|d| d.case.name.starts_with(&format!("{} {} ", kind.name, e.name()))).count();
        assert!([Scalar::F32, Scalar::F16, Scalar::Half].into_iter().all(|element| of(element) >= SHAPES), "{}", kind.name);
    }
}

fn guarded(body: &[Stmt]) -> bool {
    fn in_expr(expr: &Expr) -> bool {
        let own = match expr {
            Expr::Load { guard, .. } | Expr::Texel { guard, .. } => !guard.is_empty(),
            _ => false,
        };
        own || expr.children().into_iter().any(in_expr)
    }
    body.iter().any(|stmt| {
        let own = match stmt {
            Stmt::Store { guard, .. } | Stmt::StoreTexel { guard, .. } => !guard.is_empty(),
            Stmt::If { .. } => true,
            _ => false,
        };
        own || stmt.exprs().into_iter().any(in_expr) || stmt.blocks().into_iter().any(|b| guarded(b))
    })
}
