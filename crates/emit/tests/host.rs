//! The files of a plan: goldens, errors, and the C example built and run by a C compiler where one and OpenCL's headers are found.

mod common;

use common::programs::{self, *};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use warpsight_emit::host::{
    HostArg, HostAxis, HostInitial, HostKernel, HostLaunch, HostMemory, HostMemoryKind, HostPlan, HostShape, HostTensor, PlanError, files,
};
use warpsight_emit::{Source, opencl};
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_ir::*;

/// Blurs an image, and shifts rows with two sizes: every kind of memory, argument and start.
fn plan() -> (HostPlan, Vec<(String, Source)>) {
    let sources = [programs::image_blur(), programs::symbolic_shift()].map(|p| opencl(&checked(p)).expect("a supported Program"));
    let file = |s: &Source| format!("{}.cl", s.entry);
    let image = HostMemoryKind::Image { image: ImageKind::Image2d, width: 13, height: 9, format: ImageFormat::Rgba32F };
    let memory = |name: &str, kind, initial| HostMemory { name: name.into(), kind, initial, tensor: None };
    let rows = HostMemoryKind::Buffer { bytes: 3 * 37 * 4 };
    let sizes = BTreeMap::from([("rows".into(), 3), ("columns".into(), 37)]);
    let launch = |kernel: usize, args: &[HostArg]| {
        let (global, local) = sources[kernel].ndrange(&sizes).expect("sizes");
        HostLaunch { kernel, args: args.to_vec(), global, local }
    };
    let plan = HostPlan {
        name: "two-steps".into(),
        device: "opencl:0".into(),
        open: vec![],
        kernels: sources.iter().map(|s| HostKernel { file: file(s), entry: s.entry.clone() }).collect(),
        shapes: vec![HostShape {
            sizes: vec![],
            memory: vec![
                HostMemory { tensor: Some(texels()), ..memory("picture", image, HostInitial::Zero) },
                memory("zeroes", image, HostInitial::Zero),
                memory("blurred", image, HostInitial::Zero),
                memory("table", rows, HostInitial::File("table.bin".into())),
                memory("shifted", rows, HostInitial::Zero),
            ],
            launches: vec![
                launch(0, &[0, 1, 2].map(HostArg::Memory)),
                launch(1, &[HostArg::Memory(3), HostArg::Memory(4), HostArg::Int(3), HostArg::Int(37)]),
            ],
            inputs: vec![0],
            outputs: vec![2, 4],
        }],
    };
    (plan, sources.iter().map(|s| (file(s), s.clone())).collect())
}

/// Nine rows of 13 texels.
fn texels() -> HostTensor {
    let axis = |dim, extent| HostAxis { dim, stride: 1, extent };
    HostTensor { element: Scalar::F32, shape: vec![9, 13, 4], axes: vec![axis(0, 9), axis(1, 13), axis(2, 4)], rows: Some(1) }
}

#[test]
fn goldens() {
    let (plan, _) = plan();
    let files = files(&plan, &[]).unwrap();
    insta::assert_snapshot!("launch_json", files.json);
    insta::assert_snapshot!("header", files.header.1);
    assert_eq!((files.header.0.as_str(), files.example.0.as_str()), ("two_steps.h", "two_steps_host.c"));
    assert!(!files.example.1.contains('@') && files.example.1.contains("#include \"two_steps.h\""));
}

/// Doubles a row: of a kind of image, into one of that kind.
fn row(image: ImageKind) -> (HostPlan, Source) {
    let word = warpsight_ir::text::Word::word(image);
    let text = format!(
        "program twice {{ read {word} from: rgba16f[13] write {word} to: rgba16f[13]
         groups g = 13 lanes l = 1 {{ to@[12 - g, 0] = from@[g, 0] * splat4(2.0) }} }}"
    );
    let source = opencl(&checked(warpsight_ir::text::parse(&text).expect("a Program"))).expect("a supported Program");
    let kind = HostMemoryKind::Image { image, width: 13, height: 1, format: ImageFormat::Rgba16F };
    let memory = |name: &str| HostMemory { name: name.into(), kind, initial: HostInitial::Zero, tensor: None };
    let (global, local) = source.ndrange(&BTreeMap::new()).expect("no sizes");
    let plan = HostPlan {
        name: "row".into(),
        device: "opencl:0".into(),
        open: vec![],
        kernels: vec![HostKernel { file: "twice.cl".into(), entry: source.entry.clone() }],
        shapes: vec![HostShape {
            sizes: vec![],
            memory: vec![memory("from"), memory("to")],
            launches: vec![HostLaunch { kernel: 0, args: [0, 1].map(HostArg::Memory).to_vec(), global, local }],
            inputs: vec![0],
            outputs: vec![1],
        }],
    };
    (plan, source)
}

#[test]
fn kinds_of_images_are_in_both_descriptions() {
    for (kind, row_word, json) in [
        (ImageKind::Image1d, "ROW_IMAGE1D", Some("\"image\": \"image1d\",")),
        (ImageKind::Image1dBuffer, "ROW_IMAGE1D_BUFFER", Some("\"image\": \"image1d_buffer\",")),
        (ImageKind::Image2d, "ROW_IMAGE2D", None),
        (ImageKind::Image2dFromBuffer, "ROW_IMAGE2D_FROM_BUFFER", Some("\"image\": \"image2d_from_buffer\",")),
    ] {
        let files = files(&row(kind).0, &[]).unwrap();
        let line = format!("{{ \"from\", 104u, {row_word}, 13u, 1u, CL_HALF_FLOAT, 8u, NULL }},");
        assert!(files.header.1.contains(&line), "{}", files.header.1);
        assert_eq!(files.json.contains("\"image\":"), json.is_some());
        assert!(json.is_none_or(|json| files.json.contains(json)), "{}", files.json);
    }
}

#[test]
fn examples_make_images_of_every_kind() {
    let numbers: Vec<u8> = (0..52_u16).flat_map(|i| half(i).to_le_bytes()).collect();
    let doubled: Vec<u8> = (0..13).rev().flat_map(|x| (0..4).flat_map(move |c| half(2 * (4 * x + c)).to_le_bytes())).collect();
    for kind in [ImageKind::Image1d, ImageKind::Image1dBuffer, ImageKind::Image2d, ImageKind::Image2dFromBuffer] {
        let (plan, source) = row(kind);
        let (files, folder) = (files(&plan, &[]).unwrap(), Folder::new(&format!("{kind:?}")));
        folder.write(&files.header.0, &files.header.1);
        folder.write(&files.example.0, &files.example.1);
        folder.write("twice.cl", &source.text);
        folder.write("in", &numbers);
        let Some(linked) = cc(&folder.0, &[&files.example.0, "-o", "row", "-lOpenCL"]) else { return };
        let device = common::pocl::Pocl::find();
        if device.is_none() || !linked.status.success() {
            return eprintln!("skipped: the example cannot be linked or run here");
        }
        let done = Command::new(folder.0.join("row")).args(["in", "out"]).current_dir(&folder.0).output().expect("a run");
        let said = String::from_utf8_lossy(&done.stderr);
        if kind == ImageKind::Image2dFromBuffer && said.contains("lacks") {
            assert!(said.contains("the device lacks cl_khr_image2d_from_buffer, which is needed for from"), "{said}");
            continue;
        }
        assert!(done.status.success(), "{kind:?}: {said}");
        assert_eq!(std::fs::read(folder.0.join("out")).unwrap(), doubled, "{kind:?}");
    }
}

/// The bits of a small whole number as a half.
fn half(value: u16) -> u16 {
    let exponent = value.checked_ilog2().unwrap_or(0) as u16;
    if value == 0 { 0 } else { (15 + exponent) << 10 | (value << (10 - exponent)) & 0x3ff }
}

#[test]
fn wrong_plans_are_refused() {
    let text = |change: fn(&mut HostPlan)| {
        let (mut plan, _) = plan();
        change(&mut plan);
        files(&plan, &[]).unwrap_err().to_string()
    };
    assert_eq!(text(|p| p.shapes[0].launches[1].kernel = 2), "launch 1 refers to kernel 2, of which there are 2");
    assert_eq!(text(|p| p.shapes[0].launches[0].args[0] = HostArg::Memory(9)), "launch 0 refers to memory 9, of which there are 5");
    assert_eq!(text(|p| p.shapes[0].outputs.push(5)), "an output refers to memory 5, of which there are 5");
    assert_eq!(text(|p| p.shapes[0].launches[1].global[0] = 33), "launch 1: 33 work-items cannot be split in groups of 8");
    assert_eq!(text(|p| p.kernels.clear()), PlanError::Empty("kernel").to_string());
}

/// Two numbers of rows: of each its own sizes, memory and launches.
fn range() -> (HostPlan, Vec<(String, Source)>) {
    let (mut plan, sources) = plan();
    let (kernel, source) = (plan.kernels.remove(1), &sources[1].1);
    let shape = |rows: i64| {
        let memory = |name: &str| HostMemory {
            name: name.into(),
            kind: HostMemoryKind::Buffer { bytes: 37 * 4 * rows as u64 },
            initial: HostInitial::Zero,
            tensor: None,
        };
        let (global, local) = source.ndrange(&BTreeMap::from([("rows".into(), rows), ("columns".into(), 37)])).expect("sizes");
        let args = vec![HostArg::Memory(0), HostArg::Memory(1), HostArg::Int(rows as i32), HostArg::Int(37)];
        let launches = vec![HostLaunch { kernel: 0, args, global, local }];
        HostShape { sizes: vec![rows], memory: vec![memory("table"), memory("shifted")], launches, inputs: vec![0], outputs: vec![1] }
    };
    let range = HostPlan { name: "rows".into(), open: vec!["n".into()], kernels: vec![kernel], shapes: vec![shape(2), shape(5)], ..plan };
    (range, sources)
}

#[test]
fn a_range_has_launches_and_memory_of_each_shape() {
    let all = range().0;
    let files = files(&all, &["table.json"]).expect("a right range");
    let value: serde_json::Value = serde_json::from_str(&files.json).expect("JSON");
    assert_eq!((&value["version"], &value["build_options"], &value["open"][0]), (&1.into(), &"-cl-std=CL1.2".into(), &"n".into()));
    assert_eq!(value["files"], serde_json::json!(["rows.h", "rows_host.c", "symbolic_shift.cl", "table.json"]));
    assert_eq!((&value["shapes"][1]["sizes"][0], &value["shapes"][1]["launches"][0]["args"][2]["int"]), (&5.into(), &5.into()));
    assert_eq!((&value["shapes"][1]["memory"][1]["bytes"], &value["shapes"][0]["outputs"][0]), (&740.into(), &1.into()));
    for row in ["{ { 2 }, 0, 2, 0, 1, { 0 }, { 1 } },", "{ { 5 }, 2, 2, 1, 1, { 0 }, { 1 } },"] {
        assert!(files.header.1.contains(row), "{}", files.header.1);
    }
}

#[test]
fn wrong_shapes_of_a_range_are_named() {
    let text = |change: fn(&mut HostPlan)| {
        let mut plan = range().0;
        change(&mut plan);
        files(&plan, &[]).unwrap_err().to_string()
    };
    assert_eq!(text(|p| p.shapes[1].launches[0].kernel = 2), "shape 5: launch 0 refers to kernel 2, of which there are 1");
    assert_eq!(text(|p| p.shapes[1].sizes.push(7)), "shape 5x7: 2 sizes instead of 1");
    assert_eq!(text(|p| p.shapes[1].inputs.clear()), "shape 5: 0 inputs instead of 1");
    assert_eq!(text(|p| p.shapes[1].memory.clear()), "shape 5: the plan has no memory");
    assert_eq!(text(|p| p.shapes.clear()), "the plan has no shape");
}

#[test]
fn the_example_of_a_range_takes_its_sizes() {
    let (plan, sources) = range();
    let (files, folder) = (files(&plan, &[]).unwrap(), Folder::new("range"));
    folder.write(&files.header.0, &files.header.1);
    folder.write(&files.example.0, &files.example.1);
    folder.write(&sources[1].0, &sources[1].1.text);
    let Some(linked) = cc(&folder.0, &[&files.example.0, "-o", "rows", "-lOpenCL"]) else { return };
    if common::pocl::Pocl::find().is_none() || !linked.status.success() {
        return eprintln!("skipped: the example cannot be linked or run here: {}", String::from_utf8_lossy(&linked.stderr));
    }
    let run = |args: &[&str]| Command::new(folder.0.join("rows")).args(args).current_dir(&folder.0).output().expect("a run");
    for rows in [2, 5] {
        let table: Vec<f32> = (0..rows * 37).map(|i| i as f32).collect();
        folder.write("in", f32_bytes(&table));
        let done = run(&[&rows.to_string(), "in", "out"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let shifted: Vec<f32> = (0..rows * 37).map(|i| if i % 37 < 3 { 0.0 } else { 2.0 * table[i - 3] }).collect();
        assert_eq!(bytes_f32(&std::fs::read(folder.0.join("out")).expect("an output")), shifted);
    }
    let said = |args: &[&str]| String::from_utf8_lossy(&run(args).stderr).into_owned();
    assert!(said(&["3", "in", "out"]).contains("there are no kernels for n=3"));
    assert!(said(&["in", "out"]).contains("n table shifted"));
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("warpsight-emit-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
    fn write(&self, name: &str, data: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), data).expect("a file");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the C compiler; `None` where there is none or it has no OpenCL headers.
fn cc(folder: &Path, args: &[&str]) -> Option<std::process::Output> {
    let probe = Command::new("cc").args(["-E", "-include", "CL/cl.h", "-x", "c", "/dev/null"]).output();
    if !probe.is_ok_and(|p| p.status.success()) {
        eprintln!("skipped: no C compiler with CL/cl.h");
        return None;
    }
    Command::new("cc").args(["-std=c99", "-Wall", "-Wextra", "-Werror"]).args(args).current_dir(folder).output().ok()
}

#[test]
fn example_builds_and_runs() {
    let (plan, sources) = plan();
    let files = files(&plan, &[]).unwrap();
    let folder = Folder::new("example");
    folder.write(&files.header.0, &files.header.1);
    folder.write(&files.example.0, &files.example.1);
    let Some(syntax) = cc(&folder.0, &["-fsyntax-only", &files.example.0]) else { return };
    assert!(syntax.status.success(), "{}", String::from_utf8_lossy(&syntax.stderr));
    let linked = cc(&folder.0, &[&files.example.0, "-o", "two_steps", "-lOpenCL"]);
    let device = common::pocl::Pocl::find();
    if device.is_none() || !linked.is_some_and(|l| l.status.success()) {
        eprintln!("skipped: the example cannot be linked or run here");
        return;
    }
    let mut rng = fastrand::Rng::with_seed(21);
    let picture: Vec<f32> = (0..13 * 9 * 4).map(|_| rng.f32()).collect();
    let table: Vec<f32> = (0..3 * 37).map(|i| i as f32).collect();
    for (name, source) in &sources {
        folder.write(name, &source.text);
    }
    folder.write("table.bin", f32_bytes(&table));
    folder.write("in.f32", f32_bytes(&picture));
    // From another folder: files are found beside the executable.
    let path = |name: &str| folder.0.join(name);
    let run = |args: &[&str]| Command::new(path("two_steps")).args(args.iter().map(|a| path(a))).output().expect("a run");
    let done = run(&["in.f32", "blurred.f32", "shifted.f32"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read = |name: &str| bytes_f32(&std::fs::read(path(name)).expect("an output"));
    let shifted: Vec<f32> = (0..3 * 37).map(|i| if i % 37 < 3 { 0.0 } else { 2.0 * table[i - 3] }).collect();
    assert_eq!(read("shifted.f32"), shifted);
    let at = |row: i32, rest: usize| picture[row.clamp(0, 8) as usize * 52 + rest];
    let blur = |i: usize| {
        let (y, rest) = ((i / 52) as i32, i % 52);
        at(y - 1, rest).mul_add(0.25, at(y + 1, rest).mul_add(0.25, at(y, rest) * 0.5))
    };
    assert_eq!(read("blurred.f32"), (0..picture.len()).map(blur).collect::<Vec<_>>());
    // Bad use says what is wrong.
    let stderr = |args: &[&str]| {
        let failed = run(args);
        assert!(!failed.status.success());
        String::from_utf8_lossy(&failed.stderr).into_owned()
    };
    assert!(stderr(&["in.f32"]).contains("picture blurred shifted"));
    assert!(stderr(&["missing", "a", "b"]).contains("cannot open"));
    assert!(stderr(&["table.bin", "a", "b"]).contains("has 444 bytes, needed are 1872 for the tensor picture"));
    folder.write("image_blur.cl", "__kernel void image_blur() { oops }");
    assert!(stderr(&["in.f32", "a", "b"]).contains("cannot build image_blur.cl"));
}
