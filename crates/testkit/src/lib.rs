//! What the tests of every crate share: a file system that crashes, one that fails, flipped bits.
//!
//! - [`SimVfs`]: files in memory that know what is durable and what is not. Records every operation
//!   and makes crash images of each moment.
//! - [`Verdicts`]: judges such images, and checks those once that a check cannot tell apart.
//! - [`FaultVfs`]: wraps any file system and makes chosen calls fail, stop short or do nothing.
//! - [`in_child`]: what a child does that was forked in the middle of things.
//! - [`cargo`]: builds programs of other packages.
//! - [`flip_bit`] and [`flip_file_bit`]: damage.
//!
//! Invariants: nothing here reads a clock or the system's randomness; the same seed gives the same
//! images and the same faults. Durable state is never visible to the code under test except
//! through a crash image.

mod cargo;
mod child;
mod fault;
mod flip;
mod random;
mod sim;

pub use cargo::cargo;
pub use child::{ChildEnd, in_child};
pub use fault::{Fault, FaultPlan, FaultVfs, Operation};
pub use flip::{flip_bit, flip_file_bit};
pub use random::SplitMix64;
pub use sim::{Boundary, DEVICE_SECTOR_BYTES, SimVfs, Tally, Verdicts};
