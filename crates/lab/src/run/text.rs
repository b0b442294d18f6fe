//! Small texts of the system, and parts of texts.

use std::path::Path;

use pageway::lab::OpenMode;

use crate::files;

/// Most bytes read of a file of `/proc`, which does not tell its length.
const SYSTEM_BYTES: usize = 64 << 10;

/// A small file of the system; none where there is none.
pub(crate) fn read_system(path: &Path) -> Option<String> {
    let file = files::open(path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; SYSTEM_BYTES];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(_) => return None,
        }
    }
    bytes.truncate(length);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last `bytes` of a text, or a few less.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}
