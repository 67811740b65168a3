//! The network: embedding, encoder, read-out.

use super::shape::{AMOUNTS, COUNT_BITS, Readout, Shape};
use burn::module::{Initializer, Module};
use burn::nn::transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{Dropout, DropoutConfig, Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Bool, Device, Int, Tensor, TensorData, activation::tanh};
use warpsight_shader::tokens::{Dialect, OPERANDS, Tokens};

/// Logarithms that stand for 0: their exponentials vanish beside any other.
const NEVER: f32 = -1e4;

#[derive(Module, Debug)]
pub(super) struct Network {
    words: Embedding,
    places: Embedding,
    /// What produced the operands, a table for each.
    producers: Option<Embedding>,
    amounts: Option<Linear>,
    encoder: TransformerEncoder,
    dropout: Dropout,
    hidden: Option<Linear>,
    out: Linear,
}

/// Sequences of one length, the shorter ones padded at their end.
pub(super) struct Batch {
    words: Tensor<2, Int>,
    places: Tensor<2, Int>,
    producers: Option<Tensor<2, Int>>,
    bits: Tensor<3>,
    amounts: Option<Tensor<3>>,
    padding: Tensor<2, Bool>,
    /// Logarithms of scalars that were worked on in a frame.
    work: Tensor<2>,
}

impl Batch {
    /// `sequences` must be of the shape's dialect and length, as [`super::Example`]s are checked to be.
    pub(super) fn new(sequences: &[&Tokens], shape: &Shape, device: &Device) -> Self {
        let (rows, length) = (sequences.len(), sequences.iter().map(|s| s.words.len()).max().unwrap_or(0));
        let size = rows * length;
        let vocabulary = i64::from(shape.dialect.vocabulary());
        let mut words = vec![i64::from(shape.dialect.pad()); size];
        let (mut bits, mut padding, mut work) = (vec![0f32; size * COUNT_BITS], vec![true; size], vec![NEVER; size]);
        let mut producers: Vec<i64> = (0..size * OPERANDS).map(|i| (i % OPERANDS) as i64 * vocabulary).collect();
        let mut amounts = vec![0f32; size * AMOUNTS];
        for (row, sequence) in sequences.iter().enumerate() {
            for (place, word) in sequence.words.iter().enumerate() {
                let at = row * length + place;
                words[at] = i64::from(word.id);
                padding[at] = false;
                bits[at * COUNT_BITS..][..COUNT_BITS].iter_mut().enumerate().for_each(|(b, bit)| *bit = (word.count >> b & 1) as f32);
                producers[at * OPERANDS..][..OPERANDS].iter_mut().zip(word.operands).for_each(|(p, id)| *p += i64::from(id));
                let (count, scalars) = (word.count as f32, word.scalars as f32);
                // Counts of frames are around e^12.
                amounts[at * AMOUNTS..][..AMOUNTS].copy_from_slice(&[count.ln_1p() / 12.0, scalars.ln_1p(), count.min(1.0)]);
                if count * scalars > 0.0 {
                    work[at] = count.ln() + scalars.ln();
                } else if place == 0 {
                    // The draw itself, once: no sum is empty.
                    work[at] = 0.0;
                }
            }
        }
        let places: Vec<i64> = (0..size).map(|i| (i % length) as i64).collect();
        let compact = shape.dialect == Dialect::Compact;
        let of = |data: Vec<i64>, columns| Tensor::<2, Int>::from_data(TensorData::new(data, [rows, columns]), device);
        Self {
            words: of(words, length),
            places: of(places, length),
            producers: compact.then(|| of(producers, length * OPERANDS)),
            bits: Tensor::from_data(TensorData::new(bits, [rows, length, COUNT_BITS]), device),
            amounts: compact.then(|| Tensor::from_data(TensorData::new(amounts, [rows, length, AMOUNTS]), device)),
            padding: Tensor::from_data(TensorData::new(padding, [rows, length]), device),
            work: Tensor::from_data(TensorData::new(work, [rows, length]), device),
        }
    }
}

impl Network {
    pub(super) fn new(shape: &Shape, device: &Device) -> Self {
        // Of the length of about one, so that neither words nor the bits of counts drown the other.
        let unit = Initializer::Normal { mean: 0.0, std: 1.0 / (shape.width as f64).sqrt() };
        let table = |rows: usize| EmbeddingConfig::new(rows, shape.width).with_initializer(unit.clone()).init(device);
        let words = shape.dialect.vocabulary() as usize;
        let compact = shape.dialect == Dialect::Compact;
        let encoder = TransformerEncoderConfig::new(shape.width, shape.inner, shape.heads, shape.layers);
        Self {
            words: table(words),
            places: table(shape.positions),
            producers: compact.then(|| table(words * OPERANDS)),
            amounts: compact.then(|| LinearConfig::new(AMOUNTS, shape.width).init(device)),
            encoder: encoder.with_dropout(shape.dropout).init(device),
            dropout: DropoutConfig::new(shape.dropout).init(),
            hidden: (shape.readout == Readout::First).then(|| LinearConfig::new(shape.width, shape.width).init(device)),
            out: LinearConfig::new(shape.width, 1).init(device),
        }
    }

    /// For each sequence one number, a logarithm: of seconds but for a constant ([`Readout::Sum`]), or standardised.
    pub(super) fn forward(&self, batch: Batch) -> Tensor<1> {
        let mut x = self.words.forward(batch.words) + self.places.forward(batch.places);
        let [rows, length, width] = x.dims();
        if let (Some(table), Some(ids)) = (&self.producers, batch.producers) {
            x = x + table.forward(ids).reshape([rows, length, OPERANDS, width]).sum_dim(2).squeeze_dim::<3>(2);
        }
        if let (Some(linear), Some(amounts)) = (&self.amounts, batch.amounts) {
            x = x + linear.forward(amounts);
        }
        let bits = match width - COUNT_BITS {
            0 => batch.bits,
            rest => {
                let zeros = Tensor::<3>::zeros([rows, length, rest], &batch.bits.device());
                Tensor::cat(vec![batch.bits, zeros], 2)
            }
        };
        let x = x + bits;
        let x = self.encoder.forward(TransformerEncoderInput::new(x).mask_pad(batch.padding));
        match &self.hidden {
            Some(hidden) => {
                let first = x.slice([0..rows, 0..1, 0..width]).reshape([rows, width]);
                let y = tanh(hidden.forward(self.dropout.forward(first)));
                self.out.forward(self.dropout.forward(y)).reshape([rows])
            }
            None => {
                let costs = self.out.forward(x).reshape([rows, length]) + batch.work;
                let highest = costs.clone().detach().max_dim(1);
                ((costs - highest.clone()).exp().sum_dim(1).log() + highest).reshape([rows])
            }
        }
    }
}
