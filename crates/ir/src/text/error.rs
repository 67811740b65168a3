//! Where a text does not follow the grammar, and why.

use std::fmt;

/// The first place where a text does not follow the grammar. Its text shows the line with a caret below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Character of the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub kind: ParseErrorKind,
    /// The line itself.
    pub source_line: String,
    /// Characters that the caret underlines, at least 1.
    pub width: usize,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// A character that no word begins with.
    #[error("unexpected character {0:?}")]
    Character(char),
    /// Something else than the grammar allows.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What may stand here.
        wanted: String,
        /// What stands here.
        found: String,
    },
    /// A number that its type cannot hold, or that is none.
    #[error("`{literal}` is not {what}")]
    Number {
        /// As written.
        literal: String,
        /// What it should be.
        what: &'static str,
    },
    /// A comparison of a comparison.
    #[error("comparisons do not chain")]
    Chained,
    /// A size declared below a declaration that could have used it.
    #[error("sizes are declared before everything else")]
    SizesFirst,
    /// Something that a Program has once.
    #[error("`{0}` occurs twice")]
    Twice(&'static str),
    /// Deeper nesting than we follow.
    #[error("nested too deeply")]
    TooDeep,
}

impl ParseErrorKind {
    /// What to do about it, where that is not plain.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Expected { found, .. } if found.as_str() == "`>`" => Some("there is only `<` and `<=`: write `b < a`"),
            Self::Number { .. } => Some("1 is an i32, 1u a u32, 1l an i64, 1ul a u64, 1.0 an f32, 1.0d an f64"),
            Self::Chained => Some("put one of them in parentheses, or join two with `&`"),
            Self::TooDeep => Some("name parts of it with `let`"),
            _ => None,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, kind, source_line, width } = self;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "error: {kind}")?;
        writeln!(f, "{margin} ┌─ {line}:{column}")?;
        writeln!(f, "{number} │ {}", source_line.replace('\t', " "))?;
        write!(f, "{margin} │ {}{}", " ".repeat(column - 1), "^".repeat(*width))?;
        match kind.help() {
            Some(help) => write!(f, "\n{margin} = help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ParseError {}
