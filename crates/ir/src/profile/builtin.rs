//! The profiles that come with the project, compiled in.

use super::{Profile, ProfileError};

const PROFILES: [(&str, &str); 6] = [
    ("a100-40", include_str!("../../../../profiles/a100-40.toml")),
    ("adreno630", include_str!("../../../../profiles/adreno630.toml")),
    ("adreno640", include_str!("../../../../profiles/adreno640.toml")),
    ("adreno740", include_str!("../../../../profiles/adreno740.toml")),
    ("mali-g76", include_str!("../../../../profiles/mali-g76.toml")),
    ("mali-g77", include_str!("../../../../profiles/mali-g77.toml")),
];

/// The names that [`builtin`] knows, in alphabetical order.
pub fn builtin_names() -> Vec<&'static str> {
    PROFILES.iter().map(|p| p.0).collect()
}

/// The built-in profile of that name; `None` where there is none. An error is a defect of the text, which tests exclude.
pub fn builtin(name: &str) -> Option<Result<Profile, ProfileError>> {
    PROFILES.iter().find(|p| p.0 == name).map(|p| Profile::parse(p.1))
}
