//! What a search finds of each way in which tensors may lie, beside a ranking of all configurations: predicted seconds of both.
//!
//! `cargo run --release -p warpsight-engine --example searched -- DEVICE "OPERATOR"`

use std::collections::BTreeMap;
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Passes, Place, ScheduleFamily};
use warpsight_ir::{Config, Family, profile};
use warpsight_predict::KernelModel;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (device, text) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
    let profile = profile::builtin(&device).ok_or("no such profile")??;
    let judge =
        Judge { profile: &profile, model: &KernelModel, allowance: Allowance::of(&profile), passes: Passes::default(), top: 1, runs: 1 };
    for step in parse_operator(&text)?.steps {
        let family = ScheduleFamily::new(step);
        // As networks do: constants may lie anyhow.
        let kind = |config: &Config| -> Option<Vec<Place>> {
            let roles = family.expr().inputs.iter().map(|own| own.role).chain([family.expr().output.role]);
            let places = family.places(config)?;
            Some(roles.zip(places).filter(|own| own.0 != warpsight_generate::Role::Weight).map(|own| own.1).collect())
        };
        let begun = std::time::Instant::now();
        let (looked, found) = tune::search_each(&family, &judge, kind)?;
        println!("{}: {} looked at in {:.2} s", family.name(), looked.total, begun.elapsed().as_secs_f64());
        let mut all: BTreeMap<Vec<Place>, Vec<Config>> = BTreeMap::new();
        for config in family.configs() {
            if let Some(own) = kind(&config) {
                all.entry(own).or_default().push(config);
            }
        }
        for (kind, configs) in all {
            let Ok((_, ranked)) = tune::rank(&family, configs.into_iter(), &judge) else { continue };
            let Some(best) = ranked.first() else { continue };
            let own = found.get(&kind).map(|own| own.estimate.time.0 * 1e6);
            println!(
                "{kind:?}: {:.1} us ranked, {own:.1?} searched; {:?}",
                best.estimate.time.0 * 1e6,
                family.space().describe(&best.config)
            );
        }
    }
    Ok(())
}
