//! Clocks of the device as NVML tells them. They are read, never set.

use crate::ClockState;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

/// NVML, where it is there and knows the device.
pub(crate) struct Clocks {
    nvml: Option<Nvml>,
    uuid: String,
}

impl Clocks {
    /// For the device with this identifier; `None` for a stand-in, which has no clocks to read.
    pub(crate) fn new(uuid: Option<&String>) -> Self {
        // Drivers come with the library's name of version 1 only; the name without is a toolkit's.
        let load = || Nvml::builder().lib_path("libnvidia-ml.so.1".as_ref()).init().or_else(|_| Nvml::init()).ok();
        Self { nvml: uuid.and_then(|_| load()), uuid: uuid.cloned().unwrap_or_default() }
    }

    /// As they are now; `None` where nobody tells.
    pub(crate) fn now(&self) -> Option<ClockState> {
        let device = self.nvml.as_ref()?.device_by_uuid(self.uuid.as_str()).ok()?;
        Some(ClockState {
            sm_mhz: device.clock_info(Clock::SM).ok(),
            memory_mhz: device.clock_info(Clock::Memory).ok(),
            temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
            power_mw: device.power_usage().ok(),
            throttle: device.current_throttle_reasons().map(reasons).unwrap_or_default(),
        })
    }
}

/// The names of reasons, lower case. An idle device holds its clocks down, too, but nothing forces it to.
fn reasons(reasons: ThrottleReasons) -> Vec<String> {
    (reasons - ThrottleReasons::GPU_IDLE).iter_names().map(|(name, _)| name.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_names() {
        let both = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN | ThrottleReasons::GPU_IDLE;
        assert_eq!(reasons(both), ["sw_power_cap", "hw_thermal_slowdown"]);
        assert!(reasons(ThrottleReasons::GPU_IDLE).is_empty());
        assert_eq!(Clocks::new(None).now(), None);
    }
}
