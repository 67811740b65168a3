//! By what times that were simulated once are found again.

use std::hash::{DefaultHasher, Hash, Hasher};
use warpsight_generate::family::VERSION;
use warpsight_generate::{ExprKey, ScheduleFamily};
use warpsight_ir::Config;
use warpsight_sim::Silicon;

/// The name of the file with the times of configurations on silicon: of what is in it, whatever it is called, and of how it is simulated and kernels are made.
pub fn name(silicon: &Silicon, family: &ScheduleFamily, configs: &[Config]) -> String {
    let mut hash = DefaultHasher::new();
    (format!("{silicon:?}"), warpsight_sim::VERSION, VERSION).hash(&mut hash);
    (family.passes().to_string(), ExprKey::of(family.expr()).to_string(), configs).hash(&mut hash);
    format!("{:016x}.txt", hash.finish())
}
