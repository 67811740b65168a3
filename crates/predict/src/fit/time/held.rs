//! Recorded times that no number of the time model was fitted to: a 7-point stencil on MI250X, tables of a convolution and a matrix product,
//! strided loads on A100 and A40, sweeps over sizes of caches.

use super::bandwidth::HeldOut;
use super::streams::told;
use super::tables::{Convolution, Gemm};
use crate::fit::caches::sweeps;
use crate::fit::device::profile;
use crate::fit::{FitError, LAPLACIAN, Recordings, STRIDES};
use crate::volumes::fitted::caches::{Caches, Second, TEXT};
use crate::volumes::fitted::expected::Kind;
use crate::volumes::fitted::speed::Speed;
use crate::volumes::report::{Settings, Work, report};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use warpsight_ir::Profile;
use warpsight_ir::accesses::Order;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::Fact;

/// A launch against its measured seconds.
fn held(
    text: &str,
    settings: &[(String, String)],
    on: &Profile,
    (family, group): (&str, String),
    measured: f64,
    order: Order,
) -> Result<HeldOut, FitError> {
    let written = text::parse(text, settings)?;
    let settings = Settings { order, brief: true, ..Settings::default() };
    let found = report(&Work { kernel: &written.kernel, points: written.points }, on, &settings)?;
    let (kind, span) = told(&found)?;
    let off = (found.seconds.0 / measured).ln();
    Ok(HeldOut {
        family: family.to_owned(),
        device: on.name.clone(),
        kernel: group,
        basis: Speed::of(on).from,
        kind,
        off: span.map(|end| -off - end),
    })
}

/// All of them.
pub fn all(recordings: &Recordings) -> Result<Vec<HeldOut>, FitError> {
    let mut held = stencil(&recordings.json(LAPLACIAN)?)?;
    held.extend(strides(&recordings.json(STRIDES)?)?);
    held.extend(tiles(recordings)?);
    held.extend(cached(recordings)?);
    Ok(held)
}

/// What `data/fits/caches.toml` gives where a device is left out of it.
#[derive(Deserialize)]
struct LeftOut {
    left_out: BTreeMap<String, Without>,
}

#[derive(Deserialize)]
struct Without {
    nvidia: f64,
    amd: f64,
    partitioned: [f64; 2],
    whole: [f64; 2],
    in_step: f64,
}

/// Sizes of a sweep that are predicted, evenly.
const SIZES: usize = 12;

/// Sweeps of first, second and last levels, each by fits of caches without its device; sizes that caches limit.
fn cached(recordings: &Recordings) -> Result<Vec<HeldOut>, FitError> {
    // The file is compiled in, and a test reruns the fit that makes it.
    let LeftOut { left_out } = toml::from_str(TEXT).expect("data/fits/caches.toml holds the fits without each device");
    let second = |[share, steepness]: [f64; 2]| Second { share, steepness };
    let mut held = Vec::new();
    for mut sweep in sweeps::read(recordings)? {
        let m = &mut sweep.on.memory;
        if m.l2.instances.get().is_some_and(|&n| n > 1) && m.llc.bytes.get().is_none() {
            m.l2_effective = Fact::unknown("left out");
        }
        let caches = left_out.get(&sweep.device).map_or(*Caches::fitted(), |own| Caches {
            nvidia: own.nvidia,
            amd: own.amd,
            partitioned: second(own.partitioned),
            whole: second(own.whole),
            cdna_in_step: own.in_step,
        });
        let step = sweep.rows.len().div_ceil(SIZES);
        for &(kib, bandwidth) in sweep.rows.iter().step_by(step) {
            let (written, found) = sweep.report(kib, caches)?;
            let (kind, span) = told(&found)?;
            if kind != Kind::Sweep {
                continue;
            }
            let asked = found.volumes.l1_requested.ok_or(FitError::Short("requests"))? * written.points as f64;
            let off = (found.seconds.0 * bandwidth * 1e9 / asked).ln();
            let kernel = format!("{} level", format!("{:?}", sweep.level).to_lowercase());
            let (family, basis) = ("cache".to_owned(), Speed::of(&sweep.on).from);
            held.push(HeldOut { family, device: sweep.device.clone(), kernel, basis, kind, off: span.map(|end| -off - end) });
        }
    }
    Ok(held)
}

/// Rows of a table that are predicted: about so many of them, evenly, an odd number apart, as settings alternate.
const ROWS: usize = 300;

/// Compute-bound tiles: exhaustive tables of tuned kernels. Groups are what compilers write other programs for.
fn tiles(recordings: &Recordings) -> Result<Vec<HeldOut>, FitError> {
    let mut held = Vec::new();
    let some = |rows: usize| rows.div_ceil(ROWS) | 1;
    for (name, device) in [("a100", "a100-40"), ("mi250x", "mi250x"), ("w6600", "w6600")] {
        let on = profile(device)?;
        let rows = Convolution::rows(recordings.text(&format!("tuning/convolution_{name}.csv"))?);
        let step = some(rows.len());
        for row in rows.into_iter().step_by(step) {
            let (text, settings) = row.text();
            let from = if row.shared { "staged" } else { "from memory" };
            let group = format!("{from}, {}", if row.divides() { "divisible" } else { "guarded" });
            held.push(self::held(&text, &settings, &on, ("convolution", group), row.measured, Order::Free)?);
        }
    }
    for device in ["rtx3090", "rtx2080ti"] {
        let on = profile(device)?;
        let rows: Vec<Gemm> = Gemm::rows(recordings.text(&format!("tuning/gemm_{device}.csv"))?);
        let step = some(rows.len());
        for (row, text) in rows.iter().filter_map(|row| Some((row, row.text()?))).step_by(step) {
            let group =
                format!("staged: {}", ["nothing", "B", "A", "A and B"][2 * usize::from(row.stages[0]) + usize::from(row.stages[1])]);
            held.push(self::held(&text, &[], &on, ("gemm", group), row.measured, Order::Free)?);
        }
    }
    Ok(held)
}

/// Cycles of strided loads by odd strides, which the curve of the tags was not fitted to. On the A40 only f32: its f64 loads wait for units
/// that the model does not connect with loads.
fn strides(data: &Value) -> Result<Vec<HeldOut>, FitError> {
    let mut rows = Vec::new();
    for row in data["rows"].as_array().ok_or(FitError::Short("rows"))? {
        let number = |key: &str| row[key].as_u64().ok_or(FitError::Short("number where one belongs"));
        let (stride, bytes) = (number("arg")?.min(1024), number("datatype")?);
        let device = if row["device"] == "a100" { "a100-40" } else { "a40" };
        if row["mode"] != "stride" || stride.is_multiple_of(2) || (device == "a40" && bytes == 8) {
            continue;
        }
        let on = profile(device)?;
        let element = if bytes == 8 { "f64" } else { "f32" };
        let text = format!(
            "name = \"strides\"\nblock = [1024]\ndomain = [1024]\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"{element}\"\n\
             dims = [{}]\nload = [[\"{stride}*tx\"]]\n",
            1024 * stride
        );
        let written = text::parse(&text, &[])?;
        let found = report(&Work { kernel: &written.kernel, points: written.points }, &on, &Settings::default())?;
        let measured = row["cycles_per_warp32"].as_f64().ok_or(FitError::Short("cycles"))?;
        // Cycles know no clock.
        let off = [-(found.l1_cycles_per_point.ok_or(FitError::Short("rule of its first level"))? * 32.0 / measured).ln(); 2];
        let (family, kind) = ("strides".to_owned(), Kind::Sweep);
        rows.push(HeldOut { family, device: device.to_owned(), kernel: element.to_owned(), basis: Speed::of(&on).from, kind, off });
    }
    Ok(rows)
}

/// A thread's loads of a column of `tile` points of the 7-point stencil, and its stores.
fn laplacian([x, y, z]: [u32; 3], block: [u32; 3], tile: u32, ascending: bool, streaming: bool) -> String {
    let at = |dx: i32, n: i32, dz: i32| {
        let offset = |name: &str, by: i32| if by == 0 { name.to_owned() } else { format!("{name}{by:+}") };
        format!("[\"{}\", \"{}\", \"{}\"]", offset("tx", dx), offset(&format!("{tile}*ty"), n), offset("tz", dz))
    };
    let last = tile as i32;
    let mut loads = Vec::new();
    if ascending {
        // The plane below first, the plane above last.
        loads.extend((0..last).map(|n| at(0, n, -1)));
        loads.push(at(0, -1, 0));
        loads.extend((0..last).flat_map(|n| [at(-1, n, 0), at(0, n, 0), at(1, n, 0)]));
        loads.push(at(0, last, 0));
        loads.extend((0..last).map(|n| at(0, n, 1)));
    } else {
        // Point by point; neighbours in y within the tile are kept in registers.
        for n in 0..last {
            loads.extend([at(0, n, 0), at(-1, n, 0), at(1, n, 0)]);
            loads.extend((n == 0).then(|| at(0, -1, 0)));
            loads.extend((n == last - 1).then(|| at(0, last, 0)));
            loads.extend([at(0, n, -1), at(0, n, 1)]);
        }
    }
    let stores: Vec<String> = (0..last).map(|n| at(0, n, 0)).collect();
    // Registers that leave as many waves as were published with the recordings: 8 a SIMD up to a tile of 4, 5 at 8, 2 at 16.
    let registers = match tile {
        0..8 => 32,
        8..16 => 96,
        _ => 256,
    };
    let (policy, fma) = (if streaming { "policy = \"non_temporal\"\n" } else { "" }, 5 * tile);
    let dims = format!("dims = [{x}, {y}, {z}]");
    format!(
        "name = \"laplacian\"\nblock = {block:?}\ndomain = [{x}, {}, {z}]\nregisters = {registers}\nflops = {{ f64_fma = {fma}, f64 = {tile} }}\n\
         [[field]]\nname = \"u\"\nelement = \"f64\"\n{dims}\nload = [{}]\n\
         [[field]]\nname = \"f\"\nelement = \"f64\"\n{dims}\n{policy}store = [{}]\n",
        y / tile,
        loads.join(", "),
        stores.join(", ")
    )
}

/// The stencil's recorded times. Rows with spills move other bytes; the reindexed grid and the split launch are other programs.
fn stencil(data: &Value) -> Result<Vec<HeldOut>, FitError> {
    let on = profile("mi250x")?;
    let mut rows = Vec::new();
    let bytes = |size: [u32; 3]| {
        let [x, y, z] = size.map(f64::from);
        8.0 * (x * y * z - 8.0 - 4.0 * (x - 2.0) - 4.0 * (y - 2.0) - 4.0 * (z - 2.0) + (x - 2.0) * (y - 2.0) * (z - 2.0))
    };
    let mut add = |group: &str, size, block, tile, (ascending, streaming), seconds: f64| -> Result<(), FitError> {
        // AMD's compiler keeps the order of loads: kernels 2 and 3 differ in nothing else.
        rows.push(held(
            &laplacian(size, block, tile, ascending, streaming),
            &[],
            &on,
            ("stencil", group.to_owned()),
            seconds,
            Order::Kept,
        )?);
        Ok(())
    };
    let number = |value: &Value| value.as_f64().ok_or(FitError::Short("number where one belongs"));
    let row = [256, 1, 1];
    for (size, found) in data["mi250x_gcd_kernel5_m8_size_scan"].as_object().ok_or(FitError::Short("scan over sizes"))? {
        let numbers: Vec<u32> = size.split('x').filter_map(|n| n.parse().ok()).collect();
        let Ok(size) = <[u32; 3]>::try_from(numbers) else { return Err(FitError::Short("size of three numbers")) };
        add("size scan", size, row, 8, (true, true), bytes(size) / (number(&found["FOM_GBs"])? * 1e9))?;
    }
    let cube = &data["mi250x_gcd_512^3"];
    let slowest = number(&cube["kernel1_256x1x1"]["time_ms"])? * 1e-3;
    let size = [512; 3];
    add("kernel 1", size, row, 1, (false, false), slowest)?;
    add("kernel 1", size, row, 1, (false, true), slowest / number(&cube["kernel1_nontemporal_store"]["speedup"])?)?;
    for (kernel, group, ascending) in [
        ("kernel2_ytile", "kernel 2", false),
        ("kernel3_ytile_reordered", "kernels 3 and 4", true),
        ("kernel4_launch_bounds", "kernels 3 and 4", true),
    ] {
        for (i, tile) in [1, 2, 4, 8, 16].into_iter().enumerate() {
            // Kernel 2 with a tile of one is kernel 1.
            if cube[kernel].get(format!("m{tile}")).is_some() && !(kernel == "kernel2_ytile" && tile == 1) {
                add(group, size, row, tile, (ascending, false), slowest / number(&cube[kernel]["speedup"][i])?)?;
            }
        }
    }
    let large = &data["mi250x_gcd_1024^3"]["kernel5_128x1x8"]["FOM_GBs"];
    add("blocks of 128x1x8", [1024; 3], [128, 1, 8], 8, (true, true), bytes([1024; 3]) / (number(large)? * 1e9))?;
    Ok(rows)
}
