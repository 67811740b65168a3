//! Uniforms of every type, on a rasteriser and by the interpreter.

use super::*;
use warpsight_run::glslang;
use warpsight_shader::module::Leaf;

/// Every scalar of a block has a number of its own; the shader shows members of each kind.
#[test]
fn every_member_of_a_block_arrives() {
    let Some(mut device) = rasteriser() else { return };
    let module = module("uniforms");
    let (mut inputs, _) = Scene { frame: [4, 2], ..Scene::default() }.inputs(&module).unwrap();
    let block = &module.blocks().unwrap()[0];
    let bytes = inputs.blocks.get_mut(&(1, 3)).unwrap();
    for (index, leaf) in block.leaves.iter().enumerate() {
        let word = match leaf.scalar {
            ComponentType::Float { .. } => (index as f32 + 2.0).to_bits(),
            _ => index as u32 + 2,
        };
        bytes[leaf.offset as usize..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let ours = interpreted(&module, &inputs);
    assert_eq!(ours[..4], [2.0, 3.0, 4.0, 5.0], "a and b are the first four");
    assert_eq!(disagree(&mut device, &module, &inputs, 0.0), 0.0);
}

/// Types of members, and how many columns and rows they have.
const TYPES: &[(&str, usize, usize)] = &[
    ("float", 1, 1),
    ("vec2", 1, 2),
    ("vec3", 1, 3),
    ("vec4", 1, 4),
    ("int", 1, 1),
    ("ivec2", 1, 2),
    ("ivec3", 1, 3),
    ("ivec4", 1, 4),
    ("uint", 1, 1),
    ("uvec2", 1, 2),
    ("uvec3", 1, 3),
    ("uvec4", 1, 4),
    ("bool", 1, 1),
    ("bvec2", 1, 2),
    ("bvec3", 1, 3),
    ("bvec4", 1, 4),
    ("double", 1, 1),
    ("dvec3", 1, 3),
    ("mat2", 2, 2),
    ("mat3", 3, 3),
    ("mat4", 4, 4),
    ("mat2x3", 2, 3),
    ("mat2x4", 2, 4),
    ("mat3x2", 3, 2),
    ("mat3x4", 3, 4),
    ("mat4x2", 4, 2),
    ("mat4x3", 4, 3),
    ("dmat2", 2, 2),
];

/// Numbers in bytes of a leaf: each its own.
fn write(bytes: &mut [u8], index: usize, leaf: &Leaf) {
    let value = index + 2;
    let word = match leaf.scalar {
        ComponentType::Float { bits: 64 } => (value as f64).to_le_bytes().to_vec(),
        ComponentType::Float { .. } => (value as f32).to_le_bytes().to_vec(),
        ComponentType::Int { signed: true, .. } => (-(value as i32)).to_le_bytes().to_vec(),
        // Every third truth is none, and the others are not all 1.
        ComponentType::Bool => (if value.is_multiple_of(3) { 0 } else { value as u32 }).to_le_bytes().to_vec(),
        ComponentType::Int { .. } => (value as u32).to_le_bytes().to_vec(),
    };
    bytes[leaf.offset as usize..][..word.len()].copy_from_slice(&word);
}

/// Members of every type, alone and in an array of structs, by columns and by rows; a pixel shows the last column of one of them.
#[test]
fn every_type_of_uniform() {
    let Some(mut device) = rasteriser() else { return };
    for layout in ["std140, column_major", "std140, row_major"] {
        let (mut members, mut parts, mut shown) = (String::new(), String::new(), Vec::new());
        for (ty, columns, rows) in TYPES {
            members += &format!("    {ty} m_{ty};\n    {ty} a_{ty}[2];\n");
            parts += &format!("    {ty} s_{ty};\n");
            for member in [format!("m_{ty}"), format!("s[pick].s_{ty}")] {
                let value = if *columns > 1 { format!("{member}[{}]", columns - 1) } else { member };
                let scalar = |row: usize| match row {
                    _ if row >= *rows => "0.0".to_owned(),
                    _ if *rows == 1 => format!("float({value})"),
                    _ => format!("float({value}[{row}])"),
                };
                shown.push(format!("vec4({}, {}, {}, {})", scalar(0), scalar(1), scalar(2), scalar(3)));
            }
        }
        let cases: String = shown.iter().enumerate().map(|(i, v)| format!("    case {i}: color = {v}; break;\n")).collect();
        let source = format!(
            "#version 450\nlayout(location = 0) out vec4 color;\nstruct S {{\n{parts}}};\nlayout(set = 0, binding = 0, {layout}) uniform B {{\n\
             {members}    S s[2];\n}};\nvoid main() {{\n    int pick = int(gl_FragCoord.y) & 1;\n    color = vec4(-1.0);\n    \
             switch (int(gl_FragCoord.x)) {{\n{cases}    }}\n}}\n"
        );
        let module = Module::new(glslang::fragment(&source).unwrap()).unwrap();
        let frame = [shown.len() as u32, 2];
        let (mut inputs, _) = Scene { frame, ..Scene::default() }.inputs(&module).unwrap();
        let block = &module.blocks().unwrap()[0];
        let bytes = inputs.blocks.get_mut(&(0, 0)).unwrap();
        block.leaves.iter().enumerate().for_each(|(index, leaf)| write(bytes, index, leaf));
        let ours = interpreted(&module, &inputs);
        assert_eq!(ours[..4], [2.0, 0.0, 0.0, 0.0], "the first member's first number");
        assert_eq!(disagree(&mut device, &module, &inputs, 0.0), 0.0, "{layout}");
    }
}
