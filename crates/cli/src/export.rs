//! Kernels for use without warpsight: `.cl` files, launch description, C header, C host example, packed constants.

use crate::failure::Failure;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use warpsight_emit::Source;
use warpsight_emit::host::{
    self, DESCRIPTION, HostArg, HostAxis, HostInitial, HostKernel, HostLaunch, HostMemory, HostMemoryKind, HostPlan, HostShape, HostTensor,
};
use warpsight_engine::network::{Held, Sequence};
use warpsight_files::Folder;
use warpsight_generate::expr::{Tensor, TensorExpr};
use warpsight_generate::layout::{Layout, known};
use warpsight_ir::Checked;
use warpsight_run::{Code, Init, Job, LaunchSpec, MemoryKind, MemorySpec};

/// How the kernels of a range of sizes were chosen.
pub const DISPATCH: &str = "dispatch.json";

/// Writes a sequence of launches to a folder, all of it or nothing.
pub fn sequence(out: &Path, name: &str, device: &str, sequence: &Sequence) -> Result<(), Failure> {
    let mut export = Export::create(out, name, device, &[])?;
    for program in &sequence.job.programs {
        let Code::Program(program) = program else {
            return Err(Failure::input("a network's kernels are Programs"));
        };
        // Every program of a job was lowered and checked; checking again costs nothing that matters here.
        let checked = Checked::new(program.clone()).map_err(|e| Failure::input(e.to_string()))?;
        // Two kernels of one name differ in where their tensors lie.
        export.kernel(format!("{}_{}.cl", export.plan.kernels.len(), program.name), &checked)?;
    }
    export.shape(vec![], 0, sequence)?;
    export.finish()
}

/// A kernel of an operator that runs once. What it reads is the user's to give, but for what follows from the operator itself.
pub fn operator(expr: &TensorExpr, layouts: &[Layout], mut job: Job) -> Sequence {
    job.memory.iter_mut().for_each(|own| own.init = Init::Poison);
    for ((tensor, layout), memory) in expr.inputs.iter().zip(layouts).zip(&mut job.memory) {
        if let Some(values) = known(tensor) {
            memory.init = Init::Data(layout.pack(tensor, &values, 0.0));
        }
    }
    let tensors = expr.inputs.iter().chain([&expr.output]).zip(layouts);
    let held = tensors.map(|(tensor, layout)| Held { name: tensor.name.to_string(), tensor: Some((tensor.clone(), layout.clone())) });
    let given = (0..expr.inputs.len()).filter(|&number| expr.inputs[number].values.is_none());
    Sequence { held: held.collect(), job, inputs: given.collect() }
}

/// A folder with kernels and what others need to launch them.
pub struct Export {
    out: Folder,
    plan: HostPlan,
    sources: Vec<(Source, Checked)>,
    further: Vec<String>,
}

impl Export {
    /// Begins, for kernels that were chosen for a device, with the names of the sizes that differ from shape to shape.
    pub fn create(out: &Path, name: &str, device: &str, open: &[String]) -> Result<Self, Failure> {
        let plan = HostPlan { name: name.to_owned(), device: device.to_owned(), open: open.to_vec(), kernels: vec![], shapes: vec![] };
        Ok(Self { out: Folder::create(out)?, plan, sources: vec![], further: vec![] })
    }

    /// Writes a kernel as OpenCL C; its position.
    pub fn kernel(&mut self, file: String, program: &Checked) -> Result<usize, Failure> {
        let source = warpsight_emit::opencl(program).map_err(|e| Failure::input(e.to_string()))?;
        self.out.write(&file, source.text.as_bytes())?;
        self.plan.kernels.push(HostKernel { file, entry: source.entry.clone() });
        self.sources.push((source, program.clone()));
        Ok(self.sources.len() - 1)
    }

    /// What runs for a shape: launches of the kernels from this position on.
    pub fn shape(&mut self, sizes: Vec<i64>, first: usize, sequence: &Sequence) -> Result<(), Failure> {
        let Sequence { job, held, inputs } = sequence;
        let names = unique(held);
        let mut memory = vec![];
        for (i, (spec, (name, held))) in job.memory.iter().zip(names.into_iter().zip(held)).enumerate() {
            let initial = match &spec.init {
                Init::Data(bytes) if !inputs.contains(&i) => {
                    let shape = sizes.iter().map(|size| format!("_{size}")).collect::<String>();
                    let file = format!("{name}{shape}.bin");
                    self.out.write(&file, bytes)?;
                    HostInitial::File(file)
                }
                _ => HostInitial::Zero,
            };
            memory.push(described(spec, name, held, initial));
        }
        let launches = job.launches.iter().map(|own| self.launch(first + own.program, own)).collect::<Result<_, _>>()?;
        self.plan.shapes.push(HostShape { sizes, memory, launches, inputs: inputs.clone(), outputs: job.read.clone() });
        Ok(())
    }

    /// Writes a further file.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write(name, bytes)?;
        self.further.push(name.to_owned());
        Ok(())
    }

    /// Gives all files their names, and removes those of an export that was there before.
    pub fn finish(mut self) -> Result<(), Failure> {
        let further: Vec<&str> = self.further.iter().map(String::as_str).collect();
        let written = host::files(&self.plan, &further).map_err(|e| Failure::input(e.to_string()))?;
        for (file, text) in [&written.header, &written.example] {
            self.out.write(file, text.as_bytes())?;
        }
        let folder = self.out.path("");
        let earlier = earlier(&folder);
        // Last: it is there only while everything that it names is.
        self.out.write(DESCRIPTION, written.json.as_bytes())?;
        self.out.finish()?;
        for name in earlier.iter().filter(|name| !written.files.contains(name)) {
            // What cannot be removed stays: no description names it.
            let _ = std::fs::remove_file(folder.join(name));
        }
        Ok(())
    }

    /// A launch of the kernel at a position.
    fn launch(&self, kernel: usize, spec: &LaunchSpec) -> Result<HostLaunch, Failure> {
        let (source, program) = &self.sources[kernel];
        if program.sizes.len() != spec.sizes.len() {
            let (name, found, wanted) = (&program.name, spec.sizes.len(), program.sizes.len());
            return Err(Failure::input(format!("kernel {name} takes {wanted} sizes and is launched with {found}")));
        }
        let sizes: BTreeMap<_, _> = program.sizes.iter().map(|own| own.name.clone()).zip(spec.sizes.iter().copied()).collect();
        let (global, local) = source.ndrange(&sizes).map_err(|e| Failure::input(e.to_string()))?;
        let int = |&size: &i64| i32::try_from(size).map(HostArg::Int).map_err(|_| Failure::input(format!("a size of {size} is no int")));
        let memory = spec.args.iter().map(|&own| Ok(HostArg::Memory(own)));
        Ok(HostLaunch { kernel, args: memory.chain(spec.sizes.iter().map(int)).collect::<Result<_, Failure>>()?, global, local })
    }
}

/// The files that the description in a folder names, if it is one: those of the folder itself, and of the kinds that an export writes.
fn earlier(folder: &Path) -> Vec<String> {
    let text = warpsight_files::read_text(&folder.join(DESCRIPTION), warpsight_files::TEXT).unwrap_or_default();
    let description: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    if description["version"] != host::VERSION {
        return vec![];
    }
    let own = |name: &&str| {
        let kind = [".cl", ".bin", ".h", "_host.c"].iter().any(|end| name.ends_with(end)) || *name == DISPATCH;
        kind && Path::new(name).file_name().is_some_and(|file| file == *name)
    };
    let names = description["files"].as_array().into_iter().flatten().filter_map(|name| name.as_str());
    names.filter(own).map(str::to_owned).collect()
}

/// Names of memory, with a number behind those that are there already.
fn unique(held: &[Held]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut name = |own: &Held| {
        let mut all = std::iter::once(own.name.clone()).chain((1..).map(|n: usize| format!("{}_{n}", own.name)));
        // There are more names than are taken.
        let free = all.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(free.clone());
        free
    };
    held.iter().map(&mut name).collect()
}

fn described(spec: &MemorySpec, name: String, held: &Held, initial: HostInitial) -> HostMemory {
    let kind = match spec.kind {
        MemoryKind::Buffer { bytes } => HostMemoryKind::Buffer { bytes },
        MemoryKind::Image { kind, format, width, height } => {
            HostMemoryKind::Image { image: kind, width: width.into(), height: height.into(), format }
        }
    };
    let lies = |(tensor, layout): &(Tensor, Layout)| HostTensor {
        element: tensor.element,
        shape: tensor.shape.clone(),
        axes: layout.axes().iter().map(|axis| HostAxis { dim: axis.dim, stride: axis.stride, extent: axis.extent }).collect(),
        rows: layout.image_axes().map(|[_, rows]| rows.len()),
    };
    HostMemory { name: name.into(), kind, initial, tensor: held.tensor.as_ref().map(lies) }
}
