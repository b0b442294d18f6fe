//! Cache hints for bytes that will be read soon.

use pageway_types::Place;

/// Bytes that one hint brings in, on every CPU we know.
const CACHE_LINE: usize = 64;

/// Cache lines that [`prefetch`] asks for at most.
const MAX_LINES: usize = 4;

/// Asks the CPU to load the first cache lines of `bytes` (256 bytes at most).
///
/// A hint: it never faults, changes no value, and does nothing where the CPU offers no such
/// instruction. Costs about one instruction per line.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(CACHE_LINE).take(MAX_LINES) {
        prefetch_line(line.as_ptr());
    }
}

/// Prefetches rows of a matrix some rows before they are read.
pub(crate) struct RowPrefetch<'a> {
    rows: &'a [u8],
    row_bytes: usize,
    asked_bytes: usize,
    places: &'a [Place],
    rows_ahead: usize,
}

impl<'a> RowPrefetch<'a> {
    // Chosen by `examples/speed.rs` with rows of 100 to 3,840 bytes at random in up to 600 MB:
    // more rows ahead evict each other, more lines of a row cost more than they bring.

    /// Bytes of a row that are asked for; the CPU follows a longer row by itself.
    const ROW_BYTES: usize = 1024;

    /// Bytes asked for ahead of the row being read, in short rows up to `ROWS_AHEAD`.
    const BYTES_AHEAD: usize = 4096;

    /// Rows asked for ahead of the row being read.
    const ROWS_AHEAD: usize = 8;

    /// Prepares to read the first `read_bytes` of the rows of `places` in order, and asks for the
    /// first of them.
    #[inline(always)]
    pub(crate) fn new(
        rows: &'a [u8],
        (row_bytes, read_bytes): (usize, usize),
        places: &'a [Place],
    ) -> Self {
        let asked_bytes = read_bytes.clamp(1, Self::ROW_BYTES);
        let rows_ahead = (Self::BYTES_AHEAD / asked_bytes).min(Self::ROWS_AHEAD);
        let prefetch = Self {
            rows,
            row_bytes,
            asked_bytes,
            places,
            rows_ahead,
        };
        for &place in places.iter().take(rows_ahead) {
            prefetch.row(place);
        }
        prefetch
    }

    /// Asks for the row that comes some rows after that of `places[index]`.
    #[inline(always)]
    pub(crate) fn ahead_of(&self, index: usize) {
        if let Some(&place) = self.places.get(index + self.rows_ahead) {
            self.row(place);
        }
    }

    #[inline(always)]
    fn row(&self, place: Place) {
        // An address outside `rows` is as good as any: a prefetch never faults.
        let first = self
            .rows
            .as_ptr()
            .wrapping_add(place.index().wrapping_mul(self.row_bytes));
        for offset in (0..self.asked_bytes).step_by(CACHE_LINE) {
            prefetch_line(first.wrapping_add(offset));
        }
        // An unaligned row ends one line later than its length says.
        prefetch_line(first.wrapping_add(self.asked_bytes).wrapping_sub(1));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: SSE is part of x86-64, and a prefetch accepts any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    // SAFETY: a prefetch accepts any address and has no effect that a program can observe.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn prefetch_line(_address: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_accepted() {
        let bytes = [7_u8; 600];
        for length in 0..bytes.len() {
            prefetch(&bytes[..length]);
        }
    }
}
