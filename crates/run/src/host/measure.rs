//! What CPUID does not say and a second tells: the clock, multiply-adds, loads and instructions a clock, how fast cores read what lies behind their
//! first caches, how much of that goes on beside arithmetic, where the last of these caches ends, how long one waits for it, and how many
//! translations they hold. Rates with all threads at once,
//! since cores share clocks and caches; by processor time, and the best of several spans of several rounds, since others may use the machine.
//! And by the wall, how late a thread runs that another one wakes, in quartiles.

use super::Measured;
use crate::processor::Watch;
use std::arch::asm;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use warpsight_ir::sample::quantile;

/// Additions of a chain, each of which waits a cycle for the one before.
const CHAIN: u64 = 24;
/// Times that a chain, or a block of multiply-adds or loads, runs in a span: some 50 µs, less than what a scheduler gives a thread at once.
const TURNS: u64 = 8_000;
/// Spans of each measurement, and of reading through memory, of which each takes long.
const SPANS: usize = 12;
const FEW: usize = 4;
/// Memory is behind a last level that is read faster than by this.
const FALLEN: f64 = 0.75;
/// Multiply-adds or loads of a block that do not wait for each other: more than the four cycles of two units.
const BLOCK: u64 = 12;
/// Instructions of a block of a mixture, of which a comparison and its branch are one to cores.
const MIXTURE: u64 = 31;
/// Bytes that a block of a walk through memory reads: two lines at each of four places, as kernels read several tensors and rows of each.
const READ: usize = 512;
/// Cycles of a run of multiplications beside it: eight multiplications that do not wait for each other, on two units.
const PRODUCTS: f64 = 4.0;
/// The most runs after a block: memory of which a block takes longer is none that kernels run from.
const MOST_RUNS: f64 = 10_000.0;
/// Bytes that are read beside multiplications where these are to be timed alone: less than first levels hold.
const NEAR: usize = 8 << 10;
/// The most memory that a core waits for line by line: longer last levels leave the latency of memory unmeasured.
const MOST: u64 = 160 << 20;
/// The most that all threads together read to find where the last level ends, and the part of free memory that this may be.
const FAR: u64 = 512 << 20;
const FREE: u64 = 4;
/// Pages of chases, words of a page and of a line, and steps of a chase.
const WALKED: [usize; 10] = [13, 31, 47, 61, 71, 97, 127, 191, 251, 383];
const PAGE: usize = 4096 / size_of::<usize>();
const LINE: usize = 64 / size_of::<usize>();
const CHASE: usize = 4_000;
/// Places that are gone through before a chase is timed, at most: lines of more than second levels hold.
const CACHED: usize = 1 << 17;
/// Of a cache, the part that is walked through: it has other things to hold.
const PART: f64 = 0.6;
/// The most that is walked through of a level, in sizes of the level before. A last level that others share holds less than it says: a virtual
/// machine's 260 MiB, of two cores, are read at 56 GB/s up to 40 MiB a core, and at 35 GB/s at 78.
const BEYOND: f64 = 4.0;
/// The most that is read to be behind a last level, in its sizes: of two and a half of them a core of AMD's keeps so much from pass to pass in some
/// processes that it is read at 140 GB/s, where memory gives 70.
const BEHIND: f64 = 8.0;
/// How often everything is measured at least and at most, and the pause between: whoever shares a core halves its multiply-adds for longer than
/// spans last. The best of a number counts when another round came as near to it, or when there were so many rounds.
const ROUNDS: usize = 3;
const MOST_ROUNDS: usize = 10;
const NEARLY: f64 = 1.1;
const PAUSE: Duration = Duration::from_millis(40);
/// How often a thread is woken in a round, and how long it is left to sleep: as long as between two kernels of a network, which threads that
/// share each of them evenly sleep through. It matters: on a virtual machine with AMD's cores waking takes 2 µs after 6 µs, 14 after 12 and 21
/// after 100 (by a program in C that is not kept, 2026-11-30), and kernels of MobileNetV2 of which each of two cores does 7 µs take 7 there at
/// their fastest, 10 in the middle.
const WAKES: usize = 129;
const BUSY: Duration = Duration::from_micros(6);

/// Vectors that there are instructions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// 16 bytes; no multiply-add is taken for granted.
    Sse,
    /// 32 bytes, with multiply-adds.
    Fma,
    /// 64 bytes, with multiply-adds.
    Avx512,
}

/// Bytes of an instance of a cache, and the threads that share it.
type Shared = Option<(u64, u32)>;

/// Measures, with so many threads, caches of these sizes. `None` where a thread cannot be had, or no cache is known.
pub(super) fn measure(threads: usize, width: Width, caches: [Shared; 3]) -> Option<Measured> {
    let (read, wait) = (read_through(threads, caches), waited_through(caches));
    if caches.iter().all(Option::is_none) {
        return None;
    }
    let mut rounds = vec![Round::of(threads, width, (&read, &wait))?];
    for round in 1..MOST_ROUNDS {
        if round >= ROUNDS && confirmed(&rounds.iter().map(Round::takes).collect::<Vec<_>>()) {
            break;
        }
        std::thread::sleep(PAUSE);
        rounds.extend(Round::of(threads, width, (&read, &wait)));
    }
    let best = rounds.into_iter().reduce(Round::best)?;
    let beyond = Beyond::of(threads, &read, caches, best.read[1].or(best.read[0]));
    let beside = |bytes: Option<usize>, rate: Option<f64>| hidden(threads, bytes?, rate?, best.clock);
    let lanes = match width {
        Width::Sse => None,
        Width::Fma => Some(8.0),
        Width::Avx512 => Some(16.0),
    };
    // Units are whole: what is measured of them is off by what the clock does meanwhile.
    let units = |rate: f64| Some(lanes? * (rate / best.clock).round().max(1.0));
    Some(Measured {
        clock: best.clock,
        fma: units(best.fma),
        loads: units(best.loads),
        issue: Some(best.issue / best.clock),
        read: [best.read[0], best.read[1], beyond.map(|own| own.rate)],
        held: beyond.and_then(|own| own.held),
        beside: [beside(read[1], best.read[1]), beside(beyond.map(|own| own.bytes), beyond.map(|own| own.rate))],
        latency: best.wait.map(|own| Some(own? * best.clock)),
        in_flight: best.asked.map(|(alone, many)| alone / many).filter(|lines| lines.is_finite()).map(|lines| lines.max(1.0)),
        pages: translated(&best.pages.map(|seconds| seconds * best.clock))
            .map(|(pages, cycles)| (pages, cycles, (best.apart[1] - best.apart[0]).max(0.0) * best.clock)),
        wake: best.wake,
    })
}

/// What each thread reads through of L2 and L3, all at once: what fits its part of the level and not what it has before.
fn read_through(threads: usize, caches: [Shared; 3]) -> [Option<usize>; 2] {
    let [first, second, third] = caches.map(|own| own.map(|own| part(own, threads)));
    let within = |level: Option<f64>, before: Option<f64>| {
        let bytes = (level? * PART).min(before.map_or(f64::INFINITY, |own| BEYOND * own));
        (bytes > 1.5 * before.unwrap_or(0.0)).then_some(bytes)
    };
    let sizes = [within(second, first), within(third, second.or(first))];
    sizes.map(|bytes| bytes.filter(|bytes| bytes * threads as f64 <= MOST as f64).map(|bytes| bytes as usize))
}

/// Of a cache, the part that one of so many threads has.
fn part((bytes, sharing): (u64, u32), threads: usize) -> f64 {
    bytes as f64 / f64::from(sharing).min(threads as f64).max(1.0)
}

/// Where the last level ends, and what is read behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Beyond {
    /// Bytes per second that all threads read from memory, and the bytes that each went through.
    rate: f64,
    bytes: usize,
    /// Bytes that the last level, all instances of it, holds for these threads; `None` where that is what it says, or not seen.
    held: Option<f64>,
}

impl Beyond {
    /// Reads twice as much again and again, all threads at once, beginning with what was read through of the last level at the rate `near`.
    fn of(threads: usize, read: &[Option<usize>; 2], caches: [Shared; 3], near: Option<f64>) -> Option<Self> {
        let last = part(caches.into_iter().flatten().next_back()?, threads);
        let most = BEHIND * last;
        let room = (free().map_or(MOST, |bytes| FAR.min(bytes / FREE)) / threads as u64) as f64;
        let begin = read[1].map_or(most, |bytes| 2.0 * bytes as f64);
        let mut sizes: Vec<f64> = std::iter::successors(Some(begin), |bytes| Some(2.0 * bytes)).take_while(|&bytes| bytes < most).collect();
        sizes.push(most);
        sizes.retain(|&bytes| bytes <= room);
        let rates: Option<Vec<(f64, f64)>> =
            sizes.into_iter().map(|bytes| Some((bytes * threads as f64, reading(threads, bytes as usize, FEW, 0)?))).collect();
        Self::seen(&rates?, near, last * threads as f64).map(|own| Self { bytes: own.bytes / threads, ..own })
    }

    /// What such rates by bytes show, of a last level that says it holds so many.
    fn seen(rates: &[(f64, f64)], near: Option<f64>, says: f64) -> Option<Self> {
        let &(most, rate) = rates.last()?;
        let all = most >= 2.0 * says;
        let Some(near) = near.filter(|near| rate < FALLEN * near) else {
            return all.then_some(Self { rate, bytes: most as usize, held: None });
        };
        // Half of what is read comes from memory where a byte takes the mean of both.
        let half = (1.0 / near + 1.0 / rate) / 2.0;
        let over = rates.iter().position(|own| 1.0 / own.1 >= half)?;
        let held = match over.checked_sub(1).map(|before| (rates[before], rates[over])) {
            Some(((less, fast), (more, slow))) => less * (more / less).powf((half - 1.0 / fast) / (1.0 / slow - 1.0 / fast)),
            None => rates[over].0,
        };
        // A rate that still falls is between those of the cache and of memory.
        let level = rates.len().checked_sub(2).is_some_and(|before| rate > 0.8 * rates[before].1);
        (all || level).then_some(Self { rate, bytes: most as usize, held: Some(held).filter(|&held| held < 0.75 * says) })
    }
}

/// Bytes of memory that this process may still have, as the system says and as a container's limit does; `None` where nobody says so.
fn free() -> Option<u64> {
    let read = |path: &str| warpsight_files::read_text(std::path::Path::new(path), warpsight_files::TEXT).ok();
    let system = read("/proc/meminfo").and_then(|text| 1024_u64.checked_mul(number_behind(&text, "MemAvailable:")?));
    let group = |name: &str| read(&format!("/sys/fs/cgroup/memory.{name}"));
    let container = group("max").and_then(|most| left(&most, &group("current")?, &group("stat")?));
    system.into_iter().chain(container).min()
}

/// What a container's limit leaves, where there is one: files that were read long ago make room.
fn left(most: &str, current: &str, stat: &str) -> Option<u64> {
    let used = current.trim().parse::<u64>().ok()?.saturating_sub(number_behind(stat, "inactive_file").unwrap_or(0));
    Some(most.trim().parse::<u64>().ok()?.saturating_sub(used))
}

/// The number behind a word at the beginning of a line.
fn number_behind(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok())
}

/// What one core goes through alone to wait for L2, L3 and memory, powers of two: it has a whole instance of each. Not much more than the level
/// before, since translations of more are waited for as well.
fn waited_through(caches: [Shared; 3]) -> [Option<usize>; 3] {
    let [first, second, third] = caches.map(|own| own.map(|own| own.0));
    let within = |level: Option<u64>, before: Option<u64>| {
        let bytes = 1 << (3 * before?).checked_ilog2()?;
        (bytes as f64 <= PART * level? as f64).then_some(bytes)
    };
    let beyond = third.or(second).or(first).map(|last| (5 * last / 2).next_power_of_two());
    let sizes = [within(second, first), within(third, second.or(first)), beyond.filter(|&bytes| bytes <= MOST)];
    sizes.map(|bytes| bytes.map(|bytes| bytes as usize))
}

/// What is measured once, as it is: in hertz, bytes and operations a second, and seconds.
struct Round {
    clock: f64,
    fma: f64,
    loads: f64,
    issue: f64,
    read: [Option<f64>; 2],
    wait: [Option<f64>; 3],
    /// Of memory, beside what a line takes that does not wait for the one before.
    asked: Option<(f64, f64)>,
    pages: [f64; WALKED.len()],
    /// Seconds of loads of few pages and of many, none of which waits for another.
    apart: [f64; 2],
    /// Quartiles of how late a thread ran that was woken.
    wake: Option<[f64; 3]>,
}

impl Round {
    fn of(threads: usize, width: Width, (read, wait): (&[Option<usize>; 2], &[Option<usize>; 3])) -> Option<Self> {
        let mean =
            |of: &(dyn Fn() -> Duration + Sync), what: u64| Some(fastest(threads, SPANS, || || rate(what * TURNS, of()))? / threads as f64);
        let wait = wait.map(|bytes| Some((waiting(bytes?), bytes?)));
        Some(Self {
            clock: mean(&additions, CHAIN)?,
            fma: mean(&|| multiply_adds(width), BLOCK)?,
            loads: mean(&|| loads(width), BLOCK)?,
            issue: mean(&mixture, MIXTURE)?,
            read: read.map(|bytes| reading(threads, bytes?, SPANS, 0)),
            wait: wait.map(|own| Some(own?.0)),
            asked: wait[2].map(|(alone, bytes)| (alone, asking(bytes))),
            pages: pages(),
            apart: apart(),
            wake: if threads > 1 { quartiles(waking()) } else { None },
        })
    }

    /// Every number as a time, in one order: the less, the better; infinite where it is missing.
    fn takes(&self) -> Vec<f64> {
        let rates = [self.clock, self.fma, self.loads, self.issue].into_iter().chain(self.read.map(|rate| rate.unwrap_or(0.0)));
        let some = self.wait.into_iter().chain([self.asked.map(|own| own.1), self.wake.map(|wake| wake[2])]);
        let times = some.map(|time| time.unwrap_or(f64::INFINITY)).chain(self.apart);
        rates.map(f64::recip).chain(times).chain(self.pages).collect()
    }

    /// The best of both, each for itself.
    fn best(self, other: Self) -> Self {
        fn each<const N: usize>(a: [Option<f64>; N], b: [Option<f64>; N], of: fn(f64, f64) -> f64) -> [Option<f64>; N] {
            std::array::from_fn(|level| [a[level], b[level]].into_iter().flatten().reduce(of))
        }
        Self {
            clock: self.clock.max(other.clock),
            fma: self.fma.max(other.fma),
            loads: self.loads.max(other.loads),
            issue: self.issue.max(other.issue),
            read: each(self.read, other.read, f64::max),
            wait: each(self.wait, other.wait, f64::min),
            asked: [self.asked, other.asked].into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))),
            pages: std::array::from_fn(|n| self.pages[n].min(other.pages[n])),
            apart: std::array::from_fn(|n| self.apart[n].min(other.apart[n])),
            wake: [self.wake, other.wake].into_iter().flatten().min_by(|a, b| a[2].total_cmp(&b[2])),
        }
    }
}

/// Whether the least of each time was nearly met by another round: what others on this machine take away, they take at times.
fn confirmed(rounds: &[Vec<f64>]) -> bool {
    let Some(first) = rounds.first() else { return false };
    (0..first.len()).all(|number| {
        let mut own: Vec<f64> = rounds.iter().filter_map(|round| round.get(number).copied()).collect();
        own.sort_unstable_by(f64::total_cmp);
        own.get(1).is_some_and(|&second| second <= NEARLY * own[0])
    })
}

fn rate(what: u64, took: Duration) -> f64 {
    what as f64 / took.as_secs_f64()
}

/// Where threads wait for each other.
struct Meeting {
    threads: usize,
    came: AtomicUsize,
    /// Whether one of them is not there.
    off: AtomicBool,
}

impl Meeting {
    fn wait(&self, turn: usize) {
        self.came.fetch_add(1, Ordering::SeqCst);
        while self.came.load(Ordering::SeqCst) < self.threads * (turn + 1) && !self.off.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }
}

/// Runs what this makes on so many threads, in spans that all of them begin together: the most that they reach together in a span; `None` where
/// a thread cannot be had.
fn fastest<R: FnMut() -> f64>(threads: usize, spans: usize, make: impl Fn() -> R + Sync) -> Option<f64> {
    let meeting = Meeting { threads, came: AtomicUsize::new(0), off: AtomicBool::new(threads == 0) };
    let all = std::thread::scope(|scope| {
        let one = || {
            let mut run = make();
            let spans = (0..spans).map(|span| {
                meeting.wait(span);
                run()
            });
            spans.collect::<Vec<f64>>()
        };
        let mut spawned = vec![];
        for _ in 0..threads {
            match std::thread::Builder::new().spawn_scoped(scope, one) {
                Ok(thread) => spawned.push(thread),
                Err(_) => meeting.off.store(true, Ordering::SeqCst),
            }
        }
        let all: Option<Vec<_>> = spawned.into_iter().map(|thread| thread.join().ok()).collect();
        all.filter(|_| !meeting.off.load(Ordering::SeqCst))
    })?;
    Some((0..spans).map(|span| all.iter().map(|thread| thread[span]).sum::<f64>()).fold(0.0, f64::max))
}

/// Bytes per second that all threads read, each from memory of its own, with so many multiplications after each block.
fn reading(threads: usize, bytes: usize, spans: usize, runs: u64) -> Option<f64> {
    let bytes = (bytes / READ).max(1) * READ;
    // As many passes as take about as long as a span elsewhere.
    let again = ((2 << 20) / bytes).max(1);
    fastest(threads, spans, || {
        let memory = vec![1_u8; bytes];
        read(&memory, runs);
        move || rate((again * bytes) as u64, (0..again).map(|_| read(&memory, runs)).sum())
    })
}

/// The part of a stream through so many bytes, or of multiplications beside it, that is hidden, of what takes less: what both take alone, less what
/// both take together. `None` where a thread cannot be had.
fn hidden(threads: usize, bytes: usize, rate: f64, clock: f64) -> Option<f64> {
    let runs = READ as f64 * clock * threads as f64 / rate / PRODUCTS;
    // A clock of processor time may tick too slowly to time a span.
    let runs = runs.is_finite().then(|| runs.round().clamp(1.0, MOST_RUNS) as u64)?;
    let seconds = |bytes: usize, runs: u64| Some(1.0 / reading(threads, bytes, FEW, runs)?);
    part_hidden(seconds(NEAR, runs)?, seconds(bytes, 0)?, seconds(bytes, runs)?)
}

/// What two take together, of what they take alone: the part of the shorter one that the longer one hides. `None` where these are no times.
fn part_hidden(one: f64, other: f64, together: f64) -> Option<f64> {
    let part = (one + other - together) / one.min(other);
    part.is_finite().then(|| part.clamp(0.0, 1.0))
}

/// An order of pages without a pattern of neighbours, which visits each once where their number is prime.
fn order(pages: usize) -> Vec<usize> {
    let step = pages * 5 / 8;
    (0..pages).map(|n| n * step % pages).collect()
}

/// Seconds of a step of chases through pages.
fn pages() -> [f64; WALKED.len()] {
    let mut memory = vec![0_usize; WALKED[WALKED.len() - 1] * PAGE];
    // A line of its own set in each page, so that the first cache holds all of them.
    let place = |page: usize| page * PAGE + page * 8 % PAGE;
    WALKED.map(|pages| {
        let order = order(pages);
        for (n, &page) in order.iter().enumerate() {
            memory[place(page)] = place(order[(n + 1) % pages]);
        }
        chase(&memory, pages)
    })
}

/// Seconds of a load of few pages and of many, where none waits for another.
fn apart() -> [f64; 2] {
    let memory = vec![1_u64; WALKED[WALKED.len() - 1] * PAGE];
    [WALKED[0], WALKED[WALKED.len() - 1]].map(|pages| {
        let places: Vec<usize> = order(pages).into_iter().map(|page| page * PAGE + page * 8 % PAGE).collect();
        let all = |times: usize| {
            let start = Watch::start();
            let mut sum = 0_u64;
            for _ in 0..times {
                sum = places.iter().fold(sum, |sum, &place| sum.wrapping_add(memory[place]));
            }
            std::hint::black_box(sum);
            start.taken().as_secs_f64() / (times * pages) as f64
        };
        let times = (5 * CHASE).div_ceil(pages);
        (0..SPANS).map(|_| all(times)).fold(f64::INFINITY, f64::min)
    })
}

/// How many pages a chase goes through before their translations have to be looked up, and the cycles that each takes then; `None` where no
/// number of pages shows it.
fn translated(cycles: &[f64]) -> Option<(u32, f64)> {
    let (first, last) = (*cycles.first()?, *cycles.last()?);
    let miss = last - first;
    let missing = cycles.iter().position(|&own| own - first >= miss / 4.0)?;
    (miss > 2.0 && missing > 0).then(|| (WALKED[missing - 1] as u32, miss))
}

/// The line after another one in an order that nobody foresees, in which each of so many, a power of two, is visited once before the first comes
/// again: a linear congruence of full period. No division, which would take as long as a line of a near cache.
#[inline(always)]
fn after(line: usize, lines: usize) -> usize {
    line.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & (lines - 1)
}

/// Seconds that a line of so many bytes takes, a power of two, in that order, where none is asked for by what another one says.
fn asking(bytes: usize) -> f64 {
    let lines = bytes / (LINE * size_of::<usize>());
    let memory = vec![1_usize; lines * LINE];
    let mut line = 0;
    let mut walk = |steps: usize| {
        let (start, mut sum) = (Watch::start(), 0_usize);
        for _ in 0..steps {
            sum = sum.wrapping_add(memory[line * LINE]);
            line = after(line, lines);
        }
        std::hint::black_box(sum);
        start.taken().as_secs_f64() / steps as f64
    };
    walk(lines.min(CACHED));
    (0..SPANS).map(|_| walk(5 * CHASE)).fold(f64::INFINITY, f64::min)
}

/// Seconds that a line of so many bytes takes, a power of two, that is asked for when the one before has come, in an order that nobody foresees.
fn waiting(bytes: usize) -> f64 {
    let lines = bytes / (LINE * size_of::<usize>());
    let mut memory = vec![0_usize; lines * LINE];
    (0..lines).for_each(|line| memory[line * LINE] = after(line, lines) * LINE);
    chase(&memory, lines)
}

/// Seconds of a step through so many places that say where the next one is, the fastest of several spans.
fn chase(memory: &[usize], places: usize) -> f64 {
    let mut at = 0;
    let mut walk = |steps: usize| {
        let start = Watch::start();
        for _ in 0..steps {
            at = memory[at];
        }
        at = std::hint::black_box(at);
        start.taken().as_secs_f64()
    };
    // Caches hold what was written last: all of it is gone through first.
    walk(places.min(CACHED));
    (0..SPANS).map(|_| walk(CHASE)).fold(f64::INFINITY, f64::min) / CHASE as f64
}

/// How long until a thread that sleeps runs after another one wakes it, many times; none where a thread cannot be had. A driver's threads sleep
/// between kernels: this is what the one that ends a kernel is ahead of the others in the next.
fn waking() -> Vec<f64> {
    let (begun, turn, changed, ready) = (Instant::now(), Mutex::new((0, Duration::ZERO)), Condvar::new(), AtomicUsize::new(0));
    let hold = || turn.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let sleeper = || {
            let woken = (1..=WAKES).map(|n| {
                ready.store(n, Ordering::SeqCst);
                let now = *changed.wait_while(hold(), |turn| turn.0 < n).unwrap_or_else(PoisonError::into_inner);
                begun.elapsed().saturating_sub(now.1).as_secs_f64()
            });
            woken.collect()
        };
        let Ok(sleeper) = std::thread::Builder::new().spawn_scoped(scope, sleeper) else { return vec![] };
        for n in 1..=WAKES {
            while ready.load(Ordering::SeqCst) < n {
                std::thread::yield_now();
            }
            // Long enough to be asleep, busy as a thread is that runs a kernel.
            let start = Instant::now();
            while start.elapsed() < BUSY {
                std::hint::spin_loop();
            }
            *hold() = (n, begun.elapsed());
            changed.notify_all();
        }
        sleeper.join().unwrap_or_default()
    })
}

/// The first quarter, the middle and the third quarter of numbers.
fn quartiles(mut of: Vec<f64>) -> Option<[f64; 3]> {
    of.sort_unstable_by(f64::total_cmp);
    let at = |share| quantile(&of, share);
    Some([at(0.25)?, at(0.5)?, at(0.75)?])
}

/// A chain of additions, each of the result before.
fn additions() -> Duration {
    let start = Watch::start();
    // SAFETY: the instructions touch the registers named here and flags, no memory and no stack.
    #[allow(unsafe_code)]
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}",
            "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}",
            "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}", "add {x}, {y}",
            "dec {turns}",
            "jnz 2b",
            x = inout(reg) 3_u64 => _,
            y = in(reg) 5_u64,
            turns = inout(reg) TURNS => _,
            options(nomem, nostack),
        );
    }
    start.taken()
}

/// Twelve instructions, each with the register of another number.
macro_rules! sums {
    ($head:literal, $tail:literal) => {
        concat!(
            ".p2align 6\n2:\n", sums!(@ $head, $tail, "0"), sums!(@ $head, $tail, "1"), sums!(@ $head, $tail, "2"), sums!(@ $head, $tail, "3"),
            sums!(@ $head, $tail, "4"), sums!(@ $head, $tail, "5"), sums!(@ $head, $tail, "6"), sums!(@ $head, $tail, "7"),
            sums!(@ $head, $tail, "8"), sums!(@ $head, $tail, "9"), sums!(@ $head, $tail, "10"), sums!(@ $head, $tail, "11"),
            "dec {turns}\njnz 2b\nvzeroupper"
        )
    };
    (@ $head:literal, $tail:literal, $n:literal) => { concat!($head, $n, $tail, "\n") };
}

/// Such blocks, so often; what they read is at `at`.
macro_rules! blocks {
    ($text:expr $(, $at:ident = $place:expr)?) => {
        asm!(
            "vzeroall",
            $text,
            turns = inout(reg) TURNS => _,
            $($at = in(reg) $place,)?
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(readonly, nostack),
        )
    };
}

/// Sums that do not wait for each other, of zeros.
fn multiply_adds(width: Width) -> Duration {
    let start = Watch::start();
    // SAFETY: the processor has these instructions (`Width` is made of CPUID); they touch the registers named there and flags.
    #[allow(unsafe_code)]
    unsafe {
        match width {
            Width::Sse => {}
            Width::Fma => blocks!(sums!("vfmadd231ps ymm", ", ymm12, ymm12")),
            Width::Avx512 => blocks!(sums!("vfmadd231ps zmm", ", zmm12, zmm12")),
        }
    }
    start.taken()
}

/// Loads of one vector, again and again.
fn loads(width: Width) -> Duration {
    #[repr(align(64))]
    struct Vector([u8; 64]);
    let memory = Vector([0; 64]);
    let start = Watch::start();
    // SAFETY: the processor has these instructions; they read the 64 bytes of `memory` and change the registers named there and flags.
    #[allow(unsafe_code)]
    unsafe {
        match width {
            Width::Sse => {}
            Width::Fma => blocks!(sums!("vmovups ymm", ", [{at}]"), at = memory.0.as_ptr()),
            Width::Avx512 => blocks!(sums!("vmovups zmm", ", [{at}]"), at = memory.0.as_ptr()),
        }
    }
    start.taken()
}

/// Half of it additions of integers, a quarter loads, a quarter additions of vectors, chains of three at most: as many as a core starts in a clock
/// keep it busy, not its units, of which it has four, two and two or more. Cores whose integers and vectors share four units are told at most 5.3.
fn mixture() -> Duration {
    let word = 0_u64;
    let start = Watch::start();
    // SAFETY: the instructions read `word` and change the registers named here and flags.
    #[allow(unsafe_code)]
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "add {a}, {y}", "mov {l}, [{at}]", "paddd xmm0, xmm6", "add {b}, {y}", "add {c}, {y}", "mov {m}, [{at}]", "paddd xmm1, xmm6", "add {d}, {y}",
            "add {e}, {y}", "mov {l}, [{at}]", "paddd xmm2, xmm6", "add {f}, {y}", "add {a}, {y}", "mov {m}, [{at}]", "paddd xmm3, xmm6", "add {b}, {y}",
            "add {c}, {y}", "mov {l}, [{at}]", "paddd xmm4, xmm6", "add {d}, {y}", "add {e}, {y}", "mov {m}, [{at}]", "paddd xmm5, xmm6", "add {f}, {y}",
            "add {a}, {y}", "mov {l}, [{at}]", "paddd xmm0, xmm6", "add {b}, {y}", "add {c}, {y}", "mov {m}, [{at}]", "dec {turns}", "jnz 2b",
            a = inout(reg) 0_u64 => _, b = inout(reg) 0_u64 => _, c = inout(reg) 0_u64 => _,
            d = inout(reg) 0_u64 => _, e = inout(reg) 0_u64 => _, f = inout(reg) 0_u64 => _,
            l = out(reg) _, m = out(reg) _,
            y = in(reg) 5_u64,
            at = in(reg) &raw const word,
            turns = inout(reg) TURNS => _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
            options(readonly, nostack),
        );
    }
    start.taken()
}

/// Reads a part of every line of four quarters, side by side and each in order, and multiplies so many times eight vectors of zeros after each block.
fn read(memory: &[u8], runs: u64) -> Duration {
    let blocks = memory.len() / READ;
    if blocks == 0 {
        return Duration::ZERO;
    }
    let quarter = |n: usize| memory.as_ptr().wrapping_add(n * blocks * (READ / 4));
    let start = Watch::start();
    // SAFETY: they read `blocks` times 128 bytes of each quarter, which has as many, and change the registers named here and flags.
    #[allow(unsafe_code)]
    unsafe {
        asm!(
            "xorps xmm1, xmm1", "xorps xmm2, xmm2", "xorps xmm3, xmm3", "xorps xmm4, xmm4", "xorps xmm5, xmm5", "xorps xmm6, xmm6",
            "xorps xmm7, xmm7", "xorps xmm8, xmm8",
            ".p2align 6",
            "2:",
            "movups xmm0, [{a} + {at}]", "movups xmm0, [{b} + {at}]", "movups xmm0, [{c} + {at}]", "movups xmm0, [{d} + {at}]",
            "movups xmm0, [{a} + {at} + 64]", "movups xmm0, [{b} + {at} + 64]", "movups xmm0, [{c} + {at} + 64]", "movups xmm0, [{d} + {at} + 64]",
            "mov {left}, {runs}",
            "test {left}, {left}",
            "jz 4f",
            "3:",
            "mulps xmm1, xmm1", "mulps xmm2, xmm2", "mulps xmm3, xmm3", "mulps xmm4, xmm4", "mulps xmm5, xmm5", "mulps xmm6, xmm6",
            "mulps xmm7, xmm7", "mulps xmm8, xmm8",
            "dec {left}",
            "jnz 3b",
            "4:",
            "add {at}, 128",
            "dec {blocks}",
            "jnz 2b",
            a = in(reg) quarter(0),
            b = in(reg) quarter(1),
            c = in(reg) quarter(2),
            d = in(reg) quarter(3),
            at = inout(reg) 0_u64 => _,
            blocks = inout(reg) blocks => _,
            left = out(reg) _,
            runs = in(reg) runs,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _,
            options(readonly, nostack),
        );
    }
    start.taken()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_a_processor() {
        let (width, lanes) = match (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("fma")) {
            (true, _) => (Width::Avx512, 16.0),
            (_, true) => (Width::Fma, 8.0),
            _ => (Width::Sse, 4.0),
        };
        let found = measure(1, width, [Some((32 << 10, 1)), Some((1 << 20, 1)), None]).unwrap();
        assert!((5e8..8e9).contains(&found.clock), "{found:?}");
        // One to four units; others use the machine meanwhile.
        assert!([found.fma, found.loads].iter().all(|own| own.is_none_or(|own| own % lanes == 0.0 && own <= 4.0 * lanes)), "{found:?}");
        assert_eq!(found.fma.is_some(), width != Width::Sse);
        // Two at least, and no more than any core there is renames.
        assert!(found.issue.is_some_and(|rate| (1.5..12.0).contains(&rate)), "{found:?}");
        assert!(found.read[0].is_some_and(|rate| rate > 1e9) && found.read[1].is_none() && found.read[2].is_some(), "{found:?}");
        // What lies behind L1 takes longer than L1 does, and what lies behind L2 longer still.
        let ([Some(l2), None, Some(memory)], 5.0..) = (found.latency, found.latency[0].unwrap_or(0.0)) else { panic!("{found:?}") };
        assert!(memory > 1.5 * l2 && memory < 5e3, "{found:?}");
        assert!(found.in_flight.is_some_and(|lines| lines < 100.0), "{found:?}");
        assert!(found.pages.is_none_or(|(pages, cycles, apart)| (13..383).contains(&pages) && cycles > 2.0 && apart < 100.0), "{found:?}");
        assert!(found.beside[0].is_none() && found.beside[1].is_some(), "{found:?}");
        // Two that take as long as one, as both, and as one and a half; nothing is told of what takes no time.
        assert_eq!([1.0, 2.0, 1.5, 0.9, 2.5].map(|together| part_hidden(1.0, 1.0, together)), [1.0, 0.0, 0.5, 1.0, 0.0].map(Some));
        assert_eq!(part_hidden(1.0, 3.0, 3.5), Some(0.5));
        assert_eq!([part_hidden(0.0, 0.0, 0.0), hidden(1, NEAR, 0.0, 1e9), hidden(1, NEAR, 1e9, f64::INFINITY)], [None; 3]);
        // Caches that are too large to be walked through are not guessed at, and nothing is measured where no cache is known.
        let large = measure(1, Width::Sse, [None, None, Some((1 << 30, 1))]).unwrap();
        assert_eq!((large.read, large.held, large.latency), ([None; 3], None, [None; 3]));
        assert_eq!(measure(1, Width::Sse, [None; 3]), None);
        // One thread wakes no other; another runs after it was woken, and within a second however busy the machine is.
        assert_eq!(found.wake, None);
        let wakes = waking();
        assert!(wakes.len() == WAKES && quartiles(wakes).is_some_and(|[_, wake, _]| (1e-7..1.0).contains(&wake)));
    }

    /// Threads read through their parts of what they share; a core that waits alone has all of it.
    #[test]
    fn walks_end_within_their_level() {
        const KIB: usize = 1 << 10;
        // Two cores of a virtual machine, with a last level that many others use.
        let guest = [Some((48 << 10, 1)), Some((2 << 20, 1)), Some((260 << 20, 2))];
        assert_eq!(read_through(2, guest), [Some(192 * KIB), Some(8192 * KIB)]);
        assert_eq!(waited_through(guest), [Some(128 * KIB), Some(4096 * KIB), None]);
        // Eight cores of two threads: a thread has half of the first two levels and a sixteenth of the last.
        let desktop = [Some((32 << 10, 2)), Some((512 << 10, 2)), Some((32 << 20, 16))];
        assert_eq!(read_through(16, desktop), [Some(64 * KIB), Some(1024 * KIB)]);
        assert_eq!(waited_through(desktop), [Some(64 * KIB), Some(1024 * KIB), Some(131_072 * KIB)]);
        // A last level hardly larger than the one before is neither read nor waited for by itself.
        let narrow = [Some((32 << 10, 1)), Some((1 << 20, 1)), Some((2 << 20, 1))];
        assert_eq!((read_through(1, narrow)[1], waited_through(narrow)[1]), (None, None));
        assert_eq!(waited_through([None, Some((1 << 20, 1)), None]), [None, None, Some(4096 * KIB)]);
    }

    /// What all cores read at rates in GB/s, by MiB; the last level says that it holds 260.
    #[test]
    fn a_last_level_ends_where_half_comes_from_memory() {
        let seen =
            |rates: &[(f64, f64)], near| Beyond::seen(&rates.iter().map(|own| (own.0, 1e9 * own.1)).collect::<Vec<_>>(), near, 260.0);
        // A virtual machine's part of it, measured: 64 MiB are there, 128 are half there, 256 and more are not.
        let guest = [(32.0, 51.4), (64.0, 55.9), (128.0, 28.7), (256.0, 19.8), (512.0, 18.1)];
        let found = seen(&guest, Some(52e9)).unwrap();
        assert!(found.rate == 18.1e9 && found.bytes == 512 && found.held.is_some_and(|held| (128.0..160.0).contains(&held)), "{found:?}");
        // All of it is there.
        assert_eq!(seen(&[(128.0, 52.0), (256.0, 50.0), (650.0, 20.0)], Some(52e9)), Some(Beyond { rate: 20e9, bytes: 650, held: None }));
        // Its end was not reached, or what lies behind it not yet; memory may be as fast.
        assert_eq!(seen(&[(128.0, 52.0), (256.0, 50.0)], Some(52e9)), None);
        assert_eq!(seen(&[(128.0, 52.0), (256.0, 28.0)], Some(52e9)), None);
        assert_eq!(seen(&[(650.0, 50.0)], Some(52e9)), Some(Beyond { rate: 50e9, bytes: 650, held: None }));
        // Nothing was read of the level itself, or nothing at all.
        assert_eq!((seen(&[(650.0, 50.0)], None), seen(&[], None)), (Some(Beyond { rate: 50e9, bytes: 650, held: None }), None));
        assert!(free().is_none_or(|free| free > 1 << 20));
        // A container's limit, of which files that were read long ago take nothing; one without a limit.
        let stat = "anon 100\ninactive_anon 7\ninactive_file 300\nactive_file 50\n";
        assert_eq!((left("1000\n", "600\n", stat), left("max\n", "600\n", stat), left("500", "900", "")), (Some(700), None, Some(0)));
        assert_eq!(number_behind("MemTotal: 9 kB\nMemAvailable:   24 kB\n", "MemAvailable:"), Some(24));
    }

    /// Each number is the best of its own round: a slow clock in one of them makes no units.
    #[test]
    fn rounds_are_joined_before_they_are_divided() {
        let round = |clock, fma, wait| Round {
            clock,
            fma,
            loads: fma,
            issue: fma,
            read: [Some(fma), None],
            wait: [Some(wait), None, None],
            asked: Some((wait, wait / 2.0)),
            pages: [wait; WALKED.len()],
            apart: [1.0, wait],
            wake: quartiles(vec![1e3 * wait, 2e3 * wait]),
        };
        let best = round(2e9, 6e9, 9e-9).best(round(3e9, 5e9, 8e-9));
        assert_eq!((best.asked, best.apart), (Some((8e-9, 4e-9)), [1.0, 8e-9]));
        assert_eq!((best.clock, best.fma, best.read[0], best.wait[0], best.pages[3]), (3e9, 6e9, Some(6e9), Some(8e-9), 8e-9));
        // Wakes of one round: others ran in the second.
        let wake = round(2e9, 6e9, 4.0).best(round(2e9, 6e9, 8.0)).best(round(2e9, 6e9, 9.0)).wake;
        assert_eq!(wake, Some([5e3, 6e3, 7e3]));
        assert_eq!((quartiles(vec![3.0]), quartiles(vec![])), (Some([3.0; 3]), None));
        let cycles = [5.0, 5.0, 5.1, 5.0, 5.2, 5.1, 12.0, 12.1, 12.0, 12.0];
        assert_eq!(translated(&cycles), Some((97, 7.0)));
        assert_eq!(translated(&[5.0; 10]), None);
    }

    #[test]
    fn a_number_that_no_other_round_met_is_not_believed() {
        let all = |rounds: &[&[f64]]| confirmed(&rounds.iter().map(|own| own.to_vec()).collect::<Vec<_>>());
        assert!(all(&[&[1.0, 2.0], &[9.0, 2.1], &[1.05, 9.0]]));
        assert!(!all(&[&[1.0, 2.0], &[1.0, 2.5], &[1.0, 9.0]]), "the second number was reached once");
        assert!(!all(&[&[1.0]]) && !all(&[]));
    }

    #[test]
    fn a_chase_visits_each_page_once() {
        for pages in WALKED {
            let mut visited = order(pages);
            visited.sort_unstable();
            assert_eq!(visited, (0..pages).collect::<Vec<_>>());
        }
    }
}
