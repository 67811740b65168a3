//! Recorded points and simulated curves of every table, one page.

use crate::folder::Folder;
use crate::kernels::{self, Stream};
use crate::points::{Point, points};
use plotters::prelude::*;
use std::fmt::Write;
use warpsight_sim::{SimFault, Simulator};

type Points = Vec<(f64, f64)>;

/// One panel.
struct Curve {
    title: String,
    x: &'static str,
    y: &'static str,
    /// The x axis is logarithmic.
    log: bool,
    recorded: Points,
    simulated: Points,
}

/// Rows of a chase that are simulated at most; all are drawn.
const MOST: usize = 400;

/// The page.
///
/// # Errors
/// What is wrong with a table, or what the simulator refuses.
pub fn page(folder: &Folder, simulator: &Simulator) -> Result<String, String> {
    let refused = |fault: SimFault| fault.to_string();
    let mut curves = vec![];
    for image in [true, false] {
        let name = if image { "ImageCacheHierarchyPChase.csv" } else { "BufferCacheHierarchyPChase.csv" };
        if folder.has(name) {
            chases(&points(folder, image)?, image, simulator, &mut curves).map_err(refused)?;
        }
    }
    rest(folder, simulator, &mut curves)?;
    let silicon = simulator.silicon();
    let mut text = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>{0}: recorded and simulated</title>\n<style>body{{font-family:sans-serif;max-width:1120px;margin:auto}}</style>\n\
         <h1>{0}: recorded and simulated</h1>\n<p>{1}. Points: <b>measured</b>, the recording. Lines: <b>simulated</b>, Programs that the simulator \
         executed. {2} curves.</p>\n",
        silicon.name,
        silicon.description,
        curves.len()
    );
    for curve in &curves {
        // Writing to a text does not fail.
        _ = writeln!(text, "{}", drawn(curve).map_err(|error| error.to_string())?);
    }
    Ok(text)
}

/// Ranges at the smallest stride, and every ring that was walked in many strides.
fn chases(points: &[Point], image: bool, simulator: &Simulator, curves: &mut Vec<Curve>) -> Result<(), SimFault> {
    let what = if image { "Image" } else { "Buffer" };
    let least = points.iter().map(|point| point.stride).fold(f64::INFINITY, f64::min);
    let mut rings: Vec<f64> = points.iter().filter(|point| point.stride > least).map(|point| point.bytes).collect();
    rings.dedup();
    let sweep: Vec<&Point> = points.iter().filter(|point| point.stride == least).collect();
    let mut add = |title: String, x, points: &[&Point], at: &dyn Fn(&Point) -> f64| {
        let every = points.len().div_ceil(MOST);
        let simulated = points.iter().step_by(every.max(1)).map(|point| Ok((at(point), point.simulated(simulator)?)));
        let curve = Curve {
            title: format!("{what} chase, {title}"),
            x,
            y: "ns a step",
            log: false,
            recorded: points.iter().map(|point| (at(point), point.recorded)).collect(),
            simulated: simulated.collect::<Result<_, SimFault>>()?,
        };
        curves.push(curve);
        Ok(())
    };
    add(format!("stride {least} bytes"), "range, bytes", &sweep, &|point| point.bytes)?;
    for ring in rings {
        let strides: Vec<&Point> = points.iter().filter(|point| point.bytes == ring).collect();
        add(format!("ring of {ring} bytes"), "stride, bytes", &strides, &|point| point.stride)?;
    }
    Ok(())
}

/// A table's rows as points: column `x`, and what `y` makes of the row.
fn recorded(folder: &Folder, name: &str, columns: usize, y: impl Fn(&[f64]) -> Option<(f64, f64)>) -> Result<Points, String> {
    Ok(folder.table(name, columns)?.0.iter().filter_map(|row| y(row)).collect())
}

fn rest(folder: &Folder, simulator: &Simulator, curves: &mut Vec<Curve>) -> Result<(), String> {
    let mut add =
        |title: &str, [x, y]: [&'static str; 2], log, recorded: Points, simulate: &dyn Fn(f64) -> Result<Option<f64>, SimFault>| {
            let mut at: Vec<f64> = recorded.iter().map(|point| point.0).collect();
            at.sort_by(f64::total_cmp);
            at.dedup();
            let mut simulated = vec![];
            for x in at {
                if let Some(y) = simulate(x).map_err(|fault| format!("{title}: {fault}"))? {
                    simulated.push((x, y));
                }
            }
            curves.push(Curve { title: title.into(), x, y, log, recorded, simulated });
            Ok::<(), String>(())
        };
    let streams = [
        ("ImageBandwidth.csv", Stream::Texels, u64::from(simulator.silicon().limits.image) * 16),
        ("BufferBandwidth.csv", Stream::Vectors, 1 << 24),
        ("ConstMemBandwidth.csv", Stream::Vectors, 1 << 16),
        ("LocalMemBandwidth.csv", Stream::Local, u64::from(simulator.silicon().local_bytes())),
    ];
    for (name, stream, most) in streams.into_iter().filter(|s| folder.has(s.0)) {
        let rows = recorded(folder, name, 3, |row| Some((row[0], row[2])))?;
        let bandwidth = |range: f64| match (range as u64).next_power_of_two() {
            range if range <= most => kernels::bandwidth(simulator, stream, range).map(|b| Some(b / 1e9)),
            _ => Ok(None),
        };
        add(name, ["range, bytes", "GB/s"], true, rows, &bandwidth)?;
    }
    let name = "ImageCachelineSize.csv";
    if folder.has(name) {
        for (along_y, axis) in [(false, "along x"), (true, "along y")] {
            let wanted = f64::from(u8::from(along_y));
            let rows = recorded(folder, name, 4, |row| (row[1] == wanted && row[2] > 1000.0).then(|| (row[0], row[3] * 1e3 / row[2])))?;
            let fetch = |lanes: f64| kernels::fetches(simulator, lanes as u32, along_y).map(|t| Some(t * 1e9));
            add(&format!("{name}, work-items {axis}"), ["work-items", "ns a fetch"], false, rows, &fetch)?;
        }
    }
    let name = "RegCount.csv";
    if folder.has(name) {
        let of = |row: &[f64]| row[4] * 1e3 / row[3];
        let rows = recorded(folder, name, 5, |row| (row[1] == 1.0 && row[3] > 1000.0).then(|| (row[2], of(row))))?;
        // Values of every fourth number suffice where the curve is straight.
        let count = |values: f64| match values as u32 {
            v if v > 1 && (v % 4 == 0 || v > 176) => kernels::registers(simulator, v, 1).map(|t| Some(t * 1e9)),
            _ => Ok(None),
        };
        add(&format!("{name}, one group"), ["values kept", "ns a trip"], false, rows, &count)?;
        let table = folder.table(name, 5)?.0;
        let mut kept: Vec<f64> = table.iter().filter(|row| row[1] > 1.0).map(|row| row[2]).collect();
        kept.dedup();
        for values in kept {
            let rows = recorded(folder, name, 5, |row| (row[2] == values && row[3] > 1000.0).then(|| (row[1], of(row))))?;
            let count = |groups: f64| kernels::registers(simulator, values as u32, groups as u32).map(|t| Some(t * 1e9));
            add(&format!("{name}, {values} values kept"), ["groups of one work-item", "ns a trip"], false, rows, &count)?;
        }
    }
    let name = "WarpSizeMethodA.csv";
    if folder.has(name) {
        let rows = recorded(folder, name, 2, |row| Some((row[0], row[1])))?;
        let count = |lanes: f64| kernels::ascending(simulator, lanes as u32).map(|n| Some(f64::from(n)));
        add(name, ["work-items", "that count up"], false, rows, &count)?;
    }
    // Tables whose kernels did more than is known are drawn relative to their first row.
    let relative = |name: &str, columns: usize, x: usize, t: usize, trips: Option<usize>, keep: &dyn Fn(&[f64]) -> bool| {
        let of = |row: &[f64]| (row[x], row[t] / trips.map_or(1.0, |n| row[n]));
        let rows = recorded(folder, name, columns, |row| keep(row).then(|| of(row)))?;
        let first = rows.first().map_or(1.0, |point| point.1);
        Ok::<Points, String>(rows.into_iter().map(|(x, y)| (x, y / first)).collect())
    };
    let name = "WarpSizeMethodB.csv";
    if folder.has(name) {
        let rows = relative(name, 2, 0, 1, None, &|_| true)?;
        let one = kernels::arithmetic(simulator, 1).map_err(|fault| fault.to_string())?;
        let time = |lanes: f64| kernels::arithmetic(simulator, lanes as u32).map(|t| Some(t / one));
        add(name, ["work-items", "time, of one"], false, rows, &time)?;
    }
    let name = "Gflops.csv";
    if folder.has(name) {
        let rows = relative(name, 4, 1, 3, Some(2), &|row| row[0] == 32.0)?;
        let one = kernels::flops(simulator, 16).map_err(|fault| fault.to_string())?;
        let time = |width: f64| kernels::flops(simulator, width as u32).map(|f| Some(one / f));
        add(&format!("{name}, f32; simulated {:.0} GFLOP/s", one / 1e9), ["components", "time, of 16"], false, rows, &time)?;
    }
    let name = "BufferCachelineSize.csv";
    if folder.has(name) {
        let rows = relative(name, 5, 1, 4, Some(3), &|row| row[3] > 400.0)?;
        let one = kernels::strided(simulator, 1024, 4).map_err(|fault| fault.to_string())?;
        let time = |stride: f64| kernels::strided(simulator, 1024, stride as u32).map(|t| Some(t / one));
        add(name, ["stride, bytes", "time, of 4 bytes"], false, rows, &time)?;
    }
    let name = "BufferVecWidth.csv";
    if folder.has(name) {
        let rows = relative(name, 3, 0, 2, Some(1), &|row| row[1] == 4173.0 || row[1] > 4000.0)?;
        let one = kernels::vectors(simulator, 4).map_err(|fault| fault.to_string())?;
        let time = |bytes: f64| kernels::vectors(simulator, bytes as u32).map(|t| Some(t / one));
        add(name, ["bytes of a vector", "time, of 4 bytes"], false, rows, &time)?;
    }
    Ok(())
}

/// A panel as SVG.
fn drawn(curve: &Curve) -> Result<String, Box<dyn std::error::Error>> {
    let all = || curve.recorded.iter().chain(&curve.simulated);
    let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), p| (low.min(p.0), high.max(p.0)));
    let top = all().map(|p| p.1).fold(0.0, f64::max).max(f64::MIN_POSITIVE) * 1.05;
    let scale = |x: f64| if curve.log { x.log2() } else { x };
    let (low, high) = (scale(low), scale(high));
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (1100, 320)).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .caption(&curve.title, ("sans-serif", 18))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(60)
            .build_cartesian_2d(low..high.max(low + 1.0), 0.0..top)?;
        let label = |x: &f64| if curve.log { format!("2^{x:.0}") } else { format!("{x:.0}") };
        chart.configure_mesh().x_desc(curve.x).y_desc(curve.y).x_label_formatter(&label).light_line_style(WHITE).draw()?;
        let measured = RGBColor(120, 120, 120);
        let points = curve.recorded.iter().map(|&(x, y)| Circle::new((scale(x), y), 2, measured.filled()));
        chart.draw_series(points)?.label("measured").legend(move |at| Circle::new(at, 3, measured.filled()));
        let line = RGBColor(0, 114, 178);
        let simulated = curve.simulated.iter().map(|&(x, y)| (scale(x), y));
        let drawn = chart.draw_series(LineSeries::new(simulated, line.stroke_width(2)))?;
        drawn.label("simulated").legend(move |(x, y)| PathElement::new([(x - 5, y), (x + 5, y)], line.stroke_width(2)));
        chart.configure_series_labels().position(SeriesLabelPosition::LowerRight).border_style(BLACK.mix(0.3)).draw()?;
        root.present()?;
    }
    Ok(text)
}
