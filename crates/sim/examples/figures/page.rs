//! The figures as one page.

use crate::{Figures, NOT_A_VALIDATION};
use plotters::prelude::*;
use std::fmt::Write;

type Points = Vec<(f64, f64)>;
type Drawn = Result<String, Box<dyn std::error::Error>>;

const COLOURS: [RGBColor; 4] = [RGBColor(0, 0, 0), RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

/// The page.
///
/// # Errors
/// What cannot be drawn.
pub fn page(figures: &Figures) -> Result<String, String> {
    let mut text = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Figures of papers 000 and 001, simulated</title>\n\
         <style>body{{font-family:sans-serif;max-width:1120px;margin:auto}}</style>\n\
         <h1>Figures of papers 000 and 001, simulated</h1>\n<p><b>{NOT_A_VALIDATION}</b> Every number comes from Programs that the simulator \
         executed.</p>\n"
    );
    let scaling: Vec<(String, Points)> = figures
        .patterns
        .iter()
        .map(|crate::Scaling { name, stated, gains }| {
            let points: Points = gains.iter().map(|&(lanes, gain)| (f64::from(lanes), gain)).collect();
            (format!("{name}, 1 work-item: {:.2} (paper {stated:.2})", points[0].1), points)
        })
        .collect();
    let mut add = |drawn: Drawn| {
        // Writing to a text does not fail.
        _ = writeln!(text, "{}", drawn.map_err(|error| error.to_string())?);
        Ok::<(), String>(())
    };
    let title = format!("Paper 000, figure 4: not a validation. Images of rows and columns: {:.2} times those of one row", figures.kinds);
    add(drawn(&title, ["work-items", "throughput, of one in columns"], &scaling))?;
    for rate in [true, false] {
        let curves: Vec<(String, Points)> = figures
            .groups
            .iter()
            .map(|(unroll, points)| {
                let value = |p: &crate::Point| if rate { p.miss_rate } else { p.cycles / points[0].cycles };
                (
                    format!("unroll {unroll}, occupancy {}", points[0].occupancy),
                    points.iter().map(|p| (f64::from(p.warps), value(p))).collect(),
                )
            })
            .collect();
        let y = if rate { "texture L1 miss rate" } else { "latency, of one warp" };
        add(drawn("Paper 000, figure 5: not a validation", ["warps of the work-group", y], &curves))?;
    }
    let [image, local] = &figures.convolutions;
    _ = writeln!(
        text,
        "<h2>Paper 001, section 3: a 3×3 convolution on the Adreno 640's silicon</h2>\n<table border=1 cellpadding=4><tr><th><th>GFLOP/s<th>arithmetic \
         units busy<th>bus to device memory busy<th>limited by"
    );
    for (what, ran) in [("through the texture cache", image), ("through local memory", local)] {
        let (flops, alu, dram) = (ran.flops / 1e9, 100.0 * ran.alu, 100.0 * ran.dram);
        _ = writeln!(text, "<tr><td>{what}<td>{flops:.1}<td>{alu:.0} %<td>{dram:.0} %<td>{}", ran.limiter.name());
    }
    _ = writeln!(text, "</table>\n<p>Local memory reaches {:.2} of the texture cache.</p>", local.flops / image.flops);
    Ok(text)
}

/// Curves as SVG.
fn drawn(title: &str, axes: [&str; 2], curves: &[(String, Points)]) -> Drawn {
    let all = || curves.iter().flat_map(|curve| &curve.1);
    let right = all().map(|point| point.0).fold(1.0, f64::max);
    let top = all().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max) * 1.05;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (1100, 380)).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(60)
            .build_cartesian_2d(1.0..right, 0.0..top)?;
        chart.configure_mesh().x_desc(axes[0]).y_desc(axes[1]).light_line_style(WHITE).draw()?;
        for ((name, points), colour) in curves.iter().zip(COLOURS.iter().cycle()) {
            let line = chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
            line.label(name).legend(move |(x, y)| PathElement::new([(x - 5, y), (x + 5, y)], colour.stroke_width(2)));
        }
        chart.configure_series_labels().position(SeriesLabelPosition::LowerRight).border_style(BLACK.mix(0.3)).draw()?;
        root.present()?;
    }
    Ok(text)
}
