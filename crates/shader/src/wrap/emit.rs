//! The parts of a wrapped shader as text, every token on the user's line.

use super::declare::{Form, Storage, Variable, close};
use super::lex::{Kind, Token, tokens};
use super::{COLOUR, OURS, Parts, legacy};
use std::fmt::Write;

/// How a block may lie in memory.
const LAYOUTS: &[&str] = &["std140", "std430", "scalar", "row_major", "column_major"];

/// Empty lines that are written instead of a new `#line`.
const GAP: u32 = 4;

/// The whole text.
pub fn text(parts: &Parts, defines: &[(String, String)]) -> String {
    let mut out = Emitter { text: format!("#version {}\n", parts.version), line: None, begun: false };
    out.tokens(&parts.extensions, parts);
    for (name, value) in defines.iter().filter(|(name, _)| !name.starts_with("GL_")) {
        let _ = writeln!(out.text, "#define {name} {value}");
    }
    for statement in &parts.structs {
        out.tokens(&statement.tokens, parts);
    }
    if !parts.members.is_empty() {
        out.made("layout(set = 0, binding = 0, std140) uniform ws_Uniforms {");
        for member in &parts.members {
            out.at(member.line);
            out.put(&format!("    {};", declaration(member)));
        }
        out.made("};");
    }
    for (index, sampler) in parts.samplers.iter().enumerate() {
        out.at(sampler.line);
        out.put(&format!("layout(set = 0, binding = {}) uniform {};", index + 1, declaration(sampler)));
    }
    let other = parts.colour.as_ref().filter(|colour| colour.ty != "vec4");
    if let Some(colour) = &parts.colour {
        out.made(&format!("layout(location = 0) out {};", if other.is_some() { format!("vec4 {COLOUR}") } else { declaration(colour) }));
    }
    if let Some(colour) = other {
        out.made(&format!("{};", declaration(colour)));
    }
    if uses(parts, legacy::DATA) {
        out.made(&format!("vec4 {}[8];", legacy::DATA));
    }
    for (_, output) in &parts.outputs {
        out.at(output.line);
        out.put(&format!("{};", declaration(output)));
    }
    let mut binding = 1 + parts.samplers.len();
    for statement in &parts.statements {
        match &statement.form {
            Form::Variables(Storage::Input, all) => {
                for input in all {
                    out.at(input.line);
                    out.put(&format!("{} = {};", declaration(input), position(input, parts)));
                }
            }
            Form::Block(Storage::Uniform | Storage::Buffer, ..) => {
                out.tokens(&bound(&statement.tokens, binding), parts);
                binding += 1;
            }
            Form::Function(function) if function == "main" && other.is_some() => {
                let renamed: Vec<Token> = statement
                    .tokens
                    .iter()
                    .map(|t| if t.is("main") { Token { text: "ws_main".to_owned(), ..t.clone() } } else { t.clone() })
                    .collect();
                out.tokens(&renamed, parts);
            }
            _ => out.tokens(&statement.tokens, parts),
        }
    }
    if let Some(after) = &parts.after {
        out.made(&format!("void main() {{ {after} }}"));
    } else if let Some(colour) = other {
        let first = format!("{}{}", colour.name, "[0]".repeat(colour.lengths.len()));
        out.made(&format!("void main() {{ ws_main(); {COLOUR} = {}; }}", widened(&first, &colour.ty)));
    }
    out.text.push('\n');
    out.text
}

/// A block at a binding of its own; how it lies in memory stays as its source says, where Vulkan has that.
fn bound(block: &[Token], binding: usize) -> Vec<Token> {
    let Some(first) = block.first() else { return Vec::new() };
    let mut said = vec![format!("set = 0, binding = {binding}")];
    let mut rest = Vec::with_capacity(block.len());
    let mut at = 0;
    // Qualifiers stand before the bracket.
    while at < block.len() && !block[at].is("{") {
        if block[at].is("layout") {
            let end = close(block, at + 1);
            let inside = &block[(at + 2).min(end)..end];
            if inside.iter().any(|t| t.is("push_constant")) {
                said[0] = "push_constant".to_owned();
            }
            said.extend(inside.iter().filter(|t| LAYOUTS.contains(&t.text.as_str())).map(|t| t.text.clone()));
            at = end;
        } else {
            rest.push(block[at].clone());
        }
        at += 1;
    }
    let layout = tokens(&format!("layout({})", said.join(", "))).into_iter();
    layout.map(|t| Token { line: first.line, ..t }).chain(rest).chain(block[at..].iter().cloned()).collect()
}

/// Whether any statement uses a name.
fn uses(parts: &Parts, name: &str) -> bool {
    parts.statements.iter().flat_map(|s| &s.tokens).flat_map(super::declare::words).any(|w| w == name)
}

/// `vec3 lights[4][2]`
fn declaration(variable: &Variable) -> String {
    let mut out = format!("{} {}", variable.ty, variable.name);
    for length in &variable.lengths {
        let _ = write!(out, "[{}]", joined(length));
    }
    out
}

fn joined(tokens: &[Token]) -> String {
    tokens.iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// A colour of fewer components as one of four.
fn widened(name: &str, ty: &str) -> String {
    match ty {
        "vec3" => format!("vec4({name}, 1.0)"),
        "vec2" => format!("vec4({name}, 0.0, 1.0)"),
        "float" | "int" | "uint" => format!("vec4(float({name}), 0.0, 0.0, 1.0)"),
        _ => format!("vec4({name})"),
    }
}

/// What an input of the vertex stage is at a fragment: it spans the frame.
fn position(input: &Variable, parts: &Parts) -> String {
    let name = input.name.to_lowercase();
    let like = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let one = match input.ty.as_str() {
        "float" => "ws_uv.x".to_owned(),
        "vec2" => "ws_uv".to_owned(),
        "vec3" if like(&["norm"]) => "normalize(vec3(ws_uv - 0.5, 0.5))".to_owned(),
        "vec3" if like(&["pos", "view", "world", "dir"]) => "vec3(ws_uv * 2.0 - 1.0, 0.5)".to_owned(),
        "vec3" => "vec3(ws_uv, 0.5)".to_owned(),
        "vec4" if like(&["pos", "view", "world", "clip", "coord"]) => "vec4(ws_uv * 2.0 - 1.0, 0.5, 1.0)".to_owned(),
        "vec4" => "vec4(ws_uv, 0.5, 1.0)".to_owned(),
        ty => format!("{ty}(1)"),
    };
    // Arrays of arrays do not occur among inputs of fragment shaders.
    match input.lengths.first().map(|length| parts.macros.evaluate(length)) {
        Some(Some(length @ 1..=64)) => format!("{}[{length}]({})", input.ty, vec![one; length as usize].join(", ")),
        _ => one,
    }
}

struct Emitter {
    text: String,
    /// The line that the compiler believes this is.
    line: Option<u32>,
    /// Whether something stands on it.
    begun: bool,
}

impl Emitter {
    /// Makes what follows stand on a line of the user's.
    fn at(&mut self, line: u32) {
        if self.line == Some(line) {
            return;
        }
        match self.line {
            Some(now) if line > now && line - now <= GAP => (now..line).for_each(|_| self.text.push('\n')),
            _ => {
                if self.begun {
                    self.text.push('\n');
                }
                let _ = writeln!(self.text, "#line {line}");
            }
        }
        self.line = Some(line);
        self.begun = false;
    }

    fn put(&mut self, text: &str) {
        if self.begun {
            self.text.push(' ');
        }
        self.text.push_str(text);
        self.begun = true;
    }

    /// A line of our own.
    fn made(&mut self, text: &str) {
        self.at(OURS);
        self.put(text);
    }

    fn tokens(&mut self, tokens: &[Token], parts: &Parts) {
        let mut skip = false;
        let mut spaced = true;
        for (index, token) in tokens.iter().enumerate() {
            if token.kind == Kind::Directive {
                // Alone on its line.
                if self.begun {
                    self.text.push('\n');
                    self.line = None;
                    self.begun = false;
                }
                self.at(token.line);
                self.text.push_str(&token.text);
                self.text.push('\n');
                self.line = Some(token.line + 1);
                self.begun = false;
                continue;
            }
            spaced |= token.spaced;
            if std::mem::take(&mut skip) || matches!(token.text.as_str(), "highp" | "mediump" | "lowp") {
                continue;
            }
            // Members of blocks are reached without the block's name.
            if parts.instances.contains(&token.text) && tokens.get(index + 1).is_some_and(|t| t.is(".")) {
                skip = true;
                continue;
            }
            self.at(token.line);
            let word = |text: &str, end: bool| {
                let byte = if end { text.bytes().last() } else { text.bytes().next() };
                byte.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
            };
            if self.begun && (spaced || word(&self.text, true) && word(&token.text, false)) {
                self.text.push(' ');
            }
            self.text.push_str(&token.text);
            (self.begun, spaced) = (true, false);
        }
    }
}
