//! OpenCL on a CPU: a work-group is a loop of one core over its work-items, which the compiler makes vectors of along the fastest axis.
//! .
//! What the caches see are rows: the work-items along the fastest axis of a group, one row after the other, one group after the other. So a
//! row takes the part that a block has on a GPU, and the volumes behind L1, L2 and L3 are those that [`super::dram`] counts behind a cache of
//! that size: distinct lines of consecutive rows, whatever their distance. Where a kernel has barriers, each stretch between two of them is
//! a loop over all work-items of its own, and whole groups take that part. Stored lines are loaded first (write-allocate), unless the store
//! bypasses the caches.

use super::block::{Sizes, block_uses};
use super::dram::{Curve, Memory, Runs, Wave};
use super::images;
use super::intervals::gcd;
use super::reuse::bypasses;
use super::subject::{Field, Subject, Touch, Var};
use super::time::{Limit, known};
use warpsight_ir::profile::Fact;
use warpsight_ir::{AccessKind, Kernel, Limiter, Nest, NoEstimate, OpClass, Profile, Scalar, Seconds};

/// Bytes of the vectors that compilers make, even where the machine has longer ones: LLVM's preferred width for server cores with AVX-512.
const VECTOR: f64 = 32.0;
/// Rows shorter than this become vectors only if these leave no rest: LLVM's vectoriser leaves other loops of so few trips alone
/// (TinyTripCountVectorThreshold).
const SHORT_ROW: u32 = 16;
/// Instructions beside each element that is gathered into a vector, or scattered from it: its insertion.
const INSERTION: f64 = 1.0;
/// Elements between neighbours that vectors are made of by loading all that lies between and shuffling.
const INTERLEAVED: i64 = 4;
/// Shuffles of such a vector.
const SHUFFLES: f64 = 3.0;
/// Instructions by which one texel of an image is read or written: address, clamping, conversion of four components. As in the roofline
/// model beside this one, which took it from a matrix product whose operands moved to images.
const TEXEL: f64 = 40.0;
/// Instructions of a loop's step: count and branch.
const STEP: f64 = 2.0;
/// Instructions of a row beyond its steps.
const ROW: f64 = 8.0;
/// Instructions of an access in front of each row: its address.
const BASE: f64 = 2.0;
/// Cycles between two groups. Measured on PoCL with groups of 16 work-items that copy (`cargo run -p warpsight-predict --example cpu`),
/// which no score contains: 14 cycles a group beyond what groups of 2048 take.
const GROUP: f64 = 14.0;
/// Cycles until an operation can use the result of the one before: additions and multiply-adds on cores since 2015.
const CHAIN: f64 = 4.0;
/// Instructions that a core has in flight: reorder buffers since 2015 hold 224 to 512.
const WINDOW: f64 = 320.0;
/// Lines that a core waits for at once where no prefetcher helps: line-fill buffers of L1, 10 to 24 on such cores.
const IN_FLIGHT: f64 = 12.0;
/// Lines that are missed before a prefetcher has seen where a run of them leads.
const TRAINED: f64 = 3.0;
/// Order of the norm that combines limiters, as in the roofline model beside this one.
const OVERLAP: f64 = 4.0;
/// How caches let go of lines: nearly least recently used. Not fitted.
const CURVE: Curve = Curve { capacity: 1.0, steepness: 6.0, spread: 0.0 };

/// Whether a profile is that of a CPU: its warps have one lane, vectors are the compiler's.
pub fn is_cpu(on: &Profile) -> bool {
    on.execution.warp.get() == Some(&1)
}

/// What a launch moves and takes on a CPU. Bytes of the whole launch.
#[derive(Clone, Debug)]
pub struct OnCpu {
    /// Seconds of each limiter alone.
    pub limits: Vec<Limit>,
    /// What is limiting, and the time.
    pub together: (Seconds, Limiter),
    /// For each field the bytes that loads ask for, that stores write, and of distinct lines of each group's loads.
    pub asked: Vec<(f64, f64, f64)>,
    /// Behind L1, L2 and L3; fewer where a level is missing.
    pub behind: Vec<Level>,
    /// Cycles of load and store units.
    pub l1_cycles: f64,
    /// Each access to memory that is not local.
    pub instructions: Vec<Executed>,
}

/// How often an access is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Executed {
    /// Position in the subject's list of fields.
    pub field: usize,
    /// Position among all accesses, in program order.
    pub position: usize,
    /// Vectors of work-items.
    pub vectors: f64,
    /// Memory instructions of each.
    pub each: f64,
}

/// What moves between a cache and the level behind it.
#[derive(Clone, Debug)]
pub struct Level {
    /// Loaded into the cache, lines to be stored included.
    pub load: f64,
    /// Written back.
    pub store: f64,
    /// The same by field.
    pub per_field: Vec<(f64, f64)>,
}

/// A launch as loops of vectors.
struct Loops<'a> {
    kernel: &'a Kernel,
    subject: &'a Subject,
    /// The axis along which work-items of a row lie; none where each runs by itself.
    along: Option<Var>,
    /// Rows of the launch.
    rows: f64,
    /// Work-items of a whole vector.
    lanes: u32,
}

/// What a vector of work-items does for an access.
struct Cost {
    /// Loads or stores.
    memory: f64,
    /// Instructions, these included.
    all: f64,
}

impl Loops<'_> {
    fn row(&self) -> u32 {
        self.along.map_or(1, |var| var.count)
    }

    /// Vectors of a row: whole ones, and for the rest one for each power of two in it.
    fn steps(&self) -> f64 {
        f64::from(self.row() / self.lanes + (self.row() % self.lanes).count_ones())
    }

    fn cost(&self, field: &Field, touch: &Touch) -> Cost {
        let items = f64::from(self.row()) / self.steps();
        let size = touch.width * field.geometry.element;
        let one = (size as f64 / VECTOR).ceil();
        let plain = |memory: f64| Cost { memory, all: memory };
        if field.image.is_some() {
            return Cost { memory: items, all: items * TEXEL };
        }
        match self.along.map_or(0, |var| touch.stride(&field.geometry, var.id).abs()) {
            _ if self.lanes == 1 => plain(one * items),
            0 => plain(one),
            stride if stride == size => plain((items * size as f64 / VECTOR).ceil()),
            stride if stride <= INTERLEAVED * size => {
                let memory = (items * size as f64 / VECTOR).ceil();
                Cost { memory, all: memory * (1.0 + SHUFFLES) }
            }
            _ => Cost { memory: items * one, all: items * (one + INSERTION) },
        }
    }

    /// Share of an access's lines that no prefetcher foresees: of runs of neighbouring lines, the first few.
    fn unforeseen(&self, field: &Field, touch: &Touch, units: &[Var], line: f64) -> f64 {
        let stride = |var: &Var| touch.stride(&field.geometry, var.id).abs() as f64;
        let mut run = (touch.width * field.geometry.element) as f64;
        let inner = touch.loops.iter().rev().chain(self.along.iter());
        for var in inner.chain(units).filter(|var| var.count > 1 && stride(var) > 0.0) {
            if stride(var) > run + line {
                break;
            }
            run += stride(var) * f64::from(var.count - 1);
        }
        (TRAINED * line / run).min(1.0)
    }

    /// How much of a cache an access can use: steps of many lines may come back to few of its sets.
    fn sets(&self, field: &Field, touch: &Touch, line: i64, sets: i64) -> f64 {
        let inner = touch.loops.iter().chain(self.along.iter()).filter(|var| var.count > 1);
        let strides: Vec<i64> = inner.map(|var| touch.stride(&field.geometry, var.id)).filter(|&stride| stride != 0).collect();
        if strides.is_empty() || strides.iter().any(|stride| stride % line != 0) {
            return 1.0;
        }
        1.0 / strides.iter().fold(sets, |common, stride| gcd(common, stride / line)) as f64
    }
}

/// Predicts a launch on a CPU.
///
/// # Errors
/// A kernel that cannot be counted, or a profile that knows nothing that limits it.
pub fn on_cpu(kernel: &Kernel, on: &Profile, notes: &mut Vec<String>) -> Result<(Subject, OnCpu), NoEstimate> {
    let subject = images::subject(kernel, on)?;
    let m = &on.memory;
    let line = m.buffer_l1.line.need(on, "memory.buffer_l1.line")?.0;
    let cores = f64::from(on.execution.cores.need(on, "execution.cores")?);
    let clock = on.execution.clock.need(on, "execution.clock")?.0;
    let barriers = has_barrier(&kernel.accesses.nest);
    // What loops without barriers does one work-item after the other; the rest is rows.
    let looped = has_loop(&kernel.accesses.nest);
    let along = subject.lanes.iter().copied().find(|lane| lane.count > 1).filter(|_| !looped);
    let widest = subject.fields.iter().filter(|field| field.image.is_none()).map(|field| field.geometry.element).max().unwrap_or(4);
    let rows: f64 =
        subject.groups.iter().chain(&subject.lanes).filter(|var| Some(**var) != along).map(|var| f64::from(var.count)).product();
    let whole = ((VECTOR / widest as f64) as u32).max(1);
    let lanes = if along.is_some_and(|var| var.count >= SHORT_ROW || var.count % whole == 0) { whole } else { 1 };
    let loops = Loops { kernel, subject: &subject, along, rows, lanes };

    let units = if barriers { subject.clone() } else { in_rows(&subject, along) };
    let size = line as u32;
    let memory = |bytes: f64| Memory { fetch: size, write: size, l2_effective: bytes, last_level: None };
    let runs = Runs::of(&units, &memory(line), &Wave { blocks: 1 }, CURVE.spread);
    let caches = [(&m.buffer_l1, 1.0, true), (&m.l2, 1.0, true), (&m.llc, f64::from(m.llc.instances.get().copied().unwrap_or(1)), false)];
    let mut behind: Vec<Level> = Vec::new();
    for (cache, instances, indexed) in caches {
        let Some(bytes) = cache.bytes.get() else { continue };
        // Sets of the first levels are bits of the address, those of the last a hash of it.
        let sets = cache.ways.get().filter(|_| indexed).map_or(1, |&ways| (bytes.0 / line / f64::from(ways)) as i64).max(1);
        let whole = runs.volumes(&memory(bytes.0 * instances), &CURVE);
        let per_field = subject.fields.iter().enumerate().map(|(i, field)| {
            let share = field.touches.iter().map(|touch| loops.sets(field, touch, line as i64, sets)).fold(1.0, f64::min);
            let own = if share < 1.0 { &runs.volumes(&memory(bytes.0 * instances * share), &CURVE) } else { &whole };
            allocated(field, own.per_field[i].1, own.per_field[i].2)
        });
        behind.push(Level::of(per_field.collect()));
    }
    let sizes = Sizes { warp: 1, sector: size, line: size, banks: 1 };
    let uses = block_uses(&subject, sizes);
    let asked = subject.fields.iter().zip(&uses).map(|(field, own)| {
        let bytes = |keep: fn(AccessKind) -> bool| asked(&subject, field, keep);
        let loads = bytes(|kind| !matches!(kind, AccessKind::Store(_)));
        (loads, bytes(|kind| !matches!(kind, AccessKind::Load)), own.loaded_sectors as f64 * line)
    });

    let mut found = OnCpu {
        limits: vec![],
        together: (Seconds::ZERO, Limiter::Launch),
        asked: asked.collect(),
        behind,
        l1_cycles: 0.0,
        instructions: vec![],
    };
    let mut memory_instructions = 0.0;
    let mut issued = rows * ROW;
    // Of one vector of work-items.
    let mut body = STEP * (1.0 + trips_of(kernel, &kernel.accesses.nest)) + arithmetic(kernel);
    for (list, own) in [(&subject.fields, true), (&subject.local, false), (&subject.constant, false)] {
        for (i, field) in list.iter().enumerate() {
            for touch in &field.touches {
                let trips: f64 = touch.loops.iter().map(|var| f64::from(var.count)).product();
                let (vectors, cost) = (rows * loops.steps() * trips, loops.cost(field, touch));
                memory_instructions += vectors * cost.memory;
                body += trips * cost.all;
                issued += rows * BASE;
                if own {
                    found.instructions.push(Executed { field: i, position: touch.position, vectors, each: cost.memory });
                }
            }
        }
    }
    let per_core = |cycles: f64| Seconds(cycles / cores / clock);
    let groups = kernel.launch.group_count() as f64;
    // The last groups leave cores idle.
    let share = (groups / cores).ceil() / (groups / cores);
    let start = on.execution.launch_overhead.get().map_or(0.0, |overhead| overhead.0);
    found.limits.push((Limiter::Launch, Ok(Seconds(start + per_core(groups * GROUP).0))));
    found.limits.push((Limiter::Fp, fp(&loops, on).map(|cycles| Seconds(per_core(cycles).0 * share))));
    let rate = known(&on.execution.issue_per_clock, "execution.issue_per_clock");
    // A step waits for its own results, one after the other, and as many steps wait together as fit the core's window.
    let chain = CHAIN * arithmetic(kernel) * (body / WINDOW).min(1.0);
    let issue = rate.map(|rate| rows * loops.steps() * (body / rate).max(chain) + issued / rate);
    found.limits.push((Limiter::Issue, issue.map(|cycles| Seconds(per_core(cycles).0 * share))));
    let lanes = known(&on.execution.lsu_lanes, "execution.lsu_lanes").map(|&lanes| f64::from(lanes) * 4.0);
    found.l1_cycles = lanes.as_ref().map_or(0.0, |bytes| memory_instructions * VECTOR / bytes);
    found.limits.push((Limiter::L1, lanes.map(|_| Seconds(per_core(found.l1_cycles).0 * share))));
    let rates = [
        (Limiter::L2, &m.l2.bandwidth, "memory.l2.bandwidth"),
        (Limiter::Llc, &m.llc.bandwidth, "memory.llc.bandwidth"),
        (Limiter::Dram, &m.dram_bandwidth, "memory.dram_bandwidth"),
    ];
    let present = rates.into_iter().filter(|(limiter, _, _)| match limiter {
        Limiter::L2 => !matches!(m.l2.bytes, Fact::Absent { .. }),
        Limiter::Llc => !matches!(m.llc.bytes, Fact::Absent { .. }),
        _ => true,
    });
    for ((limiter, rate, name), level) in present.zip(&found.behind) {
        found.limits.push((limiter, known(rate, name).map(|rate| Seconds((level.load + level.store) / rate.0))));
    }
    found.limits.push((Limiter::Latency, waits(&loops, &units.groups, &found.behind, on, line).map(per_core)));
    found.together = together(&found.limits).ok_or_else(|| NoEstimate::Missing {
        profile: on.name.clone(),
        field: "execution and memory",
        reason: "no limiter is known".to_owned(),
    })?;
    let unit = match (barriers, looped) {
        (true, _) => "groups, because of barriers",
        (_, true) => "work-items, because of loops",
        _ => "rows of work-items",
    };
    notes.push(format!(
        "a CPU: vectors of {} work-items along the fastest axis; caches see {unit}, one after the other, and begin empty; operations of \
         a work-item are taken to wait for each other; page walks are left out",
        loops.lanes
    ));
    Ok((subject, found))
}

/// The launch's start, then the norm of the other known limits; and the longest of all. GPUs have fitted numbers for this.
fn together(limits: &[Limit]) -> Option<(Seconds, Limiter)> {
    let known = || limits.iter().filter_map(|(limiter, limit)| Some((*limiter, limit.as_ref().ok()?.0)));
    let (limiter, longest) = known().reduce(|a, b| if b.1 > a.1 { b } else { a }).filter(|longest| longest.1 > 0.0)?;
    let start: f64 = known().filter(|limit| limit.0 == Limiter::Launch).map(|limit| limit.1).sum();
    // Relative to the longest, so that no power underflows.
    let rest: f64 = known().filter(|limit| limit.0 != Limiter::Launch).map(|limit| (limit.1 / longest).powf(OVERLAP)).sum();
    Some((Seconds(start + longest * rest.powf(1.0 / OVERLAP)), limiter))
}

/// Rows as blocks: all axes but one count as group axes, in the order in which rows run.
fn in_rows(subject: &Subject, along: Option<Var>) -> Subject {
    let mut rows = subject.clone();
    let others = subject.lanes.iter().filter(|lane| Some(**lane) != along);
    rows.groups = others.chain(&subject.groups).copied().filter(|var| var.count > 1).collect();
    rows.lanes = along.into_iter().collect();
    rows
}

/// Loaded and stored bytes of a field: of lines that are only stored, all are loaded, not just those that stores leave gaps in.
fn allocated(field: &Field, load: f64, store: f64) -> (f64, f64) {
    let loaded = field.touches.iter().any(|touch| !matches!(touch.kind, AccessKind::Store(_)));
    let load = if loaded {
        load
    } else if bypasses(field) {
        0.0
    } else {
        store.max(load)
    };
    (load, store)
}

impl Level {
    fn of(per_field: Vec<(f64, f64)>) -> Self {
        Self { load: per_field.iter().map(|own| own.0).sum(), store: per_field.iter().map(|own| own.1).sum(), per_field }
    }
}

/// Bytes that work-items ask for.
fn asked(subject: &Subject, field: &Field, keep: fn(AccessKind) -> bool) -> f64 {
    let kept = field.touches.iter().filter(|touch| keep(touch.kind));
    kept.fold(0.0, |sum, touch| sum + images::lanes(subject, touch) * touch.width as f64) * field.geometry.element as f64
}

fn has_barrier(nest: &[Nest]) -> bool {
    nest.iter().any(|node| match node {
        Nest::Barrier => true,
        Nest::Loop { body, .. } => has_barrier(body),
        Nest::Access(_) => false,
    })
}

/// Trips of all loops of a work-item.
fn trips_of(kernel: &Kernel, nest: &[Nest]) -> f64 {
    let loops = nest.iter().filter_map(|node| if let Nest::Loop { var, body } = node { Some((var, body)) } else { None });
    let trips = |var: &warpsight_ir::VarId| f64::from(kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1));
    loops.map(|(var, body)| trips(var) * (1.0 + trips_of(kernel, body))).sum()
}

/// Whether there is a loop that no barrier divides.
fn has_loop(nest: &[Nest]) -> bool {
    nest.iter().any(|node| matches!(node, Nest::Loop { body, .. } if !has_barrier(body) || has_loop(body)))
}

/// Arithmetic instructions of a step.
fn arithmetic(kernel: &Kernel) -> f64 {
    kernel.ops.0.iter().map(|(&(_, _, width), &n)| n as f64 * f64::from(width)).sum()
}

/// Cycles of arithmetic units, the slowest kind.
fn fp(loops: &Loops, on: &Profile) -> Result<f64, String> {
    let e = &on.execution;
    let items = loops.rows * loops.along.map_or(1.0, |var| f64::from(var.count));
    let (mut float, mut double, mut special) = (0.0, 0.0, 0.0);
    for (&(class, scalar, width), &n) in &loops.kernel.ops.0 {
        let lanes = n as f64 * f64::from(width) * items;
        match (class, scalar) {
            (OpClass::Special, _) => special += lanes,
            (_, Scalar::F64 | Scalar::I64 | Scalar::U64) => double += lanes,
            _ => float += lanes,
        }
    }
    let over = |lanes: f64, rate: &Fact<f64>, name: &str| if lanes > 0.0 { known(rate, name).map(|rate| lanes / rate) } else { Ok(0.0) };
    // Both types share their units.
    let vectors =
        over(float, &e.fma_per_clock, "execution.fma_per_clock")? + over(double, &e.fma64_per_clock, "execution.fma64_per_clock")?;
    Ok(vectors.max(over(special, &e.special_per_clock, "execution.special_per_clock")?))
}

/// Cycles in which cores wait for lines that no prefetcher foresees.
fn waits(loops: &Loops, units: &[Var], behind: &[Level], on: &Profile, line: f64) -> Result<f64, String> {
    let m = &on.memory;
    let latencies =
        [(&m.l2.latency, "memory.l2.latency"), (&m.llc.latency, "memory.llc.latency"), (&m.dram_latency, "memory.dram_latency")];
    let mut cycles = 0.0;
    for (i, field) in loops.subject.fields.iter().enumerate() {
        let part = field.touches.iter().map(|touch| loops.unforeseen(field, touch, units, line)).fold(0.0, f64::max);
        for (n, level) in behind.iter().enumerate() {
            // What leaves the last cache comes from memory, however many caches there are.
            let (latency, name) = latencies[if n + 1 == behind.len() { 2 } else { n }];
            let further = behind.get(n + 1).map_or(0.0, |level| level.per_field[i].0);
            let lines = (level.per_field[i].0 - further).max(0.0) / line;
            if lines > 0.0 {
                cycles += part * lines * known(latency, name)?.0;
            }
        }
    }
    Ok(cycles / IN_FLIGHT)
}
