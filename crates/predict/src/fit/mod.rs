//! The fits in `data/fits`, from recordings of real GPUs: pure functions from their texts to the files' bytes. `warpsight probe fit` reads the
//! ones and writes the others; `waves.toml` alone holds published curves, which nothing here fits.
//!
//! ```
//! use warpsight_predict::fit::{FILES, FitError, Recordings, texts};
//! let made = texts(&Recordings::default());
//! for (file, text) in FILES.iter().zip(made) {
//!     assert!(matches!(text, Err(FitError::Missing(path)) if file.samples.contains(&path.as_str())), "{} needs recordings", file.name);
//! }
//! ```

pub mod caches;
mod device;
pub mod dram;
pub mod l1;
pub mod time;

use crate::volumes::first_level::l1 as l1_tags;
use crate::volumes::fitted::{caches as fitted_caches, curve, expected, speed};
use std::collections::BTreeMap;
use time::bandwidth::Streams;
use warpsight_ir::NoEstimate;
use warpsight_ir::accesses::text::TextError;

/// Why a fit cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// A recording is not there.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A recording is no JSON of its form.
    #[error("`{file}` is no recording of its form: {error}")]
    Json {
        /// Which.
        file: String,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
    /// A recording has none of something.
    #[error("the recording has no {0}")]
    Short(&'static str),
    /// There is no profile of what was recorded.
    #[error("there is no profile of `{0}`")]
    Device(String),
    /// The text of a recorded kernel cannot be read.
    #[error("a recorded kernel: {0}")]
    Kernel(#[from] TextError),
    /// The model has no answer.
    #[error(transparent)]
    Model(#[from] NoEstimate),
}

/// Recordings as texts, under their paths in the folder of the data (`volumes/measured/gpu_stream.json`); what is packed lies there unpacked,
/// under its name without `.gz`.
#[derive(Clone, Debug, Default)]
pub struct Recordings(BTreeMap<String, String>);

impl Recordings {
    /// Of pairs of path and text.
    pub fn new(texts: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(texts.into_iter().collect())
    }

    /// The text of a recording.
    pub fn text(&self, path: &str) -> Result<&str, FitError> {
        self.0.get(path).map(String::as_str).ok_or_else(|| FitError::Missing(path.to_owned()))
    }

    /// The same, of JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, FitError> {
        serde_json::from_str(self.text(path)?).map_err(|error| FitError::Json { file: path.to_owned(), error })
    }
}

/// A file of `data/fits`.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// The recordings that it needs, all of them.
    pub samples: &'static [&'static str],
    /// As this program was compiled with it.
    pub compiled: &'static str,
}

/// Every fit; the last, how far off seconds are, is of predictions by all others as this program was compiled with them.
pub const FILES: [File; 5] = [
    File { name: "dram.toml", samples: &[LAPLACIAN], compiled: curve::TEXT },
    File { name: "l1-nvidia.toml", samples: &[STRIDES], compiled: l1_tags::TEXT },
    File { name: "caches.toml", samples: &[FIRST_LEVELS, SECOND_LEVELS], compiled: fitted_caches::TEXT },
    File { name: "bandwidth.toml", samples: &[STREAMS], compiled: speed::TEXT },
    File {
        name: "time.toml",
        samples: &[
            STREAMS,
            LAPLACIAN,
            STRIDES,
            FIRST_LEVELS,
            SECOND_LEVELS,
            "tuning/convolution_a100.csv",
            "tuning/convolution_mi250x.csv",
            "tuning/convolution_w6600.csv",
            "tuning/gemm_rtx3090.csv",
            "tuning/gemm_rtx2080ti.csv",
        ],
        compiled: expected::TEXT,
    },
];

/// The texts of [`FILES`] as the recordings give them.
pub fn texts(recordings: &Recordings) -> [Result<String, FitError>; 5] {
    let streams = Streams::read(recordings).map(|streams| streams.fitted());
    let (bandwidth, held_out) = match streams {
        Ok(fitted) => (Ok(fitted.text), Some(fitted.held_out)),
        Err(error) => (Err(error), None),
    };
    let time = time::held::all(recordings).and_then(|others| match held_out {
        Some(held_out) => Ok(time::calibrate::text(&[held_out, others].concat())),
        None => Err(FitError::Missing(STREAMS.to_owned())),
    });
    // Of nothing there is no mean.
    let whole = |text: String| if text.contains("NaN") { Err(FitError::Short("rows for some of the fit's numbers")) } else { Ok(text) };
    [dram::text(recordings), l1::text(recordings), caches::text(recordings), bandwidth, time].map(|made| made.and_then(whole))
}

/// Paths of recordings.
const LAPLACIAN: &str = "volumes/measured/amd_laplacian.json";
const STRIDES: &str = "volumes/measured/gpu_strides.json";
const FIRST_LEVELS: &str = "volumes/measured/gpu_cache.json";
const SECOND_LEVELS: &str = "volumes/measured/gpu_l2_cache.json";
const STREAMS: &str = "volumes/measured/gpu_stream.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, text: &str) -> String {
        let made = texts(&Recordings::new([(path.to_owned(), text.to_owned())]));
        let at = FILES.iter().position(|file| file.samples == [path]).expect("a fit of this recording alone");
        made[at].as_ref().expect_err("it cannot be made").to_string()
    }

    #[test]
    fn a_damaged_recording_is_named() {
        assert_eq!(told(STRIDES, "{"), format!("`{STRIDES}` is no recording of its form: EOF while parsing an object at line 1 column 1"));
        assert_eq!(told(STRIDES, "{\"rows\": []}"), "the recording has no rows that determine every knot");
        assert_eq!(
            told(STREAMS, "{\"data\": {\"gb:voodoo2\": {\"left_columns\": [], \"kernels\": [], \"rows\": []}}}"),
            "there is no profile of `voodoo2`"
        );
        let row = "{\"left_columns\": [], \"kernels\": [], \"rows\": [{\"left\": [256, 1, 2], \"init\": 100}]}";
        let recording = format!("{{\"data\": {{\"gb:v100\": {row}}}}}");
        assert_eq!(told(STREAMS, &recording), "the recording has no rows of two kernels that train for each device");
        assert_eq!(told(LAPLACIAN, "{}"), "the recording has no scan over sizes");
        // A launch that no count would end on.
        let row = "{\"mi250x_gcd_kernel5_m8_size_scan\": {\"99999999x2x-4\": {\"fetch_B_per_lup\": 1}}}";
        assert_eq!(told(LAPLACIAN, row), "the recording has no size of three numbers");
    }
}
