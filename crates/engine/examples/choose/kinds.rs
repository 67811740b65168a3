//! What configurations leave out: tiles, patterns, or both.

use warpsight_generate::ScheduleFamily;
use warpsight_ir::{Config, Family};

/// Without patterns: every tensor that may be an image is one, in the usual order; constants lie in rows otherwise.
pub fn is_plain(family: &ScheduleFamily, config: &Config) -> bool {
    let images = family.places(config).is_some_and(|places| places.iter().all(|place| place.is_image()));
    images && is_alone(family, config)
}

/// Without tiles: what is left is the group, and how tensors lie.
pub fn is_untiled(family: &ScheduleFamily, config: &Config) -> bool {
    let one = |(name, value): (&warpsight_ir::Name, &warpsight_ir::KnobValue)| {
        let text = value.to_string();
        match &**name {
            name if name.starts_with("tile_") => text == "1",
            "unroll" => text == "1" || text == "4",
            "vector" => text == "4",
            "window" => text == "rolled" || family.expr().coefficients.is_some(),
            _ => true,
        }
    };
    is_alone(family, config) && family.space().describe(config).iter().all(one)
}

/// Without tiles and patterns.
pub fn is_vanilla(family: &ScheduleFamily, config: &Config) -> bool {
    is_plain(family, config) && is_untiled(family, config)
}

/// Whether work-items of a group meet for nothing.
fn is_alone(family: &ScheduleFamily, config: &Config) -> bool {
    let knobs = family.space().describe(config);
    let is = |name: &str, value: &str| knobs.get(name).is_none_or(|own| own.to_string() == value);
    is("stage", "none") && is("reduction_lanes", "1")
}

/// A configuration in words.
pub fn words(family: &ScheduleFamily, config: &Config) -> String {
    family.space().describe(config).iter().map(|(knob, value)| format!("{knob}={value}")).collect::<Vec<_>>().join(" ")
}
