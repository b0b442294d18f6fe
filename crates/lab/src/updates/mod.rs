//! Searches beside inserts and deletes: figures 15 and 16 of Chen et al., 2026, design by design.
//!
//! ```text
//! mix      which operation is an insert, which a delete
//! design   a preset with choices in place of its own
//! load     callers and searchers on an index, until so many operations are done
//! times    calls by their microseconds, searches by the second
//! suite    each design built, changed and asked; one record for so many operations
//! record   those records, and their sums
//! finding  what was published, beside what was measured
//! ```

mod design;
mod finding;
mod load;
mod mix;
mod record;
mod suite;
mod times;

pub use design::UpdateDesign;
pub use finding::{FindingVerdict, UpdateFinding};
pub use load::Hands;
pub use mix::Mix;
pub use record::{
    RecordTimes, StepTimes, UpdateRecord, UpdateRound, UpdateStep, UpdateSummary, UpdateWork,
};
pub use suite::{UpdateSuite, Writing};
pub use times::Latency;
