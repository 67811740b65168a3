//! Small networks that others designed, in drawn configurations of all their kernels, against what onnxruntime makes of them: on a simulated phone, and
//! on OpenCL where there is a driver.

mod common;
#[path = "../../graph/tests/support/mod.rs"]
mod support;

use common::{selected, skip};
use fastrand::Rng;
use support::cases::cases;
use support::relative;
use warpsight_engine::network::Network;
use warpsight_generate::Place;
use warpsight_graph::{Model, Plan, PlanRole, simplify};
use warpsight_run::{Device, Options};

/// Places of all tensors between kernels: few networks have kernels for others than the first everywhere.
const PLACES: [Place; 2] = [Place::Buffer, Place::blocks(4)];

/// How many selections ran and gave what they should.
fn run(device: &mut dyn Device, every: usize) -> usize {
    let mut rng = Rng::with_seed(5);
    let mut count = 0;
    for case in cases(include_str!("../../graph/tests/fixtures/architectures.json")).into_iter().step_by(every) {
        let name = &case.name;
        let graph = Model::from_bytes(&case.model).and_then(|m| m.graph(&[])).unwrap_or_else(|e| panic!("{name}: {e}"));
        let plan = Plan::of(&simplify(&graph)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let network = Network::new(&plan).expect("kernels");
        let inputs: Vec<Vec<f32>> = case.inputs.iter().map(|own| own.iter().map(|v| *v as f32).collect()).collect();
        for place in PLACES {
            let between = |tensor: &warpsight_graph::PlanTensor| match tensor.role {
                PlanRole::Intermediate if tensor.shape.len() == 4 => place,
                _ => Place::Buffer,
            };
            let places: Vec<Place> = plan.tensors.iter().map(between).collect();
            let selection = selected(&network, &places, &mut rng);
            assert!(selection.is_some() || place != Place::Buffer, "{name}: no configurations");
            let Some(selection) = selection else { continue };
            let run = network.run(&selection, &inputs, &mut *device, 0).unwrap_or_else(|e| panic!("{name}: {e}"));
            let found: Vec<f64> = run.outputs[0].2.iter().map(|v| f64::from(*v)).collect();
            let off = relative(&found, &case.output);
            assert!(off < 1e-5, "{name} in {place:?}: off by {off}");
            count += 1;
        }
    }
    count
}

#[test]
fn architectures_on_a_simulated_phone() {
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("is there");
    let count = run(&mut *device, 1);
    println!("{count} selections");
    assert!(count > 22, "{count}");
}

/// Every sixth: each kernel is compiled.
#[test]
fn architectures_on_opencl() {
    match warpsight_run::open("opencl:0", &Options { in_process: true, ..Options::default() }) {
        Ok(mut device) => assert!(run(&mut *device, 6) >= 4),
        Err(_) => skip("no OpenCL"),
    }
}
