//! Boxes and arrows to SVG. Where they lie is the caller's.

use super::PlotError;
use super::draw::{FONT, colour, plain, refused};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Boxes joined by arrows; places are pixels from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    /// Width and height.
    pub size: (u32, u32),
    /// The boxes.
    pub blocks: Vec<Block>,
    /// The arrows, drawn before the boxes.
    pub arrows: Vec<Arrow>,
}

/// A box.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its upper left corner.
    pub at: (i32, i32),
    /// Its width and height.
    pub size: (i32, i32),
    /// What stands in it; the first line is bold.
    pub lines: Vec<String>,
    /// Its colour.
    pub colour: usize,
}

/// An arrow.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    /// Its corners, from its begin to its head.
    pub way: Vec<(i32, i32)>,
    /// What stands beside it, and where.
    pub label: Option<((i32, i32), String)>,
}

/// Height of a line of text in a box.
const LINE: i32 = 15;
/// Pixels that a character takes, about.
const CHARACTER: i32 = 7;

/// Draws boxes and arrows.
///
/// # Errors
/// [`PlotError::Empty`] without boxes.
pub fn diagram(diagram: &Diagram) -> Result<String, PlotError> {
    if diagram.blocks.is_empty() {
        return Err(PlotError::Empty);
    }
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, diagram.size).into_drawing_area();
        root.fill(&WHITE).map_err(refused)?;
        let line = BLACK.mix(0.6);
        for arrow in &diagram.arrows {
            root.draw(&PathElement::new(arrow.way.clone(), line.stroke_width(1))).map_err(refused)?;
            if let [.., (x0, y0), (x, y)] = arrow.way[..] {
                let length = f64::from(x - x0).hypot(f64::from(y - y0)).max(1.0);
                let (dx, dy) = (f64::from(x - x0) / length, f64::from(y - y0) / length);
                let back = |side: f64| (x - (8.0 * dx + 4.0 * side * dy) as i32, y - (8.0 * dy - 4.0 * side * dx) as i32);
                root.draw(&Polygon::new(vec![(x, y), back(1.0), back(-1.0)], line.filled())).map_err(refused)?;
            }
        }
        for Block { at: (x, y), size: (width, height), lines, colour: own } in &diagram.blocks {
            let corners = [(*x, *y), (x + width, y + height)];
            root.draw(&Rectangle::new(corners, colour(*own).mix(0.15).filled())).map_err(refused)?;
            root.draw(&Rectangle::new(corners, colour(*own).stroke_width(2))).map_err(refused)?;
            for (i, line) in (0..).zip(lines) {
                let font = (FONT, 12).into_font();
                let font = if i == 0 { font.style(FontStyle::Bold) } else { font };
                let place = (x + 8, y + 6 + LINE * i);
                root.draw(&Text::new(short(line, (width - 12) / CHARACTER), place, font)).map_err(refused)?;
            }
        }
        for (place, label) in diagram.arrows.iter().filter_map(|arrow| arrow.label.as_ref()) {
            let (x, y) = *place;
            // Arrows do not strike it out.
            let behind = [(x - 2, y - 7), (x + 6 * label.chars().count() as i32, y + 7)];
            root.draw(&Rectangle::new(behind, WHITE.mix(0.85).filled())).map_err(refused)?;
            let style = (FONT, 11).into_font().color(&BLACK.mix(0.8)).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new(plain(label), *place, style)).map_err(refused)?;
        }
        root.present().map_err(refused)?;
    }
    Ok(text)
}

/// So many characters of a text.
fn short(text: &str, most: i32) -> String {
    let most = most.max(1) as usize;
    let text = plain(text);
    if text.chars().count() <= most { text } else { text.chars().take(most - 1).chain(['…']).collect() }
}
