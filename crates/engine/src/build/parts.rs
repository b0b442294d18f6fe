//! The order of nodes under a memory budget: rows are dealt into parts that are near each other,
//! and put in order one part at a time, by clusters or page by page.
//!
//! ```text
//!  rows -deal-> part 0: (row, identity)... -order-> rows of nodes 0 .. -+
//!           \-> part 1: (row, identity)... -order-> rows behind those --+-> rows, identities
//! ```
//! Passes are sequential; only a part is accessed at random, and memory holds that. The result is
//! the rows in the order of nodes, so later stages are sequential too. A part is deleted before the
//! next is read, so both copies of the rows take little more disk than one. Near parts follow each
//! other; rows that do not fill a page move on to the next part.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use pageway_graph::{
    ClusterCount, ClusterSpec, Clusters, Paging, Partition, PartitionSpec, Placement, VectorSet,
    clusters_bytes, place_clustered, placement_bytes, plan, some_clusters,
};
use pageway_types::{Metric, NodeId, Progress, VectorShape};
use rayon::ThreadPool;
use serde_json::Value;

use super::clusters::{CLIPPED, table};
use super::course::Course;
use super::deal::Deal;
use super::ordered::{OrderedRows, OrderedWriter};
use super::outliers::clip;
use super::plan::BuildPlan;
use super::scratch::StageFiles;
use super::spill::{Spill, SpillWriter, shared_buffer_bytes};
use super::stages::{NORM_BYTES, STAGE_BYTES};
use crate::error::{Error, ErrorKind, Result};
use crate::options::BuildInput;
use crate::resolve;
use crate::spec::Shape;
use crate::storage::{ClusterTable, FoundClusters, Identities};

/// Fewest rows of a part: clusters of fewer would be cut off from what is near.
const PART_ROWS_MIN: u64 = 4096;
/// Parts at most, as a multiple of those that would hold each row once: parts are filled to three
/// quarters, and an uneven set may double their number.
const PARTS_PER_FILL: u64 = 3;

impl BuildPlan {
    /// Whether rows can be put in order part by part: if nodes are not in the order of the data.
    /// For placement by edges this is the order in which the graph is built.
    pub(super) fn can_part(&self) -> bool {
        !self.spec.layout.placement.is_by_id()
    }

    /// Bytes of a row with its identity.
    pub(super) fn identified_bytes(&self) -> u64 {
        self.row_bytes() + Identities::stride(&self.spec) as u64
    }

    /// The part size that needs the least memory: larger parts take more themselves, smaller ones
    /// are more, each with a buffer.
    pub(super) fn least_part(&self) -> u64 {
        let nodes = u64::from(self.node_count);
        let sizes = std::iter::successors(Some(PART_ROWS_MIN), |rows| Some(rows + rows / 4));
        let sizes = sizes.take_while(|rows| *rows < nodes);
        let least = sizes.min_by_key(|rows| self.part_bytes(*rows));
        least.unwrap_or(nodes)
    }

    /// Peak while at most `rows` rows at a time are put in order.
    pub(super) fn part_bytes(&self, rows: u64) -> u64 {
        let nodes = u64::from(self.node_count);
        let parts = PARTS_PER_FILL * nodes.div_ceil(rows.max(1));
        let buffers = parts * (shared_buffer_bytes(parts) as u64 + self.row_bytes());
        let one = rows * (self.identified_bytes() + NORM_BYTES);
        let (ordering, held) = if let Some(spec) = resolve::cluster_spec(&self.spec) {
            self.clustering_bytes(rows, &spec)
        } else {
            (placement_bytes(rows, Placement::Clustered, 0), 0)
        };
        STAGE_BYTES + buffers + held + one + ordering
    }

    /// Bytes for finding the clusters of `rows` rows, and bytes held for the clusters of all rows,
    /// whose means wait on disk.
    fn clustering_bytes(&self, rows: u64, spec: &ClusterSpec) -> (u64, u64) {
        let (shape, threads) = (self.spec.shape, self.threads.planned);
        let finding = clusters_bytes(rows, shape.vectors(), shape.metric.guide(), spec, threads);
        let clusters = u64::from(spec.clusters(self.node_count));
        let groups = u64::from(spec.groups(self.node_count));
        // Their first rows, and means of groups; each `Vec` may have twice the capacity it needs.
        let held = 2 * 4 * (clusters + groups * (u64::from(shape.dimension) + 1));
        let table = resolve::entry_bytes(&self.spec, self.node_count);
        (finding.max(table), held)
    }

    /// The most rows of a part that the budget holds. Needs a budget that holds `least_part`.
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

/// Puts rows in the order of nodes.
pub(super) struct PartBuild<'p> {
    pub(super) input: &'p BuildInput<'p>,
    pub(super) plan: &'p BuildPlan,
    /// The largest norm of all rows.
    pub(super) max_norm: f32,
    pub(super) files: StageFiles<'p>,
    pub(super) pool: &'p ThreadPool,
    pub(super) progress: &'p Course<'p>,
}

/// A part: rows, each before its identity.
struct Part {
    spill: Spill,
    count: usize,
}

/// Rows, and their identities, one after the other.
#[derive(Default)]
struct Loaded {
    rows: Vec<u8>,
    identities: Vec<u8>,
}

/// The rows that are in order so far.
struct Ordering {
    out: OrderedWriter,
    /// Rows behind the last full page.
    rest: Loaded,
    clusters: Option<FoundInParts>,
}

/// The clusters of the parts so far.
struct FoundInParts {
    starts: Vec<u32>,
    groups: Vec<u32>,
    group_means: Vec<f32>,
    /// Means of clusters, `f32` each.
    means: SpillWriter,
}

impl PartBuild<'_> {
    /// Puts the rows in order, at most `capacity` at a time; also returns their clusters, if the
    /// design has them.
    pub(super) fn run(&self, capacity: u32) -> Result<(OrderedRows, Option<Arc<ClusterTable>>)> {
        if let Some(kept) = self.kept()? {
            return Ok(kept);
        }
        let parts = self.deal(capacity)?;
        let format = (self.shape(), self.stride());
        let files = (self.files.writer("rows")?, self.files.writer("identities")?);
        let mut ordering = Ordering {
            out: OrderedWriter::new(format, files.0, files.1),
            rest: Loaded::default(),
            clusters: None,
        };
        if self.plan.has_clusters() {
            ordering.clusters = Some(FoundInParts::new(self.files.writer("means")?));
        }
        let rows = self.input.vectors.count();
        for part in parts {
            self.progress.check()?;
            self.progress.portion(part.count as f64 / rows as f64);
            match resolve::cluster_spec(&self.plan.spec) {
                Some(spec) => self.cluster(&part, &spec, &mut ordering)?,
                None => self.place(&part, &mut ordering)?,
            }
        }
        let rest = std::mem::take(&mut ordering.rest);
        self.place_last(&rest, &mut ordering)?;
        let rows = ordering.out.finish()?;
        let table = ordering
            .clusters
            .map(|found| found.table(self.plan.spec.shape));
        let table = table.transpose()?;
        self.keep(&rows, table.as_deref())?;
        Ok((rows, table))
    }

    /// The rows that an earlier build put in order and kept.
    fn kept(&self) -> Result<Option<(OrderedRows, Option<Arc<ClusterTable>>)>> {
        let format = (self.shape(), self.stride());
        let Some(rows) = OrderedRows::kept(self.files, ["rows", "identities"], format)? else {
            return Ok(None);
        };
        if !self.plan.has_clusters() {
            return Ok(Some((rows, None)));
        }
        let Some(bytes) = self.files.find_bytes("clusters")? else {
            return Ok(None);
        };
        let spec = &self.plan.spec;
        let table = ClusterTable::from_bytes(&bytes, spec.shape, resolve::kernels()?);
        Ok(table.map(|table| (rows, Some(Arc::new(table)))))
    }

    fn keep(&self, rows: &OrderedRows, table: Option<&ClusterTable>) -> Result<()> {
        if let Some(table) = table.filter(|_| self.files.scratch.resumes()) {
            let mut out = self.files.writer("clusters")?;
            table.write(&mut |piece| out.write(piece))?;
            self.files.keep("clusters", &out.finish()?, Value::Null)?;
        }
        rows.keep(self.files, ["rows", "identities"])
    }

    fn shape(&self) -> VectorShape {
        self.input.vectors.shape()
    }

    /// Bytes of an identity.
    fn stride(&self) -> usize {
        Identities::stride(&self.plan.spec)
    }

    /// Deals the rows, each to the nearest part that has room.
    fn deal(&self, capacity: u32) -> Result<Vec<Part>> {
        let deal = Deal {
            vectors: self.input.vectors,
            metric: self.plan.spec.shape.metric,
            pool: self.pool,
            progress: self.progress,
            stage: "deal rows",
        };
        let partition = self.partition(&deal, capacity)?;
        let mut writers = Vec::with_capacity(partition.shards());
        for number in 0..partition.shards() {
            let name = format!("part-{number}");
            let writer = self.files.writer_beside(&name, partition.shards())?;
            writers.push(Some((writer, 0)));
        }
        let (shape, stride) = (self.shape(), self.stride());
        let (mut own, mut identity) = (Vec::new(), Vec::with_capacity(stride));
        deal.run(&partition, &mut |dealt| {
            let rows = dealt.rows.chunks_exact(shape.row_bytes());
            own.resize(rows.len(), 0);
            if let Some(ids) = self.input.ids {
                ids.read(dealt.first, &mut own)?;
            }
            let numbered = (dealt.first as u32..).zip(rows.zip(&own));
            for ((number, (row, id)), part) in numbered.zip(dealt.shards) {
                let Some((writer, count)) =
                    writers.get_mut(*part as usize).and_then(Option::as_mut)
                else {
                    continue;
                };
                identity.clear();
                Identities::push(&mut identity, stride, (number, *id));
                writer.write(row)?;
                writer.write(&identity)?;
                *count += 1;
            }
            Ok(())
        })?;
        let mut parts = Vec::with_capacity(writers.len());
        for number in partition.walk() {
            let writer = writers.get_mut(number as usize).and_then(Option::take);
            if let Some((writer, count)) = writer.filter(|(_, count)| *count > 0) {
                let spill = writer.finish()?;
                parts.push(Part { spill, count });
            }
        }
        Ok(parts)
    }

    fn partition(&self, deal: &Deal<'_>, capacity: u32) -> Result<Partition> {
        let sample = deal.sample(self.plan)?;
        let spec = PartitionSpec {
            dimension: self.plan.spec.shape.dimension as usize,
            total_count: self.input.vectors.count(),
            shard_capacity: capacity.into(),
            copies: 1,
            seed: self.plan.spec.seed,
        };
        Ok(plan(&sample, &spec, self.pool, self.progress)?)
    }

    fn set<'s>(&self, rows: &'s [u8], max_norm: f32) -> Result<VectorSet<'s>> {
        let metric = self.plan.spec.shape.metric;
        let max_norm = (metric == Metric::InnerProduct).then_some(max_norm);
        let kernels = resolve::kernels()?;
        Ok(VectorSet::new(
            rows,
            self.shape(),
            metric.guide(),
            kernels,
            max_norm,
        )?)
    }

    /// Finds the clusters of a part, and writes its rows in their order.
    fn cluster(&self, part: &Part, spec: &ClusterSpec, ordering: &mut Ordering) -> Result<()> {
        let first = ordering.out.count();
        let paging = Paging::whole(self.plan.nodes_per_page()).behind(first);
        let count = self.share(spec, first..first + part.count as u64);
        let wanted = (spec, count, paging);
        let Loaded { rows, identities } = self.load(part, Loaded::default())?;
        let (rows, longest) = clip(Cow::Owned(rows), self.shape())?;
        let max_norm = longest.map_or(self.max_norm, |longest| longest * CLIPPED);
        let found = some_clusters(
            &self.set(&rows, max_norm)?,
            wanted,
            self.pool,
            self.progress,
        )?;
        let given = if longest.is_none() {
            let rows = rows.into_owned();
            Loaded { rows, identities }
        } else {
            drop(rows);
            // Vectors are kept as they were given.
            self.load(part, Loaded::default())?
        };
        self.write(&given, &found.order, &mut ordering.out)?;
        let all = ordering.clusters.as_mut();
        all.map_or(Ok(()), |all| all.append(&found))
    }

    /// Places the rows of a part and those that were left before, and writes those of full pages.
    fn place(&self, part: &Part, ordering: &mut Ordering) -> Result<()> {
        let part = self.load(part, std::mem::take(&mut ordering.rest))?;
        let per_page = self.plan.nodes_per_page();
        let set = self.set(&part.rows, self.max_norm)?;
        let seed = self.plan.spec.seed;
        let order = place_clustered(&set, (per_page, seed), self.pool, self.progress)?;
        let full = order.len() / per_page as usize * per_page as usize;
        let (order, rest) = order.split_at_checked(full).unwrap_or_default();
        self.write(&part, order, &mut ordering.out)?;
        for node in rest {
            let (row, identity) = part.of(*node, self.shape(), self.stride())?;
            ordering.rest.rows.extend_from_slice(row);
            ordering.rest.identities.extend_from_slice(identity);
        }
        Ok(())
    }

    /// Writes the last rows, which fill no page.
    fn place_last(&self, rest: &Loaded, ordering: &mut Ordering) -> Result<()> {
        let count = rest.rows.len() / self.shape().row_bytes();
        let order: Vec<NodeId> = (0..count as u32).map(NodeId).collect();
        self.write(rest, &order, &mut ordering.out)
    }

    /// Reads a part behind `loaded`.
    fn load(&self, part: &Part, loaded: Loaded) -> Result<Loaded> {
        let (row_bytes, stride) = (self.shape().row_bytes(), self.stride());
        let Loaded {
            mut rows,
            mut identities,
        } = loaded;
        let (mut row, mut identity) = (vec![0; row_bytes], vec![0; stride]);
        rows.reserve_exact(part.count * row_bytes);
        identities.reserve_exact(part.count * stride);
        let mut reader = part.spill.reader();
        for _ in 0..part.count {
            if !reader.read(&mut row)? || !reader.read(&mut identity)? {
                return Err(internal("a part of the rows that ends early"));
            }
            rows.extend_from_slice(&row);
            identities.extend_from_slice(&identity);
        }
        Ok(Loaded { rows, identities })
    }

    fn write(&self, part: &Loaded, order: &[NodeId], out: &mut OrderedWriter) -> Result<()> {
        order.iter().try_for_each(|node| {
            let (row, identity) = part.of(*node, self.shape(), self.stride())?;
            out.write(row, identity)
        })
    }

    /// The share of some rows in the clusters and groups of all.
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

impl Loaded {
    /// A row, and its identity.
    fn of(&self, node: NodeId, shape: VectorShape, stride: usize) -> Result<(&[u8], &[u8])> {
        let range = |length: usize| node.index() * length..(node.index() + 1) * length;
        let row = self.rows.get(range(shape.row_bytes()));
        row.zip(self.identities.get(range(stride)))
            .ok_or_else(|| internal("an order of rows that are not there"))
    }
}

impl FoundInParts {
    fn new(means: SpillWriter) -> Self {
        Self {
            starts: vec![0],
            groups: vec![0],
            group_means: Vec::new(),
            means,
        }
    }

    /// Adds clusters behind those that are there.
    fn append(&mut self, found: &Clusters) -> Result<()> {
        let behind = |starts: &mut Vec<u32>, new: &[u32]| {
            let base = starts.last().copied().unwrap_or(0);
            starts.extend(new.iter().skip(1).map(|start| base + start));
        };
        behind(&mut self.starts, &found.starts);
        behind(&mut self.groups, &found.groups);
        self.group_means.extend_from_slice(&found.group_centroids);
        let mut values = found.centroids.iter();
        values.try_for_each(|value| self.means.write(&value.to_le_bytes()))
    }

    /// The table of all.
    fn table(self, shape: Shape) -> Result<Arc<ClusterTable>> {
        let means = self.means.finish()?;
        let mut reader = means.reader();
        let mut bytes = vec![0; shape.dimension as usize * size_of::<f32>()];
        let mut next = |mean: &mut [f32]| {
            if !reader.read(&mut bytes)? {
                return Err(internal("fewer means than clusters"));
            }
            let (words, _) = bytes.as_chunks::<4>();
            let values = words.iter().map(|word| f32::from_le_bytes(*word));
            mean.iter_mut()
                .zip(values)
                .for_each(|(to, from)| *to = from);
            Ok(())
        };
        let found = FoundClusters {
            starts: &self.starts,
            groups: &self.groups,
            group_means: &self.group_means,
        };
        table(found, &mut next, shape)
    }
}

fn internal(what: &str) -> Error {
    Error::new(ErrorKind::Internal, what)
}

#[cfg(test)]
mod tests {
    use pageway_store::OsVfs;
    use pageway_types::{ElementType, NoProgress, RowId, VectorRead};

    use super::*;
    use crate::build::plan::BuildKind;
    use crate::build::scratch::TemporaryFiles;
    use crate::build::{AdditionLimits, added_spec};
    use crate::options::BuildOptions;
    use crate::source::{IdRead, IdSlice, VectorSlice, kernels};
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

    fn planned(metric: Metric, form: &str) -> BuildPlan {
        let options = BuildOptions {
            metric,
            form: Some(form.to_owned()),
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
            joins: false,
            trains: false,
            calibration_queries: 0,
        };
        super::super::addition::plan(&spec, (ROWS, false), kind, limits).unwrap()
    }

    #[test]
    fn rows_come_back_once_each_beside_what_is_near() {
        let (bytes, dir) = (rows(), tempfile::tempdir().unwrap());
        let ids: Vec<u64> = (0..u64::from(ROWS)).map(|row| 7 * row + 1).collect();
        let vfs: Arc<dyn pageway_store::Vfs> = Arc::new(OsVfs);
        let pool = thread_pool(2).unwrap();
        for (metric, form) in [
            (Metric::L2, "clustered"),
            (Metric::Cosine, "clustered"),
            (Metric::InnerProduct, "clustered"),
            (Metric::L2, "resident"),
            (Metric::InnerProduct, "resident"),
        ] {
            let plan = planned(metric, form);
            let slice = VectorSlice::new(&bytes, SHAPE).unwrap();
            let listed = IdSlice(&ids);
            let input = BuildInput::new(&slice, "rows").with_ids(Some(&listed));
            let scratch = TemporaryFiles::beside(&vfs, dir.path(), 3);
            let parts = PartBuild {
                input: &input,
                plan: &plan,
                max_norm: 700.0,
                files: StageFiles {
                    scratch: &scratch,
                    fingerprint: crate::build::fingerprint::Fingerprint::new(),
                    segment: None,
                },
                pool: &pool,
                progress: &Course::of_part(&NoProgress),
            };
            let (ordered, table) = parts.run(500).unwrap();
            assert_eq!(VectorRead::count(&ordered), u64::from(ROWS));
            let (mut back, mut known) = (vec![0; bytes.len()], vec![0; ids.len()]);
            VectorRead::read(&ordered, 0, &mut back).unwrap();
            IdRead::read(&ordered, 0, &mut known).unwrap();
            let mut numbers = Vec::new();
            ordered.numbers(0..ROWS, &mut numbers).unwrap();
            for ((row, id), number) in back.chunks_exact(6).zip(&known).zip(&numbers) {
                let at = (id - 1) as usize / 7;
                assert_eq!(at, *number as usize);
                assert_eq!(row, &bytes[at * 6..at * 6 + 6], "id {id}");
            }
            let wanted = [2999, 0, 17].map(RowId);
            let found = ordered.nodes_of(&wanted).unwrap();
            let rows = found.iter().map(|node| RowId(numbers[node.index()]));
            assert!(rows.eq(wanted));
            known.sort_unstable();
            assert_eq!(known, ids);
            match table {
                Some(table) => {
                    let spec = resolve::cluster_spec(&plan.spec).unwrap();
                    assert_eq!(table.node_count(), ROWS);
                    assert!(table.group_count() <= spec.groups(ROWS) + 12);
                    near_its_mean(&back, &table);
                }
                None => near_on_its_page(&back),
            }
        }
        let left = vfs.list(dir.path()).unwrap();
        assert!(left.is_empty(), "temporary files stay: {left:?}");
    }

    /// Most rows are nearer to one that is four behind than to one far off.
    fn near_on_its_page(rows: &[u8]) {
        let square = |a: u32, b: u32| -> u32 {
            let row = |at: u32| rows[at as usize * 6..].iter().take(6);
            let differ = |(a, b): (&u8, &u8)| u32::from(a.abs_diff(*b)).pow(2);
            row(a).zip(row(b)).map(differ).sum()
        };
        let near = |at: &u32| square(*at, at + 4) < square(*at, (at + ROWS / 2) % ROWS);
        let nearer = (0..ROWS - 4).filter(near).count() as u32;
        assert!(nearer > ROWS / 10 * 9, "{nearer} of {ROWS}");
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
