//! Claims of the table against records made up for each side of their bounds.

use serde_json::json;

use super::fixture::{build, give, record, refused, run, search, set};
use super::{Report, Verdict};
use crate::record::{Record, Run, Task};

use Verdict::{Agrees, Differs, NotMeasured, Partly};

fn reported(records: Vec<Record>) -> Report {
    super::report(&run(records)).unwrap()
}

/// The verdict on the claim that begins with these words.
#[track_caller]
pub(super) fn verdict(records: Vec<Record>, claim: &str) -> Verdict {
    let report = reported(records);
    let findings = report.sections.iter().flat_map(|section| &section.findings);
    let mut found = findings.filter(|finding| finding.claim.starts_with(claim));
    let verdict = found.next().expect("a claim of these words").verdict;
    assert!(found.next().is_none(), "one claim of these words");
    verdict
}

/// Searches around recall 0.95 with a value of a number there.
pub(super) fn at(
    experiment: &str,
    design: &str,
    axes: &[(&str, f64)],
    numbers: &serde_json::Value,
) -> Vec<Record> {
    let one = |list: u64, recall: f64| {
        let base = search(experiment, "photos", design, list, recall);
        let base = axes
            .iter()
            .fold(base, |base, (axis, value)| set(base, axis, *value));
        give(base, numbers.clone())
    };
    vec![one(10, 0.85), one(40, 0.997)]
}

pub(super) fn speeds(
    experiment: &str,
    designs: &[(&str, f64)],
    axes: &[(&str, f64)],
) -> Vec<Record> {
    let each = designs.iter();
    each.flat_map(|(design, qps)| at(experiment, design, axes, &json!({"qps": qps})))
        .collect()
}

#[test]
fn the_fastest_design_decides_on_data_of_its_dimensions() {
    let claim = "PageANN with its codes in memory answers most";
    let of = |pageann: f64, dimensions: f64| {
        let designs = [("pageann", pageann), ("starling", 100.0)];
        verdict(
            speeds("recall", &designs, &[("dimensions", dimensions)]),
            claim,
        )
    };
    assert_eq!(
        (of(101.0, 128.0), of(99.0, 128.0), of(101.0, 960.0)),
        (Agrees, Differs, NotMeasured)
    );
}

#[test]
fn codes_in_memory_are_to_be_faster_by_so_much_and_no_more() {
    let of = |times: f64| {
        let mut records = speeds(
            "recall",
            &[("diskann", 100.0 * times), ("aisaq", 100.0)],
            &[],
        );
        records.extend([
            build("photos", "diskann", "memory"),
            build("photos", "aisaq", "in_page"),
        ]);
        verdict(records, "The fastest design with its codes in memory")
    };
    assert_eq!(
        [1.5, 1.7, 13.0, 14.0].map(of),
        [Differs, Agrees, Agrees, Differs]
    );
}

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
fn the_shortest_build_decides_and_every_rival_counts_in_the_margin() {
    let built = |design: &str, seconds: f64| {
        let record = give(
            build("photos", design, "memory"),
            json!({"total_seconds": seconds}),
        );
        set(record, "dimensions", 960)
    };
    let of = |others: [f64; 2], claim: &str| {
        let records = vec![
            built("pipeann", 10.0),
            built("diskann", others[0]),
            built("starling", others[1]),
        ];
        verdict(records, claim)
    };
    let shortest = "PipeANN is built in the shortest time";
    assert_eq!(of([11.0, 12.0], shortest), Agrees);
    assert_eq!(of([9.0, 12.0], shortest), Differs);
    let margin = "On vectors of many dimensions PipeANN is built";
    assert_eq!(of([30.0, 49.0], margin), Agrees);
    assert_eq!(of([28.0, 49.0], margin), Differs);
    assert_eq!(of([30.0, 51.0], margin), Differs);
}

#[test]
fn most_designs_are_more_than_half() {
    let of = |gains: &[(&str, f64)]| {
        let mut records = Vec::new();
        for (design, gain) in gains {
            records.extend(speeds(
                "page_size",
                &[(design, 100.0)],
                &[("page_size", 4096.0)],
            ));
            records.extend(speeds(
                "page_size",
                &[(design, 100.0 * gain)],
                &[("page_size", 16384.0)],
            ));
        }
        verdict(records, "Queries per second fall as pages grow")
    };
    assert_eq!(
        of(&[("diskann", 0.5), ("gorgeous", 0.5), ("pipeann", 1.5)]),
        Agrees
    );
    assert_eq!(of(&[("diskann", 0.5), ("gorgeous", 1.5)]), Partly);
    assert_eq!(of(&[("diskann", 1.5), ("starling", 0.5)]), Differs);
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
fn beams_gain_within_what_was_published() {
    let of = |from: f64, to: f64, gain: f64, claim: &str| {
        let mut records = speeds("beam", &[("diskann", 100.0)], &[("beam", from)]);
        records.extend(speeds(
            "beam",
            &[("diskann", 100.0 * gain)],
            &[("beam", to)],
        ));
        verdict(records, claim)
    };
    let first = |gain| of(1.0, 4.0, gain, "At recall 0.95 a beam width of 4");
    assert_eq!([2.7, 3.0, 3.5].map(first), [Differs, Agrees, Differs]);
    let second = |gain| of(4.0, 8.0, gain, "From a beam width of 4 to 8");
    assert_eq!([1.4, 1.5, 1.8].map(second), [Differs, Agrees, Differs]);
    let last = |gain| of(16.0, 32.0, gain, "From a beam width of 16 to 32");
    assert_eq!([0.9, 1.1, 1.2].map(last), [Agrees, Agrees, Differs]);
}

#[test]
fn memory_and_disk_stand_within_their_bounds() {
    let of = |codes: &str, bytes: u64, claim: &str| {
        let mut searched = search("space", "photos", "aisaq", 40, 0.95);
        searched.process.peak_memory_bytes = Some(bytes);
        verdict(vec![build("photos", "aisaq", codes), searched], claim)
    };
    let disk = |bytes| {
        of(
            "in_page",
            bytes,
            "With everything on disk a search takes 25.5 to 48 MB",
        )
    };
    assert_eq!(
        [9_200_000, 30_000_000, 49_000_000].map(disk),
        [Differs, Agrees, Differs]
    );
    // The raw vectors are 1,280,000 bytes.
    let memory = |bytes| {
        of(
            "memory",
            bytes,
            "With codes in memory a search takes 4 to 39 %",
        )
    };
    assert_eq!(
        [50_000, 256_000, 600_000].map(memory),
        [Differs, Agrees, Differs]
    );
    let rest = |bytes| of("memory", bytes, "C, all that the formula leaves out");
    assert_eq!([30_000_000, 60_000_000].map(rest), [Agrees, Differs]);
}

#[test]
fn the_least_disk_is_asked_of_few_dimensions_alone() {
    let of = |dimensions: f64, bytes: u64| {
        let built = |design: &str, bytes: u64| {
            let mut record = build("photos", design, "memory");
            record.result["description"]["index_bytes"] = json!(bytes);
            record
        };
        let mut records = vec![built("pageann-disk", bytes), built("diskann", 1000)];
        records.extend(speeds(
            "space",
            &[("pageann-disk", 1.0), ("diskann", 1.0)],
            &[("dimensions", dimensions)],
        ));
        verdict(
            records,
            "PageANN with its codes on disk takes the least disk",
        )
    };
    assert_eq!(
        (of(128.0, 900), of(128.0, 1100), of(960.0, 900)),
        (Agrees, Differs, NotMeasured)
    );
}

#[test]
fn computing_and_waiting_are_judged_on_both_sides() {
    let computing = |times: f64| {
        let of = |design: &str, share: f64| {
            at("execution", design, &[], &json!({"compute_share": share}))
        };
        let records = [of("pageann", 0.1 * times), of("pipeann", 0.1)].concat();
        verdict(records, "PageANN computes 2.75 to 2.92 times as long")
    };
    assert_eq!([2.5, 2.8, 4.7].map(computing), [Differs, Agrees, Differs]);
    let waiting = |shares: [f64; 2]| {
        let of = |list: u64, share: f64| {
            give(
                search("execution", "photos", "diskann", list, 0.9),
                json!({"wait_share": share}),
            )
        };
        verdict(
            vec![of(10, shares[0]), of(40, shares[1])],
            "Waiting for reads takes 80 to 99.6 %",
        )
    };
    let cases = [[0.85, 0.99], [0.7, 0.99], [0.85, 0.999]].map(waiting);
    assert_eq!(cases, [Agrees, Differs, Differs]);
}

#[test]
fn threads_add_half_of_a_thread_at_least() {
    let of = |gain: f64| {
        let mut records = speeds("threads", &[("diskann", 100.0)], &[("threads", 1.0)]);
        records.extend(speeds(
            "threads",
            &[("diskann", 100.0 * gain)],
            &[("threads", 4.0)],
        ));
        verdict(records, "With all threads the speed is at least half")
    };
    assert_eq!([1.9, 2.1].map(of), [Differs, Agrees]);
}

#[test]
fn the_least_memory_that_reaches_a_recall_decides() {
    let budget = |design: &str, ratio: f64, recall: f64| {
        set(
            search("memory", "photos", design, 40, recall),
            "memory_ratio",
            ratio,
        )
    };
    let of = |rival: f64| {
        let records = vec![
            budget("pageann", 0.02, 0.85),
            budget("pageann", 0.05, 0.91),
            budget("diskann", rival, 0.92),
        ];
        verdict(records, "PageANN reaches recall 0.9 with the least memory")
    };
    assert_eq!([0.02, 0.05, 0.10].map(of), [Differs, Differs, Agrees]);
    let speed = |share: f64| {
        let mut records = speeds("memory", &[("diskann", 100.0)], &[("memory_ratio", 0.3)]);
        records.extend(speeds(
            "memory",
            &[("diskann", 100.0 * share)],
            &[("memory_ratio", 0.1)],
        ));
        verdict(records, "With memory for 10 % of the raw vectors DiskANN")
    };
    assert_eq!([0.1, 0.3].map(speed), [Agrees, Differs]);
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
fn many_processes_take_less_with_everything_on_disk() {
    let of = |disk: f64| {
        let shared = |design: &str, memory: f64| {
            let record = set(
                record("open", Task::Processes, "photos", design),
                "processes",
                4,
            );
            give(
                record,
                json!({"peak_memory_bytes": memory, "qps": 100.0, "recall": 0.97}),
            )
        };
        verdict(
            vec![shared("aisaq", disk), shared("diskann_uncached", 80e6)],
            "Many processes on one index",
        )
    };
    assert_eq!([50e6, 90e6].map(of), [Agrees, Differs]);
}

#[test]
fn range_search_is_compared_at_average_precision() {
    let of = |times: f64, claim: &str| {
        let ranged = |design: &str, qps: f64, precision: f64| {
            let mut record = search("range", "photos", design, (precision * 100.0) as u64, 0.0);
            record.task = Task::Range;
            let numbers = json!({"average_precision": precision, "qps": qps, "radius": 5.0});
            give(set(record, "results", 20), numbers)
        };
        let of = |design: &str, qps: f64| [ranged(design, qps, 0.8), ranged(design, qps, 0.95)];
        verdict(
            [of("diskann", 100.0), of("starling", 100.0 * times)].concat(),
            claim,
        )
    };
    let tenfold = |times| of(times, "Range search on Starling is more than 10 times");
    assert_eq!([9.0, 11.0].map(tenfold), [Differs, Agrees]);
    let ahead = |times| of(times, "Starling is ahead of DiskANN");
    assert_eq!([0.9, 1.1].map(ahead), [Differs, Agrees]);
}

#[test]
fn neighbours_and_segments_are_compared_one_by_one() {
    let few = |qps: f64| {
        let of =
            |k: f64, qps: f64| speeds("k", &[("starling", qps), ("diskann", 100.0)], &[("k", k)]);
        verdict(
            [of(1.0, 150.0), of(10.0, qps), of(1000.0, 50.0)].concat(),
            "For every k from 1 to 50",
        )
    };
    assert_eq!([120.0, 80.0].map(few), [Agrees, Partly]);
    let divided = |design: &str, segments: u64, qps: f64| {
        let mut record = search("segments", "photos", design, 20, 0.96);
        record.task = Task::Segments;
        give(set(record, "segments", segments), json!({"qps": qps}))
    };
    let of = |ours: f64, many: f64, claim: &str| {
        let records = vec![
            divided("starling", 1, 100.0),
            divided("starling", 5, many),
            divided("diskann", 1, 100.0 / ours),
            divided("diskann", 5, many / ours),
        ];
        verdict(records, claim)
    };
    let lead = |times| of(times, 30.0, "Starling is at least twice as fast");
    assert_eq!([1.9, 2.1].map(lead), [Differs, Agrees]);
    let decline = |many| of(2.0, many, "With the most segments throughput is more than");
    assert_eq!([19.0, 21.0].map(decline), [Differs, Agrees]);
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
fn sections_come_in_the_order_of_the_table_and_refusals_last() {
    let report = reported(vec![
        refused("page_size", "photos", "gorgeous", "too small"),
        search("beam", "photos", "diskann", 10, 0.9),
        search("recall", "photos", "diskann", 10, 0.9),
    ]);
    let ids: Vec<&str> = report
        .sections
        .iter()
        .map(|section| section.id.as_str())
        .collect();
    assert_eq!(ids, ["summary", "recall", "beam", "refused"]);
    let words = report.sections.last().unwrap().method.join(" ");
    assert!(
        words.starts_with("1 of 2 cells") && words.contains("page size"),
        "{words}"
    );
    assert!(reported(Vec::new()).sections.is_empty());
}

#[test]
fn a_part_of_a_suite_says_so() {
    let suite = include_str!("../../suites/all.toml").to_owned();
    let machine = crate::record::Machine {
        suite_text: suite,
        ..Default::default()
    };
    let records = vec![search("recall", "photos", "diskann", 10, 0.9)];
    let report = super::report(&Run { machine, records }).unwrap();
    assert!(
        report.warnings[0].starts_with("This run is a part: 1 of up to "),
        "{:?}",
        report.warnings
    );
}

#[test]
fn figures_show_every_cell_and_the_values_at_targets() {
    let report = reported(speeds(
        "recall",
        &[("diskann", 90.0), ("starling", 100.0)],
        &[],
    ));
    let section = &report.sections[1];
    let figure = &section.figures[0];
    assert_eq!((figure.marks.len(), figure.data.as_str()), (4, "photos"));
    assert_eq!(figure.table.rows[1][2].number, Some(100.0));
    assert!(figure.table.rows[1][2].best && !figure.table.rows[0][2].best);
    assert!(figure.marks[0].text.ends_with("list size 10"));
    let tables: Vec<&str> = section
        .tables
        .iter()
        .map(|table| table.id.as_str())
        .collect();
    assert_eq!(tables, ["recall-at-90", "recall-at-95", "recall-at-99"]);
}
