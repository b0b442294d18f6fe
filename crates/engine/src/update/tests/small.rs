//! What single calls do, and refuse.

use pageway_types::{Metric, NoProgress};

use super::model::{Model, SHAPE, open};
use crate::error::ErrorKind;
use crate::memory::{MemoryPart, MemoryWish};
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::source::VectorSlice;
use crate::update::{CreateOptions, Rows, UpdateOptions, Writer};
use crate::{Durability, Index};

fn created() -> (tempfile::TempDir, Writer) {
    let dir = tempfile::tempdir().unwrap();
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_degree(12)
        .with_expected(2000);
    Writer::create(dir.path(), &options).unwrap();
    let writer = open(dir.path());
    (dir, writer)
}

#[test]
fn an_empty_index_answers_nothing_and_is_made_once() {
    let (dir, writer) = created();
    let index = writer.index();
    assert!(index.is_empty());
    let query = [0; 12];
    let answers = index
        .search(&Queries::new(&query, SHAPE), &SearchOptions::nearest(3))
        .unwrap();
    assert_eq!(answers.ids, [u64::MAX; 3]);
    let empty = index.description().unwrap();
    for mean in [
        Some(empty.mean_degree),
        Some(empty.page_utilisation),
        empty.overlap,
    ] {
        assert!(mean.is_none_or(f64::is_sign_positive), "{mean:?}");
    }
    writer.flush(&NoProgress).unwrap();
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(
        writer.delete(&[1, 2], Durability::Synced).unwrap().absent,
        2
    );
    let options = CreateOptions::new(SHAPE, Metric::L2);
    let again = Writer::create(dir.path(), &options).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Busy, "{again}");
    drop(writer);
    let again = Writer::create(dir.path(), &options).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidInput, "{again}");
}

#[test]
fn there_is_one_writer() {
    let (dir, writer) = created();
    let second = Writer::open(
        dir.path(),
        &OpenOptions::default(),
        &UpdateOptions::default(),
    );
    assert_eq!(second.err().unwrap().kind(), ErrorKind::Busy);
    // Others may read meanwhile, and follow.
    let reader = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    assert!(!reader.refresh().unwrap());
    let mut model = Model::new(1);
    let row = model.row();
    writer.insert(&Rows::new(&row, SHAPE)).unwrap();
    assert!(!reader.refresh().unwrap());
    assert_eq!((reader.len(), writer.index().len()), (0, 1));
    writer.flush(&NoProgress).unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.len(), 1);
    writer.delete(&[0], Durability::Synced).unwrap();
    writer.flush(&NoProgress).unwrap();
    assert!(reader.refresh().unwrap());
    assert!(reader.is_empty());
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let (_dir, writer) = created();
    let mut model = Model::new(2);
    let bytes = model.rows(3).concat();
    let rows = Rows::new(&bytes, SHAPE);
    writer.insert(&rows.with_ids(&[4, 5, 6][..])).unwrap();
    let mut other = SHAPE;
    other.dimension = 6;
    let refused = [
        (writer.insert(&rows.with_ids(&[7, 5, 8][..])), "id 5"),
        (writer.insert(&rows.with_ids(&[7, 7, 8][..])), "7"),
        (writer.insert(&rows.with_ids(&[7, u64::MAX, 8][..])), ""),
        (writer.insert(&rows.with_ids(&[7][..])), "1 ids for 3 rows"),
        (writer.insert(&Rows::new(&bytes, other)), "the index holds"),
        (
            writer.insert(&Rows::new(&bytes[1..], SHAPE)),
            "whole number",
        ),
        (writer.upsert(&rows), "need ids"),
        (writer.delete(&[5, 5], Durability::Synced), "5"),
    ];
    for (outcome, words) in refused {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    let changes = writer.changes().unwrap();
    assert_eq!((changes.rows, changes.lsn), (3, 1));
    // Ids that are given are above all that were.
    let done = writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
    assert_eq!(done.first_id, Some(7));
}

#[test]
fn equally_near_rows_are_in_the_order_of_their_ids() {
    let (_dir, writer) = created();
    let row = Model::new(3).row();
    let ids: Vec<u64> = (0..60).rev().collect();
    for (number, ids) in ids.chunks(15).enumerate() {
        let bytes = row.repeat(ids.len());
        let rows = Rows::new(&bytes, SHAPE).with_ids(ids);
        writer.upsert(&rows).unwrap();
        if number < 3 {
            writer.flush(&NoProgress).unwrap();
        }
    }
    for (exact, k) in [(true, 10), (true, 60), (false, 1), (false, 10), (false, 60)] {
        let options = SearchOptions::nearest(k).with_effort(Effort::ListSize(100));
        let queries = Queries::new(&row, SHAPE);
        let answers = writer.index().search(&queries, &options.with_exact(exact));
        let ids = answers.unwrap().ids;
        assert!(ids.iter().copied().eq(0..u64::from(k)), "{exact} {ids:?}");
    }
}

#[test]
fn rows_get_no_ids_behind_the_last_number() {
    let (dir, writer) = created();
    let capacity = writer.changes().unwrap().delta_capacity;
    let last = i64::MAX as u64;
    let put = |writer: &Writer, (count, ids): (u64, Option<&[u64]>)| {
        let bytes = Model::new(2).rows(count as usize).concat();
        writer.insert(&Rows {
            ids,
            ..Rows::new(&bytes, SHAPE)
        })
    };
    put(&writer, (1, Some(&[last - capacity]))).unwrap();
    // A call of several records is refused as a whole.
    let error = put(&writer, (capacity + 1, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert_eq!(writer.index().len(), 1);
    let done = put(&writer, (capacity, None)).unwrap();
    assert_eq!(done.first_id, Some(last - capacity + 1));
    assert!(put(&writer, (1, None)).is_err());
    writer.flush(&NoProgress).unwrap();
    drop(writer);
    let writer = open(dir.path());
    let error = put(&writer, (1, None)).unwrap_err().to_string();
    assert!(error.contains("give ids or names"), "{error}");
    put(&writer, (1, Some(&[7]))).unwrap();
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(writer.index().len(), capacity + 2);
}

/// The least memory that the words of a refusal name.
pub(super) fn least(refused: crate::error::Result<Writer>) -> u64 {
    refused.err().unwrap().least_named()
}

/// The least memory that an index opens with.
pub(super) fn tightest(with: impl Fn(u64) -> crate::error::Result<Writer>) -> u64 {
    let (mut low, mut high) = (1 << 20, least(with(1 << 20)));
    while low < high {
        let middle = low + (high - low) / 2;
        match with(middle) {
            Ok(_) => high = middle,
            Err(_) => low = middle + 1,
        }
    }
    high
}

#[test]
fn too_little_memory_is_refused_with_the_least_that_works() {
    let (dir, writer) = created();
    drop(writer);
    let with = |bytes: u64| {
        let options = UpdateOptions::default().with_memory(MemoryWish::Bytes(bytes));
        Writer::open(dir.path(), &OpenOptions::default(), &options)
    };
    let error = with(1 << 20).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains("smallest"), "{error}");
    let writer = with(128 << 20).unwrap();
    let memory = writer.index().memory();
    assert_eq!(memory.bytes_of(MemoryPart::Updates), 128 << 20);
    assert!(writer.changes().unwrap().delta_capacity > 1000);
}

#[test]
fn the_least_that_flushes_is_enough_for_rows_with_attributes() {
    let (dir, writer) = created();
    drop(writer);
    let with = |build: u64| {
        let options = UpdateOptions::default()
            .with_memory(MemoryWish::Bytes(128 << 20))
            .with_build_memory(MemoryWish::Bytes(build))
            .with_in_foreground(true);
        Writer::open(dir.path(), &OpenOptions::default(), &options)
    };
    let writer = with(least(with(1 << 20))).unwrap();
    let count = 256;
    let bytes = Model::new(5).rows(count).concat();
    let texts = vec!["{\"a\": 1}".to_owned(); count];
    let slice = crate::source::TextSlice::attributes(&texts);
    let rows = Rows::new(&bytes, SHAPE);
    writer
        .insert(&rows.with_attributes(&slice as &dyn crate::source::TextRead))
        .unwrap();
    writer.flush(&NoProgress).unwrap();
    let description = writer.index().description().unwrap();
    assert!(!description.calibration.curves.is_empty());
}

#[test]
fn a_full_delta_is_flushed() {
    let (dir, writer) = created();
    drop(writer);
    let options = UpdateOptions::default()
        .with_memory(MemoryWish::Bytes(34_100_000))
        .with_build_memory(MemoryWish::Bytes(32_000_000));
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &options);
    let error = writer
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    // The least that works is told to the byte.
    let least = error
        .split("works is ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let least: u64 = least.unwrap_or("34100000").parse().unwrap();
    let options = options.with_memory(MemoryWish::Bytes(least));
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &options).unwrap();
    let capacity = writer.changes().unwrap().delta_capacity;
    assert!((1..2000).contains(&capacity), "{capacity}");
    let mut model = Model::new(3);
    let rows = model.rows(2 * capacity as usize + 5);
    let done = writer.insert(&Rows::new(&rows.concat(), SHAPE)).unwrap();
    model.rows.extend((0..).zip(rows));
    assert_eq!(done.inserted, model.rows.len() as u64);
    let changes = writer.changes().unwrap();
    assert!(
        changes.work.flushes >= 1 && changes.delta_rows <= 2 * capacity,
        "{changes:?}"
    );
    assert!(model.check(writer.index()) > 0.95);
}

#[test]
fn a_snapshot_is_an_index_of_its_own() {
    let (dir, writer) = created();
    let mut model = Model::new(4);
    let rows = model.rows(40);
    writer.insert(&Rows::new(&rows.concat(), SHAPE)).unwrap();
    model.rows.extend((0..).zip(rows));
    let copy = dir.path().join("copy");
    writer.snapshot(&copy, &NoProgress).unwrap();
    writer.delete(&[1, 2, 3], Durability::Synced).unwrap();
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(
        model.check(&Index::open(&copy, &OpenOptions::default()).unwrap()),
        1.0
    );
    let other = open(&copy);
    other.delete(&[7], Durability::Synced).unwrap();
    model.rows.remove(&7);
    assert_eq!(model.check(other.index()), 1.0);
    assert_eq!(writer.index().len(), 37);
    let error = writer.snapshot(&copy, &NoProgress).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
}

#[test]
fn an_index_may_be_emptied_and_filled_again() {
    let (dir, writer) = created();
    let mut model = Model::new(6);
    for round in 0..3 {
        let rows = model.rows(30);
        let ids: Vec<u64> = (0..30).collect();
        let put = Rows::new(&rows.concat(), SHAPE).with_ids(&*ids).durability;
        assert_eq!(put, Durability::Synced);
        let bytes = rows.concat();
        writer
            .insert(&Rows::new(&bytes, SHAPE).with_ids(&*ids))
            .unwrap();
        model.rows.extend((0..).zip(rows));
        if round > 0 {
            writer.flush(&NoProgress).unwrap();
        }
        assert_eq!(model.check(writer.index()), 1.0);
        writer.delete(&ids, Durability::Synced).unwrap();
        model.rows.clear();
        model.check(writer.index());
        writer.merge(round == 2, &NoProgress).unwrap();
        model.check(writer.index());
    }
    assert!(writer.index().version().segments.is_empty());
    let of_recall = OpenOptions::default().with_effort(Effort::Recall(0.9));
    assert!(Index::open(dir.path(), &of_recall).unwrap().is_empty());
}

#[test]
fn a_reader_that_follows_sees_what_was_committed() {
    let (dir, writer) = created();
    let mut model = Model::new(21);
    let mut put = |writer: &Writer| {
        let rows = model.rows(30);
        let done = writer.insert(&Rows::new(&rows.concat(), SHAPE)).unwrap();
        model.rows.extend((done.first_id.unwrap()..).zip(rows));
        writer.flush(&NoProgress).unwrap();
    };
    put(&writer);
    let follow = |every| {
        let options = OpenOptions::default().with_follow(std::time::Duration::from_secs(every));
        Index::open(dir.path(), &options).unwrap()
    };
    let (always, rarely) = (follow(0), follow(3600));
    let query = [0; 12];
    let search = |index: &Index| {
        let queries = Queries::new(&query, SHAPE);
        index.search(&queries, &SearchOptions::nearest(3)).unwrap();
        index.len()
    };
    assert_eq!((search(&always), search(&rarely)), (30, 30));
    put(&writer);
    assert_eq!((search(&always), search(&rarely)), (60, 30));
    writer.delete(&[1], Durability::Synced).unwrap();
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!((search(&always), search(&rarely)), (59, 30));
}

#[test]
fn a_longer_vector_than_any_before_is_found_by_inner_product() {
    for form in ["resident", "clustered"] {
        let dir = tempfile::tempdir().unwrap();
        let options = CreateOptions::new(SHAPE, Metric::InnerProduct)
            .with_form(form.to_owned())
            .with_degree(12)
            .with_expected(2000);
        Writer::create(dir.path(), &options).unwrap();
        let writer = open(dir.path());
        let mut model = Model::new(8);
        let short: Vec<Vec<u8>> = model
            .rows(300)
            .iter()
            .map(|row| row.iter().map(|value| value / 12).collect())
            .collect();
        writer.insert(&Rows::new(&short.concat(), SHAPE)).unwrap();
        writer.flush(&NoProgress).unwrap();
        let long = [250; 12];
        let id = writer
            .insert(&Rows::new(&long, SHAPE))
            .unwrap()
            .first_id
            .unwrap();
        let nearest = || {
            let query = [9; 12];
            let queries = Queries::new(&query, SHAPE);
            let answers = writer.index().search(&queries, &SearchOptions::nearest(3));
            answers.unwrap().ids[0]
        };
        assert_eq!(nearest(), id, "{form}, in the delta");
        writer.flush(&NoProgress).unwrap();
        assert_eq!(nearest(), id, "{form}, in a segment");
        writer.merge(true, &NoProgress).unwrap();
        assert_eq!(nearest(), id, "{form}, merged");
    }
}

#[test]
fn recall_is_measured_while_rows_come_and_go() {
    let (_dir, writer) = created();
    let mut model = Model::new(8);
    let rows = model.rows(3000);
    writer.insert(&Rows::new(&rows.concat(), SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    model.rows = (0..).zip(rows).collect();
    let gone: Vec<u64> = (0..600).map(|at| at * 5).collect();
    writer.delete(&gone, Durability::Synced).unwrap();
    model.rows.retain(|id, _| id % 5 != 0);
    let more = model.rows(100);
    writer.insert(&Rows::new(&more.concat(), SHAPE)).unwrap();
    model.rows.extend((3000..).zip(more));
    let (index, bytes) = (writer.index(), model.rows(40).concat());
    let queries = Queries::new(&bytes, SHAPE);
    for list_size in [1, 10, 3100] {
        let options = SearchOptions::nearest(10).with_effort(Effort::ListSize(list_size.max(10)));
        let options = SearchOptions {
            k: options.k.min(list_size),
            ..options
        };
        let report = index
            .measure_recall(&queries, &options, &NoProgress)
            .unwrap();
        let answers = index.search(&queries, &options).unwrap();
        let share = |(query, found): (&[u8], &[f32])| {
            let nearest = model.nearest(query, options.k as usize);
            let farthest = nearest.last().copied().unwrap();
            let hits = found.iter().filter(|found| **found <= farthest).count();
            hits as f64 / nearest.len() as f64
        };
        let pairs = bytes.chunks(12).zip(answers.distances.chunks(answers.k));
        let all: Vec<f64> = pairs.map(share).collect();
        let mean = all.iter().sum::<f64>() / 40.0;
        assert!(
            (report.recall - mean).abs() < 1e-9,
            "{report:?}, counted {mean}"
        );
        assert_eq!(report.queries, 40);
        assert!(list_size < 3100 || report.recall == 1.0, "{report:?}");
    }
    let own = index.held_out_rows(100, 3).unwrap();
    let options = SearchOptions::nearest(5).with_effort(Effort::ListSize(3100));
    let report = index
        .measure_recall(&own.queries(), &options, &NoProgress)
        .unwrap();
    assert_eq!(report.recall, 1.0);
    let found = index.search(&own.queries(), &options).unwrap();
    assert!((60..=100).contains(&report.queries));
    assert_eq!(found.stats.len(), report.queries);
}

#[test]
fn recall_that_was_not_measured_is_after_a_full_merge() {
    let mut model = Model::new(8);
    let bytes = model.rows(60).concat();
    let dir = tempfile::tempdir().unwrap();
    let build = BuildOptions {
        calibration_queries: Some(0),
        degree: 12,
        ..BuildOptions::default()
    };
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let input = BuildInput::new(&vectors, "rows");
    Index::build(dir.path(), &input, &build, &NoProgress).unwrap();
    let query = model.row();
    let ask =
        |index: &Index| index.search(&Queries::new(&query, SHAPE), &SearchOptions::nearest(3));
    let orders = |error: crate::Error| {
        let words = error.to_string();
        let places = ["merge", "fully", "close", "calibrate"].map(|word| words.find(word));
        assert!(places.is_sorted() && places[0].is_some(), "{words}");
    };
    let writer = open(dir.path());
    orders(ask(writer.index()).unwrap_err());
    writer.delete(&[0], Durability::Synced).unwrap();
    orders(ask(writer.index()).unwrap_err());
    let calibrate = |index: &Index| index.calibrate(None, &<_>::default(), &NoProgress);
    let refused = calibrate(writer.index()).unwrap_err().to_string();
    assert!(
        refused.contains("merge it fully, then close it"),
        "{refused}"
    );
    writer.flush(&NoProgress).unwrap();
    drop(writer);
    let reader = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    orders(ask(&reader).unwrap_err());
    drop(reader);
    let writer = open(dir.path());
    writer.merge(true, &NoProgress).unwrap();
    ask(writer.index()).unwrap();
    drop(writer);
    let reader = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    ask(&reader).unwrap();
    calibrate(&reader).unwrap();
}
