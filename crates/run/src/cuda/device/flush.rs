//! Emptying the L2 cache of a job's memory, and of lines that would have to be written back while a kernel is timed.

use super::Cuda;
use crate::DeviceError;
use crate::cuda::compile::{Built, KernelText};
use crate::cuda::driver::{Allocation, Arg, Context, Shape};
use std::rc::Rc;

/// Bytes that are overwritten, and as many others that are read: so many times the cache's size.
const TIMES: u64 = 2;

/// Threads of a block of the kernel that reads.
const THREADS: u32 = 256;

/// Blocks of it for each multiprocessor.
const BLOCKS: u32 = 4;

/// Bytes that a thread reads at once.
const VECTOR: u64 = 16;

/// What flushes: memory, and the kernel that reads half of it.
pub(super) struct Flush {
    memory: Allocation,
    half: usize,
    built: Rc<Built>,
    shape: Shape,
}

impl Flush {
    pub(super) fn new(cuda: &Cuda) -> Result<Self, DeviceError> {
        // A vector is counted by an `int`.
        let half = (TIMES * cuda.properties.l2_bytes).next_multiple_of(256).min(u64::from(u32::MAX >> 1) * VECTOR);
        let (built, _) = cuda.built(0, &kernel())?;
        let shape = Shape::plain([cuda.properties.multiprocessors.max(1) * BLOCKS, 1, 1], [THREADS, 1, 1]);
        Ok(Self { memory: Allocation::new(&cuda.context, 2 * half as usize)?, half: half as usize, built, shape })
    }

    /// Puts it into the stream. Writing takes the place of what the cache held; reading other memory then has what was written go back
    /// to memory, so that the cache holds only lines that cost nothing to replace.
    pub(super) fn enqueue(&self, context: &Context) -> Result<(), DeviceError> {
        context.fill_later(self.memory.at, 0x5a, self.half)?;
        let vectors = (self.half as u64 / VECTOR) as i32;
        let args = [Arg::Word(self.memory.at + self.half as u64), Arg::Word(self.memory.at), Arg::Int(vectors)];
        context.launch(self.built.module.function, &self.shape, &args)
    }
}

/// The kernel that reads.
pub(in crate::cuda) fn kernel() -> KernelText {
    let entry = "warpsight_flush";
    KernelText { name: entry.into(), text: include_str!("flush.cu").into(), entry: entry.into() }
}
