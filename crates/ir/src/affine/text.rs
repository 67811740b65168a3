//! Affine forms as text: `2*tx + lx - (n - 1)/2`. Products need one side without variables, quotients and remainders a form that stays affine.

use super::Affine;
use std::fmt;
use std::ops::Range;

/// Writes a sum of named terms and a constant, as [`parse`] reads it.
pub(crate) fn sum<N: fmt::Display>(f: &mut impl fmt::Write, terms: impl Iterator<Item = (i64, N)>, constant: i64) -> fmt::Result {
    let sign = |first: bool, negative: bool| match (first, negative) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    };
    let mut first = true;
    for (factor, name) in terms {
        write!(f, "{}", sign(first, factor < 0))?;
        match factor.unsigned_abs() {
            1 => write!(f, "{name}")?,
            times => write!(f, "{times}*{name}")?,
        }
        first = false;
    }
    if constant == 0 && !first { Ok(()) } else { write!(f, "{}{}", sign(first, constant < 0), constant.unsigned_abs()) }
}

/// What is wrong, and where, in bytes from the begin of the expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// In words.
    pub what: String,
    /// What stands there.
    pub label: Option<String>,
    /// What to do, where that is not plain.
    pub help: Option<String>,
    /// Where.
    pub at: Range<usize>,
}

/// A form's quotient and remainder by a number.
pub type Divide<'a, V> = dyn Fn(&Affine<V>, i64) -> Option<(Affine<V>, Affine<V>)> + 'a;

/// What names mean.
pub struct Names<'a, V> {
    /// What a name stands for.
    pub form: &'a dyn Fn(&str) -> Option<Affine<V>>,
    /// Which names there are, for whoever uses another.
    pub known: &'a str,
    /// The quotient, rounded down, and the remainder of a form by a number above 0, where both are affine themselves.
    pub divided: &'a Divide<'a, V>,
}

/// Reads a form.
///
/// # Errors
/// Unknown names, products and quotients of variables, numbers beyond the form's, and what is no expression.
pub fn parse<V: Clone + Ord>(text: &str, names: &Names<V>) -> Result<Affine<V>, FormError> {
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

struct Reader<'a, V> {
    text: &'a str,
    at: usize,
    depth: u32,
    names: &'a Names<'a, V>,
}

impl<V: Clone + Ord> Reader<'_, V> {
    fn error(&self, at: Range<usize>, what: impl Into<String>, help: Option<&str>) -> FormError {
        FormError { what: what.into(), label: None, help: help.map(str::to_owned), at }
    }

    /// What was made of operands from `start` on.
    fn overflow(&self, start: usize, of: &[&Affine<V>]) -> FormError {
        match of.iter().all(|form| form.is_constant()) {
            true => self.error(start..self.at, "this exceeds 64 bits", None),
            // Any part of the sum may be what makes it so.
            false => self.error(0..0, "the address exceeds 64 bits, or a factor of it 32 bits", None),
        }
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

    fn sum(&mut self) -> Result<Affine<V>, FormError> {
        self.blank();
        let start = self.at;
        let mut sum = if self.takes('-') {
            let term = self.product()?;
            term.times(-1).ok_or_else(|| self.overflow(start, &[&term]))?
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
            sum = sum.plus(&term, factor).ok_or_else(|| self.overflow(start, &[&sum, &term]))?;
        }
    }

    fn product(&mut self) -> Result<Affine<V>, FormError> {
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
                ('*', _, true) => product.times(right.constant),
                ('*', true, false) => right.times(product.constant),
                (_, true, true) if right.constant == 0 => return Err(self.error(here, "this divides by zero", None)),
                ('/', true, true) => product.constant.checked_div_euclid(right.constant).map(Affine::constant),
                (_, true, true) => product.constant.checked_rem_euclid(right.constant).map(Affine::constant),
                ('/' | '%', false, true) if right.constant > 0 && (self.names.divided)(&product, right.constant).is_some() => {
                    (self.names.divided)(&product, right.constant).map(|(quotient, rest)| if sign == '/' { quotient } else { rest })
                }
                _ => {
                    let what = if sign == '*' { "a product of two coordinates" } else { "a quotient or remainder of a coordinate" };
                    let help = "give a representative value instead, as in index = { proxy = \"tx\", spread = 64 }";
                    let error = self.error(here, "address is not affine in the thread coordinates", Some(help));
                    return Err(FormError { label: Some(what.to_owned()), ..error });
                }
            }
            .ok_or_else(|| self.overflow(start, &[&product, &right]))?;
        }
    }

    fn factor(&mut self) -> Result<Affine<V>, FormError> {
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
            return number.parse().map(Affine::constant).map_err(|_| self.error(start..self.at, "this exceeds 64 bits", None));
        }
        let word = length(|c| c.is_alphanumeric() || c == '_');
        if word == 0 {
            return Err(self.error(start..self.text.len().max(start), "a number, a coordinate or a parameter is missing here", None));
        }
        self.at += word;
        self.name(&rest[..word], start..self.at)
    }

    fn name(&self, name: &str, at: Range<usize>) -> Result<Affine<V>, FormError> {
        (self.names.form)(name).ok_or_else(|| self.error(at, format!("unknown variable `{name}`"), Some(self.names.known)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Affine<String>, FormError> {
        let form = |name: &str| match name {
            "n" => Some(Affine::constant(512)),
            "tx" | "ty" | "lx" | "bz" | "i" => Some(Affine::var(name.to_owned())),
            _ => None,
        };
        // Of i below 8.
        let divided = |own: &Affine<String>, by: i64| {
            let (quotient, rest) = own.divide(by);
            let within = rest.terms().iter().all(|term| term.0 == "i")
                && rest.constant + 7 * rest.terms().iter().map(|term| i64::from(term.1)).sum::<i64>() < by;
            within.then_some((quotient, rest))
        };
        parse(text, &Names { form: &form, known: "n, tx and some more", divided: &divided })
    }

    #[test]
    fn expressions_are_linear_forms() {
        let form = |terms: &[(&str, i64)], constant| Ok(Affine::of(terms.iter().map(|t| (t.0.to_owned(), t.1)), constant).expect("small"));
        assert_eq!(read(" tx + 1 "), form(&[("tx", 1)], 1));
        assert_eq!(
            read("2*(ty - 3) - -4"),
            Err(FormError { what: "a number, a coordinate or a parameter is missing here".into(), label: None, help: None, at: 13..15 })
        );
        assert_eq!(read("2*(ty - 3) + lx*n"), form(&[("ty", 2), ("lx", 512)], -6));
        assert_eq!(read("i + bz*(n/2) - i"), form(&[("bz", 256)], 0));
        assert_eq!(read("-n % 7"), form(&[], -1), "a sign binds weaker than a product");
        assert_eq!(read("(8*tx + i + 16) / 8"), form(&[("tx", 1)], 2));
        assert_eq!(read("(8*tx + i + 16) % 8"), form(&[("i", 1)], 0));
        assert!(read("(8*tx + i + 1) % 8").is_err() && read("i / -8").is_err());
    }

    #[test]
    fn errors_say_where() {
        let error = |text: &str| read(text).map_err(|error| (error.what, error.at)).unwrap_err();
        assert_eq!(error("tx*ty"), ("address is not affine in the thread coordinates".into(), 0..5));
        assert_eq!(read("tx*ty").unwrap_err().label.as_deref(), Some("a product of two coordinates"));
        assert_eq!(error("1 + tx/2").1, 4..8);
        assert_eq!(error("tx + q"), ("unknown variable `q`".into(), 5..6));
        assert_eq!(read("q").unwrap_err().help.as_deref(), Some("n, tx and some more"));
        assert_eq!(error("n/(n-512)"), ("this divides by zero".into(), 0..9));
        assert_eq!(error("99999999999999999999").0, "this exceeds 64 bits");
        assert_eq!(error("n*9223372036854775807"), ("this exceeds 64 bits".into(), 0..21));
        assert_eq!(error("4294967296*tx"), ("the address exceeds 64 bits, or a factor of it 32 bits".into(), 0..0));
        assert_eq!(error("2147483647*tx + tx").1, 0..0);
        assert_eq!(error("(tx").0, "a parenthesis is not closed");
        assert_eq!(error("tx tx"), ("this is no part of an expression".into(), 3..5));
        assert_eq!(error(&"(".repeat(100)).0, "parentheses nest too deep");
        assert!(read("").is_err() && read("é").is_err() && read("tx +").is_err());
    }
}
