//! Generated data and a brute-force oracle, shared by the engine's tests.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses a part of this"
)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

use std::path::Path;

use pageway::source::VectorSlice;
use pageway::{
    Answers, BuildInput, BuildOptions, BuildReport, ElementType, Error, ErrorKind, Index,
    MemoryWish, Metric, NoProgress, Preset, Result, VectorShape,
};

/// Rows of one shape around a few centres, as raw bytes.
pub struct Rows {
    pub bytes: Vec<u8>,
    pub shape: VectorShape,
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

impl Rows {
    /// `count` rows around 20 centres.
    pub fn clustered(count: usize, dimension: u32, element: ElementType, seed: u64) -> Self {
        let mut random = Random(7);
        let centres: Vec<f32> = (0..20 * dimension)
            .map(|_| random.below(160) as f32 - 80.0)
            .collect();
        let mut random = Random(seed);
        let mut bytes = Vec::new();
        for _ in 0..count {
            let centre = random.below(20) as usize * dimension as usize;
            for component in 0..dimension as usize {
                let noise = (0..4).map(|_| random.below(21) as f32 - 10.0).sum::<f32>();
                push(&mut bytes, element, centres[centre + component] + noise);
            }
        }
        Self {
            bytes,
            shape: VectorShape { dimension, element },
        }
    }

    /// `count` rows of bits around 20 centres, one bit in sixteen another.
    pub fn bits(count: usize, dimension: u32, seed: u64) -> Self {
        let mut random = Random(7);
        let width = dimension as usize / 8;
        let centres: Vec<u8> = (0..20 * width).map(|_| random.next() as u8).collect();
        let mut random = Random(seed);
        let mut bytes = Vec::new();
        for _ in 0..count {
            let centre = random.below(20) as usize * width;
            for byte in &centres[centre..][..width] {
                let noise = (0..4).fold(0xFF, |noise, _| noise & random.next() as u8);
                bytes.push(byte ^ noise);
            }
        }
        Self {
            bytes,
            shape: VectorShape {
                dimension,
                element: ElementType::Bit,
            },
        }
    }

    pub fn count(&self) -> usize {
        self.bytes.len() / self.shape.row_bytes()
    }

    pub fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.shape.row_bytes()..][..self.shape.row_bytes()]
    }

    pub fn values(&self, row: usize) -> Vec<f64> {
        let row = self.row(row);
        match self.shape.element {
            ElementType::F32 => decoded(row, |bytes| f64::from(f32::from_le_bytes(bytes))),
            ElementType::F16 => decoded(row, |bytes| half::f16::from_le_bytes(bytes).to_f64()),
            ElementType::Bf16 => decoded(row, |bytes| half::bf16::from_le_bytes(bytes).to_f64()),
            ElementType::U8 => decoded(row, |[byte]| f64::from(byte)),
            ElementType::I8 => decoded(row, |[byte]| f64::from(byte as i8)),
            ElementType::Bit => {
                let bits = |byte: &u8| (0..8).rev().map(|at| f64::from(byte >> at & 1)).collect();
                row.iter()
                    .flat_map(|byte| -> Vec<f64> { bits(byte) })
                    .collect()
            }
        }
    }

    pub fn build(&self, dir: &Path, options: &BuildOptions) -> Result<BuildReport> {
        let vectors = VectorSlice::new(&self.bytes, self.shape)?;
        let input = BuildInput::new(&vectors, "rows");
        Index::build(dir, &input, options, &NoProgress)
    }
}

/// What builds a small index quickly, in memory that is enough for it.
pub fn small(preset: Preset, metric: Metric) -> BuildOptions {
    BuildOptions::default()
        .with_preset(preset)
        .with_metric(metric)
        .with_memory(MemoryWish::Bytes(4_000_000))
        .with_degree(16)
        .with_build_list(32)
        .with_calibration_queries(2)
}

fn push(bytes: &mut Vec<u8>, element: ElementType, value: f32) {
    match element {
        ElementType::F32 => bytes.extend(value.to_le_bytes()),
        ElementType::F16 => bytes.extend(half::f16::from_f32(value).to_le_bytes()),
        ElementType::Bf16 => bytes.extend(half::bf16::from_f32(value).to_le_bytes()),
        ElementType::U8 => bytes.push((value + 128.0).clamp(0.0, 255.0) as u8),
        ElementType::I8 => bytes.push(value.clamp(-128.0, 127.0) as i8 as u8),
        ElementType::Bit => unreachable!("bits come in bytes"),
    }
}

/// The numbers of a row, of `N` bytes each.
fn decoded<const N: usize>(row: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    let (numbers, _) = row.as_chunks::<N>();
    numbers.iter().map(|bytes| value(*bytes)).collect()
}

/// The distance by its definition, in double precision.
pub fn distance(a: &[f64], b: &[f64], metric: Metric) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    match metric {
        Metric::L2 => a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum(),
        Metric::InnerProduct => -dot(a, b),
        Metric::Cosine => 1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt(),
        Metric::L1 | Metric::Hamming => a.iter().zip(b).map(|(x, y)| (x - y).abs()).sum(),
        Metric::Jaccard => {
            let both = dot(a, b);
            let either = dot(a, a) + dot(b, b) - both;
            if either == 0.0 {
                0.0
            } else {
                1.0 - both / either
            }
        }
    }
}

/// The `k` nearest rows of `base` to row `query` of `queries`.
pub fn nearest(base: &Rows, queries: &Rows, query: usize, k: usize, metric: Metric) -> Vec<u64> {
    let target = queries.values(query);
    let mut all: Vec<(f64, u64)> = (0..base.count())
        .map(|row| (distance(&target, &base.values(row), metric), row as u64))
        .collect();
    let by_distance = |a: &(f64, u64), b: &(f64, u64)| a.partial_cmp(b).unwrap();
    if k < all.len() {
        all.select_nth_unstable_by(k, by_distance);
        all.truncate(k);
    }
    all.sort_by(by_distance);
    all.into_iter().map(|(_, row)| row).collect()
}

/// Share of the true neighbours by L2 among answers whose ids are row numbers.
pub fn recall(base: &Rows, queries: &Rows, answers: &Answers) -> f64 {
    let found = |query: usize| {
        let truth = nearest(base, queries, query, answers.k, Metric::L2);
        let ids = &answers.ids[query * answers.k..][..answers.k];
        ids.iter().filter(|id| truth.contains(id)).count()
    };
    let all: usize = (0..queries.count()).map(found).sum();
    all as f64 / (queries.count() * answers.k) as f64
}

/// The memory that a refusal names.
pub fn smallest_that_works(error: &Error) -> u64 {
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let (_, tail) = error
        .context()
        .split_once("smallest that works is ")
        .unwrap();
    tail.split(' ').next().unwrap().parse().unwrap()
}
