//! Specs that cannot be: each is refused by the name of a field, with advice that leads to one that
//! can.

use std::collections::BTreeMap;

use pageway::spec::{
    CodeStorage, CodecSpec, EntrySpec, GraphSpec, HarvestSpec, NodeCacheSpec, PageCacheSpec,
    PlacementSpec, QuantizerSpec, RefineSpec, ScheduleSpec, SpecError, VectorStorage,
};
use pageway::{IndexSpec, Preset, Sizes};

use crate::axes::{AXES, Axis, Choice, MAX_DEGREE, RULED};

/// Steps after which advice must have led somewhere.
const STEPS: usize = 5;

type Edit = fn(&mut IndexSpec);

/// What the refusal of a field and value advises: words, and what they mean.
type Advice = (&'static str, &'static str, &'static [(&'static str, Edit)]);

const QUANTIZER: QuantizerSpec = QuantizerSpec::Pq { code_bytes: 8 };
const CASCADE: RefineSpec = RefineSpec::Cascade {
    scored: 1.0,
    read: 0.5,
};
const PAGE_NODE: CodecSpec = CodecSpec::PageNode { min_degree: 8 };
const DEFERRED: RefineSpec = RefineSpec::Deferred { share: 0.5 };

const ADVICE: &[Advice] = &[
    (
        "codes",
        "in_page",
        &[
            ("codec inline_codes", |spec| {
                spec.layout.codec = CodecSpec::InlineCodes;
            }),
            ("page_node", |spec| spec.layout.codec = PAGE_NODE),
            ("codes memory", |spec| {
                spec.storage.codes = CodeStorage::Memory;
            }),
        ],
    ),
    (
        "codes",
        "split",
        &[
            ("choose it", |spec| spec.layout.codec = PAGE_NODE),
            ("codes memory", |spec| {
                spec.storage.codes = CodeStorage::Memory;
            }),
            ("in_page", |spec| spec.storage.codes = CodeStorage::InPage),
        ],
    ),
    (
        "vectors",
        "separate",
        &[
            ("choose it", |spec| spec.layout.codec = CodecSpec::Split),
            ("vectors in_record", |spec| {
                spec.storage.vectors = VectorStorage::InRecord;
            }),
        ],
    ),
    (
        "second_quantizer",
        "pq",
        &[
            ("choose it", |spec| spec.execution.refine = CASCADE),
            ("no second quantizer", |spec| {
                spec.storage.second_quantizer = None;
            }),
        ],
    ),
    (
        "refine",
        "cascade",
        &[
            ("give one", |spec| {
                spec.storage.second_quantizer = Some(QUANTIZER);
            }),
            ("refine deferred", |spec| spec.execution.refine = DEFERRED),
        ],
    ),
    (
        "codec",
        "inline_codes",
        &[
            ("codes in_page", |spec| {
                spec.storage.codes = CodeStorage::InPage;
            }),
            ("codec packed", |spec| {
                spec.layout.codec = CodecSpec::Packed;
            }),
        ],
    ),
    (
        "codec",
        "split",
        &[
            ("vectors separate", |spec| {
                spec.storage.vectors = VectorStorage::Separate;
            }),
            ("codec packed", |spec| {
                spec.layout.codec = CodecSpec::Packed;
            }),
        ],
    ),
    (
        "cache nodes",
        "lists",
        &[
            ("refine deferred", |spec| spec.execution.refine = DEFERRED),
            ("cache nodes records", |spec| {
                spec.cache.nodes = NodeCacheSpec::Records;
            }),
        ],
    ),
    (
        "cache nodes",
        "records or lists",
        &[("cache pages hot, and cache nodes none", |spec| {
            (spec.cache.pages, spec.cache.nodes) = (PageCacheSpec::Hot, NodeCacheSpec::None);
        })],
    ),
    (
        "cache nodes",
        "records",
        &[("cache nodes lists", |spec| {
            spec.cache.nodes = NodeCacheSpec::Lists;
        })],
    ),
    (
        "refine",
        "inline",
        &[("refine deferred", |spec| spec.execution.refine = DEFERRED)],
    ),
    (
        "harvest",
        "near or all",
        &[("harvest held", |spec| {
            spec.execution.harvest = HarvestSpec::Held;
        })],
    ),
    (
        "harvest",
        "not all",
        &[("harvest all", |spec| {
            spec.execution.harvest = HarvestSpec::All;
        })],
    ),
    (
        "schedule",
        "overlapped",
        &[
            ("harvest near", |spec| {
                spec.execution.harvest = HarvestSpec::Near { share: 0.3 };
            }),
            ("or all", |spec| spec.execution.harvest = HarvestSpec::All),
            ("schedule lockstep", |spec| {
                spec.execution.schedule = ScheduleSpec::Lockstep { beam: 4 };
            }),
        ],
    ),
    (
        "entry",
        "upper_layers",
        &[
            ("entry navigation", |spec| {
                spec.execution.entry = EntrySpec::Navigation {
                    one_in: 20,
                    max_degree: 8,
                    list_size: 8,
                };
            }),
            ("graph hnsw", |spec| {
                spec.graph = GraphSpec::Hnsw {
                    max_degree: MAX_DEGREE,
                    build_list: 40,
                };
            }),
        ],
    ),
];

/// What the refusal of any share advises where nodes and pages share a cache.
const SHARED: &[(&str, Edit)] = &[("such as 0.8", |spec| spec.cache.page_share = 0.8)];

fn advice(error: &SpecError) -> &'static [(&'static str, Edit)] {
    if error.field == "page_share" {
        return SHARED;
    }
    let found = ADVICE
        .iter()
        .find(|(field, value, _)| (*field, *value) == (error.field, error.value.as_str()));
    let (_, _, edits) = found.unwrap_or_else(|| panic!("no advice is known for: {error}"));
    for (words, _) in *edits {
        assert!(error.to_string().contains(words), "{error}: no '{words}'");
    }
    edits
}

fn edited(spec: &IndexSpec, edit: Edit) -> IndexSpec {
    let mut spec = spec.clone();
    edit(&mut spec);
    spec
}

/// Fewest steps of advice to a legal spec.
fn steps_to_legal(spec: &IndexSpec, most: usize) -> Option<usize> {
    let Err(error) = spec.validate() else {
        return Some(0);
    };
    if most == 0 {
        return None;
    }
    let edits = advice(&error).iter();
    edits
        .filter_map(|(_, edit)| steps_to_legal(&edited(spec, *edit), most - 1))
        .min()
        .map(|steps| steps + 1)
}

/// All choices on the axes that rules speak of.
fn all_cores() -> impl Iterator<Item = Choice> {
    let sizes: Vec<usize> = AXES[..RULED]
        .iter()
        .map(|(_, values)| values.len())
        .collect();
    let count: usize = sizes.iter().product();
    (0..count).map(move |mut number| {
        let mut core = Choice::default();
        for (axis, size) in sizes.iter().enumerate() {
            core = core.with(axis, number % size);
            number /= size;
        }
        core
    })
}

#[test]
fn advice_leads_from_every_illegal_choice_to_a_legal_one() {
    let (mut refused, mut rules) = (0, BTreeMap::new());
    // A spec in twenty-three: all kinds of them, and a second rather than half a minute.
    for core in all_cores().step_by(23) {
        let spec = core.spec(96);
        let Err(error) = spec.validate() else {
            continue;
        };
        refused += 1;
        *rules.entry((error.field, error.value.clone())).or_insert(0) += 1;
        for (words, edit) in advice(&error) {
            let steps = steps_to_legal(&edited(&spec, *edit), STEPS);
            assert!(
                steps.is_some(),
                "{error}: '{words}' leads nowhere: {}",
                core.text()
            );
        }
    }
    assert_eq!(rules.len(), ADVICE.len(), "{rules:?}");
    println!(
        "conformance: {refused} choices refused by {} rules",
        rules.len()
    );
}

/// One wrong choice in a design that is legal: some advice repairs it in two steps at most.
#[test]
fn one_wrong_choice_in_a_preset_is_repaired_in_two_steps() {
    let shape = Choice::default().spec(96).shape;
    for preset in Preset::ALL {
        let sizes = Sizes {
            max_degree: MAX_DEGREE,
            ..Sizes::default()
        };
        let legal = preset.spec(shape, &sizes);
        for axis in 0..RULED {
            for value in 0..AXES[axis].1.len() {
                let wrong = with_axis(&legal, &Choice::default().with(axis, value), AXES[axis].0);
                let steps = steps_to_legal(&wrong, STEPS);
                let most = if wrong.validate().is_ok() { 0 } else { 2 };
                let what = format!("{preset} with {:?} {}", AXES[axis].0, AXES[axis].1[value]);
                assert!(
                    steps.is_some_and(|steps| steps <= most),
                    "{what}: {steps:?}"
                );
            }
        }
    }
}

/// `spec` with one axis of `choice`.
fn with_axis(spec: &IndexSpec, choice: &Choice, axis: Axis) -> IndexSpec {
    let (mut spec, other) = (spec.clone(), choice.spec(96));
    match axis {
        Axis::Graph => spec.graph = other.graph,
        Axis::Vectors => spec.storage.vectors = other.storage.vectors,
        Axis::Codes => spec.storage.codes = other.storage.codes,
        Axis::Second => spec.storage.second_quantizer = other.storage.second_quantizer,
        Axis::Codec => spec.layout.codec = other.layout.codec,
        Axis::CacheNodes => spec.cache.nodes = other.cache.nodes,
        Axis::Schedule => spec.execution.schedule = other.execution.schedule,
        Axis::Harvest => spec.execution.harvest = other.execution.harvest,
        Axis::Refine => spec.execution.refine = other.execution.refine,
        Axis::Entry => spec.execution.entry = other.execution.entry,
        Axis::Ids
        | Axis::PageBytes
        | Axis::Placement
        | Axis::CachePages
        | Axis::Selection
        | Axis::Beam
        | Axis::Element
        | Axis::Metric => unreachable!("no rule speaks of it"),
    }
    spec
}

/// A field, and a spec whose value of it is `low` or `high` by one step.
type Range = (&'static str, fn(&mut IndexSpec, f64), f64, f64);

const RANGES: &[Range] = &[
    (
        "dimension",
        |s, v| {
            s.shape.dimension = v as u32;
            s.storage.quantizer = pq(1.0);
        },
        1.0,
        16_384.0,
    ),
    ("code_bytes", |s, v| s.storage.quantizer = pq(v), 1.0, 96.0),
    (
        "second_code_bytes",
        |s, v| {
            s.storage.second_quantizer = Some(pq(v));
            s.execution.refine = CASCADE;
        },
        1.0,
        96.0,
    ),
    (
        "page_bytes",
        |s, v| s.layout.page_bytes = v as u32,
        4096.0,
        65_536.0,
    ),
    (
        "max_degree",
        |s, v| s.graph = vamana(v, 40.0, 1.2),
        1.0,
        512.0,
    ),
    ("max_degree", |s, v| s.graph = hnsw(v), 4.0, 512.0),
    (
        "build_list",
        |s, v| s.graph = vamana(16.0, v, 1.2),
        1.0,
        2048.0,
    ),
    ("alpha", |s, v| s.graph = vamana(16.0, 40.0, v), 1.0, 4.0),
    ("knn", |s, v| s.graph = nsg(v), 1.0, 2048.0),
    (
        "rounds",
        |s, v| s.layout.placement = bnf(v, 0.0),
        1.0,
        1000.0,
    ),
    ("gain", |s, v| s.layout.placement = bnf(4.0, v), 0.0, 1.0),
    (
        "hops",
        |s, v| s.layout.placement = PlacementSpec::Grouped { hops: v as u32 },
        1.0,
        8.0,
    ),
    ("page_share", |s, v| s.cache.page_share = v as f32, 0.0, 1.0),
    (
        "entry count",
        |s, v| s.execution.entry = EntrySpec::Fixed { count: v as u32 },
        1.0,
        1000.0,
    ),
    (
        "entry list",
        |s, v| s.execution.entry = navigation(20.0, 8.0, v),
        1.0,
        1000.0,
    ),
    (
        "navigation degree",
        |s, v| s.execution.entry = navigation(20.0, v, 8.0),
        1.0,
        512.0,
    ),
    ("radius", |s, v| s.execution.entry = hash(v, 50.0), 0.0, 2.0),
    (
        "entry limit",
        |s, v| s.execution.entry = hash(2.0, v),
        1.0,
        1000.0,
    ),
    (
        "beam",
        |s, v| s.execution.schedule = ScheduleSpec::Lockstep { beam: v as u32 },
        1.0,
        64.0,
    ),
    (
        "harvest share",
        |s, v| s.execution.harvest = HarvestSpec::Near { share: v as f32 },
        0.0,
        1.0,
    ),
    (
        "refine share",
        |s, v| s.execution.refine = RefineSpec::Deferred { share: v as f32 },
        0.0,
        1.0,
    ),
];

fn pq(bytes: f64) -> QuantizerSpec {
    QuantizerSpec::Pq {
        code_bytes: bytes as u32,
    }
}

fn vamana(max_degree: f64, build_list: f64, alpha: f64) -> GraphSpec {
    GraphSpec::Vamana {
        max_degree: max_degree as u32,
        build_list: build_list as u32,
        alpha: alpha as f32,
    }
}

fn nsg(knn: f64) -> GraphSpec {
    GraphSpec::Nsg {
        max_degree: MAX_DEGREE,
        build_list: 40,
        knn: knn as u32,
    }
}

fn hnsw(max_degree: f64) -> GraphSpec {
    GraphSpec::Hnsw {
        max_degree: max_degree as u32,
        build_list: 40,
    }
}

fn bnf(rounds: f64, gain: f64) -> PlacementSpec {
    PlacementSpec::Bnf {
        rounds: rounds as u32,
        gain: gain as f32,
    }
}

fn navigation(one_in: f64, max_degree: f64, list_size: f64) -> EntrySpec {
    EntrySpec::Navigation {
        one_in: one_in as u32,
        max_degree: max_degree as u32,
        list_size: list_size as u32,
    }
}

fn hash(radius: f64, limit: f64) -> EntrySpec {
    EntrySpec::Hash {
        one_in: 10,
        radius: radius as u32,
        limit: limit as u32,
    }
}

#[test]
fn a_number_out_of_range_is_refused_with_the_nearest_that_is_not() {
    let legal = Choice::default().spec(96);
    assert_eq!(legal.validate(), Ok(()));
    for (field, edit, low, high) in RANGES {
        let with = |value: f64| {
            let mut spec = legal.clone();
            edit(&mut spec, value);
            spec.validate()
        };
        for value in [*low, *high] {
            assert_eq!(with(value), Ok(()), "{field} = {value}");
        }
        // Unsigned numbers have nothing below 0; shares have.
        let below = (*low - 0.5).max(if *high <= 4.0 { -1.0 } else { 0.0 });
        for (value, nearest) in [(below, low), (high + 1.0, high), (high * 1e3, high)] {
            let Err(error) = with(value) else {
                assert!(value as u32 == *low as u32, "{field} = {value} is accepted");
                continue;
            };
            assert_eq!(error.field, *field, "{error}");
            if *field != "page_bytes" {
                let words = format!("nearest legal value is {nearest}");
                assert!(error.to_string().contains(&words), "{error}");
            }
            assert_eq!(with(*nearest), Ok(()), "{error}");
        }
    }
}

#[test]
fn what_is_no_number_is_refused() {
    let legal = Choice::default().spec(96);
    for (field, edit, _, high) in RANGES.iter().filter(|(_, _, _, high)| *high <= 4.0) {
        let mut spec = legal.clone();
        edit(&mut spec, f64::NAN);
        // As a whole number it is 0.
        let whole = *high == 2.0;
        let refused = spec.validate().err().map(|error| error.field);
        assert!(whole || refused == Some(field), "{field}: {refused:?}");
    }
}

#[test]
fn a_page_size_that_is_no_power_of_two_is_refused_with_one_that_is() {
    for bytes in [4097, 5000, 12_288, 40_000] {
        let mut spec = Choice::default().spec(96);
        spec.layout.page_bytes = bytes;
        let error = spec.validate().unwrap_err();
        assert_eq!(error.field, "page_bytes");
        let (_, advised) = error.rule.split_once("try ").unwrap();
        spec.layout.page_bytes = advised.parse().unwrap();
        assert_eq!(spec.validate(), Ok(()));
    }
}
