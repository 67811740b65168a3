//! An interpreter with what its shader is given.

use super::InterpretError;
use super::compile::{Binding, Compiled, Handle};
use super::inputs::Inputs;
use super::run::Interpreter;
use super::small;
use super::step::ALL;
use super::texture::Kind;
use crate::module::ComponentType;
use crate::module::spirv::{BuiltIn, Dim};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn interpreter<'p>(program: &'p Compiled, inputs: &Inputs) -> Result<Interpreter<'p>, InterpretError> {
    let [width, height] = inputs.frame;
    if [width, height].iter().any(|s| !(1..=32768).contains(s)) {
        return Err(InterpretError::Frame { width, height });
    }
    let cells = program.cells as usize + 1;
    let mut interpreter = Interpreter {
        program,
        cells: vec![[0; 4]; cells],
        rough: vec![0; cells],
        shared: Vec::new(),
        textures: Vec::new(),
        counts: vec![0; program.blocks.len()],
        quads: vec![0; program.blocks.len()],
        rough_ends: vec![false; program.blocks.len()],
        mask: ALL,
        covered: ALL,
        alive: ALL,
        spent: 0,
        budget: if inputs.budget == 0 { Inputs::BUDGET } else { inputs.budget },
        frame: inputs.frame,
        scratch: Default::default(),
        planes: Vec::new(),
    };
    for (cell, word) in &program.constants {
        interpreter.cells[*cell as usize] = [*word; 4];
    }
    for step in &program.prelude {
        interpreter.step(step)?;
    }
    for block in &program.slots.uniforms {
        let bytes = bytes(block, inputs)?;
        for (cell, word) in block.words(bytes) {
            interpreter.cells[cell as usize] = [word; 4];
        }
    }
    for block in &program.slots.buffers {
        let bytes = bytes(block, inputs)?;
        let start = interpreter.shared.len();
        // A buffer's address is a word's number; 4 GiB of buffers are no shader's.
        interpreter.cells[block.cell as usize] = [start as u32; 4];
        interpreter.shared.extend((0..bytes.len() / 4).map(|i| word(bytes, 4 * i)));
    }
    for handle in &program.slots.handles {
        bind(&mut interpreter, handle, inputs)?;
    }
    for field in &program.slots.varyings {
        let missing = || InterpretError::MissingVarying { name: field.name.clone(), location: field.location };
        interpreter.planes.push(*inputs.varyings.get(&field.location).ok_or_else(missing)?);
    }
    Ok(interpreter)
}

/// The words of uniforms by their cells, as far as they are given.
pub(super) fn uniforms(program: &Compiled, inputs: &Inputs) -> HashMap<u32, u32> {
    let mut words = HashMap::new();
    for block in &program.slots.uniforms {
        let Ok(bytes) = bytes(block, inputs) else { continue };
        words.extend(block.words(bytes));
    }
    words
}

/// Up to four bytes from here on, zeros beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.iter().skip(at).take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

impl Binding {
    /// The cells of its scalars and what they hold where its bytes are these.
    fn words(&self, bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
        self.leaves.iter().flat_map(move |leaf| {
            let word = move |i: u32| small::cell(leaf.scalar, word(bytes, (leaf.offset + 4 * i) as usize));
            (0..leaf.scalar.cells()).map(move |i| (self.cell + leaf.cell + i, word(i)))
        })
    }
}

fn bytes<'i>(block: &Binding, inputs: &'i Inputs) -> Result<&'i [u8], InterpretError> {
    let bytes = match block.at {
        None => &inputs.push,
        Some((set, binding)) => {
            let missing = || InterpretError::MissingBlock { name: block.name.clone(), set, binding };
            inputs.blocks.get(&(set, binding)).ok_or_else(missing)?
        }
    };
    if bytes.len() < block.bytes as usize {
        return Err(InterpretError::ShortBlock { name: block.name.clone(), needs: block.bytes, given: bytes.len() });
    }
    Ok(bytes)
}

fn bind(interpreter: &mut Interpreter, handle: &Handle, inputs: &Inputs) -> Result<(), InterpretError> {
    // A sampler of its own is not looked at: textures bring theirs.
    let Some(image) = handle.image else { return Ok(()) };
    let (set, binding) = handle.at;
    for element in 0..handle.count as usize {
        let given = inputs.textures.get(&handle.at).and_then(|all| all.get(element));
        let missing = || InterpretError::MissingTexture { name: handle.name.clone(), set, binding, element };
        let texture = given.ok_or_else(missing)?;
        let wants = match image.dim {
            Dim::Dim1D => Some(Kind::D1),
            Dim::Dim2D | Dim::DimRect => Some(Kind::D2),
            Dim::Dim3D => Some(Kind::D3),
            Dim::DimCube => Some(Kind::Cube),
            _ => None,
        };
        if wants != Some(texture.kind) {
            let (wants, given) = (format!("{:?}", image.dim), format!("{:?}", texture.kind));
            return Err(InterpretError::WrongTexture { name: handle.name.clone(), wants, given });
        }
        interpreter.cells[handle.cell as usize + element] = [interpreter.textures.len() as u32; 4];
        interpreter.textures.push(Arc::clone(texture));
    }
    Ok(())
}

impl Interpreter<'_> {
    /// Sets the inputs of a quad: its lanes are these pixels.
    pub(super) fn place(&mut self, pixels: &[[u32; 2]; 4]) {
        let centre = pixels.map(|p| p.map(|c| c as f32 + 0.5));
        let program = self.program;
        for (builtin, cell) in &program.slots.builtins {
            let covered = self.covered;
            let values: &[[f32; 4]] = match builtin {
                BuiltIn::FragCoord => &[centre.map(|c| c[0]), centre.map(|c| c[1]), [0.0; 4], [1.0; 4]],
                BuiltIn::PointCoord | BuiltIn::SamplePosition => &[[0.5; 4], [0.5; 4]],
                _ => &[],
            };
            let word = match builtin {
                BuiltIn::FrontFacing | BuiltIn::SampleMask => Some([1; 4]),
                BuiltIn::HelperInvocation => Some(std::array::from_fn(|l| u32::from(covered >> l & 1 == 0))),
                BuiltIn::SampleId | BuiltIn::PrimitiveId | BuiltIn::Layer | BuiltIn::ViewportIndex | BuiltIn::ViewIndex => Some([0; 4]),
                _ => None,
            };
            let words = values.iter().map(|v| v.map(f32::to_bits)).chain(word);
            words.enumerate().for_each(|(i, w)| self.put(cell + i as u32, w, 0));
        }
        for (index, field) in program.slots.varyings.iter().enumerate() {
            let (plane, c) = (self.planes[index], field.component as usize);
            match field.scalar {
                ComponentType::Float { .. } => {
                    let value = centre.map(|[x, y]| (plane.start[c] + plane.dx[c] * x + plane.dy[c] * y).to_bits());
                    let value = small::fit(field.scalar).map_or(value, |fit| fit(value));
                    // Where it is constant, interpolation has nothing to round.
                    let open = if plane.dx[c] == 0.0 && plane.dy[c] == 0.0 { 0 } else { ALL };
                    self.put(field.cell, value, open);
                }
                _ => self.put(field.cell, [(plane.start[c] as i64) as u32; 4], 0),
            }
        }
    }
}
