//! Graphs of clusters, which go with few other choices: every way to keep vectors with every
//! element type and metric, and every choice that is refused beside them.

use pageway::spec::{
    CacheOverrides, CodeStorage, CodecSpec, EntrySpec, GraphSpec, HarvestSpec, NodeCacheSpec,
    PlacementSpec, QuantizerSpec, RefineSpec, RotationSpec, ScheduleSpec, VectorStorage,
};
use pageway::{ElementType, IndexSpec, Metric, Overrides, Preset, Sizes};

use crate::axes::{Choice, small};
use crate::check::{Expected, check};
use crate::embeddings::DataSet;
use crate::subject::Subject;
use crate::{SHORT, range_floors, recall_floor};

/// Ways to keep vectors: what is chosen beside clusters for each.
const WAYS: [&str; 4] = ["separate", "coded", "in record", "product codes"];

fn overrides(way: usize, dimension: u32) -> Overrides {
    let rabitq = |code_bytes| QuantizerSpec::RaBitQ {
        code_bytes,
        rotation: RotationSpec::Principal,
    };
    let bounded = RefineSpec::Bounded { deviations: 3.0 };
    let deferred = RefineSpec::Deferred { share: 0.8 };
    let (vectors, codec, refine) = [
        (VectorStorage::Separate, CodecSpec::Split, bounded),
        (VectorStorage::Coded, CodecSpec::Packed, bounded),
        (VectorStorage::InRecord, CodecSpec::Packed, deferred),
        (VectorStorage::Separate, CodecSpec::Split, deferred),
    ][way];
    let fine = (way == 1).then(|| rabitq(dimension.div_ceil(2) + 8));
    let quantizer = if way == 3 {
        QuantizerSpec::Pq { code_bytes: 0 }
    } else {
        rabitq(0)
    };
    Overrides {
        graph: Some(GraphSpec::Clusters { members: 20 }),
        entry: Some(EntrySpec::Clusters),
        placement: Some(PlacementSpec::Clustered),
        vectors: Some(vectors),
        codec: Some(codec),
        refine: Some(refine),
        quantizer: Some(quantizer),
        second_quantizer: Some(fine),
        ids_in_memory: Some(way == 1),
        harvest: Some(HarvestSpec::Target),
        schedule: Some(ScheduleSpec::Lockstep { beam: 4 }),
        cache: CacheOverrides {
            nodes: Some(NodeCacheSpec::None),
            ..CacheOverrides::default()
        },
        ..Overrides::default()
    }
}

/// Clusters under every metric, over the ways to keep vectors in turn.
pub fn check_clusters(element: ElementType) {
    let (data, root) = (DataSet::load(element, SHORT), tempfile::tempdir().unwrap());
    let metrics = [Metric::L2, Metric::InnerProduct, Metric::Cosine];
    for (at, metric) in metrics.into_iter().enumerate() {
        let way = (element as usize + at) % WAYS.len();
        let subject = Subject {
            name: format!("clusters, {}, {element}, {metric}", WAYS[way]),
            dir: root.path().join(format!("{at}")).join("index"),
            data: &data,
            has_user_ids: at == 1,
            options: small(SHORT.dimension)
                .with_metric(metric)
                .with_overrides(overrides(way, SHORT.dimension)),
        };
        let expected = Expected {
            recall: recall_floor(metric),
            range: range_floors(metric),
            repeatable: true,
            cache_blind: true,
        };
        check(&subject, &expected);
    }
}

#[test]
fn what_goes_with_lists_is_refused_beside_clusters() {
    let shape = Choice::default().spec(96).shape;
    let base = Preset::DiskAnn.spec(shape, &Sizes::default());
    let legal = overrides(0, 96).apply(base);
    let legal = IndexSpec {
        storage: pageway::spec::StorageSpec {
            quantizer: legal.storage.quantizer.with_code_bytes(24),
            ..legal.storage
        },
        ..legal
    };
    assert_eq!(legal.validate(), Ok(()));
    type Wrong = (&'static str, &'static str, fn(&mut IndexSpec));
    let wrong: [Wrong; 6] = [
        ("entry", "entry clusters", |s| {
            s.execution.entry = EntrySpec::Medoid;
        }),
        ("entry", "graph clusters", |s| {
            s.graph = Choice::default().spec(96).graph;
        }),
        ("placement", "placement clustered", |s| {
            s.layout.placement = PlacementSpec::ById;
        }),
        ("harvest", "harvest all", |s| {
            s.execution.harvest = HarvestSpec::Held;
        }),
        ("cache nodes", "cache nodes none", |s| {
            s.cache.nodes = NodeCacheSpec::Lists;
        }),
        ("members", "between 1 and 65536", |s| {
            s.graph = GraphSpec::Clusters { members: 0 };
        }),
    ];
    for (field, advice, edit) in wrong {
        let mut spec = legal.clone();
        edit(&mut spec);
        let error = spec.validate().unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(error.to_string().contains(advice), "{error}");
    }
    let mut in_pages = legal;
    in_pages.storage.codes = CodeStorage::InPage;
    assert!(in_pages.validate().is_err());
}
