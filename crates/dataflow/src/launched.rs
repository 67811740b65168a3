//! Kernels launched one after another as pipelines of one stage without queues, each firing of which is a work-group of its own: so that a
//! simulator executes operators, vertically fused ones too, by the rules that it executes pipelines by.

use crate::design::DesignError;
use crate::lower::{LANES, REGISTERS};
use crate::plan::kernel::{Fused, parts, tiled};
use crate::platform::Platform;
use crate::rates::Rates;
use crate::select::vertical::footprint;
use crate::view::{NodeId, View};
use warpsight_ir::{Bytes, Firings, Pipeline, PipelineStage, StageBody, StageClass, Step};

/// Work-groups of a kernel at most. Where there are more tiles, each carries out several: after a thousand rounds on a hundred
/// multiprocessors the last one does not count.
const MOST: u64 = 1 << 17;

/// What a work-group does, and how many there are.
struct Kernel {
    class: StageClass,
    count: u64,
    local: Bytes,
    steps: Vec<Step>,
}

impl Kernel {
    fn pipeline(self) -> Pipeline {
        let Self { class, count: tiles, local, mut steps } = self;
        let each = tiles.div_ceil(MOST);
        let count = tiles.div_ceil(each);
        // A few tiles too many would be no rounding: shares are of the work-groups that there are.
        let share = |amount: &mut u64| *amount = (*amount as f64 * (tiles as f64 / count as f64)).ceil() as u64;
        for step in steps.iter_mut().filter(|_| each > 1) {
            if let Step::Work { flops, read, written } = step {
                [flops, read, written].into_iter().for_each(share);
            }
        }
        let registers = if class == StageClass::Tensor { REGISTERS.0 } else { REGISTERS.1 };
        let body = StageBody::Firings(Firings { count, dealt: false, lanes: LANES, registers, local: local.0.ceil() as u64, steps });
        let ctas = u32::try_from(count).unwrap_or(u32::MAX);
        let stage = PipelineStage { name: "k".into(), class, ctas, body };
        Pipeline { name: "k".into(), stages: vec![stage], channels: Vec::new(), side_outputs: Vec::new(), certificate: None }
    }
}

/// An operator by itself; every operand goes through memory once.
///
/// # Errors
/// The operator whose rate is not known.
pub fn operator(graph: &View, id: NodeId, platform: &Platform, rates: &dyn Rates) -> Result<Pipeline, DesignError> {
    let node = graph.node(id);
    let stage = tiled(graph, id, platform, rates)?;
    let count = stage.tokens.max(1);
    let share = |bytes: Bytes| (bytes.0 / count as f64).ceil() as u64;
    let flops = (stage.flops_per_token + stage.epilogue_per_token).ceil() as u64;
    let steps = vec![Step::Work { flops, read: share(node.read), written: share(node.written) }];
    Ok(Kernel { class: stage.class, count, local: Bytes::ZERO, steps }.pipeline())
}

/// Operators fused vertically: matrix units wait while vector units work (paper 003, section 3). Units of a stage are of one class, so that
/// an operation on vector units stands for `vector` of them on matrix units: as many as take one work-group the same time.
///
/// # Errors
/// The operator whose rate is not known.
pub fn fused(graph: &View, fused: &Fused, platform: &Platform, rates: &dyn Rates, vector: f64) -> Result<Pipeline, DesignError> {
    let parts = parts(graph, fused, platform, rates)?;
    let tensor = |class: StageClass| class == StageClass::Tensor;
    let products = parts.iter().any(|part| tensor(part.stage.class));
    // Work-groups take the tiles of what is tiled, else of the products, else the most there are.
    let most = |of: fn(&crate::plan::kernel::Part) -> bool| parts.iter().filter(|part| of(part)).map(|part| part.stage.tokens).max();
    let count = most(|part| part.tiled).or_else(|| most(|part| part.stage.class == StageClass::Tensor)).or_else(|| most(|_| true));
    let count = count.unwrap_or(1).max(1);
    let operations = |class: StageClass| {
        let own = parts.iter().filter(|part| part.stage.class == class).map(|part| part.stage.flops_per_token * part.stage.tokens as f64);
        own.sum::<f64>()
    };
    let share = |amount: f64| (amount / count as f64).ceil() as u64;
    let traffic = fused.group.traffic(graph);
    let (class, vector) = if products { (StageClass::Tensor, vector) } else { (StageClass::Simt, 1.0) };
    let mut steps = vec![Step::Work { flops: share(operations(StageClass::Simt) * vector), read: 0, written: share(traffic.written.0) }];
    if products {
        steps.insert(0, Step::Work { flops: share(operations(StageClass::Tensor)), read: share(traffic.read.0), written: 0 });
    } else if let [Step::Work { read, .. }] = steps.as_mut_slice() {
        *read = share(traffic.read.0);
    }
    let local = footprint(graph, &fused.group.nodes, platform.shared).bytes();
    Ok(Kernel { class, count, local, steps }.pipeline())
}
