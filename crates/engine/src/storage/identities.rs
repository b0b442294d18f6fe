//! What a search returns for a node, in memory: where distances are decided by codes, a node may be
//! an answer whose page was never read.
//!
//! ```text
//! | row u32 | user id u64 |   per node; the id where users gave ids
//! ```

use pageway_types::NodeId;

use crate::spec::{IdStorage, IndexSpec, RefineSpec};

const ROW_BYTES: usize = 4;
const USER_ID_BYTES: usize = 8;

/// Rows and user ids in node order.
#[derive(Debug)]
pub(crate) struct Identities {
    bytes: Vec<u8>,
    stride: usize,
}

impl Identities {
    /// Bytes per node: none where the node's number is the row and the id.
    pub(crate) fn stride(spec: &IndexSpec) -> usize {
        match spec.storage.ids {
            IdStorage::InRecord => ROW_BYTES + USER_ID_BYTES,
            IdStorage::RowNumber if spec.nodes_are_rows() => 0,
            IdStorage::RowNumber => ROW_BYTES,
        }
    }

    /// Whether an index of `spec` keeps identities in memory: where a design has that, and codes
    /// decide.
    pub(crate) fn are_kept(spec: &IndexSpec) -> bool {
        let bounded = matches!(spec.execution.refine, RefineSpec::Bounded { .. });
        spec.storage.ids_in_memory && bounded
    }

    /// Bytes of those.
    pub(crate) fn bytes(spec: &IndexSpec, node_count: u32) -> u64 {
        if Self::are_kept(spec) {
            u64::from(node_count) * Self::stride(spec) as u64
        } else {
            0
        }
    }

    /// A table over bytes that were read already, `stride` per node.
    pub(crate) fn new(bytes: Vec<u8>, stride: usize) -> Self {
        Self { bytes, stride }
    }

    /// Appends the entry of the next node.
    pub(crate) fn push(out: &mut Vec<u8>, stride: usize, (row, user_id): (u32, u64)) {
        let (row, user_id) = (row.to_le_bytes(), user_id.to_le_bytes());
        let entry = row.into_iter().chain(user_id);
        out.extend(entry.take(stride));
    }

    /// Row and user id of a node.
    pub(crate) fn of(&self, node: NodeId) -> (u32, u64) {
        let start = node.index() * self.stride;
        let entry = self.bytes.get(start..start + self.stride);
        let Some((row, id)) = entry.and_then(|entry| entry.split_first_chunk::<ROW_BYTES>()) else {
            return (node.0, node.0.into());
        };
        let row = u32::from_le_bytes(*row);
        let id = id.first_chunk().map(|id| u64::from_le_bytes(*id));
        (row, id.unwrap_or_else(|| row.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out() {
        for (stride, expected) in [(0, (1, 1)), (4, (8, 8)), (12, (8, 1 << 40))] {
            let mut bytes = Vec::new();
            Identities::push(&mut bytes, stride, (7, 1 << 50));
            Identities::push(&mut bytes, stride, (8, 1 << 40));
            assert_eq!(bytes.len(), 2 * stride);
            assert_eq!(Identities::new(bytes, stride).of(NodeId(1)), expected);
        }
    }
}
