//! A results file in the format of its extension.

use std::path::Path;

use pageway::{Answers, Error, Result, SearchOptions};
use pageway_formats::AnswersFile;

use super::arrays::ArraysFile;
use super::file::WordsFile;
use super::lines::{LineFormat, LinesFile};
use crate::system;

/// Answers on their way into a file.
pub(crate) enum ResultsFile {
    Words(WordsFile),
    Arrays(ArraysFile),
    Lines(LinesFile),
    Columns(Box<AnswersFile>),
}

impl ResultsFile {
    /// Begins a file for the answers that `options` ask for.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown extension, with those that there are, for one that cannot take
    /// answers of this kind, and for more queries than the format counts; `Io`.
    pub(crate) fn create(path: &Path, queries: u64, options: &SearchOptions) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let within = options.radius.is_some();
        Ok(match extension.to_str().unwrap_or_default() {
            "npy" if !within => Self::Arrays(ArraysFile::create(path, queries, options.k)?),
            "csv" => Self::Lines(LinesFile::create(path, LineFormat::Csv)?),
            "jsonl" => Self::Lines(LinesFile::create(path, LineFormat::Json)?),
            "parquet" => Self::Columns(Box::new(AnswersFile::create(&system::vfs(), path)?)),
            "ibin" if !within => Self::Words(WordsFile::create(path, queries, options)?),
            "rangeres" if within => Self::Words(WordsFile::create(path, queries, options)?),
            _ => {
                let known = if within { ".rangeres" } else { ".ibin .npy" };
                return Err(Error::invalid(format!(
                    "{}: results are written as {known} .csv .jsonl .parquet files",
                    path.display()
                )));
            }
        })
    }

    /// Adds the answers of the queries that come next, from `first` on.
    ///
    /// # Errors
    /// `InvalidInput` for ids that the format cannot hold, with the query; `NoSpace`; `Io`.
    pub(crate) fn put(&mut self, first: u64, answers: &Answers) -> Result<()> {
        match self {
            Self::Words(file) => file.put(first, answers),
            Self::Arrays(file) => file.put(answers),
            Self::Lines(file) => file.put(first, answers),
            Self::Columns(file) => file.put(first, answers),
        }
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// As `put`.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Words(file) => file.finish(),
            Self::Arrays(file) => file.finish(),
            Self::Lines(file) => file.finish(),
            Self::Columns(file) => file.finish(),
        }
    }
}
