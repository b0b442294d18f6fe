//! Where the bits of a code lie, and what each of them counts.
//!
//! Axes are numbered by falling bits. Plane `p` holds bit `p`, counted from the most significant,
//! of the axes that have so many: always the first axes. Planes follow each other without a gap.
//!
//! ```text
//! axes          0 1 2 3 4          bits 3 3 2 1 1
//! plane 0       s s s s s          signs; a set bit is positive
//! plane 1       b b b
//! plane 2       b b                10 bits: s s s s s b b b b b, in 2 bytes
//! ```
//!
//! An axis of `b` bits and number `v` stands for `(v - (2^b - 1) / 2) * step`. A set bit of plane
//! `p` hence counts `2^(b-1-p) * step / 2`, and one that is not set as much against.

use super::factors::FactorWidth;

/// Neighbouring axes with equal bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    /// Axes, one at least.
    pub(super) width: usize,
    /// Bits of each axis, 1 to 8.
    pub(super) bits: u8,
    /// Distance of two neighbouring numbers.
    pub(super) step: f32,
    /// Share of the segment in the squared errors of the sample's codes.
    pub(super) error_share: f32,
}

/// The layout of a code.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// By falling bits.
    pub(super) segments: Vec<Segment>,
    pub(super) factors: FactorWidth,
    /// Bytes that name the centroid.
    pub(super) centroid_bytes: usize,
}

impl Layout {
    /// Axes that have bits.
    pub(super) fn axes(&self) -> usize {
        self.segments.iter().map(|segment| segment.width).sum()
    }

    /// Bits of all axes.
    pub(super) fn bits(&self) -> usize {
        let segments = self.segments.iter();
        segments.map(|s| s.width * usize::from(s.bits)).sum()
    }

    /// Bytes in front of the bits.
    pub(super) fn head_bytes(&self) -> usize {
        self.factors.bytes() + self.centroid_bytes
    }

    /// Bytes of a code.
    pub(super) fn code_bytes(&self) -> usize {
        self.head_bytes() + self.bits().div_ceil(8)
    }

    /// Bits of the axis that has the most.
    pub(super) fn planes(&self) -> u8 {
        self.segments.first().map_or(0, |segment| segment.bits)
    }

    /// Axes of plane `plane`.
    pub(super) fn plane_axes(&self, plane: u8) -> usize {
        let with = self.segments.iter().filter(|s| s.bits > plane);
        with.map(|segment| segment.width).sum()
    }

    /// The centroid that a code names; 0 where there is one only.
    #[inline]
    pub(super) fn centroid(&self, code: &[u8]) -> usize {
        if self.centroid_bytes == 0 {
            return 0;
        }
        let bytes = code.get(self.factors.bytes()..self.head_bytes());
        let bytes = bytes.unwrap_or(&[]).iter().rev();
        bytes.fold(0, |id, byte| id << 8 | usize::from(*byte))
    }

    /// Names the centroid of a code.
    pub(super) fn set_centroid(&self, code: &mut [u8], centroid: usize) {
        let bytes = code.get_mut(self.factors.bytes()..self.head_bytes());
        for (at, byte) in bytes.unwrap_or(&mut []).iter_mut().enumerate() {
            *byte = (centroid >> (8 * at)) as u8;
        }
    }

    /// The segment of each axis.
    pub(super) fn per_axis(&self) -> impl Iterator<Item = Segment> + Clone {
        let segments = self.segments.iter();
        segments.flat_map(|segment| std::iter::repeat_n(*segment, segment.width))
    }

    /// Writes the numbers of all axes as bits, behind the head of a code of zeros.
    pub(super) fn pack(&self, numbers: &[u8], code: &mut [u8]) {
        let bits = code.get_mut(self.head_bytes()..).unwrap_or_default();
        let mut at = 0;
        for plane in 0..self.planes() {
            let mut rest = numbers;
            for segment in self.segments.iter().take_while(|s| s.bits > plane) {
                let (own, others) = rest.split_at(segment.width.min(rest.len()));
                write_bits(own, segment.bits - 1 - plane, bits, at);
                at += own.len();
                rest = others;
            }
        }
    }

    /// Reads the first `planes` bits of each axis back; bits left out are zero.
    pub(super) fn unpack(&self, code: &[u8], planes: u8, numbers: &mut [u8]) {
        let bits = code.get(self.head_bytes()..).unwrap_or(&[]);
        let planes = planes.min(self.planes());
        numbers.fill(0);
        let mut at = 0;
        for plane in 0..planes {
            let axes = self.plane_axes(plane);
            let (own, _) = numbers.split_at_mut(axes.min(numbers.len()));
            append_bits(own, bits, at);
            at += axes;
        }
        let mut rest = numbers;
        for segment in self.segments.iter().take_while(|s| s.bits > planes) {
            let (own, others) = rest.split_at_mut(segment.width.min(rest.len()));
            for number in own {
                *number <<= segment.bits - planes;
            }
            rest = others;
        }
    }

    /// What the numbers of all axes stand for.
    pub(super) fn values(&self, numbers: &[u8], out: &mut [f32]) {
        for ((segment, number), out) in self.per_axis().zip(numbers).zip(out) {
            let middle = f32::from((1_u16 << segment.bits) - 1) / 2.0;
            *out = (f32::from(*number) - middle) * segment.step;
        }
    }
}

/// Writes bit `place` of each number to the bits of `bytes` from `at` on, which are zero.
fn write_bits(numbers: &[u8], place: u8, bytes: &mut [u8], at: usize) {
    let mut write = |bits: u64, at: usize| {
        let shifted = (bits << (at % 8)) as u16;
        for (byte, bits) in bytes.iter_mut().skip(at / 8).zip(shifted.to_le_bytes()) {
            *byte |= bits;
        }
    };
    let (eights, rest) = numbers.as_chunks::<8>();
    for (eight, numbers) in eights.iter().enumerate() {
        let firsts = u64::from_le_bytes(*numbers) >> place & EVERY_FIRST;
        write(firsts.wrapping_mul(GATHER) >> 56, at + 8 * eight);
    }
    let first = at + 8 * eights.len();
    for (bit, number) in rest.iter().enumerate() {
        write(u64::from(number >> place & 1), first + bit);
    }
}

/// Appends a bit to each number, those of `bytes` from `at` on.
fn append_bits(numbers: &mut [u8], bytes: &[u8], at: usize) {
    let (words, rest) = numbers.as_chunks_mut::<64>();
    let last = words.len();
    for (word, numbers) in words.iter_mut().enumerate() {
        append_word(numbers, word_of(bytes, at + 64 * word));
    }
    append_word(rest, word_of(bytes, at + 64 * last));
}

/// The 64 bits from `at` on; zeros behind the end.
fn word_of(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at / 8..).unwrap_or(&[]);
    let some: u128 = match bytes.first_chunk() {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => (0..)
            .zip(bytes)
            .fold(0, |word, (at, byte)| word | u128::from(*byte) << (8 * at)),
    };
    (some >> (at % 8)) as u64
}

/// Appends a bit of a word to each of 64 numbers at most.
fn append_word(numbers: &mut [u8], mut word: u64) {
    let (eights, rest) = numbers.as_chunks_mut::<8>();
    for numbers in eights {
        let shifted = u64::from_le_bytes(*numbers) << 1 & !EVERY_FIRST;
        *numbers = (shifted | spread(word as u8)).to_le_bytes();
        word >>= 8;
    }
    for number in rest {
        *number = *number << 1 | word as u8 & 1;
        word >>= 1;
    }
}

/// Moves the first bit of byte `i` to bit `56 + i`.
pub(super) const GATHER: u64 = 0x0102_0408_1020_4080;

/// The first bit of each byte.
const EVERY_FIRST: u64 = 0x0101_0101_0101_0101;

/// Each bit as a byte.
const fn spread(bits: u8) -> u64 {
    // Bit `i` of the bits in byte `i`; then the highest of each byte that is not zero.
    let alone = (bits as u64 * EVERY_FIRST) & 0x8040_2010_0804_0201;
    (alone + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & EVERY_FIRST
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn drawn() -> Layout {
        let segment = |width, bits, step| Segment {
            width,
            bits,
            step,
            error_share: 0.0,
        };
        Layout {
            segments: vec![segment(2, 3, 1.0), segment(1, 2, 0.5), segment(2, 1, 4.0)],
            factors: FactorWidth::Half,
            centroid_bytes: 2,
        }
    }

    #[test]
    fn bits_lie_as_drawn() {
        let layout = drawn();
        assert_eq!(
            (layout.axes(), layout.bits(), layout.code_bytes()),
            (5, 10, 4 + 2 + 2)
        );
        assert_eq!(
            [0, 1, 2, 3].map(|plane| layout.plane_axes(plane)),
            [5, 3, 2, 0]
        );
        let mut code = [0; 8];
        layout.set_centroid(&mut code, 0x1234);
        layout.pack(&[0b110, 0b001, 0b10, 0, 1], &mut code);
        assert_eq!(code[4..6], [0x34, 0x12]);
        assert_eq!(layout.centroid(&code), 0x1234);
        // s: 1 0 1 0 1, then b: 1 0 0, then b: 0 1.
        assert_eq!(code[6..], [0b0011_0101, 0b10]);
        let mut numbers = [9; 5];
        layout.unpack(&code, 3, &mut numbers);
        assert_eq!(numbers, [0b110, 0b001, 0b10, 0, 1]);
        let mut values = [0.0; 5];
        layout.values(&numbers, &mut values);
        assert_eq!(values, [2.5, -2.5, 0.25, -2.0, 2.0]);
        layout.unpack(&code, 1, &mut numbers);
        assert_eq!(numbers, [0b100, 0, 0b10, 0, 1]);
    }
}
