//! The manifest: everything needed to open an index.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use pageway_attributes::Schema;
use pageway_store::{FileEntry, Vfs, commit_manifest, read_manifest};

use super::changes::ChangeEntry;
use super::files::{FileKind, file_bytes};
use super::segment::{SegmentEntry, code_drift};
use super::stored::{from_json, to_json};
use super::wish::DesignWish;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::filter::filter_bytes;
use crate::spec::{IndexSpec, Shape};

/// Most segments of an index: each has a few files open, and memory of its own in every query.
pub(crate) const MAX_SEGMENTS: u32 = 256;

/// The manifest.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Manifest {
    /// Counts builds in this directory.
    pub(crate) generation: u64,
    /// Program and version that wrote it.
    pub(crate) created_by: String,
    /// The design of the whole. That of a segment is of the same pages and a shape that keeps this
    /// one, and may have shorter codes.
    pub(crate) spec: IndexSpec,
    /// In the order of their rows: each begins where the one before it ends.
    pub(crate) segments: Vec<SegmentEntry>,
    /// Memory of a search, unless `open` says otherwise.
    pub(crate) memory_bytes: u64,
    /// Of all segments together.
    pub(crate) calibration: Calibration,
    /// Where the index was opened to be changed, or made to be filled.
    pub(crate) changes: Option<ChangeEntry>,
    /// What the values of some fields of attributes must be.
    pub(crate) schema: Option<Schema>,
    /// What the design was chosen by, where it may be chosen again.
    pub(crate) wish: Option<DesignWish>,
}

impl Manifest {
    /// Reads and checks the manifest of the index in `dir`.
    pub(crate) fn read(vfs: &dyn Vfs, dir: &Path) -> Result<Self> {
        let bytes = read_manifest(vfs, dir)?;
        let manifest = from_json(&bytes).map_err(|error| {
            Error::new(
                ErrorKind::Incompatible,
                format!(
                    "the manifest of {} is not one this version knows: {error}",
                    dir.display()
                ),
            )
        })?;
        manifest
            .check()
            .map_err(|error| error.within(dir.display()))?;
        Ok(manifest)
    }

    /// Makes this manifest the current one, in one atomic step.
    pub(crate) fn commit(&self, vfs: &dyn Vfs, dir: &Path) -> Result<()> {
        let json = to_json(self).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("the manifest cannot be written: {error}"),
            )
        })?;
        Ok(commit_manifest(vfs, dir, &json)?)
    }

    /// The first segment.
    ///
    /// # Errors
    /// `Corrupt` where there is none, which no manifest that was read is.
    pub(crate) fn first(&self) -> Result<&SegmentEntry> {
        let none = || corrupt("no segments".to_owned());
        self.segments.first().ok_or_else(none)
    }

    /// Nodes of all segments.
    pub(crate) fn node_count(&self) -> u32 {
        self.segments.iter().map(|segment| segment.node_count).sum()
    }

    /// Bytes of the dead sets of its segments in memory.
    pub(crate) fn dead_bytes(&self) -> u64 {
        let dead = self
            .segments
            .iter()
            .filter_map(|one| one.files.dead.as_ref());
        dead.map(|dead| dead.payload_bytes)
            .fold(0, u64::saturating_add)
    }

    /// Bytes of what is known of where the rows of its segments lie.
    pub(crate) fn region_bytes(&self) -> u64 {
        let each = self.segments.iter();
        let regions = each.filter_map(|one| one.files.region.as_ref());
        regions
            .map(|region| region.payload_bytes)
            .fold(0, u64::saturating_add)
    }

    /// Bytes that filters may take, where rows have attributes.
    pub(crate) fn filter_bytes(&self) -> u64 {
        let mut segments = self.segments.iter();
        if segments.all(|segment| segment.files.attributes.is_none()) {
            return 0;
        }
        let longest = self.segments.iter().map(|segment| segment.node_count).max();
        filter_bytes(self.node_count(), longest.unwrap_or(0))
    }

    /// How many times that of training the code error is, of the rows that quantizers were not
    /// trained on, mean over rows; 1 where there are none.
    pub(crate) fn code_drift(&self) -> f64 {
        code_drift(&self.segments)
    }

    /// Whether who changes it writes pages over that were committed: never those that a build left,
    /// which others may read.
    pub(crate) fn overwrites_pages(&self) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| segment.files.records.growable)
    }

    /// Bytes of the raw vectors.
    pub(crate) fn raw_bytes(&self) -> u64 {
        u64::from(self.node_count()) * self.spec.shape.vectors().row_bytes() as u64
    }

    /// The shape that most of its vectors are stored in, by the longest segment.
    pub(crate) fn stored_shape(&self) -> Shape {
        let longest = self.segments.iter().max_by_key(|one| one.node_count);
        longest.map_or(self.spec.shape, |longest| longest.spec.shape)
    }

    /// Mean length of adjacency lists, over all nodes.
    pub(crate) fn mean_degree(&self) -> f64 {
        let nodes = f64::from(self.node_count());
        let share = |segment: &SegmentEntry| f64::from(segment.node_count) / nodes;
        let each = self.segments.iter();
        // From 0 on, since a sum of nothing is -0.
        each.map(|segment| segment.graph.mean_degree * share(segment))
            .fold(0.0, |sum, part| sum + part)
    }

    /// Partitions that graphs were built in; one for each that was built whole.
    pub(crate) fn shards(&self) -> u32 {
        let each = self.segments.iter();
        each.map(|segment| segment.graph.shards.max(1))
            .fold(0, u32::saturating_add)
    }

    /// The files of all segments, each once.
    pub(crate) fn files(&self) -> Vec<&FileEntry> {
        let mut names = HashSet::new();
        let mut files = self.all_files();
        files.retain(|file| names.insert(&file.name));
        files
    }

    /// The files of each segment: those that several have as often as they have them.
    fn all_files(&self) -> Vec<&FileEntry> {
        let each = self.segments.iter();
        each.flat_map(|segment| segment.files.all()).collect()
    }

    /// Bytes of all files on disk.
    pub(crate) fn file_bytes(&self) -> Result<u64> {
        file_bytes(self.files())
    }

    /// The same by what files hold, in the order of the first segment.
    pub(crate) fn bytes_by_part(&self) -> Result<Vec<(&'static str, u64)>> {
        let mut parts: Vec<(&'static str, u64)> = Vec::new();
        for file in self.files() {
            let name = FileKind::of(file.kind).map_or("other", FileKind::stem);
            let bytes = file.file_bytes()?;
            match parts.iter_mut().find(|(own, _)| *own == name) {
                Some((_, sum)) => *sum += bytes,
                None => parts.push((name, bytes)),
            }
        }
        Ok(parts)
    }

    /// Checks that it does not contradict itself.
    pub(crate) fn check(&self) -> Result<()> {
        self.spec
            .validate()
            .map_err(|error| corrupt(error.to_string()))?;
        self.calibration
            .check()
            .map_err(|what| corrupt(what.to_owned()))?;
        let count = self.segments.len();
        let least = usize::from(self.changes.is_none());
        if !(least..=MAX_SEGMENTS as usize).contains(&count) {
            return Err(corrupt(format!(
                "{count} segments, there may be {least} to {MAX_SEGMENTS}"
            )));
        }
        let mut rows = 0u32;
        for segment in &self.segments {
            segment.check()?;
            if segment.first_row != rows {
                let first = segment.first_row;
                return Err(corrupt(format!(
                    "a segment begins with row {first}, those before it end with row {rows}"
                )));
            }
            let end = rows.checked_add(segment.node_count);
            rows = end
                .filter(|rows| *rows < u32::MAX)
                .ok_or_else(|| corrupt("more rows than an index can have".to_owned()))?;
        }
        self.check_alike()
    }

    /// Segments are searched as one: over vectors of one shape, which each keeps, in pages of one
    /// size, each in files of its own.
    fn check_alike(&self) -> Result<()> {
        let alike = self.segments.iter().all(|segment| {
            let (own, whole) = (&segment.spec, &self.spec);
            own.shape.keeps(whole.shape) && own.layout.page_bytes == whole.layout.page_bytes
        });
        if !alike {
            let what = "segments of different vectors, metrics or pages";
            return Err(corrupt(what.to_owned()));
        }
        let mut named: HashMap<&str, &FileEntry> = HashMap::new();
        for file in self.all_files() {
            let other = named.insert(&file.name, file);
            let is_shared = FileKind::of(file.kind).is_some_and(FileKind::is_shared);
            if other.is_some_and(|other| !is_shared || other != file) {
                return Err(corrupt(format!("{} is listed twice", file.name)));
            }
        }
        Ok(())
    }
}

pub(super) fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, format!("manifest: {what}"))
}
