//! A results file in the format of its extension.

use std::path::{Path, PathBuf};

use pageway::{Answers, Error, Result, SearchOptions};
use pageway_formats::AnswersFile;

use super::arrays::ArraysFile;
use super::file::WordsFile;
use super::lines::{LineFormat, LinesFile};
use crate::system;

/// Answers on their way into a file.
pub(crate) struct ResultsFile {
    path: PathBuf,
    format: Format,
}

/// Its format.
enum Format {
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
        let format = match extension.to_str().unwrap_or_default() {
            "npy" if !within => Format::Arrays(ArraysFile::create(path, queries, options.k)?),
            "csv" => Format::Lines(LinesFile::create(path, LineFormat::Csv)?),
            "jsonl" => Format::Lines(LinesFile::create(path, LineFormat::Json)?),
            "parquet" => Format::Columns(Box::new(AnswersFile::create(&system::vfs(), path)?)),
            "ibin" if !within => Format::Words(WordsFile::create(path, queries, options)?),
            "rangeres" if within => Format::Words(WordsFile::create(path, queries, options)?),
            _ => {
                let known = if within { ".rangeres" } else { ".ibin .npy" };
                return Err(Error::invalid(format!(
                    "{}: results are written as {known} .csv .jsonl .parquet files",
                    path.display()
                )));
            }
        };
        let path = path.to_owned();
        Ok(Self { path, format })
    }

    /// Adds the answers of the queries that come next, from `first` on.
    ///
    /// # Errors
    /// `InvalidInput` for ids that the format cannot hold, with the query, and for names;
    /// `NoSpace`; `Io`.
    pub(crate) fn put(&mut self, first: u64, answers: &Answers) -> Result<()> {
        let holds_names = matches!(self.format, Format::Lines(_) | Format::Columns(_));
        let name = answers.names.iter().flatten().next();
        if let Some(name) = name.filter(|_| !holds_names) {
            return Err(Error::invalid(format!(
                "{}: rows have names, such as {name:?}, and the format holds numbers: write .csv \
                 .jsonl or .parquet",
                self.path.display()
            )));
        }
        match &mut self.format {
            Format::Words(file) => file.put(first, answers),
            Format::Arrays(file) => file.put(answers),
            Format::Lines(file) => file.put(first, answers),
            Format::Columns(file) => file.put(first, answers),
        }
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// As `put`.
    pub(crate) fn finish(self) -> Result<()> {
        match self.format {
            Format::Words(file) => file.finish(),
            Format::Arrays(file) => file.finish(),
            Format::Lines(file) => file.finish(),
            Format::Columns(file) => file.finish(),
        }
    }
}
