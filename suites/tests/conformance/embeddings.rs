//! Sentence embeddings in every element type, and the truth about them by brute force.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::source::{OpenAs, VectorFile, VectorSlice};
use pageway::{ElementType, Metric, OsVfs, VectorRead, VectorShape, Vfs};

/// Rows of one element type, and the same as numbers.
pub struct Rows {
    pub bytes: Vec<u8>,
    pub shape: VectorShape,
    values: Vec<f64>,
}

/// How far a suite goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    pub rows: usize,
    pub queries: usize,
    pub dimension: u32,
}

/// Base rows and queries.
pub struct DataSet {
    pub base: Rows,
    pub queries: Rows,
}

impl DataSet {
    /// The first components of the first demo vectors, as `element`. Vectors have different norms.
    pub fn load(element: ElementType, extent: Extent) -> Self {
        let rows = |name, count| Rows::load(name, count, extent.dimension, element);
        Self {
            base: rows("wordnet-10k.npy", extent.rows),
            queries: rows("wordnet-queries.npy", extent.queries),
        }
    }

    /// Distances of query `query` to all rows, nearest first, with the row.
    pub fn ranked(&self, query: usize, metric: Metric) -> Vec<(f64, u32)> {
        ranked(&self.base, self.queries.values(query), metric)
    }
}

/// Distances of `query` to all rows of `base`, nearest first, with the row.
pub fn ranked(base: &Rows, query: &[f64], metric: Metric) -> Vec<(f64, u32)> {
    let mut all: Vec<(f64, u32)> = (0..base.count())
        .map(|row| (distance(query, base.values(row), metric), row as u32))
        .collect();
    all.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    all
}

impl Rows {
    pub fn new(values: &[f64], dimension: u32, element: ElementType) -> Self {
        let mut bytes = Vec::new();
        if element == ElementType::Bit {
            bytes.extend(values.chunks(8).map(signs));
        } else {
            for value in values {
                push(&mut bytes, element, *value);
            }
        }
        let shape = VectorShape { dimension, element };
        let values = values_of(&bytes, element);
        Self {
            bytes,
            shape,
            values,
        }
    }

    /// Rows of raw bytes.
    pub fn of_bytes(bytes: &[u8], shape: VectorShape) -> Self {
        Self {
            bytes: bytes.to_vec(),
            shape,
            values: values_of(bytes, shape.element),
        }
    }

    fn load(name: &str, count: usize, dimension: u32, element: ElementType) -> Self {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let file = VectorFile::open(&vfs, &demo(name), OpenAs::default()).unwrap();
        let wide = file.shape();
        let mut bytes = vec![0; count * wide.row_bytes()];
        file.read(0, &mut bytes).unwrap();
        let values: Vec<f64> = values_of(&bytes, wide.element)
            .chunks_exact(wide.dimension as usize)
            .enumerate()
            .flat_map(|(row, values)| {
                let norm = 0.8 + 0.4 * (row % 11) as f64 / 10.0;
                let kept = values.iter().take(dimension as usize);
                kept.map(move |value| value * norm)
            })
            .collect();
        Self::new(&values, dimension, element)
    }

    pub fn count(&self) -> usize {
        self.bytes.len() / self.shape.row_bytes()
    }

    pub fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.shape.row_bytes()..][..self.shape.row_bytes()]
    }

    pub fn values(&self, row: usize) -> &[f64] {
        let dimension = self.shape.dimension as usize;
        &self.values[row * dimension..][..dimension]
    }

    pub fn slice(&self) -> VectorSlice<'_> {
        VectorSlice::new(&self.bytes, self.shape).unwrap()
    }
}

fn demo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../data/demo")
        .join(name)
}

/// Components of a unit vector are around 0.05. Unsigned ones keep what is positive.
fn push(bytes: &mut Vec<u8>, element: ElementType, value: f64) {
    match element {
        ElementType::F32 => bytes.extend((value as f32).to_le_bytes()),
        ElementType::F16 => bytes.extend(half::f16::from_f64(value).to_le_bytes()),
        ElementType::Bf16 => bytes.extend(half::bf16::from_f64(value).to_le_bytes()),
        ElementType::U8 => bytes.push((value * 1200.0).clamp(0.0, 255.0).round() as u8),
        ElementType::I8 => bytes.push((value * 700.0).clamp(-127.0, 127.0).round() as i8 as u8),
        ElementType::Bit => unreachable!("bits come in bytes"),
    }
}

/// The signs of eight components, the first the highest bit.
fn signs(values: &[f64]) -> u8 {
    let bit = |byte: u8, value: &f64| byte << 1 | u8::from(*value > 0.0);
    values.iter().fold(0, bit)
}

fn values_of(bytes: &[u8], element: ElementType) -> Vec<f64> {
    if element == ElementType::Bit {
        let bits = |byte: &u8| (0..8).rev().map(|at| f64::from(byte >> at & 1)).collect();
        return bytes
            .iter()
            .flat_map(|byte| -> Vec<f64> { bits(byte) })
            .collect();
    }
    let value = |bytes: &[u8]| match element {
        ElementType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        ElementType::F16 => half::f16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        ElementType::Bf16 => half::bf16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        ElementType::U8 => f64::from(bytes[0]),
        ElementType::I8 => f64::from(bytes[0] as i8),
        ElementType::Bit => unreachable!("bits come in bytes"),
    };
    bytes.chunks_exact(element.bytes_of(1)).map(value).collect()
}

/// The distance by its definition.
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
