//! Verification finds planted faults.

mod common;

use common::Doctored;
use std::collections::BTreeMap;
use warpsight_engine::tune::{self, Judge};
use warpsight_engine::verify::{TOLERANCE_F32, Trial, Wrong, check_operator, tolerance};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Passes, ScheduleFamily};
use warpsight_ir::{Checked, Config, Expr, Family, Program, Status, Stmt, profile};
use warpsight_predict::KernelModel;
use warpsight_run::{Code, Device, DeviceError, DeviceInfo, DeviceLimits, Job, JobResult, MemorySpec, Remembered, Session};

fn simulator() -> Box<dyn Device> {
    warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("the simulator is always there")
}

fn conv() -> ScheduleFamily {
    ScheduleFamily::new(parse_operator("conv2d n=1 c=5 h=7 w=9 k=6 r=3 s=3 stride=1 pad=1").expect("an operator").steps.remove(0))
}

/// Applies a change to every statement, innermost first.
fn rewrite(program: &Checked, change: &mut dyn FnMut(&mut Stmt)) -> Checked {
    fn walk(stmts: &mut [Stmt], change: &mut dyn FnMut(&mut Stmt)) {
        for stmt in stmts {
            match stmt {
                Stmt::For { body, .. } | Stmt::Scope(body) => walk(body, change),
                Stmt::If { then, otherwise, .. } => {
                    walk(then, change);
                    walk(otherwise, change);
                }
                _ => {}
            }
            change(stmt);
        }
    }
    let mut changed: Program = (**program).clone();
    walk(&mut changed.body, change);
    Checked::new(changed).expect("still valid")
}

#[test]
fn planted_faults_are_found() {
    let mut rng = fastrand::Rng::with_seed(5);
    let family = conv();
    let config = family
        .configs()
        .find(|c| !family.places(c).expect("legal").iter().any(|place| place.is_image()))
        .expect("a configuration with buffers");
    let layouts = family.layouts(&config).expect("legal");
    let program = family.finish(&config).expect("lowers");
    let mut device = simulator();
    let mut verdict = |program: &Checked| {
        let trial = Trial::new(family.expr(), &layouts, &mut rng);
        trial.judge(&device.run(&trial.job(program, None)).expect("runs"))
    };
    assert!(verdict(&program).expect("right").rel_l2 < 1e-6);

    // A loop that stops one short.
    let short = rewrite(&program, &mut |stmt| {
        if let Stmt::For { var, to, .. } = stmt
            && var.starts_with('s')
        {
            *to = Expr::int(2);
        }
    });
    assert!(matches!(verdict(&short), Err(Wrong::Values { .. })), "{:?}", verdict(&short));

    // The last group's stores are left out.
    let missing = rewrite(&program, &mut |stmt| {
        if let Stmt::Store { guard, .. } = stmt {
            guard.push(warpsight_ir::Bound { value: Expr::var("k0"), extent: Expr::int(1), per_lane: false });
        }
    });
    assert!(matches!(verdict(&missing), Err(Wrong::NotWritten(..))), "{:?}", verdict(&missing));
}

/// A driver that refuses the first kernels and gets others wrong.
struct Bad {
    inner: Box<dyn Device>,
    jobs: usize,
}

impl Device for Bad {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.inner.open(memory)
    }
    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        self.jobs += 1;
        match self.jobs {
            1 => Err(DeviceError::Build { program: 0, kernel: "conv".into(), log: "error: no".into(), line: Some(3) }),
            2 => {
                let mut result = self.inner.run(job)?;
                result.read[0].0[0..4].copy_from_slice(&1e6f32.to_le_bytes());
                Ok(result)
            }
            3 => Err(DeviceError::Timeout(1)),
            _ => self.inner.run(job),
        }
    }
}

#[test]
fn the_next_best_is_taken() {
    let mut rng = fastrand::Rng::with_seed(6);
    let family = conv();
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let judge =
        Judge { profile: &profile, model: &KernelModel, allowance: Allowance::default(), passes: Passes::default(), top: 1, runs: 1 };
    let (_, ranked) = tune::rank(&family, family.configs(), &judge).expect("ranks");
    let mut device = Bad { inner: simulator(), jobs: 0 };
    let mut seen = vec![];
    let tuned = tune::choose(&family, &ranked, &judge, &mut device, &mut rng, &mut |a| {
        seen.push(a.status.clone());
        Ok(())
    })
    .expect("the fourth is right");
    assert_eq!(tuned.config, ranked[3].config);
    assert!(matches!(seen[..], [Status::BuildFailed(_), Status::Wrong(_), Status::DeviceLost(_), Status::Done]), "{seen:?}");
}

/// A driver that refuses whatever has a word in its text.
struct Refuses {
    inner: Box<dyn Device>,
    word: &'static str,
}

impl Device for Refuses {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.inner.open(memory)
    }
    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        let refused = job.programs.iter().any(|code| matches!(code, Code::Program(own) if own.to_string().contains(self.word)));
        if refused {
            return Err(DeviceError::Build { program: 0, kernel: "conv".into(), log: "error: no".into(), line: None });
        }
        self.inner.run(job)
    }
}

/// Where a driver can do nothing that is like the best, what is least like them is tried, not more of the same.
#[test]
fn what_is_unlike_all_that_failed_is_tried() {
    let family = conv();
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let judge =
        Judge { profile: &profile, model: &KernelModel, allowance: Allowance::default(), passes: Passes::default(), top: 1, runs: 1 };
    let (_, ranked) = tune::rank_all(&family, &judge).expect("ranks");
    let images = |config: &Config| family.places(config).expect("legal").iter().any(|place| place.is_image());
    assert!(ranked.iter().all(|own| images(&own.config)), "all that are tried first have images");
    let chosen = |word: &'static str, seen: &mut usize| {
        let mut device = Refuses { inner: simulator(), word };
        let again = |deep: &Judge| Ok(tune::rank_all(&family, deep)?.1);
        let mut observe = |_: &tune::Attempt| {
            *seen += 1;
            Ok(())
        };
        tune::choose_fitting(&family, &ranked, &judge, &mut device, &mut fastrand::Rng::with_seed(6), &mut observe, again)
    };
    let mut seen = 0;
    let found = chosen("image", &mut seen).expect("buffers work");
    assert!(!images(&found.config));
    assert!(seen <= ranked.len() + 4, "{seen} of {} were tried", ranked.len());
    assert_eq!(found.rejected.len() + 1, seen, "every failure is told");
    let nothing = chosen("{", &mut seen).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(nothing.contains(&format!("({} tried)", ranked.len() + 8)), "{nothing}");
}

/// What failed before is passed over without being tried, or stored once more.
#[test]
fn what_failed_before_is_not_tried_again() {
    let family = conv();
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let judge =
        Judge { profile: &profile, model: &KernelModel, allowance: Allowance::default(), passes: Passes::default(), top: 1, runs: 1 };
    let (_, ranked) = tune::rank(&family, family.configs(), &judge).expect("ranks");
    let text = |rank: usize| family.finish(&ranked[rank].config).expect("lowers").to_string();
    let failed = [(text(0), "killed by signal 11".to_owned()), (text(1), "error: no".to_owned())];
    let mut device = Remembered::new(simulator(), failed.into());
    let mut seen = 0;
    let tuned = tune::choose(&family, &ranked, &judge, &mut device, &mut fastrand::Rng::with_seed(6), &mut |_| {
        seen += 1;
        Ok(())
    })
    .expect("the third is right");
    assert_eq!((tuned.config, seen), (ranked[2].config.clone(), 1));
    let told: Vec<&str> = tuned.rejected.iter().map(|own| own.1.as_str()).collect();
    let name = family.name();
    let wanted =
        [format!("kernel `{name}` failed here before: killed by signal 11"), format!("kernel `{name}` failed here before: error: no")];
    assert_eq!(told, wanted);
    // So is what fails meanwhile, the first time it is tried.
    let mut device = Remembered::new(Box::new(Bad { inner: simulator(), jobs: 0 }), BTreeMap::new());
    let (program, layouts) = (family.finish(&ranked[0].config).expect("lowers"), family.layouts(&ranked[0].config).expect("legal"));
    let job = Trial::new(family.expr(), &layouts, &mut fastrand::Rng::with_seed(6)).job(&program, None);
    assert!(matches!(device.run(&job), Err(DeviceError::Build { .. })));
    assert!(matches!(device.run(&job), Err(DeviceError::Before { .. })));
}

/// A device that keeps registers in memory for the first so many kernels, and says that it counts 80 of each.
#[test]
fn kernels_that_spill_give_way() {
    let family = conv();
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let mut allowance = Allowance::default();
    allowance.residency.max_registers = Some(64);
    let judge = Judge { profile: &profile, model: &KernelModel, allowance, passes: Passes::default(), top: 1, runs: 1 };
    let (_, ranked) = tune::rank(&family, family.configs(), &judge).expect("ranks");
    let chosen = |spilling: usize, others: &[warpsight_ir::Ranked], limit: &mut Option<u32>| {
        let mut left = spilling;
        let doctor = |_: &Job, result: &mut JobResult| {
            let spills = left > 0;
            left = left.saturating_sub(1);
            for own in &mut result.feedback {
                (own.registers, own.private_bytes, own.spill_bytes) = (Some(80), Some(if spills { 64 } else { 0 }), None);
            }
        };
        let mut device = Doctored { device: simulator(), doctor };
        let again = |tight: &Judge| {
            *limit = tight.allowance.residency.max_registers;
            Ok(others.to_vec())
        };
        let rng = &mut fastrand::Rng::with_seed(6);
        tune::choose_fitting(&family, &ranked, &judge, &mut device, rng, &mut |_| Ok(()), again).expect("one is right")
    };
    let mut limit = None;
    assert_eq!(chosen(2, &[], &mut limit).config, ranked[2].config, "the third has registers for all");
    assert_eq!(limit, None, "and nothing is searched again");
    // All of them spill: what needs fewer registers by as much as the device counts more, if there is something.
    let registers = family.outline(&ranked[0].config).registers;
    let last = ranked.last().cloned().expect("some");
    let found = chosen(ranked.len(), std::slice::from_ref(&last), &mut limit);
    assert_eq!((found.config, limit), (last.config, Some((registers * 64 / 80).min(registers - 1))));
    assert_eq!(chosen(usize::MAX, &ranked, &mut limit).config, ranked[0].config, "all of it through memory is right, too");
    assert_eq!(chosen(ranked.len(), &[], &mut limit).config, ranked[0].config, "nothing else is there");
}

/// Roundings to either side grow with the root of their number; what is stored alone is rounded once.
#[test]
fn halves_may_be_off_by_the_root_of_what_is_added_up() {
    let step = |text: &str| parse_operator(text).expect("an operator").steps.remove(0);
    let allowed = |text: &str| tolerance(&step(text));
    assert_eq!(allowed("matmul m=2 n=3 k=1024 dtype=f16"), 1e-2);
    assert_eq!(allowed("matmul m=2 n=3 k=256 dtype=f16"), 5e-3);
    assert_eq!(allowed("matmul m=2 n=3 k=1 dtype=f16"), 4e-3);
    assert_eq!(allowed("relu n=2 c=3 dtype=f16"), 4e-3);
    assert_eq!(allowed("matmul m=2 n=3 k=1024 dtype=f16s"), 2e-3);
    // Every rounding of a product counts in full.
    assert_eq!(allowed("reduce_prod n=2 c=256 dtype=f16"), 1.0 / 64.0);
    assert_eq!(allowed("reduce_prod n=2 c=4 dtype=f16"), 4e-3);
    assert_eq!(allowed("reduce_prod n=2 c=256"), TOLERANCE_F32);
    assert_eq!(allowed("reduce_prod n=2 c=16384"), 128.0 / f64::from(1 << 23));
    let product = parse_operator("matmul m=2 n=3 k=4 dtype=f16").expect("an operator");
    let refused = check_operator(&product, &DeviceLimits::default()).expect_err("it has none");
    assert_eq!(refused.to_string(), "kernel `matmul` computes in half precision (f16), which this device does not have");
    assert!(check_operator(&product, &DeviceLimits { f16: true, ..DeviceLimits::default() }).is_ok());
}
