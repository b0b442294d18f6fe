//! Cache hints for bytes that will be read soon.

/// Bytes that one hint brings in, on every CPU we know.
pub(crate) const CACHE_LINE: usize = 64;

/// Cache lines that [`prefetch`] asks for at most.
const MAX_LINES: usize = 4;

/// Asks the CPU to load the first cache lines of `bytes` (256 bytes at most).
///
/// A hint: it never faults, changes no value, and does nothing where the CPU offers no such
/// instruction. Costs about one instruction per line.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    prefetch_lines(bytes, MAX_LINES);
}

/// Asks for the first `lines` cache lines of `bytes`.
#[inline(always)]
pub(crate) fn prefetch_lines(bytes: &[u8], lines: usize) {
    // An unaligned row ends one line later than its length says; its last byte covers that line.
    for line in bytes.chunks(CACHE_LINE).take(lines) {
        prefetch_line(line.as_ptr());
    }
    if let Some(last) = bytes.get(..lines * CACHE_LINE).unwrap_or(bytes).last() {
        prefetch_line(last);
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
            prefetch_lines(&bytes[..length], 0);
            prefetch_lines(&bytes[..length], usize::MAX / CACHE_LINE);
        }
    }
}
