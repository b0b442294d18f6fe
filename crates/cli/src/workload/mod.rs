//! A stream of queries through an index: what it found, how well, how fast, and what it cost.
//!
//! ```text
//! reference   what answers are compared with       measurement   speed and costs
//! recalls     of the queries, counted            counted       what the operating system counted
//!                                               meanwhile
//! ```
//!
//! Queries, answers and truth are held one chunk at a time and latencies in a histogram, so that
//! the process stays within the memory budget of the index plus a constant, whatever the number of
//! queries.

mod counted;
mod measurement;
mod recalls;
mod reference;

use pageway::lab::ReadTrace;
use pageway::truth::RangeScore;
use pageway::{
    Answers, Filter, FilterReport, Index, Progress, Queries, QueryStats, Quiet, Result,
    SearchOptions, VectorRead,
};

pub(crate) use counted::Counted;
pub(crate) use measurement::Measurement;
use measurement::Sums;
pub(crate) use reference::Reference;
use reference::Score;

/// Queries per chunk, unless they or their answers are large.
const CHUNK_QUERIES: u64 = 1000;
/// Bytes of a chunk: queries, answers, truth and counters.
const CHUNK_BYTES: usize = 2 << 20;
/// The same within a radius, where few queries fill the room of their results.
const RANGE_CHUNK_BYTES: usize = 8 << 20;
/// Bytes of one result of one query: id and distance of the answer and of the truth.
const RESULT_BYTES: usize = 24;

/// Queries against an index.
pub(crate) struct Workload<'w> {
    pub(crate) index: &'w Index,
    pub(crate) queries: &'w dyn VectorRead,
    pub(crate) reference: &'w Reference,
    pub(crate) options: SearchOptions,
    /// First queries whose reads are recorded.
    pub(crate) recorded: u64,
    /// What rows must be to be found.
    pub(crate) filter: Option<&'w Filter>,
    /// Whether the attributes of what is found are wanted.
    pub(crate) wants_attributes: bool,
    /// Whether its names are.
    pub(crate) wants_names: bool,
}

/// What a workload found out.
pub(crate) struct Searched {
    /// Mean recall@k, where the nearest were asked for and are known.
    pub(crate) recall: Option<f64>,
    /// Recall@k that one query in twenty does not reach, where that is known.
    pub(crate) recall_p5: Option<f64>,
    /// Mean recall@k that the calibration expects of these queries, where it does.
    pub(crate) expected_recall: Option<f64>,
    /// Share of the queries that are unlike those of the calibration.
    pub(crate) unlike: f64,
    /// Sums of the precision, where all within a radius were asked for and are known.
    pub(crate) precision: Option<RangeScore>,
    /// Results of all queries.
    pub(crate) results: u64,
    /// Queries within a radius with as many results as there was room for.
    pub(crate) truncated: u64,
    pub(crate) run: Measurement,
    /// What the filter did with the last queries.
    pub(crate) filter: Option<FilterReport>,
    /// What the recorded queries did.
    pub(crate) traces: Vec<ReadTrace>,
}

impl Workload<'_> {
    /// Searches all queries in order; `take` sees the answers of each chunk and the number of the
    /// chunk's first query.
    pub(crate) fn run(
        &self,
        progress: &dyn Progress,
        take: &mut dyn FnMut(u64, &Answers) -> Result<()>,
    ) -> Result<Searched> {
        let (mut sums, mut score) = (Sums::new(self.index), Score::default());
        let (mut traces, mut results, mut truncated) = (Vec::new(), 0, 0);
        let (count, shape) = (self.queries.count(), self.queries.shape());
        let chunk = self.chunk_queries();
        let mut rows = vec![0; chunk.min(count) as usize * shape.row_bytes()];
        self.index.measure_first(&self.options, progress)?;
        progress.stage("search", count);
        let (mut first, mut filter) = (0, None);
        let (mut expected, mut unlike) = (Some(0.0), 0.0);
        while first < count {
            let length = chunk.min(count - first);
            rows.truncate(length as usize * shape.row_bytes());
            self.queries.read(first, &mut rows)?;
            let queries = Queries::new(&rows, shape)
                .with_filter(self.filter)
                .with_wants_names(self.wants_names)
                .with_wants_attributes(self.wants_attributes);
            let search = || self.search(first, &queries, progress);
            let (answers, recorded) = sums.time(search)?;
            sums.add(&answers.stats, answers.settings);
            traces.extend(recorded);
            results += answers.ids.len() as u64;
            truncated += answers.truncated as u64;
            filter = answers.filter;
            let share = length as f64 / count as f64;
            let own = answers.expected_recall.map(|own| share * f64::from(own));
            expected = expected.zip(own).map(|(sum, own)| sum + own);
            unlike += share * f64::from(answers.unlike);
            score.add(self, first, &answers)?;
            take(first, &answers)?;
            progress.advance(length);
            first += length;
        }
        Ok(Searched {
            recall: score.recalls.mean(),
            recall_p5: score.recalls.p5(),
            expected_recall: expected.filter(|_| count > 0),
            unlike,
            precision: score.precision,
            results,
            truncated,
            run: sums.finish(count),
            filter,
            traces,
        })
    }

    /// Searches a chunk whose first query has this number, and records what is to be recorded.
    fn search(
        &self,
        first: u64,
        queries: &Queries<'_>,
        progress: &dyn Progress,
    ) -> Result<(Answers, Vec<ReadTrace>)> {
        let (index, options) = (self.index, &self.options);
        let uncounted = Quiet(progress);
        match self.recorded.saturating_sub(first) as usize {
            0 => Ok((index.search_with(queries, options, &uncounted)?, Vec::new())),
            left => index.search_recorded(queries, options, left, &uncounted),
        }
    }

    /// Queries per chunk: as many as its bytes hold should each have all results there is room for,
    /// and in all chunks as many, since a call of few queries takes longer lists.
    fn chunk_queries(&self) -> u64 {
        let most = u64::from(self.options.k).min(self.index.len()) as usize;
        let query_bytes = self.queries.shape().row_bytes()
            + most.saturating_mul(RESULT_BYTES)
            + size_of::<QueryStats>();
        let chunk_bytes = match self.options.radius {
            None => CHUNK_BYTES,
            Some(_) => RANGE_CHUNK_BYTES,
        };
        let most = ((chunk_bytes / query_bytes) as u64).clamp(1, CHUNK_QUERIES);
        let count = self.queries.count().max(1);
        count.div_ceil(count.div_ceil(most))
    }
}
