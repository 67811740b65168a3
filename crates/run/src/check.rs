//! What can be known of a job before a driver sees it: whether it fits its Programs, and whether the device has room for it.

use crate::{Code, Contents, CudaText, DeviceError, DeviceLimits, Job, LaunchSpec, MemoryKind, MemorySpec, Peek, Submit};
use std::collections::BTreeMap;
use warpsight_emit::grid::eval_size;
use warpsight_ir::{Access, Checked, Expr, Name, Param, ParamKind, Program, Space};

/// A job whose Programs are valid and whose launches fit them.
pub(crate) struct CheckedJob<'a> {
    /// As sent.
    pub(crate) job: &'a Job,
    /// [`Job::programs`], validated.
    pub(crate) codes: Vec<CheckedCode<'a>>,
    /// The sizes of each launch by name.
    pub(crate) sizes: Vec<BTreeMap<Name, i64>>,
}

/// What is compiled, validated.
pub(crate) enum CheckedCode<'a> {
    /// A valid Program.
    Program(Checked),
    /// Text.
    Cuda(&'a CudaText),
}

impl CheckedCode<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Program(program) => &program.name,
            Self::Cuda(text) => &text.entry,
        }
    }
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
        let codes = job.programs.iter().enumerate().map(|(i, code)| match code {
            Code::Program(program) => Checked::new(program.clone())
                .map(CheckedCode::Program)
                .map_err(|error| bad(format!("program {i} (`{}`): {error}", program.name))),
            Code::Cuda(text) => {
                check_text(text).map(|()| CheckedCode::Cuda(text)).map_err(|what| bad(format!("program {i} (`{}`): {what}", text.entry)))
            }
        });
        let codes = codes.collect::<Result<Vec<_>, _>>()?;
        for (i, memory) in job.memory.iter().enumerate() {
            let bytes = memory.kind.bytes();
            if bytes == 0 {
                return Err(bad(format!("memory {i} is empty")));
            }
            memory.init.check(bytes).map_err(|what| bad(format!("memory {i} {what}")))?;
        }
        if let Some(position) = job.read.iter().find(|&&position| position >= job.memory.len()) {
            return Err(bad(format!("memory {position} is to be read, there are {}", job.memory.len())));
        }
        for (i, peek) in job.peek.iter().enumerate() {
            check_peek(job, peek).map_err(|what| bad(format!("peek {i}: {what}")))?;
        }
        let sizes = job.launches.iter().enumerate().map(|(i, launch)| {
            let code = codes.get(launch.program).ok_or_else(|| bad(format!("launch {i}: there is no program {}", launch.program)))?;
            let sizes = match code {
                CheckedCode::Program(program) => check_launch(job, program, launch),
                CheckedCode::Cuda(text) => check_text_launch(job, text, launch),
            };
            sizes.map_err(|what| bad(format!("launch {i} (`{}`): {what}", code.name())))
        });
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { job, codes, sizes })
    }

    /// The Programs, for a back end that takes nothing else.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for the first text, or for a way of timing other than `submit` and `cache`.
    pub(crate) fn programs(&self) -> Result<Vec<&Checked>, DeviceError> {
        let unsupported = |program, what: &str| DeviceError::Unsupported {
            program,
            kernel: self.codes.get(program).map_or("", CheckedCode::name).into(),
            what: what.into(),
        };
        if self.job.timing.is_some_and(|timing| timing.submit != Submit::Eager) {
            return Err(unsupported(0, "a graph or programmatic launch"));
        }
        let programs = self.codes.iter().enumerate().map(|(i, code)| match code {
            CheckedCode::Program(program) => Ok(program),
            CheckedCode::Cuda(_) => Err(unsupported(i, "CUDA C++ text")),
        });
        programs.collect()
    }

    /// Checks a device's limits; `footprint` is what a piece of memory takes there, in bytes, asked once its extents are in bounds.
    ///
    /// # Errors
    /// [`DeviceError::Limit`] for the first thing that does not fit.
    pub(crate) fn fits(&self, limits: &DeviceLimits, footprint: impl Fn(&MemorySpec) -> u64) -> Result<(), DeviceError> {
        for launch in &self.job.launches {
            match &self.codes[launch.program] {
                CheckedCode::Program(program) => group_fits(program, limits)?,
                CheckedCode::Cuda(text) => block_fits(&text.entry, text.block, limits)?,
            }
        }
        for (i, memory) in self.job.memory.iter().enumerate() {
            if let MemoryKind::Image { width, height, .. } = memory.kind
                && let Some((widest, highest)) = limits.image_2d
            {
                within(|| format!("the width of memory {i}, an image of {width} × {height} texels,"), width.into(), widest.into())?;
                within(|| format!("the height of memory {i}, an image of {width} × {height} texels,"), height.into(), highest.into())?;
            }
            if let Some(most) = limits.max_allocation {
                within(|| format!("memory {i} with its guards, in bytes,"), footprint(memory), most)?;
            }
        }
        match limits.memory {
            Some(most) => {
                let needed = self.job.memory.iter().fold(0, |sum: u64, memory| sum.saturating_add(footprint(memory)));
                within(|| "all memory of the job, in bytes,".into(), needed, most)
            }
            None => Ok(()),
        }
    }
}

fn within(what: impl FnOnce() -> String, needed: u64, available: u64) -> Result<(), DeviceError> {
    if needed <= available { Ok(()) } else { Err(DeviceError::Limit { what: what(), needed, available }) }
}

/// Whether a Program's group and local memory fit.
fn group_fits(program: &Program, limits: &DeviceLimits) -> Result<(), DeviceError> {
    block_fits(&program.name, warpsight_emit::Grid::of(&program.launch).local, limits)?;
    if let Some(most) = limits.local_bytes {
        within(|| format!("local memory of kernel `{}`, in bytes,", program.name), local_bytes(program), most)?;
    }
    Ok(())
}

/// Whether a work-group of that extent fits.
fn block_fits(name: &str, local: [u32; 3], limits: &DeviceLimits) -> Result<(), DeviceError> {
    if let Some(most) = limits.max_group_size {
        let group = local.into_iter().fold(1, |n: u64, extent| n.saturating_mul(extent.into()));
        within(|| format!("a work-group of kernel `{name}`"), group, most.into())?;
    }
    if let Some(most) = limits.max_group_dims {
        for (dimension, (needed, available)) in local.into_iter().zip(most).enumerate() {
            within(|| format!("dimension {dimension} of a work-group of kernel `{name}`"), needed.into(), available.into())?;
        }
    }
    Ok(())
}

/// Whether text can be launched at all.
fn check_text(text: &CudaText) -> Result<(), String> {
    if text.grid.contains(&0) || text.block.contains(&0) {
        return Err("a launch of no blocks or threads".into());
    }
    if text.cluster == 0 || !text.grid[0].is_multiple_of(text.cluster) {
        return Err(format!("clusters of {} do not divide {} blocks", text.cluster, text.grid[0]));
    }
    Ok(())
}

/// Whether a launch of text refers to what there is. Text has no named sizes.
fn check_text_launch(job: &Job, text: &CudaText, launch: &LaunchSpec) -> Result<BTreeMap<Name, i64>, String> {
    if let Some(position) = launch.args.iter().find(|&&position| position >= job.memory.len()) {
        return Err(format!("an argument is memory {position}, there are {}", job.memory.len()));
    }
    match text.pinned {
        Some(pinned) if pinned >= launch.args.len() => {
            Err(format!("argument {pinned} is to stay in the cache, there are {}", launch.args.len()))
        }
        _ => Ok(BTreeMap::new()),
    }
}

/// Whether pieces lie in a buffer.
fn check_peek(job: &Job, peek: &Peek) -> Result<(), String> {
    match job.memory.get(peek.memory).map(|memory| memory.kind) {
        None => Err(format!("there is no memory {}", peek.memory)),
        Some(MemoryKind::Image { .. }) => Err(format!("memory {} is an image", peek.memory)),
        Some(MemoryKind::Buffer { bytes }) => {
            let beyond = peek.offsets.iter().find(|offset| offset.saturating_add(peek.bytes.into()) > bytes);
            beyond.map_or(Ok(()), |offset| {
                Err(format!("{} bytes from {offset} on lie outside memory {} of {bytes}", peek.bytes, peek.memory))
            })
        }
    }
}

/// The pieces of a buffer's contents.
pub(crate) fn pieces(peek: &Peek, contents: &[u8]) -> Contents {
    Contents(peek.offsets.iter().flat_map(|&offset| &contents[offset as usize..][..peek.bytes as usize]).copied().collect())
}

/// Bytes of local memory a group needs.
pub(crate) fn local_bytes(program: &Program) -> u64 {
    let arrays = program.arrays.iter().filter(|array| array.space == Space::Local);
    arrays.map(|array| array.len() as u64 * u64::from(array.element.bytes())).sum()
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
pub(crate) fn writes(param: &Param) -> bool {
    match &param.kind {
        ParamKind::Buffer { access, .. } | ParamKind::Image { access, .. } => *access != Access::Read,
        ParamKind::Channel { .. } => true,
    }
}

/// Bytes a parameter has with these sizes.
///
/// # Errors
/// In words, when an extent has no value.
pub(crate) fn argument_bytes(param: &Param, sizes: &BTreeMap<Name, i64>) -> Result<u64, String> {
    let product = |mut bytes: u64, dims: &[&Expr]| {
        for dim in dims {
            bytes = bytes.checked_mul(extent(dim, sizes)?).ok_or("its size in bytes exceeds 64 bits")?;
        }
        Ok(bytes)
    };
    match &param.kind {
        ParamKind::Buffer { element, dims, .. } => product(element.bytes().into(), &dims.iter().collect::<Vec<_>>()),
        ParamKind::Image { format, width, height, .. } => product(format.bytes().into(), &[width, height]),
        ParamKind::Channel { .. } => Ok(0),
    }
}

/// The value of an extent.
fn extent(expr: &Expr, sizes: &BTreeMap<Name, i64>) -> Result<u64, String> {
    let value = eval_size(expr, sizes).map_err(|error| error.to_string())?;
    u64::try_from(value).map_err(|_| format!("an extent is {value}"))
}

/// Whether memory is what a parameter needs: of its kind, and at least as large.
fn check_argument(param: &Param, memory: MemoryKind, sizes: &BTreeMap<Name, i64>) -> Result<(), String> {
    match (&param.kind, memory) {
        (ParamKind::Buffer { .. }, MemoryKind::Buffer { bytes }) => {
            let needed = argument_bytes(param, sizes)?;
            if needed > bytes { Err(format!("{needed} bytes are needed, it has {bytes}")) } else { Ok(()) }
        }
        (ParamKind::Image { format, width, height, .. }, MemoryKind::Image { format: has, width: w, height: h }) => {
            let (width, height) = (extent(width, sizes)?, extent(height, sizes)?);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Init;
    use crate::TimingSpec;
    use crate::testing::scale_job;
    use warpsight_ir::{Array, ImageFormat, LaneAxis, Scalar};

    fn refusal(change: impl FnOnce(&mut Job)) -> String {
        let mut job = scale_job(&[1.0; 37], Some(TimingSpec::runs(1)));
        change(&mut job);
        match CheckedJob::new(&job).err() {
            Some(DeviceError::BadJob(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_job_that_contradicts_itself_is_refused() {
        let job = scale_job(&[1.0; 37], None);
        assert_eq!(CheckedJob::new(&job).unwrap().sizes[0]["n"], 37);
        for (expected, what) in [
            ("launch 0 (`scale`): 0 sizes for 1", refusal(|job| job.launches[0].sizes.clear())),
            ("launch 0 (`scale`): size `n` is 0, outside 1 to 1000", refusal(|job| job.launches[0].sizes[0] = 0)),
            ("launch 0 (`scale`): 3 arguments for 2 parameters", refusal(|job| job.launches[0].args.push(0))),
            ("launch 0 (`scale`): `y` is bound to memory 2, there are 2", refusal(|job| job.launches[0].args[1] = 2)),
            ("launch 0 (`scale`): `x`, memory 0: 152 bytes are needed, it has 148", refusal(|job| job.launches[0].sizes[0] = 38)),
            (
                "launch 0 (`scale`): `x` and `y` are both memory 0, and one of them is written",
                refusal(|job| job.launches[0].args = vec![0, 0]),
            ),
            ("launch 0: there is no program 1", refusal(|job| job.launches[0].program = 1)),
            ("memory 2 is to be read, there are 2", refusal(|job| job.read = vec![1, 2])),
            ("memory 0 has 148 bytes, its first contents 3", refusal(|job| job.memory[0].init = Init::Data(vec![0; 3]))),
            ("memory 1 is empty", refusal(|job| job.memory[1].kind = MemoryKind::Buffer { bytes: 0 })),
            (
                "launch 0 (`scale`): `y`, memory 1: a buffer is needed, it is an image",
                refusal(|job| job.memory[1].kind = MemoryKind::Image { format: ImageFormat::Rgba32F, width: 64, height: 64 }),
            ),
        ] {
            assert_eq!(what, expected);
        }
    }

    #[test]
    fn images_fit_exactly() {
        let param = |format| Param {
            name: "i".into(),
            kind: ParamKind::Image {
                format,
                width: Expr::Size("w".into()),
                height: Expr::int(4),
                access: Access::Read,
                border: warpsight_ir::Border::Zero,
            },
        };
        let sizes = BTreeMap::from([("w".into(), 8)]);
        let image = |width, height| MemoryKind::Image { format: ImageFormat::Rgba16F, width, height };
        assert_eq!(check_argument(&param(ImageFormat::Rgba16F), image(8, 4), &sizes), Ok(()));
        assert_eq!(check_argument(&param(ImageFormat::Rgba16F), image(9, 4), &sizes).unwrap_err(), "8 × 4 texels are needed, it has 9 × 4");
        assert_eq!(
            check_argument(&param(ImageFormat::Rgba32F), image(8, 4), &sizes).unwrap_err(),
            "the format Rgba32F is needed, it has Rgba16F"
        );
        assert_eq!(
            check_argument(&param(ImageFormat::Rgba16F), MemoryKind::Buffer { bytes: 1 }, &sizes).unwrap_err(),
            "an image is needed, it is a buffer"
        );
    }

    #[test]
    fn groups_and_local_memory_are_held_against_the_limits() {
        let limits =
            DeviceLimits { max_group_size: Some(64), max_group_dims: Some([64, 8, 8]), local_bytes: Some(1024), ..Default::default() };
        let program = |lanes: &[u32], local: u32| {
            let Code::Program(mut program) = scale_job(&[1.0], None).programs.remove(0) else { panic!() };
            let axis = |(i, &extent): (usize, &u32)| LaneAxis { name: format!("l{i}").into(), extent };
            program.launch.lanes = lanes.iter().enumerate().map(axis).collect();
            program.arrays.push(Array { name: "t".into(), space: Space::Local, element: Scalar::F16, dims: vec![2, local] });
            program
        };
        let limit = |what: &str, needed, available| Err(DeviceError::Limit { what: what.into(), needed, available });
        assert_eq!(group_fits(&program(&[64], 256), &limits), Ok(()));
        assert_eq!(group_fits(&program(&[65], 1), &limits), limit("a work-group of kernel `scale`", 65, 64));
        assert_eq!(group_fits(&program(&[2, 16], 1), &limits), limit("dimension 1 of a work-group of kernel `scale`", 16, 8));
        assert_eq!(group_fits(&program(&[8], 257), &limits), limit("local memory of kernel `scale`, in bytes,", 1028, 1024));
        assert_eq!(group_fits(&program(&[65535, 65535], 257), &DeviceLimits::default()), Ok(()), "nothing is known");
    }

    #[test]
    fn unknown_limits_stop_nothing() {
        let mut job = scale_job(&[1.0], None);
        job.memory.push(MemorySpec { kind: MemoryKind::Buffer { bytes: u64::MAX }, init: Init::Poison, canaries: false });
        let checked = CheckedJob::new(&job).unwrap();
        assert_eq!(checked.fits(&DeviceLimits::default(), |memory| memory.kind.bytes()), Ok(()));
        let limits = DeviceLimits { memory: Some(u64::MAX - 1), ..Default::default() };
        assert!(matches!(checked.fits(&limits, |memory| memory.kind.bytes()), Err(DeviceError::Limit { needed: u64::MAX, .. })));
    }
}
