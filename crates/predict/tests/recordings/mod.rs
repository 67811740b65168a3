//! The recordings that fits are made of, as they lie beside the repository.

use std::io::Read;
use std::path::Path;
use warpsight_predict::fit::{FILES, Recordings};

/// All that are there; `None` where there are none.
pub fn recordings() -> Option<Recordings> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.exists() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", data.display());
        eprintln!("skipped: no recordings");
        return None;
    }
    Some(read(&data))
}

/// Those in a folder.
pub fn read(data: &Path) -> Recordings {
    let samples = FILES.iter().flat_map(|file| file.samples).copied();
    let text = |path: &str| match path.ends_with(".json") {
        true => std::fs::read_to_string(data.join(path)).ok(),
        false => {
            let mut text = String::new();
            let packed = std::fs::File::open(data.join(format!("{path}.gz"))).ok()?;
            flate2::read::GzDecoder::new(packed).read_to_string(&mut text).ok().map(|_| text)
        }
    };
    Recordings::new(samples.filter_map(|path| Some((path.to_owned(), text(path)?))))
}
