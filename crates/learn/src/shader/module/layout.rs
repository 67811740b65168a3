//! Where the bytes of uniform blocks lie.

use super::{Id, Module, ModuleError, Scalar, Type, Variable};
use rspirv::spirv::{Decoration, StorageClass};

/// The most parts (scalars, vectors, arrays, structs) that all blocks of a module may have together: types share their parts, so a
/// short module can have very many.
const MAX_PARTS: u32 = 1 << 20;

/// A uniform block, storage buffer or block of push constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its variable.
    pub variable: Variable,
    /// What the source calls the block.
    pub name: String,
    /// Bytes of one block, up to the end of its last scalar; a runtime array counts nothing.
    pub bytes: u32,
    /// Its members at the top.
    pub members: Vec<Member>,
    /// Every scalar of it, in the order of its words. An array of blocks has the scalars of each.
    pub leaves: Vec<Leaf>,
}

/// A member of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What the source calls it.
    pub name: String,
    /// Its type.
    pub ty: Id,
    /// Where it begins, in bytes.
    pub offset: u32,
}

/// One scalar of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its word in a value of the block's type.
    pub cell: u32,
    /// Where it lies in the block, in bytes.
    pub offset: u32,
    /// What it is.
    pub scalar: Scalar,
}

impl Module {
    /// The uniform blocks, storage buffers and push constants with their layouts.
    ///
    /// # Errors
    /// [`ModuleError::Structure`] where an offset or stride is missing or out of range, [`ModuleError::TypeTooLarge`].
    pub fn blocks(&self) -> Result<Vec<Block>, ModuleError> {
        let wanted = |v: &&Variable| matches!(v.class, StorageClass::Uniform | StorageClass::StorageBuffer | StorageClass::PushConstant);
        let mut left = MAX_PARTS;
        self.variables.iter().filter(wanted).map(|v| self.block(v, &mut left)).collect()
    }

    fn block(&self, variable: &Variable, left: &mut u32) -> Result<Block, ModuleError> {
        let Type::Struct { members, .. } = self.ty(variable.ty)? else {
            return Err(ModuleError::Unsupported { what: "arrays of uniform blocks" });
        };
        let mut walk = Walk { module: self, leaves: Vec::new(), end: 0, left };
        walk.visit(variable.ty, 0, 0, Stride::default(), 0)?;
        let named = |(index, (ty, _)): (usize, &(Id, u32))| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let offset = self.member_decoration(variable.ty, index, Decoration::Offset).unwrap_or(0);
            Member { name: self.member_name(variable.ty, index).unwrap_or_default().to_owned(), ty: *ty, offset }
        };
        let name = [variable.ty, variable.id].iter().find_map(|id| self.name(*id).filter(|n| !n.is_empty()));
        Ok(Block {
            name: name.unwrap_or_default().to_owned(),
            bytes: walk.end,
            members: members.iter().enumerate().map(named).collect(),
            leaves: walk.leaves,
            variable: variable.clone(),
        })
    }

    /// The bytes between elements of an array in a block.
    ///
    /// # Errors
    /// [`ModuleError::Structure`] where there is no stride.
    pub fn array_stride(&self, array: Id) -> Result<u32, ModuleError> {
        let stride = self.decoration(array, Decoration::ArrayStride).filter(|s| *s > 0 && s.is_multiple_of(4));
        stride.ok_or(ModuleError::Structure { at: 0, what: "an array in a block has no stride of whole words" })
    }

    /// Where a member of a block's struct begins, in bytes.
    ///
    /// # Errors
    /// [`ModuleError::Structure`] where there is no offset.
    pub fn member_offset(&self, ty: Id, member: u32) -> Result<u32, ModuleError> {
        let offset = self.member_decoration(ty, member, Decoration::Offset).filter(|o| o.is_multiple_of(4));
        offset.ok_or(ModuleError::Structure { at: 0, what: "a member of a block has no offset of whole words" })
    }

    /// How matrices in a member of a block's struct lie.
    #[must_use]
    pub fn matrix_stride(&self, ty: Id, member: u32) -> Stride {
        Stride {
            bytes: self.member_decoration(ty, member, Decoration::MatrixStride).unwrap_or(0),
            rows: self.member_decoration(ty, member, Decoration::RowMajor).is_some(),
        }
    }
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stride {
    /// Bytes between columns, or rows.
    pub bytes: u32,
    /// Whether rows lie together.
    pub rows: bool,
}

struct Walk<'m> {
    module: &'m Module,
    leaves: Vec<Leaf>,
    end: u32,
    left: &'m mut u32,
}

impl Walk<'_> {
    /// Types nest no deeper than a module is long, so the depth has its own limit.
    fn visit(&mut self, ty: Id, cell: u32, offset: u32, matrix: Stride, depth: u32) -> Result<(), ModuleError> {
        if depth > 64 {
            return Err(ModuleError::Unsupported { what: "blocks nested more than 64 deep" });
        }
        *self.left = self.left.checked_sub(1).ok_or(ModuleError::TypeTooLarge { id: ty })?;
        let far = ModuleError::Structure { at: 0, what: "an offset in a block is out of range" };
        let place = |offset: u32, stride: u32, index: u32| stride.checked_mul(index).and_then(|d| d.checked_add(offset)).ok_or(far.clone());
        match self.module.ty(ty)? {
            Type::Scalar(of) => self.leaf(*of, cell, offset)?,
            Type::Vector { of, n } => {
                for i in 0..*n {
                    self.leaf(*of, cell + i * of.cells(), place(offset, 4 * of.cells(), i)?)?;
                }
            }
            Type::Matrix { of, rows, columns, .. } => {
                if matrix.bytes == 0 || !matrix.bytes.is_multiple_of(4) {
                    return Err(ModuleError::Structure { at: 0, what: "a matrix in a block has no stride of whole words" });
                }
                let (down, across) = (4 * of.cells(), matrix.bytes);
                for c in 0..*columns {
                    for r in 0..*rows {
                        let (slow, quick) = if matrix.rows { (r, c) } else { (c, r) };
                        self.leaf(*of, cell + (c * rows + r) * of.cells(), place(place(offset, across, slow)?, down, quick)?)?;
                    }
                }
            }
            Type::Array { of, len, .. } => {
                let (stride, each) = (self.module.array_stride(ty)?, self.module.ty(*of)?.cells());
                for i in 0..*len {
                    self.visit(*of, cell + i * each, place(offset, stride, i)?, matrix, depth + 1)?;
                }
            }
            Type::Struct { members, .. } => {
                for (index, (member, at)) in members.iter().enumerate() {
                    let index = u32::try_from(index).unwrap_or(u32::MAX);
                    let inner = place(offset, 1, self.module.member_offset(ty, index)?)?;
                    self.visit(*member, cell + at, inner, self.module.matrix_stride(ty, index), depth + 1)?;
                }
            }
            Type::RuntimeArray { .. } => {}
            _ => return Err(ModuleError::Unsupported { what: "handles in a uniform block" }),
        }
        Ok(())
    }

    fn leaf(&mut self, scalar: Scalar, cell: u32, offset: u32) -> Result<(), ModuleError> {
        if matches!(scalar, Scalar::Int { bits: 8 | 16, .. } | Scalar::Float { bits: 16 }) {
            return Err(ModuleError::Unsupported { what: "numbers of 8 or 16 bits in a uniform block" });
        }
        let end = offset.checked_add(4 * scalar.cells());
        self.end = self.end.max(end.ok_or(ModuleError::Structure { at: 0, what: "an offset in a block is out of range" })?);
        self.leaves.push(Leaf { cell, offset, scalar });
        Ok(())
    }
}
