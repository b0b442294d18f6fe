//! Distance and table look-up kernels, chosen once for the CPU that runs them.
//!
//! Everything else in the workspace is portable code over slices; this crate is the only home of
//! intrinsics. A [`KernelSet`] is a static table of function pointers for one instruction set.
//! It is picked when an index is opened ([`KernelSet::detect`]) and never again, so the inner
//! loops pay one indirect call per vector or per batch and nothing for the choice.
//!
//! Invariants:
//! * The scalar kernels are the specification. Every other set is property-tested against them.
//! * Distances of `u8`, `i8` and bits, product-quantizer tables and look-ups, sums of bits and of
//!   digits, estimates of blocks, products with numbers in two bytes, Walsh-Hadamard transforms,
//!   and a row times a matrix, also in fixed point, are bit-identical in every set. `f32` and `f16`
//!   distances of `n` components are off by at most `1e-6 + n * 4e-9`, relative to the
//!   sum of their absolute terms (three times that for the cosine). Products of matrices of `f32`
//!   are off by at most `n * 2^-23`, and are bit-identical in every set but the scalar one.
//! * A kernel never allocates, never writes outside its output and never reads outside its input,
//!   whatever the caller passes.
#![allow(unsafe_code, reason = "intrinsics; each block states why it is sound")]
#![allow(
    clippy::indexing_slicing,
    reason = "inner loops over proven bounds; a slip must stop"
)]

mod bits;
mod blocks;
mod digits;
mod finish;
mod fixed;
mod huge_pages;
mod isa;
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pairs;
mod panel;
mod place;
mod prefetch;
mod scalar;
mod set;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod simd;
mod sums;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use bits::BitWeights;
pub use blocks::{
    BLOCK_CODES, BlockFactors, BlockWeights, Estimator, half_rescale, half_value, single_rescale,
    write_block,
};
pub use digits::{DigitWeights, Rounded};
pub use finish::cosine_distance;
pub use fixed::FixedMatrix;
pub use huge_pages::advise_huge_pages;
pub use isa::{Isa, IsaError};
pub use lanes::lanes;
pub use panel::{PANEL_ROWS, pack_panels, panel_values};
pub use place::places;
pub use prefetch::prefetch;
pub use set::{
    BitSumsFn, BitSumsGatherFn, BlockEstimatesFn, BlockSumsFn, DigitSumsGatherFn, DistanceFn,
    DistanceManyFn, DotPanelsFn, ElementPair, HadamardFn, KernelSet, LookupFn, LookupGatherFn,
    NearFn, NearestFn, PairProductsFn, ProjectFixedFn, ProjectFn, SquaredNormFn, TableFn, WidenFn,
};
