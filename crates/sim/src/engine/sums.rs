//! What a launch came to.

use super::{Core, Engine};
use crate::report::{Report, SampleError, Sampled};
use crate::timing::{Time, cycles};
use crate::totals::Totals;
use warpsight_ir::{Cycles, Limiter, Seconds};

/// A resource limits when it is busy for so much of the time.
const BUSY: f64 = 0.6;

/// Remade by the command that [`SampleError`] names.
const ERROR: SampleError = SampleError { median: 0.0, p95: 0.0162, worst: 0.2008 };

impl<const W: usize> Engine<'_, W> {
    /// The next group to simulate.
    pub(super) fn next_group(&mut self) -> Option<u64> {
        if self.plan.done() {
            return None;
        }
        // Taken out, since it asks for totals of what it is a part of.
        let mut plan = std::mem::take(&mut self.plan);
        let group = plan.take(self.memory_instructions, || self.totals());
        self.plan = plan;
        group
    }

    /// What has been done so far.
    fn totals(&self) -> Totals {
        let sum = |f: &dyn Fn(&Core) -> Time| self.cores.iter().map(f).sum::<Time>() as f64;
        let slices: Time = self.caches.slices.iter().map(|s| s.port.busy).sum();
        let channels: Time = self.caches.dram.channels.iter().map(|c| c.bus.busy).sum();
        Totals {
            end: self.end as f64,
            issue: sum(&|c| c.ports.iter().map(|p| p.busy).sum()),
            float: sum(&|c| c.float),
            units: [
                sum(&|c| c.units.textures.iter().map(|t| t.pipe.busy).sum()),
                sum(&|c| c.units.load_store.busy),
                sum(&|c| c.units.local.busy),
                slices as f64,
                channels as f64,
            ],
            instructions: [self.instructions as f64, self.memory_instructions as f64],
            traffic: self.caches.traffic.clone().numbers().map(|number| *number as f64),
        }
    }

    pub(super) fn report(self) -> Report {
        let mut totals = self.totals();
        let simulated = totals.issue;
        totals.add(&self.plan.between(), 1.0);
        let end = totals.end.max(1.0);
        let share = |busy: f64, of: usize| busy / end / of.max(1) as f64;
        let ports: usize = self.cores.iter().map(|c| c.ports.len()).sum();
        let textures: usize = self.cores.iter().map(|c| c.units.textures.len()).sum();
        let [texture, load_store, local, slices, channels] = totals.units;
        let busy = vec![
            (if totals.float * 2.0 >= totals.issue { Limiter::Fp } else { Limiter::Issue }, share(totals.issue, ports)),
            (Limiter::Texture, share(texture, textures)),
            (Limiter::L1, share(load_store, self.cores.len())),
            (Limiter::Local, share(local, self.cores.len())),
            (Limiter::L2, share(slices, self.caches.slices.len())),
            (Limiter::Dram, share(channels, self.caches.dram.channels.len())),
        ];
        let whole = self.plan.simulated() == self.group_count;
        let cycles = Cycles(if whole { cycles(self.end) } else { totals.end / crate::timing::PER_CYCLE });
        let overhead = Seconds(self.silicon.launch.overhead);
        let running = cycles / warpsight_ir::Hertz(self.silicon.core.clock);
        let busiest = busy.iter().copied().fold((Limiter::Latency, BUSY), |best, b| if b.1 > best.1 { b } else { best });
        // Cores take their part of what was left out.
        let more = if simulated > 0.0 { totals.issue / simulated } else { 1.0 };
        let of_core = |c: &Core| share(c.ports.iter().map(|p| p.busy).sum::<Time>() as f64 * more, c.ports.len());
        let mut traffic = self.caches.traffic.clone();
        traffic.numbers().into_iter().zip(totals.traffic).for_each(|(number, total)| *number = total.round() as u64);
        Report {
            time: overhead + running,
            cycles,
            core_busy: self.cores.iter().map(of_core).collect(),
            limiter: if overhead.0 > running.0 { Limiter::Launch } else { busiest.0 },
            busy,
            instructions: totals.instructions[0].round() as u64,
            memory_instructions: totals.instructions[1].round() as u64,
            traffic,
            occupancy: self.demand.occupancy.clone(),
            registers: self.demand.registers,
            spilled: self.demand.spilled,
            assumed: self.silicon.assumed.len(),
            sampled: (!whole).then(|| Sampled { groups: self.plan.simulated(), of: self.group_count, error: ERROR }),
        }
    }
}
