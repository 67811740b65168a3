//! What warps and blocks ask of the first level of caches, what it takes them, and what it lets through.

pub mod amd;
pub mod atomics;
pub mod banks;
pub mod block;
pub mod branches;
pub mod costs;
pub mod drawn;
pub mod earlier;
pub mod images;
pub mod l1;
pub mod l1_capacity;
pub mod local;
pub mod read_only;
pub mod trips;
pub mod warps;
