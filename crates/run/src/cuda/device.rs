//! An open device: jobs in the driver's terms, and running them.

use super::Arch;
use super::build::{Built, KernelText, Target};
use super::clocks::Clocks;
use super::ffi::Context;
use super::fill;
use super::launch::{Arg, PLAIN_SHARED, Shape, Window};
use super::listing;
use super::memory::{self, Memory};
use super::objects::View;
use super::passes::{Ready, blame};
use crate::cache::Cache;
use crate::check::{CheckedCode, CheckedJob, local_bytes, writes};
use crate::{CacheState, Device, DeviceError, DeviceInfo, Init, Job, JobResult, LaunchClock, LaunchSpec, Submit};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;
use warpsight_emit::Grid;
use warpsight_ir::{Border, ParamKind};

/// Kernels held in the device at most; then all are let go.
const HELD: usize = 256;

/// L2 caches are taken to be at least this large where the driver does not say, in bytes.
const SMALLEST_L2: u64 = 32 << 20;

/// What launches depend on.
pub(super) struct Properties {
    pub(super) multiprocessors: u32,
    pub(super) max_grid: [u32; 3],
    /// Shared memory of a block at most, in bytes.
    pub(super) shared_bytes: u64,
    /// Whether launches may be in clusters and begin early: compute capability 9.0.
    pub(super) clusters: bool,
    /// Bytes of L2 that may be set aside for lines that stay.
    most_set_aside: usize,
    /// Bytes of a window over them.
    most_window: usize,
    pub(super) l2_bytes: u64,
}

/// An NVIDIA GPU, opened.
pub struct Cuda {
    pub(super) info: DeviceInfo,
    arch: Arch,
    pub(super) properties: Properties,
    pub(super) clocks: Clocks,
    cache: Cache,
    held: RefCell<HashMap<String, Rc<Built>>>,
    /// What an empty kernel takes by each clock that was used, and the step of the events' clock, in nanoseconds.
    pub(super) empty: RefCell<Vec<(LaunchClock, f64, f64)>>,
    /// When the device had last done what was asked.
    pub(super) idle_since: Cell<Instant>,
    /// Why nothing works any more, once that is so.
    lost: Option<String>,
    // Last: what lies in it is freed before.
    pub(super) context: Context,
}

impl Cuda {
    /// Opens a device by its id, `cuda:N`. Machine code is kept in `cache`, where there is one.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] with what was found instead; [`DeviceError::Driver`].
    pub fn open(id: &str, cache: Option<PathBuf>) -> Result<Self, DeviceError> {
        let (found, skipped) = listing::find();
        let there: Vec<String> = found.iter().map(|(_, info)| info.id.clone()).collect();
        let Some((handle, info)) = found.into_iter().find(|(_, info)| info.id == id) else {
            let mut reason = if there.is_empty() { "no CUDA device was found".into() } else { format!("there is {}", there.join(", ")) };
            for (name, why) in skipped {
                reason += &format!("; {name}: {why}");
            }
            return Err(DeviceError::NoDevice { id: id.into(), reason });
        };
        let fact = |name: &str| info.facts.get(name).and_then(|value| value.parse::<u64>().ok());
        let small = |name: &str, otherwise: u32| fact(name).and_then(|value| u32::try_from(value).ok()).unwrap_or(otherwise);
        let arch = listing::arch(handle);
        let properties = Properties {
            multiprocessors: small("multiprocessor_count", 1),
            max_grid: [small("max_grid_dim_x", u32::MAX), small("max_grid_dim_y", 65535), small("max_grid_dim_z", 65535)],
            shared_bytes: info.limits.local_bytes.unwrap_or(PLAIN_SHARED.into()),
            clusters: arch.capability >= 90,
            most_set_aside: fact("max_persisting_l2_cache_size").unwrap_or(0) as usize,
            most_window: fact("max_access_policy_window_size").unwrap_or(0) as usize,
            l2_bytes: fact("l2_cache_bytes").filter(|&bytes| bytes > 0).unwrap_or(SMALLEST_L2),
        };
        Ok(Self {
            clocks: Clocks::new(info.facts.get("uuid").filter(|_| !handle.driver.stand_in)),
            context: Context::new(handle)?,
            info,
            arch,
            properties,
            cache: Cache(cache),
            held: RefCell::default(),
            empty: RefCell::default(),
            idle_since: Cell::new(Instant::now()),
            lost: None,
        })
    }

    /// A kernel in the device, and whether it was there before.
    pub(super) fn built(&self, index: usize, text: &KernelText) -> Result<(Rc<Built>, bool), DeviceError> {
        let key = text.key(self.arch);
        if let Some(held) = self.held.borrow().get(&key) {
            return Ok((held.clone(), true));
        }
        let target = Target { context: &self.context, arch: self.arch, device: &self.info.name, cache: &self.cache };
        let built = Rc::new(text.build(index, &target)?);
        let mut held = self.held.borrow_mut();
        if held.len() >= HELD {
            held.clear();
        }
        held.insert(key, built.clone());
        Ok((built, false))
    }

    /// Fills a large array in the device; whether that was done.
    fn fill(&self, at: u64, init: &Init, bytes: u64) -> Result<bool, DeviceError> {
        if bytes < fill::LARGE {
            return Ok(false);
        }
        let Some(filling) = fill::by_kernel(init, bytes, self.properties.multiprocessors) else { return Ok(false) };
        // Without a compiler the host does it.
        let built = match self.built(0, &filling.kernel) {
            Ok((built, _)) => built,
            Err(DeviceError::Build { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        if filling.zero_first {
            self.context.fill_later(at, 0, bytes as usize)?;
        }
        let args: Vec<Arg> = [Arg::Word(at)].into_iter().chain(filling.args).collect();
        self.context.launch(built.module.function, &filling.shape, &args)?;
        self.context.finish().map_err(|error| blame(error, &filling.kernel.name))?;
        Ok(true)
    }

    /// Text for a job's kernel.
    fn text(&self, index: usize, code: &CheckedCode) -> Result<KernelText, DeviceError> {
        let unsupported = |what: String| DeviceError::Unsupported { program: index, kernel: code.name().into(), what };
        match code {
            CheckedCode::Cuda(text) => {
                if text.cluster > 1 && !self.properties.clusters {
                    return Err(unsupported(format!("a cluster, which needs compute capability 9.0 ({} is {}),", self.info.id, self.arch)));
                }
                Ok(KernelText { name: text.entry.to_string(), text: text.text.clone(), entry: text.entry.to_string() })
            }
            CheckedCode::Program(program) => {
                // Static arrays beyond this do not compile.
                let local = local_bytes(program);
                if local > PLAIN_SHARED.into() {
                    let what =
                        format!("local arrays of kernel `{}`, which CUDA C++ declares as static shared memory, in bytes,", code.name());
                    return Err(DeviceError::Limit { what, needed: local, available: PLAIN_SHARED.into() });
                }
                let emitted = warpsight_emit::cuda(program).map_err(|error| unsupported(error.what))?;
                Ok(KernelText { name: code.name().into(), text: emitted.text(), entry: emitted.entry.to_string() })
            }
        }
    }

    /// The shape of a launch; `None` for a launch of nothing.
    fn shape(&self, checked: &CheckedJob, position: usize, memory: &[Memory]) -> Result<Option<Shape>, DeviceError> {
        let (launch, sizes) = (&checked.job.launches[position], &checked.sizes[position]);
        let bad = |what: String| DeviceError::BadJob(format!("`{}`: {what}", checked.codes[launch.program].name()));
        match &checked.codes[launch.program] {
            CheckedCode::Program(program) => {
                let grid = Grid::of(&program.launch);
                let (global, local) = grid.ndrange(sizes).map_err(|error| bad(error.to_string()))?;
                let mut blocks = [0; 3];
                for ((blocks, global), local) in blocks.iter_mut().zip(global).zip(local) {
                    *blocks = u32::try_from(global / local.max(1)).map_err(|_| bad(format!("{global} work-items exceed 32 bits")))?;
                }
                Ok((!blocks.contains(&0)).then(|| Shape::plain(blocks, grid.local)))
            }
            CheckedCode::Cuda(text) => {
                let pinned = text.pinned.map(|argument| launch.args[argument]);
                let window = match pinned.and_then(|position| memory[position].range()) {
                    Some((at, bytes)) => {
                        let window = Window::over(at, bytes, self.properties.most_set_aside, self.properties.most_window);
                        let what = format!("keeping memory in the L2 cache, which {} cannot,", self.info.name);
                        let refuse = || DeviceError::Unsupported { program: launch.program, kernel: text.entry.to_string(), what };
                        Some(window.ok_or_else(refuse)?)
                    }
                    None if pinned.is_some() => return Err(bad("an image cannot be kept in the cache".into())),
                    None => None,
                };
                let plain = Shape::plain(text.grid, text.block);
                let (dynamic_shared, cluster, cooperative) = (text.dynamic_shared, text.cluster, text.cooperative);
                Ok(Some(Shape { dynamic_shared, cluster, cooperative, window, ..plain }))
            }
        }
    }

    /// The arguments of a launch, with the textures and surfaces among them.
    fn args(&self, code: &CheckedCode, launch: &LaunchSpec, memory: &[Memory]) -> Result<(Vec<Arg>, Vec<View>), DeviceError> {
        let (mut args, mut views) = (Vec::new(), Vec::new());
        for (index, &position) in launch.args.iter().enumerate() {
            args.push(Arg::Word(match &memory[position] {
                Memory::Image(array) => {
                    let view = match code {
                        CheckedCode::Program(program) => match &program.params[index] {
                            param if writes(param) => array.surface()?,
                            param => array.texture(match &param.kind {
                                ParamKind::Image { border, .. } => *border,
                                _ => Border::Zero,
                            })?,
                        },
                        CheckedCode::Cuda(_) => array.texture(Border::Zero)?,
                    };
                    let object = view.object();
                    views.push(view);
                    object
                }
                buffer => buffer.range().map_or(0, |(at, _)| at),
            }));
        }
        for &size in &launch.sizes {
            let size = i32::try_from(size).map_err(|_| DeviceError::BadJob(format!("`{}`: size {size} exceeds 32 bits", code.name())))?;
            args.push(Arg::Int(size));
        }
        Ok((args, views))
    }

    /// Refuses ways of timing that this device has not.
    fn can_time(&self, checked: &CheckedJob) -> Result<(), DeviceError> {
        let Some(timing) = checked.job.timing else { return Ok(()) };
        let early = matches!(timing.submit, Submit::Programmatic | Submit::ProgrammaticGraph);
        let what = if early && !self.properties.clusters {
            format!("programmatic launch, which needs compute capability 9.0 ({} is {}),", self.info.id, self.arch)
        } else if timing.cache == CacheState::Flushed && timing.submit != Submit::Eager {
            "flushing caches between launches that are handed over as one or begin early".into()
        } else {
            return Ok(());
        };
        let kernel = checked.codes.first().map_or("", CheckedCode::name).into();
        Err(DeviceError::Unsupported { program: 0, kernel, what })
    }

    fn execute(&self, checked: &CheckedJob) -> Result<JobResult, DeviceError> {
        self.can_time(checked)?;
        let job = checked.job;
        let mut result = JobResult::default();
        let mut built = Vec::with_capacity(checked.codes.len());
        for (index, code) in checked.codes.iter().enumerate() {
            let (kernel, held) = self.built(index, &self.text(index, code)?)?;
            let mut feedback = kernel.feedback;
            feedback.cached |= held;
            result.feedback.push(feedback);
            built.push(kernel);
        }
        let memory = job.memory.iter().map(|spec| Memory::new(spec, &self.context, &|at, init, bytes| self.fill(at, init, bytes)));
        let memory = memory.collect::<Result<Vec<_>, _>>()?;
        // Sets and copies may go on after their calls, in a stream that the kernels' own does not wait for.
        self.context.settle()?;
        let mut launches = Vec::with_capacity(job.launches.len());
        for (position, launch) in job.launches.iter().enumerate() {
            let (code, built) = (&checked.codes[launch.program], built[launch.program].clone());
            let Some(shape) = self.shape(checked, position, &memory)? else {
                launches.push(None);
                continue;
            };
            shape.prepare(code.name(), &built.module, &self.context, &self.properties)?;
            result.feedback[launch.program].resident_groups = shape.resident(&built.module);
            let (args, views) = self.args(code, launch, &memory)?;
            launches.push(Some(Ready { built, shape, args, _views: views }));
        }
        let set_aside = launches.iter().flatten().filter_map(|ready| Some(ready.shape.window?.set_aside)).max();
        if let Some(bytes) = set_aside {
            self.context.set_persisting(bytes)?;
        }
        let done = self.passes(checked, launches, &memory, &mut result);
        if set_aside.is_some() {
            // What failed before says more.
            let reset = self.context.reset_persisting();
            done.and(reset)?;
        } else {
            done?;
        }
        Ok(result)
    }
}

impl Device for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        if let Some(why) = &self.lost {
            return Err(DeviceError::Lost(why.clone()));
        }
        let checked = CheckedJob::new(job)?;
        checked.fits(&self.info.limits, memory::footprint)?;
        let result = self.execute(&checked);
        if let Err(error @ (DeviceError::Lost(_) | DeviceError::Fault { .. })) = &result {
            // The context is gone with it: only a new process has another.
            self.lost = Some(format!("an earlier job ended the device's context: {error}"));
        }
        result
    }
}
