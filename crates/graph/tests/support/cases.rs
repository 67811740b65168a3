//! Models with what onnxruntime makes of them, as `fixtures/make.py` writes them.

use super::draw;

pub struct Case {
    pub name: String,
    pub model: Vec<u8>,
    pub inputs: Vec<Vec<f64>>,
    pub shape: Vec<i64>,
    pub output: Vec<f64>,
}

pub fn cases(text: &str) -> Vec<Case> {
    let all: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
    let list = |v: &serde_json::Value| v.as_array().unwrap().iter().map(|e| e.as_i64().unwrap()).collect::<Vec<_>>();
    let hex = |s: &str| (0..s.len()).step_by(2).map(|i| u8::from_str_radix(&s[i..i + 2], 16).unwrap()).collect();
    let of = |v: &serde_json::Value| {
        let inputs = v["inputs"].as_array().unwrap().iter().zip(1..);
        let drawn = |(shape, seed)| {
            let count = list(shape).iter().product::<i64>() as usize;
            let values = draw(seed, count).into_iter().map(|v| f64::from(v as f32));
            // Whole numbers, where the file says so.
            match v["whole"][seed as usize - 1].as_array() {
                Some(own) => values.map(|v| ((v + own[0].as_f64().unwrap()) * own[1].as_f64().unwrap()).floor()).collect(),
                None => values.collect(),
            }
        };
        Case {
            name: v["name"].as_str().unwrap().into(),
            model: hex(v["model"].as_str().unwrap()),
            inputs: inputs.map(drawn).collect(),
            shape: list(&v["shape"]),
            output: v["output"].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect(),
        }
    };
    all.iter().map(of).collect()
}
