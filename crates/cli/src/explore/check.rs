//! Some configurations once more, the way `predict` goes.

use super::Task;
use crate::failure::{Failure, Kind};
use warpsight_ir::accesses::text::parse;
use warpsight_predict::explore::{Outcome, Refusal};
use warpsight_predict::volumes::report::{Settings, Work, report};

/// Reads each from the text with its settings, predicts it, and compares every number exactly.
pub fn compare(task: &Task, sampled: &[(u64, Result<Outcome, Refusal>)]) -> Result<(), Failure> {
    let wrong: Vec<u64> = sampled.iter().filter(|(index, found)| *found != anew(task, *index)).map(|(index, _)| *index).collect();
    let Some(&first) = wrong.first() else { return Ok(()) };
    let name = task.name(&task.space.get(first));
    let what =
        format!("{} of {} checked configurations differ from what `predict` says of them, the first is {name}", wrong.len(), sampled.len());
    Err(Failure::new(Kind::NothingVerified, what).help("this is a defect of warpsight: please report it with the file and the options"))
}

fn anew(task: &Task, index: u64) -> Result<Outcome, Refusal> {
    let configuration = task.space.get(index);
    let settings = task.explorer().settings(&configuration);
    let written = parse(task.input.text(), &settings).map_err(|error| Refusal(error.what))?;
    let work = Work { kernel: &written.kernel, points: written.points };
    Outcome::of(&report(&work, &task.devices[configuration.device], &Settings::default())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::input::Input;
    use std::path::Path;
    use warpsight_ir::Seconds;
    use warpsight_ir::profile::builtin;
    use warpsight_predict::explore::{Blocks, Space};

    #[test]
    fn a_number_that_is_off_by_one_bit_is_found() {
        let file = format!("{}/../../examples/accesses/star2d5-f64.toml", env!("CARGO_MANIFEST_DIR"));
        let input = Input::read(Path::new(&file), &[]).unwrap();
        let document = input.document.clone();
        let devices = vec![builtin("a100-40").unwrap().unwrap()];
        let space = Space::new(&document, &[], &devices, &[Blocks::Threads(64), Blocks::Threads(2048)], &[], &[]).unwrap();
        let task = Task { input, fixed: vec![], document, devices, named: vec![("a100-40".into(), vec![])], space };
        let right: Vec<_> = (0..9).map(|index| (index, task.explorer().outcome(index))).collect();
        assert!(right[0].1.is_ok() && right[8].1.is_err());
        assert!(compare(&task, &right).is_ok());
        type Fault = fn(&mut Result<Outcome, Refusal>);
        let faults: [(usize, Fault); 4] = [
            (3, |own| own.as_mut().unwrap().seconds = Seconds(own.as_ref().unwrap().seconds.0.next_up())),
            (0, |own| own.as_mut().unwrap().volumes[5] = None),
            (5, |own| *own = Err(Refusal("no reason".into()))),
            (8, |own| *own = Err(Refusal("another reason".into()))),
        ];
        for (at, fault) in faults {
            let mut planted = right.clone();
            fault(&mut planted[at].1);
            let failure = compare(&task, &planted).expect_err("a planted fault");
            assert_eq!(failure.exit_code(), 4);
            assert!(failure.message.contains("1 of 9 checked configurations differ"), "{}", failure.message);
            assert!(failure.message.contains(&task.name(&task.space.get(at as u64))), "{}", failure.message);
        }
    }
}
