//! What was measured, and what can be learned from it.
//!
//! The [`Store`] keeps every [`Sample`](warpsight_ir::Sample) in one SQLite file: append-only, written by several processes at
//! once, failures included. The `schema` folder defines the tables; this example is a test.
//!
//! ```
//! use warpsight_ir::sample::{Device, Sample, Status, SubjectKind, TimeSource};
//! use warpsight_ir::Seconds;
//! use warpsight_learn::{RunInfo, Store, subject_hash};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("store.sqlite");
//! let mut store = Store::open(&path)?;
//! let run = store.begin_run(&RunInfo::here(["warpsight", "optimize", "model.onnx"], None))?;
//! let text = "matmul m=64 n=64 k=64";
//! let sample = Sample {
//!     subject: subject_hash(text),
//!     kind: SubjectKind::Program,
//!     text: text.to_owned(),
//!     config: r#"{"tile":4}"#.to_owned(),
//!     device: Device { backend: "sim".to_owned(), name: "adreno640".to_owned(), driver: "1".to_owned() },
//!     times: vec![Seconds(2.5e-6)],
//!     quantum: Seconds::ZERO,
//!     clock_hz: None,
//!     reference: None,
//!     source: TimeSource::Simulated,
//!     verified: true,
//!     status: Status::Done,
//! };
//! store.append(run, &sample, None, None)?;
//! let best = store.best(&sample.subject, &sample.device)?.expect("one sample was stored");
//! assert_eq!(best.sample, sample);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What shaders cost ([`warpsight_shader`] says what they do):
//!
//! - [`measured`] is what shaders took on devices.
//! - [`models`] learn from measured shaders what others cost; [`evaluate`] says how well.
//! - [`predictor`] is a model as a file keeps it, [`calibration`] fits it to another device, [`difference`] compares two predictions.

pub mod calibration;
mod default_path;
pub mod difference;
mod error;
pub mod evaluate;
pub mod measured;
pub mod models;
mod nanoseconds;
pub mod predictor;
mod query;
mod rows;
mod shots;
mod store;

pub use default_path::{NoDefaultPath, default_path};
pub use error::StoreError;
pub use query::{Attempt, Filter, Stored, StoredEstimate};
pub use store::{RunId, RunInfo, SampleId, Store, subject_hash};
