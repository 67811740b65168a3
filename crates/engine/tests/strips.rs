//! Tensors in strips: products, kernels of Winograd's tiles and networks whose kernels hand panels to each other, on interpreter and simulator.

mod common;

use common::Case;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use warpsight_engine::found::{ByPattern, pattern_of};
use warpsight_engine::network::{Network, Selection};
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Along, Meeting, Pass, Passes, Place, ScheduleFamily};
use warpsight_graph::{Graph, GraphTensor, Node, Op, Origin, Plan, PlanRole};
use warpsight_ir::Seconds;
use warpsight_run::Options;

const CHANNELS_LAST: Place = Place::Strips(Along::Rows, None);

fn passes() -> Passes {
    Passes::default().set(Pass::Strips, true)
}

/// Panels of both operands and of the results of products of any extents, batched and transposed: results are right on the interpreter, and the
/// same on a simulated phone.
#[test]
fn products_of_panels() {
    let mut rng = Rng::with_seed(41);
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("is there");
    let mut seen: BTreeSet<(usize, Place)> = BTreeSet::new();
    for (n, turned) in
        ["", " transpose_left=1", " transpose_right=1", " batch=2", " batch=2 transpose_right=1"].into_iter().cycle().take(15).enumerate()
    {
        let mut any = || *rng.choice(&[5, 7, 8, 13, 16, 17, 24]).expect("some");
        let text = format!("matmul m={} n={} k={} weights=none{turned}", any(), any(), any());
        let expr = || parse_operator(&text).expect("an operator").steps.remove(0);
        let mut configs = ScheduleFamily::by(expr(), passes()).sample(n as u64, 60, Meeting::ANY);
        rng.shuffle(&mut configs);
        let mut here: BTreeSet<(usize, Place)> = BTreeSet::new();
        for config in configs {
            let family = ScheduleFamily::by(expr(), passes());
            let places = family.places(&config).expect("legal").into_iter().enumerate();
            let strips: Vec<(usize, Place)> = places.filter(|own| matches!(own.1, Place::Strips(..))).collect();
            if strips.iter().all(|own| here.contains(own)) {
                continue;
            }
            here.extend(&strips);
            let case = Case::new(format!("{text} #{n}"), family, config, rng.u64(..));
            case.is_right_on(&mut *device);
        }
        seen.extend(here);
    }
    let places = [Along::Rows, Along::Columns].into_iter().flat_map(|own| [4, 8, 16].map(|width| Place::Strips(own, Some(width))));
    let all: BTreeSet<(usize, Place)> = places.flat_map(|place| (0..3).map(move |t| (t, place))).collect();
    assert_eq!(seen, all);
}

#[derive(Default)]
struct Draft {
    graph: Graph,
}

impl Draft {
    fn input(&mut self, shape: &[i64]) -> warpsight_graph::TensorId {
        let id = self.graph.add(GraphTensor::new(format!("x{}", self.graph.inputs.len()), shape.to_vec(), Origin::Input));
        self.graph.inputs.push(id);
        id
    }

    fn weight(&mut self, shape: &[i64]) -> warpsight_graph::TensorId {
        let values: Vec<f64> = (0..shape.iter().product()).map(|n: i64| f64::from((n * 7 % 17) as i32 - 8) / 32.0).collect();
        self.graph.add(GraphTensor::new(format!("w{}", self.graph.tensors.len()), shape.to_vec(), Origin::Constant).with_values(values))
    }

    fn node(&mut self, op: Op, inputs: Vec<warpsight_graph::TensorId>, shape: &[i64]) -> warpsight_graph::TensorId {
        let name = format!("n{}", self.graph.nodes.len());
        let output = self.graph.add(GraphTensor::new(format!("{name}.out"), shape.to_vec(), Origin::Node));
        self.graph.nodes.push(Node::of(name, op, inputs, output));
        output
    }

    fn plan(mut self, output: warpsight_graph::TensorId) -> Plan {
        self.graph.outputs.push(output);
        Plan::of(&self.graph).expect("a plan")
    }
}

/// A product, perhaps what is made of the rows of its results, and a product.
fn two_products(rows: bool) -> Plan {
    let mut draft = Draft::default();
    let plain = Op::MatMul { transpose_left: false, transpose_right: false };
    let (x, first) = (draft.input(&[19, 12]), draft.weight(&[12, 21]));
    let mut between = draft.node(plain.clone(), vec![x, first], &[19, 21]);
    if rows {
        between = draft.node(Op::Softmax { axis: 1 }, vec![between], &[19, 21]);
    }
    let second = draft.weight(&[21, 10]);
    let y = draft.node(plain, vec![between, second], &[19, 10]);
    draft.plan(y)
}

/// A selection with these places: of configurations of many schedules, drawn, one for each kernel.
fn selected(network: &Network, places: &[Place], seed: u64) -> Option<Selection> {
    let empty = Selection { places: places.to_vec(), kernels: BTreeMap::new() };
    let config = |(family, pattern): (usize, Vec<Place>)| {
        let family = &network.families[family];
        let mut all = family.sample(seed, 400, Meeting::ANY);
        all.retain(|own| pattern_of(family, own).as_ref() == Some(&pattern));
        Rng::with_seed(seed).choice(all)
    };
    let keys = network.steps.iter().map(|step| network.key(&empty, step));
    let configs = keys.map(|key| Some((key.clone(), config(key)?))).collect::<Option<_>>()?;
    network.select(places.to_vec(), &configs)
}

/// Runs selections of a network whose tensors between kernels, of so many dimensions, lie in a place, but for single columns; how many ran.
fn run(plan: &Plan, place: Place, rank: usize, tries: u64) -> usize {
    let network = Network::by(plan, passes()).expect("kernels");
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("is there");
    let mut rng = Rng::with_seed(9);
    let inputs: Vec<Vec<f32>> = plan.inputs.iter().map(|&id| (0..plan.tensor(id).len()).map(|_| rng.f32() - 0.5).collect()).collect();
    let doubles: Vec<Vec<f64>> = inputs.iter().map(|own| own.iter().map(|v| f64::from(*v)).collect()).collect();
    let expected = plan.evaluate_f64(&doubles).expect("evaluates").remove(0);
    let between = |tensor: &warpsight_graph::PlanTensor| match tensor.role {
        PlanRole::Intermediate if tensor.shape.len() == rank && tensor.shape[rank - 1] > 1 => place,
        _ => Place::Buffer,
    };
    let places: Vec<Place> = plan.tensors.iter().map(between).collect();
    let mut ran = 0;
    for seed in 0..tries {
        let Some(selection) = selected(&network, &places, seed) else { continue };
        let run = network.run(&selection, &inputs, &mut *device, 0).expect("runs");
        let off = expected.iter().zip(&run.outputs[0].2).map(|(e, g)| (e - f64::from(*g)).abs()).fold(0.0, f64::max);
        assert!(off < 1e-4, "{place:?}: {off}");
        ran += 1;
    }
    ran
}

#[test]
fn kernels_hand_panels_to_each_other() {
    for rows in [false, true] {
        for place in [Along::Rows, Along::Columns].map(|along| Place::Strips(along, Some(4))) {
            assert!(run(&two_products(rows), place, 2, 3) > 0, "{place:?}, rows {rows}");
        }
    }
}

/// Winograd's tiles, which have their channels in the second dimension, with all of these side by side.
#[test]
fn tiles_have_their_channels_side_by_side() {
    let mut draft = Draft::default();
    let (x, w) = (draft.input(&[1, 6, 7, 6]), draft.weight(&[10, 6, 3, 3]));
    let windows = [7, 6].map(|input| warpsight_generate::operators::Window {
        pad_before: 1,
        pad_after: 1,
        ..warpsight_generate::operators::Window::new(input, 3)
    });
    let y = draft.node(Op::Conv { windows: windows.to_vec(), groups: 1 }, vec![x, w], &[1, 10, 7, 6]);
    let mut plan = draft.plan(y);
    let own = candidates(&plan.operators[0].operator).into_iter().find(|own| own.name == "winograd2").expect("offered");
    plan.replace(0, own.operator);
    assert!(run(&plan, CHANNELS_LAST, 4, 2) > 0);
}

/// Where a product of panels takes less than what writing them takes more, the tensor between two products is one; the network computes the
/// same then. Times are planted.
#[test]
fn the_least_sum_decides_on_panels() {
    let plan = two_products(false);
    let network = Network::by(&plan, passes()).expect("kernels");
    for panel in [Place::Strips(Along::Rows, Some(8)), Place::Strips(Along::Columns, Some(16))] {
        // The first kernel writes, the second reads.
        for (slower, faster, wanted) in [(0.5, 1.0, panel), (1.0, 0.5, Place::Buffer)] {
            let taken = |(n, family): (usize, &ScheduleFamily)| -> ByPattern {
                let all = family.sample(1, 300, Meeting::ANY).into_iter().filter_map(|own| pattern_of(family, &own));
                let seconds = |pattern: &Vec<Place>| {
                    let extra: [f64; 2] = if n == 0 { [0.0, slower] } else { [-faster, 0.0] };
                    let moved = |(own, extra): (&Place, f64)| {
                        if *own == Place::Buffer {
                            0.0
                        } else if *own == panel {
                            extra
                        } else {
                            9.0
                        }
                    };
                    Seconds(5.0 + pattern.iter().zip(extra).map(moved).sum::<f64>())
                };
                all.map(|pattern| {
                    let time = seconds(&pattern);
                    (pattern, time)
                })
                .collect::<BTreeMap<_, _>>()
            };
            let taken: Vec<ByPattern> = network.families.iter().enumerate().map(taken).collect();
            let keys = network.least(&taken).expect("agree");
            let own: Vec<Vec<Place>> = keys.into_iter().map(|own| own.1).collect();
            assert_eq!(own, [vec![Place::Buffer, wanted], vec![wanted, Place::Buffer]]);
        }
        assert!(run(&plan, panel, 2, 5) > 0, "{panel:?}");
    }
}
