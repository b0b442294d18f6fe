//! Pages of records: sizes, round trips, damage.

pub(in crate::layout) mod feed;
mod packed;

use pageway_types::{ElementType, NodeId, PageId};
use proptest::prelude::*;

use self::feed::{DrawnFeed, SIFT, Variation};
use super::RecordCodec;
use crate::layout::{PageCodec, PageError, PageView, Record, UnpackedList};
use crate::presets::Preset;
use crate::spec::{CodecSpec, IndexSpec};

/// One preset per codec of records.
const PRESETS: [Preset; 4] = [
    Preset::DiskAnn,
    Preset::AiSaq,
    Preset::Gorgeous,
    Preset::Dgai,
];

fn replicated(variation: Variation, lists: u32) -> IndexSpec {
    let mut spec = variation.spec(Preset::Gorgeous);
    spec.layout.codec = CodecSpec::Replicated { lists };
    spec
}

fn codec(spec: &IndexSpec) -> RecordCodec {
    RecordCodec::new(spec, 100).unwrap()
}

fn encoded(codec: &RecordCodec, page: u32, feed: &DrawnFeed) -> Vec<u8> {
    let mut payload = Vec::new();
    codec.encode(PageId(page), feed, &mut payload).unwrap();
    payload
}

/// Every part of a page that a search may ask for, as often as the page claims to have it.
fn read_everything(codec: &RecordCodec, page: u32, payload: &[u8]) {
    let Ok(view) = codec.view(PageId(page), payload) else {
        return;
    };
    let lists = (0..=codec.map().node_count).filter_map(|node| view.record(NodeId(node)).ok());
    let replicas = (0..view.replica_count()).filter_map(|at| view.replica(at).ok().flatten());
    let mut list = UnpackedList::new();
    for record in lists.chain(replicas) {
        if let Ok((neighbors, bytes)) = record.list.unpack(&mut list) {
            assert!(neighbors.len() <= codec.max_neighbors());
            assert!(bytes <= payload.len());
        }
    }
    assert!(view.replica_count() <= payload.len() / 6);
    assert!(!matches!(view.replica(view.replica_count()), Ok(Some(_))));
}

#[test]
fn sift_records_go_twelve_to_a_page_with_or_without_a_row() {
    for (by_id, user_ids, stride) in [(true, false, 324), (false, false, 328), (false, true, 336)] {
        let variation = Variation {
            user_ids,
            by_id,
            ..SIFT
        };
        let codec = codec(&variation.spec(Preset::DiskAnn));
        assert_eq!(codec.map().nodes_per_page, 12);
        assert_eq!(codec.map().page_count(), 9);
        assert_eq!(codec.list_stride, stride);
    }
    let unaligned = Variation {
        dimension: 8,
        max_degree: 24,
        ..SIFT
    };
    let codec = codec(&unaligned.spec(Preset::DiskAnn));
    assert_eq!((codec.list_stride, codec.map().nodes_per_page), (106, 38));
}

#[test]
fn sizes_of_the_other_codecs_are_those_of_their_papers() {
    let aisaq = Variation {
        max_degree: 52,
        ..SIFT
    };
    let inline = codec(&aisaq.spec(Preset::AiSaq));
    assert_eq!(inline.list.bytes(), 128 + 2 + 52 * 4 + 52 * 32);
    assert_eq!(inline.map().nodes_per_page, 2);
    let packing = codec(&replicated(SIFT, 18));
    assert_eq!(packing.list.bytes(), 322 + 2 + 18 * (6 + 48 * 4));
    assert_eq!(packing.map().nodes_per_page, 1);
    let split = codec(
        &Variation {
            by_id: false,
            ..SIFT
        }
        .spec(Preset::Dgai),
    );
    let map = split.map();
    assert_eq!((map.nodes_per_page, map.vectors_per_page), (21, 30));
    assert_eq!((map.list_pages(), map.page_count()), (5, 5 + 4));
}

/// An index of vectors of two bytes, lists of up to two neighbours and codes of one byte.
fn tiny(preset: Preset) -> (RecordCodec, DrawnFeed) {
    let variation = Variation {
        dimension: 2,
        max_degree: 2,
        code_bytes: 1,
        user_ids: true,
        by_id: false,
        ..SIFT
    };
    let mut spec = variation.spec(preset);
    if preset == Preset::Gorgeous {
        spec.layout.codec = CodecSpec::Replicated { lists: 1 };
    }
    let mut feed = DrawnFeed::new(&spec, 3, 7);
    feed.vectors[0] = vec![0xaa, 0xbb];
    feed.user_ids[0] = 0x0807_0605_0403_0201;
    feed.lists[0] = vec![NodeId(1)];
    feed.codes[1] = vec![0xcc];
    feed.lists[2] = vec![NodeId(0), NodeId(1)];
    feed.replicas[0] = vec![NodeId(2)];
    (RecordCodec::new(&spec, 3).unwrap(), feed)
}

#[test]
fn bytes_are_the_documented_ones() {
    let first = |preset, page| {
        let (codec, feed) = tiny(preset);
        encoded(&codec, page, &feed)
    };
    let vector = [0xaa, 0xbb, 2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let list = [1, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let record = [&vector[..], &list].concat();
    assert_eq!(first(Preset::DiskAnn, 0)[..24], record);
    assert_eq!(first(Preset::AiSaq, 0)[..24], record);
    assert_eq!(first(Preset::AiSaq, 0)[24..26], [0xcc, 0]);
    assert_eq!(first(Preset::Gorgeous, 0)[..24], record);
    let replicas = [1, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(first(Preset::Gorgeous, 0)[24..40], replicas);
    assert_eq!(first(Preset::Dgai, 0)[..10], list);
    assert_eq!(first(Preset::Dgai, 1)[..14], vector);
}

#[test]
fn a_record_larger_than_a_page_has_pages_to_itself() {
    let large = Variation {
        dimension: 16_384,
        ..SIFT
    };
    let packed = codec(&large.spec(Preset::DiskAnn)).map();
    assert_eq!((packed.geometry.span(), packed.page_count()), (5, 100));
    let split = codec(&large.spec(Preset::Dgai)).map();
    assert_eq!((split.geometry.span(), split.vectors_per_page), (5, 1));
    assert_eq!(split.nodes_per_page, (5 * 4096 - 8) / 194);
    let endless = Variation {
        code_bytes: 16_384,
        max_degree: 512,
        ..large
    };
    assert!(RecordCodec::new(&endless.spec(Preset::AiSaq), 100).is_err());
}

#[test]
fn damaged_records_are_refused() {
    let spec = Variation {
        dimension: 4,
        max_degree: 2,
        code_bytes: 1,
        ..SIFT
    };
    let spec = spec.spec(Preset::DiskAnn);
    let codec = RecordCodec::new(&spec, 1).unwrap();
    let mut payload = encoded(&codec, 0, &DrawnFeed::new(&spec, 1, 7));
    let (page, node) = (PageId(0), NodeId(0));
    let view = codec.view(page, &payload).unwrap();
    let missing = PageError::MissingNode { page: 0, node: 1 };
    assert_eq!(view.record(NodeId(1)).unwrap_err(), missing);
    assert_eq!(
        view.vector(NodeId(1), &mut Vec::new()).unwrap_err(),
        missing
    );
    let short = PageError::Short {
        page: 0,
        found: 5,
        expected: payload.len(),
    };
    assert_eq!(codec.view(page, &payload[..5]).unwrap_err(), short);
    payload[4] = 3;
    let view = codec.view(page, &payload).unwrap();
    let degree = PageError::Degree {
        node: 0,
        degree: 3,
        max_degree: 2,
    };
    assert_eq!(view.record(node).unwrap_err(), degree);
}

#[test]
fn lists_and_vectors_of_a_split_index_are_not_mistaken_for_each_other() {
    let spec = Variation {
        by_id: false,
        ..SIFT
    }
    .spec(Preset::Dgai);
    let (codec, feed) = (codec(&spec), DrawnFeed::new(&spec, 100, 7));
    let (list_page, vector_page) = (0, codec.map().list_pages());
    let payload = encoded(&codec, list_page, &feed);
    let view = codec.view(PageId(list_page), &payload).unwrap();
    assert!(view.record(NodeId(0)).unwrap().vector.is_none());
    let missing = |page| PageError::MissingNode { page, node: 0 };
    assert_eq!(
        view.vector(NodeId(0), &mut Vec::new()),
        Err(missing(list_page))
    );
    let payload = encoded(&codec, vector_page, &feed);
    let view = codec.view(PageId(vector_page), &payload).unwrap();
    assert_eq!(
        view.vector(NodeId(0), &mut Vec::new()),
        Ok(feed.part(NodeId(0)))
    );
    assert_eq!(view.record(NodeId(0)).unwrap_err(), missing(vector_page));
}

/// A spec of floats whose last components lie in others, and nodes that can be stored so.
fn folded(
    mut spec: IndexSpec,
    (element, folded): (ElementType, u32),
    (nodes, seed): (u32, u64),
) -> (IndexSpec, DrawnFeed) {
    spec.shape.element = element;
    spec.layout.folded = Some(folded);
    spec.validate().unwrap();
    let mut feed = DrawnFeed::new(&spec, nodes, seed);
    let bytes = element.bits() / 8;
    for vector in &mut feed.vectors {
        let last = vector.iter_mut().skip(bytes - 1).step_by(bytes);
        last.for_each(|last| *last &= 0xBF);
    }
    (spec, feed)
}

#[test]
fn vectors_of_as_many_bytes_as_a_page_fit_it_when_they_are_folded() {
    for (element, dimension) in [(ElementType::F32, 1024), (ElementType::F16, 2048)] {
        let variation = Variation { dimension, ..SIFT };
        let plain = folded(variation.spec(Preset::Dgai), (element, 0), (20, 3));
        assert_eq!(codec(&plain.0).map().geometry.span(), 2);
        // The header of the page takes 8 bytes.
        let components = 8 / (element.bits() as u32 / 8);
        let wish = (element, components);
        let (spec, feed) = folded(variation.spec(Preset::Dgai), wish, (20, 3));
        let codec = RecordCodec::new(&spec, 20).unwrap();
        assert_eq!(codec.map().geometry.span(), 1);
        for node in (0..20).map(NodeId) {
            let page = codec.map().vector_page_of(node);
            let payload = encoded(&codec, page.0, &feed);
            let mut room = Vec::new();
            let vector = codec.view(page, &payload).unwrap().vector(node, &mut room);
            assert_eq!(vector, Ok(feed.part(node)));
        }
    }
}

#[test]
fn a_list_that_is_too_long_or_a_code_of_another_length_is_not_written() {
    for preset in PRESETS {
        let spec = SIFT.spec(preset);
        let mut feed = DrawnFeed::new(&spec, 100, 7);
        feed.lists[3] = vec![NodeId(0); 49];
        let error = codec(&spec).encode(
            PageId(3 / codec(&spec).map().nodes_per_page),
            &feed,
            &mut Vec::new(),
        );
        assert!(error.unwrap_err().context().contains("49 neighbours"));
    }
    let spec = SIFT.spec(Preset::AiSaq);
    let other = Variation {
        code_bytes: 31,
        ..SIFT
    }
    .spec(Preset::AiSaq);
    let mut feed = DrawnFeed::new(&other, 100, 7);
    feed.lists[0] = vec![NodeId(1)];
    let error = codec(&spec).encode(PageId(0), &feed, &mut Vec::new());
    assert!(error.unwrap_err().context().contains("31 bytes"));
}

/// A page with room for two full lists, whose node has replicas with lists of the given lengths.
fn page_of_replicas(lengths: &[usize]) -> (RecordCodec, Vec<u8>) {
    let variation = Variation {
        max_degree: 10,
        ..SIFT
    };
    let spec = replicated(variation, 2);
    let codec = codec(&spec);
    let mut feed = DrawnFeed::new(&spec, 100, 7);
    feed.replicas = vec![vec![]; 100];
    feed.replicas[0] = (1..).take(lengths.len()).map(NodeId).collect();
    for (list, &length) in feed.lists[1..].iter_mut().zip(lengths) {
        *list = vec![NodeId(9); length];
    }
    let payload = encoded(&codec, 0, &feed);
    (codec, payload)
}

#[test]
fn short_lists_leave_room_for_more_replicas_and_long_ones_make_way() {
    let replicas = |lengths: &[usize]| -> Vec<(u32, usize)> {
        let (codec, payload) = page_of_replicas(lengths);
        let view = codec.view(PageId(0), &payload).unwrap();
        let records = (0..).map_while(|at| view.replica(at).unwrap());
        records
            .map(|record| (record.node.0, unpacked(&record).len()))
            .collect()
    };
    assert_eq!(replicas(&[10, 10, 10]), [(1, 10), (2, 10)]);
    assert_eq!(replicas(&[3, 4, 5, 2]), [(1, 3), (2, 4), (3, 5), (4, 2)]);
    assert_eq!(replicas(&[10, 0, 9, 8]), [(1, 10), (2, 0), (4, 8)]);
}

#[test]
fn replicas_beyond_the_area_or_the_index_are_refused() {
    let (codec, payload) = page_of_replicas(&[10, 10]);
    let at = codec.list.replicas_at();
    let first = |change: &[(usize, u8)]| {
        let mut payload = payload.clone();
        for &(offset, byte) in change {
            payload[at + offset] = byte;
        }
        let view = codec.view(PageId(0), &payload).unwrap();
        view.replica(0).map(|_| ())
    };
    assert_eq!(first(&[]), Ok(()));
    assert!(matches!(first(&[(1, 1)]), Err(PageError::Short { .. })));
    assert!(matches!(
        first(&[(2, 100)]),
        Err(PageError::Neighbor { neighbor: 100, .. })
    ));
    assert!(matches!(
        first(&[(6, 11)]),
        Err(PageError::Degree { degree: 11, .. })
    ));
}

#[test]
fn replicas_are_found_in_any_order() {
    let spec = replicated(
        Variation {
            max_degree: 4,
            ..SIFT
        },
        3,
    );
    let (codec, feed) = (codec(&spec), DrawnFeed::new(&spec, 100, 7));
    let payload = encoded(&codec, 0, &feed);
    let view = codec.view(PageId(0), &payload).unwrap();
    let count = view.replica_count();
    let seen = |at| {
        view.replica(at)
            .unwrap()
            .map(|found| (found.node, unpacked(&found)))
    };
    let forward: Vec<_> = (0..count).map(seen).collect();
    let backward: Vec<_> = (0..count).rev().map(seen).collect();
    assert!(count > 10 && forward.iter().all(Option::is_some));
    assert!(forward.iter().eq(backward.iter().rev()));
    assert_eq!(seen(count), None);
}

fn unpacked(record: &Record<'_>) -> Vec<NodeId> {
    let mut list = UnpackedList::new();
    let (neighbors, _) = record.list.unpack(&mut list).unwrap();
    neighbors.iter().collect()
}

fn check_record(record: Record<'_>, feed: &DrawnFeed, spec: &IndexSpec) {
    let list = &feed.lists[record.node.index()];
    let mut unpacked = UnpackedList::new();
    let (neighbors, _) = record.list.unpack(&mut unpacked).unwrap();
    assert!(neighbors.iter().eq(list.iter().copied()));
    let inline = spec.layout.codec == CodecSpec::InlineCodes;
    let codes = if inline { feed.codes_of(list) } else { vec![] };
    assert_eq!(neighbors.codes, codes);
}

/// The replicas that a simple walk over the lists finds room for.
fn expected_replicas(feed: &DrawnFeed, spec: &IndexSpec, node: u32) -> Vec<NodeId> {
    let CodecSpec::Replicated { lists } = spec.layout.codec else {
        return vec![];
    };
    let mut room = (lists * (6 + 4 * spec.graph.max_degree())) as usize;
    let mut chosen = vec![];
    for &replica in &feed.replicas[node as usize] {
        let cost = 6 + 4 * feed.lists[replica.index()].len();
        if cost <= room {
            room -= cost;
            chosen.push(replica);
        }
    }
    chosen
}

fn check_list_page(codec: &RecordCodec, page: u32, feed: &DrawnFeed, spec: &IndexSpec) {
    let payload = encoded(codec, page, feed);
    assert!(payload.len() <= codec.map().geometry.payload_bytes());
    let view = codec.view(PageId(page), &payload).unwrap();
    let mut replicas = vec![];
    for node in codec.map().nodes_of(PageId(page)) {
        let record = view.record(NodeId(node)).unwrap();
        assert_eq!(record.node, NodeId(node));
        let has_vector = spec.layout.codec != CodecSpec::Split;
        assert_eq!(record.vector, has_vector.then(|| feed.part(NodeId(node))));
        check_record(record, feed, spec);
        replicas.extend(expected_replicas(feed, spec, node));
    }
    assert_eq!(view.replica_count(), replicas.len());
    for (at, replica) in replicas.into_iter().enumerate() {
        let record = view.replica(at).unwrap().unwrap();
        assert_eq!((record.node, record.vector), (replica, None));
        check_record(record, feed, spec);
    }
    assert!(view.replica(view.replica_count()).unwrap().is_none());
}

fn variations() -> impl Strategy<Value = Variation> {
    let bytes = prop_oneof![Just(4096u32), Just(8192)];
    let sizes = (
        prop_oneof![1u32..300, 1u32..6000],
        1u32..80,
        1u32..70,
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
        lists in 0u32..20,
        nodes in 1u32..60,
        seed: u64,
    ) {
        for preset in PRESETS {
            let mut spec = variation.spec(preset);
            if preset == Preset::Gorgeous {
                spec = replicated(variation, lists);
            }
            let codec = RecordCodec::new(&spec, nodes).unwrap();
            let feed = DrawnFeed::new(&spec, nodes, seed);
            let map = codec.map();
            for page in 0..map.list_pages() {
                check_list_page(&codec, page, &feed, &spec);
            }
            for node in (0..nodes).map(NodeId) {
                let page = map.vector_page_of(node);
                let payload = encoded(&codec, page.0, &feed);
                prop_assert!(payload.len() <= map.geometry.payload_bytes());
                let view = codec.view(page, &payload).unwrap();
                let mut room = Vec::new();
                prop_assert_eq!(view.vector(node, &mut room), Ok(feed.part(node)));
            }
            prop_assert!(encoded(&codec, map.page_count(), &feed).is_empty());
        }
    }

    #[test]
    fn damaged_pages_never_panic_and_lists_stay_bounded(
        dimension in 1u32..100,
        max_degree in 1u32..20,
        user_ids: bool,
        seed: u64,
        flip in 1u8..,
    ) {
        let variation = Variation { dimension, max_degree, user_ids, code_bytes: 3, ..SIFT };
        for preset in PRESETS {
            let spec = variation.spec(preset);
            let codec = RecordCodec::new(&spec, 30).unwrap();
            let feed = DrawnFeed::new(&spec, 30, seed);
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
}
