//! The text form of a kernel's accesses, written by hand: TOML with the launch, registers, operations, fields and loops. See
//! `examples/accesses/`, where one file uses every key.
//! .
//! Coordinates are listed fastest first, as threads are: `["tx+1", "ty", "tz"]`. tx, ty, tz is the point a thread computes; with
//! folding a thread computes several, and an address that two of them share is one access. An access belongs to the innermost loop it
//! mentions, and happens in the order of the file.

use super::LoadPath;
use super::linear::{Linear, LinearError, Names, parse as parse_linear};
use crate::kernel::Kernel;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// A kernel whose accesses were written by hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The kernel, its parameters resolved.
    pub kernel: Kernel,
    /// Points of the domain.
    pub points: u64,
    /// Points of the domain along each axis, fastest first.
    pub domain: Vec<u32>,
    /// Points a thread computes along each axis.
    pub fold: Vec<u32>,
    /// Whether the number of registers does not say how it grows with folding, although there is folding.
    pub registers_guessed: bool,
    /// Addresses that stand for data-dependent ones: (field, position of the access).
    pub guessed_accesses: Vec<(String, usize)>,
}

/// What is wrong in the text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TextError {
    /// In words.
    pub what: String,
    /// What to do, where that is not plain.
    pub help: Option<String>,
    /// Where, in bytes; `None` where a setting from outside is wrong.
    pub at: Option<Range<usize>>,
}

/// A whole number, or an expression of parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Int(i64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) name: String,
    pub(super) block: Spanned<Vec<Spanned<Number>>>,
    pub(super) domain: Option<Spanned<Vec<Spanned<Number>>>>,
    pub(super) grid: Option<Spanned<Vec<Spanned<Number>>>>,
    pub(super) fold: Option<Spanned<Vec<Spanned<Number>>>>,
    #[serde(default)]
    pub(super) fold_mode: FoldMode,
    pub(super) registers: Spanned<Registers>,
    pub(super) local: Option<Spanned<Number>>,
    #[serde(default)]
    pub(super) flops: Option<Spanned<Flops>>,
    #[serde(default)]
    pub(super) params: BTreeMap<String, Spanned<i64>>,
    pub(super) origin: Option<Spanned<Vec<Spanned<Number>>>>,
    #[serde(default)]
    pub(super) guard: Vec<Spanned<String>>,
    pub(super) block_order: Option<Spanned<String>>,
    pub(super) field: Vec<RawField>,
    #[serde(default, rename = "loop")]
    pub(super) loops: Vec<RawLoop>,
}

/// Which points a thread computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FoldMode {
    /// Neighbours.
    #[default]
    Consecutive,
    /// A block's extent apart.
    Strided,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Registers {
    Number(Number),
    PerPoint { base: Number, per_point: Number },
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Flops {
    Number(i64),
    Classes(BTreeMap<String, i64>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawField {
    pub(super) name: Spanned<String>,
    pub(super) element: Spanned<String>,
    pub(super) dims: Spanned<Vec<Spanned<Number>>>,
    pub(super) strides: Option<Spanned<Vec<Spanned<Number>>>>,
    pub(super) align: Option<Spanned<Number>>,
    #[serde(default)]
    pub(super) kind: FieldKind,
    #[serde(default)]
    pub(super) load: Vec<Spanned<RawAccess>>,
    #[serde(default)]
    pub(super) store: Vec<Spanned<RawAccess>>,
    #[serde(default)]
    pub(super) policy: StorePolicyName,
    #[serde(default)]
    pub(super) path: LoadPath,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FieldKind {
    #[default]
    Buffer,
    Image2d,
    Constant,
    Local,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StorePolicyName {
    #[default]
    WriteBack,
    WriteThrough,
    NonTemporal,
}

/// An access: `[x, y, …]`, or `{ at = [x, y, …], width = 4, … }`.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawAccess {
    At(Vec<RawCoordinate>),
    With(RawWith),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWith {
    pub(super) at: Vec<RawCoordinate>,
    pub(super) width: Option<u8>,
    pub(super) path: Option<LoadPath>,
    #[serde(rename = "in")]
    pub(super) within: Option<String>,
    #[serde(default)]
    pub(super) guard: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawCoordinate {
    Int(i64),
    Text(String),
    Proxy(RawProxy),
}

/// An address that depends on data: one of `spread` elements, of which `proxy` is typical.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProxy {
    pub(super) proxy: String,
    pub(super) spread: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLoop {
    pub(super) name: Spanned<String>,
    pub(super) trips: Spanned<Number>,
    #[serde(default)]
    pub(super) order: LoopOrder,
}

/// Whether a loop's trips follow each other or are written out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoopOrder {
    #[default]
    Sequential,
    Unrolled,
}

pub(super) type Result<T> = std::result::Result<T, TextError>;

pub(super) fn wrong<T>(at: Range<usize>, what: impl Into<String>, help: Option<&str>) -> Result<T> {
    // What was set from outside stands nowhere in the file.
    Err(TextError { what: what.into(), help: help.map(str::to_owned), at: (!at.is_empty()).then_some(at) })
}

/// Trips a loop that is written out may have.
const UNROLLED: i64 = 64;

/// Reads a kernel. `settings` replace keys of the file from outside: `block`, `domain`, `grid`, `fold` (lists of numbers separated by
/// commas) and parameters.
///
/// # Errors
/// What is wrong and where: unknown keys and variables, products of coordinates, extents of 0, a domain that contradicts the grid, …
pub fn parse(text: &str, settings: &[(String, String)]) -> Result<Written> {
    let mut raw: Raw = toml::from_str(text).map_err(|error| TextError {
        what: error.message().to_owned(),
        help: None,
        at: Some(error.span().unwrap_or(0..text.len())),
    })?;
    for (key, value) in settings {
        set(&mut raw, key, value)?;
    }
    Reader::new(text, &raw)?.written(&raw)
}

/// Replaces a key from outside.
fn set(raw: &mut Raw, key: &str, value: &str) -> Result<()> {
    let outside = |what: String| Err(TextError { what, help: None, at: None });
    let list = || value.split(',').map(|part| Spanned::new(0..0, Number::Text(part.trim().to_owned()))).collect();
    match key {
        "block" => raw.block = Spanned::new(0..0, list()),
        "fold" => raw.fold = Some(Spanned::new(0..0, list())),
        "domain" => {
            raw.domain = Some(Spanned::new(0..0, list()));
            raw.grid = None;
        }
        "grid" => {
            raw.grid = Some(Spanned::new(0..0, list()));
            raw.domain = None;
        }
        name => match (raw.params.get_mut(name), value.parse()) {
            (Some(param), Ok(number)) => *param = Spanned::new(0..0, number),
            (Some(_), Err(_)) => return outside(format!("`{name}` is set to `{value}`, which is no whole number")),
            (None, _) => {
                let known: Vec<&str> = raw.params.keys().map(String::as_str).collect();
                return outside(format!(
                    "there is nothing named `{name}` to set: block, domain, grid, fold and the parameters {}",
                    known.join(", ")
                ));
            }
        },
    }
    Ok(())
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) params: BTreeMap<&'a str, i64>,
    pub(super) loops: Vec<String>,
    pub(super) block: Vec<i64>,
    pub(super) fold: Vec<i64>,
    pub(super) domain: Vec<i64>,
    pub(super) grid: Vec<i64>,
    pub(super) origin: Vec<i64>,
    pub(super) strided: bool,
    /// Trips of each loop that is written out.
    pub(super) unrolled: Vec<Option<i64>>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, raw: &'a Raw) -> Result<Self> {
        let params = raw.params.iter().map(|(name, value)| (name.as_str(), *value.get_ref())).collect();
        let mut reader = Self {
            text,
            params,
            loops: vec![],
            block: vec![],
            fold: vec![],
            domain: vec![],
            grid: vec![],
            origin: vec![],
            strided: raw.fold_mode == FoldMode::Strided,
            unrolled: vec![],
        };
        for own in &raw.loops {
            let name = own.name.get_ref();
            if reader.loops.contains(name) || reader.params.contains_key(name.as_str()) {
                return wrong(own.name.span(), format!("`{name}` is already something else"), None);
            }
            reader.loops.push(name.clone());
        }
        for own in &raw.loops {
            let trips = reader.extent(&own.trips)?;
            if own.order == LoopOrder::Unrolled && trips > UNROLLED {
                return wrong(
                    own.trips.span(),
                    format!("{trips} trips are written out"),
                    Some("order = \"sequential\" keeps a loop of many trips"),
                );
            }
            reader.unrolled.push((own.order == LoopOrder::Unrolled).then_some(trips));
        }
        reader.block = reader.extents(&raw.block)?;
        let axes = reader.block.len();
        reader.fold = match &raw.fold {
            Some(fold) => reader.same_rank(fold, axes)?,
            None => vec![1; axes],
        };
        reader.origin = match &raw.origin {
            Some(origin) => origin.get_ref().iter().map(|number| reader.number(number)).collect::<Result<_>>()?,
            None => vec![0; axes],
        };
        if let Some(origin) = raw.origin.as_ref().filter(|_| reader.origin.len() != axes) {
            return wrong(origin.span(), format!("the block has {axes} axes, this {}", reader.origin.len()), None);
        }
        let points = |i: usize, count: i64| count.checked_mul(reader.block[i]).and_then(|n| n.checked_mul(reader.fold[i]));
        match (&raw.domain, &raw.grid) {
            (None, None) => return wrong(raw.block.span(), "there is neither domain nor grid", Some("domain = [points along x, y, z]")),
            (Some(domain), grid) => {
                let extents = reader.same_rank(domain, axes)?;
                let blocks: Vec<i64> = (0..axes).map(|i| (extents[i] - 1) / (reader.block[i] * reader.fold[i]) + 1).collect();
                if let Some(grid) = grid {
                    let given = reader.same_rank(grid, axes)?;
                    if given != blocks {
                        return wrong(
                            grid.span(),
                            format!("the domain makes a grid of {blocks:?}, this says {given:?}"),
                            Some("leave one of them out"),
                        );
                    }
                }
                (reader.domain, reader.grid) = (extents, blocks);
            }
            (None, Some(grid)) => {
                let blocks = reader.same_rank(grid, axes)?;
                let extents = blocks.iter().enumerate().map(|(i, &count)| points(i, count)).collect::<Option<_>>();
                let Some(extents) = extents else { return wrong(grid.span(), "the domain exceeds 64 bits", None) };
                (reader.domain, reader.grid) = (extents, blocks);
            }
        }
        Ok(reader)
    }

    /// Where an expression stands within a larger part of the file.
    pub(super) fn within(&self, span: &Range<usize>, expression: &str) -> Range<usize> {
        let found = self.text.get(span.clone()).and_then(|part| part.find(&format!("\"{expression}\"")));
        found.map_or_else(|| span.clone(), |at| span.start + at..span.start + at + expression.len() + 2)
    }

    /// The value of a number.
    pub(super) fn number(&self, number: &Spanned<Number>) -> Result<i64> {
        match number.get_ref() {
            Number::Int(value) => Ok(*value),
            Number::Text(text) => {
                let form = self.linear(text, &number.span())?;
                if form.is_constant() { Ok(form.constant) } else { wrong(number.span(), "this must not depend on coordinates", None) }
            }
        }
    }

    pub(super) fn linear(&self, text: &str, span: &Range<usize>) -> Result<Linear> {
        let value = |name: &str| self.params.get(name).copied();
        parse_linear(text, &Names { value: &value, loops: &self.loops }).map_err(|LinearError { what, help, at }| {
            // Within the quotes, where the string stands in the file as it is.
            let inside = self.text.get(span.clone()).is_some_and(|quoted| quoted.get(1..quoted.len().saturating_sub(1)) == Some(text));
            let at = if inside { span.start + 1 + at.start..span.start + 1 + at.end } else { span.clone() };
            let at = if at.is_empty() { span.clone() } else { at };
            TextError { what, help, at: (!at.is_empty()).then_some(at) }
        })
    }

    /// Numbers from 1 to 2³¹ − 1.
    fn extents(&self, list: &Spanned<Vec<Spanned<Number>>>) -> Result<Vec<i64>> {
        if !(1..=3).contains(&list.get_ref().len()) {
            return wrong(list.span(), "between one and three axes are needed", None);
        }
        list.get_ref().iter().map(|number| self.extent(number)).collect()
    }

    pub(super) fn extent(&self, number: &Spanned<Number>) -> Result<i64> {
        match self.number(number)? {
            value @ 1..=0x7fff_ffff => Ok(value),
            value => wrong(number.span(), format!("an extent is {value}, outside 1 to 2147483647"), None),
        }
    }

    fn same_rank(&self, list: &Spanned<Vec<Spanned<Number>>>, axes: usize) -> Result<Vec<i64>> {
        let extents = self.extents(list)?;
        match extents.len() == axes {
            true => Ok(extents),
            false => wrong(list.span(), format!("the block has {axes} axes, this {}", extents.len()), None),
        }
    }
}
