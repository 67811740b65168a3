//! Reading SPIR-V: bounded, without panics, into a form for interpretation and features.
//!
//! The grammar (which instructions exist, which words are ids) is rspirv's. The words themselves stay as they are; everything else
//! is an index into them. What is read here obeys: every instruction lies within the module and has the operands that its grammar
//! requires, a result id is defined once and below the bound, types refer only to types before them (so they cannot be cyclic), and
//! a value of any type has at most [`MAX_CELLS`] words.

mod debug;
mod error;
mod grammar;
mod layout;
mod types;

pub use error::ModuleError;
pub use grammar::{Operand, OperandKind, operands, text as literal};
pub use layout::{Block, Leaf, Member, Stride};
pub use rspirv::spirv::{self, Op};
pub use types::{ComponentType, Image, MAX_CELLS, Type};

use rspirv::spirv::{Decoration, ExecutionModel, StorageClass};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// An id of SPIR-V. 0 is no id.
pub type Id = u32;

/// The largest module that is read, in words (16 MiB).
pub const MAX_WORDS: usize = 1 << 22;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Its result's type, or 0.
    pub ty: Id,
    /// Its result, or 0.
    pub id: Id,
    /// The source line that the latest `OpLine` or `DebugLine` gave; 0 where none is known.
    pub line: u32,
    at: u32,
    head: u8,
    len: u16,
}

impl Inst {
    /// The words of the module that it occupies.
    #[must_use]
    pub fn words(&self) -> Range<usize> {
        self.at as usize..self.at as usize + usize::from(self.len)
    }
}

/// A basic block as it stands in the module, reachable or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// Its label.
    pub label: Id,
    /// Its instructions without the label; the last one is the terminator.
    pub insts: Range<usize>,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its id.
    pub id: Id,
    /// The type that it returns.
    pub returns: Id,
    /// Its parameters.
    pub params: Vec<Id>,
    /// Its blocks in the order of the module; the first is the entry.
    pub blocks: Vec<BasicBlock>,
}

/// A variable at module scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its id.
    pub id: Id,
    /// Where it lives.
    pub class: StorageClass,
    /// The type of what it holds.
    pub ty: Id,
    /// The id of its initial value, or 0.
    pub initial: Id,
    /// `DescriptorSet` and `Binding`, where it has both.
    pub binding: Option<(u32, u32)>,
    /// `Location`, where it has one.
    pub location: Option<u32>,
    /// `BuiltIn`, where it is one.
    pub builtin: Option<spirv::BuiltIn>,
}

/// The decorations of ids and of members of structs, with their first operands.
type Decorations = HashMap<(Id, Option<u32>), Vec<(Decoration, u32)>>;

/// A fragment shader.
#[derive(Clone, Debug)]
pub struct Module {
    words: Vec<u32>,
    insts: Vec<Inst>,
    defs: HashMap<Id, u32>,
    types: HashMap<Id, Type>,
    names: HashMap<Id, String>,
    member_names: HashMap<(Id, u32), String>,
    decorations: Decorations,
    glsl: Vec<Id>,
    debug: debug::Debug,
    /// The functions in the order of the module.
    pub functions: Vec<Function>,
    /// The variables at module scope in the order of the module.
    pub variables: Vec<Variable>,
    /// The entry point's function, as an index into `functions`.
    pub entry: usize,
}

impl Module {
    /// Reads a module from bytes of either byte order.
    ///
    /// # Errors
    /// See [`ModuleError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModuleError> {
        if !bytes.len().is_multiple_of(4) {
            return Err(ModuleError::NotWords { bytes: bytes.len() });
        }
        if bytes.len() / 4 > MAX_WORDS {
            return Err(ModuleError::TooLong { words: bytes.len() / 4 });
        }
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
        Self::new(words)
    }

    /// Reads a module. Words in the other byte order are swapped.
    ///
    /// # Errors
    /// See [`ModuleError`].
    pub fn new(mut words: Vec<u32>) -> Result<Self, ModuleError> {
        if words.len() > MAX_WORDS {
            return Err(ModuleError::TooLong { words: words.len() });
        }
        match words.first() {
            Some(&spirv::MAGIC_NUMBER) => {}
            Some(&first) if first.swap_bytes() == spirv::MAGIC_NUMBER => words.iter_mut().for_each(|w| *w = w.swap_bytes()),
            _ => return Err(ModuleError::NotSpirv),
        }
        if words.len() < 5 {
            return Err(ModuleError::Truncated { at: words.len() });
        }
        if words[1] >> 16 != 1 || (words[1] >> 8 & 0xff) > 6 {
            return Err(ModuleError::Version { word: words[1] });
        }
        Reader::read(words)
    }

    /// The words, in this machine's byte order.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Major and minor version.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        (self.words[1] >> 16, self.words[1] >> 8 & 0xff)
    }

    /// Every id is below this.
    #[must_use]
    pub fn bound(&self) -> u32 {
        self.words[3]
    }

    /// All instructions in order.
    #[must_use]
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// The operands of an instruction of this module, without result type and result.
    #[must_use]
    pub fn args(&self, inst: &Inst) -> &[u32] {
        &self.words[inst.at as usize + usize::from(inst.head)..inst.words().end]
    }

    /// The instruction that defines an id.
    ///
    /// # Errors
    /// [`ModuleError::Undefined`].
    pub fn def(&self, id: Id) -> Result<&Inst, ModuleError> {
        self.defs.get(&id).map(|&at| &self.insts[at as usize]).ok_or(ModuleError::Undefined { id })
    }

    /// The type with this id.
    ///
    /// # Errors
    /// [`ModuleError::NoType`].
    pub fn ty(&self, id: Id) -> Result<&Type, ModuleError> {
        self.types.get(&id).ok_or(ModuleError::NoType { id })
    }

    /// The type of the value with this id.
    ///
    /// # Errors
    /// [`ModuleError::Undefined`] and [`ModuleError::NoType`].
    pub fn type_of(&self, id: Id) -> Result<Id, ModuleError> {
        match self.def(id)?.ty {
            0 => Err(ModuleError::NoType { id }),
            ty => Ok(ty),
        }
    }

    /// What the source calls an id.
    #[must_use]
    pub fn name(&self, id: Id) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// What the source calls a member of a struct.
    #[must_use]
    pub fn member_name(&self, ty: Id, member: u32) -> Option<&str> {
        self.member_names.get(&(ty, member)).map(String::as_str)
    }

    /// The first operand of a decoration of an id (0 where the decoration has none), or nothing where it is not decorated so.
    #[must_use]
    pub fn decoration(&self, id: Id, which: Decoration) -> Option<u32> {
        find(&self.decorations, (id, None), which)
    }

    /// The same for a member of a struct.
    #[must_use]
    pub fn member_decoration(&self, ty: Id, member: u32, which: Decoration) -> Option<u32> {
        find(&self.decorations, (ty, Some(member)), which)
    }

    /// Whether this id is the import of `GLSL.std.450`.
    #[must_use]
    pub fn is_glsl(&self, set: Id) -> bool {
        self.glsl.contains(&set)
    }

    /// The name of the file that an instruction comes from, by its index; nothing where it has no line.
    #[must_use]
    pub fn file(&self, inst: usize) -> Option<Id> {
        self.debug.file(inst)
    }

    /// The sources that `NonSemantic.Shader.DebugInfo.100` holds: the name of the file, and its text in pieces.
    #[must_use]
    pub fn sources(&self) -> &[(Id, Vec<Id>)] {
        &self.debug.sources
    }

    /// The value of an integer constant of 32 bits; specialisation constants have their defaults.
    #[must_use]
    pub fn constant(&self, id: Id) -> Option<u32> {
        types::constant(&self.words, &self.insts, &self.defs, id)
    }

    /// The variables of one storage class by descriptor set and binding.
    #[must_use]
    pub fn bindings(&self, class: StorageClass) -> BTreeMap<(u32, u32), &Variable> {
        self.variables.iter().filter(|v| v.class == class).filter_map(|v| Some((v.binding?, v))).collect()
    }
}

fn find(all: &Decorations, key: (Id, Option<u32>), which: Decoration) -> Option<u32> {
    all.get(&key)?.iter().find(|(d, _)| *d == which).map(|(_, value)| *value)
}

/// The module while it is read.
struct Reader {
    module: Module,
    entry: Option<(ExecutionModel, Id)>,
    /// Names of the entry points that are fragment shaders.
    fragments: Vec<String>,
    open: Option<Function>,
    block: Option<BasicBlock>,
}

impl Reader {
    fn read(words: Vec<u32>) -> Result<Module, ModuleError> {
        let module = Module {
            insts: Vec::new(),
            defs: HashMap::new(),
            types: HashMap::new(),
            names: HashMap::new(),
            member_names: HashMap::new(),
            decorations: HashMap::new(),
            glsl: Vec::new(),
            debug: debug::Debug::default(),
            functions: Vec::new(),
            variables: Vec::new(),
            entry: 0,
            words,
        };
        let mut reader = Self { module, entry: None, fragments: Vec::new(), open: None, block: None };
        let mut at = 5;
        let mut line = 0;
        while at < reader.module.words.len() {
            let inst = grammar::instruction(&reader.module.words, at, line)?;
            match inst.op {
                Op::Line => {
                    let args = reader.module.args(&inst);
                    line = args[1];
                    reader.module.debug.enter(reader.module.insts.len(), args[0]);
                }
                Op::NoLine | Op::FunctionEnd => line = 0,
                Op::ExtInst if reader.module.debug.means_nothing(reader.module.args(&inst)[0]) => {
                    if let Some(now) = reader.debug(&inst) {
                        line = now;
                    }
                    // What means nothing is no part of a function.
                    if reader.open.is_some() {
                        at = inst.words().end;
                        continue;
                    }
                }
                _ => {}
            }
            reader.take(inst)?;
            at = inst.words().end;
        }
        reader.finish()
    }

    fn take(&mut self, inst: Inst) -> Result<(), ModuleError> {
        let index = self.module.insts.len();
        if inst.id != 0 {
            if inst.id >= self.module.bound() {
                return Err(ModuleError::Bound { id: inst.id, bound: self.module.bound() });
            }
            if self.module.defs.insert(inst.id, u32::try_from(index).unwrap_or(u32::MAX)).is_some() {
                return Err(ModuleError::Twice { id: inst.id });
            }
        }
        self.module.insts.push(inst);
        if self.open.is_some() || inst.op == Op::Function {
            return self.body(&inst, index);
        }
        self.global(&inst)
    }

    /// Reads what an instruction says of the source: the line from here on, if it is about that.
    fn debug(&mut self, inst: &Inst) -> Option<u32> {
        let module = &mut self.module;
        let args = module.words[inst.at as usize + usize::from(inst.head)..inst.words().end].to_vec();
        let constant = |id: Id| types::constant(&module.words, &module.insts, &module.defs, id);
        module.debug.read(inst.id, &args, module.insts.len(), constant)
    }

    fn global(&mut self, inst: &Inst) -> Result<(), ModuleError> {
        let args: Vec<u32> = self.module.args(inst).to_vec();
        let module = &mut self.module;
        match inst.op {
            Op::Name => {
                module.names.insert(args[0], grammar::text(&args[1..]));
            }
            Op::MemberName => {
                module.member_names.insert((args[0], args[1]), grammar::text(&args[2..]));
            }
            Op::Decorate => decorate(module, (args[0], None), &args[1..]),
            Op::MemberDecorate => decorate(module, (args[0], Some(args[1])), &args[2..]),
            Op::DecorationGroup | Op::GroupDecorate | Op::GroupMemberDecorate => {
                return Err(ModuleError::Unsupported { what: "decoration groups" });
            }
            Op::ExtInstImport => match grammar::text(&args).as_str() {
                "GLSL.std.450" => module.glsl.push(inst.id),
                name => module.debug.import(inst.id, name),
            },
            Op::EntryPoint => {
                let Some(model) = ExecutionModel::from_u32(args[0]) else { return Err(ModuleError::Stage { found: "unknown".into() }) };
                // Several stages may share a module; the fragment shader is the one of interest.
                if model == ExecutionModel::Fragment {
                    self.fragments.push(grammar::text(&args[2..]));
                }
                if self.entry.is_none_or(|(found, _)| found != ExecutionModel::Fragment) {
                    self.entry = Some((model, args[1]));
                }
            }
            Op::Variable => {
                let Type::Pointer { class, to } = *module.ty(inst.ty)? else { return Err(ModuleError::NoPointer { id: inst.id }) };
                let binding = module.decoration(inst.id, Decoration::DescriptorSet).zip(module.decoration(inst.id, Decoration::Binding));
                module.variables.push(Variable {
                    id: inst.id,
                    class,
                    ty: to,
                    initial: args.get(1).copied().unwrap_or(0),
                    binding,
                    location: module.decoration(inst.id, Decoration::Location),
                    builtin: module.decoration(inst.id, Decoration::BuiltIn).and_then(spirv::BuiltIn::from_u32),
                });
            }
            op if grammar::is_type(op) => {
                let ty = types::read(module, inst, &args)?;
                module.types.insert(inst.id, ty);
            }
            _ => {}
        }
        Ok(())
    }

    fn body(&mut self, inst: &Inst, index: usize) -> Result<(), ModuleError> {
        let broken = |what| ModuleError::Structure { at: inst.at as usize, what };
        match (inst.op, &mut self.open, &mut self.block) {
            (Op::Function, None, _) => {
                self.module.ty(inst.ty)?;
                self.open = Some(Function { id: inst.id, returns: inst.ty, params: Vec::new(), blocks: Vec::new() });
            }
            (Op::FunctionParameter, Some(function), None) if function.blocks.is_empty() => function.params.push(inst.id),
            (Op::Label, Some(_), None) => self.block = Some(BasicBlock { label: inst.id, insts: index + 1..index + 1 }),
            (Op::FunctionEnd, open, None) => {
                let function = open.take().ok_or_else(|| broken("a function ends that never began"))?;
                if function.blocks.is_empty() {
                    return Err(ModuleError::Unsupported { what: "functions without a body" });
                }
                self.module.functions.push(function);
            }
            (Op::Line | Op::NoLine, Some(_), None) => {}
            (Op::Function | Op::FunctionParameter | Op::Label | Op::FunctionEnd, ..) => {
                return Err(broken("functions and blocks are nested wrongly"));
            }
            (op, Some(function), block @ Some(_)) => {
                if grammar::ends_block(op) {
                    // The arm's pattern holds a block.
                    let mut done = block.take().unwrap_or(BasicBlock { label: 0, insts: index..index });
                    done.insts.end = index + 1;
                    function.blocks.push(done);
                }
            }
            _ => return Err(broken("an instruction stands outside of a block")),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Module, ModuleError> {
        if self.open.is_some() {
            return Err(ModuleError::Truncated { at: self.module.words.len() });
        }
        let (model, id) = self.entry.ok_or(ModuleError::NoEntryPoint)?;
        if model != ExecutionModel::Fragment {
            return Err(ModuleError::Stage { found: format!("{model:?}") });
        }
        if self.fragments.len() > 1 {
            return Err(ModuleError::Several { names: self.fragments.join(", ") });
        }
        let functions = &self.module.functions;
        self.module.entry = functions.iter().position(|f| f.id == id).ok_or(ModuleError::Undefined { id })?;
        if !functions[self.module.entry].params.is_empty() {
            return Err(ModuleError::Structure { at: 0, what: "the entry point takes parameters" });
        }
        Ok(self.module)
    }
}

fn decorate(module: &mut Module, key: (Id, Option<u32>), args: &[u32]) {
    // A decoration that the grammar does not know cannot matter here.
    if let Some(which) = Decoration::from_u32(args[0]) {
        module.decorations.entry(key).or_default().push((which, args.get(1).copied().unwrap_or(0)));
    }
}
