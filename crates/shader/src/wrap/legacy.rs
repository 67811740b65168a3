//! Names of older GLSL, and names that only later became words of the language.

use super::lex::{Kind, Token};

/// The colours after the first, which go nowhere.
pub const DATA: &str = "ws_data";

/// Functions and variables that have other names in GLSL 4.50.
const RENAMED: &[(&str, &str)] = &[
    ("texture1D", "texture"),
    ("texture2D", "texture"),
    ("texture3D", "texture"),
    ("textureCube", "texture"),
    ("texture2DRect", "texture"),
    ("texture2DLod", "textureLod"),
    ("texture3DLod", "textureLod"),
    ("textureCubeLod", "textureLod"),
    ("texture2DLodEXT", "textureLod"),
    ("textureCubeLodEXT", "textureLod"),
    ("texture2DProj", "textureProj"),
    ("texture2DProjLod", "textureProjLod"),
    ("texture2DProjLodEXT", "textureProjLod"),
    ("texture2DGradEXT", "textureGrad"),
    ("texture2DGradARB", "textureGrad"),
    ("textureCubeGradEXT", "textureGrad"),
    ("textureCubeGradARB", "textureGrad"),
    ("gl_FragColor", "ws_color"),
    // Babylon.js on WebGL 2.
    ("glFragColor", "ws_color"),
    ("gl_FragDepthEXT", "gl_FragDepth"),
    // Pictures from elsewhere are pictures.
    ("samplerExternalOES", "sampler2D"),
    // Nothing is drawn as points.
    ("gl_PointCoord", "ws_uv"),
];

/// Words of GLSL 4.50 that are names in older GLSL.
const RESERVED: &[&str] = &[
    "sample",
    "buffer",
    "shared",
    "patch",
    "subroutine",
    "precise",
    "coherent",
    "restrict",
    "readonly",
    "writeonly",
    "resource",
    "sampler",
    "common",
    "partition",
    "active",
    "filter",
    "noperspective",
    "samplerShadow",
    "input",
    "output",
];

/// Replaces those names, in macros too.
pub fn renamed(tokens: Vec<Token>, version: Option<&str>) -> Vec<Token> {
    // From here on those words are words.
    let number = version.and_then(|v| v.split_whitespace().next()?.parse::<u32>().ok()).unwrap_or(0);
    let modern = number >= if version.is_some_and(|v| v.contains("es")) { 310 } else { 400 };
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(mut token) = rest.next() {
        match token.kind {
            Kind::Word => {
                let called = rest.peek().is_some_and(|next| next.is("("));
                if let Some(new) = name(&token.text, called, modern) {
                    token.text = new;
                }
            }
            Kind::Directive => token.text = directive(&token.text, modern),
            Kind::Number | Kind::Sign => {}
        }
        out.push(token);
    }
    data(out)
}

fn name(text: &str, called: bool, modern: bool) -> Option<String> {
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == text) {
        return Some((*new).to_owned());
    }
    let variable = text == "texture" && !called;
    (variable || !modern && RESERVED.contains(&text)).then(|| format!("ws_{text}"))
}

/// A directive keeps its spacing: `#define f (x)` is not `#define f(x)`.
fn directive(text: &str, modern: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let end = rest[at..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(rest.len(), |e| at + e);
        out.push_str(&rest[..at]);
        let word = &rest[at..end];
        // Part of a number, such as the exponent of 1e3.
        let number = rest[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.')
            && at > 0
            && !word.starts_with(['x', 'y', 'z', 'w', 'r', 'g', 'b', 'a', 's', 't']);
        match name(word, true, modern).filter(|_| !number) {
            Some(new) => out.push_str(&new),
            None => out.push_str(word),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// `gl_FragData[0]` is the colour.
fn data(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        if token.is("gl_FragData") {
            let first = tokens.get(at + 1).is_some_and(|t| t.is("["))
                && tokens.get(at + 2).is_some_and(|t| t.is("0"))
                && tokens.get(at + 3).is_some_and(|t| t.is("]"));
            out.push(Token { text: if first { "ws_color" } else { DATA }.to_owned(), ..token.clone() });
            at += if first { 4 } else { 1 };
        } else {
            out.push(token.clone());
            at += 1;
        }
    }
    out
}
