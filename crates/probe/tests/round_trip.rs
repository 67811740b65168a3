//! Simulated GPUs by chance are found to be what they are made of; `--example round_trip` does the same with as many as one likes.

#[path = "common/silicon.rs"]
mod silicon;

use silicon::Silicon;

#[test]
fn silicon_by_chance_comes_back() {
    let mut rng = fastrand::Rng::with_seed(20261126);
    for n in 0..3 {
        let silicon = Silicon::by_chance(&mut rng, 0.03);
        let wrong: Vec<_> = silicon.judged(&silicon.probed(&["warp", "hierarchy"])).into_iter().filter(|judged| !judged.3).collect();
        // What other aspects find is not asked for here.
        let wrong: Vec<_> =
            wrong.into_iter().filter(|judged| !["cores", "registers a work-item", "peak f32 [GFLOP/s]"].contains(&judged.0)).collect();
        assert!(wrong.is_empty(), "{n}: {wrong:?} of {silicon:?}");
    }
}
