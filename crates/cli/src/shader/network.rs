//! `--model transformer` of `shader train` and `shader evaluate`: how the network is trained, and how that went.

use crate::failure::Failure;
use crate::plot::{Figure, Mark, Panel, Series, svg};
use crate::progress;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use warpsight_ir::near::pick;
use warpsight_learn::evaluate::{Pair, Scores};
use warpsight_learn::models::transformer::{
    Checkpoint, Curve, Epoch, Keep, NetworkError, Options, Processor, Report, Role, Study, Trained, roles,
};
use warpsight_learn::models::{Fit, FitError, Fitted, Method, Model, Row};
use warpsight_learn::predictor::Predictor;
use warpsight_shader::tokens::Dialect;

/// Which network, and how it is trained.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "With --model transformer")]
pub struct NetworkArgs {
    /// `small` trains within half an hour of CPU time [default], `paper` is the published network.
    #[arg(long, value_name = "small|paper", value_parser = preset)]
    preset: Option<Options>,
    /// How often each shader is seen, if not as often as the preset says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=100_000))]
    epochs: Option<u32>,
    /// What weights, order and split are drawn from [default: 0].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// What trains [default: cpu].
    #[arg(long, value_name = "cpu|cuda", value_parser = processor)]
    processor: Option<Processor>,
    /// Where trainings are kept after each epoch: the same command goes on from there.
    #[arg(long, value_name = "FOLDER")]
    checkpoints: Option<PathBuf>,
}

/// The learning curve.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "With --model transformer")]
pub struct CurveArgs {
    /// Where the learning curve is written, as a table (.csv) or a picture (.svg); may be repeated.
    #[arg(long, value_name = "FILE.csv|.svg")]
    curve: Vec<PathBuf>,
}

fn preset(name: &str) -> Result<Options, String> {
    pick(name, [("small", Options::small()), ("paper", Options::paper())])
}

fn processor(name: &str) -> Result<Processor, String> {
    pick(name, [("cpu", Processor::Cpu), ("cuda", Processor::Cuda)])
}

/// Trainings of one command.
pub struct Trainer {
    options: Options,
    processor: Processor,
    folder: Option<PathBuf>,
    bar: ProgressBar,
    /// What went wrong with a file.
    failed: Mutex<Option<Failure>>,
}

impl NetworkArgs {
    /// The words that rows must have for these methods; refuses options that none of them has.
    pub fn dialects(&self, methods: &[Method]) -> Result<BTreeSet<Dialect>, Failure> {
        let given =
            [self.preset.is_some(), self.epochs.is_some(), self.seed.is_some(), self.processor.is_some(), self.checkpoints.is_some()];
        if given.contains(&true) && !methods.contains(&Method::Transformer) {
            return Err(Failure::input("--preset, --epochs, --seed, --processor and --checkpoints are for --model transformer"));
        }
        let options = self.options();
        options.check().map_err(Failure::input)?;
        let of = |method: &Method| if *method == Method::Transformer { Some(options.shape.dialect) } else { method.dialect() };
        Ok(methods.iter().filter_map(of).collect())
    }

    fn options(&self) -> Options {
        let preset = self.preset.clone().unwrap_or_else(Options::small);
        Options { seed: self.seed.unwrap_or(preset.seed), epochs: self.epochs.map_or(preset.epochs, |n| n as usize), ..preset }
    }

    /// What trains; where a command judges models, the rows that it puts aside for that are never given to it.
    pub fn trainer(&self, judges: bool, bar: &ProgressBar) -> Result<Trainer, Failure> {
        let options = if judges { self.options().judged_by_others() } else { self.options() };
        if let Some(folder) = &self.checkpoints {
            warpsight_files::make_folder(folder)?;
        }
        let processor = self.processor.unwrap_or_default();
        Ok(Trainer { options, processor, folder: self.checkpoints.clone(), bar: bar.clone(), failed: Mutex::new(None) })
    }
}

impl Trainer {
    /// What fits a method.
    pub fn fit(&self, method: Method) -> Box<dyn Fit + '_> {
        match method {
            Method::Transformer => {
                progress::catch_interrupt();
                Box::new(Study { options: &self.options, processor: self.processor, keep: self })
            }
            _ => Box::new(method),
        }
    }

    /// Why fitting failed.
    pub fn failure(&self, error: FitError) -> Failure {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match error {
            FitError::Stopped(_) if self.folder.is_none() => {
                Failure::from(error).help("with --checkpoints FOLDER the same command goes on")
            }
            error => failed.unwrap_or_else(|| error.into()),
        }
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(name).with_extension("training"))
    }

    fn stopped(&self, failure: Failure) -> NetworkError {
        let said = failure.to_string();
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        NetworkError::Stopped(said)
    }
}

impl Keep for Trainer {
    fn kept(&self, name: &str) -> Result<Option<Checkpoint>, NetworkError> {
        let Some(path) = self.path(name).filter(|path| path.exists()) else { return Ok(None) };
        let bytes = warpsight_files::read(&path, warpsight_files::RECORDS).map_err(|e| self.stopped(e.into()))?;
        let damaged = |e: &dyn std::fmt::Display| self.stopped(Failure::input(e.to_string()).at(path.display().to_string()));
        Checkpoint::from_bytes(&bytes).map(Some).map_err(|e| damaged(&e))
    }

    fn told(&self, name: &str, report: &Report) -> Result<(), NetworkError> {
        let Epoch { epoch, selection, .. } = report.epoch;
        self.bar.set_message(format!("transformer {name}, epoch {epoch} of {}: {:.1} % off", self.options.epochs, 100.0 * selection));
        if let Some(path) = self.path(name) {
            warpsight_files::write(&path, &report.checkpoint.to_bytes()).map_err(|error| self.stopped(error.into()))?;
        }
        if progress::interrupted() { Err(NetworkError::Stopped("interrupted".to_owned())) } else { Ok(()) }
    }
}

impl CurveArgs {
    /// Refuses curves that cannot be written, before anything is trained.
    pub fn check(&self, method: Method) -> Result<(), Failure> {
        for path in &self.curve {
            let refused = |message: &str| Err(Failure::input(message).at(path.display().to_string()));
            if method != Method::Transformer {
                return refused("only --model transformer has a learning curve");
            }
            if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg") || e.eq_ignore_ascii_case("csv")) {
                return refused("a learning curve is a table (.csv) or a picture (.svg)");
            }
        }
        Ok(())
    }

    /// How training went and how far the network is off on the shaders that it did not see, in JSON and in words; curves are written.
    pub fn told(&self, predictor: &Predictor, rows: &[&Row]) -> Result<(Value, String), Failure> {
        let Fitted::Transformer(trained) = predictor.model.model() else {
            return Ok((Value::Null, String::new()));
        };
        for path in &self.curve {
            let is_picture = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
            let text = if is_picture { picture(trained.curve(), &predictor.device.name)? } else { trained.curve().csv() };
            warpsight_files::write(path, text.as_bytes())?;
        }
        let roles = roles(rows, trained.options());
        let of = |role: Role| roles.iter().filter(|(_, own)| *own == role).map(|(row, _)| *row).collect::<Vec<&Row>>();
        let (training, selection, unseen) = (of(Role::Training), of(Role::Selection), of(Role::Unseen));
        // What the same rows teach the model that ships.
        let rest: Vec<&Row> = training.iter().chain(&selection).copied().collect();
        let default = Method::DEFAULT.fit(&rest).map_err(Failure::from)?;
        let scores = |say: &dyn Fn(&Row) -> f64| {
            let pairs: Vec<Pair> = unseen.iter().filter_map(|row| Some((row.seconds?.0, say(row)))).collect();
            Scores::of(&pairs)
        };
        let (own, other) = (scores(&|row| trained.predict(row).0), scores(&|row| default.predict(row).0));
        let text = words(trained, [training.len(), selection.len(), unseen.len()], own, other);
        let value = json!({
            "weights": trained.weights(), "options": trained.options(), "curve": trained.curve(), "best": trained.curve().best(),
            "training": training.len(), "selection": selection.len(), "unseen": unseen.len(), "scores": own,
            Method::DEFAULT.name(): other,
        });
        Ok((value, text))
    }
}

fn words(trained: &Trained, [training, selection, unseen]: [usize; 3], own: Option<Scores>, other: Option<Scores>) -> String {
    let epochs = &trained.curve().epochs;
    let (steps, seconds) = epochs.iter().fold((0, 0.0), |(steps, seconds), e| (steps + e.steps, seconds + e.seconds));
    let best = trained.curve().best().map_or(String::new(), |e| format!("epoch {} is {:.1} % off there", e.epoch, 100.0 * e.selection));
    let mut text = format!(
        "\n{} weights; learned from {training} shaders in {} epochs chosen by {selection} others: {best}; {:.2} s a step (measured)",
        trained.weights(),
        epochs.len(),
        seconds / f64::from(u32::try_from(steps).unwrap_or(u32::MAX).max(1)),
    );
    let mut put = |who: &str, scores: Option<Scores>| {
        let Some(s) = scores else { return };
        let rank = s.spearman.map_or(String::new(), |rank| format!(", Spearman {rank:.3}"));
        text.push_str(&format!("\n{who}: {:.1} % off on average, {:.1} % in the middle{rank}", 100.0 * s.mape, 100.0 * s.median_ape));
    };
    put(&format!("on {unseen} shaders of unseen groups (predicted against measured)"), own);
    put(&format!("there {}, fitted to the others", Method::DEFAULT), other);
    text
}

fn picture(curve: &Curve, device: &str) -> Result<String, Failure> {
    let points = |of: fn(&Epoch) -> f64| curve.epochs.iter().map(|e| Mark { x: e.epoch as f64, y: 100.0 * of(e), range: None }).collect();
    let figure = Figure {
        title: format!("Learning curve of the transformer, {device}"),
        note: "Mean relative error of predictions against measured times. Learned from: while it learns, with dropout.".to_owned(),
        panels: vec![Panel::Curves {
            x: "epoch".to_owned(),
            y: "error / %".to_owned(),
            joined: true,
            series: vec![
                Series { name: "learned from".to_owned(), points: points(|e| e.training) },
                Series { name: "epochs chosen by".to_owned(), points: points(|e| e.selection) },
            ],
        }],
    };
    svg(&figure).map_err(|e| Failure::input(e.to_string()))
}
