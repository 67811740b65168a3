//! Variables at module scope: where inputs come from and results go to.

use super::super::step::{Place, Step};
use super::{Compiler, Done, Value};
use crate::module::spirv::{BuiltIn, Decoration, StorageClass};
use crate::module::{Block, ComponentType, Id, Image, Leaf, Type, Variable};

/// Where everything from outside of a shader lies in its cells.
#[derive(Default)]
pub(crate) struct Slots {
    /// Uniform blocks and push constants.
    pub uniforms: Vec<Binding>,
    /// Storage buffers; the cell of each holds its first word in shared memory.
    pub buffers: Vec<Binding>,
    /// Images and samplers.
    pub handles: Vec<Handle>,
    /// Built-in inputs.
    pub builtins: Vec<(BuiltIn, u32)>,
    /// Inputs by location.
    pub varyings: Vec<Field>,
    /// Outputs by location.
    pub outputs: Vec<Field>,
    /// The cell of the depth that the shader writes.
    pub depth: Option<u32>,
}

/// A block with bytes.
pub(crate) struct Binding {
    pub name: String,
    /// Nothing for push constants.
    pub at: Option<(u32, u32)>,
    pub cell: u32,
    pub bytes: u32,
    pub leaves: Vec<Leaf>,
}

impl Binding {
    /// The cells of its scalars.
    pub fn cells(&self) -> impl Iterator<Item = u32> {
        self.leaves.iter().flat_map(move |leaf| (0..leaf.scalar.cells()).map(move |i| self.cell + leaf.cell + i))
    }
}

/// Images, as many as the variable has elements.
pub(crate) struct Handle {
    pub name: String,
    pub at: (u32, u32),
    pub cell: u32,
    pub count: u32,
    pub image: Option<Image>,
}

/// One component of an input or output.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub location: u32,
    pub component: u32,
    pub cell: u32,
    pub scalar: ComponentType,
}

impl Compiler<'_> {
    pub(super) fn globals(&mut self) -> Done {
        for block in self.module.blocks()? {
            self.block_variable(block)?;
        }
        for variable in &self.module.variables {
            match variable.class {
                StorageClass::Uniform | StorageClass::StorageBuffer | StorageClass::PushConstant => {}
                StorageClass::UniformConstant => self.handle(variable)?,
                StorageClass::Input => self.input(variable)?,
                StorageClass::Output | StorageClass::Private => self.private(variable)?,
                class => return self.unsupported(0, format!("variables of the class {class:?}")),
            }
        }
        Ok(())
    }

    fn name(&self, variable: &Variable) -> String {
        self.module.name(variable.id).unwrap_or_default().to_owned()
    }

    fn fixed(&mut self, variable: &Variable) -> Done<u32> {
        let cell = self.cells(self.ty(variable.ty)?.cells())?;
        self.values.insert(variable.id, Value::Pointer(Place::Fixed(cell)));
        Ok(cell)
    }

    fn block_variable(&mut self, block: Block) -> Done {
        let variable = &block.variable;
        let push = variable.class == StorageClass::PushConstant;
        if variable.binding.is_none() && !push {
            return self.invalid(0, "a block has no binding");
        }
        let shared = variable.class == StorageClass::StorageBuffer || self.is_buffer_block(block.ty);
        if shared && variable.ty != block.ty {
            return self.unsupported(0, "arrays of storage buffers");
        }
        let cell = if shared { self.cells(1)? } else { self.fixed(variable)? };
        if shared {
            self.values.insert(variable.id, Value::Pointer(Place::At(cell)));
        }
        let bytes = block.spacing() * (block.elements - 1) + block.bytes;
        let binding = Binding { name: block.name, at: variable.binding, cell, bytes, leaves: block.leaves };
        if shared {
            self.out.slots.buffers.push(binding)
        } else {
            self.out.slots.uniforms.push(binding)
        }
        Ok(())
    }

    /// How storage buffers were written before SPIR-V 1.3.
    pub(super) fn is_buffer_block(&self, ty: Id) -> bool {
        self.module.decoration(ty, Decoration::BufferBlock).is_some()
    }

    fn handle(&mut self, variable: &Variable) -> Done {
        let (image, count) = match self.ty(variable.ty)? {
            Type::Array { of, len, .. } => (self.ty(*of)?, *len),
            other => (other, 1),
        };
        let image = match image {
            Type::Image(image) if image.storage => return self.unsupported(0, "storage images"),
            Type::Image(image) if image.multisampled => return self.unsupported(0, "multisampled images"),
            Type::Image(image) => Some(*image),
            Type::Sampler => None,
            _ => return self.unsupported(0, "handles other than images and samplers"),
        };
        let Some(at) = variable.binding else { return self.invalid(0, "an image has no binding") };
        let cell = self.fixed(variable)?;
        self.out.slots.handles.push(Handle { name: self.name(variable), at, cell, count, image });
        Ok(())
    }

    fn input(&mut self, variable: &Variable) -> Done {
        let cell = self.fixed(variable)?;
        match (variable.builtin, variable.location) {
            (Some(builtin), _) => {
                let known = [
                    (BuiltIn::FragCoord, 4),
                    (BuiltIn::PointCoord, 2),
                    (BuiltIn::SamplePosition, 2),
                    (BuiltIn::FrontFacing, 1),
                    (BuiltIn::HelperInvocation, 1),
                    (BuiltIn::SampleId, 1),
                    (BuiltIn::SampleMask, 1),
                    (BuiltIn::PrimitiveId, 1),
                    (BuiltIn::Layer, 1),
                    (BuiltIn::ViewportIndex, 1),
                    (BuiltIn::ViewIndex, 1),
                ];
                if !known.contains(&(builtin, self.ty(variable.ty)?.cells())) {
                    return self.unsupported(0, format!("the input {builtin:?}"));
                }
                self.out.slots.builtins.push((builtin, cell));
            }
            (None, Some(location)) => {
                let fields = self.fields(variable, location, cell)?;
                self.out.slots.varyings.extend(fields);
            }
            (None, None) => return self.unsupported(0, "an input without a location"),
        }
        Ok(())
    }

    fn private(&mut self, variable: &Variable) -> Done {
        let cell = self.fixed(variable)?;
        let n = self.ty(variable.ty)?.cells();
        self.out.reset.push(match variable.initial {
            0 => Step::Undefine { dst: cell, n },
            initial => Step::Copy { dst: cell, src: self.exactly(initial, variable.ty, 0)?, n },
        });
        if variable.class == StorageClass::Output {
            match (variable.builtin, variable.location) {
                (Some(BuiltIn::FragDepth), _) if n == 1 => self.out.slots.depth = Some(cell),
                (None, Some(location)) => {
                    let fields = self.fields(variable, location, cell)?;
                    self.out.slots.outputs.extend(fields);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The components of an input or output with their locations: each column and each element has its own.
    fn fields(&mut self, variable: &Variable, location: u32, cell: u32) -> Done<Vec<Field>> {
        let name = self.name(variable);
        let first = self.module.decoration(variable.id, Decoration::Component).unwrap_or(0);
        let mut fields = Vec::new();
        let mut todo = vec![variable.ty];
        let (mut location, mut cell) = (location, cell);
        while let Some(id) = todo.pop() {
            // Types share their parts, so a short module can have very many.
            self.parts_left = self.parts_left.saturating_sub(1);
            let most = self.parts_left as usize;
            match self.ty(id)? {
                Type::Array { of, len, .. } if todo.len() + *len as usize <= most => todo.extend((0..*len).map(|_| *of)),
                Type::Matrix { column, columns, .. } => todo.extend((0..*columns).map(|_| *column)),
                Type::Struct { members, .. } if todo.len() + members.len() <= most => todo.extend(members.iter().rev().map(|m| m.0)),
                ty => {
                    let Some(scalar) =
                        ty.scalar().filter(|s| !(s.wide() || s.small() && matches!(s, ComponentType::Int { .. })) && most > 0)
                    else {
                        return self.unsupported(0, "inputs and outputs other than numbers of 32 bits and floating point numbers of 16");
                    };
                    for component in 0..ty.components() {
                        fields.push(Field { name: name.clone(), location, component: (first + component).min(3), cell, scalar });
                        cell += 1;
                    }
                    location = location.saturating_add(1);
                }
            }
        }
        Ok(fields)
    }
}
