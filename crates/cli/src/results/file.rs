//! A file of ids and distances, little-endian words of 4 bytes, as `pageway ground-truth` writes
//! them.
//!
//! ```text
//! .ibin       queries, k          ids   distances     k per query, id -1 where there is none
//! .rangeres   queries, results    results per query   ids   distances
//! ```
//!
//! Distances follow the last id. Within a radius its place is known at the end alone: until then
//! distances wait in a file of their own.

use std::path::Path;

use pageway::{Answers, Error, Result, SearchOptions};

use super::partial::{PartialFile, narrow_ids, words};

const HEADER_BYTES: u64 = 8;
const VALUE_BYTES: u64 = 4;
/// Bytes moved at a time.
const COPY_BYTES: u64 = 1 << 20;

/// A results file in the making. Within a radius holds 4 bytes per query.
pub(crate) struct WordsFile {
    file: PartialFile,
    format: Format,
    queries: u64,
    results: u64,
}

/// What differs.
enum Format {
    Nearest { k: u32 },
    Ranges(Ranges),
}

/// What is written at the end.
struct Ranges {
    distances: PartialFile,
    counts: Vec<u32>,
}

impl WordsFile {
    /// Begins a file for the answers that `options` ask for.
    ///
    /// # Errors
    /// `InvalidInput` for another extension and more queries than the format counts; `Io`.
    pub(super) fn create(path: &Path, queries: u64, options: &SearchOptions) -> Result<Self> {
        let (file, format) = if options.radius.is_none() {
            let file = PartialFile::create(path, "ibin")?;
            let count = counted(&file, (queries, "queries"), u32::MAX)?;
            file.write(&head(count, options.k), 0)?;
            (file, Format::Nearest { k: options.k })
        } else {
            let file = PartialFile::create(path, "rangeres")?;
            let distances = file.beside()?;
            let counts = Vec::new();
            (file, Format::Ranges(Ranges { distances, counts }))
        };
        Ok(Self {
            file,
            format,
            queries,
            results: 0,
        })
    }

    /// Adds the answers of the queries that come next, from `first` on.
    ///
    /// # Errors
    /// `InvalidInput` for user ids beyond 31 bits, with the query; `NoSpace`; `Io`.
    pub(super) fn put(&mut self, first: u64, answers: &Answers) -> Result<()> {
        let lims = &answers.lims;
        let query_of = |place: usize| {
            let query = lims.partition_point(|lim| *lim <= place).saturating_sub(1);
            first + query as u64
        };
        let ids = narrow_ids(self.file.path(), &answers.ids, query_of)?;
        let (done, distances) = (self.results * VALUE_BYTES, words(&answers.distances));
        match &mut self.format {
            Format::Nearest { k } => {
                let ids_at = HEADER_BYTES + done;
                let values = self.queries * u64::from(*k);
                self.file.write(&ids, ids_at)?;
                self.file.write(&distances, ids_at + values * VALUE_BYTES)?;
            }
            Format::Ranges(ranges) => {
                let ids_at = HEADER_BYTES + self.queries * VALUE_BYTES;
                self.file.write(&ids, ids_at + done)?;
                ranges.distances.write(&distances, done)?;
                let ends = lims.iter().skip(1);
                let counts = ends.zip(lims).map(|(end, begin)| (end - begin) as u32);
                ranges.counts.extend(counts);
            }
        }
        self.results += answers.ids.len() as u64;
        Ok(())
    }

    /// Puts the parts together, makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `InvalidInput` for more queries or results than the format counts; `NoSpace`; `Io`.
    pub(super) fn finish(self) -> Result<()> {
        if let Format::Ranges(ranges) = &self.format {
            let most = i32::MAX as u32;
            let queries = counted(&self.file, (self.queries, "queries"), most)?;
            let results = counted(&self.file, (self.results, "results"), most)?;
            let counts = ranges.counts.iter().flat_map(|count| count.to_le_bytes());
            let head: Vec<u8> = head(queries, results).into_iter().chain(counts).collect();
            self.file.write(&head, 0)?;
            self.move_distances(&ranges.distances)?;
        }
        self.file.finish()
    }

    fn move_distances(&self, from: &PartialFile) -> Result<()> {
        let bytes = self.results * VALUE_BYTES;
        let to = HEADER_BYTES + self.queries * VALUE_BYTES + bytes;
        let mut done = 0;
        while done < bytes {
            let mut block = vec![0; COPY_BYTES.min(bytes - done) as usize];
            from.read(&mut block, done)?;
            self.file.write(&block, to + done)?;
            done += block.len() as u64;
        }
        Ok(())
    }
}

fn head(queries: u32, number: u32) -> Vec<u8> {
    [queries.to_le_bytes(), number.to_le_bytes()].concat()
}

/// A number as the header counts it, at most to `most`.
fn counted(file: &PartialFile, (number, what): (u64, &str), most: u32) -> Result<u32> {
    let count = u32::try_from(number).ok().filter(|count| *count <= most);
    count.ok_or_else(|| {
        let path = file.path();
        let extension = path.extension().unwrap_or_default().display();
        Error::invalid(format!(
            "{}: {number} {what}; .{extension} counts at most {most}",
            path.display()
        ))
    })
}
