//! Arithmetic on widened vectors, for the few places that meet means and centroids.
//!
//! Sums run over a fixed number of lanes, so that the compiler can use vector registers and the
//! result is still the same on every machine.

const LANES: usize = 16;

/// Squared Euclidean distance of two slices of one length.
#[inline]
pub(crate) fn squared_l2(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += (a - b) * (a - b);
        }
    }
    let rest: f32 = a_rest
        .iter()
        .zip(b_rest)
        .map(|(a, b)| (a - b) * (a - b))
        .sum();
    sums.iter().sum::<f32>() + rest
}

/// Inner product of two slices of one length.
#[inline]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Inner product of `a - origin` and `b`, all of one length.
#[inline]
pub(crate) fn dot_from(origin: &[f32], a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (origin_blocks, origin_rest) = origin.as_chunks::<LANES>();
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for ((origin, a), b) in origin_blocks.iter().zip(a_blocks).zip(b_blocks) {
        for (((sum, origin), a), b) in sums.iter_mut().zip(origin).zip(a).zip(b) {
            *sum += (a - origin) * b;
        }
    }
    let rest = origin_rest.iter().zip(a_rest).zip(b_rest);
    let rest: f32 = rest.map(|((origin, a), b)| (a - origin) * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Adds a multiple of a vector to another of the same length.
#[inline]
pub(crate) fn add_scaled(sum: &mut [f32], factor: f32, vector: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += factor * value;
    }
}

/// Scales a vector to length 1; a zero vector stays as it is.
pub(crate) fn normalize(vector: &mut [f32]) {
    let norm = vector
        .iter()
        .map(|&value| f64::from(value) * f64::from(value))
        .sum::<f64>()
        .sqrt();
    if norm > 0.0 {
        for value in vector {
            *value = (f64::from(*value) / norm) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_every_component() {
        for length in 0..40 {
            let a: Vec<f32> = (0..length).map(|at| at as f32).collect();
            let expected: f32 = a.iter().map(|value| value * value).sum();
            assert_eq!(squared_l2(&a, &vec![0.0; length]), expected);
            assert_eq!(dot(&a, &a), expected);
            assert_eq!(dot_from(&vec![0.0; length], &a, &a), expected);
            assert_eq!(dot_from(&a, &a, &a), 0.0);
            let mut sum = a.clone();
            add_scaled(&mut sum, -1.0, &a);
            assert_eq!(sum, vec![0.0; length]);
        }
    }

    #[test]
    fn directions_have_length_one() {
        let mut vector = [3.0, 4.0];
        normalize(&mut vector);
        assert_eq!(vector, [0.6, 0.8]);
        let mut zero = [0.0; 2];
        normalize(&mut zero);
        assert_eq!(zero, [0.0; 2]);
    }
}
