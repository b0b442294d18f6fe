//! The header page of a log file, and the checksums that it seeds. Format: `docs/format/log.md`.
#![expect(
    clippy::indexing_slicing,
    reason = "constant offsets in a page of checked length"
)]

use std::path::Path;

use crc32c::{crc32c, crc32c_append};

use super::Lsn;
use crate::frame::{self, Frame, check_zero, corrupt, u32_at, u64_at};
use crate::{FileUuid, StoreError};

/// Version of the log format that this build writes, and the newest it reads.
const LOG_VERSION: u32 = 1;

/// Bytes of the header page; groups begin behind it.
pub(super) const HEADER_BYTES: u64 = 4096;

const FRAME: Frame = Frame {
    magic: *b"\x8dPWL\r\n\x1a\n",
    version: LOG_VERSION,
    oldest: 1,
    foreign: "not a file of a log",
};

const SEQUENCE: usize = frame::FIELDS;
const LOG: usize = 16;
const FIRST: usize = 32;
const CAPACITY: usize = 40;
const CHAIN: usize = 48;
const RESERVED: usize = 52;

const _: () = assert!(RESERVED < frame::CRC);

/// What page 0 says about its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LogHeader {
    /// Identity of the log.
    pub(super) log: FileUuid,
    /// Files of this log that were begun before: no two have the same.
    pub(super) sequence: u32,
    /// Number of the first record.
    pub(super) first: Lsn,
    /// Length that the file was created with; shorter ones were closed and cut.
    pub(super) capacity: u64,
    /// Checksum of the last group with records before this file, 0 where there is none.
    pub(super) chain: u32,
}

impl LogHeader {
    /// One page.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut page = vec![0; HEADER_BYTES as usize];
        page[SEQUENCE..LOG].copy_from_slice(&self.sequence.to_le_bytes());
        page[LOG..FIRST].copy_from_slice(&self.log.0);
        page[FIRST..CAPACITY].copy_from_slice(&self.first.0.to_le_bytes());
        page[CAPACITY..CHAIN].copy_from_slice(&self.capacity.to_le_bytes());
        page[CHAIN..RESERVED].copy_from_slice(&self.chain.to_le_bytes());
        FRAME.seal(&mut page);
        page
    }

    /// Parses a whole page.
    pub(super) fn decode(path: &Path, page: &[u8]) -> Result<Self, StoreError> {
        FRAME.check(path, page)?;
        check_zero(path, page, RESERVED..frame::CRC)?;
        let mut log = [0; 16];
        log.copy_from_slice(&page[LOG..FIRST]);
        let (first, capacity) = (u64_at(page, FIRST), u64_at(page, CAPACITY));
        if first == 0 {
            return Err(corrupt(path, FIRST, "first LSN", 1, 0));
        }
        if capacity < HEADER_BYTES {
            return Err(corrupt(
                path,
                CAPACITY,
                "log file capacity",
                HEADER_BYTES,
                capacity,
            ));
        }
        Ok(Self {
            log: FileUuid(log),
            sequence: u32_at(page, SEQUENCE),
            first: Lsn(first),
            capacity,
            chain: u32_at(page, CHAIN),
        })
    }

    /// What seals the groups of this file.
    pub(super) fn seal(&self) -> GroupSeal {
        let crc = crc32c(&self.log.0);
        let crc = crc32c_append(crc, &self.sequence.to_le_bytes());
        GroupSeal(crc32c_append(crc, &self.first.0.to_le_bytes()))
    }
}

/// Checksums of the groups of one file. Bytes of another file or from another place never pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupSeal(u32);

impl GroupSeal {
    /// The checksum of a group at this offset, of all its bytes but the first four.
    pub(super) fn crc(self, offset: u64, group: &[u8]) -> u32 {
        let crc = crc32c_append(self.0, &offset.to_le_bytes());
        crc32c_append(crc, group.get(4..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> LogHeader {
        LogHeader {
            log: FileUuid([0xab; 16]),
            sequence: 7,
            first: Lsn(0x1_0000_0001),
            capacity: 1 << 24,
            chain: 0xdead_beef,
        }
    }

    fn decode(page: &[u8]) -> Result<LogHeader, StoreError> {
        LogHeader::decode(Path::new("log-0000000100000001.pwl"), page)
    }

    #[test]
    fn bytes_are_the_documented_ones() {
        let page = header().encode();
        assert_eq!(page.len(), 4096);
        assert_eq!(page[..16], *b"\x8dPWL\r\n\x1a\n\x01\0\0\0\x07\0\0\0");
        assert_eq!(page[16..32], [0xab; 16]);
        assert_eq!(page[32..40], [1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(page[40..48], [0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(
            page[48..60],
            [0xef, 0xbe, 0xad, 0xde, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert!(page[64..].iter().all(|&byte| byte == 0));
        assert_eq!(decode(&page).unwrap(), header());
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut page = header().encode();
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(
                matches!(decode(&page), Err(StoreError::Corrupt { .. })),
                "bit {bit}"
            );
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn sealed_nonsense_is_refused() {
        let broken = [
            LogHeader {
                first: Lsn(0),
                ..header()
            },
            LogHeader {
                capacity: 4095,
                ..header()
            },
        ];
        for header in broken {
            assert!(matches!(
                decode(&header.encode()),
                Err(StoreError::Corrupt { .. })
            ));
        }
        let mut page = header().encode();
        page[RESERVED] = 1;
        FRAME.seal(&mut page);
        assert!(decode(&page).is_err());
    }

    #[test]
    fn another_file_or_offset_has_other_checksums() {
        let bytes = [5; 512];
        let crc = header().seal().crc(4096, &bytes);
        assert_ne!(header().seal().crc(4608, &bytes), crc);
        let others = [
            LogHeader {
                sequence: 8,
                ..header()
            },
            LogHeader {
                first: Lsn(1),
                ..header()
            },
            LogHeader {
                log: FileUuid([0; 16]),
                ..header()
            },
        ];
        for other in others {
            assert_ne!(other.seal().crc(4096, &bytes), crc);
        }
    }
}
