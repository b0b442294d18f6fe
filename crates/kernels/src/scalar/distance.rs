//! Distances, norms and widening.

use pageway_types::Place;

use super::component::Component;
use crate::finish::{cosine_distance, jaccard_distance};

/// Independent partial sums: enough for the vectoriser, and they keep float sums accurate.
const LANES: usize = 16;

/// A metric, as a function of two vectors, each of its own element type.
pub(super) trait Measure {
    fn distance<Q, C>(query: &[u8], row: &[u8]) -> f32
    where
        Q: Component<Value = C::Value>,
        C: Component;
}

/// Squared Euclidean distance.
pub(super) struct L2;
/// Negated inner product.
pub(super) struct InnerProduct;
/// One minus the cosine.
pub(super) struct Cosine;
/// Manhattan distance.
pub(super) struct L1;
/// One minus the share of what two vectors have in common.
pub(super) struct Jaccard;

impl Measure for L2 {
    #[inline(always)]
    fn distance<Q, C>(query: &[u8], row: &[u8]) -> f32
    where
        Q: Component<Value = C::Value>,
        C: Component,
    {
        let [sum] = sums::<Q, C, 1>(query, row, |x, y| [(x - y) * (x - y)]);
        sum as f32
    }
}

impl Measure for InnerProduct {
    #[inline(always)]
    fn distance<Q, C>(query: &[u8], row: &[u8]) -> f32
    where
        Q: Component<Value = C::Value>,
        C: Component,
    {
        let [dot] = sums::<Q, C, 1>(query, row, |x, y| [x * y]);
        -dot as f32
    }
}

impl Measure for Cosine {
    #[inline(always)]
    fn distance<Q, C>(query: &[u8], row: &[u8]) -> f32
    where
        Q: Component<Value = C::Value>,
        C: Component,
    {
        let [dot, aa, bb] = sums::<Q, C, 3>(query, row, |x, y| [x * y, x * x, y * y]);
        cosine_distance(dot, aa, bb)
    }
}

impl Measure for L1 {
    #[inline(always)]
    fn distance<Q, C>(query: &[u8], row: &[u8]) -> f32
    where
        Q: Component<Value = C::Value>,
        C: Component,
    {
        let [sum] = sums::<Q, C, 1>(query, row, |x, y| [C::magnitude(x - y)]);
        sum as f32
    }
}

impl Measure for Jaccard {
    #[inline(always)]
    fn distance<Q, C>(query: &[u8], row: &[u8]) -> f32
    where
        Q: Component<Value = C::Value>,
        C: Component,
    {
        let [dot, aa, bb] = sums::<Q, C, 3>(query, row, |x, y| [x * y, x * x, y * y]);
        jaccard_distance(dot, aa, bb)
    }
}

pub(super) fn distance<Q, C, M>(query: &[u8], row: &[u8]) -> f32
where
    Q: Component<Value = C::Value>,
    C: Component,
    M: Measure,
{
    debug_assert_eq!(
        components::<Q>(query),
        components::<C>(row),
        "vectors of one length"
    );
    M::distance::<Q, C>(query, row)
}

pub(super) fn distance_many<Q, C, M>(
    query: &[u8],
    rows: &[u8],
    row_bytes: usize,
    places: &[Place],
    out: &mut [f32],
) where
    Q: Component<Value = C::Value>,
    C: Component,
    M: Measure,
{
    let query_bytes = row_bytes * Q::BITS / C::BITS;
    assert_eq!(query.len(), query_bytes, "a query as long as a row");
    assert_eq!(places.len(), out.len(), "one distance per place");
    for (place, out) in places.iter().zip(out) {
        let row = &rows[place.index() * row_bytes..][..row_bytes];
        *out = M::distance::<Q, C>(query, row);
    }
}

pub(super) fn squared_norm<C: Component>(vector: &[u8]) -> f32 {
    let [sum] = sums::<C, C, 1>(vector, vector, |x, _| [x * x]);
    sum as f32
}

#[inline(always)]
pub(crate) fn widen<C: Component>(bytes: &[u8], out: &mut [f32]) {
    assert_eq!(components::<C>(bytes), out.len(), "one value per component");
    for (bytes, out) in bytes.chunks(block::<C>()).zip(out.chunks_mut(LANES)) {
        let values = read_block::<C>(bytes);
        for (value, out) in values.into_iter().zip(out) {
            *out = value.into() as f32;
        }
    }
}

/// Sums `N` terms of every pair of components; component `i` goes to partial sum `i % LANES`.
#[inline(always)]
fn sums<Q, C, const N: usize>(
    a: &[u8],
    b: &[u8],
    terms: impl Fn(C::Value, C::Value) -> [C::Value; N],
) -> [f64; N]
where
    Q: Component<Value = C::Value>,
    C: Component,
{
    let mut sums = [[C::Value::default(); LANES]; N];
    let blocks = a.chunks(block::<Q>()).zip(b.chunks(block::<C>()));
    for (a, b) in blocks {
        let (a, b) = (read_block::<Q>(a), read_block::<C>(b));
        for lane in 0..LANES {
            let terms = terms(a[lane], b[lane]);
            for sum in 0..N {
                sums[sum][lane] += terms[sum];
            }
        }
    }
    sums.map(|lanes| pairwise_total(lanes).into())
}

/// Bytes of `LANES` components.
const fn block<C: Component>() -> usize {
    LANES * C::BITS / 8
}

/// Whole components in `bytes`.
const fn components<C: Component>(bytes: &[u8]) -> usize {
    if C::BITS < 8 {
        bytes.len() * (8 / C::BITS)
    } else {
        bytes.len() / (C::BITS / 8)
    }
}

/// Reads up to `LANES` components; missing ones are zero and add nothing to any sum.
#[inline(always)]
fn read_block<C: Component>(bytes: &[u8]) -> [C::Value; LANES] {
    let mut values = [C::Value::default(); LANES];
    if bytes.len() == block::<C>() {
        for (lane, value) in values.iter_mut().enumerate() {
            *value = C::read(bytes, lane);
        }
    } else {
        let count = components::<C>(bytes);
        for (lane, value) in values.iter_mut().take(count).enumerate() {
            *value = C::read(bytes, lane);
        }
    }
    values
}

/// Adds the upper half of the lanes to the lower one until one is left.
#[inline(always)]
fn pairwise_total<V: Copy + std::ops::Add<Output = V>>(mut lanes: [V; LANES]) -> V {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = lanes[lane] + lanes[lane + width];
        }
    }
    lanes[0]
}
