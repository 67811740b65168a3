//! Who touched an element last, and whether a new access may touch it too.
//!
//! Two accesses of one launch are *ordered* when they are one work-item's, or when both are of one group and a barrier that both
//! took part in lies between them. Of two accesses to one element that are not ordered, neither may write, unless both are atomic.

/// Who makes an access. What tile and channel operations touch, any of the work-items that share the operation may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// One work-item.
    Item { subgroup: u32, item: u32 },
    /// The lanes of a sub-group together.
    Subgroup(u32),
    /// A group together.
    Group,
}

/// When and by whom an element was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// The group's number in the launch.
    pub group: u32,
    pub party: Party,
    /// Group barriers passed so far.
    pub phase: u32,
    /// Sub-group barriers that its sub-group passed so far.
    pub subphase: u32,
}

/// What is done to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    Write,
    Atomic,
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    pub earlier: Access,
    pub earlier_touch: Touch,
}

/// How far apart two accesses are that nothing orders; 0 where something does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Apart {
    Ordered,
    Items,
    Subgroups,
    Groups,
}

fn apart(a: Access, b: Access) -> Apart {
    if a.group != b.group {
        return Apart::Groups;
    }
    if a.phase != b.phase {
        return Apart::Ordered;
    }
    let subgroup = |party| match party {
        Party::Item { subgroup, .. } | Party::Subgroup(subgroup) => Some(subgroup),
        Party::Group => None,
    };
    match (subgroup(a.party), subgroup(b.party)) {
        (Some(x), Some(y)) if x == y => {
            let one_item = a.party == b.party && matches!(a.party, Party::Item { .. });
            if a.subphase != b.subphase || one_item { Apart::Ordered } else { Apart::Items }
        }
        _ => Apart::Subgroups,
    }
}

/// Accesses of one kind to one element. Two are enough to tell whether a later access is unordered with any: of all that came, those
/// furthest apart, for whatever is far from neither is ordered with all that were dropped.
#[derive(Clone, Copy, Debug, Default)]
struct Pair(Option<Access>, Option<Access>);

impl Pair {
    fn add(&mut self, new: Access) {
        *self = match *self {
            Pair(None, _) => Pair(Some(new), None),
            Pair(Some(a), None) if apart(a, new) == Apart::Ordered => Pair(Some(new), None),
            Pair(Some(a), None) => Pair(Some(a), Some(new)),
            Pair(Some(a), Some(b)) => {
                let far = if apart(a, new) > apart(b, new) { a } else { b };
                match apart(far, new) {
                    // Both lie before a barrier that `new` came through.
                    Apart::Ordered => Pair(Some(new), None),
                    distance if distance > apart(a, b) => Pair(Some(far), Some(new)),
                    _ => *self,
                }
            }
        }
    }

    fn unordered_with(&self, new: Access) -> Option<Access> {
        [self.0, self.1].into_iter().flatten().find(|&old| apart(old, new) != Apart::Ordered)
    }
}

/// The accesses to every element of a tensor, as far as they matter. Lists stay empty until their kind of access occurs.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    /// The last write: earlier ones are ordered before it.
    writes: Vec<Option<Access>>,
    reads: Vec<Pair>,
    atomics: Vec<Pair>,
}

impl Shadow {
    /// Records an access to an element of a tensor of `len` elements.
    pub fn touch(&mut self, len: usize, element: usize, touch: Touch, by: Access) -> Result<(), Clash> {
        let clash = |earlier_touch| move |earlier| Clash { earlier, earlier_touch };
        let write = self.writes.get(element).copied().flatten().filter(|&old| apart(old, by) != Apart::Ordered).map(clash(Touch::Write));
        let among = |pairs: &[Pair], kind| pairs.get(element).and_then(|p| p.unordered_with(by)).map(clash(kind));
        let read = if touch == Touch::Read { None } else { among(&self.reads, Touch::Read) };
        let atomic = if touch == Touch::Atomic { None } else { among(&self.atomics, Touch::Atomic) };
        if let Some(clash) = write.or(read).or(atomic) {
            return Err(clash);
        }
        match touch {
            Touch::Read => grown(&mut self.reads, len)[element].add(by),
            Touch::Atomic => grown(&mut self.atomics, len)[element].add(by),
            Touch::Write => grown(&mut self.writes, len)[element] = Some(by),
        }
        Ok(())
    }
}

fn grown<T: Clone + Default>(list: &mut Vec<T>, len: usize) -> &mut Vec<T> {
    if list.is_empty() {
        list.resize(len, T::default());
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two remembered accesses decide like all of them, over random histories.
    #[test]
    fn a_pair_decides_like_the_whole_history() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut found = [0, 0];
        for _ in 0..20_000 {
            let (mut phase, mut subphase) = ([0; 2], [[0; 2]; 2]);
            let (mut pair, mut all) = (Pair::default(), Vec::new());
            for _ in 0..rng.usize(1..8) {
                let (group, subgroup) = (usize::from(rng.u8(0..6) == 0), rng.usize(0..2));
                match rng.u8(0..8) {
                    0 => phase[group] += 1,
                    1 => subphase[group][subgroup] += 1,
                    _ => {}
                }
                let party = match rng.u8(0..10) {
                    0 => Party::Group,
                    1 => Party::Subgroup(subgroup as u32),
                    _ => Party::Item { subgroup: subgroup as u32, item: rng.u32(0..2) + 2 * subgroup as u32 },
                };
                let access = Access { group: group as u32, party, phase: phase[group], subphase: subphase[group][subgroup] };
                let truth = all.iter().any(|&old| apart(old, access) != Apart::Ordered);
                assert_eq!(pair.unordered_with(access).is_some(), truth, "{all:?} then {access:?}");
                found[usize::from(truth)] += 1;
                pair.add(access);
                all.push(access);
            }
        }
        assert!(found[0] > 1000 && found[1] > 1000, "{found:?}");
    }
}
