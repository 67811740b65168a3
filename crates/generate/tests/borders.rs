//! Where samplers answer beside images, and where bounds have to.

use std::collections::BTreeMap;
use warpsight_generate::indices::for_each_index;
use warpsight_generate::knobs::Knobs;
use warpsight_generate::layout::Layout;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Meeting, Pass, Passes, Place, Role, ScheduleFamily, Tensor};
use warpsight_ir::interpret::interpret;
use warpsight_ir::{Bindings, Border, Bound, Checked, Config, Expr, Family, ParamKind, Program, Scalar, Stmt};

const PLACES: [Place; 5] = [Place::Image, Place::Column, Place::Tall(2), Place::Tall(4), Place::Tall(8)];

fn tensor(shape: Vec<i64>) -> Tensor {
    Tensor { name: "t".into(), shape, element: Scalar::F32, role: Role::Activation, values: None }
}

/// Whether an index that is beyond one dimension's ends and within those of all others is a texel of the image.
fn comes_back(layout: &Layout, dim: usize) -> bool {
    let (pack, texel) = layout.block().expect("texels");
    let (width, height) = layout.image_size().expect("an image");
    // Beyond either end by more than any pattern's block, and by more than the dimension.
    let margin = layout.extents()[dim] + 2 * texel * 8;
    let step = |d: usize| if d == pack { texel } else { 1 };
    let counts: Vec<i64> = (0..layout.extents().len())
        .map(|d| if d == dim { (layout.extents()[d] + 2 * margin) / step(d) } else { (layout.extents()[d] + step(d) - 1) / step(d) })
        .collect();
    let first = -(margin / step(dim) * step(dim));
    let mut inside = false;
    for_each_index(&counts, |_, at| {
        let index: Vec<i64> = at.iter().enumerate().map(|(d, i)| i * step(d) + if d == dim { first } else { 0 }).collect();
        if !(0..layout.extents()[dim]).contains(&index[dim]) {
            let at = layout.coords(&index);
            inside |= (0..width).contains(&at[0]) && (0..height).contains(&at[1]);
        }
    });
    inside
}

/// Every index that a sampler answers for is beside the image; of what bounds are left to, some come back into it.
#[test]
fn what_is_beyond_a_border_is_beside_the_image() {
    let mut rng = fastrand::Rng::with_seed(20);
    let (mut kept, mut asked) = (0, 0);
    for _ in 0..400 {
        let rank = rng.usize(2..=5);
        let shape: Vec<i64> = (0..rank).map(|_| *rng.choice(&[1, 2, 3, 4, 5, 7, 8, 9]).expect("some")).collect();
        let place = *rng.choice(&PLACES).expect("some");
        let layout = match rng.bool() {
            true => Layout::of(&tensor(shape.clone()), place),
            false => Layout::texels(&shape, rng.usize(..rank)).patterned(place),
        };
        let borders: Vec<usize> = layout.borders().iter().map(|own| own.axis.dim).collect();
        for dim in 0..rank {
            let back = comes_back(&layout, dim);
            assert!(!(back && borders.contains(&dim)), "dimension {dim} of {}", layout.describe(&tensor(shape.clone())));
            (kept, asked) = (kept + usize::from(borders.contains(&dim)), asked + usize::from(back));
        }
        // Two along one axis would make up for each other.
        assert!(borders.len() <= 2);
    }
    assert!(kept > 300 && asked > 300, "{kept} {asked}");
}

/// Rows of a picture lie among its channels, columns alone; where channels are one texel, rows are alone, too. Blocks of 4 that columns do not
/// fill have places behind the last one.
#[test]
fn padded_axes_are_kept_where_they_are_outermost() {
    let kept = |shape: [i64; 4], place| -> Vec<usize> {
        let mut dims: Vec<usize> = Layout::of(&tensor(shape.to_vec()), place).borders().iter().map(|own| own.axis.dim).collect();
        dims.sort_unstable();
        dims
    };
    assert_eq!(Place::Image.packed(4), Some((1, 4)));
    assert_eq!(kept([1, 8, 7, 9], Place::Image), [1, 3]);
    assert_eq!(kept([2, 8, 7, 9], Place::Image), [0, 3]);
    assert_eq!(kept([1, 4, 7, 9], Place::Image), [2, 3]);
    assert_eq!(kept([1, 3, 7, 9], Place::Column), [2, 3]);
    assert_eq!(kept([1, 8, 7, 8], Place::Tall(4)), [1, 3]);
    assert_eq!(kept([1, 8, 7, 9], Place::Tall(4)), [1]);
    assert_eq!(kept([1, 8, 7, 9], Place::Buffer), [0; 0]);
}

fn by(passes: Passes, sampler: bool) -> Passes {
    passes.set(Pass::Patterns, true).set(Pass::Sampler, sampler)
}

/// Memory of a Program's parameters.
fn memory(program: &Program) -> Vec<Vec<u8>> {
    let mut rng = fastrand::Rng::with_seed(12);
    let elements = |kind: &ParamKind| match kind {
        ParamKind::Buffer { dims, element, .. } => (dims.iter().filter_map(Expr::as_int).product::<i64>(), *element),
        ParamKind::Image { width, height, .. } => (4 * width.as_int().unwrap_or(0) * height.as_int().unwrap_or(0), Scalar::F32),
        ParamKind::Channel { .. } => (0, Scalar::F32),
    };
    // Nothing is zero, so that what is read in place of a border shows.
    let filled =
        |(n, element)| warpsight_generate::layout::encode(element, &(0..n).map(|_| rng.i32(1..9) as f32 / 4.0).collect::<Vec<_>>());
    program.params.iter().map(|own| elements(&own.kind)).map(filled).collect()
}

fn run(program: &Checked) -> Vec<Vec<u8>> {
    let mut bindings = Bindings { data: memory(program), ..Bindings::default() };
    interpret(program, &mut bindings).unwrap_or_else(|fault| panic!("{fault}\n{}", **program));
    bindings.data
}

/// The bounds that each load of a texel asks.
fn guards(program: &Program) -> Vec<&[Bound]> {
    fn of<'p>(expr: &'p Expr, found: &mut Vec<&'p [Bound]>) {
        if let Expr::Texel { guard, .. } = expr {
            found.push(guard);
        }
        expr.children().into_iter().for_each(|own| of(own, found));
    }
    fn all<'p>(stmts: &'p [Stmt], found: &mut Vec<&'p [Bound]>) {
        for stmt in stmts {
            stmt.exprs().into_iter().for_each(|own| of(own, found));
            stmt.blocks().into_iter().for_each(|block| all(block, found));
        }
    }
    let mut found = vec![];
    all(&program.body, &mut found);
    found
}

/// How many bounds the loads of texels ask, and how many such loads there are.
fn bounds(program: &Program) -> (usize, usize) {
    let guards = guards(program);
    (guards.iter().map(|own| own.len()).sum(), guards.len())
}

fn in_images(family: &ScheduleFamily, config: &Config) -> bool {
    family.places(config).is_some_and(|places| places[0].is_image())
}

const OPERATORS: [&str; 9] = [
    "conv2d n=1 c=5 h=7 w=9 k=6 r=3 s=3 stride=1 pad=1",
    "conv2d n=2 c=3 h=6 w=8 k=4 r=3 s=3 stride=2 pad=1",
    "conv2d n=1 c=8 h=5 w=5 k=4 r=5 s=5 stride=1 pad=2",
    "dwconv2d n=1 c=4 h=9 w=7 r=3 s=3 pad=1",
    "dwconv2d n=1 c=12 h=6 w=8 r=5 s=3 pad=2",
    "deconv2d n=1 c=6 h=4 w=5 k=5 r=4 s=4 pad=1",
    "avgpool n=1 c=6 h=9 w=8 r=3 s=3 stride=2 pad=1",
    "maxpool n=1 c=4 h=8 w=9 r=3 s=3 stride=2 pad=1",
    "conv3d n=1 c=4 d=4 h=5 w=5 k=4 t=3 r=3 s=3 pad=1",
];

/// Whatever the samplers are left, results are those of bounds, bit by bit: of maxima, too, whose padding is minus infinity by a table.
#[test]
fn samplers_give_what_bounds_do() {
    let mut fewer = BTreeMap::new();
    for text in OPERATORS {
        for step in parse_operator(text).expect(text).steps {
            let [with, without] = [true, false].map(|own| ScheduleFamily::by(step.clone(), by(Passes::default(), own)));
            let mut configs: Vec<Config> = with.sample(7, 150, Meeting::ANY).into_iter().filter(|own| in_images(&with, own)).collect();
            fastrand::Rng::with_seed(7).shuffle(&mut configs);
            for config in configs.iter().take(50) {
                let (one, two) = (with.finish(config).expect("lowers"), without.finish(config).expect("lowers"));
                assert_eq!(run(&one), run(&two), "{text}\n{}\n{}", *one, *two);
                let ((own, all), (other, same)) = (bounds(&one), bounds(&two));
                assert!(own <= other && all == same, "{text}\n{}", *one);
                *fewer.entry(text).or_insert(0) += usize::from(own < other);
                // Coarse counts are of the same accesses.
                assert_eq!(with.outline(config).ops, without.outline(config).ops);
            }
        }
    }
    assert!(OPERATORS.iter().all(|text| fewer.get(text).is_some_and(|&n| n > 3)), "{fewer:?}");
}

/// Rows that lie among channels keep their bounds, columns have none; where channels are one texel there are none at all. Tiles that reach beyond
/// an axis have theirs, whatever the sampler would answer.
#[test]
fn bounds_are_left_where_rows_lie_among_channels() {
    let least = |text: &str, sampler: bool| {
        let passes = Passes::default().set(Pass::Sampler, sampler);
        let family = ScheduleFamily::by(parse_operator(text).expect(text).steps.remove(0), passes);
        let configs = family.sample(3, 60, Meeting::default()).into_iter().filter(|own| in_images(&family, own));
        let counts: Vec<usize> = configs.map(|own| bounds(&family.lower(&own).expect("lowers")).0).collect();
        (counts.iter().copied().min().expect("some"), counts.iter().filter(|&&n| n == 0).count() * 2 > counts.len())
    };
    for (text, rows) in [
        ("conv2d n=1 c=8 h=16 w=16 k=8 r=3 s=3 stride=1 pad=1", true),
        ("conv2d n=1 c=8 h=16 w=16 k=8 r=1 s=3 stride=1 pad=0 padw=1", false),
        ("conv2d n=1 c=4 h=16 w=16 k=8 r=3 s=3 stride=1 pad=1", false),
    ] {
        assert!(least(text, false).0 > 0, "{text}: padding is always reached");
        assert_eq!(least(text, true).0 > 0, rows, "{text}");
        assert_ne!(least(text, true).1, rows, "{text}: of most configurations");
    }
}

/// The same Program on images beside which there is nothing.
fn borderless(program: Checked) -> Checked {
    let mut program = program.into_inner();
    for own in &mut program.params {
        if let ParamKind::Image { border, .. } = &mut own.kind {
            *border = Border::None;
        }
    }
    Checked::new(program).expect("valid")
}

/// Bounds alone keep texels that are copied within their images where tiles of 8, 16 and 32 end beyond a tensor, by one texel, too. A copy asks none
/// where its last texel begins in the tensor, whatever that has beyond its end.
#[test]
fn copies_ask_the_bounds_that_they_need() {
    for (text, within) in [
        ("matmul m=20 n=20 k=61 weights=none", 61),
        ("matmul m=20 n=28 k=50 weights=none", 50),
        ("matmul m=12 n=20 k=43 transpose_left=1 weights=none", 0),
        ("matmul m=20 n=20 k=61 transpose_right=1 weights=none", 61),
        ("conv2d n=2 c=13 h=7 w=9 k=20 r=3 s=3 stride=1 pad=1 weights=none", 13),
    ] {
        let expr = parse_operator(text).expect(text).steps.remove(0);
        let (knobs, family) = (Knobs::of(&expr, Passes::default()), ScheduleFamily::new(expr.clone()));
        let mut configs = family.sample(3, 1200, Meeting::ANY);
        configs.retain(|config| {
            let own = knobs.schedule(&expr, config).expect("legal");
            own.stages.len() == 2 && own.places[..2].iter().all(|place| place.is_image())
        });
        fastrand::Rng::with_seed(3).shuffle(&mut configs);
        let mut asked = 0;
        for config in configs.iter().take(50) {
            let program = borderless(family.lower(config).expect("lowers"));
            run(&program);
            let guards = guards(&program);
            asked += usize::from(guards.iter().any(|own| !own.is_empty()));
            let needless = guards.iter().copied().flatten().any(|own| within > 0 && own.extent.as_int() == Some(within));
            assert!(!needless, "{text}\n{}", *program);
        }
        println!("{text}: {} configurations, {asked} ask bounds", configs.len());
        assert!(configs.len() >= 20 && asked >= 10, "{text}: {} {asked}", configs.len());
    }
}
