//! What can be known of a session before a driver sees it: what it holds, whether requests fit that, and whether the device has room.

use crate::refusal::{Field, Reason};
use crate::{
    Code, Contents, CudaText, DeviceError, DeviceLimits, Init, LaunchSpec, Look, MemoryKind, MemorySpec, Peek, Submit, TimingSpec,
};
use std::collections::{BTreeMap, HashMap};
use warpsight_emit::grid::eval_size;
use warpsight_ir::text::Word;
use warpsight_ir::{Access, Checked, Expr, ImageKind, Name, Param, ParamKind, Program, Space, in_place};

/// What a session holds.
pub(crate) struct Ledger {
    limits: DeviceLimits,
    memory: Vec<Held>,
    /// What was loaded, and behind it what launches in place made of that.
    codes: Vec<CheckedCode>,
    /// For each program that was loaded, its position in `codes`.
    loaded: Vec<usize>,
    /// Launches that were shown to work in place, each with its position in `codes` and what the parameters left there are bound to.
    shown: HashMap<LaunchSpec, (usize, Vec<usize>)>,
}

/// A piece of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) kind: MemoryKind,
    pub(crate) canaries: bool,
}

/// What is compiled, validated.
#[derive(Clone, PartialEq)]
pub(crate) enum CheckedCode {
    /// A valid Program.
    Program(Checked),
    /// Text.
    Cuda(CudaText),
}

impl CheckedCode {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Program(program) => &program.name,
            Self::Cuda(text) => &text.entry,
        }
    }

    /// For a back end that takes nothing but Programs; `program` is the position as the user counts.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for text.
    pub(crate) fn program(&self, program: usize) -> Result<&Checked, DeviceError> {
        match self {
            Self::Program(checked) => Ok(checked),
            Self::Cuda(_) => Err(DeviceError::Unsupported { program, kernel: self.name().into(), what: "CUDA C++ text".into() }),
        }
    }
}

/// A launch that fits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckedLaunch {
    /// Position in [`Ledger::codes`].
    pub(crate) code: usize,
    /// The program as the user counts.
    pub(crate) program: usize,
    /// What errors call it.
    pub(crate) field: Field,
    /// Memory of each parameter of the code.
    pub(crate) args: Vec<usize>,
    /// A value per size parameter, in order.
    pub(crate) sizes: Vec<i64>,
    /// The same by name.
    pub(crate) named: BTreeMap<Name, i64>,
}

impl Ledger {
    /// Memory that fits the device; `footprint` is what a piece of it takes there, in bytes, asked once its extents are in bounds.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] says which piece is wrong, [`DeviceError::Limit`] which does not fit.
    pub(crate) fn open(memory: &[MemorySpec], limits: &DeviceLimits, footprint: impl Fn(&Held) -> u64) -> Result<Self, DeviceError> {
        for (i, spec) in memory.iter().enumerate() {
            if spec.kind.bytes() == 0 {
                return Err(Reason::Empty.at(Field::Memory(i)));
            }
            spec.init.check(spec.kind.bytes()).map_err(|error| error.of(i))?;
        }
        let memory: Vec<Held> = memory.iter().map(|spec| Held { kind: spec.kind, canaries: spec.canaries }).collect();
        room(&memory, limits, footprint)?;
        Ok(Self { limits: limits.clone(), memory, codes: vec![], loaded: vec![], shown: HashMap::new() })
    }

    pub(crate) fn memory(&self) -> &[Held] {
        &self.memory
    }

    pub(crate) fn code(&self, position: usize) -> &CheckedCode {
        &self.codes[position]
    }

    /// Programs that are valid, and whose groups fit: they are not loaded yet.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] and [`DeviceError::Limit`] for the first that is not, or does not.
    pub(crate) fn check(&self, programs: &[Code]) -> Result<Vec<CheckedCode>, DeviceError> {
        let check = |(i, code): (usize, &Code)| {
            let field = Field::Program { program: self.loaded.len() + i, kernel: code.name().to_owned() };
            match code {
                Code::Program(program) => {
                    let checked = Checked::new(program.clone()).map_err(|error| Reason::Invalid(error.to_string()).at(field))?;
                    group_fits(&checked, &self.limits)?;
                    Ok(CheckedCode::Program(checked))
                }
                Code::Cuda(text) => {
                    check_text(text).map_err(|reason| reason.at(field))?;
                    block_fits(&text.entry, text.block, &self.limits)?;
                    Ok(CheckedCode::Cuda(text.clone()))
                }
            }
        };
        programs.iter().enumerate().map(check).collect()
    }

    /// How many programs are loaded: the next one's position as the user counts.
    pub(crate) fn loaded(&self) -> usize {
        self.loaded.len()
    }

    /// Takes up a program that was checked, and that the driver took; its position among the codes.
    pub(crate) fn add(&mut self, code: CheckedCode) -> usize {
        self.loaded.push(self.codes.len());
        self.codes.push(code);
        self.codes.len() - 1
    }

    /// Launches that fit their programs. One that works in place gets a code of its own, behind the others.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] says which launch is wrong, by its position.
    pub(crate) fn launches(&mut self, launches: &[LaunchSpec]) -> Result<Vec<CheckedLaunch>, DeviceError> {
        launches.iter().enumerate().map(|(position, launch)| self.launch(position, launch)).collect()
    }

    fn launch(&mut self, position: usize, launch: &LaunchSpec) -> Result<CheckedLaunch, DeviceError> {
        let Some(&code) = self.loaded.get(launch.program) else {
            return Err(Reason::NoProgram(launch.program).at(Field::Launch(position)));
        };
        let at = Of { launch: position, kernel: self.codes[code].name().to_owned() };
        let checked = |code, args: Vec<usize>, named| {
            let sizes = launch.sizes.clone();
            CheckedLaunch { code, program: launch.program, field: at.field(), args, sizes, named }
        };
        let program = match &self.codes[code] {
            CheckedCode::Cuda(text) => {
                check_text_launch(&self.memory, text, launch).map_err(|reason| at.error(reason))?;
                return Ok(checked(code, launch.args.clone(), BTreeMap::new()));
            }
            CheckedCode::Program(program) => program,
        };
        let named = check_launch(&self.memory, program, launch, &at)?;
        let Some(shared) = shared(program, &launch.args) else { return Ok(checked(code, launch.args.clone(), named)) };
        if let Some((code, args)) = self.shown.get(launch) {
            return Ok(checked(*code, args.clone(), named));
        }
        let (merged, args) = merge(program, &launch.args, &named, shared).map_err(|reason| at.error(reason))?;
        let merged = CheckedCode::Program(merged);
        let known = self.codes.iter().position(|code| *code == merged);
        let code = known.unwrap_or_else(|| {
            self.codes.push(merged);
            self.codes.len() - 1
        });
        self.shown.insert(launch.clone(), (code, args.clone()));
        Ok(checked(code, args, named))
    }

    /// Whether contents fit a piece of memory that is there.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`].
    pub(crate) fn writable(&self, memory: usize, contents: &Init) -> Result<(), DeviceError> {
        let held = self.memory.get(memory);
        let held = held.ok_or_else(|| Reason::NotThereToWrite { there: self.memory.len() }.at(Field::Memory(memory)))?;
        contents.check(held.kind.bytes()).map_err(|error| error.of(memory))
    }

    /// Whether what is to be read is there.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`].
    pub(crate) fn readable(&self, look: &Look) -> Result<(), DeviceError> {
        if let Some(&position) = look.read.iter().find(|&&position| position >= self.memory.len()) {
            return Err(Reason::NotThereToRead { there: self.memory.len() }.at(Field::Memory(position)));
        }
        look.peek.iter().enumerate().try_for_each(|(i, peek)| check_peek(&self.memory, peek).map_err(|reason| reason.at(Field::Peek(i))))
    }

    /// Refuses a way of timing, which is said of the first program.
    pub(crate) fn no_timing(&self, what: impl Into<String>) -> DeviceError {
        let kernel = self.codes.first().map_or("", CheckedCode::name).into();
        DeviceError::Unsupported { program: 0, kernel, what: what.into() }
    }

    /// For a back end that launches one by one.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for any other way.
    pub(crate) fn eager(&self, timing: TimingSpec) -> Result<(), DeviceError> {
        if timing.submit == Submit::Eager { Ok(()) } else { Err(self.no_timing("a graph or programmatic launch")) }
    }
}

/// A launch, for errors.
struct Of {
    launch: usize,
    kernel: String,
}

impl Of {
    fn field(&self) -> Field {
        Field::LaunchOf { launch: self.launch, kernel: self.kernel.clone() }
    }
    fn error(&self, reason: Reason) -> DeviceError {
        reason.at(self.field())
    }
    fn argument(&self, param: &Name, memory: usize, reason: Reason) -> DeviceError {
        reason.at(Field::Argument { launch: self.launch, kernel: self.kernel.clone(), param: param.clone(), memory })
    }
}

/// Whether the device has room for memory.
fn room(memory: &[Held], limits: &DeviceLimits, footprint: impl Fn(&Held) -> u64) -> Result<(), DeviceError> {
    for (i, held) in memory.iter().enumerate() {
        if let MemoryKind::Image { kind, width, height, .. } = held.kind {
            image_fits(i, kind, [width, height], limits)?;
        }
        if let Some(most) = limits.max_allocation {
            within(|| format!("memory {i} with its guards, in bytes,"), footprint(held), most)?;
        }
    }
    let Some(most) = limits.memory else { return Ok(()) };
    let needed = memory.iter().fold(0, |sum: u64, held| sum.saturating_add(footprint(held)));
    within(|| "all memory of the job, in bytes,".into(), needed, most)
}

/// Whether the device can make an image, memory `i`.
fn image_fits(i: usize, kind: ImageKind, [width, height]: [u32; 2], limits: &DeviceLimits) -> Result<(), DeviceError> {
    let row = |most: Option<u64>| match most {
        _ if height != 1 => Err(Reason::Height { kind, height }.at(Field::Memory(i))),
        Some(most) => within(|| format!("the width of memory {i}, an {} of {width} texels,", kind.word()), width.into(), most),
        None => Ok(()),
    };
    match kind {
        ImageKind::Image1d => return row(limits.image_1d.map(u64::from)),
        ImageKind::Image1dBuffer => return row(limits.image_buffer),
        ImageKind::Image2dFromBuffer if limits.image_pitch == Some(0) => return Err(Reason::FromBuffer.at(Field::Memory(i))),
        ImageKind::Image2d | ImageKind::Image2dFromBuffer => {}
    }
    let Some((widest, highest)) = limits.image_2d else { return Ok(()) };
    within(|| format!("the width of memory {i}, an image of {width} × {height} texels,"), width.into(), widest.into())?;
    within(|| format!("the height of memory {i}, an image of {width} × {height} texels,"), height.into(), highest.into())
}

/// The memory that is bound to several parameters of which one is written, and those parameters; the first such.
fn shared(program: &Program, args: &[usize]) -> Option<(usize, Vec<Name>)> {
    args.iter().enumerate().find_map(|(i, &memory)| {
        let bound = program.params.iter().zip(args).filter(|(_, other)| **other == memory).map(|(param, _)| param);
        let twice = args[..i].iter().all(|&other| other != memory) && bound.clone().count() > 1 && bound.clone().any(writes);
        twice.then(|| (memory, bound.map(|param| param.name.clone()).collect()))
    })
}

/// The Program that works in place, one piece of memory after the other, and its arguments.
fn merge(
    program: &Checked,
    args: &[usize],
    sizes: &BTreeMap<Name, i64>,
    (memory, names): (usize, Vec<Name>),
) -> Result<(Checked, Vec<usize>), Reason> {
    let why = |why| Reason::Shared { first: names[0].clone(), second: names[1].clone(), memory, why };
    let merged = in_place(program, sizes, &names).map_err(why)?;
    let of = |param: &Param| program.params.iter().position(|own| own.name == param.name).map(|position| args[position]);
    let args: Vec<usize> = merged.params.iter().filter_map(of).collect();
    match shared(&merged, &args) {
        Some(next) => merge(&merged, &args, sizes, next),
        None => Ok((merged, args)),
    }
}

fn within(what: impl FnOnce() -> String, needed: u64, available: u64) -> Result<(), DeviceError> {
    if needed <= available { Ok(()) } else { Err(DeviceError::Limit { what: what(), needed, available }) }
}

/// Whether the device computes what a Program does, and its group and local memory fit.
fn group_fits(program: &Program, limits: &DeviceLimits) -> Result<(), DeviceError> {
    if program.computes_halves() && !limits.f16 {
        return Err(DeviceError::NoHalves { kernel: program.name.to_string() });
    }
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
fn check_text(text: &CudaText) -> Result<(), Reason> {
    if text.grid.contains(&0) || text.block.contains(&0) {
        return Err(Reason::NoBlocks);
    }
    if text.cluster == 0 || !text.grid[0].is_multiple_of(text.cluster) {
        return Err(Reason::Cluster { cluster: text.cluster, blocks: text.grid[0] });
    }
    Ok(())
}

/// Whether a launch of text refers to what there is. Text has no named sizes.
fn check_text_launch(held: &[Held], text: &CudaText, launch: &LaunchSpec) -> Result<(), Reason> {
    if let Some(&memory) = launch.args.iter().find(|&&position| position >= held.len()) {
        return Err(Reason::NoArgument { memory, there: held.len() });
    }
    match text.pinned {
        Some(argument) if argument >= launch.args.len() => Err(Reason::NotPinned { argument, there: launch.args.len() }),
        _ => Ok(()),
    }
}

/// Whether pieces lie in a buffer.
fn check_peek(held: &[Held], peek: &Peek) -> Result<(), Reason> {
    match held.get(peek.memory).map(|held| held.kind) {
        None => Err(Reason::NoMemory(peek.memory)),
        Some(MemoryKind::Image { .. }) => Err(Reason::IsImage(peek.memory)),
        Some(MemoryKind::Buffer { bytes: size }) => {
            let bytes = u64::from(peek.bytes);
            let beyond = peek.offsets.iter().find(|offset| offset.saturating_add(bytes) > size);
            beyond.map_or(Ok(()), |&from| Err(Reason::Outside { bytes, from, memory: peek.memory, size }))
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
fn check_launch(held: &[Held], program: &Program, launch: &LaunchSpec, at: &Of) -> Result<BTreeMap<Name, i64>, DeviceError> {
    let (given, wanted) = (launch.sizes.len(), program.sizes.len());
    if given != wanted {
        return Err(at.error(Reason::Sizes { given, wanted }));
    }
    let mut sizes = BTreeMap::new();
    for (size, &value) in program.sizes.iter().zip(&launch.sizes) {
        if !(size.lo..=size.hi).contains(&value) {
            return Err(at.error(Reason::SizeOutside { size: size.name.clone(), value, lo: size.lo, hi: size.hi }));
        }
        sizes.insert(size.name.clone(), value);
    }
    let (given, wanted) = (launch.args.len(), program.params.len());
    if given != wanted {
        return Err(at.error(Reason::Arguments { given, wanted }));
    }
    for (param, &position) in program.params.iter().zip(&launch.args) {
        let unbound = || at.error(Reason::Unbound { param: param.name.clone(), memory: position, there: held.len() });
        let memory = held.get(position).ok_or_else(unbound)?;
        check_argument(param, memory.kind, &sizes).map_err(|reason| at.argument(&param.name, position, reason))?;
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
/// [`Reason::Extent`], when an extent has no value.
pub(crate) fn argument_bytes(param: &Param, sizes: &BTreeMap<Name, i64>) -> Result<u64, Reason> {
    let product = |mut bytes: u64, dims: &[&Expr]| {
        for dim in dims {
            let more = bytes.checked_mul(extent(dim, sizes)?);
            bytes = more.ok_or_else(|| Reason::Extent("its size in bytes exceeds 64 bits".to_owned()))?;
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
fn extent(expr: &Expr, sizes: &BTreeMap<Name, i64>) -> Result<u64, Reason> {
    let value = eval_size(expr, sizes).map_err(|error| Reason::Extent(error.to_string()))?;
    u64::try_from(value).map_err(|_| Reason::Extent(format!("an extent is {value}")))
}

/// Whether memory is what a parameter needs: of its kind, and at least as large.
fn check_argument(param: &Param, memory: MemoryKind, sizes: &BTreeMap<Name, i64>) -> Result<(), Reason> {
    match (&param.kind, memory) {
        (ParamKind::Buffer { .. }, MemoryKind::Buffer { bytes: available }) => {
            let needed = argument_bytes(param, sizes)?;
            if needed > available { Err(Reason::TooSmall { needed, available }) } else { Ok(()) }
        }
        (ParamKind::Image { kind, format, width, height, .. }, MemoryKind::Image { kind: available, format: has, width: w, height: h }) => {
            let needed = (extent(width, sizes)?, extent(height, sizes)?);
            if *kind != available {
                Err(Reason::Kind { needed: *kind, available })
            } else if format.stored() != has.stored() {
                Err(Reason::Format { needed: *format, available: has })
            } else if needed != (w.into(), h.into()) {
                // Larger would do for memory, but not for reads outside: the border must be where the Program has it.
                Err(Reason::Texels { needed, available: (w, h) })
            } else {
                Ok(())
            }
        }
        (ParamKind::Buffer { .. }, MemoryKind::Image { .. }) => Err(Reason::NotABuffer),
        (ParamKind::Image { .. }, MemoryKind::Buffer { .. }) => Err(Reason::NotAnImage),
        (ParamKind::Channel { .. }, _) => Err(Reason::Channel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;
    use crate::testing::scale_job;
    use warpsight_ir::{Array, ImageFormat, LaneAxis, Scalar};

    fn refusal(change: impl FnOnce(&mut Job)) -> String {
        let mut job = scale_job(&[1.0; 37], Some(TimingSpec::runs(1)));
        change(&mut job);
        match checked(&job) {
            Err(DeviceError::BadJob(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    /// Everything that is checked of a job.
    fn checked(job: &Job) -> Result<Vec<CheckedLaunch>, DeviceError> {
        ledger(job)?.launches(&job.launches)
    }

    fn ledger(job: &Job) -> Result<Ledger, DeviceError> {
        let mut ledger = Ledger::open(&job.memory, &DeviceLimits::default(), |held| held.kind.bytes())?;
        for code in ledger.check(&job.programs)? {
            ledger.add(code);
        }
        ledger.readable(&Look { read: job.read.clone(), peek: job.peek.clone() })?;
        Ok(ledger)
    }

    #[test]
    fn a_job_that_contradicts_itself_is_refused() {
        let job = scale_job(&[1.0; 37], None);
        assert_eq!(checked(&job).unwrap()[0].named["n"], 37);
        for (expected, what) in [
            ("launch 0 (`scale`): 0 sizes for 1", refusal(|job| job.launches[0].sizes.clear())),
            ("launch 0 (`scale`): size `n` is 0, outside 1 to 1000", refusal(|job| job.launches[0].sizes[0] = 0)),
            ("launch 0 (`scale`): 3 arguments for 2 parameters", refusal(|job| job.launches[0].args.push(0))),
            ("launch 0 (`scale`): `y` is bound to memory 2, there are 2", refusal(|job| job.launches[0].args[1] = 2)),
            ("launch 0 (`scale`): `x`, memory 0: 152 bytes are needed, it has 148", refusal(|job| job.launches[0].sizes[0] = 38)),
            (
                "launch 0 (`scale`): `x` and `y` are both memory 0, and one of them is written: an element of `y` may be read by \
                 another work-item than the one that writes it",
                refusal(|job| {
                    job.programs = vec![crate::testing::reversed().into()];
                    job.launches[0].args = vec![0, 0];
                }),
            ),
            ("launch 0: there is no program 1", refusal(|job| job.launches[0].program = 1)),
            ("memory 2 is to be read, there are 2", refusal(|job| job.read = vec![1, 2])),
            ("memory 0 has 148 bytes, its first contents 3", refusal(|job| job.memory[0].init = Init::Data(vec![0; 3]))),
            ("memory 1 is empty", refusal(|job| job.memory[1].kind = MemoryKind::Buffer { bytes: 0 })),
            (
                "launch 0 (`scale`): `y`, memory 1: a buffer is needed, it is an image",
                refusal(|job| {
                    job.memory[1].kind = MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32F, width: 64, height: 64 }
                }),
            ),
        ] {
            assert_eq!(what, expected);
        }
    }

    #[test]
    fn a_launch_in_place_gets_a_code_of_its_own_once() {
        let mut job = scale_job(&[1.0; 37], None);
        let in_place = LaunchSpec { args: vec![0, 0], ..job.launches[0].clone() };
        let shorter = LaunchSpec { sizes: vec![36], ..in_place.clone() };
        job.launches.extend([in_place.clone(), in_place, shorter]);
        let mut ledger = ledger(&job).unwrap();
        let launches = ledger.launches(&job.launches).unwrap();
        assert_eq!(
            launches.iter().map(|launch| (launch.code, &launch.args[..])).collect::<Vec<_>>(),
            [(0, &[0, 1][..]), (1, &[0]), (1, &[0]), (1, &[0])]
        );
        // Shown for each program, its arguments and sizes once; the sizes of a launch stay its own.
        assert_eq!(ledger.shown.len(), 2);
        assert_eq!(ledger.launches(&job.launches).unwrap(), launches);
        assert_eq!((ledger.shown.len(), launches[2].named["n"], launches[3].named["n"]), (2, 37, 36));
    }

    #[test]
    fn images_fit_exactly() {
        let param = |format| Param {
            name: "i".into(),
            kind: ParamKind::Image {
                kind: ImageKind::Image2d,
                format,
                width: Expr::Size("w".into()),
                height: Expr::int(4),
                access: Access::Read,
                border: warpsight_ir::Border::Zero,
            },
        };
        let sizes = BTreeMap::from([("w".into(), 8)]);
        let image = |width, height| MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba16F, width, height };
        assert_eq!(check_argument(&param(ImageFormat::Rgba16F), image(8, 4), &sizes), Ok(()));
        assert_eq!(
            check_argument(&param(ImageFormat::Rgba16F), image(9, 4), &sizes).unwrap_err().to_string(),
            "8 × 4 texels are needed, it has 9 × 4"
        );
        assert_eq!(
            check_argument(&param(ImageFormat::Rgba32F), image(8, 4), &sizes).unwrap_err().to_string(),
            "the format Rgba32F is needed, it has Rgba16F"
        );
        assert_eq!(
            check_argument(&param(ImageFormat::Rgba16F), MemoryKind::Buffer { bytes: 1 }, &sizes).unwrap_err().to_string(),
            "an image is needed, it is a buffer"
        );
        // A kernel could not tell them apart, but the host's image is made otherwise.
        let other = MemoryKind::Image { kind: ImageKind::Image2dFromBuffer, format: ImageFormat::Rgba16F, width: 8, height: 4 };
        assert_eq!(
            check_argument(&param(ImageFormat::Rgba16F), other, &sizes).unwrap_err().to_string(),
            "an image2d is needed, it is an image2d_from_buffer"
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
        let mut memory = scale_job(&[1.0], None).memory;
        memory.push(MemorySpec { kind: MemoryKind::Buffer { bytes: u64::MAX }, init: Init::Poison, canaries: false });
        let open = |limits: &DeviceLimits| Ledger::open(&memory, limits, |held| held.kind.bytes()).map(|_| ());
        assert_eq!(open(&DeviceLimits::default()), Ok(()));
        let limits = DeviceLimits { memory: Some(u64::MAX - 1), ..Default::default() };
        assert!(matches!(open(&limits), Err(DeviceError::Limit { needed: u64::MAX, .. })));
    }
}
