//! Rows divided into parts that share no group: what one part is judged by has not seen the others.

use super::{Row, hash};
use std::collections::BTreeMap;

/// Which fold each group belongs to: as equal in scored rows as they become, whatever the order of the rows.
#[must_use]
pub fn folds<'a>(rows: &[&'a Row], parts: usize) -> BTreeMap<&'a str, usize> {
    let mut sizes: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for row in rows {
        let size = sizes.entry(&row.group).or_default();
        size[0] += usize::from(!row.mutant);
        size[1] += 1;
    }
    let mut groups: Vec<(&str, [usize; 2])> = sizes.into_iter().collect();
    groups.sort_by_key(|(name, size)| (std::cmp::Reverse(*size), hash(name)));
    let mut filled = vec![[0; 2]; parts.max(1)];
    let mut out = BTreeMap::new();
    for (name, size) in groups {
        let least = (0..filled.len()).min_by_key(|f| filled[*f]).unwrap_or(0);
        filled[least] = [filled[least][0] + size[0], filled[least][1] + size[1]];
        out.insert(name, least);
    }
    out
}
