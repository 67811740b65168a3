//! Where files of one recording contradict each other.

use super::recording::{Recording, TEXEL, per_iteration};
use super::streams::fallen;
use crate::fit::warp::first_step;
use crate::{Finding, Findings};
use warpsight_ir::profile::{Fact, Source};

/// Texels of a row and of a column that a group reads again and again before it takes much longer.
pub fn texels(recording: &Recording, found: &mut Findings) {
    let (_, points) = per_iteration(&recording.texels);
    for (name, along) in [("x", 0.0), ("y", 1.0)] {
        let points: Vec<(f64, f64)> = points.iter().filter(|point| point.0[1] == along).map(|point| (point.0[0], point.1)).collect();
        let fact = match first_step(&points) {
            Some((last, next)) => {
                let cite = format!("ImageCachelineSize: texels of {} bytes along {name} that work-items keep reading", TEXEL);
                Fact::between(last, last, next - 1.0, Source::Measured, cite)
            }
            None => Fact::unknown(format!("ImageCachelineSize: no step of time along {name}")),
        };
        found.number(format!("texture.l1.texels_{name}"), fact);
    }
}

/// Lists what contradicts.
pub fn check(recording: &Recording, found: &mut Findings) {
    let mut against = vec![];
    let capacity = ends(found, "texture.l1.capacity_bytes");
    let number = |key: &str| found.get(key);
    if let (Some((lo, value, hi)), Some(fall)) = (capacity, fallen(&recording.image_bandwidth).first())
        && (hi < fall.0 || lo >= fall.1)
    {
        against.push(format!(
            "ImageCacheHierarchyPChase: the nearest texture cache holds {value} B; ImageBandwidth: bandwidth falls between {} and {} B",
            fall.0, fall.1
        ));
    }
    for along in ["x", "y"] {
        if let (Some((_, value, hi)), Some(texels)) = (capacity, number(&format!("texture.l1.texels_{along}")))
            && texels * TEXEL > hi
        {
            against.push(format!(
                "ImageCacheHierarchyPChase: the nearest texture cache holds {value} B; ImageCachelineSize: {texels} texels along {along}, {} B, \
                 are read as fast as one",
                texels * TEXEL
            ));
        }
    }
    if let (Some((_, value, hi)), Some(x), Some(y)) = (capacity, number("texture.l1.texels_x"), number("texture.l1.texels_y"))
        && x.max(y) * TEXEL * 2.0 <= value
        && hi.is_finite()
    {
        against.push(format!(
            "ImageCacheHierarchyPChase: the nearest texture cache holds {value} B; ImageCachelineSize: more than {} B along x or {} B along y \
             are read slower",
            x * TEXEL,
            y * TEXEL
        ));
    }
    if let (Some((lo, value, hi)), Some(x), Some(y)) =
        (ends(found, "texture.l1.line_bytes"), number("texture.l1.texels_x"), number("texture.l1.texels_y"))
    {
        let line = TEXEL * x.max(y) / x.min(y);
        if line < lo || line > hi {
            against.push(format!(
                "ImageCacheHierarchyPChase: lines of {value} B; ImageCachelineSize: {x} texels along x and {y} along y fit, so lines of {line} B"
            ));
        }
    }
    let (_, reads) = per_iteration(&recording.texels);
    let alone = reads.iter().filter(|point| point.0[0] == 1.0).map(|point| point.1).fold(f64::INFINITY, f64::min);
    if let Some((_, value, hi)) = ends(found, "texture.l1.latency_s")
        && alone.is_finite()
        && alone > SLOWER * hi
    {
        against.push(format!(
            "ImageCacheHierarchyPChase: a hit takes {:.1} ns; ImageCachelineSize: reads that wait for nothing take {:.1} ns each",
            1e9 * value,
            1e9 * alone
        ));
    }
    for level in 2..5 {
        let keys = ["texture", "buffer"].map(|path| format!("{path}.l{level}.capacity_bytes"));
        if let [Some(image), Some(buffer)] = keys.each_ref().map(|key| ends(found, key))
            && (image.2 < buffer.0 || buffer.2 < image.0)
        {
            let (image, buffer) = (image.1, buffer.1);
            against.push(format!(
                "ImageCacheHierarchyPChase: cache {level} holds {image} B; BufferCacheHierarchyPChase: cache {level} holds {buffer} B"
            ));
        }
    }
    found.contradictions.extend(against);
}

/// Reads of a kernel that takes no longer than a chain of them: so much slower is a contradiction.
const SLOWER: f64 = 1.1;

/// Least, best and most of a number.
fn ends(found: &Findings, key: &str) -> Option<(f64, f64, f64)> {
    match found.facts.get(key)? {
        Finding::Number(Fact::Known { value, lo, hi, .. }) => Some((lo.unwrap_or(*value), *value, hi.unwrap_or(*value))),
        _ => None,
    }
}
