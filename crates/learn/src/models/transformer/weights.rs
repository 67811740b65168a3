//! A network as a model's file keeps it: what it is, and its weights as base64 of little-endian floats in the order of its layers.
//!
//! Equal trainings give equal files: burn's own records name each layer by a random number.

use super::draws::drawing;
use super::network::Network;
use super::shape::Options;
use super::{Curve, Scale, Trained};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor, TensorData};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

/// A network in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    options: Options,
    scale: Scale,
    weights: String,
}

impl From<Trained> for Kept {
    fn from(trained: Trained) -> Self {
        let bytes: Vec<u8> = trained.floats().iter().flat_map(|x| x.to_le_bytes()).collect();
        Self { options: trained.options, scale: trained.scale, weights: BASE64.encode(&bytes) }
    }
}

impl TryFrom<Kept> for Trained {
    type Error = String;
    fn try_from(kept: Kept) -> Result<Self, String> {
        kept.options.check()?;
        let bytes = BASE64.decode(kept.weights.as_bytes()).map_err(|e| format!("its weights are no base64: {e}"))?;
        let (floats, rest) = bytes.as_chunks::<4>();
        // The network is only made when there are as many numbers as it takes.
        if floats.len() as u64 != kept.options.shape.weights()? || !rest.is_empty() {
            return Err("its weights are not as many as its network has".to_owned());
        }
        let floats: Vec<f32> = floats.iter().map(|x| f32::from_le_bytes(*x)).collect();
        let Scale { mean, deviation, offset } = kept.scale;
        if !(floats.iter().all(|x| x.is_finite()) && [mean, deviation, offset].iter().all(|x| x.is_finite())) {
            return Err("not all of its weights are numbers".to_owned());
        }
        let _drawing = drawing();
        let network = Box::new(Network::new(&kept.options.shape, &Device::flex()).map(&mut Read(&floats)));
        Ok(Self { options: kept.options, scale: kept.scale, curve: Curve::default(), network })
    }
}

impl PartialEq for Trained {
    fn eq(&self, other: &Self) -> bool {
        (&self.options, self.scale) == (&other.options, other.scale) && self.floats() == other.floats()
    }
}

impl Trained {
    fn floats(&self) -> Vec<f32> {
        let mut written = Written(Vec::new());
        self.network.visit(&mut written);
        written.0
    }
}

struct Written(Vec<f32>);

impl ModuleVisitor for Written {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.extend(param.val().into_data().iter::<f32>());
    }
}

/// What is left to be read: as much as the layers that were not met yet take.
struct Read<'a>(&'a [f32]);

impl ModuleMapper for Read<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| {
            let (dims, device) = (tensor.dims(), tensor.device());
            let (own, rest) = self.0.split_at(dims.iter().product());
            self.0 = rest;
            Tensor::from_data(TensorData::new(own.to_vec(), dims), &device)
        })
    }
}
