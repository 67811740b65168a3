//! Atomics: what happens to one address happens one after the other.
//! .
//! In device memory the second level does them; different addresses are spread over its slices, whose bandwidth counts as that of loads and
//! stores. Lanes of a warp that want one address go there one by one, but where all lanes want the same whatever the data: compilers then add
//! up first. Whether hardware does so for others, too, is not recorded: intervals cover that. In local memory each lane takes its turn.

use super::block::priced;
use super::costs::{Request, Sizes};
use super::warps::Asked;
use crate::volumes::kernel::gathers::{Gather, Whose};
use crate::volumes::kernel::lanes;
use crate::volumes::kernel::subject::{Field, Subject, Touch, Var};
use crate::volumes::sets::regions::Region;
use warpsight_ir::{AccessKind, Affine};

/// Clocks between two atomics of one address: "one operation per clock" (NVIDIA, "Kepler GK110", 2012; nothing slower is published of later
/// ones, and nothing is recorded here).
const TURN: f64 = 1.0;

/// Clocks for which atomics of the busiest address take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contended {
    /// Each lane's by itself.
    pub clocks: f64,
    /// If lanes of a warp with one address were as one.
    pub together: f64,
}

/// Of a launch; and what to say of each access.
pub fn contended(subject: &Subject, sizes: Sizes, notes: &mut Vec<String>) -> Contended {
    let mut most = Contended::default();
    for field in subject.fields.iter().filter(|field| field.all().any(|touch| touch.kind == AccessKind::Atomic)) {
        // Accesses are taken to have one busiest address.
        let mut own = Contended::default();
        for touch in field.all().filter(|touch| touch.kind == AccessKind::Atomic) {
            let (asked, busiest) = of(subject, field, touch, sizes);
            own = Contended { clocks: own.clocks + TURN * busiest.clocks, together: own.together + TURN * busiest.together };
            notes.push(format!(
                "`{}`, access {}: {asked:.0} atomics, {:.0} of them one after the other at the busiest address, a clock each (as documented of \
                 Kepler; nothing is recorded); the interval covers {:.0}, as if lanes of a warp with one address were as one",
                field.name, touch.number, busiest.clocks, busiest.together
            ));
        }
        if own.clocks > most.clocks {
            most = own;
        }
    }
    most
}

/// Atomics of the launch, and turns at the busiest address.
fn of(subject: &Subject, field: &Field, touch: &Touch, sizes: Sizes) -> (f64, Contended) {
    let bytes = (touch.width * field.geometry.element) as u32;
    let gather = Gather::of(subject, field, touch);
    let (known, unknown) = if gather.is_some() { (vec![], vec![touch.clone()]) } else { (vec![touch.clone()], vec![]) };
    let alone = [Field { touches: known, gathers: unknown, ..field.clone() }];
    // Pieces as long as what a lane changes are addresses.
    let together: u64 = priced(subject, &alone, Sizes { sector: bytes, texture: None, ..sizes }, (Asked::Volumes, &|_| 0.0))
        .iter()
        .map(|own| own.sectors)
        .sum();
    let still = |lane: &Var| touch.coords.iter().all(|form| form.coefficient(lane.id) == 0);
    let uniform = touch.indirect.is_none() && subject.lanes.iter().all(still);
    let asked = if uniform { together as f64 } else { lanes::executing(subject, touch) };
    let addresses = match &gather {
        Some(own) => own.pieces(Whose::Blocks(own.blocks()), bytes.into()),
        None => {
            let mut regions: Vec<Region> = Vec::new();
            touch.regions(&subject.launch(), &mut regions);
            // An address beyond the end of a row of its own field is no row further.
            let mut flat = field.clone();
            if touch.coords[1..].iter().all(|form| *form == Affine::default()) {
                flat.geometry.row = flat.geometry.row.max(1 << 40);
            }
            flat.distinct(&regions, [bytes.into()], &[(0, 1)])[0] as f64
        }
    };
    let busiest = |asked: f64| {
        let mean = asked / addresses.max(1.0);
        // Draws fill addresses unevenly: the fullest of n that hold m each on average holds about m + √(2 m ln n).
        let uneven = if gather.is_some() { (2.0 * mean * addresses.max(1.0).ln()).sqrt() } else { 0.0 };
        (mean + uneven).ceil().min(asked)
    };
    (asked, Contended { clocks: busiest(asked), together: busiest(together as f64) })
}

/// Wavefronts of an atomic in local memory: lanes of the fullest bank, equal addresses among them, take turns.
pub fn in_turn(request: &Request, banks: u32) -> f64 {
    let mut full = vec![0_u32; banks as usize];
    for offset in request.offsets {
        full[((request.begin + offset) / 4).rem_euclid(banks.into()) as usize] += 1;
    }
    f64::from(full.into_iter().max().unwrap_or(0)) * (request.bytes as f64 / 4.0).max(1.0)
}
