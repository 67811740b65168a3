//! Back ends that this build leaves out.

/// Those that would run Programs.
pub(crate) const ABSENT: &[&str] = &[
    #[cfg(not(feature = "opencl"))]
    "opencl",
    #[cfg(not(feature = "cuda"))]
    "cuda",
];

/// Why a back end is not there.
pub(crate) fn absent(backend: &str) -> String {
    format!("this program was built without the feature `{backend}`")
}
