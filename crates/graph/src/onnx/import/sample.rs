//! GridSample: values of an image between its pixels, where another tensor says.

use super::{Importer, Value, checked_length};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;

/// Which pixels make a value.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// What lies beside the image.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Zeros,
    Border,
    Reflection,
}

/// A pixel along one dimension: where it is, and what it counts for.
#[derive(Clone, Copy)]
struct Tap {
    position: TensorId,
    weight: Option<TensorId>,
}

/// The weights of cubic interpolation: that of OpenCV, PyTorch and ONNX.
const CUBIC: f64 = -0.75;

impl Importer {
    /// Data `n c …`, and for each of so many results the place in each dimension, the last one first, from -1 to 1.
    pub(super) fn sampled(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let mode = match view.string("mode")?.as_deref() {
            None | Some("linear" | "bilinear") => Mode::Linear,
            Some("nearest") => Mode::Nearest,
            Some("cubic" | "bicubic") => Mode::Cubic,
            Some(other) => return Err(view.bad(format!("mode `{other}`"))),
        };
        let beside = match view.string("padding_mode")?.as_deref() {
            None | Some("zeros") => Beside::Zeros,
            Some("border") => Beside::Border,
            Some("reflection") => Beside::Reflection,
            Some(other) => return Err(view.bad(format!("padding_mode `{other}`"))),
        };
        let aligned = view.int("align_corners", 0)? != 0;
        let (x, grid, stem) = (self.floats(view, 0)?, self.floats(view, 1)?, view.proto.output[0].clone());
        let (shape, places) = (self.shape(x).to_vec(), self.shape(grid).to_vec());
        let dims = shape.len().saturating_sub(2);
        let fits = dims >= 1 && places.len() == shape.len() && places.first() == shape.first() && places.last() == Some(&(dims as i64));
        if !fits {
            return Err(view.bad(format!("places of shape {places:?} in data of shape {shape:?}")));
        }
        if dims > 3 || mode == Mode::Cubic && dims > 2 {
            return Err(view.unsupported(format!("{dims} spatial dimensions")));
        }
        // One channel after the other, each of all images: `c n …`, and places `n …` in them.
        let (results, batch) = (places[..places.len() - 1].to_vec(), shape[0]);
        let taps = (0..dims).map(|dim| self.taps(view, (grid, dims - 1 - dim), (dim, shape[2 + dim]), (mode, beside, aligned)));
        let taps: Vec<Vec<Tap>> = taps.collect::<Result<_, _>>()?;
        let turned: Vec<usize> = [1, 0].into_iter().chain(2..shape.len()).collect();
        let channels: Vec<i64> = turned.iter().map(|&d| shape[d]).collect();
        let (x, image) = match batch {
            1 => (self.emit_part(view, &format!("{stem}.channels"), Op::Alias, vec![x], shape[1..].to_vec())?, None),
            _ => {
                let turn = Op::Transpose { permutation: turned.clone() };
                let x = self.emit_part(view, &format!("{stem}.channels"), turn, vec![x], channels)?;
                (x, Some(self.each_image(view, &stem, &results, batch)?))
            }
        };
        let found: Vec<i64> = std::iter::once(shape[1]).chain(results.iter().copied()).collect();
        let all = taps.iter().map(Vec::len).product();
        let mut sum: Option<TensorId> = None;
        for mut number in 0..all {
            let mut inputs: Vec<TensorId> = std::iter::once(x).chain(image).collect();
            let mut weight: Option<TensorId> = None;
            let part = format!("{stem}.{number}");
            for (dim, own) in taps.iter().enumerate() {
                let tap = own[number % own.len()];
                number /= own.len();
                inputs.push(tap.position);
                weight = match (weight, tap.weight) {
                    (Some(a), Some(b)) => Some(self.pair(view, &format!("{part}.weight{dim}"), Arithmetic::Mul, [a, b])?),
                    (a, b) => a.or(b),
                };
            }
            let mut own = self.emit_part(view, &format!("{part}.found"), Op::Gather { axis: 1 }, inputs, found.clone())?;
            if let Some(weight) = weight {
                own = self.pair(view, &format!("{part}.weighed"), Arithmetic::Mul, [own, weight])?;
            }
            sum = Some(match sum {
                Some(before) => self.pair(view, &format!("{part}.sum"), Arithmetic::Add, [before, own])?,
                None => own,
            });
        }
        let sum = sum.ok_or_else(|| view.bad("no pixels"))?;
        let shape = turned.iter().map(|&d| found[d]).collect();
        let back = if batch == 1 { Op::Alias } else { Op::Transpose { permutation: turned } };
        self.emit(view, back, vec![sum], shape)
    }

    /// The number of the image that each result is of.
    fn each_image(&mut self, view: NodeView<'_>, stem: &str, results: &[i64], batch: i64) -> Result<TensorId, GraphError> {
        let length = checked_length(view, results, 1, super::MAX_FOLDED)?;
        self.hold(stem, length as u64)?;
        let each = length / batch.max(1) as usize;
        let values = (0..length).map(|at| (at / each.max(1)) as f64).collect();
        Ok(self.graph.add_constant(format!("{stem}.image"), results.to_vec(), Origin::Constant, values))
    }

    /// What pixels along one dimension of so many make the value at each place, and what they count for.
    fn taps(
        &mut self,
        view: NodeView<'_>,
        (grid, column): (TensorId, usize),
        (dim, size): (usize, i64),
        (mode, beside, aligned): (Mode, Beside, bool),
    ) -> Result<Vec<Tap>, GraphError> {
        let part = |name: &str| format!("{}.dim{dim}.{name}", view.proto.output[0]);
        let at = self.column(view, &part("places"), grid, column as i64)?;
        // From -1 to 1 to pixels: of their middles, or of the image's ends.
        let scale = if aligned { (size - 1) as f64 / 2.0 } else { size as f64 / 2.0 };
        let at = self.times_and_more(view, &part("pixels"), at, scale, (size - 1) as f64 / 2.0)?;
        if mode == Mode::Nearest {
            let near = self.rounded(view, &part("near"), at)?;
            return Ok(vec![self.inside(view, &part("0"), near, None, (size, beside, aligned))?]);
        }
        let below = self.mapped(view, &part("below"), Function::Floor, at)?;
        let rest = self.pair(view, &part("rest"), Arithmetic::Sub, [at, below])?;
        let weights = match mode {
            Mode::Cubic => self.cubic(view, &part("cubic"), rest)?,
            _ => vec![(0.0, self.times_and_more(view, &part("less"), rest, -1.0, 1.0)?), (1.0, rest)],
        };
        let tap = |(number, (away, weight)): (usize, (f64, TensorId))| {
            let position = self.times_and_more(view, &part(&format!("{number}.pixel")), below, 1.0, away)?;
            self.inside(view, &part(&number.to_string()), position, Some(weight), (size, beside, aligned))
        };
        weights.into_iter().enumerate().map(tap).collect()
    }

    /// The pixel that stands for one beside the image, of which there are `size`.
    fn inside(
        &mut self,
        view: NodeView<'_>,
        name: &str,
        position: TensorId,
        weight: Option<TensorId>,
        (size, beside, aligned): (i64, Beside, bool),
    ) -> Result<Tap, GraphError> {
        let part = |own: &str| format!("{name}.{own}");
        let last = (size - 1) as f64;
        let mut at = position;
        match beside {
            // Beyond the end zeros are found; from before the beginning, and from what is no number, there, too.
            Beside::Zeros => {
                let (least, most) = (self.held_number(&part("least"), 0.0), self.held_number(&part("most"), last));
                let from = self.pair(view, &part("from"), Arithmetic::LessOrEqual, [least, at])?;
                let to = self.pair(view, &part("to"), Arithmetic::LessOrEqual, [at, most])?;
                let there = self.pair(view, &part("there"), Arithmetic::And, [from, to])?;
                let beyond = self.held_number(&part("beyond"), size as f64);
                let position = self.selected(view, &part("inside"), [there, at, beyond])?;
                return Ok(Tap { position, weight });
            }
            // There and back: of the way from the first end, what is beyond an odd number of lengths is the way back.
            Beside::Reflection => {
                let (first, length) = if aligned { (0.0, last) } else { (-0.5, size as f64) };
                if length > 0.0 {
                    let way = self.times_and_more(view, &part("way"), at, 1.0, -first)?;
                    let way = self.mapped(view, &part("far"), Function::Abs, way)?;
                    let lengths = self.times_and_more(view, &part("lengths"), way, 1.0 / (2.0 * length), 0.0)?;
                    let lengths = self.mapped(view, &part("whole"), Function::Floor, lengths)?;
                    let gone = self.times_and_more(view, &part("gone"), lengths, 2.0 * length, 0.0)?;
                    let way = self.pair(view, &part("left"), Arithmetic::Sub, [way, gone])?;
                    let back = self.times_and_more(view, &part("back"), way, -1.0, 2.0 * length)?;
                    let way = self.pair(view, &part("nearer"), Arithmetic::Min, [way, back])?;
                    at = self.times_and_more(view, &part("mirrored"), way, 1.0, first)?;
                }
            }
            Beside::Border => {}
        }
        let position = self.mapped(view, &part("inside"), Function::Clip(0.0, last), at)?;
        Ok(Tap { position, weight })
    }

    /// What four pixels count for, from the one before the last that is not beyond a place, `rest` behind it. Of a pixel that is 1 + t away it is
    /// a · t · (1 - t)², in which nothing cancels.
    fn cubic(&mut self, view: NodeView<'_>, name: &str, rest: TensorId) -> Result<Vec<(f64, TensorId)>, GraphError> {
        let left = self.times_and_more(view, &format!("{name}.left"), rest, -1.0, 1.0)?;
        let mut weights = vec![];
        for (number, (away, [t, u])) in
            [(-1.0, [rest, left]), (0.0, [rest, left]), (1.0, [left, rest]), (2.0, [left, rest])].into_iter().enumerate()
        {
            let part = |own: &str| format!("{name}{number}.{own}");
            let near = away == 0.0 || away == 1.0;
            let (first, times) = match near {
                true => (self.times_and_more(view, &part("slope"), t, CUBIC + 2.0, -(CUBIC + 3.0))?, t),
                false => (self.times_and_more(view, &part("slope"), t, CUBIC, 0.0)?, u),
            };
            let square = self.pair(view, &part("square"), Arithmetic::Mul, [times, times])?;
            let product = self.pair(view, &part("product"), Arithmetic::Mul, [first, square])?;
            weights.push((away, self.times_and_more(view, &part("weight"), product, 1.0, f64::from(u8::from(near)))?));
        }
        Ok(weights)
    }

    /// A tensor times one number, and another more.
    fn times_and_more(&mut self, view: NodeView<'_>, name: &str, x: TensorId, times: f64, more: f64) -> Result<TensorId, GraphError> {
        let mut own = x;
        if times != 1.0 {
            own = self.with_number(view, &format!("{name}.product"), Arithmetic::Mul, own, times)?;
        }
        if more != 0.0 {
            own = self.with_number(view, name, Arithmetic::Add, own, more)?;
        }
        Ok(own)
    }
}
