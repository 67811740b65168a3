//! What tests of several back ends run.

use crate::{Init, Job, LaunchSpec, MemoryKind, MemorySpec, TimingSpec};
use warpsight_ir::{
    Access, BinaryOp, Bound, Expr, GroupAxis, LaneAxis, Launch, Param, ParamKind, Program, Scalar, SizeParam, Space, Stmt, StorePolicy,
};

/// `y[i] = 3 · x[i]` for `i < n`, in groups of 8.
pub(crate) fn scale() -> Program {
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

/// A job that scales these values: memory 0 is the input, memory 1 the output, which is read.
pub(crate) fn scale_job(values: &[f32], timing: Option<TimingSpec>) -> Job {
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
