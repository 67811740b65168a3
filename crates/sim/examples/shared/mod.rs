//! What examples share.
#![allow(dead_code)] // each uses its part

use std::process::ExitCode;
use warpsight_ir::{Checked, text};

/// A Program of an example, which is valid.
pub fn checked(text: &str) -> Checked {
    let program = text::parse(text).map_err(|error| error.to_string());
    match program.and_then(|program| Checked::new(program).map_err(|error| error.to_string())) {
        Ok(program) => program,
        Err(error) => panic!("a program of this example: {error}\n{text}"),
    }
}

/// Seconds that a processor worked for this thread; `None` where the system does not say.
pub fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// How an example ends.
pub fn ended(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
