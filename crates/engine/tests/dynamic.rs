//! Operators of which sizes are open: what is kept, and what it loses.

mod common;

use common::Doctored;
use std::cell::Cell;
use std::collections::HashSet;
use warpsight_engine::dynamic::generic::Generic;
use warpsight_engine::dynamic::{self, Kept, SLACK, Shape, Table};
use warpsight_engine::tune::Judge;
use warpsight_engine::verify::Trial;
use warpsight_generate::operators::parse_shapes;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{Passes, ScheduleFamily};
use warpsight_ir::{Config, Profile, RankFamily, SizeParam, profile};
use warpsight_predict::KernelModel;
use warpsight_run::{Device, Job, JobResult};

fn judge(profile: &Profile) -> Judge<'_> {
    Judge { profile, model: &KernelModel, allowance: Allowance::of(profile), passes: Passes::default(), top: 1, runs: 5 }
}

fn device() -> (Profile, Box<dyn Device>) {
    let profile = profile::builtin("adreno640").expect("a profile").expect("reads");
    (profile, warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("opens"))
}

fn table(text: &str) -> Table {
    table_on(text, &mut *device().1)
}

fn table_on(text: &str, device: &mut dyn Device) -> Table {
    let (profile, _) = self::device();
    let judge = judge(&profile);
    let read = parse_shapes(text).expect(text);
    let name = (read.open.len() == 1).then(|| read.open[0].as_str());
    let all = read.all.into_iter().map(|(sizes, mut operator)| (sizes, operator.steps.remove(0))).collect();
    let shapes = dynamic::choose(all, &judge, &|_, _| {}).expect("chosen");
    let mut rng = fastrand::Rng::with_seed(1);
    dynamic::table(name, shapes, &judge, device, &mut rng, &mut |_, _| Ok(()), &|_, _| {}).expect(text)
}

/// Programs with a size, of configurations that were drawn: at the ends of the sizes where they are what the configuration lowers to, results are right on
/// a device. Many serve most of a range.
#[test]
fn one_program_computes_every_size() {
    let (profile, mut device) = device();
    let allowance = Allowance::of(&profile);
    for text in ["matmul m=2..40 n=48 k=16", "conv2d n=1 c=4 h=5..30 w=9 k=8 r=3 s=3 stride=2 pad=1"] {
        let read = parse_shapes(text).expect(text);
        let families: Vec<(i64, ScheduleFamily)> =
            read.all.into_iter().map(|(sizes, mut own)| (sizes[0], ScheduleFamily::new(own.steps.remove(0)))).collect();
        let middle = &families[families.len() / 2].1;
        let size = SizeParam { name: "size_open".into(), lo: families[0].0, hi: families[families.len() - 1].0 };
        let drawn = middle.sample(1, 40, allowance.meeting).into_iter().step_by(5);
        let (mut ran, mut wide) = (0, 0);
        for (config, _) in prune(middle, drawn, &allowance).take(16) {
            let at = |(at, (value, family)): (usize, &(i64, ScheduleFamily))| Some((at, *value, family.alike(middle, &config)?));
            let all: Vec<(usize, i64, Config)> = families.iter().enumerate().filter_map(at).collect();
            let all: Vec<(usize, i64, &ScheduleFamily, Config)> =
                all.into_iter().map(|(at, value, config)| (at, value, &families[at].1, config)).collect();
            let generics = Generic::of(&size, &all);
            wide += usize::from(generics.iter().any(|own| own.positions().len() * 2 > families.len()));
            for generic in generics {
                assert_eq!(generic.program.sizes, std::slice::from_ref(&size));
                for position in [generic.same[0], generic.same[generic.same.len() - 1]] {
                    let (_, value, family, config) = all.iter().find(|own| own.0 == position).expect("one of them");
                    let layouts = family.layouts(config).expect("legal");
                    let trial = Trial::new(family.expr(), &layouts, &mut rng());
                    let mut job = trial.job(&generic.program, None);
                    job.launches[0].sizes = vec![*value];
                    let result = device.run(&job).unwrap_or_else(|error| panic!("{text} at {value}: {error}"));
                    trial.judge(&result).unwrap_or_else(|wrong| panic!("{text} at {value}: {wrong}"));
                    assert!(generic.kernel(*value).is_some());
                    ran += 1;
                }
            }
        }
        assert!(ran >= 20 && wide >= 4, "{text}: {ran} {wide}");
    }
}

fn rng() -> fastrand::Rng {
    fastrand::Rng::with_seed(7)
}

/// Every size has a kernel within the slack, fewer kernels than sizes, and each was verified at the ends of what it serves and timed there.
#[test]
fn few_kernels_serve_a_range() {
    let table = table("matmul m=1..33 n=24 k=16");
    assert_eq!((table.shapes.len(), table.kernel.len()), (33, 33));
    assert!(table.kept.len() <= 8, "{}", table.kept.len());
    assert!(table.worst() <= SLACK && table.kept.iter().any(|own| own.generic.is_some() && own.serves.len() >= 8));
    for (number, kept) in table.kept.iter().enumerate() {
        let served: Vec<usize> = (0..33).filter(|&at| table.kernel[at] == number).collect();
        assert_eq!(served, kept.serves);
        let size = kept.generic.as_ref().map(|own| (own.program.sizes[0].lo, own.program.sizes[0].hi));
        let reach = (table.shapes[served[0]].sizes[0], table.shapes[served[served.len() - 1]].sizes[0]);
        assert!(size.is_none_or(|size| size == reach), "{size:?} {reach:?}");
        let tried: HashSet<usize> = kept.tried.iter().map(|own| own.shape).collect();
        assert!(tried.contains(&served[0]) && tried.contains(&served[served.len() - 1]));
        for own in &kept.tried {
            let loss = own.loss().expect("timed");
            // By the model it is within the slack, and of kernels as alike as these the simulator says so, too.
            assert!(own.verdict.rel_l2 < 1e-5 && loss.abs() <= SLACK, "{loss}");
        }
        // What is kept for a shape alone is its own choice.
        assert!(kept.generic.is_some() || kept.serves.len() == 1);
    }
    // Nothing that is kept is better than the choice it is held against.
    assert!((0..33).all(|at| table.loss(at) >= 0.0), "{:?}", (0..33).map(|at| table.loss(at)).collect::<Vec<_>>());
    assert!(table.shapes.iter().all(|shape| shape.took.as_nanos() > 0 && shape.candidates >= 300));
    // What a shape is expected to lose has in it what its kernel loses by the model; a hundredth is what draws are off by.
    let expected: Vec<f64> = table.expected.iter().map(|own| own.expect("the model says it")).collect();
    assert!(expected.len() == 33 && (0..33).all(|at| expected[at] > table.loss(at) - 0.01), "{expected:?}");
}

/// Of two open dimensions a configuration is kept, and has a Program for each shape.
#[test]
fn two_open_dimensions_share_configurations() {
    let table = table("matmul m=3..5 n=8,13 k=16");
    assert_eq!(table.shapes.iter().map(|own| own.sizes.clone()).collect::<Vec<_>>()[..2], [vec![3, 8], vec![3, 13]]);
    assert!(table.kept.len() < 6 && table.worst() <= SLACK && table.kept.iter().all(|own| own.generic.is_none()));
    // Each of these Programs is written out, so that each ran.
    let tried = |own: &Kept| own.tried.iter().map(|tried| tried.shape).collect::<Vec<_>>();
    assert!(table.kept.iter().all(|own| tried(own) == own.serves));
    // Where a shape has its own choice, it is expected to lose what that is.
    let own = |at: &usize| {
        table.kept[table.kernel[*at]].meant.at(&table.shapes[*at], &table.shapes) == Some(table.shapes[*at].ranked[0].config.clone())
    };
    let chosen: Vec<usize> = (0..table.shapes.len()).filter(own).collect();
    assert!(!chosen.is_empty() && chosen.iter().all(|&at| table.expected[at] == KernelModel.expected_loss(&table.shapes[at].ranked)));
}

/// The Programs that are kept for a small range are right at every size of it.
#[test]
fn what_is_kept_is_right_at_every_size() {
    let (_, mut device) = device();
    let table = table("matmul m=1..17 n=8 k=8");
    for (shape, kernel) in table.shapes.iter().zip(&table.kernel) {
        let kept = &table.kept[*kernel];
        let config = kept.meant.at(shape, &table.shapes).expect("legal");
        let program = kept.generic.as_ref().map_or_else(|| shape.family.finish(&config).expect("finishes"), |own| own.program.clone());
        let layouts = shape.family.layouts(&config).expect("legal");
        let trial = Trial::new(shape.family.expr(), &layouts, &mut rng());
        let mut job = trial.job(&program, None);
        job.launches[0].sizes = kept.generic.iter().map(|_| shape.sizes[0]).collect();
        let verdict = trial.judge(&device.run(&job).expect("runs")).unwrap_or_else(|wrong| panic!("{:?}: {wrong}", shape.sizes));
        assert!(verdict.rel_l2 < 1e-5 && verdict.compared == 8 * shape.sizes[0] as usize, "{:?}: {verdict:?}", shape.sizes);
    }
}

/// Makes results of Programs with a size wrong at one value of it, so many times.
fn wrong_at(value: &Cell<i64>, mut times: usize) -> impl FnMut(&Job, &mut JobResult) {
    move |job, result| {
        if job.launches[0].sizes == [value.get()] && times > 0 {
            times -= 1;
            result.read[0].0.fill(0);
        }
    }
}

/// Programs with more conditions than a size needs are taken where they are right at every such size: one that is wrong between the ends is refused.
#[test]
fn a_form_that_is_right_at_its_ends_alone_is_refused() {
    let (_, device) = device();
    let wrong = Cell::new(0);
    let mut device = Doctored { device, doctor: wrong_at(&wrong, usize::MAX) };
    let read = parse_shapes("matmul m=2..24 n=16 k=8").expect("reads");
    let families: Vec<(i64, ScheduleFamily)> =
        read.all.into_iter().map(|(sizes, mut own)| (sizes[0], ScheduleFamily::new(own.steps.remove(0)))).collect();
    let (last, size) = (&families[families.len() - 1].1, SizeParam { name: "size_m".into(), lo: 2, hi: 24 });
    let mut planted = 0;
    for config in last.sample(1, 200, Allowance::of(&profile::builtin("adreno640").expect("a profile").expect("reads")).meeting) {
        let at = |(at, own): (usize, &(i64, ScheduleFamily))| Some((at, own.0, own.1.alike(last, &config)?));
        let all: Vec<(usize, i64, Config)> = families.iter().enumerate().filter_map(at).collect();
        let all: Vec<(usize, i64, &ScheduleFamily, Config)> =
            all.into_iter().map(|(at, value, config)| (at, value, &families[at].1, config)).collect();
        for generic in Generic::of(&size, &all) {
            let Some(form) = generic.simpler.iter().find(|form| form.len() >= 3).cloned() else { continue };
            let mut kept = |value: i64| {
                wrong.set(value);
                let mut own = generic.clone();
                dynamic::simpler(&mut own, &all, &mut device, &mut rng()).expect("a device");
                own
            };
            if kept(0).simpler.contains(&form) {
                let middle = form[1];
                let own = kept(families[middle].0);
                assert!(!own.simpler.contains(&form) && !own.positions().contains(&middle));
                planted += 1;
            }
        }
        if planted >= 3 {
            return;
        }
    }
    panic!("{planted} forms were tried, at least 3 should be");
}

/// A Program with a size that is wrong at one of them gives way, and the configuration it is of may still be what that shape alone is computed by.
#[test]
fn a_wrong_program_with_a_size_does_not_condemn_its_configuration() {
    let text = "matmul m=1..17 n=8 k=8";
    let right = table(text);
    let before = &right.kept[right.kernel[16]];
    assert!(before.generic.is_some() && right.rejected.is_empty());
    let is_own = |shape: &Shape| before.meant.at(shape, &right.shapes).as_ref() == Some(&shape.ranked[0].config);
    assert!(right.shapes.iter().any(is_own));
    let at = Cell::new(17);
    let table = table_on(text, &mut Doctored { device: device().1, doctor: wrong_at(&at, 1) });
    let rejected: Vec<_> = table.rejected.iter().map(|own| (&own.0, own.1.starts_with("at [17]: "))).collect();
    assert_eq!(rejected, [(&before.meant.words(&right.shapes), true)]);
    for (own, before) in table.shapes.iter().zip(&right.shapes) {
        assert_eq!((own.best(), &own.ranked[0].config), (before.best(), &before.ranked[0].config), "{:?}", own.sizes);
    }
    assert!(table.worst() <= SLACK);
}
