//! The plan of a build: sizes that follow from the two memory budgets, and refusals before any
//! work.

use pageway_graph::{VamanaSpec, build_bytes, shard_max_degree};
use pageway_quant::{PqSpec, ProductQuantizer};
use pageway_store::machine;

use crate::error::{Error, Result};
use crate::index::{least_memory, thread_count};
use crate::memory::{Ledger, MemoryWish, format_bytes};
use crate::options::{BuildInput, BuildOptions};
use crate::presets::Sizes;
use crate::spec::{GraphSpec, IndexSpec, Shape};

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
    pub(super) fn new(input: &BuildInput<'_>, options: &BuildOptions) -> Result<Self> {
        let node_count = check_counts(input)?;
        let vectors = input.vectors.shape();
        let shape = Shape {
            dimension: vectors.dimension,
            element: vectors.element,
            metric: options.metric,
        };
        let raw_bytes = u64::from(node_count) * vectors.row_bytes() as u64;
        let sizes = sizes(input, options);
        let memory_bytes = search_memory(shape, options, sizes, node_count)?;
        let spec = choose_spec(shape, options, sizes, (node_count, memory_bytes))?;
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

    /// The graph's own parameters, for a graph of `max_degree`.
    pub(super) fn vamana(&self, max_degree: u32) -> VamanaSpec {
        let GraphSpec::Vamana {
            build_list, alpha, ..
        } = self.spec.graph;
        VamanaSpec {
            max_degree,
            build_list,
            alpha,
            seed: self.spec.seed,
        }
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

    /// Chooses sample and graph plan so that no stage exceeds the budget.
    fn fit(&mut self, resident: bool, options: &BuildOptions) -> Result<()> {
        self.refuse_below_least(resident, options)?;
        while self.train_bytes(self.sample_rows) > self.budget_bytes {
            self.sample_rows = (self.sample_rows / 2).max(SAMPLE_ROWS_MIN);
        }
        if self.whole_bytes(resident) > self.budget_bytes {
            self.graph = GraphPlan::Shards {
                capacity: self.shard_capacity(),
            };
        }
        Ok(())
    }

    /// Refuses a budget that some stage cannot work with, and names the smallest that all can.
    fn refuse_below_least(&self, resident: bool, options: &BuildOptions) -> Result<()> {
        let searching = least_memory((&self.spec, self.node_count))?.reserved();
        let graph = self.shard_bytes(SHARD_NODES_MIN);
        let stages = [
            ("calibrating", searching + self.calibration_bytes(options)),
            (
                "training the codes",
                self.train_bytes(self.sample_rows.min(SAMPLE_ROWS_MIN)),
            ),
            ("building the graph", graph.min(self.whole_bytes(resident))),
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
        let training = ProductQuantizer::train_bytes(
            rows,
            dimension,
            &self.quantizer(),
            self.planned_threads(),
        );
        STAGE_BYTES + sample + training as u64
    }

    /// Peak of a build in one piece. `resident` rows are the caller's memory, not ours.
    fn whole_bytes(&self, resident: bool) -> u64 {
        let nodes = u64::from(self.node_count);
        let rows = if resident {
            0
        } else {
            nodes * self.row_bytes()
        };
        let spec = self.vamana(self.spec.graph.max_degree());
        STAGE_BYTES + rows + nodes * NORM_BYTES + build_bytes(nodes, &spec, self.planned_threads())
    }

    fn shard_bytes(&self, nodes: u64) -> u64 {
        let spec = self.vamana(self.shard_degree());
        let per_node = self.row_bytes() + NORM_BYTES + size_of::<u32>() as u64;
        let shards = SHARDS_PER_FILL * u64::from(self.node_count).div_ceil(nodes);
        let buffers = shards * (super::spill::BUFFER_BYTES as u64 + self.row_bytes());
        let building = nodes * per_node + build_bytes(nodes, &spec, self.planned_threads());
        // Lists are merged when the rows of the last shard are gone.
        let merging = u64::from(self.node_count) * super::reach::NODE_BYTES;
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
        user_ids: input.ids.is_some(),
        seed: options.seed,
        ..Sizes::default()
    }
}

/// The spec with the longest codes that the search memory holds, up to a useful length; or with
/// those of the user.
fn choose_spec(
    shape: Shape,
    options: &BuildOptions,
    sizes: Sizes,
    (node_count, memory_bytes): (u32, u64),
) -> Result<IndexSpec> {
    let spec = |code_bytes| {
        options.preset.spec(
            shape,
            &Sizes {
                code_bytes,
                ..sizes
            },
        )
    };
    if let Some(code_bytes) = options.code_bytes {
        let spec = spec(code_bytes);
        spec.validate()?;
        settle(&spec, node_count, memory_bytes)?;
        return Ok(spec);
    }
    spec(1).validate()?;
    let (mut low, mut high) = (1, useful_code_bytes(shape.dimension));
    settle(&spec(low), node_count, memory_bytes)?;
    while low < high {
        let middle = (low + high).div_ceil(2);
        if settle(&spec(middle), node_count, memory_bytes).is_ok() {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(spec(low))
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

/// Memory of a search: as wished, or a share of the raw vectors and never too little to search
/// with.
fn search_memory(
    shape: Shape,
    options: &BuildOptions,
    sizes: Sizes,
    node_count: u32,
) -> Result<u64> {
    let raw_bytes = u64::from(node_count) * shape.vectors().row_bytes() as u64;
    if let Some(wish) = options.memory {
        return Ok(wish.resolve(raw_bytes));
    }
    let code_bytes = options.code_bytes.unwrap_or(1);
    let sizes = Sizes {
        code_bytes,
        ..sizes
    };
    let spec = options.preset.spec(shape, &sizes);
    spec.validate()?;
    let (share, least) = DEFAULT_MEMORY;
    let needed = least_memory((&spec, node_count))?.reserved();
    let wished = MemoryWish::Share(share).resolve(raw_bytes);
    Ok(wished.max(least).max(needed))
}

/// The default build memory.
fn half_of_the_machine() -> u64 {
    machine::memory_bytes().map_or(u64::MAX, |bytes| bytes / 2)
}
