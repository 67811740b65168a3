//! Pipelines that others planned, for [`crate::proof::prove`]: persistent kernels whose work-groups pass tokens, as JSON.
//!
//! ```
//! let json = r#"{
//!   "format": "persistent-plan/1",
//!   "name": "norm",
//!   "channels": [{"name": "x", "element": "f16", "token": [128, 64], "depth": 4}],
//!   "stages": [
//!     {"name": "load", "class": "simt", "ctas": 2, "firings": 64, "lanes": 128, "registers": 40, "local": 0,
//!      "steps": [{"work": {"flops": 0, "read": 16384, "written": 0}}, {"put": {"channel": "x", "count": 1}}]},
//!     {"name": "sum", "class": "simt", "ctas": 1, "firings": 16, "lanes": 128, "registers": 40, "local": 0,
//!      "steps": [{"take": {"channel": "x", "count": 4}}]}
//!   ]
//! }"#;
//! let pipeline = warpsight_dataflow::foreign::read(json).unwrap();
//! assert_eq!(pipeline.channels[0].consumers, ["sum".into()]);
//! ```
//!
//! What firings, steps and tokens mean is said at [`warpsight_ir::Firings`]; a stage may have `"dealt": true`. Who fills and who empties a channel follows from the steps.

use serde::Deserialize;
use warpsight_graph::format::Malformed;
use warpsight_ir::{Channel, Firings, Name, Pipeline, PipelineStage, Scalar, StageBody, StageClass, Step};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    name: Name,
    channels: Vec<FileChannel>,
    stages: Vec<FileStage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileChannel {
    name: Name,
    element: Scalar,
    token: Vec<u32>,
    depth: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStage {
    name: Name,
    class: StageClass,
    ctas: u32,
    firings: u64,
    #[serde(default)]
    dealt: bool,
    lanes: u32,
    registers: u32,
    local: u64,
    steps: Vec<Step>,
}

/// Reads a plan. It need not be sound: that is for the proof to say.
///
/// # Errors
/// Where the text is not of this form, with line and column.
pub fn read(json: &str) -> Result<Pipeline, Malformed> {
    let file: File = serde_json::from_str(json)?;
    if file.format != "persistent-plan/1" {
        return Err(format!("its format is `{}`, not `persistent-plan/1`", file.format).into());
    }
    let ends = |channel: &Name, fills: bool| -> Vec<Name> {
        let uses = |step: &Step| match step {
            Step::Put { channel: own, .. } => fills && own == channel,
            Step::Take { channel: own, .. } => !fills && own == channel,
            Step::Work { .. } => false,
        };
        file.stages.iter().filter(|stage| stage.steps.iter().any(uses)).map(|stage| stage.name.clone()).collect()
    };
    let channel = |channel: &FileChannel| Channel {
        name: channel.name.clone(),
        element: channel.element,
        dims: channel.token.clone(),
        depth: channel.depth,
        producers: ends(&channel.name, true),
        consumers: ends(&channel.name, false),
    };
    let channels = file.channels.iter().map(channel).collect();
    let stage = |stage: FileStage| {
        let FileStage { name, class, ctas, firings: count, dealt, lanes, registers, local, steps } = stage;
        PipelineStage { name, class, ctas, body: StageBody::Firings(Firings { count, dealt, lanes, registers, local, steps }) }
    };
    Ok(Pipeline {
        name: file.name,
        channels,
        stages: file.stages.into_iter().map(stage).collect(),
        side_outputs: vec![],
        certificate: None,
    })
}
