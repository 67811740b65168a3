//! Rust values as columns and back.

use rusqlite::types::Type;
use rusqlite::{Error, Row};
use serde_json::{Value, json};
use warpsight_ir::{ModelId, Status};

/// The name serde gives to a variant without fields.
pub(crate) fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        // Only called with enums of plain variants, which serialise as strings.
        other => unreachable!("no plain variant: {other:?}"),
    }
}

/// Reads what [`word`] wrote.
pub(crate) fn read_word<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    read_json(column, Value::String(row.get(column)?))
}

/// A status as its name and, for a failure, what happened.
pub(crate) fn write_status(status: &Status) -> (&'static str, Option<&str>) {
    match status {
        Status::Done => ("done", None),
        Status::Built => ("built", None),
        Status::BuildFailed(detail) => ("build_failed", Some(detail)),
        Status::Wrong(detail) => ("wrong", Some(detail)),
        Status::DeviceLost(detail) => ("device_lost", Some(detail)),
        Status::Refused(detail) => ("refused", Some(detail)),
    }
}

/// Reads what [`write_status`] wrote, the detail in the next column.
pub(crate) fn read_status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    let (status, detail): (String, Option<String>) = (row.get(column)?, row.get(column + 1)?);
    match detail {
        None => read_json(column, json!({ "status": status })),
        Some(detail) => read_json(column, json!({ "status": status, "detail": detail })),
    }
}

/// A model's identity as JSON.
pub(crate) fn write_model(model: &ModelId) -> String {
    json!({ "name": model.name, "version": model.version, "fit": model.fit }).to_string()
}

/// Reads what [`write_model`] wrote.
pub(crate) fn read_model(row: &Row<'_>, column: usize) -> rusqlite::Result<ModelId> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| unreadable(column, e))
}

/// Text that a function understands, or an error that names the column.
pub(crate) fn read_with<T>(row: &Row<'_>, column: usize, read: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    read(&text).ok_or_else(|| unreadable(column, format!("`{text}` is no duration")))
}

fn read_json<T: serde::de::DeserializeOwned>(column: usize, value: Value) -> rusqlite::Result<T> {
    serde_json::from_value(value).map_err(|e| unreadable(column, e))
}

fn unreadable(column: usize, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, error.into())
}
