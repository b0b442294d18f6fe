//! Vectors and what a search returns for them, checked as they pass by: rows are a permutation,
//! distances are defined, and what stands in several places is the same everywhere.
//!
//! Holds a bit per row, the identities that an open index holds, and the user ids, up to 128 MiB of
//! them: of more rows, a share of the user ids is compared, all of which that are the same.

use std::ops::RangeInclusive;

use pageway_types::{NodeId, SplitMix64};

use super::ids::{ToldIds, mix_id};
use crate::error::Result;
use crate::execution::NodeSet;
use crate::layout::VectorPart;
use crate::resolve::{self, Source};
use crate::source::sound_norms;
use crate::storage::Identities;

/// User ids that are held at most.
const IDS_HELD: u32 = 1 << 24;

/// What one pass over the records of a segment has seen.
pub(super) struct IdentityCheck {
    node_count: u32,
    squared_norm: fn(&[u8]) -> f32,
    sound: RangeInclusive<f32>,
    rows: NodeSet,
    identities: Option<Identities>,
    /// Those of which one in `ids_share` is held, by a hash.
    ids: Vec<u64>,
    ids_share: Option<u64>,
    /// Whether what lies beside lists are fine codes, which repeat the identities.
    is_coded: bool,
    /// Sums over all identities: beside fine codes, and beside vectors.
    sums: [u64; 2],
    /// Id of row 0, where rows are ids.
    first_id: u64,
    /// What the table of ids says, if there is one; and the sum over ids beside vectors and their
    /// nodes, of those that it has.
    ids_told: Option<ToldIds>,
    ids_sum: u64,
}

impl IdentityCheck {
    /// Reads the identities that memory holds. `ids_told` is what the table of ids says.
    ///
    /// # Errors
    /// As those are.
    pub(super) fn new(source: Source<'_>, ids_told: Option<ToldIds>) -> Result<Self> {
        let segment = source.segment;
        let shape = segment.spec.shape;
        let are_given = segment.spec.storage.ids.are_given();
        Ok(Self {
            node_count: segment.node_count,
            squared_norm: resolve::kernels()?.squared_norm(shape.element),
            sound: sound_norms(shape.metric),
            rows: NodeSet::default(),
            identities: resolve::identities(source)?,
            ids: Vec::new(),
            ids_share: are_given.then(|| segment.node_count.div_ceil(IDS_HELD).into()),
            is_coded: segment.spec.storage.vectors.is_coded(),
            sums: [0; 2],
            first_id: segment.first_id(),
            ids_told,
            ids_sum: 0,
        })
    }

    /// Checks what lies beside the list of a node: its vector, or a fine code.
    pub(super) fn beside_list(
        &mut self,
        node: NodeId,
        part: &VectorPart<'_>,
        problems: &mut Vec<String>,
    ) {
        if self.is_coded {
            self.identity(node, part, problems);
            self.add(0, node, part);
        } else {
            self.vector(node, part, problems);
        }
    }

    /// Checks a full vector.
    pub(super) fn vector(
        &mut self,
        node: NodeId,
        part: &VectorPart<'_>,
        problems: &mut Vec<String>,
    ) {
        self.identity(node, part, problems);
        self.add(1, node, part);
        self.add_id(node, part);
        if part.row < self.node_count && !self.rows.insert(NodeId(part.row)) {
            problems.push(format!("node {}: another is row {} too", node.0, part.row));
        }
        if let Some(share) = self.ids_share
            && self.has_id(node)
            && SplitMix64::mix(part.user_id).is_multiple_of(share)
        {
            self.ids.push(part.user_id);
        }
        let norm = (self.squared_norm)(part.bytes);
        if !self.sound.contains(&norm) {
            problems.push(format!(
                "node {}: a vector of squared length {norm}",
                node.0
            ));
        }
    }

    /// What the whole pass shows.
    pub(super) fn finish(mut self, problems: &mut Vec<String>) {
        self.ids.sort_unstable();
        let twice = self
            .ids
            .windows(2)
            .filter(|pair| pair.first() == pair.last());
        let twice = twice.filter_map(|pair| pair.first());
        problems.extend(twice.map(|id| format!("user id {id}: two vectors have it")));
        let [beside_codes, beside_vectors] = self.sums;
        if self.is_coded && beside_codes != beside_vectors {
            problems.push("identities beside fine codes are not those of the vectors".to_owned());
        }
        if self.ids_told.is_some_and(|told| told.sum != self.ids_sum) {
            problems.push("the table of ids names other nodes than the records do".to_owned());
        }
    }

    fn identity(&self, node: NodeId, part: &VectorPart<'_>, problems: &mut Vec<String>) {
        if part.row >= self.node_count {
            problems.push(format!(
                "node {}: row {} of {}",
                node.0, part.row, self.node_count
            ));
        }
        if let Some(known) = &self.identities
            && known.of(node) != (part.row, part.user_id)
        {
            problems.push(format!(
                "node {}: memory holds another row or user id",
                node.0
            ));
        }
    }

    /// Whether a node has an id: dead ones may have none, which another may have by now.
    fn has_id(&self, node: NodeId) -> bool {
        let told = self.ids_told.as_ref();
        told.is_none_or(|told| told.nodes.contains(node))
    }

    fn add_id(&mut self, node: NodeId, part: &VectorPart<'_>) {
        if !self.has_id(node) {
            return;
        }
        let id = match self.ids_share {
            Some(_) => part.user_id,
            None => self.first_id.saturating_add(part.row.into()),
        };
        self.ids_sum = self.ids_sum.wrapping_add(mix_id(id, node));
    }

    /// Sums that differ tell identities apart; the same come of the same but once in 2^64.
    fn add(&mut self, place: usize, node: NodeId, part: &VectorPart<'_>) {
        let place_of_node = u64::from(node.0) << 32 | u64::from(part.row);
        let mixed = SplitMix64::mix(SplitMix64::mix(place_of_node) ^ part.user_id);
        if let Some(sum) = self.sums.get_mut(place) {
            *sum = sum.wrapping_add(mixed);
        }
    }
}
