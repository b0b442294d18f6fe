//! Reads that begin while candidates are gathered: the same answers, and hardly more pages.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use common::{Rows, smallest_that_works};
use pageway::{
    Answers, BuildOptions, Durability, Effort, ElementType, Index, MemoryWish, NoProgress,
    OpenOptions, Queries, QueryStats, SearchOptions, Tolerance, UpdateOptions, Writer,
};

const DIMENSION: u32 = 192;
const QUERIES: usize = 80;

const FORMS: [&str; 2] = ["resident", "clustered"];

fn base() -> Rows {
    Rows::clustered(4000, DIMENSION, ElementType::F32, 1)
}

fn queries() -> Rows {
    Rows::clustered(QUERIES, DIMENSION, ElementType::F32, 2)
}

/// Memory of the first build, of those with less and less of it, that walks, and of the first that
/// scans, which reads most of its answers at the end, and early.
static MEMORY: LazyLock<[u64; 2]> = LazyLock::new(|| {
    let (base, queries) = (base(), queries());
    FORMS.map(|form| {
        let mut memory = (0..24).map(|step| 2_600_000 - 80_000 * step);
        let reads_most = |memory: &u64| {
            let dir = built(&base, (form, *memory));
            dir.is_some_and(|dir| reads_most(dir.path(), &queries))
        };
        memory.find(reads_most).unwrap()
    })
});

/// Those two indexes.
fn forms(base: &Rows) -> [tempfile::TempDir; 2] {
    [0, 1].map(|at| built(base, (FORMS[at], MEMORY[at])).unwrap())
}

fn built(base: &Rows, (form, memory): (&str, u64)) -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    let mut options = BuildOptions::default()
        .with_memory(MemoryWish::Bytes(memory))
        .with_calibration_queries(20);
    options.form = Some(form.to_owned());
    base.build(dir.path(), &options).ok().map(|_| dir)
}

/// Whether codes answer few queries, all reads are for vectors at the end, and some begin early.
fn reads_most(dir: &Path, queries: &Rows) -> bool {
    let index = Index::open(dir, &OpenOptions::default()).unwrap();
    let alone = SearchOptions::nearest(10).with_interleave(1);
    let answers = search(&index, queries, &alone);
    let [reads, all, early] = [
        sum(&answers, |own| own.refine_reads),
        sum(&answers, |own| own.reads),
        sum(&answers, |own| own.early_reads),
    ];
    reads > 5 * queries.count() as u64 && reads == all && early > 0
}

fn search(index: &Index, queries: &Rows, options: &SearchOptions) -> Answers {
    let queries = Queries::new(&queries.bytes, queries.shape);
    index.search(&queries, &options.with_threads(1)).unwrap()
}

fn sum(answers: &Answers, counter: fn(&QueryStats) -> u64) -> u64 {
    answers.stats.iter().map(counter).sum()
}

/// Searches alone and beside others, which answer the same; what either cost.
fn check(index: &Index, queries: &Rows, effort: Effort) -> [QueryStats; 2] {
    let exact = SearchOptions::nearest(10).with_effort(effort);
    let [alone, beside] =
        [1, 8].map(|interleave| search(index, queries, &exact.with_interleave(interleave)));
    assert_eq!(alone.ids, beside.ids);
    assert_eq!(alone.distances, beside.distances);
    let costs = [alone, beside].map(|answers| {
        let mut sum = QueryStats::default();
        answers.stats.iter().for_each(|own| sum.add(own));
        sum
    });
    let codes = costs.map(|own| own.approximate_distances);
    assert_eq!(codes[0], codes[1]);
    assert_eq!(costs[1].early_reads, 0);
    costs
}

/// What codes answer within a tolerance is not read early either.
fn decide_at_a_tolerance(index: &Index, queries: &Rows, effort: Effort) {
    let tolerance = Tolerance::new(0.2).unwrap();
    let loose = SearchOptions::nearest(10).with_effort(effort);
    let loose = loose.with_tolerance(tolerance);
    let both = [1, 8].map(|interleave| loose.with_interleave(interleave));
    let [alone, beside] = both.map(|options| search(index, queries, &options));
    assert_eq!(alone.ids, beside.ids);
    assert_eq!(alone.errors, beside.errors);
    assert!(beside.errors.iter().filter(|error| **error > 0.0).count() > QUERIES);
    let [reads, wanted] = [&alone, &beside].map(|own| sum(own, |own| own.reads));
    assert!(reads < wanted * 5 / 4, "{reads} for {wanted}");
}

const EFFORTS: [Effort; 2] = [Effort::ListSize(40), Effort::Recall(0.95)];

#[test]
fn a_query_that_has_its_thread_for_itself_reads_early_and_answers_the_same() {
    let queries = queries();
    let forms = forms(&base());
    for (dir, name) in forms.iter().zip(["walk", "scan"]) {
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        for effort in EFFORTS {
            let [alone, beside] = check(&index, &queries, effort);
            let early = alone.early_reads;
            assert!(
                early > beside.reads / 4,
                "{name}: {early} of {}",
                beside.reads
            );
            let all = beside.reads..=beside.reads * 5 / 4;
            assert!(
                all.contains(&alone.reads),
                "{name}: {} of {all:?}",
                alone.reads
            );
            assert_eq!(alone.reads, alone.refine_reads, "{name}");
            // What codes may answer is not known until all bounds are.
            let loose = SearchOptions::nearest(10).with_effort(effort);
            let loose = loose.with_tolerance(Tolerance::ANY).with_interleave(1);
            let loose = search(&index, &queries, &loose);
            assert_eq!(sum(&loose, |own| own.early_reads), 0, "{name}");
            decide_at_a_tolerance(&index, &queries, effort);
        }
        let budget = index.memory().budget_bytes;
        for share in [0.95, 0.9, 0.85, 0.8, 0.75] {
            let bytes = MemoryWish::Bytes((budget as f64 * share) as u64);
            let less = OpenOptions::default().with_memory(bytes);
            if let Ok(index) = Index::open(dir.path(), &less) {
                for effort in EFFORTS {
                    check(&index, &queries, effort);
                }
            }
        }
    }
}

#[test]
fn the_largest_of_several_segments_is_read_early_among_dead_rows_too() {
    let more = Rows::clustered(600, DIMENSION, ElementType::F32, 3);
    let queries = queries();
    for dir in forms(&base()) {
        let open = (OpenOptions::default(), UpdateOptions::default());
        let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
        let rows = pageway::Rows::new(&more.bytes, more.shape);
        writer.insert(&rows).unwrap();
        writer.flush(&NoProgress).unwrap();
        let gone: Vec<u64> = (0..4000).step_by(3).collect();
        writer.delete(&gone, Durability::Synced).unwrap();
        for effort in EFFORTS {
            let [alone, _] = check(writer.index(), &queries, effort);
            assert!(alone.early_reads > 0);
        }
    }
}

/// In the least memory there is one buffer, which an early read must not keep from the walk.
#[test]
fn a_query_of_one_buffer_ends() {
    let base = Rows::clustered(3000, DIMENSION, ElementType::F32, 1);
    let queries = Rows::clustered(8, DIMENSION, ElementType::F32, 2);
    let walking = built(&base, ("resident", 4_000_000)).unwrap();
    let open = |bytes| {
        let memory = MemoryWish::Bytes(bytes);
        Index::open(walking.path(), &OpenOptions::default().with_memory(memory))
    };
    let least = smallest_that_works(&open(1).err().unwrap());
    for more in [0, 20_000, 100_000, 300_000] {
        let index = open(least + more).unwrap();
        let narrow = SearchOptions::nearest(10)
            .with_effort(Effort::ListSize(100))
            .with_timeout(Duration::from_secs(60));
        for beam in [1, 2, 16] {
            let answers = search(&index, &queries, &narrow.with_beam(beam));
            assert_eq!(answers.ids.len(), 80, "{more}, {beam}");
        }
    }
}
