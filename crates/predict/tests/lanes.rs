//! Warps are counted as a device fills them: where it goes along y first, a kernel is what another one is whose axes are named so.

use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{Checked, CostModel, Kernel, Profile, Seconds, text};
use warpsight_predict::KernelModel;
use warpsight_predict::baselines::ReuseDistance;
use warpsight_predict::coarse::Coarse;

/// Groups of 16 × 16 work-items walk along rows of an image, a texel or a buffer's element each.
fn kernel(lanes: &str) -> Kernel {
    let text = format!(
        "program reads {{\n  read image i: rgba32f[64, 64]\n  read buffer b: f32[64, 64]\n  write image o: rgba32f[64, 64]\n  groups g = 4, h = 4\n  lanes {lanes}\n  {{\n    \
         var s: f32x4 = splat4(0.0)\n    for n in 0..64 unroll none {{\n      let t = i@[g * 16 + x, n]\n      s = s + t * splat4(b[n, g * 16 + x])\n    }}\n    \
         o@[g * 16 + x, h * 16 + y] = s\n  }}\n}}\n"
    );
    Kernel::of(&Checked::new(text::parse(&text).expect("parses")).expect("valid")).expect("affine")
}

fn device(order: Fact<String>) -> Profile {
    let mut on = builtin("sim-adreno640").expect("is there").expect("parses");
    on.probed.lane_order = order;
    on
}

/// What both counts and a baseline say.
fn seconds(kernel: &Kernel, on: &Profile) -> [Seconds; 3] {
    let exact = KernelModel.estimate(kernel, on).expect("an estimate").time;
    let coarse = Coarse::of(on, Default::default()).expect("known").seconds(kernel).expect("an estimate").0;
    [exact, coarse, ReuseDistance.estimate(kernel, on).expect("an estimate").time]
}

#[test]
fn lanes_lie_as_the_device_has_them() {
    let order = |word: &str| device(Fact::known(word.to_owned(), Source::Assumed, "a test"));
    let (across, down) = (kernel("x = 16, y = 16"), kernel("y = 16, x = 16"));
    let [x, y] = [&across, &down].map(|own| seconds(own, &order("x")));
    assert!(x.iter().zip(&y).any(|(x, y)| x != y), "the order counts: {x:?}");
    assert_eq!(seconds(&across, &order("y")), y);
    assert_eq!(seconds(&down, &order("y")), x);
    // A tile as wide as the group is a row after another.
    assert_eq!(seconds(&across, &order("16 x 4")), x);
    // Where nobody knows nothing changes.
    assert_eq!(seconds(&across, &device(Fact::unknown("nobody looked"))), x);
    assert_eq!(seconds(&across, &order("in spirals")), x);
}
