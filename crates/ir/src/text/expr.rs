//! Parsing expressions.

use super::error::ParseErrorKind;
use super::lex::{Kind, Token};
use super::parse::{Parsed, Parser};
use super::words::{BELOW_COMPARISON, COMPARISON, Word, binding};
use crate::program::{BinaryOp, Bound, Expr, UnaryOp};
use crate::types::{Const, Scalar};
use half::f16;

/// Operators on the longest way from the root to a leaf that we follow. A chain `a + b + …` needs no nesting to parse, but whoever
/// walks the tree recurses once per link.
const MAX_HEIGHT: u32 = 1000;

/// An expression and how high its tree is.
pub(super) struct Node {
    pub expr: Expr,
    height: u32,
}

impl<'t> Parser<'t> {
    /// An expression whose infix operators bind at least as tightly as `least`.
    pub(super) fn operators(&mut self, least: u8) -> Parsed<Node> {
        self.nested(|p| {
            let mut left = p.unary()?;
            let mut compared = false;
            while let Some(op) = p.infix().filter(|op| binding(*op) >= least) {
                if op.is_comparison() && compared {
                    return Err(p.error(ParseErrorKind::Chained));
                }
                compared = op.is_comparison();
                p.advance();
                let right = p.operators(binding(op) + 1)?;
                left = p.above(&[left.height, right.height], Expr::binary(op, left.expr, right.expr))?;
            }
            Ok(left)
        })
    }

    /// The infix operator at hand.
    fn infix(&self) -> Option<BinaryOp> {
        (self.token().kind == Kind::Sign).then(|| BinaryOp::of(self.token().text)).flatten()
    }

    /// A node above others.
    fn above(&self, heights: &[u32], expr: Expr) -> Parsed<Node> {
        let height = 1 + heights.iter().copied().max().unwrap_or(0);
        if height > MAX_HEIGHT { Err(self.error(ParseErrorKind::TooDeep)) } else { Ok(Node { expr, height }) }
    }

    fn unary(&mut self) -> Parsed<Node> {
        if self.is("-") {
            let minus = self.advance();
            if self.token().kind == Kind::Number || ["inf", "infd", "infh"].iter().any(|word| self.is(word)) {
                let expr = self.literal(Some(minus))?;
                return Ok(Node { expr, height: 0 });
            }
            return self.prefixed(UnaryOp::Neg);
        }
        if self.accept("!") {
            return self.prefixed(UnaryOp::Not);
        }
        self.postfix()
    }

    fn prefixed(&mut self, op: UnaryOp) -> Parsed<Node> {
        let operand = self.nested(Self::unary)?;
        self.above(&[operand.height], Expr::unary(op, operand.expr))
    }

    fn postfix(&mut self) -> Parsed<Node> {
        let mut node = self.primary()?;
        while self.accept(".[") {
            let start: u8 = self.integer("a lane number")?;
            self.expect("..")?;
            let end_token = self.token();
            let end: u16 = self.integer("a lane number")?;
            self.expect("]")?;
            let width = end.checked_sub(start.into()).and_then(|w| u8::try_from(w).ok());
            let width = width.ok_or_else(|| self.bad_number(end_token, "the end of such lanes"))?;
            node = self.above(&[node.height], Expr::Slice { vector: Box::new(node.expr), start, width })?;
        }
        Ok(node)
    }

    fn primary(&mut self) -> Parsed<Node> {
        let token = self.token();
        match token.kind {
            Kind::Number => Ok(Node { expr: self.literal(None)?, height: 0 }),
            Kind::Word => match self.ahead(1).text {
                "(" if !matches!(token.text, "nan" | "nand" | "nanh") => self.call(),
                "[" => self.load(),
                "@" => {
                    let image = self.name()?;
                    let (x, y, guard) = self.texel()?;
                    let expr = Expr::Texel { image, x: Box::new(x), y: Box::new(y), guard };
                    self.over_children(expr)
                }
                _ if matches!(token.text, "true" | "false" | "inf" | "infd" | "infh" | "nan" | "nand" | "nanh") => {
                    Ok(Node { expr: self.literal(None)?, height: 0 })
                }
                _ => {
                    let name = self.advance().text;
                    let expr = if self.sizes.contains(name) { Expr::Size(name.into()) } else { Expr::Var(name.into()) };
                    Ok(Node { expr, height: 0 })
                }
            },
            Kind::Sign if self.accept("(") => {
                let node = self.operators(COMPARISON)?;
                self.expect(")")?;
                Ok(node)
            }
            _ => Err(self.expected("an expression")),
        }
    }

    /// `f(a, b)`
    fn call(&mut self) -> Parsed<Node> {
        let function = self.advance();
        self.expect("(")?;
        let mut heights = Vec::new();
        let arguments = self.list(&[")"], |p| {
            let node = p.operators(COMPARISON)?;
            heights.push(node.height);
            Ok(node.expr)
        })?;
        let close = self.token();
        self.expect(")")?;
        let expr = self.called(function, arguments, close)?;
        self.above(&heights, expr)
    }

    fn called(&self, function: Token<'t>, arguments: Vec<Expr>, close: Token<'t>) -> Parsed<Expr> {
        let name = function.text;
        if let Some(to) = Scalar::of(name) {
            let [a] = self.exactly(function, arguments, close)?;
            return Ok(Expr::Cast(to, a));
        }
        if let Some(op) = UnaryOp::of(name) {
            let [a] = self.exactly(function, arguments, close)?;
            return Ok(Expr::Unary(op, a));
        }
        if let Some(width) = name.strip_prefix("splat").and_then(|width| width.parse().ok()) {
            let [a] = self.exactly(function, arguments, close)?;
            return Ok(Expr::Splat(a, width));
        }
        if let Some(op) = BinaryOp::of(name) {
            let [a, b] = self.exactly(function, arguments, close)?;
            return Ok(Expr::Binary(op, a, b));
        }
        match name {
            "concat" => Ok(Expr::Concat(arguments)),
            "lane" => {
                let [a, b] = self.exactly(function, arguments, close)?;
                Ok(Expr::Lane(a, b))
            }
            "fma" => {
                let [a, b, c] = self.exactly(function, arguments, close)?;
                Ok(Expr::Fma(a, b, c))
            }
            "select" => {
                let [a, b, c] = self.exactly(function, arguments, close)?;
                Ok(Expr::Select(a, b, c))
            }
            _ => {
                let kind = ParseErrorKind::Expected { wanted: "a function".to_owned(), found: format!("`{name}`") };
                Err(self.error_on(function, kind))
            }
        }
    }

    /// The arguments of a function that takes `N`.
    fn exactly<const N: usize>(&self, function: Token<'t>, arguments: Vec<Expr>, close: Token<'t>) -> Parsed<[Box<Expr>; N]> {
        let boxed: Vec<Box<Expr>> = arguments.into_iter().map(Box::new).collect();
        boxed.try_into().map_err(|given: Vec<_>| {
            let wanted = format!("{N} {} of `{}`", if N == 1 { "argument" } else { "arguments" }, function.text);
            self.error_on(close, ParseErrorKind::Expected { wanted, found: given.len().to_string() })
        })
    }

    fn load(&mut self) -> Parsed<Node> {
        let source = self.name()?;
        self.expect("[")?;
        let index = self.list(&["]", ":", "if"], Self::expr)?;
        let width = if self.accept(":") { self.integer("a vector width")? } else { 1 };
        let guard = self.guard()?;
        self.expect("]")?;
        self.over_children(Expr::Load { source, index, width, guard })
    }

    /// A node above operands whose heights were not kept.
    fn over_children(&self, expr: Expr) -> Parsed<Node> {
        fn height(expr: &Expr) -> u32 {
            expr.children().into_iter().map(|child| 1 + height(child)).max().unwrap_or(0)
        }
        let heights: Vec<u32> = expr.children().into_iter().map(height).collect();
        self.above(&heights, expr)
    }

    /// `[i, j]`
    pub(super) fn index(&mut self) -> Parsed<Vec<Expr>> {
        self.expect("[")?;
        let index = self.list(&["]"], Self::expr)?;
        self.expect("]")?;
        Ok(index)
    }

    /// `[i, j if 0 <= i < n]`
    pub(super) fn store_index(&mut self) -> Parsed<(Vec<Expr>, Vec<Bound>)> {
        self.expect("[")?;
        let index = self.list(&["]", "if"], Self::expr)?;
        let guard = self.guard()?;
        self.expect("]")?;
        Ok((index, guard))
    }

    /// `@[x, y if 0 <= x < w]`, `@[x]`
    pub(super) fn texel(&mut self) -> Parsed<(Expr, Expr, Vec<Bound>)> {
        self.expect("@")?;
        self.expect("[")?;
        let x = self.expr()?;
        let y = if self.accept(",") { self.expr()? } else { Expr::int(0) };
        let guard = self.guard()?;
        self.expect("]")?;
        Ok((x, y, guard))
    }

    fn guard(&mut self) -> Parsed<Vec<Bound>> {
        if !self.accept("if") {
            return Ok(vec![]);
        }
        self.list(&[], |p| {
            if p.token().text != "0" {
                return Err(p.expected("`0 <=`"));
            }
            p.advance();
            p.expect("<=")?;
            let value = p.operators(BELOW_COMPARISON)?.expr;
            p.expect("<")?;
            let extent = p.operators(BELOW_COMPARISON)?.expr;
            let per_lane = p.accept("per");
            if per_lane {
                p.expect("lane")?;
            }
            Ok(Bound { value, extent, per_lane })
        })
    }

    /// A literal, with the minus that stood before it.
    fn literal(&mut self, minus: Option<Token<'t>>) -> Parsed<Expr> {
        let token = self.advance();
        let negative = minus.is_some();
        Ok(Expr::Const(match token.text {
            "true" => Const::Bool(true),
            "false" => Const::Bool(false),
            "inf" if negative => Const::F32(f32::NEG_INFINITY),
            "inf" => Const::F32(f32::INFINITY),
            "infh" if negative => Const::Half(f16::NEG_INFINITY),
            "infh" => Const::Half(f16::INFINITY),
            "infd" if negative => Const::F64(f64::NEG_INFINITY),
            "infd" => Const::F64(f64::INFINITY),
            "nan" => Const::F32(f32::from_bits(self.bits(f32::NAN.to_bits())?)),
            "nanh" => Const::Half(f16::from_bits(self.bits(f16::NAN.to_bits())?)),
            "nand" => Const::F64(f64::from_bits(self.bits(f64::NAN.to_bits())?)),
            _ => return self.number(token, negative),
        }))
    }

    /// The bits in parentheses, where they follow.
    fn bits<B: TryFrom<u64>>(&mut self, default: B) -> Parsed<B> {
        if !self.accept("(") {
            return Ok(default);
        }
        let token = self.token();
        let bits = token.text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()).and_then(|bits| bits.try_into().ok());
        let bits = bits.ok_or_else(|| self.bad_number(token, "bits as in 0x7fc00001"))?;
        self.advance();
        self.expect(")")?;
        Ok(bits)
    }

    fn number(&self, token: Token<'t>, negative: bool) -> Parsed<Expr> {
        let sign = if negative { "-" } else { "" };
        let digits = token.text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = &token.text[digits.len()..];
        let literal = format!("{sign}{digits}");
        let fraction = digits.contains(['.', 'e']);
        let (value, what) = match (suffix, fraction) {
            ("", true) => (literal.parse().ok().filter(|v: &f32| v.is_finite()).map(Const::F32), "an f32"),
            ("h", _) => (literal.parse().ok().and_then(half), "a half"),
            ("d", _) => (literal.parse().ok().filter(|v: &f64| v.is_finite()).map(Const::F64), "an f64"),
            ("", false) => (literal.parse().ok().map(Const::I32), "an i32"),
            ("u", false) => (literal.parse().ok().map(Const::U32), "a u32"),
            ("l", false) => (literal.parse().ok().map(Const::I64), "an i64"),
            ("ul", false) => (literal.parse().ok().map(Const::U64), "a u64"),
            _ => (None, "a number"),
        };
        value.map(Expr::Const).ok_or_else(|| self.bad_number(token, what))
    }

    fn bad_number(&self, token: Token<'t>, what: &'static str) -> super::error::ParseError {
        self.error_on(token, ParseErrorKind::Number { literal: token.text.to_owned(), what })
    }
}

/// A literal rounded to half precision, where it has a number there.
fn half(value: f64) -> Option<Const> {
    let rounded = crate::interpret::cast(Scalar::Half, Const::F64(value));
    matches!(rounded, Const::Half(v) if v.is_finite()).then_some(rounded)
}
