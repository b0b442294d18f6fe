//! Damage to the files of an index: flipped bits, cut, extended, missing, swapped and foreign
//! files, and files of a newer version. `verify` finds each of them, and a search on a damaged
//! index gives an error or the answers of the undamaged one.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{
    Data, contents, long, names, open_uncached, overwrite, quick_as, search_first, sound,
};
use pageway::spec::{ListSpec, UpdateSpec};
use pageway::{Answers, BuildOptions, ErrorKind, Index, OpenOptions, OsVfs, Preset, describe};
use pageway_store::{MANIFEST_FILE, MANIFEST_HEADER_BYTES, Vfs};
use pageway_testkit::{SimVfs, SplitMix64, flip_bit, flip_file_bit};

const DIR: &str = "/index";
const SEED: u64 = 0xf11b;
const PAGE: u64 = 4096;

fn data(seed: u64) -> Data {
    Data::new(3000, 16, seed)
}

fn options_as(preset: Preset) -> BuildOptions {
    quick_as(preset).with_degree(16).with_build_list(32)
}

fn options() -> BuildOptions {
    options_as(Preset::DiskAnn)
}

fn built_as(data: &Data, preset: Preset) -> Arc<dyn Vfs> {
    let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    data.build(&vfs, Path::new(DIR), &options_as(preset))
        .unwrap();
    vfs
}

fn built(data: &Data) -> Arc<dyn Vfs> {
    built_as(data, Preset::DiskAnn)
}

/// Files with contents; the lock has none.
fn files(vfs: &dyn Vfs, dir: &Path) -> Vec<PathBuf> {
    let names = names(vfs, dir).into_iter();
    let paths: Vec<_> = names
        .filter(|name| name != "LOCK")
        .map(|name| dir.join(name))
        .collect();
    assert!(paths.len() >= 3, "{paths:?}");
    paths
}

/// The presets together have a file of every kind.
#[test]
fn every_kind_of_file_is_covered() {
    let kinds: BTreeSet<String> = Preset::ALL
        .into_iter()
        .flat_map(|preset| {
            let vfs = built_as(&data(1), preset);
            names(vfs.as_ref(), Path::new(DIR))
        })
        .filter_map(|name| Some(name.strip_suffix("-1.pw")?.to_owned()))
        .collect();
    let expected = [
        "codebook",
        "codes",
        "entry",
        "hot",
        "identities",
        "records",
        "second-codebook",
        "second-codes",
    ];
    assert_eq!(kinds, expected.map(str::to_owned).into());
}

#[test]
fn verify_finds_every_flipped_bit() {
    for preset in Preset::ALL {
        check_flips(preset, &built_as(&data(1), preset));
    }
}

#[test]
fn verify_finds_every_flipped_bit_beside_packed_lists() {
    for preset in [Preset::DiskAnn, Preset::PageAnn, Preset::Dgai] {
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        let mut options = options_as(preset);
        options.overrides.lists = Some(ListSpec::Packed);
        options.overrides.update = Some(UpdateSpec::Segments);
        data(1).build(&vfs, Path::new(DIR), &options).unwrap();
        check_flips(preset, &vfs);
    }
}

#[test]
fn verify_finds_every_flipped_bit_of_every_segment() {
    for preset in [Preset::DiskAnn, Preset::Pageway] {
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        let options = options_as(preset).with_segments(3);
        data(1).build(&vfs, Path::new(DIR), &options).unwrap();
        check_flips(preset, &vfs);
    }
}

fn check_flips(preset: Preset, vfs: &Arc<dyn Vfs>) {
    let dir = Path::new(DIR);
    assert!(sound(vfs, dir), "{preset}");
    let files = files(vfs.as_ref(), dir);
    let lengths: Vec<u64> = files
        .iter()
        .map(|path| contents(vfs.as_ref(), path).len() as u64)
        .collect();
    let mut random = SplitMix64::new(SEED);
    let rounds = files.len() * if long() { 3000 } else { 40 };
    for round in 0..rounds {
        // Each file in turn, so that the small ones are not left out.
        let at = round % files.len();
        let bit = random.below(lengths[at] * 8);
        flip_file_bit(vfs.as_ref(), &files[at], bit).unwrap();
        let name = files[at].display();
        assert!(!sound(vfs, dir), "{preset}: {name} bit {bit}");
        flip_file_bit(vfs.as_ref(), &files[at], bit).unwrap();
    }
    assert!(sound(vfs, dir), "all flips were undone");
    println!("bit_flips, seed {SEED:#x}: {preset}: {rounds} flips, 0 not found");
}

#[test]
fn every_bit_of_the_header_of_the_manifest_is_covered() {
    let (vfs, dir) = (built(&data(1)), Path::new(DIR));
    let manifest = dir.join(MANIFEST_FILE);
    for bit in 0..MANIFEST_HEADER_BYTES as u64 * 8 {
        flip_file_bit(vfs.as_ref(), &manifest, bit).unwrap();
        let opened = Index::open_on(&vfs, dir, &OpenOptions::default());
        let kind = opened.err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Corrupt), "bit {bit}");
        assert!(!sound(&vfs, dir), "bit {bit}");
        flip_file_bit(vfs.as_ref(), &manifest, bit).unwrap();
    }
}

/// What a search over the index says, with every record read from disk; and one with caches.
fn answer(vfs: &Arc<dyn Vfs>, dir: &Path, data: &Data) -> [pageway::Result<Answers>; 2] {
    let search = |index: pageway::Result<Index>| search_first(&index?, data, 300, 5);
    [
        search(open_uncached(vfs, dir)),
        search(Index::open_on(vfs, dir, &OpenOptions::default())),
    ]
}

fn expect(vfs: &Arc<dyn Vfs>, dir: &Path, data: &Data) -> [Answers; 2] {
    answer(vfs, dir, data).map(pageway::Result::unwrap)
}

/// How many of both searches were refused; the others must say what is expected.
fn check_same(
    outcomes: [pageway::Result<Answers>; 2],
    expected: &[Answers; 2],
    moment: &str,
) -> u32 {
    let mut refused = 0;
    for (outcome, expected) in outcomes.into_iter().zip(expected) {
        match outcome {
            Ok(answers) => {
                assert_eq!(answers.ids, expected.ids, "{moment}");
                assert_eq!(answers.distances, expected.distances, "{moment}");
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{moment}: {error}");
                refused += 1;
            }
        }
    }
    refused
}

/// On real files and with the real way of reading them.
#[test]
fn a_search_over_a_flipped_bit_fails_or_is_right() {
    for preset in Preset::ALL {
        check_searches(preset);
    }
}

fn check_searches(preset: Preset) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("index");
    let (vfs, data): (Arc<dyn Vfs>, _) = (Arc::new(OsVfs), data(1));
    data.build(&vfs, &dir, &options_as(preset)).unwrap();
    let expected = expect(&vfs, &dir, &data);
    let mut random = SplitMix64::new(SEED);
    let rounds = if long() { 1000 } else { 8 };
    let (mut searches, mut refused) = (0, 0);
    for path in files(vfs.as_ref(), &dir) {
        let bits = contents(vfs.as_ref(), &path).len() as u64 * 8;
        for _ in 0..rounds {
            let bit = random.below(bits);
            let moment = format!("{preset}: {} bit {bit}", path.display());
            searches += 2;
            flip_file_bit(vfs.as_ref(), &path, bit).unwrap();
            refused += check_same(answer(&vfs, &dir, &data), &expected, &moment);
            flip_file_bit(vfs.as_ref(), &path, bit).unwrap();
        }
    }
    assert!(refused > 0, "{preset}: no search ever met a flipped bit");
    let undone = check_same(answer(&vfs, &dir, &data), &expected, "undone");
    assert_eq!(undone, 0, "{preset}: all flips were undone");
    println!("bit_flips, seed {SEED:#x}: {preset}: {searches} searches, {refused} refused");
}

/// A page in whose place lies something else: zeros, ones, its neighbour.
#[test]
fn whole_pages_of_other_bytes_are_found() {
    for preset in Preset::ALL {
        check_pages(preset);
    }
}

fn check_pages(preset: Preset) {
    let (vfs, dir, data) = (built_as(&data(1), preset), Path::new(DIR), data(1));
    let expected = expect(&vfs, dir, &data);
    for path in files(vfs.as_ref(), dir) {
        let whole = contents(vfs.as_ref(), &path);
        let pages = whole.len() as u64 / PAGE;
        let some = [0, 1, pages / 2, pages.saturating_sub(1)];
        for page in some.into_iter().filter(|page| *page < pages) {
            let start = (page * PAGE) as usize;
            let other = ((page + 1) % pages * PAGE) as usize;
            let neighbour = whole[other..other + PAGE as usize].to_vec();
            for bytes in [vec![0; PAGE as usize], vec![0xff; PAGE as usize], neighbour] {
                let mut damaged = whole.clone();
                damaged[start..start + PAGE as usize].copy_from_slice(&bytes);
                if damaged == whole {
                    continue;
                }
                let moment = format!("{preset}: {} page {page}", path.display());
                overwrite(vfs.as_ref(), &path, &damaged);
                assert!(!sound(&vfs, dir), "{moment}");
                check_same(answer(&vfs, dir, &data), &expected, &moment);
            }
        }
        overwrite(vfs.as_ref(), &path, &whole);
    }
    assert!(sound(&vfs, dir));
}

#[test]
fn cut_extended_and_missing_files_are_found() {
    for preset in Preset::ALL {
        check_lengths(preset);
    }
}

fn check_lengths(preset: Preset) {
    let (vfs, dir) = (built_as(&data(1), preset), Path::new(DIR));
    for path in files(vfs.as_ref(), dir) {
        let whole = contents(vfs.as_ref(), &path);
        let (length, page) = (whole.len(), PAGE as usize);
        let lengths = [
            0,
            1,
            63,
            64,
            length / 2,
            length.saturating_sub(page),
            length - 1,
            length + 1,
            length + page,
        ];
        for other in lengths.into_iter().filter(|other| *other != length) {
            let mut bytes = whole.clone();
            bytes.resize(other, 0);
            overwrite(vfs.as_ref(), &path, &bytes);
            let name = path.display();
            let moment = format!("{preset}: {name}: {other} bytes instead of {length}");
            assert!(!sound(&vfs, dir), "{moment}");
            let error = Index::open_on(&vfs, dir, &OpenOptions::default()).err();
            assert_eq!(
                error.map(|e| e.kind()),
                Some(ErrorKind::Corrupt),
                "{moment}"
            );
        }
        vfs.remove_file(&path).unwrap();
        assert!(!sound(&vfs, dir), "{} missing", path.display());
        let error = Index::open_on(&vfs, dir, &OpenOptions::default())
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let new = vfs.open(&path, pageway_store::OpenMode::CreateNew).unwrap();
        new.write_all_at(&whole, 0).unwrap();
        assert!(sound(&vfs, dir));
    }
}

/// Every file of `other` in place of that of the index, one at a time.
fn check_foreign(vfs: &Arc<dyn Vfs>, other: &dyn Vfs, what: &str) {
    let dir = Path::new(DIR);
    let mut different = 0;
    for path in files(vfs.as_ref(), dir) {
        let (own, foreign) = (contents(vfs.as_ref(), &path), contents(other, &path));
        if own == foreign || path.ends_with(MANIFEST_FILE) {
            continue;
        }
        different += 1;
        overwrite(vfs.as_ref(), &path, &foreign);
        let moment = format!("{} of an index of {what}", path.display());
        assert!(!sound(vfs, dir), "{moment}: verify");
        let opened = Index::open_on(vfs, dir, &OpenOptions::default());
        let kind = opened.err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Corrupt), "{moment}");
        overwrite(vfs.as_ref(), &path, &own);
    }
    assert!(different > 0, "{what}: the indexes have the same files");
    assert!(sound(vfs, dir));
}

#[test]
fn files_of_other_indexes_are_found() {
    let (vfs, dir, own) = (built(&data(1)), Path::new(DIR), data(1));
    check_foreign(&vfs, built(&data(2)).as_ref(), "other data");
    for preset in [Preset::PageAnn, Preset::Dgai, Preset::Pageway] {
        let other = built_as(&data(2), preset);
        check_foreign(&built_as(&own, preset), other.as_ref(), "other data");
    }
    let rebuilt = built(&own);
    let (old, new) = ("records-1.pw", "records-2.pw");
    own.build(&rebuilt, dir, &options()).unwrap();
    let stale = contents(vfs.as_ref(), &dir.join(old));
    overwrite(rebuilt.as_ref(), &dir.join(new), &stale);
    assert!(!sound(&rebuilt, dir), "a file of the generation before");

    let elsewhere: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    let seed = options().with_seed(43);
    own.build(&elsewhere, dir, &seed).unwrap();
    check_foreign(&vfs, elsewhere.as_ref(), "another seed");
}

/// User ids are no part of the vectors, but of the records.
#[test]
fn records_with_other_user_ids_are_found() {
    let (own, dir) = (data(1), Path::new(DIR));
    let build = |first: u64| {
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        let ids: Vec<u64> = (first..first + own.count() as u64).collect();
        own.build_with_ids(&vfs, dir, &options(), &ids).unwrap();
        vfs
    };
    check_foreign(&build(1000), build(2000).as_ref(), "other ids");
}

/// A small build memory gives other codes: they are trained on fewer rows.
#[test]
fn files_of_a_build_with_less_memory_are_found() {
    let (own, dir) = (Data::new(3000, 500, 1), Path::new(DIR));
    let mut least = options().with_build_memory(pageway::MemoryWish::Bytes(1));
    let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    let refused = own.build(&vfs, dir, &least).unwrap_err();
    let bytes = common::smallest_that_works(&refused);
    least.build_memory = Some(pageway::MemoryWish::Bytes(bytes));
    own.build(&vfs, dir, &least).unwrap();
    check_foreign(&built(&own), vfs.as_ref(), "less build memory");
}

#[test]
fn two_files_that_changed_names_are_found() {
    let (vfs, dir) = (built(&data(1)), Path::new(DIR));
    let files = files(vfs.as_ref(), dir);
    for (left, right) in [(1, 2), (1, 3), (2, 4), (3, 4)] {
        let (a, b) = (&files[left], &files[right]);
        let (first, second) = (contents(vfs.as_ref(), a), contents(vfs.as_ref(), b));
        overwrite(vfs.as_ref(), a, &second);
        overwrite(vfs.as_ref(), b, &first);
        assert!(!sound(&vfs, dir), "{} and {}", a.display(), b.display());
        assert!(Index::open_on(&vfs, dir, &OpenOptions::default()).is_err());
        overwrite(vfs.as_ref(), a, &first);
        overwrite(vfs.as_ref(), b, &second);
    }
}

#[test]
fn files_of_segments_that_changed_places_are_found() {
    let (vfs, dir) = (Arc::new(SimVfs::new()) as Arc<dyn Vfs>, Path::new(DIR));
    let options = options().with_segments(2);
    data(1).build(&vfs, dir, &options).unwrap();
    // Segments of one build share their codebook: each has the same file.
    let codebook = |segment| dir.join(format!("codebook-1-{segment}.pw"));
    assert!(contents(vfs.as_ref(), &codebook(0)) == contents(vfs.as_ref(), &codebook(1)));
    for kind in ["records", "codes", "hot"] {
        let [a, b] = [0, 1].map(|segment| dir.join(format!("{kind}-1-{segment}.pw")));
        let (first, second) = (contents(vfs.as_ref(), &a), contents(vfs.as_ref(), &b));
        assert!(first != second, "{kind}");
        overwrite(vfs.as_ref(), &a, &second);
        overwrite(vfs.as_ref(), &b, &first);
        assert!(!sound(&vfs, dir), "{kind}");
        assert!(Index::open_on(&vfs, dir, &OpenOptions::default()).is_err());
        overwrite(vfs.as_ref(), &a, &first);
        overwrite(vfs.as_ref(), &b, &second);
    }
    assert!(sound(&vfs, dir));
}

/// CRC-32C bit by bit, from the words of the format and not from the store.
fn crc32c(bytes: impl Iterator<Item = u8>) -> u32 {
    let fold = |crc: u32, byte: u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    };
    !bytes.fold(!0, fold)
}

/// Gives the first `covered` bytes a higher version and the checksum that belongs to it.
fn make_newer(file: &mut [u8], covered: usize) {
    file[8] += 1;
    let around = file[..60].iter().chain(&file[64..covered]);
    let crc = crc32c(around.copied());
    file[60..64].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn newer_files_are_refused_by_name() {
    assert_eq!(crc32c(b"123456789".iter().copied()), 0xe306_9283);
    let (vfs, dir) = (built(&data(1)), Path::new(DIR));
    for path in files(vfs.as_ref(), dir) {
        let whole = contents(vfs.as_ref(), &path);
        let covered = if path.ends_with(MANIFEST_FILE) {
            whole.len()
        } else {
            PAGE as usize
        };
        let mut newer = whole.clone();
        make_newer(&mut newer, covered);
        overwrite(vfs.as_ref(), &path, &newer);
        let error = Index::open_on(&vfs, dir, &OpenOptions::default())
            .err()
            .unwrap();
        assert_eq!(
            error.kind(),
            ErrorKind::Incompatible,
            "{}: {error}",
            path.display()
        );
        assert!(error.context().contains('2'), "{error}");
        assert!(!sound(&vfs, dir));
        flip_bit(&mut newer, 8 * 30);
        overwrite(vfs.as_ref(), &path, &newer);
        let error = Index::open_on(&vfs, dir, &OpenOptions::default())
            .err()
            .unwrap();
        assert_eq!(
            error.kind(),
            ErrorKind::Corrupt,
            "damage comes before version: {error}"
        );
        overwrite(vfs.as_ref(), &path, &whole);
    }
}

/// A manifest that is intact and asks for something that this version does not know.
#[test]
fn a_manifest_with_unknown_contents_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (vfs, dir): (Arc<dyn Vfs>, _) = (Arc::new(OsVfs), root.path().join("index"));
    data(1).build(&vfs, &dir, &options()).unwrap();
    let path = dir.join(MANIFEST_FILE);
    let json = pageway_store::read_manifest(vfs.as_ref(), &dir).unwrap();
    let json = String::from_utf8(json).unwrap();
    let whole = contents(vfs.as_ref(), &path);
    for (from, to) in [
        ("\"packed\"", "\"shuffled\""),
        ("\"generation\"", "\"epoch\""),
        ("{", "{\"future\": 1,"),
        ("}", ""),
    ] {
        let changed = json.replacen(from, to, 1);
        assert_ne!(changed, json);
        pageway_store::commit_manifest(vfs.as_ref(), &dir, changed.as_bytes()).unwrap();
        let error = describe(&dir).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incompatible, "{to}: {error}");
        assert!(Index::open_on(&vfs, &dir, &OpenOptions::default()).is_err());
    }
    for (from, to) in [
        ("\"node_count\": 3000", "\"node_count\": 2999"),
        ("\"dimension\": 16", "\"dimension\": 17"),
        ("\"max_degree\": 16", "\"max_degree\": 15"),
    ] {
        let changed = json.replacen(from, to, 1);
        assert_ne!(changed, json);
        pageway_store::commit_manifest(vfs.as_ref(), &dir, changed.as_bytes()).unwrap();
        let error = Index::open_on(&vfs, &dir, &OpenOptions::default())
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{to}: {error}");
        assert!(!sound(&vfs, &dir), "{to}");
    }
    overwrite(vfs.as_ref(), &path, &whole);
    assert!(sound(&vfs, &dir));
}
