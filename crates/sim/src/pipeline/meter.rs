//! How busy units are over time, in a bounded number of intervals.

/// Intervals that are kept at most.
const MOST: usize = 512;

/// Shares of peak by interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Meter {
    /// Seconds of an interval.
    pub width: f64,
    /// Of each interval: seconds at peak that matrix units, vector units and memory were busy for.
    pub bins: Vec<[f64; 3]>,
}

impl Default for Meter {
    fn default() -> Self {
        Self { width: 1e-7, bins: Vec::new() }
    }
}

impl Meter {
    /// These shares of peak from one time to another.
    pub fn add(&mut self, from: f64, to: f64, shares: [f64; 3]) {
        if to <= from {
            return;
        }
        while to > self.width * MOST as f64 {
            self.width *= 2.0;
            self.bins = self.bins.chunks(2).map(|pair| std::array::from_fn(|i| pair.iter().map(|bin| bin[i]).sum())).collect();
        }
        let last = ((to / self.width).ceil() as usize).clamp(1, MOST);
        self.bins.resize(last.max(self.bins.len()), [0.0; 3]);
        for bin in ((from / self.width) as usize).min(last - 1)..last {
            let (begin, end) = (bin as f64 * self.width, (bin + 1) as f64 * self.width);
            let seconds = (to.min(end) - from.max(begin)).max(0.0);
            (0..3).for_each(|i| self.bins[bin][i] += seconds * shares[i]);
        }
    }

    /// Seconds by utilisation, of `total`: both multiprocessor and memory below `low`, only the multiprocessor, only the memory, neither
    /// (paper 003, figure 3). A multiprocessor is as busy as the busier of its units.
    pub fn quadrants(&self, total: f64, low: f64) -> [f64; 4] {
        let mut seconds = [0.0; 4];
        for (i, bin) in self.bins.iter().enumerate() {
            let width = (total - i as f64 * self.width).clamp(0.0, self.width);
            if width <= 0.0 {
                continue;
            }
            let (sm, dram) = (bin[0].max(bin[1]) / width < low, bin[2] / width < low);
            seconds[match (sm, dram) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            }] += width;
        }
        seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_intervals_widen() {
        let mut meter = Meter::default();
        for i in 0..1000 {
            let t = f64::from(i) * 1e-6;
            meter.add(t, t + 5e-7, [1.0, 0.5, 0.0]);
        }
        let sum = |i: usize| meter.bins.iter().map(|bin| bin[i]).sum::<f64>();
        assert!((sum(0) - 5e-4).abs() < 1e-12 && (sum(1) - 2.5e-4).abs() < 1e-12 && sum(2) == 0.0);
        assert!(meter.bins.len() <= MOST);
        let quadrants = meter.quadrants(9.995e-4, 0.33);
        assert!((quadrants.iter().sum::<f64>() - 9.995e-4).abs() < 1e-12, "{quadrants:?}");
        assert!(quadrants[2] > 9.9e-4, "half busy, and no memory: {quadrants:?}");
    }
}
