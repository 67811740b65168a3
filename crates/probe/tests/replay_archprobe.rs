use warpsight_probe::replay::archprobe;
#[test]
fn look() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/adreno640");
    let r = archprobe::read(&folder).unwrap();
    println!("{:?}", r.notes);
    let t = std::time::Instant::now();
    let f = archprobe::analyse(&r);
    println!("{:?}", t.elapsed());
    for (k, v) in &f.facts {
        let s = serde_json::to_string(v).unwrap();
        println!("{k}: {}", s.chars().take(330).collect::<String>());
    }
    println!("{:#?}", f.contradictions);
    for c in &f.curves {
        println!("{} {:?} {} {} {:?}", c.title, c.figure, c.points.len(), c.model.len(), c.changes);
    }
}
