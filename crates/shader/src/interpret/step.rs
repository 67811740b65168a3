//! What a shader becomes before it is executed: steps on numbered cells.
//!
//! A cell holds one word for each of a quad's four lanes. A component of 64 bits has two cells, the low word first. Vectors, matrices
//! (by columns), arrays and structs are the cells of their parts in order. Because functions cannot call themselves, every value and
//! every variable of the module has cells of its own, and an address is a cell's number.

/// One word in each of the four lanes of a quad: left top, right top, left bottom, right bottom.
pub(crate) type Lanes = [u32; 4];

/// A set of lanes, one bit each.
pub(crate) type Mask = u8;

/// All four lanes.
pub(crate) const ALL: Mask = 0xf;

/// What an instruction does to one component of 32 bits in all lanes.
#[derive(Clone, Copy)]
pub(crate) enum Fun {
    One(fn(Lanes) -> Lanes),
    Two(fn(Lanes, Lanes) -> Lanes),
    Three(fn(Lanes, Lanes, Lanes) -> Lanes),
}

/// The same where an operand or the result has 64 bits, in one lane. Unused operands are 0.
pub(crate) type WideFun = fn(u64, u64, u64) -> u64;

/// A function of whole vectors in one lane: the operands' words one after the other, and the result's.
pub(crate) type LaneFun = fn(&[u32], &mut [u32]);

/// Where a value lies: in a cell known now, or in the cell whose number a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Fixed(u32),
    At(u32),
}

/// An index of an address: the cell that holds it, and what it is multiplied with. Indices beyond `len` are taken to be the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub index: u32,
    pub stride: u32,
    pub len: u32,
}

/// An operand of a wide step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideArg {
    pub at: u32,
    pub wide: bool,
    /// Components to go on by: 0 for a scalar used for every component.
    pub step: u32,
}

/// How an atomic step changes memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    Sub,
    Min { signed: bool },
    Max { signed: bool },
    And,
    Or,
    Xor,
    Exchange,
    Load,
    Store,
}

/// Which neighbours are subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slope {
    X,
    Y,
    /// |x| + |y|.
    Width,
}

/// Where the level of detail comes from. Cells of it, or of the gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lod {
    Implicit { bias: Option<u32> },
    Explicit(u32),
    Gradient(u32, u32),
}

/// What is asked of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Sample,
    Fetch,
    /// The cell of the component, or none for depth.
    Gather(Option<u32>),
    Size,
    Lod,
    Levels,
    Samples,
}

/// An image instruction. Fields are first cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextureStep {
    pub ask: Ask,
    pub dst: u32,
    pub n: u32,
    pub image: u32,
    pub coordinate: u32,
    /// Coordinates within a layer.
    pub axes: u32,
    pub arrayed: bool,
    /// The cell by which coordinates are divided.
    pub projector: Option<u32>,
    pub reference: Option<u32>,
    pub lod: Lod,
    pub offset: Option<u32>,
    pub integer: bool,
}

/// One step. `dst`, `a`, `b`, `c` are first cells, `n` counts components (or cells where none is wide). `rough` says that the
/// result is of implementation-defined precision.
pub(crate) enum Step {
    Map1 {
        f: fn(Lanes) -> Lanes,
        dst: u32,
        a: u32,
        n: u32,
        rough: bool,
    },
    /// `step` is 0 where `b` is a scalar for every component.
    Map2 {
        f: fn(Lanes, Lanes) -> Lanes,
        dst: u32,
        a: u32,
        b: u32,
        step: u32,
        n: u32,
        rough: bool,
    },
    Map3 {
        f: fn(Lanes, Lanes, Lanes) -> Lanes,
        dst: u32,
        a: u32,
        b: u32,
        c: u32,
        n: u32,
        rough: bool,
    },
    Wide {
        f: WideFun,
        dst: u32,
        wide: bool,
        args: [Option<WideArg>; 3],
        n: u32,
        rough: bool,
    },
    Lane {
        f: LaneFun,
        dst: u32,
        n: u32,
        args: Box<[(u32, u32)]>,
        rough: bool,
    },
    Copy {
        dst: u32,
        src: u32,
        n: u32,
    },
    Gather {
        dst: u32,
        from: Box<[u32]>,
    },
    /// `cells` is how many cells each condition decides on.
    Select {
        dst: u32,
        condition: u32,
        cells: u32,
        a: u32,
        b: u32,
        n: u32,
    },
    /// `rows × inner` times `inner × columns`, all by columns.
    Product {
        dst: u32,
        a: u32,
        b: u32,
        rows: u32,
        inner: u32,
        columns: u32,
        wide: bool,
        rough: bool,
    },
    Fold {
        all: bool,
        dst: u32,
        a: u32,
        n: u32,
    },
    /// Component `index` of `n`, each of `cells`.
    Pick {
        dst: u32,
        a: u32,
        n: u32,
        cells: u32,
        index: u32,
    },
    Put {
        dst: u32,
        object: u32,
        n: u32,
        cells: u32,
        index: u32,
    },
    Address {
        dst: u32,
        base: Place,
        terms: Box<[Term]>,
    },
    Load {
        dst: u32,
        at: u32,
        n: u32,
    },
    Store {
        at: u32,
        src: u32,
        n: u32,
    },
    /// Words of a storage buffer from `offset` words after the address on.
    LoadShared {
        dst: u32,
        at: u32,
        offset: u32,
        n: u32,
    },
    StoreShared {
        at: u32,
        offset: u32,
        src: u32,
        n: u32,
    },
    AtomicShared {
        how: Atomic,
        wide: bool,
        dst: Option<u32>,
        at: u32,
        value: Option<u32>,
    },
    /// Words of the buffer from the address on, over `stride`.
    LengthShared {
        dst: u32,
        buffer: u32,
        offset: u32,
        stride: u32,
    },
    Slope {
        slope: Slope,
        dst: u32,
        a: u32,
        n: u32,
        rough: bool,
    },
    Texture(Box<TextureStep>),
    Undefine {
        dst: u32,
        n: u32,
    },
    Call {
        function: u32,
    },
    Demote,
    IsHelper {
        dst: u32,
    },
}

impl Step {
    /// What a step on many cells counts against the budget beyond its instruction: arrays can be long.
    pub(super) fn bulk(&self) -> u64 {
        let n = match self {
            Self::Copy { n, .. } | Self::Select { n, .. } | Self::Undefine { n, .. } | Self::Load { n, .. } | Self::Store { n, .. } => {
                *n as usize
            }
            Self::Gather { from, .. } => from.len(),
            Self::Address { terms, .. } => terms.len(),
            _ => 0,
        };
        n as u64 / 64
    }
}

/// How a block ends.
pub(crate) enum End {
    Jump(u32),
    Branch { condition: u32, yes: u32, no: u32 },
    Switch { selector: u32, wide: bool, cases: Box<[(u64, u32)]>, other: u32 },
    Return,
    Kill,
}

/// A value that depends on where its block was entered from; `from` goes along [`Code::preds`].
pub(crate) struct Phi {
    pub dst: u32,
    pub n: u32,
    pub from: Box<[u32]>,
}

/// A basic block.
pub(crate) struct Code {
    pub preds: Box<[u32]>,
    pub phis: Box<[Phi]>,
    pub steps: Box<[Step]>,
    /// For each step the instruction that it is of, as an index into [`Module::insts`](crate::module::Module::insts).
    pub origins: Box<[u32]>,
    pub end: End,
    /// Instructions, as the budget counts them.
    pub weight: u64,
    /// The line of its first instruction that has one.
    pub line: u32,
}
