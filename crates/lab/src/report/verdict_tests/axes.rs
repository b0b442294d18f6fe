//! Claims about storage, layout, caches and codes.

use super::*;

#[test]
fn placing_is_judged_on_both_sides() {
    let placed = |design: &str, share: f64| {
        let mut record = build("photos", design, "memory");
        record.result["description"]["spec"]["layout"]["placement"] = json!({"kind": "bnf"});
        give(
            record,
            json!({"seconds": [["build graph", 10.0], ["place nodes", 10.0 * share]]}),
        )
    };
    let of = |shares: &[f64]| {
        let designs = ["starling", "dgai"];
        let records = shares
            .iter()
            .zip(designs)
            .map(|(share, design)| placed(design, *share));
        verdict(records.collect(), "Placing nodes by BNF takes 5 to 13 %")
    };
    assert_eq!(of(&[0.08]), Agrees);
    assert_eq!(of(&[0.0088]), Differs);
    assert_eq!(of(&[0.14]), Differs);
    assert_eq!(of(&[0.08, 0.0117]), Partly);
}

#[test]
fn small_pages_that_hold_a_design_differ() {
    let measured = || speeds("page_size", &[("diskann", 100.0)], &[("dimensions", 960.0)]);
    let claim = "On vectors of many dimensions a design cannot be built";
    assert_eq!(verdict(measured(), claim), Differs);
    let mut records = measured();
    records.push(set(
        refused("page_size", "photos", "gorgeous", "too small"),
        "dimensions",
        960,
    ));
    assert_eq!(verdict(records, claim), Agrees);
}

#[test]
fn storages_cross_where_they_are_said_to() {
    let of = |few: f64, many: f64| {
        let ratio = |dimensions: f64, ratio: f64| {
            let designs = [("coupled", 100.0), ("decoupled", 100.0 * ratio)];
            speeds("dimensions", &designs, &[("dimensions", dimensions)])
        };
        [ratio(96.0, few), ratio(3000.0, many)].concat()
    };
    let crossing =
        |few, many| verdict(of(few, many), "Coupled storage is faster in low dimensions");
    assert_eq!(
        (crossing(0.7, 1.2), crossing(0.7, 0.8), crossing(1.1, 0.9)),
        (Agrees, Partly, Differs)
    );
    let gain = |few, many| verdict(of(few, many), "Decoupled storage gains from the fewest");
    assert_eq!((gain(0.7, 0.9), gain(0.7, 0.5)), (Agrees, Differs));
}

#[test]
fn placements_are_compared_by_what_they_use() {
    let of = |graph: f64, claim: &str| {
        let layout =
            |design: &str, share: f64| at("layout", design, &[], &json!({"io_utilisation": share}));
        verdict(
            [layout("by_id", 0.04), layout("bnf", graph)].concat(),
            claim,
        )
    };
    let row = "Placement by the graph uses more of what is read than placement by row";
    assert_eq!((of(0.05, row), of(0.03, row)), (Agrees, Differs));
    let low = "I/O utilisation stays below 15 %";
    assert_eq!((of(0.14, low), of(0.16, low)), (Agrees, Differs));
    let vertices = |times: f64| {
        let scored = |design: &str, scored: f64| {
            let numbers = json!({"exact_distances_per_query": scored, "reads_per_query": 10.0});
            at("layout", design, &[], &numbers)
        };
        let mut records = [scored("by_id", 10.0), scored("bnf", 10.0 * times)].concat();
        records.extend(["by_id", "bnf"].map(|design| build("photos", design, "memory")));
        verdict(records, "Placement by the graph uses 3 to 6 times as many")
    };
    assert_eq!([2.9, 3.1, 6.1].map(vertices), [Differs, Agrees, Differs]);
}

#[test]
fn caches_are_compared_on_data_of_their_dimensions() {
    let of = |dimensions: f64, claim: &str| {
        let cached = |design: &str, hits: f64| {
            let numbers = json!({"cache_hits_per_query": hits, "reads_per_query": 20.0 - hits});
            let axes = [("dimensions", dimensions), ("memory_ratio", 0.3)];
            at("cache", design, &axes, &numbers)
        };
        let designs = [
            ("dynamic", 6.0),
            ("hybrid", 3.0),
            ("graph_first", 4.0),
            ("static_hot", 2.0),
        ];
        let records = designs
            .iter()
            .flat_map(|(design, hits)| cached(design, *hits))
            .collect();
        verdict(records, claim)
    };
    let (low, high) = (
        "In low dimensions (up to 900)",
        "In high dimensions a cache",
    );
    assert_eq!((of(128.0, low), of(128.0, high)), (Partly, NotMeasured));
    assert_eq!((of(960.0, low), of(960.0, high)), (NotMeasured, Partly));
    assert_eq!(of(128.0, "Dynamic and hybrid caches serve more"), Agrees);
}

#[test]
fn lengths_of_codes_have_a_best_and_a_shortest() {
    let of = |speeds: [f64; 3], pages: [f64; 3], claim: &str| {
        let lengths = [8.0, 16.0, 32.0].into_iter().zip(speeds).zip(pages);
        let one = |((length, qps), pages): ((f64, f64), f64)| {
            let numbers = json!({"qps": qps, "pages_per_query": pages});
            at(
                "compression",
                "diskann",
                &[("code_bytes", length)],
                &numbers,
            )
        };
        verdict(lengths.flat_map(one).collect(), claim)
    };
    let level = [40.0, 21.0, 20.0];
    let best = "Throughput rises and then falls";
    assert_eq!(of([50.0, 100.0, 90.0], level, best), Agrees);
    assert_eq!(of([50.0, 90.0, 100.0], level, best), Differs);
    let short = "Reads hardly change while codes are long enough";
    let equal = [1.0; 3];
    assert_eq!(of(equal, level, short), Agrees);
    assert_eq!(of(equal, [40.0, 30.0, 20.0], short), Differs);
    assert_eq!(of(equal, [25.0, 21.0, 20.0], short), Differs);
}

#[test]
fn refining_half_may_lose_little() {
    let refined = |list: u64, share: f64, recall: f64, pages: f64| {
        let record = search("refinement", "photos", "gorgeous", list, recall);
        give(
            set(record, "refine_share", share),
            json!({"pages_per_query": pages}),
        )
    };
    let of = |half: f64, list: u64, claim: &str| {
        let records = vec![
            refined(20, 0.5, 0.85, 12.0),
            refined(20, 1.0, 0.92, 18.0),
            refined(list, 0.5, half, 22.0),
            refined(list, 1.0, 0.982, 30.0),
        ];
        verdict(records, claim)
    };
    let harm = |half| of(half, 40, "With long lists, exact distances for half");
    assert_eq!([0.98, 0.976].map(harm), [Agrees, Differs]);
    assert_eq!(of(0.98, 40, "A smaller share saves reads"), Agrees);
    let lists = |list| of(0.96, list, "A recall of 0.95 takes lists of 10 to 20 times");
    assert_eq!([90, 150, 210].map(lists), [Differs, Agrees, Differs]);
    assert_eq!(of(0.94, 150, "A recall of 0.95 takes lists"), NotMeasured);
}

#[test]
fn most_designs_are_more_than_half() {
    let of = |gains: &[(&str, f64)]| {
        let sizes = [4096.0, 16384.0];
        let steps = gains.iter();
        let records =
            steps.flat_map(|(design, gain)| step("page_size", design, "page_size", sizes, *gain));
        verdict(records.collect(), "Queries per second fall as pages grow")
    };
    assert_eq!(
        of(&[("diskann", 0.5), ("gorgeous", 0.5), ("pipeann", 1.5)]),
        Agrees
    );
    assert_eq!(of(&[("diskann", 0.5), ("gorgeous", 1.5)]), Partly);
    assert_eq!(of(&[("diskann", 1.5), ("starling", 0.5)]), Differs);
}
