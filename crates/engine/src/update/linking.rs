//! Neighbours of rows, looked for before the rows are put in, where the design links them.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use pageway_types::NodeId;

use super::common::Common;
use super::patch::patched;
use super::state::Batch;
use crate::build::{Linker, found_per_row};
use crate::delta::RowLinks;
use crate::error::Result;
use crate::index::{Version, met_bytes};
use crate::manifest::SegmentEntry;
use crate::source::keep_exactly;
use crate::spec::IndexSpec;

/// Bytes of a search for the neighbours of a row, of which there is one at a time: vectors that it
/// met, and those that are compared with each other.
pub(super) fn link_bytes(spec: &IndexSpec, nodes: u32) -> u64 {
    if !spec.links_rows() {
        return 0;
    }
    let (list, row) = (
        found_per_row(spec, nodes),
        spec.shape.vectors().row_bytes() as u64,
    );
    met_bytes(list, row) + 2 * u64::from(list + 1) * (row + 16)
}

impl Common {
    /// Looks for the neighbours of the rows of a batch in the segment that they will go to; of none
    /// where there is no such segment.
    ///
    /// # Errors
    /// As searches.
    pub(super) fn link(&self, batch: &mut Batch) -> Result<()> {
        let version = self.index.version();
        let known = batch.links.as_ref().map(|links| links.numbering);
        let links = patched(&version)
            .filter(|(_, entry)| entry.spec.links_rows() && known != Some(version.numbering()));
        let (Some((_, entry)), true) = (links, batch.operation.puts()) else {
            return Ok(());
        };
        let row_bytes = self.index.shape().row_bytes();
        let rows = batch.rows.chunks_exact(row_bytes);
        let lists = rows.map(|row| self.list_of(&version, entry, row));
        batch.links = Some(RowLinks {
            lists: lists.collect::<Result<_>>()?,
            numbering: version.numbering(),
        });
        Ok(())
    }

    /// The list of a row: of the nodes that a search for it finds, those that pruning keeps; none
    /// of a row that the segment cannot hold as it is.
    fn list_of(&self, version: &Version, entry: &SegmentEntry, row: &[u8]) -> Result<Vec<NodeId>> {
        let shape = self.index.shape();
        let (stored, held) = if entry.is_narrowed() {
            keep_exactly(row.to_vec(), shape)?
        } else {
            (row.to_vec(), shape)
        };
        if held != entry.spec.shape.vectors() {
            return Ok(Vec::new());
        }
        let most = version.list_up_to(found_per_row(&entry.spec, entry.node_count));
        let _turn = self.linking.lock().unwrap_or_else(PoisonError::into_inner);
        let near = self.index.neighbors_of(version, row, most)?;
        let counters = &self.counters;
        counters.linked.fetch_add(1, Ordering::Relaxed);
        counters
            .link_pages
            .fetch_add(near.stats.pages, Ordering::Relaxed);
        let (mut nodes, mut others) = (Vec::new(), Vec::new());
        for found in &near.found {
            let vector = near.rows.as_ref().and_then(|rows| rows.row(found.node));
            if let Some(vector) = vector {
                nodes.push(found.node);
                others.extend_from_slice(vector);
            }
        }
        let chosen = Linker::new(&entry.spec, most, None)?.choose(&stored, (&others, 0))?;
        let list = chosen.iter().filter_map(|place| nodes.get(*place).copied());
        Ok(list.collect())
    }
}
