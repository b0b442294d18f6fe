//! Specs that cannot be: each is refused by the name of a field, with advice that leads to one that
//! can.

use std::collections::BTreeMap;

use pageway::spec::{
    CodeStorage, CodecSpec, EntrySpec, GraphSpec, HarvestSpec, NodeCacheSpec, PageCacheSpec,
    QuantizerSpec, RefineSpec, RotationSpec, ScheduleSpec, SpecError, UpdateSpec, VectorStorage,
};
use pageway::{IndexSpec, Preset, Sizes};

use crate::axes::{AXES, Axis, Choice, MAX_DEGREE, RULED};

/// Steps after which advice must have led somewhere.
const STEPS: usize = 6;

type Edit = fn(&mut IndexSpec);

/// What the refusal of a field and value advises: words, and what they mean.
type Advice = (&'static str, &'static str, &'static [(&'static str, Edit)]);

const QUANTIZER: QuantizerSpec = QuantizerSpec::Pq { code_bytes: 8 };
const RABITQ: QuantizerSpec = QuantizerSpec::RaBitQ {
    code_bytes: 24,
    rotation: RotationSpec::Principal,
};
const BOUNDED: RefineSpec = RefineSpec::Bounded { deviations: 2.0 };
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
        "vectors",
        "coded",
        &[
            (
                "codec packed, second quantizer rabitq and refine bounded",
                |spec| {
                    spec.layout.codec = CodecSpec::Packed;
                    spec.storage.second_quantizer = Some(RABITQ);
                    spec.execution.refine = BOUNDED;
                },
            ),
            ("vectors in_record", |spec| {
                spec.storage.vectors = VectorStorage::InRecord;
            }),
        ],
    ),
    (
        "refine",
        "bounded",
        &[
            (
                "quantizer rabitq, codes memory and vectors separate",
                |spec| {
                    spec.storage.quantizer = RABITQ;
                    spec.storage.codes = CodeStorage::Memory;
                    spec.storage.vectors = VectorStorage::Separate;
                },
            ),
            ("refine deferred", |spec| spec.execution.refine = DEFERRED),
        ],
    ),
    (
        "update",
        "overwrite",
        &[("or update segments", |spec| {
            spec.update = UpdateSpec::Segments;
        })],
    ),
    (
        "update",
        "patch",
        &[("or update segments", |spec| {
            spec.update = UpdateSpec::Segments;
        })],
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
        "lists of inline codes",
        &[("cache nodes records", |spec| {
            spec.cache.nodes = NodeCacheSpec::Records;
        })],
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
        "clock",
        &[
            ("schedule lockstep and harvest target", |spec| {
                spec.execution.schedule = ScheduleSpec::Lockstep { beam: 4 };
                spec.execution.harvest = HarvestSpec::Target;
            }),
            ("cache nodes records", |spec| {
                spec.cache.nodes = NodeCacheSpec::Records;
            }),
        ],
    ),
    (
        "cache nodes",
        "records or clock",
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
    // How changes reach the disk is none of the axes.
    let known = ADVICE.iter().filter(|(field, ..)| *field != "update");
    assert_eq!(rules.len(), known.count(), "{rules:?}");
    println!(
        "conformance: {refused} choices refused by {} rules",
        rules.len()
    );
}

/// One wrong choice in a design that is legal: some advice repairs it in two steps at most, and in
/// one more where pages are written over, which has rules of its own.
#[test]
fn one_wrong_choice_in_a_preset_is_repaired_in_two_steps() {
    let shape = Choice::default().spec(96).shape;
    for preset in Preset::ALL {
        let sizes = Sizes {
            max_degree: MAX_DEGREE,
            ..Sizes::default()
        };
        let legal = preset.spec(shape, &sizes);
        let repairs = 2 + usize::from(legal.update == UpdateSpec::Overwrite);
        for (axis, (name, names)) in AXES.iter().enumerate().take(RULED) {
            for (value, value_name) in names.iter().enumerate() {
                let wrong = with_axis(&legal, &Choice::default().with(axis, value), *name);
                let steps = steps_to_legal(&wrong, STEPS);
                let most = if wrong.validate().is_ok() { 0 } else { repairs };
                let what = format!("{preset} with {name:?} {value_name}");
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
        Axis::Quantizer => spec.storage.quantizer = other.storage.quantizer,
        Axis::Second => spec.storage.second_quantizer = other.storage.second_quantizer,
        Axis::Codec => spec.layout.codec = other.layout.codec,
        Axis::CacheNodes => spec.cache.nodes = other.cache.nodes,
        Axis::Schedule => spec.execution.schedule = other.execution.schedule,
        Axis::Harvest => spec.execution.harvest = other.execution.harvest,
        Axis::Refine => spec.execution.refine = other.execution.refine,
        Axis::Entry => spec.execution.entry = other.execution.entry,
        Axis::Stop
        | Axis::Slack
        | Axis::Ids
        | Axis::PageBytes
        | Axis::Placement
        | Axis::Lists
        | Axis::CachePages
        | Axis::Selection
        | Axis::Beam
        | Axis::Element
        | Axis::Metric => unreachable!("no rule speaks of it"),
    }
    spec
}
