//! Kernels whose threads add up what they load, and the check of their sums.

use super::{Sum, element_of, numbers, sample};
use crate::Check;
use warpsight_ir::Scalar;
use warpsight_run::{JobResult, Peek};

/// Threads whose sums are compared.
const CHECKED: usize = 8;

/// What a thread of such a kernel adds: `slots` sums of its own, each of `width` lanes, which it adds up in order at the end.
pub(crate) struct Reduction {
    pub(crate) element: Scalar,
    pub(crate) width: u32,
    pub(crate) slots: u32,
    /// Turns of the loop; each adds one vector to every slot.
    pub(crate) turns: u64,
    pub(crate) all_threads: u64,
    /// Seed of the memory that is read.
    pub(crate) seed: u64,
}

/// A turn of a thread's loop: where each slot's vector begins, in elements of the memory that is read.
pub(crate) type Address = Box<dyn Fn(u64, u64, u32) -> u64 + Send>;

impl Reduction {
    /// The sums of a few threads, which lie in memory `position` in order of threads.
    pub(crate) fn peek(&self, position: usize) -> Peek {
        let bytes = self.width * self.element.bytes();
        Peek { memory: position, offsets: self.checked().iter().map(|thread| thread * u64::from(bytes)).collect(), bytes }
    }

    fn checked(&self) -> Vec<u64> {
        sample(self.all_threads, CHECKED, self.seed)
    }

    /// Compares the sums of [`Self::peek`], the job's first; `address(thread, turn, slot)` is the reference's own idea of what is read.
    pub(crate) fn check(self, address: Address) -> Check {
        Box::new(move |result: &JobResult| {
            let peeked = result.peeked.first().ok_or("nothing came back")?;
            let sums = numbers(self.element, peeked);
            let threads = self.checked();
            if sums.len() != threads.len() * self.width as usize {
                return Err(format!("{} sums came back for {} threads", sums.len(), threads.len()));
            }
            for (thread, sums) in threads.iter().zip(sums.chunks(self.width as usize)) {
                for (lane, &sum) in sums.iter().enumerate() {
                    let expected = self.reference(*thread, lane as u64, &address);
                    if !expected.admits(sum) {
                        return Err(format!(
                            "thread {thread}, lane {lane}: the sum is {sum}, not {} ± {:.1e}",
                            expected.value, expected.error
                        ));
                    }
                }
            }
            Ok(())
        })
    }

    fn reference(&self, thread: u64, lane: u64, address: &Address) -> Sum {
        let mut total = Sum::new(self.element);
        for slot in 0..self.slots {
            let mut sum = Sum::new(self.element);
            for turn in 0..self.turns {
                sum.add(element_of(self.element, self.seed, address(thread, turn, slot) + lane), 0.0);
            }
            total.add(sum.value, sum.error);
        }
        total
    }
}

/// Independent loads and sums of a thread, at most `most`: as many as 32 bytes hold. With what is being loaded beside the sums that is 16
/// registers, so that with addresses and counters a thread stays within the 32 that it has where 64 warps share a multiprocessor's 65536.
pub(crate) fn slots(element: Scalar, width: u32, most: u32) -> u32 {
    (32 / (width * element.bytes())).clamp(1, most)
}

/// The statements that declare the slots, `s0` to `s{slots−1}`.
pub(crate) fn declare(element: Scalar, width: u32, slots: u32) -> String {
    let zero = match element {
        Scalar::F64 => "0.0d",
        Scalar::F32 => "0.0",
        _ => "0",
    };
    super::lines(slots, |j| match width {
        1 => format!("var s{j}: {} = {zero}", element.name()),
        _ => format!("var s{j}: {}x{width} = splat{width}({zero})", element.name()),
    })
}

/// The sum of the slots, in order.
pub(crate) fn total(slots: u32) -> String {
    (0..slots).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + ")
}
