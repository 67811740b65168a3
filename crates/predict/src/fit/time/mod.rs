//! Seconds: how fast memory is (`bandwidth.toml`), and how far off predictions are (`time.toml`).

pub mod bandwidth;
pub mod calibrate;
pub mod held;
mod search;
pub mod streams;
pub mod tables;
