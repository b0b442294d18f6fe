//! Reading a whole file to find its damage.

use std::path::Path;

use super::{AlignedBuffers, FileEntry, PageFile};
use crate::{OpenMode, StoreError, Vfs};

const BATCH_BYTES: usize = 1 << 20;

/// Errors kept per file; further ones are only counted.
const MAX_ERRORS: usize = 16;

/// What a scan found.
#[derive(Debug, Default)]
pub struct FileVerdict {
    /// Units that were read or tried.
    pub units: u64,
    /// Units that could not be read or do not pass their checksum.
    pub damaged: u64,
    /// The first few of the errors.
    pub errors: Vec<StoreError>,
}

impl FileVerdict {
    /// True when nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.damaged == 0
    }

    fn record(&mut self, error: StoreError) {
        self.damaged += 1;
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }
}

/// Reads every unit of a file in sequence, 1 MiB at a time, and checks it. `Err` means that the
/// file as a whole is unusable: missing, of another length, or with a bad header.
pub fn verify_file(
    vfs: &dyn Vfs,
    dir: &Path,
    entry: &FileEntry,
) -> Result<FileVerdict, StoreError> {
    verify_units(vfs, dir, entry, &|_| true)
}

/// As [`verify_file`], of the units that `counts` holds of: others are read and may be anything.
pub fn verify_units(
    vfs: &dyn Vfs,
    dir: &Path,
    entry: &FileEntry,
    counts: &dyn Fn(u64) -> bool,
) -> Result<FileVerdict, StoreError> {
    let file = PageFile::open(vfs, dir, entry, OpenMode::ReadOwn)?;
    let unit_bytes = file.geometry().unit_bytes();
    let most = (BATCH_BYTES / unit_bytes) as u64;
    let mut batch = AlignedBuffers::new(file.units().min(most) as usize, unit_bytes)
        .map_err(|error| StoreError::io(file.path(), "allocate", error))?;
    let mut verdict = FileVerdict::default();
    while verdict.units < file.units() {
        let left = usize::try_from(file.units() - verdict.units).unwrap_or(usize::MAX);
        let count = batch.count().min(left);
        verify_batch(&file, (&mut batch, count), counts, &mut verdict);
    }
    Ok(verdict)
}

/// Reads `count` units at once; when that fails, one by one, so that one bad unit hides no other.
fn verify_batch(
    file: &PageFile,
    (batch, count): (&mut AlignedBuffers, usize),
    counts: &dyn Fn(u64) -> bool,
    verdict: &mut FileVerdict,
) {
    let first = verdict.units;
    let together = file.read_units(first, batch.get_many_mut(0, count)).is_ok();
    for at in 0..count {
        let unit = first + at as u64;
        let read = if together {
            Ok(())
        } else {
            file.read_units(unit, batch.get_mut(at))
        };
        let checked = read.and_then(|()| file.verify_unit(unit, batch.get(at)).map(|_| ()));
        if let Err(error) = checked
            && counts(unit)
        {
            verdict.record(error);
        }
        verdict.units += 1;
    }
}
