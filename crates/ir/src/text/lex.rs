//! Splits a text into tokens.

use super::error::{ParseError, ParseErrorKind};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a word of the grammar.
    Word,
    /// A number with its suffix.
    Number,
    /// An operator or bracket.
    Sign,
    /// The end of the text.
    End,
}

/// A token: a piece of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
    /// Bytes before it.
    pub start: usize,
    /// Whether it is the first of its line.
    pub leads: bool,
}

/// Longer ones before their beginnings.
const SIGNS: &[&str] = &[
    "..=", "..", ".[", "<<", ">>", "<=", "==", "!=", "+=", "(", ")", "[", "]", "{", "}", ",", ":", "=", "<", ">", "+", "-", "*", "/", "%",
    "&", "|", "^", "!", "@", ".",
];

/// Tokens of a text; the last is the end.
pub(super) fn lex(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut tokens = Vec::new();
    let (mut at, mut leads) = (0, true);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            leads |= c == '\n';
            at += c.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let (kind, length) = if c.is_ascii_digit() {
            (Kind::Number, number_length(rest.as_bytes()))
        } else if c.is_ascii_alphabetic() || c == '_' {
            (Kind::Word, rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count())
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Kind::Sign, sign.len())
        } else {
            return Err(error_at(text, at, c.len_utf8(), ParseErrorKind::Character(c)));
        };
        tokens.push(Token { kind, text: &rest[..length], start: at, leads });
        at += length;
        leads = false;
    }
    tokens.push(Token { kind: Kind::End, text: "", start: text.len(), leads: true });
    Ok(tokens)
}

/// Bytes of the number at the beginning: digits, a fraction, an exponent, then letters and digits as a suffix. `0..4` and `0.[` keep
/// their dots.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') && digits(at + 1) > 0 {
        at += 1 + digits(at + 1);
    }
    if bytes.get(at) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
            at += 1 + sign + digits(at + 1 + sign);
        }
    }
    at + bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
}

/// An error at a byte of the text.
pub(super) fn error_at(text: &str, start: usize, length: usize, kind: ParseErrorKind) -> ParseError {
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let source_line = text[line_start..].lines().next().unwrap_or_default().to_owned();
    ParseError {
        line: before.matches('\n').count() + 1,
        column: text[line_start..start].chars().count() + 1,
        kind,
        source_line,
        width: text[start..start + length].chars().count().max(1),
    }
}
