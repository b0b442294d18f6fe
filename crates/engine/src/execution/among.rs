//! Searching among some nodes, the others of which lead on alone: which list is long enough, and
//! when it is given up. One rule, however candidates are gathered.
//!
//! ```text
//!  of the near nodes may be answers       all        as many as everywhere       fewer
//!  list that is long enough              alone              list_size       longer in proportion
//! ```
//! What is near tells more than what matches does: the list follows from the candidates, again each
//! time it has grown.

use super::Traversal;
use super::key::key_node;
use super::query::Gathering;
use crate::layout::PageCodec;

/// Candidates that may be answers beside those there are, before a search is given up for want of
/// them: few candidates tell little.
const ADMITTED_SLACK: usize = 2;

/// Times the cost of the scan that a search may come to.
const MOST_SPENT: f64 = 2.0;

/// Times that fewer of the near nodes may be answers before that counts, for a scan of clusters.
const SHARE_SLACK: f64 = 1.1;

/// A search among some nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkAmong {
    /// Share of all nodes that may be answers.
    pub(crate) share: f64,
    /// List size where all nodes may be.
    pub(crate) alone: f64,
    /// List size that finds k of them where they are spread evenly.
    pub(crate) list_size: f64,
    /// Cost of the scan that is there in its place, in scores of codes.
    pub(crate) most: f64,
    /// Places that the list may lack before it is given up.
    pub(crate) longest: f64,
}

impl WalkAmong {
    /// The list that is long enough where this share of the near nodes may be answers: one that
    /// holds as many of them as that of evenly spread ones does, or that of all nodes and more of
    /// it by as many as there are others for each, whichever is shorter.
    fn wanted(self, near: f64) -> f64 {
        let near = near.max(f64::MIN_POSITIVE);
        let others = |share: f64| (1.0 / share - 1.0).max(0.0);
        let expected = others(self.share.max(f64::MIN_POSITIVE));
        if expected == 0.0 {
            return self.alone;
        }
        let holding = self.list_size * self.share / near;
        let longer = self.alone + (self.list_size - self.alone) * others(near) / expected;
        holding.min(longer).max(self.alone)
    }
}

impl<C: PageCodec> Traversal<'_, C> {
    /// Whether too few of the candidates may be answers: fewer than are wanted, or than a list of
    /// this length needs.
    pub(super) fn lacks_admitted(&self) -> bool {
        let (candidates, sizes) = (&self.scratch.candidates, self.scratch.shape.sizes);
        let count = self.count_admitted();
        let Some(among) = self.query.among else {
            return count < sizes.list_size;
        };
        let wanted = (sizes.results as f64 * self.part()).ceil();
        let is_long = self.list_among(among, 0) <= candidates.depth() as f64;
        (count as f64) < wanted || !(is_long || self.is_patient(among))
    }

    /// Whether the search is to be given up: for what it has cost, or for what it would with a list
    /// that is long enough.
    pub(super) fn is_too_dear(&self, among: WalkAmong) -> bool {
        let gathering = self.scratch.shape.index.gathering();
        let spent = self.stats.cost(gathering.expansion_cost());
        let depth = self.scratch.candidates.depth().max(1) as f64;
        // What was looked at was looked at: the rest against the whole of the other way.
        let rest = self.list_among(among, ADMITTED_SLACK) - depth;
        rest > among.longest * self.part()
            || rest * spent / depth > among.most
            || spent > among.most * MOST_SPENT
    }

    /// The list that the search should have in this segment, were so many more of the near nodes
    /// such that may be answers.
    pub(super) fn list_among(&self, among: WalkAmong, more: usize) -> f64 {
        among.wanted(self.near_share(more)) * self.part()
    }

    /// Share of the near nodes that may be answers: of the candidates, or where those are all such,
    /// of what a scan met.
    fn near_share(&self, more: usize) -> f64 {
        let (admitted, all) = match self.scratch.shape.index.gathering() {
            Gathering::Scanning => self.scan.nearby.counts(),
            Gathering::Reading | Gathering::InMemory => {
                (self.count_admitted(), self.scratch.candidates.keys().len())
            }
        };
        ((admitted + more) as f64 / all.max(1) as f64).min(1.0)
    }

    /// Whether a scan, which goes on while it finds nearer ones, has met as many as are everywhere:
    /// it needs no longer list for those.
    fn is_patient(&self, among: WalkAmong) -> bool {
        let scans = self.scratch.shape.index.gathering() == Gathering::Scanning;
        scans && self.near_share(0) * SHARE_SLACK >= among.share
    }

    /// Candidates that may be answers.
    fn count_admitted(&self) -> usize {
        let keys = self.scratch.candidates.keys().iter();
        let admitted = |key: &&u64| self.query.admission.admits(key_node(**key));
        keys.filter(admitted).count()
    }

    /// Part of the list of the query that this segment began with.
    fn part(&self) -> f64 {
        let sizes = self.scratch.shape.sizes;
        sizes.list_size as f64 / self.query.sizes.list_size.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(share: f64, list_size: f64) -> WalkAmong {
        WalkAmong {
            share,
            alone: 20.0,
            list_size,
            most: f64::MAX,
            longest: f64::MAX,
        }
    }

    #[test]
    fn a_list_is_as_long_as_the_near_nodes_tell() {
        let half = among(0.5, 30.0);
        let wanted = [1.0, 0.625, 0.5, 0.25].map(|near| half.wanted(near));
        assert_eq!(wanted, [20.0, 24.0, 30.0, 50.0]);
        assert!(half.wanted(0.0) > 1e300);
        // Where all match some may have died.
        assert_eq!(among(1.0, 20.0).wanted(0.9), 20.0);
    }

    #[test]
    fn a_list_that_grows_as_fewer_match_holds_as_many_of_them() {
        let tenth = among(0.1, 200.0);
        for near in [0.02, 0.1, 0.5, 1.0] {
            let held = tenth.wanted(near) * near;
            assert!((held - 20.0).abs() < 1e-9, "{near}: {held}");
        }
    }
}
