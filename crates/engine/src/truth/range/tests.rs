//! Exact ranges against a naive oracle, their files, average precision.

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Metric, NoProgress, VectorRead, VectorShape};
use proptest::prelude::*;

use super::*;
use crate::source::VectorSlice;
use crate::source::scratch_folder::{ScratchFolder, le};
use crate::truth::{ExactOptions, Truth, TruthFile, write_truth};
use crate::{Error, ErrorKind};

/// Rows of small integers, so that ties abound and every element type holds them.
fn rows(element: ElementType, count: usize, seed: u64) -> Vec<u8> {
    let mut random = pageway_types::SplitMix64::new(seed);
    let mut bytes = Vec::new();
    for _ in 0..count {
        let value = (random.next_u64() % 5) as u8 + 1;
        match element {
            ElementType::F32 => bytes.extend(f32::from(value).to_le_bytes()),
            ElementType::F16 => bytes.extend(half::f16::from(value).to_le_bytes()),
            ElementType::Bf16 => bytes.extend(half::bf16::from(value).to_le_bytes()),
            ElementType::U8 | ElementType::I8 => bytes.push(value),
            // Eight components at once, in place of eight in a row.
            ElementType::Bit => bytes.push(value.wrapping_mul(37)),
        }
    }
    bytes
}

fn ask(
    base: &VectorSlice<'_>,
    question: &RangeQuestion<'_>,
    (memory_bytes, threads): (u64, usize),
) -> Result<RangeTruth, Error> {
    let pool = crate::threads::thread_pool(threads).unwrap();
    let options = ExactOptions {
        memory_bytes,
        pool: &pool,
    };
    exact_range(base, question, &options, &NoProgress)
}

/// All rows within the radius by distance, then id, for each query.
fn oracle(base: &VectorSlice<'_>, question: &RangeQuestion<'_>) -> RangeTruth {
    let shape = question.queries.shape();
    let distance = KernelSet::detect()
        .unwrap()
        .distance(shape.element, question.metric);
    let mut truth = RangeTruth::default();
    for query in question.queries.bytes().chunks(shape.row_bytes()) {
        let rows = base.bytes().chunks(shape.row_bytes());
        let mut all: Vec<(f32, u32)> = rows.map(|row| distance(query, row)).zip(0..).collect();
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let (distances, ids): (Vec<f32>, Vec<u32>) = all.into_iter().unzip();
        truth.add(&ids, &distances, question.radius);
    }
    truth
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_range_holds_what_the_oracle_holds(
        element in prop::sample::select(ElementType::ALL.to_vec()),
        metric in prop::sample::select(Metric::ALL.to_vec()),
        count in 1_usize..400,
        queries in 1_usize..30,
        dimension in 1_u32..40,
        share in 0.0_f32..1.2,
    ) {
        prop_assume!(metric.compares(element));
        let bits = if element == ElementType::Bit { 8 } else { 1 };
        let shape = VectorShape { dimension: dimension * bits, element };
        let components = dimension as usize;
        let base_bytes = rows(element, count * components, 1);
        let query_bytes = rows(element, queries * components, 2);
        let base = VectorSlice::new(&base_bytes, shape).unwrap();
        let farthest = match metric {
            Metric::L2 => 16.0 * dimension as f32,
            Metric::InnerProduct => -25.0 * dimension as f32,
            Metric::Cosine => 0.5,
            Metric::L1 | Metric::Hamming => 4.0 * dimension as f32,
            Metric::Jaccard => 1.0,
        };
        let question = RangeQuestion {
            queries: VectorSlice::new(&query_bytes, shape).unwrap(),
            metric,
            radius: farthest * share * share,
        };
        let expected = oracle(&base, &question);
        let results = expected.ids.len() as u64;
        let memory = exact_range_bytes(queries as u64, results, shape.row_bytes());
        prop_assert_eq!(&ask(&base, &question, (memory, 1)).unwrap(), &expected);
        prop_assert_eq!(&ask(&base, &question, (memory, 3)).unwrap(), &expected);
        let error = ask(&base, &question, (memory - 1, 2)).unwrap_err();
        prop_assert!(error.context().contains(&format!("takes {memory} bytes")), "{}", error);
    }
}

#[test]
fn impossible_ranges_are_refused() {
    let shape = VectorShape {
        dimension: 2,
        element: ElementType::F32,
    };
    let bytes = le!(f32: 1.0, 2.0, 3.0, 4.0);
    let nan = le!(f32: 1.0, 2.0, f32::NAN, 4.0);
    let base = VectorSlice::new(&bytes, shape).unwrap();
    let question = |bytes, radius| RangeQuestion {
        queries: VectorSlice::new(bytes, shape).unwrap(),
        metric: Metric::L2,
        radius,
    };
    for (question, words) in [
        (question(&bytes, f32::NAN), "radius: not a number"),
        (question(&[], 1.0), "no queries"),
        (question(&nan, 1.0), "row 1, component 0 is NaN"),
    ] {
        let error = ask(&base, &question, (1 << 30, 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.context().contains(words), "{error}");
    }
    let all = ask(&base, &question(&bytes, f32::INFINITY), (1 << 30, 1)).unwrap();
    assert_eq!((all.ids, all.lims), (vec![0, 1, 1, 0], vec![0, 2, 4]));
    let none = ask(&base, &question(&bytes, -1.0), (1 << 30, 1)).unwrap();
    assert_eq!((none.ids.len(), none.lims), (0, vec![0, 0, 0]));
}

fn ranges() -> RangeTruth {
    RangeTruth {
        lims: vec![0, 2, 2, 5],
        ids: vec![4, 5, 6, 7, 8],
        distances: vec![0.5, 1.0, 0.0, 2.0, 2.5],
    }
}

#[test]
fn ranges_are_written_and_read_by_block() {
    let folder = ScratchFolder::new();
    let path = folder.path("a.rangeres");
    write_range_truth(&folder.vfs, &path, &ranges()).unwrap();
    let bytes = [
        le!(u32: 3, 5, 2, 0, 3),
        le!(i32: 4, 5, 6, 7, 8),
        le!(f32: 0.5, 1.0, 0.0, 2.0, 2.5),
    ]
    .concat();
    assert_eq!(folder.read("a.rangeres"), bytes);
    let file = RangeTruthFile::open(&folder.vfs, &path).unwrap();
    assert_eq!(file.query_count(), 3);
    assert_eq!(file.read(0, 3).unwrap(), ranges());
    assert_eq!(file.read(1, 2).unwrap(), ranges().part(1..3));
    let last = file.read(1, 2).unwrap();
    assert_eq!(
        (last.lims.clone(), last.ids_of(1)),
        (vec![0, 0, 3], &[6, 7, 8][..])
    );
    assert_eq!(last.within(2.0).distances, [0.0, 2.0]);
    assert!(file.read(1, 3).is_err() && file.read(u64::MAX, 1).is_err());
}

#[test]
fn malformed_ranges_are_refused_by_name_and_field() {
    let folder = ScratchFolder::new();
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("a.rangeres", vec![1, 2], "needs 8 bytes, the file has 2"),
        ("b.rangeres", le!(u32: 0, 0), "no queries"),
        (
            "c.rangeres",
            le!(u32: 1, 1, 1, 7),
            "takes 20 bytes, but the file has 16",
        ),
        (
            "d.rangeres",
            le!(u32: 2, 1, 1, 1, 7, 7),
            "the queries have 2 results",
        ),
        (
            "e.rangeres",
            le!(u32: 2, 1, 0, 1, u32::MAX, 0),
            "query 1, neighbour 0 is row -1",
        ),
        ("f.ibin", le!(u32: 1, 0, 0), "the known one is .rangeres"),
    ];
    for (name, bytes, words) in cases {
        let path = folder.write(name, &bytes);
        let opened = RangeTruthFile::open(&folder.vfs, &path);
        let error = opened.and_then(|file| file.read(0, 2)).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        assert!(error.context().contains(words), "{name}: {error}");
    }
}

#[test]
fn ranges_that_the_format_cannot_hold_are_not_written() {
    let folder = ScratchFolder::new();
    let good = ranges;
    let cases = [
        ("a.ibin", good()),
        ("a.rangeres", RangeTruth::default()),
        (
            "b.rangeres",
            RangeTruth {
                ids: vec![1],
                ..good()
            },
        ),
        (
            "c.rangeres",
            RangeTruth {
                distances: vec![1.0],
                ..good()
            },
        ),
        (
            "d.rangeres",
            RangeTruth {
                ids: vec![1, 2, 3, 4, 1 << 31],
                ..good()
            },
        ),
    ];
    for (name, truth) in cases {
        let done = write_range_truth(&folder.vfs, &folder.path(name), &truth);
        assert_eq!(done.unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn nearest_neighbours_serve_where_they_are_deep_enough() {
    let folder = ScratchFolder::new();
    let path = folder.path("gt.ibin");
    let nearest = Truth {
        k: 2,
        ids: vec![4, 5, 6, 7],
        distances: vec![0.5, 1.0, 1.5, 2.0],
    };
    write_truth(&folder.vfs, &path, &nearest).unwrap();
    let file = TruthFile::open(&folder.vfs, &path, None).unwrap();
    let ids = |radius, rows| {
        file.read_within(0, 2, (radius, rows))
            .map(|truth| truth.ids)
    };
    assert_eq!(ids(0.9, 9).unwrap(), [4]);
    assert_eq!(ids(0.1, 9).unwrap(), [0; 0]);
    let error = ids(1.0, 9).unwrap_err();
    assert!(
        error
            .context()
            .contains("query 0 is still within the radius 1"),
        "{error}"
    );
    assert_eq!(ids(9.0, 2).unwrap(), [4, 5, 6, 7], "all rows there are");
    assert_eq!(file.read_within(1, 1, (1.5, 9)).unwrap().ids, [6]);
    let bare = folder.write("ids.ibin", &le!(u32: 1, 1, 7));
    let bare = TruthFile::open(&folder.vfs, &bare, None).unwrap();
    let error = bare.read_within(0, 1, (1.0, 9)).unwrap_err();
    assert!(error.context().contains("no distances"), "{error}");
}

#[test]
fn average_precision_is_the_mean_over_queries_with_results() {
    let found = RangeFound {
        lims: &[0, 1, 1, 4],
        ids: &[5_u64, 6, 6, 8],
        distances: &[1.0, 0.0, 0.0, 2.5],
        radius: 2.5,
        first: 10,
    };
    let score = average_precision(&found, &ranges()).unwrap();
    let mean = score.mean().unwrap();
    assert!(
        (mean - f64::midpoint(1.0 / 2.0, 2.0 / 3.0)).abs() < 1e-12,
        "{score:?}"
    );
    assert_eq!((score.queries, score.results), (2, 5));
    let mut twice = score;
    twice.add(&score);
    assert_eq!(twice.mean(), Some(mean));
    assert_eq!(RangeScore::default().mean(), None);
    let other = RangeFound {
        ids: &[5_u64, 9, 6, 8],
        ..found
    };
    let error = average_precision(&other, &ranges()).unwrap_err();
    assert!(error.context().contains("query 12 found row 9"), "{error}");
    let edge = RangeFound {
        distances: &[1.0, 2.499_999_8, 0.0, 2.5],
        ..other
    };
    assert!(
        average_precision(&edge, &ranges()).is_ok(),
        "another program's rounding"
    );
    let fewer = RangeFound {
        lims: &[0, 4],
        ..found
    };
    assert!(average_precision(&fewer, &ranges()).is_err());
}
