//! Uniformity: who computes one value, and so who takes one way.
//!
//! A value is *group-uniform* when all work-items of a group compute the same, *sub-group-uniform* when all lanes of a sub-group do,
//! *varying* otherwise. Constants, sizes and group axes are group-uniform; a lane axis is varying, but sub-group-uniform where the
//! axes before it fill whole sub-groups; what is loaded from memory that the launch only reads is as uniform as its address; every
//! other load, and the old value of an atomic, is varying. A `Let` is as uniform as its value, a loop variable as the loop's bounds.
//! A `Var` is as uniform as the least uniform of all its values *and of the control flow around each assignment*: a lane that leaves
//! a loop early keeps an older value.
//!
//! Assignments may come after uses (in loops), so levels are raised until nothing changes; there are three, so that ends soon.

use super::error::{CollectiveError, Invalid};
use super::invalid;
use super::position::At;
use crate::program::{Access, Expr, Launch, Name, ParamKind, Program, Scope, Stmt};
use std::collections::{HashMap, HashSet};

/// Who computes the same value. Later is less uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Group,
    Subgroup,
    Varying,
}

/// Proves that every collective statement is reached together. Names and types were checked before.
pub(super) fn check(program: &Program) -> Result<(), Invalid> {
    if !program.body.iter().any(Stmt::is_collective) {
        return Ok(());
    }
    let read_only = program.params.iter().filter(|p| match &p.kind {
        ParamKind::Buffer { access, .. } | ParamKind::Image { access, .. } => *access == Access::Read,
        ParamKind::Channel { .. } => false,
    });
    let mut walk = Walk {
        axes: axes(&program.launch),
        read_only: read_only.map(|p| &*p.name).collect(),
        levels: Vec::new(),
        raised: true,
        ids: HashMap::new(),
        next: 0,
    };
    while std::mem::take(&mut walk.raised) {
        walk.next = 0;
        walk.block(&program.body, Level::Group, None)?;
    }
    walk.next = 0;
    walk.block(&program.body, Level::Group, Some(At::body(0)))
}

/// How uniform each axis is.
fn axes(launch: &Launch) -> HashMap<&str, Level> {
    let mut levels: HashMap<&str, Level> = launch.groups.iter().map(|axis| (&*axis.name, Level::Group)).collect();
    let mut stride = 1;
    for axis in &launch.lanes {
        let level = match launch.subgroup {
            _ if axis.extent == 1 => Level::Group,
            Some(lanes) if u32::is_multiple_of(stride, lanes) => Level::Subgroup,
            _ => Level::Varying,
        };
        levels.insert(&axis.name, level);
        stride *= axis.extent;
    }
    levels
}

struct Walk<'a> {
    axes: HashMap<&'a str, Level>,
    /// Buffers and images that the launch only reads.
    read_only: HashSet<&'a str>,
    /// Of each variable, in order of declaration.
    levels: Vec<Level>,
    /// Whether a level was raised in this round.
    raised: bool,
    /// The variables in scope, as positions in `levels`.
    ids: HashMap<&'a str, usize>,
    next: usize,
}

impl<'a> Walk<'a> {
    /// Walks a block that is reached at `control`. With a place, collective statements are judged.
    fn block(&mut self, block: &'a [Stmt], control: Level, at: Option<At<'_>>) -> Result<(), Invalid> {
        let mut declared = Vec::new();
        for (position, stmt) in block.iter().enumerate() {
            let at = at.map(|at| at.nth(position));
            if let Some(at) = at {
                self.judge(stmt, control).map_err(|e| invalid(at.to_string(), e))?;
            }
            match stmt {
                Stmt::Let { name, value } => {
                    let level = self.level(value);
                    self.declare(name, level, &mut declared);
                }
                Stmt::Var { name, init, .. } => {
                    let level = self.level(init).max(control);
                    self.declare(name, level, &mut declared);
                }
                Stmt::Assign { name, value } => {
                    let level = self.level(value).max(control);
                    if let Some(&id) = self.ids.get(&**name) {
                        self.raise(id, level);
                    }
                }
                Stmt::Atomic { old: Some(name), .. } => self.declare(name, Level::Varying, &mut declared),
                _ => {}
            }
            let (inside, var) = match stmt {
                Stmt::For { var, from, to, .. } => {
                    let bounds = self.level(from).max(self.level(to));
                    (control.max(bounds), Some((var, bounds)))
                }
                Stmt::If { condition, .. } => (control.max(self.level(condition)), None),
                _ => (control, None),
            };
            let mut loop_var = Vec::new();
            if let Some((var, bounds)) = var {
                self.declare(var, bounds, &mut loop_var);
            }
            let places = at.as_ref().map(|at| at.nested(stmt));
            for (i, nested) in stmt.blocks().into_iter().enumerate() {
                self.block(nested, inside, places.as_ref().map(|places| places[i]))?;
            }
            self.end(loop_var);
        }
        self.end(declared);
        Ok(())
    }

    fn declare(&mut self, name: &'a Name, level: Level, declared: &mut Vec<&'a Name>) {
        let id = self.next;
        self.next += 1;
        self.ids.insert(name, id);
        declared.push(name);
        if id == self.levels.len() {
            self.levels.push(Level::Group);
        }
        self.raise(id, level);
    }

    fn raise(&mut self, id: usize, level: Level) {
        if level > self.levels[id] {
            self.levels[id] = level;
            self.raised = true;
        }
    }

    fn end(&mut self, declared: Vec<&'a Name>) {
        for name in declared {
            self.ids.remove(&**name);
        }
    }

    /// How uniform a value is.
    fn level(&self, expr: &Expr) -> Level {
        match expr {
            Expr::Var(name) => match self.ids.get(&**name) {
                Some(&id) => self.levels[id],
                None => self.axes.get(&**name).copied().unwrap_or(Level::Varying),
            },
            Expr::Load { source, .. } if !self.read_only.contains(&**source) => Level::Varying,
            _ => self.least(expr.children()),
        }
    }

    fn least<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Level {
        exprs.into_iter().map(|e| self.level(e)).max().unwrap_or(Level::Group)
    }

    /// Whether a collective statement is reached, and its operands are seen, by all lanes of its scope alike.
    fn judge(&self, stmt: &Stmt, control: Level) -> Result<(), CollectiveError> {
        let (what, scope) = match stmt {
            Stmt::Barrier { scope: Scope::Subgroup, .. } => ("a sub-group barrier", Level::Subgroup),
            Stmt::Barrier { .. } => ("a barrier", Level::Group),
            Stmt::TileLoad { .. } => ("a tile load", Level::Subgroup),
            Stmt::TileStore { .. } => ("a tile store", Level::Subgroup),
            Stmt::TileFill { .. } => ("a tile fill", Level::Subgroup),
            Stmt::Mma { .. } => ("an mma", Level::Subgroup),
            Stmt::Send { .. } => ("a send", Level::Group),
            Stmt::Receive { .. } => ("a receive", Level::Group),
            _ => return Ok(()),
        };
        if control > scope {
            return Err(CollectiveError::ControlFlow { what });
        }
        let operand = if matches!(stmt, Stmt::TileFill { .. }) { "the value" } else { "the index" };
        if self.least(stmt.exprs()) > scope {
            return Err(CollectiveError::Operand { what, operand });
        }
        Ok(())
    }
}
