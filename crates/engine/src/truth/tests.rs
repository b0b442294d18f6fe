//! Exact neighbours against a naive oracle, truth files, recall.

use pageway_kernels::KernelSet;
use pageway_types::{
    Cancelled, ElementType, Metric, NoProgress, Progress, RowId, VectorRead, VectorShape,
};
use proptest::prelude::*;

use super::*;
use crate::source::VectorSlice;
use crate::source::scratch_folder::{ScratchFolder, le};
use crate::{Error, ErrorKind};

const METRICS: [Metric; 6] = Metric::ALL;

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

/// Rows of small integers, so that ties abound and every element type holds them.
fn rows(element: ElementType, count: usize, dimension: u32, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::new();
    for _ in 0..count * dimension as usize {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let value = ((state >> 40) % 5) as u8 + 1;
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

/// All distances, sorted: distance, then id.
fn oracle(base: &VectorSlice<'_>, question: &ExactQuestion<'_>) -> Vec<Vec<(f32, u32)>> {
    let shape = question.queries.shape();
    let distance = KernelSet::detect()
        .unwrap()
        .distance(shape.element, question.metric);
    let queries = question
        .queries
        .bytes()
        .chunks(shape.row_bytes())
        .enumerate();
    let nearest = queries.map(|(number, query)| {
        let mut all: Vec<(f32, u32)> = (0..)
            .zip(base.bytes().chunks(shape.row_bytes()))
            .filter(|(id, _)| {
                question
                    .exclude
                    .is_none_or(|exclude| exclude[number].0 != *id)
            })
            .map(|(id, row)| (distance(query, row), id))
            .collect();
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all.truncate(question.k);
        all
    });
    nearest.collect()
}

fn pairs(truth: &Truth) -> Vec<Vec<(f32, u32)>> {
    let one = |q| {
        truth
            .distances_of(q)
            .iter()
            .copied()
            .zip(truth.ids_of(q).iter().copied())
    };
    (0..truth.query_count()).map(|q| one(q).collect()).collect()
}

fn ask(
    base: &VectorSlice<'_>,
    question: &ExactQuestion<'_>,
    memory_bytes: u64,
    threads: usize,
) -> Result<Truth, Error> {
    let options = ExactOptions {
        memory_bytes,
        pool: &pool(threads),
    };
    exact(base, question, &options, &NoProgress)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exact_neighbours_are_those_of_the_oracle(
        element in prop::sample::select(ElementType::ALL.to_vec()),
        metric in prop::sample::select(METRICS.to_vec()),
        count in 1_usize..600,
        queries in 1_usize..40,
        dimension in 1_u32..80,
        k in 1_usize..20,
        slack in 0_u64..30_000,
        held_out in any::<bool>(),
    ) {
        prop_assume!(metric.compares(element));
        let bits = if element == ElementType::Bit { 8 } else { 1 };
        let shape = VectorShape { dimension: dimension * bits, element };
        let (rows_bytes, query_bytes) =
            (rows(element, count, dimension, 1), rows(element, queries, dimension, 2));
        let base = VectorSlice::new(&rows_bytes, shape).unwrap();
        let excluded: Vec<RowId> =
            (0..queries).map(|q| RowId((q * 7 % count) as u32)).collect();
        let question = ExactQuestion {
            queries: VectorSlice::new(&query_bytes, shape).unwrap(),
            metric,
            k,
            exclude: held_out.then_some(&excluded),
        };
        let memory_bytes = exact_bytes_min(&question) + slack;
        let one = ask(&base, &question, memory_bytes, 1);
        if k > count - usize::from(held_out) {
            prop_assert_eq!(one.unwrap_err().kind(), ErrorKind::InvalidInput);
            return Ok(());
        }
        let one = one.unwrap();
        prop_assert_eq!(pairs(&one), oracle(&base, &question));
        prop_assert_eq!(one, ask(&base, &question, memory_bytes, 3).unwrap());
    }
}

#[test]
fn screened_rows_are_those_of_the_oracle() {
    let shape = |element| VectorShape {
        dimension: 33,
        element,
    };
    let mut random = pageway_types::SplitMix64::new(7);
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
        for shift in [0.0, 0.9] {
            let mut vectors = |count: usize| -> Vec<u8> {
                let value = || random.unit() as f32 - shift;
                let values = std::iter::repeat_with(value).take(count * 33);
                let bytes = |value: f32| {
                    if element == ElementType::F16 {
                        half::f16::from_f32(value).to_le_bytes().to_vec()
                    } else if element == ElementType::Bf16 {
                        half::bf16::from_f32(value).to_le_bytes().to_vec()
                    } else {
                        value.to_le_bytes().to_vec()
                    }
                };
                values.flat_map(bytes).collect()
            };
            let (rows, queries) = (vectors(2_000), vectors(300));
            let base = VectorSlice::new(&rows, shape(element)).unwrap();
            let excluded: Vec<RowId> = (0..300).map(|query| RowId(query * 5)).collect();
            for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
                for k in [1, 10, 400] {
                    let question = ExactQuestion {
                        queries: VectorSlice::new(&queries, shape(element)).unwrap(),
                        metric,
                        k,
                        exclude: (k == 10).then_some(&excluded),
                    };
                    let screens = question.screen_bytes(2);
                    assert!(screens > 0);
                    let least = exact_bytes_min(&question);
                    let screened = ask(&base, &question, least + screens * 3 / 2, 2).unwrap();
                    assert_eq!(pairs(&screened), oracle(&base, &question));
                    assert_eq!(screened, ask(&base, &question, least, 3).unwrap());
                }
            }
        }
    }
}

fn ones(count: usize) -> Vec<u8> {
    le!(f32: 1.0).repeat(count)
}

const PLANE: VectorShape = VectorShape {
    dimension: 2,
    element: ElementType::F32,
};

/// Asks for neighbours among four rows of ones, as `change` makes the question.
fn answered<'q>(
    queries: VectorSlice<'q>,
    change: impl FnOnce(ExactQuestion<'q>) -> ExactQuestion<'q>,
) -> Result<Truth, Error> {
    let bytes = ones(8);
    let base = VectorSlice::new(&bytes, PLANE).unwrap();
    let question = change(ExactQuestion {
        queries,
        metric: Metric::L2,
        k: 4,
        exclude: None,
    });
    ask(&base, &question, 1 << 20, 1)
}

/// The words that the question is refused with.
fn refused<'q>(
    queries: VectorSlice<'q>,
    change: impl FnOnce(ExactQuestion<'q>) -> ExactQuestion<'q>,
) -> String {
    let error = answered(queries, change).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    error.context().to_owned()
}

#[test]
fn impossible_numbers_of_neighbours_are_refused() {
    let bytes = ones(4);
    let queries = VectorSlice::new(&bytes, PLANE).unwrap();
    let good = answered(queries, |good| good).unwrap();
    assert_eq!(good.ids, [0, 1, 2, 3, 0, 1, 2, 3]);
    let words = refused(queries, |good| ExactQuestion { k: 0, ..good });
    assert!(words.contains("k is 0; it must be 1 to 4"), "{words}");
    let words = refused(queries, |good| ExactQuestion { k: 5, ..good });
    assert!(words.contains("k is 5; it must be 1 to 4"), "{words}");
    let two = [RowId(0), RowId(1)];
    let exclude = Some(&two[..]);
    let words = refused(queries, |good| ExactQuestion { exclude, ..good });
    assert!(words.contains("k is 4; it must be 1 to 3"), "{words}");
    let exclude = Some(&two[..1]);
    let words = refused(queries, |good| ExactQuestion {
        k: 3,
        exclude,
        ..good
    });
    assert!(words.contains("1 values, 2 expected"), "{words}");
}

#[test]
fn queries_that_do_not_fit_are_refused() {
    let bytes = ones(4);
    let other = VectorShape {
        dimension: 4,
        ..PLANE
    };
    let nan = le!(f32: 1.0, 1.0, f32::NAN, 1.0);
    let cases = [
        (
            VectorSlice::new(&bytes, other),
            "the base is 2-d f32, the queries are 4-d f32",
        ),
        (VectorSlice::new(&[], PLANE), "there are no queries"),
        (
            VectorSlice::new(&nan, PLANE),
            "query 1 has fewer than 4 finite distances",
        ),
    ];
    for (queries, expected) in cases {
        let words = refused(queries.unwrap(), |good| good);
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn a_cap_too_small_names_the_smallest_that_works() {
    let shape = VectorShape {
        dimension: 1,
        element: ElementType::F32,
    };
    let (base_bytes, query_bytes) = (ones(10_000), ones(300));
    let base = VectorSlice::new(&base_bytes, shape).unwrap();
    let queries = VectorSlice::new(&query_bytes, shape).unwrap();
    let question = ExactQuestion {
        queries,
        metric: Metric::L2,
        k: 10,
        exclude: None,
    };
    let least = exact_bytes_min(&question);
    assert_eq!(least, 300 * 10 * 8 + (16 << 10));
    let error = ask(&base, &question, least - 1, 1).unwrap_err();
    assert!(
        error.context().contains(&format!("at least {least} bytes")),
        "{error}"
    );
    assert!(ask(&base, &question, least, 1).is_ok());
}

struct Stop;
impl Progress for Stop {
    fn stage(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn check(&self) -> Result<(), Cancelled> {
        Err(Cancelled)
    }
}

#[test]
fn exact_stops_on_request() {
    let shape = VectorShape {
        dimension: 1,
        element: ElementType::F32,
    };
    let bytes = ones(4);
    let base = VectorSlice::new(&bytes, shape).unwrap();
    let question = ExactQuestion {
        queries: base,
        metric: Metric::L2,
        k: 1,
        exclude: None,
    };
    let options = ExactOptions {
        memory_bytes: 1 << 20,
        pool: &pool(1),
    };
    let error = exact(&base, &question, &options, &Stop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

fn truth() -> Truth {
    Truth {
        k: 2,
        ids: vec![4, 5, 6, 7, 8, 9],
        distances: vec![0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
    }
}

#[test]
fn both_meanings_of_ibin_and_ivecs_read_by_block() {
    let folder = ScratchFolder::new();
    write_truth(&folder.vfs, &folder.path("both.ibin"), &truth()).unwrap();
    let both = [
        le!(u32: 3, 2),
        le!(i32: 4, 5, 6, 7, 8, 9),
        le!(f32: 0.5, 1.0, 1.5, 2.0, 2.5, 3.0),
    ]
    .concat();
    assert_eq!(folder.read("both.ibin"), both);
    folder.write("ids.ibin", &both[..32]);
    folder.write("rows.ivecs", &le!(i32: 2, 4, 5, 2, 6, 7, 2, 8, 9));
    for (name, has_distances) in [
        ("both.ibin", true),
        ("ids.ibin", false),
        ("rows.ivecs", false),
    ] {
        let file = TruthFile::open(&folder.vfs, &folder.path(name), Some(10)).unwrap();
        assert_eq!((file.query_count(), file.k()), (3, 2), "{name}");
        assert_eq!(file.has_distances(), has_distances, "{name}");
        let mut expected = truth();
        if !has_distances {
            expected.distances.clear();
        }
        assert_eq!(file.read_all().unwrap(), expected, "{name}");
        let middle = file.read(1, 2).unwrap();
        assert_eq!(middle.ids, [6, 7, 8, 9], "{name}");
        assert_eq!(middle.distances_of(1), expected.distances_of(2), "{name}");
        assert!(
            file.read(2, 2).is_err() && file.read(u64::MAX, 1).is_err(),
            "{name}"
        );
        let short = TruthFile::open(&folder.vfs, &folder.path(name), Some(9)).unwrap();
        let error = short.read(1, 2).unwrap_err();
        let words = "query 2, neighbour 1 is row 9, the base has rows 0..9";
        assert!(error.context().contains(words), "{name}: {error}");
    }
}

#[test]
fn malformed_truth_is_refused_by_name_and_field() {
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a.ibin", vec![1, 2, 3], "needs 8 bytes, the file has 3"),
        (
            "b.ibin",
            le!(u32: 0, 2),
            "0 queries of 2 neighbours; neither may be 0",
        ),
        ("c.ibin", le!(u32: 2, 0), "2 queries of 0 neighbours"),
        (
            "d.ibin",
            le!(u32: 1, 2, 3),
            "16 bytes as ids or 24 as ids and distances",
        ),
        ("e.ibin", le!(u32: 1, 2, 3, 4, 5), "but the file has 20"),
        (
            "f.ibin",
            le!(u32: u32::MAX, u32::MAX),
            "73786976260478468108 bytes as ids",
        ),
        (
            "g.ibin",
            le!(u32: 1, 2, 3, u32::MAX),
            "neighbour 1 is row -1, the base has no negative",
        ),
        ("a.ivecs", vec![], "needs 4 bytes, the file has 0"),
        ("b.ivecs", le!(i32: 0), "neither may be 0"),
        ("c.ivecs", le!(i32: -1, 0), "-1 neighbours"),
        (
            "d.ivecs",
            le!(i32: 2, 1, 1, 2),
            "16 bytes are not a whole number of rows of 12 bytes",
        ),
        (
            "e.ivecs",
            le!(i32: 1, 7, 2, 8),
            "query 1 has 2 neighbours, the ones before it have 1",
        ),
        (
            "a.fbin",
            le!(i32: 1, 1, 1),
            "the known ones are .ibin .ivecs",
        ),
    ];
    let folder = ScratchFolder::new();
    for (name, content, words) in cases {
        let path = folder.write(name, &content);
        let done = TruthFile::open(&folder.vfs, &path, None).and_then(|file| file.read_all());
        let error = done.expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        assert!(error.context().contains(words), "{name}: {error}");
        assert!(error.context().contains(name), "{name}: {error}");
    }
}

#[test]
fn truth_that_the_format_cannot_hold_is_not_written() {
    let folder = ScratchFolder::new();
    let cases = [
        ("a.fbin", truth()),
        ("a.ibin", Truth::default()),
        (
            "b.ibin",
            Truth {
                ids: vec![1, 2, 3],
                ..truth()
            },
        ),
        (
            "c.ibin",
            Truth {
                distances: vec![1.0],
                ..truth()
            },
        ),
        (
            "d.ibin",
            Truth {
                ids: vec![0, 1, 2, 3, 4, 1 << 31],
                ..truth()
            },
        ),
    ];
    for (name, truth) in cases {
        let done = write_truth(&folder.vfs, &folder.path(name), &truth);
        assert_eq!(done.unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn recall_counts_what_its_definition_says() {
    let truth = Truth {
        k: 4,
        ids: vec![1, 2, 3, 4],
        distances: vec![1.0, 2.0, 2.0, 5.0],
    };
    let bare = Truth {
        distances: Vec::new(),
        ..truth.clone()
    };
    type Case<'c> = (&'c Truth, [u64; 4], &'c [f32], usize, f64);
    let cases: [Case<'_>; 9] = [
        (&truth, [1, 2, 3, 4], &[], 4, 1.0),
        (&truth, [4, 3, 2, 1], &[], 4, 1.0),
        (&truth, [1, 9, 8, 4], &[], 4, 0.5),
        (&truth, [1, 3, 8, 9], &[], 2, 1.0), // 3 lies as far as 2, by the truth beyond k
        (&bare, [1, 3, 8, 9], &[], 2, 0.5),  // without distances nobody knows
        (&truth, [1, 9, 8, 7], &[1.0, 2.0, 6.0, 6.0], 2, 1.0), // 9 ties, by its own distance
        (&truth, [1, 1, 1, 1], &[], 4, 0.25), // one id counts once
        (&truth, [u64::MAX; 4], &[], 4, 0.0), // places without an answer
        (&truth, [7, 8, 1, 2], &[], 2, 0.0), // the first k answers count, no others
    ];
    for (truth, ids, distances, k, expected) in cases {
        let found = Found {
            ids: &ids,
            distances,
            width: 4,
        };
        assert_eq!(
            recall(&found, truth, k).unwrap(),
            expected,
            "{ids:?} at {k}"
        );
    }
}

#[test]
fn recall_is_the_mean_and_checks_its_lists() {
    let found = Found {
        ids: &[4_u32, 5, 1, 6, 1, 9],
        distances: &[],
        width: 2,
    };
    let mean = recall(&found, &truth(), 2).unwrap();
    assert!((mean - 4.0 / 6.0).abs() < 1e-12);
    assert_eq!(recall(&found, &truth(), 1).unwrap(), 1.0 / 3.0);
    let wrong = [
        (
            Found {
                ids: &[4_u32, 5],
                ..found
            },
            2,
        ),
        (
            Found {
                distances: &[1.0],
                ..found
            },
            2,
        ),
        (found, 0),
        (found, 3),
    ];
    for (found, k) in wrong {
        assert!(recall(&found, &truth(), k).is_err());
    }
}
