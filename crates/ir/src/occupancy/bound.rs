//! The least time that a piece of work takes on a device by kernels of tiles of texels in registers, at full occupancy and without local memory
//! (paper 001, section 3.2). Tiles that load one element at a time, fewer groups, or lanes that share what they load may do better.
//!
//! Arithmetic at its peak, memory moved once, and first levels at their bandwidth: how much is computed with each element that is loaded is
//! limited by the registers that a work-item may have where a core is to hold a group of the greatest size.

use crate::estimate::Limiter;
use crate::occupancy::Residency;
use crate::profile::{Cache, Fact, Profile};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, Seconds};
use serde::{Deserialize, Serialize};

/// What a piece of work asks for, whatever its kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Floating-point operations; a multiply-add counts two.
    pub flops: f64,
    /// What it reads and writes, each element once.
    pub moved: Bytes,
    /// What is loaded for each term, or element.
    pub operands: Vec<Operand>,
    /// Whether it is computed in half precision: two halves may share a register.
    pub half: bool,
    /// Whether terms are products of the first two operands that are summed, so that tiles of results use each element several times.
    pub product: bool,
}

/// Elements that terms are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// Bytes of one.
    pub element: u32,
    /// Distinct elements.
    pub elements: f64,
    /// Terms.
    pub terms: f64,
    /// Terms of one result that use an element as neighbours' do: of a window that slides, its size.
    pub window: f64,
}

/// A tile of results that a work-item computes: sums of products of a column of `rows` and a row of `columns` elements, `depth` of each loaded
/// at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Results along one operand.
    pub rows: u32,
    /// Results along the other.
    pub columns: u32,
    /// Terms whose elements are loaded together: the channels of a texel.
    pub depth: u32,
}

/// Registers of a work-item where nobody says how many it may have.
const MOST: u32 = 256;
/// Channels of a texel.
const TEXEL: u32 = 4;

impl Tile {
    /// 32-bit registers of results and of the elements that are loaded together.
    pub fn registers(self) -> u32 {
        self.rows * self.columns + self.depth * (self.rows + self.columns)
    }
    /// Floating-point operations for each element loaded.
    pub fn flops_per_element(self) -> f64 {
        2.0 * f64::from(self.rows * self.columns) / f64::from(self.rows + self.columns)
    }
    /// What such operations come to with elements of so many bytes at a bandwidth.
    pub fn rate(self, element: u32, bandwidth: BytesPerSecond) -> FlopsPerSecond {
        FlopsPerSecond(self.flops_per_element() / f64::from(element.max(1)) * bandwidth.0)
    }
    /// The largest tiles of texels within so many registers, by rows.
    fn within(registers: u32) -> impl Iterator<Item = Self> {
        let columns = move |rows: u32| registers.checked_sub(TEXEL * rows).map_or(0, |left| left / (rows + TEXEL));
        let tiles = (1..=registers / TEXEL).map(move |rows| Self { rows, columns: columns(rows), depth: TEXEL });
        std::iter::once(Self { rows: 1, columns: 1, depth: 1 }).chain(tiles.filter(|tile| tile.columns > 0))
    }
}

/// The least time, and what sets it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The time.
    pub time: Seconds,
    /// Arithmetic, a first level (of images, or of buffers) or memory.
    pub limiter: Limiter,
}

/// f32 operations a second at most; `None` where cores, clock or their rate are unknown.
pub fn peak(on: &Profile) -> Option<FlopsPerSecond> {
    let e = &on.execution;
    let cores = f64::from(*e.cores.get()?);
    Some(FlopsPerSecond(2.0 * cores * e.fma_per_clock.get()? * e.clock.get()?.0))
}

/// The same of halves, of which units may finish more.
fn peak_of_halves(on: &Profile) -> Option<FlopsPerSecond> {
    let single = peak(on)?;
    let ratio = on.execution.fma16_per_clock.get().zip(on.execution.fma_per_clock.get()).map_or(1.0, |(half, single)| half / single);
    Some(FlopsPerSecond(single.0 * ratio.max(1.0)))
}

/// No work-item of any GPU has more registers: profiles of anybody may say so.
const WIDEST: u32 = 4096;

/// The most registers of a work-item with which a core holds a group of the greatest size; where that size is unknown, the most that a
/// work-item may have.
pub fn registers_at_occupancy(on: &Profile) -> Option<u32> {
    let residency = Residency::of(on);
    let Some(size) = residency.max_group_size else { return residency.max_registers.map(|own| own.min(WIDEST)) };
    let warps = size.div_ceil(residency.warp.unwrap_or(1).max(1));
    let most = residency.max_registers.unwrap_or(MOST).min(WIDEST);
    (1..=most).rev().find(|&registers| residency.warps_by_registers(registers).is_some_and(|held| held >= warps))
}

/// What is loaded in a second at most, images and buffers together: a first level each, or the second where one has none; the faster of them
/// where the device is known to have one way for both. Which way is the faster one.
pub fn nearest_bandwidth(on: &Profile) -> Option<(BytesPerSecond, Limiter)> {
    let memory = &on.memory;
    let of = |level: &Cache| match level.bytes {
        Fact::Absent { .. } => memory.l2.bandwidth.get().copied(),
        _ => level.bandwidth.get().copied(),
    };
    let (images, buffers) = (of(&memory.texture_l1), of(&memory.buffer_l1));
    let one_way = on.probed.read_paths.get().is_some_and(|paths| paths == "shared");
    let level = if images.map(|own| own.0) >= buffers.map(|own| own.0) { Limiter::Texture } else { Limiter::L1 };
    match (images, buffers) {
        (Some(a), Some(b)) => Some((BytesPerSecond(if one_way { a.0.max(b.0) } else { a.0 + b.0 }), level)),
        // One of them is unknown: so is the sum.
        _ => None,
    }
}

/// The least time that a piece of work can take; `None` where arithmetic and memory of the device are unknown. First levels count where their
/// bandwidths and registers are known. Caches are taken to be cold, launches to take no time.
pub fn bound(demand: &Demand, on: &Profile) -> Option<Bound> {
    let peak = if demand.half { peak_of_halves(on)? } else { peak(on)? };
    let arithmetic = (Seconds(demand.flops / peak.0), Limiter::Fp);
    let memory = (Seconds(demand.moved.0 / on.memory.dram_bandwidth.get()?.0), Limiter::Dram);
    let loads = registers_at_occupancy(on).zip(nearest_bandwidth(on));
    let loads = loads.map(|(registers, (bandwidth, level))| {
        (Seconds(loaded(demand, registers * if demand.half { 2 } else { 1 }).0 / bandwidth.0), level)
    });
    let all = [arithmetic, memory].into_iter().chain(loads);
    all.max_by(|a, b| a.0.0.total_cmp(&b.0.0)).map(|(time, limiter)| Bound { time, limiter })
}

/// What is loaded at least, where work-items have so many registers.
fn loaded(demand: &Demand, registers: u32) -> Bytes {
    let once = |own: &Operand| own.elements * f64::from(own.element);
    let all: f64 = demand.operands.iter().map(once).sum();
    let ([a, b], true) = (&demand.operands[..], demand.product) else { return Bytes(all) };
    // An element is used for each result along the other operand.
    let of = |own: &Operand, results: u32| (own.terms / (f64::from(results) * own.window)).max(own.elements) * f64::from(own.element);
    let tiled = |tile: Tile| of(a, tile.columns) + of(b, tile.rows);
    Bytes(Tile::within(registers).map(tiled).fold(f64::INFINITY, f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::builtin;

    /// Paper 001, section 3.2 and figure 10.
    #[test]
    fn figure_10() {
        let tile = Tile { rows: 4, columns: 4, depth: 4 };
        assert_eq!((tile.registers(), tile.flops_per_element()), (48, 4.0));
        let l1 = BytesPerSecond(190e9);
        assert_eq!((tile.rate(2, l1), tile.rate(4, l1)), (FlopsPerSecond(380e9), FlopsPerSecond(190e9)));
        // With the 60 registers of its figure 5, a tile of 4 x 6 finds no room; of 4 x 5 it does.
        assert_eq!(Tile { columns: 6, ..tile }.registers(), 64);
        let best = Tile::within(60).max_by(|a, b| a.flops_per_element().total_cmp(&b.flops_per_element()));
        assert_eq!(best.map(|own| (own.rows.min(own.columns), own.rows.max(own.columns))), Some((4, 5)));
    }

    #[test]
    fn registers_that_leave_room_for_a_group() {
        let of = |name: &str| registers_at_occupancy(&builtin(name).unwrap().unwrap());
        // ⌊144 vec4 / 18⌋ · 2 = 16 warps of 64; how large groups of Mali G76 may be is unknown, registers are 64; 65536 / 1024.
        assert_eq!([of("adreno640"), of("mali-g76"), of("a100-40")], [Some(72), Some(64), Some(64)]);
    }

    fn square(extent: f64, element: u32) -> Demand {
        let operand = Operand { element, elements: extent * extent, terms: extent.powi(3), window: 1.0 };
        Demand {
            flops: 2.0 * extent.powi(3),
            moved: Bytes(3.0 * extent * extent * f64::from(element)),
            operands: vec![operand; 2],
            product: true,
            half: false,
        }
    }

    #[test]
    fn the_least_time_of_a_product() {
        let adreno = builtin("adreno640").unwrap().unwrap();
        let of = |demand: &Demand| bound(demand, &adreno).unwrap();
        // 4 x 7 results in 72 registers: 2 · 28 / 11 operations an element, at 194.55 + 96.3 GB/s.
        let own = of(&square(1024.0, 4));
        let expected = 2.0 * 1024f64.powi(3) / (2.0 * 28.0 / 11.0 / 4.0 * (194.55e9 + 96.3e9));
        assert!((own.time.0 / expected - 1.0).abs() < 1e-9 && own.limiter == Limiter::Texture, "{own:?} {expected}");
        // Elements that are used once are loaded once.
        let mut flat = square(1024.0, 4);
        flat.operands.iter_mut().for_each(|own| own.terms = own.elements);
        flat.flops = 1.0;
        assert_eq!(of(&flat), Bound { time: Seconds(3.0 * 1024.0 * 1024.0 * 4.0 / 30.2e9), limiter: Limiter::Dram });
        let many = Demand { flops: 1e12, ..flat };
        let peak = 2.0 * 2.0 * 384.0 * 585e6;
        assert_eq!(of(&many), Bound { time: Seconds(1e12 / peak), limiter: Limiter::Fp });
        // 768 halves a clock of a core.
        let halves = Demand { half: true, ..many.clone() };
        assert_eq!(of(&halves), Bound { time: Seconds(1e12 / (2.0 * peak)), limiter: Limiter::Fp });
        let mut unknown = adreno.clone();
        unknown.execution.fma_per_clock = Fact::unknown("a test");
        assert_eq!(bound(&many, &unknown), None);
    }
}
