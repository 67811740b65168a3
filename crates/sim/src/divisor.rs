//! Division by numbers that stay the same, which are mostly powers of two.

/// What is divided by.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    by: u64,
    /// Where it is a power of two.
    shift: Option<u32>,
}

impl Divisor {
    /// By this, at least 1.
    pub fn new(by: u64) -> Self {
        let by = by.max(1);
        Self { by, shift: by.is_power_of_two().then(|| by.trailing_zeros()) }
    }

    /// The divisor.
    #[inline]
    pub fn get(self) -> u64 {
        self.by
    }

    /// The whole quotient.
    #[inline]
    pub fn of(self, number: u64) -> u64 {
        match self.shift {
            Some(shift) => number >> shift,
            None => number / self.by,
        }
    }

    /// What is left.
    #[inline]
    pub fn rest(self, number: u64) -> u64 {
        match self.shift {
            Some(_) => number & (self.by - 1),
            None => number % self.by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_and_rests_are_those_of_division() {
        for by in [1, 2, 3, 24, 64, 1 << 40] {
            let divisor = Divisor::new(by);
            for number in [0, 1, 63, 64, 65, 12_345_678_901, u64::MAX] {
                assert_eq!((divisor.of(number), divisor.rest(number)), (number / by, number % by), "{number} by {by}");
            }
        }
    }
}
