//! What is wrong with a file of MT4G.

/// Why a file of MT4G is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mt4gError {
    /// It is not JSON, or no object.
    #[error("not a file of MT4G: {0}")]
    Text(String),
    /// It is laid out otherwise than the files that are known.
    #[error("a file of another version of MT4G: {0}; known are files of the first version, which state none")]
    Version(String),
    /// Keys that every file of its vendor has.
    #[error("the file of MT4G lacks {}", listed(.0))]
    Missing(Vec<String>),
    /// A value of another kind or unit, or none that a device can have.
    #[error("`{key}`: {what}")]
    Value {
        /// Its path in the file.
        key: String,
        /// What is wrong.
        what: String,
    },
}

fn listed(keys: &[String]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}
