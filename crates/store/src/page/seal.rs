//! Checksums of units.
//!
//! `crc = CRC-32C(uuid, unit as u64, bytes 4.. of the unit)`. Two unit numbers below 2^32 differ in
//! a burst of at most 32 bits, which CRC-32C always tells apart: a misplaced unit never passes.
#![expect(
    clippy::indexing_slicing,
    reason = "units are at least 4096 bytes, checked on entry"
)]

use crc32c::{crc32c, crc32c_append};

use super::{FileUuid, PAGE_HEADER_BYTES, PageGeometry};

/// Seals and checks the units of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitSeal {
    geometry: PageGeometry,
    uuid_crc: u32,
}

/// Why a unit does not pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SealError {
    pub(crate) what: &'static str,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

impl UnitSeal {
    pub(crate) fn new(geometry: PageGeometry, uuid: FileUuid) -> Self {
        Self {
            geometry,
            uuid_crc: crc32c(&uuid.0),
        }
    }

    pub(crate) fn geometry(&self) -> PageGeometry {
        self.geometry
    }

    /// Fills in the header of a unit whose payload is in place.
    pub(crate) fn seal(&self, unit: u64, bytes: &mut [u8]) {
        assert_eq!(
            bytes.len(),
            self.geometry.unit_bytes(),
            "a seal covers a whole unit"
        );
        bytes[4..PAGE_HEADER_BYTES].fill(0);
        let crc = self.crc(unit, bytes);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
    }

    /// The payload of a unit, if the unit is the one that was sealed under this number.
    #[inline]
    pub(crate) fn check<'b>(&self, unit: u64, bytes: &'b [u8]) -> Result<&'b [u8], SealError> {
        if bytes.len() != self.geometry.unit_bytes() {
            let (expected, found) = (self.geometry.unit_bytes() as u64, bytes.len() as u64);
            return Err(SealError {
                what: "unit length",
                expected,
                found,
            });
        }
        let expected = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let found = self.crc(unit, bytes);
        if expected != found {
            let (expected, found) = (u64::from(expected), u64::from(found));
            return Err(SealError {
                what: "unit checksum",
                expected,
                found,
            });
        }
        if bytes[4..PAGE_HEADER_BYTES] != [0; 4] {
            let found = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]).into();
            return Err(SealError {
                what: "reserved bytes of the unit",
                expected: 0,
                found,
            });
        }
        Ok(&bytes[PAGE_HEADER_BYTES..])
    }

    fn crc(&self, unit: u64, bytes: &[u8]) -> u32 {
        crc32c_append(
            crc32c_append(self.uuid_crc, &unit.to_le_bytes()),
            &bytes[4..],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(seal: UnitSeal, unit: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..4096u32).map(|i| (i * 7 % 256) as u8).collect();
        seal.seal(unit, &mut bytes);
        bytes
    }

    fn seal_of(uuid: u8) -> UnitSeal {
        UnitSeal::new(PageGeometry::new(4096, 1).unwrap(), FileUuid([uuid; 16]))
    }

    #[test]
    fn the_checksum_is_the_documented_one() {
        let bytes = sealed(seal_of(1), 5);
        let mut covered = vec![1u8; 16];
        covered.extend(5u64.to_le_bytes());
        covered.extend(&bytes[4..]);
        assert_eq!(bytes[..4], crc32c(&covered).to_le_bytes());
    }

    #[test]
    fn the_example_of_the_format_document_holds() {
        let uuid = FileUuid(std::array::from_fn(|i| i as u8));
        let mut bytes = vec![0; 4096];
        UnitSeal::new(PageGeometry::new(4096, 1).unwrap(), uuid).seal(2, &mut bytes);
        assert_eq!(bytes[..4], [0x50, 0x5d, 0x23, 0xbc]);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let seal = seal_of(1);
        let mut bytes = sealed(seal, 5);
        assert!(seal.check(5, &bytes).is_ok());
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(seal.check(5, &bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn misplaced_foreign_zero_and_cut_units_are_found() {
        let bytes = sealed(seal_of(1), 5);
        for unit in (0..5).chain(6..2000).chain([u64::from(u32::MAX)]) {
            assert!(seal_of(1).check(unit, &bytes).is_err());
        }
        assert!(seal_of(2).check(5, &bytes).is_err());
        assert!(seal_of(1).check(0, &[0; 4096]).is_err());
        assert!(seal_of(1).check(5, &bytes[..4095]).is_err());
        assert!(seal_of(1).check(5, &[]).is_err());
    }
}
