//! What a caller may ask of a writer, and what it answers.

use std::time::Duration;

use pageway_attributes::Schema;
use pageway_store::Durability;
use pageway_types::{Metric, VectorShape};
use serde::Serialize;

use crate::filter::Filter;
use crate::memory::MemoryWish;
use crate::presets::Preset;
use crate::source::TextRead;

/// How to make an empty index.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct CreateOptions {
    /// Dimension and element type of the vectors to come.
    pub shape: VectorShape,
    /// Distance.
    pub metric: Metric,
    /// Which design.
    pub preset: Preset,
    /// Which form of it, by its name; the first that memory holds where absent.
    pub form: Option<String>,
    /// Bytes of memory of a search, however many rows come, from which form and codes follow; where
    /// absent 64 MB, and more as rows come.
    pub memory: Option<u64>,
    /// Vectors that the memory is to hold codes for until all rows are merged, which chooses form
    /// and codes by what there is; where absent as many as five times the memory holds raw, or
    /// those that it holds codes for where these are fewer.
    pub expected: Option<u64>,
    /// Longest adjacency list (R).
    pub degree: u32,
    /// What the values of some fields of attributes must be.
    pub schema: Option<Schema>,
}

impl CreateOptions {
    /// An empty index of the default design for vectors of a shape.
    pub fn new(shape: VectorShape, metric: Metric) -> Self {
        Self {
            shape,
            metric,
            preset: Preset::default(),
            form: None,
            memory: None,
            expected: None,
            degree: 48,
            schema: None,
        }
    }

    /// The same of another design.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// The same in this form of the design.
    #[must_use]
    pub fn with_form(mut self, form: impl Into<Option<String>>) -> Self {
        self.form = form.into();
        self
    }

    /// The same with so many bytes of memory.
    #[must_use]
    pub fn with_memory(mut self, memory: impl Into<Option<u64>>) -> Self {
        self.memory = memory.into();
        self
    }

    /// The same for so many vectors.
    #[must_use]
    pub fn with_expected(mut self, expected: impl Into<Option<u64>>) -> Self {
        self.expected = expected.into();
        self
    }

    /// The same with lists of this length.
    #[must_use]
    pub fn with_degree(mut self, degree: u32) -> Self {
        self.degree = degree;
        self
    }

    /// The same with this schema.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<Option<Schema>>) -> Self {
        self.schema = schema.into();
        self
    }
}

/// How to open an index to be changed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct UpdateOptions {
    /// Everything that changes may hold beside the memory of searches: rows since the last flush,
    /// dead sets, tables of ids, and one flush and one merge at a time. Where absent: an eighth of
    /// the memory of searches, or the least that works where that is more; and a merge that needs
    /// more takes up to 256 MiB, or an eighth of the machine's memory where that is less; as much
    /// as searches, or the least that it works with, where that is more.
    pub memory: Option<MemoryWish>,
    /// Part of it that flushes and merges may take; half of it where absent. A merge that needs
    /// what a flush takes lets none run beside it.
    pub build_memory: Option<MemoryWish>,
    /// Threads of a flush, and of a merge; 0 for one.
    pub threads: usize,
    /// Whether the log is read as far as it is sound, if it is damaged: what stands behind the
    /// damage is lost. The decision of a person.
    pub salvage: bool,
    /// Whether segments are merged only when that is asked for.
    pub merge_by_hand: bool,
    /// Whether flushes and merges run in the thread that finds the delta full, so that what is
    /// written depends on the calls alone.
    pub in_foreground: bool,
    /// What the 99th percentile of the latency of searches is to stay within, if that is possible:
    /// while it does not, merges get less time, a thirty-second of it at least, flushes a half at
    /// least, and a batch of rows is put in up to 31 ms later. More than zero.
    pub latency_target: Option<Duration>,
}

impl UpdateOptions {
    /// The same with this memory.
    #[must_use]
    pub fn with_memory(mut self, memory: impl Into<Option<MemoryWish>>) -> Self {
        self.memory = memory.into();
        self
    }

    /// The same with this memory for flushes and merges.
    #[must_use]
    pub fn with_build_memory(mut self, memory: impl Into<Option<MemoryWish>>) -> Self {
        self.build_memory = memory.into();
        self
    }

    /// The same with so many threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The same, reading a damaged log as far as it is sound.
    #[must_use]
    pub fn with_salvage(mut self, salvage: bool) -> Self {
        self.salvage = salvage;
        self
    }

    /// The same without merges that nobody asked for.
    #[must_use]
    pub fn with_merge_by_hand(mut self, by_hand: bool) -> Self {
        self.merge_by_hand = by_hand;
        self
    }

    /// The same without a thread of its own.
    #[must_use]
    pub fn with_in_foreground(mut self, in_foreground: bool) -> Self {
        self.in_foreground = in_foreground;
        self
    }

    /// The same with this target for the latency of searches.
    #[must_use]
    pub fn with_latency_target(mut self, target: impl Into<Option<Duration>>) -> Self {
        self.latency_target = target.into();
        self
    }
}

/// Rows to put into an index: raw little-endian rows of its shape.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rows<'a> {
    /// `count * shape.row_bytes()` bytes.
    pub rows: &'a [u8],
    /// Dimension and element type; those of the index.
    pub shape: VectorShape,
    /// An id for each row; where absent, the next that were never given.
    pub ids: Option<&'a [u64]>,
    /// A name for each row, in place of ids.
    pub names: Option<&'a dyn TextRead>,
    /// A document of attributes for each row, an empty one for rows without.
    pub attributes: Option<&'a dyn TextRead>,
    /// What has happened to them when the call returns.
    pub durability: Durability,
}

impl<'a> Rows<'a> {
    /// Rows that get ids of the index's choice, durable when they are in.
    pub fn new(rows: &'a [u8], shape: VectorShape) -> Self {
        Self {
            rows,
            shape,
            ids: None,
            names: None,
            attributes: None,
            durability: Durability::Synced,
        }
    }

    /// The same with these ids.
    #[must_use]
    pub fn with_ids(mut self, ids: impl Into<Option<&'a [u64]>>) -> Self {
        self.ids = ids.into();
        self
    }

    /// The same with these names.
    #[must_use]
    pub fn with_names(mut self, names: impl Into<Option<&'a dyn TextRead>>) -> Self {
        self.names = names.into();
        self
    }

    /// The same with these attributes.
    #[must_use]
    pub fn with_attributes(mut self, attributes: impl Into<Option<&'a dyn TextRead>>) -> Self {
        self.attributes = attributes.into();
        self
    }

    /// The same, as durable as this.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }
}

/// Rows of an index.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Which<'a> {
    /// Those with these ids.
    Ids(&'a [u64]),
    /// Those with these names.
    Names(&'a [String]),
    /// Those that match.
    Matching(&'a Filter),
}

/// What a change did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Acknowledged {
    /// Rows that are new.
    pub inserted: u64,
    /// Rows in place of others of their ids.
    pub replaced: u64,
    /// Rows that were deleted.
    pub deleted: u64,
    /// Rows whose attributes changed.
    pub changed: u64,
    /// Ids to delete or to change that no row had.
    pub absent: u64,
    /// The first of the ids that the index gave, which follow each other within a call that no
    /// other was beside.
    pub first_id: Option<u64>,
    /// The last record of the log when it was done.
    pub lsn: u64,
    /// Whether a power cut loses nothing of it any more.
    pub durable: bool,
}

/// What a writer has done since the index was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Work {
    /// Flushes.
    pub flushes: u64,
    /// Merges.
    pub merges: u64,
    /// Those of both that changed pages of a segment, and made none.
    pub patches: u64,
    /// Bytes that were written: the log, segments, and temporary files of merges.
    pub bytes_written: u64,
    /// Those of the log.
    pub log_bytes: u64,
    /// Those of segments.
    pub segment_bytes: u64,
    /// Those of temporary files.
    pub temporary_bytes: u64,
    /// Records that were replayed at open.
    pub replayed: u64,
    /// Rows whose neighbours inserts searched for, and pages that they read for that.
    pub linked: u64,
    /// See `linked`.
    pub link_pages: u64,
}

/// A flush or merge that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Background {
    /// `flush` or `merge`.
    pub work: &'static str,
    /// Its stage, as progress has it; empty before the first.
    pub stage: &'static str,
    /// Units of the stage that are done.
    pub done: u64,
    /// Units of the stage.
    pub total: u64,
}

/// The latency of searches against its target.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct LatencyState {
    /// What it is to stay within, in microseconds.
    pub target_us: f64,
    /// The 99th percentile of the last hundred searches or so, in microseconds.
    pub p99_us: Option<f64>,
    /// Share of time that merges get while searches come and nobody waits, and flushes where it is
    /// more than a half.
    pub background_share: f64,
}

/// What has changed since an index was built, and what that takes.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Changes {
    /// Rows that a search may find.
    pub rows: u64,
    /// Segments.
    pub segments: usize,
    /// Rows that are in no segment yet.
    pub delta_rows: u64,
    /// Rows that such may be before they are flushed.
    pub delta_capacity: u64,
    /// Rows of segments that were deleted or replaced.
    pub dead: u64,
    /// The last record of the log.
    pub lsn: u64,
    /// The last that is durable.
    pub durable_lsn: u64,
    /// The last whose change is in files beside the log.
    pub floor: u64,
    /// How many times that of training the error of codes is, of the rows in segments that
    /// quantizers were not trained on, mean; 1 where there are none. Above 1.3 the next merge of
    /// all segments trains anew.
    pub code_drift: f64,
    /// Rows that came to segments and rows of segments that went since recall was last measured.
    pub changed_rows: u64,
    /// What was done since the index was opened.
    #[serde(flatten)]
    pub work: Work,
    /// Why segments were not merged, when they were to be.
    pub merge_refused: Option<String>,
    /// Why rows became segments, where the design changes pages of the one that is there.
    pub patch_refused: Option<String>,
    /// The flush and the merge that are under way.
    pub background: Vec<Background>,
    /// How searches fare beside them, where they have a target.
    pub latency: Option<LatencyState>,
    /// What went wrong in the background and was told nobody yet.
    pub background_failed: Option<String>,
}

/// What a merge did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct MergeReport {
    /// Merges that were made.
    pub merges: u64,
    /// Segments that became fewer.
    pub merged_segments: u64,
    /// Rows of the segments that they became.
    pub rows: u64,
    /// Dead rows that are gone.
    pub dropped: u64,
}
