//! The preprocessor's conditions and includes: what is left is what a compiler would have seen.
//!
//! Macros stay: the compiler expands them. They are followed here as far as conditions and the lengths of arrays need them.

use super::lex::{Kind, Token, tokens};
use super::{MAX_BYTES, OURS, WrapError};
use std::collections::HashMap;

/// The deepest nesting of includes, and of macros within macros.
const MAX_DEPTH: usize = 32;
/// The most words that a type and its qualifiers have.
const MAX_WORDS: usize = 8;
/// The most text that is followed, included files once for each time.
const MAX_FOLLOWED: usize = 16 * MAX_BYTES;
/// The most tokens that includes may make of a source.
const MAX_TOKENS: usize = 1 << 20;

/// The versions of GLSL that Vulkan knows.
const OLDEST: u32 = 450;
const NEWEST: u32 = 460;
const VERSION: &str = "__VERSION__";

/// What WebGL and Vulkan define, of what sources ask for. `GL_ES` is not: what is compiled is desktop GLSL.
const DEFINED: &[(&str, &str)] = &[
    (VERSION, "450"),
    ("VULKAN", "100"),
    ("GL_OES_standard_derivatives", "1"),
    ("GL_EXT_shader_texture_lod", "1"),
    ("GL_EXT_frag_depth", "1"),
];

/// Macros: parameters, where it has some, and body.
#[derive(Clone, Debug, Default)]
pub struct Macros(HashMap<String, (bool, Vec<Token>)>);

/// What is left of a source.
pub struct Active {
    /// The active tokens, with the directives that define macros.
    pub tokens: Vec<Token>,
    /// The macros at its end.
    pub macros: Macros,
    /// What `#version` says, for instance `300 es`.
    pub version: Option<String>,
    /// What is asked of the compiler: `#extension` lines.
    pub extensions: Vec<Token>,
}

/// The version that a source is compiled in: its own, where what is written in older ones cannot be written in that.
pub fn compiled(version: Option<&str>) -> u32 {
    let mut words = version.unwrap_or_default().split_whitespace();
    let number = words.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    if words.next() == Some("es") { OLDEST } else { number.clamp(OLDEST, NEWEST) }
}

/// Follows conditions and includes.
pub fn active(text: &str, defines: &[(String, String)], include: &dyn Fn(&str) -> Option<String>) -> Result<Active, WrapError> {
    let mut state = State {
        active: Active { tokens: Vec::new(), macros: Macros::default(), version: None, extensions: Vec::new() },
        include,
        left: MAX_FOLLOWED,
    };
    let given = defines.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in DEFINED.iter().copied().chain(given) {
        state.active.macros.0.insert(name.to_owned(), (false, tokens(value)));
    }
    state.follow(text, None, 0)?;
    Ok(state.active)
}

struct State<'a> {
    active: Active,
    include: &'a dyn Fn(&str) -> Option<String>,
    /// How many bytes may still be looked at: what includes itself twice may come to nothing.
    left: usize,
}

/// An open `#if`.
struct Open {
    line: u32,
    /// Whether this part of it is taken, whether a part of it was taken, and whether what is around it is.
    now: bool,
    once: bool,
    around: bool,
}

impl State<'_> {
    /// Follows a text; included ones have the line of the `#include` that the user wrote.
    fn follow(&mut self, text: &str, at: Option<u32>, depth: usize) -> Result<(), WrapError> {
        let mut open: Vec<Open> = Vec::new();
        self.left = self.left.checked_sub(1 + text.len()).ok_or(WrapError::TooLong)?;
        let all = tokens(text);
        for mut token in all {
            token.line = at.unwrap_or(token.line);
            let taken = open.iter().all(|o| o.now);
            if token.kind != Kind::Directive {
                if taken {
                    self.active.tokens.push(token);
                }
                continue;
            }
            let (name, rest) = directive(&token.text);
            let wrong = |what| WrapError::Condition { line: token.line, what };
            match name {
                "if" | "ifdef" | "ifndef" => {
                    let holds = taken && self.holds(name, rest, token.line)?;
                    open.push(Open { line: token.line, now: holds, once: holds, around: taken });
                }
                "elif" => {
                    let last = open.last().ok_or_else(|| wrong("#elif without #if"))?;
                    let holds = last.around && !last.once && self.holds("if", rest, token.line)?;
                    if let Some(last) = open.last_mut() {
                        last.now = holds;
                        last.once |= holds;
                    }
                }
                "else" => {
                    let last = open.last_mut().ok_or_else(|| wrong("#else without #if"))?;
                    last.now = last.around && !last.once;
                    last.once = true;
                }
                "endif" => {
                    open.pop().ok_or_else(|| wrong("#endif without #if"))?;
                }
                _ if taken => self.other(&token, depth)?,
                _ => {}
            }
        }
        match open.last() {
            Some(open) => Err(WrapError::Condition { line: open.line, what: "#if without #endif" }),
            None => Ok(()),
        }
    }

    /// A directive other than conditions.
    fn other(&mut self, token: &Token, depth: usize) -> Result<(), WrapError> {
        let (name, rest) = directive(&token.text);
        match name {
            "define" => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let (macro_name, body) = rest.split_at(end);
                // Names that the compiler keeps to itself.
                if macro_name.is_empty() || macro_name.starts_with("GL_") || DEFINED.iter().any(|(name, _)| *name == macro_name) {
                    return Ok(());
                }
                self.active.macros.0.insert(macro_name.to_owned(), (body.starts_with('('), tokens(body)));
                self.active.tokens.push(token.clone());
            }
            "undef" => {
                self.active.macros.0.remove(rest.trim());
                self.active.tokens.push(token.clone());
            }
            "version" => {
                self.active.macros.0.insert(VERSION.to_owned(), (false, tokens(&compiled(Some(rest)).to_string())));
                self.active.version = Some(rest.trim().to_owned());
            }
            // What is required and part of the language by now the compiler need not know by its name.
            "extension" => {
                let text = token.text.replace("require", "enable");
                self.active.extensions.push(Token { text, ..token.clone() });
            }
            "include" => {
                let file = included(rest);
                // `#include<light>[0..lights]` stands there once for each light of a scene; there are none.
                if rest.contains("[0..") {
                    return Ok(());
                }
                let missing = || WrapError::Include { line: token.line, name: file.to_owned() };
                if depth >= MAX_DEPTH {
                    return Err(missing());
                }
                let text = (self.include)(file).ok_or_else(missing)?;
                self.follow(&text, Some(token.line), depth + 1)?;
            }
            "error" => return Err(WrapError::Refused { line: token.line, message: rest.trim().to_owned() }),
            // Lines are the user's.
            _ => {}
        }
        Ok(())
    }

    fn holds(&self, name: &str, rest: &str, line: u32) -> Result<bool, WrapError> {
        let first = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        match name {
            "ifdef" => Ok(self.active.macros.0.contains_key(first)),
            "ifndef" => Ok(!self.active.macros.0.contains_key(first)),
            _ => {
                let wrong = WrapError::Condition { line, what: "a condition that cannot be evaluated" };
                self.active.macros.evaluate(&tokens(rest)).map(|value| value != 0).ok_or(wrong)
            }
        }
    }
}

/// The name of the text that an `#include` wants.
fn included(rest: &str) -> &str {
    rest.split(['<', '>', '"']).nth(1).unwrap_or_default().trim()
}

/// A text with what it includes in the place of the `#include`s, as far as that is at hand; all else is left to the compiler.
pub fn expanded(text: &str, include: &dyn Fn(&str) -> Option<String>, depth: usize) -> Result<String, WrapError> {
    let found = |token: Token| match directive(&token.text) {
        ("include", rest) => include(included(rest)).map(|text| (token.line, text)),
        _ => None,
    };
    let mut wanted = tokens(text).into_iter().filter(|t| t.kind == Kind::Directive).filter_map(found).peekable();
    if wanted.peek().is_none() || depth >= MAX_DEPTH {
        return Ok(text.to_owned());
    }
    let mut out = String::new();
    for (row, line) in text.split_inclusive('\n').zip(1..) {
        match wanted.next_if(|(at, _)| *at == line) {
            // Its lines are nobody's; the user's go on after it.
            Some((_, text)) => {
                let (text, next) = (expanded(&text, include, depth + 1)?, if depth == 0 { line + 1 } else { OURS });
                out.push_str(&format!("#line {OURS}\n{text}\n#line {next}\n"));
            }
            None => out.push_str(row),
        }
        if out.len() > MAX_BYTES {
            return Err(WrapError::TooLong);
        }
    }
    Ok(out)
}

/// The name of a directive and what stands after it.
pub fn directive(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches('#').trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

impl Macros {
    /// Adds a name with a value, for instance of a constant.
    pub fn define(&mut self, name: &str, body: &[Token]) {
        self.0.entry(name.to_owned()).or_insert_with(|| (false, body.to_vec()));
    }

    /// The words that a macro is another name of, such as `#define half2 vec2` or `#define INPUT flat in`.
    pub fn words(&self, token: &Token) -> Option<Vec<Token>> {
        let mut words = vec![token.clone()];
        let mut known = false;
        for _ in 0..MAX_DEPTH {
            let [word] = &words[..] else { break };
            let Some((false, body)) = self.0.get(&word.text) else { break };
            if !(1..=MAX_WORDS).contains(&body.len()) || body.iter().any(|t| t.kind != Kind::Word) {
                break;
            }
            (words, known) = (body.iter().map(|t| Token { line: token.line, ..t.clone() }).collect(), true);
        }
        known.then_some(words)
    }

    /// The value of a constant expression of integers. Names that are not defined are 0, as in C.
    pub fn evaluate(&self, expression: &[Token]) -> Option<i64> {
        let (mut out, mut left) = (Vec::new(), MAX_TOKENS);
        self.expand(expression, 0, &mut out, &mut left)?;
        let mut parser = Parser { tokens: &out, at: 0 };
        let value = parser.binary(0, 0)?;
        (parser.at == out.len()).then_some(value)
    }

    /// Replaces macros without parameters and `defined`, and looks at no more than `left` tokens: macros that double may come to nothing.
    fn expand(&self, from: &[Token], depth: usize, out: &mut Vec<Token>, left: &mut usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        *left = left.checked_sub(1 + from.len())?;
        let number = |token: &Token, value: bool| Token { kind: Kind::Number, text: u8::from(value).to_string(), ..token.clone() };
        let mut at = 0;
        while let Some(token) = from.get(at) {
            at += 1;
            if token.is("defined") {
                let bracket = usize::from(from.get(at)?.is("("));
                let name = from.get(at + bracket)?;
                out.push(number(token, self.0.contains_key(&name.text)));
                at += 1 + 2 * bracket;
            } else if let (Kind::Word, Some((false, body))) = (token.kind, self.0.get(&token.text)) {
                self.expand(body, depth + 1, out, left)?;
            } else if token.is("true") || token.is("false") {
                out.push(number(token, token.is("true")));
            } else if token.kind == Kind::Word {
                // A macro with parameters in a condition is not expanded.
                if from.get(at).is_some_and(|t| t.is("(")) && !matches!(token.text.as_str(), "int" | "uint") {
                    return None;
                }
                if !matches!(token.text.as_str(), "int" | "uint") {
                    out.push(number(token, false));
                }
            } else {
                out.push(token.clone());
            }
        }
        Some(())
    }
}

/// Operators by how tightly they bind.
const OPERATORS: &[&[&str]] =
    &[&["||"], &["&&"], &["|"], &["^"], &["&"], &["==", "!="], &["<=", ">=", "<", ">"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    /// Whether this operator stands here: its signs are tokens of their own.
    fn operator(&self, operator: &str) -> bool {
        let signs: Vec<&str> = self.tokens[self.at..].iter().take(2).map(|t| t.text.as_str()).collect();
        match operator.len() {
            2 => signs.len() == 2 && signs.concat() == operator && !self.tokens[self.at + 1].spaced,
            // `<` is not the beginning of `<<` or `<=`, nor `&` of `&&`.
            _ => {
                signs.first() == Some(&operator)
                    && !(signs.len() == 2
                        && !self.tokens[self.at + 1].spaced
                        && OPERATORS.iter().flat_map(|l| l.iter()).any(|o| *o == signs.concat()))
            }
        }
    }

    fn binary(&mut self, level: usize, depth: usize) -> Option<i64> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary(depth) };
        let mut left = self.binary(level + 1, depth)?;
        while let Some(operator) = operators.iter().find(|o| self.operator(o)) {
            self.at += operator.len();
            let right = self.binary(level + 1, depth)?;
            left = match *operator {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<=" => i64::from(left <= right),
                ">=" => i64::from(left >= right),
                "<" => i64::from(left < right),
                ">" => i64::from(left > right),
                "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
                ">>" => left.checked_shr(u32::try_from(right).ok()?)?,
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn unary(&mut self, depth: usize) -> Option<i64> {
        if depth > MAX_DEPTH {
            return None;
        }
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match token.text.as_str() {
            "!" => Some(i64::from(self.unary(depth + 1)? == 0)),
            "-" => self.unary(depth + 1)?.checked_neg(),
            "+" => self.unary(depth + 1),
            "~" => Some(!self.unary(depth + 1)?),
            "(" => {
                let value = self.binary(0, depth + 1)?;
                let closed = self.tokens.get(self.at)?.is(")");
                self.at += 1;
                closed.then_some(value)
            }
            _ if token.kind == Kind::Number => number(&token.text),
            _ => None,
        }
    }
}

/// An integer as GLSL writes it; a decimal fraction only where it is whole.
fn number(text: &str) -> Option<i64> {
    let text = text.trim_end_matches(['u', 'U']);
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(hex, 16).ok();
    }
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() && octal.bytes().all(|b| b.is_ascii_digit()) => i64::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}
