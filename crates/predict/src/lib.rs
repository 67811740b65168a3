//! Models: what a kernel will cost, from what is known of it and of the device. Pure: same input, same bits; no I/O.
//!
//! [`KernelModel`] is counts × time: what a launch asks for is counted coarsely ([`coarse`], for thousands of configurations) or exactly
//! ([`volumes`], paper 002), and [`time`] makes seconds of either. [`StageRoofline`] is that of pipeline stages.
//!
//! ```
//! use warpsight_ir::{accesses::text, profile};
//! use warpsight_predict::volumes::report::{Settings, Work, report};
//! let copy = text::parse(
//!     r#"
//!     name = "copy"
//!     block = [256]
//!     domain = [16777216]
//!     registers = 16
//!     [[field]]
//!     name = "from"
//!     element = "f32"
//!     dims = [16777216]
//!     load = [["tx"]]
//!     [[field]]
//!     name = "to"
//!     element = "f32"
//!     dims = [16777216]
//!     store = [["tx"]]
//!     "#,
//!     &[],
//! )?;
//! let a100 = profile::builtin("a100-40").expect("built in")?;
//! let report = report(&Work { kernel: &copy.kernel, points: copy.points }, &a100, &Settings::default())?;
//! assert_eq!(report.limiter.map(|limiter| limiter.name()), Some("dram"));
//! assert_eq!(report.volumes.dram_load, Some(4.0), "bytes for each of the points");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod baselines;
pub mod coarse;
pub mod doubt;
pub mod explain;
pub mod explore;
pub mod fit;
pub mod model;
pub mod paper000;
pub mod paper002;
pub mod path;
pub mod stage;
pub mod texture;
pub mod time;
pub mod volumes;
pub mod walk;

pub use model::{InPass, KernelModel};
pub use stage::StageRoofline;
