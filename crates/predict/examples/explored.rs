//! All configurations of a space on one thread, for profiles of what one costs and for comparing the bits of two builds:
//! `explored FILE DEVICE,… BLOCKS FOLD,… [SWEEP…]`, as of the verb `explore`; `-` leaves foldings out. With `LINES=FILE` in the environment
//! every outcome is written there, in the debug form that tells all bits.

use std::collections::BTreeMap;
use std::rc::Rc;
use warpsight_ir::accesses::text::Document;
use warpsight_predict::explore::{Blocks, Explorer, Fold, Space, Sweep};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, devices, blocks, folds, sweeps @ ..] = args.as_slice() else {
        return Err("usage: explored FILE DEVICE,… BLOCKS FOLD,… [SWEEP…]".into());
    };
    let document = Document::read(&std::fs::read_to_string(file)?)?;
    let profile = |name: &str| warpsight_ir::profile::builtin(name).ok_or("no such device")?.map_err(Box::<dyn std::error::Error>::from);
    let devices = devices.split(',').map(profile).collect::<Result<Vec<_>, _>>()?;
    let blocks = blocks.split(',').map(str::parse).collect::<Result<Vec<Blocks>, _>>()?;
    let folds = folds.split(',').filter(|fold| *fold != "-").map(str::parse).collect::<Result<Vec<Fold>, _>>()?;
    let sweeps = sweeps.iter().map(|sweep| sweep.parse()).collect::<Result<Vec<Sweep>, _>>()?;
    let space = Space::new(&document, &[], &devices, &blocks, &folds, &sweeps)?;
    let explorer = Explorer { document: &document, fixed: &[], devices: &devices, space: &space };
    let lines = std::env::var("LINES").ok();
    let (before, mut text, mut predicted) = (processor(), BTreeMap::new(), 0);
    for alike in space.alike(0..space.len()) {
        let known = Rc::default();
        for index in alike {
            let found = explorer.outcome_knowing(index, &known);
            predicted += u64::from(found.is_ok());
            if lines.is_some() {
                text.insert(index, format!("{:?}: {found:?}\n", space.get(index)));
            }
        }
    }
    let each = (processor() - before) / 1e3 / space.len() as f64;
    println!("{predicted} of {} configurations, {each:.1} µs of processor time each, measured", space.len());
    lines.map_or(Ok(()), |file| std::fs::write(file, text.into_values().collect::<String>())).map_err(Into::into)
}

/// Nanoseconds on a processor so far, where the system tells them.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|own| own.parse().ok()).unwrap_or(f64::NAN)
}
