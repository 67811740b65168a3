//! Pieces of text that know how tightly they bind, so that no more parentheses stand than precedence or clarity asks for.

use warpsight_ir::Type;

// How tightly an operator binds.
pub(crate) const SELECT: u8 = 1;
pub(crate) const OR: u8 = 2;
pub(crate) const AND: u8 = 3;
/// Bitwise operators and shifts: nobody knows how they nest, so they always stand in parentheses.
pub(crate) const BITS: u8 = 4;
pub(crate) const COMPARE: u8 = 5;
pub(crate) const ADD: u8 = 6;
pub(crate) const MUL: u8 = 7;
pub(crate) const UNARY: u8 = 8;
pub(crate) const PRIMARY: u8 = 9;

/// An expression in C.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub code: String,
    pub level: u8,
    pub ty: Type,
}

impl Text {
    pub fn new(code: impl Into<String>, level: u8, ty: Type) -> Self {
        Self { code: code.into(), level, ty }
    }
    /// In parentheses unless it binds at least as tightly as asked.
    pub fn at(&self, level: u8) -> String {
        if self.level >= level { self.code.clone() } else { format!("({})", self.code) }
    }
}

/// A call of a function.
pub(crate) fn call(function: &str, args: &[&Text], ty: Type) -> Text {
    let args: Vec<&str> = args.iter().map(|a| a.code.as_str()).collect();
    Text::new(format!("{function}({})", args.join(", ")), PRIMARY, ty)
}

/// All of the conditions; empty where there is none.
pub(crate) fn conjunction(conditions: &[String]) -> String {
    conditions.join(" && ")
}

/// Whether a word is one of a list.
pub(crate) fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

/// Whether a word begins with one of a list.
pub(crate) fn begins(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|prefix| word.starts_with(prefix))
}
