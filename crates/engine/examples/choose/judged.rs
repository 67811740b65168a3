//! One kernel: what configurations of its space take, and what models pick of them.

use crate::kept;
use crate::kinds::{is_plain, is_untiled, is_vanilla, words};
use serde_json::json;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use warpsight_engine::search::times;
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::ScheduleFamily;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_ir::{Config, CostModel, Family, Meanwhile, Profile, RankFamily};
use warpsight_predict::KernelModel;
use warpsight_predict::baselines::{ReuseDistance, Roofline};
use warpsight_predict::coarse::Coarse;
use warpsight_predict::doubt::{Pick, Seen};
use warpsight_predict::explore::score::tau;
use warpsight_predict::paper000::{Level, Paper000, UpTo};
use warpsight_run::sim::Sim;

/// Who picks.
pub const PICKERS: [&str; 10] = [
    "warpsight",
    "paper000",
    "paper000, warps",
    "paper000, threads",
    "reuse distance",
    "roofline",
    "tile only",
    "pattern only",
    "vanilla",
    "random",
];
/// Configurations without tiles of which the best group is looked for, at most.
const VANILLA: usize = 48;
/// What a configuration may take of the best and be timed to its end.
const LONGEST: f64 = 4.0;
/// Configurations that are timed first.
const FIRST: usize = 8;
/// Picks of which the best counts where some are timed.
const FEW: usize = 5;

/// What a picker's choices take of a kernel, seconds.
#[derive(Clone, Debug, Default)]
pub struct Picked {
    /// The first choice; in the mean of all for who picks by chance. `None` where it knows none.
    pub first: Option<f64>,
    /// The best of its first few.
    pub few: Option<f64>,
    /// Kendall's τ over the space, of who ranks.
    pub tau: Option<f64>,
    /// The first choice in words.
    pub config: String,
}

/// A kernel whose space was timed.
#[derive(Clone, Debug)]
pub struct Judged {
    pub name: String,
    /// Configurations that ran.
    pub timed: usize,
    pub best: f64,
    pub best_config: String,
    /// Configurations within a thousandth of the best.
    pub ties: usize,
    /// In the order of [`PICKERS`].
    pub picked: Vec<Picked>,
    /// The parts of the space within 1 and 10 % of the best.
    pub near: [f64; 2],
    /// The default model's pick among its best, and what it loses.
    pub seen: Option<Seen>,
}

/// Where and how kernels are judged.
pub struct Bench<'a> {
    pub device: &'a str,
    /// The operator.
    pub text: &'a str,
    pub sim: &'a Sim,
    pub profile: &'a Profile,
    /// Configurations of a space, at most.
    pub most: usize,
    /// Where times are kept.
    pub kept: &'a Path,
    /// Where both counts of all that ran are written beside what it took.
    pub all: Option<&'a Path>,
}

impl Bench<'_> {
    /// Times a kernel's space and lets everybody pick.
    pub fn judge(&self, family: &ScheduleFamily) -> Result<Judged, Box<dyn Error>> {
        let mut configs = family.some(self.most);
        let plain: Vec<Config> = family.configs().filter(|config| is_vanilla(family, config)).collect();
        let untiled: Vec<Config> = family.configs().filter(|config| is_untiled(family, config)).collect();
        let some =
            |own: &[Config]| (0..own.len().min(VANILLA)).map(|n| own[n * own.len() / own.len().min(VANILLA)].clone()).collect::<Vec<_>>();
        let patterns = [some(&untiled), some(&plain)].concat();
        let new = patterns.iter().filter(|config| !configs.contains(config)).cloned().collect::<Vec<_>>();
        configs.extend(new);
        let mut ran = self.times(family, &configs)?;
        let (best_config, best) = ran.iter().min_by(|a, b| a.1.total_cmp(&b.1)).copied().ok_or("nothing runs")?;
        // What was given up takes so many times as long at least.
        ran.iter_mut().for_each(|own| own.1 = own.1.min(best * LONGEST));
        if let Some(file) = self.all {
            self.write_all(family, &ran, file)?;
        }
        let time_of = |config: &Config| ran.iter().find(|own| own.0 == config).map(|own| own.1);
        // Whoever picks may take whatever was timed: so the best is among it.
        let space = configs.clone();
        let (warps, threads) = (UpTo(Level::Warp), UpTo(Level::Thread));
        let models: [&(dyn RankFamily + Sync); 6] = [&KernelModel, &Paper000, &warps, &threads, &ReuseDistance, &Roofline];
        let mut picked: Vec<Picked> = vec![];
        for (n, model) in models.into_iter().enumerate() {
            let judge =
                Judge { profile: self.profile, model, allowance: Allowance::of(self.profile), passes: family.passes(), top: FEW, runs: 5 };
            let mut own = self.picks(family, &judge, &space, &time_of);
            if n == 0 {
                own.tau = self.ranked(family, &ran);
            }
            picked.push(own);
        }
        let judge = Judge {
            profile: self.profile,
            model: &KernelModel,
            allowance: Allowance::of(self.profile),
            passes: family.passes(),
            top: FEW,
            runs: 5,
        };
        let tiles: Vec<Config> = space.iter().filter(|config| is_plain(family, config)).cloned().collect();
        picked.push(self.picks(family, &judge, &tiles, &time_of));
        picked.push(self.picks(family, &judge, &patterns, &time_of));
        let vanilla = ran.iter().filter(|own| is_vanilla(family, own.0)).min_by(|a, b| a.1.total_cmp(&b.1));
        picked.push(vanilla.map_or(Picked::default(), |own| Picked {
            first: Some(own.1),
            few: Some(own.1),
            tau: None,
            config: words(family, own.0),
        }));
        let mean = ran.iter().map(|own| own.1).sum::<f64>() / ran.len() as f64;
        picked.push(Picked { first: Some(mean), ..Picked::default() });
        let within = |part: f64| ran.iter().filter(|own| own.1 <= best * (1.0 + part)).count();
        Ok(Judged {
            name: family.name().to_string(),
            timed: ran.len(),
            best,
            best_config: self.described(family, best_config),
            ties: within(1e-3) - 1,
            picked,
            seen: self.seen(family, &space, &time_of, best),
            near: [0.01, 0.1].map(|part| within(part) as f64 / ran.len() as f64),
        })
    }

    fn seen(&self, family: &ScheduleFamily, space: &[Config], time_of: &dyn Fn(&Config) -> Option<f64>, best: f64) -> Option<Seen> {
        let judge = Judge {
            profile: self.profile,
            model: &KernelModel,
            allowance: Allowance::of(self.profile),
            passes: family.passes(),
            top: 1,
            runs: 5,
        };
        let (_, ranked) = tune::rank(family, space.iter().cloned(), &judge).ok()?;
        let took = time_of(&ranked.first()?.config)?;
        Some((Pick::of(&ranked)?, took / best - 1.0))
    }

    fn picks(&self, family: &ScheduleFamily, judge: &Judge, space: &[Config], time_of: &dyn Fn(&Config) -> Option<f64>) -> Picked {
        let Ok((_, ranked)) = tune::rank(family, space.iter().cloned(), judge) else { return Picked::default() };
        // A choice that does not run is passed over, as it is where kernels are verified.
        let times: Vec<(f64, &Config)> = ranked.iter().filter_map(|own| Some((time_of(&own.config)?, &own.config))).collect();
        let first = times.first();
        Picked {
            first: first.map(|own| own.0),
            few: times.iter().take(FEW).map(|own| own.0).reduce(f64::min),
            tau: None,
            config: first.map_or(String::new(), |own| self.described(family, own.1)),
        }
    }

    /// A line of JSON for each configuration that ran: what it took, and what the coarse count and the exact one say of it, microseconds.
    fn write_all(&self, family: &ScheduleFamily, ran: &[(&Config, f64)], file: &Path) -> Result<(), Box<dyn Error>> {
        let mut out = OpenOptions::new().create(true).append(true).open(file)?;
        let coarse = Coarse::of(self.profile, Meanwhile::default())?;
        let allowance = Allowance::of(self.profile);
        let dropped = |config: &Config| {
            let mut pruned = prune(family, std::iter::once(config.clone()), &allowance);
            pruned.by_ref().for_each(drop);
            pruned.dropped.into_iter().find(|own| own.1 > 0).map(|own| own.0)
        };
        for &(config, took) in ran {
            let exact = KernelModel.estimate(&family.kernel(config), self.profile).ok();
            let limits: BTreeMap<&str, f64> =
                exact.iter().flat_map(|own| own.limits.0.iter()).map(|own| (own.0.name(), 1e6 * own.1.0)).collect();
            let line = json!({
                "device": self.device, "operator": self.text, "kernel": family.name().to_string(), "config": words(family, config), "took": 1e6 * took,
                "dropped": dropped(config), "coarse": coarse.seconds(&family.outline(config)).ok().map(|own| 1e6 * own.0.0),
                "exact": exact.as_ref().map(|own| 1e6 * own.time.0), "limits": limits,
            });
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// A configuration and what the default model says of it.
    fn described(&self, family: &ScheduleFamily, config: &Config) -> String {
        let us = |seconds: warpsight_ir::Seconds| 1e6 * seconds.0;
        let said = KernelModel.estimate(&family.kernel(config), self.profile).map_or_else(
            |error| error.to_string(),
            |own| {
                let limits: Vec<String> = own.limits.0.iter().map(|own| format!("{} {:.1}", own.0.name(), us(own.1))).collect();
                format!("{:.1} µs predicted: {}", us(own.time), limits.join(", "))
            },
        );
        format!("{} ({said})", words(family, config))
    }

    /// How the whole space is ranked.
    fn ranked(&self, family: &ScheduleFamily, ran: &[(&Config, f64)]) -> Option<f64> {
        let predicted = |config: &Config| KernelModel.estimate(&family.kernel(config), self.profile).ok().map(|own| own.time.0);
        let best = ran.iter().map(|own| own.1).fold(f64::INFINITY, f64::min);
        let known = ran.iter().filter(|own| own.1 < best * LONGEST);
        let pairs: Vec<(f64, f64)> = known.filter_map(|own| Some((predicted(own.0)?, own.1))).collect();
        (pairs.len() > 2).then(|| tau(&pairs))
    }

    /// Simulated seconds of what runs, or those that an earlier run kept; infinite of what takes far longer than the best.
    fn times<'c>(&self, family: &ScheduleFamily, configs: &'c [Config]) -> Result<Vec<(&'c Config, f64)>, Box<dyn Error>> {
        let file = self.kept.join(kept::name(self.sim.simulator().silicon(), family, configs));
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        let mut all: Vec<Option<f64>> = kept.lines().map(|line| line.parse().ok()).collect();
        if all.len() != configs.len() {
            // Those that are expected to be fast first: what takes far longer is given up.
            let judge = Judge {
                profile: self.profile,
                model: &KernelModel,
                allowance: Allowance::default(),
                passes: family.passes(),
                top: FIRST,
                runs: 5,
            };
            let (_, first) = tune::rank(family, configs.iter().cloned(), &judge)?;
            let first: Vec<Config> = first.into_iter().take(FIRST).map(|own| own.config).collect();
            let mut least = f64::INFINITY;
            for time in times(family, self.sim, &first, warpsight_ir::Seconds(f64::INFINITY))?.into_iter().flatten() {
                least = least.min(time.0);
            }
            all.clear();
            for round in configs.chunks(64) {
                let found = times(family, self.sim, round, warpsight_ir::Seconds(least * LONGEST))?;
                all.extend(found.iter().map(|time| time.map(|time| time.0)));
                least = all.iter().flatten().copied().fold(least, f64::min);
            }
            let lines: Vec<String> = all.iter().map(|time| time.map_or("-".to_owned(), |time| time.to_string())).collect();
            std::fs::create_dir_all(self.kept)?;
            std::fs::write(file, lines.join("\n") + "\n")?;
        }
        Ok(configs.iter().zip(all).filter_map(|(config, time)| Some((config, time?))).collect())
    }
}
