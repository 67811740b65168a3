//! Shaders as sequences.

use crate::common;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::features;
use warpsight_shader::interpret::{Inputs, Program};
use warpsight_shader::lean::Lean;
use warpsight_shader::module::{Module, Op};
use warpsight_shader::tokens::{
    BEGIN, COMPACT_LIMIT, Dialect, LIMIT, NEXT, TokenError, Tokens, VOCABULARY, Word, compact, lean, published,
};
use warpsight_shader::trace::sample;

/// A module of instructions: opcode and operands. The function `main` has id 4, ids are below 1000.
fn module(body: &[(Op, &[u32])]) -> Module {
    let mut words = vec![0x0723_0203, 0x0001_0000, 0, 1000, 0];
    let head: &[(Op, &[u32])] = &[
        (Op::Capability, &[1]),
        (Op::MemoryModel, &[0, 1]),
        (Op::EntryPoint, &[4, 4, u32::from_le_bytes(*b"main"), 0]),
        (Op::ExecutionMode, &[4, 7]),
        (Op::Name, &[4, u32::from_le_bytes(*b"main"), 0]),
    ];
    for (op, operands) in head.iter().chain(body) {
        words.push((operands.len() as u32 + 1) << 16 | *op as u32);
        words.extend(*operands);
    }
    Module::new(words).unwrap()
}

/// Two functions that `main` calls, the second first; declarations with a float, a negative number and two literals in a row.
fn small() -> Module {
    module(&[
        (Op::Decorate, &[9, 0]),
        (Op::TypeVoid, &[2]),
        (Op::TypeFunction, &[3, 2]),
        (Op::TypeFloat, &[5, 32]),
        (Op::TypeInt, &[6, 32, 1]),
        (Op::Constant, &[5, 7, 0.25f32.to_bits()]),
        (Op::Constant, &[6, 8, (-3i32) as u32]),
        (Op::Function, &[2, 20, 0, 3]),
        (Op::Label, &[21]),
        (Op::Return, &[]),
        (Op::FunctionEnd, &[]),
        (Op::Function, &[2, 4, 0, 3]),
        (Op::Label, &[10]),
        (Op::Line, &[1, 2, 3]),
        (Op::FunctionCall, &[2, 11, 30]),
        (Op::FunctionCall, &[2, 12, 20]),
        (Op::Return, &[]),
        (Op::FunctionEnd, &[]),
        (Op::Function, &[2, 30, 0, 3]),
        (Op::Label, &[31]),
        (Op::Return, &[]),
        (Op::FunctionEnd, &[]),
    ])
}

fn text(s: &str) -> Vec<u32> {
    s.bytes().map(|b| 256 + u32::from(b)).collect()
}

#[test]
fn a_small_module_has_the_tokens_of_the_paper() {
    let module = small();
    let cfg = Cfg::new(&module).unwrap();
    assert_eq!(cfg.blocks.iter().map(|b| b.label).collect::<Vec<_>>(), [10, 31, 21]);
    let tokens = published(&module, &cfg, &[196_608.0, (1u64 << 40) as f64, 3.0]).unwrap();
    let op = |op: Op| 2000 + op as u32;
    let id = |n: u32| 20_000 + n;
    let expected: Vec<Vec<u32>> = vec![
        vec![BEGIN],
        vec![op(Op::TypeVoid), id(0)],
        vec![op(Op::TypeFunction), id(1), id(0)],
        [vec![op(Op::TypeFloat), id(2)], text("32")].concat(),
        [vec![op(Op::TypeInt), id(3)], text("32"), vec![NEXT], text("1")].concat(),
        [vec![op(Op::Constant), id(2), id(4)], text("0.25")].concat(),
        [vec![op(Op::Constant), id(3), id(5)], text("-3")].concat(),
        // The entry point, which is the second function of the module.
        [vec![op(Op::Function), id(0), id(6)], text("0"), vec![id(1)]].concat(),
        vec![op(Op::Label), id(7)],
        vec![op(Op::FunctionCall), id(0), id(8), id(9)],
        vec![op(Op::FunctionCall), id(0), id(10), id(11)],
        vec![op(Op::Return), op(Op::FunctionEnd)],
        // What it calls first is the module's last.
        [vec![op(Op::Function), id(0), id(9)], text("0"), vec![id(1)]].concat(),
        vec![op(Op::Label), id(12), op(Op::Return), op(Op::FunctionEnd)],
        [vec![op(Op::Function), id(0), id(11)], text("0"), vec![id(1)]].concat(),
        vec![op(Op::Label), id(13), op(Op::Return), op(Op::FunctionEnd)],
    ];
    assert_eq!(tokens.words.iter().map(|w| w.id).collect::<Vec<_>>(), expected.concat());
    // Counts stand on the opcodes of functions, with all of their bits.
    let counted: Vec<(u32, u64)> = tokens.words.iter().filter(|w| w.count > 0).map(|w| (w.id - 2000, w.count)).collect();
    let of = |ops: &[Op], count: u64| ops.iter().map(|o| (*o as u32, count)).collect::<Vec<_>>();
    let leaf = [Op::Function, Op::Label, Op::Return, Op::FunctionEnd];
    let main = of(&[Op::Function, Op::Label, Op::FunctionCall, Op::FunctionCall, Op::Return, Op::FunctionEnd], 196_608);
    assert_eq!(counted, [main, of(&leaf, 1 << 40), of(&leaf, 3)].concat());
    // Without a trace all that stands in blocks is executed once a pixel, types and digits never.
    let untraced = tokens.clone().untraced(99);
    assert!(tokens.words.iter().zip(&untraced.words).all(|(with, without)| (with.count > 0) == (without.count == 99)));
    assert!(untraced.words.iter().all(|w| [0, 99].contains(&w.count)));
}

#[test]
fn the_numbering_of_ids_does_not_matter() {
    let tokens = |module: &Module| published(module, &Cfg::new(module).unwrap(), &[1.0, 1.0, 1.0]).unwrap();
    let module = small();
    // All ids but the entry point's grow by 500: of these instructions every operand that is an id is known.
    let shift = |id: u32| if id == 4 { 4 } else { id + 500 };
    let mut words = module.words().to_vec();
    let start = |inst: &warpsight_shader::module::Inst| inst.words().start;
    for inst in module.insts() {
        let ids: &[usize] = match inst.op {
            Op::TypeVoid | Op::TypeFloat | Op::TypeInt | Op::Label | Op::Decorate => &[1],
            Op::TypeFunction | Op::Constant => &[1, 2],
            Op::Function => &[1, 2, 4],
            Op::FunctionCall => &[1, 2, 3],
            _ => &[],
        };
        ids.iter().for_each(|at| words[start(inst) + at] = shift(words[start(inst) + at]));
    }
    let other = Module::new(words).unwrap();
    assert_ne!(other.words(), module.words());
    assert_eq!(tokens(&other), tokens(&module));
}

#[test]
fn an_instruction_is_one_word_with_its_producers() {
    let module = common::module("loops");
    let cfg = Cfg::new(&module).unwrap();
    let counts: Vec<f64> = (0..cfg.blocks.len()).map(|b| b as f64).collect();
    let tokens = compact(&module, &cfg, &counts).unwrap();
    let name = |id: u32| id.checked_sub(6).map(|f| features::names()[f as usize].as_str());
    let [begin, block, ..] = tokens.words[..] else { panic!() };
    assert_eq!(begin, Word { id: 1, count: 1, scalars: 1, operands: [0; 3] });
    assert_eq!((name(block.id), block.count), (Some("blocks"), 0));
    // Sums over words are the sums over blocks.
    let all = features::Features::new(&module, &cfg).unwrap().weighted(|b| counts[b]);
    for feature in ["f32.add", "int.add", "load.local", "branch", "loop", "blocks"] {
        let sum: f64 = tokens.words.iter().filter(|w| name(w.id) == Some(feature)).map(|w| w.count as f64 * f64::from(w.scalars)).sum();
        let at = features::names().iter().position(|n| n == feature).unwrap();
        assert_eq!(sum, all[at], "{feature}");
    }
    let compare = tokens.words.iter().find(|w| name(w.id) == Some("int.compare")).unwrap();
    assert_eq!(name(compare.operands[0]), Some("load.local"));
    assert!(
        tokens.words.iter().all(|w| w.id < Dialect::Compact.vocabulary() && w.operands.iter().all(|o| *o < Dialect::Compact.vocabulary()))
    );
}

#[test]
fn every_shader_of_the_folder_has_both_sequences() {
    for name in common::names() {
        let module = common::module(&name);
        let cfg = Cfg::new(&module).unwrap();
        let counts: Vec<f64> = vec![196_608.0; cfg.blocks.len()];
        let both: Vec<Tokens> = [published, compact].iter().map(|tokens| tokens(&module, &cfg, &counts).unwrap()).collect();
        assert!(both[0].words.len() > 3 * both[1].words.len(), "{name}: {} and {}", both[0].words.len(), both[1].words.len());
        assert!(both[0].words.iter().all(|w| w.id < VOCABULARY));
    }
}

#[test]
fn lean_words_are_what_a_compiler_leaves() {
    let module = common::module("loops");
    let cfg = Cfg::new(&module).unwrap();
    let program = Program::new(&module, &cfg).unwrap();
    let trace = sample(&program, &Inputs::of_frame(64, 48), 16, 0).unwrap();
    let inputs = Inputs::of_frame(64, 48);
    let left = Lean::of(&program, &module, &cfg, &inputs, &trace);
    let tokens = Dialect::Compact.words(&module, &cfg, &trace, left.as_ref()).unwrap();
    assert_eq!(tokens, lean(&module, &cfg, &trace, left.as_ref()).unwrap());
    let untraced = tokens.clone().untraced(7);
    assert_eq!((untraced.words[0].count, untraced.words[1..].iter().all(|w| w.count == 7)), (1, true));
    let all = left.as_ref().unwrap().features(|work| work.times * 64.0 * 48.0);
    for (at, expected) in all.iter().enumerate().filter(|(at, _)| features::names()[*at].contains('.')) {
        let of = tokens.words.iter().filter(|w| w.id == 6 + at as u32);
        let sum: f64 = of.map(|w| w.count as f64 * f64::from(w.scalars)).sum();
        assert!((sum - expected).abs() <= 1e-3 * expected, "{}: {sum} and {expected}", features::names()[at]);
    }
    let other = Cfg { blocks: cfg.blocks[1..].to_vec(), ..cfg.clone() };
    assert!(matches!(lean(&module, &other, &trace, left.as_ref()), Err(TokenError::Blocks { .. })));
    assert_eq!(Dialect::Published.words(&module, &cfg, &trace, left.as_ref()), published(&module, &cfg, &trace.counts));
}

#[test]
fn traces_that_do_not_fit_are_refused() {
    let module = small();
    let cfg = Cfg::new(&module).unwrap();
    for tokens in [published, compact] {
        assert_eq!(tokens(&module, &cfg, &[1.0, 2.0]), Err(TokenError::Blocks { found: 2, expected: 3 }));
        assert_eq!(tokens(&module, &cfg, &[1.0, -1.0, 1.0]), Err(TokenError::Count { block: 1, count: -1.0 }));
        assert!(matches!(tokens(&module, &cfg, &[1.0, 1.0, f64::NAN]), Err(TokenError::Count { block: 2, .. })));
        assert!(tokens(&module, &cfg, &[f64::INFINITY, 0.0, 0.4]).unwrap().words.iter().all(|w| [0, 1, u64::MAX].contains(&w.count)));
    }
}

#[test]
fn long_shaders_are_refused_or_shortened() {
    let mut body: Vec<(Op, Vec<u32>)> = vec![
        (Op::TypeVoid, vec![2]),
        (Op::TypeFunction, vec![3, 2]),
        (Op::TypeFloat, vec![5, 32]),
        (Op::Constant, vec![5, 7, 0]),
        (Op::Function, vec![2, 4, 0, 3]),
        (Op::Label, vec![10]),
    ];
    body.extend((0..900).map(|i| (Op::FAdd, vec![5, 100 + i, 7, 7])));
    body.extend([(Op::Return, vec![]), (Op::FunctionEnd, vec![])]);
    let read = |body: &[(Op, Vec<u32>)]| module(&body.iter().map(|(op, words)| (*op, &words[..])).collect::<Vec<_>>());
    let module = read(&body);
    let cfg = Cfg::new(&module).unwrap();
    let error = published(&module, &cfg, &[1.0]).unwrap_err();
    assert_eq!(error, TokenError::TooLong { limit: LIMIT });
    assert!(error.to_string().starts_with("the shader has more than 4096 tokens"));
    assert_eq!(compact(&module, &cfg, &[1.0]).unwrap().words.len(), 903);

    // A block that is executed more often stays whole.
    let end = body.len() - 2;
    let hot = [(Op::Branch, vec![11]), (Op::Label, vec![11])].into_iter().chain((0..500).map(|_| (Op::FAdd, vec![5, 0, 7, 7])));
    body.splice(end..end, hot.collect::<Vec<_>>());
    // Fresh ids under a higher bound.
    let mut next = 2000;
    body.iter_mut().filter(|(op, words)| *op == Op::FAdd && words[1] == 0).for_each(|(_, words)| {
        words[1] = next;
        next += 1;
    });
    let mut words = vec![0x0723_0203, 0x0001_0000, 0, 4000, 0];
    words.extend([2 << 16 | 17, 1, 3 << 16 | 14, 0, 1, 5 << 16 | 15, 4, 4, u32::from_le_bytes(*b"main"), 0]);
    for (op, operands) in &body {
        words.push((operands.len() as u32 + 1) << 16 | *op as u32);
        words.extend(operands);
    }
    let module = Module::new(words).unwrap();
    let cfg = Cfg::new(&module).unwrap();
    let whole = compact(&module, &cfg, &[1.0, 1000.0]).unwrap();
    assert_eq!((whole.words.len(), whole.at_most(1404).words.len()), (1405, 1404));
    let tokens = whole.at_most(COMPACT_LIMIT);
    assert_eq!(tokens.words.len(), COMPACT_LIMIT);
    assert_eq!(tokens.words[0].id, 1);
    assert_eq!(tokens.words.iter().filter(|w| w.count == 1000).count(), 502);
}
