//! A segment: an immutable set of vectors with all that searches it; opened, described and
//! verified.
//!
//! Its nodes are numbered densely from 0. It knows nothing of budgets, workers or other segments:
//! the index that it is part of does.

mod dead;
mod describe;
mod identity_check;
mod ids;
mod open;
#[cfg(feature = "lab")]
mod survey;
mod verify;

pub(crate) use dead::{dead_set, repaired_set, write_dead_set, write_repaired_set};
pub use describe::SegmentDescription;
pub(crate) use ids::{ID_ENTRY_BYTES, IdCursor, IdLookup, entries_per_page, ids_are_nodes, twice};
pub(crate) use open::{load, uncached};
#[cfg(feature = "lab")]
pub(crate) use survey::survey_lists;
#[cfg(feature = "lab")]
pub use survey::{GraphSurvey, OVERLAP_CLASSES};
pub use verify::{FileReport, VerifyReport};
pub(crate) use verify::{verify_checksums, verify_contents};
