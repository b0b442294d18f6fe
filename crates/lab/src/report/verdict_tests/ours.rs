//! Claims about our own designs against rivals.

use super::*;

#[test]
fn our_targets_are_over_the_best_rival_at_equal_memory() {
    let of = |ours: f64, claim: &str| {
        let one = |design: &str, pages: f64| {
            let numbers = json!({"pages_per_query": pages, "qps": 1e4 / pages});
            let alone = at("ours", design, &[("memory_ratio", 0.1)], &numbers);
            let many = at(
                "ours",
                design,
                &[("memory_ratio", 0.1), ("interleave", 16.0)],
                &numbers,
            );
            [alone, many].concat()
        };
        let records = [
            one("pageway", ours),
            one("diskann", 100.0),
            one("starling", 60.0),
        ];
        verdict(records.concat(), claim)
    };
    let pages = |ours| of(ours, "It reads at most half of the pages");
    assert_eq!([29.0, 31.0].map(pages), [Agrees, Differs]);
    let speed = |ours| of(ours, "On one thread it answers at least twice");
    assert_eq!([29.0, 31.0].map(speed), [Agrees, Differs]);
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
