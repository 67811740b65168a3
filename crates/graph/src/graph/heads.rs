//! Extents of an attention.

use crate::graph::op::Attention;

/// Heads of queries, in groups that share keys and values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heads {
    /// Dimensions before the heads.
    pub(crate) stack: Vec<i64>,
    /// Heads of queries.
    pub(crate) heads: i64,
    /// Heads of keys and values, of which `heads` is a multiple.
    pub(crate) groups: i64,
    /// Rows of queries.
    pub(crate) queries: i64,
    /// Rows of keys and values.
    pub(crate) keys: i64,
    /// Columns of queries and keys.
    pub(crate) depth: i64,
    /// Columns of values.
    pub(crate) width: i64,
}

impl Heads {
    /// Of queries, keys and values.
    ///
    /// # Errors
    /// What does not fit.
    pub(crate) fn of(queries: &[i64], keys: &[i64], values: &[i64]) -> Result<Self, String> {
        let fail = || format!("queries {queries:?}, keys {keys:?} and values {values:?} are no attention");
        let ([stack @ .., heads, rows, depth], [of_keys @ .., groups, length, own], [of_values @ .., others, height, width]) =
            (queries, keys, values)
        else {
            return Err(fail());
        };
        let alike = stack == of_keys && stack == of_values && depth == own && groups == others && length == height;
        if !alike || *groups < 1 || heads % groups != 0 {
            return Err(fail());
        }
        let (stack, heads, groups) = (stack.to_vec(), *heads, *groups);
        Ok(Self { stack, heads, groups, queries: *rows, keys: *length, depth: *depth, width: *width })
    }

    /// A shape of the stack, then these dimensions.
    pub(crate) fn with(&self, dimensions: &[i64]) -> Vec<i64> {
        [&self.stack, dimensions].concat()
    }

    /// The products of queries and keys.
    pub(crate) fn products(&self) -> Vec<i64> {
        self.with(&[self.heads, self.queries, self.keys])
    }

    /// Heads that share keys.
    pub(crate) fn sharing(&self) -> i64 {
        self.heads / self.groups
    }

    /// What products are multiplied by.
    pub(crate) fn scale(&self, own: &Attention) -> f64 {
        own.scale.unwrap_or_else(|| 1.0 / (self.depth as f64).sqrt())
    }
}
