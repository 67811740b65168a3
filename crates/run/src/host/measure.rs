//! What CPUID does not say and a few milliseconds tell: the clock, multiply-adds a clock, and how fast cores read what lies behind their first
//! caches. All threads at once, since cores share clocks and caches; the fastest of many short spans, since others may use the machine.

use super::Measured;
use std::arch::asm;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Products of a chain. Each waits three cycles for the one before: on every x86 core since 2008 (Intel) and 2017 (AMD).
const CHAIN: u64 = 8;
const PRODUCT: u64 = 3;
/// Times that a chain, or a block of multiply-adds, runs in a span: some 50 µs, less than what a scheduler gives a thread at once.
const TURNS: u64 = 8_000;
/// Spans of each measurement.
const SPANS: usize = 12;
/// Multiply-adds of a block that do not wait for each other: more than the four cycles of two units.
const SUMS: u64 = 12;
/// Bytes that a block of loads reads.
const BLOCK: usize = 512;
/// The most memory that is walked through, by all threads together.
const MOST: u64 = 160 << 20;
/// Pages of chases: a power of two never, whose steps would come back early; words of a page, and steps of a chase.
const WALKED: [usize; 10] = [15, 31, 47, 63, 71, 95, 127, 191, 255, 383];
const PAGE: usize = 4096 / size_of::<usize>();
const CHASE: usize = 4_000;
/// Of a cache, the part that is walked through: it has other things to hold.
const PART: f64 = 0.6;

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

/// Measures, with so many threads, caches of these sizes: bytes of an instance and the threads that share it.
pub(super) fn measure(threads: usize, width: Width, caches: [Option<(u64, u32)>; 3]) -> Option<Measured> {
    let clock = together(threads, || best(|| CHAIN as f64 * PRODUCT as f64 * TURNS as f64 / products().as_secs_f64()))?;
    let lanes = if width == Width::Avx512 { 16.0 } else { 8.0 };
    let fma = (width != Width::Sse)
        .then(|| together(threads, || best(|| SUMS as f64 * TURNS as f64 / multiply_adds(width).as_secs_f64())))
        .flatten()
        .map(|rate| rate / clock * lanes);
    let loads = (width != Width::Sse)
        .then(|| together(threads, || best(|| SUMS as f64 * TURNS as f64 / loads(width).as_secs_f64())))
        .flatten()
        .map(|rate| rate / clock * lanes);
    // Of each level what fits there and not before, for each thread.
    let part = |own: Option<(u64, u32)>| own.map(|(bytes, sharing)| bytes as f64 / f64::from(sharing).min(threads as f64).max(1.0));
    let [first, second, third] = caches.map(part);
    let within = |level: Option<f64>, before: Option<f64>| {
        let bytes = level? * PART;
        (bytes > 1.5 * before.unwrap_or(0.0)).then_some(bytes)
    };
    let last = third.or(second).or(first)?;
    let sizes = [within(second, first), within(third, second.or(first)), Some(4.0 * last)];
    let read = sizes.map(|bytes| reading(threads, bytes.filter(|&bytes| bytes * threads as f64 <= MOST as f64)? as usize));
    Some(Measured { clock, fma, loads, read, pages: pages(clock) })
}

fn best(measured: impl Fn() -> f64) -> f64 {
    (0..SPANS).map(|_| measured()).fold(0.0, f64::max)
}

/// Runs this on so many threads at once: the mean of what they say, `None` where a thread cannot be had.
fn together(threads: usize, run: impl Fn() -> f64 + Sync) -> Option<f64> {
    let start = Barrier::new(threads);
    let all = std::thread::scope(|scope| {
        let spawned: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    run()
                })
            })
            .collect();
        spawned.into_iter().map(|thread| thread.join().ok()).sum::<Option<f64>>()
    })?;
    Some(all / threads as f64)
}

/// Bytes per second that all threads read, each from memory of its own; the best of a few passes that all begin at once.
fn reading(threads: usize, bytes: usize) -> Option<f64> {
    let blocks = (bytes / BLOCK).max(1);
    // As many passes as take about as long as a span elsewhere.
    let again = ((2 << 20) / (blocks * BLOCK)).max(1);
    let start = Barrier::new(threads);
    let one = || {
        let memory = vec![1_u8; blocks * BLOCK];
        read(&memory);
        let passes = (0..SPANS).map(|_| {
            start.wait();
            (0..again).map(|_| read(&memory)).sum::<Duration>().as_secs_f64()
        });
        passes.collect::<Vec<f64>>()
    };
    let all = std::thread::scope(|scope| {
        let spawned: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        spawned.into_iter().map(|thread| thread.join().ok()).collect::<Option<Vec<_>>>()
    })?;
    let moved = (again * blocks * BLOCK) as f64;
    let rates = (0..SPANS).map(|pass| all.iter().map(|thread| moved / thread[pass]).sum::<f64>());
    Some(rates.fold(0.0, f64::max))
}

/// How many pages a chase goes through before their translations have to be looked up, and the cycles that each takes then; `None` where no
/// number of pages shows it (huge pages).
fn pages(clock: f64) -> Option<(u32, f64)> {
    let mut memory = vec![0_usize; WALKED[WALKED.len() - 1] * PAGE];
    // A line of its own set in each page, so that the first cache holds all of them.
    let place = |page: usize| page * PAGE + page * 8 % PAGE;
    let mut cycles = |pages: usize| {
        // Steps of a fixed part of the walk, without a pattern of neighbours.
        let step = (pages * 5 / 8) | 1;
        let order: Vec<usize> = (0..pages).scan(0, |at, _| Some(std::mem::replace(at, (*at + step) % pages))).collect();
        for (n, &page) in order.iter().enumerate() {
            memory[place(page)] = place(order[(n + 1) % pages]);
        }
        let taken = (0..SPANS).map(|_| {
            let start = Instant::now();
            let mut at = 0;
            for _ in 0..CHASE {
                at = memory[at];
            }
            std::hint::black_box(at);
            start.elapsed().as_secs_f64()
        });
        taken.fold(f64::INFINITY, f64::min) * clock / CHASE as f64
    };
    let found: Vec<f64> = WALKED.iter().map(|&pages| cycles(pages)).collect();
    let miss = found[found.len() - 1] - found[0];
    let held = found.iter().rposition(|&own| own - found[0] < miss / 4.0)?;
    (miss > 2.0).then_some((WALKED[held] as u32, miss))
}

/// A chain of products, each of the result before.
fn products() -> Duration {
    let start = Instant::now();
    // SAFETY: the instructions touch the two registers named here and flags, no memory and no stack.
    #[allow(unsafe_code)]
    unsafe {
        asm!(
            "2:",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "dec {turns}",
            "jnz 2b",
            x = inout(reg) 3_u64 => _,
            turns = inout(reg) TURNS => _,
            options(nomem, nostack),
        );
    }
    start.elapsed()
}

/// Twelve instructions, each with the register of another number.
macro_rules! sums {
    ($head:literal, $tail:literal) => {
        concat!(
            "2:\n", sums!(@ $head, $tail, "0"), sums!(@ $head, $tail, "1"), sums!(@ $head, $tail, "2"), sums!(@ $head, $tail, "3"),
            sums!(@ $head, $tail, "4"), sums!(@ $head, $tail, "5"), sums!(@ $head, $tail, "6"), sums!(@ $head, $tail, "7"),
            sums!(@ $head, $tail, "8"), sums!(@ $head, $tail, "9"), sums!(@ $head, $tail, "10"), sums!(@ $head, $tail, "11"),
            "dec {turns}\njnz 2b\nvzeroupper"
        )
    };
    (@ $head:literal, $tail:literal, $n:literal) => { concat!($head, $n, $tail, "\n") };
}

/// Sums that do not wait for each other, of zeros.
fn multiply_adds(width: Width) -> Duration {
    macro_rules! run {
        ($text:expr) => {
            asm!(
                "vpxor xmm12, xmm12, xmm12",
                "vzeroall",
                $text,
                turns = inout(reg) TURNS => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nomem, nostack),
            )
        };
    }
    let start = Instant::now();
    // SAFETY: the processor has these instructions (`Width` is made of CPUID); they touch the registers named here and flags.
    #[allow(unsafe_code)]
    unsafe {
        match width {
            Width::Sse => {}
            Width::Fma => run!(sums!("vfmadd231ps ymm", ", ymm12, ymm12")),
            Width::Avx512 => run!(sums!("vfmadd231ps zmm", ", zmm12, zmm12")),
        }
    }
    start.elapsed()
}

/// Loads of one vector, again and again.
fn loads(width: Width) -> Duration {
    #[repr(align(64))]
    struct Vector([u8; 64]);
    let memory = Vector([0; 64]);
    macro_rules! run {
        ($text:expr) => {
            asm!(
                $text,
                turns = inout(reg) TURNS => _,
                at = in(reg) memory.0.as_ptr(),
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(readonly, nostack),
            )
        };
    }
    let start = Instant::now();
    // SAFETY: the processor has these instructions; they read the 64 bytes of `memory` and change the registers named here and flags.
    #[allow(unsafe_code)]
    unsafe {
        match width {
            Width::Sse => {}
            Width::Fma => run!(sums!("vmovups ymm", ", [{at}]")),
            Width::Avx512 => run!(sums!("vmovups zmm", ", [{at}]")),
        }
    }
    start.elapsed()
}

/// Reads a part of every line, in order.
fn read(memory: &[u8]) -> Duration {
    let blocks = memory.len() / BLOCK;
    if blocks == 0 {
        return Duration::ZERO;
    }
    let start = Instant::now();
    // SAFETY: they read `blocks` times 512 bytes of `memory`, which has as many, and change the registers named here and flags.
    #[allow(unsafe_code)]
    unsafe {
        asm!(
            "2:",
            "movups xmm0, [{at}]", "movups xmm0, [{at} + 64]", "movups xmm0, [{at} + 128]", "movups xmm0, [{at} + 192]",
            "movups xmm0, [{at} + 256]", "movups xmm0, [{at} + 320]", "movups xmm0, [{at} + 384]", "movups xmm0, [{at} + 448]",
            "add {at}, 512",
            "dec {blocks}",
            "jnz 2b",
            at = inout(reg) memory.as_ptr() => _,
            blocks = inout(reg) blocks => _,
            out("xmm0") _,
            options(readonly, nostack),
        );
    }
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_a_processor() {
        let width = match (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("fma")) {
            (true, _) => Width::Avx512,
            (_, true) => Width::Fma,
            _ => Width::Sse,
        };
        let found = measure(1, width, [Some((32 << 10, 1)), Some((1 << 20, 1)), None]).unwrap();
        assert!((5e8..1e10).contains(&found.clock), "{found:?}");
        // One unit or two, of 256 or 512 bits; measured one after the other on a machine that others use.
        assert!(found.fma.is_none_or(|fma| (2.0..80.0).contains(&fma)), "{found:?}");
        assert!(found.loads.is_none_or(|lanes| (2.0..80.0).contains(&lanes)), "{found:?}");
        assert!(found.read[0].is_some_and(|rate| rate > 1e9) && found.read[1].is_none() && found.read[2].is_some(), "{found:?}");
        // Caches that are too large to be walked through are not guessed at, and nothing is measured where no cache is known.
        assert_eq!(measure(1, Width::Sse, [None, None, Some((1 << 30, 1))]).unwrap().read, [None; 3]);
        assert_eq!(measure(1, Width::Sse, [None; 3]), None);
    }
}
