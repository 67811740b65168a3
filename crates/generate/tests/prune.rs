//! What a device cannot run is dropped, and what it can is kept in the family's order.

use warpsight_generate::ScheduleFamily;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_ir::profile::{Fact, builtin};
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
