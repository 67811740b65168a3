//! Models: what a kernel will cost, from what is known of it and of the device. Pure: same input, same bits; no I/O.
//!
//! [`KernelModel`] is counts × time: what a launch asks for is counted coarsely ([`coarse`], for thousands of configurations) or exactly
//! ([`volumes`], paper 002), and [`time`] makes seconds of either. [`StageRoofline`] is that of pipeline stages.

pub mod coarse;
pub mod explore;
pub mod model;
pub mod stage;
pub mod time;
pub mod volumes;

pub use model::KernelModel;
pub use stage::StageRoofline;
