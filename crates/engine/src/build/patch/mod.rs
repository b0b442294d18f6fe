//! Rows put into a segment that is there, whose nodes stay where they are: after OdinANN (Guo and
//! Lu, 2026), whose updates go out of place.
//!
//! ```text
//! codes   of the new rows, by the quantizer that there is
//! lists   a graph over the new rows, and a search of the segment for each: pruned together
//! edges   back from each of those neighbours, by node; and what becomes of those to the dead
//! pages   bytes that change of those that there are, and images of those of new nodes; of all that
//!         changed, now and then; or all of them, to a file of their own, where too much of what
//!         lies on disk would be of no use
//! others  codes and ids that came, the dead; what finds entries stays
//! ```
//! New nodes are numbered behind those that there are. Dead nodes lead on, and stay in old lists
//! until all pages are written, when their neighbours take their places. No new list has one.

mod all_codes;
mod beside;
mod draft;
mod edges;
mod known;
mod lists;
mod overwrite;
mod pages;
mod plan;
mod repair;
mod rows;
mod writing;

use std::path::Path;
use std::sync::Arc;

use pageway_store::{BlobWriter, PageGeometry, Vfs};
use pageway_types::{NodeId, Progress};

use super::addition::{Added, AdditionLimits};
use super::codes::{Encoding, encode_rows};
use super::link::BaseSearch;
use super::order::NodeOrder;
use super::rewrite::REWRITE_BYTES;
use super::workspace::Workspace;
use crate::delta::KnownList;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::{AnyParts, CodePart, DeadSet, LoadedSegment, Parts};
use crate::layout::{PageCodec, RecordCodec};
use crate::manifest::{AdditionFiles, CodeError, FileKind, PatchEntry, SegmentEntry};
use crate::plan::least_memory;
use crate::resolve::Source;
use crate::segment::{write_dead_set, write_repaired_set};
use crate::source::{ResidentSlice, VectorSlice};
use crate::spec::{IndexSpec, QuantizerSpec};
use crate::threads::thread_pool;
use all_codes::AllCodes;
use pages::{PageFiles, WrittenPages};

pub(crate) use overwrite::overwrite;

/// What pages that are worked on take, and blocks of rows with the nodes that are found for them.
const PATCH_BYTES: u64 = 16 << 20;

/// Rows for a segment, in memory, with their ids.
pub(crate) struct SegmentPatch<'p> {
    pub(crate) vfs: &'p Arc<dyn Vfs>,
    pub(crate) dir: &'p Path,
    /// Number of the build in its directory: part of the names of its files.
    pub(crate) generation: u64,
    /// The segment, as the manifest has it, and as it is open.
    pub(crate) base: &'p SegmentEntry,
    pub(crate) open: &'p LoadedSegment,
    /// Its nodes that are dead.
    pub(crate) dead: &'p DeadSet,
    /// Raw rows.
    pub(crate) rows: &'p [u8],
    pub(crate) ids: &'p [u64],
    /// What was found for each row, if anything.
    pub(crate) known: &'p [KnownList],
    pub(crate) limits: AdditionLimits,
    pub(crate) progress: &'p dyn Progress,
}

/// What it takes to put so many rows into a segment of so many nodes, beside the rows.
///
/// # Errors
/// Those of a design that cannot be searched.
pub(crate) fn patch_bytes(spec: &IndexSpec, (rows, nodes): (u32, u32)) -> Result<u64> {
    let degree = u64::from(spec.graph.max_degree());
    let each = u64::from(spec.storage.quantizer.code_bytes()) + 8 + 6 * 4 * degree;
    let searching = least_memory(spec, nodes)?.reserved() + REWRITE_BYTES;
    Ok(searching + u64::from(rows) * each + PATCH_BYTES)
}

impl SegmentPatch<'_> {
    /// Writes the files of the segment with the rows.
    ///
    /// # Errors
    /// `NoSpace` before anything is written, `Unsupported` for a design that is not patched,
    /// `Cancelled`, and as files are read and written.
    pub(crate) fn write(&self) -> Result<Added> {
        let parts = self.parts()?;
        let count = self.total()?;
        let workspace = Workspace::of_writer(self.vfs, self.dir, self.generation);
        workspace.check_space(self.disk_bytes()?, 0)?;
        let pool = thread_pool(self.limits.threads.max(1))?;
        let codes = self.codes(&parts.codes, &pool)?;
        let stored = (self.base, self.base.spec.shape.element);
        let search = BaseSearch::open(&workspace, stored, pool.current_num_threads())?;
        let coded = (parts, AllCodes::new(self.base.node_count, &codes));
        let mut lists = self.lists(coded, &search, &pool)?;
        let changes = self.changes(parts, &search, &lists)?;
        let mut entry = self.base.clone();
        entry.entry = self.entries(parts, &search)?;
        drop(search);
        let written = self.pages(coded, &mut lists, &changes)?;
        drop((lists, changes));
        entry.node_count = count;
        entry.code_error = self.code_error(parts, &pool)?;
        let second = parts.second.as_ref();
        let second = second.map(|part| self.codes(part, &pool)).transpose()?;
        self.take(written, &mut entry);
        self.write_beside(&mut entry, (&codes, second.as_deref()))?;
        self.write_dead(&mut entry)?;
        Ok(Added {
            written_bytes: entry.files.bytes_of(self.generation)?,
            entry,
            calibration: None,
            temporary_bytes: 0,
            came: self.ids.len() as u32,
        })
    }

    /// Writes who is dead, and that the edges to all of them were repaired, where they are one by
    /// one.
    fn write_dead(&self, entry: &mut SegmentEntry) -> Result<()> {
        let all = DeadSet::of_words(entry.node_count, self.dead.words());
        let place = (self.vfs.as_ref(), self.dir);
        let name = (self.generation, None);
        entry.files.dead = Some(write_dead_set(place, entry, &all, name)?);
        if !entry.spec.repair.is_sweep() {
            entry.files.repaired = Some(write_repaired_set(place, entry, &all, name)?);
        }
        Ok(())
    }

    /// Codes of the new rows.
    fn codes(&self, part: &CodePart, pool: &rayon::ThreadPool) -> Result<Vec<u8>> {
        let quantizer = part.quantizer.as_ref();
        let mut codes = vec![0; self.ids.len() * quantizer.code_bytes()];
        let shape = self.base.spec.shape.vectors();
        encode_rows((quantizer, shape), self.rows, &mut codes, pool)?;
        Ok(codes)
    }

    /// How the pages are laid out with the new nodes.
    fn codec(&self) -> Result<RecordCodec> {
        let codec = RecordCodec::new(&self.base.spec, self.total()?)?;
        Ok(codec.grown_from(self.base.built()))
    }

    fn parts(&self) -> Result<&Parts<RecordCodec>> {
        match &self.open.parts {
            AnyParts::Record(parts) if self.base.spec.patches_pages() => Ok(parts),
            AnyParts::Record(_) | AnyParts::PageNode(_) => Err(Error::new(
                ErrorKind::Unsupported,
                "pages of this design are not patched",
            )),
        }
    }

    /// Nodes with the new ones.
    fn total(&self) -> Result<u32> {
        let new = u32::try_from(self.ids.len()).ok();
        let all = new.and_then(|new| self.base.node_count.checked_add(new));
        all.filter(|all| *all < u32::MAX)
            .ok_or_else(|| Error::invalid("more rows than an index can have"))
    }

    /// The row of a new node.
    fn row(&self, at: usize) -> &[u8] {
        let row_bytes = self.base.spec.shape.vectors().row_bytes();
        let row = self.rows.get(at * row_bytes..(at + 1) * row_bytes);
        row.unwrap_or_default()
    }

    /// What it may write, at most.
    fn disk_bytes(&self) -> Result<u64> {
        let (map, count) = (self.codec()?.map(), self.total()?);
        let storage = &self.base.spec.storage;
        let second = storage.second_codes_in_memory();
        let second = second.map_or(0, QuantizerSpec::code_bytes);
        let each = u64::from(storage.quantizer.code_bytes() + second) + 13;
        let pages = u64::from(map.page_count()) + 8;
        Ok(pages * map.geometry.unit_bytes() as u64 + u64::from(count) * each)
    }

    fn blob(&self, kind: FileKind) -> Result<BlobWriter> {
        let path = self.dir.join(kind.file_name(self.generation, None));
        let geometry = PageGeometry::new(self.base.spec.layout.page_bytes, 1)?;
        let uuid = kind.uuid_beside(self.base.files.identity(), self.generation);
        let vfs = self.vfs.as_ref();
        Ok(BlobWriter::create(vfs, &path, kind as u16, geometry, uuid)?)
    }

    /// The error of the codes of all rows, those of the new ones looked at.
    fn code_error(
        &self,
        parts: &Parts<RecordCodec>,
        pool: &rayon::ThreadPool,
    ) -> Result<Option<CodeError>> {
        let Some(known) = self.base.code_error.filter(|_| !self.ids.is_empty()) else {
            return Ok(self.base.code_error);
        };
        let vectors = VectorSlice::new(self.rows, self.base.spec.shape.vectors())?;
        let encoding = Encoding {
            vectors: &ResidentSlice(vectors),
            order: &NodeOrder::Rows,
            around: None,
            quantizer: &parts.codes.quantizer,
            pool,
        };
        let (old, new) = (f64::from(self.base.node_count), self.ids.len() as f64);
        let own = encoding.error(self.ids.len() as u32)?;
        let own = (known.own * old + own * new) / (old + new);
        Ok(Some(CodeError::measured(own).trained_on(known)))
    }

    fn source(&self) -> Source<'_> {
        Source {
            vfs: self.vfs.as_ref(),
            dir: self.dir,
            segment: self.base,
        }
    }

    /// Puts the pages into the entry of the segment.
    fn take(&self, written: WrittenPages, entry: &mut SegmentEntry) {
        let (old, new) = (f64::from(self.base.node_count), f64::from(entry.node_count));
        let edges = self.base.graph.mean_degree * old + written.edges as f64;
        entry.graph.mean_degree = edges / new;
        entry.graph.max_degree = entry.graph.max_degree.max(written.longest);
        entry.graph.packed_bytes = None;
        let built = self.base.built();
        let mut swept = self.base.patched.map_or(0, |own| own.swept);
        match written.files {
            PageFiles::Whole(records) => {
                entry.files.additions = None;
                (entry.files.records, entry.files.patches) = (records, None);
                entry.files.records.growable = self.base.spec.overwrites_pages();
                entry.files.overwritten = None;
                swept = self.dead.len();
            }
            PageFiles::Changed {
                images,
                differences,
            } => {
                entry.files.patches = images.or_else(|| self.base.files.patches.clone());
                let known = self.base.files.additions.as_ref();
                let known = known.map_or(0, |own| own.written_bytes);
                let written = differences.as_ref().map(|own| known + own.payload_bytes);
                let kind = FileKind::Differences;
                entry.files.additions = Some(AdditionFiles {
                    identity: kind.uuid_beside(self.base.files.identity(), self.generation),
                    differences,
                    codes: None,
                    second_codes: None,
                    ids: None,
                    written_bytes: written.unwrap_or(0),
                });
            }
        }
        // New rows may lie anywhere.
        entry.files.region = None;
        entry.patched = Some(PatchEntry { built, swept });
    }

    /// Whether a node of the segment lives.
    fn lives(&self, node: NodeId) -> bool {
        !self.dead.contains(node)
    }
}
