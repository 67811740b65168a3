//! Pipeline or kernel: a group as whichever is faster.

use super::kernel::{Fused, alone, fused};
use super::parts::{Chosen, KernelPlan};
use super::pipelined::Pipelines;
use crate::group::Group;
use crate::platform::Platform;
use crate::rates::{Curves, Rates};
use crate::select::Judge;
use crate::select::pattern::Patterns;
use crate::select::vertical::footprint;
use crate::view::{NodeId, View};
use std::collections::{BTreeMap, HashSet};
use warpsight_graph::Class;
use warpsight_ir::{Bytes, Seconds, StageClass, StageWork};

/// Judges groups by what they become, with what is known of a graph once and for all.
pub struct Chooser<'a> {
    pipelines: Pipelines<'a>,
    /// Operators that a kernel may hold next to each other, to both sides.
    near: Vec<Vec<NodeId>>,
    /// Of each product, what the matrix units of all multiprocessors take at least.
    products: Vec<Seconds>,
}

impl<'a> Chooser<'a> {
    /// Of a graph on a device.
    pub fn new(graph: &'a View, platform: &'a Platform, rates: &'a dyn Rates) -> Self {
        let mut near = vec![Vec::new(); graph.nodes.len()];
        for link in Patterns::vertical().links(graph) {
            near[link.from.0].push(link.to);
            near[link.to.0].push(link.from);
        }
        let product = |id: NodeId| {
            let node = graph.node(id);
            let gemm = node.gemm.filter(|_| node.class == Class::Tensor);
            let element = gemm.map(|gemm| graph.tensor(gemm.left).element as u32);
            let seconds = element.and_then(|element| rates.seconds(&multiplying(node.flops, element)).ok());
            seconds.map_or(Seconds::ZERO, |seconds| seconds / f64::from(platform.cores))
        };
        let products = graph.ids().map(product).collect();
        Self { pipelines: Pipelines { graph, platform, curves: Curves::new(rates, platform.cores) }, near, products }
    }

    /// The faster of the two; `both` as in [`Pipelines::fastest`].
    pub fn chosen(&self, group: &Group, both: bool) -> Option<Chosen> {
        let pipeline = self.pipelines.fastest(group, both).ok();
        let kernel = self.kernel(group);
        match (pipeline, kernel) {
            (Some(pipeline), Some(kernel)) if kernel.run.seconds < pipeline.seconds => Some(Chosen::Kernel(kernel)),
            (Some(pipeline), _) => Some(Chosen::Pipeline(Box::new(pipeline))),
            (None, kernel) => kernel.map(Chosen::Kernel),
        }
    }

    /// A group as one kernel, where its operators hang together and shared memory holds them.
    fn kernel(&self, group: &Group) -> Option<KernelPlan> {
        let Pipelines { graph, platform, .. } = self.pipelines;
        let mut open = vec![*group.nodes.first()?];
        let mut reached = HashSet::from([open[0]]);
        while let Some(at) = open.pop() {
            open.extend(self.near[at.0].iter().copied().filter(|&next| group.has(next) && reached.insert(next)));
        }
        if reached.len() < group.nodes.len() {
            return None;
        }
        let footprint = footprint(graph, &group.nodes, platform.shared);
        let own = Fused { group: group.clone(), rows: footprint.rows };
        let run = footprint.fits().then(|| fused(graph, &own, platform, self.pipelines.curves.rates).ok())??;
        Some(KernelPlan { fused: own, footprint, run })
    }
}

impl Judge for Chooser<'_> {
    fn seconds(&self, _: &View, group: &Group) -> Option<f64> {
        let seconds = match self.chosen(group, false)? {
            Chosen::Pipeline(plan) => plan.seconds,
            Chosen::Kernel(plan) => plan.run.seconds,
        };
        Some((seconds + self.pipelines.platform.launch).0)
    }

    fn alone(&self, graph: &View, node: NodeId) -> f64 {
        let platform = self.pipelines.platform;
        alone(graph, node, platform, self.pipelines.curves.rates).map_or(f64::INFINITY, |run| (run.seconds + platform.launch).0)
    }

    fn bound(&self, graph: &View, group: &Group) -> f64 {
        let platform = self.pipelines.platform;
        let memory = group.traffic(graph).bytes() / platform.dram;
        let units: Seconds = group.nodes.iter().map(|id| self.products[id.0]).sum();
        (memory.max(units) + platform.launch).0
    }
}

/// So many operations on the matrix units of one multiprocessor.
fn multiplying(flops: f64, element: u32) -> StageWork {
    StageWork {
        name: "".into(),
        class: StageClass::Tensor,
        shape: BTreeMap::new(),
        element,
        parts: 1,
        flops_per_token: flops,
        epilogue_per_token: 0.0,
        bytes_per_token: Bytes::ZERO,
        cached_per_token: Bytes::ZERO,
        received_per_token: Bytes::ZERO,
        sent_per_token: Bytes::ZERO,
        messages_per_token: 0.0,
        tokens: 1,
        ctas: 1,
    }
}
