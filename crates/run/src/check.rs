//! What can be known of a job before a driver sees it: whether it fits its Programs, and whether the device has room for it.

use crate::{DeviceError, DeviceLimits, Init, Job, LaunchSpec, MemoryKind};
use std::collections::BTreeMap;
use warpsight_emit::grid::eval_size;
use warpsight_ir::{Access, Checked, Expr, Name, Param, ParamKind, Program, Space};

/// A job whose Programs are valid and whose launches fit them.
pub(crate) struct CheckedJob<'a> {
    /// As sent.
    pub(crate) job: &'a Job,
    /// [`Job::programs`], validated.
    pub(crate) programs: Vec<Checked>,
    /// The sizes of each launch by name.
    pub(crate) sizes: Vec<BTreeMap<Name, i64>>,
}

fn bad(what: impl Into<String>) -> DeviceError {
    DeviceError::BadJob(what.into())
}

impl<'a> CheckedJob<'a> {
    /// Checks everything that does not depend on the device.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] says which memory, program or launch is wrong, by its position.
    pub(crate) fn new(job: &'a Job) -> Result<Self, DeviceError> {
        let programs =
            job.programs.iter().enumerate().map(|(i, program)| {
                Checked::new(program.clone()).map_err(|error| bad(format!("program {i} (`{}`): {error}", program.name)))
            });
        let programs = programs.collect::<Result<Vec<_>, _>>()?;
        for (i, memory) in job.memory.iter().enumerate() {
            let bytes = memory.kind.bytes();
            if bytes == 0 {
                return Err(bad(format!("memory {i} is empty")));
            }
            if let Init::Data(data) = &memory.init
                && data.len() as u64 != bytes
            {
                return Err(bad(format!("memory {i} has {bytes} bytes, its first contents {}", data.len())));
            }
        }
        if let Some(position) = job.read.iter().find(|&&position| position >= job.memory.len()) {
            return Err(bad(format!("memory {position} is to be read, there are {}", job.memory.len())));
        }
        let sizes = job.launches.iter().enumerate().map(|(i, launch)| {
            let program = programs.get(launch.program).ok_or_else(|| bad(format!("launch {i}: there is no program {}", launch.program)))?;
            check_launch(job, program, launch).map_err(|what| bad(format!("launch {i} (`{}`): {what}", program.name)))
        });
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { job, programs, sizes })
    }

    /// Checks a device's limits; `footprint` is what each piece of memory takes there, in bytes.
    ///
    /// # Errors
    /// [`DeviceError::Limit`] for the first thing that does not fit.
    pub(crate) fn fits(&self, limits: &DeviceLimits, footprint: &[u64]) -> Result<(), DeviceError> {
        for launch in &self.job.launches {
            group_fits(&self.programs[launch.program], limits)?;
        }
        for (i, memory) in self.job.memory.iter().enumerate() {
            match memory.kind {
                MemoryKind::Image { width, height, .. } => {
                    let Some((widest, highest)) = limits.image_2d else { continue };
                    within(|| format!("the width of memory {i}, an image of {width} × {height} texels,"), width.into(), widest.into())?;
                    within(|| format!("the height of memory {i}, an image of {width} × {height} texels,"), height.into(), highest.into())?;
                }
                MemoryKind::Buffer { .. } => {
                    if let Some(most) = limits.max_allocation {
                        within(|| format!("memory {i}, a buffer with its guards, in bytes,"), footprint[i], most)?;
                    }
                }
            }
        }
        match limits.memory {
            Some(most) => within(|| "all memory of the job, in bytes,".into(), footprint.iter().fold(0, |a, b| a.saturating_add(*b)), most),
            None => Ok(()),
        }
    }
}

fn within(what: impl FnOnce() -> String, needed: u64, available: u64) -> Result<(), DeviceError> {
    if needed <= available { Ok(()) } else { Err(DeviceError::Limit { what: what(), needed, available }) }
}

/// Whether a Program's group and local memory fit.
fn group_fits(program: &Program, limits: &DeviceLimits) -> Result<(), DeviceError> {
    let name = &program.name;
    let group: u64 = program.launch.lanes.iter().fold(1, |n, axis| n.saturating_mul(axis.extent.into()));
    if let Some(most) = limits.max_group_size {
        within(|| format!("a work-group of kernel `{name}`"), group, most.into())?;
    }
    if let Some(most) = limits.max_group_dims {
        let local = warpsight_emit::Grid::of(&program.launch).local;
        for (dimension, (needed, available)) in local.into_iter().zip(most).enumerate() {
            within(|| format!("dimension {dimension} of a work-group of kernel `{name}`"), needed.into(), available.into())?;
        }
    }
    if let Some(most) = limits.local_bytes {
        let arrays = program.arrays.iter().filter(|array| array.space == Space::Local);
        let needed = arrays.map(|array| array.len() as u64 * u64::from(array.element.bytes())).sum();
        within(|| format!("local memory of kernel `{name}`, in bytes,"), needed, most)?;
    }
    Ok(())
}

/// Whether a launch gives its Program what it declares. The sizes by name.
fn check_launch(job: &Job, program: &Program, launch: &LaunchSpec) -> Result<BTreeMap<Name, i64>, String> {
    let (given, wanted) = (launch.sizes.len(), program.sizes.len());
    if given != wanted {
        return Err(format!("{given} sizes for {wanted}"));
    }
    let mut sizes = BTreeMap::new();
    for (size, &value) in program.sizes.iter().zip(&launch.sizes) {
        if !(size.lo..=size.hi).contains(&value) {
            return Err(format!("size `{}` is {value}, outside {} to {}", size.name, size.lo, size.hi));
        }
        sizes.insert(size.name.clone(), value);
    }
    let (given, wanted) = (launch.args.len(), program.params.len());
    if given != wanted {
        return Err(format!("{given} arguments for {wanted} parameters"));
    }
    for (param, &position) in program.params.iter().zip(&launch.args) {
        let memory = job
            .memory
            .get(position)
            .ok_or_else(|| format!("`{}` is bound to memory {position}, there are {}", param.name, job.memory.len()))?;
        check_argument(param, memory.kind, &sizes).map_err(|what| format!("`{}`, memory {position}: {what}", param.name))?;
    }
    // Emitted pointers are `restrict`.
    for (i, (param, position)) in program.params.iter().zip(&launch.args).enumerate() {
        let again = program.params.iter().zip(&launch.args).skip(i + 1).find(|(_, other)| *other == position);
        if let Some((other, _)) = again
            && (writes(param) || writes(other))
        {
            return Err(format!("`{}` and `{}` are both memory {position}, and one of them is written", param.name, other.name));
        }
    }
    Ok(sizes)
}

/// Whether a parameter is written.
fn writes(param: &Param) -> bool {
    match &param.kind {
        ParamKind::Buffer { access, .. } | ParamKind::Image { access, .. } => *access != Access::Read,
        ParamKind::Channel { .. } => true,
    }
}

/// Whether memory is what a parameter needs: of its kind, and at least as large.
fn check_argument(param: &Param, memory: MemoryKind, sizes: &BTreeMap<Name, i64>) -> Result<(), String> {
    let extent = |expr: &Expr| match eval_size(expr, sizes) {
        Ok(value) if value >= 0 => Ok(value as u64),
        Ok(value) => Err(format!("an extent is {value}")),
        Err(error) => Err(error.to_string()),
    };
    match (&param.kind, memory) {
        (ParamKind::Buffer { element, dims, .. }, MemoryKind::Buffer { bytes }) => {
            let mut needed = u64::from(element.bytes());
            for dim in dims {
                needed = needed.checked_mul(extent(dim)?).ok_or("its size in bytes exceeds 64 bits")?;
            }
            if needed > bytes { Err(format!("{needed} bytes are needed, it has {bytes}")) } else { Ok(()) }
        }
        (ParamKind::Image { format, width, height, .. }, MemoryKind::Image { format: has, width: w, height: h }) => {
            let (width, height) = (extent(width)?, extent(height)?);
            if *format != has {
                Err(format!("the format {format:?} is needed, it has {has:?}"))
            } else if (width, height) != (w.into(), h.into()) {
                // Larger would do for memory, but not for reads outside: the border must be where the Program has it.
                Err(format!("{width} × {height} texels are needed, it has {w} × {h}"))
            } else {
                Ok(())
            }
        }
        (ParamKind::Buffer { .. }, MemoryKind::Image { .. }) => Err("a buffer is needed, it is an image".into()),
        (ParamKind::Image { .. }, MemoryKind::Buffer { .. }) => Err("an image is needed, it is a buffer".into()),
        (ParamKind::Channel { .. }, _) => Err("a channel needs Programs that run together, a job runs them one by one".into()),
    }
}
