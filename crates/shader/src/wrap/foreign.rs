//! What a text is that is no fragment shader in GLSL: for the message, once it was refused.

use super::WrapError;
use super::lex::{self, Kind};
use std::collections::HashSet;

/// Words that only shaders of one stage have; those that other stages share come last.
const STAGES: &[(&str, &[&str])] = &[
    ("a geometry shader", &["EmitVertex", "EndPrimitive", "EmitStreamVertex"]),
    ("a tessellation shader", &["gl_TessLevelOuter", "gl_TessLevelInner", "gl_TessCoord", "gl_PatchVerticesIn"]),
    ("a mesh or task shader", &["SetMeshOutputsEXT", "EmitMeshTasksEXT", "gl_MeshVerticesEXT", "gl_MeshVerticesNV"]),
    (
        "a ray tracing shader",
        &["gl_LaunchIDEXT", "rayPayloadEXT", "rayPayloadInEXT", "hitAttributeEXT", "traceRayEXT", "callableDataInEXT"],
    ),
    ("a compute shader", &["local_size_x", "gl_GlobalInvocationID", "gl_LocalInvocationID", "gl_WorkGroupID", "gl_NumWorkGroups"]),
    ("a vertex shader", &["gl_Position", "gl_VertexID", "gl_VertexIndex", "gl_InstanceIndex", "attribute"]),
];

/// Words that only fragment shaders have: who has both is a text of several stages.
const FRAGMENT: &[&str] = &["gl_FragCoord", "gl_FragColor", "gl_FragData", "gl_FragDepth", "discard", "mainImage"];

/// Words of other languages.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("HLSL", &["cbuffer", "SV_Target", "SV_Target0", "SV_TARGET", "SV_Position", "SV_POSITION", "SamplerState"]),
    ("OpenCL C", &["__kernel", "get_global_id"]),
    ("CUDA C++", &["__global__", "__device__", "threadIdx"]),
    ("an assembly text of SPIR-V", &["OpCapability", "OpEntryPoint", "OpMemoryModel"]),
];

/// What is found in a text instead of a fragment shader's words; nothing where nobody can tell.
#[must_use]
pub fn foreign(text: &str) -> Option<WrapError> {
    let start = text.trim_start();
    let language = |what| Some(WrapError::Language { what });
    if start.is_empty() {
        return Some(WrapError::Empty);
    }
    if ["<!DOCTYPE", "<!doctype", "<html", "<?xml", "<svg"].iter().any(|begin| start.starts_with(begin)) {
        return language("a page or document of markup");
    }
    if start.starts_with(['{', '[']) {
        return language("JSON or other data");
    }
    if ["@fragment", "@vertex", "@compute", "var<uniform>", "var<storage"].iter().any(|word| text.contains(word)) {
        return language("WGSL");
    }
    if text.contains("<metal_stdlib>") {
        return language("Metal's language");
    }
    let tokens = lex::tokens(text);
    let words: HashSet<&str> = tokens.iter().filter(|t| t.kind == Kind::Word).map(|t| t.text.as_str()).collect();
    if let Some((what, _)) = LANGUAGES.iter().find(|(_, own)| own.iter().any(|word| words.contains(word))) {
        return language(what);
    }
    let stage = stage(&words).filter(|_| !FRAGMENT.iter().any(|word| words.contains(word)));
    stage.map(|what| WrapError::Stage { what })
}

/// The stage that a shader of these words is of, where that is not the fragment stage.
pub(super) fn stage(words: &HashSet<&str>) -> Option<&'static str> {
    STAGES.iter().find(|(_, own)| own.iter().any(|word| words.contains(word))).map(|(what, _)| *what)
}
