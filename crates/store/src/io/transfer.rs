//! Positional calls that see a range through to its end, also when the file wants them aligned.

use std::io;

use crate::VfsFile;
use crate::page::ALIGNMENT;

/// Calls that bring no progress before a direct transfer is given up.
const MAX_STALLS: u32 = 8;

/// What a request comes to: which call, and where in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Fill the buffer from this byte offset.
    Read(u64),
    /// Write the buffer at this byte offset.
    Write(u64),
    /// Make what was written durable.
    Sync,
}

/// Does the work at once, by the calling thread.
pub(super) fn perform(file: &dyn VfsFile, work: Work, bytes: &mut [u8]) -> io::Result<()> {
    match work {
        Work::Read(offset) => read_fully(file, bytes, offset),
        Work::Write(offset) => write_fully(file, bytes, offset),
        Work::Sync => file.sync_data(),
    }
}

/// Fills `bytes` from `offset`. Repeats interrupted reads; goes on after short ones, from an
/// aligned place when the file is direct. `UnexpectedEof` when the file ends before.
pub(crate) fn read_fully(file: &dyn VfsFile, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    if !file.direct() {
        return file.read_exact_at(bytes, offset);
    }
    transfer(bytes.len(), io::ErrorKind::UnexpectedEof, |done| {
        let rest = bytes.get_mut(done..).unwrap_or_default();
        file.read_at(rest, offset + done as u64)
    })
}

/// Writes all of `bytes` at `offset`, as `read_fully` reads. `WriteZero` when the file takes no
/// more. After an error any part of the range may have changed.
pub(super) fn write_fully(file: &dyn VfsFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    if !file.direct() {
        return file.write_all_at(bytes, offset);
    }
    transfer(bytes.len(), io::ErrorKind::WriteZero, |done| {
        let rest = bytes.get(done..).unwrap_or_default();
        file.write_at(rest, offset + done as u64)
    })
}

/// Calls `step` with the bytes that are done, always a multiple of the alignment, until `length`
/// are. A step says how many it did; `end` is the error when there is no progress.
fn transfer(
    length: usize,
    end: io::ErrorKind,
    mut step: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    let mut stalls = 0;
    while done < length {
        match step(done) {
            Ok(0) => return Err(end.into()),
            Ok(moved) if moved == length - done => return Ok(()),
            Ok(moved) if moved >= ALIGNMENT => done += moved / ALIGNMENT * ALIGNMENT,
            Ok(_) if stalls < MAX_STALLS => stalls += 1,
            Ok(_) => return Err(end.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps by a script; returns the outcome and where each step began.
    fn run(length: usize, script: &[io::Result<usize>]) -> (Result<(), io::ErrorKind>, Vec<usize>) {
        let mut script = script.iter();
        let mut begun = Vec::new();
        let outcome = transfer(length, io::ErrorKind::WriteZero, |done| {
            begun.push(done);
            match script.next() {
                Some(Ok(moved)) => Ok(*moved),
                Some(Err(error)) => Err(error.kind().into()),
                None => Ok(length - done),
            }
        });
        (outcome.map_err(|error| error.kind()), begun)
    }

    #[test]
    fn a_direct_transfer_goes_on_from_an_aligned_place() {
        assert_eq!(run(8192, &[]), (Ok(()), vec![0]));
        assert_eq!(
            run(12288, &[Ok(4608), Ok(512)]),
            (Ok(()), vec![0, 4096, 4096])
        );
        let interrupted = Err(io::ErrorKind::Interrupted.into());
        assert_eq!(run(4096, &[interrupted]), (Ok(()), vec![0, 0]));
    }

    #[test]
    fn a_transfer_without_progress_ends_in_an_error() {
        assert_eq!(run(4096, &[Ok(0)]).0, Err(io::ErrorKind::WriteZero));
        let short: Vec<_> = (0..20).map(|_| Ok(512)).collect();
        let (outcome, begun) = run(4096, &short);
        assert_eq!(outcome, Err(io::ErrorKind::WriteZero));
        assert_eq!(begun.len(), MAX_STALLS as usize + 1);
        let failed = Err(io::ErrorKind::StorageFull.into());
        assert_eq!(
            run(8192, &[Ok(4096), failed]).0,
            Err(io::ErrorKind::StorageFull)
        );
    }
}
