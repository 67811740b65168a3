//! Sums of products, each by one work-item or by several that meet in local memory.

use super::{COUNTS, Kernel, constants, expect};
use crate::Amounts;
use crate::kernels::output;
use std::sync::Arc;

/// Work-items of a group.
pub(crate) const LANES: u32 = 64;
/// Work-items that share a sum where it is split.
pub(crate) const PARTS: u32 = 8;
/// Terms of a sum.
const TERMS: u32 = 256;

/// As many sums as a launch has to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Times 64, the sums.
    pub(crate) blocks: u32,
    /// Whether each is split.
    pub(crate) split: bool,
}

impl Sums {
    /// A trip makes every sum once.
    pub(crate) fn kernel(self) -> Kernel {
        let parts = if self.split { PARTS } else { 1 };
        let groups = self.blocks * parts;
        let own = TERMS / parts;
        let joined = format!(
            "kept[l] = s
             barrier group local
             let first = l - l % {PARTS}
             s = {}
             barrier group local",
            (0..PARTS).map(|j| format!("kept[first + {j}]")).collect::<Vec<_>>().join(" + ")
        );
        let text = format!(
            "program sums_{parts} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read buffer k: f32[2]
               write buffer end: f32[groups, {LANES}]
               {}
               groups g = groups
               lanes l = {LANES}
               {{
                 let a = k[0]
                 let b = k[1]
                 var x: f32 = 0.0
                 for i in 0..trips unroll none {{
                   var s: f32 = 0.0
                   for n in 0..{own} unroll 16 {{
                     s = fma(s, a, b)
                   }}
                   {}
                   x = x + s
                 }}
                 end[g, l] = x
               }}
             }}",
            if self.split { format!("local kept: f32[{LANES}]") } else { String::new() },
            if self.split { joined } else { String::new() },
        );
        Kernel {
            name: format!("sums {} by {parts}", self.blocks * LANES),
            text,
            sizes: vec![groups.into()],
            memory: vec![constants(&[1.0, 1.0]), output(4 * u64::from(groups * LANES))],
            shape: [groups, LANES],
            most: COUNTS / u64::from(TERMS),
            amounts: Amounts::default(),
            judge: Arc::new(move |trips, found| expect(found, [(trips * u64::from(TERMS)) as f64; 2])),
        }
    }
}
