//! Fragment shaders of many dialects as GLSL for Vulkan.
//!
//! What comes out obeys: `#version 450`, or 460 where the source has that, and the source's `#extension`s; every loose uniform in one std140
//! block at set 0, binding 0, samplers at set 0 from binding 1 on, after them blocks that have a name and storage buffers as they are; one
//! `vec4` out at location 0 where there is a colour, inputs of the vertex stage computed from `gl_FragCoord`. Comments, conditions and includes are resolved, and `#line` gives every token the line of the user's file, so that a compiler's messages and `OpLine`
//! speak of that; what is put in here has line [`OURS`] or more.

mod conditions;
mod declare;
mod dialect;
mod emit;
mod foreign;
mod isf;
mod legacy;
pub mod lex;

pub use dialect::Dialect;
pub use foreign::foreign;
pub use isf::{PASS, Pass};

use super::module::Op;
use conditions::{Active, Macros};
use declare::{Form, Statement, Storage, Variable};
use lex::{Kind, Token};
use std::collections::{BTreeMap, HashSet};

/// The longest source, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The line of what is put in here, beyond all lines of sources. (glslang 13 does not survive `#line 0`.)
pub const OURS: u32 = 2_000_000;

/// Why a source is not wrapped. Lines are the user's, from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WrapError {
    /// It, or what its includes make of it, is too long.
    #[error("it has more than {MAX_BYTES} bytes, a million tokens, or includes of 16 times as much")]
    TooLong,
    /// Conditions that cannot be followed.
    #[error("line {line}: {what}")]
    Condition {
        /// Where.
        line: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A text that is not at hand.
    #[error("line {line}: `{name}` is included, which is not at hand")]
    Include {
        /// Where.
        line: u32,
        /// What is included.
        name: String,
    },
    /// `#error`.
    #[error("line {line}: #error {message}")]
    Refused {
        /// Where.
        line: u32,
        /// Its text.
        message: String,
    },
    /// Statements that cannot be told apart.
    #[error("line {line}: {what}")]
    Structure {
        /// Where.
        line: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// No text.
    #[error("there is nothing in it")]
    Empty,
    /// Another language.
    #[error("this looks like {what}: GLSL and SPIR-V are read")]
    Language {
        /// What it looks like.
        what: &'static str,
    },
    /// Another stage.
    #[error("it is {what}, no fragment shader")]
    Stage {
        /// What it is.
        what: &'static str,
    },
    /// Nothing to run.
    #[error("it has no function `{0}`")]
    NoMain(&'static str),
    /// The header of an ISF shader.
    #[error("its ISF header: {what}")]
    Isf {
        /// What is wrong.
        what: &'static str,
    },
}

impl WrapError {
    /// What to do, where that is known.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Language { what: "HLSL" } => Some("glslangValidator -D and DXC make SPIR-V of HLSL"),
            Self::Language { what: "WGSL" } => Some("naga and Tint make SPIR-V of WGSL"),
            Self::Language { what: "an assembly text of SPIR-V" } => Some("spirv-as makes a module of it"),
            Self::Include { .. } => {
                Some("put its text in the place of the #include, or compile to SPIR-V with the compiler that knows where it is")
            }
            Self::Stage { .. } => Some("only fragment shaders have costs here"),
            Self::Empty | Self::Language { .. } => Some("a fragment shader in GLSL or SPIR-V is wanted"),
            _ => None,
        }
    }

    /// The line of the user's file, where it has one.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Condition { line, .. } | Self::Include { line, .. } | Self::Refused { line, .. } | Self::Structure { line, .. } => {
                Some(*line)
            }
            _ => None,
        }
    }
}

/// A fragment shader as someone wrote it.
pub struct Source<'a> {
    /// Its text.
    pub text: &'a str,
    /// How it is written; [`Dialect::detect`] guesses.
    pub dialect: Dialect,
    /// Macros that the application defines.
    pub defines: &'a [(String, String)],
    /// What else the application declares, as GLSL; of its statements those are used that the source needs.
    pub given: &'a str,
    /// The texts that may be included, by the name between the brackets.
    pub include: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Source<'a> {
    /// A text that stands for itself, in the dialect that it looks like.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, dialect: Dialect::detect(text), defines: &[], given: "", include: &|_| None }
    }
}

/// A fragment shader for Vulkan.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrapped {
    /// What is compiled.
    pub glsl: String,
    /// Defaults that the source gives its uniforms, by name.
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// The passes that it is drawn in, each with its number in the uniform [`PASS`]; none where it is drawn once.
    pub passes: Vec<Pass>,
}

/// The colour's name, where the source has none of its own.
const COLOUR: &str = "ws_color";

/// Wraps a source.
///
/// # Errors
/// See [`WrapError`].
pub fn wrap(source: &Source) -> Result<Wrapped, WrapError> {
    // A text that is something else fails anywhere; what it is says more.
    let explained = |error: WrapError| match error {
        WrapError::TooLong | WrapError::Stage { .. } => error,
        error => foreign(source.text).unwrap_or(error),
    };
    wrapped(source).map_err(explained)
}

fn wrapped(source: &Source) -> Result<Wrapped, WrapError> {
    if source.text.len() > MAX_BYTES {
        return Err(WrapError::TooLong);
    }
    if source.dialect == Dialect::Vulkan {
        let glsl = conditions::expanded(source.text, source.include, 0)?;
        return Ok(Wrapped { glsl, uniforms: BTreeMap::new(), passes: Vec::new() });
    }
    let Active { tokens, mut macros, version, extensions } = conditions::active(source.text, source.defines, source.include)?;
    if let Some(what) = foreign::stage(&tokens.iter().map(|t| t.text.as_str()).filter(|word| *word != "attribute").collect()) {
        return Err(WrapError::Stage { what });
    }
    let tokens = legacy::renamed(body(tokens, source.dialect)?, version.as_deref());
    let own = declare::statements(tokens, &mut macros)?;
    let given = given(source, &own)?;
    let mut parts = Parts { macros, version: conditions::compiled(version.as_deref()), extensions, ..Parts::default() };
    for statement in given.into_iter().chain(own) {
        parts.take(statement)?;
    }
    parts.structures();
    parts.colour(source.dialect)?;
    for (name, values) in commented(source.text) {
        if parts.members.iter().any(|m| m.name == name) {
            parts.defaults.entry(name).or_insert(values);
        }
    }
    let passes = if source.dialect == Dialect::Isf { isf::passes(source.text)? } else { Vec::new() };
    Ok(Wrapped { glsl: emit::text(&parts, source.defines), uniforms: parts.defaults, passes })
}

/// Defaults as gl-transitions write them, for OpenGL ES knows none: `uniform float size; // = 0.25`.
fn commented(text: &str) -> Vec<(String, Vec<f64>)> {
    let one = |line: &str| {
        let (declared, comment) = line.split_once("//")?;
        let value = comment.trim_start().strip_prefix('=')?.split(';').next()?;
        let words = lex::tokens(declared.trim_start().strip_prefix("uniform ")?);
        let name = words.iter().rev().find(|t| t.kind == Kind::Word)?.text.clone();
        Some((name, declare::literal(&lex::tokens(value))?))
    };
    text.lines().filter_map(one).collect()
}

/// The statements of the dialect that the source needs and does not have itself.
fn given(source: &Source, own: &[Statement]) -> Result<Vec<Statement>, WrapError> {
    let text = format!("{}\n{}\n{}", dialect::common(), dialect::prelude(source.dialect, source.text)?, source.given);
    let mut tokens = conditions::active(&text, &[], &|_| None)?.tokens;
    tokens.iter_mut().for_each(|t| t.line = OURS);
    let all = declare::statements(tokens, &mut Macros::default())?;
    let declared: HashSet<&str> = own.iter().flat_map(Statement::names).collect();
    let mut needed: HashSet<String> = own.iter().flat_map(|s| &s.tokens).flat_map(declare::words).collect();
    // Inputs are computed from where the fragment lies.
    if own.iter().any(|s| matches!(s.form, Form::Variables(Storage::Input, _) | Form::Block(Storage::Input, ..))) {
        needed.insert("ws_uv".to_owned());
    }
    // What `main` says for them.
    let main: &[&str] = match source.dialect {
        Dialect::GlTransitions => &["ws_uv"],
        Dialect::Postprocessing => &["ws_uv", "inputBuffer"],
        _ => &[],
    };
    needed.extend(main.iter().map(|word| (*word).to_owned()));
    let mut used = vec![false; all.len()];
    // A statement that is used may need others, before or after it.
    loop {
        let mut changed = false;
        for (statement, used) in all.iter().zip(&mut used) {
            let names = statement.names();
            if !*used && names.iter().any(|n| needed.contains(*n) && !declared.contains(n)) {
                (*used, changed) = (true, true);
                needed.extend(statement.tokens.iter().flat_map(declare::words));
                if matches!(statement.form, Form::Variables(Storage::Input, _)) {
                    needed.insert("ws_uv".to_owned());
                }
            }
        }
        if !changed {
            break;
        }
    }
    Ok(all.into_iter().zip(used).filter_map(|(statement, used)| used.then_some(statement)).collect())
}

/// The source with a `main`, where its dialect has another form for that.
fn body(tokens: Vec<Token>, dialect: Dialect) -> Result<Vec<Token>, WrapError> {
    if !matches!(dialect, Dialect::ButterchurnWarp | Dialect::ButterchurnComp) {
        return Ok(tokens);
    }
    let at = tokens.iter().position(|t| t.is("shader_body")).ok_or(WrapError::NoMain("shader_body"))?;
    let end = tokens.iter().rposition(|t| t.is("}")).filter(|end| *end > at + 1).ok_or(WrapError::NoMain("shader_body"))?;
    let (head, last) = (&tokens[at], &tokens[end]);
    let made = |text: &str, token: &Token| Token { kind: Kind::Word, text: text.to_owned(), line: token.line, spaced: true };
    let mut out = tokens[..at].to_vec();
    let sign = |text: &str, token: &Token| Token { kind: Kind::Sign, ..made(text, token) };
    out.extend([made("void", head), made("main", head), sign("(", head), sign(")", head)]);
    out.extend(tokens[at + 1..=at + 1].iter().cloned());
    out.extend(lex::tokens("vec3 ret = vec3(0.0);").into_iter().map(|t| Token { line: head.line, ..t }));
    out.extend(tokens[at + 2..end].iter().cloned());
    let colour =
        if dialect == Dialect::ButterchurnWarp { "gl_FragColor = vec4(ret, 1.0) * vColor;" } else { "gl_FragColor = vec4(ret, vColor.a);" };
    out.extend(lex::tokens(colour).into_iter().map(|t| Token { line: last.line, spaced: true, ..t }));
    out.extend(tokens[end..].iter().cloned());
    Ok(out)
}

/// Makes the lines of what was put in unknown (0), in a module that was compiled of a wrapped source.
pub fn forget_own_lines(words: &mut [u32]) {
    let mut at = 5;
    while let Some(&head) = words.get(at) {
        let length = (head >> 16) as usize;
        // OpLine: file, line, column.
        if head & 0xffff == Op::Line as u32 && length == 4 && words.get(at + 2).is_some_and(|line| *line >= OURS) {
            words[at + 2] = 0;
        }
        at += length.max(1);
    }
}

/// What a wrapped shader consists of.
#[derive(Default)]
pub(crate) struct Parts {
    macros: Macros,
    /// The version that it is compiled in.
    version: u32,
    extensions: Vec<Token>,
    /// Structures that uniforms need before everything else.
    structs: Vec<Statement>,
    members: Vec<Variable>,
    samplers: Vec<Variable>,
    outputs: Vec<(Option<u32>, Variable)>,
    /// All else, in order.
    statements: Vec<Statement>,
    /// Names of blocks of inputs through which members are reached.
    instances: HashSet<String>,
    defaults: BTreeMap<String, Vec<f64>>,
    /// The colour as the source declares it; a source may have none.
    colour: Option<Variable>,
    /// What `main` does after the source's own, where it needs a new one.
    after: Option<String>,
}

impl Parts {
    fn take(&mut self, statement: Statement) -> Result<(), WrapError> {
        let line = statement.tokens.first().map_or(0, |t| t.line);
        match &statement.form {
            Form::Nothing => {}
            Form::Block(Storage::Uniform, Some(_), _) | Form::Block(Storage::Buffer, ..) => self.statements.push(statement),
            Form::Variables(Storage::Uniform, all) | Form::Block(Storage::Uniform, None, all) => {
                for variable in all.clone() {
                    self.uniform(variable)?;
                }
            }
            Form::Block(Storage::Input, instance, all) => {
                self.instances.extend(instance.clone());
                self.statements.push(Statement { form: Form::Variables(Storage::Input, all.clone()), tokens: statement.tokens.clone() });
            }
            Form::Block(..) => return Err(WrapError::Structure { line, what: "a block that is no input" }),
            Form::Variables(Storage::Output(location), all) => {
                self.outputs.extend(all.iter().map(|v| (*location, v.clone())));
            }
            Form::Variables(Storage::Input, all) if all.iter().all(|v| v.name.starts_with("gl_")) => {}
            _ => self.statements.push(statement),
        }
        Ok(())
    }

    fn uniform(&mut self, mut variable: Variable) -> Result<(), WrapError> {
        // Lengths may be macros or constants, which stand after the block: they become numbers.
        for length in &mut variable.lengths {
            let wrong = WrapError::Structure { line: variable.line, what: "a uniform array whose length is no constant" };
            let value = self.macros.evaluate(length).filter(|v| (1..=65536).contains(v)).ok_or(wrong)?;
            *length = lex::tokens(&value.to_string());
        }
        if is_opaque(&variable.ty) {
            if !variable.ty.contains("sampler") {
                return Err(WrapError::Structure {
                    line: variable.line,
                    what: "an image or separate texture, which only Vulkan GLSL with bindings has",
                });
            }
            if !self.samplers.iter().any(|v| v.name == variable.name) {
                self.samplers.push(variable);
            }
            return Ok(());
        }
        if self.members.iter().any(|v| v.name == variable.name) {
            return Ok(());
        }
        if let Some(values) = declare::literal(&variable.initial) {
            self.defaults.insert(variable.name.clone(), values);
        }
        self.members.push(variable);
        Ok(())
    }

    /// Moves the structures that uniforms need, and those that these consist of, before the block.
    fn structures(&mut self) {
        let mut needed: HashSet<&str> = self.members.iter().map(|m| m.ty.as_str()).collect();
        let mut moved = vec![false; self.statements.len()];
        // A structure stands before those that consist of it.
        for (statement, moved) in self.statements.iter().zip(&mut moved).rev() {
            if matches!(&statement.form, Form::Struct(name) if needed.contains(name.as_str())) {
                *moved = true;
                needed.extend(statement.tokens.iter().skip(2).filter(|t| t.kind == Kind::Word).map(|t| t.text.as_str()));
            }
        }
        let (structs, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.statements).into_iter().zip(moved).partition(|(_, moved)| *moved);
        self.structs = structs.into_iter().map(|(statement, _)| statement).collect();
        self.statements = rest.into_iter().map(|(statement, _)| statement).collect();
    }

    /// Finds where the colour goes, and what `main` has to add.
    fn colour(&mut self, dialect: Dialect) -> Result<(), WrapError> {
        let functions: HashSet<&str> =
            self.statements.iter().filter_map(|s| if let Form::Function(name) = &s.form { Some(name.as_str()) } else { None }).collect();
        let entry = match dialect {
            Dialect::Shadertoy => Some(("mainImage", format!("mainImage({COLOUR}, gl_FragCoord.xy);"))),
            Dialect::GlTransitions => Some(("transition", format!("{COLOUR} = transition(ws_uv);"))),
            Dialect::Postprocessing if functions.contains("mainImage") => {
                let moved = if functions.contains("mainUv") { "mainUv(uv); " } else { "" };
                Some(("mainImage", format!("vec2 uv = ws_uv; {moved}mainImage(texture(inputBuffer, uv), uv, {COLOUR});")))
            }
            Dialect::Postprocessing => Some(("mainUv", format!("vec2 uv = ws_uv; mainUv(uv); {COLOUR} = texture(inputBuffer, uv);"))),
            _ => None,
        };
        if let Some((name, call)) = entry {
            if !functions.contains(name) {
                return Err(WrapError::NoMain(name));
            }
            self.colour = Some(unnamed());
            self.after = Some(call);
            return Ok(());
        }
        if !functions.contains("main") {
            return Err(WrapError::NoMain("main"));
        }
        let first = self.outputs.iter().position(|(location, _)| *location == Some(0));
        let chosen = first.or_else(|| self.outputs.iter().position(|(_, v)| v.ty == "vec4")).or((!self.outputs.is_empty()).then_some(0));
        self.colour = match chosen {
            Some(at) => Some(self.outputs.remove(at).1),
            None => {
                let written = |name: &str| self.statements.iter().flat_map(|s| &s.tokens).flat_map(declare::words).any(|w| w == name);
                (written(COLOUR) || written(legacy::DATA)).then(unnamed)
            }
        };
        Ok(())
    }
}

/// The colour, where the source does not declare it.
fn unnamed() -> Variable {
    Variable { name: COLOUR.to_owned(), ty: "vec4".to_owned(), lengths: Vec::new(), initial: Vec::new(), line: OURS }
}

/// Whether a type stands for a texture or image.
fn is_opaque(ty: &str) -> bool {
    let of_integers = ty.strip_prefix(['i', 'u']).unwrap_or(ty);
    let kinds = ["sampler", "image", "texture", "subpassInput", "atomic_uint"];
    kinds.iter().any(|kind| ty.starts_with(kind) || of_integers.starts_with(kind))
}
