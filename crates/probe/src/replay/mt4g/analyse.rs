//! What the chases of a recording show, memory by memory.

use super::size::Place;
use super::{Kind, MEMORIES, Recording, curves, fetch, line, size};
use crate::Findings;
use crate::fit::steps::quantile;
use warpsight_ir::profile::{Fact, Source};

/// Keys of memories that a program sees as wholes: only their latency is asked for.
const WHOLE: [&str; 2] = ["dram", "local"];

/// What a recording shows: `capacity_bytes`, `line_bytes`, `fetch_bytes` and `latency_cycles` of each memory it looks at, known or unknown
/// with the reason; a curve for each file. Latencies are in cycles of the device's clock, which is not recorded.
pub fn analyse(recording: &Recording) -> Findings {
    let mut findings = Findings::default();
    for (_, key) in MEMORIES {
        if recording.files.keys().any(|(own, _)| *own == key) {
            let one = One { recording, key };
            one.analyse(&mut findings);
        }
    }
    findings.confident();
    findings.stepped();
    findings
}

/// One memory.
struct One<'r> {
    recording: &'r Recording,
    key: &'static str,
}

impl One<'_> {
    fn analyse(&self, findings: &mut Findings) {
        let key = self.key;
        if !WHOLE.contains(&key) {
            let place = if key == "buffer.l2" { Place::Middle } else { Place::Begin };
            let mut capacity = match self.rows(Kind::Size) {
                Some(rows) => {
                    let found = size::capacity(&rows, place);
                    findings.curves.push(curves::size(key, &rows, &found));
                    found.bytes
                }
                None => self.missing("sizes"),
            };
            let fetched = match self.rows(Kind::FetchGranularity) {
                Some(rows) => {
                    let found = fetch::granularity(&rows);
                    findings.curves.push(curves::fetch(key, &found));
                    found.bytes
                }
                None => self.missing("first touches"),
            };
            let lines = match self.recording.files.get(&(key, Kind::LineSize)) {
                Some(rows) => {
                    let found = line::length(rows, fetched.get().copied());
                    findings.curves.push(curves::line(key, &found));
                    findings.contradictions.extend(contradiction(key, &capacity, &found));
                    if let (None, Some(line)) = (capacity.get(), found.bytes.get()) {
                        // Chases at strides up to a line tell sizes, too.
                        let rows = merged(rows, |row| match row[..] {
                            [stride, size, ..] => {
                                (fetched.get().copied().unwrap_or(0.0)..=*line).contains(&stride).then_some((size, &row[2..]))
                            }
                            _ => None,
                        });
                        let found = size::capacity(&rows, place).bytes;
                        capacity = if found.get().is_some() { found } else { capacity };
                    }
                    found.bytes
                }
                None => self.missing("strides"),
            };
            findings.number(format!("{key}.capacity_bytes"), capacity);
            findings.number(format!("{key}.line_bytes"), lines);
            findings.number(format!("{key}.fetch_bytes"), fetched);
        }
        let latency = match self.recording.files.get(&(key, Kind::Latency)) {
            Some(rows) => {
                let loads = rows.concat();
                findings.curves.push(curves::latency(key, &loads));
                cycles(loads)
            }
            None => self.missing("latencies"),
        };
        findings.number(format!("{key}.latency_cycles"), latency);
    }

    /// Rows of x and latencies.
    fn rows(&self, kind: Kind) -> Option<Vec<(f64, Vec<f64>)>> {
        let file = self.recording.files.get(&(self.key, kind))?;
        Some(merged(file, |row| row.split_first().map(|(x, loads)| (*x, loads))))
    }

    fn missing(&self, what: &str) -> Fact<f64> {
        Fact::unknown(format!("the recording has no file of {what} of {}", self.key))
    }
}

/// Rows of x and latencies, in order of x; those of one x are one.
fn merged<'r>(rows: &'r [Vec<f64>], of: impl Fn(&'r Vec<f64>) -> Option<(f64, &'r [f64])>) -> Vec<(f64, Vec<f64>)> {
    let mut rows: Vec<(f64, Vec<f64>)> = rows.iter().filter_map(of).map(|(x, loads)| (x, loads.to_vec())).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1.append(&mut next.1);
        }
        same
    });
    rows
}

/// The median of loads, between their 5th and 95th percentile.
fn cycles(mut loads: Vec<f64>) -> Fact<f64> {
    loads.sort_by(f64::total_cmp);
    let at = |share| quantile(&loads, share);
    let cite = format!("MT4G's chase: median, 5th and 95th percentile of {} loads", loads.len());
    Fact::between(at(0.05), at(0.5), at(0.95), Source::Measured, cite)
}

/// Whether the chases for the line miss where those for the capacity do not, or the other way round.
fn contradiction(key: &str, capacity: &Fact<f64>, line: &line::Line) -> Option<String> {
    let Fact::Known { lo: Some(lo), hi: Some(hi), .. } = capacity else { return None };
    let early = line.whole.iter().find(|(size, share)| size <= lo && *share > 0.5).map(|(size, _)| (size, "miss", lo, "hit up to"));
    let late = line.whole.iter().find(|(size, share)| size >= hi && *share < 0.1).map(|(size, _)| (size, "hit", hi, "miss from"));
    let (size, does, end, others) = early.or(late)?;
    Some(format!("{key}: loads of {size} bytes {does} in the chases for the line, where those for the capacity {others} {end} bytes"))
}
