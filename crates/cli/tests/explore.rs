//! `warpsight explore`: what it ranks is what `predict` says, files are whole, threads change nothing, wrong input is named.

mod common;

use common::{Sandbox, said};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Output;

fn example(name: &str) -> String {
    format!("{}/../../examples/accesses/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn json_ranks_what_predict_says() {
    let s = Sandbox::new();
    let file = example("star3d-r1-f64");
    let args = ["explore", &file, "--device", "a100-40,mi210", "--block-sizes", "128", "--fold", "1,2y", "--sweep", "n=64..96:32"];
    let found = parsed(&s.run(&[&args[..], &["--top", "7", "--sample-check", "20", "--json"]].concat(), 0));
    let expected = ["configurations", "kernel", "kind", "predicted", "ranked_by", "ranking", "refused", "sample_check"];
    assert_eq!(keys(&found), expected.into());
    // 36 blocks of 128 threads along three axes.
    assert_eq!((&found["configurations"], &found["kind"]), (&json!(2 * 36 * 2 * 2), &json!("predicted")));
    assert_eq!(found["predicted"].as_u64().zip(found["refused"]["configurations"].as_u64()).map(|(a, b)| a + b), Some(288));
    assert_eq!(found["sample_check"], json!({"checked": 20, "different": 0, "seed": 1}));
    let ranking = found["ranking"].as_array().expect("a list");
    assert_eq!(ranking.len(), 7);
    let speeds: Vec<f64> = ranking.iter().map(|own| own["points_per_second"].as_f64().expect("a number")).collect();
    assert!(speeds.is_sorted_by(|a, b| a >= b), "{speeds:?}");
    for (rank, own) in (1..).zip(ranking) {
        // An entry is a prediction and what was predicted.
        let set = own["set"].as_array().expect("settings").iter().flat_map(|set| ["--set", set.as_str().expect("a setting")]);
        let device = own["device"].as_str().expect("a name");
        let again = parsed(&s.run(&["predict", &file, "--device", device, "--json"].into_iter().chain(set).collect::<Vec<_>>(), 0));
        let more = ["block", "device", "fold", "fold_name", "params", "rank", "set"];
        assert_eq!(keys(own), keys(&again).into_iter().chain(more).collect());
        for (key, value) in again.as_object().expect("an object") {
            assert_eq!(&own[key], value, "{key} of rank {rank}");
        }
        let block: u64 = own["block"].as_array().expect("extents").iter().map(|n| n.as_u64().expect("a number")).product();
        assert_eq!((block, &own["rank"]), (128, &json!(rank)));
        assert!([json!({"n": 64}), json!({"n": 96})].contains(&own["params"]));
    }
}

#[test]
fn threads_change_nothing_and_csv_has_everything() {
    let s = Sandbox::new();
    let file = example("star2d5-f64");
    let of = |threads: &str| {
        let csv = s.text(&format!("out{threads}.csv"));
        let args =
            ["explore", &file, "--device", "v100", "mi210", "--block-sizes", "pow2,2048", "--set", "registers=64", "--threads", threads];
        let more = ["--csv", &csv, "--sample-check", "5", "--seed", "9", "--json"];
        (s.run(&[&args[..], &more].concat(), 0).stdout, std::fs::read_to_string(csv).expect("a table"))
    };
    let (one, two) = (of("1"), of("2"));
    assert!(one == two, "one thread says something else than two");
    let (found, table): (Value, String) = (serde_json::from_slice(&one.0).expect("JSON"), one.1);
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let names = reader.headers().expect("names").clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("rows of one length");
    let at = |row: &csv::StringRecord, name: &str| {
        let i = names.iter().position(|own| own == name).unwrap_or_else(|| panic!("no column {name}"));
        row.get(i).expect("a cell").to_owned()
    };
    // Powers of two of 32 (64) to 1024 threads along two axes, and 12 blocks of 2048 threads, that run nowhere.
    let expected = (5..=10).map(|e| e + 1).sum::<usize>() + (6..=10).map(|e| e + 1).sum::<usize>() + 24;
    assert_eq!((rows.len(), &found["configurations"]), (expected, &json!(expected)));
    assert_eq!(found["refused"]["configurations"], 24);
    let reasons = found["refused"]["reasons"].as_array().expect("a list");
    assert!(reasons.iter().any(|own| own["reason"].as_str().is_some_and(|reason| reason.contains("2048"))), "{reasons:?}");
    let refused: Vec<_> = rows.iter().filter(|row| at(row, "kind") == "refused").collect();
    assert!(refused.len() == 24 && refused.iter().all(|row| at(row, "seconds").is_empty() && at(row, "refused").contains("2048")));
    // The best row is the first of the ranking, to the last bit.
    let number = |row: &csv::StringRecord, name: &str| at(row, name).parse::<f64>().expect("a number");
    let predicted: Vec<_> = rows.iter().filter(|row| at(row, "kind") == "predicted").collect();
    let best = predicted.iter().max_by(|a, b| number(a, "points_per_second").total_cmp(&number(b, "points_per_second"))).expect("one");
    let first = &found["ranking"][0];
    let through = |value: f64| serde_json::from_str::<Value>(&json!(value).to_string()).expect("a number");
    assert_eq!(first["points_per_second"], through(number(best, "points_per_second")));
    let same: Vec<_> = predicted.iter().filter(|row| at(row, "points_per_second") == at(best, "points_per_second")).collect();
    // Of equals, the first row.
    let block: Vec<String> = first["block"].as_array().expect("extents").iter().map(Value::to_string).collect();
    assert_eq!((block.join("x"), first["device"].as_str()), (at(same[0], "block"), Some(at(same[0], "device").as_str())));
    assert_eq!(first["volumes"]["l2_store"], through(number(same[0], "l2_store")));
    assert_eq!(first["seconds"], through(number(same[0], "seconds")));
    assert_eq!(first["interval"]["seconds"], json!([through(number(same[0], "seconds_lo")), through(number(same[0], "seconds_hi"))]));
}

/// Devices, blocks, foldings and sweeps in another order are the same configurations with other numbers.
#[test]
fn the_ranking_does_not_depend_on_the_order_of_what_is_asked() {
    let s = Sandbox::new();
    let file = example("lbm-d3q15-interface");
    let of = |devices: &str, blocks: &str, folds: &str, sweeps: [&str; 2]| {
        let args = ["explore", &file, "--device", devices, "--block-sizes", blocks, "--fold", folds, "--set", "nz=34"];
        let more = ["--sweep", sweeps[0], "--sweep", sweeps[1], "--top", "1000", "--json"];
        let found = parsed(&s.run(&[&args[..], &more].concat(), 0));
        let ranking = found["ranking"].as_array().expect("a list").iter().map(|own| {
            let what = ["device", "block", "fold", "params"].map(|key| own[key].to_string()).concat();
            (own["points_per_second"].as_f64().expect("a number").to_bits(), what)
        });
        (found["predicted"].clone(), ranking.collect::<Vec<_>>())
    };
    let (predicted, mut one) = of("a100-40,mi210", "64,32x2x2", "1,2z", ["nx=66..98:32", "ny=34..50:16"]);
    let (again, mut other) = of("mi210,a100-40", "32x2x2,64", "2z,1", ["ny=34..50:16", "nx=66..98:32"]);
    assert_eq!((&predicted, predicted.as_u64()), (&again, Some(one.len() as u64)));
    // Both are in order of speed already; of equals, either may come first.
    for ranking in [&mut one, &mut other] {
        assert!(ranking.is_sorted_by(|a, b| f64::from_bits(a.0) >= f64::from_bits(b.0)));
        ranking.sort_by(|a, b| f64::from_bits(b.0).total_cmp(&f64::from_bits(a.0)).then_with(|| a.1.cmp(&b.1)));
    }
    assert!(one.len() > 200 && one[0].0 != one[one.len() - 1].0, "{}", one.len());
    assert_eq!(one, other);
}

#[test]
fn figures_show_the_sweep_and_what_is_spent() {
    let s = Sandbox::new();
    let (plot, parts) = (s.text("layers.svg"), s.text("parts.svg"));
    let file = example("star3d-r1-f64");
    let args = ["explore", &file, "--device", "a100-40", "--block-sizes", "64x2x1,16x2x4", "--sweep", "n=64..160:32", "--plot", &plot];
    s.run(&[&args[..], &["--breakdown", &parts]].concat(), 0);
    let read = |file: &str| std::fs::read_to_string(file).expect("a figure");
    let layers = read(&plot);
    for word in ["\n64x2x1\n", "\n16x2x4\n", "DRAM load, B/point", "time, ps/point", "all predicted on a100-40", "against n"] {
        assert!(layers.contains(word), "{word}");
    }
    // Two blocks in four panels, each over four sizes.
    let curves = layers.lines().filter(|line| line.starts_with("<polyline") && line.contains("stroke-width=\"2\""));
    let corners =
        curves.map(|line| line.split("points=\"").nth(1).expect("points").split('"').next().expect("an end").split_whitespace().count());
    assert_eq!(corners.collect::<Vec<_>>(), [4; 8]);
    let spent = read(&parts);
    for word in ["1: ", "8: ", "time of each limiter alone, ms", "compulsory", "n=64", "dram"] {
        assert!(spent.contains(word), "{word}");
    }
    // Without a sweep, times with intervals.
    s.run(&["explore", &file, "--device", "a100-40", "mi210", "--block-sizes", "64", "--set", "n=64", "--plot", &plot], 0);
    let times = read(&plot);
    assert!(times.contains("rank") && times.contains("mi210") && times.contains("bars are intervals"));
    // Nothing else was left in the folder.
    let left = std::fs::read_dir(s.path("layers.svg").parent().expect("a folder")).expect("a folder").count();
    assert_eq!(left, 2, "temporary files stay behind");
}

#[test]
fn wrong_input_is_named() {
    let s = Sandbox::new();
    let (star, flat, tiled) = (example("star3d-r1-f64"), example("star2d5-f64"), example("transpose-tiled"));
    let cases: &[(&str, &[&str], &str)] = &[
        (&star, &["--fold", "2"], "`2` is no folding"),
        (&star, &["--fold", "2y2y"], "`2y2y` is no folding"),
        (&flat, &["--fold", "2z"], "the kernel's block has 2 axes: the folding 2z does not fit"),
        (&flat, &["--block-sizes", "4x4x4"], "the block 4x4x4 does not fit"),
        (&star, &["--block-sizes", "some"], "`some` is none of: all, pow2, file"),
        (&star, &["--sweep", "n=9..3"], "empty range"),
        (&star, &["--sweep", "n"], "`n` is no sweep"),
        (&star, &["--sweep", "q=1..2"], "there is no parameter `q` to sweep; parameters are n"),
        (&star, &["--sweep", "n=64..65", "--set", "n=4"], "`n` is given twice"),
        (&star, &["--set", "q=4"], "there is nothing named `q` to set"),
        (&star, &["--block-sizes", "2048"], "none of 78 configurations can be predicted, for instance a100-40, block 2048x1x1, fold 1: "),
        (&tiled, &["--block-sizes", "256"], "mention lanes or blocks"),
        (&star, &["--top", "0"], "0 is not in 1..=10000"),
        (&star, &["--threads", "0"], "0 is not in 1..=1024"),
    ];
    for (file, more, message) in cases {
        let output = s.run(&[&["explore", file, "--device", "a100-40"], *more].concat(), 2);
        assert!(said(&output).contains(message), "{more:?}: {}", said(&output));
        let output = s.run(&[&["explore", file, "--device", "a100-40", "--json"], *more].concat(), 2);
        let error: Value = serde_json::from_slice(&output.stderr).expect("JSON");
        assert_eq!(error["error"]["kind"], "input", "{more:?}");
    }
    let output = s.run(&["explore", &star, "--device", "a101"], 2);
    assert!(said(&output).contains("there is no device `a101`"));
    s.run(&["explore", "no/such/file.toml", "--device", "v100"], 5);
    // A table that cannot be written is known before anything is computed.
    s.run(&["explore", &star, "--device", "v100", "--csv", &s.text("no/folder/out.csv")], 5);
}

#[test]
fn a_kernel_that_is_written_for_its_block_keeps_it() {
    let s = Sandbox::new();
    let found = parsed(&s.run(&["explore", &example("transpose-tiled"), "--device", "a100-40", "v100", "--json"], 0));
    assert_eq!(found["configurations"], 2);
    let devices: BTreeSet<&str> = found["ranking"].as_array().expect("a list").iter().filter_map(|own| own["device"].as_str()).collect();
    assert_eq!(devices, ["a100-40", "v100"].into());
}

const KNOBS: &str = "MWG,NWG,KWG,MDIMC,NDIMC,MDIMA,NDIMB,KWI,VWM,VWN,STRM,STRN,SA,SB";
const ROWS: [&str; 5] = [
    "16,16,32,8,8,8,8,2,1,1,0,0,0,0",
    "32,64,32,8,16,8,16,2,2,2,0,0,1,0",
    "64,64,32,16,16,16,16,2,4,4,0,0,1,1",
    "128,128,32,16,8,16,32,2,8,4,0,0,1,1",
    "128,16,32,8,16,8,16,2,1,1,0,0,0,1",
];

/// A table with these milliseconds.
fn table(times: &[&str]) -> String {
    let rows = ROWS.iter().zip(times).map(|(row, time)| format!("{row},{time}\n"));
    format!("{KNOBS},ms\n{}", rows.collect::<String>())
}

#[test]
fn a_measured_table_is_compared_with_what_predict_says() {
    let s = Sandbox::new();
    let file = example("clblast-gemm");
    let explore = |table: &str, more: &[&str]| {
        let args = ["explore", &file, "--device", "rtx2080ti", "--table", table, "--json"];
        parsed(&s.run(&[&args[..], more].concat(), 0))
    };
    std::fs::write(s.path("first.csv"), table(&["5", "4", "3", "", "1"])).expect("a file");
    let csv = s.text("rows.csv");
    let found = explore(&s.text("first.csv"), &["--csv", &csv]);
    assert_eq!((&found["rows"], &found["failed"], &found["refused"]), (&json!(4), &json!(1), &json!(0)));
    let rows: Vec<Vec<String>> =
        std::fs::read_to_string(&csv).expect("the rows").lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    assert_eq!((rows.len(), rows[0][14].as_str(), rows[0][15].as_str()), (5, "measured_s", "predicted_s"));
    // The kernel of a row is that of its settings.
    let set =
        rows[0][..14].iter().zip(&rows[3]).flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]).collect::<Vec<_>>();
    let args: Vec<&str> = ["predict", &file, "--device", "rtx2080ti", "--json"].into_iter().chain(set.iter().map(String::as_str)).collect();
    let own = parsed(&s.run(&args, 0));
    assert_eq!(own["seconds"].as_f64().map(|seconds| seconds.to_string()).as_ref(), Some(&rows[3][15]));
    // Measured as predicted, and the other way round.
    let predicted = [0, 1, 2, 4].map(|i| rows[if i == 4 { 4 } else { i + 1 }][15].parse::<f64>().expect("a number"));
    let measured = |of: &dyn Fn(f64) -> f64| {
        let times = predicted.map(|seconds| of(seconds * 1e3).to_string());
        table(&[&times[0], &times[1], &times[2], "", &times[3]])
    };
    std::fs::write(s.path("same.csv"), measured(&|own| own)).expect("a file");
    let same = explore(&s.text("same.csv"), &[]);
    assert_eq!((&same["tau"], &same["pick"], &same["best_of_ten"]), (&json!(1.0), &json!(1.0), &json!(1.0)));
    std::fs::write(s.path("other.csv"), measured(&|own| 1000.0 - own)).expect("a file");
    let other = explore(&s.text("other.csv"), &[]);
    assert_eq!((&other["tau"], &other["best_of_ten"]), (&json!(-1.0), &json!(1.0)));
    assert!(other["pick"].as_f64() > Some(1.0));
    let groups = same["groups"].as_array().expect("groups");
    assert!(groups.iter().all(|own| (own["measured_over_predicted"].as_f64().expect("a number") - 1.0).abs() < 1e-9), "{groups:?}");
    // Packed, it is the same.
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    std::io::Write::write_all(&mut packed, measured(&|own| own).as_bytes()).expect("packed");
    let packed = packed.finish().expect("packed");
    std::fs::write(s.path("same.csv.gz"), &packed).expect("a file");
    assert_eq!(explore(&s.text("same.csv.gz"), &[]), same);
    std::fs::write(s.path("short.csv.gz"), &packed[..packed.len() / 2]).expect("a file");
    let said = said(&s.run(&["explore", &file, "--device", "rtx2080ti", "--table", &s.text("short.csv.gz")], 2));
    assert!(said.contains("cut short or damaged"), "{said}");
}

#[test]
fn wrong_tables_are_said() {
    let s = Sandbox::new();
    let right = table(&["5", "4", "3", "2", "1"]);
    let cases = [
        (right.replace(",ms", ""), "there is no column `ms`"),
        (right.replace(",SB", ",SC"), "`SC` is no parameter of this one"),
        (right.lines().map(|line| format!("{}\n", line.split_once(',').expect("cells").1)).collect(), "no column for the parameter `MWG`"),
        ("block_size_x,ms\n16,1\n".to_owned(), "the table is of another kernel: `block_size_x` is no parameter"),
        (table(&["NaN"]), "line 2, `ms`: `NaN` is no time above 0"),
        (table(&["", ""]), "no row of the table has a time (2 did not run)"),
        (format!("{KNOBS},ms\n"), "no row of the table has a time (0 did not run)"),
        (String::new(), "the table is empty"),
        (right.replace("128,16", "128,x"), "line 6, `NWG`: `x` is no whole number"),
    ];
    for (text, expected) in cases {
        std::fs::write(s.path("table.csv"), &text).expect("a file");
        let output = s.run(&["explore", &example("clblast-gemm"), "--device", "rtx3090", "--table", &s.text("table.csv")], 2);
        let found = said(&output);
        assert!(found.contains(expected), "{expected}: {found}");
    }
    std::fs::write(s.path("table.csv"), &right).expect("a file");
    let two = ["explore", &example("clblast-gemm"), "--device", "rtx3090,a40", "--table", &s.text("table.csv")];
    assert!(said(&s.run(&two, 2)).contains("one --device"));
}
