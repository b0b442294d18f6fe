//! Where the candidate list of several segments would end, which none of them holds.

use super::candidates::CandidateList;

/// The distance, in sortable bits, of the last of the `size` nearest candidates of all lists; the
/// largest where there are fewer. About ten looks into each list, without room for a union.
pub(super) fn list_end<'c>(
    lists: impl Iterator<Item = &'c CandidateList> + Clone,
    size: usize,
) -> u32 {
    let keys = || lists.clone().map(CandidateList::keys);
    let all: usize = keys().map(<[u64]>::len).sum();
    if all < size {
        return u32::MAX;
    }
    let bits = |key: &u64| (key >> 32) as u32;
    let nearest = keys().filter_map(|own| own.first()).map(bits).min();
    let farthest = keys().filter_map(|own| own.last()).map(bits).max();
    let (mut low, mut high) = (nearest.unwrap_or(0), farthest.unwrap_or(0));
    while low < high {
        let middle = low + (high - low) / 2;
        let counts = lists.clone().map(|own| own.count_within(middle));
        let within: usize = counts.sum();
        if within < size {
            low = middle + 1;
            continue;
        }
        high = middle;
        if within == size {
            break;
        }
    }
    // What lies between the last candidate and the distance that was found is no matter.
    let last = |own: &CandidateList| {
        let within = own.count_within(high);
        within
            .checked_sub(1)
            .and_then(|at| own.keys().get(at))
            .map(bits)
    };
    lists.filter_map(last).max().unwrap_or(high)
}

#[cfg(test)]
mod tests {
    use pageway_types::NodeId;
    use proptest::prelude::*;

    use super::*;
    use crate::execution::key::sort_key;

    proptest! {
        #[test]
        fn it_is_that_of_the_sorted_union(
            lists in prop::collection::vec(prop::collection::vec(-20i8..20, 0..30), 0..5),
            size in 1usize..60,
        ) {
            let mut all = Vec::new();
            let filled = lists.iter().map(|distances| {
                let mut list = CandidateList::default();
                list.reset(64, 0);
                for (node, distance) in (0u32..).zip(distances) {
                    let distance = f32::from(*distance) / 3.0;
                    list.insert(NodeId(node), distance);
                    all.push((sort_key(distance, NodeId(0)) >> 32) as u32);
                }
                list
            });
            let filled: Vec<CandidateList> = filled.collect();
            all.sort_unstable();
            let expected = all.get(size - 1).copied().unwrap_or(u32::MAX);
            prop_assert_eq!(list_end(filled.iter(), size), expected);
        }
    }
}
