//! The vector algorithms, written once over the registers of any instruction set.
//!
//! An instruction set contributes its registers ([`lanes::Lanes`] for each element type,
//! [`lanes::FloatLanes`] for `f32`) and one use of [`kernel_set`], which compiles the algorithms
//! below with its CPU features and collects them in a table.
//!
//! The functions here are `unsafe` because the registers need those features. They are inlined
//! into functions that have them, and only those are reachable, through a
//! [`crate::KernelSet`] that was handed out after detection.

mod entry;
pub(crate) mod estimates;
pub(crate) mod hadamard;
pub(crate) mod lanes;
pub(crate) mod many;
pub(crate) mod matrix;
pub(crate) mod measure;
pub(crate) mod project;
pub(crate) mod table;
pub(crate) mod widen;

pub(crate) use entry::kernel_set;
