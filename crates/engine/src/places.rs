//! Where tensors lie, such that all kernels of a network take the least together.
//!
//! A kernel takes so long for each pattern of places of its tensors; the sum over all kernels is made least by taking out one tensor after the
//! other (bucket elimination; Dechter, Artificial Intelligence 113, 1999): the tables of the kernels that see it become one, which has, for each
//! choice of the tensors beside it, the least over its own places. That is exact. Networks are chains with few detours, so that tables stay
//! small; where one would not, the tensor that most others lie beside is put where the kernels that see it take the least by themselves, and once
//! all have a place each is moved alone while that gains something.

use crate::found::ByPattern;
use std::collections::{BTreeMap, BTreeSet};
use warpsight_generate::Place;

/// Entries of a table; a larger one is not made.
const MOST: usize = 1 << 16;

/// What a kernel takes, in seconds, for each choice of places of its tensors. What it has no entry for it cannot do.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Tensors, ascending, each once.
    tensors: Vec<usize>,
    taken: BTreeMap<Vec<Place>, f64>,
}

/// A tensor that was taken out: the others it depends on, and where it lies best for each choice of theirs.
struct Gone {
    tensor: usize,
    beside: Vec<usize>,
    best: BTreeMap<Vec<Place>, (f64, Place)>,
}

impl Table {
    /// Of a kernel that sees these tensors, in this order, one perhaps twice: patterns that have a tensor in two places are none.
    pub fn of(seen: &[usize], patterns: impl IntoIterator<Item = (Vec<Place>, f64)>) -> Self {
        let tensors: Vec<usize> = seen.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let one = |(pattern, time): (Vec<Place>, f64)| {
            let at = |tensor: &usize| seen.iter().position(|own| own == tensor).map(|at| pattern[at]);
            let own: Vec<Place> = tensors.iter().map(at).collect::<Option<_>>()?;
            let agrees = seen.iter().zip(&pattern).all(|(tensor, place)| at(tensor) == Some(*place));
            (agrees && time.is_finite()).then_some((own, time))
        };
        let taken = patterns.into_iter().filter_map(one).collect();
        Self { tensors, taken }
    }

    /// Of a kernel that takes so long by pattern.
    pub fn by(seen: &[usize], taken: &ByPattern) -> Self {
        Self::of(seen, taken.iter().map(|(pattern, time)| (pattern.clone(), time.0)))
    }

    /// Whether no choice is possible.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Both together; `None` where that has more entries than these.
    fn joined(&self, other: &Self, most: usize) -> Option<Self> {
        let tensors: Vec<usize> = self.tensors.iter().chain(&other.tensors).copied().collect::<BTreeSet<_>>().into_iter().collect();
        let shared: Vec<usize> = self.tensors.iter().filter(|own| other.tensors.contains(own)).copied().collect();
        let part = |of: &Self, key: &[Place], wanted: &[usize]| -> Vec<Place> {
            wanted.iter().filter_map(|tensor| Some(key[of.tensors.binary_search(tensor).ok()?])).collect()
        };
        let mut by_shared: BTreeMap<Vec<Place>, Vec<(&Vec<Place>, f64)>> = BTreeMap::new();
        for (key, &time) in &other.taken {
            by_shared.entry(part(other, key, &shared)).or_default().push((key, time));
        }
        let mut taken = BTreeMap::new();
        for (key, time) in &self.taken {
            for (other_key, more) in by_shared.get(&part(self, key, &shared)).into_iter().flatten() {
                let place = |tensor: &usize| match self.tensors.binary_search(tensor) {
                    Ok(at) => Some(key[at]),
                    Err(_) => Some(other_key[other.tensors.binary_search(tensor).ok()?]),
                };
                taken.insert(tensors.iter().filter_map(place).collect(), time + more);
            }
            if taken.len() > most {
                return None;
            }
        }
        Some(Self { tensors, taken })
    }

    /// The choices that have a tensor in a place, where it sees that tensor.
    pub fn only(mut self, tensor: usize, place: Place) -> Self {
        if let Ok(at) = self.tensors.binary_search(&tensor) {
            self.taken.retain(|key, _| key[at] == place);
        }
        self
    }

    /// Where every choice takes so many seconds more.
    pub fn plus(self, seconds: f64) -> Self {
        self.map(|time| time + seconds)
    }

    /// Where every choice takes what is made of its seconds.
    pub fn map(mut self, made: impl Fn(f64) -> f64) -> Self {
        self.taken.values_mut().for_each(|time| *time = made(*time));
        self
    }

    /// What it takes at least; `None` where no choice is possible.
    pub fn least(&self) -> Option<f64> {
        self.taken.values().copied().reduce(f64::min)
    }

    /// Of other numbers: `as_in` has those of its tensors, by theirs. What has two tensors in two places that are one there is left out.
    pub fn renumbered(&self, as_in: &[usize]) -> Self {
        let seen: Vec<usize> = self.tensors.iter().map(|&own| as_in[own]).collect();
        Self::of(&seen, self.taken.iter().map(|(key, &time)| (key.clone(), time)))
    }

    /// What it takes for a choice of places of all tensors; `None` where it cannot.
    pub fn at(&self, places: &[Place]) -> Option<f64> {
        self.taken.get(&self.tensors.iter().map(|&own| places[own]).collect::<Vec<_>>()).copied()
    }

    /// The one or the other, whichever takes less; the first alone where the other does not see the same tensors.
    pub fn or(mut self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if self.tensors != other.tensors {
            return self;
        }
        for (key, time) in other.taken {
            let own = self.taken.entry(key).or_insert(time);
            *own = own.min(time);
        }
        self
    }

    /// With a tensor in a place.
    fn with(mut self, tensor: usize, place: Place) -> Self {
        if let Ok(at) = self.tensors.binary_search(&tensor) {
            self.tensors.remove(at);
            let own = self.taken.into_iter().filter(|(key, _)| key[at] == place);
            self.taken = own.map(|(key, time)| (without(key, at), time)).collect();
        }
        self
    }

    /// With a tensor in the best place for each choice of the others; of places that are equally good the first.
    fn out(self, tensor: usize) -> (Self, Gone) {
        let mut best: BTreeMap<Vec<Place>, (f64, Place)> = BTreeMap::new();
        let at = self.tensors.binary_search(&tensor).unwrap_or_default();
        for (key, time) in self.taken {
            let place = key[at];
            let least = best.entry(without(key, at)).or_insert((time, place));
            if time < least.0 {
                *least = (time, place);
            }
        }
        let beside: Vec<usize> = self.tensors.into_iter().filter(|own| *own != tensor).collect();
        let taken = best.iter().map(|(key, least)| (key.clone(), least.0)).collect();
        (Self { tensors: beside.clone(), taken }, Gone { tensor, beside, best })
    }
}

fn without(mut key: Vec<Place>, at: usize) -> Vec<Place> {
    key.remove(at);
    key
}

/// The tables that are left, and who lies beside whom in them.
struct Left {
    /// Entries of a table at most.
    most: usize,
    /// Tensors that were put somewhere before all was known of them.
    held: Vec<(usize, Place)>,
    tables: Vec<Table>,
    beside: BTreeMap<usize, BTreeSet<usize>>,
}

impl Left {
    fn of(tables: Vec<Table>, most: usize) -> Self {
        let mut beside: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for table in &tables {
            for &tensor in &table.tensors {
                beside.entry(tensor).or_default().extend(table.tensors.iter().filter(|own| **own != tensor));
            }
        }
        Self { most, held: vec![], tables, beside }
    }

    /// Takes the tables of a tensor out.
    fn take(&mut self, tensor: usize) -> Vec<Table> {
        let (with, rest) = std::mem::take(&mut self.tables).into_iter().partition(|table| table.tensors.contains(&tensor));
        self.tables = rest;
        with
    }

    /// Forgets a tensor; those beside it.
    fn forget(&mut self, tensor: usize) -> BTreeSet<usize> {
        let around = self.beside.remove(&tensor).unwrap_or_default();
        for own in &around {
            self.beside.entry(*own).or_default().remove(&tensor);
        }
        around
    }

    /// Puts a tensor in a place.
    fn hold(&mut self, tensor: usize, place: Place) -> Result<(), usize> {
        let with = self.take(tensor);
        self.tables.extend(with.into_iter().map(|table| table.with(tensor, place)));
        self.forget(tensor);
        self.held.push((tensor, place));
        if self.tables.iter().any(Table::is_empty) { Err(tensor) } else { Ok(()) }
    }

    /// Where a tensor lies best if each kernel that sees it chooses for all others: `None` where no place is left for all of them.
    fn alone(&self, tensor: usize) -> Option<Place> {
        let mut sums: BTreeMap<Place, (usize, f64)> = BTreeMap::new();
        let with: Vec<_> = self.tables.iter().filter_map(|table| Some((table, table.tensors.binary_search(&tensor).ok()?))).collect();
        for (table, at) in &with {
            let mut least: BTreeMap<Place, f64> = BTreeMap::new();
            for (key, &time) in &table.taken {
                let own = least.entry(key[*at]).or_insert(time);
                *own = own.min(time);
            }
            for (place, time) in least {
                let sum = sums.entry(place).or_default();
                *sum = (sum.0 + 1, sum.1 + time);
            }
        }
        let all = sums.into_iter().filter(|own| own.1.0 == with.len());
        all.min_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|own| own.0)
    }

    /// Takes a tensor out, whose tables are this one together.
    fn out(&mut self, tensor: usize, sum: Table) -> Gone {
        let (left, gone) = sum.out(tensor);
        self.tables.push(left);
        let around = self.forget(tensor);
        for own in &around {
            self.beside.entry(*own).or_default().extend(around.iter().filter(|other| *other != own));
        }
        gone
    }

    /// Tables as one; `None` where that has too many entries.
    fn one(&self, tables: &[Table]) -> Option<Table> {
        let mut all = tables.iter();
        let first = all.next().cloned().unwrap_or_default();
        all.try_fold(first, |sum, table| sum.joined(table, self.most))
    }

    /// Takes the tensor out that lies beside the fewest others; `None` where none is left.
    fn next(&mut self) -> Result<Option<Gone>, usize> {
        loop {
            let Some((_, tensor)) = self.beside.iter().map(|(&tensor, around)| (around.len(), tensor)).min() else { return Ok(None) };
            let with = self.take(tensor);
            match self.one(&with) {
                None => {
                    self.tables.extend(with);
                    let around = self.beside[&tensor].iter().copied();
                    let most = around.max_by_key(|own| self.beside[own].len()).unwrap_or(tensor);
                    self.hold(most, self.alone(most).ok_or(most)?)?;
                }
                Some(sum) if sum.is_empty() => return Err(tensor),
                Some(sum) => return Ok(Some(self.out(tensor, sum))),
            }
        }
    }
}

/// What kernels take together for each choice of places of the tensors beside `inner`, which lie where that takes the least; `None` where a table
/// would be too large.
pub fn hiding(tables: Vec<Table>, inner: impl IntoIterator<Item = usize>) -> Option<Table> {
    let mut left = Left::of(tables, MOST);
    let mut inner: BTreeSet<usize> = inner.into_iter().filter(|tensor| left.beside.contains_key(tensor)).collect();
    while let Some(tensor) = inner.iter().copied().min_by_key(|tensor| left.beside[tensor].len()) {
        inner.remove(&tensor);
        let with = left.take(tensor);
        let sum = left.one(&with)?;
        left.out(tensor, sum);
    }
    left.one(&left.tables)
}

/// A place for each of so many tensors; those that no kernel sees lie in rows. `held` lie in rows whatever that takes.
///
/// # Errors
/// A tensor for which no places of the others agree: none do, or, where a table would have been too large, none do with those that were put
/// somewhere first.
pub fn least(tables: Vec<Table>, count: usize, held: impl IntoIterator<Item = usize>) -> Result<Vec<Place>, usize> {
    within(MOST, tables, count, held)
}

fn within(most: usize, tables: Vec<Table>, count: usize, held: impl IntoIterator<Item = usize>) -> Result<Vec<Place>, usize> {
    let mut left = Left::of(tables, most);
    held.into_iter().try_for_each(|tensor| left.hold(tensor, Place::Buffer))?;
    left.held.clear();
    let tables = left.tables.clone();
    let mut all = vec![];
    while let Some(gone) = left.next()? {
        all.push(gone);
    }
    let mut places = vec![Place::Buffer; count];
    left.held.iter().for_each(|&(tensor, place)| places[tensor] = place);
    for Gone { tensor, beside, best } in all.iter().rev() {
        let key: Vec<Place> = beside.iter().map(|&own| places[own]).collect();
        places[*tensor] = best.get(&key).ok_or(*tensor)?.1;
    }
    if !left.held.is_empty() {
        descend(&tables, &mut places);
    }
    Ok(places)
}

/// Moves single tensors while that gains something.
fn descend(tables: &[Table], places: &mut [Place]) {
    let mut of: BTreeMap<usize, Vec<&Table>> = BTreeMap::new();
    for table in tables {
        table.tensors.iter().for_each(|&tensor| of.entry(tensor).or_default().push(table));
    }
    let sum = |with: &[&Table], places: &[Place]| -> f64 { with.iter().map(|table| table.at(places).unwrap_or(f64::INFINITY)).sum() };
    loop {
        let mut gained = false;
        for (&tensor, with) in &of {
            let at = |table: &Table| table.tensors.binary_search(&tensor).unwrap_or_default();
            let known: BTreeSet<Place> = with.iter().flat_map(|table| table.taken.keys().map(|key| key[at(table)])).collect();
            let mut least = (sum(with, places), places[tensor]);
            for place in known {
                places[tensor] = place;
                let own = sum(with, places);
                if own < least.0 {
                    (least, gained) = ((own, place), true);
                }
            }
            places[tensor] = least.1;
        }
        if !gained {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    fn all(count: usize) -> Vec<Place> {
        [Place::Buffer, Place::blocks(4), Place::blocks(16)].into_iter().take(count).collect()
    }

    /// What a choice takes; `None` where some kernel cannot.
    fn sum(tables: &[Table], places: &[Place]) -> Option<f64> {
        tables.iter().map(|table| table.at(places)).sum()
    }

    /// Kernels of up to three tensors with any times, some patterns left out: as good as the best of all choices.
    #[test]
    fn random_networks_take_the_least_of_all_choices() {
        let mut rng = Rng::with_seed(20261128);
        let (mut impossible, mut found, mut kept, mut same, mut worst) = (0, 0, 0, 0, 1.0_f64);
        for _ in 0..300 {
            let count = rng.usize(1..7);
            let tables: Vec<Table> = (0..rng.usize(1..9))
                .map(|_| {
                    let seen: Vec<usize> = (0..rng.usize(1..4)).map(|_| rng.usize(..count)).collect();
                    let mut patterns = vec![vec![]];
                    for _ in &seen {
                        patterns =
                            patterns.iter().flat_map(|own| all(3).into_iter().map(move |p| [own.clone(), vec![p]].concat())).collect();
                    }
                    patterns.retain(|_| rng.f64() < 0.6);
                    Table::of(&seen, patterns.into_iter().map(|own| (own, rng.f64())).collect::<Vec<_>>())
                })
                .collect();
            let choices =
                (0..3_usize.pow(count as u32)).map(|n| (0..count).map(|i| all(3)[n / 3_usize.pow(i as u32) % 3]).collect::<Vec<_>>());
            let best = choices.filter_map(|own| sum(&tables, &own)).reduce(f64::min);
            let own = least(tables.clone(), count, []).ok().map(|places| sum(&tables, &places).expect("possible"));
            match (best, own) {
                (Some(best), Some(own)) => assert!((own - best).abs() < 1e-12, "{own} {best}"),
                (best, own) => assert_eq!(best, own),
            }
            *if best.is_some() { &mut found } else { &mut impossible } += 1;
            // With tables of a few entries it is near the best where it is found at all.
            let few = within(4, tables.clone(), count, []).ok().map(|places| sum(&tables, &places).expect("possible"));
            assert!(few.is_none_or(|few| best.is_some_and(|best| few > best - 1e-12)), "{few:?} {best:?}");
            if let (Some(few), Some(best)) = (few, best) {
                kept += 1;
                worst = worst.max(few / best);
                same += usize::from(few < best + 1e-12);
            }
        }
        assert!(found > 50 && impossible > 20, "{found} {impossible}");
        assert!(
            kept * 10 > found * 8 && same * 10 > kept * 6 && same < kept && worst < 3.0,
            "{kept} of {found}, {same} the best, at worst {worst}"
        );
    }

    /// Two tensors that only together lie better elsewhere, between others that do not matter.
    #[test]
    fn what_no_single_change_finds() {
        let (rows, blocks) = (Place::Buffer, Place::blocks(16));
        let pair = |a: f64, b: f64, c: f64| {
            vec![(vec![rows, rows], a), (vec![blocks, rows], b), (vec![rows, blocks], b), (vec![blocks, blocks], c)]
        };
        let chain = vec![Table::of(&[0, 1], pair(5.0, 9.0, 1.0)), Table::of(&[1, 2], pair(1.0, 1.5, 5.0))];
        assert_eq!(least(chain, 3, []), Ok(vec![blocks, blocks, rows]));
    }

    /// Ten tensors in all pairs, more than a small table holds together: better than any place for all of them.
    #[test]
    fn what_no_table_holds_is_moved_alone() {
        let mut rng = Rng::with_seed(7);
        let pairs = (0..10).flat_map(|a| (0..a).map(move |b| (a, b)));
        let tables: Vec<Table> = pairs
            .map(|(a, b)| {
                let all = all(3).into_iter().flat_map(|p| all(3).into_iter().map(move |q| vec![p, q]));
                Table::of(&[a, b], all.map(|own| (own, rng.f64())).collect::<Vec<_>>())
            })
            .collect();
        let whole = sum(&tables, &least(tables.clone(), 10, []).expect("possible")).expect("possible");
        let few = sum(&tables, &within(100, tables.clone(), 10, []).expect("possible")).expect("possible");
        let one = all(3).into_iter().filter_map(|place| sum(&tables, &[place; 10])).fold(f64::INFINITY, f64::min);
        assert!(whole < few + 1e-12 && few < one, "{whole} {few} {one}");
        // What is held stays.
        assert_eq!(within(100, tables, 10, [3]).expect("possible")[3], Place::Buffer);
    }

    /// Tables with tensors hidden have, for each choice of the others, the least over all choices of these.
    #[test]
    fn what_is_hidden_lies_where_it_takes_the_least() {
        let mut rng = Rng::with_seed(20261130);
        for _ in 0..200 {
            let count = rng.usize(2..6);
            let outer = rng.usize(1..=count);
            let tables: Vec<Table> = (0..rng.usize(1..6))
                .map(|_| {
                    let seen: Vec<usize> = (0..rng.usize(1..4)).map(|_| rng.usize(..count)).collect();
                    let patterns = (0..27).map(|n| seen.iter().enumerate().map(|(at, _)| all(3)[n / 3_usize.pow(at as u32) % 3]).collect());
                    Table::of(&seen, patterns.map(|own: Vec<Place>| (own, rng.f64())).collect::<Vec<_>>())
                })
                .collect();
            let hidden = hiding(tables.clone(), outer..count).expect("small");
            let choices: Vec<Vec<Place>> =
                (0..3_usize.pow(count as u32)).map(|n| (0..count).map(|i| all(3)[n / 3_usize.pow(i as u32) % 3]).collect()).collect();
            for own in choices.iter() {
                let alike = choices.iter().filter(|other| other[..outer] == own[..outer]);
                let least = alike.filter_map(|other| sum(&tables, other)).fold(f64::INFINITY, f64::min);
                assert!(hidden.at(own).is_some_and(|time| (time - least).abs() < 1e-12), "{own:?}");
            }
        }
    }

    /// One table of several ways: the least of each choice, also of one that only one way has; numbered as others are, and of one place.
    #[test]
    fn ways_become_one_table() {
        let (rows, blocks) = (Place::Buffer, Place::blocks(16));
        let one = Table::of(&[0, 1], [(vec![rows, rows], 1.0), (vec![rows, blocks], 5.0)]);
        let two = Table::of(&[0, 1], [(vec![rows, blocks], 2.0), (vec![blocks, blocks], 3.0)]).plus(0.5);
        let both = one.clone().or(two);
        assert_eq!(
            [[rows, rows], [rows, blocks], [blocks, blocks], [blocks, rows]].map(|own| both.at(&own)),
            [Some(1.0), Some(2.5), Some(3.5), None]
        );
        // What sees other tensors is no other way.
        let other = Table::of(&[1], [(vec![rows], 0.1)]);
        assert_eq!(one.clone().or(other.clone()).at(&[rows, rows]), Some(1.0));
        assert_eq!(Table::default().or(other).at(&[blocks, rows]), Some(0.1));
        // The first tensor is the third there, the second the first; of two that are one there, only what has both in one place is left.
        let there = both.renumbered(&[2, 0]).plus(1.0);
        assert_eq!((there.at(&[blocks, rows, rows]), there.at(&[rows, rows, blocks])), (Some(3.5), None));
        assert_eq!((both.least(), Table::default().least()), (Some(1.0), None));
        let same = both.renumbered(&[1, 1]);
        assert_eq!((same.at(&[rows, rows]), same.at(&[rows, blocks])), (Some(1.0), Some(3.5)));
        assert_eq!(both.only(0, blocks).only(7, rows).at(&[blocks, blocks]), Some(3.5));
    }

    /// Tensors that are held in rows, and kernels for which nothing agrees.
    #[test]
    fn what_cannot_be_is_named() {
        let blocks = Place::blocks(4);
        let only = |seen: &[usize], pattern: Vec<Place>| Table::of(seen, [(pattern, 1.0)]);
        assert_eq!(least(vec![only(&[1], vec![blocks])], 2, [1]), Err(1));
        assert_eq!(least(vec![only(&[0], vec![blocks]), only(&[0], vec![Place::Buffer])], 1, []), Err(0));
        // One tensor twice is in one place.
        let twice = Table::of(&[0, 0], [(vec![blocks, Place::Buffer], 1.0), (vec![blocks, blocks], 2.0)]);
        assert_eq!(least(vec![twice], 1, []), Ok(vec![blocks]));
        let never = Table::of(&[0], [(vec![blocks], f64::INFINITY)]);
        assert!(never.is_empty());
    }
}
