//! Runs of bits in bytes, lowest bit first.

/// Bits that one [`peek`] gives at least, wherever it begins.
pub(super) const PEEK_BITS: u32 = 57;

/// The 64 bits from `bit` on, fewer the less that number is a multiple of 8, at least
/// [`PEEK_BITS`]; zeros behind the end.
#[inline]
pub(super) fn peek(bytes: &[u8], bit: usize) -> u64 {
    let rest = bytes.get(bit / 8..).unwrap_or_default();
    let word = match rest.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => last_word(bytes, rest.len()),
    };
    word >> (bit % 8)
}

/// The last `count` bytes, less than eight, and zeros. A list ends in a few pairs that look there.
#[inline]
fn last_word(bytes: &[u8], count: usize) -> u64 {
    if let Some(chunk) = bytes.last_chunk() {
        let behind = 64 - 8 * count as u32;
        return u64::from_le_bytes(*chunk).checked_shr(behind).unwrap_or(0);
    }
    let mut word = [0; 8];
    let from = bytes.len().saturating_sub(count);
    for (to, byte) in word.iter_mut().zip(bytes.iter().skip(from)) {
        *to = *byte;
    }
    u64::from_le_bytes(word)
}

/// Appends runs of bits to bytes.
pub(super) struct BitWriter<'o> {
    out: &'o mut Vec<u8>,
    waiting: u64,
    count: u32,
}

impl<'o> BitWriter<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self {
            out,
            waiting: 0,
            count: 0,
        }
    }

    /// Appends the `width` bits of `value`; it has no others, and there are at most 32.
    pub(super) fn put(&mut self, value: u32, width: u32) {
        self.waiting |= u64::from(value) << self.count;
        self.count += width;
        if self.count >= u32::BITS {
            self.out
                .extend_from_slice(&(self.waiting as u32).to_le_bytes());
            self.waiting >>= u32::BITS;
            self.count -= u32::BITS;
        }
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(self) {
        let waiting = self.waiting.to_le_bytes();
        let bytes = self.count.div_ceil(8) as usize;
        self.out.extend(waiting.iter().take(bytes));
    }
}
