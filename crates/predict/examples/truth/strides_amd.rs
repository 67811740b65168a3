//! Cycles of strided and block loads of an MI210 and an RX 6900 XT, measured by others, against the rules of their first levels, in which nothing
//! is fitted.

use warpsight_predict::volumes::first_level::costs::{Request, Sizes};
use warpsight_predict::volumes::first_level::l1::Rule;

/// `gpu_strides_amd.json`.
#[derive(serde::Deserialize)]
pub struct Recording {
    /// All of them.
    pub rows: Vec<Row>,
}

/// Loads of a kind by a block of 1024 threads.
#[derive(serde::Deserialize)]
pub struct Row {
    /// `mi210` or `rdna2`.
    pub device: String,
    /// Bytes of an element.
    pub datatype: i64,
    /// `stride` or `block`.
    pub mode: String,
    /// Elements between lanes, or lanes of a row.
    pub arg: i64,
    pitch: i64,
    /// Measured, for each 32 threads.
    pub cycles_per_warp32: f64,
}

/// What the benchmark's loop loads one after another, in elements from a thread's first (te42kyfo/gpu-benches, gpu-strides).
const LOADS: [i64; 8] = [0, 4, 8, 12, 20, 16, 24, 28];
/// Bytes of the first level of both.
const CAPACITY: i64 = 16 * 1024;

/// How CDNA 2 is asked.
pub const CDNA2: Sizes = Sizes { warp: 64, sector: 64, line: 64, banks: 16, texture: None };
/// How RDNA 2 is asked.
pub const RDNA2: Sizes = Sizes { warp: 32, sector: 128, line: 128, banks: 32, texture: None };

/// Cycles of lanes that begin at these bytes.
pub fn cycles(rule: Rule, sizes: Sizes, bytes: i64, lanes: &[i64]) -> f64 {
    let offsets: Vec<i64> = lanes.iter().map(|lane| lane - lanes[0]).collect();
    let begin = lanes[0].rem_euclid(i64::from(sizes.line));
    rule.cycles(&Request { offsets: &offsets, bytes, begin, lines: 0, wavefronts: 0 }, sizes)
}

impl Row {
    /// First element of each of the block's 1024 threads.
    fn threads(&self) -> Vec<i64> {
        let first = |thread: i64| match self.mode.as_str() {
            "stride" => thread % 64 * self.arg,
            _ => thread % self.arg % 64 + (thread / self.arg % 32 + 1) * self.pitch,
        };
        (0..1024).map(first).collect()
    }

    /// Predicted cycles for each 32 threads.
    pub fn predicted(&self) -> f64 {
        let (rule, sizes) = if self.device == "mi210" { (Rule::Cdna, CDNA2) } else { (Rule::Rdna, RDNA2) };
        let threads = self.threads();
        let warp = |lanes: &[i64], load: i64| {
            let bytes: Vec<i64> = lanes.iter().map(|first| (first + load) * self.datatype).collect();
            cycles(rule, sizes, self.datatype, &bytes)
        };
        let warps = threads.chunks(sizes.warp as usize);
        let sum: f64 = warps.flat_map(|lanes| LOADS.map(|load| warp(lanes, load))).sum();
        sum / LOADS.len() as f64 / 32.0
    }

    /// Whether the strides of 64 lanes fit the first level. What does not waits for the second level.
    pub fn fits(&self) -> bool {
        self.mode != "stride" || (63 * self.arg + 32) * self.datatype <= CAPACITY + 1024
    }
}

impl Row {
    /// The same loads as text, as the model of paper 002 takes them: lanes of one block, that lie `arg` apart or in rows of `arg`.
    pub fn text(&self) -> String {
        let element = if self.datatype == 8 { "f64" } else { "f32" };
        let (block, at) = match self.mode.as_str() {
            "stride" => ("[1024]".to_owned(), LOADS.map(|load| format!("[\"{}*tx+{load}\", 0]", self.arg))),
            _ => (format!("[{}, {}]", self.arg, 1024 / self.arg), LOADS.map(|load| format!("[\"tx+{load}\", \"ty+1\"]"))),
        };
        format!(
            "name = \"strides\"\nblock = {block}\ngrid = {}\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"{element}\"\n\
             dims = [{}, 2048]\nload = [{}]\n",
            if self.mode == "stride" { "[1]" } else { "[1, 1]" },
            if self.mode == "stride" { 1024 * self.arg + 64 } else { self.pitch },
            at.join(", ")
        )
    }
}
