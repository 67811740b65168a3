//! The profiles that come with the project, compiled in.

const PROFILES: [(&str, &str); 30] = [
    ("a100-40", include_str!("../../profiles/a100-40.toml")),
    ("a100-80", include_str!("../../profiles/a100-80.toml")),
    ("a40", include_str!("../../profiles/a40.toml")),
    ("a4000", include_str!("../../profiles/a4000.toml")),
    ("a6000", include_str!("../../profiles/a6000.toml")),
    ("a770", include_str!("../../profiles/a770.toml")),
    ("adreno630", include_str!("../../profiles/adreno630.toml")),
    ("adreno640", include_str!("../../profiles/adreno640.toml")),
    ("adreno740", include_str!("../../profiles/adreno740.toml")),
    ("h100", include_str!("../../profiles/h100.toml")),
    ("h100-nvl", include_str!("../../profiles/h100-nvl.toml")),
    ("h100-sxm", include_str!("../../profiles/h100-sxm.toml")),
    ("h200", include_str!("../../profiles/h200.toml")),
    ("l4", include_str!("../../profiles/l4.toml")),
    ("l40", include_str!("../../profiles/l40.toml")),
    ("l40s", include_str!("../../profiles/l40s.toml")),
    ("mali-g76", include_str!("../../profiles/mali-g76.toml")),
    ("mali-g77", include_str!("../../profiles/mali-g77.toml")),
    ("mi100", include_str!("../../profiles/mi100.toml")),
    ("mi210", include_str!("../../profiles/mi210.toml")),
    ("mi250x", include_str!("../../profiles/mi250x.toml")),
    ("mi300x", include_str!("../../profiles/mi300x.toml")),
    ("mi50", include_str!("../../profiles/mi50.toml")),
    ("rtx2080ti", include_str!("../../profiles/rtx2080ti.toml")),
    ("rtx3090", include_str!("../../profiles/rtx3090.toml")),
    ("rtx4090", include_str!("../../profiles/rtx4090.toml")),
    ("rx6900xt", include_str!("../../profiles/rx6900xt.toml")),
    ("rx7900xtx", include_str!("../../profiles/rx7900xtx.toml")),
    ("v100", include_str!("../../profiles/v100.toml")),
    ("w6600", include_str!("../../profiles/w6600.toml")),
];

/// What a probe found of simulated devices; what is simulated by other names is judged by profiles of real ones.
const PROBED: [(&str, &str); 9] = [
    ("sim-a100-40", include_str!("../../profiles/sim-a100-40.toml")),
    ("sim-adreno630", include_str!("../../profiles/sim-adreno630.toml")),
    ("sim-adreno640", include_str!("../../profiles/sim-adreno640.toml")),
    ("sim-adreno740", include_str!("../../profiles/sim-adreno740.toml")),
    ("sim-h200", include_str!("../../profiles/sim-h200.toml")),
    ("sim-mali-g76", include_str!("../../profiles/sim-mali-g76.toml")),
    ("sim-mali-g77", include_str!("../../profiles/sim-mali-g77.toml")),
    ("sim-mali-g77-paper", include_str!("../../profiles/sim-mali-g77-paper.toml")),
    ("sim-mi250x", include_str!("../../profiles/sim-mi250x.toml")),
];

/// The names of devices that [`builtin`](super::builtin) knows, in alphabetical order. Those of simulated ones are
/// [`probed_names`].
pub fn builtin_names() -> Vec<&'static str> {
    PROFILES.iter().map(|p| p.0).collect()
}

/// The names of profiles of simulated devices, in alphabetical order: what a probe found of them.
pub fn probed_names() -> Vec<&'static str> {
    PROBED.iter().map(|p| p.0).collect()
}

/// Name and text of the built-in profile of that name, in whatever case.
pub(super) fn builtin_text(name: &str) -> Option<(&'static str, &'static str)> {
    PROFILES.iter().chain(&PROBED).find(|p| p.0.eq_ignore_ascii_case(name)).copied()
}
