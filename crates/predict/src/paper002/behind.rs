//! What moves between the second level and memory (`data-volumes.md`, section 4; paper 002, sections 4.3 to 4.5).
//! .
//! A wave is a box of blocks in the last corner of the grid along x and y and in its middle along z, with the box just before it along x, the row
//! of blocks before it, and the layer before it. Lines are counted as if each row of a field began a line and no row followed another: "alignment and row
//! wrap are ignored".

use super::curves::{BETWEEN_WAVES, L2_LOADS, L2_STORES, l2_coverage};
use super::device::Device;
use super::field::{Field, Launch};
use super::first_level::FirstLevel;
use crate::volumes::sets::lines::{Geometry, distinct_lines};
use crate::volumes::sets::regions::Region;
use warpsight_ir::NoEstimate;

/// Where the wave's rows hold less than this part of a block, it moves up by one row: from the published source; no output reaches it.
const RAGGED: f64 = 0.1;

/// Per thread, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Behind {
    /// Loaded from memory, step by step: by a wave for itself, less what earlier blocks left, with what partial stores read back, with what a
    /// wave loads again.
    pub loads: [f64; 4],
    /// Stored: by a wave for itself, with what is evicted half written.
    pub stores: [f64; 2],
}

impl Behind {
    /// Of a launch with so many resident blocks.
    ///
    /// # Errors
    /// [`NoEstimate::NotCovered`] of a wave without threads, or of addresses beyond 64 bits.
    pub fn of(launch: &Launch, device: &Device, resident: i64, first: &FirstLevel) -> Result<Self, NoEstimate> {
        let wave = Wave::of(launch, resident);
        let threads = wave.threads();
        if threads == 0.0 {
            return Err(NoEstimate::NotCovered(
                "a wave that ends outside of the domain, which the model of paper 002 does not have".to_owned(),
            ));
        }
        let whole = resident as f64 * launch.block.iter().product::<i64>() as f64;
        // What the box counts, as of all threads of a wave; what is older stays as it was counted.
        let scale = whole / threads;
        let (mut loads, mut stores) = (Counts::default(), Counts::default());
        for field in &launch.fields {
            let own = Counts::of(launch, field, &wave, device.memory_fetch)?;
            if field.stores { stores.add(own) } else { loads.add(own) }
        }
        let [new, shared_y, shared_z] = [loads.new, loads.shared_y, loads.shared_z].map(|bytes| bytes * scale);
        let stored = stores.new * scale;
        // Neither is divided by the box's share of a wave.
        let (old_y, old_z) = (loads.old_y + stores.old_y, loads.old_z + stores.old_z);
        let missed = |old: f64, shared: f64| BETWEEN_WAVES.misses((old + new - shared) / device.l2);
        let hits = (shared_y * (1.0 - missed(old_y, shared_y)) + shared_z * (1.0 - missed(old_z, shared_z))) / whole;
        let coverage = l2_coverage(new + stored, device.l2);
        let own = [new / whole, stored / whole];
        let warm = own[0] - hits;
        let evicted = (first.store - own[1]).max(0.0) * L2_STORES.misses(coverage);
        let again = (first.load - warm) * L2_LOADS.misses(coverage);
        Ok(Self { loads: [own[0], warm, warm + evicted, warm + evicted + again], stores: [own[1], own[1] + evicted] })
    }
}

/// Threads `lo ≤ t < hi` along each axis.
type Threads = [(i64, i64); 3];

/// The wave and what it meets.
struct Wave {
    current: Threads,
    along_x: Threads,
    row: Threads,
    layer: Threads,
}

impl Wave {
    /// "Ragged": rows and layers are rounded up by the domain's extents, not by the grid's.
    fn of(launch: &Launch, resident: i64) -> Self {
        let (grid, block, domain) = (launch.grid, launch.block, launch.domain);
        let per = |axis: usize| domain[axis] as f64 / block[axis] as f64;
        let rows = (resident as f64 / per(0)).ceil() as i64;
        let layers = (resident as f64 / (domain[0] as f64 * domain[1] as f64 / block[0] as f64 / block[1] as f64)).ceil() as i64;
        let size = [grid[0].min(resident), grid[1].min(rows), grid[2].min(layers)];
        let left = (domain[1] - (grid[1] - size[1]) * block[1]) as f64 / block[1] as f64;
        let up = i64::from(grid[1] > 1 && left < RAGGED);
        let middle = grid[2] / 2;
        let (x, y, z) = (grid[0], grid[1] - up, (middle, middle + size[2]));
        // Of the domain, which the original counts in points also where threads compute several.
        let threads = |blocks: Threads| {
            [0, 1, 2].map(|i| ((blocks[i].0 * block[i]).clamp(0, domain[i]), (blocks[i].1 * block[i]).clamp(0, domain[i])))
        };
        Self {
            current: threads([(x - size[0], x), (y - size[1], y), z]),
            along_x: threads([(x - 2 * size[0], x - size[0]), (y - size[1], y), z]),
            row: threads([(0, x), (y - size[1] - 1, y - size[1]), z]),
            layer: threads([(0, x), (0, grid[1]), (middle - 1, middle)]),
        }
    }

    fn threads(&self) -> f64 {
        self.current.iter().map(|(lo, hi)| (hi - lo).max(0) as f64).product()
    }
}

/// Bytes of the box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    new: f64,
    /// Shared with the box before it along x, or the row before.
    shared_y: f64,
    /// Of the rest, shared with the layer before.
    shared_z: f64,
    old_y: f64,
    old_z: f64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.new += other.new;
        self.shared_y += other.shared_y;
        self.shared_z += other.shared_z;
        self.old_y += other.old_y;
        self.old_z += other.old_z;
    }

    fn of(launch: &Launch, field: &Field, wave: &Wave, fetch: u32) -> Result<Self, NoEstimate> {
        let sets = [wave.layer, wave.row, wave.along_x, wave.current].map(|threads| {
            let mut regions = Vec::new();
            launch.regions(field, threads, &mut regions);
            regions
        });
        let geometry = apart(&sets, field.geometry.element, fetch.into())
            .ok_or_else(|| NoEstimate::NotCovered("a field that exceeds 64 bits in the model of paper 002".to_owned()))?;
        let lines = |sets: &[&Vec<Region>]| {
            let regions: Vec<Region> = sets.iter().flat_map(|set| set.iter().cloned()).collect();
            distinct_lines(&regions, &geometry, [i64::from(fetch)], &[(0, 1)])[0] as f64
        };
        let [z, y, x, c] = &sets;
        // What of the wave is in none of these.
        let left = |others: &[&Vec<Region>]| lines(&[others, &[c]].concat()) - lines(others);
        let (new, old_y, old_z) = (lines(&[c]), lines(&[y]), lines(&[z]));
        let after_rows = left(&[x, y]);
        let bytes = f64::from(fetch) * field.repeats;
        Ok(Self {
            new: new * bytes,
            shared_y: (new - after_rows) * bytes,
            shared_z: (after_rows - left(&[x, y, z])) * bytes,
            old_y: old_y * bytes,
            old_z: old_z * bytes,
        })
    }
}

/// Where each row and plane lies apart from all others, and begins a line. `None` where that exceeds 64 bits.
fn apart(sets: &[Vec<Region>], element: i64, line: i64) -> Option<Geometry> {
    let bounds = |axis: fn(&Region) -> Option<(i64, i64)>| {
        let found = sets.iter().flatten().filter_map(axis).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        found.map_or(0, |(lo, hi)| lo.abs().max(hi.abs()) + 1)
    };
    let per_line = (line / element).max(1);
    let row = (2 * bounds(|region| region.x.bounds()) / per_line + 2) * per_line;
    let plane = 2 * bounds(|region| region.y.bounds()) + 2;
    let all = (2 * bounds(|region| region.z.bounds()) + 2).checked_mul(plane)?.checked_mul(row)?.checked_mul(element)?;
    (all < i64::MAX / 16).then_some(Geometry { element, origin: 0, row, plane: Some(plane) })
}
