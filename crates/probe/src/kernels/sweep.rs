//! Repeated reads of a footprint that a cache may hold.

use super::reduce::{self, Reduction};
use super::{Occupancy, count, int, lines, output, random, timing, word};
use crate::{Amounts, Measurement, Parameters};
use warpsight_ir::{Program, Scalar};
use warpsight_run::{CacheState, Job, LaunchSpec};

/// Every block walks through the whole footprint, over and over, from a start of its own. So all blocks of a multiprocessor share
/// the lines that its first level holds, and all multiprocessors share those of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sweep {
    /// The level that is meant: a word for the result.
    pub(crate) level: &'static str,
    pub(crate) element: Scalar,
    /// Elements of one access.
    pub(crate) width: u32,
    pub(crate) occupancy: Occupancy,
    /// Bytes of the footprint; rounded down to whole chunks, at least one.
    pub(crate) footprint: u64,
    /// Bytes each thread loads.
    pub(crate) per_thread: u64,
}

impl Sweep {
    fn slots(&self) -> u32 {
        reduce::slots(self.element, self.width, 8)
    }
    /// Elements of a chunk, what a block reads in one turn.
    fn chunk(&self) -> u32 {
        self.occupancy.threads * self.width * self.slots()
    }
    /// Bytes of a chunk: what footprints are multiples of.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        u64::from(self.chunk()) * u64::from(self.element.bytes())
    }
    fn chunks(&self) -> u64 {
        (self.footprint / self.chunk_bytes()).max(1)
    }
    fn turns(&self) -> u64 {
        (self.per_thread / u64::from(self.slots() * self.width * self.element.bytes())).max(1)
    }

    pub(crate) fn program(&self) -> Program {
        let (w, threads) = (self.width, self.occupancy.threads);
        let values = [
            ("name", format!("sweep_{}x{w}_t{threads}", self.element.name())),
            ("threads", threads.to_string()),
            ("most", (i32::MAX as u32 / self.chunk()).to_string()),
            ("element", self.element.name().into()),
            ("chunk", self.chunk().to_string()),
            ("lanes_out", (threads * w).to_string()),
            ("width", w.to_string()),
            ("declare", reduce::declare(self.element, w, self.slots())),
            ("turn", lines(self.slots(), |j| format!("s{j} = s{j} + a[c, l * {w} + {} : {w}]", j * threads * w))),
            ("total", reduce::total(self.slots())),
        ];
        super::program(TEXT, &values)
    }

    /// Bytes of the sums.
    pub(crate) fn sums(&self) -> u64 {
        self.occupancy.all_threads() * u64::from(self.width * self.element.bytes())
    }

    /// Takes its time, caches as the pass before left them.
    pub(crate) fn measurement(&self, seed: u64) -> Measurement {
        let Occupancy { threads, per_unit, .. } = self.occupancy;
        let (blocks, chunks, width) = (self.occupancy.blocks(), self.chunks(), u64::from(self.width));
        let reduction = Reduction {
            element: self.element,
            width: self.width,
            slots: self.slots(),
            turns: self.turns(),
            all_threads: self.occupancy.all_threads(),
            seed,
        };
        let (chunk, lanes) = (u64::from(self.chunk()), u64::from(threads));
        let address = move |thread: u64, turn: u64, slot: u32| {
            let (block, lane) = (thread / lanes, thread % lanes);
            let start = (block * skew(chunks, blocks)) % chunks;
            ((start + turn) % chunks) * chunk + (u64::from(slot) * lanes + lane) * width
        };
        let footprint = chunks * self.chunk_bytes();
        let loaded = self.occupancy.all_threads() * self.turns() * u64::from(self.slots() * self.width * self.element.bytes());
        let job = Job {
            programs: vec![self.program().into()],
            memory: vec![random(self.element, chunks * chunk, seed), output(self.sums())],
            launches: vec![LaunchSpec {
                program: 0,
                args: vec![0, 1],
                sizes: vec![chunks as i64, self.turns() as i64, blocks.into(), skew(chunks, blocks) as i64],
            }],
            read: vec![],
            peek: vec![reduction.peek(1)],
            timing: timing(CacheState::Warm),
        };
        let mut params = Parameters::from([
            ("level".into(), word(self.level)),
            ("op".into(), word("sum")),
            ("element".into(), word(self.element.name())),
            ("width".into(), int(self.width)),
            ("in_flight".into(), int(self.slots())),
            ("bytes".into(), count(footprint)),
            ("bytes_per_thread".into(), count(self.per_thread)),
        ]);
        self.occupancy.params(&mut params);
        Measurement {
            name: format!("{} sum {}x{} {footprint} B {threads} x {per_unit}", self.level, self.element.name(), self.width),
            params,
            job,
            launch: 0,
            amounts: Amounts { bytes: loaded as f64, ..Amounts::default() },
            check: reduction.check(Box::new(address)),
        }
    }
}

/// Chunks between the starts of neighbouring blocks, so that they spread over the footprint.
fn skew(chunks: u64, blocks: u32) -> u64 {
    (chunks / u64::from(blocks)).max(1)
}

const TEXT: &str = "\
program $name {
  size chunks in 1..=$most
  size turns in 1..=1048576
  size blocks in 1..=$most
  size skew in 1..=$most
  read buffer a: $element[chunks, $chunk]
  write buffer sums: $element[blocks, $lanes_out]
  groups g = blocks
  lanes l = $threads
  {
    $declare
    var c: i32 = g * skew % chunks
    for i in 0..turns unroll none {
      $turn
      c = select(c + 1 < chunks, c + 1, 0)
    }
    sums[g, l * $width] = $total
  }
}
";
