//! Convolutions and poolings.

use super::{Importer, Value};
use crate::error::GraphError;
use crate::graph::TensorId;
use crate::graph::op::Op;
use crate::onnx::attributes::NodeView;
use warpsight_generate::operators::{Pool, PoolKind, Window};

impl Importer {
    /// The first input, which has images, channels and one to three spatial dimensions, and its shape.
    fn images(&self, view: NodeView<'_>) -> Result<(TensorId, Vec<i64>), GraphError> {
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        if !(3..=5).contains(&shape.len()) {
            return Err(view.unsupported(format!("an input of shape {shape:?} (n, c and one to three spatial dimensions)")));
        }
        Ok((x, shape))
    }

    pub(super) fn global_average_pool(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, shape) = self.images(view)?;
        let output = shape[..2].iter().copied().chain(shape[2..].iter().map(|_| 1)).collect();
        self.emit(view, Op::GlobalAveragePool, vec![x], output)
    }

    pub(super) fn pool(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, shape) = self.images(view)?;
        let kernel = view.ints("kernel_shape")?.ok_or_else(|| view.bad("attribute `kernel_shape` is missing"))?;
        let windows = windows(view, &shape[2..], kernel, false)?;
        if let Some(w) = windows.iter().find(|w| w.pad_before.max(w.pad_after) >= w.span()) {
            return Err(view.bad(format!("padding {} and {} of a window of {} elements", w.pad_before, w.pad_after, w.span())));
        }
        let ceil_mode = view.int("ceil_mode", 0)? != 0;
        let kind = match (view.proto.op_type.as_str(), view.int("count_include_pad", 0)?) {
            ("MaxPool", _) => PoolKind::Max,
            (_, 0) => PoolKind::Average,
            _ => PoolKind::AverageWithPadding,
        };
        let pool =
            Pool { kind, batch: shape[0], channels: shape[1], spatial: windows.clone(), ceil_mode, element: warpsight_ir::Scalar::F32 };
        let output = shape[..2].iter().copied().chain(pool.outputs()).collect();
        self.emit(view, Op::Pool { kind, windows, ceil_mode }, vec![x], output)
    }

    pub(super) fn convolution(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let transposed = view.proto.op_type == "ConvTranspose";
        let ((x, shape), w) = (self.images(view)?, self.data(view, 1)?);
        let weight = self.shape(w).to_vec();
        let groups = view.int("group", 1)?;
        if weight.len() != shape.len() {
            return Err(view.bad(format!("data of shape {shape:?} and weights of shape {weight:?} differ in dimensions")));
        }
        if groups < 1 || shape[1] % groups != 0 {
            return Err(view.bad(format!("{} channels in {groups} groups", shape[1])));
        }
        let per_group = if transposed { weight[0] } else { weight[1] * groups };
        if per_group != shape[1] || (!transposed && weight[0] % groups != 0) {
            return Err(view.bad(format!("data of shape {shape:?}, weights of shape {weight:?}, {groups} groups do not go together")));
        }
        if let Some(kernel) = view.ints("kernel_shape")?
            && kernel != &weight[2..]
        {
            return Err(view.bad(format!("kernel_shape {kernel:?}, but weights of shape {weight:?}")));
        }
        let mut windows = windows(view, &shape[2..], &weight[2..], transposed)?;
        if transposed {
            further_outputs(view, &mut windows)?;
            outputs_as_asked(view, &mut windows)?;
        }
        let mut inputs = vec![x, w];
        let filters = if transposed { weight[1] * groups } else { weight[0] };
        if let Some(bias) = self.optional_data(view, 2)? {
            if self.shape(bias) != [filters] {
                return Err(view.bad(format!("a bias of shape {:?} for {filters} output channels", self.shape(bias))));
            }
            inputs.push(bias);
        }
        let extent = |w: &Window| if transposed { w.transposed_output() } else { w.output() };
        let output = [shape[0], filters].into_iter().chain(windows.iter().map(extent)).collect();
        if transposed {
            return self.emit(view, Op::ConvTranspose { windows, groups }, inputs, output);
        }
        self.emit(view, Op::Conv { windows, groups }, inputs, output)
    }
}

/// A transposed convolution's `output_padding`: so much less is cropped at the end, or so many results follow that no input reaches.
fn further_outputs(view: NodeView<'_>, windows: &mut [Window]) -> Result<(), GraphError> {
    let Some(more) = view.ints("output_padding")?.filter(|own| !own.is_empty()) else { return Ok(()) };
    if more.len() != windows.len() || more.iter().any(|own| !(0..=i64::from(i32::MAX)).contains(own)) {
        return Err(view.bad(format!("output_padding {more:?} for {} spatial dimensions", windows.len())));
    }
    for (window, &own) in windows.iter_mut().zip(more) {
        window.pad_after -= own;
    }
    Ok(())
}

/// A transposed convolution's `output_shape`: what is cropped follows from it, more of it at the beginning unless `auto_pad` is `SAME_UPPER`.
fn outputs_as_asked(view: NodeView<'_>, windows: &mut [Window]) -> Result<(), GraphError> {
    let Some(asked) = view.ints("output_shape")?.filter(|own| !own.is_empty()) else { return Ok(()) };
    // With images and channels in front, or without.
    let spatial = &asked[asked.len().saturating_sub(windows.len())..];
    let fits = asked.len() == windows.len() || asked.len() == windows.len() + 2;
    if !fits || spatial.iter().any(|own| !(1..=i64::from(i32::MAX)).contains(own)) {
        return Err(view.bad(format!("output_shape {asked:?} for {} spatial dimensions", windows.len())));
    }
    let further = view.ints("output_padding")?.unwrap_or_default();
    let upper = view.string("auto_pad")?.is_some_and(|mode| mode == "SAME_UPPER");
    for (d, (window, &own)) in windows.iter_mut().zip(spatial).enumerate() {
        let more = further.get(d).copied().unwrap_or(0);
        let natural = Window { pad_before: 0, pad_after: 0, ..*window }.transposed_output() + more;
        let cropped = (natural - own).max(0);
        window.pad_before = if upper { cropped / 2 } else { cropped - cropped / 2 };
        window.pad_after = natural - more - own - window.pad_before;
    }
    Ok(())
}

/// The spatial dimensions with strides, dilations and padding of the node.
fn windows(view: NodeView<'_>, input: &[i64], kernel: &[i64], transposed: bool) -> Result<Vec<Window>, GraphError> {
    let dims = input.len();
    let list = |name: &str, length: usize, default: i64, least: i64| -> Result<Vec<i64>, GraphError> {
        let values = view.ints(name)?.map_or_else(|| vec![default; length], <[i64]>::to_vec);
        if values.len() != length || values.iter().any(|v| !(least..=i64::from(i32::MAX)).contains(v)) {
            return Err(view.bad(format!("{name} {values:?} for {dims} spatial dimensions")));
        }
        Ok(values)
    };
    if kernel.len() != dims || kernel.iter().any(|k| !(1..=i64::from(i32::MAX)).contains(k)) {
        return Err(view.bad(format!("a kernel {kernel:?} for {dims} spatial dimensions")));
    }
    let (strides, dilations) = (list("strides", dims, 1, 1)?, list("dilations", dims, 1, 1)?);
    let mut pads = list("pads", 2 * dims, 0, 0)?;
    let mode = view.string("auto_pad")?.unwrap_or_else(|| "NOTSET".into());
    match mode.as_str() {
        "NOTSET" | "" => {}
        "VALID" => pads.fill(0),
        "SAME_UPPER" | "SAME_LOWER" => {
            for d in 0..dims {
                let windows = (input[d] + strides[d] - 1) / strides[d];
                let span = dilations[d] * (kernel[d] - 1) + 1;
                // A transposed one has as many results as inputs and strides in between.
                let beyond = if transposed { span - strides[d] } else { (windows - 1) * strides[d] + span - input[d] };
                let total = beyond.max(0);
                let (less, more) = (total / 2, total - total / 2);
                (pads[d], pads[d + dims]) = if mode == "SAME_UPPER" { (less, more) } else { (more, less) };
            }
        }
        _ => return Err(view.bad(format!("auto_pad {mode}"))),
    }
    let of = |d: usize| Window {
        input: input[d],
        kernel: kernel[d],
        stride: strides[d],
        pad_before: pads[d],
        pad_after: pads[d + dims],
        dilation: dilations[d],
    };
    Ok((0..dims).map(of).collect())
}
