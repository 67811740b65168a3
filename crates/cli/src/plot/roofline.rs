//! A roofline (paper 001, figure 11): what a kernel can reach by how much it computes with each byte.

use super::{Axis, Graph, Mark, PlotError, Series, graph};
use crate::probe::keys::{Unit, digits};

/// Where the peak begins to be out of any memory's reach, and how far beyond is shown.
const BEYOND: f64 = 4.0;

/// The roofs of a device, and what lies under them.
pub struct Roofline<'a> {
    /// Operations a second at most.
    pub peak: f64,
    /// Memories with their bytes a second, the nearest first.
    pub roofs: Vec<(&'a str, f64)>,
    /// Pieces of work: name, operations for each byte, operations a second.
    pub works: Vec<(String, f64, f64)>,
}

impl Roofline<'_> {
    /// Draws it; [`PlotError::Empty`] where there is no roof.
    pub fn svg(&self) -> Result<String, PlotError> {
        if self.roofs.is_empty() {
            return Err(PlotError::Empty);
        }
        let (peak, roofs) = (self.peak, &self.roofs);
        let shown = || roofs.iter().map(|(_, bandwidth)| peak / bandwidth).chain(self.works.iter().map(|work| work.1)).filter(|x| *x > 0.0);
        let (least, most) = (shown().fold(f64::INFINITY, f64::min) / BEYOND, shown().fold(0.0, f64::max) * BEYOND);
        let (unit, scale) = Unit::Operations.scale(peak);
        let at = |x: f64, y: f64| Mark { x, y: y / scale, range: None };
        let roof = |(name, bandwidth): &(&str, f64)| {
            let on = |x: f64| at(x, (bandwidth * x).min(peak));
            Series {
                name: format!("{name}, {}", Unit::BytesPerSecond.words(*bandwidth)),
                points: vec![on(least), on(peak / bandwidth), on(most)],
            }
        };
        // A piece of work stands on the ground, so that it has a line with its name.
        let ground = roofs.iter().map(|(_, bandwidth)| bandwidth * least).fold(peak, f64::min);
        let work = |(name, x, y): &(String, f64, f64)| Series { name: name.clone(), points: vec![at(*x, ground), at(*x, *y)] };
        let top = |(name, x, y): &(String, f64, f64)| Series { name: name.clone(), points: vec![at(*x, *y)] };
        let number = |at: f64| digits((1000.0 * at).round() / 1000.0);
        graph(&Graph {
            axes: [
                Axis { name: "floating-point operations for each byte".into(), logarithmic: true, number: &number },
                Axis { name: format!("operations a second, in {unit}"), logarithmic: true, number: &number },
            ],
            points: self.works.iter().map(top).collect(),
            lines: roofs.iter().map(roof).chain(self.works.iter().map(work)).collect(),
            marks: vec![],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roofs_and_works_are_named() {
        let roofs = vec![("images, L1", 2e11), ("memory", 3e10)];
        let drawn = |works| Roofline { peak: 9e11, roofs: roofs.clone(), works }.svg().expect("a roofline");
        let bare = drawn(vec![]);
        assert!(bare.contains("images, L1, 200 GB/s") && bare.contains("memory, 30 GB/s") && !bare.contains("<circle"), "{bare}");
        let one = drawn(vec![("a product".to_owned(), 10.0, 3e11)]);
        assert!(one.contains("a product") && one.matches("<circle").count() == 1, "{one}");
        assert_eq!(Roofline { peak: 9e11, roofs: vec![], works: vec![] }.svg(), Err(PlotError::Empty));
    }
}
