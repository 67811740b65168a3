//! Conditions of accesses: how often warps judge them, and which of them the counting cannot follow.

use super::behind::pattern::left;
use super::first_level::costs::Instruction;
use super::kernel::subject::{Subject, Touch, Var};
use warpsight_ir::AffineBound;

/// Variables that a condition judges.
fn judges(bound: &AffineBound, vars: &[Var]) -> usize {
    vars.iter().filter(|var| var.count > 1 && bound.value.coefficient(var.id) != 0).count()
}

/// Comparisons that a condition takes: one for each side on which it may fail.
fn comparisons(bound: &AffineBound, vars: &[Var]) -> f64 {
    let last = |id| vars.iter().find(|var| var.id == id).map_or(0, |var| i64::from(var.count) - 1);
    let (least, most) = bound.value.range(|id| (0, last(id))).ends();
    f64::from(u8::from(least < 0) + u8::from(most >= bound.extent))
}

/// What is to be said of conditions that are taken to hold although they may not: those that judge several lanes at once, or a loop, so
/// that the lanes that take part are no box. One sentence for each field.
pub fn taken_to_hold(subject: &Subject) -> Vec<String> {
    let fields = subject.fields.iter().chain(&subject.local).chain(&subject.constant);
    let notes = fields.filter_map(|field| {
        let (mut accesses, mut lanes, mut loops) = (Vec::new(), false, false);
        for touch in field.all() {
            let several = touch.guard.iter().any(|bound| judges(bound, &subject.lanes) > 1);
            let looped = touch.guard.iter().any(|bound| judges(bound, &touch.loops) > 0);
            (lanes, loops) = (lanes | several, loops | looped);
            if several || looped {
                accesses.push(touch.number);
            }
        }
        let what = match (lanes, loops) {
            (false, false) => return None,
            (true, false) => "several lanes",
            (false, true) => "a loop",
            (true, true) => "several lanes or a loop",
        };
        let (noun, all) = if accesses.len() == 1 { ("access", "it is") } else { ("accesses", "they are") };
        let listed = listed(accesses);
        Some(format!("`{}`, {noun} {listed}: a condition on {what} is taken to hold, so that {all} counted for too many lanes", field.name))
    });
    notes.collect()
}

/// What is to be said of conditions that warps are counted by, but not what moves behind L2: they judge no multiple of one coordinate, as
/// where an address is a sum of all. One sentence for each field.
pub fn taken_to_hold_behind_l2(subject: &Subject) -> Vec<String> {
    let unseen = |touch: &&Touch| {
        let counted = |bound: &&AffineBound| judges(bound, &subject.lanes) <= 1 && judges(bound, &touch.loops) == 0;
        touch.guard.iter().filter(counted).any(|bound| touch.coords.iter().all(|form| left(bound, form).is_none()))
    };
    let notes = subject.fields.iter().filter_map(|field| {
        let accesses: Vec<usize> = field.touches.iter().filter(unseen).map(|touch| touch.number).collect();
        let noun = if accesses.len() == 1 { "access" } else { "accesses" };
        let some = !accesses.is_empty();
        let listed = listed(accesses);
        some.then(|| format!("`{}`, {noun} {listed}: a condition on no single coordinate is taken to hold behind L2", field.name))
    });
    notes.collect()
}

/// Numbers of accesses, ascending.
fn listed(mut accesses: Vec<usize>) -> String {
    accesses.sort_unstable();
    accesses.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Comparisons that warps make before their accesses.
pub fn conditions(subject: &Subject, found: &[Instruction]) -> f64 {
    let touches = subject.fields.iter().enumerate().flat_map(|(i, field)| field.all().map(move |touch| (i, touch)));
    let judged = touches.filter(|(_, touch)| touch.judged > 0);
    let of = |field: usize, position: usize| found.iter().find(|i| i.field == field && i.position == position).map_or(0, |i| i.executions);
    // Accesses share their conditions: one for each bound of a field's first guarded access, and so on.
    let mut seen: Vec<&AffineBound> = Vec::new();
    let mut total = 0.0;
    for (field, touch) in judged {
        for bound in &touch.guard[..touch.judged] {
            if !seen.contains(&bound) {
                seen.push(bound);
                let vars: Vec<Var> = subject.groups.iter().chain(&subject.lanes).chain(&touch.loops).copied().collect();
                total += comparisons(bound, &vars) * of(field, touch.position) as f64;
            }
        }
    }
    total
}
