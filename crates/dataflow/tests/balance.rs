//! The load balance against a solver of mixed-integer programs, against trying everything, and at its borders.

use good_lp::{Expression, Solution, SolverModel, constraint, microlp, variable, variables};
use warpsight_dataflow::assign::{Cta, assign};
use warpsight_dataflow::balance::{BalanceError, Bound, Caps, Demand, Pools, balance};
use warpsight_ir::{Seconds, StageClass};

type Rows = Vec<(StageClass, Vec<f64>)>;

/// Stages whose tiles are dealt to work-groups whole; some run on a few work-groups at least.
fn random(rng: &mut fastrand::Rng, stages: usize, pool: u32) -> Rows {
    let row = |_| {
        let class = if rng.bool() { StageClass::Tensor } else { StageClass::Simt };
        let (tiles, unit, least) = (rng.u32(1..40), f64::from(rng.u32(1..20)), if rng.u32(0..4) == 0 { 2 } else { 1 });
        let on = |n: u32| if n < least { f64::INFINITY } else { f64::from(tiles.div_ceil(n / least)) * unit };
        (class, (1..=pool).map(on).collect())
    };
    (0..stages).map(row).collect()
}

fn demands(rows: &Rows) -> Vec<Demand> {
    rows.iter().map(|(class, seconds)| Demand::new(*class, seconds.iter().map(|&s| Seconds(s)))).collect()
}

/// The slowest stage at best, by the integer program of Algorithm 2: one of the numbers of work-groups for each stage.
fn solved(rows: &Rows, pool: u32) -> Option<f64> {
    let mut vars = variables!();
    let slowest = vars.add(variable().min(0.0));
    let chosen: Vec<Vec<_>> =
        rows.iter().map(|(_, seconds)| seconds.iter().map(|s| s.is_finite().then(|| vars.add(variable().binary()))).collect()).collect();
    let mut problem = vars.minimise(slowest).using(microlp);
    for ((_, seconds), chosen) in rows.iter().zip(&chosen) {
        let one: Expression = chosen.iter().flatten().sum();
        problem = problem.with(constraint!(one == 1));
        let time: Expression = chosen.iter().zip(seconds).filter_map(|(x, &s)| x.map(|x| s * x)).sum();
        problem = problem.with(constraint!(time <= slowest));
    }
    for class in [StageClass::Tensor, StageClass::Simt] {
        let of_class = rows.iter().zip(&chosen).filter(|(row, _)| row.0 == class);
        let ctas: Expression =
            of_class.flat_map(|(_, chosen)| chosen.iter().enumerate().filter_map(|(n, x)| x.map(|x| (n as f64 + 1.0) * x))).sum();
        problem = problem.with(constraint!(ctas <= f64::from(pool)));
    }
    problem.solve().ok().map(|solution| solution.value(slowest))
}

#[test]
fn as_good_as_a_solver() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut solvable = 0;
    for _ in 0..40 {
        let (stages, pool) = (rng.usize(1..7), rng.u32(3..14));
        let rows = random(&mut rng, stages, pool);
        let ours = balance(&demands(&rows), Pools { tensor: pool, simt: pool }, Caps::default());
        match (solved(&rows, pool), ours) {
            (Some(theirs), Ok(ours)) => {
                solvable += 1;
                assert!((ours.seconds.0 - theirs).abs() < 1e-6 * theirs, "{} here, {theirs} there: {rows:?}", ours.seconds.0);
            }
            (None, Err(_)) => {}
            (theirs, ours) => panic!("{theirs:?} there, {ours:?} here: {rows:?}"),
        }
    }
    assert!(solvable >= 30, "{solvable}");
}

/// Sorted times of every way to give work-groups, the best of them, and the fewest work-groups that reach it.
fn tried(rows: &Rows, pool: u32) -> Option<(Vec<f64>, u32)> {
    let mut ways = vec![vec![]];
    for _ in rows {
        ways = ways.iter().flat_map(|way: &Vec<u32>| (1..=pool).map(move |n| [way.as_slice(), &[n]].concat())).collect();
    }
    let sum = |way: &[u32], class| way.iter().zip(rows).filter(|(_, row)| row.0 == class).map(|(n, _)| n).sum::<u32>();
    let fits = |way: &&Vec<u32>| [StageClass::Tensor, StageClass::Simt].into_iter().all(|class| sum(way, class) <= pool);
    let times = |way: &Vec<u32>| {
        let mut times: Vec<f64> = way.iter().zip(rows).map(|(&n, row)| row.1[n as usize - 1]).collect();
        times.sort_by(|a, b| b.total_cmp(a));
        (times, way.iter().sum::<u32>())
    };
    let all = ways.iter().filter(fits).map(times).filter(|(times, _)| times.iter().all(|t| t.is_finite()));
    all.min_by(|a, b| a.partial_cmp(b).expect("no NaN"))
}

#[test]
fn what_is_left_goes_to_the_slowest_next() {
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..60 {
        let (stages, pool) = (rng.usize(1..5), rng.u32(3..8));
        let rows = random(&mut rng, stages, pool);
        // One class at a time: two classes are two problems.
        let rows: Rows = rows.into_iter().map(|(_, seconds)| (StageClass::Simt, seconds)).collect();
        let ours = balance(&demands(&rows), Pools { tensor: 0, simt: pool }, Caps::default());
        let Some((times, ctas)) = tried(&rows, pool) else {
            assert!(ours.is_err(), "{rows:?}");
            continue;
        };
        let ours = ours.expect("an allocation");
        let mut found: Vec<f64> = ours.ctas.iter().zip(&rows).map(|(&n, row)| row.1[n as usize - 1]).collect();
        found.sort_by(|a, b| b.total_cmp(a));
        assert_eq!((found, ours.ctas.iter().sum::<u32>()), (times, ctas), "{rows:?}");
    }
}

#[test]
fn memory_caps_and_the_limiter_is_named() {
    let rows = vec![(StageClass::Tensor, vec![8.0, 4.0, 4.0]), (StageClass::Simt, vec![3.0, 2.0, 1.0])];
    let pools = Pools { tensor: 3, simt: 3 };
    let with = |dram: f64, l2: f64| {
        let found = balance(&demands(&rows), pools, Caps { dram: Seconds(dram), l2: Seconds(l2) }).expect("an allocation");
        (found.ctas, found.seconds.0, found.limiter)
    };
    // The third work-group of the first stage would idle.
    assert_eq!(with(0.0, 0.0), (vec![2, 3], 4.0, Bound::Stage(0)));
    assert_eq!(with(5.0, 4.5), (vec![2, 3], 5.0, Bound::Dram));
    assert_eq!(with(4.0, 9.0), (vec![2, 3], 9.0, Bound::L2));
}

#[test]
fn what_does_not_fit_is_said_with_numbers() {
    let resident = |least: u32| (StageClass::Tensor, (1..=8).map(|n| if n < least { f64::INFINITY } else { 1.0 }).collect());
    let pools = Pools { tensor: 8, simt: 8 };
    let error = |rows: Rows| balance(&demands(&rows), pools, Caps::default()).expect_err("too little");
    let found = error(vec![resident(5), resident(4)]);
    assert_eq!(found, BalanceError::TooFew { class: StageClass::Tensor, stages: 2, least: 9, pool: 8 });
    assert_eq!(found.to_string(), "2 tensor stages need at least 9 work-groups together, and 8 are resident");
    let found = error(vec![resident(1), resident(9)]);
    assert_eq!(found.to_string(), "stage 1 runs on no number of work-groups up to 8");
    let nan = vec![(StageClass::Simt, vec![f64::NAN; 8])];
    assert_eq!(error(nan), BalanceError::Never { stage: 0, pool: 8 });
    // The paper's equality has no solution where a pipeline has one class only; at most does.
    assert!(balance(&demands(&vec![resident(3)]), pools, Caps::default()).is_ok());
}

#[test]
fn work_groups_of_two_classes_are_paired() {
    let pairs = assign(&[(StageClass::Tensor, 2), (StageClass::Simt, 1), (StageClass::Tensor, 1), (StageClass::Simt, 3)], 4).expect("room");
    let held: Vec<_> = pairs.iter().map(|pair| (pair.tensor.map(|c| (c.stage, c.index)), pair.simt.map(|c| (c.stage, c.index)))).collect();
    assert_eq!(held, [(Some((0, 0)), Some((1, 0))), (Some((0, 1)), Some((3, 0))), (Some((2, 0)), Some((3, 1))), (None, Some((3, 2)))]);
    assert_eq!(pairs[3].simt, Some(Cta { stage: 3, index: 2 }));
    assert_eq!(assign(&[(StageClass::Tensor, 5)], 4), None);
}
