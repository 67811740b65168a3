//! Ways to read: images of all kinds, buffers, constants; which of them go on at once, which share a cache, and what it takes to say where.

mod kinds;
mod places;
mod sharing;
mod together;

use super::ask::go_on;
use super::cores::full;
use super::steady::plan;
use super::{Aspect, Seen};
use crate::{Context, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};
use warpsight_run::DeviceInfo;

const NAME: &str = "paths";

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "ways to read: every kind of image and format, images beside buffers, caches that ways share, places in images",
            needs: Needs::Programs,
            share: 1.0,
            plan: |context: &Context| {
                let (full, kinds, ways) = (full(context.device), kinds::listed(context.device), sharing::ways(context));
                plan(NAME, move |asked| {
                    go_on(together::overlap(asked, full))?;
                    kinds.iter().try_for_each(|kind| go_on(kind.measured(asked, full)))?;
                    go_on(places::costs(asked))?;
                    go_on(sharing::pairs(asked, &ways))
                })
            },
        },
        analyse,
    }
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let full = full(seen.device);
    together::analyse(seen, full, &mut found);
    kinds::analyse(seen, full, &mut found);
    places::analyse(seen, &mut found);
    sharing::analyse(seen, &mut found);
    extents(seen.device, &mut found);
    found
}

/// Sides of images, as the driver says them: an image that is larger is refused, whatever the device could do.
fn extents(device: &DeviceInfo, found: &mut Findings) {
    let cite = "what the driver says; nothing was measured of it";
    let side = |of: fn((u32, u32)) -> u32| match device.limits.image_2d {
        Some(sides) if of(sides) > 0 => Fact::known(f64::from(of(sides)), Source::Vendor, cite),
        Some(_) => Fact::absent("the driver lists no images"),
        None => Fact::unknown("the driver does not say how large an image may be"),
    };
    found.number("image.max_width", side(|sides| sides.0));
    found.number("image.max_height", side(|sides| sides.1));
}

/// Whether the driver says that there are images at all.
fn has_images(device: &DeviceInfo) -> bool {
    device.limits.image_2d.is_some_and(|(width, height)| width > 0 && height > 0)
}
