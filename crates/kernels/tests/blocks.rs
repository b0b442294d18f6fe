//! Sums and estimates of codes in blocks: every instruction set against direct computation.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may stop at a surprise"
)]

use pageway_kernels::{
    BLOCK_CODES, BitWeights, BlockFactors, BlockWeights, Estimator, KernelSet, half_rescale,
    half_value, single_rescale, write_block,
};
use pageway_types::SplitMix64;
use proptest::prelude::*;

fn sets() -> Vec<&'static KernelSet> {
    let sets = KernelSet::available().into_iter();
    sets.map(|isa| KernelSet::for_isa(isa).unwrap()).collect()
}

fn random_bytes(random: &mut SplitMix64, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.next_u64() as u8).collect()
}

/// Weights of `bits` bits at most, and fewer for later bits of a code.
fn falling(random: &mut SplitMix64, count: usize, bits: u32) -> Vec<i16> {
    let own = |at: usize| bits.saturating_sub((at * 4 / count.max(1)) as u32).max(1);
    (0..count)
        .map(|at| (random.below(1 << own(at)) as i64 - (1 << (own(at) - 1))) as i16)
        .collect()
}

/// All sums of a block of `count` codes, against those of the codes as they lie.
fn assert_sums(weights: &[i16], code_bytes: usize, count: usize, random: &mut SplitMix64) {
    let stride = code_bytes + random.below(9) as usize;
    let codes = random_bytes(random, count * stride);
    // Steps are of two bytes, and may look at some behind the block.
    let mut block = random_bytes(random, BLOCK_CODES * (code_bytes + 1));
    write_block(&codes, (stride.max(1), code_bytes), &mut block);
    let mut by_block = BlockWeights::new(code_bytes);
    let mut by_code = BitWeights::new(code_bytes, BitWeights::MAX_PLANES);
    by_block.fill(weights);
    by_code.fill(weights);
    let mut wanted = [0; BLOCK_CODES];
    let scalar = KernelSet::for_isa(pageway_kernels::Isa::Scalar).unwrap();
    scalar.bit_sums()(&by_code, &codes, stride, &mut wanted[..count]);
    for set in sets() {
        let mut sums = [i32::MIN; BLOCK_CODES];
        set.block_sums()(&by_block, &block, &mut sums);
        assert_eq!(sums, wanted, "{} {code_bytes}", set.isa());
    }
}

#[test]
fn every_length_gives_the_sums_of_single_codes() {
    let mut random = SplitMix64::new(1);
    for code_bytes in (0..=200).chain([255, 256, 257, 960, 968, 2048]) {
        let weights = falling(&mut random, code_bytes * 8, 2 + code_bytes as u32 % 13);
        let count = 1 + random.below(BLOCK_CODES as u64) as usize;
        assert_sums(&weights, code_bytes, count, &mut random);
    }
}

#[test]
fn the_extremes_of_weights_add_up() {
    let mut random = SplitMix64::new(2);
    let largest = BlockWeights::LARGEST;
    for extreme in [-largest, largest, -1, 1, 63, 64] {
        assert_sums(&vec![extreme; 5000 * 8], 5000, BLOCK_CODES, &mut random);
    }
    // Every bit set: the largest sums there are.
    for extreme in [-largest, largest, 63] {
        let mut weights = BlockWeights::new(1000);
        weights.fill(&vec![extreme; 8000]);
        for set in sets() {
            let mut sums = [0; BLOCK_CODES];
            set.block_sums()(&weights, &vec![0xff; 32_000], &mut sums);
            assert_eq!(
                sums,
                [8000 * i32::from(extreme); BLOCK_CODES],
                "{}",
                set.isa()
            );
        }
    }
}

#[test]
fn bits_without_a_weight_count_nothing() {
    let mut random = SplitMix64::new(3);
    assert_sums(&[], 10, BLOCK_CODES, &mut random);
    let mut weights = BlockWeights::new(10);
    weights.fill(&[-800; 80]);
    weights.fill(&[7, -8, 3]);
    for set in sets() {
        let mut sums = [i32::MIN; BLOCK_CODES];
        set.block_sums()(&weights, &[0xff; 320], &mut sums);
        assert_eq!(sums, [2; BLOCK_CODES], "{}", set.isa());
    }
}

#[test]
#[should_panic(expected = "a whole block")]
fn a_short_block_stops() {
    let sums = KernelSet::detect().unwrap().block_sums();
    sums(&BlockWeights::new(3), &[0; 127], &mut [0; BLOCK_CODES]);
}

#[test]
#[should_panic(expected = "too large")]
fn a_weight_out_of_range_stops() {
    BlockWeights::new(1).fill(&[i16::MAX, i16::MAX, i16::MAX]);
}

#[test]
#[should_panic(expected = "one weight per bit")]
fn more_weights_than_bits_stop() {
    BlockWeights::new(1).fill(&[0; 9]);
}

/// Estimates and marks of every set, against one code after the other.
fn assert_estimates(single: bool, estimator: &Estimator, random: &mut SplitMix64) {
    let mut bytes: [u8; 8 * BLOCK_CODES] = random_bytes(random, 256).try_into().unwrap();
    let sums: [i32; BLOCK_CODES] =
        std::array::from_fn(|_| random.below(1 << 20) as i32 - (1 << 19));
    let size = if single { 4 } else { 2 };
    // No exponent is the largest: factors are finite.
    for value in bytes.chunks_mut(size) {
        value[size - 1] &= 0xbb;
    }
    let (adds, rescales) = bytes[..2 * size * BLOCK_CODES].split_at(size * BLOCK_CODES);
    let half = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
    let word =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[4 * at..][..4].try_into().unwrap());
    let wanted: [f32; BLOCK_CODES] = std::array::from_fn(|at| {
        let factors = if single {
            (
                f32::from_bits(word(adds, at)),
                single_rescale(word(rescales, at)),
            )
        } else {
            (half_value(half(adds, at)), half_rescale(half(rescales, at)))
        };
        estimator.estimate(factors, sums[at])
    });
    let factors = if single {
        BlockFactors::Single(&bytes)
    } else {
        BlockFactors::Half(bytes.first_chunk().unwrap())
    };
    for limit in [wanted[7], 0.0, f32::INFINITY, f32::NEG_INFINITY] {
        let marks = (0..BLOCK_CODES).map(|at| u32::from(wanted[at] <= limit) << at);
        let marks: u32 = marks.sum();
        for set in sets() {
            let mut out = [f32::NAN; BLOCK_CODES];
            let marked = set.block_estimates()(estimator, factors, &sums, limit, &mut out);
            assert_eq!(
                out.map(f32::to_bits),
                wanted.map(f32::to_bits),
                "{}",
                set.isa()
            );
            assert_eq!(marked, marks, "{} {limit}", set.isa());
        }
    }
}

proptest! {
    #[test]
    fn estimates_have_the_same_bits_everywhere(
        seed: u64,
        scale in -3.0_f32..3.0,
        shift in -1e4_f32..1e4,
        energy in 1e-6_f32..1e6,
        start in -1e4_f32..1e4,
    ) {
        let estimator = Estimator { scale, shift, energy, start };
        let mut random = SplitMix64::new(seed);
        assert_estimates(false, &estimator, &mut random);
        assert_estimates(true, &estimator, &mut random);
    }

    #[test]
    fn any_weights_give_the_sums_of_single_codes(
        seed: u64,
        code_bytes in 0_usize..300,
        bits in 1_u32..14,
        count in 1..=BLOCK_CODES,
    ) {
        let mut random = SplitMix64::new(seed);
        let given = random.below(code_bytes as u64 * 8 + 1) as usize;
        let weights = falling(&mut random, given, bits);
        assert_sums(&weights, code_bytes, count, &mut random);
    }
}
