//! OR(G), the share of a page's other nodes that a node of it names: what placements are for.

use pageway::spec::PlacementSpec;
use pageway::{ElementType, Metric, Overrides, Preset, describe};

use crate::axes::small;
use crate::common::long;
use crate::embeddings::{DataSet, Extent};
use crate::subject::Subject;

/// OR(G) of an index of `data` whose nodes are placed so.
fn overlap(data: &DataSet, placement: PlacementSpec, metric: Metric) -> f64 {
    let root = tempfile::tempdir().unwrap();
    let subject = Subject {
        name: placement.name().to_owned(),
        dir: root.path().join("index"),
        data,
        has_user_ids: false,
        options: small(data.base.shape.dimension)
            .with_metric(metric)
            .with_preset(Preset::Starling)
            .with_overrides(Overrides {
                placement: Some(placement),
                ..Overrides::default()
            }),
    };
    subject.build().unwrap();
    describe(&subject.dir).unwrap().overlap.unwrap()
}

#[test]
fn frequency_overlaps_more_than_padding_and_padding_more_than_no_order() {
    let extent = Extent {
        rows: if long() { 10_000 } else { 2000 },
        queries: 1,
        dimension: 64,
    };
    let (rounds, gain) = (8, 0.01);
    for (element, metric) in [
        (ElementType::F32, Metric::L2),
        (ElementType::U8, Metric::L2),
        (ElementType::I8, Metric::Cosine),
        (ElementType::F16, Metric::InnerProduct),
    ] {
        let data = DataSet::load(element, extent);
        let of = |placement| overlap(&data, placement, metric);
        let [by_id, bnp] = [PlacementSpec::ById, PlacementSpec::Bnp].map(of);
        let [bnf, bns] = [
            PlacementSpec::Bnf { rounds, gain },
            PlacementSpec::Bns { rounds, gain },
        ]
        .map(of);
        let [grouped, clustered] =
            [PlacementSpec::Grouped { hops: 2 }, PlacementSpec::Clustered].map(of);
        println!(
            "conformance: OR(G) {element} {metric}: by_id {by_id:.3}, bnp {bnp:.3}, bnf {bnf:.3}, \
             bns {bns:.3}, grouped {grouped:.3}, clustered {clustered:.3}"
        );
        assert!(bnf > bnp && bnp > by_id, "{element} {metric}");
        assert!(bns > bnp, "{element} {metric}");
        assert!(grouped > by_id && clustered > by_id, "{element} {metric}");
    }
}
