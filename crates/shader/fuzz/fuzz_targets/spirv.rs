//! Any bytes as a module: the same body as the tests'.
#![no_main]

#[path = "../../tests/shader/body.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::body(bytes));
