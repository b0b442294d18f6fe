//! How many vectors a page holds (PageANN, section 4.2): as many as leave each of them room for the
//! least number of neighbours.

use pageway_store::PageGeometry;

use super::COUNTS_BYTES;
use crate::error::Result;
use crate::layout::record::{VectorForm, geometry_for};
use crate::layout::stored::ListRoom;
use crate::spec::IndexSpec;

/// What a page spends bytes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageCosts {
    /// Bytes of a vector with its identity.
    vector: usize,
    /// Bytes of a code.
    pub(super) code: usize,
    /// Neighbours per vector, at least.
    min_degree: u32,
    list: ListRoom,
    /// Nodes whose codes memory holds.
    pub(super) codes_in_memory: u32,
    /// Nodes of the index.
    node_count: u32,
}

impl PageCosts {
    pub(super) fn new(spec: &IndexSpec, node_count: u32) -> Self {
        let shared = spec.layout.codec.shared_degree();
        let min_degree = shared.unwrap_or(spec.graph.max_degree());
        Self {
            vector: VectorForm::beside_list(spec).bytes(),
            code: spec.storage.quantizer.code_bytes() as usize,
            min_degree,
            list: ListRoom::new(spec, node_count),
            codes_in_memory: spec.storage.codes_in_memory(node_count),
            node_count,
        }
    }

    /// Bytes that so many vectors take with their neighbours, times the number of nodes: of the
    /// neighbours as many need a code in the page as of all nodes.
    fn bytes_times_nodes(self, vectors: u32) -> u64 {
        let degree = vectors.saturating_mul(self.min_degree);
        let nodes = u64::from(self.node_count.max(1));
        let plain = vectors as usize * self.vector + self.list.bytes(degree);
        plain as u64 * nodes + u64::from(degree) * self.code as u64 * self.nodes_without_code()
    }

    fn nodes_without_code(self) -> u64 {
        self.node_count.saturating_sub(self.codes_in_memory).into()
    }

    /// One page where a vector with its neighbours fits in it, else as few pages as hold those.
    pub(super) fn geometry(self, page_bytes: u32) -> Result<PageGeometry> {
        let nodes = u64::from(self.node_count.max(1));
        let one = self.bytes_times_nodes(1).div_ceil(nodes);
        geometry_for(page_bytes, COUNTS_BYTES + one as usize)
    }

    /// Vectors of a full page.
    pub(super) fn vectors_per_page(self, geometry: PageGeometry) -> u32 {
        let nodes = u64::from(self.node_count.max(1));
        let room = (geometry.payload_bytes() - COUNTS_BYTES) as u64;
        let fit = |vectors: &u32| self.bytes_times_nodes(*vectors) <= room * nodes;
        (1..u32::from(u16::MAX)).take_while(fit).last().unwrap_or(1)
    }

    /// Neighbours that `room` bytes hold at most: those without a code first, which are the cheaper
    /// ones.
    pub(super) fn neighbors_in(self, room: usize) -> usize {
        let (bits, least) = (8 * room, self.list.least_bits());
        let plain = (bits / least).min(self.codes_in_memory as usize);
        let coded = (bits - plain * least) / (least + 8 * self.code);
        plain + coded.min(self.nodes_without_code() as usize)
    }
}
