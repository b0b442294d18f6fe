//! An adjacency list as it is stored: ids back to back, or packed.
//!
//! A packed list is a set: its neighbours come back in ascending order. Codes beside it lie in that
//! order.

use pageway_graph::ListCode;
use pageway_types::NodeId;

use super::record::NODE_BYTES;
use super::{Neighbors, PageError};
use crate::spec::{IndexSpec, ListSpec};

/// Ids of one list, as a page has them that are not packed.
pub(crate) type UnpackedList = Vec<[u8; 4]>;

/// The list of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredList<'p> {
    /// Four bytes per neighbour.
    Plain(Neighbors<'p>),
    /// Packed.
    Packed(PackedList<'p>),
}

/// A packed list, and the codes of its last neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedList<'p> {
    pub(crate) code: &'p ListCode,
    /// Whose list it is.
    pub(crate) own: NodeId,
    /// It begins here; what lies behind it does not matter.
    pub(crate) bytes: &'p [u8],
    pub(crate) codes: &'p [u8],
}

impl<'p> StoredList<'p> {
    /// The neighbours, unpacked into `list` where they are packed; and the bytes that they take
    /// here, codes included.
    ///
    /// # Errors
    /// `List` when the bytes are no list.
    #[inline]
    pub(crate) fn unpack<'l>(
        self,
        list: &'l mut UnpackedList,
    ) -> Result<(Neighbors<'l>, usize), PageError>
    where
        'p: 'l,
    {
        match self {
            Self::Plain(neighbors) => Ok((neighbors, neighbors.bytes())),
            Self::Packed(packed) => packed.unpack(list),
        }
    }
}

impl<'p> PackedList<'p> {
    #[inline]
    fn unpack<'l>(self, list: &'l mut UnpackedList) -> Result<(Neighbors<'l>, usize), PageError>
    where
        'p: 'l,
    {
        let slot = |neighbor: NodeId| neighbor.0.to_le_bytes();
        let taken = self.code.decode(self.own, self.bytes, list, slot);
        let taken = taken.map_err(|_| PageError::List { node: self.own.0 })?;
        let neighbors = Neighbors {
            ids: list.as_flattened(),
            codes: self.codes,
        };
        Ok((neighbors, taken + self.codes.len()))
    }
}

/// How the lists of a spec are packed, where they are.
pub(super) fn list_code(spec: &IndexSpec, node_count: u32) -> Option<ListCode> {
    match spec.layout.lists {
        ListSpec::Plain => None,
        ListSpec::Packed => Some(ListCode::new(node_count)),
    }
}

/// Parts of a bit that sizes are counted in: whole numbers, the same on any machine.
const PARTS: u64 = 256;
/// Bits of a class.
const CLASS_BITS: u64 = 4;
/// Share of the bits of a mean gap that a gap has, about, where a placement numbered neighbours
/// alike.
const PLACED_SHARE: u64 = 166;

/// What there is room for: the ids of so many neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListRoom {
    lists: ListSpec,
    is_placed: bool,
    node_count: u32,
}

impl ListRoom {
    pub(super) fn new(spec: &IndexSpec, node_count: u32) -> Self {
        Self {
            lists: spec.layout.lists,
            is_placed: spec.layout.is_placed(),
            node_count,
        }
    }

    /// Bytes for a list of `degree` neighbours: their ids, or what they take about when packed.
    pub(super) fn bytes(self, degree: u32) -> usize {
        if self.lists == ListSpec::Plain {
            return degree as usize * NODE_BYTES;
        }
        let share = if self.is_placed { PLACED_SHARE } else { PARTS };
        let gap = log2_in_parts(self.node_count, degree.max(1));
        let neighbor = CLASS_BITS * PARTS + share * gap / PARTS;
        2 + (u64::from(degree) * neighbor).div_ceil(8 * PARTS) as usize
    }

    /// Bits that a neighbour takes at least.
    pub(super) const fn least_bits(self) -> usize {
        match self.lists {
            ListSpec::Plain => 8 * NODE_BYTES,
            // A class, and a mantissa.
            ListSpec::Packed => CLASS_BITS as usize + 1,
        }
    }
}

/// The logarithm of `count / parts`, in parts of a bit, a line between powers of two; 0 where that
/// is less than 1.
fn log2_in_parts(count: u32, parts: u32) -> u64 {
    let ratio = (u64::from(count) * PARTS / u64::from(parts)).max(PARTS);
    let power = u64::from(ratio.ilog2());
    (power - 8) * PARTS + ((ratio * PARTS) >> power) - PARTS
}

/// The longest beginning of `list` that takes at most `room` bytes with what lies beside it,
/// packed: its neighbours sorted, and the bytes of the list alone. `beside` counts the bytes that
/// neighbours take beside the list.
pub(super) fn pack_beginning(
    code: &ListCode,
    (own, list): (NodeId, &[NodeId]),
    room: usize,
    beside: impl Fn(&[NodeId]) -> usize,
) -> (Vec<NodeId>, Vec<u8>) {
    let (mut sorted, mut packed) = (Vec::with_capacity(list.len()), Vec::new());
    let mut fits = |count: usize| {
        sorted.clear();
        sorted.extend(list.iter().take(count));
        sorted.sort_unstable();
        sorted.dedup();
        packed.clear();
        let is_list = code.encode(own, &sorted, &mut packed).is_ok();
        is_list && packed.len() + beside(&sorted) <= room
    };
    let (mut least, mut most) = (0, list.len());
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if fits(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    fits(least);
    (sorted, packed)
}

#[cfg(test)]
mod tests {
    use pageway_types::SplitMix64;

    use super::*;

    #[test]
    fn logarithms_are_near_and_never_above() {
        for count in [1, 2, 3, 1000, 80_000, 12_345_678, u32::MAX] {
            for parts in [1, 7, 32, 512] {
                let exact = (f64::from(count) / f64::from(parts)).max(1.0).log2();
                let found = log2_in_parts(count, parts) as f64 / 256.0;
                assert!(found <= exact + 1e-9, "{count} {parts}");
                assert!(exact - found < 0.1, "{count} {parts}: {exact} {found}");
            }
        }
    }

    #[test]
    fn as_many_neighbours_are_packed_as_fit() {
        let code = ListCode::new(10_000);
        let mut random = SplitMix64::new(7);
        let list: Vec<NodeId> = (0..60)
            .map(|_| NodeId(random.below(10_000) as u32))
            .collect();
        let bytes = |count: usize| {
            let mut sorted = list[..count].to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            let mut packed = Vec::new();
            code.encode(NodeId(3), &sorted, &mut packed).unwrap();
            (packed.len() + sorted.len() / 2, sorted, packed)
        };
        for room in 1..200 {
            let half = |sorted: &[NodeId]| sorted.len() / 2;
            let found = pack_beginning(&code, (NodeId(3), &list), room, half);
            let fitting = (0..=60).rev().find(|count| bytes(*count).0 <= room);
            let (_, sorted, packed) = bytes(fitting.unwrap());
            assert_eq!(found, (sorted, packed), "{room}");
        }
    }
}
