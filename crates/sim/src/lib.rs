//! A simulated GPU: it executes [`warpsight_ir::Program`]s exactly and says how long its hardware would have taken.
//!
//! Results are those of the interpreter, bit by bit. Time comes from what was executed: every wave issues its instructions on a port
//! of its core, every access becomes the lines it touches, and texture caches, load-store units, slices of the second-level cache and
//! channels of device memory serve them one after another. Nothing is a formula over totals, so waves, tails, conflicts and
//! thrashing appear by themselves. The same inputs always take the same number of cycles.
//!
//! [`Silicon`] says what the GPU is made of. It is no [`warpsight_ir::Profile`], and models never see it: what they know of a
//! simulated device has been measured on it.
//!
//! ```
//! use warpsight_ir::data::{bytes_f32, f32_bytes};
//! use warpsight_ir::{Bindings, Checked, text};
//! use warpsight_sim::{Silicon, Simulator};
//! let text = "
//! program twice {
//!   read buffer x: f32[4]
//!   write buffer y: f32[4]
//!   lanes l = 4
//!   { y[l] = x[l] * 2.0 }
//! }";
//! let program = Checked::new(text::parse(text)?)?;
//! let mut bindings = Bindings { data: vec![f32_bytes(&[1.0, 2.0, 3.0, 4.0]), vec![0; 16]], ..Bindings::default() };
//! let report = Simulator::new(Silicon::adreno640()).simulate(&program, &mut bindings)?;
//! assert_eq!(bytes_f32(&bindings.data[1]), [2.0, 4.0, 6.0, 8.0]);
//! assert!(report.time.0 > 1e-6 && report.traffic.buffer_bytes == 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Grows with whatever changes what a launch takes: times that are kept are of one of these.
pub const VERSION: u32 = 1;

mod alu;
mod clock;
mod code;
mod compile;
mod demand;
mod divisor;
mod elements;
mod engine;
mod fault;
mod halves;
mod memory;
mod mixed;
mod pattern;
pub mod pipeline;
mod report;
mod sampling;
mod silicon;
mod tensors;
mod timeline;
mod timing;
mod totals;
pub mod trace;
mod wave;

pub use clock::Clock;
pub use code::FaultKind;
pub use fault::SimFault;
pub use memory::Caches;
pub use report::{MemoryCounters, Occupancy, Report, SampleError, Sampled};
pub use sampling::Sampling;
pub use silicon::{
    Buffer, Core, DataCache, Dram, Geometry, ImagePath, L2, Launch, LaunchSilicon, Limits, Local, Per, PipelineSilicon, Problem,
    QueueSilicon, Refill, Silicon, SiliconError, Texture, Throttle, Timer,
};
pub use timeline::{Bin, Bounds, Cause, LeftOut, Level, Timeline, Wait, WaveSpan};

use code::Code;
use compile::Purpose;
use demand::Demand;
use engine::{Engine, LaunchOf, Recorder};
use std::collections::BTreeMap;
use tensors::Tensor;
use warpsight_ir::{Bindings, Checked, ImageFormat, ImageKind, Name};

/// A simulated GPU.
#[derive(Clone, Debug)]
pub struct Simulator {
    silicon: Silicon,
}

impl Simulator {
    /// A GPU made of this.
    pub fn new(silicon: Silicon) -> Self {
        Self { silicon }
    }

    /// What it is made of.
    pub fn silicon(&self) -> &Silicon {
        &self.silicon
    }

    /// Caches that hold nothing, to be kept from launch to launch.
    pub fn caches(&self) -> Caches {
        Caches::new(&self.silicon)
    }

    /// Executes a launch on empty caches: changes the data of the bindings and reports the time.
    ///
    /// # Errors
    /// See [`SimFault`]; the bindings' data may then be half changed.
    pub fn simulate(&self, program: &Checked, bindings: &mut Bindings) -> Result<Report, SimFault> {
        self.simulate_in(program, bindings, &mut self.caches(), None)
    }

    /// Executes a launch after others, on what they left in the caches. `addresses` says where each argument lies, one per
    /// parameter, so that an argument is recognised from launch to launch; without it arguments lie one after another from the
    /// same place in each launch. Texture caches begin empty: they do not see writes, so a driver empties them.
    ///
    /// # Errors
    /// See [`SimFault`]; the bindings' data may then be half changed.
    pub fn simulate_in(
        &self,
        program: &Checked,
        bindings: &mut Bindings,
        caches: &mut Caches,
        addresses: Option<&[u64]>,
    ) -> Result<Report, SimFault> {
        self.executed(program, bindings, caches, addresses, None)
    }

    fn executed(
        &self,
        program: &Checked,
        bindings: &mut Bindings,
        caches: &mut Caches,
        addresses: Option<&[u64]>,
        recorder: Option<&mut Recorder>,
    ) -> Result<Report, SimFault> {
        let code = compile::compile(program, &bindings.sizes, &self.silicon, Purpose::Results)?;
        let mut tensors = tensors::take(program, &code.extents, bindings, addresses, &self.silicon)?;
        let result = self.run(program, &code, Sampling::ALL, caches, &mut tensors, recorder);
        tensors::put_back(tensors, bindings);
        result
    }

    /// How long a launch takes on empty caches, without its results: only what addresses and control need is computed, everything else is
    /// charged. Of large launches parts stand for the whole, as `sampling` says and the report states.
    ///
    /// # Errors
    /// [`SimFault::NeedsData`] where addresses or control depend on loaded data: such Programs have to be executed. Else see [`SimFault`].
    pub fn time(&self, program: &Checked, sizes: &BTreeMap<Name, i64>, sampling: Sampling) -> Result<Report, SimFault> {
        self.time_in(program, sizes, sampling, &mut self.caches(), None)
    }

    /// The same after other launches; see [`Simulator::simulate_in`].
    ///
    /// # Errors
    /// As [`Simulator::time`].
    pub fn time_in(
        &self,
        program: &Checked,
        sizes: &BTreeMap<Name, i64>,
        sampling: Sampling,
        caches: &mut Caches,
        addresses: Option<&[u64]>,
    ) -> Result<Report, SimFault> {
        let code = compile::compile(program, sizes, &self.silicon, Purpose::Time)?;
        let mut tensors = tensors::placed(program, &code.extents, addresses, &self.silicon)?;
        self.run(program, &code, sampling, caches, &mut tensors, None)
    }

    /// A launch on empty caches and what happened when. It takes as long as without anybody looking, and all of its groups are simulated. The
    /// data of the bindings is changed only where the Program has to be executed, because addresses or control depend on what it loads.
    ///
    /// # Errors
    /// As [`Simulator::simulate`].
    pub fn timeline(&self, program: &Checked, bindings: &mut Bindings, bounds: Bounds) -> Result<(Report, Timeline), SimFault> {
        self.timeline_in(program, bindings, &mut self.caches(), None, bounds)
    }

    /// The same after other launches; see [`Simulator::simulate_in`].
    ///
    /// # Errors
    /// As [`Simulator::simulate`].
    pub fn timeline_in(
        &self,
        program: &Checked,
        bindings: &mut Bindings,
        caches: &mut Caches,
        addresses: Option<&[u64]>,
        bounds: Bounds,
    ) -> Result<(Report, Timeline), SimFault> {
        let mut recorder = Recorder::new(&self.silicon, bounds);
        let report = match compile::compile(program, &bindings.sizes, &self.silicon, Purpose::Time) {
            Err(SimFault::NeedsData { .. }) => self.executed(program, bindings, caches, addresses, Some(&mut recorder)),
            code => {
                let code = code?;
                let mut tensors = tensors::placed(program, &code.extents, addresses, &self.silicon)?;
                self.run(program, &code, Sampling::ALL, caches, &mut tensors, Some(&mut recorder))
            }
        }?;
        Ok((report, recorder.finish()))
    }

    fn run(
        &self,
        program: &Checked,
        code: &Code,
        sampling: Sampling,
        caches: &mut Caches,
        tensors: &mut [Tensor],
        recorder: Option<&mut Recorder>,
    ) -> Result<Report, SimFault> {
        let demand = Demand::of(program, code, &self.silicon)?;
        let launch = LaunchOf { silicon: &self.silicon, program, code, demand: &demand };
        match self.silicon.core.wave {
            ..=16 => Engine::<16>::new(launch, sampling, caches, tensors).told(recorder).run(),
            17..=32 => Engine::<32>::new(launch, sampling, caches, tensors).told(recorder).run(),
            33..=64 => Engine::<64>::new(launch, sampling, caches, tensors).told(recorder).run(),
            _ => Engine::<128>::new(launch, sampling, caches, tensors).told(recorder).run(),
        }
    }

    /// Executes launches in order on the same caches; the report of each.
    ///
    /// # Errors
    /// The first launch's that fails.
    pub fn simulate_all(&self, launches: &mut [(&Checked, &mut Bindings)]) -> Result<Vec<Report>, SimFault> {
        let mut caches = self.caches();
        launches.iter_mut().map(|(program, bindings)| self.simulate_in(program, bindings, &mut caches, None)).collect()
    }

    /// Bytes of device memory an image takes, its layout's padding included.
    pub fn image_bytes(&self, kind: ImageKind, format: ImageFormat, width: u32, height: u32) -> u64 {
        self.silicon.texture.path(kind).layout.mapper(width, height, format.bytes()).bytes()
    }
}
