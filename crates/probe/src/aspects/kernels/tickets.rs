//! Lanes that take tickets from a counter: those of a warp do so together, and warps that were made to come late come late.

use super::{COUNTS, Kernel, constants};
use crate::Amounts;
use crate::kernels::output;
use std::sync::Arc;

/// Steps of a trip.
const STEPS: u32 = 16;
/// Steps that a lane waits longer than its neighbour before it takes a ticket.
const LATER: u32 = 4;

/// Whether the order of tickets is broken inside blocks of so many neighbouring lanes becomes time: then every lane makes its trips, which it
/// does not otherwise. It does in any case where that is `told`.
pub(crate) fn tickets(lanes: u32, block: u32, told: bool) -> Kernel {
    let text = format!(
        "program tickets_{lanes} {{
           size trips in 0..=8388608
           size block in 1..={lanes}
           size told in 0..=1
           read buffer k: f32[2]
           write buffer end: f32[{lanes}]
           local count: i32[1]
           local broken: i32[1]
           local order: i32[{lanes}]
           lanes l = {lanes}
           {{
             let a = k[0]
             let b = k[1]
             if l == 0 {{
               count[0] = 0
               broken[0] = told
             }}
             barrier group local
             var x: f32 = f32(l) * a
             for n in 0..({lanes} - l) * {LATER} unroll none {{
               x = fma(x, a, b)
             }}
             let ticket = atomic add count[0] with 1 relaxed group
             order[l] = ticket
             barrier group local
             let before = order[max(l - 1, 0)]
             if select(l % block == 0, 0, abs(ticket - before - 1)) != 0 {{
               atomic max broken[0] with 1 relaxed group
             }}
             barrier group local
             let times = trips * broken[0]
             for i in 0..times unroll none {{
               {}
             }}
             end[l] = x
           }}
         }}",
        "x = fma(x, a, b)\n".repeat(STEPS as usize)
    );
    Kernel {
        name: format!("tickets {lanes} by {block}{}", if told { " told" } else { "" }),
        text,
        sizes: vec![block.into(), told.into()],
        memory: vec![constants(&[1.0, 1.0]), output(4 * u64::from(lanes))],
        shape: [1, lanes],
        most: COUNTS / u64::from(STEPS),
        amounts: Amounts::default(),
        judge: Arc::new(move |trips, found| {
            let waited = |lane: u32| f64::from(lane + (lanes - lane) * LATER);
            let made = (trips * u64::from(STEPS)) as f64;
            let is =
                |more: f64| found.len() == 2 && f64::from(found[0]) == waited(0) + more && f64::from(found[1]) == waited(lanes - 1) + more;
            if is(made) || (!told && is(0.0)) { Ok(()) } else { Err(format!("{trips} trips end at {found:?}")) }
        }),
    }
}
