//! Conditions of accesses that the counting cannot follow.

use super::subject::Subject;
use warpsight_ir::AffineBound;

/// What is to be said of conditions that are taken to hold although they may not: those that judge several lanes at once, or a loop, so
/// that the lanes that take part are no box. One sentence for each field.
pub fn taken_to_hold(subject: &Subject) -> Vec<String> {
    let fields = subject.fields.iter().chain(&subject.local).chain(&subject.constant);
    let notes = fields.filter_map(|field| {
        let (mut accesses, mut lanes, mut loops) = (Vec::new(), false, false);
        for touch in &field.touches {
            let judges = |bound: &AffineBound, vars: &[super::subject::Var]| {
                vars.iter().filter(|var| var.count > 1 && bound.value.coefficient(var.id) != 0).count()
            };
            let several = touch.guard.iter().any(|bound| judges(bound, &subject.lanes) > 1);
            let looped = touch.guard.iter().any(|bound| judges(bound, &touch.loops) > 0);
            (lanes, loops) = (lanes | several, loops | looped);
            if several || looped {
                accesses.push(touch.position.to_string());
            }
        }
        let what = match (lanes, loops) {
            (false, false) => return None,
            (true, false) => "several lanes",
            (false, true) => "a loop",
            (true, true) => "several lanes or a loop",
        };
        let (noun, all) = if accesses.len() == 1 { ("access", "it is") } else { ("accesses", "they are") };
        let listed = accesses.join(", ");
        Some(format!("`{}`, {noun} {listed}: a condition on {what} is taken to hold, so that {all} counted for too many lanes", field.name))
    });
    notes.collect()
}
