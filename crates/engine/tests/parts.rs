//! Tensors that several kernels write in parts: in rows, blocks and images, whichever no part cuts.

mod common;

use common::selected;
use fastrand::Rng;
use std::collections::BTreeSet;
use warpsight_engine::network::Network;
use warpsight_generate::Place;
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::Window;
use warpsight_graph::{Graph, GraphTensor, Node, Op, Origin, Plan, PlanRole, TensorId};
use warpsight_run::Options;

/// Channels: no whole number of blocks or texels.
const CHANNELS: i64 = 10;
/// Selections of each network, at most.
const DRAWN: u64 = 100;
/// Places that a tensor between kernels may have here.
const PLACES: [Place; 4] = [Place::Buffer, Place::blocks(4), Place::blocks(8), Place::Image];

#[derive(Default)]
struct Draft {
    graph: Graph,
}

impl Draft {
    fn input(&mut self, shape: [i64; 4]) -> TensorId {
        let id = self.graph.add(GraphTensor::new(format!("x{}", self.graph.inputs.len()), shape, Origin::Input));
        self.graph.inputs.push(id);
        id
    }

    fn weight(&mut self) -> TensorId {
        let shape = [CHANNELS, CHANNELS, 3, 3];
        let values: Vec<f64> = (0..shape.iter().product()).map(|n: i64| f64::from((n * 7 % 17) as i32 - 8) / 32.0).collect();
        let tensor = GraphTensor::new(format!("w{}", self.graph.tensors.len()), shape, Origin::Constant);
        self.graph.add(tensor.with_values(values))
    }

    fn node(&mut self, op: Op, inputs: Vec<TensorId>, [h, w]: [i64; 2]) -> TensorId {
        let name = format!("n{}", self.graph.nodes.len());
        let output = self.graph.add(GraphTensor::new(format!("{name}.out"), [1, CHANNELS, h, w], Origin::Node));
        self.graph.nodes.push(Node::of(name, op, inputs, output));
        output
    }

    fn conv(&mut self, x: TensorId, extents: [i64; 2]) -> TensorId {
        let inputs = vec![x, self.weight()];
        let windows = extents.map(|input| Window { pad_before: 1, pad_after: 1, ..Window::new(input, 3) }).to_vec();
        self.node(Op::Conv { windows, groups: 1 }, inputs, extents)
    }

    fn pointwise(&mut self, x: TensorId, channels: i64, filters: i64) -> TensorId {
        let name = format!("n{}", self.graph.nodes.len());
        let values: Vec<f64> = (0..filters * channels).map(|n| f64::from((n * 7 % 17) as i32 - 8) / 32.0).collect();
        let weight = GraphTensor::new(format!("{name}.w"), [filters, channels, 1, 1], Origin::Constant).with_values(values);
        let inputs = vec![x, self.graph.add(weight)];
        let output = self.graph.add(GraphTensor::new(format!("{name}.out"), [1, filters, 4, 5], Origin::Node));
        let windows = [4, 5].map(|input| Window::new(input, 1)).to_vec();
        self.graph.nodes.push(Node::of(name, Op::Conv { windows, groups: 1 }, inputs, output));
        output
    }

    fn plan(mut self, output: TensorId) -> Plan {
        self.graph.outputs.push(output);
        Plan::of(&self.graph).expect("a plan")
    }
}

/// A picture is made four times as large, each remainder by a kernel of its own.
fn larger() -> Plan {
    let mut draft = Draft::default();
    let x = draft.input([1, CHANNELS, 4, 5]);
    let small = draft.conv(x, [4, 5]);
    let windows = [4, 5].map(|input| Window { stride: 2, pad_before: 1, pad_after: 1, ..Window::new(input, 3) }).to_vec();
    let weight = draft.weight();
    let large = draft.node(Op::ConvTranspose { windows, groups: 1 }, vec![small, weight], [7, 9]);
    let y = draft.conv(large, [7, 9]);
    let mut plan = draft.plan(y);
    let phases = candidates(&plan.operators[1].operator).into_iter().find(|own| own.name == "phases").expect("phases");
    plan.replace(1, phases.operator);
    plan
}

/// Two tensors of so many channels, joined along these: convolutions that write their parts, or inputs, each of which is copied into its part.
fn joined(channels: [i64; 2], copied: bool) -> Plan {
    let mut draft = Draft::default();
    let own = if copied {
        channels.map(|own| draft.input([1, own, 4, 5]))
    } else {
        let x = draft.input([1, CHANNELS, 4, 5]);
        channels.map(|filters| draft.pointwise(x, CHANNELS, filters))
    };
    let all = channels.iter().sum();
    let whole = draft.graph.add(GraphTensor::new("whole", [1, all, 4, 5], Origin::Node));
    draft.graph.nodes.push(Node::of("concat", Op::Concat { axis: 1 }, own.to_vec(), whole));
    let y = draft.pointwise(whole, all, CHANNELS);
    let mut plan = draft.plan(y);
    if copied {
        let parts = candidates(&plan.operators[0].operator).into_iter().find(|own| own.name == "parts").expect("parts");
        plan.replace(0, parts.operator);
    }
    assert_eq!(plan.operators.iter().map(|op| op.operator.steps.len()).sum::<usize>(), 3);
    plan
}

/// Rows of a picture are replaced, in place.
fn updated(axis: usize) -> Plan {
    let mut draft = Draft::default();
    let (x, z) = (draft.input([1, CHANNELS, 4, 5]), draft.input([1, CHANNELS, 2, 5]));
    let (a, b) = (draft.conv(x, [4, 5]), draft.conv(z, [2, 5]));
    let b = if axis == 2 {
        b
    } else {
        // Two channels of the same extents.
        let op = Op::Slice { starts: vec![0, 1, 0, 0], steps: vec![1; 4] };
        let output = draft.graph.add(GraphTensor::new("two", [1, 2, 4, 5], Origin::Node));
        draft.graph.nodes.push(Node::of("slice", op, vec![x], output));
        output
    };
    let new = draft.node(Op::Update { axis, start: 1 }, vec![a, b], [4, 5]);
    let y = draft.conv(new, [4, 5]);
    draft.plan(y)
}

/// Where tensors that are written in parts lay, of the drawn selections that ran and gave what they should.
fn places_of_parts(plan: &Plan, drawn: u64) -> BTreeSet<String> {
    let network = Network::new(plan).expect("kernels");
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("is there");
    let mut rng = Rng::with_seed(9);
    let inputs: Vec<Vec<f32>> = plan.inputs.iter().map(|&id| (0..plan.tensor(id).len()).map(|_| rng.f32() - 0.5).collect()).collect();
    let doubles: Vec<Vec<f64>> = inputs.iter().map(|own| own.iter().map(|v| f64::from(*v)).collect()).collect();
    let expected = plan.evaluate_f64(&doubles).expect("evaluates").remove(0);
    let writers =
        |id: usize| plan.operators.iter().flat_map(|op| op.temporaries.iter().chain([&op.output])).filter(|own| own.0 == id).count();
    let mut seen = BTreeSet::new();
    for _ in 0..drawn {
        if seen.len() == PLACES.len() {
            break;
        }
        let place = |tensor: &warpsight_graph::PlanTensor| match tensor.role {
            PlanRole::Intermediate => PLACES[rng.usize(..PLACES.len())],
            _ => Place::Buffer,
        };
        let places: Vec<Place> = plan.tensors.iter().map(place).collect();
        let Some(selection) = selected(&network, &places, &mut rng) else { continue };
        let run = network.run(&selection, &inputs, &mut *device, 0).expect("runs");
        let off = expected.iter().zip(&run.outputs[0].2).map(|(e, g)| (e - f64::from(*g)).abs()).fold(0.0, f64::max);
        assert!(off < 1e-5, "{places:?}: {off}");
        seen.extend((0..places.len()).filter(|id| writers(*id) > 1).map(|id| format!("{:?}", places[id])));
    }
    seen
}

#[test]
fn parts_lie_in_blocks_and_images_that_they_do_not_cut() {
    let all = BTreeSet::from(PLACES.map(|place| format!("{place:?}")));
    assert_eq!(places_of_parts(&larger(), DRAWN), all);
    assert_eq!(places_of_parts(&updated(2), DRAWN), all);
    assert_eq!(places_of_parts(&updated(1), DRAWN / 5), BTreeSet::from(["Buffer".to_owned()]), "a part of the channels");
    // Few drawn configurations have vectors of eight for every part.
    let fours = BTreeSet::from(["Buffer", "Strips(Rows, Some(4))", "Image"].map(str::to_owned));
    for copied in [false, true] {
        assert!(places_of_parts(&joined([8, 10], copied), DRAWN).is_superset(&fours), "{copied}");
        assert!(places_of_parts(&joined([12, 6], copied), DRAWN / 5).is_subset(&fours), "twelve is no whole number of blocks of eight");
    }
}
