//! The memory for updates that a refusal names works, for all that it says.

use std::path::Path;

use pageway_types::{ElementType, Metric, NoProgress, SplitMix64, VectorShape};

use super::small::{least, tightest};
use crate::Index;
use crate::error::{ErrorKind, Result};
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, OpenOptions};
use crate::presets::Preset;
use crate::source::VectorSlice;
use crate::update::{CreateOptions, Rows, UpdateOptions, Writer};

const DEGREE: u32 = 12;

fn shape(dimension: u32, element: ElementType) -> VectorShape {
    VectorShape { dimension, element }
}

fn rows(shape: VectorShape, count: usize, seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    let mut component = || random.next_u64() as u8;
    let all = count * shape.dimension as usize;
    if shape.element == ElementType::U8 {
        return (0..all).map(|_| component()).collect();
    }
    (0..all)
        .flat_map(|_| (f32::from(component()) * 1.001).to_le_bytes())
        .collect()
}

/// An index of so many rows whose recall was measured, or not.
fn built(dir: &Path, (preset, shape): (Preset, VectorShape), (count, measured): (usize, bool)) {
    let all = rows(shape, count, 1);
    let vectors = VectorSlice::new(&all, shape).unwrap();
    let options = BuildOptions {
        preset,
        degree: DEGREE,
        calibration_queries: Some(if measured { 20 } else { 0 }),
        ..BuildOptions::default()
    };
    let ids: Vec<u64> = (0..count as u64).collect();
    let ids = crate::source::IdSlice(&ids);
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
    Index::build(dir, &input, &options, &NoProgress).unwrap();
}

fn opened(dir: &Path, memory: u64) -> Result<Writer> {
    let options = UpdateOptions::default()
        .with_memory(MemoryWish::Bytes(memory))
        .with_in_foreground(true)
        .with_merge_by_hand(true);
    Writer::open(dir, &OpenOptions::default(), &options)
}

/// Opens with the memory that a refusal of one byte names, puts rows in, flushes and merges them.
fn all_works(dir: &Path, shape: VectorShape, what: &str) {
    let named = least(opened(dir, 1));
    let writer = opened(dir, named).unwrap_or_else(|error| panic!("{what} {named}: {error}"));
    let before = writer.index().len();
    for batch in 0..2 {
        writer
            .insert(&Rows::new(&rows(shape, 300, 2 + batch), shape))
            .unwrap();
        writer.flush(&NoProgress).unwrap();
    }
    let merged = writer.merge(true, &NoProgress);
    merged.unwrap_or_else(|error| panic!("{what} {named}: {error}"));
    assert_eq!(writer.index().len(), before + 600);
    assert_eq!(writer.changes().unwrap().segments, 1);
}

#[test]
fn what_a_refusal_names_flushes_and_merges() {
    for preset in Preset::ALL {
        for (dimension, measured) in [(4, false), (24, true)] {
            let shape = shape(dimension, ElementType::F32);
            let dir = tempfile::tempdir().unwrap();
            built(dir.path(), (preset, shape), (700, measured));
            all_works(dir.path(), shape, &format!("{preset} {dimension}"));
        }
    }
}

#[test]
fn what_a_refusal_names_is_enough_from_the_first_row_on() {
    for (preset, element) in [
        (Preset::Pageway, ElementType::F32),
        (Preset::Dgai, ElementType::U8),
        (Preset::OdinAnn, ElementType::F32),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let shape = shape(16, element);
        let options = CreateOptions::new(shape, Metric::L2)
            .with_preset(preset)
            .with_degree(DEGREE);
        Writer::create(dir.path(), &options).unwrap();
        all_works(dir.path(), shape, &format!("{preset}, empty"));
    }
}

#[test]
fn what_is_less_than_named_opens_or_merges_nothing() {
    let shape = shape(16, ElementType::U8);
    // Recall is known, so that no flush measures it and leaves more to the merge.
    for count in [500, 12_000] {
        let dir = tempfile::tempdir().unwrap();
        built(dir.path(), (Preset::Pageway, shape), (count, true));
        let named = least(opened(dir.path(), 1));
        let opens = tightest(|memory| opened(dir.path(), memory));
        assert!(opens <= named, "{opens} of {named}");
        if opens == named {
            continue;
        }
        // What opens flushes, and a merge that is refused there says what it takes.
        let writer = opened(dir.path(), opens).unwrap();
        for batch in 0..16 {
            let own = rows(shape, 256, 50 + batch);
            writer.insert(&Rows::new(&own, shape)).unwrap();
        }
        writer.flush(&NoProgress).unwrap();
        let refused = writer.merge(true, &NoProgress).err();
        drop(writer);
        let refused = refused.expect("a merge in less than is named");
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        let for_merge = least(Err(refused));
        assert!(
            for_merge > opens && for_merge <= named,
            "{for_merge} of {named}"
        );
        let writer = opened(dir.path(), for_merge).unwrap();
        writer.merge(true, &NoProgress).unwrap();
    }
}

#[test]
fn a_build_memory_that_is_named_works_too() {
    let shape = shape(16, ElementType::F32);
    let dir = tempfile::tempdir().unwrap();
    built(dir.path(), (Preset::Pageway, shape), (800, false));
    let with = |memory: u64, build: u64| {
        let options = UpdateOptions::default()
            .with_memory(MemoryWish::Bytes(memory))
            .with_build_memory(MemoryWish::Bytes(build))
            .with_in_foreground(true);
        Writer::open(dir.path(), &OpenOptions::default(), &options)
    };
    let build = least(with(1 << 30, 1));
    let memory = least(with(build + 1, build));
    assert!(with(memory - 1, build).is_err());
    let writer = with(memory, build).unwrap();
    writer
        .insert(&Rows::new(&rows(shape, 500, 9), shape))
        .unwrap();
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(writer.changes().unwrap().segments, 1);
}

#[test]
fn an_index_of_narrow_vectors_takes_rows_by_default() {
    for (preset, dimension) in Preset::ALL
        .into_iter()
        .flat_map(|preset| [1, 3].map(|dimension| (preset, dimension)))
    {
        let dir = tempfile::tempdir().unwrap();
        let shape = shape(dimension, ElementType::F32);
        let options = CreateOptions::new(shape, Metric::L2).with_preset(preset);
        Writer::create(dir.path(), &options).unwrap();
        let update = UpdateOptions::default().with_in_foreground(true);
        let writer = Writer::open(dir.path(), &OpenOptions::default(), &update);
        let writer = writer.unwrap_or_else(|error| panic!("{preset} {dimension}: {error}"));
        writer
            .insert(&Rows::new(&rows(shape, 60, 7), shape))
            .unwrap();
        let flushed = writer.flush(&NoProgress);
        flushed.unwrap_or_else(|error| panic!("{preset} {dimension}: {error}"));
        assert_eq!(writer.index().len(), 60);
    }
}
