//! Graphs built in shards, under a small build memory, on the designs that can be: those that keep
//! the order of the data.

use pageway::spec::{
    CodeStorage, CodecSpec, EntrySpec, NodeCacheSpec, PageCacheSpec, PlacementSpec, VectorStorage,
};
use pageway::{
    ElementType, Index, MemoryWish, Metric, NoProgress, OpenOptions, Overrides, Preset, verify,
};

use crate::axes::small;
use crate::common::smallest_that_works;
use crate::embeddings::{DataSet, Extent};
use crate::found::check_answers;
use crate::subject::{Subject, search};

const EXTENT: Extent = Extent {
    rows: 10_000,
    queries: 20,
    dimension: 24,
};

fn designs() -> Vec<(&'static str, Preset, Overrides)> {
    let by_id = Overrides {
        placement: Some(PlacementSpec::ById),
        ..Overrides::default()
    };
    let hash = EntrySpec::Hash {
        one_in: 20,
        radius: 2,
        limit: 100,
    };
    let mut hashed = Overrides {
        entry: Some(hash),
        ..by_id
    };
    hashed.cache.pages = Some(PageCacheSpec::Hot);
    hashed.cache.page_share = Some(0.5);
    hashed.cache.nodes = Some(NodeCacheSpec::Records);
    vec![
        ("dgai", Preset::Dgai, by_id),
        ("hashed", Preset::DiskAnn, hashed),
        ("starling", Preset::Starling, by_id),
    ]
}

#[test]
fn a_graph_in_shards_conforms() {
    let data = DataSet::load(ElementType::U8, EXTENT);
    for (name, preset, overrides) in designs() {
        let root = tempfile::tempdir().unwrap();
        let subject = |build_memory| Subject {
            name: name.to_owned(),
            dir: root.path().join("index"),
            data: &data,
            has_user_ids: true,
            options: small(EXTENT.dimension)
                .with_preset(preset)
                .with_metric(Metric::L2)
                .with_degree(32)
                .with_code_bytes(16)
                .with_build_memory(MemoryWish::Bytes(build_memory))
                .with_overrides(overrides),
        };
        let least = smallest_that_works(&subject(1).build().unwrap_err());
        let subject = subject(least);
        let report = subject.build().unwrap();
        assert!(report.shards > 1, "{name}: built whole");
        assert!(verify(&subject.dir, &NoProgress).unwrap().is_sound());
        let index = Index::open(&subject.dir, &OpenOptions::default()).unwrap();
        let answers = search(&index, &data.queries, 0).unwrap();
        let recall = check_answers(&subject, &index, &answers);
        println!("conformance: {name}, {} shards: {recall:.3}", report.shards);
        assert!(recall >= 0.9, "{name}: {recall}");
    }
}

/// What cannot is refused, with memory that is enough to build it whole.
#[test]
fn what_cannot_be_built_in_shards_is_refused_with_memory_that_is_enough() {
    let data = DataSet::load(ElementType::U8, EXTENT);
    let inline = Overrides {
        codec: Some(CodecSpec::InlineCodes),
        codes: Some(CodeStorage::InPage),
        vectors: Some(VectorStorage::InRecord),
        placement: Some(PlacementSpec::Bnp),
        ..Overrides::default()
    };
    let root = tempfile::tempdir().unwrap();
    let subject = |build_memory| Subject {
        name: "placed by edges".to_owned(),
        dir: root.path().join("index"),
        data: &data,
        has_user_ids: false,
        options: small(EXTENT.dimension)
            .with_build_memory(MemoryWish::Bytes(build_memory))
            .with_overrides(inline),
    };
    let least = smallest_that_works(&subject(1).build().unwrap_err());
    let report = subject(least).build().unwrap();
    assert_eq!(report.shards, 1);
}
