//! Collects answers in the order of the queries.

use std::ops::Range;

use crate::execution::driver::Outcomes;
use crate::execution::{AnswerOrder, Neighbor, QueryStats, answer_order};
use crate::options::{Answers, SearchSettings};

/// An answer, from a segment or a delta.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    pub(super) id: u64,
    pub(super) row: u32,
    pub(super) node: u32,
    pub(super) distance: f32,
    /// Error bound of the distance.
    pub(super) error: f32,
}

impl Answer {
    /// Its place among others.
    pub(super) fn order(&self) -> AnswerOrder {
        answer_order(self.distance, self.id, self.node)
    }
}

impl From<&Neighbor> for Answer {
    fn from(found: &Neighbor) -> Self {
        Self {
            id: found.user_id,
            row: found.row,
            node: found.node.0,
            distance: found.distance,
            error: found.error,
        }
    }
}

/// A place without an answer.
const NONE: Answer = Answer {
    id: u64::MAX,
    row: u32::MAX,
    node: u32::MAX,
    distance: f32::INFINITY,
    error: 0.0,
};

/// How many results a query may have.
#[derive(Clone, Copy)]
pub(super) struct ResultPlaces {
    pub(super) k: usize,
    /// Rows of the index.
    pub(super) rows: usize,
    /// Whether every query has `k` places, filled or not.
    pub(super) fills: bool,
}

/// Puts the rows of all threads into the order of the queries.
pub(super) fn collect(
    outcomes: &mut [Outcomes],
    count: usize,
    room: ResultPlaces,
    settings: SearchSettings,
) -> Answers {
    let mut answers = Answers {
        k: room.k,
        lims: vec![0],
        stats: vec![QueryStats::default(); count],
        settings,
        ..Answers::default()
    };
    let mut places = vec![(0, 0..0); count];
    for (thread, outcome) in outcomes.iter().enumerate() {
        let mut start = 0;
        for (query, finished) in &outcome.queries {
            let results = finished.results;
            if let (Some(place), Some(own)) =
                (places.get_mut(*query), answers.stats.get_mut(*query))
            {
                *place = (thread, start..start + results);
                *own = finished.stats;
            }
            start += results;
        }
    }
    for (thread, range) in places {
        let found = outcomes.get(thread).and_then(|own| own.found.get(range));
        let found = found.unwrap_or_default();
        if room.fills {
            answers.put(found.iter().map(Answer::from), room.k);
        } else {
            answers.put(found.iter().map(Answer::from), 0);
            answers.truncated += usize::from(found.len() >= room.k && found.len() < room.rows);
        }
    }
    for outcome in outcomes {
        outcome.found = Vec::new();
    }
    answers
}

impl Answers {
    /// Empty places for `count` queries.
    pub(super) fn none(count: usize, places: ResultPlaces) -> Self {
        let mut answers = Self {
            k: places.k,
            lims: vec![0],
            stats: vec![QueryStats::default(); count],
            ..Self::default()
        };
        for _ in 0..count {
            answers.put(std::iter::empty(), if places.fills { places.k } else { 0 });
        }
        answers
    }

    /// Appends the results of the next query, filled up with empty places to `places`.
    pub(super) fn put(&mut self, found: impl Iterator<Item = Answer>, places: usize) {
        let full = self.ids.len() + places;
        for one in found {
            self.push(one);
        }
        while self.ids.len() < full {
            self.push(NONE);
        }
        self.lims.push(self.ids.len());
    }

    fn push(&mut self, one: Answer) {
        self.ids.push(one.id);
        self.rows.push(one.row);
        self.nodes.push(one.node);
        self.distances.push(one.distance);
        self.errors.push(one.error);
    }

    /// The places of a query.
    fn places_of(&self, query: usize) -> Range<usize> {
        let bounds = self.lims.get(query).zip(self.lims.get(query + 1));
        bounds.map_or(0..0, |(start, end)| *start..*end)
    }

    /// The results of a query.
    pub(super) fn of_query(&self, query: usize) -> impl Iterator<Item = Answer> + '_ {
        self.places_of(query).filter_map(|at| {
            Some(Answer {
                id: *self.ids.get(at)?,
                row: *self.rows.get(at)?,
                node: *self.nodes.get(at).filter(|node| **node != NONE.node)?,
                distance: *self.distances.get(at)?,
                error: *self.errors.get(at)?,
            })
        })
    }

    /// Queries that have fewer than `least` results.
    pub(super) fn short_of(&self, least: usize) -> Vec<usize> {
        let queries = 0..self.lims.len().saturating_sub(1);
        let is_short = |query: &usize| self.of_query(*query).count() < least;
        queries.filter(is_short).collect()
    }

    /// Adds what the same queries cost in another call.
    pub(super) fn add_costs(&mut self, other: &Self) {
        for (own, more) in self.stats.iter_mut().zip(&other.stats) {
            own.add(more);
        }
    }

    /// Replaces the results of a query. If it `fills` its places, their number stays; otherwise it
    /// is that of the results.
    pub(super) fn replace(&mut self, query: usize, found: &[Answer], fills: bool) {
        if query + 1 >= self.lims.len() {
            return;
        }
        let Range { start, end } = self.places_of(query);
        let places = if fills { end - start } else { found.len() };
        let all = || (0..places).map(|at| found.get(at).copied().unwrap_or(NONE));
        self.ids.splice(start..end, all().map(|one| one.id));
        self.rows.splice(start..end, all().map(|one| one.row));
        self.nodes.splice(start..end, all().map(|one| one.node));
        self.distances
            .splice(start..end, all().map(|one| one.distance));
        self.errors.splice(start..end, all().map(|one| one.error));
        if places != end - start {
            for lim in self.lims.iter_mut().skip(query + 1) {
                *lim = *lim + places - (end - start);
            }
        }
    }
}

impl Answers {
    /// The documents of the places of a query that are known.
    pub(super) fn documents_known(&self, query: usize) -> &[Option<String>] {
        let known = self.attributes.get(self.places_of(query));
        known.unwrap_or_default()
    }

    /// Replaces the documents of a query.
    pub(super) fn replace_documents(&mut self, query: usize, documents: &[Option<String>]) {
        if self.attributes.is_empty() && documents.is_empty() {
            return;
        }
        self.attributes.resize(self.ids.len(), None);
        let places = self.places_of(query);
        let own = self.attributes.get_mut(places).unwrap_or_default();
        let given = documents.iter().cloned().chain(std::iter::repeat(None));
        own.iter_mut()
            .zip(given)
            .for_each(|(own, given)| *own = given);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_a_query_are_replaced() {
        let mut answers = Answers {
            k: 2,
            lims: vec![0, 2, 4],
            ids: vec![1, u64::MAX, 3, 4],
            rows: vec![1, u32::MAX, 3, 4],
            nodes: vec![1, u32::MAX, 3, 4],
            distances: vec![1.0, f32::INFINITY, 3.0, 4.0],
            errors: vec![0.0; 4],
            ..Answers::default()
        };
        assert_eq!(answers.short_of(2), [0]);
        let one = Answer {
            id: 9,
            row: 9,
            node: 9,
            distance: 0.5,
            error: 0.0,
        };
        answers.replace(0, &[one, one], true);
        assert_eq!(answers.ids, [9, 9, 3, 4]);
        answers.attributes = vec![None, None, Some("c".to_owned()), None];
        answers.replace_documents(0, &[Some("a".to_owned())]);
        let known = answers.attributes.iter().map(Option::as_deref);
        assert!(known.eq([Some("a"), None, Some("c"), None]));
        answers.replace(0, &[one], false);
        assert_eq!(
            (answers.ids.as_slice(), answers.lims.as_slice()),
            (&[9, 3, 4][..], &[0, 1, 3][..])
        );
    }
}
