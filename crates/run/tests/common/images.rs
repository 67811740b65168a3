//! Random Programs over images of all kinds, as jobs, and what the interpreter makes of them.

use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;
use warpsight_ir::text::{Word, parse};
use warpsight_ir::{Access, Bindings, Border, Checked, Expr, ImageFormat, ImageKind, Name, ParamKind, Program, interpret};
use warpsight_run::{Init, Job, LaunchSpec, MemoryKind, MemorySpec};

/// An image of a random Program.
struct Image {
    name: String,
    kind: ImageKind,
    format: ImageFormat,
    border: Border,
    /// Width and height as the text has them.
    extents: [String; 2],
}

impl Image {
    fn any(name: String, read: bool, rng: &mut Rng) -> Self {
        let kind = *rng.choice(ImageKind::ALL).unwrap();
        let border = if kind == ImageKind::Image1dBuffer || rng.u8(0..4) == 0 {
            Border::None
        } else {
            *rng.choice(&[Border::Zero, Border::ClampToEdge]).unwrap()
        };
        // Now and then as wide as a launch's size says.
        let width = if rng.bool() { rng.u32(1..40).to_string() } else { format!("n + {}", rng.u32(0..9)) };
        let height = if kind.is_one_dimensional() { 1 } else { rng.u32(1..7) };
        let border = if read { border } else { kind.border() };
        Self { name, kind, format: *rng.choice(ImageFormat::ALL).unwrap(), border, extents: [width, height.to_string()] }
    }

    fn declaration(&self, access: &str) -> String {
        let Self { name, kind, format, border, extents: [width, height] } = self;
        let height = if kind.is_one_dimensional() { String::new() } else { format!(", {height}") };
        format!("{access} {} {name}: {}[{width}{height}] border {}", kind.word(), format.word(), border.word())
    }

    /// Coordinates as this image takes them, where all of `x` and `y` must lie inside unless `free`.
    fn at(&self, x: &str, y: &str, free: bool) -> String {
        let [width, height] = &self.extents;
        let one = self.kind.is_one_dimensional();
        let guard = match (free, one) {
            (true, _) => String::new(),
            (false, true) => format!(" if 0 <= {x} < {width}"),
            (false, false) => format!(" if 0 <= {x} < {width}, 0 <= {y} < {height}"),
        };
        format!("{}@[{x}{}{guard}]", self.name, if one { String::new() } else { format!(", {y}") })
    }

    /// The whole numbers that a texel stands for.
    fn numbers(&self, texel: &str) -> String {
        match self.format {
            ImageFormat::Rgba32I => texel.to_owned(),
            ImageFormat::Rgba8Unorm => format!("i32({texel} * splat4(255.0) + splat4(0.5))"),
            _ => format!("i32({texel})"),
        }
    }

    /// The texel that stands for whole numbers from 0 to 255.
    fn texel(&self, numbers: &str) -> String {
        match self.format {
            ImageFormat::Rgba32I => numbers.to_owned(),
            ImageFormat::Rgba32U => format!("u32({numbers})"),
            ImageFormat::Rgba8Unorm => format!("f32({numbers}) / splat4(255.0)"),
            ImageFormat::Rgba16H => format!("half({numbers})"),
            ImageFormat::Rgba32F | ImageFormat::Rgba16F => format!("f32({numbers})"),
        }
    }
}

/// A Program that adds texels of images, at places that it computes and places that texels name, and writes images; as text. All values
/// are whole numbers that every format holds.
pub fn text(seed: u64) -> String {
    let mut rng = Rng::with_seed(seed);
    let sources: Vec<Image> = (0..rng.usize(2..5)).map(|i| Image::any(format!("from{i}"), true, &mut rng)).collect();
    let targets: Vec<Image> = (0..rng.usize(1..4)).map(|i| Image::any(format!("to{i}"), false, &mut rng)).collect();
    let mut text = format!("program images{seed} {{\n  size n in 1..=40\n");
    let declared = sources.iter().map(|image| (image, "read")).chain(targets.iter().map(|image| (image, "write")));
    declared.for_each(|(image, access)| _ = writeln!(text, "  {}", image.declaration(access)));
    text += "  groups gx = 7, y = 6\n  lanes lx = 8\n  {\n    let x = gx * 8 + lx\n";
    for (i, target) in targets.iter().enumerate() {
        let _ = writeln!(text, "    var sum{i}: i32x4 = splat4({})", rng.u8(..));
        for term in 0..rng.usize(1..4) {
            let source = rng.choice(&sources).unwrap();
            let [width, height] = &source.extents;
            let known = rng.u8(0..3) == 0;
            // Within by the remainder, or anywhere around.
            let (x, y) = if known {
                (format!("lane(sum{i}, {}) % ({width})", rng.u8(0..4)), format!("(x + y) % {height}"))
            } else {
                (format!("x * {} + {}", rng.i8(-1..3), rng.i8(-4..9)), format!("y + {}", rng.i8(-2..3)))
            };
            let name = format!("{i}_{term}");
            let _ = writeln!(text, "    let x{name} = {x}\n    let y{name} = {y}");
            let free = known || source.border != Border::None && rng.u8(0..3) > 0;
            let texel = source.at(&format!("x{name}"), &format!("y{name}"), free);
            // A sum stays a place to read from.
            let _ = writeln!(text, "    sum{i} = sum{i} + {} & splat4(255)", source.numbers(&texel));
        }
        let [width, _] = &target.extents;
        let x = if rng.bool() { "x".to_owned() } else { format!("{width} - 1 - x") };
        let texel = target.at("to_x", "y", false);
        let row = if target.kind.is_one_dimensional() { "0 <= y < 1, 0 <= to_x" } else { "0 <= to_x" };
        let _ = writeln!(
            text,
            "    {{\n      let to_x = {x}\n      {} = {}\n    }}",
            texel.replace("0 <= to_x", row),
            target.texel(&format!("sum{i}"))
        );
    }
    text + "  }\n}\n"
}

/// A Program with contents for its images, and what those that are written hold after it, by the interpreter.
///
/// # Panics
/// Where the Program is not valid, or commits a fault.
pub fn job(text: &str, seed: u64) -> (Job, Vec<Vec<u8>>) {
    let program = Checked::new(parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let sizes = BTreeMap::from([(Name::from("n"), rng.i64(1..=40))]);
    let (mut job, mut bindings) = (Job::default(), Bindings { sizes: sizes.clone(), data: vec![] });
    for (position, param) in program.params.iter().enumerate() {
        let ParamKind::Image { kind, format, width, height, access, .. } = &param.kind else { panic!("images alone") };
        let extent = |e: &Expr| warpsight_emit::grid::eval_size(e, &sizes).unwrap() as u32;
        let kind = MemoryKind::Image { kind: *kind, format: *format, width: extent(width), height: extent(height) };
        let numbers = kind.bytes() / u64::from(format.bytes()) * 4;
        let bytes: Vec<u8> = (0..numbers).flat_map(|_| stored(*format, if *access == Access::Read { rng.u8(..) } else { 7 })).collect();
        bindings.data.push(bytes.clone());
        job.memory.push(MemorySpec { kind, init: Init::Data(bytes), canaries: false });
        if *access != Access::Read {
            job.read.push(position);
        }
    }
    job.launches = vec![LaunchSpec { program: 0, args: (0..program.params.len()).collect(), sizes: vec![sizes["n"]] }];
    interpret::interpret(&program, &mut bindings).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let written = job.read.iter().map(|&position| bindings.data[position].clone()).collect();
    job.programs = vec![Program::clone(&program).into()];
    (job, written)
}

/// A number as a component holds it.
fn stored(format: ImageFormat, number: u8) -> Vec<u8> {
    match format {
        ImageFormat::Rgba32F => f32::from(number).to_le_bytes().to_vec(),
        ImageFormat::Rgba16F | ImageFormat::Rgba16H => half::f16::from(number).to_le_bytes().to_vec(),
        ImageFormat::Rgba32I | ImageFormat::Rgba32U => u32::from(number).to_le_bytes().to_vec(),
        ImageFormat::Rgba8Unorm => vec![number],
    }
}
