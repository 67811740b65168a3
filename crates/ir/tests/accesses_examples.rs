//! The examples of the text form: all are read, those that the paper's public implementation defines touch the same addresses, and no
//! change of their text makes the reader panic.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use warpsight_ir::accesses::text::{Written, parse};
use warpsight_ir::{AccessKind, Nest, TensorPlace, VarId};

fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/accesses");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap())).collect()
}

fn example(name: &str) -> Written {
    let (_, text) = examples().into_iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no example {name}"));
    parse(&text, &[]).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

#[test]
fn every_example_is_read_and_names_its_source() {
    let all = examples();
    assert!(all.len() >= 17, "{}", all.len());
    for (name, text) in &all {
        let written = parse(text, &[]).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(*written.kernel.name, *name.as_str());
        assert!(text.starts_with("# "), "{name} says where it is from");
        assert!(!written.kernel.accesses.nest.is_empty());
    }
}

#[test]
fn loops_of_the_image_convolution_stay_loops_unless_written_out() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "conv-image-15").unwrap();
    let sequential = text.replace("order = \"unrolled\"\n", "");
    let conv = parse(&sequential, &[]).unwrap();
    let [Nest::Loop { body, .. }, Nest::Access(_), ..] = conv.kernel.accesses.nest.as_slice() else { panic!("a loop, then stores") };
    let [Nest::Loop { body, .. }] = body.as_slice() else { panic!("a loop in it") };
    assert_eq!(body.len(), 5, "4 inputs, and 1 weight that the points of a thread share");
    assert_eq!(conv.kernel.accesses.nest.len(), 5, "4 stores");
    // Written out, outputs 8 rows apart share 7 of their 15 rows.
    let conv = parse(&text, &[]).unwrap();
    assert_eq!(conv.kernel.accesses.nest.len(), 15 * (15 + 3 * 8) + 15 * 15 + 4);
}

#[test]
fn kernels_that_mention_lanes_are_tied_to_their_block() {
    let all = examples();
    let tied = all.iter().filter(|(_, text)| parse(text, &[]).unwrap().tied_to_block).map(|(name, _)| name.as_str());
    assert_eq!(
        tied.collect::<Vec<_>>(),
        ["clblast-gemm", "conv-shared", "every-key", "matmul-tiled", "sweep-l1", "sweep-l2", "transpose-tiled"]
    );
}

#[test]
fn a_local_tile_is_as_large_as_its_padding_makes_it() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "transpose-tiled").unwrap();
    let local = |pad: &str| parse(&text, &[("pad".to_owned(), pad.to_owned())]).unwrap().kernel.local.0;
    assert_eq!((local("1"), local("0")), (32.0 * 33.0 * 4.0, 32.0 * 32.0 * 4.0));
}

/// A field's accesses: byte offset of each for every sampled thread; loads and stores apart.
type Addresses = BTreeMap<(String, bool), BTreeSet<Vec<i64>>>;

/// Threads as (block, lane) along x, y, z.
const THREADS: [([i64; 3], [i64; 3]); 4] = [([0, 0, 0], [0, 0, 0]), ([1, 0, 0], [3, 0, 0]), ([2, 3, 0], [1, 0, 0]), ([1, 2, 3], [0, 0, 0])];

fn addresses(written: &Written) -> Addresses {
    fn walk(written: &Written, nest: &[Nest], to: &mut Addresses) {
        let accesses = &written.kernel.accesses;
        let axes = written.domain.len();
        for node in nest {
            let Nest::Access(access) = node else { panic!("these kernels have no loops") };
            let tensor = &accesses.tensors[usize::from(access.tensor)];
            let TensorPlace::Buffer { element, dims, layout, .. } = &tensor.place else { panic!("a buffer") };
            assert!(layout.strides.is_empty());
            let at = |(block, lane): &([i64; 3], [i64; 3])| {
                let value =
                    |var: VarId| if usize::from(var.0) < axes { block[usize::from(var.0)] } else { lane[usize::from(var.0) - axes] };
                let element_at =
                    access.coords.iter().zip(dims).fold(0, |at, (form, extent)| at * extent + form.eval(value).expect("small"));
                (layout.align + element_at) * i64::from(element.bytes())
            };
            let side = matches!(access.kind, AccessKind::Store(_));
            to.entry((tensor.name.to_string(), side)).or_default().insert(THREADS.iter().map(at).collect());
        }
    }
    let mut found = Addresses::new();
    walk(written, &written.kernel.accesses.nest, &mut found);
    found
}

/// The value of `tidx*3+2` and the like.
fn value(expression: &str, t: [i64; 3]) -> i64 {
    let factor = |text: &str| match text {
        "tidx" => t[0],
        "tidy" => t[1],
        "tidz" => t[2],
        number => number.parse().unwrap_or_else(|_| panic!("{number} in {expression}")),
    };
    let term = |text: &str| text.split('*').map(factor).product::<i64>();
    let signed = expression.replace('-', "+-");
    signed.split('+').map(|part| part.strip_prefix('-').map_or_else(|| term(part), |rest| -term(rest))).sum()
}

/// Addresses by the definition of a peer file.
fn defined(kernel: &Value, block: [i64; 3]) -> Addresses {
    let number = |value: &Value| value.as_i64().expect("a number");
    let (element, align) = (number(&kernel["datatype_bytes"]), number(&kernel["alignment_elements"]));
    let dims: Vec<i64> = kernel["field_dims"].as_array().unwrap().iter().map(number).collect();
    let mut found = Addresses::new();
    for (side, list) in [(false, "loads"), (true, "stores")] {
        for (field, tuples) in kernel[list].as_object().unwrap() {
            for tuple in tuples.as_array().unwrap() {
                // One file abbreviates the centre.
                let centre = || ["tidx", "tidy", "tidz"].map(str::to_owned).to_vec();
                let tuple = tuple.as_array().map_or_else(centre, |t| t.iter().map(|e| e.as_str().unwrap().to_owned()).collect());
                let at = |(blocks, lane): &([i64; 3], [i64; 3])| {
                    let t = std::array::from_fn(|i| blocks[i] * block[i] + lane[i]);
                    let [x, y, z] = [0, 1, 2].map(|i| value(&tuple[i], t));
                    (align + x + (y + z * dims[1]) * dims[0]) * element
                };
                found.entry((field.clone(), side)).or_default().insert(THREADS.iter().map(at).collect());
            }
        }
    }
    found
}

#[test]
fn examples_touch_what_the_peer_defines() {
    for (name, peer) in [
        ("star2d5-f64", "star2d5_dp_15000__DeviceAmpereA100_40GB"),
        ("star3d-r1-f64", "star3d7_r1_dp_512__DeviceAmpereA100_40GB"),
        ("star3d-r4-f64", "star3d25_r4_dp_640x512x512__DeviceAmpereA100_40GB"),
        ("lbm-d3q15-interface", "lbm_ac_d3q15_dp_254x198x198__DeviceAmpereA100_40GB"),
        ("stream-scale", "scale1d__DeviceAmpereA100_40GB"),
        ("vec3-aos", "sample1d_vec3__DeviceAmpereA100_40GB"),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes/peer").join(format!("{peer}.json"));
        let Ok(text) = std::fs::read_to_string(&file) else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", file.display());
            eprintln!("skipped: no {peer}");
            continue;
        };
        let peer: Value = serde_json::from_str(&text).unwrap();
        let written = example(name);
        let extent = |i: usize| written.kernel.launch.lanes.get(i).map_or(1, |&n| i64::from(n));
        let block = [0, 1, 2].map(extent);
        assert_eq!(addresses(&written), defined(&peer["kernel"], block), "{name}");
        let domain: Vec<u64> = peer["domain"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert_eq!(written.points, domain.iter().product::<u64>(), "{name}");
    }
}

/// Two definitions are given in words: 3 × 3 taps of 4 channels, and rows of 27 neighbours.
#[test]
fn counts_of_the_definitions_in_words() {
    let count = |written: &Written| -> BTreeMap<String, usize> {
        addresses(written).into_iter().map(|((name, _), all)| (name, all.len())).collect()
    };
    let named = |list: &[(&str, usize)]| list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<BTreeMap<_, _>>();
    assert_eq!(count(&example("conv-direct")), named(&[("stencil", 36), ("images", 36), ("output", 4)]));
    let ell = example("ell-product");
    assert_eq!(count(&ell), named(&[("X", 27), ("mat", 27), ("idx", 27), ("Y", 1)]));
    assert_eq!(ell.guessed_accesses.len(), 27);
    let neighbours = &addresses(&ell)[&("X".to_owned(), false)];
    let first: Vec<i64> = neighbours.iter().map(|all| all[0] / 8).collect();
    assert_eq!((first[0], first[13], first[26]), (-1 - 258 - 258 * 258, 0, 1 + 258 + 258 * 258));
}

#[test]
fn no_change_of_a_text_makes_the_reader_panic() {
    let all = examples();
    let mut rng = fastrand::Rng::with_seed(2309);
    let pieces = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "4294967296",
        "\"tx*ty\"",
        "\"n/0\"",
        "\"n%(n-n)\"",
        "[]",
        "{}",
        "\"\"",
        "\"é\"",
        "1e9",
        "true",
        "[[field]]",
        "[[loop]]",
        "name",
        "=",
        ",",
        "]",
        "\"((((((((tx\"",
        "2147483647",
        "order = \"unrolled\"",
        "\"tz\"",
        "16",
        "{ proxy = \"tx\", spread = 9223372036854775807 }",
        "\"tx\"",
        "\"n*n*n*n*n*n*n\"",
        "fold = [7, 7, 7]",
        "\n",
        "k",
        "u",
        "1",
        "\"2147483647*tx\"",
    ];
    let (mut read, mut refused) = (0, 0);
    for round in 0..6000 {
        let mut text = all[round % all.len()].1.clone();
        for _ in 0..rng.usize(1..4) {
            let mut spot = || (0..).map(|_| rng.usize(0..=text.len())).find(|&at| text.is_char_boundary(at)).unwrap();
            let (a, b) = (spot(), spot());
            let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 12));
            let to = (to..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap();
            match rng.u8(0..4) {
                0 => text.replace_range(from..to, ""),
                1 => text.insert_str(from, pieces[rng.usize(0..pieces.len())]),
                2 => {
                    // A number for a number reaches farther than noise.
                    let digits: Vec<usize> = text.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
                    if let Some(&at) = digits.get(rng.usize(0..digits.len().max(1))) {
                        text.replace_range(at..=at, pieces[rng.usize(0..5)]);
                    }
                }
                _ => {
                    let quoted: Vec<(usize, &str)> = text.match_indices('"').collect();
                    if let Some(&(at, _)) = quoted.get(rng.usize(0..quoted.len().max(1))) {
                        text.insert_str(at, pieces[rng.usize(0..pieces.len())].trim_matches('"'));
                    }
                }
            }
        }
        match parse(&text, &[]) {
            Ok(_) => read += 1,
            Err(error) => {
                refused += 1;
                assert!(!error.what.is_empty());
                if let Some(at) = error.at {
                    assert!(text.get(at.clone()).is_some(), "{at:?} is no part of {text}");
                }
            }
        }
    }
    assert!(read > 300 && refused > 1000, "{read} read, {refused} refused");
}
