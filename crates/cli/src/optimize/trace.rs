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
use warpsight_sim::{Bin, Bounds, Cause, Report, Timeline as Seen, Wait};

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
        self.timeline.span(Row(0, 0), "launch", name, begin.0, report.time.0, args);
        for wave in &seen.waves {
            self.name(wave.core, Some(wave.slot));
            let name = format!("group {} wave {}", wave.group, wave.wave);
            let args = json!({"group": wave.group, "wave": wave.wave});
            self.timeline.span(row(wave.core, wave.slot), "wave", &name, (begin + wave.begin).0, (wave.end - wave.begin).0, args);
        }
        for wait in &seen.waits {
            let wave = &seen.waves[wait.wave];
            let (category, name, args) = described(wait);
            let row = row(wave.core, wave.slot);
            self.timeline.span(row, category, &name, (begin + wait.begin).0, (wait.end - wait.begin).0, args);
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
        let begin = |bin: usize| (seen.begin + seen.width * bin as f64).0.min(report.time.0);
        let idle = Bin::default();
        for (track, used, numbers) in TABLE {
            if !bins.iter().any(used) {
                continue;
            }
            for (at, bin) in bins.iter().chain([&idle]).enumerate() {
                let covered = begin(at + 1) - begin(at);
                self.timeline.counter(core + 1, track, self.now.0 + begin(at), numbers(bin, covered));
            }
        }
    }
}

/// A counter: its name, whether a bin has something of it, and its numbers in a bin that covers so many seconds.
type Track = (&'static str, fn(&Bin) -> bool, fn(&Bin, f64) -> Value);

const TABLE: [Track; TRACKS] = [
    (
        "waves",
        |bin| bin.resident.0 > 0.0,
        |bin, covered| {
            let mean = |waves: Seconds| if covered > 0.0 { waves.0 / covered } else { 0.0 };
            let waiting = bin.memory + bin.barrier + bin.issue;
            json!({
                "running": mean(Seconds((bin.resident - waiting).0.max(0.0))), "waiting for memory": mean(bin.memory),
                "at a barrier": mean(bin.barrier), "waiting for a port": mean(bin.issue),
            })
        },
    ),
    (
        "texture L1 lines",
        |bin| bin.traffic.texture_hits + bin.traffic.texture_misses > 0,
        |bin, _| json!({"hits": bin.traffic.texture_hits, "misses": bin.traffic.texture_misses}),
    ),
    (
        "L1 lines",
        |bin| bin.traffic.l1_hits + bin.traffic.l1_misses > 0,
        |bin, _| json!({"hits": bin.traffic.l1_hits, "misses": bin.traffic.l1_misses}),
    ),
    (
        "L2 lines",
        |bin| bin.traffic.l2_hits + bin.traffic.l2_misses > 0,
        |bin, _| json!({"hits": bin.traffic.l2_hits, "misses": bin.traffic.l2_misses}),
    ),
    (
        "DRAM bytes",
        |bin| bin.traffic.dram_read + bin.traffic.dram_written > 0,
        |bin, _| json!({"read": bin.traffic.dram_read, "written": bin.traffic.dram_written}),
    ),
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
