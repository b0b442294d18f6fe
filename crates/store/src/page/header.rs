//! The header page. Format: `docs/format/page.md`.
#![expect(
    clippy::indexing_slicing,
    reason = "constant offsets in a page of at least 4096 bytes"
)]

use std::path::Path;

use crc32c::{crc32c, crc32c_append};

use super::{FileUuid, PageGeometry};
use crate::StoreError;

/// Version of the page file format that this build writes, and the newest it reads.
pub const PAGE_FORMAT_VERSION: u32 = 1;

/// High bit, name, CR LF, end-of-text, LF: transfers that are not binary-safe break it visibly.
const MAGIC: [u8; 8] = *b"\x8dPWP\r\n\x1a\n";

const VERSION: usize = 8;
const KIND: usize = 12;
const RESERVED: usize = 14;
const UUID: usize = 16;
const PAGE_BYTES: usize = 32;
const SPAN: usize = 36;
const UNITS: usize = 40;
const PAYLOAD_BYTES: usize = 48;
const CRC: usize = 60;
const END: usize = 64;

const _: () = assert!(PAYLOAD_BYTES + 8 <= CRC && CRC + 4 == END && END <= 4096);

/// What page 0 says about its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileHeader {
    pub(super) kind: u16,
    pub(super) uuid: FileUuid,
    pub(super) geometry: PageGeometry,
    pub(super) units: u64,
    pub(super) payload_bytes: u64,
}

impl FileHeader {
    /// One page.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut page = vec![0; self.geometry.page_bytes() as usize];
        page[..VERSION].copy_from_slice(&MAGIC);
        page[VERSION..KIND].copy_from_slice(&PAGE_FORMAT_VERSION.to_le_bytes());
        page[KIND..RESERVED].copy_from_slice(&self.kind.to_le_bytes());
        page[UUID..PAGE_BYTES].copy_from_slice(&self.uuid.0);
        page[PAGE_BYTES..SPAN].copy_from_slice(&self.geometry.page_bytes().to_le_bytes());
        page[SPAN..UNITS].copy_from_slice(&self.geometry.span().to_le_bytes());
        page[UNITS..PAYLOAD_BYTES].copy_from_slice(&self.units.to_le_bytes());
        page[PAYLOAD_BYTES..PAYLOAD_BYTES + 8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        let crc = checksum(&page);
        page[CRC..END].copy_from_slice(&crc.to_le_bytes());
        page
    }

    /// Parses a page of at least 4096 bytes. Magic, version and checksum keep their places in all
    /// versions, so a newer file is told from a damaged one.
    pub(super) fn decode(path: &Path, page: &[u8]) -> Result<Self, StoreError> {
        let corrupt = |offset: usize, what, expected, found| {
            let (path, offset) = (path.to_path_buf(), offset as u64);
            Err(StoreError::Corrupt {
                path,
                page: None,
                offset,
                what,
                expected,
                found,
            })
        };
        if page[..VERSION] != MAGIC {
            let (expected, found) = (u64::from_le_bytes(MAGIC), u64_at(page, 0));
            return corrupt(0, "not a page file", expected, found);
        }
        let (stored, crc) = (u32_at(page, CRC), checksum(page));
        if stored != crc {
            return corrupt(CRC, "header checksum", u64::from(stored), u64::from(crc));
        }
        let version = u32_at(page, VERSION);
        if version > PAGE_FORMAT_VERSION {
            let (path, supported) = (path.to_path_buf(), PAGE_FORMAT_VERSION);
            return Err(StoreError::Incompatible {
                path,
                found: version,
                supported,
            });
        }
        let clear = |range: std::ops::Range<usize>| page[range].iter().all(|&byte| byte == 0);
        if version == 0 || !clear(RESERVED..UUID) || !clear(PAYLOAD_BYTES + 8..CRC) {
            return corrupt(VERSION, "version or reserved bytes", 1, u64::from(version));
        }
        let Ok(geometry) = PageGeometry::new(u32_at(page, PAGE_BYTES), u32_at(page, SPAN)) else {
            return corrupt(PAGE_BYTES, "page geometry", 4096, u64_at(page, PAGE_BYTES));
        };
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&page[UUID..PAGE_BYTES]);
        Ok(Self {
            kind: u16::from_le_bytes([page[KIND], page[KIND + 1]]),
            uuid: FileUuid(uuid),
            geometry,
            units: u64_at(page, UNITS),
            payload_bytes: u64_at(page, PAYLOAD_BYTES),
        })
    }
}

/// CRC-32C of the page without the four bytes that hold it.
fn checksum(page: &[u8]) -> u32 {
    crc32c_append(crc32c(&page[..CRC]), &page[END..])
}

fn u32_at(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

fn u64_at(page: &[u8], at: usize) -> u64 {
    u64::from(u32_at(page, at)) | u64::from(u32_at(page, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> FileHeader {
        FileHeader {
            kind: 513,
            uuid: FileUuid([0xab; 16]),
            geometry: PageGeometry::new(4096, 3).unwrap(),
            units: 1 << 31,
            payload_bytes: 77,
        }
    }

    fn decode(page: &[u8]) -> Result<FileHeader, StoreError> {
        FileHeader::decode(Path::new("x.pw"), page)
    }

    fn resealed(mut page: Vec<u8>) -> Vec<u8> {
        let crc = checksum(&page);
        page[CRC..END].copy_from_slice(&crc.to_le_bytes());
        page
    }

    #[test]
    fn round_trips() {
        assert_eq!(decode(&header().encode()).unwrap(), header());
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut page = header().encode();
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            let found = matches!(decode(&page), Err(StoreError::Corrupt { .. }));
            assert!(found, "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn newer_versions_are_refused_by_name_and_reserved_bytes_must_be_zero() {
        let mut page = header().encode();
        page[VERSION] = 2;
        let newer = decode(&resealed(page.clone()));
        assert!(matches!(
            newer,
            Err(StoreError::Incompatible {
                found: 2,
                supported: 1,
                ..
            })
        ));
        page[VERSION] = 0;
        assert!(matches!(
            decode(&resealed(page)),
            Err(StoreError::Corrupt { .. })
        ));
        for at in [RESERVED, 56, 59, PAGE_BYTES] {
            let mut page = header().encode();
            page[at] ^= 1;
            assert!(decode(&resealed(page)).is_err(), "byte {at}");
        }
    }
}
