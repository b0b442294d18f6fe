//! What a graph of clusters goes with: candidates come from the clusters alone, and nothing is
//! followed.

use super::validate::{Checked, refuse_if};
use super::{
    CodeStorage, CodecSpec, EntrySpec, GraphSpec, HarvestSpec, IndexSpec, NodeCacheSpec,
    PlacementSpec, RefineSpec,
};

impl IndexSpec {
    /// Refuses what makes no sense where nodes have no lists, and entry clusters where they do.
    pub(super) fn validate_clusters(&self) -> Checked {
        let has_clusters = matches!(self.graph, GraphSpec::Clusters { .. });
        let enters_clusters = self.execution.entry == EntrySpec::Clusters;
        refuse_if(
            enters_clusters && !has_clusters,
            "entry",
            "clusters",
            "only graph clusters has any; choose entry medoid, or graph clusters",
        )?;
        if !has_clusters {
            return Ok(());
        }
        refuse_if(
            !enters_clusters,
            "entry",
            "of a graph of lists",
            "nodes of graph clusters lead nowhere; choose entry clusters",
        )?;
        refuse_if(
            self.layout.placement != PlacementSpec::Clustered,
            "placement",
            self.layout.placement.name(),
            "nodes of a cluster follow each other; choose placement clustered",
        )?;
        refuse_if(
            self.storage.codes != CodeStorage::Memory,
            "codes",
            "in_page or split",
            "the nodes of a cluster are ranked by codes in memory; choose codes memory",
        )?;
        let (codec, nodes) = (self.layout.codec, self.cache.nodes);
        refuse_if(
            !matches!(codec, CodecSpec::Packed | CodecSpec::Split),
            "codec",
            "of lists",
            "graph clusters has no lists; choose codec packed or split",
        )?;
        refuse_if(
            nodes == NodeCacheSpec::Lists,
            "cache nodes",
            "lists",
            "graph clusters has no lists; choose cache nodes none",
        )?;
        refuse_if(
            !matches!(
                self.execution.harvest,
                HarvestSpec::Target | HarvestSpec::All
            ),
            "harvest",
            "near or held",
            "pages of graph clusters lead nowhere; choose harvest all or target",
        )?;
        refuse_if(
            self.execution.refine == RefineSpec::Inline,
            "refine",
            "inline",
            "graph clusters passes no vectors on its way; choose refine bounded or deferred",
        )
    }
}
