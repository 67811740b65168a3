//! Numbers of the text form with their parameters resolved, and the launch they make.

use super::raw::{FoldMode, LoopOrder, Number, Numbers, Param, Raw, RawLoop};
use super::symbol::{KNOWN, Linear, Symbol, coordinate, named};
use super::unknown::Unknown;
use super::wrong::{Result, TextError, wrong};
use crate::affine::Affine;
use crate::affine::text::{FormError, Names, parse};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// Trips a loop that is written out may have.
const UNROLLED: i64 = 64;

/// Loops a kernel may have.
const LOOPS: usize = 16;

/// Axes a grid may have.
const GRID_AXES: usize = 9;

/// A loop as it runs.
#[derive(Clone, Copy)]
pub(super) struct Loop {
    pub(super) trips: i64,
    pub(super) order: LoopOrder,
    /// Its number among the loops that are not written out.
    pub(super) number: usize,
    /// The number of the loop it is in.
    pub(super) around: Option<usize>,
}

pub(super) struct Reader<'a> {
    text: &'a str,
    params: BTreeMap<&'a str, i64>,
    pub(super) names: Vec<String>,
    pub(super) loops: Vec<Loop>,
    /// Numbers that are not known: parameters in their order, then trips.
    pub(super) unknowns: Vec<Unknown>,
    /// Threads along each axis that a block has; along the others it is 1.
    pub(super) block: Vec<i64>,
    pub(super) fold: Vec<i64>,
    pub(super) domain: Vec<i64>,
    pub(super) grid: Vec<i64>,
    pub(super) origin: Vec<i64>,
    pub(super) strided: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, raw: &'a Raw) -> Result<Self> {
        let params = raw.params.iter().map(|(name, value)| (name.get_ref().as_str(), value.get_ref().value())).collect();
        let mut reader = Self {
            text,
            params,
            names: vec![],
            loops: vec![],
            unknowns: vec![],
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
        reader.read_derived(raw)?;
        reader.read_ranges(raw)?;
        reader.read_loops(raw)?;
        // A grid alone may have more axes than its blocks, and fewer.
        let blocks = raw.grid.as_ref().filter(|_| raw.domain.is_none()).map_or(0, |grid| grid.get_ref().len());
        reader.block = if blocks > 0 && raw.block.get_ref().is_empty() {
            vec![]
        } else {
            reader.extents(&raw.block, if blocks > 0 { GRID_AXES } else { 3 })?
        };
        let axes = if blocks > 0 { blocks } else { reader.block.len() };
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
        if coordinate(own).is_some() || self.names.iter().any(|other| other == own) {
            return wrong(name.span(), format!("`{own}` is already something else"), None);
        }
        Ok(())
    }

    /// Numbers that follow from parameters, and from each other.
    fn read_derived(&mut self, raw: &'a Raw) -> Result<()> {
        let mut left: Vec<_> = raw.derived.iter().collect();
        left.sort_by_key(|own| own.0.span().start);
        while let Some(&(first, _)) = left.first() {
            let waits = |form: &Number| match form {
                Number::Text(text) => {
                    let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                    words.any(|word| left.iter().any(|other| other.0.get_ref() == word))
                }
                Number::Int(_) | Number::Form(_) => false,
            };
            let Some(next) = left.iter().position(|own| !waits(own.1.get_ref())) else {
                return wrong(first.span(), format!("`{}` follows from itself", first.get_ref()), None);
            };
            let (name, form) = left.remove(next);
            self.free(name)?;
            let value = self.number(form)?;
            if self.params.insert(name.get_ref(), value).is_some() {
                return wrong(name.span(), format!("`{}` is already something else", name.get_ref()), None);
            }
        }
        Ok(())
    }

    /// Whether something is there: it says nothing of it, or no 0.
    pub(super) fn holds(&self, when: Option<&Spanned<Number>>) -> Result<bool> {
        when.map_or(Ok(true), |when| Ok(self.number(when)? != 0))
    }

    /// Parameters of which a range is known.
    fn read_ranges(&mut self, raw: &Raw) -> Result<()> {
        for (name, value) in &raw.params {
            let Param::Between(between) = *value.get_ref() else { continue };
            if !(between.lo <= between.typical && between.typical <= between.hi) {
                let what = format!("`{}` lies between {} and {}, but not {}", name.get_ref(), between.lo, between.hi, between.typical);
                return wrong(value.span(), what, Some("lo <= typical <= hi"));
            }
            let why = "between these the file says it lies".to_owned();
            let key = name.get_ref().clone();
            self.unknowns.push(Unknown { key, lo: between.lo, typical: between.typical, hi: between.hi, why });
        }
        Ok(())
    }

    /// How often a loop runs that is in this one. Trips that grow with loops around it are taken for their mean.
    fn trips(&mut self, own: &RawLoop, set: Option<i64>, around: Option<usize>) -> Result<i64> {
        let span = own.trips.span();
        if let Some(trips) = set {
            return Ok(trips);
        }
        let form = self.coordinate(own.trips.get_ref(), &span)?.into_owned();
        if form.is_constant() {
            return self.extent(&own.trips);
        }
        let help = "trips may grow with loops around it, as in trips = \"k + 1\"; what depends on data is a parameter with a range: \
                    [params] n = { lo = 1, hi = 64, typical = 20 }";
        let mut outer = std::iter::successors(around, |&number| self.around(number)).collect::<Vec<_>>();
        outer.retain(|&number| number < self.loops.len());
        let (mut least, mut most) = (i128::from(form.constant), i128::from(form.constant));
        for &(ref symbol, factor) in form.terms() {
            let known = match symbol {
                Symbol::Loop(n) => self.loops.get(usize::from(*n)).filter(|other| !other.order.unrolled() && outer.contains(&other.number)),
                _ => None,
            };
            let Some(other) = known else { return wrong(span, "this must not depend on coordinates", Some(help)) };
            let far = i128::from(factor) * i128::from(other.trips - 1);
            (least, most) = (least + far.min(0), most + far.max(0));
        }
        if own.order != LoopOrder::Sequential {
            let help = Some("order = \"sequential\"");
            return wrong(span, format!("the trips of `{}` are not one number, as they have to be here", own.name.get_ref()), help);
        }
        if least < 0 || !(1..=0x7fff_ffff).contains(&most) {
            return wrong(span, format!("a loop of {least} to {most} trips"), Some("0 to 2147483647"));
        }
        // Forms are as often above their middle as below it.
        let mean = ((least + most) as i64 + 1) / 2;
        let why = format!("the mean of {least} to {most}; blocks touch up to what the most trips do");
        self.unknowns.push(Unknown { key: format!("trips.{}", own.name.get_ref()), lo: mean, typical: mean, hi: most as i64, why });
        Ok(mean)
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
            let number = self.loops.iter().filter(|other| !other.order.unrolled()).count();
            let around = match &own.beside {
                None => self.loops.last().and_then(|above| if above.order.unrolled() { above.around } else { Some(above.number) }),
                Some(name) => match self.names.iter().position(|above| above == name.get_ref()) {
                    Some(above) => self.loops[above].around,
                    None => {
                        return wrong(
                            name.span(),
                            self.no_loop(name.get_ref()),
                            Some("a loop stands beside one that is above it in the file"),
                        );
                    }
                },
            };
            let trips = self.trips(own, raw.trips.get(own.name.get_ref()).copied(), around)?;
            if own.order.unrolled() && trips > UNROLLED {
                return wrong(
                    own.trips.span(),
                    format!("{trips} trips are written out"),
                    Some("order = \"sequential\" keeps a loop of many trips"),
                );
            }
            self.loops.push(Loop { trips, order: own.order, number, around });
            self.names.push(own.name.get_ref().clone());
        }
        Ok(())
    }

    fn read_grid(&mut self, raw: &Raw, axes: usize) -> Result<()> {
        match (&raw.domain, &raw.grid) {
            (None, None) => wrong(raw.block.span(), "there is neither domain nor grid", Some("domain = [points along x, y, z]")),
            (Some(domain), grid) => {
                let extents = self.same_rank(domain, axes)?;
                let blocks: Vec<i64> = (0..axes).map(|i| (extents[i] - 1) / (self.lanes(i) * self.fold[i]) + 1).collect();
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
                let points = |i: usize| blocks[i].checked_mul(self.lanes(i) * self.fold[i]).filter(|&n| n <= i64::from(u32::MAX));
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
        let form = |name: &str| named(name, &self.names, |name| self.params.get(name).copied());
        parse(part, &Names { form: &form, known: KNOWN, bent: &Symbol::bent }).map_err(|FormError { what, label, help, at }| {
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
            Number::Int(value) => Ok(Cow::Owned(Affine::constant(*value))),
            // A parameter alone is what most texts are.
            Number::Text(text) => match self.params.get(text.as_str()) {
                Some(&constant) => Ok(Cow::Owned(Affine::constant(constant))),
                None => self.linear(text, 0, span, text).map(Cow::Owned),
            },
            Number::Form(form) => Ok(Cow::Borrowed(form)),
        }
    }

    /// One number from 1 to 2³¹ − 1, or as many as `most`.
    fn extents(&self, list: &Numbers, most: usize) -> Result<Vec<i64>> {
        if !(1..=most).contains(&list.get_ref().len()) {
            let most = if most == 3 { "three" } else { "nine" };
            return wrong(list.span(), format!("between one and {most} axes are needed"), None);
        }
        list.get_ref().iter().map(|number| self.extent(number)).collect()
    }

    /// Threads of a block along an axis.
    pub(super) fn lanes(&self, axis: usize) -> i64 {
        self.block.get(axis).copied().unwrap_or(1)
    }

    /// The loop around a loop, both by their numbers.
    pub(super) fn around(&self, number: usize) -> Option<usize> {
        self.loops.iter().find(|own| !own.order.unrolled() && own.number == number).and_then(|own| own.around)
    }

    /// The inner one of two loops; `None` where neither is in the other.
    pub(super) fn inner(&self, a: Option<usize>, b: Option<usize>) -> Option<Option<usize>> {
        // A loop stands below the one it is in.
        let (outer, inner) = (a.min(b), a.max(b));
        let mut at = inner;
        while at > outer {
            at = at.and_then(|number| self.around(number));
        }
        (at == outer).then_some(inner)
    }

    /// A number from 1 to 2³¹ − 1.
    pub(super) fn extent(&self, number: &Spanned<Number>) -> Result<i64> {
        match self.number(number)? {
            value @ 1..=0x7fff_ffff => Ok(value),
            value => wrong(number.span(), format!("an extent is {value}, outside 1 to 2147483647"), None),
        }
    }

    /// How long a field is: from 1 to what 64 bits address, since a field may have more elements than threads can be told apart.
    pub(super) fn length(&self, number: &Spanned<Number>) -> Result<i64> {
        match self.number(number)? {
            value @ 0x8000_0000.. => Ok(value),
            _ => self.extent(number),
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
        let extents = self.extents(list, if axes > 3 { GRID_AXES } else { 3 })?;
        match extents.len() == axes {
            true => Ok(extents),
            false => wrong(list.span(), format!("the block has {axes} axes, this {}", extents.len()), None),
        }
    }
}
