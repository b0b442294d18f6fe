//! The plan of a build: sizes that follow from the two memory budgets, and refusals before any
//! work.

use pageway_graph::{Graph, VamanaSpec, build_bytes, placement_bytes, shard_max_degree};
use pageway_quant::{ComponentOrder, PqSpec, ProductQuantizer};
use pageway_store::machine;

use super::codebook::SharedCodebook;
use super::graph::{graph_bytes, shard_spec};
use super::order::{NodeOrder, placement};
use super::replicas::ReplicaPlan;

use crate::error::{Error, Result};
use crate::index::{least_memory, thread_count};
use crate::memory::{Ledger, MemoryWish, format_bytes};
use crate::options::{BuildInput, BuildOptions};
use crate::presets::Sizes;
use crate::resolve;
use crate::spec::{CodeStorage, CodecSpec, GraphSpec, IndexSpec, Shape};

/// Memory of a search when nobody says: a share of the raw vectors, and never less than this.
const DEFAULT_MEMORY: (f64, u64) = (0.2, 16_000_000);
/// Rows that quantizer and partition are trained on, at most: 256 per centroid.
const SAMPLE_ROWS: u64 = 65_536;
/// Fewest rows that a quantizer is trained on under a small budget, where there are so many.
const SAMPLE_ROWS_MIN: u64 = 2_048;
/// Fewest nodes of a shard: smaller ones would be too many.
const SHARD_NODES_MIN: u64 = 5_000;
/// Shards that a partition may have, per shard that the nodes would fill once: each node lies in
/// two, shards are filled to three quarters, and an uneven set may double their number.
const SHARDS_PER_FILL: u64 = 6;
/// Threads that memory is planned for where there are fewer: sample and shards must not depend on
/// how many there are.
const PLANNED_THREADS: usize = 16;
/// Buffers of blocks, writers and readers, in any stage.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
const STAGE_BYTES: u64 = 6 << 20;

/// How the graph is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GraphPlan {
    /// All vectors in memory at once.
    Whole,
    /// In overlapping shards of at most so many nodes.
    Shards { capacity: u32 },
}

/// What a build will do.
#[derive(Clone, Debug)]
pub(super) struct BuildPlan {
    pub(super) spec: IndexSpec,
    pub(super) node_count: u32,
    /// Memory of a search over the index.
    pub(super) memory_bytes: u64,
    /// Memory of the build.
    pub(super) budget_bytes: u64,
    pub(super) sample_rows: u64,
    pub(super) graph: GraphPlan,
    pub(super) threads: usize,
}

impl BuildPlan {
    /// Plans, or refuses with the smallest budget that would do.
    pub(super) fn new(
        input: &BuildInput<'_>,
        options: &BuildOptions,
        codebook: Option<&SharedCodebook>,
    ) -> Result<Self> {
        let node_count = check_counts(input)?;
        let vectors = input.vectors.shape();
        let shape = Shape {
            dimension: vectors.dimension,
            element: vectors.element,
            metric: options.metric,
        };
        let raw_bytes = u64::from(node_count) * vectors.row_bytes() as u64;
        let choice = SpecChoice {
            shape,
            options,
            sizes: sizes(input, options),
            code_bytes: options
                .code_bytes
                .or(codebook.map(SharedCodebook::code_bytes)),
            node_count,
        };
        let memory_bytes = choice.search_memory()?;
        let spec = choice.spec(memory_bytes)?;
        codebook.map_or(Ok(()), |codebook| codebook.check(&spec))?;
        let budget_bytes = options
            .build_memory
            .map_or_else(half_of_the_machine, |wish| wish.resolve(raw_bytes));
        let mut plan = Self {
            spec,
            node_count,
            memory_bytes,
            budget_bytes,
            sample_rows: SAMPLE_ROWS.min(node_count.into()),
            graph: GraphPlan::Whole,
            threads: thread_count(options.threads),
        };
        plan.fit(input.vectors.resident().is_some(), options)?;
        Ok(plan)
    }

    /// Parameters of the graph of a shard.
    pub(super) fn shard_vamana(&self) -> VamanaSpec {
        shard_spec(&self.spec, self.shard_degree())
    }

    /// Longest list of a shard's graph.
    pub(super) fn shard_degree(&self) -> u32 {
        shard_max_degree(self.spec.graph.max_degree())
    }

    pub(super) fn quantizer(&self) -> PqSpec {
        let code_bytes = self.spec.storage.quantizer.code_bytes();
        PqSpec {
            seed: self.spec.seed,
            ..PqSpec::new(code_bytes)
        }
    }

    /// The second quantizer, made to err differently from the first.
    pub(super) fn second_quantizer(&self) -> Option<PqSpec> {
        let code_bytes = self.spec.storage.second_quantizer?.code_bytes();
        Some(PqSpec {
            seed: !self.spec.seed,
            order: ComponentOrder::Strided,
            ..PqSpec::new(code_bytes)
        })
    }

    /// Chooses sample and graph plan so that no stage exceeds the budget.
    fn fit(&mut self, resident: bool, options: &BuildOptions) -> Result<()> {
        self.refuse_below_least(resident, options)?;
        while self.train_bytes(self.sample_rows) > self.budget_bytes {
            self.sample_rows = (self.sample_rows / 2).max(SAMPLE_ROWS_MIN);
        }
        let whole = self.whole_bytes(resident);
        if options.graph_from.is_some() {
            self.refuse_above("laying out the graph of another index", whole)?;
        }
        if whole > self.budget_bytes {
            self.graph = GraphPlan::Shards {
                capacity: self.shard_capacity(),
            };
        }
        Ok(())
    }

    /// Whether the graph can be built in shards: pages are then written from a stream of lists in
    /// the order of the data.
    fn can_shard(&self) -> bool {
        let spec = &self.spec;
        spec.nodes_are_rows()
            && matches!(spec.graph, GraphSpec::Vamana { .. })
            && match spec.layout.codec {
                CodecSpec::Packed | CodecSpec::InlineCodes | CodecSpec::Split => true,
                CodecSpec::Replicated { .. } | CodecSpec::PageNode { .. } => false,
            }
    }

    /// Whether the codes of all nodes are in memory while pages are written.
    pub(super) fn pages_hold_codes(&self) -> bool {
        self.spec.storage.codes != CodeStorage::Memory
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
        let replicated = matches!(self.spec.layout.codec, CodecSpec::Replicated { .. });
        let replicas = if replicated {
            ReplicaPlan::bytes(nodes)
        } else {
            0
        };
        placed + replicas + self.code_table_bytes()
    }

    fn code_table_bytes(&self) -> u64 {
        if !self.pages_hold_codes() {
            return 0;
        }
        u64::from(self.node_count) * u64::from(self.spec.storage.quantizer.code_bytes())
    }

    /// Refuses a budget that some stage cannot work with, and names the smallest that all can.
    fn refuse_below_least(&self, resident: bool, options: &BuildOptions) -> Result<()> {
        let searching = least_memory((&self.spec, self.node_count))?.reserved();
        let whole = self.whole_bytes(resident);
        let graph = if self.can_shard() {
            self.shard_bytes(SHARD_NODES_MIN).min(whole)
        } else {
            whole
        };
        let stages = [
            ("calibrating", searching + self.calibration_bytes(options)),
            (
                "training the codes",
                self.train_bytes(self.sample_rows.min(SAMPLE_ROWS_MIN)),
            ),
            ("building the graph and placing its nodes", graph),
        ];
        let most = stages.into_iter().max_by_key(|(_, bytes)| *bytes);
        most.map_or(Ok(()), |(stage, bytes)| self.refuse_above(stage, bytes))
    }

    /// Threads whose memory is planned for.
    fn planned_threads(&self) -> usize {
        self.threads.max(PLANNED_THREADS)
    }

    fn train_bytes(&self, sample_rows: u64) -> u64 {
        let dimension = self.spec.shape.dimension as usize;
        let rows = sample_rows as usize;
        let sample = rows as u64 * dimension as u64 * 4;
        let threads = self.planned_threads();
        let bytes = |spec: &PqSpec| ProductQuantizer::train_bytes(rows, dimension, spec, threads);
        let second = self.second_quantizer().map_or(0, |spec| bytes(&spec));
        STAGE_BYTES + sample + bytes(&self.quantizer()).max(second) as u64
    }

    /// Peak of a build in one piece. `resident` rows are the caller's memory, not ours.
    fn whole_bytes(&self, resident: bool) -> u64 {
        let nodes = u64::from(self.node_count);
        let rows = if resident {
            0
        } else {
            nodes * self.row_bytes()
        };
        let building = graph_bytes(&self.spec, nodes, self.planned_threads());
        let graph = Graph::bytes(nodes, self.spec.graph.max_degree());
        let writing = graph + self.writing_bytes();
        STAGE_BYTES + rows + nodes * NORM_BYTES + building.max(writing)
    }

    fn shard_bytes(&self, nodes: u64) -> u64 {
        let spec = self.shard_vamana();
        let per_node = self.row_bytes() + NORM_BYTES + size_of::<u32>() as u64;
        let shards = SHARDS_PER_FILL * u64::from(self.node_count).div_ceil(nodes);
        let buffers = shards * (super::spill::BUFFER_BYTES as u64 + self.row_bytes());
        let building = nodes * per_node + build_bytes(nodes, &spec, self.planned_threads());
        // Lists are merged when the rows of the last shard are gone.
        let merging = u64::from(self.node_count) * super::reach::NODE_BYTES;
        let merging = merging.max(self.code_table_bytes());
        STAGE_BYTES + buffers + building.max(merging)
    }

    /// The most nodes of a shard that the budget holds; the least fits.
    fn shard_capacity(&self) -> u32 {
        let high = u64::from(self.node_count);
        let (mut low, mut high) = (SHARD_NODES_MIN.min(high), high);
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

    /// Memory of the calibration beside the open index.
    pub(super) fn calibration_bytes(&self, options: &BuildOptions) -> u64 {
        let per_query = self.row_bytes() + 100 * (4 + 8 + 4 + 8) + 200;
        STAGE_BYTES + u64::from(options.calibration_queries) * per_query
    }

    fn refuse_above(&self, stage: &'static str, bytes: u64) -> Result<()> {
        if bytes <= self.budget_bytes {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a build memory of {} ({} B) is too small for {stage}; the smallest that works is \
             {bytes} B ({})",
            format_bytes(self.budget_bytes),
            self.budget_bytes,
            format_bytes(bytes)
        )))
    }

    fn row_bytes(&self) -> u64 {
        self.spec.shape.vectors().row_bytes() as u64
    }
}

/// What a vector set keeps per vector under the inner product.
const NORM_BYTES: u64 = 4;

fn check_counts(input: &BuildInput<'_>) -> Result<u32> {
    let count = input.vectors.count();
    if count == 0 {
        return Err(Error::invalid(format!("{}: holds no vectors", input.name)));
    }
    if let Some(ids) = input.ids.filter(|ids| ids.count() != count) {
        return Err(Error::invalid(format!(
            "{}: {} ids for the {count} vectors of {}",
            ids.name(),
            ids.count(),
            input.name
        )));
    }
    let shape = input.vectors.shape();
    if let Some(queries) = input.queries.filter(|queries| queries.shape() != shape) {
        return Err(Error::invalid(format!(
            "the calibration queries are {}, the vectors {shape}",
            queries.shape()
        )));
    }
    u32::try_from(count)
        .ok()
        .filter(|count| *count < u32::MAX)
        .ok_or_else(|| {
            Error::invalid(format!(
                "{}: {count} vectors; one index holds fewer than 2^32",
                input.name
            ))
        })
}

fn sizes(input: &BuildInput<'_>, options: &BuildOptions) -> Sizes {
    Sizes {
        max_degree: options.degree,
        build_list: options.build_list,
        alpha: options.alpha,
        page_bytes: options.page_bytes,
        beam: options.beam,
        user_ids: input.ids.is_some(),
        seed: options.seed,
        ..Sizes::default()
    }
}

/// What a spec is chosen by.
struct SpecChoice<'c> {
    shape: Shape,
    options: &'c BuildOptions,
    sizes: Sizes,
    /// Bytes per code, where they are given.
    code_bytes: Option<u32>,
    node_count: u32,
}

impl SpecChoice<'_> {
    /// The spec that makes the most of `memory_bytes`: with the longest codes that memory holds, up
    /// to a useful length; or, where codes may lie in pages, with as many of them in memory as it
    /// holds.
    fn spec(&self, memory_bytes: u64) -> Result<IndexSpec> {
        let fits = |spec: &IndexSpec| settle(spec, self.node_count, memory_bytes);
        let codes = self.with_codes(1).storage.codes;
        let code_bytes = match (self.code_bytes, codes) {
            (Some(code_bytes), _) => code_bytes,
            (None, CodeStorage::Memory) => {
                let useful = useful_code_bytes(self.shape.dimension);
                fits(&self.checked(1)?)?;
                largest(1, useful, |bytes| fits(&self.with_codes(bytes)).is_ok())
            }
            (None, CodeStorage::InPage | CodeStorage::Split { .. }) => {
                in_page_code_bytes(self.shape.dimension)
            }
        };
        let mut spec = self.checked(code_bytes)?;
        if let CodeStorage::Split { .. } = codes {
            let split = |memory_nodes| {
                let mut spec = spec.clone();
                spec.storage.codes = CodeStorage::Split { memory_nodes };
                spec
            };
            let most = largest(0, self.node_count, |nodes| fits(&split(nodes)).is_ok());
            spec = split(most);
        }
        fits(&spec)?;
        self.within_disk(spec)
    }

    fn with_codes(&self, code_bytes: u32) -> IndexSpec {
        let sizes = Sizes {
            code_bytes,
            ..self.sizes
        };
        let spec = self.options.preset.spec(self.shape, &sizes);
        self.options.overrides.apply(spec)
    }

    fn checked(&self, code_bytes: u32) -> Result<IndexSpec> {
        let spec = self.with_codes(code_bytes);
        spec.validate()?;
        Ok(spec)
    }

    /// Packs fewer lists beside a record, where the disk that was granted is too small for all.
    fn within_disk(&self, spec: IndexSpec) -> Result<IndexSpec> {
        let raw_bytes = self.raw_bytes();
        let Some(limit) = self.options.disk.map(|wish| wish.resolve(raw_bytes)) else {
            return Ok(spec);
        };
        let packed = |lists| {
            let mut spec = spec.clone();
            if let CodecSpec::Replicated { .. } = spec.layout.codec {
                spec.layout.codec = CodecSpec::Replicated { lists };
            }
            spec
        };
        let bytes = |spec: &IndexSpec| index_bytes(spec, self.node_count);
        let most = spec.layout.codec.packed_lists();
        let fits = |lists| bytes(&packed(lists)).is_ok_and(|bytes| bytes <= limit);
        let chosen = packed(largest(0, most, fits));
        let needed = bytes(&chosen)?;
        if needed <= limit {
            return Ok(chosen);
        }
        Err(Error::invalid(format!(
            "a disk limit of {} ({limit} B) is too small for this index; the smallest that works \
             is {needed} B ({})",
            format_bytes(limit),
            format_bytes(needed)
        )))
    }

    fn raw_bytes(&self) -> u64 {
        u64::from(self.node_count) * self.shape.vectors().row_bytes() as u64
    }

    /// Memory of a search: as wished, or a share of the raw vectors and never too little to search
    /// with.
    fn search_memory(&self) -> Result<u64> {
        let raw_bytes = self.raw_bytes();
        if let Some(wish) = self.options.memory {
            return Ok(wish.resolve(raw_bytes));
        }
        let spec = self.checked(self.code_bytes.unwrap_or(1))?;
        let (share, least) = DEFAULT_MEMORY;
        let needed = least_memory((&spec, self.node_count))?.reserved();
        let wished = MemoryWish::Share(share).resolve(raw_bytes);
        Ok(wished.max(least).max(needed))
    }
}

/// The largest value in `low ..= high` that fits; `low` where none does.
fn largest(low: u32, high: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

fn settle(spec: &IndexSpec, node_count: u32, memory_bytes: u64) -> Result<()> {
    let least = least_memory((spec, node_count))?;
    let mut ledger = Ledger::new(memory_bytes);
    least
        .entries()
        .iter()
        .for_each(|(part, bytes)| ledger.reserve(part, *bytes));
    ledger.settle("searching this index")
}

/// Longest code worth its bytes: beyond it, memory serves better as a cache of records.
fn useful_code_bytes(dimension: u32) -> u32 {
    (dimension / 3).max(dimension.min(32)).clamp(1, 384)
}

/// Code length where codes lie in pages, many times over: a quarter of the dimension for short
/// vectors, an eighth for long ones.
fn in_page_code_bytes(dimension: u32) -> u32 {
    (dimension / 8)
        .max(dimension.div_ceil(4).min(32))
        .clamp(1, 96)
}

/// Bytes of an index on disk, but for small files.
pub(crate) fn index_bytes(spec: &IndexSpec, node_count: u32) -> Result<u64> {
    let map = resolve::codec(spec, node_count)?.map();
    let records = u64::from(map.page_count()) * map.geometry.unit_bytes() as u64;
    let nodes = u64::from(node_count);
    let code_bytes = u64::from(spec.storage.quantizer.code_bytes());
    let codes = u64::from(spec.storage.codes_in_memory(node_count)) * code_bytes;
    let second = spec.storage.second_quantizer;
    let second = nodes * second.map_or(0, |second| u64::from(second.code_bytes()));
    let entry = resolve::entry_bytes(spec, node_count);
    let books = 2 * resolve::codebook_bytes(spec);
    Ok(records + codes + codes / 64 + second + second / 64 + 4 * nodes + entry + books)
}

/// The default build memory.
fn half_of_the_machine() -> u64 {
    machine::memory_bytes().map_or(u64::MAX, |bytes| bytes / 2)
}
