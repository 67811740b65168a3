//! `warpsight shader collect`: folders and packages of GLSL become a corpus.

mod files;
mod found;
mod js;
mod packages;

use super::glsl::{self, Fault};
use crate::failure::Failure;
use crate::progress;
use crate::report::out;
use found::Found;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use warpsight_learn::shader::corpus::{self, Entry};
use warpsight_learn::shader::wrap::{Dialect, Source};

/// Collect fragment shaders from folders and packages into a corpus: wrapped, compiled, without duplicates.
#[derive(clap::Args)]
pub struct Args {
    /// Folders of GLSL, or of packages that scripts/corpus installed.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The corpus: a folder with corpus.jsonl, spv/ and glsl/, made or added to.
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
    /// Threads that compile; without it one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// A shader that came through.
struct Made {
    entry: Entry,
    glsl: String,
    words: Vec<u32>,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    progress::catch_interrupt();
    let mut found = Vec::new();
    for path in &args.paths {
        found.extend(packages::find(path)?);
    }
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let made = all(&found, threads);
    let mut unique: BTreeMap<String, Made> = BTreeMap::new();
    let mut faults = Vec::new();
    for (found, made) in found.iter().zip(made) {
        match made {
            Ok(made) => drop(unique.entry(made.entry.id.clone()).or_insert(made)),
            Err(fault) => faults.push((found, fault)),
        }
    }
    let io = |path: &Path, e: std::io::Error| Failure::io(path, &e);
    for folder in ["spv", "glsl"] {
        let folder = args.into.join(folder);
        std::fs::create_dir_all(&folder).map_err(|e| io(&folder, e))?;
    }
    for made in unique.values() {
        let spv = args.into.join(format!("spv/{}.spv", made.entry.id));
        let bytes: Vec<u8> = made.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(&spv, bytes).map_err(|e| io(&spv, e))?;
        let glsl = args.into.join(format!("glsl/{}.frag", made.entry.id));
        std::fs::write(&glsl, &made.glsl).map_err(|e| io(&glsl, e))?;
    }
    let entries: Vec<Entry> = unique.into_values().map(|m| m.entry).collect();
    let lines = corpus::write(&entries).map_err(|e| Failure::input(e.to_string()))?;
    let path = args.into.join("corpus.jsonl");
    std::fs::write(&path, lines).map_err(|e| io(&path, e))?;
    for (found, fault) in &faults {
        let (line, message) = fault.at();
        eprintln!("{}: {} {}:{}: {message}", found.source, found.name, found.origin, line.unwrap_or(0));
    }
    let _ = json;
    out(&format!("{} found, {} failed, {} unique\n", found.len(), faults.len(), entries.len()))
}

/// Compiles all of them on some threads; results stand in the order of what was found.
fn all(found: &[Found], threads: usize) -> Vec<Result<Made, Fault>> {
    let next = AtomicUsize::new(0);
    let bar = progress::bar(found.len(), "compiling");
    let mut done: Vec<(usize, Result<Made, Fault>)> = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(found) = found.get(index).filter(|_| !progress::interrupted()) else { break own };
                own.push((index, make(found)));
                bar.inc(1);
            }
        };
        let handles: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect()
    });
    bar.finish_and_clear();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, made)| made).collect()
}

fn make(found: &Found) -> Result<Made, Fault> {
    if let Some(reason) = &found.unreadable {
        return Err(Fault::Text(reason.clone()));
    }
    let dialect = found.dialect.unwrap_or_else(|| Dialect::detect(&found.text));
    let include = |name: &str| found.includes.get(name).cloned();
    let source = Source { text: &found.text, dialect, defines: &found.defines, given: found.given, include: &include };
    let compiled = glsl::compile(&source)?;
    let mut uniforms = compiled.uniforms;
    uniforms.extend(found.uniforms.clone());
    let id = corpus::id(&compiled.module);
    let blocks = &compiled.cfg.blocks;
    let entry = Entry {
        name: found.name.clone(),
        source: found.source.clone(),
        licence: found.licence.clone(),
        origin: found.origin.clone(),
        dialect: dialect.name().to_owned(),
        group: id.clone(),
        parent: None,
        change: None,
        loops: blocks.iter().any(|b| b.is_loop),
        uniforms,
        resolution: None,
        instructions: blocks.iter().map(|b| b.insts.len() as u32).sum(),
        blocks: blocks.len() as u32,
        id,
    };
    Ok(Made { entry, glsl: compiled.glsl, words: compiled.module.words().to_vec() })
}
