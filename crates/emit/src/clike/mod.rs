//! What languages of the C family have in common: statements, control flow, guards, positions, precedence.
//!
//! A [`Writer`] walks a Program once and writes lines. What a language says in its own way (types, vectors, memory, atomics), it asks a
//! [`Dialect`]. Signed arithmetic that may overflow goes through unsigned types, so that it wraps; sums that merely linearise coordinates
//! do not, because coordinates lie inside their tensors. A guarded access never touches memory outside its guard: it becomes a
//! conditional expression, or a temporary before the statement.

mod dialect;
mod expr;
mod guard;
mod inside;
mod memory;
mod stmt;
pub(crate) mod text;
mod words;

pub(crate) use dialect::{Atomic, Dialect, Fenced, Image};
pub(crate) use memory::{Place, Tensor};
pub(crate) use words::{Integers, Words};

use crate::Unsupported;
use crate::divisor::Divisors;
use crate::grid::{AxisPart, group_parts, lane_parts};
use crate::index;
use crate::names::Names;
use std::collections::{HashMap, HashSet};
use warpsight_ir::range::{Interval, Ranges};
use warpsight_ir::{Access, Checked, Expr, ImageFormat, Name, Param, ParamKind, Program, Scalar, Stmt, Type, TypeEnv, TypeError};

/// A construct that the language lacks, in words.
#[derive(Debug)]
pub(crate) struct Lacks(pub String);

impl From<TypeError> for Lacks {
    fn from(error: TypeError) -> Self {
        Self(format!("an ill-typed expression: {error}"))
    }
}

pub(crate) type Result<T, E = Lacks> = std::result::Result<T, E>;

pub(crate) fn lacks<T>(what: impl Into<String>) -> Result<T> {
    Err(Lacks(what.into()))
}

/// A line of text and how deep it lies.
struct Line {
    depth: usize,
    text: String,
}

/// A kernel as written: the function, the name it has, and what the dialect noted on the way.
pub(crate) struct Written<D> {
    /// Head and body.
    pub text: String,
    /// The function's name.
    pub entry: Name,
    /// The dialect, with its notes.
    pub dialect: D,
}

/// Writes the kernel function of a Program.
pub(crate) fn write<D: Dialect>(program: &Checked, dialect: D) -> Result<Written<D>, Unsupported> {
    let mut writer = Writer::new(program, dialect);
    let signature = writer.whole().map_err(|Lacks(what)| Unsupported { target: D::TARGET, what })?;
    let mut text = format!("{signature}\n{{\n");
    for line in &writer.lines {
        // Directives stand at the margin, where every preprocessor takes them.
        let indent = if line.text.starts_with('#') { 0 } else { 4 * line.depth };
        text += &format!("{:indent$}{}\n", "", line.text);
    }
    text += "}\n";
    Ok(Written { text, entry: writer.names.of(&program.name).into(), dialect: writer.dialect })
}

/// What is known while a kernel is written.
pub(crate) struct Writer<'a, D> {
    pub program: &'a Program,
    pub dialect: D,
    pub names: Names,
    env: TypeEnv,
    ranges: Ranges,
    pub divisors: Divisors,
    /// `Var`s in scope and the types they are declared with: what `Assign` may change.
    variables: HashMap<Name, Type>,
    lines: Vec<Line>,
    depth: usize,
    /// Whether the sum being written linearises coordinates.
    linear: bool,
    /// Bounds that hold in the version of a loop at hand.
    inside: Vec<inside::Inside>,
    /// Whether that version is the one of work-items at edges.
    at_edges: bool,
}

impl<'a, D: Dialect> Writer<'a, D> {
    fn new(program: &'a Program, dialect: D) -> Self {
        Self {
            program,
            dialect,
            names: Names::of_program(program, D::Words::reserved),
            env: TypeEnv::of(program),
            ranges: Ranges::of_program(program),
            divisors: Divisors::of_program(program),
            variables: HashMap::new(),
            lines: Vec::new(),
            depth: 1,
            linear: false,
            inside: Vec::new(),
            at_edges: false,
        }
    }

    /// Writes all lines and gives the head.
    fn whole(&mut self) -> Result<String> {
        let signature = self.signature()?;
        self.axes()?;
        self.arrays()?;
        self.block(&self.program.body)?;
        Ok(signature)
    }

    /// Writes a line at the current depth.
    pub fn line(&mut self, text: impl Into<String>) {
        self.lines.push(Line { depth: self.depth, text: text.into() });
    }

    /// The lines that `write` writes, one level deeper, instead of writing them.
    fn captured(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<Vec<Line>> {
        let before = std::mem::take(&mut self.lines);
        self.depth += 1;
        let result = write(self);
        self.depth -= 1;
        let lines = std::mem::replace(&mut self.lines, before);
        result.map(|()| lines)
    }

    /// Declares a value and what is known of it.
    fn declare(&mut self, name: &Name, ty: Type, interval: Option<Interval>, divisor: u32) {
        self.env.declare(name, ty);
        self.ranges.declare(name, interval);
        self.divisors.declare(name, divisor);
    }

    fn forget(&mut self, name: &Name) {
        self.env.forget(name);
        self.ranges.declare(name, None);
        self.divisors.declare(name, 0);
        self.variables.remove(name);
    }

    /// The kernel's head, one parameter a line.
    fn signature(&mut self) -> Result<String> {
        let mut params = Vec::new();
        for param in &self.program.params {
            params.push(self.param(param)?);
        }
        params.extend(self.program.sizes.iter().map(|size| (format!("const int {}", self.names.of(&size.name)), String::new())));
        let mut text = D::head(&self.names.of(&self.program.name), &self.program.launch);
        let last = params.len().saturating_sub(1);
        for (i, (declaration, comment)) in params.into_iter().enumerate() {
            let end = if i == last { ")" } else { "," };
            text += &format!("\n    {declaration}{end}{comment}");
        }
        Ok(text + if self.program.params.is_empty() && self.program.sizes.is_empty() { ")" } else { "" })
    }

    /// A parameter's declaration, and a comment with its extents.
    fn param(&mut self, param: &Param) -> Result<(String, String)> {
        let name = self.names.of(&param.name);
        match &param.kind {
            ParamKind::Buffer { space, element, dims, access } => {
                self.dialect.uses(*element);
                let extents = dims.iter().map(|dim| Ok(format!("[{}]", self.size(dim)?))).collect::<Result<String>>()?;
                match D::buffer(&name, *space, *element, *access) {
                    Some(declaration) => Ok((declaration, format!("  // {extents}"))),
                    None => lacks(format!("parameter `{}` in {space:?} memory", param.name)),
                }
            }
            ParamKind::Image { access: Access::ReadWrite, .. } => lacks(format!("image `{}` read and written", param.name)),
            ParamKind::Image { kind, format, width, height, access, .. } => {
                self.dialect.uses(format.scalar());
                let format = match format {
                    ImageFormat::Rgba32F => "float",
                    ImageFormat::Rgba16F | ImageFormat::Rgba16H => "half",
                    ImageFormat::Rgba32I => "int",
                    ImageFormat::Rgba32U => "uint",
                    ImageFormat::Rgba8Unorm => "unorm8",
                };
                let rows = if kind.is_one_dimensional() { String::new() } else { format!(" x {}", self.size(height)?) };
                let comment = format!("  // {}{rows} texels, {format} RGBA", self.size(width)?);
                Ok((D::image(&name, *kind, *access), comment))
            }
            ParamKind::Channel { .. } => lacks(format!("channel `{}`", param.name)),
        }
    }

    /// Text of a size expression.
    fn size(&mut self, expr: &Expr) -> Result<String> {
        Ok(self.expr(&index::fold(expr.clone()))?.code)
    }

    /// Declares the axes that the body uses.
    fn axes(&mut self) -> Result<()> {
        let mut used = HashSet::new();
        used_names(&self.program.body, &mut used);
        let launch = &self.program.launch;
        let parts = group_parts(launch).into_iter().map(|part| (D::group_id(part.dim), part));
        for (id, part) in parts.chain(lane_parts(launch).into_iter().map(|part| (D::lane_id(part.dim), part))) {
            if used.contains(&part.name) {
                let value = self.axis(&part, &id)?;
                let name = self.names.of(&part.name);
                self.line(format!("const int {name} = {value};"));
            }
        }
        Ok(())
    }

    fn axis(&mut self, part: &AxisPart, id: &str) -> Result<String> {
        let mut value = id.to_owned();
        if part.below.as_int() != Some(1) || part.modulus.is_some() {
            value = format!("(int){value}");
        }
        if part.below.as_int() != Some(1) {
            let below = self.expr(&part.below)?;
            value = format!("{value} / {}", below.at(text::UNARY));
        }
        if let Some(modulus) = &part.modulus {
            let modulus = self.expr(modulus)?;
            value = format!("{value} % {}", modulus.at(text::UNARY));
        }
        Ok(value)
    }

    /// Declares local and private arrays, and tiles.
    fn arrays(&mut self) -> Result<()> {
        for array in &self.program.arrays {
            self.dialect.uses(array.element);
            let name = self.names.of(&array.name);
            match self.dialect.array(array, &name)? {
                Some(declaration) => self.line(declaration),
                None => return lacks(format!("array `{}` in {:?} memory", array.name, array.space)),
            }
        }
        Ok(())
    }

    /// Whether the Program's scalar type is one the dialect must be told of.
    fn uses(&mut self, scalar: Scalar) {
        self.dialect.uses(scalar);
    }
}

/// The variables that statements read, nested ones included.
fn used_names(body: &[Stmt], used: &mut HashSet<Name>) {
    fn visit(expr: &Expr, used: &mut HashSet<Name>) {
        if let Expr::Var(name) = expr {
            used.insert(name.clone());
        }
        expr.children().into_iter().for_each(|child| visit(child, used));
    }
    for stmt in body {
        stmt.exprs().into_iter().for_each(|expr| visit(expr, used));
        stmt.blocks().into_iter().for_each(|block| used_names(block, used));
    }
}
