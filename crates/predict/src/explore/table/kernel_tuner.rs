//! Tables in the formats of Kernel Tuner: its cache files, and results in the format T4 of autotuners (schema 1.0.0).
//!
//! What is missing has a stated fallback, or is an error that names it: the objective is `time` where nobody says; times are milliseconds where
//! they have no unit; without a measurement of the objective the median of `runtimes` counts; parameters of a cache file without `tune_params_keys`
//! are those of `tune_params`; a cache file whose last two brackets are missing, as Kernel Tuner leaves it when it is killed, is closed.

use super::{Row, Table, TableError};
use serde_json::{Map, Value};
use warpsight_ir::Seconds;
use warpsight_ir::sample::{median, time};

type Object = Map<String, Value>;

fn entry(at: &str, what: impl Into<String>) -> TableError {
    TableError::Entry { at: at.to_owned(), what: what.into() }
}

/// Reads a cache file or T4 results.
pub(super) fn read(text: &str) -> Result<Table, TableError> {
    let value = parsed(text)?;
    let object = value.as_object().ok_or_else(|| entry("the file", "it is no object"))?;
    match (object.get("cache"), object.get("results")) {
        (Some(Value::Object(cache)), _) => cached(object, cache),
        (_, Some(Value::Array(results))) => t4(object, results),
        (Some(_), _) => Err(entry("cache", "it is no object")),
        (_, Some(_)) => Err(entry("results", "it is no array")),
        (None, None) => Err(entry("the file", "there is neither `cache` (of Kernel Tuner's cache files) nor `results` (of T4)")),
    }
}

/// JSON, closed where a cache file is not.
fn parsed(text: &str) -> Result<Value, TableError> {
    let whole = serde_json::from_str(text);
    let closed = || serde_json::from_str(&format!("{}}}\n}}", text.trim_end().trim_end_matches(',')));
    let is_cache = text.contains("\"cache\"");
    match whole {
        Ok(value) => Ok(value),
        Err(error) if is_cache => closed().map_err(|_: serde_json::Error| entry("the file", error.to_string())),
        Err(error) => Err(entry("the file", error.to_string())),
    }
}

fn cached(file: &Object, cache: &Object) -> Result<Table, TableError> {
    let names = match (file.get("tune_params_keys"), file.get("tune_params")) {
        (Some(Value::Array(names)), _) => names.iter().map(|own| own.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>(),
        (None, Some(Value::Object(params))) => Some(params.keys().cloned().collect()),
        _ => None,
    };
    let columns = names.ok_or_else(|| entry("the file", "`tune_params_keys`, the names of the parameters, are missing"))?;
    if let Some(twice) = columns.iter().enumerate().find(|(n, own)| columns[..*n].contains(own)) {
        return Err(entry("the file", format!("`tune_params_keys` names `{}` twice", twice.1)));
    }
    let mut table = Table { columns, rows: vec![], failed: 0 };
    for (key, own) in cache {
        let own = own.as_object().ok_or_else(|| entry(key, "it is no object"))?;
        // Whatever was tuned for, `time` is what a configuration took.
        let seconds = match own.get(TIME) {
            _ if own.contains_key("__error__") => None,
            // `CompilationFailedConfig` and others stand where there is no time.
            Some(Value::String(_)) => None,
            Some(value) => Some(seconds(key, value, "ms")?),
            None => return Err(entry(key, format!("there is no `{TIME}`"))),
        };
        table.add(key, own, seconds)?;
    }
    table.whole()
}

fn t4(file: &Object, results: &[Value]) -> Result<Table, TableError> {
    let unit = file.get("metadata").and_then(|own| own.get("timeunit")).and_then(Value::as_str).unwrap_or("ms");
    let mut table = Table { columns: vec![], rows: vec![], failed: 0 };
    for (n, own) in results.iter().enumerate() {
        let at = format!("result {n}");
        let Some(Value::Object(configuration)) = own.get("configuration") else { return Err(entry(&at, "there is no `configuration`")) };
        if n == 0 {
            table.columns = configuration.keys().cloned().collect();
        }
        if let Some(other) = configuration.keys().find(|own| !table.columns.contains(own)) {
            return Err(entry(&at, format!("`{other}` is no parameter of the first result")));
        }
        let is_right = own.get("invalidity").and_then(Value::as_str).is_none_or(|own| own == "correct");
        let time = if is_right { Some(result_time(&at, own, unit)?) } else { None };
        table.add(&at, configuration, time)?;
    }
    table.whole()
}

fn result_time(at: &str, result: &Value, unit: &str) -> Result<Seconds, TableError> {
    let objective = result.get("objectives").and_then(|own| own.get(0)).and_then(Value::as_str).unwrap_or(TIME);
    let measured = |name: &str| {
        let named = |own: &&Value| own.get("name").and_then(Value::as_str) == Some(name);
        result.get("measurements").and_then(Value::as_array).and_then(|all| all.iter().find(named))
    };
    let unit_of = |own: &Value| own.get("unit").and_then(Value::as_str).filter(|own| !own.is_empty()).map(str::to_owned);
    // What was tuned for may be a rate, or without a unit: then it is no time.
    let time = measured(TIME).map(|own| (own, unit_of(own).unwrap_or_else(|| unit.to_owned())));
    let other = || measured(objective).and_then(|own| Some((own, unit_of(own).filter(|unit| scale(unit).is_some())?)));
    if let Some((own, unit)) = time.or_else(other) {
        let value = own.get("value").ok_or_else(|| entry(at, format!("the measurement `{objective}` has no `value`")))?;
        return seconds(at, value, &unit);
    }
    let runs = result.get("times").and_then(|own| own.get("runtimes")).and_then(Value::as_array);
    let runs: Vec<Seconds> = runs.into_iter().flatten().map(|own| seconds(at, own, unit)).collect::<Result<_, _>>()?;
    median(&runs).ok_or_else(|| entry(at, "there is neither a measurement that is a time nor a time in `times.runtimes`"))
}

/// How Kernel Tuner calls what a configuration took.
const TIME: &str = "time";

/// Seconds of a unit.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "seconds" => 1.0,
        "ms" | "milliseconds" => 1e-3,
        "us" | "µs" | "microseconds" => 1e-6,
        "ns" | "nanoseconds" => 1e-9,
        _ => return None,
    })
}

fn seconds(at: &str, value: &Value, unit: &str) -> Result<Seconds, TableError> {
    let scale = scale(unit).ok_or_else(|| entry(at, format!("`{unit}` is no unit of time")))?;
    let number = value.as_f64().ok_or_else(|| entry(at, format!("{value} is no time")))?;
    time(number * scale).map_err(|error| entry(at, error.to_string()))
}

impl Table {
    fn add(&mut self, at: &str, of: &Object, seconds: Option<Seconds>) -> Result<(), TableError> {
        let value = |column: &String| {
            let own = of.get(column).ok_or_else(|| entry(at, format!("there is no `{column}`")))?;
            let text = own.as_str().and_then(|text| text.parse().ok());
            let whole = own.as_f64().filter(|own| own.fract() == 0.0 && own.abs() < 1e15).map(|own| own as i64);
            let value = own.as_i64().or(own.as_bool().map(i64::from)).or(whole).or(text);
            value.ok_or_else(|| entry(at, format!("`{column}`: {own} is no whole number")))
        };
        let values = self.columns.iter().map(value).collect::<Result<Vec<i64>, _>>()?;
        match seconds {
            Some(seconds) => self.rows.push(Row { values, seconds }),
            None => self.failed += 1,
        }
        Ok(())
    }

    fn whole(self) -> Result<Self, TableError> {
        if self.rows.is_empty() { Err(TableError::NoRows(self.failed)) } else { Ok(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: &str = r#"{"device_name": "x", "kernel_name": "k", "problem_size": [1], "tune_params_keys": ["a", "b"],
        "tune_params": {"a": [1, 2], "b": [4]}, "objective": "time", "cache": {
        "1,4": {"a": 1, "b": 4, "time": 0.5, "times": [0.5]},
        "2,4": {"a": 2, "b": 4, "time": "CompilationFailedConfig"}}}"#;

    fn rows(text: &str) -> (Vec<(Vec<i64>, f64)>, usize) {
        let table = Table::read(text).expect("a table");
        (table.rows.into_iter().map(|row| (row.values, row.seconds.0)).collect(), table.failed)
    }

    fn said(text: &str) -> String {
        Table::read(text).expect_err("an error").to_string()
    }

    #[test]
    fn a_cache_file_is_a_table() {
        assert_eq!(rows(CACHE), (vec![(vec![1, 4], 0.5e-3)], 1));
        // As a killed tuner leaves it.
        let open = CACHE.trim_end_matches("}}").to_owned() + "},";
        assert_eq!(rows(&open.replace("}},", "},")), rows(CACHE));
        // Names of parameters by their values, times by their usual name.
        let bare = CACHE.replace(r#""tune_params_keys": ["a", "b"],"#, "").replace(r#""objective": "time", "#, "");
        assert_eq!(rows(&bare), rows(CACHE));
    }

    #[test]
    fn results_of_t4_are_a_table() {
        let result = |extra: &str, invalidity: &str| {
            format!(
                r#"{{"configuration": {{"a": 1, "b": true}}, "times": {{"runtimes": [3, 1, 2]}}, "invalidity": "{invalidity}", "correctness": 1{extra}}}"#
            )
        };
        let file = |all: &[String]| {
            format!(r#"{{"results": [{}], "schema_version": "1.0.0", "metadata": {{"timeunit": "microseconds"}}}}"#, all.join(","))
        };
        let measured = r#", "objectives": ["time"], "measurements": [{"name": "time", "value": 7, "unit": "ms"}]"#;
        let all = [result(measured, "correct"), result("", "correct"), result("", "compile")];
        let (rows, failed) = rows(&file(&all));
        assert_eq!((rows.len(), failed, &rows[0].0), (2, 1, &vec![1, 1]));
        assert!((rows[0].1 - 7e-3).abs() < 1e-12 && (rows[1].1 - 2e-6).abs() < 1e-15, "{rows:?}");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(said("{}"), "the file: there is neither `cache` (of Kernel Tuner's cache files) nor `results` (of T4)");
        assert_eq!(said(r#"{"cache": {}}"#), "the file: `tune_params_keys`, the names of the parameters, are missing");
        assert_eq!(said(&CACHE.replace(r#""b": 4, "time": 0.5"#, r#""time": 0.5"#)), "1,4: there is no `b`");
        assert_eq!(said(&CACHE.replace(r#""time": 0.5, "#, "")), "1,4: there is no `time`");
        assert_eq!(said(&CACHE.replace("0.5,", "-1,")), "1,4: -0.001 s is no time: one is above 0 and at most 1000000 s");
        assert_eq!(said(&CACHE.replace(r#""a": 1,"#, r#""a": "x","#)), "1,4: `a`: \"x\" is no whole number");
        assert_eq!(said(r#"{"results": [{"times": {}}]}"#), "result 0: there is no `configuration`");
        let bare = r#"{"results": [{"configuration": {"a": 1}, "invalidity": "correct"}]}"#;
        assert_eq!(said(bare), "result 0: there is neither a measurement that is a time nor a time in `times.runtimes`");
        // A rate that was tuned for is no time.
        let rate = r#"{"results": [{"configuration": {"a": 1}, "objectives": ["GFLOP/s"], "measurements": [{"name": "GFLOP/s", "value": 900, "unit": ""}]}]}"#;
        assert_eq!(said(rate), said(bare));
        assert_eq!(said(&CACHE.replace(r#"["a", "b"]"#, r#"["a", "b", "a"]"#)), "the file: `tune_params_keys` names `a` twice");
        assert_eq!(said(r#"{"results": []}"#), "no row of the table has a time (0 did not run)");
        assert!(said("{\"results\": [").starts_with("the file: EOF"), "{}", said("{\"results\": ["));
    }
}
