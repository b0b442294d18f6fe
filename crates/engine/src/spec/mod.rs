//! `IndexSpec`: what an index is, as data. One choice on each of five axes (storage, layout, cache,
//! execution, update), the shape of its vectors and the graph. The manifest stores it, `inspect`
//! prints it, `resolve` turns it into components. A published system is one value of this type.

mod validate;

use pageway_types::{ElementType, Metric, VectorShape};
use serde::{Deserialize, Serialize};

pub use validate::{MAX_BEAM, MAX_BUILD_LIST, MAX_DEGREE, SpecError};

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

/// The proximity graph.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "algorithm", rename_all = "snake_case", deny_unknown_fields)]
pub enum GraphSpec {
    /// Vamana with `RobustPrune` (Subramanya et al., NeurIPS 2019).
    Vamana {
        /// Longest adjacency list (R).
        max_degree: u32,
        /// Candidate list size while building (L).
        build_list: u32,
        /// Slack of the prune rule, on squared distances as in the authors' code.
        alpha: f32,
    },
}

impl GraphSpec {
    /// Longest adjacency list (R).
    pub const fn max_degree(&self) -> u32 {
        match self {
            Self::Vamana { max_degree, .. } => *max_degree,
        }
    }
}

/// Axis 1: where vectors and codes live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageSpec {
    /// Where full vectors live.
    pub vectors: VectorStorage,
    /// Where codes live.
    pub codes: CodeStorage,
    /// How vectors are compressed.
    pub quantizer: QuantizerSpec,
    /// What user ids are.
    pub ids: IdStorage,
}

/// Where full vectors live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorStorage {
    /// Beside the adjacency list, in the record.
    InRecord,
}

/// Where codes live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeStorage {
    /// One table in memory, a row per node.
    Memory,
}

/// How vectors are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QuantizerSpec {
    /// Product quantization, one byte per sub-space.
    Pq {
        /// Bytes per code, which is the number of sub-spaces.
        code_bytes: u32,
    },
}

impl QuantizerSpec {
    /// Bytes per code.
    pub const fn code_bytes(self) -> u32 {
        match self {
            Self::Pq { code_bytes } => code_bytes,
        }
    }
}

/// What a search returns as id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdStorage {
    /// The row number in the data the index was built from; costs nothing.
    RowNumber,
    /// A 64-bit id of the user in each record, so that no map stays in memory.
    InRecord,
}

/// Axis 2: how records lie in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutSpec {
    /// Bytes of a page: 4096, 8192, ... 65536. A record larger than a page spans several.
    pub page_bytes: u32,
    /// What a page holds.
    pub codec: CodecSpec,
    /// Which nodes share a page.
    pub placement: PlacementSpec,
}

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodecSpec {
    /// Records of fixed size, each a vector and its adjacency list.
    Packed,
}

/// Which nodes share a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementSpec {
    /// In the order of the data.
    ById,
}

/// Axis 3: what stays in memory beside the codes. The bytes are what the memory budget leaves over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// What is kept per node.
    pub nodes: NodeCacheSpec,
}

/// What is kept per node, and for which nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeCacheSpec {
    /// Nothing.
    None,
    /// Whole records, breadth-first from the medoid.
    RecordsBreadthFirst,
}

/// Axis 4: how a query walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionSpec {
    /// Where a walk starts.
    pub entry: EntrySpec,
    /// Which reads are in flight, and what the walk waits for.
    pub schedule: ScheduleSpec,
    /// Which records of a page that was read are used.
    pub harvest: HarvestSpec,
    /// When exact distances are paid.
    pub refine: RefineSpec,
}

/// Where a walk starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntrySpec {
    /// At the vector nearest to the mean of all.
    Medoid,
}

/// Which reads are in flight, and what the walk waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScheduleSpec {
    /// Rounds: read the best `beam` candidates together, wait for all of them.
    Lockstep {
        /// Reads per round (W).
        beam: u32,
    },
}

impl ScheduleSpec {
    /// Reads in flight at most (W).
    pub const fn beam(self) -> u32 {
        match self {
            Self::Lockstep { beam } => beam,
        }
    }
}

/// Which records of a page that was read are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarvestSpec {
    /// The one the page was read for.
    Target,
}

/// When exact distances are paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefineSpec {
    /// As pages pass: each harvested record is scored exactly.
    Inline,
}

/// Axis 5: how changes reach the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateSpec {
    /// Not at all: the index is rebuilt.
    Static,
}
