//! Models: what a kernel will cost, from what is known of it and of the device. Pure: same input, same bits; no I/O.
//!
//! [`Roofline`] is the first: seconds per resource from bytes per level, operations by class and vector width, occupancy and launch
//! overhead. [`StageRoofline`] is that of pipeline stages.

pub mod explore;
pub mod limits;
pub mod stage;
pub mod traffic;
pub mod volumes;

pub use limits::Roofline;
pub use stage::StageRoofline;
pub use traffic::{Lines, TensorTraffic, Traffic, traffic};
