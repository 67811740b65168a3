//! The roofline of what was found.

use crate::plot::{PlotError, Roofline};
use warpsight_probe::Findings;

/// Memories by their keys, the nearest first.
const MEMORIES: [(&str, &str); 9] = [
    ("local.bandwidth", "local memory"),
    ("texture.l1.bandwidth", "images, L1"),
    ("buffer.l1.bandwidth", "buffers, L1"),
    ("constant.bandwidth", "constants"),
    ("texture.l2.bandwidth", "images, L2"),
    ("buffer.l2.bandwidth", "buffers, L2"),
    ("buffer.l3.bandwidth", "buffers, L3"),
    ("write.bandwidth", "writes"),
    ("dram.bandwidth", "memory"),
];

/// The peak under which roofs end, and the bandwidth of each memory that was found.
pub fn roofs(findings: &Findings) -> Option<(f64, Vec<(&'static str, f64)>)> {
    let positive = |key: &str| findings.get(key).filter(|number| number.is_finite() && *number > 0.0);
    let roofs: Vec<_> = MEMORIES.iter().filter_map(|(key, name)| Some((*name, positive(key)?))).collect();
    let peak = positive("peak.fp32")?;
    (!roofs.is_empty()).then_some((peak, roofs))
}

/// Draws it; nothing where the peak or every bandwidth is unknown.
pub fn svg(findings: &Findings) -> Result<String, PlotError> {
    let (peak, roofs) = roofs(findings).ok_or(PlotError::Empty)?;
    Roofline { peak, roofs, works: vec![] }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::profile::{Fact, Source};

    #[test]
    fn every_memory_that_was_found_has_its_roof() {
        let mut findings = Findings::default();
        let number = |value: f64| Fact::known(value, Source::Measured, "a test");
        findings.number("dram.bandwidth", number(3e10));
        findings.number("buffer.l2.bandwidth", Fact::unknown("not tried"));
        assert_eq!(svg(&findings), Err(PlotError::Empty), "there is no peak");
        findings.number("peak.fp32", number(9e11));
        findings.number("texture.l1.bandwidth", number(2.4e11));
        assert_eq!(roofs(&findings), Some((9e11, vec![("images, L1", 2.4e11), ("memory", 3e10)])));
        let drawn = svg(&findings).expect("a roofline");
        assert!(drawn.contains("memory, 30 GB/s") && drawn.contains("images, L1, 240 GB/s") && !drawn.contains("L2"), "{drawn}");
    }
}
