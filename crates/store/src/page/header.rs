//! The header page. Format: `docs/format/page.md`.
#![expect(
    clippy::indexing_slicing,
    reason = "constant offsets in a page of at least 4096 bytes"
)]

use std::path::Path;

use super::{FileUuid, PageGeometry};
use crate::StoreError;
use crate::frame::{self, Frame, check_zero, corrupt, u32_at, u64_at};

/// Version of the page file format that this build writes, and the newest it reads.
pub const PAGE_FORMAT_VERSION: u32 = 1;

const FRAME: Frame = Frame {
    magic: *b"\x8dPWP\r\n\x1a\n",
    version: PAGE_FORMAT_VERSION,
    oldest: 1,
    foreign: "not a page file",
};

const KIND: usize = frame::FIELDS;
const RESERVED_LOW: usize = 14;
const UUID: usize = 16;
const PAGE_BYTES: usize = 32;
const SPAN: usize = 36;
const UNITS: usize = 40;
const PAYLOAD_BYTES: usize = 48;
const RESERVED_HIGH: usize = 56;

const _: () = assert!(PAYLOAD_BYTES + 8 == RESERVED_HIGH && RESERVED_HIGH < frame::CRC);

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
        page[KIND..RESERVED_LOW].copy_from_slice(&self.kind.to_le_bytes());
        page[UUID..PAGE_BYTES].copy_from_slice(&self.uuid.0);
        page[PAGE_BYTES..SPAN].copy_from_slice(&self.geometry.page_bytes().to_le_bytes());
        page[SPAN..UNITS].copy_from_slice(&self.geometry.span().to_le_bytes());
        page[UNITS..PAYLOAD_BYTES].copy_from_slice(&self.units.to_le_bytes());
        page[PAYLOAD_BYTES..RESERVED_HIGH].copy_from_slice(&self.payload_bytes.to_le_bytes());
        FRAME.seal(&mut page);
        page
    }

    /// Parses a whole page.
    pub(super) fn decode(path: &Path, page: &[u8]) -> Result<Self, StoreError> {
        FRAME.check(path, page)?;
        check_zero(path, page, RESERVED_LOW..UUID)?;
        check_zero(path, page, RESERVED_HIGH..frame::CRC)?;
        let (page_bytes, span) = (u32_at(page, PAGE_BYTES), u32_at(page, SPAN));
        let geometry = PageGeometry::new(page_bytes, span).map_err(|_| {
            corrupt(
                path,
                PAGE_BYTES,
                "page size or span",
                page.len() as u64,
                page_bytes.into(),
            )
        })?;
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

    #[test]
    fn bytes_are_the_documented_ones() {
        let page = header().encode();
        assert_eq!(page.len(), 4096);
        assert_eq!(page[..16], *b"\x8dPWP\r\n\x1a\n\x01\0\0\0\x01\x02\0\0");
        assert_eq!(page[16..32], [0xab; 16]);
        assert_eq!(
            page[32..48],
            [0, 16, 0, 0, 3, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0]
        );
        assert_eq!(page[48..60], [77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
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
        for at in [RESERVED_LOW, 15, PAGE_BYTES, SPAN + 3, RESERVED_HIGH, 59] {
            let mut page = header().encode();
            page[at] ^= 1;
            FRAME.seal(&mut page);
            assert!(
                matches!(decode(&page), Err(StoreError::Corrupt { .. })),
                "byte {at}"
            );
        }
    }
}
