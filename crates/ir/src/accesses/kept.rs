//! What a work-item loads and uses again later, by the order of the text, and keeps until then.
//! .
//! clang 15 for gfx1032 and gfx90a, of 15 × 15 convolutions whose input a block copies to local memory, stores what this counts less what has room
//! in 128 registers: within 2 % where results are stored under conditions, within 5 % where they are not. It loads again within 5 % of that where
//! nothing is under conditions, and up to 24 % more where results are.

use super::expand::Item;
use super::{AccessKind, NestVar, TensorPlace, TensorUse};
use crate::affine::VarId;
use crate::kernel::Reused;
use crate::program::Space;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Trips and points that compilers write out: the limit for pragmas of LLVM is 16,384 instructions, of about seven a tap.
const WRITTEN_OUT: i64 = 2340;

/// Times, of trips and points, that are written out one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    times: u32,
    /// Whether these are all.
    whole: bool,
}

impl Run {
    /// Of the points of a work-item and the trips of loops, the outermost first. Beyond [`WRITTEN_OUT`] the outermost loop stays one, and each of its
    /// trips has as many of the text as divide these (LLVM, LoopUnrollPass.cpp: computeUnrollCount).
    pub(super) fn of(points: &[i64], trips: &[i64]) -> Self {
        let all: i64 = points.iter().chain(trips).product();
        let outermost = trips.iter().copied().find(|&trips| trips > 1).unwrap_or(1);
        let body = all / outermost;
        let parts = (1..=outermost).rev().filter(|part| outermost % part == 0);
        let part = parts.clone().find(|part| part * body <= WRITTEN_OUT).unwrap_or(1);
        Self { times: (part * body) as u32, whole: part == outermost }
    }
}

/// Words of 32 bits of an access.
pub(super) fn words(item: &Item, tensors: &[TensorUse]) -> i64 {
    match &tensors[usize::from(item.access.tensor)].place {
        TensorPlace::Buffer { element, .. } => (i64::from(item.access.width) * i64::from(element.bytes()) + 3) / 4,
        TensorPlace::Image { .. } => 4,
    }
}

/// What a word is loaded for.
#[derive(Default)]
struct Word {
    /// Of 32 bits.
    words: i64,
    /// Trips of what is written out, and in each of them points.
    times: BTreeSet<usize>,
}

/// See [`crate::Kernel::kept`], and beside it how often. A work-item computes so many `points`; `looped`: whether an access is in a loop of several trips.
///
/// Compilers move the arithmetic of a point to its store where that stands in a branch of its own, out of all that is written out, but loads stay:
/// what is loaded for points after the first is kept until these are stored. Otherwise what several trips or points use is kept from the first to
/// the last of them. What is constant is an operand of arithmetic.
pub(super) fn kept(items: &[Item], tensors: &[TensorUse], vars: &[NestVar], (points, looped): (usize, &dyn Fn(&Item) -> bool)) -> (u32, Reused) {
    let branches = |item: &&Item| matches!(item.access.kind, AccessKind::Store(_)) && item.conditional && !looped(item);
    // Of what is stored for all points alike there is no branch for each, and out of a loop that stays one nothing is moved.
    let whole = items.iter().all(|item| item.run.is_none_or(|run| run.whole));
    let sunk = whole && items.iter().filter(branches).any(|item| item.points(points).len() < points);
    let constant =
        |item: &Item| matches!(tensors[usize::from(item.access.tensor)].place, TensorPlace::Buffer { space: Space::Constant, .. });
    // The same words, however often and under whatever conditions they are listed.
    let mut loaded: FxHashMap<_, Word> = FxHashMap::default();
    let loads = items.iter().filter(|item| item.access.kind == AccessKind::Load && item.access.branch.is_none() && !constant(item));
    for item in loads.filter(|item| !sunk || !looped(item)) {
        // What is always 0 moves nothing.
        let moves = |term: &&(VarId, i32)| vars[usize::from(term.0.0)].trips != Some(1);
        let at: Vec<(Vec<(VarId, i32)>, i64)> =
            item.access.coords.iter().map(|form| (form.terms().iter().filter(moves).copied().collect(), form.constant)).collect();
        let mut used = |run: usize, time: usize| {
            let own = loaded.entry((item.access.tensor, at.clone(), run)).or_default();
            own.words = own.words.max(words(item, tensors));
            own.times.insert(time);
        };
        match item.run {
            _ if sunk => item.points(points).into_iter().for_each(|point| used(0, point)),
            // What another trip of a loop uses is loaded there.
            Some(run) => item.times.iter().for_each(|&time| used((time / run.times) as usize, time as usize)),
            None => {}
        }
    }
    if sunk { until_stored(loaded.into_values()) } else { until_used(loaded.into_values()) }
}

/// What points after the first use, kept together.
fn until_stored(loaded: impl Iterator<Item = Word>) -> (u32, Reused) {
    let mut kept = Reused::default();
    for Word { words, times } in loaded {
        let later = times.iter().filter(|&&point| point > 0).count() as u32;
        kept.words += if later > 0 { words as u32 } else { 0 };
        kept.uses += later * words as u32;
    }
    (kept.words, kept)
}

/// What is used again, from the first time to the last.
fn until_used(loaded: impl Iterator<Item = Word>) -> (u32, Reused) {
    let mut kept = Reused::default();
    let mut changes: Vec<(usize, i64)> = Vec::new();
    for Word { words, times } in loaded {
        if let (Some(&first), Some(&last), again @ 1..) = (times.first(), times.last(), times.len() as u32 - 1) {
            kept.words += words as u32;
            kept.uses += again * words as u32;
            changes.extend([(first, words), (last, -words)]);
        }
    }
    changes.sort_unstable();
    let (_, most) = changes.iter().fold((0, 0), |(now, most): (i64, i64), (_, change)| (now + change, most.max(now + change)));
    (most as u32, kept)
}
