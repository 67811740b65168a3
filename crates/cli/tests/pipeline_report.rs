//! The report of `warpsight pipeline`: its page stands alone, and says what the JSON says.

mod common;
#[path = "../../dataflow/tests/common/mod.rs"]
mod graphs;

use common::page::{self, parsed, words};
use common::{Sandbox, said};
use graphs::Builder;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A page and its figures.
struct Report {
    html: String,
    json: Value,
}

fn report(sandbox: &Sandbox, args: &[&str]) -> Report {
    let file = sandbox.text("report.html");
    let all = [&["pipeline"], args, &["--html", &file, "--json"]].concat();
    let output = sandbox.run(&all, 0);
    let json = serde_json::from_slice(&output.stdout).expect("JSON");
    Report { html: std::fs::read_to_string(file).expect("a page"), json }
}

fn example(name: &str) -> String {
    format!("{}/../../examples/dataflow/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

fn paper() -> String {
    format!("{}/../../data/dataflow/paper.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Nothing is fetched, and every number is one of the JSON. How many there are, by figure.
fn sound(report: &Report) -> BTreeMap<String, usize> {
    page::sound(&report.html, &report.json["figures"])
}

fn rows<'a>(report: &'a Report, figure: &str) -> &'a Vec<Value> {
    report.json["figures"][figure].as_array().unwrap_or_else(|| panic!("{figure}"))
}

const FIGURES: [&str; 7] = ["speedups", "timelines", "utilisation", "traffic", "sensitivity", "groups", "energy"];

#[test]
fn the_page_stands_alone_and_says_what_the_json_says() {
    let sandbox = Sandbox::new();
    let report = report(&sandbox, &[&example("nerf"), "--device", "a100-40", "--policy", "kitsune", "--simulate", "--compare", &paper()]);
    let found = sound(&report);
    for figure in FIGURES.iter().chain(&["compared"]) {
        assert!(found.get(*figure).is_some_and(|&numbers| numbers > 5), "{figure}: {found:?}");
        let document = parsed(&report.html);
        assert!(document.descendants().any(|node| node.attribute("id") == Some(figure)), "{figure}");
        for row in rows(&report, figure) {
            let tag = row["tag"].as_str().unwrap_or_else(|| panic!("{figure}: {row}"));
            assert!(["predicted", "simulated", "measured", "estimated"].contains(&tag), "{tag}");
        }
    }
    // The same numbers as those of the verb.
    let end = |execution: &str, tag: &str| {
        let own = |row: &&Value| row["part"] == "end-to-end" && row["execution"] == execution && row["tag"] == tag;
        rows(&report, "speedups").iter().find(own).expect("a row")["speedup"].clone()
    };
    assert_eq!(end("dataflow", "predicted"), report.json["dataflow"]["speedup"]);
    assert_eq!(end("vertical", "predicted"), report.json["vertical"]["speedup"]);
    assert_eq!(end("dataflow", "simulated"), report.json["simulated"]["dataflow"]["speedup"]);
    let dataflow = rows(&report, "traffic").iter().find(|row| row["execution"] == "dataflow").expect("a row");
    assert_eq!(dataflow["reduction_percent"], report.json["dataflow"]["traffic_reduction_percent"]);
    assert_eq!((&dataflow["published_covered"], &dataflow["published_percent"]), (&json!(24.0), &json!(98.58)));
    // Timelines end where executions do.
    for (execution, seconds) in [("bulk-synchronous", &report.json["bsp_s"]), ("dataflow", &report.json["dataflow"]["s"])] {
        let own = rows(&report, "timelines").iter().filter(|row| row["execution"] == execution && row["tag"] == "predicted");
        let end = own.filter_map(|row| row["end_s"].as_f64()).fold(0.0, f64::max);
        assert!((end / seconds.as_f64().expect("seconds") - 1.0).abs() < 1e-12, "{execution}");
    }
    for row in rows(&report, "utilisation") {
        let parts =
            ["low_both_percent", "low_sm_percent", "low_dram_percent", "neither_percent"].map(|key| row[key].as_f64().expect("a share"));
        assert!((parts.iter().sum::<f64>() - 100.0).abs() < 1e-9, "{row}");
    }
    // Bytes times constants.
    for row in rows(&report, "energy") {
        let [bytes, each, joules] = ["moved_bytes", "pj_per_byte", "spent_j"].map(|key| row[key].as_f64().expect("a number"));
        assert!((joules / (bytes * each * 1e-12) - 1.0).abs() < 1e-12 && row["tag"] == "estimated" && row["source"] != "", "{row}");
    }
}

#[test]
fn groups_are_drawn_with_stages_queues_and_places() {
    let sandbox = Sandbox::new();
    let report = report(&sandbox, &[&example("train_nerf"), "--device", "a100-40", "--policy", "kitsune", "--simulate"]);
    sound(&report);
    let document = parsed(&report.html);
    let drawn = document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
    let drawn: Vec<String> = drawn.map(|node| words(node).trim().to_owned()).collect();
    let mut sides = 0;
    for group in rows(&report, "groups") {
        let stages = group["stages"].as_array().expect("stages");
        let held = |unit: &str, stage: usize| {
            let own = group["assignment"].as_array().expect("places").iter().filter(|pair| pair[unit]["stage"] == stage);
            own.count() as u64
        };
        for (at, stage) in stages.iter().enumerate() {
            let class = if stage["class"] == "tensor" { "tensor" } else { "SIMT" };
            let line = format!("{at}: {class}, {} CTA{}", stage["ctas"], if stage["ctas"] == 1 { "" } else { "s" });
            assert!(drawn.contains(&line), "{line}");
            assert_eq!(Some(held("tensor", at) + held("simt", at)), stage["ctas"].as_u64(), "{group}");
        }
        sides += group["side_outputs"].as_array().expect("side outputs").len();
        assert_eq!(group["assignment"].as_array().map(Vec::len), Some(108));
        for queue in group["queues"].as_array().expect("queues") {
            let (payload, depth) = (queue["payload_bytes"].as_f64().expect("bytes"), &queue["depth"]);
            let size = if payload >= 1024.0 { format!("{:.0} KiB", payload / 1024.0) } else { format!("{payload:.0} B") };
            assert!(drawn.iter().any(|text| text.ends_with(&format!(": {size} × {depth}"))), "{queue}");
        }
    }
    assert!(sides > 5 && drawn.iter().any(|text| text == "to memory"), "activations are saved for the backward pass");
    // Shares of both passes, predicted and simulated; the two passes are all of the time.
    let passes: Vec<&str> = rows(&report, "utilisation").iter().filter_map(|row| row["pass"].as_str()).collect();
    assert_eq!(passes, ["forward", "backward", "both"].repeat(6));
    for all in rows(&report, "utilisation").chunks(3) {
        let [forward, backward, both] = [0, 1, 2].map(|at: usize| all[at]["time_s"].as_f64().expect("seconds"));
        assert!(((forward + backward) / both - 1.0).abs() < 1e-12 && forward > 0.0 && backward > 0.0, "{all:?}");
    }
}

#[test]
fn what_is_read_ran_before() {
    let sandbox = Sandbox::new();
    for name in ["train_dlrm", "mgn"] {
        let report = report(&sandbox, &[&example(name), "--device", "a100-40", "--policy", "kitsune"]);
        let graph = graphs::graph(name);
        // What was selected and is no pipeline says why.
        let refused = rows(&report, "refused");
        assert!(name != "train_dlrm" || !refused.is_empty());
        assert!(
            refused.iter().all(|row| row["reason"].as_str().is_some_and(|why| why.len() > 10) && report.html.contains("run by themselves"))
        );
        for execution in ["bulk-synchronous", "vertical", "dataflow"] {
            let own: Vec<&Value> = rows(&report, "timelines").iter().filter(|row| row["execution"] == execution).collect();
            let of: BTreeMap<&str, &Value> = own
                .iter()
                .flat_map(|row| row["nodes"].as_array().expect("nodes").iter().filter_map(|node| Some((node.as_str()?, *row))))
                .collect();
            assert_eq!(of.len(), graph.nodes.len(), "each operator runs once");
            for id in graph.ids() {
                let row = of[graph.node(id).name.as_str()];
                for producer in graph.producers(id) {
                    let other = of[graph.node(producer).name.as_str()];
                    assert!(std::ptr::eq(row, other) || other["end_s"].as_f64() <= row["begin_s"].as_f64(), "{name} {execution} {row}");
                }
            }
        }
    }
}

#[test]
fn what_a_pipeline_reads_late_still_runs_before_it() {
    // The chain begins with the first operator of all; its end reads rows that gathers, not part of it, bring.
    let mut graph = Builder::default();
    let x = graph.input(&[65536, 256], "input");
    let table = graph.input(&[65536, 256], "param");
    let mut y = x;
    for _ in 0..3 {
        let product = graph.linear(&y, 256);
        y = graph.simt(&[&product], 1.0);
    }
    let index = graph.input(&[65536, 1], "input");
    // Some of them come behind the first product in any order by depth.
    let rows_of = (0..4).fold(table, |rows, _| graph.node("gather", &[&rows, &index], &[65536, 256], 0.0));
    graph.simt(&[&y, &rows_of], 1.0);
    let sandbox = Sandbox::new();
    let file = sandbox.text("late.json");
    std::fs::write(&file, graph.json()).expect("writes");
    let report = report(&sandbox, &[&file, "--device", "a100-40"]);
    let own: Vec<&Value> = rows(&report, "timelines").iter().filter(|row| row["execution"] == "dataflow").collect();
    let kinds: Vec<&str> = own.iter().filter_map(|row| row["kind"].as_str()).collect();
    assert_eq!(kinds, ["operator", "operator", "operator", "operator", "pipeline"], "{own:?}");
}

/// Figures without names.
fn nameless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(object) => {
            let names = ["graph", "graphs", "nodes", "tensor", "limiter", "file", "name", "reason"];
            object.retain(|key, _| !names.contains(&key.as_str()));
            for (key, inside) in object.iter_mut() {
                let names = inside.as_array().filter(|_| key == "operators").map(Vec::len);
                *inside = names.map_or_else(|| nameless(inside.take()), |count| json!(count));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|inside| *inside = nameless(inside.take())),
        _ => {}
    }
    value
}

#[test]
fn names_and_order_change_names_only() {
    let sandbox = Sandbox::new();
    for (name, policy) in [("llama_tok", "best"), ("train_dlrm", "kitsune")] {
        let plain = report(&sandbox, &[&example(name), "--device", "a100-40", "--policy", policy]);
        let other = sandbox.text("other.json");
        std::fs::write(&other, graphs::disguised(&graphs::text(name), 7)).expect("writes");
        let other = report(&sandbox, &[&other, "--device", "a100-40", "--policy", policy]);
        assert_eq!(nameless(plain.json["figures"].clone()), nameless(other.json["figures"].clone()), "{name}");
        assert_ne!(plain.json["figures"], other.json["figures"]);
    }
}

#[test]
fn little_graphs_say_so() {
    let sandbox = Sandbox::new();
    let mut one = Builder::default();
    let x = one.input(&[64, 64], "input");
    one.linear(&x, 64);
    // Two products near the peak of the device, which a pipeline does not make faster.
    let mut large = Builder::default();
    let x = large.input(&[8192, 8192], "input");
    let y = large.linear(&x, 8192);
    large.linear(&y, 8192);
    for (name, graph) in [("one", &one), ("large", &large)] {
        let file = sandbox.text(&format!("{name}.json"));
        std::fs::write(&file, graph.json()).expect("writes");
        let report = report(&sandbox, &[&file, "--device", "a100-40", "--policy", "kitsune", "--simulate"]);
        sound(&report);
        let text = words(parsed(&report.html).root_element());
        assert!(text.contains("there are no groups"), "{name}");
        assert!(text.contains(&format!("{name} on a100-40: no operators run as one")), "{name}");
        assert_eq!(rows(&report, "groups").len(), 0);
        assert!(rows(&report, "asked")[0]["simulation"].as_str().is_some_and(|how| how.contains("two-arbiter")));
        assert!(!rows(&report, "timelines").is_empty() && !rows(&report, "traffic").is_empty());
    }
}

#[test]
fn names_are_text() {
    let sandbox = Sandbox::new();
    let evil = "<a href=\"http://example.org\">&'\u{8}\u{ffff}";
    let mut graph: Value = serde_json::from_str(&graphs::text("nerf")).expect("JSON");
    let rename = |name: &Value| json!(format!("{evil}{}", name.as_str().map_or_else(|| name.to_string(), str::to_owned)));
    let tensors = graph["tensors"]
        .as_object()
        .expect("tensors")
        .iter()
        .map(|(name, own)| (rename(&json!(name)).as_str().expect("text").to_owned(), own.clone()));
    graph["tensors"] = Value::Object(tensors.collect());
    for node in graph["nodes"].as_array_mut().expect("nodes") {
        node["id"] = rename(&node["id"]);
        node["op"] = rename(&node["op"]);
        for side in ["inputs", "outputs"] {
            node[side].as_array_mut().expect("tensors").iter_mut().for_each(|name| *name = rename(name));
        }
    }
    graph["app"] = evil.into();
    let file = sandbox.text("a<b>&\"c'.json");
    std::fs::write(&file, graph.to_string()).expect("writes");
    let report = report(&sandbox, &[&file, "--device", "a100-40", "--policy", "kitsune"]);
    sound(&report);
    let text = words(parsed(&report.html).root_element());
    assert!(text.contains("a<b>&\"c' on a100-40") && text.contains("<a href=\"http://example.org\">&'\u{fffd}\u{fffd}"));
}

#[test]
fn graphs_and_devices_beside_each_other() {
    let sandbox = Sandbox::new();
    let names = ["dlrm", "grc", "mgn", "nerf", "llama_tok"];
    let files = names.map(example);
    let mut args: Vec<&str> = files.iter().map(String::as_str).collect();
    let paper = paper();
    args.extend(["--device", "a100-40", "h200", "--policy", "kitsune", "--compare", &paper]);
    let report = report(&sandbox, &args);
    sound(&report);
    for (name, file) in names.iter().zip(&files) {
        for device in ["a100-40", "h200"] {
            for figure in FIGURES.iter().chain(&["asked"]) {
                let own = rows(&report, figure).iter().filter(|row| row["graph"] == *name && row["device"] == device);
                assert!(own.count() > 0, "{figure} of {name} on {device}");
            }
            let end = rows(&report, "speedups").iter().find(|row| {
                row["graph"] == *name && row["device"] == device && row["part"] == "end-to-end" && row["execution"] == "dataflow"
            });
            assert_eq!(end.expect("a row")["speedup"], report.json[file][device]["dataflow"]["speedup"], "{name} on {device}");
            // What is published is of one device.
            let traffic = rows(&report, "traffic")
                .iter()
                .find(|row| row["graph"] == *name && row["device"] == device && row["execution"] == "dataflow");
            assert_eq!(traffic.expect("a row")["published_percent"].is_null(), device == "h200");
        }
    }
    let means: Vec<&Value> = rows(&report, "speedups").iter().filter(|row| row["part"] == "graphs").collect();
    assert_eq!(means.len(), 4, "two executions on two devices");
    for mean in means {
        let of = |row: &&Value| row["part"] == "end-to-end" && ["device", "execution", "tag"].iter().all(|key| row[*key] == mean[*key]);
        let logs: Vec<f64> = rows(&report, "speedups").iter().filter(of).filter_map(|row| Some(row["speedup"].as_f64()?.ln())).collect();
        let expected = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        assert!(logs.len() == 5 && (mean["speedup"].as_f64().expect("a number") / expected - 1.0).abs() < 1e-12);
    }
    // More of both gains at least something; more multiprocessors alone may share too little second-level bandwidth.
    let both = rows(&report, "sensitivity").iter().filter(|row| row["twice"] == "both" && row["execution"] == "bulk-synchronous");
    let gains: Vec<f64> = both.filter_map(|row| row["speedup"].as_f64()).collect();
    assert!(gains.len() == 12 && gains.iter().all(|&gain| (1.0..=2.0).contains(&gain)), "five graphs and their mean, twice: {gains:?}");
}

#[test]
fn what_disagrees_is_listed_with_its_term() {
    let sandbox = Sandbox::new();
    let text = r#"
[paper]
title = "A <paper>"
device = "a100-40"
policy = "kitsune"
[[number]]
graphs = ["nerf"]
of = "operators"
value = 24
within = 0
cite = "table 1"
term = "never seen"
[[number]]
graphs = ["nerf"]
of = "dataflow_traffic_percent"
value = 50
within = 1
cite = "table 2"
term = "bytes & more"
[[number]]
graphs = ["nerf", "nobody"]
of = "dataflow_speedup"
by = "geometric_mean"
value = 1
within = 0
cite = "section 1"
[[conflict]]
about = "speedup"
says = [{ claim = "1.3", cite = "a" }, { claim = "8 % of 84 %", cite = "b" }]
bound = { share = 0.84, speedup = 1.08 }
why = "too little"
"#;
    let file = sandbox.text("other.toml");
    std::fs::write(&file, text).expect("writes");
    let report = report(&sandbox, &[&example("nerf"), "--device", "a100-40", "--policy", "kitsune", "--compare", &file]);
    let found = sound(&report);
    let compared = rows(&report, "compared");
    assert_eq!(compared.len(), 2, "of graphs that are there");
    assert_eq!((&compared[0]["agrees"], &compared[0]["term"], &compared[0]["found"]), (&json!(true), &Value::Null, &json!(24.0)));
    assert_eq!((&compared[1]["agrees"], &compared[1]["term"]), (&json!(false), &json!("bytes & more")));
    let difference = compared[1]["found"].as_f64().expect("a number") - 50.0;
    assert!((compared[1]["difference"].as_f64().expect("a number") - difference).abs() < 1e-9);
    // Amdahl: 1 / (0.16 + 0.84 / 1.08).
    let most = report.json["figures"]["conflicts"][0]["at_most"].as_f64().expect("a number");
    assert!((most - 1.0 / (0.16 + 0.84 / 1.08)).abs() < 1e-12 && most < 1.07 && found["conflicts"] == 1);
    assert!(words(parsed(&report.html).root_element()).contains("A <paper>"));

    // Terms are about the paper's groups.
    let best = self::report(&sandbox, &[&example("nerf"), "--device", "a100-40", "--compare", &file]);
    assert!(rows(&best, "compared")[1]["term"].as_str().is_some_and(|term| term.contains("policy `best`")));

    // In text too.
    let output = sandbox.run(&["pipeline", &example("nerf"), "--device", "a100-40", "--policy", "kitsune", "--compare", &file], 0);
    let printed = said(&output);
    assert!(
        printed.contains("1 of 2 comparisons with published numbers agree") && printed.contains("dataflow_traffic_percent"),
        "{printed}"
    );

    for (wrong, to, code, message) in [
        ("of = \"operators\"", "of = \"operaters\"", 2, "unknown variant `operaters`"),
        ("value = 24", "value = nan", 2, "finite"),
        ("share = 0.84", "share = 1.84", 2, "a share from 0 to 1"),
        ("graphs = [\"nerf\"]", "graphs = []", 2, "needs graphs"),
        ("[paper]", "[papers]", 2, "papers"),
    ] {
        std::fs::write(&file, text.replace(wrong, to)).expect("writes");
        let output = sandbox.run(&["pipeline", &example("nerf"), "--device", "a100-40", "--compare", &file], code);
        assert!(said(&output).contains(message), "{}", said(&output));
    }
    sandbox.run(&["pipeline", &example("nerf"), "--device", "a100-40", "--compare", &sandbox.text("none.toml")], 5);
    sandbox.run(&["pipeline", "--check", "plan.json", "--device", "a100-40", "--html", &sandbox.text("x.html")], 2);
    sandbox.run(&["pipeline", &example("nerf"), "--device", "a100-40", "--html", &sandbox.text("no/folder/x.html")], 5);
}

#[test]
fn the_committed_numbers_are_whole() {
    let text = std::fs::read_to_string(paper()).expect("the file");
    let published: toml::Value = toml::from_str(&text).expect("TOML");
    let numbers = published["number"].as_array().expect("numbers");
    // Table 2: five numbers of eleven graphs.
    let table = numbers.iter().filter(|number| number["cite"].as_str().is_some_and(|cite| cite.starts_with("table 2")));
    assert_eq!(table.count(), 55);
    for number in numbers {
        for graph in number["graphs"].as_array().expect("graphs") {
            assert!(std::path::Path::new(&example(graph.as_str().expect("a name"))).exists(), "{graph}");
        }
    }
    assert!(published["conflict"].as_array().is_some_and(|all| all.len() >= 5));
    for conflict in published["conflict"].as_array().expect("conflicts") {
        let says = conflict["says"].as_array().expect("statements");
        assert!(says.len() > 1 && says.iter().all(|one| one["cite"].as_str().is_some_and(|cite| !cite.is_empty())), "{conflict}");
    }
}
