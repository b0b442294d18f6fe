//! Published indexes read through stores that fail: the right answer, or an error that says why.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test may fail; it harms the files of a cache"
)]

mod faulty;

use std::path::Path as LocalPath;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use faulty::{Fault, Faulty};
use object_store::ObjectStore;
use object_store::path::Path;
use pageway::source::VectorSlice;
use pageway::{
    BuildInput, BuildOptions, Effort, ElementType, Index, MemoryWish, NoProgress, OpenOptions,
    Queries, Result, SearchOptions, VectorShape, Vfs, verify_on,
};
use pageway_object::{BlockCache, CacheMode, Objects, Patience, RemoteVfs, collect, publish};
use pageway_store::OpenMode;
use tempfile::TempDir;

const SHAPE: VectorShape = VectorShape {
    dimension: 32,
    element: ElementType::U8,
};
const ROWS: usize = 6000;
const CACHE_BYTES: u64 = 17 * (65536 + 40);

fn rows(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..ROWS * 32).map(|_| next()).collect()
}

fn build(dir: &LocalPath, rows: &[u8]) {
    let vectors = VectorSlice::new(rows, SHAPE).unwrap();
    let input = BuildInput::new(&vectors, "rows");
    let options = BuildOptions::default()
        .with_memory(Some(MemoryWish::Bytes(800_000)))
        .with_degree(16)
        .with_calibration_queries(20)
        .with_threads(1);
    Index::build(dir, &input, &options, &NoProgress).unwrap();
}

fn objects(store: &Arc<Faulty>) -> Objects {
    let patience = Patience {
        whole: Duration::from_millis(400),
        attempt: Duration::from_millis(300),
        pause: Duration::from_millis(1),
    };
    let store = Arc::clone(store) as Arc<dyn ObjectStore>;
    let objects = Objects::new(store, Path::from("index"), "memory://index").unwrap();
    objects.with_patience(patience)
}

struct Remote {
    vfs: Arc<RemoteVfs>,
    index: Index,
}

fn open(store: &Arc<Faulty>, cache: &LocalPath, mode: CacheMode) -> Result<Remote> {
    let cache = BlockCache::open(cache, CACHE_BYTES)?;
    let vfs = Arc::new(RemoteVfs::open(objects(store), cache, mode)?);
    let as_vfs = Arc::clone(&vfs) as Arc<dyn Vfs>;
    let index = Index::open_on(&as_vfs, vfs.root(), &OpenOptions::default())?;
    Ok(Remote { vfs, index })
}

fn answers(index: &Index, rows: &[u8]) -> Result<(Vec<u64>, Vec<f32>)> {
    let queries = Queries::new(&rows[..40 * 32], SHAPE);
    let options = SearchOptions::nearest(5).with_effort(Effort::ListSize(30));
    let found = index.search(&queries, &options)?;
    Ok((found.ids, found.distances))
}

/// An index, its rows, and the store it was published to.
fn published() -> (TempDir, Vec<u8>, Arc<Faulty>) {
    let (dir, rows, store) = (tempfile::tempdir().unwrap(), rows(1), Faulty::new());
    build(dir.path(), &rows);
    publish(&objects(&store), dir.path(), &NoProgress).unwrap();
    (dir, rows, store)
}

#[test]
fn every_fault_ends_in_the_right_answer_or_in_words() {
    let (dir, rows, store) = published();
    let local = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let expected = answers(&local, &rows).unwrap();
    let heals = [
        Fault::None,
        Fault::Slow,
        Fault::Short,
        Fault::Flipped,
        Fault::Throttled,
    ];
    for fault in heals {
        store.set(fault);
        let cache = tempfile::tempdir().unwrap();
        let remote = open(&store, cache.path(), CacheMode::Lazy).unwrap();
        assert_eq!(
            answers(&remote.index, &rows).unwrap(),
            expected,
            "{fault:?}"
        );
        let retries = remote.vfs.objects().counters().retries;
        let is_calm = matches!(fault, Fault::None | Fault::Slow);
        assert_eq!(retries == 0, is_calm, "{fault:?}: {retries}");
    }
    let stays = [
        (Fault::AlwaysFlipped, "other bytes than were published"),
        (Fault::Forgetful, "not there"),
        (Fault::Down, "given up after repeats"),
    ];
    for (fault, words) in stays {
        store.set(Fault::None);
        let cache = tempfile::tempdir().unwrap();
        let remote = open(&store, cache.path(), CacheMode::Lazy).unwrap();
        store.set(fault);
        let error = answers(&remote.index, &rows).unwrap_err().to_string();
        assert!(error.contains(words), "{fault:?}: {error}");
        drop(remote);
        let other = tempfile::tempdir().unwrap();
        assert!(open(&store, other.path(), CacheMode::Lazy).is_err());
        store.set(Fault::None);
        let remote = open(&store, cache.path(), CacheMode::Lazy).unwrap();
        assert_eq!(
            answers(&remote.index, &rows).unwrap(),
            expected,
            "{fault:?}"
        );
    }
}

#[test]
fn a_damaged_cache_is_read_anew_and_stays_within_its_bytes() {
    let (_dir, rows, store) = published();
    let cache = tempfile::tempdir().unwrap();
    let remote = open(&store, cache.path(), CacheMode::Lazy).unwrap();
    let expected = answers(&remote.index, &rows).unwrap();
    let refused = BlockCache::open(cache.path(), CACHE_BYTES).unwrap_err();
    assert!(refused.to_string().contains("another process"), "{refused}");
    drop(remote);
    for name in ["blocks", "table"] {
        let path = cache.path().join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.iter_mut().step_by(1999).for_each(|byte| *byte ^= 64);
        std::fs::write(&path, bytes).unwrap();
        let remote = open(&store, cache.path(), CacheMode::Lazy).unwrap();
        assert_eq!(answers(&remote.index, &rows).unwrap(), expected, "{name}");
    }
    let files = std::fs::read_dir(cache.path()).unwrap();
    let held: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(held <= CACHE_BYTES, "{held}");
    let error = BlockCache::open(tempfile::tempdir().unwrap().path(), 1 << 20).err();
    assert!(error.is_none_or(|error| error.to_string().contains("least")));
}

#[test]
fn a_cache_that_survived_spares_requests() {
    let (_dir, rows, store) = published();
    let cache = tempfile::tempdir().unwrap();
    let mut asked = [0, 0];
    for turn in &mut asked {
        let before = store.ranges.load(Ordering::SeqCst);
        let wide = BlockCache::open(cache.path(), 64 << 20).unwrap();
        let vfs = Arc::new(RemoteVfs::open(objects(&store), wide, CacheMode::All).unwrap());
        let report = verify_on(&(Arc::clone(&vfs) as _), vfs.root(), &NoProgress).unwrap();
        assert!(report.problems.is_empty());
        let index = Index::open_on(
            &(vfs as _),
            LocalPath::new("memory://index"),
            &OpenOptions::default(),
        );
        answers(&index.unwrap(), &rows).unwrap();
        *turn = store.ranges.load(Ordering::SeqCst) - before;
    }
    assert!(asked[0] > 0 && asked[1] == 0, "{asked:?}");
}

#[test]
fn publishing_sends_what_changed_and_collects_what_nobody_names() {
    let (dir, rows, store) = published();
    let again = publish(&objects(&store), dir.path(), &NoProgress).unwrap();
    assert_eq!((again.version, again.uploaded_files), (2, 0));
    let cache = tempfile::tempdir().unwrap();
    let old = open(&store, cache.path(), CacheMode::Lazy).unwrap();
    let changed: Vec<u8> = rows.iter().map(|value| value ^ 5).collect();
    build(dir.path(), &changed);
    let third = publish(&objects(&store), dir.path(), &NoProgress).unwrap();
    assert!(third.uploaded_files > 0);
    let kept = collect(&objects(&store), Duration::from_secs(3600)).unwrap();
    assert_eq!(kept.removed, 0);
    let removed = collect(&objects(&store), Duration::ZERO).unwrap();
    assert!(removed.removed > 0);
    let error = answers(&old.index, &rows).unwrap_err().to_string();
    assert!(error.contains("not there"), "{error}");
    let other = tempfile::tempdir().unwrap();
    let new = open(&store, other.path(), CacheMode::Lazy).unwrap();
    let local = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    assert_eq!(
        answers(&new.index, &changed).unwrap(),
        answers(&local, &changed).unwrap()
    );
}

#[test]
fn lost_acknowledgements_commit_once_and_stores_without_conditions_are_refused() {
    let (dir, _rows, store) = published();
    store.set(Fault::LostAcknowledgement);
    let done = publish(&objects(&store), dir.path(), &NoProgress);
    assert_eq!(done.unwrap().version, 2);
    store.set(Fault::Unconditional);
    let error = publish(&objects(&store), dir.path(), &NoProgress).unwrap_err();
    assert!(error.to_string().contains("conditional puts"), "{error}");
    store.set(Fault::Homeless);
    let error = publish(&objects(&store), dir.path(), &NoProgress).unwrap_err();
    assert!(error.to_string().contains("no such bucket"), "{error}");
}

#[test]
fn reads_of_a_block_at_the_same_time_are_one_request() {
    let (_dir, _, store) = published();
    let place = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(place.path(), CACHE_BYTES).unwrap();
    let vfs = RemoteVfs::open(objects(&store), cache, CacheMode::Lazy).unwrap();
    let names = vfs.list(vfs.root()).unwrap();
    let name = names
        .iter()
        .find(|name| name.starts_with("records"))
        .unwrap();
    let file = vfs.open(&vfs.root().join(name), OpenMode::Read).unwrap();
    let before = vfs.objects().counters().gets;
    store.set(Fault::Slow);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let file = &file;
            scope.spawn(move || {
                let mut bytes = [0; 512];
                file.read_exact_at(&mut bytes, 512 * thread).unwrap();
            });
        }
    });
    assert_eq!(vfs.objects().counters().gets, before + 1);
}
