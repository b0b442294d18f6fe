//! For designs that link new rows into a segment: their neighbours are searched for before the
//! rows are put in.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};

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
use crate::threads::each_at_once;

/// Searches for neighbours at the same time, at most.
pub(super) const MOST_LINKS: u64 = 8;

/// Turns to search for the neighbours of a row, as many at a time as there is memory for.
pub(super) struct LinkTurns {
    most: u32,
    taken: Mutex<u32>,
    returned: Condvar,
}

/// A turn, until it is dropped.
struct LinkTurn<'t>(&'t LinkTurns);

impl LinkTurns {
    /// `most` turns at a time, at least one.
    pub(super) fn new(most: u32) -> Self {
        Self {
            most: most.max(1),
            taken: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// Waits for a turn.
    fn take(&self) -> LinkTurn<'_> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= self.most {
            let wait = self.returned.wait(taken);
            taken = wait.unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        LinkTurn(self)
    }
}

impl Drop for LinkTurn<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.returned.notify_one();
    }
}

/// Bytes of a search for the neighbours of a row: vectors it met, and those that pruning compares.
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
    /// Searches for the neighbours of the rows of a batch, if there is a segment that they will go
    /// to.
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
        let rows: Vec<&[u8]> = batch.rows.chunks_exact(row_bytes).collect();
        let list = |row: &&[u8]| self.list_of(&version, entry, row);
        let lists = each_at_once(self.linking.most as usize, &rows, &list);
        batch.links = Some(RowLinks {
            lists: lists.into_iter().collect::<Result<_>>()?,
            numbering: version.numbering(),
        });
        Ok(())
    }

    /// The adjacency list of a row: the nodes that a search finds, pruned. Empty if the segment
    /// cannot hold the row exactly.
    fn list_of(&self, version: &Version, entry: &SegmentEntry, row: &[u8]) -> Result<Vec<NodeId>> {
        let shape = self.index.shape();
        let (stored, held) = if entry.is_narrowed() {
            keep_exactly(row.to_vec(), shape)?
        } else {
            (row.to_vec(), shape)
        };
        if !entry.can_hold(&stored, held) {
            return Ok(Vec::new());
        }
        let most = version.list_up_to(found_per_row(&entry.spec, entry.node_count));
        let _turn = self.linking.take();
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_items_and_no_more_go_on_than_there_are_turns() {
        let turns = LinkTurns::new(3);
        let (going, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items: Vec<usize> = (0..40).collect();
        let twice = |item: &usize| {
            let _turn = turns.take();
            most.fetch_max(going.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(std::time::Duration::from_millis(1));
            going.fetch_sub(1, Ordering::SeqCst);
            2 * item
        };
        let expected: Vec<usize> = items.iter().map(|item| 2 * item).collect();
        assert_eq!(each_at_once(8, &items, &twice), expected);
        assert_eq!(each_at_once(1, &items, &twice), expected);
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }
}
