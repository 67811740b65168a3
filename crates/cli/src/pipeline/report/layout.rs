//! Boxes in layers from top to bottom: each arrow leads to a later layer, and those that pass layers go between the boxes there.

/// Where boxes and arrows lie, in pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Width and height of everything.
    pub size: (i32, i32),
    /// Upper left corner of each box.
    pub boxes: Vec<(i32, i32)>,
    /// Corners of each arrow, in the order of the edges.
    pub ways: Vec<Vec<(i32, i32)>>,
}

/// Between boxes of a layer.
const ASIDE: i32 = 30;
/// Between layers: room for labels.
const BELOW: i32 = 62;
/// What an arrow takes where it passes a layer.
const PASSING: i32 = 24;
/// Around everything.
const MARGIN: i32 = 14;
/// Rounds of sorting; layers of a pipeline settle within a few.
const ROUNDS: usize = 6;

/// What lies in a layer: a box, or an edge that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Box(usize),
    Passing(usize),
}

/// Lays out so many boxes of one size. Edges lead from earlier boxes to later ones; others are left without a way.
pub fn layout(boxes: usize, edges: &[(usize, usize)], (width, height): (i32, i32)) -> Layout {
    let forward = |&(from, to): &(usize, usize)| from < to && to < boxes;
    let layer = layers(boxes, &edges.iter().copied().filter(|edge| forward(edge)).collect::<Vec<_>>());
    let mut rows: Vec<Vec<Item>> = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
    (0..boxes).for_each(|own| rows[layer[own]].push(Item::Box(own)));
    for (at, &(from, to)) in edges.iter().enumerate().filter(|(_, edge)| forward(edge)) {
        (layer[from] + 1..layer[to]).for_each(|row| rows[row].push(Item::Passing(at)));
    }
    sort(&mut rows, &layer, edges);

    let width_of = |item: &Item| if matches!(item, Item::Box(_)) { width } else { PASSING };
    let length = |row: &Vec<Item>| row.iter().map(width_of).sum::<i32>() + ASIDE * (row.len() as i32 - 1).max(0);
    let widest = rows.iter().map(length).max().unwrap_or(0);
    let mut places = vec![(0, 0); boxes];
    let mut passing: Vec<Vec<(i32, i32)>> = vec![Vec::new(); edges.len()];
    for (at, row) in (0..).zip(&rows) {
        let (mut x, y) = (MARGIN + (widest - length(row)) / 2, MARGIN + at * (height + BELOW));
        for item in row {
            match *item {
                Item::Box(own) => places[own] = (x, y),
                Item::Passing(edge) => passing[edge].extend([(x + PASSING / 2, y), (x + PASSING / 2, y + height)]),
            }
            x += width_of(item) + ASIDE;
        }
    }
    let ways = edges.iter().enumerate().map(|(at, edge)| {
        if !forward(edge) {
            return Vec::new();
        }
        // Arrows of a box leave and arrive beside each other.
        let port = |own: usize, end: fn(&(usize, usize)) -> usize, other: fn(&(usize, usize)) -> usize| {
            let mut beside: Vec<usize> = (0..edges.len()).filter(|&i| forward(&edges[i]) && end(&edges[i]) == own).collect();
            beside.sort_by_key(|&i| (places[other(&edges[i])].0, i));
            let at = beside.iter().position(|&i| i == at).unwrap_or(0) as i32;
            places[own].0 + width * (at + 1) / (beside.len() as i32 + 1)
        };
        let mut way = vec![(port(edge.0, |e| e.0, |e| e.1), places[edge.0].1 + height)];
        way.extend(&passing[at]);
        way.push((port(edge.1, |e| e.1, |e| e.0), places[edge.1].1));
        way
    });
    let ways = ways.collect();
    let deep = rows.len() as i32;
    Layout { size: (widest + 2 * MARGIN, (deep * (height + BELOW) - BELOW).max(0) + 2 * MARGIN), boxes: places, ways }
}

/// The layer of each box: below all that leads to it; what nothing leads to lies just above what it leads to.
fn layers(boxes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0_usize; boxes];
    for own in 0..boxes {
        layer[own] = edges.iter().filter(|edge| edge.1 == own).map(|edge| layer[edge.0] + 1).max().unwrap_or(0);
    }
    for own in (0..boxes).filter(|&own| edges.iter().all(|edge| edge.1 != own)) {
        let first = edges.iter().filter(|edge| edge.0 == own).map(|edge| layer[edge.1]).min();
        layer[own] = first.map_or(0, |first| first.saturating_sub(1));
    }
    layer
}

/// Sorts each layer by where its neighbours lie, downwards and upwards in turn (Sugiyama, Tagawa and Toda, 1981).
fn sort(rows: &mut [Vec<Item>], layer: &[usize], edges: &[(usize, usize)]) {
    for round in 0..ROUNDS {
        let down = round % 2 == 0;
        for step in 1..rows.len() {
            let at = if down { step } else { rows.len() - 1 - step };
            let beside = if down { at - 1 } else { at + 1 };
            let place = |item: Item| {
                rows[beside].iter().position(|other| *other == item).map(|at| (at + 1) as f64 / (rows[beside].len() + 1) as f64)
            };
            // What an edge is at the neighbouring layer.
            let there = |edge: usize| {
                let end = if down { edges[edge].0 } else { edges[edge].1 };
                place(if layer[end] == beside { Item::Box(end) } else { Item::Passing(edge) })
            };
            let wanted = |item: Item| -> Option<f64> {
                let places: Vec<f64> = match item {
                    Item::Passing(edge) => there(edge).into_iter().collect(),
                    Item::Box(own) => {
                        let mine = |edge: &(usize, usize)| own == if down { edge.1 } else { edge.0 };
                        (0..edges.len()).filter(|&edge| mine(&edges[edge])).filter_map(there).collect()
                    }
                };
                (!places.is_empty()).then(|| places.iter().sum::<f64>() / places.len() as f64)
            };
            let own = |i: usize| (i + 1) as f64 / (rows[at].len() + 1) as f64;
            let mut keyed: Vec<(f64, Item)> =
                rows[at].iter().enumerate().map(|(i, &item)| (wanted(item).unwrap_or_else(|| own(i)), item)).collect();
            // Equals keep their order.
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[at] = keyed.into_iter().map(|(_, item)| item).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(layout: &Layout, size: (i32, i32)) -> bool {
        let boxes = &layout.boxes;
        let overlap = |a: (i32, i32), b: (i32, i32)| (a.0 - b.0).abs() < size.0 && (a.1 - b.1).abs() < size.1;
        (0..boxes.len()).all(|a| (0..a).all(|b| !overlap(boxes[a], boxes[b])))
    }

    #[test]
    fn a_chain_is_a_column_and_a_skip_goes_round_it() {
        let size = (200, 60);
        let mut edges: Vec<(usize, usize)> = (0..19).map(|at| (at, at + 1)).collect();
        edges.push((3, 15));
        let found = layout(20, &edges, size);
        assert!(apart(&found, size));
        assert!(found.boxes.windows(2).all(|pair| pair[0].1 < pair[1].1), "each below the one before");
        // The skip passes no box.
        let skip = &found.ways[19];
        assert_eq!(skip.len(), 2 + 2 * 11);
        for &(x, y) in &skip[1..skip.len() - 1] {
            let hit = |own: &(i32, i32)| (own.0..=own.0 + size.0).contains(&x) && (own.1..=own.1 + size.1).contains(&y);
            assert!(!found.boxes.iter().any(hit), "{x} {y}");
        }
        for (&(from, to), way) in edges.iter().zip(&found.ways) {
            let inside = |own: (i32, i32), x: i32| (own.0..=own.0 + size.0).contains(&x);
            let (first, last) = (way[0], way[way.len() - 1]);
            assert!(inside(found.boxes[from], first.0) && first.1 == found.boxes[from].1 + size.1, "{from}");
            assert!(inside(found.boxes[to], last.0) && last.1 == found.boxes[to].1, "{to}");
            assert!(way.windows(2).all(|pair| pair[0].1 < pair[1].1), "downwards");
        }
        let (width, height) = found.size;
        assert!(found.boxes.iter().all(|own| own.0 >= 0 && own.1 >= 0 && own.0 + size.0 <= width && own.1 + size.1 <= height));
    }

    #[test]
    fn branches_lie_beside_each_other_and_do_not_cross() {
        // Two chains from one box, whose second boxes come in the other order.
        let edges = [(0, 1), (0, 2), (2, 3), (1, 4)];
        let found = layout(5, &edges, (100, 40));
        assert!(apart(&found, (100, 40)));
        assert_eq!(found.boxes[3].1, found.boxes[4].1);
        assert_eq!(found.boxes[1].0 < found.boxes[2].0, found.boxes[4].0 < found.boxes[3].0);
        assert_eq!(layout(0, &[], (100, 40)).boxes, []);
        assert_eq!(layout(1, &[(0, 0)], (100, 40)).ways, [vec![]], "no way from a box to itself");
    }
}
