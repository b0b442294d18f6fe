//! Verifying the files of an index: every byte against its checksum, then every record, list and
//! code against the manifest.

use std::path::Path;

use pageway_store::Vfs;
use pageway_types::Progress;

use crate::error::Result;
use crate::manifest::Manifest;
use crate::resolve::Source;
use crate::segment::{VerifyReport, verify_checksums, verify_contents};

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
        verify_checksums((vfs, dir), entry, &mut report)?;
        progress.advance(entry.units);
    }
    if report.is_sound() {
        for segment in &manifest.segments {
            verify_contents(Source { vfs, dir, segment }, &mut report, progress)?;
        }
    }
    Ok(report)
}
