//! Kernels of a network that write over what they read: less memory, the same bits.

mod common;

use common::{any_config, skip};
use fastrand::Rng;
use std::collections::BTreeMap;
use warpsight_emit::grid::eval_size;
use warpsight_engine::network::{Network, Selection};
use warpsight_generate::operators::{PoolKind, Window};
use warpsight_generate::{Place, Role};
use warpsight_graph::{Arithmetic, Graph, GraphTensor, Node, Op, Origin, Plan, PlanRole, TensorId, memory};
use warpsight_ir::{Bindings, Checked, ParamKind, interpret};
use warpsight_run::{Code, Job, Options};

const FULL: [i64; 4] = [2, 3, 4, 5];
const SCALE: [i64; 4] = [2, 3, 1, 1];
/// Of each network.
const CONFIGS: u64 = 6;
/// Kernels of a network that a driver compiles, at most.
const COMPILED: usize = 6;

/// A network in the making; operands of two change places where that is asked.
struct Draft {
    graph: Graph,
    rng: Rng,
    turned: bool,
}

impl Draft {
    fn input(&mut self, shape: &[i64]) -> TensorId {
        let name = format!("x{}", self.graph.inputs.len());
        let id = self.graph.add(GraphTensor::new(name, shape, Origin::Input));
        self.graph.inputs.push(id);
        id
    }

    fn constant(&mut self, shape: &[i64]) -> TensorId {
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| f64::from(self.rng.i32(-8..9)) / 8.0).collect();
        let tensor = GraphTensor::new(format!("w{}", self.graph.tensors.len()), shape, Origin::Constant);
        self.graph.add(tensor.with_values(values))
    }

    fn node(&mut self, op: Op, inputs: Vec<TensorId>, shape: &[i64]) -> TensorId {
        let name = format!("n{}", self.graph.nodes.len());
        let output = self.graph.add(GraphTensor::new(format!("{name}.out"), shape, Origin::Node));
        self.graph.nodes.push(Node::of(name, op, inputs, output));
        output
    }

    fn conv(&mut self, x: TensorId) -> TensorId {
        let weight = self.constant(&[3, 3, 3, 3]);
        let window = |input| Window { pad_before: 1, pad_after: 1, ..Window::new(input, 3) };
        self.node(Op::Conv { windows: vec![window(4), window(5)], groups: 1 }, vec![x, weight], &FULL)
    }

    fn mean(&mut self, x: TensorId) -> TensorId {
        self.node(Op::GlobalAveragePool, vec![x], &SCALE)
    }

    fn binary(&mut self, op: Arithmetic, a: TensorId, b: TensorId) -> TensorId {
        let inputs = if self.turned { vec![b, a] } else { vec![a, b] };
        self.node(Op::Binary(op), inputs, &FULL)
    }

    /// The end: what it reads lies between kernels.
    fn pool(&mut self, x: TensorId) -> TensorId {
        let windows = vec![Window::new(4, 2), Window::new(5, 2)];
        self.node(Op::Pool { kind: PoolKind::Max, windows, ceil_mode: false }, vec![x], &[2, 3, 3, 4])
    }

    fn plan(mut self, output: TensorId) -> Plan {
        self.graph.outputs.push(output);
        Plan::of(&self.graph).expect("a plan")
    }
}

/// A name, what is made, and how many kernels work in place at least, for some configuration.
type Case = (&'static str, fn(Draft) -> Plan, usize);

const CASES: [Case; 6] = [
    (
        "what was convolved is scaled by its means",
        |mut draft| {
            let x = draft.input(&FULL);
            let a = draft.conv(x);
            let scale = draft.mean(a);
            let scaled = draft.binary(Arithmetic::Mul, a, scale);
            let y = draft.pool(scaled);
            draft.plan(y)
        },
        1,
    ),
    (
        "two are scaled, and their difference is taken in place of one",
        |mut draft| {
            let (x, z) = (draft.input(&FULL), draft.input(&FULL));
            let (a, b) = (draft.conv(x), draft.conv(z));
            let (of_a, of_b) = (draft.mean(a), draft.mean(b));
            let a = draft.binary(Arithmetic::Sub, a, of_a);
            let (again, b) = (draft.mean(a), draft.binary(Arithmetic::Mul, b, of_b));
            let difference = draft.binary(Arithmetic::Sub, a, b);
            let difference = draft.binary(Arithmetic::Add, difference, again);
            let y = draft.pool(difference);
            draft.plan(y)
        },
        1,
    ),
    (
        "what was convolved is scaled by its means, and again",
        |mut draft| {
            let mut x = draft.input(&FULL);
            for _ in 0..2 {
                let a = draft.conv(x);
                let scale = draft.mean(a);
                x = draft.binary(Arithmetic::Mul, a, scale);
            }
            let y = draft.pool(x);
            draft.plan(y)
        },
        2,
    ),
    (
        "what was convolved is added to what was convolved of it",
        |mut draft| {
            let x = draft.input(&FULL);
            let a = draft.conv(x);
            let b = draft.conv(a);
            let c = draft.conv(b);
            let sum = draft.binary(Arithmetic::Add, c, a);
            let y = draft.pool(sum);
            draft.plan(y)
        },
        1,
    ),
    (
        "rows are normalised between products",
        |mut draft| {
            let x = draft.input(&[6, 7]);
            let (left, right) = (draft.constant(&[7, 9]), draft.constant(&[9, 4]));
            let product = Op::MatMul { transpose_left: false, transpose_right: false };
            let a = draft.node(product.clone(), vec![x, left], &[6, 9]);
            let rows = draft.node(Op::Softmax { axis: 1 }, vec![a], &[6, 9]);
            let y = draft.node(product, vec![rows, right], &[6, 4]);
            draft.plan(y)
        },
        1,
    ),
    (
        "what is read later stays, and a square is written over its root",
        |mut draft| {
            let x = draft.input(&FULL);
            let a = draft.conv(x);
            let means = draft.mean(a);
            let kept = draft.binary(Arithmetic::Mul, a, means);
            let of_kept = draft.mean(kept);
            let scaled = draft.binary(Arithmetic::Mul, kept, of_kept);
            let (b, pooled) = (draft.conv(scaled), draft.pool(kept));
            let of_b = draft.mean(b);
            let squared = draft.binary(Arithmetic::Mul, b, b);
            let squared = draft.binary(Arithmetic::Sub, squared, of_b);
            let other = draft.pool(squared);
            let sum = [2, 3, 3, 4];
            let y = draft.node(Op::Binary(Arithmetic::Add), vec![pooled, other], &sum);
            draft.plan(y)
        },
        1,
    ),
];

/// Kernels that work on buffers alone, drawn.
fn drawn(network: &Network, plan: &Plan, seed: u64) -> Selection {
    let mut rng = Rng::with_seed(seed);
    let configs = network.families.iter().enumerate().map(|(n, family)| {
        let buffers = |config: &_| family.places(config).is_some_and(|places| places.iter().all(|place| *place == Place::Buffer));
        let config = (0..1000).map(|_| any_config(family, &mut rng)).find(buffers).expect("one of buffers");
        let activations = 1 + family.expr().inputs.iter().filter(|tensor| tensor.role != Role::Weight).count();
        ((n, vec![Place::Buffer; activations]), config)
    });
    network.select(vec![Place::Buffer; plan.tensors.len()], &configs.collect::<BTreeMap<_, _>>()).expect("fits")
}

/// The bytes that the interpreter leaves of what a job reads.
fn interpreted(job: &Job) -> Vec<Vec<u8>> {
    let mut memory: Vec<Vec<u8>> = job.memory.iter().map(|spec| spec.init.contents(spec.kind.bytes()).expect("contents")).collect();
    for launch in &job.launches {
        let Code::Program(program) = &job.programs[launch.program] else { panic!("a Program") };
        let bytes = |kind: &ParamKind| {
            let ParamKind::Buffer { element, dims, .. } = kind else { panic!("a buffer") };
            let extent = |dim| eval_size(dim, &BTreeMap::new()).expect("a number") as usize;
            dims.iter().map(extent).product::<usize>() * element.bytes() as usize
        };
        let sizes: Vec<usize> = program.params.iter().map(|param| bytes(&param.kind)).collect();
        let data = launch.args.iter().zip(&sizes).map(|(&at, &size)| memory[at][..size].to_vec()).collect();
        let mut bindings = Bindings { data, ..Bindings::default() };
        interpret::interpret(&Checked::new(program.clone()).expect("valid"), &mut bindings).expect("runs");
        for ((&at, bytes), param) in launch.args.iter().zip(&bindings.data).zip(&program.params) {
            if !matches!(&param.kind, ParamKind::Buffer { access: warpsight_ir::Access::Read, .. }) {
                memory[at][..bytes.len()].copy_from_slice(bytes);
            }
        }
    }
    job.read.iter().map(|&at| memory[at].clone()).collect()
}

#[test]
fn in_place_takes_less_memory_and_gives_the_same_bits() {
    let mut devices: Vec<_> = vec![warpsight_run::open("sim:adreno640", &Options::default()).expect("is there")];
    match warpsight_run::open("opencl:0", &Options { in_process: true, ..Options::default() }) {
        Ok(device) => devices.push(device),
        Err(error) => skip(&error.to_string()),
    }
    let mut compiled = 0;
    for (name, make, most) in CASES {
        let mut seen = 0;
        for (seed, turned) in (0..CONFIGS).flat_map(|seed| [(seed, false), (seed, true)]) {
            let plan = make(Draft { graph: Graph::default(), rng: Rng::with_seed(seed), turned });
            let network = Network::new(&plan).expect("kernels");
            let selection = drawn(&network, &plan, seed);
            // The same network in which every tensor has memory of its own.
            let mut apart = plan.clone();
            for tensor in &mut apart.tensors {
                if matches!(tensor.role, PlanRole::Intermediate) {
                    tensor.role = PlanRole::Output;
                }
            }
            let apart = Network::new(&apart).expect("kernels").job(&selection, &inputs(&plan, seed)).job;

            let held = network.memory(&selection);
            let requests: Vec<_> = held.tensors.iter().map(|kept| kept.request).collect();
            let without = memory::plan(&requests, &BTreeMap::new());
            let steps: Vec<usize> = held.in_place().collect();
            seen = seen.max(steps.len());
            assert!(steps.is_empty() || held.plan.total < without.total || held.plan.peak < without.peak, "{name}: {:?}", held.plan);
            let job = network.job(&selection, &inputs(&plan, seed)).job;
            // A kernel in place has a parameter fewer, so that none of its pointers is another's.
            for (n, launch) in job.launches.iter().enumerate() {
                let fewer = launch.args.len() < apart.launches[n].args.len();
                assert_eq!(fewer, steps.contains(&n), "{name}, step {n}");
                let written = launch.args.last().expect("an output");
                assert!(!launch.args[..launch.args.len() - 1].contains(written), "{name}, step {n}");
            }
            let expected = interpreted(&apart);
            assert_eq!(interpreted(&job), expected, "{name}, seed {seed}, turned {turned}");
            let bytes = |job: &Job| job.memory.iter().map(|spec| spec.kind.bytes()).sum::<u64>();
            assert!(bytes(&job) < bytes(&apart));
            for device in &mut devices {
                // A driver takes its time for each kernel.
                let driver = device.info().backend == "opencl";
                if driver && (seed > 0 || turned || job.programs.len() > COMPILED) {
                    continue;
                }
                compiled += usize::from(driver && !steps.is_empty());
                let results = [&apart, &job].map(|job| device.run(job).expect("runs").read);
                assert_eq!(results[0], results[1], "{name}, seed {seed}, turned {turned}, on {}", device.info().id);
            }
        }
        assert!(seen >= most, "{name}: {seen} kernels work in place");
    }
    assert!(devices.len() == 1 || compiled > 1, "{compiled} networks on a driver");
}

fn inputs(plan: &Plan, seed: u64) -> Vec<Vec<f32>> {
    let mut rng = Rng::with_seed(seed);
    plan.inputs.iter().map(|&id| (0..plan.tensor(id).len()).map(|_| rng.f32() - 0.5).collect()).collect()
}
