//! The operators that are read: one row each, which the importer and everybody who lists them use.

use super::angles::Given;
use super::functions::Exponential;
use super::{Importer, Value};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function};
use crate::onnx::attributes::NodeView;
use crate::onnx::proto::NodeProto;
use warpsight_generate::operators::ReduceKind;

type Read = fn(&mut Importer, NodeView<'_>) -> Result<Value, GraphError>;

/// One operator of ONNX's and how it is read.
pub(super) struct Row {
    name: &'static str,
    /// See [`SupportedOperator::limits`].
    limits: &'static str,
    /// Whether its elements are new numbers, which its type may have to round.
    pub(super) computes: bool,
    /// Whether it hands out each output that has a name, of which the first need not.
    pub(super) several: bool,
    pub(super) read: Read,
}

/// An operator of ONNX's that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedOperator {
    /// As ONNX writes it.
    pub name: &'static str,
    /// What of it is read, or how it differs from the standard; empty where it is read in full.
    pub limits: &'static str,
}

/// Every operator that is read, by name.
pub fn supported_operators() -> impl Iterator<Item = SupportedOperator> {
    ROWS.iter().map(|row| SupportedOperator { name: row.name, limits: row.limits })
}

/// The row of a node; operators of other domains have none.
pub(super) fn row(node: &NodeProto) -> Option<&'static Row> {
    let own = node.domain.is_empty() || node.domain == "ai.onnx";
    ROWS.iter().find(|row| own && row.name == node.op_type)
}

const fn computes(name: &'static str, limits: &'static str, read: Read) -> Row {
    Row { name, limits, computes: true, several: false, read }
}

/// Elements are moved as they are.
const fn moves(name: &'static str, limits: &'static str, read: Read) -> Row {
    Row { name, limits, computes: false, several: false, read }
}

const SPATIAL: &str = "one to three spatial dimensions";
const KNOWN: &str = "shapes, axes and positions known before a run";
const FLOATS: &str = "axes known before a run; floats alone";
const SEQUENCE: &str =
    "at most 256 steps, which are written out and chosen one by one; sequences of one length; Sigmoid, Tanh, Relu; not input_forget=1";
const PUT: &str =
    "of equal positions the last one stays; positions beyond both ends are nowhere; at most 1099511627776 places times updates";

const ROWS: &[Row] = &[
    computes("Abs", "", |i, v| i.function(v, Function::Abs)),
    computes("Acos", "", |i, v| i.angle(v, Given::Cosine)),
    computes("Acosh", "up to 1e19", |i, v| i.exponential(v, Exponential::Acosh)),
    computes("Add", "", |i, v| i.arithmetic(v, Arithmetic::Add)),
    moves("And", "", |i, v| i.truth(v, Arithmetic::And, false)),
    computes("ArgMax", "", Importer::arg_best),
    computes("ArgMin", "", Importer::arg_best),
    computes("Asin", "", |i, v| i.angle(v, Given::Sine)),
    computes("Asinh", "off by 1e-7 near 0; up to 1e19", |i, v| i.exponential(v, Exponential::Asinh)),
    computes("Atan", "", |i, v| i.angle(v, Given::Tangent)),
    computes("Atanh", "off by 1e-7 near 0", |i, v| i.exponential(v, Exponential::Atanh)),
    computes("Attention", "one output, neither softcap nor padding of keys; is_causal without earlier keys", Importer::attention),
    computes("AveragePool", SPATIAL, Importer::pool),
    computes("BatchNormalization", "inference, constant parameters", Importer::batch_normalization),
    moves("Cast", "whole numbers that are computed are exact up to 16777216, and are not wrapped around", Importer::cast),
    moves("CastLike", "as Cast", Importer::cast_like),
    computes("Ceil", "", |i, v| i.function(v, Function::Ceil)),
    computes("Celu", "", Importer::exponential_unit),
    computes("Clip", "an infinity stays where no constant bound is given", Importer::clip),
    moves("Concat", "", Importer::concat),
    moves("Constant", "tensors and numbers", Importer::constant_node),
    moves("ConstantOfShape", KNOWN, Importer::constant_of_shape),
    computes("Conv", SPATIAL, Importer::convolution),
    computes("ConvTranspose", SPATIAL, Importer::convolution),
    computes("Cos", "", |i, v| i.function(v, Function::Cos)),
    computes("Cosh", "", |i, v| i.exponential(v, Exponential::Cosh)),
    computes("CumSum", "the axis known before a run, of at most 4096 places; infinities spread", Importer::running_sum),
    moves("DepthToSpace", "", Importer::depth_to_space),
    computes("DequantizeLinear", "no blocks; 8, 16 and 32 bits", Importer::dequantize),
    computes("Div", "whole numbers that are computed are exact up to 16777216, and divided as ±2147483520 beyond that number", |i, v| {
        i.arithmetic(v, Arithmetic::Div)
    }),
    moves("Dropout", "inference", Importer::dropout),
    computes("Einsum", "neither `...` nor a letter twice in one term", Importer::einsum),
    computes("Elu", "", Importer::exponential_unit),
    moves("Equal", "", |i, v| i.truth(v, Arithmetic::Equal, false)),
    computes("Erf", "", |i, v| i.function(v, Function::Erf)),
    computes("Exp", "", |i, v| i.function(v, Function::Exp)),
    moves("Expand", KNOWN, Importer::expand),
    moves("Flatten", "", Importer::flatten),
    computes("Floor", "", |i, v| i.function(v, Function::Floor)),
    Row { several: true, ..computes("GRU", SEQUENCE, Importer::recurrent) },
    moves("Gather", "beyond both ends zeros are found", Importer::gather),
    moves("GatherElements", "beyond both ends zeros are found", Importer::gather_elements),
    moves("GatherND", "batch_dims=0; beyond both ends zeros are found", Importer::gather_points),
    computes("Gelu", "", Importer::gelu),
    computes("Gemm", "", Importer::gemm),
    computes("GlobalAveragePool", SPATIAL, Importer::global_average_pool),
    computes("GlobalMaxPool", SPATIAL, Importer::global_max_pool),
    moves("Greater", "", |i, v| i.truth(v, Arithmetic::Less, true)),
    moves("GreaterOrEqual", "", |i, v| i.truth(v, Arithmetic::LessOrEqual, true)),
    computes("GridSample", "one to three spatial dimensions, cubic one or two", Importer::sampled),
    computes("GroupNormalization", "", Importer::group_normalization),
    computes("HardSigmoid", "", Importer::hard_sigmoid),
    computes("HardSwish", "", |i, v| i.function(v, Function::HardSwish)),
    computes("Hardmax", "", Importer::hardmax),
    moves("Identity", "", |i, v| i.reshaped(v, |shape| Ok(shape.to_vec()))),
    computes("InstanceNormalization", "", Importer::instance_normalization),
    moves("IsInf", "", Importer::is_no_number),
    moves("IsNaN", "", Importer::is_no_number),
    computes("LRN", "a bias above 0", Importer::local_response),
    Row { several: true, ..computes("LSTM", SEQUENCE, Importer::recurrent) },
    computes("LayerNormalization", "scale and bias of the shape of the normalised dimensions, one output", Importer::layer_normalization),
    computes("LeakyRelu", "", Importer::leaky_relu),
    moves("Less", "", |i, v| i.truth(v, Arithmetic::Less, false)),
    moves("LessOrEqual", "", |i, v| i.truth(v, Arithmetic::LessOrEqual, false)),
    computes("Log", "", |i, v| i.function(v, Function::Log)),
    computes("LogSoftmax", "", Importer::log_softmax),
    computes("LpNormalization", "", Importer::by_length),
    computes("MatMul", "", Importer::matmul),
    computes("Max", "", |i, v| i.arithmetic(v, Arithmetic::Max)),
    computes("MaxPool", "one to three spatial dimensions, one output; NaN wins wherever it stands", Importer::pool),
    computes("Mean", "", Importer::mean),
    computes("MeanVarianceNormalization", "", Importer::mean_variance),
    computes("Min", "", |i, v| i.arithmetic(v, Arithmetic::Min)),
    computes("Mish", "", Importer::mish),
    computes("Mod", "whole numbers that are computed are exact up to 16777216; of floats quotients are", Importer::remainder),
    computes("Mul", "", |i, v| i.arithmetic(v, Arithmetic::Mul)),
    computes("Neg", "", |i, v| i.function(v, Function::Neg)),
    moves("Not", "", Importer::not),
    moves("OneHot", "the depth and both values known before a run", Importer::one_hot),
    moves("Or", "", |i, v| i.truth(v, Arithmetic::Or, false)),
    computes("PRelu", "", Importer::sloped),
    moves("Pad", "widths known before a run", Importer::pad),
    computes(
        "Pow",
        "floats; exponents but constants from -8 to 8, 0.5 and -0.5 (roots: NaN of -inf) by logarithms: NaN of endless ones",
        Importer::power,
    ),
    computes("QuantizeLinear", "no blocks; 8 and 16 bits; kept as the whole numbers that they are", Importer::quantize),
    computes("RMSNormalization", "", Importer::root_mean_square),
    Row { several: true, ..computes("RNN", SEQUENCE, Importer::recurrent) },
    moves("Range", "whole numbers known before a run", Importer::range),
    computes("Reciprocal", "", |i, v| i.function(v, Function::Reciprocal)),
    computes("ReduceL1", "axes known before a run", |i, v| i.reduce(v, ReduceKind::L1)),
    computes("ReduceL2", FLOATS, |i, v| i.reduce(v, ReduceKind::L2)),
    computes("ReduceLogSum", FLOATS, |i, v| i.reduce(v, ReduceKind::LogSum)),
    computes("ReduceLogSumExp", FLOATS, |i, v| i.reduce(v, ReduceKind::LogSumExp)),
    computes("ReduceMax", "axes known before a run; NaN wins wherever it stands", |i, v| i.reduce(v, ReduceKind::Max)),
    computes("ReduceMean", "axes known before a run", |i, v| i.reduce(v, ReduceKind::Mean)),
    computes("ReduceMin", "axes known before a run; NaN wins wherever it stands", |i, v| i.reduce(v, ReduceKind::Min)),
    computes("ReduceProd", "axes known before a run", |i, v| i.reduce(v, ReduceKind::Prod)),
    computes("ReduceSum", "axes known before a run", |i, v| i.reduce(v, ReduceKind::Sum)),
    computes("ReduceSumSquare", "axes known before a run", |i, v| i.reduce(v, ReduceKind::SumSquare)),
    computes("Relu", "", |i, v| i.function(v, Function::Relu)),
    moves("Reshape", KNOWN, Importer::reshape),
    computes("Resize", "sizes and scales known before a run; neither tf_crop_and_resize nor antialias", Importer::resize),
    computes("Round", "", Importer::round),
    computes("ScatterElements", PUT, Importer::scatter_elements),
    computes("ScatterND", PUT, Importer::scatter_points),
    computes("Selu", "", Importer::exponential_unit),
    moves("Shape", "", |i, v| i.shape_of(v)),
    computes("Shrink", "", Importer::beyond_threshold),
    computes("Sigmoid", "", |i, v| i.function(v, Function::Sigmoid)),
    computes("Sign", "0 of NaN", Importer::sign),
    computes("Sin", "", |i, v| i.function(v, Function::Sin)),
    computes("Sinh", "off by 1e-7 near 0", |i, v| i.exponential(v, Exponential::Sinh)),
    moves("Size", "", |i, v| i.size_of(v)),
    moves("Slice", KNOWN, Importer::slice),
    computes("Softmax", "", Importer::softmax),
    computes("Softplus", "", Importer::softplus),
    computes("Softsign", "", Importer::softsign),
    moves("SpaceToDepth", "", Importer::depth_to_space),
    Row { several: true, ..moves("Split", KNOWN, Importer::split) },
    computes("Sqrt", "", |i, v| i.function(v, Function::Sqrt)),
    moves("Squeeze", KNOWN, Importer::squeeze),
    computes("Sub", "", |i, v| i.arithmetic(v, Arithmetic::Sub)),
    computes("Sum", "", |i, v| i.arithmetic(v, Arithmetic::Add)),
    computes("Swish", "", Importer::swish),
    computes("Tan", "", |i, v| i.exponential(v, Exponential::Tan)),
    computes("Tanh", "", |i, v| i.function(v, Function::Tanh)),
    moves("TensorScatter", "linear, places known before a run and the same for all", Importer::update),
    computes("ThresholdedRelu", "", Importer::beyond_threshold),
    moves("Tile", KNOWN, Importer::tile),
    Row { several: true, ..moves("TopK", "every element is compared with all of its row; NaN has no rank", Importer::top) },
    moves("Transpose", "", Importer::transpose),
    moves("Trilu", "the diagonal known before a run", Importer::triangle),
    moves("Unsqueeze", KNOWN, Importer::unsqueeze),
    computes("Upsample", "scales known before a run", Importer::resize),
    moves("Where", "", Importer::choose),
    moves("Xor", "", Importer::either),
];
