//! Parameters of a navigation graph.

use crate::{VamanaSpec, VectorSet, build_bytes};
use pageway_types::{Guide, VectorShape};

use super::NavigationGraph;
use super::build::BLOCK_BYTES;

/// Occlusion that pruning tolerates. The graph is small and lies in memory: the usual value.
const ALPHA: f32 = 1.2;

/// How large a navigation graph is and how carefully it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NavigationSpec {
    /// Nodes that are sampled, at least 1. Published systems take 0.1 % to 10 % of all.
    pub sample: u32,
    /// Longest adjacency list, 1 to 4,096; 24 to 48 is usual.
    pub max_degree: u32,
    /// Candidate list of the build, 1 to 65,536; 64 to 128 is usual.
    pub build_list: u32,
    /// Fixes the sample and the order of insertion.
    pub seed: u64,
}

impl NavigationSpec {
    pub(super) const fn vamana(&self) -> VamanaSpec {
        VamanaSpec {
            max_degree: self.max_degree,
            build_list: self.build_list,
            alpha: ALPHA,
            seed: self.seed,
        }
    }

    /// Bytes that [`NavigationGraph::build`] holds at its peak, sampled vectors and finished graph
    /// included.
    pub fn build_bytes(&self, shape: VectorShape, metric: Guide, threads: usize) -> u64 {
        let sample = u64::from(self.sample);
        let vectors = NavigationGraph::vector_bytes(sample, shape.row_bytes() as u64)
            .saturating_add(VectorSet::extra_bytes(sample, metric));
        let linking = build_bytes(sample, &self.vamana(), threads);
        // The search for the medoid ends before the first link.
        vectors.saturating_add(linking.max(BLOCK_BYTES as u64))
    }
}
