//! From what the text says to a [`Kernel`]: folding, loops, guards.

use super::linear::{Linear, Symbol};
use super::text::{
    FieldKind, Flops, Number, Raw, RawAccess, RawCoordinate, RawField, RawProxy, Reader, Registers, Result, StorePolicyName, TextError,
    Written, wrong,
};
use super::{AccessKind, AccessRef, Accesses, AffineBound, BufferLayout, Nest, NestVar, TensorPlace, TensorUse, VarKind};
use crate::affine::{Affine, VarId};
use crate::kernel::{Kernel, LaunchShape, OpClass, OpCounts};
use crate::program::{ImageFormat, Space, StorePolicy};
use crate::types::Scalar;
use crate::units::Bytes;
use std::ops::Range;
use toml::Spanned;

/// A bound that is never reached.
const UNBOUNDED: i64 = i64::MAX / 4;

/// One access as written: what it touches, and the loops it is in.
struct Item {
    access: AccessRef,
    depth: usize,
}

impl Reader<'_> {
    /// The kernel.
    pub(super) fn written(&self, raw: &Raw) -> Result<Written> {
        let axes = self.block.len();
        let order = self.block_order(raw)?;
        let mut vars = Vec::new();
        let named = |name: String, kind, trips: i64| NestVar { name: name.into(), kind, trips: u32::try_from(trips).ok() };
        let letter = |axis: usize| ["x", "y", "z"][axis];
        vars.extend(order.iter().map(|&axis| named(format!("b{}", letter(axis)), VarKind::Group, self.grid[axis])));
        vars.extend((0..axes).map(|axis| named(format!("l{}", letter(axis)), VarKind::Lane, self.block[axis])));
        for own in &raw.loops {
            vars.push(named(own.name.get_ref().clone(), VarKind::Loop, self.extent(&own.trips)?));
        }
        let place = Place { reader: self, order: &order, axes };
        let (mut tensors, mut items, mut guessed) = (Vec::new(), Vec::new(), Vec::new());
        let mut local = 0.0;
        for field in &raw.field {
            if tensors.iter().any(|tensor: &TensorUse| *tensor.name == *field.name.get_ref().as_str()) {
                return wrong(field.name.span(), format!("there are two fields `{}`", field.name.get_ref()), None);
            }
            let tensor = self.tensor(field)?;
            if field.kind == FieldKind::Local {
                local += tensor.place.bytes() as f64;
            }
            let number = tensors.len() as u16;
            for (list, kind) in [(&field.load, AccessKind::Load), (&field.store, AccessKind::Store(policy(field.policy)))] {
                for written in list {
                    for item in place.items(written, field, number, kind, &raw.guard, &tensor.place)? {
                        if item.access.spread.is_some() {
                            guessed.push((field.name.get_ref().clone(), items.len()));
                        }
                        items.push(item);
                    }
                }
            }
            tensors.push(tensor);
        }
        let points = self.domain.iter().try_fold(1_i64, |n, &extent| n.checked_mul(extent));
        let lanes = self.block.iter().chain(&self.grid).try_fold(1_i64, |n, &extent| n.checked_mul(extent));
        let (Some(points), Some(_)) = (points, lanes.filter(|&n| n < 1 << 52)) else {
            return wrong(raw.block.span(), "the launch exceeds 2^52 threads or 2^63 points", None);
        };
        let block = self.block.iter().product::<i64>();
        if block > 1 << 20 {
            return wrong(raw.block.span(), format!("a block of {block} threads runs nowhere"), None);
        }
        let fold: i64 = self.fold.iter().product();
        let (registers, registers_guessed) = self.registers(&raw.registers, fold)?;
        let kernel = Kernel {
            name: raw.name.as_str().into(),
            accesses: Accesses { nest: nest(&items, 0, axes + self.grid.len()), vars, tensors },
            launch: LaunchShape {
                groups: order.iter().map(|&axis| self.grid[axis] as u32).collect(),
                lanes: self.block.iter().map(|&extent| extent as u32).collect(),
            },
            registers,
            local: Bytes(match &raw.local {
                Some(number) => self.number(number)?.max(0) as f64,
                None => local,
            }),
            ops: self.operations(raw, fold)?,
        };
        let as_u32 = |list: &[i64]| list.iter().map(|&n| n as u32).collect();
        Ok(Written {
            kernel,
            points: points as u64,
            domain: as_u32(&self.domain),
            fold: as_u32(&self.fold),
            registers_guessed,
            guessed_accesses: guessed,
        })
    }

    /// Axes of the grid in launch order, fastest first.
    fn block_order(&self, raw: &Raw) -> Result<Vec<usize>> {
        let axes = self.block.len();
        let Some(order) = &raw.block_order else { return Ok((0..axes).collect()) };
        let listed: Vec<usize> = order.get_ref().chars().filter_map(|c| "xyz".find(c)).collect();
        let mut sorted = listed.clone();
        sorted.sort_unstable();
        if sorted != (0..axes).collect::<Vec<_>>() || order.get_ref().chars().count() != axes {
            let help = "every axis of the block once, the fastest first: block_order = \"yxz\"";
            return wrong(order.span(), format!("`{}` is no order of {axes} axes", order.get_ref()), Some(help));
        }
        Ok(listed)
    }

    fn tensor(&self, field: &RawField) -> Result<TensorUse> {
        let dims = field.dims.get_ref();
        if dims.is_empty() {
            return wrong(field.dims.span(), "a field needs at least one dimension", None);
        }
        let dims: Vec<i64> = dims.iter().rev().map(|number| self.extent(number)).collect::<Result<_>>()?;
        if dims.iter().try_fold(8_i64, |n, &extent| n.checked_mul(extent)).is_none() {
            return wrong(field.dims.span(), "the field exceeds 64 bits", None);
        }
        let element = || {
            let known = [Scalar::F16, Scalar::Bf16, Scalar::F32, Scalar::F64, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64];
            known.into_iter().find(|scalar| scalar.name() == field.element.get_ref().as_str()).ok_or_else(|| TextError {
                what: format!("unknown element `{}`", field.element.get_ref()),
                help: Some("known are f16 bf16 f32 f64 i32 u32 i64 u64, and rgba32f rgba16f rgba8 of images".into()),
                at: Some(field.element.span()),
            })
        };
        let place = match field.kind {
            FieldKind::Image2d => {
                let format = match field.element.get_ref().as_str() {
                    "rgba32f" => ImageFormat::Rgba32F,
                    "rgba16f" => ImageFormat::Rgba16F,
                    "rgba8" => ImageFormat::Rgba8Unorm,
                    other => {
                        return wrong(
                            field.element.span(),
                            format!("an image has no element `{other}`"),
                            Some("rgba32f, rgba16f or rgba8"),
                        );
                    }
                };
                let &[height, width] = dims.as_slice() else { return wrong(field.dims.span(), "an image has two dimensions", None) };
                TensorPlace::Image { format, width, height }
            }
            kind => {
                let space = match kind {
                    FieldKind::Constant => Space::Constant,
                    FieldKind::Local => Space::Local,
                    _ => Space::Global,
                };
                let layout =
                    BufferLayout { strides: self.strides(field, &dims)?, align: field.align.as_ref().map_or(Ok(0), |n| self.number(n))? };
                TensorPlace::Buffer { space, element: element()?, dims, layout }
            }
        };
        Ok(TensorUse { name: field.name.get_ref().as_str().into(), place })
    }

    fn strides(&self, field: &RawField, dims: &[i64]) -> Result<Vec<i64>> {
        let Some(list) = &field.strides else { return Ok(vec![]) };
        let strides: Vec<i64> = list.get_ref().iter().rev().map(|number| self.extent(number)).collect::<Result<_>>()?;
        if strides.len() != dims.len() || strides.last() != Some(&1) {
            let help = "elements from one index to the next along each dimension, the fastest first, which is 1";
            return wrong(list.span(), format!("these are no strides of {} dimensions", dims.len()), Some(help));
        }
        for i in 1..strides.len() {
            if strides[i - 1] < strides[i] * dims[i] || strides[i - 1] % strides[i] != 0 {
                let what = format!(
                    "{} elements from one index to the next overlap the {} of the faster dimension",
                    strides[i - 1],
                    strides[i] * dims[i]
                );
                return wrong(list.span(), what, Some("strides are multiples of each other and leave no overlap"));
            }
        }
        Ok(strides)
    }

    fn registers(&self, registers: &Spanned<Registers>, fold: i64) -> Result<(u32, bool)> {
        let span = registers.span();
        let value = |number: &Number| self.number(&Spanned::new(span.clone(), number.clone()));
        let (count, guessed) = match registers.get_ref() {
            Registers::Number(number) => (Some(value(number)?), fold > 1),
            Registers::PerPoint { base, per_point } => {
                (value(per_point)?.checked_mul(fold).and_then(|n| n.checked_add(value(base).ok()?)), false)
            }
        };
        match count.and_then(|count| u32::try_from(count).ok()).filter(|count| (1..=65536).contains(count)) {
            Some(count) => Ok((count, guessed)),
            None => wrong(span, "registers of a thread lie between 1 and 65536", None),
        }
    }

    /// Operations of a thread.
    fn operations(&self, raw: &Raw, fold: i64) -> Result<OpCounts> {
        let mut ops = OpCounts::default();
        let Some(flops) = &raw.flops else { return Ok(ops) };
        let mut add = |class, scalar, count: i64| match count.checked_mul(fold).and_then(|n| u64::try_from(n).ok()) {
            Some(count) => {
                ops.add(class, scalar, 1, count);
                Ok(())
            }
            None => wrong(flops.span(), format!("{count} operations a point"), Some("a count is 0 or more")),
        };
        match flops.get_ref() {
            Flops::Number(count) => {
                // An FMA counts 2; the type is that of the widest field.
                let double = raw.field.iter().any(|field| field.element.get_ref() == "f64");
                let scalar = if double { Scalar::F64 } else { Scalar::F32 };
                add(OpClass::Fma, scalar, count / 2)?;
                add(OpClass::Float, scalar, count % 2)?;
            }
            Flops::Classes(classes) => {
                for (name, &count) in classes {
                    let (class, scalar) = match name.as_str() {
                        "f64" => (OpClass::Float, Scalar::F64),
                        "f64_fma" => (OpClass::Fma, Scalar::F64),
                        "f32" => (OpClass::Float, Scalar::F32),
                        "f32_fma" => (OpClass::Fma, Scalar::F32),
                        "f16" => (OpClass::Float, Scalar::F16),
                        "f16_fma" => (OpClass::Fma, Scalar::F16),
                        "mma" => (OpClass::Mma, Scalar::F16),
                        "sfu" => (OpClass::Special, Scalar::F32),
                        "int" => (OpClass::Int, Scalar::I32),
                        other => {
                            let help = "known are f64 f64_fma f32 f32_fma f16 f16_fma mma sfu int";
                            return wrong(flops.span(), format!("unknown class of operations `{other}`"), Some(help));
                        }
                    };
                    add(class, scalar, count)?;
                }
            }
        }
        Ok(ops)
    }
}

fn policy(name: StorePolicyName) -> StorePolicy {
    match name {
        StorePolicyName::WriteBack => StorePolicy::WriteBack,
        StorePolicyName::WriteThrough => StorePolicy::WriteThrough,
        StorePolicyName::NonTemporal => StorePolicy::NonTemporal,
    }
}

/// Puts coordinates of points in terms of blocks, lanes and loops.
struct Place<'a> {
    reader: &'a Reader<'a>,
    /// Axes of the grid in launch order.
    order: &'a [usize],
    axes: usize,
}

impl Place<'_> {
    /// The accesses that one written access stands for: one for each point of a thread whose address no other has.
    fn items(
        &self,
        written: &Spanned<RawAccess>,
        field: &RawField,
        tensor: u16,
        kind: AccessKind,
        guards: &[Spanned<String>],
        place: &TensorPlace,
    ) -> Result<Vec<Item>> {
        let reader = self.reader;
        let (at, width, path, within, own_guards) = match written.get_ref() {
            RawAccess::At(at) => (at, None, None, None, &[][..]),
            RawAccess::With(with) => (&with.at, with.width, with.path, with.within.as_ref(), with.guard.as_slice()),
        };
        let rank = match place {
            TensorPlace::Image { .. } => 2,
            TensorPlace::Buffer { dims, .. } => dims.len(),
        };
        if at.len() != rank {
            return wrong(written.span(), format!("`{}` has {rank} dimensions, this access {}", field.name.get_ref(), at.len()), None);
        }
        let width = width.unwrap_or(1);
        if ![1, 2, 4, 8, 16].contains(&width) {
            return wrong(written.span(), format!("a width of {width}"), Some("1, 2, 4, 8 or 16 elements"));
        }
        let mut spread = None;
        let mut forms = Vec::with_capacity(rank);
        for coordinate in at {
            let part = |text: &str| reader.within(&written.span(), text);
            forms.push(match coordinate {
                RawCoordinate::Int(value) => Linear { terms: vec![], constant: *value },
                RawCoordinate::Text(text) => reader.linear(text, &part(text))?,
                RawCoordinate::Proxy(RawProxy { proxy, spread: number }) => {
                    let elements = reader.extent(&Spanned::new(written.span(), number.clone()))?;
                    spread = Some(spread.unwrap_or(1_u64).saturating_mul(elements as u64));
                    reader.linear(proxy, &part(proxy))?
                }
            });
        }
        let mentioned = forms.iter().flat_map(|form| &form.terms).filter_map(|(symbol, _)| match symbol {
            Symbol::Loop(number) if reader.unrolled[usize::from(*number)].is_none() => Some(usize::from(*number) + 1),
            _ => None,
        });
        let mut depth = mentioned.max().unwrap_or(0);
        if let Some(name) = within {
            match reader.loops.iter().position(|own| own == name) {
                Some(number) => depth = depth.max(number + 1),
                None => return wrong(written.span(), format!("there is no loop `{name}`"), None),
            }
        }
        let own_guards = own_guards.iter().map(|text| Spanned::new(reader.within(&written.span(), text), text.clone()));
        let bounds =
            guards.iter().cloned().chain(own_guards).map(|text| Ok((self.comparison(&text)?, text.span()))).collect::<Result<Vec<_>>>()?;
        let mut items: Vec<Item> = Vec::new();
        let written_out = forms
            .iter()
            .flat_map(|form| &form.terms)
            .any(|(symbol, _)| matches!(symbol, Symbol::Loop(n) if reader.unrolled[usize::from(*n)].is_some()));
        for point in self.points(written_out) {
            let coords = forms.iter().map(|form| self.affine(form, &point, &written.span())).collect::<Result<Vec<_>>>()?;
            // Buffers are listed slowest first.
            let coords: smallvec::SmallVec<[Affine; 4]> =
                if matches!(place, TensorPlace::Image { .. }) { coords.into() } else { coords.into_iter().rev().collect() };
            let mut guard = self.domain(&point, &written.span())?;
            for (form, span) in &bounds {
                guard.push(AffineBound { value: self.affine(form, &point, span)?, extent: UNBOUNDED, per_lane: false });
            }
            let path = path.unwrap_or(field.path);
            let access = AccessRef { tensor, kind, coords, width, guard, path, spread };
            if !items.iter().any(|item| item.access.coords == access.coords) {
                items.push(Item { access, depth });
            }
        }
        Ok(items)
    }

    /// Every point of a thread, as its number along each axis; then the trip of each loop, 0 where loops are not written out.
    fn points(&self, written_out: bool) -> Vec<Vec<i64>> {
        let trips = self.reader.unrolled.iter().map(|trips| trips.filter(|_| written_out).unwrap_or(1));
        let counts: Vec<i64> = self.reader.fold.iter().copied().chain(trips).collect();
        counts.iter().fold(vec![vec![]], |points, &count| {
            (0..count).flat_map(|k| points.iter().map(move |point: &Vec<i64>| point.iter().copied().chain([k]).collect())).collect()
        })
    }

    /// The bounds that keep points in the domain, where the grid reaches beyond it.
    fn domain(&self, point: &[i64], span: &Range<usize>) -> Result<Vec<AffineBound>> {
        let mut bounds = Vec::new();
        for axis in 0..self.axes {
            let (reader, unit) = (self.reader, self.reader.block[axis] * self.reader.fold[axis]);
            if reader.domain[axis] % unit != 0 {
                let coordinate = Linear { terms: vec![(Symbol::Point(axis as u8), 1)], constant: -reader.origin[axis] };
                bounds.push(AffineBound { value: self.affine(&coordinate, point, span)?, extent: reader.domain[axis], per_lane: false });
            }
        }
        Ok(bounds)
    }

    /// `left < right` and the like as a form that is 0 or more where it holds.
    fn comparison(&self, text: &Spanned<String>) -> Result<Linear> {
        let (own, span) = (text.get_ref(), text.span());
        for (sign, swap, strict) in [("<=", false, 0), (">=", true, 0), ("<", false, 1), (">", true, 1)] {
            let Some((left, right)) = own.split_once(sign) else { continue };
            let (left, right) = (self.reader.linear(left, &span)?, self.reader.linear(right, &span)?);
            let (small, large) = if swap { (right, left) } else { (left, right) };
            let slack = large.plus(&small, -1).and_then(|form| form.plus(&Linear { terms: vec![], constant: 1 }, -strict));
            return slack.map_or_else(|| wrong(span, "this exceeds 64 bits", None), Ok);
        }
        wrong(span, format!("`{own}` is no comparison"), Some("as in guard = [\"tx >= 1\", \"tx < n - 1\"]"))
    }

    /// A form in the variables of the nest, for one point of a thread.
    fn affine(&self, form: &Linear, point: &[i64], span: &Range<usize>) -> Result<Affine> {
        let reader = self.reader;
        let overflow = || TextError { what: "the address exceeds 32-bit factors".into(), help: None, at: Some(span.clone()) };
        let group = |axis: usize| VarId(self.order.iter().position(|&at| at == axis).unwrap_or(axis) as u16);
        let lane = |axis: usize| VarId((self.axes + axis) as u16);
        let mut sum = Affine::constant(form.constant);
        let add = |sum: &mut Affine, var: VarId, factor: i64| -> Result<()> {
            let factor =
                i32::try_from(factor).ok().filter(|factor| sum.coefficient(var).checked_add(*factor).is_some()).ok_or_else(overflow)?;
            sum.add_term(var, factor);
            Ok(())
        };
        for &(symbol, factor) in &form.terms {
            match symbol {
                Symbol::Point(axis) | Symbol::Lane(axis) | Symbol::Block(axis) if usize::from(axis) >= self.axes => {
                    let what = format!("the block has {} axes, this mentions axis {}", self.axes, ["x", "y", "z"][usize::from(axis)]);
                    return wrong(span.clone(), what, None);
                }
                Symbol::Point(axis) => {
                    let axis = usize::from(axis);
                    let (block, fold) = (reader.block[axis], reader.fold[axis]);
                    let (per_lane, per_point) = if reader.strided { (1, block) } else { (fold, 1) };
                    let scaled = |n: i64| factor.checked_mul(n).ok_or_else(overflow);
                    add(&mut sum, group(axis), scaled(block * fold)?)?;
                    add(&mut sum, lane(axis), scaled(per_lane)?)?;
                    let constant = scaled(reader.origin[axis] + per_point * point[axis])?;
                    sum.constant = sum.constant.checked_add(constant).ok_or_else(overflow)?;
                }
                Symbol::Lane(axis) => add(&mut sum, lane(usize::from(axis)), factor)?,
                Symbol::Block(axis) => add(&mut sum, group(usize::from(axis)), factor)?,
                Symbol::Loop(number) if reader.unrolled[usize::from(number)].is_some() => {
                    let constant = factor.checked_mul(point[self.axes + usize::from(number)]).ok_or_else(overflow)?;
                    sum.constant = sum.constant.checked_add(constant).ok_or_else(overflow)?;
                }
                Symbol::Loop(number) => add(&mut sum, VarId((2 * self.axes + usize::from(number)) as u16), factor)?,
            }
        }
        Ok(sum)
    }
}

/// Accesses in their loops: neighbours of one depth share a loop.
fn nest(items: &[Item], depth: usize, first_loop: usize) -> Vec<Nest> {
    let mut found = Vec::new();
    let mut rest = items;
    while let Some(item) = rest.first() {
        if item.depth <= depth {
            found.push(Nest::Access(item.access.clone()));
            rest = &rest[1..];
        } else {
            let inner = rest.iter().take_while(|item| item.depth > depth).count();
            found.push(Nest::Loop { var: VarId((first_loop + depth) as u16), body: nest(&rest[..inner], depth + 1, first_loop) });
            rest = &rest[inner..];
        }
    }
    found
}
