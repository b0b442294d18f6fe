//! Clusters under a memory budget: rows are dealt into parts that are near each other, and the
//! clusters of one part are found at a time.
//!
//! ```text
//!  rows -deal-> part 0: (row, id)... -clusters-> rows in their order -+
//!           \-> part 1: (row, id)... -clusters-> rows in their order -+-> rows, ids, table
//! ```
//! Each pass is sequential, but for one over a part, which memory holds. What comes out is the rows
//! in the order of nodes, so everything after it is sequential too. A part that was read goes
//! before the next is: both copies of the rows together take little more than one.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use pageway_graph::{
    ClusterCount, ClusterSpec, Clusters, Partition, PartitionSpec, VectorSet, clusters_bytes, plan,
    some_clusters,
};
use pageway_quant::normalise;
use pageway_types::{Metric, Progress, VectorRead, VectorShape};
use rayon::ThreadPool;

use super::budget::{BLOCK_BYTES, BuildKind, BuildPlan, ID_BYTES, NORM_BYTES, STAGE_BYTES};
use super::clusters::{CLIPPED, table_of};
use super::codes::widened_sample;
use super::outliers::clip;
use super::spill::{BUFFER_BYTES, Spill, SpillWriter};
use super::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::options::BuildInput;
use crate::resolve;
use crate::source::{IdRead, Inspection, RowBlocks, inspect_rows};
use crate::storage::ClusterTable;

/// Fewest rows of a part: clusters of fewer would be cut off from what is near.
const PART_ROWS_MIN: u64 = 4096;
/// What a row takes while it is sorted by its cluster.
const SORTED_BYTES: u64 = 16;
/// Parts that there may be for each that the rows fill: they are filled to three quarters, and an
/// uneven set may double their number.
const PARTS_PER_FILL: u64 = 3;
/// Rows that are dealt at a time, in bytes: their distances to all parts are held.
const DEAL_BYTES: usize = 256 << 10;

impl BuildPlan {
    /// Whether nodes can be put in order part by part: where they have clusters, and rows come with
    /// ids and go nowhere else.
    pub(super) fn can_part(&self) -> bool {
        self.has_clusters() && self.kind != BuildKind::Whole
    }

    /// How many rows a part holds at most where least memory is needed: more take it themselves,
    /// fewer make more parts, each with a buffer.
    pub(super) fn least_part(&self) -> u64 {
        let nodes = u64::from(self.node_count);
        let buffers = PARTS_PER_FILL * nodes * (BUFFER_BYTES as u64 + self.row_bytes());
        let row = self.row_bytes() + ID_BYTES + NORM_BYTES + SORTED_BYTES;
        (buffers / row).isqrt().max(PART_ROWS_MIN).min(nodes)
    }

    /// Peak while clusters of at most `rows` rows at a time are found.
    pub(super) fn part_bytes(&self, rows: u64) -> u64 {
        let Some(spec) = resolve::cluster_spec(&self.spec) else {
            return u64::MAX;
        };
        let (shape, nodes) = (self.spec.shape, u64::from(self.node_count));
        let parts = PARTS_PER_FILL * nodes.div_ceil(rows.max(1));
        let buffers = parts * (BUFFER_BYTES as u64 + self.row_bytes());
        let threads = self.planned_threads();
        let one = rows * (self.row_bytes() + ID_BYTES + NORM_BYTES)
            + clusters_bytes(rows, shape.vectors(), shape.metric, &spec, threads);
        let means = spec.clusters(self.node_count) + spec.groups(self.node_count);
        // Each vector of means may have grown to twice what it holds.
        let means = 2 * u64::from(means) * (u64::from(shape.dimension) + 2) * 4;
        let table = resolve::entry_bytes(&self.spec, self.node_count);
        STAGE_BYTES + buffers + means + one.max(table)
    }

    /// The most rows of a part that the budget holds; the least fits.
    pub(super) fn part_capacity(&self) -> u32 {
        let (mut low, mut high) = (self.least_part(), u64::from(self.node_count));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.part_bytes(middle) <= self.budget_bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low as u32
    }
}

/// Rows with their ids in the order of nodes, in temporary files.
pub(super) struct OrderedRows {
    shape: VectorShape,
    count: u64,
    rows: Spill,
    ids: Spill,
}

impl VectorRead for OrderedRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = first * self.shape.row_bytes() as u64;
        Ok(self.rows.read_at(out, offset)?)
    }
}

impl IdRead for OrderedRows {
    fn name(&self) -> &'static str {
        "ordered rows"
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let mut bytes = vec![0; out.len() * ID_BYTES as usize];
        self.ids.read_at(&mut bytes, first * ID_BYTES)?;
        let (words, _) = bytes.as_chunks::<8>();
        for (id, word) in out.iter_mut().zip(words) {
            *id = u64::from_le_bytes(*word);
        }
        Ok(())
    }
}

/// What puts rows in the order of their clusters.
pub(super) struct PartBuild<'p> {
    pub(super) input: &'p BuildInput<'p>,
    pub(super) plan: &'p BuildPlan,
    pub(super) workspace: &'p Workspace,
    pub(super) pool: &'p ThreadPool,
    pub(super) progress: &'p dyn Progress,
}

/// A part: rows, each before its id.
struct Part {
    spill: Spill,
    count: usize,
}

/// What is written so far.
struct Ordering {
    rows: SpillWriter,
    ids: SpillWriter,
    found: Clusters,
}

impl PartBuild<'_> {
    /// Orders the rows by clusters of at most `capacity` rows at a time.
    pub(super) fn run(&self, capacity: u32) -> Result<(OrderedRows, Arc<ClusterTable>)> {
        let max_norm = self.max_norm()?;
        let parts = self.deal(capacity)?;
        let mut ordering = Ordering {
            rows: self.spill("ordered", 0)?,
            ids: self.spill("ids", 0)?,
            found: Clusters {
                order: Vec::new(),
                starts: vec![0],
                centroids: Vec::new(),
                groups: vec![0],
                group_centroids: Vec::new(),
            },
        };
        let mut first = 0;
        for part in parts {
            let end = first + part.count as u64;
            self.order(&part, (first..end, max_norm), &mut ordering)?;
            first = end;
        }
        let shape = self.input.vectors.shape();
        let rows = OrderedRows {
            shape,
            count: first,
            rows: ordering.rows.finish()?,
            ids: ordering.ids.finish()?,
        };
        Ok((rows, table_of(&ordering.found, self.plan.spec.shape)?))
    }

    /// The largest norm of all rows, where distances depend on it.
    fn max_norm(&self) -> Result<Option<f32>> {
        let metric = self.plan.spec.shape.metric;
        if metric != Metric::InnerProduct {
            return Ok(None);
        }
        let inspection = Inspection {
            vectors: self.input.vectors,
            name: self.input.name,
            metric,
        };
        let statistics = inspect_rows(inspection, BLOCK_BYTES, self.progress)?;
        Ok(Some(statistics.max_norm))
    }

    fn spill(&self, stem: &str, number: usize) -> Result<SpillWriter> {
        let name = format!("spill-{stem}-{}-{number}.pw", self.workspace.generation);
        SpillWriter::create(&self.workspace.vfs, &self.workspace.dir.join(name))
    }

    /// Deals the rows, each to the nearest part that has room.
    fn deal(&self, capacity: u32) -> Result<Vec<Part>> {
        let partition = self.partition(capacity)?;
        let mut assigner = partition.assigner();
        let mut writers = Vec::with_capacity(partition.shards());
        for number in 0..partition.shards() {
            writers.push((self.spill("part", number)?, 0));
        }
        let ids = self.input.ids.ok_or_else(|| internal("rows without ids"))?;
        let (vectors, shape) = (self.input.vectors, self.input.vectors.shape());
        self.progress.stage("deal rows", vectors.count());
        let mut blocks = RowBlocks::new(vectors, 0..vectors.count(), DEAL_BYTES);
        let (mut widened, mut assigned, mut own) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(block) = blocks.next_block()? {
            self.progress.check()?;
            self.widen(block.rows, &mut widened)?;
            assigned.clear();
            assigner.assign(&widened, self.pool, &mut assigned)?;
            let rows = block.rows.chunks_exact(shape.row_bytes());
            own.resize(rows.len(), 0);
            ids.read(block.first, &mut own)?;
            for ((row, id), part) in rows.zip(&own).zip(&assigned) {
                let Some((writer, count)) = writers.get_mut(*part as usize) else {
                    continue;
                };
                writer.write(row)?;
                writer.write(&id.to_le_bytes())?;
                *count += 1;
            }
            self.progress.advance(own.len() as u64);
        }
        let finish = |(writer, count): (SpillWriter, usize)| {
            let spill = writer.finish()?;
            Ok(Part { spill, count })
        };
        let filled = writers.into_iter().filter(|(_, count)| *count > 0);
        filled.map(finish).collect()
    }

    fn partition(&self, capacity: u32) -> Result<Partition> {
        let mut sample = widened_sample(self.input.vectors, self.plan)?;
        let dimension = self.plan.spec.shape.dimension as usize;
        self.normalise(&mut sample);
        let spec = PartitionSpec {
            dimension,
            total_count: self.input.vectors.count(),
            shard_capacity: capacity.into(),
            copies: 1,
            seed: self.plan.spec.seed,
        };
        Ok(plan(&sample, &spec, self.pool, self.progress)?)
    }

    fn widen(&self, rows: &[u8], values: &mut Vec<f32>) -> Result<()> {
        let shape = self.input.vectors.shape();
        let widen = resolve::kernels()?.widen(shape.element);
        let (row_bytes, dimension) = (shape.row_bytes(), shape.dimension as usize);
        values.resize(rows.len() / row_bytes * dimension, 0.0);
        let rows = rows.chunks_exact(row_bytes);
        for (row, out) in rows.zip(values.chunks_exact_mut(dimension)) {
            widen(row, out);
        }
        self.normalise(values);
        Ok(())
    }

    /// Parts compare by L2: under the cosine, directions.
    fn normalise(&self, values: &mut [f32]) {
        if self.plan.spec.shape.metric == Metric::Cosine {
            let rows = values.chunks_exact_mut(self.plan.spec.shape.dimension as usize);
            rows.for_each(normalise);
        }
    }

    /// Finds the clusters of a part, rows `range` of all, and writes its rows in their order.
    fn order(
        &self,
        part: &Part,
        (range, max_norm): (Range<u64>, Option<f32>),
        ordering: &mut Ordering,
    ) -> Result<()> {
        let shape = self.input.vectors.shape();
        let (rows, ids) = part.load(shape)?;
        let (clipped, longest) = clip(Cow::Owned(rows), shape)?;
        let max_norm = max_norm.map(|known| longest.map_or(known, |longest| longest * CLIPPED));
        let kernels = resolve::kernels()?;
        let set = VectorSet::new(
            &clipped,
            shape,
            self.plan.spec.shape.metric,
            kernels,
            max_norm,
        )?;
        let spec = resolve::cluster_spec(&self.plan.spec);
        let spec = spec.ok_or_else(|| internal("a graph that has no clusters"))?;
        let wanted = (&spec, self.share(&spec, range));
        let found = some_clusters(&set, wanted, self.pool, self.progress)?;
        drop(set);
        let rows = if longest.is_none() {
            clipped
        } else {
            drop(clipped);
            // Vectors are kept as they were given.
            Cow::Owned(part.load(shape)?.0)
        };
        for node in &found.order {
            let start = node.index() * shape.row_bytes();
            let row = rows.get(start..start + shape.row_bytes());
            let (Some(row), Some(id)) = (row, ids.get(node.index())) else {
                return Err(internal("an order of rows that are not there"));
            };
            ordering.rows.write(row)?;
            ordering.ids.write(&id.to_le_bytes())?;
        }
        ordering.append(&found);
        Ok(())
    }

    /// Clusters and groups of some rows: their share of those of all.
    fn share(&self, spec: &ClusterSpec, rows: Range<u64>) -> ClusterCount {
        let all = self.plan.node_count;
        let upto = |count: u32, row: u64| u64::from(count) * row / u64::from(all.max(1));
        let share = |count: u32| (upto(count, rows.end) - upto(count, rows.start)) as u32;
        let clusters = share(spec.clusters(all)).max(1);
        ClusterCount {
            clusters,
            groups: share(spec.groups(all)).clamp(1, clusters),
        }
    }
}

impl Part {
    /// All of it: rows, and their ids.
    fn load(&self, shape: VectorShape) -> Result<(Vec<u8>, Vec<u64>)> {
        let row_bytes = shape.row_bytes();
        let mut rows = vec![0; self.count * row_bytes];
        let mut ids = vec![0; self.count];
        let (mut reader, mut word) = (self.spill.reader(), [0; 8]);
        for (row, id) in rows.chunks_exact_mut(row_bytes).zip(&mut ids) {
            if !reader.read(row)? || !reader.read(&mut word)? {
                return Err(internal("a part of the rows that ends early"));
            }
            *id = u64::from_le_bytes(word);
        }
        Ok((rows, ids))
    }
}

impl Ordering {
    /// Adds clusters behind those that are there.
    fn append(&mut self, found: &Clusters) {
        let all = &mut self.found;
        let behind = |starts: &mut Vec<u32>, new: &[u32]| {
            let base = starts.last().copied().unwrap_or(0);
            starts.extend(new.iter().skip(1).map(|start| base + start));
        };
        behind(&mut all.starts, &found.starts);
        behind(&mut all.groups, &found.groups);
        all.centroids.extend_from_slice(&found.centroids);
        all.group_centroids
            .extend_from_slice(&found.group_centroids);
    }
}

fn internal(what: &str) -> Error {
    Error::new(ErrorKind::Internal, what)
}

#[cfg(test)]
mod tests {
    use pageway_store::OsVfs;
    use pageway_types::{ElementType, NoProgress, NodeId};

    use super::*;
    use crate::build::{AdditionLimits, added_spec};
    use crate::options::BuildOptions;
    use crate::source::{IdSlice, VectorSlice, kernels};
    use crate::spec::Shape;
    use crate::threads::thread_pool;

    const SHAPE: VectorShape = VectorShape {
        dimension: 6,
        element: ElementType::U8,
    };
    const ROWS: u32 = 3000;

    fn rows() -> Vec<u8> {
        let mix = |value: u32| value.wrapping_mul(2_654_435_769).rotate_left(13) ^ (value >> 7);
        let component = |row: u32, at: u32| {
            (mix(row % 40 * 16 + at) % 200 + mix(mix(row * 16 + at)) % 50) as u8
        };
        let all = (0..ROWS).flat_map(|row| (0..6).map(move |at| component(row, at)));
        all.collect()
    }

    fn planned(metric: Metric) -> BuildPlan {
        let options = BuildOptions {
            metric,
            form: Some("clustered".to_owned()),
            memory: Some(crate::memory::MemoryWish::Bytes(16_000_000)),
            ..BuildOptions::default()
        };
        let shape = Shape {
            dimension: 6,
            element: ElementType::U8,
            metric,
        };
        let spec = added_spec(&options.spec_for(shape, ROWS).unwrap(), ROWS);
        let limits = AdditionLimits {
            build_memory: 64 << 20,
            index_memory: 16_000_000,
            threads: 1,
        };
        let kind = BuildKind::Added {
            trains: false,
            calibrates: false,
        };
        super::super::addition::plan(&spec, (ROWS, false), kind, limits).unwrap()
    }

    #[test]
    fn rows_come_back_once_each_beside_what_is_near() {
        let (bytes, dir) = (rows(), tempfile::tempdir().unwrap());
        let ids: Vec<u64> = (0..u64::from(ROWS)).map(|row| 7 * row + 1).collect();
        let vfs: Arc<dyn pageway_store::Vfs> = Arc::new(OsVfs);
        let pool = thread_pool(2).unwrap();
        for metric in [Metric::L2, Metric::Cosine, Metric::InnerProduct] {
            let plan = planned(metric);
            let slice = VectorSlice::new(&bytes, SHAPE).unwrap();
            let listed = IdSlice(&ids);
            let input = BuildInput::new(&slice, "rows").with_ids(Some(&listed));
            let workspace = Workspace::of_writer(&vfs, dir.path(), 3);
            let parts = PartBuild {
                input: &input,
                plan: &plan,
                workspace: &workspace,
                pool: &pool,
                progress: &NoProgress,
            };
            let (ordered, table) = parts.run(500).unwrap();
            assert_eq!(VectorRead::count(&ordered), u64::from(ROWS));
            let (mut back, mut known) = (vec![0; bytes.len()], vec![0; ids.len()]);
            VectorRead::read(&ordered, 0, &mut back).unwrap();
            IdRead::read(&ordered, 0, &mut known).unwrap();
            for (row, id) in back.chunks_exact(6).zip(&known) {
                let at = (id - 1) as usize / 7 * 6;
                assert_eq!(row, &bytes[at..at + 6], "id {id}");
            }
            known.sort_unstable();
            assert_eq!(known, ids);
            let spec = resolve::cluster_spec(&plan.spec).unwrap();
            assert_eq!(table.node_count(), ROWS);
            assert!(table.group_count() <= spec.groups(ROWS) + 12);
            near_its_mean(&back, &table);
        }
        let left = vfs.list(dir.path()).unwrap();
        assert!(left.is_empty(), "temporary files stay: {left:?}");
    }

    /// Most rows are nearer to the mean of their cluster than to that of one far off.
    fn near_its_mean(rows: &[u8], table: &ClusterTable) {
        let widen = kernels().unwrap().widen(ElementType::U8);
        let square = |row: &[f32], mean: &[f32]| -> f32 {
            row.iter().zip(mean).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let (mut row, mut mean, mut nearer) = (vec![0.0; 6], vec![0.0; 6], 0);
        for (node, bytes) in (0..ROWS).zip(rows.chunks_exact(6)) {
            widen(bytes, &mut row);
            table.mean(table.cluster_of(NodeId(node)), &mut mean);
            let own = square(&row, &mean);
            let other = NodeId((node + ROWS / 2) % ROWS);
            table.mean(table.cluster_of(other), &mut mean);
            nearer += u32::from(own < square(&row, &mean));
        }
        assert!(nearer > ROWS / 10 * 9, "{nearer} of {ROWS}");
    }
}
