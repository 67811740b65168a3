//! What a description comes to: the most that its units do in a second.

use super::{Per, Silicon};

/// Bytes of a texel of four floats, the widest.
const TEXEL: u32 = 16;

impl Silicon {
    /// Floating-point operations a second of all cores, a multiply-add counted as two.
    pub fn peak_flops(&self) -> f64 {
        let core = &self.core;
        2.0 * f64::from(core.count) * f64::from(core.ports) * f64::from(core.lanes) * core.clock / core.float_rate
    }

    /// Bytes a second of all texture caches, of texels of 16 bytes that every lane of full waves fetches from images of rows and columns.
    pub fn texture_bandwidth(&self) -> f64 {
        let (core, texture) = (&self.core, &self.texture);
        let units = core.count * if texture.per == Per::Port { core.ports } else { 1 };
        let steps = core.wave.div_ceil(texture.lanes_per_step) * if TEXEL > texture.wide_texel_bytes { 2 } else { 1 };
        let cycles = f64::from(steps) * texture.step * texture.image2d.steps + texture.wave_overhead;
        f64::from(units) * f64::from(core.wave) * f64::from(TEXEL) * core.clock / cycles
    }

    /// Bytes a second of the second-level cache.
    pub fn l2_bandwidth(&self) -> f64 {
        f64::from(self.l2.slices) * f64::from(self.l2.sector) / self.l2.sector_time * self.core.clock
    }

    /// Bytes a second of device memory, rows staying open.
    pub fn dram_bandwidth(&self) -> f64 {
        f64::from(self.dram.channels) * self.dram.bytes_per_cycle * self.core.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Adreno 640's recording has 889.9 GFLOP/s, 194.6, 99 to 100 and 30.1 to 30.4 GB/s.
    #[test]
    fn the_adreno_640_comes_to_what_was_recorded() {
        let s = Silicon::adreno640();
        let rates = [s.peak_flops(), s.texture_bandwidth(), s.l2_bandwidth(), s.dram_bandwidth()];
        assert_eq!(rates.map(|rate| (rate / 1e8).round() / 10.0), [898.6, 194.3, 99.8, 30.9]);
    }
}
