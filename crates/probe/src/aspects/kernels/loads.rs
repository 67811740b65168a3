//! Independent loads from local memory and from images, whose sums are whole numbers.

use super::{COUNTS, Kernel, constants, expect};
use crate::aspects::ask::Trips;
use crate::kernels::texels::Picture;
use crate::kernels::walk::Route;
use crate::kernels::{lines, numbers, output, program};
use crate::{Amounts, Measurement};
use std::sync::Arc;
use warpsight_ir::{ImageFormat, ImageKind, Scalar};
use warpsight_run::{Init, LaunchSpec, MemoryKind, MemorySpec, Peek};

/// Loads of a trip, all under way at once.
const LOADS: u32 = 8;

/// What place `at` holds.
fn held(at: u64) -> f64 {
    (at % 4) as f64
}

/// The sum of loads from places `start`, `start + step`, …, `start + (loads − 1) · step`, each modulo `places`, a power of two.
fn sum(start: u64, step: u64, loads: u64, places: u64) -> f64 {
    let turn = |from: u64, count: u64| (from..from + count).map(|n| held((start + n * step) % places)).sum::<f64>();
    // After so many loads everything comes again.
    let whole = loads / places;
    turn(0, loads % places) + if whole > 0 { whole as f64 * turn(0, places) } else { 0.0 }
}

/// Loads from local memory by work-items at a distance from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locals {
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    /// Words of an access.
    pub(crate) width: u32,
    /// Accesses between those of neighbouring lanes.
    pub(crate) stride: u32,
    /// Accesses that the array holds, a power of two and a multiple of the lanes.
    pub(crate) places: u32,
    /// Words of the array that nobody accesses.
    pub(crate) spare: u32,
}

impl Locals {
    pub(crate) fn kernel(self) -> Kernel {
        let Self { groups, lanes, width, stride, places, spare } = self;
        let (splat, first) = if width == 1 { (String::new(), "") } else { (format!("splat{width}"), ".[0..1]") };
        let ty = if width == 1 { "f32".into() } else { format!("f32x{width}") };
        let mask = places - 1;
        let text = format!(
            "program locals_{width}_{places} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               size stride in 0..=65536
               read buffer k: f32[1]
               write buffer end: f32[groups, {lanes}]
               local kept: f32[{}]
               groups g = groups
               lanes l = {lanes}
               {{
                 for n in 0..{} unroll none {{
                   let place = n * {lanes} + l
                   kept[place * {width}] = {splat}(f32(place % 4) * k[0])
                 }}
                 barrier group local
                 {}
                 for i in 0..trips unroll none {{
                   let at = l * stride + i * {LOADS}
                   {}
                 }}
                 end[g, l] = ({}){first}
               }}
             }}",
            places * width + spare,
            places / lanes,
            lines(LOADS, |j| format!("var s{j}: {ty} = {splat}(0.0)")),
            lines(LOADS, |j| format!("s{j} = s{j} + kept[(at + {j} & {mask}) * {width} : {width}]")),
            (0..LOADS).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
        );
        let threads = u64::from(groups) * u64::from(lanes);
        Kernel {
            name: format!(
                "local f32x{width} stride {stride} of {}{places} {groups} x {lanes}",
                if spare > 0 { format!("{spare} + ") } else { String::new() }
            ),
            text: if width == 1 { text.replace(" : 1]", "]") } else { text },
            sizes: vec![groups.into(), stride.into()],
            memory: vec![constants(&[1.0]), output(4 * threads)],
            shape: [groups, lanes],
            most: COUNTS / u64::from(4 * LOADS),
            amounts: Amounts { bytes: (threads * u64::from(LOADS * width * 4)) as f64, ..Amounts::default() },
            judge: Arc::new(move |trips, found| {
                let end = |lane: u32| sum(u64::from(lane * stride), 1, trips * u64::from(LOADS), places.into());
                expect(found, [end(0), end(lanes - 1)])
            }),
        }
    }
}

/// Loads of vectors of four words from a few constants, by neighbouring work-items from neighbouring places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Constants {
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    /// Vectors that there are, a power of two.
    pub(crate) places: u32,
}

impl Constants {
    pub(crate) fn kernel(self) -> Kernel {
        let Self { groups, lanes, places } = self;
        let mask = places - 1;
        let text = format!(
            "program constants_{places} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read constant buffer table: f32[{}]
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 {}
                 for i in 0..trips unroll none {{
                   let at = l + i * {LOADS}
                   {}
                 }}
                 end[g, l] = ({}).[0..1]
               }}
             }}",
            4 * places,
            lines(LOADS, |j| format!("var s{j}: f32x4 = splat4(0.0)")),
            lines(LOADS, |j| format!("s{j} = s{j} + table[(at + {j} & {mask}) * 4 : 4]")),
            (0..LOADS).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
        );
        let threads = u64::from(groups) * u64::from(lanes);
        let table: Vec<f32> = (0..u64::from(places)).flat_map(|at| [held(at) as f32; 4]).collect();
        Kernel {
            name: format!("constants {places} {groups} x {lanes}"),
            text,
            sizes: vec![groups.into()],
            memory: vec![constants(&table), output(4 * threads)],
            shape: [groups, lanes],
            most: COUNTS / u64::from(4 * LOADS),
            amounts: Amounts { bytes: (threads * u64::from(16 * LOADS)) as f64, ..Amounts::default() },
            judge: Arc::new(move |trips, found| {
                let end = |lane: u32| sum(lane.into(), 1, trips * u64::from(LOADS), places.into());
                expect(found, [end(0), end(lanes - 1)])
            }),
        }
    }
}

/// Fetches of all texels of an image of one row, over and over. Groups begin as far from each other as there is room: no two of a core are near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Texels {
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    /// Texels of the image, a power of two.
    pub(crate) places: u32,
}

impl Texels {
    /// Texels that a group of so many lanes fetches in a trip.
    pub(crate) fn chunk(lanes: u32) -> u32 {
        LOADS * lanes
    }

    pub(crate) fn kernel(self) -> Kernel {
        let Self { groups, lanes, places } = self;
        let (chunk, mask, most) = (Self::chunk(lanes), places - 1, COUNTS / u64::from(4 * LOADS));
        let apart = (places / chunk / groups).max(1) * chunk;
        let text = format!(
            "program texels_{places} {{
               size trips in 0..={most}
               size groups in 1..={}
               {}
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 let start = (g * {apart} & {mask}) + l
                 {}
                 for i in 0..trips unroll none {{
                   let at = start + i * {chunk}
                   {}
                 }}
                 let s = {}
                 end[g, l] = f32(lane(s, 0))
               }}
             }}",
            i32::MAX as u32 / apart,
            Route::Image(ImageKind::Image1dBuffer).declared("picture", &places.to_string()),
            lines(LOADS, |j| format!("var s{j}: i32x4 = splat4(0)")),
            lines(LOADS, |j| format!("s{j} = s{j} + picture@[at + {} & {mask}]", j * lanes)),
            (0..LOADS).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
        );
        let threads = u64::from(groups) * u64::from(lanes);
        // Below 4.
        let contents = (0..u64::from(places)).flat_map(|at| (held(at) as i32).to_le_bytes().repeat(4)).collect();
        let last = u64::from(groups - 1) * u64::from(apart) + u64::from(lanes - 1);
        Kernel {
            name: format!("texels {places} {groups} x {lanes}"),
            text,
            sizes: vec![groups.into()],
            memory: vec![Route::Image(ImageKind::Image1dBuffer).memory(places, Init::Data(contents)), output(4 * threads)],
            shape: [groups, lanes],
            most,
            amounts: Amounts { bytes: (threads * u64::from(16 * LOADS)) as f64, ..Amounts::default() },
            judge: Arc::new(move |trips, found| {
                expect(found, [0, last].map(|start| sum(start, lanes.into(), trips * u64::from(LOADS), places.into())))
            }),
        }
    }
}

/// Stores of all texels of an image of four floats, each group in rows of its own, over and over; then another launch reads a texel of every row.
#[derive(Clone)]
pub(crate) struct Stores {
    kernel: Kernel,
    lanes: u32,
    /// Rows of a group, a power of two.
    rows: u32,
}

impl Stores {
    pub(crate) fn new(groups: u32, lanes: u32, rows: u32) -> Self {
        let (width, height) = (LOADS * lanes, groups * rows);
        let text = format!(
            "program stores_{width}x{height} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read buffer k: f32[2]
               write image picture: rgba32f[{width}, {height}]
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 let a = k[0]
                 let own = f32(l) * a + a
                 for i in 0..trips unroll none {{
                   let y = g * {rows} + (i & {})
                   let v = splat4(f32(i) + own)
                   {}
                 }}
                 end[g, l] = f32(l) * a
               }}
             }}",
            rows - 1,
            lines(LOADS, |j| format!("picture@[l + {}, y] = v", j * lanes)),
        );
        let threads = u64::from(groups) * u64::from(lanes);
        let kind = MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32F, width, height };
        let kernel = Kernel {
            name: format!("store and read {width} x {height} {groups} x {lanes}"),
            text,
            sizes: vec![groups.into()],
            memory: vec![constants(&[1.0, 1.0]), MemorySpec { kind, init: Init::Zero, canaries: false }, output(4 * threads)],
            shape: [groups, lanes],
            most: COUNTS / u64::from(LOADS),
            amounts: Amounts { bytes: (threads * u64::from(16 * LOADS)) as f64, ..Amounts::default() },
            judge: Arc::new(move |_, found| expect(found, [0.0, f64::from(lanes - 1)])),
        };
        Self { kernel, lanes, rows }
    }

    pub(crate) fn bytes(&self) -> f64 {
        self.kernel.amounts.bytes
    }

    /// Rows of the image.
    fn height(&self) -> u32 {
        self.kernel.shape[0] * self.rows
    }

    /// Counts, for each lane, the rows in which a texel that it stored last holds what it should: another of them from row to row.
    fn reader(&self) -> String {
        let Self { lanes, rows, .. } = *self;
        let (width, height) = (LOADS * lanes, self.height());
        format!(
            "program stored_{width}x{height} {{
               size trips in 0..=8388608
               read image picture: rgba32f[{width}, {height}]
               write buffer seen: f32[{lanes}]
               groups g = 1
               lanes l = {lanes}
               {{
                 var right: f32 = 0.0
                 for y in 0..{height} unroll none {{
                   let row = y & {}
                   let last = trips - 1 - (trips - 1 - row & {})
                   let wanted = select(row < trips, f32(last + l + 1), 0.0)
                   let s = picture@[l + (y & {}) * {lanes}, y]
                   {}
                 }}
                 seen[l] = right
               }}
             }}",
            rows - 1,
            rows - 1,
            LOADS - 1,
            lines(4, |j| format!("right = right + select(lane(s, {j}) == wanted, 0.25, 0.0)")),
        )
    }
}

impl Trips for Stores {
    fn name(&self) -> &str {
        self.kernel.name()
    }

    fn bounds(&self) -> (u64, u64) {
        self.kernel.bounds()
    }

    fn measurement(&self, trips: u64) -> Measurement {
        let mut all = self.kernel.measurement(trips);
        let (picture, seen, bytes) = (1, all.job.memory.len(), 4 * self.lanes);
        all.job.memory.push(output(bytes.into()));
        all.job.programs.push(program(&self.reader(), &[]).into());
        all.job.launches.push(LaunchSpec { program: 1, args: vec![picture, seen], sizes: vec![trips as i64] });
        all.job.peek.push(Peek { memory: seen, offsets: vec![0], bytes });
        let (stored, rows) = (all.check, f64::from(self.height()));
        all.check = Box::new(move |result| {
            stored(result)?;
            let found = result.peeked.get(1).ok_or("no texel came back")?;
            let wrong = numbers(Scalar::F32, found).into_iter().enumerate().find(|(_, right)| *right != rows);
            wrong.map_or(Ok(()), |(lane, right)| Err(format!("of {rows} rows work-item {lane} finds what was stored in {right}")))
        });
        all
    }
}

/// Reads of all texels of an image of four floats, whose sides are powers of two, over and over by all groups. A trip reads rows, so
/// that one row's number is all there is to compute of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetches {
    pub(crate) kind: ImageKind,
    pub(crate) format: ImageFormat,
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    pub(crate) width: u32,
    /// 1 of images of one dimension.
    pub(crate) height: u32,
}

impl Fetches {
    fn picture(self) -> Picture {
        Picture { format: self.format, width: self.width, height: self.height }
    }

    /// Bytes of the image.
    pub(crate) fn bytes(self) -> u64 {
        self.picture().bytes()
    }

    /// What a texel holds in each component, a whole number below 4.
    fn holds(x: u64, y: u64) -> u64 {
        (x + y) % 4
    }

    /// The texels' bytes.
    fn contents(self) -> Vec<u8> {
        let texels = (0..u64::from(self.height)).flat_map(|y| (0..u64::from(self.width)).map(move |x| Self::holds(x, y)));
        // Below 4.
        texels.flat_map(|number| self.component(number as u8).repeat(4)).collect()
    }

    fn component(self, number: u8) -> Vec<u8> {
        match self.format {
            ImageFormat::Rgba32F => f32::from(number).to_le_bytes().to_vec(),
            ImageFormat::Rgba16F | ImageFormat::Rgba16H => half::f16::from(number).to_le_bytes().to_vec(),
            ImageFormat::Rgba32I | ImageFormat::Rgba32U => u32::from(number).to_le_bytes().to_vec(),
            ImageFormat::Rgba8Unorm => vec![number * 85],
        }
    }

    pub(crate) fn kernel(self) -> Kernel {
        let Self { kind, format, groups, lanes, width, height } = self;
        let flat = kind.is_one_dimensional();
        let (declared, border) = (kind_word(kind), if kind == ImageKind::Image1dBuffer { " border none" } else { "" });
        let (whole, ty, sum) = match format.scalar() {
            Scalar::I32 => ("splat4(0)", "i32x4", "f32(lane(s, 0))"),
            Scalar::U32 => ("splat4(0u)", "u32x4", "f32(lane(s, 0))"),
            _ => ("splat4(0.0)", "f32x4", "lane(s, 0)"),
        };
        let (shift, columns, rows) = (width.trailing_zeros(), width - 1, height - 1);
        let place = |j: u32| if flat { format!("x{j} ^ n") } else { format!("x{j}, y") };
        let row = if flat { format!("let n = i & {columns}") } else { format!("let y = row + i & {rows}") };
        let extents = if flat { format!("{width}") } else { format!("{width}, {height}") };
        let text = format!(
            "program fetches_{declared}_{}_{width}x{height} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read {declared} picture: {}[{extents}]{border}
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 let row = l >> {shift}
                 {}
                 {}
                 for i in 0..trips unroll none {{
                   {row}
                   {}
                 }}
                 let s = {}
                 end[g, l] = {sum}
               }}
             }}",
            self.picture().word(),
            self.picture().word(),
            lines(LOADS, |j| format!("let x{j} = l + {} & {columns}", j * lanes)),
            lines(LOADS, |j| format!("var s{j}: {ty} = {whole}")),
            lines(LOADS, |j| format!("s{j} = s{j} + picture@[{}]", place(j))),
            (0..LOADS).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
        );
        let threads = u64::from(groups) * u64::from(lanes);
        Kernel {
            name: format!("fetch {declared} {} {width} x {height} {groups} x {lanes}", self.picture().word()),
            text,
            sizes: vec![groups.into()],
            memory: vec![
                MemorySpec { kind: MemoryKind::Image { kind, format, width, height }, init: Init::Data(self.contents()), canaries: false },
                output(4 * threads),
            ],
            shape: [groups, lanes],
            most: COUNTS / u64::from(4 * LOADS),
            amounts: Amounts { bytes: (threads * u64::from(LOADS * format.bytes())) as f64, ..Amounts::default() },
            judge: Arc::new(move |trips, found| self.judge(trips, found)),
        }
    }

    /// What the first and the last lane add up: numbers that come again after four trips.
    fn judge(self, trips: u64, found: &[f32]) -> Result<(), String> {
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        let read = |lane: u64, load: u64, trip: u64| {
            let x = (lane + load * u64::from(self.lanes)) % width;
            if self.kind.is_one_dimensional() { Self::holds(x ^ (trip % width), 0) } else { Self::holds(x, (lane / width + trip) % height) }
        };
        let trip = |lane: u64, trip: u64| (0..u64::from(LOADS)).map(|load| read(lane, load, trip)).sum::<u64>();
        let turn = |lane: u64, trips: u64| (0..trips).map(|n| trip(lane, n)).sum::<u64>();
        let end = |lane: u32| ((trips / 4) * turn(lane.into(), 4) + turn(lane.into(), trips % 4)) as f64;
        let (first, last) = (end(0), end(self.lanes - 1));
        // Parts of 255 are rounded, and sums of them.
        let part = if self.format == ImageFormat::Rgba8Unorm { 3.0 } else { 1.0 };
        let near =
            |found: f32, wanted: f64| (f64::from(found) * part - wanted).abs() <= if part > 1.0 { 1e-3 * wanted.max(1.0) } else { 0.0 };
        match found {
            [a, b] if near(*a, first) && near(*b, last) => Ok(()),
            _ => Err(format!("the first and last thread have {found:?}, not {:?}", [first / part, last / part])),
        }
    }
}

/// A kind of image as the text form has it.
fn kind_word(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Image2d => "image",
        ImageKind::Image1d => "image1d",
        ImageKind::Image1dBuffer => "image1d_buffer",
        ImageKind::Image2dFromBuffer => "image2d_from_buffer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_turns_are_those_of_single_loads() {
        for (start, step, loads, places) in [(0, 1, 8, 16), (3, 1, 40, 16), (5, 64, 1000, 256), (1, 3, 777, 64)] {
            let each: f64 = (0..loads).map(|n| held((start + n * step) % places)).sum();
            assert_eq!(sum(start, step, loads, places), each);
        }
    }

    /// What a launch of stores left is read, whatever the number of trips; a texel of any row that holds something else is seen.
    #[test]
    fn what_was_stored_is_read() {
        let options = warpsight_run::Options { in_process: true, cache: None, ..warpsight_run::Options::default() };
        let mut device = warpsight_run::open("sim:adreno640", &options).expect("a device");
        let stores = Stores::new(3, 8, 4);
        for trips in [1, 3, 4, 6, 9] {
            let measurement = stores.measurement(trips);
            assert_eq!((measurement.check)(&device.run(&measurement.job).expect("a run")), Ok(()), "{trips} trips");
        }
        // The rows of the last group of three but the first.
        let mut spoiled = stores.measurement(6);
        let other = stores.kernel.text.replace("let y = g * 4 + (i & 3)", "let y = g * 4 + (select(g == 2, 0, i) & 3)");
        assert_ne!(other, stores.kernel.text);
        spoiled.job.programs[0] = program(&other, &[]).into();
        let result = device.run(&spoiled.job).expect("a run");
        assert_eq!((spoiled.check)(&result), Err("of 12 rows work-item 0 finds what was stored in 8".into()));
    }
}
