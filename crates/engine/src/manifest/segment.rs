//! A segment, as the manifest speaks of it.

use pageway_types::{ElementType, NodeId, VectorShape};
use serde::{Deserialize, Serialize};

use super::files::{Files, generation_of};
use super::whole::corrupt;
use crate::error::Result;
use crate::execution::DeadSet;
use crate::spec::{IndexSpec, QuantizerSpec};
use crate::storage::{EPOCH_BYTES, Identities, SHADOW_ENTRY_BYTES};

/// What the build saw of the graph.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphStatistics {
    pub(crate) mean_degree: f64,
    pub(crate) max_degree: u32,
    pub(crate) shards: u32,
    /// OR(G): mean share of a page's other nodes that a node of it names; absent where the graph
    /// was never in memory as a whole.
    pub(crate) overlap: Option<f64>,
    /// Bytes of all lists packed, where memory may hold them.
    pub(crate) packed_bytes: Option<u64>,
    /// Mean share of the bytes of a record page that records fill.
    pub(crate) page_utilisation: f64,
}

/// How much codes lose of rows: their mean squared error, as a share of the variance of the rows.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeError {
    /// Of the rows of this segment.
    pub(crate) own: f64,
    /// Of the rows that its quantizer was trained on; absent where it was trained on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trained: Option<f64>,
}

impl CodeError {
    /// Of rows that their quantizer was trained on.
    pub(crate) const fn measured(own: f64) -> Self {
        Self { own, trained: None }
    }

    /// The same of rows whose quantizer was trained on those of `donor`.
    pub(crate) fn trained_on(self, donor: Self) -> Self {
        Self {
            trained: Some(donor.trained.unwrap_or(donor.own)),
            ..self
        }
    }

    /// How many times that of training the error is; none of rows of the training.
    fn drift(self) -> Option<f64> {
        let trained = self.trained.filter(|trained| *trained > 0.0)?;
        Some(self.own / trained)
    }
}

/// How many times that of training the code error is of the rows that quantizers were not trained
/// on, mean over rows; 1 where there are none.
pub(super) fn code_drift(segments: &[SegmentEntry]) -> f64 {
    let (mut rows, mut sum) = (0.0, 0.0);
    for segment in segments {
        if let Some(drift) = segment.code_error.and_then(CodeError::drift) {
            rows += f64::from(segment.node_count);
            sum += drift * f64::from(segment.node_count);
        }
    }
    if rows > 0.0 { sum / rows } else { 1.0 }
}

/// What became of a segment that was patched: changed in its place among the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchEntry {
    /// Nodes that it was built of: those behind them came by patches.
    pub(crate) built: u32,
    /// Nodes that had died when lists were last rid of dead ones.
    pub(crate) swept: u32,
}

/// An immutable part of an index: its nodes, numbered from 0, and the files that hold them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SegmentEntry {
    /// Row of the data that is its row 0: rows inside its files are counted from there.
    pub(crate) first_row: u32,
    pub(crate) node_count: u32,
    /// Id of its row 0 where ids are rows; `first_row` unless other segments were put before it or
    /// taken away since.
    pub(crate) own_first_id: Option<u64>,
    /// Elements that the index takes and gives: those of `spec` are what is stored of them.
    pub(crate) element: ElementType,
    /// How it was built.
    pub(crate) spec: IndexSpec,
    /// Where walks start.
    pub(crate) entry: Vec<NodeId>,
    pub(crate) files: Files,
    pub(crate) graph: GraphStatistics,
    /// Absent where it was built before this was measured.
    pub(crate) code_error: Option<CodeError>,
    /// Where it was patched since it was built.
    pub(crate) patched: Option<PatchEntry>,
}

impl SegmentEntry {
    /// Checks that it does not contradict itself.
    pub(super) fn check(&self) -> Result<()> {
        self.spec
            .validate()
            .map_err(|error| corrupt(error.to_string()))?;
        if self.node_count == 0 || self.node_count == u32::MAX {
            return Err(corrupt(format!("{} nodes", self.node_count)));
        }
        if self.entry.is_empty() || self.entry.iter().any(|node| node.0 >= self.node_count) {
            return Err(corrupt("an entry node does not exist".to_owned()));
        }
        let storage = &self.spec.storage;
        let in_memory = storage.codes_in_memory(self.node_count);
        let files = self.files.codes_and_additions();
        let first = (files, in_memory, Some(storage.quantizer));
        let second = (
            self.files.second_codes_and_additions(),
            self.node_count,
            storage.second_codes_in_memory(),
        );
        for (files, nodes, quantizer) in [first, second] {
            let code_bytes = quantizer.map_or(0, QuantizerSpec::code_bytes);
            let expected = u64::from(nodes) * u64::from(code_bytes);
            let found = files.into_iter().flatten().map(|file| file.payload_bytes);
            let found = found.fold(0, u64::saturating_add);
            if found != expected {
                return Err(corrupt(format!(
                    "{found} bytes of codes, expected {expected}"
                )));
            }
        }
        self.check_dead()?;
        self.check_patches()?;
        self.check_identities()
    }

    /// Whether values are stored in fewer bytes than they come and go in.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.element != self.spec.shape.element
    }

    /// Whether its pages can hold rows of a shape as they are.
    pub(crate) fn can_hold(&self, rows: &[u8], shape: VectorShape) -> bool {
        let is_folded = self.spec.layout.folded.is_some_and(|folded| folded > 0);
        shape == self.spec.shape.vectors() && (!is_folded || shape.element.are_below_two(rows))
    }

    /// Nodes that its pages were first laid out for: all, unless some came since.
    pub(crate) fn built(&self) -> u32 {
        self.patched.map_or(self.node_count, |own| own.built)
    }

    /// The generation of the index that brought its pages.
    pub(crate) fn made_in(&self) -> u64 {
        generation_of(&self.files.records.name)
    }

    /// Id of its row 0, where users know vectors by their rows.
    pub(crate) fn first_id(&self) -> u64 {
        self.own_first_id.unwrap_or(self.first_row.into())
    }

    /// Checks that there is a bit for each node where some were deleted.
    fn check_dead(&self) -> Result<()> {
        let files = [&self.files.dead, &self.files.repaired];
        let mut found = files.into_iter().flatten().map(|file| file.payload_bytes);
        let expected = DeadSet::bytes(self.node_count);
        match found.find(|found| *found != expected) {
            Some(found) => Err(corrupt(format!(
                "{found} bytes of dead nodes, expected {expected}"
            ))),
            None => Ok(()),
        }
    }

    fn check_patches(&self) -> Result<()> {
        let patched = self.patched;
        if patched.is_some_and(|own| own.built > self.node_count || own.swept > self.node_count) {
            return Err(corrupt("a patch of more nodes than there are".to_owned()));
        }
        let records = &self.files.records;
        let epochs = self.files.overwritten.as_ref().map(|own| &own.epochs);
        let known = epochs.map_or(0, |file| file.payload_bytes / EPOCH_BYTES);
        if epochs.is_some() && (known != records.units || !records.growable) {
            return Err(corrupt(format!(
                "{known} epochs of {} pages that were written over",
                records.units
            )));
        }
        if patched.is_none() && self.files.additions.is_some() {
            return Err(corrupt("additions to a segment as it was built".to_owned()));
        }
        let Some(patches) = &self.files.patches else {
            return Ok(());
        };
        let mut units = patches.images.iter().map(|image| image.units);
        let images = units.try_fold(0, u64::checked_add);
        let images = images.ok_or_else(|| corrupt("more pages than can be".to_owned()))?;
        let entries = patches.map.payload_bytes / SHADOW_ENTRY_BYTES;
        if patched.is_none() || patches.images.is_empty() || entries > images {
            return Err(corrupt(format!("{images} images of {entries} pages")));
        }
        Ok(())
    }

    fn check_identities(&self) -> Result<()> {
        let expected = Identities::bytes(&self.spec, self.node_count);
        let file = self.files.identities.as_ref();
        let found = file.map_or(0, |file| file.payload_bytes);
        if found == expected {
            return Ok(());
        }
        Err(corrupt(format!(
            "{found} bytes of identities, expected {expected}"
        )))
    }
}
