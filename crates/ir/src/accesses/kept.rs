//! What a work-item loads and uses again later, by the order of the text, and keeps until then.
//! .
//! Of 15 × 15 convolutions whose input a block copies to local memory, with 1 × 2 to 4 × 4 points, clang 15 for gfx1032 and gfx90a stores to 5 % what
//! this counts less what has room in 128 registers (8 % where a loop stays). It loads as many words again, to 5 %, where nothing is under conditions,
//! and up to a third more than this counts where results are.

use super::expand::Item;
use super::{AccessKind, NestVar, TensorPlace, TensorUse};
use crate::affine::VarId;
use crate::kernel::Reused;
use crate::program::Space;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

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
    /// Points, or trips of what is written out and in each of them points.
    times: BTreeSet<u32>,
    /// How many of these times are written out one after another, at least; 0 where nothing is said.
    run: u32,
}

/// What tells loads from each other but what they touch.
pub(super) struct Around<'a> {
    /// Points of a work-item.
    pub(super) points: usize,
    /// Accesses before the last barrier.
    pub(super) before: usize,
    /// Whether an access is in a loop of several trips.
    pub(super) looped: &'a dyn Fn(&Item) -> bool,
}

/// See [`crate::Kernel::kept`], and beside it how often.
///
/// Compilers move the arithmetic of a point to its store where that stands in a branch of its own, out of all that is written out, but loads stay:
/// what is loaded for points after the first is kept until these are stored. Otherwise what several trips or points use is kept from the first to
/// the last of them. What is constant is an operand of arithmetic.
pub(super) fn kept(items: &[Item], tensors: &[TensorUse], vars: &[NestVar], &Around { points, before, looped }: &Around) -> (u32, Reused) {
    let branches = |item: &&Item| matches!(item.access.kind, AccessKind::Store(_)) && item.conditional && !looped(item);
    // Of what is stored for all points alike there is no branch for each, and out of a loop that stays one nothing is moved.
    let whole = items.iter().all(|item| item.run.is_none_or(|run| run.whole));
    let sunk = whole && items.iter().filter(branches).any(|item| item.points(points).len() < points);
    let constant =
        |item: &Item| matches!(tensors[usize::from(item.access.tensor)].place, TensorPlace::Buffer { space: Space::Constant, .. });
    // The same words, however often and under whatever conditions they are listed.
    let mut loaded: FxHashMap<_, Word> = FxHashMap::default();
    let loads = items.iter().enumerate().filter(|(_, own)| own.access.kind == AccessKind::Load && own.access.branch.is_none());
    // What all points load alike before threads meet is for local memory.
    let put = |at: usize, item: &Item| at < before && item.points(points).len() == points;
    for (_, item) in loads.filter(|&(at, item)| !constant(item) && !(sunk && (looped(item) || put(at, item)))) {
        // What is always 0 moves nothing.
        let moves = |term: &&(VarId, i32)| vars[usize::from(term.0.0)].trips != Some(1);
        let at: Vec<(Vec<(VarId, i32)>, i64)> =
            item.access.coords.iter().map(|form| (form.terms().iter().filter(moves).copied().collect(), form.constant)).collect();
        let own = loaded.entry((item.access.tensor, at)).or_default();
        own.words = own.words.max(words(item, tensors));
        match item.run {
            _ if sunk => own.times.extend(item.points(points)),
            Some(run) => {
                own.times.extend(&item.times);
                own.run = if own.run == 0 { run.times } else { own.run.min(run.times) };
            }
            None => {}
        }
    }
    if sunk { until_stored(loaded.into_values()) } else { until_used(loaded.into_values()) }
}

/// What points after the first use, kept together.
fn until_stored(loaded: impl Iterator<Item = Word>) -> (u32, Reused) {
    let mut kept = Reused::default();
    for Word { words, times, .. } in loaded {
        let later = times.iter().filter(|&&point| point > 0).count() as u32;
        kept.words += if later > 0 { words as u32 } else { 0 };
        kept.uses += later * words as u32;
    }
    (kept.words, kept)
}

/// What is used again, from the first time to the last of a run: what another trip of a loop uses is loaded there.
fn until_used(loaded: impl Iterator<Item = Word>) -> (u32, Reused) {
    let mut kept = Reused::default();
    let mut changes: Vec<(u32, i64)> = Vec::new();
    for Word { words, times, run } in loaded {
        let times: Vec<u32> = times.into_iter().collect();
        for own in times.chunk_by(|one, next| one / run.max(1) == next / run.max(1)).filter(|own| own.len() > 1) {
            kept.words += words as u32;
            kept.uses += (own.len() - 1) as u32 * words as u32;
            changes.extend([(own[0], words), (own[own.len() - 1], -words)]);
        }
    }
    changes.sort_unstable();
    let (_, most) = changes.iter().fold((0, 0), |(now, most): (i64, i64), (_, change)| (now + change, most.max(now + change)));
    (most as u32, kept)
}

#[cfg(test)]
mod tests {
    use super::super::text::parse;

    /// Words kept at once, kept in all, and uses of a kernel of `head`, with a tap for each trip of `i`, whose results are stored where `tx < 1000`.
    fn counted(head: &str, fields: &str) -> [u32; 3] {
        let text = format!(
            "name = \"k\"\nblock = [4]\n{head}\nregisters = 16\nflops = 2\n[[loop]]\nname = \"i\"\ntrips = 3\norder = \"unrolled\"\n\
             {fields}\n[[field]]\nname = \"b\"\nelement = \"f32\"\ndims = [4096]\nstore = [[\"tx\"]]\n"
        );
        let kernel = parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?}\n{text}")).kernel;
        [kernel.kept, kernel.reused.words, kernel.reused.uses]
    }

    /// A field, or more of one that stands further up.
    fn field(more: bool, kind: &str, load: &str) -> String {
        let declared = if more { "" } else { "element = \"f32\"\ndims = [4100]\n" };
        format!("[[field]]\nname = \"a\"\n{declared}{kind}load = [{load}]\n")
    }

    const TAPS: &str = "[\"tx + i\"]";
    /// Points side by side; the domain leaves a part of the last block out, so that stores have conditions, or does not.
    const GUARDED: [&str; 2] = ["domain = [1001]\nfold = [2]", "domain = [1001]\nfold = [3]"];
    const WHOLE: &str = "domain = [1024]\nfold = [2]";

    #[test]
    fn what_later_points_use_is_kept_until_they_are_stored() {
        let taps = field(false, "", TAPS);
        // Point 0 uses words 0, 1, 2; point 1 uses 1, 2, 3, all of which are loaded when point 0 is stored.
        assert_eq!(counted(GUARDED[0], &taps), [3, 3, 3]);
        // Points 1 and 2: words 1 to 3 and 2 to 4.
        assert_eq!(counted(GUARDED[1], &taps), [4, 4, 6]);
        // A block apart they share nothing.
        assert_eq!(counted("domain = [1001]\nfold = [2]\nfold_mode = \"strided\"", &taps), [3, 3, 3]);
        assert_eq!(counted("domain = [1001]\nfold = [3]\nfold_mode = \"strided\"", &taps), [6, 6, 6]);
        // A work-item of one point.
        assert_eq!(counted("domain = [1001]", &taps), [0, 0, 0]);
    }

    #[test]
    fn without_conditions_words_are_kept_from_use_to_use() {
        // Tap 0: points use words 0, 1; tap 1: 1, 2; tap 2: 2, 3. Word 1 is used again at once, and so is word 2.
        assert_eq!(counted(WHOLE, &field(false, "", TAPS)), [1, 2, 2]);
    }

    #[test]
    fn other_words_for_the_same_change_nothing() {
        for head in GUARDED {
            let expected = counted(head, &field(false, "", TAPS));
            let twice = format!("{TAPS}, {TAPS}");
            let one_by_one = "[\"tx\"], [\"tx + 1\"], [\"tx + 2\"]";
            let backwards = "[\"tx + 2\"], [\"tx + 1\"], [\"tx\"]";
            for load in [&twice, one_by_one, backwards, "[\"tx + 2 - i\"]"] {
                assert_eq!(counted(head, &field(false, "", load)), expected, "{load}");
            }
            assert_eq!(counted(head, &(field(false, "", TAPS) + &field(true, "", TAPS))), expected);
            assert_eq!(counted(head, &(field(false, "", TAPS) + &field(true, "", one_by_one))), expected);
        }
    }

    #[test]
    fn what_is_no_word_of_a_point_is_not_kept() {
        assert_eq!(counted(GUARDED[0], &field(false, "kind = \"constant\"\n", TAPS)), [0, 0, 0]);
        // Under a condition of its own, a load stays where its tap is.
        assert_eq!(counted(GUARDED[0], &field(false, "", "{ at = [\"tx + i\"], guard = [\"tx + i < 1001\"] }")), [0, 0, 0]);
        // What a block copies before it meets; every point loads it alike.
        let copied = field(false, "", "[\"8*bx + lx\"]") + "[[barrier]]\n";
        let meeting = "[[field]]\nname = \"c\"\nkind = \"local\"\nelement = \"f32\"\ndims = [16]\nload = [[\"tx - 8*bx + i\"]]\n";
        assert_eq!(counted(GUARDED[0], &(copied + meeting)), [3, 3, 3]);
    }
}
