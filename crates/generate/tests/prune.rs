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
    let images = |config: &_| family.images(config).unwrap().contains(&true);
    let with = prune(&family, family.configs(), &Allowance::of(&adreno));
    let buffers = prune(&family, family.configs(), &Allowance::of(&without));
    assert!(with.configs.iter().any(images) && with.dropped["image_size"] == 0);
    let expected: Vec<_> = with.configs.iter().filter(|config| !images(config)).cloned().collect();
    assert!(!expected.is_empty());
    assert_eq!(buffers.configs, expected);
}
