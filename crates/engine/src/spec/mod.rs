//! `IndexSpec`: what an index is, as data. One choice on each of five axes (storage, layout, cache,
//! execution, update), the shape of its vectors and the graph. The manifest stores it, `inspect`
//! prints it, `resolve` turns it into components. A published system is one value of this type.

mod cache;
mod clusters;
mod execution;
mod graph;
mod layout;
mod overrides;
mod range;
mod storage;
mod validate;

use pageway_types::{ElementType, Metric, VectorShape};
use serde::{Deserialize, Serialize};

pub use cache::{CacheSpec, NodeCacheSpec, PageCacheSpec, SelectionSpec};
pub use execution::{
    CompletionSpec, EntrySpec, ExecutionSpec, HarvestSpec, RefineSpec, ScheduleSpec, StopSpec,
};
pub use graph::GraphSpec;
pub use layout::{CodecSpec, LayoutSpec, ListSpec, PlacementSpec};
pub use overrides::{CacheOverrides, Overrides};
pub(crate) use range::MAX_PRINCIPAL_DIMENSION;
pub use range::{MAX_BEAM, MAX_BUILD_LIST, MAX_DEGREE};
pub use storage::{
    CodeStorage, IdStorage, QuantizerSpec, RotationSpec, StorageSpec, VectorStorage,
};
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
    /// Seed of every random choice of the build.
    pub seed: u64,
}

impl IndexSpec {
    /// True when nodes keep the order of the data, so that a node's number is its row.
    pub fn nodes_are_rows(&self) -> bool {
        self.layout.placement == PlacementSpec::ById
            && !matches!(self.storage.codes, CodeStorage::Split { .. })
    }

    /// The same design with answers and reads that depend on nothing but query and index: a build
    /// measures with it, so that its bytes do not depend on the disk or on threads. Pages of a
    /// pipeline are taken in order, and no cache learns.
    pub(crate) fn settled(&self) -> Self {
        let mut spec = self.clone();
        if let ScheduleSpec::Pipelined { completion, .. } = &mut spec.execution.schedule {
            *completion = CompletionSpec::InOrder;
        }
        if let PageCacheSpec::Lru | PageCacheSpec::Clock = spec.cache.pages {
            spec.cache.pages = PageCacheSpec::None;
        }
        if spec.cache.nodes == NodeCacheSpec::Clock {
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
    /// Dimension and element type alone.
    pub const fn vectors(self) -> VectorShape {
        VectorShape {
            dimension: self.dimension,
            element: self.element,
        }
    }
}

/// Axis 5: how changes reach the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateSpec {
    /// Not at all: the index is rebuilt.
    Static,
}
