//! What can be varied, as people write it: blocks, foldings, parameters.

use smallvec::SmallVec;
use std::fmt;
use std::str::FromStr;

/// Extents along x, y, z; as many as the kernel has axes.
pub type Extents = SmallVec<[u32; 3]>;

/// What is wrong with a text that says what to vary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AxesError {
    /// No block.
    #[error("`{0}` is none of: all, pow2, file, a number of threads (1024), a block (16x4x16)")]
    Blocks(String),
    /// No folding.
    #[error("`{0}` is no folding: 1 is none, 2y two points of a thread along y, 2y2z two along y and z")]
    Fold(String),
    /// No sweep.
    #[error(
        "`{0}` is no sweep: as in n=64..1024, n=64..1024:32 for steps of 32, n=64,96,500 for these, nx,ny=256..1024:32 for two that are equal"
    )]
    Sweep(String),
    /// A range without values.
    #[error("`{0}` is an empty range: the first value is above the last, or the step below 1")]
    Empty(String),
}

/// Which blocks are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// The block of the file alone.
    File,
    /// Every block of whole warps that is not larger than the device allows.
    All,
    /// Those of them whose extents are powers of two.
    PowersOfTwo,
    /// Every block of exactly so many threads.
    Threads(u32),
    /// This one.
    Exactly(Extents),
}

impl FromStr for Blocks {
    type Err = AxesError;
    fn from_str(text: &str) -> Result<Self, AxesError> {
        let wrong = || AxesError::Blocks(text.to_owned());
        let extent = |part: &str| part.parse::<u32>().ok().filter(|&extent| extent > 0).ok_or_else(wrong);
        match text.trim() {
            "file" => Ok(Self::File),
            "all" => Ok(Self::All),
            "pow2" => Ok(Self::PowersOfTwo),
            shape if shape.contains('x') => {
                let extents = shape.split('x').map(extent).collect::<Result<Extents, _>>()?;
                if extents.len() > 3 { Err(wrong()) } else { Ok(Self::Exactly(extents)) }
            }
            threads => extent(threads).map(Self::Threads),
        }
    }
}

/// Points of a thread along x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold(pub [u32; 3]);

impl FromStr for Fold {
    type Err = AxesError;
    fn from_str(text: &str) -> Result<Self, AxesError> {
        let wrong = || AxesError::Fold(text.to_owned());
        let mut fold = [1; 3];
        let mut rest = text.trim();
        if rest == "1" {
            return Ok(Self(fold));
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let points = rest[..digits].parse::<u32>().ok().filter(|&points| points > 0).ok_or_else(wrong)?;
            let axis = rest[digits..].chars().next().and_then(|letter| "xyz".find(letter));
            let axis = axis.filter(|&axis| fold[axis] == 1).ok_or_else(wrong)?;
            fold[axis] = points;
            rest = &rest[digits + 1..];
        }
        if text.trim().is_empty() { Err(wrong()) } else { Ok(Self(fold)) }
    }
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let folded = || self.0.iter().zip(["x", "y", "z"]).filter(|(points, _)| **points > 1);
        folded().try_for_each(|(points, axis)| write!(f, "{points}{axis}"))?;
        if folded().next().is_none() { f.write_str("1") } else { Ok(()) }
    }
}

/// A parameter, or several that are equal, and the values it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Their names.
    pub names: Vec<String>,
    values: Values,
    /// How many values there are.
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    Steps { from: i64, step: i64 },
    Each(Vec<i64>),
}

impl Sweep {
    /// The value of that number, from 0.
    pub fn value(&self, i: u64) -> i64 {
        match &self.values {
            // Below the last value, which is an i64.
            Values::Steps { from, step } => (i128::from(*from) + i128::from(*step) * i128::from(i)) as i64,
            Values::Each(values) => values[i as usize],
        }
    }
}

impl FromStr for Sweep {
    type Err = AxesError;
    fn from_str(text: &str) -> Result<Self, AxesError> {
        let wrong = || AxesError::Sweep(text.to_owned());
        let (names, range) = text.split_once('=').ok_or_else(wrong)?;
        let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
        let number = |part: &str| part.trim().parse::<i64>().map_err(|_| wrong());
        if names.iter().any(String::is_empty) {
            return Err(wrong());
        }
        if range.contains(',') {
            let values = range.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
            return Ok(Self { names, count: values.len() as u64, values: Values::Each(values) });
        }
        let (range, step) = range.split_once(':').map_or((range, "1"), |(range, step)| (range, step));
        let (from, to) = range.split_once("..").unwrap_or((range, range));
        let (from, to, step) = (number(from)?, number(to)?, number(step)?);
        if from > to || step < 1 {
            return Err(AxesError::Empty(text.to_owned()));
        }
        // Of 64-bit numbers at most 2^64 - 1 apart: fits but for the whole range in steps of 1.
        let count = u64::try_from((i128::from(to) - i128::from(from)) / i128::from(step) + 1).map_err(|_| wrong())?;
        Ok(Self { names, values: Values::Steps { from, step }, count })
    }
}
