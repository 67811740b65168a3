//! Fragment shaders: what they do, read off their words.
//!
//! Pure: sources, SPIR-V and textures come as values, nothing here opens a file or a device.
//!
//! - [`Shader`] is the front door: a source or a module, and what is seen of it in a scene.
//! - [`wrap`] makes a whole fragment shader of GLSL as it is found: shadertoys, ISF, earlier versions.
//! - [`module`] reads SPIR-V safely.
//! - [`mod@cfg`] orders its reachable basic blocks; the order is the index of every count of blocks.
//! - [`scene`] says what a frame is drawn with: uniforms by name, textures, and what was assumed.
//! - [`interpret`] executes a shader on quads of a frame.
//! - [`trace`] counts how often each block runs: by interpretation of some quads, or by a rewritten module that counts on a device.
//! - [`lean`] is what a driver's compiler leaves of it.
//! - [`features`] says what each block consists of, [`lines`] which source lines a frame's cost comes from.
//! - [`tokens`] writes a shader as a sequence.
//! - [`mutate`] makes other shaders from one that loops, for training; [`corpus`] lists collected ones, [`shingles`] finds near-duplicates.
//!
//! A shader from its words to numbers that a model can use:
//!
//! ```
//! use warpsight_shader::{Shader, View, features::{self, Features}, scene::Scene};
//! # let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/loops.spv"));
//! let shader = Shader::from_bytes(bytes)?;
//! let seen = shader.see(&Scene::default(), &View::default())?;
//! let executed = seen.trace.total(|block| shader.cfg.blocks[block].insts.len() as f64);
//! assert!(!seen.trace.is_rough() && executed.error < 0.2 * executed.value);
//! let frame = Features::new(&shader.module, &shader.cfg)?.weighted(|block| seen.trace.counts[block]);
//! let adds = features::names().iter().position(|name| name == "int.add").unwrap();
//! assert!(frame[adds] > 1e9, "triangle() of up to 512 rows");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cfg;
pub mod corpus;
pub mod features;
pub mod interpret;
pub mod lean;
pub mod lines;
pub mod module;
pub mod mutate;
pub mod scene;
mod shader;
pub mod shingles;
pub mod tokens;
pub mod trace;
pub mod wrap;

pub use shader::{SeeError, Seen, Shader, SourceError, View};
