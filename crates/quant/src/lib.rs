//! Vector codes: short byte strings that stand for vectors, and estimates of distances from them.
//!
//! A search over vectors on disk first ranks nodes by codes held in memory or beside the adjacency
//! lists, and reads full vectors for the best only. This crate trains quantizers, encodes rows and
//! scores batches of codes; it knows neither files nor graphs.
//!
//! * [`CodeScorer`] is the seam to the search: one virtual call per batch of codes.
//! * [`Quantizer`] is a trained quantizer of any kind: encode, write and read its codebook.
//! * [`ProductQuantizer`] is product quantization: a byte per group of components, looked up.
//! * [`RaBitQuantizer`] is extended RaBitQ: some bits per axis, and an error that each code knows.
//!
//! Invariants: estimates are in the units of the metric's distance, so that they compare with exact
//! ones; the same sample, spec and seed give the same codebook on any number of threads and any
//! instruction set; nothing panics on bytes from a file.

mod error;
pub mod pq;
mod quantizer;
pub mod rabitq;
mod scorer;

pub use error::QuantError;
pub use pageway_kernels::BLOCK_CODES;
pub use pq::{ComponentOrder, PqScorer, PqSpec, ProductQuantizer, TrainingSample, normalise};
pub use quantizer::{Encoder, Quantizer, Scorer, TrainingSpec};
pub use rabitq::{RaBitQEncoder, RaBitQScorer, RaBitQSpec, RaBitQuantizer, Rotation};
pub use scorer::{Centre, CodeBatch, CodeForms, CodeScorer};
