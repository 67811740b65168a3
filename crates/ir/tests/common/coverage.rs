//! Counts which variants of the grammar some Programs used. The matches are exhaustive: a new variant must be listed here.

use super::arbitrary::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use warpsight_ir::*;

/// How often each variant occurred, by its label.
#[derive(Default)]
pub struct Coverage {
    counts: BTreeMap<String, usize>,
}

const STMTS: &[&str] = &[
    "let",
    "var",
    "assign",
    "for",
    "if",
    "scope",
    "store",
    "store texel",
    "atomic",
    "barrier",
    "tile load",
    "tile store",
    "tile fill",
    "mma",
    "send",
    "receive",
];
const EXPRS: &[&str] =
    &["const", "size", "var", "load", "texel", "unary", "binary", "fma", "select", "cast", "splat", "concat", "slice", "lane"];
const PARAMS: &[&str] = &["buffer", "image", "channel"];
const UNROLLS: &[&str] = &["auto", "none", "by", "full"];
const CONSTS: &[&str] = &["bool", "i32", "u32", "i64", "u64", "half", "f32", "f64"];

impl Coverage {
    /// Variants that no Program used.
    pub fn missing(&self) -> Vec<String> {
        fn debug<T: Debug>(what: &str, all: &[T]) -> Vec<String> {
            all.iter().map(|v| format!("{what} {v:?}")).collect()
        }
        let words = [("stmt", STMTS), ("expr", EXPRS), ("param", PARAMS), ("unroll", UNROLLS), ("const", CONSTS)];
        let mut all: Vec<String> = words.iter().flat_map(|(what, list)| list.iter().map(move |w| format!("{what} {w}"))).collect();
        all.extend(debug("scalar", SCALARS));
        all.extend(debug("space", SPACES));
        all.extend(debug("access", ACCESSES));
        all.extend(debug("direction", DIRECTIONS));
        all.extend(debug("format", FORMATS));
        all.extend(debug("kind", IMAGE_KINDS));
        all.extend(debug("border", BORDERS));
        all.extend(debug("policy", POLICIES));
        all.extend(debug("atomic", ATOMIC_OPS));
        all.extend(debug("order", ORDERS));
        all.extend(debug("scope", SCOPES));
        all.extend(debug("unary", UNARY_OPS));
        all.extend(debug("binary", BINARY_OPS));
        all.retain(|label| !self.counts.contains_key(label));
        all
    }

    fn see(&mut self, what: &str, value: impl Debug) {
        *self.counts.entry(format!("{what} {value:?}")).or_default() += 1;
    }

    fn word(&mut self, what: &str, word: &str) {
        *self.counts.entry(format!("{what} {word}")).or_default() += 1;
    }

    pub fn program(&mut self, program: &Program) {
        for param in &program.params {
            match &param.kind {
                ParamKind::Buffer { space, element, dims, access } => {
                    self.word("param", "buffer");
                    self.see("space", space);
                    self.see("scalar", element);
                    self.see("access", access);
                    dims.iter().for_each(|e| self.expr(e));
                }
                ParamKind::Image { kind, format, width, height, access: _, border } => {
                    self.see("kind", kind);
                    self.word("param", "image");
                    self.see("format", format);
                    self.see("border", border);
                    self.expr(width);
                    self.expr(height);
                }
                ParamKind::Channel { direction, .. } => {
                    self.word("param", "channel");
                    self.see("direction", direction);
                }
            }
        }
        program.launch.groups.iter().for_each(|axis| self.expr(&axis.extent));
        self.block(&program.body);
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.word("stmt", Self::stmt(stmt));
            match stmt {
                Stmt::For { unroll, .. } => self.word(
                    "unroll",
                    match unroll {
                        Unroll::Auto => "auto",
                        Unroll::None => "none",
                        Unroll::By(_) => "by",
                        Unroll::Full => "full",
                    },
                ),
                Stmt::Store { policy, .. } => self.see("policy", policy),
                Stmt::Atomic { op, order, scope, .. } => {
                    self.see("atomic", op);
                    self.see("order", order);
                    self.see("scope", scope);
                }
                _ => {}
            }
            stmt.exprs().into_iter().for_each(|e| self.expr(e));
            stmt.blocks().into_iter().for_each(|b| self.block(b));
        }
    }

    fn stmt(stmt: &Stmt) -> &'static str {
        match stmt {
            Stmt::Let { .. } => "let",
            Stmt::Var { .. } => "var",
            Stmt::Assign { .. } => "assign",
            Stmt::For { .. } => "for",
            Stmt::If { .. } => "if",
            Stmt::Scope(_) => "scope",
            Stmt::Store { .. } => "store",
            Stmt::StoreTexel { .. } => "store texel",
            Stmt::Atomic { .. } => "atomic",
            Stmt::Barrier { .. } => "barrier",
            Stmt::TileLoad { .. } => "tile load",
            Stmt::TileStore { .. } => "tile store",
            Stmt::TileFill { .. } => "tile fill",
            Stmt::Mma { .. } => "mma",
            Stmt::Send { .. } => "send",
            Stmt::Receive { .. } => "receive",
        }
    }

    pub fn expr(&mut self, expr: &Expr) {
        let label = match expr {
            Expr::Const(c) => {
                let kind = match c {
                    Const::Bool(_) => "bool",
                    Const::I32(_) => "i32",
                    Const::U32(_) => "u32",
                    Const::I64(_) => "i64",
                    Const::U64(_) => "u64",
                    Const::Half(_) => "half",
                    Const::F32(_) => "f32",
                    Const::F64(_) => "f64",
                };
                self.word("const", kind);
                "const"
            }
            Expr::Size(_) => "size",
            Expr::Var(_) => "var",
            Expr::Load { .. } => "load",
            Expr::Texel { .. } => "texel",
            Expr::Unary(op, _) => {
                self.see("unary", op);
                "unary"
            }
            Expr::Binary(op, ..) => {
                self.see("binary", op);
                "binary"
            }
            Expr::Fma(..) => "fma",
            Expr::Select(..) => "select",
            Expr::Cast(..) => "cast",
            Expr::Splat(..) => "splat",
            Expr::Concat(_) => "concat",
            Expr::Slice { .. } => "slice",
            Expr::Lane(..) => "lane",
        };
        self.word("expr", label);
        expr.children().into_iter().for_each(|e| self.expr(e));
    }
}
