//! Predictions as JSON.

use super::{Answer, Predicted, sum};
use crate::failure::Failure;
use crate::shader::targets::SOFTWARE;
use serde_json::{Value, json};
use std::path::Path;
use warpsight_learn::models::INTERVAL;
use warpsight_shader::Seen;

/// All shaders.
pub fn document(shaders: &[Value]) -> Value {
    json!({"source": "predicted", "shaders": shaders})
}

/// A shader that has no prediction.
pub fn failed(file: &Path, failure: &Failure) -> Value {
    let mut value = failure.json();
    value["file"] = json!(file);
    value
}

/// A shader on all devices: the sum of its passes and each, where it has several.
pub fn shader(passes: &[Answer]) -> Value {
    let [first, _, ..] = passes else { return passes.first().map_or(Value::Null, pass) };
    let one = |(index, answer): (usize, &Answer)| {
        let mut value = pass(answer);
        value["pass"] = json!(index);
        value["target"] = json!(answer.subject.shader.passes[index].target);
        value
    };
    let total = |(index, predicted): (usize, &Predicted)| {
        let (device, (seconds, interval)) = (predicted.target.device(), sum(passes, index));
        json!({
            "device": predicted.target.name, "description": device.description, "note": device.software.then_some(SOFTWARE),
            "seconds": seconds, "interval": interval, "coverage": INTERVAL,
        })
    };
    json!({
        "file": first.subject.name,
        "devices": first.devices.iter().enumerate().map(total).collect::<Vec<_>>(),
        "passes": passes.iter().enumerate().map(one).collect::<Vec<_>>(),
    })
}

fn pass(answer: &Answer) -> Value {
    let Seen { trace, inputs, .. } = &answer.seen;
    let frame = inputs.frame;
    let executed = trace.total(|block| answer.subject.shader.cfg.blocks[block].insts.len() as f64);
    json!({
        "file": answer.subject.name,
        "frame": frame,
        "trace": {
            "source": "simulated", "pixels": trace.pixels, "executed": trace.sampled, "complete": trace.complete,
            "instructions": executed.value, "error": executed.error, "rough": trace.is_rough(),
        },
        "devices": answer.devices.iter().map(|p| device(answer, p)).collect::<Vec<_>>(),
    })
}

fn device(answer: &Answer, predicted: &Predicted) -> Value {
    let Predicted { target, prediction, costs, fixed } = predicted;
    let device = target.device();
    let texts = answer.texts(costs.lines.iter().map(|l| &l.place));
    let lines: Vec<Value> = costs
        .lines
        .iter()
        .filter(|line| line.cost > 0.0)
        .map(|line| {
            json!({"file": &*line.place.file, "line": line.place.line, "share": predicted.share(line.cost), "text": texts.get(&line.place)})
        })
        .collect();
    let blocks: Vec<Value> = costs
        .blocks
        .iter()
        .zip(&answer.seen.trace.counts)
        .enumerate()
        .map(|(index, (block, count))| {
            let lines = block.lines.as_ref().map(|(first, last)| [first.line, *last]);
            let file = block.lines.as_ref().map(|(first, _)| &*first.file);
            json!({"block": index, "file": file, "lines": lines, "share": predicted.share(block.cost), "count": count})
        })
        .collect();
    json!({
        "device": target.name,
        "description": device.description,
        "note": device.software.then_some(SOFTWARE),
        "seconds": prediction.seconds,
        "interval": prediction.interval,
        "coverage": INTERVAL,
        "calibration": target.head.as_ref().map(|head| json!({"shaders": head.shots.len(), "error": head.error(), "model_of": target.predictor.device.name})),
        "assumptions": answer.seen.assumptions,
        "extrapolating": prediction.extrapolating,
        "blocks": blocks,
        "lines": lines,
        "shares": {"draw": predicted.share(*fixed), "without_line": predicted.share(costs.unplaced)},
    })
}
