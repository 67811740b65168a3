//! What needs a hand inside the store: migrations to come, a disk that fills up.

use super::*;
use warpsight_ir::{Feedback, Status, SubjectKind};

fn sample(config: usize, text_bytes: usize) -> Sample {
    let text = format!("matmul {config}\n{}", "x".repeat(text_bytes));
    Sample {
        subject: subject_hash(&text),
        kind: SubjectKind::Program,
        text,
        config: config.to_string(),
        device: Device { backend: "sim".into(), name: "small".into(), driver: "1".into() },
        times: vec![Seconds(1e-6)],
        quantum: Seconds::ZERO,
        clock_hz: None,
        reference: None,
        source: TimeSource::Simulated,
        verified: true,
        status: Status::Done,
    }
}

fn run(store: &mut Store) -> RunId {
    store.begin_run(&RunInfo::here(["test"], None)).unwrap()
}

/// A migration that a later version might bring: old samples stay, new columns appear, and this version refuses the result.
#[test]
fn migrations_go_forward_and_keep_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let id = run(&mut store);
    store.append(id, &sample(1, 10), None, None).unwrap();
    drop(store);

    let later = [MIGRATIONS, &["ALTER TABLE device ADD COLUMN vendor TEXT; CREATE TABLE extra (x INTEGER) STRICT;"]].concat();
    let store = Store { connection: Connection::open(&path).unwrap(), path: path.clone() };
    store.prepare(&later).unwrap();
    assert_eq!(store.version(6).unwrap(), 6);
    store.sql(|c| c.execute("INSERT INTO extra VALUES (1)", [])).unwrap();
    assert_eq!(store.samples(crate::Filter::default()).unwrap()[0].sample, sample(1, 10));
    drop(store);

    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 6, known: 5, .. }), "{error}");
    assert!(error.to_string().contains("has schema version 6, this warpsight knows up to 5"), "{error}");
}

#[test]
fn a_migration_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    drop(Store::open(&path).unwrap());
    let store = Store { connection: Connection::open(&path).unwrap(), path: path.clone() };
    let broken = [MIGRATIONS, &["CREATE TABLE half (x INTEGER) STRICT; CREATE TABLE half (x INTEGER) STRICT;"]].concat();
    assert!(matches!(store.prepare(&broken), Err(StoreError::Sqlite { .. })));
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.version(5).unwrap(), 5);
    assert!(store.sql(|c| c.execute("INSERT INTO half VALUES (1)", [])).is_err());
}

#[test]
fn a_full_disk_is_said_and_earlier_samples_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let id = run(&mut store);
    store.append(id, &sample(0, 10), None, None).unwrap();
    let pages: i64 = store.sql(|c| c.pragma_query_value(None, "page_count", |row| row.get(0))).unwrap();
    store.sql(|c| c.pragma_update_and_check(None, "max_page_count", pages + 8, |_| Ok(()))).unwrap();
    let mut stored = 1;
    let error = loop {
        match store.append(id, &sample(stored, 5000), None, None) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100, "the limit never came");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(error.to_string(), format!("no room is left for the store `{}`; what it held before is kept", path.display()));
    assert!(stored > 1, "some samples fit");
    drop(store);
    let mut store = Store::open(&path).unwrap();
    let kept = store.samples(crate::Filter::default()).unwrap();
    assert_eq!(kept.len(), stored);
    assert_eq!(kept[stored - 1].sample, sample(stored - 1, 5000));
    // With room again, the same sample goes in: nothing of the failed attempt was left behind.
    store.append(id, &sample(stored, 5000), None, None).unwrap();
}

#[test]
fn a_refused_sample_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("store.sqlite")).unwrap();
    // The device and the subject go in first; then the run turns out not to exist.
    assert!(matches!(store.append(RunId(99), &sample(1, 10), None, None), Err(StoreError::Sqlite { .. })));
    let rows = "SELECT (SELECT count(*) FROM device) + (SELECT count(*) FROM subject) + (SELECT count(*) FROM sample)";
    assert_eq!(store.sql(|c| c.query_row(rows, [], |row| row.get::<_, i64>(0))).unwrap(), 0);
}

#[test]
fn a_store_that_may_only_be_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("store.sqlite")).unwrap();
    store.sql(|c| c.pragma_update(None, "query_only", true)).unwrap();
    let error = store.begin_run(&RunInfo::here(["test"], None)).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

#[test]
fn stored_rows_are_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("store.sqlite")).unwrap();
    let id = run(&mut store);
    store.append(id, &sample(1, 10), None, Some(&Feedback { registers: Some(3), ..Feedback::default() })).unwrap();
    store.rename_key("matmul 0", "matmul 1").unwrap();
    for (table, column) in
        [("run", "host"), ("device", "name"), ("subject", "text"), ("sample", "config"), ("feedback", "registers"), ("renamed", "key")]
    {
        for change in [format!("UPDATE {table} SET {column} = {column}"), format!("DELETE FROM {table}")] {
            let error = store.sql(|c| c.execute(&change, [])).unwrap_err();
            assert!(error.to_string().contains("the store is append-only"), "{change}: {error}");
        }
    }
    store.sql(|c| c.execute("UPDATE device SET profile_hash = 'abc'", [])).unwrap();
}

/// Searches ask by key and by subject; neither may read the whole store.
#[test]
fn queries_use_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store.sqlite")).unwrap();
    let plan = |query: &str| -> String {
        let steps = store.sql(|c| {
            let mut query = c.prepare(&format!("EXPLAIN QUERY PLAN {query}"))?;
            let values = rusqlite::params_from_iter(["a", "b"].into_iter().take(query.parameter_count()));
            query.query_map(values, |row| row.get::<_, String>(3))?.collect::<Result<Vec<_>, _>>()
        });
        steps.unwrap().join("; ")
    };
    for query in [
        crate::query::DONE.to_owned(),
        crate::query::UNDER.to_owned(),
        crate::query::OPEN.to_owned(),
        crate::query::FAILURES.to_owned(),
        format!("{} WHERE subject = ?1 AND fingerprint = ?2", crate::query::SELECT),
    ] {
        let plan = plan(&query);
        assert!(!plan.contains("SCAN"), "{plan}");
    }
}
