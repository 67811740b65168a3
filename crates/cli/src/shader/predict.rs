//! `warpsight shader predict`: what a frame takes, and which source lines it takes that for.

mod json;
pub mod show;

use super::subject::{Subject, TraceArgs, files};
use super::targets::{ModelArgs, Target};
use crate::explore::pool;
use crate::failure::Failure;
use crate::progress;
use crate::report::out;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpsight_ir::Seconds;
use warpsight_learn::models::Row;
use warpsight_learn::predictor::Prediction;
use warpsight_shader::lines::{Costs, Place, costs, texts};
use warpsight_shader::{Seen, Shader};

/// Predict what a frame of a fragment shader takes, from its SPIR-V, and which source lines it takes that for. No device is needed.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Fragment shaders: GLSL in any dialect that `shader collect` knows, SPIR-V (.spv), folders of them, or `-` for standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    trace: TraceArgs,
    /// How many of the costliest lines are shown.
    #[arg(long, value_name = "N", default_value_t = 10)]
    lines: usize,
    /// How many threads work, where there are several shaders [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

const EXAMPLES: &str = "Examples:
  What a frame takes, and which lines it takes that for:
    warpsight shader predict data/shaders/looping/mandelbulb.frag
  A folder of shaders, at another size of the frame:
    warpsight shader predict data/shaders/looping --resolution 1920x1080
  For the GPU that `shader calibrate` measured:
    warpsight shader predict data/shaders/looping/mandelbulb.frag --calibration my-gpu.json";

/// A shader on a device.
pub struct Predicted<'t> {
    pub target: &'t Target,
    pub prediction: Prediction,
    /// What blocks and lines cost by the additive base, in its seconds.
    pub costs: Costs,
    /// What the base says of a draw that no block has.
    pub fixed: f64,
}

/// A shader, or one pass of it, and what there is to say of it.
pub struct Answer<'t> {
    pub subject: Arc<Subject>,
    /// Which of its passes, where it has several.
    pub pass: Option<usize>,
    pub seen: Seen,
    /// What models are told of it.
    pub row: Row,
    pub devices: Vec<Predicted<'t>>,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let targets = args.models.targets()?;
    let files = files(&args.files)?;
    let alone = files.len() == 1;
    let scene = args.trace.scene.scene(&BTreeMap::new());
    let one = |path: &Path| {
        let subject = Subject::read(path, args.trace.dialect)?;
        if alone {
            subject.check(&args.trace.scene)?;
        }
        answers(subject, &args.trace, &scene, &targets)
    };
    if alone {
        let passes = one(&files[0])?;
        return if json { out(json::document(&[json::shader(&passes)])) } else { out(show::one(&passes, args.lines)) };
    }
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let bar = progress::bar(files.len(), "predicted");
    let (mut values, mut rows, mut failures) = (Vec::new(), show::Table::default(), Vec::new());
    let work = |index: u64| {
        let path = &files[index as usize];
        let answer = one(path);
        bar.inc(1);
        // The text of what was found: modules are large.
        answer.map(|passes| if json { Said::Json(json::shader(&passes)) } else { Said::Rows(show::rows(&passes)) })
    };
    pool::each(files.len() as u64, threads, work, |index, said| {
        match said {
            Ok(Said::Json(value)) => values.push(value),
            Ok(Said::Rows(own)) => rows.add(own),
            Err(failure) => {
                if json {
                    values.push(json::failed(&files[index as usize], &failure));
                } else {
                    bar.suspend(|| failure.print(false));
                }
                failures.push(failure);
            }
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    if json {
        out(json::document(&values))?;
    } else if !rows.is_empty() {
        out(rows.text(&targets))?;
    }
    match failures.len() {
        0 => Ok(()),
        failed => {
            // What is wrong with each was said where it stands.
            let kind = failures[0].kind;
            Err(Failure::new(kind, format!("{failed} of {} shaders have no prediction", files.len())))
        }
    }
}

enum Said {
    Json(serde_json::Value),
    Rows(Vec<[String; 6]>),
}

/// Predicts one shader: every pass of it, or all of it where it has one.
pub fn answers<'t>(
    subject: Subject,
    args: &TraceArgs,
    scene: &warpsight_shader::scene::Scene,
    targets: &'t [Target],
) -> Result<Vec<Answer<'t>>, Failure> {
    let subject = Arc::new(subject);
    let passes = if subject.shader.passes.is_empty() { vec![None] } else { (0..subject.shader.passes.len()).map(Some).collect() };
    let one = |pass| {
        let (seen, row) = subject.see(args, scene, pass, targets)?;
        let devices = targets.iter().map(|target| predicted(&subject, (&seen, &row), target)).collect::<Result<_, _>>()?;
        Ok(Answer { subject: Arc::clone(&subject), pass, seen, row, devices })
    };
    passes.into_iter().map(one).collect()
}

/// What all passes of a shader take on one of the devices, one after the other, and between what that is: their errors are one model's.
pub fn sum(passes: &[Answer], device: usize) -> (Seconds, [Seconds; 2]) {
    let add = |part: &dyn Fn(&Prediction) -> Seconds| Seconds(passes.iter().map(|p| part(&p.devices[device].prediction).0).sum());
    (add(&|p| p.seconds), [add(&|p| p.interval[0]), add(&|p| p.interval[1])])
}

fn predicted<'t>(subject: &Subject, (seen, row): (&Seen, &Row), target: &'t Target) -> Result<Predicted<'t>, Failure> {
    let prediction = target.predict(row);
    let base = &target.predictor.base;
    let Shader { module, cfg, .. } = &subject.shader;
    let items = base.items(module, cfg, &seen.trace, seen.lean.as_ref()).map_err(|e| Failure::from(e).at(&subject.name))?;
    let costs = costs(module, cfg, &items, &base.weights());
    Ok(Predicted { target, prediction, costs, fixed: base.intercept() })
}

impl Answer<'_> {
    /// The shader's name, and the pass.
    pub fn title(&self) -> String {
        let name = &self.subject.name;
        let Some(pass) = self.pass else { return name.clone() };
        let target = self.subject.shader.passes[pass].target.as_ref().map_or(String::new(), |target| format!(" ({target})"));
        format!("{name}, pass {} of {}{target}", pass + 1, self.subject.shader.passes.len())
    }

    /// The text of lines: the user's own, or what the module has of it.
    pub fn texts<'p>(&self, places: impl IntoIterator<Item = &'p Place>) -> BTreeMap<Place, String> {
        let Some(text) = &self.subject.text else { return texts(&self.subject.shader.module, places) };
        let lines: Vec<&str> = text.lines().collect();
        let line = |place: &Place| lines.get(place.line as usize - 1).map(|l| (*l).to_owned());
        places.into_iter().filter_map(|place| Some((place.clone(), line(place)?))).collect()
    }
}

impl Predicted<'_> {
    /// The share of a frame of this part of the base's seconds.
    pub fn share(&self, cost: f64) -> f64 {
        let whole = self.costs.total + self.fixed;
        if whole > 0.0 { cost / whole } else { 0.0 }
    }
}
