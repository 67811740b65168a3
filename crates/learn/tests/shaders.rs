//! Fragment shaders: reading, executing, counting.

#[path = "shader/common.rs"]
mod common;
#[path = "shader/module.rs"]
mod module;
