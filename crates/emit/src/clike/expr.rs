//! Expressions.

use super::text::{ADD, AND, BITS, COMPARE, MUL, OR, PRIMARY, SELECT, Text, UNARY, call};
use super::{Dialect, Result, Words, Writer, lacks};
use warpsight_ir::{BinaryOp, Const, Expr, Scalar, Type, UnaryOp};

impl<D: Dialect> Writer<'_, D> {
    /// Writes an expression; loads that need statements are put into temporaries before.
    pub fn expr(&mut self, expr: &Expr) -> Result<Text> {
        let linear = std::mem::replace(&mut self.linear, false);
        Ok(match expr {
            Expr::Const(c) => {
                self.uses(c.scalar());
                constant::<D>(*c)
            }
            Expr::Size(name) => Text::new(self.names.of(name), PRIMARY, Type::scalar(Scalar::I32)),
            Expr::Var(name) => Text::new(self.names.of(name), PRIMARY, self.env.type_of(expr)?),
            Expr::Load { source, index, width, guard } => self.load(source, index, *width, guard, None)?,
            Expr::Texel { image, x, y, guard } => self.texel(image, [x, y], guard, None)?,
            Expr::Unary(op, a) => {
                let wraps = self.ranges.of(expr, self.env.type_of(a)?.scalar).is_none();
                self.unary(*op, a, wraps)?
            }
            Expr::Binary(op, a, b) => {
                self.linear = linear;
                self.binary(*op, a, b)?
            }
            Expr::Fma(a, b, c) => {
                let (a, b, c) = (self.expr(a)?, self.expr(b)?, self.expr(c)?);
                call(self.dialect.fma(), &[&a, &b, &c], a.ty)
            }
            Expr::Select(condition, a, b) => {
                let (condition, a, b) = (self.expr(condition)?, self.expr(a)?, self.expr(b)?);
                if a.ty.width == 1 {
                    let code = format!("{} ? {} : {}", condition.at(OR), a.at(OR), b.at(SELECT));
                    Text::new(code, SELECT, a.ty)
                } else {
                    D::select(&condition, &a, &b)
                }
            }
            Expr::Cast(to, a) => {
                let a = self.expr(a)?;
                self.cast(*to, a)?
            }
            Expr::Splat(a, 1) => self.expr(a)?,
            Expr::Splat(a, width) => {
                let a = self.expr(a)?;
                D::splat(&a, *width)
            }
            Expr::Concat(parts) => {
                let ty = self.env.type_of(expr)?;
                let part = |part: &Expr| {
                    let text = self.expr(part)?;
                    // Several lanes taken apart within a vector literal crash some compilers.
                    Ok(if text.ty.width > 1 && matches!(part, Expr::Slice { .. }) { self.named(text) } else { text })
                };
                let parts = parts.iter().map(part).collect::<Result<Vec<Text>>>()?;
                match parts.as_slice() {
                    [only] => only.clone(),
                    _ => D::concat(&parts, ty),
                }
            }
            Expr::Slice { vector, start, width } => {
                let vector = self.expr(vector)?;
                self.lanes(vector, *start, *width)
            }
            Expr::Lane(vector, lane) => self.lane(vector, lane)?,
        })
    }

    /// Lanes of a vector; only names and calls are taken apart in place, because lanes of a vector literal crash some compilers.
    fn lanes(&mut self, vector: Text, start: u8, width: u8) -> Text {
        let simple = vector.level == PRIMARY || vector.ty.width == width;
        let vector = if simple { vector } else { self.named(vector) };
        Self::slice(&vector, start, width)
    }

    /// Lanes of a name or call.
    pub(super) fn slice(vector: &Text, start: u8, width: u8) -> Text {
        if width == vector.ty.width { vector.clone() } else { D::slice(vector, start, width) }
    }

    /// One lane.
    fn lane(&mut self, vector: &Expr, lane: &Expr) -> Result<Text> {
        let vector = self.expr(vector)?;
        let lane = crate::index::fold(lane.clone());
        match lane.as_int() {
            _ if vector.ty.width == 1 => Ok(vector),
            Some(lane) if (0..i64::from(vector.ty.width)).contains(&lane) => Ok(self.lanes(vector, lane as u8, 1)),
            Some(lane) => lacks(format!("lane {lane} of a vector of {}", vector.ty.width)),
            None => {
                let lane = self.expr(&lane)?;
                Ok(D::lane(self, &vector, &lane))
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr, wraps: bool) -> Result<Text> {
        let a = self.expr(a)?;
        let ty = a.ty;
        let prefix = |sign: &str, a: &Text| {
            // `- -x` is one operator less than `--x`.
            let code = if a.code.starts_with('-') { format!("{sign}({})", a.code) } else { format!("{sign}{}", a.at(UNARY)) };
            Text::new(code, UNARY, ty)
        };
        Ok(match (op, ty.scalar) {
            (UnaryOp::Neg, Scalar::I32 | Scalar::I64) if wraps => {
                let unsigned = D::reinterpret(&a, unsigned(ty.scalar));
                D::reinterpret(&prefix("-", &unsigned), ty.scalar)
            }
            (UnaryOp::Neg, _) => prefix("-", &a),
            (UnaryOp::Not, Scalar::Bool) => prefix("!", &a),
            (UnaryOp::Not, _) => prefix("~", &a),
            (UnaryOp::Abs, Scalar::U32 | Scalar::U64) => a,
            // `abs` of the smallest integer is not to be trusted: some drivers take the result to be positive.
            (UnaryOp::Abs, Scalar::I32 | Scalar::I64) => {
                let a = self.named(a);
                let negated = D::reinterpret(&prefix("-", &D::reinterpret(&a, unsigned(ty.scalar))), ty.scalar);
                operation(&mut self.dialect, BinaryOp::Max, ty, &a, &negated)
            }
            _ => call(&D::function(op), &[&a], ty),
        })
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Result<Text> {
        let linear = std::mem::replace(&mut self.linear, false);
        let ty = self.env.type_of(a)?;
        let arithmetic = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
        if arithmetic && matches!(ty.scalar, Scalar::I32 | Scalar::I64) && !linear {
            let whole = Expr::binary(op, a.clone(), b.clone());
            if self.ranges.of(&whole, ty.scalar).is_none() {
                let sum = self.unsigned(&whole, ty)?;
                return Ok(D::reinterpret(&sum, ty.scalar));
            }
        }
        // A scalar beside a vector is spread by the language.
        let spreads = arithmetic || (op.is_comparison() && ty.scalar != Scalar::Bool) || op == BinaryOp::Div;
        let (a, b) = match (a, b) {
            (Expr::Splat(..), Expr::Splat(..)) => (a, b),
            (Expr::Splat(scalar, _), _) if spreads => (&**scalar, b),
            (_, Expr::Splat(scalar, _)) if spreads => (a, &**scalar),
            _ => (a, b),
        };
        self.linear = linear && arithmetic;
        let ta = self.expr(a)?;
        self.linear = linear && arithmetic;
        let tb = self.expr(b)?;
        self.linear = false;
        if op == BinaryOp::Mul && ty.scalar.is_float() {
            self.dialect.multiplies_floats();
        }
        Ok(operation(&mut self.dialect, op, ty, &ta, &tb))
    }

    /// `i32` or `i64` arithmetic in the unsigned type, where it wraps.
    fn unsigned(&mut self, expr: &Expr, ty: Type) -> Result<Text> {
        match expr {
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) if self.ranges.of(expr, ty.scalar).is_none() => {
                let (op, b) = match (op, &**b) {
                    (BinaryOp::Add, Expr::Const(Const::I32(v))) if *v < 0 => (&BinaryOp::Sub, &Expr::Const(Const::I32(v.wrapping_neg()))),
                    (_, b) => (op, b),
                };
                let (ta, tb) = (self.unsigned(a, ty)?, self.unsigned(b, ty)?);
                Ok(operation(&mut self.dialect, *op, ty, &ta, &tb))
            }
            Expr::Const(Const::I32(v)) => Ok(constant::<D>(Const::U32(*v as u32))),
            Expr::Const(Const::I64(v)) => Ok(constant::<D>(Const::U64(*v as u64))),
            other => {
                let text = self.expr(other)?;
                Ok(D::reinterpret(&text, unsigned(ty.scalar)))
            }
        }
    }

    /// Converts lane by lane.
    fn cast(&mut self, to: Scalar, a: Text) -> Result<Text> {
        self.uses(to);
        let from = a.ty.scalar;
        if matches!(to, Scalar::F16 | Scalar::Bf16) {
            // By way of f32 an integer beyond 2²⁴ would round twice to bf16 (f16 has no such values), an f64 to either.
            if from == Scalar::F64 || (from.is_int() && to == Scalar::Bf16) {
                return lacks(format!("rounding {} to {} at once", from.name(), to.name()));
            }
            let single = self.cast(Scalar::F32, a)?;
            return Ok(self.dialect.rounded(to, &single));
        }
        if from == to {
            return Ok(a);
        }
        Ok(D::convert(&a, to))
    }
}

/// An operation on operands already written.
fn operation<D: Dialect>(dialect: &mut D, op: BinaryOp, ty: Type, a: &Text, b: &Text) -> Text {
    let truths = ty.scalar == Scalar::Bool && (D::Words::BOOL_LANES || ty.width == 1);
    if let Some(function) = dialect.function_of_two(op, ty) {
        return call(&function, &[a, b], ty);
    }
    let infix = |sign: &str, level: u8, a: String, b: String| Text::new(format!("{a} {sign} {b}"), level, ty);
    // Products of integers are written tight: they are addresses, mostly.
    let product = |sign: &str| {
        let gap = if ty.scalar.is_float() { " " } else { "" };
        Text::new(format!("{}{gap}{sign}{gap}{}", a.at(MUL), b.at(UNARY)), MUL, ty)
    };
    let comparison = |sign: &str| {
        let text = infix(sign, COMPARE, a.at(ADD), b.at(ADD));
        D::truths(ty, Text { ty: Type::vector(Scalar::Bool, ty.width), ..text })
    };
    match op {
        BinaryOp::Add => match b.code.strip_prefix('-') {
            Some(rest) if ty.scalar.is_int() && b.level == UNARY && rest.bytes().all(|c| c.is_ascii_digit()) => {
                infix("-", ADD, a.at(ADD), rest.to_owned())
            }
            _ => infix("+", ADD, a.at(ADD), b.at(MUL)),
        },
        BinaryOp::Sub => infix("-", ADD, a.at(ADD), b.at(MUL)),
        BinaryOp::Mul => product("*"),
        BinaryOp::Div => product("/"),
        BinaryOp::Rem => product("%"),
        BinaryOp::And if truths => infix("&&", AND, a.at(AND), b.at(COMPARE)),
        // `a && b || c` is legal, and warned about.
        BinaryOp::Or if truths => infix("||", OR, if a.level == OR { a.code.clone() } else { a.at(COMPARE) }, b.at(COMPARE)),
        BinaryOp::Xor if truths => infix("!=", COMPARE, a.at(ADD), b.at(ADD)),
        BinaryOp::And => infix("&", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Or => infix("|", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Xor => infix("^", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Shl => infix("<<", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Shr => infix(">>", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Lt => comparison("<"),
        BinaryOp::Le => comparison("<="),
        BinaryOp::Eq => comparison("=="),
        BinaryOp::Ne => comparison("!="),
        // What they are called where `function_of_two` knows no other name.
        BinaryOp::Min => call("min", &[a, b], ty),
        BinaryOp::Max => call("max", &[a, b], ty),
    }
}

fn constant<D: Dialect>(c: Const) -> Text {
    let code = D::Words::literal(c);
    let level = if code.starts_with('-') || code.starts_with('(') { UNARY } else { PRIMARY };
    Text::new(code, level, Type::scalar(c.scalar()))
}

fn unsigned(scalar: Scalar) -> Scalar {
    if scalar == Scalar::I64 { Scalar::U64 } else { Scalar::U32 }
}
