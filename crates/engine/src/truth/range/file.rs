//! Range results in a file, as the big-ann benchmarks lay them out: `.rangeres`.
//!
//! ```text
//! | queries u32 | results u32 | results per query u32 each | ids i32 each | distances f32 each |
//! ```

use std::path::Path;
use std::sync::Arc;

use pageway_store::{OpenMode, Vfs, VfsFile};

use super::table::RangeTruth;
use crate::error::Error;
use crate::source::{OutputFile, lowercase_extension, read_bin_header};
use crate::truth::{Truth, TruthError, TruthFile};

const EXTENSION: &str = "rangeres";
const HEADER_BYTES: u64 = 8;
const VALUE_BYTES: u64 = 4;

/// A file of exact results within a radius. Holds 4 bytes per query.
pub struct RangeTruthFile {
    file: Arc<dyn VfsFile>,
    name: String,
    /// Where the results of each query begin, and the number of all.
    starts: Vec<u32>,
}

impl RangeTruthFile {
    /// Opens a `.rangeres` file and checks header and counts against its size.
    ///
    /// # Errors
    /// `NotFound` and `Io`; `InvalidInput` for other extensions, no queries, and headers or counts
    /// that disagree with the size.
    pub fn open(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        if lowercase_extension(path) != EXTENSION {
            return Err(TruthError::UnknownRangeExtension { file: name }.into());
        }
        let file = vfs
            .open(path, OpenMode::Read)
            .map_err(|e| Error::from(e).within(&name))?;
        let header = read_bin_header(file.as_ref(), &name)?;
        if header.0 == 0 {
            return Err(TruthError::NoQueries.into());
        }
        check_size(file.as_ref(), &name, header)?;
        let counts = read_words(file.as_ref(), &name, HEADER_BYTES, header.0.into())?;
        let starts = starts_of(&counts, &name, header)?;
        Ok(Self { file, name, starts })
    }

    /// Number of queries.
    pub fn query_count(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Reads the results of the queries `first .. first + count`.
    ///
    /// # Errors
    /// `InvalidInput` for queries outside of the file and negative ids; `Io`.
    pub fn read(&self, first: u64, count: usize) -> Result<RangeTruth, Error> {
        let end = first.saturating_add(count as u64);
        let starts = self.starts.get(first as usize..=end as usize);
        let [begin, .., last] = starts.unwrap_or(&[]) else {
            return Err(self.outside(first, end).into());
        };
        let ids_at = HEADER_BYTES + VALUE_BYTES * self.query_count();
        let at = |start: u64| start + VALUE_BYTES * u64::from(*begin);
        let results = u64::from(last - begin);
        let ids = self.words(at(ids_at), results)?;
        let all = self.starts.last().copied().unwrap_or(0);
        let distances = self.words(at(ids_at + VALUE_BYTES * u64::from(all)), results)?;
        let lims = starts
            .unwrap_or(&[])
            .iter()
            .map(|start| (start - begin) as usize);
        let lims: Vec<usize> = lims.collect();
        if let Some(place) = ids.iter().position(|id| i32::try_from(*id).is_err()) {
            return Err(self.negative(first, place, (&lims, &ids)).into());
        }
        Ok(RangeTruth {
            lims,
            ids,
            distances: distances.into_iter().map(f32::from_bits).collect(),
        })
    }

    fn words(&self, offset: u64, count: u64) -> Result<Vec<u32>, Error> {
        read_words(self.file.as_ref(), &self.name, offset, count)
    }

    fn outside(&self, first: u64, end: u64) -> TruthError {
        TruthError::Range {
            file: self.name.clone(),
            first,
            end,
            count: self.query_count(),
        }
    }

    fn negative(&self, first: u64, place: usize, (lims, ids): (&[usize], &[u32])) -> TruthError {
        let query = lims.partition_point(|lim| *lim <= place).saturating_sub(1);
        TruthError::IdRange {
            file: self.name.clone(),
            query: first + query as u64,
            rank: place - lims.get(query).copied().unwrap_or(0),
            id: ids.get(place).map_or(-1, |id| id.cast_signed()),
            count: None,
        }
    }
}

impl TruthFile {
    /// Reads the nearest neighbours of the queries `first .. first + count`, cut at a radius, where
    /// that gives all results within it: the last neighbour lies outside, or all `base_count` rows
    /// are listed.
    ///
    /// # Errors
    /// As [`TruthFile::read`]; `InvalidInput` where distances are missing, or the last neighbour of
    /// a query is still within the radius.
    pub fn read_within(
        &self,
        first: u64,
        count: usize,
        (radius, base_count): (f32, u64),
    ) -> Result<RangeTruth, Error> {
        if !self.has_distances() {
            let file = self.name().to_owned();
            return Err(TruthError::NoDistances { file }.into());
        }
        let nearest = self.read(first, count)?;
        let complete = nearest.k as u64 >= base_count;
        let last = |query: &usize| nearest.distances_of(*query).last().copied();
        let ends_within = |query: &usize| last(query).is_some_and(|last| last <= radius);
        let open = (0..nearest.query_count()).find(ends_within);
        match open.filter(|_| !complete) {
            Some(query) => Err(self.too_shallow(first, query, &nearest, radius).into()),
            None => Ok(RangeTruth::of_nearest(&nearest, radius)),
        }
    }

    fn too_shallow(&self, first: u64, query: usize, nearest: &Truth, radius: f32) -> TruthError {
        TruthError::TooShallow {
            file: self.name().to_owned(),
            query: first + query as u64,
            k: nearest.k,
            distance: nearest
                .distances_of(query)
                .last()
                .copied()
                .unwrap_or(f32::NAN),
            radius,
        }
    }
}

/// Writes `truth` as `.rangeres`. The file appears when it is complete.
///
/// # Errors
/// `InvalidInput` for another extension, an empty truth, lists that do not run in step, and more
/// results or larger ids than the format has room for; `NoSpace`; `Io`.
pub fn write_range_truth(vfs: &Arc<dyn Vfs>, path: &Path, truth: &RangeTruth) -> Result<(), Error> {
    let (queries, results) = check_writable(path, truth)?;
    let words = 2 + truth.query_count() as u64 + 2 * u64::from(results);
    let mut output = OutputFile::create(vfs, path, VALUE_BYTES * words)?;
    output.append(&queries.to_le_bytes())?;
    output.append(&results.to_le_bytes())?;
    for query in 0..truth.query_count() {
        output.append(&(truth.ids_of(query).len() as u32).to_le_bytes())?;
    }
    for id in &truth.ids {
        output.append(&id.to_le_bytes())?;
    }
    for distance in &truth.distances {
        output.append(&distance.to_le_bytes())?;
    }
    output.publish()
}

/// Checks what the format can hold; gives the numbers of queries and results.
fn check_writable(path: &Path, truth: &RangeTruth) -> Result<(u32, u32), TruthError> {
    let file = || path.display().to_string();
    if lowercase_extension(path) != EXTENSION {
        return Err(TruthError::UnknownRangeExtension { file: file() });
    }
    let (queries, found) = (truth.query_count(), truth.ids.len());
    if queries == 0 {
        return Err(TruthError::NoQueries);
    }
    let length = |what, found, expected| TruthError::Length {
        what,
        found,
        expected,
    };
    if truth.lims.last() != Some(&found) {
        let expected = truth.lims.last().copied().unwrap_or(0);
        return Err(length("ids", found, expected));
    }
    if truth.distances.len() != found {
        return Err(length("distances", truth.distances.len(), found));
    }
    if let Some(&id) = truth.ids.iter().find(|id| i32::try_from(**id).is_err()) {
        return Err(TruthError::IdTooLarge { file: file(), id });
    }
    let results = i32::try_from(found).map_err(|_| TruthError::RangeTooLarge {
        file: file(),
        results: found as u64,
    })?;
    let queries = u32::try_from(queries).map_err(|_| length("queries", queries, u32::MAX as usize));
    Ok((queries?, results.cast_unsigned()))
}

fn check_size(file: &dyn VfsFile, name: &str, header: (u32, u32)) -> Result<(), Error> {
    let expected_bytes = file_bytes(header);
    let found_bytes = file.len()?;
    if found_bytes == expected_bytes {
        return Ok(());
    }
    let found = format!("the file has {found_bytes}");
    Err(mismatch(name, header, found).into())
}

/// Bytes of a file of so many queries and results.
fn file_bytes((queries, results): (u32, u32)) -> u64 {
    HEADER_BYTES + VALUE_BYTES * u64::from(queries) + 2 * VALUE_BYTES * u64::from(results)
}

fn mismatch(name: &str, header: (u32, u32), found: String) -> TruthError {
    TruthError::RangeMismatch {
        file: name.to_owned(),
        queries: header.0.into(),
        results: header.1.into(),
        expected_bytes: file_bytes(header),
        found,
    }
}

/// Where each query begins.
fn starts_of(counts: &[u32], name: &str, header: (u32, u32)) -> Result<Vec<u32>, TruthError> {
    let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    if sum != u64::from(header.1) {
        let found = format!("the queries have {sum} results");
        return Err(mismatch(name, header, found));
    }
    let mut start = 0;
    let starts = counts.iter().map(|count| {
        start += count;
        start
    });
    Ok(std::iter::once(0).chain(starts).collect())
}

fn read_words(file: &dyn VfsFile, name: &str, offset: u64, count: u64) -> Result<Vec<u32>, Error> {
    let mut bytes = vec![0; (count * VALUE_BYTES) as usize];
    let done = file.read_exact_at(&mut bytes, offset);
    done.map_err(|e| Error::from(e).within(name))?;
    let (words, _) = bytes.as_chunks::<4>();
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}
