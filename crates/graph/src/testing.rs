//! What several tests of this crate need: vectors in memory, pools, clustered data.

use std::io;
use std::sync::atomic::{AtomicI64, Ordering};

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide, Progress, SplitMix64, VectorRead, VectorShape};

use crate::vectors::VectorSet;

/// Vectors in memory, as raw rows.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) bytes: Vec<u8>,
    pub(crate) shape: VectorShape,
    pub(crate) broken: bool,
}

impl Rows {
    pub(crate) fn f32(dimension: u32, values: &[f32]) -> Self {
        let bytes = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let shape = VectorShape {
            dimension,
            element: ElementType::F32,
        };
        Self {
            bytes,
            shape,
            broken: false,
        }
    }

    pub(crate) fn u8(dimension: u32, bytes: Vec<u8>) -> Self {
        let shape = VectorShape {
            dimension,
            element: ElementType::U8,
        };
        Self {
            bytes,
            shape,
            broken: false,
        }
    }

    pub(crate) fn set(&self, metric: Guide) -> VectorSet<'_> {
        let kernels = kernels();
        VectorSet::new(&self.bytes, self.shape, metric, kernels, None).expect("a set")
    }
}

impl VectorRead for Rows {
    fn count(&self) -> u64 {
        (self.bytes.len() / self.shape.row_bytes()) as u64
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let first = first as usize * self.shape.row_bytes();
        out.copy_from_slice(&self.bytes[first..][..out.len()]);
        Ok(())
    }
}

/// Vectors around random centres, with lengths that differ by a factor of `stretch` at most.
pub(crate) fn clustered(count: usize, dimension: usize, stretch: f64, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::new(seed);
    let mut normal = move || (0..6).map(|_| random.unit() - 0.5).sum::<f64>();
    let centres: Vec<f64> = (0..20 * dimension).map(|_| normal() * 2.0).collect();
    let mut random = SplitMix64::new(seed ^ 1);
    let mut values = Vec::with_capacity(count * dimension);
    for _ in 0..count {
        let centre = random.below(20) as usize * dimension;
        let length = stretch.powf(random.unit());
        let around = centres[centre..centre + dimension].iter();
        values.extend(around.map(|centre| (length * (centre + normal())) as f32));
    }
    values
}

pub(crate) fn kernels() -> &'static KernelSet {
    KernelSet::detect().expect("kernels")
}

pub(crate) fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool")
}

/// Cancels after a number of looks.
pub(crate) struct StopAfter(AtomicI64);

impl StopAfter {
    pub(crate) fn new(looks: i64) -> Self {
        Self(AtomicI64::new(looks))
    }

    /// Looks after the one that was answered with yes.
    pub(crate) fn late_looks(&self) -> i64 {
        -1 - self.0.load(Ordering::Relaxed)
    }
}

impl Progress for StopAfter {
    fn stage(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) <= 0
    }
}

/// Vectors in all directions, with lengths that differ by a factor of ten and more.
pub(crate) fn unequal(count: usize, dimension: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::new(seed);
    let mut normal = move || (0..12).map(|_| random.unit() - 0.5).sum::<f64>();
    let mut values = Vec::with_capacity(count * dimension);
    for _ in 0..count {
        let length = (0.6 * normal()).exp();
        values.extend((0..dimension).map(|_| (length * normal()) as f32));
    }
    values
}
