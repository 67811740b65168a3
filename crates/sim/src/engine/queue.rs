//! Waves that wait for their turn.

use crate::timing::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Waves by the time they may go on; of those that may at once, the one that entered first goes first.
#[derive(Debug, Default)]
pub struct Queue {
    /// Each as one number: from the highest bits on its time, how many entered before it (fewer than 2^40, which `limits.steps` does not
    /// exceed), and itself.
    waves: BinaryHeap<Reverse<u128>>,
    entered: u128,
}

/// Bits of a wave's number: a GPU has at most 4096 cores with 4096 waves each.
const WAVE: u32 = 24;

impl Queue {
    fn key(&mut self, time: Time, wave: usize) -> Reverse<u128> {
        self.entered += 1;
        Reverse(u128::from(time) << 64 | self.entered << WAVE | wave as u128)
    }

    /// A wave that may go on at `time` enters.
    pub fn enter(&mut self, time: Time, wave: usize) {
        let key = self.key(time, wave);
        self.waves.push(key);
    }

    /// Takes the wave whose turn it is.
    pub fn take(&mut self) -> Option<usize> {
        self.waves.pop().map(|key| wave(&key))
    }

    /// The same after a wave entered.
    pub fn exchange(&mut self, time: Time, entering: usize) -> usize {
        let key = self.key(time, entering);
        match self.waves.peek_mut() {
            Some(mut first) if key < *first => wave(&std::mem::replace(&mut first, key)),
            _ => entering,
        }
    }

    /// Whether there is a wave that may go on before `time`.
    #[inline]
    pub fn precedes(&self, time: Time) -> bool {
        self.waves.peek().is_some_and(|Reverse(key)| ((key >> 64) as Time) < time)
    }
}

fn wave(Reverse(key): &Reverse<u128>) -> usize {
    *key as usize & ((1 << WAVE) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_go_on_by_time_and_then_by_entry() {
        let mut queue = Queue::default();
        assert_eq!(queue.exchange(7, 3), 3, "alone");
        for (time, wave) in [(9, 1), (5, 4), (9, 0), (5, 2)] {
            queue.enter(time, wave);
        }
        assert!(queue.precedes(6) && !queue.precedes(5));
        assert_eq!(queue.exchange(4, 6), 6, "earlier than all");
        assert_eq!(queue.exchange(5, 6), 4, "after those of the same time");
        let rest: Vec<usize> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(rest, [2, 6, 1, 0]);
    }
}
