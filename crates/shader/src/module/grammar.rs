//! Words to instructions, by rspirv's grammar.

use super::{Id, Inst, Module, ModuleError, Op};
pub use rspirv::grammar::OperandKind;
use rspirv::grammar::{INSTRUCTION_TABLE, Instruction, OperandQuantifier};
use rspirv::spirv;
use std::sync::LazyLock;

/// rspirv's table is a list; its look-up walks it.
static BY_OPCODE: LazyLock<Vec<Option<&'static Instruction<'static>>>> = LazyLock::new(|| {
    let last = INSTRUCTION_TABLE.iter().map(|i| i.opcode as usize).max().unwrap_or(0);
    let mut table = vec![None; last + 1];
    for entry in INSTRUCTION_TABLE.iter() {
        table[entry.opcode as usize] = Some(entry);
    }
    table
});

fn entry(opcode: u32) -> Option<&'static Instruction<'static>> {
    BY_OPCODE.get(opcode as usize).copied().flatten()
}

/// The instruction at word `at`, checked against the module's length and its own grammar.
pub(super) fn instruction(words: &[u32], at: usize, line: u32) -> Result<Inst, ModuleError> {
    let (len, opcode) = ((words[at] >> 16) as usize, words[at] & 0xffff);
    let Some(entry) = entry(opcode) else { return Err(ModuleError::UnknownOpcode { at, opcode }) };
    let least = 1 + entry.operands.iter().filter(|o| o.quantifier == OperandQuantifier::One).map(|o| fewest(o.kind)).sum::<usize>();
    if len < least {
        return Err(ModuleError::WordCount { at, words: len, least });
    }
    if at + len > words.len() {
        return Err(ModuleError::Truncated { at: words.len() });
    }
    let has = |kind| entry.operands.iter().take(2).any(|o| o.kind == kind);
    let ty = if has(OperandKind::IdResultType) { words[at + 1] } else { 0 };
    let mut head = 1 + u8::from(ty != 0 || has(OperandKind::IdResultType));
    let mut id = 0;
    if has(OperandKind::IdResult) {
        id = words[at + usize::from(head)];
        head += 1;
        if id == 0 {
            return Err(ModuleError::Undefined { id });
        }
    }
    // Lengths fit: an instruction has 16 bits of length, a module at most MAX_WORDS words.
    Ok(Inst { op: entry.opcode, ty, id, line, at: at as u32, head, len: len as u16 })
}

/// The fewest words of an operand.
fn fewest(kind: OperandKind) -> usize {
    match kind {
        OperandKind::PairIdRefIdRef | OperandKind::PairIdRefLiteralInteger | OperandKind::PairLiteralIntegerIdRef => 2,
        _ => 1,
    }
}

/// One operand of an instruction, as a tokeniser wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand<'m> {
    /// An id.
    Id(Id),
    /// A number, in one word or more.
    Literal(&'m [u32]),
    /// A string's words.
    Text(&'m [u32]),
    /// An enumerant or mask of this kind.
    Enum(OperandKind, u32),
}

/// The operands of an instruction after result type and result, with what each is.
///
/// Operands that follow a mask or an enumerant (`OpDecorate`, image operands) are ids where the mask says so for instructions of
/// functions, else literals.
#[must_use]
pub fn operands<'m>(module: &'m Module, inst: &Inst) -> Vec<Operand<'m>> {
    let args = module.args(inst);
    let mut out = Vec::new();
    let mut at = 0;
    let Some(entry) = entry(inst.op as u32) else { return out };
    let kinds = entry.operands.iter().filter(|o| !matches!(o.kind, OperandKind::IdResultType | OperandKind::IdResult));
    for operand in kinds {
        while at < args.len() {
            take(module, inst, operand.kind, args, &mut at, &mut out);
            if operand.quantifier != OperandQuantifier::ZeroOrMore {
                break;
            }
        }
    }
    let images = inst.op as u32 >= Op::ImageSampleImplicitLod as u32 && inst.op as u32 <= Op::ImageWrite as u32;
    for word in args.get(at..).unwrap_or_default().chunks(1) {
        out.push(if images || inst.op == Op::SpecConstantOp { Operand::Id(word[0]) } else { Operand::Literal(word) });
    }
    out
}

fn take<'m>(module: &'m Module, inst: &Inst, kind: OperandKind, args: &'m [u32], at: &mut usize, out: &mut Vec<Operand<'m>>) {
    use OperandKind as K;
    let rest = &args[*at..];
    let mut advance = 1;
    match kind {
        K::IdRef | K::IdMemorySemantics | K::IdScope => out.push(Operand::Id(rest[0])),
        K::PairIdRefIdRef if rest.len() > 1 => {
            out.extend([Operand::Id(rest[0]), Operand::Id(rest[1])]);
            advance = 2;
        }
        K::PairLiteralIntegerIdRef => {
            let wide = switch_words(module, inst);
            let (value, target) = rest.split_at(wide.min(rest.len()));
            out.push(Operand::Literal(value));
            out.extend(target.first().map(|t| Operand::Id(*t)));
            advance = wide + 1;
        }
        K::PairIdRefLiteralInteger => {
            out.push(Operand::Id(rest[0]));
            out.extend(rest.get(1..2).map(Operand::Literal));
            advance = 2;
        }
        K::LiteralString => {
            let end = rest.iter().position(|w| w.to_le_bytes().contains(&0)).map_or(rest.len(), |p| p + 1);
            out.push(Operand::Text(&rest[..end]));
            advance = end;
        }
        K::LiteralContextDependentNumber => {
            out.push(Operand::Literal(rest));
            advance = rest.len();
        }
        K::LiteralInteger | K::LiteralFloat | K::LiteralExtInstInteger | K::LiteralSpecConstantOpInteger => {
            out.push(Operand::Literal(&rest[..1]));
        }
        other => out.push(Operand::Enum(other, rest[0])),
    }
    *at = (*at + advance).min(args.len());
}

/// How many words a case label of this `OpSwitch` has.
pub(super) fn switch_words(module: &Module, inst: &Inst) -> usize {
    let selector = module.args(inst)[0];
    let wide = module.type_of(selector).and_then(|ty| module.ty(ty)).is_ok_and(|ty| ty.scalar().is_some_and(|s| s.wide()));
    if wide { 2 } else { 1 }
}

/// A literal string among operands: bytes up to the first zero, low byte first.
pub fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn is_type(op: Op) -> bool {
    op.is_type()
}

pub(super) fn ends_block(op: Op) -> bool {
    rspirv::grammar::reflect::is_block_terminator(op) || op == spirv::Op::TerminateInvocation
}
