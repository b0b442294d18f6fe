//! What is kept of a cluster that was measured and replayed.

use serde::Serialize;

use super::check::Checked;
use super::design::ClusterDesign;
use super::law::CountLaw;
use super::recording::ClusterCell;
use super::simulate::Simulated;
use super::site::Site;
use crate::model::Law;

/// A design replayed at the site.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClusterRecord {
    /// Design.
    pub design: ClusterDesign,
    /// Rows.
    pub rows: u64,
    /// Segments.
    pub segments: u32,
    /// Whether counts are none that were measured over these rows and segments.
    pub is_extrapolated: bool,
    /// By what law they grew to these rows.
    pub rows_law: Option<Law>,
    /// Recall of the recorded searches, at their own size.
    pub recall: f64,
    /// With all callers.
    pub loaded: Simulated,
    /// With one.
    pub alone: Simulated,
    /// Bytes of memory of a node that codes, lists and identities take.
    pub node_memory_bytes: u64,
    /// Disk of a node in bytes.
    pub node_disk_bytes: u64,
}

/// How counts of a design grow with the rows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RowLaws {
    /// Design.
    pub design: ClusterDesign,
    /// Segments of the searches.
    pub segments: u32,
    /// Reads, rounds and codes per query, once by each law.
    pub reads: [CountLaw; 2],
    /// See `reads`.
    pub rounds: [CountLaw; 2],
    /// See `reads`.
    pub codes: [CountLaw; 2],
}

/// A whole run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClusterSummary {
    /// Design of the indexes.
    pub design: String,
    /// Recall that was asked for.
    pub asked_recall: f32,
    /// Neighbours.
    pub k: u32,
    /// Where all of it stands.
    pub site: Site,
    /// What was measured.
    pub cells: Vec<ClusterCell>,
    /// Numbers of segments predicted from the others.
    pub checks: Vec<Checked>,
    /// Growth with the rows.
    pub laws: Vec<RowLaws>,
    /// What would happen at the site.
    pub simulated: Vec<ClusterRecord>,
}
