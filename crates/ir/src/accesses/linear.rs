//! Integer expressions that are linear in coordinates: `2*tx + lx - (n - 1)/2`.

use std::ops::Range;

/// What an expression may be linear in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// tx, ty, tz: coordinate of a point.
    Point(u8),
    /// lx, ly, lz: lane of a block.
    Lane(u8),
    /// bx, by, bz: block.
    Block(u8),
    /// The loop of that number.
    Loop(u8),
}

/// Σ factor · symbol + constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// Sorted by symbol, no factor is 0.
    pub terms: Vec<(Symbol, i64)>,
    /// The rest.
    pub constant: i64,
}

/// What is wrong, and where, in bytes from the begin of the expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearError {
    /// In words.
    pub what: String,
    /// What stands there.
    pub label: Option<String>,
    /// What to do, where that is not plain.
    pub help: Option<String>,
    /// Where.
    pub at: Range<usize>,
}

/// The names that stand for numbers, and for symbols.
pub struct Names<'a> {
    /// The value of a parameter.
    pub value: &'a dyn Fn(&str) -> Option<i64>,
    /// Loops in order.
    pub loops: &'a [String],
}

/// Reads an expression.
///
/// # Errors
/// Unknown names, products and quotients of coordinates, numbers beyond 64 bits, and what is no expression.
pub fn parse(text: &str, names: &Names) -> Result<Linear, LinearError> {
    let mut reader = Reader { text, at: 0, depth: 0, names };
    let form = reader.sum()?;
    reader.blank();
    match reader.at == text.len() {
        true => Ok(form),
        false => Err(reader.error(reader.at..text.len(), "this is no part of an expression", None)),
    }
}

/// Parentheses may nest so deep.
const DEEPEST: u32 = 64;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    names: &'a Names<'a>,
}

impl Linear {
    fn constant(value: i64) -> Self {
        Self { terms: vec![], constant: value }
    }

    fn symbol(symbol: Symbol) -> Self {
        Self { terms: vec![(symbol, 1)], constant: 0 }
    }

    /// Whether no symbol occurs.
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    /// self + factor · other; `None` beyond 64 bits.
    pub fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for &(symbol, times) in &other.terms {
            let times = times.checked_mul(factor)?;
            match sum.terms.binary_search_by_key(&symbol, |term| term.0) {
                Ok(i) => sum.terms[i].1 = sum.terms[i].1.checked_add(times)?,
                Err(i) => sum.terms.insert(i, (symbol, times)),
            }
        }
        sum.terms.retain(|term| term.1 != 0);
        Some(sum)
    }
}

impl Reader<'_> {
    fn error(&self, at: Range<usize>, what: impl Into<String>, help: Option<&str>) -> LinearError {
        LinearError { what: what.into(), label: None, help: help.map(str::to_owned), at }
    }

    fn blank(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    fn takes(&mut self, sign: char) -> bool {
        self.blank();
        let there = self.text[self.at..].starts_with(sign);
        self.at += if there { sign.len_utf8() } else { 0 };
        there
    }

    fn sum(&mut self) -> Result<Linear, LinearError> {
        self.blank();
        let start = self.at;
        let overflow = |reader: &Self| reader.error(start..reader.at, "this exceeds 64 bits", None);
        let mut sum = if self.takes('-') {
            let term = self.product()?;
            Linear::default().plus(&term, -1).ok_or_else(|| overflow(self))?
        } else {
            self.takes('+');
            self.product()?
        };
        loop {
            let factor = if self.takes('+') {
                1
            } else if self.takes('-') {
                -1
            } else {
                return Ok(sum);
            };
            let term = self.product()?;
            sum = sum.plus(&term, factor).ok_or_else(|| overflow(self))?;
        }
    }

    fn product(&mut self) -> Result<Linear, LinearError> {
        self.blank();
        let start = self.at;
        let mut product = self.factor()?;
        loop {
            let sign = match () {
                () if self.takes('*') => '*',
                () if self.takes('/') => '/',
                () if self.takes('%') => '%',
                () => return Ok(product),
            };
            let right = self.factor()?;
            let here = start..self.at;
            product = match (sign, product.is_constant(), right.is_constant()) {
                ('*', _, true) => Linear::default().plus(&product, right.constant),
                ('*', true, false) => Linear::default().plus(&right, product.constant),
                (_, true, true) if right.constant == 0 => return Err(self.error(here, "this divides by zero", None)),
                ('/', true, true) => product.constant.checked_div_euclid(right.constant).map(Linear::constant),
                (_, true, true) => product.constant.checked_rem_euclid(right.constant).map(Linear::constant),
                _ => {
                    let what = if sign == '*' { "a product of two coordinates" } else { "a quotient or remainder of a coordinate" };
                    let help = "give a representative value instead, as in index = { proxy = \"tx\", spread = 64 }";
                    let error = self.error(here, "address is not affine in the thread coordinates", Some(help));
                    return Err(LinearError { label: Some(what.to_owned()), ..error });
                }
            }
            .ok_or_else(|| self.error(here, "this exceeds 64 bits", None))?;
        }
    }

    fn factor(&mut self) -> Result<Linear, LinearError> {
        self.blank();
        let (start, rest) = (self.at, &self.text[self.at..]);
        if self.takes('(') {
            if self.depth == DEEPEST {
                return Err(self.error(start..start + 1, "parentheses nest too deep", None));
            }
            self.depth += 1;
            let inner = self.sum()?;
            self.depth -= 1;
            if !self.takes(')') {
                return Err(self.error(start..self.at, "a parenthesis is not closed", None));
            }
            return Ok(inner);
        }
        let length = |part: fn(char) -> bool| rest.find(|c| !part(c)).unwrap_or(rest.len());
        let digits = length(|c| c.is_ascii_digit() || c == '_');
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.at += digits;
            let number: String = rest[..digits].chars().filter(|&c| c != '_').collect();
            return number.parse().map(Linear::constant).map_err(|_| self.error(start..self.at, "this exceeds 64 bits", None));
        }
        let word = length(|c| c.is_alphanumeric() || c == '_');
        if word == 0 {
            return Err(self.error(start..self.text.len().max(start), "a number, a coordinate or a parameter is missing here", None));
        }
        self.at += word;
        self.name(&rest[..word], start..self.at)
    }

    fn name(&self, name: &str, at: Range<usize>) -> Result<Linear, LinearError> {
        if let Some(number) = self.names.loops.iter().position(|own| own == name) {
            return Ok(Linear::symbol(Symbol::Loop(number as u8)));
        }
        if let Some(value) = (self.names.value)(name) {
            return Ok(Linear::constant(value));
        }
        coordinate(name).or_else(|| further(name)).map(Linear::symbol).ok_or_else(|| {
            let help = "known are tx ty tz (point), lx ly lz (lane), bx by bz (block), loops and [params]";
            self.error(at, format!("unknown variable `{name}`"), Some(help))
        })
    }
}

/// tx … bz.
fn coordinate(name: &str) -> Option<Symbol> {
    let &[kind, axis] = name.as_bytes() else { return None };
    let axis = b"xyz".iter().position(|&letter| letter == axis)? as u8;
    match kind {
        b't' => Some(Symbol::Point(axis)),
        b'l' => Some(Symbol::Lane(axis)),
        b'b' => Some(Symbol::Block(axis)),
        _ => None,
    }
}

/// b3 … b9: the axes of a grid beyond the third, where nothing else has the name.
fn further(name: &str) -> Option<Symbol> {
    let &[b'b', axis @ b'3'..=b'9'] = name.as_bytes() else { return None };
    Some(Symbol::Block(axis - b'0'))
}

/// Whether a name is that of a coordinate.
pub fn is_coordinate(name: &str) -> bool {
    coordinate(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Linear, LinearError> {
        let value = |name: &str| (name == "n").then_some(512);
        parse(text, &Names { value: &value, loops: &["i".into()] })
    }

    #[test]
    fn expressions_are_linear_forms() {
        let form = |terms: &[(Symbol, i64)], constant| Ok(Linear { terms: terms.to_vec(), constant });
        assert_eq!(read(" tx + 1 "), form(&[(Symbol::Point(0), 1)], 1));
        assert_eq!(
            read("2*(ty - 3) - -4"),
            Err(LinearError { what: "a number, a coordinate or a parameter is missing here".into(), label: None, help: None, at: 13..15 })
        );
        assert_eq!(read("2*(ty - 3) + lx*n"), form(&[(Symbol::Point(1), 2), (Symbol::Lane(0), 512)], -6));
        assert_eq!(read("i + bz*(n/2) - i"), form(&[(Symbol::Block(2), 256)], 0));
        assert_eq!(read("-n % 7"), form(&[], -1), "a sign binds weaker than a product");
    }

    #[test]
    fn errors_say_where() {
        let error = |text: &str| read(text).map_err(|error| (error.what, error.at)).unwrap_err();
        assert_eq!(error("tx*ty"), ("address is not affine in the thread coordinates".into(), 0..5));
        assert_eq!(read("tx*ty").unwrap_err().label.as_deref(), Some("a product of two coordinates"));
        assert_eq!(error("1 + tx/2").1, 4..8);
        assert_eq!(error("tx + q"), ("unknown variable `q`".into(), 5..6));
        assert_eq!(error("n/(n-512)"), ("this divides by zero".into(), 0..9));
        assert_eq!(error("99999999999999999999").0, "this exceeds 64 bits");
        assert_eq!(error("n*9223372036854775807"), ("this exceeds 64 bits".into(), 0..21));
        assert_eq!(error("(tx").0, "a parenthesis is not closed");
        assert_eq!(error("tx tx"), ("this is no part of an expression".into(), 3..5));
        assert_eq!(error(&"(".repeat(100)).0, "parentheses nest too deep");
        assert!(read("").is_err() && read("é").is_err() && read("tx +").is_err());
    }
}
