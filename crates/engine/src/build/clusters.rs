//! Clusters of a build: found before codes are trained, since codes are made around their means.

use std::borrow::Cow;
use std::sync::Arc;

use pageway_graph::{Clusters, Paging, VectorSet, clusters};
use pageway_types::Metric;

use super::order::NodeOrder;
use super::outliers::clip;
use super::pipeline::{Pipeline, not_in_memory};
use crate::error::{Error, ErrorKind, Result};
use crate::resolve;
use crate::spec::Shape;
use crate::storage::{ClusterTable, FoundClusters, NextMean};

/// The factor by which rounding may lengthen a clipped row.
pub(super) const CLIPPED: f32 = 1.001;

/// The clusters of an index: its order of nodes, and the table that is searched.
pub(super) struct BuiltClusters {
    pub(super) order: NodeOrder,
    pub(super) table: Arc<ClusterTable>,
}

impl BuiltClusters {
    /// Clusters of rows that are sorted by cluster.
    pub(super) fn in_order(table: &Arc<ClusterTable>) -> Self {
        Self {
            order: NodeOrder::Rows,
            table: Arc::clone(table),
        }
    }
}

impl Pipeline<'_> {
    /// Finds clusters, if the spec has them.
    pub(super) fn find_clusters(&self, max_norm: f32) -> Result<Option<BuiltClusters>> {
        let Some(spec) = resolve::cluster_spec(&self.plan.spec) else {
            return Ok(None);
        };
        let vectors = self.input.vectors;
        let rows = Cow::Borrowed(vectors.resident().ok_or_else(not_in_memory)?);
        let (kernels, shape) = (resolve::kernels()?, self.plan.spec.shape);
        let (rows, longest) = clip(rows, vectors.shape())?;
        let max_norm = longest.map_or(max_norm, |longest| longest * CLIPPED);
        let max_norm = (shape.metric == Metric::InnerProduct).then_some(max_norm);
        let set = VectorSet::new(
            &rows,
            vectors.shape(),
            shape.metric.guide(),
            kernels,
            max_norm,
        )?;
        let paging = Paging::whole(self.plan.nodes_per_page());
        let found = clusters(&set, (&spec, paging), self.pool, self.progress)?;
        let table = table_of(&found, shape)?;
        let order = NodeOrder::placed(found.order);
        Ok(Some(BuiltClusters { order, table }))
    }
}

/// The table of clusters that are in memory.
fn table_of(found: &Clusters, shape: Shape) -> Result<Arc<ClusterTable>> {
    let mut means = found.centroids.chunks_exact(shape.dimension as usize);
    let mut next = |mean: &mut [f32]| {
        let own = means.next().ok_or_else(not_in_memory)?;
        mean.copy_from_slice(own);
        Ok(())
    };
    let found = FoundClusters {
        starts: &found.starts,
        groups: &found.groups,
        group_means: &found.group_centroids,
    };
    table(found, &mut next, shape)
}

/// The table of clusters whose means `next` gives.
pub(super) fn table(
    found: FoundClusters<'_>,
    next: NextMean<'_>,
    shape: Shape,
) -> Result<Arc<ClusterTable>> {
    let table = ClusterTable::of(found, next, (shape, resolve::kernels()?))?;
    table.map(Arc::new).ok_or_else(|| {
        let what = "the means of clusters are out of the range of f32";
        Error::new(ErrorKind::InvalidInput, what)
    })
}
