//! Where the lanes of a warp go: the texels that they fetch of a tensor, fetch by fetch, in program order.

use smallvec::SmallVec;
use warpsight_ir::accesses::NestVar;
use warpsight_ir::{AccessKind, AccessRef, Kernel, Nest, Space, TensorPlace, VarId, VarKind};

/// Elements of a texel.
const TEXEL: i64 = 4;

/// What one tensor's fetches are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fetches {
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// The texels of each fetch, lane by lane, of the first fetches.
    pub texels: Vec<(u32, u32)>,
    /// How many fetches a work-item makes in all.
    pub all: f64,
}

/// Bytes of a texel of a tensor in device memory; `None` of others. A buffer is taken for an image of one row, four elements to a texel.
pub fn texel_bytes(place: &TensorPlace) -> Option<u32> {
    match place {
        TensorPlace::Image { format, .. } => Some(format.bytes()),
        TensorPlace::Buffer { space: Space::Global, element, .. } => Some(element.bytes() * TEXEL as u32),
        TensorPlace::Buffer { .. } => None,
    }
}

/// The fetches of every tensor that is loaded, by so many lanes of the first warp of the first group; of each the first `most`.
pub fn fetches(kernel: &Kernel, lanes: u32, most: usize) -> Vec<Fetches> {
    let accesses = &kernel.accesses;
    let of = |tensor: &warpsight_ir::TensorUse| Fetches { texel_bytes: texel_bytes(&tensor.place).unwrap_or(0), ..Fetches::default() };
    let mut walker = Walker {
        kernel,
        lanes: (0..lanes.min(kernel.launch.group_size())).map(|lane| digits(kernel, VarKind::Lane, lane.into())).collect(),
        values: vec![0; accesses.vars.len()],
        most: most * lanes.max(1) as usize,
        found: accesses.tensors.iter().map(of).collect(),
    };
    walker.walk(&accesses.nest);
    accesses.each_with_trips(&mut |access, times| {
        if access.kind == AccessKind::Load {
            walker.found[usize::from(access.tensor)].all += times * f64::from(pieces(access, kernel));
        }
    });
    walker.found
}

/// Texels of one access of a lane.
fn pieces(access: &AccessRef, kernel: &Kernel) -> u32 {
    match kernel.accesses.tensors[usize::from(access.tensor)].place {
        TensorPlace::Image { .. } => 1,
        TensorPlace::Buffer { .. } => u32::from(access.width).div_ceil(TEXEL as u32),
    }
}

/// Values of variables of a kind, fastest first.
pub type Values = SmallVec<[(usize, i64); 4]>;

/// The values of all variables of a kind for a number: of a work-item in its group, or of a group.
pub fn digits(kernel: &Kernel, kind: VarKind, number: u64) -> Values {
    let vars = kernel.accesses.vars.iter().enumerate().filter(|(_, var)| var.kind == kind);
    let mut rest = number;
    let mut digit = |(at, var): (usize, &NestVar)| {
        let extent = u64::from(var.trips.unwrap_or(1).max(1));
        let own = rest % extent;
        rest /= extent;
        (at, own as i64)
    };
    vars.map(&mut digit).collect()
}

struct Walker<'k> {
    kernel: &'k Kernel,
    lanes: Vec<Values>,
    values: Vec<i64>,
    most: usize,
    found: Vec<Fetches>,
}

impl Walker<'_> {
    fn walk(&mut self, nest: &[Nest]) {
        for node in nest {
            match node {
                Nest::Loop { var, body } => {
                    let trips = self.kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1);
                    for trip in 0..trips {
                        // Nothing more is wanted of what is read here.
                        if self.has_all(body) {
                            break;
                        }
                        self.values[usize::from(var.0)] = i64::from(trip);
                        self.walk(body);
                    }
                    self.values[usize::from(var.0)] = 0;
                }
                Nest::Access(access) if access.kind == AccessKind::Load => self.access(access),
                Nest::Access(_) | Nest::Barrier => {}
            }
        }
    }

    fn has_all(&self, nest: &[Nest]) -> bool {
        nest.iter().all(|node| match node {
            Nest::Loop { body, .. } => self.has_all(body),
            Nest::Access(access) => {
                let own = &self.found[usize::from(access.tensor)];
                access.kind != AccessKind::Load || own.texel_bytes == 0 || own.texels.len() >= self.most
            }
            Nest::Barrier => true,
        })
    }

    fn access(&mut self, access: &AccessRef) {
        let t = usize::from(access.tensor);
        let place = &self.kernel.accesses.tensors[t].place;
        if self.found[t].texel_bytes == 0 || self.found[t].texels.len() >= self.most {
            return;
        }
        for piece in 0..i64::from(pieces(access, self.kernel)) {
            for lane in &self.lanes {
                lane.iter().for_each(|&(at, value)| self.values[at] = value);
                let coords: SmallVec<[i64; 5]> =
                    access.coords.iter().map(|form| form.eval(|var: VarId| self.values[usize::from(var.0)]).unwrap_or(0)).collect();
                let texel = match place {
                    TensorPlace::Image { .. } => (coords[0], coords.get(1).copied().unwrap_or(0)),
                    TensorPlace::Buffer { dims, .. } => {
                        let element = coords.iter().zip(dims).fold(0_i64, |at, (c, extent)| at.saturating_mul(*extent).saturating_add(*c));
                        (element.div_euclid(TEXEL) + piece, 0)
                    }
                };
                let within = |at: i64| at.clamp(0, i64::from(u32::MAX)) as u32;
                self.found[t].texels.push((within(texel.0), within(texel.1)));
            }
        }
    }
}
