//! The structural estimate of registers.

use crate::program::{Program, Space, Stmt};
use crate::types::{Scalar, Type};
use crate::typing::TypeEnv;

/// 32-bit registers per work-item: the largest number of words of variables that are in scope together.
///
/// Every group and lane axis counts one word; every `Let`, `Var`, loop variable and old value of an atomic the words of its type
/// ([`Type::words`]; a 16-bit `Var` half a word a lane) from its statement to the end of its block; private arrays their elements and
/// tiles their share per lane of the sub-group, for the whole Program. Intermediate results of an expression count nothing.
///
/// This is a definition that the closed forms of a [`crate::Family`] share. A compiler merges, splits and spills at will: what
/// drivers report differs, and reports show by how much.
pub fn registers(program: &Program) -> u32 {
    let axes = program.launch.groups.len() + program.launch.lanes.len();
    let lanes = u64::from(program.launch.subgroup.unwrap_or(1).max(1));
    let arrays = program.arrays.iter().map(|array| {
        let words = (array.len() as u64).saturating_mul(u64::from(array.element.bytes())).div_ceil(4);
        match array.space {
            Space::Private => words,
            Space::Tile => words.div_ceil(lanes),
            Space::Global | Space::Constant | Space::Local => 0,
        }
    });
    let always = axes as u64 + arrays.sum::<u64>();
    let peak = always + block(&program.body, &mut TypeEnv::of(program));
    u32::try_from(peak).unwrap_or(u32::MAX)
}

/// The most words that a block's variables occupy, counted from its beginning.
fn block(stmts: &[Stmt], types: &mut TypeEnv) -> u64 {
    let (mut live, mut peak) = (0, 0);
    for stmt in stmts {
        let own = match stmt {
            // A value without a type exists in no valid Program.
            Stmt::Let { name, value } => Some((name, types.type_of(value).unwrap_or(Type::scalar(Scalar::I32)))),
            Stmt::Var { name, ty, .. } => Some((name, *ty)),
            Stmt::Atomic { target, old: Some(old), .. } => Some((old, Type::scalar(types.element(target).unwrap_or(Scalar::I32)))),
            _ => None,
        };
        if let Some((name, ty)) = own {
            types.declare(name, ty);
            live += u64::from(ty.words());
        }
        let inside = match stmt {
            Stmt::For { var, body, .. } => {
                types.declare(var, Type::scalar(Scalar::I32));
                1 + block(body, types)
            }
            _ => stmt.blocks().into_iter().map(|b| block(b, types)).max().unwrap_or(0),
        };
        peak = peak.max(live + inside);
    }
    peak
}
