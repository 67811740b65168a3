//! `warpsight shader`: what fragment shaders do and cost.

mod calibrate;
mod collect;
mod count;
mod diff;
mod draw;
mod evaluate;
mod glsl;
mod mutate;
#[cfg(feature = "nn")]
mod network;
#[cfg(not(feature = "nn"))]
#[path = "no_network.rs"]
mod network;
mod predict;
mod profile;
mod rows;
mod shaders;
mod subject;
mod targets;
mod trace;
mod train;

use crate::failure::Failure;
use clap::Subcommand;
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_shader::Shader;
use warpsight_shader::corpus::Entry;
use warpsight_shader::interpret::InterpretError;
use warpsight_shader::module::{Module, ModuleError};
use warpsight_shader::scene::{Scene, SceneError};

/// What fragment shaders do and cost, from their SPIR-V.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "Examples:
  What a shader costs, line by line:
    warpsight shader predict data/shaders/looping/mandelbulb.frag
  From shaders to a model of your GPU:
    warpsight shader collect data/shaders/looping --into corpus
    warpsight shader profile corpus --device vulkan:gpu --into shots.sqlite --csv shots.csv
    warpsight shader train --corpus corpus --shots shots.csv --out model.json
    warpsight shader predict data/shaders/looping/mandelbulb.frag --model model.json";

#[derive(Subcommand)]
enum Verb {
    /// Collect fragment shaders from folders and packages into a corpus.
    Collect(collect::Args),
    /// Make mutants of the looping shaders of a corpus, for training.
    Mutate(mutate::Args),
    /// Count how often each basic block runs in a frame, by interpretation or by a module that counts.
    Trace(trace::Args),
    /// Predict what a frame takes, and which source lines it takes that for.
    Predict(predict::Args),
    /// Predict by how much a shader is slower than another; the exit code says whether it is.
    Diff(diff::Args),
    /// Fit a model of one device to another one, which measures some shaders.
    Calibrate(calibrate::Args),
    /// Fit a model to measured shaders.
    Train(train::Args),
    /// Compare models on shaders that they were not fitted on.
    Evaluate(evaluate::Args),
    /// Measure the shaders of a corpus on a Vulkan device.
    Profile(profile::Args),
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    match &args.verb {
        Verb::Collect(args) => collect::run(args, json),
        Verb::Mutate(args) => mutate::run(args, json),
        Verb::Trace(args) => trace::run(args, json),
        Verb::Predict(args) => predict::run(args, json),
        Verb::Diff(args) => diff::run(args, json),
        Verb::Calibrate(args) => calibrate::run(args, json),
        Verb::Train(args) => train::run(args, json),
        Verb::Evaluate(args) => evaluate::run(args, json),
        Verb::Profile(args) => profile::run(args, json),
    }
}

/// What a frame is drawn with, as options.
#[derive(clap::Args, Clone)]
pub struct SceneArgs {
    /// The frame in pixels [default: 512x384].
    #[arg(long, value_name = "WxH", value_parser = parse_frame, allow_hyphen_values = true)]
    pub resolution: Option<[u32; 2]>,
    /// A uniform's components, or one value for all of them, for instance `iTime=2.5` or `tint=1,0.5,0`; may be repeated.
    #[arg(long, value_name = "NAME=V,…", value_parser = parse_uniform)]
    uniform: Vec<(String, Vec<f64>)>,
    /// The side of textures in texels [default: 256].
    #[arg(long, value_name = "TEXELS", allow_negative_numbers = true)]
    pub texture_size: Option<u32>,
}

impl SceneArgs {
    /// The scene that they describe, where `defaults` are values that the shader's source gives.
    pub fn scene(&self, defaults: &BTreeMap<String, Vec<f64>>) -> Scene {
        let mut uniforms = defaults.clone();
        uniforms.extend(self.uniform.iter().cloned());
        let (frame, texture) = (self.resolution.unwrap_or(Scene::FRAME), self.texture_size.unwrap_or(Scene::TEXTURE));
        Scene { frame, uniforms, texture, ..Scene::default() }
    }

    /// The scene of a shader of a corpus: what the user did not say is as its entry has it.
    pub fn scene_of(&self, entry: &Entry) -> Scene {
        let resolution = self.resolution.or(entry.resolution);
        let texture_size = self.texture_size.or(entry.texture);
        Self { resolution, texture_size, ..self.clone() }.scene(&entry.uniforms)
    }

    /// Whether the uniforms that the user named are the module's.
    pub fn check(&self, module: &Module) -> Result<(), Failure> {
        self.scene(&BTreeMap::new()).check(module).map_err(Failure::from)
    }
}

fn parse_frame(text: &str) -> Result<[u32; 2], String> {
    let sides = text.split_once(['x', '×']).and_then(|(w, h)| Some([w.trim().parse().ok()?, h.trim().parse().ok()?]));
    sides.ok_or_else(|| "a width and a height in pixels, for instance 512x384".to_owned())
}

fn parse_uniform(text: &str) -> Result<(String, Vec<f64>), String> {
    let (name, values) = text.split_once('=').ok_or("a name and values, for instance iTime=2.5")?;
    let number = |v: &str| match v.trim() {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        v => v.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| format!("`{v}` is no number")),
    };
    if name.trim().is_empty() {
        return Err("a name before the `=`, for instance iTime=2.5".to_owned());
    }
    Ok((name.trim().to_owned(), values.split(',').map(number).collect::<Result<_, _>>()?))
}

/// Reads a module.
pub fn read(path: &Path, bytes: &[u8]) -> Result<Shader, Failure> {
    Shader::from_bytes(bytes).map_err(|e| Failure::from(e).at(path.display().to_string()))
}

impl From<ModuleError> for Failure {
    fn from(error: ModuleError) -> Self {
        Self::input(error.to_string())
    }
}

impl From<InterpretError> for Failure {
    fn from(error: InterpretError) -> Self {
        Self::input(error.to_string())
    }
}

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Self {
        Self::input(error.to_string())
    }
}
