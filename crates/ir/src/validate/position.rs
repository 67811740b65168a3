//! Where in a body something is.

use crate::program::{Name, Stmt};
use std::fmt;

/// A statement's place: the way to its block, and its position there. Lives on the stack of the walk; text is made for errors only.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    outer: Option<&'a At<'a>>,
    block: Block<'a>,
    position: usize,
}

/// What a block is to the statement around it.
#[derive(Clone, Copy)]
enum Block<'a> {
    Body,
    For(&'a Name),
    Then,
    Otherwise,
    Scope,
}

impl At<'_> {
    /// A statement of the Program's body.
    pub(super) fn body(position: usize) -> Self {
        Self { outer: None, block: Block::Body, position }
    }
    /// The beginning of each block nested in `stmt`, which stands here; in the order of [`Stmt::blocks`].
    pub(super) fn nested<'b>(&'b self, stmt: &'b Stmt) -> Vec<At<'b>> {
        let blocks = match stmt {
            Stmt::For { var, .. } => vec![Block::For(var)],
            Stmt::If { .. } => vec![Block::Then, Block::Otherwise],
            Stmt::Scope(_) => vec![Block::Scope],
            _ => vec![],
        };
        blocks.into_iter().map(|block| At { outer: Some(self), block, position: 0 }).collect()
    }
    /// Another statement of the same block.
    pub(super) fn nth(self, position: usize) -> Self {
        Self { position, ..self }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            write!(f, "{outer}.")?;
        }
        match self.block {
            Block::Body => f.write_str("body")?,
            Block::For(var) => write!(f, "for {var}.body")?,
            Block::Then => f.write_str("then")?,
            Block::Otherwise => f.write_str("else")?,
            Block::Scope => f.write_str("scope")?,
        }
        write!(f, "[{}]", self.position)
    }
}
