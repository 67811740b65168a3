//! How much of what a block loads is in use at once: a loop whose trips each bring new lines needs those of one trip, and what is loaded in other
//! loops is in use at other times.

use super::block::block_uses;
use super::costs::{BlockUse, Sizes};
use crate::volumes::kernel::subject::{Side, Subject, Var};
use smallvec::SmallVec;
use warpsight_ir::VarId;

/// Fields that a block walks through together, in one cache.
#[derive(Debug)]
pub struct Walk {
    /// Whether they are images that have a cache beside that of buffers.
    pub images: bool,
    /// The loops whose trips bring new lines of them each.
    loops: SmallVec<[VarId; 4]>,
    /// Trips of these: what a block loads of its fields is asked for again within one of them, and not after it.
    pub trips: f64,
    /// Positions in the list of fields.
    pub fields: SmallVec<[usize; 4]>,
}

/// All fields by the loops in which a block walks through them; images by themselves where they have a cache beside that of buffers.
pub fn walks(subject: &Subject, uses: &[BlockUse], sizes: Sizes, beside: bool) -> Vec<Walk> {
    let mut found: Vec<Walk> = Vec::new();
    for field in 0..uses.len() {
        let own = new_lines(subject, field, uses, sizes);
        let loops: SmallVec<[VarId; 4]> = own.iter().map(|var| var.id).collect();
        let images = beside && subject.fields[field].image.is_some();
        match found.iter_mut().find(|walk| walk.loops == loops && walk.images == images) {
            Some(walk) => walk.fields.push(field),
            None => {
                let trips = own.iter().map(|var| f64::from(var.count)).product();
                found.push(Walk { images, loops, trips, fields: SmallVec::from_slice(&[field]) });
            }
        }
    }
    found
}

/// Loops of which each trip brings new lines of a field, from the outermost on: a block loads as many times the lines of one trip as there are trips. What
/// is in a loop that comes back to its lines comes back to them, too.
fn new_lines(subject: &Subject, field: usize, uses: &[BlockUse], sizes: Sizes) -> SmallVec<[Var; 4]> {
    let own = &subject.fields[field];
    let mut loads = own.touches.iter().filter(|touch| Side::Loads.has(touch.kind));
    let Some(first) = loads.next().filter(|_| own.gathers.is_empty()) else { return SmallVec::new() };
    let several = first.loops.iter().filter(|own| own.count > 1).copied();
    let shared = several.take_while(|own| loads.clone().all(|touch| touch.loops.contains(own)));
    let brings = |var: &Var| {
        let mut once = subject.clone();
        once.fields = vec![own.clone()];
        // Their loops are the whole ones.
        (once.local, once.constant) = (vec![], vec![]);
        for touch in &mut once.fields[0].touches {
            touch.loops.iter_mut().filter(|own| own.id == var.id).for_each(|own| own.count = 1);
        }
        // Kernels like it have other loops.
        once.structure = None;
        uses[field].loaded_lines == block_uses(&once, sizes)[0].loaded_lines * u64::from(var.count)
    };
    shared.take_while(brings).collect()
}
