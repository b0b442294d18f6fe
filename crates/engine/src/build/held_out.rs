//! Rows of an index that stand for queries, if there are no queries.

use std::collections::HashSet;

use pageway_types::{NodeId, PageId, VectorRead, VectorShape};

use super::sample::sample_rows;
use crate::error::{Error, Result};
use crate::execution::HeldOut;
use crate::index::Index;
use crate::options::Queries;
use crate::resolve;

/// Living rows in segments of an index, drawn to measure recall with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldOutRows {
    rows: Vec<u8>,
    nodes: Vec<NodeId>,
    held_out: Vec<HeldOut>,
    shape: VectorShape,
}

impl HeldOutRows {
    /// The raw rows, one after the other.
    pub(super) fn raw(&self) -> &[u8] {
        &self.rows
    }

    /// The raw rows, and their nodes.
    pub(super) fn into_parts(self) -> (Vec<u8>, Vec<NodeId>) {
        (self.rows, self.nodes)
    }

    /// The rows as queries that do not find themselves.
    pub fn queries(&self) -> Queries<'_> {
        Queries {
            held_out: Some(&self.held_out),
            ..Queries::new(&self.rows, self.shape)
        }
    }
}

impl Index {
    /// Whether half of the pages of these nodes, or more, hold no others. That is so if they were
    /// placed behind the others, with one page of each segment where those end, and of nodes that
    /// were placed among the others it is not.
    ///
    /// # Errors
    /// A spec that has no codec.
    pub(super) fn have_own_pages(&self, nodes: &[NodeId]) -> Result<bool> {
        let own: HashSet<NodeId> = nodes.iter().copied().collect();
        let (mut pages, mut shared) = (0, 0);
        for segment in &self.version().manifest.segments {
            let map = resolve::segment_codec(segment)?.map();
            let first = segment.first_row;
            let within = nodes.iter().filter_map(|node| node.0.checked_sub(first));
            let within = within.filter(|node| *node < segment.node_count);
            let of_segment: HashSet<PageId> =
                within.map(|node| map.page_of(NodeId(node))).collect();
            pages += of_segment.len();
            let is_own = |node: u32| own.contains(&NodeId(first + node));
            let of_others = of_segment
                .iter()
                .filter(|page| !map.nodes_of(**page).all(is_own));
            shared += of_others.count();
        }
        Ok(2 * shared <= pages)
    }

    /// At most `count` living rows in segments, evenly drawn.
    ///
    /// # Errors
    /// `InvalidInput` where there is none; `Corrupt` or `Io` as pages are.
    pub fn held_out_rows(&self, count: u32, seed: u64) -> Result<HeldOutRows> {
        let version = self.version();
        let mut drawn = HeldOutRows {
            rows: Vec::new(),
            nodes: Vec::new(),
            held_out: Vec::new(),
            shape: self.shape(),
        };
        for node in sample_rows(version.node_count().into(), count.max(1).into(), seed) {
            let own = NodeId(node as u32);
            if version.is_dead(own) {
                continue;
            }
            let start = drawn.rows.len();
            drawn.rows.resize(start + drawn.shape.row_bytes(), 0);
            self.read(node, drawn.rows.get_mut(start..).unwrap_or_default())?;
            drawn.nodes.push(own);
            drawn.held_out.push(HeldOut::new(own));
        }
        if drawn.held_out.is_empty() {
            let words = "no row to measure recall with is in a segment: flush, or give queries";
            return Err(Error::invalid(words));
        }
        Ok(drawn)
    }
}
