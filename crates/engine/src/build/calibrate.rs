//! The queries of a calibration, and their truth.

use std::ops::Range;

use pageway_types::{NodeId, Progress, RowId, VectorRead};
use rayon::ThreadPool;

use super::questions::CalibrationPlan;
use super::sample::{read_rows, sample_rows};
use crate::error::Result;
use crate::index::Index;
use crate::options::{BuildInput, BuildOptions};

/// Rows of the data that stand in for queries, ascending; `None` if the caller gave queries, or
/// there is at most one row.
pub(super) fn held_out_rows(input: &BuildInput<'_>, options: &BuildOptions) -> Option<Vec<RowId>> {
    let asks = options.calibration_queries != Some(0);
    let held_out = asks && input.queries.is_none() && input.vectors.count() > 1;
    held_out.then(|| {
        let rows = sampled(input.vectors, options);
        rows.into_iter().map(|row| RowId(row as u32)).collect()
    })
}

/// Rows that stand in for queries are linked last, if the graph has so many rows for each.
const ROWS_PER_GUEST: u64 = 40;

/// The rows of a segment that stand in for queries, as nodes before placement. The graph is built
/// without them, so that searches for them are like searches for queries. Empty if they are too
/// large a part of it.
pub(super) fn guests(held_out: &[RowId], segment: &Range<u32>) -> Vec<NodeId> {
    let own = held_out.iter().filter(|row| segment.contains(&row.0));
    let guests: Vec<NodeId> = own.map(|row| NodeId(row.0 - segment.start)).collect();
    if guests.len() as u64 * ROWS_PER_GUEST > u64::from(segment.end - segment.start) {
        return Vec::new();
    }
    guests
}

fn sampled(from: &dyn VectorRead, options: &BuildOptions) -> Vec<u64> {
    let wished = u64::from(options.queries_of(from.count()).max(1));
    // Another seed than the training sample's: queries should not be rows that codes were fitted
    // to.
    sample_rows(from.count(), wished, !options.seed)
}

/// At most so many of all, evenly spread.
fn spread<T: Copy>(all: &[T], most: u32) -> Vec<T> {
    let count = (most as usize).min(all.len());
    let places = (0..count).map(|at| at * all.len() / count);
    places.filter_map(|at| all.get(at).copied()).collect()
}

/// Takes at most so many queries from the user's examples, or of the rows that are held out, and
/// finds their exact neighbours among the rows of `index`. `nodes`: nodes of the held-out rows.
pub(super) fn plan(
    input: &BuildInput<'_>,
    (options, queries): (&BuildOptions, u32),
    (index, nodes): (&Index, Option<Vec<NodeId>>),
    work: (&ThreadPool, &dyn Progress),
) -> Result<CalibrationPlan> {
    let from = input.queries.unwrap_or(input.vectors);
    let rows = read_rows(from, &spread(&sampled(from, options), queries))?;
    let nodes = nodes.map(|nodes| spread(&nodes, queries));
    CalibrationPlan::new(index, (rows, nodes), (&[], options.seed), work)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pageway_store::{DirectoryLock, OsVfs};
    use pageway_types::{ElementType, NoProgress, VectorShape};

    use super::*;
    use crate::build::plan::BuildPlan;
    use crate::error::ErrorKind;
    use crate::index::{Index, describe};
    use crate::memory::MemoryWish;
    use crate::options::{Effort, OpenOptions, Queries, SearchOptions};
    use crate::presets::Preset;
    use crate::source::VectorSlice;

    const SHAPE: VectorShape = VectorShape {
        dimension: 8,
        element: ElementType::U8,
    };

    #[test]
    fn of_eighty_rows_one_measures_recall_unless_that_is_said() {
        let usual = BuildOptions::default();
        let of = [3, 40_000, 60_000, 80_000, 10_000_000].map(|rows| usual.queries_of(rows));
        assert_eq!(of, [500, 500, 750, 1000, 1000]);
        assert_eq!(
            usual
                .clone()
                .with_calibration_queries(70)
                .queries_of(80_000),
            70
        );
        let more = usual.with_calibration_queries(u32::MAX);
        assert_eq!([3, 600].map(|rows| more.queries_of(rows)), [500, 600]);
    }

    #[test]
    fn fewer_rows_measure_recall_where_memory_holds_no_more() {
        let rows = vec![0; 80_000 * SHAPE.row_bytes()];
        let vectors = VectorSlice::new(&rows, SHAPE).unwrap();
        let input = BuildInput::new(&vectors, "rows");
        let options = BuildOptions::default();
        let mut plan = BuildPlan::new((&input, SHAPE.element), &options, None).unwrap();
        plan.budget_bytes = plan.measuring_bytes(&options).unwrap();
        assert_eq!(plan.queries(&options).unwrap(), 1000);
        plan.budget_bytes -= 1;
        assert_eq!(plan.queries(&options).unwrap(), 500);
        assert!(plan.calibrates(&options).unwrap());
        let asked = options.with_calibration_queries(1000);
        assert_eq!(plan.queries(&asked).unwrap(), 1000);
        assert!(!plan.calibrates(&asked).unwrap());
    }

    #[test]
    fn more_queries_than_rows_are_as_many_as_there_are_rows() {
        let rows: Vec<u8> = (0..600 * 8_u32).map(|at| (at * at % 251) as u8).collect();
        let vectors = VectorSlice::new(&rows, SHAPE).unwrap();
        let options = BuildOptions::default()
            .with_preset(Preset::DiskAnn)
            .with_build_memory(MemoryWish::Bytes(16 << 20))
            .with_calibration_queries(1_000_000);
        let dir = tempfile::tempdir().unwrap();
        let input = BuildInput::new(&vectors, "rows");
        let report = Index::build(dir.path(), &input, &options, &NoProgress).unwrap();
        assert!(report.list_size.is_some(), "{report:?}");
    }

    #[test]
    fn what_is_spread_is_no_more_than_there_is() {
        assert_eq!(spread(&[1, 2, 3, 4], 2), [1, 3]);
        assert_eq!(spread(&[1, 2, 3], 9), [1, 2, 3]);
        assert!(spread::<u8>(&[], 9).is_empty());
    }

    /// An index of these rows whose recall was not measured.
    fn unmeasured(dir: &Path, rows: &[u8]) -> Index {
        let vectors = VectorSlice::new(rows, SHAPE).unwrap();
        let options = BuildOptions {
            preset: Preset::DiskAnn,
            calibration_queries: Some(0),
            ..BuildOptions::default()
        };
        let input = BuildInput::new(&vectors, "rows");
        let report = Index::build(dir, &input, &options, &NoProgress).unwrap();
        assert!(report.list_size.is_none() && report.warnings.is_empty());
        Index::open(dir, &OpenOptions::default()).unwrap()
    }

    fn is_measured(dir: &Path) -> bool {
        !describe(dir).unwrap().calibration.curves.is_empty()
    }

    #[test]
    fn recall_that_the_build_did_not_measure_is_measured_when_one_is_asked() {
        let rows: Vec<u8> = (0u32..200 * 8).map(|at| (at * at % 251) as u8).collect();
        let dir = tempfile::tempdir().unwrap();
        let index = unmeasured(dir.path(), &rows);
        let queries = Queries::new(&rows[..80], SHAPE);
        let by_size = SearchOptions {
            effort: Effort::ListSize(40),
            ..SearchOptions::nearest(1)
        };
        let found = index.search(&queries, &by_size).unwrap();
        assert_eq!(found.distances[..10], [0.0; 10]);
        assert!(!is_measured(dir.path()), "nobody asked");
        let by_recall = SearchOptions::nearest(1);
        // What cannot be is refused before anything is measured.
        let no_recall = SearchOptions {
            effort: Effort::Recall(1.5),
            ..by_recall
        };
        let refused = index.search(&queries, &no_recall).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert!(index.search(&queries, &SearchOptions::nearest(0)).is_err());
        assert!(index.calibration().curves.is_empty());
        // Somebody else writes: it is measured for this process alone.
        let lock = DirectoryLock::acquire(&OsVfs, dir.path()).unwrap();
        let found = index.search(&queries, &by_recall).unwrap();
        assert_eq!(found.distances[..10], [0.0; 10]);
        assert!(!index.calibration().curves.is_empty() && !is_measured(dir.path()));
        drop(lock);
        let for_recall = OpenOptions {
            effort: Some(Effort::Recall(0.9)),
            k: 1,
            ..OpenOptions::default()
        };
        let other = Index::open(dir.path(), &for_recall).unwrap();
        other.search(&queries, &by_recall).unwrap();
        assert!(is_measured(dir.path()), "from then on all know");
    }
}
