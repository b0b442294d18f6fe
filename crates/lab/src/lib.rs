//! The benchmark lab: the evaluation of disk-resident graph search as one command, on any data.
//!
//! ```text
//! data        registry of data sets by name -> files: fetched, cut, with exact truth
//! suite       what to measure: experiments as data (TOML)
//! plan        a suite over data -> builds and cells, with their commands and an estimate
//! run         each cell in a child process of its own, alternating; a journal of raw records
//! model       recorded reads replayed against modelled devices, and growth
//! comparator  other libraries on the same data, each a script in a process of its own
//! stream      an index through a runbook of changes, each search against exact truth
//! filter      searches among rows that match, by how many do and where they lie
//! updates     searches beside inserts and deletes, design by design
//! cluster     recorded searches replayed over many machines, three ways of laying rows out
//! report      records -> figures, tables and findings -> HTML, Markdown, CSV
//! picture     one index, or walks through it, as a page of the report's kind
//! ```
//!
//! Invariants: the report knows nothing but the journal, so that every number on it is in the raw
//! records; every record carries the command that gave it; no speed is shown without recall.

pub mod cluster;
pub mod data;
mod files;
pub mod filter;
mod in_memory;
pub mod model;
pub mod picture;
mod plan;
pub mod record;
pub mod report;
pub mod run;
pub mod stream;
pub mod suite;
pub mod updates;

pub use files::{read_text, write_text};
pub use in_memory::InMemory;
pub use plan::Estimate;
