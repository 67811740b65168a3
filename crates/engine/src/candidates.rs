//! Which of an operator's sequences of expressions is taken: the one whose kernels the model expects to take the least time together.

use crate::EngineError;
use crate::parallel::each;
use crate::tune::{self, Judge};
use crate::verify::check_operator;
use warpsight_generate::{Candidate, Operator, ScheduleFamily, TensorExpr, candidates};
use warpsight_graph::Plan;
use warpsight_ir::Seconds;
use warpsight_run::DeviceLimits;

/// What a sequence has to take of the time of the operator as it is to be taken instead: more than samples and counts are off by.
const GAIN: f64 = 0.95;

/// The sequence to take for an operator; those whose temporaries find no room on a device are left out.
///
/// # Errors
/// What the profile lacks.
pub fn choose(operator: &Operator, judge: &Judge, limits: &DeviceLimits) -> Result<Candidate, EngineError> {
    let mut all = offered(operator, limits).into_iter();
    let Some(direct) = all.next() else { return Ok(Candidate { name: "direct", operator: operator.clone() }) };
    if all.len() == 0 {
        return Ok(direct);
    }
    let mut least = (seconds(&direct.operator.steps, judge)?.map(|own| own.0 * GAIN), direct);
    for other in all {
        let time = seconds(&other.operator.steps, judge)?.map(|own| own.0);
        if time.is_some_and(|time| least.0.is_none_or(|least| time < least)) {
            least = (time, other);
        }
    }
    Ok(least.1)
}

/// The sequences that find room on a device; the first is the operator as it is, whether it does or not.
fn offered(operator: &Operator, limits: &DeviceLimits) -> Vec<Candidate> {
    let mut all = candidates(operator);
    let mut first = true;
    all.retain(|own| std::mem::take(&mut first) || check_operator(&own.operator, limits).is_ok());
    all
}

/// Puts the sequences to take in place of a plan's operators: the names of those that are not the operator as it is, by operator.
///
/// # Errors
/// What the profile lacks.
pub fn settle(plan: &mut Plan, judge: &Judge, limits: &DeviceLimits) -> Result<Vec<(usize, &'static str)>, EngineError> {
    let distinct = plan.distinct();
    let chosen = each(&distinct, |distinct| choose(&plan.operators[distinct.uses[0]].operator, judge, limits));
    let mut taken = vec![];
    for (distinct, chosen) in distinct.iter().zip(chosen) {
        let chosen = chosen?;
        // Of an operator whose temporaries others need, no other sequence gives these.
        for &position in distinct.uses.iter().filter(|position| !plan.shares_temporaries(**position)).collect::<Vec<_>>() {
            // Each has names of its own: what one of them was found for holds of all.
            let own =
                candidates(&plan.operators[position].operator).into_iter().find(|own| own.name == chosen.name && own.name != "direct");
            if let Some(own) = own {
                plan.replace(position, own.operator);
                taken.push((position, own.name));
            }
        }
    }
    Ok(taken)
}

/// Puts sequences that were taken earlier in place of a plan's operators; `false`, and nothing is changed, where one of them is not offered.
pub fn restore(plan: &mut Plan, taken: &[(usize, String)]) -> bool {
    let own = |(position, name): &(usize, String)| {
        let offered = candidates(&plan.operators.get(*position)?.operator);
        Some((*position, offered.into_iter().find(|own| own.name == name)?.operator))
    };
    let Some(all) = taken.iter().map(own).collect::<Option<Vec<_>>>() else { return false };
    all.into_iter().for_each(|(position, operator)| plan.replace(position, operator));
    true
}

/// What expressions take together, each in the best schedule that is found; `None` where a device can run none of one.
fn seconds(steps: &[TensorExpr], judge: &Judge) -> Result<Option<Seconds>, EngineError> {
    let mut sum = 0.0;
    for step in steps {
        let family = ScheduleFamily::new(step.clone());
        let (_, found) = tune::search_each(&family, judge, |_| Some(()))?;
        let Some(least) = found.get(&()) else { return Ok(None) };
        sum += least.0;
    }
    Ok(Some(Seconds(sum)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_generate::operators::parse_operator;

    #[test]
    fn what_finds_no_room_is_left_out() {
        let operator = parse_operator("conv2d n=1 c=64 h=7 w=7 k=64 r=3 s=3 stride=1 pad=1").expect("an operator");
        let names = |limits: &DeviceLimits| offered(&operator, limits).iter().map(|own| own.name).collect::<Vec<_>>();
        assert_eq!(names(&DeviceLimits::default()), ["direct", "padded"]);
        // Room for input, weights and output, not for the input with zeros around it.
        let bytes = 4 * (64 * 7 * 7 + 64 * 64 * 3 * 3 + 64 * 7 * 7);
        assert_eq!(names(&DeviceLimits { memory: Some(bytes), ..DeviceLimits::default() }), ["direct"]);
    }
}
