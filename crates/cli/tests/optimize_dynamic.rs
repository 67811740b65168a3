//! `optimize --op` with open sizes.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
    command.arg("optimize").args(args).arg("--store").arg(store).output().expect("starts")
}

fn refused(op: &str, further: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(&folder.path().join("s"), &[&["--op", op], further].concat());
    assert_eq!(output.status.code(), Some(2), "{op}");
    String::from_utf8(output.stderr).expect("text").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Few kernels for many sizes: each size has one, loses no more than 5 % by the model, and what was timed is right.
#[test]
fn a_range_is_served_by_few_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("kernels");
    let output = run(&folder.path().join("s"), &["--op", "softmax n=2..20 c=100", "--json", "--out", out.to_str().expect("text")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (kernels, dispatch) = (report["kernels"].as_array().expect("kernels"), report["dispatch"].as_array().expect("a table"));
    assert_eq!((dispatch.len(), &report["open"], &report["sequence"]), (19, &Value::from(vec!["n"]), &Value::from("rows")));
    assert!(kernels.len() < 10, "{}", kernels.len());
    assert!(kernels.iter().any(|own| own["generic"] == true));
    for (number, kernel) in kernels.iter().enumerate() {
        let own = || dispatch.iter().filter(|row| row["kernel"] == number).map(|row| row["sizes"][0].as_i64().expect("a size"));
        let ends = |text: &Value| {
            text.as_str().map(|text| text.split_once("..").unwrap_or((text, text))).map(|own| (own.0.parse(), own.1.parse()))
        };
        let written = kernel["serves"].as_array().expect("a list").iter().filter_map(ends);
        let written: Vec<i64> = written.flat_map(|(first, last)| first.expect("a size")..=last.expect("a size")).collect();
        assert_eq!(written, own().collect::<Vec<_>>());
        if kernel["generic"] == true {
            assert_eq!((kernel["size"]["lo"].as_i64(), kernel["size"]["hi"].as_i64()), (own().min(), own().max()));
        }
    }
    for (at, row) in dispatch.iter().enumerate() {
        assert_eq!(row["sizes"], Value::from(vec![2 + at]));
        assert!(
            row["predicted_loss_percent"].as_f64().is_some_and(|loss| (0.0..=5.0).contains(&loss))
                && row["chosen_in_s"].as_f64().is_some_and(|took| took > 0.0)
        );
        let expected = row["expected_loss_percent"].as_f64().expect("the default model says it");
        assert!(expected >= 0.0 && row["doubtful"] == (expected > 5.0), "{row}");
        assert!((row["kernel"].as_u64().expect("a position") as usize) < kernels.len());
    }
    let tried: Vec<&Value> = kernels.iter().flat_map(|own| own["verified"].as_array().expect("a list")).collect();
    assert!(tried.iter().all(|own| own["rel_l2_error"].as_f64().is_some_and(|error| error < 1e-5) && own["time_source"] == "simulated"));
    assert!(report["loss_percent"].as_f64().is_some_and(|loss| loss.abs() <= 5.0));
    let written: Value = serde_json::from_slice(&std::fs::read(out.join("dispatch.json")).expect("is there")).expect("JSON");
    assert_eq!(written["dispatch"], report["dispatch"]);
    for kernel in written["kernels"].as_array().expect("kernels") {
        for file in kernel["files"].as_array().expect("files") {
            let text = std::fs::read_to_string(out.join(file.as_str().expect("a name"))).expect("is there");
            assert_eq!(text.contains("const int size_n"), kernel["generic"] == true, "{text}");
        }
    }
    // What others launch: of each shape the kernel, its arguments with the size, and memory that holds its tensors.
    let launch: Value = serde_json::from_slice(&std::fs::read(out.join("launch.json")).expect("is there")).expect("JSON");
    let shapes = launch["shapes"].as_array().expect("shapes");
    assert_eq!((&launch["open"], shapes.len()), (&report["open"], 19));
    for (shape, row) in shapes.iter().zip(dispatch) {
        assert_eq!(shape["sizes"], row["sizes"]);
        let own = &written["kernels"][row["kernel"].as_u64().expect("a position") as usize];
        let run = &shape["launches"][0];
        let file = &launch["kernels"][run["kernel"].as_u64().expect("a position") as usize]["file"];
        assert!(own["files"].as_array().expect("files").contains(file), "{file}");
        let args = run["args"].as_array().expect("arguments");
        assert_eq!(args.iter().filter(|arg| arg["int"] == row["sizes"][0]).count(), usize::from(own["generic"] == true), "{run}");
        let n = row["sizes"][0].as_i64().expect("a size");
        let memory = shape["memory"].as_array().expect("memory");
        let bytes =
            |own: &Value| own["bytes"].as_i64().unwrap_or(16 * own["width"].as_i64().unwrap_or(0) * own["height"].as_i64().unwrap_or(0));
        assert!(memory.len() == 2 && memory.iter().all(|own| (400 * n..1600 * n + 64).contains(&bytes(own))), "{memory:?}");
        assert_eq!((&shape["inputs"], &shape["outputs"]), (&Value::from(vec![0]), &Value::from(vec![1])));
        let lanes = |of: &str| run[of].as_array().expect("three").iter().map(|own| own.as_u64().expect("a count")).collect::<Vec<_>>();
        assert!(lanes("global").iter().zip(lanes("local")).all(|(global, local)| *global > 0 && global % local == 0));
    }
}

/// Where an element lies in a file of its memory, by what the description says of the tensor.
fn place(tensor: &Value, index: &[i64]) -> usize {
    let axis = |number: usize, axis: &Value| {
        let [dim, stride, extent] = ["dim", "stride", "extent"].map(|key| axis[key].as_i64().expect("a number"));
        number * extent as usize + (index[dim as usize] / stride % extent) as usize
    };
    tensor["axes"].as_array().expect("axes").iter().fold(0, axis)
}

/// All indices of a tensor, the last dimension changing fastest.
fn indices(tensor: &Value) -> Vec<Vec<i64>> {
    let shape = tensor["shape"].as_array().expect("a shape").iter().map(|own| own.as_i64().expect("an extent"));
    let further = |all: Vec<Vec<i64>>, extent: i64| all.iter().flat_map(|own| (0..extent).map(|i| [&own[..], &[i]].concat())).collect();
    shape.fold(vec![vec![]], further)
}

/// The bytes of a memory that holds these elements.
fn packed(memory: &Value, elements: &[f32]) -> Vec<u8> {
    let tensor = &memory["tensor"];
    let halves = tensor["element"] != "f32";
    let image = || memory["width"].as_u64().zip(memory["height"].as_u64()).map(|(w, h)| w * h * if halves { 8 } else { 16 });
    let mut bytes = vec![0; memory["bytes"].as_u64().or_else(image).expect("a size") as usize];
    for (index, value) in indices(tensor).iter().zip(elements) {
        let at = place(tensor, index);
        match halves {
            true => bytes[2 * at..2 * at + 2].copy_from_slice(&half::f16::from_f32(*value).to_le_bytes()),
            false => bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes()),
        }
    }
    bytes
}

/// The elements of a tensor in the bytes of its memory.
fn unpacked(memory: &Value, bytes: &[u8]) -> Vec<f32> {
    let tensor = &memory["tensor"];
    let element = |index: &Vec<i64>| match place(tensor, index) {
        at if tensor["element"] == "f32" => f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().expect("four")),
        at => half::f16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]).to_f32(),
    };
    indices(tensor).iter().map(element).collect()
}

/// What is written suffices to run every shape without warpsight: the C example on a processor, with inputs laid out as the description
/// says, against what the operator is.
#[test]
fn what_is_written_runs_by_itself() {
    let headers = Command::new("cc").args(["-E", "-include", "CL/cl.h", "-x", "c", "/dev/null"]).output();
    if !headers.is_ok_and(|own| own.status.success()) || !Path::new("/etc/OpenCL/vendors").exists() {
        assert!(std::env::var_os("CI").is_none(), "a C compiler, OpenCL's headers and a driver are installed by ./check");
        return eprintln!("skipped: no C compiler with CL/cl.h, or no OpenCL");
    }
    let softmax = |inputs: &[Vec<f32>], sizes: &[i64]| {
        let row = |row: &[f32]| {
            let sum: f32 = row.iter().map(|x| x.exp()).sum();
            row.iter().map(|x| x.exp() / sum).collect::<Vec<_>>()
        };
        let columns = inputs[0].len() / sizes[0] as usize;
        inputs[0].chunks(columns).flat_map(row).collect::<Vec<f32>>()
    };
    let product = |inputs: &[Vec<f32>], sizes: &[i64]| {
        let (m, n) = (sizes[0] as usize, sizes[1] as usize);
        let k = inputs[0].len() / m;
        let at = |i: usize| (0..k).map(|j| inputs[0][i / n * k + j] * inputs[1][j * n + i % n]).sum();
        (0..m * n).map(at).collect::<Vec<f32>>()
    };
    // Channels in texels or blocks that they do not fill.
    let channels = |inputs: &[Vec<f32>], _: &[i64]| {
        let points = inputs[0].len() / 5;
        let sum = |i: usize| (0..5).map(|c| inputs[0][c * points + i % points] * inputs[1][i / points * 5 + c]).sum();
        (0..6 * points).map(sum).collect::<Vec<f32>>()
    };
    type Reference<'a> = &'a dyn Fn(&[Vec<f32>], &[i64]) -> Vec<f32>;
    type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a [i64]], Reference<'a>, f32);
    let cases: [Case; 4] = [
        ("softmax n=2..20 c=100", &[], &[&[2], &[3], &[19], &[20]], &softmax, 1e-5),
        ("softmax n=2..9 c=37", &["--sequences", "rows_kept"], &[&[2], &[7], &[9]], &softmax, 1e-5),
        ("matmul m=3..5 n=7..9 k=12 dtype=f16s weights=none", &[], &[&[3, 7], &[4, 8], &[5, 9]], &product, 2e-3),
        ("conv2d n=1 c=5 h=6..7 w=8 k=6 r=1 s=1", &["--sequences", "direct"], &[&[6], &[7]], &channels, 1e-5),
    ];
    for (op, more, shapes, reference, most) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("kernels");
        let done = run(&folder.path().join("s"), &[&["--op", op, "--out", out.to_str().expect("text")], more].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let launch: Value = serde_json::from_slice(&std::fs::read(out.join("launch.json")).expect("is there")).expect("JSON");
        let name = launch["name"].as_str().expect("a name");
        let cc = Command::new("cc").args([&format!("{name}_host.c"), "-o", "host", "-lOpenCL"]).current_dir(&out).output().expect("starts");
        assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
        let mut rng = fastrand::Rng::with_seed(7);
        for sizes in shapes {
            let all = launch["shapes"].as_array().expect("shapes");
            let shape = all.iter().find(|own| own["sizes"] == Value::from(sizes.to_vec())).expect("the shape");
            let memory = |at: &Value| &shape["memory"][at.as_u64().expect("a position") as usize];
            let mut args: Vec<String> = sizes.iter().map(i64::to_string).collect();
            let mut inputs = vec![];
            for (i, at) in shape["inputs"].as_array().expect("inputs").iter().enumerate() {
                let count = indices(&memory(at)["tensor"]).len();
                // Numbers that halves hold exactly.
                inputs.push((0..count).map(|_| rng.i32(-64..=64) as f32 / 64.0).collect::<Vec<f32>>());
                args.push(format!("in{i}"));
                std::fs::write(out.join(&args[args.len() - 1]), packed(memory(at), &inputs[i])).expect("written");
            }
            args.push("out".into());
            let done = Command::new(out.join("host")).args(&args).current_dir(&out).output().expect("starts");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let found = unpacked(memory(&shape["outputs"][0]), &std::fs::read(out.join("out")).expect("is there"));
            let wanted = reference(&inputs, sizes);
            assert_eq!(found.len(), wanted.len());
            for (a, b) in found.iter().zip(&wanted) {
                assert!((a - b).abs() <= most * b.abs().max(1.0), "{op} at {sizes:?}: {a} for {b}");
            }
        }
    }
}

/// An export into the folder of another one leaves nothing of that behind, and nothing else is touched.
#[test]
fn an_export_replaces_an_earlier_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("kernels");
    let export = |op: &str| {
        let done = run(&folder.path().join("s"), &["--op", op, "--out", out.to_str().expect("text")]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let names = std::fs::read_dir(&out).expect("is there").map(|own| own.expect("an entry").file_name().into_string().expect("text"));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    export("softmax n=2..6 c=100");
    std::fs::write(out.join("notes.txt"), "mine").expect("written");
    std::fs::write(folder.path().join("outside.cl"), "mine").expect("written");
    // A description that names what is not its own.
    let text = std::fs::read_to_string(out.join("launch.json")).expect("is there");
    let others = "\"dispatch.json\", \"../outside.cl\", \"..\", \"notes.txt\", \"launch.json\"";
    std::fs::write(out.join("launch.json"), text.replace("\"dispatch.json\"", others)).expect("written");
    let left = ["0_matmul.cl", "launch.json", "matmul.h", "matmul_host.c", "notes.txt"];
    assert_eq!(export("matmul m=4 n=4 k=4"), left);
    assert!(folder.path().join("outside.cl").exists());
    // Something else of that name, and the same once more.
    std::fs::write(out.join("launch.json"), "{\"files\": [\"0_matmul.cl\", \"notes.txt\", \"launch.json\"]}").expect("written");
    assert_eq!(export("matmul m=4 n=4 k=4"), left);
    assert_eq!(export("matmul m=4 n=4 k=4"), left);
}

#[test]
fn what_cannot_be_open_is_said() {
    assert!(refused("matmul m=9..3 n=4 k=4", &[]).contains("`m=9..3` is not a range whose first end is the smaller one"));
    assert!(refused("matmul m=3.. n=4 k=4", &[]).contains("a range with two ends"));
    assert!(refused("conv2d n=1 c=4 h=8 w=8 k=4 r=3 s=3 stride=1..2", &[]).contains("only sizes of tensors may be ranges"));
    assert!(refused("matmul m=1..64 n=1..64 k=4", &[]).contains("4096 shapes, at most 1024"));
    assert!(refused("matmul m=1..2 n=4 k=4", &["--search", "exhaustive"]).contains("--search is of an operator of one shape"));
    assert!(refused("matmul m=1..2 n=4 k=4", &["--dump", "program"]).contains("--dump is of an operator of one shape"));
    assert!(refused("softmax n=1..2 c=8", &["--sequences", "direct"]).contains("several kernels"));
}
