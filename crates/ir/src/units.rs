//! Units as types: a kHz cannot be taken for a MHz, nor bytes for elements.
//!
//! Each unit is a transparent `f64`. Only the products and quotients that mean something exist. In text formats a quantity is a number
//! in base units, or text of a number and a unit: `20971520`, `"20 MiB"`.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Defines a unit with the arithmetic that every quantity has: sums, differences, scaling and ratios of its own kind.
macro_rules! unit {
    ($(#[$doc:meta])* $name:ident, $like:literal, $($unit:literal = $factor:literal)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                // Formats without types of their own hold the number.
                if !from.is_human_readable() {
                    return f64::deserialize(from).map(Self);
                }
                from.deserialize_any(Quantity { units: &[$(($unit, $factor)),*], like: $like }).map(Self)
            }
        }
        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0.0);
            /// The larger of the two.
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }
            /// The smaller of the two.
            pub fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }
        }
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }
        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                Self(items.map(|item| item.0).sum())
            }
        }
    };
}

/// Reads a number, or text of a number and one of these units.
struct Quantity {
    units: &'static [(&'static str, f64)],
    like: &'static str,
}

impl Visitor<'_> for Quantity {
    type Value = f64;
    fn expecting(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str(self.like)
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        let with = |&(unit, factor): &(&str, f64)| Some(text.trim().strip_suffix(unit)?.trim_end().parse::<f64>().ok()? * factor);
        self.units.iter().find_map(with).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

unit!(
    /// An amount of memory or traffic.
    Bytes,
    "a number of bytes, or as in 40MB or 20 MiB",
    "B" = 1.0 "kB" = 1e3 "KB" = 1e3 "MB" = 1e6 "GB" = 1e9 "TB" = 1e12 "KiB" = 1_024.0 "MiB" = 1_048_576.0 "GiB" = 1_073_741_824.0
);
unit!(
    /// A duration.
    Seconds,
    "a number of seconds, or as in 2.5us",
    "s" = 1.0 "ms" = 1e-3 "us" = 1e-6 "µs" = 1e-6 "ns" = 1e-9
);
unit!(
    /// Clock periods; a [`Hertz`] turns them into [`Seconds`].
    Cycles,
    "a number of cycles, or as in 213 cycles",
    "cycles" = 1.0 "cycle" = 1.0
);
unit!(
    /// A clock rate.
    Hertz,
    "a number of hertz, or as in 1.41GHz",
    "Hz" = 1.0 "kHz" = 1e3 "MHz" = 1e6 "GHz" = 1e9
);
unit!(
    /// A bandwidth.
    BytesPerSecond,
    "a number of bytes per second, or as in 1.4TB/s",
    "B/s" = 1.0 "kB/s" = 1e3 "KB/s" = 1e3 "MB/s" = 1e6 "GB/s" = 1e9 "TB/s" = 1e12 "KiB/s" = 1_024.0 "MiB/s" = 1_048_576.0 "GiB/s" = 1_073_741_824.0
);
unit!(
    /// Floating-point operations; a fused multiply-add counts as two.
    Flops,
    "a number of operations",

);
unit!(
    /// A rate of floating-point operations.
    FlopsPerSecond,
    "a number of operations per second, or as in 9.7 TFLOP/s",
    "FLOP/s" = 1.0 "GFLOP/s" = 1e9 "TFLOP/s" = 1e12
);

impl Div<Seconds> for Bytes {
    type Output = BytesPerSecond;
    fn div(self, time: Seconds) -> BytesPerSecond {
        BytesPerSecond(self.0 / time.0)
    }
}
impl Div<BytesPerSecond> for Bytes {
    type Output = Seconds;
    fn div(self, rate: BytesPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}
impl Div<Hertz> for Cycles {
    type Output = Seconds;
    fn div(self, clock: Hertz) -> Seconds {
        Seconds(self.0 / clock.0)
    }
}
impl Mul<Hertz> for Seconds {
    type Output = Cycles;
    fn mul(self, clock: Hertz) -> Cycles {
        Cycles(self.0 * clock.0)
    }
}
impl Div<FlopsPerSecond> for Flops {
    type Output = Seconds;
    fn div(self, rate: FlopsPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}
impl Div<Seconds> for Flops {
    type Output = FlopsPerSecond;
    fn div(self, time: Seconds) -> FlopsPerSecond {
        FlopsPerSecond(self.0 / time.0)
    }
}
