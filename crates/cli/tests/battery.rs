//! The battery from the command line, from the first phase to the store, without a GPU.

mod common;

use common::{SIM, Sandbox, WARPSIGHT, outcomes, said};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_phase_from_the_device_to_the_store() {
    let s = Sandbox::new();
    let output = s.battery("out", &["--phase", "stencils", "--seed", "7", "--json"], 0);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let phase = &summary["phases"][0];
    assert_eq!((&phase["name"], &phase["source"], &phase["complete"]), (&"stencils".into(), &"simulated".into(), &true.into()));
    let file = s.json("out/stencils.json");
    let verified = outcomes(&file, "verified");
    assert!(!verified.is_empty() && outcomes(&file, "wrong").is_empty() && outcomes(&file, "failed").is_empty());
    assert_eq!((&file["seed"], &file["scale"], &file["device"]["id"]), (&7.into(), &"tiny".into(), &"sim:adreno640".into()));
    assert_eq!(file["command"][0], "warpsight");
    for record in &verified {
        assert_eq!(record["source"], "simulated");
        assert!(record["times_s"][0].as_f64().expect("a time") > 0.0);
        assert!(file["programs"][record["code"].as_str().expect("a hash")].as_str().expect("a text").starts_with("program "));
    }
    assert_eq!(s.json("out/battery.json")["phases"][0]["verified"], verified.len());

    // The same again measures nothing.
    let output = s.battery("out", &["--phase", "stencils"], 0);
    assert!(said(&output).contains("measured earlier"), "{}", said(&output));
    assert_eq!(s.json("out/stencils.json"), file);

    let records = file["records"].as_array().expect("records").len();
    let import = |code| {
        let output = s.run(&["import", &s.text("out"), "--store", &s.text("store.sqlite"), "--json"], code);
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let first = import(0);
    assert_eq!((&first["files"][0]["file"], &first["files"][0]["added"]), (&"stencils.json".into(), &verified.len().into()));
    assert_eq!(first["files"][0]["untried"], records - verified.len());
    let second = import(0);
    assert_eq!((&second["files"][0]["added"], &second["files"][0]["known"]), (&0.into(), &verified.len().into()));

    let store = warpsight_learn::Store::open(s.path("store.sqlite")).expect("a store");
    let stored = store.samples(warpsight_learn::Filter::default()).expect("samples");
    assert_eq!(stored.len(), verified.len());
    let sample = &stored[0].sample;
    assert_eq!((sample.source.name(), sample.verified, sample.kind), ("simulated", true, warpsight_ir::SubjectKind::Program));
    let time = verified[0]["times_s"][0].as_f64().expect("a time");
    assert!((sample.times[0].0 / time - 1.0).abs() < 1e-6);
    assert_eq!(serde_json::from_str::<Value>(&sample.config).expect("JSON")["name"], verified[0]["name"]);
}

#[test]
fn a_planted_wrong_kernel_reaches_the_store_as_wrong() {
    let s = Sandbox::new();
    let output = s.battery("out", &["--phase", "stencils", "--plant-wrong"], 0);
    assert!(said(&output).contains("WRONG"), "{}", said(&output));
    let file = s.json("out/stencils.json");
    let wrong = outcomes(&file, "wrong");
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0]["times_s"][0].as_f64().expect("its time is kept") > 0.0);
    s.run(&["import", &s.text("out"), "--store", &s.text("store.sqlite")], 0);
    let store = warpsight_learn::Store::open(s.path("store.sqlite")).expect("a store");
    let stored = store.samples(warpsight_learn::Filter::default()).expect("samples");
    let bad: Vec<_> = stored.iter().filter(|stored| !stored.sample.verified).collect();
    assert!(matches!(&bad[..], [one] if matches!(one.sample.status, warpsight_ir::Status::Wrong(_)) && !one.sample.times.is_empty()));
}

#[test]
fn a_battery_that_is_killed_loses_nothing_and_goes_on() {
    let s = Sandbox::new();
    let out = s.text("out");
    let mut child = s.command(&[&SIM[..], &[&out, "--phase", "stencils"]].concat()).stderr(Stdio::null()).spawn().expect("starts");
    let lines = s.path("out/stencils.jsonl");
    let records = || std::fs::read_to_string(&lines).unwrap_or_default().matches("{\"record\":").count();
    let begun = Instant::now();
    while records() < 2 && begun.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    // While it runs, no other may write there.
    if child.try_wait().expect("a state").is_none() {
        let second = s.run(&[&SIM[..], &[&out, "--phase", "stencils"]].concat(), 2);
        assert!(said(&second).contains("another battery is writing to"), "{}", said(&second));
    }
    child.kill().expect("kill -9");
    child.wait().expect("an end");
    let kept: Vec<Value> = std::fs::read_to_string(&lines)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok().map(|line| line["record"].clone()).filter(|record| !record.is_null()))
        .collect();
    assert!(kept.len() >= 2, "it was killed in the middle of the phase");
    // What an interrupted phase left can be imported.
    s.run(&["import", &out, "--store", &s.text("store.sqlite")], 0);

    s.battery("out", &["--phase", "stencils"], 0);
    let file = s.json("out/stencils.json");
    assert_eq!(file["records"].as_array().expect("records")[..kept.len()], kept[..], "not measured again");
    assert!(!lines.exists());
    let fresh = Sandbox::new();
    fresh.battery("out", &["--phase", "stencils"], 0);
    let names = |file: &Value| file["records"].as_array().expect("records").iter().map(|record| record["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&file), names(&fresh.json("out/stencils.json")));
}

#[test]
fn a_full_disk_costs_no_record() {
    let s = Sandbox::new();
    // No file of the battery may grow beyond 24 KiB; pipes may.
    let line = format!("trap '' XFSZ; ulimit -f 24; exec {WARPSIGHT} {} {} --phase stencils --json", SIM.join(" "), s.text("out"));
    let output = Command::new("bash").args(["-c", &line]).output().expect("bash");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("not everything could be written to"), "{}", said(&output));
    assert!(!s.path("out/stencils.json").exists());
    let mut names: Vec<String> = vec![];
    let on_disk = std::fs::read_to_string(s.path("out/stencils.jsonl")).expect("what fitted");
    let printed = String::from_utf8(output.stdout.clone()).expect("text");
    for line in on_disk.lines().chain(printed.lines()) {
        if let Ok(line) = serde_json::from_str::<Value>(line)
            && let Some(name) = line["record"]["name"].as_str()
        {
            names.push(name.to_owned());
        }
    }
    let fresh = Sandbox::new();
    fresh.battery("out", &["--phase", "stencils"], 0);
    let file = fresh.json("out/stencils.json");
    let expected: Vec<&str> = file["records"].as_array().expect("records").iter().filter_map(|record| record["name"].as_str()).collect();
    assert_eq!(names, expected, "each record once: on the disk, or on the standard output");
}

#[test]
fn a_job_that_is_too_long_for_its_time_box_is_stopped() {
    let s = Sandbox::new();
    let begun = Instant::now();
    // The first of these would take minutes on the simulator.
    let args = ["battery", "--device", "sim:adreno640", "--scale", "full", "--phase", "stencils", "--minutes", "0.02", "--out"];
    let output = s.command(&[&args[..], &[&s.text("out")]].concat()).output().expect("starts");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}: {}", begun.elapsed(), said(&output));
    let file = s.json("out/stencils.json");
    let first = &file["records"][0]["outcome"];
    // It had no time, which says nothing of the device: it is tried again where there is more.
    assert_eq!((&first["status"], &first["later"]), (&"skipped".into(), &true.into()), "{first}");
    assert!(first["why"].as_str().is_some_and(|why| why.contains("out of time: its 1 s are used up")), "{first}");
    assert!(outcomes(&file, "measured").is_empty() && outcomes(&file, "skipped").len() > 1);
}

#[test]
fn bad_input_is_refused() {
    let s = Sandbox::new();
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let text = said(&s.run(args, code));
        for word in words {
            assert!(text.contains(word), "{args:?}: `{word}` is not in: {text}");
        }
    };
    let out = s.text("out");
    refused(&[&SIM[..], &[&out, "--phase", "nothing"]].concat(), 2, &["`nothing` is none of", "stencils", "counters"]);
    refused(&["battery", "--device", "sim:adreno640"], 2, &["--out"]);
    refused(&[&SIM[..], &[&out, "--minutes", "0"]].concat(), 2, &["a number of minutes above 0"]);
    refused(&[&SIM[..], &[&out, "--minutes", "-1"]].concat(), 2, &["a number of minutes above 0"]);
    refused(&["battery", "--device", "sim:nothing", "--out", &out], 3, &["sim:nothing"]);
    refused(&["battery", "--device", "cuda:99", "--out", &out], 3, &["cuda:99"]);
    std::fs::write(s.path("file"), "").expect("writes");
    refused(&[&SIM[..], &[&s.text("file")]].concat(), 5, &["file", "cannot create the folder"]);
    refused(&["import", &s.text("missing")], 5, &["missing"]);
    std::fs::create_dir(s.path("empty")).expect("a folder");
    refused(&["import", &s.text("empty")], 2, &["no files of a battery"]);
    std::fs::write(s.path("empty/foreign.json"), "{\"hello\": 1}").expect("writes");
    let output = s.run(&["import", &s.text("empty"), "--store", &s.text("store.sqlite")], 2);
    assert!(output.stdout.is_empty(), "no table of nothing: {}", said(&output));
}

#[test]
fn damaged_files_do_not_keep_others_from_the_store() {
    let s = Sandbox::new();
    s.battery("out", &["--phase", "stencils"], 0);
    let good = std::fs::read_to_string(s.path("out/stencils.json")).expect("a file");
    std::fs::write(s.path("out/broken.json"), &good[..good.len() / 3]).expect("writes");
    std::fs::write(s.path("out/foreign.json"), "{\"hello\": 1}").expect("writes");
    let unclear = good.replace("\"source\": \"simulated\"", "\"source\": null").replace("\"clock\": \"simulated\"", "\"clock\": null");
    std::fs::write(s.path("out/unclear.json"), unclear).expect("writes");
    std::fs::write(s.path("out/odd.json"), good.replacen("\"quantum_s\": 0.0", "\"quantum_s\": \"none\"", 1)).expect("writes");
    let output = s.run(&["import", &s.text("out"), "--store", &s.text("store.sqlite")], 2);
    let text = said(&output);
    for word in [
        "broken.json",
        "it is no JSON",
        "foreign.json",
        "it is no file of a battery",
        "odd.json",
        "records[0].quantum_s",
        "unclear.json",
        "do not say whether they were measured",
        "stencils.json",
    ] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    let store = warpsight_learn::Store::open(s.path("store.sqlite")).expect("a store");
    assert!(!store.samples(warpsight_learn::Filter::default()).expect("samples").is_empty());
}

/// Runs the program it is given, then prints a table as `ncu --csv` does, a row for every launch.
const NCU: &str = r#"#!/usr/bin/env python3
import json, subprocess, sys
at = next(i for i, a in enumerate(sys.argv[1:], 1) if a.endswith("/warpsight"))
options = sys.argv[1:at]
names = options[options.index("--kernel-name") + 1]
assert "copy" in names and "lbm_d3q15" in names and names.startswith("regex:^(") and "warpsight" not in names, names
subprocess.run(sys.argv[at:] + (["--phase", "streams"] if "--kill" in options else []), check=True)
folder = sys.argv[sys.argv.index("--out") + 1]
print('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"')
rows = ["warpsight_fill_random"]
for r in [] if "--kill" in options else json.load(open(folder + "/stencils.json"))["records"]:
    if r["outcome"]["status"] == "verified":
        rows += [r["kernel"]] * r["launches"]
for i, name in enumerate(rows):
    print(f'"{i}","{name}","dram__bytes_read.sum","Kbyte","{i}.5"')
"#;

#[test]
fn counters_join_the_records_of_their_kernels() {
    let s = Sandbox::new();
    let ncu = s.script("ncu", NCU);
    s.battery("out", &["--phase", "counters", "--ncu", &ncu], 0);
    let file = s.json("out/counters.json");
    let counted = outcomes(&file, "verified");
    assert!(!counted.is_empty());
    for (i, record) in counted.iter().enumerate() {
        // Row 0 is a kernel that fills memory.
        assert_eq!(record["params"]["dram__bytes_read.sum"], 1000.0 * (i as f64 + 1.5), "{}", record["name"]);
        assert_eq!(record["times_s"].as_array().map(Vec::len), Some(0), "nothing is timed under a profiler");
    }
}

#[test]
fn forbidden_counters_name_the_permission() {
    let s = Sandbox::new();
    // What it profiles goes on, uncounted: nobody should wait for that.
    let begin = "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'\n";
    let ncu = s.script("ncu", &format!("{begin}echo x >>{}\nsleep 100\n", s.text("calls")));
    let begun = Instant::now();
    let output = s.battery("out", &["--phase", "counters", "--phase", "stencils", "--ncu", &ncu], 0);
    let text = said(&output);
    assert!(text.contains("NVreg_RestrictProfilingToAdminUsers=0") && text.contains("CAP_SYS_ADMIN"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(90), "{text}");
    assert_eq!(std::fs::read_to_string(s.path("calls")).expect("calls"), "x\n", "once is enough to know");
    // All of the 8 minutes but those few seconds are the stencils'.
    let given = text.split("stencils: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(given.is_some_and(|seconds| seconds > 450.0), "{text}");
    let index = s.json("out/battery.json");
    assert!(index["phases"][0]["verified"].as_u64() > Some(0), "the rest went on");
    let note = index["phases"][1]["note"].as_str().expect("why there are no counters");
    assert!(note.contains("NVreg_RestrictProfilingToAdminUsers=0"), "{note}");
    let output = s.battery("none", &["--phase", "counters", "--ncu", "/no/such/ncu"], 4);
    assert!(said(&output).contains("there is no /no/such/ncu"), "{}", said(&output));
}

/// Runs one phase of the program it is given, as far as the time goes that it leaves it, then says what a check of that name found.
const SANITIZER: &str = r#"#!/usr/bin/env python3
import subprocess, sys
check, command = sys.argv[2], sys.argv[3:] + ["--phase", "streams"]
if check == "memcheck":
    print("========= Invalid __global__ read of size 4 bytes\n========= ERROR SUMMARY: 2 errors")
elif check == "racecheck":
    subprocess.run(command, check=True)
    print("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)")
elif check == "initcheck":
    command[command.index("--minutes") + 1] = "0.0000001"
    subprocess.run(command)
    print("========= ERROR SUMMARY: 0 errors")
else:
    sys.exit("no device")
"#;

#[test]
fn what_the_sanitizer_finds_is_recorded() {
    let s = Sandbox::new();
    // The first check finds something, the next nothing, another nothing in what its time suffices for, and the last gives up.
    let tool = s.script("compute-sanitizer", SANITIZER);
    s.battery("out", &["--phase", "sanitizer", "--compute-sanitizer", &tool], 0);
    let file = s.json("out/sanitizer.json");
    let by_name = |name: &str| file["records"].as_array().expect("records").iter().find(|r| r["name"] == name).expect("a record").clone();
    let wrong = by_name("memcheck")["outcome"]["what"].as_str().expect("what").to_owned();
    assert!(wrong.contains("2 errors") && wrong.contains("Invalid __global__ read"), "{wrong}");
    assert_eq!(by_name("racecheck")["outcome"]["status"], "verified");
    assert!(by_name("racecheck")["params"]["measurements"].as_u64() > Some(0));
    assert_eq!(by_name("racecheck")["params"]["measurements"], by_name("racecheck")["params"]["planned"]);
    let partial = by_name("initcheck");
    assert_eq!((&partial["outcome"]["status"], &partial["outcome"]["later"]), (&"skipped".into(), &true.into()));
    assert!(partial["outcome"]["why"].as_str().expect("why").starts_with("partial: nothing was found in 0 of "), "{partial}");
    assert!(by_name("synccheck")["outcome"]["why"].as_str().expect("why").contains("no summary"));
}

#[test]
fn the_script_refuses_what_cannot_be() {
    let s = Sandbox::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/gpu-battery");
    let out = s.text("out");
    for (more, code, word) in [
        (&["--minutes", "0"][..], 2, "above 0"),
        (&["--python", "/no/such/python"], 2, "there is no Python"),
        (&["--shader-minutes", "-1"], 2, "--shader-minutes takes a number"),
        (&["--device", "cuda:99", "--no-peers", "--shader-minutes", "0"], 3, "cuda:99"),
    ] {
        let mut command = Command::new("bash");
        command.arg(&script).args(["--out", &out]).args(more).env("WARPSIGHT", WARPSIGHT).env("TMPDIR", s.path("."));
        let output = command.output().expect("bash");
        assert_eq!(output.status.code(), Some(code), "{more:?}: {}", said(&output));
        assert!(said(&output).contains(word), "{more:?}: {}", said(&output));
        assert!(!s.path("out.tar.gz").exists(), "nothing was measured: nothing is packed");
    }
}

#[test]
fn the_dry_run_goes_through_everything() {
    let s = Sandbox::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/gpu-battery");
    let mut command = Command::new("bash");
    command
        .arg(script)
        .args(["--dry-run", "--shader-minutes", "0", "--out", &s.text("out"), "--", "--phase", "stencils"])
        .env("WARPSIGHT", WARPSIGHT);
    command.env("WARPSIGHT_STANDIN", "none").env("XDG_CACHE_HOME", s.path("cache"));
    let output = command.output().expect("bash");
    let text = said(&output);
    assert!(text.contains("a kernel that was spoilt on purpose was found out, as it must be"), "{text}");
    assert!(!text.contains("1 wrong") && !text.contains("WRONG"), "what is planted is no fault: {text}");
    assert!(s.path("out/simulator/stencils.json").exists() && s.path("out.tar.gz").exists(), "{text}");
    assert_eq!(s.json("out/peers.json")["libraries"]["torch"]["skipped"], "dry run");
}

#[test]
fn the_script_needs_nothing_but_the_program() {
    let s = Sandbox::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/gpu-battery");
    std::fs::create_dir(s.path("bare")).expect("a folder");
    std::fs::copy(script, s.path("bare/gpu-battery")).expect("copied");
    let run = |program: &str, more: &[&str]| {
        let mut command = Command::new("bash");
        command.arg(s.path("bare/gpu-battery")).args(["--out", &s.text("out"), "--program", program, "--dry-run"]).args(more);
        command.env_remove("WARPSIGHT").env_remove("WARPSIGHT_STANDIN").env("XDG_CACHE_HOME", s.path("cache"));
        command.output().expect("bash")
    };
    let output = run(WARPSIGHT, &["--shader-minutes", "0", "--", "--phase", "stencils"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("no peers.py beside this script") && !said(&output).contains("1 wrong"), "{}", said(&output));
    s.run(&["import", &s.text("out/simulator"), "--store", &s.text("store.sqlite")], 0);
    let refused = run("/no/such/program", &[]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("there is no program /no/such/program"), "{}", said(&refused));
}

/// A corpus goes into the package and is what the battery draws; a CPU rasteriser stands in for a GPU, and is said to be one.
#[test]
fn a_packed_corpus_is_profiled_within_its_time() {
    let s = Sandbox::new();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    std::fs::create_dir_all(s.path("shaders")).expect("a folder");
    for i in 1..4 {
        let text = format!("void main() {{ gl_FragColor = vec4(sin(gl_FragCoord.x * {i}.0)); }}");
        std::fs::write(s.path(&format!("shaders/s{i}.frag")), text).expect("writes");
    }
    s.run(&["shader", "collect", &s.text("shaders"), "--into", &s.text("corpus")], 0);
    let pack = |corpus: &str, code: i32| {
        let mut command = Command::new("bash");
        command.arg(scripts.join("pack-battery")).args([&s.text("box"), "none", "--corpus", corpus]).env("WARPSIGHT", WARPSIGHT);
        let output = command.output().expect("bash");
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        said(&output)
    };
    assert!(pack(&s.text("shaders"), 2).contains("no corpus; warpsight shader collect makes one"));
    pack(&s.text("corpus"), 0);
    assert!(s.path("box/corpus/corpus.jsonl").is_file() && s.path("box/warpsight").is_file());
    let mut command = Command::new("bash");
    command.arg(s.path("box/gpu-battery")).args(["--dry-run", "--shader-minutes", "1", "--out", &s.text("out")]);
    command.args(["--", "--phase", "stencils"]).env("WARPSIGHT_STANDIN", "none").env("XDG_CACHE_HOME", s.path("cache"));
    let text = said(&command.output().expect("bash"));
    if text.contains("shaders: not measured, no Vulkan") {
        assert!(std::env::var("CI").is_err(), "a Vulkan device is needed where CI=true");
        return;
    }
    assert!(text.contains("box/corpus measured, by a CPU rasteriser: not a GPU"), "{text}");
    let csv = std::fs::read_to_string(s.path("out/shaders-dry-run/shots.csv")).expect("a file");
    assert_eq!((csv.lines().count(), csv.matches(",done,").count()), (4, 3), "{csv}");
    assert!(s.json("out/shaders-dry-run/profile.json")["device"]["software"].as_str().is_some_and(|s| s.contains("CPU rasteriser")));
    // No GPU: said, and nothing left.
    let mut command = Command::new("bash");
    command.arg("-c").arg(format!(
        "source <(sed -n '/^say()/p;/^shaders() {{/,/^}}/p' {0:?}); here={1:?} warpsight={1:?}/warpsight; shaders vulkan:gpu 60 {2:?}",
        s.path("box/gpu-battery"),
        s.path("box"),
        s.path("gpu")
    ));
    let text = said(&command.env("VK_DRIVER_FILES", "/dev/null").env("VK_ICD_FILENAMES", "/dev/null").output().expect("bash"));
    assert!(text.contains("shaders: not measured, no Vulkan") && !s.path("gpu").exists(), "{text}");
}
