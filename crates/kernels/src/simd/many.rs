//! Distances of one query to many rows: the inner loop of every graph build.

use pageway_types::Place;

use super::lanes::Lanes;
use super::measure::{Measure, distance};
use crate::prefetch::RowPrefetch;

/// Row length that gets its own copy of the loop, with the query held in registers: 128-d bytes,
/// the most common integer vectors. In cache that took 4.2 ns a row instead of 5.3 (AVX-512);
/// longer rows gain nothing.
const UNROLLED_ROW_BYTES: usize = 128;

/// See [`crate::DistanceManyFn`].
///
/// # Safety
/// The CPU has the features of `V`.
#[inline(always)]
pub(crate) unsafe fn distance_many<V: Lanes, M: Measure<V>>(
    query: &[u8],
    rows: &[u8],
    row_bytes: usize,
    places: &[Place],
    out: &mut [f32],
) {
    assert_eq!(query.len(), row_bytes, "a query as long as a row");
    assert_eq!(places.len(), out.len(), "one distance per place");
    // SAFETY: the caller vouches for the features.
    unsafe {
        if row_bytes == UNROLLED_ROW_BYTES {
            distances::<V, M>(query, rows, UNROLLED_ROW_BYTES, places, out);
        } else {
            distances::<V, M>(query, rows, row_bytes, places, out);
        }
    }
}

/// # Safety
/// The CPU has the features of `V`.
#[inline(always)]
unsafe fn distances<V: Lanes, M: Measure<V>>(
    query: &[u8],
    rows: &[u8],
    row_bytes: usize,
    places: &[Place],
    out: &mut [f32],
) {
    let query = &query[..row_bytes];
    let prefetch = RowPrefetch::new(rows, row_bytes, places);
    for (index, (place, out)) in places.iter().zip(out).enumerate() {
        prefetch.ahead_of(index);
        let row = &rows[place.index() * row_bytes..][..row_bytes];
        // SAFETY: the caller vouches for the features.
        *out = unsafe { distance::<V, M>(query, row) };
    }
}
