//! Fits the tags' cycles of NVIDIA's first-level cache to the recorded strides:
//! `cargo run -p warpsight-predict --example fit_l1 -- ../shared/data` writes `data/fits/l1-nvidia.toml`.

use std::path::Path;

mod fit;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = std::env::args().nth(1).ok_or("usage: fit_l1 FOLDER, which holds volumes/measured/gpu_strides.json")?;
    let text = std::fs::read_to_string(Path::new(&data).join("volumes/measured/gpu_strides.json"))?;
    let written = fit::fit(&fit::rows(&text)?)?;
    let to = Path::new(env!("CARGO_MANIFEST_DIR")).join("fits/l1-nvidia.toml");
    std::fs::create_dir_all(to.parent().ok_or("no folder")?)?;
    std::fs::write(&to, &written)?;
    print!("{written}");
    Ok(())
}
