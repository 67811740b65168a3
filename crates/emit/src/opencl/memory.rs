//! Loads and stores: linear positions, guards, storage types.

use super::expr::{ADD, MUL, PRIMARY, SELECT, Text, UNARY, call, lane_text, slice, truth};
use super::helpers::Helper;
use super::words::{memory_name, space_name, type_name, zero};
use super::{Emitter, Line, Result, unsupported};
use crate::index::{add, fold, linearise, sub};
use crate::range::Interval;
use warpsight_ir::{Bound, Const, Expr, ImageFormat, Name, ParamKind, Scalar, Space, Type};

/// What a name in memory is.
struct Tensor {
    identifier: String,
    space: Space,
    element: Scalar,
    dims: Vec<Expr>,
    array: bool,
}

/// What is left of a guard when everything that always holds is left out.
struct Guard<'g> {
    /// Conditions of the access as a whole.
    whole: Vec<String>,
    /// Bounds that each lane judges for itself.
    lanes: Vec<&'g Bound>,
}

impl Emitter<'_> {
    fn tensor(&self, name: &Name) -> Result<Tensor> {
        let identifier = self.names.of(name);
        if let Some(array) = self.program.array(name) {
            let dims = array.dims.iter().map(|&d| Expr::int(d.into())).collect();
            return Ok(Tensor { identifier, space: array.space, element: array.element, dims, array: true });
        }
        match self.program.param(name).map(|p| &p.kind) {
            Some(ParamKind::Buffer { space, element, dims, .. }) => {
                Ok(Tensor { identifier, space: *space, element: *element, dims: dims.clone(), array: false })
            }
            _ => unsupported(format!("an access to `{name}`, which is no buffer or array")),
        }
    }

    /// The linear position; in 64 bits where the tensor may have more elements than an `int` counts.
    fn position(&self, tensor: &Tensor, index: &[Expr]) -> Expr {
        let elements = tensor.dims.iter().try_fold(1i128, |n, dim| n.checked_mul(self.ranges.of(dim, Scalar::I32)?.hi.max(0)));
        linearise(index, &tensor.dims, elements.is_none_or(|n| n > i32::MAX.into()))
    }

    /// The text of a position, in which sums do not overflow because every coordinate lies inside its tensor.
    fn place(&mut self, position: &Expr) -> Result<Text> {
        self.linear = true;
        let text = self.expr(position);
        self.linear = false;
        text
    }

    /// A pointer to the element at a position.
    fn pointer(&mut self, tensor: &Tensor, position: &Expr, read: bool) -> Result<Text> {
        let base = self.base(tensor, read);
        let ty = Type::scalar(tensor.element);
        if position.as_int() == Some(0) {
            return Ok(Text::new(base.clone(), if base.starts_with('(') { UNARY } else { PRIMARY }, ty));
        }
        // The sum stands in parentheses: term by term, the pointer could leave its memory on the way.
        let position = self.place(position)?;
        Ok(Text::new(format!("{base} + {}", position.at(MUL)), ADD, ty))
    }

    /// A pointer to the first element; arrays of half-precision floats hold bits that need a cast.
    fn base(&self, tensor: &Tensor, read: bool) -> String {
        match space_name(tensor.space) {
            Some(space) if tensor.array && tensor.element == Scalar::F16 => {
                format!("({}{space} half*){}", if read { "const " } else { "" }, tensor.identifier)
            }
            _ => tensor.identifier.clone(),
        }
    }

    /// Elements from a position on, with nothing to check.
    fn read(&mut self, tensor: &Tensor, position: &Expr, width: u8) -> Result<Text> {
        let ty = Type::vector(tensor.element.widened(), width);
        let raw = Type::vector(tensor.element, width);
        let code = match (tensor.element, width) {
            (Scalar::F16, 1) => {
                let position = self.place(position)?;
                return Ok(Text::new(format!("vload_half({}, {})", position.code, self.base(tensor, true)), PRIMARY, ty));
            }
            (Scalar::F16, _) => format!("vload_half{width}(0, {})", self.pointer(tensor, position, true)?.code),
            (_, 1) => format!("{}[{}]", tensor.identifier, self.place(position)?.code),
            _ => format!("vload{width}(0, {})", self.pointer(tensor, position, true)?.code),
        };
        Ok(match (tensor.element, width) {
            (Scalar::Bool, 1) => truth(&Text::new(code, PRIMARY, Type::scalar(Scalar::I32))),
            (Scalar::Bool, _) => truth(&Text::new(format!("convert_int{width}({code})"), PRIMARY, Type::vector(Scalar::I32, width))),
            (Scalar::Bf16, 1) => Text::new(format!("as_float((uint){code} << 16)"), PRIMARY, ty),
            (Scalar::Bf16, _) => Text::new(format!("as_float{width}(convert_uint{width}({code}) << 16)"), PRIMARY, ty),
            _ => Text::new(code, PRIMARY, Type { scalar: raw.scalar.widened(), ..raw }),
        })
    }

    /// The statement that writes elements from a position on, with nothing to check.
    fn write(&mut self, tensor: &Tensor, position: &Expr, value: &Text) -> Result<String> {
        let width = value.ty.width;
        if tensor.element == Scalar::F16 {
            return Ok(if width == 1 {
                let position = self.place(position)?;
                format!("vstore_half_rte({}, {}, {});", value.code, position.code, self.base(tensor, false))
            } else {
                format!("vstore_half{width}_rte({}, 0, {});", value.code, self.pointer(tensor, position, false)?.code)
            });
        }
        let memory = match tensor.element {
            Scalar::Bf16 => {
                self.require(Helper::PackBf16(width));
                call(&Helper::PackBf16(width).name(), &[value], Type::vector(Scalar::Bf16, width)).code
            }
            Scalar::Bool if width > 1 => format!("convert_{}{width}({} & 1)", memory_name(Scalar::Bool, true), value.at(UNARY)),
            _ => value.code.clone(),
        };
        Ok(if width == 1 {
            format!("{}[{}] = {memory};", tensor.identifier, self.place(position)?.code)
        } else {
            format!("vstore{width}({memory}, 0, {});", self.pointer(tensor, position, false)?.code)
        })
    }

    /// A load; `into` names the variable to declare where statements are needed.
    pub(super) fn load(&mut self, source: &Name, index: &[Expr], width: u8, guard: &[Bound], into: Option<&str>) -> Result<Text> {
        let tensor = self.tensor(source)?;
        let position = self.position(&tensor, index);
        let guard = self.guard(guard, width)?;
        let ty = Type::vector(tensor.element.widened(), width);
        if guard.whole.is_empty() && guard.lanes.is_empty() {
            return self.read(&tensor, &position, width);
        }
        if width == 1 {
            // A conditional expression evaluates its branch only when taken, unless that branch needs statements of its own.
            let before = self.lines.len();
            let value = self.read(&tensor, &position, width)?;
            if self.lines.len() == before {
                let condition = format!("({})", conjunction(&guard.whole));
                return Ok(Text::new(format!("{condition} ? {} : {}", value.at(SELECT + 1), zero(ty)), SELECT, ty));
            }
            self.lines.truncate(before);
        }
        let result = into.map_or_else(|| self.names.fresh().to_string(), str::to_owned);
        self.line(format!("{} {result} = {};", type_name(ty), zero(ty)));
        self.guarded(
            &guard,
            width,
            &position,
            |emitter, position| Ok(format!("{result} = {};", emitter.read(&tensor, position, width)?.code)),
            |emitter, position, lane| {
                let element = emitter.read(&tensor, position, 1)?;
                let element = lane_text(&element);
                Ok(format!("{result}{} = {element};", super::words::swizzle(lane, 1)))
            },
        )?;
        Ok(Text::new(result, PRIMARY, ty))
    }

    /// A store.
    pub(super) fn store(&mut self, target: &Name, index: &[Expr], value: &Expr, guard: &[Bound]) -> Result<()> {
        let tensor = self.tensor(target)?;
        let position = self.position(&tensor, index);
        let width = self.env.type_of(value)?.width;
        let guard = self.guard(guard, width)?;
        if guard.lanes.is_empty() {
            let body = |emitter: &mut Self| {
                let value = emitter.expr(value)?;
                let statement = emitter.write(&tensor, &position, &value)?;
                emitter.line(statement);
                Ok(())
            };
            return self.when(&conjunction(&guard.whole), body);
        }
        let bare = Guard { whole: vec![], lanes: guard.lanes };
        self.when(&conjunction(&guard.whole), |emitter| {
            let value = emitter.expr(value)?;
            let value = emitter.named(value);
            emitter.guarded(
                &bare,
                width,
                &position,
                |emitter, position| emitter.write(&tensor, position, &value),
                |emitter, position, lane| emitter.write(&tensor, position, &slice(&value, lane, 1)),
            )
        })
    }

    /// A texel; `into` as for loads.
    pub(super) fn texel(&mut self, image: &Name, at: [&Expr; 2], guard: &[Bound], into: Option<&str>) -> Result<Text> {
        let Some(ParamKind::Image { format, border, .. }) = self.program.param(image).map(|p| &p.kind) else {
            return unsupported(format!("a texel of `{image}`, which is no image"));
        };
        let sampler = Helper::sampler(*border);
        self.require(sampler);
        let ty = Type::vector(format.scalar(), 4);
        let read = |emitter: &mut Self| {
            let at = emitter.pair(at)?;
            Ok(Text::new(format!("read_image{}({}, {}, {at})", suffix(*format), emitter.names.of(image), sampler.name()), PRIMARY, ty))
        };
        let guard = self.guard(guard, 1)?;
        if guard.whole.is_empty() {
            return read(self);
        }
        let result = into.map_or_else(|| self.names.fresh().to_string(), str::to_owned);
        self.line(format!("{} {result} = {};", type_name(ty), zero(ty)));
        self.when(&conjunction(&guard.whole), |emitter| {
            let value = read(emitter)?;
            emitter.line(format!("{result} = {};", value.code));
            Ok(())
        })?;
        Ok(Text::new(result, PRIMARY, ty))
    }

    /// Writes a texel.
    pub(super) fn store_texel(&mut self, image: &Name, at: [&Expr; 2], value: &Expr, guard: &[Bound]) -> Result<()> {
        let Some(ParamKind::Image { format, .. }) = self.program.param(image).map(|p| &p.kind) else {
            return unsupported(format!("a texel of `{image}`, which is no image"));
        };
        let guard = self.guard(guard, 1)?;
        self.when(&conjunction(&guard.whole), |emitter| {
            let (at, value) = (emitter.pair(at)?, emitter.expr(value)?);
            let image = emitter.names.of(image);
            emitter.line(format!("write_image{}({image}, {at}, {});", suffix(*format), value.code));
            Ok(())
        })
    }

    fn pair(&mut self, [x, y]: [&Expr; 2]) -> Result<String> {
        let (x, y) = (self.expr(&fold(x.clone()))?, self.expr(&fold(y.clone()))?);
        Ok(format!("(int2)({}, {})", x.code, y.code))
    }

    /// A pointer for an atomic, the element's type and the space.
    pub(super) fn atomic_target(&mut self, target: &Name, index: &[Expr]) -> Result<(Text, Scalar, Space)> {
        let tensor = self.tensor(target)?;
        let position = self.position(&tensor, index);
        Ok((self.pointer(&tensor, &position, false)?, tensor.element, tensor.space))
    }

    /// Writes an access behind what is left of its guard: as a whole where all lanes are inside, else element by element.
    fn guarded(
        &mut self,
        guard: &Guard,
        width: u8,
        position: &Expr,
        whole: impl Fn(&mut Self, &Expr) -> Result<String>,
        element: impl Fn(&mut Self, &Expr, u8) -> Result<String>,
    ) -> Result<()> {
        self.when(&conjunction(&guard.whole), |emitter| {
            if guard.lanes.is_empty() {
                let statement = whole(emitter, position)?;
                emitter.line(statement);
                return Ok(());
            }
            let mut values = Vec::new();
            let mut position = position.clone();
            for bound in &guard.lanes {
                let value = emitter.bound_value(&bound.value)?;
                if position == fold(bound.value.clone()) {
                    position = value.clone();
                }
                values.push((value, fold(bound.extent.clone())));
            }
            let position = &position;
            let mut inside = Vec::new();
            for (value, extent) in &values {
                inside.extend(emitter.condition(value, extent, width)?);
            }
            emitter.line(format!("if ({}) {{", conjunction(&inside)));
            let fast = emitter.captured(|emitter| {
                let statement = whole(emitter, position)?;
                emitter.line(statement);
                Ok(())
            })?;
            emitter.lines.extend(fast);
            emitter.line("} else {");
            let slow = emitter.captured(|emitter| {
                let first = emitter.bound_position(position)?;
                for lane in 0..width {
                    let mut conditions = Vec::new();
                    for (value, extent) in &values {
                        conditions.extend(emitter.condition(&add(value.clone(), Expr::int(lane.into())), extent, 1)?);
                    }
                    let statement = element(emitter, &offset(&first, lane), lane)?;
                    let condition = conjunction(&conditions);
                    emitter.line(if condition.is_empty() { statement } else { format!("if ({condition}) {statement}") });
                }
                Ok(())
            })?;
            emitter.lines.extend(slow);
            emitter.line("}");
            Ok(())
        })
    }

    /// Writes statements under a condition; none where it is empty.
    fn when(&mut self, condition: &str, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if condition.is_empty() {
            return body(self);
        }
        let lines = self.captured(body)?;
        match lines.as_slice() {
            [Line { text, .. }] => self.line(format!("if ({condition}) {text}")),
            _ => {
                self.line(format!("if ({condition}) {{"));
                self.lines.extend(lines);
                self.line("}");
            }
        }
        Ok(())
    }

    /// Sorts the bounds of a guard and leaves out what always holds.
    fn guard<'g>(&mut self, bounds: &'g [Bound], width: u8) -> Result<Guard<'g>> {
        let mut guard = Guard { whole: vec![], lanes: vec![] };
        for bound in bounds {
            if bound.per_lane && width > 1 {
                let (low, high) = self.open_sides(&fold(bound.value.clone()), &fold(bound.extent.clone()), width);
                if low || high {
                    guard.lanes.push(bound);
                }
            } else {
                guard.whole.extend(self.condition(&fold(bound.value.clone()), &fold(bound.extent.clone()), 1)?);
            }
        }
        Ok(guard)
    }

    /// Whether `0 ≤ value`, and whether `value + lanes ≤ extent`, remain to be checked.
    fn open_sides(&self, value: &Expr, extent: &Expr, lanes: u8) -> (bool, bool) {
        let (v, e) = (self.ranges.of(value, Scalar::I32), self.ranges.of(extent, Scalar::I32));
        let low = v.is_none_or(|v| v.lo < 0);
        let high = v.zip(e).is_none_or(|(v, e)| v.hi + i128::from(lanes) > e.lo);
        (low, high)
    }

    /// The text of `0 ≤ value` and `value + lanes ≤ extent` without the sides that always hold; `None` where both do.
    fn condition(&mut self, value: &Expr, extent: &Expr, lanes: u8) -> Result<Option<String>> {
        let (low, high) = self.open_sides(value, extent, lanes);
        let v = if low || high { self.expr(value)? } else { return Ok(None) };
        if low && high && lanes == 1 && self.ranges.of(extent, Scalar::I32).is_some_and(|e| e.lo >= 0) {
            // One comparison does both: a negative value is a large unsigned one.
            let extent = match extent.as_int() {
                Some(extent) => format!("{extent}u"),
                None => format!("(uint){}", self.expr(extent)?.at(UNARY)),
            };
            return Ok(Some(format!("(uint){} < {extent}", v.at(UNARY))));
        }
        let above = format!("{} >= 0", v.at(ADD));
        if !high {
            return Ok(Some(above));
        }
        let below = if lanes == 1 {
            format!("{} < {}", v.at(ADD), self.expr(extent)?.at(ADD))
        } else {
            format!("{} <= {}", v.at(ADD), self.expr(&sub(extent.clone(), Expr::int(lanes.into())))?.at(ADD))
        };
        Ok(Some(if low { format!("{above} && {below}") } else { below }))
    }

    /// A value that is used several times: itself where simple, else a temporary of known range.
    fn bound_value(&mut self, value: &Expr) -> Result<Expr> {
        let value = fold(value.clone());
        let interval = self.ranges.of(&value, Scalar::I32);
        self.temporary(value, interval, false)
    }

    fn bound_position(&mut self, position: &Expr) -> Result<Expr> {
        self.temporary(position.clone(), None, true)
    }

    fn temporary(&mut self, value: Expr, interval: Option<Interval>, place: bool) -> Result<Expr> {
        if matches!(value, Expr::Var(_) | Expr::Size(_) | Expr::Const(_)) {
            return Ok(value);
        }
        let ty = self.env.type_of(&value)?;
        let text = if place { self.place(&value)? } else { self.expr(&value)? };
        let name = self.names.fresh();
        self.line(format!("const {} {name} = {};", type_name(ty), text.code));
        self.env.declare(&name, ty);
        self.ranges.declare(&name, interval);
        Ok(Expr::Var(name))
    }

    /// A value that is used several times: itself where it is a name, else a temporary.
    pub(super) fn named(&mut self, value: Text) -> Text {
        if value.code.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_') {
            return value;
        }
        let name = self.names.fresh();
        self.line(format!("const {} {name} = {};", type_name(value.ty), value.code));
        Text::new(&*name, PRIMARY, value.ty)
    }
}

/// A position some elements further.
fn offset(first: &Expr, lane: u8) -> Expr {
    match first {
        Expr::Const(Const::I64(v)) => Expr::Const(Const::I64(v + i64::from(lane))),
        _ => add(first.clone(), Expr::int(lane.into())),
    }
}

fn conjunction(conditions: &[String]) -> String {
    conditions.join(" && ")
}

/// The letter of an image function for a format.
fn suffix(format: ImageFormat) -> char {
    match format.scalar() {
        Scalar::I32 => 'i',
        Scalar::U32 => 'u',
        _ => 'f',
    }
}
