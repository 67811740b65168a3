//! Measured shaders in the store.

use crate::error::{StoreError, explain};
use crate::measured::{Outcome, Shot, Timed};
use crate::rows;
use crate::store::{RunId, Store};
use rusqlite::{Row, params, types::Type};
use warpsight_ir::Seconds;
use warpsight_ir::sample::Device;

const SELECT: &str = "SELECT shader, backend, name, driver, width, height, texture, inputs, protocol, status, detail, clock, first, trials,
    image, flags, clocks FROM shot JOIN device ON device.id = shot.device";

/// A column of JSON.
fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(e)))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Shot> {
    let status: String = row.get(9)?;
    let reason = || row.get::<_, Option<String>>(10).map(Option::unwrap_or_default);
    let outcome = match status.as_str() {
        "done" => Outcome::Done(Timed {
            clock: rows::read_word(row, 11)?,
            first: Seconds(row.get(12)?),
            trials: json(row, 13)?,
            image: row.get(14)?,
            flags: json(row, 15)?,
            clocks: json(row, 16)?,
        }),
        "hang" => Outcome::Hang { reason: reason()? },
        "lost" => Outcome::Lost { reason: reason()? },
        _ => Outcome::Refused { reason: reason()? },
    };
    Ok(Shot {
        shader: row.get(0)?,
        device: Device { backend: row.get(1)?, name: row.get(2)?, driver: row.get(3)? },
        frame: [row.get(4)?, row.get(5)?],
        texture: row.get(6)?,
        inputs: row.get(7)?,
        protocol: row.get(8)?,
        outcome,
    })
}

impl Store {
    /// Adds a measured shader in one transaction.
    ///
    /// # Errors
    /// [`StoreError::BadSample`] where a time is no number, and where the store cannot be written.
    pub fn append_shot(&mut self, run: RunId, shot: &Shot) -> Result<(), StoreError> {
        let timed = if let Outcome::Done(timed) = &shot.outcome { Some(timed) } else { None };
        let numbers = timed.into_iter().flat_map(|t| t.trials.iter().flat_map(|t| [t.seconds, t.reference]).chain([t.first.0]));
        if let Some(bad) = numbers.into_iter().find(|v| !v.is_finite() || *v < 0.0) {
            return Err(StoreError::BadSample(format!("a time of shader {} is {bad} s", shot.shader)));
        }
        let text = |value: serde_json::Result<String>| value.map_err(|e| StoreError::BadSample(e.to_string()));
        let trials = timed.map(|t| text(serde_json::to_string(&t.trials))).transpose()?;
        let flags = timed.map(|t| text(serde_json::to_string(&t.flags))).transpose()?;
        let clocks = timed.map(|t| text(serde_json::to_string(&t.clocks))).transpose()?;
        let write = self.begin()?;
        let device = self.device(&shot.device)?;
        self.sql(|c| {
            c.prepare_cached(
                "INSERT INTO shot (run, device, shader, width, height, texture, inputs, protocol, status, detail, clock, first, trials, image, flags, clocks)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                run.0,
                device,
                shot.shader,
                shot.frame[0],
                shot.frame[1],
                shot.texture,
                shot.inputs,
                shot.protocol,
                shot.outcome.name(),
                shot.outcome.reason(),
                timed.map(|t| rows::word(t.clock)),
                timed.map(|t| t.first.0),
                trials,
                timed.map(|t| t.image.as_str()),
                flags,
                clocks,
            ])
        })?;
        write.commit().map_err(|source| explain(&self.path, source))
    }

    /// The measured shaders, of one device or of all, oldest first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn shots(&self, device: Option<&Device>) -> Result<Vec<Shot>, StoreError> {
        match device {
            Some(device) => {
                let text = format!("{SELECT} WHERE fingerprint = ?1 ORDER BY shot.id");
                self.sql(|c| c.prepare_cached(&text)?.query_map([device.fingerprint()], read)?.collect())
            }
            None => self.sql(|c| c.prepare_cached(&format!("{SELECT} ORDER BY shot.id"))?.query_map([], read)?.collect()),
        }
    }
}
