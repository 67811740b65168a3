//! One dependent load after another, by one thread.

use super::sweep::Sweep;
use super::{Occupancy, buffer, count, int, word};
use crate::{Amounts, Check, Measurement, Parameters};
use warpsight_ir::Scalar;
use warpsight_run::{CacheState, Init, Job, LaunchSpec, Peek, Submit, TimingSpec, init};

/// Timed passes.
const RUNS: u32 = 5;
/// Slots that shared memory holds.
pub(crate) const SHARED_SLOTS: u32 = 2048;

/// What lies in the caches when the chase begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// What the pass before left.
    Itself,
    /// The whole footprint was read by all multiprocessors: it is in the second level as far as that holds it, and not in the first.
    Read,
    /// Nothing.
    Flushed,
}

/// A walk through slots in a random order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chase {
    /// In shared memory instead of global memory.
    pub(crate) shared: bool,
    pub(crate) slots: u32,
    /// Elements of 4 bytes between slots.
    pub(crate) stride: u32,
    pub(crate) steps: u32,
    pub(crate) before: Before,
    /// Multiprocessors.
    pub(crate) units: u32,
}

/// The slot after `slot`: [`init::successor`] within the next power of two, passing over what is no slot. Again a single cycle.
fn successor(slot: u32, slots: u32) -> u32 {
    let within = slots.next_power_of_two();
    let mut next = init::successor(slot, within);
    while next >= slots {
        next = init::successor(next, within);
    }
    next
}

impl Chase {
    fn elements(&self) -> u64 {
        u64::from(self.slots) * u64::from(self.stride)
    }
    fn bytes(&self) -> u64 {
        4 * self.elements()
    }
    fn contents(&self) -> Init {
        if self.slots.is_power_of_two() {
            return Init::Cycle { slots: self.slots, stride: self.stride };
        }
        let mut data = vec![0; self.bytes() as usize];
        for slot in 0..self.slots {
            let at = 4 * slot as usize * self.stride as usize;
            data[at..at + 4].copy_from_slice(&(successor(slot, self.slots) * self.stride).to_le_bytes());
        }
        Init::Data(data)
    }

    /// Reads everything, with every multiprocessor.
    fn reader(&self) -> Sweep {
        let occupancy = Occupancy { threads: 128, per_unit: 4, units: self.units };
        Sweep { level: "l2", element: Scalar::I32, width: 4, occupancy, footprint: self.bytes(), per_thread: 0 }
    }

    fn job(&self) -> Job {
        let text = if self.shared { SHARED } else { GLOBAL };
        let mut programs = vec![super::program(text, &[("slots", SHARED_SLOTS.to_string())]).into()];
        let mut memory = vec![buffer(self.bytes(), self.contents()), super::output(4)];
        let sizes = if self.shared { vec![self.steps.into()] } else { vec![self.elements() as i64, self.steps.into()] };
        let mut launches = vec![LaunchSpec { program: 0, args: vec![0, 1], sizes }];
        if self.before == Before::Read {
            let reader = self.reader();
            programs.push(reader.program().into());
            memory.push(buffer(reader.sums(), Init::Poison));
            launches.insert(0, LaunchSpec { program: 1, args: vec![0, 2], sizes: reader.covering() });
        }
        let cache = if self.before == Before::Flushed { CacheState::Flushed } else { CacheState::Warm };
        Job {
            programs,
            memory,
            launches,
            read: vec![],
            peek: vec![Peek { memory: 1, offsets: vec![0], bytes: 4 }],
            timing: Some(TimingSpec { runs: RUNS, submit: Submit::Eager, cache }),
        }
    }

    /// Takes the time of the walk.
    pub(crate) fn measurement(&self) -> Measurement {
        let job = self.job();
        let (space, before) = (
            if self.shared { "shared" } else { "global" },
            match self.before {
                Before::Itself => "warm",
                Before::Read => "read before",
                Before::Flushed => "flushed",
            },
        );
        let (steps, stride_bytes) = (self.steps, 4 * self.stride);
        Measurement {
            name: format!("{space} {} slots {stride_bytes} B {before}", self.slots),
            params: Parameters::from([
                ("space".into(), word(space)),
                ("bytes".into(), count(self.bytes())),
                ("slots".into(), int(self.slots)),
                ("stride_bytes".into(), int(stride_bytes)),
                ("steps".into(), int(steps)),
                ("cache".into(), word(before)),
            ]),
            launch: job.launches.len() - 1,
            job,
            amounts: Amounts { bytes: 4.0 * f64::from(steps), steps: steps.into(), ..Amounts::default() },
            check: self.check(),
        }
    }

    fn check(&self) -> Check {
        let this = *self;
        Box::new(move |result| {
            let end = result.peeked.first().and_then(|peeked| peeked.0.as_chunks::<4>().0.first()).ok_or("nothing came back")?;
            let end = u32::from_le_bytes(*end);
            let expected = (0..this.steps).fold(0, |slot, _| successor(slot, this.slots)) * this.stride;
            if end == expected { Ok(()) } else { Err(format!("{} steps end at {end}, not at {expected}", this.steps)) }
        })
    }
}

const GLOBAL: &str = "\
program chase {
  size n in 4..=2147483647
  size steps in 1..=2147483647
  read buffer next: i32[n]
  write buffer end: i32[1]
  lanes l = 1
  {
    var at: i32 = 0
    for i in 0..steps unroll 16 {
      at = next[at]
    }
    end[0] = at
  }
}
";

const SHARED: &str = "\
program chase_shared {
  size steps in 1..=2147483647
  read buffer next: i32[$slots]
  write buffer end: i32[1]
  local kept: i32[$slots]
  lanes l = 32
  {
    for i in 0..$slots / 32 unroll none {
      kept[i * 32 + l] = next[i * 32 + l]
    }
    barrier group local
    if l == 0 {
      var at: i32 = 0
      for i in 0..steps unroll 16 {
        at = kept[at]
      }
      end[0] = at
    }
  }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_slots_is_one_cycle() {
        for slots in [4, 5, 6, 7, 96, 1000] {
            let mut slot = 0;
            for step in 1..=slots {
                slot = successor(slot, slots);
                assert_eq!(slot == 0, step == slots, "{step} of {slots}");
            }
        }
    }
}
