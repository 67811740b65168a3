//! `warpsight shader mutate`: more looping shaders from those of a corpus.

mod tools;

use super::shaders::{LIST, entries};
use crate::failure::{Failure, Kind};
use crate::progress;
use crate::report::Column::Keep;
use crate::report::{note, out, table};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use warpsight_files::Folder;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::corpus::{self, Entry};
use warpsight_shader::interpret::Program;
use warpsight_shader::module::Module;
use warpsight_shader::mutate::{Change, Dropped, candidates, keep};
use warpsight_shader::scene::Scene;
use warpsight_shader::trace::{QUADS, sample};

/// Make mutants of the looping shaders of a corpus, for training: other loop bounds, uniforms, frames and textures, and what an optimiser makes of them.
/// A mutant has its parent's group.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The corpus: a folder that `shader collect` wrote.
    corpus: PathBuf,
    /// The corpus to write mutants to: a folder that is made or added to; may be the same.
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
    /// The most mutants of a shader, those of optimisers apart.
    #[arg(long, value_name = "N", default_value_t = 4)]
    per_parent: usize,
    /// How many of the optimiser's recipes a shader goes through: modules that mean the same and look otherwise.
    #[arg(long, value_name = "N", default_value_t = tools::RECIPES.len(), value_parser = recipes)]
    optimised: usize,
    /// Mutants of shaders without loops, too: they differ in uniforms, frames and textures.
    #[arg(long)]
    all: bool,
    /// Which mutants: equal seeds give equal mutants.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Threads; without it one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

const EXAMPLES: &str = "Examples:
  Mutants of the looping shaders of a corpus, into the same corpus:
    warpsight shader mutate corpus --into corpus";

fn recipes(text: &str) -> Result<usize, String> {
    let most = tools::RECIPES.len();
    text.parse().ok().filter(|n| *n <= most).ok_or_else(|| format!("a number up to {most}"))
}

/// A shader to be written.
struct Made {
    entry: Entry,
    bytes: Vec<u8>,
    /// Bounds, uniforms, frames, textures or an optimiser.
    kind: &'static str,
}

/// What came of one parent.
#[derive(Default)]
struct Brood {
    made: Vec<Made>,
    /// Candidates that were not kept, by why.
    dropped: BTreeMap<&'static str, usize>,
    /// Why the parent itself has no mutants.
    fault: Option<String>,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    progress::catch_interrupt();
    tools::check(args.optimised > 0)?;
    let parents: Vec<Entry> = entries(&args.corpus)?.into_iter().filter(|e| e.parent.is_none() && (e.loops || args.all)).collect();
    let there = if args.into.join(LIST).exists() { entries(&args.into)? } else { Vec::new() };
    let broods = all(args, &parents);
    if progress::interrupted() {
        return Err(Failure::new(Kind::Interrupted, "stopped; nothing was written"));
    }
    let mut list: BTreeMap<String, Entry> = there.into_iter().map(|e| (e.id.clone(), e)).collect();
    let mut into = Folder::create(&args.into)?;
    let (mut kinds, mut dropped, mut faults) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new(), Vec::new());
    for (parent, brood) in parents.iter().zip(broods) {
        for (why, n) in brood.dropped {
            *dropped.entry(why).or_default() += n;
        }
        if let Some(fault) = brood.fault {
            faults.push((parent, fault));
        }
        for made in brood.made {
            let known = list.get(&made.entry.id).is_some_and(|e| e.parent.as_ref() != made.entry.parent.as_ref());
            if known || made.entry.id == parent.id {
                *dropped.entry("known").or_default() += 1;
                continue;
            }
            into.write(&format!("spv/{}.spv", made.entry.id), &made.bytes)?;
            copy_glsl(&args.corpus, parent, &mut into, &made.entry)?;
            *kinds.entry(made.kind).or_default() += 1;
            list.insert(made.entry.id.clone(), made.entry);
        }
    }
    let list: Vec<Entry> = list.into_values().collect();
    let text = corpus::write(&list).map_err(|e| Failure::input(e.to_string()))?;
    // Last, so that what it lists is there.
    into.write(LIST, text.as_bytes())?;
    into.finish()?;
    report(args, json, parents.len(), &kinds, &dropped, &faults)
}

/// The source of a mutant is its parent's, where that is at hand.
fn copy_glsl(from: &Path, parent: &Entry, to: &mut Folder, entry: &Entry) -> Result<(), Failure> {
    let path = from.join(format!("glsl/{}.frag", parent.id));
    match warpsight_files::read(&path, warpsight_files::TEXT) {
        Ok(bytes) => Ok(to.write(&format!("glsl/{}.frag", entry.id), &bytes)?),
        Err(error) if error.is_absence() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn report(
    args: &Args,
    json: bool,
    parents: usize,
    kinds: &BTreeMap<&str, usize>,
    dropped: &BTreeMap<&str, usize>,
    faults: &[(&Entry, String)],
) -> Result<(), Failure> {
    let total: usize = kinds.values().sum();
    if json {
        let faults: Vec<_> = faults.iter().map(|(e, why)| json!({"id": e.id, "name": e.name, "why": why})).collect();
        return out(json!({"into": args.into, "seed": args.seed, "parents": parents, "mutants": total, "kinds": kinds, "dropped": dropped,
            "faults": faults}));
    }
    for (parent, why) in faults {
        note(format_args!("{} ({}): {why}", parent.id, parent.name));
    }
    let mut rows = table(&[Keep("mutants of"), Keep("kept")]);
    for (kind, n) in kinds {
        rows.add_row([(*kind).to_owned(), n.to_string()]);
    }
    let left: Vec<String> = dropped.iter().map(|(why, n)| format!("{n} {why}")).collect();
    let left = if left.is_empty() { "none".to_owned() } else { left.join(", ") };
    out(format!(
        "{rows}\n\n{total} mutants of {parents} shaders in {}; left out: {left}; {} shaders failed",
        args.into.display(),
        faults.len()
    ))
}

/// All broods on some threads, in the order of their parents.
fn all(args: &Args, parents: &[Entry]) -> Vec<Brood> {
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let next = AtomicUsize::new(0);
    let broods = Mutex::new(BTreeMap::new());
    let bar = progress::bar(parents.len(), "mutating");
    let scene = Scene::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, parents.len().max(1)) {
            scope.spawn(|| {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < parents.len() && !progress::interrupted())
                {
                    let brood =
                        brood(args, &parents[index], &scene).unwrap_or_else(|fault| Brood { fault: Some(fault), ..Brood::default() });
                    broods.lock().unwrap_or_else(PoisonError::into_inner).insert(index, brood);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    broods.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// The mutants of one shader, or why it has none.
fn brood(args: &Args, parent: &Entry, base: &Scene) -> Result<Brood, String> {
    let path = args.corpus.join(format!("spv/{}.spv", parent.id));
    let bytes = warpsight_files::read(&path, warpsight_files::TEXT).map_err(|e| format!("{}: {e}", path.display()))?;
    let module = Module::from_bytes(&bytes).map_err(|e| e.to_string())?;
    let cfg = Cfg::new(&module).map_err(|e| e.to_string())?;
    let (frame, texture) = (parent.resolution.unwrap_or(Scene::FRAME), parent.texture.unwrap_or(Scene::TEXTURE));
    let scene = Scene { frame, texture, uniforms: parent.uniforms.clone(), ..base.clone() };
    let (inputs, _) = scene.inputs(&module).map_err(|e| e.to_string())?;
    let program = Program::new(&module, &cfg).map_err(|e| e.to_string())?;
    let trace = sample(&program, &inputs, QUADS, 0).map_err(|e| e.to_string())?;
    let mut brood = Brood::default();
    let mut kept = 0;
    for mutant in candidates(&module, &cfg, &scene, args.seed).map_err(|e| e.to_string())? {
        if kept == args.per_parent || progress::interrupted() {
            break;
        }
        let kind = match mutant.change {
            Change::Bound { .. } => "loop bounds",
            Change::Uniforms(_) => "uniforms",
            Change::Frame(_) => "frames",
            Change::Textures(_) => "textures",
        };
        let verdict = keep(&mutant, (&module, &cfg, &trace), QUADS, 0).map_err(|why| match why {
            Dropped::Same { .. } => "without a change of counts",
            Dropped::Long { .. } => "too long",
            _ => "that do not run",
        });
        let mutated = mutant.module.as_ref().map(|words| bytes_of(words));
        let verdict = verdict.and_then(|_| mutated.as_deref().map_or(Ok(()), |b| tools::validate(b).map_err(|_| "not valid")));
        if let Err(why) = verdict {
            *brood.dropped.entry(why).or_default() += 1;
            continue;
        }
        let mut entry = child(parent, mutant.change.to_string());
        match &mutant.module {
            // What is valid was read before.
            Some(words) => entry.id = Module::new(words.clone()).map_or_else(|_| mutant.change.id(&parent.id), |m| corpus::id(&m)),
            None => entry.id = mutant.change.id(&parent.id),
        }
        match mutant.change {
            Change::Frame(frame) => entry.resolution = Some(frame),
            Change::Textures(side) => entry.texture = Some(side),
            Change::Bound { .. } | Change::Uniforms(_) => {}
        }
        entry.uniforms = mutant.scene.uniforms;
        // Two factors may make the same of a small number.
        if brood.made.iter().any(|m| m.entry.id == entry.id) {
            *brood.dropped.entry("known").or_default() += 1;
            continue;
        }
        kept += 1;
        brood.made.push(Made { entry, bytes: mutated.unwrap_or_else(|| bytes.clone()), kind });
    }
    for recipe in &tools::RECIPES[..args.optimised] {
        match optimised(parent, &bytes, recipe, &scene) {
            Ok(made) if brood.made.iter().any(|m| m.entry.id == made.entry.id) => *brood.dropped.entry("known").or_default() += 1,
            Ok(made) => brood.made.push(made),
            Err(why) => *brood.dropped.entry(why).or_default() += 1,
        }
    }
    Ok(brood)
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn child(parent: &Entry, change: String) -> Entry {
    Entry { parent: Some(parent.id.clone()), change: Some(change), ..parent.clone() }
}

/// What the optimiser makes of a shader: it means the same.
fn optimised(parent: &Entry, bytes: &[u8], recipe: &[&str], scene: &Scene) -> Result<Made, &'static str> {
    let bytes = tools::optimise(bytes, recipe).map_err(|_| "that the optimiser refuses")?;
    let module = Module::from_bytes(&bytes).map_err(|_| "that do not run")?;
    let cfg = Cfg::new(&module).map_err(|_| "that do not run")?;
    let (inputs, _) = scene.inputs(&module).map_err(|_| "that do not run")?;
    let program = Program::new(&module, &cfg).map_err(|_| "that do not run")?;
    sample(&program, &inputs, QUADS, 0).map_err(|_| "that do not run")?;
    let mut entry = child(parent, format!("spirv-opt {}", recipe.join(" ")));
    entry.id = corpus::id(&module);
    entry.instructions = cfg.blocks.iter().map(|b| b.insts.len() as u32).sum();
    entry.blocks = cfg.blocks.len() as u32;
    // A loop may have been unrolled or found to do nothing.
    entry.loops = cfg.blocks.iter().any(|b| b.is_loop);
    Ok(Made { entry, bytes, kind: "the optimiser" })
}
