//! One profile, printed as the text that `--device`, `--profile` and `--from` take.

use crate::failure::Failure;
use crate::names::suggested;
use crate::predict::packed;
use crate::report::out;
use crate::target::profiles;
use std::path::{Path, PathBuf};
use warpsight_ir::Profile;
use warpsight_ir::profile::mt4g;

/// Where a profile that is printed comes from.
#[derive(clap::Args)]
pub struct Of {
    /// Prints this profile, a fact in a line with its source, as TOML that --device of predict and explore, --profile and --from take; or
    /// a file's.
    #[arg(long, value_name = "NAME", group = "printed", value_parser = suggested(profiles::profiles()))]
    profile: Option<String>,
    /// Prints the profile of a file, with all that it inherits: a file may say inherits = "a40", or a path from its own folder.
    #[arg(long, value_name = "FILE", group = "printed")]
    from: Option<PathBuf>,
    /// Prints the profile of what MT4G found of a GPU (its JSON): what a driver states and chases show, with method and confidence. What
    /// its authors call unreliable is unknown: line sizes, bandwidths, segments of L2 on AMD.
    #[arg(long, value_name = "FILE", group = "printed")]
    mt4g: Option<PathBuf>,
    /// MT4G's raw chase through memory (Main_Memory_Latency.csv, or .csv.gz), which shows what misses of translations cost.
    #[arg(long, value_name = "FILE", requires = "mt4g", conflicts_with_all = ["profile", "from"])]
    chase: Option<PathBuf>,
    /// What MT4G leaves unknown is taken from this profile (or file), which sources then name: predictions need such numbers.
    #[arg(long, value_name = "NAME", requires = "mt4g", conflicts_with_all = ["profile", "from"])]
    inherits: Option<String>,
}

impl Of {
    /// The profile that is asked for, if one is.
    pub fn profile(&self) -> Result<Option<Profile>, Failure> {
        match (&self.profile, &self.from, &self.mt4g) {
            (Some(name), _, _) => profiles::profile(name),
            (_, Some(file), _) => profiles::profile_of(file),
            (_, _, Some(file)) => self.behind(self.of_mt4g(file)?),
            _ => return Ok(None),
        }
        .map(Some)
    }

    /// A profile before the one that it inherits from, if one is named.
    fn behind(&self, profile: Profile) -> Result<Profile, Failure> {
        let Some(name) = &self.inherits else { return Ok(profile) };
        profile.over(&profiles::profile(name)?).map_err(|error| Failure::input(error.to_string()).at("--inherits"))
    }

    fn of_mt4g(&self, file: &Path) -> Result<Profile, Failure> {
        let text = warpsight_files::text(file, warpsight_files::read_or_stdin(file, warpsight_files::TEXT)?)?;
        let chase = self.chase.as_deref().map(packed::text).transpose()?;
        mt4g::read_with(&text, chase.as_deref())
            .map_err(|error| Failure::input(error.to_string()).at(warpsight_files::name(file).display().to_string()))
    }
}

/// Prints a profile.
pub fn print(profile: &Profile, json: bool) -> Result<(), Failure> {
    if json {
        let value = serde_json::to_value(profile).map_err(|error| Failure::input(error.to_string()))?;
        return out(value);
    }
    out(profile.text().trim_end())
}
