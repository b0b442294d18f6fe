//! Verifying the files of an index: every byte against its checksum, then every record, list and
//! code against the manifest.

use std::path::Path;

use pageway_store::{FileEntry, OpenMode, Vfs};
use pageway_types::Progress;

use crate::error::Result;
use crate::manifest::{Manifest, SegmentEntry};
use crate::resolve::{self, Source};
use crate::segment::{VerifyReport, verify_checksums, verify_contents};

/// Pages of a file that are read from a journal.
fn in_journal(
    (vfs, dir): (&dyn Vfs, &Path),
    manifest: &Manifest,
    entry: &FileEntry,
) -> Result<Vec<u32>> {
    let mut segments = manifest.segments.iter();
    let is_own = |segment: &&SegmentEntry| segment.files.records.name == entry.name;
    match segments.find(is_own) {
        Some(segment) if segment.files.has_journal() => {
            let source = Source { vfs, dir, segment };
            let pages = resolve::record_pages(source, OpenMode::ReadOwn)?;
            Ok(pages.records.shadow().pages().to_vec())
        }
        _ => Ok(Vec::new()),
    }
}

/// Reads all files that a manifest names, and checks them one by one.
///
/// # Errors
/// `Cancelled` alone; damage is in the report.
pub(crate) fn verify_files(
    (vfs, dir): (&dyn Vfs, &Path),
    manifest: &Manifest,
    progress: &dyn Progress,
) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let files = manifest.files();
    progress.stage(
        "verify checksums",
        files.iter().map(|file| file.units).sum(),
    );
    for entry in files {
        progress.check()?;
        let in_journal = report.take(in_journal((vfs, dir), manifest, entry))?;
        let in_journal = in_journal.unwrap_or_default();
        verify_checksums((vfs, dir), (entry, &in_journal), &mut report)?;
        progress.advance(entry.units);
    }
    if report.is_sound() {
        for segment in &manifest.segments {
            verify_contents(Source { vfs, dir, segment }, &mut report, progress)?;
        }
    }
    Ok(report)
}
