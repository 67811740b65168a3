//! Kinds of images and formats of texels: bandwidth and latency of each that a device takes.

use super::super::Seen;
use super::super::ask::{Answer, Asked, Spread, told};
use super::super::cores::cores;
use super::super::kernels::loads::Fetches;
use super::super::kernels::turns::{Leg, turns};
use super::{NAME, has_images};
use crate::kernels::walk::Route;
use crate::{Curve, Findings};
use warpsight_ir::profile::Fact;
use warpsight_ir::{ImageFormat, ImageKind};
use warpsight_run::DeviceInfo;

/// Groups for every core, and work-items of each.
const EACH: u32 = 24;
const LANES: u32 = 64;
/// Bytes that are walked through: the nearest cache of anything holds them.
const NEAR: u32 = 256;
/// Texels of an image of one row, and sides of one of several: 256 bytes of four floats.
const ROW: u32 = 16;
const SIDE: u32 = 4;

/// A kind of image, or a format of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// As keys have it.
    word: &'static str,
    kind: ImageKind,
    format: ImageFormat,
}

const ALL: [Kind; 8] = [
    Kind { word: "image1d", kind: ImageKind::Image1d, format: ImageFormat::Rgba32F },
    Kind { word: "image1d_buffer", kind: ImageKind::Image1dBuffer, format: ImageFormat::Rgba32F },
    Kind { word: "image2d", kind: ImageKind::Image2d, format: ImageFormat::Rgba32F },
    Kind { word: "image2d_from_buffer", kind: ImageKind::Image2dFromBuffer, format: ImageFormat::Rgba32F },
    Kind { word: "rgba16f", kind: ImageKind::Image2d, format: ImageFormat::Rgba16F },
    Kind { word: "rgba8unorm", kind: ImageKind::Image2d, format: ImageFormat::Rgba8Unorm },
    Kind { word: "rgba32i", kind: ImageKind::Image2d, format: ImageFormat::Rgba32I },
    Kind { word: "rgba32u", kind: ImageKind::Image2d, format: ImageFormat::Rgba32U },
];

/// Those that the driver lists.
pub(super) fn listed(device: &DeviceInfo) -> Vec<Kind> {
    ALL.into_iter().filter(|kind| kind.missing(device).is_none()).collect()
}

impl Kind {
    /// What the driver says where there is no such kind.
    fn missing(self, device: &DeviceInfo) -> Option<&'static str> {
        let limits = &device.limits;
        match self.kind {
            _ if !has_images(device) => Some("the driver lists no images"),
            ImageKind::Image1d if limits.image_1d == Some(0) => Some("the driver lists no images of one dimension"),
            ImageKind::Image1dBuffer if limits.image_buffer == Some(0) => Some("the driver lists no images that lie in buffers"),
            ImageKind::Image2dFromBuffer if limits.image_pitch == Some(0) => {
                Some("the driver makes no images of two dimensions of buffers")
            }
            _ => None,
        }
    }

    /// Bytes a second, and seconds of a dependent fetch; the latter of kinds alone.
    pub(super) fn measured(self, asked: &Asked, full: u32) -> Answer<(Spread, Option<Spread>)> {
        let (groups, lanes) = (cores(asked, full)?.0 * EACH, LANES.min(full));
        let (width, height) = match self.kind {
            // Rows begin at multiples of a pitch, as a rule of 64 texels: one row needs no second.
            ImageKind::Image2dFromBuffer => (LANES, 1),
            kind if kind.is_one_dimensional() => (ROW, 1),
            _ => (SIDE, SIDE),
        };
        let kernel = Fetches { kind: self.kind, format: self.format, groups, lanes, width, height }.kernel();
        let rate = asked.even_trip(&kernel)?.under(kernel.amounts.bytes);
        let latency = match self.format {
            ImageFormat::Rgba32F => {
                let leg = Leg { route: Route::Image(self.kind), range: NEAR };
                Some(asked.trip(&turns(&[leg]))?.times(1.0 / f64::from(leg.steps())))
            }
            _ => None,
        };
        Ok((rate, latency))
    }
}

pub(super) fn analyse(seen: &Seen, full: u32, found: &mut Findings) {
    let asked = Asked::new(NAME, seen.records);
    let mut rates = vec![];
    for (n, kind) in (0_u32..).zip(ALL) {
        let key = |of: &str| format!("texture.{}.{of}", kind.word);
        if let Some(why) = kind.missing(seen.device) {
            found.number(key("bandwidth"), Fact::absent(why));
            continue;
        }
        match told(kind.measured(&asked, full)) {
            Ok((rate, latency)) => {
                rates.push((n, rate));
                found.number(key("bandwidth"), rate.fact("fetches of an image that the nearest cache holds"));
                if let Some(latency) = latency {
                    found.number(key("latency_s"), latency.fact("dependent fetches of an image that the nearest cache holds"));
                }
            }
            Err(why) => found.number(key("bandwidth"), Fact::unknown(why)),
        }
    }
    let words: Vec<&str> = ALL.iter().map(|kind| kind.word).collect();
    found.curves.push(Curve {
        title: format!("bytes a second of texels by kind and format: {}", words.join(", ")),
        figure: Some("001, figure 9".into()),
        x: "kind".into(),
        y: "B/s".into(),
        points: super::super::ask::points(&rates),
        ..Curve::default()
    });
}
