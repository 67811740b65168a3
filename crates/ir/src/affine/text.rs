//! Affine forms as text: `2*tx + lx - (n - 1)/2`. Products need one side without variables. Quotients, remainders, `min(…)` and `max(…)` of
//! coordinates are affine in pieces: each becomes a variable of its own, a [`Bend`].

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

/// A number that is affine in pieces only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bend<V> {
    /// The quotient of a form by a number above 0, rounded down.
    Quotient(Affine<V>, i64),
    /// The smaller one of two forms.
    Least(Affine<V>, Affine<V>),
}

/// What names mean.
pub struct Names<'a, V> {
    /// What a name stands for.
    pub form: &'a dyn Fn(&str) -> Option<Affine<V>>,
    /// Which names there are, for whoever uses another.
    pub known: &'a str,
    /// The variable that stands for such a number.
    pub bent: &'a dyn Fn(Bend<V>) -> V,
}

/// Reads a form.
///
/// # Errors
/// Unknown names, products and quotients of two variables, numbers beyond the form's, and what is no expression.
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
                ('/', false, true) if right.constant > 0 => self.quotient(&product, right.constant),
                ('%', false, true) if right.constant > 0 => {
                    self.quotient(&product, right.constant).and_then(|quotient| product.plus(&quotient, right.constant.checked_neg()?))
                }
                _ => {
                    let what = match sign {
                        '*' => "a product of two coordinates",
                        _ => "a quotient or remainder of a coordinate by what is no number above 0",
                    };
                    let help = "give a representative value instead, as in index = { proxy = \"tx\", spread = 64 }";
                    let error = self.error(here, "address is not affine in the thread coordinates", Some(help));
                    return Err(FormError { label: Some(what.to_owned()), ..error });
                }
            }
            .ok_or_else(|| self.overflow(start, &[&product, &right]))?;
        }
    }

    /// The quotient of a form by a number above 0, rounded down.
    fn quotient(&self, form: &Affine<V>, by: i64) -> Option<Affine<V>> {
        let (mut quotient, rest) = form.divide(by);
        if !rest.is_constant() {
            quotient.add_term((self.names.bent)(Bend::Quotient(rest, by)), 1)?;
        }
        Some(quotient)
    }

    /// The smaller one of two forms.
    fn least(&self, a: Affine<V>, b: Affine<V>) -> Option<Affine<V>> {
        let over = b.plus(&a, -1)?;
        Some(match over.is_constant() {
            true if over.constant >= 0 => a,
            true => b,
            false => Affine::var((self.names.bent)(Bend::Least(a, b))),
        })
    }

    /// What stands in parentheses: the forms between commas.
    fn parentheses(&mut self, start: usize) -> Result<Vec<Affine<V>>, FormError> {
        if self.depth == DEEPEST {
            return Err(self.error(start..start + 1, "parentheses nest too deep", None));
        }
        self.depth += 1;
        let mut inner = vec![self.sum()?];
        while self.takes(',') {
            inner.push(self.sum()?);
        }
        self.depth -= 1;
        if !self.takes(')') {
            return Err(self.error(start..self.at, "a parenthesis is not closed", None));
        }
        Ok(inner)
    }

    /// `min(a, b, …)` or `max(a, b, …)`.
    fn function(&mut self, name: &str, start: usize) -> Result<Affine<V>, FormError> {
        let named = start..self.at;
        self.takes('(');
        let forms = self.parentheses(start)?;
        let largest = match name {
            "min" => false,
            "max" => true,
            _ => return Err(self.error(named, format!("unknown function `{name}`"), Some("min and max of forms are known"))),
        };
        let two = |a: Affine<V>, b: Affine<V>| match largest {
            false => self.least(a, b),
            true => a.plus(&b, 1)?.plus(&self.least(a, b)?, -1),
        };
        let mut forms = forms.into_iter();
        let first = forms.next().unwrap_or_default();
        forms.try_fold(first, two).ok_or_else(|| self.error(0..0, "the address exceeds 64 bits, or a factor of it 32 bits", None))
    }

    fn factor(&mut self) -> Result<Affine<V>, FormError> {
        self.blank();
        let (start, rest) = (self.at, &self.text[self.at..]);
        if self.takes('(') {
            let mut inner = self.parentheses(start)?;
            return match inner.len() {
                1 => Ok(inner.remove(0)),
                _ => Err(self.error(start..self.at, "these are several forms", Some("min(a, b), max(a, b)"))),
            };
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
        match rest[word..].trim_start().starts_with('(') {
            true => self.function(&rest[..word], start),
            false => self.name(&rest[..word], start..self.at),
        }
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
        let show = |form: &Affine<String>| form.show(|name| name).to_string();
        let bent = |bend: Bend<String>| match bend {
            Bend::Quotient(form, by) => format!("[{}]/{by}", show(&form)),
            Bend::Least(a, b) => format!("[{}|{}]", show(&a), show(&b)),
        };
        parse(text, &Names { form: &form, known: "n, tx and some more", bent: &bent })
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
        assert_eq!(read("(8*tx + 16) / 8"), form(&[("tx", 1)], 2));
        assert_eq!(read("(8*tx + 17) % 8"), form(&[], 1));
        assert!(read("i / -8").is_err() && read("i / tx").is_err() && read("8 % i").is_err());
    }

    #[test]
    fn what_bends_is_a_variable() {
        let shown = |text: &str| read(text).map(|form| form.show(|name| name).to_string());
        assert_eq!(shown("(8*tx + i + 17) / 8").as_deref(), Ok("[i + 1]/8 + tx + 2"));
        assert_eq!(shown("(8*tx + i + 17) % 8").as_deref(), Ok("-8*[i + 1]/8 + i + 1"));
        assert_eq!(shown("2 * min(tx + 1, n - 1)").as_deref(), Ok("2*[tx + 1|511]"));
        assert_eq!(shown("max(tx - 1, 0)").as_deref(), Ok("-[tx - 1|0] + tx - 1"));
        assert_eq!(shown("min(tx, tx + 2, tx - 1) + max(3, n)").as_deref(), Ok("tx + 511"), "what is known does not bend");
        assert_eq!(shown("min (i,\n n % 7)").as_deref(), Ok("[i|1]"));
        let error = |text: &str| read(text).map_err(|error| (error.what, error.at)).unwrap_err();
        assert_eq!(error("1 + abs(tx)"), ("unknown function `abs`".into(), 4..7));
        assert_eq!(error("(tx, ty)"), ("these are several forms".into(), 0..8));
        assert_eq!(error("min(tx, "), ("a number, a coordinate or a parameter is missing here".into(), 8..8));
        assert_eq!(error("min(tx").0, "a parenthesis is not closed");
        assert_eq!(error(&"min(".repeat(100)).0, "parentheses nest too deep");
    }

    #[test]
    fn errors_say_where() {
        let error = |text: &str| read(text).map_err(|error| (error.what, error.at)).unwrap_err();
        assert_eq!(error("tx*ty"), ("address is not affine in the thread coordinates".into(), 0..5));
        assert_eq!(read("tx*ty").unwrap_err().label.as_deref(), Some("a product of two coordinates"));
        assert_eq!(error("1 + tx/ty").1, 4..9);
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
