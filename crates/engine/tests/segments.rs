//! Indexes of several segments: the same rows in the same order, in files that are each sound.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed test may panic, and a test looks at the files as they are"
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Rows, distance, nearest, smallest_that_works};
use pageway::source::{IdSlice, VectorSlice};
use pageway::{
    Answers, BuildInput, BuildOptions, Effort, ElementType, ErrorKind, HeldOut, Index, MemoryPart,
    MemoryWish, Metric, NoProgress, NodeId, NodeSet, OpenOptions, Preset, Queries, SearchOptions,
    VectorRead, describe, verify,
};

const ROWS: usize = 1203;

fn base() -> Rows {
    Rows::clustered(ROWS, 16, ElementType::U8, 1)
}

fn options(preset: Preset, segments: u32) -> BuildOptions {
    BuildOptions::default()
        .with_preset(preset)
        .with_degree(12)
        .with_build_list(24)
        .with_calibration_queries(20)
        .with_segments(segments)
}

fn vectors(index: &Index) -> Vec<u8> {
    let mut bytes = vec![0; index.len() as usize * index.shape().row_bytes()];
    index.read(0, &mut bytes).unwrap();
    bytes
}

fn sorted(rows: &[u8], row_bytes: usize) -> Vec<&[u8]> {
    let mut rows: Vec<&[u8]> = rows.chunks_exact(row_bytes).collect();
    rows.sort_unstable();
    rows
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = std::fs::read_dir(dir).unwrap();
    names
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn every_design_keeps_all_rows_in_however_many_segments() {
    let (base, row_bytes) = (base(), 16);
    for preset in Preset::ALL {
        for segments in [1, 2, 4, 8] {
            let what = format!("{preset}, {segments} segments");
            let dir = tempfile::tempdir().unwrap();
            let report = base.build(dir.path(), &options(preset, segments)).unwrap();
            assert_eq!(report.nodes, ROWS as u64, "{what}");
            assert!(
                verify(dir.path(), &NoProgress).unwrap().is_sound(),
                "{what}"
            );
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            let found = vectors(&index);
            let mut end = 0;
            for segment in index.description().unwrap().segments {
                let rows = end * row_bytes..(end + segment.nodes as usize) * row_bytes;
                assert_eq!(segment.first_row as usize, end, "{what}");
                let (own, given) = (&found[rows.clone()], &base.bytes[rows]);
                assert_eq!(sorted(own, row_bytes), sorted(given, row_bytes), "{what}");
                end += segment.nodes as usize;
            }
            assert_eq!(end, ROWS, "{what}");
        }
    }
}

#[test]
fn a_run_of_rows_is_read_across_segments() {
    let base = base();
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::DiskAnn, 4))
        .unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    for (first, count) in [(0, 1), (299, 4), (300, 301), (900, 303), (1202, 1)] {
        let mut rows = vec![0; count * 16];
        index.read(first as u64, &mut rows).unwrap();
        assert_eq!(rows, base.bytes[first * 16..(first + count) * 16]);
    }
    assert!(index.read(1202, &mut [0; 32]).is_err(), "beyond the end");
    assert!(index.read(0, &mut [0; 17]).is_err(), "part of a row");
}

#[test]
fn one_segment_has_the_names_and_the_bytes_it_always_had() {
    let base = base();
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    base.build(one.path(), &options(Preset::DiskAnn, 1))
        .unwrap();
    base.build(two.path(), &options(Preset::DiskAnn, 2))
        .unwrap();
    let names = |dir: &Path| files(dir).into_keys().collect::<Vec<_>>();
    assert_eq!(
        names(one.path()),
        [
            "LOCK",
            "MANIFEST",
            "codebook-1.pw",
            "codes-1.pw",
            "hot-1.pw",
            "records-1.pw"
        ]
    );
    let of_two = names(two.path());
    for name in ["codebook", "codes", "hot", "records"] {
        for number in 0..2 {
            assert!(
                of_two.contains(&format!("{name}-1-{number}.pw")),
                "{of_two:?}"
            );
        }
    }
    assert_eq!(of_two.len(), 2 + 8);
}

#[test]
fn the_bytes_of_segments_do_not_depend_on_threads() {
    let base = base();
    let of = |threads| {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::Starling, 3).with_threads(threads);
        base.build(dir.path(), &options).unwrap();
        files(dir.path())
    };
    assert_eq!(of(1), of(4));
}

#[test]
fn memory_is_divided_over_segments_and_a_rebuild_replaces_all() {
    let base = base();
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::DiskAnn, 4))
        .unwrap();
    let open = |bytes| {
        let options = OpenOptions::default().with_memory(MemoryWish::Bytes(bytes));
        Index::open(dir.path(), &options)
    };
    let least = smallest_that_works(&open(1).err().unwrap());
    assert!(open(least - 1).is_err());
    for bytes in [least, least + 10_000, 2 * least] {
        let memory = open(bytes).unwrap().memory();
        let held: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
        assert!(held <= bytes, "{memory:?}");
        let codes = memory.bytes_of(MemoryPart::Codes);
        assert_eq!(codes % ROWS as u64, 0, "codes of all rows: {memory:?}");
    }
    let description = describe(dir.path()).unwrap();
    assert_eq!(
        (description.nodes, description.segments.len()),
        (ROWS as u64, 4)
    );
    base.build(dir.path(), &options(Preset::DiskAnn, 2))
        .unwrap();
    let now = describe(dir.path()).unwrap();
    assert_eq!((now.generation, now.segments.len()), (2, 2));
    assert_eq!(files(dir.path()).len(), 2 + now.files.len());
}

#[test]
fn what_cannot_be_cut_is_refused_before_anything_is_written() {
    let base = base();
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("index");
    for segments in [0, 257, 1204] {
        let error = base
            .build(&dir, &options(Preset::DiskAnn, segments))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.context().contains("give 1 to 256"), "{error}");
    }
    let three = Rows::clustered(3, 16, ElementType::U8, 1);
    let error = three.build(&dir, &options(Preset::DiskAnn, 4)).unwrap_err();
    assert!(error.context().contains("give 1 to 3"), "{error}");
    assert!(!dir.exists());
    three.build(&dir, &options(Preset::DiskAnn, 3)).unwrap();
    assert_eq!(
        vectors(&Index::open(&dir, &OpenOptions::default()).unwrap()),
        three.bytes
    );
}

/// Rows that no segment holds, near those that they do.
fn others() -> Rows {
    Rows::clustered(40, 16, ElementType::U8, 2)
}

fn user_id(row: u64) -> u64 {
    (row << 20) | 5
}

/// Builds with user ids, and opens.
fn index_of(base: &Rows, dir: &Path, options: &BuildOptions) -> Index {
    let ids: Vec<u64> = (0..base.count() as u64).map(user_id).collect();
    let vectors = VectorSlice::new(&base.bytes, base.shape).unwrap();
    let ids = IdSlice(&ids);
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
    Index::build(dir, &input, options, &NoProgress).unwrap();
    Index::open(dir, &OpenOptions::default()).unwrap()
}

fn listing(size: u32) -> SearchOptions {
    SearchOptions::default().with_effort(Effort::ListSize(size))
}

fn recall(base: &Rows, queries: &Rows, answers: &Answers) -> f64 {
    let mut hits = 0;
    for query in 0..queries.count() {
        let found = &answers.rows[query * 10..][..10];
        let truth = nearest(base, queries, query, 10, Metric::L2);
        let kth = distance(
            &queries.values(query),
            &base.values(truth[9] as usize),
            Metric::L2,
        );
        let near = |row: &&u32| {
            let found = base.values(**row as usize);
            distance(&queries.values(query), &found, Metric::L2) <= kth
        };
        hits += found.iter().filter(near).count();
    }
    hits as f64 / (queries.count() * 10) as f64
}

#[test]
fn every_design_finds_as_much_in_several_segments_as_in_one() {
    let (base, queries) = (base(), others());
    let asked = Queries::new(&queries.bytes, queries.shape);
    for preset in Preset::ALL {
        let mut of_one = 0.0;
        for segments in [1, 2, 4, 8] {
            let what = format!("{preset}, {segments} segments");
            let dir = tempfile::tempdir().unwrap();
            let index = index_of(&base, dir.path(), &options(preset, segments));
            let answers = index.search(&asked, &listing(80)).unwrap();
            for (row, id) in answers.rows.iter().zip(&answers.ids) {
                assert_eq!(*id, user_id((*row).into()), "{what}");
            }
            let found = recall(&base, &queries, &answers);
            if segments == 1 {
                of_one = found;
            }
            assert!(found >= of_one - 0.02, "{what}: {found}, one {of_one}");
            let by_recall = SearchOptions::default().with_effort(Effort::Recall(0.9));
            let found = recall(&base, &queries, &index.search(&asked, &by_recall).unwrap());
            assert!(found >= 0.85, "{what}: {found} of a recall of 0.9");
            finds_copies(&base, &index, &what);
        }
    }
}

/// Rows find themselves, unless they are held out.
fn finds_copies(base: &Rows, index: &Index, what: &str) {
    let rows: Vec<usize> = (0..ROWS).step_by(101).collect();
    let bytes: Vec<u8> = rows
        .iter()
        .flat_map(|row| base.row(*row))
        .copied()
        .collect();
    let queries = Queries::new(&bytes, base.shape);
    let answers = index.search(&queries, &listing(60)).unwrap();
    let mut nodes = Vec::new();
    for (query, row) in rows.iter().enumerate() {
        let own = query * 10;
        assert_eq!(answers.distances[own], 0.0, "{what}: row {row}");
        assert_eq!(answers.rows[own] as usize, *row, "{what}");
        assert_eq!(answers.ids[own], user_id(*row as u64), "{what}");
        nodes.push(HeldOut::new(NodeId(answers.nodes[own])));
    }
    let without = queries.with_held_out(Some(&nodes));
    let answers = index.search(&without, &listing(60)).unwrap();
    for (query, row) in rows.iter().enumerate() {
        let found = &answers.rows[query * 10..][..10];
        assert!(!found.contains(&(*row as u32)), "{what}: {row} held out");
    }
}

#[test]
fn a_radius_and_a_set_of_nodes_reach_over_segments() {
    let (base, queries) = (base(), others());
    let dir = tempfile::tempdir().unwrap();
    let index = index_of(&base, dir.path(), &options(Preset::DiskAnn, 4));
    let radius = 3000.0;
    let asked = Queries::new(&queries.bytes, queries.shape);
    let within = SearchOptions::nearest(ROWS as u32)
        .with_radius(radius)
        .with_effort(Effort::ListSize(300));
    let answers = index.search(&asked, &within).unwrap();
    let (mut all, mut missed) = (0, 0);
    for query in 0..queries.count() {
        let found = &answers.rows[answers.lims[query]..answers.lims[query + 1]];
        for row in 0..ROWS {
            let values = (queries.values(query), base.values(row));
            if distance(&values.0, &values.1, Metric::L2) <= radius.into() {
                all += 1;
                missed += usize::from(!found.contains(&(row as u32)));
            }
        }
    }
    assert!(all > 300 && missed * 100 <= all, "{missed} of {all} missed");
    let even = NodeSet::new((0..ROWS as u32).filter(|node| node % 2 == 0).map(NodeId));
    let among = asked.with_admitted(&even);
    let answers = index.search(&among, &listing(60)).unwrap();
    let nodes = answers.nodes.iter();
    assert!(nodes.clone().all(|node| even.contains(NodeId(*node))));
    let segments = nodes.map(|node| node * 4 / ROWS as u32);
    assert_eq!(segments.collect::<std::collections::BTreeSet<_>>().len(), 4);
}

#[test]
fn places_of_rows_that_are_not_there_stay_empty() {
    let three = Rows::clustered(3, 16, ElementType::U8, 1);
    let dir = tempfile::tempdir().unwrap();
    let index = index_of(&three, dir.path(), &options(Preset::DiskAnn, 3));
    let queries = Queries::new(three.row(0), three.shape);
    let exact = SearchOptions::default().with_exact(true);
    for search in [SearchOptions::default(), listing(10), exact] {
        let found = index.search(&queries, &search.with_k(5)).unwrap();
        let mut ids = found.ids[..3].to_vec();
        ids.sort_unstable();
        assert_eq!(ids, [user_id(0), user_id(1), user_id(2)]);
        assert_eq!(found.ids[3..], [u64::MAX; 2]);
        assert_eq!(found.distances[3..], [f32::INFINITY; 2]);
    }
    for k in [0, 100_001] {
        let error = index.search(&queries, &listing(10).with_k(k)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let words = format!("k = {k}: give 1 to 100000");
        assert!(error.context().contains(&words), "{error}");
    }
}

#[test]
fn answers_over_segments_do_not_depend_on_threads() {
    let (base, queries) = (base(), others());
    for preset in [Preset::DiskAnn, Preset::Starling, Preset::Pageway] {
        let dir = tempfile::tempdir().unwrap();
        let index = index_of(&base, dir.path(), &options(preset, 4));
        let asked = Queries::new(&queries.bytes, queries.shape);
        let of = |threads, interleave| {
            let options = listing(30)
                .with_threads(threads)
                .with_interleave(interleave);
            let answers = index.search(&asked, &options).unwrap();
            (answers.rows, answers.distances)
        };
        let alone = of(1, 1);
        assert_eq!(alone, of(1, 8), "{preset}");
        assert_eq!(alone, of(3, 4), "{preset}");
    }
}

#[test]
fn segments_of_one_build_share_a_quantizer() {
    let base = base();
    for preset in [Preset::DiskAnn, Preset::Pageway] {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(preset, 4)).unwrap();
        let files = files(dir.path());
        let books: Vec<_> = (0..4)
            .map(|number| &files[&format!("codebook-1-{number}.pw")])
            .collect();
        assert!(books.iter().all(|book| *book == books[0]), "{preset}");
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let alone = tempfile::tempdir().unwrap();
        base.build(alone.path(), &options(preset, 1)).unwrap();
        let one = Index::open(alone.path(), &OpenOptions::default()).unwrap();
        let bytes = |index: &Index| index.memory().bytes_of(MemoryPart::Codebook);
        assert_eq!(bytes(&index), bytes(&one), "{preset}");
    }
}
