//! Panels to SVG. Legends stand beside the axes, names of rows before them: nothing covers what is drawn.

use super::{Figure, Mark, Panel, PlotError, Series, Span};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>>;

/// Colours that most people tell apart (Okabe and Ito, "Color universal design", 2008), black last.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(240, 228, 66),
    RGBColor(0, 0, 0),
];
pub(super) const FONT: &str = "sans-serif";
/// Pixels.
const WIDTH: u32 = 1100;
const LEGEND: u32 = 250;
const TITLE: u32 = 62;
const CURVES: u32 = 360;
/// Of the axis below a panel of bars, and above it.
const AXES: u32 = 80;

/// Draws a figure.
///
/// # Errors
/// [`PlotError::Empty`] where a panel has no finite number.
pub fn svg(figure: &Figure) -> Result<String, PlotError> {
    let heights: Vec<u32> = figure.panels.iter().map(height).collect();
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, TITLE + heights.iter().sum::<u32>())).into_drawing_area();
        root.fill(&WHITE).map_err(refused)?;
        root.draw(&Text::new(plain(&figure.title), (20, 12), (FONT, 22).into_font())).map_err(refused)?;
        root.draw(&Text::new(plain(&figure.note), (20, 40), (FONT, 14).into_font().color(&BLACK.mix(0.7)))).map_err(refused)?;
        let (_, mut rest) = root.split_vertically(TITLE);
        for (panel, height) in figure.panels.iter().zip(heights) {
            let (own, below) = rest.split_vertically(height);
            draw(panel, &own)?;
            rest = below;
        }
        root.present().map_err(refused)?;
    }
    Ok(text)
}

pub(super) fn refused(error: impl std::fmt::Display) -> PlotError {
    PlotError::Drawing(error.to_string())
}

pub(super) fn colour(i: usize) -> RGBColor {
    COLOURS[i % COLOURS.len()]
}

/// The i-th colour, as CSS has it.
pub fn colour_of(i: usize) -> String {
    let RGBColor(red, green, blue) = colour(i);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// What an XML text may have: names come from files.
pub(super) fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), "\u{fffd}")
}

fn height(panel: &Panel) -> u32 {
    match panel {
        Panel::Curves { .. } => CURVES,
        Panel::Bars { rows, stacked, parts, .. } => {
            let row = if *stacked { 24 } else { 8 + 7 * parts.len().max(2) as u32 };
            // A legend needs its room, too.
            (AXES + row * rows.len() as u32).max(AXES + 20 * parts.len() as u32)
        }
        Panel::Spans { rows, parts, .. } => (AXES + 30 * rows.len() as u32).max(AXES + 20 * parts.len() as u32),
    }
}

fn draw(panel: &Panel, area: &Area) -> Result<(), PlotError> {
    let (axes, legend) = area.split_horizontally(WIDTH - LEGEND);
    match panel {
        Panel::Curves { x, y, joined, series } => {
            curves(&axes, (x, y), *joined, series)?;
            names(&legend, series.iter().map(|own| own.name.as_str()))
        }
        Panel::Bars { x, rows, stacked, parts } => {
            bars(&axes, x, rows, *stacked, parts)?;
            names(&legend, parts.iter().map(|own| own.0.as_str()))
        }
        Panel::Spans { x, rows, parts } => {
            spans(&axes, x, rows, parts)?;
            names(&legend, parts.iter().map(|own| own.0.as_str()))
        }
    }
}

/// The legend.
fn names<'a>(area: &Area, names: impl Iterator<Item = &'a str>) -> Result<(), PlotError> {
    for (i, name) in names.enumerate() {
        let y = 26 + 20 * i as i32;
        area.draw(&Rectangle::new([(6, y), (24, y + 10)], colour(i).filled())).map_err(refused)?;
        area.draw(&Text::new(plain(name), (32, y - 2), (FONT, 13).into_font())).map_err(refused)?;
    }
    Ok(())
}

/// The largest of finite numbers; an axis needs one above 0.
fn largest(numbers: impl Iterator<Item = f64>) -> Result<f64, PlotError> {
    let largest = numbers.filter(|number| number.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    match largest {
        _ if largest == f64::NEG_INFINITY => Err(PlotError::Empty),
        _ if largest <= 0.0 => Ok(1.0),
        largest => Ok(largest),
    }
}

fn curves(area: &Area, (x, y): (&str, &str), joined: bool, series: &[Series]) -> Result<(), PlotError> {
    let finite = |mark: &&Mark| mark.x.is_finite() && mark.y.is_finite();
    let marks = || series.iter().flat_map(|own| &own.points).filter(finite);
    let top = largest(marks().map(|mark| mark.range.map_or(mark.y, |range| range.1.max(mark.y))))?;
    let (left, right) = marks().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), mark| (lo.min(mark.x), hi.max(mark.x)));
    // Sizes over more than two decades lie evenly by their logarithm.
    let logarithmic = joined && left > 0.0 && right > 100.0 * left;
    let place = |x: f64| if logarithmic { x.log2() } else { x };
    let (left, right) = (place(left), place(right));
    let margin = if joined && right > left { 0.0 } else { 0.5 };
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(left - margin..right + margin, 0.0..1.06 * top)
        .map_err(refused)?;
    let named = |at: f64| if logarithmic { tick((at.exp2() * 10.0).round() / 10.0) } else { tick(at) };
    grid(&mut chart, (x, &named), Some(y))?;
    for (i, own) in series.iter().enumerate() {
        let colour = colour(i);
        let points: Vec<&Mark> = own.points.iter().filter(finite).collect();
        for mark in &points {
            if let Some((lo, hi)) = mark.range {
                let line = PathElement::new(vec![(place(mark.x), lo), (place(mark.x), hi)], colour.mix(0.5).stroke_width(3));
                chart.draw_series(std::iter::once(line)).map_err(refused)?;
            }
        }
        if joined && points.len() > 1 {
            let line = PathElement::new(points.iter().map(|mark| (place(mark.x), mark.y)).collect::<Vec<_>>(), colour.stroke_width(2));
            chart.draw_series(std::iter::once(line)).map_err(refused)?;
        } else {
            let dots = points.iter().map(|mark| Circle::new((place(mark.x), mark.y), 4, colour.filled()));
            chart.draw_series(dots).map_err(refused)?;
        }
    }
    Ok(())
}

fn bars(area: &Area, x: &str, rows: &[String], stacked: bool, parts: &[(String, Vec<f64>)]) -> Result<(), PlotError> {
    let number = |part: &[f64], row: usize| part.get(row).copied().filter(|number| number.is_finite()).unwrap_or(0.0).max(0.0);
    let length = |row: usize| {
        let own = parts.iter().map(|(_, part)| number(part, row));
        if stacked { own.sum() } else { own.fold(0.0, f64::max) }
    };
    let right = largest((0..rows.len()).map(length))?;
    let mut chart = rowed(area, rows, right)?;
    grid(&mut chart, (x, &tick), None)?;
    for (row, name) in rows.iter().enumerate() {
        // Bars of a row take so much of it.
        let (begin, room) = (row as f64 + 0.1, 0.8);
        let mut from = 0.0;
        for (i, (_, part)) in parts.iter().enumerate() {
            let (length, step) = (number(part, row), room / parts.len() as f64);
            let (left, above, below) = match stacked {
                true => (from, begin, begin + room),
                false => (0.0, begin + step * i as f64, begin + step * (i + 1) as f64),
            };
            from += length;
            if length > 0.0 {
                let bar = Rectangle::new([(left, above), (left + length, below)], colour(i).filled());
                chart.draw_series(std::iter::once(bar)).map_err(refused)?;
            }
        }
        row_name(area, &chart, row, name)?;
    }
    Ok(())
}

/// Axes over named rows.
fn rowed<'a, 'b>(area: &'a Area<'b>, rows: &[String], right: f64) -> Result<Chart<'a, 'b>, PlotError> {
    let longest = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0) as u32;
    ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size((10 + 7 * longest).min(WIDTH / 3))
        .build_cartesian_2d(0.0..1.04 * right, rows.len() as f64..0.0)
        .map_err(refused)
}

fn row_name(area: &Area, chart: &Chart, row: usize, name: &str) -> Result<(), PlotError> {
    let (left, middle) = chart.backend_coord(&(0.0, row as f64 + 0.5));
    let (shift, above) = area.get_base_pixel();
    let style = (FONT, 13).into_font().color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
    area.draw(&Text::new(plain(name), (left - shift - 8, middle - above), style)).map_err(refused)
}

fn spans(area: &Area, x: &str, rows: &[String], parts: &[(String, Vec<Span>)]) -> Result<(), PlotError> {
    let all = || parts.iter().flat_map(|part| &part.1);
    let mut chart = rowed(area, rows, largest(all().map(|span| span.to))?)?;
    grid(&mut chart, (x, &tick), None)?;
    let (shift, above) = area.get_base_pixel();
    for (i, (_, own)) in parts.iter().enumerate() {
        for span in own.iter().filter(|span| span.from.is_finite() && span.to.is_finite() && span.to > span.from) {
            let corners = [(span.from, span.row as f64 + 0.15), (span.to, span.row as f64 + 0.85)];
            chart.draw_series(std::iter::once(Rectangle::new(corners, colour(i).filled()))).map_err(refused)?;
            // Where one ends and the next begins.
            chart.draw_series(std::iter::once(Rectangle::new(corners, WHITE.stroke_width(1)))).map_err(refused)?;
            let [(left, top), (right, bottom)] = corners.map(|corner| chart.backend_coord(&corner));
            if !span.label.is_empty() && right - left > 6 + 7 * span.label.chars().count() as i32 {
                let style = (FONT, 11).into_font().color(&WHITE).pos(Pos::new(HPos::Center, VPos::Center));
                let middle = ((left + right) / 2 - shift, (top + bottom) / 2 - above);
                area.draw(&Text::new(plain(&span.label), middle, style)).map_err(refused)?;
            }
        }
    }
    rows.iter().enumerate().try_for_each(|(row, name)| row_name(area, &chart, row, name))
}

/// Axes with their names; rows of bars have names of their own instead of numbers.
fn grid(chart: &mut Chart, (x, named): (&str, &dyn Fn(f64) -> String), y: Option<&str>) -> Result<(), PlotError> {
    let along = |value: &f64| named(*value);
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).bold_line_style(BLACK.mix(0.12)).label_style((FONT, 13)).axis_desc_style((FONT, 15));
    mesh.x_desc(x).x_label_formatter(&along).y_label_formatter(&|value| tick(*value));
    match y {
        Some(y) => mesh.y_desc(y),
        None => mesh.disable_y_mesh().y_labels(0),
    };
    mesh.draw().map_err(refused)
}

/// A number of an axis: no digits that say nothing.
fn tick(value: f64) -> String {
    // Steps of axes are far above this.
    let rounded = (value * 1e6).round() / 1e6;
    if value != 0.0 && rounded == 0.0 { format!("{value:e}") } else { rounded.to_string() }
}
