//! Designs that keep nothing in memory: what opening them reads and holds, and that answers do not
//! suffer for it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::Rows;
use pageway::spec::{QuantizerSpec, RotationSpec};
use pageway::{
    BuildOptions, Effort, ElementType, Index, MemoryPart, OpenOptions, OsVfs, Preset, Queries,
    SearchOptions, Vfs,
};
use pageway_testkit::{FaultPlan, FaultVfs, Operation};

/// What a design that keeps nothing in memory may hold, page buffers not counted.
const RESIDENT_BYTES: u64 = 30_000_000;

fn options(preset: Preset) -> BuildOptions {
    BuildOptions::default()
        .with_preset(preset)
        .with_degree(16)
        .with_build_list(40)
        .with_code_bytes(8)
        .with_calibration_queries(20)
}

/// Bytes of every file of an index but its pages, and reads that opening it takes.
fn cost_of_opening(dir: &Path) -> (u64, u64) {
    let files = pageway::describe(dir).unwrap().files;
    let small = files
        .iter()
        .filter(|file| !file.name.starts_with("records"));
    let bytes = small.map(|file| file.bytes).sum();
    let plan = FaultPlan::none();
    let vfs: Arc<dyn Vfs> = Arc::new(FaultVfs::new(Arc::new(OsVfs), plan.clone()));
    Index::open_on(&vfs, dir, &OpenOptions::default()).unwrap();
    (bytes, plan.calls(Operation::Read))
}

#[test]
fn opening_reads_as_much_however_many_vectors_there_are() {
    let folder = tempfile::tempdir().unwrap();
    for preset in [Preset::AiSaq, Preset::PageAnnDisk] {
        let costs: Vec<(u64, u64)> = [600, 4000]
            .into_iter()
            .map(|count| {
                let dir = folder.path().join(format!("{preset}-{count}"));
                let mut options = options(preset);
                // Hot pages are a choice of what memory is left.
                options.overrides.cache.pages = Some(pageway::spec::PageCacheSpec::None);
                Rows::clustered(count, 32, ElementType::U8, 1)
                    .build(&dir, &options)
                    .unwrap();
                cost_of_opening(&dir)
            })
            .collect();
        let [(few_bytes, few_reads), (many_bytes, many_reads)] = costs[..] else {
            panic!("two sizes");
        };
        assert_eq!(few_reads, many_reads, "{preset}");
        assert_eq!(few_bytes, many_bytes, "{preset}");
    }
}

#[test]
fn nearly_nothing_is_resident() {
    let folder = tempfile::tempdir().unwrap();
    for preset in [Preset::AiSaq, Preset::PageAnnDisk] {
        let dir = folder.path().join(preset.name());
        let mut options = options(preset);
        options.overrides.cache.pages = Some(pageway::spec::PageCacheSpec::None);
        Rows::clustered(3000, 32, ElementType::U8, 2)
            .build(&dir, &options)
            .unwrap();
        let index = Index::open(&dir, &OpenOptions::default()).unwrap();
        let memory = index.memory();
        let held: u64 = memory
            .parts
            .iter()
            .filter(|(part, _)| *part != MemoryPart::MoreQueries)
            .map(|(_, bytes)| bytes)
            .sum();
        assert!(held <= RESIDENT_BYTES, "{preset}: {memory:?}");
        assert_eq!((memory.cached_nodes, memory.cached_pages), (0, 0));
    }
}

#[test]
fn aisaq_answers_as_diskann_does() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Rows::clustered(2500, 32, ElementType::F32, 3);
    let queries = Rows::clustered(60, 32, ElementType::F32, 4);
    let answers = [Preset::DiskAnn, Preset::AiSaq].map(|preset| {
        let dir = folder.path().join(preset.name());
        rows.build(&dir, &options(preset)).unwrap();
        let index = Index::open(&dir, &OpenOptions::default()).unwrap();
        let search = SearchOptions::default().with_effort(Effort::ListSize(30));
        let queries = Queries::new(&queries.bytes, queries.shape);
        index.search(&queries, &search).unwrap()
    });
    assert_eq!(answers[0].ids, answers[1].ids);
    assert_eq!(answers[0].distances, answers[1].distances);
    assert!(answers[1].ids.iter().any(|id| *id != u64::MAX));
}

#[test]
fn switching_does_not_read_a_shared_codebook_again() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    Rows::clustered(800, 32, ElementType::U8, 5)
        .build(&first, &options(Preset::AiSaq))
        .unwrap();
    let mut shared = options(Preset::AiSaq);
    shared.codebook_from = Some(first.clone());
    let rows = Rows::clustered(900, 32, ElementType::U8, 6);
    rows.build(&second, &shared).unwrap();

    let plan = FaultPlan::none();
    let vfs: Arc<dyn Vfs> = Arc::new(FaultVfs::new(Arc::new(OsVfs), plan.clone()));
    let open = OpenOptions::default();
    let index = Index::open_on(&vfs, &first, &open).unwrap();
    let before = plan.calls(Operation::Open);
    let other = index.switch(&second, &open).unwrap();
    let switched = plan.calls(Operation::Open) - before;
    let fresh = Index::open_on(&vfs, &second, &open).unwrap();
    let opened = plan.calls(Operation::Open) - before - switched;
    assert_eq!(switched + 1, opened, "one file less: the codebook");

    shared.code_bytes = Some(4);
    let refused = rows.build(&second, &shared).unwrap_err();
    assert!(refused.context().contains("8 bytes"), "{refused}");
    shared.code_bytes = Some(8);
    shared.overrides.quantizer = Some(QuantizerSpec::RaBitQ {
        code_bytes: 0,
        rotation: RotationSpec::Principal,
    });
    let refused = rows.build(&second, &shared).unwrap_err();
    assert!(refused.context().contains("pq:code_bytes=8"), "{refused}");

    let queries = Queries::new(rows.row(7), rows.shape);
    let search = SearchOptions::default().with_effort(Effort::ListSize(30));
    let answers = [&other, &fresh].map(|index| index.search(&queries, &search).unwrap().ids);
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0][0], 7);
}
