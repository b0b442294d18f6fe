//! Packed lists on pages of either codec: the same neighbours, as many of the first as fit, and
//! more records to a page.

use std::collections::BTreeSet;

use pageway_types::{NodeId, PageId};
use proptest::prelude::*;

use super::feed::{DrawnFeed, SIFT, Variation};
use crate::layout::{PageCodec, PageError, PageNodeCodec, PageView, RecordCodec, UnpackedList};
use crate::presets::Preset;
use crate::spec::{CodecSpec, IndexSpec, ListSpec};

fn packed(mut spec: IndexSpec) -> IndexSpec {
    spec.layout.lists = ListSpec::Packed;
    spec
}

fn encoded<C: PageCodec>(codec: &C, page: u32, feed: &DrawnFeed) -> Vec<u8> {
    let mut payload = Vec::new();
    codec.encode(PageId(page), feed, &mut payload).unwrap();
    assert!(payload.len() <= codec.map().geometry.payload_bytes());
    payload
}

/// The list of a node and its codes, in the order in which they are stored.
fn read<C: PageCodec>(codec: &C, payload: &[u8], node: NodeId) -> (Vec<NodeId>, Vec<u8>) {
    let view = codec.view(codec.map().page_of(node), payload).unwrap();
    let record = view.record(node).unwrap();
    let mut list = UnpackedList::new();
    let (neighbors, bytes) = record.list.unpack(&mut list).unwrap();
    assert!(bytes <= payload.len());
    (neighbors.iter().collect(), neighbors.codes.to_vec())
}

/// How many of the first of `list` are the set `found`.
fn beginning(list: &[NodeId], found: &[NodeId]) -> Option<usize> {
    let found: BTreeSet<NodeId> = found.iter().copied().collect();
    let of_first = |count: &usize| list[..*count].iter().copied().collect::<BTreeSet<_>>() == found;
    (0..=list.len()).rev().find(of_first)
}

#[test]
fn lists_that_pack_well_are_whole_and_take_less() {
    let variation = Variation {
        by_id: false,
        ..SIFT
    };
    for preset in [Preset::DiskAnn, Preset::Dgai] {
        let plain = RecordCodec::new(&variation.spec(preset), 100_000).unwrap();
        let spec = packed(variation.spec(preset));
        let codec = RecordCodec::new(&spec, 100_000).unwrap();
        // 2 + 48 * 4 bytes, or 2 + 48 * (4 + 0.65 * 11) / 8.
        assert_eq!(plain.record_bytes() - codec.record_bytes(), 194 - 69);
        assert!(codec.map().nodes_per_page > plain.map().nodes_per_page);
        let mut feed = DrawnFeed::new(&spec, 100, 3);
        feed.lists[7] = (0..48).rev().map(|at| NodeId(20 * at)).collect();
        let page = codec.map().page_of(NodeId(7)).0;
        let payload = encoded(&codec, page, &feed);
        let (found, _) = read(&codec, &payload, NodeId(7));
        assert_eq!(found, (0..48).map(|at| NodeId(20 * at)).collect::<Vec<_>>());
    }
}

#[test]
fn the_farthest_neighbours_of_a_list_that_packs_badly_are_left_out() {
    let variation = Variation {
        by_id: false,
        ..SIFT
    };
    let spec = packed(variation.spec(Preset::DiskAnn));
    let codec = RecordCodec::new(&spec, 1 << 31).unwrap();
    let mut feed = DrawnFeed::new(&spec, 100, 3);
    let far = |at: u32| NodeId(at.wrapping_mul(0x9e37_79b9) >> 1);
    feed.lists[1] = (1..49).map(far).collect();
    let payload = encoded(&codec, 0, &feed);
    let (found, _) = read(&codec, &payload, NodeId(1));
    let kept = beginning(&feed.lists[1], &found).unwrap();
    assert!((25..48).contains(&kept), "{kept}");
}

#[test]
fn a_damaged_list_is_refused() {
    let spec = packed(SIFT.spec(Preset::DiskAnn));
    let codec = RecordCodec::new(&spec, 100).unwrap();
    let feed = DrawnFeed::new(&spec, 100, 5);
    let mut payload = encoded(&codec, 0, &feed);
    let at = codec.near.bytes();
    payload[at] = 49;
    let view = codec.view(PageId(0), &payload).unwrap();
    let error = view.record(NodeId(0)).unwrap_err();
    assert!(matches!(error, PageError::Degree { degree: 49, .. }));
    payload[at] = 48;
    payload[at + 1..at + codec.list.bytes()].fill(0xff);
    let view = codec.view(PageId(0), &payload).unwrap();
    let list = view.record(NodeId(0)).unwrap().list;
    let error = list.unpack(&mut UnpackedList::new()).unwrap_err();
    assert_eq!(error, PageError::List { node: 0 });
}

#[test]
fn a_page_node_holds_more_vectors() {
    let variation = Variation {
        by_id: false,
        ..SIFT
    };
    let spec = |min_degree| {
        let mut spec = variation.spec(Preset::PageAnn);
        spec.layout.codec = CodecSpec::PageNode { min_degree };
        spec.storage.codes = crate::spec::CodeStorage::Split { memory_nodes: 1000 };
        spec
    };
    let of = |spec: &IndexSpec| PageNodeCodec::new(spec, 1000).unwrap();
    let (plain, less) = (of(&spec(24)), of(&packed(spec(24))));
    // 132 bytes, and 24 ids of 4, or a list of 2 + 672 * (4 + 0.65 * 0.6) / 8 for 28 of them.
    assert_eq!(plain.map().nodes_per_page, 4084 / 228);
    assert_eq!(less.map().nodes_per_page, 28);
}

fn variations() -> impl Strategy<Value = Variation> {
    (1u32..300, 1u32..200, 1u32..60, any::<bool>(), any::<bool>()).prop_map(
        |(dimension, max_degree, code_bytes, user_ids, by_id)| Variation {
            dimension,
            max_degree,
            code_bytes,
            user_ids,
            by_id,
            ..SIFT
        },
    )
}

/// What is read of each page of an index of `nodes`, whatever is in it.
fn read_everything<C: PageCodec>(codec: &C, page: u32, payload: &[u8]) {
    let Ok(view) = codec.view(PageId(page), payload) else {
        return;
    };
    let mut list = UnpackedList::new();
    for node in codec.map().nodes_of(PageId(page)).map(NodeId) {
        let Ok(record) = view.record(node) else {
            continue;
        };
        if let Ok((neighbors, _)) = record.list.unpack(&mut list) {
            assert!(neighbors.len() <= codec.max_neighbors());
            assert!(neighbors.iter().all(|n| n.0 < codec.map().node_count));
        }
    }
}

proptest! {
    #[test]
    fn records_decode_to_the_beginning_of_their_lists(
        variation in variations(),
        preset in prop_oneof![Just(Preset::DiskAnn), Just(Preset::AiSaq), Just(Preset::Dgai)],
        nodes in 1u32..200,
        seed: u64,
    ) {
        let spec = packed(variation.spec(preset));
        let codec = RecordCodec::new(&spec, nodes).unwrap();
        let feed = DrawnFeed::new(&spec, nodes, seed);
        for page in 0..codec.map().list_pages() {
            let payload = encoded(&codec, page, &feed);
            for node in codec.map().nodes_of(PageId(page)).map(NodeId) {
                let (found, codes) = read(&codec, &payload, node);
                prop_assert!(found.is_sorted_by(|a, b| a < b));
                prop_assert!(beginning(&feed.lists[node.index()], &found).is_some());
                let inline = preset == Preset::AiSaq;
                prop_assert_eq!(codes, if inline { feed.codes_of(&found) } else { vec![] });
            }
        }
    }

    #[test]
    fn page_nodes_decode_to_one_list_with_the_codes_of_its_end(
        variation in variations(),
        share in 0.0..1.0,
        nodes in 1u32..200,
        memory in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        seed: u64,
    ) {
        let mut spec = packed(variation.spec(Preset::PageAnn));
        let min_degree = 1 + (f64::from(variation.max_degree - 1) * share) as u32;
        spec.layout.codec = CodecSpec::PageNode { min_degree };
        let memory_nodes = (f64::from(nodes) * memory) as u32;
        spec.storage.codes = crate::spec::CodeStorage::Split { memory_nodes };
        let codec = PageNodeCodec::new(&spec, nodes).unwrap();
        let feed = DrawnFeed::new(&spec, nodes, seed);
        for page in 0..codec.map().page_count() {
            let payload = encoded(&codec, page, &feed);
            let own = codec.map().nodes_of(PageId(page));
            let wanted: BTreeSet<NodeId> = own
                .clone()
                .flat_map(|node| feed.lists[node as usize].iter().copied())
                .filter(|neighbor| !own.contains(&neighbor.0))
                .collect();
            for node in own.map(NodeId) {
                let (found, codes) = read(&codec, &payload, node);
                prop_assert!(found.is_sorted_by(|a, b| a < b));
                prop_assert!(found.iter().all(|neighbor| wanted.contains(neighbor)));
                let plain = found.partition_point(|neighbor| neighbor.0 < memory_nodes);
                prop_assert_eq!(codes, feed.codes_of(&found[plain..]));
            }
        }
    }

    #[test]
    fn damaged_pages_never_panic(
        preset in prop_oneof![Just(Preset::DiskAnn), Just(Preset::AiSaq), Just(Preset::Dgai)],
        page_node: bool,
        seed: u64,
        flip in 1u8..,
    ) {
        let variation = Variation { dimension: 100, code_bytes: 20, ..SIFT };
        let spec = packed(variation.spec(if page_node { Preset::PageAnn } else { preset }));
        let feed = DrawnFeed::new(&spec, 60, seed);
        let damage = |encode: &dyn Fn() -> Vec<u8>, read: &dyn Fn(&[u8])| {
            let mut payload = encode();
            for at in 0..payload.len() {
                payload[at] ^= flip;
                read(&payload);
                payload[at] ^= flip;
                read(&payload[..at]);
            }
        };
        if page_node {
            let codec = PageNodeCodec::new(&spec, 60).unwrap();
            damage(&|| encoded(&codec, 0, &feed), &|bytes| read_everything(&codec, 0, bytes));
        } else {
            let codec = RecordCodec::new(&spec, 60).unwrap();
            damage(&|| encoded(&codec, 0, &feed), &|bytes| read_everything(&codec, 0, bytes));
        }
    }
}
