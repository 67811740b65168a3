//! `warpsight optimize --trace`: the chosen kernels on their simulated GPU in time. Each core is a process, each place for a wave a row of it; waits
//! lie within their waves, and counters say what caches answered.

use crate::failure::Failure;
use crate::progress;
use crate::report::timeline::{Row, Timeline};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use warpsight_files::Output;
use warpsight_ir::Seconds;
use warpsight_run::sim::Sim;
use warpsight_run::{Device, Job};
use warpsight_sim::{Bin, Bounds, Cause, MemoryCounters, Report, Timeline as Seen, Wait};

/// A trace that is to be written.
pub struct Trace {
    sim: Sim,
    output: Output,
}

/// Counters of a trace at most, as far as that leaves enough bins to see anything.
const COUNTERS: usize = 60_000;
const BINS: std::ops::RangeInclusive<usize> = 16..=256;

/// Counters of a core that a bin has at most.
const TRACKS: usize = 5;

impl Trace {
    /// Begins the file, before anything long is done for nothing.
    pub fn begin(file: &Path, device: &str) -> Result<Self, Failure> {
        let Some(name) = device.strip_prefix("sim:") else {
            return Err(Failure::input(format!(
                "there is no trace: only simulated GPUs tell what happens inside them, `{device}` is none"
            ))
            .at("--trace")
            .help("--device sim:NAME or sim:FILE.toml is one; `warpsight devices` lists them"));
        };
        Ok(Self { sim: Sim::open(name)?, output: Output::create(file)? })
    }

    /// Simulates the jobs of an operator once more, one after another, and writes what happens.
    pub fn write(mut self, op: &str, jobs: &[Job]) -> Result<(), Failure> {
        let bar = progress::bar(jobs.len(), "trace");
        bar.set_message("simulating once more");
        let launches = jobs.iter().map(|job| job.launches.len()).sum::<usize>().max(1);
        let cores = self.sim.simulator().silicon().core.count as usize;
        let bins = (COUNTERS / (TRACKS * cores * launches)).clamp(*BINS.start(), *BINS.end());
        let mut bounds = Bounds { bins, ..Bounds::default() };
        let mut drawn = Drawn::default();
        drawn.timeline.process(0, "launches");
        drawn.timeline.row(Row(0, 0), "launches");
        for job in jobs {
            for ((report, seen), launch) in self.sim.timelines(job, bounds)?.iter().zip(&job.launches) {
                bounds.spans = bounds.spans.saturating_sub(seen.waves.len() + seen.waits.len());
                drawn.launch(job.programs[launch.program].name(), report, seen);
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        let info = self.sim.info();
        let about = json!({
            "kind": "simulated",
            "op": op,
            "device": info.id,
            "driver": info.driver,
            "assumed": self.sim.simulator().silicon().assumed.len(),
            "kernels": drawn.kernels,
            "groups": "all of each kernel",
            "left_out": drawn.left_out,
        });
        self.output.write(drawn.timeline.finish(about).to_string().as_bytes())?;
        Ok(self.output.finish()?)
    }
}

/// What is drawn so far.
#[derive(Default)]
struct Drawn {
    timeline: Timeline,
    now: Seconds,
    kernels: Vec<String>,
    /// Cores and rows that have their names.
    named: BTreeSet<(usize, Option<usize>)>,
    /// Of each kernel of which there is more than is drawn.
    left_out: Vec<Value>,
}

impl Drawn {
    /// One launch, after those before it.
    fn launch(&mut self, name: &str, report: &Report, seen: &Seen) {
        let begin = self.now;
        let args = json!({
            "kind": "simulated", "cycles": report.cycles, "limiter": report.limiter.name(), "registers": report.registers,
            "waves_that_fit": report.occupancy.waves, "traffic": report.traffic, "launch_overhead_s": seen.begin, "bin_s": seen.width,
        });
        self.timeline.span(Row(0, 0), "launch", name, begin, report.time, args);
        for wave in &seen.waves {
            self.name(wave.core, Some(wave.slot));
            let name = format!("group {} wave {}", wave.group, wave.wave);
            let args = json!({"group": wave.group, "wave": wave.wave});
            self.timeline.span(row(wave.core, wave.slot), "wave", &name, begin + wave.begin, wave.end - wave.begin, args);
        }
        for wait in &seen.waits {
            let wave = &seen.waves[wait.wave];
            let (category, name, args) = described(wait);
            let row = row(wave.core, wave.slot);
            self.timeline.span(row, category, &name, begin + wait.begin, wait.end - wait.begin, args);
        }
        for (core, bins) in seen.cores.iter().enumerate().filter(|(_, bins)| !bins.is_empty()) {
            self.name(core, None);
            self.counters(core, bins, report, seen);
        }
        if let Some(left_out) = seen.left_out {
            let from = (begin + left_out.from).0;
            self.left_out.push(json!({"kernel": name, "waves": left_out.waves, "waits": left_out.waits, "from_s": from}));
        }
        self.kernels.push(name.to_owned());
        self.now += report.time;
    }

    /// Names a core, or a row of it, once.
    fn name(&mut self, core: usize, slot: Option<usize>) {
        if self.named.insert((core, None)) {
            self.timeline.process(core + 1, &format!("core {core}"));
        }
        if let Some(slot) = slot
            && self.named.insert((core, Some(slot)))
        {
            self.timeline.row(row(core, slot), &format!("wave slot {slot}"));
        }
    }

    /// What a core did in each bin, and that it then stops.
    fn counters(&mut self, core: usize, bins: &[Bin], report: &Report, seen: &Seen) {
        let begin = |bin: usize| Seconds((seen.begin + seen.width * bin as f64).0.min(report.time.0));
        let idle = Bin::default();
        for (at, bin) in bins.iter().chain([&idle]).enumerate() {
            self.timeline.counter(core + 1, "waves", self.now + begin(at), resident(bin, begin(at + 1) - begin(at)));
        }
        for (track, numbers) in TRAFFIC {
            // Caches that a device or kernel does not use have no counter.
            if bins.iter().all(|bin| numbers.iter().all(|(_, of)| of(&bin.traffic) == 0)) {
                continue;
            }
            for (at, bin) in bins.iter().chain([&idle]).enumerate() {
                let values: Value = numbers.iter().map(|(name, of)| ((*name).to_owned(), json!(of(&bin.traffic)))).collect();
                self.timeline.counter(core + 1, track, self.now + begin(at), values);
            }
        }
    }
}

/// How many waves did what, on average of so much time.
fn resident(bin: &Bin, covered: Seconds) -> Value {
    let mean = |waves: Seconds| if covered.0 > 0.0 { waves / covered } else { 0.0 };
    let running = bin.resident - (bin.memory + bin.barrier + bin.issue);
    json!({
        "running": mean(running).max(0.0), "waiting for memory": mean(bin.memory),
        "at a barrier": mean(bin.barrier), "waiting for a port": mean(bin.issue),
    })
}

/// A number of what moved, and its name.
type Number = (&'static str, fn(&MemoryCounters) -> u64);

/// Counters of what moved.
const TRAFFIC: [(&str, [Number; 2]); TRACKS - 1] = [
    ("texture L1 lines", [("hits", |moved| moved.texture_hits), ("misses", |moved| moved.texture_misses)]),
    ("L1 lines", [("hits", |moved| moved.l1_hits), ("misses", |moved| moved.l1_misses)]),
    ("L2 lines", [("hits", |moved| moved.l2_hits), ("misses", |moved| moved.l2_misses)]),
    ("DRAM bytes", [("read", |moved| moved.dram_read), ("written", |moved| moved.dram_written)]),
];

/// The first process is the launches'.
fn row(core: usize, slot: usize) -> Row {
    Row(core + 1, slot)
}

/// Category, name and details of a wait.
fn described(wait: &Wait) -> (&'static str, String, Value) {
    match &wait.cause {
        Cause::Load(tensor, level) => ("memory", format!("{tensor} from {}", level.name()), json!({"load": tensor, "level": level.name()})),
        Cause::Store(tensor) => ("memory", format!("{tensor} not taken"), json!({"store": tensor})),
        Cause::Spill => ("memory", "spilled registers".to_owned(), json!({})),
        Cause::Barrier => ("barrier", "barrier".to_owned(), json!({})),
    }
}
