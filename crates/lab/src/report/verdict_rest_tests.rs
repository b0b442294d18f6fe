//! Claims that ask who is first, or how a lead changes, on both sides; and that every claim of the
//! table is judged in a test.

use serde_json::json;

use super::book::Book;
use super::fixture::{build, give, search, set};
use super::verdict_tests::{at, speeds, verdict};
use super::{Verdict, own};
use crate::record::Record;

use Verdict::{Agrees, Differs, NotMeasured, Partly};

/// A claim about two designs, of which the first is `ours` and the other 100.
fn against(
    experiment: &str,
    designs: [&str; 2],
    axes: &[(&str, f64)],
    claim: &str,
) -> impl Fn(f64) -> Verdict {
    move |ours| {
        let [first, other] = designs;
        let records = speeds(experiment, &[(first, ours), (other, 100.0)], axes);
        verdict(records, claim)
    }
}

#[test]
fn the_fastest_of_a_setting_decides() {
    let long = [("dimensions", 960.0)];
    let claim = "PipeANN answers most queries per second";
    let of = against("recall", ["pipeann", "starling"], &long, claim);
    assert_eq!([99.0, 101.0].map(of), [Differs, Agrees]);
    let few = [("dimensions", 128.0)];
    let short = against("recall", ["pipeann", "starling"], &few, claim);
    assert_eq!(short(101.0), NotMeasured);
    let of = |page: f64, designs, claim| {
        let axes = [("page_size", page)];
        let of = against("page_size", designs, &axes, claim);
        [99.0, 101.0].map(of)
    };
    let small = "PageANN is the fastest with pages of 4 and 8 KiB";
    assert_eq!(
        of(8192.0, ["pageann", "starling"], small),
        [Differs, Agrees]
    );
    assert_eq!(
        of(16384.0, ["pageann", "starling"], small),
        [NotMeasured; 2]
    );
    let large = "Starling is the fastest with pages of 16 KiB";
    assert_eq!(
        of(16384.0, ["starling", "pageann"], large),
        [Differs, Agrees]
    );
    let all = [("threads", 4.0), ("interleave", 16.0)];
    let claim = "With all threads PageANN is at least twice as fast";
    let of = against("threads", ["pageann", "diskann"], &all, claim);
    assert_eq!([199.0, 201.0].map(of), [Differs, Agrees]);
}

#[test]
fn a_step_of_one_design_is_judged_on_both_sides() {
    let of = |design: &str, axis: &str, [from, to]: [f64; 2], claim: &str, times: f64| {
        let mut records = speeds(
            if axis == "page_size" { axis } else { "memory" },
            &[(design, 100.0)],
            &[(axis, from)],
        );
        let experiment = records[0].experiments[0].clone();
        records.extend(speeds(
            &experiment,
            &[(design, 100.0 * times)],
            &[(axis, to)],
        ));
        verdict(records, claim)
    };
    let pages = |times| {
        let claim = "Starling gains from 16 KiB pages";
        of("starling", "page_size", [8192.0, 16384.0], claim, times)
    };
    assert_eq!([0.9, 1.1].map(pages), [Differs, Agrees]);
    let memory = |times| {
        let claim = "With memory for 10 % of the raw vectors PageANN keeps";
        of("pageann", "memory_ratio", [0.3, 0.1], claim, times)
    };
    assert_eq!([0.79, 0.81].map(memory), [Differs, Agrees]);
}

#[test]
fn what_a_query_does_is_compared_among_codes_in_memory() {
    let of = |designs: [&str; 2], number: &str, claim: &str, first: f64| {
        let [own, rival] = designs;
        let mut records = at("execution", own, &[], &json!({number: first}));
        records.extend(at("execution", rival, &[], &json!({number: 0.5})));
        // One whose codes are on disk is no rival.
        for value in [0.0001, 5000.0] {
            records.extend(at("execution", "aisaq", &[], &json!({number: value})));
        }
        records.push(build("photos", "aisaq", "in_page"));
        verdict(records, claim)
    };
    let pageann = ["pageann", "pipeann"];
    let fewest = "Of designs with codes in memory PageANN reads the fewest";
    let fewest = |value| of(pageann, "pages_per_query", fewest, value);
    assert_eq!([0.4, 0.6].map(fewest), [Agrees, Differs]);
    let most = "Of designs with codes in memory DGAI reads the most";
    let most = |value| of(["dgai", "pipeann"], "pages_per_query", most, value);
    assert_eq!([0.4, 0.6].map(most), [Differs, Agrees]);
    let computing = "Of designs with codes in memory PageANN spends the most";
    let computing = |value| of(pageann, "compute_share", computing, value);
    assert_eq!([0.4, 0.6].map(computing), [Differs, Agrees]);
    let least = "Of designs with codes in memory PipeANN spends the least";
    let least = |value| of(["pipeann", "pageann"], "compute_share", least, value);
    assert_eq!([0.4, 0.6].map(least), [Agrees, Differs]);
}

#[test]
fn the_most_disk_is_asked_of_most_data() {
    let of = |sizes: [u64; 3]| {
        let mut records = Vec::new();
        for (data, bytes) in ["photos", "words", "sounds"].iter().zip(sizes) {
            for (design, bytes) in [("gorgeous", bytes), ("aisaq", 1000)] {
                let mut built = build(data, design, "memory");
                built.result["description"]["index_bytes"] = json!(bytes);
                records.push(built);
                records.push(search("space", data, design, 40, 0.95));
            }
        }
        verdict(records, "Gorgeous takes the most disk on most data")
    };
    assert_eq!(of([1100, 1100, 900]), Agrees);
    assert_eq!(of([1100, 900, 900]), Partly);
    assert_eq!(of([900, 900, 900]), Differs);
}

/// Searches of a design with a number at the low and the high end of recall.
fn rising(
    experiment: &str,
    design: &str,
    axes: &[(&str, f64)],
    name: &str,
    ends: [f64; 2],
) -> Vec<Record> {
    let one = |(list, recall, value): (u64, f64, f64)| {
        let base = search(experiment, "photos", design, list, recall);
        let base = axes
            .iter()
            .fold(base, |base, (axis, value)| set(base, axis, *value));
        give(base, json!({name: value}))
    };
    let [low, high] = ends;
    [(10, 0.85, low), (40, 0.997, high)].map(one).to_vec()
}

#[test]
fn leads_that_grow_with_recall_are_told_from_those_that_fall() {
    let of = |experiment: &str, designs: [&str; 2], name: &str, claim: &str, ends: [f64; 2]| {
        let [own, rival] = designs;
        let axes = [("dimensions", 3000.0)];
        let mut records = rising(experiment, own, &axes, name, ends);
        records.extend(rising(experiment, rival, &axes, name, [0.5, 0.5]));
        verdict(records, claim)
    };
    let storage = |high: f64| {
        let axes = [("dimensions", 3000.0)];
        // Speeds fall with recall, or the highest would stand for all below it.
        let of =
            |design: &str, high: f64| rising("dimensions", design, &axes, "qps", [900.0, high]);
        let records = [of("decoupled", high), of("coupled", 500.0)];
        let claim = "The higher the recall, the more decoupled storage gains";
        verdict(records.concat(), claim)
    };
    assert_eq!([800.0, 300.0].map(storage), [Agrees, Differs]);
    let layout = |rival: &'static str, claim: &'static str| {
        move |ends| of("layout", ["bnf", rival], "io_utilisation", claim, ends)
    };
    let grows = layout(
        "by_id",
        "The lead of placement by the graph over placement by row grows",
    );
    assert_eq!([[0.6, 0.9], [0.9, 0.6]].map(grows), [Agrees, Differs]);
    let words = "Placement by the graph uses more of what is read than clustering";
    let clustering = layout("clustered", words);
    assert_eq!([[0.6, 0.6], [0.4, 0.4]].map(clustering), [Agrees, Differs]);
    let words = "Placement by the graph uses more of what is read than pages with copies";
    let copies = layout("replicated", words);
    assert_eq!([[0.6, 0.6], [0.4, 0.4]].map(copies), [Agrees, Differs]);
}

#[test]
fn thousands_of_neighbours_and_growing_data_are_judged_on_both_sides() {
    let many = |pages: f64| {
        let of = |design: &str, pages: f64| {
            at(
                "k",
                design,
                &[("k", 5000.0)],
                &json!({"pages_per_query": pages}),
            )
        };
        let records = [of("starling", pages), of("diskann", 100.0)];
        verdict(
            records.concat(),
            "For thousands of neighbours Starling reads fewer",
        )
    };
    assert_eq!([99.0, 101.0].map(many), [Agrees, Differs]);
    let lead = |times: f64| {
        let of = |rows: u64, design: &str, qps: f64| {
            let data = format!("photos-first{rows}");
            [(10, 0.85), (40, 0.997)].map(|(list, recall)| {
                let record = search("growth", &data, design, list, recall);
                give(set(record, "rows", rows), json!({"qps": qps}))
            })
        };
        let records = [
            of(10_000, "starling", 100.0),
            of(10_000, "diskann_uncached", 100.0),
            of(100_000, "starling", 80.0 * times),
            of(100_000, "diskann_uncached", 80.0),
        ];
        verdict(records.concat(), "The lead of Starling over DiskANN grows")
    };
    assert_eq!([0.9, 1.1].map(lead), [Differs, Agrees]);
}

#[test]
fn our_latencies_and_threads_are_over_the_best_rival() {
    let of = |axes: &[(&str, f64)],
              numbers: &dyn Fn(f64) -> serde_json::Value,
              claim: &str,
              ours: f64| {
        let all = [&[("memory_ratio", 0.1)], axes].concat();
        let one = |design: &str, value: f64| at("ours", design, &all, &numbers(value));
        let records = [
            one("pageway", ours),
            one("diskann", 100.0),
            one("starling", 60.0),
        ];
        verdict(records.concat(), claim)
    };
    let latency = |us: f64| json!({"latency_us": {"mean": us, "p50": us, "p99": us}});
    for claim in [
        "A single query takes at most 0.6 times as long",
        "Its p99 of single queries is at most 0.6",
    ] {
        let of = |ours| of(&[], &latency, claim, ours);
        assert_eq!([35.0, 37.0].map(of), [Agrees, Differs]);
    }
    let speed = |ours| {
        let axes = [("interleave", 16.0), ("threads", 2.0)];
        let claim = "On two threads it answers at least twice";
        of(&axes, &|qps| json!({"qps": qps}), claim, ours)
    };
    assert_eq!([199.0, 201.0].map(speed), [Differs, Agrees]);
}

#[test]
fn our_design_is_no_rival_in_claims_about_others() {
    let designs = [("pageann", 100.0), ("starling", 90.0), (own::OURS, 500.0)];
    let records = speeds("recall", &designs, &[("dimensions", 128.0)]);
    let claim = "PageANN with its codes in memory answers most";
    assert_eq!(verdict(records, claim), Agrees);
}

/// Of each claim, the beginning stands in a test: in these files.
#[test]
fn every_claim_is_judged_in_a_test() {
    let tests = concat!(
        include_str!("verdict_tests.rs"),
        include_str!("verdict_rest_tests.rs")
    );
    let beginnings: Vec<&str> = tests.split('"').filter(|text| text.len() >= 12).collect();
    for experiment in &Book::open().unwrap().experiment {
        for claim in &experiment.claims {
            let judged = beginnings.iter().any(|text| claim.says.starts_with(text));
            assert!(judged, "no test judges: {}", claim.says);
        }
    }
}
