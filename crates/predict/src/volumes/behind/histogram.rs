//! How many lines are met again, by after how many launched blocks.

/// Lines by the gap between one touch and the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaps {
    /// Lines, and lines times gap. Buckets are a sixteenth to a thirty-second of an octave wide.
    buckets: Vec<(f64, f64)>,
}

impl Gaps {
    /// Adds lines that are met again after so many blocks.
    #[inline]
    pub fn add(&mut self, gap: u64, lines: f64) {
        // Four bits after the leading one.
        let octave = gap.max(1).ilog2().saturating_sub(4);
        let bucket = 16 * octave as usize + (gap >> octave) as usize;
        if self.buckets.len() <= bucket {
            self.longer(bucket);
        }
        let (sum, weighted) = &mut self.buckets[bucket];
        *sum += lines;
        *weighted += lines * gap as f64;
    }

    /// Seldom: by many octaves at once.
    #[cold]
    #[inline(never)]
    fn longer(&mut self, bucket: usize) {
        self.buckets.resize((bucket + 1).next_multiple_of(256), (0.0, 0.0));
    }

    /// By bucket: its number, mean gap, lines.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.0 != 0.0);
        filled.map(|(i, &(lines, weighted))| (i, weighted / lines, lines))
    }
}
