//! What was found, held against itself: numbers that are known by two ways, neither of which is made of the other.

use crate::fit::registers::QUANTUM;
use crate::{Finding, Findings};
use warpsight_ir::profile::Fact;

/// Two ways to one number.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Consistency {
    /// What must be equal to what.
    pub what: String,
    /// By other numbers; `None` where one of them is not known.
    pub expected: Option<f64>,
    /// As found; `None` where it was not.
    pub found: Option<f64>,
    /// What comes of it.
    pub verdict: Verdict,
    /// In which intervals both lie and by how much they differ, or why nothing is to be compared.
    pub why: String,
}

/// What comes of comparing two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Verdict {
    /// Their intervals meet, or they differ by no more than they may.
    #[serde(rename = "consistent")]
    Consistent,
    /// One of them is wrong.
    #[serde(rename = "contradiction")]
    Contradiction,
    /// One of them is not known.
    #[serde(rename = "not checkable")]
    Uncheckable,
}

impl Verdict {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Contradiction => "contradiction",
            Self::Uncheckable => "not checkable",
        }
    }
}

/// A number with its interval, or why it is not known.
type Told = Result<[f64; 3], String>;

/// Rates of one device that are timed by kernels of different shape.
const RATES: f64 = 0.1;
/// Where a curve ends, and what its cache holds: sets that fill unevenly miss before a cache is full.
const ENDS: f64 = 0.05;

/// Holds what was found against itself. Each comparison is listed, with the reason where one of its sides is not known.
pub fn consistency(findings: &Findings) -> Vec<Consistency> {
    let held = Held { findings };
    let levels = ["texture.l1", "texture.l2", "buffer.l1", "buffer.l2", "buffer.l3", "constant.l1"];
    let caches = levels.into_iter().filter_map(|level| held.cache(level));
    let first = [held.peak(), held.alus(), held.cycles(), held.registers()];
    first.into_iter().chain(caches).chain([held.second_level(), held.warps()]).collect()
}

struct Held<'f> {
    findings: &'f Findings,
}

impl Held<'_> {
    fn told(&self, key: &str) -> Told {
        match self.findings.facts.get(key) {
            Some(Finding::Number(Fact::Known { value, lo, hi, .. })) => Ok([lo.unwrap_or(*value), *value, hi.unwrap_or(*value)]),
            Some(Finding::Number(Fact::Unknown { unknown })) => Err(format!("`{key}` is unknown: {unknown}")),
            Some(Finding::Number(Fact::Absent { absent })) => Err(format!("`{key}` is absent: {absent}")),
            _ => Err(format!("`{key}` was not measured")),
        }
    }

    /// All of several numbers multiplied, or why one of them is not known.
    fn product(&self, keys: &[&str]) -> Told {
        keys.iter().try_fold([1.0; 3], |product, key| Ok(multiplied(product, self.told(key)?)))
    }

    /// Several cores against one: one group that has a core for itself, cores counted by their local memories, and what all compute together.
    fn peak(&self) -> Consistency {
        let known = self.told("clock.hz").is_ok();
        let what = match known {
            true => "ALUs of a core, by one group alone × cores × clock × 2 = peak f32",
            // Times tell the product of both.
            false => "ALUs × clock of a core, by one group alone × cores × 2 = peak f32",
        };
        compared(what.into(), self.product(&["peak.fp32_one_core", "cores"]), self.told("peak.fp32"), RATES)
    }

    /// ALUs by the order in which lanes begin and end, which no rate is part of, against the rate of all.
    fn alus(&self) -> Consistency {
        let what = "ALUs of a core, by the order of tickets × cores × clock × 2 = peak f32";
        let rate = self.product(&["alu.by_order", "cores", "clock.hz"]).map(|rate| rate.map(|rate| 2.0 * rate));
        compared(what.into(), rate, self.told("peak.fp32"), RATES)
    }

    fn cycles(&self) -> Consistency {
        let cycles = self.product(&["fma.latency_s", "clock.hz"]);
        let whole = cycles.clone().map(|cycles| [cycles[1].round().max(1.0); 3]);
        compared("a dependent multiply-add takes whole cycles of the clock".into(), whole, cycles, RATES)
    }

    /// The register file of a core by two ways. Work-items that run at once with as many registers as they may have: the file has room for these,
    /// and none for another group. Work-items with fewer values, where a value more keeps a group out.
    fn registers(&self) -> Consistency {
        let what = "registers of a work-item × concurrency, with all of them = register file, by groups with fewer";
        let by_items = self.file_by_items();
        let all = if self.told("concurrency.full_items").is_ok() { by_items } else { self.file_by_warps().or(by_items) };
        compared(what.into(), all, self.told("registers.per_core"), 0.0)
    }

    fn file_by_items(&self) -> Told {
        let [least, most, over] = self.told("registers.per_thread_max")?;
        let ([fewest, items, room], cores) = (self.told("concurrency.full_items")?, self.told("cores")?[1]);
        Ok([least * fewest / cores, most * items / cores, (over + f64::from(QUANTUM)) * room / cores])
    }

    /// The same of groups of one work-item, a warp each, where nobody counted work-items.
    fn file_by_warps(&self) -> Told {
        let ([least, most, over], full, cores) =
            (self.told("registers.per_thread_max")?, self.told("concurrency.full")?[1], self.told("cores")?[1]);
        let sizes = match self.findings.facts.get("warp.sizes") {
            Some(Finding::Numbers(Fact::Known { value, .. })) if !value.is_empty() => value,
            _ => return Err("the size of a warp is not known".into()),
        };
        // Of several nobody says which a group of one work-item has.
        let [narrow, wide] = [f64::min, f64::max].map(|end| sizes.iter().copied().fold(sizes[0], end));
        if full < cores {
            return Err(format!("{full} groups run at once on {cores} cores, so that a warp has more than one core's registers"));
        }
        let warps = full / cores;
        // Where others would run at once with fewer registers, one more warp has no room. A file of each warp's own has that many, and no more.
        let others = self.told("concurrency.half").is_ok_and(|half| half[1] > full);
        let room = if others { warps.floor() + 1.0 } else { warps };
        Ok([least * narrow * warps, most * sizes[0] * warps, (over + f64::from(QUANTUM)) * wide * room])
    }

    /// A shape, told by walks of many strides, and where the curve of growing walks leaves its level; `None` of a level that nobody found.
    fn cache(&self, level: &str) -> Option<Consistency> {
        let key = |of: &str| format!("{level}.{of}");
        self.told(&key("capacity_bytes")).ok()?;
        let shape = self.product(&[&key("line_bytes"), &key("sets"), &key("ways")]);
        // Of several shapes, whose lines, sets and ways go together, the value is the best one's.
        let shape = shape.map(|shape| [shape[1]; 3]);
        Some(compared(format!("{level}: line × sets × ways = where the curve of walks ends"), shape, self.told(&key("end_bytes")), ENDS))
    }

    fn second_level(&self) -> Consistency {
        let what = "the L2 of buffers holds what that of images holds";
        compared(what.into(), self.told("buffer.l2.capacity_bytes"), self.told("texture.l2.capacity_bytes"), RATES)
    }

    /// Two warps may go on together: their order shows them as one.
    fn warps(&self) -> Consistency {
        let (order, latency) = (self.told("warp.by_order"), self.told("warp.by_latency"));
        let whole = latency.and_then(|latency| {
            let times = (order.clone()?[1] / latency[1]).round().max(1.0);
            Ok([latency[1] * times; 3])
        });
        let what = "the order of atomics shows whole warps of those that latency shows";
        compared(what.into(), whole, order.map(|order| [order[1]; 3]), 0.0)
    }
}

fn multiplied(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

/// Two intervals that have to meet, but for a part of what is expected.
fn compared(what: String, expected: Told, found: Told, tolerance: f64) -> Consistency {
    let value = |told: &Told| told.as_ref().ok().map(|told| told[1]);
    let (left, right) = (value(&expected), value(&found));
    let (verdict, why) = match (expected, found) {
        (Ok(expected), Ok(found)) => {
            let off = (found[1] / expected[1] - 1.0) * 100.0;
            let within = format!("{} to {} expected, {} to {} found", expected[0], expected[2], found[0], found[2]);
            let apart = (expected[0] - found[2]).max(found[0] - expected[2]);
            let agrees = apart <= tolerance * expected[1].abs();
            let verdict = if agrees { Verdict::Consistent } else { Verdict::Contradiction };
            (verdict, format!("{off:+.1} %: {within}"))
        }
        (Err(why), Ok(_)) | (Ok(_), Err(why)) => (Verdict::Uncheckable, why),
        (Err(why), Err(other)) if why == other => (Verdict::Uncheckable, why),
        (Err(why), Err(other)) => (Verdict::Uncheckable, format!("{why}; {other}")),
    };
    Consistency { what, expected: left, found: right, verdict, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::profile::Source;

    fn findings(numbers: &[(&str, f64)]) -> Findings {
        let mut findings = Findings::default();
        numbers.iter().for_each(|(key, value)| findings.number(*key, Fact::known(*value, Source::Measured, "a test")));
        findings
    }

    fn verdict(findings: &Findings, word: &str) -> Consistency {
        consistency(findings).into_iter().find(|one| one.what.contains(word)).unwrap_or_else(|| panic!("nothing is held against `{word}`"))
    }

    fn warps(mut findings: Findings, warp: f64) -> Findings {
        findings.facts.insert("warp.sizes".into(), Finding::Numbers(Fact::known(vec![warp], Source::Measured, "a test")));
        findings
    }

    /// 183 registers, twelve warps of 64 on two cores: 70,272 are in use, and another warp needs 11,712.
    #[test]
    fn a_register_file_has_room_for_what_runs_and_for_no_warp_more() {
        let own = |file: [f64; 3]| {
            let known = [("registers.per_thread_max", 183.0), ("concurrency.full", 12.0), ("concurrency.half", 24.0), ("cores", 2.0)];
            let mut findings = warps(findings(&known), 64.0);
            findings.number("registers.per_core", Fact::between(file[0], file[1], file[2], Source::Measured, "a test"));
            verdict(&findings, "register file")
        };
        let fits = own([72_192.0, 72_192.0, 83_200.0]);
        assert_eq!((fits.expected, fits.verdict), (Some(70_272.0), Verdict::Consistent), "{fits:?}");
        for file in [[60_000.0, 61_000.0, 65_000.0], [144_384.0, 144_384.0, 166_400.0]] {
            let off = own(file);
            assert_eq!(off.verdict, Verdict::Contradiction, "{off:?}");
            assert!(off.why.starts_with(&format!("{:+.1} %", (file[1] / 70_272.0 - 1.0) * 100.0)), "{off:?}");
        }
    }

    /// Registers of each warp's own: no more warps run with half of them, and nothing is left for another.
    #[test]
    fn files_of_each_warps_own_are_counted_too() {
        let own = |file: f64| {
            let known = [("registers.per_thread_max", 64.0), ("concurrency.full", 240.0), ("concurrency.half", 240.0), ("cores", 5.0)];
            let mut findings = warps(findings(&known), 8.0);
            findings.number("registers.per_core", Fact::known(file, Source::Measured, "a test"));
            verdict(&findings, "register file")
        };
        assert_eq!((own(24_576.0).expected, own(24_576.0).verdict), (Some(24_576.0), Verdict::Consistent));
        assert_eq!(own(28_800.0).verdict, Verdict::Contradiction);
    }

    /// Groups of one work-item may be fewer than warps: of those that work-items are counted in, each core has room for all but one more.
    #[test]
    fn work_items_are_counted_where_groups_are_few() {
        let own = |file: f64| {
            let known = [("registers.per_thread_max", 63.0), ("concurrency.full", 80.0), ("concurrency.half", 80.0), ("cores", 5.0)];
            let mut findings = warps(findings(&known), 8.0);
            findings.number("concurrency.full_items", Fact::between(1920.0, 1920.0, 2155.0, Source::Measured, "a test"));
            findings.number("registers.per_core", Fact::known(file, Source::Measured, "a test"));
            verdict(&findings, "register file")
        };
        assert_eq!((own(24_576.0).expected, own(24_576.0).verdict), (Some(24_192.0), Verdict::Consistent));
        assert_eq!(own(12_288.0).verdict, Verdict::Contradiction);
    }

    #[test]
    fn one_core_tells_what_all_do_together() {
        let own = |peak| verdict(&findings(&[("peak.fp32_one_core", 450e9), ("cores", 2.0), ("peak.fp32", peak)]), "peak f32");
        assert_eq!((own(890e9).expected, own(890e9).verdict), (Some(900e9), Verdict::Consistent));
        assert_eq!(own(450e9).verdict, Verdict::Contradiction);
        let known = verdict(&findings(&[("clock.hz", 1e9)]), "peak f32");
        assert_eq!((known.verdict, known.expected, known.found), (Verdict::Uncheckable, None, None));
        assert_eq!(known.why, "`peak.fp32_one_core` was not measured; `peak.fp32` was not measured");
    }

    /// Figure 8 of paper 001 and 890 GFLOP/s of two cores; of other clocks, or of another order, it is not so.
    #[test]
    fn alus_by_order_tell_the_peak() {
        let own = |alus: f64| {
            let known = [("alu.by_order", alus), ("cores", 2.0), ("clock.hz", 585e6), ("peak.fp32", 890e9)];
            verdict(&findings(&known), "order of tickets")
        };
        assert_eq!((own(384.0).expected, own(384.0).verdict), (Some(898.56e9), Verdict::Consistent));
        assert_eq!(own(768.0).verdict, Verdict::Contradiction);
        let unknown = verdict(&findings(&[("cores", 2.0), ("peak.fp32", 890e9)]), "order of tickets");
        assert_eq!((unknown.verdict, &*unknown.why), (Verdict::Uncheckable, "`alu.by_order` was not measured"));
    }

    #[test]
    fn shapes_are_held_against_the_curve() {
        let own = |end: [f64; 3]| {
            let shape = [("line_bytes", 32.0), ("sets", 2.0), ("ways", 16.0), ("capacity_bytes", 1024.0)];
            let keys: Vec<(String, f64)> = shape.iter().map(|(of, value)| (format!("texture.l1.{of}"), *value)).collect();
            let mut findings = findings(&keys.iter().map(|(key, value)| (&**key, *value)).collect::<Vec<_>>());
            findings.number("texture.l1.end_bytes", Fact::between(end[0], end[1], end[2], Source::Measured, "a test"));
            verdict(&findings, "texture.l1")
        };
        assert_eq!(own([1000.0, 1010.0, 1040.0]).verdict, Verdict::Consistent);
        assert_eq!(own([1950.0, 2048.0, 2100.0]).verdict, Verdict::Contradiction);
        assert!(consistency(&Findings::default()).iter().all(|one| one.verdict == Verdict::Uncheckable && !one.why.is_empty()));
    }
}
