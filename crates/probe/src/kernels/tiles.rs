//! Warps that read images tile by tile, each lane a texel, in a shape and order that tables give.

use super::texels::Picture;
use super::{Occupancy, Sum, WARP, buffer, int, lines, numbers, output, sample, timing, word};
use crate::{Amounts, Check, Measurement};
use warpsight_ir::Scalar;
use warpsight_run::{CacheState, Init, Job, LaunchSpec, Peek};

/// Texels under way for each lane: two, and their sums, leave registers for 64 warps.
const SLOTS: u32 = 2;

/// The order of lanes within a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Row by row.
    Rows,
    /// Along the Z curve: 2 × 2 texels by four lanes, 4 × 4 by sixteen.
    Morton,
    /// Squares of n × n texels row by row, side by side.
    Squares(u32),
}

/// A tile of 32 texels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tile {
    /// Texels in a row; divides 32.
    pub(crate) width: u32,
    pub(crate) order: Order,
}

impl Tile {
    fn height(self) -> u32 {
        WARP / self.width
    }
    fn name(self) -> String {
        let order = match self.order {
            Order::Rows => "rows".into(),
            Order::Morton => "morton".into(),
            Order::Squares(n) => format!("squares {n}"),
        };
        format!("{} x {} {order}", self.width, self.height())
    }
    /// Where a lane reads.
    fn lane(self, lane: u32) -> (u32, u32) {
        match self.order {
            Order::Rows => (lane % self.width, lane / self.width),
            Order::Morton => {
                let bits = |lane: u32| (lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4);
                let (x, y) = (bits(lane), bits(lane >> 1));
                (x % self.width, y + x / self.width * 4)
            }
            Order::Squares(n) => {
                let (square, within) = (lane / (n * n), lane % (n * n));
                let across = self.width / n;
                (square % across * n + within % n, square / across * n + within / n)
            }
        }
    }
}

/// Reads of a region of an image, over and over, by all warps from starts of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tiles {
    pub(crate) picture: Picture,
    /// Extent of the region that is read, whole tiles across and whole pairs of them down.
    pub(crate) region: (u32, u32),
    pub(crate) tile: Tile,
    pub(crate) occupancy: Occupancy,
    pub(crate) turns: u32,
}

impl Tiles {
    /// Whether tiles divide the region and that lies in the image.
    pub(crate) fn fits(&self) -> bool {
        let (width, height) = self.region;
        width <= self.picture.width
            && height <= self.picture.height
            && width.is_multiple_of(self.tile.width)
            && height.is_multiple_of(SLOTS * self.tile.height())
    }

    /// Takes its time, caches as the pass before left them.
    pub(crate) fn measurement(&self, seed: u64) -> Measurement {
        let Occupancy { threads, per_unit, .. } = self.occupancy;
        let values = [
            ("name", format!("tiles_{}_t{threads}", self.picture.word())),
            ("format", self.picture.word().into()),
            ("warps", (threads / WARP).to_string()),
            ("lanes_out", (4 * threads).to_string()),
            ("declare", super::reduce::declare(Scalar::F32, 4, SLOTS)),
            ("slots", SLOTS.to_string()),
            ("turn", lines(SLOTS, |j| format!("s{j} = s{j} + picture@[x + lx, y + ly + {j} * tile_h]"))),
            ("total", super::reduce::total(SLOTS)),
        ];
        let table = |axis: fn((u32, u32)) -> u32| {
            buffer(128, Init::Data((0..WARP).flat_map(|lane| axis(self.tile.lane(lane)).to_le_bytes()).collect()))
        };
        let ((region_w, region_h), blocks) = (self.region, self.occupancy.blocks());
        let sizes = [self.picture.width, self.picture.height, self.tile.width, self.tile.height(), region_w, region_h, self.turns, blocks];
        let mut params = self.picture.params();
        params.extend([
            ("kind".into(), word("tiles")),
            ("tile_width".into(), int(self.tile.width)),
            ("tile_height".into(), int(self.tile.height())),
            ("tile".into(), word(&self.tile.name())),
            ("region_width".into(), int(region_w)),
            ("region_height".into(), int(region_h)),
            ("loads_per_warp".into(), int(self.turns * SLOTS)),
        ]);
        self.occupancy.params(&mut params);
        let Picture { width, height, format } = self.picture;
        let loads = self.occupancy.all_threads() as f64 * f64::from(self.turns * SLOTS);
        let (peek, check) = self.check(seed);
        Measurement {
            name: format!(
                "tiles {} {width} x {height} region {region_w} x {region_h} {} {threads} x {per_unit}",
                self.picture.word(),
                self.tile.name()
            ),
            params,
            job: Job {
                programs: vec![super::program(TEXT, &values).into()],
                memory: vec![
                    self.picture.memory(self.picture.random(seed)),
                    table(|(x, _)| x),
                    table(|(_, y)| y),
                    output(self.occupancy.all_threads() * 16),
                ],
                launches: vec![LaunchSpec { program: 0, args: vec![0, 1, 2, 3], sizes: sizes.map(i64::from).to_vec() }],
                read: vec![],
                peek: vec![peek],
                timing: timing(CacheState::Warm),
            },
            launch: 0,
            amounts: Amounts { bytes: loads * f64::from(format.bytes()), points: loads, ..Amounts::default() },
            check,
        }
    }

    fn check(&self, seed: u64) -> (Peek, Check) {
        let threads = sample(self.occupancy.all_threads(), 8, seed);
        let peek = Peek { memory: 3, offsets: threads.iter().map(|thread| 16 * thread).collect(), bytes: 16 };
        let this = *self;
        let check: Check = Box::new(move |result| {
            let sums = numbers(Scalar::F32, result.peeked.first().ok_or("nothing came back")?);
            if sums.len() != 4 * threads.len() {
                return Err(format!("{} sums came back", sums.len()));
            }
            for (thread, sums) in threads.iter().zip(sums.chunks(4)) {
                for (c, &sum) in sums.iter().enumerate() {
                    let expected = this.reference(seed, *thread, c as u64);
                    if !expected.admits(sum) {
                        return Err(format!(
                            "thread {thread}, component {c}: the sum is {sum}, not {} ± {:.1e}",
                            expected.value, expected.error
                        ));
                    }
                }
            }
            Ok(())
        });
        (peek, check)
    }

    fn reference(&self, seed: u64, thread: u64, c: u64) -> Sum {
        let ((lane_x, lane_y), (width, height)) = (self.tile.lane((thread % u64::from(WARP)) as u32), self.region);
        let (across, down) = (width / self.tile.width, height / (SLOTS * self.tile.height()));
        let start = thread / u64::from(WARP);
        let mut total = Sum::new(Scalar::F32);
        for slot in 0..SLOTS {
            let mut sum = Sum::new(Scalar::F32);
            for turn in 0..u64::from(self.turns) {
                let tile = start % u64::from(across * down) + turn;
                let (column, row) = (tile % u64::from(across), tile / u64::from(across) % u64::from(down));
                let x = column * u64::from(self.tile.width) + u64::from(lane_x);
                let y = (row * u64::from(SLOTS) + u64::from(slot)) * u64::from(self.tile.height()) + u64::from(lane_y);
                // A device may make a fraction of 255 with another rounding.
                sum.add(self.picture.component(seed, x, y, c), f64::from(f32::EPSILON));
            }
            total.add(sum.value, sum.error);
        }
        total
    }
}

const TEXT: &str = "\
program $name {
  size w in 1..=65536
  size h in 1..=65536
  size tile_w in 1..=32
  size tile_h in 1..=32
  size region_w in 1..=65536
  size region_h in 1..=65536
  size turns in 1..=1048576
  size blocks in 1..=65536
  read image picture: $format[w, h] border clamp
  read buffer lane_x: i32[32]
  read buffer lane_y: i32[32]
  write buffer sums: f32[blocks, $lanes_out]
  groups g = blocks
  lanes lane = 32, warp = $warps
  {
    let lx = lane_x[lane]
    let ly = lane_y[lane]
    let across = region_w / tile_w
    let start = (g * $warps + warp) % (across * (region_h / (tile_h * $slots)))
    var x: i32 = start % across * tile_w
    var y: i32 = start / across * (tile_h * $slots)
    $declare
    for i in 0..turns unroll none {
      $turn
      x = x + tile_w
      y = select(x < region_w, y, y + tile_h * $slots)
      x = select(x < region_w, x, 0)
      y = select(y < region_h, y, 0)
    }
    sums[g, (warp * 32 + lane) * 4] = $total
  }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_a_tile_fill_it() {
        let tiles = [(32, Order::Rows), (8, Order::Rows), (1, Order::Rows), (8, Order::Morton), (4, Order::Morton), (8, Order::Squares(2))];
        for (width, order) in tiles.into_iter().chain([(8, Order::Squares(4)), (16, Order::Squares(2)), (4, Order::Squares(4))]) {
            let tile = Tile { width, order };
            let mut places: Vec<_> = (0..WARP).map(|lane| tile.lane(lane)).collect();
            places.sort_unstable();
            let all: Vec<_> = (0..tile.width).flat_map(|x| (0..tile.height()).map(move |y| (x, y))).collect();
            assert_eq!(places, all, "{tile:?}");
        }
        assert_eq!(Tile { width: 8, order: Order::Morton }.lane(6), (2, 1));
        assert_eq!(Tile { width: 8, order: Order::Squares(2) }.lane(6), (2, 1));
    }
}
