//! Broadcasts as hardware without them does them: a vector of a scalar is written to private memory, and loaded (paper 001, Listing 4 and
//! section 4.1: `vstore4`).

use super::addresses::names_of;
use super::walk::{Rewrite, rewrite};
use std::collections::BTreeMap;
use warpsight_ir::typing::TypeEnv;
use warpsight_ir::{Array, Expr, Name, Program, Scalar, Space, Stmt, StorePolicy, Type};

/// Writes out every broadcast of a float that is no constant.
pub fn written_out(mut program: Program) -> Program {
    let mut by = Broadcasts {
        env: TypeEnv::of(&program),
        names: names_of(&program),
        guarded: false,
        of_stmt: 0,
        before: vec![],
        arrays: BTreeMap::new(),
    };
    program.body = rewrite(program.body, &mut by);
    let private = |(name, ty): (Name, Type)| Array { name, space: Space::Private, element: ty.scalar, dims: vec![ty.width.into()] };
    program.arrays.extend(by.arrays.into_iter().map(private));
    program
}

struct Broadcasts {
    env: TypeEnv,
    names: Vec<Name>,
    /// Whether the statement at hand may not do anything: then what it reads is not read before it.
    guarded: bool,
    /// Vectors of the statement at hand so far: each has an array, which the next statement uses again.
    of_stmt: usize,
    before: Vec<Stmt>,
    arrays: BTreeMap<Name, Type>,
}

impl Broadcasts {
    fn array(&mut self, ty: Type) -> Name {
        let mut name = format!("{}vec{}_{}", if ty.scalar == Scalar::Half { "half" } else { "" }, ty.width, self.of_stmt);
        while self.names.iter().any(|own| **own == *name) {
            name.push('_');
        }
        self.of_stmt += 1;
        let name: Name = name.into();
        self.arrays.insert(name.clone(), ty);
        name
    }

    fn vector(&mut self, scalar: Expr, ty: Type) -> Expr {
        let (name, width) = (self.array(ty), ty.width);
        let (index, source) = (vec![Expr::int(0)], name.clone());
        let value = Expr::Splat(Box::new(scalar), width);
        self.before.push(Stmt::Store { target: name, index: index.clone(), value, guard: vec![], policy: StorePolicy::WriteBack });
        Expr::Load { source, index, width, guard: vec![] }
    }
}

impl Rewrite for Broadcasts {
    fn enter(&mut self, stmt: &Stmt) {
        self.of_stmt = 0;
        self.guarded = matches!(stmt, Stmt::Store { guard, .. } | Stmt::StoreTexel { guard, .. } if !guard.is_empty());
        // A variable that goes out of scope is not asked for again; one of the same name is declared anew.
        match stmt {
            Stmt::Let { name, value } => {
                if let Ok(ty) = self.env.type_of(value) {
                    self.env.declare(name, ty);
                }
            }
            Stmt::Var { name, ty, .. } => self.env.declare(name, *ty),
            Stmt::For { var, .. } => self.env.declare(var, Type::scalar(Scalar::I32)),
            Stmt::Atomic { old: Some(name), target, .. } => {
                if let Some(element) = self.env.element(target) {
                    self.env.declare(name, Type::scalar(element));
                }
            }
            _ => {}
        }
    }

    fn expr(&mut self, expr: Expr) -> Expr {
        expr.map(&mut |own| match own {
            Expr::Splat(scalar, width) if self.guarded && reads(&scalar) => Expr::Splat(scalar, width),
            Expr::Splat(scalar, width) if width > 1 && !matches!(*scalar, Expr::Const(_)) => match self.env.type_of(&scalar) {
                Ok(ty) if ty.scalar.is_float() => self.vector(*scalar, Type { width, ..ty }),
                _ => Expr::Splat(scalar, width),
            },
            other => other,
        })
    }

    fn before(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.before)
    }
}

/// Whether memory is read.
fn reads(expr: &Expr) -> bool {
    matches!(expr, Expr::Load { .. } | Expr::Texel { .. }) || expr.children().into_iter().any(reads)
}
