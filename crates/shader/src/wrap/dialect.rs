//! The dialects of GLSL that fragment shaders are written in, and what each takes for granted.

use super::lex::{Kind, Token, tokens};
use super::{WrapError, isf};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use warpsight_ir::near::pick;

/// How a fragment shader is written: what is there without being declared, and how its colour comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// GLSL that declares all it uses and has a `main`: WebGL 1 and 2, OpenGL, gl-transitions until 2016.
    Plain,
    /// Vulkan GLSL with bindings of its own: is compiled as it is.
    Vulkan,
    /// `mainImage` of shadertoy.com.
    Shadertoy,
    /// `transition` of gl-transitions.
    GlTransitions,
    /// The `shader_body` of a warp shader of Butterchurn (MilkDrop).
    ButterchurnWarp,
    /// The `shader_body` of a composite shader of Butterchurn.
    ButterchurnComp,
    /// Materials and passes of three.js.
    Three,
    /// Effects of Babylon.js.
    Babylon,
    /// `mainImage` or `mainUv` of an effect of the package postprocessing.
    Postprocessing,
    /// Interactive Shader Format, version 2: a header of JSON.
    Isf,
}

impl Dialect {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Plain,
        Self::Vulkan,
        Self::Shadertoy,
        Self::GlTransitions,
        Self::ButterchurnWarp,
        Self::ButterchurnComp,
        Self::Three,
        Self::Babylon,
        Self::Postprocessing,
        Self::Isf,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Vulkan => "vulkan",
            Self::Shadertoy => "shadertoy",
            Self::GlTransitions => "gl-transitions",
            Self::ButterchurnWarp => "butterchurn-warp",
            Self::ButterchurnComp => "butterchurn-comp",
            Self::Three => "three",
            Self::Babylon => "babylon",
            Self::Postprocessing => "postprocessing",
            Self::Isf => "isf",
        }
    }

    /// The dialect that a text looks like.
    #[must_use]
    pub fn detect(text: &str) -> Self {
        if isf::header(text).is_some() {
            return Self::Isf;
        }
        let all = tokens(text);
        let has = |word: &str| all.iter().any(|t| t.is(word));
        let version = all
            .iter()
            .filter(|t| t.kind == Kind::Directive)
            .find_map(|t| t.text.trim_start_matches('#').trim_start().strip_prefix("version"));
        let number = version.and_then(|v| v.split_whitespace().next()?.parse::<u32>().ok());
        let modern = number.is_some_and(|n| n >= 400) && !version.is_some_and(|v| v.contains("es"));
        if modern && ["binding", "push_constant", "set"].iter().any(|w| has(w)) && has("layout") {
            return Self::Vulkan;
        }
        if has("shader_body") {
            // Only composite shaders know the hue and effects of the frame.
            return if has("hue_shader") { Self::ButterchurnComp } else { Self::ButterchurnWarp };
        }
        let main = defines(&all, "main").is_some();
        match defines(&all, "mainImage") {
            Some(2) if !main => return Self::Shadertoy,
            Some(3) if !main => return Self::Postprocessing,
            _ => {}
        }
        if defines(&all, "mainUv").is_some() && !main {
            return Self::Postprocessing;
        }
        if defines(&all, "transition").is_some() && !main {
            return Self::GlTransitions;
        }
        let includes = |mark: &str| all.iter().any(|t| t.kind == Kind::Directive && t.text.contains(mark));
        if has("textureSampler") && has("vUV") || includes("#include<") || includes("CUSTOM_FRAGMENT") {
            return Self::Babylon;
        }
        if includes("#include <") || ["cameraPosition", "viewMatrix", "isOrthographic", "pc_fragColor"].iter().any(|w| has(w)) {
            return Self::Three;
        }
        Self::Plain
    }
}

/// How many parameters a function has that the text defines.
fn defines(all: &[Token], name: &str) -> Option<usize> {
    let at = all.windows(2).position(|pair| pair[0].is(name) && pair[1].is("("))?;
    let end = super::declare::close(all, at + 1);
    let inner = &all[at + 2..end.max(at + 2)];
    // A call ends otherwise.
    all.get(end + 1)?.is("{").then(|| if inner.is_empty() { 0 } else { 1 + inner.iter().filter(|t| t.is(",")).count() })
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        pick(text, Self::ALL.iter().map(|dialect| (dialect.name(), *dialect)))
    }
}

/// What a dialect takes for granted, as GLSL: of these statements those are used that a source needs.
pub fn prelude(dialect: Dialect, text: &str) -> Result<String, WrapError> {
    Ok(match dialect {
        Dialect::Plain | Dialect::Vulkan => String::new(),
        Dialect::Shadertoy => SHADERTOY.to_owned(),
        Dialect::GlTransitions => GL_TRANSITIONS.to_owned(),
        Dialect::ButterchurnWarp => butterchurn(BUTTERCHURN_WARP, text),
        Dialect::ButterchurnComp => butterchurn(BUTTERCHURN_COMP, text),
        Dialect::Three => THREE.to_owned(),
        Dialect::Babylon => BABYLON.to_owned(),
        Dialect::Postprocessing => POSTPROCESSING.to_owned(),
        Dialect::Isf => isf::prelude(text)?,
    })
}

/// Where a fragment lies in the frame, from 0 to 1.
const UV: &str = "vec2 ws_uv = gl_FragCoord.xy / _resolution;\nuniform vec2 _resolution;\n";

/// Statements that any dialect may need.
pub fn common() -> &'static str {
    UV
}

/// <https://www.shadertoy.com/howto>; `iGlobalTime` is the older name.
const SHADERTOY: &str = "
uniform vec3 iResolution; uniform float iTime; uniform float iGlobalTime; uniform float iTimeDelta; uniform float iFrameRate;
uniform int iFrame; uniform float iChannelTime[4]; uniform vec3 iChannelResolution[4]; uniform vec4 iMouse; uniform vec4 iDate;
uniform float iSampleRate; uniform sampler2D iChannel0; uniform sampler2D iChannel1; uniform sampler2D iChannel2; uniform sampler2D iChannel3;
";

/// <https://gl-transitions.com>, the specification of transitions.
const GL_TRANSITIONS: &str = "
uniform float progress; uniform float ratio; uniform sampler2D from; uniform sampler2D to;
vec4 getFromColor(vec2 uv) { return texture(from, uv); }
vec4 getToColor(vec2 uv) { return texture(to, uv); }
";

/// What both shaders of a preset may use. Blurred pictures are in 0..1; volumes as of a sound in the middle.
const BUTTERCHURN: &str = "
uniform sampler2D sampler_main; uniform sampler2D sampler_fw_main; uniform sampler2D sampler_fc_main; uniform sampler2D sampler_pw_main;
uniform sampler2D sampler_pc_main; uniform sampler2D sampler_blur1; uniform sampler2D sampler_blur2; uniform sampler2D sampler_blur3;
uniform sampler2D sampler_noise_lq; uniform sampler2D sampler_noise_lq_lite; uniform sampler2D sampler_noise_mq;
uniform sampler2D sampler_noise_hq; uniform sampler2D sampler_pw_noise_lq; uniform sampler2D sampler_fw_noise_hq;
uniform sampler3D sampler_noisevol_lq; uniform sampler3D sampler_noisevol_hq;
uniform float time; uniform vec2 resolution; uniform vec4 aspect; uniform vec4 texsize;
uniform vec4 texsize_noise_lq = vec4(256.0, 256.0, 0.00390625, 0.00390625);
uniform vec4 texsize_noise_mq = vec4(256.0, 256.0, 0.00390625, 0.00390625);
uniform vec4 texsize_noise_hq = vec4(256.0, 256.0, 0.00390625, 0.00390625);
uniform vec4 texsize_noise_lq_lite = vec4(32.0, 32.0, 0.03125, 0.03125);
uniform vec4 texsize_noisevol_lq = vec4(32.0, 32.0, 0.03125, 0.03125);
uniform vec4 texsize_noisevol_hq = vec4(32.0, 32.0, 0.03125, 0.03125);
uniform float bass; uniform float mid; uniform float treb; uniform float vol;
uniform float bass_att; uniform float mid_att; uniform float treb_att; uniform float vol_att;
uniform float frame = 60.0; uniform float fps = 60.0; uniform float decay = 0.98;
uniform vec4 _qa; uniform vec4 _qb; uniform vec4 _qc; uniform vec4 _qd; uniform vec4 _qe; uniform vec4 _qf; uniform vec4 _qg; uniform vec4 _qh;
uniform vec4 slow_roam_cos = vec4(0.99, 0.99, 0.99, 0.99); uniform vec4 roam_cos = vec4(0.98, 0.63, 0.64, 0.7);
uniform vec4 slow_roam_sin = vec4(0.5, 0.5, 0.51, 0.51); uniform vec4 roam_sin = vec4(0.65, 0.98, 0.02, 0.96);
uniform float blur1_min = 0.0; uniform float blur1_max = 1.0; uniform float blur2_min = 0.0; uniform float blur2_max = 1.0;
uniform float blur3_min = 0.0; uniform float blur3_max = 1.0; uniform float scale1 = 1.0; uniform float scale2 = 1.0;
uniform float scale3 = 1.0; uniform float bias1 = 0.0; uniform float bias2 = 0.0; uniform float bias3 = 0.0;
uniform vec4 rand_frame = vec4(0.3, 0.7, 0.1, 0.9); uniform vec4 rand_preset = vec4(0.6, 0.2, 0.8, 0.4);
float PI = 3.141592653589793;
";

/// With the variables `q1` to `q32`, which stand in eight vectors.
/// Pictures that a preset brings along have a size of their own.
fn butterchurn(own: &str, text: &str) -> String {
    let q =
        |n: usize| format!("#define q{} _q{}.{}\n", n + 1, ["a", "b", "c", "d", "e", "f", "g", "h"][n / 4], ["x", "y", "z", "w"][n % 4]);
    let sizes: std::collections::BTreeSet<String> =
        tokens(text).into_iter().filter(|t| t.text.starts_with("texsize_") && !BUTTERCHURN.contains(&t.text)).map(|t| t.text).collect();
    let size = |name: String| format!("uniform vec4 {name} = vec4(256.0, 256.0, 0.00390625, 0.00390625);\n");
    (0..32).map(q).chain(sizes.into_iter().map(size)).chain([BUTTERCHURN.to_owned(), own.to_owned()]).collect()
}

/// In a warp shader `uv` is where the mesh moved the pixel from.
const BUTTERCHURN_WARP: &str = "
vec2 uv_orig = ws_uv; vec2 uv = (ws_uv - 0.5) * 0.98 + 0.5; vec4 vColor = vec4(1.0);
float rad = length(uv_orig - 0.5); float ang = atan(uv_orig.x - 0.5, uv_orig.y - 0.5);
";

const BUTTERCHURN_COMP: &str = "
uniform float gammaAdj = 2.0; uniform float echo_zoom = 1.0; uniform float echo_alpha = 0.0; uniform float echo_orientation = 0.0;
uniform int invert = 0; uniform int brighten = 0; uniform int darken = 0; uniform int solarize = 0; uniform float fShader = 0.0;
vec3 lum(vec3 v) { return vec3(dot(v, vec3(0.32, 0.49, 0.29))); }
vec2 uv = vec2(ws_uv.x, 1.0 - ws_uv.y); vec2 uv_orig = vec2(ws_uv.x, 1.0 - ws_uv.y); vec4 vColor = vec4(0.7 + 0.3 * ws_uv, 0.85, 1.0);
float rad = length(uv_orig - 0.5); float ang = atan(uv_orig.x - 0.5, uv_orig.y - 0.5); vec3 hue_shader = vColor.rgb;
";

/// What WebGLRenderer puts before a fragment shader.
const THREE: &str = "
uniform mat4 viewMatrix; uniform vec3 cameraPosition = vec3(0.0, 0.0, 2.0); uniform bool isOrthographic = false;
uniform float toneMappingExposure; varying vec2 vUv; varying vec3 vNormal; varying vec3 vViewPosition;
vec3 toneMapping(vec3 color) { return color; }
vec4 linearToOutputTexel(vec4 value) { return value; }
float luminance(const in vec3 rgb) { return dot(rgb, vec3(0.2126, 0.7152, 0.0722)); }
";

const BABYLON: &str = "
uniform sampler2D textureSampler; varying vec2 vUV;
";

/// What an EffectPass puts before an effect.
const POSTPROCESSING: &str = "
uniform sampler2D inputBuffer; uniform sampler2D depthBuffer; uniform vec2 resolution; uniform vec2 texelSize; uniform float cameraNear = 0.1;
uniform float cameraFar = 100.0; uniform float aspect; uniform float time; varying vec2 vUv;
float readDepth(const in vec2 uv) { return texture(depthBuffer, uv).r; }
float getViewZ(const in float depth) { return cameraNear * cameraFar / ((cameraFar - cameraNear) * depth - cameraFar); }
float luminance(const in vec3 rgb) { return dot(rgb, vec3(0.2126, 0.7152, 0.0722)); }
";
