//! What one measurement is: its record says all of it, so that the path can be made again.

use super::chase::{Begins, Chase, Texel, UNROLLED};
use super::paths::{self, Pattern};
use crate::kernels::texels::Picture;
use crate::kernels::{int, word};
use crate::{Measurement, Parameter, Parameters, Record, Scale};
use fastrand::Rng;
use warpsight_ir::ImageFormat;

/// Formats of 16, 8 and 4 bytes a texel.
pub(super) const FORMATS: [ImageFormat; 3] = [ImageFormat::Rgba32F, ImageFormat::Rgba16F, ImageFormat::Rgba8Unorm];
/// Texels between places that are far from each other: no block is larger.
const APART: u32 = 32;
/// No image of a record has a longer side.
const LONGEST: u32 = 1 << 14;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) format: ImageFormat,
    /// Work-items that go together.
    pub(super) lanes: u32,
    pub(super) kind: Kind,
}

/// Where work-items go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A launch without a step: what every walk takes besides its fetches.
    Start,
    /// By random strides, the paths of this number.
    Strides(u32),
    /// A pattern of paper 000.
    Pattern(Pattern),
    /// Together, as a tile so many texels wide.
    Tile(u32),
    /// To a place far from any before, and from there so many texels on.
    Pair(Texel),
    /// Around the places of a lattice, again and again: so many along x and y, texels apart.
    Lattice(Texel, Texel),
}

/// How much work measurements are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) scale: Scale,
    /// Sides of the image that empties caches.
    pub(super) swept: u32,
    pub(super) seed: u64,
}

impl Spec {
    pub(super) fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Start => "start".into(),
            Kind::Strides(number) => format!("strides {number}"),
            Kind::Pattern(pattern) => pattern.word(),
            Kind::Tile(across) => format!("tile {across}"),
            Kind::Pair((x, y)) => format!("pair {x} {y}"),
            Kind::Lattice((columns, rows), (x, y)) => format!("lattice {columns} x {rows} by {x} {y}"),
        };
        format!("{} B {kind} of {}", self.format.bytes(), self.lanes)
    }

    /// The image, and texels of each path.
    fn sizes(&self, scale: Scale) -> (Picture, u32) {
        let small = scale == Scale::Tiny;
        let texels = match (self.lanes, small) {
            (_, true) => 49,
            (1, _) => 2049,
            _ => 145,
        };
        let wide = if small { 128 } else { 1024 };
        let (width, height, texels) = match self.kind {
            Kind::Pattern(pattern) => {
                let texels = if small { 48 } else { 144 };
                let (width, height) = pattern.extent(self.lanes, texels);
                // Where texels lie in rows, several rows of a narrow image are in one line.
                (if pattern == Pattern::Column { width.max(wide) } else { width }, height, texels)
            }
            Kind::Lattice((columns, rows), (x, y)) => (columns * x, rows * y, columns * rows),
            Kind::Tile(_) => (256, if small { 64 } else { 256 }, if small { 48 } else { 64 }),
            Kind::Pair(near) => {
                let places = if small { 4 } else { 16 };
                (places * APART, places * APART, if near == (0, 0) { 1 } else { 2 } * places * places)
            }
            Kind::Start | Kind::Strides(_) => (wide, wide / 2, texels),
        };
        (Picture { format: self.format, width, height }, texels)
    }

    /// A path of each work-item, a cycle.
    fn paths(&self, picture: Picture, texels: u32, seed: u64) -> Vec<Vec<Texel>> {
        let mut rng = Rng::with_seed(seed);
        let (lanes, count) = (self.lanes as usize, texels as usize);
        match self.kind {
            Kind::Start => paths::strides(picture, lanes, count, &mut rng),
            Kind::Strides(number) => paths::strides(picture, lanes, count, &mut Rng::with_seed(seed ^ u64::from(number + 1) << 20)),
            Kind::Pattern(pattern) => (0..self.lanes).map(|lane| pattern.path(lane, texels)).collect(),
            Kind::Tile(across) => paths::tiles(picture, across, self.lanes, count, &mut rng),
            Kind::Pair(near) => vec![paths::pairs(picture, APART, near, &mut rng)],
            Kind::Lattice(counts, apart) => vec![paths::lattice(counts, apart, &mut rng)],
        }
    }

    /// Takes its time.
    pub(super) fn measurement(&self, effort: Effort) -> Measurement {
        let (picture, texels) = self.sizes(effort.scale);
        let paths = self.paths(picture, texels, effort.seed);
        // Walks end before their start: one that comes back to it looks like one that never left.
        let length = paths.iter().map(Vec::len).min().unwrap_or(1) as u32;
        let (begins, steps) = match self.kind {
            Kind::Start => (Begins::Cold(effort.swept), 0),
            Kind::Lattice(..) => {
                let once = length.next_multiple_of(UNROLLED) + UNROLLED;
                (Begins::Warm(once), once + UNROLLED * length)
            }
            _ => (Begins::Cold(effort.swept), (length - 1) / UNROLLED * UNROLLED),
        };
        Chase {
            picture,
            follows: (0..paths.len()).collect(),
            paths,
            groups: 1,
            steps,
            begins,
            runs: 7,
            name: self.name(),
            params: self.params(texels, effort.seed),
        }
        .measurement()
    }

    fn params(&self, texels: u32, seed: u64) -> Parameters {
        let (kind, numbers) = match self.kind {
            Kind::Start => ("start".to_owned(), vec![]),
            Kind::Strides(number) => ("strides".into(), vec![number]),
            Kind::Pattern(pattern) => (pattern.word(), vec![]),
            Kind::Tile(across) => ("tile".into(), vec![across]),
            Kind::Pair((x, y)) => ("pair".into(), vec![x, y]),
            Kind::Lattice((columns, rows), (x, y)) => ("lattice".into(), vec![columns, rows, x, y]),
        };
        let names = ["kind_1", "kind_2", "kind_3", "kind_4"];
        let numbers = names.into_iter().zip(numbers).map(|(name, number)| (name.to_owned(), int(number)));
        let own = [("kind".to_owned(), word(&kind)), ("texels".to_owned(), int(texels)), ("path_seed".to_owned(), word(&seed.to_string()))];
        own.into_iter().chain(numbers).collect()
    }

    /// What a record is of, and the texels of its path, fetch by fetch; `None` where no measurement is such.
    pub(super) fn of(record: &Record) -> Option<(Self, Vec<Texel>)> {
        let int = |name: &str| match record.params.get(name)? {
            Parameter::Int(value) => u32::try_from(*value).ok(),
            _ => None,
        };
        let word = |name: &str| match record.params.get(name)? {
            Parameter::Word(value) => Some(value.as_str()),
            _ => None,
        };
        let number = |n: usize| int(["kind_1", "kind_2", "kind_3", "kind_4"][n]);
        let kind = match word("kind")? {
            "start" => Kind::Start,
            "strides" => Kind::Strides(number(0)?),
            "tile" => Kind::Tile(number(0)?),
            "pair" => Kind::Pair((number(0)?, number(1)?)),
            "lattice" => Kind::Lattice((number(0)?, number(1)?), (number(2)?, number(3)?)),
            other => Kind::Pattern(Pattern::ALL.into_iter().find(|pattern| pattern.word() == other)?),
        };
        let format =
            FORMATS.into_iter().find(|format| Picture { format: *format, width: 1, height: 1 }.word() == word("format").unwrap_or(""))?;
        let (width, height) = (int("image_width")?, int("image_height")?);
        let spec = Self { format, lanes: int("lanes")?, kind };
        let (texels, steps) = (int("texels")?, int("steps")?);
        // Files may say anything.
        let room = u64::from(texels) * u64::from(spec.lanes) <= u64::from(width) * u64::from(height);
        let shaped = match kind {
            Kind::Tile(across) => across > 0 && spec.lanes.is_multiple_of(across) && across <= width && spec.lanes / across <= height,
            Kind::Lattice(counts, apart) => spec.lanes == 1 && counts.0.checked_mul(counts.1) == Some(texels) && apart.0 > 0 && apart.1 > 0,
            Kind::Pair(near) => near.0 <= APART && near.1 <= APART,
            Kind::Pattern(pattern) => {
                let own = pattern.extent(spec.lanes, texels);
                own.0 <= width && own.1 == height
            }
            Kind::Start | Kind::Strides(_) => true,
        };
        if !room || !shaped || spec.lanes == 0 || texels == 0 || (steps == 0 && kind != Kind::Start) || width.max(height) > LONGEST {
            return None;
        }
        let paths = spec.paths(Picture { format, width, height }, texels, word("path_seed")?.parse().ok()?);
        let length = paths.iter().map(Vec::len).min()?;
        // A step more is never taken, and lattices are gone around.
        let once = if matches!(kind, Kind::Lattice(..)) { length } else { (steps as usize).min(length) };
        Some((spec, (0..once).flat_map(|step| paths.iter().map(move |path| path[step])).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(spec: Spec) -> Record {
        let measurement = spec.measurement(Effort { scale: Scale::Tiny, swept: 128, seed: 3 });
        Record { params: measurement.params, ..Record::skipped("texture", &measurement.name, "") }
    }

    #[test]
    fn a_record_says_where_work_items_went() {
        let kinds = [
            (1, Kind::Strides(4)),
            (4, Kind::Strides(5)),
            (4, Kind::Pattern(Pattern::Block(4))),
            (8, Kind::Tile(4)),
            (1, Kind::Pair((1, 0))),
            (1, Kind::Lattice((4, 8), (2, 1))),
        ];
        for (lanes, kind) in kinds {
            let spec = Spec { format: ImageFormat::Rgba16F, lanes, kind };
            let (read, texels) = Spec::of(&record(spec)).unwrap_or_else(|| panic!("{spec:?}"));
            assert_eq!(read, spec);
            assert!(texels.len().is_multiple_of(lanes as usize) && !texels.is_empty());
        }
    }

    /// Rows of a narrow image lie together in a line, where texels lie in rows: going down would be going along.
    #[test]
    fn columns_are_of_wide_images() {
        let effort = Effort { scale: Scale::Quick, swept: 128, seed: 3 };
        let spec = Spec { format: ImageFormat::Rgba32F, lanes: 4, kind: Kind::Pattern(Pattern::Column) };
        let mut params = spec.measurement(effort).params;
        let read = |params: &Parameters| Spec::of(&Record { params: params.clone(), ..Record::skipped("texture", "", "") });
        assert_eq!(params["image_width"], int(1024));
        let (own, texels) = read(&params).expect("a walk");
        // Those of before were as wide as their work-items.
        params.insert("image_width".into(), int(4));
        assert_eq!((own, read(&params)), (spec, Some((spec, texels))));
    }

    #[test]
    fn records_of_files_that_no_walk_can_be_of_are_none() {
        let good = record(Spec { format: ImageFormat::Rgba32F, lanes: 8, kind: Kind::Tile(4) });
        assert!(Spec::of(&good).is_some());
        for (name, value) in
            [("kind_1", 0), ("kind_1", 3), ("lanes", 0), ("texels", -1), ("image_width", 1 << 20), ("steps", 0), ("texels", 1 << 30)]
        {
            let mut bad = good.clone();
            bad.params.insert(name.into(), Parameter::Int(value));
            assert_eq!(Spec::of(&bad), None, "{name} {value}");
        }
    }
}
