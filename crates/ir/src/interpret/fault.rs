//! What can go wrong while a Program runs, and where.

use crate::program::{Direction, Name};
use std::fmt;

/// Why the interpreter stopped. The data of the launch is left as it was at that moment.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// A coordinate outside a buffer or array.
    #[error("{at}: `{tensor}` is accessed at {coordinates:?}, outside its extents {extents:?}")]
    OutOfBounds {
        /// Where.
        at: Box<Site>,
        /// The buffer or array.
        tensor: Name,
        /// Of the element, slowest dimension first.
        coordinates: Vec<i64>,
        /// Of the buffer or array.
        extents: Vec<i64>,
    },
    /// A texel written outside its image.
    #[error("{at}: `{image}` is written at ({}, {}), outside {} x {}", texel[0], texel[1], size[0], size[1])]
    WriteOutsideImage {
        /// Where.
        at: Box<Site>,
        /// The image.
        image: Name,
        /// Column and row.
        texel: [i64; 2],
        /// Width and height.
        size: [i64; 2],
    },
    /// A texel read outside an image that has no border.
    #[error("{at}: `{image}`, which has no border, is read at ({}, {}), outside {} x {}", texel[0], texel[1], size[0], size[1])]
    ReadOutsideImage {
        /// Where.
        at: Box<Site>,
        /// The image.
        image: Name,
        /// Column and row.
        texel: [i64; 2],
        /// Width and height.
        size: [i64; 2],
    },
    /// Two work-items touch one element, one of them writes it, and no barrier orders them.
    #[error("{at}: {kind} race on `{tensor}`{element:?} between {first} and {second}")]
    Race {
        /// Where the second access is.
        at: Box<Site>,
        /// The buffer, array or image.
        tensor: Name,
        /// The element's coordinates.
        element: Vec<i64>,
        /// Who touched it first.
        first: Box<Who>,
        /// Who touched it then.
        second: Box<Who>,
        /// What they did.
        kind: RaceKind,
    },
    /// An element of an array is read that was never written.
    #[error("{at}: `{array}`{element:?} is read before anything was written there")]
    Uninitialised {
        /// Where.
        at: Box<Site>,
        /// The local, private or tile array.
        array: Name,
        /// The element's coordinates.
        element: Vec<i64>,
    },
    /// An integer divided by zero.
    #[error("{at}: integer division by zero")]
    DivisionByZero {
        /// Where.
        at: Box<Site>,
    },
    /// A lane that its vector does not have.
    #[error("{at}: lane {lane} of a vector of {of}")]
    LaneOutOfRange {
        /// Where.
        at: Box<Site>,
        /// The lane asked for.
        lane: i64,
        /// Lanes there are.
        of: usize,
    },
    /// Work-items that must act together disagree on a condition, a loop's bounds, a coordinate or a value.
    #[error("{at}: {first} and {second} must agree here, and do not")]
    NonUniform {
        /// Where.
        at: Box<Site>,
        /// One of them.
        first: Box<Who>,
        /// Another.
        second: Box<Who>,
    },
    /// An extent of the launch, a buffer or an image below 1.
    #[error("{kernel}: the extent of {what} is {value}")]
    NonPositive {
        /// The Program.
        kernel: Name,
        /// The axis, buffer or image.
        what: String,
        /// Its extent with the sizes given.
        value: i64,
    },
    /// Arguments that do not fit the Program.
    #[error("{kernel}: {problem}")]
    BadBinding {
        /// The Program.
        kernel: Name,
        /// What does not fit.
        problem: BindingProblem,
    },
    /// Programs that do not fit together.
    #[error("channel `{channel}`: {problem}")]
    BadChannel {
        /// The channel.
        channel: Name,
        /// What does not fit.
        problem: ChannelProblem,
    },
    /// Every unfinished work-group waits for another.
    #[error("deadlock: {}", list(waiting))]
    Deadlock {
        /// Who waits, and what for.
        waiting: Vec<Waiting>,
    },
    /// More statements were executed than allowed.
    #[error("{at}: the budget of {budget} statements is spent")]
    OutOfSteps {
        /// Where.
        at: Box<Site>,
        /// How many were allowed.
        budget: u64,
    },
    /// A Program that breaks a rule which validation proves.
    #[error("{kernel}: {problem}")]
    Malformed {
        /// The Program.
        kernel: Name,
        /// The rule.
        problem: String,
    },
}

/// A place in the execution of a Program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The Program's name.
    pub kernel: Name,
    /// The way to the statement: `body[3].for k.body[0]`.
    pub statement: String,
    /// Who executes it.
    pub who: Who,
}

/// A work-item, or several that act as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// Coordinates of the work-group, by axis.
    pub group: Vec<(Name, i64)>,
    /// Which of its work-items.
    pub items: Items,
}

/// Work-items of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// One, with its coordinates by axis.
    One(Vec<(Name, i64)>),
    /// The lanes of a sub-group, jointly.
    Subgroup(u32),
    /// All, jointly.
    All,
}

/// Which accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceKind {
    /// Both write.
    WriteWrite,
    /// The first writes, the second reads.
    WriteRead,
    /// The first reads, the second writes.
    ReadWrite,
}

/// Arguments that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingProblem {
    /// No value for a size.
    #[error("no value is given for the size `{0}`")]
    MissingSize(Name),
    /// A size beyond its range.
    #[error("the size `{name}` is {value}, not within {lo}..={hi}")]
    SizeOutOfRange {
        /// The size.
        name: Name,
        /// The value given.
        value: i64,
        /// Smallest value it may take.
        lo: i64,
        /// Largest value it may take.
        hi: i64,
    },
    /// Not as much data as parameters.
    #[error("{expected} parameters, but data for {found}")]
    Count {
        /// Parameters there are.
        expected: usize,
        /// Entries given.
        found: usize,
    },
    /// Too few bytes.
    #[error("`{name}` needs {needed} bytes and has {found}")]
    TooSmall {
        /// The buffer or image.
        name: Name,
        /// Bytes that its extents ask for.
        needed: u64,
        /// Bytes given.
        found: u64,
    },
    /// More elements, or work-groups, than can be counted.
    #[error("{0} is larger than can be counted")]
    TooLarge(String),
    /// A size expression without a value.
    #[error("the extent of {0} divides by zero")]
    NoExtent(String),
}

/// Channel ends that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelProblem {
    /// Nobody at one end.
    #[error("no Program at its {} end", direction(*.0))]
    Unconnected(Direction),
    /// Ends that differ in element, extents or depth.
    #[error("`{0}` declares another element, extents or depth than others do")]
    Mismatch(Name),
    /// A Program at one end that the Pipeline does not list there, or the reverse.
    #[error("the pipeline lists other {} than the stages that have such a parameter", direction(*.0))]
    Ends(Direction),
}

/// A work-group that waits for a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Where it waits.
    pub at: Site,
    /// What for.
    pub channel: Name,
    /// `Send` where the channel is full, `Receive` where it is empty.
    pub direction: Direction,
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Send => "sending",
        Direction::Receive => "receiving",
    }
}

fn list(waiting: &[Waiting]) -> String {
    waiting.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn axes(f: &mut fmt::Formatter<'_>, axes: &[(Name, i64)]) -> fmt::Result {
    axes.iter().enumerate().try_for_each(|(i, (name, value))| write!(f, "{}{name}={value}", if i == 0 { "" } else { ", " }))
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}, {}", self.kernel, self.statement, self.who)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.items {
            Items::One(lane) => {
                f.write_str("work-item (")?;
                axes(f, lane)?;
                f.write_str(")")?;
            }
            Items::Subgroup(number) => write!(f, "sub-group {number}")?,
            Items::All => f.write_str("all work-items")?,
        }
        f.write_str(" of group (")?;
        axes(f, &self.group)?;
        f.write_str(")")
    }
}

impl fmt::Display for RaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WriteWrite => "write-write",
            Self::WriteRead => "write-read",
            Self::ReadWrite => "read-write",
        })
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.direction == Direction::Send { "full" } else { "empty" };
        write!(f, "{} waits for `{}`, which is {state}", self.at, self.channel)
    }
}
