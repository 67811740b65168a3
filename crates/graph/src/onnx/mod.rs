//! ONNX: its files ([`proto`]), what they declare, and how their nodes become operators.

pub mod proto;

mod attributes;
pub(crate) mod card;
pub(crate) mod declared;
pub(crate) mod given;
pub(crate) mod import;
mod literal;
pub(crate) mod model;
