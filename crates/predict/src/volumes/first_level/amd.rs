//! What requests cost the first-level caches of AMD's GPUs, and which accesses their compilers make one.
//! .
//! The caches are those of texture units: an addresser hands lanes to the tags, of which neighbouring lines lie in different classes. A class
//! looks up one line a cycle and hands over its whole words; a word of a line comes out of the bank of its place in the line, one line at a time.
//! Found by hand in the recorded odd strides of an MI210 and an RX 6900 XT (`tests/strides_amd.rs`), where nothing is fitted. Classes and the order
//! of lanes show in all of them, banks only in rows of one f32 each: odd strides never meet in one. Lines of 128 bytes on CDNA 3: not recorded.

use super::costs::Request;
use crate::volumes::kernel::subject::{Field, Touch};
use smallvec::SmallVec;

/// Classes of tags, by line: the corners of a filtered texel lie in different ones.
const CLASSES: usize = 4;
/// Lanes whose addresses CDNA makes in a cycle (GPUOpen, “Understanding memory coalescing on GCN”: four invocations a clock).
const ADDRESSES: usize = 4;
/// Lanes of a warp that CDNA's addresser sees at once: [`ADDRESSES`] quads, side by side.
const QUARTER: usize = 16;
/// Words of four bytes that RDNA's cache hands to lanes in a cycle; twice as many where quads are packed (128 bytes).
const RDNA_WORDS: f64 = 16.0;
/// Bytes of a lane that one instruction loads at most.
const WIDEST: i64 = 16;

/// A line that is looked up, and the words of it that are wanted, a bit each.
type Lookup = (i64, u64);

/// Cycles of a request on CDNA: four lanes a cycle. Lanes of up to a word come from the four quads of a quarter side by side, in one cycle instead of
/// four where all quads are packed; wider lanes come one after another.
pub fn cdna(request: &Request, line: u32) -> f64 {
    parts(request)
        .flat_map(|part| request.offsets.chunks(QUARTER).map(move |quarter| (quarter, part)))
        .map(|(quarter, part)| {
            let cycles = |lanes: &mut dyn Iterator<Item = i64>| in_order(&lookups(lanes, part, line));
            let lanes = || quarter.iter().map(|offset| request.begin + offset);
            if request.bytes > 4 {
                (0..quarter.len()).step_by(ADDRESSES).map(|at| cycles(&mut lanes().skip(at).take(ADDRESSES))).sum::<usize>()
            } else if packed(quarter, request.bytes) {
                cycles(&mut lanes())
            } else {
                (0..ADDRESSES.min(quarter.len())).map(|at| cycles(&mut lanes().skip(at).step_by(ADDRESSES))).sum()
            }
        })
        .sum::<usize>() as f64
}

/// Lanes that local memory of CDNA answers in a cycle: staged 15 × 15 convolutions on MI250X take 31 cycles of a compute unit for each read of a
/// wave, whatever the block, and in proportion to reads where points share them. The data sheets' 128 bytes a cycle are not seen.
pub const LOCAL_LANES: f64 = 2.0;

/// Quarters of a whole warp that a request leaves without an active lane.
pub fn idle_quarters(request: &Request, warp: u32) -> f64 {
    let quarters = |lanes: usize| lanes.div_ceil(QUARTER);
    quarters(warp as usize).saturating_sub(quarters(request.offsets.len())) as f64
}

/// Cycles of a request on RDNA: the longest of the fullest class of tags, the fullest bank and the way to the lanes, all over the whole warp.
pub fn rdna(request: &Request, line: u32) -> f64 {
    let cycles = |part: (i64, i64)| {
        let lookups = lookups(&mut request.offsets.iter().map(|offset| request.begin + offset), part, line);
        let mut tags = [0_usize; CLASSES];
        lookups.iter().for_each(|&(line, _)| tags[class(line)] += 1);
        let banks = (0..words(line)).map(|bank| lookups.iter().filter(|lookup| lookup.1 >> bank & 1 == 1).count()).max();
        let wanted = request.offsets.len() as f64 * ((part.1 - part.0 + 3) / 4) as f64;
        let rate = if request.bytes <= 4 && packed(request.offsets, request.bytes) { 2.0 * RDNA_WORDS } else { RDNA_WORDS };
        let lines = tags.into_iter().max().max(banks).unwrap_or(0) as f64;
        lines.max(wanted / rate).max(1.0)
    };
    parts(request).map(cycles).sum()
}

/// What instructions of at most [`WIDEST`] load of each lane, from byte to byte.
fn parts(request: &Request) -> impl Iterator<Item = (i64, i64)> {
    let bytes = request.bytes.max(1);
    (0..bytes).step_by(WIDEST as usize).map(move |from| (from, bytes.min(from + WIDEST)))
}

/// Whether each quad of lanes lies without gaps, or wants one and the same.
fn packed(lanes: &[i64], bytes: i64) -> bool {
    let apart = |quad: &[i64], step: i64| quad.windows(2).all(|pair| pair[1] - pair[0] == step);
    lanes.chunks(4).all(|quad| apart(quad, bytes) || apart(quad, 0))
}

/// Words of a line, of which a [`Lookup`] has no more than its bits.
fn words(line: u32) -> i64 {
    i64::from(line / 4).clamp(1, 64)
}

fn class(line: i64) -> usize {
    line.rem_euclid(CLASSES as i64) as usize
}

/// Distinct lines of a part of some lanes, in the order of lanes.
fn lookups(lanes: &mut dyn Iterator<Item = i64>, (from, to): (i64, i64), line: u32) -> SmallVec<[Lookup; 32]> {
    let words = words(line);
    let mut found: SmallVec<[Lookup; 32]> = SmallVec::new();
    for lane in lanes {
        for word in (lane + from).div_euclid(4)..=(lane + to - 1).div_euclid(4) {
            let (at, bit) = (word.div_euclid(words), 1 << word.rem_euclid(words));
            match found.iter_mut().rfind(|lookup| lookup.0 == at) {
                Some(lookup) => lookup.1 |= bit,
                None => found.push((at, bit)),
            }
        }
    }
    found
}

/// Cycles of lookups whose classes each work them off in order: the first of a class waits while a word of it lies in a bank that an earlier lane
/// reads in this cycle. Rows of one f32, 256.125 lines apart, take 2.5 cycles for four lanes: tags alone would take two, and so would banks.
fn in_order(lookups: &[Lookup]) -> usize {
    let mut waiting: SmallVec<[Lookup; 32]> = SmallVec::from_slice(lookups);
    let mut cycles = 0;
    while !waiting.is_empty() {
        cycles += 1;
        let (mut seen, mut busy) = ([false; CLASSES], 0);
        waiting.retain(|&mut (line, words)| {
            let first = !std::mem::replace(&mut seen[class(line)], true);
            let served = first && busy & words == 0;
            busy |= if served { words } else { 0 };
            !served
        });
    }
    cycles
}

/// Bytes of a lane that AMD's compilers ask for at once.
const FUSED_BYTES: i64 = 16;

/// A field with neighbouring accesses of a lane made one, up to 16 bytes: each access in program order takes the first later one that lies
/// right after or before what it has, again and again.
pub fn fused(field: &Field) -> Field {
    if field.image.is_some() {
        return field.clone();
    }
    let mut touches: Vec<Touch> = Vec::with_capacity(field.touches.len());
    let mut taken = vec![false; field.touches.len()];
    for (i, touch) in field.touches.iter().enumerate() {
        if std::mem::replace(&mut taken[i], true) {
            continue;
        }
        let mut whole = touch.clone();
        let joins = |whole: &Touch, other: &Touch| {
            let [from, to] = [whole, other].map(|touch| touch.coords[0].constant);
            other.kind == whole.kind
                && (0..3).all(|i| other.coords[i].terms() == whole.coords[i].terms())
                && (1..3).all(|i| other.coords[i].constant == whole.coords[i].constant)
                && (other.guard == whole.guard && other.branch == whole.branch && other.loops == whole.loops)
                && (to == from + whole.width || to + other.width == from)
                && (whole.width + other.width) * field.geometry.element <= FUSED_BYTES
        };
        while let Some(next) = (i + 1..field.touches.len()).find(|&j| !taken[j] && joins(&whole, &field.touches[j])) {
            taken[next] = true;
            let other = &field.touches[next];
            whole.coords[0].constant = whole.coords[0].constant.min(other.coords[0].constant);
            whole.width += other.width;
        }
        touches.push(whole);
    }
    Field { touches, ..field.clone() }
}
