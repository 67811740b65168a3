//! Sets of integers as sorted lists of intervals: what one coordinate takes over all lanes, blocks and trips.

use smallvec::{SmallVec, smallvec};

/// Disjoint half-open intervals in ascending order, none touching the next.
#[derive(Clone, Debug, Default, Eq)]
pub struct Intervals(SmallVec<[(i64, i64); 2]>);

impl PartialEq for Intervals {
    fn eq(&self, other: &Self) -> bool {
        // Sets of one or two intervals, compared by the million: no call of memcmp.
        let (own, other) = (self.as_slice(), other.as_slice());
        own.len() == other.len() && own.iter().zip(other).all(|(a, b)| a.0 == b.0 && a.1 == b.1)
    }
}

impl Intervals {
    /// One integer.
    pub fn point(value: i64) -> Self {
        Self::range(value, value + 1)
    }

    /// `lo ≤ i < hi`.
    pub fn range(lo: i64, hi: i64) -> Self {
        if lo < hi { Self(smallvec![(lo, hi)]) } else { Self::default() }
    }

    /// The intervals.
    pub fn as_slice(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// Smallest and largest member; `None` of the empty set.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        Some((self.0.first()?.0, self.0.last()?.1 - 1))
    }

    /// Adds an interval.
    pub fn insert(&mut self, lo: i64, hi: i64) {
        match self.0.last_mut() {
            // The common case: intervals arrive in order.
            Some(last) if last.0 <= lo && lo <= last.1 => last.1 = last.1.max(hi),
            Some(last) if last.1 < lo => self.0.push((lo, hi)),
            None => self.0.push((lo, hi)),
            Some(_) => {
                self.0.push((lo, hi));
                self.normalise();
            }
        }
    }

    /// How many integers.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(lo, hi)| hi.abs_diff(*lo)).sum()
    }

    /// All sums of a member and `0, step, …, (count − 1)·step`.
    pub fn plus_progression(&self, step: i64, count: i64) -> Self {
        if count <= 1 || step == 0 {
            return self.clone();
        }
        let (step, base) = if step < 0 { (-step, step * (count - 1)) } else { (step, 0) };
        let mut sum = Self::default();
        if step > self.span() {
            // Each is behind all of the one before.
            sum.0.extend((0..count).flat_map(|k| self.0.iter().map(move |&(lo, hi)| (lo + base + k * step, hi + base + k * step))));
            return sum;
        }
        for &(lo, hi) in &self.0 {
            if step <= hi - lo {
                sum.0.push((lo + base, hi + base + step * (count - 1)));
            } else {
                sum.0.extend((0..count).map(|k| (lo + base + k * step, hi + base + k * step)));
            }
        }
        sum.normalise();
        sum
    }

    /// All sums of a member of each.
    pub fn sum(&self, other: &Self) -> Self {
        if let ([(lo, hi)], [(a, b)]) = (self.as_slice(), other.as_slice()) {
            return Self(smallvec![(lo + a, hi + b - 1)]);
        }
        let mut sum = Self::default();
        // One interval moves the many of the other in order.
        let (many, few) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        if let &[(a, b)] = few.as_slice() {
            many.0.iter().for_each(|&(lo, hi)| sum.append(lo + a, hi + b - 1));
            return sum;
        }
        // Where those of one are farther apart than all of the other, in order.
        let (far, near) = if self.span() < other.span() { (other, self) } else { (self, other) };
        for &(lo, hi) in &far.0 {
            sum.0.extend(near.0.iter().map(|&(a, b)| (lo + a, hi + b - 1)));
        }
        sum.normalise();
        sum
    }

    /// From the first member to the last, and one.
    fn span(&self) -> i64 {
        self.0.last().map_or(0, |last| last.1 - self.0[0].0)
    }

    /// Adds an interval that begins no earlier than the last.
    fn append(&mut self, lo: i64, hi: i64) {
        match self.0.last_mut() {
            Some(last) if lo <= last.1 => last.1 = last.1.max(hi),
            _ => self.0.push((lo, hi)),
        }
    }

    /// Adds every member of another set.
    pub fn join(&mut self, other: &Self) {
        if let &[(lo, hi)] = other.as_slice() {
            return self.insert(lo, hi);
        }
        // Both are in order.
        let mut all = Self(SmallVec::with_capacity(self.0.len() + other.0.len()));
        let mut others = other.0.iter().peekable();
        for &(lo, hi) in &self.0 {
            while let Some(&(a, b)) = others.next_if(|other| other.0 < lo) {
                all.append(a, b);
            }
            all.append(lo, hi);
        }
        others.for_each(|&(a, b)| all.append(a, b));
        *self = all;
    }

    /// Whether it has every member of another set.
    pub fn holds(&self, other: &Self) -> bool {
        let mut own = self.0.iter().peekable();
        other.0.iter().all(|&(lo, hi)| {
            while own.next_if(|own| own.1 < hi).is_some() {}
            own.peek().is_some_and(|own| own.0 <= lo)
        })
    }

    /// Every member plus `by`.
    pub fn shifted(&self, by: i64) -> Self {
        let mut shifted = self.clone();
        shifted.0.iter_mut().for_each(|(lo, hi)| (*lo, *hi) = (*lo + by, *hi + by));
        shifted
    }

    /// The members in `lo ≤ i < hi`.
    pub fn clipped(&self, lo: i64, hi: i64) -> Self {
        Self(self.0.iter().map(|&(a, b)| (a.max(lo), b.min(hi))).filter(|(a, b)| a < b).collect())
    }

    fn normalise(&mut self) {
        if self.0.windows(2).all(|pair| pair[0].1 < pair[1].0) {
            return;
        }
        self.0.sort_unstable();
        let mut kept = 0;
        for i in 1..self.0.len() {
            if self.0[i].0 <= self.0[kept].1 {
                self.0[kept].1 = self.0[kept].1.max(self.0[i].1);
            } else {
                kept += 1;
                self.0[kept] = self.0[i];
            }
        }
        self.0.truncate(kept + 1);
    }
}

/// How many integers closed intervals hold together; `spans` is sorted.
pub fn covered(spans: &[(i64, i64)]) -> u64 {
    let (mut last, mut count) = (i64::MIN, 0);
    for &(lo, hi) in spans {
        let lo = lo.max(last.saturating_add(1));
        if hi >= lo {
            count += hi.abs_diff(lo) + 1;
            last = hi;
        }
    }
    count
}

pub(in crate::volumes) fn gcd(a: i64, b: i64) -> i64 {
    warpsight_ir::range::gcd(a, b).abs()
}

pub(in crate::volumes) fn lcm(a: i64, b: i64) -> i64 {
    a / gcd(a, b).max(1) * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn members(set: &Intervals) -> BTreeSet<i64> {
        set.as_slice().iter().flat_map(|&(lo, hi)| lo..hi).collect()
    }

    #[test]
    fn sums_and_clips_equal_sets_of_integers() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let mut set = Intervals::default();
            let mut expected = BTreeSet::new();
            for _ in 0..rng.usize(1..4) {
                let (lo, length) = (rng.i64(-20..20), rng.i64(1..6));
                set.insert(lo, lo + length);
                expected.extend(lo..lo + length);
            }
            assert_eq!(members(&set), expected);
            let (step, count) = (rng.i64(-7..8), rng.i64(1..6));
            let sum = set.plus_progression(step, count);
            let expected: BTreeSet<i64> = expected.iter().flat_map(|v| (0..count).map(move |k| v + k * step)).collect();
            assert_eq!(members(&sum), expected, "{set:?} + {step} · 0..{count}");
            assert!(sum.as_slice().windows(2).all(|pair| pair[0].1 < pair[1].0), "{sum:?}");
            assert_eq!(sum.count(), expected.len() as u64);
            let clipped = sum.clipped(-5, 9);
            assert_eq!(members(&clipped), expected.iter().copied().filter(|v| (-5..9).contains(v)).collect());
            let mut joined = set.clone();
            joined.join(&clipped);
            assert_eq!(members(&joined), members(&set).union(&members(&clipped)).copied().collect());
            assert!(joined.holds(&set) && joined.holds(&clipped));
            assert_eq!(clipped.holds(&set), members(&set).is_subset(&members(&clipped)), "{clipped:?} {set:?}");
            let pairs = members(&set).into_iter().flat_map(|a| members(&clipped).into_iter().map(move |b| a + b));
            assert_eq!(members(&set.sum(&clipped)), pairs.collect());
        }
    }
}
