//! Parameters of a build, and the memory that it takes.

use pageway_types::NodeId;

use super::{batch::Batch, repair, worker::Scratch};
use crate::error::GraphError;
use crate::graph::AdjacencyLists;
use crate::prune::PruneSpec;

/// Tenths of the max degree by which lists may outgrow it during the build.
const SLACK_TENTHS: u32 = 3;

/// Candidates that one prune looks at; farther ones are cut off first.
pub(crate) const MAX_CANDIDATES: usize = 750;

/// A batch is at most the set divided by this. Nodes of a batch do not see each other, so larger
/// batches cost quality: on 50,000 vectors a divisor of 50 takes 0.3 % of the recall at equal list
/// size, 500 nothing that could be measured.
const BATCH_SHARE: u32 = 400;

/// A batch holds at most this many nodes, however large the set: enough for hundreds of threads.
const MAX_BATCH: u32 = 20_000;

/// A batch may hold this many nodes, however small the set: enough for a few threads.
const MIN_BATCH: u32 = 16;

/// Bounds of the parameters. Above them memory or time explode long before the graph improves.
const MAX_DEGREE_LIMIT: u32 = 4096;
const BUILD_LIST_LIMIT: u32 = 1 << 16;

/// Parameters of a Vamana graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VamanaSpec {
    /// Longest adjacency list, called `R` in the literature. 1 to 4,096; 32 to 96 is usual.
    pub max_degree: u32,
    /// Candidate list of the searches that find neighbours, called `L`. 1 to 65,536.
    pub build_list: u32,
    /// Occlusion that pruning tolerates, on squared distances; at least 1, usually 1.2.
    pub alpha: f32,
    /// Fixes the order of insertion.
    pub seed: u64,
}

impl VamanaSpec {
    pub(crate) fn validate(&self) -> Result<(), GraphError> {
        let refuse = |name, value: String, expected| {
            Err(GraphError::Parameter {
                name,
                value,
                expected,
            })
        };
        if !(1..=MAX_DEGREE_LIMIT).contains(&self.max_degree) {
            return refuse("max_degree", self.max_degree.to_string(), "1 to 4096");
        }
        if !(1..=BUILD_LIST_LIMIT).contains(&self.build_list) {
            return refuse("build_list", self.build_list.to_string(), "1 to 65536");
        }
        if !(self.alpha.is_finite() && self.alpha >= 1.0) {
            return refuse(
                "alpha",
                self.alpha.to_string(),
                "a finite number of at least 1",
            );
        }
        Ok(())
    }

    /// Longest list during the build.
    pub(crate) const fn slack_degree(&self) -> u32 {
        self.max_degree + self.max_degree * SLACK_TENTHS / 10
    }

    pub(crate) const fn prune(&self) -> PruneSpec {
        PruneSpec {
            max_degree: self.max_degree,
            alpha: self.alpha,
        }
    }

    /// Nodes in the largest batch of a build over `count` nodes.
    pub(crate) fn max_batch(count: u32) -> u32 {
        (count / BATCH_SHARE)
            .clamp(MIN_BATCH, MAX_BATCH)
            .min(count.max(1))
    }
}

/// Bytes that [`build`](super::build) holds at its peak beside the rows and what a
/// [`VectorSet`](crate::VectorSet) holds; the finished graph is part of it.
///
/// An upper bound: all buffers are allocated at their largest size before the first insertion.
/// Counts are those that a build accepts; others saturate.
pub fn build_bytes(count: u64, spec: &VamanaSpec, threads: usize) -> u64 {
    let nodes = u32::try_from(count).unwrap_or(u32::MAX);
    let lists = AdjacencyLists::bytes(count, spec.slack_degree());
    let order = count.saturating_mul(size_of::<NodeId>() as u64);
    let batch = Batch::bytes(nodes, spec);
    let scratch = Scratch::bytes(nodes, spec).saturating_mul(threads.max(1) as u64);
    let building = lists
        .saturating_add(order)
        .saturating_add(batch)
        .saturating_add(scratch);
    let finished = AdjacencyLists::bytes(count, spec.max_degree);
    let repairing = finished.saturating_add(repair::bytes(count, spec, threads));
    building.max(repairing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_out_of_range_are_refused() {
        let spec = VamanaSpec {
            max_degree: 48,
            build_list: 100,
            alpha: 1.2,
            seed: 0,
        };
        assert!(spec.validate().is_ok());
        assert_eq!(spec.slack_degree(), 62);
        assert!(
            VamanaSpec {
                max_degree: 0,
                ..spec
            }
            .validate()
            .is_err()
        );
        assert!(
            VamanaSpec {
                max_degree: 4097,
                ..spec
            }
            .validate()
            .is_err()
        );
        assert!(
            VamanaSpec {
                build_list: 0,
                ..spec
            }
            .validate()
            .is_err()
        );
        assert!(VamanaSpec { alpha: 0.9, ..spec }.validate().is_err());
        assert!(
            VamanaSpec {
                alpha: f32::NAN,
                ..spec
            }
            .validate()
            .is_err()
        );
    }
}
