//! The entries of a block.

use super::{INLINE_NODES, MAX_BLOCK_BYTES};
use crate::documents::{read_u32, read_u64};

/// Where bytes of the stream are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// What an entry holds beside its term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// A few nodes.
    Nodes(Vec<u32>),
    /// So many, in a bitmap.
    Bitmap(u32, Extent),
    /// A block further down.
    Block(Extent),
}

/// Appends an entry to a block that ends with `before`.
pub(super) fn push(block: &mut Vec<u8>, before: &[u8], term: &[u8], content: &Content) {
    let shared = before.iter().zip(term).take_while(|(a, b)| a == b).count();
    let rest = term.get(shared..).unwrap_or_default();
    block.extend((shared as u16).to_le_bytes());
    block.extend((rest.len() as u16).to_le_bytes());
    block.extend(rest);
    let (kind, count) = match content {
        Content::Nodes(nodes) => (0, nodes.len() as u32),
        Content::Bitmap(count, _) => (1, *count),
        Content::Block(_) => (2, 0),
    };
    block.push(kind);
    block.extend(count.to_le_bytes());
    match content {
        Content::Nodes(nodes) => nodes
            .iter()
            .for_each(|node| block.extend(node.to_le_bytes())),
        Content::Bitmap(_, extent) | Content::Block(extent) => {
            block.extend(extent.offset.to_le_bytes());
            block.extend(extent.length.to_le_bytes());
        }
    }
}

/// The entries of a block in order; `None` where its bytes make no sense.
pub(super) fn entries(block: &[u8]) -> Option<Vec<(Vec<u8>, Content)>> {
    if block.len() > MAX_BLOCK_BYTES {
        return None;
    }
    let mut all: Vec<(Vec<u8>, Content)> = Vec::new();
    let mut rest = block;
    while !rest.is_empty() {
        let (head, behind) = rest.split_first_chunk::<4>()?;
        let shared = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let own = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let (own, behind) = behind.split_at_checked(own)?;
        let before = all.last().map_or(&[][..], |(term, _)| term.as_slice());
        let mut term = before.get(..shared)?.to_vec();
        term.extend(own);
        if !all.is_empty() && term.as_slice() <= before {
            return None;
        }
        let (content, behind) = content(behind)?;
        all.push((term, content));
        rest = behind;
    }
    Some(all)
}

fn content(bytes: &[u8]) -> Option<(Content, &[u8])> {
    let (head, rest) = bytes.split_at_checked(5)?;
    let count = read_u32(head, 1);
    if head.first() == Some(&0) {
        if count == 0 || count as usize > INLINE_NODES {
            return None;
        }
        let (own, behind) = rest.split_at_checked(count as usize * 4)?;
        let nodes: Vec<u32> = own
            .as_chunks()
            .0
            .iter()
            .map(|n| u32::from_le_bytes(*n))
            .collect();
        let rises = nodes.is_sorted_by(|one, next| one < next);
        return rises.then_some((Content::Nodes(nodes), behind));
    }
    let (own, behind) = rest.split_at_checked(12)?;
    let extent = Extent {
        offset: read_u64(own, 0),
        length: read_u32(own, 8),
    };
    match head.first() {
        Some(1) => Some((Content::Bitmap(count, extent), behind)),
        Some(2) if count == 0 => Some((Content::Block(extent), behind)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_damage_is_found() {
        let extent = Extent {
            offset: 7,
            length: 9,
        };
        let all = [
            (b"abc".to_vec(), Content::Nodes(vec![1, 5])),
            (b"abd".to_vec(), Content::Bitmap(40, extent)),
            (b"b".to_vec(), Content::Block(extent)),
        ];
        let (mut block, mut before) = (Vec::new(), Vec::new());
        for (term, content) in &all {
            push(&mut block, &before, term, content);
            before.clone_from(term);
        }
        assert_eq!(entries(&block).unwrap(), all);
        let whole = [0, 20, 39]
            .into_iter()
            .filter(|cut| entries(&block[..*cut]).is_some());
        for cut in 1..block.len() {
            let some = entries(&block[..cut]);
            assert!(some.is_none_or(|some| some.len() < all.len()));
        }
        assert!(whole.count() >= 1);
        push(&mut block, b"b", b"a", &Content::Nodes(vec![1]));
        assert!(entries(&block).is_none());
    }
}
