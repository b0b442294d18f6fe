//! The rows of a build, cut into runs of nearly equal length, one for each segment. If they are cut
//! by space, they are first put in an order in which near rows are together.

use std::io;
use std::ops::Range;

use pageway_types::{VectorRead, VectorShape};

use crate::error::{Error, Result};
use crate::manifest::MAX_SEGMENTS;
use crate::options::{BuildInput, BuildOptions, SegmentCut};
use crate::plan::Extent;
use crate::source::{IdRead, TextPart, TextRead};

/// Cells of a run if rows are cut by space: enough to tell which runs a query is near.
const CELLS: u32 = 16;
/// Rows of a cell on average, at least.
const CELL_ROWS: u32 = 64;
/// Bytes of a row while it is sorted into its run: its cell, and its place.
const PLACED_BYTES: u64 = 8;

/// How many rows there are, and how many runs they are cut into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    rows: u32,
    runs: u32,
    by_space: bool,
}

impl Cut {
    /// The rows of `input`, in the number of runs that `options` ask for.
    ///
    /// # Errors
    /// `InvalidInput` for an input that contradicts itself, and as [`Cut::new`].
    pub(super) fn of(input: &BuildInput<'_>, options: &BuildOptions) -> Result<Self> {
        let runs = options.segments;
        Ok(Self {
            by_space: options.cut == SegmentCut::Space && runs > 1,
            ..Self::new(check_counts(input)?, runs)?
        })
    }

    /// The rows of `input` in one run.
    ///
    /// # Errors
    /// `InvalidInput` for an input that contradicts itself.
    pub(super) fn whole(input: &BuildInput<'_>) -> Result<Self> {
        Self::new(check_counts(input)?, 1)
    }

    /// `rows` in `runs` runs.
    ///
    /// # Errors
    /// `InvalidInput` for no runs, or more than an index may have or than there are rows.
    pub(super) fn new(rows: u32, runs: u32) -> Result<Self> {
        let most = MAX_SEGMENTS.min(rows.max(1));
        if (1..=most).contains(&runs) {
            return Ok(Self {
                rows,
                runs,
                by_space: false,
            });
        }
        Err(Error::invalid(format!(
            "segments = {runs}: give 1 to {most} for {rows} vectors"
        )))
    }

    /// All rows.
    pub(super) const fn rows(self) -> u32 {
        self.rows
    }

    /// Number of runs.
    pub(super) const fn runs(self) -> u32 {
        self.runs
    }

    /// Whether runs are near together.
    pub(super) const fn is_by_space(self) -> bool {
        self.by_space
    }

    /// Cells of all runs; 0 if rows are not cut by space.
    pub(super) fn cells(self) -> u32 {
        if !self.by_space {
            return 0;
        }
        let most = (self.rows / CELL_ROWS).max(self.runs);
        self.runs.saturating_mul(CELLS).min(most)
    }

    /// Memory of the build that the order of its rows takes.
    pub(super) const fn order_bytes(self) -> u64 {
        if self.by_space {
            PLACED_BYTES * self.rows as u64
        } else {
            0
        }
    }

    /// Rows of the longest run.
    pub(super) const fn longest(self) -> u32 {
        self.rows.div_ceil(self.runs)
    }

    /// The share of the shortest run in `bytes` for all rows.
    pub(super) fn least_share(self, bytes: u64) -> u64 {
        let shortest = self.rows / self.runs;
        (u128::from(bytes) * u128::from(shortest) / u128::from(self.rows.max(1))) as u64
    }

    /// What memory is planned for.
    pub(super) fn extent(self) -> Extent {
        // A cell that a run ends in counts for both runs.
        let cells = self.cells();
        Extent {
            rows: self.rows,
            segments: self.runs,
            longest: self.longest(),
            centres: cells + u32::from(cells > 0) * self.runs,
        }
    }

    /// The runs, in order.
    pub(super) fn all(self) -> impl Iterator<Item = Range<u32>> {
        let Self { rows, runs, .. } = self;
        let bound = move |run: u32| (u64::from(rows) * u64::from(run) / u64::from(runs)) as u32;
        (0..runs).map(move |run| bound(run)..bound(run + 1))
    }
}

fn check_counts(input: &BuildInput<'_>) -> Result<u32> {
    let count = input.vectors.count();
    if count == 0 {
        return Err(Error::invalid(format!("{}: holds no vectors", input.name)));
    }
    if let Some(ids) = input.ids.filter(|ids| ids.count() != count) {
        return Err(Error::invalid(format!(
            "{}: {} ids for the {count} vectors of {}",
            ids.name(),
            ids.count(),
            input.name
        )));
    }
    if let Some(own) = input.attributes.filter(|own| own.count() != count) {
        return Err(Error::invalid(format!(
            "{}: attributes of {} rows for the {count} vectors of {}",
            own.name(),
            own.count(),
            input.name
        )));
    }
    let shape = input.vectors.shape();
    if let Some(queries) = input.queries.filter(|queries| queries.shape() != shape) {
        return Err(Error::invalid(format!(
            "the calibration queries are {}, the vectors {shape}",
            queries.shape()
        )));
    }
    u32::try_from(count)
        .ok()
        .filter(|count| *count < u32::MAX)
        .ok_or_else(|| {
            Error::invalid(format!(
                "{}: {count} vectors; one index holds fewer than 2^32",
                input.name
            ))
        })
}

/// A run of the rows of a build.
pub(super) struct Run<'r> {
    vectors: VectorRun<'r>,
    ids: Option<IdRun<'r>>,
    attributes: Option<TextPart<'r>>,
    whole: &'r BuildInput<'r>,
}

impl<'r> Run<'r> {
    /// Rows `rows` of a build.
    pub(super) fn new(whole: &'r BuildInput<'r>, rows: &Range<u32>) -> Self {
        let rows = u64::from(rows.start)..u64::from(rows.end);
        let ids = whole.ids.map(|ids| IdRun {
            ids,
            rows: rows.clone(),
        });
        let attributes = whole
            .attributes
            .map(|attributes| TextPart::new(attributes, rows.start, rows.end - rows.start));
        let vectors = VectorRun {
            vectors: whole.vectors,
            rows,
        };
        Self {
            vectors,
            ids,
            attributes,
            whole,
        }
    }

    /// The run, as the input of a build of its own.
    pub(super) fn input(&self) -> BuildInput<'_> {
        BuildInput {
            vectors: &self.vectors,
            ids: self.ids.as_ref().map(|ids| ids as &dyn IdRead),
            names: None,
            attributes: self
                .attributes
                .as_ref()
                .map(|attributes| attributes as &dyn TextRead),
            ..*self.whole
        }
    }
}

/// Some of a set of vectors.
struct VectorRun<'r> {
    vectors: &'r dyn VectorRead,
    rows: Range<u64>,
}

impl VectorRead for VectorRun<'_> {
    fn count(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    fn shape(&self) -> VectorShape {
        self.vectors.shape()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let rows = (out.len() / self.shape().row_bytes()) as u64;
        self.vectors.read(row_of(&self.rows, first, rows)?, out)
    }

    fn resident(&self) -> Option<&[u8]> {
        let row_bytes = self.shape().row_bytes();
        let rows = self.rows.start as usize * row_bytes..self.rows.end as usize * row_bytes;
        self.vectors.resident()?.get(rows)
    }
}

/// Some of a set of ids.
struct IdRun<'r> {
    ids: &'r dyn IdRead,
    rows: Range<u64>,
}

impl IdRead for IdRun<'_> {
    fn name(&self) -> &str {
        self.ids.name()
    }

    fn count(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let row = row_of(&self.rows, first, out.len() as u64)?;
        self.ids.read(row, out)
    }
}

/// The number in the whole of row `first` of a run, if `rows` rows from there on are in the run.
fn row_of(run: &Range<u64>, first: u64, rows: u64) -> Result<u64> {
    let row = run.start.checked_add(first);
    let fits = |row: &u64| row.checked_add(rows).is_some_and(|end| end <= run.end);
    row.filter(fits)
        .ok_or_else(|| Error::invalid("rows beyond the end of a segment"))
}

#[cfg(test)]
mod tests {
    use pageway_types::ElementType;

    use super::*;
    use crate::source::{ResidentSlice, VectorSlice};

    #[test]
    fn runs_follow_each_other_and_differ_by_a_row_at_most() {
        for (rows, runs) in [(1, 1), (10, 3), (7, 7), (1_000_003, 8), (u32::MAX - 1, 256)] {
            let cut = Cut::new(rows, runs).unwrap();
            let all: Vec<_> = cut.all().collect();
            assert_eq!(all.len(), runs as usize);
            assert_eq!((all[0].start, all[all.len() - 1].end), (0, rows));
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
            let longest = all.iter().map(ExactSizeIterator::len).max();
            assert_eq!(longest, Some(cut.longest() as usize));
            assert!(
                all.iter()
                    .all(|run| run.len() + 1 >= cut.longest() as usize)
            );
            assert!(cut.least_share(1 << 40) <= (1 << 40) / u64::from(runs));
        }
        for (rows, runs) in [(10, 0), (10, 11), (1000, MAX_SEGMENTS + 1)] {
            assert!(Cut::new(rows, runs).is_err(), "{rows} {runs}");
        }
    }

    #[test]
    fn a_run_is_the_rows_of_the_whole_and_no_others() {
        let shape = VectorShape {
            dimension: 2,
            element: ElementType::U8,
        };
        let bytes: Vec<u8> = (0..20).collect();
        let whole = BuildInput {
            vectors: &ResidentSlice(VectorSlice::new(&bytes, shape).unwrap()),
            name: "rows",
            ids: None,
            names: None,
            queries: None,
            attributes: None,
        };
        let run = Run::new(&whole, &(3..7));
        let vectors = run.input().vectors;
        assert_eq!(vectors.count(), 4);
        assert_eq!(vectors.resident(), Some(&bytes[6..14]));
        let mut row = [0; 2];
        vectors.read(3, &mut row).unwrap();
        assert_eq!(row, [12, 13]);
        assert!(vectors.read(4, &mut row).is_err());
    }
}
