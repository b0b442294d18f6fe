//! CRC-32C, a unit at a time: folded by carry-less products where the CPU has wide ones.
//!
//! A string of bits is a polynomial over the field of two elements, its checksum the remainder by
//! that of the code. What lies `n` bits before other bits may be added to them once it is
//! multiplied by `x^n` modulo that polynomial: 256 bytes at a time are folded onto the next 256,
//! and the last 16 bytes go through the checksum instruction.
//!
//! Source: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
//! Instruction", Intel 2009. The sum is that of the `crc32c` crate, which all others use.
#![expect(
    unsafe_code,
    reason = "instructions that the CPU was asked for; the crc32c crate is the twin"
)]

use crc32c::crc32c_append;

/// The checksum of what `crc` is of, followed by `bytes`.
#[inline]
pub(super) fn append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= folded::LEAST && folded::is_supported() {
        // SAFETY: the CPU has the features.
        return unsafe { folded::append(crc, bytes) };
    }
    crc32c_append(crc, bytes)
}

#[cfg(target_arch = "x86_64")]
mod folded {
    use std::arch::x86_64::{
        __m512i, _mm_crc32_u64, _mm_cvtsi32_si128, _mm_cvtsi128_si64, _mm_extract_epi64,
        _mm_xor_si128, _mm512_clmulepi64_epi128, _mm512_extracti32x4_epi32, _mm512_loadu_si512,
        _mm512_set_epi64, _mm512_ternarylogic_epi64, _mm512_xor_si512, _mm512_zextsi128_si512,
    };

    use crc32c::crc32c_append;

    /// Bytes of a register.
    const LINE: usize = 64;

    /// Registers that are folded side by side, to hide latencies.
    const LINES: usize = 4;

    /// Bytes from which folding pays.
    pub(super) const LEAST: usize = 512;

    /// The polynomial, without its highest power.
    const POLYNOMIAL: u32 = 0x1edc_6f41;

    /// What the two halves of 16 bytes are multiplied by when they are folded over so many bits.
    const fn factors(bits: u32) -> [i64; 2] {
        [power(bits + 32), power(bits - 32)]
    }

    /// `x^n` modulo the polynomial, bits reversed as in the data.
    const fn power(n: u32) -> i64 {
        let (mut power, mut at) = (1_u32, 0);
        while at < n {
            let carry = power >> 31;
            power = (power << 1) ^ (carry * POLYNOMIAL);
            at += 1;
        }
        (power.reverse_bits() as i64) << 1
    }

    const BY_128: [i64; 2] = factors(128);
    const BY_256: [i64; 2] = factors(256);
    const BY_384: [i64; 2] = factors(384);
    const BY_512: [i64; 2] = factors(512);
    const BY_2048: [i64; 2] = factors(2048);

    pub(super) fn is_supported() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("sse4.2")
    }

    /// See [`super::append`]: what is not on whole cache lines goes the other way.
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.2")]
    pub(super) fn append(crc: u32, bytes: &[u8]) -> u32 {
        let before = bytes.as_ptr().align_offset(LINE).min(bytes.len());
        let (head, rest) = bytes.split_at(before);
        let (lines, tail) = rest.as_chunks::<LINE>();
        let crc = crc32c_append(crc, head);
        let crc = match lines.split_first_chunk::<LINES>() {
            Some((first, lines)) => fold(crc, first, lines),
            None => crc32c_append(crc, lines.as_flattened()),
        };
        crc32c_append(crc, tail)
    }

    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.2")]
    fn fold(crc: u32, first: &[[u8; LINE]; LINES], lines: &[[u8; LINE]]) -> u32 {
        let begin = _mm512_zextsi128_si512(_mm_cvtsi32_si128((!crc).cast_signed()));
        let [a, b, c, d] = first;
        let mut sums = [_mm512_xor_si512(load(a), begin), load(b), load(c), load(d)];
        let far = lanes([BY_2048; 4]);
        let (groups, rest) = lines.as_chunks::<LINES>();
        for group in groups {
            for (sum, line) in sums.iter_mut().zip(group) {
                *sum = onto(*sum, far, load(line));
            }
        }
        let near = lanes([BY_512; 4]);
        let [a, b, c, d] = sums;
        let mut sum = onto(onto(onto(a, near, b), near, c), near, d);
        for line in rest {
            sum = onto(sum, near, load(line));
        }
        // The last of four lanes stays, the others are folded onto it.
        let last = _mm512_extracti32x4_epi32::<3>(sum);
        let zero = _mm512_xor_si512(sum, sum);
        let folded = onto(sum, lanes([BY_384, BY_256, BY_128, [0; 2]]), zero);
        let lower = _mm_xor_si128(
            _mm512_extracti32x4_epi32::<0>(folded),
            _mm512_extracti32x4_epi32::<1>(folded),
        );
        let upper = _mm_xor_si128(_mm512_extracti32x4_epi32::<2>(folded), last);
        let all = _mm_xor_si128(lower, upper);
        let state = _mm_crc32_u64(0, _mm_cvtsi128_si64(all).cast_unsigned());
        let state = _mm_crc32_u64(state, _mm_extract_epi64::<1>(all).cast_unsigned());
        !(state as u32)
    }

    #[target_feature(enable = "avx512f")]
    fn load(line: &[u8; LINE]) -> __m512i {
        // SAFETY: a line is as long as a register.
        unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
    }

    /// Factors of four lanes, the first of which is the first in memory.
    #[target_feature(enable = "avx512f")]
    fn lanes([a, b, c, d]: [[i64; 2]; 4]) -> __m512i {
        _mm512_set_epi64(d[1], d[0], c[1], c[0], b[1], b[0], a[1], a[0])
    }

    /// Folds a register onto the next one.
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn onto(sum: __m512i, factors: __m512i, next: __m512i) -> __m512i {
        const XOR: i32 = 0x96;
        let lower = _mm512_clmulepi64_epi128::<0x00>(sum, factors);
        let upper = _mm512_clmulepi64_epi128::<0x11>(sum, factors);
        _mm512_ternarylogic_epi64::<XOR>(lower, upper, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * at / 7 + at * 31) as u8).collect()
    }

    #[test]
    fn every_length_at_every_alignment_has_the_sum_of_the_twin() {
        let bytes = bytes(3000);
        for length in (0..1500).chain([2047, 2048, 2900]) {
            for start in [0, 1, 4, 7, 63].map(|start| start + length % 5) {
                let some = &bytes[start..start + length];
                for crc in [0, 1, u32::MAX, 0x1234_5678 ^ length as u32] {
                    let wanted = crc32c_append(crc, some);
                    assert_eq!(append(crc, some), wanted, "{length} from {start}");
                }
            }
        }
    }

    #[test]
    fn parts_add_up() {
        let bytes = bytes(9000);
        let wanted = crc32c_append(7, &bytes);
        for cut in (0..9000).step_by(97) {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(append(append(7, left), right), wanted, "{cut}");
        }
    }
}
