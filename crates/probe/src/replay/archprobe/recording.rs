//! The profiler's files, read.

use super::ReplayError;
use super::table::Table;
use flate2::read::MultiGzDecoder;
use std::path::{Path, PathBuf};
use warpsight_files::{RECORDS, TEXT};

/// Bytes of a texel: the profiler reads images of four 32-bit channels.
pub const TEXEL: f64 = 16.0;
/// The profiler's times are in µs, its bandwidths in 10⁹ B/s.
const MICRO: f64 = 1e-6;
const GIGA: f64 = 1e9;

/// Seconds of a launch whose kernel repeats its body so many times, and what else distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// What distinguishes it, in the order that the field says.
    pub at: [f64; 2],
    /// Repetitions.
    pub iterations: f64,
    /// Seconds.
    pub seconds: f64,
}

/// Bytes that a kernel reads again and again, and bytes a second.
pub type Bandwidth = (f64, f64);

/// What the driver said of the device; words, no measurements. Where it said nothing, nothing is limited.
#[derive(Clone, Debug, PartialEq)]
pub struct Driver {
    /// Texels along x that an image may have.
    pub image_width: f64,
    /// Texels along y.
    pub image_height: f64,
    /// Bytes of constant memory.
    pub constant_bytes: f64,
    /// Bytes of local memory.
    pub local_bytes: f64,
    /// Work-items of a group, and cores: how much work the profiler's kernels had.
    pub group: Option<f64>,
    /// Cores.
    pub cores: Option<f64>,
}

/// One run of the profiler. A file that is missing or has nothing usable is an empty list, and a note.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What the driver said.
    pub driver: Driver,
    /// One work-item walks a one-dimensional image: bytes, stride.
    pub image_chase: Vec<Sample>,
    /// One work-item walks a buffer: bytes, stride.
    pub buffer_chase: Vec<Sample>,
    /// All work-items read an image.
    pub image_bandwidth: Vec<Bandwidth>,
    /// A buffer.
    pub buffer_bandwidth: Vec<Bandwidth>,
    /// Constant memory.
    pub constant_bandwidth: Vec<Bandwidth>,
    /// Local memory.
    pub local_bandwidth: Vec<Bandwidth>,
    /// Groups of one work-item that use so many registers: groups, registers.
    pub registers: Vec<Sample>,
    /// Work-items of a group, and how many of them took ascending numbers.
    pub order: Vec<(f64, f64)>,
    /// Work-items of a group that divides, and seconds.
    pub division: Vec<(f64, f64)>,
    /// Multiply-adds: bits of a number, components of a vector.
    pub arithmetic: Vec<Sample>,
    /// A group of work-items each of which reads one texel of its own: work-items, and 0 along x or 1 along y.
    pub texels: Vec<Sample>,
    /// A group of work-items each of which reads two floats: bytes between these, and to the next work-item's.
    pub strides: Vec<Sample>,
    /// A group reads one vector: its bytes, twice.
    pub vectors: Vec<Sample>,
    /// What is missing or was left out, and why.
    pub notes: Vec<String>,
}

/// Names of the files, each of which alone makes a folder a recording.
pub const FILES: [&str; 13] = [
    "ImageCacheHierarchyPChase.csv",
    "BufferCacheHierarchyPChase.csv",
    "ImageBandwidth.csv",
    "BufferBandwidth.csv",
    "ConstMemBandwidth.csv",
    "LocalMemBandwidth.csv",
    "RegCount.csv",
    "WarpSizeMethodA.csv",
    "WarpSizeMethodB.csv",
    "Gflops.csv",
    "ImageCachelineSize.csv",
    "BufferCachelineSize.csv",
    "BufferVecWidth.csv",
];
const REPORT: &str = "ArchProbeReport.json";

/// Reads a folder.
pub fn read(folder: &Path) -> Result<Recording, ReplayError> {
    if !FILES.iter().any(|file| is_there(folder, file)) {
        return Err(ReplayError::NoRecording { folder: folder.to_owned() });
    }
    let notes = &mut Vec::new();
    let driver = driver(folder, notes);
    let from = Files { folder };
    let [image, buffer, images, buffers, constants, locals, registers, order, division, arithmetic, texels, strides, vectors] = FILES;
    let (texels_x, texels_y) = (driver.image_width, driver.image_height);
    Ok(Recording {
        image_chase: from.samples(image, ["range", "stride", "niter", "t"], notes, |at| at[0] <= texels_x * TEXEL),
        buffer_chase: from.samples(buffer, ["range", "stride", "niter", "t"], notes, |_| true),
        image_bandwidth: from.bandwidth(images, texels_x * TEXEL, notes),
        buffer_bandwidth: from.bandwidth(buffers, f64::INFINITY, notes),
        constant_bandwidth: from.bandwidth(constants, driver.constant_bytes, notes),
        local_bandwidth: from.bandwidth(locals, driver.local_bytes, notes),
        registers: from.samples(registers, ["ngrp", "nreg", "niter", "t"], notes, |_| true),
        order: from.rows(order, ["nthread", "nascend"], notes, |_| true).into_iter().map(|[x, y]| (x, y)).collect(),
        division: from.rows(division, ["nthread", "time|t"], notes, |_| true).into_iter().map(|[x, y]| (x, y * MICRO)).collect(),
        arithmetic: from.samples(arithmetic, ["float width", "ncomp", "niter", "t"], notes, |_| true),
        texels: from.samples(texels, ["nthread", "dim", "niter", "t"], notes, |at| at[0] <= if at[1] == 0.0 { texels_x } else { texels_y }),
        strides: from.samples(strides, ["stride", "pitch", "niter", "t"], notes, |_| true),
        vectors: from.samples(vectors, ["size", "size", "niter", "t"], notes, |_| true),
        notes: std::mem::take(notes),
        driver,
    })
}

/// Whether a folder has a file of this name.
pub fn is_there(folder: &Path, file: &str) -> bool {
    place(folder, file).is_some()
}

/// Where a file lies, whatever the case of its name's letters, and packed or not; the name as it is first.
fn place(folder: &Path, file: &str) -> Option<PathBuf> {
    let packed = format!("{file}.gz");
    let exact = [file, &packed].map(|name| folder.join(name)).into_iter().find(|path| path.is_file());
    exact.or_else(|| {
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let (plain, packed) = (file.to_lowercase(), packed.to_lowercase());
        let mut all = warpsight_files::entries(folder).unwrap_or_default();
        all.retain(|path| name(path).is_some_and(|name| name == plain || name == packed) && path.is_file());
        all.sort_by_key(|path| name(path).is_none_or(|name| name != plain));
        all.into_iter().next()
    })
}

/// The text of a file, unpacked where it is packed, or why there is none.
fn text(folder: &Path, file: &str, most: u64) -> Result<String, String> {
    let path = place(folder, file).ok_or("missing")?;
    if path.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("gz")) {
        return warpsight_files::read_text(&path, most).map_err(|error| error.to_string());
    }
    let packed = warpsight_files::read(&path, most).map_err(|error| error.to_string())?;
    let unpacked = warpsight_files::read_from(&path, MultiGzDecoder::new(packed.as_slice()), most).map_err(|error| error.to_string())?;
    warpsight_files::text(&path, unpacked).map_err(|error| error.to_string())
}

struct Files<'a> {
    folder: &'a Path,
}

impl Files<'_> {
    /// The rows of a file that are good, and within the device's limits; what is not is noted.
    fn rows<const N: usize>(
        &self,
        file: &str,
        columns: [&str; N],
        notes: &mut Vec<String>,
        within: impl Fn(&[f64; N]) -> bool,
    ) -> Vec<[f64; N]> {
        let text = match text(self.folder, file, RECORDS) {
            Ok(text) => text,
            Err(why) => {
                notes.push(format!("{file}: {why}"));
                return vec![];
            }
        };
        match Table::parse(&text).pick(columns) {
            Err(error) => {
                notes.push(format!("{file}: {error}"));
                vec![]
            }
            Ok((rows, bad)) => {
                let (kept, beyond): (Vec<_>, Vec<_>) = rows.into_iter().partition(within);
                let mut note = |count: usize, what: &str| {
                    if count > 0 {
                        notes.push(format!("{file}: {count} rows {what}"));
                    }
                };
                note(bad, "left out: a number is missing, negative or not finite");
                note(beyond.len(), "discarded: beyond the limits of the device");
                note(usize::from(kept.is_empty()), "are not there: nothing usable");
                kept
            }
        }
    }

    fn samples(&self, file: &str, columns: [&str; 4], notes: &mut Vec<String>, within: impl Fn(&[f64; 4]) -> bool) -> Vec<Sample> {
        let rows = self.rows(file, columns, notes, |row| row[2] > 0.0 && within(row));
        rows.into_iter().map(|[a, b, iterations, time]| Sample { at: [a, b], iterations, seconds: time * MICRO }).collect()
    }

    fn bandwidth(&self, file: &str, most: f64, notes: &mut Vec<String>) -> Vec<Bandwidth> {
        let rows = self.rows(file, ["range", "bandwidth"], notes, |row| row[0] <= most);
        rows.into_iter().map(|[bytes, rate]| (bytes, rate * GIGA)).collect()
    }
}

/// What the driver said, where the profiler kept it.
fn driver(folder: &Path, notes: &mut Vec<String>) -> Driver {
    let text = text(folder, REPORT, TEXT);
    let report = text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).map_err(|error| error.to_string()));
    if let Err(error) = &report {
        notes.push(format!("{REPORT}: {error}; so no point is known to be beyond the device's limits"));
    }
    let report = report.unwrap_or_default();
    let said = |name: &str| report["Device"][name].as_f64().filter(|number| *number > 0.0);
    let limit = |name: &str| said(name).unwrap_or(f64::INFINITY);
    Driver {
        image_width: limit("MaxImageWidth"),
        image_height: limit("MaxImageHeight"),
        constant_bytes: limit("MaxConstMemSize"),
        local_bytes: limit("MaxLocalMemSize"),
        group: said("LogicThreadCount"),
        cores: said("SmCount"),
    }
}

/// Seconds of a launch that does nothing, and seconds of one repetition for each of the samples.
///
/// Where one kernel ran with several numbers of repetitions, its time is a straight line of these: the intercept is what a launch costs,
/// and is taken off all samples. Several samples of one kernel are averaged, those with the most repetitions; in ascending order.
pub fn per_iteration(samples: &[Sample]) -> (Option<f64>, Vec<([f64; 2], f64)>) {
    let mut sorted = samples.to_vec();
    let order = |a: &Sample, b: &Sample| a.at[0].total_cmp(&b.at[0]).then(a.at[1].total_cmp(&b.at[1]));
    sorted.sort_by(|a, b| order(a, b).then(a.iterations.total_cmp(&b.iterations)));
    let kernels = || sorted.chunk_by(|a, b| a.at == b.at);
    let mean = |samples: &[Sample], iterations: f64| {
        let times: Vec<f64> = samples.iter().filter(|sample| sample.iterations == iterations).map(|sample| sample.seconds).collect();
        times.iter().sum::<f64>() / times.len().max(1) as f64
    };
    // The kernel whose numbers of repetitions lie furthest apart tells best.
    let spread = |kernel: &[Sample]| kernel.last().map_or(0.0, |last| last.iterations / kernel[0].iterations);
    let launch = kernels().max_by(|a, b| spread(a).total_cmp(&spread(b))).filter(|kernel| spread(kernel) >= 2.0).and_then(|kernel| {
        let (few, many) = (kernel.first()?.iterations, kernel.last()?.iterations);
        let (short, long) = (mean(kernel, few), mean(kernel, many));
        Some(short - few * (long - short) / (many - few)).filter(|launch| *launch >= 0.0)
    });
    let each = |kernel: &[Sample]| {
        let most = kernel.last()?.iterations;
        Some((kernel[0].at, (mean(kernel, most) - launch.unwrap_or(0.0)) / most))
    };
    let each = kernels().filter_map(each).collect();
    (launch, each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_costs_what_no_repetition_takes() {
        let sample = |at: f64, iterations: f64, seconds: f64| Sample { at: [at, 0.0], iterations, seconds };
        let samples =
            [sample(2.0, 1000.0, 2003e-6), sample(1.0, 100.0, 103e-6), sample(1.0, 1000.0, 1002e-6), sample(1.0, 1000.0, 1004e-6)];
        let (launch, each) = per_iteration(&samples);
        assert!((launch.expect("two numbers of repetitions") - 3e-6).abs() < 1e-15, "{launch:?}");
        assert_eq!(each.len(), 2);
        assert!((each[0].1 - 1e-6).abs() < 1e-15 && (each[1].1 - 2e-6).abs() < 1e-15, "{each:?}");
        assert_eq!(per_iteration(&samples[..1]), (None, vec![([2.0, 0.0], 2003e-9)]));
        assert_eq!(per_iteration(&[]), (None, vec![]));
    }
}
