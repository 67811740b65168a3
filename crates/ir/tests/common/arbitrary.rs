//! Random Programs over the whole grammar, mostly invalid: types, ranks and uses are arbitrary, names are unique identifiers.
//!
//! Every list of variants below comes from [`every!`], whose match stops compiling when a variant is added.

use fastrand::Rng;
use warpsight_ir::*;

/// A constant array of all variants of a field-less enum.
macro_rules! every {
    ($list:ident: $type:ident = $($variant:ident),* $(,)?) => {
        pub const $list: &[$type] = {
            const fn _listed(v: $type) { match v { $($type::$variant => ()),* } }
            &[$($type::$variant),*]
        };
    };
}

every!(SCALARS: Scalar = Bool, I32, U32, I64, U64, F16, Bf16, Half, F32, F64);
every!(SPACES: Space = Global, Constant, Local, Tile, Private);
every!(ACCESSES: Access = Read, Write, ReadWrite);
every!(DIRECTIONS: Direction = Send, Receive);
every!(FORMATS: ImageFormat = Rgba32F, Rgba16F, Rgba16H, Rgba32I, Rgba32U, Rgba8Unorm);
every!(IMAGE_KINDS: ImageKind = Image1d, Image1dBuffer, Image2d, Image2dFromBuffer);
every!(BORDERS: Border = Zero, ClampToEdge, None);
every!(POLICIES: StorePolicy = WriteBack, WriteThrough, NonTemporal);
every!(CLASSES: StageClass = Tensor, Simt);
every!(ATOMIC_OPS: AtomicOp = Add, Sub, Min, Max, And, Or, Xor, Exchange, CompareExchange);
every!(ORDERS: Order = Relaxed, Acquire, Release, AcquireRelease);
every!(SCOPES: Scope = Subgroup, Group, Device);
every!(UNARY_OPS: UnaryOp = Neg, Not, Abs, Floor, Ceil, Exp, Log, Sqrt, Rsqrt, Tanh, Sin, Cos, Erf);
every!(BINARY_OPS: BinaryOp = Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, Lt, Le, Eq, Ne);

/// Names that are words of the text form somewhere, and some that are not.
const NAMES: &[&str] = &[
    "x",
    "y0",
    "acc",
    "Z_9",
    "_u",
    "let",
    "var",
    "in",
    "step",
    "unroll",
    "none",
    "full",
    "tile",
    "load",
    "store",
    "fill",
    "mma",
    "send",
    "from",
    "receive",
    "into",
    "barrier",
    "atomic",
    "with",
    "was",
    "relaxed",
    "group",
    "per",
    "lane",
    "concat",
    "splat4",
    "f32",
    "f32x4",
    "min",
    "erf",
    "read",
    "write",
    "buffer",
    "image",
    "image1d",
    "image2d_from_buffer",
    "channel",
    "depth",
    "size",
    "program",
    "write_through",
    "non_temporal",
    "local",
    "global",
    "x4",
    "e5",
];

/// Makes Programs.
pub struct Arbitrary {
    pub rng: Rng,
}

impl Arbitrary {
    pub fn seeded(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed) }
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(..from.len())]
    }

    fn many<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.rng.usize(..=most)).map(|_| make(self)).collect()
    }

    /// Any name but a size's.
    fn name(&mut self) -> Name {
        self.pick(NAMES).into()
    }

    fn size(&mut self) -> Name {
        self.pick(&["n", "m_1", "K"]).into()
    }

    pub fn program(&mut self) -> Program {
        let sizes = ["n", "m_1", "K"].map(|name| SizeParam { name: name.into(), lo: self.rng.i64(..), hi: self.rng.i64(..) });
        let params = self.many(4, |a| Param { name: a.name(), kind: a.param() });
        let arrays = self.many(3, |a| Array { name: a.name(), space: a.pick(SPACES), element: a.pick(SCALARS), dims: a.dims() });
        let launch = Launch {
            groups: self.many(2, |a| GroupAxis { name: a.name(), extent: a.expr(2) }),
            lanes: self.many(3, |a| LaneAxis { name: a.name(), extent: a.rng.u32(..) }),
            subgroup: self.rng.bool().then(|| self.rng.u32(..)),
        };
        Program { name: self.name(), sizes: sizes.into(), params, arrays, launch, body: self.block(3) }
    }

    pub fn pipeline(&mut self) -> Pipeline {
        let names = |a: &mut Self| a.many(3, Self::name);
        Pipeline {
            name: self.name(),
            stages: self.many(3, |a| PipelineStage { name: a.name(), class: a.pick(CLASSES), ctas: a.rng.u32(..), body: a.body() }),
            channels: self.many(3, |a| Channel {
                name: a.name(),
                element: a.pick(SCALARS),
                dims: a.dims(),
                depth: a.rng.u32(..),
                producers: names(a),
                consumers: names(a),
            }),
            side_outputs: self.many(3, |a| SideOutput { stage: a.name(), param: a.name() }),
            certificate: self.rng.bool().then(|| Certificate {
                order: names(self),
                tokens: self.many(3, |a| (a.name(), a.rng.u64(..))),
                resident: (self.rng.u32(..), self.rng.u32(..)),
            }),
        }
    }

    fn body(&mut self) -> StageBody {
        if self.rng.bool() {
            return StageBody::Program(self.program());
        }
        let steps = self.many(4, |a| match a.rng.u8(..3) {
            0 => Step::Take { channel: a.name(), count: a.rng.u64(..) },
            1 => Step::Work { flops: a.rng.u64(..), read: a.rng.u64(..), written: a.rng.u64(..) },
            _ => Step::Put { channel: a.name(), count: a.rng.u64(..) },
        });
        let (count, lanes, registers, local) = (self.rng.u64(..), self.rng.u32(..), self.rng.u32(..), self.rng.u64(..));
        StageBody::Firings(Firings { count, dealt: self.rng.bool(), lanes, registers, local, steps })
    }

    fn dims(&mut self) -> Vec<u32> {
        self.many(4, |a| a.rng.u32(..100))
    }

    fn param(&mut self) -> ParamKind {
        match self.rng.u8(..3) {
            0 => ParamKind::Buffer {
                space: self.pick(SPACES),
                element: self.pick(SCALARS),
                dims: self.many(3, |a| a.expr(2)),
                access: self.pick(ACCESSES),
            },
            1 => ParamKind::Image {
                kind: self.pick(IMAGE_KINDS),
                format: self.pick(FORMATS),
                width: self.expr(2),
                height: if self.rng.bool() { self.expr(2) } else { Expr::int(1) },
                access: self.pick(ACCESSES),
                border: self.pick(BORDERS),
            },
            _ => ParamKind::Channel {
                element: self.pick(SCALARS),
                dims: self.dims(),
                depth: self.rng.u32(..9),
                direction: self.pick(DIRECTIONS),
            },
        }
    }

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        self.many(6, |a| a.stmt(depth))
    }

    pub fn stmt(&mut self, depth: u32) -> Stmt {
        let leaf = depth == 0;
        match self.rng.u8(..17) {
            0 => Stmt::Let { name: self.name(), value: self.expr(4) },
            1 => Stmt::Var { name: self.name(), ty: Type::vector(self.pick(SCALARS), self.rng.u8(..)), init: self.expr(3) },
            2 => Stmt::Assign { name: self.name(), value: self.expr(5) },
            3 if !leaf => Stmt::For {
                var: self.name(),
                from: self.expr(2),
                to: self.expr(2),
                step: self.rng.u32(..4),
                unroll: match self.rng.u8(..4) {
                    0 => Unroll::Auto,
                    1 => Unroll::None,
                    2 => Unroll::Full,
                    _ => Unroll::By(self.rng.u32(..)),
                },
                body: self.block(depth - 1),
            },
            4 if !leaf => Stmt::If { condition: self.expr(3), then: self.block(depth - 1), otherwise: self.block(depth - 1) },
            5 if !leaf => Stmt::Scope(self.block(depth - 1)),
            6 => Stmt::Store {
                target: self.name(),
                index: self.index(),
                value: self.expr(3),
                guard: self.guard(2),
                policy: self.pick(POLICIES),
            },
            7 => Stmt::StoreTexel { image: self.name(), x: self.expr(2), y: self.expr(2), value: self.expr(3), guard: self.guard(2) },
            8 => Stmt::Atomic {
                op: self.pick(ATOMIC_OPS),
                target: self.name(),
                index: self.index(),
                value: self.expr(2),
                compare: self.rng.bool().then(|| self.expr(2)),
                order: self.pick(ORDERS),
                scope: self.pick(SCOPES),
                old: self.rng.bool().then(|| self.name()),
            },
            9 => Stmt::Barrier { scope: self.pick(SCOPES), local: self.rng.bool(), global: self.rng.bool() },
            10 => Stmt::TileLoad { tile: self.name(), source: self.name(), index: self.index() },
            11 => Stmt::TileStore { target: self.name(), index: self.index(), tile: self.name() },
            12 => Stmt::TileFill { tile: self.name(), value: self.expr(2) },
            13 => Stmt::Mma { d: self.name(), a: self.name(), b: self.name() },
            14 => Stmt::Send { channel: self.name(), from: self.name() },
            15 => Stmt::Receive { channel: self.name(), into: self.name() },
            _ => Stmt::Let { name: self.name(), value: self.expr(1) },
        }
    }

    fn index(&mut self) -> Vec<Expr> {
        self.many(4, |a| a.expr(2))
    }

    fn guard(&mut self, depth: u32) -> Vec<Bound> {
        if self.rng.bool() {
            return vec![];
        }
        self.many(3, |a| Bound { value: a.expr(depth), extent: a.expr(depth), per_lane: a.rng.bool() })
    }

    fn boxed(&mut self, depth: u32) -> Box<Expr> {
        Box::new(self.expr(depth))
    }

    /// An expression of at most that many levels of operators.
    pub fn expr(&mut self, depth: u32) -> Expr {
        let Some(below) = depth.checked_sub(1) else {
            return match self.rng.u8(..4) {
                0 => Expr::Size(self.size()),
                1 | 2 => Expr::Var(self.name()),
                _ => Expr::Const(self.literal()),
            };
        };
        match self.rng.u8(..20) {
            0 => Expr::Load { source: self.name(), index: self.index(), width: self.width(), guard: self.guard(below) },
            1 => Expr::Texel { image: self.name(), x: self.boxed(below), y: self.boxed(below), guard: self.guard(below) },
            2..5 => Expr::Unary(self.pick(UNARY_OPS), self.boxed(below)),
            5..12 => Expr::Binary(self.pick(BINARY_OPS), self.boxed(below), self.boxed(below)),
            12 => Expr::Fma(self.boxed(below), self.boxed(below), self.boxed(below)),
            13 => Expr::Select(self.boxed(below), self.boxed(below), self.boxed(below)),
            14 => Expr::Cast(self.pick(SCALARS), self.boxed(below)),
            15 => Expr::Splat(self.boxed(below), self.rng.u8(..)),
            16 => Expr::Concat(self.many(3, |a| a.expr(below))),
            17 => Expr::Slice { vector: self.boxed(below), start: self.rng.u8(..), width: self.rng.u8(..) },
            18 => Expr::Lane(self.boxed(below), self.boxed(below)),
            _ => self.expr(0),
        }
    }

    fn width(&mut self) -> u8 {
        if self.rng.bool() { 1 } else { self.rng.u8(..) }
    }

    /// Any literal but a NaN, which would not equal itself.
    pub fn literal(&mut self) -> Const {
        let small = self.rng.bool();
        match self.rng.u8(..8) {
            0 => Const::Bool(self.rng.bool()),
            1 if small => Const::I32(self.rng.i32(-3..20)),
            1 => Const::I32(self.pick(&[0, 1, -1, i32::MIN, i32::MAX])),
            2 => Const::U32(if small { self.rng.u32(..9) } else { u32::MAX }),
            3 => Const::I64(if small { self.rng.i64(..) } else { self.pick(&[i64::MIN, i64::MAX, -1]) }),
            4 => Const::U64(if small { self.rng.u64(..9) } else { u64::MAX }),
            5 => {
                let any = f32::from_bits(self.rng.u32(..));
                let known = self.pick(&[0.0, -0.0, 0.1, 1.5, 1e10, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, f32::MAX, 1e-45]);
                Const::F32(if small || any.is_nan() { known } else { any })
            }
            6 => {
                let any = half::f16::from_bits(self.rng.u16(..));
                Const::Half(if any.is_nan() { half::f16::EPSILON } else { any })
            }
            _ => {
                let any = f64::from_bits(self.rng.u64(..));
                let known = self.pick(&[0.0, -0.0, 0.1, 1.5, 1e100, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324]);
                Const::F64(if small || any.is_nan() { known } else { any })
            }
        }
    }
}
