//! What a device's clock shows: launches in whole ticks, disturbed, slower when the device got hot.

use crate::mixed::mixed;
use crate::silicon::{Silicon, Timer};
use warpsight_ir::Seconds;

/// A device's clock, and how hot the device is.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Seconds it has worked.
    worked: f64,
    /// State of the noise.
    state: u64,
}

impl Timer {
    /// Whether it shows exactly what launches took.
    pub fn is_exact(&self) -> bool {
        self.quantum == 0.0 && self.noise == 0.0 && self.throttle.is_none()
    }
}

impl Clock {
    /// Of a cool device. The same seed shows the same.
    pub fn new(silicon: &Silicon) -> Self {
        Self { worked: 0.0, state: mixed(silicon.timer.seed) }
    }

    /// What is shown of a launch that takes `time` on a cool device.
    pub fn shows(&mut self, timer: &Timer, time: Seconds) -> Seconds {
        let slower = timer.throttle.as_ref().map_or(1.0, |heat| {
            let fallen = 1.0 - (-((self.worked - heat.after).max(0.0)) / heat.within).exp();
            1.0 / (1.0 - (1.0 - heat.to) * fallen)
        });
        let took = time.0 * slower;
        self.worked += took;
        let disturbed = took * (1.0 + timer.noise * self.uniform());
        Seconds(if timer.quantum > 0.0 { (disturbed / timer.quantum).round() * timer.quantum } else { disturbed })
    }

    /// From 0 to below 1.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(1);
        (mixed(self.state) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_tick_err_and_fall() {
        let text =
            "base = \"adreno640\"\n[timer]\nquantum = 1e-6\nnoise = 0.1\nseed = 7\nthrottle = { after = 1.0, to = 0.5, within = 2.0 }\n";
        let silicon = Silicon::parse(text).expect("valid");
        let run = || {
            let mut clock = Clock::new(&silicon);
            (0..40).map(|_| clock.shows(&silicon.timer, Seconds(0.5)).0).collect::<Vec<f64>>()
        };
        let shown = run();
        assert_eq!(shown, run(), "the same seed");
        assert!(shown.iter().all(|s| (s * 1e6 - (s * 1e6).round()).abs() < 1e-6), "{shown:?}");
        assert!(shown[..2].iter().all(|&s| (0.5..0.55).contains(&s)) && shown[0] != shown[1], "{shown:?}");
        assert!(shown[39] > 0.98 && shown[39] < 1.1, "half the clock: {shown:?}");
        let mut exact = Clock::new(&Silicon::adreno640());
        assert!(Silicon::adreno640().timer.is_exact());
        assert_eq!(exact.shows(&Timer::default(), Seconds(0.123)), Seconds(0.123));
    }
}
