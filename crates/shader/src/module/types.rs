//! Types, and how many words their values have.

use super::{Id, Inst, Module, ModuleError, Op};
use rspirv::spirv::{self, Dim, StorageClass};
use std::collections::HashMap;

/// The most words that a value may have: 4 MiB. A frame's uniform blocks have 64 KiB at most on most devices.
pub const MAX_CELLS: u32 = 1 << 20;

/// What a component is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentType {
    /// True or false.
    Bool,
    /// An integer.
    Int {
        /// Bits: 8, 16, 32 or 64.
        bits: u32,
        /// Whether it is signed.
        signed: bool,
    },
    /// A floating point number.
    Float {
        /// Bits: 16, 32 or 64.
        bits: u32,
    },
}

impl ComponentType {
    /// How many bits it has; a condition has those of a word.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Bool => 32,
            Self::Int { bits, .. } | Self::Float { bits } => bits,
        }
    }

    /// Whether it has fewer bits than a word.
    #[must_use]
    pub fn small(self) -> bool {
        self.bits() < 32
    }

    /// Whether it takes two words.
    #[must_use]
    pub fn wide(self) -> bool {
        matches!(self, Self::Int { bits: 64, .. } | Self::Float { bits: 64 })
    }

    /// How many words it takes.
    #[must_use]
    pub fn cells(self) -> u32 {
        if self.wide() { 2 } else { 1 }
    }
}

/// An image as its type describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// What a texel's component is.
    pub texel: ComponentType,
    /// Its dimensions.
    pub dim: Dim,
    /// Whether it is an array of such images.
    pub arrayed: bool,
    /// Whether it has several samples a texel.
    pub multisampled: bool,
    /// Whether it is written and read without a sampler.
    pub storage: bool,
}

impl Image {
    /// How many coordinates a texel of one layer has.
    #[must_use]
    pub fn coordinates(&self) -> u32 {
        match self.dim {
            Dim::Dim1D | Dim::DimBuffer => 1,
            Dim::Dim3D | Dim::DimCube => 3,
            _ => 2,
        }
    }
}

/// A type. Ids in it are those of types defined before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nothing.
    Void,
    /// One component.
    Scalar(ComponentType),
    /// Two to four components.
    Vector {
        /// What they are.
        of: ComponentType,
        /// How many.
        n: u32,
    },
    /// Columns of floating point numbers.
    Matrix {
        /// What they are.
        of: ComponentType,
        /// The type of a column.
        column: Id,
        /// Components in a column.
        rows: u32,
        /// How many columns.
        columns: u32,
    },
    /// Elements of one type.
    Array {
        /// Their type.
        of: Id,
        /// How many.
        len: u32,
        /// Words of the whole.
        cells: u32,
    },
    /// As many elements as the buffer holds.
    RuntimeArray {
        /// Their type.
        of: Id,
    },
    /// Members of several types.
    Struct {
        /// Their types, and the word at which each begins.
        members: Vec<(Id, u32)>,
        /// Words of the whole.
        cells: u32,
    },
    /// Where a value lives.
    Pointer {
        /// In which memory.
        class: StorageClass,
        /// The value's type.
        to: Id,
    },
    /// An image, with a sampler or not.
    Image(Image),
    /// How an image is sampled.
    Sampler,
    /// What a function takes and returns.
    Function,
    /// Anything that fragment shaders of GLSL have no values of.
    Opaque,
}

impl Type {
    /// How many words a value has, in registers and in memory that only one invocation sees. Handles and pointers have one.
    #[must_use]
    pub fn cells(&self) -> u32 {
        match self {
            Self::Void | Self::Function | Self::Opaque | Self::RuntimeArray { .. } => 0,
            Self::Scalar(s) => s.cells(),
            Self::Vector { of, n } => of.cells() * n,
            Self::Matrix { of, rows, columns, .. } => of.cells() * rows * columns,
            Self::Array { cells, .. } | Self::Struct { cells, .. } => *cells,
            Self::Pointer { .. } | Self::Image(_) | Self::Sampler => 1,
        }
    }

    /// What its components are, for scalars, vectors and matrices.
    #[must_use]
    pub fn scalar(&self) -> Option<ComponentType> {
        match self {
            Self::Scalar(s) => Some(*s),
            Self::Vector { of, .. } | Self::Matrix { of, .. } => Some(*of),
            _ => None,
        }
    }

    /// How many components it has: 1 for scalars, 0 for what has none.
    #[must_use]
    pub fn components(&self) -> u32 {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector { n, .. } => *n,
            Self::Matrix { rows, columns, .. } => rows * columns,
            _ => 0,
        }
    }
}

/// The type that an instruction declares. `args` are its operands.
pub(super) fn read(module: &Module, inst: &Inst, args: &[u32]) -> Result<Type, ModuleError> {
    let large = || ModuleError::TypeTooLarge { id: inst.id };
    let broken = |what| ModuleError::Structure { at: inst.words().start, what };
    Ok(match inst.op {
        Op::TypeVoid => Type::Void,
        Op::TypeBool => Type::Scalar(ComponentType::Bool),
        Op::TypeInt => Type::Scalar(ComponentType::Int { bits: width(args[0])?, signed: args[1] != 0 }),
        Op::TypeFloat => match width(args[0])? {
            8 => return Err(ModuleError::Unsupported { what: "floating point numbers of 8 bits" }),
            bits => Type::Scalar(ComponentType::Float { bits }),
        },
        Op::TypeVector => match (module.ty(args[0])?, args[1]) {
            (Type::Scalar(of), n @ 2..=4) => Type::Vector { of: *of, n },
            _ => return Err(broken("a vector has two to four scalars")),
        },
        Op::TypeMatrix => match (module.ty(args[0])?, args[1]) {
            (Type::Vector { of: of @ ComponentType::Float { .. }, n: rows }, columns @ 2..=4) => {
                Type::Matrix { of: *of, column: args[0], rows: *rows, columns }
            }
            _ => return Err(broken("a matrix has two to four columns of floating point numbers")),
        },
        Op::TypeArray => {
            let each = value_cells(module, args[0], inst)?;
            let len = constant(&module.words, &module.insts, &module.defs, args[1])
                .ok_or(ModuleError::Unsupported { what: "an array whose length is no plain constant" })?;
            if each == 0 || len == 0 {
                return Err(broken("an array of nothing"));
            }
            Type::Array { of: args[0], len, cells: each.checked_mul(len).filter(|c| *c <= MAX_CELLS).ok_or_else(large)? }
        }
        Op::TypeRuntimeArray => {
            value_cells(module, args[0], inst)?;
            Type::RuntimeArray { of: args[0] }
        }
        Op::TypeStruct => {
            let mut members = Vec::with_capacity(args.len());
            let mut cells = 0u32;
            for member in args {
                members.push((*member, cells));
                cells = cells.checked_add(value_cells(module, *member, inst)?).filter(|c| *c <= MAX_CELLS).ok_or_else(large)?;
            }
            Type::Struct { members, cells }
        }
        Op::TypePointer => {
            module.ty(args[1])?;
            let class = StorageClass::from_u32(args[0]).ok_or_else(|| broken("a pointer has an unknown storage class"))?;
            Type::Pointer { class, to: args[1] }
        }
        Op::TypeImage => {
            let texel = module.ty(args[0])?.scalar().unwrap_or(ComponentType::Float { bits: 32 });
            let dim = Dim::from_u32(args[1]).ok_or_else(|| broken("an image has unknown dimensions"))?;
            Type::Image(Image { texel, dim, arrayed: args[3] != 0, multisampled: args[4] != 0, storage: args[5] == 2 })
        }
        Op::TypeSampledImage => match module.ty(args[0])? {
            image @ Type::Image(_) => image.clone(),
            _ => return Err(broken("a sampled image is of no image")),
        },
        Op::TypeSampler => Type::Sampler,
        Op::TypeFunction => Type::Function,
        Op::TypeForwardPointer => return Err(ModuleError::Unsupported { what: "physical pointers" }),
        _ => Type::Opaque,
    })
}

/// The words of a value of a type that stands in another one; functions cannot.
fn value_cells(module: &Module, id: Id, inst: &Inst) -> Result<u32, ModuleError> {
    match module.ty(id)? {
        Type::Function | Type::Void => Err(ModuleError::Structure { at: inst.words().start, what: "a type of no values is a member" }),
        ty => Ok(ty.cells()),
    }
}

fn width(bits: u32) -> Result<u32, ModuleError> {
    match bits {
        8 | 16 | 32 | 64 => Ok(bits),
        _ => Err(ModuleError::Unsupported { what: "numbers of other than 8, 16, 32 or 64 bits" }),
    }
}

/// The value of an integer constant of 32 bits.
pub(super) fn constant(words: &[u32], insts: &[Inst], defs: &HashMap<Id, u32>, id: Id) -> Option<u32> {
    let inst = insts.get(*defs.get(&id)? as usize)?;
    let ty = insts.get(*defs.get(&inst.ty)? as usize)?;
    let plain = matches!(inst.op, Op::Constant | Op::SpecConstant) && ty.op == Op::TypeInt && words[ty.words().start + 2] == 32;
    plain.then(|| words[inst.words().start + 3]).or_else(|| (inst.op == spirv::Op::ConstantNull && ty.op == Op::TypeInt).then_some(0))
}
