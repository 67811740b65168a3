//! The way back from kernels to the text form.

use std::path::Path;
use warpsight_ir::accesses::text::{Written, parse};
use warpsight_ir::accesses::write::{Unwritable, write};
use warpsight_ir::program::BinaryOp;
use warpsight_ir::{
    Access, AccessKind, AccessRef, Accesses, Affine, AffineBound, BufferLayout, Bytes, Checked, Expr, GroupAxis, Kernel, LaneAxis, Launch,
    LaunchShape, LoadPath, Nest, NestVar, OpClass, OpCounts, Param, ParamKind, Program, Reused, Scalar, Space, Stmt, StorePolicy,
    TensorPlace, TensorUse, Unroll, VarId, VarKind,
};

fn read(text: &str) -> Written {
    parse(text, &[]).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

/// Every example with its text.
fn examples() -> Vec<(String, Written)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/accesses");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("examples").map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|path| (path.display().to_string(), read(&std::fs::read_to_string(path).expect("a text")))).collect()
}

#[test]
fn examples_read_back_as_they_are() {
    for (name, written) in examples() {
        // Lanes in several shapes are no variables of the launch; what would be read of the other one differs, and is not written.
        if name.ends_with("clblast-gemm.toml") {
            assert!(matches!(write(&written.kernel), Err(Unwritable::Variables | Unwritable::Differs)), "{name}");
            continue;
        }
        let text = write(&written.kernel).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let again = read(&text);
        // Names of variables are those of the text form already; loops that are written out are one access for each trip.
        assert_eq!(
            Kernel { kept: written.kernel.kept, reused: written.kernel.reused, ..again.kernel.clone() },
            written.kernel,
            "{name}\n{text}"
        );
        assert_eq!(again.guessed_accesses, written.guessed_accesses, "{name}");
        // What was folded is said for its block.
        let folded = written.fold.iter().any(|&points| points > 1);
        assert_eq!(again.tied_to_block, written.tied_to_block || folded, "{name}");
        assert_eq!(write(&again.kernel), Ok(text), "{name}");
    }
}

#[test]
fn a_text_is_what_a_person_would_write() {
    let tiled = examples().into_iter().find(|(name, _)| name.ends_with("matmul-tiled.toml")).expect("an example").1;
    let expected = r#"name = "matmul-tiled"
block = [16, 16]
grid = [64, 64]
registers = 32
flops = { f32_fma = 1024 }

[[loop]]
name = "kt"
trips = 64

[[loop]]
name = "i"
trips = 16

[[field]]
name = "A"
element = "f32"
dims = [1024, 1024]
load = [["lx + 16*kt", "ty"]]

[[field]]
name = "B"
element = "f32"
dims = [1024, 1024]
load = [["tx", "ly + 16*kt"]]

[[field]]
name = "tileA"
kind = "local"
element = "f32"
dims = [16, 16]
store = [{ at = ["lx", "ly"], in = "kt" }]

[[field]]
name = "tileB"
kind = "local"
element = "f32"
dims = [16, 16]
store = [{ at = ["lx", "ly"], in = "kt" }]

[[barrier]]
in = "kt"

[[field]]
name = "tileA"
load = [["i", "ly"]]

[[field]]
name = "tileB"
load = [["lx", "i"]]

[[barrier]]
in = "kt"

[[field]]
name = "C"
element = "f32"
dims = [1024, 1024]
store = [["tx", "ty"]]
"#;
    assert_eq!(write(&tiled.kernel).as_deref(), Ok(expected));
}

/// A kernel of two groups of four lanes that stores a vector in a loop beside an empty one.
fn small() -> Kernel {
    let var = |name: &str, kind, trips| NestVar { name: name.into(), kind, trips: Some(trips) };
    let access = |kind, constant| AccessRef {
        tensor: 1,
        kind,
        coords: [Affine::of([(VarId(0), 4), (VarId(1), 1)], constant).expect("small")].into_iter().collect(),
        width: 2,
        guard: vec![AffineBound { value: Affine::term(VarId(2), -3), extent: 5, per_lane: true }],
        path: LoadPath::Default,
        indirect: None,
        branch: None,
        ahead: false,
        times: 1,
    };
    let tensor = |name: &str| TensorUse {
        name: name.into(),
        place: TensorPlace::Buffer { space: Space::Global, element: Scalar::F16, dims: vec![64], layout: BufferLayout::default() },
    };
    let store = access(AccessKind::Store(StorePolicy::NonTemporal), -1);
    let load = AccessRef { ahead: true, ..access(AccessKind::Load, 3) };
    let nodes = vec![Nest::Access(store.clone()), Nest::Access(store), Nest::Access(load)];
    Kernel {
        name: "a \"quoted\"\nname".into(),
        accesses: Accesses {
            vars: vec![
                var("gx", VarKind::Group, 2),
                var("lx", VarKind::Lane, 4),
                var("k 1", VarKind::Loop, 3),
                var("unused", VarKind::Loop, 1),
                var("tx", VarKind::Loop, 7),
                var("k_1", VarKind::Loop, 7),
            ],
            tensors: vec![tensor("untouched"), tensor("é")],
            nest: vec![
                Nest::Barrier,
                Nest::Loop { var: VarId(2), body: nodes.clone() },
                Nest::Loop { var: VarId(4), body: vec![Nest::Barrier, Nest::Loop { var: VarId(5), body: vec![Nest::Barrier] }] },
                Nest::Loop { var: VarId(2), body: nodes },
            ],
        },
        launch: LaunchShape { groups: vec![2], lanes: vec![4] },
        registers: 7,
        kept: 0,
        reused: Reused::default(),
        chain: Some(9),
        known: vec![0],
        local: Bytes(12.0),
        ops: OpCounts([((OpClass::Int, Scalar::U32, 3), 5)].into_iter().collect()),
    }
}

/// With other names of variables.
fn named(mut kernel: Kernel, names: &[&str]) -> Kernel {
    kernel.accesses.vars.iter_mut().zip(names).for_each(|(var, name)| var.name = (*name).into());
    kernel
}

#[test]
fn what_is_odd_reads_back_too() {
    let kernel = small();
    let text = write(&kernel).unwrap_or_else(|error| panic!("{error:?}"));
    // Loops that hold nothing are left out: in the text they would repeat what is around them.
    let mut expected = named(kernel, &["bx", "lx", "k_1", "unused", "tx_2", "k_1_2"]);
    expected.accesses.vars.remove(3);
    let Nest::Loop { var, body } = &mut expected.accesses.nest[2] else { panic!("a loop") };
    *var = VarId(3);
    let Nest::Loop { var, .. } = &mut body[1] else { panic!("a loop") };
    *var = VarId(4);
    assert_eq!(read(&text).kernel, expected, "{text}");
}

/// Groups of eight lanes copy `a` to `b` in a loop, one way where the condition holds and another where it does not.
fn copies_where(condition: Expr) -> Checked {
    let buffer = |name: &str, access| {
        let dims = vec![Expr::int(8), Expr::int(64)];
        Param { name: name.into(), kind: ParamKind::Buffer { space: Space::Global, element: Scalar::F32, dims, access } }
    };
    let at = |offset: Expr| vec![Expr::var("g"), Expr::binary(BinaryOp::Add, Expr::var("l"), offset)];
    let copy = |offset: &Expr| Stmt::Store {
        target: "b".into(),
        index: at(Expr::int(0)),
        value: Expr::Load { source: "a".into(), index: at(offset.clone()), width: 1, guard: vec![] },
        guard: vec![],
        policy: StorePolicy::WriteBack,
    };
    let split = Stmt::If { condition, then: vec![copy(&Expr::var("k"))], otherwise: vec![copy(&Expr::int(16))] };
    let program = Program {
        name: "where".into(),
        sizes: vec![],
        params: vec![buffer("a", Access::Read), buffer("b", Access::Write)],
        arrays: vec![],
        launch: Launch {
            groups: vec![GroupAxis { name: "g".into(), extent: Expr::int(8) }],
            lanes: vec![LaneAxis { name: "l".into(), extent: 8 }],
            subgroup: None,
        },
        body: vec![Stmt::For { var: "k".into(), from: Expr::int(0), to: Expr::int(5), step: 1, unroll: Unroll::Auto, body: vec![split] }],
    };
    Checked::new(program).expect("valid")
}

/// A condition between two variables has no extent: what it compares is on one side, beside one that is never reached.
#[test]
fn conditions_between_variables_read_back() {
    let var = Expr::var;
    let scaled = |by: i64, name: &str| Expr::binary(BinaryOp::Mul, Expr::int(by), Expr::var(name));
    const NEVER: i64 = AffineBound::UNBOUNDED;
    let cases = [
        (BinaryOp::Lt, var("l"), var("g"), NEVER),
        (BinaryOp::Lt, var("l"), var("k"), NEVER),
        (BinaryOp::Le, scaled(3, "g"), Expr::binary(BinaryOp::Sub, scaled(2, "l"), var("k")), NEVER),
        // Where it does not hold, there is a constant on the right.
        (BinaryOp::Lt, Expr::int(3), Expr::binary(BinaryOp::Add, var("g"), var("k")), 4),
    ];
    for (op, a, b, extent) in cases {
        let kernel = Kernel::of(&copies_where(Expr::binary(op, a, b))).expect("affine");
        let text = write(&kernel).unwrap_or_else(|error| panic!("{error:?}: {kernel:?}"));
        let again = read(&text).kernel;
        assert_eq!(again, named(kernel, &["bx", "lx", "k"]), "{text}");
        assert_eq!(write(&again), Ok(text));
        let Nest::Loop { body, .. } = &again.accesses.nest[0] else { panic!("the loop") };
        let sides: Vec<&AccessRef> =
            body.iter().filter_map(|node| if let Nest::Access(access) = node { Some(access) } else { None }).collect();
        let [then, _, otherwise, _] = sides[..] else { panic!("two loads and two stores: {body:?}") };
        let ([holds], [fails]) = (&then.guard[..], &otherwise.guard[..]) else { panic!("{then:?} {otherwise:?}") };
        assert_eq!([holds.extent, fails.extent], [NEVER, extent]);
        // Whatever values variables have, one of the two sides runs.
        let sum = if extent == NEVER { holds.value.plus(&fails.value, 1) } else { holds.value.plus(&fails.value, -1) };
        assert_eq!(sum, Some(if extent == NEVER { Affine::constant(-1) } else { Affine::constant(-extent) }));
    }
}

#[test]
fn what_cannot_be_said_is_an_error() {
    let no = |change: &dyn Fn(&mut Kernel)| {
        let mut kernel = small();
        change(&mut kernel);
        write(&kernel).expect_err("no text form")
    };
    fn first(kernel: &mut Kernel) -> &mut AccessRef {
        let Nest::Loop { body, .. } = &mut kernel.accesses.nest[1] else { panic!("a loop") };
        let Nest::Access(access) = &mut body[0] else { panic!("an access") };
        access
    }
    assert_eq!(no(&|k| k.ops.add(OpClass::Int, Scalar::F32, 1, 1)), Unwritable::NoWord("operations of (Int, F32, 1)".to_owned()));
    let mut atomic = small();
    first(&mut atomic).kind = AccessKind::Atomic;
    assert!(write(&atomic).is_ok_and(|text| text.contains("atomic = [")), "atomics have a list of their own");
    let private = |k: &mut Kernel| {
        if let TensorPlace::Buffer { space, .. } = &mut k.accesses.tensors[1].place {
            *space = Space::Private;
        }
    };
    assert_eq!(no(&private), Unwritable::NoWord("the memory of `é`".to_owned()));
    assert_eq!(no(&|k| k.accesses.vars[2].trips = None), Unwritable::Variables, "trips that depend on data");
    assert_eq!(no(&|k| k.launch.groups = vec![3]), Unwritable::Variables);
    assert_eq!(no(&|k| k.accesses.vars.swap(0, 1)), Unwritable::Variables);
    assert_eq!(no(&|k| k.accesses.nest[1] = Nest::Loop { var: VarId(9), body: vec![Nest::Barrier] }), Unwritable::Variables);
    let moved = |k: &mut Kernel| {
        let own = k.accesses.nest.pop().expect("a loop");
        k.accesses.nest.push(Nest::Loop { var: VarId(4), body: vec![own] });
    };
    assert_eq!(no(&moved), Unwritable::Variables, "a loop in two places");
    assert_eq!(no(&|k| first(k).tensor = 7), Unwritable::Differs);
    assert!(matches!(no(&|k| k.accesses.tensors[0].name = "é".into()), Unwritable::Refused(_)), "two tensors of one name");
    assert_eq!(no(&|k| k.accesses.nest.push(Nest::Loop { var: VarId(2), body: vec![] })), Unwritable::Differs, "a loop that holds nothing");
    assert!(matches!(no(&|k| first(k).width = 3), Unwritable::Refused(_)));
    assert!(matches!(no(&|k| k.local = Bytes(0.5)), Unwritable::Refused(_)));
    let refused = no(&|k| k.registers = 0).to_string();
    assert_eq!(refused, "the text form does not hold it: registers of a thread lie between 1 and 65536");
}
