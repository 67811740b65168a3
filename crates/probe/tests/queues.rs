//! Queues through the L2 cache and in clusters: the plans, the machine code, and the protocol with and without faults.

#[path = "queues/common.rs"]
mod common;

use common::{compile, distinct, h200, on_stand_in, plan, text, toolkit, with_facts};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_probe::{Measurement, Parameter, Scale};
use warpsight_run::{Code, Device};

/// Measurements and distinct texts of the full plans for that GPU, as the module's documentation says.
const QUEUES: (usize, usize) = (330, 48);
const CLUSTERS: (usize, usize) = (126, 47);

fn int(measurement: &Measurement, name: &str) -> i64 {
    match measurement.params.get(name) {
        Some(Parameter::Int(value)) => *value,
        other => panic!("{}: {name} is {other:?}", measurement.name),
    }
}

/// Names once, memory within the device, and what a launch asks for within what a multiprocessor has.
fn sound(measurements: &[Measurement]) {
    let mut names = BTreeSet::new();
    for m in measurements {
        assert!(names.insert(&m.name), "{} occurs twice", m.name);
        let text = text(m).unwrap();
        assert!(text.dynamic_shared <= 232_448, "{}: {} bytes of shared memory", m.name, text.dynamic_shared);
        assert!((32..=1024).contains(&text.block[0]), "{}", m.name);
        let bytes: u64 = m.job.memory.iter().map(|memory| memory.kind.bytes()).sum();
        assert!(bytes < 1 << 30, "{}: {bytes} bytes", m.name);
        // So many passes of so many bytes at no less than 10 GB/s a queue: the phases' time boxes hold.
        assert!(m.amounts.bytes < 2e9 && m.job.timing.unwrap().runs <= 10, "{}", m.name);
    }
}

#[test]
fn the_full_plan_of_queues_fits_the_device() {
    let all = plan("queues", &h200(), Scale::Full);
    sound(&all);
    for m in &all {
        let text = text(m).unwrap();
        assert!(text.cooperative && text.grid[0] <= 132, "{}: {} blocks", m.name, text.grid[0]);
        assert_eq!(i64::from(text.grid[0]), int(m, "queues") * (int(m, "producers") + int(m, "consumers")), "{}", m.name);
    }
    let distinct = distinct(&all).len();
    assert_eq!((all.len(), distinct), QUEUES, "the module's documentation says other numbers");
    // The paper's figure: 54 queues, 1 KiB to 256 KiB, with and without synchronisation.
    for payload in (10..=18).map(|bits| 1_i64 << bits) {
        for sync in [0, 1] {
            let figure = |m: &&Measurement| int(m, "queues") == 54 && int(m, "payload") == payload && int(m, "sync") == sync;
            assert!(all.iter().filter(figure).count() >= 4, "{payload} B, sync {sync}: two depths, pinned and not");
        }
    }
    let numbers: BTreeSet<i64> = all.iter().map(|m| int(m, "queues")).collect();
    assert!(numbers.is_superset(&[1, 8, 27, 54, 66].into()), "{numbers:?}");
}

#[test]
fn the_full_plan_of_clusters_fits_the_device() {
    let all = plan("clusters", &h200(), Scale::Full);
    sound(&all);
    for m in &all {
        let text = text(m).unwrap();
        assert!(text.grid[0].is_multiple_of(text.cluster) && text.grid[0] <= 132, "{}", m.name);
        assert_eq!(i64::from(text.cluster), int(m, "cluster"), "{}", m.name);
    }
    assert_eq!((all.len(), distinct(&all).len()), CLUSTERS, "the module's documentation says other numbers");
    assert_eq!(all.iter().map(|m| text(m).unwrap().cluster).collect::<BTreeSet<_>>(), [2, 4, 8].into());
}

#[test]
fn plans_follow_the_device() {
    assert!(plan("clusters", &with_facts(&[("compute_capability", "8.0")]), Scale::Full).is_empty());
    assert!(plan("queues", &with_facts(&[("compute_capability", "6.1")]), Scale::Full).is_empty());
    let pinned = |facts: &[(&str, &str)]| plan("queues", &with_facts(facts), Scale::Full).iter().filter(|m| int(m, "pinned") == 1).count();
    assert_eq!(pinned(&[("max_persisting_l2_cache_size", "0")]), 0);
    assert!(pinned(&[("max_access_policy_window_size", "1048576")]) < pinned(&[]));
    let mut small = h200();
    small.limits.compute_units = Some(20);
    let all = plan("queues", &small, Scale::Full);
    assert!(!all.is_empty() && all.iter().all(|m| text(m).unwrap().grid[0] <= 20));
}

#[test]
fn texts_compile_without_spills() {
    let Some(toolkit) = toolkit() else { return };
    let (tiny, full) = (plan("queues", &h200(), Scale::Tiny), plan("queues", &h200(), Scale::Full));
    // Every Tiny text, and of the many that differ in constants only some.
    for (name, text) in distinct(&tiny).values().chain(distinct(&full).values().step_by(9)) {
        for capability in [80, 90] {
            let ptx = compile(&toolkit, text, capability).ptx;
            let synchronised = !name.contains("unsynchronised");
            assert_eq!(ptx.contains("ld.acquire.gpu"), synchronised, "{name}");
            assert_eq!(ptx.contains("st.release.gpu"), synchronised, "{name}");
            assert!(ptx.contains("ld.global.cg.v4") && ptx.contains("st.global.v4"), "{name}: wide accesses");
        }
    }
    let (tiny, full) = (plan("clusters", &h200(), Scale::Tiny), plan("clusters", &h200(), Scale::Full));
    for (name, text) in distinct(&tiny).values().chain(distinct(&full).values().step_by(9)) {
        let ptx = compile(&toolkit, text, 90).ptx;
        let wanted: &[&str] = match (&*text.entry, name) {
            ("cluster_queue", _) => &["cp.async.bulk.shared::cluster", "mbarrier.arrive.expect_tx", "mbarrier.test_wait.parity", "mapa."],
            (_, name) if name.contains("store") => &["st.shared::cluster.v4", "mapa."],
            (_, name) if name.contains("chase") => &["ld.shared::cluster.u32", "mapa."],
            _ => &["ld.shared::cluster.v4", "mapa."],
        };
        for instruction in wanted {
            assert!(ptx.contains(instruction), "{name}: no {instruction}");
        }
        // Barriers follow code for one thread only, after which its warp may still be apart.
        assert!(ptx.contains("barrier.cluster.arrive.release;") && ptx.contains("barrier.cluster.wait.acquire;"), "{name}");
        assert!(!ptx.contains("barrier.cluster.arrive.release.aligned"), "{name}");
    }
}

/// What came of a measurement, its text changed first.
fn outcome(device: &mut dyn Device, measurement: &mut Measurement, changes: &[(&str, &str)]) -> Result<(), String> {
    for code in &mut measurement.job.programs {
        let Code::Cuda(text) = code else { panic!("CUDA text") };
        for (from, to) in changes {
            assert!(text.text.contains(from), "{from}");
            text.text = text.text.replace(from, to);
        }
    }
    let result = device.run(&measurement.job).map_err(|error| error.to_string())?;
    assert_eq!(result.timed.source, Some(warpsight_ir::TimeSource::Simulated));
    assert!(result.damaged.is_empty(), "{}: wrote outside its memory", measurement.name);
    (measurement.check)(&result)
}

#[test]
fn every_tiny_measurement_verifies_on_the_stand_in() {
    on_stand_in("every_tiny_measurement_verifies_on_the_stand_in", |device| {
        let info = device.info().clone();
        for (phase, least) in [("queues", 6), ("clusters", 6)] {
            let mut all = plan(phase, &info, Scale::Tiny);
            assert!(all.len() >= least, "{phase}: {}", all.len());
            for m in &mut all {
                outcome(device, m, &[]).unwrap_or_else(|what| panic!("{phase}, {}: {what}", m.name));
            }
        }
    });
}

/// A fault's name and the lines it changes.
type Fault = (&'static str, &'static [(&'static str, &'static str)]);

const WRITE: &str = "for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) to[i] = vector_at(first, i);";

/// Each must be seen: by the sums or by the watchdog.
const QUEUE_FAULTS: [Fault; 7] = [
    (
        "published before it is written",
        &[(
            WRITE,
            "if (threadIdx.x == 0) ws_store_release_gpu(full, turn + 1);\n__syncthreads();\nws_pause();\nfor (unsigned i = threadIdx.x; i < kVectors; i += kThreads) to[i] = vector_at(first, i);",
        )],
    ),
    ("never freed", &[("if (threadIdx.x == 0) ws_atomic_add_release_gpu(empty, 1);", "")]),
    ("never published", &[("if (threadIdx.x == 0) ws_store_release_gpu(full, turn + 1);", "")]),
    ("written to the wrong slot", &[("to = ring + slot * kVectors", "to = ring + (slot + 1) % kDepth * kVectors")]),
    (
        "a token skipped",
        &[(
            "const unsigned first = first_word(queue, kSynchronised ? token : slot);",
            "const unsigned first = first_word(queue, token + (token > 2 ? 1 : 0));",
        )],
    ),
    (
        "a token repeated",
        &[(
            "const unsigned first = first_word(queue, kSynchronised ? token : slot);",
            "const unsigned first = first_word(queue, token == 3 ? 2 : token);",
        )],
    ),
    (
        "not waited for free slots",
        &[
            ("wait_for(empty, turn * kConsumers, control, 1, queue, token)", "wait_for(empty, 0, control, 1, queue, token)"),
            // A consumer slower than its producer.
            ("const ws_u32x4* const from", "for (unsigned i = 0; i < 64; ++i) ws_pause();\n        const ws_u32x4* const from"),
        ],
    ),
];

const CLUSTER_FAULTS: [Fault; 5] = [
    (
        "pushed before it is written",
        &[
            ("ws_bulk_copy_fence();\n        __syncthreads();", ""),
            (WRITE, ""),
            (
                "16 * kVectors, ws_cluster_map(&shared.full[slot], consumer));\n        }",
                "16 * kVectors, ws_cluster_map(&shared.full[slot], consumer));\n        }\n        for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) to[i] = vector_at(first, i);",
            ),
        ],
    ),
    ("never freed", &[("ws_mbarrier_arrive(ws_cluster_map(&shared.empty[slot], producer));", "")]),
    ("pushed to the wrong slot", &[("ws_cluster_map(to, consumer)", "ws_cluster_map(ring + (slot + 1) % kDepth * kVectors, consumer)")]),
    (
        "a token skipped",
        &[("const unsigned first = first_word(queue, token);", "const unsigned first = first_word(queue, token + (token > 2 ? 1 : 0));")],
    ),
    (
        "too few bytes expected",
        &[(
            "ws_bulk_copy_to_cluster(ws_cluster_map(to, consumer), to, 16 * kVectors,",
            "ws_bulk_copy_to_cluster(ws_cluster_map(to, consumer), to, 16 * kVectors - 16,",
        )],
    ),
];

/// Faults that begin with a later pass than the first, whose results alone said nothing of the passes that are timed. Word 1 of the
/// control memory is nobody's.
#[test]
fn faults_of_later_passes_are_seen() {
    const QUEUE_REPORT: &str = "report[queue * kConsumers + role - kProducers] = sum;";
    const CLUSTER_REPORT: &str = "report[queue * kConsumers + role - 1] = sum;";
    const ALARM: &str = "if (queue == 0 && ++control[1] == 3) raise_alarm(control, 2, queue, 1);\n        ";
    const SUM: &str = "if (queue == 0 && ++control[1] >= 3) report[0] ^= 1;";
    on_stand_in("faults_of_later_passes_are_seen", |device| {
        let info = device.info().clone();
        for (phase, line) in [("queues", QUEUE_REPORT), ("clusters", CLUSTER_REPORT)] {
            for (fault, expected) in [(format!("{{ {ALARM}{line} }}"), "in vain"), (format!("{{ {line} {SUM} }}"), "results are wrong")] {
                let mut queue = plan(phase, &info, Scale::Tiny).remove(0);
                let what = outcome(device, &mut queue, &[(line, &fault)]).expect_err(&fault);
                assert!(what.starts_with("after all ") && what.contains(expected), "{phase}, {fault}: {what}");
            }
        }
        let mut reach = plan("clusters", &info, Scale::Tiny).into_iter().find(|m| m.name.contains("load")).unwrap();
        let line = "if (threadIdx.x == 0) report[blockIdx.x] = sum;";
        let fault = "if (threadIdx.x == 0) report[blockIdx.x] = report[blockIdx.x] == 0xffffffffu ? sum : sum + 1;";
        let what = outcome(device, &mut reach, &[(line, fault)]).expect_err(fault);
        assert!(what.starts_with("after all "), "{what}");
    });
}

#[test]
fn every_planted_fault_is_seen() {
    on_stand_in("every_planted_fault_is_seen", |device| {
        let info = device.info().clone();
        let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (phase, faults) in [("queues", &QUEUE_FAULTS[..]), ("clusters", &CLUSTER_FAULTS[..])] {
            for (fault, changes) in faults {
                let mut queue = plan(phase, &info, Scale::Tiny).remove(0);
                let what = outcome(device, &mut queue, changes).expect_err(fault);
                println!("{phase}, {fault}: {what}");
                let by = if what.contains("in vain") { "watchdog" } else { "sums" };
                assert!(what.contains("in vain") || what.contains("results are wrong"), "{phase}, {fault}: {what}");
                seen.entry(phase).or_default().insert(by);
            }
        }
        assert!(seen.values().all(|by| by.len() == 2), "both ways of seeing a fault: {seen:?}");
        // The device is none the worse for it: nothing hung.
        outcome(device, &mut plan("queues", &info, Scale::Tiny).remove(0), &[]).unwrap();
    });
}
