//! How much of what is written out in a text compilers write out.

/// Trips and points that compilers write out: the limit for pragmas of LLVM is 16,384 instructions, taken to be seven a tap. clang 15 has 3,375 taps of
/// such a kernel within it (16: 2,700, more were not tried), and 3,600 not.
const WRITTEN_OUT: i64 = 2340;

/// Times, of trips and points, that are written out one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) times: u32,
    /// Whether these are all.
    pub(super) whole: bool,
}

impl Run {
    /// Of the points of a work-item and the trips of loops, the outermost first. Beyond [`WRITTEN_OUT`] the outermost loop stays one, and each of its
    /// trips has as many of the text as divide these (LLVM, LoopUnrollPass.cpp: computeUnrollCount).
    pub(super) fn of(points: &[i64], trips: &[i64]) -> Self {
        let all: i64 = points.iter().chain(trips).product();
        let outermost = trips.iter().copied().find(|&trips| trips > 1).unwrap_or(1);
        let body = all / outermost;
        let part = (1..=outermost).rev().find(|part| outermost % part == 0 && part * body <= WRITTEN_OUT).unwrap_or(1);
        Self { times: (part * body) as u32, whole: part == outermost }
    }
}

#[cfg(test)]
mod tests {
    use super::Run;

    #[test]
    fn the_outermost_loop_stays_one_beyond_the_limit() {
        assert_eq!(Run::of(&[3, 3], &[15, 15]), Run { times: 2025, whole: true });
        // 3,600 taps: 5 of 15 trips, of 240 taps, as clang 15 has it.
        assert_eq!(Run::of(&[4, 4], &[1, 15, 15]), Run { times: 1200, whole: false });
        assert_eq!(Run::of(&[4000], &[3]), Run { times: 4000, whole: false });
        assert_eq!(Run::of(&[2], &[]), Run { times: 2, whole: true });
    }
}
