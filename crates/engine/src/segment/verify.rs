//! Verifying one segment: every byte against its checksum, then every record, list and code against
//! the manifest.

use std::path::Path;

use pageway_store::{FileEntry, OpenMode, Vfs, verify_units};
use pageway_types::{NodeId, PageId, Progress};
use serde::Serialize;

use super::identity_check::IdentityCheck;
use crate::error::{ErrorKind, Result};
use crate::layout::{PageCodec, PageError, PageView, Record, UnfoldedVector, UnpackedList};
use crate::resolve::{self, AnyCodec, Source};
use crate::storage::{TRANSFER_BYTES, scan};

use super::dead::check_dead;
use super::ids::{ToldIds, check_ids};

/// Problems that are written out; further ones are only counted.
const MAX_PROBLEMS: usize = 100;
/// Pages checked between two looks at cancellation.
const PAGES_PER_STEP: u64 = 4096;

/// A file that was checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// Pages read.
    pub pages: u64,
    /// Bytes on disk, as the manifest says.
    pub bytes: u64,
    /// Units that did not pass.
    pub damaged: u64,
}

/// What `verify` found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Each file.
    pub files: Vec<FileReport>,
    /// Records that were decoded and checked.
    pub records: u64,
    /// Records of the log that are made again when the index is next opened to be changed: each
    /// was read and tried.
    pub log_records: u64,
    /// What is wrong, one sentence each; empty when the index is sound.
    pub problems: Vec<String>,
}

impl VerifyReport {
    /// True when nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    pub(crate) fn note(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Notes an error as a problem.
    ///
    /// # Errors
    /// `Cancelled` alone.
    pub(crate) fn take<T>(&mut self, checked: Result<T>) -> Result<Option<T>> {
        match checked {
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            Err(error) => {
                self.note(error.to_string());
                Ok(None)
            }
            Ok(found) => Ok(Some(found)),
        }
    }
}

/// Checks every page of a file against its checksum, but for those that are only to be read from a
/// journal: they may be torn.
pub(crate) fn verify_checksums(
    (vfs, dir): (&dyn Vfs, &Path),
    (entry, in_journal): (&FileEntry, &[u32]),
    report: &mut VerifyReport,
) -> Result<()> {
    let (pages, bytes) = (entry.units * u64::from(entry.span), entry.file_bytes()?);
    let mut file = FileReport {
        name: entry.name.clone(),
        pages,
        bytes,
        damaged: 0,
    };
    let counts =
        |unit| u32::try_from(unit).is_ok_and(|unit| in_journal.binary_search(&unit).is_err());
    match verify_units(vfs, dir, entry, &counts) {
        Ok(verdict) => {
            file.damaged = verdict.damaged;
            verdict
                .errors
                .iter()
                .for_each(|error| report.note(error.to_string()));
        }
        Err(error) => {
            file.damaged = entry.units;
            report.note(error.to_string());
        }
    }
    report.files.push(file);
    Ok(())
}

/// Checks what the files of a segment say, when their checksums are right.
///
/// # Errors
/// `Cancelled` alone; what is wrong is in the report.
pub(crate) fn verify_contents(
    source: Source<'_>,
    report: &mut VerifyReport,
    progress: &dyn Progress,
) -> Result<()> {
    let ids_told = report.take(check_ids(source))?.flatten();
    let records = verify_records((source, ids_told), report, progress);
    report.take(records)?;
    report.take(resolve::check_side_files(source))?;
    report.take(check_dead(source))?;
    Ok(())
}

/// Decodes every record: degrees and neighbours in range, codes where they must be, identities and
/// vectors that can be.
fn verify_records(
    (source, ids_told): (Source<'_>, Option<ToldIds>),
    report: &mut VerifyReport,
    progress: &dyn Progress,
) -> Result<()> {
    let segment = source.segment;
    let records = resolve::record_pages(source, OpenMode::ReadDirect)?.records;
    let codec = resolve::segment_codec(segment)?;
    let map = codec.map();
    let pages = u64::from(map.page_count());
    if records.shadow().shares_images() {
        report.note(format!(
            "{}: two pages have one image",
            records.path().display()
        ));
    }
    progress.stage("verify records", pages);
    let mut seen = IdentityCheck::new(source, ids_told)?;
    let mut first = 0;
    while first < pages {
        progress.check()?;
        let end = pages.min(first + PAGES_PER_STEP);
        let own = (first..end, TRANSFER_BYTES);
        scan(&records, own, &mut |page, payload| {
            let place = (page, payload);
            let problems = match &codec {
                AnyCodec::Record(codec) => check_page(codec, source, place, &mut seen),
                AnyCodec::PageNode(codec) => check_page(codec, source, place, &mut seen),
            }?;
            for problem in problems {
                report.note(problem);
            }
            if !map.holds_vectors_alone(page) {
                report.records += map.nodes_of(page).len() as u64;
            }
            Ok(())
        })?;
        progress.advance(end - first);
        first = end;
    }
    let mut problems = Vec::new();
    seen.finish(&mut problems);
    for problem in problems {
        report.note(problem);
    }
    Ok(())
}

/// What is wrong with the records of one page.
fn check_page<C: PageCodec>(
    codec: &C,
    source: Source<'_>,
    (page, payload): (PageId, &[u8]),
    seen: &mut IdentityCheck,
) -> std::result::Result<Vec<String>, PageError> {
    let (map, storage) = (codec.map(), &source.segment.spec.storage);
    let mut lists = ListCheck {
        node_count: map.node_count,
        code_bytes: storage.quantizer.code_bytes() as usize,
        in_memory: storage.codes_in_memory(map.node_count),
        unpacked: UnpackedList::new(),
        sorted: Vec::new(),
    };
    let view = codec.view(page, payload)?;
    let mut room = UnfoldedVector::new();
    let mut problems = Vec::new();
    for node in map.nodes_of(page).map(NodeId) {
        if map.holds_vectors_alone(page) {
            seen.vector(node, &view.vector(node, &mut room)?, &mut problems);
            continue;
        }
        let record = view.record(node)?;
        lists.check(&record, &mut problems)?;
        if let Some(part) = &record.vector {
            seen.beside_list(node, part, &mut problems);
        }
    }
    for at in 0..view.replica_count() {
        if let Some(record) = view.replica(at)? {
            lists.check(&record, &mut problems)?;
        }
    }
    Ok(problems)
}

/// What adjacency lists must be.
struct ListCheck {
    node_count: u32,
    code_bytes: usize,
    /// Nodes whose codes memory holds.
    in_memory: u32,
    unpacked: UnpackedList,
    sorted: Vec<u32>,
}

impl ListCheck {
    /// Neighbours exist, are others, are there once, and have codes where they must.
    fn check(
        &mut self,
        record: &Record<'_>,
        problems: &mut Vec<String>,
    ) -> std::result::Result<(), PageError> {
        let node = record.node;
        let (neighbors, _) = record.list.unpack(&mut self.unpacked)?;
        let uncoded = neighbors.len() - neighbors.codes.len() / self.code_bytes;
        self.sorted.clear();
        for (at, neighbor) in neighbors.iter().enumerate() {
            self.sorted.push(neighbor.0);
            if neighbor.0 >= self.node_count || neighbor == node {
                problems.push(format!("node {} lists neighbour {}", node.0, neighbor.0));
            } else if at < uncoded && neighbor.0 >= self.in_memory {
                problems.push(format!(
                    "node {} lists neighbour {} without its code",
                    node.0, neighbor.0
                ));
            }
        }
        self.sorted.sort_unstable();
        if !self.sorted.is_sorted_by(|left, right| left < right) {
            problems.push(format!("node {} lists a neighbour twice", node.0));
        }
        if node.0 >= self.node_count {
            problems.push(format!("a list of node {}, which does not exist", node.0));
        }
        Ok(())
    }
}
