//! Text: a line per answer (`.csv`), or per query (`.jsonl`).
//!
//! ```text
//! query,rank,id,distance                      {"query": 0, "ids": [7], "distances": [0.5]}
//! 0,1,7,0.5
//! ```
//!
//! Where there are fewer answers than were asked for, there are fewer lines, or numbers. A row that
//! has a name is called by it, in quotes, in place of its id.

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
            let distances = answers.distances.get(*begin..*end).unwrap_or_default();
            let places = (*begin..*end).zip(distances);
            let there = places.filter(|(_, distance)| distance.is_finite());
            let found = there.map(|(at, distance)| (self.known_as(answers, at), *distance));
            match self.format {
                LineFormat::Csv => {
                    for (rank, (id, distance)) in (1..).zip(found) {
                        text.push_str(&format!("{query},{rank},{id},{distance}\n"));
                    }
                }
                LineFormat::Json => {
                    let (ids, distances): (Vec<String>, Vec<f32>) = found.unzip();
                    let ids = ids.join(", ");
                    text.push_str(&format!(
                        "{{\"query\": {query}, \"ids\": [{ids}], \"distances\": {distances:?}}}\n"
                    ));
                }
            }
        }
        self.out.append(text.as_bytes())
    }

    /// The name of an answer as the format quotes it, or its id.
    fn known_as(&self, answers: &Answers, at: usize) -> String {
        let name = answers.names.get(at).and_then(Option::as_deref);
        match (name, self.format) {
            (Some(name), LineFormat::Csv) => format!("\"{}\"", name.replace('"', "\"\"")),
            (Some(name), LineFormat::Json) => serde_json::Value::from(name).to_string(),
            (None, _) => answers.ids.get(at).map(u64::to_string).unwrap_or_default(),
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.out.finish()
    }
}
