//! Sizes of pages and units.

use crate::StoreError;

/// Bytes at the start of every unit that hold its checksum; the payload follows.
pub const PAGE_HEADER_BYTES: usize = 8;

/// Largest unit: bounds what one read, one buffer and one write may take.
pub const MAX_UNIT_BYTES: usize = 1 << 20;

/// Page size of a file, and how many pages make a unit.
///
/// Invariant: pages are 4096 to 65536 bytes, a power of two; a unit is at most [`MAX_UNIT_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageGeometry {
    page_bytes: u32,
    span: u32,
}

impl PageGeometry {
    /// Pages of `page_bytes`, read `span` at a time. `Invalid` when outside the limits.
    pub fn new(page_bytes: u32, span: u32) -> Result<Self, StoreError> {
        if !page_bytes.is_power_of_two() || !(4096..=65536).contains(&page_bytes) {
            return Err(StoreError::invalid(format!(
                "a page of {page_bytes} bytes: use a power of two from 4096 to 65536"
            )));
        }
        let unit_bytes = u64::from(page_bytes) * u64::from(span);
        if span == 0 || unit_bytes > MAX_UNIT_BYTES as u64 {
            return Err(StoreError::invalid(format!(
                "a unit of {span} pages of {page_bytes} bytes: use 1 page to {MAX_UNIT_BYTES} bytes"
            )));
        }
        Ok(Self { page_bytes, span })
    }

    /// Bytes of a page.
    pub const fn page_bytes(self) -> u32 {
        self.page_bytes
    }

    /// Pages of a unit.
    pub const fn span(self) -> u32 {
        self.span
    }

    /// Bytes of a unit.
    pub const fn unit_bytes(self) -> usize {
        self.page_bytes as usize * self.span as usize
    }

    /// Bytes of a unit that belong to the caller.
    pub const fn payload_bytes(self) -> usize {
        self.unit_bytes() - PAGE_HEADER_BYTES
    }

    /// Byte offset of a unit in its file. Saturates, so that an absurd number misses the file.
    pub const fn unit_offset(self, unit: u64) -> u64 {
        unit.saturating_mul(self.unit_bytes() as u64)
            .saturating_add(self.page_bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold() {
        for bad in [0, 512, 2048, 4097, 6144, 131_072] {
            assert!(PageGeometry::new(bad, 1).is_err(), "{bad}");
        }
        assert!(PageGeometry::new(4096, 0).is_err());
        assert!(PageGeometry::new(4096, 257).is_err());
        assert!(PageGeometry::new(65536, u32::MAX).is_err());
        assert!(PageGeometry::new(4096, 256).is_ok());
        assert!(PageGeometry::new(65536, 16).is_ok());
    }

    #[test]
    fn sizes_and_offsets_add_up() {
        let geometry = PageGeometry::new(4096, 3).unwrap();
        assert_eq!(geometry.unit_bytes(), 12288);
        assert_eq!(geometry.payload_bytes(), 12280);
        assert_eq!(geometry.unit_offset(0), 4096);
        assert_eq!(geometry.unit_offset(2), 4096 + 2 * 12288);
        assert_eq!(geometry.unit_offset(u64::MAX), u64::MAX);
    }
}
