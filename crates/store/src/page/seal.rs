//! Checksums and epochs of units.
//!
//! `crc = CRC-32C(uuid, unit as u64, bytes 4.. of the unit)`. Two unit numbers below 2^32 differ in
//! a burst of at most 32 bits, which CRC-32C always tells apart: a misplaced unit never passes.
//!
//! The older image of a unit that was written over is intact, so its checksum passes: a write that
//! the device lost shows by the epoch alone. Bytes 4 to 7 hold it, 0 until the first rewrite.
#![expect(
    clippy::indexing_slicing,
    reason = "units are at least 4096 bytes, checked on entry"
)]

use std::ops::RangeInclusive;

use crc32c::{crc32c, crc32c_append};

use super::{FileUuid, PAGE_HEADER_BYTES, PageGeometry, crc};

/// Which rule a unit breaks that is intact, but older than it should be.
pub(crate) const LOST_WRITE: &str = "epoch of the unit: a write was lost";

/// Seals and checks the units of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitSeal {
    geometry: PageGeometry,
    uuid_crc: u32,
    /// The newest epoch that the manifest knows of.
    newest: u32,
}

/// Why a unit does not pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SealError {
    pub(crate) what: &'static str,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

impl UnitSeal {
    /// Of a file whose units have epochs from 0 to `newest`: 0 for a file that never changes.
    pub(crate) fn new(geometry: PageGeometry, uuid: FileUuid, newest: u32) -> Self {
        Self {
            geometry,
            uuid_crc: crc32c(&uuid.0),
            newest,
        }
    }

    pub(crate) fn geometry(&self) -> PageGeometry {
        self.geometry
    }

    /// Fills in the header of a unit whose payload is in place.
    pub(crate) fn seal(&self, unit: u64, epoch: u32, bytes: &mut [u8]) {
        assert_eq!(
            bytes.len(),
            self.geometry.unit_bytes(),
            "a seal covers a whole unit"
        );
        bytes[4..PAGE_HEADER_BYTES].copy_from_slice(&epoch.to_le_bytes());
        let crc = self.crc(unit, bytes);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
    }

    /// The payload of a unit, if the unit is the one that was sealed under this number, in an
    /// epoch that the manifest knows of.
    #[inline]
    pub(crate) fn check<'b>(&self, unit: u64, bytes: &'b [u8]) -> Result<&'b [u8], SealError> {
        self.check_epoch(unit, bytes, 0..=self.newest)
    }

    /// As `check`, of a unit whose epoch is known better.
    #[inline]
    pub(crate) fn check_epoch<'b>(
        &self,
        unit: u64,
        bytes: &'b [u8],
        epochs: RangeInclusive<u32>,
    ) -> Result<&'b [u8], SealError> {
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
        let epoch = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        if !epochs.contains(&epoch) {
            let (what, expected) = if epoch < *epochs.start() {
                (LOST_WRITE, *epochs.start())
            } else {
                ("epoch of the unit: newer than any", *epochs.end())
            };
            return Err(SealError {
                what,
                expected: expected.into(),
                found: epoch.into(),
            });
        }
        Ok(&bytes[PAGE_HEADER_BYTES..])
    }

    fn crc(&self, unit: u64, bytes: &[u8]) -> u32 {
        let crc = crc32c_append(self.uuid_crc, &unit.to_le_bytes());
        crc::append(crc, &bytes[4..])
    }
}

/// The epoch in the header of a unit that passed its check; `None` of fewer than 8 bytes.
pub fn unit_epoch(bytes: &[u8]) -> Option<u32> {
    let epoch = bytes.get(4..PAGE_HEADER_BYTES)?;
    epoch.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(seal: UnitSeal, unit: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..4096u32).map(|i| (i * 7 % 256) as u8).collect();
        seal.seal(unit, 0, &mut bytes);
        bytes
    }

    fn seal_of(uuid: u8) -> UnitSeal {
        UnitSeal::new(PageGeometry::new(4096, 1).unwrap(), FileUuid([uuid; 16]), 0)
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
        let seal = UnitSeal::new(PageGeometry::new(4096, 1).unwrap(), uuid, 0);
        seal.seal(2, 0, &mut bytes);
        assert_eq!(bytes[..8], [0x50, 0x5d, 0x23, 0xbc, 0, 0, 0, 0]);
        seal.seal(2, 3, &mut bytes);
        assert_eq!(bytes[..8], [0x1c, 0xc0, 0xd1, 0, 3, 0, 0, 0]);
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

    #[test]
    fn a_torn_unit_a_lost_write_and_an_unknown_epoch_are_told_apart() {
        let seal = seal_of(1);
        let (old, mut new) = (sealed(seal, 5), sealed(seal, 5));
        seal.seal(5, 7, &mut new);
        assert_eq!((unit_epoch(&new), unit_epoch(&new[..7])), (Some(7), None));
        let what = |bytes: &[u8], epochs| {
            let checked = seal.check_epoch(5, bytes, epochs);
            checked.err().map(|e| (e.what, e.expected, e.found))
        };
        assert_eq!(what(&new, 7..=7), None);
        assert_eq!(what(&new, 0..=u32::MAX), None);
        assert_eq!(what(&old, 7..=7), Some((LOST_WRITE, 7, 0)));
        assert_eq!(what(&old, 1..=7), Some((LOST_WRITE, 1, 0)));
        let newer = Some(("epoch of the unit: newer than any", 6, 7));
        assert_eq!(what(&new, 0..=6), newer);
        assert_eq!(seal.check(5, &new).unwrap_err().expected, 0);
        let mut torn = new.clone();
        torn[512..].copy_from_slice(&old[512..]);
        assert_eq!(what(&torn, 7..=7), None, "equal payloads do not tear");
        torn[4095] ^= 1;
        let torn = what(&torn, 7..=7).map(|(what, _, _)| what);
        assert_eq!(torn, Some("unit checksum"));
    }

    #[test]
    fn a_seal_accepts_the_epochs_of_its_file() {
        let seal = UnitSeal {
            newest: 3,
            ..seal_of(1)
        };
        let mut bytes = sealed(seal, 9);
        for epoch in 0..6 {
            seal.seal(9, epoch, &mut bytes);
            assert_eq!(seal.check(9, &bytes).is_ok(), epoch <= 3, "epoch {epoch}");
        }
    }
}
