//! The page is the node of the graph (PageANN, sections 4.1 to 4.3): several vectors, one list of
//! neighbours for all of them, and the codes of those neighbours whose codes memory does not hold.
//!
//! ```text
//! +-------+-------+------------+------------------------+---------+---------+-----------+
//! | a u16 | b u16 | n x vector | n x (row, user id)     | a x u32 | b x u32 | b x code  |
//! +-------+-------+------------+------------------------+---------+---------+-----------+
//!   a neighbours with code in memory, b neighbours with code here
//!
//! with packed lists: | a | b | vectors | rows, user ids | b x code | packed list |
//! ```
//!
//! The last page may hold fewer vectors. What one page does not hold spans several, like a record
//! that is larger than a page. Bytes: `docs/format/records.md`.

mod capacity;
mod merge;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pageway_graph::ListCode;
use pageway_types::{NodeId, PageId};

use self::capacity::PageCosts;
use self::merge::merged_list;
use super::record::{
    COUNT_BYTES, NODE_BYTES, VectorForm, append_exactly, append_nodes, check_degree, count_at,
    geometry_for,
};
use super::stored::{list_code, pack_beginning};
use super::{
    Neighbors, NodeFeed, PackedList, PageCodec, PageError, PageMap, PageView, Record, StoredList,
    UnfoldedVector, VectorPart,
};
use crate::error::Result;
use crate::spec::IndexSpec;

/// Bytes of the two counts.
const COUNTS_BYTES: usize = 2 * COUNT_BYTES;

/// The codec of pages that are nodes of the graph.
#[derive(Clone, Debug)]
pub(crate) struct PageNodeCodec {
    map: PageMap,
    /// What vector pages hold, where vectors have those.
    vectors: VectorForm,
    /// What lies beside the list.
    near: VectorForm,
    max_degree: u32,
    code_bytes: usize,
    /// Nodes from 0 whose codes memory holds.
    codes_in_memory: u32,
    /// Bytes of a page for ids and codes, however many vectors it holds.
    neighbor_room: usize,
    max_neighbors: u32,
    /// How lists are packed, where they are.
    code: Option<ListCode>,
}

/// The neighbours of a page as they are stored.
#[derive(Default)]
struct ChosenNeighbors {
    /// Those whose codes memory holds.
    plain: Vec<NodeId>,
    /// Those whose codes lie in the page.
    coded: Vec<NodeId>,
    /// All, packed, where they are.
    packed: Option<Vec<u8>>,
}

impl PageNodeCodec {
    /// The codec of a spec over `node_count` nodes.
    ///
    /// # Errors
    /// `InvalidInput` when one vector with its neighbours is larger than the largest unit of a page
    /// file.
    pub(crate) fn new(spec: &IndexSpec, node_count: u32) -> Result<Self> {
        let (vectors, near) = (VectorForm::new(spec), VectorForm::beside_list(spec));
        let max_degree = spec.graph.max_degree();
        let costs = PageCosts::new(spec, node_count);
        let mut geometry = costs.geometry(spec.layout.page_bytes)?;
        let separate = spec.storage.vectors.has_own_pages();
        if separate {
            let alone = geometry_for(spec.layout.page_bytes, COUNTS_BYTES + vectors.bytes())?;
            geometry = if alone.span() > geometry.span() {
                alone
            } else {
                geometry
            };
        }
        let nodes_per_page = costs.vectors_per_page(geometry);
        let taken = COUNTS_BYTES + nodes_per_page as usize * near.bytes();
        let neighbor_room = geometry.payload_bytes().saturating_sub(taken);
        let max_neighbors = costs
            .neighbors_in(neighbor_room)
            .min(nodes_per_page as usize * max_degree as usize)
            .min(u16::MAX.into()) as u32;
        let map = PageMap {
            built: node_count,
            geometry,
            node_count,
            nodes_per_page,
            vectors_per_page: if separate {
                ((geometry.payload_bytes() - COUNTS_BYTES) / vectors.bytes()) as u32
            } else {
                0
            },
        };
        Ok(Self {
            map,
            vectors,
            near,
            max_degree,
            code_bytes: costs.code,
            codes_in_memory: costs.codes_in_memory,
            neighbor_room,
            max_neighbors,
            code: list_code(spec, node_count),
        })
    }

    /// As much of a merged list as fits. A neighbour that needs its code may not fit where one
    /// without still does.
    fn choose(&self, merged: &[NodeId]) -> ChosenNeighbors {
        let mut chosen = ChosenNeighbors::default();
        let (mut room, mut left) = (self.neighbor_room, self.max_neighbors);
        for &neighbor in merged {
            let is_plain = neighbor.0 < self.codes_in_memory;
            let cost = NODE_BYTES + if is_plain { 0 } else { self.code_bytes };
            if cost > room || left == 0 {
                continue;
            }
            room -= cost;
            left -= 1;
            if is_plain {
                chosen.plain.push(neighbor);
            } else {
                chosen.coded.push(neighbor);
            }
        }
        chosen
    }

    /// The same where lists are packed: the longest beginning of the merged list that fits.
    fn choose_packed(&self, code: &ListCode, own: NodeId, merged: &[NodeId]) -> ChosenNeighbors {
        let most = merged.len().min(self.max_neighbors as usize);
        let merged = merged.get(..most).unwrap_or_default();
        let plain = |sorted: &[NodeId]| sorted.partition_point(|n| n.0 < self.codes_in_memory);
        let beside = |sorted: &[NodeId]| (sorted.len() - plain(sorted)) * self.code_bytes;
        let room = self.neighbor_room;
        let (mut sorted, packed) = pack_beginning(code, (own, merged), room, beside);
        let coded = sorted.split_off(plain(&sorted));
        ChosenNeighbors {
            plain: sorted,
            coded,
            packed: Some(packed),
        }
    }

    /// The list of a page.
    fn chosen(&self, nodes: Range<u32>, feed: &dyn NodeFeed) -> Result<ChosenNeighbors> {
        let own = NodeId(nodes.start);
        let merged = merged_list(nodes, self.max_degree, feed)?;
        Ok(match &self.code {
            None => self.choose(&merged),
            Some(code) => self.choose_packed(code, own, &merged),
        })
    }

    fn form_of(&self, page: PageId) -> VectorForm {
        if self.map.holds_vectors_alone(page) {
            self.vectors
        } else {
            self.near
        }
    }

    /// The list of `degree` neighbours of a page: in `rest`, behind the codes, where it is packed.
    #[inline]
    fn stored<'p>(
        &'p self,
        (own, degree): (NodeId, usize),
        neighbors: Neighbors<'p>,
        rest: &'p [u8],
    ) -> std::result::Result<StoredList<'p>, PageError> {
        let Some(code) = self.code.as_ref().filter(|_| degree > 0) else {
            return Ok(StoredList::Plain(neighbors));
        };
        if ListCode::degree(rest) != Some(degree) {
            return Err(PageError::List { node: own.0 });
        }
        Ok(StoredList::Packed(PackedList {
            code,
            own,
            bytes: rest,
            codes: neighbors.codes,
        }))
    }

    fn append_vectors(
        &self,
        page: PageId,
        feed: &dyn NodeFeed,
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        let (form, nodes) = (self.form_of(page), self.map.nodes_of(page));
        let mut identities = Vec::with_capacity(nodes.len() * form.identity_bytes());
        for node in nodes.map(NodeId) {
            let part = form.part_of(node, feed)?;
            form.append_vector(part, payload)?;
            form.append_identity(part, &mut identities);
        }
        payload.extend_from_slice(&identities);
        Ok(())
    }
}

impl PageCodec for PageNodeCodec {
    type View<'p> = PageNodeView<'p>;

    const LIST_PER_PAGE: bool = true;

    fn map(&self) -> PageMap {
        self.map
    }

    fn max_neighbors(&self) -> usize {
        self.max_neighbors as usize
    }

    /// The whole payload: neighbours fill what vectors leave.
    #[inline]
    fn view<'p>(
        &'p self,
        page: PageId,
        payload: &'p [u8],
    ) -> std::result::Result<PageNodeView<'p>, PageError> {
        let (form, nodes) = (self.form_of(page), self.map.nodes_of(page));
        let count = |at| count_at(payload, at).unwrap_or(0);
        let (plain, coded) = (count(0), count(COUNT_BYTES));
        check_degree(NodeId(nodes.start), plain + coded, self.max_neighbors)?;
        let parts = PartBytes {
            vectors: nodes.len() * form.vector_bytes(),
            identities: nodes.len() * form.identity_bytes(),
            nodes: match self.code {
                None => (plain + coded) * NODE_BYTES,
                Some(_) => 0,
            },
            codes: coded * self.code_bytes,
        };
        let split = parts.split(payload).ok_or_else(|| PageError::Short {
            page: page.0,
            found: payload.len(),
            expected: parts.end(),
        });
        let parts = split?;
        let own = (NodeId(nodes.start), plain + coded);
        Ok(PageNodeView {
            form,
            page,
            nodes,
            vectors: parts.vectors,
            identities: parts.identities,
            list: self.stored(own, parts.neighbors, parts.rest)?,
        })
    }

    fn encode(&self, page: PageId, feed: &dyn NodeFeed, payload: &mut Vec<u8>) -> Result<()> {
        let chosen = if self.map.holds_vectors_alone(page) {
            ChosenNeighbors::default()
        } else {
            self.chosen(self.map.nodes_of(page), feed)?
        };
        for count in [chosen.plain.len(), chosen.coded.len()] {
            payload.extend_from_slice(&(count as u16).to_le_bytes());
        }
        self.append_vectors(page, feed, payload)?;
        if chosen.packed.is_none() {
            append_nodes(&chosen.plain, payload);
            append_nodes(&chosen.coded, payload);
        }
        for &neighbor in &chosen.coded {
            append_exactly(feed.code(neighbor)?, self.code_bytes, payload)?;
        }
        payload.extend(chosen.packed.iter().flatten());
        Ok(())
    }
}

/// Bytes of the parts of a page behind its counts, in their order.
#[derive(Clone, Copy)]
struct PartBytes {
    vectors: usize,
    identities: usize,
    nodes: usize,
    codes: usize,
}

impl PartBytes {
    const fn end(self) -> usize {
        COUNTS_BYTES + self.vectors + self.identities + self.nodes + self.codes
    }

    /// The parts; `None` when the payload is shorter than they are.
    #[inline]
    fn split(self, payload: &[u8]) -> Option<PageParts<'_>> {
        let rest = payload.get(COUNTS_BYTES..)?;
        let (vectors, rest) = rest.split_at_checked(self.vectors)?;
        let (identities, rest) = rest.split_at_checked(self.identities)?;
        let (ids, rest) = rest.split_at_checked(self.nodes)?;
        let (codes, rest) = rest.split_at_checked(self.codes)?;
        Some(PageParts {
            vectors,
            identities,
            neighbors: Neighbors { ids, codes },
            rest,
        })
    }
}

/// The parts of a page behind its counts.
struct PageParts<'p> {
    vectors: &'p [u8],
    identities: &'p [u8],
    neighbors: Neighbors<'p>,
    /// What lies behind the codes.
    rest: &'p [u8],
}

/// A page that is a node of the graph.
#[derive(Clone, Debug)]
pub(crate) struct PageNodeView<'p> {
    form: VectorForm,
    page: PageId,
    nodes: Range<u32>,
    vectors: &'p [u8],
    identities: &'p [u8],
    list: StoredList<'p>,
}

impl<'p> PageView<'p> for PageNodeView<'p> {
    /// The list is that of the page, for every node of it.
    #[inline]
    fn record(&self, node: NodeId) -> std::result::Result<Record<'p>, PageError> {
        Ok(Record {
            node,
            vector: Some(self.stored_vector(node)?),
            list: self.list,
        })
    }

    #[inline]
    fn vector<'v>(
        &self,
        node: NodeId,
        room: &'v mut UnfoldedVector,
    ) -> std::result::Result<VectorPart<'v>, PageError>
    where
        'p: 'v,
    {
        Ok(self.form.unfolded(self.stored_vector(node)?, room))
    }
}

impl<'p> PageNodeView<'p> {
    #[inline]
    fn stored_vector(&self, node: NodeId) -> std::result::Result<VectorPart<'p>, PageError> {
        let form = self.form;
        let part = || {
            let slot = node.0.checked_sub(self.nodes.start)? as usize;
            let vector = part_of(self.vectors, slot, form.vector_bytes())?;
            let identity = part_of(self.identities, slot, form.identity_bytes())?;
            form.part(node, vector, identity)
        };
        part().ok_or(PageError::MissingNode {
            page: self.page.0,
            node: node.0,
        })
    }
}

/// Part number `slot` of parts of `bytes` each.
#[inline]
fn part_of(parts: &[u8], slot: usize, bytes: usize) -> Option<&[u8]> {
    let start = slot.checked_mul(bytes)?;
    parts.get(start..start.checked_add(bytes)?)
}
