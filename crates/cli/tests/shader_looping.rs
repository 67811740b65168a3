//! The shaders of data/shaders/looping: they compile, loop, run, and draw something.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::corpus;
use warpsight_shader::interpret::Program;
use warpsight_shader::module::Module;
use warpsight_shader::scene::Scene;
use warpsight_shader::shingles::{groups, shingles};
use warpsight_shader::trace::sample;
use warpsight_shader::wrap::{Source, wrap};

/// Quads of a frame that are executed: enough to meet each loop.
const QUADS: usize = 16;

fn files() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/shaders/looping");
    let paths = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "frag"));
    paths.map(|p| (p.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(p).unwrap())).collect()
}

/// Executes a shader on some quads; what is wrong with it.
fn fault(text: &str, base: &Scene) -> Result<String, String> {
    let wrapped = wrap(&Source::new(text)).map_err(|e| e.to_string())?;
    let words = warpsight_run::glslang::fragment(&wrapped.glsl).map_err(|e| e.to_string())?;
    let module = Module::new(words).map_err(|e| e.to_string())?;
    let cfg = Cfg::new(&module).map_err(|e| e.to_string())?;
    let scene = Scene { uniforms: wrapped.uniforms, ..base.clone() };
    let (inputs, _) = scene.inputs(&module).map_err(|e| e.to_string())?;
    let program = Program::new(&module, &cfg).map_err(|e| e.to_string())?;
    let trace = sample(&program, &inputs, QUADS, 0).map_err(|e| e.to_string())?;
    let most = (0..cfg.blocks.len()).filter(|b| cfg.blocks[*b].loops > 0).map(|b| trace.counts[b]).fold(0.0, f64::max);
    if most < 1.2 * trace.counts[0] {
        return Err(format!("its loops run {most} blocks, it {} times", trace.counts[0]));
    }
    let mut interpreter = program.interpreter(&inputs).map_err(|e| e.to_string())?;
    let mut colours = BTreeSet::new();
    for at in 0..QUADS as u32 {
        let quad = interpreter.quad(at * 37 % 256, at * 71 % 192).map_err(|e| e.to_string())?;
        for lane in (0..4).filter(|l| quad.covered[*l]) {
            let colour = quad.outputs[&0][lane].map(f32::from_bits);
            if colour.iter().any(|c| !c.is_finite()) {
                return Err(format!("it draws {colour:?}"));
            }
            colours.insert(colour.map(|c| (c.clamp(0.0, 1.0) * 255.0) as u8));
        }
    }
    if colours.len() < 2 { Err(format!("it draws {colours:?} only")) } else { Ok(corpus::id(&module)) }
}

#[test]
fn every_one_compiles_loops_runs_and_draws() {
    let files = files();
    assert!(files.len() >= 150, "{} files", files.len());
    // They share the textures.
    let base = Scene::default();
    let mut ids = BTreeMap::new();
    let mut faults = Vec::new();
    for (name, text) in &files {
        assert!(text.lines().take(2).any(|l| l.starts_with("// ") && l.len() > 30), "{name} does not say what it computes");
        match fault(text, &base) {
            Ok(id) => assert_eq!(ids.insert(id, name), None, "{name}"),
            Err(why) => faults.push(format!("{name}: {why}")),
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn no_two_are_near_duplicates() {
    let files = files();
    let sets: Vec<Vec<u64>> = files.values().map(|text| shingles(&wrap(&Source::new(text)).unwrap().glsl)).collect();
    let names: Vec<&String> = files.keys().collect();
    let pairs: Vec<_> =
        groups(&sets).into_iter().enumerate().filter(|(at, group)| at != group).map(|(a, b)| (names[a], names[b])).collect();
    assert_eq!(pairs, []);
}
