//! Claims about the speed of searches.

use super::*;

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
fn a_step_of_one_design_is_judged_on_both_sides() {
    let pages = |times| {
        let sizes = [8192.0, 16384.0];
        let records = step("page_size", "starling", "page_size", sizes, times);
        verdict(records, "Starling gains from 16 KiB pages")
    };
    assert_eq!([0.9, 1.1].map(pages), [Differs, Agrees]);
    let memory = |times| {
        let records = step("memory", "pageann", "memory_ratio", [0.3, 0.1], times);
        let claim = "With memory for 10 % of the raw vectors PageANN keeps";
        verdict(records, claim)
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
fn beams_gain_within_what_was_published() {
    let of = |ends, gain, claim| verdict(step("beam", "diskann", "beam", ends, gain), claim);
    let first = |gain| of([1.0, 4.0], gain, "At recall 0.95 a beam width of 4");
    assert_eq!([2.7, 3.0, 3.5].map(first), [Differs, Agrees, Differs]);
    let second = |gain| of([4.0, 8.0], gain, "From a beam width of 4 to 8");
    assert_eq!([1.4, 1.5, 1.8].map(second), [Differs, Agrees, Differs]);
    let last = |gain| of([16.0, 32.0], gain, "From a beam width of 16 to 32");
    assert_eq!([0.9, 1.1, 1.2].map(last), [Agrees, Agrees, Differs]);
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
        let records = step("threads", "diskann", "threads", [1.0, 4.0], gain);
        verdict(records, "With all threads the speed is at least half")
    };
    assert_eq!([1.9, 2.1].map(of), [Differs, Agrees]);
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
