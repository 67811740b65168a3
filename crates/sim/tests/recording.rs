//! The simulated Adreno 640 beside the recording of a real one, by the functions of the example that draws both.
#![allow(dead_code)] // the example uses the rest

#[path = "../examples/recording/chase.rs"]
mod chase;
#[path = "../examples/recording/folder.rs"]
mod folder;
#[path = "../examples/recording/kernels.rs"]
mod kernels;
#[path = "../examples/recording/points.rs"]
mod points;
#[path = "../examples/shared/mod.rs"]
mod shared;

use chase::Ring;
use points::{fitted, held_out, mean_error, points};
use warpsight_sim::{Silicon, Simulator};

fn simulator() -> Simulator {
    Simulator::new(Silicon::adreno640())
}

fn recording() -> folder::Folder {
    folder::Folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/adreno640").into())
}

#[test]
fn all_strides_of_the_ring_and_the_rings_around_it() {
    let folder = recording();
    if !folder.has("ImageCacheHierarchyPChase.csv") {
        return; // recordings are not part of the repository
    }
    let points = points(&folder, true).expect("a table");
    let (fitted, held_out) = (fitted(&points), held_out(&points));
    assert_eq!((fitted.len(), held_out.len()), (65, 64));
    let error = |points: &[&points::Point]| mean_error(points, &simulator()).expect("simulated").expect("points");
    let (fitted, held_out) = (error(&fitted), error(&held_out));
    assert!(fitted < 0.1 && held_out < 0.1, "{fitted} {held_out} ns");
}

#[test]
fn one_hash_of_two_dimensions_explains_rows_and_columns() {
    let simulator = simulator();
    assert_eq!([false, true].map(|along_y| kernels::capacity(&simulator, along_y).expect("simulated")), [Some(64), Some(32)]);
    // Another hash thrashes along x: lines of one row would all be in one set.
    let other = Silicon::parse("base = \"adreno640\"\n[texture.image2d]\nset_hash = [[5]]\n").expect("valid");
    assert_eq!(kernels::capacity(&Simulator::new(other), false).expect("simulated"), Some(32));
}

/// What is extrapolated is what the long way gives, to the tick.
#[test]
fn the_periodic_state_is_the_long_way() {
    let simulator = simulator();
    for (image, slots, stride) in
        [(true, 65, 1), (true, 65, 26), (true, 64, 5), (true, 97, 3), (true, 300, 7), (false, 65, 4), (false, 1024, 33)]
    {
        let ring = Ring { image, slots, stride };
        let [short, long] = [ring.extrapolated(&simulator, 8191), ring.walked(&simulator, 8191)].map(|time| time.expect("simulated"));
        assert!((short / long - 1.0).abs() < 1e-12, "{ring:?}: {short} {long}");
    }
}

/// RegCount: 12 groups at once of as many registers as there are, 24 of half as many; the chain spills from 181 values on.
#[test]
fn registers_limit_groups_and_spill_where_they_did() {
    let simulator = simulator();
    let trip = |values, groups| kernels::registers(&simulator, values, groups).expect("simulated") * 585e6;
    for (values, groups) in [(183, 12), (91, 24)] {
        let [one, full, more] = [1, groups, groups + 1].map(|groups| trip(values, groups));
        assert!(full < 1.2 * one && more > 1.8 * one, "{values} values: {one} {full} {more} cycles");
    }
    // Recorded: 381 cycles a trip of 91 values, 735 of 180; 4 more for a value more, 53 at the 181st.
    let [half, before, at, behind] = [91, 179, 180, 181].map(|values| trip(values, 1));
    assert!((half / 381.0 - 1.0).abs() < 0.05 && (at / 735.0 - 1.0).abs() < 0.05, "{half} {at} cycles");
    assert!((at - before - 4.0).abs() < 0.5 && behind - at > 20.0, "{before} {at} {behind} cycles");
}
