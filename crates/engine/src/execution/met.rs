//! Vectors that a query compared, kept for who links a row by what its search met.

use pageway_types::NodeId;

/// The vectors that a query compared last, each with its node.
#[derive(Debug)]
pub(crate) struct MetRows {
    row_bytes: usize,
    most: usize,
    /// As they came; in place of the oldest ones where there is no more room.
    nodes: Vec<NodeId>,
    rows: Vec<u8>,
    next: usize,
}

impl MetRows {
    /// Room for so many rows of so many bytes.
    pub(crate) fn new(row_bytes: usize, most: usize) -> Self {
        Self {
            row_bytes,
            most,
            nodes: Vec::with_capacity(most),
            rows: Vec::with_capacity(most * row_bytes),
            next: 0,
        }
    }

    /// Bytes of such room.
    pub(crate) const fn bytes(row_bytes: u64, most: u64) -> u64 {
        most * (row_bytes + 4)
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.rows.clear();
        self.next = 0;
    }

    pub(super) fn note(&mut self, node: NodeId, row: &[u8]) {
        if row.len() != self.row_bytes || self.most == 0 {
            return;
        }
        if self.nodes.len() < self.most {
            self.nodes.push(node);
            self.rows.extend_from_slice(row);
            return;
        }
        let start = self.next * self.row_bytes;
        if let (Some(own), Some(out)) = (
            self.nodes.get_mut(self.next),
            self.rows.get_mut(start..start + self.row_bytes),
        ) {
            *own = node;
            out.copy_from_slice(row);
        }
        self.next = (self.next + 1) % self.most;
    }

    /// The vector of a node, where it is kept.
    pub(crate) fn row(&self, node: NodeId) -> Option<&[u8]> {
        let at = self.nodes.iter().position(|own| *own == node)?;
        self.rows
            .get(at * self.row_bytes..(at + 1) * self.row_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rows_are_kept() {
        let mut met = MetRows::new(2, 3);
        for node in 0..5u8 {
            met.note(NodeId(node.into()), &[node, 7]);
        }
        met.note(NodeId(9), &[1]);
        let kept = |node| met.row(NodeId(node)).map(<[u8]>::to_vec);
        assert_eq!([kept(0), kept(1), kept(9)], [None, None, None]);
        assert_eq!(kept(2), Some(vec![2, 7]));
        assert_eq!(kept(4), Some(vec![4, 7]));
        met.clear();
        assert_eq!(met.row(NodeId(4)), None);
    }
}
