//! Every instruction set against the scalar twin, and the twin against sums in `f64`.
#![expect(clippy::indexing_slicing, reason = "components of known size")]

use half::{bf16, f16};
use pageway_kernels::{
    DistanceFn, Isa, IsaError, KernelSet, PANEL_ROWS, pack_panels, panel_values,
};
use pageway_types::{ElementType, Metric, Place};
use proptest::prelude::*;

/// Largest error of a float distance of `n` components, relative to the sum of its absolute terms:
/// each of at least sixteen partial sums rounds `n / 16` times, by `2^-24` at most.
fn tolerance(n: usize) -> f64 {
    1e-6 + n as f64 * 4e-9
}

fn sets() -> Vec<&'static KernelSet> {
    KernelSet::available()
        .into_iter()
        .map(|isa| KernelSet::for_isa(isa).expect("listed"))
        .collect()
}

fn scalar() -> &'static KernelSet {
    KernelSet::for_isa(Isa::Scalar).expect("always there")
}

/// A deterministic source of component bytes.
struct Source(u64);

impl Source {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn component(&mut self, element: ElementType) -> Vec<u8> {
        match element {
            ElementType::F32 => self.float().to_le_bytes().to_vec(),
            ElementType::F16 => f16::from_f32(self.float()).to_le_bytes().to_vec(),
            ElementType::Bf16 => bf16::from_f32(self.float()).to_le_bytes().to_vec(),
            ElementType::U8 | ElementType::I8 => vec![self.next() as u8],
            ElementType::Bit => unreachable!("bits come in bytes"),
        }
    }

    /// `offset` bytes of noise, then a vector, so that the vector is not aligned.
    fn vector(&mut self, element: ElementType, dimension: usize, offset: usize) -> Vec<u8> {
        let mut bytes = vec![0xA5; offset];
        if element == ElementType::Bit {
            bytes.extend((0..dimension.div_ceil(8)).map(|_| self.next() as u8));
            return bytes;
        }
        for _ in 0..dimension {
            bytes.extend(self.component(element));
        }
        bytes
    }
}

/// The components as numbers.
fn values(element: ElementType, bytes: &[u8]) -> Vec<f64> {
    if element == ElementType::Bit {
        let bits = |byte: &u8| {
            (0..8)
                .rev()
                .map(|at| f64::from(byte >> at & 1))
                .collect::<Vec<_>>()
        };
        return bytes.iter().flat_map(bits).collect();
    }
    bytes
        .chunks_exact(element.bytes_of(1))
        .map(|component| match element {
            ElementType::F32 => f32::from_le_bytes(component.try_into().expect("four")).into(),
            ElementType::F16 => f16::from_le_bytes(component.try_into().expect("two")).into(),
            ElementType::Bf16 => bf16::from_le_bytes(component.try_into().expect("two")).into(),
            ElementType::U8 => component[0].into(),
            ElementType::I8 => component[0].cast_signed().into(),
            ElementType::Bit => unreachable!("bits come in bytes"),
        })
        .collect()
}

/// The distance in `f64`, and how far from it a kernel may be.
fn exact(element: ElementType, metric: Metric, a: &[u8], b: &[u8]) -> (f64, f64) {
    let (a, b) = (values(element, a), values(element, b));
    let sum = |term: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(&x, &y)| term(x, y)).sum::<f64>();
    let tolerance = tolerance(a.len());
    let (dot, absolute) = (sum(|x, y| x * y), sum(|x, y| (x * y).abs()));
    match metric {
        Metric::L2 => {
            let distance = sum(|x, y| (x - y) * (x - y));
            (distance, distance * tolerance)
        }
        Metric::L1 | Metric::Hamming => {
            let distance = sum(|x, y| (x - y).abs());
            (distance, distance * tolerance)
        }
        Metric::Jaccard => {
            let either = sum(|x, _| x * x) + sum(|_, y| y * y) - dot;
            if either == 0.0 {
                (0.0, 0.0)
            } else {
                (1.0 - dot / either, 3.0 * tolerance)
            }
        }
        Metric::InnerProduct => (-dot, absolute * tolerance),
        Metric::Cosine => {
            let norms = (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt();
            if norms == 0.0 {
                (1.0, 0.0)
            } else {
                (1.0 - dot / norms, 3.0 * tolerance)
            }
        }
    }
}

fn assert_distance(set: &KernelSet, element: ElementType, metric: Metric, a: &[u8], b: &[u8]) {
    let got = set.distance(element, metric)(a, b);
    let twin = scalar().distance(element, metric)(a, b);
    let (wanted, tolerance) = exact(element, metric, a, b);
    let place = format!("{} {element} {metric:?} of {} bytes", set.isa(), a.len());
    if element.is_float() {
        let error = (f64::from(got) - wanted).abs();
        assert!(error <= tolerance, "{place}: {got}, not {wanted}");
    } else {
        assert_eq!(got.to_bits(), twin.to_bits(), "{place}: {got}, not {twin}");
        assert_eq!(got, wanted as f32, "{place}");
    }
}

#[test]
fn every_dimension_at_every_alignment() {
    let mut source = Source(1);
    for dimension in 1..=300 {
        for element in ElementType::ALL {
            let (left, right) = (dimension % 7, (dimension * 3 + 1) % 16);
            let a = source.vector(element, dimension, left);
            let b = source.vector(element, dimension, right);
            for set in sets() {
                for metric in Metric::all_of(element) {
                    assert_distance(set, element, metric, &a[left..], &b[right..]);
                }
                let norm = set.squared_norm(element)(&a[left..]);
                let (dot, tolerance) = exact(element, Metric::InnerProduct, &a[left..], &a[left..]);
                assert!(
                    (f64::from(norm) + dot).abs() <= tolerance,
                    "{} {element}",
                    set.isa()
                );
            }
        }
    }
}

#[test]
fn the_largest_dimension_and_the_extremes_of_each_type() {
    let half = |value: u16| value.to_le_bytes().to_vec();
    let float = |value: f32| value.to_le_bytes().to_vec();
    let extremes = [
        (
            ElementType::U8,
            vec![vec![0], vec![255], vec![128], vec![127]],
        ),
        (
            ElementType::I8,
            vec![vec![0x80], vec![0x7F], vec![0], vec![0xFF]],
        ),
        // Largest finite, its negative, smallest subnormal, zero.
        (
            ElementType::F16,
            vec![half(0x7BFF), half(0xFBFF), half(1), half(0)],
        ),
        (ElementType::Bit, vec![vec![0], vec![0xFF], vec![0xA5]]),
        // 1e16, its negative, 1e-18, zero.
        (
            ElementType::Bf16,
            vec![half(0x5A0E), half(0xDA0E), half(0x2194), half(0)],
        ),
        (
            ElementType::F32,
            vec![float(1e16), float(-1e16), float(1e-18), float(0.0)],
        ),
    ];
    for (element, components) in extremes {
        for dimension in [1, 65, 16_384] {
            for (x, y) in components
                .iter()
                .flat_map(|x| components.iter().map(move |y| (x, y)))
            {
                let times = element.bytes_of(dimension) / x.len();
                let (a, b) = (x.repeat(times), y.repeat(times));
                for set in sets() {
                    for metric in Metric::all_of(element) {
                        assert_distance(set, element, metric, &a, &b);
                    }
                }
            }
        }
    }
}

#[test]
fn cosine_of_zero_is_one_and_of_itself_zero() {
    let mut source = Source(3);
    for set in sets() {
        for element in ElementType::ALL {
            let cosine: DistanceFn = set.distance(element, Metric::Cosine);
            let vector = source.vector(element, 77, 0);
            let zero = vec![0; vector.len()];
            assert_eq!(cosine(&vector, &zero), 1.0);
            assert_eq!(cosine(&zero, &zero), 1.0);
            assert_eq!(cosine(&vector, &vector), 0.0, "{} {element}", set.isa());
            assert_eq!(cosine(&[], &[]), 1.0);
        }
        // Squared norms of 1e36 have no product in f32.
        let large: Vec<u8> = [6e17_f32, 8e17]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        assert_eq!(
            set.distance(ElementType::F32, Metric::Cosine)(&large, &large),
            0.0
        );
    }
}

#[test]
fn halves_are_compared_with_floats_as_if_they_were_widened() {
    let mut source = Source(11);
    let pair = (ElementType::F32, ElementType::F16);
    for dimension in (0..=300).chain([960, 16_384]) {
        let (left, right) = (dimension % 7, (dimension * 3 + 1) % 16);
        let query = source.vector(ElementType::F32, dimension, left);
        let row = source.vector(ElementType::F16, dimension, right);
        let (query, row) = (&query[left..], &row[right..]);
        let widened: Vec<u8> = values(ElementType::F16, row)
            .into_iter()
            .flat_map(|value| (value as f32).to_le_bytes())
            .collect();
        let metrics = || Metric::all_of(ElementType::F32);
        for (set, metric) in sets()
            .into_iter()
            .flat_map(|set| metrics().map(move |m| (set, m)))
        {
            let between = set.distance_to(pair, metric).expect("a pair with a kernel");
            let wanted = set.distance(ElementType::F32, metric)(query, &widened);
            let got = between(query, row);
            let place = format!("{} {metric:?} of {dimension}", set.isa());
            assert_eq!(got.to_bits(), wanted.to_bits(), "{place}");
            assert_distance(set, ElementType::F32, metric, query, &widened);
            if dimension > 0 {
                let many = set.distance_many_to(pair, metric).expect("that pair");
                let mut out = [f32::NAN; 2];
                let rows = row.repeat(2);
                many(query, &rows, row.len(), &[Place(1), Place(0)], &mut out);
                assert_eq!(out, [got; 2], "{place}");
            }
        }
    }
    for set in sets() {
        let back = (ElementType::F16, ElementType::F32);
        assert!(set.distance_to(back, Metric::L2).is_none());
        let same = (ElementType::U8, ElementType::U8);
        assert!(set.distance_to(same, Metric::L2).is_some());
    }
}

#[test]
fn many_distances_equal_single_ones() {
    let mut source = Source(4);
    for element in ElementType::ALL {
        for dimension in [1, 7, 64, 100, 128, 385, 1025] {
            let row_bytes = element.bytes_of(dimension);
            let rows = source.vector(element, element.components_in(row_bytes) * 50, 3);
            let query = source.vector(element, dimension, 1);
            let (rows, query) = (&rows[3..], &query[1..]);
            for (set, metric) in sets()
                .into_iter()
                .flat_map(|set| Metric::all_of(element).map(move |metric| (set, metric)))
            {
                for count in [0, 1, 2, 3, 4, 5, 31, 64] {
                    let places: Vec<Place> = (0..count)
                        .map(|_| Place((source.next() % 50) as u32))
                        .collect();
                    let mut out = vec![f32::NAN; count];
                    set.distance_many(element, metric)(query, rows, row_bytes, &places, &mut out);
                    for (place, got) in places.iter().zip(out) {
                        let row = &rows[place.index() * row_bytes..][..row_bytes];
                        let one = set.distance(element, metric)(query, row);
                        assert_eq!(got.to_bits(), one.to_bits(), "{} {element}", set.isa());
                    }
                }
            }
        }
    }
}

#[test]
fn transforms_are_those_of_the_twin_and_undone_by_another() {
    let mut source = Source(10);
    for length in (0..13).map(|log| 1 << log) {
        let given: Vec<f32> = (0..length).map(|_| source.float()).collect();
        let mut wanted = given.clone();
        scalar().hadamard()(&mut wanted);
        for set in sets() {
            let mut values = given.clone();
            set.hadamard()(&mut values);
            assert_eq!(values, wanted, "{} {length}", set.isa());
            set.hadamard()(&mut values);
            for (value, given) in values.iter().zip(&given) {
                assert!(
                    (value / length as f32 - given).abs() < 1e-5,
                    "{}",
                    set.isa()
                );
            }
        }
    }
}

/// Products with both halves, one after the other.
fn direct_products(halves: [&[u8]; 2], row: &[u8]) -> [i32; 2] {
    halves.map(|half| {
        let pairs = half.iter().zip(row);
        let products = pairs.map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed()));
        products.sum()
    })
}

#[test]
fn products_with_two_bytes_are_exact() {
    let mut source = Source(9);
    let mut random =
        |count: usize| -> Vec<u8> { (0..count).map(|_| source.next() as u8).collect() };
    for (dimension, count) in (0..=200)
        .zip((0..10).cycle())
        .chain([(960, 33), (16_384, 5)])
    {
        let (high, low) = (random(dimension), random(dimension));
        for rows in [random(dimension * count), vec![0x80; dimension * count]] {
            for (high, low) in [(&*high, &*low), (&*vec![0x80; dimension], &*low)] {
                let wanted: Vec<_> = (0..count)
                    .map(|row| direct_products([high, low], &rows[row * dimension..][..dimension]))
                    .collect();
                for set in sets() {
                    let mut out = vec![[7; 2]; count];
                    set.pair_products()([high, low], &rows, &mut out);
                    assert_eq!(out, wanted, "{} {dimension}", set.isa());
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "range")]
fn a_node_outside_the_rows_stops() {
    let many = KernelSet::detect()
        .expect("a set")
        .distance_many(ElementType::U8, Metric::L2);
    many(&[0; 16], &[0; 160], 16, &[Place(10)], &mut [0.0]);
}

#[test]
#[should_panic(expected = "range")]
fn a_code_outside_the_codes_stops() {
    let gather = KernelSet::detect().expect("a set").lookup_gather();
    gather(&[0.0; 512], &[0; 20], &[Place(10)], &mut [0.0]);
}

#[test]
fn widening_is_exact() {
    let mut source = Source(5);
    for dimension in 0..=300 {
        for element in ElementType::ALL {
            let bytes = source.vector(element, dimension, 1);
            let wanted: Vec<f32> = values(element, &bytes[1..])
                .into_iter()
                .map(|value| value as f32)
                .collect();
            for set in sets() {
                let mut out = vec![f32::NAN; wanted.len()];
                set.widen(element)(&bytes[1..], &mut out);
                assert_eq!(out, wanted, "{} {element}", set.isa());
            }
        }
    }
}

#[test]
fn every_half_widens_exactly() {
    assert_widens(ElementType::F16, 0x7C00, |bits| {
        f16::from_bits(bits).to_f32()
    });
    assert_widens(ElementType::Bf16, 0x7F80, |bits| {
        bf16::from_bits(bits).to_f32()
    });
}

/// All bit patterns but infinities and NaN, whose exponent has all bits of `exponent`.
fn assert_widens(element: ElementType, exponent: u16, value: impl Fn(u16) -> f32) {
    let patterns: Vec<u16> = (0..=u16::MAX)
        .filter(|bits| bits & exponent != exponent)
        .collect();
    let bytes: Vec<u8> = patterns
        .iter()
        .flat_map(|bits| bits.to_le_bytes())
        .collect();
    let wanted: Vec<u32> = patterns.iter().map(|&bits| value(bits).to_bits()).collect();
    for set in sets() {
        let mut out = vec![f32::NAN; patterns.len()];
        set.widen(element)(&bytes, &mut out);
        let got: Vec<u32> = out.iter().map(|value| value.to_bits()).collect();
        assert!(got == wanted, "{}", set.isa());
    }
}

#[test]
fn tables_have_the_same_bits_everywhere() {
    let mut source = Source(6);
    for dimension in 0..=40 {
        let sub: Vec<f32> = (0..dimension).map(|_| source.float()).collect();
        let centroids: Vec<f32> = (0..dimension * 256).map(|_| source.float()).collect();
        let table = |set: &KernelSet| {
            let (mut l2, mut dot) = ([f32::NAN; 256], [f32::NAN; 256]);
            set.l2_to_256()(&sub, &centroids, &mut l2);
            set.dot_to_256()(&sub, &centroids, &mut dot);
            (l2.map(f32::to_bits), dot.map(f32::to_bits))
        };
        let wanted = table(scalar());
        for set in sets() {
            assert!(table(set) == wanted, "{} {dimension}-d", set.isa());
            let (nearest, distance) = set.nearest_of_256()(&sub, &centroids);
            let smallest = wanted
                .0
                .iter()
                .map(|&bits| f32::from_bits(bits))
                .reduce(f32::min);
            let first = wanted
                .0
                .iter()
                .position(|&bits| Some(f32::from_bits(bits)) == smallest);
            assert_eq!(
                (usize::from(nearest), Some(distance)),
                (first.expect("one"), smallest)
            );
        }
    }
}

#[test]
fn the_twin_computes_what_its_names_say() {
    let (sub, mut centroids) = ([1.0, 2.0], vec![0.0; 512]);
    (centroids[3], centroids[256 + 3]) = (4.0, 6.0);
    let mut out = [0.0; 256];
    scalar().l2_to_256()(&sub, &centroids, &mut out);
    assert_eq!((out[0], out[3]), (5.0, 25.0));
    scalar().dot_to_256()(&sub, &centroids, &mut out);
    assert_eq!((out[0], out[3]), (0.0, 16.0));
    let mut sums = [0.0; 2];
    let table: Vec<f32> = (0..1280).map(|entry| entry as f32).collect();
    scalar().lookup()(&table, &[1, 2, 3, 4, 5, 0, 0, 0, 0, 255], &mut sums);
    assert_eq!(sums, [2575.0, 2560.0 + 255.0]);
    scalar().lookup_gather()(&table, &[0; 15], &[Place(2)], &mut sums[..1]);
    assert_eq!(sums[0], 2560.0);
}

#[test]
fn the_lowest_of_equal_centroids_wins() {
    for set in sets() {
        for (first, second) in [(0, 1), (7, 8), (15, 16), (63, 64), (3, 255), (254, 255)] {
            let mut centroids = [5.0; 256];
            (centroids[first], centroids[second]) = (1.5, 0.5);
            let (index, distance) = set.nearest_of_256()(&[1.0], &centroids);
            assert_eq!(
                (usize::from(index), distance),
                (first, 0.25),
                "{}",
                set.isa()
            );
        }
        assert_eq!(set.nearest_of_256()(&[1.0], &[1.0; 256]), (0, 0.0));
        // So far away that the squares overflow.
        assert_eq!(
            set.nearest_of_256()(&[1e30], &[0.0; 256]),
            (0, f32::INFINITY)
        );
    }
}

#[test]
fn lookups_have_the_same_bits_everywhere() {
    let mut source = Source(7);
    for code_bytes in (0..=70).chain([96, 128, 255, 512]) {
        let table: Vec<f32> = (0..code_bytes * 256).map(|_| source.float()).collect();
        let codes: Vec<u8> = (0..code_bytes * 37).map(|_| source.next() as u8).collect();
        for count in [0, 1, 3, 8, 37] {
            let places: Vec<Place> = (0..count)
                .map(|_| Place((source.next() % 37) as u32))
                .collect();
            let sums = |set: &KernelSet| {
                let (mut straight, mut gathered) = (vec![f32::NAN; count], vec![f32::NAN; count]);
                set.lookup()(&table, &codes[..count * code_bytes], &mut straight);
                set.lookup_gather()(&table, &codes, &places, &mut gathered);
                let bits = |sums: Vec<f32>| sums.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                (bits(straight), bits(gathered))
            };
            let wanted = sums(scalar());
            for set in sets() {
                assert_eq!(sums(set), wanted, "{} {code_bytes}", set.isa());
            }
        }
    }
}

/// Against `f64`, for tiles and panels of every fill; the sets of registers agree to the bit.
#[test]
fn products_of_matrices_are_those_of_their_rows() {
    let mut source = Source(8);
    for (count, others, dimension) in [
        (1, 1, 1),
        (2, 31, 3),
        (7, 32, 128),
        (8, 33, 16),
        (9, 64, 17),
        (25, 70, 961),
        (0, 5, 4),
        (3, 0, 4),
    ] {
        let mut values = |rows: usize| -> Vec<f32> {
            (0..rows * dimension)
                .map(|_| source.float() * 9.0)
                .collect()
        };
        let (rows, columns) = (values(count), values(others));
        let mut panels = vec![f32::NAN; panel_values(others, dimension)];
        pack_panels(&columns, dimension, &mut panels);
        let width = panels.len() / dimension;
        let mut first: Option<Vec<u32>> = None;
        for set in sets() {
            let mut out = vec![f32::NAN; count * width];
            set.dot_panels()(&rows, &panels, dimension, &mut out);
            for (at, &got) in out.iter().enumerate() {
                let row = &rows[at / width * dimension..][..dimension];
                let column = (at % width) * dimension..(at % width + 1) * dimension;
                let column = columns
                    .get(column)
                    .map_or(vec![0.0; dimension], <[f32]>::to_vec);
                let terms = || {
                    row.iter()
                        .zip(&column)
                        .map(|(&x, &y)| f64::from(x) * f64::from(y))
                };
                let bound = terms().map(f64::abs).sum::<f64>() * dimension as f64 / 8e6;
                let error = (f64::from(got) - terms().sum::<f64>()).abs();
                assert!(error <= bound, "{} {count} x {others}: {got}", set.isa());
            }
            if set.isa() != Isa::Scalar {
                let bits: Vec<u32> = out.iter().map(|value| value.to_bits()).collect();
                assert!(
                    first.get_or_insert_with(|| bits.clone()) == &bits,
                    "{}",
                    set.isa()
                );
            }
        }
    }
}

#[test]
fn a_product_does_not_depend_on_its_place_or_order() {
    let mut source = Source(9);
    let dimension = 37;
    let rows: Vec<f32> = (0..41 * dimension).map(|_| source.float()).collect();
    let mut panels = vec![0.0; panel_values(41, dimension)];
    pack_panels(&rows, dimension, &mut panels);
    for set in sets() {
        let mut out = vec![0.0; 41 * 2 * PANEL_ROWS];
        set.dot_panels()(&rows, &panels, dimension, &mut out);
        let product = |a: usize, b: usize| out[a * 2 * PANEL_ROWS + b].to_bits();
        for (a, b) in (0..41).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert_eq!(product(a, b), product(b, a), "{}", set.isa());
        }
        let mut one = vec![0.0; PANEL_ROWS];
        let panel = &panels[PANEL_ROWS * dimension..];
        set.dot_panels()(&rows[dimension..2 * dimension], panel, dimension, &mut one);
        assert_eq!(one[8].to_bits(), product(1, 40), "{}", set.isa());
    }
}

#[test]
fn near_rows_have_the_same_bits_and_marks_everywhere() {
    let mut source = Source(10);
    for _ in 0..100 {
        let mut values = || -> [f32; PANEL_ROWS] { std::array::from_fn(|_| source.float()) };
        let (products, mut norms, limits) = (values(), values(), values());
        (norms[0], norms[31]) = (f32::INFINITY, 0.0);
        let mut twin = products;
        let marks = scalar().near()(&mut twin, (0.5, 0.1), &norms, &limits);
        for (lane, &distance) in twin.iter().enumerate() {
            assert_eq!(distance, (0.5 + norms[lane]) - 2.0 * products[lane]);
            let near = distance < 0.1 || distance < limits[lane];
            assert_eq!(marks >> lane & 1 == 1, near);
        }
        for set in sets() {
            let mut got = products;
            assert_eq!(
                set.near()(&mut got, (0.5, 0.1), &norms, &limits),
                marks,
                "{}",
                set.isa()
            );
            assert_eq!(
                got.map(f32::to_bits),
                twin.map(f32::to_bits),
                "{}",
                set.isa()
            );
        }
    }
}

#[test]
#[should_panic(expected = "a product for every pair")]
fn a_short_outcome_stops() {
    let product = KernelSet::detect().expect("a set").dot_panels();
    product(&[0.0; 8], &[0.0; 4 * PANEL_ROWS], 4, &mut [0.0; PANEL_ROWS]);
}

#[test]
fn a_set_knows_its_name_and_foreign_ones_are_refused() {
    for set in sets() {
        assert!(std::ptr::eq(
            KernelSet::for_isa(set.isa()).expect("itself"),
            set
        ));
    }
    let foreign = if cfg!(target_arch = "aarch64") {
        Isa::Avx2
    } else {
        Isa::Neon
    };
    assert_eq!(
        KernelSet::for_isa(foreign).err(),
        Some(IsaError::Unsupported { isa: foreign })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any bytes are valid integers, so distances of any two slices agree to the bit.
    #[test]
    fn integer_distances_agree(bytes in prop::collection::vec(any::<u8>(), 2..1200)) {
        let (a, b) = bytes.split_at(bytes.len() / 2);
        let b = &b[..a.len()];
        for set in sets() {
            for element in [ElementType::U8, ElementType::I8, ElementType::Bit] {
                for metric in Metric::all_of(element) {
                    assert_distance(set, element, metric, a, b);
                }
            }
        }
    }

    /// Finite floats of any size whose squares neither overflow nor vanish.
    #[test]
    fn float_distances_agree(
        pairs in prop::collection::vec((-1e15_f32..1e15, -1e3_f32..1e3), 1..700),
    ) {
        let bytes = |pick: fn(&(f32, f32)) -> f32| -> Vec<u8> {
            pairs.iter().flat_map(|pair| pick(pair).to_le_bytes()).collect()
        };
        let (a, b) = (bytes(|pair| pair.0), bytes(|pair| pair.1));
        for set in sets() {
            for metric in Metric::all_of(ElementType::F32) {
                assert_distance(set, ElementType::F32, metric, &a, &b);
                assert_distance(set, ElementType::F32, metric, &a, &a);
            }
        }
    }
}
