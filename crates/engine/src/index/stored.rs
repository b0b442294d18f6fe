//! Reads vectors of an index with their ids: in the order on disk, or by id.

use std::ops::Range;

use super::{Index, Version};
use crate::error::{Error, Result};
use crate::storage::TRANSFER_BYTES;

/// A vector as an index holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoredVector<'v> {
    /// Row in the data that the index was built from.
    pub row: u64,
    /// What a search returns for it: the user's id, or the row.
    pub id: u64,
    /// Its elements, little-endian.
    pub bytes: &'v [u8],
}

impl Index {
    /// Shows vectors `nodes` in the order they lie on disk, which is that of the rows for some
    /// designs only; `0..len()` are all. Holds about 1 MiB; reads their pages once, in order.
    ///
    /// # Errors
    /// `InvalidInput` for a range that is empty or goes beyond the last; `Unsupported` where rows
    /// are dead or not in a segment yet; `Corrupt` or `Io` as the pages are; what `visit` gives.
    pub fn visit_stored(
        &self,
        nodes: Range<u64>,
        visit: &mut dyn FnMut(StoredVector<'_>) -> Result<()>,
    ) -> Result<()> {
        let version = self.version();
        version.check_whole("vectors are shown")?;
        if nodes.is_empty() || nodes.end > version.node_count().into() {
            return Err(Error::invalid("vectors out of range"));
        }
        version.visit_segments(nodes, visit)
    }

    /// The vectors of `ids`, one after the other; an id may come several times.
    ///
    /// Costs a read per id where ids are rows and nodes lie in the order of rows, else one pass
    /// over the pages of vectors. Holds the answer, and 16 bytes per id.
    ///
    /// # Errors
    /// `InvalidInput` for an id that is not there, with its place; `Corrupt` or `Io` as the pages
    /// are.
    pub fn vectors(&self, ids: &[u64]) -> Result<Vec<u8>> {
        let version = self.version();
        let row_bytes = self.shape().row_bytes();
        let mut found = vec![0; ids.len() * row_bytes];
        if version.ids_are_nodes() {
            for (place, (id, out)) in ids.iter().zip(found.chunks_mut(row_bytes)).enumerate() {
                if *id >= version.node_count().into() {
                    return Err(self.no_such_id(place, *id));
                }
                pageway_types::VectorRead::read(self, *id, out)?;
            }
            return Ok(found);
        }
        let mut wanted = WantedIds::new(ids);
        let nodes = 0..u64::from(version.node_count());
        if !ids.is_empty() && !nodes.is_empty() {
            version.visit_segments(nodes, &mut |stored| {
                wanted.take(stored.id, stored.bytes, &mut found);
                Ok(())
            })?;
        }
        for view in version.views() {
            view.each_living(|_, id, bytes| wanted.take(id, bytes, &mut found));
        }
        match wanted.missing() {
            Some((place, id)) => Err(self.no_such_id(place, id)),
            None => Ok(found),
        }
    }

    fn no_such_id(&self, place: usize, id: u64) -> Error {
        Error::invalid(format!(
            "id {id} (number {place} of those asked for) is not in {}",
            self.path().display()
        ))
    }
}

impl Version {
    /// Shows the living nodes of a range in the order they lie on disk.
    fn visit_segments(
        &self,
        nodes: Range<u64>,
        visit: &mut dyn FnMut(StoredVector<'_>) -> Result<()>,
    ) -> Result<()> {
        for segment in &self.segments {
            let base = u64::from(segment.base);
            let end = (base + u64::from(segment.node_count())).min(nodes.end);
            let first = nodes.start.max(base);
            if first >= end {
                continue;
            }
            let own = (first - base) as u32..(end - base) as u32;
            let first_id = segment.first_id.unwrap_or(0);
            let is_dead = |node| {
                segment
                    .dead
                    .as_deref()
                    .is_some_and(|dead| dead.contains(node))
            };
            segment.visit_vectors((own, TRANSFER_BYTES), &mut |node, vector| {
                if is_dead(node) {
                    return Ok(());
                }
                visit(StoredVector {
                    row: base + u64::from(vector.row),
                    id: first_id.saturating_add(vector.user_id),
                    bytes: vector.bytes,
                })
            })?;
        }
        Ok(())
    }

    /// Whether an id is the number of its node, and all are there.
    fn ids_are_nodes(&self) -> bool {
        let is_base = |first: Option<u64>, base: u32| first == Some(base.into());
        let are_rows = self
            .segments
            .iter()
            .all(|one| is_base(one.first_id, one.base));
        are_rows && self.is_whole() && self.manifest.spec.nodes_are_rows()
    }
}

/// Ids that are looked for, sorted, with the places of their vectors.
struct WantedIds {
    places: Vec<(u64, usize)>,
    found: Vec<bool>,
}

impl WantedIds {
    fn new(ids: &[u64]) -> Self {
        let mut places: Vec<_> = ids.iter().copied().zip(0..).collect();
        places.sort_unstable();
        Self {
            places,
            found: vec![false; ids.len()],
        }
    }

    /// Copies a vector to wherever its id was asked for.
    fn take(&mut self, id: u64, bytes: &[u8], out: &mut [u8]) {
        let first = self.places.partition_point(|(wanted, _)| *wanted < id);
        let same = self.places.iter().skip(first);
        for (_, place) in same.take_while(|(wanted, _)| *wanted == id) {
            let start = place * bytes.len();
            let slot = out.get_mut(start..start + bytes.len());
            if let (Some(slot), Some(found)) = (slot, self.found.get_mut(*place)) {
                slot.copy_from_slice(bytes);
                *found = true;
            }
        }
    }

    /// The first id that was not found, by place.
    fn missing(&self) -> Option<(usize, u64)> {
        let place = self.found.iter().position(|found| !found)?;
        let id = self.places.iter().find(|(_, at)| *at == place);
        id.map(|(id, _)| (place, *id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_an_id_is_filled_and_the_first_missing_is_named() {
        let mut wanted = WantedIds::new(&[7, 3, 7, 9]);
        let mut out = vec![0; 4];
        for (id, byte) in [(3, 30), (7, 70), (8, 80)] {
            wanted.take(id, &[byte], &mut out);
        }
        assert_eq!(out, [70, 30, 70, 0]);
        assert_eq!(wanted.missing(), Some((3, 9)));
        assert_eq!(WantedIds::new(&[]).missing(), None);
    }
}
