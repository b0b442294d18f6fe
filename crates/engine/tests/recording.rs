//! A search that is recorded: the same answers, and traces that add up.

mod common;

use common::Rows;
use pageway::lab::ReadTrace;
use pageway::{
    BuildOptions, Effort, ElementType, Index, Metric, NoProgress, OpenOptions, Preset, Queries,
    SearchOptions, SegmentCut,
};

/// Reads that were out before each turn, and those that came back, one by one.
fn check(trace: &ReadTrace) -> u64 {
    let mut out: Vec<u32> = Vec::new();
    let mut sent = 0;
    for (number, turn) in trace.turns.iter().enumerate() {
        assert_eq!(turn.supplied.is_none(), number == 0);
        if let Some(read) = turn.supplied {
            let at = out.iter().position(|&other| other == read);
            out.remove(at.expect("supplied while in flight"));
        }
        out.extend(sent..sent + turn.reads);
        sent += turn.reads;
        assert_eq!(out.is_empty(), number + 1 == trace.turns.len());
    }
    assert_eq!(trace.turns.len() as u32, sent + 1);
    u64::from(sent)
}

#[test]
fn traces_add_up_and_answers_stay_the_same() {
    let base = Rows::clustered(2000, 24, ElementType::U8, 1);
    let queries = Rows::clustered(30, 24, ElementType::U8, 2);
    for preset in [Preset::DiskAnn, Preset::Starling, Preset::Gorgeous] {
        let dir = tempfile::tempdir().unwrap();
        let options = BuildOptions::default()
            .with_metric(Metric::L2)
            .with_preset(preset)
            .with_degree(24)
            .with_build_list(60)
            .with_calibration_queries(50);
        base.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        for interleave in [1, 4] {
            let search = SearchOptions::default()
                .with_effort(Effort::ListSize(40))
                .with_interleave(interleave);
            let rows = Queries::new(&queries.bytes, queries.shape);
            let plain = index.search(&rows, &search).unwrap();
            let recorded = index.search_recorded(&rows, &search, 20, &NoProgress);
            let (answers, traces) = recorded.unwrap();
            assert_eq!(
                (&answers.ids, &answers.distances),
                (&plain.ids, &plain.distances)
            );
            assert_eq!(traces.len(), 20);
            for (number, trace) in traces.iter().enumerate() {
                assert_eq!(trace.query, number);
                let stats = &answers.stats[number];
                assert_eq!(check(trace), stats.reads, "{preset:?}");
                assert_eq!(trace.places.len() as u64, stats.reads);
                let last = trace.places.iter().filter(|place| place.is_last);
                assert_eq!(last.count() as u64, stats.refine_reads, "{preset:?}");
                assert_eq!(trace.asked, [0]);
                let computed = trace
                    .turns
                    .iter()
                    .map(|turn| turn.compute_ns + turn.work_ns);
                let computed: u64 = computed.sum();
                assert!(computed > 0 && computed <= stats.latency_ns, "{preset:?}");
            }
        }
    }
}

#[test]
fn reads_tell_their_segment_and_segments_that_are_not_asked_have_none() {
    let base = Rows::clustered(3000, 16, ElementType::U8, 3);
    let queries = Rows::clustered(20, 16, ElementType::U8, 4);
    let dir = tempfile::tempdir().unwrap();
    let options = BuildOptions::default()
        .with_preset(Preset::DiskAnn)
        .with_segments(6)
        .with_cut(SegmentCut::Space)
        .with_degree(24)
        .with_calibration_queries(20);
    base.build(dir.path(), &options).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let search = SearchOptions::default()
        .with_effort(Effort::ListSize(10))
        .with_interleave(1);
    let rows = Queries::new(&queries.bytes, queries.shape);
    let (_, traces) = index
        .search_recorded(&rows, &search, 20, &NoProgress)
        .unwrap();
    let mut asked = 0;
    for trace in &traces {
        assert_eq!(trace.places.len(), trace.turns.len() - 1);
        let known = |segment| trace.asked.contains(&segment);
        assert!(trace.places.iter().all(|place| known(place.segment)));
        asked += trace.asked.len();
    }
    assert!((20..20 * 6).contains(&asked), "{asked}");
}

#[test]
fn a_search_that_nobody_records_has_no_traces() {
    let base = Rows::clustered(500, 8, ElementType::U8, 1);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &BuildOptions::default()).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let rows = Queries::new(base.row(0), base.shape);
    let (answers, traces) = index
        .search_recorded(&rows, &SearchOptions::default(), 0, &NoProgress)
        .unwrap();
    assert_eq!((answers.ids[0], traces.len()), (0, 0));
}
