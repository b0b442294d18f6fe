//! What stays in memory: records that searches change make fewer reads and the same answers.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use common::{Random, Rows, recall, smallest_that_works};
use pageway::spec::{
    CacheOverrides, CodeStorage, CodecSpec, CompletionSpec, HarvestSpec, ListSpec, NodeCacheSpec,
    PageCacheSpec, QuantizerSpec, RefineSpec, RotationSpec, ScheduleSpec, SelectionSpec,
    VectorStorage,
};
use pageway::{
    Answers, BuildOptions, Effort, ElementType, Index, MemoryWish, OpenOptions, Overrides, Preset,
    Queries, SearchOptions,
};

const LIST_SIZE: u32 = 30;

/// Records of one size and of several, with codes and without, of vectors and of fine codes.
fn forms() -> Vec<(&'static str, Overrides)> {
    let rabitq = |code_bytes| QuantizerSpec::RaBitQ {
        code_bytes,
        rotation: RotationSpec::Hadamard,
    };
    let plain = Overrides::default();
    vec![
        ("plain", plain),
        (
            "packed lists",
            Overrides {
                lists: Some(ListSpec::Packed),
                ..plain
            },
        ),
        (
            "inline codes",
            Overrides {
                codes: Some(CodeStorage::InPage),
                codec: Some(CodecSpec::InlineCodes),
                ..plain
            },
        ),
        (
            "replicated",
            Overrides {
                codec: Some(CodecSpec::Replicated { lists: 3 }),
                refine: Some(RefineSpec::Deferred { share: 0.5 }),
                ..plain
            },
        ),
        (
            "coded",
            Overrides {
                vectors: Some(VectorStorage::Coded),
                quantizer: Some(rabitq(0)),
                second_quantizer: Some(Some(rabitq(32))),
                refine: Some(RefineSpec::Bounded { deviations: 2.0 }),
                lists: Some(ListSpec::Packed),
                ..plain
            },
        ),
    ]
}

fn built(base: &Rows, overrides: Overrides) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let options = BuildOptions::default()
        .with_preset(Preset::DiskAnn)
        .with_degree(12)
        .with_build_list(24)
        .with_calibration_queries(20)
        .with_overrides(overrides);
    base.build(dir.path(), &options).unwrap();
    dir
}

/// Opens with `more` bytes than the least that works.
fn open(dir: &tempfile::TempDir, more: u64) -> Index {
    let with = |memory| {
        let options = OpenOptions::default()
            .with_memory(MemoryWish::Bytes(memory))
            .with_effort(Effort::ListSize(LIST_SIZE))
            .with_interleave(4);
        Index::open(dir.path(), &options)
    };
    with(smallest_that_works(&with(1).err().unwrap()) + more).unwrap()
}

fn search(index: &Index, queries: &Rows, (threads, interleave): (usize, u32)) -> Answers {
    let options = SearchOptions::default()
        .with_effort(Effort::ListSize(LIST_SIZE))
        .with_threads(threads)
        .with_interleave(interleave);
    let queries = Queries::new(&queries.bytes, queries.shape);
    index.search(&queries, &options).unwrap()
}

fn reads(answers: &Answers) -> u64 {
    answers.stats.iter().map(|stats| stats.reads).sum()
}

fn bits(answers: &Answers) -> Vec<(u64, u32)> {
    let distances = answers.distances.iter().map(|distance| distance.to_bits());
    answers.ids.iter().copied().zip(distances).collect()
}

/// A stream in which few queries come often.
fn skewed(queries: &Rows, count: usize) -> Rows {
    let mut random = Random(7);
    let bytes = (0..count).flat_map(|_| {
        let among = if random.below(10) < 9 {
            4
        } else {
            queries.count() as u64
        };
        queries.row(random.below(among) as usize).to_vec()
    });
    Rows {
        bytes: bytes.collect(),
        shape: queries.shape,
    }
}

#[test]
fn a_cache_of_records_that_learns_changes_reads_and_no_answer() {
    let base = Rows::clustered(3000, 32, ElementType::F32, 1);
    let queries = skewed(&Rows::clustered(60, 32, ElementType::F32, 2), 200);
    for (name, overrides) in forms() {
        let [learns, stays] = [NodeCacheSpec::Clock, NodeCacheSpec::Records].map(|nodes| {
            let mut overrides = overrides;
            overrides.cache.nodes = Some(nodes);
            built(&base, overrides)
        });
        let [none, some] = [0, 60_000].map(|more| open(&learns, more));
        assert_eq!(none.memory().cached_nodes, 0, "{name}");
        let uncached = search(&none, &queries, (1, 1));
        let at_first = some.memory().cached_nodes;
        assert!(
            (20..1500).contains(&at_first),
            "{name}: {at_first} cached nodes"
        );
        let memory = some.memory();
        for arrangement in [(1, 1), (1, 4), (3, 2)] {
            let answers = search(&some, &queries, arrangement);
            assert_eq!(bits(&answers), bits(&uncached), "{name}: {arrangement:?}");
            let hops = |answers: &Answers| answers.stats.iter().map(|s| s.hops).sum::<u64>();
            assert_eq!(hops(&answers), hops(&uncached), "{name}");
        }
        let held: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
        assert!(held <= memory.budget_bytes, "{name}: {memory:?}");
        assert_eq!(memory.parts, some.memory().parts, "{name}: memory grew");
        let (fresh, still) = (open(&learns, 60_000), open(&stays, 60_000));
        let [learned, kept] = [fresh, still].map(|index| reads(&search(&index, &queries, (1, 1))));
        assert!(
            learned * 10 < kept * 8,
            "{name}: {learned} reads, {kept} where records stay"
        );
        assert!(kept < reads(&uncached), "{name}");
    }
}

/// Slack 0 is no slack; with more, reads become fewer, answers stay as good, and nothing but the
/// memory decides them.
#[test]
fn a_slack_saves_reads_and_depends_on_no_other_query() {
    let base = Rows::clustered(3000, 32, ElementType::F32, 1);
    let queries = Rows::clustered(150, 32, ElementType::F32, 2);
    for (name, bytes, overrides) in residents() {
        let [none, zero, some] = [None, Some(0.0), Some(0.3)].map(|slack| {
            let dir = built(&base, Overrides { slack, ..overrides });
            (open(&dir, bytes), dir)
        });
        let [none, zero] = [none, zero].map(|(index, _)| search(&index, &queries, (1, 1)));
        assert_eq!(bits(&none), bits(&zero), "{name}");
        assert_eq!(reads(&none), reads(&zero), "{name}");
        let (index, _kept) = some;
        let some = search(&index, &queries, (1, 1));
        assert!(
            reads(&some) * 100 < reads(&none) * 99,
            "{name}: {} reads, {} without",
            reads(&some),
            reads(&none)
        );
        let recalls = [&none, &some].map(|answers| recall(&base, &queries, answers));
        assert!(
            recalls[1] > recalls[0] - 0.01 && recalls[1] > 0.95,
            "{name}: {recalls:?}"
        );
        for arrangement in [(1, 4), (3, 2)] {
            let again = search(&index, &queries, arrangement);
            assert_eq!(bits(&some), bits(&again), "{name}");
            assert_eq!(reads(&some), reads(&again), "{name}");
        }
    }
}

/// What can stay in memory for good, and bytes for some of it: records, lists, pages.
fn residents() -> Vec<(&'static str, u64, Overrides)> {
    let cache = |nodes, pages| CacheOverrides {
        nodes: Some(nodes),
        pages: Some(pages),
        selection: Some(SelectionSpec::Visits),
        page_share: None,
    };
    let (none, hot) = (PageCacheSpec::None, PageCacheSpec::Hot);
    vec![
        (
            "records",
            300_000,
            Overrides {
                cache: cache(NodeCacheSpec::Records, none),
                ..Overrides::default()
            },
        ),
        (
            "lists",
            25_000,
            Overrides {
                cache: cache(NodeCacheSpec::Lists, none),
                refine: Some(RefineSpec::Deferred { share: 0.5 }),
                harvest: Some(HarvestSpec::Held),
                ..Overrides::default()
            },
        ),
        (
            "pages",
            300_000,
            Overrides {
                cache: cache(NodeCacheSpec::None, hot),
                codec: Some(CodecSpec::PageNode { min_degree: 6 }),
                schedule: Some(ScheduleSpec::Overlapped {
                    beam: 4,
                    doubling: false,
                }),
                harvest: Some(HarvestSpec::All),
                ..Overrides::default()
            },
        ),
        (
            "a pipeline",
            300_000,
            Overrides {
                cache: cache(NodeCacheSpec::Records, none),
                schedule: Some(ScheduleSpec::Pipelined {
                    least: 4,
                    most: 8,
                    completion: CompletionSpec::InOrder,
                }),
                harvest: Some(HarvestSpec::Held),
                ..Overrides::default()
            },
        ),
    ]
}

#[test]
fn what_would_change_answers_is_refused() {
    let base = Rows::clustered(300, 16, ElementType::F32, 1);
    for overrides in [
        Overrides {
            harvest: Some(HarvestSpec::Held),
            ..Overrides::default()
        },
        Overrides {
            harvest: Some(HarvestSpec::All),
            ..Overrides::default()
        },
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = BuildOptions::default()
            .with_preset(Preset::DiskAnn)
            .with_overrides(overrides);
        options.overrides.cache.nodes = Some(NodeCacheSpec::Clock);
        let refused = base.build(dir.path(), &options).unwrap_err();
        assert!(refused.context().contains("schedule lockstep"), "{refused}");
    }
}
