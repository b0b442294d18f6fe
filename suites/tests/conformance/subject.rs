//! An index under test: how it is built, opened, and asked.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::source::IdSlice;
use pageway::spec::NodeCacheSpec;
use pageway::{
    Answers, BuildInput, BuildOptions, BuildReport, Effort, Index, MemoryWish, NoProgress,
    OpenOptions, Preset, Queries, Result, SearchOptions, Vfs,
};

use crate::common::smallest_that_works;
use crate::embeddings::{DataSet, Rows};

/// Neighbours asked for.
pub const K: u32 = 10;
/// Candidate list of a search that tries hard.
pub const LIST_SIZE: u32 = 100;
/// Memory beyond the least in which answers are compared: caches hold a part of the index.
const SOME_CACHE: u64 = 60_000;

/// User ids are this far from rows.
pub const FIRST_ID: u64 = 1 << 40;

/// A built index with what it was built from.
pub struct Subject<'d> {
    pub name: String,
    pub dir: PathBuf,
    pub data: &'d DataSet,
    pub has_user_ids: bool,
    pub options: BuildOptions,
}

impl Subject<'_> {
    pub fn build(&self) -> Result<BuildReport> {
        let ids: Vec<u64> = (0..self.data.base.count() as u64)
            .map(|row| FIRST_ID + row * 3)
            .collect();
        let ids = IdSlice(&ids);
        let vectors = self.data.base.slice();
        let input = BuildInput::new(&vectors, "demo").with_ids(self.has_user_ids.then_some(&ids));
        Index::build(&self.dir, &input, &self.options, &NoProgress)
    }

    /// Row of an id.
    pub fn row_of(&self, id: u64) -> u64 {
        if self.has_user_ids {
            assert_eq!((id - FIRST_ID) % 3, 0, "{}", self.name);
            (id - FIRST_ID) / 3
        } else {
            id
        }
    }
}

/// Whether a preset takes pages as they come, so that what it meets depends on the disk.
pub fn reads_as_they_come(preset: Preset) -> bool {
    matches!(preset, Preset::PipeAnn | Preset::OdinAnn)
}

/// How the suites open an index: for lists of `LIST_SIZE`, with so many queries in flight.
pub fn open_options(interleave: u32) -> OpenOptions {
    OpenOptions::default()
        .with_interleave(interleave)
        .with_effort(Effort::ListSize(LIST_SIZE))
}

/// The smallest memory that a refusal names.
pub fn least_memory(vfs: &Arc<dyn Vfs>, dir: &Path, options: &OpenOptions) -> u64 {
    let error = open_with(vfs, dir, options, 1).err();
    smallest_that_works(&error.expect("one byte is not enough"))
}

pub fn open_with(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    options: &OpenOptions,
    bytes: u64,
) -> Result<Index> {
    let memory = Some(MemoryWish::Bytes(bytes));
    Index::open_on(vfs, dir, &options.with_memory(memory))
}

pub fn search(index: &Index, queries: &Rows, interleave: u32) -> Result<Answers> {
    let options = SearchOptions::nearest(K.min(index.len() as u32))
        .with_effort(Effort::ListSize(LIST_SIZE))
        .with_interleave(interleave);
    index.search(&Queries::new(&queries.bytes, queries.shape), &options)
}

/// Memory for a candidate list of every row.
pub fn range_room(rows: usize) -> OpenOptions {
    OpenOptions::default()
        .with_interleave(2)
        .with_effort(Effort::ListSize(rows as u32))
        .with_k(rows as u32)
        .with_memory(MemoryWish::Bytes(200_000_000))
}

/// Room for every row.
pub fn range_options(index: &Index, radius: f32) -> SearchOptions {
    SearchOptions::within(radius).with_k(index.len() as u32)
}

/// Everything that must not depend on how reads are made: answers and costs, a line per query.
///
/// # Errors
/// As opening and searching.
pub fn digest(vfs: &Arc<dyn Vfs>, dir: &Path, queries: &Rows) -> Result<String> {
    let options = open_options(1);
    let least = least_memory(vfs, dir, &options);
    let index = open_with(vfs, dir, &options, least + SOME_CACHE)?;
    let answers = search(&index, queries, 1)?;
    let mut text = lines_of(&index, &answers);
    let roomy = Index::open_on(vfs, dir, &range_room(index.len() as usize))?;
    let radius = answers.distances[answers.k - 1];
    let queries = Queries::new(&queries.bytes, queries.shape);
    let found = roomy.search(&queries, &range_options(&roomy, radius))?;
    writeln!(text, "range {:?} {:?}", found.lims, found.ids).expect("text");
    Ok(text)
}

/// The answers and the pages of each query. Pages of a page cache count as if they were read: what
/// it holds depends on what arrived before. Those that were read early for nothing do not: only a
/// query that has its thread for itself reads early.
pub fn lines(answers: &Answers) -> String {
    lines_with(answers, false)
}

/// The same of answers of `index`, without reads where its node cache depends on what arrived
/// before: one read may bring several nodes, so hits and reads do not add up.
pub fn lines_of(index: &Index, answers: &Answers) -> String {
    let spec = index.description().unwrap().spec;
    lines_with(answers, spec.cache.nodes == NodeCacheSpec::Clock)
}

fn lines_with(answers: &Answers, learns: bool) -> String {
    let mut text = String::new();
    let k = answers.k;
    for (query, stats) in answers.stats.iter().enumerate() {
        let bits: Vec<u32> = answers.distances[query * k..][..k]
            .iter()
            .map(|distance| distance.to_bits())
            .collect();
        let (reads, rounds) = if learns {
            (0, 0)
        } else {
            let wanted = stats.reads - stats.unused_reads;
            (wanted + stats.page_hits, stats.rounds)
        };
        let counts = (
            reads,
            stats.refine_reads - stats.unused_reads,
            stats.hops,
            stats.exact_distances,
            stats.approximate_distances,
            rounds,
        );
        let ids = &answers.ids[query * k..][..k];
        writeln!(text, "{query}: {ids:?} {bits:x?} {counts:?}").expect("text");
    }
    text
}

/// Says where two digests part.
pub fn check_equal(left: &str, right: &str, what: &str) {
    for (one, other) in left.lines().zip(right.lines()) {
        assert_eq!(one, other, "{what}");
    }
    assert_eq!(left.lines().count(), right.lines().count(), "{what}");
}
