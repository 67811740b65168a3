//! What a Program becomes: instructions of one lane each, executed for a whole wave at once.
//!
//! A *row* holds 32 bits for every lane of a wave. A vector is so many rows, a 64-bit value two (low, high): on scalar ALUs a
//! vector operation is so many instructions, and taking vectors apart costs nothing.

use warpsight_ir::{AtomicOp, BinaryOp, Const, ImageFormat, Name, Scalar, UnaryOp};

/// 32 bits of every lane. A wave of fewer lanes than the row has leaves the last of them inactive.
pub type Row<const W: usize> = [u32; W];
/// Lanes of a wave: bit i is lane i.
pub type Mask = u128;
/// A row of a wave, or with [`SHARED`] set a row that holds the same for all waves.
pub type Reg = u16;
/// Marks a row of constants.
pub const SHARED: Reg = 0x8000;

/// What an instruction computes. Types are those of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOp {
    /// The operand.
    Mov,
    /// The operand in active lanes.
    Merge,
    /// One operand, 32 bits.
    Unary(UnaryOp, Scalar),
    /// Two operands, 32 bits.
    Binary(BinaryOp, Scalar),
    /// In half precision; registers hold the numbers as `f32`.
    Half {
        /// What.
        op: HalfOp,
        /// Whether it is one of two neighbouring lanes of a vector.
        paired: bool,
    },
    /// a·b + c
    Fma,
    /// c ≠ 0 ? a : b
    Select,
    /// Between 32-bit types.
    Cast(Scalar, Scalar),
    /// To the nearest value of a storage type.
    Round(Scalar),
    /// Something with 64-bit operands or results: a position in [`Code::wide`].
    Wide(u32),
}

/// What an [`AluOp::Half`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HalfOp {
    /// One operand.
    Unary(UnaryOp),
    /// Two operands.
    Binary(BinaryOp),
    /// a·b + c
    Fma,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alu<R = Reg> {
    /// What.
    pub op: AluOp,
    /// Where to.
    pub dst: R,
    /// First operand.
    pub a: R,
    /// Second operand, where there is one.
    pub b: R,
    /// Third operand, where there is one.
    pub c: R,
}

/// An operation with 64-bit values; `(low, high)`, `high` unused by 32-bit ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Wide<R = Reg> {
    /// What.
    pub op: WideOp,
    /// Where to.
    pub dst: [R; 2],
    /// Operands.
    pub args: [[R; 2]; 3],
}

/// What a [`Wide`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WideOp {
    /// One operand.
    Unary(UnaryOp, Scalar),
    /// Two operands.
    Binary(BinaryOp, Scalar),
    /// a·b + c in `f64`.
    Fma,
    /// Conversion.
    Cast(Scalar, Scalar),
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A buffer: position among the parameters.
    Buffer(usize),
    /// Local memory, from this byte on.
    Local(usize),
    /// A private array, from this row on.
    Private(usize),
    /// An image: position among the parameters.
    Image(usize),
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Memory to rows.
    Load,
    /// Rows to memory.
    Store,
    /// Memory to rows and back.
    Atomic(AtomicOp),
}

/// One memory instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Access<R = Reg> {
    /// What it does.
    pub action: Action,
    /// Where.
    pub target: Target,
    /// The tensor's name, for messages.
    pub name: Name,
    /// How an element (of an image: a component) is stored.
    pub element: Scalar,
    /// Of an image.
    pub format: Option<ImageFormat>,
    /// Position of the first element, counted in elements; unused by images.
    pub offset: R,
    /// Coordinates, slowest first, each with its extent. An image has (y, x).
    pub coords: Vec<(R, u32)>,
    /// Rows read or written: per element one, of 64-bit types two.
    pub values: Vec<R>,
    /// The operand (and comparand) of an atomic, like `values`.
    pub operands: Vec<R>,
    /// Elements (of an image: 1).
    pub width: u8,
    /// Rows that must hold true: none, one, or one per element.
    pub guard: Vec<R>,
    /// Whether a texel outside takes the nearest inside.
    pub clamp: bool,
}

/// A step of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Arithmetic: so many of [`Code::alu`].
    Run {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
        /// How many the hardware executes; the same where results are wanted.
        charged: u32,
        /// Ticks of the port.
        issue: u32,
        /// Ticks of the wave.
        span: u32,
        /// Ticks of `issue` spent on floats.
        float: u32,
    },
    /// Copies a row that may still be loading: the copy is there when the row is.
    Copy {
        /// Where to.
        dst: Reg,
        /// Where from.
        src: Reg,
        /// Whether only in active lanes.
        merge: bool,
    },
    /// A position in [`Code::accesses`].
    Access(u32),
    /// One lane of a vector chosen at run time: a position in [`Code::lanes`].
    Lane(u32),
    /// Sets the variable and enters the body or jumps behind the loop.
    LoopStart {
        /// The variable.
        var: Reg,
        /// Its first value.
        from: Reg,
        /// Its end.
        to: Reg,
        /// Behind the loop.
        exit: u32,
    },
    /// Steps the variable and repeats or leaves.
    LoopNext {
        /// The variable.
        var: Reg,
        /// Its end.
        to: Reg,
        /// The distance.
        step: u32,
        /// The body's first step.
        body: u32,
        /// Whether the hardware executes it, or an unrolled copy has no such thing.
        charged: bool,
    },
    /// Runs the first side where the condition holds.
    If {
        /// The condition.
        condition: Reg,
        /// The other side, or the end.
        otherwise: u32,
    },
    /// Between the sides.
    Else {
        /// The end.
        end: u32,
    },
    /// Behind the sides.
    EndIf,
    /// Waits for the group.
    Barrier,
    /// A fault known before execution: a position in [`Code::faults`].
    Fault(u32),
    /// The work-item is done.
    End,
}

/// One lane of a vector chosen at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePick<R = Reg> {
    /// Where to: one row, or two.
    pub dst: Vec<R>,
    /// Which lane.
    pub lane: R,
    /// The vector's rows.
    pub from: Vec<R>,
    /// Whether anything needs the result.
    pub executed: bool,
}

/// A compiled Program with its sizes known.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Steps; the last is [`Op::End`].
    pub ops: Vec<Op>,
    /// For each step the loaded rows it reads, as a range of `waits`.
    pub needs: Vec<(u32, u32)>,
    /// Rows to wait for.
    pub waits: Vec<Reg>,
    /// Instructions of all runs.
    pub alu: Vec<Alu>,
    /// Instructions with 64-bit values.
    pub wide: Vec<Wide>,
    /// Memory instructions.
    pub accesses: Vec<Access>,
    /// Run-time lane choices.
    pub lanes: Vec<LanePick>,
    /// Messages of steps that can only fail.
    pub faults: Vec<FaultKind>,
    /// Rows of a wave.
    pub rows: usize,
    /// 32-bit registers of a work-item: values alive at once, those left out that a compiler makes again or shares among lanes.
    pub registers: u32,
    /// Rows that hold the same in every lane of all waves.
    pub shared: Vec<u32>,
    /// Rows that hold the group axes, in order.
    pub group_axes: Vec<Reg>,
    /// Rows that hold the lane axes, in order.
    pub lane_axes: Vec<Reg>,
    /// Groups along each axis.
    pub groups: Vec<u32>,
    /// Extents of each parameter, slowest first; of an image (height, width).
    pub extents: Vec<Vec<u32>>,
    /// Bytes of local memory.
    pub local_bytes: usize,
    /// Whether values are moved and computed that only results need.
    pub results: bool,
    /// Whether there is a barrier.
    pub barriers: bool,
}

/// What a work-item may do wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// A coordinate outside its tensor.
    #[error("{action} of `{tensor}` at {coordinates:?} is outside its extents {extents:?}")]
    OutOfBounds {
        /// `load`, `store`, `atomic`.
        action: &'static str,
        /// The tensor.
        tensor: Name,
        /// Coordinates, slowest first; of an image (y, x).
        coordinates: Vec<i64>,
        /// Extents.
        extents: Vec<u32>,
    },
    /// An integer divided by zero.
    #[error("an integer is divided by zero")]
    DivisionByZero,
    /// A lane number beyond the vector.
    #[error("lane {lane} of a vector of {width}")]
    Lane {
        /// What was asked for.
        lane: i32,
        /// Lanes there are.
        width: usize,
    },
    /// Nothing that a work-item did: the simulator broke a rule of its own.
    #[error("the simulator contradicts itself: {0}")]
    Contradiction(&'static str),
}

/// The bits of a literal: low, high.
pub fn bits(value: Const) -> [u32; 2] {
    let wide = match value {
        Const::Bool(v) => u64::from(v),
        Const::I32(v) => u64::from(v as u32),
        Const::U32(v) => u64::from(v),
        Const::Half(v) => u64::from(v.to_f32().to_bits()),
        Const::F32(v) => u64::from(v.to_bits()),
        Const::I64(v) => v as u64,
        Const::U64(v) => v,
        Const::F64(v) => v.to_bits(),
    };
    [wide as u32, (wide >> 32) as u32]
}
