//! `warpsight probe` from the command line: measured, interrupted, replayed, compared, and fed with nonsense. No GPU is needed.

mod common;

use common::{Sandbox, page, said};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SIM: [&str; 5] = ["probe", "--device", "sim:adreno640", "--scale", "tiny"];
/// What is measured within a second.
const FEW: [&str; 2] = ["--only", "timer,warp,hierarchy"];

/// A probe of a few aspects into a folder.
fn probed(s: &Sandbox, dir: &str, more: &[&str]) -> Value {
    let output = s.run(&[&SIM[..], &FEW, &["--out", &s.text(dir), "--seed", "7", "--json"], more].concat(), 0);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn json_of(s: &Sandbox, args: &[&str], code: i32) -> Value {
    let output = s.run(&[args, &["--json"]].concat(), code);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
}

/// A folder with a recording of one cache, as MT4G writes it: fast loads up to a footprint, slow ones beyond.
fn recording(dir: &Path, holds: u32) {
    std::fs::create_dir_all(dir).expect("a folder");
    let row = |n: u32| {
        let (bytes, latency) = (512 * n, if 512 * n <= holds { 40 } else { 200 });
        format!("{bytes},{}\n", (0..64).map(|i| (latency + i % 3).to_string()).collect::<Vec<_>>().join(","))
    };
    std::fs::write(dir.join("L1_Size.csv"), (1..=64).map(row).collect::<String>()).expect("writes");
}

#[test]
fn a_device_becomes_findings_a_profile_and_a_page() {
    let s = Sandbox::new();
    let found = probed(&s, "out", &["--profile-out", &s.text("own.toml"), "--page", &s.text("own.html")]);
    let number = |key: &str| found["keys"][key]["value"].as_f64();
    // What the simulated silicon was made with.
    assert_eq!((number("texture.l1.capacity_bytes"), number("texture.l1.line_bytes")), (Some(1024.0), Some(32.0)), "{found}");
    let capacity = &found["keys"]["texture.l1.capacity_bytes"];
    assert!(capacity["lo"].as_f64() <= Some(1024.0) && capacity["hi"].as_f64() >= Some(1024.0), "{capacity}");
    assert_eq!(capacity["source"], "simulated");
    let latency = number("texture.l1.latency_s").expect("a latency");
    assert!((1e-8..1e-6).contains(&latency), "SI units: {latency}");
    let names: Vec<&str> = found["aspects"].as_array().expect("aspects").iter().filter_map(|own| own["name"].as_str()).collect();
    assert_eq!(names, ["timer", "warp", "hierarchy"]);
    assert_eq!((&found["device"]["id"], &found["contradictions"]), (&"sim:adreno640".into(), &Value::Array(vec![])));
    let verdicts = |word: &str| found["consistency"].as_array().expect("comparisons").iter().filter(|one| one["verdict"] == word).count();
    assert_eq!(verdicts("contradiction"), 0, "{}", found["consistency"]);
    assert!(verdicts("consistent") > 1 && verdicts("not checkable") > 1, "{}", found["consistency"]);
    assert_eq!(found["profile"]["memory"]["texture_l1"]["bytes"]["value"], 1024.0);

    let html = std::fs::read_to_string(s.path("out/page.html")).expect("a page");
    let numbers = page::sound(&html, &found);
    let known = found["keys"].as_object().expect("keys").values().filter(|fact| fact["value"].is_number()).count();
    assert_eq!(numbers.get("keys"), Some(&known), "every number has its row");
    let curves = s.json("out/findings.json")["findings"]["curves"].as_array().expect("curves").len();
    assert!(curves > 0);
    // The hierarchy is drawn, too; there is no peak for a roofline.
    assert_eq!(html.matches("<svg").count(), curves + 1);
    assert!(html.contains("images L1") && html.contains("1 KiB, lines of 32 B") && html.contains("001, figure 6"));
    for (file, own) in [("out/profile.toml", "own.toml"), ("out/page.html", "own.html")] {
        let text = |name: &str| std::fs::read_to_string(s.path(name)).expect("a file");
        assert_eq!(text(file), text(own));
    }

    // The same again measures nothing, and its records are a recording.
    let records = s.json("out/hierarchy.json");
    let again = probed(&s, "out", &[]);
    assert_eq!((&again["keys"], s.json("out/hierarchy.json")), (&found["keys"], records));
    assert!(again["aspects"].to_string().contains("measured earlier"), "{again}");
    let replayed = json_of(&s, &["probe", "--replay", &s.text("out"), "--out", &s.text("anew")], 0);
    assert_eq!((&replayed["keys"], &replayed["profile"]), (&found["keys"], &found["profile"]));
    s.run(&["probe", "diff", &s.text("out"), &s.text("anew")], 0);
}

#[test]
fn everything_is_measured_and_told_to_people() {
    let s = Sandbox::new();
    let output = s.run(&[&SIM[..], &["--out", &s.text("out")]].concat(), 0);
    let text = said(&output);
    for word in
        ["Registers", "registers.per_thread_max", "Images", "001, figure 5", "Held against itself", "texture.l1.ways", "page.html are in"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let html = std::fs::read_to_string(s.path("out/page.html")).expect("a page");
    assert!(page::words(page::parsed(&html).root()).contains("operations a second"), "a roofline");
    for file in ["timer", "warp", "registers", "hierarchy", "bandwidth"] {
        assert!(s.path(&format!("out/{file}.json")).is_file() && !s.path(&format!("out/{file}.jsonl")).exists(), "{file}");
    }
}

#[test]
fn a_probe_that_is_killed_goes_on() {
    let s = Sandbox::new();
    let out = s.text("out");
    let args = [&SIM[..], &["--only", "registers", "--seed", "7", "--out", &out]].concat();
    let mut child = s.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let lines = s.path("out/registers.jsonl");
    let records = || std::fs::read_to_string(&lines).unwrap_or_default().matches("{\"record\":").count();
    let begun = Instant::now();
    while records() < 3 && begun.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("kill -9");
    child.wait().expect("an end");
    let kept: Vec<Value> = std::fs::read_to_string(&lines)
        .expect("it was killed in the middle")
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok().map(|line| line["record"].clone()).filter(|record| !record.is_null()))
        .collect();
    assert!(kept.len() >= 3);
    // What is there can be analysed, and is said to be a part.
    let replayed = json_of(&s, &["probe", "--replay", &out], 0);
    assert!(replayed["aspects"].to_string().contains("interrupted"), "{replayed}");
    s.run(&args, 0);
    let file = s.json("out/registers.json");
    // What failed is tried again.
    let kept: Vec<&Value> = kept.iter().filter(|record| record["outcome"]["status"] != "failed").collect();
    let records = file["records"].as_array().expect("records");
    assert!(kept.iter().all(|own| records.contains(own)), "not measured again");
    assert!(!lines.exists() && records.len() > kept.len());
}

#[test]
fn recordings_are_replayed_and_compared() {
    let s = Sandbox::new();
    recording(&s.path("some/GPU"), 16384);
    recording(&s.path("other"), 8192);
    let replay = |dir: &str| json_of(&s, &["probe", "--replay", &s.text(dir), "--out", &s.text(&format!("{dir}.out"))], 0);
    let found = replay("some/GPU");
    assert_eq!(found["keys"]["buffer.l1.capacity_bytes"]["value"], 16384.0, "{found}");
    assert!(found["keys"]["buffer.l1.line_bytes"]["unknown"].as_str().is_some_and(|why| why.contains("strides")), "{found}");
    assert_eq!(found["form"], "a recording of MT4G");
    // Nothing follows from a folder's name.
    std::fs::rename(s.path("some/GPU"), s.path("A100")).expect("renamed");
    assert_eq!(replay("A100"), found);
    replay("other");

    let same = json_of(&s, &["probe", "diff", &s.text("some/GPU.out"), &s.text("A100")], 0);
    assert_eq!((&same["same"], &same["differences"]), (&true.into(), &Value::Array(vec![])));
    let differ = json_of(&s, &["probe", "diff", &s.text("A100.out/findings.json"), &s.text("other.out")], 1);
    let keys: Vec<&str> = differ["differences"].as_array().expect("differences").iter().filter_map(|own| own["key"].as_str()).collect();
    assert!(keys.contains(&"buffer.l1.capacity_bytes"), "{differ}");
    assert_eq!(differ["differences"][0]["how"], "apart");
    // As profiles, too.
    let differ = json_of(&s, &["probe", "diff", &s.text("A100.out/profile.toml"), &s.text("other.out/findings.json")], 1);
    let bytes = differ["differences"].as_array().expect("differences").iter().find(|own| own["key"] == "memory.buffer_l1.bytes");
    assert_eq!(bytes.map(|own| (&own["a"]["value"], &own["b"]["value"])), Some((&16384.0.into(), &8192.0.into())), "{differ}");
    s.run(&["probe", "diff", &s.text("A100.out/profile.toml"), &s.text("A100.out")], 0);

    // What that format has of this recording is exported: a size, and nothing of the device.
    let args = ["probe", "--replay", &s.text("A100"), "--out", &s.text("exported"), "--export-mt4g", &s.text("mt4g.json")];
    s.run(&args, 0);
    let exported = s.json("mt4g.json");
    assert_eq!(exported["memory"]["l1"]["size"]["size"], 16384.0, "{exported}");
    assert_eq!(exported["memory"]["l1"]["lineSize"]["confidence"], 0.0, "{exported}");
    assert_eq!((&exported["compute"], &exported["general"]), (&serde_json::json!({}), &serde_json::json!({})));
    // Of a flat recording nothing is known.
    recording(&s.path("flat"), u32::MAX);
    let args = ["probe", "--replay", &s.text("flat"), "--out", &s.text("none"), "--export-mt4g", &s.text("none.json")];
    let output = s.run(&args, 2);
    assert!(said(&output).contains("nothing was found") && s.path("none/page.html").is_file(), "{}", said(&output));
    assert!(!s.path("none.json").exists());
}

/// Latencies that a recording has in cycles stand in the profile, and their seconds are said to be unknown.
#[test]
fn counted_cycles_are_told_from_seconds() {
    let s = Sandbox::new();
    recording(&s.path("recorded"), 16384);
    std::fs::write(s.path("recorded/L1_Latency.csv"), "30\n31\n32\n").expect("writes");
    let found = json_of(&s, &["probe", "--replay", &s.text("recorded"), "--out", &s.text("out")], 0);
    assert_eq!(found["keys"]["buffer.l1.latency_cycles"]["value"], 31.0, "{found}");
    assert_eq!(found["profile"]["memory"]["buffer_l1"]["latency"]["value"], 31.0, "{found}");
    let why = found["keys"]["buffer.l1.latency_s"]["unknown"].as_str().expect("a reason");
    assert!(why.contains("no clock rate") && why.contains("buffer.l1.latency_cycles"), "{why}");
    assert!(found["profile"]["execution"]["clock"]["value"].is_null(), "no clock of one's own: {found}");
}

#[test]
fn what_is_simulated_is_exported() {
    let s = Sandbox::new();
    let found = probed(&s, "out", &["--export-mt4g", &s.text("mt4g.json")]);
    let exported = s.json("mt4g.json");
    let key = |key: &str| found["keys"][key]["value"].as_f64().unwrap_or_else(|| panic!("{key}: {found}"));
    assert_eq!(exported["memory"]["texture"]["size"]["size"], 1024.0, "{exported}");
    assert_eq!(exported["memory"]["texture"]["lineSize"]["size"].as_f64(), Some(key("texture.l1.line_bytes")));
    assert_eq!(exported["compute"]["warpSize"].as_f64(), Some(key("warp.by_order")), "{exported}");
    assert_eq!(exported["general"]["name"], found["device"]["name"]);
}

#[test]
fn damage_is_said_and_the_rest_goes_on() {
    let s = Sandbox::new();
    let found = probed(&s, "out", &[]);
    std::fs::write(s.path("out/warp.json"), "{ \"format\": 1").expect("writes");
    let hurt = json_of(&s, &["probe", "--replay", &s.text("out")], 0);
    assert!(hurt["notes"].to_string().contains("warp.json"), "{hurt}");
    assert_eq!(hurt["keys"]["texture.l1.capacity_bytes"], found["keys"]["texture.l1.capacity_bytes"]);
    assert!(hurt["keys"]["warp.sizes"]["value"].is_null(), "{hurt}");

    let findings = std::fs::read_to_string(s.path("out/findings.json")).expect("findings");
    let wrong = |name: &str, text: &str, word: &str| {
        std::fs::write(s.path(name), text).expect("writes");
        let output = s.run(&["probe", "diff", &s.text(name), &s.text("out")], 2);
        assert!(said(&output).contains(word), "{name}: {}", said(&output));
    };
    wrong("newer.json", &findings.replacen("\"format\": 1", "\"format\": 2", 1), "format 2 of findings is not known here");
    wrong("torn.json", &findings[..findings.len() / 2], "no findings");
    wrong("other.json", "{ \"format\": 1, \"findings\": [] }", "damaged");
    wrong("text.json", "no JSON", "no findings");
    wrong("profile.toml", "name = 1", "name");
    let newer =
        std::fs::read_to_string(s.path("out/profile.toml")).expect("a profile").replacen("version = 1", "version = 2\nquanta = 3", 1);
    wrong("newer.toml", &newer, "this profile is of version 2, and this program knows version 1");
    let args = ["optimize", "--op", "matmul m=64 n=64 k=64", "--device", "sim:adreno640", "--profile", &s.text("newer.toml")];
    let output = s.run(&args, 2);
    assert!(said(&output).contains("a newer warpsight reads it"), "{}", said(&output));
    s.run(&["probe", "diff", &s.text("nothing.json"), &s.text("out")], 5);
    s.run(&["probe", "diff", "no-such-profile", &s.text("out")], 2);
}

#[test]
fn a_full_disk_costs_nothing_that_was_measured() {
    let s = Sandbox::new();
    // No file may grow beyond 16 KiB; pipes may.
    let args = [&SIM[..], &FEW, &["--out", &s.text("out"), "--json"]].concat().join(" ");
    let line = format!("trap '' XFSZ; ulimit -f 16; exec {} {args}", common::WARPSIGHT);
    let output = std::process::Command::new("bash").args(["-c", &line]).env("TMPDIR", s.path(".")).output().expect("bash");
    let text = said(&output);
    assert!(text.contains("not everything could be written to") && text.contains("the results could not be written to"), "{text}");
    assert_eq!(output.status.code(), Some(5), "{text}");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(printed.lines().any(|line| line.starts_with("{\"record\":")), "records go to the standard output");
    let found: Value = serde_json::from_str(printed.lines().last().expect("a line")).expect("JSON");
    assert_eq!(found["keys"]["texture.l1.capacity_bytes"]["value"], 1024.0, "and are analysed");
}

/// Nothing is measured that could not be kept, wherever that would be.
#[test]
fn a_folder_that_nobody_can_write_to_is_said_before_anything_is_measured() {
    let s = Sandbox::new();
    for more in [&["--out", "/proc/probe"][..], &["--out", "/proc"], &[]] {
        let mut command = s.command(&[&SIM[..], &FEW, more].concat());
        let output = command.current_dir("/proc").output().expect("starts");
        assert_eq!(output.status.code(), Some(5), "{more:?}: {}", said(&output));
        assert!(said(&output).contains("/proc") || said(&output).contains("probe-"), "{more:?}: {}", said(&output));
        assert!(!said(&output).contains("verified"), "{more:?}: {}", said(&output));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let s = Sandbox::new();
    std::fs::create_dir_all(s.path("empty")).expect("a folder");
    std::fs::write(s.path("file"), "text").expect("writes");
    let (empty, file) = (s.text("empty"), s.text("file"));
    let under = format!("{file}/out");
    for (args, code, word) in [
        (&["probe"][..], 2, "--device"),
        (&["probe", "--device", "sim:adreno640", "--replay", &empty], 2, "cannot be used with"),
        (&["probe", "--device", "sim:nothing", "--out", &empty], 3, "sim:nothing"),
        (&["probe", "--device", "cuda:99", "--out", &empty], 3, "cuda:99"),
        (&["probe", "--device", "sim:adreno640", "--minutes", "0"], 2, "above 0"),
        (&["probe", "--device", "sim:adreno640", "--minutes", "-1"], 2, "above 0"),
        (&["probe", "--device", "sim:adreno640", "--only", "warps"], 2, "registers"),
        (&["probe", "--device", "sim:adreno640", "--only", "timer", "--out", &under], 5, "cannot create the folder"),
        (&["probe", "--replay", &empty], 2, "ArchProbe"),
        (&["probe", "--replay", &file], 2, "is no folder"),
        (&["probe", "--replay", "/no/such/folder"], 2, "is not there"),
        (&["probe", "--replay", &empty, "--quick"], 2, "cannot be used with"),
        (&["probe", "diff", &empty, &empty], 2, "MT4G"),
        (&["probe", "diff", "adreno640"], 2, "required"),
    ] {
        let output = s.run(args, code);
        assert!(said(&output).contains(word), "{args:?}: {}", said(&output));
    }
    assert_eq!(std::fs::read_dir(s.path("empty")).expect("a folder").count(), 0, "nothing was begun");
}

#[test]
fn a_profile_that_was_probed_is_taken_by_other_verbs() {
    let s = Sandbox::new();
    probed(&s, "out", &[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let triad = root.join("examples/accesses/stream-triad.toml");
    let args = ["predict", triad.to_str().expect("a path"), "--device", &s.text("out/profile.toml"), "--json"];
    let output = s.command(&args).output().expect("starts");
    // Few aspects were measured: what is missing is named, and the file itself is not at fault.
    let text = said(&output);
    assert!(!text.contains("profile.toml:"), "{text}");
}

/// `profiles/sim-*.toml` are what `scripts/probe-profiles` makes: whatever a part of a probe knows, the committed profile says in the same words.
#[test]
fn the_committed_profile_of_a_simulated_device_is_remade() {
    let s = Sandbox::new();
    let args = ["--device", "sim:adreno640", "--seed", "1", "--quick", "--only", "timer,warp,registers,local", "--out"];
    s.run(&[&["probe"], &args[..], &[&s.text("out")]].concat(), 0);
    let made = std::fs::read_to_string(s.path("out/profile.toml")).expect("a profile");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let committed = std::fs::read_to_string(root.join("profiles/sim-adreno640.toml")).expect("the committed one");
    let known: Vec<&str> = made.lines().filter(|line| line.contains("source = \"simulated\"")).collect();
    for key in ["warp = ", "max_registers = ", "local = ", "launch_overhead = ", "local_banks = "] {
        assert!(known.iter().any(|line| line.starts_with(key)), "{key}: {made}");
    }
    for line in known.into_iter().chain(made.lines().filter(|line| line.starts_with("name = "))) {
        assert!(committed.lines().any(|own| own == line), "run scripts/probe-profiles: {line}");
    }
}
