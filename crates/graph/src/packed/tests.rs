use std::collections::BTreeSet;

use pageway_types::NodeId;
use proptest::prelude::*;

use super::ListCode;
use crate::error::GraphError;

fn unpack(code: &ListCode, own: u32, bytes: &[u8]) -> Result<(Vec<NodeId>, usize), GraphError> {
    let mut list = Vec::new();
    let taken = code.decode(NodeId(own), bytes, &mut list, |node| node)?;
    Ok((list, taken))
}

fn pack(code: &ListCode, own: u32, list: &[NodeId]) -> Vec<u8> {
    let mut bytes = vec![7];
    code.encode(NodeId(own), list, &mut bytes).expect("sound");
    bytes.split_off(1)
}

/// Node counts of every magnitude, a node, and a list of it: spread evenly, or close by.
fn lists() -> impl Strategy<Value = (u32, u32, Vec<NodeId>)> {
    let node_count = (0u32..32).prop_flat_map(|bits| (1 << bits)..=u32::MAX >> (31 - bits));
    let seeds = prop::collection::vec(any::<(u32, u8)>(), 0..300);
    (node_count, any::<u32>(), seeds).prop_map(|(node_count, own, seeds)| {
        let own = own % node_count;
        let near = |(seed, shift): &(u32, u8)| {
            let far = (seed >> (shift % 32)) % node_count;
            (u64::from(own) + u64::from(far)) % u64::from(node_count)
        };
        let set: BTreeSet<u64> = seeds.iter().map(near).collect();
        let list = set.into_iter().map(|node| NodeId(node as u32)).collect();
        (node_count, own, list)
    })
}

proptest! {
    #[test]
    fn a_list_comes_back((node_count, own, list) in lists(), behind in any::<[u8; 9]>()) {
        let code = ListCode::new(node_count);
        let packed = pack(&code, own, &list);
        prop_assert!(packed.len() <= code.max_bytes(list.len()));
        prop_assert_eq!(ListCode::degree(&packed), Some(list.len()));
        let alone = unpack(&code, own, &packed).expect("sound");
        prop_assert_eq!(&alone, &(list, packed.len()));
        let followed = [&*packed, &behind].concat();
        prop_assert_eq!(unpack(&code, own, &followed).expect("sound"), alone);
    }

    #[test]
    fn no_flipped_bit_breaks_the_reader((node_count, own, list) in lists(), bit in any::<u32>()) {
        let code = ListCode::new(node_count);
        let mut packed = pack(&code, own, &list);
        let bit = bit as usize % (packed.len() * 8);
        packed[bit / 8] ^= 1 << (bit % 8);
        check_any_bytes(&code, own, &packed)?;
    }

    #[test]
    fn no_bytes_break_the_reader(
        node_count: u32,
        own: u32,
        bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        check_any_bytes(&ListCode::new(node_count), own, &bytes)?;
    }
}

/// Whatever is read is a sound list, no longer than its bytes allow.
fn check_any_bytes(code: &ListCode, own: u32, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut list = Vec::new();
    let read = code.decode(NodeId(own), bytes, &mut list, |node| node);
    prop_assert!(list.len() <= 2 * bytes.len());
    if let Ok(taken) = read {
        prop_assert!(taken <= bytes.len());
        let repacked = pack(code, own, &list);
        prop_assert_eq!(unpack(code, own, &repacked).expect("sound").0, list);
    }
    Ok(())
}

#[test]
fn a_list_cut_short_is_refused() {
    let code = ListCode::new(1 << 20);
    for length in [1, 2, 3, 127, 128, 300] {
        let list: Vec<NodeId> = (0..length).map(|at| NodeId(at * 1009)).collect();
        let packed = pack(&code, 77, &list);
        for end in 0..packed.len() {
            assert!(unpack(&code, 77, &packed[..end]).is_err(), "{length} {end}");
        }
    }
}

#[test]
fn what_is_no_list_is_not_packed() {
    let code = ListCode::new(10);
    let mut out = vec![1];
    for wrong in [&[3, 2][..], &[2, 2], &[10], &[1, 11]] {
        let wrong: Vec<NodeId> = wrong.iter().copied().map(NodeId).collect();
        assert!(code.encode(NodeId(0), &wrong, &mut out).is_err());
    }
    let code = ListCode::new(u32::MAX);
    let long: Vec<NodeId> = (0..1 << 15).map(NodeId).collect();
    assert!(code.encode(NodeId(0), &long, &mut out).is_err());
    assert_eq!(out, [1]);
    let longest = &long[1..];
    let (list, _) = unpack(&code, 9, &pack(&code, 9, longest)).expect("sound");
    assert_eq!(list, longest);
}

#[test]
fn neighbors_numbered_alike_cost_few_bytes() {
    let code = ListCode::new(1_000_000);
    let near: Vec<NodeId> = (0..40).map(|at| NodeId(500_000 + at * 3)).collect();
    let far: Vec<NodeId> = (0..40).map(|at| NodeId(at * 24_999)).collect();
    let bytes = |list| pack(&code, 500_007, list).len();
    assert!(bytes(&near) < 40, "{}", bytes(&near));
    assert!((70..=110).contains(&bytes(&far)), "{}", bytes(&far));
}

#[test]
fn the_expected_bytes_are_those_of_lists_at_random() {
    let mut random = pageway_types::SplitMix64::new(1);
    for (node_count, degree) in [(20_000u32, 24usize), (1_000_000, 32), (50_000_000, 48)] {
        let code = ListCode::new(node_count);
        let mut bytes = 0;
        for own in 0..200 {
            let mut list = BTreeSet::new();
            while list.len() < degree {
                list.insert(NodeId((random.next_u64() % u64::from(node_count)) as u32));
            }
            let list: Vec<NodeId> = list.into_iter().collect();
            bytes += pack(&code, own, &list).len();
        }
        let expected = code.expected_bytes(degree as f64, false);
        let found = bytes as f64 / 200.0;
        assert!(expected >= found, "{node_count}: {found}, {expected}");
        assert!(expected < found * 1.15, "{node_count}: {found}, {expected}");
        assert!(code.expected_bytes(degree as f64, true) < expected);
    }
}
