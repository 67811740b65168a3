//! Printing.

use super::words::{BELOW_COMPARISON, COMPARISON, PRIMARY, UNARY, Word, binding};
use crate::program::{Access, Array, Bound, Expr, ImageKind, Param, ParamKind, Program, Stmt, StorePolicy, UnaryOp, Unroll};
use crate::types::Const;
use half::f16;
use std::fmt::{self, Display, Formatter, Write};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        program(f, self, 0)
    }
}

impl Display for Stmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        stmt(f, self, 0)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        expr(f, self, COMPARISON)
    }
}

/// Two spaces a level.
pub(super) fn indent(f: &mut Formatter<'_>, level: usize) -> fmt::Result {
    (0..level).try_for_each(|_| f.write_str("  "))
}

/// Items with ", " between.
pub(super) fn list<T>(f: &mut Formatter<'_>, items: &[T], mut each: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        each(f, item)?;
    }
    Ok(())
}

pub(super) fn program(f: &mut Formatter<'_>, program: &Program, level: usize) -> fmt::Result {
    writeln!(f, "program {} {{", program.name)?;
    let line = |f: &mut Formatter<'_>| indent(f, level + 1);
    for size in &program.sizes {
        line(f)?;
        writeln!(f, "size {} in {}..={}", size.name, size.lo, size.hi)?;
    }
    for each in &program.params {
        line(f)?;
        param(f, each)?;
    }
    for Array { name, space, element, dims } in &program.arrays {
        line(f)?;
        write!(f, "{} {name}: {}[", space.word(), element.word())?;
        list(f, dims, |f, d| write!(f, "{d}"))?;
        writeln!(f, "]")?;
    }
    if !program.launch.groups.is_empty() {
        line(f)?;
        f.write_str("groups ")?;
        list(f, &program.launch.groups, |f, axis| write!(f, "{} = {}", axis.name, axis.extent))?;
        writeln!(f)?;
    }
    if !program.launch.lanes.is_empty() {
        line(f)?;
        f.write_str("lanes ")?;
        list(f, &program.launch.lanes, |f, axis| write!(f, "{} = {}", axis.name, axis.extent))?;
        writeln!(f)?;
    }
    if let Some(lanes) = program.launch.subgroup {
        line(f)?;
        writeln!(f, "subgroup {lanes}")?;
    }
    line(f)?;
    block(f, &program.body, level + 1)?;
    writeln!(f)?;
    indent(f, level)?;
    writeln!(f, "}}")
}

fn param(f: &mut Formatter<'_>, Param { name, kind }: &Param) -> fmt::Result {
    match kind {
        ParamKind::Buffer { space, element, dims, access: may } => {
            write!(f, "{} ", access(*may))?;
            if *space != crate::program::Space::Global {
                write!(f, "{} ", space.word())?;
            }
            write!(f, "buffer {name}: {}[", element.word())?;
            list(f, dims, |f, extent| write!(f, "{extent}"))?;
            writeln!(f, "]")
        }
        ParamKind::Image { kind, format, width, height, access: may, border } => {
            // The usual kind has the short word.
            let kind_word = if *kind == ImageKind::Image2d { "image" } else { kind.word() };
            write!(f, "{} {kind_word} {name}: {}[{width}", access(*may), format.word())?;
            if !kind.is_one_dimensional() || *height != Expr::int(1) {
                write!(f, ", {height}")?;
            }
            writeln!(f, "] border {}", border.word())
        }
        ParamKind::Channel { element, dims, depth, direction } => {
            write!(f, "{} channel {name}: {}[", direction.word(), element.word())?;
            list(f, dims, |f, d| write!(f, "{d}"))?;
            writeln!(f, "] depth {depth}")
        }
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read write",
    }
}

/// Braces around indented statements, without a line end.
fn block(f: &mut Formatter<'_>, body: &[Stmt], level: usize) -> fmt::Result {
    writeln!(f, "{{")?;
    for each in body {
        indent(f, level + 1)?;
        stmt(f, each, level + 1)?;
        writeln!(f)?;
    }
    indent(f, level)?;
    f.write_char('}')
}

/// A statement without a line end; nested lines are indented.
fn stmt(f: &mut Formatter<'_>, stmt: &Stmt, level: usize) -> fmt::Result {
    match stmt {
        Stmt::Let { name, value } => write!(f, "let {name} = {value}"),
        Stmt::Var { name, ty, init } => write!(f, "var {name}: {ty} = {init}"),
        Stmt::Assign { name, value } => write!(f, "{name} = {value}"),
        Stmt::For { var, from, to, step, unroll, body } => {
            write!(f, "for {var} in {from}..{to} ")?;
            if *step != 1 {
                write!(f, "step {step} ")?;
            }
            match unroll {
                Unroll::Auto => {}
                Unroll::None => f.write_str("unroll none ")?,
                Unroll::By(factor) => write!(f, "unroll {factor} ")?,
                Unroll::Full => f.write_str("unroll full ")?,
            }
            block(f, body, level)
        }
        Stmt::If { condition, then, otherwise } => branch(f, condition, then, otherwise, level),
        Stmt::Scope(body) => block(f, body, level),
        Stmt::Store { target, index, value, guard, policy } => {
            f.write_str(target)?;
            coordinates(f, index, 1, guard)?;
            write!(f, " = {value}")?;
            if *policy == StorePolicy::WriteBack { Ok(()) } else { write!(f, " {}", policy.word()) }
        }
        Stmt::StoreTexel { image, x, y, value, guard } => {
            texel(f, image, x, y, guard)?;
            write!(f, " = {value}")
        }
        Stmt::Atomic { op, target, index, value, compare, order, scope, old } => {
            if let Some(old) = old {
                write!(f, "let {old} = ")?;
            }
            write!(f, "atomic {} {target}", op.word())?;
            coordinates(f, index, 1, &[])?;
            write!(f, " with {value}")?;
            if let Some(compare) = compare {
                write!(f, " if was {compare}")?;
            }
            write!(f, " {} {}", order.word(), scope.word())
        }
        Stmt::Barrier { scope, local, global } => {
            write!(f, "barrier {}{}{}", scope.word(), if *local { " local" } else { "" }, if *global { " global" } else { "" })
        }
        Stmt::TileLoad { tile, source, index } => {
            write!(f, "tile load {tile} = {source}")?;
            coordinates(f, index, 1, &[])
        }
        Stmt::TileStore { target, index, tile } => {
            write!(f, "tile store {target}")?;
            coordinates(f, index, 1, &[])?;
            write!(f, " = {tile}")
        }
        Stmt::TileFill { tile, value } => write!(f, "tile fill {tile} = {value}"),
        Stmt::Mma { d, a, b } => write!(f, "tile mma {d} += {a} * {b}"),
        Stmt::Send { channel, from } => write!(f, "send {channel} from {from}"),
        Stmt::Receive { channel, into } => write!(f, "receive {channel} into {into}"),
    }
}

fn branch(f: &mut Formatter<'_>, condition: &Expr, then: &[Stmt], otherwise: &[Stmt], level: usize) -> fmt::Result {
    write!(f, "if {condition} ")?;
    block(f, then, level)?;
    match otherwise {
        [] => Ok(()),
        [Stmt::If { condition, then, otherwise }] => {
            f.write_str(" else ")?;
            branch(f, condition, then, otherwise, level)
        }
        _ => {
            f.write_str(" else ")?;
            block(f, otherwise, level)
        }
    }
}

/// `[i, j : width if 0 <= i < n]`
fn coordinates<E: Display>(f: &mut Formatter<'_>, index: &[E], width: u8, guard: &[Bound]) -> fmt::Result {
    f.write_char('[')?;
    list(f, index, |f, e| write!(f, "{e}"))?;
    if width != 1 {
        write!(f, " : {width}")?;
    }
    if !guard.is_empty() {
        f.write_str(if index.is_empty() && width == 1 { "if " } else { " if " })?;
        list(f, guard, |f, bound| {
            f.write_str("0 <= ")?;
            expr(f, &bound.value, BELOW_COMPARISON)?;
            f.write_str(" < ")?;
            expr(f, &bound.extent, BELOW_COMPARISON)?;
            f.write_str(if bound.per_lane { " per lane" } else { "" })
        })?;
    }
    f.write_char(']')
}

fn texel(f: &mut Formatter<'_>, image: &str, x: &Expr, y: &Expr, guard: &[Bound]) -> fmt::Result {
    write!(f, "{image}@")?;
    coordinates(f, &[x, y], 1, guard)
}

/// An expression in a place that takes what binds at least as tightly as `least`.
fn expr(f: &mut Formatter<'_>, e: &Expr, least: u8) -> fmt::Result {
    if tightness(e) < least { write!(f, "({e})") } else { bare(f, e) }
}

/// How tightly the outermost operator binds.
fn tightness(e: &Expr) -> u8 {
    match e {
        Expr::Const(c) if is_signed(*c) => UNARY,
        Expr::Unary(UnaryOp::Neg | UnaryOp::Not, _) => UNARY,
        Expr::Binary(op, ..) => binding(*op),
        _ => PRIMARY,
    }
}

/// Whether a literal is printed with a minus.
fn is_signed(c: Const) -> bool {
    match c {
        Const::I32(v) => v < 0,
        Const::I64(v) => v < 0,
        Const::Half(v) => v.is_sign_negative() && !v.is_nan(),
        Const::F32(v) => v.is_sign_negative() && !v.is_nan(),
        Const::F64(v) => v.is_sign_negative() && !v.is_nan(),
        Const::Bool(_) | Const::U32(_) | Const::U64(_) => false,
    }
}

/// Whether the text begins with a number, so that a minus before would become its sign.
fn leads_with_number(e: &Expr) -> bool {
    match e {
        Expr::Const(c) => !is_signed(*c) && !matches!(c, Const::Bool(_)),
        Expr::Slice { vector, .. } => leads_with_number(vector),
        _ => false,
    }
}

fn bare(f: &mut Formatter<'_>, e: &Expr) -> fmt::Result {
    match e {
        Expr::Const(c) => literal(f, *c),
        Expr::Size(name) | Expr::Var(name) => f.write_str(name),
        Expr::Load { source, index, width, guard } => {
            f.write_str(source)?;
            coordinates(f, index, *width, guard)
        }
        Expr::Texel { image, x, y, guard } => texel(f, image, x, y, guard),
        Expr::Unary(UnaryOp::Neg, a) if leads_with_number(a) => write!(f, "-({a})"),
        Expr::Unary(op @ (UnaryOp::Neg | UnaryOp::Not), a) => {
            f.write_str(op.word())?;
            expr(f, a, UNARY)
        }
        Expr::Unary(op, a) => write!(f, "{}({a})", op.word()),
        Expr::Binary(op, a, b) => match binding(*op) {
            PRIMARY => write!(f, "{}({a}, {b})", op.word()),
            level => {
                expr(f, a, if level == COMPARISON { BELOW_COMPARISON } else { level })?;
                write!(f, " {} ", op.word())?;
                expr(f, b, level + 1)
            }
        },
        Expr::Fma(a, b, c) => write!(f, "fma({a}, {b}, {c})"),
        Expr::Select(condition, a, b) => write!(f, "select({condition}, {a}, {b})"),
        Expr::Cast(to, a) => write!(f, "{}({a})", to.word()),
        Expr::Splat(a, width) => write!(f, "splat{width}({a})"),
        Expr::Concat(parts) => {
            f.write_str("concat(")?;
            list(f, parts, |f, e| write!(f, "{e}"))?;
            f.write_char(')')
        }
        Expr::Slice { vector, start, width } => {
            expr(f, vector, PRIMARY)?;
            write!(f, ".[{start}..{}]", u16::from(*start) + u16::from(*width))
        }
        Expr::Lane(vector, lane) => write!(f, "lane({vector}, {lane})"),
    }
}

/// A literal that keeps its type and every bit: the shortest digits that read back the same.
fn literal(f: &mut Formatter<'_>, c: Const) -> fmt::Result {
    match c {
        Const::Bool(v) => write!(f, "{v}"),
        Const::I32(v) => write!(f, "{v}"),
        Const::U32(v) => write!(f, "{v}u"),
        Const::I64(v) => write!(f, "{v}l"),
        Const::U64(v) => write!(f, "{v}ul"),
        Const::Half(v) if v.to_bits() == f16::NAN.to_bits() => f.write_str("nanh"),
        Const::Half(v) if v.is_nan() => write!(f, "nanh(0x{:04x})", v.to_bits()),
        Const::Half(v) => write!(f, "{:?}h", v.to_f32()),
        Const::F32(v) if v.to_bits() == f32::NAN.to_bits() => f.write_str("nan"),
        Const::F32(v) if v.is_nan() => write!(f, "nan(0x{:08x})", v.to_bits()),
        Const::F32(v) => write!(f, "{v:?}"),
        Const::F64(v) if v.to_bits() == f64::NAN.to_bits() => f.write_str("nand"),
        Const::F64(v) if v.is_nan() => write!(f, "nand(0x{:016x})", v.to_bits()),
        Const::F64(v) => write!(f, "{v:?}d"),
    }
}
