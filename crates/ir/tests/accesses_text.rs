//! The text form of accesses: what kernels it makes, and what it says of bad input.

use warpsight_ir::accesses::text::{Document, TextError, Written, parse};
use warpsight_ir::kernel::OpClass;
use warpsight_ir::text::Word;
use warpsight_ir::{
    AccessKind, AccessRef, ImageFormat, ImageKind, Kernel, LoadPath, Nest, Scalar, Space, StorePolicy, TensorPlace, VarKind,
};

const STAR: &str = r#"
name = "star"
block = [8, 4]
domain = ["n", "n"]
registers = { base = 10, per_point = 3 }
flops = { f64_fma = 2, f64 = 1 }
[params]
n = 64
[[field]]
name = "A"
element = "f64"
dims = ["n", "n"]
align = 3
load = [["tx", "ty"], ["tx+1", "ty"], ["tx-1", "ty"], ["tx", "ty+1"], ["tx", "ty-1"]]
[[field]]
name = "B"
element = "f64"
dims = ["n", "n"]
store = [["tx", "ty"]]
"#;

fn read(text: &str) -> Written {
    parse(text, &[]).unwrap_or_else(|error| panic!("{error:?}"))
}

fn set(text: &str, settings: &[(&str, &str)]) -> Result<Written, TextError> {
    parse(text, &settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Vec<_>>())
}

/// Accesses in program order, with the names of the loops around each.
fn accesses(written: &Written) -> Vec<(Vec<String>, AccessRef)> {
    fn walk(written: &Written, nest: &[Nest], around: &mut Vec<String>, to: &mut Vec<(Vec<String>, AccessRef)>) {
        for node in nest {
            match node {
                Nest::Loop { var, body } => {
                    around.push(written.kernel.accesses.vars[usize::from(var.0)].name.to_string());
                    walk(written, body, around, to);
                    around.pop();
                }
                Nest::Access(access) => to.push((around.clone(), access.clone())),
                Nest::Barrier => {}
            }
        }
    }
    let mut found = vec![];
    walk(written, &written.kernel.accesses.nest, &mut vec![], &mut found);
    found
}

/// A coordinate in words: `8·bx + lx + 1`.
fn words(written: &Written, form: &warpsight_ir::Affine) -> String {
    let vars = &written.kernel.accesses.vars;
    let mut parts: Vec<String> = form.terms().iter().map(|(var, c)| format!("{c}{}", vars[usize::from(var.0)].name)).collect();
    parts.push(form.constant.to_string());
    parts.join("+")
}

/// Coordinates of the accesses of a tensor, slowest first.
fn coords(written: &Written, tensor: u16) -> Vec<Vec<String>> {
    let all = accesses(written).into_iter().filter(|(_, access)| access.tensor == tensor);
    all.map(|(_, access)| access.coords.iter().map(|form| words(written, form)).collect()).collect()
}

#[test]
fn coordinates_are_those_of_blocks_and_lanes() {
    let star = read(STAR);
    assert_eq!((star.points, &star.domain[..], &star.kernel.launch.groups[..]), (4096, &[64, 64][..], &[8, 16][..]));
    assert_eq!(coords(&star, 0)[1], ["4by+1ly+0", "8bx+1lx+1"], "slowest first");
    assert_eq!(coords(&star, 1), [["4by+1ly+0", "8bx+1lx+0"]]);
    let kinds: Vec<_> = star.kernel.accesses.vars.iter().map(|var| (var.kind, var.trips)).collect();
    let expected = [(VarKind::Group, 8), (VarKind::Group, 16), (VarKind::Lane, 8), (VarKind::Lane, 4)].map(|(kind, n)| (kind, Some(n)));
    assert_eq!(kinds, expected);
    assert!(accesses(&star).iter().all(|(loops, access)| loops.is_empty() && access.guard.is_empty()));
    assert_eq!(star.kernel.registers, 13);
    let ops = &star.kernel.ops.0;
    assert_eq!((ops[&(OpClass::Fma, Scalar::F64, 1)], ops[&(OpClass::Float, Scalar::F64, 1)]), (2, 1));
    let TensorPlace::Buffer { space: Space::Global, element: Scalar::F64, dims, layout } = &star.kernel.accesses.tensors[0].place else {
        panic!("a buffer")
    };
    assert_eq!((&dims[..], &layout.strides[..], layout.align), (&[64, 64][..], &[][..], 3));
}

/// A matrix of more than 2³¹ rows; blocks, threads and images are smaller.
#[test]
fn fields_may_be_longer_than_32_bits_count() {
    let long = STAR.replacen("dims = [\"n\", \"n\"]", "dims = [4294967296, 27]", 1);
    let TensorPlace::Buffer { dims, .. } = &read(&long).kernel.accesses.tensors[0].place else { panic!("a buffer") };
    assert_eq!(dims, &[27, 1 << 32]);
    let image = long.replacen("element = \"f64\"", "kind = \"image2d\"\nelement = \"rgba32f\"", 1);
    assert!(parse(&image, &[]).unwrap_err().to_string().contains("an extent is 4294967296, outside 1 to 2147483647"));
}

/// Images of every kind: the same words as in Programs, one coordinate where there is one dimension, and the way back.
#[test]
fn images_of_every_kind_are_read_and_written() {
    let text = |kind: &str| {
        let (dims, at) = if kind.starts_with("image1d") { ("[\"n\"]", "[\"tx+1\"]") } else { ("[\"n\", 4]", "[\"tx+1\", 2]") };
        format!(
            "name = \"line\"\nblock = [8]\ndomain = [\"n\"]\nregisters = 8\n[params]\nn = 64\n[[field]]\nname = \"A\"\n\
             kind = \"{kind}\"\nelement = \"rgba16f\"\ndims = {dims}\nload = [{at}]\n"
        )
    };
    for kind in ImageKind::ALL {
        let one = kind.is_one_dimensional();
        let line = read(&text(kind.word()));
        let (height, y) = if one { (1, "0") } else { (4, "2") };
        let place = TensorPlace::Image { kind: *kind, format: ImageFormat::Rgba16F, width: 64, height };
        assert_eq!(line.kernel.accesses.tensors[0].place, place);
        assert_eq!((coords(&line, 0), place.bytes()), (vec![vec!["8bx+1lx+1".to_owned(), y.to_owned()]], 64 * 8 * height as u64));
        // Nothing answers beside a buffer's texels.
        let outside = line.kernel.accesses.outside();
        let beside: Vec<_> = outside.iter().map(|own| (own.axis, own.elements)).collect();
        assert_eq!(beside, if *kind == ImageKind::Image1dBuffer { vec![(0, 1)] } else { vec![] }, "{kind:?}");
        let back = warpsight_ir::accesses::write::write(&line.kernel).unwrap();
        assert!(back.contains(&format!("kind = \"{}\"", kind.word())), "{back}");
        assert_eq!(read(&back).kernel.accesses, line.kernel.accesses, "{back}");
        let wrong = text(kind.word()).replace("dims = [\"n\"", "dims = [3, 2, \"n\"");
        let said = if one { format!("an {} has one dimension", kind.word()) } else { "an image has two dimensions".to_owned() };
        assert_eq!(parse(&wrong, &[]).unwrap_err().what, said);
    }
    let strided = text("image2d_from_buffer").replace("load", "strides = [1, 80]\nload");
    assert_eq!(parse(&strided, &[]).unwrap_err().what, "an image of this kind lies row by row");
}

#[test]
fn folding_shares_addresses() {
    // Along y: 4 rows of the column, and 2 neighbours in each of 2 rows.
    let folded = set(STAR, &[("fold", "1,2")]).unwrap();
    assert_eq!(coords(&folded, 0).len(), 8);
    assert_eq!(coords(&folded, 0)[0], ["8by+2ly+0", "8bx+1lx+0"]);
    assert_eq!((folded.kernel.registers, folded.registers_guessed), (16, false));
    assert_eq!(folded.kernel.ops.0[&(OpClass::Fma, Scalar::F64, 1)], 4, "of a thread");
    assert_eq!(coords(&folded, 1).len(), 2);
    // A block's extent apart nothing is shared: 4 is more than the neighbours' distance.
    let strided = set(STAR, &[("fold", "1,2"), ("fold_mode", "strided")]).unwrap();
    assert_eq!(coords(&strided, 0).len(), 10);
    assert_eq!(coords(&strided, 1), [["8by+1ly+0", "8bx+1lx+0"], ["8by+1ly+4", "8bx+1lx+0"]]);
    let both = set(STAR, &[("fold", "2,2"), ("registers", "20")]).unwrap();
    assert_eq!((coords(&both, 0).len(), both.registers_guessed), (12, true), "16 − 4 corners of a 4 × 4 square");
}

#[test]
fn ragged_domains_are_guarded() {
    let ragged = set(STAR, &[("n", "66"), ("fold", "1,2")]).unwrap();
    assert_eq!(ragged.kernel.launch.groups, [9, 9]);
    let all = accesses(&ragged);
    // Point 0 reads (x, y+1) where y < 66, point 1 reads it as its own where y+1 < 66: one access, where either reads it.
    assert_eq!(all.iter().filter(|(_, access)| access.tensor == 0).count(), 8);
    let stores: Vec<Vec<(String, i64)>> = all
        .iter()
        .filter(|(_, access)| access.tensor == 1)
        .map(|(_, access)| access.guard.iter().map(|bound| (words(&ragged, &bound.value), bound.extent)).collect())
        .collect();
    let bound = |y: &str| vec![("8bx+1lx+0".to_owned(), 66), (format!("8by+2ly+{y}"), 66)];
    assert_eq!(stores, [bound("0"), bound("1")]);
    let shared = all.iter().find(|(_, access)| words(&ragged, &access.coords[0]) == "8by+2ly+1" && access.tensor == 0).unwrap();
    assert_eq!(words(&ragged, &shared.1.guard[1].value), "8by+2ly+0", "the weaker bound stays");
    // A domain that fills its blocks has no bounds; one axis may be ragged alone.
    assert!(accesses(&set(STAR, &[("domain", "64,66")]).unwrap()).iter().all(|(_, access)| access.guard.len() == 1));
}

#[test]
fn loops_hold_what_mentions_them() {
    let text = STAR.replace("[[field]]\nname = \"A\"", "[[loop]]\nname = \"k\"\ntrips = \"n/2\"\n[[loop]]\nname = \"u\"\ntrips = 3\norder = \"unrolled\"\n[[loop]]\nname = \"j\"\ntrips = 5\n[[field]]\nname = \"A\"");
    let text = text.replace(
        "[\"tx\", \"ty+1\"], [\"tx\", \"ty-1\"]]",
        "[\"tx+u\", \"ty+k\"], [\"tx+j\", \"ty\"], { at = [\"tx+9\", \"ty\"], in = \"k\" }, [\"tx\", \"ty+u\"]]",
    );
    let looped = read(&text);
    let found: Vec<(String, String)> =
        accesses(&looped).iter().map(|(loops, access)| (loops.join(" "), words(&looped, &access.coords[1]))).collect();
    let expected = [
        ("", "8bx+1lx+0"),
        ("", "8bx+1lx+1"),
        ("", "8bx+1lx+-1"),
        ("k", "8bx+1lx+0"),
        ("k", "8bx+1lx+1"),
        ("k", "8bx+1lx+2"),
        ("k j", "8bx+1lx+1j+0"),
        ("k", "8bx+1lx+9"),
        // The first of three is the first access of all.
        ("", "8bx+1lx+0"),
        ("", "8bx+1lx+0"),
        ("", "8bx+1lx+0"),
    ];
    assert_eq!(found, expected.map(|(loops, x)| (loops.to_owned(), x.to_owned())));
    let trips: Vec<_> = looped.kernel.accesses.vars[4..].iter().map(|var| (&*var.name, var.trips)).collect();
    assert_eq!(trips, [("k", Some(32)), ("j", Some(5))], "what is written out is no variable");
}

#[test]
fn every_key_is_read() {
    let every = read(include_str!("../../../examples/accesses/every-key.toml"));
    let names: Vec<&str> = every.kernel.accesses.tensors.iter().map(|tensor| &*tensor.name).collect();
    assert_eq!(names, ["A", "weights", "table", "tile", "B", "bins"]);
    assert_eq!((every.points, every.kernel.registers, every.kernel.local.0), (2 * 512 * 512 * 30, 40, 6144.0));
    assert_eq!(every.kernel.launch.groups, [64, 8, 30], "blocks along y come first");
    assert_eq!(&*every.kernel.accesses.vars[0].name, "by");
    assert_eq!(
        every.kernel.ops.0[&(OpClass::Int, Scalar::I32, 1)],
        32,
        "4 a point, 2 points, 2 trips, and 2 of the loop that nothing mentions"
    );
    let all = accesses(&every);
    let of = |tensor: u16| all.iter().filter(move |(_, access)| access.tensor == tensor).collect::<Vec<_>>();
    // Per point: centre (shared with the unrolled loop's middle), 2 neighbours, 1 row above by another path.
    assert_eq!(of(0).len(), 8);
    assert_eq!(of(0)[0].1.path, LoadPath::ReadOnly);
    assert_eq!(of(0).iter().filter(|(_, access)| access.path == LoadPath::Default).count(), 2);
    assert_eq!(words(&every, &of(0)[0].1.coords[1]), "8by+1ly+1", "the origin");
    assert_eq!((of(0)[0].1.guard.len(), of(0)[6].1.guard.len()), (2, 3));
    let range = &of(0)[6].1.guard[2];
    assert_eq!((words(&every, &range.value), range.extent, range.per_lane), ("8by+1ly+0".to_owned(), 512, false), "the origin is 1");
    assert_eq!((of(1)[0].0.join(" "), of(1)[1].0.join(" ")), ("k".to_owned(), "h i".to_owned()));
    assert_eq!(every.kernel.ops.0[&(OpClass::Fma, Scalar::F32, 4)], 8, "vectors by themselves");
    let edge = &of(4)[0].1.guard[2];
    assert_eq!((words(&every, &edge.value), edge.extent, edge.per_lane), ("128bx+2lx+0".to_owned(), 514, true));
    assert_eq!(
        of(2).iter().map(|(_, access)| access.indirect.map(|own| own.elements)).collect::<Vec<_>>(),
        [Some(514), Some(514), Some(64), Some(64)]
    );
    assert_eq!(every.guessed_accesses.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["table"; 4]);
    assert!(every.guessed_accesses.iter().all(|(_, position)| all[*position].1.indirect.is_some()));
    assert!(matches!(of(3)[0].1.kind, AccessKind::Store(_)) && of(3)[1].1.kind == AccessKind::Load, "in the order of the file");
    assert_eq!(of(4)[0].1.width, 2);
    assert_eq!(of(4).last().unwrap().1.kind, AccessKind::Store(StorePolicy::NonTemporal));
    assert_eq!(of(5).last().unwrap().1.kind, AccessKind::Atomic);
    assert!(every.kernel.accesses.tensors.iter().any(|tensor| matches!(tensor.place, TensorPlace::Buffer { space: Space::Constant, .. })));
    let TensorPlace::Buffer { layout, .. } = &every.kernel.accesses.tensors[0].place else { panic!("a buffer") };
    assert_eq!((&layout.strides[..], layout.align), (&[520 * 514, 520, 1][..], 7));
}

/// A nest in words: tensors that are loaded, `=` before those that are stored, `|` for a barrier.
fn shape(written: &Written, nest: &[Nest]) -> String {
    let words = nest.iter().map(|node| match node {
        Nest::Loop { var, body } => {
            format!("{}({})", written.kernel.accesses.vars[usize::from(var.0)].name, shape(written, body))
        }
        Nest::Access(access) => {
            let name = &written.kernel.accesses.tensors[usize::from(access.tensor)].name;
            format!("{}{name}", if access.kind == AccessKind::Load { "" } else { "=" })
        }
        Nest::Barrier => "|".to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn barriers_stand_where_they_stand_in_the_file() {
    let of = |text: &str| {
        let written = read(text);
        shape(&written, &written.kernel.accesses.nest)
    };
    let matmul = include_str!("../../../examples/accesses/matmul-tiled.toml");
    assert_eq!(of(matmul), "kt(A B =tileA =tileB | i(tileA tileB) |) =C");
    let transpose = include_str!("../../../examples/accesses/transpose-tiled.toml");
    assert_eq!(of(transpose), "in in in in =tile =tile =tile =tile | tile tile tile tile =out =out =out =out");
    let every = of(include_str!("../../../examples/accesses/every-key.toml"));
    // g nests in k, as in the file.
    assert_eq!(every, "k(g(A A A A A A A A) weights) h(i(weights)) table table k(table table g(=tile | tile B B =B =B)) =bins =bins");
    // First and last of all; a loop that holds nothing else.
    let first = STAR.replacen("[[field]]", "[[barrier]]\n[[field]]", 1) + "[[barrier]]\n";
    assert_eq!(of(&first), "| A A A A A =B |");
    let alone = STAR.replacen("[[field]]", "[[loop]]\nname = \"k\"\ntrips = 3\n[[barrier]]\nin = \"k\"\n[[field]]", 1);
    assert_eq!(of(&alone), "k(|) A A A A A =B");
    // Accesses of a field on both sides of a barrier are those of one tensor, and happen twice.
    let twice = format!("{STAR}[[barrier]]\n[[field]]\nname = \"A\"\nload = [[\"tx\", \"ty\"]]\n");
    assert_eq!(of(&twice), "A A A A A =B | A");
    assert_eq!(read(&twice).kernel.accesses.tensors.len(), 2);
    assert_eq!(read(&twice).places.fields.len(), 2);
}

#[test]
fn small_launches_and_no_operations_are_fine() {
    let one = set(STAR, &[("domain", "8,4")]).unwrap();
    assert_eq!((one.kernel.launch.group_count(), one.points), (1, 32));
    assert!(read(&STAR.replace("flops = { f64_fma = 2, f64 = 1 }", "")).kernel.ops.0.is_empty());
    assert!(read(&STAR.replace("{ f64_fma = 2, f64 = 1 }", "0")).kernel.ops.0.is_empty());
    let seven = read(&STAR.replace("{ f64_fma = 2, f64 = 1 }", "7")).kernel.ops;
    assert_eq!((seven.0[&(OpClass::Fma, Scalar::F64, 1)], seven.flops()), (3, 7), "an FMA counts 2");
    let grid = set(STAR, &[("grid", "3,5")]).unwrap();
    assert_eq!((&grid.domain[..], grid.points), (&[24, 20][..], 480));
}

/// What is said of the star with one piece replaced: message, the text it points at, label and help.
fn said(from: &str, to: &str) -> (String, String, String) {
    assert!(STAR.contains(from), "{from}");
    let text = STAR.replacen(from, to, 1);
    let error = parse(&text, &[]).map(drop).expect_err(to);
    let at = error.at.unwrap_or_else(|| panic!("no place: {to}"));
    let more = [error.label, error.help].into_iter().flatten().collect::<Vec<_>>().join(" | ");
    (error.what, text[at].to_owned(), more)
}

#[test]
fn bad_input_is_named_and_placed() {
    let affine = "address is not affine in the thread coordinates";
    let proxy = "give a representative value instead, as in index = { proxy = \"tx\", spread = 64 }";
    let product = format!("a product of two coordinates | {proxy}");
    let quotient = format!("a quotient or remainder of a coordinate by what is no number above 0 | {proxy}");
    let bent = format!("what bends along several lanes | {proxy}");
    let variables = "known are tx ty tz (point), lx ly lz (lane), bx by bz (block), loops and [params]";
    let overlap = "60 elements from one index to the next overlap the 64 of the faster dimension";
    let access = "[\"tx+1\", \"ty\"]";
    let n = "\n[params]\nn = 64";
    for (from, to, what, at, more) in [
        ("tx+1", "tx*ty", affine, "tx*ty", product.as_str()),
        ("tx+1", "3 + tx % ty", affine, "tx % ty", &quotient),
        ("tx+1", "min(lx + ly, 5)", affine, "\"min(lx + ly, 5)\"", &bent),
        ("tx+1", "abs(tx)", "unknown function `abs`", "abs", "min and max of forms are known"),
        ("tx+1", "tx+q", "unknown variable `q`", "q", variables),
        ("tx+1", "tz", "the block has 2 axes, this mentions axis z", "\"tz\"", ""),
        ("tx+1", "9999999999999999999", "this exceeds 64 bits", "9999999999999999999", ""),
        ("tx+1", "tx + 9223372036854775807", "the address exceeds 64 bits", "[\"tx + 9223372036854775807\", \"ty\"]", ""),
        ("tx+1", "4294967296*tx", "the address exceeds 64 bits, or a factor of it 32 bits", "\"4294967296*tx\"", ""),
        (access, "[\"tx\"]", "`A` has 2 dimensions, this access 1", "[\"tx\"]", ""),
        (
            access,
            "{ at = [\"tx\", \"ty\"], widht = 4 }",
            "unknown field `widht`, expected one of `at`, `index`, `width`, `path`, `kind`, `in`, `guard`, `branch`, `ahead`; did you mean `width`?",
            "widht",
            "",
        ),
        (
            "store = [[\"tx\", \"ty\"]]",
            "store = [{ at = [\"tx\", \"ty\"], ahead = true }]",
            "nobody waits for what is stored",
            "true",
            "`ahead` of a load",
        ),
        (access, "{ at = [\"tx\", \"ty\"], width = 3 }", "a width of 3", "3", "1, 2, 4, 8 or 16 elements"),
        (access, "{ at = [\"tx\", \"ty\"], in = \"k\" }", "there is no loop `k`", "\"k\"", ""),
        (
            access,
            "{ at = [\"tx\", \"ty\"], guard = [\"tx\"] }",
            "`tx` is no comparison",
            "\"tx\"",
            "as in guard = [\"tx >= 1\", \"tx < n - 1\"]",
        ),
        (access, "{ at = [\"tx\", \"ty\"], guard = [\"1 < tx*tx\"] }", affine, "tx*tx", &product),
        (access, "[{ proxy = \"tx\", spread = 0 }, \"ty\"]", "an extent is 0, outside 1 to 2147483647", "0", ""),
        ("block = [8, 4]", "block = [0, 4]", "an extent is 0, outside 1 to 2147483647", "0", ""),
        ("block = [8, 4]", "block = [8, -4]", "an extent is -4, outside 1 to 2147483647", "-4", ""),
        ("block = [8, 4]", "block = [8, 4, 1, 1]", "between one and three axes are needed", "[8, 4, 1, 1]", ""),
        ("block = [8, 4]", "block = [8192, 4096]", "a block of 33554432 threads runs nowhere", "[8192, 4096]", ""),
        (
            "block = [8, 4]",
            "block = [8.5, 4]",
            "invalid type: floating point `8.5`, expected a whole number, or an expression of [params] in quotes",
            "8.5",
            "",
        ),
        ("domain = [\"n\", \"n\"]", "domain = [\"n-64\", \"n\"]", "an extent is 0, outside 1 to 2147483647", "\"n-64\"", ""),
        ("domain = [\"n\", \"n\"]", "domain = [64]", "the block has 2 axes, this 1", "[64]", ""),
        (
            "domain = [\"n\", \"n\"]",
            "domain = [64, 64]\ngrid = [8, 8]",
            "the domain makes a grid of [8, 16], this says [8, 8]",
            "[8, 8]",
            "leave one of them out",
        ),
        ("domain = [\"n\", \"n\"]", "", "there is neither domain nor grid", "[8, 4]", "domain = [points along x, y, z]"),
        ("domain = [\"n\", \"n\"]", "domain = [\"tx\", 1]", "this must not depend on coordinates", "\"tx\"", ""),
        (
            "domain = [\"n\", \"n\"]",
            "domain = [64, 64]\ncolour = 3",
            "unknown field `colour`, expected one of `name`, `block`, `domain`, `grid`, `fold`, `fold_mode`, `registers`, `local`, `chain`, `flops`, `params`, `derived`, `origin`, `guard`, `block_order`, `field`, `loop`, `barrier`",
            "colour",
            "",
        ),
        (
            "{ base = 10, per_point = 3 }",
            "{ base = 10, per_point = 99999 }",
            "registers of a thread lie between 1 and 65536",
            "{ base = 10, per_point = 99999 }",
            "",
        ),
        ("{ base = 10, per_point = 3 }", "-1", "registers of a thread lie between 1 and 65536", "-1", ""),
        (
            "{ f64_fma = 2, f64 = 1 }",
            "{ f80 = 1 }",
            "unknown class of operations `f80`",
            "f80",
            "known are f64 f64_fma f32 f32_fma f16 f16_fma mma mma_bf16 mma_f32 mma_f64 mma_int8 sfu int; of vectors f32x4 f32x4_fma f32x4_sfu",
        ),
        ("{ f64_fma = 2, f64 = 1 }", "-3", "-3 operations a point", "-3", "a count is 0 or more, and below 2^53 a thread"),
        (
            "\"f64\"",
            "\"f65\"",
            "unknown element `f65`; did you mean `f64`?",
            "\"f65\"",
            "known are f16 bf16 f32 f64 i32 u32 i64 u64, and rgba32f rgba16f rgba8 of images",
        ),
        ("align = 3", "strides = [1, 60]", overlap, "[1, 60]", "strides are multiples of each other and leave no overlap"),
        (
            "align = 3",
            "strides = [2, 128]",
            "these are no strides of 2 dimensions",
            "[2, 128]",
            "elements from one index to the next along each dimension, the fastest first, which is 1",
        ),
        ("align = 3", "align = \"n*n*n*n*n*n\"", "an offset is 68719476736, outside -2147483647 to 2147483647", "\"n*n*n*n*n*n\"", ""),
        ("dims = [\"n\", \"n\"]", "dims = [2000000000, 2000000000]", "the field exceeds 64 bits", "[2000000000, 2000000000]", ""),
        (
            "name = \"B\"",
            "name = \"A\"",
            "there are two fields `A`",
            "\"A\"",
            "a field goes on further down with its name and accesses alone",
        ),
        (
            "name = \"B\"\nelement = \"f64\"\n",
            "name = \"B\"\n",
            "`B` has no element",
            "\"B\"",
            "element = \"f32\", dims = [64, 64]; only a field that goes on leaves them out",
        ),
        (n, "\n[params]\nn = 64\n[[barrier]]\nin = \"k\"", "there is no loop `k`", "\"k\"", ""),
        (
            n,
            "\n[params]\nn = 64\n[[loop]]\nname = \"u\"\ntrips = 2\norder = \"unrolled\"\n[[barrier]]\nin = \"u\"",
            "the trips of `u` are written out",
            "\"u\"",
            "a barrier stands outside of loops, or in one with order = \"sequential\"",
        ),
        (n, "\n[params]\nn = 64\n[[barrier]]\nafter = \"A\"", "unknown field `after`, expected `in` or `when`", "after", ""),
        (n, "\n[params]\nn = 64\ntx = 1", "`tx` is already something else", "tx", ""),
        (n, "\n[params]\nn = 64\n[[loop]]\nname = \"n\"\ntrips = 2", "`n` is already something else", "\"n\"", ""),
        (
            n,
            "\n[params]\nn = 64\n[[loop]]\nname = \"u\"\ntrips = 65\norder = \"unrolled\"",
            "65 trips are written out",
            "65",
            "order = \"sequential\" keeps a loop of many trips",
        ),
    ] {
        let found = said(from, to);
        assert_eq!((found.0.as_str(), found.1.as_str(), found.2.as_str()), (what, at, more), "{to}");
    }
}

#[test]
fn bad_settings_are_named() {
    let said = |settings: &[(&str, &str)]| set(STAR, settings).map(drop).map_err(|error| (error.what, error.help, error.at)).unwrap_err();
    let zero = ("an extent is 0, outside 1 to 2147483647".to_owned(), Some("set from outside: block=0,4".to_owned()), None);
    assert_eq!(said(&[("block", "0,4")]), zero);
    assert_eq!(said(&[("n", "many")]).0, "`n` is set to `many`, which is no whole number of 64 bits");
    let known = "what can be set: block, domain, grid, fold, fold_mode, block_order, registers, n";
    assert_eq!(said(&[("m", "1")]).0, format!("there is nothing named `m` to set; {known}"));
    assert_eq!(said(&[("block_order", "xx")]).0, "`xx` is no order of 2 axes");
    assert_eq!(
        set("name = \"x\"\nblock = [1]\ndomain = [1]\nregisters = 1\nflops = 1\nfield = []\n", &[("fold", "4097")]).unwrap_err().what,
        "a thread computes more than 4096 points"
    );
    let many =
        "name = \"x\"\nblock = [1, 1, 1]\ndomain = [1, 1, 1]\nregisters = 1\nfield = []\nfold = [2147483647, 2147483647, 2147483647]\n";
    assert_eq!(set(many, &[]).unwrap_err().what, "a thread computes more than 4096 points");
    assert_eq!(said(&[("fold", "1,4097"), ("block", "1,1")]).0, "folding and written-out loops make more than 4096 accesses of this one");
    // A parameter that breaks the file is placed where it does.
    assert_eq!(said(&[("n", "0")]).0, "an extent is 0, outside 1 to 2147483647");
    assert!(said(&[("n", "0")]).2.is_some());
}

#[test]
fn a_document_is_read_once_for_all_settings() {
    let text = include_str!("../../../examples/accesses/every-key.toml");
    let document = Document::read(text).unwrap();
    assert_eq!(document.params().collect::<Vec<_>>(), [("m", 32), ("n", 514), ("trip", 2)]);
    let settings: [&[(&str, &str)]; 6] = [
        &[("n", "130"), ("grid", "2,16,30")],
        &[("block", "32,8,1"), ("fold", "1,1,1"), ("domain", "64,64,30")],
        &[("block", "0,8,1")],
        &[("fold_mode", "consecutive"), ("registers", "70"), ("block_order", "zyx")],
        &[("q", "1")],
        &[],
    ];
    // A setting leaves nothing behind: whatever came before, the kernel is that of a fresh reading, and so is the error.
    for own in settings.iter().chain(settings.iter().rev()) {
        assert_eq!(document.written(own), set(text, own), "{own:?}");
    }
    let (other, first) = (document.written(settings[0]).unwrap(), document.written(settings[5]).unwrap());
    assert_eq!((other.domain, first.domain), (vec![128, 128, 30], vec![512, 512, 30]));
    assert!(document.written(settings[2]).unwrap_err().help.is_some_and(|help| help.contains("block=0,8,1")));
}

/// The star with loops beside each other: k holds i, then j holds i2.
fn beside() -> String {
    let own = |name: &str, trips: u32, more: &str| format!("[[loop]]\nname = \"{name}\"\ntrips = {trips}\n{more}");
    let loops = [
        own("k", 5, ""),
        own("u", 2, "order = \"unrolled\"\n"),
        own("i", 3, ""),
        own("j", 4, "beside = \"k\"\n"),
        own("i2", 3, ""),
        own("i3", 2, "beside = \"i2\"\n"),
    ];
    let text = STAR.replacen("[[field]]", &(loops.concat() + "[[field]]"), 1);
    text.replace(
        "[\"tx\", \"ty\"], [\"tx+1\", \"ty\"], [\"tx-1\", \"ty\"], [\"tx\", \"ty+1\"]",
        "[\"tx+i\", \"k\"], [\"k\", \"u\"], [\"j\", \"i2\"], { at = [\"i3\", 0], in = \"j\" }",
    )
}

#[test]
fn loops_stand_beside_each_other() {
    let found = read(&beside());
    assert_eq!(shape(&found, &found.kernel.accesses.nest), "k(i(A) A A) j(i2(A) i3(A)) A =B");
    assert_eq!(coords(&found, 0)[3], ["1i2+0", "1j+0"]);
    let names: Vec<&str> = found.kernel.accesses.vars[4..].iter().map(|var| &*var.name).collect();
    assert_eq!(names, ["k", "i", "j", "i2", "i3"]);
    // A loop that several accesses are in is one loop, where nothing else lies between them.
    let again = read(&beside().replace("[\"j\", \"i2\"]", "[\"j\", \"i2\"], [\"k\", 7]"));
    assert_eq!(shape(&again, &again.kernel.accesses.nest), "k(i(A) A A) j(i2(A)) k(A) j(i3(A)) A =B");
}

#[test]
fn loops_that_stand_apart_hold_nothing_together() {
    let said = |from: &str, to: &str| {
        let text = beside();
        assert!(text.contains(from), "{from}");
        let text = text.replacen(from, to, 1);
        let error = parse(&text, &[]).map(drop).expect_err(to);
        (error.what, text[error.at.expect("a place")].to_owned(), error.help.unwrap_or_default())
    };
    let nested = "loops nest in the order of the file, but for those with `beside`".to_owned();
    let apart = |a: &str, b: &str| format!("`{a}` and `{b}` stand beside each other: nothing is in both");
    assert_eq!(said("\"tx+i\", \"k\"", "\"tx+i\", \"j\""), (apart("i", "j"), "[\"tx+i\", \"j\"]".to_owned(), nested.clone()));
    let within = "{ at = [\"i3\", 0], in = \"i2\" }";
    assert_eq!(said("{ at = [\"i3\", 0], in = \"j\" }", within), (apart("i2", "i3"), within.to_owned(), nested.clone()));
    assert_eq!(said("beside = \"k\"", "beside = \"q\"").0, "there is no loop `q`");
    let above = "a loop stands beside one that is above it in the file";
    assert_eq!(said("beside = \"k\"", "beside = \"i2\""), ("there is no loop `i2`".to_owned(), "\"i2\"".to_owned(), above.to_owned()));
    // A condition on everything is in the loop it mentions, and so is everything.
    let error = parse(&beside().replacen("name = \"star\"", "name = \"star\"\nguard = [\"k < 3\"]", 1), &[]).unwrap_err();
    assert_eq!(error.what, apart("i2", "k"));
}

#[test]
fn conditions_may_be_ranges() {
    let with =
        |guard: &str| STAR.replace("[\"tx+1\", \"ty\"]", &format!("{{ at = [\"tx+1\", \"ty\"], width = 2, guard = [\"{guard}\"] }}"));
    let bound = |guard: &str| {
        let found = read(&with(guard));
        let bound = accesses(&found)[1].1.guard[0].clone();
        (words(&found, &bound.value), bound.extent, bound.per_lane)
    };
    let x = |constant: i64| format!("8bx+1lx+{constant}");
    assert_eq!(bound("0 <= tx + 1 < n"), (x(1), 64, false));
    assert_eq!(bound("3 < tx <= n - 1"), (x(-4), 60, false));
    assert_eq!(bound(" -2 <= tx < n  per element "), (x(2), 66, true));
    let said = |guard: &str| {
        let error = parse(&with(guard), &[]).map(drop).expect_err(guard);
        (error.what, error.help.unwrap_or_default())
    };
    let no = |guard: &str| format!("`{guard}` is no comparison");
    let plain = "as in guard = [\"tx >= 1\", \"tx < n - 1\"]".to_owned();
    let element = "of each element of a vector a range is asked, as in guard = [\"0 <= 4*tx < n per element\"]".to_owned();
    for (guard, what, help) in [
        ("0 < tx > 3", no("0 < tx > 3"), &plain),
        ("0 <= tx < n < 99", no("0 <= tx < n < 99"), &plain),
        ("tx < n per element", no("tx < n per element"), &element),
        ("per element", no("per element"), &element),
        ("3 <= tx < 3", "no number lies in this range".to_owned(), &String::new()),
        ("3 <= tx < 2", "no number lies in this range".to_owned(), &String::new()),
        (
            "0 <= tx < ty",
            "the ends of a range must not depend on coordinates".to_owned(),
            &"two conditions, as in guard = [\"lx <= tx\", \"tx < lx + n\"]".to_owned(),
        ),
        ("-9223372036854775807 <= tx < 9223372036854775807", "this exceeds 64 bits".to_owned(), &String::new()),
    ] {
        assert_eq!(said(guard), (what, help.clone()), "{guard}");
    }
    // Points of a thread share what they touch under one condition; ranges of different places are different conditions.
    let text = STAR.replace("[\"tx+1\", \"ty\"]", "{ at = [\"lx\", 0], guard = [\"0 <= ty < 9\"] }");
    assert_eq!(coords(&set(&text, &[("fold", "1,2")]).unwrap(), 0).iter().filter(|at| at[1] == "1lx+0").count(), 2);
    let same = text.replace("0 <= ty < 9", "0 <= bx < 9");
    assert_eq!(coords(&set(&same, &[("fold", "1,2")]).unwrap(), 0).iter().filter(|at| at[1] == "1lx+0").count(), 1);
}

#[test]
fn a_grid_may_have_other_axes_than_its_blocks() {
    let text = STAR.replace("block = [8, 4]", "block = [8]").replace("domain = [\"n\", \"n\"]", "grid = [8, 3, 5, 7]");
    let text = text.replace("\"tx\", \"ty+1\"", "\"tx + b3\", \"ty + bz\"");
    let found = read(&text);
    assert_eq!((&found.kernel.launch.groups[..], &found.kernel.launch.lanes[..], found.points), (&[8, 3, 5, 7][..], &[8][..], 64 * 105));
    assert_eq!(coords(&found, 0)[3], ["1by+1bz+0", "8bx+1b3+1lx+0"]);
    let none = read(&text.replace("block = [8]", "block = []"));
    assert_eq!((none.kernel.launch.group_size(), none.points), (1, 840));
    assert_eq!(set(&text, &[("block", "")]).unwrap().kernel.launch.lanes, [0_u32; 0]);
    let said = |from: &str, to: &str| parse(&text.replacen(from, to, 1), &[]).map(drop).expect_err(to).what;
    assert_eq!(said("b3", "b4"), "the grid has 4 axes, this mentions axis 4");
    assert_eq!(said("b3", "ly"), "the block has 1 axes, this mentions axis y");
    assert_eq!(said("block = [8]", "block = [8, 1, 1, 1, 1, 1, 1, 1, 1, 1]"), "between one and nine axes are needed");
    let fewer = text.replace("block = [8]", "block = [8, 2, 1, 1, 4]").replace("grid = [8, 3, 5, 7]", "grid = [8, 3]");
    let fewer = read(&fewer.replace("\"tx + b3\", \"ty + bz\"", "\"tx + 64*l4\", \"ty\""));
    assert_eq!(
        (&fewer.kernel.launch.groups[..], &fewer.kernel.launch.lanes[..], fewer.points),
        (&[8, 3][..], &[8, 2, 1, 1, 4][..], 64 * 6 * 4)
    );
    assert_eq!(coords(&fewer, 0)[3], ["2by+1ly+0", "8bx+1lx+64l4+0"]);
    assert_eq!(said("grid = [8, 3, 5, 7]", "grid = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"), "between one and nine axes are needed");
    assert_eq!(said("grid = [8, 3, 5, 7]", "domain = [64, 3]"), "the block has 1 axes, this 2");
    // A name of the file's own stands for what the file says.
    let own = text.replace("n = 64", "n = 64\nb3 = 2");
    assert_eq!(coords(&read(&own), 0)[3][1], "8bx+1lx+2");
}

#[test]
fn operations_have_types_and_widths() {
    let ops = |flops: &str| read(&STAR.replace("f64_fma = 2, f64 = 1", flops)).kernel.ops.0.into_iter().collect::<Vec<_>>();
    assert_eq!(ops("f32x4_fma = 2"), [((OpClass::Fma, Scalar::F32, 4), 2)]);
    assert_eq!(ops("f32x16 = 1, f64_sfu = 2"), [((OpClass::Float, Scalar::F32, 16), 1), ((OpClass::Special, Scalar::F64, 1), 2)]);
    assert_eq!(ops("i32x2 = 3, u64 = 1"), [((OpClass::Int, Scalar::I32, 2), 3), ((OpClass::Int, Scalar::U64, 1), 1)]);
    assert_eq!(
        ops("sfu = 1, f32_sfu = 2, int = 1, i32 = 1"),
        [((OpClass::Special, Scalar::F32, 1), 3), ((OpClass::Int, Scalar::I32, 1), 2)]
    );
    for word in ["f32x5", "f32x1", "f32x", "bool", "i32_fma", "f32_int", "x4", "f32_", "f32x4x4"] {
        let found = said("f64_fma = 2, f64 = 1", &format!("{word} = 1"));
        assert_eq!((found.0.split('`').nth(1), found.1.as_str()), (Some(word), word));
    }
}

#[test]
fn a_loop_that_nothing_mentions_repeats_what_stands_right_outside() {
    let with = |loops: &str| read(&STAR.replace("[[field]]\nname = \"A\"", &format!("{loops}\n[[field]]\nname = \"A\"")));
    let fma = |written: &Written| written.kernel.ops.0[&(OpClass::Fma, Scalar::F64, 1)];
    let of = |written: &Written| shape(written, &written.kernel.accesses.nest);
    let one = with("[[loop]]\nname = \"t\"\ntrips = 100\n");
    assert_eq!((of(&one), fma(&one)), ("t(A A A A A =B)".to_owned(), 200));
    let said = "loop `t`: nothing mentions it, so that its 100 trips repeat all flops and the 6 accesses outside of all loops";
    assert_eq!(one.repeated, [said]);
    let nested = with("[[loop]]\nname = \"t\"\ntrips = 10\n[[loop]]\nname = \"u\"\ntrips = 3\n");
    assert_eq!((of(&nested), fma(&nested)), ("t(u(A A A A A =B))".to_owned(), 60));
    let beside = with("[[loop]]\nname = \"t\"\ntrips = 10\n[[loop]]\nname = \"u\"\ntrips = 3\nbeside = \"t\"\n");
    assert_eq!((of(&beside), fma(&beside)), ("t(A A A A A =B)".to_owned(), 60));
    assert!(beside.repeated[1].starts_with("loop `u`") && beside.repeated[1].contains("the 0 accesses"), "{:?}", beside.repeated);
    let out = with("[[loop]]\nname = \"t\"\ntrips = 4\norder = \"unrolled\"\n");
    assert_eq!((of(&out), fma(&out)), ("A A A A A =B".to_owned(), 8));
    assert!(out.repeated[0].starts_with("loop `t`"), "{:?}", out.repeated);
    // In a loop that is mentioned, what is in that loop alone; one around it holds it as before.
    let text = STAR.replace("[\"tx-1\", \"ty\"]", "[\"tx-k\", \"ty\"]");
    let inner = text.replace(
        "[[field]]\nname = \"A\"",
        "[[loop]]\nname = \"k\"\ntrips = 2\n[[loop]]\nname = \"t\"\ntrips = 5\n[[field]]\nname = \"A\"",
    );
    let inner = read(&inner);
    assert_eq!((of(&inner), fma(&inner)), ("A A k(t(A)) A A =B".to_owned(), 10));
    assert!(inner.repeated[0].contains("the 1 access in `k` alone"), "{:?}", inner.repeated);
    let outer = text.replace(
        "[[field]]\nname = \"A\"",
        "[[loop]]\nname = \"t\"\ntrips = 5\n[[loop]]\nname = \"k\"\ntrips = 2\n[[field]]\nname = \"A\"",
    );
    let outer = read(&outer);
    assert_eq!((of(&outer), fma(&outer), outer.repeated.len()), ("A A t(k(A)) A A =B".to_owned(), 2, 0));
}

#[test]
fn parameters_and_trips_that_are_not_known_have_a_range() {
    let with = |params: &str, trips: &str| {
        STAR.replace("n = 64", params).replace("[[field]]\nname = \"A\"", &format!("{trips}\n[[field]]\nname = \"A\""))
    };
    let text = with("n = 64\nm = { lo = 1, hi = 64, typical = 20 }", "[[loop]]\nname = \"k\"\ntrips = \"m\"\n");
    let unknown = read(&text);
    let range = |written: &Written| written.unknowns.iter().map(|own| (own.key.clone(), own.lo, own.typical, own.hi)).collect::<Vec<_>>();
    assert_eq!(range(&unknown), [("m".to_owned(), 1, 20, 64)]);
    assert_eq!(unknown.kernel.accesses.vars[4].trips, Some(20));
    let known = set(&text, &[("m", "64")]).unwrap();
    assert_eq!((known.unknowns.len(), known.kernel.accesses.vars[4].trips), (0, Some(64)));
    // Trips that grow with a loop around: as often as they are on average.
    let triangular = with("n = 64", "[[loop]]\nname = \"k\"\ntrips = 9\n[[loop]]\nname = \"i\"\ntrips = \"2*k + 1\"\n");
    let triangle = read(&triangular);
    assert_eq!(range(&triangle), [("trips.i".to_owned(), 9, 9, 17)]);
    assert_eq!(triangle.kernel.accesses.vars[5].trips, Some(9));
    assert_eq!(set(&triangular, &[("trips.i", "17")]).unwrap().kernel.accesses.vars[5].trips, Some(17));
    let error = |text: &str| parse(text, &[]).unwrap_err();
    assert_eq!(error(&triangular.replace("2*k + 1", "tx + 1")).what, "this must not depend on coordinates");
    assert_eq!(error(&triangular.replace("2*k + 1", "k - 3")).what, "a loop of -3 to 5 trips");
    assert_eq!(error(&text.replace("typical = 20", "typical = 65")).what, "`m` lies between 1 and 64, but not 65");
    let unrolled = error(&triangular.replace("\"2*k + 1\"", "\"2*k + 1\"\norder = \"unrolled\""));
    assert_eq!(unrolled.what, "the trips of `i` are not one number, as they have to be here");
}

#[test]
fn registers_are_estimated_where_nobody_says() {
    let without =
        |text: &str| text.lines().filter(|line| !line.starts_with("registers")).map(|line| format!("{line}\n")).collect::<String>();
    let star = read(&without(STAR));
    let [unknown] = star.unknowns.as_slice() else { panic!("{:?}", star.unknowns) };
    assert_eq!((unknown.key.as_str(), unknown.lo, unknown.typical, unknown.hi), ("registers", 14, 32, 48));
    assert_eq!((star.kernel.registers, star.registers_guessed, star.places.registers), (32, false, None));
    assert_eq!(set(&without(STAR), &[("registers", "40")]).map(|own| (own.kernel.registers, own.unknowns.len())), Ok((40, 0)));
    // What the examples say lies within.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/accesses");
    let mut within = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let stated = read(&text).kernel.registers.into();
        let estimated = read(&without(&text));
        let unknown = estimated.unknowns.iter().find(|own| own.key == "registers").unwrap();
        within += usize::from((unknown.lo..=unknown.hi).contains(&stated));
    }
    // All but a convolution whose loops its compiler writes out.
    assert_eq!(within, 20);
}

/// Numbers that follow from parameters, and fields and barriers that are there or not.
#[test]
fn a_text_is_a_kernel_of_many_configurations() {
    let text = "name = \"x\"\nblock = [\"lanes\"]\ngrid = [8]\nregisters = \"a + lanes\"\n[params]\nn = 64\nstages = 1\n[derived]\na = \"2*lanes\"\nlanes = \"n / 2\"\n\
                [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [4096]\nload = [[\"n*bx + lx\"]]\n\
                [[field]]\nname = \"T\"\nwhen = \"stages\"\nkind = \"local\"\nelement = \"f32\"\ndims = [\"lanes\"]\nstore = [[\"lx\"]]\n\
                [[barrier]]\nwhen = \"stages\"\n";
    let of = |settings: &[(&str, &str)]| set(text, settings).unwrap().kernel;
    let (staged, plain) = (of(&[]), of(&[("stages", "0"), ("n", "128")]));
    assert_eq!((staged.launch.lanes.as_slice(), staged.registers, staged.local.0), ([32].as_slice(), 96, 128.0));
    assert_eq!((plain.launch.lanes.as_slice(), plain.registers, plain.local.0), ([64].as_slice(), 192, 0.0));
    assert_eq!((staged.accesses.tensors.len(), plain.accesses.tensors.len()), (2, 1));
    let barriers = |kernel: &Kernel| kernel.accesses.nest.iter().filter(|node| matches!(node, Nest::Barrier)).count();
    assert_eq!((barriers(&staged), barriers(&plain)), (1, 0));
    let said = |from: &str, to: &str| set(&text.replace(from, to), &[]).unwrap_err().what;
    assert_eq!(said("\"n / 2\"", "\"a / 2\""), "`a` follows from itself");
    assert_eq!(said("a = \"2*lanes\"", "n = 3"), "`n` is already something else");
    assert_eq!(said("\"n / 2\"", "\"m / 2\""), "unknown variable `m`");
    assert_eq!(said("\"n / 2\"", "\"n / 0\""), "this divides by zero");
}

/// Somebody waits where the same is loaded for use at once.
#[test]
fn a_load_is_ahead_where_all_that_load_it_say_so() {
    let ahead = |loads: &str| {
        let text = format!(
            "name = \"t\"\nblock = [8]\ndomain = [64]\n[[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [64]\nload = [{loads}]\n"
        );
        let mut found = vec![];
        parse(&text, &[]).expect("is read").kernel.accesses.each(&mut |access| found.push(access.ahead));
        found
    };
    let next = "{ at = [\"tx\"], ahead = true }";
    assert_eq!(ahead(next), [true]);
    assert_eq!(ahead(&format!("{next}, [\"tx\"]")), [false]);
    assert_eq!(ahead(&format!("[\"tx\"], {next}")), [false]);
    assert_eq!(ahead("{ at = [\"tx\"], ahead = false }"), [false]);
}
