//! `IndexSpec`: what an index is, as data. One choice on each of five axes (storage, layout, cache,
//! execution, update), the shape of its vectors and the graph. The manifest stores it, `inspect`
//! prints it, `resolve` turns it into components. A published system is one value of this type.
//!
//! A policy has a file of its own, in the folder of its axis: its choices, the numbers they may
//! have, what they are asked, and what is said of them. `policy` has the table of all of them.

mod cache;
mod clusters;
mod delta;
mod execution;
mod graph;
mod layout;
pub mod policy;
mod range;
mod repair;
mod sizes;
mod storage;
mod update;
mod validate;

use pageway_types::{ElementType, Metric, VectorShape};
use serde::{Deserialize, Serialize};

pub use cache::{
    CacheSpec, NODE_CACHES, NodeCacheSpec, PAGE_CACHES, PageCacheSpec, SELECTIONS, SelectionSpec,
};
pub use delta::DeltaSpec;
pub use execution::{
    CompletionSpec, ENTRIES, EntrySpec, ExecutionSpec, HARVESTS, HarvestSpec, REFINES, RefineSpec,
    STOPS, ScheduleSpec, StopSpec, schedules,
};
pub use graph::{GraphSpec, graphs};
pub use layout::{CodecSpec, LISTS, LayoutSpec, ListSpec, PLACEMENTS, PlacementSpec, codecs};
pub use policy::{CacheOverrides, Overrides};
pub use range::{MAX_BEAM, MAX_BUILD_LIST, MAX_DEGREE};
pub use repair::RepairSpec;
pub use sizes::{DEFAULTS, Defaults, Sizes};
pub(crate) use storage::MAX_PRINCIPAL_DIMENSION;
pub use storage::{
    CODES, CodeStorage, IdStorage, QUANTIZERS, QuantizerSpec, RotationSpec, StorageSpec, VECTORS,
    VectorStorage,
};
pub use update::UpdateSpec;
pub use validate::SpecError;

/// Everything that defines an index, apart from its vectors.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexSpec {
    /// Dimension, element type, metric.
    pub shape: Shape,
    /// The proximity graph.
    pub graph: GraphSpec,
    /// Axis 1: where vectors and codes live.
    pub storage: StorageSpec,
    /// Axis 2: how records lie in pages.
    pub layout: LayoutSpec,
    /// Axis 3: what stays in memory beside the codes.
    pub cache: CacheSpec,
    /// Axis 4: how a query walks. Beam width and list size can be overridden per query.
    pub execution: ExecutionSpec,
    /// Axis 5: how changes reach the disk.
    pub update: UpdateSpec,
    /// Axis 5: what becomes of edges to nodes that died. Left out of manifests where it is a sweep.
    #[serde(default, skip_serializing_if = "RepairSpec::is_sweep")]
    pub repair: RepairSpec,
    /// Axis 5: how rows that are in no segment yet are found. Left out of manifests where all are
    /// compared.
    #[serde(default, skip_serializing_if = "DeltaSpec::is_scan")]
    pub delta: DeltaSpec,
    /// Seed of every random choice of the build.
    pub seed: u64,
}

impl IndexSpec {
    /// True when nodes keep the order of the data, so that a node's number is its row.
    pub fn nodes_are_rows(&self) -> bool {
        self.layout.placement.is_by_id() && !self.storage.codes.is_split()
    }

    /// The same design with nodes in the order of the data.
    pub(crate) fn in_order_of_rows(&self) -> Self {
        let mut spec = self.clone();
        spec.layout.placement = PlacementSpec::ById;
        spec
    }

    /// The same design with answers and reads that depend on nothing but query and index: a build
    /// measures with it, so that its bytes do not depend on the disk or on threads. Pages of a
    /// pipeline are taken in order, and no cache learns.
    pub(crate) fn settled(&self) -> Self {
        let mut spec = self.clone();
        spec.execution.schedule = spec.execution.schedule.in_order();
        if spec.cache.pages.learns() {
            spec.cache.pages = PageCacheSpec::None;
        }
        if spec.cache.nodes.learns() {
            spec.cache.nodes = NodeCacheSpec::Records;
        }
        spec
    }
}

/// Shape of the vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Components per vector.
    pub dimension: u32,
    /// Type of a component.
    pub element: ElementType,
    /// Distance.
    pub metric: Metric,
}

impl Shape {
    /// Whether vectors of `given` that were looked at may be stored as this: as they are, or `F32`
    /// as `F16`.
    pub fn keeps(self, given: Self) -> bool {
        let is_half = self.element == ElementType::F16 && given.element == ElementType::F32;
        let as_given = Self {
            element: given.element,
            ..self
        };
        as_given == given && (self == given || is_half)
    }

    /// Dimension and element type alone.
    pub const fn vectors(self) -> VectorShape {
        VectorShape {
            dimension: self.dimension,
            element: self.element,
        }
    }
}
