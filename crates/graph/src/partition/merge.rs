//! One adjacency list from those that a node has in its shards.

use pageway_types::NodeId;

/// Share of the max degree that the graph of a shard gets: two lists of this length, overlapping
/// in part, fill one of full length.
const SHARD_DEGREE_SHARE: (u32, u32) = (2, 3);

/// Max degree of the graph of a shard: two thirds, rounded up.
pub const fn shard_max_degree(max_degree: u32) -> u32 {
    let (share, of) = SHARD_DEGREE_SHARE;
    let whole = max_degree / of * share;
    whole + (max_degree % of * share).div_ceil(of)
}

/// Merges lists in prune order into `out`: first the best of each, then the second best of each,
/// and so on, every node once, at most `max_degree` of them.
///
/// Since lists are in prune order, what is cut are the least valuable neighbours of each.
/// Costs one comparison per pair of a candidate and a node taken; allocates only to grow `out`.
pub fn merge_lists(lists: &[&[NodeId]], max_degree: usize, out: &mut Vec<NodeId>) {
    out.clear();
    let longest = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    for rank in 0..longest {
        for &node in lists.iter().filter_map(|list| list.get(rank)) {
            if out.len() == max_degree {
                return;
            }
            if !out.contains(&node) {
                out.push(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_interleave() {
        let lists = [[1, 2, 3], [4, 1, 5]].map(|list| list.map(NodeId));
        let lists: Vec<&[NodeId]> = lists.iter().map(<[NodeId; 3]>::as_slice).collect();
        let mut out = vec![NodeId(77)];
        merge_lists(&lists, 10, &mut out);
        assert_eq!(out, [1, 4, 2, 3, 5].map(NodeId));
        merge_lists(&lists, 3, &mut out);
        assert_eq!(out, [1, 4, 2].map(NodeId));
        merge_lists(&[], 3, &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn shards_get_two_thirds() {
        let degrees = [1, 2, 3, 4, 48, 64].map(shard_max_degree);
        assert_eq!(degrees, [1, 2, 2, 3, 32, 43]);
    }

    proptest! {
        #[test]
        fn is_the_union_cut_by_rank(
            lists in prop::collection::vec(prop::collection::hash_set(0_u32..30, 0..12), 0..4),
            max_degree in 0_usize..20,
        ) {
            let lists: Vec<Vec<NodeId>> =
                lists.into_iter().map(|list| list.into_iter().map(NodeId).collect()).collect();
            let slices: Vec<&[NodeId]> = lists.iter().map(Vec::as_slice).collect();
            let mut out = Vec::new();
            merge_lists(&slices, max_degree, &mut out);
            let rank = |node: &NodeId| {
                let found = lists.iter().filter_map(|list| list.iter().position(|n| n == node));
                found.min()
            };
            let mut union: Vec<NodeId> = lists.concat();
            union.sort();
            union.dedup();
            prop_assert_eq!(out.len(), union.len().min(max_degree));
            let ranks: Vec<_> = out.iter().map(|node| rank(node).expect("from a list")).collect();
            prop_assert!(ranks.is_sorted());
            union.retain(|node| !out.contains(node));
            prop_assert!(union.iter().all(|node| rank(node) >= ranks.last().copied()));
            out.sort();
            out.dedup();
            prop_assert_eq!(out.len(), ranks.len(), "every node once");
        }
    }
}
