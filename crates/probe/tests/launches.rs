//! Chains of launches, empty blocks and grid barriers: the plan, the machine code, and chains that lose a launch.

#[path = "queues/common.rs"]
mod common;

use common::{compile, distinct, h200, on_stand_in, on_stand_in_with, plan, text, toolkit, with_facts};
use std::collections::BTreeSet;
use warpsight_probe::{Measurement, Scale};
use warpsight_run::{Code, Submit};

fn submit(m: &Measurement) -> Submit {
    m.job.timing.unwrap().submit
}

#[test]
fn the_full_plan_covers_every_way_of_submission() {
    let all = plan("launches", &h200(), Scale::Full);
    let names: BTreeSet<_> = all.iter().map(|m| &m.name).collect();
    assert_eq!(names.len(), all.len(), "a name occurs twice");
    assert_eq!((all.len(), distinct(&all).len()), (104, 5), "the module's documentation says other numbers");
    for length in [1, 10, 100, 1000] {
        for way in [Submit::Eager, Submit::Graph, Submit::Programmatic, Submit::ProgrammaticGraph] {
            let chains: Vec<_> =
                all.iter().filter(|m| m.job.launches.len() == length && submit(m) == way && m.name.contains(" × ")).collect();
            let wanted = if matches!(way, Submit::Eager | Submit::Graph) { 4 } else { 3 };
            assert_eq!(chains.len(), wanted, "{length} launches, {way:?}");
            // What overlaps and writes must wait by itself.
            for m in chains.iter().filter(|m| m.amounts.bytes > 0.0 && wanted == 3) {
                assert!(text(m).is_some_and(|text| text.text.contains("    ws_griddep_wait();\n    if (i < kElements)")), "{}", m.name);
            }
        }
    }
    for m in &all {
        let Some(text) = text(m) else { continue };
        // 128 threads and 8 bytes: 16 such blocks fit a multiprocessor.
        assert!(!text.cooperative || text.grid[0] <= 4 * 132, "{}", m.name);
    }
}

#[test]
fn programmatic_launches_need_compute_capability_9() {
    let all = plan("launches", &with_facts(&[("compute_capability", "8.0")]), Scale::Full);
    assert!(!all.is_empty() && all.iter().all(|m| matches!(submit(m), Submit::Eager | Submit::Graph)));
}

#[test]
fn texts_compile_without_spills() {
    let Some(toolkit) = toolkit() else { return };
    let all = plan("launches", &h200(), Scale::Full);
    for (name, text) in distinct(&all).values() {
        let hopper = compile(&toolkit, text, 90).ptx;
        compile(&toolkit, text, 80);
        let instructions: &[&str] = match &*text.entry {
            "chain" => &["griddepcontrol.wait", "griddepcontrol.launch_dependents"],
            _ => &["ld.acquire.gpu", "atom.add.release.gpu"],
        };
        for instruction in instructions {
            assert!(hopper.contains(instruction) || name.starts_with("0 grid"), "{name}: no {instruction}");
        }
    }
}

#[test]
fn every_tiny_measurement_verifies_on_the_stand_in() {
    on_stand_in("every_tiny_measurement_verifies_on_the_stand_in", |device| {
        let all = plan("launches", &device.info().clone(), Scale::Tiny);
        assert!(all.len() >= 18, "{}", all.len());
        for m in &all {
            let result = device.run(&m.job).unwrap_or_else(|error| panic!("{}: {error}", m.name));
            assert!(result.damaged.is_empty(), "{}", m.name);
            (m.check)(&result).unwrap_or_else(|what| panic!("{}: {what}", m.name));
        }
    });
}

/// The first pass knows no graph: what graphs do shows only afterwards.
#[test]
fn what_graphs_lose_is_seen() {
    on_stand_in_with("what_graphs_lose_is_seen", &[("WS_FAKE_LOSE_NODE", "1")], |device| {
        let mut seen = 0;
        for m in plan("launches", &h200(), Scale::Tiny).iter().filter(|m| m.name.contains("add")) {
            let result = device.run(&m.job).unwrap();
            let graphs = matches!(submit(m), Submit::Graph | Submit::ProgrammaticGraph) && m.job.launches.len() > 1;
            match (m.check)(&result) {
                Err(what) => {
                    assert!(what.starts_with("after all ") && what.contains("16384 results are wrong"), "{}: {what}", m.name);
                    seen += usize::from(graphs);
                }
                // Short single launches are repeated by a graph, whichever way they are submitted.
                Ok(()) => assert!(!graphs, "{} lost a launch", m.name),
            }
        }
        assert_eq!(seen, 3, "graphs of both kernels, a programmatic one of that which waits");
    });
}

#[test]
fn barriers_that_fail_later_are_seen() {
    on_stand_in("barriers_that_fail_later_are_seen", |device| {
        let mut barrier = plan("launches", &h200(), Scale::Tiny).into_iter().find(|m| m.name.starts_with("5 grid barriers")).unwrap();
        let Code::Cuda(text) = &mut barrier.job.programs[0] else { panic!("CUDA text") };
        let line = "ws_atomic_add_release_gpu(arrived, 1);";
        assert!(text.text.contains(line));
        // In its second pass a block forgets to arrive. Word 1 of the control memory is nobody's.
        let fault = format!("if (blockIdx.x != 0 || round != 3 || ++control[1] != 2) {line}");
        text.text = text.text.replace(line, &fault);
        let what = (barrier.check)(&device.run(&barrier.job).unwrap()).unwrap_err();
        assert!(what.starts_with("after all ") && what.contains("in vain"), "{what}");
    });
}

#[test]
fn lost_launches_and_barriers_are_seen() {
    on_stand_in("lost_launches_and_barriers_are_seen", |device| {
        let all = || plan("launches", &h200(), Scale::Tiny);
        let mut lost = all().into_iter().find(|m| m.name.starts_with("3 × waiting add, eager")).unwrap();
        lost.job.launches.pop();
        let what = (lost.check)(&device.run(&lost.job).unwrap()).unwrap_err();
        assert!(what.contains("16384 results are wrong"), "{what}");

        let faults = [
            ("ws_atomic_add_release_gpu(arrived, 1);", "if (blockIdx.x != 0) ws_atomic_add_release_gpu(arrived, 1);", "in vain"),
            // The last block is late, and nobody waits for it.
            ("met = wait_for(arrived, round * gridDim.x, control, 3, blockIdx.x, round);", "met = true;", "results are wrong"),
        ];
        for (line, fault, expected) in faults {
            let mut barrier = all().into_iter().find(|m| m.name.starts_with("5 grid barriers")).unwrap();
            let Code::Cuda(text) = &mut barrier.job.programs[0] else { panic!("CUDA text") };
            assert!(text.text.contains(line));
            text.text = text.text.replace(line, fault);
            let late = "if (threadIdx.x == 0) marks[blockIdx.x * kLine] = round;";
            assert!(text.text.contains(late));
            let later = "for (unsigned i = 0; blockIdx.x + 1 == gridDim.x && i < 64; ++i) ws_pause();\n        ";
            text.text = text.text.replace(late, &format!("{later}{late}"));
            let what = (barrier.check)(&device.run(&barrier.job).unwrap()).unwrap_err();
            assert!(what.contains(expected), "{fault}: {what}");
        }
    });
}
