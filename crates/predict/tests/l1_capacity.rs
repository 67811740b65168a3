//! Lines that blocks stream and lines that they ask for again, against a cache that is played through request by request: least recently
//! used lines go first, warps take turns.

use std::collections::{HashMap, HashSet};
use warpsight_ir::accesses::text;
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{Bytes, Profile};
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

const LINE: u64 = 128;
const WARP: u64 = 32;

/// A kernel of one-dimensional blocks, twice: as text, and as the bytes that thread t of a block loads in trip k, in program order.
struct Case {
    text: String,
    threads: u64,
    trips: u64,
    loads: Vec<fn(t: u64, k: u64) -> u64>,
}

/// Fields lie this far apart.
const FAR: u64 = 1 << 40;
const BLOCKS: u64 = 864;

impl Case {
    fn new(threads: u64, trips: u64, fields: &str, loads: Vec<fn(u64, u64) -> u64>) -> Self {
        let text = format!(
            "name = \"c\"\nblock = [{threads}]\ngrid = [{BLOCKS}]\nregisters = 32\n[[loop]]\nname = \"k\"\ntrips = {trips}\n{fields}\n\
             [[field]]\nname = \"out\"\nelement = \"f32\"\ndims = [{}]\nstore = [[\"tx\"]]\n",
            threads * BLOCKS
        );
        Self { text, threads, trips, loads }
    }

    /// Lines of each warp's requests in a block.
    fn requests(&self) -> Vec<u64> {
        let mut requests = Vec::new();
        for k in 0..self.trips {
            for load in &self.loads {
                for warp in 0..self.threads / WARP {
                    let mut lines: Vec<u64> = (0..WARP).map(|lane| load(warp * WARP + lane, k) / LINE).collect();
                    lines.dedup();
                    requests.extend(lines);
                }
            }
        }
        requests
    }

    /// Lines that a block asks for more than once, and once.
    fn allocation(&self) -> (usize, usize) {
        let mut times: HashMap<u64, u32> = HashMap::new();
        self.requests().into_iter().for_each(|line| *times.entry(line).or_default() += 1);
        let reused = times.values().filter(|&&n| n > 1).count();
        (reused, times.len() - reused)
    }

    /// Part of the repeated requests that miss a cache of so many lines.
    fn misses(&self, lines: usize) -> f64 {
        let (mut last, mut order): (HashMap<u64, u64>, std::collections::BTreeMap<u64, u64>) = Default::default();
        let (mut seen, mut repeated, mut missed) = (HashSet::new(), 0_u64, 0_u64);
        for (now, request) in (0_u64..).zip(self.requests()) {
            let before = last.insert(request, now);
            if !seen.insert(request) {
                repeated += 1;
                missed += u64::from(before.is_none());
            }
            if let Some(before) = before {
                order.remove(&before);
            }
            order.insert(now, request);
            if order.len() > lines {
                let (_, oldest) = order.pop_first().unwrap();
                last.remove(&oldest);
            }
        }
        missed as f64 / repeated as f64
    }

    fn report(&self, capacity: u64) -> Report {
        let mut on: Profile = builtin("a100-40").unwrap().unwrap();
        on.memory.buffer_l1.bytes = Fact::known(Bytes(capacity as f64), Source::Assumed, "a small cache");
        let written = text::parse(&self.text, &[]).unwrap_or_else(|error| panic!("{error:?}"));
        report(&Work { kernel: &written.kernel, points: written.points }, &on, &Settings::default()).unwrap()
    }

    /// The model's part of repeated requests that miss.
    fn predicted(&self, capacity: u64) -> f64 {
        let v = self.report(capacity).volumes;
        let (requested, compulsory) = (v.l1_requested.unwrap(), v.l2_load_compulsory.unwrap());
        (v.l2_load.unwrap() - compulsory) / (requested - compulsory)
    }

    /// The model's lines of a block, reused and streamed.
    fn lines(&self) -> [f64; 2] {
        let notes: Vec<String> = self.report(1 << 15).provenance.into_iter().filter(|note| note.contains(" are streamed")).collect();
        // What is walked through apart is said apart.
        let after = |word: &str| -> f64 {
            let of = |note: &String| -> f64 {
                let at = note.find(word).unwrap();
                note[..at].rsplit(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty()).unwrap().parse().unwrap()
            };
            notes.iter().map(of).sum()
        };
        [after(" lines of a block"), after(" are streamed")]
    }
}

/// Every trip streams a row and asks again for the table.
fn table_beside_stream() -> Case {
    let fields = "[[field]]\nname = \"stream\"\nelement = \"f32\"\ndims = [221184, 256]\nload = [[\"tx\", \"k\"]]\n\
                  [[field]]\nname = \"table\"\nelement = \"f32\"\ndims = [221184]\nload = [{ at = [\"tx\"], in = \"k\" }]\n";
    Case::new(256, 256, fields, vec![|t, k| 4 * (t + k * 221_184), |t, _| FAR + 4 * t])
}

/// A table too large for the cache, read in each of 4 rounds.
fn table_in_rounds() -> Case {
    let fields = "[[field]]\nname = \"table\"\nelement = \"f32\"\ndims = [221184, 128]\nload = [[\"tx\", \"k\"], [\"tx\", \"k\"]]\n";
    let fields = fields.replace("[\"tx\", \"k\"], [\"tx\", \"k\"]", "{ at = [\"tx\", \"r\"], in = \"k\" }");
    let mut case = Case::new(256, 4, "", vec![]);
    case.text = case.text.replacen("trips = 4\n", &format!("trips = 4\n[[loop]]\nname = \"r\"\ntrips = 128\n{fields}"), 1);
    case.trips = 4 * 128;
    case.loads = vec![|t, k| 4 * (t + (k % 128) * 221_184)];
    case
}

#[test]
fn a_stream_does_not_displace_what_is_used_again() {
    let case = table_beside_stream();
    // 256 rows of 8 lines beside a table of 8.
    assert_eq!(case.allocation(), (8, 2048));
    assert_eq!(case.lines(), [8.0, 2048.0]);
    for capacity in [1 << 15, 1 << 17] {
        // 8 lines of stream pass between two uses of the table.
        let (strict, predicted) = (case.misses(capacity / LINE as usize), case.predicted(capacity as u64));
        assert!(strict == 0.0 && predicted < 0.01, "{capacity} B: {strict} by playing, {predicted} predicted");
    }
}

#[test]
fn what_is_used_again_and_does_not_fit_is_lost() {
    let case = table_in_rounds();
    assert_eq!(case.allocation(), (1024, 0));
    assert_eq!(case.lines(), [1024.0, 0.0]);
    for (capacity, lost) in [(1 << 15, true), (1 << 24, false)] {
        let (strict, predicted) = (case.misses(capacity / LINE as usize), case.predicted(capacity as u64));
        assert!(strict == f64::from(u8::from(lost)), "{capacity} B: {strict}");
        // The prior rises slowly, to two thirds at most.
        assert!(if lost { predicted > 0.4 } else { predicted < 0.1 }, "{capacity} B: {predicted}");
    }
}

#[test]
fn rows_that_begin_within_a_line_share_the_lines_between_warps() {
    let field = "[[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [221185, 8]\nload = [[\"tx + 1\", \"k\"]]\n";
    let case = Case::new(256, 8, field, vec![|t, k| 4 * (t + 1 + k * 221_185)]);
    let ((reused, streamed), found) = (case.allocation(), case.lines());
    // 7 lines a row lie across two warps; a row of 221,185 elements may also begin with a line.
    assert!((49..=56).contains(&reused) && streamed <= 16, "{reused} {streamed}");
    assert!((found[0] - reused as f64).abs() <= 4.0 && (found[1] - streamed as f64).abs() <= 4.0, "{found:?}");
}
