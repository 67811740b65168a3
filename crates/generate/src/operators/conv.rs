//! Convolutions of one to three spatial dimensions, with groups, and their transposes.

use super::{Builder, OperatorError, add, at_least, mul, near, operator, tensor};
use crate::expr::{Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::Scalar;
use warpsight_ir::range::gcd;

/// One spatial dimension of a sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Extent of the input.
    pub input: i64,
    /// Extent of the kernel.
    pub kernel: i64,
    /// Distance of neighbouring windows.
    pub stride: i64,
    /// Zeros before the first element.
    pub pad_before: i64,
    /// Zeros after the last element.
    pub pad_after: i64,
    /// Distance of neighbouring taps.
    pub dilation: i64,
}

impl Window {
    /// Stride 1, no padding, no dilation.
    pub fn new(input: i64, kernel: i64) -> Self {
        Self { input, kernel, stride: 1, pad_before: 0, pad_after: 0, dilation: 1 }
    }
    /// Elements a window spans.
    pub fn span(&self) -> i64 {
        self.dilation * (self.kernel - 1) + 1
    }
    /// Windows that fit, 0 or less where none does.
    pub fn output(&self) -> i64 {
        let room = self.input + self.pad_before + self.pad_after - self.span();
        if room < 0 { 0 } else { room / self.stride + 1 }
    }
    /// Results of a transposed convolution, 0 or less where all are cropped.
    pub fn transposed_output(&self) -> i64 {
        (self.input - 1) * self.stride + self.span() - self.pad_before - self.pad_after
    }
    /// Where a tap of a window reads.
    pub(crate) fn read(&self, operator: &str, at: &Index, tap: &Index) -> Result<Index, OperatorError> {
        let form = Index::constant(-self.pad_before).plus(at, self.stride);
        near(operator, form.and_then(|form| form.plus(tap, self.dilation)))
    }
    pub(crate) fn check(&self, operator: &str) -> Result<(), OperatorError> {
        at_least(operator, 0, &[("pad", self.pad_after)])?;
        self.check_transposed(operator)
    }
    /// The same of a transposed convolution, at whose end results may be added that no input reaches: fewer than none are cropped.
    pub(crate) fn check_transposed(&self, operator: &str) -> Result<(), OperatorError> {
        at_least(operator, 1, &[("input", self.input), ("kernel", self.kernel), ("stride", self.stride), ("dilation", self.dilation)])?;
        at_least(operator, 0, &[("pad", self.pad_before)])?;
        // Beyond these sums of extents would overflow; no tensor is so large.
        let limit = i64::from(i32::MAX);
        if [self.input, self.kernel, self.stride, self.pad_before, self.pad_after, self.dilation].iter().any(|&v| v > limit || v < -limit) {
            return Err(OperatorError::Mismatch { operator: operator.into(), what: format!("an extent above {limit}") });
        }
        Ok(())
    }
}

/// A convolution: input `n c spatial…`, weight `k c/groups kernel…`, output `n k spatial…`.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// Images.
    pub batch: i64,
    /// Input channels; a multiple of `groups`.
    pub channels: i64,
    /// Output channels; a multiple of `groups`.
    pub filters: i64,
    /// Groups; depthwise where it equals `channels`.
    pub groups: i64,
    /// Spatial dimensions, slowest first, one to three.
    pub spatial: Vec<Window>,
    /// Whether a bias of `k` elements is added.
    pub bias: bool,
    /// Element type in memory.
    pub element: Scalar,
}

impl Conv {
    /// The name for people: `conv2d`, `dwconv2d`.
    pub fn kind(&self) -> String {
        let prefix = if self.groups > 1 && self.groups == self.channels { "dw" } else { "" };
        format!("{prefix}conv{}d", self.spatial.len())
    }
}

const OUTER: [&[&str]; 4] = [&[], &["x"], &["y", "x"], &["z", "y", "x"]];
/// Points of a block of results.
const PHASES: [&[&str]; 4] = [&[], &["px"], &["py", "px"], &["pz", "py", "px"]];
/// Points beside one of these that no tap reaches.
const GAPS: [&[&str]; 4] = [&[], &["gx"], &["gy", "gx"], &["gz", "gy", "gx"]];
const TAPS: [&[&str]; 4] = [&[], &["s"], &["r", "s"], &["t", "r", "s"]];

/// Builds a convolution. Axes: n, group, k in the group, spatial; reduction: c in the group, kernel.
pub fn conv(conv: &Conv) -> Result<Operator, OperatorError> {
    let kind = conv.kind();
    at_least(&kind, 1, &[("n", conv.batch), ("c", conv.channels), ("k", conv.filters), ("groups", conv.groups)])?;
    let dims = spatial_count(&kind, conv.spatial.len())?;
    let groups = conv.groups;
    divided(&kind, groups, &[("c", conv.channels), ("k", conv.filters)])?;
    check_output(&kind, &conv.spatial)?;
    let (inner, filters) = (conv.channels / groups, conv.filters / groups);

    let mut parallel = vec![("n", conv.batch), (if inner == 1 && groups > 1 { "c" } else { "g" }, groups), ("k", filters)];
    parallel.extend(OUTER[dims].iter().copied().zip(conv.spatial.iter().map(Window::output)));
    // The group axis of a depthwise convolution is the channel, so the name is free for it: the reduction over `c` has extent 1.
    let mut reduce = vec![("c", inner)];
    reduce.extend(TAPS[dims].iter().copied().zip(conv.spatial.iter().map(|w| w.kernel)));
    let (mut builder, at, tap) = Builder::new(&kind, &parallel, &reduce);

    let input_shape: Vec<i64> = [conv.batch, conv.channels].into_iter().chain(conv.spatial.iter().map(|w| w.input)).collect();
    let weight_shape: Vec<i64> = [conv.filters, inner].into_iter().chain(conv.spatial.iter().map(|w| w.kernel)).collect();
    let output_shape: Vec<i64> = [conv.batch, conv.filters].into_iter().chain(conv.spatial.iter().map(Window::output)).collect();

    let channel = near(&kind, tap[0].plus(&at[1], inner))?;
    let filter = near(&kind, at[2].plus(&at[1], filters))?;
    let mut read = vec![at[0].clone(), channel];
    for (w, (o, t)) in conv.spatial.iter().zip(at[3..].iter().zip(&tap[1..])) {
        read.push(w.read(&kind, o, t)?);
    }
    let x = builder.load(&tensor("input", &input_shape, conv.element, Role::Activation), read);
    let mut tap_index = vec![filter.clone()];
    tap_index.extend(tap.iter().cloned());
    let w = builder.load(&tensor("weight", &weight_shape, conv.element, Role::Weight), tap_index);
    let epilogue = with_bias(&mut builder, conv.bias, conv.filters, conv.element, &filter);

    let mut store = vec![at[0].clone(), filter];
    store.extend(at[3..].iter().cloned());
    let output = tensor("output", &output_shape, conv.element, Role::Output);
    let step = builder.finish(Combine::Sum, mul(x, w), epilogue, output, store);
    operator(&kind, vec![step])
}

/// A transposed convolution: input `n c spatial…`, weight `c k/groups kernel…` (ONNX ConvTranspose).
#[derive(Clone, Debug, PartialEq)]
pub struct Deconv {
    /// Images.
    pub batch: i64,
    /// Input channels; a multiple of `groups`.
    pub channels: i64,
    /// Output channels; a multiple of `groups`.
    pub filters: i64,
    /// Groups.
    pub groups: i64,
    /// Spatial dimensions; `pad_*` crop the output, as in ONNX.
    pub spatial: Vec<Window>,
    /// Whether a bias of `k` elements is added.
    pub bias: bool,
    /// Element type in memory.
    pub element: Scalar,
}

/// Builds a transposed convolution. With a stride s an output point is the one of number p of s neighbours that the taps p, p + s, … reach, so
/// that what it reads is affine: a neighbour more than there are taps reads zeros, and what lies beyond the output is not stored. Where taps lie
/// d apart and g divides s and d, number p of s/g neighbours is the one that the taps p, p + s/g, … reach (`Phases`), and of g points beside each
/// other taps reach one: the others read beyond the taps' end.
///
/// # Errors
/// Sizes that do not go together.
pub fn deconv(deconv: &Deconv) -> Result<Operator, OperatorError> {
    let kind = format!("deconv{}d", deconv.spatial.len());
    at_least(&kind, 1, &[("n", deconv.batch), ("c", deconv.channels), ("k", deconv.filters), ("groups", deconv.groups)])?;
    divided(&kind, deconv.groups, &[("c", deconv.channels), ("k", deconv.filters)])?;
    let groups = deconv.groups;
    let (inner, filters) = (deconv.channels / groups, deconv.filters / groups);
    let dims = spatial_count(&kind, deconv.spatial.len())?;
    let mut extents = Vec::new();
    for w in &deconv.spatial {
        w.check_transposed(&kind)?;
        let extent = w.transposed_output();
        if extent < 1 {
            return Err(OperatorError::EmptyOutput { operator: kind, what: format!("{w:?} gives extent {extent}") });
        }
        extents.push(extent);
    }
    let phases: Vec<Phases> = deconv.spatial.iter().zip(&extents).map(|(w, extent)| Phases::of(w, *extent)).collect();
    let mut parallel = vec![("n", deconv.batch), ("k", filters)];
    if groups > 1 {
        parallel.insert(1, ("g", groups));
    }
    parallel.extend(OUTER[dims].iter().copied().zip(phases.iter().map(|own| own.blocks)));
    parallel.extend(PHASES[dims].iter().copied().zip(phases.iter().map(|own| own.count)));
    let gaps = phases.iter().any(|own| own.common > 1);
    if gaps {
        parallel.extend(GAPS[dims].iter().copied().zip(phases.iter().map(|own| own.common)));
    }
    let mut reduce = vec![("c", inner)];
    reduce.extend(TAPS[dims].iter().copied().zip(phases.iter().map(|own| own.taps)));
    let (mut builder, at, tap) = Builder::new(&kind, &parallel, &reduce);
    let (first, spatial) = at.split_at(at.len() - if gaps { 3 } else { 2 } * dims);
    let (block, phase) = spatial.split_at(dims);
    let (phase, gap) = phase.split_at(dims);
    let own_filter = first[first.len() - 1].clone();
    let (channel, filter) = match first {
        [_, group, _] => (near(&kind, tap[0].plus(group, inner))?, near(&kind, own_filter.plus(group, filters))?),
        _ => (tap[0].clone(), own_filter.clone()),
    };

    let shape = |a, b, rest: &mut dyn Iterator<Item = i64>| -> Vec<i64> { [a, b].into_iter().chain(rest).collect() };
    let input_shape = shape(deconv.batch, deconv.channels, &mut deconv.spatial.iter().map(|w| w.input));
    let weight_shape = shape(deconv.channels, filters, &mut deconv.spatial.iter().map(|w| w.kernel));
    let output_shape = shape(deconv.batch, deconv.filters, &mut extents.iter().copied());

    let mut read = vec![at[0].clone(), channel.clone()];
    let mut tap_index = vec![channel, own_filter];
    let mut store = vec![at[0].clone(), filter.clone()];
    for (d, (w, own)) in deconv.spatial.iter().zip(&phases).enumerate() {
        let input = block[d].clone().offset(own.first).and_then(|form| form.plus(&phase[d], -own.moved));
        read.push(near(&kind, input.and_then(|form| form.plus(&tap[d + 1], -own.apart)))?);
        let reached = near(&kind, phase[d].plus(&tap[d + 1], own.count))?;
        let from = w.stride * own.first - w.pad_before;
        let own_block = near(&kind, block[d].times(w.stride).and_then(|form| form.plus(&phase[d], own.step)))?;
        let own_block = near(&kind, own_block.offset(from))?;
        // The taps end before as many as there are.
        let beside = |form: Index, by: i64| gap.get(d).map_or(Some(form.clone()), |gap| form.plus(gap, by));
        tap_index.push(near(&kind, beside(reached, w.kernel))?);
        store.push(near(&kind, beside(own_block, 1))?);
    }
    let x = builder.load(&tensor("input", &input_shape, deconv.element, Role::Activation), read);
    let w = builder.load(&tensor("weight", &weight_shape, deconv.element, Role::Weight), tap_index);
    let epilogue = with_bias(&mut builder, deconv.bias, deconv.filters, deconv.element, &filter);
    let output = tensor("output", &output_shape, deconv.element, Role::Output);
    let clipped = phases.iter().any(|own| !own.whole);
    let step = builder.finish(Combine::Sum, mul(x, w), epilogue, output, store);
    operator(&kind, vec![TensorExpr { clipped, ..step }])
}

/// The output of a dimension of a transposed convolution, from before its beginning was cropped, in blocks of as many points as the stride s.
///
/// A tap t of an input i reaches point s · i + d · t. With g the greatest common divisor of s and d, each point is s · j + q · p + r for one block j, one
/// p below s/g and one r below g, where q is d less a multiple of s: it is reached where r is 0, by the taps t = p + s/g · u of the inputs
/// i = j − (d − q)/s · p − d/g · u.
struct Phases {
    /// The block that the first point is in.
    first: i64,
    blocks: i64,
    /// s/g
    count: i64,
    /// g
    common: i64,
    /// q, as near to zero as there is one, so that blocks reach little beyond the output.
    step: i64,
    /// (d − q)/s
    moved: i64,
    /// d/g
    apart: i64,
    /// Taps that reach a point, at most.
    taps: i64,
    /// Whether the blocks are the output.
    whole: bool,
}

impl Phases {
    fn of(w: &Window, extent: i64) -> Self {
        let common = gcd(w.stride, w.dilation);
        let count = w.stride / common;
        let above = w.dilation % w.stride;
        let step = if 2 * above > w.stride { above - w.stride } else { above };
        // Where the points of a block lie from its own position on.
        let span = step * (count - 1);
        let (least, most) = (span.min(0), span.max(0) + common - 1);
        let first = -(most - w.pad_before).div_euclid(w.stride);
        let blocks = (extent - 1 + w.pad_before - least).div_euclid(w.stride) - first + 1;
        let start = w.stride * first - w.pad_before;
        let whole = start + least >= 0 && start + w.stride * (blocks - 1) + most < extent;
        let (moved, apart) = ((w.dilation - step) / w.stride, w.dilation / common);
        Self { first, blocks, count, common, step, moved, apart, taps: (w.kernel + count - 1) / count, whole }
    }
}

fn with_bias(builder: &mut Builder, bias: bool, filters: i64, element: Scalar, filter: &Index) -> ScalarExpr {
    if !bias {
        return ScalarExpr::Acc;
    }
    let bias: Tensor = tensor("bias", &[filters], element, Role::Weight);
    add(ScalarExpr::Acc, builder.load(&bias, vec![filter.clone()]))
}

pub(crate) fn spatial_count(kind: &str, count: usize) -> Result<usize, OperatorError> {
    if (1..=3).contains(&count) {
        return Ok(count);
    }
    Err(OperatorError::Unsupported { operator: kind.into(), what: format!("{count} spatial dimensions (1 to 3)") })
}

pub(crate) fn spatial_names(count: usize) -> (&'static [&'static str], &'static [&'static str]) {
    (OUTER[count], TAPS[count])
}

/// Checks every window, and that at least one fits in each dimension.
/// Whether each of these is a multiple of the groups.
fn divided(kind: &str, groups: i64, sizes: &[(&str, i64)]) -> Result<(), OperatorError> {
    match sizes.iter().find(|(_, value)| value % groups != 0) {
        None => Ok(()),
        Some((what, value)) => {
            Err(OperatorError::Mismatch { operator: kind.into(), what: format!("{what}={value} is not a multiple of groups={groups}") })
        }
    }
}

fn check_output(kind: &str, spatial: &[Window]) -> Result<(), OperatorError> {
    for w in spatial {
        w.check(kind)?;
        if w.output() < 1 {
            let what = format!("a window spans {} elements, the padded input has {}", w.span(), w.input + w.pad_before + w.pad_after);
            return Err(OperatorError::EmptyOutput { operator: kind.into(), what });
        }
    }
    Ok(())
}
