//! From tensor expressions to Programs: schedules, their Families, lowering and pruning.

pub mod expr;
