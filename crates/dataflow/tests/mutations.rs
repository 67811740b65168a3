//! Files of graphs with seeded mistakes: read or refused, planned or refused, and never a panic.

mod common;

use common::{first, graph, read, text};
use serde_json::{Value, json};
use warpsight_dataflow::{Modelled, Platform, Policy, planned};
use warpsight_ir::profile::builtin;
use warpsight_predict::StageRoofline;

/// What nobody would write in the place of anything else.
fn strange(rng: &mut fastrand::Rng) -> Value {
    let all = [
        json!(0),
        json!(-1),
        json!(1),
        json!(7),
        json!(1_u64 << 31),
        json!(1_u64 << 53),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(-0.5),
        json!(null),
        json!(true),
        json!(""),
        json!("t1"),
        json!("alias"),
        json!([]),
        json!([0]),
        json!([1 << 20, 1 << 20]),
        json!({}),
        json!({"mat_mul": {"transpose_left": true, "transpose_right": true}}),
        json!({"reduce": {"kind": "max", "axes": [0, 9], "keep": false}}),
        json!({"slice": {"starts": [0, 0], "steps": [i64::MAX, -1]}}),
        json!({"pad": {"before": [i64::MAX, 0], "after": [1, -9]}}),
        json!({"pool": {"kind": "max", "windows": [{"input": 512, "kernel": i64::MAX, "stride": 0, "pad_before": 0, "pad_after": -1, "dilation": 1}], "ceil_mode": true}}),
        json!({"conv": {"windows": [], "groups": 0}}),
        json!({"unary": {"power": 1e9}}),
        json!([{"input": {"input": 99, "axis": 0}}]),
    ];
    all[rng.usize(..all.len())].clone()
}

/// Changes one value somewhere below.
fn changed(value: &mut Value, rng: &mut fastrand::Rng) {
    let here = rng.u8(..4) == 0;
    match value {
        Value::Object(map) if !map.is_empty() && !here => {
            let key = map.keys().nth(rng.usize(..map.len())).expect("a key").clone();
            match rng.u8(..12) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert("body".into(), strange(rng))),
                _ => changed(&mut map[&key], rng),
            }
        }
        Value::Array(list) if !list.is_empty() && !here => {
            let at = rng.usize(..list.len());
            match rng.u8(..12) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                _ => changed(&mut list[at], rng),
            }
        }
        other => *other = strange(rng),
    }
}

#[test]
fn mistakes_are_refused_in_both_versions() {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let platform = Platform::of(&profile).expect("a platform");
    let model = StageRoofline::new().expect("a model");
    let rates = Modelled { model: &model, on: &profile };
    let mut refused = 0;
    let texts = [text("dlrm"), text("llama_ctx_t512"), first(&graph("dlrm"))];
    for seed in 0..600 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let source = &texts[rng.usize(..texts.len())];
        let file = if rng.u8(..3) == 0 {
            // Some bytes fewer, or others.
            let mut bytes = source.clone().into_bytes();
            let (at, length) = (rng.usize(..bytes.len()), rng.usize(1..40));
            let end = bytes.len().min(at + length);
            if rng.bool() {
                drop(bytes.drain(at..end))
            } else {
                bytes[at] = *rng.choice(b"0-9{}[],:\"eax").expect("a byte")
            }
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            let mut value: Value = serde_json::from_str(source).expect("JSON");
            changed(&mut value[["nodes", "tensors"][rng.usize(..2)]], &mut rng);
            value.to_string()
        };
        match read(&file) {
            Ok(view) if seed % 8 == 0 => drop(planned(&view, Policy::Kitsune, &platform, &rates)),
            Ok(_) => {}
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(refused > 300, "{refused}");
}
