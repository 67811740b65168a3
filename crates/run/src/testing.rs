//! What tests of several back ends run.
#![allow(dead_code, reason = "each takes what it needs")]

use warpsight_ir::{
    Access, BinaryOp, Bound, Expr, GroupAxis, Hazard, LaneAxis, Launch, Param, ParamKind, Program, Scalar, SizeParam, Space, Stmt,
    StorePolicy, data,
};
use warpsight_run::{Device, DeviceError, Ends, Field, Init, Job, LaunchSpec, Look, MemoryKind, MemorySpec, Reason, Session, TimingSpec};

/// `y[i] = 3 · x[i]` for `i < n`, in groups of 8.
pub fn scale() -> Program {
    let n = || Expr::Size("n".into());
    let buffer = |name: &str, access| Param {
        name: name.into(),
        kind: ParamKind::Buffer { space: Space::Global, element: Scalar::F32, dims: vec![n()], access },
    };
    let position = || Expr::binary(BinaryOp::Add, Expr::binary(BinaryOp::Mul, Expr::var("g"), Expr::int(8)), Expr::var("l"));
    let guard = || vec![Bound { value: position(), extent: n(), per_lane: false }];
    let groups = Expr::binary(BinaryOp::Div, Expr::binary(BinaryOp::Add, n(), Expr::int(7)), Expr::int(8));
    let x = Expr::Load { source: "x".into(), index: vec![position()], width: 1, guard: guard() };
    Program {
        name: "scale".into(),
        sizes: vec![SizeParam { name: "n".into(), lo: 1, hi: 1000 }],
        params: vec![buffer("x", Access::Read), buffer("y", Access::Write)],
        arrays: vec![],
        launch: Launch {
            groups: vec![GroupAxis { name: "g".into(), extent: groups }],
            lanes: vec![LaneAxis { name: "l".into(), extent: 8 }],
            subgroup: None,
        },
        body: vec![Stmt::Store {
            target: "y".into(),
            index: vec![position()],
            value: Expr::binary(BinaryOp::Mul, x, Expr::f32(3.0)),
            guard: guard(),
            policy: StorePolicy::WriteBack,
        }],
    }
}

/// `y[i] = 3 · x[n − 1 − i]`.
pub fn reversed() -> Program {
    let mut program = scale();
    let last = Expr::binary(BinaryOp::Sub, Expr::Size("n".into()), Expr::int(1));
    if let Stmt::Store { value, .. } = &mut program.body[0] {
        *value = value.clone().map(&mut |expr| match expr {
            Expr::Load { source, index, width, guard } => {
                let index = index.into_iter().map(|i| Expr::binary(BinaryOp::Sub, last.clone(), i)).collect();
                Expr::Load { source, index, width, guard }
            }
            other => other,
        });
    }
    program
}

/// A job that scales these values: memory 0 is the input, memory 1 the output, which is read.
pub fn scale_job(values: &[f32], timing: Option<TimingSpec>) -> Job {
    let kind = MemoryKind::Buffer { bytes: 4 * values.len() as u64 };
    let memory = |init| MemorySpec { kind, init, canaries: true };
    Job {
        programs: vec![scale().into()],
        memory: vec![memory(Init::Data(warpsight_ir::data::f32_bytes(values))), memory(Init::Poison)],
        launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: vec![values.len() as i64] }],
        read: vec![1],
        peek: vec![],
        timing,
    }
}

fn floats(session: &mut dyn Session, memory: usize) -> Vec<f32> {
    data::bytes_f32(&session.read(memory).unwrap().0)
}

fn scaled(values: &[f32], by: f32) -> Vec<f32> {
    values.iter().map(|value| by * value).collect()
}

/// What every session does: memory stays from launch to launch and is written, read and worked on in place; what contradicts itself is
/// refused and harms nothing.
pub fn memory_stays(device: &mut dyn Device) {
    let clock = device.info().clock;
    let values: Vec<f32> = (0..37).map(|i| i as f32).collect();
    let job = scale_job(&values, None);
    let launch = |args: [usize; 2]| [LaunchSpec { args: args.to_vec(), ..job.launches[0].clone() }];
    let mut session = device.open(&job.memory).unwrap();
    let session = &mut *session;
    assert_eq!(session.load(&job.programs).unwrap().len(), 1);
    let feedback = session.launch(&launch([0, 1])).unwrap();
    assert_eq!((feedback.len(), floats(session, 1)), (1, scaled(&values, 3.0)));
    session.launch(&[launch([1, 0]), launch([0, 1])].concat()).unwrap();
    assert_eq!((floats(session, 0), floats(session, 1)), (scaled(&values, 9.0), scaled(&values, 27.0)), "as the launch before left it");

    session.write(0, &Init::Data(data::f32_bytes(&scaled(&values, 2.0)))).unwrap();
    session.launch(&launch([0, 0])).unwrap();
    assert_eq!(floats(session, 0), scaled(&values, 6.0), "in place");
    session.launch(&launch([0, 0])).unwrap();
    assert_eq!(
        (floats(session, 0), floats(session, 1)),
        (scaled(&values, 18.0), scaled(&values, 27.0)),
        "in place again, and nowhere else"
    );

    session.load(&[reversed().into()]).unwrap();
    let turned = |args: [usize; 2]| [LaunchSpec { program: 1, args: args.to_vec(), sizes: vec![37] }];
    session.launch(&turned([0, 1])).unwrap();
    let backwards: Vec<f32> = values.iter().rev().map(|value| 54.0 * value).collect();
    assert_eq!(floats(session, 1), backwards, "loaded later");

    let refused = |error: DeviceError| match error {
        DeviceError::BadJob(error) => (error.field, error.reason),
        other => panic!("{other:?}"),
    };
    let (field, reason) = refused(session.launch(&turned([0, 0])).unwrap_err());
    assert_eq!(field, Field::LaunchOf { launch: 0, kernel: "scale".into() });
    assert!(matches!(reason, Reason::Shared { memory: 0, why: Hazard::Elsewhere(_), .. }), "{reason:?}");
    assert_eq!(refused(session.write(5, &Init::Zero).unwrap_err()), (Field::Memory(5), Reason::NotThereToWrite { there: 2 }));
    assert_eq!(refused(session.write(1, &Init::Data(vec![0; 3])).unwrap_err()).0, Field::Memory(1));
    assert_eq!(refused(session.read(2).unwrap_err()), (Field::Memory(2), Reason::NotThereToRead { there: 2 }));
    let mut broken = scale();
    broken.body.clear();
    broken.params[1].name = "x".into();
    assert!(matches!(refused(session.load(&[scale().into(), broken.into()]).unwrap_err()).0, Field::Program { program: 3, .. }));
    assert_eq!(refused(session.launch(&[LaunchSpec { program: 2, ..launch([0, 1])[0].clone() }]).unwrap_err()).1, Reason::NoProgram(2));
    assert_eq!((floats(session, 0), floats(session, 1)), (scaled(&values, 18.0), backwards), "what is refused harms nothing");

    session.write(0, &Init::Zero).unwrap();
    session.launch(&launch([0, 0])).unwrap();
    let timed = session.time(&launch([0, 0]), TimingSpec::runs(3)).unwrap();
    assert_eq!((timed.times.len(), timed.times[0].len(), timed.pass_times.len(), timed.source), (1, 3, 3, clock));

    session.write(0, &Init::Data(data::f32_bytes(&values))).unwrap();
    let ends = Ends { inputs: vec![0], outputs: vec![0] };
    assert_eq!(session.time_whole(&launch([0, 0]), &ends, 3).unwrap().times.len(), 3);
    assert_eq!(floats(session, 0), scaled(&values, 3.0), "each pass begins with what was given");
    session.write(0, &Init::Zero).unwrap();

    let seen = session.look(&Look { read: vec![0], peek: vec![] }).unwrap();
    assert_eq!((data::bytes_f32(&seen.read[0].0), seen.damaged), (vec![0.0; 37], vec![]));
}
