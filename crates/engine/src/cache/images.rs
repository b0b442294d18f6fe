//! Whole records of hot nodes, or vectors alone, as they lie on pages.
//!
//! A node's bytes are its image, as long as its list is:
//!
//! ```text
//! | neighbours u16 | of them without code u16 | ids u32 each | codes |
//! | row u32 | user id u64 | vector |
//! ```
//!
//! Row, id and vector are there where whole records are kept.

use pageway_types::NodeId;

use super::slots::NodeSlots;
use crate::layout::{Neighbors, PageError, Record, StoredList, UnpackedList, VectorPart};

const LIST_HEADER: usize = 4;
const IDENTITY: usize = 12;

/// What an image holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ImageShape {
    /// Neighbours of a list, at most; 0 where lists are left out.
    pub(crate) neighbors: usize,
    /// Bytes per code beside a neighbour, 0 where memory holds them.
    pub(crate) code_bytes: usize,
    /// Bytes of a vector, 0 where vectors are left out.
    pub(crate) vector_bytes: usize,
}

impl ImageShape {
    /// Bytes of the image of a list of `neighbors`.
    pub(crate) const fn bytes(self, neighbors: usize) -> usize {
        let vector = if self.vector_bytes == 0 {
            0
        } else {
            IDENTITY + self.vector_bytes
        };
        (LIST_HEADER + neighbors * (4 + self.code_bytes) + vector).next_multiple_of(4)
    }

    /// Bytes of the longest image.
    pub(crate) const fn most_bytes(self) -> usize {
        self.bytes(self.neighbors)
    }

    /// Appends the image of a record to `out`: those of its parts that are held.
    ///
    /// # Errors
    /// When its list makes no sense.
    pub(crate) fn append(self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), PageError> {
        let mut list = UnpackedList::new();
        let neighbors = match self.neighbors {
            0 => Neighbors::default(),
            _ => record.list.unpack(&mut list)?.0,
        };
        self.parts(neighbors, record.vector.as_ref(), |parts| {
            for part in parts {
                out.extend_from_slice(part);
            }
        });
        out.resize(out.len().next_multiple_of(4), 0);
        Ok(())
    }

    /// Shows the parts of an image, one behind the other, but for what fills it up.
    pub(super) fn parts(
        self,
        neighbors: Neighbors<'_>,
        vector: Option<&VectorPart<'_>>,
        visit: impl FnOnce(&[&[u8]]),
    ) {
        let coded = neighbors.codes.len().checked_div(self.code_bytes);
        let uncoded = neighbors.len() - coded.unwrap_or(0);
        let counts = [
            (neighbors.len() as u16).to_le_bytes(),
            (uncoded as u16).to_le_bytes(),
        ];
        let list = [counts.as_flattened(), neighbors.ids, neighbors.codes];
        let [counts, ids, codes] = list;
        match vector.filter(|_| self.vector_bytes > 0) {
            None => visit(&list),
            Some(vector) => {
                let (row, user_id) = (vector.row.to_le_bytes(), vector.user_id.to_le_bytes());
                visit(&[counts, ids, codes, &row, &user_id, vector.bytes]);
            }
        }
    }

    /// The record of `node`, whose image `bytes` begin with.
    #[inline]
    pub(super) fn decode(self, node: NodeId, bytes: &[u8]) -> Option<Record<'_>> {
        let (header, rest) = bytes.split_first_chunk::<LIST_HEADER>()?;
        let [low, high, uncoded_low, uncoded_high] = *header;
        let count = usize::from(u16::from_le_bytes([low, high]));
        let uncoded = usize::from(u16::from_le_bytes([uncoded_low, uncoded_high]));
        let (ids, rest) = rest.split_at_checked(count * 4)?;
        let codes = count.checked_sub(uncoded)? * self.code_bytes;
        let (codes, rest) = rest.split_at_checked(codes)?;
        Some(Record {
            node,
            vector: self.vector(rest),
            list: StoredList::Plain(Neighbors { ids, codes }),
        })
    }

    #[inline]
    fn vector(self, rest: &[u8]) -> Option<VectorPart<'_>> {
        if self.vector_bytes == 0 {
            return None;
        }
        let (row, rest) = rest.split_first_chunk::<4>()?;
        let (user_id, rest) = rest.split_first_chunk::<8>()?;
        Some(VectorPart {
            bytes: rest.get(..self.vector_bytes)?,
            row: u32::from_le_bytes(*row),
            user_id: u64::from_le_bytes(*user_id),
        })
    }
}

/// Images by node: a flat array of bytes behind an open-addressing table.
#[derive(Debug, Default)]
pub(crate) struct ImageCache {
    /// Starts of images in units of 4 bytes.
    slots: NodeSlots,
    images: Vec<u8>,
    room: usize,
    shape: ImageShape,
}

impl ImageCache {
    /// A cache that takes at most `bytes`, for images of lists of about `mean_neighbors`, of
    /// `limit` nodes at most.
    pub(crate) fn new(bytes: u64, shape: ImageShape, mean_neighbors: usize, limit: usize) -> Self {
        let mean = shape.bytes(mean_neighbors.min(shape.neighbors));
        let nodes = NodeSlots::capacity_for(bytes, mean as f64, limit);
        let slots = NodeSlots::new(nodes);
        let left = bytes.saturating_sub(slots.bytes() as u64);
        let most = (nodes * shape.bytes(shape.neighbors)) as u64;
        let room = left.min(most).min(u64::from(u32::MAX) * 4) as usize;
        Self {
            slots,
            images: Vec::with_capacity(room),
            room,
            shape,
        }
    }

    /// What an image holds.
    pub(crate) const fn shape(&self) -> ImageShape {
        self.shape
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        (self.slots.bytes() + self.images.len()) as u64
    }

    /// Adds an image; false when there is no room. The caller adds no node twice.
    pub(crate) fn insert(&mut self, node: NodeId, image: &[u8]) -> bool {
        let start = self.images.len();
        let fits = start + image.len() <= self.room;
        if !fits || !self.slots.insert(node, (start / 4) as u32) {
            return false;
        }
        self.images.extend_from_slice(image);
        true
    }

    /// What is kept of a node, if it is here.
    #[inline]
    pub(crate) fn record(&self, node: NodeId) -> Option<Record<'_>> {
        let start = self.slots.find(node)? as usize * 4;
        self.shape.decode(node, self.images.get(start..)?)
    }

    /// True when the node is here.
    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.slots.find(node).is_some()
    }

    /// Nodes taken at most.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Whether vectors are all that is kept.
    pub(crate) const fn holds_vectors_alone(&self) -> bool {
        self.shape.neighbors == 0
    }

    /// Nodes held.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ImageShape = ImageShape {
        neighbors: 4,
        code_bytes: 2,
        vector_bytes: 3,
    };

    fn fill(cache: &mut ImageCache, count: u32) -> u32 {
        let mut held = 0;
        for n in 0..count {
            let degree = n as usize % 5;
            let (ids, codes) = (vec![n as u8; degree * 4], vec![!n as u8; degree * 2]);
            let vector = VectorPart {
                bytes: &[n as u8; 3],
                row: n + 1,
                user_id: u64::from(n) << 33,
            };
            let record = Record {
                node: NodeId(n * 7919),
                vector: Some(vector),
                list: StoredList::Plain(Neighbors {
                    ids: &ids,
                    codes: &codes,
                }),
            };
            let mut image = Vec::new();
            cache.shape().append(&record, &mut image).unwrap();
            held += u32::from(cache.insert(record.node, &image));
        }
        held
    }

    fn plain<'r>(record: &Record<'r>) -> Neighbors<'r> {
        let StoredList::Plain(neighbors) = record.list else {
            panic!("a list is packed")
        };
        neighbors
    }

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        let mut cache = ImageCache::new(10_000, SHAPE, 4, 100);
        assert_eq!(fill(&mut cache, 100), 100);
        for n in 0..100u32 {
            let record = cache.record(NodeId(n * 7919)).unwrap();
            let neighbors = plain(&record);
            assert_eq!(neighbors.len(), n as usize % 5);
            assert!(neighbors.codes.iter().all(|byte| *byte == !n as u8));
            let vector = record.vector.unwrap();
            assert_eq!((vector.row, vector.user_id), (n + 1, u64::from(n) << 33));
            assert_eq!(vector.bytes, [n as u8; 3]);
            assert!(cache.record(NodeId(n * 7919 + 1)).is_none());
        }
        assert!(ImageCache::default().record(NodeId(0)).is_none());
    }

    #[test]
    fn parts_that_it_does_not_hold_are_left_out() {
        let lists = ImageShape {
            vector_bytes: 0,
            ..SHAPE
        };
        let mut cache = ImageCache::new(10_000, lists, 4, 100);
        assert_eq!(fill(&mut cache, 100), 100);
        assert!(cache.record(NodeId(4 * 7919)).unwrap().vector.is_none());
        let vectors = ImageShape {
            neighbors: 0,
            ..SHAPE
        };
        let mut cache = ImageCache::new(10_000, vectors, 4, 100);
        assert_eq!(fill(&mut cache, 100), 100);
        let record = cache.record(NodeId(4 * 7919)).unwrap();
        assert_eq!((plain(&record).len(), record.vector.unwrap().row), (0, 5));
    }

    #[test]
    fn never_takes_more_than_its_bytes() {
        for bytes in [0, 10, 100, 999, 4321] {
            let mut cache = ImageCache::new(bytes, SHAPE, 2, 1000);
            let held = fill(&mut cache, 1000);
            assert!(cache.bytes() <= bytes, "{bytes}");
            assert_eq!(cache.len(), held as usize);
            assert!(bytes < 999 || held > 5, "{bytes}");
        }
    }
}
