//! Where the store lies when nobody says.

use std::ffi::OsString;
use std::path::PathBuf;

/// The environment names no place for the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neither XDG_DATA_HOME nor HOME names a folder for the store; give a file with --store")]
pub struct NoDefaultPath;

/// `$XDG_DATA_HOME/warpsight/store.sqlite`, or `~/.local/share/warpsight/store.sqlite` where that is not set.
///
/// # Errors
/// Where neither variable holds an absolute path: the XDG rules tell to ignore a relative one.
pub fn default_path() -> Result<PathBuf, NoDefaultPath> {
    from(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
}

fn from(data_home: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, NoDefaultPath> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute(data_home).or_else(|| absolute(home).map(|home| home.join(".local/share")));
    data.map(|data| data.join("warpsight").join("store.sqlite")).ok_or(NoDefaultPath)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides() {
        let path = |data: Option<&str>, home: Option<&str>| from(data.map(Into::into), home.map(Into::into));
        assert_eq!(path(Some("/d"), Some("/h")), Ok(PathBuf::from("/d/warpsight/store.sqlite")));
        assert_eq!(path(None, Some("/h")), Ok(PathBuf::from("/h/.local/share/warpsight/store.sqlite")));
        assert_eq!(path(Some(""), Some("/h")), Ok(PathBuf::from("/h/.local/share/warpsight/store.sqlite")));
        assert_eq!(path(Some("relative"), None), Err(NoDefaultPath));
    }
}
