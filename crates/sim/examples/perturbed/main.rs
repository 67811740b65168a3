//! Writes silicon that nobody has seen, for tables that must hold on more than the GPUs they were made with.
//!
//! `cargo run --release -p warpsight-sim --example perturbed -- SEED COUNT FOLDER`

mod perturb;
#[path = "../shared/mod.rs"]
mod shared;

use std::path::Path;
use std::process::ExitCode;

fn run() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [seed, count, folder] = words.as_slice() else { return Err("perturbed SEED COUNT FOLDER".into()) };
    let number = |word: &str, what: &str| word.parse::<u64>().map_err(|error| format!("{what} {word}: {error}"));
    let (seed, count) = (number(seed, "SEED")?, number(count, "COUNT")?);
    std::fs::create_dir_all(folder).map_err(|error| format!("{folder}: {error}"))?;
    for at in 0..count {
        let text = perturb::perturbed(seed, at).map_err(|error| error.to_string())?;
        let path = Path::new(folder).join(format!("perturbed-{seed}-{at}.toml"));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn main() -> ExitCode {
    shared::ended(run())
}
