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
        json!([{"input": {"input": 1, "axis": usize::MAX}}]),
        json!([{"offsets": {"input": u64::MAX}}]),
        json!([{"lower_triangle": {"axis": u64::MAX, "diagonal": -1}}]),
        json!([{"lower_triangle": {"axis": 1, "diagonal": i64::MIN}}]),
        json!([{"lower_triangle": {"axis": 1, "diagonal": 1_u64 << 40}}]),
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

/// Of where positions come from, what is there is read and anything else is refused by the name of its field.
#[test]
fn positions_come_from_what_is_there() {
    let mut source: Value = serde_json::from_str(&text("dlrm")).expect("JSON");
    // What reads through positions becomes opaque: nothing but its numbers stays.
    let mut opaque = vec![];
    for (at, node) in source["nodes"].as_array_mut().expect("nodes").iter_mut().enumerate() {
        let node = node.as_object_mut().expect("a node");
        if matches!(node["op"].as_str(), Some("embedding_bag" | "index_tril")) {
            node.retain(|key, _| key != "body");
            node.insert("cls".into(), "gather".into());
            node.insert("flops".into(), 0.into());
            opaque.push(at);
        }
    }
    assert_eq!(opaque.len(), 2);
    let shape = |name: &Value| -> Vec<i64> {
        let shape = source["tensors"][name.as_str().expect("a name")]["shape"].as_array().expect("a shape");
        shape.iter().map(|extent| extent.as_i64().expect("an extent")).collect()
    };
    let nodes = source["nodes"].as_array().expect("nodes");
    let mut refused = std::collections::BTreeMap::<&str, usize>::new();
    for seed in 0..400 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let at = opaque[rng.usize(..opaque.len())];
        let (inputs, outputs) = (nodes[at]["inputs"].as_array().expect("inputs"), nodes[at]["outputs"].as_array().expect("outputs"));
        let far = |rng: &mut fastrand::Rng| if rng.u8(..8) == 0 { u64::MAX } else { rng.u64(..4) };
        let (input, axis) = (far(&mut rng), far(&mut rng));
        let here = usize::try_from(input).is_ok_and(|input| input < inputs.len());
        let rank = |from: &mut dyn Iterator<Item = &Value>| from.map(|name| shape(name).len() as u64).max().unwrap_or(0);
        let (entry, wrong) = match rng.u8(..3) {
            0 => {
                let mut others = inputs.iter().enumerate().filter(|(at, _)| *at as u64 != input).map(|(_, name)| name).chain(outputs);
                let wrong = if !here { Some("input.input") } else { (axis >= rank(&mut others)).then_some("input.axis") };
                (json!({"input": {"input": input, "axis": axis}}), wrong)
            }
            1 => (json!({"offsets": {"input": input}}), (!here).then_some("offsets.input")),
            _ => {
                let diagonal = if rng.u8(..8) == 0 { [i64::MIN, i64::MAX][rng.usize(..2)] } else { rng.i64(-40..40) };
                let pair = axis < rank(&mut inputs.iter()).saturating_sub(1);
                let wrong = if !pair {
                    Some("lower_triangle.axis")
                } else {
                    let mut pairs = inputs.iter().map(&shape).filter(|shape| axis + 1 < shape.len() as u64);
                    let inside = |shape: Vec<i64>| diagonal > -shape[axis as usize] && diagonal < shape[axis as usize + 1];
                    (!pairs.any(inside)).then_some("lower_triangle.diagonal")
                };
                (json!({"lower_triangle": {"axis": axis, "diagonal": diagonal}}), wrong)
            }
        };
        let mut file = source.clone();
        file["nodes"][at]["index"] = json!([entry]);
        match (read(&file.to_string()), wrong) {
            (Ok(_), None) => {}
            (Err(error), Some(field)) => {
                *refused.entry(field).or_default() += 1;
                assert!(error.to_string().contains(&format!("`: index[0].{field}: ")), "{error}, of {entry}");
            }
            (found, wrong) => panic!("{entry} of {inputs:?}: {:?}, expected {wrong:?}", found.map(|_| ())),
        }
    }
    assert!(refused.len() == 5 && refused.values().all(|&count| count > 4), "{refused:?}");
}
