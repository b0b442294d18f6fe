//! The last steps of the metrics that are made of three sums, shared by every instruction set.

/// `1 - dot / sqrt(aa * bb)`, or `1.0` when a vector has no direction.
///
/// Computed in `f64`, which holds the product of two `f32` norms exactly and without overflow:
/// a vector is at distance `0.0` from itself, not at some rounding error.
#[inline(always)]
pub fn cosine_distance(dot: f64, aa: f64, bb: f64) -> f32 {
    let norms = aa * bb;
    if norms == 0.0 {
        return 1.0;
    }
    (1.0 - dot / norms.sqrt()) as f32
}

/// `1 - dot / (aa + bb - dot)`, or `0.0` when both vectors are zero.
///
/// Of bits that is the Jaccard distance of two sets; of numbers, that of Tanimoto.
#[inline(always)]
pub(crate) fn jaccard_distance(dot: f64, aa: f64, bb: f64) -> f32 {
    let either = aa + bb - dot;
    if either == 0.0 {
        return 0.0;
    }
    (1.0 - dot / either) as f32
}
