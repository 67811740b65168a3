//! The text form of a kernel's accesses, written by hand: TOML with the launch, registers, operations, fields and loops. See
//! `examples/accesses/`, where `every-key.toml` uses every key.
//!
//! Coordinates are listed fastest first, as threads are: `["tx+1", "ty", "tz"]`. tx, ty, tz is the point a thread computes; with
//! folding a thread computes several, and an address that two of them share is one access. Loops nest in the order of the file, but for
//! those that stand `beside` one above; an access belongs to the innermost loop it mentions, and happens in the order of the file, as far
//! as loops and barriers tell: which of
//! several loads comes first where neither divides them is the compiler's to choose ([`super::Order`]). So does a `[[barrier]]`, at which the threads of
//! a block wait for each other: what stands above happens before it, what stands below after it. A field that is used on both sides stands
//! on both: below it goes on, with its name and accesses alone.
//!
//! A coordinate that depends on data is `{ proxy = "tx+13", spread = "n", pattern = "random" }`: the coordinate that it is typically, of how
//! many elements it is one, and how it is drawn:
//! - `random` (where `pattern` is left out): any of the `spread` elements, all equally likely, the same ones for all threads;
//! - `sorted`: as random, but that the threads of the launch, in the order in which blocks start and lanes are numbered, have theirs in
//!   ascending order, in each trip of a loop again;
//! - `banded:64`: any of 64 elements, all equally likely, in whose middle the proxy lies; of all threads together at most `spread` elements.
//!
//! Each value of each variable (lane, block, trip of a loop that is not written out) draws anew, but of those variables that move other
//! coordinates of the access and not this one: of `["lx", { proxy = "by", spread = "n" }]` the lanes of a block read one row. Several
//! coordinates may be random: what they are one of is multiplied. With `spread = 1` the proxy itself is touched. Results are expectations, and
//! say so.
//!
//! A condition that an access states for itself (`guard`) is a branch of its own wherever it may fail, or the grid reaches beyond the domain: what
//! is loaded there is loaded for that point alone, whoever else needs it. The domain's own conditions are one branch around all that a point does.
//! `branch = false` says that the condition selects instead, as of loads that are masked: what is loaded is at hand for whoever needs it.
//!
//! `ahead = true` says of a load that no thread waits for it before the threads of its block meet next: what the next trip of a loop will put into
//! local memory is under way while this one computes.
//!
//! Quotients and remainders of coordinates by numbers above 0 (`tx / 32`, `k % 4`, rounded down), `min(…)` and `max(…)` are affine in pieces. A
//! quotient that divides lanes, blocks or trips makes digits of them: of 256 lanes, `lx % 32` and `lx / 32` are 32 and 8. What bends
//! elsewhere is one access for each piece, under the condition that tells it from the others: `(tx + 1) % n` is `tx + 1`, and `tx + 1 - n` where
//! that is 0 or more. It may bend along blocks and lanes of one axis, into 16 pieces; what bends along a loop or several lanes is refused.
//!
//! A field of texels has the `kind` of its image, `image1d`, `image1d_buffer`, `image2d` or `image2d_from_buffer`: those of one dimension
//! have one extent and one coordinate. How an `image2d` lies in memory is the device's, the others lie row by row. What is read beside an
//! image is answered by its sampler, but for an `image1d_buffer`, which has none.
//!
//! A field's `atomic` lists what is read, changed and written at once. In device memory atomics of one address happen one after the other, in
//! local memory those of one bank. A histogram's is `[{ proxy = 0, spread = "bins" }]`: a proxy that moves with nothing is drawn by every lane.
//!
//! A loop that no access, condition or barrier mentions, and no loop in it, repeats what stands right outside of it: the accesses and
//! barriers of the file that would otherwise be in the loop around it alone (outside of all loops, if it is in none), and all operations.
//! `flops` are a point's over all trips of loops that something mentions, times the trips of loops that nothing mentions; where such a loop
//! is written out, its loads are one, and only operations are repeated. Of several such loops beside each other the first has the accesses.
//! Results name every such loop.
//!
//! `chain` is how many operations of a thread wait for each other, one after another, over all trips of its loops and all its points ([`Kernel::chain`]).
//!
//! Where `registers` are left out, they are estimated from what a thread loads and keeps, with a range that intervals cover.
//!
//! What is not known before the kernel runs is a parameter with a range: `m = { lo = 1, hi = 64, typical = 20 }`. Volumes and times are those
//! of the typical number, intervals cover the ends of the range, and a setting from outside makes it known. Trips may grow with loops around
//! theirs (`trips = "k + 1"`): they are taken for their mean, which counts executions exactly, and the interval covers the most of them.
//!
//! A kernel of many configurations is one text: its `[params]` are the knobs, what follows from them stands under `[derived]`
//! (`MWI = "MWG / MDIMC"`, of parameters and of each other), and a field or a barrier with `when = "SA"` is there where that is not 0. A
//! table of measured configurations, whose columns are the parameters, is compared by `warpsight explore --table`.
//!
//! [`super::write`] is the way back: what kernels of a [`crate::Family`] touch, as a person would have written it.

use super::raw::{FoldMode, LoopOrder, Number, Numbers, Param, Raw, Registers};
use super::reader::Reader;
use super::wrong::Result;
use crate::kernel::Kernel;
use crate::near::{did_you_mean, explained};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;

pub use super::unknown::Unknown;
pub use super::wrong::TextError;

/// A kernel whose accesses were written by hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The kernel, its parameters resolved.
    pub kernel: Kernel,
    /// Points the launch computes: those of the domain, times the trips of grid-stride loops.
    pub points: u64,
    /// Points of the domain along each axis, fastest first.
    pub domain: Vec<u32>,
    /// Points a thread computes along each axis.
    pub fold: Vec<u32>,
    /// Whether an access mentions lanes or blocks: another block may then compute something else.
    pub tied_to_block: bool,
    /// Whether the number of registers does not say how it grows with folding, although there is folding.
    pub registers_guessed: bool,
    /// Addresses that stand for data-dependent ones: (field, position among all accesses of the kernel in program order).
    pub guessed_accesses: Vec<(String, usize)>,
    /// Numbers that the file does not know, each taken for a typical one.
    pub unknowns: Vec<Unknown>,
    /// Loops that nothing mentions, and what they repeat, in words.
    pub repeated: Vec<String>,
    /// Where things stand in the file.
    pub places: Places,
}

/// Where things stand in the file, in bytes; `None` where they were set from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The block.
    pub block: Option<Range<usize>>,
    /// The registers.
    pub registers: Option<Range<usize>>,
    /// The name of each field, in order of the kernel's tensors.
    pub fields: Vec<Range<usize>>,
}

/// The text of a kernel, read once. Settings make kernels of it, one for each of a million configurations.
#[derive(Clone)]
pub struct Document {
    text: Arc<str>,
    raw: Raw,
    /// Parameters that say how large the launch and its fields are, and nothing else.
    sizes: Arc<Vec<String>>,
}

/// Kernels that were made of a document, for others that differ in sizes alone.
#[derive(Debug, Default)]
pub struct Made(Vec<(Vec<(String, String)>, Written)>);

/// How many are kept: they differ in the axes along which blocks reach beyond the domain.
const MADE: usize = 8;

impl Document {
    /// Reads the text.
    ///
    /// # Errors
    /// No TOML, unknown keys, values of other kinds than the keys take. What the values mean is judged by [`Self::written`].
    pub fn read(text: &str) -> Result<Self> {
        let mut raw: Raw = toml::from_str(text).map_err(|error| TextError {
            what: explained(error.message()),
            label: None,
            help: None,
            at: Some(error.span().filter(|at| text.get(at.clone()).is_some()).unwrap_or(0..text.len())),
        })?;
        raw.read_forms();
        let sizes = Arc::new(raw.sizes());
        Ok(Self { text: text.into(), raw, sizes })
    }

    /// Parameters and their values.
    pub fn params(&self) -> impl Iterator<Item = (&str, i64)> {
        self.raw.params.iter().map(|(name, value)| (name.get_ref().as_str(), value.get_ref().value()))
    }

    /// Whether the launch is given in blocks alone, so that the domain depends on the block and the folding.
    pub fn launched_in_blocks<K: AsRef<str>, V>(&self, settings: &[(K, V)]) -> bool {
        let last = settings.iter().rev().map(|(key, _)| key.as_ref()).find(|key| matches!(*key, "domain" | "grid"));
        last.map_or(self.raw.domain.is_none(), |key| key == "grid")
    }

    /// The kernel. `settings` replace keys of the file from outside: `block`, `domain`, `grid`, `fold` (lists of numbers separated by
    /// commas), `fold_mode`, `block_order`, `registers`, parameters, and trips of loops as `trips.k`.
    ///
    /// # Errors
    /// What is wrong and where: unknown keys and variables, products of coordinates, extents of 0, a domain that contradicts the grid, …
    pub fn written<K: AsRef<str>, V: AsRef<str>>(&self, settings: &[(K, V)]) -> Result<Written> {
        let raw = self.set(settings)?;
        Reader::new(&self.text, &raw).and_then(|reader| reader.written(&raw)).map_err(|mut error| {
            if error.at.is_none() && !settings.is_empty() {
                let given: Vec<String> = settings.iter().map(|(key, value)| format!("{}={}", key.as_ref(), value.as_ref())).collect();
                let own = error.help.map_or_else(String::new, |help| format!("; {help}"));
                error.help = Some(format!("set from outside: {}{own}", given.join(" ")));
            }
            error
        })
    }
}

impl Document {
    /// The same, out of what was made before, where that differs in sizes alone.
    ///
    /// # Errors
    /// As [`Self::written`].
    pub fn written_like<'m>(&self, settings: &[(String, String)], made: &'m mut Made) -> Result<&'m Written> {
        let alike =
            |(own, other): (&(String, String), &(String, String))| own.0 == other.0 && (own.1 == other.1 || self.sizes.contains(&own.0));
        let like = |of: &[(String, String)]| of.len() == settings.len() && of.iter().zip(settings).all(alike);
        // What is wrong is said where it is made anew.
        if made.0.iter().any(|of| like(&of.0))
            && let Ok(raw) = self.set(settings)
            && let Ok(reader) = Reader::new(&self.text, &raw)
            && let Some(at) = made.0.iter_mut().position(|of| like(&of.0) && reader.resize(&raw, &mut of.1).is_some())
        {
            return Ok(&made.0[at].1);
        }
        let written = self.written(settings)?;
        if made.0.len() >= MADE {
            made.0.clear();
        }
        made.0.push((settings.to_vec(), written));
        Ok(&made.0[made.0.len() - 1].1)
    }

    fn set<K: AsRef<str>, V: AsRef<str>>(&self, settings: &[(K, V)]) -> Result<Raw> {
        let mut raw = self.raw.clone();
        settings.iter().try_for_each(|(key, value)| set(&mut raw, key.as_ref(), value.as_ref()))?;
        Ok(raw)
    }
}

/// Reads a kernel with settings: [`Document::read`], then [`Document::written`].
///
/// # Errors
/// As these.
pub fn parse(text: &str, settings: &[(String, String)]) -> Result<Written> {
    Document::read(text)?.written(settings)
}

/// Replaces a key from outside.
fn set(raw: &mut Raw, key: &str, value: &str) -> Result<()> {
    let outside = |what: String| Err(TextError { what, label: None, help: None, at: None });
    let number = |part: &str| Spanned::new(0..0, plain(part.trim()).map_or_else(|| Number::Text(part.trim().to_owned()), Number::Int));
    let parts = || value.split(',').filter(|_| !value.is_empty());
    let list = || -> Numbers { Spanned::new(0..0, parts().map(number).collect()) };
    match key {
        // The domain stays: a grid beside it was that of the block in the file.
        "block" => {
            raw.block = list();
            raw.grid = raw.grid.take().filter(|_| raw.domain.is_none());
        }
        "fold" => {
            raw.fold = Some(list());
            raw.grid = raw.grid.take().filter(|_| raw.domain.is_none());
        }
        "domain" => {
            raw.domain = Some(list());
            raw.grid = None;
        }
        "grid" => {
            raw.grid = Some(list());
            raw.domain = None;
        }
        "fold_mode" => match value {
            "consecutive" => raw.fold_mode = FoldMode::Consecutive,
            "strided" => raw.fold_mode = FoldMode::Strided,
            _ => return outside(format!("`fold_mode` is set to `{value}`, which is neither consecutive nor strided")),
        },
        "block_order" => raw.block_order = Some(Spanned::new(0..0, value.to_owned())),
        "registers" => raw.registers = Some(Spanned::new(0..0, Registers::Number(Number::Text(value.to_owned())))),
        name if name.strip_prefix("trips.").is_some_and(|name| raw.loops.iter().any(|own| own.name.get_ref() == name)) => {
            match value.parse() {
                Ok(trips @ 1..=0x7fff_ffff) => raw.trips.insert(name["trips.".len()..].to_owned(), trips),
                _ => return outside(format!("`{name}` is set to `{value}`, which is no number from 1 to 2147483647")),
            };
        }
        name => match (raw.params.get_mut(name), value.parse()) {
            (Some(param), Ok(number)) => *param = Spanned::new(0..0, Param::Known(number)),
            (Some(_), Err(_)) => return outside(format!("`{name}` is set to `{value}`, which is no whole number of 64 bits")),
            (None, _) => {
                let known = ["block", "domain", "grid", "fold", "fold_mode", "block_order", "registers"].into_iter();
                let known: Vec<&str> = known.chain(raw.params.keys().map(|name| name.get_ref().as_str())).collect();
                let meant = did_you_mean(name, known.iter().copied());
                return outside(format!("there is nothing named `{name}` to set; what can be set: {}{meant}", known.join(", ")));
            }
        },
    }
    Ok(())
}

/// A number that is no expression.
fn plain(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|letter| letter.is_ascii_digit()))
}

impl LoopOrder {
    /// Whether its trips are written out.
    pub(super) fn unrolled(self) -> bool {
        self == Self::Unrolled
    }
}
