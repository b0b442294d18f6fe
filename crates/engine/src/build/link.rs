//! Links new rows into an existing graph: searches it, and prunes what is found to a list.

use pageway_graph::{PruneSpec, Pruner, VectorSet};
use pageway_types::{Candidate, ElementType, Metric, NodeId, VectorShape};

use super::finish::alone;
use super::rewrite::REWRITE_BYTES;
use super::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Segment;
use crate::index::Index;
use crate::manifest::SegmentEntry;
use crate::options::{Effort, OpenOptions, Queries, SearchOptions};
use crate::plan::least_memory;
use crate::resolve;
use crate::spec::IndexSpec;

/// Nodes that a search finds for a row.
pub(crate) fn found_per_row(spec: &IndexSpec, nodes: u32) -> u32 {
    spec.graph.build_list().min(nodes)
}

/// Whether enough of the `found` nodes live, so that they are those near the row.
pub(super) const fn is_well_known(living: usize, found: u32) -> bool {
    2 * living >= found as usize
}

/// A segment that is searched for the neighbours of rows. Dead nodes are not hidden: they lead on,
/// and are found.
pub(super) struct BaseSearch {
    index: Index,
    options: SearchOptions,
}

impl BaseSearch {
    /// Opens a segment for rows of `element`, in the least memory and half of [`REWRITE_BYTES`].
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

    /// The segment as it is searched: pages that a search read are in the page cache.
    pub(super) fn segment(&self) -> Result<Segment> {
        let version = self.index.version();
        let segment = version.segments.first().cloned();
        segment.ok_or_else(|| Error::new(ErrorKind::Internal, "a search of no segment"))
    }

    /// The nodes found for each raw row, nearest first; fewer than asked for if walks do not reach
    /// all.
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

/// Prunes lists by exact distances.
pub(crate) struct Linker {
    shape: VectorShape,
    metric: Metric,
    max_norm: Option<f32>,
    spec: PruneSpec,
    pruner: Pruner,
}

impl Linker {
    /// For the graph of a design, with at most `most` candidates. `max_norm` under the inner
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

    /// The adjacency list of a raw row: the places in `others`, raw rows, that pruning keeps, in
    /// prune order. Of the others that are farther than all of the first `near`, only the farthest
    /// is a candidate, to lead elsewhere. A few rows among many are far from each other and hardly
    /// occlude each other, so they would fill the list.
    pub(crate) fn choose(
        &mut self,
        row: &[u8],
        (others, near): (&[u8], usize),
    ) -> Result<Vec<usize>> {
        let all = [row, others].concat();
        let guide = self.metric.guide();
        let set = VectorSet::new(&all, self.shape, guide, resolve::kernels()?, self.max_norm)?;
        let nodes: Vec<NodeId> = (1..set.count()).map(NodeId).collect();
        let mut distances = vec![0.0; nodes.len()];
        set.distance_many(NodeId(0), &nodes, &mut distances);
        let reach = distances.iter().take(near).copied().reduce(f32::max);
        let reach = reach.unwrap_or(f32::INFINITY);
        let scored = nodes.iter().zip(distances);
        let mut candidates: Vec<Candidate> = scored
            .map(|(node, distance)| Candidate::new(*node, distance))
            .collect();
        candidates.sort_unstable();
        let beyond = candidates.partition_point(|candidate| candidate.distance <= reach);
        if beyond < candidates.len() {
            let last = candidates.len() - 1;
            candidates.drain(beyond..last);
        }
        let chosen = self
            .pruner
            .prune(&candidates, self.spec, |node, others, out| {
                set.distance_many(node, others, out);
            });
        let places = chosen.iter().filter_map(|node| node.index().checked_sub(1));
        Ok(places.collect())
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::ElementType;

    use super::*;
    use crate::presets::{Preset, Sizes};
    use crate::spec::Shape;

    #[test]
    fn one_alone_is_chosen_of_those_beyond_what_is_near() {
        let shape = Shape {
            dimension: 2,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        let form = Preset::DiskAnn.forms().next().unwrap();
        let spec = (form.spec)(shape, &Sizes::default());
        let mut linker = Linker::new(&spec, 8, None).unwrap();
        let row = [100, 100];
        let others = [[110, 100], [100, 112], [100, 90], [0, 100], [200, 255]].concat();
        assert_eq!(linker.choose(&row, (&others, 2)).unwrap(), [0, 2, 1, 4]);
        let all = linker.choose(&row, (&others, 0)).unwrap();
        assert!(all.contains(&3) && all.contains(&4), "{all:?}");
    }
}
