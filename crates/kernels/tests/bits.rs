//! Sums of weights by bits and by digits, and products with a matrix: every instruction set against
//! direct computation.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may stop at a surprise"
)]

use pageway_kernels::{BitWeights, DigitWeights, FixedMatrix, Isa, KernelSet};
use pageway_types::{Place, SplitMix64};
use proptest::prelude::*;

fn sets() -> Vec<&'static KernelSet> {
    let sets = KernelSet::available().into_iter();
    sets.map(|isa| KernelSet::for_isa(isa).unwrap()).collect()
}

fn random_bytes(random: &mut SplitMix64, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.next_u64() as u8).collect()
}

/// The sum by definition.
fn direct(weights: &[i16], code: &[u8]) -> i32 {
    let set = |bit: usize| (code[bit / 8] >> (bit % 8)) & 1 == 1;
    let weights = weights.iter().enumerate().filter(|(bit, _)| set(*bit));
    weights.map(|(_, weight)| i64::from(*weight)).sum::<i64>() as i32
}

/// All kernels on 23 codes at a stride with some bytes between them.
fn assert_sums(weights: &[i16], code_bytes: usize, planes: usize, random: &mut SplitMix64) {
    const COUNT: usize = 23;
    let mut bit_weights = BitWeights::new(code_bytes, planes);
    bit_weights.fill(weights);
    let stride = code_bytes + random.below(9) as usize;
    let codes = random_bytes(random, (COUNT - 1) * stride + code_bytes);
    let wanted: Vec<i32> = (0..COUNT)
        .map(|index| direct(weights, &codes[index * stride..][..code_bytes]))
        .collect();
    let places: Vec<Place> = (0..40)
        .map(|_| Place(random.below(COUNT as u64) as u32))
        .collect();
    for set in sets() {
        let (mut straight, mut gathered) = (vec![i32::MIN; COUNT], vec![i32::MIN; 40]);
        set.bit_sums()(&bit_weights, &codes, stride, &mut straight);
        set.bit_sums_gather()(&bit_weights, &codes, stride, &places, &mut gathered);
        assert_eq!(straight, wanted, "{} {code_bytes}", set.isa());
        for (place, sum) in places.iter().zip(gathered) {
            assert_eq!(sum, wanted[place.index()], "{} {code_bytes}", set.isa());
        }
    }
}

#[test]
fn every_length_and_number_of_planes_gives_the_direct_sum() {
    let mut random = SplitMix64::new(1);
    for code_bytes in (0..=200).chain([255, 256, 257, 960, 2048]) {
        let planes = 2 + code_bytes % 15;
        // Chunks from 64 bytes on need fewer planes.
        let bits = |bit: usize| planes - (bit / 512 * 3 % planes).min(planes - 2);
        let weights: Vec<i16> = (0..code_bytes * 8)
            .map(|bit| (random.below(1 << bits(bit)) as i64 - (1 << (bits(bit) - 1))) as i16)
            .collect();
        assert_sums(&weights, code_bytes, planes, &mut random);
    }
}

#[test]
fn the_extremes_of_weights_wrap() {
    let mut random = SplitMix64::new(2);
    for extreme in [i16::MIN, i16::MAX, -1, 1] {
        assert_sums(&vec![extreme; 16_384 * 8], 16_384, 16, &mut random);
    }
}

#[test]
fn bits_without_a_weight_count_nothing() {
    let mut weights = BitWeights::new(10, 4);
    weights.fill(&[-8; 80]);
    weights.fill(&[7, -8, 3]);
    for set in sets() {
        let mut sums = [i32::MIN; 2];
        let codes = [[0xff; 10], [0xfa; 10]].concat();
        set.bit_sums()(&weights, &codes, 10, &mut sums);
        assert_eq!(sums, [2, -8], "{}", set.isa());
    }
}

/// The digits of a section, of so many bits: of each 64 bytes the lowest, then the next.
fn digits(section: &[u8], bits: u32) -> Vec<u8> {
    let mut digits = Vec::new();
    for block in section.chunks(64) {
        for shift in (0..8).step_by(bits as usize) {
            digits.extend(
                block
                    .iter()
                    .map(|byte| byte >> shift & ((1 << bits) - 1) as u8),
            );
        }
    }
    digits
}

fn assert_digit_sums(lengths: [usize; 3], most: i16, random: &mut SplitMix64) {
    let mut draw = |count: usize| -> Vec<i16> {
        let span = 2 * u64::from(most.unsigned_abs()) + 1;
        let draws = (0..count).map(|_| (random.below(span) as i64 - i64::from(most)) as i16);
        draws.collect()
    };
    // The last digits have no weight.
    let [fours, twos, ones] = lengths;
    let of_fours = draw((2 * fours).saturating_sub(fours % 3));
    let of_twos = draw((4 * twos).saturating_sub(twos % 3));
    let of_ones = draw((8 * ones).saturating_sub(ones % 5));
    let weights = [&of_fours, &of_twos, &of_ones];
    let mut made = DigitWeights::new(lengths);
    made.fill(weights.map(|own| own.iter().copied()));
    let code_bytes = fours + twos + ones;
    let stride = code_bytes + random.below(9) as usize;
    let codes = random_bytes(random, 22 * stride + code_bytes);
    let places: Vec<Place> = (0..23).rev().map(Place).collect();
    let wanted = |code: &[u8]| -> i32 {
        let mut rest = code;
        let sections = lengths.iter().zip([4, 2, 1]).zip(weights);
        let sums = sections.map(|((bytes, bits), weights)| {
            let (section, others) = rest.split_at(*bytes);
            rest = others;
            let digits = digits(section, bits);
            let pairs = weights.iter().zip(&digits);
            pairs
                .map(|(a, b)| i32::from(*a) * i32::from(*b))
                .sum::<i32>()
        });
        sums.sum()
    };
    for set in sets() {
        let mut sums = vec![i32::MIN; places.len()];
        set.digit_sums_gather()(&made, &codes, stride, &places, &mut sums);
        for (place, sum) in places.iter().zip(sums) {
            let code = &codes[place.index() * stride..][..code_bytes];
            assert_eq!(sum, wanted(code), "{} {lengths:?} {most}", set.isa());
        }
    }
}

#[test]
fn digits_of_every_length_give_the_direct_sum() {
    let mut random = SplitMix64::new(5);
    let largest = DigitWeights::LARGEST;
    for code_bytes in (0..=40).chain([63, 64, 65, 72, 130, 189, 320, 2048]) {
        for fours in [0, 1, code_bytes / 3, code_bytes * 3 / 4, code_bytes] {
            for twos in [0, 1, code_bytes / 2, code_bytes] {
                for most in [1, 127, 128, 1023, largest] {
                    let fours = fours.min(code_bytes);
                    let twos = twos.min(code_bytes - fours);
                    let lengths = [fours, twos, code_bytes - fours - twos];
                    assert_digit_sums(lengths, most, &mut random);
                }
            }
        }
    }
}

/// Every digit the greatest, every weight the largest or the least: sums that need most room.
#[test]
fn the_largest_sums_have_room() {
    for lengths in [[1000, 0, 0], [0, 1000, 0], [0, 0, 1000], [300, 300, 300]] {
        let code = vec![0xff; lengths.iter().sum()];
        for weight in [DigitWeights::LARGEST, -DigitWeights::LARGEST, 127, -128] {
            let mut weights = DigitWeights::new(lengths);
            let counts: Vec<usize> = lengths
                .iter()
                .zip([2, 4, 8])
                .map(|(own, per)| own * per)
                .collect();
            let counts = <[usize; 3]>::try_from(counts).unwrap();
            weights.fill(counts.map(|count| std::iter::repeat_n(weight, count)));
            let digits = counts
                .iter()
                .zip([15, 3, 1])
                .map(|(count, most)| *count as i32 * most);
            let wanted = digits.sum::<i32>() * i32::from(weight);
            for set in sets() {
                let mut sums = [0; 5];
                set.digit_sums_gather()(&weights, &code, code.len(), &[Place(0); 5], &mut sums);
                assert_eq!(sums, [wanted; 5], "{} {lengths:?} {weight}", set.isa());
            }
        }
    }
}

#[test]
#[should_panic(expected = "a weight is too large")]
fn a_weight_beyond_the_largest_stops() {
    DigitWeights::new([1, 0, 0]).fill([&[i16::MIN][..], &[], &[]].map(|own| own.iter().copied()));
}

#[test]
#[should_panic(expected = "one weight per digit")]
fn more_weights_than_digits_stop() {
    DigitWeights::new([1, 1, 1]).fill([&[1, 2][..], &[1; 5], &[]].map(|own| own.iter().copied()));
}

#[test]
#[should_panic(expected = "range")]
fn a_code_outside_the_codes_stops() {
    let gather = KernelSet::detect().unwrap().bit_sums_gather();
    let weights = BitWeights::new(4, 2);
    gather(&weights, &[0; 43], 4, &[Place(10)], &mut [0]);
}

#[test]
#[should_panic(expected = "one weight per bit")]
fn more_weights_than_bits_stop() {
    BitWeights::new(1, 2).fill(&[0; 9]);
}

#[test]
fn products_with_a_matrix_have_the_same_bits_everywhere() {
    let mut random = SplitMix64::new(3);
    let mut value = || (random.unit() * 2.0 - 1.0) as f32;
    for (rows, columns) in (0..=3)
        .flat_map(|rows| (0..70).map(move |columns| (rows, columns)))
        .chain([(129, 257), (40, 300), (17, 512)])
    {
        let row: Vec<f32> = (0..rows).map(|_| value()).collect();
        let matrix: Vec<f32> = (0..rows * columns).map(|_| value()).collect();
        for set in sets() {
            let mut out = vec![f32::NAN; columns];
            set.project()(&row, &matrix, &mut out);
            for (column, out) in out.iter().enumerate() {
                let wanted =
                    (0..rows).fold(0.0, |sum, i| sum + row[i] * matrix[i * columns + column]);
                assert_eq!(
                    out.to_bits(),
                    f32::to_bits(wanted),
                    "{} {columns}",
                    set.isa()
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_weights_give_the_direct_sum(
        weights in prop::collection::vec(any::<i16>(), 0..900),
        seed: u64,
    ) {
        let code_bytes = weights.len().div_ceil(8);
        assert_sums(&weights, code_bytes, 16, &mut SplitMix64::new(seed));
    }
}

#[test]
fn products_in_fixed_point_are_near_and_have_the_same_bits_everywhere() {
    let mut random = SplitMix64::new(4);
    let mut value = || (random.unit() * 2.0 - 1.0) as f32;
    for (rows, columns) in (0..=5)
        .flat_map(|rows| (0..300).step_by(7).map(move |columns| (rows, columns)))
        .chain([(129, 257), (40, 16), (960, 240), (4096, 1)])
    {
        let row: Vec<f32> = (0..rows).map(|_| 1e3 * value()).collect();
        // Columns of unit length at most.
        let most = (rows as f32).sqrt().recip();
        let values: Vec<f32> = (0..rows * columns).map(|_| most * value()).collect();
        let wide = [columns, 0, columns / 32 * 16][columns % 3];
        let matrix = FixedMatrix::new((rows, columns), wide, &values);
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        let mut twin = vec![f32::NAN; columns];
        KernelSet::for_isa(Isa::Scalar).unwrap().project_fixed()(&matrix, &row, &mut twin);
        for (column, out) in twin.iter().enumerate() {
            let terms = row.iter().enumerate();
            let wanted: f32 = terms.map(|(at, x)| x * matrix.value(at, column)).sum();
            // Rounded numbers of the row, each by half a unit of 2^-15 at most.
            let limit = length * ((rows as f32).sqrt() + 1.0) / 65_536.0 + 1e-6 * length;
            assert!(
                (out - wanted).abs() <= limit,
                "{rows} {column}: {out} {wanted}"
            );
        }
        for set in sets() {
            let mut out = vec![f32::NAN; columns];
            set.project_fixed()(&matrix, &row, &mut out);
            assert_eq!(out, twin, "{} {rows} {columns}", set.isa());
        }
    }
}

#[test]
fn rows_together_have_the_products_of_each() {
    let mut random = SplitMix64::new(5);
    let mut value = || (random.unit() * 2.0 - 1.0) as f32;
    for (rows, columns) in [(0, 3), (3, 0), (5, 17), (40, 131), (129, 257)] {
        let values: Vec<f32> = (0..rows * columns).map(|_| 0.05 * value()).collect();
        let matrix = FixedMatrix::new((rows, columns), columns / 32 * 16, &values);
        for count in [0, 2, 7, 8, 9, 17] {
            let all: Vec<f32> = (0..count * rows).map(|_| value()).collect();
            for set in sets() {
                let mut together = vec![f32::NAN; count * columns];
                set.project_fixed()(&matrix, &all, &mut together);
                for at in 0..count {
                    let mut alone = vec![f32::NAN; columns];
                    let row = &all[at * rows..][..rows];
                    set.project_fixed()(&matrix, row, &mut alone);
                    let own = &together[at * columns..][..columns];
                    assert_eq!(own, alone, "{} {rows} {columns} {at}", set.isa());
                }
            }
        }
    }
}
