//! Profiles by name and from files.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use warpsight_ir::near::did_you_mean;
use warpsight_ir::profile::{self, Place, ProfileError, Text};
use warpsight_ir::{Profile, profile::is_file};

/// The names of all profiles.
pub fn profiles() -> Vec<&'static str> {
    [vec!["host"], profile::builtin_names(), profile::probed_names()].concat()
}

/// The built-in profile of that name, if there is one.
pub fn builtin(name: &str) -> Result<Option<Profile>, Failure> {
    profile::builtin(name).transpose().map_err(refused)
}

/// That of a simulated device of that name.
pub fn of_simulated(name: &str) -> Result<Option<Profile>, Failure> {
    profile::of_simulated(name).transpose().map_err(refused)
}

/// Whether there is a profile of that name, or it means a file.
pub fn is_known(name: &str) -> bool {
    is_file(name) || name.eq_ignore_ascii_case("host") || profile::builtin(name).is_some()
}

/// The profile of that name, in whatever case, or of that file.
pub fn profile(name: &str) -> Result<Profile, Failure> {
    if is_file(name) {
        return profile_of(Path::new(name));
    }
    if name.eq_ignore_ascii_case("host") {
        return Ok(warpsight_run::host::host_profile());
    }
    builtin(name)?.ok_or_else(|| {
        Failure::input(format!("there is no profile `{name}`{}", did_you_mean(name, profiles())))
            .help(format!("profiles: {}, and files that end with .toml", profiles().join(", ")))
    })
}

/// The profile of a file, with the files that it inherits from.
pub fn profile_of(file: &Path) -> Result<Profile, Failure> {
    let text = warpsight_files::text(file, warpsight_files::read_or_stdin(file, warpsight_files::TEXT)?)?;
    let text = Text { name: place(file), text: text.into() };
    let mut find = |name: &str, from: &str| {
        let file = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        let text = warpsight_files::read_text(&file, warpsight_files::TEXT).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Text { name: place(&file), text: text.into() })
    };
    Profile::read(text, &mut find).map_err(refused)
}

/// One name for a file, by whatever path: the shortest that leads there.
fn place(file: &Path) -> String {
    let whole = file.canonicalize().unwrap_or_else(|_| warpsight_files::name(file).to_owned());
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_else(|_| PathBuf::new());
    whole.strip_prefix(&here).unwrap_or(&whole).display().to_string()
}

fn refused(error: ProfileError) -> Failure {
    let failure = Failure::input(error.sentence());
    match error.place.map(|place| *place) {
        Some(Place { text, at }) => failure.excerpt(&text.name, &text.text, at, None),
        None => failure,
    }
}
