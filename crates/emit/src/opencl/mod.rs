//! OpenCL C 1.2.
//!
//! **Numbers.** Truth values are `bool`; in vectors, `intN` of −1 and 0. 16-bit floats are loaded and stored with the conversions that
//! every OpenCL C has (`vload_half`, `vstore_half_rte`; bit patterns for bfloat16). Signed arithmetic that may overflow goes through
//! unsigned types, so that it wraps; sums that merely linearise coordinates do not, because coordinates lie inside their tensors.
//!
//! **Memory.** Buffers are `restrict`: a launch must not bind overlapping memory to two parameters. A guarded access never
//! touches memory outside its guard: it becomes a conditional expression, or a temporary before the statement. Store policies are hints
//! that OpenCL C cannot express; they are dropped.

mod expr;
mod helpers;
mod memory;
mod stmt;
mod words;

use crate::Unsupported;
use crate::grid::{AxisPart, Grid, SizeError, group_parts, lane_parts};
use crate::index;
use crate::names::Names;
use crate::range::Ranges;
use helpers::Helper;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use warpsight_ir::{Access, Checked, Expr, ImageFormat, Name, Param, ParamKind, Program, Scalar, Space, Stmt, Type, TypeEnv, TypeError};

/// A kernel in OpenCL C.
///
/// Its arguments are the Program's parameters in order (buffers, images), then its sizes as `int`.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The text.
    pub text: String,
    /// The kernel function.
    pub entry: Name,
    /// Extensions that the device must have, such as `cl_khr_fp64`.
    pub extensions: Vec<&'static str>,
    /// The launch in hardware dimensions.
    pub global: Grid,
}

impl Source {
    /// Global and local size of a launch with the given sizes; see [`Grid::ndrange`].
    pub fn ndrange(&self, sizes: &BTreeMap<Name, i64>) -> Result<([u64; 3], [u64; 3]), SizeError> {
        self.global.ndrange(sizes)
    }
}

/// Choices that do not change what a kernel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How products are added.
    pub contraction: Contraction,
}

/// How `a·b + c` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contraction {
    /// `fma(a, b, c)` where the Program says so, rounded once; nothing else is contracted.
    #[default]
    Fma,
    /// `mad(a, b, c)`, rounded as the device likes, and other products may be contracted too: faster without fast `fma`.
    Mad,
}

/// Writes a Program in OpenCL C 1.2.
pub fn opencl(program: &Checked) -> Result<Source, Unsupported> {
    opencl_with(program, Options::default())
}

/// Writes a Program in OpenCL C 1.2, with choices.
pub fn opencl_with(program: &Checked, options: Options) -> Result<Source, Unsupported> {
    let mut emitter = Emitter::new(program, options);
    let signature = emitter.signature()?;
    emitter.axes()?;
    emitter.arrays()?;
    emitter.block(&program.body)?;
    Ok(emitter.finish(signature))
}

/// A line of text and how deep it lies.
struct Line {
    depth: usize,
    text: String,
}

/// What is known while a kernel is written.
struct Emitter<'a> {
    program: &'a Program,
    options: Options,
    names: Names,
    env: TypeEnv,
    ranges: Ranges,
    /// `Var`s in scope and the types they are declared with: what `Assign` may change.
    variables: HashMap<Name, Type>,
    lines: Vec<Line>,
    depth: usize,
    helpers: BTreeSet<Helper>,
    extensions: BTreeSet<&'static str>,
    /// Whether the sum being written linearises coordinates.
    linear: bool,
    /// Whether a product of floats was written, which a compiler might contract.
    float_product: bool,
}

type Result<T, E = Unsupported> = std::result::Result<T, E>;

fn unsupported<T>(what: impl Into<String>) -> Result<T> {
    Err(Unsupported { target: "OpenCL C 1.2", what: what.into() })
}

impl From<TypeError> for Unsupported {
    fn from(error: TypeError) -> Self {
        Self { target: "OpenCL C 1.2", what: format!("an ill-typed expression: {error}") }
    }
}

impl<'a> Emitter<'a> {
    fn new(program: &'a Program, options: Options) -> Self {
        Self {
            program,
            options,
            names: Names::of_program(program, words::reserved),
            env: TypeEnv::of(program),
            ranges: Ranges::of_program(program),
            variables: HashMap::new(),
            lines: Vec::new(),
            depth: 1,
            helpers: BTreeSet::new(),
            extensions: BTreeSet::new(),
            linear: false,
            float_product: false,
        }
    }

    /// Writes a line at the current depth.
    fn line(&mut self, text: impl Into<String>) {
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

    /// The kernel's head, one parameter a line.
    fn signature(&mut self) -> Result<String> {
        let [x, y, z] = Grid::of(&self.program.launch).local;
        let mut params = Vec::new();
        for param in &self.program.params {
            params.push(self.param(param)?);
        }
        params.extend(self.program.sizes.iter().map(|size| (format!("const int {}", self.names.of(&size.name)), String::new())));
        let mut text =
            format!("__kernel __attribute__((reqd_work_group_size({x}, {y}, {z})))\nvoid {}(", self.names.of(&self.program.name));
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
                self.uses(*element);
                let element = words::memory_name(*element, false);
                let extents = dims.iter().map(|dim| Ok(format!("[{}]", self.size(dim)?))).collect::<Result<String>>()?;
                let declaration = match (space, access) {
                    (Space::Constant, _) => format!("__constant {element}* {name}"),
                    (Space::Global, Access::Read) => format!("const __global {element}* restrict {name}"),
                    (Space::Global, _) => format!("__global {element}* restrict {name}"),
                    _ => return unsupported(format!("parameter `{}` in {space:?} memory", param.name)),
                };
                Ok((declaration, format!("  // {extents}")))
            }
            ParamKind::Image { format, width, height, access, .. } => {
                let qualifier = match access {
                    Access::Read => "__read_only",
                    Access::Write => "__write_only",
                    Access::ReadWrite => return unsupported(format!("image `{}` read and written", param.name)),
                };
                let format = match format {
                    ImageFormat::Rgba32F => "float",
                    ImageFormat::Rgba16F => "half",
                    ImageFormat::Rgba32I => "int",
                    ImageFormat::Rgba32U => "uint",
                    ImageFormat::Rgba8Unorm => "unorm8",
                };
                let comment = format!("  // {} x {} texels, {format} RGBA", self.size(width)?, self.size(height)?);
                Ok((format!("{qualifier} image2d_t {name}"), comment))
            }
            ParamKind::Channel { .. } => unsupported(format!("channel `{}`", param.name)),
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
        let parts = group_parts(launch).into_iter().map(|part| (part, "get_group_id"));
        for (part, id) in parts.chain(lane_parts(launch).into_iter().map(|part| (part, "get_local_id"))) {
            if used.contains(&part.name) {
                let value = self.axis(&part, id)?;
                let name = self.names.of(&part.name);
                self.line(format!("const int {name} = {value};"));
            }
        }
        Ok(())
    }

    fn axis(&mut self, part: &AxisPart, id: &str) -> Result<String> {
        let mut value = format!("{id}({})", part.dim);
        if part.below.as_int() != Some(1) || part.modulus.is_some() {
            value = format!("(int){value}");
        }
        if part.below.as_int() != Some(1) {
            let below = self.expr(&part.below)?;
            value = format!("{value} / {}", below.at(expr::UNARY));
        }
        if let Some(modulus) = &part.modulus {
            let modulus = self.expr(modulus)?;
            value = format!("{value} % {}", modulus.at(expr::UNARY));
        }
        Ok(value)
    }

    /// Declares local and private arrays.
    fn arrays(&mut self) -> Result<()> {
        for array in &self.program.arrays {
            self.uses(array.element);
            let qualifier = match array.space {
                Space::Local => "__local ",
                Space::Private => "",
                space => return unsupported(format!("array `{}` in {space:?} memory", array.name)),
            };
            let extents: Vec<String> = array.dims.iter().map(u32::to_string).collect();
            let (element, name) = (words::memory_name(array.element, true), self.names.of(&array.name));
            self.line(format!("{qualifier}{element} {name}[{}];", extents.join(" * ")));
        }
        Ok(())
    }

    /// Notes the extension that a scalar type needs.
    fn uses(&mut self, scalar: Scalar) {
        if scalar == Scalar::F64 {
            self.extensions.insert("cl_khr_fp64");
        }
    }

    /// Puts the parts together.
    fn finish(self, signature: String) -> Source {
        let mut text = String::new();
        for extension in &self.extensions {
            text += &format!("#pragma OPENCL EXTENSION {extension} : enable\n");
        }
        if self.options.contraction == Contraction::Fma && self.float_product {
            text += "#pragma OPENCL FP_CONTRACT OFF\n";
        }
        for helper in &self.helpers {
            text += if text.is_empty() { "" } else { "\n" };
            text += &helper.text();
        }
        text += if text.is_empty() { "" } else { "\n" };
        text += &format!("{signature}\n{{\n");
        for line in &self.lines {
            // Directives stand at the margin, where every preprocessor takes them.
            let indent = if line.text.starts_with('#') { 0 } else { 4 * line.depth };
            text += &format!("{:indent$}{}\n", "", line.text);
        }
        text += "}\n";
        let entry = self.names.of(&self.program.name).into();
        Source { text, entry, extensions: self.extensions.into_iter().collect(), global: Grid::of(&self.program.launch) }
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
