//! Micro-benchmarks on the simulated Adreno 640 give what was recorded on a real one.

mod common;
use common::*;
use warpsight_ir::*;
use warpsight_sim::{Report, Silicon, Simulator};

fn run(program: &Checked, data: Vec<Vec<u8>>) -> Report {
    let sim = Simulator::new(Silicon::adreno640());
    match sim.simulate(program, &mut bindings(data)) {
        Ok(report) => report,
        Err(e) => panic!("{e}"),
    }
}

/// Whether `got` is within `part` of `expected`.
fn close(got: f64, expected: f64, part: f64, what: &str) {
    assert!((got / expected - 1.0).abs() <= part, "{what}: {got:.2} instead of {expected:.2}");
}

fn seconds(r: &Report) -> f64 {
    r.cycles.0 / 585e6
}

#[test]
fn fused_multiply_adds_reach_the_peak() {
    let mut body = vec![let_("x", load("a", vec![v("l")], 4)), let_("y", mul(v("x"), v("x")))];
    for j in 0..4 {
        body.push(var(&format!("s{j}"), F32X4, mul(v("x"), splat(f(j as f32), 4))));
    }
    let inner = (0..32).map(|n| format!("s{}", n % 4)).map(|s| set(&s, fma(v("x"), v("y"), v(&s)))).collect();
    body.push(for_("n", i(16), Unroll::None, inner));
    let sum = (1..4).fold(v("s0"), |s, j| add(s, v(&format!("s{j}"))));
    body.push(store("out", vec![add(mul(v("g"), i(256)), mul(v("l"), i(4)))], sum));
    let (groups, lanes) = (480, 64);
    let params = vec![buffer("a", Scalar::F32, &[256], Access::Read), buffer("out", Scalar::F32, &[groups * 256], Access::Write)];
    let p = program(params, vec![], launch(&[("g", groups)], &[("l", lanes)]), body);
    let r = run(&p, vec![vec![0; 1024], vec![0; groups as usize * 1024]]);
    let flops = 2.0 * 4.0 * 32.0 * 16.0 * groups as f64 * f64::from(lanes);
    close(flops / seconds(&r) / 1e9, 889.9, 0.05, "GFLOP/s");
    assert_eq!(r.limiter, Limiter::Fp);
}

/// One work-item follows indices through a ring of texels; nanoseconds a step.
fn texture_chase(width: i64, height: i64, next: impl Fn(i64) -> i64) -> f64 {
    let steps = 32 * width * height;
    let body = vec![
        var("x", I32, i(0)),
        var("y", I32, i(0)),
        for_(
            "n",
            i(steps),
            Unroll::None,
            vec![let_("t", texel("a", v("x"), v("y"))), set("x", lane(v("t"), 0)), set("y", lane(v("t"), 1))],
        ),
        store("out", vec![i(0)], add(v("x"), v("y"))),
    ];
    let params = vec![image("a", ImageFormat::Rgba32I, width, height, Access::Read), buffer("out", Scalar::I32, &[1], Access::Write)];
    let p = program(params, vec![], launch(&[("g", 1)], &[("l", 1)]), body);
    let texels = (0..width * height).flat_map(|at| {
        let to = next(at);
        [to % width, to / width, 0, 0].into_iter().flat_map(|c| (c as i32).to_le_bytes())
    });
    let data: Vec<u8> = texels.collect();
    let sim = Simulator::new(Silicon::adreno640());
    let mut caches = sim.caches();
    let mut time = 0.0;
    // The second launch finds the second level warm.
    for _ in 0..2 {
        let r = sim.simulate_in(&p, &mut bindings(vec![data.clone(), vec![0; 4]]), &mut caches, None).unwrap_or_else(|e| panic!("{e}"));
        time = seconds(&r);
    }
    time / steps as f64 * 1e9
}

#[test]
fn a_texture_hit_takes_76_cycles_and_a_miss_111() {
    close(texture_chase(32, 1, |at| (at + 1) % 32), 130.1, 0.05, "hit, ns");
    // Every step a new line of 128, which one cache does not hold.
    close(texture_chase(256, 1, |at| (at + 2) % 256), 189.8, 0.05, "miss, ns");
}

#[test]
fn one_line_too_many_thrashes_one_of_two_sets() {
    // 65 texels of 16 bytes: 33 lines, 17 of them in one set of 16 ways. 130.1 + 17/65 * 59.7 = 145.7 ns, recorded 145.72.
    close(texture_chase(65, 1, |at| (at + 1) % 65), 145.7, 0.05, "ring of 1040 bytes, ns");
    close(texture_chase(64, 1, |at| (at + 1) % 64), 130.1, 0.05, "ring of 1024 bytes, ns");
    // Down a column every texel is a line: 32 fit, 34 do not.
    close(texture_chase(1, 32, |at| (at + 1) % 32), 130.1, 0.07, "column of 32, ns");
    close(texture_chase(1, 34, |at| (at + 1) % 34), 189.8, 0.05, "column of 34, ns");
}

/// One work-item follows indices through a buffer of words; nanoseconds a step.
fn buffer_chase(words: i64, stride: i64, steps: i64, launches: u32) -> f64 {
    let body = vec![
        var("x", I32, i(0)),
        for_("n", i(steps), Unroll::None, vec![set("x", load("a", vec![v("x")], 1))]),
        store("out", vec![i(0)], v("x")),
    ];
    let params = vec![buffer("a", Scalar::I32, &[words], Access::Read), buffer("out", Scalar::I32, &[1], Access::Write)];
    let p = program(params, vec![], launch(&[("g", 1)], &[("l", 1)]), body);
    let data: Vec<u8> = (0..words).flat_map(|at| (((at + stride) % words) as i32).to_le_bytes()).collect();
    let sim = Simulator::new(Silicon::adreno640());
    let mut caches = sim.caches();
    let mut time = 0.0;
    for _ in 0..launches {
        let r = sim.simulate_in(&p, &mut bindings(vec![data.clone(), vec![0; 4]]), &mut caches, None).unwrap_or_else(|e| panic!("{e}"));
        time = seconds(&r);
    }
    time / steps as f64 * 1e9
}

#[test]
fn a_buffer_in_the_second_level_takes_66_cycles() {
    close(buffer_chase(4096, 4, 2048, 2), 112.9, 0.05, "L2 hit, ns");
    // Recorded at most 261 ns for buffers, 364 ns for images, through rows open and closed.
    let far = buffer_chase(1 << 20, 1024 + 16, 1000, 1);
    assert!((240.0..330.0).contains(&far), "device memory, ns: {far}");
}

/// Bytes a second of many work-items that read a buffer again and again.
fn buffer_bandwidth(range: i64, trips: i64, groups: i64) -> Report {
    let at = add(add(mul(v("n"), i(1024)), mul(v("g"), i(1024 * trips))), mul(v("l"), i(4)));
    let body = vec![
        var("s", F32X4, splat(f(0.0), 4)),
        for_("n", i(trips), Unroll::By(4), vec![set("s", add(v("s"), load("a", vec![bin(BinaryOp::And, at, i(range / 4 - 1))], 4)))]),
        store("out", vec![mul(v("l"), i(4))], v("s")),
    ];
    let params = vec![buffer("a", Scalar::F32, &[range / 4], Access::Read), buffer("out", Scalar::F32, &[1024], Access::Write)];
    let p = program(params, vec![], launch(&[("g", groups)], &[("l", 256)]), body);
    run(&p, vec![vec![0; range as usize], vec![0; 4096]])
}

#[test]
fn buffers_stream_at_the_recorded_bandwidths() {
    let r = buffer_bandwidth(65536, 64, 64);
    close(r.traffic.buffer_bytes as f64 / seconds(&r) / 1e9, 96.3, 0.10, "L2, GB/s");
    let r = buffer_bandwidth(1 << 23, 64, 32);
    close(r.traffic.dram_read as f64 / seconds(&r) / 1e9, 30.2, 0.10, "DRAM, GB/s");
    assert_eq!(r.limiter, Limiter::Dram);
    assert_eq!(r.traffic.dram_read, 1 << 23);
}

/// Many work-items fetch `height` rows of a 64-texel wide image again and again.
fn texture_bandwidth(height: i64) -> Report {
    let row = bin(BinaryOp::And, add(v("n"), v("g")), i(height - 1));
    let body = vec![
        var("s", F32X4, splat(f(0.0), 4)),
        for_("n", i(64), Unroll::By(8), vec![set("s", add(v("s"), texel("a", v("l"), row)))]),
        store("out", vec![mul(v("l"), i(4))], v("s")),
    ];
    let params = vec![image("a", ImageFormat::Rgba32F, 64, height, Access::Read), buffer("out", Scalar::F32, &[256], Access::Write)];
    let p = program(params, vec![], launch(&[("g", 120)], &[("l", 64)]), body);
    run(&p, vec![vec![0; 64 * height as usize * 16], vec![0; 1024]])
}

#[test]
fn textures_stream_at_the_recorded_bandwidths() {
    let r = texture_bandwidth(1);
    close(r.traffic.texture_bytes as f64 / seconds(&r) / 1e9, 194.6, 0.10, "texture L1, GB/s");
    assert_eq!(r.limiter, Limiter::Texture);
    let r = texture_bandwidth(32);
    close(r.traffic.texture_misses as f64 * 32.0 / seconds(&r) / 1e9, 99.5, 0.10, "L2 through textures, GB/s");
    assert_eq!(r.limiter, Limiter::L2);
}

#[test]
fn local_memory_streams_at_the_recorded_bandwidth() {
    let body = vec![
        store("t", vec![mul(v("l"), i(4))], splat(f(1.0), 4)),
        barrier(),
        var("s", F32X4, splat(f(0.0), 4)),
        for_(
            "n",
            i(64),
            Unroll::By(8),
            vec![set("s", add(v("s"), load("t", vec![bin(BinaryOp::And, mul(add(v("l"), v("n")), i(4)), i(1023))], 4)))],
        ),
        store("out", vec![mul(v("l"), i(4))], v("s")),
    ];
    let params = vec![buffer("out", Scalar::F32, &[1024], Access::Write)];
    let p = program(params, vec![array("t", Space::Local, Scalar::F32, &[1024])], launch(&[("g", 40)], &[("l", 256)]), body);
    let r = run(&p, vec![vec![0; 4096]]);
    close(r.traffic.local_bytes as f64 / seconds(&r) / 1e9, 103.0, 0.10, "local memory, GB/s");
    assert_eq!(r.limiter, Limiter::Local);
}

/// A chain of multiplications, each by the result before, for one work-item; cycles a trip.
fn chain(length: usize) -> f64 {
    let links = (0..length).map(|_| set("s", mul(v("s"), v("s")))).collect();
    let body = vec![var("s", F32, f(1.0)), for_("n", i(512), Unroll::None, links), store("out", vec![i(0)], v("s"))];
    let p = program(vec![buffer("out", Scalar::F32, &[1], Access::Write)], vec![], launch(&[("g", 1)], &[("l", 1)]), body);
    run(&p, vec![vec![0; 4]]).cycles.0 / 512.0
}

#[test]
fn dependent_arithmetic_takes_four_cycles() {
    // Recorded: 80.1 cycles for 16 links, 176.2 for 40.
    close(chain(16), 80.1, 0.03, "16 links, cycles");
    close(chain(40), 176.2, 0.03, "40 links, cycles");
}

#[test]
fn waves_are_quantised_and_registers_limit_them() {
    // 91 values need 23 quanta or more, 12 waves fit an SP; recorded: 24 groups run together, 25 take twice as long.
    let values: Vec<Stmt> = (0..88).map(|n| var(&format!("r{n}"), F32, mul(f(n as f32), load("a", vec![v("l")], 1)))).collect();
    let mut body = values;
    let links = (0..88).map(|n| set(&format!("r{n}"), mul(v(&format!("r{n}")), v(&format!("r{}", (n + 87) % 88))))).collect();
    body.push(for_("n", i(32), Unroll::None, links));
    body.extend((0..88).map(|n| store("out", vec![i(n)], v(&format!("r{n}")))));
    let time = |groups: i64| {
        let params = vec![buffer("a", Scalar::F32, &[1], Access::Read), buffer("out", Scalar::F32, &[88], Access::ReadWrite)];
        let p = program(params, vec![], launch(&[("g", groups)], &[("l", 1)]), body.clone());
        let r = run(&p, vec![vec![0; 4], vec![0; 352]]);
        assert_eq!((r.registers, r.occupancy.waves), (94, 12));
        r.cycles.0
    };
    let (one, full, more) = (time(1), time(24), time(25));
    assert!(full < 1.2 * one, "{one} {full}");
    assert!(more > 1.8 * one && more < 2.3 * one, "{one} {more}");
}
