//! Fragment shaders: reading, executing, counting.

#[path = "shader/common.rs"]
mod common;
#[path = "shader/flow.rs"]
mod flow;
#[path = "shader/image.rs"]
mod image;
#[path = "shader/module.rs"]
mod module;
#[path = "shader/trace.rs"]
mod trace;
