//! What indexes can share: a graph that is laid out anew, and a codebook that a process keeps while
//! it switches from one index to another.

use std::collections::HashMap;
use std::path::Path;

use pageway::choices::typed;
use pageway::{
    BuildOptions, ElementType, ErrorKind, Index, Metric, NoProgress, OpenOptions, Overrides,
    Preset, describe, verify,
};

use crate::axes::small;
use crate::embeddings::{DataSet, Extent, Rows};
use crate::found::check_answers;
use crate::subject::{Subject, check_equal, lines, reads_as_they_come, search};

const EXTENT: Extent = Extent {
    rows: 1000,
    queries: 20,
    dimension: 64,
};

fn subject<'d>(root: &Path, name: &str, data: &'d DataSet, options: BuildOptions) -> Subject<'d> {
    Subject {
        name: name.to_owned(),
        dir: root.join(name),
        data,
        has_user_ids: false,
        options,
    }
}

fn options(preset: Preset) -> BuildOptions {
    small(EXTENT.dimension).with_preset(preset)
}

/// Rows from `first` on, with the same queries.
fn part(data: &DataSet, rows: std::ops::Range<usize>) -> DataSet {
    let row_bytes = data.base.shape.row_bytes();
    let bytes = &data.base.bytes[rows.start * row_bytes..rows.end * row_bytes];
    DataSet {
        base: Rows::of_bytes(bytes, data.base.shape),
        queries: Rows::of_bytes(&data.queries.bytes, data.queries.shape),
    }
}

/// The graph is a function of rows, options and seed: one that is taken over is the one that would
/// be built.
#[test]
fn a_graph_that_is_laid_out_anew_is_that_which_would_be_built() {
    let root = tempfile::tempdir().unwrap();
    let data = DataSet::load(ElementType::I8, EXTENT);
    let mut donors = HashMap::new();
    for preset in Preset::ALL {
        let built = subject(root.path(), preset.name(), &data, options(preset));
        built.build().unwrap();
        let graph = describe(&built.dir).unwrap().spec.graph;
        let donor = donors.entry(typed(&graph)).or_insert_with_key(|name| {
            let plain = options(Preset::DiskAnn).with_overrides(Overrides {
                graph: Some(graph),
                ..Overrides::default()
            });
            let donor = subject(root.path(), name, &data, plain);
            donor.build().unwrap();
            donor.dir
        });
        let laid = options(preset).with_graph_from(donor.clone());
        let laid = subject(root.path(), &format!("{preset}-laid"), &data, laid);
        laid.build().unwrap();
        assert!(verify(&laid.dir, &NoProgress).unwrap().is_sound());
        if reads_as_they_come(preset) {
            continue;
        }
        let told = [&built, &laid].map(|subject| {
            let index = Index::open(&subject.dir, &OpenOptions::default()).unwrap();
            lines(&search(&index, &data.queries, 1).unwrap())
        });
        check_equal(&told[0], &told[1], preset.name());
    }
}

#[test]
fn a_graph_of_other_rows_or_of_another_kind_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let data = DataSet::load(ElementType::I8, EXTENT);
    let donor = subject(root.path(), "donor", &data, options(Preset::DiskAnn));
    donor.build().unwrap();
    let placed = subject(root.path(), "placed", &data, options(Preset::Starling));
    placed.build().unwrap();
    let mut turned = part(&data, 0..EXTENT.rows);
    turned.base = Rows::of_bytes(
        &turned.base.bytes.iter().rev().copied().collect::<Vec<_>>(),
        turned.base.shape,
    );
    let fewer = part(&data, 0..900);
    let from =
        |donor: &Subject<'_>, changed: BuildOptions| changed.with_graph_from(donor.dir.clone());
    let plain = options(Preset::DiskAnn);
    let cases = [
        ("turned", &turned, from(&donor, plain.clone())),
        ("fewer", &fewer, from(&donor, plain.clone())),
        ("placed", &data, from(&placed, plain.clone())),
        (
            "metric",
            &data,
            from(&donor, plain.clone().with_metric(Metric::Cosine)),
        ),
        ("degree", &data, from(&donor, plain.with_degree(12))),
        ("algorithm", &data, from(&donor, options(Preset::Pageway))),
    ];
    for (name, data, options) in cases {
        let refused = subject(root.path(), &format!("not-{name}"), data, options);
        let error = refused.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        assert!(error.context().contains("graph"), "{name}: {error}");
        assert!(Index::open(&refused.dir, &OpenOptions::default()).is_err());
    }
}

/// Two halves with one codebook: switching answers as opening does, there and back.
#[test]
fn switching_between_indexes_of_one_codebook_answers_as_opening_does() {
    let data = DataSet::load(ElementType::F16, EXTENT);
    let halves = [part(&data, 0..500), part(&data, 500..1000)];
    for preset in Preset::ALL {
        if reads_as_they_come(preset) {
            continue;
        }
        let root = tempfile::tempdir().unwrap();
        let first = subject(root.path(), "first", &halves[0], options(preset));
        first.build().unwrap();
        let sharing = options(preset).with_codebook_from(first.dir.clone());
        let second = subject(root.path(), "second", &halves[1], sharing);
        second.build().unwrap();
        let options = OpenOptions::default();
        let opened = [&first, &second].map(|half| Index::open(&half.dir, &options).unwrap());
        let there = opened[0].switch(&second.dir, &options).unwrap();
        let back = there.switch(&first.dir, &options).unwrap();
        for (half, index, switched) in [(&first, &opened[0], &back), (&second, &opened[1], &there)]
        {
            let answers = search(index, &data.queries, 1).unwrap();
            let again = search(switched, &data.queries, 1).unwrap();
            let what = format!("{preset}, {}", half.name);
            check_equal(&lines(&answers), &lines(&again), &what);
            let recall = check_answers(half, switched, &again);
            assert!(recall >= 0.95, "{what}: {recall}");
            assert_eq!(index.memory(), switched.memory(), "{what}");
        }
    }
}
