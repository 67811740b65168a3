//! Numbers of the text form with their parameters resolved, and the launch they make.

use super::linear::{Linear, LinearError, Names, is_coordinate, parse as parse_linear};
use super::raw::{FoldMode, LoopOrder, Number, Numbers, Raw};
use super::text::{Result, TextError, wrong};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// Trips a loop that is written out may have.
const UNROLLED: i64 = 64;

/// Loops a kernel may have.
const LOOPS: usize = 16;

/// A loop as it runs.
pub(super) struct Loop {
    pub(super) trips: i64,
    pub(super) order: LoopOrder,
    /// Its number among the loops that are not written out.
    pub(super) number: usize,
}

pub(super) struct Reader<'a> {
    text: &'a str,
    params: BTreeMap<&'a str, i64>,
    pub(super) names: Vec<String>,
    pub(super) loops: Vec<Loop>,
    pub(super) block: Vec<i64>,
    pub(super) fold: Vec<i64>,
    pub(super) domain: Vec<i64>,
    pub(super) grid: Vec<i64>,
    pub(super) origin: Vec<i64>,
    pub(super) strided: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, raw: &'a Raw) -> Result<Self> {
        let params = raw.params.iter().map(|(name, value)| (name.get_ref().as_str(), *value.get_ref())).collect();
        let mut reader = Self {
            text,
            params,
            names: vec![],
            loops: vec![],
            block: vec![],
            fold: vec![],
            domain: vec![],
            grid: vec![],
            origin: vec![],
            strided: raw.fold_mode == FoldMode::Strided,
        };
        for name in raw.params.keys() {
            reader.free(name)?;
        }
        reader.read_loops(raw)?;
        reader.block = reader.extents(&raw.block)?;
        let axes = reader.block.len();
        reader.fold = match &raw.fold {
            Some(fold) => reader.same_rank(fold, axes)?,
            None => vec![1; axes],
        };
        reader.origin = match &raw.origin {
            Some(origin) => origin.get_ref().iter().map(|number| reader.small(number)).collect::<Result<_>>()?,
            None => vec![0; axes],
        };
        if let Some(origin) = raw.origin.as_ref().filter(|_| reader.origin.len() != axes) {
            return wrong(origin.span(), format!("the block has {axes} axes, this {}", reader.origin.len()), None);
        }
        reader.read_grid(raw, axes)?;
        Ok(reader)
    }

    /// A name that stands for nothing else.
    fn free(&self, name: &Spanned<String>) -> Result<()> {
        let own = name.get_ref().as_str();
        let plain = own.starts_with(|c: char| c.is_alphabetic() || c == '_') && own.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !plain {
            return wrong(name.span(), format!("`{own}` is no name"), Some("letters, digits and _, no digit first"));
        }
        if is_coordinate(own) || self.names.iter().any(|other| other == own) {
            return wrong(name.span(), format!("`{own}` is already something else"), None);
        }
        Ok(())
    }

    fn read_loops(&mut self, raw: &Raw) -> Result<()> {
        if let Some(first) = raw.loops.get(LOOPS) {
            return wrong(first.name.span(), format!("there are more than {LOOPS} loops"), None);
        }
        for own in raw.loops.iter() {
            self.free(&own.name)?;
            if self.params.contains_key(own.name.get_ref().as_str()) {
                return wrong(own.name.span(), format!("`{}` is already something else", own.name.get_ref()), None);
            }
            // Trips are numbers: no loop is known to them.
            let trips = self.extent(&own.trips)?;
            if own.order.unrolled() && trips > UNROLLED {
                return wrong(
                    own.trips.span(),
                    format!("{trips} trips are written out"),
                    Some("order = \"sequential\" keeps a loop of many trips"),
                );
            }
            let number = self.loops.iter().filter(|other| !other.order.unrolled()).count();
            self.loops.push(Loop { trips, order: own.order, number });
            self.names.push(own.name.get_ref().clone());
        }
        Ok(())
    }

    fn read_grid(&mut self, raw: &Raw, axes: usize) -> Result<()> {
        match (&raw.domain, &raw.grid) {
            (None, None) => wrong(raw.block.span(), "there is neither domain nor grid", Some("domain = [points along x, y, z]")),
            (Some(domain), grid) => {
                let extents = self.same_rank(domain, axes)?;
                let blocks: Vec<i64> = (0..axes).map(|i| (extents[i] - 1) / (self.block[i] * self.fold[i]) + 1).collect();
                if let Some(grid) = grid {
                    let given = self.same_rank(grid, axes)?;
                    if given != blocks {
                        return wrong(
                            grid.span(),
                            format!("the domain makes a grid of {blocks:?}, this says {given:?}"),
                            Some("leave one of them out"),
                        );
                    }
                }
                (self.domain, self.grid) = (extents, blocks);
                Ok(())
            }
            (None, Some(grid)) => {
                let blocks = self.same_rank(grid, axes)?;
                let points = |i: usize| blocks[i].checked_mul(self.block[i] * self.fold[i]).filter(|&n| n <= i64::from(u32::MAX));
                match (0..axes).map(points).collect() {
                    Some(extents) => {
                        (self.domain, self.grid) = (extents, blocks);
                        Ok(())
                    }
                    None => wrong(grid.span(), "the domain exceeds 2^32 points along an axis", None),
                }
            }
        }
    }

    /// The value of a number.
    pub(super) fn number(&self, number: &Spanned<Number>) -> Result<i64> {
        self.value(number.get_ref(), number.span())
    }

    /// The value of a number that stands at `span`.
    pub(super) fn value(&self, number: &Number, span: Range<usize>) -> Result<i64> {
        let form = match number {
            Number::Int(value) => return Ok(*value),
            number => self.coordinate(number, &span)?,
        };
        if form.is_constant() { Ok(form.constant) } else { wrong(span, "this must not depend on coordinates", None) }
    }

    /// A form in coordinates: `part` of the string `whole` that stands at `span`, from byte `from` of it on.
    pub(super) fn linear(&self, part: &str, from: usize, span: &Range<usize>, whole: &str) -> Result<Linear> {
        let value = |name: &str| self.params.get(name).copied();
        parse_linear(part, &Names { value: &value, loops: &self.names }).map_err(|LinearError { what, label, help, at }| {
            // Within the quotes, where the string stands in the file as it is.
            let inside = self.text.get(span.clone()).is_some_and(|quoted| quoted.get(1..quoted.len().saturating_sub(1)) == Some(whole));
            let start = span.start + 1 + from;
            let at = if inside && !at.is_empty() { start + at.start..start + at.end } else { span.clone() };
            TextError { what, label, help, at: (!at.is_empty()).then_some(at) }
        })
    }

    /// A coordinate that stands at `span`.
    pub(super) fn coordinate<'b>(&self, number: &'b Number, span: &Range<usize>) -> Result<Cow<'b, Linear>> {
        match number {
            Number::Int(value) => Ok(Cow::Owned(Linear { terms: vec![], constant: *value })),
            // A parameter alone is what most texts are.
            Number::Text(text) => match self.params.get(text.as_str()) {
                Some(&constant) => Ok(Cow::Owned(Linear { terms: vec![], constant })),
                None => self.linear(text, 0, span, text).map(Cow::Owned),
            },
            Number::Form(form) => Ok(Cow::Borrowed(form)),
        }
    }

    /// One to three numbers from 1 to 2³¹ − 1.
    fn extents(&self, list: &Numbers) -> Result<Vec<i64>> {
        if !(1..=3).contains(&list.get_ref().len()) {
            return wrong(list.span(), "between one and three axes are needed", None);
        }
        list.get_ref().iter().map(|number| self.extent(number)).collect()
    }

    /// A number from 1 to 2³¹ − 1.
    pub(super) fn extent(&self, number: &Spanned<Number>) -> Result<i64> {
        match self.number(number)? {
            value @ 1..=0x7fff_ffff => Ok(value),
            value => wrong(number.span(), format!("an extent is {value}, outside 1 to 2147483647"), None),
        }
    }

    /// A number between −2³¹ and 2³¹.
    pub(super) fn small(&self, number: &Spanned<Number>) -> Result<i64> {
        match self.number(number)? {
            value @ -0x7fff_ffff..=0x7fff_ffff => Ok(value),
            value => wrong(number.span(), format!("an offset is {value}, outside -2147483647 to 2147483647"), None),
        }
    }

    fn same_rank(&self, list: &Numbers, axes: usize) -> Result<Vec<i64>> {
        let extents = self.extents(list)?;
        match extents.len() == axes {
            true => Ok(extents),
            false => wrong(list.span(), format!("the block has {axes} axes, this {}", extents.len()), None),
        }
    }
}
