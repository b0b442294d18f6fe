//! A distance and a number as one integer: the distance in sortable bits above the number.

use pageway_types::{NodeId, Number};

/// Distance and a number as one integer that sorts by distance (total order), then by number.
#[inline]
pub(crate) fn sort_key(distance: f32, number: impl Number) -> u64 {
    let bits = distance.to_bits();
    let sortable = bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
    u64::from(sortable) << 32 | u64::from(number.number())
}

/// The distance inside a key.
#[inline]
pub(crate) fn key_distance(key: u64) -> f32 {
    let sortable = (key >> 32) as u32;
    f32::from_bits(
        sortable
            ^ if sortable >> 31 == 1 {
                1 << 31
            } else {
                u32::MAX
            },
    )
}

/// The number inside a key.
#[inline]
pub(crate) fn key_number<N: Number>(key: u64) -> N {
    N::of(key as u32)
}

/// The node inside a key.
#[inline]
pub(crate) fn key_node(key: u64) -> NodeId {
    key_number(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_distances_do() {
        let distances = [
            f32::NEG_INFINITY,
            -3.5,
            -0.0,
            0.0,
            1e-30,
            2.0,
            f32::INFINITY,
        ];
        for pair in distances.windows(2) {
            assert!(sort_key(pair[0], NodeId(9)) < sort_key(pair[1], NodeId(1)));
        }
        for distance in distances {
            assert_eq!(
                key_distance(sort_key(distance, NodeId(7))).to_bits(),
                distance.to_bits()
            );
        }
    }
}
