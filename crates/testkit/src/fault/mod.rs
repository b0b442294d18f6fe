//! Calls that fail on purpose.
//!
//! ```text
//! code under test -> FaultVfs -- plan says fault? --> error, short transfer, or nothing done
//!                                    otherwise    --> the wrapped file system
//! ```
//!
//! Files of a [`FaultVfs`] have no descriptor, so io_uring cannot bypass the plan.

mod file;
mod plan;
mod vfs;

pub use plan::{Fault, FaultPlan, Operation};
pub use vfs::FaultVfs;
