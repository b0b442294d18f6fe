//! The plan: which design, with which sizes, for a memory budget and a recall.
//!
//! ```text
//! wish        what is wanted: memory, recall, goal; what is pinned
//! design      every preset, in every form and with choices in place of its own
//! candidate   a design in every size -> legal, or why not
//! equations   memory and packing as the experimental evaluation states them
//! tree        its decision tree (figure 17), as a table; one adviser beside ours
//! device      the disk as `doctor` measured it: latency and reads per second by depth
//! model       spec + statistics of a sample -> pages, rounds, bytes, processor time: a guess
//! cost        counts + device -> microseconds, queries per second
//! sample      rows and queries drawn from the vectors     scratch   where samples are built
//! trial       a candidate, built over a sample and searched     walk   one of those searches
//! plain       the design that lends its graph, and that the statistics are of
//! growth      a count at two sizes -> the same over all vectors
//! update      how changes reach the disk: what an update takes by each policy
//! fleet       the chosen design on several machines
//! draft       a candidate in the course of a plan: what is known of it so far
//! planner     guess, try the best few on small samples, the best of those on larger ones, choose
//! plan        what came out     verdict   why it was chosen, or not     table   both for people
//! ```
//!
//! Invariants: what was guessed and what was measured are never mixed in one column; a candidate
//! that was not tried is not chosen while one that was tried meets the wish; the same vectors, wish
//! and seed try the same candidates on the same rows (times differ, and with them, rarely, the
//! choice). Nothing is read but the vectors given, nothing is left behind on disk.

mod candidate;
mod cost;
mod design;
mod device;
mod draft;
mod equations;
#[cfg(test)]
mod fixture;
mod fleet;
mod growth;
mod model;
mod plain;
mod plan;
mod planner;
mod sample;
mod scratch;
mod table;
mod tree;
mod trial;
mod update;
mod verdict;
mod walk;
mod wish;

pub use candidate::{Candidate, Refusal, Space, enumerate};
pub use cost::Cost;
pub use device::Device;
pub use equations::{
    EvaluationMemory, cache_bytes, code_table_bytes, navigation_bytes, packing_factor,
};
pub use fleet::{FleetPlan, FleetPrices, FleetWish};
pub use growth::Growth;
pub use model::{Counts, Statistics, guess};
pub use plan::{Entry, Plan, TreeVerdict};
pub use planner::{PlanInput, plan};
pub use sample::{Draw, Sample};
pub use scratch::Scratch;
pub use tree::{Step, TreeAdvice, TreeQuestion, advise};
pub use trial::{Climb, Trial, Tried};
pub use update::{UpdateCost, UpdatePlan, UpdateSite, UpdateWish};
pub use verdict::Verdict;
pub use wish::{Goal, Pins, Wish};
