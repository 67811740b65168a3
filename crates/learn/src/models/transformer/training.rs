//! Training: steps of Adam on batches, epochs, the best of them.

use super::checkpoint::{self, Checkpoint};
use super::curve::{Curve, Epoch};
use super::draws::drawing;
use super::network::{Batch, Network};
use super::shape::{Options, Processor, Readout};
use super::{Example, NetworkError, Scale, Trained, check_sequences, mape, numbers, outputs, parts};
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{AdamConfig, GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};
use sha2::{Digest, Sha256};
use std::time::Instant;
use warpsight_shader::tokens::Tokens;

/// Where training begins.
#[derive(Default)]
pub struct Start {
    /// What computes.
    pub processor: Processor,
    /// From where to go on, if not from the beginning.
    pub checkpoint: Option<Checkpoint>,
}

/// What is told after an epoch.
pub struct Report<'a> {
    /// The epoch.
    pub epoch: &'a Epoch,
    /// From here training can go on; to be kept, if at all, before the next epoch.
    pub checkpoint: &'a Checkpoint,
}

/// Trains a network.
///
/// After each epoch `told` hears of it; what it answers as an error ends the training. Equal arguments give equal predictions on
/// one machine, whether training was interrupted or not.
///
/// # Errors
/// See [`NetworkError`].
pub fn fit(
    training: &[Example],
    selection: &[Example],
    options: &Options,
    start: Start,
    told: &mut dyn FnMut(Report) -> Result<(), NetworkError>,
) -> Result<Trained, NetworkError> {
    options.check().map_err(NetworkError::Options)?;
    for (found, least, what) in [(training.len(), 2, "learn from"), (selection.len(), 1, "choose an epoch by")] {
        if found < least {
            return Err(NetworkError::Few { found, least, what });
        }
    }
    let all = || training.iter().chain(selection);
    check_sequences(&options.shape, all().map(|e| &e.tokens))?;
    if let Some((index, e)) = all().enumerate().find(|(_, e)| !(e.seconds.is_finite() && e.seconds > 0.0)) {
        return Err(NetworkError::Time { index, seconds: e.seconds });
    }
    let device = device(start.processor)?;
    let mut run = match start.checkpoint {
        None => Run::begin(training, selection, options, &device),
        Some(checkpoint) => Run::resume(checkpoint, training, selection, options, &device)?,
    };
    while run.curve.epochs.len() < options.epochs {
        let epoch = run.epoch(training, selection)?;
        run.curve.epochs.push(epoch);
        let checkpoint = run.checkpoint()?;
        told(Report { epoch: &epoch, checkpoint: &checkpoint })?;
    }
    let network = Box::new(checkpoint::network(&options.shape, &device.clone().inner(), run.best)?);
    Ok(Trained { options: options.clone(), scale: run.scale, curve: run.curve, network })
}

fn device(processor: Processor) -> Result<Device, NetworkError> {
    match processor {
        Processor::Cpu => Ok(Device::flex().autodiff()),
        #[cfg(feature = "nn-cuda")]
        Processor::Cuda => {
            // cubecl panics where there is no driver or compiler.
            let first = std::panic::catch_unwind(|| {
                let device = Device::cuda(0);
                let sum = Tensor::<1>::ones([2], &device).sum().into_scalar::<f32>();
                (device, sum)
            });
            match first {
                Ok((device, 2.0)) => Ok(device.autodiff()),
                _ => Err(NetworkError::Device(
                    "no CUDA device can train here; it takes a driver, NVRTC and the CUDA headers (CUDA_PATH)".into(),
                )),
            }
        }
        #[cfg(not(feature = "nn-cuda"))]
        Processor::Cuda => Err(NetworkError::Device("this build trains on CPUs only; the feature nn-cuda is for GPUs".into())),
    }
}

/// A training that is under way.
struct Run {
    options: Options,
    device: Device,
    data: [u8; 32],
    scale: Scale,
    curve: Curve,
    network: Network,
    optimizer: ModuleOptimizer,
    best: Vec<u8>,
}

fn optimizer() -> ModuleOptimizer {
    AdamConfig::new().with_epsilon(1e-8).init()
}

/// What tells these examples from others.
pub(super) fn digest(training: &[Example], selection: &[Example]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for examples in [training, selection] {
        digest.update((examples.len() as u64).to_le_bytes());
        for example in examples {
            digest.update(example.seconds.to_le_bytes());
            digest.update((example.tokens.words.len() as u64).to_le_bytes());
            for word in &example.tokens.words {
                digest.update(word.id.to_le_bytes());
                digest.update(word.count.to_le_bytes());
                digest.update(word.scalars.to_le_bytes());
                word.operands.iter().for_each(|id| digest.update(id.to_le_bytes()));
            }
        }
    }
    digest.finalize().into()
}

impl Run {
    fn begin(training: &[Example], selection: &[Example], options: &Options, device: &Device) -> Self {
        let drawing = drawing();
        device.seed(options.seed);
        let network = Network::new(&options.shape, device);
        network.visit(&mut Drawn);
        drop(drawing);
        let logs: Vec<f64> = training.iter().map(|e| e.seconds.ln()).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let deviation = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / n).sqrt().max(1e-3);
        let mut run = Self {
            options: options.clone(),
            device: device.clone(),
            data: digest(training, selection),
            scale: Scale { mean, deviation, offset: 0.0 },
            curve: Curve::default(),
            network,
            optimizer: optimizer(),
            best: Vec::new(),
        };
        if options.shape.readout == Readout::Sum {
            // The network begins with the mean right.
            let outputs = run.outputs(training);
            run.scale.offset = mean - outputs.iter().sum::<f64>() / n;
        }
        run
    }

    fn resume(
        checkpoint: Checkpoint,
        training: &[Example],
        selection: &[Example],
        options: &Options,
        device: &Device,
    ) -> Result<Self, NetworkError> {
        if checkpoint.head.options != *options {
            return Err(NetworkError::Checkpoint("its options"));
        }
        let data = digest(training, selection);
        if checkpoint.head.data != checkpoint::hex(&data) {
            return Err(NetworkError::Checkpoint("the shaders that it learned from"));
        }
        let bytes = burn::tensor::Bytes::from_bytes_vec(checkpoint.optimizer);
        Ok(Self {
            options: options.clone(),
            device: device.clone(),
            data,
            scale: checkpoint.head.scale,
            curve: checkpoint.head.curve,
            network: checkpoint::network(&options.shape, device, checkpoint.weights)?,
            optimizer: optimizer().from_bytes(bytes).map_err(|e| NetworkError::Weights(e.to_string()))?,
            best: checkpoint.best,
        })
    }

    fn checkpoint(&self) -> Result<Checkpoint, NetworkError> {
        let optimizer = self.optimizer.into_bytes().map_err(|e| NetworkError::Weights(e.to_string()))?;
        let head = checkpoint::Head {
            options: self.options.clone(),
            scale: self.scale,
            curve: self.curve.clone(),
            data: checkpoint::hex(&self.data),
        };
        Ok(Checkpoint { head, weights: checkpoint::weights(&self.network)?, optimizer: optimizer.to_vec(), best: self.best.clone() })
    }

    /// One pass over all shaders, in an order of its own.
    fn epoch(&mut self, training: &[Example], selection: &[Example]) -> Result<Epoch, NetworkError> {
        let number = self.curve.epochs.len();
        let begun = Instant::now();
        // So that an epoch does not depend on whether the ones before ran in this process.
        let seed = self.options.seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let drawing = drawing();
        self.device.seed(seed);
        let order = shuffled(training.len(), seed);
        let batches: Vec<&[usize]> = order.chunks(self.options.batch).collect();
        let all = batches.len() * self.options.epochs;
        let shaders: Vec<&Tokens> = training.iter().map(|e| &e.tokens).collect();
        let (mut losses, mut relative, mut rate) = (0.0, 0.0, 0.0);
        for (at, batch) in batches.iter().enumerate() {
            let step = number * batches.len() + at;
            rate = self.options.rate_at(step, all);
            let (loss, errors) = self.step(&shaders, training, batch, rate)?;
            if !loss.is_finite() {
                return Err(NetworkError::Diverged { step });
            }
            losses += loss;
            relative += errors;
        }
        drop(drawing);
        let trained = begun.elapsed().as_secs_f64();
        let measured: Vec<f64> = selection.iter().map(|e| e.seconds).collect();
        let predicted: Vec<f64> = self.outputs(selection).iter().map(|o| self.scale.seconds(self.options.shape.readout, *o)).collect();
        let chosen_by = mape(&predicted, &measured);
        let epoch = Epoch {
            epoch: number + 1,
            steps: batches.len(),
            rate,
            loss: losses / training.len() as f64,
            training: relative / training.len() as f64,
            selection: chosen_by,
            seconds: trained,
        };
        if self.curve.best().is_none_or(|best| chosen_by < best.selection) {
            self.best = checkpoint::weights(&self.network)?;
        }
        Ok(epoch)
    }

    /// One step of Adam; the sums of squared errors and of relative ones before it.
    fn step(&mut self, shaders: &[&Tokens], examples: &[Example], batch: &[usize], rate: f64) -> Result<(f64, f64), NetworkError> {
        let (mut loss, mut relative) = (0.0, 0.0);
        let mut sum = GradientsAccumulator::new();
        let shape = &self.options.shape;
        for part in parts(shaders, batch, self.options.at_once) {
            let sequences: Vec<&Tokens> = part.iter().map(|at| shaders[*at]).collect();
            let outputs = self.network.forward(Batch::new(&sequences, shape, &self.device));
            for (at, output) in part.iter().zip(numbers(outputs.clone())) {
                let (measured, predicted) = (examples[*at].seconds, self.scale.seconds(shape.readout, f64::from(output)));
                relative += ((predicted - measured) / measured).abs();
            }
            let standard = match shape.readout {
                Readout::First => outputs,
                Readout::Sum => (outputs + (self.scale.offset - self.scale.mean)) / self.scale.deviation,
            };
            let targets: Vec<f32> = part.iter().map(|at| self.scale.target(examples[*at].seconds) as f32).collect();
            let targets = Tensor::<1>::from_data(TensorData::new(targets, [part.len()]), &self.device);
            let squares = (standard - targets).square().sum();
            loss += f64::from(squares.clone().into_scalar::<f32>());
            let gradients = (squares / batch.len() as f64).backward();
            sum.accumulate(&self.network, GradientsParams::from_grads(gradients, &self.network));
        }
        let gradients = clipped(&self.network, sum.grads(), self.options.clip);
        self.network = self.optimizer.step(rate, self.network.clone(), gradients);
        Ok((loss, relative))
    }

    /// What the network says of examples, without dropout.
    fn outputs(&self, examples: &[Example]) -> Vec<f64> {
        let shaders: Vec<&Tokens> = examples.iter().map(|e| &e.tokens).collect();
        outputs(&self.network.valid(), &self.options, &shaders)
    }
}

/// Draws the first weights now: burn would when they are first read, and after other threads' numbers.
struct Drawn;

impl ModuleVisitor for Drawn {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        param.val();
    }
}

/// The numbers below `n` in an order that the seed decides (Fisher and Yates, with SplitMix64).
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, (next() % (i as u64 + 1)) as usize);
    }
    order
}

/// Scales gradients so that all of them together have at most this norm; burn's own clipping looks at each weight matrix alone.
fn clipped(network: &Network, gradients: GradientsParams, most: f64) -> GradientsParams {
    let mut norm = Norm { gradients: &gradients, squares: 0.0 };
    network.visit(&mut norm);
    let norm = norm.squares.sqrt();
    if norm <= most {
        return gradients;
    }
    let mut scaled = Scaled { gradients, factor: most / norm };
    network.visit(&mut scaled);
    scaled.gradients
}

struct Norm<'a> {
    gradients: &'a GradientsParams,
    squares: f64,
}

impl ModuleVisitor for Norm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            self.squares += f64::from(gradient.square().sum().into_scalar::<f32>());
        }
    }
}

struct Scaled {
    gradients: GradientsParams,
    factor: f64,
}

impl ModuleVisitor for Scaled {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            self.gradients.register(param.id, gradient.mul_scalar(self.factor));
        }
    }
}
