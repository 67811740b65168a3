//! Kernels for use without warpsight: `.cl` files, launch description, C header, C host example, packed constants.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_emit::Source;
use warpsight_emit::host::{
    self, HostArg, HostInitial, HostKernel, HostLaunch, HostMemory, HostMemoryKind, HostPlan, HostRange, HostShape, HostWork,
};
use warpsight_engine::network::Sequence;
use warpsight_files::Folder;
use warpsight_generate::TensorExpr;
use warpsight_generate::layout::Layout;
use warpsight_ir::Checked;
use warpsight_run::{Code, Init, Job, LaunchSpec, MemoryKind, MemorySpec};

/// Writes a sequence of launches to a folder, all of it or nothing.
pub fn sequence(out: &Path, name: &str, sequence: &Sequence) -> Result<(), Failure> {
    let mut out = Folder::create(out)?;
    let job = &sequence.job;
    let mut kernels = Kernels::default();
    for program in &job.programs {
        let Code::Program(program) = program else {
            return Err(Failure::input("a network's kernels are Programs"));
        };
        // Every program of a job was lowered and checked; checking again costs nothing that matters here.
        let checked = Checked::new(program.clone()).map_err(|e| Failure::input(e.to_string()))?;
        // Two kernels of one name differ in where their tensors lie.
        kernels.add(&mut out, format!("{}_{}.cl", kernels.files.len(), program.name), &checked)?;
    }
    let mut initial = vec![];
    for (i, (spec, (name, _))) in job.memory.iter().zip(&sequence.names).enumerate() {
        initial.push(match &spec.init {
            Init::Data(bytes) if !sequence.inputs.contains(&i) => {
                let file = format!("{name}_{i}.bin");
                out.write(&file, bytes)?;
                HostInitial::File(file)
            }
            _ => HostInitial::Zero,
        });
    }
    let named = job.memory.iter().zip(&sequence.names).zip(initial).enumerate();
    let work = HostWork {
        memory: named.map(|(i, ((spec, (name, contents)), initial))| memory(spec, format!("{name}_{i}"), contents, initial)).collect(),
        launches: job.launches.iter().map(|own| kernels.launch(own.program, own)).collect::<Result<_, _>>()?,
        inputs: sequence.inputs.clone(),
        outputs: job.read.clone(),
    };
    let plan = HostPlan { name: name.to_owned(), kernels: kernels.files, work };
    let written = host::files(&plan).map_err(|e| Failure::input(e.to_string()))?;
    for (file, text) in [written.header, written.example] {
        out.write(&file, text.as_bytes())?;
    }
    // Last: it is there only while everything that it names is.
    out.write("launch.json", written.json.as_bytes())?;
    Ok(out.finish()?)
}

/// The launch description of kernels that serve several shapes: of each its sizes, its kernel, and what runs there.
pub fn range(name: &str, open: &[String], kernels: Kernels, shapes: Vec<(Vec<i64>, usize, Sequence)>) -> Result<String, Failure> {
    let shape = |(sizes, kernel, Sequence { job, names, inputs }): (Vec<i64>, usize, Sequence)| {
        let memory = |(spec, (name, contents)): (&MemorySpec, &(String, String))| memory(spec, name.clone(), contents, HostInitial::Zero);
        let work = HostWork {
            memory: job.memory.iter().zip(&names).map(memory).collect(),
            launches: job.launches.iter().map(|own| kernels.launch(kernel, own)).collect::<Result<_, _>>()?,
            inputs,
            outputs: job.read,
        };
        Ok(HostShape { sizes, work })
    };
    let shapes = shapes.into_iter().map(shape).collect::<Result<_, Failure>>()?;
    let range = HostRange { name: name.to_owned(), open: open.to_vec(), kernels: kernels.files, shapes };
    host::range(&range).map_err(|e| Failure::input(e.to_string()))
}

/// A kernel of an operator that runs once, on memory that holds nothing: everything that it reads is the user's to give.
pub fn operator(expr: &TensorExpr, layouts: &[Layout], mut job: Job) -> Sequence {
    job.memory.iter_mut().for_each(|own| own.init = Init::Poison);
    let tensors = expr.inputs.iter().chain([&expr.output]).zip(layouts);
    let names = tensors.map(|(tensor, layout)| (tensor.name.to_string(), layout.describe(tensor))).collect();
    Sequence { job, names, inputs: (0..expr.inputs.len()).collect() }
}

/// Kernels that were written to a folder.
#[derive(Default)]
pub struct Kernels {
    files: Vec<HostKernel>,
    sources: Vec<(Source, Checked)>,
}

impl Kernels {
    /// Writes a kernel as OpenCL C; its position.
    pub fn add(&mut self, out: &mut Folder, file: String, program: &Checked) -> Result<usize, Failure> {
        let source = warpsight_emit::opencl(program).map_err(|e| Failure::input(e.to_string()))?;
        out.write(&file, source.text.as_bytes())?;
        self.files.push(HostKernel { file, entry: source.entry.clone() });
        self.sources.push((source, program.clone()));
        Ok(self.files.len() - 1)
    }

    /// A launch of the kernel at a position.
    fn launch(&self, kernel: usize, spec: &LaunchSpec) -> Result<HostLaunch, Failure> {
        let (source, program) = &self.sources[kernel];
        let sizes: BTreeMap<_, _> = program.sizes.iter().map(|own| own.name.clone()).zip(spec.sizes.iter().copied()).collect();
        let (global, local) = source.ndrange(&sizes).map_err(|e| Failure::input(e.to_string()))?;
        let int = |&size: &i64| i32::try_from(size).map(HostArg::Int).map_err(|_| Failure::input(format!("a size of {size} is no int")));
        let memory = spec.args.iter().map(|&own| Ok(HostArg::Memory(own)));
        Ok(HostLaunch { kernel, args: memory.chain(spec.sizes.iter().map(int)).collect::<Result<_, Failure>>()?, global, local })
    }
}

fn memory(spec: &MemorySpec, name: String, contents: &str, initial: HostInitial) -> HostMemory {
    let kind = match spec.kind {
        MemoryKind::Buffer { bytes } => HostMemoryKind::Buffer { bytes },
        MemoryKind::Image { kind, format, width, height } => {
            HostMemoryKind::Image { image: kind, width: width.into(), height: height.into(), format }
        }
    };
    HostMemory { name: name.into(), kind, initial, contents: contents.to_owned() }
}
