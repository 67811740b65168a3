//! How often what lies where: maps of two logarithmic axes, side by side.

use super::PlotError;
use super::draw::{FONT, plain, refused};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A square of counts.
pub struct HeatMap<'a> {
    /// Stands above it.
    pub name: String,
    /// The least and the most of both axes.
    pub range: (f64, f64),
    /// Rows from below, of as many columns.
    pub counts: &'a [Vec<u32>],
}

/// Maps in a row.
const ACROSS: usize = 3;
/// Pixels: a map's side, and what surrounds it.
const SIDE: i32 = 300;
const LEFT: i32 = 58;
const ABOVE: i32 = 30;
const BELOW: i32 = 46;

/// Draws maps; darker is more, by the logarithm of counts. The line is where both axes agree.
///
/// # Errors
/// [`PlotError::Empty`] without maps, or without counts in one.
pub fn heat_maps(maps: &[HeatMap], x: &str, y: &str) -> Result<String, PlotError> {
    if maps.is_empty() || maps.iter().any(|map| map.counts.is_empty() || map.range.1 <= map.range.0 || map.range.0 <= 0.0) {
        return Err(PlotError::Empty);
    }
    let (wide, high) = (LEFT + SIDE + 14, ABOVE + SIDE + BELOW);
    let size = (wide * maps.len().min(ACROSS) as i32, high * maps.len().div_ceil(ACROSS) as i32);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (size.0 as u32, size.1 as u32)).into_drawing_area();
        root.fill(&WHITE).map_err(refused)?;
        for (at, map) in maps.iter().enumerate() {
            let (left, top) = ((at % ACROSS) as i32 * wide + LEFT, (at / ACROSS) as i32 * high + ABOVE);
            let most = map.counts.iter().flatten().copied().max().unwrap_or(0).max(1);
            let cell = |i: usize| (i as i32 * SIDE) / map.counts.len() as i32;
            root.draw(&Rectangle::new([(left, top), (left + SIDE, top + SIDE)], BLACK.mix(0.4))).map_err(refused)?;
            root.draw(&PathElement::new(vec![(left, top + SIDE), (left + SIDE, top)], BLACK.mix(0.3))).map_err(refused)?;
            for (row, counts) in map.counts.iter().enumerate() {
                for (column, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    let share = f64::from(*count).ln_1p() / f64::from(most).ln_1p();
                    let corners = [(left + cell(column), top + SIDE - cell(row + 1)), (left + cell(column + 1), top + SIDE - cell(row))];
                    let colour = RGBColor(0, 60, 120).mix(0.2 + 0.8 * share);
                    root.draw(&Rectangle::new(corners, colour.filled())).map_err(refused)?;
                }
            }
            let centred = |size: i32, h| (FONT, size).into_font().color(&BLACK).pos(Pos::new(h, VPos::Center));
            root.draw(&Text::new(plain(&map.name), (left + SIDE / 2, top - 14), centred(15, HPos::Center))).map_err(refused)?;
            for (power, place) in decades(map.range) {
                let along = (place * f64::from(SIDE)) as i32;
                let label = format!("{power:e}");
                root.draw(&Text::new(label.clone(), (left + along, top + SIDE + 12), centred(12, HPos::Center))).map_err(refused)?;
                root.draw(&Text::new(label, (left - 6, top + SIDE - along), centred(12, HPos::Right))).map_err(refused)?;
            }
            root.draw(&Text::new(plain(x), (left + SIDE / 2, top + SIDE + 30), centred(13, HPos::Center))).map_err(refused)?;
            root.draw(&Text::new(plain(y), (left + 4, top + 10), centred(13, HPos::Left))).map_err(refused)?;
        }
        root.present().map_err(refused)?;
    }
    Ok(text)
}

/// The powers of ten in a range, and where they lie in it.
fn decades((low, high): (f64, f64)) -> Vec<(f64, f64)> {
    let (from, to) = (low.log10(), high.log10());
    (from.ceil() as i32..=to.floor() as i32).map(|power| (10f64.powi(power), (f64::from(power) - from) / (to - from))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lie_where_their_bins_do() {
        let counts = vec![vec![3, 0], vec![0, 1]];
        let svg = heat_maps(&[HeatMap { name: "a<b".into(), range: (1e-3, 1e-1), counts: &counts }], "measured", "predicted").unwrap();
        assert!(svg.contains("a&lt;b") && svg.contains("measured") && svg.contains("1e-2"));
        let filled: Vec<&str> = svg.lines().filter(|l| l.contains("#003C78")).collect();
        assert_eq!(filled.len(), 2, "{svg}");
        // The first bin is at the lower left, the last at the upper right.
        assert!(filled[0].contains("x=\"58\"") && filled[0].contains("y=\"180\""), "{}", filled[0]);
        assert!(filled[1].contains("x=\"208\"") && filled[1].contains("y=\"30\""), "{}", filled[1]);
    }

    #[test]
    fn nothing_is_no_map() {
        assert_eq!(heat_maps(&[], "x", "y"), Err(PlotError::Empty));
    }
}
