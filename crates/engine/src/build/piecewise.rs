//! Tests of builds whose graph is never in memory, and of builds that are stopped and go on.

use std::path::Path;
use std::sync::{Arc, Mutex};

use pageway_store::{OpenMode, OsVfs, Vfs};
use pageway_types::{ElementType, NoProgress, Progress, VectorShape};

use super::plan::{BuildPlan, GraphPlan};
use super::whole::build_planned;
use crate::error::{ErrorKind, Result};
use crate::index::{Index, describe};
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::source::{IdSlice, VectorSlice};

const ROWS: u32 = 900;
const SHAPE: VectorShape = VectorShape {
    dimension: 16,
    element: ElementType::U8,
};

/// Distinct rows around thirty centres.
fn rows() -> Vec<u8> {
    let mix = |value: u32| value.wrapping_mul(2_654_435_769).rotate_left(13) ^ (value >> 7);
    let component = |row: u32, at: u32| match at {
        0 => (row % 256) as u8,
        1 => (row / 256) as u8,
        _ => (mix(row % 30 * 16 + at) % 200 + mix(mix(row * 16 + at)) % 50) as u8,
    };
    let all = (0..ROWS).flat_map(|row| (0..SHAPE.dimension).map(move |at| component(row, at)));
    all.collect()
}

fn options(preset: Preset, form: Option<&str>) -> BuildOptions {
    BuildOptions {
        preset,
        form: form.map(str::to_owned),
        degree: 12,
        build_list: 24,
        code_bytes: Some(8),
        calibration_queries: Some(5),
        threads: 2,
        ..BuildOptions::default()
    }
}

/// Builds in parts, shards and windows of a third of the rows; or in memory.
fn build(
    dir: &Path,
    options: &BuildOptions,
    piecewise: bool,
    progress: &dyn Progress,
) -> Result<()> {
    build_in(dir, options, piecewise.then_some(1), progress)
}

/// The same, in pieces in so many times the least memory.
fn build_in(
    dir: &Path,
    options: &BuildOptions,
    piecewise: Option<u64>,
    progress: &dyn Progress,
) -> Result<()> {
    let bytes = rows();
    let ids: Vec<u64> = (0..u64::from(ROWS)).map(|row| 3 * row + 1).collect();
    let (vectors, ids) = (VectorSlice::new(&bytes, SHAPE).unwrap(), IdSlice(&ids));
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
    let mut plan = BuildPlan::new((&input, SHAPE.element), options, None)?;
    if let Some(times) = piecewise {
        plan.parts = plan.can_part().then_some(ROWS / 3);
        let per_page = plan.nodes_per_page();
        let window = (ROWS / 3 / per_page).max(1) * per_page;
        let window = plan.places_by_edges().then_some(window);
        let capacity = ROWS / 3;
        plan.graph = match options.graph_from {
            Some(_) => GraphPlan::Taken { window },
            None => GraphPlan::Shards { capacity, window },
        };
        // Codes that pages hold wait on disk.
        let held = if plan.pages_hold_codes() { 0 } else { 16 << 20 };
        plan.budget_bytes = times * plan.paging_bytes(held);
        assert_eq!(
            plan.codes_wait_on_disk(),
            times == 1 && plan.pages_hold_codes()
        );
    }
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    build_planned((&vfs, dir), (&input, options), (&plan, None), progress).map(|_| ())
}

fn designs() -> [(Preset, Option<&'static str>); 8] {
    [
        (Preset::DiskAnn, None),
        (Preset::AiSaq, None),
        (Preset::Starling, None),
        (Preset::Gorgeous, None),
        (Preset::PageAnn, None),
        (Preset::PageAnnDisk, None),
        (Preset::Dgai, None),
        (Preset::Pageway, Some("on-disk")),
    ]
}

/// Share of the rows that a search for them finds first.
fn found(dir: &Path) -> f64 {
    let index = Index::open(dir, &OpenOptions::default()).unwrap();
    let bytes = rows();
    let search = SearchOptions {
        effort: Effort::ListSize(60),
        ..SearchOptions::nearest(1)
    };
    let answers = index.search(&Queries::new(&bytes, SHAPE), &search).unwrap();
    let own = answers.ids.iter().zip(0u64..);
    let own = own.filter(|(id, row)| **id == 3 * row + 1).count();
    own as f64 / f64::from(ROWS)
}

#[test]
fn every_design_is_built_without_its_graph_in_memory() {
    let root = tempfile::tempdir().unwrap();
    for (number, (preset, form)) in designs().into_iter().enumerate() {
        let dir = root.path().join(number.to_string());
        build(&dir, &options(preset, form), true, &NoProgress).unwrap();
        let found = found(&dir);
        assert!(found > 0.95, "{preset} {form:?}: {found}");
        let left: Vec<_> = names(&dir)
            .into_iter()
            .filter(|name| is_temporary(name))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_graph_of_another_index_is_laid_out_without_being_held() {
    let root = tempfile::tempdir().unwrap();
    let donor = root.path().join("donor");
    build(&donor, &options(Preset::DiskAnn, None), false, &NoProgress).unwrap();
    let degree = |dir: &Path| describe(dir).unwrap().mean_degree;
    for preset in [Preset::AiSaq, Preset::Gorgeous, Preset::Starling] {
        let dir = root.path().join(preset.name());
        let options = BuildOptions {
            graph_from: Some(donor.clone()),
            ..options(preset, None)
        };
        build(&dir, &options, true, &NoProgress).unwrap();
        assert_eq!(degree(&dir), degree(&donor), "{preset}");
        let found = found(&dir);
        assert!(found > 0.95, "{preset}: {found}");
    }
}

#[test]
fn neither_memory_nor_threads_change_a_byte_of_what_is_built_in_pieces() {
    let root = tempfile::tempdir().unwrap();
    let own = (Preset::Pageway, Some("on-disk"));
    for (preset, form) in [(Preset::Starling, None), (Preset::PageAnn, None), own] {
        let built = |(times, threads)| {
            let dir = root.path().join("index");
            remove(&dir);
            let options = BuildOptions {
                threads,
                ..options(preset, form)
            };
            build_in(&dir, &options, Some(times), &NoProgress).unwrap();
            files(&dir)
        };
        let expected = built((1, 1));
        for other in [(1, 2), (2, 1), (1000, 2)] {
            assert!(built(other) == expected, "{preset} {form:?} {other:?}");
        }
    }
}

fn is_temporary(name: &str) -> bool {
    name.starts_with("spill") || name.starts_with("resume")
}

/// Files and directories of a directory.
fn names(dir: &Path) -> Vec<String> {
    let mut names = OsVfs.list(dir).unwrap();
    names.extend(OsVfs.list_others(dir).unwrap());
    names.sort();
    names
}

fn read(path: &Path) -> Vec<u8> {
    let file = OsVfs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn write(path: &Path, bytes: &[u8]) {
    let _ = OsVfs.remove_file(path);
    let file = OsVfs.open(path, OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

/// All files of an index.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let names = names(dir).into_iter();
    let named = names.map(|name| (read(&dir.join(&name)), name));
    named.map(|(bytes, name)| (name, bytes)).collect()
}

fn remove(dir: &Path) {
    if !OsVfs.exists(dir).unwrap() {
        return;
    }
    for name in OsVfs.list(dir).unwrap() {
        OsVfs.remove_file(&dir.join(name)).unwrap();
    }
    for name in OsVfs.list_others(dir).unwrap() {
        remove(&dir.join(name));
    }
    OsVfs.remove_dir(dir).unwrap();
}

fn copy(from: &Path, to: &Path) {
    remove(to);
    OsVfs.create_dir_all(to).unwrap();
    if !OsVfs.exists(from).unwrap() {
        return;
    }
    for name in OsVfs.list(from).unwrap() {
        write(&to.join(&name), &read(&from.join(&name)));
    }
    for name in OsVfs.list_others(from).unwrap() {
        copy(&from.join(&name), &to.join(&name));
    }
}

/// Stops at a look, and keeps what the disk holds then: what a killed build leaves.
struct Killed<'k> {
    looks: Mutex<u32>,
    at: u32,
    dir: &'k Path,
    image: &'k Path,
}

impl Progress for Killed<'_> {
    fn stage(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        let mut looks = self.looks.lock().unwrap();
        let look = *looks;
        *looks += 1;
        if look == self.at {
            copy(self.dir, self.image);
        }
        look >= self.at
    }
}

/// Kills a build at some of its looks and goes on each time from what is left.
fn goes_on(design: (Preset, Option<&str>), piecewise: bool, scratch: bool, kills: u32) {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    let wished = |side: &str| {
        let beside = place(side).join("scratch");
        BuildOptions {
            resume: true,
            scratch: scratch.then_some(beside),
            ..options(design.0, design.1)
        }
    };
    let make = |side: &str, progress: &dyn Progress| {
        OsVfs.create_dir_all(&place(side).join("scratch")).unwrap();
        build(
            &place(side).join("index"),
            &wished(side),
            piecewise,
            progress,
        )
    };
    let counted = Killed {
        looks: Mutex::new(0),
        at: u32::MAX,
        dir: root.path(),
        image: root.path(),
    };
    make("whole", &counted).unwrap();
    let expected = files(&place("whole").join("index"));
    assert!(names(&place("whole").join("scratch")).is_empty());
    let looks = counted.looks.into_inner().unwrap();
    for kill in 0..kills {
        remove(&place("one"));
        let mut at = looks * (kill + 1) / (kills + 1);
        let mut finished = false;
        for _ in 0..3 {
            let killed = Killed {
                looks: Mutex::new(0),
                at,
                dir: &place("one"),
                image: &place("image"),
            };
            let Err(error) = make("one", &killed) else {
                finished = true;
                break;
            };
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            copy(&place("image"), &place("one"));
            at /= 2;
        }
        // One that goes on looks less often, and may end before it is killed again.
        if !finished {
            make("one", &NoProgress).unwrap();
        }
        assert!(
            files(&place("one").join("index")) == expected,
            "kill {kill}"
        );
        assert!(names(&place("one").join("scratch")).is_empty());
    }
}

fn kills(few: u32) -> u32 {
    let long = std::env::var("PAGEWAY_SUITE").is_ok_and(|suite| suite == "long");
    if long { 50 } else { few }
}

#[test]
fn a_build_in_pieces_goes_on_where_it_was_killed() {
    goes_on((Preset::PageAnn, None), true, false, kills(3));
    goes_on((Preset::Starling, None), true, true, kills(3));
}

#[test]
fn a_build_in_memory_goes_on_where_it_was_killed() {
    goes_on((Preset::Starling, None), false, true, kills(2));
    goes_on((Preset::Pageway, Some("clustered")), false, false, kills(2));
}

#[test]
fn what_is_kept_is_of_the_same_build_and_whole() {
    let root = tempfile::tempdir().unwrap();
    let (dir, image) = (root.path().join("index"), root.path().join("image"));
    let mut options = options(Preset::PageAnn, None);
    options.resume = true;
    let killed = Killed {
        looks: Mutex::new(0),
        at: u32::MAX - 1,
        dir: &dir,
        image: &image,
    };
    build(&dir, &options, true, &killed).unwrap();
    let expected = files(&dir);
    let killed = Killed {
        looks: Mutex::new(0),
        at: killed.looks.into_inner().unwrap() * 3 / 4,
        dir: &dir,
        image: &image,
    };
    remove(&dir);
    build(&dir, &options, true, &killed).unwrap_err();
    let kept = |name: &String| name.starts_with("spill");
    assert!(names(&dir).iter().any(kept), "{:?}", names(&dir));
    // A file that changed is made again.
    for name in names(&dir).into_iter().filter(kept) {
        let mut bytes = read(&dir.join(&name));
        if let Some(byte) = bytes.last_mut() {
            *byte ^= 1;
        }
        write(&dir.join(&name), &bytes);
    }
    build(&dir, &options, true, &NoProgress).unwrap();
    assert!(files(&dir) == expected);
    // A build that is not to go on takes nothing over, and leaves nothing.
    copy(&image, &dir);
    options.resume = false;
    build(&dir, &options, true, &NoProgress).unwrap();
    assert!(files(&dir) == expected);
}
