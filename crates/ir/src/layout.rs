//! How the texels of an image lie in memory.

use serde::{Deserialize, Serialize};

/// The layouts that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageLayout {
    /// Row by row.
    Linear,
}
