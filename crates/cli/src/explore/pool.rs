//! Work that threads share, its results in order.

use crate::failure::Failure;
use std::sync::atomic::{AtomicU64, Ordering};

/// Results that are held at once.
const ROUND: u64 = 4096;
/// The most pieces of work that a thread takes at once.
const PIECE: u64 = 32;

/// Calls `work` for each number below `len` on so many threads, and `take` with each result in order. A round of results is held at a time:
/// memory does not grow with `len`, nor do results depend on the number of threads.
pub fn each<T: Send>(
    len: u64,
    threads: usize,
    work: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(u64, T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut begin = 0;
    while begin < len {
        let end = len.min(begin + ROUND);
        let next = AtomicU64::new(begin);
        // Where there are few, all threads have some.
        let piece = PIECE.min((end - begin).div_ceil(8 * threads.max(1) as u64));
        let pieces = || {
            let mut done = Vec::new();
            loop {
                let start = next.fetch_add(piece, Ordering::Relaxed);
                if start >= end {
                    return done;
                }
                done.push((start, (start..end.min(start + piece)).map(&work).collect::<Vec<T>>()));
            }
        };
        let mut done = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(pieces)).collect();
            let own = pieces();
            let joined = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.fold(own, |mut all, more| {
                all.extend(more);
                all
            })
        });
        done.sort_unstable_by_key(|piece| piece.0);
        for (start, results) in done {
            for (index, result) in (start..).zip(results) {
                take(index, result)?;
            }
        }
        begin = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Kind;

    #[test]
    fn results_come_in_order_whoever_made_them() {
        for threads in [1, 2, 5] {
            for len in [0, 1, PIECE, ROUND - 1, 2 * ROUND + PIECE + 1] {
                let mut expected = 0;
                each(
                    len,
                    threads,
                    |index| index * index,
                    |index, square| {
                        assert_eq!((index, square), (expected, index * index));
                        expected += 1;
                        Ok(())
                    },
                )
                .unwrap();
                assert_eq!(expected, len);
            }
        }
    }

    #[test]
    fn the_first_failure_ends_it() {
        let mut taken = 0;
        let ended = each(
            10 * ROUND,
            2,
            |index| index,
            |index, _| {
                taken += 1;
                if index == 5 { Err(Failure::new(Kind::Interrupted, "enough")) } else { Ok(()) }
            },
        );
        assert_eq!((ended.unwrap_err().kind, taken), (Kind::Interrupted, 6));
    }
}
