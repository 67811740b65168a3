//! What is kept in registers through all rounds of a group, as coarse counts see it.

use super::{Part, Reader, both};
use crate::nest::Item;
use smallvec::SmallVec;

impl Reader<'_> {
    /// What is loaded before all rounds: loads that ask for the same bounds by the least and the greatest position in each dimension.
    pub(super) fn kept(&mut self) -> Option<Part> {
        let (nest, none) = (self.nest, SmallVec::<[bool; 5]>::from_elem(false, self.nest.expr.reduce.len()));
        let items = nest.kept().list;
        let mut alike: Vec<(Item, Item, u32)> = vec![];
        for item in &items {
            let layout = nest.read_layout(item.template);
            // What lies in several parts of a dimension has no corners in common.
            let part = |own: &Item| layout.parts().map(|(d, part)| own.offsets[d].div_euclid(part)).collect::<SmallVec<[i64; 4]>>();
            let like = |own: &&mut (Item, Item, u32)| {
                let alike = (own.0.template, own.0.width) == (item.template, item.width);
                alike && nest.bounds(&own.0, &none) == nest.bounds(item, &none) && part(&own.0) == part(item)
            };
            match alike.iter_mut().find(like) {
                Some((first, last, times)) => {
                    first.offsets.iter_mut().zip(&item.offsets).for_each(|(own, &other)| *own = other.min(*own));
                    last.offsets.iter_mut().zip(&item.offsets).for_each(|(own, &other)| *own = other.max(*own));
                    *times += 1;
                }
                None => alike.push((item.clone(), item.clone(), 1)),
            }
        }
        let inside = self.frame.idle.split_off(self.frame.outside);
        let mut nodes = vec![];
        for (first, last, times) in &alike {
            let one = self.load(first, &none, None)?;
            both(one, if *times > 1 { Some(self.load(last, &none, None)?) } else { None }, *times, &mut nodes);
        }
        self.frame.idle.extend(inside);
        Some(Part { nodes, words: items.iter().map(|item| nest.item_words(item)).sum(), last: 0 })
    }
}
