//! A quantizer of any kind, and what goes with it: the choice is made here once, by the kind that a
//! spec or the first bytes of a codebook name, and a batch of codes pays one branch for it.

use pageway_kernels::{BLOCK_CODES, KernelSet};
use pageway_types::{ElementType, Guide, Place, Progress};
use rayon::ThreadPool;

use crate::pq::{PqEncoder, PqScorer, PqSpec, ProductQuantizer, TrainingSample};
use crate::rabitq::{RaBitQEncoder, RaBitQScorer, RaBitQSpec, RaBitQuantizer};
use crate::{Centre, CodeBatch, CodeForms, CodeScorer, QuantError};

/// What is trained: a kind of code with its sizes and seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrainingSpec {
    /// Product quantization.
    Pq(PqSpec),
    /// Extended `RaBitQ`.
    RaBitQ(RaBitQSpec),
}

impl TrainingSpec {
    /// Bytes that training takes beside the sample of `rows`.
    pub fn train_bytes(&self, rows: usize, dimension: usize, threads: usize) -> usize {
        match self {
            Self::Pq(spec) => ProductQuantizer::train_bytes(rows, dimension, spec, threads),
            Self::RaBitQ(spec) => RaBitQuantizer::train_bytes(rows, dimension, spec, threads),
        }
    }

    /// Values of a query that [`Quantizer::turn`] takes and gives, at most; none where there is no
    /// matrix that turns several of them in less time than one after the other.
    pub fn turned_values(&self, dimension: usize) -> usize {
        match self {
            Self::Pq(_) => 0,
            Self::RaBitQ(spec) => spec.turned_values(dimension),
        }
    }

    /// Whether such codes can be made around centres of the caller.
    pub const fn has_centres(&self) -> bool {
        matches!(self, Self::RaBitQ(_))
    }

    /// Bytes of memory that the quantizer holds, at most.
    pub fn resident_bytes(&self, dimension: usize) -> usize {
        match self {
            Self::Pq(_) => ProductQuantizer::codebook_bytes(dimension) + 4096,
            Self::RaBitQ(spec) => RaBitQuantizer::codebook_bytes(dimension, spec) + 4096,
        }
    }

    /// Bytes of the codebook on disk, at most.
    pub fn file_bytes(&self, dimension: usize) -> usize {
        match self {
            Self::Pq(_) => self.resident_bytes(dimension),
            Self::RaBitQ(spec) => RaBitQuantizer::file_bytes(dimension, spec) + 4096,
        }
    }

    /// Bytes of memory that a scorer of such codes holds, at most.
    pub fn scorer_bytes(&self, dimension: usize) -> usize {
        match self {
            Self::Pq(spec) => PqScorer::bytes(spec.code_bytes as usize, dimension),
            Self::RaBitQ(spec) => RaBitQScorer::bytes(spec, dimension),
        }
    }

    /// Bytes that it holds more when tables are scored, at most.
    pub fn table_bytes(&self, dimension: usize) -> usize {
        match self {
            Self::Pq(_) => 0,
            Self::RaBitQ(spec) => RaBitQScorer::table_bytes(spec, dimension),
        }
    }

    /// Bytes that it holds more when blocks are scanned, at most.
    pub fn block_bytes(&self, dimension: usize) -> usize {
        match self {
            Self::Pq(_) => 0,
            Self::RaBitQ(spec) => RaBitQScorer::block_bytes(spec, dimension),
        }
    }
}

/// A trained quantizer: immutable, shared by threads.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantizer {
    /// Product quantization.
    Pq(ProductQuantizer),
    /// Extended `RaBitQ`.
    RaBitQ(RaBitQuantizer),
}

impl Quantizer {
    /// Trains a quantizer on the threads of `pool`.
    ///
    /// # Errors
    /// Impossible sizes, a sample that is empty or holds values out of range, cancellation.
    pub fn train(
        sample: &TrainingSample<'_>,
        spec: &TrainingSpec,
        kernels: &'static KernelSet,
        pool: &ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Self, QuantError> {
        match spec {
            TrainingSpec::Pq(spec) => {
                ProductQuantizer::train(sample, spec, kernels, pool, progress).map(Self::Pq)
            }
            TrainingSpec::RaBitQ(spec) => {
                RaBitQuantizer::train(sample, spec, kernels, pool, progress).map(Self::RaBitQ)
            }
        }
    }

    /// The same codes for another metric and for centres around `origin`, where they are made
    /// around centres.
    ///
    /// # Panics
    /// When the origin has another dimension.
    #[must_use]
    pub fn around(self, metric: Guide, origin: &[f32]) -> Self {
        match self {
            Self::Pq(quantizer) => Self::Pq(quantizer),
            Self::RaBitQ(quantizer) => Self::RaBitQ(quantizer.around(metric, origin)),
        }
    }

    /// Guide that the codes estimate.
    pub fn metric(&self) -> Guide {
        match self {
            Self::Pq(quantizer) => quantizer.metric(),
            Self::RaBitQ(quantizer) => quantizer.metric(),
        }
    }

    /// Components of a vector.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Pq(quantizer) => quantizer.dimension(),
            Self::RaBitQ(quantizer) => quantizer.dimension(),
        }
    }

    /// Bytes of a code.
    pub fn code_bytes(&self) -> usize {
        match self {
            Self::Pq(quantizer) => quantizer.code_bytes(),
            Self::RaBitQ(quantizer) => quantizer.code_bytes(),
        }
    }

    /// Puts codes, one after the other, into the form that [`CodeBatch::Table`] has, each in its
    /// place. Product codes are in it as they are.
    pub fn arrange(&self, codes: &mut [u8]) {
        match self {
            Self::Pq(_) => {}
            Self::RaBitQ(quantizer) => quantizer.arrange(codes),
        }
    }

    /// Writes up to 32 codes, one after the other, to the block that [`Scorer::score_block`] takes;
    /// those missing are zero. Product codes lie in it as they are.
    ///
    /// # Panics
    /// Unless `block` has the bytes of 32 codes.
    pub fn write_block(&self, codes: &[u8], block: &mut [u8]) {
        match self {
            Self::Pq(_) => {
                let (own, rest) = block.split_at_mut(codes.len());
                own.copy_from_slice(codes);
                rest.fill(0);
            }
            Self::RaBitQ(quantizer) => quantizer.write_block(codes, block),
        }
    }

    /// Writes the vector that a code stands for: near the original one for L2 and the inner
    /// product, near its unit vector for cosine.
    ///
    /// # Panics
    /// Unless `code` has `code_bytes` bytes and `out` has `dimension` values.
    pub fn decode(&self, kernels: &KernelSet, code: &[u8], out: &mut [f32]) {
        match self {
            Self::Pq(quantizer) => quantizer.decode(code, out),
            Self::RaBitQ(quantizer) => quantizer.decode(kernels, code, out),
        }
    }

    /// Writes what a code that was made around a centre stands for: near the difference from that.
    ///
    /// # Panics
    /// As [`Quantizer::decode`].
    pub fn decode_around(&self, kernels: &KernelSet, code: &[u8], out: &mut [f32]) {
        match self {
            Self::Pq(quantizer) => quantizer.decode(code, out),
            Self::RaBitQ(quantizer) => quantizer.decode_around(kernels, code, out),
        }
    }

    /// The codebook as bytes, always the same for the same quantizer.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Pq(quantizer) => quantizer.to_bytes(),
            Self::RaBitQ(quantizer) => quantizer.to_bytes(),
        }
    }

    /// Reads what [`Quantizer::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are no codebook, or not all of one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, QuantError> {
        if bytes.starts_with(&RaBitQuantizer::MAGIC) {
            RaBitQuantizer::from_bytes(bytes).map(Self::RaBitQ)
        } else {
            ProductQuantizer::from_bytes(bytes).map(Self::Pq)
        }
    }

    /// An encoder for rows of `element`; make one per thread.
    pub fn encoder(&self, element: ElementType, kernels: &'static KernelSet) -> Encoder<'_> {
        match self {
            Self::Pq(quantizer) => Encoder::Pq(quantizer.encoder(element, kernels)),
            Self::RaBitQ(quantizer) => {
                Encoder::RaBitQ(Box::new(quantizer.encoder(element, kernels)))
            }
        }
    }

    /// Turns queries to the axes of codes all at once, for [`Scorer::prepare_turned`]: `dimension`
    /// values of each, which are changed, to values of each in `out`. How many those are; none for
    /// a quantizer that turns nothing, and where `out` is shorter.
    pub fn turn(&self, kernels: &KernelSet, queries: &mut [f32], out: &mut [f32]) -> usize {
        match self {
            Self::Pq(_) => 0,
            Self::RaBitQ(quantizer) => {
                let count = queries.len() / quantizer.dimension();
                let axes = quantizer.axes();
                let Some(own) = out.get_mut(..count * axes) else {
                    return 0;
                };
                quantizer.turn(kernels, queries, own);
                axes
            }
        }
    }

    /// A scorer for codes of this quantizer; make one per query in flight.
    pub fn scorer(&self, kernels: &'static KernelSet) -> Scorer {
        match self {
            Self::Pq(quantizer) => Scorer::Pq(PqScorer::new(quantizer, kernels)),
            Self::RaBitQ(quantizer) => {
                let mut scorer = RaBitQScorer::new(quantizer, kernels);
                scorer.set_epsilon(1.0);
                Scorer::RaBitQ(scorer)
            }
        }
    }
}

/// Rows to codes.
pub enum Encoder<'q> {
    /// Product quantization.
    Pq(PqEncoder<'q>),
    /// Extended `RaBitQ`.
    RaBitQ(Box<RaBitQEncoder<'q>>),
}

impl Encoder<'_> {
    /// Encodes a whole number of rows, given as raw element bytes, into as many codes. Allocates
    /// nothing; components must be finite.
    ///
    /// # Panics
    /// When `rows` is not a whole number of rows or `out` not as many codes.
    pub fn encode(&mut self, rows: &[u8], out: &mut [u8]) {
        match self {
            Self::Pq(encoder) => encoder.encode(rows, out),
            Self::RaBitQ(encoder) => encoder.encode(rows, out),
        }
    }

    /// Encodes rows as what they differ by from `centre`; as they are where codes cannot.
    ///
    /// # Panics
    /// As [`Encoder::encode`].
    pub fn encode_around(&mut self, centre: &[f32], rows: &[u8], out: &mut [u8]) {
        match self {
            Self::Pq(encoder) => encoder.encode(rows, out),
            Self::RaBitQ(encoder) => encoder.encode_around(centre, rows, out),
        }
    }
}

/// Scores codes of one quantizer against one query at a time.
pub enum Scorer {
    /// Product quantization.
    Pq(PqScorer),
    /// Extended `RaBitQ`.
    RaBitQ(RaBitQScorer),
}

impl Scorer {
    /// Takes the next query: `dimension` finite values, at any length for cosine. Codes in other
    /// forms than `forms` are not scored before the next call.
    ///
    /// # Panics
    /// When the quantizer is not the one that the scorer was made for.
    pub fn prepare(&mut self, quantizer: &Quantizer, query: &[f32], forms: CodeForms) {
        self.prepare_turned(quantizer, (query, None), forms);
    }

    /// The same of a query that was turned by [`Quantizer::turn`], where it was.
    ///
    /// # Panics
    /// As [`Scorer::prepare`].
    pub fn prepare_turned(
        &mut self,
        quantizer: &Quantizer,
        (query, turned): (&[f32], Option<&[f32]>),
        forms: CodeForms,
    ) {
        match (self, quantizer) {
            (Self::Pq(scorer), Quantizer::Pq(quantizer)) => scorer.prepare(quantizer, query),
            (Self::RaBitQ(scorer), Quantizer::RaBitQ(quantizer)) => {
                scorer.prepare_turned(quantizer, (query, turned), forms);
            }
            (Self::Pq(_) | Self::RaBitQ(_), _) => {
                assert_eq!("scorer", "quantizer", "both must be of one kind");
            }
        }
    }

    /// Takes the query of another scorer of the same quantizer, for the forms of codes that it was
    /// prepared for: a copy, where [`Scorer::prepare`] rotates.
    ///
    /// # Panics
    /// When the other is of another kind.
    pub fn take_over(&mut self, other: &Self) {
        match (self, other) {
            (Self::Pq(own), Self::Pq(other)) => own.take_over(other),
            (Self::RaBitQ(own), Self::RaBitQ(other)) => own.take_over(other),
            (Self::Pq(_) | Self::RaBitQ(_), _) => {
                assert_eq!(
                    "scorer", "scorer of another kind",
                    "both must be of one kind"
                );
            }
        }
    }

    /// [`CodeScorer::score`], and per code by how much the estimate is off: the standard deviation
    /// of its error, in units of the distance. Infinite where the codes say nothing of that, as
    /// product codes.
    ///
    /// # Panics
    /// As [`CodeScorer::score`].
    pub fn score_with_errors(
        &self,
        batch: CodeBatch<'_>,
        out: &mut Vec<f32>,
        errors: &mut Vec<f32>,
    ) {
        match self {
            Self::Pq(scorer) => {
                scorer.score(batch, out);
                errors.clear();
                errors.resize(out.len(), f32::INFINITY);
            }
            Self::RaBitQ(scorer) => scorer.score_with_errors(batch, out, errors),
        }
    }

    /// Codes that are screened at a time.
    pub const SCREENED: usize = RaBitQScorer::SCREENED;

    /// Which of up to [`Scorer::SCREENED`] codes of a table may have an estimate of at most
    /// `limit`: bit `i` says it of code `i`. Costs less than an estimate, where only the first
    /// bytes of each code are looked at. A bound of five standard deviations, not a certain one.
    ///
    /// # Panics
    /// As [`CodeScorer::score`].
    pub fn screen(&self, codes: &[u8], places: &[Place], limit: f32) -> u64 {
        match self {
            Self::Pq(_) => u64::MAX,
            Self::RaBitQ(scorer) => scorer.screen(codes, places, limit),
        }
    }

    /// Bytes of a code of a table that [`Scorer::screen`] looks at; the whole code where that tells
    /// nothing.
    pub fn screened_bytes(&self) -> usize {
        match self {
            Self::Pq(scorer) => scorer.code_bytes(),
            Self::RaBitQ(scorer) => scorer.screened_bytes(),
        }
    }

    /// Estimates for the codes of a block that [`Quantizer::write_block`] wrote, all made around
    /// one centre. Bit `i` of the answer is set unless estimate `i` is above `limit`; none is
    /// before it was prepared for blocks.
    ///
    /// # Panics
    /// When the block is not whole.
    pub fn score_block(
        &self,
        centre: Centre,
        block: &[u8],
        limit: f32,
        out: &mut [f32; BLOCK_CODES],
    ) -> u32 {
        match self {
            Self::Pq(scorer) => scorer.score_block(block, limit, out),
            Self::RaBitQ(scorer) => scorer.score_block(centre, block, limit, out),
        }
    }

    /// By how much an estimate of a code is off, as [`Scorer::score_with_errors`] has it, without
    /// scoring the code again. Infinite where codes say nothing of that.
    pub fn code_error(&self, code: &[u8], estimate: f32) -> f32 {
        match self {
            Self::Pq(_) => f32::INFINITY,
            Self::RaBitQ(scorer) => scorer.code_error(code, estimate),
        }
    }

    /// The same of an estimate that [`Scorer::score_block`] gave for code `number` of a block, all
    /// made around one centre.
    pub fn block_error(&self, centre: Centre, block: &[u8], number: usize, estimate: f32) -> f32 {
        match self {
            Self::Pq(_) => f32::INFINITY,
            Self::RaBitQ(scorer) => scorer.block_error(centre, block, number, estimate),
        }
    }
}

impl CodeScorer for Scorer {
    fn score(&self, batch: CodeBatch<'_>, out: &mut Vec<f32>) {
        match self {
            Self::Pq(scorer) => scorer.score(batch, out),
            Self::RaBitQ(scorer) => scorer.score(batch, out),
        }
    }

    fn code_bytes(&self) -> usize {
        match self {
            Self::Pq(scorer) => scorer.code_bytes(),
            Self::RaBitQ(scorer) => scorer.code_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{NoProgress, Place};

    use super::*;

    #[test]
    fn a_query_that_is_taken_over_scores_as_one_that_is_prepared() {
        let values: Vec<f32> = (0..960).map(|at| (at * at % 37) as f32).collect();
        let (sample, query, other) = (&values[..], &values[100..116], &values[7..23]);
        let sample = TrainingSample {
            values: sample,
            dimension: 16,
            metric: Guide::L2,
        };
        let specs = [
            TrainingSpec::RaBitQ(RaBitQSpec::new(9)),
            TrainingSpec::Pq(PqSpec::new(5)),
        ];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let (kernels, pool) = (KernelSet::detect().unwrap(), pool.unwrap());
        let rows: Vec<u8> = values.iter().flat_map(|own| own.to_le_bytes()).collect();
        for spec in specs {
            let quantizer = Quantizer::train(&sample, &spec, kernels, &pool, &NoProgress).unwrap();
            let mut codes = vec![0; 60 * quantizer.code_bytes()];
            quantizer
                .encoder(ElementType::F32, kernels)
                .encode(&rows, &mut codes);
            let mut table = codes.clone();
            quantizer.arrange(&mut table);
            let places: Vec<Place> = (0..60).map(Place).collect();
            let mut block = vec![0; BLOCK_CODES * quantizer.code_bytes()];
            quantizer.write_block(&codes[..block.len()], &mut block);
            let scores = |scorer: &Scorer, forms: CodeForms| {
                let (mut out, mut errors) = (Vec::new(), Vec::new());
                let places = &places[..];
                let batch = if forms == CodeForms::Table {
                    CodeBatch::Table {
                        codes: &table,
                        places,
                    }
                } else {
                    CodeBatch::Gather {
                        codes: &codes,
                        places,
                    }
                };
                let mut of_block = [0.0; BLOCK_CODES];
                if forms == CodeForms::Blocks {
                    let centre = Centre {
                        distance: 2.0,
                        product: 1.0,
                    };
                    scorer.score_block(centre, &block, f32::INFINITY, &mut of_block);
                } else {
                    scorer.score_with_errors(batch, &mut out, &mut errors);
                }
                out.extend(errors.into_iter().chain(of_block));
                out.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
            };
            for forms in [CodeForms::Stored, CodeForms::Table, CodeForms::Blocks] {
                let mut knows = quantizer.scorer(kernels);
                knows.prepare(&quantizer, query, forms);
                let mut own = quantizer.scorer(kernels);
                own.take_over(&knows);
                assert_eq!(scores(&own, forms), scores(&knows, forms), "{forms:?}");
                own.prepare(&quantizer, other, forms);
                assert_ne!(scores(&own, forms), scores(&knows, forms), "{forms:?}");
                own.take_over(&knows);
                assert_eq!(scores(&own, forms), scores(&knows, forms), "{forms:?}");
            }
        }
    }
}
