//! What the suites over whole indexes share: small data sets, quick builds, and what a sound index
//! has to answer.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic; each suite uses a part of this"
)]

pub mod attributed;
pub mod program;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pageway::source::{IdSlice, VectorSlice};
use pageway::spec::{CompletionSpec, ScheduleSpec};
use pageway::{
    Answers, BuildInput, BuildOptions, BuildReport, Effort, ElementType, Error, ErrorKind, Index,
    MemoryWish, NoProgress, OpenOptions, Overrides, Preset, Progress, Queries, Result,
    SearchOptions, VectorRead, VectorShape, verify_on,
};
use pageway_store::{
    FileEntry, IoBackend, LOCK_FILE, MANIFEST_FILE, OpenMode, PAGE_HEADER_BYTES, PageFile,
    PageReader, Vfs,
};
use pageway_testkit::SplitMix64;

/// True for the long runs before a release: `PAGEWAY_SUITE=long`.
pub fn long() -> bool {
    std::env::var("PAGEWAY_SUITE").is_ok_and(|length| length == "long")
}

/// `u8` rows around ten centres; another seed gives other rows of the same kind.
#[derive(Clone)]
pub struct Data {
    pub rows: Vec<u8>,
    pub shape: VectorShape,
}

impl Data {
    pub fn new(count: usize, dimension: u32, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut rows = Vec::with_capacity(count * dimension as usize);
        for _ in 0..count {
            let centre = random.below(10);
            for component in 0..u64::from(dimension) {
                let middle = 40 + (centre * 37 + component * 59) % 170;
                rows.push((middle + random.below(40)) as u8);
            }
        }
        let element = ElementType::U8;
        Self {
            rows,
            shape: VectorShape { dimension, element },
        }
    }

    pub fn count(&self) -> usize {
        self.rows.len() / self.shape.row_bytes()
    }

    /// Writes the rows to a new file.
    pub fn write(&self, vfs: &dyn Vfs, path: &Path) {
        let mut bytes = (self.count() as u32).to_le_bytes().to_vec();
        bytes.extend(self.shape.dimension.to_le_bytes());
        bytes.extend(&self.rows);
        let file = vfs.open(path, OpenMode::CreateNew).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
    }

    pub fn build(
        &self,
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        options: &BuildOptions,
    ) -> Result<BuildReport> {
        self.build_watched(vfs, dir, options, &NoProgress)
    }

    pub fn build_with_ids(
        &self,
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        options: &BuildOptions,
        ids: &[u64],
    ) -> Result<BuildReport> {
        let vectors = VectorSlice::new(&self.rows, self.shape)?;
        let ids = IdSlice(ids);
        let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
        Index::build_on(vfs, dir, &input, options, &NoProgress)
    }

    pub fn build_watched(
        &self,
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        options: &BuildOptions,
        progress: &dyn Progress,
    ) -> Result<BuildReport> {
        let vectors = VectorSlice::new(&self.rows, self.shape)?;
        build_from(&vectors, vfs, dir, options, progress)
    }
}

pub fn build_from(
    vectors: &dyn VectorRead,
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    let input = BuildInput::new(vectors, "rows");
    Index::build_on(vfs, dir, &input, options, progress)
}

/// The quickest build that still does everything, of the plainest design.
pub fn quick() -> BuildOptions {
    BuildOptions::default()
        .with_preset(Preset::DiskAnn)
        .with_degree(8)
        .with_build_list(16)
        .with_calibration_queries(5)
        .with_code_bytes(2)
        .with_threads(1)
}

/// The quickest build of a design, with answers that do not depend on the disk.
pub fn quick_as(preset: Preset) -> BuildOptions {
    let in_order = ScheduleSpec::Pipelined {
        least: 4,
        most: 32,
        completion: CompletionSpec::InOrder,
    };
    let schedule = matches!(preset, Preset::PipeAnn | Preset::OdinAnn).then_some(in_order);
    quick().with_preset(preset).with_overrides(Overrides {
        schedule,
        ..Overrides::default()
    })
}

/// The smallest number of bytes that a refusal names.
pub fn smallest_that_works(error: &Error) -> u64 {
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let (_, tail) = error
        .context()
        .split_once("smallest that works is ")
        .unwrap();
    tail.split(' ').next().unwrap().parse().unwrap()
}

/// Opens with the least memory that works: no record is cached, so every one is read by searches.
pub fn open_uncached(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<Index> {
    let with = |bytes| {
        OpenOptions::default()
            .with_memory(MemoryWish::Bytes(bytes))
            .with_effort(Effort::ListSize(40))
    };
    match Index::open_on(vfs, dir, &with(1)) {
        Ok(_) => Err(Error::new(
            ErrorKind::Internal,
            "one byte of memory cannot be enough",
        )),
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            Index::open_on(vfs, dir, &with(smallest_that_works(&error)))
        }
        Err(error) => Err(error),
    }
}

/// Searches for every row of `data`.
pub fn search_all(index: &Index, data: &Data, k: u32) -> Result<Answers> {
    search_first(index, data, data.count(), k)
}

/// Searches for the first rows of `data`.
pub fn search_first(index: &Index, data: &Data, count: usize, k: u32) -> Result<Answers> {
    let options = SearchOptions::nearest(k).with_effort(Effort::ListSize(20));
    let rows = &data.rows[..count * data.shape.row_bytes()];
    index.search(&Queries::new(rows, data.shape), &options)
}

/// Which of `generations` the index in `dir` is: its number from 1, or 0 where no index is.
///
/// Anything else is an error: an index that cannot be opened, that holds other vectors than those
/// it was built from, or that `verify` finds fault with.
pub fn recover(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    generations: &[&Data],
) -> std::result::Result<usize, String> {
    let text = |error: Error| error.to_string();
    let manifest = vfs.exists(&dir.join(MANIFEST_FILE)).unwrap();
    let index = match Index::open_on(vfs, dir, &OpenOptions::default()) {
        Ok(index) => index,
        Err(error) if error.kind() == ErrorKind::NotFound && !manifest => return Ok(0),
        Err(error) => return Err(format!("open: {error}")),
    };
    let report = verify_on(vfs, dir, &NoProgress).map_err(text)?;
    if !report.is_sound() {
        return Err(format!("verify: {}", report.problems.join("; ")));
    }
    let mut rows = vec![0; index.len() as usize * index.shape().row_bytes()];
    index
        .read(0, &mut rows)
        .map_err(|error| error.to_string())?;
    // A design may have put the rows into another order.
    let sorted = sorted_rows(&rows, index.shape());
    let found = generations
        .iter()
        .position(|data| sorted_rows(&data.rows, data.shape) == sorted);
    let found = found.ok_or("the index holds vectors that nobody gave")?;
    let answers = search_all(&index, generations[found], 1).map_err(text)?;
    if answers.distances.iter().all(|distance| *distance > 0.0) {
        return Err("no row finds itself".to_owned());
    }
    Ok(found + 1)
}

fn sorted_rows(rows: &[u8], shape: VectorShape) -> Vec<&[u8]> {
    let mut rows: Vec<&[u8]> = rows.chunks_exact(shape.row_bytes()).collect();
    rows.sort_unstable();
    rows
}

/// What `verify` says, in one word.
pub fn sound(vfs: &Arc<dyn Vfs>, dir: &Path) -> bool {
    verify_on(vfs, dir, &NoProgress).is_ok_and(|report| report.is_sound())
}

/// Names in `dir`; none where it does not exist.
pub fn names(vfs: &dyn Vfs, dir: &Path) -> BTreeSet<String> {
    if vfs.exists(dir).unwrap() {
        vfs.list(dir).unwrap().into_iter().collect()
    } else {
        BTreeSet::new()
    }
}

/// Says so if there is more or less in `dir` than the files of one index.
pub fn check_tidy(vfs: &Arc<dyn Vfs>, dir: &Path) -> std::result::Result<(), String> {
    let index = Index::open_on(vfs, dir, &OpenOptions::default());
    let description = index.and_then(|index| index.description());
    let files = description.map_err(|error| error.to_string())?.files;
    let mut expected: BTreeSet<String> = files.into_iter().map(|file| file.name).collect();
    expected.extend([LOCK_FILE, MANIFEST_FILE].map(str::to_owned));
    let names = names(vfs.as_ref(), dir);
    if names == expected {
        return Ok(());
    }
    Err(format!(
        "left in the directory: {names:?}, expected {expected:?}"
    ))
}

pub fn contents(vfs: &dyn Vfs, path: &Path) -> Vec<u8> {
    let file = vfs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// Replaces the bytes of a file, in place.
pub fn overwrite(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) {
    let file = vfs.open(path, OpenMode::ReadWrite).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

/// Changes the payload of unit 0 of a file of an index, and makes its checksum right.
pub fn change_unit(vfs: &dyn Vfs, dir: &Path, entry: &FileEntry, edit: impl FnOnce(&mut [u8])) {
    let file = PageFile::open(vfs, dir, entry, OpenMode::ReadOwn).unwrap();
    let geometry = file.geometry();
    let reader = PageReader::with_backend(file, IoBackend::Blocking);
    let start = geometry.unit_offset(0) as usize;
    let path = dir.join(&entry.name);
    let mut unit = contents(vfs, &path);
    let unit = &mut unit[start..start + geometry.unit_bytes()];
    edit(&mut unit[PAGE_HEADER_BYTES..]);
    reader.seal_unit(0, 0, unit);
    let file = vfs.open(&path, OpenMode::ReadWrite).unwrap();
    file.write_all_at(unit, start as u64).unwrap();
}
