//! Units as types: a kHz cannot be taken for a MHz, nor bytes for elements.
//! .
//! Each unit is a transparent `f64`. Only the products and quotients that mean something exist.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Defines a unit with the arithmetic that every quantity has: sums, differences, scaling and ratios of its own kind.
macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

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

unit!(
    /// An amount of memory or traffic.
    Bytes
);
unit!(
    /// A duration.
    Seconds
);
unit!(
    /// Clock periods; a [`Hertz`] turns them into [`Seconds`].
    Cycles
);
unit!(
    /// A clock rate.
    Hertz
);
unit!(
    /// A bandwidth.
    BytesPerSecond
);
unit!(
    /// Floating-point operations; a fused multiply-add counts as two.
    Flops
);
unit!(
    /// A rate of floating-point operations.
    FlopsPerSecond
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
