//! Images on devices whose fetches were fitted ([`warpsight_ir::texture`]): how often lines are found in the texture cache, how long fetches
//! wait, and what units do for them (paper 000, sections 3 and 4).
//!
//! Warps that share a unit take turns, each with a straight run of its loads. Which lines they come back to, and how many others were fetched
//! since, follows from where they go; of those that many ago the fit says how many are still held. Lanes that share a line fetch it once: this is
//! how the shape of a warp enters. A fetch waits for its hit, for the first line that is not held, and for memory where that comes from there;
//! units are busy for each lane and for each further line.

use crate::path::{Values, digits, texel_bytes};
use smallvec::SmallVec;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::texture::{Block, Path, TexelFit, held};
use warpsight_ir::{AccessKind, AccessRef, Affine, AffineBound, Kernel, Nest, Profile, Seconds, Space, TensorPlace, VarId, VarKind};

/// Lines that are followed.
const FOLLOWED: usize = 3000;
/// Warps of a unit that are followed.
const WARPS: usize = 16;

/// What a fetch takes, by the fit of its texels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fetch {
    /// Where its lines are held.
    pub hit: Seconds,
    /// What a lane takes of its unit.
    pub lane: Seconds,
    /// What the first line takes that is not held, and what each further one takes of the unit.
    pub line: (Seconds, Seconds),
    /// What a fetch waits longer whose line comes from memory.
    pub memory: Seconds,
}

impl Fetch {
    /// Of a kernel's images on a device; `None` without either.
    pub fn of(kernel: &Kernel, on: &Profile) -> Option<Self> {
        let (fit, first) = fit(kernel, on)?;
        let beyond = fit.blocks[first + 1..].iter().fold(Seconds::ZERO, |sum, cost| sum + cost.first);
        let line = fit.blocks[first];
        Some(Self { hit: fit.hit, lane: fit.lane, line: (line.first, line.further), memory: beyond })
    }
}

/// The fit for a kernel's largest texels, and the position of its lines.
fn fit<'p>(kernel: &Kernel, on: &'p Profile) -> Option<(&'p TexelFit, usize)> {
    let images = kernel.accesses.tensors.iter().filter(|own| matches!(own.place, TensorPlace::Image { .. }));
    let bytes = images.filter_map(|own| texel_bytes(&own.place)).max()?;
    let fit = on.probed.texture_fit.get()?.of(bytes)?;
    (!fit.blocks.is_empty()).then_some((fit, 0))
}

/// What a launch asks of texture units.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// What a fetch takes.
    pub fetch: Fetch,
    /// Fetches of all warps.
    pub fetches: f64,
    /// Lines of a fetch that are not held, in the mean.
    pub lines: f64,
    /// The part of fetches that wait for one.
    pub any: f64,
    /// Bytes that fetches ask for, that units ask for of the second level, and of these from memory.
    pub bytes: [f64; 3],
    /// Straight runs of loads of a work-item: how often, loads from buffers, and from images.
    pub runs: Runs,
}

/// See [`Images::runs`].
pub type Runs = SmallVec<[(f64, f64, f64); 4]>;

impl Images {
    /// How long a warp waits for so many fetches that are under way together.
    pub fn wait(&self, fetches: f64) -> Seconds {
        let any = |part: f64| 1.0 - (1.0 - part.clamp(0.0, 1.0)).powf(fetches);
        self.fetch.hit + self.fetch.line.0 * any(self.any) + self.memory(fetches)
    }

    /// The part of that for memory.
    pub fn memory(&self, fetches: f64) -> Seconds {
        let [_, second, memory] = self.bytes;
        let part = if second > 0.0 { self.any * (memory / second).min(1.0) } else { 0.0 };
        self.fetch.memory * (1.0 - (1.0 - part).powf(fetches))
    }

    /// Seconds of units for lines that come, all units together.
    pub fn filling(&self) -> Seconds {
        self.fetch.line.1 * (self.fetches * self.lines)
    }
}

/// The straight runs of loads from device memory.
pub fn runs(kernel: &Kernel) -> Runs {
    let mut found = Runs::new();
    straight(kernel, &kernel.accesses.nest, 1.0, &mut found);
    found
}

fn straight(kernel: &Kernel, nest: &[Nest], times: f64, to: &mut Runs) {
    let mut own = (0.0, 0.0);
    let ends = |own: &mut (f64, f64), to: &mut Runs| {
        let (buffers, images) = std::mem::take(own);
        match to.iter_mut().find(|run| (run.1, run.2) == (buffers, images)) {
            _ if buffers + images == 0.0 => {}
            Some(run) => run.0 += times,
            None => to.push((times, buffers, images)),
        }
    };
    for node in nest {
        match node {
            // What is not waited for here is no part of a run.
            Nest::Access(access) if access.kind == AccessKind::Load && !access.ahead => {
                match &kernel.accesses.tensors[usize::from(access.tensor)].place {
                    TensorPlace::Image { .. } => own.1 += f64::from(access.times),
                    TensorPlace::Buffer { space: Space::Global, .. } => own.0 += f64::from(access.times),
                    TensorPlace::Buffer { .. } => {}
                }
            }
            Nest::Access(_) => {}
            Nest::Barrier => ends(&mut own, to),
            Nest::Loop { var, body } => {
                ends(&mut own, to);
                let trips = f64::from(kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1));
                straight(kernel, body, times * trips, to);
            }
        }
    }
    ends(&mut own, to);
}

/// How warps of a unit find their lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Lines of a fetch.
    pub asked: f64,
    /// Those that are not held.
    pub missed: f64,
    /// The part of fetches of which one is not.
    pub any: f64,
}

/// Follows the warps that share the first unit; `None` without images or a fit of them.
pub fn found(kernel: &Kernel, on: &Profile, resident: &Occupancy) -> Option<Found> {
    let (fit, first) = fit(kernel, on)?;
    let warp = on.execution.warp.get().copied()?.max(1);
    let cores = on.execution.cores.get().copied()?.max(1);
    let units = on.memory.texture_l1.instances.get().map_or(1, |&all| (all / cores).max(1));
    let group_size = kernel.launch.group_size();
    let per_group = group_size.div_ceil(warp);
    let groups = u64::from(resident.groups).min(kernel.launch.group_count().div_ceil(u64::from(cores))).max(1);
    // Groups go to the cores in turn, warps of a core to its units.
    let resident = (0..groups).flat_map(|group| (0..per_group).map(move |own| (group * u64::from(cores), own * warp)));
    let warps: Vec<(u64, u32)> = resident.step_by(units as usize).take(WARPS).collect();
    let mut walks: Vec<Walk> = warps
        .iter()
        .map(|&(group, from)| Walk::new(kernel, fit.blocks[first].block(), group, from..(from + warp).min(group_size)))
        .collect();
    let each = (FOLLOWED / walks.len().max(1)).max(1);
    let mut moved: Vec<Moved> = vec![];
    for (walk, &(_, from)) in walks.iter_mut().zip(&warps) {
        let own = moved.iter().position(|own| own.from == from).unwrap_or_else(|| {
            moved.push(Moved { from, offsets: vec![] });
            moved.len() - 1
        });
        walk.follow(&kernel.accesses.nest, each, &mut moved[own]);
    }
    let mut texels: Vec<(u32, u32)> = vec![];
    // Where each fetch ends.
    let mut ends: Vec<usize> = vec![];
    let most = walks.iter().map(|walk| walk.runs.len()).max()?;
    for run in 0..most {
        for walk in walks.iter().filter(|walk| run < walk.runs.len()) {
            for fetch in walk.run(run) {
                texels.extend_from_slice(fetch);
                ends.push(texels.len());
            }
        }
    }
    let returns = Path::new(1, &texels).returns(Block { width: 1, height: 1 });
    // Walks that are fitted seldom come back: what a cache holds at most is known better where its size is.
    let cache = &on.memory.texture_l1;
    let most = cache.bytes.get().zip(cache.line.get()).map_or(f64::INFINITY, |(bytes, line)| bytes.0 / line.0);
    let kept = |since: u32| held(f64::from(since), fit.lines.map_or(most, |lines| lines.min(most)), fit.fading);
    let held: Vec<f64> = returns.fetches().map(|since| since[0].map_or(0.0, kept)).collect();
    let (mut begin, mut missed, mut any) = (0, 0.0, 0.0);
    for &end in &ends {
        let own = &held[begin..end];
        missed += own.iter().map(|held| 1.0 - held).sum::<f64>();
        any += 1.0 - own.iter().product::<f64>();
        begin = end;
    }
    let fetches = ends.len() as f64;
    (fetches > 0.0).then(|| Found { asked: texels.len() as f64 / fetches, missed: missed / fetches, any: any / fetches })
}

/// What a lane adds to the coordinates of an access, and to what its conditions judge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Offset {
    texel: (i64, i64),
    judged: SmallVec<[i64; 4]>,
}

/// What lanes from one on add to accesses that were met: warps of all groups have the same lanes.
struct Moved<'k> {
    from: u32,
    /// Of accesses that differ in constants only: the first of them, and what lanes add, each once.
    offsets: Vec<(&'k AccessRef, Vec<Offset>)>,
}

/// Whether accesses differ in constants only, as far as lanes move them.
fn move_alike(one: &AccessRef, other: &AccessRef) -> bool {
    let same = |a: &Affine, b: &Affine| a.terms() == b.terms();
    one.coords.len() == other.coords.len()
        && one.coords.iter().zip(&other.coords).all(|(a, b)| same(a, b))
        && judged(one).count() == judged(other).count()
        && judged(one).zip(judged(other)).all(|(a, b)| same(&a.value, &b.value))
}

/// The conditions under which an access happens at all.
fn judged(access: &AccessRef) -> impl Iterator<Item = &AffineBound> {
    access.guard.iter().filter(|bound| !bound.per_lane)
}

/// One warp's fetches as the lines of each, run by run.
struct Walk<'k> {
    kernel: &'k Kernel,
    block: Block,
    values: Vec<i64>,
    /// Values of the lane variables, lane by lane.
    lanes: Vec<Values>,
    /// Accesses that were met, whether a lane fetched there or none.
    tried: usize,
    lines: Vec<(u32, u32)>,
    /// Ends of fetches in `lines`, and of runs in these.
    fetches: Vec<usize>,
    runs: Vec<usize>,
}

impl<'k> Walk<'k> {
    fn new(kernel: &'k Kernel, block: Block, group: u64, items: std::ops::Range<u32>) -> Self {
        let mut values = vec![0; kernel.accesses.vars.len()];
        digits(kernel, VarKind::Group, group).into_iter().for_each(|(at, value)| values[at] = value);
        let lanes = items.map(|item| digits(kernel, VarKind::Lane, item.into())).collect();
        Self { kernel, block, values, lanes, tried: 0, lines: vec![], fetches: vec![], runs: vec![] }
    }

    fn run(&self, run: usize) -> impl Iterator<Item = &[(u32, u32)]> {
        let begin = run.checked_sub(1).map_or(0, |before| self.runs[before]);
        (begin..self.runs[run]).map(|fetch| &self.lines[fetch.checked_sub(1).map_or(0, |before| self.fetches[before])..self.fetches[fetch]])
    }

    fn ends(&mut self) {
        if self.runs.last().copied().unwrap_or(0) < self.fetches.len() {
            self.runs.push(self.fetches.len());
        }
    }

    /// Whether it is followed no further: it has so many lines, or met as many accesses.
    fn is_long(&self, most: usize) -> bool {
        self.lines.len() >= most || self.tried >= most
    }

    fn follow(&mut self, nest: &'k [Nest], most: usize, moved: &mut Moved<'k>) {
        for node in nest {
            if self.is_long(most) {
                break;
            }
            match node {
                Nest::Access(access) if access.kind == AccessKind::Load => self.fetch(access, moved),
                Nest::Access(_) => {}
                Nest::Barrier => self.ends(),
                Nest::Loop { var, body } => {
                    self.ends();
                    if has_image(self.kernel, body) {
                        for trip in 0..self.kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1) {
                            self.values[usize::from(var.0)] = i64::from(trip);
                            self.follow(body, most, moved);
                            if self.is_long(most) {
                                break;
                            }
                        }
                        self.values[usize::from(var.0)] = 0;
                    }
                }
            }
        }
        self.ends();
    }

    fn fetch(&mut self, access: &'k AccessRef, moved: &mut Moved<'k>) {
        if !matches!(self.kernel.accesses.tensors[usize::from(access.tensor)].place, TensorPlace::Image { .. }) {
            return;
        }
        let known = moved.offsets.iter().position(|own| std::ptr::eq(own.0, access) || move_alike(own.0, access));
        let at = known.unwrap_or_else(|| {
            let offset = |lane: &Values| {
                let of = |form: &Affine| lane.iter().map(|&(var, value)| value * i64::from(form.coefficient(VarId(var as u16)))).sum();
                let along = |form: usize| access.coords.get(form).map_or(0, of);
                Offset { texel: (along(0), along(1)), judged: judged(access).map(|bound| of(&bound.value)).collect() }
            };
            let mut own: Vec<Offset> = self.lanes.iter().map(offset).collect();
            own.sort_unstable();
            own.dedup();
            moved.offsets.push((access, own));
            moved.offsets.len() - 1
        });
        let of = |form: &Affine| {
            form.constant + form.terms().iter().map(|(var, c)| i64::from(*c) * self.values[usize::from(var.0)]).sum::<i64>()
        };
        let base = |form: usize| access.coords.get(form).map_or(0, of);
        let (x, y) = (base(0), base(1));
        let bounds: SmallVec<[(i64, i64); 4]> = judged(access).map(|bound| (of(&bound.value), bound.extent)).collect();
        let begin = self.lines.len();
        // Images do not share lines, and have fewer than 2^16 in a row; coordinates beyond the edge are those of the edge.
        let image = u32::from(access.tensor) << 16;
        let (w, h) = (i64::from(self.block.width.max(1)), i64::from(self.block.height.max(1)));
        let line =
            |&Offset { texel: (dx, dy), .. }: &Offset| ((((x + dx).max(0) / w) as u32 & 0xffff) | image, ((y + dy).max(0) / h) as u32);
        // Lanes whose conditions do not hold fetch nothing.
        let fetches = |own: &&Offset| bounds.iter().zip(&own.judged).all(|((base, extent), add)| (0..*extent).contains(&(base + add)));
        let lines = moved.offsets[at].1.iter().filter(fetches).map(line);
        self.lines.extend(lines);
        self.tried += 1;
        if self.lines.len() == begin {
            return;
        }
        let own = &mut self.lines[begin..];
        own.sort_unstable();
        let mut kept = begin;
        for n in begin..self.lines.len() {
            if n == begin || self.lines[n] != self.lines[kept - 1] {
                self.lines[kept] = self.lines[n];
                kept += 1;
            }
        }
        self.lines.truncate(kept);
        self.fetches.push(kept);
    }
}

/// Whether images are loaded there.
fn has_image(kernel: &Kernel, nest: &[Nest]) -> bool {
    nest.iter().any(|node| match node {
        Nest::Loop { body, .. } => has_image(kernel, body),
        Nest::Access(access) => {
            access.kind == AccessKind::Load
                && matches!(kernel.accesses.tensors[usize::from(access.tensor)].place, TensorPlace::Image { .. })
        }
        Nest::Barrier => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::profile::Fact;
    use warpsight_ir::texture::{BlockCost, TextureFit};
    use warpsight_ir::{Checked, profile, text};

    /// 64 lanes read the texels of a row, or of a column, of an image of 64 × 64, one after another.
    fn kernel(texel: &str) -> Kernel {
        let text = format!(
            "program sums {{\n  read image i: rgba32f[64, 64]\n  write image o: rgba32f[64, 1]\n  lanes l = 64\n  {{\n    \
             var s: f32x4 = splat4(0.0)\n    for n in 0..64 unroll none {{\n      let t = i@[{texel}]\n      s = s + t\n    }}\n    \
             o@[l, 0] = s\n  }}\n}}\n"
        );
        let program = Checked::new(text::parse(&text).expect("parses")).expect("valid");
        Kernel::of(&program).expect("affine")
    }

    /// A device with lines of two texels, of which its cache holds so many.
    fn device(lines: f64) -> Profile {
        let mut on = profile::builtin("adreno640").expect("is there").expect("parses");
        let cost = BlockCost { width: 2, height: 1, first: Seconds(50e-9), further: Seconds(1e-9) };
        let fit =
            TexelFit { texel_bytes: 16, hit: Seconds(100e-9), blocks: vec![cost], lines: Some(lines), fading: 64.0, ..TexelFit::default() };
        on.probed.texture_fit = Fact::known(TextureFit { texels: vec![fit] }, warpsight_ir::profile::Source::Assumed, "a test");
        on.memory.texture_l1.bytes = Fact::unknown("not limited");
        on
    }

    fn followed(texel: &str, lines: f64) -> Found {
        let resident = Occupancy { groups: 1, warps: 1, limiter: None };
        found(&kernel(texel), &device(lines), &resident).expect("an image and a fit")
    }

    #[test]
    fn lanes_that_share_a_line_fetch_it_once() {
        // Lanes along a row: 32 lines a fetch, new ones each time. All want one texel: a line, new in every second trip.
        let row = followed("l, n", 1000.0);
        assert_eq!((row.asked, row.missed, row.any), (32.0, 32.0, 1.0));
        let one = followed("n, 0", 1000.0);
        assert_eq!((one.asked, one.missed, one.any), (1.0, 0.5, 0.5));
    }

    #[test]
    fn lanes_whose_conditions_do_not_hold_fetch_nothing() {
        // Of lanes along a row so many.
        let some = followed("l, n if 0 <= l < 10", 1000.0);
        assert_eq!((some.asked, some.missed, some.any), (5.0, 5.0, 1.0));
        // Of trips half, in which all lanes fetch: the others are no fetches.
        let every = followed("l, n if 0 <= n < 32", 1000.0);
        assert_eq!((every.asked, every.missed, every.any), (32.0, 32.0, 1.0));
        // From the 37th trip on one lane more in each, the last ones of the row: 1, 1, 2, 2, … 13, 13, 14 lines.
        let more = followed("l, n if 0 <= l + n - 100 < 64", 1000.0);
        assert_eq!(more.asked, 196.0 / 27.0);
    }

    #[test]
    fn lines_come_back_while_the_cache_holds_them() {
        // Each lane goes along a row of its own: 64 lines a fetch, each of which it wants again in the next trip.
        let kept = followed("n, l", 100.0);
        assert!((32.0..33.0).contains(&kept.missed) && kept.asked == 64.0, "{kept:?}");
        let lost = followed("n, l", 32.0);
        assert!(lost.missed > 63.9, "{lost:?}");
    }

    #[test]
    fn fetches_wait_for_lines_and_for_memory() {
        let fetch = Fetch { hit: Seconds(100.0), lane: Seconds::ZERO, line: (Seconds(50.0), Seconds(1.0)), memory: Seconds(600.0) };
        let images =
            |any: f64, memory: f64| Images { fetch, fetches: 10.0, lines: 4.0, any, bytes: [80.0, 40.0, memory], runs: Runs::new() };
        assert_eq!(images(0.0, 0.0).wait(3.0).0, 100.0);
        assert_eq!(images(1.0, 0.0).wait(1.0).0, 150.0);
        assert_eq!(images(0.5, 0.0).wait(2.0).0, 100.0 + 50.0 * 0.75);
        // Half of what misses comes from memory.
        assert_eq!(images(1.0, 20.0).wait(1.0).0, 150.0 + 300.0);
        assert_eq!(images(1.0, 20.0).filling().0, 40.0);
    }
}
