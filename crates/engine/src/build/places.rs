//! A placement on disk: a new number for each node, and new places for whole pages.

use pageway_types::NodeId;

use super::spill::{Spill, SpillWriter};
use crate::error::{Error, ErrorKind, Result};

/// Places that are read at once.
const BLOCK_PLACES: usize = 1024;
/// Nodes whose places are looked up together.
pub(super) const TOGETHER: usize = 1 << 15;
/// Bytes of that: the nodes, and the distinct ones with their places.
pub(super) const LOOKUP_BYTES: u64 = 12 * TOGETHER as u64;

/// Where each node goes.
pub(super) struct Places {
    /// The places of all nodes, in order, `u32` each; `None` if all stay.
    within: Option<Spill>,
    per_page: u32,
    /// The new place of each full page; empty if all stay.
    moved: Vec<u32>,
}

/// Writes the places of all nodes.
pub(super) struct PlacesWriter(SpillWriter);

impl PlacesWriter {
    pub(super) fn new(out: SpillWriter) -> Self {
        Self(out)
    }

    /// Appends the places of the next nodes.
    pub(super) fn write(&mut self, places: &[u32]) -> Result<()> {
        places
            .iter()
            .try_for_each(|place| self.0.write(&place.to_le_bytes()))
    }

    /// Ends the file. `per_page` nodes share a page.
    pub(super) fn finish(self, per_page: u32) -> Result<Places> {
        Ok(Places {
            within: Some(self.0.finish()?),
            ..Places::same(per_page)
        })
    }
}

impl Places {
    /// All stay where they are.
    pub(super) const fn same(per_page: u32) -> Self {
        Self {
            within: None,
            per_page,
            moved: Vec::new(),
        }
    }

    /// Moves full pages, with their nodes, to the places in `moved`.
    pub(super) fn move_pages(&mut self, moved: Vec<u32>) {
        self.moved = moved;
    }

    /// Replaces nodes by their places.
    ///
    /// # Errors
    /// For a node that is not there.
    pub(super) fn look_up(&self, nodes: &mut [NodeId]) -> Result<()> {
        for nodes in nodes.chunks_mut(TOGETHER) {
            if let Some(spill) = &self.within {
                look_up(spill, nodes)?;
            }
            if self.moved.is_empty() {
                continue;
            }
            for node in nodes.iter_mut() {
                let (page, at) = (node.0 / self.per_page, node.0 % self.per_page);
                if let Some(page) = self.moved.get(page as usize) {
                    *node = NodeId(page * self.per_page + at);
                }
            }
        }
        Ok(())
    }

    /// The place of one node.
    pub(super) fn of(&self, node: NodeId) -> Result<NodeId> {
        let mut one = [node];
        self.look_up(&mut one)?;
        let [place] = one;
        Ok(place)
    }
}

/// Reads the places of nodes in ascending order, some at a time.
fn look_up(spill: &Spill, nodes: &mut [NodeId]) -> Result<()> {
    let mut distinct: Vec<u32> = nodes.iter().map(|node| node.0).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let all = (spill.bytes()? / size_of::<u32>() as u64) as usize;
    if distinct.last().is_some_and(|last| *last as usize >= all) {
        return Err(Error::new(
            ErrorKind::Internal,
            "a list leads to a node that is not placed",
        ));
    }
    let mut places = Vec::with_capacity(distinct.len());
    let (mut block, mut bytes) = (usize::MAX, Vec::new());
    for node in &distinct {
        let (own, at) = (*node as usize / BLOCK_PLACES, *node as usize % BLOCK_PLACES);
        if own != block {
            let first = own * BLOCK_PLACES;
            bytes.resize(BLOCK_PLACES.min(all - first) * size_of::<u32>(), 0);
            spill.read_at(&mut bytes, (first * size_of::<u32>()) as u64)?;
            block = own;
        }
        let (words, _) = bytes.as_chunks::<4>();
        places.push(
            words
                .get(at)
                .map_or(*node, |word| u32::from_le_bytes(*word)),
        );
    }
    for node in nodes {
        let place = distinct.binary_search(&node.0).ok();
        if let Some(place) = place.and_then(|at| places.get(at)) {
            *node = NodeId(*place);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pageway_store::{OsVfs, Vfs};

    use super::super::spill::BUFFER_BYTES;
    use super::*;

    #[test]
    fn places_are_those_that_were_written_and_their_pages_move() {
        let dir = tempfile::tempdir().unwrap();
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let out = SpillWriter::create(&vfs, &dir.path().join("places"), BUFFER_BYTES).unwrap();
        let count = 5 * BLOCK_PLACES as u32 + 3;
        let within: Vec<u32> = (0..count)
            .map(|node| node / 4 * 4 + (3 - node % 4))
            .collect();
        let mut writer = PlacesWriter::new(out);
        let (first, rest) = within.split_at(1000);
        writer.write(first).unwrap();
        writer.write(rest).unwrap();
        let mut places = writer.finish(4).unwrap();
        let looked_up = |places: &Places, nodes: &[u32]| -> Vec<u32> {
            let mut nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
            places.look_up(&mut nodes).unwrap();
            nodes.iter().map(|node| node.0).collect()
        };
        let all: Vec<u32> = (0..count).rev().chain([0, 7, 7]).collect();
        let expected: Vec<u32> = all.iter().map(|node| within[*node as usize]).collect();
        assert_eq!(looked_up(&places, &all), expected);
        assert_eq!(places.of(NodeId(5)).unwrap(), NodeId(6));
        assert!(places.of(NodeId(count)).is_err());
        // The first two pages change places; others stay.
        let pages = (0..count / 4).map(|page| if page < 2 { 1 - page } else { page });
        places.move_pages(pages.collect());
        assert_eq!(
            looked_up(&places, &[0, 5, 8, count - 1]),
            [7, 2, 11, within[count as usize - 1]]
        );
        assert_eq!(looked_up(&Places::same(4), &[9, 0]), [9, 0]);
    }
}
