//! Crash explorer of the store: build, commit, build again, commit, remove what is old.
//!
//! The scenario runs once on a simulated file system that keeps every moment between two
//! operations. Each moment is turned into many crash images, and each image must open to what was
//! acknowledged or to what was being committed, complete and verifying. Then the same protocol is
//! run with one step planted wrong at a time: the explorer must find every one of these canaries,
//! or its silence about the right protocol proves nothing.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{
    BlobReader, BlobWriter, DirectoryLock, FileEntry, FileUuid, MANIFEST_FILE, OpenMode,
    PageFileWriter, PageGeometry, StoreError, Vfs, VfsFile, commit_manifest, create_directory,
    read_manifest, remove_orphans, verify_file,
};
use pageway_testkit::{Boundary, Fault, FaultPlan, FaultVfs, Operation, SimVfs, SplitMix64};
use pageway_testkit::{flip_bit, flip_file_bit};

const IMAGES: u64 = 16;
const SEED: u64 = 0x5eed;
const DIR: &str = "/indexes/one";

/// How generation `g` writes and switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Protocol {
    Right,
    ManifestInPlace,
    RemoveBeforeCommit,
}

/// A generation that was acknowledged, and how many operations had been done by then.
#[derive(Clone, Copy, Debug)]
struct Milestone {
    operations: u64,
    generation: u8,
}

#[derive(Default, Debug)]
struct History {
    started: Vec<Milestone>,
    acknowledged: Vec<Milestone>,
}

impl History {
    fn newest(milestones: &[Milestone], operations: u64) -> u8 {
        let past = milestones
            .iter()
            .filter(|milestone| milestone.operations <= operations);
        past.map(|milestone| milestone.generation)
            .max()
            .unwrap_or(0)
    }
}

// ---- the scenario -------------------------------------------------------------------------------

fn payload(generation: u8, file: u8, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(u64::from(generation) << 8 | u64::from(file));
    (0..bytes).map(|_| random.next_u64() as u8).collect()
}

/// Two small files: whole units, and a byte stream.
fn build(vfs: &dyn Vfs, dir: &Path, generation: u8) -> Result<Vec<FileEntry>, StoreError> {
    let uuid = |file: u8| FileUuid([generation, file, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4]);
    let name = |file: &str| dir.join(format!("{file}-{generation}.pw"));
    let geometry = PageGeometry::new(4096, 1)?;
    let mut pages = PageFileWriter::create(vfs, &name("records"), 1, geometry, uuid(0))?;
    for unit in 0..3 {
        pages.append_unit(&payload(generation, unit, 4000))?;
    }
    let pages = pages.finish()?;
    let mut blob =
        BlobWriter::create(vfs, &name("codes"), 2, PageGeometry::new(4096, 2)?, uuid(1))?;
    blob.write(&payload(generation, 100, 9000))?;
    Ok(vec![pages, blob.finish()?])
}

fn manifest(generation: u8, files: &[FileEntry]) -> Vec<u8> {
    serde_json::to_vec(&(generation, files)).unwrap()
}

fn switch(vfs: &dyn Vfs, dir: &Path, json: &[u8], protocol: Protocol) -> Result<(), StoreError> {
    let path = dir.join(MANIFEST_FILE);
    if protocol != Protocol::ManifestInPlace || !vfs.exists(&path).unwrap() {
        return commit_manifest(vfs, dir, json);
    }
    // What the store never does: the bytes of a commit, written over those of the last.
    let aside = Path::new("/aside");
    vfs.create_dir_all(aside).unwrap();
    commit_manifest(vfs, aside, json)?;
    let bytes = contents(vfs, &aside.join(MANIFEST_FILE));
    let file = vfs.open(&path, OpenMode::ReadWrite).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.sync_data().unwrap();
    Ok(())
}

fn contents(vfs: &dyn Vfs, path: &Path) -> Vec<u8> {
    let file: Arc<dyn VfsFile> = vfs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn names(files: &[FileEntry]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}

/// Builds and commits one generation, and removes the one before.
fn replace(
    vfs: &dyn Vfs,
    dir: &Path,
    generation: u8,
    protocol: Protocol,
) -> Result<(), StoreError> {
    let files = build(vfs, dir, generation)?;
    if protocol == Protocol::RemoveBeforeCommit {
        remove_orphans(vfs, dir, |name| names(&files).contains(&name))?;
    }
    switch(vfs, dir, &manifest(generation, &files), protocol)
}

/// The whole life of an index, recorded. `plan` may make the file system skip steps.
fn live(plan: &FaultPlan, protocol: Protocol) -> (Vec<Boundary>, History) {
    let sim = SimVfs::new();
    let vfs = FaultVfs::new(Arc::new(sim.clone()), plan.clone());
    let dir = PathBuf::from(DIR);
    let mut history = History::default();
    sim.record();
    create_directory(&vfs, &dir).unwrap();
    let lock = DirectoryLock::acquire(&vfs, &dir).unwrap();
    for generation in 1..=2 {
        history.started.push(Milestone {
            operations: sim.operations(),
            generation,
        });
        replace(&vfs, &dir, generation, protocol).unwrap();
        history.acknowledged.push(Milestone {
            operations: sim.operations(),
            generation,
        });
        let (_, files) = open(&vfs, &dir).unwrap();
        remove_orphans(&vfs, &dir, |name| names(&files).contains(&name)).unwrap();
    }
    drop(lock);
    (sim.take_boundaries(), history)
}

// ---- the oracle ---------------------------------------------------------------------------------

fn open(vfs: &dyn Vfs, dir: &Path) -> Result<(u8, Vec<FileEntry>), StoreError> {
    match read_manifest(vfs, dir) {
        Ok(json) => Ok(serde_json::from_slice(&json).unwrap()),
        Err(StoreError::NotFound { .. }) => Ok((0, Vec::new())),
        Err(error) => Err(error),
    }
}

/// The generation an image holds, if it is complete, verifies, and holds the right bytes.
fn recover(vfs: &dyn Vfs, dir: &Path) -> Result<u8, String> {
    let (generation, files) = open(vfs, dir).map_err(|error| error.to_string())?;
    for file in &files {
        let verdict = verify_file(vfs, dir, file).map_err(|error| error.to_string())?;
        if !verdict.is_sound() {
            return Err(verdict.errors[0].to_string());
        }
    }
    if let Some(blob) = files.last() {
        let mut reader = BlobReader::open(vfs, dir, blob).map_err(|error| error.to_string())?;
        let bytes = reader
            .read_rest(1 << 20)
            .map_err(|error| error.to_string())?;
        if bytes != payload(generation, 100, 9000) {
            return Err("the stream holds other bytes".to_owned());
        }
    }
    Ok(generation)
}

/// Life after a crash: leftovers are removed, and another generation can be built.
fn go_on(vfs: &SimVfs, dir: &Path) -> Result<(), String> {
    let text = |error: StoreError| error.to_string();
    create_directory(vfs, dir).map_err(text)?;
    let _lock = DirectoryLock::acquire(vfs, dir).map_err(text)?;
    let (_, files) = open(vfs, dir).map_err(text)?;
    remove_orphans(vfs, dir, |name| names(&files).contains(&name)).map_err(text)?;
    replace(vfs, dir, 3, Protocol::Right).map_err(text)?;
    match recover(vfs, dir)? {
        3 => Ok(()),
        other => Err(format!("committed 3, found {other}")),
    }
}

/// Images tried, and what was wrong with those that broke the promise.
fn explore(boundaries: &[Boundary], history: &History, seed: u64) -> (u64, Vec<String>) {
    let dir = Path::new(DIR);
    let mut images = 0;
    let mut broken = Vec::new();
    for boundary in boundaries {
        let least = History::newest(&history.acknowledged, boundary.operations);
        let most = History::newest(&history.started, boundary.operations);
        for (number, image) in boundary.images(IMAGES, seed).enumerate() {
            images += 1;
            let found = recover(&image, dir).and_then(|found| {
                let legal = (least..=most).contains(&found);
                if legal {
                    go_on(&image, dir)
                } else {
                    Err(format!("found generation {found}"))
                }
            });
            if let Err(error) = found {
                let (after, operation) = (boundary.operations, &boundary.last);
                broken.push(format!(
                    "seed {seed:#x}, after operation {after} ({operation}), image {number}: {error}; \
                     generations {least} to {most} are right"
                ));
            }
        }
    }
    (images, broken)
}

// ---- tests --------------------------------------------------------------------------------------

#[test]
fn every_crash_leaves_the_old_or_the_new_index() {
    let (boundaries, history) = live(&FaultPlan::none(), Protocol::Right);
    let mut images = 0;
    for seed in SEED..SEED + 4 {
        let (tried, broken) = explore(&boundaries, &history, seed);
        assert!(
            broken.is_empty(),
            "{} broken: {:#?}",
            broken.len(),
            &broken[..broken.len().min(5)]
        );
        images += tried;
    }
    assert!(images >= 2000, "only {images} images");
}

#[test]
fn every_canary_is_found() {
    let skip = |operation, suffix| FaultPlan::none().on_path(operation, suffix, Fault::Skip);
    // Directory syncs of the scenario: one per level of the new directory, then in each of the two
    // commits one before the manifest and one before the acknowledgement.
    let levels = 2;
    let skip_syncs = |first: u64| {
        let sync = Operation::SyncDirectory;
        let plan = FaultPlan::none().once(sync, levels + first, Fault::Skip);
        plan.once(sync, levels + first + 2, Fault::Skip)
    };
    let canaries = [
        (
            "a data file is not synced",
            skip(Operation::SyncFile, "records-2.pw"),
            Protocol::Right,
        ),
        (
            "no directory sync before the manifest",
            skip_syncs(0),
            Protocol::Right,
        ),
        (
            "the manifest is written in place",
            FaultPlan::none(),
            Protocol::ManifestInPlace,
        ),
        (
            "the manifest is not synced before its rename",
            skip(Operation::SyncFile, "MANIFEST.tmp"),
            Protocol::Right,
        ),
        (
            "no directory sync before the acknowledgement",
            skip_syncs(1),
            Protocol::Right,
        ),
        (
            "old files are removed before the commit",
            FaultPlan::none(),
            Protocol::RemoveBeforeCommit,
        ),
        (
            "the new directory is not synced in its parent",
            skip(Operation::SyncDirectory, "/indexes"),
            Protocol::Right,
        ),
    ];
    for (name, plan, protocol) in canaries {
        let (boundaries, history) = live(&plan, protocol);
        let planted = plan.injected() > 0 || protocol != Protocol::Right;
        assert!(planted, "{name}: the canary was not planted");
        let (images, broken) = explore(&boundaries, &history, SEED);
        println!("{name}: {} of {images} images broken", broken.len());
        assert!(!broken.is_empty(), "{name}: not found in {images} images");
    }
}

/// Every call of the scenario fails once, in turn: nothing panics, what was acknowledged stays,
/// and the error comes out.
#[test]
fn every_failing_call_is_reported_and_loses_nothing() {
    let dir = Path::new(DIR);
    let faults = [
        Fault::Io,
        Fault::NoSpace,
        Fault::QuotaExceeded,
        Fault::AccessDenied,
    ];
    for operation in Operation::ALL {
        for fault in faults {
            for nth in 0.. {
                let sim = SimVfs::new();
                create_directory(&sim, dir).unwrap();
                replace(&sim, dir, 1, Protocol::Right).unwrap();
                let plan = FaultPlan::none().once(operation, nth, fault);
                let vfs = FaultVfs::new(Arc::new(sim.clone()), plan.clone());
                let result = replace(&vfs, dir, 2, Protocol::Right);
                if plan.injected() == 0 {
                    result.unwrap();
                    break;
                }
                let full = matches!(fault, Fault::NoSpace | Fault::QuotaExceeded);
                let error = result.expect_err("a failed call must come out");
                let typed = matches!(error, StoreError::NoSpace { .. });
                assert_eq!(typed, full, "{operation:?} {nth}: {error}");
                let found = recover(&sim, dir).unwrap();
                assert!(found == 1 || found == 2, "{operation:?} {nth}");
                go_on(&sim, dir).unwrap();
            }
        }
    }
}

#[test]
fn interrupted_and_short_transfers_change_nothing() {
    let dir = Path::new(DIR);
    for operation in [Operation::Read, Operation::Write] {
        for fault in [Fault::Interrupted, Fault::Short] {
            for nth in 0.. {
                let sim = SimVfs::new();
                let plan = FaultPlan::none().once(operation, nth, fault);
                let vfs = FaultVfs::new(Arc::new(sim.clone()), plan.clone());
                create_directory(&vfs, dir).unwrap();
                replace(&vfs, dir, 1, Protocol::Right).unwrap();
                assert_eq!(recover(&vfs, dir), Ok(1), "{operation:?} {fault:?} {nth}");
                if plan.injected() == 0 {
                    break;
                }
            }
        }
    }
}

/// After a failed sync the pages are gone although a second sync would succeed: the commit must
/// not go through.
#[test]
fn a_failed_sync_is_final() {
    let dir = Path::new(DIR);
    for nth in 0.. {
        let sim = SimVfs::new();
        create_directory(&sim, dir).unwrap();
        replace(&sim, dir, 1, Protocol::Right).unwrap();
        sim.record();
        sim.fail_sync(nth);
        if replace(&sim, dir, 2, Protocol::Right).is_ok() {
            assert!(
                nth >= 5,
                "two files, the manifest and two directory syncs: only {nth} seen"
            );
            break;
        }
        for image in sim
            .take_boundaries()
            .iter()
            .flat_map(|boundary| boundary.images(8, SEED))
        {
            assert!(recover(&image, dir).unwrap() >= 1, "sync {nth}");
            go_on(&image, dir).unwrap();
        }
    }
}

#[test]
fn every_flipped_bit_of_a_header_or_the_manifest_is_found() {
    let (sim, dir) = (SimVfs::new(), Path::new("/"));
    let files = build(&sim, dir, 1).unwrap();
    commit_manifest(&sim, dir, &manifest(1, &files)).unwrap();
    let manifest_bits = contents(&sim, &dir.join(MANIFEST_FILE)).len() as u64 * 8;
    for bit in 0..manifest_bits {
        flip_file_bit(&sim, &dir.join(MANIFEST_FILE), bit).unwrap();
        assert!(
            matches!(read_manifest(&sim, dir), Err(StoreError::Corrupt { .. })),
            "bit {bit}"
        );
        flip_file_bit(&sim, &dir.join(MANIFEST_FILE), bit).unwrap();
    }
    // The unit tests of the store flip all bits of a header page; here the fields and a sample.
    for bit in (0..64 * 8).chain((64 * 8..4096 * 8).step_by(61)) {
        for file in &files {
            flip_file_bit(&sim, &dir.join(&file.name), bit).unwrap();
            let verdict = verify_file(&sim, dir, file);
            assert!(
                matches!(verdict, Err(StoreError::Corrupt { page: None, .. })),
                "bit {bit}"
            );
            flip_file_bit(&sim, &dir.join(&file.name), bit).unwrap();
        }
    }
    assert_eq!(recover(&sim, dir), Ok(1));
}

#[test]
fn damaged_units_are_found_and_named() {
    let (sim, dir) = (SimVfs::new(), Path::new("/"));
    let files = build(&sim, dir, 1).unwrap();
    let mut random = SplitMix64::new(SEED);
    for round in 0..2000 {
        let file = &files[round % 2];
        let path = dir.join(&file.name);
        let unit_bits = file.geometry().unwrap().unit_bytes() as u64 * 8;
        let bit = 4096 * 8 + random.below(file.units * unit_bits);
        flip_file_bit(&sim, &path, bit).unwrap();
        let verdict = verify_file(&sim, dir, file).unwrap();
        let expected = (bit - 4096 * 8) / unit_bits;
        let named = matches!(
            verdict.errors.as_slice(),
            [StoreError::Corrupt { page: Some(unit), .. }] if *unit == expected
        );
        assert!(verdict.damaged == 1 && named, "bit {bit}: {verdict:?}");
        flip_file_bit(&sim, &path, bit).unwrap();
    }
}

#[test]
fn cut_extended_swapped_and_foreign_files_are_found() {
    let (sim, dir) = (SimVfs::new(), Path::new("/"));
    let (old, new) = (build(&sim, dir, 1).unwrap(), build(&sim, dir, 2).unwrap());
    let path = dir.join(&new[0].name);
    let file = sim.open(&path, OpenMode::ReadWrite).unwrap();
    let whole = contents(&sim, &path);
    for length in [0, 1, 64, 4095, 4096, whole.len() - 1, whole.len() + 1] {
        file.set_len(length as u64).unwrap();
        assert!(verify_file(&sim, dir, &new[0]).is_err(), "length {length}");
        file.set_len(whole.len() as u64).unwrap();
        file.write_all_at(&whole, 0).unwrap();
    }
    // Units 0 and 1 change places; then unit 1 of the older file stands in for the new one.
    file.write_all_at(&whole[4096..8192], 8192).unwrap();
    assert_eq!(verify_file(&sim, dir, &new[0]).unwrap().damaged, 1);
    let stale = contents(&sim, &dir.join(&old[0].name));
    file.write_all_at(&stale[8192..12288], 8192).unwrap();
    assert_eq!(verify_file(&sim, dir, &new[0]).unwrap().damaged, 1);
    // A whole older file under the name of the new one.
    file.write_all_at(&stale, 0).unwrap();
    assert!(matches!(
        verify_file(&sim, dir, &new[0]),
        Err(StoreError::Corrupt { .. })
    ));
    let mut bytes = whole.clone();
    flip_bit(&mut bytes, 8 * 5000);
    file.write_all_at(&bytes, 0).unwrap();
    assert_eq!(verify_file(&sim, dir, &new[0]).unwrap().damaged, 1);
}
