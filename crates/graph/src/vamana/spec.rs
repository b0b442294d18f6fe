//! Parameters of a build, the build, and the memory that it takes.

use pageway_types::{NodeId, Progress};

use crate::error::GraphError;
use crate::graph::Graph;
use crate::linking::{
    InsertSpec, Insertion, ListSpec, check_alpha, check_degree, check_entry, check_list,
};
use crate::prune::PruneSpec;
use crate::vectors::VectorSet;

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
    fn validate(&self) -> Result<(), GraphError> {
        check_degree("max_degree", self.max_degree)?;
        check_list("build_list", self.build_list)?;
        check_alpha(self.alpha)
    }

    pub(crate) const fn prune(&self) -> PruneSpec {
        PruneSpec {
            max_degree: self.max_degree,
            alpha: self.alpha,
        }
    }

    const fn insert(&self) -> InsertSpec {
        InsertSpec {
            lists: ListSpec {
                prune: self.prune(),
                fill: 0,
            },
            first_fill: 0,
            build_list: self.build_list,
            seed: self.seed,
        }
    }
}

/// Builds a graph over `vectors` that is searched from `entry`.
///
/// `guests`, distinct, join the finished graph of the others and hardly change it: searched with
/// them hidden it finds what a graph without them would.
///
/// Takes [`build_bytes`] of memory beside the vectors, all of it allocated at the start, and about
/// `build_list * max_degree` distances per vector. The graph is the same for any number of threads
/// in `pool`.
///
/// # Errors
/// When a parameter or the entry is out of range, memory is refused, or `progress` cancels;
/// that is noticed within some milliseconds.
pub fn build(
    vectors: &VectorSet<'_>,
    (entry, guests): (NodeId, &[NodeId]),
    spec: &VamanaSpec,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Graph, GraphError> {
    spec.validate()?;
    check_entry(entry, vectors.count())?;
    for guest in guests {
        check_entry(*guest, vectors.count())?;
    }
    let insertion = Insertion {
        vectors,
        entry,
        spec: spec.insert(),
        guests,
        progress,
    };
    pool.install(|| insertion.graph())
}

/// Bytes that [`build`] holds at its peak beside the rows and what a [`VectorSet`] holds; the
/// finished graph is part of it.
///
/// An upper bound. Counts are those that a build accepts; others saturate.
pub fn build_bytes(count: u64, spec: &VamanaSpec, threads: usize) -> u64 {
    spec.insert().bytes(count, threads)
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
