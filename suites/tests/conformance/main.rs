//! Conformance: every preset, and a set of specs in which any two choices that can stand together
//! do, on real data of every element type and metric, against brute force.
//!
//! Each index is built through the public options and then must find its neighbours with exact
//! distances, give the same answers and read the same pages on every driver and way of reading,
//! keep every memory budget, and pass `verify`. `PAGEWAY_SUITE=long` goes over more rows of full
//! length, and over every preset with every element type and metric.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod arrangement;
mod axes;
mod budgets;
mod check;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod cover;
mod edges;
mod embeddings;
mod found;
mod late;
mod overlap;
mod ranges;
mod refusals;
mod replay;
mod sharded;
mod shared;
mod subject;

use std::path::Path;

use axes::{AXES, Axis, Choice, small};
use check::Expected;
use common::long;
use cover::{COVER, Cover, pairs};
use embeddings::{DataSet, Extent};
use found::check_recall_target;
use pageway::spec::{CodeStorage, CompletionSpec, ScheduleSpec};
use pageway::{BuildOptions, ElementType, MemoryWish, Metric, Overrides, Preset};
use replay::Replay;
use subject::{Subject, reads_as_they_come};

const SHORT: Extent = Extent {
    rows: 1000,
    queries: 20,
    dimension: 96,
};

/// Whole vectors.
const LONG: Extent = Extent {
    rows: 1500,
    queries: 40,
    dimension: 384,
};

fn extents() -> Vec<Extent> {
    if long() {
        vec![SHORT, LONG]
    } else {
        vec![SHORT]
    }
}

#[test]
fn every_legal_pair_of_choices_conforms() {
    let Cover { legal, chosen } = &*COVER;
    for pair in legal {
        let ((one, a), (two, b)) = *pair;
        let covered =
            |choice: &&Choice| (usize::from(choice.0[one]), usize::from(choice.0[two])) == (a, b);
        assert!(chosen.iter().any(|choice| covered(&choice)), "{pair:?}");
    }
    println!(
        "conformance: {} of {} pairs are legal, {} specs cover them",
        legal.len(),
        pairs().len(),
        chosen.len()
    );
    assert!((30..=80).contains(&chosen.len()));
}

/// Tests for each element type, that run beside each other.
macro_rules! conformance {
    ($($name:ident: $element:expr),+) => {
        $(mod $name {
            #[test]
            fn the_cover_conforms() {
                for extent in super::extents() {
                    super::check_cover($element, extent);
                }
            }

            #[test]
            fn clusters_conform() {
                super::clusters::check_clusters($element);
            }

            #[test]
            fn every_preset_conforms() {
                for extent in super::extents() {
                    super::check_presets($element, extent);
                }
            }
        })+

        #[test]
        fn every_element_type_has_its_tests() {
            assert_eq!([$($element),+].as_slice(), ElementType::ALL.as_slice());
        }
    };
}

conformance!(
    f32: pageway::ElementType::F32,
    f16: pageway::ElementType::F16,
    bf16: pageway::ElementType::Bf16,
    u8: pageway::ElementType::U8,
    i8: pageway::ElementType::I8,
    bit: pageway::ElementType::Bit
);

fn check_cover(element: ElementType, extent: Extent) {
    let (data, root) = (DataSet::load(element, extent), tempfile::tempdir().unwrap());
    let data = &data;
    let mut replay = Replay::new(root.path());
    let chosen = COVER.chosen.iter().enumerate();
    for (number, choice) in chosen.filter(|(_, choice)| choice.element() == element) {
        let subject = Subject {
            name: format!("{number}: {}", choice.text()),
            dir: root.path().join(format!("{number}")).join("index"),
            data,
            has_user_ids: choice.has_user_ids(),
            options: sized(choice.options(extent.dimension), data),
        };
        replay.judge(&subject, &expected(choice), || check_spec(&subject, choice));
    }
    replay.check();
}

/// With room for half of the codes, where codes are split by memory.
fn sized(options: BuildOptions, data: &DataSet) -> BuildOptions {
    let split = matches!(options.overrides.codes, Some(CodeStorage::Split { .. }));
    if !split {
        return options;
    }
    let probe = options.clone().with_memory(MemoryWish::Bytes(1));
    let refused = Subject {
        name: "probe".to_owned(),
        dir: Path::new("/nowhere/index").to_owned(),
        data,
        has_user_ids: false,
        options: probe,
    }
    .build();
    let least = common::smallest_that_works(&refused.unwrap_err());
    let half = data.base.count() as u64 * u64::from(options.code_bytes.unwrap()) / 2;
    options.with_memory(MemoryWish::Bytes(least + half))
}

fn expected(choice: &Choice) -> Expected {
    let target = choice.name(Axis::Harvest) == "target";
    let rounds = ["lockstep", "overlapped"].contains(&choice.name(Axis::Schedule));
    let nodes = choice.name(Axis::CacheNodes);
    // Without triangles a walk goes through what looks far; a horizon, which ranges do not have,
    // turns it back there. Of the graphs here only NSG leads no other way.
    let turned_back = choice.metric() == Metric::InnerProduct
        && (choice.name(Axis::Stop), choice.name(Axis::Graph)) == ("horizon", "nsg");
    Expected {
        recall: recall_floor(choice.metric()) - if turned_back { 0.1 } else { 0.0 },
        range: {
            let [short, long] = range_floors(choice.metric());
            // Numbers of bits are whole: many rows lie at the radius itself.
            let ties = choice.element() == ElementType::Bit;
            [short, if ties { long - 0.05 } else { long }]
        },
        repeatable: choice.name(Axis::Schedule) != "as_they_come",
        cache_blind: match nodes {
            _ if choice.name(Axis::Slack) == "some" => false,
            "none" | "clock" => true,
            _ => nodes == "records" && target && rounds,
        },
    }
}

/// A graph of short lists over a thousand rows; the inner product has no triangles.
fn recall_floor(metric: Metric) -> f64 {
    match metric {
        Metric::InnerProduct => 0.8,
        Metric::L2 | Metric::Cosine | Metric::L1 | Metric::Hamming | Metric::Jaccard => 0.95,
    }
}

/// From a short list, which follows nothing that is estimated to lie beyond the radius, as many
/// estimates of the inner product are; and from a long one.
fn range_floors(metric: Metric) -> [f64; 2] {
    let short = match metric {
        Metric::InnerProduct => 0.5,
        Metric::L2 | Metric::Cosine | Metric::L1 | Metric::Hamming | Metric::Jaccard => 0.75,
    };
    [short, recall_floor(metric)]
}

/// The index is what was asked for.
fn check_spec(subject: &Subject<'_>, choice: &Choice) {
    let found = pageway::describe(&subject.dir).unwrap().spec;
    let mut asked = choice.spec(subject.data.base.shape.dimension);
    if let CodeStorage::Split { memory_nodes } = found.storage.codes {
        let nodes = subject.data.base.count() as u32;
        assert!(memory_nodes > 0 && memory_nodes < nodes, "{memory_nodes}");
        asked.storage.codes = found.storage.codes;
    }
    assert_eq!(found, asked, "{}", subject.name);
}

/// Presets as they are; where answers are compared, with a pipeline that takes pages in order.
fn preset_options(preset: Preset, metric: Metric, dimension: u32) -> BuildOptions {
    let codes = (preset == Preset::PageAnn).then_some(CodeStorage::Split { memory_nodes: 0 });
    small(dimension)
        .with_preset(preset)
        .with_metric(metric)
        .with_overrides(Overrides {
            codes,
            ..Overrides::default()
        })
        .with_code_bytes(dimension / 3)
        .with_calibration_queries(60)
}

const IN_ORDER: ScheduleSpec = ScheduleSpec::Pipelined {
    least: 4,
    most: 32,
    completion: CompletionSpec::InOrder,
};

/// One metric for an element type, and three for the four of them; all where a suite may take long.
fn metrics(element: ElementType) -> Vec<Metric> {
    let metrics = [Metric::L2, Metric::InnerProduct, Metric::Cosine];
    if long() {
        return metrics.to_vec();
    }
    vec![metrics[element as usize % metrics.len()]]
}

fn check_presets(element: ElementType, extent: Extent) {
    let (data, root) = (DataSet::load(element, extent), tempfile::tempdir().unwrap());
    let mut replay = Replay::new(root.path());
    for preset in Preset::ALL {
        for metric in metrics(element) {
            for in_order in [false, true] {
                if in_order && !reads_as_they_come(preset) {
                    continue;
                }
                let name = format!("{preset} {element} {metric} {in_order}");
                let mut options = preset_options(preset, metric, extent.dimension);
                options.overrides.schedule = in_order.then_some(IN_ORDER);
                let subject = Subject {
                    dir: root.path().join(name.replace(' ', "-")).join("index"),
                    name,
                    data: &data,
                    has_user_ids: element == ElementType::U8,
                    options: sized(options, &data),
                };
                let expected = Expected {
                    recall: recall_floor(metric),
                    range: range_floors(metric),
                    repeatable: !reads_as_they_come(preset) || in_order,
                    // Lists in memory are followed before others are read.
                    cache_blind: !matches!(preset, Preset::Gorgeous | Preset::Pageway),
                };
                replay.judge(&subject, &expected, || check_recall_target(&subject));
            }
        }
    }
    replay.check();
}

#[test]
fn every_axis_is_in_its_place() {
    for (at, (axis, values)) in AXES.iter().enumerate() {
        assert_eq!(*axis as usize, at);
        for value in 0..values.len() {
            let choice = Choice::default().with(at, value);
            assert_eq!(choice.name(*axis), values[value]);
        }
    }
}
