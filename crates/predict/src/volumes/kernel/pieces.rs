//! In how many lines the elements of a field lie: of buffers by address, of images by block of texels.

use super::image::block;
use super::subject::{Field, Touch};
use crate::volumes::sets::intervals::{Intervals, gcd, lcm};
use crate::volumes::sets::lines::{Geometry, distinct_lines};
use crate::volumes::sets::regions::Region;
use smallvec::SmallVec;
use warpsight_ir::layout::ImageLayout;

impl Field {
    /// The order of its texels, where lines hold blocks of them.
    pub fn tiled(&self) -> Option<ImageLayout> {
        self.image.map(|image| image.layout).filter(|layout| !matches!(layout, ImageLayout::Linear { .. }))
    }

    /// Distinct lines, of each of these sizes in bytes, that these elements, or texels, lie in; summed over translations by so many bytes,
    /// each so many times, which images in blocks have none of.
    pub fn distinct<const N: usize>(&self, regions: &[Region], lines: [i64; N], shifts: &[(i64, u64)]) -> [u64; N] {
        let Some(layout) = self.tiled() else { return distinct_lines(regions, &self.geometry, lines, shifts) };
        let times: u64 = shifts.iter().map(|shift| shift.1).sum();
        lines.map(|line| times * self.distinct_blocks(regions, layout, line))
    }

    fn distinct_blocks(&self, regions: &[Region], layout: ImageLayout, line: i64) -> u64 {
        let (width, height, lines) = block(layout, line, self.geometry.element);
        let coarse = |set: &Intervals, by: i64| {
            let mut blocks = Intervals::default();
            set.as_slice().iter().for_each(|&(lo, hi)| blocks.insert(lo.div_euclid(by), (hi - 1).div_euclid(by) + 1));
            blocks
        };
        let mut found: SmallVec<[Region; 16]> =
            regions.iter().map(|own| Region { x: coarse(&own.x, width), y: coarse(&own.y, height), z: own.z.clone() }).collect();
        // Rows of blocks as long as what is touched, so that nothing wraps.
        let bounds = found.iter().filter_map(|own| own.x.bounds()).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let Some((lo, hi)) = bounds else { return 0 };
        found.iter_mut().for_each(|own| own.x = own.x.shifted(-lo));
        lines * distinct_lines(&found, &Geometry { element: 1, origin: 0, row: hi - lo + 1, plane: None }, [1], &[(0, 1)])[0]
    }

    /// Blocks of the launch along an axis after which an access begins at the same place of a line again.
    pub fn period(&self, touch: &Touch, group: warpsight_ir::VarId, line: i64) -> i64 {
        match self.tiled() {
            Some(layout) => {
                let (width, height, _) = block(layout, line, self.geometry.element);
                period(touch, group, width, height)
            }
            None => line / gcd(line, touch.stride(&self.geometry, group).rem_euclid(line)),
        }
    }
}

/// Values of a variable after which a coordinate pair lies at the same place of a block again.
pub(in crate::volumes) fn period(touch: &Touch, var: warpsight_ir::VarId, width: i64, height: i64) -> i64 {
    let along = |i: usize, size: i64| -> i64 { size / gcd(size, i64::from(touch.coords[i].coefficient(var)).rem_euclid(size)) };
    lcm(along(0, width), along(1, height))
}
