//! A network whose every shape is known: typed nodes in an order in which they can run.

use crate::error::GraphError;
use crate::memory::room;
use std::sync::Arc;
use warpsight_generate::operators::{PoolKind, ReduceKind, Window};
use warpsight_ir::Scalar;

/// Position of a tensor in its [`Graph`] or [`Plan`](crate::Plan).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub usize);

/// Nodes in an order in which they can run, and the tensors between them.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Every node comes after those whose outputs it reads; a tensor is the output of at most one.
    pub nodes: Vec<Node>,
    /// All tensors, constants among them; some may be used by nobody.
    pub tensors: Vec<GraphTensor>,
    /// What a caller provides, in the model's order.
    pub inputs: Vec<TensorId>,
    /// What a caller gets, in the model's order.
    pub outputs: Vec<TensorId>,
}

/// A tensor of floats, row-major.
#[derive(Clone, Debug)]
pub struct GraphTensor {
    /// Its name in the model.
    pub name: String,
    /// Extents, slowest first; empty for a scalar.
    pub shape: Vec<i64>,
    /// Its elements, where they do not depend on an input.
    pub constant: Option<Arc<[f64]>>,
}

impl GraphTensor {
    /// Elements; 1 for a scalar.
    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One computation.
#[derive(Clone, Debug)]
pub struct Node {
    /// The model's name for it, or the name of its output.
    pub name: String,
    /// What it computes.
    pub op: Op,
    /// What it reads, in ONNX's order.
    pub inputs: Vec<TensorId>,
    /// What it writes.
    pub output: TensorId,
}

/// What a node computes; shapes are those of its tensors.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Inputs: data, weight `k c/groups kernel…`, optionally bias `k`.
    Conv {
        /// Spatial dimensions, slowest first.
        windows: Vec<Window>,
        /// Groups.
        groups: i64,
    },
    /// Inputs: data, weight `c k kernel…`, optionally bias `k`. One group.
    ConvTranspose {
        /// Spatial dimensions; padding crops the output.
        windows: Vec<Window>,
    },
    /// Inputs: data, scale, offset, mean, variance (each one element per channel).
    BatchNormalization {
        /// Added to the variance.
        epsilon: f64,
    },
    /// A function of each element.
    Unary(Function),
    /// A function of two elements, broadcast.
    Binary(Arithmetic),
    /// Matrices of two dimensions or more, stacks broadcast.
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
    /// Inputs: data, scale, optionally bias, both of the shape of the dimensions from `axis` on.
    LayerNormalization {
        /// The first dimension normalised over.
        axis: usize,
        /// Added to the variance.
        epsilon: f64,
    },
    /// The same elements in the same order under another shape; no work.
    Alias,
    /// Dimension `i` of the output is dimension `permutation[i]` of the input.
    Transpose {
        /// See above.
        permutation: Vec<usize>,
    },
    /// Every `steps[d]`-th element from `starts[d]` on, as many as the output has.
    Slice {
        /// First index per dimension.
        starts: Vec<i64>,
        /// Step per dimension; may be negative.
        steps: Vec<i64>,
    },
    /// Inputs one after another.
    Concat {
        /// Along this dimension.
        axis: usize,
    },
    /// Zeros around the input; negative numbers crop.
    Pad {
        /// Per dimension.
        before: Vec<i64>,
        /// Per dimension.
        after: Vec<i64>,
    },
}

impl Op {
    /// Whether each element of the output is a function of the elements at the same (broadcast) place.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Self::Unary(_) | Self::Binary(_))
    }
}

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    /// max(x, 0)
    Relu,
    /// x where positive, else αx
    LeakyRelu(f64),
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// max(0, min(1, αx + β))
    HardSigmoid(f64, f64),
    /// x · max(0, min(1, x/6 + ½))
    HardSwish,
    /// max(low, min(high, x)), bounds may be infinite
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
    /// 1/x
    Reciprocal,
    /// x to a constant power: a whole number of magnitude at most 8, ½ or −½
    Power(f64),
    /// x rounded to a floating-point type
    Round(Scalar),
}

/// A function of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
    /// the smaller; NaN where either is
    Min,
    /// the larger; NaN where either is
    Max,
}

impl Graph {
    /// A tensor.
    pub fn tensor(&self, id: TensorId) -> &GraphTensor {
        &self.tensors[id.0]
    }
    /// Per tensor, the nodes that read it.
    pub fn readers(&self) -> Vec<Vec<usize>> {
        let mut readers = vec![Vec::new(); self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            for input in &node.inputs {
                if readers[input.0].last() != Some(&position) {
                    readers[input.0].push(position);
                }
            }
        }
        readers
    }
    /// Per tensor, the node that writes it.
    pub fn writers(&self) -> Vec<Option<usize>> {
        let mut writers = vec![None; self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            writers[node.output.0] = Some(position);
        }
        writers
    }
    /// Per tensor, the last node that reads it; beyond all nodes for outputs, and for what nobody reads.
    pub(crate) fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![usize::MAX; self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|i| last[i.0] = position);
        }
        self.outputs.iter().for_each(|o| last[o.0] = usize::MAX);
        last
    }
    /// Whether its constants, and what is alive at one time while it is executed node by node, may be held in memory.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`] names the node at which there is most.
    pub fn fits(&self) -> Result<(), GraphError> {
        let bytes = |id: TensorId| 8 * self.tensor(id).len() as u64;
        let last = self.last_uses();
        let constants = (0..self.tensors.len()).map(TensorId).filter(|id| self.tensor(*id).constant.is_some());
        let mut alive: u64 = constants.chain(self.inputs.iter().copied()).map(bytes).sum();
        let mut most = (alive, "the beginning".to_owned());
        // Constants stay with the graph, inputs with the caller.
        let mut made = vec![false; self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            alive += bytes(node.output);
            made[node.output.0] = true;
            if alive > most.0 {
                most = (alive, format!("node `{}`", node.name));
            }
            let mut done: Vec<TensorId> = node.inputs.iter().copied().filter(|i| made[i.0] && last[i.0] == position).collect();
            done.sort_unstable();
            done.dedup();
            alive -= done.into_iter().map(bytes).sum::<u64>();
        }
        let (bytes, at) = most;
        let what = || format!("the tensors that exist at {at}, constants included,");
        room(bytes).map_err(|why| GraphError::TooLarge { what: what(), bytes, why })
    }
    /// Adds a constant tensor.
    pub(crate) fn add_constant(&mut self, name: String, shape: Vec<i64>, values: Vec<f64>) -> TensorId {
        debug_assert_eq!(shape.iter().product::<i64>() as usize, values.len());
        self.tensors.push(GraphTensor { name, shape, constant: Some(values.into()) });
        TensorId(self.tensors.len() - 1)
    }
    /// Adds a tensor that a node will write.
    pub(crate) fn add_tensor(&mut self, name: String, shape: Vec<i64>) -> TensorId {
        self.tensors.push(GraphTensor { name, shape, constant: None });
        TensorId(self.tensors.len() - 1)
    }
}
