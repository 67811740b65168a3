//! Which of many, each with several costs, no other one beats.

use super::criteria::COSTS;
use std::collections::HashMap;

/// What is no worse: costs are counts, and two parts in a hundred of them decide nothing.
const ALIKE: f64 = 1.02;
/// What is clearly better.
const CLEAR: f64 = 1.05;

type Costs = [f64; COSTS];

/// For each of many the kind of cost by which another one beats it most: one that is no worse in any and clearly better in that; `None` of
/// those that nothing beats.
pub fn beaten(all: &[Costs]) -> Vec<Option<usize>> {
    let key = |costs: &Costs| costs.map(f64::to_bits);
    let mut distinct: HashMap<[u64; COSTS], Option<usize>> = all.iter().map(|costs| (key(costs), None)).collect();
    let mut order: Vec<Costs> = distinct.keys().map(|bits| bits.map(f64::from_bits)).collect();
    let sum = |costs: &Costs| costs.iter().map(|cost| (1.0 + cost).ln()).sum::<f64>();
    // Better ones come first. One may be no worse by the slack alone and come later: then both are left.
    order.sort_by(|a, b| sum(a).total_cmp(&sum(b)).then_with(|| key(a).cmp(&key(b))));
    let mut left: Vec<Costs> = vec![];
    for costs in order {
        let by = left.iter().find_map(|other| beats(other, &costs));
        if by.is_none() {
            left.push(costs);
        }
        distinct.insert(key(&costs), by);
    }
    all.iter().map(|costs| distinct[&key(costs)]).collect()
}

/// The kind of cost in which one is better by the most, where it is clearly better in that and no worse in any.
fn beats(one: &Costs, other: &Costs) -> Option<usize> {
    if one.iter().zip(other).any(|(a, b)| *a > b * ALIKE) {
        return None;
    }
    let ratio = |n: usize| if other[n] > 0.0 { other[n] / one[n] } else { 1.0 };
    (0..COSTS).filter(|&n| ratio(n) >= CLEAR).max_by(|&a, &b| ratio(a).total_cmp(&ratio(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_clearly_worse_is_beaten() {
        let one = [10.0, 4.0, 2.0, 0.1, 0.0, 0.0, 5.0, 5.0];
        let with = |n: usize, cost: f64| {
            let mut other = one;
            other[n] = cost;
            other
        };
        let mut mixed = with(0, 40.0);
        mixed[7] = 4.0;
        let all = [with(0, 20.0), one, with(1, 4.1), with(4, 1.0), mixed, one, with(3, 0.2)];
        assert_eq!(beaten(&all), [Some(0), None, None, Some(4), None, None, Some(3)]);
    }
}
