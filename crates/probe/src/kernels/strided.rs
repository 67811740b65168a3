//! A warp's load with lanes at a distance from each other, from the first-level cache or from shared memory.

use super::reduce::{self, Reduction};
use super::{Occupancy, WARP, int, lines, output, random, timing, word};
use crate::{Amounts, Measurement, Parameters};
use warpsight_ir::{Program, Scalar};
use warpsight_run::{CacheState, Job, LaunchSpec};

/// Bytes between the loads of a turn: they lie alike in lines and banks.
const LINE: u32 = 128;
/// Turns walk through so many places, so that no compiler can keep what one has loaded.
const STARTS: u32 = 2;
/// Bytes of the array in shared memory.
pub(crate) const SHARED_BYTES: u32 = 10 << 10;

/// Where the data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In memory, and after the first turn in the first-level cache.
    L1,
    /// In shared memory.
    Shared,
}

/// Where the lanes of a warp load from, in accesses: lane i from `(i mod row) · stride + (i div row) · pitch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) row: u32,
    pub(crate) stride: u32,
    pub(crate) pitch: u32,
}

impl Pattern {
    /// Lanes at one distance; 0 for a broadcast.
    pub(crate) fn stride(stride: u32) -> Self {
        Self { row: WARP, stride, pitch: 0 }
    }
    fn at(self, lane: u64) -> u64 {
        let row = u64::from(self.row);
        lane % row * u64::from(self.stride) + lane / row * u64::from(self.pitch)
    }
}

/// The same load by all warps, over and over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Strided {
    pub(crate) place: Place,
    pub(crate) element: Scalar,
    /// Elements of one access.
    pub(crate) width: u32,
    pub(crate) pattern: Pattern,
    pub(crate) occupancy: Occupancy,
    /// Loads of each thread, fewer where the pattern makes them slow.
    pub(crate) loads: u32,
}

impl Strided {
    fn slots(&self) -> u32 {
        reduce::slots(self.element, self.width, 8)
    }
    fn line(&self) -> u32 {
        LINE / self.element.bytes()
    }
    /// Elements that the pattern reaches.
    fn elements(&self) -> u64 {
        match self.place {
            Place::Shared => u64::from(SHARED_BYTES / self.element.bytes()),
            Place::L1 => {
                let last = (0..u64::from(WARP)).map(|lane| self.pattern.at(lane)).max().unwrap_or(0);
                (last + 1) * u64::from(self.width) + u64::from(STARTS * self.slots() * self.line())
            }
        }
    }
    /// Whether the pattern stays inside the array.
    pub(crate) fn fits(&self) -> bool {
        self.place == Place::L1 || Self { place: Place::L1, ..*self }.elements() <= self.elements()
    }
    /// About how many cycles a load takes: words of one bank, or a fourth of the lines. Only decides how often it is repeated.
    fn cost(&self) -> u32 {
        let words: std::collections::BTreeSet<u64> =
            (0..u64::from(WARP)).map(|lane| self.pattern.at(lane) * u64::from(self.width * self.element.bytes()) / 4).collect();
        let lines: std::collections::BTreeSet<u64> = words.iter().map(|word| word / 32).collect();
        let conflicts = (0..32).map(|bank| words.iter().filter(|&word| word % 32 == bank).count()).max().unwrap_or(1);
        (conflicts as u32).max(lines.len() as u32 / 4).max(1)
    }
    fn turns(&self) -> u32 {
        (self.loads / self.slots() / self.cost()).max(2)
    }

    fn program(&self) -> Program {
        let (w, threads, e) = (self.width, self.occupancy.threads, self.element.name());
        let (place, most) = match self.place {
            Place::L1 => ("a", i32::MAX as u32),
            Place::Shared => ("kept", SHARED_BYTES / self.element.bytes()),
        };
        let load = |j: u32| {
            let step = self.slots() * self.line();
            format!("s{j} = s{j} + {place}[(lane % row * stride + lane / row * pitch) * {w} + c * {step} + {} : {w}]", j * self.line())
        };
        let (array, fill) = match self.place {
            Place::L1 => (String::new(), String::new()),
            Place::Shared => (
                format!("local kept: {e}[{most}]"),
                format!(
                    "for i in 0..{} unroll none {{\nlet at = i * {threads} + warp * {WARP} + lane\nkept[at] = a[at]\n}}\nbarrier group local",
                    most / threads
                ),
            ),
        };
        let values = [
            ("name", format!("{}_{e}x{w}_t{threads}", self.level())),
            ("element", e.into()),
            ("most", most.to_string()),
            ("array", array),
            ("fill", fill),
            ("warps", (threads / WARP).to_string()),
            ("lanes_out", (threads * w).to_string()),
            ("declare", reduce::declare(self.element, w, self.slots())),
            ("turn", lines(self.slots(), load)),
            ("out", format!("(warp * {WARP} + lane) * {w}")),
            ("total", reduce::total(self.slots())),
        ];
        super::program(TEXT, &values)
    }

    fn level(&self) -> &'static str {
        match self.place {
            Place::L1 => "l1_stride",
            Place::Shared => "shared",
        }
    }

    /// Takes its time, caches as the pass before left them.
    pub(crate) fn measurement(&self, seed: u64) -> Measurement {
        let Occupancy { threads, per_unit, .. } = self.occupancy;
        let (blocks, Pattern { row, stride, pitch }) = (self.occupancy.blocks(), self.pattern);
        let reduction = Reduction {
            element: self.element,
            width: self.width,
            slots: self.slots(),
            turns: self.turns().into(),
            all_threads: self.occupancy.all_threads(),
            seed,
        };
        let this = *self;
        let address = move |thread: u64, turn: u64, slot: u32| {
            let line = u64::from(this.line());
            let start = turn % u64::from(STARTS) * u64::from(this.slots()) * line;
            this.pattern.at(thread % u64::from(WARP)) * u64::from(this.width) + start + u64::from(slot) * line
        };
        let loads = u64::from(self.turns()) * u64::from(self.slots());
        let access = u64::from(self.width * self.element.bytes());
        let elements = self.elements();
        let sizes = [elements, u64::from(row), u64::from(stride), u64::from(pitch), u64::from(self.turns()), blocks.into(), STARTS.into()];
        let job = Job {
            programs: vec![self.program().into()],
            memory: vec![random(self.element, elements, seed), output(self.occupancy.all_threads() * access)],
            launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: sizes.map(|size| size as i64).to_vec() }],
            read: vec![],
            peek: vec![reduction.peek(1)],
            timing: timing(CacheState::Warm),
        };
        let mut params = Parameters::from([
            ("level".into(), word(self.level())),
            ("op".into(), word(if stride == 0 && row == WARP { "broadcast" } else { "strided" })),
            ("element".into(), word(self.element.name())),
            ("width".into(), int(self.width)),
            ("in_flight".into(), int(self.slots())),
            ("row".into(), int(row)),
            ("stride".into(), int(stride)),
            ("pitch".into(), int(pitch)),
            // Cycles of a load = time · clock / (loads of a warp · warps of a multiprocessor).
            ("loads_per_warp".into(), int(loads as i64)),
        ]);
        self.occupancy.params(&mut params);
        let shape = format!("{}x{}", self.element.name(), self.width);
        Measurement {
            name: format!("{} {shape} row {row} stride {stride} pitch {pitch} {threads} x {per_unit}", self.level()),
            params,
            job,
            launch: 0,
            amounts: Amounts { bytes: (self.occupancy.all_threads() * loads * access) as f64, ..Amounts::default() },
            check: reduction.check(Box::new(address)),
        }
    }
}

const TEXT: &str = "\
program $name {
  size n in 1..=$most
  size row in 1..=32
  size stride in 0..=8192
  size pitch in 0..=8192
  size turns in 1..=1048576
  size blocks in 1..=65536
  size starts in 1..=64
  read buffer a: $element[n]
  write buffer sums: $element[blocks, $lanes_out]
  $array
  groups g = blocks
  lanes lane = 32, warp = $warps
  {
    $fill
    $declare
    var c: i32 = 0
    for i in 0..turns unroll none {
      $turn
      c = select(c + 1 < starts, c + 1, 0)
    }
    sums[g, $out] = $total
  }
}
";
