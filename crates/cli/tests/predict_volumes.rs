//! `warpsight predict --volumes`: what a profiler counted replaces what is predicted, number by number, and nothing else.

mod common;

use common::{Sandbox, said};
use serde_json::{Value, json};

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// 64 × 64 × 4 points of one load and one store of f64, and blocks of 256.
const COPY: &str = "name = \"copy\"\nblock = [64, 4, 1]\ndomain = [64, 64, 4]\nregisters = 16\n\
    [[field]]\nname = \"A\"\nelement = \"f64\"\ndims = [64, 64, 4]\nload = [[\"tx\", \"ty\", \"tz\"]]\n\
    [[field]]\nname = \"B\"\nelement = \"f64\"\ndims = [64, 64, 4]\nstore = [[\"tx\", \"ty\", \"tz\"]]\n";
const POINTS: f64 = 64.0 * 64.0 * 4.0;

struct Case {
    sandbox: Sandbox,
    copy: String,
}

impl Case {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path("copy.toml"), COPY).expect("writes");
        Self { copy: sandbox.text("copy.toml"), sandbox }
    }
    /// The JSON of a prediction with measured volumes.
    fn with(&self, measured: &str, device: &str, args: &[&str]) -> Value {
        std::fs::write(self.sandbox.path("measured"), measured).expect("writes");
        let file = self.sandbox.text("measured");
        let all = [&["predict", &self.copy, "--json", "--device", device, "--volumes", &file], args].concat();
        serde_json::from_slice(&self.sandbox.run(&all, 0).stdout).expect("JSON")
    }
    fn refused(&self, measured: &str, args: &[&str], words: &[&str]) {
        std::fs::write(self.sandbox.path("measured"), measured).expect("writes");
        let file = self.sandbox.text("measured");
        let output = self.sandbox.run(&[&["predict", &self.copy, "--device", "a100-40", "--volumes", &file], args].concat(), 2);
        let text = said(&output);
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
        assert!(output.stdout.is_empty());
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn close(found: &Value, expected: f64) {
    assert!((number(found) / expected - 1.0).abs() < 1e-9, "{found} against {expected}");
}

#[test]
fn measured_numbers_replace_predicted_ones_and_no_others() {
    let case = Case::new();
    let plain: Value =
        serde_json::from_slice(&case.sandbox.run(&["predict", &case.copy, "--json", "--device", "a100-40"], 0).stdout).expect("JSON");
    assert_eq!(plain.get("measured"), None);
    let all = r#"{"volumes": {"dram_load": 12, "l2_load": 11.0}, "bytes": {"dram_store": 163840}, "seconds": 1e-5}"#;
    let found = case.with(all, "a100-40", &[]);
    let volumes = &found["volumes"];
    assert_eq!((&volumes["dram_load"], &volumes["l2_load"], &volumes["dram_store"]), (&json!(12.0), &json!(11.0), &json!(10.0)));
    for stays in ["l1_requested", "l2_store", "l2_load_compulsory", "dram_load_wave", "by_cause", "per_field"] {
        assert_eq!(volumes[stays], plain["volumes"][stays], "{stays}");
    }
    // Bytes over bandwidth, of the same profile; of memory also the way there, which a small launch feels.
    let dram = number(&found["limits_s"]["dram"]) / number(&plain["limits_s"]["dram"]);
    assert!((dram / (22.0 / 16.0) - 1.0).abs() < 0.01, "{dram}");
    close(&found["limits_s"]["l2"], number(&plain["limits_s"]["l2"]) * 19.0 / 16.0);
    for stays in ["l1", "fp", "issue", "launch"] {
        assert_eq!(found["limits_s"][stays], plain["limits_s"][stays], "{stays}");
    }
    assert_eq!(found["measured"]["dram_load"], json!({"measured": 12.0, "predicted": plain["volumes"]["dram_load"]}));
    assert_eq!(found["measured"]["seconds"], json!({"measured": 1e-5, "predicted": found["seconds"]}));
    assert_eq!(found["measured"].as_object().map(|all| all.len()), Some(4));
    let notes = found["provenance"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note == "dram_load is measured: 12.0000 B per point; predicted 8.0000, a ratio of 1.500"), "{notes:?}");

    let file = case.sandbox.text("measured");
    let text = said(&case.sandbox.run(&["predict", &case.copy, "--device", "a100-40", "--volumes", &file], 0));
    for row in ["DRAM load, B/point 12.00 (measured)", "DRAM load, B/point 12.000 8.000 1.500", "L2 store, B/point 8.00 "] {
        assert!(text.contains(row), "`{row}` is not in: {text}");
    }
    // Cycles of the first level by number.
    let cycles = case.with(r#"{"l1_cycles_per_point": 0.5}"#, "a100-40", &[]);
    let ratio = 0.5 / number(&plain["l1_cycles_per_point"]);
    close(&cycles["limits_s"]["l1"], number(&plain["limits_s"]["l1"]) * ratio);
}

/// What predictions say, put in as measured, changes nothing.
#[test]
fn a_prediction_measured_is_the_prediction() {
    let case = Case::new();
    for device in ["a100-40", "mi210", "mi300x"] {
        let plain: Value =
            serde_json::from_slice(&case.sandbox.run(&["predict", &case.copy, "--json", "--device", device], 0).stdout).expect("JSON");
        let v = &plain["volumes"];
        let volumes: Vec<String> =
            ["l1_requested", "l2_load", "l2_store", "dram_load", "dram_store"].iter().map(|key| format!("\"{key}\": {}", v[key])).collect();
        let found = case.with(&format!("{{\"volumes\": {{{}}}}}", volumes.join(", ")), device, &[]);
        close(&found["seconds"], number(&plain["seconds"]));
        assert_eq!(found["limiter"], plain["limiter"]);
    }
}

const DETAILS: &str = r#"==PROF== Connected to process 1 (/x)
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","12","b","h","fill(double *)","1","7","(256, 1, 1)","(1, 1, 1)","0","8.0","x","dram__bytes_read.sum","byte","32"
"1","12","b","h","void copy<double>(double *, double *)","1","7","(64, 4, 1)","(1, 16, 4)","0","8.0","x","dram__bytes_read.sum","Kbyte","163.84"
"1","12","b","h","void copy<double>(double *, double *)","1","7","(64, 4, 1)","(1, 16, 4)","0","8.0","x","lts__t_sectors_op_read.sum","sector","6,144"
"1","12","b","h","void copy<double>(double *, double *)","1","7","(64, 4, 1)","(1, 16, 4)","0","8.0","x","gpu__time_duration.sum","us","2.5"
"2","12","b","h","void copy<double>(double *, double *)","1","7","(64, 4, 1)","(1, 16, 4)","0","8.0","x","dram__bytes_read.sum","byte","196,608"
"3","12","b","h","void copy<double>(double *, double *)","1","7","(64, 4, 1)","(1, 16, 8)","0","8.0","x","dram__bytes_read.sum","Mbyte","5"
"#;

#[test]
fn nsight_compute_in_both_layouts() {
    let case = Case::new();
    // The mean of the two launches that are as large as the file's.
    let found = case.with(DETAILS, "a100-40", &["--volumes-kernel", "copy"]);
    close(&found["volumes"]["dram_load"], (163_840.0 + 196_608.0) / 2.0 / POINTS);
    close(&found["volumes"]["l2_load"], 6144.0 * 32.0 / POINTS);
    close(&found["measured"]["seconds"]["measured"], 2.5e-6);
    let notes = found["provenance"].to_string();
    assert!(notes.contains("the mean of 2 launches of void copy<double>(double *, double *)"), "{notes}");
    case.refused(
        DETAILS,
        &[],
        &["several kernels are measured here", "`fill(double *)`, `void copy<double>(double *, double *)`", "--volumes-kernel NAME"],
    );
    case.refused(DETAILS, &["--volumes-kernel", "cop"], &["no kernel `cop` is measured here", "measured are `fill(double *)`"]);
    case.refused(DETAILS, &["--volumes-kernel", "fill"], &["the measured launch has 256 work-items", "copy.toml has 16384"]);

    let raw = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\
        \"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\",\"lts__t_sectors_srcunit_tex_op_read.sum\",\"lts__t_sectors_op_read.sum\",\"sm__x\"\n\
        \"\",\"\",\"\",\"\",\"Mbyte\",\"Kbyte\",\"sector\",\"sector\",\"sector\",\"furlong\"\n\
        \"0\",\"copy\",\"(64, 4, 1)\",\"(1, 16, 4)\",\"0.131072\",\"131.072\",\"4,096\",\"5,120\",\"9,000\",\"1\"\n";
    let found = case.with(raw, "a100-40", &[]);
    let volumes = &found["volumes"];
    for (volume, bytes) in [("dram_load", 8.0), ("dram_store", 8.0), ("l1_requested", 8.0), ("l2_load", 10.0)] {
        close(&volumes[volume], bytes);
    }
    case.refused(&raw.replace("\"Mbyte\"", "\"furlong\""), &[], &["measured:3", "unknown unit `furlong`"]);
}

#[test]
fn rocprof_old_and_new() {
    let case = Case::new();
    let wide = "Index,KernelName,gpu-id,grd,wgr,FETCH_SIZE,WRITE_SIZE,TCP_TCC_READ_REQ_sum,BeginNs,EndNs\n\
        0,\"copy(double*, double*) [clone .kd]\",0,16384,256,160.0,128,2048.0,1000,6000\n";
    let found = case.with(wide, "mi210", &[]);
    for (volume, bytes) in [("dram_load", 10.0), ("dram_store", 8.0), ("l2_load", 8.0)] {
        close(&found["volumes"][volume], bytes);
    }
    close(&found["measured"]["seconds"]["measured"], 5e-6);
    // Behind a last level, what leaves L2 is not what memory delivers.
    let last_level = case.with(wide, "mi300x", &[]);
    assert_eq!(last_level["measured"]["behind_l2"]["measured"], json!(10.0));
    assert_eq!(last_level["measured"].get("dram_load"), None);

    let row =
        |id: u32, items: u32, name: &str, value: f64| format!("{id},{id},\"Agent 4\",{items},\"copy\",256,\"{name}\",{value:e},100,1100\n");
    let header = "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Grid_Size\",\"Kernel_Name\",\"Workgroup_Size\",\"Counter_Name\",\"Counter_Value\",\
        \"Start_Timestamp\",\"End_Timestamp\"\n";
    let counters =
        [("TCC_EA0_RDREQ_sum", 2000.0), ("TCC_EA0_RDREQ_32B_sum", 400.0), ("TCC_EA0_WRREQ_sum", 3000.0), ("TCC_EA0_WRREQ_64B_sum", 1000.0)];
    let rows: String = counters.iter().map(|(name, value)| row(1, 16384, name, *value)).collect();
    let found = case.with(&format!("{header}{rows}"), "mi210", &[]);
    close(&found["volumes"]["dram_load"], (1600.0 * 64.0 + 400.0 * 32.0) / POINTS);
    close(&found["volumes"]["dram_store"], (2000.0 * 32.0 + 1000.0 * 64.0) / POINTS);
    // Without the small requests nobody knows how many bytes all of them are.
    case.refused(
        &format!("{header}{}", row(1, 16384, "TCC_EA0_RDREQ_sum", 2000.0)),
        &[],
        &["no volume that the model knows", "FETCH_SIZE"],
    );
    case.refused(&format!("{header}{}", row(1, 8192, "FETCH_SIZE", 2.0)), &[], &["the measured launch has 8192 work-items"]);
    case.refused(&format!("{header}1,1\n"), &[], &["measured:2", "has 2 fields, the header 10"]);
}

#[test]
fn wrong_files_are_named_with_their_place() {
    let case = Case::new();
    case.refused("{\n \"volumes\": {\"l2_lod\": 1}}", &[], &["measured:2:", "unknown field `l2_lod`", "`l2_load`", "examples/volumes"]);
    case.refused("{\"volumes\": {\"dram_load_wave\": 1}}", &[], &["unknown field `dram_load_wave`"]);
    case.refused("{", &[], &["measured:1:1", "EOF"]);
    case.refused("{}", &[], &["no volume that the model knows is measured here"]);
    case.refused("{\"volumes\": {\"l2_load\": -1}}", &[], &["-1 is no volume"]);
    case.refused("{\"volumes\": {\"l2_load\": 1}, \"bytes\": {\"l2_load\": 1}}", &[], &["l2_load is given per point and of the launch"]);
    case.refused("{\"volumes\": {\"l2_load\": 1}, \"seconds\": 0}", &[], &["0.0 s is no time"]);
    case.refused("", &[], &["no table of metrics", "ncu --csv"]);
    case.refused("{\"volumes\": {\"l2_load\": 1}}", &["--device", "h100"], &["volumes are measured on one device"]);
    case.refused("{\"volumes\": {\"l2_load\": 1}}", &["--diff", &case.copy], &["cannot be used with"]);
    let file = case.sandbox.text("missing.json");
    let output = case.sandbox.run(&["predict", &case.copy, "--device", "a100-40", "--volumes", &file], 5);
    assert!(said(&output).contains("missing.json"));
}

/// The one recording with volumes and time of a kernel that is among the examples: the phenomenological prediction against the time.
#[test]
fn a_laplacian_on_an_mi250x() {
    let s = Sandbox::new();
    let (kernel, file) = (example("accesses/star3d-r1-f64.toml"), example("volumes/star3d-r1-f64-mi250x.json"));
    let args = ["predict", &kernel, "--json", "--set", "block=256,1,1", "--device", "mi250x", "--volumes", &file];
    let found: Value = serde_json::from_slice(&s.run(&args, 0).stdout).expect("JSON");
    close(&found["volumes"]["dram_load"], 2.014e9 / 510f64.powi(3));
    let seconds = &found["measured"]["seconds"];
    let ratio = number(&seconds["measured"]) / number(&seconds["predicted"]);
    println!("measured / predicted from measured volumes: {ratio:.3}");
    // The model overpredicts performance, as the paper says of its own; here by at most a third.
    assert!((0.9..1.35).contains(&ratio), "{ratio}");
}
