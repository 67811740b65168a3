//! Kernels of aspects: loops whose trips are given at launch, so that the time of one is a slope.

pub(crate) mod chains;
pub(crate) mod loads;
pub(crate) mod pairs;
pub(crate) mod parts;
pub(crate) mod places;
pub(crate) mod streams;
pub(crate) mod tickets;
pub(crate) mod together;
pub(crate) mod turns;
pub(crate) mod vectors;

use super::ask::{RUNS, Trips};
use crate::kernels::{count, int, program};
use crate::{Amounts, Measurement, Parameters};
use std::sync::Arc;
use warpsight_run::{Init, Job, JobResult, LaunchSpec, MemorySpec, Peek, TimingSpec};

/// An `f32` counts so far, with something to spare.
const COUNTS: u64 = 1 << 23;

/// Judges what came back of a launch of so many trips.
pub(crate) type Judge = Arc<dyn Fn(u64, &[f32]) -> Result<(), String> + Send + Sync>;

/// A kernel that makes trips through a loop.
#[derive(Clone)]
pub(crate) struct Kernel {
    /// Unique in its phase.
    pub(crate) name: String,
    /// Its Program, whose first size is `trips`.
    pub(crate) text: String,
    /// Its other sizes.
    pub(crate) sizes: Vec<i64>,
    /// Memory, a piece for each parameter; the last is written: a number of each thread.
    pub(crate) memory: Vec<MemorySpec>,
    /// Groups, and work-items of each.
    pub(crate) shape: [u32; 2],
    /// Most trips.
    pub(crate) most: u64,
    /// What a trip does, all work-items together.
    pub(crate) amounts: Amounts,
    /// Judges the numbers of the first and the last thread.
    pub(crate) judge: Judge,
}

impl Trips for Kernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn bounds(&self) -> (u64, u64) {
        (1, self.most)
    }

    fn measurement(&self, trips: u64) -> Measurement {
        let written = self.memory.len() - 1;
        let threads = u64::from(self.shape[0]) * u64::from(self.shape[1]);
        let each = |amount: f64| amount * trips as f64;
        let judge = Arc::clone(&self.judge);
        Measurement {
            name: self.named(trips),
            params: Parameters::from([
                ("trips".into(), count(trips)),
                ("groups".into(), int(self.shape[0])),
                ("lanes".into(), int(self.shape[1])),
            ]),
            job: Job {
                programs: vec![program(&self.text, &[]).into()],
                launches: vec![LaunchSpec {
                    program: 0,
                    args: (0..self.memory.len()).collect(),
                    sizes: std::iter::once(trips as i64).chain(self.sizes.iter().copied()).collect(),
                }],
                memory: self.memory.clone(),
                read: vec![],
                peek: vec![Peek { memory: written, offsets: vec![0, 4 * (threads - 1)], bytes: 4 }],
                timing: Some(TimingSpec::runs(RUNS)),
            },
            launch: 0,
            amounts: Amounts { bytes: each(self.amounts.bytes), operations: each(self.amounts.operations), ..Amounts::default() },
            check: Box::new(move |result| judge(trips, &ends(result)?)),
        }
    }
}

/// The numbers of the first and the last thread.
fn ends(result: &JobResult) -> Result<Vec<f32>, String> {
    let peeked = result.peeked.first().ok_or("nothing came back")?;
    Ok(peeked.0.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// That the numbers of the first and last thread are these.
pub(crate) fn expect(found: &[f32], wanted: [f64; 2]) -> Result<(), String> {
    let found: Vec<f64> = found.iter().map(|v| f64::from(*v)).collect();
    if found == wanted { Ok(()) } else { Err(format!("the first and last thread have {found:?}, not {wanted:?}")) }
}

/// Numbers that compilers do not know.
pub(crate) fn constants(numbers: &[f32]) -> MemorySpec {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    crate::kernels::buffer(bytes.len() as u64, Init::Data(bytes))
}
