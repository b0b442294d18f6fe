//! Text: a line per answer (`.csv`), or per query (`.jsonl`).
//!
//! ```text
//! query,rank,id,distance                      {"query": 0, "ids": [7], "distances": [0.5]}
//! 0,1,7,0.5
//! ```
//!
//! Where there are fewer answers than were asked for, there are fewer lines, or numbers.

use std::path::Path;

use pageway::{Answers, Result};

use super::partial::PartialFile;

/// What a line is.
#[derive(Clone, Copy)]
pub(super) enum LineFormat {
    Csv,
    Json,
}

/// Text in the making.
pub(crate) struct LinesOut {
    file: PartialFile,
    written: u64,
}

impl LinesOut {
    /// Begins a file with this extension.
    ///
    /// # Errors
    /// `InvalidInput` for another extension; `Io`.
    pub(crate) fn create(path: &Path, extension: &str) -> Result<Self> {
        let file = PartialFile::create(path, extension)?;
        Ok(Self { file, written: 0 })
    }

    /// Adds text at the end.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub(crate) fn append(&mut self, text: &[u8]) -> Result<()> {
        self.file.write(text, self.written)?;
        self.written += text.len() as u64;
        Ok(())
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

/// Lines of answers in the making.
pub(crate) struct LinesFile {
    out: LinesOut,
    format: LineFormat,
}

impl LinesFile {
    pub(super) fn create(path: &Path, format: LineFormat) -> Result<Self> {
        let (extension, head) = match format {
            LineFormat::Csv => ("csv", "query,rank,id,distance\n"),
            LineFormat::Json => ("jsonl", ""),
        };
        let mut out = LinesOut::create(path, extension)?;
        out.append(head.as_bytes())?;
        Ok(Self { out, format })
    }

    pub(super) fn put(&mut self, first: u64, answers: &Answers) -> Result<()> {
        let mut text = String::new();
        for (query, lims) in (first..).zip(answers.lims.windows(2)) {
            let [begin, end] = lims else { continue };
            let ids = answers.ids.get(*begin..*end).unwrap_or_default();
            let distances = answers.distances.get(*begin..*end).unwrap_or_default();
            let found: Vec<(u64, f32)> =
                ids.iter().copied().zip(distances.iter().copied()).collect();
            let there = found.iter().filter(|(_, distance)| distance.is_finite());
            match self.format {
                LineFormat::Csv => {
                    for (rank, (id, distance)) in (1..).zip(there) {
                        text.push_str(&format!("{query},{rank},{id},{distance}\n"));
                    }
                }
                LineFormat::Json => {
                    let (ids, distances): (Vec<u64>, Vec<f32>) = there.copied().unzip();
                    text.push_str(&format!(
                        "{{\"query\": {query}, \"ids\": {ids:?}, \"distances\": {distances:?}}}\n"
                    ));
                }
            }
        }
        self.out.append(text.as_bytes())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.out.finish()
    }
}
