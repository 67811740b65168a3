//! How many distinct pieces of memory draws are expected to fall into.

/// Distinct pieces that so many draws fall into, each anywhere in a window of `width` pieces, the windows being moved evenly over `span` pieces:
/// by 0, and all draw from the same.
pub fn distinct(draws: f64, span: f64, width: f64) -> f64 {
    /// Steps in which draws grow dense, and thin again, at both ends.
    const STEPS: u32 = 16;
    if draws <= 0.0 {
        return 0.0;
    }
    let width = width.max(1.0);
    if span <= 0.0 {
        return width * (1.0 - (1.0 - 1.0 / width).powf(draws));
    }
    let (long, short) = (width.max(span), width.min(span));
    // Windows over a piece where they lie densest; each is used for it with a probability of 1 / width.
    let windows = draws * width / long;
    let hit = |windows: f64| if windows < 1.0 { windows / width } else { 1.0 - (1.0 - 1.0 / width).powf(windows) };
    let ends: f64 = (0..STEPS).map(|i| hit(windows * (f64::from(i) + 0.5) / f64::from(STEPS))).sum::<f64>() / f64::from(STEPS);
    ((long - short) * hit(windows) + 2.0 * short * ends).min(draws)
}

/// Distinct pieces of draws that ascend by `gap` pieces from one to the next on average, as a random sample does; so many samples.
pub fn ascending(draws: f64, gap: f64, samples: f64) -> f64 {
    if draws < 1.0 || gap <= 0.0 {
        return draws.min(1.0);
    }
    1.0 + (draws - 1.0) * gap * (1.0 - (-samples / gap).exp())
}

/// Draws of one access from a universe of pieces, and what each step of a launch adds to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawing {
    /// Distinct pieces of a step.
    pub step: f64,
    /// Pieces that a step may fall into.
    pub universe: f64,
    /// Bytes that a cache holds for each.
    pub bytes: f64,
}

impl Drawing {
    /// The part of a step's pieces that the steps before it have touched, so many of them.
    pub fn met(&self, steps: f64) -> f64 {
        self.touched(steps) / self.universe.max(self.step).max(1.0)
    }

    /// Pieces that so many steps touch.
    fn touched(&self, steps: f64) -> f64 {
        let universe = self.universe.max(self.step).max(1.0);
        // A step that touches all of them does so over its course: of a part of it a part is touched.
        universe * (1.0 - (1.0 - self.step / universe).max(1e-6).powf(steps))
    }
}

/// For how many steps a cache of `capacity` bytes holds what these touch, where each step brings `stream` bytes besides that are not asked for
/// again: as many as touch the capacity (Che, Tung and Wang, "Hierarchical Web Caching Systems", 2002, for caches that let go of what was
/// used least recently).
pub fn stays(capacity: f64, stream: f64, drawings: &[Drawing]) -> f64 {
    let filled = |steps: f64| stream * steps + drawings.iter().map(|own| own.touched(steps) * own.bytes).sum::<f64>();
    let (mut lo, mut hi) = (0.0, 1.0);
    while filled(hi) < capacity && hi < 1e15 {
        hi *= 2.0;
    }
    for _ in 0..60 {
        let middle = (lo + hi) / 2.0;
        *(if filled(middle) < capacity { &mut lo } else { &mut hi }) = middle;
    }
    lo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_ends() {
        assert!((distinct(1.0, 0.0, 100.0) - 1.0).abs() < 1e-9);
        assert!((distinct(1e6, 0.0, 100.0) - 100.0).abs() < 1e-9);
        // Windows of one piece, one after the other: all of them. Far apart: as many as draws.
        assert!((distinct(64.0, 64.0, 1.0) - 64.0).abs() < 2.0);
        assert!((distinct(32.0, 3200.0, 1.0) - 32.0).abs() < 1.0);
        assert!((ascending(1000.0, 100.0, 1.0) - 995.0).abs() < 1.0);
        assert!((ascending(1000.0, 0.01, 1.0) - 11.0).abs() < 0.1);
    }

    #[test]
    fn a_cache_holds_its_share_of_what_is_drawn_at_random() {
        let drawing = Drawing { step: 10.0, universe: 1e5, bytes: 32.0 };
        let one = |capacity: f64, stream: f64| drawing.met(stays(capacity, stream, &[drawing]));
        assert!((one(1.6e6, 0.0) - 0.5).abs() < 1e-3, "{}", one(1.6e6, 0.0));
        assert!(one(1e9, 0.0) > 0.999);
        assert!(one(1.6e6, 320.0) < 0.4, "a stream takes its part");
        let whole = Drawing { step: 1e5, ..drawing };
        assert!((whole.met(stays(1.6e6, 0.0, &[whole])) - 0.5).abs() < 1e-3, "steps that touch all of them");
    }
}
