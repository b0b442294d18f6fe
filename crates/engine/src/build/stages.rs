//! The memory that each stage of a build takes at its peak.

use pageway_graph::{Graph, clusters_bytes, placement_bytes};
use pageway_quant::TrainingSpec;

use super::donor::{DONOR_BYTES, DONOR_ROW_BYTES, held_bytes};
use super::entry::entry_building_bytes;
use super::graph::algorithm;
use super::order::{NodeOrder, placement};
use super::plan::{BuildPlan, GraphPlan};
use super::reach::reach_bytes;
use super::replicas::ReplicaPlan;
use super::rewrite::REWRITE_BYTES;
use super::spill::shared_buffer_bytes;

use crate::error::Result;
use crate::plan::least_memory;
use crate::resolve;
use crate::spec::IndexSpec;

/// Fewest nodes of a shard: smaller ones would be too many.
const SHARD_NODES_MIN: u64 = 5_000;
/// Shards of a partition at most, as a multiple of those that would hold each node once: each node
/// lies in two, shards are filled to three quarters, and an uneven set may double their number.
pub(super) const SHARDS_PER_FILL: u64 = 6;
/// Buffers of blocks, writers and readers, in any stage.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
pub(super) const STAGE_BYTES: u64 = 6 << 20;
/// Bytes of neighbours' lists, codes and rows that are read for a batch of pages.
const PAGING_BYTES: u64 = 12 << 20;
/// Bytes that a vector set keeps per vector under the inner product and the cosine.
pub(super) const NORM_BYTES: u64 = 4;
/// Bytes of an id.
const ID_BYTES: u64 = 8;

impl BuildPlan {
    /// Most bytes of any stage but calibration, beside vectors that the caller holds.
    pub(super) fn peak_bytes(&self, resident: bool) -> u64 {
        let train = self.train_bytes(self.sample_rows, self.parts.is_some());
        let parts = self.parts.map(|capacity| self.part_bytes(capacity.into()));
        match (parts, self.graph) {
            (None, GraphPlan::Whole) => self.whole_bytes(resident, self.sample_rows),
            (_, GraphPlan::Shards { .. } | GraphPlan::Taken { .. }) => {
                let capacity = self.graph.capacity();
                let shards = capacity.map_or_else(
                    || self.taking_bytes(),
                    |capacity| self.shard_bytes(capacity.into()),
                );
                let windows = self.graph.window();
                let windows = windows.map(|nodes| self.window_bytes(nodes.into()));
                let placing = parts.unwrap_or(0).max(windows.unwrap_or(0));
                let paging = if self.codes_wait_on_disk() {
                    self.paging_bytes(0)
                } else {
                    self.paging_bytes(self.code_table_bytes())
                };
                shards.max(placing).max(train).max(paging)
            }
            (Some(parts), GraphPlan::Whole) => parts.max(train),
            (_, GraphPlan::Kept) => train,
        }
    }

    /// The least memory of a build that does not hold all rows; `None` if there is no such build.
    pub(super) fn piecewise_bytes(&self) -> Option<u64> {
        let parts = self.can_part().then(|| self.part_bytes(self.least_part()));
        if self.has_clusters() {
            return parts;
        }
        let windows = self
            .places_by_edges()
            .then(|| self.window_bytes(self.least_window()));
        let placing = parts.unwrap_or(0).max(windows.unwrap_or(0));
        let linking = self.linking_bytes();
        linking.map(|linking| linking.max(placing).max(self.paging_bytes(0)))
    }

    /// The least memory for making a graph on disk; `None` if the design needs it in memory.
    fn linking_bytes(&self) -> Option<u64> {
        if !(self.spec.nodes_are_rows() || self.can_part()) {
            return None;
        }
        if self.is_taken() {
            return Some(self.taking_bytes());
        }
        let can_shard = self.shard_algorithm().is_some();
        can_shard.then(|| self.shard_bytes(self.least_shard()))
    }

    /// The shard size that needs the least memory: larger shards take more themselves, smaller ones
    /// are more, each with a buffer. 1 if there are no nodes.
    pub(super) fn least_shard(&self) -> u64 {
        let all = u64::from(self.node_count).max(1);
        let sizes = std::iter::successors(Some(SHARD_NODES_MIN), |nodes| Some(nodes * 2));
        let sizes = sizes.take_while(|nodes| *nodes < all);
        let least = sizes.min_by_key(|nodes| self.shard_bytes(*nodes));
        least.unwrap_or(all)
    }

    /// Peak while the graph of another index is copied.
    fn taking_bytes(&self) -> u64 {
        let row = u64::from(self.can_part()) * DONOR_ROW_BYTES;
        STAGE_BYTES + DONOR_BYTES + u64::from(self.node_count) * row
    }

    /// Peak while codes are trained. If `in_parts`, rows are in their order by then.
    pub(super) fn train_bytes(&self, sample_rows: u64, in_parts: bool) -> u64 {
        let dimension = self.spec.shape.dimension as usize;
        let rows = sample_rows as usize;
        let sample = rows as u64 * dimension as u64 * 4;
        let threads = self.threads.planned;
        let bytes = |spec: &TrainingSpec| {
            if self.kind.trains() {
                spec.train_bytes(rows, dimension, threads)
            } else {
                0
            }
        };
        let second = self.second_quantizer().map_or(0, |spec| bytes(&spec));
        // Codes around cluster means are trained after the clusters are found.
        let found = resolve::cluster_spec(&self.spec).map_or(0, |_| {
            let order = if in_parts {
                0
            } else {
                NodeOrder::bytes(self.node_count.into())
            };
            order + resolve::entry_bytes(&self.spec, self.node_count)
        });
        STAGE_BYTES + found + sample + bytes(&self.quantizer()).max(second) as u64
    }

    /// Peak of a build in one piece, codes trained on so many rows. `resident` rows are the
    /// caller's memory, not ours.
    pub(super) fn whole_bytes(&self, resident: bool, sample_rows: u64) -> u64 {
        let nodes = u64::from(self.node_count);
        let ids = u64::from(self.spec.storage.ids.are_given()) * ID_BYTES;
        let rows = if resident {
            0
        } else {
            nodes * (self.row_bytes() + ids)
        };
        let shape = self.spec.shape;
        let threads = self.threads.planned;
        let peak = match (resolve::cluster_spec(&self.spec), algorithm(&self.spec)) {
            (Some(spec), _) => {
                clusters_bytes(nodes, shape.vectors(), shape.metric.guide(), &spec, threads)
            }
            (None, Some(algorithm)) => {
                let graph = Graph::bytes(nodes, self.spec.graph.max_degree());
                let building = if self.is_taken() {
                    held_bytes(nodes, self.spec.graph.max_degree())
                } else {
                    algorithm.bytes(shape.vectors(), nodes, threads)
                };
                building.max(graph + self.writing_bytes())
            }
            (None, None) => 0,
        };
        let training = self.train_bytes(sample_rows.min(self.sample_rows), false);
        rows + training.max(STAGE_BYTES + nodes * NORM_BYTES + peak)
    }

    pub(super) fn shard_bytes(&self, nodes: u64) -> u64 {
        let shape = self.spec.shape.vectors();
        let graph = self.shard_algorithm().map_or(u64::MAX, |algorithm| {
            algorithm.bytes(shape, nodes, self.threads.planned)
        });
        let per_node = self.row_bytes() + NORM_BYTES + size_of::<u32>() as u64;
        let shards = SHARDS_PER_FILL * u64::from(self.node_count).div_ceil(nodes);
        let buffers = shards * (shared_buffer_bytes(shards) as u64 + self.row_bytes());
        let building = (nodes * per_node).saturating_add(graph);
        // Lists are linked after the rows of the last shard were freed.
        let merging = reach_bytes(self.node_count.into(), self.spec.graph.max_degree());
        (STAGE_BYTES + buffers).saturating_add(building.max(merging))
    }

    /// Peak while entries are found and pages written of a graph on disk, `held` bytes of codes in
    /// memory.
    pub(super) fn paging_bytes(&self, held: u64) -> u64 {
        let replicas = self.replica_bytes();
        let entry = entry_building_bytes(&self.spec, self.node_count);
        let names_others = self.pages_hold_codes() || self.spec.layout.codec.is_replicated();
        let paging = u64::from(names_others) * PAGING_BYTES;
        STAGE_BYTES + held + entry.max(replicas + paging)
    }

    /// Peak while nodes are placed and pages written, beside the vectors.
    fn writing_bytes(&self) -> u64 {
        let nodes = u64::from(self.node_count);
        let max_degree = self.spec.graph.max_degree();
        let placed = if self.spec.nodes_are_rows() {
            0
        } else {
            let placing = placement(&self.spec)
                .map_or(0, |placement| placement_bytes(nodes, placement, max_degree));
            NodeOrder::bytes(nodes) + placing.max(Graph::bytes(nodes, max_degree))
        };
        let replicas = self.replica_bytes();
        placed + replicas + self.code_table_bytes()
    }

    pub(super) fn code_table_bytes(&self) -> u64 {
        if !self.pages_hold_codes() {
            return 0;
        }
        u64::from(self.node_count) * u64::from(self.spec.storage.quantizer.code_bytes())
    }

    /// Whether codes that pages hold are read from a temporary file, because memory does not hold
    /// those of all nodes beside the rest.
    pub(super) fn codes_wait_on_disk(&self) -> bool {
        let on_disk = matches!(
            self.graph,
            GraphPlan::Shards { .. } | GraphPlan::Taken { .. }
        );
        on_disk && self.paging_bytes(self.code_table_bytes()) > self.budget_bytes
    }

    /// Bytes of the plan of replicas, if pages hold any.
    fn replica_bytes(&self) -> u64 {
        if self.spec.layout.codec.is_replicated() {
            ReplicaPlan::bytes(self.node_count.into())
        } else {
            0
        }
    }
}

/// Bytes for keeping the lists of segments with `rows` rows together, of which the largest, with
/// `largest` nodes, is searched.
pub(crate) fn rewrite_bytes(spec: &IndexSpec, (rows, largest): (u32, u32)) -> Result<u64> {
    let searching = least_memory(spec, largest)?.reserved();
    let reaching = reach_bytes(rows.into(), spec.graph.max_degree());
    let codes = if spec.storage.codes.is_memory() {
        0
    } else {
        u64::from(rows) * u64::from(spec.storage.quantizer.code_bytes())
    };
    Ok(STAGE_BYTES + REWRITE_BYTES + searching.max(codes) + reaching)
}
