//! A source as statements at top level, and what they declare.

use super::WrapError;
use super::conditions::{Macros, directive};
use super::lex::{Kind, Token, tokens};

/// A statement at top level, or a directive.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// What it is.
    pub form: Form,
}

/// What a statement at top level is.
#[derive(Clone, Debug, Default)]
pub enum Form {
    /// Something else: stays as it is.
    #[default]
    Other,
    /// A directive that defines a macro.
    Macro(String),
    /// A function with this name, or its prototype.
    Function(String),
    /// A structure with this name; variables of it may follow.
    Struct(String),
    /// Variables.
    Variables(Storage, Vec<Variable>),
    /// A block of uniforms, of inputs or of a storage buffer; its name where it has one.
    Block(Storage, Option<String>, Vec<Variable>),
    /// Says something that matters no longer, such as a default precision.
    Nothing,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Of the invocation.
    Global,
    /// `const`.
    Constant,
    /// `uniform`.
    Uniform,
    /// `in` or `varying`.
    Input,
    /// `out`, with its location.
    Output(Option<u32>),
    /// `buffer`.
    Buffer,
}

/// A variable at top level.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type without lengths.
    pub ty: String,
    /// Its lengths, outermost first, where it is an array.
    pub lengths: Vec<Vec<Token>>,
    /// Its initial value.
    pub initial: Vec<Token>,
    /// The line that it stands on.
    pub line: u32,
}

const PRECISIONS: &[&str] = &["highp", "mediump", "lowp"];
/// How storage buffers are used.
const MEMORY: &[&str] = &["coherent", "volatile", "restrict", "readonly", "writeonly"];
const PLAIN: &[&str] = &["flat", "smooth", "noperspective", "centroid", "sample", "invariant", "precise", "patch"];

impl Statement {
    /// The names that it declares.
    pub fn names(&self) -> Vec<&str> {
        match &self.form {
            Form::Macro(name) | Form::Function(name) | Form::Struct(name) => vec![name],
            Form::Variables(_, all) | Form::Block(_, _, all) => all.iter().map(|v| v.name.as_str()).collect(),
            Form::Other | Form::Nothing => Vec::new(),
        }
    }
}

/// The statements at top level; constants that are integers become known to `macros`, for lengths of arrays.
pub fn statements(tokens: Vec<Token>, macros: &mut Macros) -> Result<Vec<Statement>, WrapError> {
    let mut out = Vec::new();
    let mut open: Vec<Token> = Vec::new();
    let mut depth = 0usize;
    let mut function = false;
    for token in tokens {
        if token.kind == Kind::Directive && open.is_empty() {
            out.push(macro_of(token));
            continue;
        }
        let sign = if token.kind == Kind::Sign { token.text.as_str() } else { "" };
        match sign {
            "(" | "[" => depth += 1,
            "{" => {
                if depth == 0 {
                    function = open.last().is_some_and(|t| t.is(")"));
                }
                depth += 1;
            }
            ")" | "]" | "}" => {
                depth = depth
                    .checked_sub(1)
                    .ok_or(WrapError::Structure { line: token.line, what: "a bracket closes that was never opened" })?;
            }
            _ => {}
        }
        let ends = depth == 0 && (sign == ";" || sign == "}" && function);
        if open.is_empty() && sign == ";" {
            continue;
        }
        open.push(token);
        if ends {
            function = false;
            out.push(Statement { form: form(&open, macros)?, tokens: std::mem::take(&mut open) });
        }
    }
    match open.first() {
        Some(first) => Err(WrapError::Structure { line: first.line, what: "a statement that does not end" }),
        None => Ok(out),
    }
}

fn macro_of(token: Token) -> Statement {
    let (_, rest) = directive(&token.text);
    let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default().to_owned();
    // Precisions that someone defines for desktop GLSL have none there.
    let form = if PRECISIONS.contains(&name.as_str()) { Form::Nothing } else { Form::Macro(name) };
    Statement { tokens: vec![token], form }
}

/// What a whole statement is.
fn form(written: &[Token], macros: &mut Macros) -> Result<Form, WrapError> {
    // Qualifiers and types may be macros. What a function consists of does not matter.
    let own = |t: &Token| if t.kind == Kind::Word { macros.words(t).unwrap_or_else(|| vec![t.clone()]) } else { vec![t.clone()] };
    let statement: Vec<Token> =
        if written.last().is_some_and(|t| t.is(";")) { written.iter().flat_map(own).collect() } else { written.to_vec() };
    let statement = &statement[..];
    let mut storage = Storage::Global;
    let mut location = None;
    let mut at = 0;
    while let Some(token) = statement.get(at) {
        match token.text.as_str() {
            "precision" => return Ok(Form::Nothing),
            "layout" => {
                let end = close(statement, at + 1);
                let inner = &statement[(at + 1).min(end)..end];
                let place = inner.iter().position(|t| t.is("location"));
                location = place.and_then(|p| macros.evaluate(inner.get(p + 2..p + 3)?)).and_then(|l| u32::try_from(l).ok()).or(location);
                at = end;
            }
            "const" => storage = Storage::Constant,
            "uniform" => storage = Storage::Uniform,
            "in" | "varying" => storage = Storage::Input,
            "out" => storage = Storage::Output(None),
            "attribute" => return Err(WrapError::Stage { what: "a vertex shader" }),
            "buffer" if statement.get(at + 1).is_some_and(|t| t.kind == Kind::Word) => storage = Storage::Buffer,
            "shared" if statement.get(at + 1).is_some_and(|t| t.kind == Kind::Word) => {
                return Err(WrapError::Stage { what: "a compute shader" });
            }
            text if PRECISIONS.contains(&text) || (PLAIN.contains(&text) || MEMORY.contains(&text)) && statement.len() > at + 2 => {}
            _ => break,
        }
        at += 1;
    }
    if let Storage::Output(found) = &mut storage {
        *found = location;
    }
    let rest: Vec<Token> =
        statement[at.min(statement.len())..].iter().filter(|t| !PRECISIONS.contains(&t.text.as_str())).cloned().collect();
    let Some(first) = rest.first() else { return Ok(Form::Nothing) };
    // `layout(early_fragment_tests) in;`, `invariant gl_Position;`
    if first.is(";") || rest.len() == 2 {
        return Ok(Form::Nothing);
    }
    if first.is("struct") {
        let named = rest.get(1).filter(|t| t.kind == Kind::Word);
        let name = named.map_or(String::new(), |t| t.text.clone());
        if storage != Storage::Global {
            return Err(WrapError::Structure { line: first.line, what: "a structure that is declared together with a uniform" });
        }
        return Ok(Form::Struct(name));
    }
    let brace = rest.get(1).is_some_and(|t| t.is("{"));
    if brace && matches!(storage, Storage::Uniform | Storage::Input | Storage::Buffer) {
        let end = close(&rest, 1);
        let mut members = Vec::new();
        for member in rest[2..end].split(|t| t.is(";")).filter(|m| !m.is_empty()) {
            members.extend(variables(member)?);
        }
        let instance = rest.get(end + 1).filter(|t| t.kind == Kind::Word).map(|t| t.text.clone());
        return Ok(Form::Block(storage, instance, members));
    }
    // The first bracket of all tells functions: `float f(`, not `float a[` or `float a =`.
    let sign = rest.iter().position(|t| t.kind == Kind::Sign);
    if let Some(sign) = sign.filter(|s| rest[*s].is("(") && *s > 0) {
        return Ok(Form::Function(rest[sign - 1].text.clone()));
    }
    if rest.first().is_none_or(|t| t.kind != Kind::Word) {
        return Ok(Form::Other);
    }
    let all = variables(&rest[..rest.len() - 1])?;
    if storage == Storage::Constant && matches!(rest[0].text.as_str(), "int" | "uint") {
        all.iter().filter(|v| v.lengths.is_empty()).for_each(|v| macros.define(&v.name, &v.initial));
    }
    Ok(Form::Variables(storage, all))
}

/// The index of the bracket that closes the one at `at`, or the last token's.
pub fn close(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

/// `type a, b[2], c = value` without qualifiers and semicolon.
fn variables(declaration: &[Token]) -> Result<Vec<Variable>, WrapError> {
    let qualifiers = [PRECISIONS, PLAIN, MEMORY];
    let words: Vec<Token> = declaration.iter().filter(|t| !qualifiers.iter().any(|q| q.contains(&t.text.as_str()))).cloned().collect();
    // Members of a block may have layouts of their own.
    let begin = if words.first().is_some_and(|t| t.is("layout")) { close(&words, 1) + 1 } else { 0 };
    let Some(ty) = words.get(begin) else { return Ok(Vec::new()) };
    let mut at = begin + 1;
    let outer = lengths(&words, &mut at);
    let mut all = Vec::new();
    while let Some(name) = words.get(at) {
        if name.kind != Kind::Word {
            return Err(WrapError::Structure { line: name.line, what: "no name where a declaration needs one" });
        }
        at += 1;
        let mut own = lengths(&words, &mut at);
        own.extend(outer.iter().cloned());
        let begin = at;
        while at < words.len() && !words[at].is(",") {
            at = if matches!(words[at].text.as_str(), "(" | "[" | "{") { close(&words, at) + 1 } else { at + 1 };
        }
        let initial = words[begin..at.min(words.len())].iter().skip(1).cloned().collect();
        all.push(Variable { name: name.text.clone(), ty: ty.text.clone(), lengths: own, initial, line: name.line });
        at += 1;
    }
    Ok(all)
}

/// `[2][n]`
fn lengths(words: &[Token], at: &mut usize) -> Vec<Vec<Token>> {
    let mut all = Vec::new();
    while words.get(*at).is_some_and(|t| t.is("[")) {
        let end = close(words, *at);
        all.push(words[*at + 1..end].to_vec());
        *at = end + 1;
    }
    all
}

/// The numbers of a literal: `0.5`, `-1`, `vec2(0.5, -1)`, `vec3(1)`, `true`.
pub fn literal(initial: &[Token]) -> Option<Vec<f64>> {
    let inner = match initial {
        [first, bracket, inner @ .., last] if first.kind == Kind::Word && bracket.is("(") && last.is(")") => inner,
        all => all,
    };
    let number = |part: &[Token]| {
        let (sign, part) = match part.first() {
            Some(t) if t.is("-") => (-1.0, &part[1..]),
            Some(t) if t.is("+") => (1.0, &part[1..]),
            _ => (1.0, part),
        };
        match part {
            [t] if t.is("true") => Some(1.0),
            [t] if t.is("false") => Some(0.0),
            [t] if t.kind == Kind::Number => {
                t.text.trim_end_matches(['f', 'F', 'u', 'U']).parse::<f64>().ok().filter(|v| v.is_finite()).map(|v| sign * v)
            }
            _ => None,
        }
    };
    inner.split(|t| t.is(",")).map(number).collect()
}

/// The words of a token, those of a directive too.
pub fn words(token: &Token) -> Vec<String> {
    match token.kind {
        Kind::Word => vec![token.text.clone()],
        Kind::Directive => tokens(directive(&token.text).1).into_iter().filter(|t| t.kind == Kind::Word).map(|t| t.text).collect(),
        _ => Vec::new(),
    }
}
