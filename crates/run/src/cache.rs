//! Compiled programs on disk: `<directory>/<hash>.bin`, where the hash covers everything that the one who asks says it depends on.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// First bytes of an entry; the last one is the version of the layout: magic, SHA-256 of the binary, binary.
const MAGIC: &[u8; 8] = b"wsclbin\x01";

/// The default directory: `$XDG_CACHE_HOME/warpsight/kernels`, by default below `~/.cache`; `None` without a home.
pub fn default_directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache"))).or_else(|| absolute("LOCALAPPDATA"))?;
    Some(base.join("warpsight").join("kernels"))
}

/// The key of a program: any difference in a part gives another. The back end is one of them.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths keep "ab" + "c" apart from "a" + "bc".
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}

/// A directory of compiled programs, or none. Nothing here fails: an entry that cannot be read is absent, one that cannot be
/// written is compiled again next time.
pub(crate) struct Cache(pub(crate) Option<PathBuf>);

impl Cache {
    /// The binary stored under a key; `None` when it is absent, truncated or changed.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let entry = warpsight_files::read(&self.path(key)?, warpsight_files::RECORDS).ok()?;
        let (head, binary) = entry.split_at_checked(MAGIC.len() + 32)?;
        let intact = head.starts_with(MAGIC) && head[MAGIC.len()..] == Sha256::digest(binary)[..];
        intact.then(|| binary.to_vec())
    }

    /// Stores a binary: written beside its place, then renamed, so that nobody ever reads half an entry.
    pub(crate) fn put(&self, key: &str, binary: &[u8]) {
        if let Some(path) = self.path(key) {
            // A full disk or a read-only home costs time, not correctness.
            let _ = write(&path, binary);
        }
    }

    /// Forgets an entry the driver would not take.
    pub(crate) fn remove(&self, key: &str) {
        if let Some(path) = self.path(key) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        self.0.as_ref().map(|directory| directory.join(format!("{key}.bin")))
    }
}

fn write(path: &Path, binary: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    warpsight_files::make_folder(directory)?;
    Ok(warpsight_files::write(path, &[MAGIC, &Sha256::digest(binary)[..], binary].concat())?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_and_damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache(Some(directory.path().join("deep/er")));
        assert_eq!(cache.get("k"), None);
        cache.put("k", b"binary");
        assert_eq!(cache.get("k").as_deref(), Some(&b"binary"[..]));
        let path = cache.path("k").unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 5, MAGIC.len(), MAGIC.len() + 32, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(cache.get("k"), None, "cut to {cut} bytes");
        }
        for position in 0..whole.len() {
            let mut changed = whole.clone();
            changed[position] ^= 0x10;
            std::fs::write(&path, changed).unwrap();
            assert_eq!(cache.get("k"), None, "byte {position} changed");
        }
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn everything_that_matters_is_in_the_key() {
        let base = key(&["source", "options", "device", "driver 1"]);
        assert_eq!(base.len(), 64);
        for other in [
            key(&["source ", "options", "device", "driver 1"]),
            key(&["sourceo", "ptions", "device", "driver 1"]),
            key(&["source", "options", "device2", "driver 1"]),
            key(&["source", "options", "device", "driver 2"]),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn an_unwritable_directory_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache(Some(file.path().join("below-a-file")));
        cache.put("k", b"x");
        assert_eq!(cache.get("k"), None);
        Cache(None).put("k", b"x");
        assert_eq!(Cache(None).get("k"), None);
    }
}
