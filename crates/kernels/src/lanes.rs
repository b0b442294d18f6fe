//! Marks of lanes, one bit each, as kernels give them.

/// The lanes that are marked, lowest first.
#[inline]
pub fn lanes(mut marks: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = marks.trailing_zeros() as usize;
        (marks != 0).then(|| {
            marks &= marks - 1;
            lane
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lanes_are_the_bits(marks in any::<u32>()) {
            let back = lanes(marks).fold(0, |all, lane| all | 1_u32 << lane);
            prop_assert_eq!(back, marks);
            prop_assert!(lanes(marks).collect::<Vec<_>>().is_sorted());
        }
    }
}
