//! The recall that was asked for, at every k, and calibrations that are made anew.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test may panic")]

mod common;

use common::Rows;
use pageway::{
    BuildOptions, CalibrateOptions, CalibrationRow, Durability, Effort, ElementType, ErrorKind,
    Filter, IdSet, Index, MemoryWish, Metric, NoProgress, OpenOptions, Preset, Queries, RANKS,
    SearchOptions, Tolerance, UpdateOptions, Writer, verify,
};

const ROWS: usize = 3000;

/// Rows of one source: those of an index, and others to ask for.
fn rows(queries: usize) -> (Rows, Rows) {
    split(ROWS, queries)
}

fn split(rows: usize, queries: usize) -> (Rows, Rows) {
    let all = Rows::clustered(rows + queries, 24, ElementType::F32, 1);
    let (base, others) = all.bytes.split_at(rows * all.shape.row_bytes());
    let of = |bytes: &[u8]| Rows {
        bytes: bytes.to_vec(),
        shape: all.shape,
    };
    (of(base), of(others))
}

fn options(preset: Preset, segments: u32) -> BuildOptions {
    BuildOptions::default()
        .with_preset(preset)
        .with_degree(16)
        .with_build_list(40)
        .with_code_bytes(12)
        .with_calibration_queries(300)
        .with_segments(segments)
}

fn recall(index: &Index, queries: &Rows, k: u32, wish: f32) -> (f64, u32) {
    let queries = Queries::new(&queries.bytes, queries.shape);
    let search = SearchOptions::nearest(k).with_effort(Effort::Recall(wish));
    let report = index.measure_recall(&queries, &search, &NoProgress);
    let report = report.unwrap();
    (report.recall, report.list_size)
}

#[test]
fn what_is_asked_for_is_got_at_every_k() {
    let (base, queries) = rows(300);
    let mut missed = Vec::new();
    for (preset, segments) in [
        (Preset::default(), 1),
        (Preset::default(), 3),
        (Preset::DiskAnn, 1),
        (Preset::PageAnn, 1),
        (Preset::Gorgeous, 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(preset, segments)).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let ranks: Vec<u32> = index.calibration().curves.iter().map(|c| c.k).collect();
        assert!(
            RANKS.iter().all(|k| ranks.contains(k)),
            "{preset}: {ranks:?}"
        );
        for k in [1, 11, 50, 100, 400] {
            for wish in [0.8, 0.95] {
                let (got, list_size) = recall(&index, &queries, k, wish);
                let what = format!("{preset}, {segments}: k {k}, {wish}: {got}, {list_size}");
                if got < f64::from(wish) - 0.04 {
                    missed.push(what);
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_list_shorter_than_k_finds_k_and_costs_less() {
    let (base, queries) = rows(50);
    for preset in [Preset::default(), Preset::DiskAnn, Preset::Gorgeous] {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(preset, 1)).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let queries = Queries::new(&queries.bytes, queries.shape);
        let search = |effort| {
            let options = SearchOptions::nearest(200).with_effort(effort);
            index.search(&queries, &options).unwrap()
        };
        let size = index.list_size_for(200, 0.8).unwrap();
        // Where answers are expanded, as many are in any case.
        let most = if preset == Preset::DiskAnn { 200 } else { 199 };
        assert!(size <= most, "{preset}: {size}");
        let (short, long) = (search(Effort::Recall(0.8)), search(Effort::ListSize(size)));
        assert_eq!(long.settings.list_size, 200, "a list size is at least k");
        if preset == Preset::default() {
            assert!(short.settings.list_size < 200, "a mean of its queries");
        } else {
            assert_eq!(short.settings.list_size, size);
        }
        assert!(short.ids.iter().all(|id| *id != u64::MAX), "{preset}");
        for row in short.ids.chunks_exact(200) {
            let mut ids = row.to_vec();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), 200, "{preset}");
        }
        let hops = |answers: &pageway::Answers| answers.stats.iter().map(|s| s.hops).sum::<u64>();
        assert!(hops(&short) <= hops(&long), "{preset}");
    }
}

#[test]
fn a_query_chooses_its_list_whatever_runs_beside_it() {
    let (base, queries) = rows(40);
    for segments in [1, 3] {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(Preset::default(), segments))
            .unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let fits = index.calibration();
        let fits: Vec<_> = fits.curves.iter().map(|curve| &curve.dimension).collect();
        assert!(fits.iter().all(|fit| fit.is_some()), "{fits:?}");
        let options = SearchOptions::nearest(10)
            .with_effort(Effort::Recall(0.9))
            .with_threads(2);
        let all = Queries::new(&queries.bytes, queries.shape);
        let all = index.search(&all, &options).unwrap();
        let expected = all.expected_recall.unwrap();
        assert!(expected > 0.8 && expected <= 1.0, "{expected}");
        let row_bytes = queries.shape.row_bytes();
        // Of one that was just opened: no earlier call tells how queries lie.
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        for (at, row) in queries.bytes.chunks_exact(row_bytes).enumerate().take(15) {
            let one = Queries::new(row, queries.shape);
            let one = index.search(&one, &options.with_threads(1)).unwrap();
            assert_eq!(one.ids, all.ids[10 * at..10 * at + 10], "{segments} {at}");
            assert_eq!(one.stats[0].hops, all.stats[at].hops, "{segments} {at}");
        }
    }
}

#[test]
fn a_new_calibration_is_stored_in_one_step_and_nothing_else_changes() {
    let (base, _) = rows(0);
    let far = Rows::clustered(400, 24, ElementType::F32, 9);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::default(), 2))
        .unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let other = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let before = index.calibration();
    assert!(before.held_out);
    let queries = Queries::new(&far.bytes, far.shape);
    let wish = CalibrateOptions::default()
        .with_k(vec![25])
        .with_queries(400);
    let made = index.calibrate(Some(&queries), &wish, &NoProgress).unwrap();
    assert!(!made.held_out && made.queries == 400);
    assert!(made.curve(25).is_some());
    assert_eq!(index.calibration(), made);
    assert_eq!(other.calibration(), before);
    assert!(other.refresh().unwrap());
    assert_eq!(other.calibration(), made);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
    let (got, _) = recall(&index, &far, 25, 0.9);
    assert!(got >= 0.87, "{got}");

    let rows = index.calibrate(None, &CalibrateOptions::default(), &NoProgress);
    let rows = rows.unwrap();
    assert!(rows.held_out && rows.queries == 500);
    let reopened = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    assert_eq!(reopened.calibration(), rows);

    let other_shape = Rows::clustered(5, 8, ElementType::F32, 9);
    let wrong = Queries::new(&other_shape.bytes, other_shape.shape);
    let refused = index
        .calibrate(Some(&wrong), &wish, &NoProgress)
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    let nothing = Queries::new(&[], far.shape);
    assert!(index.calibrate(Some(&nothing), &wish, &NoProgress).is_err());

    let _writer = Writer::open(
        dir.path(),
        &OpenOptions::default(),
        &UpdateOptions::default(),
    )
    .unwrap();
    let busy = index
        .calibrate(Some(&queries), &wish, &NoProgress)
        .unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
}

#[test]
fn what_a_query_notes_of_lists_is_what_searches_with_them_find() {
    let plain = rows(300);
    // No f16 holds these, so that records of clusters hold fine codes.
    let fine = (times(&plain.0, 1.001), times(&plain.1, 1.001));
    for (preset, form, (base, queries)) in [
        (Preset::default(), "resident", &plain),
        (Preset::default(), "clustered", &plain),
        (Preset::default(), "clustered", &fine),
        (Preset::default(), "on-disk", &plain),
        (Preset::DiskAnn, "diskann", &plain),
    ] {
        let asked = Queries::new(&queries.bytes, queries.shape);
        let dir = tempfile::tempdir().unwrap();
        let form = (preset == Preset::default()).then(|| form.to_owned());
        let options = options(preset, 1).with_form(form.clone());
        base.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let wish = CalibrateOptions::default().with_queries(300);
        let made = index.calibrate(Some(&asked), &wish, &NoProgress).unwrap();
        let most_queries = |k: u32| {
            let curve = made.curve(k).unwrap();
            curve.rows.iter().map(|row| row.queries).max().unwrap()
        };
        assert_eq!((most_queries(10), most_queries(200)), (300, 100));
        assert!(most_queries(1000) <= 100);
        let curve = made.curve(10).unwrap();
        let rows = curve.rows.iter();
        let rows = rows.filter(|row| row.queries == 300 && row.list_size >= 10);
        let mut compared = 0;
        for row in rows {
            let search = SearchOptions::nearest(10).with_effort(Effort::ListSize(row.list_size));
            let found = index.measure_recall(&asked, &search, &NoProgress).unwrap();
            let off = (found.recall - f64::from(row.recall)).abs();
            let pages = f64::from(row.pages);
            let pages_off = (found.pages_per_query - pages).abs() / (pages + 1.0);
            assert!(
                off < 0.01 && pages_off < 0.1,
                "{preset} {form:?}: {row:?}, {found:?}"
            );
            let by_codes = search.with_tolerance(Tolerance::ANY);
            let found = index
                .measure_recall(&asked, &by_codes, &NoProgress)
                .unwrap();
            let said = f64::from(row.recall - row.lost_by_codes);
            assert!(
                found.recall > said - 0.01 && found.recall < said + 0.03,
                "{preset} {form:?}: {row:?}, by codes {found:?}"
            );
            compared += 1;
        }
        assert!(compared > 0, "{preset} {form:?}: {curve:?}");
    }
}

#[test]
fn answers_by_codes_get_the_recall_that_is_asked_for() {
    let (base, queries) = rows(300);
    let dir = tempfile::tempdir().unwrap();
    let form = Some("clustered".to_owned());
    base.build(dir.path(), &options(Preset::default(), 1).with_form(form))
        .unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let queries = Queries::new(&queries.bytes, queries.shape);
    let measure = |tolerance: Tolerance, (k, wish): (u32, f32)| {
        let search = SearchOptions::nearest(k)
            .with_effort(Effort::Recall(wish))
            .with_tolerance(tolerance);
        let measured = index.measure_recall(&queries, &search, &NoProgress);
        measured.unwrap()
    };
    let curve = |k: u32| index.calibration().curve(k).unwrap().rows.clone();
    let finds = |row: &CalibrationRow| row.recall - row.lost_by_codes;
    let found: Vec<f32> = curve(10).iter().map(finds).collect();
    let (first, last) = (found[0], found[found.len() - 1]);
    assert!(first < 0.9 && last > first + 0.05, "{found:?}");
    for wish in [0.85, 0.9, f32::midpoint(first, last)] {
        let exact = measure(Tolerance::EXACT, (10, wish));
        let by_codes = measure(Tolerance::ANY, (10, wish));
        let told = format!("{wish}: {exact:?}, {by_codes:?}");
        assert!(by_codes.recall > f64::from(wish) - 0.01, "{told}");
        assert!(by_codes.recall < exact.recall, "{told}");
        assert!(by_codes.list_size > exact.list_size, "{told}");
        assert!(by_codes.pages_per_query < exact.pages_per_query, "{told}");
    }
    // What codes cannot reach is answered exactly.
    let most = curve(300).iter().map(finds).fold(0.0, f32::max);
    let best = curve(300).last().unwrap().recall;
    assert!(most < best, "{most} {best}");
    let both = [Tolerance::EXACT, Tolerance::ANY].map(|own| measure(own, (300, best)));
    assert_eq!(both[0], both[1]);
}

#[test]
fn few_rows_are_calibrated_for_as_many_neighbours_as_they_have() {
    for rows in [2usize, 3, 12, 40] {
        let base = Rows::clustered(rows, 6, ElementType::U8, 3);
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(Preset::default(), 1))
            .unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let last = index.calibration().curves.last().map(|curve| curve.k);
        assert_eq!(last, Some(rows as u32));
        for k in [1, rows as u32] {
            let query = Queries::new(base.row(0), base.shape);
            let search = SearchOptions::nearest(k).with_effort(Effort::Recall(0.9));
            let found = index.search(&query, &search).unwrap();
            assert!(found.ids.iter().all(|id| *id != u64::MAX), "{rows} {k}");
        }
    }
}

#[test]
fn queries_like_the_rows_get_what_they_ask_for_and_others_are_told() {
    let (base, like) = rows(1024);
    let noisy = noisy(&base, 1024);
    for preset in [Preset::default(), Preset::Gorgeous] {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(preset, 1)).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let search = |queries: &Rows, count: usize| {
            let bytes = &queries.bytes[..count * queries.shape.row_bytes()];
            let options = SearchOptions::nearest(10).with_effort(Effort::Recall(0.9));
            index
                .search(&Queries::new(bytes, queries.shape), &options)
                .unwrap()
        };
        for count in [40, 1024] {
            let told = search(&like, count).unlike;
            assert!(told < 0.1, "{preset} {count}: {told}");
            let told = search(&noisy, count).unlike;
            assert!((told - 1.0).abs() < 1e-6, "{preset} {count}: {told}");
        }
        // A call says what its queries cost on average, and gives an answer to each.
        let (few, many) = (search(&like, 40), search(&like, 1024));
        assert!(
            many.settings.list_size <= few.settings.list_size,
            "{preset}"
        );
        assert!(many.stats.iter().all(|stats| stats.hops > 0), "{preset}");
        assert_eq!(many.ids.len(), 10 * 1024);
        assert!(many.ids.iter().all(|id| *id != u64::MAX), "{preset}");
        let (got, _) = recall(&index, &like, 10, 0.9);
        assert!((0.88..0.96).contains(&got), "{preset}: {got}");
    }
}

/// Behind the places of a list stands what a walk passed, which is farther than neighbours are.
#[test]
fn lists_shorter_than_k_do_not_make_queries_unlike() {
    let (base, like) = rows(1024);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::DiskAnn, 1))
        .unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let search = |queries: &Rows, wish: f32| {
        let options = SearchOptions::nearest(10).with_effort(Effort::Recall(wish));
        let found = index.search(&Queries::new(&queries.bytes, queries.shape), &options);
        let found = found.unwrap();
        (found.settings.list_size, found.unlike)
    };
    for wish in [0.6, 0.7, 0.8, 0.95] {
        let (list_size, unlike) = search(&like, wish);
        assert!(unlike < 0.1, "{wish}: {unlike}");
        assert!(
            wish > 0.7 || list_size < 10,
            "{wish}: a list of {list_size}"
        );
        let (_, unlike) = search(&noisy(&base, 1024), wish);
        assert!((unlike - 1.0).abs() < 1e-6, "{wish}: {unlike}");
    }
}

/// One neighbour says little of how a query lies: a sample is asked for ten.
#[test]
fn of_few_neighbours_too_queries_like_the_rows_need_no_margin() {
    let (base, like) = rows(1024);
    let noisy = noisy(&base, 1024);
    for (preset, form) in [
        (Preset::default(), Some("resident")),
        (Preset::default(), Some("on-disk")),
        (Preset::DiskAnn, None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let options = options(preset, 1)
            .with_form(form.map(str::to_owned))
            .with_calibration_queries(75);
        base.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        for k in [1, 3] {
            let search = |queries: &Rows, count: usize| {
                let bytes = &queries.bytes[..count * queries.shape.row_bytes()];
                let options = SearchOptions::nearest(k).with_effort(Effort::Recall(0.9));
                index
                    .search(&Queries::new(bytes, queries.shape), &options)
                    .unwrap()
            };
            // Calls of so few queries have no sample.
            let (few, many) = (search(&like, 40), search(&like, 1024));
            let lists = (few.settings.list_size, many.settings.list_size);
            let is_shorter = lists.1 < lists.0;
            let may_be_equal = preset == Preset::DiskAnn && lists.1 == lists.0;
            assert!(
                is_shorter || may_be_equal,
                "{preset} {form:?} {k}: {lists:?}"
            );
            assert!(many.unlike < 0.1, "{preset} {form:?} {k}: {}", many.unlike);
            assert_eq!(many.ids.len(), 1024 * k as usize);
            assert!(many.ids.iter().all(|id| *id != u64::MAX));
            assert!(many.errors.iter().all(|error| *error == 0.0));
            let told = search(&noisy, 1024).unlike;
            assert!((told - 1.0).abs() < 1e-6, "{preset} {form:?} {k}: {told}");
            let (got, _) = recall(&index, &like, k, 0.9);
            assert!(got > 0.88, "{preset} {form:?} {k}: {got}");
        }
    }
}

/// Where nodes are pages, lists need no margin only if no page was grouped about a row that stands
/// for a query. Rows that are too large a part of all are built in like others.
#[test]
fn rows_that_stand_for_queries_group_no_page() {
    let (base, like) = rows(1024);
    for (rows, apart) in [(64, true), (300, false)] {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::PageAnn, 1).with_calibration_queries(rows);
        base.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        assert_eq!(index.calibration().apart, apart, "{rows}");
        let few = parts(&like, 128);
        let (got, sampled) = recall(&index, &like, 10, 0.9);
        assert!(got > 0.89, "{rows}: {got}");
        // No earlier call tells how these lie.
        let with_margin = few.map(|own| {
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            recall(&index, &own, 10, 0.9).1
        });
        let with_margin = with_margin.min();
        assert_eq!(Some(sampled) < with_margin, apart, "{rows}: {sampled}");
        // Rows that are drawn from a finished index have no pages of their own.
        for queries in [1, 64] {
            let wish = CalibrateOptions::default().with_queries(queries);
            let drawn = index.calibrate(None, &wish, &NoProgress).unwrap();
            assert!(!drawn.apart, "{queries}");
        }
    }
}

/// Points between two rows have the largest products with rows of several clusters: lists for rows
/// find some of them. A call that is large enough for a sample has longer lists, and so have small
/// ones once earlier ones told how long they have to be.
#[test]
fn queries_that_miss_more_than_rows_have_longer_lists() {
    let rows = 4 * ROWS;
    let (base, _) = split(rows, 0);
    let base = lengthened(&base);
    let between = between(&base, 1024);
    let dir = tempfile::tempdir().unwrap();
    let options = options(Preset::default(), 1).with_metric(Metric::InnerProduct);
    base.build(dir.path(), &options).unwrap();
    let open = || Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let few: Vec<Rows> = parts(&between, 128).collect();
    let mean = |found: &[f64]| found.iter().sum::<f64>() / found.len() as f64;
    let at_first: Vec<f64> = few
        .iter()
        .map(|own| recall(&open(), own, 10, 0.9).0)
        .collect();
    let (together, list_size) = recall(&open(), &between, 10, 0.9);
    let at_first = mean(&at_first);
    assert!(together > at_first + 0.05, "{at_first} {together}");
    // All vectors are compared where lists that surely find enough would cost as much.
    let is_short = list_size < rows as u32 / 4;
    assert!(is_short || together > 0.999, "{list_size} {together}");
    let index = open();
    let later: Vec<f64> = few
        .iter()
        .map(|own| recall(&index, own, 10, 0.9).0)
        .collect();
    let later = mean(later.get(4..).unwrap());
    assert!(later > at_first + 0.05, "{at_first} {later}");
}

/// Walks of a design that reads each list pay more than a scan of so few rows.
#[test]
fn where_lists_cost_more_than_all_vectors_these_are_compared() {
    let (base, like) = rows(512);
    let noisy = noisy(&base, 512);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::DiskAnn, 1))
        .unwrap();
    let least = OpenOptions::default().with_memory(MemoryWish::Bytes(720_000));
    let open = || Index::open(dir.path(), &least).unwrap();
    let wish = SearchOptions::nearest(10).with_effort(Effort::Recall(0.95));
    let search = |index: &Index, queries: &Rows, options: &SearchOptions| {
        let queries = Queries::new(&queries.bytes, queries.shape);
        index.search(&queries, options).unwrap()
    };
    let pages = |found: &pageway::Answers| {
        let all: u64 = found.stats.iter().map(|own| own.pages).sum();
        all as f64 / found.stats.len() as f64
    };
    let exact = search(&open(), &noisy, &wish.with_exact(true));
    let (few, rest) = (
        parts(&noisy, 100).next().unwrap(),
        search(&open(), &noisy, &wish),
    );
    let (unlike, list_size) = (rest.unlike, rest.settings.list_size);
    assert!(
        unlike > 0.9 && list_size == ROWS as u32,
        "{unlike} {list_size}"
    );
    assert!(rest.ids == exact.ids && rest.expected_recall == Some(1.0));
    assert!(rest.settings.threads > 0 && rest.stats.iter().all(|own| own.latency_ns > 0));
    // What the first sample cost is counted.
    let usual = pages(&search(&open(), &few, &wish));
    assert!(pages(&rest) < usual / 2.0, "{} {usual}", pages(&rest));
    assert!(pages(&rest) > pages(&exact));
    // Queries like the rows walk.
    let found = search(&open(), &like, &wish);
    assert!(found.stats.iter().all(|own| own.hops > 0));
}

/// The queries of one call tell little, those of many as much as a sample.
#[test]
fn queries_asked_one_at_a_time_have_the_lists_that_earlier_ones_tell() {
    let (base, like) = rows(512);
    let noisy = noisy(&base, 512);
    for (form, k) in [("resident", 10), ("on-disk", 10), ("on-disk", 1)] {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::default(), 1)
            .with_form(Some(form.to_owned()))
            .with_calibration_queries(75);
        base.build(dir.path(), &options).unwrap();
        let open = || Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let options = SearchOptions::nearest(k).with_effort(Effort::Recall(0.9));
        let all = |index: &Index, queries: &Rows| -> Vec<pageway::Answers> {
            let one = |own: Rows| index.search(&Queries::new(&own.bytes, own.shape), &options);
            parts(queries, 1).map(|own| one(own).unwrap()).collect()
        };
        let list = |found: &[pageway::Answers]| {
            let sizes = found.iter().map(|own| own.settings.list_size);
            f64::from(sizes.sum::<u32>()) / found.len() as f64
        };
        let is_compared = |own: &pageway::Answers| own.settings.list_size >= 200;
        let index = open();
        let found = all(&index, &like);
        let lists = found.split_at(32);
        let lists = (list(lists.0), list(lists.1));
        assert!(lists.1 < lists.0, "{form} {k}: {lists:?}");
        assert!(found.iter().all(|own| own.unlike < 1.0), "{form} {k}");
        assert!(!found.iter().any(is_compared), "{form} {k}");
        // Others are told, and searched with a much longer list too.
        let index = if k == 1 { open() } else { index };
        let others = all(&index, &noisy);
        assert!(others.iter().any(is_compared), "{form} {k}");
        let is_told = |own: &pageway::Answers| (own.unlike - 1.0).abs() < 1e-6;
        assert!(others.last().is_some_and(is_told), "{form} {k}");
        // And those come again.
        if k > 1 {
            let found = all(&index, &like);
            assert!(
                found.last().is_some_and(|own| own.unlike < 1.0),
                "{form} {k}"
            );
        }
    }
}

/// So many queries a call.
fn parts(queries: &Rows, each: usize) -> impl Iterator<Item = Rows> {
    let rows = queries.bytes.chunks(each * queries.shape.row_bytes());
    rows.map(|bytes| Rows {
        bytes: bytes.to_vec(),
        shape: queries.shape,
    })
}

/// The same rows, so many times as long.
fn times(base: &Rows, factor: f64) -> Rows {
    let rows = 0..base.count();
    let values = rows.flat_map(|row| base.values(row));
    let bytes = values.flat_map(|value| ((value * factor) as f32).to_le_bytes());
    Rows {
        bytes: bytes.collect(),
        shape: base.shape,
    }
}

/// The same rows, each so many times as long: from once to twice.
fn lengthened(base: &Rows) -> Rows {
    let row_bytes = base.shape.row_bytes();
    let value = |(place, bytes): (usize, &[u8])| {
        let times = 1.0 + (place * 4 / row_bytes * 37 % 100) as f32 / 100.0;
        (times * f32::from_le_bytes(bytes.try_into().unwrap())).to_le_bytes()
    };
    Rows {
        bytes: base
            .bytes
            .chunks_exact(4)
            .enumerate()
            .flat_map(value)
            .collect(),
        shape: base.shape,
    }
}

/// Points in the middle between a row and another.
fn between(base: &Rows, count: usize) -> Rows {
    let values: Vec<f32> = base
        .bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let dimension = base.shape.row_bytes() / 4;
    let others = values.iter().cycle().skip(997 * dimension);
    let middles = values.iter().zip(others).take(count * dimension);
    Rows {
        bytes: middles
            .flat_map(|(one, other)| f32::midpoint(*one, *other).to_le_bytes())
            .collect(),
        shape: base.shape,
    }
}

#[test]
fn recent_queries_are_kept_and_calibrate() {
    let (base, queries) = rows(400);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::default(), 1))
        .unwrap();
    let keeping = OpenOptions::default().with_recent_queries(200);
    let index = Index::open(dir.path(), &keeping).unwrap();
    let asked = Queries::new(&queries.bytes, queries.shape);
    index.search(&asked, &SearchOptions::nearest(10)).unwrap();
    let recent = index.recent_queries();
    let row_bytes = queries.shape.row_bytes();
    assert_eq!(recent.len(), 200 * row_bytes);
    for row in recent.chunks_exact(row_bytes) {
        assert!(queries.bytes.chunks_exact(row_bytes).any(|own| own == row));
    }
    let held = index.memory().bytes_of(pageway::MemoryPart::RecentQueries);
    assert_eq!(held, recent.len() as u64);
    let recent = Queries::new(&recent, queries.shape);
    let wish = CalibrateOptions::default();
    let made = index.calibrate(Some(&recent), &wish, &NoProgress).unwrap();
    assert!(!made.held_out && made.queries == 200);
    let none = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    none.search(&asked, &SearchOptions::nearest(10)).unwrap();
    assert!(none.recent_queries().is_empty());
}

/// The first rows, moved about half as far as their neighbours are.
fn noisy(base: &Rows, count: usize) -> Rows {
    let noise = Rows::clustered(count, 24, ElementType::F32, 77);
    let moved = |(own, noise): (&[u8], &[u8])| {
        let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
        (value(own) + 0.5 * value(noise)).to_le_bytes()
    };
    let pairs = base.bytes.chunks_exact(4).zip(noise.bytes.chunks_exact(4));
    Rows {
        bytes: pairs.flat_map(moved).collect(),
        shape: base.shape,
    }
}

/// Neighbour lists name one of some copies, and a row with a copy finds that at once: what stands
/// for queries must neither hide the way to others nor be easier than queries are.
#[test]
fn rows_with_copies_stand_for_queries_too() {
    let (base, queries) = rows(300);
    let half = &base.bytes[..base.bytes.len() / 2];
    for (metric, copies) in [
        (Metric::L2, half),
        (Metric::L2, &base.bytes[..]),
        (Metric::InnerProduct, half),
    ] {
        let copied = Rows {
            bytes: [&base.bytes[..], copies].concat(),
            shape: base.shape,
        };
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::DiskAnn, 1).with_metric(metric);
        copied.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let by_recall = |k| SearchOptions::nearest(k).with_effort(Effort::Recall(0.95));
        for k in [1, 10] {
            let what = format!("{metric:?}, {} copies, k {k}", copies.len());
            let (got, list_size) = recall(&index, &queries, k, 0.95);
            assert!(got >= 0.93 && list_size <= 80, "{what}: {got}, {list_size}");
            let drawn = index.held_out_rows(300, 1).unwrap();
            let told = index.measure_recall(&drawn.queries(), &by_recall(k), &NoProgress);
            let told = told.unwrap().recall;
            assert!(told >= 0.9, "{what}: {told} of rows");
        }
        let made = index.calibrate(None, &CalibrateOptions::default(), &NoProgress);
        made.unwrap();
        let (got, list_size) = recall(&index, &queries, 10, 0.95);
        assert!(
            got >= 0.93 && list_size <= 80,
            "{metric:?}: {got}, {list_size}"
        );
    }
}

/// Where there is little else than copies, recall is measured all the same.
#[test]
fn rows_of_nothing_but_copies_are_calibrated() {
    let (base, _) = rows(0);
    let row_bytes = base.shape.row_bytes();
    for (others, times) in [(0, 100), (0, 3), (3, 200), (100, 30)] {
        let own = base.row(0).repeat(times);
        let rows = Rows {
            bytes: [&own, &base.bytes[row_bytes..][..others * row_bytes]].concat(),
            shape: base.shape,
        };
        let dir = tempfile::tempdir().unwrap();
        rows.build(dir.path(), &options(Preset::DiskAnn, 1))
            .unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let queries = Queries::new(base.row(0), base.shape);
        let options = SearchOptions::nearest(2).with_effort(Effort::ListSize(100));
        let found = index.search(&queries, &options).unwrap();
        assert_eq!(found.distances, [0.0, 0.0], "{others} {times}");
        let drawn = index.held_out_rows(50, 1).unwrap();
        index
            .measure_recall(&drawn.queries(), &options, &NoProgress)
            .unwrap();
        index
            .calibrate(None, &CalibrateOptions::default(), &NoProgress)
            .unwrap();
    }
}

/// A graph of few rows, one of which is hidden, says nothing of what queries find.
#[test]
fn of_few_rows_all_are_found() {
    for (rows, dimension) in [(1, 3), (7, 1), (10, 16), (33, 1), (100, 8)] {
        let all = Rows::clustered(rows + 20, dimension, ElementType::F32, 4);
        let (base, others) = all.bytes.split_at(rows * all.shape.row_bytes());
        let base = Rows {
            bytes: base.to_vec(),
            shape: all.shape,
        };
        let queries = Rows {
            bytes: others.to_vec(),
            shape: all.shape,
        };
        for (preset, metric) in [
            (Preset::default(), Metric::L2),
            (Preset::default(), Metric::L1),
            (Preset::DiskAnn, Metric::L2),
            (Preset::DiskAnn, Metric::InnerProduct),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let options = BuildOptions::default()
                .with_preset(preset)
                .with_metric(metric);
            base.build(dir.path(), &options).unwrap();
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            for k in [1, 2, rows.min(10) as u32] {
                let k = k.min(rows as u32);
                let (got, _) = recall(&index, &queries, k, 0.8);
                assert!(
                    got > 0.999,
                    "{preset} {metric:?} {rows} x {dimension}, {k}: {got}"
                );
            }
        }
    }
}

/// Lists whose candidates all died are not all there is.
#[test]
fn as_many_are_found_as_live() {
    let all = Rows::clustered(3000, 16, ElementType::F32, 5);
    let (base, others) = all.bytes.split_at(2000 * all.shape.row_bytes());
    let base = Rows {
        bytes: base.to_vec(),
        shape: all.shape,
    };
    for (preset, kept) in [
        (Preset::default(), 1000),
        (Preset::DiskAnn, 1000),
        (Preset::default(), 20),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let options = BuildOptions::default().with_preset(preset);
        base.build(dir.path(), &options).unwrap();
        let update = UpdateOptions::default();
        let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
        let gone: Vec<u64> = (0..2000).map(|at| at * 7919 % 2000).skip(kept).collect();
        writer.delete(&gone, Durability::Deferred).unwrap();
        for (k, recall) in [(1, 0.5), (1, 0.8), (2, 0.7), (20, 0.95)] {
            let asked = Queries::new(others, base.shape);
            let by_recall = SearchOptions::nearest(k).with_effort(Effort::Recall(recall));
            let found = writer.index().search(&asked, &by_recall).unwrap();
            let none = found.ids.iter().filter(|id| **id == u64::MAX).count();
            assert_eq!(none, 0, "{preset}, {kept} kept, k {k} at {recall}");
        }
    }
}

#[test]
fn few_rows_that_match_are_compared_where_no_recall_is_known() {
    let (base, queries) = rows(5);
    let dir = tempfile::tempdir().unwrap();
    let unmeasured = options(Preset::default(), 1).with_calibration_queries(0);
    base.build(dir.path(), &unmeasured).unwrap();
    let update = UpdateOptions::default();
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
    writer.delete(&[3], Durability::Deferred).unwrap();
    let by_recall = SearchOptions::nearest(5).with_effort(Effort::Recall(0.9));
    let all = Queries::new(&queries.bytes, queries.shape);
    let refused = writer.index().search(&all, &by_recall).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let some = Filter::ids((0..40).collect::<IdSet>());
    let among = all.with_filter(&some);
    let found = writer.index().search(&among, &by_recall).unwrap();
    let exact = writer.index().search(&among, &by_recall.with_exact(true));
    assert_eq!(found.ids, exact.unwrap().ids);
    assert!(found.ids.iter().all(|id| *id < 40 && *id != 3));
}
