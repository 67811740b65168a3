//! Instructions of a launch as loops of vectors.

use super::overlapped;
use crate::time::{Limit, has_barrier};
use crate::volumes::kernel::subject::{Field, Touch, Var};
use smallvec::SmallVec;
use warpsight_ir::profile::Fact;
use warpsight_ir::range::{Interval, gcd};
use warpsight_ir::{
    AccessKind, AffineBound, Kernel, Limiter, Nest, NoEstimate, OpClass, Profile, Scalar, Seconds, Unknown, VarId, VarKind,
};

/// Bytes of the vectors that compilers make of work-items, even where the machine has longer ones: LLVM's preferred width for server cores
/// with AVX-512. What a kernel says in longer vectors stays so: with 16 sums of 16 lanes on PoCL, which fill no register file of this width,
/// a matrix product reaches the peak.
const VECTOR: f64 = 32.0;
/// Bytes of an f32.
const WORD: f64 = 4.0;
/// Bytes of a line where a profile says none: of x86 and of most of Arm's cores.
const LINE: i64 = 64;
/// Rows shorter than this become vectors only if these leave no rest: LLVM's vectoriser leaves other loops of so few trips alone
/// (TinyTripCountVectorThreshold).
const SHORT_ROW: u32 = 16;
/// Instructions beside each element that is gathered into a vector, or scattered from it: its insertion.
const INSERTION: f64 = 1.0;
/// Instructions beside each element of a vector that a work-item by itself stores alone: its index as the compiler widens it, and taking it out.
const EXTRACTION: f64 = 3.0;
/// Elements between neighbours that vectors are made of by loading all that lies between and shuffling.
const INTERLEAVED: i64 = 4;
/// Loads that a core starts in a clock: two on cores since 2011, or more of integers.
const LOADS: f64 = 2.0;
/// Shuffles of such a vector.
const SHUFFLES: f64 = 3.0;
/// Instructions by which one texel of an image is read or written: address, clamping, conversion of four components. A matrix product whose
/// operands moved from buffers to images ran 3 to 7.4 times slower on two CPU runtimes (docs/provenance.md, "images on CPUs").
const TEXEL: f64 = 40.0;
/// Instructions per judged condition: a comparison and a branch or a mask.
const CONDITION: f64 = 2.0;
/// Cycles until a core goes on after a branch that it foresaw wrongly: 13 to 20 on cores of the last ten years. A depthwise 3 × 3 of 144 channels at 56² in
/// vectors of 8 along rows takes 137 µs padded and 66 unpadded on AMD's cores, 29 cycles for each vector at an end (measured, 2026-11-30), of which loads and
/// conditions of its elements, which are counted as instructions, take the rest.
const SURPRISE: f64 = 16.0;
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
/// Uses of an element in several steps: more than this for each load.
const SHARED: f64 = 1.1;
/// Values of a bound that are counted one by one.
const COUNTED: i64 = 1024;
/// Lines that are missed before a prefetcher has seen where a run of them leads.
const TRAINED: f64 = 3.0;
/// Runs of lines that a prefetcher follows at once, each in a page of its own: Intel's second-level streamer.
const STREAMS: f64 = 32.0;
/// Of memory's bandwidth a core alone draws one part in so many at least. On two cores of a server it drew 16 of 32 GB/s, and 95 of 180 from the last
/// level (a walk in C that is not kept, 2026-11-29).
const ALONE: f64 = 3.0;

/// A launch as loops of vectors.
pub(super) struct Loops<'a> {
    kernel: &'a Kernel,
    /// The axis along which work-items of a row lie; none where each runs by itself.
    pub(super) along: Option<Var>,
    /// Rows of the launch.
    pub(super) rows: f64,
    /// Work-items of a whole vector.
    pub(super) lanes: u32,
    /// Bytes of a line of the first level.
    pub(super) line: i64,
    /// Bytes that a load moves at most: of two in a clock, half of what the first level delivers.
    piece: f64,
    /// Bytes of a vector register, and how many there are.
    register: f64,
    registers: f64,
    /// Whether there is a loop that no barrier divides.
    looped: bool,
    /// Share of work-items that are at some edge: of what a load around a loop asks, which that does not change, something does not hold.
    at_edges: f64,
}

/// Where an access goes, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Whether it is a texel's.
    pub(super) image: bool,
    /// What a work-item moves.
    pub(super) size: i64,
    /// From a work-item of the row to the next.
    pub(super) stride: i64,
    /// All vectors begin at a multiple of this.
    pub(super) begins: i64,
}

/// What a vector of work-items does for an access.
pub(super) struct Cost {
    /// Loads or stores, each of what one of them moves at most.
    pub(super) memory: f64,
    /// Instructions, these included.
    all: f64,
}

/// What the cores do.
#[derive(Default)]
pub(super) struct Instructions {
    /// Memory instructions of one vector of work-items.
    memory: f64,
    /// All of one vector of work-items but arithmetic and steps of loops.
    body: f64,
    /// Branches of one vector of work-items that are foreseen wrongly.
    surprises: f64,
    /// Beside each row.
    row: f64,
    /// Results of a vector of work-items that do not wait for each other: what it stores.
    results: f64,
    /// Loads of single elements and of vectors, of work-items by themselves, by how often they are executed.
    steps: SmallVec<[Step; 4]>,
}

/// What a work-item loads that runs by itself, each time that it comes by.
struct Step {
    trips: f64,
    elements: f64,
    /// Of these, what is loaded where conditions hold that a loop around it changes.
    asked: f64,
    vectors: f64,
}

impl Instructions {
    fn load(&mut self, (trips, times): (f64, f64), width: i64, asked: bool) {
        let at = self.steps.iter().position(|step| step.trips == trips).unwrap_or_else(|| {
            self.steps.push(Step { trips, elements: 0.0, asked: 0.0, vectors: 0.0 });
            self.steps.len() - 1
        });
        let step = &mut self.steps[at];
        *if width == 1 { &mut step.elements } else { &mut step.vectors } += times;
        step.asked += if width == 1 && asked { times } else { 0.0 };
    }
}

/// What single elements cost beside their loads where they are multiplied by vectors, in all steps of a work-item.
#[derive(Default)]
struct Elements {
    /// Instructions more, or fewer.
    instructions: f64,
    /// Vectors that go through memory.
    moved: f64,
    /// Elements that units of arithmetic spread over a register: what is loaded under a condition of a loop around it is a number before it is a
    /// vector. Of conditions that no loop changes compilers make two loops.
    spread: f64,
}

impl<'a> Loops<'a> {
    /// Of a kernel whose group and lane axes are these, and whose widest element in buffers has so many bytes.
    pub(super) fn of(kernel: &'a Kernel, on: &Profile, axes: impl Iterator<Item = Var> + Clone, lanes: &[Var], widest: i64) -> Self {
        // What loops without barriers does one work-item after the other, and so does what is written in vectors or reads under conditions
        // that other accesses do not have: PoCL's loops over such work-items do not become vectors. The rest is rows.
        let looped = has_loop(&kernel.accesses.nest);
        let mut alone = looped || kernel.ops.0.keys().any(|&(_, _, width)| width > 1);
        let mut guard: Option<&[AffineBound]> = None;
        kernel.accesses.each(&mut |access| alone |= access.width > 1 || *guard.get_or_insert(&access.guard) != access.guard.as_slice());
        let along = lanes.iter().copied().find(|lane| lane.count > 1).filter(|_| !alone);
        let rows = axes.filter(|var| Some(*var) != along).map(|var| f64::from(var.count)).product();
        let whole = ((VECTOR / widest as f64) as u32).max(1);
        let lanes = if along.is_some_and(|var| var.count >= SHORT_ROW || var.count % whole == 0) { whole } else { 1 };
        let words = on.execution.vector_width.get().map_or(VECTOR / WORD, |&words| f64::from(words));
        let registers = on.execution.max_registers.get().map_or(f64::INFINITY, |&all| f64::from(all) / words);
        let piece = on.execution.lsu_lanes.get().map_or(VECTOR, |&lanes| f64::from(lanes) * WORD / LOADS);
        let line = on.memory.buffer_l1.line.get().map_or(LINE, |line| (line.0 as i64).max(1));
        let mut loops = Self { kernel, along, rows, lanes, line, piece, register: words * WORD, registers, looped, at_edges: 0.0 };
        loops.at_edges = loops.edges_of_any();
        loops
    }

    /// See [`at_edges`](Self::at_edges). Bounds of one form differ in constants: their ends are those of all together.
    fn edges_of_any(&self) -> f64 {
        let mut forms: Vec<(AffineBound, f64, f64)> = vec![];
        self.kernel.accesses.each(&mut |access| {
            let lanes = |bound: &AffineBound| if bound.per_lane { access.width.into() } else { 1 };
            for bound in access.guard.iter().filter(|bound| access.kind == AccessKind::Load && self.decided(bound)) {
                let (below, above) = self.ends(bound, lanes(bound));
                match forms.iter_mut().find(|own| own.0.value.terms() == bound.value.terms()) {
                    Some(own) => (own.1, own.2) = (own.1.max(below), own.2.max(above)),
                    None => forms.push((bound.clone(), below, above)),
                }
            }
        });
        1.0 - forms.iter().map(|(_, below, above)| 1.0 - (below + above).min(1.0)).product::<f64>()
    }

    /// Bytes of a vector: of work-items as the compiler makes it, of one work-item as it is written.
    fn vector(&self) -> f64 {
        if self.lanes == 1 { self.register } else { VECTOR }
    }

    /// Values of a work-item by itself that no register is left for: each takes a whole one, however few its lanes are.
    fn spilled(&self) -> f64 {
        let width = self.computed() / WORD;
        if self.lanes == 1 { (f64::from(self.kernel.registers) / width - self.registers).max(0.0) } else { 0.0 }
    }

    /// Counts an access to so many elements, which stands for `times` that lie next to each other, each executed `trips` times by a work-item
    /// where these hold; see [`cost`](Self::cost).
    pub(super) fn add(
        &self,
        to: &mut Instructions,
        (trips, times): (f64, f64),
        (kind, width, guard): (AccessKind, i64, &[AffineBound]),
        place: Place,
    ) -> Cost {
        let Place { size, .. } = place;
        let whole = self.cost(place);
        // Loads ask what a loop around them does not change once before it, and in it only where something of all this does not hold.
        let asked = |bound: &AffineBound| match kind {
            AccessKind::Load if self.decided(bound) => self.at_edges,
            _ => 1.0,
        };
        let conditions = CONDITION * guard.iter().map(asked).sum::<f64>();
        // Where the conditions of a vector's elements differ, they are loaded or stored one by one.
        let apart = guard.iter().filter(|bound| bound.per_lane).map(|bound| self.edges(bound, width)).fold(0.0, f64::max);
        let one = self.cost(Place { size: size / width.max(1), ..place });
        let mix = |whole: f64, one: f64| whole + apart * (width as f64 * one - whole);
        let each = one.all + INSERTION + CONDITION * guard.len() as f64;
        let cost = Cost { memory: mix(whole.memory, one.memory), all: conditions + mix(whole.all, each) };
        to.memory += trips * times * cost.memory;
        to.body += trips * times * cost.all;
        // Which of its elements is the first or the last within differs from end to end.
        to.surprises += trips * times * apart;
        to.row += BASE * times;
        if self.lanes == 1 && kind == AccessKind::Load {
            to.load((trips, times), width, guard.iter().any(|bound| !self.decided(bound)));
        }
        if let AccessKind::Store(_) = kind {
            let taken_out = self.lanes == 1 && width == 1 && self.kernel.ops.0.keys().any(|&(_, _, width)| width > 1);
            to.body += if taken_out { trips * times * EXTRACTION } else { 0.0 };
            let items = if self.lanes == 1 { 1.0 } else { f64::from(self.row()) / self.steps() };
            to.results += times * items * size as f64 / self.computed();
        }
        cost
    }

    /// Share of an access's executions in which a bound does not hold for all of so many lanes: those that reach over an end of the tensor.
    fn edges(&self, bound: &AffineBound, lanes: i64) -> f64 {
        let (below, above) = self.ends(bound, lanes);
        (below + above).min(1.0)
    }

    /// The same at the beginning and at the end.
    fn ends(&self, bound: &AffineBound, lanes: i64) -> (f64, f64) {
        let trips = |var: VarId| self.kernel.accesses.vars[usize::from(var.0)].trips.map_or(1, i64::from);
        let range = bound.value.range(|var| Interval::below(trips(var)));
        if range.lo >= 0 && range.hi + i128::from(lanes) <= i128::from(bound.extent) {
            return (0.0, 0.0);
        }
        let moving: SmallVec<[(i64, i64); 4]> =
            bound.value.terms().iter().map(|&(var, c)| (i64::from(c), trips(var))).filter(|own| own.1 > 1).collect();
        let places: i64 = moving.iter().map(|own| own.1).fold(1, i64::saturating_mul);
        if places <= COUNTED {
            let (mut below, mut above) = (0, 0);
            for mut place in 0..places {
                let mut value = bound.value.constant;
                for (c, trips) in &moving {
                    value += c * (place % trips);
                    place /= trips;
                }
                below += i64::from(value < 0);
                above += i64::from(value >= 0 && value + lanes > bound.extent);
            }
            return (below as f64 / places as f64, above as f64 / places as f64);
        }
        // Of many places one step at each end.
        let step = moving.iter().map(|own| own.0.unsigned_abs() as f64).fold(f64::INFINITY, f64::min);
        let share = step / ((range.hi - range.lo) as f64 + step);
        let end = |there: bool| if there { share } else { 0.0 };
        (end(range.lo < 0), end(range.hi + i128::from(lanes) > i128::from(bound.extent)))
    }

    /// Whether no loop changes what a bound asks, of a kernel that has loops.
    fn decided(&self, bound: &AffineBound) -> bool {
        let looped = |var: VarId| matches!(self.kernel.accesses.vars[usize::from(var.0)].kind, VarKind::Loop);
        self.looped && !bound.value.terms().iter().any(|term| looped(term.0))
    }

    /// What launch, units, issue and waits take, and the cycles of load and store units of all cores. `stalled`: cycles that cores wait for lines, all
    /// together, by the cycles that they are busy and the windows of instructions that they go through.
    pub(super) fn limits(
        &self,
        found: &Instructions,
        stalled: Result<impl Fn(f64, f64) -> f64, Unknown>,
        on: &Profile,
    ) -> Result<(Vec<Limit>, f64), NoEstimate> {
        let cores = f64::from(on.execution.cores.need(on, "execution.cores")?);
        let clock = on.execution.clock.need(on, "execution.clock")?.0;
        let per_core = |cycles: f64| Seconds(cycles / cores / clock);
        let (groups, share) = (self.kernel.launch.group_count() as f64, self.uneven(cores));
        let start = on.execution.launch_overhead.get().map_or(0.0, |overhead| overhead.0);
        let arithmetic = self.arithmetic();
        // What no register is left for is loaded and stored by each operation on it.
        let spills = 2.0 * self.spilled() * arithmetic / found.results.max(1.0);
        let elements = self.elements(found, arithmetic);
        let body = STEP * (1.0 + trips_of(self.kernel, &self.kernel.accesses.nest))
            + arithmetic
            + found.body
            + spills
            + elements.instructions
            + elements.spread;
        let rate = on.execution.issue_per_clock.known_as("execution.issue_per_clock");
        // A step's operations wait for each other, where no variable is known to wait for itself as far as they make one result, and as many steps
        // wait together as fit the core's window.
        let each = self.kernel.chain.filter(|own| *own > 0).map_or(arithmetic / found.results.max(1.0), |own| own as f64);
        let chain = self.rows * self.steps() * CHAIN * each * (body / WINDOW).min(1.0);
        let refills = SURPRISE * found.surprises;
        let issue = rate.map(|rate| self.rows * (self.steps() * (body / rate + refills) + (ROW + found.row) / rate));
        let known = on.execution.lsu_lanes.known_as("execution.lsu_lanes");
        let vectors = (spills + elements.moved) * self.pieces(self.vector());
        let l1_cycles = known.as_ref().map_or(0.0, |_| self.rows * self.steps() * (found.memory + vectors) / LOADS);
        let units = [(Limiter::Fp, fp(self, elements.spread, on)), (Limiter::Issue, issue), (Limiter::L1, known.map(|_| l1_cycles))];
        // Of a chain, what no unit fills is waited for.
        let busiest = units.iter().filter_map(|own| own.1.as_ref().ok().copied()).fold(0.0, f64::max);
        let waits = match stalled {
            Err(unknown) if chain <= 0.0 => Err(unknown),
            stalled => {
                let busy = overlapped([busiest, chain]);
                let windows = self.rows * self.steps() * body / WINDOW;
                Ok(stalled.map_or(0.0, |of| of(busy, windows)) + busy - busiest)
            }
        };
        let mut limits = vec![(Limiter::Launch, Ok(Seconds(start + per_core(groups * GROUP).0)))];
        let cycles = units.into_iter().chain([(Limiter::Latency, waits)]);
        limits.extend(cycles.map(|(limiter, own)| (limiter, own.map(|cycles| per_core(cycles * share)))));
        Ok((limits, l1_cycles))
    }

    /// How much longer what each core does by itself takes because the last groups, or the only ones, leave some of them idle.
    pub(super) fn uneven(&self, cores: f64) -> f64 {
        let each = self.kernel.launch.group_count() as f64 / cores;
        each.ceil() / each
    }

    /// How much longer what memory hands to all of them takes: a core alone draws one part of it in so many at least.
    pub(super) fn drawn(&self, cores: f64) -> f64 {
        let each = self.kernel.launch.group_count() as f64 / cores;
        let left = each.fract();
        let share = left.max((left * cores / ALONE).min(1.0));
        if left > 0.0 { (each.floor() + left / share) / each } else { 1.0 }
    }

    /// What single elements cost that are multiplied by vectors. An instruction takes an element from memory where it is used once, and no
    /// load is one of its own then. What further steps use again (neighbouring windows, written out) takes a whole register until then, or goes
    /// through memory as a vector. All operations are taken to be in the step that is executed most.
    fn elements(&self, found: &Instructions, arithmetic: f64) -> Elements {
        let Some(step) = found.steps.iter().max_by(|a, b| a.trips.total_cmp(&b.trips)) else { return Elements::default() };
        let width = self.computed() / WORD;
        let (operations, all) = (arithmetic / step.trips, f64::from(self.kernel.registers));
        if self.lanes > 1 || width <= 1.0 || step.elements == 0.0 || step.vectors == 0.0 {
            return Elements::default();
        }
        let sums = ((all - step.elements) / width).max(found.results).max(1.0);
        // Each vector is multiplied by so many elements, each element by `sums / met` vectors: so many elements were loaded in a step if none
        // of them were used in another.
        let met = operations / step.vectors;
        let apart = operations * met / sums;
        let used = operations / step.elements;
        // Where there are conditions all elements of a step are loaded before any is used.
        let asked = (step.asked + self.at_edges * (step.elements - step.asked)) / step.elements;
        let waiting = if apart > step.elements * SHARED { 1.0 } else { asked };
        let held = waiting * (sums + step.elements - self.registers).clamp(0.0, step.elements);
        let folded = if used <= SHARED { (1.0 - waiting) * step.elements } else { 0.0 };
        Elements {
            instructions: step.trips * (held - folded),
            moved: step.trips * held * (1.0 + used),
            spread: found.steps.iter().map(|step| step.trips * step.asked).sum(),
        }
    }

    /// Arithmetic instructions of a vector of work-items one for each element of theirs; of a work-item by itself one for as many elements
    /// as a vector holds.
    fn arithmetic(&self) -> f64 {
        let each = |scalar: Scalar, width: u8| match self.lanes {
            1 => (f64::from(width) * f64::from(scalar.bytes()) / self.vector()).ceil(),
            _ => f64::from(width),
        };
        self.kernel.ops.0.iter().map(|(&(_, scalar, width), &n)| n as f64 * each(scalar, width)).sum()
    }

    /// Bytes that one arithmetic instruction computes: of whole vectors, or of a work-item by itself as many as its widest operation has.
    fn computed(&self) -> f64 {
        let widest = self.kernel.ops.0.keys().map(|&(_, scalar, width)| f64::from(width) * f64::from(scalar.bytes())).fold(4.0, f64::max);
        if self.lanes == 1 { widest.min(self.register) } else { VECTOR }
    }

    /// Loads that so many bytes count as, of an instruction.
    fn pieces(&self, bytes: f64) -> f64 {
        (bytes / self.piece).max(1.0)
    }

    /// Of a vector of work-items those that store to one line, by the bytes from one to the next: they wait for it together.
    pub(super) fn stored_together(&self, stride: i64, line: f64) -> f64 {
        let lanes = f64::from(self.lanes);
        if stride == 0 { lanes } else { (line / stride.unsigned_abs() as f64).clamp(1.0, lanes) }
    }

    pub(super) fn row(&self) -> u32 {
        self.along.map_or(1, |var| var.count)
    }

    /// Vectors of a row: whole ones, and for the rest one for each power of two in it.
    pub(super) fn steps(&self) -> f64 {
        f64::from(self.row() / self.lanes + (self.row() % self.lanes).count_ones())
    }

    /// What all vectors of an access begin at a multiple of, by the byte at which the first begins and those that a variable moves it by.
    pub(super) fn begins(&self, origin: i64, stride: impl Fn(VarId) -> i64) -> i64 {
        let vars = self.kernel.accesses.vars.iter().enumerate().filter(|(_, var)| var.trips != Some(1));
        let moved = vars.map(|(n, _)| VarId(n as u16)).map(|id| match self.along {
            Some(along) if along.id == id => stride(id).saturating_mul(self.lanes.into()),
            _ => stride(id),
        });
        moved.fold(origin.saturating_abs(), |all, own| gcd(all, own.saturating_abs()))
    }

    /// What loads and stores of an access take.
    fn cost(&self, Place { image, size, stride, begins }: Place) -> Cost {
        let items = f64::from(self.row()) / self.steps();
        // An instruction names a vector, units move a part of it at a time, those that cross into another line twice.
        let moved = |bytes: f64| self.pieces(bytes) * (1.0 + crossing(bytes.min(self.piece), begins, self.line));
        let one = moved(size as f64);
        if image {
            return Cost { memory: items, all: items * TEXEL };
        }
        let vectors = (items * size as f64 / VECTOR).ceil();
        match stride.saturating_abs() {
            _ if self.lanes == 1 => Cost { memory: one * items, all: (size as f64 / self.vector()).ceil() * items },
            0 => Cost { memory: one, all: self.pieces(size as f64) },
            stride if stride == size => Cost { memory: vectors * moved(VECTOR), all: vectors },
            stride if stride <= INTERLEAVED * size => Cost { memory: vectors * moved(VECTOR), all: vectors * (1.0 + SHUFFLES) },
            _ => Cost { memory: items * one, all: items * (self.pieces(size as f64) + INSERTION) },
        }
    }

    /// Share of a field's lines that no prefetcher foresees: of runs of neighbouring lines, the first few. What accesses that move alike touch
    /// side by side, as those that are written out of a loop do, is one run; of what moves otherwise, as the rest of a loop does, each counts for
    /// the lines that it touches.
    pub(super) fn unforeseen(&self, field: &Field, units: &[Var], line: f64) -> f64 {
        let stride = |touch: &Touch, var: &Var| touch.stride(&field.geometry, var.id).abs() as f64;
        let place = |touch: &Touch| {
            let begins = touch.origin(&field.geometry) as f64;
            (begins, begins + (touch.width * field.geometry.element) as f64)
        };
        // What moves alike, the first of each kind.
        let mut alike: Vec<(&Touch, Vec<(f64, f64)>)> = vec![];
        for touch in &field.touches {
            match alike.iter_mut().find(|other| other.0.moves_like(touch)) {
                Some(other) => other.1.push(place(touch)),
                None => alike.push((touch, vec![place(touch)])),
            }
        }
        let (mut all, mut unseen) = (0.0, 0.0);
        for (touch, mut touched) in alike {
            touched.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut pieces: Vec<(f64, f64)> = vec![];
            for own in touched {
                match pieces.last_mut().filter(|last| own.0 <= last.1 + line) {
                    Some(last) => last.1 = last.1.max(own.1),
                    None => pieces.push(own),
                }
            }
            let mut run = pieces.iter().map(|own| own.1 - own.0).fold(f64::INFINITY, f64::min);
            let mut streams = pieces.len() as f64;
            let moving = touch.loops.iter().filter(|var| stride(touch, var) > 0.0);
            let trips: f64 = moving.map(|var| f64::from(var.count)).product();
            // Neighbours share a line where what moves least moves by less.
            let least = touch.loops.iter().chain(self.along.iter()).chain(units).map(|var| stride(touch, var));
            let least = least.filter(|own| *own > 0.0).fold(line, f64::min);
            let lines = trips * pieces.iter().map(|own| (own.1 - own.0).max(least)).sum::<f64>();
            let inner = touch.loops.iter().rev().chain(self.along.iter());
            for var in inner.chain(units).filter(|var| var.count > 1 && stride(touch, var) > 0.0) {
                let count = f64::from(var.count);
                if streams > STREAMS {
                    break;
                } else if stride(touch, var) <= run + line {
                    run += stride(touch, var) * (count - 1.0);
                } else {
                    streams *= count;
                }
            }
            (all, unseen) = (all + lines, unseen + lines * (TRAINED * line / run).min(1.0));
        }
        if all > 0.0 { unseen / all } else { 0.0 }
    }
}

/// Share of accesses to so many bytes that reach into a second line, of those that begin at any multiple of `begins`. A unit moves a line at a time:
/// on a core of AMD's loads of 16, 32 and 64 bytes from 4 bytes further take 0.63, 0.76 and 1.01 cycles, 0.5 where they begin (in C, not kept,
/// 2026-11-30).
fn crossing(bytes: f64, begins: i64, line: i64) -> f64 {
    let apart = gcd(line, begins) as f64;
    (((bytes / apart).ceil() * apart - apart) / line as f64).max(0.0)
}

/// Trips of all loops of a work-item.
fn trips_of(kernel: &Kernel, nest: &[Nest]) -> f64 {
    let loops = nest.iter().filter_map(|node| if let Nest::Loop { var, body } = node { Some((var, body)) } else { None });
    let trips = |var: &warpsight_ir::VarId| f64::from(kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1));
    loops.map(|(var, body)| trips(var) * (1.0 + trips_of(kernel, body))).sum()
}

/// Whether there is a loop that no barrier divides.
pub(super) fn has_loop(nest: &[Nest]) -> bool {
    nest.iter().any(|node| matches!(node, Nest::Loop { body, .. } if !has_barrier(body) || has_loop(body)))
}

/// Cycles of arithmetic units, which run the code of special functions, too: of a work-item by itself for a whole register, however few of its lanes
/// are used, and spread single elements over registers.
fn fp(loops: &Loops, spread: f64, on: &Profile) -> Result<f64, Unknown> {
    let e = &on.execution;
    let items = loops.rows * loops.along.map_or(1.0, |var| f64::from(var.count));
    let (mut float, mut double, mut special) = (spread * items * loops.register / WORD, 0.0, 0.0);
    for (&(class, scalar, width), &n) in &loops.kernel.ops.0 {
        let lanes = n as f64 * f64::from(width) * items;
        match (class, scalar) {
            (OpClass::Special, _) if loops.lanes == 1 => {
                let bytes = f64::from(width) * f64::from(scalar.bytes());
                special += n as f64 * items * (bytes / loops.register).ceil() * loops.register / WORD;
            }
            (OpClass::Special, _) => special += lanes * f64::from(scalar.bytes()) / WORD,
            (_, Scalar::F64 | Scalar::I64 | Scalar::U64) => double += lanes,
            _ => float += lanes,
        }
    }
    let over =
        |lanes: f64, rate: &Fact<f64>, name: &'static str| if lanes > 0.0 { rate.known_as(name).map(|rate| lanes / rate) } else { Ok(0.0) };
    // Both types share their units.
    let vectors =
        over(float, &e.fma_per_clock, "execution.fma_per_clock")? + over(double, &e.fma64_per_clock, "execution.fma64_per_clock")?;
    Ok(vectors + over(special, &e.special_per_clock, "execution.special_per_clock")?)
}
