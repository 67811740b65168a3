//! What a shader costs, learned from shaders that were measured.
//!
//! A model knows a shader as a [`Row`]: amounts by name. [`Model::fit`] learns from rows, [`Model::predict`] looks at one row and at
//! nothing else. [`Method`] names the models, [`Fitted`] is one of them as a file keeps it. [`Fit`] is what makes one of rows: a
//! method as it is, or one of which there is more to choose.

pub(super) mod algebra;
mod boosted;
mod calibrated;
mod columns;
mod folds;
mod linear;
mod row;
mod simple;
pub mod table;
#[cfg(feature = "nn")]
pub mod transformer;

pub(super) use boosted::hash;
pub use boosted::{Boosted, Corrected};
pub use calibrated::{Calibrated, INTERVAL};
pub use folds::folds;
pub use linear::{Columns, Instructions, LeanOperations, Linear, Opcodes, Operations, ScalarsAndTextures};
pub use row::{Amount, Row, RowError};

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use warpsight_ir::Seconds;
use warpsight_ir::near::pick;
use warpsight_shader::tokens::Dialect;

/// What predicts seconds.
pub trait Model: Sized {
    /// Learns from rows that were measured. Their order does not matter.
    ///
    /// # Errors
    /// See [`FitError`].
    fn fit(rows: &[&Row]) -> Result<Self, FitError>;

    /// What a frame takes. A linear model without a bound may say less than nothing; no number is said of a row without the words that
    /// the model reads.
    fn predict(&self, row: &Row) -> Seconds;

    /// The words that it reads of rows, where their numbers are not what it learns from.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// Those of the rows that it was fitted to which its predictions can be compared with, where it learned from some of them only.
    fn held_out<'r>(&self, _rows: &[&'r Row]) -> Option<Vec<&'r Row>> {
        None
    }
}

/// What makes a model of rows.
pub trait Fit: Sync {
    /// Of which kind the models are.
    fn method(&self) -> Method;

    /// The words that rows must have for it.
    fn dialect(&self) -> Option<Dialect> {
        self.method().dialect()
    }

    /// Fits a model.
    ///
    /// # Errors
    /// See [`FitError`].
    fn fit(&self, rows: &[&Row]) -> Result<Fitted, FitError>;
}

impl<F: Fit + ?Sized> Fit for &F {
    fn method(&self) -> Method {
        (**self).method()
    }

    fn dialect(&self) -> Option<Dialect> {
        (**self).dialect()
    }

    fn fit(&self, rows: &[&Row]) -> Result<Fitted, FitError> {
        (**self).fit(rows)
    }
}

impl Fit for Method {
    fn method(&self) -> Method {
        *self
    }

    fn fit(&self, rows: &[&Row]) -> Result<Fitted, FitError> {
        Self::fit(*self, rows)
    }
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
    /// A row as a table keeps it, for a model that reads the shader itself.
    #[error("shader {id} is known by its numbers only, and this model reads modules")]
    Words {
        /// The row.
        id: String,
    },
    /// The device that should train is not there, or does not work.
    #[error("{0}")]
    Device(String),
    /// Training was stopped.
    #[error("training was stopped: {0}")]
    Stopped(String),
    /// A network that cannot be trained.
    #[error("{0}")]
    Network(String),
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

/// Rows by name: sums of floating-point numbers depend on their order.
fn sorted<'r>(rows: &[&'r Row]) -> Vec<&'r Row> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| (&a.id, a.pixels, a.seconds).partial_cmp(&(&b.id, b.pixels, b.seconds)).unwrap_or(Ordering::Equal));
    rows
}

/// Defines the methods and what they fit.
macro_rules! methods {
    ($($(#[doc = $doc:literal])* $(#[cfg($on:meta)])? $method:ident $name:literal $model:ty,)*) => {
        /// The models, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Method { $($(#[doc = $doc])* $(#[cfg($on)])? #[serde(rename = $name)] $method,)* }

        /// A fitted model.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Fitted { $($(#[doc = $doc])* $(#[cfg($on)])? #[serde(rename = $name)] $method($model),)* }

        impl Method {
            /// All of them, simple ones first.
            pub const ALL: &[Self] = &[$($(#[cfg($on)])? Self::$method),*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($(#[cfg($on)])? Self::$method => $name,)* }
            }

            /// Fits a model of this kind.
            ///
            /// # Errors
            /// See [`FitError`].
            pub fn fit(self, rows: &[&Row]) -> Result<Fitted, FitError> {
                let rows = sorted(rows);
                Ok(match self { $($(#[cfg($on)])? Self::$method => Fitted::$method(<$model>::fit(&rows)?),)* })
            }
        }

        impl Fitted {
            /// Of which kind it is.
            #[must_use]
            pub fn method(&self) -> Method {
                match self { $($(#[cfg($on)])? Self::$method(_) => Method::$method,)* }
            }

            /// What a frame takes.
            #[must_use]
            pub fn predict(&self, row: &Row) -> Seconds {
                match self { $($(#[cfg($on)])? Self::$method(model) => model.predict(row),)* }
            }

            /// See [`Model::dialect`].
            #[must_use]
            pub fn dialect(&self) -> Option<Dialect> {
                match self { $($(#[cfg($on)])? Self::$method(model) => model.dialect(),)* }
            }

            /// See [`Model::held_out`].
            #[must_use]
            pub fn held_out<'r>(&self, rows: &[&'r Row]) -> Option<Vec<&'r Row>> {
                match self { $($(#[cfg($on)])? Self::$method(model) => model.held_out(rows),)* }
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
    /// A transformer that reads the words of what a driver's compiler leaves.
    #[cfg(feature = "nn")]
    Transformer "transformer" transformer::Trained,
}

/// Methods that a build may lack, and the feature that they take.
const OPTIONAL: &[(&str, &str)] = &[("transformer", "nn")];

impl Method {
    /// What wins by the table of `shader evaluate`.
    pub const DEFAULT: Self = Self::Corrected;

    /// Whether it stands for what others have published or would try first: fitted as they do it, without intervals.
    #[must_use]
    pub fn is_peer(self) -> bool {
        matches!(self, Self::Sh | Self::Pilr | Self::He | Self::Nnls)
    }

    /// The words that rows must have for it, where it is not fitted to their numbers.
    #[must_use]
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            #[cfg(feature = "nn")]
            Self::Transformer => Some(transformer::Options::small().shape.dialect),
            _ => None,
        }
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
        if let Some((name, feature)) =
            OPTIONAL.iter().find(|(name, _)| *name == text && Self::ALL.iter().all(|method| method.name() != text))
        {
            return Err(format!("this build has no {name}; build with `cargo build --features {feature}`"));
        }
        pick(text, Self::ALL.iter().map(|method| (method.name(), *method)))
    }
}
