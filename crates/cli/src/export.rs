//! Kernels for use without warpsight: `.cl` files, launch description, C header, C host example, packed constants.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_emit::host::{HostArg, HostInitial, HostKernel, HostLaunch, HostMemory, HostMemoryKind, HostPlan, files};
use warpsight_engine::network::Sequence;
use warpsight_files::Folder;
use warpsight_ir::Checked;
use warpsight_run::{Code, Init, MemoryKind};

/// Writes a sequence of launches to a folder, all of it or nothing.
pub fn sequence(out: &Path, name: &str, sequence: &Sequence) -> Result<(), Failure> {
    let mut out = Folder::create(out)?;
    let job = &sequence.job;
    let mut kernels = vec![];
    let mut ranges = vec![];
    for program in &job.programs {
        let Code::Program(program) = program else {
            return Err(Failure::input("a network's kernels are Programs"));
        };
        // Every program of a job was lowered and checked; checking again costs nothing that matters here.
        let checked = Checked::new(program.clone()).map_err(|e| Failure::input(e.to_string()))?;
        let source = warpsight_emit::opencl(&checked).map_err(|e| Failure::input(e.to_string()))?;
        ranges.push(source.ndrange(&BTreeMap::new()).map_err(|e| Failure::input(e.to_string()))?);
        // Two kernels of one name differ in where their tensors lie.
        let file = format!("{}_{}.cl", kernels.len(), program.name);
        out.write(&file, source.text.as_bytes())?;
        kernels.push(HostKernel { file, entry: source.entry });
    }
    let mut memory = vec![];
    for (i, (spec, (name, contents))) in job.memory.iter().zip(&sequence.names).enumerate() {
        let initial = match &spec.init {
            Init::Data(bytes) if !sequence.inputs.contains(&i) => {
                let file = format!("{name}_{i}.bin");
                out.write(&file, bytes)?;
                HostInitial::File(file)
            }
            _ => HostInitial::Zero,
        };
        let kind = match spec.kind {
            MemoryKind::Buffer { bytes } => HostMemoryKind::Buffer { bytes },
            MemoryKind::Image { kind, format, width, height } => {
                HostMemoryKind::Image { image: kind, width: width.into(), height: height.into(), format }
            }
        };
        memory.push(HostMemory { name: format!("{name}_{i}").into(), kind, initial, contents: contents.clone() });
    }
    let launches = job.launches.iter().map(|launch| {
        let (global, local) = ranges[launch.program];
        HostLaunch { kernel: launch.program, args: launch.args.iter().map(|&a| HostArg::Memory(a)).collect(), global, local }
    });
    let plan = HostPlan {
        name: name.to_owned(),
        kernels,
        memory,
        launches: launches.collect(),
        inputs: sequence.inputs.clone(),
        outputs: job.read.clone(),
    };
    let written = files(&plan).map_err(|e| Failure::input(e.to_string()))?;
    for (file, text) in [written.header, written.example] {
        out.write(&file, text.as_bytes())?;
    }
    // Last: it is there only while everything that it names is.
    out.write("launch.json", written.json.as_bytes())?;
    Ok(out.finish()?)
}
