//! Curves of findings as graphs.

use super::keys::{Unit, digits};
use crate::plot::{Axis, Graph, Mark, PlotError, Series, graph};
use warpsight_probe::Curve;

/// Units of axes, by the words that curves name them with.
const UNITS: [(&[&str], Unit); 4] = [
    (&["s", "seconds"], Unit::Seconds),
    (&["B", "bytes"], Unit::Bytes),
    (&["B/s"], Unit::BytesPerSecond),
    (&["FLOP/s", "OP/s"], Unit::Operations),
];

/// A curve: what was measured, with intervals; the fitted model as a line; where it changes.
pub fn svg(curve: &Curve) -> Result<String, PlotError> {
    let most = |numbers: &mut dyn Iterator<Item = f64>| numbers.filter(|number| number.is_finite()).fold(0.0, f64::max);
    let y = Numbers::of(&curve.y, most(&mut curve.points.iter().map(|point| point[1])));
    // Sizes in bytes are read one by one: 1 KiB and 1 MiB stand at one axis.
    let x = Numbers::of(&curve.x, 0.0);
    let (along, above) = (|at: f64| x.text(at), |at: f64| y.text(at));
    let points = curve.points.iter().map(|&[x, y, lo, hi]| Mark { x, y, range: (lo < hi).then_some((lo, hi)) }).collect();
    let model: Vec<Mark> = curve.model.iter().map(|&[x, y]| Mark { x, y, range: None }).collect();
    let line = Series { name: "model".into(), points: model };
    graph(&Graph {
        axes: [
            Axis { name: x.name(&curve.x), logarithmic: curve.log_x, number: &along },
            Axis { name: y.name(&curve.y), logarithmic: false, number: &above },
        ],
        points: vec![Series { name: "measured".into(), points }],
        lines: if line.points.is_empty() { vec![] } else { vec![line] },
        marks: curve.changes.clone(),
    })
}

/// A place along a curve's x, as its axis has it.
pub fn along(curve: &Curve, at: f64) -> String {
    Numbers::of(&curve.x, 0.0).text(at)
}

/// How numbers along an axis are written.
struct Numbers {
    /// What the axis's name says that it counts.
    unit: Option<Unit>,
    /// One unit for all, and what it is of the number's own; `None` where each number has its own.
    scale: Option<(&'static str, f64)>,
}

impl Numbers {
    /// Of an axis that reaches so far, in one unit; each number in its own where nobody says how far.
    fn of(name: &str, most: f64) -> Self {
        let words = || name.split(|c: char| c.is_whitespace() || "()[],".contains(c));
        let unit = UNITS.iter().find(|(own, _)| words().any(|word| own.contains(&word))).map(|unit| unit.1);
        let unit = if name.ends_with("bytes a second") { Some(Unit::BytesPerSecond) } else { unit };
        let scale = unit.filter(|unit| most > 0.0 && *unit != Unit::Bytes).map(|unit| unit.scale(most));
        Self { unit, scale }
    }

    fn text(&self, at: f64) -> String {
        match (self.scale, self.unit) {
            (Some((_, scale)), _) => digits(rounded(at / scale)),
            (None, Some(Unit::Bytes)) => Unit::Bytes.words(at.round()),
            (None, Some(unit)) => unit.words(at),
            (None, None) => digits(rounded(at)),
        }
    }

    fn name(&self, name: &str) -> String {
        self.scale.map_or_else(|| name.to_owned(), |(unit, _)| format!("{name}, in {unit}"))
    }
}

/// Steps of axes have no more digits than this.
fn rounded(at: f64) -> f64 {
    (at * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_shows_its_points_its_model_and_its_changes() {
        let curve = Curve {
            title: "latency".into(),
            x: "footprint [B]".into(),
            y: "latency [s]".into(),
            log_x: true,
            points: vec![[1024.0, 3e-8, 2.9e-8, 3.1e-8], [2048.0, 9e-8, 9e-8, 9e-8]],
            model: vec![[1024.0, 3e-8], [2048.0, 9e-8]],
            changes: vec![1500.0],
            ..Curve::default()
        };
        let drawn = svg(&curve).expect("a graph");
        assert_eq!(drawn.matches("<circle").count(), 2);
        assert!(drawn.contains("latency [s], in ns") && drawn.contains("KiB"), "{drawn}");
        let lines = |curve: &Curve| svg(curve).expect("a graph").matches("<polyline").count();
        let bare = Curve { model: vec![], changes: vec![], ..curve.clone() };
        assert_eq!(lines(&curve), lines(&bare) + 2);
        assert_eq!(svg(&Curve::default()), Err(PlotError::Empty));
    }
}
