//! Recordings of invented caches: least recently used, sets by the line's number, with noise and outliers, written as MT4G writes them.

use fastrand::Rng;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;
use warpsight_probe::replay::mt4g;

struct Cache {
    sets: u64,
    ways: usize,
    line: u64,
    /// Bytes that a miss brings.
    sector: u64,
}

impl Cache {
    fn capacity(&self) -> u64 {
        self.sets * self.ways as u64 * self.line
    }

    fn invented(rng: &mut Rng) -> Self {
        let line = 32 << rng.u64(0..4);
        let sector = (line >> rng.u64(0..3)).max(16);
        Self { sets: [4, 8, 16, 24, 32, 64][rng.usize(0..6)], ways: [4, 6, 8, 16][rng.usize(0..4)], line, sector }
    }

    /// Which of the first loads of a warm chase at a stride through so many bytes miss.
    fn chase(&self, stride: u64, bytes: u64) -> Vec<bool> {
        let mut sets: Vec<Vec<(u64, u64)>> = vec![vec![]; self.sets as usize];
        let mut misses = vec![];
        for round in 0..3 {
            misses.clear();
            for address in (0..bytes / stride).map(|load| load * stride) {
                let (line, sector) = (address / self.line, 1 << (address % self.line / self.sector));
                let set = &mut sets[(line % self.sets) as usize];
                let found = set.iter().position(|(own, _)| *own == line).map(|at| set.remove(at));
                let has = found.map_or(0, |(_, sectors)| sectors);
                set.push((line, has | sector));
                if set.len() > self.ways {
                    set.remove(0);
                }
                if round == 2 && misses.len() < 255 {
                    misses.push(has & sector == 0);
                }
            }
        }
        misses
    }
}

/// Latencies of loads that hit in 40 cycles and miss in 190, with noise, and one in fifty that waits for something else.
fn latencies(misses: &[bool], noise: f64, rng: &mut Rng) -> String {
    let mut line = String::new();
    for miss in misses {
        let deviate = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let stray = if rng.f64() < 0.02 { 300.0 * rng.f64() } else { 0.0 };
        line += &format!(",{:.0}", if *miss { 190.0 } else { 40.0 } * (1.0 + noise * deviate) + stray);
    }
    line + "\n"
}

pub fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(vec![], Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn record(cache: &Cache, dir: &Path, noise: f64, rng: &mut Rng) {
    let (capacity, reads) = (cache.capacity(), cache.sector);
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), gzip(text)).unwrap();
    let step = (capacity / 64).max(cache.line);
    let (mut sizes, mut lines, mut first) = (String::new(), String::new(), String::new());
    for bytes in (1..).map(|at| capacity * 2 / 3 + at * step).take_while(|bytes| *bytes < capacity * 7 / 5) {
        sizes += &format!("{bytes}{}", latencies(&cache.chase(reads, bytes), noise, rng));
    }
    for stride in (1..=36).map(|at| at * cache.line / 16).filter(|stride| *stride >= 4) {
        for bytes in (0..16).map(|at| capacity * (16 + at) / 24) {
            lines += &format!("{stride},{bytes}{}", latencies(&cache.chase(stride, bytes), noise, rng));
        }
    }
    for stride in (4..=2 * cache.line.max(128)).step_by(4) {
        let miss: Vec<bool> = (0..64).map(|load| load == 0 || load * stride / reads != (load - 1) * stride / reads).collect();
        first += &format!("{stride}{}", latencies(&miss, noise, rng));
    }
    write("L1_Size.csv.gz", &sizes);
    write("L1_Line_Size.csv.gz", &lines);
    write("L1_Fetch_Granularity.csv.gz", &first);
}

#[test]
fn invented_caches_come_back() {
    let (mut sizes, mut lines, mut fetches) = (0, 0, 0);
    for seed in 0..40 {
        let mut rng = Rng::with_seed(seed);
        let cache = Cache::invented(&mut rng);
        let dir = tempfile::tempdir().unwrap();
        record(&cache, dir.path(), if seed % 4 == 0 { 0.1 } else { 0.03 }, &mut rng);
        let findings = mt4g::analyse(&mt4g::read(dir.path()).unwrap());
        let got = |key: &str| findings.get(&format!("buffer.l1.{key}_bytes"));
        let told = format!("seed {seed}: {} B = {} x {} x {} B, {} B", cache.capacity(), cache.sets, cache.ways, cache.line, cache.sector);
        let capacity = got("capacity").map(|found| found / cache.capacity() as f64);
        sizes += u32::from(capacity.is_some_and(|of| (0.97..1.03).contains(&of)));
        lines += u32::from(got("line") == Some(cache.line as f64));
        fetches += u32::from(got("fetch") == Some(cache.sector as f64));
        // What is not told right is told unknown, or within a step of what was tried.
        assert!(capacity.is_none_or(|of| (0.9..1.1).contains(&of)), "{told}: {:?}", findings.facts);
        assert!(got("line").is_none_or(|line| line == cache.line as f64), "{told}: {:?}", findings.facts);
        assert!(got("fetch").is_none_or(|bytes| bytes == cache.sector as f64), "{told}: {:?}", findings.facts);
        assert_eq!(findings.contradictions, Vec::<String>::new(), "{told}");
    }
    assert!(sizes >= 38 && lines >= 38 && fetches >= 38, "capacities {sizes}, lines {lines}, granularities {fetches} of 40");
}
