//! Measures between a sub-vector and the 256 centroids of its sub-space.
//!
//! Every centroid is summed on its own, component by component, each product rounded before it is
//! added. There is no fused multiply-add here, so that codes and tables are the same bytes on
//! every machine.

/// Centroids of one sub-space.
const CENTROIDS: usize = 256;

pub(super) fn l2_to_256(sub: &[f32], centroids: &[f32], out: &mut [f32; CENTROIDS]) {
    accumulate(sub, centroids, out, |x, c| (x - c) * (x - c));
}

pub(super) fn dot_to_256(sub: &[f32], centroids: &[f32], out: &mut [f32; CENTROIDS]) {
    accumulate(sub, centroids, out, |x, c| x * c);
}

pub(super) fn nearest_of_256(sub: &[f32], centroids: &[f32]) -> (u8, f32) {
    let mut distances = [0.0; CENTROIDS];
    l2_to_256(sub, centroids, &mut distances);
    let mut nearest = (0, distances[0]);
    for (index, &distance) in (0..=u8::MAX).zip(&distances) {
        if distance < nearest.1 {
            nearest = (index, distance);
        }
    }
    nearest
}

#[inline(always)]
fn accumulate(
    sub: &[f32],
    centroids: &[f32],
    out: &mut [f32; CENTROIDS],
    term: impl Fn(f32, f32) -> f32,
) {
    assert_eq!(
        centroids.len(),
        sub.len() * CENTROIDS,
        "one row of centroids per component"
    );
    out.fill(0.0);
    for (&x, row) in sub.iter().zip(centroids.chunks_exact(CENTROIDS)) {
        for (out, &centroid) in out.iter_mut().zip(row) {
            *out += term(x, centroid);
        }
    }
}
