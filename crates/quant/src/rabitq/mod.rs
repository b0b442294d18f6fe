//! Extended RaBitQ: some bits for each axis of a rotated vector, and three factors.
//!
//! ```text
//! vector x -> residual r = x - centroid -> rotated y -> signs and levels on a grid
//!
//!          add    rescale, error   centroid   planes of bits, the most significant first
//! code    | f16  | 12 + 4 bits    | 0..2 B   | signs of all axes | next bits | ... |
//! ```
//!
//! The code stands for a grid vector `g`, half-integers times a step per axis. Of all grid vectors
//! the one with the largest cosine to `r` is taken, so one number per vector, `|r|^2 / <g, r>`,
//! makes `<r, q>` from `<g, q>` without bias: averaged over rotations, the estimate is right. What
//! the estimate may err by is known for each code from its true cosine.
//!
//! Factors and signs lie in front, so the first bytes of a code are a code of one bit per axis: its
//! `rescale` is that of the whole code times a number that the codebook holds for each plane.
//!
//! | [`Rotation`] | axes | bits |
//! |---|---|---|
//! | `Hadamard` | all, by signs and fast transforms; nothing is trained but the mean | even |
//! | `Principal` | principal axes of the sample, rotated among those of equal bits | by variance |
//!
//! | metric | vector | estimate |
//! |---|---|---|
//! | L2 | x | squared distance |
//! | inner product | x | negated inner product |
//! | cosine | x to unit length | 1 - inner product |
//!
//! Sources: Gao and Long, "RaBitQ" (SIGMOD 2024); Gao et al., "Practical and asymptotically optimal
//! quantization" (SIGMOD 2025). Bits by variance as in transform coding.
//!
//! Invariants: codebook and codes depend on vectors, spec and seed alone, not on threads or
//! instruction set; all values of a codebook are finite.

mod allocation;
mod around;
mod blocks;
mod centroids;
mod digits;
mod eigen;
mod encoder;
mod errors;
mod factors;
mod format;
mod frame;
mod grid;
mod hadamard;
mod layout;
mod leading;
mod principal;
mod quantizer;
mod rows;
mod scorer;
mod spec;
mod statistics;
#[cfg(test)]
mod tests;
mod train;

pub use encoder::RaBitQEncoder;
pub use quantizer::RaBitQuantizer;
pub use scorer::RaBitQScorer;
pub use spec::{RaBitQSpec, Rotation};
