//! Reading, and refusing to read.

use crate::common::{bytes, module, names, words};
use warpsight_shader::cfg::Cfg;
use warpsight_shader::module::{MAX_WORDS, Module, ModuleError, Op, Operand, operands};

#[test]
fn functions_blocks_and_lines_are_found() {
    let module = module("loops");
    let names: Vec<_> = module.functions.iter().map(|f| module.name(f.id).unwrap().to_owned()).collect();
    assert_eq!(names, ["main", "triangle(i1;", "pick(i1;"]);
    assert_eq!(module.entry, 0);
    let source = include_str!("../shaders/loops.frag");
    let line = |text| 1 + source.lines().position(|l| l.contains(text)).unwrap() as u32;
    let rem = module.insts().iter().find(|i| i.op == Op::SMod || i.op == Op::SRem).unwrap();
    assert_eq!(rem.line, line("x % 5"));
    let and = module.insts().iter().find(|i| i.op == Op::BitwiseAnd).unwrap();
    assert_eq!(and.line, line("i & 1"));
}

#[test]
fn blocks_stand_before_what_they_branch_to_and_loops_are_marked() {
    for name in names() {
        let module = module(&name);
        let cfg = Cfg::new(&module).unwrap();
        for (at, block) in cfg.blocks.iter().enumerate() {
            let function = &cfg.functions[block.function];
            assert!(block.successors.iter().all(|s| function.blocks.contains(s)));
            for s in &block.successors {
                assert!(*s > at || cfg.blocks[*s].is_loop, "{name}: {at} -> {s}");
            }
            assert!(block.merge.is_none_or(|m| m > at));
        }
    }
    let cfg = Cfg::new(&module("loops")).unwrap();
    assert_eq!(cfg.functions.len(), 3);
    assert_eq!(cfg.blocks.iter().filter(|b| b.is_loop).count(), 4);
    assert_eq!(cfg.blocks.iter().map(|b| b.loops).max(), Some(2));
    assert_eq!(cfg.blocks[0].loops, 0);
}

#[test]
fn operands_tell_ids_from_numbers() {
    let module = module("loops");
    let switch = module.insts().iter().find(|i| i.op == Op::Switch).unwrap();
    let all = operands(&module, switch);
    let literals: Vec<_> = all.iter().filter_map(|o| if let Operand::Literal(l) = o { Some(l[0]) } else { None }).collect();
    assert_eq!(literals, [0, 1, 2, 4]);
    assert_eq!(all.iter().filter(|o| matches!(o, Operand::Id(_))).count(), 6);
}

#[test]
fn either_byte_order_is_read() {
    let little = bytes("kill");
    let big: Vec<u8> = little.chunks_exact(4).flat_map(|w| [w[3], w[2], w[1], w[0]]).collect();
    assert_eq!(Module::from_bytes(&big).unwrap().words(), Module::from_bytes(&little).unwrap().words());
}

#[test]
fn what_is_no_fragment_shader_is_refused_with_a_reason() {
    let good = words(&bytes("kill"));
    let text = |words: Vec<u32>| Module::new(words).unwrap_err().to_string();
    assert_eq!(Module::from_bytes(&[1, 2, 3]).unwrap_err().to_string(), "this is no SPIR-V: 3 bytes are no whole number of words");
    assert_eq!(text(vec![]), "this is no SPIR-V: it does not begin with its magic number");
    assert_eq!(
        text(good[..good.len() - 1].to_vec()),
        format!("the module ends within an instruction or function, at word {}", good.len() - 1)
    );
    assert!(text(vec![0; MAX_WORDS + 1]).ends_with("more than the 4194304 that are read"));

    let find = |op: Op| Module::new(good.clone()).unwrap().insts().iter().find(|i| i.op == op).unwrap().words().start;
    let mut vertex = good.clone();
    vertex[find(Op::EntryPoint) + 1] = 0;
    assert_eq!(text(vertex), "this is a shader of the stage Vertex; only fragment shaders are read");
    let mut zero = good.clone();
    zero[find(Op::TypeVoid)] = 19;
    assert_eq!(text(zero), format!("the instruction at word {} has 0 words; its grammar wants at least 2", find(Op::TypeVoid)));
    let mut huge = good.clone();
    huge[find(Op::TypeVoid) + 1] = 4_000_000_000;
    assert_eq!(text(huge), format!("id 4000000000 is not below the module's bound {}", good[3]));
    let mut unknown = good.clone();
    unknown[find(Op::TypeVoid)] = 2 << 16 | 9;
    assert_eq!(text(unknown), format!("the instruction at word {} has the unknown opcode 9", find(Op::TypeVoid)));
}

/// A function's type, `void main()` with a body that calls itself.
fn recursive() -> Vec<u32> {
    let op = |op: Op, args: &[u32]| -> Vec<u32> { [&[(args.len() as u32 + 1) << 16 | op as u32], args].concat() };
    let mut out = vec![0x0723_0203, 0x0001_0300, 0, 10, 0];
    out.extend(op(Op::EntryPoint, &[4, 3, u32::from_le_bytes(*b"m\0\0\0")]));
    out.extend(op(Op::TypeVoid, &[1]));
    out.extend(op(Op::TypeFunction, &[2, 1]));
    out.extend(op(Op::Function, &[1, 3, 0, 2]));
    out.extend(op(Op::Label, &[4]));
    out.extend(op(Op::FunctionCall, &[1, 5, 3]));
    out.extend(op(Op::Return, &[]));
    out.extend(op(Op::FunctionEnd, &[]));
    out
}

#[test]
fn recursion_and_huge_or_cyclic_types_are_refused() {
    let module = Module::new(recursive()).unwrap();
    assert_eq!(Cfg::new(&module).unwrap_err(), ModuleError::Structure { at: 0, what: "a function calls itself" });

    let types = |types: &[&[u32]]| -> ModuleError {
        let mut words = recursive()[..9].to_vec();
        for ty in types {
            words.push((ty.len() as u32) << 16 | ty[0]);
            words.extend(&ty[1..]);
        }
        Module::new(words).unwrap_err()
    };
    let (int, constant, array, structure) = (Op::TypeInt as u32, Op::Constant as u32, Op::TypeArray as u32, Op::TypeStruct as u32);
    // Each array has 65536 elements of the one before.
    let nested: [&[u32]; 4] = [&[int, 4, 32, 0], &[constant, 4, 5, 65536], &[array, 6, 4, 5], &[array, 7, 6, 5]];
    assert_eq!(types(&nested), ModuleError::TypeTooLarge { id: 7 });
    assert_eq!(types(&[&[structure, 4, 4]]), ModuleError::NoType { id: 4 });
    assert_eq!(types(&[&[structure, 4, 5], &[structure, 5, 4]]), ModuleError::NoType { id: 5 });
}
