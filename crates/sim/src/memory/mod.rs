//! Memory in time: what an instruction touches ([`lines`]), the units of a core that serve it ([`units`], [`data`], [`texture`], [`constants`]), the tags that all levels
//! share ([`cache`]), and what lies behind the cores ([`caches`]).

pub mod cache;
pub mod caches;
pub mod constants;
pub mod data;
pub mod lines;
pub mod texture;
pub mod units;

pub use caches::Caches;
