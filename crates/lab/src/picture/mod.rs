//! Pictures of one index, and of walks through one: pages in the look of the report, by its
//! renderer.
//!
//! ```text
//! index   a directory          walk   the file of a recorded search          plot   their figures
//! ```

mod index;
mod plot;
mod walk;

pub use index::index;
pub use walk::walk;
