//! Searches again for queries that found fewer rows than there are, for example because all
//! candidates near them died.

use super::subset::QuerySubset;
use super::watch::{Notes, Watch};
use super::{Index, MAX_LIST_SIZE, Version};
use crate::error::Result;
use crate::execution::{CallLists, MOST_COPIES};
use crate::options::{Answers, Queries, SearchOptions};

/// A list is so many times as long as the one before, which found too few.
const LONGER: u32 = 4;

impl Index {
    /// Searches with longer and longer lists for queries that found fewer than `k` while there are
    /// more rows; compares all rows if no list is long enough.
    pub(super) fn fill(
        &self,
        place: (&Version, &Queries<'_>),
        options: &SearchOptions,
        watch: Watch<'_>,
        answers: &mut Answers,
    ) -> Result<()> {
        let held_out = place.1.held_out.map_or(0, |_| MOST_COPIES as u64 + 1);
        let others = place.0.living().saturating_sub(held_out);
        let least = others.min(options.k.into()) as usize;
        let mut list_size = answers.settings.list_size.max(options.k);
        loop {
            let short = answers.short_of(least);
            if short.is_empty() {
                return Ok(());
            }
            let longest = place.0.node_count().min(MAX_LIST_SIZE);
            let is_last = list_size >= longest;
            list_size = list_size.saturating_mul(LONGER).min(longest);
            let subset = QuerySubset::of(place.1, &short);
            let own = (place.0, &subset.queries(place.1));
            let list_size = (!is_last).then_some(list_size);
            let watch = watch.noting(Notes::default());
            subset.put_into(answers, &self.filled(own, options, list_size, watch)?);
            if is_last {
                return Ok(());
            }
        }
    }

    /// Answers with lists of a size; by all vectors if there is no size, or no memory for it.
    fn filled(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        list_size: Option<u32>,
        watch: Watch<'_>,
    ) -> Result<Answers> {
        let place = (version, queries);
        let sizes = list_size.map(|size| version.sizes_for(options, size, None));
        let sizes = sizes.transpose()?.filter(|sizes| version.has_room(*sizes));
        let Some(sizes) = sizes else {
            return Ok(self.search_exactly(place, options, watch)?.0);
        };
        let lists = CallLists::fixed(sizes);
        let (mut answers, outcomes) = self.search_sized(place, options, lists, watch)?;
        self.add_deltas(version, (queries, options), (&mut answers, &outcomes));
        Ok(answers)
    }
}
