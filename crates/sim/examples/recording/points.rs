//! The points of recorded chases, and which of them numbers were fitted to.

use crate::chase::{ELEMENT, Ring};
use crate::folder::Folder;
use warpsight_sim::{SimFault, Simulator};

/// Bytes of the ring that is walked in all strides.
pub const RING: f64 = 1040.0;

/// A point of a chase: the ring, its steps, nanoseconds a step.
pub struct Point {
    /// The ring.
    pub ring: Ring,
    /// Its bytes, and those of a step.
    pub bytes: f64,
    /// See `bytes`.
    pub stride: f64,
    /// Steps of a launch.
    pub steps: u64,
    /// Nanoseconds a step.
    pub recorded: f64,
}

impl Point {
    /// Simulated nanoseconds a step.
    ///
    /// # Errors
    /// What the simulator refuses.
    pub fn simulated(&self, simulator: &Simulator) -> Result<f64, SimFault> {
        Ok(self.ring.extrapolated(simulator, self.steps)? * 1e9 / self.steps as f64)
    }
}

/// The points of a chase's table; the profiler's own calibration, of fewer steps than all others, left out.
///
/// # Errors
/// What is wrong with the table.
pub fn points(folder: &Folder, image: bool) -> Result<Vec<Point>, String> {
    let name = if image { "ImageCacheHierarchyPChase.csv" } else { "BufferCacheHierarchyPChase.csv" };
    let rows = folder.table(name, 4)?.0;
    let most = rows.iter().map(|row| row[2]).fold(0.0, f64::max);
    let element = ELEMENT as f64;
    let kept = rows.iter().filter(|row| row[2] == most && row[0] >= element && row[1] >= element);
    let point = |row: &Vec<f64>| Point {
        ring: Ring { image, slots: (row[0] / element) as u64, stride: (row[1] / element) as u64 },
        bytes: row[0],
        stride: row[1],
        steps: row[2] as u64,
        recorded: row[3] * 1e3 / row[2],
    };
    Ok(kept.map(point).collect())
}

/// Mean distance in nanoseconds between recorded and simulated steps; `None` without points.
///
/// # Errors
/// What the simulator refuses.
pub fn mean_error(points: &[&Point], simulator: &Simulator) -> Result<Option<f64>, SimFault> {
    let mut sum = 0.0;
    for point in points {
        sum += (point.simulated(simulator)? - point.recorded).abs();
    }
    Ok((!points.is_empty()).then(|| sum / points.len() as f64))
}

/// The ring in all strides; the sweep of ranges passes it too.
pub fn fitted(points: &[Point]) -> Vec<&Point> {
    points.iter().filter(|point| point.bytes == RING).collect()
}

/// Rings about the cache's capacity that no number was fitted to.
pub fn held_out(points: &[Point]) -> Vec<&Point> {
    let element = ELEMENT as f64;
    points.iter().filter(|p| (1024.0..=2048.0).contains(&p.bytes) && p.bytes != RING && p.stride == element).collect()
}
