//! Units that several work-groups use at the same time, each getting an equal share, none more than it can take.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time and work, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ordered(pub f64);

impl Eq for Ordered {}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A unit. All its jobs progress alike, so that it is enough to know how far a job that was always there would be.
#[derive(Clone, Debug)]
pub struct Server {
    /// Work per second.
    capacity: f64,
    /// Work per second of one job at most.
    each: f64,
    /// Work that each job has had since the begin.
    level: f64,
    /// When that was.
    since: f64,
    /// Levels at which jobs are done, and whose they are.
    jobs: BinaryHeap<Reverse<(Ordered, usize)>>,
    /// Work done so far.
    done: f64,
}

impl Server {
    /// An idle one.
    pub fn new(capacity: f64, each: f64) -> Self {
        Self { capacity, each: each.min(capacity), level: 0.0, since: 0.0, jobs: BinaryHeap::new(), done: 0.0 }
    }

    fn share(&self) -> f64 {
        self.each.min(self.capacity / self.jobs.len().max(1) as f64)
    }

    /// Work per second now.
    pub fn rate(&self) -> f64 {
        self.share() * self.jobs.len() as f64
    }

    /// Work done until the last change.
    pub fn done(&self) -> f64 {
        self.done
    }

    fn proceed(&mut self, now: f64) {
        if !self.jobs.is_empty() {
            let more = (now - self.since) * self.share();
            self.level += more;
            self.done += more * self.jobs.len() as f64;
        }
        self.since = now;
    }

    /// Another job of so much work.
    pub fn start(&mut self, now: f64, work: f64, job: usize) {
        self.proceed(now);
        self.jobs.push(Reverse((Ordered(self.level + work), job)));
    }

    /// When the next job is done, if nothing changes.
    pub fn next(&self) -> Option<f64> {
        let Reverse((Ordered(level), _)) = self.jobs.peek()?;
        Some(self.since + ((level - self.level) / self.share()).max(0.0))
    }

    /// Takes the job that is done now.
    pub fn finish(&mut self, now: f64) -> Option<usize> {
        self.proceed(now);
        let Reverse((Ordered(level), job)) = self.jobs.pop()?;
        // What rounding left of it.
        self.level = self.level.max(level);
        if self.jobs.is_empty() {
            // Small numbers stay exact.
            self.level = 0.0;
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares change when jobs come and go.
    #[test]
    fn jobs_share() {
        let mut server = Server::new(10.0, 6.0);
        server.start(0.0, 12.0, 1);
        assert_eq!((server.next(), server.rate()), (Some(2.0), 6.0));
        // 6 are left of the first, each gets 5.
        server.start(1.0, 20.0, 2);
        assert_eq!(server.next(), Some(1.0 + 6.0 / 5.0));
        assert_eq!(server.finish(2.2), Some(1));
        // 14 are left of the second, alone at 6.
        let end = server.next().expect("a job");
        assert!((end - (2.2 + 14.0 / 6.0)).abs() < 1e-12, "{end}");
        assert_eq!(server.finish(end), Some(2));
        assert!((server.done() - 32.0).abs() < 1e-9);
        assert_eq!(server.next(), None);
    }
}
