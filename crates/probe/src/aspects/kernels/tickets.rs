//! Lanes that take tickets from a counter: those of a warp do so together, and warps that were made to come late come late (paper 001,
//! Listing 3).

use super::{COUNTS, Kernel, constants};
use crate::Amounts;
use crate::kernels::{lines, output};
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

/// Chains of a lane between its two tickets, and steps of each: no step waits for another, so that nothing but the end of its work keeps a warp
/// from going on.
const CHAINS: u32 = 8;
const WORK: u32 = 16;

/// Whether so many lanes at least take a ticket before their work, before any takes one behind it, becomes time: then every lane makes its trips,
/// which it does not otherwise. Of more than `lanes` it never is so.
pub(crate) fn begun(lanes: u32, least: u32) -> Kernel {
    let text = format!(
        "program begun_{lanes} {{
           size trips in 0..=8388608
           size least in 1..={}
           read buffer k: f32[2]
           write buffer end: f32[{lanes}]
           local count: i32[1]
           local before: i32[1]
           lanes l = {lanes}
           {{
             let a = k[0]
             let b = k[1]
             if l == 0 {{
               count[0] = 0
               before[0] = {lanes}
             }}
             barrier group local
             let first = atomic add count[0] with 1 relaxed group
             let own = f32(l) + f32(first) * (a - b)
             {}
             {}
             var x: f32 = {}
             let last = atomic add count[0] with 1 + i32(x * (a - b)) relaxed group
             atomic min before[0] with last relaxed group
             barrier group local
             let times = select(before[0] < least, 0, trips)
             for i in 0..times unroll none {{
               {}
             }}
             end[l] = x
           }}
         }}",
        lanes + 1,
        lines(CHAINS, |j| format!("var x{j}: f32 = own")),
        lines(WORK, |_| lines(CHAINS, |j| format!("x{j} = fma(x{j}, a, b)"))),
        (0..CHAINS).map(|j| format!("x{j}")).collect::<Vec<_>>().join(" + "),
        "x = fma(x, a, b)\n".repeat(STEPS as usize)
    );
    Kernel {
        name: format!("begun {lanes} by {least}"),
        text,
        sizes: vec![least.into()],
        memory: vec![constants(&[1.0, 1.0]), output(4 * u64::from(lanes))],
        shape: [1, lanes],
        most: COUNTS / 2 / u64::from(STEPS),
        amounts: Amounts::default(),
        judge: Arc::new(move |trips, found| {
            let worked = |lane: u32| f64::from(CHAINS * (lane + WORK));
            let made = (trips * u64::from(STEPS)) as f64;
            let is =
                |more: f64| found.len() == 2 && f64::from(found[0]) == worked(0) + more && f64::from(found[1]) == worked(lanes - 1) + more;
            let [all, none] = [is(made), is(0.0)];
            if all || (least > 1 && none) { Ok(()) } else { Err(format!("{trips} trips end at {found:?}")) }
        }),
    }
}
