//! Expressions, with no more parentheses than precedence or clarity asks for.

use super::helpers::Helper;
use super::words::{literal, swizzle, type_name};
use super::{Contraction, Emitter, Result, unsupported};
use warpsight_ir::{BinaryOp, Const, Expr, Scalar, Type, UnaryOp};

// How tightly an operator binds.
pub(super) const SELECT: u8 = 1;
const OR: u8 = 2;
const AND: u8 = 3;
/// Bitwise operators and shifts: nobody knows how they nest, so they always stand in parentheses.
const BITS: u8 = 4;
const COMPARE: u8 = 5;
pub(super) const ADD: u8 = 6;
pub(super) const MUL: u8 = 7;
pub(super) const UNARY: u8 = 8;
pub(super) const PRIMARY: u8 = 9;

/// An expression in C.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub code: String,
    pub level: u8,
    pub ty: Type,
}

impl Text {
    pub fn new(code: impl Into<String>, level: u8, ty: Type) -> Self {
        Self { code: code.into(), level, ty }
    }
    /// In parentheses unless it binds at least as tightly as asked.
    pub fn at(&self, level: u8) -> String {
        if self.level >= level { self.code.clone() } else { format!("({})", self.code) }
    }
}

impl Emitter<'_> {
    /// Writes an expression; loads that need statements are put into temporaries before.
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Text> {
        let linear = std::mem::replace(&mut self.linear, false);
        Ok(match expr {
            Expr::Const(c) => {
                self.uses(c.scalar());
                constant(*c)
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
                let function = if self.options.contraction == Contraction::Fma { "fma" } else { "mad" };
                call(function, &[&a, &b, &c], a.ty)
            }
            Expr::Select(condition, a, b) => {
                let (condition, a, b) = (self.expr(condition)?, self.expr(a)?, self.expr(b)?);
                if a.ty.width == 1 {
                    let code = format!("{} ? {} : {}", condition.at(OR), a.at(OR), b.at(SELECT));
                    Text::new(code, SELECT, a.ty)
                } else if a.ty.scalar.bytes() == 8 {
                    let condition = Text::new(format!("convert_long{}({})", a.ty.width, condition.code), PRIMARY, condition.ty);
                    call("select", &[&b, &a, &condition], a.ty)
                } else {
                    call("select", &[&b, &a, &condition], a.ty)
                }
            }
            Expr::Cast(to, a) => {
                let a = self.expr(a)?;
                self.cast(*to, a)?
            }
            Expr::Splat(a, 1) => self.expr(a)?,
            Expr::Splat(a, width) => {
                let a = self.expr(a)?;
                let ty = Type::vector(a.ty.scalar, *width);
                Text::new(format!("({})({})", type_name(ty), lane_text(&a)), UNARY, ty)
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
                    _ => {
                        let lanes: Vec<String> = parts.iter().map(lane_text).collect();
                        Text::new(format!("({})({})", type_name(ty), lanes.join(", ")), UNARY, ty)
                    }
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
        slice(&vector, start, width)
    }

    /// A lane chosen at run time goes through a private array.
    fn lane(&mut self, vector: &Expr, lane: &Expr) -> Result<Text> {
        let vector = self.expr(vector)?;
        let lane = crate::index::fold(lane.clone());
        match lane.as_int() {
            _ if vector.ty.width == 1 => Ok(vector),
            Some(lane) if (0..i64::from(vector.ty.width)).contains(&lane) => Ok(self.lanes(vector, lane as u8, 1)),
            Some(lane) => unsupported(format!("lane {lane} of a vector of {}", vector.ty.width)),
            None => {
                let lane = self.expr(&lane)?;
                let lanes = self.names.fresh();
                let memory = Type::scalar(if vector.ty.scalar == Scalar::Bool { Scalar::I32 } else { vector.ty.scalar });
                self.line(format!("{} {lanes}[{}];", type_name(memory), vector.ty.width));
                self.line(format!("vstore{}({}, 0, {lanes});", vector.ty.width, vector.code));
                let element = Text::new(format!("{lanes}[{}]", lane.code), PRIMARY, memory);
                Ok(if vector.ty.scalar == Scalar::Bool { truth(&element) } else { element })
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
                let unsigned = reinterpret(&a, unsigned(ty.scalar));
                reinterpret(&prefix("-", &unsigned), ty.scalar)
            }
            (UnaryOp::Neg, _) => prefix("-", &a),
            (UnaryOp::Not, Scalar::Bool) => prefix("!", &a),
            (UnaryOp::Not, _) => prefix("~", &a),
            (UnaryOp::Abs, Scalar::U32 | Scalar::U64) => a,
            // `abs` of the smallest integer is not to be trusted: some drivers take the result to be positive.
            (UnaryOp::Abs, Scalar::I32 | Scalar::I64) => {
                let a = self.named(a);
                let negated = reinterpret(&prefix("-", &reinterpret(&a, unsigned(ty.scalar))), ty.scalar);
                call("max", &[&a, &negated], ty)
            }
            _ => call(unary_function(op), &[&a], ty),
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
                return Ok(reinterpret(&sum, ty.scalar));
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
        self.float_product |= op == BinaryOp::Mul && ty.scalar.is_float();
        Ok(operation(op, ty, &ta, &tb))
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
                Ok(operation(*op, ty, &ta, &tb))
            }
            Expr::Const(Const::I32(v)) => Ok(constant(Const::U32(*v as u32))),
            Expr::Const(Const::I64(v)) => Ok(constant(Const::U64(*v as u64))),
            other => {
                let text = self.expr(other)?;
                Ok(reinterpret(&text, unsigned(ty.scalar)))
            }
        }
    }

    /// Converts lane by lane.
    fn cast(&mut self, to: Scalar, a: Text) -> Result<Text> {
        self.uses(to);
        let (from, width) = (a.ty.scalar, a.ty.width);
        let ty = Type::vector(to.widened(), width);
        if matches!(to, Scalar::F16 | Scalar::Bf16) {
            // By way of f32 an integer beyond 2²⁴ would round twice to bf16 (f16 has no such values), an f64 to either.
            if from == Scalar::F64 || (from.is_int() && to == Scalar::Bf16) {
                return unsupported(format!("rounding {} to {} at once", from.name(), to.name()));
            }
            let single = self.cast(Scalar::F32, a)?;
            return Ok(self.rounded(to, &single));
        }
        if from == to {
            return Ok(a);
        }
        let convert = |suffix: &str, a: &Text| Text::new(format!("convert_{}{suffix}({})", type_name(ty), a.code), PRIMARY, ty);
        Ok(match (from, to) {
            (_, Scalar::Bool) => truth(&a),
            (Scalar::Bool, _) if width > 1 => {
                let ones = Text::new(format!("{} & 1", a.at(UNARY)), BITS, Type::vector(Scalar::I32, width));
                if to == Scalar::I32 { ones } else { convert("", &ones) }
            }
            (_, _) if from.is_float() && to.is_int() => convert("_sat_rtz", &a),
            (_, _) if from.is_int() && to.is_int() && !widens(from, to) => convert("_sat", &a),
            _ if width == 1 => Text::new(format!("({}){}", type_name(ty), a.at(UNARY)), UNARY, ty),
            _ => convert("", &a),
        })
    }

    /// An `f32` rounded to a 16-bit float.
    pub(super) fn rounded(&mut self, to: Scalar, a: &Text) -> Text {
        let helper = if to == Scalar::F16 { Helper::RoundHalf(a.ty.width) } else { Helper::RoundBf16(a.ty.width) };
        let name = helper.name();
        self.require(helper);
        call(&name, &[a], a.ty)
    }
}

/// An operation on operands already written.
fn operation(op: BinaryOp, ty: Type, a: &Text, b: &Text) -> Text {
    let truths = ty == Type::scalar(Scalar::Bool);
    let infix = |sign: &str, level: u8, a: String, b: String| Text::new(format!("{a} {sign} {b}"), level, ty);
    // Products of integers are written tight: they are addresses, mostly.
    let product = |sign: &str| {
        let gap = if ty.scalar.is_float() { " " } else { "" };
        Text::new(format!("{}{gap}{sign}{gap}{}", a.at(MUL), b.at(UNARY)), MUL, ty)
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
        BinaryOp::Rem if ty.scalar.is_float() => call("fmod", &[a, b], ty),
        BinaryOp::Rem => product("%"),
        BinaryOp::Min if ty.scalar.is_float() => call("fmin", &[a, b], ty),
        BinaryOp::Max if ty.scalar.is_float() => call("fmax", &[a, b], ty),
        BinaryOp::Min => call("min", &[a, b], ty),
        BinaryOp::Max => call("max", &[a, b], ty),
        BinaryOp::And if truths => infix("&&", AND, a.at(AND), b.at(COMPARE)),
        // `a && b || c` is legal, and warned about.
        BinaryOp::Or if truths => infix("||", OR, if a.level == OR { a.code.clone() } else { a.at(COMPARE) }, b.at(COMPARE)),
        BinaryOp::Xor if truths => infix("!=", COMPARE, a.at(ADD), b.at(ADD)),
        BinaryOp::And => infix("&", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Or => infix("|", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Xor => infix("^", BITS, a.at(UNARY), b.at(UNARY)),
        // OpenCL C takes the count modulo the width, as Programs do.
        BinaryOp::Shl => infix("<<", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Shr => infix(">>", BITS, a.at(UNARY), b.at(UNARY)),
        BinaryOp::Lt => compare("<", ty, a, b),
        BinaryOp::Le => compare("<=", ty, a, b),
        BinaryOp::Eq => compare("==", ty, a, b),
        BinaryOp::Ne => compare("!=", ty, a, b),
    }
}

fn constant(c: Const) -> Text {
    let code = literal(c);
    let level = if code.starts_with('-') || code.starts_with('(') { UNARY } else { PRIMARY };
    Text::new(code, level, Type::scalar(c.scalar()))
}

/// A call of a function.
pub(super) fn call(function: &str, args: &[&Text], ty: Type) -> Text {
    let args: Vec<&str> = args.iter().map(|a| a.code.as_str()).collect();
    Text::new(format!("{function}({})", args.join(", ")), PRIMARY, ty)
}

/// Truth values of vectors are `int` whatever is compared.
fn compare(sign: &str, of: Type, a: &Text, b: &Text) -> Text {
    let ty = Type::vector(Scalar::Bool, of.width);
    let text = Text::new(format!("{} {sign} {}", a.at(ADD), b.at(ADD)), COMPARE, ty);
    if ty.width > 1 && of.scalar.bytes() == 8 { call(&format!("convert_int{}", ty.width), &[&text], ty) } else { text }
}

/// Whether each lane is not zero.
pub(super) fn truth(a: &Text) -> Text {
    let zero = match a.ty.scalar {
        Scalar::F32 => "0.0f",
        Scalar::F64 => "0.0",
        _ => "0",
    };
    compare("!=", a.ty, a, &Text::new(zero, PRIMARY, a.ty))
}

/// A part of a vector literal: a scalar truth value becomes a lane of −1 or 0.
pub(super) fn lane_text(a: &Text) -> String {
    match a.code.as_str() {
        "true" => return "-1".to_owned(),
        "false" => return "0".to_owned(),
        _ => {}
    }
    if a.ty == Type::scalar(Scalar::Bool) { format!("{} ? -1 : 0", a.at(OR)) } else { a.code.clone() }
}

/// Lanes `start .. start + width`.
pub(super) fn slice(vector: &Text, start: u8, width: u8) -> Text {
    let ty = Type::vector(vector.ty.scalar, width);
    if width == vector.ty.width {
        return vector.clone();
    }
    let lanes = Text::new(format!("{}{}", vector.at(PRIMARY), swizzle(start, width)), PRIMARY, ty);
    let int = Text { ty: Type::vector(Scalar::I32, width), ..lanes.clone() };
    if ty == Type::scalar(Scalar::Bool) { truth(&int) } else { lanes }
}

/// The same bits in another type of that width.
fn reinterpret(a: &Text, to: Scalar) -> Text {
    let ty = Type::vector(to, a.ty.width);
    call(&format!("as_{}", type_name(ty)), &[a], ty)
}

fn unsigned(scalar: Scalar) -> Scalar {
    if scalar == Scalar::I64 { Scalar::U64 } else { Scalar::U32 }
}

/// Whether every value of an integer type has its like in the other.
fn widens(from: Scalar, to: Scalar) -> bool {
    matches!((from, to), (Scalar::I32, Scalar::I64) | (Scalar::U32, Scalar::I64 | Scalar::U64))
}

fn unary_function(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs => "fabs",
        UnaryOp::Floor => "floor",
        UnaryOp::Ceil => "ceil",
        UnaryOp::Exp => "exp",
        UnaryOp::Log => "log",
        UnaryOp::Sqrt => "sqrt",
        UnaryOp::Rsqrt => "rsqrt",
        UnaryOp::Tanh => "tanh",
        UnaryOp::Sin => "sin",
        UnaryOp::Cos => "cos",
        UnaryOp::Erf => "erf",
    }
}
