//! Vector search for vectors that do not fit in memory.
//!
//! A proximity graph lies in pages on an SSD; a query walks from page to page. You say how much
//! memory it may take and how much recall you want; the index says what that costs, from
//! measurement.
//!
//! ```
//! use pageway::source::VectorSlice;
//! use pageway::{
//!     BuildInput, BuildOptions, ElementType, Index, NoProgress, OpenOptions, Queries,
//!     SearchOptions, VectorShape,
//! };
//!
//! # fn main() -> pageway::Result<()> {
//! let shape = VectorShape { dimension: 4, element: ElementType::U8 };
//! let rows: Vec<u8> = (0..400u32).map(|i| (i * i % 251) as u8).collect();
//! let vectors = VectorSlice::new(&rows, shape)?;
//! let dir = std::env::temp_dir().join(format!("pageway-doc-{}", std::process::id()));
//!
//! let input = BuildInput::new(&vectors, "example");
//! Index::build(&dir, &input, &BuildOptions::default(), &NoProgress)?;
//!
//! let index = Index::open(&dir, &OpenOptions::default())?;
//! let queries = Queries::new(&rows[..4], shape);
//! let answers = index.search(&queries, &SearchOptions::nearest(3))?;
//! assert_eq!(answers.ids[0], 0);
//! assert_eq!(answers.distances[0], 0.0);
//! # drop(index);
//! # std::fs::remove_dir_all(&dir).ok();
//! # Ok(())
//! # }
//! ```
#![cfg_attr(
    not(feature = "lab"),
    expect(
        unreachable_pub,
        unused_imports,
        reason = "what the feature shows is there without it"
    )
)]

mod build;
mod cache;
mod calibration;
mod delta;
mod doctor;
pub mod error;
mod execution;
mod filter;
mod index;
mod layout;
mod manifest;
mod memory;
mod options;
mod plan;
mod presets;
mod resolve;
mod segment;
pub mod source;
pub mod spec;
mod storage;
mod threads;
pub mod truth;
mod update;

pub use build::{
    BuildOutline, BuildReport, BuildStep, CalibrateOptions, HeldOutRows, SegmentLimits, StepKind,
    StepReport,
};
pub use calibration::{
    Calibration, CalibrationCurve, CalibrationRow, DimensionFit, Likeness, Moments, RANKS,
    unlike_warning,
};
pub use doctor::{
    CpuReport, DepthReading, DoctorOptions, DoctorReport, SyncReading, SyncReport, doctor,
};
pub use error::{Error, ErrorKind, MemoryLack, Result};
pub use execution::{HeldOut, NodeSet, QueryStats, Tolerance};
pub use filter::{Filter, FilterReport, Strategy};
pub use index::{
    BackendReport, Description, FileDescription, Index, MAX_LIST_SIZE, MemoryReport, RecallReport,
    RowPage, RowParts, SegmentState, StoredRow, StoredVector, describe, describe_on,
};
pub use layout::PageError;
pub use memory::{MemoryPart, MemoryWish, format_bytes};
pub use options::{
    Answers, BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions, SearchSettings,
    SegmentCut,
};
pub use pageway_attributes::{
    Document, Edit, Field, FieldKind, Moment, Path as FieldPath, Schema, Uuid, read_document,
};
pub use pageway_store::{Durability, OsVfs, Vfs};
pub use pageway_types::{
    ElementType, IdSet, Metric, NoProgress, NodeId, Progress, Quiet, VectorRead, VectorShape,
};
pub use plan::{Footprint, MAX_INTERLEAVE};
pub use presets::{Preset, Sizes, choices};
pub use segment::{FileReport, SegmentDescription, VerifyReport};
pub use spec::{CacheOverrides, IndexSpec, Overrides};
pub use update::{
    Acknowledged, Background, ChangeSummary, Changes, CreateOptions, LatencyState, LogFileSummary,
    LogSummary, LostRecords, MergeReport, Rows, UpdateOptions, Which, Work, Writer,
    describe_changes, describe_changes_on, verify, verify_on,
};

/// What the laboratory, the tools and the suites use beside the engine. None of it is needed to
/// build an index or to search one, and it may change with any version. Only with the
/// feature `lab`.
#[cfg(feature = "lab")]
pub mod lab {
    pub use pageway_store::machine::{
        bear_file_size_limit, device_reads, give_back_freed_memory, peak_memory_bytes,
        process_cpu_time, process_read_bytes, process_requested_bytes, raise_open_files_limit,
    };
    pub use pageway_store::{LockGuard, OpenMode, VfsFile, clock};
    pub use pageway_types::SplitMix64;

    pub use crate::execution::{HOP_BUCKETS, ReadPlace, ReadTrace, ReadTurn};
    pub use crate::index::survey;
    pub use crate::segment::{GraphSurvey, OVERLAP_CLASSES};
    pub use crate::threads::thread_pool;
}

/// What a server builds collections of several indexes on: a log of its own, a manifest, a lock and
/// the clock. May change with any version. Only with the feature `server`.
#[cfg(feature = "server")]
pub mod server {
    pub use pageway_attributes::{Moment, Number, Scalar, Step, is_name_id, name_id, visit_values};
    pub use pageway_store::machine::return_freed_memory;
    pub use pageway_store::{
        DirectoryLock, FileUuid, LogFloor, LogPlace, LogWriter, Lsn, OnDamage, OpenMode, Room,
        StoreError, VfsFile, clock, commit_manifest, create_directory, read_manifest, replay_log,
    };
    pub use pageway_types::did_you_mean;
}
