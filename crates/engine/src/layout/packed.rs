//! Records of fixed size, back to back:
//!
//! ```text
//! +--------------------+------------+------------------------------+---------------------+
//! | vector             | degree u16 | max_degree x neighbour u32   | user id u64, if any |
//! +--------------------+------------+------------------------------+---------------------+
//! ```
//!
//! Unused neighbours are zero. A record larger than a page has a run of pages to itself.
//! `docs/format/records.md`.

use pageway_store::{PAGE_HEADER_BYTES, PageGeometry};
use pageway_types::{NodeId, PageId};

use super::{AddressMap, NodeBytes, PageCodec, PageError, PageView, Record};
use crate::error::Result;
use crate::spec::{IdStorage, IndexSpec};

const DEGREE_BYTES: usize = 2;
const NEIGHBOR_BYTES: usize = 4;
const USER_ID_BYTES: usize = 8;

/// The codec of the DiskANN record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedCodec {
    vector_bytes: usize,
    max_degree: u32,
    ids: IdStorage,
    address: AddressMap,
    geometry: PageGeometry,
}

impl PackedCodec {
    /// The codec of a spec over `node_count` nodes.
    pub(crate) fn new(spec: &IndexSpec, node_count: u32) -> Result<Self> {
        let vector_bytes = spec.shape.vectors().row_bytes();
        let max_degree = spec.graph.max_degree();
        let record = record_bytes(vector_bytes, max_degree, spec.storage.ids);
        let geometry = geometry_for(spec.layout.page_bytes, record)?;
        let nodes_per_page = (geometry.payload_bytes() / record) as u32;
        let address = AddressMap::Arithmetic {
            nodes_per_page,
            node_count,
        };
        Ok(Self {
            vector_bytes,
            max_degree,
            ids: spec.storage.ids,
            address,
            geometry,
        })
    }

    /// Pages per record, bytes per page.
    pub(crate) fn geometry(&self) -> PageGeometry {
        self.geometry
    }

    fn degree_at(&self, node: NodeId, bytes: &[u8]) -> std::result::Result<usize, PageError> {
        let degree = bytes
            .get(self.vector_bytes..)
            .and_then(|rest| rest.first_chunk::<DEGREE_BYTES>())
            .map_or(u16::MAX, |two| u16::from_le_bytes(*two));
        if u32::from(degree) > self.max_degree {
            let max_degree = self.max_degree;
            return Err(PageError::Degree {
                node: node.0,
                degree: degree.into(),
                max_degree,
            });
        }
        Ok(degree.into())
    }
}

const fn record_bytes(vector_bytes: usize, max_degree: u32, ids: IdStorage) -> usize {
    let user_id = match ids {
        IdStorage::RowNumber => 0,
        IdStorage::InRecord => USER_ID_BYTES,
    };
    vector_bytes + DEGREE_BYTES + NEIGHBOR_BYTES * max_degree as usize + user_id
}

/// One page where the record fits in it, else as few pages as hold it.
fn geometry_for(page_bytes: u32, record_bytes: usize) -> Result<PageGeometry> {
    let span = (record_bytes + PAGE_HEADER_BYTES).div_ceil(page_bytes as usize);
    Ok(PageGeometry::new(
        page_bytes,
        u32::try_from(span).unwrap_or(u32::MAX),
    )?)
}

impl PageCodec for PackedCodec {
    type View<'p> = PackedView<'p>;

    fn address(&self) -> AddressMap {
        self.address
    }

    fn view<'p>(
        &'p self,
        page: PageId,
        payload: &'p [u8],
    ) -> std::result::Result<PackedView<'p>, PageError> {
        let expected = self.address.nodes_of(page).len() * self.record_bytes();
        if payload.len() < expected {
            return Err(PageError::Short {
                page: page.0,
                found: payload.len(),
                expected,
            });
        }
        Ok(PackedView {
            codec: self,
            page,
            payload,
        })
    }

    fn record_bytes(&self) -> usize {
        record_bytes(self.vector_bytes, self.max_degree, self.ids)
    }

    fn record<'p>(
        &'p self,
        node: NodeId,
        bytes: &'p [u8],
    ) -> std::result::Result<Record<'p>, PageError> {
        let degree = self.degree_at(node, bytes)?;
        let short = || PageError::Short {
            page: self.address.page_of(node).0,
            found: bytes.len(),
            expected: self.record_bytes(),
        };
        let list = self.vector_bytes + DEGREE_BYTES;
        let vector = bytes.get(..self.vector_bytes).ok_or_else(short)?;
        let neighbors = bytes
            .get(list..list + degree * NEIGHBOR_BYTES)
            .ok_or_else(short)?;
        let user_id = match self.ids {
            IdStorage::RowNumber => node.0.into(),
            IdStorage::InRecord => {
                let at = list + self.max_degree as usize * NEIGHBOR_BYTES;
                let tail = bytes
                    .get(at..)
                    .and_then(|tail| tail.first_chunk())
                    .ok_or_else(short)?;
                u64::from_le_bytes(*tail)
            }
        };
        Ok(Record {
            node,
            vector,
            neighbors,
            user_id,
            bytes,
        })
    }

    fn append(
        &self,
        node: &NodeBytes<'_>,
        payload: &mut Vec<u8>,
    ) -> std::result::Result<(), PageError> {
        let degree = node.neighbors.len();
        if degree > self.max_degree as usize {
            let (degree, max_degree) = (degree as u32, self.max_degree);
            return Err(PageError::Degree {
                node: node.node.0,
                degree,
                max_degree,
            });
        }
        payload.extend_from_slice(node.vector);
        payload.extend_from_slice(&(degree as u16).to_le_bytes());
        for neighbor in node.neighbors {
            payload.extend_from_slice(&neighbor.0.to_le_bytes());
        }
        let unused = (self.max_degree as usize - degree) * NEIGHBOR_BYTES;
        payload.resize(payload.len() + unused, 0);
        if self.ids == IdStorage::InRecord {
            payload.extend_from_slice(&node.user_id.to_le_bytes());
        }
        Ok(())
    }
}

/// A page of packed records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedView<'p> {
    codec: &'p PackedCodec,
    page: PageId,
    payload: &'p [u8],
}

impl<'p> PageView<'p> for PackedView<'p> {
    #[inline]
    fn record(&self, node: NodeId) -> std::result::Result<Record<'p>, PageError> {
        let address = self.codec.address;
        let missing = PageError::MissingNode {
            page: self.page.0,
            node: node.0,
        };
        if address.page_of(node) != self.page || node.0 >= address.node_count() {
            return Err(missing);
        }
        let length = self.codec.record_bytes();
        let start = usize::from(address.slot_of(node).0) * length;
        let bytes = self.payload.get(start..start + length).ok_or(missing)?;
        self.codec.record(node, bytes)
    }

    fn for_each_resident(
        &self,
        visit: &mut dyn FnMut(Record<'p>) -> std::result::Result<(), PageError>,
    ) -> std::result::Result<(), PageError> {
        for node in self.codec.address.nodes_of(self.page) {
            visit(self.record(NodeId(node))?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric};
    use proptest::prelude::*;

    use super::*;
    use crate::presets::{Preset, Sizes};
    use crate::spec::Shape;

    fn codec(dimension: u32, max_degree: u32, user_ids: bool, nodes: u32) -> PackedCodec {
        let shape = Shape {
            dimension,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        let sizes = Sizes {
            max_degree,
            user_ids,
            ..Sizes::default()
        };
        PackedCodec::new(&Preset::DiskAnn.spec(shape, &sizes), nodes).unwrap()
    }

    #[test]
    fn sift_records_go_twelve_to_a_page_and_large_ones_span() {
        assert_eq!(codec(128, 48, false, 100).address.page_count(), 9);
        let large = codec(16_384, 48, false, 3);
        assert_eq!(large.geometry().span(), 5);
        assert_eq!(large.address.page_count(), 3);
    }

    #[test]
    fn damaged_records_are_refused() {
        let codec = codec(4, 2, false, 1);
        let mut payload = Vec::new();
        let node = NodeBytes {
            node: NodeId(0),
            vector: &[1; 4],
            neighbors: &[],
            user_id: 0,
        };
        codec.append(&node, &mut payload).unwrap();
        assert!(
            codec
                .view(PageId(0), &payload)
                .unwrap()
                .record(NodeId(1))
                .is_err()
        );
        assert!(codec.view(PageId(0), &payload[..5]).is_err());
        payload[4] = 3;
        let error = codec
            .view(PageId(0), &payload)
            .unwrap()
            .record(NodeId(0))
            .unwrap_err();
        assert_eq!(
            error,
            PageError::Degree {
                node: 0,
                degree: 3,
                max_degree: 2
            }
        );
    }

    proptest! {
        #[test]
        fn every_page_decodes_to_what_was_encoded(
            dimension in 1u32..6000,
            max_degree in 1u32..80,
            user_ids: bool,
            nodes in 1u32..40,
            seed: u64,
        ) {
            let codec = codec(dimension, max_degree, user_ids, nodes);
            let vector = |n: u32| -> Vec<u8> {
                (0..dimension).map(|i| (u64::from(i * 31 + n) ^ seed) as u8).collect()
            };
            let list = |n: u32| -> Vec<NodeId> {
                (0..(n + seed as u32) % (max_degree + 1)).map(|i| NodeId(i * n % nodes)).collect()
            };
            let user_id = |n: u32| if user_ids { u64::from(n) ^ seed } else { n.into() };
            for page in 0..codec.address.page_count() {
                let mut payload = Vec::new();
                for n in codec.address.nodes_of(PageId(page)) {
                    let (vector, list) = (vector(n), list(n));
                    let node = NodeBytes {
                        node: NodeId(n), vector: &vector, neighbors: &list, user_id: user_id(n),
                    };
                    codec.append(&node, &mut payload).unwrap();
                }
                prop_assert!(payload.len() <= codec.geometry().payload_bytes());
                let view = codec.view(PageId(page), &payload).unwrap();
                let mut nodes = codec.address.nodes_of(PageId(page));
                view.for_each_resident(&mut |record| {
                    let n = nodes.next().unwrap();
                    assert_eq!(record.node, NodeId(n));
                    assert_eq!(record.vector, vector(n));
                    assert_eq!(record.neighbors().collect::<Vec<_>>(), list(n));
                    assert_eq!(record.user_id, user_id(n));
                    assert_eq!(codec.record(record.node, record.bytes).unwrap().vector, vector(n));
                    Ok(())
                }).unwrap();
                prop_assert_eq!(nodes.next(), None);
            }
        }
    }
}
