//! Records of hot nodes, chosen when the index opens, never evicted.

use pageway_types::NodeId;

const EMPTY: u32 = u32::MAX;

/// Records by node: a flat array of records behind an open-addressing table.
#[derive(Debug, Default)]
pub(crate) struct NodeCache {
    /// `(node, position)`; a power of two of slots, at most half full.
    slots: Vec<(u32, u32)>,
    records: Vec<u8>,
    record_bytes: usize,
}

impl NodeCache {
    /// A cache with room for `capacity` records.
    pub(crate) fn with_capacity(capacity: usize, record_bytes: usize) -> Self {
        if capacity == 0 {
            return Self::default();
        }
        Self {
            slots: vec![(EMPTY, 0); Self::slot_count(capacity)],
            records: Vec::with_capacity(capacity * record_bytes),
            record_bytes,
        }
    }

    fn slot_count(capacity: usize) -> usize {
        (capacity * 2).next_power_of_two()
    }

    /// Bytes of a cache of `capacity` records.
    pub(crate) fn bytes(capacity: usize, record_bytes: usize) -> u64 {
        if capacity == 0 {
            return 0;
        }
        (Self::slot_count(capacity) * size_of::<(u32, u32)>() + capacity * record_bytes) as u64
    }

    /// The most records, at most `limit`, that `bytes` can hold.
    pub(crate) fn capacity_for(bytes: u64, record_bytes: usize, limit: usize) -> usize {
        let (mut low, mut high) = (0, limit);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if Self::bytes(middle, record_bytes) <= bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Adds a record. The caller keeps to the capacity and adds no node twice.
    pub(crate) fn insert(&mut self, node: NodeId, record: &[u8]) {
        debug_assert_eq!(record.len(), self.record_bytes);
        let position = self.len() as u32;
        let start = self.start(node);
        let mask = self.slots.len().wrapping_sub(1);
        for step in 0..self.slots.len() {
            let Some(slot) = self.slots.get_mut((start + step) & mask) else {
                return;
            };
            if slot.0 == EMPTY {
                *slot = (node.0, position);
                self.records.extend_from_slice(record);
                return;
            }
        }
    }

    /// The record of a node, if it is here.
    #[inline]
    pub(crate) fn record(&self, node: NodeId) -> Option<&[u8]> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = self.start(node);
        loop {
            let (held, position) = *self.slots.get(at & mask)?;
            if held == node.0 {
                let start = position as usize * self.record_bytes;
                return self.records.get(start..start + self.record_bytes);
            }
            if held == EMPTY {
                return None;
            }
            at += 1;
        }
    }

    /// Records held.
    pub(crate) fn len(&self) -> usize {
        self.records
            .len()
            .checked_div(self.record_bytes)
            .unwrap_or(0)
    }

    #[inline]
    fn start(&self, node: NodeId) -> usize {
        // High bits of a multiplicative hash; a table has at most 2^32 slots.
        let bits = self.slots.len().trailing_zeros().min(32);
        let hash = u64::from(node.0.wrapping_mul(0x9E37_79B1));
        (hash >> (32 - bits)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        let mut cache = NodeCache::with_capacity(100, 3);
        for n in 0..100u32 {
            cache.insert(NodeId(n * 7919), &[n as u8; 3]);
        }
        assert_eq!(cache.len(), 100);
        for n in 0..100u32 {
            assert_eq!(cache.record(NodeId(n * 7919)), Some(&[n as u8; 3][..]));
            assert_eq!(cache.record(NodeId(n * 7919 + 1)), None);
        }
        assert_eq!(NodeCache::default().record(NodeId(0)), None);
    }

    #[test]
    fn capacity_is_the_largest_that_fits() {
        for (bytes, record) in [(0, 10), (100, 10), (10_000, 324), (1 << 20, 4034)] {
            let capacity = NodeCache::capacity_for(bytes, record, 5000);
            assert!(NodeCache::bytes(capacity, record) <= bytes);
            assert!(capacity == 5000 || NodeCache::bytes(capacity + 1, record) > bytes);
        }
    }
}
