//! Symbolic evaluation of `i32` expressions over the axes and loop trips of a Program.

use super::{NotAffine, Obstacle};
use crate::accesses::{AffineBound, NestVar, VarKind};
use crate::affine::{Affine, VarId};
use crate::kernel::LaunchShape;
use crate::program::{BinaryOp, Bound, Expr, Name, Program, UnaryOp};
use crate::range::Interval;
use crate::types::{Const, Scalar, Type};
use crate::typing::TypeEnv;
use std::collections::HashMap;

/// Where an expression of positions leads.
pub(super) enum Followed {
    /// To a form, but at the ends of a dimension.
    Known(Affine),
    /// Beyond the ends for the most part, from where any element may be met.
    Anywhere(Affine),
}

/// What is known of the names in scope while a Program is walked in order.
///
/// Names do not hide one another, and two blocks side by side may use the same name, so a later declaration simply replaces an earlier.
pub(super) struct Forms<'p> {
    /// Group axes, lane axes, then loops as they were entered.
    pub vars: Vec<NestVar>,
    /// The types of the names in scope.
    pub types: TypeEnv,
    sizes: HashMap<&'p str, Option<i64>>,
    values: HashMap<&'p str, Result<Affine, Obstacle>>,
    conditions: HashMap<&'p str, &'p Expr>,
}

impl<'p> Forms<'p> {
    /// The axes of a launch. A size is known where its range holds one value.
    pub fn new(program: &'p Program) -> Result<Self, NotAffine> {
        let sizes = program.sizes.iter().map(|s| (&*s.name, (s.lo == s.hi).then_some(s.lo))).collect();
        let mut forms = Self { vars: vec![], types: TypeEnv::of(program), sizes, values: HashMap::new(), conditions: HashMap::new() };
        for axis in &program.launch.groups {
            let extent = forms.extent(&axis.name, &axis.extent)?;
            forms.axis(&axis.name, VarKind::Group, extent)?;
        }
        for axis in &program.launch.lanes {
            forms.axis(&axis.name, VarKind::Lane, axis.extent)?;
        }
        Ok(forms)
    }

    /// The launch, as the axes say.
    pub fn launch(&self) -> LaunchShape {
        let extents = |kind| self.vars.iter().filter(|v| v.kind == kind).filter_map(|v| v.trips).collect();
        LaunchShape { groups: extents(VarKind::Group), lanes: extents(VarKind::Lane) }
    }

    fn axis(&mut self, name: &'p Name, kind: VarKind, extent: u32) -> Result<(), NotAffine> {
        let var = self.new_var(name, kind, Some(extent))?;
        self.values.insert(name, Ok(Affine::var(var)));
        Ok(())
    }

    fn new_var(&mut self, name: &Name, kind: VarKind, trips: Option<u32>) -> Result<VarId, NotAffine> {
        let id = u16::try_from(self.vars.len()).map_err(|_| NotAffine::new(name, Obstacle::Overflow))?;
        self.vars.push(NestVar { name: name.clone(), kind, trips });
        Ok(VarId(id))
    }

    /// A size expression that must be a number from 0 to 2³² − 1.
    pub fn extent(&self, of: &Name, expr: &Expr) -> Result<u32, NotAffine> {
        let value = self.constant(expr).map_err(|what| NotAffine::new(of, what))?;
        u32::try_from(value).map_err(|_| NotAffine::new(of, Obstacle::Overflow))
    }

    fn constant(&self, expr: &Expr) -> Result<i64, Obstacle> {
        let form = self.form(expr)?;
        if form.is_constant() { Ok(form.constant) } else { Err(Obstacle::NotConstant) }
    }

    /// The type of an expression that belongs to `of`.
    pub fn type_of(&self, of: &Name, expr: &Expr) -> Result<Type, NotAffine> {
        self.types.type_of(expr).map_err(|e| NotAffine::new(of, Obstacle::Type(e)))
    }

    /// Makes a `Let` known.
    pub fn bind(&mut self, name: &'p Name, value: &'p Expr) -> Result<(), NotAffine> {
        let (ty, form) = (self.type_of(name, value)?, self.form(value));
        self.types.declare(name, ty);
        self.values.insert(name, form);
        self.conditions.insert(name, value);
        Ok(())
    }

    /// Makes a name known whose value cannot be followed.
    pub fn bind_opaque(&mut self, name: &'p Name, ty: Type, why: Obstacle) {
        self.types.declare(name, ty);
        self.values.insert(name, Err(why));
        self.conditions.remove(&**name);
    }

    /// Makes the old value of an atomic on `target` known.
    pub fn bind_old(&mut self, name: &'p Name, target: &Name) {
        let scalar = self.types.element(target).unwrap_or(Scalar::I32); // a Program without the target is refused at the access
        self.bind_opaque(name, Type::scalar(scalar), Obstacle::Data(target.clone()));
    }

    /// Enters a loop: a new variable that counts its trips. The number of trips is `None` where it is not the same for all work-items and trips.
    pub fn enter(&mut self, name: &'p Name, from: &Expr, to: &Expr, step: u32) -> Result<VarId, NotAffine> {
        let (from, to) = (self.form(from), self.form(to));
        let distance = match (&from, &to) {
            (Ok(from), Ok(to)) => combine(to, from, -1).ok().filter(Affine::is_constant).map(|d| d.constant),
            _ => None,
        };
        let trips = distance.and_then(|d| u32::try_from(d.max(0).unsigned_abs().div_ceil(u64::from(step.max(1)))).ok());
        let var = self.new_var(name, VarKind::Loop, trips)?;
        let value = from.and_then(|from| combine(&from, &Affine::var(var), i64::from(step)));
        self.types.declare(name, Type::scalar(Scalar::I32));
        self.values.insert(name, value);
        self.conditions.remove(&**name);
        Ok(var)
    }

    /// How often a loop runs.
    pub fn trips(&self, var: VarId) -> Option<u32> {
        self.vars[usize::from(var.0)].trips
    }

    /// The values of a form; `None` where a variable has no known range.
    fn range(&self, form: &Affine) -> Option<Interval> {
        let known = form.terms().iter().all(|t| self.trips(t.0).is_some());
        known.then(|| form.range(|var| Interval::below(self.trips(var).unwrap_or(1).into())))
    }

    /// Whether a form provably stays within `i32`. Sums and products are right modulo 2³² even where they wrap; quotients and comparisons
    /// are not.
    fn fits(&self, form: &Affine) -> bool {
        self.range(form).is_some_and(|range| range.fits(Scalar::I32))
    }

    /// A form that does not leave `i32` wherever its range is known, so that it is what the wrapping arithmetic of the Program computes.
    pub fn coordinate(&self, expr: &Expr) -> Result<Affine, Obstacle> {
        let form = self.form(expr)?;
        if self.range(&form).is_none_or(|range| range.fits(Scalar::I32)) { Ok(form) } else { Err(Obstacle::Overflow) }
    }

    /// The affine form of an `i32` expression.
    ///
    /// Sums, differences, products with a constant and shifts left by one are followed always. Quotients, remainders and shifts right by a
    /// constant d are followed where the form splits into multiples of d and a rest that provably lies in 0 .. d, minima and maxima where
    /// the ranges decide.
    pub fn form(&self, expr: &Expr) -> Result<Affine, Obstacle> {
        match expr {
            Expr::Const(Const::I32(v)) => Ok(Affine::constant(i64::from(*v))),
            Expr::Size(name) => {
                let size = self.sizes.get(&**name).copied().flatten();
                size.map(Affine::constant).ok_or_else(|| Obstacle::Size(name.clone()))
            }
            Expr::Var(name) => self.values.get(&**name).cloned().unwrap_or_else(|| Err(Obstacle::Undeclared(name.clone()))),
            Expr::Load { source, .. } => Err(Obstacle::Data(source.clone())),
            Expr::Texel { image, .. } => Err(Obstacle::Data(image.clone())),
            Expr::Cast(Scalar::I32, a) => self.form(a),
            Expr::Unary(UnaryOp::Neg, a) => combine(&Affine::default(), &self.form(a)?, -1),
            Expr::Binary(op, a, b) => self.binary(*op, &self.form(a)?, &self.form(b)?),
            _ => Err(Obstacle::Operation),
        }
    }

    /// What an expression of positions comes to along a dimension of this extent.
    pub fn followed(&self, expr: &Expr, extent: i64) -> Result<Followed, Obstacle> {
        let form = self.follows(expr)?;
        let Some(range) = self.range(&form) else { return Ok(Followed::Known(form)) };
        let (all, end) = (range.hi - range.lo + 1, i128::from(extent) - 1);
        let inside = range.hi.min(end) - range.lo.max(0) + 1;
        Ok(match form.is_constant() {
            true => Followed::Known(Affine::constant(form.constant.clamp(0, (extent - 1).max(0)))),
            false if 2 * inside < all => Followed::Anywhere(form),
            false => Followed::Known(form),
        })
    }

    /// The form that an expression follows but at the ends of its range: magnitudes are what they are of, of the least or greatest of a constant and
    /// another the other, and of what remains of a division the dividend, less as many divisors as bring its middle below one.
    pub fn follows(&self, expr: &Expr) -> Result<Affine, Obstacle> {
        let constant = |own: &Expr| self.form(own).ok().filter(Affine::is_constant).map(|own| own.constant);
        match expr {
            Expr::Var(name) => match self.conditions.get(&**name) {
                Some(value) => self.form(expr).or_else(|_| self.follows(value)),
                None => self.form(expr),
            },
            Expr::Cast(Scalar::I32, a) | Expr::Unary(UnaryOp::Abs, a) => self.follows(a),
            Expr::Unary(UnaryOp::Neg, a) => combine(&Affine::default(), &self.follows(a)?, -1),
            Expr::Binary(BinaryOp::Min | BinaryOp::Max, a, b) => match (constant(a), constant(b)) {
                (_, Some(_)) => self.follows(a),
                (Some(_), None) => self.follows(b),
                (None, None) => self.form(expr),
            },
            Expr::Binary(BinaryOp::Rem, a, b) => match constant(b).filter(|own| *own > 0) {
                Some(divisor) => {
                    let own = self.follows(a)?;
                    let range = self.range(&own).filter(|_| self.fits(&own)).ok_or(Obstacle::Quotient)?;
                    let whole = (range.lo + range.hi).div_euclid(2).div_euclid(divisor.into()) as i64;
                    combine(&own, &Affine::constant(divisor), -whole)
                }
                None => self.form(expr),
            },
            Expr::Binary(op, a, b) => self.binary(*op, &self.follows(a)?, &self.follows(b)?),
            _ => self.form(expr),
        }
    }

    /// Where what an expression depends on is read: the sum of the places of all loads in it, each once, so that what moves any of them moves it.
    /// `None` where it depends on no data.
    pub fn found_at(&self, expr: &Expr) -> Option<Result<Affine, Obstacle>> {
        let mut places = vec![];
        let found = self.places(expr, &mut places);
        (!places.is_empty()).then(|| {
            found?;
            places.iter().try_fold(Affine::default(), |sum, own| combine(&sum, own, 1))
        })
    }

    fn places(&self, expr: &Expr, all: &mut Vec<Affine>) -> Result<(), Obstacle> {
        let coordinates: Vec<&Expr> = match expr {
            Expr::Load { index, .. } => index.iter().collect(),
            Expr::Texel { x, y, .. } => vec![x, y],
            Expr::Var(name) => return self.conditions.get(&**name).map_or(Ok(()), |value| self.places(value, all)),
            _ => return expr.children().into_iter().try_for_each(|own| self.places(own, all)),
        };
        let mut place = Affine::default();
        for own in coordinates {
            match self.coordinate(own) {
                Ok(own) => place = combine(&place, &own, 1)?,
                // Found through data itself.
                Err(what) => {
                    let before = all.len();
                    self.places(own, all)?;
                    if all.len() == before {
                        return Err(what);
                    }
                }
            }
        }
        if !all.contains(&place) {
            all.push(place);
        }
        Ok(())
    }

    fn binary(&self, op: BinaryOp, a: &Affine, b: &Affine) -> Result<Affine, Obstacle> {
        use BinaryOp::*;
        match op {
            Add => combine(a, b, 1),
            Sub => combine(a, b, -1),
            Mul if b.is_constant() => combine(&Affine::default(), a, b.constant),
            Mul if a.is_constant() => combine(&Affine::default(), b, a.constant),
            Mul => Err(Obstacle::Product),
            Shl if b.is_constant() => combine(&Affine::default(), a, 1 << (b.constant & 31)),
            Shr if b.is_constant() => Ok(self.split(a, 1 << (b.constant & 31))?.0),
            Div | Rem if b.is_constant() && b.constant > 0 => {
                let (quotient, rest) = self.split(a, b.constant)?;
                // Division truncates towards zero, which is the same as rounding down only from 0 up, unless nothing remains.
                if rest != Affine::default() && self.range(&quotient).is_none_or(|range| range.lo < 0) {
                    return Err(Obstacle::Quotient);
                }
                Ok(if op == Div { quotient } else { rest })
            }
            Div | Rem | Shr => Err(Obstacle::Quotient),
            Min | Max => {
                let b_minus_a = self.range(&combine(b, a, -1)?).filter(|_| self.fits(a) && self.fits(b)).ok_or(Obstacle::Operation)?;
                let (up, down) = (b_minus_a.lo >= 0, b_minus_a.hi <= 0);
                match if op == Min { (up, down) } else { (down, up) } {
                    (true, _) => Ok(a.clone()),
                    (_, true) => Ok(b.clone()),
                    _ => Err(Obstacle::Operation),
                }
            }
            _ => Err(Obstacle::Operation),
        }
    }

    /// `form = divisor · quotient + rest` with `0 ≤ rest < divisor` everywhere.
    fn split(&self, form: &Affine, divisor: i64) -> Result<(Affine, Affine), Obstacle> {
        let (quotient, rest) = form.divide(divisor);
        let rest_fits = self.range(&rest).is_some_and(|range| range.within(Interval::below(divisor)));
        if self.fits(form) && rest_fits { Ok((quotient, rest)) } else { Err(Obstacle::Quotient) }
    }

    /// An access's guard.
    pub fn bound(&self, bound: &Bound) -> Result<AffineBound, Obstacle> {
        let value = self.coordinate(&bound.value)?;
        Ok(AffineBound { value, extent: self.constant(&bound.extent)?, per_lane: bound.per_lane })
    }

    /// The bounds that hold exactly where `condition` is `wanted`.
    ///
    /// `a < b` becomes `0 ≤ a < b` where b is constant and a never negative, otherwise `0 ≤ b − 1 − a` with an extent that is never reached;
    /// `a ≤ b` is `a < b + 1`, `a = b` is `0 ≤ a − b < 1`. Conjunctions (and negated disjunctions) give the bounds of both sides.
    pub fn condition(&self, condition: &Expr, wanted: bool) -> Result<Vec<AffineBound>, Obstacle> {
        use BinaryOp::*;
        match condition {
            Expr::Var(name) => match self.conditions.get(&**name) {
                Some(value) => self.condition(value, wanted),
                None => Err(Obstacle::Condition),
            },
            Expr::Unary(UnaryOp::Not, a) => self.condition(a, !wanted),
            Expr::Binary(op, a, b) => match (op, wanted) {
                (And, true) | (Or, false) => {
                    let mut bounds = self.condition(a, wanted)?;
                    bounds.extend(self.condition(b, wanted)?);
                    Ok(bounds)
                }
                (Lt, true) => self.less(a, b, 0),
                (Le, true) => self.less(a, b, 1),
                (Lt, false) => self.less(b, a, 1),
                (Le, false) => self.less(b, a, 0),
                (Eq, true) | (Ne, false) => {
                    let value = combine(&self.coordinate(a)?, &self.coordinate(b)?, -1)?;
                    Ok(vec![AffineBound { value, extent: 1, per_lane: false }])
                }
                _ => Err(Obstacle::Condition),
            },
            _ => Err(Obstacle::Condition),
        }
    }

    /// a < b + slack
    fn less(&self, a: &Expr, b: &Expr, slack: i64) -> Result<Vec<AffineBound>, Obstacle> {
        let (a, b) = (self.coordinate(a)?, self.coordinate(b)?);
        if b.is_constant() && self.range(&a).is_some_and(|range| range.lo >= 0) {
            return Ok(vec![AffineBound { value: a, extent: b.constant + slack, per_lane: false }]);
        }
        let mut value = combine(&b, &a, -1)?;
        value.constant += slack - 1;
        Ok(vec![AffineBound { value, extent: AffineBound::UNBOUNDED, per_lane: false }])
    }
}

/// a + factor · b, refusing coefficients beyond `i32`.
fn combine(a: &Affine, b: &Affine, factor: i64) -> Result<Affine, Obstacle> {
    // Half of i64 leaves room for the sums that bounds make.
    a.plus(b, factor).filter(|sum| sum.constant.unsigned_abs() < 1 << 62).ok_or(Obstacle::Overflow)
}
