//! Commands that change an index.
//!
//! ```text
//! create     an empty index                     merge      fewer segments, without dead rows
//! insert     rows of a file go in, batch by batch    snapshot   a copy as of now
//! delete     rows are deleted                  log        what is not in files yet
//! set, unset attributes of rows that are there
//! chosen     which rows delete, set and unset change
//! writer     how an index is opened for it, and what all of them report
//! ```

mod chosen;
mod create;
mod delete;
mod edit;
mod insert;
mod log;
mod merge;
mod snapshot;
mod writer;

pub(crate) use chosen::read_names;
pub(crate) use create::CreateArguments;
pub(crate) use delete::DeleteArguments;
pub(crate) use edit::{SetArguments, UnsetArguments};
pub(crate) use insert::InsertArguments;
pub(crate) use log::{LogArguments, describe_state};
pub(crate) use merge::MergeArguments;
pub(crate) use snapshot::SnapshotArguments;
