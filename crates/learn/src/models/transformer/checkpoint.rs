//! Unfinished trainings as bytes.
//!
//! A magic word, the length of a head in JSON, the head, then burn's records one after the other with the lengths that the head
//! gives. A digest of all records is checked before any of them is read.

use super::draws::drawing;
use super::network::Network;
use super::shape::{Options, Shape};
use super::{Curve, NetworkError, Scale};
use burn::module::Module;
use burn::store::ModuleRecord;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"wsnet\0\0\x02";
/// The longest head: a curve has at most 100,000 epochs.
const MOST_HEAD: usize = 64 << 20;

/// Why bytes are no training.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Something else.
    #[error("this is no training of warpsight's, or one of another version")]
    Magic,
    /// Cut off or changed.
    #[error("the file of the training is damaged: {0}")]
    Damaged(String),
}

/// What is known besides weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) options: Options,
    pub(super) scale: Scale,
    pub(super) curve: Curve,
    /// Digest of what is learned from.
    pub(super) data: String,
}

#[derive(Serialize, Deserialize)]
struct Preface {
    head: Head,
    records: Vec<usize>,
    sha256: String,
}

/// A training between two epochs.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    pub(super) head: Head,
    pub(super) weights: Vec<u8>,
    pub(super) optimizer: Vec<u8>,
    pub(super) best: Vec<u8>,
}

impl Checkpoint {
    /// How it is trained.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.head.options
    }

    /// How training went so far.
    #[must_use]
    pub fn curve(&self) -> &Curve {
        &self.head.curve
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        write(self.head.clone(), &[&self.weights, &self.optimizer, &self.best])
    }

    /// From what [`Checkpoint::to_bytes`] wrote.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let (head, records) = read(bytes)?;
        let [weights, optimizer, best] = records[..] else { return Err(FileError::Damaged("it has parts of something else".into())) };
        Ok(Self { head, weights: weights.into(), optimizer: optimizer.into(), best: best.into() })
    }
}

/// The weights as burn's record.
pub(super) fn weights(network: &Network) -> Result<Vec<u8>, NetworkError> {
    let bytes = network.valid().into_record().into_bytes().map_err(|e| NetworkError::Weights(e.to_string()))?;
    Ok(bytes.to_vec())
}

/// The network that these weights are of.
pub(super) fn network(shape: &Shape, device: &Device, weights: Vec<u8>) -> Result<Network, NetworkError> {
    let record = record(weights)?;
    let _drawing = drawing();
    Network::new(shape, device).try_load_record(record).map_err(|e| NetworkError::Weights(e.to_string()))
}

fn write(head: Head, records: &[&[u8]]) -> Vec<u8> {
    let mut digest = Sha256::new();
    records.iter().for_each(|record| digest.update(record));
    let sha256 = hex(&digest.finalize());
    let preface = Preface { head, records: records.iter().map(|r| r.len()).collect(), sha256 };
    // Strings and finite numbers: `Options::check` and training see to that.
    let head = serde_json::to_vec(&preface).unwrap_or_default();
    let mut out = [&MAGIC[..], &(head.len() as u64).to_le_bytes(), &head].concat();
    records.iter().for_each(|record| out.extend_from_slice(record));
    out
}

fn read(bytes: &[u8]) -> Result<(Head, Vec<&[u8]>), FileError> {
    let damaged = |what: &str| FileError::Damaged(what.into());
    let rest = bytes.strip_prefix(MAGIC).ok_or(FileError::Magic)?;
    let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(|| damaged("it is too short"))?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MOST_HEAD || length > rest.len() {
        return Err(damaged("it is too short"));
    }
    let (head, mut rest) = rest.split_at(length);
    let preface: Preface = serde_json::from_slice(head).map_err(|e| FileError::Damaged(e.to_string()))?;
    if hex(&Sha256::digest(rest)) != preface.sha256 {
        return Err(damaged("its weights are not those that were written"));
    }
    preface.head.options.check().map_err(FileError::Damaged)?;
    let numbers = preface.head.options.shape.weights().map_err(FileError::Damaged)?;
    let mut records = Vec::new();
    for length in preface.records {
        let (record, after) = rest.split_at_checked(length).ok_or_else(|| damaged("it is too short"))?;
        records.push(record);
        rest = after;
    }
    // The network is only made when the file is as large as its weights.
    if records.first().is_none_or(|weights| (weights.len() as u64) < 4 * numbers) {
        return Err(damaged("it has fewer weights than its network"));
    }
    Ok((preface.head, records))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn record(weights: Vec<u8>) -> Result<ModuleRecord, NetworkError> {
    ModuleRecord::from_bytes(burn::tensor::Bytes::from_bytes_vec(weights)).map_err(|e| NetworkError::Weights(e.to_string()))
}
