//! Whether the system has the memory that a budget allows, asked while there is still a way to say
//! no: an allocation that fails later ends the process.

use std::hint::black_box;

use super::format_bytes;
use crate::error::{Error, ErrorKind, Result};

/// Held beside what is accounted for: stacks of threads, small things.
const BESIDE_BYTES: u64 = 8 << 20;

/// Asks for `bytes`, and a little more, at once, and gives them back untouched.
///
/// # Errors
/// `OutOfMemory` where the limits of the process (`ulimit -v`) or the machine refuse.
pub(crate) fn check_room(bytes: u64, purpose: &str) -> Result<()> {
    let wanted = usize::try_from(bytes.saturating_add(BESIDE_BYTES)).unwrap_or(usize::MAX);
    let mut room: Vec<u8> = Vec::new();
    if black_box(&mut room).try_reserve_exact(wanted).is_ok() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::OutOfMemory,
        format!(
            "the system refuses {} for {purpose}: raise the limit of this process (ulimit -v, or \
             that of its container), or give a smaller budget",
            format_bytes(bytes)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_and_what_every_one_has_is_not() {
        check_room(1 << 20, "a test").unwrap();
        for bytes in [u64::MAX, 1 << 62] {
            let error = check_room(bytes, "a test").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            assert!(error.context().contains("a test"), "{error}");
        }
    }
}
