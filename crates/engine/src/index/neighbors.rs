//! The search of an insert: the nodes nearest to its row, with their vectors.

use pageway_types::NoProgress;

use super::watch::{Notes, Watch};
use super::{Index, Version};
use crate::error::Result;
use crate::execution::driver::Outcomes;
use crate::execution::{CallLists, MetRows, Neighbor, QueryStats};
use crate::options::{Effort, Queries, SearchOptions};

/// Vectors that are kept per place of a list: pages bring more than the walk asked for.
const KEPT_PER_PLACE: u32 = 2;

/// The neighbours found for a row.
pub(crate) struct MetNeighbors {
    /// Living nodes, nearest first.
    pub(crate) found: Vec<Neighbor>,
    /// Vectors of most of them, as segments hold them.
    pub(crate) rows: Option<MetRows>,
    /// The cost of the search.
    pub(crate) stats: QueryStats,
}

impl Version {
    /// The longest list up to `most` that the memory of searches holds.
    pub(crate) fn list_up_to(&self, most: u32) -> u32 {
        let options = SearchOptions::default();
        let fits = |size: u32| {
            let sizes = self.sizes(&options, size);
            sizes.is_ok_and(|sizes| self.has_room(sizes))
        };
        crate::memory::largest(1, most.max(1), fits)
    }
}

/// Bytes of the vectors that are kept of a search with a list of this size.
pub(crate) const fn met_bytes(list_size: u32, row_bytes: u64) -> u64 {
    MetRows::bytes(row_bytes, (list_size * KEPT_PER_PLACE) as u64)
}

impl Index {
    /// The nodes of `version` that are nearest to a row, by a walk with a list of this size.
    ///
    /// # Errors
    /// As searches.
    pub(crate) fn neighbors_of(
        &self,
        version: &Version,
        row: &[u8],
        list_size: u32,
    ) -> Result<MetNeighbors> {
        let notes = Notes {
            met: (list_size * KEPT_PER_PLACE) as usize,
            ..Notes::default()
        };
        let options = SearchOptions {
            effort: Effort::ListSize(list_size),
            threads: 1,
            interleave: 1,
            ..SearchOptions::nearest(list_size)
        };
        let queries = Queries::new(row, self.shape());
        let sizes = version.sizes(&options, list_size)?;
        let watch = Watch::new(&options, &NoProgress).noting(notes);
        let place = (version, &queries);
        let (outcomes, _) = self.run_sized(place, &options, CallLists::fixed(sizes), watch)?;
        let Outcomes {
            queries,
            found,
            met,
            ..
        } = outcomes.into_iter().next().unwrap_or_default();
        Ok(MetNeighbors {
            found,
            rows: met,
            stats: queries.first().map(|own| own.1.stats).unwrap_or_default(),
        })
    }
}
