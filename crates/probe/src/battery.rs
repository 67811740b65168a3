//! Runs phases.
