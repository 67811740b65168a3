//! Streams through memory: every element is touched once, by persistent blocks that take chunks in turn.

use super::reduce::{self, Reduction};
use super::{Occupancy, count, element_of, int, lines, numbers, output, random, sample, timing, word};
use crate::{Amounts, Check, Measurement, Parameters};
use warpsight_ir::{Program, Scalar};
use warpsight_run::{CacheState, Job, LaunchSpec, Peek};

/// What is done with each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// y = a
    Copy,
    /// y = 3·a
    Scale,
    /// y = a + 3·b
    Triad,
    /// Each thread adds up what it reads of a.
    Sum,
    /// y = the number of the chunk.
    Write,
}

impl Op {
    pub(crate) const ALL: [Self; 5] = [Self::Copy, Self::Sum, Self::Write, Self::Triad, Self::Scale];

    fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Scale => "scale",
            Self::Triad => "triad",
            Self::Sum => "sum",
            Self::Write => "write",
        }
    }
    /// Arrays it goes through.
    fn arrays(self) -> u64 {
        match self {
            Self::Copy | Self::Scale => 2,
            Self::Triad => 3,
            Self::Sum | Self::Write => 1,
        }
    }
}

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stream {
    pub(crate) op: Op,
    pub(crate) element: Scalar,
    /// Elements of one access.
    pub(crate) width: u32,
    pub(crate) occupancy: Occupancy,
    /// Bytes of all arrays together; rounded down to whole turns of all blocks, at least one.
    pub(crate) bytes: u64,
    /// Whether caches are emptied before.
    pub(crate) flushed: bool,
}

impl Stream {
    /// Accesses a thread has under way, at most 4: as many as 64 bytes hold, or fewer beside sums.
    fn slots(&self) -> u32 {
        match self.op {
            Op::Sum => reduce::slots(self.element, self.width, 4),
            _ => (64 / (self.width * self.element.bytes())).clamp(1, 4),
        }
    }
    /// Elements of a chunk.
    fn chunk(&self) -> u32 {
        self.occupancy.threads * self.width * self.slots()
    }
    /// Bytes that a turn of all blocks goes through.
    pub(crate) fn turn_bytes(&self) -> u64 {
        u64::from(self.chunk()) * u64::from(self.occupancy.blocks()) * u64::from(self.element.bytes()) * self.op.arrays()
    }
    fn trips(&self) -> u64 {
        (self.bytes / self.turn_bytes()).max(1)
    }
    /// Elements of each array.
    fn elements(&self) -> u64 {
        self.trips() * u64::from(self.occupancy.blocks()) * u64::from(self.chunk())
    }

    fn program(&self) -> Program {
        let (w, slots, e) = (self.width, self.slots(), self.element.name());
        let at = |j: u32| format!("c, l * {w} + {}", j * self.occupancy.threads * w);
        let splat = |value: &str| if w == 1 { value.to_owned() } else { format!("splat{w}({value})") };
        let three = splat(if self.element == Scalar::F64 { "3.0d" } else { "3.0" });
        let load = |name: &str| lines(slots, |j| format!("let {name}{j} = {name}[{} : {w}]", at(j)));
        let store = |value: &dyn Fn(u32) -> String| lines(slots, |j| format!("y[{}] = {}", at(j), value(j)));
        let turn = match self.op {
            Op::Copy => load("a") + &store(&|j| format!("a{j}")),
            Op::Scale => load("a") + &store(&|j| format!("a{j} * {three}")),
            Op::Triad => load("a") + &load("b") + &store(&|j| format!("fma(b{j}, {three}, a{j})")),
            Op::Sum => lines(slots, |j| format!("s{j} = s{j} + a[{} : {w}]", at(j))),
            Op::Write => format!("let v = {}\n", splat(&format!("{e}(c)"))) + &store(&|_| "v".into()),
        };
        let read = |name: &str| format!("read buffer {name}: {e}[chunks, {}]\n", self.chunk());
        let written = format!("write buffer y: {e}[chunks, {}]\n", self.chunk());
        let (buffers, before, after) = match self.op {
            Op::Copy | Op::Scale => (read("a") + &written, String::new(), String::new()),
            Op::Triad => (read("a") + &read("b") + &written, String::new(), String::new()),
            Op::Write => (written, String::new(), String::new()),
            Op::Sum => (
                read("a") + &format!("write buffer sums: {e}[blocks, {}]\n", self.occupancy.threads * w),
                reduce::declare(self.element, w, slots),
                format!("sums[g, l * {w}] = {}\n", reduce::total(slots)),
            ),
        };
        let values = [
            ("name", format!("{}_{e}x{w}_t{}", self.op.name(), self.occupancy.threads)),
            ("threads", self.occupancy.threads.to_string()),
            // An array has fewer than 2³¹ elements.
            ("most", (i32::MAX as u32 / self.chunk()).to_string()),
            ("buffers", buffers),
            ("before", before),
            ("turn", turn),
            ("after", after),
        ];
        super::program(TEXT, &values)
    }

    /// Takes this stream's time.
    pub(crate) fn measurement(&self, seed: u64) -> Measurement {
        let (elements, blocks) = (self.elements(), self.occupancy.blocks());
        let input = |n: u64| random(self.element, elements, seed ^ n);
        let array = elements * u64::from(self.element.bytes());
        let (memory, args, written) = match self.op {
            Op::Copy | Op::Scale => (vec![input(0), output(array)], vec![0, 1], 1),
            Op::Triad => (vec![input(0), input(1), output(array)], vec![0, 1, 2], 2),
            Op::Write => (vec![output(array)], vec![0], 0),
            Op::Sum => {
                let sums = self.occupancy.all_threads() * u64::from(self.width * self.element.bytes());
                (vec![input(0), output(sums)], vec![0, 1], 1)
            }
        };
        let (peek, check) = if self.op == Op::Sum { self.check_sums(seed, written) } else { self.check_elements(seed, written) };
        let job = Job {
            programs: vec![self.program().into()],
            memory,
            launches: vec![LaunchSpec {
                program: 0,
                args,
                sizes: vec![(self.trips() * u64::from(blocks)) as i64, self.trips() as i64, blocks.into()],
            }],
            read: vec![],
            peek: vec![peek],
            timing: timing(if self.flushed { CacheState::Flushed } else { CacheState::Warm }),
        };
        let bytes = array * self.op.arrays();
        let mut params = Parameters::from([
            ("level".into(), word("dram")),
            ("op".into(), word(self.op.name())),
            ("element".into(), word(self.element.name())),
            ("width".into(), int(self.width)),
            ("in_flight".into(), int(self.slots())),
            ("bytes".into(), count(bytes)),
            ("cache".into(), word(if self.flushed { "flushed" } else { "warm" })),
        ]);
        self.occupancy.params(&mut params);
        let Occupancy { threads, per_unit, .. } = self.occupancy;
        Measurement {
            name: format!("dram {} {}x{} {bytes} B {threads} x {per_unit}", self.op.name(), self.element.name(), self.width),
            params,
            job,
            launch: 0,
            amounts: Amounts { bytes: bytes as f64, points: elements as f64, ..Amounts::default() },
            check,
        }
    }

    fn check_sums(&self, seed: u64, written: usize) -> (Peek, Check) {
        let (threads, blocks, width) = (u64::from(self.occupancy.threads), u64::from(self.occupancy.blocks()), u64::from(self.width));
        let chunk = u64::from(self.chunk());
        let reduction = Reduction {
            element: self.element,
            width: self.width,
            slots: self.slots(),
            turns: self.trips(),
            all_threads: self.occupancy.all_threads(),
            seed,
        };
        let peek = reduction.peek(written);
        let address = move |thread: u64, turn: u64, slot: u32| {
            let (block, lane) = (thread / threads, thread % threads);
            (turn * blocks + block) * chunk + (u64::from(slot) * threads + lane) * width
        };
        (peek, reduction.check(Box::new(address)))
    }

    fn check_elements(&self, seed: u64, written: usize) -> (Peek, Check) {
        /// Bytes of a piece.
        const PIECE: u32 = 64;
        let per_piece = u64::from(PIECE / self.element.bytes());
        // A chunk holds 32 threads of 4 bytes at least: pieces divide it.
        let pieces = sample(self.elements() / per_piece, 64, seed);
        let (this, chunk) = (*self, u64::from(self.chunk()));
        let peek = Peek { memory: written, offsets: pieces.iter().map(|piece| piece * u64::from(PIECE)).collect(), bytes: PIECE };
        let check: Check = Box::new(move |result| {
            let got = numbers(this.element, result.peeked.first().ok_or("nothing came back")?);
            let expected = pieces.iter().flat_map(|piece| piece * per_piece..(piece + 1) * per_piece);
            let ulp = if this.element == Scalar::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
            if got.len() as u64 != pieces.len() as u64 * per_piece {
                return Err(format!("{} elements came back", got.len()));
            }
            for (i, got) in expected.zip(got) {
                let (a, b) = (element_of(this.element, seed, i), element_of(this.element, seed ^ 1, i));
                let want = match this.op {
                    Op::Copy => a,
                    Op::Scale => 3.0 * a,
                    Op::Triad => a + 3.0 * b,
                    Op::Write | Op::Sum => (i / chunk) as f64,
                };
                // Rounded once on the device, perhaps twice here; at a cancellation the product's own rounding remains.
                let slack = if this.op == Op::Triad { 4.0 * ulp } else { ulp * want.abs() };
                // A NaN is not within anything.
                if !matches!((got - want).abs().partial_cmp(&slack), Some(order) if order.is_le()) {
                    return Err(format!("element {i} is {got}, not {want}"));
                }
            }
            Ok(())
        });
        (peek, check)
    }
}

/// Block g takes chunks g, g + blocks, …; within one, thread l takes `width` elements at a time, neighbours side by side.
const TEXT: &str = "\
program $name {
  size chunks in 1..=$most
  size trips in 1..=$most
  size blocks in 1..=$most
  $buffers
  groups g = blocks
  lanes l = $threads
  {
    $before
    for i in 0..trips unroll none {
      let c = i * blocks + g
      $turn
    }
    $after
  }
}
";
