//! Guards: what is left of them to check, and accesses behind it.

use super::text::{ADD, UNARY, conjunction};
use super::{Dialect, Line, Result, Words, Writer};
use crate::index::{add, fold, sub};
use warpsight_ir::range::Interval;
use warpsight_ir::{Bound, Const, Expr, Scalar, Type};

/// What is left of a guard when everything that always holds is left out.
pub(super) struct Guard<'g> {
    /// Conditions of the access as a whole.
    pub whole: Vec<String>,
    /// Bounds that each lane judges for itself.
    pub lanes: Vec<&'g Bound>,
}

impl<D: Dialect> Writer<'_, D> {
    /// Writes an access behind what is left of its guard: as a whole where all lanes are inside, else element by element.
    pub(super) fn guarded(
        &mut self,
        guard: &Guard,
        width: u8,
        position: &Expr,
        whole: impl Fn(&mut Self, &Expr) -> Result<String>,
        element: impl Fn(&mut Self, &Expr, u8) -> Result<String>,
    ) -> Result<()> {
        self.when(&conjunction(&guard.whole), |writer| {
            if guard.lanes.is_empty() {
                let statement = whole(writer, position)?;
                writer.line(statement);
                return Ok(());
            }
            let mut values = Vec::new();
            let mut position = position.clone();
            for bound in &guard.lanes {
                let value = writer.bound_value(&bound.value)?;
                if position == fold(bound.value.clone()) {
                    position = value.clone();
                }
                values.push((value, fold(bound.extent.clone())));
            }
            let position = &position;
            let mut inside = Vec::new();
            for (value, extent) in &values {
                inside.extend(writer.condition(value, extent, width)?);
            }
            writer.line(format!("if ({}) {{", conjunction(&inside)));
            let fast = writer.captured(|writer| {
                let statement = whole(writer, position)?;
                writer.line(statement);
                Ok(())
            })?;
            writer.lines.extend(fast);
            writer.line("} else {");
            let slow = writer.captured(|writer| {
                let first = writer.bound_position(position)?;
                for lane in 0..width {
                    let mut conditions = Vec::new();
                    for (value, extent) in &values {
                        conditions.extend(writer.condition(&add(value.clone(), Expr::int(lane.into())), extent, 1)?);
                    }
                    let statement = element(writer, &offset(&first, lane), lane)?;
                    let condition = conjunction(&conditions);
                    writer.line(if condition.is_empty() { statement } else { format!("if ({condition}) {statement}") });
                }
                Ok(())
            })?;
            writer.lines.extend(slow);
            writer.line("}");
            Ok(())
        })
    }

    /// Writes statements under a condition; none where it is empty.
    pub(super) fn when(&mut self, condition: &str, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if condition.is_empty() {
            return body(self);
        }
        let lines = self.captured(body)?;
        match lines.as_slice() {
            [Line { text, .. }] => self.line(format!("if ({condition}) {text}")),
            _ => {
                self.line(format!("if ({condition}) {{"));
                self.lines.extend(lines);
                self.line("}");
            }
        }
        Ok(())
    }

    /// Sorts the bounds of a guard and leaves out what always holds.
    pub(super) fn guard<'g>(&mut self, bounds: &'g [Bound], width: u8) -> Result<Guard<'g>> {
        let mut guard = Guard { whole: vec![], lanes: vec![] };
        for bound in bounds {
            if bound.per_lane && width > 1 {
                let (low, high) = self.open_sides(&fold(bound.value.clone()), &fold(bound.extent.clone()), width);
                if low || high {
                    guard.lanes.push(bound);
                }
            } else {
                guard.whole.extend(self.condition(&fold(bound.value.clone()), &fold(bound.extent.clone()), 1)?);
            }
        }
        Ok(guard)
    }

    /// Whether `0 ≤ value`, and whether `value + lanes ≤ extent`, remain to be checked.
    pub(super) fn open_sides(&self, value: &Expr, extent: &Expr, lanes: u8) -> (bool, bool) {
        let (v, e) = (self.ranges.of(value, Scalar::I32), self.ranges.of(extent, Scalar::I32));
        let low = v.is_none_or(|v| v.lo < 0);
        let high = v.zip(e).is_none_or(|(v, e)| v.hi + i128::from(lanes) > e.lo);
        // Of unknown range, a value might wrap beyond the constants that are known.
        let known = v.map_or((false, false), |_| self.known_inside(value, extent, lanes));
        (low && !known.0, high && !known.1)
    }

    /// The text of `0 ≤ value` and `value + lanes ≤ extent` without the sides that always hold; `None` where both do.
    fn condition(&mut self, value: &Expr, extent: &Expr, lanes: u8) -> Result<Option<String>> {
        let (low, high) = self.open_sides(value, extent, lanes);
        let v = if low || high { self.expr(value)? } else { return Ok(None) };
        if low && high && lanes == 1 && self.ranges.of(extent, Scalar::I32).is_some_and(|e| e.lo >= 0) {
            // One comparison does both: a negative value is a large unsigned one.
            let unsigned = D::Words::type_name(Type::scalar(Scalar::U32));
            let extent = match extent.as_int() {
                Some(extent) => format!("{extent}u"),
                None => format!("({unsigned}){}", self.expr(extent)?.at(UNARY)),
            };
            return Ok(Some(format!("({unsigned}){} < {extent}", v.at(UNARY))));
        }
        let above = format!("{} >= 0", v.at(ADD));
        if !high {
            return Ok(Some(above));
        }
        let below = if lanes == 1 {
            format!("{} < {}", v.at(ADD), self.expr(extent)?.at(ADD))
        } else {
            format!("{} <= {}", v.at(ADD), self.expr(&sub(extent.clone(), Expr::int(lanes.into())))?.at(ADD))
        };
        Ok(Some(if low { format!("{above} && {below}") } else { below }))
    }

    /// A value that is used several times: itself where simple, else a temporary of known range.
    fn bound_value(&mut self, value: &Expr) -> Result<Expr> {
        let value = fold(value.clone());
        let interval = self.ranges.of(&value, Scalar::I32);
        self.temporary(value, interval, false)
    }

    fn bound_position(&mut self, position: &Expr) -> Result<Expr> {
        self.temporary(position.clone(), None, true)
    }

    fn temporary(&mut self, value: Expr, interval: Option<Interval>, place: bool) -> Result<Expr> {
        if matches!(value, Expr::Var(_) | Expr::Size(_) | Expr::Const(_)) {
            return Ok(value);
        }
        let ty = self.env.type_of(&value)?;
        let text = if place { self.linear(&value)? } else { self.expr(&value)? };
        let name = self.names.fresh();
        self.line(format!("const {} {name} = {};", D::Words::type_name(ty), text.code));
        let divisor = self.divisors.of(&value);
        self.declare(&name, ty, interval, divisor);
        Ok(Expr::Var(name))
    }
}

/// A position some elements further.
fn offset(first: &Expr, lane: u8) -> Expr {
    match first {
        Expr::Const(Const::I64(v)) => Expr::Const(Const::I64(v + i64::from(lane))),
        _ => add(first.clone(), Expr::int(lane.into())),
    }
}
