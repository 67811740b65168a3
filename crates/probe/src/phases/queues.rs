//! Queues between blocks: through the L2 cache, and within a thread-block cluster.
//!
//! # What the kernels rely on
//!
//! - **Co-residency.** A block that waits for another block never gives up its multiprocessor, so all blocks of a queue must be
//!   resident together: queue kernels are launched cooperatively (refused where the grid does not fit) with at most one block per
//!   multiprocessor, and blocks of a cluster are resident together by definition.
//! - **Forward progress.** A resident block makes progress whatever others do; within a block one thread waits and the others stand
//!   at a barrier. Every wait is bounded by a watchdog: it raises an alarm that all others see, and the kernel ends.
//! - **Memory model.** A producer's plain stores come before its block barrier, the barrier before thread 0's `st.release.gpu`; a
//!   consumer's `ld.acquire.gpu` comes before its barrier, that before the plain loads. Release, acquire and barriers are cumulative
//!   in the PTX model, so all stores are seen by all loads. A slot is freed in the same way: loads, barrier, `atom.add.release.gpu`,
//!   the producer's acquire. In a cluster a bulk copy counts its bytes on the consumer's mbarrier, on which every reading thread waits.
//!
//! # Amounts
//!
//! `bytes` is the payload that consumers received, each consumer's share counted; `steps` the tokens of one queue, one after the
//! other. `sync = 0` marks the same stores and loads without waiting: what synchronisation costs is the difference.
//!
//! # Size of the full plan on a GPU of 132 multiprocessors and 227 KiB of shared memory per block
//!
//! `queues`: 330 measurements of 48 texts; `clusters`: 126 of 47. A measurement moves at most 0.6 GB eleven times, at the 2 TB/s of
//! paper 003 3 ms, and 30 ms with allocation and transfer; a text takes about 0.15 s to compile. That makes about 17 s for `queues` and
//! 11 s for `clusters`, by estimate: nobody has timed them on such a GPU.

mod cluster;
mod ring;
pub(super) mod text;
mod tokens;

use crate::{Check, Needs, Parameter, Parameters, Phase};
use warpsight_run::{Contents, Init, MemoryKind, MemorySpec};

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![
        Phase {
            name: "queues",
            purpose: "what queues between blocks through the L2 cache carry: payload, number, depth, pinned or not, one to many and many to one",
            needs: Needs::CudaText,
            share: 1.0,
            plan: ring::plan,
        },
        Phase {
            name: "clusters",
            purpose: "what queues and plain accesses carry within a thread-block cluster",
            needs: Needs::CudaText,
            share: 0.6,
            plan: cluster::plan,
        },
    ]
}

/// Bytes of a line: counters have one each.
pub(super) const LINE: u64 = 128;

/// The device's compute capability times ten; `None` where it does not say.
pub(super) fn capability(context: &crate::Context) -> Option<u32> {
    let (major, minor) = context.device.facts.get("compute_capability")?.split_once('.')?;
    Some(major.parse::<u32>().ok()? * 10 + minor.parse::<u32>().ok()?)
}

/// Bytes that begin as `init` says.
pub(super) fn buffer(bytes: u64, init: Init) -> MemorySpec {
    MemorySpec { kind: MemoryKind::Buffer { bytes: bytes.max(4) }, init, canaries: true }
}

/// Parameters from words and numbers.
pub(super) fn parameters(pairs: &[(&str, u32)]) -> Parameters {
    pairs.iter().map(|(name, value)| ((*name).into(), Parameter::Int((*value).into()))).collect()
}

/// A check that contents pass whenever they are read: after the first pass, and when the timed ones are done.
pub(super) fn always(check: impl Fn(&[Contents]) -> Result<(), String> + Send + 'static) -> Check {
    Box::new(move |result| {
        check(&result.read)?;
        let after = result.after.as_ref().ok_or("memory was not read after the timed passes")?;
        check(&after.read).map_err(|what| format!("after all {} passes, {what}", after.passes))
    })
}

/// The 32-bit words of one of the contents that came back.
pub(super) fn words(read: &[Contents], position: usize) -> Result<Vec<u32>, String> {
    let contents = read.get(position).ok_or_else(|| format!("contents {position} did not come back"))?;
    Ok(contents.0.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Results agree when no watchdog rang (the first contents that came back, control memory) and every consumer reports its sum (the
/// second), in the last timed pass, too.
pub(super) fn check_sums(expected: impl Fn() -> Vec<u32> + Send + 'static) -> Check {
    always(move |read| {
        no_alarm(&words(read, 0)?)?;
        same(&words(read, 1)?, &expected())
    })
}

/// Whether no watchdog rang.
pub(super) fn no_alarm(control: &[u32]) -> Result<(), String> {
    match control.get(LINE as usize / 4..LINE as usize / 4 + 4) {
        Some([0, ..]) => Ok(()),
        Some([count, role, queue, token]) => {
            let role = ["?", "the producer", "a consumer", "a block at a grid barrier"].get(*role as usize).unwrap_or(&"?");
            Err(format!("{count} waits were in vain; first {role} of queue (block) {queue} at token (round) {token}"))
        }
        _ => Err("the control memory is too short".into()),
    }
}

/// Whether all sums are as expected.
pub(super) fn same(got: &[u32], expected: &[u32]) -> Result<(), String> {
    if got.len() != expected.len() {
        return Err(format!("{} results instead of {}", got.len(), expected.len()));
    }
    let wrong = got.iter().zip(expected).filter(|(a, b)| a != b).count();
    match got.iter().zip(expected).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => Err(format!("{wrong} of {} results are wrong; number {at} is {}, not {}", got.len(), got[at], expected[at])),
    }
}
