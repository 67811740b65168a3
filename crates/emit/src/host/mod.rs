//! What a user needs to run kernels without warpsight: a launch description, a C header, a C host example.
//!
//! All three say the same; the C example builds with `cc NAME_host.c -lOpenCL` against any OpenCL from 1.2 on. Files that it reads
//! (kernels, weights) lie beside the executable. The description, `launch.json`, is a [`HostPlan`] with the [`VERSION`] of its form, the
//! options that kernels are built with, and the names of all files that belong to it.

mod header;
mod plan;

use crate::names::sanitise;
pub use plan::{
    HostArg, HostAxis, HostInitial, HostKernel, HostLaunch, HostMemory, HostMemoryKind, HostPlan, HostShape, HostTensor, PlanError,
};
use serde::Serialize;

/// The form of a launch description.
pub const VERSION: u32 = 1;

/// With what OpenCL compilers are asked to build kernels.
pub const BUILD_OPTIONS: &str = "-cl-std=CL1.2";

/// The launch description in a folder.
pub const DESCRIPTION: &str = "launch.json";

/// The files of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFiles {
    /// The launch description.
    pub json: String,
    /// Name and text of the C header, `NAME.h`.
    pub header: (String, String),
    /// Name and text of the C host example, `NAME_host.c`.
    pub example: (String, String),
    /// The names of all files that belong to the description, without its own.
    pub files: Vec<String>,
}

#[derive(Serialize)]
struct Description<'a> {
    version: u32,
    build_options: &'static str,
    files: Vec<&'a str>,
    #[serde(flatten)]
    plan: &'a HostPlan,
}

/// Writes the three files of a plan, to which further files may belong.
///
/// # Errors
/// A rule that the plan breaks.
pub fn files(plan: &HostPlan, further: &[&str]) -> Result<HostFiles, PlanError> {
    plan.check()?;
    let name = sanitise(&plan.name);
    let example = include_str!("example.c").replace("@name@", &name).replace("@NAME@", &name.to_uppercase());
    let example = (format!("{name}_host.c"), example.replace("@options@", BUILD_OPTIONS));
    let header = (format!("{name}.h"), header::header(plan, &name));
    let initial = plan.shapes.iter().flat_map(|shape| &shape.memory).filter_map(|own| match &own.initial {
        HostInitial::File(file) => Some(file.as_str()),
        HostInitial::Zero => None,
    });
    let kernels = plan.kernels.iter().map(|own| own.file.as_str());
    let mut all: Vec<&str> = kernels.chain(initial).chain([header.0.as_str(), example.0.as_str()]).chain(further.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    let files = all.iter().map(|&own| own.to_owned()).collect();
    let description = Description { version: VERSION, build_options: BUILD_OPTIONS, files: all, plan };
    // Plain structs with string keys always have a JSON form, so no message is lost here.
    let json = serde_json::to_string_pretty(&description).unwrap_or_default() + "\n";
    Ok(HostFiles { json, header, example, files })
}
