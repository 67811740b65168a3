//! What a shader costs, learned from shaders that were measured.
//!
//! A model knows a shader as a [`Row`]: amounts by name. [`Model::fit`] learns from rows, [`Model::predict`] looks at one row and at
//! nothing else. [`Method`] names the models, [`Fitted`] is one of them as a file keeps it.

pub(super) mod algebra;
mod boosted;
mod calibrated;
mod columns;
mod linear;
mod row;
pub mod table;
#[cfg(feature = "nn")]
pub mod transformer;
mod trees;

pub(super) use boosted::hash;
pub use boosted::{Boosted, Corrected};
pub use calibrated::{Calibrated, INTERVAL};
pub use linear::{Columns, Instructions, LeanOperations, Linear, Opcodes, Operations, ScalarsAndTextures};
pub use row::{Amount, Row};

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use warpsight_ir::Seconds;

/// What predicts seconds.
pub trait Model: Sized {
    /// Learns from rows that were measured. Their order does not matter.
    ///
    /// # Errors
    /// See [`FitError`].
    fn fit(rows: &[&Row]) -> Result<Self, FitError>;

    /// What a frame takes. A linear model without a bound may say less than nothing.
    fn predict(&self, row: &Row) -> Seconds;
}

/// Why there is nothing to learn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// No rows.
    #[error("there are no measured shaders to learn from")]
    Empty,
    /// A row without a time.
    #[error("shader {id} was not measured")]
    NotMeasured {
        /// The row.
        id: String,
    },
    /// A time that is none.
    #[error("shader {id} is said to take {seconds} s")]
    Time {
        /// The row.
        id: String,
        /// What it is said to take.
        seconds: f64,
    },
}

/// The times of rows.
fn times(rows: &[&Row]) -> Result<Vec<f64>, FitError> {
    if rows.is_empty() {
        return Err(FitError::Empty);
    }
    let time = |row: &&Row| match row.seconds {
        None => Err(FitError::NotMeasured { id: row.id.clone() }),
        Some(Seconds(s)) if !(s.is_finite() && s > 0.0) => Err(FitError::Time { id: row.id.clone(), seconds: s }),
        Some(Seconds(s)) => Ok(s),
    };
    rows.iter().map(time).collect()
}

/// Defines the methods and what they fit.
macro_rules! methods {
    ($($(#[$doc:meta])* $method:ident $name:literal $model:ty,)*) => {
        /// The models, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Method { $($(#[$doc])* #[serde(rename = $name)] $method,)* }

        /// A fitted model.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Fitted { $($(#[$doc])* #[serde(rename = $name)] $method($model),)* }

        impl Method {
            /// All of them, simple ones first.
            pub const ALL: &[Self] = &[$(Self::$method),*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$method => $name,)* }
            }

            /// Fits a model of this kind.
            ///
            /// # Errors
            /// See [`FitError`].
            pub fn fit(self, rows: &[&Row]) -> Result<Fitted, FitError> {
                // Sums of floating-point numbers depend on their order.
                let mut rows = rows.to_vec();
                rows.sort_by(|a, b| (&a.id, a.pixels, a.seconds).partial_cmp(&(&b.id, b.pixels, b.seconds)).unwrap_or(Ordering::Equal));
                Ok(match self { $(Self::$method => Fitted::$method(<$model>::fit(&rows)?),)* })
            }
        }

        impl Fitted {
            /// Of which kind it is.
            #[must_use]
            pub fn method(&self) -> Method {
                match self { $(Self::$method(_) => Method::$method,)* }
            }

            /// What a frame takes.
            #[must_use]
            pub fn predict(&self, row: &Row) -> Seconds {
                match self { $(Self::$method(model) => model.predict(row),)* }
            }
        }
    };
}

methods! {
    /// All instructions cost the same, as published.
    Sh "sh" Linear<Instructions>,
    /// Each opcode has its cost, as published.
    Pilr "pilr" Linear<Opcodes>,
    /// Scalar operations, and textures a hundred times.
    He "ops+100tex" Linear<ScalarsAndTextures>,
    /// Non-negative least squares on scalarised operations.
    Nnls "nnls" Linear<Operations>,
    /// The same of what a driver's compiler leaves, where branches are masked.
    Lean "lean" Linear<LeanOperations>,
    /// Boosted trees.
    Trees "trees" Boosted,
    /// That as a base, and trees for what it leaves over.
    Corrected "lean+trees" Corrected,
}

impl Method {
    /// What wins by the table of `shader evaluate`.
    pub const DEFAULT: Self = Self::Corrected;

    /// Whether it stands for what others have published or would try first: fitted as they do it, without intervals.
    #[must_use]
    pub fn is_peer(self) -> bool {
        matches!(self, Self::Sh | Self::Pilr | Self::He | Self::Nnls)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::ALL.iter().map(|m| m.name()).collect();
        Self::ALL.iter().copied().find(|m| m.name() == text).ok_or_else(|| format!("no model `{text}`; there are {}", names.join(", ")))
    }
}
