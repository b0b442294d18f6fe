//! The Walsh-Hadamard transform: what every instruction set must give.

/// Stages by rising distance; every value is a sum or a difference of two, rounded.
pub(crate) fn hadamard(values: &mut [f32]) {
    assert!(values.len().is_power_of_two(), "a power of two of values");
    let mut half = 1;
    while half < values.len() {
        for block in values.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}
