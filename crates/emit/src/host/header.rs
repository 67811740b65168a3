//! The C header: what the description says, as tables of C.

use super::plan::{HostArg, HostInitial, HostLaunch, HostMemory, HostMemoryKind, HostPlan, HostShape};
use std::fmt::Write;
use warpsight_ir::{ImageFormat, ImageKind};

/// The text of it; everything the example does is in its tables. Rows of a shape lie together in each.
pub fn header(plan: &HostPlan, name: &str) -> String {
    let upper = name.to_uppercase();
    // C has no empty arrays; the counts say how many are meant.
    let most = |of: fn(&HostShape) -> usize| plan.shapes.iter().map(of).max().unwrap_or(0).max(1).to_string();
    let mut h = include_str!("types.h").replace("@name@", name).replace("@NAME@", &upper);
    for (what, most) in [
        ("@args@", most(|shape| shape.launches.iter().map(|own| own.args.len()).max().unwrap_or(0))),
        ("@sizes@", most(|shape| shape.sizes.len())),
        ("@inputs@", most(|shape| shape.inputs.len())),
        ("@outputs@", most(|shape| shape.outputs.len())),
        ("@memories@", most(|shape| shape.memory.len())),
    ] {
        h = h.replace(what, &most);
    }
    let counted = plan.shapes.first().map_or([0; 2], |first| [first.inputs.len(), first.outputs.len()]);
    let _ =
        writeln!(h, "enum {{ {upper}_OPEN = {}, {upper}_INPUTS = {}, {upper}_OUTPUTS = {} }};", plan.open.len(), counted[0], counted[1]);
    let _ = writeln!(
        h,
        "/* Names of the open sizes. */\nstatic const char* const {name}_open[] = {};\n",
        list(plan.open.iter().map(|own| text(own)), "NULL")
    );
    table(&mut h, name, "kernel", plan.kernels.iter().map(|k| format!("{{ {}, {} }}", text(&k.file), text(&k.entry))).collect());
    let shapes = || plan.shapes.iter();
    table(&mut h, name, "memory", shapes().flat_map(|own| &own.memory).map(|m| memory_row(m, &upper)).collect());
    table(&mut h, name, "launch", shapes().flat_map(|own| &own.launches).map(launch_row).collect());
    let mut from = [0; 2];
    let row = |shape: &HostShape| {
        let [memory, launches] = from;
        from = [memory + shape.memory.len(), launches + shape.launches.len()];
        let numbers = |of: &[usize]| list(of.iter().map(usize::to_string), "0");
        let sizes = list(shape.sizes.iter().map(i64::to_string), "0");
        let counts = format!("{memory}, {}, {launches}, {}", shape.memory.len(), shape.launches.len());
        format!("{{ {sizes}, {counts}, {}, {} }}", numbers(&shape.inputs), numbers(&shape.outputs))
    };
    table(&mut h, name, "shape", shapes().map(row).collect());
    let _ = writeln!(h, "#endif");
    h
}

/// A list of values, of one that means nothing where there is none.
fn list(values: impl Iterator<Item = String>, nothing: &str) -> String {
    let values: Vec<String> = values.collect();
    format!("{{ {} }}", if values.is_empty() { nothing.to_owned() } else { values.join(", ") })
}

fn table(h: &mut String, name: &str, what: &str, rows: Vec<String>) {
    let plural = match what {
        "memory" => "memories",
        "launch" => "launches",
        "shape" => "shapes",
        _ => "kernels",
    };
    let _ = writeln!(h, "enum {{ {}_{} = {} }};", name.to_uppercase(), plural.to_uppercase(), rows.len());
    let _ = writeln!(h, "static const {name}_{what} {name}_{plural}[] = {{");
    for row in rows {
        let _ = writeln!(h, "    {row},");
    }
    let _ = writeln!(h, "}};\n");
}

fn memory_row(memory: &HostMemory, upper: &str) -> String {
    let file = match &memory.initial {
        HostInitial::Zero => "NULL".to_owned(),
        HostInitial::File(file) => text(file),
    };
    let (kind, width, height, channel, texel) = match memory.kind {
        HostMemoryKind::Buffer { .. } => ("BUFFER", 0, 0, "0", 0),
        HostMemoryKind::Image { image, width, height, format } => (kind(image), width, height, channel(format), format.bytes()),
    };
    let place = format!("{upper}_{kind}, {width}u, {height}u, {channel}, {texel}u");
    format!("{{ {}, {}u, {place}, {file} }}", text(&memory.name), memory.kind.bytes())
}

fn launch_row(launch: &HostLaunch) -> String {
    let arg = |arg: &HostArg| match arg {
        HostArg::Memory(index) => format!("{{ {index}, 0 }}"),
        HostArg::Int(i32::MIN) => "{ -1, -2147483647 - 1 }".to_owned(),
        HostArg::Int(value) => format!("{{ -1, {value} }}"),
    };
    let args = list(launch.args.iter().map(arg), "{ 0, 0 }");
    let triple = |[x, y, z]: [u64; 3]| format!("{{ {x}u, {y}u, {z}u }}");
    format!("{{ {}, {}, {args}, {}, {} }}", launch.kernel, launch.args.len(), triple(launch.global), triple(launch.local))
}

fn kind(image: ImageKind) -> &'static str {
    match image {
        ImageKind::Image1d => "IMAGE1D",
        ImageKind::Image1dBuffer => "IMAGE1D_BUFFER",
        ImageKind::Image2d => "IMAGE2D",
        ImageKind::Image2dFromBuffer => "IMAGE2D_FROM_BUFFER",
    }
}

fn channel(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Rgba32F => "CL_FLOAT",
        ImageFormat::Rgba16F | ImageFormat::Rgba16H => "CL_HALF_FLOAT",
        ImageFormat::Rgba32I => "CL_SIGNED_INT32",
        ImageFormat::Rgba32U => "CL_UNSIGNED_INT32",
        ImageFormat::Rgba8Unorm => "CL_UNORM_INT8",
    }
}

/// A C string literal.
fn text(value: &str) -> String {
    let mut literal = String::from("\"");
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => literal.extend(['\\', char::from(byte)]),
            b' '..=b'~' => literal.push(char::from(byte)),
            // Three octal digits end by themselves, whatever follows.
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    literal + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(text("a\"b\\c\nü"), "\"a\\\"b\\\\c\\012\\303\\274\"");
    }
}
