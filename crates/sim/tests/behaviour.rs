//! What only an execution shows: order of accesses, waves and tails, warm caches, spills; and that it is always the same.

mod common;
use common::*;
use warpsight_ir::*;
use warpsight_sim::{Report, Silicon, SiliconError, SimFault, Simulator};

fn simulator() -> Simulator {
    Simulator::new(Silicon::adreno640())
}

fn run(program: &Checked, data: Vec<Vec<u8>>) -> Report {
    simulator().simulate(program, &mut bindings(data)).unwrap_or_else(|e| panic!("{e}"))
}

/// Sums a square matrix, each work-item a row of it or a column.
fn sums(columns: bool) -> Checked {
    let (n, at) = (512, add(mul(v("g"), i(64)), v("l")));
    let index = if columns { vec![v("n"), v("at")] } else { vec![v("at"), v("n")] };
    let body = vec![
        let_("at", at),
        var("s", F32, f(0.0)),
        for_("n", i(n), Unroll::By(4), vec![set("s", add(v("s"), load("a", index, 1)))]),
        store("out", vec![v("at")], v("s")),
    ];
    let params = vec![buffer("a", Scalar::F32, &[n, n], Access::Read), buffer("out", Scalar::F32, &[n], Access::Write)];
    program(params, vec![], launch(&[("g", n / 64)], &[("l", 64)]), body)
}

#[test]
fn equal_bytes_and_flops_may_take_different_times() {
    let data = || vec![vec![0; 512 * 512 * 4], vec![0; 512 * 4]];
    let (rows, columns) = (run(&sums(false), data()), run(&sums(true), data()));
    assert_eq!(rows.traffic.buffer_bytes, columns.traffic.buffer_bytes);
    assert_eq!(rows.memory_instructions, columns.memory_instructions);
    // Neighbouring lanes that read neighbouring words share lines; lanes that read rows touch a line each.
    assert!(rows.cycles.0 > 1.5 * columns.cycles.0, "{} {}", rows.cycles.0, columns.cycles.0);
    let lines = |r: &Report| r.traffic.l2_hits + r.traffic.l2_misses;
    assert!(lines(&rows) > 10 * lines(&columns));
}

/// Fetches an image once, each work-item a row of it or a column.
fn fetches(columns: bool) -> Checked {
    let at = add(mul(v("g"), i(64)), v("l"));
    let (x, y) = if columns { (v("at"), v("n")) } else { (v("n"), v("at")) };
    let body = vec![
        let_("at", at),
        var("s", F32X4, splat(f(0.0), 4)),
        for_("n", i(256), Unroll::By(4), vec![set("s", add(v("s"), texel("a", x, y)))]),
        store("out", vec![mul(v("at"), i(4))], v("s")),
    ];
    let params = vec![image("a", ImageFormat::Rgba16F, 256, 256, Access::Read), buffer("out", Scalar::F32, &[1024], Access::Write)];
    program(params, vec![], launch(&[("g", 4)], &[("l", 64)]), body)
}

#[test]
fn an_image_is_fetched_from_in_blocks() {
    let data = || vec![vec![0; 256 * 256 * 8], vec![0; 4096]];
    let (rows, columns) = (run(&fetches(false), data()), run(&fetches(true), data()));
    assert_eq!(rows.traffic.texture_bytes, columns.traffic.texture_bytes);
    // A line is 2 x 2 texels: 64 lanes touch 32 lines either way, and one cache holds 32.
    assert_eq!(rows.traffic.texture_misses, columns.traffic.texture_misses);
    let fetched = rows.traffic.texture_misses * 32;
    assert!((256 * 256 * 8..=3 * 256 * 256 * 8).contains(&fetched), "{fetched}");
}

#[test]
fn the_same_launch_always_takes_the_same_time() {
    let (a, b) = (run(&sums(false), vec![vec![0; 1 << 20], vec![0; 2048]]), run(&sums(false), vec![vec![0; 1 << 20], vec![0; 2048]]));
    assert_eq!(a, b);
    // Time depends on addresses, not on values.
    assert_eq!(a, run(&sums(false), vec![vec![1; 1 << 20], vec![0; 2048]]));
}

/// Copies so many words, four a work-item.
fn copy(words: i64) -> Checked {
    let at = mul(add(mul(v("g"), i(64)), v("l")), i(4));
    let body = vec![store("out", vec![at.clone()], load("a", vec![at], 4))];
    let params = vec![buffer("a", Scalar::F32, &[words], Access::Read), buffer("out", Scalar::F32, &[words], Access::Write)];
    program(params, vec![], launch(&[("g", words / 256)], &[("l", 64)]), body)
}

#[test]
fn a_second_launch_finds_the_caches_warm() {
    let words = 8192;
    let p = copy(words);
    let bytes = words as usize * 4;
    let (mut one, mut two) = (bindings(vec![vec![1; bytes], vec![0; bytes]]), bindings(vec![vec![1; bytes], vec![0; bytes]]));
    let reports = simulator().simulate_all(&mut [(&p, &mut one), (&p, &mut two)]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(reports[0].traffic.dram_read, bytes as u64);
    assert_eq!(reports[1].traffic.dram_read, 0);
    assert!(reports[1].cycles.0 < 0.7 * reports[0].cycles.0);
    // At other addresses nothing is found.
    let sim = simulator();
    let mut caches = sim.caches();
    for (base, read) in [(1 << 20, bytes as u64), (1 << 20, 0), (1 << 24, bytes as u64)] {
        let r = sim.simulate_in(&p, &mut one, &mut caches, Some(&[base, base + (1 << 18)])).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(r.traffic.dram_read, read);
    }
}

#[test]
fn what_is_written_reaches_memory_when_it_does_not_fit() {
    let words = 1 << 19;
    let r = run(&copy(words), vec![vec![1; words as usize * 4], vec![0; words as usize * 4]]);
    let written = words as u64 * 4;
    // All but what the 128 KiB of the second level still hold.
    assert!(r.traffic.dram_written <= written && r.traffic.dram_written >= written - (128 << 10), "{}", r.traffic.dram_written);
    let rate = (r.traffic.dram_written + r.traffic.dram_read) as f64 / (r.cycles.0 / 585e6);
    assert!(rate > 20e9 && rate < 31e9, "{rate}");
}

#[test]
fn a_group_more_than_fits_takes_another_wave() {
    // Groups of a whole core's waves: 2 run at once.
    let body = vec![
        var("s", F32, f(1.0)),
        for_("n", i(64), Unroll::None, vec![set("s", mul(v("s"), v("s")))]),
        store("out", vec![add(mul(v("g"), i(1024)), v("l"))], v("s")),
    ];
    let time = |groups: i64| {
        let params = vec![buffer("out", Scalar::F32, &[groups * 1024], Access::Write)];
        let p =
            program(params, vec![array("t", Space::Local, Scalar::F32, &[8192])], launch(&[("g", groups)], &[("l", 1024)]), body.clone());
        let r = run(&p, vec![vec![0; groups as usize * 4096]]);
        assert_eq!((r.occupancy.groups, r.occupancy.waves), (1, 16));
        r.cycles.0
    };
    let (two, three, four) = (time(2), time(3), time(4));
    assert!(three > 1.6 * two && (four / three - 1.0).abs() < 0.1, "{two} {three} {four}");
}

#[test]
fn spilled_values_cost_memory_traffic() {
    let many = |values: usize| {
        let name = |n: usize| format!("r{n}");
        let mut body: Vec<Stmt> = (0..values).map(|n| var(&name(n), F32, load("a", vec![i(n as i64)], 1))).collect();
        let links = (0..values).map(|n| set(&name(n), mul(v(&name(n)), v(&name((n + 1) % values))))).collect();
        body.push(for_("n", i(8), Unroll::None, links));
        let sum = (1..values).fold(v("r0"), |s, n| add(s, v(&name(n))));
        body.push(store("out", vec![v("l")], sum));
        let params = vec![buffer("a", Scalar::F32, &[256], Access::Read), buffer("out", Scalar::F32, &[64], Access::Write)];
        run(&program(params, vec![], launch(&[("g", 8)], &[("l", 64)]), body), vec![vec![0; 1024], vec![0; 256]])
    };
    let (fits, spills) = (many(178), many(200));
    assert_eq!((fits.spilled, spills.spilled), (0, spills.registers - 185));
    assert!(spills.cycles.0 > 1.4 * fits.cycles.0, "{} {}", fits.cycles.0, spills.cycles.0);
}

#[test]
fn limits_are_checked() {
    let message = |p: &Checked, data: Vec<Vec<u8>>| match simulator().simulate(p, &mut bindings(data)) {
        Ok(_) => String::new(),
        Err(e) => e.to_string(),
    };
    let out = || vec![buffer("out", Scalar::F32, &[2048], Access::Write)];
    let body = || vec![store("out", vec![v("l")], f(0.0))];
    let p = program(out(), vec![], launch(&[("g", 1)], &[("l", 2048)]), body());
    assert_eq!(message(&p, vec![vec![0; 8192]]), "kernel `k`: a work-group needs 2048, the device has 1024");
    let p = program(out(), vec![array("t", Space::Local, Scalar::F32, &[8193])], launch(&[("g", 1)], &[("l", 64)]), body());
    assert_eq!(message(&p, vec![vec![0; 8192]]), "kernel `k`: local memory needs 32784, the device has 32768");
    let params = vec![image("a", ImageFormat::Rgba8Unorm, 16385, 1, Access::Read), out().remove(0)];
    let p = program(params, vec![], launch(&[("g", 1)], &[("l", 64)]), body());
    assert_eq!(message(&p, vec![vec![0; 16385 * 4], vec![0; 8192]]), "kernel `k`: image `a` needs 16385, the device has 16384");
}

#[test]
fn tiles_are_refused_by_name() {
    let params = vec![buffer("a", Scalar::F32, &[16, 16], Access::ReadWrite)];
    let mut l = launch(&[("g", 1)], &[("l", 32)]);
    l.subgroup = Some(32);
    let body = vec![
        Stmt::TileFill { tile: "t".into(), value: f(0.0) },
        Stmt::TileStore { target: "a".into(), index: vec![i(0), i(0)], tile: "t".into() },
    ];
    let p = program(params, vec![array("t", Space::Tile, Scalar::F32, &[16, 16])], l, body);
    let fault = simulator().simulate(&p, &mut bindings(vec![vec![0; 1024]])).expect_err("no tiles");
    assert_eq!(fault.to_string(), "kernel `k`: the simulator does not execute tile `t`");
    assert!(matches!(fault, SimFault::Unsupported { .. }));
}

#[test]
fn a_kernel_that_does_nothing_costs_its_launch() {
    let p = program(vec![buffer("out", Scalar::F32, &[1], Access::Write)], vec![], launch(&[("g", 1)], &[("l", 64)]), vec![]);
    let r = run(&p, vec![vec![0; 4]]);
    assert_eq!(r.limiter, Limiter::Launch);
    assert!((r.time.0 - 3.2e-6).abs() < 1e-7);
}

#[test]
fn silicon_may_come_from_any_text() {
    let text = include_str!("../../../sim/devices/adreno640.toml").replace("clock = 585e6", "clock = 1170e6");
    let fast = Silicon::parse(&text).unwrap_or_else(|e: SiliconError| panic!("{e}"));
    let r =
        Simulator::new(fast).simulate(&copy(4096), &mut bindings(vec![vec![0; 16384], vec![0; 16384]])).unwrap_or_else(|e| panic!("{e}"));
    let slow = run(&copy(4096), vec![vec![0; 16384], vec![0; 16384]]);
    assert_eq!(r.cycles, slow.cycles);
    assert!((slow.time - Seconds(3.2e-6)).0 / (r.time - Seconds(3.2e-6)).0 - 2.0 < 1e-9);
}

/// One wave alone, and several that wait for each other.
#[test]
fn loops_without_end_are_stopped() {
    let silicon = Silicon::parse("base = \"adreno640\"\n[limits]\nsteps = 10000\n").unwrap_or_else(|e| panic!("{e}"));
    for lanes in [1, 512] {
        let body = vec![
            var("s", F32, f(1.0)),
            for_("n", i(2_000_000_000), Unroll::None, vec![set("s", mul(v("s"), v("s")))]),
            store("out", vec![v("l")], v("s")),
        ];
        let params = vec![buffer("out", Scalar::F32, &[512], Access::Write)];
        let p = program(params, vec![], launch(&[("g", 1)], &[("l", lanes)]), body);
        let fault = Simulator::new(silicon.clone()).simulate(&p, &mut bindings(vec![vec![0; 2048]])).expect_err("no end");
        assert_eq!(fault.to_string(), "kernel `k`: more than 10000 steps; a loop without end? (`limits.steps` of the silicon)");
    }
}

/// Two hundred places that a loop reads from: a compiler makes them again rather than spill values for them.
#[test]
fn addresses_take_no_registers_from_values() {
    let place = |n: i64| format!("p{n}");
    let mut body: Vec<Stmt> = (0..200).map(|n| let_(&place(n), mul(v("l"), i(2 * n + 3)))).collect();
    body.push(var("s", F32, f(0.0)));
    let reads = (0..200).map(|n| set("s", add(v("s"), load("a", vec![add(v(&place(n)), v("n"))], 1)))).collect();
    body.push(for_("n", i(8), Unroll::None, reads));
    body.push(store("out", vec![v("l")], v("s")));
    let params = vec![buffer("a", Scalar::F32, &[64 * 512], Access::Read), buffer("out", Scalar::F32, &[64], Access::Write)];
    let r = run(&program(params, vec![], launch(&[("g", 1)], &[("l", 64)]), body), vec![vec![0; 64 * 512 * 4], vec![0; 256]]);
    assert!(r.spilled == 0 && r.registers < 80, "{} registers, {} spilled", r.registers, r.spilled);
}

/// What is read twice stays in registers while there are some, and is loaded again where it would be spilled.
#[test]
fn values_are_loaded_again_rather_than_spilled() {
    let twice = |values: i64| {
        let read = |n: i64| load("a", vec![add(mul(v("l"), i(256)), i(n))], 1);
        let mut body = vec![var("s", F32, f(0.0)), var("p", F32, f(1.0))];
        body.extend((0..values).map(|n| set("s", add(v("s"), read(n)))));
        body.extend((0..values).map(|n| set("p", mul(v("p"), add(v("s"), read(n))))));
        body.push(store("out", vec![v("l")], v("p")));
        let params = vec![buffer("a", Scalar::F32, &[64 * 256], Access::Read), buffer("out", Scalar::F32, &[64], Access::Write)];
        let r = run(&program(params, vec![], launch(&[("g", 1)], &[("l", 64)]), body), vec![vec![0; 64 * 256 * 4], vec![0; 256]]);
        (r.memory_instructions, r.spilled)
    };
    assert_eq!((twice(160), twice(200)), ((161, 0), (401, 0)));
}

/// Independent chains of multiply-adds, as many numbers a work-item whatever the vectors.
fn chains(scalar: &str, width: usize) -> Report {
    let (many, ty) = (16 / width, if width == 1 { scalar.to_owned() } else { format!("{scalar}x{width}") });
    let each = |line: &dyn Fn(usize) -> String| (0..many).map(line).collect::<Vec<_>>().join("\n");
    let text = format!(
        "program chains {{ read buffer k: {scalar}[16] write buffer end: {scalar}[16384, {width}] groups g = 64 lanes l = 256 {{
            let a = k[0 : {width}]
            {}
            for n in 0..64 unroll none {{ {} }}
            end[g * 256 + l, 0] = {}
        }} }}",
        each(&|j| format!("var x{j}: {ty} = k[{} : {width}]", j * width)),
        each(&|j| format!("x{j} = fma(x{j}, a, a)")).repeat(4),
        (0..many).map(|j| format!("x{j}")).collect::<Vec<_>>().join(" + "),
    );
    let program =
        Checked::new(text::parse(&text.replace(" : 1]", "]")).unwrap_or_else(|e| panic!("{e}"))).unwrap_or_else(|e| panic!("{e}"));
    let bytes = if scalar == "half" { 2 } else { 4 };
    let data = || bindings(vec![vec![0; 16 * bytes], vec![0; 16384 * width * bytes]]);
    let on = |silicon: &str| {
        let simulator = Simulator::new(Silicon::named(silicon).expect("embedded"));
        simulator.simulate(&program, &mut data()).unwrap_or_else(|e| panic!("{e}"))
    };
    // The other devices compute halves in pairs of a vector's lanes.
    if width == 1 { on("adreno640") } else { on("mali-g76") }
}

/// Twice as many halves as floats in a cycle, of any instruction on an Adreno and of vectors on a Mali; and two of them in a register.
#[test]
fn halves_are_twice_as_fast_where_the_silicon_says_so() {
    for width in [1, 4] {
        let (floats, halves) = (chains("f32", width), chains("half", width));
        let faster = floats.cycles.0 / halves.cycles.0;
        assert!((1.7..2.05).contains(&faster), "{faster} with vectors of {width}");
        assert!(halves.registers + 7 <= floats.registers, "{} and {} registers", halves.registers, floats.registers);
    }
}
