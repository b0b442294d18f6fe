//! A scan of one of several segments beside those that were scanned before it.
//!
//! ```text
//!  largest segment   all that its list asks for  -> where the list of all ends, at most
//!  smaller ones      nearest clusters first, until some in a row bring nothing nearer than that
//! ```
//! A small segment has few of the answers, or none: what its own list asks for would be most of its
//! clusters.

use super::candidates::CandidateList;

/// Clusters that a segment of all nodes would be scanned on for.
const PATIENCE_OF_ALL: usize = 512;

/// Those of the smallest.
const LEAST_PATIENCE: usize = 4;

/// Whether more clusters of a segment are worth it beside segments that were scanned before it: not
/// when a few in a row have brought nothing that the list of all would hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// Distance, in sortable bits, of the last candidate that the others have for that list; the
    /// largest where they do not fill it.
    end: u32,
    /// Whether it was moved farther since clusters were looked into.
    pub(super) goes_on: bool,
    /// Clusters in a row that bring nothing before a scan ends.
    patience: usize,
    /// Candidates before the end.
    within: usize,
    /// Clusters since the last that brought one.
    stale: usize,
}

impl Default for Beside {
    fn default() -> Self {
        Self {
            end: u32::MAX,
            goes_on: false,
            patience: usize::MAX,
            within: 0,
            stale: 0,
        }
    }
}

/// Clusters in a row that bring nothing before the scan of a segment of `nodes`, among so many of
/// all, ends: more where more of the answers are its own. With half as many, text lost .002 of
/// recall at a share of a fifth, with a quarter .01.
fn patience(nodes: usize, all: usize) -> usize {
    let share = nodes.saturating_mul(PATIENCE_OF_ALL) / all.max(1);
    share.max(LEAST_PATIENCE)
}

impl Beside {
    /// Looks into clusters anew, with a longer list or a farther end.
    pub(super) fn begin(&mut self) {
        (self.goes_on, self.stale) = (false, 0);
    }

    /// Ends at this distance from now on, in a segment of `nodes` among so many of all.
    pub(super) fn end_at(&mut self, end: u32, (nodes, all): (usize, usize)) {
        self.goes_on = end > self.end;
        self.end = end;
        self.patience = patience(nodes, all);
    }

    /// Looks at the list after a cluster, if that had what may be an answer.
    pub(super) fn ends(&mut self, candidates: &CandidateList, had_admitted: bool) -> bool {
        if self.end == u32::MAX {
            return false;
        }
        let within = candidates.count_within(self.end);
        if had_admitted {
            let stale = self.stale + 1;
            self.stale = if within > self.within { 0 } else { stale };
        }
        self.within = within;
        self.stale >= self.patience
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::NodeId;

    use super::*;
    use crate::execution::key::sort_key;

    fn offer(list: &mut CandidateList, node: u16) {
        list.insert(NodeId(node.into()), node.into());
    }

    #[test]
    fn a_scan_beside_others_ends_once_clusters_bring_nothing_near() {
        let mut list = CandidateList::default();
        list.reset(10, 0);
        let mut beside = Beside::default();
        for node in 20..30 {
            offer(&mut list, node);
            assert!(!beside.ends(&list, true), "no end is known");
        }
        list.reset(10, 0);
        beside.end_at((sort_key(5.0, NodeId(0)) >> 32) as u32, (1, 1000));
        beside.begin();
        let mut ends = |node: u16, had_admitted: bool| {
            offer(&mut list, node);
            beside.ends(&list, had_admitted)
        };
        assert!(!ends(9, false) && !ends(8, true) && !ends(7, true));
        assert!(!ends(5, true), "one within begins anew");
        assert!(!ends(10, true) && !ends(11, false) && !ends(12, true) && !ends(13, true));
        assert!(ends(14, true), "four in a row");
    }

    #[test]
    fn patience_grows_with_the_share_of_the_nodes() {
        assert_eq!(patience(1000, 1_000_000), LEAST_PATIENCE);
        assert_eq!(patience(200_000, 1_000_000), 102);
        assert_eq!(patience(0, 0), LEAST_PATIENCE);
    }
}
