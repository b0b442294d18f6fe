//! `verify`: every byte against its checksum, then every record, list and code against the
//! manifest.

use std::path::Path;

use pageway_store::{OsVfs, Vfs};
use pageway_types::Progress;

use crate::error::Result;
use crate::manifest::Manifest;
use crate::resolve::Source;
use crate::segment::{VerifyReport, verify_checksums, verify_contents};

/// Reads the whole index in `dir` and checks all of it.
///
/// Costs two sequential passes over the record file and one over the others; holds a few MiB.
///
/// # Errors
/// `NotFound`, `Corrupt` or `Incompatible` for a manifest that cannot be used; damage elsewhere is
/// in the report.
pub fn verify(dir: &Path, progress: &dyn Progress) -> Result<VerifyReport> {
    verify_on(&OsVfs, dir, progress)
}

/// As [`verify`], on a file system of the caller's.
pub fn verify_on(vfs: &dyn Vfs, dir: &Path, progress: &dyn Progress) -> Result<VerifyReport> {
    let manifest = Manifest::read(vfs, dir)?;
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
