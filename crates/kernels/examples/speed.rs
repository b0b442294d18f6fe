//! Prints what the kernels cost on this machine, in nanoseconds, for every instruction set.
//!
//! `cargo run --release -p pageway-kernels --example speed`
#![expect(clippy::print_stdout, reason = "a program whose purpose is to print")]
#![expect(
    clippy::indexing_slicing,
    reason = "rows of a matrix that is made here"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "measures time without the store crate"
)]

use std::hint::black_box;
use std::time::Instant;

use pageway_kernels::{
    BLOCK_CODES, BitWeights, BlockFactors, BlockWeights, DigitWeights, Estimator, FixedMatrix,
    IsaError, KernelSet, pack_panels, panel_values,
};
use pageway_types::{ElementType, Metric, Place};

/// Rows of the matrix fit a cache, or do not.
const ROW_COUNTS: [usize; 2] = [64, 400_000];
const PLACES_PER_CALL: usize = 40;
const CODE_BYTES: usize = 32;

struct Case {
    name: &'static str,
    element: ElementType,
    metric: Metric,
    dimension: usize,
}

const CASES: [Case; 8] = [
    Case {
        name: "u8   128 l2",
        element: ElementType::U8,
        metric: Metric::L2,
        dimension: 128,
    },
    Case {
        name: "i8   100 l2",
        element: ElementType::I8,
        metric: Metric::L2,
        dimension: 100,
    },
    Case {
        name: "u8   128 ip",
        element: ElementType::U8,
        metric: Metric::InnerProduct,
        dimension: 128,
    },
    Case {
        name: "f16  384 l2",
        element: ElementType::F16,
        metric: Metric::L2,
        dimension: 384,
    },
    Case {
        name: "f32   96 l2",
        element: ElementType::F32,
        metric: Metric::L2,
        dimension: 96,
    },
    Case {
        name: "f32  384 l2",
        element: ElementType::F32,
        metric: Metric::L2,
        dimension: 384,
    },
    Case {
        name: "f32  384 cos",
        element: ElementType::F32,
        metric: Metric::Cosine,
        dimension: 384,
    },
    Case {
        name: "f32  960 l2",
        element: ElementType::F32,
        metric: Metric::L2,
        dimension: 960,
    },
];

fn main() -> Result<(), IsaError> {
    for isa in KernelSet::available() {
        let kernels = KernelSet::for_isa(isa)?;
        println!(
            "{isa}: ns per row, {} rows | {} rows, random",
            ROW_COUNTS[0], ROW_COUNTS[1]
        );
        for case in &CASES {
            distances(kernels, case);
        }
        codes(kernels);
        tables(kernels);
        products(kernels);
        bits(kernels);
        digits(kernels);
        fixed(kernels);
    }
    Ok(())
}

fn distances(kernels: &KernelSet, case: &Case) {
    let row_bytes = case.element.bytes_of(case.dimension);
    let many = kernels.distance_many(case.element, case.metric);
    let one = kernels.distance(case.element, case.metric);
    print!("  {}", case.name);
    for rows in ROW_COUNTS {
        let rows = rows.min((600 << 20) / row_bytes);
        let matrix = random_bytes(rows * row_bytes + 64);
        let matrix = aligned(&matrix, rows * row_bytes);
        let places = random_places(rows, PLACES_PER_CALL * 2_000);
        let query = &matrix[..row_bytes];
        let mut out = [0.0; PLACES_PER_CALL];
        let in_many = nanoseconds(places.len(), || {
            for places in places.chunks(PLACES_PER_CALL) {
                many(query, matrix, row_bytes, places, &mut out);
                black_box(&out);
            }
        });
        let in_one = nanoseconds(places.len(), || {
            for place in &places {
                black_box(one(
                    query,
                    &matrix[place.index() * row_bytes..][..row_bytes],
                ));
            }
        });
        print!("  many {in_many:6.1}  one {in_one:6.1}  |");
    }
    println!();
}

fn codes(kernels: &KernelSet) {
    let rows = 1 << 20;
    let codes = random_bytes(rows * CODE_BYTES + 64);
    let codes = aligned(&codes, rows * CODE_BYTES);
    let table: Vec<f32> = (0..CODE_BYTES * 256).map(|entry| entry as f32).collect();
    let places = random_places(rows, PLACES_PER_CALL * 2_000);
    let mut out = [0.0; PLACES_PER_CALL];
    let gather = nanoseconds(places.len(), || {
        for places in places.chunks(PLACES_PER_CALL) {
            kernels.lookup_gather()(&table, codes, places, &mut out);
            black_box(&out);
        }
    });
    let near = &codes[..PLACES_PER_CALL * CODE_BYTES];
    let contiguous = nanoseconds(places.len(), || {
        for _ in places.chunks(PLACES_PER_CALL) {
            kernels.lookup()(&table, black_box(near), &mut out);
            black_box(&out);
        }
    });
    println!("  32-byte codes: contiguous {contiguous:.1}  random in 32 MB {gather:.1}");
}

fn tables(kernels: &KernelSet) {
    for dimension in [4, 8] {
        let sub: Vec<f32> = (0..dimension).map(|x| x as f32).collect();
        let centroids: Vec<f32> = (0..dimension * 256)
            .map(|x| (x * 37 % 101) as f32)
            .collect();
        let mut out = [0.0; 256];
        let l2 = nanoseconds(20_000, || {
            for _ in 0..20_000 {
                kernels.l2_to_256()(black_box(&sub), &centroids, &mut out);
                black_box(&out);
            }
        });
        let nearest = nanoseconds(20_000, || {
            for _ in 0..20_000 {
                black_box(kernels.nearest_of_256()(black_box(&sub), &centroids));
            }
        });
        println!("  256 centroids, {dimension}-d: l2 {l2:.0}  nearest {nearest:.0}");
    }
}

fn products(kernels: &KernelSet) {
    const ROWS: usize = 256;
    for dimension in [128, 384, 960] {
        let rows: Vec<f32> = (0..ROWS * dimension).map(|x| (x % 97) as f32).collect();
        let mut panels = vec![0.0; panel_values(ROWS, dimension)];
        pack_panels(&rows, dimension, &mut panels);
        let mut out = vec![0.0; ROWS * ROWS];
        let product = nanoseconds(ROWS * ROWS, || {
            kernels.dot_panels()(black_box(&rows), &panels, dimension, &mut out);
            black_box(&out);
        });
        println!("  product of {ROWS} and {ROWS} rows, {dimension}-d: {product:.2} a pair");
    }
}

/// Codes of some bits per axis, in cache and at random.
fn bits(kernels: &KernelSet) {
    const ROWS: usize = 1 << 18;
    for (dimension, per_axis, planes) in [(128, 1, 7), (128, 4, 10), (384, 4, 10), (960, 8, 13)] {
        let code_bytes = dimension * per_axis / 8;
        let mut weights = BitWeights::new(code_bytes, planes);
        let values: Vec<i16> = (0..code_bytes as i16 * 8)
            .map(|x| x.wrapping_mul(2741) >> (16 - planes))
            .collect();
        let fill = nanoseconds(100, || {
            for _ in 0..100 {
                weights.fill(black_box(&values));
            }
        });
        let stride = code_bytes + 4;
        let codes = random_bytes(ROWS.min((256 << 20) / stride) * stride);
        let places = random_places(codes.len() / stride, PLACES_PER_CALL * 1_000);
        let mut out = [0; PLACES_PER_CALL];
        let gather = nanoseconds(places.len(), || {
            for places in places.chunks(PLACES_PER_CALL) {
                kernels.bit_sums_gather()(&weights, &codes, stride, places, &mut out);
                black_box(&out);
            }
        });
        let near = &codes[..PLACES_PER_CALL * stride];
        let contiguous = nanoseconds(places.len(), || {
            for _ in places.chunks(PLACES_PER_CALL) {
                kernels.bit_sums()(&weights, black_box(near), stride, &mut out);
                black_box(&out);
            }
        });
        println!(
            "  {per_axis} bits of {dimension} axes: contiguous {contiguous:.1}  random {gather:.1}  \
             weights {fill:.0}"
        );
        blocks(kernels, &values, code_bytes);
    }
}

/// Codes of digits of four bits, of two and of one, in cache and at random.
fn digits(kernels: &KernelSet) {
    const ROWS: usize = 1 << 17;
    for sections in [
        [64, 0, 0],
        [192, 0, 0],
        [128, 48, 24],
        [480, 80, 40],
        [0, 48, 12],
    ] {
        let [fours, twos, ones] = sections;
        let code_bytes = fours + twos + ones;
        let mut weights = DigitWeights::new(sections);
        let value = |at: usize| (at as i16).wrapping_mul(2741) >> 3;
        weights.fill([2 * fours, 4 * twos, 8 * ones].map(|count| (0..count).map(value)));
        let codes = random_bytes(ROWS * code_bytes);
        let places = random_places(ROWS, PLACES_PER_CALL * 1_000);
        let near: Vec<Place> = (0..PLACES_PER_CALL as u32).map(Place).collect();
        let mut out = [0; PLACES_PER_CALL];
        let mut gather = |places: &[Place], calls: usize| {
            nanoseconds(calls * PLACES_PER_CALL, || {
                for places in places.chunks(PLACES_PER_CALL).cycle().take(calls) {
                    let codes = black_box(codes.as_slice());
                    kernels.digit_sums_gather()(&weights, codes, code_bytes, places, &mut out);
                    black_box(&out);
                }
            })
        };
        let (near, random) = (gather(&near, 1_000), gather(&places, 1_000));
        println!(
            "  {sections:?} bytes of fours, twos and ones: near {near:.1}  random {random:.1}"
        );
    }
}

/// Products of one row and of eight with a matrix of some wide and some narrow columns.
fn fixed(kernels: &KernelSet) {
    for (dimension, wide) in [(128, 128), (384, 384), (384, 128), (960, 256)] {
        let values = (0..dimension * dimension).map(|at| (at * 7919 % 2003) as f32 / 2003.0 - 0.5);
        let values: Vec<f32> = values.collect();
        let matrix = FixedMatrix::new((dimension, dimension), wide, &values);
        let mut out = vec![0.0; 8 * dimension];
        let mut project = |rows: usize| {
            nanoseconds(100 * rows, || {
                for _ in 0..100 {
                    let rows = black_box(&values[..rows * dimension]);
                    kernels.project_fixed()(&matrix, rows, &mut out[..rows.len()]);
                    black_box(&out);
                }
            })
        };
        let (one, eight) = (project(1), project(8));
        println!(
            "  fixed point, {dimension} to {dimension}, {wide} wide: one {one:.0}  of eight \
             {eight:.0}"
        );
    }
}

/// The same codes in blocks, with factors of half precision, in cache.
fn blocks(kernels: &KernelSet, values: &[i16], code_bytes: usize) {
    let mut weights = BlockWeights::new(code_bytes);
    let fill = nanoseconds(100, || {
        for _ in 0..100 {
            weights.fill(black_box(values));
        }
    });
    let (factors, estimator) = ([0x33; 4 * BLOCK_CODES], Estimator::default());
    let block = random_bytes(weights.scanned_bytes());
    let (mut sums, mut out) = ([0; BLOCK_CODES], [0.0; BLOCK_CODES]);
    let scan = nanoseconds(1000 * BLOCK_CODES, || {
        for _ in 0..1000 {
            kernels.block_sums()(&weights, black_box(&block), &mut sums);
            let factors = BlockFactors::Half(black_box(&factors));
            black_box(kernels.block_estimates()(
                &estimator, factors, &sums, 0.0, &mut out,
            ));
        }
    });
    println!("    in blocks: {scan:.2}  weights {fill:.0}");
}

/// Nanoseconds per step of the fastest of nine runs.
fn nanoseconds(steps: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / steps as f64
}

/// The first `length` bytes that begin at a cache line.
fn aligned(bytes: &[u8], length: usize) -> &[u8] {
    &bytes[bytes.as_ptr().align_offset(64)..][..length]
}

/// Bytes of a narrow range, so that floats made of them and their squares are normal numbers.
fn random_bytes(length: usize) -> Vec<u8> {
    let mut state = 1;
    (0..length)
        .map(|_| (split_mix(&mut state) % 16) as u8 + 48)
        .collect()
}

fn random_places(rows: usize, count: usize) -> Vec<Place> {
    let mut state = 2;
    (0..count)
        .map(|_| Place((split_mix(&mut state) % rows as u64) as u32))
        .collect()
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
