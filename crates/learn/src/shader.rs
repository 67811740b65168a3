//! Fragment shaders: what they do, and what they cost.
//!
//! Pure: SPIR-V and textures come as values, nothing here opens a file or a device.
//!
//! - [`module`] reads SPIR-V safely.
//! - [`cfg`] orders its reachable basic blocks; the order is the index of every count of blocks.
//! - [`interpret`] executes a shader on quads of a frame.
//! - [`trace`] counts how often each block runs: by interpretation of some quads, or by a rewritten module that counts on a device.
//! - [`features`] says what each block consists of.

pub mod cfg;
pub mod features;
pub mod interpret;
pub mod module;
pub mod trace;
