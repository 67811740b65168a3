//! What a kernel costs: counts × time.

use crate::coarse::Coarse;
use crate::volumes::report::{Report, Settings, Work, report};
use warpsight_ir::{Config, CostModel, Estimate, Family, Kernel, Limits, ModelId, NoEstimate, Profile, RankFamily, Ranked};

/// How many configurations are counted exactly for each that is asked for, and at least.
const AGAIN: (usize, usize) = (4, 48);

/// The model of kernels: all configurations of a family are counted coarsely ([`crate::coarse`]), the best again exactly
/// ([`crate::volumes`], paper 002); both counts go through one time model ([`crate::time`]; on CPUs [`crate::volumes::cpu`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelModel;

impl CostModel<Kernel> for KernelModel {
    fn id(&self) -> ModelId {
        ModelId { name: "counts".to_owned(), version: 4, fit: crate::volumes::fits() }
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        let points = kernel.launch.group_count().saturating_mul(u64::from(kernel.launch.group_size()));
        Ok(Estimate::from(&report(&Work { kernel, points }, on, &Settings { brief: true, ..Settings::default() })?))
    }
}

impl From<&Report> for Estimate {
    fn from(report: &Report) -> Self {
        let known = report.limits.iter().filter_map(|(limiter, limit)| Some((*limiter, *limit.as_ref().ok()?)));
        Self {
            time: report.seconds,
            interval: (report.interval.lo, report.interval.hi),
            limits: Limits(known.filter(|limit| limit.1.0 > 0.0).collect()),
            volumes: report.moved,
            bound: None,
        }
    }
}

impl RankFamily for KernelModel {
    fn rank(&self, family: &dyn Family, configs: &[Config], on: &Profile, k: usize) -> Result<Vec<Ranked>, NoEstimate> {
        let again = k.saturating_mul(AGAIN.0).max(AGAIN.1);
        let coarse = Coarse::of(on)?;
        let mut first_error = None;
        let near = match configs.len() > again {
            true => best(
                again,
                configs.iter().enumerate().map(|(i, config)| Ok((coarse.seconds(&family.kernel(config))?.0.0, i))),
                &mut first_error,
            ),
            false => (0..configs.len()).map(|i| (0.0, i)).collect(),
        };
        let mut estimates: Vec<Option<Estimate>> = Vec::with_capacity(near.len());
        let exact = near.iter().enumerate().map(|(n, &(_, i))| {
            let estimate = self.estimate(&family.kernel(&configs[i]), on);
            estimates.push(estimate.as_ref().ok().cloned());
            Ok((estimate?.time.0, n))
        });
        let chosen = best(k, exact, &mut first_error);
        match (chosen.is_empty(), first_error) {
            (true, Some(error)) => Err(error),
            _ => {
                let ranked = chosen
                    .into_iter()
                    .filter_map(|(_, n)| Some(Ranked { config: configs[near[n].1].clone(), estimate: estimates[n].take()? }));
                Ok(ranked.collect())
            }
        }
    }
}

/// The `k` least, ascending; ties keep their order.
fn best(k: usize, all: impl Iterator<Item = Result<(f64, usize), NoEstimate>>, first_error: &mut Option<NoEstimate>) -> Vec<(f64, usize)> {
    let mut kept: Vec<(f64, usize)> = Vec::new();
    for found in all {
        match found {
            Ok((key, i)) if kept.len() < k || kept.last().is_some_and(|worst| key < worst.0) => {
                kept.insert(kept.partition_point(|own| own.0 <= key), (key, i));
                kept.truncate(k);
            }
            Ok(_) => {}
            Err(error) => *first_error = first_error.take().or(Some(error)),
        }
    }
    kept
}
