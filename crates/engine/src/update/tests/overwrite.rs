//! Pages that are written over in place.

use std::path::{Path, PathBuf};

use pageway_store::{OsVfs, Vfs as _};
use pageway_types::NoProgress;

use super::model::{Model, SHAPE};
use super::patch::{built_of, churn, entry, opened};
use crate::Index;
use crate::error::ErrorKind;
use crate::options::{OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::update::verify;

fn records(dir: &Path, name: &str) -> PathBuf {
    dir.join(name)
}

#[test]
fn pages_are_written_over_and_nobody_else_reads_meanwhile() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(31));
    built_of(Preset::IpDiskAnn, dir.path(), &mut model);
    let open = || Index::open(dir.path(), &OpenOptions::default());
    let busy = |kind| assert_eq!(kind, ErrorKind::Busy);
    let mut known = Model::new(34);
    known.rows = model.rows.clone();
    let reader = open().unwrap();
    let writer = opened(dir.path());
    // The first flush leaves the pages of the build to who has them open.
    churn(&writer, &mut model, 2);
    assert!(known.check(&reader) > 0.97);
    assert_eq!(reader.refresh().unwrap_err().kind(), ErrorKind::Unsupported);
    busy(open().err().unwrap().kind());
    busy(verify(dir.path(), &NoProgress).unwrap_err().kind());
    let mut before = entry(&writer).files;
    let mut written = Vec::new();
    for flush in 1..=6 {
        churn(&writer, &mut model, 2);
        assert!(model.check(writer.index()) > 0.97, "{flush}");
        let own = entry(&writer).files;
        written.push(own.records.name == before.records.name);
        assert!(own.patches.is_none());
        if own.records.name == before.records.name {
            assert_eq!(own.records.epoch, before.records.epoch + 1);
            assert!(own.overwritten.is_some());
        }
        before = own;
    }
    assert!(
        written.iter().filter(|same| **same).count() >= 4,
        "{written:?}"
    );
    // The journals are gone.
    let names = OsVfs.list(dir.path()).unwrap();
    assert!(!names.iter().any(|name| name.starts_with("patch-")));
    drop(writer);
    let report = verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    let (reader, other) = (open().unwrap(), open().unwrap());
    assert!(model.check(&reader) > 0.97);
    let options = crate::UpdateOptions::default();
    let writer = crate::Writer::open(dir.path(), &OpenOptions::default(), &options);
    busy(writer.err().unwrap().kind());
    drop((reader, other));
    opened(dir.path());
}

#[test]
fn who_shares_an_index_with_other_readers_calibrates_it() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(36));
    built_of(Preset::IpDiskAnn, dir.path(), &mut model);
    let writer = opened(dir.path());
    churn(&writer, &mut model, 2);
    churn(&writer, &mut model, 2);
    writer.merge(true, &NoProgress).unwrap();
    let records = records(dir.path(), &entry(&writer).files.records.name);
    drop(writer);
    let open = || Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let (index, other) = (open(), open());
    let calibrate = || {
        let options = crate::CalibrateOptions::default().with_queries(10);
        index.calibrate(None, &options, &NoProgress)
    };
    // One of them stores another calibration.
    let lock = OsVfs.lock(&records).unwrap();
    assert_eq!(calibrate().unwrap_err().kind(), ErrorKind::Busy);
    drop(lock);
    let calibration = calibrate().unwrap();
    assert!(other.calibration() != calibration);
    assert!(other.refresh().unwrap());
    assert!(other.calibration() == calibration);
    let options = crate::UpdateOptions::default();
    let writer = crate::Writer::open(dir.path(), &OpenOptions::default(), &options);
    assert_eq!(writer.err().unwrap().kind(), ErrorKind::Busy);
    assert!(model.check(&index) > 0.97);
    drop((index, other));
    opened(dir.path());
}

/// A page that was written over: its number, and what lay there before.
#[expect(clippy::disallowed_methods, reason = "damage comes from elsewhere")]
fn overwritten(dir: &Path, model: &mut Model) -> (PathBuf, Vec<u8>, Vec<u8>) {
    for _ in 0..10 {
        let writer = opened(dir);
        let name = entry(&writer).files.records.name;
        let before = std::fs::read(records(dir, &name)).unwrap();
        churn(&writer, model, 2);
        if entry(&writer).files.records.name == name {
            let now = std::fs::read(records(dir, &name)).unwrap();
            return (records(dir, &name), before, now);
        }
    }
    panic!("nothing is written over");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "damage comes from elsewhere")]
fn torn_pages_and_lost_writes_are_found() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(32));
    built_of(Preset::IpDiskAnn, dir.path(), &mut model);
    churn(&opened(dir.path()), &mut model, 2);
    let (path, before, now) = overwritten(dir.path(), &mut model);
    let changed = |page: &usize| {
        let place = page * 4096..(page + 1) * 4096;
        before
            .get(place.clone())
            .is_some_and(|old| *old != now[place])
    };
    let pages: Vec<usize> = (1..now.len() / 4096).filter(changed).collect();
    assert!(!pages.is_empty());
    for (bytes, what) in [(4096, "a write was lost"), (2048, "checksum")] {
        let mut damaged = now.clone();
        for page in &pages {
            damaged[page * 4096..][..bytes].copy_from_slice(&before[page * 4096..][..bytes]);
        }
        if bytes < 4096 {
            // The epoch of the new one.
            damaged[pages[0] * 4096 + 2048] ^= 1;
        }
        std::fs::write(&path, &damaged).unwrap();
        let report = verify(dir.path(), &NoProgress).unwrap();
        let told = report.problems.join("; ");
        assert!(told.contains(what), "{told}");
        let index = Index::open(dir.path(), &OpenOptions::default());
        let found = index.and_then(|index| {
            let queries = model.rows(200).concat();
            index.search(&Queries::new(&queries, SHAPE), &SearchOptions::nearest(10))
        });
        let error = found.expect_err("damaged pages are read");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    std::fs::write(&path, &now).unwrap();
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn a_journal_waits_for_who_reads_what_it_is_to_be_written_over() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(33));
    built_of(Preset::IpDiskAnn, dir.path(), &mut model);
    let writer = opened(dir.path());
    churn(&writer, &mut model, 2);
    let version = writer.index().version();
    churn(&writer, &mut model, 2);
    churn(&writer, &mut model, 2);
    let waiting = entry(&writer).files;
    assert_eq!(waiting.patches.map(|own| own.images.len()), Some(2));
    assert!(model.check(writer.index()) > 0.97);
    drop(version);
    churn(&writer, &mut model, 2);
    assert!(entry(&writer).files.patches.is_none());
    assert!(model.check(writer.index()) > 0.97);
    // Or for the next writer.
    let version = writer.index().version();
    churn(&writer, &mut model, 2);
    assert!(entry(&writer).files.patches.is_some());
    drop((writer, version));
    let report = verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    let writer = opened(dir.path());
    assert!(entry(&writer).files.patches.is_none());
    assert!(model.check(writer.index()) > 0.97);
}

#[test]
fn a_list_that_gains_a_neighbour_does_not_cost_its_page() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(35));
    built_of(Preset::Dgai, dir.path(), &mut model);
    let writer = opened(dir.path());
    // The first flush writes all pages to a file of their own.
    churn(&writer, &mut model, 2);
    let written = || writer.changes().unwrap().work.segment_bytes;
    let (before, mut kept, mut moved) = (written(), 0, 0);
    for _ in 0..12 {
        let pages = entry(&writer).files.records.epoch;
        churn(&writer, &mut model, 2);
        assert!(model.check(writer.index()) > 0.9);
        let own = entry(&writer).files;
        kept += u32::from(own.differences().is_some());
        moved += own.records.epoch - pages;
        let added = own.additions.unwrap();
        assert!(added.codes.is_some() && added.second_codes.is_some() && added.ids.is_some());
    }
    assert!(
        (5..12).contains(&kept),
        "{kept} of 12 flushes kept differences"
    );
    assert!(moved >= 10, "new rows bring pages: {moved}");
    // Twice what the pages of all lists take, as the lists of a flush lie on all of them.
    let lists = 2 * 1500 * (2 + 4 * 16);
    let each = (written() - before) / 12;
    println!("{kept} kept, {moved} moved, {each} bytes a flush, {lists} of lists");
    assert!(each < lists, "{each} bytes a flush, {lists} of lists");
    drop(writer);
    let report = verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    let writer = opened(dir.path());
    assert!(model.check(writer.index()) > 0.9);
    churn(&writer, &mut model, 4);
    assert!(model.check(writer.index()) > 0.9);
}
