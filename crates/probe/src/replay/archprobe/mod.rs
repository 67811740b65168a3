//! Recordings of ArchProbe (paper 001, section 3), analysed anew.
//!
//! What that profiler concluded is not read: its samples are, its times per repetition, and what the driver said of limits and of how much
//! work its kernels had. Nothing is concluded from the name of a folder or of a device.

mod agreement;
mod caches;
mod compute;
mod hierarchy;
mod pictures;
mod recording;
mod rises;
mod streams;
mod table;

pub use recording::{Bandwidth, Driver, Recording, Sample};

use crate::Findings;
use recording::per_iteration;
use std::path::{Path, PathBuf};
use warpsight_ir::profile::{Fact, Source};

/// Why a folder could not be replayed. A file that is missing or damaged is none of these, but one of the [notes](Recording::notes).
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// None of the profiler's files is there.
    #[error("{}: no recording of ArchProbe: none of its CSV files is there", folder.display())]
    NoRecording {
        /// The folder.
        folder: PathBuf,
    },
}

/// Whether a folder has a recording of this profiler.
pub fn is_one(folder: &Path) -> bool {
    recording::FILES.iter().any(|file| recording::is_there(folder, file))
}

/// Reads a recording. Points beyond the limits of the device are discarded, and what is missing or damaged is noted.
///
/// # Errors
/// Where there is none.
pub fn read(folder: &Path) -> Result<Recording, ReplayError> {
    recording::read(folder)
}

/// What a recording says: facts under the keys that measurements of one's own have, curves for the page, and where files contradict each
/// other. What no file tells is unknown, with the reason.
pub fn analyse(recording: &Recording) -> Findings {
    let mut found = Findings::default();
    let launch = launches(recording, &mut found);
    let warp = compute::warps(recording, &mut found);
    compute::registers(recording, warp, &mut found);
    compute::arithmetic(recording, launch, &mut found);
    compute::cores(recording, &mut found);
    let (images, buffers) = caches::caches(recording, &mut found);
    streams::streams(recording, warp, caches::depth(&images, &buffers, &recording.image_bandwidth), &mut found);
    agreement::texels(recording, &mut found);
    agreement::check(recording, &mut found);
    pictures::curves(recording, &images, &buffers, &mut found);
    found.confident();
    found.stepped();
    found
}

/// Seconds of a launch that does nothing, by every file that has a kernel with several numbers of repetitions.
fn launches(recording: &Recording, found: &mut Findings) -> Option<f64> {
    let files = [
        &recording.image_chase,
        &recording.buffer_chase,
        &recording.registers,
        &recording.arithmetic,
        &recording.texels,
        &recording.strides,
        &recording.vectors,
    ];
    let mut launches: Vec<f64> = files.iter().filter_map(|samples| per_iteration(samples).0).collect();
    launches.sort_by(f64::total_cmp);
    let middle = launches.get(launches.len() / 2).copied();
    let fact = match (launches.first(), middle, launches.last()) {
        (Some(&least), Some(middle), Some(&most)) => {
            let cite = format!("time of no repetition, of {} kernels that ran with several numbers of them", launches.len());
            Fact::between(least, middle, most, Source::Measured, cite)
        }
        _ => Fact::unknown("no kernel ran with several numbers of repetitions"),
    };
    found.number("launch.overhead_s", fact);
    middle
}
