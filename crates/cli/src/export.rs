//! Kernels for use without warpsight: `.cl` files, launch description, C header, C host example, packed constants.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_emit::host::{HostArg, HostInitial, HostKernel, HostLaunch, HostMemory, HostMemoryKind, HostPlan, files};
use warpsight_engine::network::Sequence;
use warpsight_ir::Checked;
use warpsight_run::{Code, Init, MemoryKind};

/// Writes a sequence of launches to a folder, every file whole or not at all.
pub fn sequence(out: &Path, name: &str, sequence: &Sequence) -> Result<(), Failure> {
    std::fs::create_dir_all(out).map_err(|e| Failure::io(out, &e))?;
    let job = &sequence.job;
    // The description is there only while everything it names is: taken away first, written last.
    let description = out.join("launch.json");
    match std::fs::remove_file(&description) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Failure::io(&description, &e)),
        _ => {}
    }
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
        warpsight_files::write(&out.join(&file), source.text.as_bytes())?;
        kernels.push(HostKernel { file, entry: source.entry });
    }
    let mut memory = vec![];
    for (i, (spec, (name, contents))) in job.memory.iter().zip(&sequence.names).enumerate() {
        let initial = match &spec.init {
            Init::Data(bytes) if !sequence.inputs.contains(&i) => {
                let file = format!("{name}_{i}.bin");
                warpsight_files::write(&out.join(&file), bytes)?;
                HostInitial::File(file)
            }
            _ => HostInitial::Zero,
        };
        let kind = match spec.kind {
            MemoryKind::Buffer { bytes } => HostMemoryKind::Buffer { bytes },
            MemoryKind::Image { format, width, height } => HostMemoryKind::Image { width: width.into(), height: height.into(), format },
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
        warpsight_files::write(&out.join(file), text.as_bytes())?;
    }
    Ok(warpsight_files::write(&description, written.json.as_bytes())?)
}
