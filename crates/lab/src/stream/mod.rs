//! The streaming suite: an index lives through a runbook, and every search of it is compared with
//! the exact answer at that step.
//!
//! ```text
//! runbook   steps: insert, delete, replace, search; read and written as big-ann's YAML
//! shape     runbooks by name: window, expiration, random, replace, clusters
//! clusters  data in the order of clusters, for runbooks of those
//! live      which row each id has, step by step
//! truth     exact neighbours among them: one ranking of all rows, filtered
//! curve     recall over pages, and how far two indexes are apart where they read as much
//! life      an index of ours made to live through it; one record a step
//! summary   those records, and their sums
//! ```

mod clusters;
mod curve;
mod life;
mod live;
mod runbook;
mod shape;
mod summary;
mod truth;

pub use clusters::{Clustered, clustered};
pub use curve::Found;
pub(crate) use curve::hits;
pub use life::{Asking, Life, live_through};
pub(crate) use live::Live;
pub use runbook::{Runbook, RunbookStep};
pub use shape::{Shape, cluster_runbook, runbook};
pub(crate) use summary::mean;
pub use summary::{Fresh, GapSummary, RecallSummary, StepRecord, Summary};
pub(crate) use truth::Ranking;
