//! What chosen kernels touch, as files that `predict` and `explore` read.

use crate::failure::Failure;
use crate::report::{clean, config};
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_files::Folder;
use warpsight_ir::accesses::write::write;
use warpsight_ir::{Kernel, KnobValue, Name};

/// A kernel that was chosen.
pub struct Chosen<'a> {
    /// What it computes.
    pub what: &'a str,
    /// How.
    pub knobs: &'a BTreeMap<Name, KnobValue>,
    /// All that a model saw of it.
    pub kernel: Kernel,
}

/// Writes one file per kernel to a folder, all of them or none, and tells where they are.
pub fn files(folder: &Path, device: &str, chosen: &[Chosen]) -> Result<Vec<String>, Failure> {
    let mut out = Folder::create(folder)?;
    let mut paths = vec![];
    for (n, Chosen { what, knobs, kernel }) in chosen.iter().enumerate() {
        let text = write(kernel).map_err(|error| Failure::input(error.to_string()).at(&*kernel.name))?;
        let about = format!("# {} on {}: {}", clean(what), clean(device), clean(&config(knobs)));
        let name = format!("{n}_{}.toml", plain(&kernel.name));
        out.write(&name, format!("{}\n{text}", about.trim_end_matches([':', ' '])).as_bytes())?;
        paths.push(out.path(&name).display().to_string());
    }
    out.finish()?;
    Ok(paths)
}

/// Letters and digits of a name, no more than any disk takes.
fn plain(name: &str) -> String {
    name.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect()
}
