//! `warpsight shader collect`: folders and packages of GLSL become a corpus.

mod drawn;
mod files;
mod folder;
mod found;
mod funnel;
mod js;
mod make;
mod packages;
mod report;

use crate::failure::{Failure, Kind};
use crate::progress;
use crate::report::{note, out};
use folder::{Folder, Known};
use found::Found;
use funnel::Failed;
use std::collections::BTreeMap;
use std::path::PathBuf;
use warpsight_run::glslang;
use warpsight_shader::corpus::Entry;
use warpsight_shader::shingles;

/// Collect fragment shaders from folders and packages into a corpus: wrapped, compiled, validated, without duplicates.
///
/// Dialects: Shadertoy, gl-transitions, Butterchurn, three.js, Babylon.js, postprocessing, ISF, and plain GLSL of WebGL and OpenGL. What
/// does not compile is counted and left; an input that is unchanged is not compiled again.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Folders and files of GLSL, or of packages that scripts/corpus installed.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The corpus: a folder with corpus.jsonl, spv/ and glsl/, made or added to.
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
    /// Writes the funnel and what the corpus consists of as one page.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// A store of `shader profile`: what was measured is in the page, too.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Threads that compile; without it one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

const EXAMPLES: &str = "Examples:
  All packages, and a page that tells what became of them:
    scripts/corpus packages
    warpsight shader collect packages --into corpus --html corpus.html
  Shaders of your own, added to it:
    warpsight shader collect data/shaders/looping --into corpus";

/// Failures that are printed one by one; all are in the JSON.
const SHOWN: usize = 20;

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    progress::catch_interrupt();
    let mut found: Vec<Found> = Vec::new();
    for path in &args.paths {
        let own = packages::find(path)?;
        if own.is_empty() {
            return Err(Failure::input(format!("no shaders in it: no package that is known, no file that ends with {}", files::endings()))
                .at(path.display().to_string()));
        }
        found.extend(own);
    }
    let folder = Folder::open(&args.into)?;
    let mut entries: BTreeMap<String, Entry> = folder.entries()?.into_iter().map(|e| (e.id.clone(), e)).collect();
    let mut memory = folder.memory(&glslang::version());
    let validator = make::validator();
    if !validator {
        note(format_args!("spirv-val is not installed (package spirv-tools): modules are not validated"));
    }
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let mut made = make::all(&found, &folder, &memory, validator, threads);
    // Interrupted: what was made is kept, and known the next time.
    found.truncate(made.len());
    for made in &mut made {
        let known = match &made.outcome {
            Ok((entry, _)) => Known::Module(entry.id.clone()),
            Err(left) => Known::Left(left.clone()),
        };
        if !made.hash.is_empty() {
            memory.inputs.insert(made.hash.clone(), known);
        }
        if let (Ok((entry, _)), Some(checks)) = (&made.outcome, made.checks.take()) {
            memory.modules.insert(entry.id.clone(), checks);
        }
    }
    let failed = funnel::failed(&found, &made, |id| memory.modules.get(id).cloned());
    for (made, _) in made.iter().zip(&failed).filter(|(_, failed)| failed.is_none()) {
        if let Ok((entry, words)) = &made.outcome {
            if let Some(words) = words.as_ref().filter(|_| !folder.spv(&entry.id).is_file() || !folder.glsl(&entry.id).is_file()) {
                folder.keep(&entry.id, &made.glsl, words)?;
            }
            entries.entry(entry.id.clone()).or_insert_with(|| entry.clone());
        }
    }
    let mut entries: Vec<Entry> = entries.into_values().collect();
    group(&mut entries, &folder)?;
    folder.finish(&entries, &memory)?;
    let groups: BTreeMap<String, String> = entries.iter().map(|e| (e.id.clone(), e.group.clone())).collect();
    let rows = funnel::rows(&found, &made, &failed, &groups);
    let reasons = funnel::reasons(&failed);
    let failures: Vec<&Failed> = failed.iter().flatten().collect();
    let drawn = args.store.as_ref().map_or(Ok(Vec::new()), |store| drawn::read(store, &entries))?;
    let report = report::Report::new(&folder, &entries, &rows, &reasons, drawn)?;
    if let Some(file) = &args.html {
        report.page(file)?;
    }
    let any = failed.iter().any(Option::is_none);
    if json {
        out(report.json(validator, &failures))?;
    } else {
        failures.iter().take(SHOWN).for_each(|f| {
            let line = f.left.line.map_or(String::new(), |line| format!(":{line}"));
            note(format_args!("{}: {}{line}: {}", f.source, f.origin, f.left.message));
        });
        if failures.len() > SHOWN {
            note(format_args!("… and {} more; --json lists all", failures.len() - SHOWN));
        }
        out(report.text())?;
    }
    if progress::interrupted() {
        return Err(Failure::new(Kind::Interrupted, "stopped").help("what was compiled is kept; the same command goes on"));
    }
    match (any, failures.first()) {
        (false, Some(first)) => {
            let line = first.left.line.map_or(String::new(), |line| format!(":{line}"));
            Err(Failure::input(format!("no shader of {} came through; the first: {}", found.len(), first.left.message))
                .at(format!("{}{line}", first.origin)))
        }
        _ => Ok(()),
    }
}

/// Puts near-duplicates into groups, named by their smallest id; a mutant has its parent's group.
fn group(entries: &mut [Entry], folder: &Folder) -> Result<(), Failure> {
    let own: Vec<usize> = (0..entries.len()).filter(|&at| entries[at].parent.is_none()).collect();
    let mut sets = Vec::with_capacity(own.len());
    for &at in &own {
        let file = folder.glsl(&entries[at].id);
        let glsl = warpsight_files::read(&file, warpsight_files::TEXT)?;
        sets.push(shingles::shingles(&String::from_utf8_lossy(&glsl)));
    }
    // Entries stand sorted by id, so that the first of a group has its smallest.
    let mut of: BTreeMap<String, String> = BTreeMap::new();
    for (&at, first) in own.iter().zip(shingles::groups(&sets)) {
        entries[at].group = entries[own[first]].id.clone();
        of.insert(entries[at].id.clone(), entries[at].group.clone());
    }
    for entry in entries.iter_mut() {
        if let Some(group) = entry.parent.as_ref().and_then(|parent| of.get(parent)) {
            entry.group = group.clone();
        }
    }
    Ok(())
}
