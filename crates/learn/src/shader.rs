//! Fragment shaders: what they do, and what they cost.
//!
//! Pure: SPIR-V and textures come as values, nothing here opens a file or a device.
//!
//! - [`module`] reads SPIR-V safely.
//! - [`mod@cfg`] orders its reachable basic blocks; the order is the index of every count of blocks.
//! - [`scene`] says what a frame is drawn with: uniforms by name, textures, and what was assumed.
//! - [`interpret`] executes a shader on quads of a frame.
//! - [`trace`] counts how often each block runs: by interpretation of some quads, or by a rewritten module that counts on a device.
//! - [`features`] says what each block consists of.
//! - [`mutate`] makes other shaders from one that loops, for training.
//! - [`measured`] is what shaders took on devices.
//! - [`lines`] says which source lines a frame's cost comes from.
//! - [`models`] learn from measured shaders what others cost; [`evaluate`] says how well, [`predictor`] is one of them as a file keeps it.
//! - [`tokens`] writes a shader as a sequence.
//!
//! A shader from its words to numbers that a model can use:
//!
//! ```
//! use warpsight_learn::shader::{cfg::Cfg, features, interpret::{Inputs, Program}, module::Module, trace};
//! # let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shaders/loops.spv"));
//! let module = Module::from_bytes(bytes)?;
//! let cfg = Cfg::new(&module)?;
//! let program = Program::new(&module, &cfg)?;
//! let trace = trace::sample(&program, &Inputs::of_frame(512, 384), trace::QUADS, 0)?;
//! let executed = trace.total(|block| cfg.blocks[block].insts.len() as f64);
//! assert!(!trace.is_rough() && executed.error < 0.2 * executed.value);
//! let frame = features::Features::new(&module, &cfg)?.weighted(|block| trace.counts[block]);
//! let adds = features::names().iter().position(|name| name == "int.add").unwrap();
//! assert!(frame[adds] > 1e9, "triangle() of up to 512 rows");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cfg;
pub mod corpus;
pub mod difference;
pub mod evaluate;
pub mod features;
pub mod head;
pub mod interpret;
pub mod lines;
pub mod measured;
pub mod models;
pub mod module;
pub mod mutate;
pub mod predictor;
pub mod scene;
pub mod shingles;
pub mod tokens;
pub mod trace;
pub mod wrap;
