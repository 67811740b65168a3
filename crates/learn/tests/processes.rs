//! Several writers of one store: nothing is lost, also when one of them is killed.

mod common;

use common::{device, estimate, sample};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use warpsight_learn::{Filter, RunInfo, Store};

/// Tells a copy of this test program to write: the store, the writer's name, how many samples.
const ORDER: &str = "WARPSIGHT_TEST_WRITER";

/// Opens the store and appends `count` samples; calls `done` after each one that was stored.
fn write(path: &Path, writer: &str, count: usize, mut done: impl FnMut(usize)) {
    let mut store = Store::open(path).unwrap();
    let run = store.begin_run(&RunInfo::here([writer], None)).unwrap();
    let (model, predicted) = estimate(1e-3);
    for i in 0..count {
        // The subjects and the device are shared with the other writers.
        let s = sample(&format!("subject {}", i % 10), &format!("\"{writer} {i}\""), &device("shared"), &[i as f64]);
        store.append(run, &s, Some((&model, &predicted)), None).unwrap();
        done(i);
    }
}

/// The configurations in the store, which are all different.
fn stored(path: &Path) -> BTreeSet<String> {
    let samples = Store::open(path).unwrap().samples(Filter::default()).unwrap();
    let configs: BTreeSet<String> = samples.iter().map(|s| s.sample.config.clone()).collect();
    assert_eq!(configs.len(), samples.len(), "no sample is stored twice");
    configs
}

fn wanted(writers: &[&str], count: usize) -> BTreeSet<String> {
    writers.iter().flat_map(|w| (0..count).map(move |i| format!("\"{w} {i}\""))).collect()
}

fn start(path: &Path, writer: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(ORDER, format!("{writer}\n{count}\n{}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The body of the other processes; as a test of its own it does nothing.
#[test]
fn writer() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let mut order = order.splitn(3, '\n');
    let (name, count, path) = (order.next().unwrap(), order.next().unwrap(), order.next().unwrap());
    write(Path::new(path), name, count.parse().unwrap(), |i| println!("stored {i}"));
}

#[test]
fn two_threads_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    std::thread::scope(|scope| {
        for name in ["a", "b"] {
            let path = &path;
            scope.spawn(move || write(path, name, 100, |_| ()));
        }
    });
    assert_eq!(stored(&path), wanted(&["a", "b"], 100));
}

#[test]
fn processes_that_start_together_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let names = ["a", "b", "c", "d"];
    let children: Vec<Child> = names.iter().map(|name| start(&path, name, 200)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(stored(&path), wanted(&names, 200));
}

#[test]
fn a_killed_writer_keeps_what_it_stored() {
    for stop_after in [1, 20, 75] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let mut child = start(&path, "killed", 1_000_000);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut said = 0;
        for line in lines {
            // The test harness prints to the same line.
            said += usize::from(line.contains("stored "));
            if said == stop_after {
                // On Unix this is SIGKILL.
                child.kill().unwrap();
            }
        }
        assert!(!child.wait().unwrap().success());
        assert!(said >= stop_after, "the writer stopped early");
        let kept = stored(&path);
        // The one it was about to say may be there too.
        assert!(kept.len() == said || kept.len() == said + 1, "{} kept, {said} said", kept.len());
        assert!(kept.is_superset(&wanted(&["killed"], said)));
        write(&path, "next", 3, |_| ());
        assert_eq!(stored(&path).len(), kept.len() + 3);
    }
}
