//! The first queries of what is prepared, and a truth as deep as is needed.

use pageway::{Progress, Result, VectorRead};

use super::parts::FilePart;
use super::truth::Want;
use super::{DEPTH, Prepared};
use crate::data::place::Place;
use crate::files;

/// Data to measure with.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Vectors, the queries used, their neighbours.
    pub prepared: Prepared,
    /// How many queries.
    pub query_count: u64,
}

/// The same data with `count` of their queries, 0 for all, and a truth at least `depth` deep, as
/// far as there are rows; files are kept in the directory of `place` and used again.
///
/// Where the truth that is prepared is not deep enough, `rows * count` distances are computed:
/// holds these queries and `place.memory_bytes`.
///
/// # Errors
/// As [`super::prepare()`].
pub fn first_queries(
    prepared: &Prepared,
    (count, depth): (u64, u32),
    place: &Place,
    progress: &dyn Progress,
) -> Result<Workload> {
    let all = files::open_vectors(&prepared.queries, None)?;
    let count = match count {
        0 => all.count(),
        wanted => wanted.min(all.count()),
    };
    let depth = depth.max(DEPTH);
    let stem = format!("{}.first{count}", prepared.name);
    let part = FilePart {
        from: &prepared.queries,
        vectors: &all,
        rows: 0..count,
        dimensions: all.shape().dimension,
        element: all.shape().element,
    };
    let queries = part.write(&place.directory, &format!("{stem}.queries"), progress)?;
    let base = files::open_vectors(&prepared.base, None)?;
    let to = place.directory.join(format!("{stem}.top{depth}.ibin"));
    let want = Want {
        base: &base,
        queries: &files::open_vectors(&queries, None)?,
        metric: prepared.metric,
        depth,
        to: &to,
    };
    let truth = if files::exists(&to)? {
        to.clone()
    } else {
        match want.take(&prepared.truth)? {
            Some(truth) => truth,
            None => want.compute(place, progress)?,
        }
    };
    let prepared = Prepared {
        queries,
        truth,
        ..prepared.clone()
    };
    Ok(Workload {
        prepared,
        query_count: count,
    })
}
