//! Points that were measured, lines of a model over them, and marks where something changes: over axes that may be logarithmic.

use super::draw::{FONT, colour, plain, refused};
use super::{Mark, PlotError, Series};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// One pair of axes.
pub struct Graph<'a> {
    /// Along x, and along y.
    pub axes: [Axis<'a>; 2],
    /// Single points, with their ranges.
    pub points: Vec<Series>,
    /// Points that are joined, in order. Their names stand at their last point where there are several.
    pub lines: Vec<Series>,
    /// Values of x that are marked.
    pub marks: Vec<f64>,
}

/// An axis.
pub struct Axis<'a> {
    /// What lies along it, with its unit.
    pub name: String,
    /// Whether steps are factors; numbers that are not positive are then left out.
    pub logarithmic: bool,
    /// How a number is written at it.
    pub number: &'a dyn Fn(f64) -> String,
}

/// Pixels.
const SIZE: (u32, u32) = (1100, 380);
/// What a legend of names at lines' ends takes.
const NAMES: u32 = 190;
/// The least that an axis covers, as a part of its largest number: what is constant lies in its middle.
const LEAST: f64 = 0.05;

/// Draws a graph.
///
/// # Errors
/// [`PlotError::Empty`] where there is no point that can be drawn.
pub fn graph(graph: &Graph) -> Result<String, PlotError> {
    let [x, y] = &graph.axes;
    let drawn = |mark: &Mark| Some(Mark { x: x.place(mark.x)?, y: y.place(mark.y)?, range: range(y, mark) });
    let all = |series: &[Series]| -> Vec<Vec<Mark>> { series.iter().map(|own| own.points.iter().filter_map(drawn).collect()).collect() };
    let (points, lines) = (all(&graph.points), all(&graph.lines));
    let every = || points.iter().chain(&lines).flatten();
    let across = extent(every().map(|mark| mark.x), !x.logarithmic).ok_or(PlotError::Empty)?;
    let ends = every().flat_map(|mark| [Some(mark.y), mark.range.map(|range| range.0), mark.range.map(|range| range.1)]).flatten();
    let up = extent(ends, !y.logarithmic).ok_or(PlotError::Empty)?;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(refused)?;
        let named = graph.lines.len() > 1;
        let (area, names) = root.split_horizontally(SIZE.0 - if named { NAMES } else { 1 });
        let mut chart = ChartBuilder::on(&area)
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(84)
            .build_cartesian_2d(across.0..across.1, up.0..up.1)
            .map_err(refused)?;
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT).bold_line_style(BLACK.mix(0.12)).label_style((FONT, 13)).axis_desc_style((FONT, 15));
        let (along, above) = (|at: &f64| x.text(*at), |at: &f64| y.text(*at));
        mesh.x_desc(plain(&x.name)).y_desc(plain(&y.name)).x_label_formatter(&along).y_label_formatter(&above);
        mesh.draw().map_err(refused)?;
        for at in graph.marks.iter().filter_map(|at| x.place(*at)).filter(|at| (across.0..=across.1).contains(at)) {
            let line = PathElement::new(vec![(at, up.0), (at, up.1)], BLACK.mix(0.45).stroke_width(1));
            chart.draw_series(std::iter::once(line)).map_err(refused)?;
        }
        for (i, own) in points.iter().enumerate() {
            let colour = colour(i);
            let bars = own.iter().filter_map(|mark| {
                let (lo, hi) = mark.range?;
                Some(PathElement::new(vec![(mark.x, lo), (mark.x, hi)], colour.mix(0.5).stroke_width(3)))
            });
            chart.draw_series(bars).map_err(refused)?;
            chart.draw_series(own.iter().map(|mark| Circle::new((mark.x, mark.y), 3, colour.filled()))).map_err(refused)?;
        }
        for (i, own) in lines.iter().enumerate() {
            let colour = colour(points.len() + i);
            let line = PathElement::new(own.iter().map(|mark| (mark.x, mark.y)).collect::<Vec<_>>(), colour.stroke_width(2));
            chart.draw_series(std::iter::once(line)).map_err(refused)?;
        }
        for (i, own) in graph.lines.iter().enumerate().filter(|_| named) {
            let place = 26 + 20 * i as i32;
            names.draw(&Rectangle::new([(2, place), (20, place + 10)], colour(points.len() + i).filled())).map_err(refused)?;
            let style = (FONT, 13).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
            names.draw(&Text::new(plain(&own.name), (26, place + 5), style)).map_err(refused)?;
        }
        root.present().map_err(refused)?;
    }
    Ok(text)
}

impl Axis<'_> {
    /// Where a number lies; nowhere where the axis has no place for it.
    fn place(&self, number: f64) -> Option<f64> {
        let place = if self.logarithmic { number.log2() } else { number };
        place.is_finite().then_some(place)
    }

    fn text(&self, place: f64) -> String {
        (self.number)(if self.logarithmic { place.exp2() } else { place })
    }
}

/// The ends of a point's range; the point itself where an end cannot be drawn.
fn range(y: &Axis, mark: &Mark) -> Option<(f64, f64)> {
    let (lo, hi) = mark.range?;
    let own = y.place(mark.y)?;
    Some((y.place(lo).unwrap_or(own), y.place(hi).unwrap_or(own)))
}

/// What an axis covers: from 0 where that is asked for and nothing lies below.
fn extent(places: impl Iterator<Item = f64>, from_zero: bool) -> Option<(f64, f64)> {
    let (lo, hi) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), at| (lo.min(at), hi.max(at)));
    if lo > hi {
        return None;
    }
    let lo = if from_zero { lo.min(0.0) } else { lo };
    let room = (LEAST * (hi - lo)).max(if hi == lo { LEAST * hi.abs().max(1.0) } else { 0.0 });
    Some((if from_zero && lo == 0.0 { 0.0 } else { lo - room }, hi + room))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.into(), points: points.iter().map(|&(x, y)| Mark { x, y, range: None }).collect() }
    }
    fn drawn(points: &[(f64, f64)], lines: &[&[(f64, f64)]], logarithmic: bool, marks: &[f64]) -> Result<String, PlotError> {
        let number = |at: f64| format!("{at:.0}");
        let axis = |name: &str| Axis { name: name.into(), logarithmic, number: &number };
        let lines = lines.iter().map(|own| series("l<1", own)).collect();
        graph(&Graph { axes: [axis("x<y"), axis("y")], points: vec![series("p", points)], lines, marks: marks.to_vec() })
    }
    fn circles(svg: &str) -> Vec<(f64, f64)> {
        let number = |line: &str, name: &str| {
            let rest = line.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            rest.and_then(|text| text.parse::<f64>().ok()).expect("a number")
        };
        svg.lines().filter(|line| line.starts_with("<circle")).map(|line| (number(line, "cx"), number(line, "cy"))).collect()
    }

    #[test]
    fn factors_are_steps_where_axes_are_logarithmic() {
        let svg = drawn(&[(1.0, 1.0), (16.0, 4.0), (256.0, 16.0), (0.0, 5.0), (2.0, f64::NAN)], &[], true, &[]).expect("a graph");
        let at = circles(&svg);
        assert_eq!(at.len(), 3, "what has no logarithm is left out");
        assert!((at[2].0 - 2.0 * at[1].0 + at[0].0).abs() <= 2.0 && at[1].0 - at[0].0 > 100.0, "{at:?}");
        assert!((at[2].1 - 2.0 * at[1].1 + at[0].1).abs() <= 2.0 && at[0].1 - at[1].1 > 50.0, "{at:?}");
        assert!(svg.contains("x&lt;y"));
    }

    #[test]
    fn marks_stand_where_their_numbers_do() {
        let at = |marks: &[f64]| drawn(&[(0.0, 1.0), (10.0, 2.0)], &[&[(0.0, 1.0), (10.0, 2.0)]], false, marks).expect("a graph");
        let lines = |svg: &str| svg.matches("<polyline").count();
        assert_eq!(lines(&at(&[5.0])), lines(&at(&[])) + 1);
        assert_eq!(lines(&at(&[50.0])), lines(&at(&[])), "none is drawn beside the axes");
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        assert_eq!(drawn(&[], &[], false, &[]), Err(PlotError::Empty));
        assert_eq!(drawn(&[(-1.0, 2.0)], &[], true, &[]), Err(PlotError::Empty));
        assert!(drawn(&[(1.0, 3.0), (1.0, 3.0)], &[&[], &[]], false, &[]).is_ok_and(|svg| svg.contains("l&lt;1")));
    }
}
