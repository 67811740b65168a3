//! Traces: sampled, and counted by rewritten modules.

use crate::common::{bytes, draw, has, module, names, validate, words};
use warpsight_shader::cfg::Cfg;
use warpsight_shader::features::{Features, names as feature_names};
use warpsight_shader::interpret::{Inputs, Kind, Program, Texture, Varying};
use warpsight_shader::module::Module;
use warpsight_shader::trace::rewrite::{Options, Width, rewrite};
use warpsight_shader::trace::{QUADS, sample};

const SET: u32 = 7;

fn options(width: Width, subgroup: bool) -> Options {
    Options { set: SET, binding: 1, width, subgroup }
}

/// Something for whatever a shader of the folder wants.
fn inputs(name: &str, width: u32, height: u32) -> Inputs {
    let mut inputs = Inputs::of_frame(width, height);
    if name == "march" {
        let values = [width as f32, height as f32, 0.5, 0.0];
        inputs.blocks.insert((0, 0), values.iter().flat_map(|v| v.to_le_bytes()).collect());
    }
    inputs.blocks.insert((1, 3), vec![0; 304]);
    inputs.blocks.insert((0, 2), vec![0; 240]);
    let texture = |kind, layers| Texture::new(kind, [1, 1, 1], layers, vec![[0.5; 4]; layers as usize]).unwrap();
    for (binding, kind, layers) in [(0, Kind::D2, 1), (1, Kind::D3, 1), (2, Kind::Cube, 6), (3, Kind::D2, 1), (4, Kind::D2, 1)] {
        let texture = std::sync::Arc::new(texture(kind, layers));
        inputs.textures.insert((0, binding), vec![texture.clone(), texture]);
    }
    inputs.varyings.insert(2, Varying::default());
    inputs.varyings.insert(5, Varying::default());
    inputs
}

#[test]
fn a_rewritten_module_counts_what_the_interpreter_counts() {
    for name in names() {
        let original = module(&name);
        let cfg = Cfg::new(&original).unwrap();
        let mut inputs = inputs(&name, 6, 5);
        let plain = draw(&original, &inputs).unwrap();
        for width in [Width::Whole, Width::Split] {
            let counting = Module::new(rewrite(&original, &cfg, options(width, false)).unwrap()).unwrap();
            let new_cfg = Cfg::new(&counting).unwrap();
            // A counter that overflows its low word on the first addition, to see the carry.
            let mut buffer = vec![0u8; 8 * cfg.blocks.len()];
            buffer[..4].fill(0xff);
            inputs.blocks.insert((SET, 1), buffer);
            let program = Program::new(&counting, &new_cfg).unwrap();
            let mut interpreter = program.interpreter(&inputs).unwrap();
            let pixels = draw(&counting, &inputs).unwrap().pixels;
            assert!(
                pixels.iter().zip(&plain.pixels).all(|(a, b)| a.map(|p| p.map(f32::to_bits)) == b.map(|p| p.map(f32::to_bits))),
                "{name}"
            );
            (0..9).for_each(|i| drop(interpreter.quad(i % 3, i / 3).unwrap()));
            let counted = interpreter.buffer(SET, 1).unwrap();
            let mut counts: Vec<u64> = counted.chunks(2).map(|c| u64::from(c[0]) | u64::from(c[1]) << 32).collect();
            counts[0] -= u64::from(u32::MAX);
            assert_eq!(counts, plain.counts, "{name} {width:?}");
        }
    }
}

#[test]
fn rewritten_modules_are_valid() {
    if !has("spirv-val") {
        return;
    }
    for name in names() {
        let original = module(&name);
        let cfg = Cfg::new(&original).unwrap();
        for options in
            [options(Width::Whole, false), options(Width::Split, false), options(Width::Split, true), options(Width::Whole, true)]
        {
            let counting = rewrite(&original, &cfg, options).unwrap();
            for environment in ["vulkan1.1", "vulkan1.3"] {
                assert_eq!(validate(&counting, environment), Ok(()), "{name} {options:?}");
            }
        }
    }
}

#[test]
fn no_product_and_sum_of_a_counting_module_may_be_joined() {
    use warpsight_shader::module::{Op, spirv::Decoration};
    let (original, decorated) = (module("march"), Decoration::NoContraction);
    let cfg = Cfg::new(&original).unwrap();
    let floats = |m: &Module| -> Vec<u32> {
        let all = m.insts().iter().filter(|i| matches!(i.op, Op::FMul | Op::FAdd | Op::Dot | Op::VectorTimesScalar));
        all.map(|i| i.id).collect()
    };
    let once = Module::new(rewrite(&original, &cfg, options(Width::Split, false)).unwrap()).unwrap();
    let decorations = |m: &Module, id: u32| {
        let of = |i: &&warpsight_shader::module::Inst| i.op == Op::Decorate && m.args(i)[..2] == [id, decorated as u32];
        m.insts().iter().filter(of).count()
    };
    assert!(floats(&original).len() > 5 && floats(&original).iter().all(|id| decorations(&original, *id) == 0));
    assert!(floats(&once).iter().all(|id| decorations(&once, *id) == 1));
    // What is decorated already is not again.
    let options = Options { set: SET + 1, ..options(Width::Split, false) };
    let twice = Module::new(rewrite(&once, &Cfg::new(&once).unwrap(), options).unwrap()).unwrap();
    assert!(floats(&once).iter().all(|id| decorations(&twice, *id) == 1));
}

#[test]
fn newer_modules_list_the_new_variables() {
    if !has("spirv-val") || !has("glslangValidator") {
        return;
    }
    let source = "#version 450\n#extension GL_EXT_demote_to_helper_invocation : require\nlayout(location=0) out vec4 c;\nvoid main() {\n c = vec4(1.0);\n if (gl_FragCoord.x > 2.0) demote;\n if (!helperInvocationEXT()) c = vec4(gl_FragCoord.x);\n}";
    for target in ["vulkan1.1", "vulkan1.2", "vulkan1.3"] {
        let module = Module::new(words(&crate::common::compile_for(source, target))).unwrap();
        let cfg = Cfg::new(&module).unwrap();
        let drawn = draw(&module, &Inputs::of_frame(4, 2)).unwrap();
        assert_eq!(drawn.pixels[1], Some([1.5; 4]));
        assert_eq!(drawn.pixels[2], None);
        for subgroup in [false, true] {
            let counting = rewrite(&module, &cfg, options(Width::Split, subgroup)).unwrap();
            assert_eq!(validate(&counting, target), Ok(()), "{target} {subgroup}");
        }
        let counting = Module::new(rewrite(&module, &cfg, options(Width::Split, false)).unwrap()).unwrap();
        let mut inputs = Inputs::of_frame(4, 2);
        inputs.blocks.insert((SET, 1), vec![0; 8 * cfg.blocks.len()]);
        let (new_cfg, mut counts) = (Cfg::new(&counting).unwrap(), Vec::new());
        let program = Program::new(&counting, &new_cfg).unwrap();
        let mut interpreter = program.interpreter(&inputs).unwrap();
        (0..2).for_each(|i| drop(interpreter.quad(i, 0).unwrap()));
        counts.extend(interpreter.buffer(SET, 1).unwrap().chunks(2).map(|c| u64::from(c[0])));
        assert_eq!(counts, drawn.counts, "{target}");
    }
}

#[test]
fn the_binding_of_the_trace_must_be_free() {
    let module = module("march");
    let options = Options { set: 0, binding: 0, width: Width::Split, subgroup: false };
    let error = rewrite(&module, &Cfg::new(&module).unwrap(), options).unwrap_err();
    assert_eq!(error.to_string(), "the module uses the descriptor set and binding that the trace wants, which is not supported");
}

#[test]
fn a_sample_of_quads_says_how_far_it_may_be_off() {
    let module = module("march");
    let cfg = Cfg::new(&module).unwrap();
    let program = Program::new(&module, &cfg).unwrap();
    let inputs = inputs("march", 96, 64);
    let whole = draw(&module, &inputs).unwrap();
    let truth = |weight: &dyn Fn(usize) -> f64| whole.counts.iter().enumerate().map(|(b, c)| *c as f64 * weight(b)).sum::<f64>();
    let cost = |b: usize| cfg.blocks[b].insts.len() as f64;
    let (mut within, mut errors) = (0, Vec::new());
    for seed in 0..40 {
        let trace = sample(&program, &inputs, QUADS, seed).unwrap();
        assert_eq!(trace, sample(&program, &inputs, QUADS, seed).unwrap());
        assert_eq!((trace.complete, trace.sampled, trace.pixels), (false, 256, 96 * 64));
        assert!(trace.is_rough(), "the loop's end depends on a length");
        let total = trace.total(cost);
        let off = (total.value - truth(&cost)).abs();
        within += usize::from(off <= 2.0 * total.error);
        errors.push(off / truth(&cost));
        // Every pixel enters once, whichever quads were chosen.
        assert_eq!(trace.counts[0], 96.0 * 64.0);
        assert_eq!(trace.error(0), 0.0);
    }
    // Two standard errors hold 95 % of a normal distribution; 36 of 40 leaves room for chance.
    assert!(within >= 36, "{within} of 40");
    let mean = errors.iter().sum::<f64>() / 40.0;
    assert!(mean < 0.05, "mean error {mean}");

    let small = sample(&program, &inputs_of(15, 9), QUADS, 0).unwrap();
    assert!(small.complete && small.total(cost).error == 0.0);
    let exact = draw(&module, &inputs_of(15, 9)).unwrap();
    assert!(small.counts.iter().zip(&exact.counts).all(|(a, b)| *a == *b as f64));
}

fn inputs_of(width: u32, height: u32) -> Inputs {
    inputs("march", width, height)
}

#[test]
fn features_count_scalars_by_class() {
    let names = feature_names();
    let at = |name: &str| names.iter().position(|n| n == name).unwrap_or_else(|| panic!("no feature {name}"));
    // A model keeps the places that it was fitted on.
    assert_eq!((at("f32.add"), at("ext.round"), at("ext.nclamp"), at("texture.1d.sample")), (7, 58, 138, 139));
    assert_eq!(names.len(), 189);
    assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());

    let module = module("uniforms");
    let cfg = Cfg::new(&module).unwrap();
    let features = Features::new(&module, &cfg).unwrap();
    let text = features.weighted(|_| 1.0);
    // mat3 · vec3.
    assert_eq!(text[at("f32.muladd")], 9.0);
    assert_eq!(text[at("blocks")], cfg.blocks.len() as f64);
    assert_eq!(text[at("f32.add")], 1.0);
    // Eight comparisons of `which`, one of `on` with 0; `p.x / 3`.
    assert_eq!(text[at("int.compare")], 9.0);
    assert_eq!(text[at("int.div")], 1.0);

    // One dot product of three; two vectors are normalised here, the third, a constant, by glslang.
    let module = crate::common::module("march");
    let text = Features::new(&module, &Cfg::new(&module).unwrap()).unwrap().weighted(|_| 1.0);
    assert_eq!((text[at("f32.muladd")], text[at("ext.length")], text[at("ext.normalize")]), (3.0, 3.0, 6.0));

    let module = crate::common::module("textures");
    let text = Features::new(&module, &Cfg::new(&module).unwrap()).unwrap().weighted(|_| 1.0);
    let count = |name: &str| text[at(name)];
    assert_eq!((count("texture.2d.lod"), count("texture.3d.lod"), count("texture.cube.lod")), (6.0, 1.0, 2.0));
    assert_eq!((count("texture.2d.sample"), count("texture.2d.grad"), count("texture.2d.fetch")), (1.0, 1.0, 1.0));
    assert_eq!((count("texture.2d.gather"), count("texture.2d.project"), count("texture.2d.query")), (1.0, 1.0, 3.0));
}

#[test]
fn a_frame_that_is_none_is_refused() {
    let module = Module::from_bytes(&bytes("kill")).unwrap();
    let error = draw(&module, &Inputs::of_frame(0, 4)).unwrap_err();
    assert_eq!(error.to_string(), "a frame of 0×4 pixels: each side must be 1 to 32768");
}

#[test]
fn quads_count_once_and_predication_runs_both_sides() {
    // Pixels 0 and 1 of a row take one side, 2 and 3 the other, where they loop 2 and 3 times; a function is called on either side.
    let source = "#version 450\nlayout(location=0) out vec4 c;\n\
                  float f(float a) { return sqrt(a); }\n\
                  void main() { int x = int(gl_FragCoord.x); float s = 0.0;\n\
                  if (x < 2) { s = f(gl_FragCoord.y); }\n\
                  else { for (int i = 0; i < x; i++) { s += f(s + 1.0); } }\n\
                  if (x < 0) { for (int i = 0; i < 9; i++) s = s * s; }\n\
                  c = vec4(s); }";
    if !has("glslangValidator") {
        return;
    }
    let module = Module::from_bytes(&crate::common::compile(source)).unwrap();
    let cfg = Cfg::new(&module).unwrap();
    let program = Program::new(&module, &cfg).unwrap();
    let trace = sample(&program, &Inputs::of_frame(4, 2), usize::MAX, 0).unwrap();
    let features = Features::new(&module, &cfg).unwrap();
    let of = |name: &str, weights: &[f64]| {
        let at = feature_names().iter().position(|n| n == name).unwrap();
        features.weighted(|b| weights[b])[at]
    };
    let predicated = trace.predicated(&cfg);
    let on = |name| [of(name, &trace.counts), of(name, &trace.quads), of(name, &predicated)];
    // Lanes: 4 pixels once, 2 rows of 2 and 3 turns. Quads: once, and three turns. Predicated: the left quad does one turn that
    // no pixel needs, the right one does four headers' worth of turns; and both do the side that they do not take.
    assert_eq!(on("ext.sqrt"), [4.0 + 2.0 * 5.0, 1.0 + 3.0, 2.0 + 4.0]);
    // Nobody squares, and yet each quad does one turn under an empty mask.
    assert_eq!(on("f32.mul"), [0.0, 0.0, 2.0]);
}

#[test]
fn the_error_of_a_ratio_leaves_out_what_varies_for_both() {
    let module = module("loops");
    let cfg = Cfg::new(&module).unwrap();
    let program = Program::new(&module, &cfg).unwrap();
    let inputs = Inputs::of_frame(128, 96);
    let [a, other] = [0, 1].map(|seed| sample(&program, &inputs, 64, seed).unwrap());
    let cost = |block: usize| cfg.blocks[block].insts.len() as f64;
    let own = a.total(cost);
    assert!(own.error > 0.01 * own.value);
    assert_eq!(a.ratio_error(cost, &a, cost), 0.0, "against itself");
    assert!(a.ratio_error(cost, &a, |b| 3.0 * cost(b)) < 1e-12, "a multiple of itself");
    // Another frame has other quads: both errors count.
    let small = sample(&program, &Inputs::of_frame(64, 64), 16, 0).unwrap();
    let [x, y] = [own, small.total(cost)].map(|t| t.error / t.value);
    assert!((a.ratio_error(cost, &small, cost) - x.hypot(y)).abs() < 1e-12);
    // Quads of the same strata lie elsewhere: less than both errors, more than none.
    let near = a.ratio_error(cost, &other, cost);
    assert!(near > 0.0 && near < 2.0 * own.error / own.value, "{near}");
    let all = sample(&program, &Inputs::of_frame(8, 8), usize::MAX, 0).unwrap();
    assert_eq!(all.ratio_error(cost, &all, |b| cost(b) + 1.0), 0.0);
}
