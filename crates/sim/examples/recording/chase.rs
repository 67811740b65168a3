//! Walks through rings: each step's address is what the step before loaded.

use crate::shared::checked;
use std::collections::BTreeMap;
use warpsight_ir::{Bindings, Checked};
use warpsight_sim::{SimFault, Simulator};

/// Bytes of an element: four words, the first of which says where the next one is.
pub const ELEMENT: u64 = 16;

/// A ring of so many elements, walked by one work-item in steps of so many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ring {
    /// In an image of one row instead of a buffer.
    pub image: bool,
    /// Elements.
    pub slots: u64,
    /// Elements from one to the next.
    pub stride: u64,
}

const PROGRAM: &str = "\
program walk {
  size slots in 1..=16777216
  size steps in 1..=2147483647
  read RING
  write buffer end: i32[1]
  lanes l = 1
  {
    var at: i32 = 0
    for n in 0..steps unroll none {
      LOAD
    }
    end[0] = at
  }
}
";

impl Ring {
    fn program(&self) -> Checked {
        let (ring, load) = match self.image {
            true => ("image1d ring: rgba32i[slots]", "let texel = ring@[at]\n at = texel.[0..1]"),
            false => ("buffer ring: i32[slots * 4]", "at = ring[at]"),
        };
        checked(&PROGRAM.replace("RING", ring).replace("LOAD", load))
    }

    /// Steps until the walk is where it was.
    fn period(&self) -> u64 {
        let (mut a, mut b) = (self.slots, self.stride % self.slots);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        self.slots / a
    }

    /// Seconds of a launch of each of these numbers of steps, on what the one before left in the second level.
    fn launches(&self, simulator: &Simulator, steps: &[u64]) -> Result<Vec<f64>, SimFault> {
        let words = |slot: u64| if self.image { slot } else { slot * 4 };
        let next = |slot: u64| words((slot + self.stride) % self.slots) as u32;
        let data: Vec<u8> = (0..self.slots).flat_map(|slot| [next(slot), 0, 0, 0]).flat_map(u32::to_le_bytes).collect();
        let (program, mut caches) = (self.program(), simulator.caches());
        let mut bindings = Bindings { sizes: BTreeMap::new(), data: vec![data, vec![0; 4]] };
        let mut launch = |&steps: &u64| {
            bindings.sizes = [("slots".into(), self.slots as i64), ("steps".into(), steps as i64)].into();
            Ok(simulator.simulate_in(&program, &mut bindings, &mut caches, None)?.time.0)
        };
        steps.iter().map(&mut launch).collect()
    }

    /// Seconds of a launch of `steps`, after one that warmed the second level: the long way.
    ///
    /// # Errors
    /// What the simulator refuses.
    pub fn walked(&self, simulator: &Simulator, steps: u64) -> Result<f64, SimFault> {
        Ok(self.launches(simulator, &[2 * self.period(), steps])?[1])
    }

    /// The same from the periodic state. After two rounds caches that forget what was not used for longest hold the same at the same
    /// place of each round, so that every further round takes what the third did.
    ///
    /// # Errors
    /// What the simulator refuses.
    pub fn extrapolated(&self, simulator: &Simulator, steps: u64) -> Result<f64, SimFault> {
        let round = self.period();
        if steps <= 4 * round {
            return self.walked(simulator, steps);
        }
        let short = 2 * round + steps % round;
        let times = self.launches(simulator, &[2 * round, short, short + round])?;
        Ok(times[1] + (times[2] - times[1]) * ((steps - short) / round) as f64)
    }
}
