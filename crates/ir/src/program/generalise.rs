//! Generalisation: constants become a size, the way back from [`super::specialise`].

use crate::program::specialise::{everywhere, specialise};
use crate::program::{BinaryOp, Expr, Program, SizeParam};
use crate::types::Const;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

/// Elements of a range that one step of a form covers, at most: the points of a work-item times the lanes of a group.
const LONGEST_STEP: i64 = 1024;

/// One Program with a size of which each of these is the specialisation at its value; `None` where they differ in more than integers, or where
/// these follow no form `a·⌊(size + c)/q⌋ + b`. Of arguments and launch the form holds for `others`, too, at their values, where one does: few values
/// have several forms.
///
/// What it is at other values nobody has said: hold it against what is wanted there ([`is`]).
pub fn generalise(size: &SizeParam, of: &[(i64, &Program)], others: &[(i64, &Program)]) -> Option<Program> {
    let (_, first) = *of.first()?;
    let shape = shape(first);
    if of.iter().any(|(_, own)| self::shape(own) != shape) {
        return None;
    }
    let around_first = around(first);
    let alike = |own: &&(i64, &Program)| self::shape(&around(own.1)) == self::shape(&around_first);
    let others: Vec<(i64, Vec<i32>)> = others.iter().filter(alike).map(|own| (own.0, integers(&around(own.1)))).collect();
    let of_values = of.iter().map(|own| (own.0, integers(own.1))).collect::<Vec<_>>();
    let outside = integers(&around_first).len();
    let mut known: HashMap<Vec<i32>, Option<(Expr, Option<Step>)>> = HashMap::new();
    let (mut put, mut steps) = (vec![], vec![]);
    for at in 0..of_values[0].1.len() {
        let pair = |own: &(i64, Vec<i32>)| (own.0, own.1[at]);
        let own: Vec<(i64, i32)> = of_values.iter().map(pair).collect();
        let further = || form(size, &others.iter().map(pair).chain(own.iter().copied()).collect::<Vec<_>>(), &[]);
        // In what arguments and launch are counted, work-items count, too: of sizes of one parity other forms are right as well.
        let found = || if at < outside { further() } else { None }.or_else(|| form(size, &own, &steps));
        let (expr, step) = known.entry(own.iter().map(|own| own.1).collect()).or_insert_with(found).clone()?;
        steps.extend(step.filter(|_| at < outside));
        put.push(expr);
    }
    let mut general = replaced(first, &put);
    general.sizes.push(size.clone());
    of.iter().all(|(value, own)| is(&general, size, *value, own)).then_some(general)
}

/// Whether a Program is another one where a size has a value, but for arithmetic on constants.
pub fn is(general: &Program, size: &SizeParam, value: i64, special: &Program) -> bool {
    let at = |program, values: &[(_, i64)]| specialise(program, &values.iter().cloned().collect());
    match (at(general, &[(size.name.clone(), value)]), specialise(special, &BTreeMap::new())) {
        (Ok(own), Ok(other)) => own == other,
        _ => false,
    }
}

/// A Program without what its work-items do: arguments, memory of its own and launch.
pub fn around(program: &Program) -> Program {
    Program { body: vec![], ..program.clone() }
}

/// A Program without its integers.
pub fn shape(program: &Program) -> Program {
    let mut program = program.clone();
    each_integer(&mut program, &|_| Expr::int(0));
    program
}

fn each_integer(program: &mut Program, put: &impl Fn(i32) -> Expr) {
    everywhere(program, &|expr: &Expr| {
        expr.clone().map(&mut |node| match node {
            Expr::Const(Const::I32(value)) => put(value),
            other => other,
        })
    });
}

fn integers(program: &Program) -> Vec<i32> {
    let found = std::cell::RefCell::new(vec![]);
    each_integer(&mut program.clone(), &|value| {
        found.borrow_mut().push(value);
        Expr::int(value.into())
    });
    found.into_inner()
}

/// A Program with other expressions in the place of its integers, in their order.
fn replaced(program: &Program, with: &[Expr]) -> Program {
    let (mut program, at) = (program.clone(), Cell::new(0));
    each_integer(&mut program, &|_| with[at.replace(at.get() + 1)].clone());
    program
}

/// `⌊(size + c)/q⌋`: c and q.
type Step = (i64, i64);

/// What has these values at these sizes, and the step that it counts in: a multiple of one of those that are known, else of the first that is found.
fn form(size: &SizeParam, of: &[(i64, i32)], known: &[Step]) -> Option<(Expr, Option<Step>)> {
    let first = of.first()?;
    if of.iter().all(|own| own.1 == first.1) {
        return Some((Expr::int(first.1.into()), None));
    }
    let sizes = || of.iter().map(|own| own.0);
    let span = sizes().max()? - sizes().min()?;
    // Steps that are rounded up, as groups are, then down, as trips are; others only where neither is right.
    let steps = || 1..=LONGEST_STEP.min(span + 1);
    let others = steps().flat_map(|q| (1..q - 1).map(move |c| (c, q)));
    let any = steps().map(|q| (q - 1, q)).chain(steps().map(|q| (0, q))).chain(others);
    known.iter().map(|&step| (step, true)).chain(any.map(|step| (step, false))).find_map(|((c, q), multiple)| {
        let steps = |own: &(i64, i32)| (own.0 + c).div_euclid(q);
        let other = of.iter().find(|own| steps(own) != steps(first))?;
        let (rise, run) = (i64::from(other.1) - i64::from(first.1), steps(other) - steps(first));
        let a = (rise % run == 0).then_some(rise / run)?;
        let b = i64::from(first.1) - a * steps(first);
        let fits = |value: i64| i32::try_from(value).is_ok();
        let at_end = |end: i64| a * (end + c).div_euclid(q);
        let within = [size.lo, size.hi].into_iter().all(|end| fits(at_end(end)) && fits(at_end(end) + b));
        let all = of.iter().all(|own| a * steps(own) + b == i64::from(own.1));
        let own = within && all && fits(b) && (b == 0 || !multiple);
        own.then(|| (written(size, (a, b, c, q)), (q > 1).then_some((c, q))))
    })
}

fn written(size: &SizeParam, (a, b, c, q): (i64, i64, i64, i64)) -> Expr {
    let with = |op, own, number: i64, nothing: i64| if number == nothing { own } else { Expr::binary(op, own, Expr::int(number)) };
    let steps = with(BinaryOp::Div, with(BinaryOp::Add, Expr::Size(size.name.clone()), c, 0), q, 1);
    with(BinaryOp::Add, with(BinaryOp::Mul, steps, a, 1), b, 0)
}
