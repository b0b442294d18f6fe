//! Product quantization: one byte for each of `m` sub-spaces of the vector.
//!
//! ```text
//! vector   | components 0..4 | 4..8 | ... | 124..128 |     d = 128 components, m = 32 sub-spaces
//!              |                |              |           nearest of 256 centroids in each
//! code     |  byte 0         | byte 1 | ... | byte 31 |    m bytes
//! ```
//!
//! Which components share a byte is a [`ComponentOrder`]: runs as drawn, or every m-th component.
//!
//! A query fills a table of `m` times 256 partial distances once; an estimate is then the sum of
//! `m` table entries. The method fits every budget from one byte to one byte per component, needs
//! no factors beside the code, and costs `256 * d` values of codebook.
//!
//! | metric | before quantizing | table entry | estimate |
//! |---|---|---|---|
//! | L2 | subtract the mean of the sample | squared distance | squared distance |
//! | inner product | nothing | negated inner product | negated inner product |
//! | cosine | scale to unit length, subtract the mean | half the squared distance | `1 - cos` |
//!
//! Two unit vectors at squared distance `s` have cosine `1 - s / 2`: hence the half.
//!
//! Invariants: `1 <= m <= d <= 16,384`; all values of a codebook are finite; the bytes of codebooks
//! and codes depend on vectors, spec and seed alone, not on threads or instruction set.

mod columns;
mod encoder;
mod format;
mod lloyd;
mod quantizer;
mod scorer;
mod seeding;
mod sub_spaces;
#[cfg(test)]
mod tests;
mod train;
mod unit;

pub use encoder::PqEncoder;
pub use quantizer::ProductQuantizer;
pub use scorer::PqScorer;
pub use sub_spaces::ComponentOrder;
pub use train::{PqSpec, TrainingSample};
pub use unit::normalise;

/// Centroids of a sub-space: the values of a code byte.
const CENTROIDS: usize = 256;
