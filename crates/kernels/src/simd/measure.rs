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

/// The distance of a query and a row of as many components, each of its own element type, whose
/// registers hold as many components; the shorter one counts otherwise.
///
/// # Safety
/// The CPU has the features of `Q` and `V`.
#[inline(always)]
pub(crate) unsafe fn distance_between<Q, V, M>(query: &[u8], row: &[u8]) -> f32
where
    Q: Lanes<Register = V::Register>,
    V: Lanes,
    M: Measure<V>,
{
    debug_assert_eq!(
        query.len(),
        row.len() * Q::BYTES / V::BYTES,
        "vectors of one length"
    );
    let length = row.len().min(query.len() * V::BYTES / Q::BYTES);
    let (query, row) = (&query[..length * Q::BYTES / V::BYTES], &row[..length]);
    if length < V::BYTES {
        // SAFETY: the caller vouches for the features.
        return unsafe { short_distance::<Q, V, M>(query, row) };
    }
    let (query, row) = (query.as_ptr(), row.as_ptr());
    // SAFETY: the caller vouches for the features. Offsets stay within `length`, and `load_end`
    // reads back at most `BYTES <= length` bytes from the end of the row, and as many components
    // of the query.
    unsafe {
        let (mut sums, mut offset) = sum_blocks::<Q, V, M>(query, row, length);
        while offset + V::BYTES <= length {
            sums = add_at::<Q, V, M>(sums, query, row, offset);
            offset += V::BYTES;
        }
        if offset < length {
            let keep = length - offset;
            sums = M::add(
                sums,
                Q::load_end(
                    query.add(length * Q::BYTES / V::BYTES),
                    keep * Q::BYTES / V::BYTES,
                ),
                V::load_end(row.add(length), keep),
            );
        }
        M::finish(sums)
    }
}

/// Adds the registers at `offset` bytes of the row, and at as many components of the query.
///
/// # Safety
/// The CPU has the features of `Q` and `V`; a register is readable from there.
#[inline(always)]
unsafe fn add_at<Q, V, M>(sums: M::Sums, query: *const u8, row: *const u8, offset: usize) -> M::Sums
where
    Q: Lanes<Register = V::Register>,
    V: Lanes,
    M: Measure<V>,
{
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let query = Q::load(query.add(offset * Q::BYTES / V::BYTES));
        M::add(sums, query, V::load(row.add(offset)))
    }
}

/// Sums all whole blocks of `CHAINS` registers, and says how many bytes of the row these are.
///
/// # Safety
/// The CPU has the features of `Q` and `V`; `length` bytes of the row are readable, and as many
/// components of the query.
#[inline(always)]
unsafe fn sum_blocks<Q, V, M>(query: *const u8, row: *const u8, length: usize) -> (M::Sums, usize)
where
    Q: Lanes<Register = V::Register>,
    V: Lanes,
    M: Measure<V>,
{
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
                *sums = add_at::<Q, V, M>(*sums, query, row, offset + chain * V::BYTES);
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
/// The CPU has the features of `Q` and `V`.
#[inline(always)]
unsafe fn short_distance<Q, V, M>(query: &[u8], row: &[u8]) -> f32
where
    Q: Lanes<Register = V::Register>,
    V: Lanes,
    M: Measure<V>,
{
    let (mut padded_query, mut padded_row) = ([0_u8; MAX_BYTES], [0_u8; MAX_BYTES]);
    padded_query[..query.len()].copy_from_slice(query);
    padded_row[..row.len()].copy_from_slice(row);
    // SAFETY: the caller vouches for the features; `BYTES <= MAX_BYTES` bytes are readable.
    unsafe {
        let query = Q::load(padded_query.as_ptr());
        let row = V::load(padded_row.as_ptr());
        M::finish(M::add(M::zero(), query, row))
    }
}
