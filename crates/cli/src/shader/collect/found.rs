//! Packages, and shaders as a package or folder holds them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use warpsight_shader::wrap::Dialect;

/// A package that was installed.
pub struct Package {
    /// Its name in its registry.
    pub name: String,
    /// Its licence as it states it.
    pub licence: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// A shader that was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// What it is called.
    pub name: String,
    /// The package or folder.
    pub source: String,
    /// Its licence, as stated.
    pub licence: String,
    /// The file in the package, and what part of it.
    pub origin: String,
    /// Its text.
    pub text: String,
    /// Its dialect where the package tells.
    pub dialect: Option<Dialect>,
    /// Values of uniforms that the package tells.
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// Macros that the application defines.
    pub defines: Vec<(String, String)>,
    /// What else the application declares, as GLSL.
    pub given: &'static str,
    /// Why its text is not known.
    pub unreadable: Option<String>,
    /// What may be included.
    pub includes: Arc<BTreeMap<String, String>>,
}
