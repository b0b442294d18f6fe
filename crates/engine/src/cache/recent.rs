//! Whole records of nodes that were used lately, by second chance: those of hot nodes at first,
//! then what searches read and expand takes the place of what they do not expand again.
//!
//! Invariants: memory is fixed when the cache is made; a record comes out as a copy, so none
//! changes while a query works on it. What is here depends on all queries so far, so a walk may
//! look only at nodes that it chose already.

use pageway_types::NodeId;

use super::frames::{Eviction, FrameCache};
use super::images::ImageShape;
use crate::layout::{Neighbors, Record, UnpackedList, VectorPart};

/// Images of records in frames as long as the longest image.
pub(crate) struct RecentRecords {
    frames: FrameCache,
    shape: ImageShape,
}

impl RecentRecords {
    /// A cache of as many records as `bytes` hold, `limit` at most.
    pub(crate) fn new(bytes: u64, shape: ImageShape, limit: usize) -> Self {
        let frame_bytes = shape.most_bytes();
        let capacity = FrameCache::capacity_for(bytes, frame_bytes).min(limit);
        Self {
            frames: FrameCache::new(capacity, frame_bytes, Eviction::Clock),
            shape,
        }
    }

    /// The record of a node, copied into `copy`, if it is here. Counts as a use.
    pub(crate) fn record<'c>(
        &self,
        node: NodeId,
        copy: &'c mut UnpackedList,
    ) -> Option<Record<'c>> {
        // An image is a multiple of as many bytes as an entry of a list.
        copy.resize(self.shape.most_bytes() / 4, [0; 4]);
        let bytes = copy.as_flattened_mut();
        if !self.frames.read(node.0, bytes) {
            return None;
        }
        self.shape.decode(node, bytes)
    }

    /// Offers a record that was read for its node and used.
    pub(crate) fn offer(
        &self,
        node: NodeId,
        neighbors: Neighbors<'_>,
        vector: Option<&VectorPart<'_>>,
    ) {
        self.shape.parts(neighbors, vector, |parts| {
            self.frames.offer(node.0, parts);
        });
    }

    /// Offers an image that was made by [`ImageShape::append`].
    pub(crate) fn offer_image(&self, node: NodeId, image: &[u8]) {
        self.frames.offer(node.0, &[image]);
    }

    /// Whether the node is here.
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.frames.contains(node.0)
    }

    /// What an image holds.
    pub(crate) const fn shape(&self) -> ImageShape {
        self.shape
    }

    /// Nodes held at most.
    pub(crate) fn capacity(&self) -> usize {
        self.frames.capacity()
    }

    /// Nodes held.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Bytes held, full or not.
    pub(crate) fn bytes(&self) -> u64 {
        self.frames.held_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::layout::StoredList;

    const SHAPE: ImageShape = ImageShape {
        neighbors: 6,
        code_bytes: 2,
        vector_bytes: 5,
    };

    /// The bytes of a record: lists of any length, codes of their last neighbours.
    struct Own {
        ids: Vec<u8>,
        codes: Vec<u8>,
        vector: [u8; 5],
        row: u32,
    }

    impl Own {
        fn of(node: u32) -> Self {
            let degree = node as usize % 7;
            Self {
                ids: (0..degree as u32)
                    .flat_map(|n| (node ^ n).to_le_bytes())
                    .collect(),
                codes: vec![!node as u8; degree / 2 * 2],
                vector: [node as u8; 5],
                row: node + 1,
            }
        }

        fn neighbors(&self) -> Neighbors<'_> {
            Neighbors {
                ids: &self.ids,
                codes: &self.codes,
            }
        }

        fn vector(&self) -> VectorPart<'_> {
            VectorPart {
                bytes: &self.vector,
                row: self.row,
                user_id: u64::from(self.row) << 33,
            }
        }
    }

    fn offer(records: &RecentRecords, node: u32) {
        let own = Own::of(node);
        records.offer(NodeId(node), own.neighbors(), Some(&own.vector()));
    }

    /// Whether the node is here, and then as it was offered.
    fn holds(records: &RecentRecords, node: u32) -> bool {
        let mut copy = UnpackedList::new();
        let Some(record) = records.record(NodeId(node), &mut copy) else {
            return false;
        };
        let own = Own::of(node);
        let StoredList::Plain(neighbors) = record.list else {
            panic!("a list is packed")
        };
        assert_eq!(
            (neighbors, record.vector),
            (own.neighbors(), Some(own.vector()))
        );
        true
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_went_in(
            bytes in 0u64..1200,
            uses in prop::collection::vec((0u32..30, prop::bool::ANY), 0..200),
        ) {
            let records = RecentRecords::new(bytes, SHAPE, 20);
            prop_assert!(records.bytes() <= bytes);
            let mut offered = HashSet::new();
            for (node, offers) in uses {
                if offers {
                    offer(&records, node);
                    offered.insert(node);
                    prop_assert_eq!(holds(&records, node), records.capacity() > 0);
                } else {
                    let here = records.contains(NodeId(node));
                    prop_assert_eq!(holds(&records, node), here);
                    prop_assert!(!here || offered.contains(&node));
                }
                prop_assert_eq!(records.len(), offered.len().min(records.capacity()));
            }
        }
    }

    #[test]
    fn an_image_that_was_loaded_is_a_record_that_was_offered() {
        let records = RecentRecords::new(10_000, SHAPE, 20);
        for node in 0..20 {
            let own = Own::of(node);
            let record = Record {
                node: NodeId(node),
                vector: Some(own.vector()),
                list: StoredList::Plain(own.neighbors()),
            };
            let mut image = Vec::new();
            SHAPE.append(&record, &mut image).unwrap();
            assert!(image.len() <= SHAPE.most_bytes());
            records.offer_image(record.node, &image);
            assert!(holds(&records, node));
        }
    }

    #[test]
    fn what_is_used_again_outlives_what_is_not() {
        let records = RecentRecords::new(1 << 20, SHAPE, 8);
        (0..8).for_each(|node| offer(&records, node));
        for node in 8..200 {
            assert!(holds(&records, 3), "used since the last offer: {node}");
            offer(&records, node);
        }
        assert_eq!(records.len(), 8);
        assert!(!holds(&records, 4) && holds(&records, 199));
    }
}
