//! Coordinates and guards derived from random programs against those that executing the programs observes.

use fastrand::Rng;
use std::collections::HashMap;
use warpsight_ir::program::BinaryOp::{self, *};
use warpsight_ir::*;

fn bin(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

/// Makes programs whose index expressions are mostly affine, now and then not.
struct Maker {
    rng: Rng,
    fresh: u32,
}

impl Maker {
    fn index(&mut self, scope: &[String], depth: u32) -> Expr {
        if depth == 0 || self.rng.u32(..4) == 0 {
            return if self.rng.bool() { Expr::int(self.rng.i64(-3..20)) } else { Expr::var(self.rng.choice(scope).unwrap()) };
        }
        let a = self.index(scope, depth - 1);
        match self.rng.u32(..10) {
            0..=3 => bin(Add, a, self.index(scope, depth - 1)),
            4 => bin(Sub, a, self.index(scope, depth - 1)),
            5 => bin(Mul, a, Expr::int(self.rng.i64(-2..9))),
            6 => bin(*self.rng.choice(&[Div, Rem]).unwrap(), a, Expr::int(self.rng.i64(1..9))),
            7 => bin(*self.rng.choice(&[Shl, Shr]).unwrap(), a, Expr::int(self.rng.i64(0..4))),
            8 => bin(*self.rng.choice(&[Min, Max]).unwrap(), a, Expr::int(self.rng.i64(-3..40))),
            _ => Expr::unary(UnaryOp::Neg, a),
        }
    }

    fn condition(&mut self, scope: &[String]) -> Expr {
        let op = *self.rng.choice(&[Lt, Lt, Le, Eq]).unwrap();
        let one = bin(op, self.index(scope, 1), self.index(scope, 1));
        match self.rng.u32(..4) {
            0 => bin(And, one, self.condition(scope)),
            1 => Expr::unary(UnaryOp::Not, one),
            _ => one,
        }
    }

    fn block(&mut self, scope: &[String], depth: u32) -> Vec<Stmt> {
        let mut scope = scope.to_vec();
        let mut block = vec![];
        for _ in 0..self.rng.u32(1..4) {
            self.fresh += 1;
            let name = format!("v{}", self.fresh);
            match self.rng.u32(..if depth > 0 { 6 } else { 3 }) {
                0 | 1 => {
                    let guard = (0..self.rng.u32(..2)).map(|_| Bound {
                        value: Expr::var(self.rng.choice(&scope).unwrap()),
                        extent: Expr::int(self.rng.i64(0..9)),
                        per_lane: false,
                    });
                    let guard = guard.collect();
                    let index = vec![self.index(&scope, 3), self.index(&scope, 2)];
                    let value = Expr::Load { source: "a".into(), index: vec![self.index(&scope, 2); 2], width: 1, guard: vec![] };
                    block.push(Stmt::Store { target: "b".into(), index, value, guard, policy: StorePolicy::WriteBack });
                }
                2 => {
                    block.push(Stmt::Let { name: name.as_str().into(), value: self.index(&scope, 2) });
                    scope.push(name);
                }
                3 | 4 => {
                    let from = self.index(&scope, 1);
                    let to = bin(Add, from.clone(), Expr::int(self.rng.i64(-1..6)));
                    let inner = [scope.clone(), vec![name.clone()]].concat();
                    let (step, body) = (self.rng.u32(1..4), self.block(&inner, depth - 1));
                    block.push(Stmt::For { var: name.as_str().into(), from, to, step, unroll: Unroll::Auto, body });
                }
                _ => {
                    let condition = self.condition(&scope);
                    let (then, otherwise) = (self.block(&scope, depth - 1), self.block(&scope, depth - 1));
                    block.push(Stmt::If { condition, then, otherwise });
                }
            }
        }
        block
    }

    fn program(&mut self) -> Program {
        let buffer = |name: &str| Param {
            name: name.into(),
            kind: ParamKind::Buffer {
                space: Space::Global,
                element: Scalar::F32,
                dims: vec![Expr::int(99), Expr::int(99)],
                access: Access::ReadWrite,
            },
        };
        let names: Vec<String> = ["g", "h", "l"].map(String::from).to_vec();
        Program {
            name: "p".into(),
            sizes: vec![],
            params: vec![buffer("a"), buffer("b")],
            arrays: vec![],
            launch: Launch {
                groups: ["g", "h"].map(|n| GroupAxis { name: n.into(), extent: Expr::int(self.rng.i64(1..4)) }).to_vec(),
                lanes: vec![LaneAxis { name: "l".into(), extent: self.rng.u32(1..9) }],
                subgroup: None,
            },
            body: self.block(&names, 3),
        }
    }
}

/// One observed access: tensor, coordinates.
type Event = (Name, Vec<i64>);

/// Executes the integer part of a program as its semantics say.
struct Executor {
    values: HashMap<Name, i32>,
    events: Vec<Event>,
}

impl Executor {
    fn int(&self, expr: &Expr) -> i32 {
        match expr {
            Expr::Const(c) => c.as_int().unwrap() as i32,
            Expr::Var(name) => self.values[name],
            Expr::Unary(UnaryOp::Neg, a) => self.int(a).wrapping_neg(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.int(a), self.int(b));
                match op {
                    Add => a.wrapping_add(b),
                    Sub => a.wrapping_sub(b),
                    Mul => a.wrapping_mul(b),
                    Div => a.wrapping_div(b),
                    Rem => a.wrapping_rem(b),
                    Min => a.min(b),
                    Max => a.max(b),
                    Shl => a.wrapping_shl(b as u32),
                    Shr => a.wrapping_shr(b as u32),
                    other => unreachable!("{other:?}"),
                }
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn truth(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Unary(UnaryOp::Not, a) => !self.truth(a),
            Expr::Binary(And, a, b) => self.truth(a) && self.truth(b),
            Expr::Binary(Lt, a, b) => self.int(a) < self.int(b),
            Expr::Binary(Le, a, b) => self.int(a) <= self.int(b),
            Expr::Binary(Eq, a, b) => self.int(a) == self.int(b),
            other => unreachable!("{other:?}"),
        }
    }

    fn access(&mut self, tensor: &Name, index: &[Expr], guard: &[Bound]) {
        if guard.iter().all(|b| (0..self.int(&b.extent)).contains(&self.int(&b.value))) {
            let coords = index.iter().map(|e| self.int(e).into()).collect();
            self.events.push((tensor.clone(), coords));
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::Let { name, value } => {
                    let value = self.int(value);
                    self.values.insert(name.clone(), value);
                }
                Stmt::For { var, from, to, step, body, .. } => {
                    let to = self.int(to);
                    let mut at = self.int(from);
                    while at < to {
                        self.values.insert(var.clone(), at);
                        self.block(body);
                        at += *step as i32;
                    }
                }
                Stmt::If { condition, then, otherwise } => self.block(if self.truth(condition) { then } else { otherwise }),
                Stmt::Store { target, index, value: Expr::Load { source, index: from, guard: whole, .. }, guard, .. } => {
                    self.access(source, from, whole);
                    self.access(target, index, guard);
                }
                other => unreachable!("{other:?}"),
            }
        }
    }
}

/// The accesses of one work-item, as the derived nest says.
fn replay(accesses: &Accesses, nest: &[Nest], at: &mut Vec<i64>, events: &mut Vec<Event>) {
    for node in nest {
        match node {
            Nest::Loop { var, body } => {
                let v = usize::from(var.0);
                for trip in 0..accesses.vars[v].trips.expect("every loop has a constant trip count") {
                    at[v] = trip.into();
                    replay(accesses, body, at, events);
                }
            }
            Nest::Access(access) => {
                let value = |form: &Affine| form.eval(|v| at[usize::from(v.0)]).expect("small");
                if access.guard.iter().all(|b| (0..b.extent).contains(&value(&b.value))) {
                    let name = accesses.tensors[usize::from(access.tensor)].name.clone();
                    events.push((name, access.coords.iter().map(value).collect()));
                }
            }
            Nest::Barrier => {}
        }
    }
}

fn followed(nest: &[Nest]) -> bool {
    nest.iter().any(|node| match node {
        Nest::Loop { body, .. } => followed(body),
        Nest::Access(access) => access.indirect.is_some(),
        Nest::Barrier => false,
    })
}

#[test]
fn derived_accesses_are_those_of_execution() {
    let mut maker = Maker { rng: Rng::with_seed(20), fresh: 0 };
    let (mut described, mut events) = (0, 0);
    for case in 0..1500 {
        let program = maker.program();
        let Ok(accesses) = Accesses::of(&program) else { continue };
        // A loop from a value that is itself not followed has no constant trip count; it is described where nothing depends on it.
        if accesses.vars.iter().any(|v| v.trips.is_none()) {
            continue;
        }
        // What is affine but at ends is not followed there.
        if followed(&accesses.nest) {
            continue;
        }
        described += 1;
        let extent = |i: usize| i64::from(accesses.vars[i].trips.unwrap());
        for point in 0..extent(0) * extent(1) * extent(2) {
            let axes = [point % extent(0), point / extent(0) % extent(1), point / extent(0) / extent(1)];
            let values = ["g", "h", "l"].into_iter().zip(axes).map(|(n, v)| (n.into(), v as i32)).collect();
            let mut executor = Executor { values, events: vec![] };
            executor.block(&program.body);
            let mut at = vec![0; accesses.vars.len()];
            at[..3].copy_from_slice(&axes);
            let mut replayed = vec![];
            replay(&accesses, &accesses.nest, &mut at, &mut replayed);
            assert_eq!(replayed, executor.events, "case {case} at {axes:?}: {program:#?}");
            events += replayed.len();
        }
    }
    // The test means something only where many programs are described and touch memory.
    assert!(described > 300 && events > 20_000, "{described} programs, {events} accesses");
}
