//! What goes on beside what cores do, and what they wait for.

use super::{cache, cpu, known, of, seconds, wide};
use warpsight_ir::profile::Fact;
use warpsight_ir::{Bytes, Checked, Cycles, Kernel, Limiter};
use warpsight_predict::volumes::report::{Settings, Work, report};

/// Of a stream from memory as much is hidden beside arithmetic as was measured; where nobody did, nothing.
#[test]
fn streams_go_on_beside_arithmetic_as_far_as_is_known() {
    let text = "name = \"stream\"\nblock = [64]\ngrid = [65536]\nregisters = 16\nflops = { f32 = 12 }\n\
                [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [4194304]\nload = [[\"tx\"]]\n\
                [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [1]\nstore = [[\"0\"]]\n";
    let with = |beside: Option<f64>| {
        let mut on = cpu();
        on.memory.dram_beside = beside.map_or_else(Fact::default, known);
        of(text, &on)
    };
    // Kernels hide half of what a loop does.
    let all = [None, Some(0.0), Some(0.5), Some(1.0)].map(|beside| with(beside).seconds.0);
    let found = with(None);
    let part = |limiter| seconds(&found, limiter);
    let busiest = [Limiter::Fp, Limiter::Issue, Limiter::L1].map(part).into_iter().fold(0.0, f64::max);
    let norm = |a: f64, b: f64| (a.powi(4) + b.powi(4)).powf(0.25);
    let far = norm(part(Limiter::Llc), part(Limiter::Dram));
    let near = norm(busiest, part(Limiter::L2));
    assert!(near > 0.3 * far && far > 0.3 * near, "neither hides the other wholly: {near} {far}");
    let waits = part(Limiter::Launch) + part(Limiter::Latency);
    let hidden = near + far - norm(near, far);
    let expected = [0.0, 0.0, 0.25, 0.5].map(|part| near + far - part * hidden + waits);
    for (found, expected) in all.into_iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{all:?} {expected}");
    }
}

/// Accesses of 64 bytes that begin at any element of 4 move two lines in 15 of 16 cases, at every fourth element in 3 of 4, at every 16th never.
#[test]
fn vectors_across_lines_are_moved_twice() {
    let l1 = |at: &str| {
        let program = format!(
            "program row {{ read buffer a: f32[66000] write buffer c: f32[65536] groups g = 64 {{ for k in 0..64 {{ \
             c[g * 1024 + k * 16] = a[g * 1024 + {at} : 16] }} }} }}"
        );
        let program = warpsight_ir::text::parse(&program).unwrap_or_else(|error| panic!("{error}\n{program}"));
        let kernel = Kernel::of(&Checked::new(program).expect("valid")).expect("a kernel");
        let mut on = wide();
        on.execution.lsu_lanes = known(32);
        let found = report(&Work { kernel: &kernel, points: 1024 }, &on, &Settings::default()).expect("a report");
        seconds(&found, Limiter::L1)
    };
    // A load and a store of a line each.
    let aligned = l1("k * 16");
    let more = ["k * 16 + 16", "k * 17", "k * 20", "k * 16 + 3", "k * 24"].map(|at| l1(at) / aligned);
    let expected = [1.0, 1.0 + 15.0 / 32.0, 1.0 + 12.0 / 32.0, 1.0 + 15.0 / 32.0, 1.0 + 8.0 / 32.0];
    assert!(more.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{more:?} {expected:?}");
}

/// Of what a core misses the latency is hidden that fits the window of instructions behind it, and the rest not.
#[test]
fn what_fits_the_window_is_not_waited_for() {
    // Lines of the second level at no prefetcher's stride; so much arithmetic beside each that a window takes some 100 cycles.
    let waits = |latency: f64, flops: u32, at_a_time: f64| {
        let text = format!(
            "name = \"walk\"\nblock = [1]\ngrid = [4096]\nregisters = 16\nchain = 1\nflops = {{ f32 = {flops} }}\n\
             [[loop]]\nname = \"k\"\ntrips = 64\n[[loop]]\nname = \"j\"\ntrips = 4\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [8388608]\nload = [[\"1024*k + 16384*j\"]]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [65536]\nstore = [[\"16*tx\"]]\n"
        );
        let mut on = cpu();
        on.memory.l2.latency = known(Cycles(latency));
        (on.memory.llc.latency, on.memory.dram_latency) = (known(Cycles(0.1)), known(Cycles(0.1)));
        on.memory.in_flight = known(at_a_time);
        seconds(&of(&text, &on), Limiter::Latency)
    };
    let few = |latency| waits(latency, 6400, 12.0);
    let [none, some, more] = [10.0, 500.0, 900.0].map(few);
    assert!(some > 3.0 * none.max(1e-9) && more - some > 0.5 * some, "{none} {some} {more}");
    // A core that waits for one line at a time waits longest.
    assert!(waits(500.0, 640, 1.0) > 2.0 * waits(500.0, 640, 100.0), "{} {}", waits(500.0, 640, 1.0), waits(500.0, 640, 100.0));
}

/// Translations that do not wait for each other take what was measured of such; where nobody measured that, all of a miss.
#[test]
fn translations_come_side_by_side() {
    let text = "name = \"pages\"\nblock = [1]\ngrid = [64]\nregisters = 16\nflops = { f32 = 64 }\n\
                [[loop]]\nname = \"k\"\ntrips = 512\n\
                [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [8388608]\nload = [[\"2048*k + tx\"]]\n\
                [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [64]\nstore = [[\"tx\"]]\n";
    let with = |lookup: Fact<Cycles>| {
        let mut on = cpu();
        let tlb = &mut on.memory.tlb;
        (tlb.page, tlb.reach, tlb.miss_latency, tlb.lookup) = (known(Bytes(4096.0)), known(Bytes(262144.0)), known(Cycles(8.0)), lookup);
        seconds(&of(text, &on), Limiter::Tlb)
    };
    let (unknown, quick) = (with(Fact::default()), with(known(Cycles(2.0))));
    assert!(quick > 0.0 && (unknown / quick - 4.0).abs() < 1e-9, "{unknown} {quick}");
}

/// Of vectors that one condition guards all elements are touched, of the last, too: in the middle of a launch may be just that one.
#[test]
fn guarded_vectors_are_whole_at_the_end() {
    let behind = |launched: u32, condition: &str| {
        let program = format!(
            "program row {{ read buffer w: f32[144] read buffer a: f32[73728] write buffer c: f32[147456] groups x = {launched}, y = 64 {{ \
             let v = w[x * 16 : 16{condition}] let u = a[x * 8192 + y * 128 : 16{condition}] c[x * 16384 + y * 256{condition}] = v * u }} }}"
        );
        let program = warpsight_ir::text::parse(&program).unwrap_or_else(|error| panic!("{error}\n{program}"));
        let kernel = Kernel::of(&Checked::new(program).expect("valid")).expect("a kernel");
        let mut on = cpu();
        on.memory.buffer_l1 = cache(128.0, 4, 6.4e11, 5.0);
        on.memory.buffer_l1.ways = Fact::unknown("all lines may lie anywhere");
        let found = report(&Work { kernel: &kernel, points: 1024 }, &on, &Settings::default()).expect("a report");
        seconds(&found, Limiter::L2)
    };
    let (all, some) = (behind(9, ""), behind(16, " if 0 <= x < 9"));
    assert!((some / all - 1.0).abs() < 0.01, "{all} {some}");
}

/// Where a vector is at an end of a row a branch is foreseen wrongly, 16 cycles whatever a core issues in a clock: here one vector of eight.
#[test]
fn ends_of_rows_surprise_a_core() {
    let refills = |guard: &str| {
        let text = format!(
            "program row {{ read buffer a: f32[144] write buffer c: f32[128] groups g = 8 {{ let n = g * 16 let v = a[n - 1{guard}] c[n] = v + v }} }}"
        );
        let program = warpsight_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let kernel = Kernel::of(&Checked::new(program).unwrap_or_else(|error| panic!("{error}\n{text}"))).expect("a kernel");
        let issue = |rate: f64| {
            let mut on = wide();
            on.execution.issue_per_clock = known(rate);
            seconds(&report(&Work { kernel: &kernel, points: 128 }, &on, &Settings::default()).expect("a report"), Limiter::Issue)
        };
        // Instructions take half as long where twice as many are issued; four cores do eight groups.
        (2.0 * issue(8.0) - issue(4.0)) * 2.5e9 * 4.0
    };
    assert!((refills(" : 16 if 0 <= n - 1 < 144 per lane") - 16.0).abs() < 1e-6);
    assert!(refills(" + 1 : 16").abs() < 1e-6);
}
