//! Sums of weights over many codes, whatever weights mean: rows one after the other, or gathered.

use std::array::from_fn;

use crate::prefetch::RowPrefetch;
use pageway_types::Place;

/// Codes that are summed together where an instruction set gains by it.
pub(crate) const GROUP: usize = 4;

/// Bytes of one line of weights, and of a code that a register holds at most.
pub(crate) const LINE_BYTES: usize = 64;

/// Weights for as many codes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [u8; LINE_BYTES]);

/// What a query makes of the bytes of a code.
pub(crate) trait CodeWeights {
    /// Bytes of a code.
    fn code_bytes(&self) -> usize;
}

/// How an instruction set sums the weights of codes, modulo 2^32.
///
/// # Safety
/// Both functions need the CPU features of the instruction set, and codes as long as weights say or
/// longer: what follows a code may be read, and does not count.
pub(crate) trait CodeSum {
    type Weights: CodeWeights;

    unsafe fn sum(weights: &Self::Weights, code: &[u8]) -> i32;

    #[inline(always)]
    unsafe fn group(weights: &Self::Weights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        // Not a closure for each: what those call is not inlined, for they have no features.
        let [a, b, c, d] = codes;
        // SAFETY: the caller vouches for the features.
        unsafe {
            [
                Self::sum(weights, a),
                Self::sum(weights, b),
                Self::sum(weights, c),
                Self::sum(weights, d),
            ]
        }
    }
}

/// The code that begins at `start`, and all behind it. Stops where it is not whole.
#[inline(always)]
fn from<'c>(codes: &'c [u8], start: usize, weights: &impl CodeWeights) -> &'c [u8] {
    let _ = &codes[start..][..weights.code_bytes()];
    &codes[start..]
}

/// The sums of the codes that begin every `stride` bytes.
///
/// # Safety
/// The CPU has the features of `S`.
#[inline(always)]
pub(crate) unsafe fn sums<S: CodeSum>(
    weights: &S::Weights,
    codes: &[u8],
    stride: usize,
    out: &mut [i32],
) {
    let code = |index: usize| from(codes, index * stride, weights);
    let (groups, rest) = out.as_chunks_mut::<GROUP>();
    let grouped = GROUP * groups.len();
    // SAFETY: the caller vouches for the features.
    unsafe {
        for (group, out) in groups.iter_mut().enumerate() {
            *out = S::group(weights, from_fn(|one| code(GROUP * group + one)));
        }
        for (index, out) in rest.iter_mut().enumerate() {
            *out = S::sum(weights, code(grouped + index));
        }
    }
}

/// The same of the codes at `places`.
///
/// # Safety
/// The CPU has the features of `S`.
#[inline(always)]
pub(crate) unsafe fn sums_gather<S: CodeSum>(
    weights: &S::Weights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    assert_eq!(places.len(), out.len(), "one sum per place");
    let prefetch = RowPrefetch::new(codes, (stride, weights.code_bytes()), places);
    let code = |place: Place| from(codes, place.index() * stride, weights);
    let (groups, rest) = out.as_chunks_mut::<GROUP>();
    let (places_of_groups, other_places) = places.as_chunks::<GROUP>();
    let grouped = GROUP * groups.len();
    // SAFETY: the caller vouches for the features.
    unsafe {
        for (group, (places, out)) in places_of_groups.iter().zip(groups).enumerate() {
            (0..GROUP).for_each(|one| prefetch.ahead_of(GROUP * group + one));
            let [a, b, c, d] = *places;
            *out = S::group(weights, [code(a), code(b), code(c), code(d)]);
        }
        for (index, (place, out)) in other_places.iter().zip(rest).enumerate() {
            prefetch.ahead_of(grouped + index);
            *out = S::sum(weights, code(*place));
        }
    }
}
