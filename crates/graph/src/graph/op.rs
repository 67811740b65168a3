//! Operators that tensor expressions state.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use warpsight_generate::operators::{Beyond, Coordinates, Interpolation, PoolKind, ReduceKind, ScatterKind, Window};
use warpsight_ir::Scalar;

fn one_group() -> i64 {
    1
}

fn added() -> ScatterKind {
    ScatterKind::Add
}

/// What a node computes; shapes are those of its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// Inputs: data, weight `k c/groups kernel…`, optionally bias `k`.
    Conv {
        /// Spatial dimensions, slowest first.
        windows: Vec<Window>,
        /// Groups.
        groups: i64,
    },
    /// Inputs: data, weight `c k/groups kernel…`, optionally bias `k`.
    ConvTranspose {
        /// Spatial dimensions; padding crops the output.
        windows: Vec<Window>,
        /// Groups; one where a file says nothing.
        #[serde(default = "one_group")]
        groups: i64,
    },
    /// Inputs: data, scale, offset, mean, variance (each one element per channel).
    BatchNormalization {
        /// Added to the variance.
        epsilon: f64,
    },
    /// A function of each element.
    Unary(Function),
    /// A function of two elements, broadcast to the shape of the output.
    Binary(Arithmetic),
    /// Inputs: a condition and two tensors, broadcast to the shape of the output: the second where the first is not 0, else the third.
    Select,
    /// Inputs: a gradient, and what says where it was: the argument of the function (SiLU), or its result (ReLU, sigmoid, tanh). The gradient
    /// times the function's slope there.
    Gradient(Function),
    /// Inputs: two matrices of two dimensions or more, stacks broadcast, and perhaps a bias for each column, which has one dimension and
    /// comes last or first.
    MatMul {
        /// The left matrix is stored transposed.
        transpose_left: bool,
        /// The right matrix is stored transposed.
        transpose_right: bool,
    },
    /// Windows summarised.
    Pool {
        /// How.
        kind: PoolKind,
        /// Spatial dimensions.
        windows: Vec<Window>,
        /// Whether a last window may reach beyond the padding.
        ceil_mode: bool,
    },
    /// The mean over all dimensions after the second.
    GlobalAveragePool,
    /// Whole dimensions summarised.
    Reduce {
        /// How.
        kind: ReduceKind,
        /// Which, ascending.
        axes: Vec<usize>,
        /// Whether they stay with extent 1.
        keep: bool,
    },
    /// Along one dimension.
    Softmax {
        /// Which.
        axis: usize,
    },
    /// Inputs: data, scale, optionally bias, both of the shape of the dimensions from `axis` on. Further outputs: the mean of each row and
    /// one over its standard deviation.
    LayerNormalization {
        /// The first dimension normalised over.
        axis: usize,
        /// Added to the variance.
        epsilon: f64,
    },
    /// Inputs: the gradient of a layer normalisation, its data, the mean of each row and one over its deviation, the scale, perhaps the bias.
    /// Output: the gradient of the data. Further outputs: those of scale and bias.
    LayerNormalizationGradient {
        /// The first dimension normalised over.
        axis: usize,
    },
    /// The same elements in the same order under another shape; no work.
    Alias,
    /// Dimension `i` of the output is dimension `permutation[i]` of the input.
    Transpose {
        /// See above.
        permutation: Vec<usize>,
    },
    /// Every `steps[d]`-th element from `starts[d]` on, as many as the output has; a step of 0 repeats one.
    Slice {
        /// First index per dimension.
        starts: Vec<i64>,
        /// Step per dimension; may be 0 or negative.
        steps: Vec<i64>,
    },
    /// Inputs one after another.
    Concat {
        /// Along this dimension.
        axis: usize,
    },
    /// Inputs: data, and positions along a dimension of it, and perhaps along the dimensions after that, all of one shape, which takes the place
    /// of these dimensions. Positions are whole numbers, from the end where negative; beyond both ends zeros are found.
    Gather {
        /// The first dimension.
        axis: usize,
    },
    /// Inputs: data and a part: data in which the part takes its places along a dimension. In a plan it is written in place of the data where nobody
    /// else reads these.
    Update {
        /// Which dimension.
        axis: usize,
        /// The first place.
        start: i64,
    },
    /// Products with rows that are kept. Inputs: left matrices `b g m …`, rows `b n g·d` that are kept, and further ones that take their places among
    /// them ([`Op::Update`]); the `g` parts of a row, of `d` columns, belong to the `g` matrices on the left. Output: `b g m d`, or `b g m n` of
    /// rows that are turned.
    CachedMatMul {
        /// Where the further rows begin.
        start: i64,
        /// Whether columns are multiplied with columns.
        transpose_right: bool,
    },
    /// Inputs: data, and positions of the output's shape: each element at its own place, but for the dimension that the positions are of.
    GatherElements {
        /// Which dimension.
        axis: usize,
    },
    /// Inputs: data, broadcast to the shape of the output, positions and updates: data to which updates are put at their own places, but for
    /// the dimension that positions are of. Positions have the shape of the updates, or one dimension: a position for each part of the updates
    /// along the dimension. There may be positions along the dimensions after that too, each of one dimension: updates have one for all.
    #[serde(alias = "scatter_add")]
    Scatter {
        /// The first dimension.
        axis: usize,
        /// What becomes of an element that updates are put to; a sum where a file says nothing.
        #[serde(default = "added")]
        kind: ScatterKind,
    },
    /// Of two neighbouring dimensions of one extent, the pairs (i, j) with j ≤ i + diagonal, row by row, as one dimension.
    LowerPairs {
        /// The first of them.
        axis: usize,
        /// See above.
        diagonal: i64,
    },
    /// Inputs: rows, positions of some, and where bags of these positions begin, ascending from 0. Output: the sum of the rows of each bag. Further
    /// outputs: the bag of each position, and, as PyTorch has them, zeros in place of each bag's size and of its maximum's position.
    EmbeddingBag,
    /// Inputs: the gradient of sums of bags, the positions, the beginnings of bags, the bag of each position, perhaps the other further outputs.
    /// Output: the gradient of the rows.
    EmbeddingBagGradient,
    /// Resized to the output's shape.
    Resize {
        /// How values between elements are made.
        interpolation: Interpolation,
        /// Where elements of the output lie.
        coordinates: Coordinates,
        /// Elements of the output for one of the input, per dimension.
        scales: Vec<f64>,
    },
    /// Of the last two dimensions the elements on the diagonal and on one side of it; elsewhere another number.
    Triangle {
        /// Whether that side is above.
        upper: bool,
        /// The column of the first row where the diagonal begins; may be negative.
        diagonal: i64,
        /// What is elsewhere. A file has no infinities.
        beyond: f64,
    },
    /// Scaled products of queries and keys, and the values weighted by a softmax of them. Inputs: queries `… h m d`, keys `… g n d`, values
    /// `… g n e`, of which `h / g` heads in a row share one, perhaps a mask, which is added to the products and broadcast to `… h m n`.
    /// Outputs: `… h m e`, perhaps the logarithm of what powers of the products come to in each row, `… h m`.
    Attention(Attention),
    /// Inputs: the gradient of an attention's result, then its inputs, the mask left out, its result, the logarithms, and the mask if there is
    /// one. Outputs: gradients of queries, of keys and of values, the latter two of each of the `h` heads, or summed over those that share.
    AttentionGradient(Attention),
    /// Something around the input; negative numbers crop.
    Pad {
        /// Per dimension.
        before: Vec<i64>,
        /// Per dimension.
        after: Vec<i64>,
        /// What is around it.
        #[serde(default, skip_serializing_if = "Beyond::is_zeros")]
        beyond: Beyond,
    },
}

/// How queries, keys and values become an attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attention {
    /// Whether queries see no keys after their own position.
    #[serde(default)]
    pub causal: bool,
    /// What products are multiplied by; one over the root of `d` where it is left out.
    #[serde(default)]
    pub scale: Option<f64>,
}

/// Positions of the inputs of a product: left, right, and the bias, which alone has one dimension.
pub(crate) fn factors(ranks: impl IntoIterator<Item = usize>) -> (usize, usize, Option<usize>) {
    let ranks: Vec<usize> = ranks.into_iter().collect();
    match ranks[..] {
        [1, _, _] => (1, 2, Some(0)),
        [_, _, _] => (0, 1, Some(2)),
        _ => (0, 1, None),
    }
}

impl Op {
    /// Which of so many inputs are positions of elements.
    pub fn positions(&self, inputs: usize) -> Range<usize> {
        match self {
            Self::Gather { .. } => 1..inputs,
            Self::GatherElements { .. } => 1..2,
            Self::Scatter { .. } => 1..inputs.saturating_sub(1),
            Self::EmbeddingBag => 1..3,
            Self::EmbeddingBagGradient => 1..4,
            _ => 0..0,
        }
    }
    /// Whether each element of the output is a function of the elements at the same (broadcast) place.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Self::Unary(_) | Self::Binary(_) | Self::Select | Self::Gradient(_) | Self::Triangle { .. })
    }
}

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// max(x, 0)
    Relu,
    /// x where positive, else αx
    LeakyRelu(f64),
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// max(0, min(1, αx + β))
    HardSigmoid(f64, f64),
    /// x / (1 + e⁻ˣ)
    Silu,
    /// x · max(0, min(1, x/6 + ½))
    HardSwish,
    /// min(high, max(low, x)): of low and high; −∞ and +∞ where a model gives none. A file has no infinities: both are finite there.
    Clip(f64, f64),
    /// hyperbolic tangent
    Tanh,
    /// eˣ
    Exp,
    /// natural logarithm
    Log,
    /// √x
    Sqrt,
    /// error function
    Erf,
    /// −x
    Neg,
    /// |x|
    Abs,
    /// largest integer ≤ x
    Floor,
    /// smallest integer ≥ x
    Ceil,
    /// the integer that is next towards zero
    Trunc,
    /// 1/x
    Reciprocal,
    /// x to a constant power: a whole number of magnitude at most 8, ½ or −½
    Power(f64),
    /// x rounded to a floating-point type
    Round(Scalar),
    /// 1 where x is 0, else 0
    Not,
    /// sine
    Sin,
    /// cosine
    Cos,
    /// x · (1 + erf(x/√2)) / 2
    Gelu,
    /// x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2
    GeluTanh,
}

/// The greatest float below 2³¹: quotients of whole numbers are those of integers of 32 bits.
pub(crate) const MOST_DIVIDED: f64 = 2_147_483_520.0;

/// A function of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
    /// the quotient of whole numbers, towards zero; of none by 0, and of those beyond ±(2³¹ − 128) as of that
    Quotient,
    /// the smaller; NaN where either is
    Min,
    /// the larger; NaN where either is
    Max,
    /// 1 where a < b, else 0
    Less,
    /// 1 where a ≤ b, else 0
    LessOrEqual,
    /// 1 where a = b, else 0
    Equal,
    /// 1 where neither is 0, else 0
    And,
    /// 1 where one is not 0, else 0
    Or,
}
