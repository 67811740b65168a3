//! The profiles that come with the project, compiled in.

use super::{Profile, ProfileError, Text};

const PROFILES: [(&str, &str); 17] = [
    ("a100-40", include_str!("../../profiles/a100-40.toml")),
    ("a100-80", include_str!("../../profiles/a100-80.toml")),
    ("a40", include_str!("../../profiles/a40.toml")),
    ("adreno630", include_str!("../../profiles/adreno630.toml")),
    ("adreno640", include_str!("../../profiles/adreno640.toml")),
    ("adreno740", include_str!("../../profiles/adreno740.toml")),
    ("h100", include_str!("../../profiles/h100.toml")),
    ("h200", include_str!("../../profiles/h200.toml")),
    ("l40", include_str!("../../profiles/l40.toml")),
    ("mali-g76", include_str!("../../profiles/mali-g76.toml")),
    ("mali-g77", include_str!("../../profiles/mali-g77.toml")),
    ("mi100", include_str!("../../profiles/mi100.toml")),
    ("mi210", include_str!("../../profiles/mi210.toml")),
    ("mi250x", include_str!("../../profiles/mi250x.toml")),
    ("mi300x", include_str!("../../profiles/mi300x.toml")),
    ("rx6900xt", include_str!("../../profiles/rx6900xt.toml")),
    ("v100", include_str!("../../profiles/v100.toml")),
];

/// The names that [`builtin`] knows, in alphabetical order.
pub fn builtin_names() -> Vec<&'static str> {
    PROFILES.iter().map(|p| p.0).collect()
}

/// The built-in profile of that name, in whatever case; `None` where there is none. An error is a defect of the text, which tests exclude.
pub fn builtin(name: &str) -> Option<Result<Profile, ProfileError>> {
    builtin_text(name).map(|text| Profile::read(text, &mut super::text::none))
}

/// The text of the built-in profile of that name, in whatever case.
pub(super) fn builtin_text(name: &str) -> Option<Text> {
    let found = PROFILES.iter().find(|p| p.0.eq_ignore_ascii_case(name))?;
    Some(Text { name: found.0.to_owned(), text: found.1.into() })
}
