//! Distances of one query to many rows: the inner loop of every graph build.

use pageway_types::Place;

use super::lanes::Lanes;
use super::measure::{Measure, distance_between};
use crate::prefetch::RowPrefetch;

/// Row length that gets its own copy of the loop, with the query held in registers: 128-d bytes,
/// the most common integer vectors. In cache that took 4.2 ns a row instead of 5.3 (AVX-512);
/// longer rows gain nothing.
const UNROLLED_ROW_BYTES: usize = 128;

/// See [`crate::DistanceManyFn`]; the query may be of another element type, as in
/// [`distance_between`].
///
/// # Safety
/// The CPU has the features of `Q` and `V`.
#[inline(always)]
pub(crate) unsafe fn distance_many<Q, V, M>(
    query: &[u8],
    rows: &[u8],
    row_bytes: usize,
    places: &[Place],
    out: &mut [f32],
) where
    Q: Lanes<Register = V::Register>,
    V: Lanes,
    M: Measure<V>,
{
    let query_bytes = row_bytes * Q::BYTES / V::BYTES;
    assert_eq!(query.len(), query_bytes, "a query as long as a row");
    assert_eq!(places.len(), out.len(), "one distance per place");
    // SAFETY: the caller vouches for the features.
    unsafe {
        if row_bytes == UNROLLED_ROW_BYTES {
            distances::<Q, V, M>(query, rows, UNROLLED_ROW_BYTES, places, out);
        } else {
            distances::<Q, V, M>(query, rows, row_bytes, places, out);
        }
    }
}

/// # Safety
/// The CPU has the features of `Q` and `V`.
#[inline(always)]
unsafe fn distances<Q, V, M>(
    query: &[u8],
    rows: &[u8],
    row_bytes: usize,
    places: &[Place],
    out: &mut [f32],
) where
    Q: Lanes<Register = V::Register>,
    V: Lanes,
    M: Measure<V>,
{
    let query = &query[..row_bytes * Q::BYTES / V::BYTES];
    let prefetch = RowPrefetch::new(rows, (row_bytes, row_bytes), places);
    for (index, (place, out)) in places.iter().zip(out).enumerate() {
        prefetch.ahead_of(index);
        let row = &rows[place.index() * row_bytes..][..row_bytes];
        // SAFETY: the caller vouches for the features.
        *out = unsafe { distance_between::<Q, V, M>(query, row) };
    }
}
