//! From a [`Kernel`] to its text form.

use super::build::local_arrays;
use super::symbol::coordinate;
use super::text::parse;
use super::words::{block_axis, is_further_axis, lane_axis, word};
use super::wrong::TextError;
use super::{AccessKind, AccessRef, Accesses, AffineBound, LoadPath, Nest, Pattern, TensorPlace, TensorUse, VarKind};
use crate::affine::text::sum;
use crate::affine::{Affine, VarId};
use crate::kernel::Kernel;
use crate::program::{ImageFormat, Name, Space, StorePolicy};
use crate::text::Word;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

/// Columns of a line, where a list can be broken.
const COLUMNS: usize = 120;

/// Why a kernel has no text form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// Blocks, lanes and loops are not as a launch and nested loops make them.
    #[error("its variables are not the blocks, then the lanes of its launch, then loops of known trips that each stand in one place")]
    Variables,
    /// An operation or a way to touch this tensor that the text form has no word for: tiles, types of no number.
    #[error("the text form has no word for {0}")]
    NoWord(String),
    /// The reader does not take it.
    #[error("the text form does not hold it: {0}")]
    Refused(#[from] TextError),
    /// The reader makes something else of it, for instance where two tensors have one name.
    #[error("its text form is that of another kernel")]
    Differs,
}

/// The text form of a kernel. [`parse`] makes the same kernel of it: launch, registers, operations and accesses in order, all but the
/// names of blocks and lanes, which are bx and lx and so on in the text, and of loops whose name is taken or none, and [`Kernel::kept`]. Loops that hold nothing
/// are left out: in the text they would repeat what is around them.
///
/// # Errors
/// What the text form cannot say: see [`Unwritable`].
pub fn write(kernel: &Kernel) -> Result<String, Unwritable> {
    let kernel = held(kernel);
    let kernel = kernel.as_ref();
    let text = Writer::new(kernel)?.text()?;
    let mut read = parse(&text, &[])?.kernel;
    for (var, own) in read.accesses.vars.iter_mut().zip(&kernel.accesses.vars) {
        var.name = own.name.clone();
    }
    // What a compiler keeps in the order of loops that are written out cannot be told from their trips one by one.
    (read.kept, read.reused) = (kernel.kept, kernel.reused);
    if read == *kernel { Ok(text) } else { Err(Unwritable::Differs) }
}

struct Writer<'a> {
    kernel: &'a Kernel,
    /// The axis of each group variable.
    order: Vec<usize>,
    loops: Vec<Loop>,
    /// Conditions of every access, which are said once.
    common: usize,
}

/// A loop of the nest.
struct Loop {
    name: String,
    trips: u32,
    /// The number of the loop it is in.
    around: Option<usize>,
}

/// What happens, and the loop it happens in.
enum Step<'a> {
    Access(&'a AccessRef, Option<usize>),
    Barrier(Option<usize>),
}

/// Accesses of one tensor that stand together: its loads and its stores, whichever begin.
#[derive(Default)]
struct Entry<'a> {
    lists: Vec<Vec<(&'a AccessRef, Option<usize>)>>,
}

impl<'a> Writer<'a> {
    fn new(kernel: &'a Kernel) -> Result<Self, Unwritable> {
        let (vars, launch) = (&kernel.accesses.vars, &kernel.launch);
        let (groups, lanes) = (launch.groups.len(), launch.lanes.len());
        let kinds =
            [VarKind::Group].repeat(groups).into_iter().chain([VarKind::Lane].repeat(lanes)).chain(std::iter::repeat(VarKind::Loop));
        let counts = launch.groups.iter().chain(&launch.lanes);
        let launched = vars.len() >= groups + lanes && counts.zip(vars).all(|(&count, var)| var.trips == Some(count));
        if !launched || !vars.iter().zip(kinds).all(|(var, kind)| var.kind == kind) {
            return Err(Unwritable::Variables);
        }
        let mut writer = Self { kernel, order: order(&kernel.accesses, groups, lanes), loops: vec![], common: 0 };
        writer.loops = writer.loops()?;
        writer.common = common(&kernel.accesses);
        Ok(writer)
    }

    fn loops(&self) -> Result<Vec<Loop>, Unwritable> {
        let first = self.first_loop();
        let vars = &self.kernel.accesses.vars[first..];
        let mut around = vec![None; vars.len()];
        stands(&self.kernel.accesses.nest, None, first, &mut around)?;
        let mut loops: Vec<Loop> = Vec::new();
        for (var, around) in vars.iter().zip(around) {
            let trips = var.trips.ok_or(Unwritable::Variables)?;
            let taken = |name: &str| coordinate(name).is_some() || is_further_axis(name) || loops.iter().any(|own| own.name == name);
            let around = around.ok_or(Unwritable::Variables)?;
            loops.push(Loop { name: free(&var.name, taken), trips, around });
        }
        Ok(loops)
    }

    /// The position of the first loop among variables.
    fn first_loop(&self) -> usize {
        self.kernel.launch.groups.len() + self.kernel.launch.lanes.len()
    }

    fn text(&self) -> Result<String, Unwritable> {
        let Kernel { name, launch, registers, kept: _, reused: _, known: _, local, ops, chain, accesses } = self.kernel;
        let mut text = format!("name = {}\n", quoted(name));
        let mut key = |key: &str, value: String| text.push_str(&format!("{key} = {value}\n"));
        let mut grid = vec![0; launch.groups.len()];
        self.order.iter().zip(&launch.groups).for_each(|(&axis, &blocks)| grid[axis] = blocks);
        key("block", format!("{:?}", launch.lanes));
        key("grid", format!("{grid:?}"));
        if !self.order.is_sorted() {
            let order = self.order.iter().map(|&axis| block_axis(axis)[1..].to_owned());
            key("block_order", quoted(&order.collect::<String>()));
        }
        key("registers", registers.to_string());
        if *local != local_arrays(&accesses.tensors) {
            key("local", format!("{}", local.0));
        }
        chain.iter().for_each(|length| key("chain", length.to_string()));
        let no_word = |op: &_| Unwritable::NoWord(format!("operations of {op:?}"));
        let ops = ops.0.iter().map(|(op, n)| Ok(format!("{} = {n}", word(op.0, op.1, op.2).ok_or_else(|| no_word(op))?)));
        let ops = ops.collect::<Result<Vec<_>, Unwritable>>()?;
        if !ops.is_empty() {
            key("flops", format!("{{ {} }}", ops.join(", ")));
        }
        let mut steps = vec![];
        flat(&accesses.nest, None, self.first_loop(), &mut steps);
        let first = steps.iter().find_map(|step| if let Step::Access(access, _) = step { Some(&access.guard) } else { None });
        if self.common > 0 {
            let common = first.into_iter().flatten().take(self.common);
            key("guard", list(common.map(|bound| quoted(&self.condition(bound)))));
        }
        for number in 0..self.loops.len() {
            self.write_loop(number, &mut text)?;
        }
        self.write_steps(&steps, &mut text)?;
        Ok(text)
    }

    fn write_loop(&self, number: usize, text: &mut String) -> Result<(), Unwritable> {
        let Loop { name, trips, around } = &self.loops[number];
        let _ = write!(text, "\n[[loop]]\nname = {}\ntrips = {trips}\n", quoted(name));
        if *around != number.checked_sub(1) {
            let beside = self.loops[..number].iter().rfind(|own| own.around == *around).ok_or(Unwritable::Variables)?;
            let _ = writeln!(text, "beside = {}", quoted(&beside.name));
        }
        Ok(())
    }

    fn write_steps(&self, steps: &[Step<'a>], text: &mut String) -> Result<(), Unwritable> {
        let mut declared = 0;
        let mut steps = steps.iter().peekable();
        while let Some(step) = steps.next() {
            match step {
                Step::Barrier(within) => {
                    text.push_str("\n[[barrier]]\n");
                    if let Some(number) = within {
                        let _ = writeln!(text, "in = {}", quoted(&self.loops[*number].name));
                    }
                }
                Step::Access(first, within) => {
                    let mut entry = Entry::default();
                    entry.take(first, *within);
                    while let Some(Step::Access(access, within)) = steps.peek()
                        && access.tensor == first.tensor
                        && entry.take(access, *within)
                    {
                        steps.next();
                    }
                    let tensor = usize::from(first.tensor);
                    // Tensors are in the order of their names in the text.
                    while declared < tensor {
                        self.write_field(declared, true, &Entry::default(), text)?;
                        declared += 1;
                    }
                    self.write_field(tensor, declared == tensor, &entry, text)?;
                    declared = declared.max(tensor + 1);
                }
            }
        }
        (declared..self.kernel.accesses.tensors.len()).try_for_each(|tensor| self.write_field(tensor, true, &Entry::default(), text))
    }

    fn write_field(&self, tensor: usize, declare: bool, entry: &Entry<'a>, text: &mut String) -> Result<(), Unwritable> {
        let own = self.kernel.accesses.tensors.get(tensor).ok_or(Unwritable::Differs)?;
        let _ = write!(text, "\n[[field]]\nname = {}\n", quoted(&own.name));
        if declare {
            declaration(own, text)?;
            if self.kernel.known.contains(&(tensor as u16)) {
                text.push_str("known = true\n");
            }
        }
        for accesses in &entry.lists {
            let Some((first, _)) = accesses.first() else { continue };
            let all = accesses.iter().map(|(access, within)| self.access(access, *within, own));
            let (key, policy) = match first.kind {
                AccessKind::Load => ("load", StorePolicy::WriteBack),
                AccessKind::Store(policy) => ("store", policy),
                AccessKind::Atomic => ("atomic", StorePolicy::WriteBack),
            };
            let _ = writeln!(text, "{key} = {}", list(all));
            if policy != StorePolicy::WriteBack {
                let _ = writeln!(text, "policy = {}", quoted(policy.word()));
            }
        }
        Ok(())
    }

    fn access(&self, access: &AccessRef, within: Option<usize>, tensor: &TensorUse) -> String {
        let mut forms: Vec<&Affine> = access.coords.iter().collect();
        match &tensor.place {
            TensorPlace::Buffer { .. } => forms.reverse(),
            TensorPlace::Image { kind, .. } => forms.truncate(if kind.is_one_dimensional() { 1 } else { 2 }),
        }
        let bit = |i: usize| if matches!(tensor.place, TensorPlace::Buffer { .. }) { access.coords.len() - 1 - i } else { i };
        let drawn = |i: usize| access.indirect.filter(|own| own.drawn >> bit(i) & 1 == 1);
        // Which of several coordinates how many elements are one of is not kept: the first is all of them.
        let first = (0..access.coords.len()).find(|&i| drawn(i).is_some());
        let coordinate = |(i, form): (usize, &&Affine)| match drawn(i) {
            Some(own) => {
                let pattern = match own.pattern {
                    Pattern::Random => String::new(),
                    Pattern::Sorted => ", pattern = \"sorted\"".to_owned(),
                    Pattern::Banded(width) => format!(", pattern = \"banded:{width}\""),
                };
                let spread = if first == Some(i) { own.elements } else { 1 };
                format!("{{ proxy = {}, spread = {spread}{pattern} }}", self.coordinate(form))
            }
            None => self.coordinate(form),
        };
        let at = format!("[{}]", forms.iter().enumerate().map(coordinate).collect::<Vec<_>>().join(", "));
        let guard = &access.guard[self.common..];
        let mut more = String::new();
        if access.width != 1 {
            let _ = write!(more, ", width = {}", access.width);
        }
        if access.path == LoadPath::ReadOnly {
            more.push_str(", path = \"read_only\"");
        }
        if access.ahead {
            more.push_str(", ahead = true");
        }
        let mentioned = forms.into_iter().chain(guard.iter().map(|bound| &bound.value)).filter_map(|form| self.innermost(form)).max();
        if let Some(number) = within.filter(|_| mentioned != within) {
            let _ = write!(more, ", in = {}", quoted(&self.loops[number].name));
        }
        if !guard.is_empty() {
            let words: Vec<String> = guard.iter().map(|bound| quoted(&self.condition(bound))).collect();
            let _ = write!(more, ", guard = [{}]", words.join(", "));
            if access.kind == AccessKind::Load && access.branch.is_none() {
                more.push_str(", branch = false");
            }
        }
        if more.is_empty() { at } else { format!("{{ at = {at}{more} }}") }
    }

    /// The last loop that a form mentions.
    fn innermost(&self, form: &Affine) -> Option<usize> {
        form.terms().last().and_then(|(var, _)| usize::from(var.0).checked_sub(self.first_loop()))
    }

    fn coordinate(&self, form: &Affine) -> String {
        if form.is_constant() { form.constant.to_string() } else { quoted(&self.sum(form)) }
    }

    fn condition(&self, bound: &AffineBound) -> String {
        let AffineBound { value, extent, per_lane } = bound;
        if *extent != AffineBound::UNBOUNDED {
            return format!("0 <= {} < {extent}{}", self.sum(value), if *per_lane { " per element" } else { "" });
        }
        let moving = value.with_constant(0);
        let negative = moving.terms().iter().all(|term| term.1 < 0) && !moving.is_constant();
        match moving.times(-1).filter(|_| negative) {
            Some(positive) => format!("{} <= {}", self.sum(&positive), value.constant),
            None => format!("{} >= {}", self.sum(&moving), -value.constant),
        }
    }

    /// A form in words: `2*tx + lx - k + 1`.
    fn sum(&self, form: &Affine) -> String {
        let mut terms = self.terms(form);
        // A sum that begins with a minus is hard to read.
        terms.sort_by_key(|term| term.0 < 0);
        let mut text = String::new();
        let _ = sum(&mut text, terms.into_iter(), form.constant);
        text
    }

    /// The terms of a form, points where a block and its lane go together.
    fn terms(&self, form: &Affine) -> Vec<(i64, String)> {
        let launch = &self.kernel.launch;
        let groups = launch.groups.len();
        let coefficient = |var: usize| i64::from(form.coefficient(VarId(var as u16)));
        let mut terms = vec![];
        for axis in 0..groups.max(launch.lanes.len()) {
            let block = self.order.iter().position(|&own| own == axis).map_or(0, coefficient);
            let lanes = launch.lanes.get(axis).copied();
            let lane = lanes.map_or(0, |_| coefficient(groups + axis));
            let name = block_axis(axis);
            // Points have three coordinates.
            if axis < 3 && lane != 0 && lanes.is_some_and(|lanes| lane.checked_mul(lanes.into()) == Some(block)) {
                terms.push((lane, format!("t{}", &name[1..])));
                continue;
            }
            terms.extend([(block, name.clone()), (lane, lane_axis(axis))].into_iter().filter(|term| term.0 != 0));
        }
        let loops = self.loops.iter().enumerate().map(|(number, own)| (coefficient(self.first_loop() + number), own.name.clone()));
        terms.extend(loops.filter(|term| term.0 != 0));
        terms
    }
}

impl<'a> Entry<'a> {
    /// Adds an access, unless the reader would put it elsewhere, or take it for one that is there.
    fn take(&mut self, access: &'a AccessRef, within: Option<usize>) -> bool {
        let last = self.lists.last().and_then(|list| list.last()).map(|last| last.0.kind);
        if last != Some(access.kind) {
            // Loads, stores and atomics are a list each, and all stores of one policy.
            let list = |own: &AccessRef| std::mem::discriminant(&own.kind);
            if self.lists.iter().flatten().any(|own| list(own.0) == list(access)) {
                return false;
            }
            self.lists.push(vec![]);
        }
        let does = |access: &'a AccessRef| (&access.coords, access.width, access.path);
        let Some(list) = self.lists.last_mut() else { return false };
        let once = access.indirect.is_none() && access.kind != AccessKind::Atomic;
        if once && list.iter().any(|own| own.0.indirect.is_none() && does(own.0) == does(access) && own.1 == within) {
            return false;
        }
        list.push((access, within));
        true
    }
}

/// The kernel without loops that hold nothing.
fn held(kernel: &Kernel) -> Cow<'_, Kernel> {
    fn standing(nest: &[Nest], to: &mut HashSet<VarId>) -> bool {
        nest.iter().fold(false, |any, node| match node {
            Nest::Loop { var, body } if standing(body, to) => {
                to.insert(*var);
                true
            }
            Nest::Loop { .. } => any,
            Nest::Access(access) => {
                let forms = access.coords.iter().chain(access.guard.iter().map(|bound| &bound.value));
                to.extend(forms.flat_map(Affine::terms).map(|term| term.0));
                true
            }
            Nest::Barrier => true,
        })
    }
    fn renamed(nest: &mut Vec<Nest>, held: &HashSet<VarId>, to: &dyn Fn(VarId) -> VarId) {
        nest.retain(|node| !matches!(node, Nest::Loop { var, .. } if !held.contains(var)));
        for node in nest {
            match node {
                Nest::Loop { var, body } => {
                    *var = to(*var);
                    renamed(body, held, to);
                }
                Nest::Access(access) => {
                    access.coords.iter_mut().for_each(|form| *form = form.renamed(to));
                    access.guard.iter_mut().for_each(|bound| bound.value = bound.value.renamed(to));
                }
                Nest::Barrier => {}
            }
        }
    }
    let vars = &kernel.accesses.vars;
    let mut held = HashSet::new();
    standing(&kernel.accesses.nest, &mut held);
    let stays = |i: usize| vars[i].kind != VarKind::Loop || held.contains(&VarId(i as u16));
    if (0..vars.len()).all(stays) {
        return Cow::Borrowed(kernel);
    }
    let places: Vec<u16> = (0..vars.len()).scan(0, |next, i| Some(std::mem::replace(next, *next + u16::from(stays(i))))).collect();
    let mut kernel = kernel.clone();
    renamed(&mut kernel.accesses.nest, &held, &|var| places.get(usize::from(var.0)).map_or(var, |&place| VarId(place)));
    kernel.accesses.vars = (0..vars.len()).filter(|&i| stays(i)).map(|i| vars[i].clone()).collect();
    Cow::Owned(kernel)
}

/// The axis of each group variable: by their names, where these say that blocks start in another order.
fn order(accesses: &Accesses, groups: usize, lanes: usize) -> Vec<usize> {
    let named: Vec<usize> =
        accesses.vars[..groups].iter().filter_map(|var| ["bx", "by", "bz"].iter().position(|own| *own == &*var.name)).collect();
    let distinct: HashSet<usize> = named.iter().copied().filter(|&axis| axis < groups).collect();
    if distinct.len() == groups && lanes <= groups { named } else { (0..groups).collect() }
}

/// The loop around each loop, where it stands anywhere.
fn stands(nest: &[Nest], around: Option<usize>, first: usize, to: &mut [Option<Option<usize>>]) -> Result<(), Unwritable> {
    for node in nest {
        let Nest::Loop { var, body } = node else { continue };
        let number = usize::from(var.0).checked_sub(first).filter(|&number| number < to.len()).ok_or(Unwritable::Variables)?;
        // A loop stands below the one it is in, and always in the same.
        if around.is_some_and(|around| around >= number) || to[number].is_some_and(|known| known != around) {
            return Err(Unwritable::Variables);
        }
        to[number] = Some(around);
        stands(body, Some(number), first, to)?;
    }
    Ok(())
}

fn flat<'a>(nest: &'a [Nest], within: Option<usize>, first: usize, to: &mut Vec<Step<'a>>) {
    for node in nest {
        match node {
            Nest::Loop { var, body } => flat(body, Some(usize::from(var.0) - first), first, to),
            Nest::Access(access) => to.push(Step::Access(access, within)),
            Nest::Barrier => to.push(Step::Barrier(within)),
        }
    }
}

/// How many conditions all accesses begin with that mention no loop.
fn common(accesses: &Accesses) -> usize {
    let mut common: Option<&[AffineBound]> = None;
    accesses.each(&mut |access| {
        let alike = |known: &[AffineBound]| known.iter().zip(&access.guard).take_while(|(a, b)| a == b).count();
        let length = common.map_or(access.guard.len(), alike);
        common = Some(&access.guard[..length]);
    });
    let free = |bound: &&AffineBound| bound.value.terms().iter().all(|term| accesses.vars[usize::from(term.0.0)].kind != VarKind::Loop);
    common.unwrap_or_default().iter().take_while(free).count()
}

fn declaration(tensor: &TensorUse, text: &mut String) -> Result<(), Unwritable> {
    let reversed = |list: &[i64]| list.iter().rev().copied().collect::<Vec<_>>();
    let no_word = |what: &str| Unwritable::NoWord(format!("{what} of `{}`", tensor.name));
    let (kind, element, dims) = match &tensor.place {
        TensorPlace::Buffer { space, element, dims, .. } => {
            let kind = match space {
                Space::Global => None,
                Space::Constant => Some("constant"),
                Space::Local => Some("local"),
                Space::Tile | Space::Private => return Err(no_word("the memory")),
            };
            (kind, element.name(), reversed(dims))
        }
        TensorPlace::Image { kind, format, width, height } => {
            let element = match format {
                ImageFormat::Rgba32F => "rgba32f",
                ImageFormat::Rgba16F | ImageFormat::Rgba16H => "rgba16f",
                ImageFormat::Rgba8Unorm => "rgba8",
                ImageFormat::Rgba32I | ImageFormat::Rgba32U => return Err(no_word("the texels")),
            };
            (Some(kind.word()), element, if kind.is_one_dimensional() { vec![*width] } else { vec![*width, *height] })
        }
    };
    if let Some(kind) = kind {
        let _ = writeln!(text, "kind = {}", quoted(kind));
    }
    let _ = writeln!(text, "element = {}\ndims = {dims:?}", quoted(element));
    if let TensorPlace::Buffer { layout, .. } = &tensor.place {
        if !layout.strides.is_empty() {
            let _ = writeln!(text, "strides = {:?}", reversed(&layout.strides));
        }
        if layout.align != 0 {
            let _ = writeln!(text, "align = {}", layout.align);
        }
    }
    Ok(())
}

/// A list in one line, where it is short; else a line for each item.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    let length: usize = items.iter().map(|item| item.len() + 2).sum();
    if items.len() <= 1 && length + 20 < COLUMNS || length < COLUMNS / 2 {
        return format!("[{}]", items.join(", "));
    }
    let lines: String = items.iter().map(|item| format!("    {item},\n")).collect();
    format!("[\n{lines}]")
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A name for a loop: its own, where it is plain and nothing else has it.
fn free(name: &Name, taken: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '_' };
    let mut own: String = name.chars().map(plain).collect();
    if !own.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        own.insert(0, '_');
    }
    if !taken(&own) {
        return own;
    }
    (2..).map(|n| format!("{own}_{n}")).find(|name| !taken(name)).unwrap_or(own)
}
