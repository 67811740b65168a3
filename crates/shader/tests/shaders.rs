//! Fragment shaders: reading, executing, counting.

#[path = "shader/body.rs"]
mod body;
#[path = "shader/collect.rs"]
mod collect;
#[path = "shader/common.rs"]
mod common;
#[path = "shader/flow.rs"]
mod flow;
#[path = "shader/hostile.rs"]
mod hostile;
#[path = "shader/image.rs"]
mod image;
#[path = "shader/lean.rs"]
mod lean;
#[path = "shader/lines.rs"]
mod lines;
#[path = "shader/maths.rs"]
mod maths;
#[path = "shader/module.rs"]
mod module;
#[path = "shader/mutate.rs"]
mod mutate;
#[path = "shader/random.rs"]
mod random;
#[path = "shader/scene.rs"]
mod scene;
#[path = "shader/small.rs"]
mod small;
#[path = "shader/tokens.rs"]
mod tokens;
#[path = "shader/trace.rs"]
mod trace;
