//! Distances: one pass over two vectors, for any metric and registers.

use super::lanes::{Lanes, MAX_BYTES};
use crate::finish::{cosine_distance, jaccard_distance};

/// Independent chains of additions, to hide their latency.
const CHAINS: usize = 4;

/// A metric as sums over register pairs.
///
/// # Safety
/// Every function needs the CPU features of `V`.
pub(crate) trait Measure<V: Lanes> {
    /// All sums of one pass.
    type Sums: Copy;

    unsafe fn zero() -> Self::Sums;
    unsafe fn add(sums: Self::Sums, a: V::Register, b: V::Register) -> Self::Sums;
    unsafe fn merge(left: Self::Sums, right: Self::Sums) -> Self::Sums;
    unsafe fn finish(sums: Self::Sums) -> f32;
}

/// Squared Euclidean distance.
pub(crate) struct L2;
/// Negated inner product.
pub(crate) struct InnerProduct;
/// One minus the cosine.
pub(crate) struct Cosine;
/// Manhattan distance.
pub(crate) struct L1;
/// One minus the share of what two vectors have in common: the sums of the cosine, put together
/// otherwise.
pub(crate) struct Jaccard;

impl<V: Lanes> Measure<V> for L2 {
    type Sums = V::Sum;

    #[inline(always)]
    unsafe fn zero() -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::zero() }
    }

    #[inline(always)]
    unsafe fn add(sum: V::Sum, a: V::Register, b: V::Register) -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::add_squared_difference(sum, a, b) }
    }

    #[inline(always)]
    unsafe fn merge(left: V::Sum, right: V::Sum) -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::merge(left, right) }
    }

    #[inline(always)]
    unsafe fn finish(sum: V::Sum) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { V::total(sum) as f32 }
    }
}

impl<V: Lanes> Measure<V> for InnerProduct {
    type Sums = V::Sum;

    #[inline(always)]
    unsafe fn zero() -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::zero() }
    }

    #[inline(always)]
    unsafe fn add(sum: V::Sum, a: V::Register, b: V::Register) -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::add_product(sum, a, b) }
    }

    #[inline(always)]
    unsafe fn merge(left: V::Sum, right: V::Sum) -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::merge(left, right) }
    }

    #[inline(always)]
    unsafe fn finish(sum: V::Sum) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { -V::total(sum) as f32 }
    }
}

impl<V: Lanes> Measure<V> for Cosine {
    /// `<a, b>`, `<a, a>` and `<b, b>`.
    type Sums = [V::Sum; 3];

    #[inline(always)]
    unsafe fn zero() -> [V::Sum; 3] {
        // SAFETY: the caller vouches for the features.
        unsafe { [V::zero(); 3] }
    }

    #[inline(always)]
    unsafe fn add([ab, aa, bb]: [V::Sum; 3], a: V::Register, b: V::Register) -> [V::Sum; 3] {
        // SAFETY: the caller vouches for the features.
        unsafe {
            [
                V::add_product(ab, a, b),
                V::add_product(aa, a, a),
                V::add_product(bb, b, b),
            ]
        }
    }

    #[inline(always)]
    unsafe fn merge(left: [V::Sum; 3], right: [V::Sum; 3]) -> [V::Sum; 3] {
        let ([ab, aa, bb], [cd, cc, dd]) = (left, right);
        // SAFETY: the caller vouches for the features.
        unsafe { [V::merge(ab, cd), V::merge(aa, cc), V::merge(bb, dd)] }
    }

    #[inline(always)]
    unsafe fn finish([ab, aa, bb]: [V::Sum; 3]) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { cosine_distance(V::total(ab), V::total(aa), V::total(bb)) }
    }
}

impl<V: Lanes> Measure<V> for L1 {
    type Sums = V::Sum;

    #[inline(always)]
    unsafe fn zero() -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::zero() }
    }

    #[inline(always)]
    unsafe fn add(sum: V::Sum, a: V::Register, b: V::Register) -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::add_absolute_difference(sum, a, b) }
    }

    #[inline(always)]
    unsafe fn merge(left: V::Sum, right: V::Sum) -> V::Sum {
        // SAFETY: the caller vouches for the features.
        unsafe { V::merge(left, right) }
    }

    #[inline(always)]
    unsafe fn finish(sum: V::Sum) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { V::total(sum) as f32 }
    }
}

impl<V: Lanes> Measure<V> for Jaccard {
    type Sums = <Cosine as Measure<V>>::Sums;

    #[inline(always)]
    unsafe fn zero() -> Self::Sums {
        // SAFETY: the caller vouches for the features.
        unsafe { <Cosine as Measure<V>>::zero() }
    }

    #[inline(always)]
    unsafe fn add(sums: Self::Sums, a: V::Register, b: V::Register) -> Self::Sums {
        // SAFETY: the caller vouches for the features.
        unsafe { <Cosine as Measure<V>>::add(sums, a, b) }
    }

    #[inline(always)]
    unsafe fn merge(left: Self::Sums, right: Self::Sums) -> Self::Sums {
        // SAFETY: the caller vouches for the features.
        unsafe { <Cosine as Measure<V>>::merge(left, right) }
    }

    #[inline(always)]
    unsafe fn finish([ab, aa, bb]: Self::Sums) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { jaccard_distance(V::total(ab), V::total(aa), V::total(bb)) }
    }
}

/// The distance of two vectors of equal length; the shorter one counts otherwise.
///
/// # Safety
/// The CPU has the features of `V`.
#[inline(always)]
pub(crate) unsafe fn distance<V: Lanes, M: Measure<V>>(a: &[u8], b: &[u8]) -> f32 {
    debug_assert_eq!(a.len(), b.len(), "vectors of one length");
    let length = a.len().min(b.len());
    if length < V::BYTES {
        // SAFETY: the caller vouches for the features.
        return unsafe { short_distance::<V, M>(&a[..length], &b[..length]) };
    }
    let (a, b) = (a.as_ptr(), b.as_ptr());
    // SAFETY: the caller vouches for the features. Offsets stay within `length`, and `load_end`
    // reads back at most `BYTES <= length` bytes from the end of both.
    unsafe {
        let (mut sums, mut offset) = sum_blocks::<V, M>(a, b, length);
        while offset + V::BYTES <= length {
            sums = M::add(sums, V::load(a.add(offset)), V::load(b.add(offset)));
            offset += V::BYTES;
        }
        if offset < length {
            let keep = length - offset;
            sums = M::add(
                sums,
                V::load_end(a.add(length), keep),
                V::load_end(b.add(length), keep),
            );
        }
        M::finish(sums)
    }
}

/// Sums all whole blocks of `CHAINS` registers, and says how many bytes these are.
///
/// # Safety
/// The CPU has the features of `V`; `length` bytes are readable from both.
#[inline(always)]
unsafe fn sum_blocks<V: Lanes, M: Measure<V>>(
    a: *const u8,
    b: *const u8,
    length: usize,
) -> (M::Sums, usize) {
    let block = CHAINS * V::BYTES;
    let mut offset = 0;
    // SAFETY: the caller vouches for the features; `offset + block <= length` bounds all loads.
    unsafe {
        if length < block {
            return (M::zero(), 0);
        }
        let mut chains = [M::zero(); CHAINS];
        while offset + block <= length {
            for (chain, sums) in chains.iter_mut().enumerate() {
                let at = offset + chain * V::BYTES;
                *sums = M::add(*sums, V::load(a.add(at)), V::load(b.add(at)));
            }
            offset += block;
        }
        let [first, second, third, fourth] = chains;
        (
            M::merge(M::merge(first, second), M::merge(third, fourth)),
            offset,
        )
    }
}

/// The distance of vectors that do not fill a register, via copies padded with zeros.
///
/// # Safety
/// The CPU has the features of `V`.
#[inline(always)]
unsafe fn short_distance<V: Lanes, M: Measure<V>>(a: &[u8], b: &[u8]) -> f32 {
    let (mut padded_a, mut padded_b) = ([0_u8; MAX_BYTES], [0_u8; MAX_BYTES]);
    padded_a[..a.len()].copy_from_slice(a);
    padded_b[..b.len()].copy_from_slice(b);
    // SAFETY: the caller vouches for the features; `BYTES <= MAX_BYTES` bytes are readable.
    unsafe {
        let (a, b) = (V::load(padded_a.as_ptr()), V::load(padded_b.as_ptr()));
        M::finish(M::add(M::zero(), a, b))
    }
}
