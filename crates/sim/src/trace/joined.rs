//! Accesses of a lane that compilers make one.

use super::touch::{Place, Touch};
use warpsight_ir::AccessKind;

/// These accesses with neighbours made one, up to so many bytes of a lane: from the lowest address on, in the place of the first of them.
pub fn joined(run: Vec<Touch>, most: i64) -> Vec<Touch> {
    let mut left: Vec<Option<Touch>> = run.into_iter().map(Some).collect();
    let mut found = Vec::with_capacity(left.len());
    for at in 0..left.len() {
        let Some(mut whole) = left[at].take() else { continue };
        // From here down as far as neighbours go, then up: where those of a row begin does not depend on the order they are in.
        let mut alike: Vec<(i64, usize)> = (at + 1..left.len()).filter_map(|i| Some((distance(&whole, left[i].as_ref()?)?, i))).collect();
        alike.push((0, at));
        alike.sort_unstable();
        let bytes = i64::from(whole.width) * whole.element.0;
        let own = alike.iter().position(|other| other.1 == at).unwrap_or(0);
        let first = alike[..=own].windows(2).rposition(|pair| pair[1].0 - pair[0].0 != bytes).map_or(0, |before| before + 1);
        let row = alike[first..].iter().zip(0..).take_while(|(other, n)| other.0 == alike[first].0 + n * bytes).count();
        let each = (most / bytes.max(1)).max(1) as usize;
        let chunk = alike[first..first + row].chunks(each).find(|chunk| chunk.iter().any(|other| other.1 == at));
        for &(_, other) in chunk.unwrap_or_default() {
            left[other] = None;
        }
        if let (Some(chunk), Place::Linear(form)) = (chunk, &mut whole.place) {
            form.constant += chunk[0].0;
            whole.width *= chunk.len() as u32;
        }
        found.push(whole);
    }
    found
}

/// Bytes from one access to another that differs in nothing else; `None` where it does, or they can never be one.
fn distance(one: &Touch, other: &Touch) -> Option<i64> {
    let (Place::Linear(a), Place::Linear(b)) = (&one.place, &other.place) else { return None };
    let vector = one.element.0 == one.element.1 && one.kind != AccessKind::Atomic && one.conditions.iter().all(|own| !own.per_element);
    let alike = (one.tensor, one.kind, one.width, one.branch) == (other.tensor, other.kind, other.width, other.branch);
    (vector && alike && one.conditions == other.conditions && a.moves_as(b) && a.constant != b.constant).then(|| b.constant - a.constant)
}
