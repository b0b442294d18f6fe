//! Rows on their way into a graph that is there: searches of it, and what of the found becomes a
//! list.

use pageway_graph::{PruneSpec, Pruner, VectorSet};
use pageway_types::{Candidate, ElementType, Metric, NodeId, VectorShape};

use super::finish::alone;
use super::rewrite::REWRITE_BYTES;
use super::workspace::Workspace;
use crate::error::Result;
use crate::index::Index;
use crate::manifest::SegmentEntry;
use crate::options::{Effort, OpenOptions, Queries, SearchOptions};
use crate::plan::least_memory;
use crate::resolve;
use crate::spec::IndexSpec;

/// Nodes that are found for a row.
pub(crate) fn found_per_row(spec: &IndexSpec, nodes: u32) -> u32 {
    spec.graph.build_list().min(nodes)
}

/// A segment that is searched for the neighbours of rows, as it was before any of its rows died:
/// dead nodes lead on, and are found.
pub(super) struct BaseSearch {
    index: Index,
    options: SearchOptions,
}

impl BaseSearch {
    /// Opens a segment that there is for rows of `element`, in the least memory and half of
    /// [`REWRITE_BYTES`].
    pub(super) fn open(
        workspace: &Workspace,
        (segment, element): (&SegmentEntry, ElementType),
        threads: usize,
    ) -> Result<Self> {
        let least = least_memory(&segment.spec, segment.node_count)?.reserved();
        let memory = least + segment.files.patch_bytes() + REWRITE_BYTES / 2;
        let mut manifest = alone(workspace.generation, segment, memory);
        manifest.spec.shape.element = element;
        for alone in &mut manifest.segments {
            alone.element = element;
            (alone.files.dead, alone.files.attributes) = (None, None);
        }
        let options = OpenOptions {
            through_page_cache: true,
            ..OpenOptions::default()
        };
        let place = (&workspace.vfs, workspace.dir.as_path());
        let index = Index::open_manifest(place, manifest, &options, None)?;
        let list_size = found_per_row(&segment.spec, segment.node_count);
        let options = SearchOptions {
            effort: Effort::ListSize(list_size),
            threads,
            ..SearchOptions::nearest(list_size)
        };
        Ok(Self { index, options })
    }

    /// The nodes that are found for each of some raw rows, nearest first: fewer than asked for
    /// where walks do not come to all.
    pub(super) fn found(&self, rows: &[u8]) -> Result<Vec<Vec<u32>>> {
        let asked = Queries::new(rows, self.index.shape());
        let answers = self.index.search(&asked, &self.options)?;
        let count = u64::from(self.index.version().node_count());
        let nodes = answers.nodes.chunks_exact(answers.k.max(1));
        let is_one = |node: &u32| u64::from(*node) < count;
        let found = nodes.map(|near| near.iter().copied().filter(is_one).collect());
        Ok(found.collect())
    }
}

/// Chooses lists by exact distances.
pub(crate) struct Linker {
    shape: VectorShape,
    metric: Metric,
    max_norm: Option<f32>,
    spec: PruneSpec,
    pruner: Pruner,
}

impl Linker {
    /// Of the graph of a design, among at most so many candidates. `max_norm` under the inner
    /// product.
    pub(crate) fn new(spec: &IndexSpec, most: u32, max_norm: Option<f32>) -> Result<Self> {
        let metric = spec.shape.metric;
        Ok(Self {
            shape: spec.shape.vectors(),
            metric,
            max_norm: max_norm.filter(|_| metric == Metric::InnerProduct),
            spec: PruneSpec {
                max_degree: spec.graph.max_degree(),
                alpha: spec.graph.alpha(),
            },
            pruner: Pruner::new(most as usize)?,
        })
    }

    /// The list of a raw row: the places of those of `others`, raw rows, that it gets, in prune
    /// order.
    pub(crate) fn choose(&mut self, row: &[u8], others: &[u8]) -> Result<Vec<usize>> {
        let all = [row, others].concat();
        let guide = self.metric.guide();
        let set = VectorSet::new(&all, self.shape, guide, resolve::kernels()?, self.max_norm)?;
        let found: Vec<NodeId> = (1..set.count()).map(NodeId).collect();
        let mut distances = vec![0.0; found.len()];
        set.distance_many(NodeId(0), &found, &mut distances);
        let scored = found.iter().zip(distances);
        let mut candidates: Vec<Candidate> = scored
            .map(|(node, distance)| Candidate::new(*node, distance))
            .collect();
        candidates.sort_unstable();
        let chosen = self
            .pruner
            .prune(&candidates, self.spec, |node, others, out| {
                set.distance_many(node, others, out);
            });
        let places = chosen.iter().filter_map(|node| node.index().checked_sub(1));
        Ok(places.collect())
    }
}
