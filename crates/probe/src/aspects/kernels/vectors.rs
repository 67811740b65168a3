//! Independent chains of multiply-adds on vectors.

use super::{COUNTS, Kernel, constants, expect};
use crate::Amounts;
use crate::kernels::{lines, output};
use std::sync::Arc;

/// Numbers of a work-item that are alive at once, whatever the width: enough to keep pipelines full, few enough for registers.
const ALIVE: u32 = 16;
/// Steps of each in a trip.
const STEPS: u32 = 16;

/// What is computed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// `x ← x · 1 + 1` of single precision.
    Floats,
    /// `x ← x · 1 + 0` of half precision, which has no room for counts.
    Halves,
    /// `x ← x · 1 + 1` of double precision.
    Doubles,
    /// `x ← √x`, which a special unit computes where there is one, of single precision.
    Roots,
}

/// Every work-item computes on vectors of `width` numbers, from numbers that are not known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vectors {
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    /// Numbers of a vector, a divisor of 16.
    pub(crate) width: u32,
    pub(crate) of: Of,
}

impl Vectors {
    pub(crate) fn kernel(self) -> Kernel {
        let Self { groups, lanes, width, of } = self;
        let vectors = ALIVE / width;
        let (number, name, start) = match of {
            Of::Floats => ("f32", "vectors", "f32(l)"),
            Of::Halves => ("half", "halves", "half(l & 7)"),
            Of::Doubles => ("f64", "doubles", "f64(l)"),
            Of::Roots => ("f32", "roots", "k[0]"),
        };
        let halves = of == Of::Halves;
        let (ty, splat) = if width == 1 { (number.into(), String::new()) } else { (format!("{number}x{width}"), format!("splat{width}")) };
        let known = |of: &str| if number == "f32" { format!("{splat}({of})") } else { format!("{splat}({number}({of}))") };
        let lane = |of: &str, at: u32| if width == 1 { of.to_owned() } else { format!("lane({of}, {at})") };
        let take = |of: &str, at: u32| if number == "f32" { lane(of, at) } else { format!("f32({})", lane(of, at)) };
        let step = |j: u32| if of == Of::Roots { format!("x{j} = sqrt(x{j})") } else { format!("x{j} = fma(x{j}, a, b)") };
        let operations = if of == Of::Roots { 1.0 } else { 2.0 };
        let last = vectors - 1;
        let text = format!(
            "program {name}_{width} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read buffer k: f32[2]
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 let a = {}
                 let b = {}
                 {}
                 for i in 0..trips unroll none {{
                   {}
                 }}
                 let s = {}
                 end[g, l] = {} + {}
               }}
             }}",
            known("k[0]"),
            known("k[1]"),
            lines(vectors, |j| format!("var x{j}: {ty} = {splat}({start})")),
            lines(vectors, step).repeat(STEPS as usize),
            (0..vectors).map(|j| format!("x{j}")).collect::<Vec<_>>().join(" + "),
            take("s", 0),
            take(&format!("x{last}"), width - 1),
        );
        let threads = u64::from(groups) * u64::from(lanes);
        Kernel {
            name: format!("{name} of {width} {groups} x {lanes}"),
            text,
            sizes: vec![groups.into()],
            memory: vec![constants(&[1.0, if halves { 0.0 } else { 1.0 }]), output(4 * threads)],
            shape: [groups, lanes],
            // Sums of all vectors are counted, too.
            most: COUNTS / u64::from(STEPS * (ALIVE + 1)),
            amounts: Amounts { operations: operations * threads as f64 * f64::from(ALIVE * STEPS), ..Amounts::default() },
            judge: Arc::new(move |trips, found| {
                let one = |lane: u32| match of {
                    Of::Halves => f64::from(lane & 7),
                    Of::Roots => 1.0,
                    Of::Floats | Of::Doubles => f64::from(lane) + (trips * u64::from(STEPS)) as f64,
                };
                let end = |lane: u32| f64::from(vectors + 1) * one(lane);
                expect(found, [end(0), end(lanes - 1)])
            }),
        }
    }
}
