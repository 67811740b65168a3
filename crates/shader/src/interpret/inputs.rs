//! What a shader is given.

use super::InterpretError;
use super::compile::{Binding, Compiled, Handle};
use super::run::Machine;
use super::small;
use super::step::ALL;
use super::texture::{Kind, Texture};
use crate::module::Scalar;
use crate::module::spirv::{BuiltIn, Dim};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a frame is drawn with.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Width and height in pixels.
    pub frame: [u32; 2],
    /// The bytes of uniform blocks and storage buffers by descriptor set and binding, laid out as the module says.
    pub blocks: BTreeMap<(u32, u32), Vec<u8>>,
    /// The bytes of the push constants.
    pub push: Vec<u8>,
    /// Textures by descriptor set and binding; an array of samplers has several.
    pub textures: BTreeMap<(u32, u32), Vec<Arc<Texture>>>,
    /// Inputs from the rasteriser by location.
    pub varyings: BTreeMap<u32, Varying>,
    /// The most instructions that one quad may take; 0 is [`Inputs::BUDGET`].
    pub budget: u64,
}

/// An input that is a plane over the frame: `start + dx·x + dy·y` at the pixel centre (x, y), for four components. Integers have
/// the value of `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Varying {
    /// The value at the frame's corner.
    pub start: [f32; 4],
    /// What a pixel to the right adds.
    pub dx: [f32; 4],
    /// What a pixel down adds.
    pub dy: [f32; 4],
}

impl Inputs {
    /// The budget of a quad where none is given: a second or so.
    pub const BUDGET: u64 = 20_000_000;

    /// Inputs of a frame, and nothing else.
    #[must_use]
    pub fn of_frame(width: u32, height: u32) -> Self {
        let (blocks, textures, varyings) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { frame: [width, height], blocks, push: Vec::new(), textures, varyings, budget: 0 }
    }
}

pub(super) fn machine<'p>(program: &'p Compiled, inputs: &Inputs) -> Result<Machine<'p>, InterpretError> {
    let [width, height] = inputs.frame;
    if [width, height].iter().any(|s| !(1..=32768).contains(s)) {
        return Err(InterpretError::Frame { width, height });
    }
    let cells = program.cells as usize + 1;
    let mut machine = Machine {
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
        machine.cells[*cell as usize] = [*word; 4];
    }
    for step in &program.prelude {
        machine.step(step)?;
    }
    for block in &program.slots.uniforms {
        let bytes = bytes(block, inputs)?;
        for (cell, word) in block.words(bytes) {
            machine.cells[cell as usize] = [word; 4];
        }
    }
    for block in &program.slots.buffers {
        let bytes = bytes(block, inputs)?;
        let start = machine.shared.len();
        // A buffer's address is a word's number; 4 GiB of buffers are no shader's.
        machine.cells[block.cell as usize] = [start as u32; 4];
        machine.shared.extend((0..bytes.len() / 4).map(|i| word(bytes, 4 * i)));
    }
    for handle in &program.slots.handles {
        bind(&mut machine, handle, inputs)?;
    }
    for field in &program.slots.varyings {
        let missing = || InterpretError::MissingVarying { name: field.name.clone(), location: field.location };
        machine.planes.push(*inputs.varyings.get(&field.location).ok_or_else(missing)?);
    }
    Ok(machine)
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

fn bind(machine: &mut Machine, handle: &Handle, inputs: &Inputs) -> Result<(), InterpretError> {
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
        machine.cells[handle.cell as usize + element] = [machine.textures.len() as u32; 4];
        machine.textures.push(Arc::clone(texture));
    }
    Ok(())
}

impl Machine<'_> {
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
                Scalar::Float { .. } => {
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
