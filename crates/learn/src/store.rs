//! The store: opening, migrating and appending.

use crate::error::{PATIENCE_SECONDS, StoreError, explain};
use crate::{nanoseconds, rows};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warpsight_ir::{Estimate, Feedback, ModelId, Sample, Seconds, TimeSource, sample::Device};

/// `MIGRATIONS[n]` turns schema version n into n + 1; version 0 is an empty file.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];

/// Marks the SQLite file as a warpsight store: "wsgt" in ASCII.
const APPLICATION_ID: i64 = 0x7773_6774;

/// Every sample ever taken, in one SQLite file.
///
/// Append-only: triggers refuse changes and deletions. Several processes may write one store; each append is one transaction, and
/// one that returned is kept when the process is killed. (A power failure may take the last few, but never damages the file:
/// write-ahead log with `synchronous = NORMAL`.)
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

/// One execution of the command, in one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub(crate) i64);

/// One sample, in one store. Later samples have larger ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleId(pub(crate) i64);

/// Who takes samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// The interpreter's name.
    pub host: String,
    /// The command line.
    pub argv: Vec<String>,
    /// Commit of the source that warpsight was built from, where known.
    pub git: Option<String>,
}

impl RunInfo {
    /// A run on this interpreter.
    pub fn here<A: Into<String>>(argv: impl IntoIterator<Item = A>, git: Option<&str>) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
        let host = host.map(|h| h.trim().to_owned()).filter(|h| !h.is_empty()).unwrap_or_else(|| "unknown".to_owned());
        Self { host, argv: argv.into_iter().map(Into::into).collect(), git: git.map(str::to_owned) }
    }
}

/// The hash that names a subject: SHA-256 of its text, in lower-case hexadecimal digits.
pub fn subject_hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Store {
    /// Opens the store in the file `path`, makes it (and its folders) where there is none, and brings an older one up to date.
    ///
    /// # Errors
    /// Where the file is something else, damaged, newer than this warpsight, or cannot be written. It is left as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        // A device would be opened, with a journal left beside it.
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Err(StoreError::CannotOpen { path: path.to_owned() });
        }
        let connection = Connection::open(path).map_err(|source| explain(path, source))?;
        let store = Self { connection, path: path.to_owned() };
        store.prepare(MIGRATIONS)?;
        Ok(store)
    }

    /// Checks that the file is a store, then sets up the connection and the schema.
    fn prepare(&self, migrations: &[&str]) -> Result<(), StoreError> {
        self.sql(|c| c.busy_timeout(Duration::from_secs(PATIENCE_SECONDS)))?;
        // Nothing is written before this: a file of someone else stays as it is. One transaction: another process may be migrating.
        let look = self.connection.unchecked_transaction().map_err(|source| explain(&self.path, source))?;
        let version = self.version(migrations.len())?;
        drop(look);
        self.write_ahead()?;
        self.sql(|c| c.pragma_update(None, "synchronous", "normal"))?;
        self.sql(|c| c.pragma_update(None, "foreign_keys", true))?;
        if version < migrations.len() { self.migrate(migrations) } else { Ok(()) }
    }

    /// The schema version of the file, 0 for an empty one; to be called in a transaction.
    fn version(&self, known: usize) -> Result<usize, StoreError> {
        let number = |pragma: &str| self.sql(|c| c.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)));
        let (version, application) = (number("user_version")?, number("application_id")?);
        let tables: i64 = self.sql(|c| c.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)))?;
        match usize::try_from(version) {
            Ok(0) if application == 0 && tables == 0 => Ok(0),
            _ if application != APPLICATION_ID => {
                Err(StoreError::NotAStore { path: self.path.clone(), what: "it is an SQLite file of another program" })
            }
            Ok(version) if (1..=known).contains(&version) => Ok(version),
            Ok(0) | Err(_) => Err(StoreError::Damaged { path: self.path.clone(), what: format!("schema version {version}") }),
            Ok(_) => Err(StoreError::Newer { path: self.path.clone(), found: version, known: known as i64 }),
        }
    }

    /// Switches to the write-ahead log. SQLite does not always wait for the lock this needs when several processes open a new file.
    fn write_ahead(&self) -> Result<(), StoreError> {
        let deadline = Instant::now() + Duration::from_secs(PATIENCE_SECONDS);
        loop {
            match self.sql(|c| c.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))) {
                Err(StoreError::Busy { .. }) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => return Err(error),
                // A file system without shared memory keeps another mode: slower, as safe.
                Ok(_) => return Ok(()),
            }
        }
    }

    /// Applies the migrations that are missing, all or none.
    fn migrate(&self, migrations: &[&str]) -> Result<(), StoreError> {
        let write = self.begin()?;
        // Another process may have been faster.
        let version = self.version(migrations.len())?;
        for step in &migrations[version..] {
            self.sql(|c| c.execute_batch(step))?;
        }
        self.sql(|c| c.pragma_update(None, "application_id", APPLICATION_ID))?;
        self.sql(|c| c.pragma_update(None, "user_version", migrations.len() as i64))?;
        write.commit().map_err(|source| explain(&self.path, source))
    }

    /// Notes an execution of the command; its samples refer to it.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn begin_run(&mut self, run: &RunInfo) -> Result<RunId, StoreError> {
        let argv = serde_json::Value::from(run.argv.clone()).to_string();
        let insert = "INSERT INTO run (host, argv, git, schema) VALUES (?, ?, ?, ?)";
        self.sql(|c| c.execute(insert, params![run.host, argv, run.git, MIGRATIONS.len() as i64]))?;
        Ok(RunId(self.connection.last_insert_rowid()))
    }

    /// Adds a sample with what a model said before and what the driver reported, in one transaction: all of it is stored when this
    /// returns `Ok`, nothing otherwise. Of the report, neither the groups that are resident at once nor whether the kernel was cached are
    /// kept.
    ///
    /// # Errors
    /// Where a number is no number, the configuration is no JSON, the subject's hash is taken by another text, or the store cannot be
    /// written.
    pub fn append(
        &mut self,
        run: RunId,
        sample: &Sample,
        estimate: Option<(&ModelId, &Estimate)>,
        feedback: Option<&Feedback>,
    ) -> Result<SampleId, StoreError> {
        check(sample, estimate.map(|e| e.1))?;
        let write = self.begin()?;
        let device = self.device(&sample.device)?;
        self.subject(sample)?;
        let (status, detail) = rows::write_status(&sample.status);
        self.sql(|c| {
            c.prepare_cached(
                "INSERT INTO sample (run, device, subject, config, times_ns, clock, reference_ns, quantum_ns, source, verified, status, detail)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                run.0,
                device,
                sample.subject,
                sample.config,
                nanoseconds::write_all(&sample.times),
                sample.clock_hz,
                sample.reference.map(nanoseconds::write),
                nanoseconds::write(sample.quantum),
                sample.source.name(),
                sample.verified,
                status,
                detail,
            ])
        })?;
        let id = SampleId(self.connection.last_insert_rowid());
        if let Some((model, estimate)) = estimate {
            let (lo, hi) = estimate.interval;
            let values = params![id.0, rows::write_model(model), estimate.time.0, lo.0, hi.0, estimate.limiter().name()];
            self.sql(|c| c.prepare_cached("INSERT INTO estimate VALUES (?, ?, ?, ?, ?, ?)")?.execute(values))?;
        }
        if let Some(f) = feedback {
            let [private, local, spilled] = [f.private_bytes, f.local_bytes, f.spill_bytes].map(|bytes| bytes.map(clamp));
            let values = params![id.0, f.registers, private, local, f.max_group_size, spilled];
            let insert = "INSERT INTO feedback (sample, registers, private_bytes, local_bytes, max_group_size, spill_bytes) VALUES (?, ?, ?, ?, ?, ?)";
            self.sql(|c| c.prepare_cached(insert)?.execute(values))?;
        }
        write.commit().map_err(|source| explain(&self.path, source))?;
        Ok(id)
    }

    /// The row of a device, added where it is new.
    pub(crate) fn device(&self, device: &Device) -> Result<i64, StoreError> {
        let fingerprint = device.fingerprint();
        let find = "SELECT id FROM device WHERE fingerprint = ?";
        if let Some(id) = self.sql(|c| c.prepare_cached(find)?.query_row([&fingerprint], |row| row.get(0)).optional())? {
            return Ok(id);
        }
        let insert = "INSERT INTO device (backend, name, driver, fingerprint) VALUES (?, ?, ?, ?)";
        self.sql(|c| c.execute(insert, params![device.backend, device.name, device.driver, fingerprint]))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Adds the subject of a sample where it is new.
    fn subject(&self, sample: &Sample) -> Result<(), StoreError> {
        let kind = rows::word(sample.kind);
        let insert = "INSERT INTO subject (hash, kind, text) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING";
        if self.sql(|c| c.prepare_cached(insert)?.execute(params![sample.subject, kind, sample.text]))? == 1 {
            return Ok(());
        }
        let same = "SELECT kind = ? AND text = ? FROM subject WHERE hash = ?";
        match self.sql(|c| c.prepare_cached(same)?.query_row(params![kind, sample.text, sample.subject], |row| row.get(0)))? {
            true => Ok(()),
            false => Err(StoreError::HashClash { hash: sample.subject.clone() }),
        }
    }

    /// Starts to write, and waits for other writers first: a transaction that began by reading could not wait later. Dropping it
    /// undoes everything.
    pub(crate) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate).map_err(|source| explain(&self.path, source))
    }

    /// Does something with SQLite; its errors say which store and what they mean for it.
    pub(crate) fn sql<T>(&self, action: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        action(&self.connection).map_err(|source| explain(&self.path, source))
    }
}

/// SQLite's integers are signed; a driver that reports more than 2⁶³ bytes reports nonsense, stored as the largest number.
fn clamp(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Refuses what could not be read back.
fn check(sample: &Sample, estimate: Option<&Estimate>) -> Result<(), StoreError> {
    let bad = |what: String| Err(StoreError::BadSample(what));
    if let Some(i) = sample.times.iter().position(|t| !t.0.is_finite()) {
        return bad(format!("time {i} is {} s", sample.times[i].0));
    }
    let numbers =
        [("the clock's step", Some(sample.quantum.0)), ("the reference", sample.reference.map(|r| r.0)), ("the clock", sample.clock_hz)];
    if let Some((what, value)) = numbers.iter().find_map(|(what, value)| value.filter(|v| !v.is_finite()).map(|v| (what, v))) {
        return bad(format!("{what} is {value}"));
    }
    if let Some(e) = estimate
        && let Some(Seconds(value)) = [e.time, e.interval.0, e.interval.1].into_iter().find(|t| t.0.is_nan())
    {
        return bad(format!("the estimate is {value}"));
    }
    if sample.source == TimeSource::Predicted {
        return bad("a prediction is an estimate of a sample, not a sample".to_owned());
    }
    match serde_json::from_str::<serde_json::Value>(&sample.config) {
        Ok(_) => Ok(()),
        Err(error) => bad(format!("its configuration `{}` is no JSON: {error}", sample.config)),
    }
}

#[cfg(test)]
mod tests;
