//! What blocks consist of: operations by class, counted for each scalar that they work on.
//!
//! A feature is a name and a number for each block; over a trace it is the sum of numbers times counts. Names are stable: a model
//! keeps the ones that it was fitted on, and new ones come at the end. He et al.'s instruction counts, per-opcode columns
//! (paper 004, section 7.1) and scalarised operations are all sums of these.

use super::cfg::{Block, Cfg};
use super::module::spirv::{GlslStd450Op, StorageClass};
use super::module::{ComponentType, Id, Image, Inst, Module, ModuleError, Op, Type};
use std::sync::LazyLock;

/// Classes of operations; their names are [`names`]'s first ones.
macro_rules! classes {
    ($($class:ident $name:literal,)*) => {
        #[derive(Clone, Copy)]
        enum Class { $($class,)* }
        const CLASSES: &[&str] = &[$($name,)*];
    };
}

classes! {
    Instructions "instructions",
    Blocks "blocks",
    Width1 "width.1",
    Width2 "width.2",
    Width3 "width.3",
    Width4 "width.4",
    WidthMore "width.more",
    F32Add "f32.add",
    F32Mul "f32.mul",
    F32Div "f32.div",
    F32Rem "f32.rem",
    F32Neg "f32.neg",
    F32Compare "f32.compare",
    F32MulAdd "f32.muladd",
    F64Add "f64.add",
    F64Mul "f64.mul",
    F64Div "f64.div",
    F64Other "f64.other",
    IntAdd "int.add",
    IntMul "int.mul",
    IntDiv "int.div",
    IntBit "int.bit",
    IntShift "int.shift",
    IntCompare "int.compare",
    Int64 "int64",
    Bool "bool",
    Select "select",
    Convert "convert",
    Bitcast "bitcast",
    Construct "construct",
    Extract "extract",
    Insert "insert",
    Shuffle "shuffle",
    Dynamic "dynamic",
    Copy "copy",
    LoadLocal "load.local",
    LoadPrivate "load.private",
    LoadUniform "load.uniform",
    LoadInput "load.input",
    LoadBuffer "load.buffer",
    LoadHandle "load.handle",
    StoreLocal "store.local",
    StorePrivate "store.private",
    StoreOutput "store.output",
    StoreBuffer "store.buffer",
    Atomic "atomic",
    ChainConstant "chain.constant",
    ChainDynamic "chain.dynamic",
    Derivative "derivative",
    Phi "phi",
    Jump "jump",
    Branch "branch",
    Loop "loop",
    Switch "switch",
    Call "call",
    Return "return",
    Kill "kill",
    Other "other",
}

const SETS: usize = 81;
const DIMS: [&str; 5] = ["1d", "2d", "3d", "cube", "array"];
const KINDS: [&str; 10] = ["sample", "bias", "lod", "grad", "compare", "project", "offset", "gather", "fetch", "query"];

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let classes = CLASSES.iter().map(|c| (*c).to_owned());
    let sets = (1..=SETS as u32).map(|op| match GlslStd450Op::from_u32(op) {
        Some(op) => format!("ext.{op:?}").to_lowercase(),
        None => format!("ext.{op}"),
    });
    let textures = DIMS.iter().flat_map(|dim| KINDS.iter().map(move |kind| format!("texture.{dim}.{kind}")));
    classes.chain(sets).chain(textures).collect()
});

/// The names of all features, in order.
#[must_use]
pub fn names() -> &'static [String] {
    &NAMES
}

/// The index of the feature that counts blocks.
pub const BLOCK: usize = Class::Blocks as usize;

/// Features of what has no instruction of its own.
pub(super) mod own {
    use super::Class;
    pub const INSTRUCTIONS: usize = Class::Instructions as usize;
    pub const SELECT: usize = Class::Select as usize;
    pub const UNIFORM: usize = Class::LoadUniform as usize;
    pub const INPUT: usize = Class::LoadInput as usize;
    pub const BRANCH: usize = Class::Branch as usize;
    pub const LOOP: usize = Class::Loop as usize;
    pub const KILL: usize = Class::Kill as usize;
    pub const MUL: usize = Class::F32Mul as usize;
    pub const INT_MUL: usize = Class::IntMul as usize;
    pub const INT_BIT: usize = Class::IntBit as usize;
    pub const COPY: usize = Class::Copy as usize;
}

/// The features of a shader.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// For each block of the control flow the features that it has: index of the name, and number.
    pub blocks: Vec<Vec<(usize, f64)>>,
}

impl Features {
    /// Counts the operations of every reachable block.
    ///
    /// # Errors
    /// [`ModuleError`] where a type or an id is missing.
    pub fn new(module: &Module, cfg: &Cfg) -> Result<Self, ModuleError> {
        Ok(Self { blocks: cfg.blocks.iter().map(|b| block(module, b)).collect::<Result<_, _>>()? })
    }

    /// All features as sums over blocks of numbers times weights, in the order of [`names`]. With counts of a trace as weights they
    /// are a frame's; with ones the text's.
    #[must_use]
    pub fn weighted(&self, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; NAMES.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            let weight = weight(index);
            block.iter().for_each(|(feature, number)| out[*feature] += number * weight);
        }
        out
    }
}

fn block(module: &Module, block: &Block) -> Result<Vec<(usize, f64)>, ModuleError> {
    let mut dense = vec![0.0; NAMES.len()];
    dense[Class::Blocks as usize] = 1.0;
    for inst in &module.insts()[block.insts.clone()] {
        instruction(module, inst)?.for_each(|(feature, number)| dense[feature] += number);
    }
    Ok(dense.into_iter().enumerate().filter(|(_, n)| *n > 0.0).collect())
}

/// What one instruction adds to its block's features. A block has one feature of its own beyond its instructions' sum: the one
/// that counts it ([`BLOCK`]).
///
/// # Errors
/// [`ModuleError`] where a type or an id is missing.
pub fn instruction(module: &Module, inst: &Inst) -> Result<impl Iterator<Item = (usize, f64)> + use<>, ModuleError> {
    let mut parts = [None; 3];
    if !matches!(inst.op, Op::Line | Op::NoLine | Op::Nop | Op::SelectionMerge | Op::Variable | Op::Undef) {
        parts[0] = Some(operation(module, inst)?);
        // The merge of a loop stands for its header, it is no instruction.
        if inst.op != Op::LoopMerge {
            parts[1] = Some((Class::Instructions as usize, 1.0));
            if inst.ty != 0 {
                let width = match module.ty(inst.ty)?.components() {
                    0 => None,
                    1 => Some(Class::Width1),
                    2 => Some(Class::Width2),
                    3 => Some(Class::Width3),
                    4 => Some(Class::Width4),
                    _ => Some(Class::WidthMore),
                };
                parts[2] = width.map(|w| (w as usize, 1.0));
            }
        }
    }
    Ok(parts.into_iter().flatten())
}

/// The feature of an instruction, and how many scalars it works on.
pub(super) fn operation(module: &Module, inst: &Inst) -> Result<(usize, f64), ModuleError> {
    let args = module.args(inst);
    if inst.op == Op::ExtInst {
        let known = module.is_glsl(args[0]) && (1..=SETS as u32).contains(&args[1]);
        let at = if known { CLASSES.len() + args[1] as usize - 1 } else { Class::Other as usize };
        // What is reduced (length, dot) works on its operand's components.
        let operand = args.get(2).and_then(|id| components(module, *id)).unwrap_or(0);
        return Ok((at, f64::from(module.ty(inst.ty)?.components().max(operand).max(1))));
    }
    if let Some((dim, kind)) = texture(module, inst)? {
        return Ok((CLASSES.len() + SETS + dim * KINDS.len() + kind, 1.0));
    }
    let class = class(module, inst)?;
    let own = if inst.ty == 0 { 1 } else { module.ty(inst.ty)?.components().max(1) };
    let number = match inst.op {
        Op::Dot => args.first().and_then(|id| components(module, *id)).unwrap_or(1),
        Op::MatrixTimesVector | Op::OuterProduct => args.first().and_then(|id| components(module, *id)).unwrap_or(1).max(own),
        Op::VectorTimesMatrix => args.get(1).and_then(|id| components(module, *id)).unwrap_or(1),
        // Each component is a sum over the left matrix's columns.
        Op::MatrixTimesMatrix => match module.ty(module.type_of(args[0])?)? {
            Type::Matrix { columns, .. } => own * columns,
            _ => own,
        },
        Op::Store => module.ty(module.type_of(*args.get(1).unwrap_or(&0))?)?.cells().max(1),
        Op::Load | Op::CopyObject | Op::CopyLogical | Op::CompositeInsert | Op::CompositeConstruct => module.ty(inst.ty)?.cells().max(1),
        Op::AccessChain | Op::InBoundsAccessChain | Op::LoopMerge => 1,
        _ => own,
    };
    Ok((class as usize, f64::from(number)))
}

fn components(module: &Module, id: Id) -> Option<u32> {
    module.type_of(id).and_then(|ty| module.ty(ty)).ok().map(Type::components)
}

/// What the components are that an instruction works on: of its result, of its first operand where the result is a condition.
fn scalar(module: &Module, inst: &Inst) -> Option<ComponentType> {
    let result = module.ty(inst.ty).ok().and_then(Type::scalar);
    let operand =
        module.args(inst).first().and_then(|id| module.type_of(*id).ok()).and_then(|ty| module.ty(ty).ok()).and_then(Type::scalar);
    if result == Some(ComponentType::Bool) { operand } else { result }
}

fn class(module: &Module, inst: &Inst) -> Result<Class, ModuleError> {
    use Op as O;
    let of = scalar(module, inst);
    let double = of == Some(ComponentType::Float { bits: 64 });
    let long = matches!(of, Some(ComponentType::Int { bits: 64, .. }));
    let float = |single: Class, wide: Class| if double { wide } else { single };
    let int = |class: Class| if long { Class::Int64 } else { class };
    Ok(match inst.op {
        O::FAdd | O::FSub => float(Class::F32Add, Class::F64Add),
        O::FMul | O::VectorTimesScalar | O::MatrixTimesScalar => float(Class::F32Mul, Class::F64Mul),
        O::FDiv => float(Class::F32Div, Class::F64Div),
        O::FRem | O::FMod => float(Class::F32Rem, Class::F64Other),
        O::FNegate => float(Class::F32Neg, Class::F64Other),
        O::Dot | O::MatrixTimesVector | O::VectorTimesMatrix | O::MatrixTimesMatrix | O::OuterProduct => {
            float(Class::F32MulAdd, Class::F64Mul)
        }
        O::FOrdEqual | O::FOrdNotEqual | O::FOrdLessThan | O::FOrdLessThanEqual | O::FOrdGreaterThan | O::FOrdGreaterThanEqual => {
            float(Class::F32Compare, Class::F64Other)
        }
        O::FUnordEqual
        | O::FUnordNotEqual
        | O::FUnordLessThan
        | O::FUnordLessThanEqual
        | O::FUnordGreaterThan
        | O::FUnordGreaterThanEqual => float(Class::F32Compare, Class::F64Other),
        O::IsNan | O::IsInf | O::Ordered | O::Unordered => float(Class::F32Compare, Class::F64Other),
        O::IAdd | O::ISub | O::SNegate | O::IAddCarry | O::ISubBorrow => int(Class::IntAdd),
        O::IMul | O::UMulExtended | O::SMulExtended => int(Class::IntMul),
        O::UDiv | O::SDiv | O::UMod | O::SRem | O::SMod => int(Class::IntDiv),
        O::BitwiseOr | O::BitwiseXor | O::BitwiseAnd | O::Not | O::BitFieldInsert | O::BitFieldSExtract | O::BitFieldUExtract => {
            int(Class::IntBit)
        }
        O::BitReverse | O::BitCount => int(Class::IntBit),
        O::ShiftRightLogical | O::ShiftRightArithmetic | O::ShiftLeftLogical => int(Class::IntShift),
        O::IEqual | O::INotEqual | O::ULessThan | O::ULessThanEqual | O::UGreaterThan | O::UGreaterThanEqual => int(Class::IntCompare),
        O::SLessThan | O::SLessThanEqual | O::SGreaterThan | O::SGreaterThanEqual => int(Class::IntCompare),
        O::LogicalEqual | O::LogicalNotEqual | O::LogicalOr | O::LogicalAnd | O::LogicalNot | O::All | O::Any => Class::Bool,
        O::Select => Class::Select,
        O::ConvertFToU | O::ConvertFToS | O::ConvertSToF | O::ConvertUToF | O::UConvert | O::SConvert | O::FConvert | O::QuantizeToF16 => {
            Class::Convert
        }
        O::Bitcast => Class::Bitcast,
        O::CompositeConstruct => Class::Construct,
        O::CompositeExtract => Class::Extract,
        O::CompositeInsert => Class::Insert,
        O::VectorShuffle | O::Transpose => Class::Shuffle,
        O::VectorExtractDynamic | O::VectorInsertDynamic => Class::Dynamic,
        O::CopyObject | O::CopyLogical | O::CopyMemory => Class::Copy,
        O::Load => match storage(module, module.args(inst)[0])? {
            StorageClass::Function => Class::LoadLocal,
            StorageClass::Input => Class::LoadInput,
            StorageClass::Uniform | StorageClass::PushConstant => Class::LoadUniform,
            StorageClass::StorageBuffer => Class::LoadBuffer,
            StorageClass::UniformConstant => Class::LoadHandle,
            _ => Class::LoadPrivate,
        },
        O::Store => match storage(module, module.args(inst)[0])? {
            StorageClass::Function => Class::StoreLocal,
            StorageClass::Output => Class::StoreOutput,
            StorageClass::StorageBuffer | StorageClass::Uniform => Class::StoreBuffer,
            _ => Class::StorePrivate,
        },
        O::AccessChain | O::InBoundsAccessChain => {
            let fixed = module.args(inst)[1..].iter().all(|id| module.constant(*id).is_some());
            if fixed { Class::ChainConstant } else { Class::ChainDynamic }
        }
        O::DPdx | O::DPdy | O::Fwidth | O::DPdxFine | O::DPdyFine | O::FwidthFine | O::DPdxCoarse | O::DPdyCoarse | O::FwidthCoarse => {
            Class::Derivative
        }
        O::Phi => Class::Phi,
        O::Branch => Class::Jump,
        O::BranchConditional => Class::Branch,
        O::LoopMerge => Class::Loop,
        O::Switch => Class::Switch,
        O::FunctionCall => Class::Call,
        O::Return | O::ReturnValue => Class::Return,
        O::Kill | O::TerminateInvocation | O::DemoteToHelperInvocation => Class::Kill,
        op if (O::AtomicLoad as u32..=O::AtomicXor as u32).contains(&(op as u32)) => Class::Atomic,
        _ => Class::Other,
    })
}

fn storage(module: &Module, pointer: Id) -> Result<StorageClass, ModuleError> {
    match module.ty(module.type_of(pointer)?)? {
        Type::Pointer { class, .. } => Ok(*class),
        _ => Err(ModuleError::NoPointer { id: pointer }),
    }
}

/// Dimension and kind of an image instruction, as indices into their names.
fn texture(module: &Module, inst: &Inst) -> Result<Option<(usize, usize)>, ModuleError> {
    use super::module::spirv::{Dim, ImageOperands};
    use Op as O;
    let kind = match inst.op {
        O::ImageSampleImplicitLod | O::ImageSampleExplicitLod => "sample",
        O::ImageSampleDrefImplicitLod
        | O::ImageSampleDrefExplicitLod
        | O::ImageSampleProjDrefImplicitLod
        | O::ImageSampleProjDrefExplicitLod => "compare",
        O::ImageSampleProjImplicitLod | O::ImageSampleProjExplicitLod => "project",
        O::ImageGather | O::ImageDrefGather => "gather",
        O::ImageFetch | O::ImageRead => "fetch",
        O::ImageQuerySize | O::ImageQuerySizeLod | O::ImageQueryLod | O::ImageQueryLevels | O::ImageQuerySamples => "query",
        _ => return Ok(None),
    };
    let args = module.args(inst);
    let Type::Image(Image { dim, arrayed, .. }) = module.ty(module.type_of(args[0])?)? else { return Ok(None) };
    let mask = if kind == "sample" { ImageOperands::from_bits_truncate(args.get(2).copied().unwrap_or(0)) } else { ImageOperands::NONE };
    let kind = match () {
        () if mask.contains(ImageOperands::GRAD) => "grad",
        () if mask.contains(ImageOperands::LOD) => "lod",
        () if mask.contains(ImageOperands::BIAS) => "bias",
        () if mask.intersects(ImageOperands::CONST_OFFSET | ImageOperands::OFFSET) => "offset",
        () => kind,
    };
    let dim = match dim {
        _ if *arrayed => 4,
        Dim::Dim1D | Dim::DimBuffer => 0,
        Dim::Dim3D => 2,
        Dim::DimCube => 3,
        _ => 1,
    };
    Ok(KINDS.iter().position(|k| *k == kind).map(|kind| (dim, kind)))
}
