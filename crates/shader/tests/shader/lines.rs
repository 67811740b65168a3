//! Which source lines cost what.

use crate::common::{compile, compile_with, has, optimised, validate};
use warpsight_shader::cfg::Cfg;
use warpsight_shader::features::{self, Features};

use warpsight_shader::interpret::{Inputs, Program};
use warpsight_shader::lean::Lean;
use warpsight_shader::lines::{Costs, Place, costs, executed, left, texts};
use warpsight_shader::module::{Module, Op};
use warpsight_shader::trace::rewrite::{Options, Width, rewrite};
use warpsight_shader::trace::sample;

const SOURCE: &str = "#version 450
layout(location = 0) out vec4 colour;
float wave(float x) {
  return sin(x) * cos(x);
}
void main() {
  float sum = 0.0;
  for (int i = 0; i < 10; i++) {
    sum += wave(float(i));
    if (gl_FragCoord.x < 4.0)
      sum += sqrt(sum);
  }
  colour = vec4(sum);
}
";

/// Weights by name; all others are 0.
fn weights(some: &[(&str, f64)]) -> Vec<f64> {
    features::names().iter().map(|name| some.iter().find(|(n, _)| n == name).map_or(0.0, |(_, w)| *w)).collect()
}

/// The costs of a frame of 8×2 pixels, all executed.
fn of(bytes: &[u8], weights: &[f64]) -> (Module, Cfg, Vec<f64>, Costs) {
    let module = Module::from_bytes(bytes).unwrap();
    let cfg = Cfg::new(&module).unwrap();
    let trace = sample(&Program::new(&module, &cfg).unwrap(), &Inputs::of_frame(8, 2), usize::MAX, 0).unwrap();
    let found = costs(&module, &cfg, &executed(&module, &cfg, &trace.counts).unwrap(), weights);
    (module, cfg, trace.counts, found)
}

fn by_line(costs: &Costs) -> Vec<(u32, f64)> {
    costs.lines.iter().filter(|l| l.cost > 0.0).map(|l| (l.place.line, l.cost)).collect()
}

#[test]
fn a_line_costs_what_it_does_as_often_as_it_runs() {
    if !has("glslangValidator") {
        return;
    }
    let weights = weights(&[("ext.sin", 2.0), ("ext.cos", 1.0), ("ext.sqrt", 5.0), ("store.output", 0.25)]);
    let (module, cfg, counts, costs) = of(&compile(SOURCE), &weights);
    // 16 pixels call the function ten times each, half of them take the root each time; the output has four scalars.
    assert_eq!(by_line(&costs), [(4, 480.0), (11, 400.0), (13, 16.0)]);
    assert_eq!((costs.total, costs.unplaced), (896.0, 0.0));
    assert_eq!(costs.lines[0].place.file.rsplit('/').next(), Some("x.frag"));
    let wave = costs.blocks.iter().find(|b| b.cost == 480.0).unwrap();
    assert_eq!(wave.lines.as_ref().map(|(first, last)| (first.line, *last)), Some((4, 4)));
    assert_eq!(cfg.blocks.len(), costs.blocks.len());
    assert_eq!(costs.blocks.iter().map(|b| b.cost).sum::<f64>(), 896.0);
    // The text of a line is the source's.
    let text = texts(&module, costs.lines.iter().map(|l| &l.place));
    assert_eq!(text[&costs.lines[0].place].trim(), "return sin(x) * cos(x);");
    assert_eq!(counts.iter().filter(|c| **c == 160.0).count(), 4, "the function, and the three blocks of the loop's body: {counts:?}");
}

/// glslang's `-gVS` and DXC write `DebugLine` instead of `OpLine`.
#[test]
fn lines_of_debug_info_are_those_of_op_line() {
    if !has("glslangValidator") {
        return;
    }
    let weights = weights(&[("ext.sin", 2.0), ("ext.cos", 1.0), ("ext.sqrt", 5.0), ("store.output", 0.25)]);
    let bytes = compile_with(SOURCE, "vulkan1.1", "-gVS");
    let (module, cfg, _, costs) = of(&bytes, &weights);
    // glslang still puts `OpLine` before functions.
    let inside = |i: usize| module.functions.iter().any(|f| f.blocks.iter().any(|b| b.insts.contains(&i)));
    assert!((0..module.insts().len()).all(|i| module.insts()[i].op != Op::Line || !inside(i)), "otherwise this says nothing");
    assert_eq!((by_line(&costs), costs.unplaced), (vec![(4, 480.0), (11, 400.0), (13, 16.0)], 0.0));
    let text = texts(&module, costs.lines.iter().map(|l| &l.place));
    assert_eq!(text[&costs.lines[0].place].trim(), "return sin(x) * cos(x);");
    assert_eq!(text[&costs.lines[1].place].trim(), "sum += sqrt(sum);");
    // What says nothing costs nothing: all else is as without it.
    let (plain, plain_cfg, ..) = of(&compile(SOURCE), &weights);
    let all = |module: &Module, cfg: &Cfg| Features::new(module, cfg).unwrap().weighted(|_| 1.0);
    assert_eq!(all(&module, &cfg), all(&plain, &plain_cfg));
    let counted = rewrite(&module, &cfg, Options { set: 7, binding: 0, width: Width::Split, subgroup: false }).unwrap();
    if has("spirv-val") {
        assert_eq!(validate(&counted, "vulkan1.1"), Ok(()));
    }
}

#[test]
fn lines_add_up_to_what_the_features_of_the_frame_cost() {
    if !has("glslangValidator") {
        return;
    }
    let weights: Vec<f64> = (0..features::names().len()).map(|i| 1.0 + (i % 7) as f64).collect();
    for bytes in [compile(SOURCE), crate::common::bytes("march"), crate::common::bytes("kill"), crate::common::bytes("textures")] {
        let module = Module::from_bytes(&bytes).unwrap();
        let cfg = Cfg::new(&module).unwrap();
        let counts: Vec<f64> = (0..cfg.blocks.len()).map(|b| (b * b + 1) as f64).collect();
        let costs = costs(&module, &cfg, &executed(&module, &cfg, &counts).unwrap(), &weights);
        let frame = Features::new(&module, &cfg).unwrap().weighted(|b| counts[b]);
        let whole: f64 = frame.iter().zip(&weights).map(|(n, w)| n * w).sum();
        let lines = costs.lines.iter().map(|l| l.cost).sum::<f64>() + costs.unplaced;
        assert!((whole - lines).abs() < 1e-9 * whole && (whole - costs.total).abs() < 1e-9 * whole, "{whole} {lines} {}", costs.total);
        assert!(costs.lines.windows(2).all(|w| w[0].cost >= w[1].cost));
    }
}

#[test]
fn inlined_functions_keep_the_lines_of_their_text() {
    if !has("glslangValidator") || !has("spirv-opt") {
        return;
    }
    let weights = weights(&[("ext.sin", 2.0), ("ext.cos", 1.0), ("ext.sqrt", 5.0)]);
    let (_, cfg, _, costs) = of(&optimised(&compile(SOURCE), "--inline-entry-points-exhaustive"), &weights);
    assert_eq!(cfg.functions.len(), 1);
    assert_eq!(by_line(&costs), [(4, 480.0), (11, 400.0)]);
}

#[test]
fn without_lines_there_are_blocks_only() {
    if !has("glslangValidator") || !has("spirv-opt") {
        return;
    }
    let weights = weights(&[("ext.sin", 2.0), ("ext.sqrt", 5.0)]);
    let (module, _, _, costs) = of(&optimised(&compile(SOURCE), "--strip-debug"), &weights);
    assert!(costs.lines.is_empty() && costs.blocks.iter().all(|b| b.lines.is_none()));
    assert_eq!((costs.total, costs.unplaced), (720.0, 720.0));
    let mut blocks: Vec<f64> = costs.blocks.iter().map(|b| b.cost).filter(|c| *c > 0.0).collect();
    blocks.sort_by(f64::total_cmp);
    assert_eq!(blocks, [320.0, 400.0]);
    assert!(texts(&module, &[Place { file: "x.frag".into(), line: 1 }]).is_empty());
}

#[test]
fn line_directives_are_followed_into_the_text() {
    if !has("glslangValidator") {
        return;
    }
    let source = "#version 450\nlayout(location=0) out vec4 c;\n#line 1\nfloat f(float x)\n{ return exp(x); }\n#line 70\nvoid main() {\nc = vec4(f(gl_FragCoord.x)); }";
    let (module, _, _, costs) = of(&compile(source), &weights(&[("ext.exp", 1.0), ("store.output", 0.5)]));
    assert_eq!(by_line(&costs), [(71, 32.0), (2, 16.0)]);
    let text = texts(&module, costs.lines.iter().map(|l| &l.place));
    let said: Vec<&str> = costs.lines.iter().take(2).map(|l| text[&l.place].as_str()).collect();
    assert_eq!(said, ["c = vec4(f(gl_FragCoord.x)); }", "{ return exp(x); }"]);
}

#[test]
fn weights_below_zero_and_missing_ones_are_none() {
    if !has("glslangValidator") {
        return;
    }
    let bytes = compile(SOURCE);
    for weights in [vec![], vec![f64::NAN; 300], vec![-1.0; 300], vec![f64::INFINITY; 300]] {
        let (.., costs) = of(&bytes, &weights);
        assert_eq!((costs.total, costs.unplaced), (0.0, 0.0));
        assert!(costs.lines.iter().all(|l| l.cost == 0.0));
    }
}

#[test]
fn what_a_compiler_leaves_stands_on_its_lines() {
    if !has("glslangValidator") {
        return;
    }
    let source = "#version 450
layout(location = 0) out vec4 colour;
void main() {
  float x = gl_FragCoord.x;
  float unused = exp(x);
  float twice = sin(x) + sin(x);
  for (int i = 0; i < 4; i++)
    twice += cos(x + float(i));
  colour = vec4(twice);
}
";
    let module = Module::from_bytes(&compile(source)).unwrap();
    let cfg = Cfg::new(&module).unwrap();
    let program = Program::new(&module, &cfg).unwrap();
    let trace = sample(&program, &Inputs::of_frame(8, 2), usize::MAX, 0).unwrap();
    let turns = trace.turns(&cfg);
    let lean = Lean::new(&program, &module, &cfg, |header| turns[header]).unwrap();
    let starts = 4.0 * trace.predicated(&cfg)[0];
    let weights = weights(&[("ext.exp", 7.0), ("ext.sin", 2.0), ("ext.cos", 1.0)]);
    let costs = costs(&module, &cfg, &left(&lean, starts), &weights);
    // 16 pixels: one sine of the two, four cosines, no exponential.
    assert_eq!(by_line(&costs), [(8, 64.0), (6, 32.0)]);
    assert_eq!((costs.total, costs.unplaced), (96.0, 0.0));
}
