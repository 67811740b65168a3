//! What stands for `network` in builds without the feature `nn`: there is nothing to choose.

use crate::failure::Failure;
use indicatif::ProgressBar;
use serde_json::Value;
use std::collections::BTreeSet;
use warpsight_learn::models::{Fit, FitError, Method, Row};
use warpsight_learn::predictor::Predictor;
use warpsight_shader::tokens::Dialect;

#[derive(clap::Args, Clone)]
pub struct NetworkArgs {}

#[derive(clap::Args, Clone)]
pub struct CurveArgs {}

pub struct Trainer;

impl NetworkArgs {
    pub fn dialects(&self, methods: &[Method]) -> Result<BTreeSet<Dialect>, Failure> {
        Ok(methods.iter().filter_map(|method| method.dialect()).collect())
    }

    pub fn trainer(&self, _: bool, _: &ProgressBar) -> Result<Trainer, Failure> {
        Ok(Trainer)
    }
}

impl Trainer {
    pub fn fit(&self, method: Method) -> Box<dyn Fit> {
        Box::new(method)
    }

    pub fn failure(&self, error: FitError) -> Failure {
        error.into()
    }
}

impl CurveArgs {
    pub fn check(&self, _: Method) -> Result<(), Failure> {
        Ok(())
    }

    pub fn told(&self, _: &Predictor, _: &[&Row]) -> Result<(Value, String), Failure> {
        Ok((Value::Null, String::new()))
    }
}
