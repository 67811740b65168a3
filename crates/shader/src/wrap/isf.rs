//! Interactive Shader Format, version 2 (<https://isf.video/spec>): a header of JSON that says what a shader is given, and in which passes it
//! is drawn.

use super::WrapError;
use super::lex::{Kind, Token, tokens};
use serde_json::Value;
use std::collections::BTreeMap;

const PRELUDE: &str = "
uniform vec2 RENDERSIZE; uniform float TIME; uniform float TIMEDELTA; uniform int FRAMEINDEX; uniform vec4 DATE; uniform int PASSINDEX = 0;
vec2 isf_FragNormCoord = ws_uv; vec2 vv_FragNormCoord = ws_uv;
#define IMG_THIS_PIXEL(image) texture(image, isf_FragNormCoord)
#define IMG_THIS_NORM_PIXEL(image) texture(image, isf_FragNormCoord)
#define IMG_NORM_PIXEL(image, at) texture(image, at)
#define IMG_PIXEL(image, at) texture(image, (at) / RENDERSIZE)
#define IMG_SIZE(image) vec2(textureSize(image, 0))
";

/// The uniform that says which pass is drawn, from 0.
pub const PASS: &str = "PASSINDEX";

/// The deepest nesting of a size's brackets.
const MAX_DEPTH: usize = 32;
/// The most passes of a shader.
const MAX_PASSES: usize = 64;

/// One of several draws of a shader, by itself or for the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pass {
    /// The texture that it draws, which all passes may read; the last one usually draws the frame.
    pub target: Option<String>,
    /// Width and height of that as the source calculates them; the frame's where it does not.
    size: [Option<String>; 2],
    /// What the inputs are that the size may depend on, where nobody says otherwise.
    inputs: BTreeMap<String, f64>,
}

impl Pass {
    /// Its size in pixels, for a frame and the values of uniforms.
    ///
    /// # Errors
    /// [`WrapError::Isf`] where the size cannot be calculated.
    pub fn frame(&self, frame: [u32; 2], uniforms: &BTreeMap<String, Vec<f64>>) -> Result<[u32; 2], WrapError> {
        let mut own = frame;
        for (own, size) in own.iter_mut().zip(&self.size) {
            let Some(size) = size else { continue };
            let all = tokens(size);
            let mut parser = Parser { tokens: &all, at: 0, frame: frame.map(f64::from), uniforms, inputs: &self.inputs };
            let pixels = parser.sum(0).filter(|pixels| parser.at == all.len() && pixels.is_finite());
            let pixels = pixels.ok_or(WrapError::Isf { what: "a pass whose size cannot be calculated" })?;
            *own = pixels.clamp(1.0, 32768.0) as u32;
        }
        Ok(own)
    }
}

/// The JSON in the first comment of an ISF shader.
pub fn header(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let (header, _) = text.strip_prefix("/*")?.split_once("*/")?;
    let header: Value = serde_json::from_str(header.trim()).ok()?;
    header.is_object().then_some(header)
}

fn list(header: &Value, key: &str) -> Vec<Value> {
    header.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The passes, where there are several.
pub fn passes(source: &str) -> Result<Vec<Pass>, WrapError> {
    let all = header(source).map_or_else(Vec::new, |header| list(&header, "PASSES"));
    if all.len() > MAX_PASSES {
        return Err(WrapError::Isf { what: "it has more than 64 passes" });
    }
    let size = |pass: &Value, key: &str| match pass.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let inputs = header(source).map_or_else(Vec::new, |header| list(&header, "INPUTS"));
    let inputs: BTreeMap<String, f64> = inputs.iter().filter_map(|i| Some((text(i, "NAME")?.to_owned(), *default(i).first()?))).collect();
    let pass = |pass| Pass {
        target: text(pass, "TARGET").map(str::to_owned),
        size: ["WIDTH", "HEIGHT"].map(|key| size(pass, key)),
        inputs: inputs.clone(),
    };
    Ok(if all.len() > 1 { all.iter().map(pass).collect() } else { Vec::new() })
}

/// The numbers that an input is where nobody says otherwise.
fn default(input: &Value) -> Vec<f64> {
    let number = |v: &Value| v.as_f64().or(v.as_bool().map(|b| f64::from(u8::from(b))));
    match input.get("DEFAULT") {
        Some(Value::Array(all)) => all.iter().filter_map(number).collect(),
        Some(one) => number(one).into_iter().collect(),
        None => Vec::new(),
    }
}

/// What every shader has, and its own inputs and textures as uniforms.
pub fn prelude(source: &str) -> Result<String, WrapError> {
    let header = header(source).ok_or(WrapError::Isf { what: "it does not begin with a comment of JSON" })?;
    let mut out = PRELUDE.to_owned();
    for input in list(&header, "INPUTS") {
        let name = text(&input, "NAME").unwrap_or_default();
        let ty = match text(&input, "TYPE").unwrap_or_default() {
            "float" => "float",
            "bool" | "event" => "bool",
            "long" => "int",
            "color" => "vec4",
            "point2D" => "vec2",
            "image" | "audio" | "audioFFT" => "sampler2D",
            _ => return Err(WrapError::Isf { what: "an input of an unknown type" }),
        };
        if !is_word(name) {
            return Err(WrapError::Isf { what: "an input whose name is no word" });
        }
        let default = Some(default(&input)).filter(|d| !d.is_empty() && ty != "sampler2D").map_or(String::new(), |d| {
            let values: Vec<String> = d.iter().map(f64::to_string).collect();
            format!(" = {ty}({})", values.join(", "))
        });
        out.push_str(&format!("uniform {ty} {name}{default};\n"));
    }
    let targets = list(&header, "PASSES").into_iter().filter_map(|pass| text(&pass, "TARGET").map(str::to_owned));
    // Lists of names, or names with what is known of them.
    let named = |key: &str| match header.get(key) {
        Some(Value::Object(all)) => all.keys().cloned().collect::<Vec<String>>(),
        Some(Value::Array(all)) => all.iter().filter_map(|v| v.as_str().or(text(v, "NAME"))).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    for name in targets.chain(named("IMPORTED")).chain(named("PERSISTENT_BUFFERS")) {
        if !is_word(&name) {
            return Err(WrapError::Isf { what: "a texture whose name is no word" });
        }
        out.push_str(&format!("uniform sampler2D {name};\n"));
    }
    Ok(out)
}

/// A size such as `floor($WIDTH / 2.0)`.
struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    frame: [f64; 2],
    uniforms: &'a BTreeMap<String, Vec<f64>>,
    inputs: &'a BTreeMap<String, f64>,
}

impl Parser<'_> {
    fn next(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let sign = signs.iter().find(|sign| self.tokens.get(self.at).is_some_and(|t| t.is(sign)))?;
        self.at += 1;
        Some(sign)
    }

    fn sum(&mut self, depth: usize) -> Option<f64> {
        let mut left = self.product(depth)?;
        while let Some(sign) = self.next(&["+", "-"]) {
            let right = self.product(depth)?;
            left = if sign == "+" { left + right } else { left - right };
        }
        Some(left)
    }

    fn product(&mut self, depth: usize) -> Option<f64> {
        let mut left = self.one(depth)?;
        while let Some(sign) = self.next(&["*", "/", "%"]) {
            let right = self.one(depth)?;
            left = match sign {
                "*" => left * right,
                "/" => left / right,
                _ => left % right,
            };
        }
        Some(left)
    }

    fn one(&mut self, depth: usize) -> Option<f64> {
        if depth > MAX_DEPTH {
            return None;
        }
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match token.text.as_str() {
            "-" => self.one(depth + 1).map(|v| -v),
            "(" => {
                let value = self.sum(depth + 1)?;
                self.next(&[")"]).map(|_| value)
            }
            "$" => {
                let name = self.tokens.get(self.at)?.text.as_str();
                self.at += 1;
                match name {
                    "WIDTH" => Some(self.frame[0]),
                    "HEIGHT" => Some(self.frame[1]),
                    // As scenes give what nobody says.
                    _ => {
                        let given = self.uniforms.get(name).and_then(|v| v.first()).or(self.inputs.get(name));
                        Some(given.copied().unwrap_or(1.0))
                    }
                }
            }
            _ if token.kind == Kind::Number => token.text.parse().ok(),
            function if token.kind == Kind::Word => {
                self.next(&["("])?;
                let first = self.sum(depth + 1)?;
                let second = if self.next(&[","]).is_some() { Some(self.sum(depth + 1)?) } else { None };
                self.next(&[")"])?;
                match (function, second) {
                    ("floor", None) => Some(first.floor()),
                    ("ceil", None) => Some(first.ceil()),
                    ("round", None) => Some(first.round()),
                    ("abs", None) => Some(first.abs()),
                    ("sqrt", None) => Some(first.sqrt()),
                    ("min", Some(second)) => Some(first.min(second)),
                    ("max", Some(second)) => Some(first.max(second)),
                    ("pow", Some(second)) => Some(first.powf(second)),
                    ("mod", Some(second)) => Some(first % second),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
