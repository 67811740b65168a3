//! One measurement: run, check, record.

use super::date::now;
use crate::kernels::ONE_WAVE;
use crate::{Cause, Measurement, Outcome, Parameter, Record};
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpsight_ir::{BinaryOp, Expr, Feedback, Stmt};
use warpsight_run::{Code, Device, DeviceError, JobResult};

/// Runs code of a phase; a panic there is that phase's defect and must not take what others measured along.
pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into())
    })
}

/// Takes a measurement; an error where the device has to be opened again.
pub fn take(phase: &str, measurement: Measurement, device: &mut dyn Device) -> (Record, Option<DeviceError>) {
    let mut record = blank(phase, &measurement);
    let result = match caught(|| device.run(&measurement.job)) {
        Ok(result) => result,
        Err(defect) => {
            record.outcome = Outcome::Failed { why: format!("a defect of this program: {defect}"), cause: Cause::Refused };
            // What state the device is in nobody knows.
            return (record, Some(DeviceError::Lost(defect)));
        }
    };
    match result {
        Ok(result) => {
            record.outcome = judge(&measurement, &result);
            fill(&mut record, &measurement, result);
            (record, None)
        }
        // The device said so before it tried.
        Err(error @ DeviceError::Unsupported { .. }) => {
            record.outcome = Outcome::Skipped { why: error.to_string(), later: false };
            (record, None)
        }
        Err(error) => {
            record.outcome = Outcome::Failed { why: error.to_string(), cause: cause(&error) };
            // After a forbidden access a driver refuses everything else.
            let lost = matches!(error, DeviceError::Lost(_) | DeviceError::Timeout(_) | DeviceError::Fault { .. });
            (record, lost.then_some(error))
        }
    }
}

fn cause(error: &DeviceError) -> Cause {
    match error {
        DeviceError::Build { .. } => Cause::Build,
        DeviceError::Fault { .. } => Cause::Fault,
        DeviceError::Lost(_) | DeviceError::Timeout(_) => Cause::Lost,
        DeviceError::NoDevice { .. }
        | DeviceError::Unsupported { .. }
        | DeviceError::Limit { .. }
        | DeviceError::NoHalves { .. }
        | DeviceError::Before { .. }
        | DeviceError::BadJob(_)
        | DeviceError::Driver { .. } => Cause::Refused,
    }
}

/// The record of a measurement that there was no time for.
pub(super) fn skipped(phase: &str, measurement: Measurement, why: &str) -> Record {
    Record { outcome: Outcome::Skipped { why: why.into(), later: true }, ..blank(phase, &measurement) }
}

impl Record {
    /// That there was no time for something.
    pub fn skipped(phase: &str, name: &str, why: &str) -> Self {
        Self {
            phase: phase.into(),
            name: name.into(),
            params: Default::default(),
            amounts: Default::default(),
            outcome: Outcome::Skipped { why: why.into(), later: true },
            code: String::new(),
            kernel: String::new(),
            sizes: vec![],
            timing: None,
            times_s: vec![],
            earlier_times_s: vec![],
            pass_times_s: vec![],
            launches: 0,
            launch: 0,
            empty_launch_s: None,
            quantum_s: 0.0,
            clock: None,
            source: None,
            clocks: vec![],
            feedback: Feedback::default(),
            unix_time: now(),
        }
    }
}

/// What is known before anything ran.
fn blank(phase: &str, measurement: &Measurement) -> Record {
    let launch = measurement.job.launches.get(measurement.launch);
    let code = launch.and_then(|launch| measurement.job.programs.get(launch.program));
    Record {
        params: measurement.params.clone(),
        amounts: measurement.amounts,
        code: code.map(text).unwrap_or_default(),
        kernel: code.map(|code| code.name().to_owned()).unwrap_or_default(),
        sizes: launch.map(|launch| launch.sizes.clone()).unwrap_or_default(),
        timing: measurement.job.timing,
        launches: measurement.job.launches.len(),
        launch: measurement.launch,
        ..Record::skipped(phase, &measurement.name, "")
    }
}

fn text(code: &Code) -> String {
    match code {
        Code::Program(program) => program.to_string(),
        Code::Cuda(text) => text.text.clone(),
    }
}

fn judge(measurement: &Measurement, result: &JobResult) -> Outcome {
    let wrong = |what: String| Outcome::Wrong { what };
    if let Some(position) = result.damaged.first() {
        return wrong(format!("memory {position} was written outside its bounds"));
    }
    match caught(|| (measurement.check)(result)) {
        Ok(Ok(())) => several_waves(measurement, result).map_or(Outcome::Verified, |why| Outcome::Failed { why, cause: Cause::Waves }),
        Ok(Err(what)) => wrong(what),
        Err(defect) => wrong(format!("its check could not be made: {defect}")),
    }
}

/// Words where all blocks are said to be resident at once, and the driver knows better.
fn several_waves(measurement: &Measurement, result: &JobResult) -> Option<String> {
    let Some(Parameter::Int(wanted)) = measurement.params.get(ONE_WAVE) else { return None };
    let program = measurement.job.launches.get(measurement.launch)?.program;
    let resident = result.feedback.get(program)?.resident_groups?;
    (i64::from(resident) < *wanted)
        .then(|| format!("a multiprocessor holds {resident} of its blocks at once, not {wanted}: the times are of more than one wave"))
}

fn fill(record: &mut Record, measurement: &Measurement, result: JobResult) {
    let seconds = |times: &warpsight_ir::Times| times.iter().map(|time| time.0).collect();
    let timed = result.timed;
    record.times_s = timed.times.get(measurement.launch).map(seconds).unwrap_or_default();
    record.earlier_times_s = timed.times.iter().take(measurement.launch).map(seconds).collect();
    record.pass_times_s = seconds(&timed.pass_times);
    record.empty_launch_s = timed.empty_launch.map(|time| time.0);
    record.quantum_s = timed.quantum.0;
    record.clock = timed.clock;
    record.source = timed.source;
    record.clocks = timed.clocks;
    let program = measurement.job.launches.get(measurement.launch).map(|launch| launch.program);
    record.feedback = program.and_then(|program| result.feedback.get(program)).cloned().unwrap_or_default();
    record.unix_time = now();
}

/// Makes the timed kernel store `x − x` where it should store `x`; `false` where it is no Program or stores nothing so.
pub(super) fn spoil(measurement: &mut Measurement) -> bool {
    let Some(launch) = measurement.job.launches.get(measurement.launch) else { return false };
    let Some(Code::Program(program)) = measurement.job.programs.get_mut(launch.program) else { return false };
    let params: Vec<_> = program.params.iter().map(|param| param.name.clone()).collect();
    spoil_block(&mut program.body, &params)
}

fn spoil_block(block: &mut [Stmt], params: &[warpsight_ir::Name]) -> bool {
    block.iter_mut().any(|stmt| match stmt {
        Stmt::Store { target, value, .. } if params.contains(target) => {
            *value = Expr::binary(BinaryOp::Sub, value.clone(), value.clone());
            true
        }
        Stmt::For { body, .. } => spoil_block(body, params),
        Stmt::If { then, otherwise, .. } => spoil_block(then, params) || spoil_block(otherwise, params),
        Stmt::Scope(body) => spoil_block(body, params),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Parameters, Scale};
    use warpsight_run::{DeviceInfo, Job, MemorySpec, Options, Session, open};

    /// A device on which so many blocks of every kernel are resident.
    struct Holds(Box<dyn Device>, Option<u32>);

    impl Device for Holds {
        fn info(&self) -> &DeviceInfo {
            self.0.info()
        }
        fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
            self.0.open(memory)
        }
        fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
            let mut result = self.0.run(job)?;
            result.feedback.iter_mut().for_each(|feedback| feedback.resident_groups = self.1);
            Ok(result)
        }
    }

    #[test]
    fn blocks_that_are_not_resident_at_once_are_no_measurement_of_one_wave() {
        let simulator = open("sim:adreno640", &Options { in_process: true, cache: None, ..Options::default() }).unwrap();
        let mut device = Holds(simulator, None);
        let plan = crate::phases::all().into_iter().find(|phase| phase.name == "streams").unwrap().plan;
        let mut taken = |resident: Option<u32>, claims: bool| {
            device.1 = resident;
            let mut measurement = plan(&Context { device: device.info(), scale: Scale::Tiny, seed: 1 }).ask(&[]).unwrap();
            assert_eq!(measurement.params[ONE_WAVE], Parameter::Int(2));
            if !claims {
                measurement = Measurement { params: Parameters::new(), ..measurement };
            }
            take("streams", measurement, &mut device).0
        };
        for (resident, claims) in [(None, true), (Some(2), true), (Some(3), true), (Some(1), false)] {
            assert_eq!(taken(resident, claims).outcome, Outcome::Verified, "{resident:?} {claims}");
        }
        let record = taken(Some(1), true);
        let Outcome::Failed { why, cause: Cause::Waves } = &record.outcome else { panic!("{:?}", record.outcome) };
        assert!(why.contains("holds 1 of its blocks at once, not 2"), "{why}");
        assert!(!record.times_s.is_empty() && !record.outcome.may_change());
        assert_eq!(record.feedback.resident_groups, Some(1));
    }
}
