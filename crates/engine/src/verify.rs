//! Verification of kernels: every kernel that is reported was right on this device, this driver, today.
//!
//! Outputs are filled with NaN first, canaries stand around buffers, what lies between the elements of an input is NaN, inputs are fresh
//! random numbers. Small cases are compared with the interpreter (which also finds races and accesses out of bounds) and with `f64` loops over
//! every output; large ones with `f64` loops over a random subset of the outputs, and every output must have been written.

use crate::EngineError;
use fastrand::Rng;
use warpsight_generate::expr::{Combine, Evaluator, Operator, Role, ScalarExpr, TensorExpr};
use warpsight_generate::indices::for_each_index;
use warpsight_generate::layout::{image_format, known, stored};
use warpsight_generate::operators::external_inputs;
use warpsight_generate::parts::Part;
use warpsight_generate::{Layout, Tensor};
use warpsight_graph::room;
use warpsight_ir::{Bindings, Checked, ImageKind, Scalar, interpret};
use warpsight_run::{DeviceError, DeviceLimits, Init, Job, JobResult, LaunchSpec, MemoryKind, MemorySpec, TimingSpec};

/// Largest relative L2 error of a kernel that computes and stores in `f32`: four times what the longest sum of one work-item is off by
/// ([`warpsight_generate::operators::LONGEST`]).
pub const TOLERANCE_F32: f64 = 1e-5;
/// The same where tensors are stored as halves: one rounding to 11 bits of each operand and of the result.
pub const TOLERANCE_F16: f64 = 2e-3;
/// The same where 1024 numbers are added up in half precision; where there are more or fewer, times the root of their number over 1024, as roundings
/// to either side add up.
pub const TOLERANCE_HALF: f64 = 1e-2;
/// The least of these, of a single number too: storing is one rounding, computing others, and of a few results none makes up for an unlucky one.
pub const TOLERANCE_HALF_LEAST: f64 = 2.0 * TOLERANCE_F16;
/// The same where numbers are rounded to bfloat16, which keeps 8 bits.
pub const TOLERANCE_BF16: f64 = 8.0 * TOLERANCE_F16;
/// What a number below the normal halves is rounded by at most: half the distance of two such halves.
const F16_ROUNDING: f64 = 1.0 / (1u32 << 25) as f64;
/// Where inputs are drawn from: the first range in which every output can be stored. Of both signs, but not balanced (a long sum of
/// balanced numbers may be all rounding); positive and away from 0, for roots, logarithms and quotients; small, for long sums that are
/// stored as halves.
const RANGES: [(f32, f32); 4] = [(-0.5, 1.0), (0.5, 1.5), (-0.01, 0.02), (1e-5, 3e-5)];
/// The range where none is right.
const POSITIVE: (f32, f32) = RANGES[1];
/// How far factors lie from 1 at most, and what the logarithm of a product of many of them may be: one that is stored as half has all its digits.
const FACTORS: (f64, f64) = (0.5, 4.0);
/// Multiply-adds that the reference may spend on one kernel.
const REFERENCE_BUDGET: usize = 400_000;
/// Multiply-adds up to which a kernel is also interpreted.
const INTERPRETER_BUDGET: usize = 4_000;

/// A kernel's verification: its job and what the outputs should be.
pub struct Trial<'a> {
    expr: &'a TensorExpr,
    layouts: &'a [Layout],
    inputs: Vec<Vec<f32>>,
    /// (position in the output, expected value)
    expected: Vec<(usize, f64)>,
    /// What is written, where that is not all of the output.
    part: Option<Part>,
}

/// A kernel that gave right results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// ‖got − expected‖₂ / ‖expected‖₂ over the outputs compared.
    pub rel_l2: f64,
    /// How many outputs were compared.
    pub compared: usize,
}

/// Why a kernel is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// Some outputs hold what they were filled with.
    #[error("{0} outputs were never written or are NaN, the first at position {1}")]
    NotWritten(usize, usize),
    /// An output was written that another kernel writes.
    #[error("output {0} was written, which is no part of what the kernel writes")]
    Elsewhere(usize),
    /// So many points of the expression have no element of the output: nothing can be said of them.
    #[error("{0} points of the reference lie outside of the output")]
    Unplaced(usize),
    /// Values differ.
    #[error(
        "relative L2 error {rel_l2:.2e} over {compared} outputs, at most {tolerance:.0e} is allowed; output {worst} is {got} instead of {expected}"
    )]
    Values {
        /// Measured error.
        rel_l2: f64,
        /// Outputs compared.
        compared: usize,
        /// What is allowed.
        tolerance: f64,
        /// Position of the worst output.
        worst: usize,
        /// Its value.
        got: f32,
        /// What it should be.
        expected: f64,
    },
    /// Memory around a buffer was overwritten.
    #[error("memory around argument {0} was overwritten")]
    Canary(usize),
    /// The interpreter found a race or an access out of bounds.
    #[error("the interpreter found: {0}")]
    Fault(String),
}

impl<'a> Trial<'a> {
    /// Draws inputs, but for those whose values follow from the operator, and computes what the outputs should be.
    pub fn new(expr: &'a TensorExpr, layouts: &'a [Layout], rng: &mut Rng) -> Self {
        let mut trial = Self { expr, layouts, inputs: vec![], expected: vec![], part: Part::proper(expr) };
        // What is computed is at most `f32`, whatever it is stored as.
        let largest = expr.output.element.greatest().min(f64::from(f32::MAX));
        // The maximum of a window that lies in the padding is what its table holds.
        let unbounded = expr.inputs.iter().filter_map(|own| own.values.as_deref()).flatten().any(|value| value.is_infinite());
        let fits = |trial: &Self| trial.expected.iter().all(|e| e.1.abs() <= largest || unbounded && e.1.is_infinite());
        let found = factors(expr).into_iter().chain(RANGES).any(|range| {
            trial.draw(rng, range);
            fits(&trial)
        });
        if !found {
            trial.draw(rng, POSITIVE);
        }
        trial
    }

    fn draw(&mut self, rng: &mut Rng, (lo, hi): (f32, f32)) {
        let mut drawn = |(number, t): (usize, &Tensor)| {
            if let Some(values) = known(t) {
                return values;
            }
            // Positions: each there is, and one beyond either end.
            let below = positions(self.expr, number);
            let mut value = || match below {
                Some(below) => rng.i64(-1..=below) as f32,
                None => lo + (hi - lo) * rng.f32(),
            };
            stored(t.element, (0..t.len()).map(|_| value()).collect())
        };
        self.inputs = self.expr.inputs.iter().enumerate().map(&mut drawn).collect();
        let slices: Vec<&[f32]> = self.inputs.iter().map(Vec::as_slice).collect();
        let extents = self.expr.rows();
        let points = extents.iter().product::<i64>() as usize;
        let mut expected = vec![];
        let evaluator = Evaluator::new(self.expr, &slices);
        // Every point has its own element; that one has none is found when results are compared.
        let mut expect = |row: &[i64]| evaluator.row(row, |_, position, value| expected.push((position, value)));
        let affordable = (REFERENCE_BUDGET / self.expr.work_per_row()).max(16);
        if points <= affordable {
            for_each_index(&extents, |_, point| expect(point));
        } else {
            for _ in 0..affordable {
                let point: Vec<i64> = extents.iter().map(|&e| rng.i64(0..e)).collect();
                expect(&point);
            }
        }
        self.expected = expected;
    }

    /// The job that runs a kernel once on these inputs.
    pub fn job(&self, program: &Checked, timing: Option<TimingSpec>) -> Job {
        let mut job = blank(self.expr, self.layouts, program);
        let tensors = self.expr.inputs.iter().zip(self.layouts).zip(&self.inputs);
        for (memory, ((tensor, layout), values)) in job.memory.iter_mut().zip(tensors) {
            memory.init = Init::Data(layout.pack(tensor, values, filler(tensor)));
        }
        Job { read: vec![job.memory.len() - 1], timing, ..job }
    }

    /// Interprets a small kernel and compares; large ones pass.
    pub fn interpret(&self, program: &Checked) -> Result<(), Wrong> {
        let rows = self.expr.rows().iter().map(|&extent| extent as usize).product::<usize>();
        if rows.saturating_mul(self.expr.work_per_row()) > INTERPRETER_BUDGET {
            return Ok(());
        }
        let inputs = self.expr.inputs.iter().zip(self.layouts).zip(&self.inputs);
        let mut data: Vec<Vec<u8>> = inputs.map(|((t, p), v)| p.pack(t, v, filler(t))).collect();
        let output = self.output_layout();
        data.push(vec![0xff; output.bytes(self.expr.output.element) as usize]);
        let mut bindings = Bindings { data, ..Bindings::default() };
        interpret::interpret(program, &mut bindings).map_err(|fault| Wrong::Fault(fault.to_string()))?;
        self.compare(bindings.data.last().map_or(&[], Vec::as_slice)).map(|_| ())
    }

    /// Judges what a device computed.
    pub fn judge(&self, result: &JobResult) -> Result<Verdict, Wrong> {
        if let Some(&argument) = result.damaged.first() {
            return Err(Wrong::Canary(argument));
        }
        self.compare(result.read.first().map_or(&[], |c| &c.0))
    }

    fn output_layout(&self) -> &Layout {
        // One layout per input and one for the output.
        &self.layouts[self.expr.inputs.len()]
    }

    /// Which of so many outputs are the kernel's to write; the others stay as they were.
    fn own(&self, outputs: usize) -> Vec<bool> {
        let Some(part) = &self.part else { return vec![true; outputs] };
        let mut own = vec![false; outputs];
        for_each_index(&self.expr.output.shape, |position, at| {
            if let Some(own) = own.get_mut(position) {
                *own = part.contains(at);
            }
        });
        own
    }

    fn compare(&self, bytes: &[u8]) -> Result<Verdict, Wrong> {
        let got = self.output_layout().unpack(&self.expr.output, bytes);
        let own = self.own(got.len());
        // Where the reference is NaN, what was never written cannot be told from it.
        let missing = |position: &usize| own[*position] && got[*position].is_nan();
        let nan = (0..got.len()).filter(missing).count();
        if let Some(first) = (0..got.len()).find(missing).filter(|_| !self.expected.iter().any(|e| e.1.is_nan())) {
            return Err(Wrong::NotWritten(nan, first));
        }
        if let Some(position) = (0..got.len()).find(|&position| !own[position] && !got[position].is_nan()) {
            return Err(Wrong::Elsewhere(position));
        }
        let unplaced = self.expected.iter().filter(|own| own.0 >= got.len()).count();
        if unplaced > 0 {
            return Err(Wrong::Unplaced(unplaced));
        }
        let (mut difference, mut norm) = (0.0, 0.0);
        let mut worst = (0usize, 0.0f64, 0.0f64);
        for &(position, expected) in &self.expected {
            // Differences of these have no size.
            if expected.is_nan() && got[position].is_nan() || expected.is_infinite() && expected as f32 == got[position] {
                continue;
            }
            let error = (f64::from(got[position]) - expected).abs();
            difference += error * error;
            norm += expected * expected;
            if error > worst.1 {
                worst = (position, error, expected);
            }
        }
        // Where everything is 0 the error itself must be as small.
        let norm = norm.max(1e-12).sqrt();
        let rel_l2 = difference.sqrt() / norm;
        let tolerance = tolerance(self.expr);
        let compared = self.expected.len();
        // The nearest half to a small number may be far from it.
        let small = if self.expr.output.element.stored() == Scalar::F16 { F16_ROUNDING * (compared as f64).sqrt() } else { 0.0 };
        if rel_l2 <= tolerance + small / norm {
            return Ok(Verdict { rel_l2, compared });
        }
        Err(Wrong::Values { rel_l2, compared, tolerance, worst: worst.0, got: got[worst.0], expected: worst.2 })
    }
}

/// Where factors of a product are drawn from: as near to 1 as keeps it within numbers, the logarithms of as many adding up as their root.
fn factors(expr: &TensorExpr) -> Option<(f32, f32)> {
    let (most, logarithm) = FACTORS;
    let terms: f64 = expr.reduce.iter().map(|axis| axis.extent as f64).product();
    // Half of a range from 1 on is √3 standard deviations.
    let apart = most.min(logarithm / 2.0 * (3.0 / terms).sqrt()) as f32;
    expr.passes().any(|pass| pass.combine == Combine::Product).then_some((1.0 - apart, 1.0 + apart))
}

/// What the elements of an input are positions below: of a dimension that is looked into through them, or of what they are compared with. `None`
/// where they are numbers like any others.
fn positions(expr: &TensorExpr, input: usize) -> Option<i64> {
    let reads = |scalar: &ScalarExpr| {
        let mut found = false;
        scalar.loads(&mut |tensor, _, _| found |= tensor == input);
        found
    };
    let axes: Vec<i64> = expr.all_axes().map(|axis| axis.extent).collect();
    let mut below: Option<i64> = None;
    let mut take = |extent: i64| below = Some(below.map_or(extent, |own| own.min(extent)));
    let mut see = |scalar: &ScalarExpr| match scalar {
        ScalarExpr::Gather { tensor, found, .. } => {
            found.iter().filter(|own| reads(&own.1)).for_each(|own| take(expr.inputs[*tensor].shape[own.0]));
        }
        ScalarExpr::Binary(op, a, b) if op.is_comparison() => {
            for (own, other) in [(a, b), (b, a)] {
                if let (ScalarExpr::Position(form), true) = (&**own, reads(other)) {
                    take(form.terms().iter().map(|term| axes[term.0.0]).max().unwrap_or(1));
                }
            }
        }
        _ => {}
    };
    expr.scalars().for_each(|own| own.each(&mut see));
    let integers = expr.inputs[input].element == Scalar::I32;
    below.or_else(|| integers.then(|| axes.iter().copied().max().unwrap_or(1)))
}

/// The job that runs a kernel once on nothing in particular.
pub fn blank(expr: &TensorExpr, layouts: &[Layout], program: &Checked) -> Job {
    let tensors = expr.inputs.iter().chain([&expr.output]).zip(layouts);
    let memory: Vec<MemorySpec> =
        tensors.map(|(tensor, layout)| MemorySpec { kind: memory_kind(tensor, layout), init: Init::Poison, canaries: true }).collect();
    let launch = LaunchSpec { program: 0, args: (0..memory.len()).collect(), sizes: vec![] };
    Job { programs: vec![(**program).clone().into()], launches: vec![launch], memory, ..Job::default() }
}

/// Largest relative L2 error of a kernel, by the type that it computes in, or the narrowest that it stores or rounds to.
pub fn tolerance(expr: &TensorExpr) -> f64 {
    usual(expr).max(of_factors(expr))
}

/// What a product of many factors may be off by: each of its roundings counts in full, in whichever order they are multiplied, where one of a sum counts
/// for as much as was added up by then. Four times what as many roundings add up to.
fn of_factors(expr: &TensorExpr) -> f64 {
    let digits = if expr.arithmetic() == Scalar::Half { 10 } else { 23 };
    let multiplied = expr.passes().any(|pass| pass.combine == Combine::Product);
    let factors: f64 = expr.reduce.iter().map(|axis| axis.extent as f64).product();
    if multiplied { factors.sqrt() / f64::from(1 << digits) } else { 0.0 }
}

fn usual(expr: &TensorExpr) -> f64 {
    if expr.arithmetic() == Scalar::Half {
        let terms: f64 = expr.reduce.iter().map(|axis| axis.extent as f64).product();
        return (TOLERANCE_HALF * (terms / 1024.0).sqrt()).max(TOLERANCE_HALF_LEAST);
    }
    let stored = expr.inputs.iter().chain([&expr.output]).map(|t| t.element);
    let rounded = expr.scalars().filter_map(|own| own.rounds_to());
    let narrow = stored.chain(rounded).filter(|s| matches!(s, Scalar::F16 | Scalar::Bf16));
    match narrow.max() {
        Some(Scalar::Bf16) => TOLERANCE_BF16,
        Some(_) => TOLERANCE_F16,
        None => TOLERANCE_F32,
    }
}

/// What stands between and behind the elements of a tensor: a kernel may read it, its results may not depend on it. Constants are padded
/// with zeros when they are packed, and kernels rely on that.
pub fn filler(tensor: &Tensor) -> f32 {
    if tensor.role == Role::Weight { 0.0 } else { f32::NAN }
}

/// The memory that holds a tensor.
pub fn memory_kind(tensor: &Tensor, layout: &Layout) -> MemoryKind {
    match layout.image_size() {
        Some((width, height)) => {
            MemoryKind::Image { kind: ImageKind::Image2d, format: image_format(tensor.element), width: width as u32, height: height as u32 }
        }
        None => MemoryKind::Buffer { bytes: layout.bytes(tensor.element).max(1) },
    }
}

/// Fails where the device does not compute as an expression does, or its tensors do not fit there together, or one of them does not by itself:
/// before any is drawn, packed or sent there.
pub fn check_limits(expr: &TensorExpr, limits: &DeviceLimits) -> Result<(), DeviceError> {
    if expr.arithmetic() == Scalar::Half && !limits.f16 {
        return Err(DeviceError::NoHalves { kernel: expr.name.to_string() });
    }
    let bytes = |t: &Tensor| t.len() as u64 * u64::from(t.element.bytes());
    let beyond = |what: String, needed: u64, available: Option<u64>| match available {
        Some(available) if needed > available => Err(DeviceError::Limit { what, needed, available }),
        _ => Ok(()),
    };
    let tensors = || expr.inputs.iter().chain([&expr.output]);
    tensors().try_for_each(|t| beyond(format!("tensor `{}` of `{}` (bytes)", t.name, expr.name), bytes(t), limits.max_allocation))?;
    beyond(format!("memory for the tensors of `{}` (bytes)", expr.name), tensors().map(bytes).sum(), limits.memory)
}

/// Fails where the device does not compute as an operator does, or its tensors do not fit there, step by step, or all of them not in the memory of this process.
pub fn check_operator(operator: &Operator, limits: &DeviceLimits) -> Result<(), EngineError> {
    operator.kernels().try_for_each(|step| check_limits(step, limits))?;
    let tensors = external_inputs(operator).into_iter().chain(operator.written());
    let bytes = tensors.map(|t| t.len() as u64 * u64::from(t.element.bytes())).sum();
    room(bytes).map_err(|why| EngineError::TooLarge { name: operator.kind.to_string(), bytes, why })
}

/// Fails where a tensor cannot be stored at all.
pub fn check_shape(tensor: &Tensor) -> Result<(), EngineError> {
    if tensor.is_empty() || tensor.shape.iter().any(|&e| e <= 0) {
        return Err(EngineError::EmptyTensor { name: tensor.name.to_string(), shape: tensor.shape.clone() });
    }
    Ok(())
}
