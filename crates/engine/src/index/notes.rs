//! Searches that give notes about lists of all sizes instead of answers.

use pageway_types::Progress;

use super::watch::Watch;
use super::{Index, Version};
use crate::error::Result;
use crate::execution::{CallLists, Gathering, Ladder, LadderNote};
use crate::options::{Queries, SearchOptions};

/// The notes of queries.
pub(crate) struct ListNotes {
    /// By thread: query by query, in no order.
    pub(crate) notes: Vec<Vec<(usize, LadderNote)>>,
    /// Reads in flight at most (W).
    pub(crate) beam: u32,
}

/// How searches note what lists of several sizes find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListNoting {
    /// Each search notes all lists on its way to the longest.
    OnTheWay,
    /// Each search notes one list.
    OneByOne,
}

impl Version {
    /// Whether the memory of searches holds a query that walks up to this list.
    fn has_ladder_room(&self, options: &SearchOptions, longest: u32) -> bool {
        let sizes = self.chosen_sizes(options, longest);
        sizes.is_ok_and(|sizes| self.has_room(sizes))
    }
}

impl Index {
    /// How searches can note what lists find, for every number of neighbours at once: where there
    /// is one segment without dead rows, and what a list finds does not depend on that number.
    pub(crate) fn notes_lists(&self) -> Option<ListNoting> {
        let version = self.version();
        let [segment] = version.segments.as_slice() else {
            return None;
        };
        let execution = &version.manifest.spec.execution;
        let noting = match segment.shape.gathering() {
            Gathering::InMemory | Gathering::Scanning => ListNoting::OnTheWay,
            Gathering::Reading if execution.refine.is_inline() => ListNoting::OneByOne,
            Gathering::Reading => return None,
        };
        let is_told = version.dead_count() == 0 && execution.stop.slack(1, 1) == f32::INFINITY;
        is_told.then_some(noting)
    }

    /// Whether memory has room for a search that notes lists up to `longest`.
    pub(crate) fn has_ladder_room(&self, options: &SearchOptions, longest: u32) -> bool {
        self.version().has_ladder_room(options, longest)
    }

    /// Notes what the lists of a ladder find for each of the queries.
    ///
    /// # Errors
    /// As searches; for a ladder without sizes.
    pub(crate) fn note_lists(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        ladder: &Ladder<'_>,
        progress: &dyn Progress,
    ) -> Result<ListNotes> {
        let version = self.version();
        let longest = ladder.sizes.last().copied().unwrap_or(1);
        let lists = CallLists {
            ladder: Some(ladder),
            lift: ladder.lift,
            ..CallLists::fixed(version.chosen_sizes(options, longest)?)
        };
        let watch = Watch::new(options, progress);
        let place = (&*version, queries);
        let (outcomes, settings) = self.run_sized(place, options, lists, watch)?;
        Ok(ListNotes {
            notes: outcomes.into_iter().map(|own| own.notes).collect(),
            beam: settings.beam,
        })
    }
}
