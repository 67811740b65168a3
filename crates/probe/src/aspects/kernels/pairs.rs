//! Kernels of one group: whose lanes take different ways, of how many lanes matters, or that do nothing.

use super::{COUNTS, Kernel, constants, expect};
use crate::Amounts;
use crate::kernels::{lines, output};
use std::sync::Arc;

/// Steps of a trip.
pub(crate) const STEPS: u32 = 16;

/// Blocks of `block` neighbouring lanes take turns between two ways through a branch.
pub(crate) fn split(lanes: u32, block: u32) -> Kernel {
    split_holding(lanes, block, 0)
}

/// The same by work-items that hold so many values meanwhile, which they made before and need after.
pub(crate) fn split_holding(lanes: u32, block: u32, values: u32) -> Kernel {
    let made = lines(values, |j| format!("let v{j} = fma(f32(l), a, {j}.0)"));
    let of = |what: &str| (1..values).fold("v0".to_owned(), |all, j| format!("{what}({all}, v{j})"));
    let needed = if values == 0 { String::new() } else { format!(" + ({} - {})", of("max"), of("min")) };
    let holding = if values == 0 { String::new() } else { format!("_{values}") };
    let text = format!(
        "program split_{lanes}{holding} {{
           size trips in 0..=8388608
           size block in 1..={lanes}
           read buffer k: f32[2]
           write buffer end: f32[{lanes}]
           lanes l = {lanes}
           {{
             let a = k[0]
             let b = k[1]
             let side = l / block % 2
             var x: f32 = f32(l) * a
             {made}
             for i in 0..trips unroll none {{
               if side == 0 {{
                 {}
               }} else {{
                 {}
               }}
             }}
             end[l] = x{needed}
           }}
         }}",
        "x = fma(x, a, b)\n".repeat(STEPS as usize),
        "x = x * a\n".repeat(STEPS as usize)
    );
    let judge = move |trips: u64, found: &[f32]| {
        let counted = (trips * u64::from(STEPS)) as f64;
        let end = |lane: u32| f64::from(lane + values.saturating_sub(1)) + if (lane / block).is_multiple_of(2) { counted } else { 0.0 };
        expect(found, [end(0), end(lanes - 1)])
    };
    let holding = if values == 0 { String::new() } else { format!(" holding {values}") };
    one_group(format!("split {lanes} by {block}{holding}"), text, [1.0, 1.0], lanes, vec![block.into()], judge)
}

/// A chain of dependent integer quotients.
pub(crate) fn quotients(groups: u32, lanes: u32) -> Kernel {
    let text = format!(
        "program quotients_{lanes} {{
           size trips in 0..=8388608
           size groups in 1..=8388608
           read buffer k: f32[2]
           write buffer end: f32[groups, {lanes}]
           groups g = groups
           lanes l = {lanes}
           {{
             let n = i32(k[0])
             var x: i32 = l + i32(k[1])
             for i in 0..trips unroll none {{
               {}
             }}
             end[g, l] = f32(x)
           }}
         }}",
        "x = n / x\n".repeat(STEPS as usize)
    );
    // n / (n / x) is x where x² ≤ n, and quotients come in even numbers.
    let judge = move |_: u64, found: &[f32]| expect(found, [1.0, lanes.into()]);
    let kernel = one_group(format!("quotients {groups} x {lanes}"), text, [16_777_216.0, 1.0], lanes, vec![groups.into()], judge);
    Kernel {
        shape: [groups, lanes],
        memory: vec![constants(&[16_777_216.0, 1.0]), output(4 * u64::from(groups) * u64::from(lanes))],
        ..kernel
    }
}

/// One work-item that does nothing when it makes no trips.
pub(crate) fn nothing() -> Kernel {
    let text = "program nothing {
           size trips in 0..=8388608
           read buffer k: f32[2]
           write buffer end: f32[1]
           lanes l = 1
           {
             if 0 < trips {
               end[l] = k[1]
             }
           }
         }";
    let judge = |trips: u64, found: &[f32]| match found {
        [first, ..] if first.is_nan() == (trips == 0) => Ok(()),
        _ => Err(format!("{trips} trips leave {found:?}")),
    };
    one_group("nothing".into(), text.into(), [1.0, 1.0], 1, vec![], judge)
}

fn one_group(
    name: String,
    text: String,
    given: [f32; 2],
    lanes: u32,
    sizes: Vec<i64>,
    judge: impl Fn(u64, &[f32]) -> Result<(), String> + Send + Sync + 'static,
) -> Kernel {
    Kernel {
        name,
        text,
        sizes,
        memory: vec![constants(&given), output(4 * u64::from(lanes))],
        shape: [1, lanes],
        most: COUNTS / u64::from(STEPS),
        amounts: Amounts::default(),
        judge: Arc::new(judge),
    }
}
