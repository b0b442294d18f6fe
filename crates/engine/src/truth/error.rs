//! What can be wrong with a truth, a question for one, or a comparison with one.

use pageway_types::VectorShape;

use crate::error::{Error, ErrorKind};

/// A truth file that cannot be used, or a question that has no exact answer.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TruthError {
    /// The extension names no format of truth.
    #[error("{file}: unknown extension for truth; the known ones are .ibin .ivecs")]
    UnknownExtension {
        /// The file.
        file: String,
    },
    /// The extension names no format of ranges.
    #[error("{file}: unknown extension for ranges; the known one is .rangeres")]
    UnknownRangeExtension {
        /// The file.
        file: String,
    },
    /// Zero queries or zero neighbours.
    #[error("{file}: the header says {queries} queries of {k} neighbours; neither may be 0")]
    Empty {
        /// The file.
        file: String,
        /// Queries in the header.
        queries: u64,
        /// Neighbours in the header.
        k: i64,
    },
    /// Header and file size disagree.
    #[error(
        "{file}: the header says {queries} queries of {k} neighbours, which takes {ids_bytes} \
         bytes as ids or {both_bytes} as ids and distances, but the file has {found_bytes}"
    )]
    SizeMismatch {
        /// The file.
        file: String,
        /// Queries in the header.
        queries: u64,
        /// Neighbours in the header.
        k: u64,
        /// Bytes of a file of ids.
        ids_bytes: u128,
        /// Bytes of a file of ids and distances.
        both_bytes: u128,
        /// Bytes of the file.
        found_bytes: u64,
    },
    /// A `.ivecs` file that is no whole number of rows.
    #[error(
        "{file}: {found_bytes} bytes are not a whole number of rows of {row_bytes} bytes (k {k})"
    )]
    PartialRow {
        /// The file.
        file: String,
        /// Bytes of the file.
        found_bytes: u64,
        /// Bytes of a row with its length.
        row_bytes: u64,
        /// Length of row 0.
        k: u64,
    },
    /// Rows of several lengths.
    #[error("{file}: query {query} has {found} neighbours, the ones before it have {expected}")]
    RowLength {
        /// The file.
        file: String,
        /// The query.
        query: u64,
        /// Length of row 0.
        expected: u64,
        /// Length of this row.
        found: i32,
    },
    /// An id that is no row of the base.
    #[error("{file}: query {query}, neighbour {rank} is row {id}, the base has {}", RowBound(*.count))]
    IdRange {
        /// The file.
        file: String,
        /// The query.
        query: u64,
        /// Rank of the neighbour, from 0.
        rank: usize,
        /// The id.
        id: i32,
        /// Rows of the base; `None` when it is not known.
        count: Option<u64>,
    },
    /// Queries outside of the file.
    #[error("{file}: queries {first}..{end} are outside of 0..{count}")]
    Range {
        /// The file.
        file: String,
        /// First wanted.
        first: u64,
        /// One past the last wanted.
        end: u64,
        /// Queries in the file.
        count: u64,
    },
    /// Ids are stored in 31 bits.
    #[error("{file}: row {id} does not fit the 31 bits of an id in this format")]
    IdTooLarge {
        /// The file.
        file: String,
        /// The id.
        id: u32,
    },
    /// Base and queries cannot be compared.
    #[error("the base is {base}, the queries are {queries}: they must agree")]
    Shape {
        /// Shape of the base.
        base: VectorShape,
        /// Shape of the queries.
        queries: VectorShape,
    },
    /// `k` is 0 or exceeds what there is.
    #[error("k is {k}; it must be 1 to {max}, the number of {what}")]
    K {
        /// Neighbours asked for.
        k: usize,
        /// Most that there are.
        max: u64,
        /// Of what there are no more.
        what: &'static str,
    },
    /// No queries.
    #[error("there are no queries")]
    NoQueries,
    /// Lists that should run in step do not.
    #[error("{what}: {found} values, {expected} expected")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The right length.
        expected: usize,
    },
    /// The base has more rows than ids.
    #[error("the base has {count} rows; truth knows at most {}", u32::MAX)]
    BaseTooLarge {
        /// Rows of the base.
        count: u64,
    },
    /// The memory cap does not hold the answer.
    #[error(
        "exact neighbours of {queries} queries with k {k} need at least {needed_bytes} bytes of \
         memory, {memory_bytes} were given"
    )]
    Memory {
        /// Queries.
        queries: usize,
        /// Neighbours per query.
        k: usize,
        /// Smallest cap that works.
        needed_bytes: u64,
        /// The cap.
        memory_bytes: u64,
    },
    /// A radius that is not a number.
    #[error("radius: not a number")]
    Radius,
    /// The memory cap does not hold the results of a range.
    #[error(
        "{results} rows lie within radius {radius} of {queries} queries, which takes \
         {needed_bytes} bytes of memory beside the queries; {memory_bytes} were left: give more, or \
         a smaller radius"
    )]
    RangeMemory {
        /// Queries.
        queries: usize,
        /// The radius.
        radius: f32,
        /// Results of all queries.
        results: u64,
        /// Smallest cap that works.
        needed_bytes: u64,
        /// The cap.
        memory_bytes: u64,
    },
    /// More results than a file of ranges counts.
    #[error("{file}: {results} results; this format counts at most {}", i32::MAX)]
    RangeTooLarge {
        /// The file.
        file: String,
        /// Results of all queries.
        results: u64,
    },
    /// Header, counts and file size of ranges disagree.
    #[error(
        "{file}: the header says {queries} queries with {results} results, which takes \
         {expected_bytes} bytes, but {found}"
    )]
    RangeMismatch {
        /// The file.
        file: String,
        /// Queries in the header.
        queries: u64,
        /// Results in the header.
        results: u64,
        /// Bytes of such a file.
        expected_bytes: u64,
        /// What there is instead.
        found: String,
    },
    /// A truth without distances cannot be cut at a radius.
    #[error(
        "{file}: holds ids and no distances, so it cannot be cut at a radius; make one with \
         pageway ground-truth --radius"
    )]
    NoDistances {
        /// The file.
        file: String,
    },
    /// Nearest neighbours that end within the radius.
    #[error(
        "{file}: the last of the {k} neighbours of query {query} is still within the radius \
         {radius}, at {distance}: there may be more; make a truth with pageway ground-truth \
         --radius"
    )]
    TooShallow {
        /// The file.
        file: String,
        /// The query.
        query: u64,
        /// Neighbours per query.
        k: usize,
        /// Distance of the last of them.
        distance: f32,
        /// The radius.
        radius: f32,
    },
    /// A result within the radius that a truth lacks.
    #[error(
        "query {query} found row {id} at {distance}, within the radius, but its truth does not \
         list it: the truth is of a smaller radius or of other vectors"
    )]
    NotListed {
        /// The query.
        query: u64,
        /// The id that was found.
        id: u64,
        /// Its distance.
        distance: f32,
    },
    /// NaN or infinite distances.
    #[error("query {query} has fewer than {k} finite distances: look for NaN or infinity in it")]
    NotFinite {
        /// The query.
        query: usize,
        /// Neighbours per query.
        k: usize,
    },
}

struct RowBound(Option<u64>);

impl std::fmt::Display for RowBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(count) => write!(f, "rows 0..{count}"),
            None => f.write_str("no negative rows"),
        }
    }
}

impl From<TruthError> for Error {
    fn from(error: TruthError) -> Self {
        Self::new(ErrorKind::InvalidInput, error.to_string())
    }
}
