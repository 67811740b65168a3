//! Help in other forms: the manual, completions. What it says by example is tested.

pub mod completions;
pub mod man;
#[cfg(test)]
mod tests;
