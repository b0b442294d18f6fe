//! What an index is, for `inspect`: read off the manifest alone.

use std::path::Path;

use pageway_attributes::Schema;
use pageway_store::{FileEntry, OpenMode, OsVfs, Vfs};
use serde::Serialize;

use super::Index;
use crate::calibration::Calibration;
use crate::error::Result;
use crate::execution::Segment;
use crate::manifest::{Manifest, SegmentEntry};
use crate::resolve;
use crate::segment::SegmentDescription;
use crate::spec::IndexSpec;

/// A file of an index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct FileDescription {
    /// Name inside the index directory.
    pub name: String,
    /// Pages, the header page not counted.
    pub pages: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// A segment of an index that is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct SegmentState {
    /// Rows that it was made of.
    pub rows: u64,
    /// Those of them that were deleted or replaced since.
    pub dead: u64,
    /// Versions of the index since it was made.
    pub age: u64,
}

impl Index {
    /// Its segments as they are now, in the order of their rows. Reads nothing.
    pub fn segments(&self) -> Vec<SegmentState> {
        let version = self.version();
        let manifest = &version.manifest;
        let of_segment = |(segment, entry): (&Segment, &SegmentEntry)| SegmentState {
            rows: entry.node_count.into(),
            dead: segment.dead.as_ref().map_or(0, |dead| dead.len().into()),
            age: manifest.generation.saturating_sub(entry.made_in()),
        };
        let both = version.segments.iter().zip(&manifest.segments);
        both.map(of_segment).collect()
    }
}

/// What an index is.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Description {
    /// Builds in this directory so far.
    pub generation: u64,
    /// Program and version that wrote it.
    pub created_by: String,
    /// Its design.
    pub spec: IndexSpec,
    /// Vectors.
    pub nodes: u64,
    /// Bytes of the raw vectors.
    pub raw_bytes: u64,
    /// Bytes on disk, manifest not counted.
    pub index_bytes: u64,
    /// Mean length of adjacency lists.
    pub mean_degree: f64,
    /// Longest adjacency list there is.
    pub max_degree: u32,
    /// Partitions the graph was built in.
    pub shards: u32,
    /// Node where walks start.
    pub entry: Vec<u32>,
    /// Nodes whose adjacency lists share a page.
    pub nodes_per_page: u32,
    /// Vectors that share a page, where vectors have pages of their own.
    pub vectors_per_page: u32,
    /// Pages that one read takes, for large vectors.
    pub pages_per_read: u32,
    /// Share of the bytes of record pages that records fill.
    pub page_utilisation: f64,
    /// OR(G): mean share of a page's other nodes that a node of it names; absent where the graph
    /// was built in partitions.
    pub overlap: Option<f64>,
    /// Bytes of all adjacency lists in memory, packed, with what finds them; absent where memory
    /// does not hold lists.
    pub list_memory_bytes: Option<u64>,
    /// Bits that a neighbour takes of them.
    pub list_edge_bits: Option<f64>,
    /// Bytes of all adjacency lists on pages, packed, without room that is left; absent where those
    /// are not packed, or where the nodes of a page share a list.
    pub page_list_bytes: Option<u64>,
    /// Bits that a neighbour takes of them.
    pub page_edge_bits: Option<f64>,
    /// Memory of a search, unless `open` says otherwise.
    pub memory_bytes: u64,
    /// Its files.
    pub files: Vec<FileDescription>,
    /// Files that are not there, or not as long as they should be; none of an open index.
    pub missing: Vec<String>,
    /// Its segments, in the order of their rows.
    pub segments: Vec<SegmentDescription>,
    /// What the values of some fields of attributes must be; null where nobody said.
    pub schema: Option<Schema>,
    /// Recall and cost by list size.
    pub calibration: Calibration,
}

/// Reads the manifest of the index in `dir`, and asks for the lengths of its files.
///
/// # Errors
/// `NotFound`, `Corrupt` or `Incompatible`, as the manifest is.
pub fn describe(dir: &Path) -> Result<Description> {
    describe_on(&OsVfs, dir)
}

/// As [`describe`], on a file system of the caller's.
///
/// # Errors
/// As [`describe`].
pub fn describe_on(vfs: &dyn Vfs, dir: &Path) -> Result<Description> {
    let mut description = Description::of(&Manifest::read(vfs, dir)?)?;
    let is_whole = |file: &&FileDescription| {
        let found = vfs.open(&dir.join(&file.name), OpenMode::Read);
        found
            .and_then(|found| found.len())
            .is_ok_and(|bytes| bytes >= file.bytes)
    };
    let files = description.files.iter();
    let missing = files.filter(|file| !is_whole(file));
    description.missing = missing.map(|file| file.name.clone()).collect();
    Ok(description)
}

impl Index {
    /// What this index is.
    ///
    /// # Errors
    /// `Corrupt` when the manifest contradicts itself.
    pub fn description(&self) -> Result<Description> {
        Description::of(&self.version().manifest)
    }
}

impl Description {
    fn of(manifest: &Manifest) -> Result<Self> {
        let each = manifest.segments.iter();
        let segments: Vec<_> = each.map(SegmentDescription::of).collect::<Result<_>>()?;
        let map = match manifest.segments.first() {
            Some(first) => resolve::segment_codec(first)?.map(),
            None => resolve::codec(&manifest.spec, 1)?.map(),
        };
        let edges = manifest.mean_degree() * f64::from(manifest.node_count());
        let edge_bits = |bytes: u64| bytes as f64 * 8.0 / edges.max(1.0);
        let list_memory_bytes = segments.iter().map(|one| one.list_memory_bytes).sum();
        let page_list_bytes = segments.iter().map(|one| one.page_list_bytes).sum();
        let files = manifest.files().into_iter().map(describe_file);
        Ok(Self {
            generation: manifest.generation,
            created_by: manifest.created_by.clone(),
            spec: manifest.spec.clone(),
            nodes: manifest.node_count().into(),
            raw_bytes: manifest.raw_bytes(),
            index_bytes: manifest.file_bytes()?,
            mean_degree: manifest.mean_degree(),
            max_degree: segments.iter().map(|one| one.max_degree).max().unwrap_or(0),
            shards: segments.iter().map(|one| one.shards).sum(),
            entry: entries(&segments),
            nodes_per_page: map.nodes_per_page,
            vectors_per_page: map.vectors_per_page,
            pages_per_read: map.geometry.span(),
            page_utilisation: mean(&segments, |one| Some(one.page_utilisation)).unwrap_or(0.0),
            overlap: mean(&segments, |one| one.overlap),
            list_memory_bytes,
            list_edge_bits: list_memory_bytes.map(edge_bits),
            page_list_bytes,
            page_edge_bits: page_list_bytes.map(edge_bits),
            memory_bytes: manifest.memory_bytes,
            files: files.collect::<Result<_>>()?,
            calibration: manifest.calibration.clone(),
            missing: Vec::new(),
            schema: manifest.schema.clone(),
            segments,
        })
    }
}

/// The mean over all segments, by their nodes; nothing where one has none.
fn mean(
    segments: &[SegmentDescription],
    value: impl Fn(&SegmentDescription) -> Option<f64>,
) -> Option<f64> {
    let nodes: f64 = segments.iter().map(|one| f64::from(one.nodes)).sum();
    let parts = segments
        .iter()
        .map(|one| Some(value(one)? * (f64::from(one.nodes) / nodes)));
    // A sum of nothing is -0.
    parts.sum::<Option<f64>>().map(|sum| sum + 0.0)
}

/// The entries of all segments, in the numbers of the index.
fn entries(segments: &[SegmentDescription]) -> Vec<u32> {
    let (mut base, mut all) = (0, Vec::new());
    for segment in segments {
        all.extend(segment.entry.iter().map(|node| base + node));
        base += segment.nodes;
    }
    all
}

fn describe_file(file: &FileEntry) -> Result<FileDescription> {
    Ok(FileDescription {
        name: file.name.clone(),
        pages: file.units * u64::from(file.span),
        bytes: file.file_bytes()?,
    })
}
