//! Some of the queries of a call, searched on their own.

use super::collect::Answer;
use crate::execution::HeldOut;
use crate::execution::driver::Outcomes;
use crate::options::{Answers, Queries};

/// Copies of some queries.
pub(super) struct QuerySubset<'p> {
    /// Their places in the call, ascending.
    places: &'p [usize],
    rows: Vec<u8>,
    held_out: Option<Vec<HeldOut>>,
}

impl<'p> QuerySubset<'p> {
    /// Those at `places`.
    pub(super) fn of(queries: &Queries<'_>, places: &'p [usize]) -> Self {
        let row_bytes = queries.shape.row_bytes();
        let row = |place: &usize| queries.rows.get(place * row_bytes..(place + 1) * row_bytes);
        let nodes = |nodes: &[HeldOut]| {
            let each = places.iter().filter_map(|place| nodes.get(*place));
            each.cloned().collect()
        };
        Self {
            places,
            rows: places.iter().filter_map(row).flatten().copied().collect(),
            held_out: queries.held_out.map(nodes),
        }
    }

    /// The same as a call of their own, with all else that `queries` say.
    pub(super) fn queries<'q>(&'q self, queries: &Queries<'q>) -> Queries<'q> {
        Queries {
            rows: &self.rows,
            held_out: self.held_out.as_deref(),
            ..*queries
        }
    }

    /// Puts their results into the answers of the whole call, with known documents. A query has no
    /// more places there than here. Costs are added.
    pub(super) fn put_into(&self, answers: &mut Answers, found: &Answers) {
        for (at, query) in self.places.iter().enumerate() {
            let own: Vec<Answer> = found.of_query(at).collect();
            answers.replace(*query, &own, true);
            answers.replace_documents(*query, found.documents_known(at));
            if let Some((stats, more)) = answers.stats.get_mut(*query).zip(found.stats.get(at)) {
                stats.add(more);
            }
        }
    }

    /// The outcomes of threads, with the numbers of the queries in the whole call.
    pub(super) fn numbered(&self, mut outcomes: Vec<Outcomes>) -> Vec<Outcomes> {
        let numbers = outcomes.iter_mut().flat_map(|own| &mut own.queries);
        for (number, _) in numbers {
            *number = self.places.get(*number).copied().unwrap_or(*number);
        }
        outcomes
    }
}
