//! What header pages and manifests have in common: the first 64 bytes frame the rest.
//!
//! ```text
//! 0 magic (8)   8 version (4)   12 the format's own fields   60 CRC-32C (4)   64 the rest
//! ```
//!
//! These places are the same in all versions, so a newer file is told from a damaged one. The
//! checksum covers every byte but its own four.
#![expect(
    clippy::indexing_slicing,
    reason = "constant offsets in bytes of checked length"
)]

use std::ops::Range;
use std::path::Path;

use crc32c::{crc32c, crc32c_append};

use crate::StoreError;

/// Bytes of the frame.
pub(crate) const FRAME_BYTES: usize = 64;

pub(crate) const VERSION: usize = 8;
pub(crate) const FIELDS: usize = 12;
pub(crate) const CRC: usize = 60;

const _: () = assert!(CRC + 4 == FRAME_BYTES);

/// A format that is framed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// High bit, name, CR LF, end-of-text, LF: transfers that are not binary-safe break it visibly.
    pub(crate) magic: [u8; 8],
    /// Version that is written, and the newest that is read.
    pub(crate) version: u32,
    /// Oldest version that is read.
    pub(crate) oldest: u32,
    /// Said of a file with another magic.
    pub(crate) foreign: &'static str,
}

impl Frame {
    /// Fills in magic, version and checksum of bytes whose fields are in place.
    pub(crate) fn seal(&self, bytes: &mut [u8]) {
        bytes[..VERSION].copy_from_slice(&self.magic);
        bytes[VERSION..FIELDS].copy_from_slice(&self.version.to_le_bytes());
        let crc = checksum(bytes);
        bytes[CRC..FRAME_BYTES].copy_from_slice(&crc.to_le_bytes());
    }

    /// Passes bytes that were sealed by a version that is read and not changed since.
    pub(crate) fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.len() < FRAME_BYTES {
            let found = bytes.len() as u64;
            return Err(corrupt(path, 0, "header length", FRAME_BYTES as u64, found));
        }
        if bytes[..VERSION] != self.magic {
            let (expected, found) = (u64::from_le_bytes(self.magic), u64_at(bytes, 0));
            return Err(corrupt(path, 0, self.foreign, expected, found));
        }
        let (expected, found) = (u64::from(u32_at(bytes, CRC)), u64::from(checksum(bytes)));
        if expected != found {
            return Err(corrupt(path, CRC, "header checksum", expected, found));
        }
        match u32_at(bytes, VERSION) {
            0 => Err(corrupt(
                path,
                VERSION,
                "format version",
                u64::from(self.version),
                0,
            )),
            found if (self.oldest..=self.version).contains(&found) => Ok(()),
            found => Err(StoreError::Incompatible {
                path: path.to_path_buf(),
                found,
                oldest: self.oldest,
                newest: self.version,
            }),
        }
    }
}

/// Passes reserved bytes, which a writer leaves zero so that a later version can give them meaning.
pub(crate) fn check_zero(path: &Path, bytes: &[u8], at: Range<usize>) -> Result<(), StoreError> {
    match bytes[at.clone()].iter().find(|&&byte| byte != 0) {
        Some(&byte) => Err(corrupt(
            path,
            at.start,
            "reserved bytes",
            0,
            u64::from(byte),
        )),
        None => Ok(()),
    }
}

/// Damage of a header.
pub(crate) fn corrupt(
    path: &Path,
    offset: usize,
    what: &'static str,
    expected: u64,
    found: u64,
) -> StoreError {
    let (path, offset) = (path.to_path_buf(), offset as u64);
    StoreError::Corrupt {
        path,
        page: None,
        offset,
        what,
        expected,
        found,
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn checksum(bytes: &[u8]) -> u32 {
    crc32c_append(crc32c(&bytes[..CRC]), &bytes[FRAME_BYTES..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        magic: *b"\x8dtest\r\n\n",
        version: 3,
        oldest: 2,
        foreign: "not a test",
    };

    fn check(bytes: &[u8]) -> Result<(), StoreError> {
        FRAME.check(Path::new("x"), bytes)
    }

    fn sealed_as(version: u32) -> Vec<u8> {
        let mut bytes = vec![7; 100];
        Frame { version, ..FRAME }.seal(&mut bytes);
        bytes
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_damage() {
        let mut bytes = sealed_as(3);
        check(&bytes).unwrap();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(
                matches!(check(&bytes), Err(StoreError::Corrupt { .. })),
                "bit {bit}"
            );
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..bytes.len() {
            assert!(matches!(
                check(&bytes[..length]),
                Err(StoreError::Corrupt { .. })
            ));
        }
    }

    #[test]
    fn versions_that_are_not_read_are_refused_by_number() {
        check(&sealed_as(2)).unwrap();
        assert!(matches!(
            check(&sealed_as(0)),
            Err(StoreError::Corrupt { .. })
        ));
        for version in [1, 4] {
            let refused = check(&sealed_as(version)).unwrap_err();
            assert!(matches!(
                refused,
                StoreError::Incompatible {
                    found,
                    oldest: 2,
                    newest: 3,
                    ..
                } if found == version
            ));
        }
    }

    #[test]
    fn numbers_are_little_endian() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(u32_at(&bytes, 1), 0x0504_0302);
        assert_eq!(u64_at(&bytes, 1), 0x0908_0706_0504_0302);
    }
}
