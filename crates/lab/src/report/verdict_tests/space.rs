//! Claims about builds, memory and disk.

use super::*;

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
        let records = step("memory", "diskann", "memory_ratio", [0.3, 0.1], share);
        verdict(records, "With memory for 10 % of the raw vectors DiskANN")
    };
    assert_eq!([0.1, 0.3].map(speed), [Agrees, Differs]);
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
