//! Places of nodes, in tables that hold something for each node in the order of nodes.

use pageway_types::{NodeId, Place};

/// The place of each of some nodes in such a table: its number.
#[inline]
pub const fn places(nodes: &[NodeId]) -> &[Place] {
    // SAFETY: both are transparent over `u32`, so the slice has the same layout, length and
    // alignment, and any number is valid for either; the borrow is shared and lives as long.
    unsafe { std::slice::from_raw_parts(nodes.as_ptr().cast(), nodes.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_number_of_its_node() {
        let nodes = [NodeId(3), NodeId(u32::MAX), NodeId(0)];
        assert_eq!(places(&nodes), [Place(3), Place(u32::MAX), Place(0)]);
        assert_eq!(places(&[]), []);
    }
}
