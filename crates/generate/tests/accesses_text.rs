//! What kernels of all operators touch has a text form, which reads back as the same kernel.

use warpsight_generate::operators::{ReduceKind, concat, global_average_pool, parse_operator, reduce, tensor, transpose};
use warpsight_generate::{Operator, Role, ScheduleFamily};
use warpsight_ir::accesses::{text::parse, write::write};
use warpsight_ir::{Family, Kernel, Nest, Scalar, TensorPlace};

/// Configurations of each expression.
const CONFIGS: usize = 24;

fn operators() -> Vec<Operator> {
    let texts = [
        "conv2d n=1 c=16 h=12 w=96 k=24 r=3 s=3 stride=1 pad=1",
        "conv2d n=2 c=37 h=9 w=11 k=7 r=3 s=3 stride=2 pad=1 dtype=f16s",
        "conv2d n=3 c=16 h=5 w=33 k=24 r=3 s=1 groups=4",
        "dwconv2d n=1 c=12 h=13 w=17 r=5 s=3 pad=2",
        "conv3d n=2 c=11 d=5 h=6 w=7 k=9 t=3 r=3 s=3 pad=1",
        "deconv2d n=1 c=6 h=7 w=9 k=5 r=4 s=4 pad=1",
        "matmul m=13 n=20 k=37 batch=3",
        "matmul m=1 n=1 k=1",
        "fc n=1 k=300 m=50",
        "softmax n=4 c=100",
        "layernorm n=3 c=77",
        "pad_reflect n=1 c=5 h=9 w=8 before_h=2 after_h=1 before_w=3",
        "pad_wrap n=2 c=3 h=4 w=5 before_w=2 after_w=2",
    ];
    let mut operators: Vec<Operator> = texts.iter().map(|text| parse_operator(text).expect(text)).collect();
    let part = |name: &str, c| tensor(name, &[2, c, 9], Scalar::F32, Role::Activation);
    operators.extend([
        transpose(&[3, 4, 5, 6, 7], &[4, 2, 0, 1, 3], Scalar::F32).expect("five axes"),
        concat(&[part("a", 3), part("b", 5)], 1).expect("two parts"),
        global_average_pool(&[2, 3, 5, 6], Scalar::F32).expect("a pool"),
        reduce(ReduceKind::Max, &[40, 40], &[0, 1], false, Scalar::F32).expect("one value"),
    ]);
    operators
}

/// The same kernel with the names of its variables left out: those of blocks and lanes are the text form's, those of loops are numbered
/// where two have one.
fn nameless(mut kernel: Kernel) -> Kernel {
    kernel.accesses.vars.iter_mut().for_each(|var| var.name = "".into());
    kernel
}

/// Whether two loops stand beside each other anywhere.
fn beside(nest: &[Nest]) -> bool {
    let bodies = || nest.iter().filter_map(|node| if let Nest::Loop { body, .. } = node { Some(body) } else { None });
    bodies().count() > 1 || bodies().any(|body| beside(body))
}

#[test]
fn kernels_of_all_operators_read_back() {
    let mut rng = fastrand::Rng::with_seed(41);
    let (mut images, mut vectors, mut elements, mut siblings, mut axes) = (0, 0, 0, 0, 0);
    for operator in operators() {
        for step in &operator.steps {
            let family = ScheduleFamily::new(step.clone());
            let configs: Vec<_> = family.configs().collect();
            for _ in 0..CONFIGS {
                let config = rng.choice(&configs).expect("a configuration");
                let kernel = family.kernel(config);
                let shown = || format!("{}: {:?}", operator.kind, family.space().describe(config));
                let text = write(&kernel).unwrap_or_else(|error| panic!("{}: {error:?}", shown()));
                let read = parse(&text, &[]).unwrap_or_else(|error| panic!("{}: {error:?}\n{text}", shown()));
                assert_eq!(nameless(read.kernel.clone()), nameless(kernel.clone()), "{}\n{text}", shown());
                assert_eq!(write(&read.kernel).as_ref(), Ok(&text), "once more");
                let threads = kernel.launch.group_count() * u64::from(kernel.launch.group_size());
                let mut drawn = false;
                kernel.accesses.each(&mut |access| drawn |= access.indirect.is_some());
                assert_eq!((read.points, !read.guessed_accesses.is_empty(), read.registers_guessed), (threads, drawn, false));
                images += usize::from(kernel.accesses.tensors.iter().any(|own| matches!(own.place, TensorPlace::Image { .. })));
                vectors += usize::from(kernel.ops.0.keys().any(|op| op.2 > 1));
                elements += usize::from(text.contains("per element"));
                siblings += usize::from(beside(&kernel.accesses.nest));
                axes = axes.max(kernel.launch.groups.len());
            }
        }
    }
    assert!(images > 100 && vectors > 100 && elements > 50 && siblings > 5 && axes == 5, "{images} {vectors} {elements} {siblings} {axes}");
}
