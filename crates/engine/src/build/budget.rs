//! The plan of a build: sizes that follow from the two memory budgets, and refusals before any
//! work.

use pageway_graph::{Graph, clusters_bytes, placement_bytes, shard_max_degree};
use pageway_quant::{Quantizer, TrainingSpec};
use pageway_store::machine;
use pageway_types::ElementType;

use super::choose::{OrRefused, Refused, SpecChoice};
use super::codebook::SharedCodebook;
use super::cut::Cut;
use super::donor::{DONOR_BYTES, DONOR_ROW_BYTES, held_bytes};
use super::encode::Quantizers;
use super::entry::entry_building_bytes;
use super::graph::{Algorithm, algorithm, shard_algorithm};
use super::order::{NodeOrder, placement};
use super::reach::reach_bytes;
use super::replicas::ReplicaPlan;
use super::rewrite::REWRITE_BYTES;
use super::spill::shared_buffer_bytes;
use super::thrift::Thrift;

use crate::error::{Error, Result};
use crate::filter::filter_bytes;
use crate::memory::{format_budget, format_bytes};
use crate::options::{BuildInput, BuildOptions};
use crate::plan::least_memory;
use crate::presets::Sizes;
use crate::resolve;
use crate::spec::{IndexSpec, MAX_DEGREE, QuantizerSpec, Shape};
use crate::threads::thread_count;

/// Rows that quantizer and partition are trained on, at most: 256 per centroid.
const SAMPLE_ROWS: u64 = 65_536;
/// Fewest rows that a quantizer is trained on under a small budget, where there are so many.
const SAMPLE_ROWS_MIN: u64 = 2_048;
/// Fewest nodes of a shard: smaller ones would be too many.
const SHARD_NODES_MIN: u64 = 5_000;
/// Shards that a partition may have, per shard that the nodes would fill once: each node lies in
/// two, shards are filled to three quarters, and an uneven set may double their number.
pub(super) const SHARDS_PER_FILL: u64 = 6;
/// Threads that memory is planned for where there are fewer and it allows: sample and shards must
/// not depend on how many there are.
const PLANNED_THREADS: usize = 16;
/// Memory of a build in pieces: so much, and one in so many bytes of the raw vectors. More makes no
/// larger pieces, so that the bytes of an index do not depend on it.
const USUAL_BYTES: u64 = 64_000_000;
const USUAL_SHARE: u64 = 100;
/// Buffers of blocks, writers and readers, in any stage.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
pub(super) const STAGE_BYTES: u64 = 6 << 20;
/// Lists, codes and rows of neighbours that are read for a batch of pages.
const PAGING_BYTES: u64 = 12 << 20;

/// How the graph is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GraphPlan {
    /// All vectors in memory at once.
    Whole,
    /// In overlapping shards of at most so many nodes; placed in windows of at most so many, where
    /// nodes are placed by their edges.
    Shards { capacity: u32, window: Option<u32> },
    /// From the lists of segments that there are.
    Kept,
    /// From the lists of another index, on disk; placed in windows of at most so many.
    Taken { window: Option<u32> },
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
        /// Rows that stand in for queries where recall is measured on it; none where it is not.
        calibration_queries: u32,
        /// Whether the lists of the segments that its rows come from are joined.
        joins: bool,
    },
}

impl BuildKind {
    const fn trains(self) -> bool {
        matches!(self, Self::Whole | Self::Added { trains: true, .. })
    }
}

impl GraphPlan {
    /// Nodes of a shard at most, where there are any.
    pub(super) const fn capacity(self) -> Option<u32> {
        match self {
            Self::Whole | Self::Kept | Self::Taken { .. } => None,
            Self::Shards { capacity, .. } => Some(capacity),
        }
    }

    /// Nodes of a window at most, where there are any.
    pub(super) const fn window(self) -> Option<u32> {
        match self {
            Self::Whole | Self::Kept => None,
            Self::Shards { window, .. } | Self::Taken { window } => window,
        }
    }
}

/// Threads of a build.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuildThreads {
    /// Those that work.
    pub(super) working: usize,
    /// Those whose memory is planned for: sample, parts and shards depend on it.
    pub(super) planned: usize,
}

/// What a build will do.
#[derive(Clone, Debug)]
pub(super) struct BuildPlan {
    pub(super) kind: BuildKind,
    pub(super) spec: IndexSpec,
    /// Nodes of a segment: of the longest, before the rows of one are known.
    pub(super) node_count: u32,
    /// How rows become segments.
    pub(super) cut: Cut,
    /// Memory of a search over all segments, and what one of them may take of it.
    pub(super) index_memory: u64,
    pub(super) memory_bytes: u64,
    /// Memory of the build, beside the order of its rows.
    pub(super) budget_bytes: u64,
    pub(super) sample_rows: u64,
    /// Rows of a part at most, where rows are put in the order of nodes part by part.
    pub(super) parts: Option<u32>,
    pub(super) graph: GraphPlan,
    pub(super) threads: BuildThreads,
    /// Why it is not of another form, where memory of the build is the reason.
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
                threads: BuildThreads {
                    working,
                    planned: working.max(PLANNED_THREADS),
                },
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

    /// The plan of a segment of `node_count` rows, which are not more than those of the longest.
    pub(super) fn of_segment(&self, node_count: u32) -> Self {
        let mut plan = self.clone();
        plan.node_count = node_count;
        plan.sample_rows = self.sample_rows.min(node_count.into());
        plan
    }

    /// The plan with codes as long as those of quantizers that were trained for it.
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

    /// Whether the graph joins those that there are over parts of the rows.
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

    pub(super) fn quantizer(&self) -> TrainingSpec {
        resolve::training(&self.spec)
    }

    pub(super) fn second_quantizer(&self) -> Option<TrainingSpec> {
        resolve::second_training(&self.spec)
    }

    /// Chooses sample, parts and graph plan so that no stage exceeds the budget.
    pub(super) fn fit(&mut self, resident: bool, options: &BuildOptions) -> OrRefused<()> {
        let is_taken = options.graph_from.is_some() && !self.has_clusters();
        if is_taken {
            self.graph = GraphPlan::Taken { window: None };
        }
        self.settle_threads(resident, options)?;
        if self.whole_bytes(resident, SAMPLE_ROWS_MIN) > self.budget_bytes {
            self.cut_into_pieces(resident);
        } else {
            self.graph = GraphPlan::Whole;
            self.settle_sample(resident);
        }
        Ok(())
    }

    /// Chooses the sizes of pieces, and of the sample, which fit. Memory beyond what pieces usually
    /// take changes none of them, so it changes no byte of the index.
    fn cut_into_pieces(&mut self, resident: bool) {
        let given = (self.budget_bytes, self.threads.planned);
        self.threads.planned = 1;
        let usual = self.usual_bytes().max(self.least_of_pieces() + USUAL_BYTES);
        self.budget_bytes = self.budget_bytes.min(usual);
        self.threads.planned = given.1.max(PLANNED_THREADS);
        while self.threads.planned > 1 && self.least_of_pieces() > self.budget_bytes {
            self.threads.planned /= 2;
        }
        self.parts = self.can_part().then(|| self.part_capacity());
        if !self.has_clusters() {
            let window = self.places_by_edges().then(|| self.window_capacity());
            self.graph = if self.is_taken() {
                GraphPlan::Taken { window }
            } else {
                let capacity = self.shard_capacity();
                GraphPlan::Shards { capacity, window }
            };
        }
        self.settle_sample(resident);
        self.budget_bytes = given.0;
        self.threads.working = self.threads.working.min(self.threads.planned);
    }

    /// The least that pieces, and codes trained on few rows, take.
    fn least_of_pieces(&self) -> u64 {
        let training = self.train_bytes(self.sample_rows.min(SAMPLE_ROWS_MIN), self.can_part());
        self.piecewise_bytes().unwrap_or(0).max(training)
    }

    fn settle_sample(&mut self, resident: bool) {
        while self.sample_rows > SAMPLE_ROWS_MIN && self.peak_bytes(resident) > self.budget_bytes {
            self.sample_rows = (self.sample_rows / 2).max(SAMPLE_ROWS_MIN);
        }
    }

    /// Memory that the pieces of a build are made for, where there is so much.
    pub(super) fn usual_bytes(&self) -> u64 {
        USUAL_BYTES + u64::from(self.node_count) * self.row_bytes() / USUAL_SHARE
    }

    /// Plans to keep the lists of segments, of which the largest has so many nodes, where memory is
    /// enough for that.
    pub(super) fn keep_lists(&mut self, largest: u32) -> Result<()> {
        if rewrite_bytes(&self.spec, (self.node_count, largest))? <= self.budget_bytes {
            (self.graph, self.parts) = (GraphPlan::Kept, None);
        }
        Ok(())
    }

    /// Halves the threads until what each needs for itself fits the budget with the rest.
    fn settle_threads(&mut self, resident: bool, options: &BuildOptions) -> OrRefused<()> {
        let fits = |plan: &Self| plan.refuse_below_least(resident, options);
        while self.threads.planned > 1 && fits(self).is_err() {
            self.threads.planned /= 2;
        }
        self.threads.working = self.threads.working.min(self.threads.planned);
        fits(self)
    }

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

    /// The least that it takes to make a graph that lies on disk from then on; none where that
    /// cannot be.
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

    /// Whether the graph is that of another index.
    const fn is_taken(&self) -> bool {
        matches!(self.graph, GraphPlan::Taken { .. })
    }

    /// Peak while the graph of another index is copied.
    fn taking_bytes(&self) -> u64 {
        let row = u64::from(self.can_part()) * DONOR_ROW_BYTES;
        STAGE_BYTES + DONOR_BYTES + u64::from(self.node_count) * row
    }

    /// The least that a build takes which does not hold all rows; none where there is no such.
    fn piecewise_bytes(&self) -> Option<u64> {
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

    /// Whether codes that pages hold are read from a temporary file: where memory does not hold
    /// those of all nodes beside the rest.
    pub(super) fn codes_wait_on_disk(&self) -> bool {
        let on_disk = matches!(
            self.graph,
            GraphPlan::Shards { .. } | GraphPlan::Taken { .. }
        );
        on_disk && self.paging_bytes(self.code_table_bytes()) > self.budget_bytes
    }

    /// Peak while entries are found and pages written of a graph on disk, `held` bytes of codes in
    /// memory.
    pub(super) fn paging_bytes(&self, held: u64) -> u64 {
        let nodes = u64::from(self.node_count);
        let replicas = if self.spec.layout.codec.is_replicated() {
            ReplicaPlan::bytes(nodes)
        } else {
            0
        };
        let entry = entry_building_bytes(&self.spec, self.node_count);
        let names_others = self.pages_hold_codes() || self.spec.layout.codec.is_replicated();
        let paging = u64::from(names_others) * PAGING_BYTES;
        STAGE_BYTES + held + entry.max(replicas + paging)
    }

    /// Whether the codes of all nodes are in memory while pages are written.
    pub(super) fn pages_hold_codes(&self) -> bool {
        !self.spec.storage.codes.is_memory()
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
        let replicas = if self.spec.layout.codec.is_replicated() {
            ReplicaPlan::bytes(nodes)
        } else {
            0
        };
        placed + replicas + self.code_table_bytes()
    }

    pub(super) fn code_table_bytes(&self) -> u64 {
        if !self.pages_hold_codes() {
            return 0;
        }
        u64::from(self.node_count) * u64::from(self.spec.storage.quantizer.code_bytes())
    }

    /// Refuses a budget that some stage cannot work with, and names the smallest that all can.
    fn refuse_below_least(&self, resident: bool, options: &BuildOptions) -> OrRefused<()> {
        let whole = self.whole_bytes(resident, SAMPLE_ROWS_MIN);
        let graph = self
            .piecewise_bytes()
            .map_or(whole, |bytes| bytes.min(whole));
        // An index says itself what was not measured; who adds to one counts on it.
        let measuring = match self.kind {
            BuildKind::Whole => 0,
            BuildKind::Added { .. } => self.measuring_bytes(options)?,
        };
        let stages = [
            ("calibrating", measuring),
            (
                "training the codes",
                self.train_bytes(self.sample_rows.min(SAMPLE_ROWS_MIN), self.can_part()),
            ),
            ("building the graph and placing its nodes", graph),
        ];
        let most = stages.into_iter().max_by_key(|(_, bytes)| *bytes);
        most.map_or(Ok(()), |(stage, bytes)| self.refuse_above(stage, bytes))
    }

    /// Peak while codes are trained; rows that are put in order part by part are in it by then.
    fn train_bytes(&self, sample_rows: u64, in_parts: bool) -> u64 {
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
        // Where codes are made around clusters, these were found before.
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
    fn whole_bytes(&self, resident: bool, sample_rows: u64) -> u64 {
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

    fn shard_bytes(&self, nodes: u64) -> u64 {
        let shape = self.spec.shape.vectors();
        let graph = self.shard_algorithm().map_or(u64::MAX, |algorithm| {
            algorithm.bytes(shape, nodes, self.threads.planned)
        });
        let per_node = self.row_bytes() + NORM_BYTES + size_of::<u32>() as u64;
        let shards = SHARDS_PER_FILL * u64::from(self.node_count).div_ceil(nodes);
        let buffers = shards * (shared_buffer_bytes(shards) as u64 + self.row_bytes());
        let building = (nodes * per_node).saturating_add(graph);
        // Lists are linked when the rows of the last shard are gone.
        let merging = reach_bytes(self.node_count.into(), self.spec.graph.max_degree());
        (STAGE_BYTES + buffers).saturating_add(building.max(merging))
    }

    /// How many nodes a shard holds at most where least memory is needed: more take it themselves,
    /// fewer make more shards, each with a buffer. One where there are no nodes.
    fn least_shard(&self) -> u64 {
        let all = u64::from(self.node_count).max(1);
        let sizes = std::iter::successors(Some(SHARD_NODES_MIN), |nodes| Some(nodes * 2));
        let sizes = sizes.take_while(|nodes| *nodes < all);
        let least = sizes.min_by_key(|nodes| self.shard_bytes(*nodes));
        least.unwrap_or(all)
    }

    /// The most nodes of a shard that the budget holds; the least fits.
    fn shard_capacity(&self) -> u32 {
        let low = self.least_shard();
        let (mut low, mut high) = (low, u64::from(self.node_count).max(low));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.shard_bytes(middle) <= self.budget_bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low as u32
    }

    /// Memory of the build, all of it.
    pub(super) const fn build_memory(&self) -> u64 {
        self.budget_bytes.saturating_add(self.cut.order_bytes())
    }

    fn refuse_above(&self, stage: &'static str, bytes: u64) -> OrRefused<()> {
        if bytes <= self.budget_bytes {
            return Ok(());
        }
        let bytes = bytes + self.cut.order_bytes();
        let error = Error::invalid(format!(
            "a build memory of {} is too small for {stage}; the smallest that works is {bytes} B \
             ({})",
            format_budget(self.build_memory()),
            format_bytes(bytes)
        ));
        Err(Refused::while_building(error, bytes))
    }

    pub(super) fn row_bytes(&self) -> u64 {
        self.spec.shape.vectors().row_bytes() as u64
    }
}

/// What it takes to keep the lists of segments with so many rows together, of which the largest has
/// so many nodes and is searched.
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

/// What a vector set keeps per vector under the inner product and the cosine.
pub(super) const NORM_BYTES: u64 = 4;
/// An id, which rows of segments have.
pub(super) const ID_BYTES: u64 = 8;

/// A degree that no list may have is refused by designs without lists too.
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
