//! One process, one store: what goes in comes out, and what is no store is said.

mod common;

use common::{device, estimate, sample};
use std::path::Path;
use warpsight_ir::sample::Device;
use warpsight_ir::{Feedback, Limiter, Sample, Seconds, Status, SubjectKind, TimeSource};
use warpsight_learn::{Attempt, Filter, RunInfo, Store, StoreError, StoredEstimate, subject_hash};

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(folder.path().join("new/folders/store.sqlite")).unwrap()
}

fn info() -> RunInfo {
    RunInfo { host: "bench-1".into(), argv: vec!["warpsight".into(), "optimize".into(), "a \"b\".onnx".into()], git: Some("abc".into()) }
}

#[test]
fn a_hash_is_the_sha256_of_the_text() {
    assert_eq!(subject_hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(subject_hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/// Every kind, status, source and optional number, with times no product with 10⁹ would bring back.
#[test]
fn samples_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(11);
    let kinds = [SubjectKind::Program, SubjectKind::Pipeline, SubjectKind::Shader, SubjectKind::Network, SubjectKind::Probe];
    let detail = |i: usize| format!("line {i}: \"quoted\" 'text'\nnul \0 end µ");
    let make = |i: usize, random: &mut fastrand::Rng| {
        let times: Vec<f64> = (0..random.usize(..6)).map(|_| random.f64() * 10f64.powi(random.i32(-9..3))).collect();
        let mut s = sample(&format!("key {}\nbody {i}", i % 7), "{\"tile\": 4}", &device(["a", "b"][i % 2]), &times);
        s.kind = kinds[i % 5];
        s.status = match (i / 5) % 6 {
            0 => Status::Done,
            4 => Status::Built,
            1 => Status::BuildFailed(detail(i)),
            2 => Status::Wrong(detail(i)),
            5 => Status::Refused(detail(i)),
            _ => Status::DeviceLost(detail(i)),
        };
        s.verified = random.bool();
        s.source = if i.is_multiple_of(3) { TimeSource::Simulated } else { TimeSource::Measured };
        s.clock_hz = random.bool().then(|| random.f64() * 3e9);
        s.reference = random.bool().then(|| Seconds(random.f64()));
        s.quantum = Seconds(random.f64() * 1e-6);
        s
    };
    let samples: Vec<Sample> = (0..200).map(|i| make(i, &mut random)).collect();
    let mut store = open(&folder);
    let run = store.begin_run(&info()).unwrap();
    let ids: Vec<_> = samples.iter().map(|s| store.append(run, s, None, None).unwrap()).collect();
    drop(store);

    let store = open(&folder);
    let back = store.samples(Filter::default()).unwrap();
    assert_eq!(back.iter().map(|s| s.id).collect::<Vec<_>>(), ids);
    assert!(back.iter().all(|s| s.run == run));
    for (stored, sample) in back.iter().zip(&samples) {
        assert_eq!(&stored.sample, sample);
    }
    assert_eq!(back.len(), 200);
    let b = device("b");
    let some = store.samples(Filter { subject: Some(&samples[3].subject), device: Some(&b) }).unwrap();
    assert_eq!(some.iter().map(|s| &s.sample).collect::<Vec<_>>(), [&samples[3]]);
    assert_eq!(store.samples(Filter { subject: None, device: Some(&b) }).unwrap().len(), 100);
    assert_eq!(store.samples(Filter { subject: Some("none"), device: None }).unwrap(), []);
}

#[test]
fn estimates_and_feedback_stay_with_their_sample() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let run = store.begin_run(&info()).unwrap();
    let (model, predicted) = estimate(1.0 / 3.0);
    let feedback = Feedback {
        registers: Some(31),
        private_bytes: Some(1 << 40),
        spill_bytes: Some(72),
        max_group_size: Some(4096),
        ..Feedback::default()
    };
    let plain = store.append(run, &sample("a", "1", &device("a"), &[1.0]), None, None).unwrap();
    // What is of one launch or of one build is not kept.
    let said = Feedback { resident_groups: Some(8), cached: true, ..feedback };
    let full = store.append(run, &sample("a", "2", &device("a"), &[1.0]), Some((&model, &predicted)), Some(&said)).unwrap();
    assert!(full > plain);
    assert_eq!((store.estimates(plain).unwrap(), store.feedback(plain).unwrap()), (Vec::new(), None));
    let third = 1.0 / 3.0;
    let stored =
        StoredEstimate { model, time: Seconds(third), interval: (Seconds(third / 2.0), Seconds(third * 2.0)), limiter: Limiter::Dram };
    assert_eq!(store.estimates(full).unwrap(), [stored]);
    assert_eq!(store.feedback(full).unwrap(), Some(feedback));
}

#[test]
fn the_best_is_verified_and_has_the_lowest_median() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let run = store.begin_run(&info()).unwrap();
    let here = device("here");
    let mut add = |config: &str, times: &[f64], change: &dyn Fn(&mut Sample)| {
        let mut s = sample("conv", config, &here, times);
        change(&mut s);
        store.append(run, &s, None, None).unwrap();
    };
    add("1", &[5.0, 6.0, 7.0], &|_| ());
    add("2", &[1.0, 5.5, 9.0], &|_| ()); // the lowest median
    add("3", &[0.5, 5.9, 6.0], &|_| ()); // the lowest time
    add("4", &[1.0], &|s| s.verified = false);
    add("5", &[1.0], &|s| s.status = Status::Wrong("off by 2".into()));
    add("6", &[1.0], &|s| s.device = device("elsewhere"));
    add("7", &[1.0], &|s| s.device.driver = "another driver".into());
    add("8", &[], &|_| ());
    let best = store.best(&subject_hash("conv"), &here).unwrap().unwrap();
    assert_eq!((best.sample.config.as_str(), best.sample.times[0]), ("2", Seconds(1.0)));
    assert_eq!(store.best(&subject_hash("conv"), &device("nowhere")).unwrap(), None);
    assert_eq!(store.best("nothing", &here).unwrap(), None);
}

#[test]
fn a_search_resumes_by_the_key_of_its_subjects() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let run = store.begin_run(&info()).unwrap();
    let here = device("here");
    let lost = |mut s: Sample| {
        s.status = Status::DeviceLost("hung".into());
        s.verified = false;
        s
    };
    let key = "conv2d n=1 c=6";
    for s in [
        sample(key, "1", &here, &[3.0, 1.0, 2.0]),
        sample(&format!("{key}\nprogram a"), "2", &here, &[2.0, 3.0]),
        lost(sample(&format!("{key}\nprogram b"), "3", &here, &[])),
        lost(sample(&format!("{key}\nprogram c"), "4", &here, &[])),
        sample(&format!("{key}\nprogram c"), "4", &here, &[7.0]), // a second attempt replaces the first
        sample("conv2d n=1 c=64", "5", &here, &[1.0]),            // a longer key
        sample(&format!("x {key}"), "6", &here, &[1.0]),
        sample(key, "7", &device("elsewhere"), &[1.0]),
    ] {
        store.append(run, &s, None, None).unwrap();
    }
    let done = |median: f64| Attempt { median: Some(Seconds(median)), verified: true, status: Status::Done };
    let hung = Attempt { median: None, verified: false, status: Status::DeviceLost("hung".into()) };
    let expected = [("1", done(2.0)), ("2", done(2.5)), ("3", hung), ("4", done(7.0))];
    assert_eq!(store.done_configs(key, &here, |own| own).unwrap(), expected.map(|(config, attempt)| (config.to_owned(), attempt)).into());
    // Where two were written alike since, the newest counts, whichever way it was written then.
    let alike = |own: String| if own == "4" || own == "1" { "1 or 4".to_owned() } else { own };
    assert_eq!(store.done_configs(key, &here, alike).unwrap()["1 or 4"], done(7.0));
}

#[test]
fn what_is_no_sample_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let run = store.begin_run(&info()).unwrap();
    let good = || sample("a", "1", &device("a"), &[1.0, 2.0]);
    let refused = |store: &mut Store, change: &dyn Fn(&mut Sample), message: &str| {
        let mut s = good();
        change(&mut s);
        assert_eq!(store.append(run, &s, None, None).unwrap_err().to_string(), message);
    };
    refused(&mut store, &|s| s.times[1] = Seconds(f64::NAN), "this is no sample to store: time 1 is NaN s");
    refused(&mut store, &|s| s.quantum = Seconds(f64::INFINITY), "this is no sample to store: the clock's step is inf");
    refused(&mut store, &|s| s.reference = Some(Seconds(f64::NAN)), "this is no sample to store: the reference is NaN");
    refused(&mut store, &|s| s.clock_hz = Some(f64::NAN), "this is no sample to store: the clock is NaN");
    let message = "this is no sample to store: a prediction is an estimate of a sample, not a sample";
    refused(&mut store, &|s| s.source = TimeSource::Predicted, message);
    let message = "this is no sample to store: its configuration `tile=4` is no JSON: expected ident at line 1 column 2";
    refused(&mut store, &|s| s.config = "tile=4".into(), message);
    let (model, predicted) = estimate(f64::NAN);
    let error = store.append(run, &good(), Some((&model, &predicted)), None).unwrap_err();
    assert_eq!(error.to_string(), "this is no sample to store: the estimate is NaN");
    assert_eq!(store.samples(Filter::default()).unwrap(), []);

    store.append(run, &good(), None, None).unwrap();
    let hash = good().subject;
    let message = format!("subject `{hash}` is stored with another text or kind; hash the text with `subject_hash`");
    refused(&mut store, &|s| s.text = "b".into(), &message);
    refused(&mut store, &|s| s.kind = SubjectKind::Probe, &message);
    assert_eq!(store.samples(Filter::default()).unwrap().len(), 1);
}

/// What is no store stays byte for byte as it was.
fn refuses(path: &Path, expected: &str) {
    let before = std::fs::read(path).unwrap();
    let error = Store::open(path).unwrap_err().to_string();
    assert_eq!(error, expected.replace("PATH", &path.display().to_string()));
    assert_eq!(std::fs::read(path).unwrap(), before);
}

#[test]
fn other_files_are_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text"), "my thesis ".repeat(500)).unwrap();
    refuses(&at("text"), "`PATH` is not a warpsight store: it is no SQLite file; give another file, it was left as it is");

    let other = rusqlite::Connection::open(at("other")).unwrap();
    other.execute_batch("CREATE TABLE bookmark (url TEXT); PRAGMA user_version = 1").unwrap();
    drop(other);
    refuses(
        &at("other"),
        "`PATH` is not a warpsight store: it is an SQLite file of another program; give another file, it was left as it is",
    );

    drop(Store::open(at("newer")).unwrap());
    rusqlite::Connection::open(at("newer")).unwrap().execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99").unwrap();
    refuses(&at("newer"), "the store `PATH` has schema version 99, this warpsight knows up to 5; use a newer warpsight or another file");

    std::fs::create_dir(at("folder")).unwrap();
    let error = Store::open(at("folder")).unwrap_err();
    assert!(matches!(error, StoreError::CannotOpen { .. }), "{error}");
    let error = Store::open(at("text").join("store.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Folder { .. }), "{error}");
}

#[test]
fn a_damaged_store_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = store.begin_run(&info()).unwrap();
    for i in 0..200 {
        store.append(run, &sample(&format!("{i} {}", "x".repeat(200)), "1", &device("a"), &[1.0]), None, None).unwrap();
    }
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 4;
    bytes[middle..].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    let error = Store::open(&path).and_then(|store| store.samples(Filter::default())).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("is damaged (database disk image is malformed)"), "{error}");
}

/// What failed last, on this device and driver: not what ran since, nor what failed elsewhere.
#[test]
fn what_failed_last_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder);
    let run = store.begin_run(&info()).unwrap();
    let mut add = |text: &str, on: &Device, status: Status| {
        let sample = Sample { status, ..sample(text, "{}", on, &[]) };
        store.append(run, &sample, None, None).unwrap();
    };
    let (here, there) = (device("a"), device("b"));
    add("family x\ncrashed", &here, Status::DeviceLost("killed by signal 11".into()));
    add("family x\nmended", &here, Status::Wrong("0 for 1".into()));
    add("family x\nmended", &here, Status::Done);
    add("family x\nbroke", &here, Status::Done);
    add("family x\nbroke", &here, Status::BuildFailed("earlier".into()));
    add("family x\nbroke", &here, Status::BuildFailed("error: no".into()));
    add("family x\nelsewhere", &there, Status::Wrong("2 for 1".into()));
    add("family x\ncompiled", &here, Status::Built);
    let mut found = store.failures(&here).unwrap();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let wanted = [
        ("family x\nbroke".to_owned(), Status::BuildFailed("error: no".into())),
        ("family x\ncrashed".to_owned(), Status::DeviceLost("killed by signal 11".into())),
    ];
    assert_eq!(found, wanted);
}

/// A store as version 1 wrote it, in `fixtures/v1.sql`: it opens, keeps its samples and has the tables of a new store.
#[test]
fn a_store_of_version_1_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v1.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch(include_str!("fixtures/v1.sql")).unwrap();
    let mut store = Store::open(&path).unwrap();
    let pocl = Device { backend: "opencl".into(), name: "cpu".into(), driver: "PoCL 3.1".into() };
    let key = "matmul m=64 n=64 k=64 dtype=f32";
    let expected = [
        (r#"{"tile":4}"#, Attempt { median: Some(Seconds(2.5e-6)), verified: true, status: Status::Done }),
        (r#"{"tile":8}"#, Attempt { median: None, verified: false, status: Status::BuildFailed("line 3: out of registers".into()) }),
    ];
    assert_eq!(store.done_configs(key, &pocl, |own| own).unwrap(), expected.map(|(c, a)| (c.to_owned(), a)).into());
    let best = store.best(&subject_hash(&format!("{key}\nprogram a")), &pocl).unwrap().unwrap();
    assert_eq!(best.sample.times, [Seconds(2.4e-6), Seconds(2.5e-6), Seconds(1.0 / 3.0)]);
    assert_eq!((best.sample.clock_hz, best.sample.reference), (Some(2.6e9), Some(Seconds(3.25e-5))));
    assert_eq!(store.estimates(best.id).unwrap()[0].limiter, Limiter::Dram);
    let v1 = Feedback { registers: Some(31), private_bytes: Some(0), max_group_size: Some(4096), ..Feedback::default() };
    assert_eq!(store.feedback(best.id).unwrap(), Some(v1), "nobody said anything of spills then");
    let run = store.begin_run(&info()).unwrap();
    assert!(run > best.run, "it can still be written");
    let spills = Feedback { spill_bytes: Some(8), ..v1 };
    let id = store.append(run, &sample("b", "1", &pocl, &[1.0]), None, Some(&spills)).unwrap();
    assert_eq!(store.feedback(id).unwrap(), Some(spills));

    assert_like_a_new_one(&folder, "v1.sqlite");
}

/// A store that version 2 took over from version 1 and wrote to.
#[test]
fn a_store_of_version_2_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v2.sqlite");
    let written = "PRAGMA user_version = 2; INSERT INTO feedback VALUES (2, 255, 64, NULL, 1024, 48)";
    let all = [include_str!("fixtures/v1.sql"), include_str!("../src/schema/2.sql"), written].join(";\n");
    rusqlite::Connection::open(&path).unwrap().execute_batch(&all).unwrap();
    let store = Store::open(&path).unwrap();
    let samples = store.samples(Filter::default()).unwrap();
    assert_eq!(samples.len(), 2);
    let spills = store.feedback(samples[1].id).unwrap().unwrap();
    assert_eq!((spills.registers, spills.spill_bytes, spills.max_group_size), (Some(255), Some(48), Some(1024)));
    assert_like_a_new_one(&folder, "v2.sqlite");
}

/// A store as version 3 wrote it, in `fixtures/v3.sql`: its samples stay where they are, and are found under today's key once it is known.
#[test]
fn a_store_of_version_3_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v3.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch(include_str!("fixtures/v3.sql")).unwrap();
    let mut store = Store::open(&path).unwrap();
    let (tall, wide) = ("family matmul a99ae622ac63e0dd v2", "family matmul 5ce4bfddc0491d6d v2");
    let samples = store.samples(Filter::default()).unwrap();
    assert_eq!(samples.iter().map(|s| s.sample.text.lines().next().unwrap()).collect::<Vec<_>>(), [tall, tall, tall, tall, wide]);
    assert!(samples.iter().all(|s| s.sample.verified && s.sample.times.len() == 5 && s.sample.subject == subject_hash(&s.sample.text)));
    let sim = samples[0].sample.device.clone();
    let configs = |store: &Store, key: &str| store.done_configs(key, &sim, |own| own).unwrap().len();
    assert_eq!((configs(&store, tall), configs(&store, wide), configs(&store, "today's")), (4, 1, 0));

    assert_eq!(store.keys("family matmul ").unwrap(), [wide, tall]);
    assert_eq!(store.keys("family mat").unwrap(), [wide, tall]);
    assert_eq!(store.keys("family matmull").unwrap(), Vec::<String>::new());
    let mut asked = 0;
    let mut ask = |at_most: usize| {
        asked += 1;
        asked < at_most
    };
    assert!(store.all_under(tall, |config, text| config.contains("tile_m") && text.starts_with(tall)).unwrap());
    assert!(!store.all_under(tall, |_, _| ask(2)).unwrap());
    assert_eq!(asked, 2, "nothing is asked after a no");

    store.rename_key(tall, "today's").unwrap();
    store.rename_key(tall, "another").unwrap();
    assert_eq!((configs(&store, "today's"), configs(&store, "another"), configs(&store, wide)), (4, 0, 1));
    assert_eq!(store.keys("family matmul ").unwrap(), [wide]);
    let run = store.begin_run(&info()).unwrap();
    let again = sample("today's\nprogram", &samples[0].sample.config, &sim, &[7.0]);
    store.append(run, &again, None, None).unwrap();
    store.append(run, &sample("today's\nprogram", "5", &sim, &[1.0]), None, None).unwrap();
    let done = store.done_configs("today's", &sim, |own| own).unwrap();
    assert_eq!((done.len(), done[&again.config].median), (5, Some(Seconds(7.0))), "a new attempt replaces an earlier version's");
    assert_eq!(store.samples(Filter::default()).unwrap()[..5], samples, "what was there stays as it was");
    assert_like_a_new_one(&folder, "v3.sqlite");
}

/// A store that was brought up to date has the tables of one that is new.
fn assert_like_a_new_one(folder: &tempfile::TempDir, file: &str) {
    drop(Store::open(folder.path().join("new.sqlite")).unwrap());
    let schema = |file: &str| -> Vec<String> {
        let connection = rusqlite::Connection::open(folder.path().join(file)).unwrap();
        let mut query = connection.prepare("SELECT type || ' ' || name || ': ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(schema(file), schema("new.sqlite"), "a migrated store must look like a new one: add a migration, edit none");
}
