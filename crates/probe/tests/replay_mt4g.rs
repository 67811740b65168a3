use warpsight_probe::replay::mt4g;
#[test]
fn show() {
    let root = format!("{}/../../../shared/data/devices/mt4g/raw", env!("CARGO_MANIFEST_DIR"));
    for e in std::fs::read_dir(root).unwrap().flatten() {
        let t = std::time::Instant::now();
        let r = mt4g::read(&e.path()).unwrap();
        println!("== {:?} notes {:?} ", e.file_name(), r.notes);
        let f = mt4g::analyse(&r);
        for (k, v) in &f.facts {
            println!("{k}: {}", serde_json::to_string(v).unwrap());
        }
        println!("contradictions {:?}, {:?}", f.contradictions, t.elapsed());
    }
}
