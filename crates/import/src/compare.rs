//! Whether an index answers as its collection does.

use pageway::{Error, Metric, Progress, Queries, Result, SearchOptions, VectorRead};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::Client;
use crate::point::numbers_of;
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
    /// Share of the server's exact answers whose distances are those of the index's.
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
    pub(crate) fn of(
        target: &Target,
        queries: u32,
        client: &Client<'_>,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        let index = target.writer.index();
        let rows = VectorRead::count(&**index);
        let count = u64::from(queries).min(rows);
        if count == 0 {
            return Ok(None);
        }
        let k = K.min(index.len() as usize);
        let row_bytes = target.dense.shape.row_bytes();
        let mut drawn = vec![0; row_bytes * count as usize];
        for (at, row) in drawn.chunks_exact_mut(row_bytes).enumerate() {
            index.read(at as u64 * rows / count, row)?;
        }
        let asked = Queries::new(&drawn, target.dense.shape);
        let options = SearchOptions::nearest(k as u32);
        let exact = index.search(&asked, &options.with_exact(true))?.distances;
        let found = index.search(&asked, &options)?.distances;
        progress.stage("compare", count);
        let (mut agreeing, mut recalled, mut answers) = (0, 0, 0);
        for (at, row) in drawn.chunks_exact(row_bytes).enumerate() {
            let own = exact.get(at * k..(at + 1) * k).unwrap_or_default();
            let bound = own.last().map_or(f64::INFINITY, |last| f64::from(*last));
            let near = found.get(at * k..(at + 1) * k).unwrap_or_default();
            recalled += near
                .iter()
                .filter(|one| f64::from(**one) <= bound + slack(bound))
                .count();
            let theirs = ask(client, target, row, k)?;
            let pairs = own.iter().zip(&theirs);
            agreeing += pairs
                .filter(|(own, theirs)| (f64::from(**own) - **theirs).abs() <= slack(**theirs))
                .count();
            answers += k;
            progress.advance(1);
        }
        Ok(Some(Self {
            queries: count,
            agreement: agreeing as f64 / answers as f64,
            recall: recalled as f64 / answers as f64,
        }))
    }
}

fn slack(distance: f64) -> f64 {
    TOLERANCE * distance.abs().max(1.0)
}

/// Distances of the server's exact answers, nearest first.
fn ask(client: &Client<'_>, target: &Target, row: &[u8], k: usize) -> Result<Vec<f64>> {
    let mut body = json!({
        "query": numbers_of(row, target.dense.shape.element),
        "limit": k,
        "params": {"exact": true},
    });
    if let (false, Some(fields)) = (target.dense.name.is_empty(), body.as_object_mut()) {
        fields.insert("using".to_owned(), Value::from(target.dense.name.as_str()));
    }
    let found: Found = client
        .post("/points/query", &body)
        .map_err(|error: Error| {
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
