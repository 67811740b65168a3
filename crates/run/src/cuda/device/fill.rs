//! Large arrays get their first contents from a kernel in the device: what a rule describes need not cross the bus.

use crate::Init;
use crate::cuda::compile::KernelText;
use crate::cuda::driver::{Arg, Shape};
use warpsight_ir::Scalar;

/// From so many bytes on, the device fills; below, a copy takes less than bringing in a kernel.
pub(super) const LARGE: u64 = 1 << 20;

/// Threads of a block of the filling kernels.
const THREADS: u32 = 256;

/// Blocks of them for each multiprocessor: enough to keep its memory busy.
const BLOCKS: u32 = 4;

/// What fills an array by a rule.
pub(super) struct Filling {
    pub(super) kernel: KernelText,
    pub(super) shape: Shape,
    /// The arguments after the address.
    pub(super) args: Vec<Arg>,
    /// Whether the array has to be 0 before.
    pub(super) zero_first: bool,
}

/// The kernel for arrays of random values.
pub(in crate::cuda) fn random() -> KernelText {
    kernel("warpsight_fill_random", include_str!("fill_random.cu"))
}

/// The kernel for cycles.
pub(in crate::cuda) fn cycle() -> KernelText {
    kernel("warpsight_fill_cycle", include_str!("fill_cycle.cu"))
}

fn kernel(entry: &str, text: &str) -> KernelText {
    KernelText { name: entry.into(), text: text.into(), entry: entry.into() }
}

/// How a device of so many multiprocessors fills an array; `None` for rules that need no kernel. The rule fits the array.
pub(super) fn by_kernel(init: &Init, bytes: u64, multiprocessors: u32) -> Option<Filling> {
    let shape = |elements: u64| {
        let blocks = elements.div_ceil(THREADS.into()).min(u64::from(multiprocessors.max(1) * BLOCKS));
        Shape::plain([blocks as u32, 1, 1], [THREADS, 1, 1])
    };
    let halves = |value: u64| [Arg::Int(value as u32 as i32), Arg::Int((value >> 32) as u32 as i32)];
    match init {
        Init::Random { element, seed } => {
            let kind = match element {
                Scalar::F16 | Scalar::Half => 0,
                Scalar::Bf16 => 1,
                Scalar::F32 => 2,
                Scalar::F64 => 3,
                Scalar::I32 | Scalar::U32 => 4,
                Scalar::I64 | Scalar::U64 => 5,
                Scalar::Bool => return None,
            };
            let count = bytes / u64::from(element.bytes());
            let args = halves(count).into_iter().chain(halves(*seed)).chain([Arg::Int(kind)]).collect();
            Some(Filling { kernel: random(), shape: shape(count), args, zero_first: false })
        }
        Init::Cycle { slots, stride } => {
            let args = vec![Arg::Int(*slots as i32), Arg::Int(*stride as i32)];
            Some(Filling { kernel: cycle(), shape: shape((*slots).into()), args, zero_first: true })
        }
        Init::Poison | Init::Zero | Init::Data(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_and_seeds_are_passed_whole() {
        let init = Init::Random { element: Scalar::F32, seed: 0xfedc_ba98_7654_3210 };
        let filling = by_kernel(&init, 5 << 34, 132).unwrap();
        let word = |at: usize| match (filling.args[at], filling.args[at + 1]) {
            (Arg::Int(low), Arg::Int(high)) => u64::from(high as u32) << 32 | u64::from(low as u32),
            other => panic!("{other:?}"),
        };
        assert_eq!((word(0), word(2), filling.args[4]), (5 << 32, 0xfedc_ba98_7654_3210, Arg::Int(2)));
        assert_eq!(filling.shape.grid, [528, 1, 1]);
        assert_eq!(by_kernel(&init, 1024, 132).unwrap().shape.grid, [1, 1, 1]);
        assert!(by_kernel(&Init::Poison, 1 << 30, 132).is_none());
    }
}
