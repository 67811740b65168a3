//! Which configuration of a kernel is fastest: every block, folding and swept parameter, on every device (paper 002, section 5).
//! .
//! A configuration is a number: [`Space`] says what it stands for, [`Explorer`] what it costs, [`Ranking`] which ones are best. Nothing is
//! kept of a configuration that is not among the best, so that a million of them need no memory. Those that differ in swept values alone
//! ([`Space::alike`]) are best predicted one after another, with what is known of each other.
//! .
//! Configurations that others measured come as a [`table`], and how well they are ranked is a [`score`].

mod axes;
mod explorer;
mod outcome;
mod ranking;
pub mod score;
mod space;
pub mod table;

pub use axes::{AxesError, Blocks, Extents, Fold, Sweep};
pub use explorer::Explorer;
pub use outcome::{Outcome, Refusal};
pub use ranking::{Ranked, Ranking, Refusals, Winners, sample};
pub use space::{Configuration, Space, SpaceError};
