//! Reading a range to its end, also when the file wants aligned requests.

use std::io;

use crate::VfsFile;
use crate::page::ALIGNMENT;

/// Reads that bring no progress before a direct read is given up.
const MAX_STALLS: u32 = 8;

/// Fills `bytes` from `offset`. Repeats interrupted reads; goes on after short ones, from an
/// aligned place when the file is direct. `UnexpectedEof` when the file ends before.
pub(crate) fn read_fully(file: &dyn VfsFile, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    if !file.direct() {
        return file.read_exact_at(bytes, offset);
    }
    let mut done = 0;
    let mut stalls = 0;
    while done < bytes.len() {
        let rest = bytes.get_mut(done..).unwrap_or_default();
        match file.read_at(rest, offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) if read == rest.len() => return Ok(()),
            Ok(read) if read >= ALIGNMENT => done += read / ALIGNMENT * ALIGNMENT,
            Ok(_) if stalls < MAX_STALLS => stalls += 1,
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
