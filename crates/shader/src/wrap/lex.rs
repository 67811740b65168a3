//! GLSL as tokens that know their lines.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Word,
    /// A number.
    Number,
    /// Anything else: one sign, or several that belong together nowhere but in expressions.
    Sign,
    /// A line of the preprocessor, from `#` to its end, without comments.
    Directive,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: String,
    /// The line that it stands on, from 1.
    pub line: u32,
    /// Whether white space or a comment stands before it.
    pub spaced: bool,
}

impl Token {
    /// Whether it is this name or sign.
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Directive && self.text == text
    }
}

/// The tokens of a text. Comments are gone, also those that do not end.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { bytes: text.as_bytes(), text, at: 0, line: 1, fresh: true, spaced: false, out: Vec::new() };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    lexer.out
}

struct Lexer<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    line: u32,
    /// Whether nothing but white space stands before on this line: only there `#` begins a directive.
    fresh: bool,
    spaced: bool,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn step(&mut self) {
        let rest = &self.bytes[self.at..];
        match rest[0] {
            b'\n' => {
                self.at += 1;
                self.line += 1;
                (self.fresh, self.spaced) = (true, true);
            }
            byte if byte.is_ascii_whitespace() || byte == 0 || rest.starts_with("\u{feff}".as_bytes()) => self.skip(1),
            b'\\' if continued(rest) > 0 => {
                self.at += continued(rest);
                self.line += 1;
                self.spaced = true;
            }
            b'/' if rest.starts_with(b"//") => {
                let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                self.skip(end);
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest[2..].windows(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 4);
                self.line += count_lines(&rest[..end]);
                self.skip(end);
            }
            b'#' if self.fresh => self.directive(),
            byte if is_word(byte) && !byte.is_ascii_digit() => self.take(Kind::Word, is_word),
            byte if byte.is_ascii_digit() || byte == b'.' && rest.get(1).is_some_and(u8::is_ascii_digit) => self.number(),
            _ => {
                let end = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
                self.push(Kind::Sign, self.at..self.at + end);
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        // A skipped part of a character (a byte-order mark) leads to its next part.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        self.spaced = true;
    }

    fn push(&mut self, kind: Kind, range: Range<usize>) {
        self.at = range.end;
        self.out.push(Token { kind, text: self.text[range].to_owned(), line: self.line, spaced: self.spaced });
        (self.fresh, self.spaced) = (false, false);
    }

    fn take(&mut self, kind: Kind, belongs: impl Fn(u8) -> bool) {
        let length = self.bytes[self.at..].iter().position(|b| !belongs(*b)).unwrap_or(self.bytes.len() - self.at);
        self.push(kind, self.at..self.at + length);
    }

    fn number(&mut self) {
        let rest = &self.bytes[self.at..];
        let hex = rest.starts_with(b"0x") || rest.starts_with(b"0X");
        let mut end = 1;
        while let Some(byte) = rest.get(end) {
            let exponent = !hex && matches!(byte, b'+' | b'-') && matches!(rest[end - 1], b'e' | b'E');
            if !(is_word(*byte) || *byte == b'.' || exponent) {
                break;
            }
            end += 1;
        }
        self.push(Kind::Number, self.at..self.at + end);
    }

    /// To the end of the line, over continued lines, without comments.
    fn directive(&mut self) {
        let line = self.line;
        let mut text = Vec::new();
        while let Some(&byte) = self.bytes.get(self.at) {
            let rest = &self.bytes[self.at..];
            if byte == b'\n' {
                break;
            } else if byte == b'\\' && continued(rest) > 0 {
                self.at += continued(rest);
                self.line += 1;
                text.push(b' ');
            } else if rest.starts_with(b"//") {
                self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            } else if rest.starts_with(b"/*") {
                let end = rest[2..].windows(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 4);
                self.line += count_lines(&rest[..end]);
                self.at += end;
                text.push(b' ');
            } else {
                text.push(byte);
                self.at += 1;
            }
        }
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        self.out.push(Token { kind: Kind::Directive, text, line, spaced: true });
        (self.fresh, self.spaced) = (false, false);
    }
}

/// The bytes of a backslash and the end of line after it.
fn continued(rest: &[u8]) -> usize {
    match rest {
        [b'\\', b'\n', ..] => 2,
        [b'\\', b'\r', b'\n', ..] => 3,
        _ => 0,
    }
}

fn count_lines(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|b| **b == b'\n').count() as u32
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
