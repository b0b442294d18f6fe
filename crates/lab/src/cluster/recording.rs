//! An index built, searched with the least list that reaches a recall, and recorded.

use std::path::Path;

use pageway::source::VectorSlice;
use pageway::{
    Answers, BuildInput, BuildOptions, Effort, Index, MemoryPart, MemoryReport, OpenOptions,
    Progress, Queries, QueryStats, Result, SearchOptions,
};
use serde::Serialize;

use super::course::QueryTerms;
use super::design::ClusterDesign;
use super::suite::ClusterSuite;
use super::walk::ClusterWalk;
use crate::in_memory::InMemory;
use crate::stream::hits;

/// Longest list that is tried.
const MOST_LIST: u32 = 1000;

/// An index that was searched.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClusterCell {
    /// How its rows are cut.
    pub design: ClusterDesign,
    /// Rows.
    pub rows: u64,
    /// Segments.
    pub segments: u32,
    /// The least list that reaches the recall; the longest that was tried where none does.
    pub list_size: u32,
    /// Recall with it, mean over all queries.
    pub recall: f64,
    /// Whether that is what was asked for.
    pub is_reached: bool,
    /// What a query counted.
    #[serde(flatten)]
    pub counts: QueryCounts,
    /// Bytes of memory that grow with the rows: codes, lists, identities.
    pub resident_bytes: u64,
    /// Bytes on disk.
    pub index_bytes: u64,
}

/// Means per query.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct QueryCounts {
    /// Segments asked,
    pub asked: f64,
    /// reads,
    pub reads: f64,
    /// those at the end, for exact distances alone,
    pub last_reads: f64,
    /// bytes that they moved,
    pub read_bytes: f64,
    /// rounds of reads that wait for each other,
    pub rounds: f64,
    /// nodes expanded,
    pub hops: f64,
    /// codes scored,
    pub codes: f64,
    /// and microseconds of computing, which depend on the machine and on who else uses it.
    pub compute_us: f64,
}

/// A cell, and what its queries did.
pub(super) struct Recording {
    pub(super) cell: ClusterCell,
    pub(super) walks: Vec<ClusterWalk>,
    pub(super) asked: QueryTerms,
    /// Bytes of a read.
    pub(super) read_bytes: u64,
}

impl Recording {
    /// Builds in `dir`, searches and records.
    ///
    /// # Errors
    /// Those of builds and searches.
    pub(super) fn make(
        suite: &ClusterSuite<'_>,
        (design, rows, segments): (ClusterDesign, u64, u32),
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let data = InMemory {
            rows: suite.data.rows_of(0..rows),
            ..suite.data
        };
        let vectors = VectorSlice::new(data.rows, data.shape)?;
        let options = BuildOptions::default()
            .with_metric(data.metric)
            .with_preset(suite.index.design.preset)
            .with_overrides(suite.index.design.overrides)
            .with_form(suite.index.form.clone())
            .with_code_bytes(suite.index.code_bytes)
            .with_memory(suite.index.memory)
            .with_recall(suite.recall)
            .with_segments(segments)
            .with_cut(design.cut())
            .with_calibration_queries(suite.index.calibration_queries);
        let input = BuildInput::new(&vectors, "rows");
        let report = Index::build(dir, &input, &options, progress)?;
        let index = Index::open(dir, &OpenOptions::default())?;
        let truth = data.nearest(suite.k as usize, progress)?;
        let ids_of = |query: usize| truth.ids_of(query).iter().map(|id| u64::from(*id));
        let truth: Vec<Vec<u64>> = (0..truth.query_count())
            .map(|query| ids_of(query).collect())
            .collect();
        let search = Searching {
            suite,
            index: &index,
            truth: &truth,
            progress,
        };
        progress.stage("search with longer lists", 0);
        let list_size = search.least_list()?;
        let (answers, walks) = search.record(list_size)?;
        let recall = search.recall(&answers);
        let description = index.description()?;
        let pages = u64::from(description.pages_per_read);
        let asked = QueryTerms {
            query_bytes: data.shape.row_bytes() as u64,
            k: suite.k.into(),
            degree: description.mean_degree as u64,
            beam: answers.settings.beam.into(),
        };
        let cell = ClusterCell {
            design,
            rows,
            segments,
            list_size,
            recall,
            is_reached: recall >= f64::from(suite.recall),
            resident_bytes: resident(&index.memory()),
            index_bytes: report.index_bytes,
            counts: counted(&answers.stats, &walks),
        };
        Ok(Self {
            cell,
            walks,
            asked,
            read_bytes: u64::from(description.spec.layout.page_bytes) * pages,
        })
    }
}

fn resident(memory: &MemoryReport) -> u64 {
    let grows = |part: MemoryPart| {
        matches!(
            part,
            MemoryPart::Codes
                | MemoryPart::SecondCodes
                | MemoryPart::Lists
                | MemoryPart::Identities
        )
    };
    let parts = memory.parts.iter().filter(|(part, _)| grows(*part));
    parts.map(|(_, bytes)| bytes).sum()
}

/// Means of what queries counted.
fn counted(stats: &[QueryStats], walks: &[ClusterWalk]) -> QueryCounts {
    let mut sum = QueryStats::default();
    for one in stats {
        sum.add(one);
    }
    let mean = |count: u64| count as f64 / stats.len().max(1) as f64;
    let asked: usize = walks.iter().map(|walk| walk.segments.len()).sum();
    QueryCounts {
        asked: asked as f64 / walks.len().max(1) as f64,
        reads: mean(sum.reads),
        last_reads: mean(sum.refine_reads),
        read_bytes: mean(sum.bytes_read),
        rounds: mean(sum.rounds),
        hops: mean(sum.hops),
        codes: mean(sum.approximate_distances),
        compute_us: mean(sum.compute_ns) / 1e3,
    }
}

/// Searches of one index.
struct Searching<'s> {
    suite: &'s ClusterSuite<'s>,
    index: &'s Index,
    truth: &'s [Vec<u64>],
    progress: &'s dyn Progress,
}

impl Searching<'_> {
    /// The least list that reaches the recall, by halves.
    fn least_list(&self) -> Result<u32> {
        let (mut low, mut high) = (self.suite.k, self.suite.k);
        while high < MOST_LIST && !self.reaches(high)? {
            low = high + 1;
            high = (2 * high).min(MOST_LIST);
        }
        while low < high {
            self.progress.check()?;
            let middle = low + (high - low) / 2;
            if self.reaches(middle)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(high)
    }

    fn options(&self, list_size: u32) -> SearchOptions {
        SearchOptions::nearest(self.suite.k).with_effort(Effort::ListSize(list_size))
    }

    fn queries(&self) -> Queries<'_> {
        self.suite.data.all_queries()
    }

    fn reaches(&self, list_size: u32) -> Result<bool> {
        let answers = self
            .index
            .search(&self.queries(), &self.options(list_size))?;
        Ok(self.recall(&answers) >= f64::from(self.suite.recall))
    }

    fn record(&self, list_size: u32) -> Result<(Answers, Vec<ClusterWalk>)> {
        let options = self.options(list_size).with_threads(1).with_interleave(1);
        let (answers, traces) =
            self.index
                .search_recorded(&self.queries(), &options, usize::MAX, self.progress)?;
        let stats = |query: usize| answers.stats.get(query).copied().unwrap_or_default();
        let walks = traces
            .iter()
            .map(|trace| ClusterWalk::of(trace, &stats(trace.query)))
            .collect();
        Ok((answers, walks))
    }

    fn recall(&self, answers: &Answers) -> f64 {
        let each = hits(answers, self.truth);
        let (hits, wanted) = each.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        hits as f64 / wanted.max(1) as f64
    }
}
