//! Claims about what grows with data and neighbours.

use super::*;

#[test]
fn what_grows_with_the_vectors_and_what_does_not() {
    let opened = |design: &str, rows: u64, load: f64, memory: f64| {
        let record = record("open", Task::Open, &format!("photos-first{rows}"), design);
        let numbers = json!({
            "load_ms": {"p50": load}, "switch_ms": {"p50": load / 2.0}, "peak_memory_bytes": memory,
        });
        give(set(record, "rows", rows), numbers)
    };
    let of = |last: f64, memory: f64, claim: &str| {
        let designs = ["aisaq", "diskann_uncached"].into_iter();
        let records = designs.flat_map(|design| {
            [
                opened(design, 10_000, 1.0, 1e7),
                opened(design, 1_000_000, last, memory),
            ]
        });
        verdict(records.collect(), claim)
    };
    let load = |last| of(last, 1e7, "AiSAQ opens as fast whatever");
    assert_eq!([0.7, 1.1, 1.3].map(load), [Differs, Agrees, Differs]);
    let memory = |memory| of(1.0, memory, "AiSAQ takes as much memory");
    assert_eq!([7e6, 1.1e7, 1.3e7].map(memory), [Differs, Agrees, Differs]);
    let grows = |last| of(last, 1e7, "With codes in memory the time to open grows");
    assert_eq!([1.4, 1.6].map(grows), [Differs, Agrees]);
    let within = |last| of(last, 1e7, "AiSAQ opens within 2 ms");
    assert_eq!([1.9, 2.1].map(within), [Agrees, Differs]);
    let switches = |last| of(last, 1e7, "AiSAQ switches to an index");
    assert_eq!([1.9, 2.1].map(switches), [Agrees, Differs]);
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
fn growth_counts_where_costs_are_no_bounds() {
    let of = |growth: f64, lowest: f64| {
        let cost = |rows: u64, pages: f64| {
            [(lowest, 0.8), (0.97, 1.0)].map(|(recall, share)| {
                let data = format!("photos-first{rows}");
                let record = search("growth", &data, "diskann", (recall * 100.0) as u64, recall);
                give(
                    set(record, "rows", rows),
                    json!({"pages_per_query": pages * share}),
                )
            })
        };
        let records = [cost(10_000, 20.0), cost(100_000, 20.0 * growth)].concat();
        verdict(records, "Walks get longer as vectors get more")
    };
    assert_eq!(
        (of(1.2, 0.9), of(0.9, 0.9), of(1.2, 0.96)),
        (Agrees, Differs, NotMeasured)
    );
}
