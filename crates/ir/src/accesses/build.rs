//! From what the text says to a [`Kernel`]: folding, loops, guards.

use super::expand::{COPIES, Distinct, Item, Placer, Target};
use super::kept::{Around, kept, words};
use super::raw::{FieldKind, Flops, LoopOrder, PerPoint, Raw, RawAccess, RawBarrier, RawField, Registers, StorePolicyName};
use super::reader::{Loop, Reader};
use super::resolve::{Resolver, Unplaced, Variables};
use super::text::{Places, Unknown, Written};
use super::words::{block_axis, help_on_operations, known_operations, lane_axis, operation};
use super::wrong::{Result, TextError, wrong};
use super::{AccessKind, Accesses, BufferLayout, Nest, NestVar, TensorPlace, TensorUse, VarKind};
use crate::kernel::{Kernel, LaunchShape, OpClass, OpCounts};
use crate::near::did_you_mean;
use crate::program::{ImageFormat, Space, StorePolicy};
use crate::text::Word;
use crate::types::Scalar;
use crate::units::Bytes;
use std::iter::Peekable;
use std::ops::Range;
use toml::Spanned;

/// Fields a kernel may have, and accesses after folding.
const FIELDS: usize = 4096;
const ACCESSES: usize = 1 << 16;

/// What the fields and barriers of a text make.
#[derive(Default)]
struct Items {
    /// Accesses in program order.
    items: Vec<Item>,
    /// What they touch.
    tensors: Vec<TensorUse>,
    /// Those that are known before any kernel runs.
    known: Vec<u16>,
    /// Whether any of them mentions lanes or blocks.
    tied: bool,
    /// Loops that are written out for any of them, a bit each.
    unrolled: u32,
    /// For each barrier how many accesses come before it, and the loop it is in.
    barriers: Vec<(usize, Option<usize>)>,
    /// Where the name of each tensor stands.
    declared: Vec<Range<usize>>,
}

/// What loops do that nothing mentions.
struct Repeats {
    /// How often they repeat the operations of a point.
    flops: i64,
    /// What they repeat, in words.
    said: Vec<String>,
}

impl Reader<'_> {
    /// The kernel.
    pub(super) fn written(&self, raw: &Raw) -> Result<Written> {
        let (order, again, points) = self.launch(raw)?;
        let mut variables = self.variables(&order);
        let found = loop {
            match self.items(raw, Resolver::new(self, &order, &variables)) {
                Ok(found) => break found,
                Err(Unplaced::Wrong(error)) => return Err(error),
                // Each cut leaves smaller variables.
                Err(Unplaced::Cut(cut)) => variables.cut(cut),
            }
        };
        let Items { mut items, tensors, known, tied, unrolled, mut barriers, declared } = found;
        let Repeats { flops, said: repeated } = self.repeat(&mut items, &mut barriers, unrolled);
        let guessed = items.iter().enumerate().filter(|(_, item)| item.access.indirect.is_some());
        let guessed_accesses = guessed.map(|(i, item)| (tensors[usize::from(item.access.tensor)].name.to_string(), i)).collect();
        let fold = self.fold.iter().try_fold(1_i64, |n, &points| n.checked_mul(points)).filter(|&points| points <= COPIES);
        let Some(fold) = fold else {
            let at = raw.fold.as_ref().map_or(0..0, Spanned::span);
            return wrong(at, format!("a thread computes more than {COPIES} points"), Some("fewer points to fold"));
        };
        let mut unknowns = self.unknowns.clone();
        let (registers, registers_guessed) = match &raw.registers {
            Some(stated) => self.registers(stated, fold)?,
            None => {
                let estimated = estimated_registers(&items, &tensors, fold);
                let registers = estimated.typical as u32;
                unknowns.push(estimated);
                (registers, false)
            }
        };
        let looped = |item: &Item| self.several(item.within).is_some();
        let around = Around { points: fold as usize, before: barriers.last().map_or(0, |own| own.0), looped: &looped };
        let (kept, reused) = kept(&items, &tensors, &self.vars(&order, &variables), &around);
        let kernel = Kernel {
            name: raw.name.as_str().into(),
            launch: LaunchShape {
                groups: order.iter().map(|&axis| self.grid[axis] as u32).collect(),
                lanes: self.block.iter().map(|&extent| extent as u32).collect(),
            },
            registers,
            kept,
            reused,
            local: self.local(raw, &tensors)?,
            chain: self.chain(raw)?,
            known,
            ops: self.operations(raw, fold.saturating_mul(again).saturating_mul(flops))?,
            accesses: Accesses {
                nest: self.nest(&mut steps(items, barriers).peekable(), None, &variables),
                vars: self.vars(&order, &variables),
                tensors,
            },
        };
        let as_u32 = |list: &[i64]| list.iter().map(|&n| n as u32).collect();
        let place = |at: Range<usize>| (!at.is_empty()).then_some(at);
        Ok(Written {
            kernel,
            points: points as u64,
            domain: as_u32(&self.domain),
            fold: as_u32(&self.fold),
            tied_to_block: tied,
            registers_guessed,
            guessed_accesses,
            unknowns,
            repeated,
            places: Places {
                block: place(raw.block.span()),
                registers: raw.registers.as_ref().and_then(|own| place(own.span())),
                fields: declared,
            },
        })
    }

    /// Axes in launch order, how often grid-stride loops repeat the domain, and the points of the launch.
    pub(super) fn launch(&self, raw: &Raw) -> Result<(Vec<usize>, i64, i64)> {
        let order = self.block_order(raw)?;
        // Lanes along axes that the grid has not are points of their own.
        let further = self.block.get(self.grid.len()..).unwrap_or_default();
        let points = self.domain.iter().chain(further).try_fold(1_i64, |n, &extent| n.checked_mul(extent));
        let again = self.loops.iter().filter(|own| own.order == LoopOrder::GridStride).try_fold(1_i64, |n, own| n.checked_mul(own.trips));
        let points = points.zip(again).and_then(|(points, again)| points.checked_mul(again));
        let lanes = self.block.iter().chain(&self.grid).try_fold(1_i64, |n, &extent| n.checked_mul(extent));
        let (Some(points), Some(again), Some(_)) = (points, again, lanes.filter(|&n| n < 1 << 52)) else {
            return wrong(raw.block.span(), "the launch exceeds 2^52 threads or 2^63 points", None);
        };
        let block = self.block.iter().product::<i64>();
        if block > 1 << 20 {
            return wrong(raw.block.span(), format!("a block of {block} threads runs nowhere"), None);
        }
        Ok((order, again, points))
    }

    /// Blocks in launch order, lanes, loops that are not written out.
    pub(super) fn variables(&self, order: &[usize]) -> Variables {
        let loops = self.loops.iter().filter(|own| !own.order.unrolled()).map(|own| own.trips);
        Variables::new(order.iter().map(|&axis| self.grid[axis]).chain(self.block.iter().copied()).chain(loops))
    }

    /// The variables; one that is cut has a name for each part, `lx%32` and `lx/32`.
    pub(super) fn vars(&self, order: &[usize], variables: &Variables) -> Vec<NestVar> {
        let blocks = order.iter().map(|&axis| (block_axis(axis), VarKind::Group));
        let lanes = (0..self.block.len()).map(|axis| (lane_axis(axis), VarKind::Lane));
        let loops = self.names.iter().zip(&self.loops).filter(|(_, own)| !own.order.unrolled());
        let all = blocks.chain(lanes).chain(loops.map(|(name, _)| (name.clone(), VarKind::Loop)));
        let digits = all.enumerate().flat_map(|(of, (name, kind))| {
            let parts = variables.digits(of).len();
            variables.digits(of).enumerate().map(move |(i, (_, step, count))| {
                let below = if step > 1 { format!("/{step}") } else { String::new() };
                let above = if i + 1 < parts { format!("%{count}") } else { String::new() };
                NestVar { name: format!("{name}{below}{above}").into(), kind, trips: u32::try_from(count).ok() }
            })
        });
        digits.collect()
    }

    /// The accesses in program order, and what they touch.
    fn items(&self, raw: &Raw, forms: Resolver) -> std::result::Result<Items, Unplaced> {
        let placer = Placer::new(self, forms, &raw.guard)?;
        let mut found = Items::default();
        let mut barriers = raw.barriers.iter().peekable();
        for field in raw.field.iter() {
            let (name, items, tensors) = (field.name.get_ref(), &mut found.items, &mut found.tensors);
            while let Some(barrier) = barriers.next_if(|barrier| barrier.span().start < field.name.span().start) {
                if self.holds(barrier.get_ref().when.as_ref())? {
                    found.barriers.push((items.len(), self.barrier(barrier)?));
                }
            }
            if !self.holds(field.when.as_ref())? {
                continue;
            }
            let index = match tensors.iter().position(|tensor| *tensor.name == *name.as_str()) {
                Some(index) if goes_on(field) => index,
                Some(_) => {
                    let help = "a field goes on further down with its name and accesses alone";
                    return wrong(field.name.span(), format!("there are two fields `{name}`"), Some(help))?;
                }
                None if tensors.len() == FIELDS => {
                    return wrong(field.name.span(), format!("there are more than {FIELDS} fields"), None)?;
                }
                None => {
                    if field.known == Some(true) {
                        found.known.push(tensors.len() as u16);
                    }
                    tensors.push(self.tensor(field)?);
                    found.declared.push(field.name.span());
                    tensors.len() - 1
                }
            };
            let tensor = &tensors[index];
            if let Some(store) = field.store.first().or(field.atomic.first()).filter(|_| found.known.contains(&(index as u16))) {
                return wrong(store.span(), format!("`{name}` is known before any kernel runs"), None)?;
            }
            let constant = matches!(tensor.place, TensorPlace::Buffer { space: Space::Constant, .. });
            if let Some(store) = field.store.first().or(field.atomic.first()).filter(|_| constant) {
                return wrong(store.span(), format!("`{name}` is constant"), None)?;
            }
            let target = Target::new(field, index as u16, &tensor.place);
            if let (TensorPlace::Image { .. }, Some(atomic)) = (&tensor.place, field.atomic.first()) {
                return wrong(atomic.span(), format!("`{name}` is an image"), Some("atomics change elements of buffers"))?;
            }
            let store = AccessKind::Store(policy(field.policy));
            let lists = [(&field.load, AccessKind::Load), (&field.store, store), (&field.atomic, AccessKind::Atomic)];
            // In the order in which the lists stand in the file.
            let mut lists = lists.map(|(list, kind)| (list.first().map_or(0, |access| access.span().start), list, kind));
            lists.sort_by_key(|own| own.0);
            for (_, list, kind) in lists {
                let mut own = Distinct::of(list.len());
                for written in list {
                    placer.place(written, &target, kind, &mut own)?;
                }
                found.tied |= own.tied;
                found.unrolled |= own.unrolled;
                items.extend(own.items);
            }
            if items.len() > ACCESSES {
                return wrong(field.name.span(), format!("the kernel has more than {ACCESSES} accesses"), None)?;
            }
        }
        for barrier in barriers {
            if self.holds(barrier.get_ref().when.as_ref())? {
                found.barriers.push((found.items.len(), self.barrier(barrier)?));
            }
        }
        Ok(found)
    }

    /// Puts what stands right outside of loops that nothing mentions into them.
    fn repeat(&self, items: &mut [Item], barriers: &mut [(usize, Option<usize>)], unrolled: u32) -> Repeats {
        let mut found = Repeats { flops: 1, said: vec![] };
        let within = items.iter().map(|item| item.within).chain(barriers.iter().map(|barrier| barrier.1));
        let mut held: Vec<usize> = within.flat_map(|own| std::iter::successors(own, |&number| self.around(number))).collect();
        for (i, (name, own)) in self.names.iter().zip(&self.loops).enumerate() {
            let Loop { trips, order, number, around } = *own;
            if if order.unrolled() { unrolled >> i & 1 == 1 } else { held.contains(&number) } || trips == 1 {
                continue;
            }
            let flops = if order == LoopOrder::GridStride { "all points" } else { "all flops" };
            if order != LoopOrder::GridStride {
                found.flops = found.flops.saturating_mul(trips);
            }
            if order.unrolled() {
                found.said.push(format!(
                    "loop `{name}`: nothing mentions it, so that its {trips} trips repeat {flops}; written out, loads are made once"
                ));
                continue;
            }
            let mut repeated = 0;
            // Loops of one trip are none.
            let outside = |within: Option<usize>| self.several(within) == self.several(around);
            for item in items.iter_mut().filter(|item| outside(item.within)) {
                (item.within, repeated) = (Some(number), repeated + 1);
            }
            barriers.iter_mut().filter(|barrier| outside(barrier.1)).for_each(|barrier| barrier.1 = Some(number));
            if repeated > 0 {
                held.push(number);
            }
            let noun = if repeated == 1 { "access" } else { "accesses" };
            let place = around.map_or("outside of all loops".to_owned(), |around| format!("in `{}` alone", self.name_of(around)));
            found.said.push(format!(
                "loop `{name}`: nothing mentions it, so that its {trips} trips repeat {flops} and the {repeated} {noun} {place}"
            ));
        }
        found
    }

    /// The innermost loop of several trips that this one is, or is in.
    fn several(&self, within: Option<usize>) -> Option<usize> {
        let trips = |number: usize| self.loops.iter().find(|own| !own.order.unrolled() && own.number == number).map_or(1, |own| own.trips);
        std::iter::successors(within, |&number| self.around(number)).find(|&number| trips(number) != 1)
    }

    /// The name of the loop of that number.
    pub(super) fn name_of(&self, number: usize) -> &str {
        let own = self.loops.iter().position(|own| !own.order.unrolled() && own.number == number);
        own.map_or("", |i| self.names[i].as_str())
    }

    /// What is said where a name is none of the loops'.
    pub(super) fn no_loop(&self, name: &str) -> String {
        format!("there is no loop `{name}`{}", did_you_mean(name, self.names.iter().map(String::as_str)))
    }

    /// The loop a barrier is in.
    fn barrier(&self, barrier: &Spanned<RawBarrier>) -> Result<Option<usize>> {
        let Some(name) = &barrier.get_ref().within else { return Ok(None) };
        match self.names.iter().position(|own| own == name.get_ref()) {
            Some(i) if self.loops[i].order.unrolled() => {
                let help = "a barrier stands outside of loops, or in one with order = \"sequential\"";
                wrong(name.span(), format!("the trips of `{}` are written out", name.get_ref()), Some(help))
            }
            Some(i) => Ok(Some(self.loops[i].number)),
            None => wrong(name.span(), self.no_loop(name.get_ref()), None),
        }
    }

    /// Steps in their loops: neighbours in one loop share it.
    fn nest(&self, steps: &mut Peekable<impl Iterator<Item = Step>>, around: Option<usize>, variables: &Variables) -> Vec<Nest> {
        let mut found = Vec::new();
        while let Some(next) = steps.peek().map(|step| step.1) {
            if next == around {
                found.extend(steps.next().map(|step| step.0));
                continue;
            }
            // The loop right here that leads there.
            let Some(number) = std::iter::successors(next, |&number| self.around(number)).find(|&number| self.around(number) == around)
            else {
                break;
            };
            // The lowest part runs fastest.
            let parts = variables.digits(self.grid.len() + self.block.len() + number);
            let body = self.nest(steps, Some(number), variables);
            found.extend(parts.fold(body, |body, (var, _, _)| vec![Nest::Loop { var, body }]));
        }
        found
    }

    /// Local memory of a block: what is stated, or what its arrays occupy.
    pub(super) fn local(&self, raw: &Raw, tensors: &[TensorUse]) -> Result<Bytes> {
        if let Some(number) = &raw.local {
            return match self.number(number)? {
                bytes @ 0..=0x7fff_ffff => Ok(Bytes(bytes as f64)),
                bytes => wrong(number.span(), format!("{bytes} bytes of local memory"), Some("between 0 and 2147483647")),
            };
        }
        Ok(local_arrays(tensors))
    }

    fn chain(&self, raw: &Raw) -> Result<Option<u64>> {
        let Some(number) = &raw.chain else { return Ok(None) };
        match self.number(number)? {
            length @ 0.. => Ok(Some(length as u64)),
            length => wrong(number.span(), format!("a chain of {length} operations"), Some("0 or more")),
        }
    }

    /// Axes of the grid in launch order, fastest first.
    fn block_order(&self, raw: &Raw) -> Result<Vec<usize>> {
        let axes = self.grid.len();
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

    pub(super) fn tensor(&self, field: &RawField) -> Result<TensorUse> {
        let (Some(named), Some(extents)) = (&field.element, &field.dims) else {
            let what = format!("`{}` has no {}", field.name.get_ref(), if field.element.is_none() { "element" } else { "dims" });
            return wrong(field.name.span(), what, Some("element = \"f32\", dims = [64, 64]; only a field that goes on leaves them out"));
        };
        let (kind, dims) = (self.kind(field)?, extents.get_ref());
        if dims.is_empty() {
            return wrong(extents.span(), "a field needs at least one dimension", None);
        }
        let dims: Vec<i64> = dims
            .iter()
            .rev()
            .map(|number| if kind.image().is_some() { self.extent(number) } else { self.length(number) })
            .collect::<Result<_>>()?;
        if dims.iter().try_fold(16_i64, |n, &extent| n.checked_mul(extent)).is_none_or(|bytes| bytes > 1 << 60) {
            return wrong(extents.span(), "the field exceeds 64 bits", None);
        }
        let element = || {
            let known = [Scalar::F16, Scalar::Bf16, Scalar::F32, Scalar::F64, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64];
            known.into_iter().find(|scalar| scalar.name() == named.get_ref().as_str()).ok_or_else(|| TextError {
                what: format!("unknown element `{0}`{1}", named.get_ref(), did_you_mean(named.get_ref(), known.map(Scalar::name))),
                label: None,
                help: Some("known are f16 bf16 f32 f64 i32 u32 i64 u64, and rgba32f rgba16f rgba8 of images".into()),
                at: Some(named.span()),
            })
        };
        let place = match kind.image() {
            Some(kind) => {
                if let Some(list) = field.strides.as_ref().map(|list| list.span()).or(field.align.as_ref().map(Spanned::span)) {
                    let what = if kind.is_linear() {
                        "an image of this kind lies row by row"
                    } else {
                        "how an image lies in memory is the device's"
                    };
                    return wrong(list, what, None);
                }
                let format = match named.get_ref().as_str() {
                    "rgba32f" => ImageFormat::Rgba32F,
                    "rgba16f" => ImageFormat::Rgba16F,
                    "rgba8" => ImageFormat::Rgba8Unorm,
                    other => {
                        return wrong(named.span(), format!("an image has no element `{other}`"), Some("rgba32f, rgba16f or rgba8"));
                    }
                };
                let (height, width) = match (dims.as_slice(), kind.is_one_dimensional()) {
                    (&[height, width], false) => (height, width),
                    (&[width], true) => (1, width),
                    (_, false) => return wrong(extents.span(), "an image has two dimensions", None),
                    (_, true) => return wrong(extents.span(), format!("an {} has one dimension", kind.word()), None),
                };
                TensorPlace::Image { kind, format, width, height }
            }
            None => {
                let space = match kind {
                    FieldKind::Constant => Space::Constant,
                    FieldKind::Local => Space::Local,
                    _ => Space::Global,
                };
                let layout =
                    BufferLayout { strides: self.strides(field, &dims)?, align: field.align.as_ref().map_or(Ok(0), |n| self.small(n))? };
                TensorPlace::Buffer { space, element: element()?, dims, layout }
            }
        };
        Ok(TensorUse { name: field.name.get_ref().as_str().into(), place })
    }

    /// Buffer unless the field, or else its accesses, say otherwise.
    fn kind(&self, field: &RawField) -> Result<FieldKind> {
        let mut kind = field.kind;
        for access in field.accesses() {
            let RawAccess::With(with) = access.get_ref() else { continue };
            let Some(own) = &with.kind else { continue };
            if kind.is_some_and(|kind| kind != *own.get_ref()) {
                return wrong(own.span(), "one field has two kinds", Some("a field that is reached in two ways is two fields"));
            }
            kind = Some(*own.get_ref());
        }
        Ok(kind.unwrap_or_default())
    }

    fn strides(&self, field: &RawField, dims: &[i64]) -> Result<Vec<i64>> {
        let Some(list) = &field.strides else { return Ok(vec![]) };
        let strides: Vec<i64> = list.get_ref().iter().rev().map(|number| self.extent(number)).collect::<Result<_>>()?;
        if strides.len() != dims.len() || strides.last() != Some(&1) {
            let help = "elements from one index to the next along each dimension, the fastest first, which is 1";
            return wrong(list.span(), format!("these are no strides of {} dimensions", dims.len()), Some(help));
        }
        if strides[0].checked_mul(16 * dims[0]).is_none_or(|bytes| bytes > 1 << 60) {
            return wrong(list.span(), "the field exceeds 64 bits", None);
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
        let (count, guessed) = match registers.get_ref() {
            Registers::Number(number) => (Some(self.value(number, span.clone())?), fold > 1),
            Registers::PerPoint(PerPoint { base, per_point }) => {
                let (base, per_point) = (self.number(base)?, self.number(per_point)?);
                (per_point.checked_mul(fold).and_then(|n| n.checked_add(base)), false)
            }
        };
        match count.and_then(|count| u32::try_from(count).ok()).filter(|count| (1..=65536).contains(count)) {
            Some(count) => Ok((count, guessed)),
            None => wrong(span, "registers of a thread lie between 1 and 65536", None),
        }
    }

    /// Operations of a thread.
    fn operations(&self, raw: &Raw, times: i64) -> Result<OpCounts> {
        let mut ops = OpCounts::default();
        let Some(flops) = &raw.flops else { return Ok(ops) };
        let judged = |count: i64, at: Range<usize>| match count.checked_mul(times).filter(|n| (0..1 << 53).contains(n)) {
            Some(_) => Ok(count),
            None => wrong(at, format!("{count} operations a point"), Some("a count is 0 or more, and below 2^53 a thread")),
        };
        let mut add = |class, scalar, width, count: i64| ops.add(class, scalar, width, (count * times).unsigned_abs());
        match flops.get_ref() {
            Flops::Number(number) => {
                // An FMA counts 2; the type is that of the widest field.
                let double = raw.field.iter().any(|field| field.element.as_ref().is_some_and(|own| own.get_ref() == "f64"));
                let scalar = if double { Scalar::F64 } else { Scalar::F32 };
                let count = judged(self.value(number, flops.span())?, flops.span())?;
                add(OpClass::Fma, scalar, 1, count / 2);
                add(OpClass::Float, scalar, 1, count % 2);
            }
            Flops::Classes(classes) => {
                for (name, count) in classes {
                    let own = name.get_ref();
                    let Some((class, scalar, width)) = operation(own) else {
                        let what = format!("unknown class of operations `{own}`{}", did_you_mean(own, known_operations()));
                        return wrong(name.span(), what, Some(&help_on_operations()));
                    };
                    add(class, scalar, width, judged(self.number(count)?, count.span())?);
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

/// Whether a field says nothing but what is done with it, as one does that goes on from further up.
fn goes_on(field: &RawField) -> bool {
    let says = |access: &Spanned<RawAccess>| matches!(access.get_ref(), RawAccess::With(with) if with.kind.is_some());
    field.element.is_none()
        && field.dims.is_none()
        && field.strides.is_none()
        && field.align.is_none()
        && field.kind.is_none()
        && field.known.is_none()
        && !field.accesses().any(says)
}

/// An access or a barrier, and the loop it is in.
type Step = (Nest, Option<usize>);

/// Accesses and barriers in program order. `barriers`: accesses before it, the loop it is in.
fn steps(items: Vec<Item>, barriers: Vec<(usize, Option<usize>)>) -> impl Iterator<Item = Step> {
    let (mut items, mut barriers) = (items.into_iter().enumerate().peekable(), barriers.into_iter().peekable());
    std::iter::from_fn(move || {
        let next = items.peek().map_or(usize::MAX, |item| item.0);
        let barrier = barriers.next_if(|barrier| barrier.0 <= next).map(|barrier| (Nest::Barrier, barrier.1));
        barrier.or_else(|| items.next().map(|(_, item)| (Nest::Access(item.access), item.within)))
    })
}

/// Registers of 32 bits that a thread needs, where nobody says: those that any kernel needs, addresses of its fields, a result for each of
/// its points, and what it has loaded and not used yet. Compilers keep few loads in flight or all of a straight run.
fn estimated_registers(items: &[Item], tensors: &[TensorUse], fold: i64) -> Unknown {
    /// Coordinates, conditions and counters: kernels that do next to nothing are compiled to 8 to 20.
    const LEAST: i64 = 12;
    const USUAL: i64 = 16;
    const MANY: i64 = 32;
    /// Words that are loaded ahead.
    const AHEAD: i64 = 16;
    /// What instructions of NVIDIA can name.
    const MOST: i64 = 255;
    let loads: i64 = items.iter().filter(|item| item.access.kind == AccessKind::Load).map(|item| words(item, tensors)).sum();
    let result = fold * items.iter().map(|item| words(item, tensors)).max().unwrap_or(1);
    let pointers = 2 * tensors.len() as i64;
    let of = |base: i64, loads: i64| (base + result + loads).min(MOST);
    let typical = of(USUAL + pointers.min(8), loads.min(AHEAD));
    Unknown {
        key: "registers".to_owned(),
        lo: of(LEAST, 0).min(typical),
        typical,
        hi: of(MANY + pointers, loads).max(typical),
        why: "estimated from what a thread loads and keeps, as the file does not say".to_owned(),
    }
}

/// What the arrays in local memory occupy.
pub(super) fn local_arrays(tensors: &[TensorUse]) -> Bytes {
    let arrays = tensors.iter().filter_map(|tensor| match &tensor.place {
        TensorPlace::Buffer { space: Space::Local, element, dims, layout } => {
            let padded = layout.strides.first().zip(dims.first()).map(|(stride, extent)| stride * extent);
            Some(padded.unwrap_or_else(|| dims.iter().product()) as f64 * f64::from(element.bytes()))
        }
        _ => None,
    });
    Bytes(arrays.fold(0.0, |sum, bytes| sum + bytes))
}
