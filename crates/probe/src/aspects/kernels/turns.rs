//! Walks that take turns: through one piece of memory and then another, each by dependent loads in random order.

use super::{COUNTS, Kernel, expect};
use crate::Amounts;
use crate::kernels::output;
use crate::kernels::walk::Route;
use fastrand::Rng;
use std::sync::Arc;
use warpsight_run::Init;

/// Bytes between places: a line of many caches. Where lines are shorter, all walks leave the same sets empty.
pub(crate) const STRIDE: u32 = 64;
/// Seed of the order.
const SEED: u64 = 1;

/// One walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) route: Route,
    /// Bytes that it goes through, a multiple of [`STRIDE`].
    pub(crate) range: u32,
}

impl Leg {
    fn places(self) -> u32 {
        self.range / STRIDE
    }

    /// Loads of a trip: one more than there are places, so that trips begin at different ones.
    pub(crate) fn steps(self) -> u32 {
        self.places() + 1
    }

    /// Elements or texels in the order of the walk, beginning with the first.
    fn cycle(self) -> Vec<u32> {
        let each = STRIDE / self.route.unit();
        let mut places: Vec<u32> = (1..self.places()).map(|i| i * each).collect();
        Rng::with_seed(SEED).shuffle(&mut places);
        std::iter::once(0).chain(places).collect()
    }

    fn extent(self) -> u32 {
        self.range / self.route.unit()
    }

    fn contents(self) -> Init {
        let unit = self.route.unit() as usize;
        let mut data = vec![0; self.range as usize];
        let cycle = self.cycle();
        for (&from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            data[from as usize * unit..][..4].copy_from_slice(&to.to_le_bytes());
        }
        Init::Data(data)
    }
}

/// A work-item that walks once around and a step more on each leg, in turns.
pub(crate) fn turns(legs: &[Leg]) -> Kernel {
    let all = |line: &dyn Fn(usize, Leg) -> String| legs.iter().enumerate().map(|(n, leg)| line(n, *leg) + "\n").collect::<String>();
    let text = format!(
        "program turns_{} {{
           size trips in 0..=8388608
           {}
           {}
           write buffer end: f32[1]
           lanes l = 1
           {{
             {}
             for i in 0..trips unroll none {{
               {}
             }}
             end[l] = f32({})
           }}
         }}",
        legs.iter().map(|leg| leg.route.word()).collect::<Vec<_>>().join("_"),
        all(&|n, leg| format!("size steps{n} in 1..=8388608\nsize places{n} in 1..={}", leg.extent())),
        all(&|n, leg| leg.route.declared(&format!("next{n}"), &format!("places{n}"))),
        all(&|n, _| format!("var at{n}: i32 = 0")),
        all(&|n, leg| {
            let read = leg.route.read(&format!("next{n}"), &format!("at{n}"));
            format!("for s{n} in 0..steps{n} unroll 16 {{\nat{n} = {read}\n}}")
        }),
        (0..legs.len()).map(|n| format!("at{n}")).collect::<Vec<_>>().join(" + "),
    );
    let cycles: Vec<Vec<u32>> = legs.iter().map(|leg| leg.cycle()).collect();
    let name = legs.iter().map(|leg| format!("{} {} B", leg.route.word(), leg.range)).collect::<Vec<_>>().join(" and ");
    Kernel {
        name: format!("turns {name}"),
        text,
        sizes: legs.iter().flat_map(|leg| [leg.steps().into(), leg.extent().into()]).collect(),
        memory: legs.iter().map(|leg| leg.route.memory(leg.extent(), leg.contents())).chain([output(4)]).collect(),
        shape: [1, 1],
        most: COUNTS,
        amounts: Amounts::default(),
        judge: Arc::new(move |trips, found| {
            let end: f64 = cycles.iter().map(|cycle| f64::from(cycle[(trips % cycle.len() as u64) as usize])).sum();
            expect(found, [end; 2])
        }),
    }
}
