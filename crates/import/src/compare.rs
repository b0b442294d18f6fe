//! Whether an index answers as its collection does.

use pageway::{Error, Index, Metric, Progress, Queries, Result, SearchOptions, VectorRead};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::point::numbers_of;
use crate::source::{self, Source};
use crate::target::Target;

/// Neighbours of a query.
const K: usize = 10;
/// How far off distances may be that are equal: some servers compare halves.
const TOLERANCE: f64 = 2e-3;
/// Share of equal answers of an import that is right; the rest are queries during changes.
const RIGHT: f64 = 0.99;

/// What a comparison found.
#[derive(Serialize, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Comparison {
    pub(crate) queries: u64,
    /// Share of the collection's exact answers whose distances are those of the index's.
    pub(crate) agreement: f64,
    /// Recall@10 of a search as it is by default, against the index's exact answers.
    pub(crate) recall: f64,
}

#[derive(Deserialize)]
struct Found {
    points: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    score: f64,
}

impl Comparison {
    /// Whether it says that the import is right.
    pub(crate) fn is_right(&self) -> bool {
        self.agreement >= RIGHT
    }

    /// Searches for some vectors of the index, on both sides.
    ///
    /// # Errors
    /// Where one of them fails, or the user wants to stop.
    pub(crate) fn of(
        target: &Target,
        queries: u32,
        source: &dyn Source,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        let index = target.writer.index();
        let drawn = draw(index, u64::from(queries))?;
        let row_bytes = target.dense.shape.row_bytes();
        let count = drawn.len() / row_bytes;
        if count == 0 {
            return Ok(None);
        }
        let k = K.min(index.len() as usize);
        let asked = Queries::new(&drawn, target.dense.shape);
        let options = SearchOptions::nearest(k as u32);
        let exact = index.search(&asked, &options.with_exact(true))?.distances;
        let found = index.search(&asked, &options)?.distances;
        progress.stage("compare", count as u64);
        let (mut agreeing, mut recalled) = (0, 0);
        let own = exact.chunks_exact(k).zip(found.chunks_exact(k));
        for (row, (exact, found)) in drawn.chunks_exact(row_bytes).zip(own) {
            agreeing += equal(exact, &ask(source, target, row, k)?);
            recalled += within(exact, found);
            progress.advance(1);
        }
        let answers = (count * k) as f64;
        Ok(Some(Self {
            queries: count as u64,
            agreement: agreeing as f64 / answers,
            recall: recalled as f64 / answers,
        }))
    }
}

/// Rows of an index, evenly drawn.
fn draw(index: &Index, wanted: u64) -> Result<Vec<u8>> {
    let rows = VectorRead::count(index);
    let (count, row_bytes) = (wanted.min(rows), index.shape().row_bytes());
    let mut drawn = vec![0; row_bytes * count as usize];
    for (at, row) in drawn.chunks_exact_mut(row_bytes).enumerate() {
        index.read(at as u64 * rows / count, row)?;
    }
    Ok(drawn)
}

/// Distances that are equal, place by place.
fn equal(own: &[f32], theirs: &[f64]) -> usize {
    let pairs = own.iter().zip(theirs);
    pairs
        .filter(|(own, theirs)| (f64::from(**own) - **theirs).abs() <= slack(**theirs))
        .count()
}

/// Distances that are no larger than the last of the exact ones.
fn within(exact: &[f32], found: &[f32]) -> usize {
    let bound = exact.last().map_or(f64::INFINITY, |last| f64::from(*last));
    let near = |one: &&f32| f64::from(**one) <= bound + slack(bound);
    found.iter().filter(near).count()
}

fn slack(distance: f64) -> f64 {
    TOLERANCE * distance.abs().max(1.0)
}

/// Distances of the collection's exact answers, nearest first.
fn ask(source: &dyn Source, target: &Target, row: &[u8], k: usize) -> Result<Vec<f64>> {
    let mut body = json!({
        "query": numbers_of(row, target.dense.shape.element),
        "limit": k,
        "params": {"exact": true},
    });
    if let (false, Some(fields)) = (target.dense.name.is_empty(), body.as_object_mut()) {
        fields.insert("using".to_owned(), Value::from(target.dense.name.as_str()));
    }
    let found: Found =
        source::ask(source, "/points/query", Some(&body)).map_err(|error: Error| {
            error.within("comparing; all points are imported, and --compare 0 leaves this out")
        })?;
    let distance = |scored: Scored| match target.dense.metric {
        Metric::Cosine => 1.0 - scored.score,
        Metric::InnerProduct => -scored.score,
        Metric::L2 => scored.score * scored.score,
        Metric::L1 | Metric::Hamming | Metric::Jaccard => scored.score,
    };
    Ok(found.points.into_iter().map(distance).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_compared_and_not_ids() {
        assert_eq!(equal(&[0.0, 0.5, 9.0], &[0.000_1, 0.6, 9.01]), 2);
        assert_eq!(equal(&[0.0, 0.5], &[0.0]), 1);
        assert_eq!(within(&[0.1, 0.2], &[0.1, 0.2]), 2);
        assert_eq!(within(&[0.1, 0.2], &[0.1, 0.3]), 1);
        assert_eq!(within(&[-5.0, -4.0], &[-5.0, -3.0]), 1);
    }
}
