//! Fits how caches hold what is used again to the recorded sweeps over sizes, and judges that by sweeps of devices that were left out:
//! `cargo run --release -p warpsight-predict --example fit_caches -- ../shared/data [--json]` writes `data/fits/caches.toml` and prints the
//! tables; `--check` writes nothing.

use judge::Judged;
use std::path::Path;

mod fit;
mod judge;
#[path = "../fit_time/recorded_device.rs"]
mod recorded_device;
mod sweeps;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let data =
        arguments.first().ok_or("usage: fit_caches FOLDER [--json] [--check], a folder that holds volumes/measured/gpu_cache.json")?;
    let sweeps = sweeps::read(&Path::new(data).join("volumes/measured"))?;
    let found = fit::evidence(&sweeps)?;
    let fitted = fit::text(&found);
    if !arguments.contains(&"--check".to_owned()) {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("fits/caches.toml"), &fitted)?;
    }
    let judged = judge::all(&sweeps, &found)?;
    if arguments.contains(&"--json".to_owned()) {
        println!("{}", json(&judged));
    } else {
        print!("{fitted}\n{}", judge::tables(&judged));
    }
    Ok(())
}

/// The tables for programs.
fn json(judged: &[Judged]) -> serde_json::Value {
    let each = judged.iter().map(|own| {
        let (cliff, plateau) = own.off();
        let published = own.published.as_ref().ok().copied().flatten();
        let (published_cliff, published_plateau) = own.off_of(published);
        let settings = own.sweep.rows.first().and_then(|row| own.sweep.settings(row.0).ok()).map(|(_, settings)| settings);
        serde_json::json!({
            "sweep": own.sweep.name(),
            "device": own.sweep.device,
            "profile": own.sweep.on.name,
            "piece_kib": own.sweep.piece,
            "settings": settings.unwrap_or_default().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
            "level": format!("{:?}", own.sweep.level).to_lowercase(),
            "recorded_kib": own.recorded.at,
            "predicted_kib": own.predicted.map(|own| own.at),
            "cliff_off": if cliff.is_finite() { Some(cliff) } else { None },
            "plateau_off": plateau,
            "paper002_kib": published.map(|own| own.at),
            "paper002_cliff_off": published.map(|_| published_cliff),
            "paper002_plateau_off": published.map(|_| published_plateau),
            "paper002_lacks": own.published.as_ref().err(),
            "recorded": own.sweep.rows,
            "predicted": own.predicted_rows,
        })
    });
    serde_json::Value::Array(each.collect())
}
