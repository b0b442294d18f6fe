//! Numbers out of range: refused by the name of the field, with the nearest that is legal.

use pageway::IndexSpec;
use pageway::spec::{
    EntrySpec, GraphSpec, HarvestSpec, PlacementSpec, QuantizerSpec, RefineSpec, ScheduleSpec,
    StopSpec,
};

use crate::axes::{Choice, MAX_DEGREE};

const CASCADE: RefineSpec = RefineSpec::Cascade {
    scored: 1.0,
    read: 0.5,
};

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
    ("knn", |s, v| s.graph = pipnn(8.0, 512.0, v), 1.0, 64.0),
    ("leaf", |s, v| s.graph = pipnn(8.0, v, 5.0), 16.0, 8192.0),
    ("fanout", |s, v| s.graph = pipnn(v, 512.0, 5.0), 1.0, 64.0),
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
    ("slack", |s, v| s.execution.slack = v as f32, 0.0, 1.0),
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
    (
        "stop growth",
        |s, v| s.execution.stop = StopSpec::Horizon { growth: v as f32 },
        1.0,
        1000.0,
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

fn pipnn(fanout: f64, leaf: f64, knn: f64) -> GraphSpec {
    GraphSpec::PiPnn {
        max_degree: MAX_DEGREE,
        build_list: 40,
        alpha: 1.2,
        fanout: fanout as u32,
        leaf: leaf as u32,
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
