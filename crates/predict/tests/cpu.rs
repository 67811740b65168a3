//! The model of CPUs: what vectors, rows and caches make of kernels. Against measured times: `examples/cpu`.

#[path = "cpu/beside.rs"]
mod beside;

use warpsight_ir::accesses::text;
use warpsight_ir::profile::{Cache, Fact, Profile, Source, builtin};
use warpsight_ir::{Bytes, BytesPerSecond, Checked, CostModel, Cycles, Hertz, Kernel, Limiter, Meanwhile, Nest, Seconds};
use warpsight_predict::coarse::Coarse;
use warpsight_predict::volumes::report::{Report, Settings, Work, report};
use warpsight_predict::{InPass, KernelModel};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, Source::Assumed, "a CPU made up for tests")
}

fn cache(bytes: f64, instances: u32, bandwidth: f64, latency: f64) -> Cache {
    Cache {
        bytes: known(Bytes(bytes)),
        line: known(Bytes(64.0)),
        ways: known(8),
        set_hash: Fact::unknown("not needed"),
        instances: known(instances),
        bandwidth: known(BytesPerSecond(bandwidth)),
        latency: known(Cycles(latency)),
    }
}

/// Four cores at 2.5 GHz: 32 KiB and 1 MiB each, 16 MiB together, 40 GB/s.
fn cpu() -> Profile {
    let mut on = builtin("a100-40").unwrap().unwrap();
    on.name = "cpu".into();
    let e = &mut on.execution;
    (e.cores, e.clock, e.warp, e.max_groups) = (known(4), known(Hertz(2.5e9)), known(1), known(1));
    for limit in [&mut e.max_warps, &mut e.registers, &mut e.register_granule, &mut e.warp_granule, &mut e.max_group_size] {
        *limit = Fact::absent("a CPU made up for tests");
    }
    (e.fma_per_clock, e.fma64_per_clock, e.special_per_clock) = (known(16.0), known(8.0), known(1.0));
    (e.lsu_lanes, e.issue_per_clock, e.vector_width, e.launch_overhead) = (known(16), known(4.0), known(8), known(Seconds(1e-6)));
    let m = &mut on.memory;
    m.buffer_l1 = cache(32768.0, 4, 6.4e11, 5.0);
    m.l2 = cache(1048576.0, 4, 3.2e11, 14.0);
    m.llc = cache(16777216.0, 1, 1e11, 50.0);
    (m.dram_bandwidth, m.dram_latency) = (known(BytesPerSecond(4e10)), known(Cycles(225.0)));
    on
}

fn of(text: &str, on: &Profile) -> Report {
    let written = text::parse(text, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    report(&Work { kernel: &written.kernel, points: written.points }, on, &Settings::default()).unwrap_or_else(|error| panic!("{error:?}"))
}

fn seconds(report: &Report, limiter: Limiter) -> f64 {
    let found = report.limits.iter().find(|limit| limit.0 == limiter);
    found.expect("listed").1.as_ref().expect("known").0
}

fn copy(block: u32, policy: &str) -> String {
    format!(
        "name = \"copy\"\nblock = [{block}]\ndomain = [16777216]\nregisters = 8\n\
         [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [16777216]\nload = [[\"tx\"]]\n\
         [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [16777216]\nstore = [[\"tx\"]]\npolicy = \"{policy}\"\n"
    )
}

#[test]
fn a_copy_loads_what_it_writes_too() {
    let on = cpu();
    let found = of(&copy(1024, "write_back"), &on);
    let v = &found.volumes;
    assert_eq!((v.l1_requested, v.l2_load_compulsory), (Some(4.0), Some(4.0)));
    // But for what the launch before left in a cache of an eighth of this.
    let bytes = [v.l2_load, v.l2_store, v.dram_load, v.dram_store].map(Option::unwrap);
    assert!(bytes.iter().zip([8.0, 4.0, 8.0, 4.0]).all(|(found, all)| (found / all - 1.0).abs() < 1e-4), "{bytes:?}");
    let dram = 12.0 * 16777216.0 / 4e10;
    assert!((seconds(&found, Limiter::Dram) / dram - 1.0).abs() < 1e-4);
    assert_eq!(found.limiter, Some(Limiter::Dram));
    assert!(
        (1.1..1.2).contains(&(found.seconds.0 / dram)),
        "what memory takes, and what the core does meanwhile: {}",
        found.seconds.0 / dram
    );
    let streaming = of(&copy(1024, "non_temporal"), &on).volumes;
    let bytes = [streaming.dram_load, streaming.dram_store].map(Option::unwrap);
    assert!(bytes.iter().all(|found| (found / 4.0 - 1.0).abs() < 1e-3), "stores that bypass the caches load nothing: {bytes:?}");
}

/// Rows become vectors of 8 f32 where they are long, or leave no rest.
#[test]
fn rows_become_vectors() {
    for (block, steps) in [(1024, 128), (16, 2), (8, 1), (4, 4), (12, 12), (32, 4)] {
        let found = of(&copy(block, "write_back"), &cpu());
        let groups = 16777216_u64.div_ceil(block.into());
        assert!(found.instructions.iter().all(|own| own.executions == groups * steps && own.wavefronts == Some(1.0)), "{block}");
    }
    let strided = copy(1024, "write_back")
        .replace("dims = [16777216]\nload = [[\"tx\"]]", "dims = [16777216, 7]\nload = [[\"7*tx\", 0]]")
        .replace("16777216", "65536");
    let found = of(&strided, &cpu());
    assert_eq!(
        [found.instructions[0].wavefronts, found.instructions[1].wavefronts],
        [Some(8.0), Some(1.0)],
        "far neighbours are loaded one by one"
    );
}

fn star(block: &str) -> String {
    format!(
        "name = \"star\"\nblock = {block}\ndomain = [1024, 1024]\nregisters = 16\nflops = {{ f64_fma = 4 }}\n\
         [[field]]\nname = \"A\"\nelement = \"f64\"\ndims = [1024, 1026]\nalign = 8\n\
         load = [[\"tx\", \"ty+1\"], [\"tx+1\", \"ty+1\"], [\"tx-1\", \"ty+1\"], [\"tx\", \"ty\"], [\"tx\", \"ty+2\"]]\n\
         [[field]]\nname = \"B\"\nelement = \"f64\"\ndims = [1024, 1024]\nstore = [[\"tx\", \"ty\"]]\n"
    )
}

/// Rows of 8 KiB: three of A and two of B fit 64 KiB, not 8 KiB; what L2 holds does not change.
#[test]
fn caches_hold_rows_or_do_not() {
    let load = |l1: f64, block: &str| {
        let mut on = cpu();
        on.memory.buffer_l1.bytes = known(Bytes(l1));
        // Less than what the launch before touched.
        on.memory.llc.bytes = known(Bytes(2097152.0));
        let found = of(&star(block), &on).volumes;
        (found.l2_load.unwrap(), found.dram_load.unwrap())
    };
    let (roomy, tight) = (load(65536.0, "[1024, 1]"), load(8192.0, "[1024, 1]"));
    assert!((roomy.0 - 16.0).abs() < 0.5, "A once and B once: {roomy:?}");
    assert!((tight.0 - 32.0).abs() < 0.5, "A three times and B once: {tight:?}");
    assert!((roomy.1 - 16.0).abs() < 0.2 && (roomy.1 - tight.1).abs() < 1e-9, "{roomy:?} {tight:?}");
    // Tall groups of short rows: the rows above and below are still there.
    let short = load(8192.0, "[64, 16]");
    assert!((16.0..20.0).contains(&short.0), "{short:?}");
}

/// Work-items that walk through 64 channels three times, and meet a third of the rows of those beside them: each meets 69 KiB of A, which are
/// behind 48 KiB when the next begins, whatever axis leads through the weights alone or ends at an edge.
#[test]
fn what_a_work_item_walks_through_is_gone_for_the_next() {
    let load = |kib: f64, filters: u32| {
        let mut on = cpu();
        on.memory.buffer_l1.bytes = known(Bytes(kib * 1024.0));
        let rows: Vec<String> = (0..8)
            .map(|i| format!("{{ at = [\"tx\", \"16*ty + r + {}\", \"c\"], guard = [\"0 <= 16*ty + r + {} < 57\"] }}", 2 * i, 2 * i))
            .collect();
        let text = format!(
            "name = \"walk\"\nblock = [1, 1, 1]\ngrid = [28, 4, {filters}]\nregisters = 150\nflops = {{ f32x16_fma = 1536 }}\n\
             [[loop]]\nname = \"r\"\ntrips = 3\n[[loop]]\nname = \"c\"\ntrips = 64\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [57, 57, 64]\nload = [{}]\n\
             [[field]]\nname = \"W\"\nelement = \"f32\"\ndims = [16, 64, 3, {filters}]\nload = [{{ at = [0, \"c\", \"r\", \"tz\"], width = 16 }}]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [16, 28, 4, {filters}]\nstore = [{{ at = [0, \"tx\", \"ty\", \"tz\"], width = 16 }}]\n",
            rows.join(", ")
        );
        of(&text, &on).volumes.l2_load.unwrap()
    };
    // 15 or 16 of 17 rows in a line or two each, 64 channels, 7 of 8 work-items inside; 64 · 3 lines of weights.
    let lines = |kib, filters: u32| load(kib, filters) / 64.0;
    let (one, eight) = (lines(48.0, 1), lines(48.0, 8));
    assert!((900.0..1400.0).contains(&one) && (eight / one - 1.0).abs() < 0.1, "{one} {eight}");
    // In a cache for all of it nothing is met twice but by the next launch.
    assert!(lines(4096.0, 8) < 40.0, "{}", lines(4096.0, 8));
}

/// Columns a power of two apart meet few sets: what one row of work-items loads is gone when the next comes.
#[test]
fn powers_of_two_meet_few_sets() {
    let transpose = |n: u32| {
        let text = format!(
            "name = \"t\"\nblock = [64, 4]\ndomain = [4096, 4096]\nregisters = 8\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [{n}, 4096]\nload = [[\"ty\", \"tx\"]]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096, 4096]\nstore = [[\"tx\", \"ty\"]]\n"
        );
        of(&text, &cpu()).volumes.l2_load.unwrap()
    };
    let (even, odd) = (transpose(4096), transpose(4112));
    assert!(even > 60.0, "a line for each element: {even}");
    assert!(odd < 30.0, "a line for the rows of a group: {odd}");
}

/// So do columns that a work-item walks through by itself, whether it says so in a loop or line by line: 32 lines do not fit into 8 ways, 8 do.
#[test]
fn columns_written_out_meet_few_sets() {
    let transpose = |n: u32, rows: u32| {
        let list = |one: &dyn Fn(u32) -> String| (0..rows).map(one).collect::<Vec<_>>().join(", ");
        let loads = list(&|j| format!("[\"tx\", \"ty * {rows} + {j}\"]"));
        let stores = list(&|j| format!("[\"ty * {rows} + {j}\", \"tx\"]"));
        let text = format!(
            "name = \"t\"\nblock = [1, 1]\ndomain = [1024, {}]\nregisters = 8\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [{n}, 1024]\nload = [{loads}]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [1024, 1024]\nstore = [{stores}]\n",
            1024 / rows
        );
        of(&text, &cpu()).volumes.l2_load.unwrap() / f64::from(rows)
    };
    let (even, odd, few) = (transpose(1024, 32), transpose(1040, 32), transpose(1024, 4));
    assert!(even > 60.0, "a line for each element: {even}");
    assert!(odd < 30.0 && few < 30.0, "a line for each 16: {odd} {few}");
}

#[test]
fn loops_and_barriers_change_what_runs_together() {
    let text = include_str!("../../../examples/accesses/matmul-tiled.toml");
    let noted = |text: &str, what: &str| of(text, &cpu()).provenance.iter().any(|note| note.contains(what));
    assert!(noted(text, "caches see groups, because of barriers"));
    assert!(noted(&star("[64, 4]"), "caches see rows of work-items"));
    let looped = star("[64, 4]").replace("[[field]]\nname = \"B\"", "[[loop]]\nname = \"k\"\ntrips = 8\n[[field]]\nname = \"B\"");
    let looped = looped.replace("load = [[\"tx\", \"ty+1\"],", "load = [{ at = [\"tx\", \"ty+1\"], in = \"k\" },");
    assert!(noted(&looped, "caches see work-items"), "{:?}", of(&looped, &cpu()).provenance);
    // A chain of 1000 multiply-adds takes 4000 cycles, as often as steps do not fit the window together.
    let chain = copy(1024, "write_back").replace("registers = 8", "registers = 8\nflops = { f32_fma = 1000 }");
    let cycles = chained(&of(&chain, &cpu())) * 2.5e9 * 4.0 / (16777216.0 / 8.0);
    assert!((cycles / 4000.0 - 1.0).abs() < 0.01, "{cycles}");
}

#[test]
fn what_is_not_known_is_named() {
    let mut on = cpu();
    on.memory.dram_bandwidth = Fact::unknown("nobody says");
    let found = of(&copy(256, "write_back"), &on);
    assert!(found.provenance.contains(&"dram is unknown: memory.dram_bandwidth: nobody says".to_owned()), "{:?}", found.provenance);
    assert!(found.seconds.0 > 0.0 && found.seconds.0.is_finite());
    on.memory.llc = Cache::absent("none");
    let two = of(&copy(256, "write_back"), &on);
    assert!(two.limits.iter().all(|limit| limit.0 != Limiter::Llc));
    let images = of(include_str!("../../../examples/accesses/filter-image.toml"), &{
        let mut on = cpu();
        on.image.layout = known(warpsight_ir::layout::ImageLayout::Linear { pitch_align: 1 });
        on
    });
    assert!(seconds(&images, Limiter::Issue) > 1920.0 * 1080.0 * 26.0 * 40.0 / 4.0 / 4.0 / 2.5e9, "texels cost instructions");
}

#[test]
fn every_example_has_an_answer() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/accesses");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let found = of(&std::fs::read_to_string(&path).unwrap(), &cpu());
        assert!(found.seconds.0.is_finite() && found.seconds.0 > 0.0, "{}", path.display());
        let v = &found.volumes;
        let all = [v.l1_requested, v.l2_load, v.l2_store, v.dram_load, v.dram_store].map(|bytes| bytes.unwrap());
        assert!(all.iter().all(|bytes| bytes.is_finite() && *bytes >= 0.0), "{}: {all:?}", path.display());
        assert!(all[3] <= all[1] * 1.001, "{}: memory gives no more than L2: {all:?}", path.display());
    }
}

/// [`cpu`] with 32 vectors of 16 lanes.
fn wide() -> Profile {
    let mut on = cpu();
    (on.execution.vector_width, on.execution.max_registers) = (known(16), known(512));
    on
}

fn product(rows: u32, vectors: u32, width: u32, columns: u32) -> Report {
    let kernel = product_kernel(rows, vectors, width, columns);
    let points = kernel.launch.group_count();
    report(&Work { kernel: &kernel, points }, &wide(), &Settings::default()).unwrap_or_else(|error| panic!("{error:?}"))
}

/// A product of 64 × 64 and 64 × `columns`: each work-item has `rows` rows of `vectors` vectors.
fn product_kernel(rows: u32, vectors: u32, width: u32, columns: u32) -> Kernel {
    let all = || (0..rows).flat_map(|i| (0..vectors).map(move |j| (i, j)));
    let lines = |each: &dyn Fn((u32, u32)) -> String| all().map(each).collect::<String>();
    let edge = |j: u32| format!("n + {} : {width} if 0 <= n + {} < {columns} per lane", j * width, j * width);
    let text = format!(
        "program product {{ read buffer a: f32[64, 64] read buffer b: f32[64, {columns}] write buffer c: f32[64, {columns}] \
         groups g = {}, h = {} {{ let n = g * {} let m = h * {rows} {} for k in 0..64 {{ {} {} {} }} {} }} }}",
        columns.div_ceil(vectors * width),
        64 / rows,
        vectors * width,
        lines(&|(i, j)| format!("var s{i}_{j}: f32x{width} = splat{width}(0.0)\n")),
        (0..rows).map(|i| format!("let x{i} = a[m + {i}, k]\n")).collect::<String>(),
        (0..vectors).map(|j| format!("let y{j} = b[k, {}]\n", edge(j))).collect::<String>(),
        lines(&|(i, j)| format!("s{i}_{j} = fma(splat{width}(x{i}), y{j}, s{i}_{j})\n")),
        lines(&|(i, j)| format!("c[m + {i}, {}] = s{i}_{j}\n", edge(j).replace(&format!(": {width} "), ""))),
    );
    let program = warpsight_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Kernel::of(&Checked::new(program).unwrap_or_else(|error| panic!("{error}\n{text}"))).expect("a kernel")
}

/// An access that stands for several (those of an outline do) counts as these written out: 16 sums do not wait for each other, and 32 vectors of
/// 8 lanes fill no registers less for being stored by one access.
#[test]
fn accesses_that_stand_for_several_count_as_these() {
    fn merged(nest: &[Nest]) -> Vec<Nest> {
        let mut all: Vec<Nest> = vec![];
        for node in nest {
            match node {
                Nest::Loop { var, body } => all.push(Nest::Loop { var: *var, body: merged(body) }),
                Nest::Access(access) => {
                    let like = all.iter_mut().find_map(|own| match own {
                        Nest::Access(own) if (own.tensor, own.kind) == (access.tensor, access.kind) => Some(own),
                        _ => None,
                    });
                    match like {
                        Some(own) => own.times += 1,
                        None => all.push(node.clone()),
                    }
                }
                Nest::Barrier => all.push(Nest::Barrier),
            }
        }
        all
    }
    let on = wide();
    let coarse = Coarse::of(&on, Meanwhile::default()).expect("known");
    for (rows, vectors, width) in [(8, 2, 16), (4, 8, 8), (2, 1, 16)] {
        let whole = product_kernel(rows, vectors, width, 1024);
        let mut outline = whole.clone();
        outline.accesses.nest = merged(&whole.accesses.nest);
        assert!(outline.accesses.nest.len() < whole.accesses.nest.len());
        let [(apart, limiter), (together, same)] = [&whole, &outline].map(|kernel| coarse.seconds(kernel).expect("known"));
        assert_eq!(limiter, same);
        assert!((together.0 / apart.0 - 1.0).abs() < 0.02, "{rows} {vectors} {width}: {} {}", together.0, apart.0);
    }
}

/// What the launch before left in the last level does not come from memory, by either count.
#[test]
fn both_counts_know_what_launches_leave() {
    let copy = |on: &Profile| {
        let text = "program copy { read buffer a: f32[1024, 1024] write buffer c: f32[1024, 1024] groups y = 1024, x = 64 \
                    { let v = a[y, x * 16 : 16] c[y, x * 16] = v } }";
        let program = warpsight_ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let kernel = Kernel::of(&Checked::new(program).expect("valid")).expect("a kernel");
        let exact = report(&Work { kernel: &kernel, points: 1 }, on, &Settings::default()).unwrap_or_else(|error| panic!("{error:?}"));
        // What is waited for line by line, the coarse count leaves out.
        let exact = exact.seconds.0 - seconds(&exact, Limiter::Latency);
        [exact, Coarse::of(on, Meanwhile::default()).expect("known").seconds(&kernel).expect("known").0.0]
    };
    // 8 MiB, of which half is loaded before it is stored: 12 MiB from memory at 40 GB/s, or from the last level at 100.
    let mut small = cpu();
    small.memory.llc.bytes = known(Bytes(2097152.0));
    let [held, gone] = [cpu(), small].map(|on| copy(&on));
    for [exact, coarse] in [held, gone] {
        assert!((coarse / exact - 1.0).abs() < 0.1, "{coarse} {exact}");
    }
    assert!(gone[1] - held[1] > 150e-6, "{gone:?} {held:?}");
}

/// Of a network's kernel the first levels hold nothing any more when it comes again, the last one what is not too much; by either count.
#[test]
fn what_others_touch_is_gone_for_the_next_launch() {
    let text = "program copy { read buffer a: f32[256, 256] write buffer c: f32[256, 256] groups y = 256, x = 16 \
                { let v = a[y, x * 16 : 16] c[y, x * 16] = v } }";
    let kernel = Kernel::of(&Checked::new(warpsight_ir::text::parse(text).expect("a program")).expect("valid")).expect("a kernel");
    let kernel = Kernel { known: vec![0], ..kernel };
    let of = |handed: f64, pass: f64| {
        let (meanwhile, on) = (Meanwhile { handed: Bytes(handed), pass: Bytes(pass) }, cpu());
        let exact = InPass { meanwhile }.estimate(&kernel, &on).expect("counted");
        let coarse = Coarse::of(&on, meanwhile).expect("known").seconds(&kernel).expect("known").0;
        // What is waited for line by line, the coarse count leaves out.
        assert!((coarse.0 / (exact.time.0 - exact.limits.of(Limiter::Latency).0) - 1.0).abs() < 0.1, "{coarse:?} {exact:?}");
        [Limiter::Llc, Limiter::Dram].map(|own| exact.limits.of(own).0)
    };
    // 256 KiB and twice as much that is stored: 0.75 MiB at 100 GB/s from the last level, at 40 from memory.
    let [alone, near, far] = [0.0, 8388608.0, 67108864.0].map(|bytes| of(bytes, bytes));
    assert!(alone[0] < 2e-7 && alone[1] < 1e-7, "{alone:?}");
    assert!((7.7e-6..7.9e-6).contains(&near[0]) && near[1] < 1e-6, "{near:?}");
    assert!((7.8e-6..7.9e-6).contains(&far[0]) && (1.95e-5..1.97e-5).contains(&far[1]), "{far:?}");
    // Of constants, which are met once a pass, the loads alone are of memory: a third of that.
    let meanwhile = Meanwhile { handed: Bytes(8388608.0), pass: Bytes(67108864.0) };
    let known = InPass { meanwhile }.estimate(&kernel, &cpu()).expect("counted").limits.of(Limiter::Dram).0;
    assert!((6.4e-6..6.9e-6).contains(&known), "{known:?}");
    let coarse = |meanwhile| Coarse::of(&cpu(), meanwhile).expect("known").seconds(&kernel).expect("known").0.0;
    let alike = Meanwhile { pass: meanwhile.handed, ..meanwhile };
    let (apart, together) = (coarse(meanwhile), coarse(alike));
    assert!(apart > 1.01 * together, "{apart} {together}");
    let time = |model: &dyn CostModel<Kernel>| model.estimate(&kernel, &cpu()).expect("counted").time;
    assert_eq!(time(&KernelModel), time(&InPass { meanwhile: Meanwhile::default() }));
}

/// Work-items that add up so many rows of 65,536 elements each, `loops` times one after another, `unrolled` vectors in a trip.
fn rows(rows: u32, loops: u32, unrolled: u32) -> Kernel {
    let lines = |each: &dyn Fn(u32) -> String| (0..rows).map(each).collect::<String>();
    let step = 16 * unrolled;
    let one = |k: u32| {
        let vectors = (0..unrolled).map(|u| lines(&|j| format!("s{j} = s{j} + a[y * {rows} + {j}, i{k} * {step} + {} : 16]\n", 16 * u)));
        format!("for i{k} in 0..{} {{ {} }}\n", 65536 / step, vectors.collect::<String>())
    };
    let text = format!(
        "program walk {{ read buffer a: f32[64, 65536] write buffer c: f32[64, 16] groups y = {} {{ {}{}{} }} }}",
        64 / rows,
        lines(&|j| format!("var s{j}: f32x16 = splat16(0.0)\n")),
        (0..loops).map(one).collect::<String>(),
        lines(&|j| format!("c[y * {rows} + {j}, 0] = s{j}\n")),
    );
    let program = warpsight_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Kernel::of(&Checked::new(program).unwrap_or_else(|error| panic!("{error}\n{text}"))).expect("a kernel")
}

/// Of what work-items walk over in several loops, each after the first meets what a cache holds of it; by either count.
#[test]
fn both_counts_know_of_loops_over_the_same() {
    let on = cpu();
    let of = |each: u32, loops: u32| {
        let kernel = rows(each, loops, 1);
        let exact = KernelModel.estimate(&kernel, &on).expect("counted").time.0;
        [exact, Coarse::of(&on, Meanwhile::default()).expect("known").seconds(&kernel).expect("known").0.0]
    };
    // Rows of 256 KiB: a second level of 1 MiB holds one, not eight, which come from the last level again.
    for (each, least, most) in [(1, 1.65, 1.75), (8, 2.25, 2.45)] {
        let (all, once) = (of(each, 3), of(each, 1));
        assert!([all, once].iter().all(|[exact, coarse]| (coarse / exact - 1.0).abs() < 0.01), "{each}: {all:?} {once:?}");
        assert!((least..most).contains(&(all[0] / once[0])), "{each}: {all:?} {once:?}");
    }
}

/// Of groups that meet between two such loops all that a group touches lies between, not what one work-item does: rows of 2 MiB are gone from a
/// second level of 1.
#[test]
fn groups_that_meet_walk_over_all_of_a_row_first() {
    let on = cpu();
    let of = |meets: &str| {
        let sweep = |k: u32| format!("for i{k} in 0..32768 {{ s = s + a[y, i{k} * 16 + l] }}\n");
        let text = format!(
            "program walk {{ read buffer a: f32[16, 524288] write buffer c: f32[16, 16] groups y = 16 lanes l = 16 \
             {{ var s: f32 = 0.0\n{}{meets}\n{}c[y, l] = s }} }}",
            sweep(0),
            sweep(1)
        );
        let program = warpsight_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let kernel = Kernel::of(&Checked::new(program).unwrap_or_else(|error| panic!("{error}\n{text}"))).expect("a kernel");
        let Kernel { accesses, .. } = &kernel;
        assert_eq!(accesses.nest.iter().any(|node| matches!(node, Nest::Barrier)), !meets.is_empty());
        Coarse::of(&on, Meanwhile::default()).expect("known").seconds(&kernel).expect("known").0.0
    };
    let (meeting, apart) = (of("barrier group local"), of(""));
    assert!(meeting > apart, "{meeting} {apart}");
}

/// What is written out of a loop lies side by side: a prefetcher sees one run of lines, however many vectors a trip has.
#[test]
fn prefetchers_follow_what_is_written_out() {
    let waits = |unrolled: u32| KernelModel.estimate(&rows(1, 1, unrolled), &cpu()).expect("counted").limits.of(Limiter::Latency).0;
    let own = [1, 2, 8].map(waits);
    assert!(own.iter().all(|waits| (waits / own[0] - 1.0).abs() < 0.2), "{own:?}");
    // Nor does it follow 64 rows at once, though each of them is one run.
    let many = KernelModel.estimate(&rows(64, 1, 1), &cpu()).expect("counted").limits.of(Limiter::Latency).0;
    assert!(many > 2.5 * own[0], "{many} {own:?}");
}

/// 16 vectors of 16 lanes fit 32 registers, 32 vectors of 8 lanes do not, though both are 256 elements.
#[test]
fn vectors_that_no_register_is_left_for_are_spilled() {
    let issue = |rows, vectors, width| seconds(&product(rows, vectors, width, 1024), Limiter::Issue);
    let fits = issue(8, 2, 16);
    let spilled = issue(4, 8, 8);
    assert!(spilled > 2.0 * fits, "{spilled} {fits}");
    // Twice as many instructions as with twice the width, and nothing else.
    let narrow = issue(8, 2, 8) / fits;
    assert!((1.5..2.1).contains(&narrow), "{narrow}");
    assert!(fits < 1.1 * seconds(&product(8, 2, 16, 1024), Limiter::Fp), "the peak is in reach");
}

/// Vectors that reach over the end are one in 32; before it, conditions are comparisons.
#[test]
fn edges_cost_what_few_vectors_take() {
    let [even, ragged] = [992, 1000].map(|columns| product(8, 2, 16, columns).seconds.0);
    assert!((1.0..1.25).contains(&(ragged / even)), "{}", ragged / even);
}

/// Cycles of load and store units, of issue and of arithmetic, by step, of so many sums of vectors of eight, times elements in steps of two; where `by_row`, an
/// element is loaded where a condition holds that a loop changes; `taps`: how many steps are written out, which share elements.
fn window(sums: u32, by_row: bool, taps: u32) -> [f64; 3] {
    let guard = |at: &str| if by_row { format!(", guard = [\"0 <= {at} < 250\"]") } else { String::new() };
    let mut places: Vec<u32> = (0..sums).flat_map(|i| (0..taps).map(move |tap| 2 * i + 2 * tap)).collect();
    places.sort_unstable();
    places.dedup();
    let element = |i: &u32| format!("{{ at = [\"ty + r + {i}\", \"c\"]{} }}", guard(&format!("ty + r + {i}")));
    let elements: Vec<String> = places.iter().map(element).collect();
    let weights: Vec<String> = (0..taps).map(|tap| format!("{{ at = [0, {tap}, \"c\", \"r\"], width = 8 }}")).collect();
    let text = format!(
        "name = \"window\"\nblock = [1, 64]\ngrid = [1, 4]\nregisters = {}\nflops = {{ f32x8_fma = {} }}\n\
         [[loop]]\nname = \"c\"\ntrips = 100\n[[loop]]\nname = \"r\"\ntrips = 3\n\
         [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [400, 100]\nload = [{}]\n\
         [[field]]\nname = \"W\"\nelement = \"f32\"\ndims = [8, {taps}, 100, 3]\nload = [{}]\n\
         [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [8, {sums}, 256]\nstore = [{}]\n",
        8 * sums + places.len() as u32,
        300 * sums * taps,
        elements.join(", "),
        weights.join(", "),
        (0..sums).map(|i| format!("{{ at = [0, {i}, \"ty\"], width = 8 }}")).collect::<Vec<_>>().join(", ")
    );
    let mut on = cpu();
    (on.execution.max_registers, on.execution.launch_overhead) = (known(32 * 8), known(Seconds(0.0)));
    let found = of(&text, &on);
    [Limiter::L1, Limiter::Issue, Limiter::Fp].map(|limit| seconds(&found, limit) * 2.5e9 * 4.0 / (256.0 * 300.0))
}

#[test]
fn elements_that_wait_take_registers() {
    // An instruction takes its element from memory. Two loads a clock, four instructions.
    let [loads, issue, units] = window(16, false, 1);
    assert!((loads - 8.5).abs() < 0.1 && (4.5..5.5).contains(&issue), "{loads} {issue}");
    // Under conditions elements are loaded before they are used: 16 registers are left for 16 of them, 8 for 24.
    let [few, _, spread] = window(16, true, 1);
    let [many, waiting, _] = window(24, true, 1);
    let [plain, folded, _] = window(24, false, 1);
    assert!((few - loads).abs() < 0.1, "{few} {loads}");
    // They are numbers before they are vectors: each is spread by what multiplies.
    assert!((units - 8.0).abs() < 0.1 && (spread - 16.0).abs() < 0.1, "{units} {spread}");
    // 16 of 24 go through memory: a store and a load each.
    assert!((many - plain - 16.0).abs() < 0.2 && waiting > folded + 10.0, "{many} {plain} {waiting} {folded}");
    // Steps that share elements keep them.
    let [shared, ..] = window(24, false, 3);
    assert!(shared > 3.0 * plain, "{shared} {plain}");
}

/// Units of a core work side by side, and its second cache and its translations; what comes from behind that is waited for.
#[test]
fn units_of_a_core_work_side_by_side() {
    let sixteen = product(8, 2, 16, 1024);
    let of = |limiter| seconds(&sixteen, limiter);
    let units = [Limiter::Fp, Limiter::Issue, Limiter::L1].map(of);
    let busiest = units.into_iter().fold(0.0, f64::max);
    let norm = |all: &[f64]| all.iter().map(|own| own.powi(4)).sum::<f64>().powf(0.25);
    let waits: f64 = [Limiter::Launch, Limiter::Latency].map(of).iter().sum();
    let expected = norm(&[busiest, of(Limiter::L2), of(Limiter::Tlb)]) + norm(&[Limiter::Llc, Limiter::Dram].map(of)) + waits;
    assert!((sixteen.seconds.0 / expected - 1.0).abs() < 1e-6, "{} {expected}", sixteen.seconds.0);
    assert!(units.iter().sum::<f64>() > 1.5 * busiest, "a norm of all would be told from it: {units:?}");
}

/// Cores take groups in order. Quarters of a line that lie far apart in it are stored to by several cores at once.
#[test]
fn lines_that_cores_share_are_waited_for() {
    let waits = |groups: &str, body: &str, on: &Profile| {
        let text = format!("program store {{ read buffer a: f32[64, 64] write buffer c: f32[64, 64] groups {groups} {{ {body} }} }}");
        let program = warpsight_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let kernel = Kernel::of(&Checked::new(program).unwrap_or_else(|error| panic!("{error}\n{text}"))).expect("a kernel");
        let found = report(&Work { kernel: &kernel, points: 1024 }, on, &Settings::default()).unwrap_or_else(|error| panic!("{error:?}"));
        seconds(&found, Limiter::Latency)
    };
    let coarse = |groups: &str, body: &str| {
        let text = format!("program store {{ read buffer a: f32[64, 64] write buffer c: f32[64, 64] groups {groups} {{ {body} }} }}");
        let kernel = Kernel::of(&Checked::new(warpsight_ir::text::parse(&text).expect("parses")).expect("valid")).expect("a kernel");
        Coarse::of(&cpu(), Meanwhile::default()).expect("known").seconds(&kernel).expect("known")
    };
    let quarter = "let v = a[y, x * 4 : 4] c[y, x * 4] = v";
    let [apart, together] = ["y = 64, x = 16", "x = 16, y = 64"].map(|groups| waits(groups, quarter, &cpu()));
    // Three neighbours, 64 groups apart, of four runs of 256: three stores of four wait for 50 cycles, twelve at a time.
    let each = |share: f64| share * 1024.0 * 50.0 / 12.0 / 4.0 / 2.5e9;
    // One core does all of it, and waits for nobody but for lines that nothing foresees.
    let mut alone = cpu();
    alone.execution.cores = known(1);
    let [slow, fast] = ["y = 64, x = 16", "x = 16, y = 64"].map(|groups| waits(groups, quarter, &alone));
    let shared = apart - together - (slow - fast) / 4.0;
    assert!((shared - each(0.75 - 12.0 / 1024.0)).abs() < each(0.02), "{apart} {together}, alone {slow} {fast}");
    // The coarse count has the same waits.
    let both = |body: &str| {
        let [slow, fast] = ["y = 64, x = 16", "x = 16, y = 64"].map(|groups| coarse(groups, body).0.0);
        slow - fast
    };
    // Two stores to a line are one wait.
    let eighths = "let v = a[y, x * 4 : 2] let w = a[y, x * 4 + 2 : 2] c[y, x * 4] = v c[y, x * 4 + 2] = w";
    let twice = waits("y = 64, x = 16", eighths, &cpu());
    assert!((twice - apart).abs() < each(0.05), "{twice} {apart}");
    let [quarters, halves] = [quarter, eighths].map(both);
    assert!((quarters - each(0.75 - 12.0 / 1024.0)).abs() < each(0.01) && (halves - quarters).abs() < each(0.01), "{quarters} {halves}");
    // Whole lines are nobody else's.
    let whole = "let v = a[y, x * 16 : 16] c[y, x * 16] = v";
    let [slow, fast] = ["y = 64, x = 4", "x = 4, y = 64"].map(|groups| waits(groups, whole, &cpu()));
    assert!((slow - fast).abs() < each(0.1), "{slow} {fast}");
    // Where there is no last level, lines come from memory; chains are waited for whatever is not known of lines.
    let mut two = cpu();
    two.memory.llc = Cache::absent("none");
    assert!((waits("y = 64, x = 16", quarter, &two) - waits("x = 16, y = 64", quarter, &two)) > 4.0 * each(0.7));
    two.memory.dram_latency = Fact::unknown("nobody says");
    let chain = "let v = a[y, x * 4 : 4] c[y, x * 4] = fma(fma(v, v, v), v, v)";
    assert!(waits("y = 64, x = 16", chain, &two) > 0.0);
}

/// A kernel that works at the edge of its grid alone: what the middle does not touch is no number of lines that crowd, but none.
#[test]
fn what_the_middle_does_not_touch_is_a_number() {
    let edge = |name: &str, what: &str| {
        format!(
            "[[field]]\nname = \"{name}\"\nelement = \"f32\"\ndims = [1048576]\n{what} = [{{ at = [\"tx\"], guard = [\"0 <= tx < 64\"] }}]\n"
        )
    };
    let text = format!("name = \"edge\"\nblock = [64]\ndomain = [1048576]\nregisters = 8\n{}{}", edge("A", "load"), edge("B", "store"));
    let found = of(&text, &cpu());
    for limit in &found.limits {
        assert!(limit.1.as_ref().is_ok_and(|time| time.0.is_finite()), "{limit:?}");
    }
}

/// One core has the kernel for itself until the others are woken; a kernel that it ends before takes as long as by it alone.
#[test]
fn cores_that_sleep_are_waited_for() {
    let at_once = cpu();
    let mut asleep = cpu();
    asleep.execution.wake = known(Seconds(40e-6));
    let text = copy(64, "write_back");
    let (plain, late) = (of(&text, &at_once), of(&text, &asleep));
    // Three of four cores come 40 µs late: together they miss 120 µs, which all four make up for.
    assert!((late.seconds.0 - plain.seconds.0 - 30e-6).abs() < 1e-7, "{} {}", late.seconds.0, plain.seconds.0);
    assert!((seconds(&late, Limiter::Launch) - seconds(&plain, Limiter::Launch) - 30e-6).abs() < 1e-7);
    // 4,096 elements are copied before anyone wakes: four cores' time, of which three more are waited for. The launch's own start is no work.
    let short = text.replace("16777216", "4096");
    let (plain, late) = (of(&short, &at_once), of(&short, &asleep));
    let work = |report: &Report| report.seconds.0 - seconds(&plain, Limiter::Launch);
    assert!(work(&plain) < 9e-6 && (work(&late) / work(&plain) - 4.0).abs() < 1e-6, "{} {}", late.seconds.0, plain.seconds.0);
    // A group is run by whoever is awake.
    let one = text.replace("16777216", "64");
    assert_eq!(of(&one, &asleep).seconds, of(&one, &at_once).seconds);
    // The coarse count says the same of it.
    let coarse = |text: &str, on: &Profile| {
        let kernel: Kernel = text::parse(text, &[]).unwrap().kernel;
        Coarse::of(on, Meanwhile::default()).expect("known").seconds(&kernel).expect("known").0.0
    };
    assert!((coarse(&text, &asleep) - coarse(&text, &at_once) - 30e-6).abs() < 1e-7);
}

/// Groups read one table, which no axis of theirs changes, or parts of their own, by the faster axis or by the slower one.
#[test]
fn what_all_cores_read_each_of_them_loads() {
    let load = |at: &str, rows: u32, grid: [u32; 2]| {
        let text = format!(
            "name = \"table\"\nblock = [1, 1]\ngrid = {grid:?}\nregisters = 16\nflops = {{ f32_fma = 4096 }}\n\
             [[loop]]\nname = \"r\"\ntrips = 4096\n\
             [[field]]\nname = \"T\"\nelement = \"f32\"\ndims = [4096, {rows}]\nload = [[\"r\", {at}]]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = {grid:?}\nstore = [[\"tx\", \"ty\"]]\n"
        );
        let written = text::parse(&text, &[]).unwrap();
        let found = InPass { meanwhile: Meanwhile { handed: Bytes(8388608.0), pass: Bytes(8388608.0) } }
            .estimate(&written.kernel, &cpu())
            .expect("counted");
        // At 100 GB/s from the last level.
        found.limits.of(Limiter::Llc).0 * 1e11 / 16384.0
    };
    // 16 KiB by each of four cores; 64 rows of 16 KiB once.
    let (shared, own) = (load("0", 1, [64, 1]), load("\"tx\"", 64, [64, 1]));
    assert!((shared - 4.0).abs() < 0.1 && (own - 64.0).abs() < 1.0, "{shared} {own}");
    // Two cores each take one of two runs along y, and there half of 32 rows each: a row is loaded twice. Rows along y are not.
    let (faster, slower) = (load("\"tx\"", 32, [32, 2]), load("\"ty\"", 2, [32, 2]));
    assert!((faster - 64.0).abs() < 1.0 && (slower - 4.0).abs() < 0.1, "{faster} {slower}");
}

/// Of a vector that lies apart each element is taken out and has an index of its own.
#[test]
fn elements_that_are_stored_alone_are_taken_out() {
    let issue = |store: &str| {
        let text = format!(
            "name = \"scatter\"\nblock = [1]\ngrid = [256]\nregisters = 16\nflops = {{ f32x8 = 1 }}\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [8, 256]\nload = [{{ at = [0, \"tx\"], width = 8 }}]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096]\nstore = [{store}]\n"
        );
        seconds(&of(&text, &cpu()), Limiter::Issue) * 2.5e9 * 4.0 * 4.0 / 256.0
    };
    let whole = issue("{ at = [\"8*tx\"], width = 8 }");
    let apart = issue(&(0..8).map(|n| format!("[\"tx + {}\"]", 256 * n)).collect::<Vec<_>>().join(", "));
    // Seven stores more, an address for each, and three instructions for each of the eight.
    assert!((apart - whole - 7.0 - 14.0 - 24.0).abs() < 0.5, "{apart} {whole}");
    // What is no vector is not taken out of one, whatever its size.
    let scalar = |element: &str| {
        let text = format!(
            "name = \"scalar\"\nblock = [1]\ngrid = [256]\nregisters = 16\nflops = {{ f32 = 8 }}\n[[loop]]\nname = \"r\"\ntrips = 8\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [256, 8]\nload = [[\"tx\", \"r\"]]\n\
             [[field]]\nname = \"B\"\nelement = \"{element}\"\ndims = [256]\nstore = [[\"tx\"]]\n"
        );
        seconds(&of(&text, &cpu()), Limiter::Issue)
    };
    assert_eq!(scalar("f16"), scalar("f32"));
}

/// A prefetcher follows a few runs at once: what each of 16 rows brings next is foreseen, of 64 it is not.
#[test]
fn prefetchers_follow_a_few_rows() {
    let waits = |rows: u32| {
        let text = format!(
            "name = \"rows\"\nblock = [1]\ngrid = [4096]\nregisters = 16\nflops = {{ f32 = {rows} }}\n\
             [[loop]]\nname = \"r\"\ntrips = {rows}\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [65536, {rows}]\nload = [[\"16*tx\", \"r\"]]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096]\nstore = [[\"tx\"]]\n"
        );
        seconds(&of(&text, &cpu()), Limiter::Latency) / f64::from(rows)
    };
    let (few, many) = (waits(16), waits(64));
    assert!(many > 10.0 * few, "{few} {many}");
}

/// What operations that wait for each other take, of which units fill a part.
fn chained(found: &Report) -> f64 {
    let busiest = [Limiter::Fp, Limiter::Issue, Limiter::L1].map(|unit| seconds(found, unit)).into_iter().fold(0.0, f64::max);
    ((seconds(found, Limiter::Latency) + busiest).powi(4) - busiest.powi(4)).powf(0.25)
}

/// A row of 64 elements for each work-item, of which it stores one number.
fn reduced(operations: &str) -> Report {
    let text = format!(
        "name = \"row\"\nblock = [64]\ndomain = [4096]\nregisters = 24\n{operations}\n[[loop]]\nname = \"k\"\ntrips = 8\n\
         [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [8, 4096]\nload = [[\"k\", \"tx\"]]\n\
         [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096]\nstore = [[\"tx\"]]\n"
    );
    of(&text, &cpu())
}

/// Exponentials are code of the same units: their cycles are added, and one of a single element takes as long as one of a register.
#[test]
fn special_functions_take_the_units_of_others() {
    let cycles = |operations: &str| seconds(&reduced(&format!("flops = {{ {operations} }}")), Limiter::Fp) * 4.0 * 2.5e9 / 4096.0;
    let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    close(cycles("f32x8_fma = 16"), 8.0);
    close(cycles("f32x8_sfu = 16"), 128.0);
    close(cycles("f32x8_fma = 16, f32x8_sfu = 16"), 136.0);
    close(cycles("f32_sfu = 16"), 128.0);
}

/// What is combined in one variable waits for itself; in four, a quarter of that.
#[test]
fn updates_wait_for_each_other() {
    let waits = |chain: u32| chained(&reduced(&format!("flops = {{ f32x8 = 64 }}\nchain = {chain}")));
    // 4096 rows on four cores, four cycles each; 100 of the 320 instructions that a core has in flight.
    let [long, short] = [64, 16].map(|chain| waits(chain) * 2.5e9 / 1024.0);
    assert!((3.0..5.0).contains(&(long / short)) && (64.0..128.0).contains(&long), "{long} {short}");
}

/// One group keeps one of four cores busy: what is behind its caches takes four times as long, and three times what memory hands to all.
#[test]
fn cores_that_have_no_group_load_nothing() {
    let walk = |groups: u32| {
        let text = format!(
            "name = \"walk\"\nblock = [64]\ngrid = [{groups}]\nregisters = 24\n[[loop]]\nname = \"k\"\ntrips = {}\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [{}, {}]\nload = [[\"k\", \"tx\"]]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [{}]\nstore = [[\"tx\"]]\n",
            (1 << 18) / groups,
            (1 << 18) / groups,
            64 * groups,
            64 * groups
        );
        of(&text, &cpu())
    };
    let (one, four) = (walk(1), walk(4));
    for (limiter, times) in [(Limiter::L2, 4.0), (Limiter::Llc, 4.0), (Limiter::Dram, 3.0)] {
        let found = seconds(&one, limiter) / seconds(&four, limiter);
        assert!((found / times - 1.0).abs() < 0.01, "{limiter:?} {found}");
    }
    // The last of 17 groups has a third of memory: 4 and 3/4 turns in place of 4 and 1/4.
    let [even, odd] = [16, 17].map(|groups| seconds(&walk(groups), Limiter::Dram) / f64::from((1 << 18) / groups * groups));
    assert!((odd / even / (4.75 / 4.25) - 1.0).abs() < 0.01, "{odd} {even}");
}

/// The rest of a row is one line of many: that nobody foresees it is waited for once.
#[test]
fn rests_of_rows_are_few_lines() {
    let waits = |rest: &str| {
        let text = format!(
            "name = \"row\"\nblock = [1]\ngrid = [64]\nregisters = 16\nflops = {{ f32 = 4000 }}\nchain = 1\n\
             [[loop]]\nname = \"k\"\ntrips = 4000\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [8388608]\nload = [[\"16*k + 131072*bx\"]{rest}]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096]\nstore = [[\"64*bx\"]]\n"
        );
        seconds(&of(&text, &cpu()), Limiter::Latency)
    };
    let (whole, with_rest) = (waits(""), waits(", [\"96000 + 131072*bx\"]"));
    assert!(with_rest < 1.5 * whole && with_rest > whole, "{whole} {with_rest}");
}
