//! The candidate list against sorted sets, and what it remembers.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn holds_the_best_whatever_the_order(
        mut offers in prop::collection::vec((0u32..50, 0u8..20), 0..100),
        capacity in 1usize..20,
        rotation in 0usize..100,
    ) {
        // A node has one distance, as in a query.
        let distance = |node: u32, salt: u8| f32::from(node as u8 % 7) + f32::from(salt) * 0.0;
        let mut expected: Vec<u64> =
            offers.iter().map(|(n, s)| sort_key(distance(*n, *s), NodeId(*n))).collect();
        expected.sort_unstable();
        expected.dedup();
        expected.truncate(capacity);
        if !offers.is_empty() {
            let by = rotation % offers.len();
            offers.rotate_left(by);
        }
        let mut list = CandidateList::default();
        list.reset(capacity, 0);
        for (node, salt) in offers {
            list.insert(NodeId(node), distance(node, salt));
        }
        prop_assert_eq!(&list.keys, &expected);
        let order: Vec<u32> =
            std::iter::from_fn(|| list.pop_unexpanded()).map(|k| key_node(k).0).collect();
        let wanted: Vec<u32> = expected.iter().map(|key| *key as u32).collect();
        prop_assert_eq!(order, wanted);
    }
}

proptest! {
    #[test]
    fn many_at_once_are_as_one_after_the_other(
        offers in prop::collection::vec((0u32..90, 0usize..70), 0..120),
        capacity in 0usize..80,
        turned_away in 0usize..30,
        expanded in 0usize..10,
    ) {
        let (mut one, mut all) = (CandidateList::default(), CandidateList::default());
        one.reset(capacity, turned_away);
        all.reset(capacity, turned_away);
        let mut rest = &offers[..];
        while let Some((_, length)) = rest.first() {
            let (now, later) = rest.split_at(rest.len().min(*length + 1));
            rest = later;
            let now = || now.iter().map(|(node, _)| (NodeId(*node), (*node * 37 % 50) as f32));
            now().for_each(|(node, distance)| one.insert_key(sort_key(distance, node)));
            all.insert_all(now());
            for _ in 0..expanded {
                prop_assert_eq!(one.pop_unexpanded(), all.pop_unexpanded());
            }
            prop_assert_eq!(&one.keys, &all.keys);
            prop_assert_eq!(&one.expanded, &all.expanded);
            prop_assert_eq!(one.cursor, all.cursor);
            // One that was expanded and fell out is turned away where it is offered again.
            if expanded == 0 {
                one.keep_best_turned_away();
                all.keep_best_turned_away();
                prop_assert_eq!(&one.turned_away, &all.turned_away);
            }
        }
    }
}

#[test]
fn a_list_that_settles_is_as_one_of_that_size() {
    let distances = [5.0, 1.0, 4.0, 2.0, 9.0, 3.0];
    let filled = |capacity: usize| {
        let mut list = CandidateList::default();
        list.reset(capacity, 0);
        for (node, distance) in (0..).zip(distances) {
            list.insert(NodeId(node), distance);
        }
        list
    };
    let mut settled = filled(6);
    settled.take_off(1);
    assert!(pop(&mut settled).is_some() && pop(&mut settled).is_none());
    settled.settle(3, 2);
    assert_eq!(settled.keys(), filled(3).keys());
    assert!(settled.is_full());
    assert_eq!((pop(&mut settled), pop(&mut settled)), (Some(3), None));
    // What grows again has what was turned away.
    let mut growing = CandidateList::default();
    growing.reset(6, 12);
    (0..6).for_each(|node| _ = growing.insert(NodeId(node), node as f32));
    growing.settle(2, 2);
    growing.grow(4, f32::INFINITY);
    assert_eq!(growing.keys().len(), 4);
}

#[test]
fn offers_beyond_the_limit_change_nothing() {
    let mut list = CandidateList::default();
    list.reset(2, 0);
    assert_eq!(list.limit(), f32::INFINITY);
    list.insert(NodeId(8), 5.0);
    assert_eq!(list.limit(), f32::INFINITY);
    list.insert(NodeId(9), 3.0);
    assert_eq!(list.limit(), 5.0);
    assert!(!list.insert(NodeId(1), 5.000_001));
    // At the limit the lower node is the better one.
    assert!(list.insert(NodeId(7), 5.0));
    list.insert(NodeId(2), -1.0);
    assert_eq!(list.limit(), 3.0);
    // A list that remembers what it turns away wants to know of all.
    list.reset(2, 4);
    (0..5).for_each(|node| _ = list.insert(NodeId(node), 1.0));
    assert_eq!(list.limit(), f32::INFINITY);
    // But not of those that are behind enough others.
    (5u16..9).for_each(|node| _ = list.insert(NodeId(node.into()), node.into()));
    assert_eq!(list.limit(), 1.0);
    list.grow(4, f32::INFINITY);
    assert_eq!((list.keys().len(), list.limit()), (4, f32::INFINITY));
}

fn pop(list: &mut CandidateList) -> Option<u32> {
    list.pop_unexpanded().map(|key| key_node(key).0)
}

#[test]
fn a_better_candidate_comes_next_and_none_comes_twice() {
    let mut list = CandidateList::default();
    list.reset(3, 0);
    list.insert(NodeId(1), 1.0);
    list.insert(NodeId(2), 2.0);
    assert_eq!(pop(&mut list), Some(1));
    assert!(list.insert(NodeId(0), 0.5));
    assert!(!list.insert(NodeId(1), 1.0));
    assert_eq!(pop(&mut list), Some(0));
    assert_eq!(pop(&mut list), Some(2));
    assert_eq!(pop(&mut list), None);
}

#[test]
fn takes_by_predicate_and_leaves_the_others_in_order() {
    let mut list = CandidateList::default();
    list.reset(10, 0);
    (0..6u16).for_each(|n| {
        list.insert(NodeId(n.into()), n.into());
    });
    let odd = |node: NodeId| node.0 % 2 == 1;
    assert_eq!(list.count(10, odd), 3);
    assert_eq!(list.count(2, odd), 2);
    assert_eq!(list.take(odd).map(key_node), Some(NodeId(1)));
    assert_eq!(pop(&mut list), Some(0));
    assert_eq!(list.take(odd).map(key_node), Some(NodeId(3)));
    assert_eq!(list.take(|node| node.0 > 7), None);
    assert_eq!(pop(&mut list), Some(2));
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(4), Some(5)));
    assert_eq!(pop(&mut list), None);
}

#[test]
fn grows_by_what_it_turned_away() {
    let mut list = CandidateList::default();
    list.reset(2, 10);
    for node in [5u16, 4, 3, 2, 1] {
        list.insert(NodeId(node.into()), node.into());
    }
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(1), Some(2)));
    list.grow(4, f32::INFINITY);
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(3), Some(4)));
    list.grow(8, f32::INFINITY);
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(5), None));
}

#[test]
fn takes_nothing_behind_the_horizon() {
    let mut list = CandidateList::default();
    list.reset(2, 10);
    for node in [5u16, 4, 3, 2, 1] {
        list.insert(NodeId(node.into()), node.into());
    }
    list.grow(5, 3.0);
    let taken: Vec<u32> = std::iter::from_fn(|| pop(&mut list)).collect();
    assert_eq!(taken, [1, 2, 3]);
    list.insert(NodeId(9), 2.5);
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(9), None));
}

#[test]
fn a_horizon_moves_with_the_candidate_at_its_place() {
    let mut list = CandidateList::default();
    list.reset(10, 0);
    let (place, slack) = (1, 0.5);
    list.look_to(Horizon { place, slack });
    list.insert(NodeId(9), 9.0);
    assert_eq!(pop(&mut list), Some(9), "fewer candidates: no horizon");
    for node in [8u16, 6, 4, 7] {
        list.insert(NodeId(node.into()), node.into());
    }
    assert_eq!(list.count(9, |_| true), 4, "up to 9");
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(4), Some(6)));
    list.insert(NodeId(5), 5.0);
    assert_eq!(list.count(9, |_| true), 2, "up to 7.5");
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(5), Some(7)));
    assert_eq!(pop(&mut list), None);
    list.reset(10, 0);
    list.insert(NodeId(1), 1.0);
    list.insert(NodeId(100), 100.0);
    assert_eq!((pop(&mut list), pop(&mut list)), (Some(1), Some(100)));
}

proptest! {
    #[test]
    fn a_horizon_takes_what_lies_within_it_in_any_order(
        mut distances in prop::collection::vec(-50i8..50, 1..60),
        place in 0usize..8,
        slack in 0.0f32..1.5,
        rotation in 0usize..60,
    ) {
        let nodes: Vec<(u32, f32)> =
            distances.drain(..).map(f32::from).zip(0..).map(|(d, n)| (n, d)).collect();
        let mut sorted: Vec<u64> =
            nodes.iter().map(|(n, d)| sort_key(*d, NodeId(*n))).collect();
        sorted.sort_unstable();
        let mut expected = sorted.clone();
        if let Some(key) = sorted.get(place) {
            let border = key_distance(*key) + slack * key_distance(*key).abs();
            expected.retain(|key| key_distance(*key) <= border);
        }
        let mut list = CandidateList::default();
        list.reset(64, 0);
        list.look_to(Horizon { place, slack });
        let by = rotation % nodes.len();
        for (node, distance) in nodes[by..].iter().chain(&nodes[..by]) {
            list.insert(NodeId(*node), *distance);
        }
        prop_assert_eq!(list.count(100, |_| true), expected.len());
        let taken: Vec<u64> = std::iter::from_fn(|| list.pop_unexpanded()).collect();
        prop_assert_eq!(taken, expected);
    }

    #[test]
    fn what_is_preferred_is_the_best_of_what_is_near_enough(
        distances in prop::collection::vec(-50i8..50, 1..40),
        slack in 0.0f32..0.5,
        liked in 1u32..4,
    ) {
        let mut list = CandidateList::default();
        list.reset(64, 0);
        let mut waiting: Vec<u64> = (0u32..)
            .zip(distances)
            .map(|(node, distance)| sort_key(distance.into(), NodeId(node)))
            .collect();
        for key in &waiting {
            list.insert(key_node(*key), key_distance(*key));
        }
        waiting.sort_unstable();
        let like = |node: NodeId| node.0.is_multiple_of(liked);
        while let Some(best) = waiting.first().copied() {
            let border = key_distance(best) + slack * key_distance(best).abs();
            let near = |key: &&u64| key_distance(**key) <= border && like(key_node(**key));
            let expected = waiting.iter().find(near).copied();
            prop_assert_eq!(list.take_near(slack, like), expected);
            let taken = expected.or_else(|| list.pop_unexpanded());
            prop_assert_eq!(taken, expected.or(Some(best)));
            waiting.retain(|key| Some(*key) != taken);
        }
        prop_assert_eq!(list.take_near(slack, like), None);
    }

    #[test]
    fn what_it_takes_back_does_not_depend_on_the_order(
        mut offers in prop::collection::vec(0u16..200, 0..300),
        capacity in 1usize..10,
        limit in 0usize..40,
        seed: u64,
    ) {
        let grown = |offers: &[u16]| {
            let mut list = CandidateList::default();
            list.reset(capacity, limit);
            for node in offers {
                list.insert(NodeId((*node).into()), f32::from(node % 50));
            }
            list.grow(capacity * 2, f32::INFINITY);
            list.keys
        };
        let expected = grown(&offers);
        let mut unique: Vec<u64> = offers
            .iter()
            .map(|node| sort_key(f32::from(node % 50), NodeId((*node).into())))
            .collect();
        unique.sort_unstable();
        unique.dedup();
        unique.truncate(capacity + capacity.min(limit / 2));
        prop_assert_eq!(&expected, &unique);
        let mut random = pageway_types::SplitMix64::new(seed);
        for at in (1..offers.len()).rev() {
            offers.swap(at, random.below(at as u64 + 1) as usize);
        }
        prop_assert_eq!(&expected, &grown(&offers));
    }
}
