//! What to place, and how.

use crate::error::GraphError;

/// Which nodes share a page.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Placement {
    /// Block neighbour padding: each node with the first of its neighbours. One pass.
    Bnp,
    /// Block neighbour frequency: each node to the page that holds most of its neighbours.
    Bnf {
        /// Rounds at most (beta of the paper, 8 there).
        rounds: u32,
        /// Ends when a round adds less than this share to the overlap ratio (tau, 0.01 there).
        gain: f32,
    },
    /// Block neighbour swap: starts from BNF and exchanges nodes between pages that are linked.
    Bns {
        /// Sweeps over all pages at most, and rounds of the BNF before them.
        rounds: u32,
        /// Ends when a sweep adds less than this share to the overlap ratio.
        gain: f32,
    },
    /// A node with the nearest of the nodes that it reaches in a few hops.
    Grouped {
        /// Hops, at least 1. The third one already reaches tens of thousands of nodes.
        hops: u32,
    },
    /// Cells of equal size: the set is cut in two until a piece fits a page. Looks at vectors only.
    Clustered,
    /// From the order of `Clustered`, nodes change places while that brings the nearest of their
    /// neighbours onto their page.
    Nearest,
}

/// How to place nodes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlacementSpec {
    /// The method.
    pub placement: Placement,
    /// Nodes of a page, at least 1.
    pub nodes_per_page: u32,
    /// Seed of the samples that `Clustered` and `Nearest` draw; the other methods draw none.
    pub seed: u64,
}

impl PlacementSpec {
    /// Checks every field.
    pub(super) fn validate(&self) -> Result<(), GraphError> {
        if self.nodes_per_page == 0 {
            return Err(refuse("nodes_per_page", "0", "at least 1"));
        }
        match self.placement {
            Placement::Grouped { hops: 0 } => Err(refuse("hops", "0", "at least 1")),
            Placement::Bnf { gain, .. } | Placement::Bns { gain, .. }
                if !(0.0..=1.0).contains(&gain) =>
            {
                Err(refuse("gain", &gain.to_string(), "a share from 0 to 1"))
            }
            Placement::Bnp
            | Placement::Bnf { .. }
            | Placement::Bns { .. }
            | Placement::Grouped { .. }
            | Placement::Clustered
            | Placement::Nearest => Ok(()),
        }
    }
}

fn refuse(name: &'static str, value: &str, expected: &'static str) -> GraphError {
    GraphError::Parameter {
        name,
        value: value.to_owned(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_out_of_range_are_refused() {
        let check = |placement, nodes_per_page| {
            let spec = PlacementSpec {
                placement,
                nodes_per_page,
                seed: 0,
            };
            spec.validate().is_ok()
        };
        assert!(check(Placement::Bnp, 1));
        assert!(!check(Placement::Bnp, 0));
        assert!(!check(Placement::Grouped { hops: 0 }, 4));
        let bnf = |gain| Placement::Bnf { rounds: 8, gain };
        let bns = |gain| Placement::Bns { rounds: 8, gain };
        assert!(check(bnf(0.0), 4) && check(bns(0.01), 4));
        for gain in [-0.1, 1.5, f32::NAN] {
            assert!(!check(bnf(gain), 4) && !check(bns(gain), 4));
        }
    }
}
