//! The coarse count on kernels whose requests are known by hand, and the one time that both counts go through.

use warpsight_ir::layout::ImageLayout;
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::text::parse;
use warpsight_ir::{Bytes, Checked, CostModel, Estimate, Kernel, Limiter, Meanwhile, NoEstimate, Profile, Seconds, profile};
use warpsight_predict::coarse::Coarse;
use warpsight_predict::coarse::requests::{Lines, Requests, Warps, requests};
use warpsight_predict::time::{Wait, waits};
use warpsight_predict::{InPass, KernelModel};

fn kernel(text: &str) -> Kernel {
    let program = parse(text).unwrap_or_else(|e| panic!("{e}"));
    Kernel::of(&Checked::new(program).expect("valid")).expect("affine")
}

fn adreno() -> Profile {
    profile::builtin("adreno640").expect("is there").expect("parses")
}

/// y[i] = x[i] over 65,536 floats, `stride` elements between lanes' columns.
fn copy(load: &str, store: &str) -> Kernel {
    copy_of(1024, load, store)
}

/// The same over so many rows.
fn copy_of(rows: u32, load: &str, store: &str) -> Kernel {
    kernel(&format!(
        "program copy {{
  read buffer x: f32[{rows}, 64]
  write buffer y: f32[{rows}, 64]
  groups g = {rows}
  lanes l = 64
  {{
    let v = x[{load}]
    y[{store}] = v
  }}
}}"
    ))
}

const LINES: Lines =
    Lines { warp: 64, texture: 32.0, buffer: 64.0, sector: 64.0, layout: ImageLayout::Linear { pitch_align: 1 }, banks: 32 };

fn counted(kernel: &Kernel) -> Requests {
    requests(kernel, LINES, None, &mut Warps::default())
}

#[test]
fn lines_of_rows_and_columns() {
    // 64 lanes of 4 B in a row: 4 lines of 64 B for the load and 4 for the store.
    let row = counted(&copy("g, l", "g, l"));
    assert_eq!((row.load_lines, row.store_lines, row.buffer_bytes, row.instructions), (4.0, 4.0, 8.0, 2.0));
    assert_eq!(row.tensors[0].group_bytes, 256.0);
    assert_eq!(row.tensors[0].distinct_groups, 1024.0);
    // Down a column of 256-byte rows every lane has a line to itself: 64 for the load, 4 for the store.
    let kernel = kernel(
        "program column {
  read buffer x: f32[64, 1024]
  write buffer y: f32[1024, 64]
  groups g = 1024
  lanes l = 64
  {
    let v = x[l, g]
    y[g, l] = v
  }
}",
    );
    let column = counted(&kernel);
    assert_eq!((column.load_lines, column.store_lines), (64.0, 4.0));
    let ratio = |on: &Profile| {
        let l2 = |k: &Kernel| KernelModel.estimate(k, on).expect("known").limits.of(Limiter::L2).0;
        l2(&kernel) / l2(&copy("g, l", "g, l"))
    };
    assert!(ratio(&adreno()) > 8.0);
    // Walks show the second level's lines alone. What it is asked for at once are 32 bytes at most, what texture caches are filled by: 64 of
    // these and 256 B of stores, not 256 and 256.
    let mut walked = adreno();
    walked.memory.sector = Fact::known(Bytes(256.0), Source::Simulated, "a walk");
    assert!((ratio(&walked) - (64.0 * 32.0 + 256.0) / 512.0).abs() < 0.01, "{}", ratio(&walked));
}

#[test]
fn texels_are_counted_in_lines_of_two() {
    let k = kernel(
        "program fetch {
  read image a: rgba32f[64, 512] border zero
  write buffer y: f32[512, 64]
  groups g = 512
  lanes l = 64
  {
    let v = a@[l, g]
    y[g, l] = v.[0..1]
  }
}",
    );
    let t = counted(&k);
    // 64 texels of 16 B in lines of 32 B.
    assert_eq!((t.texels, t.texture_lines), (1.0, 32.0));
    let estimate = KernelModel.estimate(&k, &adreno()).expect("known");
    assert_eq!(estimate.volumes.texture.0, 512.0 * 64.0 * 16.0);
    // Five times what the second level holds.
    assert!((estimate.volumes.dram.0 / (512.0 * 64.0 * 20.0) - 1.0).abs() < 1e-6, "{}", estimate.volumes.dram.0);
}

/// Lines of 64 bytes hold 2 × 2 texels in Mali's order: 64 lanes side by side touch as many of them as 64 lanes below each other. Where rows
/// lie one after the other it is 16 and 64.
#[test]
fn texels_lie_in_lines_as_the_device_has_them() {
    let lines = |at: &str, layout| {
        let k = kernel(&format!(
            "program fetch {{
  read image a: rgba32f[64, 64] border zero
  write buffer y: f32[64, 64]
  groups g = 64
  lanes l = 64
  {{
    let v = a@[{at}]
    y[g, l] = v.[0..1]
  }}
}}"
        ));
        requests(&k, Lines { texture: 64.0, layout, ..LINES }, None, &mut Warps::default()).texture_lines
    };
    let both = |layout| (lines("l, g", layout), lines("g, l", layout));
    assert_eq!(both(ImageLayout::MaliInterleaved), (32.0, 32.0));
    assert_eq!(both(ImageLayout::Linear { pitch_align: 1 }), (16.0, 64.0));
}

#[test]
fn compute_bound_work_is_limited_by_floating_point() {
    let chains: Vec<String> = (0..16).map(|i| format!("      a{i} = fma(a{i}, 1.5, 0.5)")).collect();
    let vars: Vec<String> = (0..16).map(|i| format!("    var a{i}: f32x4 = splat4(0.0)")).collect();
    let chains: Vec<String> = chains.iter().map(|c| c.replace("1.5, 0.5", "splat4(1.5), splat4(0.5)")).collect();
    let text = format!(
        "program burn {{
  write buffer y: f32[512, 256]
  groups g = 512
  lanes l = 64
  {{
{}
    for i in 0..256 step 1 unroll 1 {{
{}
    }}
    y[g, l * 4] = a0
  }}
}}",
        vars.join("\n"),
        chains.join("\n")
    );
    let text = text.replace(" step 1 unroll 1", "");
    let estimate = KernelModel.estimate(&kernel(&text), &adreno()).expect("known");
    // 512·64 work-items · 256 · 16 · 4 multiply-adds at 2 cores · 384 lanes · 585 MHz.
    let seconds = 512.0 * 64.0 * 256.0 * 64.0 / (2.0 * 384.0 * 585e6);
    assert!((estimate.limits.of(Limiter::Fp).0 / seconds - 1.0).abs() < 1e-9);
    // Each multiply-add takes a slot of the scheduler too, which issues exactly as many as the units take: neither hides the other wholly.
    assert!(matches!(estimate.limiter(), Limiter::Fp | Limiter::Issue), "{:?}", estimate.limits);
    assert!((1.0..1.2).contains(&(estimate.time.0 / seconds)), "{estimate:?}");
}

#[test]
fn a_missing_number_is_named() {
    let mut g77 = profile::builtin("mali-g77").expect("is there").expect("parses");
    g77.memory.buffer_l1.line = Fact::unknown("no source");
    match KernelModel.estimate(&copy("g, l", "g, l"), &g77) {
        Err(NoEstimate::Missing { profile, unknown }) => assert_eq!((&*profile, &*unknown.field), ("mali-g77", "memory.buffer_l1.line")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_counts_of_what_boxes_tell_exactly_are_one() {
    let on = adreno();
    let kernel = copy("g, l", "g, l");
    let coarse = Coarse::of(&on, Meanwhile::default()).expect("known").seconds(&kernel).expect("counted");
    let exact = KernelModel.estimate(&kernel, &on).expect("counted");
    assert_eq!(coarse.1, exact.limiter());
    assert!((coarse.0.0 / exact.time.0 - 1.0).abs() < 1e-9, "{coarse:?} {exact:?}");
}

#[test]
fn same_input_same_bits() {
    let k = copy("g, l", "g, l");
    assert_eq!(KernelModel.estimate(&k, &adreno()), KernelModel.estimate(&k, &adreno()));
}

/// 40 loads of a thread, none of which waits for another.
#[test]
fn a_straight_run_waits_once_where_nothing_is_recorded() {
    let loads: String = (0..40).map(|i| format!("    let v{i} = x[g, l, {i}]\n")).collect();
    let sum = (0..40).map(|i| format!("v{i}")).collect::<Vec<_>>().join(" + ");
    let k = kernel(&format!(
        "program run {{
  read buffer x: f32[64, 64, 40]
  write buffer y: f32[64, 64]
  groups g = 64
  lanes l = 64
  {{
{loads}    y[g, l] = {sum}
  }}
}}"
    ));
    let own = |times, together| Wait { times, together, ahead: false };
    assert_eq!(waits(&k, &adreno())[..], [own(1.0, 40.0)]);
    let a100 = profile::builtin("a100-40").expect("is there").expect("parses");
    assert_eq!(waits(&k, &a100)[..], [own(3.0, 40.0 / 3.0)]);
}

/// Groups put what they load in local memory, and compute with it: what the next trip puts there is loaded before, or behind that.
fn staged(ahead: bool) -> Kernel {
    let next = "      next = x[k + 1, g, l if 0 <= k + 1 < 64]\n";
    let (before, behind) = if ahead { (next, "") } else { ("", next) };
    kernel(&format!(
        "program staged {{
  read buffer x: f32[64, 16, 64]
  write buffer y: f32[16, 64]
  groups g = 16
  lanes l = 64
  local tile: f32[64]
  {{
    var next: f32 = x[0, g, l]
    var sum: f32 = 0.0
    for k in 0..64 unroll none {{
      barrier group local
      tile[l] = next
      barrier group local
{before}      for i in 0..64 unroll none {{
        let t = tile[i]
        sum = fma(t, t, sum)
      }}
{behind}      sum = sum + {}
    }}
    y[g, l] = sum
  }}
}}",
        // Behind, what was loaded is needed at once.
        if ahead { "0.0" } else { "next * 0.0" }
    ))
}

#[test]
fn what_is_loaded_ahead_is_waited_for_while_a_warp_computes() {
    let a100 = profile::builtin("a100-40").expect("is there").expect("parses");
    // The last trip loads nothing for a next one.
    let wait = |times, ahead| Wait { times, together: 1.0, ahead };
    assert_eq!(waits(&staged(true), &a100)[..], [wait(1.0, false), wait(63.0, true)]);
    assert_eq!(waits(&staged(false), &a100)[..], [wait(65.0, false)]);
    let mut adreno = adreno();
    adreno.probed.barrier = Fact::known(Seconds(2e-8), Source::Assumed, "a test");
    for on in [&a100, &adreno] {
        let [ahead, behind] = [true, false].map(|ahead| KernelModel.estimate(&staged(ahead), on).expect("is estimated"));
        let latency = |of: &Estimate| of.limits.0.iter().find(|own| own.0 == Limiter::Latency).expect("is known").1.0;
        let less = latency(&behind) - latency(&ahead);
        // 64 waits for memory less, all but one; what is computed is the same.
        let waited = 64.0 * on.memory.dram_latency.get().expect("known").0 / on.execution.clock.get().expect("known").0;
        let l2 = 64.0 * on.memory.l2.latency.get().expect("known").0 / on.execution.clock.get().expect("known").0;
        assert!(less > 0.5 * l2 && less < 1.2 * waited && ahead.time < behind.time, "{}: {ahead:?} {behind:?} {waited}", on.name);
    }
}

/// A core of two holds 16 groups: the 17th begins when they end.
#[test]
fn groups_live_whole_lives() {
    let latency = |groups: u32| {
        let k = kernel(&format!(
            "program copy {{
  read buffer x: f32[{groups}, 64]
  write buffer y: f32[{groups}, 64]
  groups g = {groups}
  lanes l = 64
  {{
    let v = x[g, l]
    y[g, l] = v
  }}
}}"
        ));
        KernelModel.estimate(&k, &adreno()).expect("known").limits.of(Limiter::Latency).0
    };
    let (one, two, full) = (latency(32), latency(34), latency(64));
    assert!((1.8..2.01).contains(&(two / one)), "{one} s, {two} s");
    assert!((0.9..1.1).contains(&(full / two)), "{two} s, {full} s");
}

/// On a GPU, too, the second level holds less of what a launch left the more others touch before it comes again; by either count.
#[test]
fn others_take_the_second_level() {
    let (kernel, on) = (copy_of(64, "g, l", "g, l"), adreno());
    let memory = |handed: f64, pass: f64, known: &[u16]| {
        let (meanwhile, kernel) =
            (Meanwhile { handed: Bytes(handed), pass: Bytes(pass) }, Kernel { known: known.to_vec(), ..kernel.clone() });
        let exact = InPass { meanwhile }.estimate(&kernel, &on).expect("counted");
        let coarse = Coarse::of(&on, meanwhile).expect("known").counts(&kernel).expect("counted").dram.expect("known");
        [exact.volumes.dram.0, coarse.load + coarse.store]
    };
    // 16 KiB each way.
    let [alone, others] = [0.0, 1e7].map(|bytes| memory(bytes, bytes, &[]));
    assert!(alone.iter().all(|&bytes| bytes < 3000.0), "{alone:?}");
    assert!(others.iter().all(|&bytes| (32000.0..=32768.5).contains(&bytes)), "{others:?}");
    // Constants lie a pass apart, what is handed on does not, and a pass is no shorter than what it hands on.
    let [one, none, both] = [memory(0.0, 1e7, &[0]), memory(0.0, 1e7, &[]), memory(1e7, 0.0, &[0])];
    assert!(one.iter().zip(alone).all(|(own, alone)| (own - 16384.0 - alone / 2.0).abs() < 800.0), "{one:?} {alone:?}");
    assert_eq!((none, both), (alone, others));
}
