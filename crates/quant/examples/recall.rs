//! Prints what codes of several lengths are worth on a set of vectors: recall of their best
//! estimates, candidates that a recall needs, and errors; product quantization beside RaBitQ.
//!
//! `cargo run --release -p pageway-quant --example recall -- BASE QUERIES [ROWS] [BYTES,...]`
//!
//! Files hold rows and dimension as two `u32`, then the rows: `f32` if the name ends in `fbin`,
//! else `u8`. Distances are squared L2; exact neighbours are those among the rows taken.
#![expect(clippy::print_stdout, reason = "a program whose purpose is to print")]
#![expect(clippy::indexing_slicing, reason = "arguments and rows of a matrix")]
#![expect(
    clippy::disallowed_methods,
    reason = "reads files and the clock without the store crate"
)]

use std::error::Error;
use std::time::Instant;

use pageway_kernels::KernelSet;
use pageway_quant::{
    CodeBatch, CodeScorer, PqScorer, PqSpec, ProductQuantizer, RaBitQScorer, RaBitQSpec,
    RaBitQuantizer, Rotation, TrainingSample,
};
use pageway_types::{ElementType, Guide, NoProgress};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Outcome<T> = Result<T, Box<dyn Error>>;

const NEIGHBOURS: usize = 10;
const QUERIES: usize = 200;
const TRAINING_ROWS: usize = 50_000;
/// Centroids of RaBitQ; the mean alone is 1.
const CENTROIDS: [u32; 2] = [1, 256];
/// Candidates after which recall is printed.
const LISTS: [usize; 4] = [10, 20, 50, 100];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, queries, rest @ ..] = arguments.as_slice() else {
        return Err("usage: recall BASE QUERIES [ROWS] [BYTES,...]".into());
    };
    let rows = rest.first().map_or(Ok(100_000), |rows| rows.parse())?;
    let base = Matrix::read(base, rows)?;
    let queries = Matrix::read(queries, QUERIES)?;
    let lengths = match rest.get(1) {
        Some(list) => list.split(',').map(str::parse).collect::<Result<_, _>>()?,
        None => [16, 8, 6, 4, 2, 1]
            .map(|part| (base.dimension / part + 4) as u32)
            .to_vec(),
    };
    let bench = Bench::new(base, &queries)?;
    println!(
        "{} rows, {}-d, {} queries: recall@10 of the best 10, 20, 50, 100 estimates; candidates \
         for .95 and .99; mean relative error; share of errors within the bound, of all and of the nearest",
        bench.base.count(),
        bench.base.dimension,
        bench.queries.len()
    );
    for code_bytes in lengths {
        bench.pq(code_bytes)?;
        for rotation in [Rotation::Hadamard, Rotation::Principal] {
            for centroids in CENTROIDS {
                bench.rabitq(&RaBitQSpec {
                    rotation,
                    centroids,
                    ..RaBitQSpec::new(code_bytes)
                })?;
            }
        }
    }
    Ok(())
}

/// Rows of one dimension.
struct Matrix {
    values: Vec<f32>,
    dimension: usize,
}

impl Matrix {
    fn read(path: &str, limit: usize) -> Outcome<Self> {
        let bytes = std::fs::read(path)?;
        let (header, body) = bytes.split_first_chunk::<8>().ok_or("no header")?;
        let dimension = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let values = limit * dimension;
        let values = if path.ends_with("fbin") {
            let (values, _) = body.as_chunks();
            let values = values.iter().take(values.len().min(limit * dimension));
            values.map(|bytes| f32::from_le_bytes(*bytes)).collect()
        } else {
            body.iter()
                .take(values)
                .map(|byte| f32::from(*byte))
                .collect()
        };
        Ok(Self { values, dimension })
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.dimension)
    }

    fn count(&self) -> usize {
        self.values.len() / self.dimension
    }

    fn bytes(&self) -> Vec<u8> {
        self.values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }
}

/// A query with the exact distances of all rows.
struct Query {
    values: Vec<f32>,
    distances: Vec<f32>,
    nearest: Vec<usize>,
}

struct Bench {
    base: Matrix,
    bytes: Vec<u8>,
    queries: Vec<Query>,
    kernels: &'static KernelSet,
    pool: ThreadPool,
}

/// What one kind of code gave for one query.
struct Answer {
    /// For each of the nearest neighbours, its place among the estimates.
    places: Vec<usize>,
    relative_error: f64,
    /// Share of all rows, and of the nearest neighbours, whose error the bound holds.
    within: [f64; 2],
}

impl Bench {
    fn new(base: Matrix, queries: &Matrix) -> Outcome<Self> {
        let kernels = KernelSet::detect()?;
        let pool = ThreadPoolBuilder::new().build()?;
        let bytes = base.bytes();
        let distance = kernels.distance(ElementType::F32, Guide::L2.metric());
        let exact = |query: &[f32]| {
            let raw: Vec<u8> = query.iter().flat_map(|value| value.to_le_bytes()).collect();
            let rows = bytes.chunks_exact(raw.len());
            let distances: Vec<f32> = rows.map(|row| distance(&raw, row)).collect();
            let nearest = smallest(&distances, NEIGHBOURS);
            Query {
                values: query.to_vec(),
                distances,
                nearest,
            }
        };
        let rows: Vec<&[f32]> = queries.rows().collect();
        let queries = pool.install(|| rows.into_par_iter().map(exact).collect());
        Ok(Self {
            base,
            bytes,
            queries,
            kernels,
            pool,
        })
    }

    fn sample(&self) -> TrainingSample<'_> {
        let rows = self.base.count().min(TRAINING_ROWS);
        TrainingSample {
            values: &self.base.values[..rows * self.base.dimension],
            dimension: self.base.dimension,
            metric: Guide::L2,
        }
    }

    fn pq(&self, code_bytes: u32) -> Outcome<()> {
        if code_bytes as usize > self.base.dimension {
            return Ok(());
        }
        let spec = PqSpec::new(code_bytes);
        let start = Instant::now();
        let quantizer =
            ProductQuantizer::train(&self.sample(), &spec, self.kernels, &self.pool, &NoProgress)?;
        let trained = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let codes = self.encode(quantizer.code_bytes(), |rows, codes| {
            quantizer
                .encoder(ElementType::F32, self.kernels)
                .encode(rows, codes);
        });
        let encoded = start.elapsed().as_secs_f64();
        let answers = self.answers(|query| {
            let mut scorer = PqScorer::new(&quantizer, self.kernels);
            scorer.prepare(&quantizer, &query.values);
            let mut estimates = Vec::new();
            scorer.score(CodeBatch::Inline { codes: &codes }, &mut estimates);
            (estimates, Vec::new())
        });
        let name = format!("{code_bytes:4} B  pq           ");
        print(&name, &answers, [trained, encoded]);
        Ok(())
    }

    fn rabitq(&self, spec: &RaBitQSpec) -> Outcome<()> {
        if spec.validate(self.base.dimension).is_err() {
            return Ok(());
        }
        let start = Instant::now();
        let quantizer =
            RaBitQuantizer::train(&self.sample(), spec, self.kernels, &self.pool, &NoProgress)?;
        let trained = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let codes = self.encode(quantizer.code_bytes(), |rows, codes| {
            quantizer
                .encoder(ElementType::F32, self.kernels)
                .encode(rows, codes);
        });
        let encoded = start.elapsed().as_secs_f64();
        let answers = self.answers(|query| {
            let mut scorer = RaBitQScorer::new(&quantizer, self.kernels);
            scorer.prepare(&quantizer, &query.values);
            let (mut estimates, mut errors) = (Vec::new(), Vec::new());
            let batch = CodeBatch::Inline { codes: &codes };
            scorer.score_with_errors(batch, &mut estimates, &mut errors);
            (estimates, errors)
        });
        let rotation = match spec.rotation {
            Rotation::Hadamard => "hadamard ",
            Rotation::Principal => "principal",
        };
        let (bytes, centroids) = (quantizer.code_bytes(), spec.centroids);
        let name = format!("{bytes:4} B  {rotation} {centroids:3}");
        print(&name, &answers, [trained, encoded]);
        Ok(())
    }

    fn encode(&self, code_bytes: usize, encode: impl Fn(&[u8], &mut [u8]) + Sync) -> Vec<u8> {
        const ROWS: usize = 1000;
        let mut codes = vec![0; self.base.count() * code_bytes];
        self.pool.install(|| {
            let rows = self.bytes.par_chunks(ROWS * self.base.dimension * 4);
            rows.zip(codes.par_chunks_mut(ROWS * code_bytes))
                .for_each(|(rows, codes)| encode(rows, codes));
        });
        codes
    }

    fn answers(&self, estimate: impl Fn(&Query) -> (Vec<f32>, Vec<f32>) + Sync) -> Vec<Answer> {
        let answer = |query: &Query| {
            let (estimates, errors) = estimate(query);
            let best = smallest(&estimates, estimates.len() / 4);
            let place = |row: &usize| best.iter().position(|other| other == row);
            let places = query
                .nearest
                .iter()
                .map(|row| place(row).unwrap_or(best.len()));
            let pairs = || estimates.iter().zip(&query.distances);
            let relative = pairs().map(|(e, d)| f64::from((e - d).abs() / d.max(1e-9)));
            let gap = |row: usize| (estimates[row] - query.distances[row]).abs();
            let within = |row: &usize| errors.get(*row).is_some_and(|bound| gap(*row) <= *bound);
            let all = (0..estimates.len()).filter(within).count() as f64;
            let near = query.nearest.iter().copied().filter(within).count() as f64;
            Answer {
                places: places.collect(),
                relative_error: relative.sum::<f64>() / estimates.len() as f64,
                within: [all / estimates.len() as f64, near / NEIGHBOURS as f64],
            }
        };
        self.pool
            .install(|| self.queries.par_iter().map(answer).collect())
    }
}

fn print(name: &str, answers: &[Answer], [trained, encoded]: [f64; 2]) {
    let mut places: Vec<usize> = answers
        .iter()
        .flat_map(|a| a.places.iter().copied())
        .collect();
    places.sort_unstable();
    let total = places.len() as f64;
    print!("{name} ");
    for list in LISTS {
        print!(
            " {:.3}",
            places.iter().filter(|place| **place < list).count() as f64 / total
        );
    }
    for target in [0.95, 0.99] {
        print!("  {:5}", places[(target * total) as usize - 1] + 1);
    }
    let mean = |of: fn(&Answer) -> f64| answers.iter().map(of).sum::<f64>() / answers.len() as f64;
    println!(
        "  {:.4}  {:.3} {:.3}  train {trained:.1} s, encode {encoded:.1} s",
        mean(|answer| answer.relative_error),
        mean(|answer| answer.within[0]),
        mean(|answer| answer.within[1])
    );
}

/// The numbers of the smallest values, smallest first.
fn smallest(values: &[f32], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]).then(a.cmp(b));
    let count = count.min(values.len().saturating_sub(1));
    order.select_nth_unstable_by(count, by_value);
    order.truncate(count);
    order.sort_by(by_value);
    order
}
