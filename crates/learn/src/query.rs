//! Questions to the store.

use crate::error::StoreError;
use crate::store::{RunId, SampleId, Store};
use crate::{nanoseconds, rows};
use rusqlite::{OptionalExtension, Row, params};
use std::collections::BTreeMap;
use warpsight_ir::sample::{Device, median};
use warpsight_ir::{Feedback, Limiter, ModelId, Sample, Seconds, Status};

/// Which samples are wanted; `None` stands for all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// The hash of the subject.
    pub subject: Option<&'a str>,
    /// The device, driver included: another version of the driver is another device.
    pub device: Option<&'a Device>,
}

/// A sample as it lies in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its number.
    pub id: SampleId,
    /// The run that took it.
    pub run: RunId,
    /// The sample.
    pub sample: Sample,
}

/// What a model said of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEstimate {
    /// The model.
    pub model: ModelId,
    /// Predicted time.
    pub time: Seconds,
    /// Where the time was expected to lie.
    pub interval: (Seconds, Seconds),
    /// The resource said to limit it.
    pub limiter: Limiter,
}

/// How the newest attempt at a configuration ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Middle of its times; `None` for a failure without times.
    pub median: Option<Seconds>,
    /// Whether its outputs were checked and right.
    pub verified: bool,
    /// How it ended.
    pub status: Status,
}

/// The columns that [`read_sample`] reads, in its order.
pub(crate) const SELECT: &str =
    "SELECT sample.id, run, subject, kind, text, config, backend, name, driver, times_ns, quantum_ns, clock, reference_ns,
    source, verified, status, detail
    FROM sample JOIN subject ON subject.hash = sample.subject JOIN device ON device.id = sample.device";

/// Attempts by the key of their subjects, and by every earlier name of it; the expression is the one of the index `subject_key`.
/// `+` takes its type from `earlier`, with which SQLite would not use the index.
pub(crate) const DONE: &str = "SELECT config, times_ns, verified, status, detail, sample.id AS number
    FROM subject JOIN sample ON sample.subject = subject.hash JOIN device ON device.id = sample.device
    WHERE substr(text, 1, instr(text || char(10), char(10)) - 1) = ?1 AND fingerprint = ?2
    UNION ALL SELECT config, times_ns, verified, status, detail, sample.id
    FROM renamed JOIN subject ON substr(text, 1, instr(text || char(10), char(10)) - 1) = +earlier
    JOIN sample ON sample.subject = subject.hash JOIN device ON device.id = sample.device
    WHERE key = ?1 AND fingerprint = ?2 ORDER BY number";

/// The text of each subject whose newest sample on a device failed, and how. Until version 5 what a user ended was stored as a lost device.
pub(crate) const FAILURES: &str = "SELECT text, status, detail
    FROM device JOIN sample AS own ON own.device = device.id JOIN subject ON subject.hash = own.subject JOIN run ON run.id = own.run
    WHERE fingerprint = ?1 AND run.schema >= 5 AND status NOT IN ('done', 'built')
        AND NOT EXISTS (SELECT 1 FROM sample WHERE sample.subject = own.subject AND sample.device = own.device AND sample.id > own.id)";

/// Keys that begin with ?1 and were not given another one.
pub(crate) const OPEN: &str = "SELECT DISTINCT substr(text, 1, instr(text || char(10), char(10)) - 1) AS own FROM subject
    WHERE substr(text, 1, instr(text || char(10), char(10)) - 1) >= ?1
        AND substr(text, 1, instr(text || char(10), char(10)) - 1) < ?1 || char(1114111)
        AND NOT EXISTS (SELECT 1 FROM renamed WHERE earlier = own) ORDER BY own";

/// Configurations and texts under a key.
pub(crate) const UNDER: &str = "SELECT config, text FROM subject JOIN sample ON sample.subject = subject.hash
    WHERE substr(text, 1, instr(text || char(10), char(10)) - 1) = ?1";

fn read_sample(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let sample = Sample {
        subject: row.get(2)?,
        kind: rows::read_word(row, 3)?,
        text: row.get(4)?,
        config: row.get(5)?,
        device: Device { backend: row.get(6)?, name: row.get(7)?, driver: row.get(8)? },
        times: rows::read_with(row, 9, nanoseconds::read_all)?,
        quantum: rows::read_with(row, 10, nanoseconds::read)?,
        clock_hz: row.get(11)?,
        reference: match row.get_ref(12)? {
            rusqlite::types::ValueRef::Null => None,
            _ => Some(rows::read_with(row, 12, nanoseconds::read)?),
        },
        source: rows::read_word(row, 13)?,
        verified: row.get(14)?,
        status: rows::read_status(row, 15)?,
    };
    Ok(Stored { id: SampleId(row.get(0)?), run: RunId(row.get(1)?), sample })
}

impl Store {
    /// The samples that pass a filter, oldest first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn samples(&self, filter: Filter<'_>) -> Result<Vec<Stored>, StoreError> {
        let fingerprint = filter.device.map(Device::fingerprint);
        // One text per filter, so that SQLite can use its indexes.
        let mut conditions = vec!["?1 IS ?1 AND ?2 IS ?2"];
        conditions.extend(filter.subject.map(|_| "subject = ?1"));
        conditions.extend(filter.device.map(|_| "fingerprint = ?2"));
        let text = format!("{SELECT} WHERE {} ORDER BY sample.id", conditions.join(" AND "));
        self.sql(|c| c.prepare_cached(&text)?.query_map(params![filter.subject, fingerprint], read_sample)?.collect())
    }

    /// Of each subject whose newest sample on a device is a failure, its text and how it failed.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn failures(&self, device: &Device) -> Result<Vec<(String, Status)>, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, rows::read_status(row, 1)?));
        self.sql(|c| c.prepare_cached(FAILURES)?.query_map([device.fingerprint()], read)?.collect())
    }

    /// The verified sample of a subject with the lowest median time on a device; the older one of two equal ones.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn best(&self, subject: &str, device: &Device) -> Result<Option<Stored>, StoreError> {
        let all = self.samples(Filter { subject: Some(subject), device: Some(device) })?;
        let timed = all.into_iter().filter(|s| s.sample.verified && s.sample.status == Status::Done);
        let timed = timed.filter_map(|s| median(&s.sample.times).map(|time| (time, s)));
        Ok(timed.min_by(|a, b| a.0.0.total_cmp(&b.0.0)).map(|(_, stored)| stored))
    }

    /// Every configuration (as JSON text) tried on a device for the subjects with this key, or with one that [`Store::rename_key`] made
    /// it of, with its newest attempt: what a search that was interrupted need not do again. The key of a subject is the first line of
    /// its text. `today` says how a configuration is written today, which earlier ones may have written otherwise.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn done_configs(
        &self,
        key: &str,
        device: &Device,
        today: impl Fn(String) -> String,
    ) -> Result<BTreeMap<String, Attempt>, StoreError> {
        let read = |row: &Row<'_>| {
            let times = rows::read_with(row, 1, nanoseconds::read_all)?;
            let attempt = Attempt { median: median(&times), verified: row.get(2)?, status: rows::read_status(row, 3)? };
            Ok((today(row.get(0)?), attempt))
        };
        // Collecting keeps the last of equal keys: the newest.
        self.sql(|c| c.prepare_cached(DONE)?.query_map(params![key, device.fingerprint()], read)?.collect())
    }

    /// The keys that begin like this and for which [`Store::rename_key`] has named no other one.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn keys(&self, beginning: &str) -> Result<Vec<String>, StoreError> {
        self.sql(|c| c.prepare_cached(OPEN)?.query_map([beginning], |row| row.get(0))?.collect())
    }

    /// Whether something holds for the configuration (as JSON text) and the subject's text of every sample under a key; asks no further
    /// where it does not.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn all_under(&self, key: &str, mut holds: impl FnMut(&str, &str) -> bool) -> Result<bool, StoreError> {
        self.sql(|c| {
            let mut query = c.prepare_cached(UNDER)?;
            let mut rows = query.query([key])?;
            while let Some(row) = rows.next()? {
                if !holds(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Notes that what an earlier version keeps under a key has another one today. The first to say so is right.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn rename_key(&self, earlier: &str, key: &str) -> Result<(), StoreError> {
        let insert = "INSERT INTO renamed (earlier, key) VALUES (?, ?) ON CONFLICT (earlier) DO NOTHING";
        self.sql(|c| c.prepare_cached(insert)?.execute([earlier, key]).map(drop))
    }

    /// What models said of a sample, ordered by model.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn estimates(&self, sample: SampleId) -> Result<Vec<StoredEstimate>, StoreError> {
        let text = "SELECT model_id, seconds, lo, hi, limiter FROM estimate WHERE sample = ? ORDER BY model_id";
        let read = |row: &Row<'_>| {
            Ok(StoredEstimate {
                model: rows::read_model(row, 0)?,
                time: Seconds(row.get(1)?),
                interval: (Seconds(row.get(2)?), Seconds(row.get(3)?)),
                limiter: rows::read_word(row, 4)?,
            })
        };
        self.sql(|c| c.prepare_cached(text)?.query_map([sample.0], read)?.collect())
    }

    /// What the driver reported of a sample's kernel, as much of it as [`Store::append`] keeps.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn feedback(&self, sample: SampleId) -> Result<Option<Feedback>, StoreError> {
        let text = "SELECT registers, private_bytes, local_bytes, max_group_size, spill_bytes FROM feedback WHERE sample = ?";
        let bytes = |row: &Row<'_>, column| row.get::<_, Option<i64>>(column).map(|b| b.and_then(|b| u64::try_from(b).ok()));
        let read = |row: &Row<'_>| {
            Ok(Feedback {
                registers: row.get(0)?,
                private_bytes: bytes(row, 1)?,
                spill_bytes: bytes(row, 4)?,
                local_bytes: bytes(row, 2)?,
                max_group_size: row.get(3)?,
                ..Feedback::default()
            })
        };
        self.sql(|c| c.prepare_cached(text)?.query_row([sample.0], read).optional())
    }
}
