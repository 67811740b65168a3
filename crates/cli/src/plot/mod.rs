//! Figures as self-contained SVG: lines, points with ranges, bars, spans of time, boxes with arrows. What is drawn, and in which unit, is the
//! caller's.

mod boxes;
mod draw;
mod graph;
mod heat;
mod roofline;

#[cfg(test)]
mod tests;

pub use boxes::{Arrow, Block, Diagram, diagram};
pub use draw::{colour_of, svg};
pub use graph::{Axis, Graph, graph};
pub use heat::{HeatMap, heat_maps};
pub use roofline::Roofline;

/// Panels below each other under one title.
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Where the numbers come from.
    pub note: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
pub enum Panel {
    /// Numbers over numbers.
    Curves {
        /// What lies along x, with its unit.
        x: String,
        /// What lies along y, with its unit. The axis begins at 0.
        y: String,
        /// Joined by lines, or single points.
        joined: bool,
        /// Each in a colour of its own.
        series: Vec<Series>,
    },
    /// Numbers of named rows.
    Bars {
        /// What their length is, with its unit.
        x: String,
        /// Names of the rows, from top to bottom.
        rows: Vec<String>,
        /// One after the other in a row, or below each other.
        stacked: bool,
        /// A number for each row.
        parts: Vec<(String, Vec<f64>)>,
    },
    /// From when to when, in named rows.
    Spans {
        /// What lies along x, with its unit. The axis begins at 0.
        x: String,
        /// Names of the rows, from top to bottom.
        rows: Vec<String>,
        /// Spans of one colour.
        parts: Vec<(String, Vec<Span>)>,
    },
}

/// A piece of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Position of the row.
    pub row: usize,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Written into it, where there is room.
    pub label: String,
}

/// Points of one colour.
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// What is drawn.
    pub points: Vec<Mark>,
}

/// A number over a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Along x.
    pub x: f64,
    /// Along y.
    pub y: f64,
    /// Where y may lie.
    pub range: Option<(f64, f64)>,
}

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    /// Nothing finite to draw.
    #[error("there is nothing to draw")]
    Empty,
    /// The library refuses.
    #[error("the figure cannot be drawn: {0}")]
    Drawing(String),
}
