//! The last step of the cosine metric, shared by every instruction set.

/// `1 - dot / sqrt(aa * bb)`, or `1.0` when a vector has no direction.
///
/// Computed in `f64`, which holds the product of two `f32` norms exactly and without overflow:
/// a vector is at distance `0.0` from itself, not at some rounding error.
#[inline(always)]
pub(crate) fn cosine_distance(dot: f64, aa: f64, bb: f64) -> f32 {
    let norms = aa * bb;
    if norms == 0.0 {
        return 1.0;
    }
    (1.0 - dot / norms.sqrt()) as f32
}
