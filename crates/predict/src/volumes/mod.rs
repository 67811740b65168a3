//! Data volumes of affine kernels (paper 002): which bytes, sectors and lines warps, blocks and waves touch, exactly.
//! .
//! Folders in the order in which they know each other: [`sets`] of integers; the [`kernel`] as fields and variables; what warps and blocks
//! ask of the [`first_level`] of caches; what moves [`behind`] it; [`fitted`] numbers; the [`report`]. The exact [`count`] and that of a
//! [`cpu`] stand between counts and report, the conditions that [`guards`] judge beside them. What kernels of different sizes have in common
//! is [`known`], their one [`form`] first.

pub mod behind;
pub mod count;
pub mod cpu;
pub mod first_level;
pub mod fitted;
pub mod form;
pub mod guards;
pub mod kernel;
pub mod known;
pub mod report;
pub mod sets;
