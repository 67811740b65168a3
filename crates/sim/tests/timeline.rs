//! Launches in time: what is listed and counted is what the report says, and looking at a launch does not change it.

mod common;
use common::*;
use warpsight_ir::{Bindings, Checked, Cycles, Hertz, Seconds, text};
use warpsight_sim::{Bin, Bounds, Cause, Level, Report, Silicon, SimFault, Simulator, Timeline};

fn parsed(source: &str) -> Checked {
    Checked::new(text::parse(source).expect("parses")).expect("valid")
}

/// Waves meet at barriers and share ports; loads, some from images, some of what others loaded, and stores.
fn mixed() -> (Checked, Bindings) {
    let source = "
program mixed {
  read buffer x: f32[65536]
  read image2d t: rgba16f[64, 64] border zero
  write buffer y: f32[16384]
  groups g = 64
  lanes l = 256
  local s: f32[256]
  {
    var a: f32 = 0.0
    for n in 0 .. 4 unroll none {
      s[l] = x[g * 1024 + l * 4 + n]
      barrier group local
      let e = t@[l % 64, n + l / 64]
      a = a + s[255 - l] + lane(e, 0)
      barrier group local
    }
    y[g * 256 + l] = a
  }
}";
    (parsed(source), bindings(vec![vec![0; 65536 * 4], vec![0; 64 * 64 * 8], vec![0; 16384 * 4]]))
}

/// What is loaded says what is loaded next: this cannot be timed without being executed.
fn chase() -> (Checked, Bindings) {
    let source = "
program chase {
  read buffer next: i32[4096]
  write buffer y: i32[64]
  lanes l = 64
  {
    var at: i32 = l
    for n in 0 .. 20 unroll none {
      at = next[at]
    }
    y[l] = at
  }
}";
    let next = (0..4096u32).flat_map(|i| ((i * 1103 + 7) % 4096).to_le_bytes()).collect();
    (parsed(source), bindings(vec![next, vec![0; 256]]))
}

fn seen(silicon: &Silicon, (program, bindings): &(Checked, Bindings), bounds: Bounds) -> (Report, Timeline) {
    Simulator::new(silicon.clone()).timeline(program, &mut bindings.clone(), bounds).expect("runs")
}

fn silicons() -> [Silicon; 4] {
    ["adreno640", "mali-g76", "a100-40", "mi250x"].map(|name| Silicon::named(name).unwrap_or_else(|| panic!("{name}")))
}

fn near(a: Seconds, b: Seconds) -> bool {
    (a.0 - b.0).abs() < 1e-15 + 1e-12 * b.0.abs()
}

fn sum(bins: &[Bin], of: impl Fn(&Bin) -> Seconds) -> Seconds {
    bins.iter().map(of).sum()
}

#[test]
fn looking_changes_nothing() {
    for silicon in silicons() {
        for launch in [mixed(), chase()] {
            let (report, timeline) = seen(&silicon, &launch, Bounds::default());
            let mut bindings = launch.1.clone();
            let plain = Simulator::new(silicon.clone()).simulate(&launch.0, &mut bindings).expect("runs");
            assert_eq!(report, plain, "{}", silicon.name);
            assert!(!timeline.waits.is_empty() && timeline.left_out.is_none());
        }
    }
}

#[test]
fn bins_add_up_to_the_report() {
    for silicon in silicons() {
        for launch in [mixed(), chase()] {
            // Of few bins most are put together often.
            for bins in [1, 7, 256] {
                let (report, timeline) = seen(&silicon, &launch, Bounds { bins, ..Bounds::default() });
                let all: Vec<&Bin> = timeline.cores.iter().flatten().collect();
                let total = |of: fn(&Bin) -> u64| all.iter().map(|bin| of(bin)).sum::<u64>();
                let t = &report.traffic;
                assert_eq!([total(|b| b.traffic.l1_hits), total(|b| b.traffic.l1_misses)], [t.l1_hits, t.l1_misses]);
                assert_eq!([total(|b| b.traffic.l2_hits), total(|b| b.traffic.l2_misses)], [t.l2_hits, t.l2_misses]);
                assert_eq!([total(|b| b.traffic.texture_hits), total(|b| b.traffic.texture_misses)], [t.texture_hits, t.texture_misses]);
                assert_eq!([total(|b| b.traffic.dram_read), total(|b| b.traffic.dram_written)], [t.dram_read, t.dram_written]);
                assert_eq!([total(|b| b.traffic.buffer_bytes), total(|b| b.traffic.local_bytes)], [t.buffer_bytes, t.local_bytes]);
                assert!(t.l2_misses > 0 && t.dram_read > 0);
                assert!(timeline.cores.iter().all(|own| own.len() <= bins) && near(timeline.begin, Seconds(silicon.launch.overhead)));
                assert!(timeline.begin + timeline.width * bins as f64 >= report.time);
                spans_are_what_bins_count(&timeline, &report);
            }
        }
    }
}

/// Waves by core and their waits, added up; and no more of them at once than fit.
fn spans_are_what_bins_count(timeline: &Timeline, report: &Report) {
    for (core, bins) in timeline.cores.iter().enumerate() {
        let resident = timeline.waves.iter().filter(|w| w.core == core).map(|w| w.end - w.begin).sum();
        let waits = |barrier| {
            let own = timeline.waits.iter().filter(|w| timeline.waves[w.wave].core == core && (w.cause == Cause::Barrier) == barrier);
            own.map(|w| w.end - w.begin).sum()
        };
        assert!(near(sum(bins, |bin| bin.resident), resident), "core {core}");
        assert!(near(sum(bins, |bin| bin.memory), waits(false)) && near(sum(bins, |bin| bin.barrier), waits(true)), "core {core}");
        for bin in bins {
            assert!(bin.resident.0 <= timeline.width.0 * f64::from(report.occupancy.waves) * (1.0 + 1e-12), "{bin:?}");
            assert!(bin.memory + bin.barrier + bin.issue <= bin.resident * (1.0 + 1e-12), "{bin:?}");
        }
    }
}

#[test]
fn spans_lie_where_they_belong() {
    for silicon in silicons() {
        for launch in [mixed(), chase()] {
            let (report, timeline) = seen(&silicon, &launch, Bounds::default());
            let waves = |launch: &Checked| launch.launch.group_size().div_ceil(silicon.core.wave);
            let groups = timeline.waves.iter().map(|wave| wave.group).max().expect("waves") + 1;
            assert_eq!(timeline.waves.len() as u64, groups * u64::from(waves(&launch.0)));
            assert_eq!(groups, if launch.0.launch.groups.is_empty() { 1 } else { 64 });
            let mut last = vec![Seconds::ZERO; timeline.waves.len()];
            for wait in &timeline.waits {
                let wave = &timeline.waves[wait.wave];
                // One after another, within their wave.
                assert!(wait.begin < wait.end && wait.begin >= wave.begin && wait.begin >= last[wait.wave] && wait.end <= wave.end);
                last[wait.wave] = wait.end;
            }
            for (at, wave) in timeline.waves.iter().enumerate() {
                assert!(wave.begin >= timeline.begin && wave.begin < wave.end && wave.end <= report.time, "{wave:?}");
                assert!(wave.slot < report.occupancy.waves as usize);
                // In a row there is one at a time.
                let shared = timeline.waves[..at].iter().filter(|other| (other.core, other.slot) == (wave.core, wave.slot));
                assert!(shared.into_iter().all(|other| other.end <= wave.begin), "{wave:?}");
            }
        }
    }
}

#[test]
fn all_waves_of_a_group_leave_a_barrier_together() {
    for silicon in silicons() {
        let launch = mixed();
        let (_, timeline) = seen(&silicon, &launch, Bounds::default());
        let barriers: Vec<_> = timeline.waits.iter().filter(|wait| wait.cause == Cause::Barrier).collect();
        // Two in each of four rounds.
        assert_eq!(barriers.len(), 8 * timeline.waves.len());
        let waves = launch.0.launch.group_size().div_ceil(silicon.core.wave) as usize;
        for met in barriers.chunks(waves) {
            assert!(met.iter().all(|wait| wait.end == met[0].end && timeline.waves[wait.wave].group == timeline.waves[met[0].wave].group));
            // The last that comes waits for its release alone.
            let least = met.iter().map(|wait| (wait.end - wait.begin).0).fold(f64::INFINITY, f64::min);
            assert!((least * silicon.core.clock - silicon.core.barrier_latency).abs() < 0.1, "{}: {least}", silicon.name);
        }
    }
}

#[test]
fn one_load_by_hand() {
    let source = "
program one {
  read buffer x: f32[64]
  write buffer y: f32[64]
  lanes l = 1
  {
    let a = x[3]
    y[l] = a
  }
}";
    let silicon = Silicon::adreno640();
    let (report, timeline) = seen(&silicon, &(parsed(source), bindings(vec![vec![0; 256], vec![0; 256]])), Bounds::default());
    let at = |cycles: f64| Seconds(silicon.launch.overhead) + Cycles(cycles) / Hertz(silicon.core.clock);
    let [wave] = timeline.waves.as_slice() else { panic!("{timeline:?}") };
    // The dispatcher takes the group at once.
    let begin = silicon.launch.wave_start;
    assert!((wave.core, wave.slot, wave.group, wave.wave) == (0, 0, 0, 0) && near(wave.begin, at(begin)), "{wave:?}");
    let [wait] = timeline.waits.as_slice() else { panic!("{timeline:?}") };
    // The port takes 64 lanes in half a cycle.
    let issue = f64::from(silicon.core.wave) / f64::from(silicon.core.lanes);
    assert_eq!((wait.wave, &wait.cause), (0, &Cause::Load("x".into(), Level::Dram)));
    assert!(near(wait.begin, at(begin + issue)), "{wait:?}");
    // A sector of the slice; memory opens a row, and moves a line; the way back. Ticks are sixteenths of a cycle.
    let d = &silicon.dram;
    let burst = f64::from(silicon.l2.cache.line) / d.bytes_per_cycle;
    let took = d.row_change + burst + d.row_overhead + d.latency + silicon.l2.sector_time + silicon.buffer.latency;
    let found = (wait.end - wait.begin).0 * silicon.core.clock;
    assert!((found - took).abs() <= 4.0 / 16.0, "{found} {took}");
    // The store is issued and is nothing to wait for.
    assert!(near(wave.end, wait.end + Cycles(issue) / Hertz(silicon.core.clock)), "{wave:?} {wait:?}");
    assert!(wave.end < report.time, "the store arrives later");
    let bins = &timeline.cores[0];
    assert_eq!((timeline.cores[1].len(), bins.iter().map(|bin| bin.traffic.l2_misses).sum::<u64>()), (0, 2));
    // The load is issued in the first bin, the store in the last.
    assert_eq!(bins.first().map(|bin| (bin.traffic.dram_read, bin.traffic.buffer_bytes)), Some((64, 4)));
    assert_eq!(bins.last().map(|bin| (bin.traffic.dram_read, bin.traffic.buffer_bytes)), Some((0, 4)));
}

#[test]
fn waves_that_share_a_port_wait_for_it() {
    let source = "
program busy {
  write buffer y: f32[4096]
  groups g = 16
  lanes l = 256
  {
    var a: f32 = 1.0
    for n in 0 .. 50 unroll none {
      a = sin(a) + sin(a * 2.0)
    }
    y[g * 256 + l] = a
  }
}";
    let (report, timeline) = seen(&Silicon::adreno640(), &(parsed(source), bindings(vec![vec![0; 4096 * 4]])), Bounds::default());
    let own = &timeline.cores[0];
    let issue = sum(own, |bin| bin.issue).0 / sum(own, |bin| bin.resident).0;
    assert!(report.core_busy[0] > 0.7 && issue > 0.5, "{issue} {report:?}");
    assert!(timeline.waits.is_empty(), "none of it is listed: {:?}", timeline.waits);
}

#[test]
fn what_does_not_fit_is_counted_and_the_beginning_is_whole() {
    let (silicon, launch) = (Silicon::adreno640(), mixed());
    let (report, all) = seen(&silicon, &launch, Bounds::default());
    let (same, some) = seen(&silicon, &launch, Bounds { spans: 500, bins: 256 });
    assert_eq!((report, &all.cores), (same, &some.cores));
    assert_eq!(some.waves.len() + some.waits.len(), 500);
    let left_out = some.left_out.expect("more than fit");
    assert_eq!(left_out.waves as usize, all.waves.len() - some.waves.len());
    assert_eq!(left_out.waits as usize, all.waits.len() - some.waits.len());
    assert_eq!((all.waves[..some.waves.len()].to_vec(), &all.waits[..some.waits.len()]), (some.waves, &some.waits[..]));
    let first = all.waits[some.waits.len()..].iter().map(|wait| wait.begin.0).fold(f64::INFINITY, f64::min);
    assert!(left_out.from.0 <= first && left_out.from > all.begin, "{left_out:?}");
}

#[test]
fn stores_and_spills_hold_waves_up() {
    let source = "
program flood {
  write buffer y: f32[1048576]
  groups g = 64
  lanes l = 256
  {
    for n in 0 .. 64 unroll none {
      y[l * 4096 + g * 64 + n] = 1.0
    }
  }
}";
    let (_, timeline) = seen(&Silicon::adreno640(), &(parsed(source), bindings(vec![vec![0; 1 << 22]])), Bounds::default());
    assert!(timeline.waits.iter().all(|wait| wait.cause == Cause::Store("y".into())) && !timeline.waits.is_empty());
    // The same values with fewer registers than they need.
    let mut silicon = Silicon::adreno640();
    silicon.residency.max_registers = Some(8);
    let (report, timeline) = seen(&silicon, &mixed(), Bounds::default());
    assert!(report.spilled > 0 && timeline.waits.iter().any(|wait| wait.cause == Cause::Spill), "{report:?}");
    spans_are_what_bins_count(&timeline, &report);
    let dram: u64 = timeline.cores.iter().flatten().map(|bin| bin.traffic.dram_read).sum();
    assert_eq!(dram, report.traffic.dram_read);
}

#[test]
fn a_launch_that_fails_has_no_timeline() {
    let source = "
program outside {
  read write buffer x: f32[64]
  lanes l = 64
  { x[l + 1] = x[l] }
}";
    let simulator = Simulator::new(Silicon::adreno640());
    let found = simulator.timeline(&parsed(source), &mut bindings(vec![vec![0; 256]]), Bounds::default());
    assert!(matches!(found, Err(SimFault::Fault { .. })), "{found:?}");
}
