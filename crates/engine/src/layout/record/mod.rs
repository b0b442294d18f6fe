//! Records of fixed size, back to back. One form serves four codecs of a spec; parts that a codec
//! does not have take no bytes:
//!
//! ```text
//! +--------+---------+-------------+------------+---------------------+----------+----------+
//! | vector | row u32 | user id u64 | degree u16 | R x neighbour u32   | R x code | replicas |
//! +--------+---------+-------------+------------+---------------------+----------+----------+
//! packed        vector, row, user id, degree, neighbours       (DiskANN)
//! inline_codes  the same and a code per neighbour              (AiSAQ, figure 2)
//! replicated    the same as packed and lists of neighbours     (Gorgeous, section 4.1)
//! split         degree and neighbours in list pages, the others in vector pages (DGAI)
//! ```
//!
//! Where lists are packed, a packed list in room of one size takes the place of degree and
//! neighbours, and codes lie in the order of node ids. Unused neighbours and codes are zero. A
//! record larger than a page has a run of pages to itself. Bytes: `docs/format/records.md`.

mod form;
mod list;
mod replicas;
#[cfg(test)]
pub(super) mod tests;
mod view;

use pageway_graph::ListCode;
use pageway_types::{NodeId, PageId};

use self::list::ListForm;
pub(crate) use self::view::RecordView;
use super::stored::list_code;
use super::{NodeFeed, PageCodec, PageError, PageMap};
use crate::error::Result;
use crate::spec::IndexSpec;

pub(super) use self::form::{
    COUNT_BYTES, NODE_BYTES, VectorForm, append_exactly, append_nodes, check_degree, count_at,
    geometry_for,
};

/// Records begin at multiples of this many bytes where that costs no record of a page.
const ALIGNMENT: usize = 4;

/// The codec of records of fixed size.
///
/// Invariant: a page holds `nodes_of(page).len()` records back to back, `list_stride` or
/// `vector_stride` bytes from one to the next, by what the page holds.
#[derive(Clone, Debug)]
pub(crate) struct RecordCodec {
    map: PageMap,
    vectors: VectorForm,
    /// What lies beside a list.
    near: VectorForm,
    list: ListForm,
    /// How lists are packed, where they are.
    code: Option<ListCode>,
    list_stride: usize,
    vector_stride: usize,
}

impl RecordCodec {
    /// The codec of a spec over `node_count` nodes.
    ///
    /// # Errors
    /// `InvalidInput` when a record is larger than the largest unit of a page file.
    pub(crate) fn new(spec: &IndexSpec, node_count: u32) -> Result<Self> {
        let (vectors, list) = (VectorForm::new(spec), ListForm::new(spec, node_count));
        let largest = list.bytes().max(vectors.bytes());
        let geometry = geometry_for(spec.layout.page_bytes, largest)?;
        let payload = geometry.payload_bytes();
        let list_stride = stride(list.bytes(), payload);
        let vector_stride = stride(vectors.bytes(), payload);
        let separate = spec.storage.vectors.has_own_pages();
        let vectors_per_page = if separate { payload / vector_stride } else { 0 };
        let map = PageMap {
            built: node_count,
            geometry,
            node_count,
            nodes_per_page: (payload / list_stride) as u32,
            vectors_per_page: vectors_per_page as u32,
        };
        Ok(Self {
            map,
            vectors,
            near: VectorForm::beside_list(spec),
            list,
            code: list_code(spec, node_count),
            list_stride,
            vector_stride,
        })
    }

    /// The same of pages that were first laid out for `built` of the nodes.
    #[must_use]
    pub(crate) fn grown_from(mut self, built: u32) -> Self {
        self.map = self.map.grown_from(built);
        self
    }

    /// Bytes of a record in a list page.
    pub(crate) const fn record_bytes(&self) -> usize {
        self.list.bytes()
    }

    /// Bytes of all pages, padding not counted.
    pub(crate) fn payload_bytes(&self) -> u64 {
        let nodes = u64::from(self.map.node_count);
        let alone = if self.map.vectors_per_page > 0 {
            self.vector_stride
        } else {
            0
        };
        nodes * (self.list_stride + alone) as u64
    }

    /// What a record begins with.
    const fn form_of(&self, vectors_alone: bool) -> VectorForm {
        if vectors_alone {
            self.vectors
        } else {
            self.near
        }
    }

    const fn stride_of(&self, vectors_alone: bool) -> usize {
        if vectors_alone {
            self.vector_stride
        } else {
            self.list_stride
        }
    }
}

/// Bytes from one record to the next: aligned, unless fewer records would fit.
const fn stride(record: usize, payload: usize) -> usize {
    let aligned = record.next_multiple_of(ALIGNMENT);
    if payload / aligned == payload / record {
        aligned
    } else {
        record
    }
}

impl PageCodec for RecordCodec {
    type View<'p> = RecordView<'p>;

    const LIST_PER_PAGE: bool = false;

    fn map(&self) -> PageMap {
        self.map
    }

    fn max_neighbors(&self) -> usize {
        self.list.max_degree() as usize
    }

    /// Of a split index the mean over both kinds of pages: bytes of a node per page of a node.
    fn view<'p>(
        &'p self,
        page: PageId,
        payload: &'p [u8],
    ) -> std::result::Result<RecordView<'p>, PageError> {
        RecordView::new(self, page, payload)
    }

    fn encode(&self, page: PageId, feed: &dyn NodeFeed, payload: &mut Vec<u8>) -> Result<()> {
        let vectors_alone = self.map.holds_vectors_alone(page);
        for node in self.map.nodes_of(page).map(NodeId) {
            let start = payload.len();
            let form = self.form_of(vectors_alone);
            if !form.is_empty() {
                let part = form.part_of(node, feed)?;
                form.append_vector(part, payload)?;
                form.append_identity(part, payload);
            }
            if !vectors_alone {
                let code = self.code.as_ref();
                self.list.append((node, start), code, feed, payload)?;
            }
            payload.resize(start + self.stride_of(vectors_alone), 0);
        }
        Ok(())
    }
}
