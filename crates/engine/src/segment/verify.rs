//! Verifying one segment: every byte against its checksum, then every record, list and code against
//! the manifest.

use std::path::Path;

use pageway_store::{FileEntry, OpenMode, PageFile, Vfs, verify_file};
use pageway_types::{NodeId, PageId, Progress};
use serde::Serialize;

use crate::error::{ErrorKind, Result};
use crate::layout::{PageCodec, PageError, PageView, Record, UnpackedList};
use crate::resolve::{self, AnyCodec, Source};
use crate::storage::scan;

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
    /// What is wrong, one sentence each; empty when the index is sound.
    pub problems: Vec<String>,
}

impl VerifyReport {
    /// True when nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn note(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// Checks every page of a file against its checksum.
pub(crate) fn verify_checksums(
    (vfs, dir): (&dyn Vfs, &Path),
    entry: &FileEntry,
    report: &mut VerifyReport,
) -> Result<()> {
    let (pages, bytes) = (entry.units * u64::from(entry.span), entry.file_bytes()?);
    let mut file = FileReport {
        name: entry.name.clone(),
        pages,
        bytes,
        damaged: 0,
    };
    match verify_file(vfs, dir, entry) {
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
    let checked =
        verify_records(source, report, progress).and_then(|()| resolve::check_side_files(source));
    match checked {
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        Err(error) => {
            report.note(error.to_string());
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Decodes every record: degrees and neighbours in range, codes where they must be.
fn verify_records(
    source: Source<'_>,
    report: &mut VerifyReport,
    progress: &dyn Progress,
) -> Result<()> {
    let Source { vfs, dir, segment } = source;
    let file = PageFile::open(vfs, dir, &segment.files.records, OpenMode::ReadDirect)?;
    let codec = resolve::codec(&segment.spec, segment.node_count)?;
    let map = codec.map();
    let pages = u64::from(map.page_count());
    if file.units() != pages || file.geometry() != map.geometry {
        report.note(format!(
            "{}: page count or size contradicts the spec",
            file.path().display()
        ));
        return Ok(());
    }
    progress.stage("verify records", pages);
    let mut first = 0;
    while first < pages {
        progress.check()?;
        let end = pages.min(first + PAGES_PER_STEP);
        scan(&file, first..end, &mut |page, payload| {
            let problems = match &codec {
                AnyCodec::Record(codec) => check_page(codec, source, (page, payload)),
                AnyCodec::PageNode(codec) => check_page(codec, source, (page, payload)),
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
    Ok(())
}

/// What is wrong with the records of one page.
fn check_page<C: PageCodec>(
    codec: &C,
    source: Source<'_>,
    (page, payload): (PageId, &[u8]),
) -> std::result::Result<Vec<String>, PageError> {
    let (segment, map) = (source.segment, codec.map());
    let view = codec.view(page, payload)?;
    let mut problems = Vec::new();
    let mut unpacked = UnpackedList::new();
    let mut check = |record: &Record<'_>| {
        let (neighbors, _) = record.list.unpack(&mut unpacked)?;
        let node = record.node;
        let code_bytes = segment.spec.storage.quantizer.code_bytes() as usize;
        let in_memory = segment.spec.storage.codes_in_memory(map.node_count);
        let uncoded = neighbors.len() - neighbors.codes.len() / code_bytes;
        for (at, neighbor) in neighbors.iter().enumerate() {
            if neighbor.0 >= map.node_count || neighbor == node {
                problems.push(format!("node {} lists neighbour {}", node.0, neighbor.0));
            } else if at < uncoded && neighbor.0 >= in_memory {
                problems.push(format!(
                    "node {} lists neighbour {} without its code",
                    node.0, neighbor.0
                ));
            }
        }
        Ok(())
    };
    for node in map.nodes_of(page).map(NodeId) {
        if map.holds_vectors_alone(page) {
            view.vector(node)?;
        } else {
            check(&view.record(node)?)?;
        }
    }
    for at in 0..view.replica_count() {
        if let Some(record) = view.replica(at)? {
            check(&record)?;
        }
    }
    Ok(problems)
}
