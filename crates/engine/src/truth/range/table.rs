//! The results of a set of range queries.

use std::ops::Range;

use crate::truth::Truth;

/// All rows within a radius of each query, nearest first.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeTruth {
    /// Where the results of each query begin, and the number of all: one more than queries.
    pub lims: Vec<usize>,
    /// Row numbers of the base.
    pub ids: Vec<u32>,
    /// Distances in step with `ids`.
    pub distances: Vec<f32>,
}

impl Default for RangeTruth {
    fn default() -> Self {
        Self {
            lims: vec![0],
            ids: Vec::new(),
            distances: Vec::new(),
        }
    }
}

impl RangeTruth {
    /// Number of queries.
    pub fn query_count(&self) -> usize {
        self.lims.len().saturating_sub(1)
    }

    /// Ids of one query; empty behind the last one.
    pub fn ids_of(&self, query: usize) -> &[u32] {
        self.ids.get(self.span(query)).unwrap_or(&[])
    }

    /// Distances of one query.
    pub fn distances_of(&self, query: usize) -> &[f32] {
        self.distances.get(self.span(query)).unwrap_or(&[])
    }

    /// The results of some of the queries.
    #[must_use]
    pub fn part(&self, queries: Range<usize>) -> Self {
        let mut part = Self::default();
        for query in queries {
            part.add(self.ids_of(query), self.distances_of(query), f32::INFINITY);
        }
        part
    }

    /// The nearest neighbours that lie within `radius`; complete for queries whose last neighbour
    /// does not.
    #[must_use]
    pub fn of_nearest(nearest: &Truth, radius: f32) -> Self {
        let mut within = Self::default();
        for query in 0..nearest.query_count() {
            within.add(nearest.ids_of(query), nearest.distances_of(query), radius);
        }
        within
    }

    /// The part of these results that lies within a smaller radius.
    #[must_use]
    pub fn within(&self, radius: f32) -> Self {
        let mut within = Self::default();
        for query in 0..self.query_count() {
            within.add(self.ids_of(query), self.distances_of(query), radius);
        }
        within
    }

    /// Adds a query with those of its results that lie within `radius`.
    pub(super) fn add(&mut self, ids: &[u32], distances: &[f32], radius: f32) {
        for (id, distance) in ids.iter().zip(distances) {
            if *distance <= radius {
                self.ids.push(*id);
                self.distances.push(*distance);
            }
        }
        self.lims.push(self.ids.len());
    }

    fn span(&self, query: usize) -> Range<usize> {
        let at = |place: usize| self.lims.get(place).copied().unwrap_or(self.ids.len());
        at(query)..at(query.saturating_add(1))
    }
}
