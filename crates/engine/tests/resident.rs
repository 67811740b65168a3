//! A network on a device that is lost while it is timed: what was measured before stays.

use std::collections::BTreeMap;
use warpsight_engine::EngineError;
use warpsight_engine::network::Network;
use warpsight_generate::Place;
use warpsight_generate::operators::parse_operator;
use warpsight_graph::Plan;
use warpsight_ir::{Family, Feedback, Seconds, TimeSource, Times};
use warpsight_run::{
    Code, Contents, Device, DeviceError, DeviceInfo, Init, LaunchSpec, Look, MemorySpec, Seen, Session, Timed, TimingSpec,
};

/// A device that counts what it is sent, and is lost when it has timed so many passes.
struct Counting {
    info: DeviceInfo,
    sent: u64,
    lasts: u32,
}

struct CountingSession<'a>(&'a mut Counting, Vec<u64>);

impl Device for Counting {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        let sizes = memory.iter().map(|spec| spec.kind.bytes()).collect();
        self.sent += memory.iter().map(|spec| if let Init::Data(data) = &spec.init { data.len() as u64 } else { 0 }).sum::<u64>();
        Ok(Box::new(CountingSession(self, sizes)))
    }
}

impl Session for CountingSession<'_> {
    fn load(&mut self, programs: &[Code]) -> Result<Vec<Feedback>, DeviceError> {
        Ok(vec![Feedback::default(); programs.len()])
    }
    fn write(&mut self, _: usize, contents: &Init) -> Result<(), DeviceError> {
        self.0.sent += if let Init::Data(data) = contents { data.len() as u64 } else { 0 };
        Ok(())
    }
    fn launch(&mut self, launches: &[LaunchSpec]) -> Result<Vec<Feedback>, DeviceError> {
        Ok(vec![Feedback::default(); launches.len()])
    }
    fn time(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Timed, DeviceError> {
        let left = self.0.lasts.checked_sub(timing.runs).ok_or_else(|| DeviceError::Lost("unplugged".into()))?;
        self.0.lasts = left;
        let times = vec![Times::alike(Seconds(1e-3), timing.runs as usize); launches.len()];
        let pass_times = (left..left + timing.runs).rev().map(|left| Seconds(1.0 + f64::from(left))).collect();
        Ok(Timed { times, pass_times, source: Some(TimeSource::Measured), ..Timed::default() })
    }
    fn look(&mut self, look: &Look) -> Result<Seen, DeviceError> {
        let read = look.read.iter().map(|&position| Contents(vec![0; self.1[position] as usize])).collect();
        Ok(Seen { read, ..Seen::default() })
    }
}

#[test]
fn what_was_measured_before_the_device_is_lost_stays_and_memory_is_sent_once() {
    let operator = parse_operator("conv2d n=1 c=5 h=7 w=9 k=6 r=3 s=3 stride=1 pad=1").expect("an operator");
    let plan = Plan::of_operator(&operator, |n| vec![0.5; n]);
    let network = Network::new(&plan).expect("kernels");
    let family = &network.families[0];
    let buffers = |config: &_| family.places(config).filter(|places| places.iter().all(|place| *place == Place::Buffer));
    let (config, images) = family.configs().find_map(|config| buffers(&config).map(|i| (config, i))).expect("one of buffers");
    let roles = family.expr().inputs.iter().map(|t| t.role == warpsight_generate::expr::Role::Weight).chain([false]);
    let pattern = roles.zip(images).filter(|(weight, _)| !weight).map(|(_, image)| image).collect();
    let selection = network.select(vec![Place::Buffer; plan.tensors.len()], &BTreeMap::from([((0, pattern), config)])).expect("fits");
    let inputs: Vec<Vec<f32>> = plan.inputs.iter().map(|&id| vec![1.0; plan.tensor(id).len()]).collect();
    let info = warpsight_run::sim::Sim::open("adreno640").expect("is there");
    let info = DeviceInfo { clock: Some(TimeSource::Measured), ..Device::info(&info).clone() };

    let mut sent = vec![];
    for (runs, lasts) in [(1, 100), (20, 100), (20, 18)] {
        let mut device = Counting { info: info.clone(), sent: 0, lasts };
        let mut resident = network.open(&selection, &inputs, &mut device).expect("opens");
        let mut run = resident.run().expect("runs");
        let ended = resident.repeat(runs, &mut run);
        drop(resident);
        sent.push(device.sent);
        // Sixteen are timed together.
        let last = lasts - if runs > lasts { 16 } else { runs };
        let expected: Times = (last..lasts).rev().map(|left| Seconds(1.0 + f64::from(left))).collect();
        assert_eq!(run.passes, expected, "{runs} runs on a device that lasts {lasts}");
        assert_eq!((run.times.len(), run.source), (0, Some(TimeSource::Measured)), "of kernels nothing is kept");
        match lasts {
            18 => assert!(matches!(&ended, Err(EngineError::Device(DeviceError::Lost(why))) if why == "unplugged"), "{ended:?}"),
            _ => ended.expect("lasts"),
        }
    }
    let weights = 4 * 6 * 5 * 9;
    assert!(sent[0] >= weights && sent.iter().all(|&bytes| bytes == sent[0]), "{sent:?}");
}
