//! Pages that are nodes: sizes, the merged list, round trips, damage.

use std::collections::HashSet;
use std::ops::Range;

use pageway_types::{NodeId, PageId};
use proptest::prelude::*;

use super::{PageNodeCodec, PageNodeView};
use crate::layout::record::tests::feed::{DrawnFeed, SIFT, Variation};
use crate::layout::{PageCodec, PageError, PageView, UnpackedList};
use crate::presets::Preset;
use crate::spec::{CodeStorage, CodecSpec, IndexSpec};

const RENUMBERED: Variation = Variation {
    by_id: false,
    ..SIFT
};

fn spec(variation: Variation, min_degree: u32, memory_nodes: u32) -> IndexSpec {
    let mut spec = variation.spec(Preset::PageAnn);
    spec.layout.codec = CodecSpec::PageNode { min_degree };
    spec.storage.codes = CodeStorage::Split { memory_nodes };
    spec
}

fn encoded(codec: &PageNodeCodec, page: u32, feed: &DrawnFeed) -> Vec<u8> {
    let mut payload = Vec::new();
    codec.encode(PageId(page), feed, &mut payload).unwrap();
    payload
}

/// The list of a node and the codes beside it.
fn read(view: &PageNodeView<'_>, node: NodeId) -> (Vec<NodeId>, Vec<u8>) {
    let mut list = UnpackedList::new();
    let record = view.record(node).unwrap();
    let (neighbors, _) = record.list.unpack(&mut list).unwrap();
    (neighbors.iter().collect(), neighbors.codes.to_vec())
}

fn list_of(codec: &PageNodeCodec, payload: &[u8], node: u32) -> Vec<u32> {
    let view = codec
        .view(codec.map().page_of(NodeId(node)), payload)
        .unwrap();
    let (list, _) = read(&view, NodeId(node));
    list.into_iter().map(|neighbor| neighbor.0).collect()
}

#[test]
fn sift_pages_hold_the_vectors_of_the_equation() {
    let vectors = |memory_nodes| {
        let codec = PageNodeCodec::new(&spec(RENUMBERED, 24, memory_nodes), 1000).unwrap();
        assert_eq!(codec.map().geometry.span(), 1);
        codec.map().nodes_per_page
    };
    // 132 bytes and 24 ids of 4; all, half or none of the codes of 32 bytes beside them.
    assert_eq!(vectors(1000), 4084 / 228);
    assert_eq!(vectors(500), 4084 / (228 + 24 * 16));
    assert_eq!(vectors(0), 4084 / (228 + 24 * 32));
    assert_eq!((vectors(1000), vectors(500), vectors(0)), (17, 6, 4));
    let disk = Variation {
        by_id: true,
        ..SIFT
    }
    .spec(Preset::PageAnnDisk);
    let codec = PageNodeCodec::new(&disk, 1000).unwrap();
    assert_eq!((codec.map().nodes_per_page, codec.codes_in_memory), (4, 0));
}

#[test]
fn bytes_are_the_documented_ones() {
    let variation = Variation {
        dimension: 1500,
        max_degree: 3,
        code_bytes: 2,
        user_ids: true,
        ..RENUMBERED
    };
    let codec = PageNodeCodec::new(&spec(variation, 3, 3), 6).unwrap();
    assert_eq!(codec.map().nodes_per_page, 2);
    let mut feed = DrawnFeed::new(&spec(variation, 3, 3), 6, 7);
    feed.user_ids[1] = 0x0807_0605_0403_0201;
    feed.lists[0] = vec![NodeId(5), NodeId(2)];
    feed.lists[1] = vec![NodeId(0), NodeId(4)];
    (feed.codes[4], feed.codes[5]) = (vec![0xc4, 0xd4], vec![0xc5, 0xd5]);
    let payload = encoded(&codec, 0, &feed);
    assert_eq!(payload[..4], [1, 0, 2, 0]);
    assert_eq!(payload[4..3004], feed.vectors[..2].concat());
    assert_eq!(payload[3004..3008], [5, 0, 0, 0]);
    assert_eq!(payload[3016..3028], [4, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(payload[3028..3040], [2, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(payload[3040..], [0xc5, 0xd5, 0xc4, 0xd4]);
}

#[test]
fn a_vector_whose_neighbours_do_not_fit_a_page_gets_several() {
    let wide = Variation {
        dimension: 3840,
        code_bytes: 120,
        ..RENUMBERED
    };
    let codec = PageNodeCodec::new(&spec(wide, 24, 0), 100).unwrap();
    // 4 + 3844 + 24 x 124 = 6,824 bytes.
    assert_eq!(
        (codec.map().geometry.span(), codec.map().nodes_per_page),
        (2, 1)
    );
    assert_eq!(codec.max_neighbors(), (8184 - 3848) / 124);
    let memory = PageNodeCodec::new(&spec(wide, 24, 100), 100).unwrap();
    assert_eq!(
        (memory.map().geometry.span(), memory.max_neighbors()),
        (1, 48)
    );
    let endless = Variation {
        dimension: 16_384,
        code_bytes: 16_384,
        max_degree: 512,
        ..RENUMBERED
    };
    assert!(PageNodeCodec::new(&spec(endless, 512, 0), 100).is_err());
}

#[test]
fn the_list_of_a_page_takes_turns_between_its_vectors() {
    let spec = spec(
        Variation {
            dimension: 600,
            ..RENUMBERED
        },
        48,
        1000,
    );
    let codec = PageNodeCodec::new(&spec, 1000).unwrap();
    assert_eq!(codec.map().nodes_per_page, 5);
    let mut feed = DrawnFeed::new(&spec, 1000, 7);
    let lists = [
        &[10, 11, 12][..],
        &[20, 0, 10, 23, 23],
        &[],
        &[11, 31, 1, 33],
        &[4, 41],
    ];
    for (stored, list) in feed.lists.iter_mut().zip(lists) {
        *stored = list.iter().copied().map(NodeId).collect();
    }
    let payload = encoded(&codec, 0, &feed);
    for node in 0..5 {
        let list = list_of(&codec, &payload, node);
        assert_eq!(list, [10, 20, 11, 31, 41, 12, 23, 33]);
    }
}

/// Two vectors to a page; the codes of nodes below 50 in memory; the lists of page 0 disjoint, and
/// full unless told otherwise.
fn crowded(first_in_memory: bool) -> (PageNodeCodec, DrawnFeed) {
    let variation = Variation {
        dimension: 1000,
        code_bytes: 100,
        ..RENUMBERED
    };
    let spec = spec(variation, 10, 50);
    let codec = PageNodeCodec::new(&spec, 200).unwrap();
    assert_eq!((codec.map().nodes_per_page, codec.neighbor_room), (2, 2076));
    let mut feed = DrawnFeed::new(&spec, 200, 7);
    let start = if first_in_memory { 2 } else { 60 };
    feed.lists[0] = (start..start + 48).map(NodeId).collect();
    feed.lists[1] = (110..158).map(NodeId).collect();
    (codec, feed)
}

#[test]
fn neighbours_that_do_not_fit_are_the_last_of_the_turns() {
    let (codec, feed) = crowded(false);
    let payload = encoded(&codec, 0, &feed);
    let turns: Vec<u32> = (0..10).flat_map(|rank| [60 + rank, 110 + rank]).collect();
    assert_eq!(list_of(&codec, &payload, 0), turns[..2076 / 104]);
}

#[test]
fn a_neighbour_without_code_fits_where_one_with_code_does_not() {
    let (codec, feed) = crowded(true);
    let payload = encoded(&codec, 0, &feed);
    let list = list_of(&codec, &payload, 0);
    // 19 turns of 4 and 104 bytes leave 24: six more without code.
    let plain: Vec<u32> = (2..27).collect();
    assert_eq!(list[..plain.len()], plain);
    assert_eq!(list[plain.len()..], (110..129).collect::<Vec<u32>>());
    let view = codec.view(PageId(0), &payload).unwrap();
    let (_, codes) = read(&view, NodeId(1));
    let coded: Vec<NodeId> = (110..129).map(NodeId).collect();
    assert_eq!(codes, feed.codes_of(&coded));
}

#[test]
fn damaged_counts_and_other_nodes_are_refused() {
    let (codec, feed) = crowded(false);
    let mut payload = encoded(&codec, 0, &feed);
    let view = codec.view(PageId(0), &payload).unwrap();
    let missing = |node| PageError::MissingNode { page: 0, node };
    assert_eq!(view.record(NodeId(2)).unwrap_err(), missing(2));
    assert_eq!(
        view.vector(NodeId(u32::MAX), &mut Vec::new()),
        Err(missing(u32::MAX))
    );
    assert!(matches!(
        codec.view(PageId(0), &payload[..payload.len() - 1]),
        Err(PageError::Short { .. })
    ));
    assert!(matches!(
        codec.view(PageId(0), &[]),
        Err(PageError::Short { .. })
    ));
    payload[1] = 1;
    let error = codec.view(PageId(0), &payload).unwrap_err();
    let max_degree = codec.max_neighbors;
    assert_eq!(
        error,
        PageError::Degree {
            node: 0,
            degree: 256 + 19,
            max_degree
        }
    );
}

#[test]
fn a_list_that_is_too_long_is_not_written() {
    let (codec, mut feed) = crowded(false);
    feed.lists[1] = vec![NodeId(0); 49];
    let error = codec.encode(PageId(0), &feed, &mut Vec::new()).unwrap_err();
    assert!(error.context().contains("node 1 claims 49"));
}

/// What a page of `nodes` keeps, found step by step: those without code, those with.
fn kept(codec: &PageNodeCodec, nodes: Range<u32>, feed: &DrawnFeed) -> [Vec<NodeId>; 2] {
    let map = codec.map();
    let vectors = map.nodes_per_page as usize * codec.vectors.bytes();
    let mut room = map.geometry.payload_bytes() - 4 - vectors;
    let mut kept = [vec![], vec![]];
    let mut seen = HashSet::new();
    for rank in 0..codec.max_degree as usize {
        for node in nodes.clone() {
            let Some(&neighbor) = feed.lists[node as usize].get(rank) else {
                continue;
            };
            let coded = neighbor.0 >= codec.codes_in_memory;
            let cost = 4 + usize::from(coded) * codec.code_bytes;
            if !nodes.contains(&neighbor.0) && seen.insert(neighbor) && cost <= room {
                room -= cost;
                kept[usize::from(coded)].push(neighbor);
            }
        }
    }
    kept
}

fn check_page(codec: &PageNodeCodec, page: u32, feed: &DrawnFeed) {
    let payload = encoded(codec, page, feed);
    assert!(payload.len() <= codec.map().geometry.payload_bytes());
    let view = codec.view(PageId(page), &payload).unwrap();
    let nodes = codec.map().nodes_of(PageId(page));
    let [plain, coded] = kept(codec, nodes.clone(), feed);
    assert!(plain.len() + coded.len() <= codec.max_neighbors());
    let list: Vec<NodeId> = plain.iter().chain(&coded).copied().collect();
    for node in nodes.map(NodeId) {
        let record = view.record(node).unwrap();
        assert_eq!((record.node, record.vector), (node, Some(feed.part(node))));
        assert_eq!(read(&view, node), (list.clone(), feed.codes_of(&coded)));
        assert_eq!(view.vector(node, &mut Vec::new()), Ok(feed.part(node)));
    }
    assert_eq!(view.replica_count(), 0);
}

/// Every part of a page that a search may ask for.
fn read_everything(codec: &PageNodeCodec, page: u32, payload: &[u8]) {
    let Ok(view) = codec.view(PageId(page), payload) else {
        return;
    };
    for node in 0..=codec.map().node_count {
        if let Ok(record) = view.record(NodeId(node)) {
            let mut list = UnpackedList::new();
            if let Ok((neighbors, bytes)) = record.list.unpack(&mut list) {
                assert!(neighbors.len() <= codec.max_neighbors());
                assert!(bytes <= payload.len());
            }
        }
    }
}

fn variations() -> impl Strategy<Value = Variation> {
    let bytes = prop_oneof![Just(4096u32), Just(8192)];
    let sizes = (
        prop_oneof![1u32..200, 1u32..6000],
        1u32..60,
        1u32..150,
        bytes,
    );
    (sizes, any::<bool>(), any::<bool>()).prop_map(|(sizes, user_ids, by_id)| Variation {
        dimension: sizes.0,
        max_degree: sizes.1,
        code_bytes: sizes.2,
        page_bytes: sizes.3,
        user_ids,
        by_id,
    })
}

proptest! {
    #[test]
    fn every_page_decodes_to_what_was_encoded(
        variation in variations(),
        share in 0.0..1.0,
        nodes in 1u32..150,
        memory in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        seed: u64,
    ) {
        let min_degree = 1 + (f64::from(variation.max_degree - 1) * share) as u32;
        let spec = spec(variation, min_degree, (f64::from(nodes) * memory) as u32);
        let codec = PageNodeCodec::new(&spec, nodes).unwrap();
        let feed = DrawnFeed::new(&spec, nodes, seed);
        let map = codec.map();
        prop_assert_eq!((map.list_pages(), map.vectors_per_page), (map.page_count(), 0));
        for page in 0..map.page_count() {
            check_page(&codec, page, &feed);
        }
    }

    #[test]
    fn damaged_pages_never_panic_and_lists_stay_bounded(
        dimension in 1u32..400,
        memory_nodes in 0u32..60,
        user_ids: bool,
        seed: u64,
        flip in 1u8..,
    ) {
        let variation = Variation { dimension, user_ids, code_bytes: 20, ..RENUMBERED };
        let spec = spec(variation, 12, memory_nodes);
        let codec = PageNodeCodec::new(&spec, 60).unwrap();
        let feed = DrawnFeed::new(&spec, 60, seed);
        let page = seed as u32 % codec.map().page_count();
        let mut payload = encoded(&codec, page, &feed);
        for at in 0..payload.len() {
            payload[at] ^= flip;
            read_everything(&codec, page, &payload);
            payload[at] ^= flip;
            read_everything(&codec, page, &payload[..at]);
        }
    }
}
