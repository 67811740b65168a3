//! The rebuilt applications of paper 003, and other forms of them.
#![allow(dead_code, reason = "each test uses a part")]

use warpsight_dataflow::Graph;

/// Names and numbers of operators.
pub const ALL: [(&str, usize); 11] = [
    ("dlrm", 21),
    ("grc", 35),
    ("mgn", 51),
    ("nerf", 24),
    ("llama_ctx_t512", 27),
    ("llama_tok", 27),
    ("train_dlrm", 58),
    ("train_grc", 98),
    ("train_mgn", 142),
    ("train_nerf", 69),
    ("train_llama", 88),
];

/// The text of an example.
pub fn text(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dataflow");
    std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// An example.
pub fn graph(name: &str) -> Graph {
    Graph::read(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The same graph, its nodes in another order and everything renamed.
pub fn disguised(json: &str, seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut value: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let names: Vec<String> = value["tensors"].as_object().expect("tensors").keys().cloned().collect();
    let mut numbers: Vec<usize> = (0..names.len()).collect();
    rng.shuffle(&mut numbers);
    let renamed = |name: &str| format!("x{}", numbers[names.iter().position(|other| other == name).expect("a tensor")]);
    let tensors = value["tensors"].as_object().expect("tensors").iter().map(|(name, tensor)| (renamed(name), tensor.clone())).collect();
    let nodes = value["nodes"].as_array_mut().expect("nodes");
    rng.shuffle(nodes);
    for (at, node) in nodes.iter_mut().enumerate() {
        node["id"] = format!("n{at}").into();
        node["tag"] = "none".into();
        for side in ["inputs", "outputs"] {
            for name in node[side].as_array_mut().expect("tensors") {
                *name = renamed(name.as_str().expect("a name")).into();
            }
        }
    }
    value["tensors"] = serde_json::Value::Object(tensors);
    value["app"] = "other".into();
    value.to_string()
}
