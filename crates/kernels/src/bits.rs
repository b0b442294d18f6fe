//! Integer weights cut into bit planes: how a query meets codes that are strings of bits.
//!
//! A code of `n` bits and `n` integer weights give one number: the sum of the weights whose bit is
//! set. With the weights cut into `P` planes of one bit each, that sum is `P` times "and, count the
//! ones, double": exact integers, hence the same on every instruction set.
//!
//! ```text
//! code bytes     | 0 .. 64 | 64 .. 128 | ...        a chunk is 64 bytes, the last one padded
//! plane 0        | line 0  | line P    | ...        bit P - 1 of the weights, counts -2^(P-1)
//! plane 1        | line 1  | line P+1  | ...        bit P - 2, counts 2^(P-2)
//! ...
//! plane P - 1    | line P-1| line 2P-1 | ...        bit 0, counts 1
//! ```
//!
//! Bit `i` of a code is bit `i % 8` of its byte `i / 8`.
//!
//! Where all weights of a chunk are small, its first planes are equal: copies of the sign. All but
//! the last of them are skipped, and that one counts as the sign does; the sum stays what it is.
//!
//! Source: bit planes of a quantized query as in Gao and Long, "RaBitQ" (SIGMOD 2024); here every
//! bit of a code has a weight of its own, which serves codes of several bits with the same loop.

use crate::sums::{CodeWeights, LINE_BYTES, Line};

/// Bytes of a code that one line of a plane covers.
pub(crate) const CHUNK_BYTES: usize = LINE_BYTES;

/// Weights that are packed together: the bits of a byte.
const BYTE_BITS: usize = 8;

/// One weight for each bit of a code, as planes. Codes are bytes; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitWeights {
    code_bytes: usize,
    planes: usize,
    lines: Vec<Line>,
    /// Planes of each chunk that are not copies of the next one.
    widths: Vec<usize>,
}

impl BitWeights {
    /// Most planes: a weight is an `i16`.
    pub const MAX_PLANES: usize = 16;

    /// Weights of zero for codes of `code_bytes` bytes, each of them `planes` bits wide.
    ///
    /// # Panics
    /// Unless `planes` is 2 to [`BitWeights::MAX_PLANES`].
    pub fn new(code_bytes: usize, planes: usize) -> Self {
        assert!((2..=Self::MAX_PLANES).contains(&planes), "2 to 16 planes");
        let chunks = code_bytes.div_ceil(CHUNK_BYTES);
        Self {
            code_bytes,
            planes,
            lines: vec![Line([0; CHUNK_BYTES]); chunks * planes],
            widths: vec![1; chunks],
        }
    }

    /// Takes the weights of another; without allocating, where those are for codes as long.
    pub fn copy_from(&mut self, other: &Self) {
        (self.code_bytes, self.planes) = (other.code_bytes, other.planes);
        self.lines.clone_from(&other.lines);
        self.widths.clone_from(&other.widths);
    }

    /// Bytes of memory that [`BitWeights::new`] allocates.
    pub const fn bytes(code_bytes: usize, planes: usize) -> usize {
        let chunk = planes * size_of::<Line>() + size_of::<usize>();
        code_bytes.div_ceil(CHUNK_BYTES).saturating_mul(chunk)
    }

    /// Bytes of the codes that have these weights.
    pub fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    /// Bits of a weight.
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// Sets the weight of every bit, `8 * code_bytes` of them at most; those not given are zero.
    ///
    /// Weights lie in `-2^(planes-1)` to `2^(planes-1) - 1`; of others the upper bits are lost.
    /// About 8 ns for 8 weights.
    ///
    /// # Panics
    /// When there are more weights than bits.
    pub fn fill(&mut self, weights: &[i16]) {
        assert!(
            weights.len() <= self.code_bytes * BYTE_BITS,
            "one weight per bit"
        );
        self.measure(weights);
        for line in &mut self.lines {
            line.0.fill(0);
        }
        for (byte, weights) in weights.chunks(BYTE_BITS).enumerate() {
            let lines = &mut self.lines[byte / CHUNK_BYTES * self.planes..][..self.planes];
            let (low, high) = (plane_bytes(weights, 0), plane_bytes(weights, BYTE_BITS));
            for (bit, line) in lines.iter_mut().rev().enumerate() {
                let half = if bit < BYTE_BITS { low } else { high };
                line.0[byte % CHUNK_BYTES] = half[bit % BYTE_BITS];
            }
        }
    }

    /// Finds the planes that each chunk needs.
    fn measure(&mut self, weights: &[i16]) {
        let mut rest = weights.chunks(CHUNK_BYTES * BYTE_BITS);
        for width in &mut self.widths {
            let magnitudes = rest.next().unwrap_or(&[]).iter();
            let bits = magnitudes.fold(0, |bits, weight| bits | (weight ^ (weight >> 15)));
            let needed = 1 + (i16::BITS - bits.leading_zeros()) as usize;
            *width = needed.min(self.planes);
        }
    }

    /// The lines of each chunk that count, the sign first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[Line]> {
        let ends = (1..).map(|chunk| chunk * self.planes);
        let widths = ends.zip(&self.widths);
        widths.map(|(end, width)| &self.lines[end - width..end])
    }

    /// The lines of each chunk with the bytes of `code` that they cover.
    pub(crate) fn chunks<'a>(
        &'a self,
        code: &'a [u8],
    ) -> impl Iterator<Item = (&'a [Line], &'a [u8])> {
        let code = &code[..self.code_bytes];
        self.lines().zip(code.chunks(CHUNK_BYTES))
    }
}

impl CodeWeights for BitWeights {
    #[inline(always)]
    fn code_bytes(&self) -> usize {
        self.code_bytes
    }
}

/// Bits `shift..shift + 8` of eight weights, transposed: byte `b` holds bit `shift + b` of each.
fn plane_bytes(weights: &[i16], shift: usize) -> [u8; BYTE_BITS] {
    let mut matrix = [0; BYTE_BITS];
    for (byte, weight) in matrix.iter_mut().zip(weights) {
        *byte = (weight >> shift) as u8;
    }
    transpose(u64::from_le_bytes(matrix)).to_le_bytes()
}

/// Transposes a matrix of 8 by 8 bits: swaps blocks of one, two and four bits across the diagonal.
fn transpose(matrix: u64) -> u64 {
    let mut matrix = matrix;
    for (distance, mask) in [
        (7, 0x00aa_00aa_00aa_00aa),
        (14, 0x0000_cccc_0000_cccc),
        (28, 0x0000_0000_f0f0_f0f0),
    ] {
        let swapped = (matrix ^ (matrix >> distance)) & mask;
        matrix ^= swapped ^ (swapped << distance);
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_moves_every_bit_across_the_diagonal() {
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            let one = 1_u64 << (8 * row + column);
            assert_eq!(transpose(one), 1 << (8 * column + row));
        }
    }

    #[test]
    fn chunks_of_small_weights_have_few_lines() {
        let mut weights = BitWeights::new(130, 12);
        let mut given = vec![3; 1040];
        given[..512].fill(-2048);
        given[512..600].fill(-4);
        given[1024..].fill(0);
        weights.fill(&given);
        let widths: Vec<usize> = weights.lines().map(<[Line]>::len).collect();
        assert_eq!(widths, [12, 3, 1]);
        weights.fill(&[4]);
        assert_eq!(weights.widths, [4, 1, 1]);
    }

    #[test]
    fn planes_add_up_to_the_weights() {
        let mut weights = BitWeights::new(70, 12);
        let given: Vec<i16> = (0..555).map(|i| (i * 7 % 4096 - 2048) as i16).collect();
        weights.fill(&given);
        assert_eq!(BitWeights::bytes(70, 12), 2 * (12 * 64 + 8));
        for bit in 0..70 * 8 {
            let lines = &weights.lines[bit / 512 * 12..][..12];
            let set = |line: &Line| (line.0[bit / 8 % 64] >> (bit % 8)) & 1 == 1;
            let value = lines.iter().enumerate().filter(|(_, line)| set(line));
            let value: i32 = value
                .map(|(plane, _)| if plane == 0 { -2048 } else { 1 << (11 - plane) })
                .sum();
            assert_eq!(value, i32::from(*given.get(bit).unwrap_or(&0)), "{bit}");
        }
    }
}
