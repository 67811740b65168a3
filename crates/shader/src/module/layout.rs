//! Where the bytes of uniform blocks lie.

use super::{ComponentType, Id, Module, ModuleError, Type, Variable};
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
    /// Its type, without the array that its variable may be of.
    pub ty: Id,
    /// How many blocks its variable is: an array of blocks has a buffer for each.
    pub elements: u32,
    /// Bytes of one block, up to the end of its last scalar; a runtime array counts nothing.
    pub bytes: u32,
    /// Its members at the top.
    pub members: Vec<Member>,
    /// Every scalar of it, in the order of its words. An array of blocks has the scalars of each, [`Block::spacing`] bytes apart.
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
    /// Where it lies in the blocks, in bytes.
    pub offset: u32,
    /// What it is.
    pub scalar: ComponentType,
}

impl Block {
    /// The bytes from one block of an array to the next, as they are given together.
    #[must_use]
    pub fn spacing(&self) -> u32 {
        self.bytes.saturating_add(15) / 16 * 16
    }
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
        let (ty, elements) = match self.ty(variable.ty)? {
            Type::Array { of, len, .. } => (*of, *len),
            _ => (variable.ty, 1),
        };
        let Type::Struct { members, cells } = self.ty(ty)? else {
            return Err(ModuleError::Unsupported { what: "arrays of arrays of blocks, and blocks that are no struct" });
        };
        let mut walk = Walk { module: self, leaves: Vec::new(), end: 0, left };
        walk.visit(ty, 0, 0, Stride::default(), 0)?;
        let Walk { leaves: one, end: bytes, .. } = walk;
        let block = ty;
        let named = |(index, (ty, _)): (usize, &(Id, u32))| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let offset = self.member_decoration(block, index, Decoration::Offset).unwrap_or(0);
            Member { name: self.member_name(block, index).unwrap_or_default().to_owned(), ty: *ty, offset }
        };
        let name = [ty, variable.id].iter().find_map(|id| self.name(*id).filter(|n| !n.is_empty()));
        let members = members.iter().enumerate().map(named).collect();
        let name = name.unwrap_or_default().to_owned();
        let mut block = Block { name, ty, elements, bytes, members, leaves: Vec::new(), variable: variable.clone() };
        let parts = u32::try_from(one.len()).unwrap_or(u32::MAX).checked_mul(elements - 1);
        *left = parts.and_then(|parts| left.checked_sub(parts)).ok_or(ModuleError::TypeTooLarge { id: variable.ty })?;
        block.spacing().checked_mul(elements).ok_or(ModuleError::TypeTooLarge { id: variable.ty })?;
        for element in 0..elements {
            let (cell, offset) = (element * cells, element * block.spacing());
            block.leaves.extend(one.iter().map(|l| Leaf { cell: cell + l.cell, offset: offset + l.offset, ..*l }));
        }
        Ok(block)
    }

    /// Every scalar of a value of this type as it lies in a block, from its own beginning on. Matrices that stand in no struct of it lie as
    /// `matrix` says.
    ///
    /// # Errors
    /// [`ModuleError::Structure`] where an offset or stride is missing or out of range, [`ModuleError::TypeTooLarge`].
    pub fn leaves(&self, ty: Id, matrix: Stride) -> Result<Vec<Leaf>, ModuleError> {
        let mut left = MAX_PARTS;
        let mut walk = Walk { module: self, leaves: Vec::new(), end: 0, left: &mut left };
        walk.visit(ty, 0, 0, matrix, 0)?;
        Ok(walk.leaves)
    }

    /// The bytes between elements of an array in a block.
    ///
    /// # Errors
    /// [`ModuleError::Structure`] where there is no stride.
    pub fn array_stride(&self, array: Id) -> Result<u32, ModuleError> {
        let stride = self.decoration(array, Decoration::ArrayStride).filter(|s| *s > 0);
        stride.ok_or(ModuleError::Structure { at: 0, what: "an array in a block has no stride" })
    }

    /// Where a member of a block's struct begins, in bytes.
    ///
    /// # Errors
    /// [`ModuleError::Structure`] where there is no offset.
    pub fn member_offset(&self, ty: Id, member: u32) -> Result<u32, ModuleError> {
        let offset = self.member_decoration(ty, member, Decoration::Offset);
        offset.ok_or(ModuleError::Structure { at: 0, what: "a member of a block has no offset" })
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
                    self.leaf(*of, cell + i * of.cells(), place(offset, of.bits() / 8, i)?)?;
                }
            }
            Type::Matrix { of, rows, columns, .. } => {
                if matrix.bytes == 0 {
                    return Err(ModuleError::Structure { at: 0, what: "a matrix in a block has no stride" });
                }
                let (down, across) = (of.bits() / 8, matrix.bytes);
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

    fn leaf(&mut self, scalar: ComponentType, cell: u32, offset: u32) -> Result<(), ModuleError> {
        let end = offset.checked_add(scalar.bits() / 8);
        self.end = self.end.max(end.ok_or(ModuleError::Structure { at: 0, what: "an offset in a block is out of range" })?);
        self.leaves.push(Leaf { cell, offset, scalar });
        Ok(())
    }
}
