//! Loads and stores: linear positions, conditional accesses.

use super::guard::Guard;
use super::text::{ADD, MUL, PRIMARY, SELECT, Text, UNARY, conjunction};
use super::{Dialect, Image, Result, Words, Writer, lacks};
use crate::index::{fold, linearise, split};
use warpsight_ir::{Bound, Expr, Name, ParamKind, Scalar, Space, StorePolicy, Type};

/// What a name in memory is.
pub(crate) struct Tensor {
    pub identifier: String,
    pub space: Space,
    pub element: Scalar,
    pub dims: Vec<Expr>,
    /// Whether the Program declares it itself.
    pub array: bool,
}

/// A linear position in a tensor.
pub(crate) struct Place<'t> {
    pub tensor: &'t Tensor,
    /// The position, written.
    pub position: Text,
    /// Whether it is the first element's.
    first: bool,
    /// The position is a multiple of two to this power, as far as a proof goes.
    pub divisor: u32,
}

impl Place<'_> {
    /// The element itself.
    pub fn element(&self) -> String {
        format!("{}[{}]", self.tensor.identifier, self.position.code)
    }

    /// The element's address, from that of the first.
    pub fn pointer(&self, base: String) -> Text {
        let ty = Type::scalar(self.tensor.element);
        if self.first {
            let level = if base.starts_with('(') { UNARY } else { PRIMARY };
            return Text::new(base, level, ty);
        }
        // The sum stands in parentheses: term by term, the pointer could leave its memory on the way.
        Text::new(format!("{base} + {}", self.position.at(MUL)), ADD, ty)
    }
}

impl<D: Dialect> Writer<'_, D> {
    pub fn tensor(&self, name: &Name) -> Result<Tensor> {
        let identifier = self.names.of(name);
        if let Some(array) = self.program.array(name) {
            let dims = array.dims.iter().map(|&d| Expr::int(d.into())).collect();
            return Ok(Tensor { identifier, space: array.space, element: array.element, dims, array: true });
        }
        match self.program.param(name).map(|p| &p.kind) {
            Some(ParamKind::Buffer { space, element, dims, .. }) => {
                Ok(Tensor { identifier, space: *space, element: *element, dims: dims.clone(), array: false })
            }
            _ => lacks(format!("an access to `{name}`, which is no buffer or array")),
        }
    }

    /// The linear position; in 64 bits where the tensor may have more elements than an `int` counts.
    pub fn position(&self, tensor: &Tensor, index: &[Expr]) -> Expr {
        linearise(index, &tensor.dims, self.elements(tensor).is_none_or(|n| n > i32::MAX.into()))
    }

    /// At most so many elements.
    fn elements(&self, tensor: &Tensor) -> Option<i128> {
        tensor.dims.iter().try_fold(1i128, |n, dim| n.checked_mul(self.ranges.of(dim, Scalar::I32)?.hi.max(0)))
    }

    /// The text of a position whose constant is added at the width of a pointer, where an `int` holds the rest: processors add it in the access
    /// itself, and all accesses that differ in it alone share a register.
    fn apart(&mut self, tensor: &Tensor, position: &Expr) -> Result<Option<Text>> {
        let (rest, constant) = split(position.clone());
        let size = i64::from(constant).abs();
        let room = self.elements(tensor).is_some_and(|n| n + i128::from(size) <= i32::MAX.into());
        let Some(word) = D::POINTER_WIDE.filter(|_| constant != 0 && room && !tensor.array) else { return Ok(None) };
        let rest = self.linear(&rest)?;
        let sign = if constant < 0 { "-" } else { "+" };
        Ok(Some(Text::new(format!("({word}){} {sign} {size}", rest.at(UNARY)), ADD, rest.ty)))
    }

    /// The text of a position, in which sums do not overflow because every coordinate lies inside its tensor.
    pub(super) fn linear(&mut self, position: &Expr) -> Result<Text> {
        self.linear = true;
        let text = self.expr(position);
        self.linear = false;
        text
    }

    /// A position in a tensor, written.
    pub fn place<'t>(&mut self, tensor: &'t Tensor, position: &Expr) -> Result<Place<'t>> {
        let divisor = self.divisors.of(position);
        let text = self.apart(tensor, position)?;
        let text = text.map_or_else(|| self.linear(position), Ok)?;
        Ok(Place { tensor, position: text, first: position.as_int() == Some(0), divisor })
    }

    /// Elements from a position on, with nothing to check.
    fn read(&mut self, tensor: &Tensor, position: &Expr, width: u8) -> Result<Text> {
        let place = self.place(tensor, position)?;
        Ok(self.dialect.read(&place, width))
    }

    /// The statement that writes elements from a position on, with nothing to check.
    fn write(&mut self, tensor: &Tensor, position: &Expr, value: &Text, policy: StorePolicy) -> Result<String> {
        let place = self.place(tensor, position)?;
        Ok(self.dialect.write(&place, value, policy))
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
                return Ok(Text::new(format!("{condition} ? {} : {}", value.at(SELECT + 1), D::Words::zero(ty)), SELECT, ty));
            }
            self.lines.truncate(before);
        }
        let result = into.map_or_else(|| self.names.fresh().to_string(), str::to_owned);
        self.line(format!("{} {result} = {};", D::Words::type_name(ty), D::Words::zero(ty)));
        self.guarded(
            &guard,
            width,
            &position,
            |writer, position| Ok(format!("{result} = {};", writer.read(&tensor, position, width)?.code)),
            |writer, position, lane| Ok(D::set_lane(&result, lane, &writer.read(&tensor, position, 1)?)),
        )?;
        Ok(Text::new(result, PRIMARY, ty))
    }

    /// A store.
    pub(super) fn store(&mut self, target: &Name, index: &[Expr], value: &Expr, guard: &[Bound], policy: StorePolicy) -> Result<()> {
        let tensor = self.tensor(target)?;
        let position = self.position(&tensor, index);
        let width = self.env.type_of(value)?.width;
        let guard = self.guard(guard, width)?;
        if guard.lanes.is_empty() {
            let body = |writer: &mut Self| {
                let value = writer.expr(value)?;
                let statement = writer.write(&tensor, &position, &value, policy)?;
                writer.line(statement);
                Ok(())
            };
            return self.when(&conjunction(&guard.whole), body);
        }
        let bare = Guard { whole: vec![], lanes: guard.lanes };
        self.when(&conjunction(&guard.whole), |writer| {
            let value = writer.expr(value)?;
            let value = writer.named(value);
            writer.guarded(
                &bare,
                width,
                &position,
                |writer, position| writer.write(&tensor, position, &value, policy),
                |writer, position, lane| writer.write(&tensor, position, &Self::slice(&value, lane, 1), policy),
            )
        })
    }

    /// A texel; `into` as for loads.
    pub(super) fn texel(&mut self, image: &Name, at: [&Expr; 2], guard: &[Bound], into: Option<&str>) -> Result<Text> {
        let image = self.image(image)?;
        let ty = Type::vector(image.format.scalar(), 4);
        let read = |writer: &mut Self| {
            let [x, y] = writer.pair(at)?;
            Ok(writer.dialect.texel(&image, [&x, &y]))
        };
        let guard = self.guard(guard, 1)?;
        if guard.whole.is_empty() {
            return read(self);
        }
        let result = into.map_or_else(|| self.names.fresh().to_string(), str::to_owned);
        self.line(format!("{} {result} = {};", D::Words::type_name(ty), D::Words::zero(ty)));
        self.when(&conjunction(&guard.whole), |writer| {
            let value = read(writer)?;
            writer.line(format!("{result} = {};", value.code));
            Ok(())
        })?;
        Ok(Text::new(result, PRIMARY, ty))
    }

    /// Writes a texel.
    pub(super) fn store_texel(&mut self, image: &Name, at: [&Expr; 2], value: &Expr, guard: &[Bound]) -> Result<()> {
        let image = self.image(image)?;
        let guard = self.guard(guard, 1)?;
        self.when(&conjunction(&guard.whole), |writer| {
            let ([x, y], value) = (writer.pair(at)?, writer.expr(value)?);
            writer.line(D::write_texel(&image, [&x, &y], &value));
            Ok(())
        })
    }

    /// What is known of an image parameter.
    fn image(&mut self, name: &Name) -> Result<Image> {
        let Some(ParamKind::Image { kind, format, width, border, .. }) = self.program.param(name).map(|p| &p.kind) else {
            return lacks(format!("a texel of `{name}`, which is no image"));
        };
        let pitch = D::pitch(width).map_or(Ok(String::new()), |texels| self.size(&texels))?;
        Ok(Image { name: self.names.of(name).to_string(), kind: *kind, format: *format, border: *border, pitch })
    }

    fn pair(&mut self, [x, y]: [&Expr; 2]) -> Result<[String; 2]> {
        Ok([self.expr(&fold(x.clone()))?.code, self.expr(&fold(y.clone()))?.code])
    }

    /// A value that is used several times: itself where it is a name, else a temporary.
    pub(super) fn named(&mut self, value: Text) -> Text {
        if value.code.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_') {
            return value;
        }
        let name = self.names.fresh();
        self.line(format!("const {} {name} = {};", D::Words::type_name(value.ty), value.code));
        Text::new(&*name, PRIMARY, value.ty)
    }
}
