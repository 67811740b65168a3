//! What a device cannot run is dropped, and what it can is kept in the family's order.

use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, CRITERIA, Hardware, Rule, cut, prune};
use warpsight_generate::{Meeting, Pass, Passes, ScheduleFamily, candidates};
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{Bytes, Config, Facts, Family, Seconds};

#[test]
fn images_are_for_devices_with_texture_units() {
    let family = ScheduleFamily::new(parse_operator("matmul m=64 n=36 k=20").unwrap().steps.remove(0));
    let adreno = builtin("adreno640").unwrap().unwrap();
    let mut without = adreno.clone();
    without.memory.texture_l1.bytes = Fact::<Bytes>::absent("no texture units");
    let images = |config: &_| family.places(config).unwrap().iter().any(|place| place.is_image());
    let (with, buffers) = (Allowance::of(&adreno), Allowance::of(&without));
    let mut pruned = prune(&family, family.configs(), &with);
    let all: Vec<_> = pruned.by_ref().map(|own| own.0).collect();
    assert!(all.iter().any(images) && pruned.dropped["image_size"] == 0);
    let expected: Vec<_> = all.into_iter().filter(|config| !images(config)).collect();
    assert!(!expected.is_empty());
    let mut pruned = prune(&family, family.configs(), &buffers);
    assert_eq!(pruned.by_ref().map(|own| own.0).collect::<Vec<_>>(), expected);
    assert_eq!((pruned.left, pruned.left + pruned.dropped.values().sum::<usize>()), (expected.len(), family.configs().count()));
}

/// Outlines of one schedule share what does not depend on where tensors lie: none has what another place makes of it.
#[test]
fn what_outlines_share_is_of_each() {
    let adreno = builtin("adreno640").unwrap().unwrap();
    let allow = Allowance { vector: None, ..Allowance::of(&adreno) };
    for (name, text) in
        [("held", "matmul m=6 n=37 k=20 layernorm=1"), ("held", "softmax n=6 c=45"), ("direct", "matmul m=13 n=20 k=37 weights=none")]
    {
        let own = candidates::candidates(&parse_operator(text).unwrap()).into_iter().find(|own| own.name == name).unwrap();
        let family = ScheduleFamily::new(own.operator.steps[0].clone());
        // All places of a schedule follow each other.
        let mut seen = 0;
        for (config, outline) in prune(&family, family.configs(), &allow) {
            if seen % 23 == 0 {
                assert_eq!(outline.registers, family.kernel(&config).registers, "{text}: {:?}", family.space().describe(&config));
                assert_eq!(outline, family.outline(&config), "{text}: {:?}", family.space().describe(&config));
            }
            seen += 1;
        }
        assert!(seen > 300, "{text}: {seen}");
    }
}

#[test]
fn groups_meet_where_local_memory_is_nearer() {
    let family = ScheduleFamily::new(parse_operator("matmul m=64 n=64 k=64 weights=none").unwrap().steps.remove(0));
    let a100 = builtin("a100-40").unwrap().unwrap();
    let (mut serial, mut without) = (a100.clone(), a100.clone());
    serial.execution.warp = Fact::known(1, Source::Assumed, "a CPU");
    without.execution.local = Fact::absent("none on the chip");
    let adreno = builtin("adreno640").unwrap().unwrap();
    let mut probed = adreno.clone();
    probed.probed.barrier = Fact::known(Seconds(2e-8), Source::Assumed, "measured by a probe");
    let shares = Meeting { copies: false, shares: true };
    for (profile, meeting, reason) in [
        (&a100, Meeting::ANY, None),
        (&adreno, shares, Some("unrecorded_copies")),
        (&probed, Meeting::ANY, None),
        (&serial, Meeting::default(), Some("plain_local_memory")),
        (&without, Meeting::default(), Some("plain_local_memory")),
    ] {
        let allowance = Allowance { vector: None, ..Allowance::of(profile) };
        assert_eq!(allowance.meeting, meeting);
        let mut pruned = prune(&family, family.configs(), &allowance);
        let mut seen = Meeting::default();
        for (config, _) in &mut pruned {
            let own = family.meets(&config);
            seen = Meeting { copies: seen.copies || own.copies, shares: seen.shares || own.shares };
        }
        assert_eq!(seen, meeting);
        let refused = family.configs().filter(|config| !meeting.allows(family.meets(config))).count();
        let dropped = |own: &str| pruned.dropped[own];
        assert_eq!(reason.map_or(0, dropped), refused);
        assert_eq!(dropped("plain_local_memory") + dropped("unrecorded_copies"), refused);
    }
}

/// Operators whose spaces differ: reductions, windows, halves, rows, moves.
const OPERATORS: [&str; 6] = [
    "matmul m=64 n=36 k=20 weights=none",
    "matmul m=64 n=64 k=64 dtype=f16s",
    "conv2d n=1 c=8 h=9 w=11 k=12 r=3 s=3 stride=1 pad=1",
    "dwconv2d n=1 c=8 h=14 w=14 r=3 s=3 stride=2 pad=1",
    "reduce_sum n=12 c=300",
    "transpose n=40 c=24",
];

#[test]
fn facts_of_outlines_are_those_of_lowered_programs() {
    let mut rng = fastrand::Rng::with_seed(21);
    let mut draws = 0;
    for text in OPERATORS {
        for step in parse_operator(text).unwrap_or_else(|error| panic!("{text}: {error}")).steps {
            let family = ScheduleFamily::new(step);
            let all: Vec<_> = family.configs().collect();
            for _ in 0..90 {
                let config = &all[rng.usize(..all.len())];
                let warp = [1, 16, 64][rng.usize(..3)];
                let (outline, kernel) = (Facts::of(&family.outline(config), warp), Facts::of(&family.kernel(config), warp));
                assert_eq!(outline, kernel, "{text}: {:?}", family.space().describe(config));
                draws += 1;
            }
        }
    }
    assert!(draws >= 500, "{draws}");
}

#[test]
fn what_is_left_is_beaten_by_nothing() {
    let family = ScheduleFamily::new(parse_operator(OPERATORS[2]).unwrap().steps.remove(0));
    let profile = builtin("adreno640").unwrap().unwrap();
    let allow = Allowance::of(&profile);
    let on = Hardware::of(&profile, allow.residency);
    let by = |configs: Vec<_>, rule| cut(&family, configs.into_iter(), &allow, &on, rule);
    let all: Vec<_> = family.configs().collect();
    let (runs, hardware) = (by(all.clone(), Rule::None), by(all.clone(), Rule::Hardware));
    for cut in [&runs, &hardware] {
        assert_eq!((cut.total(), cut.nearest.is_none()), (all.len(), true));
    }
    assert!(hardware.left.len() * 10 < runs.left.len(), "{} of {}", hardware.left.len(), runs.left.len());
    assert_eq!(by(hardware.left.clone(), Rule::Hardware).left, hardware.left, "once is enough");
    let criteria = CRITERIA.iter().filter(|name| hardware.dropped.get(*name).is_some_and(|&count| count > 0));
    assert!(criteria.count() >= 4, "{:?}", hardware.dropped);
    // Word by word the paper's criteria speak against all of them: the cache holds a texel of each lane of a warp and no more.
    let paper = by(all, Rule::Paper001);
    let nearest = paper.nearest.clone().expect("one is nearest");
    assert!(paper.left.is_empty() && paper.against["l1_cache"] > 0 && paper.against["buffer"] > 0, "{:?}", paper.against);
    assert_eq!(nearest.violated.len(), 1, "{nearest:?}");
    assert!(nearest.violated.iter().all(|own| own.1 > 1.0), "{nearest:?}");
}

/// A store may hold configurations of another time.
#[test]
fn what_is_not_legal_is_no_configuration() {
    let family = ScheduleFamily::new(parse_operator("matmul m=64 n=64 k=64").unwrap().steps.remove(0));
    let space = family.space();
    let largest = Config(space.knobs.iter().map(|knob| *knob.values.last().unwrap()).collect());
    assert!(family.places(&largest).is_none(), "the largest tiles, the widest vectors and every copy together");
    let anything = Allowance { meeting: Meeting::ANY, ..Allowance::default() };
    let mut pruned = prune(&family, std::iter::once(largest), &anything);
    assert!(pruned.next().is_none());
    assert_eq!((pruned.left, pruned.dropped.values().sum::<usize>()), (0, 0));
}

/// Configurations of one schedule follow each other: what they share says of each what its outline says alone.
#[test]
fn outlines_one_after_another_are_what_each_is_alone() {
    let texts = [
        "conv2d n=1 c=20 h=9 w=14 k=24 r=3 s=3 stride=1 pad=1",
        "matmul m=64 n=48 k=64 weights=none",
        "fc n=2 k=512 m=24",
        "softmax n=24 c=96",
        "add n=64 c=96",
    ];
    let mut differ = 0;
    for text in texts {
        for way in candidates(&parse_operator(text).unwrap()) {
            for expr in way.operator.kernels() {
                let family = ScheduleFamily::new(expr.clone());
                let configs = family.sample(7, 30, Meeting::ANY);
                differ += configs.windows(2).filter(|pair| family.places(&pair[0]) != family.places(&pair[1])).count();
                for (config, outline) in prune(&family, configs.into_iter(), &Allowance::default()) {
                    assert_eq!(outline, family.outline(&config), "{text} {} {config:?}", way.name);
                }
            }
        }
    }
    assert!(differ > 100, "{differ}");
}

/// What is drawn for a device lies where it gains: the same configurations that pruning would leave of those.
#[test]
fn what_is_drawn_for_a_device_lies_where_it_gains() {
    let mut profile = builtin("a100-40").unwrap().unwrap();
    profile.execution.warp = Fact::known(1, Source::Assumed, "a CPU");
    profile.execution.vector_width = Fact::known(8, Source::Assumed, "a CPU");
    let allow = Allowance::of(&profile);
    for (text, narrow) in [("matmul m=64 n=64 k=64", "columns4"), ("conv2d n=1 c=24 h=6 w=6 k=24 r=1 s=1", "blocks4")] {
        let family = ScheduleFamily::by(parse_operator(text).unwrap().steps.remove(0), Passes::default().set(Pass::Strips, true));
        let lies = |config: &Config| family.chosen_places(config).all(|place| allow.nowhere(place).is_none());
        let all = family.sample(3, 200, Meeting::default());
        let drawn: Vec<Config> = family.drawn(3, 200, Meeting::default(), |place| allow.nowhere(place).is_none(), &[]).collect();
        assert_eq!(all.iter().filter(|own| lies(own)).cloned().collect::<Vec<_>>(), drawn, "{text}");
        let labels = |all: &[Config]| all.iter().any(|own| format!("{:?}", family.space().describe(own)).contains(narrow));
        assert!(labels(&all) && !labels(&drawn), "{text}");
    }
}

/// Where a device can run none of a space, the one is named that is the least beyond it.
#[test]
fn the_nearest_is_named_where_a_device_can_run_none() {
    let family = ScheduleFamily::new(parse_operator("matmul m=8 n=8 k=8").unwrap().steps.remove(0));
    let mut few = builtin("adreno640").unwrap().unwrap();
    few.execution.max_registers = Fact::known(2, Source::Assumed, "a test");
    let on = |profile| Hardware::of(profile, Allowance::of(profile).residency);
    let least = prune(&family, family.configs(), &Allowance::of(&builtin("adreno640").unwrap().unwrap())).map(|own| own.1.registers).min();
    for rule in [Rule::None, Rule::Hardware, Rule::Paper001] {
        let cut = cut(&family, family.configs(), &Allowance::of(&few), &on(&few), rule);
        let nearest = cut.nearest.expect("one is named");
        assert_eq!((cut.left.len(), &nearest.violated[..]), (0, &[("registers", f64::from(least.unwrap()) / 2.0)][..]), "{rule:?}");
        assert_eq!(Some(family.outline(&nearest.config).registers), least);
    }
    // Where something is left, a device's own limits name none.
    let adreno = builtin("adreno640").unwrap().unwrap();
    assert_eq!(cut(&family, family.configs(), &Allowance::of(&adreno), &on(&adreno), Rule::Hardware).nearest, None);
}
