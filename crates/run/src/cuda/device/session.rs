//! A device's sessions: what is asked of one, in the driver's terms.

use super::memory::{self, Memory};
use super::passes::{self, Ready, blame};
use super::{Cuda, fill};
use crate::check::{CheckedCode, CheckedLaunch, Ledger, local_bytes, writes};
use crate::cuda::compile::{Built, KernelText};
use crate::cuda::driver::{Arg, PLAIN_SHARED, Shape, View, Window};
use crate::refusal::Reason;
use crate::{
    CacheState, Code, Device, DeviceError, DeviceInfo, Init, LaunchSpec, Look, MemorySpec, Seen, Session, Submit, Timed, TimingSpec,
};
use std::collections::HashMap;
use std::rc::Rc;
use warpsight_emit::Grid;
use warpsight_ir::{Border, Feedback, ParamKind};

impl Cuda {
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

    /// Text for a session's kernel.
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
    fn shape(&self, code: &CheckedCode, launch: &CheckedLaunch, memory: &[Memory]) -> Result<Option<Shape>, DeviceError> {
        let bad = |reason: Reason| reason.at(launch.field.clone());
        match code {
            CheckedCode::Program(program) => {
                let grid = Grid::of(&program.launch);
                let (global, local) = grid.ndrange(&launch.named).map_err(|error| bad(Reason::Extent(error.to_string())))?;
                let mut blocks = [0; 3];
                for ((blocks, global), local) in blocks.iter_mut().zip(global).zip(local) {
                    let beyond = || bad(Reason::Beyond32Bits { what: format!("{global} work-items") });
                    *blocks = u32::try_from(global / local.max(1)).map_err(|_| beyond())?;
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
                    None if pinned.is_some() => return Err(bad(Reason::PinnedImage)),
                    None => None,
                };
                let plain = Shape::plain(text.grid, text.block);
                let (dynamic_shared, cluster, cooperative) = (text.dynamic_shared, text.cluster, text.cooperative);
                Ok(Some(Shape { dynamic_shared, cluster, cooperative, window, ..plain }))
            }
        }
    }

    /// The arguments of a launch, with the textures and surfaces among them.
    fn args(&self, code: &CheckedCode, launch: &CheckedLaunch, memory: &[Memory]) -> Result<(Vec<Arg>, Vec<View>), DeviceError> {
        let (mut args, mut views) = (Vec::new(), Vec::new());
        for (index, &position) in launch.args.iter().enumerate() {
            args.push(Arg::Word(match &memory[position] {
                Memory::Image(image) => {
                    let view = match code {
                        CheckedCode::Program(program) => match &program.params[index] {
                            param if writes(param) => image.written()?,
                            param => image.texture(match &param.kind {
                                ParamKind::Image { border, .. } => *border,
                                _ => Border::Zero,
                            })?,
                        },
                        CheckedCode::Cuda(_) => image.texture(Border::Zero)?,
                    };
                    let object = view.object();
                    views.push(view);
                    object
                }
                buffer => buffer.range().map_or(0, |(at, _)| at),
            }));
        }
        for &size in &launch.sizes {
            let beyond = || Reason::Beyond32Bits { what: format!("size {size}") }.at(launch.field.clone());
            args.push(Arg::Int(i32::try_from(size).map_err(|_| beyond())?));
        }
        Ok((args, views))
    }

    /// Refuses ways of timing that this device has not.
    fn can_time(&self, timing: TimingSpec, ledger: &Ledger) -> Result<(), DeviceError> {
        let early = matches!(timing.submit, Submit::Programmatic | Submit::ProgrammaticGraph);
        if early && !self.properties.clusters {
            let what = format!("programmatic launch, which needs compute capability 9.0 ({} is {}),", self.info.id, self.arch);
            return Err(ledger.no_timing(what));
        }
        if timing.cache == CacheState::Flushed && timing.submit != Submit::Eager {
            return Err(ledger.no_timing("flushing caches between launches that are handed over as one or begin early"));
        }
        Ok(())
    }
}

impl Device for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.alive()?;
        let ledger = Ledger::open(memory, &self.info.limits, memory::footprint)?;
        let fill = |at, init: &Init, bytes| self.fill(at, init, bytes);
        let made = memory.iter().enumerate().map(|(i, spec)| Memory::new(i, spec, &self.context, &fill)).collect();
        let memory = self.watch(made)?;
        Ok(Box::new(CudaSession { cuda: self, ledger, memory, kernels: HashMap::new(), prepared: None }))
    }
}

/// Memory of an NVIDIA GPU, and what works on it.
struct CudaSession<'a> {
    cuda: &'a Cuda,
    ledger: Ledger,
    memory: Vec<Memory>,
    /// For a code of the ledger, its kernel, and what is known of it.
    kernels: HashMap<usize, (Rc<Built>, Feedback)>,
    /// The last launches, ready: a program runs them again and again.
    prepared: Option<Prepared>,
}

#[derive(Clone)]
struct Prepared {
    specs: Vec<LaunchSpec>,
    /// The names of their kernels.
    names: Rc<[String]>,
    launches: Rc<[Option<Ready>]>,
    feedback: Vec<Feedback>,
}

impl CudaSession<'_> {
    /// `position` is that of the program as the user counts.
    fn build(&self, position: usize, code: &CheckedCode) -> Result<(Rc<Built>, Feedback), DeviceError> {
        let (built, held) = self.cuda.built(position, &self.cuda.text(position, code)?)?;
        let feedback = Feedback { cached: built.feedback.cached || held, ..built.feedback };
        Ok((built, feedback))
    }

    fn prepare(&mut self, specs: &[LaunchSpec]) -> Result<Prepared, DeviceError> {
        if let Some(prepared) = self.prepared.as_ref().filter(|prepared| prepared.specs == specs) {
            return Ok(prepared.clone());
        }
        let checked = self.ledger.launches(specs)?;
        let (mut launches, mut names, mut feedback) = (vec![], vec![], vec![]);
        for launch in &checked {
            let code = self.ledger.code(launch.code);
            if !self.kernels.contains_key(&launch.code) {
                // One that works in place.
                self.kernels.insert(launch.code, self.build(launch.program, code)?);
            }
            let (built, said) = &self.kernels[&launch.code];
            names.push(code.name().to_owned());
            feedback.push(*said);
            let Some(shape) = self.cuda.shape(code, launch, &self.memory)? else {
                launches.push(None);
                continue;
            };
            shape.prepare(code.name(), &built.module, &self.cuda.context, &self.cuda.properties)?;
            if let Some(said) = feedback.last_mut() {
                said.resident_groups = shape.resident(&built.module);
            }
            let (args, views) = self.cuda.args(code, launch, &self.memory)?;
            launches.push(Some(Ready { built: built.clone(), shape, args, _views: views }));
        }
        let prepared = Prepared { specs: specs.to_vec(), names: names.into(), launches: launches.into(), feedback };
        self.prepared = Some(prepared.clone());
        Ok(prepared)
    }

    /// Runs something with as much of the L2 cache set aside as launches want.
    fn persisting<T>(&self, launches: &[Option<Ready>], run: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        let set_aside = launches.iter().flatten().filter_map(|ready| Some(ready.shape.window?.set_aside)).max();
        let Some(bytes) = set_aside else { return run() };
        self.cuda.context.set_persisting(bytes)?;
        let done = run();
        // What failed before says more.
        let reset = self.cuda.context.reset_persisting();
        let done = done?;
        reset.map(|()| done)
    }
}

impl Session for CudaSession<'_> {
    fn load(&mut self, programs: &[Code]) -> Result<Vec<Feedback>, DeviceError> {
        self.cuda.alive()?;
        let (codes, first) = (self.ledger.check(programs)?, self.ledger.loaded());
        let built = codes.iter().enumerate().map(|(i, code)| self.build(first + i, code)).collect::<Result<Vec<_>, _>>();
        let built = self.cuda.watch(built)?;
        let feedback = built.iter().map(|(_, said)| *said).collect();
        for (code, kernel) in codes.into_iter().zip(built) {
            self.kernels.insert(self.ledger.add(code), kernel);
        }
        Ok(feedback)
    }

    fn write(&mut self, memory: usize, contents: &Init) -> Result<(), DeviceError> {
        self.cuda.alive()?;
        self.ledger.writable(memory, contents)?;
        let fill = |at, init: &Init, bytes| self.cuda.fill(at, init, bytes);
        self.cuda.watch(self.memory[memory].write(memory, contents, &fill))
    }

    fn launch(&mut self, launches: &[LaunchSpec]) -> Result<Vec<Feedback>, DeviceError> {
        self.cuda.alive()?;
        let prepared = self.prepare(launches);
        let prepared = self.cuda.watch(prepared)?;
        let run = || self.cuda.pass(&prepared.launches, &prepared.names);
        self.cuda.watch(self.persisting(&prepared.launches, run))?;
        Ok(prepared.feedback)
    }

    fn time(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Timed, DeviceError> {
        self.cuda.alive()?;
        self.cuda.can_time(timing, &self.ledger)?;
        let prepared = self.prepare(launches);
        let prepared = self.cuda.watch(prepared)?;
        let run = || self.cuda.timed(&prepared.launches, &prepared.names, timing);
        self.cuda.watch(self.persisting(&prepared.launches, run))
    }

    fn look(&mut self, look: &Look) -> Result<Seen, DeviceError> {
        self.cuda.alive()?;
        self.ledger.readable(look)?;
        self.cuda.watch(passes::look(look, self.ledger.memory(), &self.memory))
    }
}
