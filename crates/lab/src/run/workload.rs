//! The data of a cut, ready for cells: vectors, the first queries, and a truth as deep as needed.

use std::path::{Path, PathBuf};

use pageway::source::{OpenAs, Selection, VectorFile, VectorSlice, convert};
use pageway::truth::{ExactOptions, ExactQuestion, Truth, TruthFile, exact, write_truth};
use pageway::{ElementType, Error, Progress, Result, VectorRead};

use crate::data::Prepared;
use crate::files;

/// Memory for computing a deeper truth.
const TRUTH_MEMORY: u64 = 1 << 30;

/// Data to measure with.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Workload {
    /// Vectors and where they come from.
    pub(crate) prepared: Prepared,
    /// The queries used.
    pub(crate) queries: PathBuf,
    /// Their exact neighbours.
    pub(crate) truth: PathBuf,
    /// How many queries.
    pub(crate) query_count: u64,
}

/// What is needed of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    /// Queries; 0 for all.
    pub(crate) queries: u64,
    /// Neighbours per query in the truth.
    pub(crate) depth: u32,
}

impl Workload {
    /// Cuts the queries, and their truth, which is computed where it does not reach deep enough.
    /// Files are kept in `place` and used again.
    pub(crate) fn new(
        prepared: Prepared,
        need: Need,
        place: &Path,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let all = VectorFile::open(&files::vfs(), &prepared.queries, OpenAs::default())?;
        let count = match need.queries {
            0 => all.count(),
            wanted => wanted.min(all.count()),
        };
        let depth = u64::from(need.depth).min(prepared.rows) as u32;
        let name = &prepared.name;
        let extension = match all.shape().element {
            ElementType::F32 => "fbin",
            ElementType::F16 => "f16bin",
            ElementType::U8 => "u8bin",
            ElementType::I8 => "i8bin",
        };
        let queries = place.join(format!("{name}.first{count}.queries.{extension}"));
        if !files::exists(&queries)? {
            let mut selection = Selection::whole(&all, all.name());
            selection.rows = 0..count;
            convert(&files::vfs(), &selection, &queries, None, progress)?;
        }
        let truth = place.join(format!("{name}.first{count}.top{depth}.ibin"));
        if !files::exists(&truth)? {
            let found = truth_of(&prepared, (&queries, count), depth, progress)?;
            write_truth(&files::vfs(), &truth, &found)?;
        }
        Ok(Self {
            prepared,
            queries,
            truth,
            query_count: count,
        })
    }
}

fn truth_of(
    prepared: &Prepared,
    (queries, count): (&Path, u64),
    depth: u32,
    progress: &dyn Progress,
) -> Result<Truth> {
    let given = TruthFile::open(&files::vfs(), &prepared.truth, Some(prepared.rows))?;
    if given.query_count() < count {
        let place = prepared.truth.display();
        let words = format!(
            "{place}: truth of {} queries, not {count}",
            given.query_count()
        );
        return Err(Error::invalid(words));
    }
    if given.k() as u64 >= u64::from(depth) {
        return Ok(cut(given.read(0, count as usize)?, depth as usize));
    }
    let base = VectorFile::open(&files::vfs(), &prepared.base, OpenAs::default())?;
    let queries = VectorFile::open(&files::vfs(), queries, OpenAs::default())?;
    let mut rows = vec![0; count as usize * queries.shape().row_bytes()];
    queries.read(0, &mut rows)?;
    let question = ExactQuestion {
        queries: VectorSlice::new(&rows, queries.shape())?,
        metric: prepared.metric,
        k: depth as usize,
        exclude: None,
    };
    let pool = pageway::thread_pool(0)?;
    let options = ExactOptions {
        memory_bytes: TRUTH_MEMORY,
        pool: &pool,
    };
    exact(&base, &question, &options, progress)
}

/// The first `k` neighbours of each query.
fn cut(truth: Truth, k: usize) -> Truth {
    let width = truth.k.max(1);
    let ids = truth
        .ids
        .chunks(width)
        .flat_map(|row| row.iter().take(k).copied());
    let distances = truth
        .distances
        .chunks(width)
        .flat_map(|row| row.iter().take(k).copied());
    Truth {
        ids: ids.collect(),
        distances: distances.collect(),
        k,
    }
}
