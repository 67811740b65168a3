//! What a device cannot run is dropped, and what it can is kept in the family's order.

use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{Meeting, ScheduleFamily};
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{Bytes, Family};

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

#[test]
fn groups_meet_where_local_memory_is_nearer() {
    let family = ScheduleFamily::new(parse_operator("matmul m=64 n=64 k=64 weights=none").unwrap().steps.remove(0));
    let a100 = builtin("a100-40").unwrap().unwrap();
    let (mut serial, mut without) = (a100.clone(), a100.clone());
    serial.execution.warp = Fact::known(1, Source::Assumed, "a CPU");
    without.execution.local = Fact::absent("none on the chip");
    let adreno = builtin("adreno640").unwrap().unwrap();
    let shares = Meeting { copies: false, shares: true };
    for (profile, meeting, reason) in [
        (&a100, Meeting::ANY, None),
        (&adreno, shares, Some("unrecorded_copies")),
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
