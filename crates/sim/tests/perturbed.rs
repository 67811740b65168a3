//! Silicon that nobody has seen: valid, of many kinds, the same for the same seed, and it computes what the interpreter computes.

#[path = "../examples/perturbed/perturb.rs"]
mod perturb;

use perturb::perturbed;
use std::collections::{BTreeMap, BTreeSet};
use warpsight_ir::data::f32_bytes;
use warpsight_ir::interpret::interpret;
use warpsight_ir::{Bindings, Checked, text};
use warpsight_sim::{Silicon, Simulator};

const SEED: u64 = 17;

fn suite() -> Vec<(String, Silicon)> {
    let made = |at| {
        let text = perturbed(SEED, at).unwrap_or_else(|error| panic!("{at}: {error}"));
        let silicon = Silicon::parse(&text).unwrap_or_else(|error| panic!("{at}: {error}"));
        (text, silicon)
    };
    (0..20).map(made).collect()
}

#[test]
fn twenty_differ_from_each_other_and_from_what_they_were_made_of() {
    let suite = suite();
    assert_eq!(suite.iter().map(|(text, _)| text).collect::<BTreeSet<_>>().len(), 20);
    assert_eq!(suite[3].0, perturbed(SEED, 3).expect("valid"), "the same for the same seed");
    assert_ne!(suite[3].0, perturbed(SEED + 1, 3).expect("valid"));
    for (text, silicon) in &suite {
        let base = silicon.name.split("-perturbed").next().unwrap_or_default();
        assert!(text.starts_with(&format!("# No GPU: {base} with every number changed by up to 20 %")), "{text}");
        let base = Silicon::named(base).expect("embedded");
        assert_ne!(silicon.texture.image2d.layout, base.texture.image2d.layout);
        assert_ne!(silicon.texture.image2d.set_hash, base.texture.image2d.set_hash);
        assert_ne!(silicon.l2.slice_hash, base.l2.slice_hash);
        let numbers = [
            (silicon.core.clock, base.core.clock),
            (silicon.texture.latency, base.texture.latency),
            (silicon.l2.sector_time, base.l2.sector_time),
            (silicon.dram.latency, base.dram.latency),
            (f64::from(silicon.l2.cache.sets), f64::from(base.l2.cache.sets)),
            (silicon.launch.overhead, base.launch.overhead),
        ];
        for (own, was) in numbers {
            assert!((0.8..=1.2).contains(&(own / was)), "{}: {own} of {was}", silicon.name);
        }
        assert!(numbers.iter().filter(|(own, was)| own != was).count() >= 5, "{}", silicon.name);
        assert!(silicon.assumed.iter().any(|key| key == "dram.latency") && silicon.assumed.len() > 50, "{:?}", silicon.assumed);
    }
}

const PROGRAMS: [&str; 3] = [
    // Texels of an image in an order of their own.
    "program texels {
       read image a: rgba32f[24, 10]
       write buffer out: f32[240 * 4]
       groups g = 15
       lanes l = 16
       {
         let i = g * 16 + l
         out[i * 4] = a@[(i * 7) % 24, (i * 3) % 10] * splat4(2.0)
       }
     }",
    // Sums of rows.
    "program rows {
       read buffer a: f32[960]
       write buffer out: f32[40]
       groups g = 2
       lanes l = 20
       {
         var s: f32 = 0.0
         for n in 0..24 unroll 4 { s = s + a[(g * 20 + l) * 24 + n] }
         out[g * 20 + l] = s
       }
     }",
    // Neighbours meet in local memory.
    "program turned {
       read buffer a: f32[960]
       write buffer out: f32[960]
       local t: f32[96]
       groups g = 10
       lanes l = 96
       {
         t[l] = a[g * 96 + l]
         barrier group local
         out[g * 96 + l] = t[95 - l] + t[(l * 5) % 96]
       }
     }",
];

#[test]
fn all_compute_what_the_interpreter_computes_in_times_of_their_own() {
    let programs = PROGRAMS.map(|source| Checked::new(text::parse(source).expect("parses")).expect("valid"));
    let values: Vec<f32> = (0..960).map(|n| (n % 31) as f32 / 4.0).collect();
    let mut times = BTreeSet::new();
    for (_, silicon) in suite() {
        let simulator = Simulator::new(silicon);
        for (program, bytes) in programs.iter().zip([960, 40, 960]) {
            let mut expected = Bindings { sizes: BTreeMap::new(), data: vec![f32_bytes(&values), vec![0; bytes * 4]] };
            let mut got = expected.clone();
            interpret(program, &mut expected).expect("runs");
            let report = simulator.simulate(program, &mut got).unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(got.data, expected.data, "{}", simulator.silicon().name);
            times.insert(report.time.0.to_bits());
        }
    }
    assert_eq!(times.len(), 60, "no two take the same time");
}
