//! The recall of a search that was answered, measured by answering it again exactly.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::open::OpenCollection;
use super::search::{Hit, Nearest, SearchSettings};
use super::trace::{SampledSearch, SearchTrace};
use crate::failure::{Failure, Outcome};
use crate::room::AnswerRoom;
use crate::wire::QueryParams;

impl OpenCollection {
    /// The part of the nearest that a search found; none where points have changed since, or where
    /// there was nothing to find. Points as near as the last of the nearest count as found.
    pub(crate) fn recall_of(
        &self,
        sample: &SampledSearch,
        (deadline, room): (Instant, &AnswerRoom),
    ) -> Outcome<Option<f64>> {
        let field = self.schema.dense.get(sample.number);
        let field = field.ok_or_else(|| Failure::internal("a search of no vector"))?;
        let params = QueryParams::default().exactly();
        let (own, filter) = (SearchTrace::default(), sample.filter.as_ref());
        let search = Nearest {
            number: sample.number,
            field,
            vector: &sample.vector,
            filter,
            params: &params,
            settings: SearchSettings {
                recall: 1.0,
                deadline,
                trace: &own,
                room,
                known: None,
            },
            documents: false,
        };
        let exact = self.nearest(&search, sample.k)?;
        let is_same = self.changes.load(Ordering::Acquire) == sample.changes;
        let Some(last) = exact.last().filter(|_| is_same) else {
            return Ok(None);
        };
        let is_near = |score: f32| field.distance.passes(score, last.score);
        let is_there = |hit: &&Hit| sample.found.iter().any(|(id, _)| *id == hit.id);
        let same = exact.iter().filter(is_there).count();
        let near = sample
            .found
            .iter()
            .filter(|(_, score)| is_near(*score))
            .count();
        Ok(Some(
            same.max(near).min(exact.len()) as f64 / exact.len() as f64,
        ))
    }
}
