//! What a build will do: its kind, the spec, how its rows are cut, and the sizes that fit its
//! memory.

use pageway_graph::shard_max_degree;
use pageway_quant::{Quantizer, TrainingSpec};
use pageway_store::machine;
use pageway_types::ElementType;

use super::budget::{PLANNED_THREADS, SAMPLE_ROWS};
use super::choose::SpecChoice;
use super::codebook::SharedCodebook;
use super::cut::Cut;
use super::encode::Quantizers;
use super::graph::{Algorithm, shard_algorithm};
use super::thrift::Thrift;

use crate::error::{Error, Result};
use crate::filter::filter_bytes;
use crate::options::{BuildInput, BuildOptions};
use crate::presets::Sizes;
use crate::resolve;
use crate::spec::{IndexSpec, MAX_DEGREE, QuantizerSpec, Shape};
use crate::threads::thread_count;

/// How the graph is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GraphPlan {
    /// All vectors in memory at once.
    Whole,
    /// In overlapping shards of at most `capacity` nodes; placed in windows of at most `window`
    /// nodes, if nodes are placed by their edges.
    Shards { capacity: u32, window: Option<u32> },
    /// From the lists of existing segments.
    Kept,
    /// From the lists of another index, on disk; placed in windows of at most `window` nodes, if
    /// nodes are placed by their edges.
    Taken { window: Option<u32> },
}

impl GraphPlan {
    /// Nodes of a shard at most; `None` without shards.
    pub(super) const fn capacity(self) -> Option<u32> {
        match self {
            Self::Whole | Self::Kept | Self::Taken { .. } => None,
            Self::Shards { capacity, .. } => Some(capacity),
        }
    }

    /// Nodes of a window at most; `None` without windows.
    pub(super) const fn window(self) -> Option<u32> {
        match self {
            Self::Whole | Self::Kept => None,
            Self::Shards { window, .. } | Self::Taken { window } => window,
        }
    }
}

/// What is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BuildKind {
    /// An index.
    Whole,
    /// A segment that is added to one.
    Added {
        /// Whether its quantizers are trained, or taken over.
        trains: bool,
        /// Rows that stand in for queries, if it is calibrated; 0 if not.
        calibration_queries: u32,
        /// Whether the lists of the segments that its rows come from are joined.
        joins: bool,
    },
}

impl BuildKind {
    /// Whether quantizers are trained.
    pub(super) const fn trains(self) -> bool {
        matches!(self, Self::Whole | Self::Added { trains: true, .. })
    }
}

/// Threads of a build.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuildThreads {
    /// Threads that were asked for: searches share their memory, so that all of them may.
    pub(super) asked: usize,
    /// Threads that work.
    pub(super) working: usize,
    /// Threads whose memory is planned for; sample, parts and shards depend on their number.
    pub(super) planned: usize,
}

impl BuildThreads {
    /// All that were asked for, and the memory of so many.
    pub(super) const fn of(asked: usize, planned: usize) -> Self {
        Self {
            asked,
            working: asked,
            planned,
        }
    }
}

/// What a build will do.
#[derive(Clone, Debug)]
pub(super) struct BuildPlan {
    pub(super) kind: BuildKind,
    pub(super) spec: IndexSpec,
    /// Nodes of the segment; of the longest in a plan for all segments.
    pub(super) node_count: u32,
    /// How rows become segments.
    pub(super) cut: Cut,
    /// Memory of searches over all segments, and the part of one segment.
    pub(super) index_memory: u64,
    pub(super) memory_bytes: u64,
    /// Memory of the build, beside the order of its rows.
    pub(super) budget_bytes: u64,
    pub(super) sample_rows: u64,
    /// Rows of a part at most, if rows are put in the order of nodes part by part.
    pub(super) parts: Option<u32>,
    pub(super) graph: GraphPlan,
    pub(super) threads: BuildThreads,
    /// Why another form was passed over, if memory of the build is the reason.
    pub(super) passed_over: Option<String>,
}

impl BuildPlan {
    /// Plans, or refuses with the smallest budget that would do.
    ///
    /// `element` is what rows are stored in.
    pub(super) fn new(
        (input, element): (&BuildInput<'_>, ElementType),
        options: &BuildOptions,
        codebook: Option<&SharedCodebook>,
    ) -> Result<Self> {
        check_degree(options.degree)?;
        let cut = Cut::of(input, options)?;
        let node_count = cut.longest();
        let vectors = input.vectors.shape();
        let shape = Shape {
            dimension: vectors.dimension,
            element,
            metric: options.metric,
        };
        let choice = SpecChoice {
            shape,
            options,
            sizes: Sizes {
                // Rows that are put in another order are known by their numbers in the data.
                user_ids: input.ids.is_some() || cut.is_by_space(),
                ..options.sizes()
            },
            code_bytes: options
                .code_bytes
                .or(codebook.map(SharedCodebook::code_bytes)),
            cut,
            row_bytes: vectors.row_bytes() as u64,
            filters: match input.attributes {
                Some(_) => filter_bytes(cut.rows(), cut.longest()),
                None => 0,
            },
            thrift: Thrift::default(),
        };
        let index_memory = choice.search_memory();
        let memory_bytes = cut.least_share(index_memory);
        let budget_bytes = options
            .build_memory
            .map_or_else(half_of_the_machine, |wish| wish.resolve(choice.raw_bytes()))
            .saturating_sub(cut.order_bytes());
        let (plan, passed_over) = choice.first(index_memory, |spec| {
            codebook.map_or(Ok(()), |codebook| codebook.check(&spec))?;
            let working = thread_count(options.threads);
            let mut plan = Self {
                kind: BuildKind::Whole,
                spec,
                node_count,
                cut,
                index_memory,
                memory_bytes,
                budget_bytes,
                sample_rows: SAMPLE_ROWS.min(cut.rows().into()),
                parts: None,
                graph: GraphPlan::Whole,
                threads: BuildThreads::of(working, working.max(PLANNED_THREADS)),
                passed_over: None,
            };
            // Rows that are narrowed are copied.
            let resident = input.vectors.resident().is_some() && element == vectors.element;
            let resident = resident && !cut.is_by_space();
            plan.fit(resident, options)?;
            Ok(plan)
        })?;
        Ok(Self {
            passed_over,
            ..plan
        })
    }

    /// The plan of a segment of `node_count` rows, no more than those of the longest.
    pub(super) fn of_segment(&self, node_count: u32) -> Self {
        let mut plan = self.clone();
        plan.node_count = node_count;
        plan.sample_rows = self.sample_rows.min(node_count.into());
        plan
    }

    /// The plan of rows that were looked at; `below_two` if all components are below 2 in size.
    pub(super) fn for_rows(&self, below_two: bool) -> Result<Self> {
        let mut plan = self.clone();
        plan.spec = self.spec.for_rows(self.node_count, below_two)?;
        Ok(plan)
    }

    /// The plan with the code lengths of the trained quantizers.
    pub(super) fn with_codes_of(&self, quantizers: &Quantizers) -> Self {
        let mut plan = self.clone();
        let adopt = |spec: &mut QuantizerSpec, quantizer: &Quantizer| {
            *spec = spec.with_code_bytes(quantizer.code_bytes() as u32);
        };
        let storage = &mut plan.spec.storage;
        adopt(&mut storage.quantizer, &quantizers.first.0);
        let second = (&mut storage.second_quantizer, &quantizers.second);
        if let (Some(spec), Some((second, _))) = second {
            adopt(spec, second);
        }
        plan
    }

    /// Whether the graph is joined from graphs over parts of the rows.
    pub(super) const fn joins(&self) -> bool {
        matches!(self.kind, BuildKind::Added { joins: true, .. })
    }

    /// How the graph of a shard is built; `None` where there are no shards.
    pub(super) fn shard_algorithm(&self) -> Option<Algorithm> {
        shard_algorithm(&self.spec, self.shard_degree())
    }

    /// Longest list of a shard's graph.
    pub(super) fn shard_degree(&self) -> u32 {
        shard_max_degree(self.spec.graph.max_degree())
    }

    /// Whether candidates come from clusters.
    pub(super) fn has_clusters(&self) -> bool {
        resolve::cluster_spec(&self.spec).is_some()
    }

    /// Whether the graph is that of another index.
    pub(super) const fn is_taken(&self) -> bool {
        matches!(self.graph, GraphPlan::Taken { .. })
    }

    /// Whether the codes of all nodes are in memory while pages are written.
    pub(super) fn pages_hold_codes(&self) -> bool {
        !self.spec.storage.codes.is_memory()
    }

    pub(super) fn quantizer(&self) -> TrainingSpec {
        resolve::training(&self.spec)
    }

    pub(super) fn second_quantizer(&self) -> Option<TrainingSpec> {
        resolve::second_training(&self.spec)
    }

    pub(super) fn row_bytes(&self) -> u64 {
        self.spec.shape.vectors().row_bytes() as u64
    }

    /// Memory of the build, all of it.
    pub(super) const fn build_memory(&self) -> u64 {
        self.budget_bytes.saturating_add(self.cut.order_bytes())
    }
}

/// Refuses a degree out of range, also for designs without lists.
fn check_degree(degree: u32) -> Result<()> {
    if (1..=MAX_DEGREE).contains(&degree) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "max_degree = {degree} is not possible: it must lie between 1 and {MAX_DEGREE}"
    )))
}

/// The default build memory.
fn half_of_the_machine() -> u64 {
    machine::memory_limit_bytes().map_or(u64::MAX, |bytes| bytes / 2)
}
