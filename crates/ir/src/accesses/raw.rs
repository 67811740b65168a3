//! The text form as TOML gives it: what keys there are and which shapes their values take. Every value keeps its place in the file.

use super::symbol::{KNOWN, Linear, Symbol, mentioned, named};
use crate::accesses::LoadPath;
use crate::affine::Affine;
use crate::affine::text::{Names, parse};
use crate::program::ImageKind;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use toml::Spanned;

/// A list of numbers.
pub(super) type Numbers = Spanned<Vec<Spanned<Number>>>;

/// A whole number, or an expression of parameters.
#[derive(Clone, Debug)]
pub(super) enum Number {
    Int(i64),
    Text(String),
    /// An expression without parameters, read once for all settings of them.
    Form(Linear),
}

/// What settings from outside may change is cloned with it; the rest is shared.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) name: String,
    pub(super) block: Numbers,
    pub(super) domain: Option<Numbers>,
    pub(super) grid: Option<Numbers>,
    pub(super) fold: Option<Numbers>,
    #[serde(default)]
    pub(super) fold_mode: FoldMode,
    pub(super) registers: Option<Spanned<Registers>>,
    pub(super) local: Option<Spanned<Number>>,
    pub(super) chain: Option<Spanned<Number>>,
    pub(super) flops: Option<Arc<Spanned<Flops>>>,
    #[serde(default)]
    pub(super) params: BTreeMap<Spanned<String>, Spanned<Param>>,
    /// Numbers that follow from parameters.
    #[serde(default)]
    pub(super) derived: Arc<BTreeMap<Spanned<String>, Spanned<Number>>>,
    /// Trips of loops that were set from outside.
    #[serde(skip)]
    pub(super) trips: BTreeMap<String, i64>,
    pub(super) origin: Option<Numbers>,
    #[serde(default)]
    pub(super) guard: Arc<Vec<Spanned<String>>>,
    pub(super) block_order: Option<Spanned<String>>,
    pub(super) field: Arc<Vec<RawField>>,
    #[serde(default, rename = "loop")]
    pub(super) loops: Arc<Vec<RawLoop>>,
    #[serde(default, rename = "barrier")]
    pub(super) barriers: Arc<Vec<Spanned<RawBarrier>>>,
}

impl Raw {
    /// Reads the coordinates of accesses that mention no parameter. What is wrong with others is said where they are used.
    pub(super) fn read_forms(&mut self) {
        let loops: Vec<String> = self.loops.iter().map(|own| own.name.get_ref().clone()).collect();
        let names = Names { form: &|name: &str| named(name, &loops, |_| None), known: KNOWN, bent: &Symbol::bent };
        for field in Arc::get_mut(&mut self.field).into_iter().flatten() {
            for access in field.load.iter_mut().chain(&mut field.store).chain(&mut field.atomic) {
                let at = match access.get_mut() {
                    RawAccess::At(at) => Some(at),
                    RawAccess::With(with) => with.at.as_mut(),
                };
                for coordinate in at.into_iter().flatten() {
                    let RawCoordinate::Number(number) = coordinate.get_mut() else { continue };
                    let form = match number {
                        Number::Int(value) => Affine::constant(*value),
                        Number::Text(text) => match parse(text, &names) {
                            // A parameter may have the name of a further axis of the grid.
                            Ok(form)
                                if mentioned(&form, &mut |own| if matches!(own, Symbol::Block(3..)) { Err(()) } else { Ok(()) })
                                    .is_ok() =>
                            {
                                form
                            }
                            Ok(_) | Err(_) => continue,
                        },
                        Number::Form(_) => continue,
                    };
                    *number = Number::Form(form);
                }
            }
        }
    }
}

impl Raw {
    /// Parameters that nothing but the domain and extents of fields mention; none where accesses have conditions or depend on data, so that what
    /// they say may depend on how large the launch is.
    pub(super) fn sizes(&self) -> Vec<String> {
        let mut mentioned = String::new();
        let mut mention = |text: &str| {
            mentioned.push(' ');
            mentioned.push_str(text);
        };
        let mut number = |number: &Number| match number {
            Number::Text(text) => mention(text),
            Number::Int(_) | Number::Form(_) => {}
        };
        let lists = [Some(&self.block), self.grid.as_ref(), self.fold.as_ref(), self.origin.as_ref()];
        let strides = self.field.iter().map(|field| field.strides.as_ref());
        let listed = lists.into_iter().chain(strides).flatten().flat_map(|list| list.get_ref());
        let single = self.local.iter().chain(&self.chain).chain(self.field.iter().filter_map(|field| field.align.as_ref()));
        let whether = self.field.iter().map(|field| &field.when).chain(self.barriers.iter().map(|own| &own.get_ref().when)).flatten();
        listed
            .chain(single)
            .chain(self.derived.values())
            .chain(whether)
            .chain(self.loops.iter().map(|own| &own.trips))
            .for_each(|own| number(own.get_ref()));
        match self.registers.as_ref().map(Spanned::get_ref) {
            Some(Registers::Number(own)) => number(own),
            Some(Registers::PerPoint(own)) => [&own.base, &own.per_point].into_iter().for_each(|own| number(own.get_ref())),
            None => {}
        }
        match self.flops.as_ref().map(|own| own.get_ref()) {
            Some(Flops::Number(own)) => number(own),
            Some(Flops::Classes(classes)) => classes.values().for_each(|own| number(own.get_ref())),
            None => {}
        }
        for access in self.field.iter().flat_map(RawField::accesses) {
            let at = match access.get_ref() {
                RawAccess::At(at) => at,
                RawAccess::With(with) => {
                    with.width.iter().for_each(|own| number(own.get_ref()));
                    match &with.at {
                        Some(at) if with.index.is_none() && with.guard.is_empty() => at,
                        _ => return vec![],
                    }
                }
            };
            for coordinate in at {
                // What is not read yet mentions a parameter; which piece of a form that bends holds where depends on how many blocks there are.
                let straight = |form: &Linear| form.terms().iter().all(|term| !matches!(term.0, Symbol::Bent(_)));
                match coordinate.get_ref() {
                    RawCoordinate::Number(Number::Int(_)) => {}
                    RawCoordinate::Number(Number::Form(form)) if straight(form) => {}
                    RawCoordinate::Number(_) | RawCoordinate::Proxy(_) => return vec![],
                }
            }
        }
        if !self.guard.is_empty() || self.field.iter().any(|field| field.kind.is_some_and(|kind| kind.image().is_some())) {
            return vec![];
        }
        let words: Vec<&str> = mentioned.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        let names = self.params.keys().map(|name| name.get_ref().clone());
        names.filter(|name| !words.contains(&name.as_str())).collect()
    }
}

/// The value of a parameter, or between which numbers it lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Param {
    Known(i64),
    Between(Between),
}

/// A number that is not known before the kernel runs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Between {
    pub(super) lo: i64,
    pub(super) hi: i64,
    pub(super) typical: i64,
}

impl Param {
    /// What it is taken for.
    pub(super) fn value(self) -> i64 {
        match self {
            Self::Known(value) => value,
            Self::Between(between) => between.typical,
        }
    }
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

#[derive(Clone)]
pub(super) enum Registers {
    Number(Number),
    PerPoint(PerPoint),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PerPoint {
    pub(super) base: Spanned<Number>,
    pub(super) per_point: Spanned<Number>,
}

pub(super) enum Flops {
    Number(Number),
    Classes(BTreeMap<Spanned<String>, Spanned<Number>>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawField {
    pub(super) name: Spanned<String>,
    /// Left out, as is all that says how it lies, where a field above goes on.
    pub(super) element: Option<Spanned<String>>,
    pub(super) dims: Option<Numbers>,
    pub(super) strides: Option<Numbers>,
    pub(super) align: Option<Spanned<Number>>,
    pub(super) kind: Option<FieldKind>,
    /// See [`crate::Kernel::known`].
    pub(super) known: Option<bool>,
    #[serde(default)]
    pub(super) load: Vec<Spanned<RawAccess>>,
    #[serde(default)]
    pub(super) store: Vec<Spanned<RawAccess>>,
    #[serde(default)]
    pub(super) atomic: Vec<Spanned<RawAccess>>,
    #[serde(default)]
    pub(super) policy: StorePolicyName,
    #[serde(default)]
    pub(super) path: LoadPath,
    /// Left out where this is 0.
    pub(super) when: Option<Spanned<Number>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FieldKind {
    #[default]
    Buffer,
    Image1d,
    Image1dBuffer,
    Image2d,
    Image2dFromBuffer,
    Constant,
    Local,
}

impl FieldKind {
    /// Which kind of image it is, where it is one.
    pub(super) fn image(self) -> Option<ImageKind> {
        match self {
            Self::Image1d => Some(ImageKind::Image1d),
            Self::Image1dBuffer => Some(ImageKind::Image1dBuffer),
            Self::Image2d => Some(ImageKind::Image2d),
            Self::Image2dFromBuffer => Some(ImageKind::Image2dFromBuffer),
            Self::Buffer | Self::Constant | Self::Local => None,
        }
    }
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
pub(super) enum RawAccess {
    At(Vec<Spanned<RawCoordinate>>),
    With(Box<RawWith>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWith {
    pub(super) at: Option<Vec<Spanned<RawCoordinate>>>,
    pub(super) index: Option<Spanned<RawProxy>>,
    pub(super) width: Option<Spanned<Number>>,
    pub(super) path: Option<LoadPath>,
    pub(super) kind: Option<Spanned<FieldKind>>,
    #[serde(rename = "in")]
    pub(super) within: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) guard: Vec<Spanned<String>>,
    pub(super) branch: Option<Spanned<bool>>,
    pub(super) ahead: Option<Spanned<bool>>,
}

#[derive(Clone)]
pub(super) enum RawCoordinate {
    Number(Number),
    Proxy(RawProxy),
}

/// An address that depends on data: one of `spread` elements, of which `proxy` is typical, by a pattern.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProxy {
    pub(super) proxy: Spanned<Number>,
    pub(super) spread: Spanned<Number>,
    pub(super) pattern: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLoop {
    pub(super) name: Spanned<String>,
    pub(super) trips: Spanned<Number>,
    #[serde(default)]
    pub(super) order: LoopOrder,
    /// A loop above: this one is in what that one is in. Left out: it is in the loop above it.
    pub(super) beside: Option<Spanned<String>>,
}

/// All threads of a block wait for each other where it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBarrier {
    #[serde(rename = "in")]
    pub(super) within: Option<Spanned<String>>,
    /// Left out where this is 0.
    pub(super) when: Option<Spanned<Number>>,
}

impl RawField {
    /// All its accesses: loads, stores, atomics.
    pub(super) fn accesses(&self) -> impl Iterator<Item = &Spanned<RawAccess>> {
        self.load.iter().chain(&self.store).chain(&self.atomic)
    }
}

/// How a loop's trips run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoopOrder {
    /// One after the other.
    #[default]
    Sequential,
    /// Written out.
    Unrolled,
    /// One after the other, and each computes further points.
    GridStride,
}

/// What a value is instead of a number: nothing, a list, or a table.
enum Shape<L, T> {
    Number(Number),
    List(L),
    Table(T),
}

/// No list, or no table, is possible here.
enum Never {}

impl<'de> Deserialize<'de> for Never {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("there is no such value"))
    }
}

/// Reads a number, a list or a table, whichever stands there. Derived untagged enums would lose the places of what is inside.
struct AnyOf<L, T> {
    expecting: &'static str,
    list: bool,
    table: bool,
    kind: std::marker::PhantomData<(L, T)>,
}

impl<L, T> AnyOf<L, T> {
    fn new(expecting: &'static str, list: bool, table: bool) -> Self {
        Self { expecting, list, table, kind: std::marker::PhantomData }
    }
}

impl<'de, L: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for AnyOf<L, T> {
    type Value = Shape<L, T>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.expecting)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Shape::Number(Number::Int(value)))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Shape::Number(Number::Text(value.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        match self.list {
            true => L::deserialize(SeqAccessDeserializer::new(list)).map(Shape::List),
            false => Err(A::Error::invalid_type(de::Unexpected::Seq, &self)),
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
        match self.table {
            true => T::deserialize(MapAccessDeserializer::new(table)).map(Shape::Table),
            false => Err(A::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expecting = "a whole number, or an expression of [params] in quotes";
        match from.deserialize_any(AnyOf::<Never, Never>::new(expecting, false, false))? {
            Shape::Number(number) => Ok(number),
            Shape::List(never) | Shape::Table(never) => match never {},
        }
    }
}

impl<'de> Deserialize<'de> for Param {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expecting = "a whole number of 64 bits, or { lo = 1, hi = 64, typical = 20 } of one that is not known";
        match from.deserialize_any(AnyOf::<Never, Between>::new(expecting, false, true))? {
            Shape::Number(Number::Int(value)) => Ok(Self::Known(value)),
            Shape::Number(Number::Text(text)) => Err(D::Error::invalid_type(de::Unexpected::Str(&text), &expecting)),
            Shape::Number(Number::Form(_)) => Err(D::Error::custom(expecting)),
            Shape::Table(table) => Ok(Self::Between(table)),
            Shape::List(never) => match never {},
        }
    }
}

impl<'de> Deserialize<'de> for Registers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expecting = "a number of registers, or { base = 24, per_point = 8 }";
        match from.deserialize_any(AnyOf::<Never, PerPoint>::new(expecting, false, true))? {
            Shape::Number(number) => Ok(Self::Number(number)),
            Shape::Table(table) => Ok(Self::PerPoint(table)),
            Shape::List(never) => match never {},
        }
    }
}

impl<'de> Deserialize<'de> for Flops {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expecting = "a number of operations, or one for each class as in { f64_fma = 3, f64 = 1 }";
        match from.deserialize_any(AnyOf::<Never, BTreeMap<_, _>>::new(expecting, false, true))? {
            Shape::Number(number) => Ok(Self::Number(number)),
            Shape::Table(table) => Ok(Self::Classes(table)),
            Shape::List(never) => match never {},
        }
    }
}

impl<'de> Deserialize<'de> for RawAccess {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expecting = "an access as in [\"tx+1\", \"ty\"] or { at = [\"tx\", \"ty\"], width = 4 }";
        match from.deserialize_any(AnyOf::<Vec<_>, RawWith>::new(expecting, true, true))? {
            Shape::List(list) => Ok(Self::At(list)),
            Shape::Table(table) => Ok(Self::With(Box::new(table))),
            Shape::Number(_) => Err(D::Error::custom(format!("a coordinate alone, expected {expecting}"))),
        }
    }
}

impl<'de> Deserialize<'de> for RawCoordinate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expecting = "a coordinate as in \"tx+1\", or { proxy = \"tx\", spread = 64 }";
        match from.deserialize_any(AnyOf::<Never, RawProxy>::new(expecting, false, true))? {
            Shape::Number(number) => Ok(Self::Number(number)),
            Shape::Table(table) => Ok(Self::Proxy(table)),
            Shape::List(never) => match never {},
        }
    }
}
