//! What a caller may ask for: options of build, open and search, and what a search answers.

mod segment_cut;

use std::path::PathBuf;
use std::time::Duration;

use pageway_attributes::Schema;
use pageway_types::{Metric, VectorRead, VectorShape};

use crate::execution::{HeldOut, NodeSet, QueryStats, Tolerance};
use crate::filter::{Filter, FilterReport, Strategy};
use crate::memory::MemoryWish;
use crate::presets::Preset;
use crate::source::{IdRead, TextRead};
use crate::spec::Overrides;

pub use self::segment_cut::SegmentCut;

/// Setters of an options struct: it gains fields without breaking who fills it.
macro_rules! setters {
    ($options:ident $(<$life:lifetime>)? { $($setter:ident: $field:ident = $value:ty,)* }) => {
        impl $(<$life>)? $options $(<$life>)? {
            $(
                #[doc = concat!(
                    "The same with this [`", stringify!($field), "`](Self::", stringify!($field), ")."
                )]
                #[must_use]
                pub fn $setter(mut self, $field: $value) -> Self {
                    self.$field = $field.into();
                    self
                }
            )*
        }
    };
}

/// The vectors of a build, and what belongs to them.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct BuildInput<'a> {
    /// The vectors; row numbers become node ids.
    pub vectors: &'a dyn VectorRead,
    /// Name of the source in messages: a path, or "array".
    pub name: &'a str,
    /// User ids, one per row; row numbers where absent.
    pub ids: Option<&'a dyn IdRead>,
    /// Names in place of ids, one per row.
    pub names: Option<&'a dyn TextRead>,
    /// Example queries for the calibration; rows of the data, held out, where absent. Give them
    /// when queries are unlike the data (text asking for images, say): recall is then calibrated
    /// for them.
    pub queries: Option<&'a dyn VectorRead>,
    /// Attributes of the rows, a document each.
    pub attributes: Option<&'a dyn TextRead>,
}

impl<'a> BuildInput<'a> {
    /// Vectors whose row numbers are their ids.
    pub const fn new(vectors: &'a dyn VectorRead, name: &'a str) -> Self {
        Self {
            vectors,
            name,
            ids: None,
            names: None,
            queries: None,
            attributes: None,
        }
    }
}

setters!(BuildInput<'a> {
    with_ids: ids = Option<&'a dyn IdRead>,
    with_names: names = Option<&'a dyn TextRead>,
    with_queries: queries = Option<&'a dyn VectorRead>,
    with_attributes: attributes = Option<&'a dyn TextRead>,
});

/// Queries of a calibration where nobody says: one of so many rows, and least and most of them.
const ROWS_PER_QUERY: u64 = 80;
pub(crate) const USUAL_QUERIES: u32 = 500;
const MOST_QUERIES: u32 = 1000;

/// How to build an index. `Default` gives a good one.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct BuildOptions {
    /// Distance.
    pub metric: Metric,
    /// Which design.
    pub preset: Preset,
    /// Which form of it, by its name; the first that memory holds where absent.
    pub form: Option<String>,
    /// Memory of a search over the finished index. Sizes the codes unless `code_bytes` is given;
    /// stored as the default of `open`. Where absent: 20 % of the raw vectors, and at least 16 MB.
    pub memory: Option<MemoryWish>,
    /// Memory of the build itself. Default: half of the machine's memory, or of what its container
    /// has.
    pub build_memory: Option<MemoryWish>,
    /// Recall@10 that the index is meant for: the build measures and says whether it can be
    /// reached.
    pub recall: f32,
    /// Segments of the index: runs of rows that are built one after the other, within the same
    /// memory, and searched together.
    pub segments: u32,
    /// How rows become segments, where there are several.
    pub cut: SegmentCut,
    /// Threads of the build, of which no more are started than help: eight a core, or 64 where
    /// that is more; 0 for all cores. The bytes of the index do not depend on it.
    pub threads: usize,
    /// Longest adjacency list (R).
    pub degree: u32,
    /// Candidate list size while building (L).
    pub build_list: u32,
    /// Slack of the prune rule, on squared distances.
    pub alpha: f32,
    /// Bytes per code; from the memory budget where absent.
    pub code_bytes: Option<u32>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Reads in flight (W); the design's own where absent.
    pub beam: Option<u32>,
    /// Choices other than the design's own: any legal combination works.
    pub overrides: Overrides,
    /// Disk that the index may take; designs that keep lists several times keep fewer.
    pub disk: Option<MemoryWish>,
    /// Directory of an index of the same vector space whose codebook is taken over, so that a
    /// process can switch between both without loading it again.
    pub codebook_from: Option<PathBuf>,
    /// Directory of an index of the same vectors, in the order of the data, whose graph is taken
    /// over instead of being built: one graph in several layouts.
    pub graph_from: Option<PathBuf>,
    /// Whether `f32` vectors are stored in four bytes a value also where f16 holds all of them
    /// exactly. Answers are the same; files are about twice as large.
    pub store_as_given: bool,
    /// What the values of some fields of attributes must be, now and whenever rows change.
    pub schema: Option<Schema>,
    /// Directory for temporary files, in place of that of the index. They go whichever way the
    /// build ends; what a killed build left goes with the next that is given the directory.
    pub scratch: Option<PathBuf>,
    /// Whether finished stages and shards stay when the build is stopped, and are looked for: a
    /// build of the same input with the same options goes on, and makes the bytes of one that was
    /// never stopped.
    pub resume: bool,
    /// Held-out queries that the calibration measures recall with. Where absent, of eighty rows
    /// one, 500 at least and 1,000 at most, and 500 where memory holds no more. Where there are
    /// fewer rows than queries, as many as there are rows. 0 for none: the
    /// index answers searches by list size until
    /// [`Index::calibrate`](crate::Index::calibrate) has measured it, and a build needs no memory
    /// of searches.
    pub calibration_queries: Option<u32>,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            metric: Metric::L2,
            preset: Preset::default(),
            form: None,
            memory: None,
            build_memory: None,
            recall: 0.95,
            segments: 1,
            cut: SegmentCut::Arrival,
            threads: 0,
            degree: 48,
            build_list: 100,
            alpha: 1.2,
            code_bytes: None,
            page_bytes: 4096,
            beam: None,
            overrides: Overrides::default(),
            disk: None,
            codebook_from: None,
            graph_from: None,
            store_as_given: false,
            schema: None,
            scratch: None,
            resume: false,
            calibration_queries: None,
            seed: 42,
        }
    }
}

impl BuildOptions {
    /// How many queries a calibration takes of so many rows or example queries.
    pub(crate) fn queries_of(&self, rows: u64) -> u32 {
        let usual = (rows / ROWS_PER_QUERY).clamp(USUAL_QUERIES.into(), MOST_QUERIES.into());
        let most = rows.clamp(USUAL_QUERIES.into(), u32::MAX.into()) as u32;
        self.calibration_queries.unwrap_or(usual as u32).min(most)
    }
}

setters!(BuildOptions {
    with_metric: metric = Metric,
    with_preset: preset = Preset,
    with_form: form = impl Into<Option<String>>,
    with_memory: memory = impl Into<Option<MemoryWish>>,
    with_build_memory: build_memory = impl Into<Option<MemoryWish>>,
    with_recall: recall = f32,
    with_segments: segments = u32,
    with_cut: cut = SegmentCut,
    with_threads: threads = usize,
    with_degree: degree = u32,
    with_build_list: build_list = u32,
    with_alpha: alpha = f32,
    with_code_bytes: code_bytes = impl Into<Option<u32>>,
    with_page_bytes: page_bytes = u32,
    with_beam: beam = impl Into<Option<u32>>,
    with_overrides: overrides = Overrides,
    with_disk: disk = impl Into<Option<MemoryWish>>,
    with_codebook_from: codebook_from = impl Into<Option<PathBuf>>,
    with_graph_from: graph_from = impl Into<Option<PathBuf>>,
    with_scratch: scratch = impl Into<Option<PathBuf>>,
    with_resume: resume = bool,
    with_store_as_given: store_as_given = bool,
    with_schema: schema = impl Into<Option<Schema>>,
    with_calibration_queries: calibration_queries = impl Into<Option<u32>>,
    with_seed: seed = u64,
});

/// How to open an index.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Everything the process may hold for this index; what the index was built for where absent.
    pub memory: Option<MemoryWish>,
    /// Searches that run at the same time, each on its own thread, of which there are no more
    /// than help. Sets memory aside for them; 0 for all cores.
    pub threads: usize,
    /// Queries that one thread keeps in flight in a batch. Fewer are used when memory is short.
    /// With 1, reads begin while candidates are gathered, where memory holds the codes.
    pub interleave: u32,
    /// How hard the searches to come will try: memory is set aside for their list. Where absent,
    /// one that is enough for high recall on most data.
    pub effort: Option<Effort>,
    /// Reads per round (W) that memory is set aside for; the index's own where absent.
    pub beam: Option<u32>,
    /// Neighbours per query that memory is set aside for. For searches within a radius give their
    /// limit, here and as a list size.
    pub k: u32,
    /// How often, at most, a search first looks whether another process has committed a change, and
    /// turns to it: for that search costs a read of the manifest. Never where absent.
    pub follow: Option<Duration>,
    /// Queries asked lately that are kept, to [calibrate](crate::Index::calibrate) with: their rows
    /// count as memory. None unless said.
    pub recent_queries: u32,
    /// Whether pages are read through the page cache of the system, where a build has just written
    /// them.
    pub(crate) through_page_cache: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            memory: None,
            threads: 1,
            interleave: 8,
            effort: None,
            beam: None,
            k: 10,
            follow: None,
            recent_queries: 0,
            through_page_cache: false,
        }
    }
}

setters!(OpenOptions {
    with_memory: memory = impl Into<Option<MemoryWish>>,
    with_threads: threads = usize,
    with_interleave: interleave = u32,
    with_effort: effort = impl Into<Option<Effort>>,
    with_beam: beam = impl Into<Option<u32>>,
    with_k: k = u32,
    with_follow: follow = impl Into<Option<Duration>>,
    with_recent_queries: recent_queries = u32,
});

/// How hard a search tries.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Effort {
    /// Recall@k to reach on average; the list size follows from the calibration of the index, and
    /// from how the queries of the call, or of earlier ones, lie from what they found.
    Recall(f32),
    /// Candidate list size (L), given directly.
    ListSize(u32),
}

/// How to search: for the nearest, or for all within a radius.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Neighbours per query, of which places stay empty where there are fewer rows; with a radius,
    /// results at most, nearest first.
    pub k: u32,
    /// Distance within which every vector is a result, where that is asked for: squared for L2,
    /// negated for the inner product, one minus the cosine for cosine; as searches return it.
    pub radius: Option<f32>,
    /// How hard to try. With a radius, a list size: the one to begin with.
    pub effort: Effort,
    /// Reads per round (W); the index's own where absent.
    pub beam: Option<u32>,
    /// Threads; 0 for those set aside at open.
    pub threads: usize,
    /// Queries in flight per thread; 0 for those set aside at open.
    pub interleave: u32,
    /// How far off the distances of answers may be; exact by default. Where codes with error bounds
    /// decide that a vector is an answer, and their bounds are narrow enough, its distance is their
    /// estimate, and saves a read.
    pub tolerance: Tolerance,
    /// Time for the whole call, waiting for memory included; no bound where absent.
    pub timeout: Option<Duration>,
    /// Whether every vector that may be found is read and compared, and effort counts for nothing.
    pub exact: bool,
    /// How the rows that match a filter are searched, whatever it costs; the cheaper way where
    /// absent.
    pub strategy: Option<Strategy>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            k: 10,
            radius: None,
            effort: Effort::Recall(0.95),
            beam: None,
            threads: 0,
            interleave: 0,
            tolerance: Tolerance::EXACT,
            timeout: None,
            exact: false,
            strategy: None,
        }
    }
}

impl SearchOptions {
    /// Candidate list size that a search within a radius begins with, unless told otherwise.
    pub const RANGE_LIST_SIZE: u32 = 20;
    /// Results of a search within a radius at most, unless told otherwise.
    pub const RANGE_LIMIT: u32 = 10_000;

    /// The `k` nearest, with defaults for the rest.
    pub fn nearest(k: u32) -> Self {
        Self {
            k,
            ..Self::default()
        }
    }

    /// All within `radius`, with defaults for the rest.
    pub fn within(radius: f32) -> Self {
        Self {
            k: Self::RANGE_LIMIT,
            radius: Some(radius),
            effort: Effort::ListSize(Self::RANGE_LIST_SIZE),
            ..Self::default()
        }
    }
}

setters!(SearchOptions {
    with_k: k = u32,
    with_radius: radius = impl Into<Option<f32>>,
    with_effort: effort = Effort,
    with_beam: beam = impl Into<Option<u32>>,
    with_threads: threads = usize,
    with_interleave: interleave = u32,
    with_tolerance: tolerance = Tolerance,
    with_timeout: timeout = impl Into<Option<Duration>>,
    with_exact: exact = bool,
    with_strategy: strategy = impl Into<Option<Strategy>>,
});

/// Queries: raw little-endian rows of one shape.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Queries<'a> {
    /// `count * shape.row_bytes()` bytes.
    pub rows: &'a [u8],
    /// Dimension and element type; those of the index.
    pub shape: VectorShape,
    /// Per query, where it is a row of the index itself: that row and its copies, which must not be
    /// found.
    pub held_out: Option<&'a [HeldOut]>,
    /// The nodes that may be found, where not all may; in place of `held_out`.
    pub admitted: Option<&'a NodeSet>,
    /// Whether the attributes of what is found are wanted.
    pub wants_attributes: bool,
    /// Bytes of attributes and names of all answers together, at most: more are refused.
    pub attribute_bytes: u64,
    /// Whether the names of what is found are wanted: two reads for each that may have one.
    pub wants_names: bool,
    /// What rows must be to be found; in place of `held_out` and `admitted`.
    pub filter: Option<&'a Filter>,
}

impl<'a> Queries<'a> {
    /// Queries that are no rows of the index.
    pub const fn new(rows: &'a [u8], shape: VectorShape) -> Self {
        Self {
            rows,
            shape,
            held_out: None,
            admitted: None,
            wants_attributes: false,
            attribute_bytes: u64::MAX,
            wants_names: false,
            filter: None,
        }
    }
}

setters!(Queries<'a> {
    with_held_out: held_out = Option<&'a [HeldOut]>,
    with_admitted: admitted = impl Into<Option<&'a NodeSet>>,
    with_wants_attributes: wants_attributes = bool,
    with_attribute_bytes: attribute_bytes = u64,
    with_wants_names: wants_names = bool,
    with_filter: filter = impl Into<Option<&'a Filter>>,
});

/// What a search found: results `lims[q] .. lims[q + 1]` are those of query `q`, nearest first.
///
/// Without a radius every query has `k` of them, in columns; those that could not be reached are
/// filled up.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Answers {
    /// Neighbours per query; with a radius, results at most.
    pub k: usize,
    /// Where the results of each query begin, and the number of all: one more than queries.
    pub lims: Vec<usize>,
    /// Ids: the user's own, or row numbers. `u64::MAX` where fewer than k could be reached.
    pub ids: Vec<u64>,
    /// Row numbers in the data the index was built from, in step with `ids`; `u32::MAX` where none.
    pub rows: Vec<u32>,
    /// Numbers inside the index, in step with `ids`: those of [`Index`](crate::Index) as a source
    /// of vectors.
    pub nodes: Vec<u32>,
    /// Distances in the order of `ids`; smaller is nearer in every metric.
    pub distances: Vec<f32>,
    /// How far off each of them may be, in the same unit, at [`Tolerance::DEVIATIONS`] standard
    /// deviations: 0 where it is exact, as all are unless a tolerance was given.
    pub errors: Vec<f32>,
    /// What each query cost.
    pub stats: Vec<QueryStats>,
    /// Queries within a radius that found as many results as there was room for: there may be
    /// more.
    pub truncated: usize,
    /// Attributes in step with `ids`, as JSON, where they were wanted; none of rows without.
    pub attributes: Vec<Option<String>>,
    /// Names in step with `ids`, where they were wanted; none of rows without.
    pub names: Vec<Option<String>>,
    /// What the filter did, where there was one.
    pub filter: Option<FilterReport>,
    /// Mean recall@k that the calibration expects of these queries; none of searches within a
    /// radius or among some rows, and where nothing was calibrated. Where lists are chosen by query
    /// it is read off their own local dimensions, without a margin; where lists are longer because
    /// a sample of the call misses more, with so many times the misses.
    pub expected_recall: Option<f32>,
    /// Share of the queries, 0 to 1, that are unlike those of the calibration: whose local
    /// dimension lies beyond that of 99 in 100 of those; all of a call whose queries lie otherwise
    /// from what they find, on average, than those did, of 32 queries at least. 0 where that is not
    /// looked at.
    pub unlike: f32,
    /// How the search ran.
    pub settings: SearchSettings,
}

/// The settings a search resolved to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SearchSettings {
    /// Candidate list size (L); within a radius, the one that searches began with.
    pub list_size: u32,
    /// Reads per round (W).
    pub beam: u32,
    /// Threads that searched.
    pub threads: usize,
    /// Queries in flight per thread.
    pub interleave: u32,
}
