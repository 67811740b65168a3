//! Measurements that others recorded, read as samples, and analysed by the functions of [`fit`](crate::fit) alone.

pub mod archprobe;
pub mod mt4g;
