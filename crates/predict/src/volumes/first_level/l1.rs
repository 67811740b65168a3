//! What a warp's request costs the first-level cache, in cycles of its core.
//! .
//! NVIDIA: the longest of the parts of the pipe (A100 within 0.1 % of what its counters say): wavefronts of the data pipe (exact,
//! [`super::warps::wavefronts`]), tags of the distinct lines (fitted, `data/fits/l1-nvidia.toml`), lanes of the load-store unit, and the distinct
//! words that these hand over: lanes that want the same ones share them.
//! AMD: [`super::amd`].

use super::amd;
use super::banks::wavefront;
use super::costs::{Request, Sizes};
use super::warps::distinct;
use std::sync::LazyLock;
use warpsight_ir::{Profile, Unknown};

/// How requests are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Wavefronts, tags and load-store lanes.
    Nvidia {
        /// Lanes of four bytes that the load-store unit of a core serves per clock.
        lsu_lanes: f64,
        /// See [`wavefront`]: caches and local memory have one path.
        wavefront: f64,
    },
    /// [`amd::cdna`].
    Cdna,
    /// [`amd::rdna`].
    Rdna,
}

impl Rule {
    /// Of a device, by what its profile says of its warps and caches: CDNA has warps of 64 lanes, NVIDIA's caches fetch sectors of a line,
    /// RDNA's whole lines.
    ///
    /// # Errors
    /// The field that would tell, and why it does not.
    pub fn of(on: &Profile) -> Result<Self, Unknown> {
        let lsu_lanes = *on.execution.lsu_lanes.known_as("execution.lsu_lanes")?;
        let whole = || -> Result<bool, Unknown> {
            Ok(on.memory.sector.known_as("memory.sector")?.0 >= on.memory.buffer_l1.line.known_as("memory.buffer_l1.line")?.0)
        };
        match on.execution.warp.known_as("execution.warp")? {
            64 => Ok(Self::Cdna),
            32 if whole()? => Ok(Self::Rdna),
            32 => Ok(Self::Nvidia { lsu_lanes: f64::from(lsu_lanes), wavefront: wavefront(on) }),
            lanes => Err(Unknown::new("execution.warp", format!("no rule of a first-level cache is known for warps of {lanes}"))),
        }
    }

    /// Whether neighbouring accesses of a lane become one.
    pub fn fuses(self) -> bool {
        !matches!(self, Self::Nvidia { .. })
    }

    /// Four-byte banks that the wavefronts of this rule are counted in.
    pub fn banks(self) -> u32 {
        match self {
            Self::Cdna => 16,
            Self::Nvidia { .. } | Self::Rdna => 32,
        }
    }

    /// Cycles of one request.
    pub fn cycles(self, request: &Request, sizes: Sizes) -> f64 {
        match self {
            Self::Nvidia { lsu_lanes, wavefront } => {
                let words = distinct(request.offsets, request.bytes, request.begin.rem_euclid(4), 4);
                let handed = words.max(request.offsets.len() as u64) as f64 / lsu_lanes;
                let tags = tags().cycles(tag_lines(request.offsets, request.bytes, request.lines));
                tags.max(request.wavefronts as f64 * wavefront).max(handed)
            }
            // Quarters without an active lane take their turn all the same: blocks of 16 threads are four times as slow as blocks of 64
            // in the recordings of a 15 × 15 convolution on MI250X, whatever each thread computes.
            Self::Cdna => amd::cdna(request, sizes.line) + amd::idle_quarters(request, sizes.warp),
            Self::Rdna => amd::rdna(request, sizes.line),
        }
    }
}

/// Lines that count for the tags: all, but lanes without gaps count by their bytes, wherever in a line they begin. Rows of 32 f32 that lie
/// across two lines take 1.0 cycles on A100 (blocks of 32 and 64 in the recording that the curve is fitted to, where all is strided).
pub fn tag_lines(offsets: &[i64], bytes: i64, lines: u64) -> u64 {
    let packed = offsets.windows(2).all(|pair| pair[1] - pair[0] == bytes);
    if packed { lines.min((offsets.len() as u64 * bytes.unsigned_abs()).div_ceil(128)) } else { lines }
}

/// Cycles that the tags of an NVIDIA cache take for a request, by its number of distinct lines of 128 bytes.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct Tags {
    /// (lines, cycles), ascending; straight between.
    pub knots: Vec<(f64, f64)>,
    /// Cycles of 32 lines: a class of its own, because sets conflict by stride.
    pub full: f64,
}

impl Tags {
    /// Cycles of a request.
    pub fn cycles(&self, lines: u64) -> f64 {
        let lines = lines as f64;
        if lines >= 32.0 {
            // Lanes that lie across lines, or are wider than a word, take more than one pass.
            return self.full * lines / 32.0;
        }
        let after = self.knots.partition_point(|knot| knot.0 < lines).clamp(1, self.knots.len() - 1);
        let ((x0, y0), (x1, y1)) = (self.knots[after - 1], self.knots[after]);
        y0 + (y1 - y0) * (lines.max(x0) - x0) / (x1 - x0)
    }
}

pub(crate) const TEXT: &str = include_str!("../../../fits/l1-nvidia.toml");

/// The fitted curve.
pub fn tags() -> &'static Tags {
    static TAGS: LazyLock<Tags> = LazyLock::new(|| {
        // The file is compiled in, and a test reruns the fit that makes it.
        let tags: Tags = toml::from_str(TEXT).expect("data/fits/l1-nvidia.toml holds knots and full");
        assert!(tags.knots.len() > 1, "data/fits/l1-nvidia.toml holds more than one knot");
        tags
    });
    &TAGS
}
